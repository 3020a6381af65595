//! The agents of a run: which of them works, what an agent's end means, who has
//! taken too long, and when to give up.

use std::collections::BTreeMap;

use super::Launch;
use crate::agent::{Report, Sign, Trouble, Usage};
use crate::budget::Budget;
use crate::event::Outcome;

/// Milliseconds since the run began.
pub type Millis = u64;

/// How many attempts in a row may come to nothing for reasons outside the
/// tasks.
const FRUITLESS: u32 = 3;
/// The first pause after an attempt that came to nothing; it doubles twice.
const FIRST_PAUSE: Millis = 1_000;
/// The first wait for a limit whose end nobody names; it doubles.
const FIRST_WAIT: Millis = 30_000;
/// How often in a row an end is taken as it is named.
const TRUSTED_ENDS: u32 = 2;
/// The longest such wait.
const LONGEST_WAIT: Millis = 30 * 60_000;

/// How long an agent may take to end after its last word. Its work is judged
/// then, so there is nothing to wait for.
const LONGEST_END: Millis = 30_000;

/// Prices are sums of fractions: one that is this much above the cap is not.
const ROUNDING: f64 = 1e-9;

/// How long an agent may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// From its start to its end.
    pub task: Millis,
    /// Without a sign of life. Stands still while a tool runs.
    pub idle: Millis,
}

/// The time by which waits begin and end: whichever of two clocks gets there
/// first. A steady one stands still while the machine sleeps, and the one on the
/// wall may be set back.
#[derive(Debug, Default)]
pub struct WaitClock {
    /// How far the clock on the wall has been ahead of the steady one.
    ahead: Millis,
}

impl WaitClock {
    /// The time, when both clocks have gone so far since the run began.
    pub fn now(&mut self, steady: Millis, wall: Millis) -> Millis {
        self.ahead = self.ahead.max(wall.saturating_sub(steady));
        steady.saturating_add(self.ahead)
    }
}

/// The agents of a run while it lasts.
#[derive(Debug)]
pub struct Agents {
    patience: Patience,
    agents: Vec<Candidate>,
    running: BTreeMap<Launch, Running>,
    /// Attempts in a row that came to nothing.
    fruitless: u32,
    /// Nobody is started before.
    not_before: Millis,
}

#[derive(Debug)]
struct Candidate {
    name: String,
    /// Why it is of no use any more.
    useless: Option<Trouble>,
    /// Until when it has reached a limit, and why.
    limited: Option<(Millis, String)>,
    /// How often in a row it has reached one without naming its end.
    waits: u32,
    /// Whether a start of it in this run has named a price. An earlier run may have
    /// used another model.
    has_named_price: bool,
}

/// An agent at work.
#[derive(Debug)]
struct Running {
    agent: usize,
    started: Millis,
    last_sign: Millis,
    /// Tools that have not answered yet.
    tools: u32,
    usage: Usage,
    /// Whether it has said its last word.
    answered: bool,
}

/// Who is to work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// This one, by its place in the list.
    Use(usize),
    /// Nobody yet.
    Wait {
        /// For whom.
        agent: usize,
        /// Until when.
        until: Millis,
        /// Why.
        why: String,
    },
    /// Nobody ever.
    Nobody(String),
}

/// What an agent's end means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    /// What it did is to be judged.
    Judge,
    /// The attempt has failed, for this reason.
    Fail(Trouble),
    /// It was no attempt: somebody is to be chosen anew.
    Again,
    /// The attempt has failed, and so has the run.
    Stop(Trouble, Outcome),
}

impl Agents {
    /// Those of a run that begins, in the order in which they are asked.
    pub fn new(agents: Vec<String>, patience: Patience) -> Agents {
        let candidate = |name| Candidate {
            name,
            useless: None,
            limited: None,
            waits: 0,
            has_named_price: false,
        };
        Agents {
            patience,
            agents: agents.into_iter().map(candidate).collect(),
            running: BTreeMap::new(),
            fruitless: 0,
            not_before: 0,
        }
    }

    /// Who is to work now: the first agent that can.
    pub fn choose(&self, now: Millis) -> Choice {
        let usable = || self.agents.iter().enumerate().filter(|(_, agent)| agent.useless.is_none());
        let free =
            |agent: &Candidate| agent.limited.as_ref().is_none_or(|(until, _)| *until <= now);
        if let Some((agent, _)) = usable().find(|(_, agent)| free(agent)) {
            return if self.not_before > now {
                let why = "the last attempt came to nothing".to_owned();
                Choice::Wait { agent, until: self.not_before, why }
            } else {
                Choice::Use(agent)
            };
        }
        let soonest = usable()
            .filter_map(|(index, agent)| agent.limited.as_ref().map(|limit| (index, limit)))
            .min_by_key(|(_, (until, _))| *until);
        match soonest {
            Some((agent, (until, why))) => Choice::Wait { agent, until: *until, why: why.clone() },
            None => {
                let reasons = self.agents.iter().filter_map(|agent| {
                    let trouble = agent.useless.as_ref()?;
                    Some(format!("{}: {}", agent.name, trouble.message()))
                });
                Choice::Nobody(reasons.collect::<Vec<_>>().join("; "))
            }
        }
    }

    /// Whether one more agent may be started beside those at work. Some agents name
    /// their price only at their end, so under a cap in dollars an agent works alone
    /// until it has named one, and then as many work at once as the cap leaves room
    /// for at the dearest price so far.
    pub fn may_start(&self, agent: usize, budget: &Budget) -> bool {
        let Some(left) = budget.cost_left().filter(|_| !self.running.is_empty()) else {
            return true;
        };
        let at_work = self.running.values().map(|running| running.agent);
        at_work.chain([agent]).all(|agent| self.agents[agent].has_named_price)
            && self.expected_cost(budget, None) + budget.dearest_cost <= left + ROUNDING
    }

    /// Most dollars that a start may cost: what the cap leaves, less what the others
    /// at work have to be expected to cost. `None` without a cap.
    pub fn allowance(&self, launch: Launch, budget: &Budget) -> Option<f64> {
        let left = budget.cost_left()?;
        Some((left - self.expected_cost(budget, Some(launch))).max(0.0))
    }

    /// What those at work have to be expected to cost together, without one of them.
    fn expected_cost(&self, budget: &Budget, without: Option<Launch>) -> f64 {
        let others = self.running.iter().filter(|(launch, _)| Some(**launch) != without);
        others.map(|(_, running)| budget.expected_cost(running.usage, running.answered)).sum()
    }

    /// A start has come to nothing before its agent could end.
    pub fn abandoned(&mut self, launch: Launch) {
        self.running.remove(&launch);
    }

    /// An agent has been started.
    pub fn started(&mut self, launch: Launch, agent: usize, now: Millis) {
        let running = Running {
            agent,
            started: now,
            last_sign: now,
            tools: 0,
            usage: Usage::default(),
            answered: false,
        };
        self.running.insert(launch, running);
    }

    /// A running agent has printed something.
    pub fn printed(&mut self, launch: Launch, now: Millis) {
        if let Some(running) = self.running.get_mut(&launch) {
            running.last_sign = now;
        }
    }

    /// Nobody has listened for a while; so nobody was silent.
    pub fn was_away(&mut self, now: Millis) {
        self.running.values_mut().for_each(|running| running.last_sign = now);
    }

    /// A running agent has said what it does.
    pub fn said(&mut self, launch: Launch, sign: &Sign, now: Millis) {
        let Some(running) = self.running.get_mut(&launch) else { return };
        match sign {
            // An agent that waits by itself has nothing to show for it.
            Sign::Retrying { .. } => return,
            Sign::Tool { .. } => running.tools = running.tools.saturating_add(1),
            Sign::ToolEnded => running.tools = running.tools.saturating_sub(1),
            // It has what it waited for, whether or not every tool was told.
            Sign::Text { .. } => running.tools = 0,
            Sign::Used(usage) => running.usage = *usage,
        }
        running.last_sign = now;
    }

    /// A running agent has said its last word, and what is left is its end; or it
    /// was not the last one.
    pub fn answered(&mut self, launch: Launch, answered: bool) {
        if let Some(running) = self.running.get_mut(&launch) {
            running.answered = answered;
        }
    }

    /// What a running agent has used so far.
    pub fn used_by(&self, launch: Launch) -> Usage {
        self.running.get(&launch).map(|running| running.usage).unwrap_or_default()
    }

    /// What those who run right now have used.
    pub fn in_use(&self) -> Vec<Usage> {
        self.running.values().map(|running| running.usage).collect()
    }

    /// Which cap is reached by what is spent and what runs right now. Whoever
    /// has answered costs nothing more, and what it did is not thrown away.
    pub fn exhausted(&self, budget: &Budget, millis: Millis) -> Option<String> {
        let at_work = self.running.values().any(|running| !running.answered);
        let spent = at_work.then(|| budget.spent(&self.in_use())).flatten();
        spent.or_else(|| budget.out_of_time(millis))
    }

    /// Those who have taken too long.
    pub fn overdue(&self, now: Millis) -> Vec<(Launch, Trouble)> {
        let patience = self.patience;
        let silence = |running: &Running| match running.answered {
            true => patience.idle.min(LONGEST_END),
            false => patience.idle,
        };
        self.running
            .iter()
            .filter_map(|(launch, running)| {
                if now - running.started >= patience.task {
                    Some((*launch, Trouble::Timeout(patience.task / 1000)))
                } else if running.tools == 0 && now - running.last_sign >= silence(running) {
                    Some((*launch, Trouble::Idle(silence(running) / 1000)))
                } else {
                    None
                }
            })
            .collect()
    }

    /// What the end of an agent means. `changed` tells whether it has changed
    /// anything; `reset` when a limit that it named ends.
    pub fn ended(
        &mut self,
        launch: Launch,
        report: &Report,
        changed: bool,
        reset: Option<Millis>,
        now: Millis,
    ) -> After {
        let Some(agent) = self.running.remove(&launch).map(|running| running.agent) else {
            return After::Judge;
        };
        if report.usage.and_then(|usage| usage.cost).is_some_and(|cost| cost > 0.0) {
            self.agents[agent].has_named_price = true;
        }
        let Some(trouble) = &report.trouble else {
            self.fruitless = 0;
            self.agents[agent].waits = 0;
            return After::Judge;
        };
        match trouble {
            Trouble::RateLimited { why, .. } => {
                self.limit(agent, why, reset, now);
                After::Again
            }
            Trouble::NotAuthenticated(_) | Trouble::Missing(_) => {
                self.agents[agent].useless = Some(trouble.clone());
                After::Again
            }
            Trouble::Crash(_) | Trouble::Server(_) | Trouble::Idle(_) if !changed => {
                self.came_to_nothing(trouble, now)
            }
            Trouble::Crash(_)
            | Trouble::Server(_)
            | Trouble::Idle(_)
            | Trouble::Timeout(_)
            | Trouble::OverBudget(_)
            | Trouble::ContextOverflow(_) => {
                self.fruitless = 0;
                After::Fail(trouble.clone())
            }
        }
    }

    fn limit(&mut self, agent: usize, why: &str, reset: Option<Millis>, now: Millis) {
        let agent = &mut self.agents[agent];
        let wait = FIRST_WAIT.saturating_mul(1 << agent.waits.min(16)).min(LONGEST_WAIT);
        let until = match reset {
            // Whoever names an end again and again, and is at it at once, has
            // not told the truth about it.
            Some(reset) if agent.waits >= TRUSTED_ENDS => reset.max(now + wait),
            Some(reset) if reset > now => reset,
            // One that has passed already is as good as none.
            Some(_) | None => now + wait,
        };
        agent.waits += 1;
        agent.limited = Some((until, why.to_owned()));
    }

    fn came_to_nothing(&mut self, trouble: &Trouble, now: Millis) -> After {
        self.fruitless += 1;
        if self.fruitless >= FRUITLESS {
            let why = trouble.message();
            return After::Stop(trouble.clone(), Outcome::Circuit { why });
        }
        self.not_before = now + FIRST_PAUSE * (1 << (self.fruitless - 1));
        After::Fail(trouble.clone())
    }

    /// The name of an agent.
    pub fn name(&self, agent: usize) -> &str {
        &self.agents[agent].name
    }

    /// Why an agent is passed over now; `None` if it is not.
    pub fn why_not(&self, agent: usize, now: Millis) -> Option<String> {
        let agent = &self.agents[agent];
        let limit = agent.limited.as_ref().filter(|(until, _)| *until > now);
        let useless = agent.useless.as_ref().map(Trouble::message);
        useless.or_else(|| limit.map(|(_, why)| why.clone()))
    }

    /// Whether a person has to sign an agent in.
    pub fn is_signed_out(&self, agent: usize) -> bool {
        matches!(self.agents[agent].useless, Some(Trouble::NotAuthenticated(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Charge;

    fn run(agents: &[&str]) -> Agents {
        let agents = agents.iter().map(|&name| name.to_owned()).collect();
        Agents::new(agents, Patience { task: 60_000, idle: 10_000 })
    }

    fn troubled(trouble: Trouble) -> Report {
        Report { trouble: Some(trouble), ..Report::default() }
    }

    fn limit() -> Report {
        troubled(Trouble::RateLimited { why: "429".into(), reset: None })
    }

    #[test]
    fn a_limit_is_waited_for_and_is_no_attempt() {
        let mut run = run(&["claude"]);
        run.started(Launch(0), 0, 0);
        assert_eq!(run.ended(Launch(0), &limit(), false, Some(9_000), 1_000), After::Again);
        let wait = Choice::Wait { agent: 0, until: 9_000, why: "429".into() };
        assert_eq!(run.choose(1_000), wait);
        assert_eq!(run.choose(9_000), Choice::Use(0));
    }

    #[test]
    fn finding_51_an_agent_works_alone_under_a_cap_until_it_has_named_a_price() {
        let mut run = run(&["claude", "opencode"]);
        let mut budget = Budget { max_cost: Some(5.0), ..Budget::default() };
        let priced = |cost| Report { usage: Some(Usage { tokens: 1, cost }), ..Report::default() };
        assert!(run.may_start(0, &Budget::default()), "without a cap nothing holds it back");
        assert!(run.may_start(0, &budget), "the first one");
        run.started(Launch(0), 0, 0);
        assert!(!run.may_start(0, &budget), "nobody knows yet what that one costs");
        assert!(run.may_start(0, &Budget::default()));
        run.ended(Launch(0), &priced(None), false, None, 0);
        run.started(Launch(0), 0, 0);
        assert!(!run.may_start(0, &budget), "the first one has named no price");
        run.ended(Launch(0), &priced(Some(1.0)), false, None, 0);
        budget.spend(&Charge { cost: Some(1.0), ..Charge::default() });
        // $4 are left, for four at a dollar each.
        for launch in 0..4 {
            assert!(run.may_start(0, &budget), "{launch}");
            run.started(Launch(launch), 0, 0);
        }
        assert!(!run.may_start(0, &budget));
        run.ended(Launch(3), &priced(Some(0.5)), false, None, 0);
        budget.spend(&Charge { cost: Some(0.5), ..Charge::default() });
        assert!(!run.may_start(0, &budget), "$3.50 are left, and three dollars are taken");
        run.abandoned(Launch(2));
        assert!(run.may_start(0, &budget));
        assert!(!run.may_start(1, &budget), "the other agent has not named a price");
    }

    #[test]
    fn finding_51_a_start_may_cost_what_the_cap_and_the_others_leave() {
        let mut run = run(&["claude"]);
        let mut budget = Budget { max_cost: Some(5.0), ..Budget::default() };
        run.started(Launch(0), 0, 0);
        assert_eq!(run.allowance(Launch(0), &Budget::default()), None);
        assert_eq!(run.allowance(Launch(0), &budget), Some(5.0));
        budget.spend(&Charge { cost: Some(1.0), ..Charge::default() });
        run.started(Launch(1), 0, 0);
        assert_eq!(
            run.allowance(Launch(1), &budget),
            Some(3.0),
            "the other is taken to cost a dollar"
        );
        run.said(Launch(0), &Sign::Used(Usage { tokens: 1, cost: Some(3.5) }), 0);
        assert_eq!(run.allowance(Launch(1), &budget), Some(0.5), "it has named a higher price");
        run.said(Launch(0), &Sign::Used(Usage { tokens: 1, cost: Some(0.5) }), 0);
        run.answered(Launch(0), true);
        assert_eq!(run.allowance(Launch(1), &budget), Some(3.5), "that is all it costs");
    }

    #[test]
    fn finding_52_a_wait_ends_by_whichever_clock_gets_there() {
        const HOUR: Millis = 3_600_000;
        let mut run = run(&["claude"]);
        let mut clock = WaitClock::default();
        let limited = |run: &mut Agents, now: Millis| {
            run.started(Launch(0), 0, now);
            run.ended(Launch(0), &limit(), false, Some(now + HOUR), now);
        };
        limited(&mut run, clock.now(10, 12));
        assert!(matches!(run.choose(clock.now(20, 22)), Choice::Wait { .. }));
        // The machine has slept.
        let now = clock.now(30, 2 * HOUR);
        assert_eq!(run.choose(now), Choice::Use(0));
        // The next wait is as long as it is named, by both of them.
        limited(&mut run, now);
        assert!(matches!(run.choose(clock.now(40, 2 * HOUR + 10)), Choice::Wait { .. }));
        assert!(matches!(run.choose(clock.now(50, 0)), Choice::Wait { .. }), "set back");
        assert_eq!(run.choose(clock.now(HOUR + 30, 0)), Choice::Use(0));
    }

    #[test]
    fn a_limit_without_an_end_is_waited_for_longer_each_time() {
        let mut run = run(&["codex"]);
        let mut now = 0;
        let mut waits = Vec::new();
        for _ in 0..9 {
            run.started(Launch(0), 0, now);
            run.ended(Launch(0), &limit(), false, None, now);
            let Choice::Wait { until, .. } = run.choose(now) else { panic!("it waits") };
            waits.push((until - now) / 1000);
            now = until;
        }
        assert_eq!(waits, [30, 60, 120, 240, 480, 960, 1800, 1800, 1800]);
        run.started(Launch(0), 0, now);
        assert_eq!(run.ended(Launch(0), &Report::default(), true, None, now), After::Judge);
        run.started(Launch(0), 0, now);
        run.ended(Launch(0), &limit(), false, None, now);
        assert!(matches!(run.choose(now), Choice::Wait { until, .. } if until == now + 30_000));
    }

    #[test]
    fn an_end_that_is_named_again_and_again_is_not_believed_for_ever() {
        let mut run = run(&["codex"]);
        let mut now = 0;
        let mut waits = Vec::new();
        for _ in 0..5 {
            run.started(Launch(0), 0, now);
            run.ended(Launch(0), &limit(), false, Some(now + 1_000), now);
            let Choice::Wait { until, .. } = run.choose(now) else { panic!("it waits") };
            waits.push((until - now) / 1000);
            now = until;
        }
        assert_eq!(waits, [1, 1, 120, 240, 480]);
    }

    #[test]
    fn the_next_agent_takes_over_and_the_first_comes_back_after_its_limit() {
        let mut run = run(&["claude", "codex"]);
        run.started(Launch(0), 0, 0);
        run.ended(Launch(0), &limit(), false, Some(50_000), 0);
        assert_eq!(run.choose(0), Choice::Use(1));
        run.started(Launch(0), 1, 0);
        run.ended(Launch(0), &limit(), false, Some(40_000), 0);
        assert!(matches!(run.choose(0), Choice::Wait { agent: 1, until: 40_000, .. }));
        assert_eq!(run.choose(40_000), Choice::Use(1));
        assert_eq!(run.choose(50_000), Choice::Use(0));
    }

    #[test]
    fn without_anybody_signed_in_it_is_over_at_once() {
        let mut run = run(&["claude", "codex"]);
        let refused = troubled(Trouble::NotAuthenticated("401".into()));
        run.started(Launch(0), 0, 0);
        assert_eq!(run.ended(Launch(0), &refused, false, None, 0), After::Again);
        assert_eq!(run.choose(0), Choice::Use(1));
        run.started(Launch(0), 1, 0);
        assert_eq!(run.ended(Launch(0), &refused, false, None, 0), After::Again);
        let Choice::Nobody(why) = run.choose(0) else { panic!("nobody is left") };
        assert!(why.contains("claude: ") && why.contains("codex: "), "{why}");
    }

    #[test]
    fn three_attempts_that_come_to_nothing_open_the_circuit() {
        let mut run = run(&["claude"]);
        let crash = troubled(Trouble::Crash("code 1".into()));
        let mut end = |report: &Report, changed, now| {
            run.started(Launch(0), 0, now);
            let after = run.ended(Launch(0), report, changed, None, now);
            (after, run.choose(now))
        };
        let (after, choice) = end(&crash, false, 0);
        assert!(matches!(after, After::Fail(Trouble::Crash(_))));
        assert!(matches!(choice, Choice::Wait { until: 1_000, .. }), "not five times a second");
        assert!(matches!(end(&crash, false, 1_000).1, Choice::Wait { until: 3_000, .. }));
        let idle = troubled(Trouble::Idle(10));
        assert!(matches!(end(&idle, false, 3_000).0, After::Stop(_, Outcome::Circuit { .. })));
    }

    #[test]
    fn work_between_them_closes_the_circuit_again() {
        let mut run = run(&["claude"]);
        let crash = troubled(Trouble::Crash("code 1".into()));
        for changed in [false, false, true, false, false] {
            run.started(Launch(0), 0, 0);
            assert!(matches!(run.ended(Launch(0), &crash, changed, None, 0), After::Fail(_)));
        }
        run.started(Launch(0), 0, 0);
        assert_eq!(run.ended(Launch(0), &Report::default(), false, None, 0), After::Judge);
        run.started(Launch(0), 0, 0);
        assert!(matches!(run.ended(Launch(0), &crash, false, None, 0), After::Fail(_)));
    }

    #[test]
    fn silence_is_bounded_but_not_while_a_tool_runs() {
        let mut run = run(&["claude"]);
        run.started(Launch(0), 0, 0);
        run.started(Launch(1), 0, 0);
        run.said(Launch(1), &Sign::Tool { name: "Bash: make".into() }, 1_000);
        run.printed(Launch(0), 5_000);
        assert_eq!(run.overdue(14_999), []);
        assert_eq!(run.overdue(15_000), [(Launch(0), Trouble::Idle(10))]);
        run.said(Launch(1), &Sign::ToolEnded, 20_000);
        assert_eq!(run.overdue(30_000).len(), 2);
        run.said(Launch(1), &Sign::Tool { name: "Bash: make".into() }, 30_000);
        assert_eq!(run.overdue(60_000).pop(), Some((Launch(1), Trouble::Timeout(60))));
    }

    #[test]
    fn of_two_tools_the_last_one_starts_the_clock() {
        let mut run = run(&["claude"]);
        run.started(Launch(0), 0, 0);
        for _ in 0..2 {
            run.said(Launch(0), &Sign::Tool { name: "Bash: make".into() }, 0);
        }
        run.said(Launch(0), &Sign::ToolEnded, 0);
        assert_eq!(run.overdue(59_999), []);
        run.said(Launch(0), &Sign::ToolEnded, 20_000);
        assert_eq!(run.overdue(30_000), [(Launch(0), Trouble::Idle(10))]);
        run.said(Launch(0), &Sign::Tool { name: "Bash: make".into() }, 30_000);
        // The model speaks when it has what it waited for.
        run.said(Launch(0), &Sign::Text { text: "done".into() }, 30_000);
        assert_eq!(run.overdue(40_000), [(Launch(0), Trouble::Idle(10))]);
    }

    #[test]
    fn finding_44_whoever_has_answered_and_does_not_end_is_ended_soon() {
        let patience = Patience { task: 3_600_000, idle: 600_000 };
        let mut run = Agents::new(vec!["command".into()], patience);
        run.started(Launch(0), 0, 0);
        run.answered(Launch(0), true);
        assert_eq!(run.overdue(29_999), []);
        assert_eq!(run.overdue(30_000), [(Launch(0), Trouble::Idle(30))]);
        run.answered(Launch(0), false);
        assert_eq!(run.overdue(599_999), [], "it was not the last word");
    }

    #[test]
    fn finding_43_nobody_was_silent_while_nobody_listened() {
        let mut run = run(&["claude"]);
        run.started(Launch(0), 0, 0);
        assert_eq!(run.overdue(10_000), [(Launch(0), Trouble::Idle(10))]);
        run.was_away(10_000);
        assert_eq!(run.overdue(19_999), []);
        assert_eq!(run.overdue(20_000), [(Launch(0), Trouble::Idle(10))]);
    }

    #[test]
    fn whoever_has_answered_is_not_ended_for_what_it_cost() {
        let mut run = run(&["claude"]);
        let budget = Budget { max_tokens: Some(10), max_millis: Some(5), ..Budget::default() };
        run.started(Launch(0), 0, 0);
        run.answered(Launch(0), true);
        run.said(Launch(0), &Sign::Used(Usage { tokens: 20, cost: None }), 0);
        assert_eq!(run.exhausted(&budget, 0), None);
        assert!(run.exhausted(&budget, 5).is_some(), "time is up for everybody");
        run.started(Launch(1), 0, 0);
        assert!(run.exhausted(&budget, 0).is_some(), "another one still costs");
    }

    #[test]
    fn an_agent_that_retries_by_itself_for_ever_is_silent() {
        let mut run = run(&["opencode"]);
        run.started(Launch(0), 0, 0);
        run.said(Launch(0), &Sign::Retrying { why: "429".into() }, 9_000);
        assert_eq!(run.overdue(10_000), [(Launch(0), Trouble::Idle(10))]);
    }

    #[test]
    fn a_cap_binds_while_agents_run() {
        let mut run = run(&["claude"]);
        let budget = Budget { max_tokens: Some(100), tokens: 50, ..Budget::default() };
        for launch in 0..2 {
            run.started(Launch(launch), 0, 0);
            let usage = Usage { tokens: 20, cost: None };
            run.said(Launch(launch), &Sign::Used(usage), 0);
        }
        assert_eq!(run.exhausted(&budget, 0), None);
        run.said(Launch(1), &Sign::Used(Usage { tokens: 30, cost: None }), 0);
        assert!(run.exhausted(&budget, 0).is_some());
    }
}
