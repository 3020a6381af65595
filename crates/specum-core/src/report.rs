//! What a person reads when they come back: one value with everything that became of a
//! loop, made from its records, its plan and what its commits have changed.
//!
//! It is complete in itself, so a page, a Markdown text and a file for CI are only ways of
//! writing it down. Every text of others in it has come through a [`Veil`]: it is in
//! bounds, holds no control characters and no keys. Moments are milliseconds since 1970.

mod gather;
pub(crate) mod story;
mod veil;

use schemars::JsonSchema;
use serde::Serialize;

use crate::look::{LookAt, Piece};
use crate::patch::FilePatch;
use crate::summary::{AttemptResult, LineCounts, Spent};
use crate::timeline::Timeline;

pub use self::gather::Input;
pub use self::veil::{Share, Veil};

/// What became of a loop.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The spec.
    pub spec: String,
    /// Its folder.
    pub place: String,
    /// The version of specum that made it.
    pub version: String,
    /// When it was made.
    pub made: i64,
    /// How the loop stands.
    pub standing: Stands,
    /// Why, if it does not go on.
    pub why: String,
    /// The branch that was worked on.
    pub branch: Option<String>,
    /// The first and the last commit.
    pub commits: Option<(String, String)>,
    /// The sums.
    pub totals: Totals,
    /// What a person should look at first, the most important first.
    pub look: Vec<LookAt>,
    /// What happened when.
    pub timeline: Timeline,
    /// The phases, in the order of the plan; those of tasks are places in this list.
    pub phases: Vec<String>,
    /// The tasks, in the order of the plan, and then those that are no longer in it.
    pub tasks: Vec<Task>,
    /// Every verdict and what else happened, in its order.
    pub story: Vec<Told>,
    /// What executors have found out, as it stands in `.progress.md`.
    pub learned: String,
    /// The requirements of the spec.
    pub requirements: Vec<Requirement>,
}

/// How a loop stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stands {
    /// It was never started.
    #[default]
    NotStarted,
    /// Somebody works on it.
    Working,
    /// It was begun, nobody works on it, and nothing has ended it.
    Left,
    /// It waits for a person to let it go on.
    Paused,
    /// It cannot go on by itself.
    Blocked,
    /// The run has ended before the loop.
    Stopped,
    /// A person ended it.
    Cancelled,
    /// Every box is ticked.
    Complete,
}

/// The sums of a loop.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// Tasks that are done.
    pub done: usize,
    /// Tasks of the plan.
    pub tasks: usize,
    /// Tasks that were added to fix another.
    pub fixes: usize,
    /// Tasks that were ticked without proof.
    pub unproved: usize,
    /// Attempts in all.
    pub attempts: usize,
    /// Attempts that passed.
    pub passed: usize,
    /// Attempts that failed.
    pub failed: usize,
    /// Attempts whose work did not fit on top of the others'.
    pub set_aside: usize,
    /// Done tasks that needed more than one attempt.
    pub again: usize,
    /// How long something was worked on or waited for, in milliseconds.
    pub millis: u64,
    /// How much of that a run waited.
    pub waited: u64,
    /// How many attempts were under way at once at most.
    pub at_once: usize,
    /// What agents used.
    #[serde(flatten)]
    pub spent: Spent,
    /// What they used on attempts that did not pass.
    pub lost: Spent,
    /// What it may cost, in dollars.
    pub cap: Option<f64>,
    /// What each agent used.
    pub agents: Vec<AgentTotal>,
}

/// What one agent used.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentTotal {
    /// Its name.
    pub agent: String,
    /// What it used.
    #[serde(flatten)]
    pub spent: Spent,
}

/// What became of a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its phase, by place.
    pub phase: usize,
    /// How it stands.
    pub state: TaskStands,
    /// Its line in the plan, from 1; 0 if it is no longer in it.
    pub line: usize,
    /// The task that it fixes.
    pub fixes: Option<String>,
    /// What a person should know at a glance.
    pub marks: Vec<Mark>,
    /// What it asks for: the name of each field, and what stands there.
    pub asked: Vec<Asked>,
    /// The attempts, in their order.
    pub attempts: Vec<Attempt>,
    /// Why it counts as done.
    pub evidence: Vec<Evidence>,
    /// What it changed.
    pub commits: Vec<Commit>,
    /// How much that is, if somebody has looked.
    pub changes: Option<LineCounts>,
    /// What all attempts used.
    #[serde(flatten)]
    pub spent: Spent,
    /// How long they took, from each opening to each end.
    pub millis: u64,
    /// What persons have said to the agents that work on it.
    pub notes: Vec<String>,
}

/// How a task stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TaskStands {
    /// Its box is ticked.
    Done,
    /// An attempt is under way.
    Working,
    /// Its last attempt failed.
    Failed,
    /// It was set aside and is to be done again.
    Again,
    /// A person is asked.
    Waits,
    /// A person wants it passed over.
    Skipped,
    /// Nobody has begun it.
    #[default]
    Open,
    /// It is no longer in the plan.
    Gone,
}

/// What a person should know of a task at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// Nothing could be run to prove it.
    Unproved,
    /// It was checked by the checks of the whole plan alone.
    BySuite,
    /// Its check passed before the work already.
    GreenBefore,
    /// A person ticked it.
    ByPerson,
    /// It changed files that it does not name.
    Outside,
    /// It fixes another task.
    Fixes,
}

/// A field of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// Its name.
    pub name: String,
    /// What stands there.
    pub text: String,
    /// Whether it is code.
    pub is_code: bool,
}

/// An attempt at a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// Its place among the attempts at the task, from 1.
    pub place: u64,
    /// When it began.
    pub from: Option<i64>,
    /// When it was over.
    pub until: Option<i64>,
    /// What came of it.
    pub result: AttemptResult,
    /// Who worked on it.
    pub agents: Vec<String>,
    /// What they used.
    #[serde(flatten)]
    pub spent: Spent,
    /// Why it failed, or was set aside.
    pub reasons: Vec<String>,
    /// What its agent was told to fix meanwhile.
    pub sent_back: Vec<String>,
    /// The end of what its check printed.
    pub output: String,
    /// How the check ended, in words, and how long it took.
    pub check: Option<String>,
    /// The reference that keeps its work, if something does.
    pub kept: Option<String>,
    /// What its agents said and did.
    pub words: Vec<Said>,
}

/// What an agent said or did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Said {
    /// It said something.
    Words(String),
    /// It used a tool.
    Tool(String),
    /// Something went wrong.
    Trouble(String),
    /// Something is left out here.
    LeftOut,
}

/// Something on which a tick rests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// Whether it speaks for the task.
    pub is_good: bool,
    /// What it is.
    pub what: Vec<Piece>,
}

/// What a commit of a task has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Commit {
    /// Its id.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
    /// The files. Where the text of one is empty and it is cut, `git show` has it.
    pub files: Vec<FilePatch>,
    /// Whether the repository still has it.
    pub is_there: bool,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Told {
    /// When.
    pub at: Option<i64>,
    /// Whether that was good.
    pub tone: Tone,
    /// What, in short.
    pub what: Vec<Piece>,
    /// And what there is to say about it.
    pub why: String,
}

/// Whether something that happened is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tone {
    /// It is.
    Good,
    /// It is not.
    Bad,
    /// A person may want to know.
    Wary,
    /// Neither.
    Plain,
}

/// A requirement of the spec, and the tasks that are there for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Requirement {
    /// Its id.
    pub id: String,
    /// What it says.
    pub text: String,
    /// The tasks, by id.
    pub tasks: Vec<String>,
    /// Whether all of them are done and were checked.
    pub is_proven: bool,
}

impl Report {
    /// The task of an id.
    pub fn task(&self, id: &str) -> Option<&Task> {
        self.tasks.iter().find(|task| task.id == id)
    }
}

#[cfg(test)]
mod tests;
