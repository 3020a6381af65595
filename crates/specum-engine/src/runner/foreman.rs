//! The coordinator's side of one worker.

use std::cell::Cell;
use std::path::PathBuf;
use std::time::Duration;

use specum_core::agent::{Report, Sign, Signs};
use specum_core::coordinate::{AgentEnd, Input, Launch};
use specum_core::protocol::{Reply, WorkSign};

use super::crew::{Crew, StartEnd, Work, lock};
use super::limits::resets_in;
use super::worker::{PULSE, Supervisor};
use super::worktree::PreparedWorktree;
use super::{RunError, Tell};
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
    /// Until when another text tells the coordinator nothing new.
    pub(super) talks_until: Cell<Duration>,
    pub(super) tell: &'f Tell<'f>,
}

impl Foreman<'_> {
    fn send(&self, input: Input) {
        (self.tell)(input);
    }

    /// Tells the coordinator what the agent does. To it a text is a sign of life and no
    /// more, and to wake it takes longer than to read hundreds of short lines.
    fn tell_kinds(&self, signs: &Signs) {
        let kinds = signs.without_words();
        let now = self.crew.workspace.world().clock.elapsed();
        let is_talk = matches!(kinds.as_slice(), [Sign::Text { .. }]);
        if is_talk && now < self.talks_until.get() {
            return;
        }
        let ends_with_text = matches!(kinds.last(), Some(Sign::Text { .. }));
        self.talks_until.set(if ends_with_text { now + PULSE } else { now });
        self.send(Input::Said(self.launch, kinds));
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
                self.tell_kinds(&signs);
                self.crew.listener.said(self.work.attempt.key.clone(), signs);
            }
            // They are asked.
            WorkSign::Ended(_) | WorkSign::Changed(_) => {}
        }
    }

    fn ask(&self, sign: WorkSign) -> Result<Reply, RunError> {
        let goes_on = match sign {
            WorkSign::Ended(report) => self.agent_ended(&report)?,
            WorkSign::Changed(changed) => self.has_changed(&changed)?,
            needs_no_answer => {
                self.tell(needs_no_answer);
                true
            }
        };
        Ok(if goes_on { Reply::GoOn } else { Reply::Leave })
    }
}

impl Foreman<'_> {
    /// The agent has ended; whether the worker is to go on.
    fn agent_ended(&self, report: &Report) -> Result<bool, RunError> {
        let (crew, opened) = (self.crew, &self.work.attempt);
        let millis = crew.workspace.world().millis_since(self.began);
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

    /// This was changed, and its check is next; whether the worker is to go on.
    fn has_changed(&self, changed: &[String]) -> Result<bool, RunError> {
        let Some(worktree) = self.worktree else { return Ok(false) };
        let workspace = self.crew.workspace;
        let ticked = workspace.take_back_elsewhere(&*worktree.git, &self.work.attempt, changed)?;
        if !ticked.is_empty() {
            workspace.warn(attempt::taken_back_in_words(&ticked))?;
        }
        self.crew.record_check(&self.work.attempt, false)?;
        Ok(!self.crew.stop.is_set())
    }
}
