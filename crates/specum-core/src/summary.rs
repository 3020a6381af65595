//! What became of a loop, from its journal: for each task who worked on it,
//! how often, why it failed and what it cost; and how the whole stands.
//!
//! A loop begins with the first `started` of the journal, or the first one
//! behind a `completed` or `cancelled`. What stands before belongs to an earlier
//! loop and is left out. Any records give a summary: one that names a task
//! which the file no longer has is kept, behind the others.

mod gather;
mod places;

use serde::Serialize;

use crate::budget::Caps;
use crate::journal::{Entry, Record};
use crate::moment::Moment;
use crate::tasks::TaskFile;
use crate::verify::{self, CheckOutcome, FailureClass, Proof};

pub use self::places::Places;

/// What became of a loop.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// How the loop stands.
    #[serde(flatten)]
    pub standing: Standing,
    /// When it began, in RFC 3339; `None` without a journal.
    pub since: Option<Moment>,
    /// When its last record was written.
    pub until: Option<Moment>,
    /// How many boxes of the file are ticked.
    pub done: usize,
    /// How many tasks the file has.
    pub total: usize,
    /// Every task of the file, in its order, and then those that are no longer
    /// in it.
    pub tasks: Vec<TaskSummary>,
    /// Attempts in all.
    pub attempts: usize,
    /// Commits in all.
    pub commits: usize,
    /// How long the attempts took, one added to the other.
    pub millis: u64,
    /// What the agents used.
    #[serde(flatten)]
    pub spent: Spent,
    /// The tasks that are ticked although nothing could be run to prove it.
    pub unverified: Vec<String>,
    /// The tasks that are ticked and were checked by the checks of the whole plan alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_suite: Vec<String>,
    /// The tasks that are ticked by a check that passed before the work already.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub green_before: Vec<String>,
    /// The parts of the spec that stand on what has changed, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stale: Vec<String>,
    /// How many tasks were added because executors asked for them.
    #[serde(skip_serializing_if = "is_zero")]
    pub added: usize,
    /// The tasks that a person ticked; nothing was checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_person: Vec<String>,
    /// What a person is asked about changes of the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<String>,
    /// Checks of done tasks that were changed during the loop, which nobody has
    /// accepted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overruled_checks: Vec<String>,
    /// Boxes that were ticked without a verdict, and opened again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unticked: Vec<String>,
    /// The tasks that passed and were not committed, for want of a repository.
    pub uncommitted: Vec<String>,
    /// Files that were changed by a task which does not name them.
    pub outside: Vec<Outside>,
    /// Files that a task changed and its check runs, or that were tests before.
    pub proofs: Vec<Outside>,
    /// Work that was taken out of the tree and kept.
    pub kept: Vec<Kept>,
    /// How often, and for what, a run waited.
    pub waits: Vec<Wait>,
    /// When another agent took over.
    pub agent_changes: Vec<AgentChange>,
    /// How the last run ended, in its own words; `None` if none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_run: Option<String>,
    /// What the last run may use, as it began.
    #[serde(skip)]
    pub caps: Caps,
    /// The most tasks that a run may have worked at once; 0 without a run.
    #[serde(skip)]
    pub jobs: usize,
}

/// How a loop stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "standing", rename_all = "kebab-case")]
pub enum Standing {
    /// It was never started.
    #[default]
    NotStarted,
    /// It was started and nothing has ended it.
    UnderWay,
    /// It waits for a person to let it go on.
    Paused {
        /// Why, unless the person has paused it.
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// It cannot go on by itself.
    Blocked {
        /// Why.
        why: String,
    },
    /// The run has ended before the loop.
    Stopped {
        /// Why, in the run's words.
        why: String,
    },
    /// A person ended it.
    Cancelled,
    /// Every box is ticked.
    Complete,
}

/// What became of one task.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskSummary {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Whether its box is ticked.
    pub done: bool,
    /// Whether the plan is complete without it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// The id of the task that it fixes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixes: Option<String>,
    /// The attempts of this loop, in their order; none if it was ticked before.
    pub attempts: Vec<Attempt>,
}

/// One attempt at a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// Its number, from 1. A task that was given another round may have two of
    /// one number.
    pub number: u64,
    /// Its place among the attempts that the loop has made at the task, from 1. People
    /// name it by that.
    pub place: u64,
    /// When it began.
    pub began: Moment,
    /// The starts of agents that worked it.
    #[serde(skip)]
    pub starts: Vec<AgentStart>,
    /// When it had passed in its worktree and waited for its turn.
    #[serde(skip)]
    pub ready: Option<Moment>,
    /// When its last verdict was written.
    #[serde(skip)]
    pub judged: Option<Moment>,
    /// When its work was committed.
    #[serde(skip)]
    pub committed: Option<Moment>,
    /// What came of it.
    pub result: AttemptResult,
    /// The kind of failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<FailureClass>,
    /// The kind of each of the reasons.
    #[serde(skip)]
    pub layers: Vec<FailureClass>,
    /// What was run to check it last, in one text.
    #[serde(skip)]
    pub command: Option<String>,
    /// How that ended.
    #[serde(skip)]
    pub check: Option<CheckOutcome>,
    /// Why it failed or was set aside.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// What its executor was asked to fix meanwhile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sent_back: Vec<String>,
    /// Who worked it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// What they used.
    #[serde(flatten)]
    pub spent: Spent,
    /// How long it took.
    pub millis: u64,
    /// Where the output of each start is kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<String>,
    /// The end of the check's output. Too long to be repeated in JSON: the
    /// record has it.
    #[serde(skip)]
    pub output: String,
    /// Whether it passed although nothing could be run to prove it.
    pub unverified: bool,
    /// What it rests on, if it passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// Files it changed that the task does not name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// Files it changed that its check runs, or that were tests before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proofs: Vec<String>,
    /// The commit with its work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// How much that commit changes, the spec's own files left out, where somebody has
    /// looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<LineCounts>,
    /// The files that it had changed when it failed.
    #[serde(skip)]
    pub changed: Vec<String>,
    /// Whether git was asked to commit it, though there may have been nothing.
    #[serde(skip)]
    pub went_to_git: bool,
}

/// One start of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentStart {
    /// When it began.
    pub launched: Moment,
    /// When it had ended; `None` while it works, or if no record tells of its end.
    pub ended: Option<Moment>,
}

/// What came of an attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttemptResult {
    /// It has no verdict yet, or never got one.
    #[default]
    Open,
    /// It passed.
    Passed,
    /// It failed.
    Failed,
    /// Its work did not fit on top of the others'.
    SetAside,
    /// A person is asked before it can have a verdict.
    Waits,
}

/// How much was changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LineCounts {
    /// How many files.
    pub files: u64,
    /// How many lines were added.
    pub added: u64,
    /// How many lines were removed.
    pub removed: u64,
}

/// What agents used. `None` is not zero: no agent has reported it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Spent {
    /// Tokens.
    pub tokens: Option<u64>,
    /// Dollars.
    pub cost: Option<f64>,
    /// Whether a part of it is an estimate.
    pub estimated: bool,
}

/// Files that were changed by a task which does not name them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outside {
    /// The task.
    pub task: String,
    /// The files.
    pub files: Vec<String>,
}

/// Work that was taken out of the tree and kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// The task.
    pub task: String,
    /// The attempt's number.
    pub attempt: u64,
    /// The attempt's place.
    pub place: u64,
    /// The reference it is kept under.
    pub reference: String,
    /// How many files it holds; 0 if that was not counted.
    pub files: usize,
}

/// A wait for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// When it began.
    #[serde(skip)]
    pub at: Moment,
    /// The agent.
    pub agent: String,
    /// Why.
    pub why: String,
    /// How long it was to take.
    pub millis: u64,
}

/// Another agent took over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentChange {
    /// Who worked.
    pub from: String,
    /// Who worked from then on.
    pub to: String,
    /// Why.
    pub why: String,
}

impl Summary {
    /// The summary of the last loop that a journal tells of.
    pub fn of(records: &[Record], file: &TaskFile<'_>) -> Summary {
        gather::gather(last_loop(records), file)
    }

    /// The same over everything that a journal tells, earlier loops too.
    pub fn of_all_loops(records: &[Record], file: &TaskFile<'_>) -> Summary {
        gather::gather(records, file)
    }

    /// The open task whose last attempt has failed, the newest of them.
    pub fn stuck(&self) -> Option<&TaskSummary> {
        let failed = |task: &&TaskSummary| {
            let last = task.attempts.last().map(|attempt| attempt.result);
            !task.done && last == Some(AttemptResult::Failed)
        };
        let began = |task: &&TaskSummary| task.attempts.last().map(|attempt| attempt.began.clone());
        self.tasks.iter().filter(failed).max_by_key(began)
    }

    /// The lines of a check's output that tell why the task failed that the loop is
    /// stuck at.
    pub fn telling(&self) -> Vec<String> {
        let last = self.stuck().and_then(|task| task.attempts.last());
        last.map(Attempt::telling).unwrap_or_default()
    }

    /// How many of the tasks that are done had no check of their own, to be said behind
    /// their number: `; 3 had no check, 9 by the suite alone`.
    pub fn proofs_in_words(&self) -> String {
        let none = self.unverified.len() + self.by_person.len();
        let parts = [
            (none, "had no check"),
            (self.by_suite.len(), "by the suite alone"),
            (self.green_before.len(), "by a check that was green before the work"),
        ];
        let said = parts.iter().filter(|(count, _)| *count > 0);
        let said: Vec<String> = said.map(|(count, what)| format!("{count} {what}")).collect();
        if said.is_empty() { String::new() } else { format!("; {}", said.join(", ")) }
    }

    /// A task, by its id.
    pub fn task(&self, id: &str) -> Option<&TaskSummary> {
        self.tasks.iter().find(|task| task.id == id)
    }
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The records since the last loop began.
pub fn last_loop(records: &[Record]) -> &[Record] {
    let mut ended = true;
    let mut begin = 0;
    for (at, record) in records.iter().enumerate() {
        match record.entry {
            Entry::Started { .. } if ended => (begin, ended) = (at, false),
            Entry::Completed { .. } | Entry::Cancelled => ended = true,
            _ => {}
        }
    }
    &records[begin..]
}

impl TaskSummary {
    /// Who worked it, each once, in the order of their coming.
    pub fn agents(&self) -> Vec<&str> {
        let mut agents = Vec::new();
        for agent in self.attempts.iter().flat_map(|attempt| &attempt.agents) {
            if !agents.contains(&agent.as_str()) {
                agents.push(agent.as_str());
            }
        }
        agents
    }

    /// What all attempts used.
    pub fn spent(&self) -> Spent {
        self.attempts.iter().fold(Spent::default(), |sum, attempt| sum.and(attempt.spent))
    }

    /// How long all attempts took.
    pub fn millis(&self) -> u64 {
        self.attempts.iter().fold(0, |sum, attempt| sum.saturating_add(attempt.millis))
    }

    /// What the attempts used that did not pass.
    pub fn lost(&self) -> Spent {
        let lost = self.attempts.iter().filter(|one| one.result != AttemptResult::Passed);
        lost.fold(Spent::default(), |sum, attempt| sum.and(attempt.spent))
    }

    /// The last attempt, if it passed.
    pub fn passed(&self) -> Option<&Attempt> {
        self.attempts.last().filter(|attempt| attempt.result == AttemptResult::Passed)
    }
}

impl Attempt {
    /// The lines of its check's output that tell why it failed.
    pub fn telling(&self) -> Vec<String> {
        match (self.result, &self.class) {
            (AttemptResult::Failed, Some(FailureClass::Verify)) => {
                verify::telling(&self.output, &self.reasons)
            }
            _ => Vec::new(),
        }
    }

    /// Why it failed or was set aside, in one line.
    pub fn why(&self) -> String {
        let words = |reason: &String| reason.split_whitespace().collect::<Vec<_>>().join(" ");
        self.reasons.iter().map(words).collect::<Vec<_>>().join("; ")
    }
}

impl Spent {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Spent) -> Spent {
        let tokens = match (self.tokens, other.tokens) {
            (Some(one), Some(two)) => Some(one.saturating_add(two)),
            (one, two) => one.or(two),
        };
        let cost = match (self.cost, other.cost) {
            (Some(one), Some(two)) => Some(one + two),
            (one, two) => one.or(two),
        };
        Spent { tokens, cost, estimated: self.estimated || other.estimated }
    }
}

#[cfg(test)]
mod tests;
