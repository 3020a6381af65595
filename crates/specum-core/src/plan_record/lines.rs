//! The lines of a check, as they stand in the plan and on record.

use serde::{Deserialize, Serialize};

use crate::line::{self, Fences};
use crate::tasks::{self, Task, TaskFile};

/// How much of a check is shown in a question.
const SHORTLY: usize = 36;

/// The lines of a check as they stand in the plan. Bytes, because a plan may
/// hold anything; text in the journal wherever they are text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Wire", from = "Wire")]
pub struct Lines(pub Vec<u8>);

/// How lines stand in the journal.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Wire {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<Lines> for Wire {
    fn from(lines: Lines) -> Wire {
        String::from_utf8(lines.0).map_or_else(|error| Wire::Bytes(error.into_bytes()), Wire::Text)
    }
}

impl From<Wire> for Lines {
    fn from(wire: Wire) -> Lines {
        match wire {
            Wire::Text(text) => Lines(text.into_bytes()),
            Wire::Bytes(bytes) => Lines(bytes),
        }
    }
}

impl Lines {
    /// The Verify lines of a task as they stand now.
    pub fn of(file: &TaskFile<'_>, task: &Task) -> Lines {
        let lines = file.verify_lines(task);
        let mut fences = Fences::default();
        let lines = line::lines(&lines).map(|line| match fences.hide(&line) {
            // Commands are run as they stand.
            true => line.text.into(),
            // Ticks of steps and blanks at the end of a line change no check.
            false => tasks::unticked(line.text.trim_ascii_end()),
        });
        Lines(lines.collect::<Vec<_>>().join(&b'\n'))
    }

    /// The same in a few words, so that a sentence around it is not cut before it
    /// says what to do.
    pub(super) fn shortly(&self) -> String {
        let shown = self.shown();
        let head = line::head(&shown, SHORTLY);
        let end = if shown.starts_with('`') { "…`" } else { "…" };
        if head.len() < shown.len() { format!("{head}{end}") } else { shown }
    }

    /// The lines for a person: one line, without the name of the field.
    pub fn shown(&self) -> String {
        let text = line::readable(&self.0);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let bare = words.trim_start_matches(['-', '*', '+', ' ', '_']);
        let value = bare.split_once(':').map_or(bare, |(_, value)| value);
        let value = value.trim_start_matches('*').trim();
        match value.is_empty() {
            true => "no check".into(),
            false => line::head(value, 120).to_owned(),
        }
    }
}
