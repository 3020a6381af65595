//! What a person has said to the work while it went on, in words.

use specum_core::journal::Entry;
use specum_core::state::PauseAfter;
use specum_core::tasks::TaskKey;

use super::{numbers, sanitize};

/// What a record tells of it; `None` if it is about something else.
pub(super) fn told(entry: &Entry) -> Option<String> {
    let said = sanitize::one_line;
    let id = |task: &TaskKey| said(task.shown());
    Some(match entry {
        Entry::Noted { task: Some(task), text } => {
            format!("{} noted by you: {}", id(task), said(text))
        }
        Entry::Noted { task: None, text } => format!("noted by you for every task: {}", said(text)),
        Entry::NoteWithdrawn { task: Some(task) } => format!("{} notes withdrawn", id(task)),
        Entry::NoteWithdrawn { task: None } => "notes for every task withdrawn".into(),
        Entry::Skipped { task } => format!("{} skipped by you", id(task)),
        Entry::Unskipped { task } => format!("{} no longer skipped", id(task)),
        Entry::Retried { task } => format!("{} is to be worked on once more", id(task)),
        Entry::Undone { task, commit } => {
            format!("{} undone by you: {} is reverted", id(task), said(&numbers::commit(commit)))
        }
        Entry::PauseAsked { after: PauseAfter::Task } => "pauses after this task".into(),
        Entry::PauseAsked { after: PauseAfter::Phase(phase) } => {
            format!("pauses after the phase {}", said(phase))
        }
        Entry::Approved { phase } => format!("approved by you: {}", said(phase)),
        Entry::Stays { outcome } => {
            format!("waits for you, {}", said(&outcome.to_string()))
        }
        _ => return None,
    })
}
