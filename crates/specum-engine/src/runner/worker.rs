//! The worker: carries out one [`WorkOrder`] and says what it came to.
//!
//! It knows the order, the checkout that it works in, and whom to tell; neither a
//! spec's files nor a journal nor the run it belongs to. Locally it is a thread.

use std::path::Path;
use std::time::Duration;

use specum_core::agent::{self, Reader, Report, Signs, Trouble, WholeLines};
use specum_core::protocol::{CheckedWork, Reply, WorkOrder, WorkResult, WorkSign};
use specum_core::verify::ProcessEnd;

use super::RunError;
use super::worktree::PreparedWorktree;
use crate::attempt::run_check;
use crate::ports::World;
use crate::process::{Chunk, Handle};

/// How often a sign of life without a meaning is passed on.
pub(super) const PULSE: Duration = Duration::from_millis(100);
/// How many signs are passed on at once: more would be held in memory.
const MOST_SIGNS: usize = 256;

/// Where a worker works.
pub(super) struct Checkout<'c> {
    /// The machine it is on.
    pub(super) world: &'c World,
    /// The project's root there.
    pub(super) root: &'c Path,
    /// The worktree, if it is none of the user's own.
    pub(super) worktree: Option<&'c PreparedWorktree>,
    /// Where the agent's output is kept.
    pub(super) log: &'c Path,
    /// What others end the agent by.
    pub(super) handle: Handle,
}

/// Whom a worker tells what it does. Nothing but what [`specum_core::protocol`] has
/// passes between the two.
pub(super) trait Supervisor {
    /// Something that needs no answer.
    fn tell(&self, sign: WorkSign);
    /// Something after which the worker waits for what it is to do.
    fn ask(&self, sign: WorkSign) -> Result<Reply, RunError>;
}

/// Works on an order. In a worktree, what the agent made is checked there and kept as
/// a commit; in the user's tree that is left to the coordinator's side.
pub(super) fn work(
    order: &WorkOrder,
    checkout: &Checkout<'_>,
    supervisor: &dyn Supervisor,
) -> Result<WorkResult, RunError> {
    let report = run_agent(order, checkout, supervisor);
    let reply = supervisor.ask(WorkSign::Ended(report.clone()))?;
    let goes_on = reply == Reply::GoOn && report.trouble.is_none();
    let mut result = WorkResult::unchecked(order, report);
    let Some(worktree) = checkout.worktree.filter(|_| goes_on) else { return Ok(result) };
    let changed = worktree.changed()?;
    if supervisor.ask(WorkSign::Changed(changed.clone()))? == Reply::Leave {
        return Ok(result);
    }
    let check = run_check(checkout.world, order.check.as_ref(), checkout.root, order.check_time);
    let commit = worktree.git.commit_paths(Some(&worktree.base), &changed, &order.message)?;
    result.checked = Some(CheckedWork { changed, check, commit });
    Ok(result)
}

/// Runs the agent and passes on what it says.
fn run_agent(order: &WorkOrder, checkout: &Checkout<'_>, supervisor: &dyn Supervisor) -> Report {
    let trouble = |trouble| Report { trouble: Some(trouble), ..Report::default() };
    // What a `command` agent runs is part of the call.
    let Some(agent) = agent::by_name(&order.agent, Some("")) else {
        let why = format!("this worker knows no agent {}", order.agent);
        return trouble(Trouble::Missing(why));
    };
    let Checkout { world, root, log, handle, .. } = checkout;
    let (reader, pulse) = (agent.reader(), world.clock.elapsed());
    let mut ear = Ear { world, reader, supervisor, has_answered: false, pulse };
    let mut hear = |printed: Chunk<'_>| ear.hear(printed);
    let end = world.launcher.run_agent(&order.call, root, log, handle, &mut hear);
    if let ProcessEnd::NotStarted(why) = end.ended {
        return trouble(Trouble::Missing(why));
    }
    ear.reader.end(&end.ended, &String::from_utf8_lossy(&end.stderr))
}

/// Makes signs of what an agent prints.
struct Ear<'s> {
    world: &'s World,
    reader: Box<dyn Reader>,
    supervisor: &'s dyn Supervisor,
    has_answered: bool,
    /// When a sign without a meaning was passed on last.
    pulse: Duration,
}

impl Ear<'_> {
    fn hear(&mut self, printed: Chunk<'_>) {
        let lines = match printed {
            Chunk::Lines(lines) => Some(lines),
            Chunk::Noise => None,
        };
        let mut is_silent = true;
        let mut signs = Signs::default();
        for line in lines.into_iter().flat_map(WholeLines::iter) {
            let before = signs.len();
            self.reader.read(line, &mut signs);
            is_silent &= signs.len() == before;
            // Ahead of what it says it has used: no cap is to end it for that.
            if self.has_answered != self.reader.has_answered() {
                self.has_answered = !self.has_answered;
                let of_line = signs.split_off(before);
                self.pass_on(std::mem::replace(&mut signs, of_line));
                self.supervisor.tell(WorkSign::Answered(self.has_answered));
            }
            if signs.len() >= MOST_SIGNS {
                self.pass_on(std::mem::take(&mut signs));
            }
        }
        self.pass_on(signs);
        let now = self.world.clock.elapsed();
        if is_silent && now - self.pulse >= PULSE {
            self.pulse = now;
            self.supervisor.tell(WorkSign::Printed);
        }
    }

    fn pass_on(&self, signs: Signs) {
        if !signs.is_empty() {
            self.supervisor.tell(WorkSign::Said(signs));
        }
    }
}

#[cfg(test)]
mod tests;
