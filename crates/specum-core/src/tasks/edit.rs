//! Edits of a text as values.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Found, Task, TaskFile, TaskKey};
use crate::line;

/// An edit of a task file that finds its task again, and that changes nothing
/// when it has been made before. The journal keeps these, so that an
/// interrupted edit can be completed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskEdit {
    /// Tick the box.
    Tick(TaskKey),
    /// Open the box again.
    Untick(TaskKey),
    /// Put a new task behind another one. Not made where a fence or a comment
    /// that nobody has closed would hide it, or where it would hide another.
    InsertAfter {
        /// The task in front.
        after: TaskKey,
        /// The id of the new task.
        id: String,
        /// Its lines.
        block: String,
    },
}

impl TaskEdit {
    /// The text with this edit made. A task that is gone leaves it as it was.
    pub fn apply(&self, text: &[u8]) -> Vec<u8> {
        let file = TaskFile::scan(text);
        let task = |key: &TaskKey| match file.find(key) {
            Found::Same(index) | Found::Retitled(index) => Some(&file.tasks[index]),
            Found::Gone => None,
        };
        let patches = match self {
            TaskEdit::Tick(key) => task(key).filter(|t| !t.done).map(|t| file.set_marks(t, true)),
            TaskEdit::Untick(key) => task(key).filter(|t| t.done).map(|t| file.set_marks(t, false)),
            TaskEdit::InsertAfter { after, id, block } => {
                let there = file.tasks.iter().any(|task| task.id.as_deref() == Some(id));
                let patch = task(after).filter(|_| !there).map(|t| file.insert_after(t, block));
                patch.filter(|patch| adds_one_task(&file, patch, id)).map(|patch| vec![patch])
            }
        };
        patches.map_or_else(|| text.to_vec(), |patches| apply(text, &patches))
    }

    /// The text with all edits made, in their order.
    pub fn apply_all(edits: &[TaskEdit], text: &[u8]) -> Vec<u8> {
        edits.iter().fold(text.to_vec(), |text, edit| edit.apply(&text))
    }
}

/// Whether a patch adds the task of this id and leaves every other as it was.
fn adds_one_task(file: &TaskFile<'_>, patch: &Patch, id: &str) -> bool {
    let text = apply(file.text(), std::slice::from_ref(patch));
    let after = TaskFile::scan(&text);
    let (added, others): (Vec<&Task>, Vec<&Task>) =
        after.tasks.iter().partition(|task| task.id.as_deref() == Some(id));
    let is_same = |(before, now): (&Task, &&Task)| {
        (&before.id, &before.title, before.done) == (&now.id, &now.title, now.done)
    };
    added.len() == 1
        && others.len() == file.tasks.len()
        && file.tasks.iter().zip(&others).all(is_same)
}

/// Some bytes of a text and what is to stand in their place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// The bytes that go.
    pub range: Range<usize>,
    /// The bytes that come.
    pub with: Vec<u8>,
}

/// The text with the patches applied. Patches must not overlap; their order
/// does not matter.
pub fn apply(text: &[u8], patches: &[Patch]) -> Vec<u8> {
    let mut ordered: Vec<&Patch> = patches.iter().collect();
    ordered.sort_by_key(|patch| patch.range.start);
    let mut result =
        Vec::with_capacity(text.len() + ordered.iter().map(|p| p.with.len()).sum::<usize>());
    let mut at = 0;
    for patch in ordered {
        result.extend_from_slice(&text[at..patch.range.start]);
        result.extend_from_slice(&patch.with);
        at = patch.range.end;
    }
    result.extend_from_slice(&text[at..]);
    result
}

/// A block of lines put at the beginning of a line, with the line endings of
/// the text around it.
pub(super) fn insertion(text: &[u8], at: usize, block: &str) -> Patch {
    let ending = line::line_ending(text);
    let mut with = String::new();
    // Behind a last line that nobody ended.
    if at > 0 && text[at - 1] != b'\n' && at == text.len() {
        with.push_str(ending);
    }
    for line in block.lines() {
        with.push_str(line);
        with.push_str(ending);
    }
    Patch { range: at..at, with: with.into_bytes() }
}
