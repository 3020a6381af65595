//! What a transaction does to the files of a spec.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::progress::Note;
use crate::spec::edit::DocEdit;
use crate::tasks::TaskEdit;

/// What a transaction does to the files of a spec.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    /// Edits of `tasks.md`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskEdit>,
    /// Edits of the spec's documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub docs: Vec<DocEdit>,
    /// What `.ralph-trace.json` says afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// Notes for `.progress.md`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// Notes of an earlier transaction that turned out to be untrue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retracted: Vec<Note>,
    /// Digests of `.progress.md` before and after these edits, which tell a write
    /// that is still to come from a completed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<BeforeAndAfter>,
    /// Indices of the `.progress-task-<index>.md` files that the notes replace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged_parts: Vec<usize>,
    /// What becomes of the state file.
    #[serde(default, skip_serializing_if = "StateChange::is_kept")]
    pub state: StateChange,
}

/// Digests of a file on both sides of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeforeAndAfter {
    /// Without the change.
    pub before: String,
    /// With it.
    pub after: String,
}

/// What a transaction does to the state file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StateChange {
    /// Nothing.
    #[default]
    Keep,
    /// The file is written anew.
    Write(Map<String, Value>),
    /// The file is deleted.
    Delete,
}

impl StateChange {
    /// Whether the file stays as it is.
    pub fn is_kept(&self) -> bool {
        *self == StateChange::Keep
    }
}
