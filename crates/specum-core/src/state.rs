//! The loop's state: `.ralph-state.json`.
//!
//! [`State::parse`] accepts the file or says why not; it never fills in a
//! default for something that is there and wrong. [`State::render`] gives back
//! every field it does not know, in the order it was found, because other
//! programs keep theirs in the same file.

mod wire;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::authoring::Planning;
use crate::budget::Budget;
pub use crate::owner::{Owner, Process};
use crate::tasks::{Task, TaskFile};
pub use wire::render_object;

/// The newest format this version writes. A file with a higher
/// `formatVersion` is read but never overwritten.
pub const FORMAT_VERSION: u64 = 1;

/// A state file longer than this is not one of ours.
pub const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The largest number a counter may have. Larger ones are nobody's count.
pub const MAX_COUNT: u64 = 1_000_000_000;

/// Default of `maxTaskIterations`.
pub const DEFAULT_MAX_TASK_ITERATIONS: u64 = 5;
/// What `maxGlobalIterations` is when the file does not say, and the least it
/// defaults to for a new loop.
pub const DEFAULT_MAX_GLOBAL_ITERATIONS: u64 = 100;
/// Default of `maxFixTasksPerOriginal` and of `maxFixTaskDepth`.
pub const DEFAULT_MAX_FIX_TASKS: u64 = 3;

/// Why a state file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Corrupt {
    /// No JSON.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// JSON, but no object.
    #[error("not a JSON object")]
    NotAnObject,
    /// A field of the wrong type or out of range.
    #[error("field `{0}` is {1}")]
    Field(&'static str, String),
    /// A newer version wrote something that this one cannot read.
    #[error("written in format {0}, which is newer than this version of specum")]
    Newer(u64),
    /// Too long to be a state file.
    #[error("longer than {MAX_BYTES} bytes")]
    TooLong,
    /// It is there but cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(String),
}

/// Where the spec stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// The tasks are being worked.
    Execution,
    /// `research`, `requirements`, `design`, `tasks` or anything else.
    Other(String),
}

impl Phase {
    /// The word in the file.
    pub fn as_str(&self) -> &str {
        match self {
            Phase::Execution => "execution",
            Phase::Other(name) => name,
        }
    }
}

/// Whether the loop may go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It may.
    Running,
    /// A person has to let it go on. Why, if nobody but specum wanted it to wait.
    Paused(Option<String>),
    /// It cannot go on by itself, for this reason.
    Blocked(String),
}

/// What is to be over before the loop waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PauseAfter {
    /// Whatever is worked on at the moment.
    Task,
    /// The phase with this heading.
    Phase(String),
}

/// Who feeds the agent its next prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Driver {
    /// Our own Stop hook.
    #[default]
    Hook,
    /// The Ralph Loop plugin.
    RalphLoop,
}

/// The batch that is running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParallelGroup {
    /// Smallest index of the batch.
    pub start_index: usize,
    /// Largest index of the batch.
    pub end_index: usize,
    /// All of them.
    pub task_indices: Vec<usize>,
}

/// How far a task has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// No verdict yet.
    Pending,
    /// Ticked and committed.
    Success,
    /// The last attempt failed.
    Failed,
}

/// What earlier attempts at a task came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskResult {
    /// The last verdict.
    pub status: Status,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// Attempts that ended with a verdict.
    pub attempts: u64,
    /// How often its work did not fit on top of the others'. Such a task runs
    /// alone.
    pub set_aside: u64,
    /// Whether the task waits for a person to accept a change of its check, and
    /// is not due until then.
    pub waits: bool,
    /// Whether it has used its attempts, and the loop goes on with what does not need it.
    pub blocked: bool,
    /// The task's name. Positions shift when a task is inserted; names do not.
    pub id: String,
}

impl TaskResult {
    /// The number of the next attempt. What was set aside has been an attempt,
    /// though none that failed.
    pub fn next_attempt(&self) -> u64 {
        self.attempts + self.set_aside + 1
    }
}

/// The number behind a count. The largest one stays what it is: a larger one
/// could not be read again.
pub(crate) fn one_more(count: u64) -> u64 {
    count.saturating_add(1).min(MAX_COUNT)
}

/// The fix tasks of one original.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fixes {
    /// How many were made.
    pub attempts: u64,
    /// Their ids.
    pub fix_task_ids: Vec<String>,
    /// What the original failed with when the last one was made.
    pub last_error: Option<String>,
}

/// The state of a loop. Fields as in the file, in snake case.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the fields are documented in docs/state.md under their file names")]
pub struct State {
    pub phase: Phase,
    pub task_index: usize,
    /// Absent in files that never entered execution.
    pub total_tasks: Option<usize>,
    pub task_iteration: u64,
    pub max_task_iterations: u64,
    pub global_iteration: u64,
    pub max_global_iterations: u64,
    pub recovery_mode: bool,
    /// Whether the loop goes on with what does not need a blocked task.
    pub keep_going: bool,
    pub fix_task_map: BTreeMap<String, Fixes>,
    pub max_fix_tasks_per_original: u64,
    pub max_fix_task_depth: u64,
    pub parallel_group: Option<ParallelGroup>,
    /// By index, as in the file.
    pub task_results: BTreeMap<usize, TaskResult>,
    pub standing: Standing,
    pub quick_mode: bool,
    pub driver: Driver,
    pub owner: Option<Owner>,
    /// A digest of the plan as the last review has left it: a process that finds the same
    /// has nothing to review. Empty where somebody has to look; absent in a loop
    /// that another program began.
    pub plan: Option<String>,
    /// What is to be over before the loop waits for a person, if a person has said so.
    pub pause_after: Option<PauseAfter>,
    /// The phase that a person has let the loop work on, by its heading, if each has to
    /// be approved.
    pub approved: Option<String>,
    /// The phase that waits for a person to approve it, by its heading.
    pub waiting_for: Option<String>,
    /// The tasks that a person wants passed over, by name.
    pub skipped: Vec<String>,
    /// Caps and expenses.
    pub budget: Budget,
    /// How far the documents are, in a spec that was planned here.
    pub planning: Option<Planning>,
    pub format_version: u64,
    /// The file as it was read.
    found: Map<String, Value>,
}

impl State {
    /// The cap of a new loop: room for every task to use its attempts twice.
    pub fn default_global_cap(total_tasks: usize, max_task_iterations: u64) -> u64 {
        let needed = (total_tasks as u64).saturating_mul(max_task_iterations).saturating_mul(2);
        needed.clamp(DEFAULT_MAX_GLOBAL_ITERATIONS, MAX_COUNT)
    }

    /// Whether a newer version of specum wrote this file.
    pub fn is_newer_format(&self) -> bool {
        self.format_version > FORMAT_VERSION
    }

    /// Whether a plan is as the last review has left it.
    pub fn has_reviewed(&self, file: &TaskFile<'_>) -> bool {
        let plan = self.plan.as_deref().filter(|plan| !plan.is_empty());
        plan.is_some_and(|plan| plan == file.digest().hex())
    }

    /// Why the loop cannot go on by itself, if it cannot.
    pub fn blocked(&self) -> Option<&String> {
        match &self.standing {
            Standing::Blocked(why) => Some(why),
            Standing::Running | Standing::Paused(_) => None,
        }
    }

    /// Whether a person wants a task passed over.
    pub fn is_skipped(&self, task: &Task) -> bool {
        self.skipped.iter().any(|name| task.is_named(name))
    }

    /// How many attempts the loop may still make.
    pub fn attempts_left(&self) -> u64 {
        // The iteration is the number of the next one. A loop of another program ends
        // at the last one, as it does there.
        let end = self.max_global_iterations.saturating_add(u64::from(self.plan.is_some()));
        end.saturating_sub(self.global_iteration)
    }

    /// What earlier attempts at a task came to. The name decides, because
    /// positions shift; a result without one is taken by its position.
    pub fn result_of(&self, task: &Task) -> Option<&TaskResult> {
        let at_its_place = || self.task_results.get(&task.index).filter(|r| r.id.is_empty());
        self.task_results.values().find(|result| task.is_named(&result.id)).or_else(at_its_place)
    }
}

#[cfg(test)]
mod tests;
