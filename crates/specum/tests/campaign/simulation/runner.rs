//! `specum run`: its dispatcher and its executor, one step at a time.

use std::collections::BTreeMap;

use specum_core::agent::{self, Report, Reset, Sign, Trouble};
use specum_core::attempt::Attempt;
use specum_core::coordinate::Launch;
use specum_core::coordinate::agents::{After, Agents, Choice, Patience};
use specum_core::event::Outcome;
use specum_core::journal::Entry;
use specum_core::machine::{self, Due, Event, Start};
use specum_core::state::{Owner, Process};
use specum_core::tasks::TaskFile;

use super::agents::{Act, TEAMS, Worker};
use super::plan::soul_of;
use super::work::{Ending, Exam, NextWork, took_effect};
use super::world::{Halt, World, promise};

/// How long an agent may take here.
const PATIENCE: Patience = Patience { task: 300_000, idle: 60_000 };
/// The longest that anybody is to wait for: a limit of eight days.
const LONGEST_WAIT: u64 = 8 * 24 * 3_600_000;
/// How many attempts in a row may come to nothing.
const FRUITLESS: u32 = 3;

pub(crate) struct Runner {
    run: Agents,
    team: &'static [&'static str],
    began: u64,
    charged_until: u64,
    jobs: Vec<Job>,
    announced: Option<u64>,
    last: Option<usize>,
    /// Attempts in a row that came to nothing, counted by ourselves.
    fruitless: u32,
    process: Process,
}

struct Job {
    opened: Attempt,
    stage: Stage,
}

enum Stage {
    NeedsAgent,
    Running(Running),
    Answered(String, Act),
    /// Its check has run.
    Examined(String, Act, Exam),
    /// Passed beside the tree, waits for the others of its group.
    Ready(String, Act),
    Ended,
}

struct Running {
    worker: Worker,
    agent: usize,
    started: u64,
    last_sign: u64,
    tools: u32,
}

impl World {
    /// A run takes the spec.
    pub(crate) fn run_starts(&mut self, start: &Start) -> Result<(), Halt> {
        let process = Process { pid: 7, started: self.now.to_string(), space: None };
        let owner = Some(Owner::Runner { process: process.clone() });
        self.story("`specum run` starts".into());
        self.start(Start { owner, ..start.clone() })?;
        self.put_away()?;
        let team = if self.fair { TEAMS[0] } else { self.chance.one_of(&TEAMS) };
        let agents: Vec<String> = team.iter().map(|&name| name.to_owned()).collect();
        let (spec, total, done, jobs) = ("simulated".to_owned(), 0, 0, 1);
        self.record(Entry::RunStarted { spec, total, done, agents: agents.clone(), jobs })?;
        self.runner = Some(Runner {
            run: Agents::new(agents, PATIENCE),
            team,
            began: self.now,
            charged_until: 0,
            jobs: Vec::new(),
            announced: None,
            last: None,
            fruitless: 0,
            process,
        });
        Ok(())
    }

    /// One step of the run.
    pub(crate) fn run_goes_on(&mut self) -> Result<(), Halt> {
        let Some(mut runner) = self.runner.take() else { return Ok(()) };
        match self.drive(&mut runner)? {
            None => self.runner = Some(runner),
            Some(outcome) => self.run_ends(runner, &outcome)?,
        }
        Ok(())
    }

    fn drive(&mut self, runner: &mut Runner) -> Result<Option<Outcome>, Halt> {
        let now = self.now - runner.began;
        if let Some(outcome) = self.told_to_stop(runner) {
            return Ok(Some(outcome));
        }
        if let Some(outcome) = self.end_overdue(runner, now)? {
            return Ok(Some(outcome));
        }
        if let Some(state) = self.state()
            && let Some(why) = runner.run.exhausted(&state.budget, now - runner.charged_until)
        {
            return Ok(Some(Outcome::Capped { why }));
        }
        if runner.jobs.iter().all(|job| matches!(job.stage, Stage::Ended)) {
            return self.begin_unit(runner);
        }
        let waits = |job: &Job| !matches!(job.stage, Stage::Ended | Stage::Ready(..));
        let able: Vec<usize> = (0..runner.jobs.len()).filter(|&n| waits(&runner.jobs[n])).collect();
        match able.is_empty() {
            true => self.integrate(runner),
            false => {
                let slot = self.chance.one_of(&able);
                self.work_on(runner, slot, now)
            }
        }
    }

    /// What others have done to the spec.
    fn told_to_stop(&self, runner: &Runner) -> Option<Outcome> {
        match self.state() {
            None if self.disk.state.is_some() => None,
            None => Some(Outcome::Cancelled),
            Some(state) => match &state.owner {
                Some(Owner::Runner { process }) if *process == runner.process => {
                    (state.awaiting_approval && state.blocked.is_none()).then_some(Outcome::Paused)
                }
                _ => Some(Outcome::TakenOver),
            },
        }
    }

    fn begin_unit(&mut self, runner: &mut Runner) -> Result<Option<Outcome>, Halt> {
        let opened = match self.open()? {
            NextWork::Work(opened) => opened,
            NextWork::Complete => return Ok(Some(Outcome::Complete)),
            NextWork::NoLoop => return Ok(Some(Outcome::Cancelled)),
            NextWork::Wait(Due::Blocked(why)) => return Ok(Some(Outcome::Blocked { why })),
            NextWork::Wait(Due::Paused(_)) => return Ok(Some(Outcome::Paused)),
            NextWork::Wait(Due::Waits(questions)) => {
                let why = questions.join("; ");
                return Ok(Some(Outcome::Waits { why }));
            }
            NextWork::Wait(due) => return Ok(Some(Outcome::Capped { why: format!("{due:?}") })),
        };
        let job = |opened| Job { opened, stage: Stage::NeedsAgent };
        runner.jobs = opened.into_iter().map(job).collect();
        Ok(None)
    }

    fn work_on(
        &mut self,
        runner: &mut Runner,
        slot: usize,
        now: u64,
    ) -> Result<Option<Outcome>, Halt> {
        match &runner.jobs[slot].stage {
            Stage::NeedsAgent => self.choose_agent(runner, slot, now),
            Stage::Running(running) => {
                let silent = running.worker.act == Act::Silence;
                if silent {
                    // Time passes, and nothing else.
                    return Ok(None);
                }
                if self.chance.below(3) == 0 {
                    self.end_agent(runner, slot, None, now)
                } else {
                    self.agent_goes_on(runner, slot, now);
                    Ok(None)
                }
            }
            Stage::Answered(..) => self.check(runner, slot),
            Stage::Examined(..) => self.judge(runner, slot),
            Stage::Ready(..) | Stage::Ended => Ok(None),
        }
    }

    fn choose_agent(
        &mut self,
        runner: &mut Runner,
        slot: usize,
        now: u64,
    ) -> Result<Option<Outcome>, Halt> {
        let agent = match runner.run.choose(now) {
            Choice::Use(agent) => agent,
            Choice::Nobody(why) => return Ok(Some(Outcome::NoAgent { why })),
            Choice::Wait { agent, until, why } => {
                promise!(until > now, "a wait that is over already");
                promise!(until - now <= LONGEST_WAIT, "a wait of {} s", (until - now) / 1000);
                if runner.announced != Some(until) {
                    runner.announced = Some(until);
                    let (agent, millis) = (runner.team[agent].to_owned(), until - now);
                    self.story(format!("wait {} s for {agent}: {why}", millis / 1000));
                    self.record(Entry::Waited { agent, why, millis })?;
                }
                if self.fair || self.chance.below(2) == 0 {
                    self.wall += i64::try_from(until - now).expect("days");
                    self.now += until - now;
                }
                return Ok(None);
            }
        };
        runner.announced = None;
        if let Some(before) = runner.last.replace(agent).filter(|before| *before != agent) {
            let (from, to) = (runner.team[before].to_owned(), runner.team[agent].to_owned());
            self.record(Entry::AgentChanged { from, to, why: "limit".into() })?;
        }
        let opened = &runner.jobs[slot].opened;
        self.lock()?;
        let (key, attempt) = (self.disk.ledger.key_now(opened), opened.number);
        let beside = runner.jobs.len() > 1;
        let name = runner.team[agent];
        let written = self.record(Entry::Launched {
            task: key.clone(),
            attempt,
            agent: name.into(),
            beside,
            isolated: false,
            log: None,
        });
        if took_effect(&written) {
            self.truth.tasks.at_work.insert(soul_of(&key));
        }
        written?;
        let act = if self.fair { Act::Good } else { Act::random(&mut self.chance) };
        self.story(format!("{name} works {}: {act:?}", key.id));
        runner.run.started(launch(slot), agent, now);
        let worker = Worker::new(name, act);
        let running = Running { worker, agent, started: now, last_sign: now, tools: 0 };
        runner.jobs[slot].stage = Stage::Running(running);
        self.agent_meddles("the agent")?;
        Ok(None)
    }

    fn agent_goes_on(&mut self, runner: &mut Runner, slot: usize, now: u64) {
        let Stage::Running(running) = &mut runner.jobs[slot].stage else { return };
        let signs = running.worker.goes_on(&mut self.chance);
        for sign in &signs {
            runner.run.said(launch(slot), sign, now);
            match sign {
                Sign::Tool { .. } => running.tools += 1,
                Sign::ToolEnded => running.tools = running.tools.saturating_sub(1),
                Sign::Text { .. } => running.tools = 0,
                Sign::Used(_) | Sign::Retrying { .. } => {}
            }
            if !matches!(sign, Sign::Retrying { .. }) {
                running.last_sign = now;
            }
        }
    }

    /// Ends whoever has taken too long, and nobody else.
    fn end_overdue(&mut self, runner: &mut Runner, now: u64) -> Result<Option<Outcome>, Halt> {
        let told = runner.run.overdue(now).into_iter();
        let told: BTreeMap<usize, Trouble> =
            told.map(|(Launch(slot), trouble)| (slot as usize, trouble)).collect();
        let mut late = BTreeMap::new();
        for (slot, job) in runner.jobs.iter().enumerate() {
            let Stage::Running(running) = &job.stage else { continue };
            if now - running.started >= PATIENCE.task {
                late.insert(slot, Trouble::Timeout(PATIENCE.task / 1000));
            } else if running.tools == 0 && now - running.last_sign >= PATIENCE.idle {
                late.insert(slot, Trouble::Idle(PATIENCE.idle / 1000));
            }
        }
        promise!(told == late, "late are {late:?}, and told to be {told:?}");
        for (slot, trouble) in late {
            if let Some(outcome) = self.end_agent(runner, slot, Some(trouble), now)? {
                return Ok(Some(outcome));
            }
        }
        Ok(None)
    }

    /// An agent ends, by itself or by us.
    fn end_agent(
        &mut self,
        runner: &mut Runner,
        slot: usize,
        ours: Option<Trouble>,
        now: u64,
    ) -> Result<Option<Outcome>, Halt> {
        let stage = std::mem::replace(&mut runner.jobs[slot].stage, Stage::NeedsAgent);
        let Stage::Running(running) = stage else { return Ok(None) };
        let (act, agent) = (running.worker.act, running.agent);
        let word = runner.jobs[slot].opened.role.signal();
        let (signs, mut report) = running.worker.ends(word, self.wall, ours.is_some());
        signs.iter().for_each(|sign| runner.run.said(launch(slot), sign, now));
        if let Some(ours) = ours
            && report.trouble.as_ref().is_some_and(|told| !told.is_told_by_the_agent())
        {
            report.trouble = Some(ours);
        }
        self.charge(runner, slot, agent, &report, now)?;
        let changed = !self.fair && self.chance.once_in(4);
        let reset = self.reset_of(&report).map(|wait| now + wait);
        let after = runner.run.ended(launch(slot), &report, changed, reset, now);
        runner.means_what_it_should(&report, changed, &after)?;
        match after {
            After::Judge => {
                runner.jobs[slot].stage = Stage::Answered(report.result, act);
                Ok(None)
            }
            After::Again => Ok(None),
            After::Fail(trouble) => {
                self.give_up(runner, slot, &trouble)?;
                Ok(None)
            }
            After::Stop(trouble, outcome) => {
                self.give_up(runner, slot, &trouble)?;
                Ok(Some(outcome))
            }
        }
    }

    fn give_up(&mut self, runner: &mut Runner, slot: usize, trouble: &Trouble) -> Result<(), Halt> {
        let opened = runner.jobs[slot].opened.clone();
        runner.jobs[slot].stage = Stage::Ended;
        self.end(&opened, &Ending::Trouble(trouble.message()))?;
        Ok(())
    }

    /// How long until a limit ends, as the edge works it out.
    fn reset_of(&self, report: &Report) -> Option<u64> {
        match &report.trouble {
            Some(Trouble::RateLimited { reset: Some(Reset::At(at)), .. }) => {
                let seconds = at.saturating_sub(self.wall / 1000).saturating_add(1);
                u64::try_from(seconds.clamp(0, 8 * 24 * 3600)).ok()?.checked_mul(1000)
            }
            _ => None,
        }
    }

    fn charge(
        &mut self,
        runner: &mut Runner,
        slot: usize,
        agent: usize,
        report: &Report,
        now: u64,
    ) -> Result<(), Halt> {
        let name = runner.team[agent];
        let measures = agent::by_name(name, Some("cat")).expect("an agent of this name").measures();
        let never_worked = matches!(
            report.trouble,
            Some(Trouble::RateLimited { .. } | Trouble::NotAuthenticated(_) | Trouble::Missing(_))
        );
        let broke_off = report.usage.is_none() && !never_worked;
        let usage = report.usage.or(Some(runner.run.used_by(launch(slot))));
        let millis = now - runner.charged_until;
        runner.charged_until = now;
        let opened = &runner.jobs[slot].opened;
        self.lock()?;
        let (task, attempt) = (self.disk.ledger.key_now(opened), opened.number);
        self.write_charge(
            (task, attempt, name),
            |budget| budget.charge(measures, usage, broke_off),
            millis,
        )
    }

    pub(crate) fn write_charge(
        &mut self,
        (task, attempt, agent): (specum_core::tasks::TaskKey, u64, &str),
        charge: impl Fn(&specum_core::budget::Budget) -> specum_core::budget::Charge,
        millis: u64,
    ) -> Result<(), Halt> {
        self.lock()?;
        let state = self.state();
        let budget = state.as_ref().map(|state| state.budget.clone()).unwrap_or_default();
        let charge = charge(&budget);
        let entry = Entry::Charged {
            task,
            attempt,
            agent: agent.to_owned(),
            tokens: charge.tokens,
            cost: charge.cost,
            estimated: charge.estimated,
            millis,
            log: None,
        };
        let Some(state) = state else { return self.record(entry) };
        let text = self.disk.tasks.clone();
        let event = Event::Charge { charge, millis };
        let step = machine::step(&state, &TaskFile::scan(&text), event);
        let written = self.write(entry, &step);
        if took_effect(&written) {
            self.truth.tokens += charge.tokens.unwrap_or(0);
        }
        written
    }

    /// Runs the check. Whatever may happen meanwhile, happens behind it.
    fn check(&mut self, runner: &mut Runner, slot: usize) -> Result<Option<Outcome>, Halt> {
        let job = &mut runner.jobs[slot];
        let stage = std::mem::replace(&mut job.stage, Stage::Ended);
        let Stage::Answered(said, act) = stage else { return Ok(None) };
        let exam = self.examine(&job.opened, act)?;
        job.stage = Stage::Examined(said, act, exam);
        Ok(None)
    }

    fn judge(&mut self, runner: &mut Runner, slot: usize) -> Result<Option<Outcome>, Halt> {
        let beside = runner.jobs.len() > 1;
        let job = &mut runner.jobs[slot];
        let stage = std::mem::replace(&mut job.stage, Stage::Ended);
        let Stage::Examined(said, act, exam) = stage else { return Ok(None) };
        let opened = job.opened.clone();
        if beside && act == Act::Good {
            self.lock()?;
            let task = self.disk.ledger.key_now(&opened);
            let (attempt, commit) = (opened.number, "w".to_owned());
            self.record(Entry::Ready { task, attempt, result: said.clone(), commit })?;
            runner.jobs[slot].stage = Stage::Ready(said, act);
            return Ok(None);
        }
        self.end(&opened, &Ending::Judgement { said: &said, act, exam })?;
        Ok(None)
    }

    /// Puts what the tasks of a group have done on top of one another.
    fn integrate(&mut self, runner: &mut Runner) -> Result<Option<Outcome>, Halt> {
        let ready = |job: &Job| matches!(job.stage, Stage::Ready(..));
        let Some(slot) = runner.jobs.iter().position(ready) else { return Ok(None) };
        let stage = std::mem::replace(&mut runner.jobs[slot].stage, Stage::Ended);
        let Stage::Ready(said, act) = stage else { return Ok(None) };
        let opened = runner.jobs[slot].opened.clone();
        let conflict = !self.fair && self.chance.once_in(4);
        let exam = self.examine(&opened, act)?;
        self.end(&opened, &Ending::OnTop { said: &said, act, exam, conflict })?;
        Ok(None)
    }

    /// The run ends: whoever works is ended, and what is under way put away.
    fn run_ends(&mut self, mut runner: Runner, outcome: &Outcome) -> Result<(), Halt> {
        self.story(format!("the run ends: {outcome}"));
        let now = self.now - runner.began;
        for slot in 0..runner.jobs.len() {
            let stage = std::mem::replace(&mut runner.jobs[slot].stage, Stage::Ended);
            if let Stage::Running(running) = stage {
                let (_, report) = running.worker.ends("", self.wall, true);
                self.charge(&mut runner, slot, running.agent, &report, now)?;
            }
        }
        self.put_away()?;
        self.lock()?;
        let entry = Entry::RunEnded { outcome: outcome.clone(), done: 0, total: 0, millis: now };
        let mine = self.state().filter(|state| {
            matches!(&state.owner, Some(Owner::Runner { process }) if *process == runner.process)
        });
        let written = match mine {
            Some(state) => {
                let text = self.disk.tasks.clone();
                let event = Event::Release { millis: now - runner.charged_until };
                self.write(entry, &machine::step(&state, &TaskFile::scan(&text), event))
            }
            None => self.record(entry),
        };
        if took_effect(&written) {
            self.living = None;
            self.truth.tasks.at_work.clear();
        }
        written
    }
}

impl Runner {
    /// Holds the meaning of an agent's end against our own count.
    fn means_what_it_should(
        &mut self,
        report: &Report,
        changed: bool,
        after: &After,
    ) -> Result<(), Halt> {
        let expected = match &report.trouble {
            None => {
                self.fruitless = 0;
                matches!(after, After::Judge)
            }
            Some(
                Trouble::RateLimited { .. } | Trouble::NotAuthenticated(_) | Trouble::Missing(_),
            ) => matches!(after, After::Again),
            Some(Trouble::Crash(_) | Trouble::Server(_) | Trouble::Idle(_)) if !changed => {
                self.fruitless += 1;
                match self.fruitless >= FRUITLESS {
                    true => matches!(after, After::Stop(..)),
                    false => matches!(after, After::Fail(_)),
                }
            }
            Some(_) => {
                self.fruitless = 0;
                matches!(after, After::Fail(_))
            }
        };
        promise!(expected, "{:?} with {} in a row means {after:?}", report.trouble, self.fruitless);
        Ok(())
    }
}

fn launch(slot: usize) -> Launch {
    Launch(slot as u64)
}
