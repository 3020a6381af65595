//! The coordinator of a run: every decision of `specum run`, as one value.
//!
//! [`Coordinator::handle`] takes what has happened and says what is to be done. It
//! knows neither clock nor file nor process: time comes in as milliseconds since the
//! run began, and the driver carries out the [`Action`]s and tells what became
//! of them. So threads drive it today, a simulation in tests, and messages from other
//! machines can drive it tomorrow.
//!
//! What it decides, and where each rule is:
//!
//! - who works next, how long a limit is waited for, who has taken too long, and when
//!   to give up on agents: [`agents`];
//! - what a start of an agent is charged with, and when a cap ends the run: here,
//!   with the sums of [`Budget`];
//! - how many tasks of a group are worked on at once, and that their results are
//!   integrated in the order of the plan: here;
//! - when the run ends, and as what: here.
//!
//! A task in sequence is the only member of the window. The tasks of a group join it
//! one by one, as places get free, and leave it when their results are integrated.

pub mod agents;
mod message;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use self::agents::{After, Agents, Choice, Millis, Patience};
pub use self::message::{
    Action, AgentEnd, Broken, Candidate, Input, Launch, OpenWork, Site, Stands,
};
use crate::agent::Trouble;
use crate::attempt::AttemptId;
use crate::budget::Budget;
use crate::event::Outcome;

/// A run while it lasts.
#[derive(Debug)]
pub struct Coordinator {
    agents: Agents,
    candidates: Vec<Candidate>,
    budget: Budget,
    /// Up to when the time is part of what is spent.
    charged_until: Millis,
    /// How many attempts of a group are worked on at once.
    places: usize,
    /// The attempts that are worked on, in the order of the plan.
    window: Vec<Member>,
    /// What is being done in the user's tree, and was not answered yet.
    in_tree: Option<TreeWork>,
    /// Whether an answer to [`Action::Join`] is to come.
    joining: bool,
    /// Whether more tasks of the group may be waiting to join.
    may_join: bool,
    launches: u64,
    /// Which attempt each running agent works for, and which agent it is.
    running: BTreeMap<Launch, (AttemptId, usize)>,
    /// Who was ended for taking too long.
    ended_by_us: BTreeMap<Launch, Trouble>,
    /// Until when the user knows that the run waits.
    announced: Option<Millis>,
    /// Who was started last.
    last_agent: Option<usize>,
    has_told_held_back: bool,
    /// The tasks whose attempts were lost since something was settled last.
    lost: BTreeSet<String>,
    /// Nothing more begins; what is under way comes to its end.
    ends: Option<Outcome>,
    /// Everybody stops.
    stops: Option<Outcome>,
    is_finished: bool,
}

#[derive(Debug)]
struct Member {
    attempt: AttemptId,
    task: String,
    place: usize,
    site: Site,
    stage: Stage,
    /// Whether a person does not want it any more.
    is_unwanted: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Stage {
    NeedsCheck,
    NeedsAgent,
    AtWork,
    /// Its agent has ended; in a worktree its check runs.
    Checking,
    /// It is to be integrated, in its turn.
    Ready,
    /// Its agent has failed, and with it the attempt.
    Failed(Trouble),
    /// It is to be ended for a person, and no agent works on it any more.
    Unwanted,
}

#[derive(Debug, Clone, PartialEq)]
enum TreeWork {
    Open,
    On(AttemptId),
}

impl Coordinator {
    /// A run that begins, with its agents in the order in which they are asked, what
    /// may be spent and is spent already, and how many attempts may be worked on at
    /// once.
    pub fn new(
        candidates: Vec<Candidate>,
        patience: Patience,
        budget: Budget,
        places: usize,
    ) -> Coordinator {
        let names = candidates.iter().map(|candidate| candidate.name.clone()).collect();
        Coordinator {
            agents: Agents::new(names, patience),
            candidates,
            budget,
            charged_until: 0,
            places: places.max(1),
            window: Vec::new(),
            in_tree: None,
            joining: false,
            may_join: false,
            launches: 0,
            running: BTreeMap::new(),
            ended_by_us: BTreeMap::new(),
            announced: None,
            last_agent: None,
            has_told_held_back: false,
            lost: BTreeSet::new(),
            ends: None,
            stops: None,
            is_finished: false,
        }
    }

    /// The time that is not part of what is spent yet.
    pub fn uncharged(&self, now: Millis) -> Millis {
        now.saturating_sub(self.charged_until)
    }

    /// Takes what has happened, and says what is to be done. `now` is the time since
    /// the run began; `waiting_now` the same by which waits end, which never lags
    /// behind it.
    pub fn handle(&mut self, now: Millis, waiting_now: Millis, input: Input) -> Vec<Action> {
        let mut actions = Vec::new();
        self.take(now, waiting_now, input, &mut actions);
        self.go_on(now, waiting_now, &mut actions);
        actions
    }

    fn take(&mut self, now: Millis, waiting_now: Millis, input: Input, actions: &mut Vec<Action>) {
        match input {
            Input::Tick => self.look_at_time(now, actions),
            Input::WasAway => self.agents.was_away(now),
            Input::Opened(open) => self.opened(open),
            Input::NothingDue(outcome) => {
                self.in_tree = None;
                self.finish(outcome, actions);
            }
            Input::NotDone => {
                self.in_tree = None;
                let stopped = self.stops.clone().unwrap_or(Outcome::Interrupted);
                self.finish(stopped, actions);
            }
            Input::Settled(attempt) => {
                self.lost.clear();
                self.leave(&attempt);
            }
            Input::BrokenOff(attempt) => drop(self.leave(&attempt)),
            Input::CheckFailed(attempt) => {
                self.tree_is_free_of(&attempt);
                self.set_stage(&attempt, Stage::NeedsAgent);
            }
            Input::Printed(launch) => self.agents.printed(launch, now),
            Input::Said(launch, signs) => {
                signs.iter().for_each(|sign| self.agents.said(launch, sign, now));
            }
            Input::Answered(launch, answered) => self.agents.answered(launch, answered),
            Input::Ended(end) => self.ended(now, waiting_now, end, actions),
            Input::NotStarted(launch) => self.forget_start(launch),
            Input::Ready(attempt) => {
                self.tree_is_free_of(&attempt);
                self.set_stage(&attempt, Stage::Ready);
            }
            Input::Lost(attempt) => {
                if let Some(task) = self.leave(&attempt)
                    && !self.lost.insert(task.clone())
                {
                    // An agent that deletes the journal would be started for ever, and
                    // no attempt be counted. Several may be at it in turn.
                    actions.push(Action::TellForgotten(task));
                    self.stop(Outcome::Interrupted, actions);
                }
            }
            Input::Unwanted(attempt) => self.unwanted(&attempt, actions),
            Input::Stop(outcome) => self.stop(outcome, actions),
            Input::Broke(broken) => {
                match broken {
                    Broken::Open => self.in_tree = None,
                    Broken::Join => self.joining = false,
                    Broken::Start(launch, attempt) => {
                        self.forget_start(launch);
                        self.leave(&attempt);
                    }
                    Broken::Attempt(attempt) => drop(self.leave(&attempt)),
                    Broken::Other => {}
                }
                // The driver of the run reports what has failed. It counts more than
                // a cap, for which the tree would be looked at once more.
                let failed = Outcome::Failed { why: String::new() };
                self.stop(failed.clone(), actions);
                self.stops = Some(failed);
            }
        }
    }

    fn opened(&mut self, open: Vec<OpenWork>) {
        self.may_join = open.iter().any(|work| work.stands != Stands::UnderWay);
        if !std::mem::take(&mut self.joining) {
            self.in_tree = None;
        }
        for work in open {
            let known = self.window.iter_mut().find(|member| member.attempt == work.attempt);
            if let Some(member) = known {
                member.place = work.place;
                continue;
            }
            let stage = match work.stands {
                Stands::NeedsAgent => Stage::NeedsAgent,
                Stands::NeedsCheck => Stage::NeedsCheck,
                Stands::Ready => Stage::Ready,
                Stands::UnderWay => continue,
            };
            let OpenWork { attempt, task, place, site, .. } = work;
            let is_unwanted = false;
            self.window.push(Member { attempt, task, place, site, stage, is_unwanted });
        }
        // The plan may have been edited since the others were opened.
        self.window.sort_by_key(|member| member.place);
    }

    /// Nobody wants an attempt any more: its agent is ended.
    fn unwanted(&mut self, attempt: &AttemptId, actions: &mut Vec<Action>) {
        let member = self.window.iter_mut().find(|member| member.attempt == *attempt);
        if let Some(member) = member.filter(|member| !member.is_unwanted) {
            member.is_unwanted = true;
            self.end_unwanted(actions);
        }
    }

    fn end_unwanted(&self, actions: &mut Vec<Action>) {
        for (launch, (attempt, _)) in &self.running {
            if self.member(attempt).is_some_and(|member| member.is_unwanted) {
                actions.push(Action::End(*launch));
            }
        }
    }

    /// Ends those who have taken too long, and the run when a cap is reached.
    fn look_at_time(&mut self, now: Millis, actions: &mut Vec<Action>) {
        for (launch, trouble) in self.agents.overdue(now) {
            // Again, if need be, until its end is reported.
            self.ended_by_us.entry(launch).or_insert(trouble);
            actions.push(Action::End(launch));
        }
        // Again, if need be: an agent may just have been about to start.
        self.end_unwanted(actions);
        if let Some(why) = self.agents.exhausted(&self.budget, self.uncharged(now)) {
            self.stop(Outcome::Capped { why }, actions);
        }
        if self.stops.is_some() {
            // Again and again: an agent may just have been about to start.
            actions.push(Action::EndAll);
        }
    }

    fn ended(
        &mut self,
        now: Millis,
        waiting_now: Millis,
        mut end: AgentEnd,
        actions: &mut Vec<Action>,
    ) {
        let Some((attempt, agent)) = self.running.remove(&end.launch) else { return };
        if let Some(ours) = self.ended_by_us.remove(&end.launch) {
            // An answer stands however long its process went on behind it, and it may
            // have told what it was waiting for.
            let trouble = &mut end.report.trouble;
            if trouble.as_ref().is_some_and(|told| !told.is_told_by_the_agent()) {
                *trouble = Some(ours);
            }
        }
        self.charge(now, (&attempt, agent), &end, actions);
        if let (Some(Trouble::OverBudget(_)), Some(why)) =
            (&end.report.trouble, self.budget.spent(&[]))
        {
            // It stopped by itself where we would have stopped it.
            self.stop(Outcome::Capped { why }, actions);
        }
        if self.member(&attempt).is_some_and(|member| member.is_unwanted) {
            // What became of it says nothing about the agent.
            self.agents.abandoned(end.launch);
            let waits_for_check =
                |member: &Member| member.site != Site::Tree && end.report.trouble.is_none();
            let is_checked = self.member(&attempt).is_some_and(waits_for_check);
            let stage = if is_checked { Stage::Checking } else { Stage::Unwanted };
            return self.set_stage(&attempt, stage);
        }
        let reset = end.resets_in.map(|wait| waiting_now.saturating_add(wait));
        let after = self.agents.ended(end.launch, &end.report, end.changed, reset, waiting_now);
        if self.stops.is_some() {
            return;
        }
        let stage = match after {
            After::Again => Stage::NeedsAgent,
            After::Fail(trouble) => Stage::Failed(trouble),
            After::Stop(trouble, outcome) => {
                self.ends.get_or_insert(outcome);
                Stage::Failed(trouble)
            }
            After::Judge => match self.member(&attempt).map(|member| member.site) {
                Some(Site::Worktree | Site::Isolated) => Stage::Checking,
                Some(Site::Tree) | None => Stage::Ready,
            },
        };
        self.set_stage(&attempt, stage);
    }

    fn charge(
        &mut self,
        now: Millis,
        (attempt, agent): (&AttemptId, usize),
        end: &AgentEnd,
        actions: &mut Vec<Action>,
    ) {
        let never_worked = matches!(
            end.report.trouble,
            Some(Trouble::RateLimited { .. } | Trouble::NotAuthenticated(_) | Trouble::Missing(_))
        );
        let broke_off = end.report.usage.is_none() && !never_worked;
        let usage = end.report.usage.or(Some(self.agents.used_by(end.launch)));
        let charge = self.budget.charge(self.candidates[agent].measures, usage, broke_off);
        let millis = self.uncharged(now);
        self.charged_until = now;
        self.budget.spend(&charge);
        self.budget.millis = self.budget.millis.saturating_add(millis);
        let (launch, attempt) = (end.launch, attempt.clone());
        actions.push(Action::Charge { launch, attempt, agent, charge, millis });
    }

    /// Everybody stops. The first reason counts.
    fn stop(&mut self, outcome: Outcome, actions: &mut Vec<Action>) {
        if self.stops.is_none() {
            self.stops = Some(outcome);
            actions.push(Action::EndAll);
        }
    }

    /// Begins whatever can be begun now.
    fn go_on(&mut self, now: Millis, waiting_now: Millis, actions: &mut Vec<Action>) {
        if self.is_finished {
            return;
        }
        self.let_go_of_unwanted();
        if self.stops.is_none() {
            self.start_agents(now, waiting_now, actions);
        }
        if self.stops.is_some() {
            return self.come_to_a_stop(actions);
        }
        if self.ends.is_some() {
            // What waits for an agent is left to the next run.
            self.window.retain(|m| !matches!(m.stage, Stage::NeedsAgent | Stage::NeedsCheck));
        }
        self.work_in_tree(actions);
        self.let_join(actions);
    }

    /// An unwanted attempt without an agent waits for nothing but its end.
    fn let_go_of_unwanted(&mut self) {
        for member in self.window.iter_mut().filter(|member| member.is_unwanted) {
            if !matches!(member.stage, Stage::AtWork | Stage::Checking) {
                member.stage = Stage::Unwanted;
            }
        }
    }

    /// Ends the run when nothing is under way any more.
    fn come_to_a_stop(&mut self, actions: &mut Vec<Action>) {
        let checks = |member: &Member| member.stage == Stage::Checking;
        if self.is_under_way() || self.window.iter().any(checks) {
            return;
        }
        match self.stops.clone() {
            // What is done is done, although its last task reached a cap.
            Some(Outcome::Capped { .. }) => {
                self.in_tree = Some(TreeWork::Open);
                actions.push(Action::CompleteIfDone);
            }
            stopped => self.finish(stopped.unwrap_or(Outcome::Interrupted), actions),
        }
    }

    fn is_under_way(&self) -> bool {
        self.in_tree.is_some() || self.joining || !self.running.is_empty()
    }

    fn finish(&mut self, outcome: Outcome, actions: &mut Vec<Action>) {
        self.is_finished = true;
        actions.push(Action::Finish(outcome));
    }

    /// The next thing that is done in the user's tree: one at a time, and results in
    /// the order of the plan.
    fn work_in_tree(&mut self, actions: &mut Vec<Action>) {
        if self.in_tree.is_some() {
            return;
        }
        let failed = |member: &&Member| matches!(member.stage, Stage::Failed(_));
        if let Some(Member { attempt, stage: Stage::Failed(trouble), .. }) =
            self.window.iter().find(failed)
        {
            self.in_tree = Some(TreeWork::On(attempt.clone()));
            let (attempt, trouble) = (attempt.clone(), trouble.clone());
            actions.push(Action::GiveUp { attempt, trouble });
            return;
        }
        let unwanted = |member: &&Member| member.stage == Stage::Unwanted;
        if let Some(Member { attempt, .. }) = self.window.iter().find(unwanted) {
            self.in_tree = Some(TreeWork::On(attempt.clone()));
            actions.push(Action::Drop(attempt.clone()));
            return;
        }
        match self.window.first() {
            Some(Member { attempt, stage: Stage::Ready, .. }) => {
                self.in_tree = Some(TreeWork::On(attempt.clone()));
                actions.push(Action::Integrate(attempt.clone()));
            }
            Some(Member { attempt, stage: Stage::NeedsCheck, .. }) => {
                self.in_tree = Some(TreeWork::On(attempt.clone()));
                actions.push(Action::Check(attempt.clone()));
            }
            None if !self.joining => match self.ends.take() {
                Some(outcome) => self.finish(outcome, actions),
                None => {
                    self.in_tree = Some(TreeWork::Open);
                    actions.push(Action::Open);
                }
            },
            _ => {}
        }
    }

    /// A place that gets free takes the next task of the group at once.
    fn let_join(&mut self, actions: &mut Vec<Action>) {
        let is_group = self.window.iter().all(|member| member.site == Site::Worktree);
        let taken = self.window.iter().filter(|member| member.stage != Stage::Ready).count();
        let room = self.places.saturating_sub(taken);
        let may = self.may_join && is_group && self.places > 1 && self.ends.is_none();
        if may && !self.window.is_empty() && room > 0 && !self.joining && !self.is_finished {
            self.joining = true;
            actions.push(Action::Join { room });
        }
    }

    /// Gives those who need an agent one, if one can work.
    fn start_agents(&mut self, now: Millis, waiting_now: Millis, actions: &mut Vec<Action>) {
        let needs = |member: &Member| member.stage == Stage::NeedsAgent;
        if self.ends.is_some() || !self.window.iter().any(needs) {
            return;
        }
        if let Some(why) = self.budget.spent(&self.agents.in_use()) {
            return self.stop(Outcome::Capped { why }, actions);
        }
        match self.agents.choose(waiting_now) {
            Choice::Use(agent) => self.start(agent, now, waiting_now, actions),
            Choice::Wait { agent, until, why } => {
                if self.announced.replace(until) != Some(until) {
                    let millis = until.saturating_sub(waiting_now);
                    actions.push(Action::TellWait { agent, millis, why });
                }
            }
            Choice::Nobody(why) => {
                let why = why + &self.how_to_sign_in();
                self.stop(Outcome::NoAgent { why }, actions);
            }
        }
    }

    /// Starts an agent for as many as a cap in dollars leaves room for; the others
    /// wait on.
    fn start(&mut self, agent: usize, now: Millis, waiting_now: Millis, actions: &mut Vec<Action>) {
        self.announced = None;
        let works = |member: &&Member| matches!(member.stage, Stage::AtWork | Stage::Checking);
        let free = self.places.saturating_sub(self.window.iter().filter(works).count());
        let mut starting = Vec::new();
        let needs = |member: &&mut Member| member.stage == Stage::NeedsAgent;
        for member in self.window.iter_mut().filter(needs).take(free) {
            if !self.agents.may_start(agent, &self.budget) {
                break;
            }
            self.launches += 1;
            let launch = Launch(self.launches);
            self.agents.started(launch, agent, now);
            self.running.insert(launch, (member.attempt.clone(), agent));
            member.stage = Stage::AtWork;
            starting.push((launch, member.attempt.clone()));
        }
        let before = self.last_agent.filter(|before| *before != agent && !starting.is_empty());
        if let Some(before) = before {
            let again = || format!("{} is available again", self.candidates[agent].name);
            let why = self.agents.why_not(before, waiting_now).unwrap_or_else(again);
            actions.push(Action::TellChange { from: before, to: agent, why });
        }
        if !starting.is_empty() {
            self.last_agent = Some(agent);
        }
        for (launch, attempt) in starting {
            let max_cost = self.agents.allowance(launch, &self.budget);
            actions.push(Action::Start { launch, attempt, agent, max_cost });
        }
        let waits = self.window.iter().filter(|member| member.stage == Stage::NeedsAgent).count();
        let is_held_back = waits > 0 && !self.agents.may_start(agent, &self.budget);
        if is_held_back && !std::mem::replace(&mut self.has_told_held_back, true) {
            actions.push(Action::TellHeldBack);
        }
    }

    /// What a person can do about those who are not signed in.
    fn how_to_sign_in(&self) -> String {
        let candidates = self.candidates.iter().enumerate();
        let signed_out = candidates.filter(|(index, _)| self.agents.is_signed_out(*index));
        let hints: Vec<&str> = signed_out.map(|(_, agent)| agent.sign_in.as_str()).collect();
        if hints.is_empty() { String::new() } else { format!(". {}", hints.join("; or ")) }
    }

    fn member(&self, attempt: &AttemptId) -> Option<&Member> {
        self.window.iter().find(|member| member.attempt == *attempt)
    }

    fn set_stage(&mut self, attempt: &AttemptId, stage: Stage) {
        if let Some(member) = self.window.iter_mut().find(|member| member.attempt == *attempt) {
            member.stage = stage;
        }
    }

    fn forget_start(&mut self, launch: Launch) {
        self.agents.abandoned(launch);
        if let Some((attempt, _)) = self.running.remove(&launch) {
            self.leave(&attempt);
        }
    }

    fn tree_is_free_of(&mut self, attempt: &AttemptId) {
        if matches!(&self.in_tree, Some(TreeWork::On(other)) if other == attempt) {
            self.in_tree = None;
        }
    }

    /// The attempt is over; gives the name of its task.
    fn leave(&mut self, attempt: &AttemptId) -> Option<String> {
        self.tree_is_free_of(attempt);
        let at = self.window.iter().position(|member| member.attempt == *attempt)?;
        // It may have kept others of its group from joining.
        self.may_join = true;
        Some(self.window.remove(at).task)
    }
}
