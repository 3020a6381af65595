//! The coordinator's side of one worker.

use std::path::PathBuf;
use std::time::Duration;

use specum_core::agent::Report;
use specum_core::coordinate::{AgentEnd, Input, Launch};
use specum_core::protocol::WorkSign;

use super::crew::{Crew, StartEnd, Work, lock};
use super::limits::resets_in;
use super::worker::Supervisor;
use super::worktree::PreparedWorktree;
use super::{RunError, Tell, millis_since};
use crate::attempt;

/// The coordinator's side of a worker: passes on what it says, and looks after what a
/// worker knows nothing of.
pub(super) struct Foreman<'f> {
    pub(super) crew: &'f Crew<'f>,
    pub(super) work: &'f Work,
    pub(super) launch: Launch,
    pub(super) worktree: Option<&'f PreparedWorktree>,
    pub(super) log: PathBuf,
    pub(super) began: Duration,
    pub(super) tell: &'f Tell<'f>,
}

impl Foreman<'_> {
    fn send(&self, input: Input) {
        (self.tell)(input);
    }

    /// Whether the agent has changed anything.
    fn has_changes(&self) -> Result<bool, RunError> {
        let opened = &self.work.attempt;
        match self.worktree {
            None => Ok(!self.crew.workspace.changed_now(opened)?.is_empty()),
            // It may have deleted the worktree, which is a change too.
            Some(tree) => Ok(tree.changed().map_or(true, |changed| !changed.is_empty())),
        }
    }
}

impl Supervisor for Foreman<'_> {
    fn tell(&self, sign: WorkSign) {
        match sign {
            WorkSign::Printed => self.send(Input::Printed(self.launch)),
            WorkSign::Answered(answered) => self.send(Input::Answered(self.launch, answered)),
            WorkSign::Said(signs) => {
                self.crew.listener.keep_pace();
                self.send(Input::Said(self.launch, signs.without_words()));
                self.crew.listener.said(self.work.attempt.key.clone(), signs);
            }
            WorkSign::Ended(_) => {}
        }
    }

    fn agent_ended(&self, report: &Report) -> Result<bool, RunError> {
        let (crew, opened) = (self.crew, &self.work.attempt);
        let millis = millis_since(crew.workspace.world(), self.began);
        crew.workspace.bring_back()?;
        if let Some(pause) = crew.look_at_programs(opened)? {
            self.send(pause);
        }
        let is_stopped = crew.stop.is_set();
        let changed = report.trouble.is_some() && !is_stopped && self.has_changes()?;
        lock(&self.work.result).report = report.clone();
        lock(&crew.starts).insert(self.launch, StartEnd { millis, log: self.log.clone() });
        self.send(Input::Ended(AgentEnd {
            launch: self.launch,
            report: report.clone(),
            changed,
            resets_in: resets_in(crew.workspace.world(), report.trouble.as_ref()),
        }));
        let Some(worktree) = self.worktree.filter(|_| !is_stopped) else { return Ok(false) };
        if !worktree.is_there(crew.workspace)? {
            // Not asked git about: it would look for another repository above.
            return Ok(false);
        }
        if let Some(branch) = worktree.git.branch_of_head() {
            // It was given none.
            let id = &opened.key.id;
            let text = format!("the agent of {id} has worked on the branch {branch}, which stays");
            crew.workspace.warn(text)?;
        }
        Ok(true)
    }

    fn has_changed(&self, changed: &[String]) -> Result<bool, RunError> {
        let Some(worktree) = self.worktree else { return Ok(false) };
        let workspace = self.crew.workspace;
        let ticked = workspace.take_back_elsewhere(&*worktree.git, &self.work.attempt, changed)?;
        if !ticked.is_empty() {
            workspace.warn(attempt::told(&ticked))?;
        }
        self.crew.record_check(&self.work.attempt, false)?;
        Ok(!self.crew.stop.is_set())
    }
}
