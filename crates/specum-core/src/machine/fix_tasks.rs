//! Tasks that have used their attempts: a fix task for each, in recovery mode
//! and within bounds, or the end of the loop as blocked.

use super::{Effect, Loop, Signal};
use crate::progress::Section;
use crate::state::{Standing, Status};
use crate::tasks::{Task, TaskEdit, TaskFile, short_title};

impl Loop<'_> {
    /// Gives every task that has used its attempts a fix task, or blocks. Never
    /// while a batch runs: an insertion would shift the positions of the others.
    pub(super) fn add_fix_tasks(&mut self) {
        let cap = self.state.max_task_iterations;
        if self.state.blocked().is_some() {
            return;
        }
        for (index, result) in self.state.task_results.clone() {
            let (Some(task), Some(reason)) = (self.file.tasks.get(index), result.error) else {
                continue;
            };
            if result.attempts < cap || result.blocked || self.state.is_skipped(task) {
                continue;
            }
            match self.fix_for(task, &reason) {
                Ok(edit) => {
                    // The original gets a new round once the fix is in.
                    self.record(task, Status::Failed, Some(reason), 0);
                    self.effects.push(Effect::Edit(edit));
                }
                Err(why) => self.block(task, result.attempts, &reason, &why),
            }
        }
    }

    fn block(&mut self, task: &Task, attempts: u64, reason: &str, why: &str) {
        let name = task.name();
        let often = if attempts == 1 { "once".to_owned() } else { format!("{attempts} times") };
        self.note(Section::Blockers, format!("- {name} failed {often} ({why}): {reason}"));
        let blocked = format!("task {name} failed {often} ({why}): {reason}");
        match self.state.task_results.get_mut(&task.index).filter(|_| self.state.keep_going) {
            // The loop blocks when nothing is left that does not need it.
            Some(result) => (result.blocked, result.error) = (true, Some(blocked)),
            None => {
                self.state.standing = Standing::Blocked(blocked);
                self.effects.push(Effect::Signal(Signal::Blocked));
            }
        }
    }

    /// A fix task for one that keeps failing, or why there can be none.
    fn fix_for(&mut self, task: &Task, reason: &str) -> Result<TaskEdit, String> {
        if !self.state.recovery_mode {
            return Err("`--recovery-mode` would add a fix task".into());
        }
        let Some(id) = task.id.as_deref() else {
            return Err("fix tasks need tasks with ids".into());
        };
        if task.is_heading {
            return Err("fix tasks need tasks with a box of their own".into());
        }
        let tasks = &self.file.tasks;
        let made = tasks.iter().filter(|other| other.fixes() == Some(id)).count() as u64;
        let most = self.state.max_fix_tasks_per_original;
        if made >= most {
            return Err(format!("{most} fix tasks did not help"));
        }
        let deepest = self.state.max_fix_task_depth;
        if depth(tasks, task) >= deepest {
            return Err(format!("fixes of fixes end at depth {deepest}"));
        }
        let fix_id = (1..)
            .map(|n| format!("{id}.{n}"))
            .find(|fix| tasks.iter().all(|other| other.id.as_deref() != Some(fix)))
            .expect("some number is free");
        let block = fix_block(self.file, task, &fix_id, reason);
        let after = last_of_family(tasks, task).key();
        let edit = TaskEdit::InsertAfter { after, id: fix_id.clone(), block };
        if edit.apply(self.file.text()) == self.file.text() {
            return Err("a fence or comment in tasks.md is not closed and would hide a fix".into());
        }
        let fixes = self.state.fix_task_map.entry(id.to_owned()).or_default();
        fixes.attempts = made + 1;
        fixes.fix_task_ids.push(fix_id.clone());
        fixes.last_error = Some(reason.to_owned());
        Ok(edit)
    }
}

/// How many fixes stand between a task and an ordinary one.
fn depth(tasks: &[Task], task: &Task) -> u64 {
    let mut depth = 0;
    let mut at = task;
    while let Some(original) = at.fixes().and_then(|id| {
        tasks.iter().find(|other| other.id.as_deref() == Some(id) && other.index != at.index)
    }) {
        depth += 1;
        at = original;
        // Two tasks that claim to fix each other are no depth worth measuring.
        if depth > 64 {
            break;
        }
    }
    depth
}

/// The last of a task and its fixes in the file, so that fixes stand in the
/// order they were made.
fn last_of_family<'t>(tasks: &'t [Task], task: &'t Task) -> &'t Task {
    let mut family = vec![task];
    for other in tasks {
        let fixes = |id: &str| family.iter().any(|member| member.id.as_deref() == Some(id));
        if other.index > task.index && other.fixes().is_some_and(fixes) {
            family.push(other);
        }
    }
    family.into_iter().max_by_key(|member| member.index).expect("the task itself is in it")
}

fn fix_block(file: &TaskFile<'_>, task: &Task, fix_id: &str, reason: &str) -> String {
    let id = task.name();
    // In one line: what an agent said could be a field otherwise.
    let reason = reason.lines().collect::<Vec<_>>().join(" ");
    let mut block = format!(
        "- [ ] {fix_id} [FIX {id}] Fix: {}\n  - **Do**: {id} kept failing. Find the cause and \
         fix it; {id} is tried again afterwards.\n    Last failure: {reason}\n",
        short_title(&task.title)
    );
    // A check that is no text would not be the same as text; the task itself is
    // checked again in any case.
    let verify = String::from_utf8(file.verify_lines(task)).ok().filter(|lines| !lines.is_empty());
    for lines in file.raw_field(task, "Files").into_iter().chain(verify) {
        block.push_str(lines.trim_end());
        block.push('\n');
    }
    block
}
