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
/// The first wait for a limit without a known end; it doubles.
const FIRST_WAIT: Millis = 30_000;
/// How often in a row an end is taken as it is named.
const TRUSTED_ENDS: u32 = 2;
/// The longest such wait.
const LONGEST_WAIT: Millis = 30 * 60_000;

/// How long an agent may take to end after its last word. Its work is judged
/// then, so there is nothing to wait for.
const LONGEST_END: Millis = 30_000;

/// How long an agent may try to reach its model's server while another one could work.
const OUT_OF_REACH: Millis = 60_000;

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

impl Candidate {
    /// Whether it can work now.
    fn is_free(&self, now: Millis) -> bool {
        self.useless.is_none() && self.limited.as_ref().is_none_or(|(until, _)| *until <= now)
    }
}

/// An agent at work.
#[derive(Debug)]
struct Running {
    agent: usize,
    started: Millis,
    last_sign: Millis,
    /// Since when it has done nothing but try to reach its server.
    retries: Option<Millis>,
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
    /// It was no attempt: an agent is to be chosen again.
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
        if let Some((agent, _)) = usable().find(|(_, agent)| agent.is_free(now)) {
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

    /// Whether another agent than this one could work now.
    fn has_other(&self, agent: usize, now: Millis) -> bool {
        let mut others = self.agents.iter().enumerate().filter(|(other, _)| *other != agent);
        others.any(|(_, other)| other.is_free(now))
    }

    /// Whether one more agent may be started while the others work. Some agents name
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
            retries: None,
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

    /// The run did not listen for a while, so no agent counts as silent for that time.
    pub fn was_away(&mut self, now: Millis) {
        self.running.values_mut().for_each(|running| running.last_sign = now);
    }

    /// A running agent has said what it does.
    pub fn said(&mut self, launch: Launch, sign: &Sign, now: Millis) {
        let Some(running) = self.running.get_mut(&launch) else { return };
        match sign {
            // An agent that waits by itself has nothing to show for it.
            Sign::Retrying { .. } => {
                running.retries.get_or_insert(now);
                return;
            }
            Sign::Tool { .. } => running.tools = running.tools.saturating_add(1),
            Sign::ToolEnded => running.tools = running.tools.saturating_sub(1),
            // It has what it waited for, whether or not every tool was reported.
            Sign::Text { .. } => running.tools = 0,
            Sign::Used(usage) => running.usage = *usage,
        }
        (running.retries, running.last_sign) = (None, now);
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

    /// Which cap is reached by what is spent and what runs right now. An agent
    /// that has answered costs nothing more, and what it did is not thrown away.
    pub fn exhausted(&self, budget: &Budget, millis: Millis) -> Option<String> {
        let at_work = self.running.values().any(|running| !running.answered);
        let spent = at_work.then(|| budget.spent(&self.in_use())).flatten();
        spent.or_else(|| budget.out_of_time(millis))
    }

    /// Those who have taken too long, or cannot reach their server while another agent
    /// could work.
    pub fn overdue(&self, now: Millis) -> Vec<(Launch, Trouble)> {
        let patience = self.patience;
        let silence = |running: &Running| match running.answered {
            true => patience.idle.min(LONGEST_END),
            false => patience.idle,
        };
        let out_of_reach = |running: &Running| {
            let is_it = running.retries.is_some_and(|since| now - since >= OUT_OF_REACH)
                && self.has_other(running.agent, now);
            is_it.then(|| Trouble::Server("its server did not answer for a minute".into()))
        };
        self.running
            .iter()
            .filter_map(|(launch, running)| {
                if now - running.started >= patience.task {
                    Some((*launch, Trouble::Timeout(patience.task / 1000)))
                } else if running.tools == 0 && now - running.last_sign >= silence(running) {
                    Some((*launch, Trouble::Idle(silence(running) / 1000)))
                } else {
                    out_of_reach(running).map(|trouble| (*launch, trouble))
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
            Trouble::Server(why) if self.has_other(agent, now) => {
                self.limit(agent, why, reset, now);
                if changed { After::Fail(trouble.clone()) } else { After::Again }
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
            // An agent that names an end again and again, and is at it at once, has
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
mod tests;
