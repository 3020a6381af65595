//! What a person says to a loop while it works: skip this, once more, wait there.

use super::{Loop, Raise};
use crate::progress::Section;
use crate::state::{PauseAfter, Standing, State, Status};
use crate::tasks::{Task, TaskEdit, TaskFile, short_title};

/// Why nothing new is begun, although something is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// A person wanted the loop to wait here.
    Pause,
    /// A phase begins that a person has to approve, by its heading.
    Approval(String),
}

/// Whether a person is to be waited for before a task is begun. What is under way
/// already is not asked about.
pub fn hold_before(state: &State, file: &TaskFile<'_>, index: usize) -> Option<Hold> {
    let task = file.tasks.get(index)?;
    match &state.pause_after {
        Some(PauseAfter::Task) => return Some(Hold::Pause),
        Some(PauseAfter::Phase(phase)) if is_behind(file, phase, task) => return Some(Hold::Pause),
        Some(PauseAfter::Phase(_)) | None => {}
    }
    let approved = state.approved.as_ref()?;
    is_behind(file, approved, task).then(|| Hold::Approval(file.phase(task)))
}

/// The phase that is worked on, by its heading: that of the first open task which is not
/// passed over.
pub fn phase_under_way(state: &State, file: &TaskFile<'_>) -> String {
    let mut open = file.open().filter(|task| !task.optional);
    open.find(|task| !state.is_skipped(task)).map(|task| file.phase(task)).unwrap_or_default()
}

/// Whether a task belongs to a later phase than this one. One that is no longer in the
/// plan was before every other.
fn is_behind(file: &TaskFile<'_>, phase: &str, task: &Task) -> bool {
    if file.phase(task) == phase {
        return false;
    }
    let last = file.tasks.iter().rfind(|other| file.phase(other) == phase);
    last.is_none_or(|last| last.index < task.index)
}

pub(super) fn await_approval(state: &mut State, phase: String) {
    let shown = if phase.is_empty() { "the next phase".to_owned() } else { format!("`{phase}`") };
    state.standing = Standing::Paused(Some(format!("{shown} waits for your approval")));
    state.waiting_for = Some(phase);
    state.pause_after = None;
}

pub(super) fn approve(state: &mut State) {
    let Some(phase) = state.waiting_for.take() else { return };
    state.approved = Some(phase);
    if matches!(state.standing, Standing::Paused(_)) {
        state.standing = Standing::Running;
    }
}

impl Loop<'_> {
    pub(super) fn skip(&mut self, task: &Task) {
        if task.done || self.state.is_skipped(task) {
            return;
        }
        self.state.skipped.push(task.name());
        self.leave_batch(task);
        self.lift_block();
        self.end_batch_if_resolved();
    }

    pub(super) fn unskip(&mut self, task: &Task) {
        self.state.skipped.retain(|name| !task.is_named(name));
        self.begin_anew(task);
        self.lift_block();
    }

    pub(super) fn retry(&mut self, task: &Task) {
        self.state.skipped.retain(|name| !task.is_named(name));
        match task.done {
            true => self.reopen(task),
            false => self.begin_anew(task),
        }
        self.lift_block();
    }

    pub(super) fn undo(&mut self, task: &Task) {
        let (name, title) = (task.name(), short_title(&task.title));
        self.note(Section::Failed, format!("- {name} {title} (undone by you)"));
        self.retry(task);
    }

    /// Opens a box that was ticked. What is tried from now on is tried anew.
    fn reopen(&mut self, task: &Task) {
        self.effects.push(super::Effect::Edit(TaskEdit::Untick(task.key())));
        self.forget(task);
        if let Some(group) = &mut self.state.parallel_group {
            group.task_indices.retain(|&member| member != task.index);
        }
    }

    /// Gives a task all its attempts again.
    fn begin_anew(&mut self, task: &Task) {
        let is_its_own = |name: &str| task.is_named(name);
        for result in self.state.task_results.values_mut().filter(|r| is_its_own(&r.id)) {
            (result.attempts, result.blocked) = (0, false);
        }
    }

    /// Nobody waits for a task of the batch any more.
    fn leave_batch(&mut self, task: &Task) {
        let attempts = self.attempts(task);
        let is_pending =
            self.state.result_of(task).is_some_and(|result| result.status == Status::Pending);
        if is_pending && attempts == 0 {
            self.forget(task);
        } else if is_pending {
            self.record(task, Status::Failed, None, attempts);
        }
        if let Some(group) = &mut self.state.parallel_group {
            group.task_indices.retain(|&member| member != task.index);
        }
    }

    /// Lets a blocked loop go on if no task that blocks it is left.
    pub(super) fn lift_block(&mut self) {
        let cap = self.state.max_task_iterations;
        let blocks = |task: &Task| {
            let result = self.state.result_of(task);
            result.is_some_and(|result| result.attempts >= cap && result.status != Status::Success)
                && !self.state.is_skipped(task)
        };
        let is_left = self.file.open().any(blocks);
        // One that keeps going is blocked again if nothing can be done.
        if self.state.blocked().is_some() && (!is_left || self.state.keep_going) {
            self.state.standing = Standing::Running;
        }
    }

    pub(super) fn resume(&mut self, raise: Raise) {
        self.raise(raise);
        if self.state.waiting_for.is_some() {
            // That is to be approved, which says more than to go on.
            return;
        }
        self.state.pause_after = None;
        let before = std::mem::replace(&mut self.state.standing, Standing::Running);
        let is_blocked = self.state.task_results.values().any(|result| result.blocked);
        if matches!(before, Standing::Blocked(_)) || is_blocked {
            // A person has looked at it: one more round for what used its own.
            let cap = self.state.max_task_iterations;
            for result in self.state.task_results.values_mut() {
                if result.attempts >= cap || result.blocked {
                    (result.attempts, result.blocked) = (0, false);
                }
            }
        }
        if let Some(planning) = &mut self.state.planning {
            planning.resume();
        }
    }

    fn raise(&mut self, raise: Raise) {
        let Raise { max_global_iterations, max_tokens, max_cost, max_millis } = raise;
        let state = &mut self.state;
        state.max_global_iterations = max_global_iterations.unwrap_or(state.max_global_iterations);
        let budget = &mut state.budget;
        budget.max_iterations = max_global_iterations.or(budget.max_iterations);
        budget.max_tokens = max_tokens.or(budget.max_tokens);
        budget.allow_cost(max_cost);
        budget.max_millis = max_millis.or(budget.max_millis);
    }
}

#[cfg(test)]
mod tests;
