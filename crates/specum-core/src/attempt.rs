//! An attempt at a task, from its opening to its commit.
//!
//! Every attempt has an [`AttemptId`] that no other attempt ever has, so records,
//! references, logs and briefs that name it cannot mean another one, whatever its
//! task is called by now. [`Ledger`] says where each attempt stands: it is a fold
//! over the journal, brought up to date record by record.

mod ending;
mod judgement;
mod ledger;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::ending::{Ending, Occasion, question, suite_question};
pub use self::judgement::{Judgement, TakenBack};
pub use self::ledger::{
    Call, GitChange, LateWork, LaunchPlace, Ledger, LoopStanding, PassedAttempt, ReadyWork,
    UnchargedStart,
};
use crate::authoring;
use crate::journal::{Entry, Record};
use crate::line;
use crate::moment::Moment;
use crate::tasks::{Fields, Mode, TaskFile, TaskKey};
use crate::verify::Role;

/// Names one attempt for ever. Ids sort by the time of the opening.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AttemptId(String);

impl AttemptId {
    /// An id made of the moment in microseconds since 1970, the process that opens
    /// the attempt, and how many attempts this process has opened before.
    pub fn new(micros: i64, process: u32, count: u64) -> AttemptId {
        AttemptId(format!("{:014x}-{process:x}-{count:04x}", micros.max(0)))
    }

    /// The id of an attempt whose journal did not name one: format 1 had none at
    /// first.
    pub(crate) fn without_name(at: &str, task: &TaskKey, number: u64) -> AttemptId {
        AttemptId(format!("{at}-{}-{number}", task.id))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for AttemptId {
    fn from(text: &str) -> AttemptId {
        AttemptId(text.to_owned())
    }
}

/// An attempt as it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Which one it is.
    pub id: AttemptId,
    /// The task, under the name it has now.
    pub key: TaskKey,
    /// How many attempts at the task there are with this one. Numbers repeat: a
    /// person may give a task another round.
    pub number: u64,
    /// The task's block as it stood; of a document, its text.
    pub block: Vec<u8>,
    /// Who works on it.
    pub role: Role,
    /// When it was opened.
    pub at: Moment,
    /// HEAD at that moment; `None` without a repository.
    pub head: Option<String>,
    /// The branch; `None` when HEAD is detached.
    pub branch: Option<String>,
    /// What was uncommitted already, with a digest of each file.
    pub dirty: BTreeMap<String, String>,
    /// What failed attempts at the task had left in the tree, with a digest of each
    /// file.
    pub left_before: BTreeMap<String, String>,
    /// The open tasks of other specs' plans that were uncommitted already.
    pub open_elsewhere: BTreeMap<String, Vec<String>>,
    /// What the task was called when the attempt was opened and since, if it has
    /// another name now.
    pub was: Vec<String>,
}

impl Attempt {
    /// The attempt that a record opens.
    pub fn opened_by(record: &Record) -> Option<Attempt> {
        let Entry::Opened {
            task,
            attempt,
            head,
            block,
            block_bytes,
            dirty,
            left_before,
            open_elsewhere,
            branch,
            was,
        } = &record.entry
        else {
            return None;
        };
        let block = line::text_or_bytes(block, block_bytes.as_deref());
        let role = match authoring::document(&task.id) {
            Some(doc) => Role::Author(doc),
            None => Role::of(TaskFile::scan(&block).tasks.first()?.mode()),
        };
        let without_name = || AttemptId::without_name(record.at.as_str(), task, *attempt);
        Some(Attempt {
            id: record.id.clone().unwrap_or_else(without_name),
            key: task.clone(),
            number: *attempt,
            block,
            role,
            at: record.at.clone(),
            head: head.clone(),
            branch: branch.clone(),
            dirty: dirty.clone(),
            left_before: left_before.clone(),
            open_elsewhere: open_elsewhere.clone(),
            was: was.clone(),
        })
    }

    /// What the journal says of the opening.
    pub fn entry(&self) -> Entry {
        Entry::Opened {
            task: self.key.clone(),
            attempt: self.number,
            head: self.head.clone(),
            block: line::readable(&self.block),
            block_bytes: line::bytes_beside_text(&self.block),
            dirty: self.dirty.clone(),
            left_before: self.left_before.clone(),
            open_elsewhere: self.open_elsewhere.clone(),
            branch: self.branch.clone(),
            was: Vec::new(),
        }
    }

    /// Whether a task's name means this attempt: the name the task has now, or one
    /// that it had since the attempt was opened.
    pub fn is_called(&self, name: &str) -> bool {
        self.key.id == name || self.was.iter().any(|was| was == name)
    }

    /// The commit it began from.
    pub fn base(&self) -> Option<&str> {
        self.head.as_deref()
    }

    /// What the task asked for when the attempt was opened.
    pub fn fields(&self) -> Fields {
        let file = TaskFile::scan(&self.block);
        file.tasks.first().map(|task| file.fields(task)).unwrap_or_default()
    }

    /// Lets go of what is only needed until the verdict.
    fn slim(&mut self) {
        self.block = Vec::new();
        self.dirty = BTreeMap::new();
        self.left_before = BTreeMap::new();
        self.open_elsewhere = BTreeMap::new();
    }
}

impl Role {
    /// Who works on a task that is worked this way.
    pub fn of(mode: Mode) -> Role {
        match mode {
            Mode::Verify => Role::QaEngineer,
            Mode::Sequential | Mode::Parallel => Role::Executor,
        }
    }
}
