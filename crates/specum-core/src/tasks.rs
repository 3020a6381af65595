//! Task files: find the tasks, say what each asks for, edit single bytes.
//!
//! [`TaskFile::scan`] never fails: lines it does not know belong to the task
//! above them or to nobody, because people write prose between their tasks.
//! An edit is a list of [`Patch`]es, so line endings, tabs, trailing blanks
//! and invalid UTF-8 elsewhere in the file survive it.
//!
//! The grammar, with examples, is `docs/task-format.md`.

mod command;
mod edit;
mod expect;
mod fields;
mod scan;
mod shell;
mod spans;

use std::ops::Range;

pub use command::{Check, Command, Lookup, Program, Shell, joined, shown};
pub use edit::{Patch, TaskEdit, apply};
pub use expect::Expectation;
pub use fields::Fields;

use crate::digest::Digest;
use crate::line;

/// A scanned task file.
#[derive(Debug, Clone)]
pub struct TaskFile<'a> {
    text: &'a [u8],
    /// The tasks in the order of the file.
    pub tasks: Vec<Task>,
    /// Whether the tasks of this file carry ids. If any checkbox does, those
    /// that do not are no tasks.
    pub has_ids: bool,
    /// The lines of those that are none for that reason, from 1.
    pub without_id: Vec<usize>,
}

/// One task, and where it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Position among the tasks, from 0.
    pub index: usize,
    /// `1.2`, `V1`, `VF`; absent in a file without ids.
    pub id: Option<String>,
    /// The text behind id and markers.
    pub title: String,
    /// The markers between id and title, in their order.
    pub markers: Vec<Marker>,
    /// Whether the box is ticked.
    pub done: bool,
    /// How many phase headings stand above; 0 is before the first.
    pub phase: usize,
    /// Line number of the checkbox, from 1.
    pub line: usize,
    /// From the checkbox line to the end of the last line of the task.
    pub block: Range<usize>,
    /// Byte offset of the character between the brackets.
    mark: usize,
}

/// A word in brackets that says how a task is to be worked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marker {
    /// `[P]`: may run beside its neighbours.
    Parallel,
    /// `[VERIFY]`: a check, worked by the qa-engineer.
    Verify,
    /// `[SEQUENTIAL]`: alone, whatever else is said.
    Sequential,
    /// `[FIX 1.2]`: mends the named task, which is tried again afterwards.
    Fix(String),
    /// `[RED]`: a test that must fail first.
    Red,
    /// `[GREEN]`: the code that makes it pass.
    Green,
    /// `[YELLOW]`: the clean-up behind it.
    Yellow,
}

/// How a task is worked, after the markers have been weighed against each
/// other: VERIFY beats SEQUENTIAL beats P.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// One executor, alone.
    Sequential,
    /// One executor among others.
    Parallel,
    /// The qa-engineer, alone.
    Verify,
}

/// What identifies a task while people edit the file around it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TaskKey {
    /// Its id, or the position written as `#3` in a file without ids.
    pub id: String,
    /// Its title.
    pub title: String,
}

/// Where a task went since its key was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Same id, same title.
    Same(usize),
    /// Same id, but somebody rewrote the title.
    Retitled(usize),
    /// No such task any more.
    Gone,
}

impl Task {
    /// The name people and maps use: the id, or `#3` for the third task of a
    /// file without ids.
    pub fn name(&self) -> String {
        self.id.clone().unwrap_or_else(|| format!("#{}", self.index + 1))
    }

    /// How the task is to be worked.
    pub fn mode(&self) -> Mode {
        if self.markers.contains(&Marker::Verify) {
            Mode::Verify
        } else if self.markers.contains(&Marker::Sequential) {
            Mode::Sequential
        } else if self.markers.contains(&Marker::Parallel) {
            Mode::Parallel
        } else {
            Mode::Sequential
        }
    }

    /// The id of the task that this one mends.
    pub fn fixes(&self) -> Option<&str> {
        self.markers.iter().find_map(|marker| match marker {
            Marker::Fix(id) => Some(id.as_str()),
            _ => None,
        })
    }

    /// What identifies the task later.
    pub fn key(&self) -> TaskKey {
        TaskKey { id: self.name(), title: self.title.clone() }
    }
}

impl<'a> TaskFile<'a> {
    /// Finds the tasks of a file. Never fails; a file without tasks has none.
    pub fn scan(text: &'a [u8]) -> Self {
        scan::scan(text)
    }

    /// The whole file.
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// The bytes of a task, from its checkbox to the end of its last line.
    pub fn block(&self, task: &Task) -> &'a [u8] {
        &self.text[task.block.clone()]
    }

    /// What a task asks for.
    pub fn fields(&self, task: &Task) -> Fields {
        fields::parse(self.block(task))
    }

    /// The lines of one field of a task as they stand, by its name.
    pub fn raw_field(&self, task: &Task, name: &str) -> Option<String> {
        fields::raw(self.block(task), name)
    }

    /// The lines of every Verify field of a task as they stand, empty if there is
    /// none. [`Check::of_lines`] makes of them the check that
    /// [`fields`](Self::fields) holds.
    pub fn verify_lines(&self, task: &Task) -> Vec<u8> {
        fields::verify_lines(self.block(task))
    }

    /// The tasks whose box is open.
    pub fn open(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter(|task| !task.done)
    }

    /// How many boxes are ticked.
    pub fn done_count(&self) -> usize {
        self.tasks.iter().filter(|task| task.done).count()
    }

    /// Which boxes are ticked, in runs, and whose they are: `x2.3` is two ticked
    /// and three open, and a digest of the tasks in their order follows.
    pub fn ticks(&self) -> String {
        let runs = self.tasks.chunk_by(|a, b| a.done == b.done);
        let runs = runs.map(|run| format!("{}{}", if run[0].done { 'x' } else { '.' }, run.len()));
        format!("{}~{}", runs.collect::<String>(), self.order().hex())
    }

    /// What changes when tasks come, go, or change places.
    fn order(&self) -> Digest {
        self.tasks.iter().fold(Digest::of(b""), |digest, task| {
            digest.with(task.id.as_ref().unwrap_or(&task.title).as_bytes()).with(b"\n")
        })
    }

    /// The tasks that are ticked now and were open when [`ticks`](Self::ticks)
    /// was taken. None if tasks came, went or changed places meanwhile: then a
    /// person is at work, and positions say nothing.
    pub fn ticked_since(&self, ticks: &str) -> Vec<&Task> {
        let (ticks, order) = ticks.split_once('~').unwrap_or((ticks, ""));
        if !order.is_empty() && order != self.order().hex() {
            return Vec::new();
        }
        let mut before = Vec::new();
        let mut mark = None;
        let mut count = 0_usize;
        for c in ticks.chars().chain(['.']) {
            match c.to_digit(10) {
                Some(digit) => count = count.saturating_mul(10).saturating_add(digit as usize),
                None => {
                    let fits = count <= self.tasks.len();
                    before.extend(
                        mark.into_iter()
                            .flat_map(|m| std::iter::repeat_n(m, if fits { count } else { 0 })),
                    );
                    (mark, count) = (Some(c == 'x'), 0);
                }
            }
        }
        if before.len() != self.tasks.len() {
            return Vec::new();
        }
        self.tasks
            .iter()
            .zip(before)
            .filter(|(task, was)| task.done && !was)
            .map(|(task, _)| task)
            .collect()
    }

    /// The task a person names: by id (`1.2`), by name (`#3`) or by 0-based
    /// index. In a file whose ids are bare numbers the id wins.
    pub fn by_address(&self, address: &str) -> Option<&Task> {
        self.tasks
            .iter()
            .find(|task| task.name() == address)
            .or_else(|| address.parse().ok().and_then(|index: usize| self.tasks.get(index)))
    }

    /// Finds a task again after the file may have been edited.
    ///
    /// In a file without ids the position is no identity, so the title alone
    /// decides; of several equal ones the one that was meant is the nearest.
    pub fn find(&self, key: &TaskKey) -> Found {
        let by_both = |task: &&Task| task.title == key.title && task.name() == key.id;
        if let Some(task) = self.tasks.iter().find(by_both) {
            return Found::Same(task.index);
        }
        if self.has_ids {
            return match self.tasks.iter().find(|task| task.name() == key.id) {
                Some(task) => Found::Retitled(task.index),
                None => Found::Gone,
            };
        }
        let before: usize = key.id.trim_start_matches('#').parse().unwrap_or(1);
        self.tasks
            .iter()
            .filter(|task| task.title == key.title)
            .min_by_key(|task| (task.index + 1).abs_diff(before))
            .map_or(Found::Gone, |task| Found::Same(task.index))
    }

    /// The patch that ticks a task's box, or opens it again.
    pub fn set_mark(&self, task: &Task, done: bool) -> Patch {
        let mark: &[u8] = if done { b"x" } else { b" " };
        Patch { range: task.mark..task.mark + 1, with: mark.to_vec() }
    }

    /// The patch that puts a block of lines in front of a task.
    pub fn insert_before(&self, task: &Task, block: &str) -> Patch {
        edit::insertion(self.text, task.block.start, block)
    }

    /// The patch that puts a block of lines behind a task.
    pub fn insert_after(&self, task: &Task, block: &str) -> Patch {
        edit::insertion(self.text, task.block.end, block)
    }

    /// Whether a block is the same but for its own tick.
    pub fn same_but_for_tick(before: &[u8], after: &[u8]) -> bool {
        let unticked = |block: &[u8]| {
            let mut text = block.trim_ascii_end().to_vec();
            if let Some(task) = TaskFile::scan(block).tasks.first() {
                text[task.mark] = b' ';
            }
            text
        };
        unticked(before) == unticked(after)
    }
}

/// The title of a task in one short line, for reports and commit messages.
pub fn short_title(title: &str) -> String {
    let title: String = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if title.len() <= 72 { title } else { format!("{}…", line::head(&title, 69)) }
}

#[cfg(test)]
mod tests;
