//! Task files: find the tasks, say what each asks for, edit single bytes.
//!
//! [`TaskFile::scan`] never fails: lines it does not know belong to the task
//! above them or to nobody, because people write prose between their tasks.
//! An edit is a list of [`Patch`]es, so line endings, tabs, trailing blanks
//! and invalid UTF-8 elsewhere in the file survive it.
//!
//! The grammar, with examples, is `docs/task-format.md`.

mod boxes;
mod command;
mod context;
mod edit;
mod expect;
mod fields;
mod outline;
mod scan;
mod shell;
mod spans;
mod text;

use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, DerefMut, Range};
use std::sync::{Arc, OnceLock};

pub use command::{Check, Command, Lookup, Program, Shell, joined, shown};
pub use context::{Context, Part};
pub use edit::{Patch, TaskEdit, apply};
pub use expect::Expectation;
pub use fields::Fields;
pub use text::TaskText;

use crate::digest::Digest;
use crate::line;

/// A scanned task file. A copy shares what was found.
#[derive(Debug, Clone)]
pub struct TaskFile<'a> {
    text: &'a [u8],
    scanned: Arc<Scanned>,
}

/// What was found in a task file.
#[derive(Debug, Clone)]
pub struct Scanned {
    /// The tasks in the order of the file.
    pub tasks: Vec<Task>,
    /// Whether any task of this file carries an id. Those that do not are called by
    /// their place.
    pub has_ids: bool,
    /// What looks like a box and is none, and so is no task.
    pub unread: Vec<UnreadBox>,
    /// The boxes that head tasks, such as `- [ ] 2. Models` above 2.1 and 2.2.
    pub(crate) headings: Vec<Heading>,
    /// Which tasks stand below a heading, and which of the headings; by task.
    pub(crate) under: Vec<(usize, usize)>,
    /// The boxes inside of tasks, by task.
    steps: Vec<Step>,
    /// The headings, in the order of the file.
    pub(crate) sections: Vec<scan::Section>,
    /// The digest of the text, once somebody has asked for it.
    digest: OnceLock<Digest>,
}

impl Deref for TaskFile<'_> {
    type Target = Scanned;

    fn deref(&self) -> &Scanned {
        &self.scanned
    }
}

impl DerefMut for TaskFile<'_> {
    fn deref_mut(&mut self) -> &mut Scanned {
        Arc::make_mut(&mut self.scanned)
    }
}

/// A line that a person may have meant as a box: `-[ ] 1.2 Title`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadBox {
    /// Line number, from 1.
    pub line: usize,
    /// The beginning of the line.
    pub text: String,
    /// Where the line begins.
    at: usize,
    /// What hides it, if it is a box.
    hidden: Option<HiddenBoxes>,
}

/// Boxes behind a line that begins a block or a comment which has no end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HiddenBoxes {
    /// How many open boxes there are behind the first one.
    more: usize,
    /// The line, from 1.
    by: usize,
}

impl fmt::Display for UnreadBox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.text;
        if let Some(HiddenBoxes { more, by }) = self.hidden {
            let (more, them) = match more {
                0 => (String::new(), "it"),
                more => (format!(" and {more} more"), "them"),
            };
            return write!(
                f,
                "`{text}`{more}: line {by} begins a block that has no end, so nobody works on \
                 {them}: close it"
            );
        }
        write!(f, "`{text}` looks like a box and is none, so nobody works on it: write `- [ ] …`")
    }
}

/// A box that is done when the tasks below it are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heading {
    /// `2`, if it has one.
    pub(crate) id: Option<String>,
    /// Line number, from 1.
    pub(crate) line: usize,
    /// Whether the box is ticked.
    pub(crate) done: bool,
    /// Byte offset of the character between the brackets.
    mark: usize,
    /// The heading above it, which is done when this one is.
    pub(crate) above: Option<usize>,
}

/// A box inside a task.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    /// The task, by index.
    task: usize,
    /// Byte offset of the character between the brackets.
    mark: usize,
}

/// One task, and where it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Position among the tasks, from 0.
    pub index: usize,
    /// `1.2`, `V1`, `T012`; absent if the plan gives it none.
    pub id: Option<String>,
    /// The text behind id and markers.
    pub title: String,
    /// The markers between id and title, in their order.
    pub markers: Vec<Marker>,
    /// Whether the box is ticked; of a heading, whether all of its boxes are.
    pub done: bool,
    /// `- [ ]*`: it is worked on only if somebody asks for it, and the plan is complete
    /// without it.
    pub optional: bool,
    /// How many headings stand above; 0 is before the first.
    pub section: usize,
    /// Line number of the checkbox, from 1.
    pub line: usize,
    /// From the checkbox line to the end of the last line of the task.
    pub block: Range<usize>,
    /// Byte offset of the character between the brackets; of a heading, of its first box.
    mark: usize,
    /// Whether it is a heading, `### Task 1: Parser`, and its boxes are its steps.
    pub(crate) is_heading: bool,
}

/// A word in brackets that says how a task is to be worked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marker {
    /// `[P]`: may run at the same time as its neighbours.
    Parallel,
    /// `[VERIFY]`: a check, worked by the qa-engineer.
    Verify,
    /// `[SEQUENTIAL]`: alone, whatever else is said.
    Sequential,
    /// `[FIX 1.2]`: fixes the named task, which is tried again afterwards.
    Fix(String),
    /// `[BEFORE 1.2]`: the named task waits for it.
    Before(String),
    /// `[RED]`: a test that must fail first.
    Red,
    /// `[GREEN]`: the code that makes it pass.
    Green,
    /// `[YELLOW]`: the clean-up behind it.
    Yellow,
    /// `[US1]`: says what the task belongs to.
    Label(String),
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct TaskKey {
    /// Its id, or its place written as `no.3` if it has none.
    #[serde(deserialize_with = "name_of_any_version")]
    pub id: String,
    /// Its title.
    pub title: String,
}

/// Where a task went since its key was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskMatch {
    /// Same id, same title.
    Same(usize),
    /// Same id, but somebody rewrote the title.
    Retitled(usize),
    /// No such task any more.
    Gone,
}

impl Task {
    /// The name people and records use: the id, or `no.3` for the third task of
    /// the file if it has none. No shell needs quotes for it, and no id looks so.
    pub fn name(&self) -> String {
        self.id.clone().unwrap_or_else(|| format!("{PLACE}{}", self.index + 1))
    }

    /// Whether this is its name.
    pub fn is_named(&self, name: &str) -> bool {
        match &self.id {
            Some(id) => id == name,
            None => self.name() == name,
        }
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

    /// The id of the task that this one fixes.
    pub fn fixes(&self) -> Option<&str> {
        self.markers.iter().find_map(|marker| match marker {
            Marker::Fix(id) => Some(id.as_str()),
            _ => None,
        })
    }

    /// The id of the task that waits for this one: it fixes it, or goes before it.
    pub fn goes_before(&self) -> Option<&str> {
        self.markers.iter().find_map(|marker| match marker {
            Marker::Fix(id) | Marker::Before(id) => Some(id.as_str()),
            _ => None,
        })
    }

    /// What identifies the task later.
    pub fn key(&self) -> TaskKey {
        TaskKey { id: self.name(), title: self.title.clone() }
    }
}

/// What the name of a task begins with that has only its place.
const PLACE: &str = "no.";

/// What the name of a task begins with that is no longer in the file and whose
/// own name is another's.
const GONE: &str = "gone.";

impl TaskKey {
    /// The place of a task, from 1, if that is its name.
    pub fn place(&self) -> Option<usize> {
        self.id.strip_prefix(PLACE)?.parse().ok()
    }

    /// The key of the task once it is gone, the so-manieth.
    pub(crate) fn named_gone(&self, number: usize) -> TaskKey {
        TaskKey { id: format!("{GONE}{number}"), title: self.title.clone() }
    }

    /// What a person calls the task: its id, or its title once it is gone and
    /// its id may be another's.
    pub fn shown(&self) -> &str {
        match self.gone() {
            None => &self.id,
            Some(_) if self.title.is_empty() => "a removed task",
            Some(_) => &self.title,
        }
    }

    /// Which of those that are gone it is, if that is its name.
    pub fn gone(&self) -> Option<usize> {
        self.id.strip_prefix(GONE)?.parse().ok()
    }
}

/// A task's name from a file: earlier versions wrote a place as `#3`.
pub(crate) fn name_of_any_version<'de, D: serde::Deserializer<'de>>(
    source: D,
) -> Result<String, D::Error> {
    let name = <String as serde::Deserialize>::deserialize(source)?;
    Ok(match name.strip_prefix('#') {
        Some(place) => format!("{PLACE}{place}"),
        None => name,
    })
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

    /// The digest of the whole file.
    pub fn digest(&self) -> Digest {
        *self.scanned.digest.get_or_init(|| Digest::of(self.text))
    }

    /// The bytes of a task, from its checkbox to the end of its last line.
    pub fn block(&self, task: &Task) -> &'a [u8] {
        &self.text[task.block.clone()]
    }

    /// What a task is part of: the plan's title and goal, and the headings above it.
    pub fn context(&self, task: &Task) -> Context {
        context::of(self, task)
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

    /// The phase that a task belongs to: the text of the nearest heading above it with
    /// at most two `#`, or, where there is none, of the first of any level. Empty above
    /// all headings.
    pub fn phase(&self, task: &Task) -> String {
        let above = &self.sections[..task.section.min(self.sections.len())];
        let heading = above.iter().rfind(|section| section.level <= 2).or(above.first());
        let Some(heading) = heading else { return String::new() };
        line::readable(&self.text[heading.line.clone()])
            .trim_matches(['#', ' ', '\t', '\r', '\n'])
            .to_owned()
    }

    /// The tasks whose box is open.
    pub fn open(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter(|task| !task.done)
    }

    /// How many tasks are done.
    pub fn done_count(&self) -> usize {
        self.tasks.iter().filter(|task| task.done).count()
    }

    /// How many tasks count: all but the optional ones that nobody has done.
    pub fn count(&self) -> usize {
        self.tasks.iter().filter(|task| task.done || !task.optional).count()
    }

    /// What a person has to do about the lines that could not be read, a sentence each.
    pub fn questions(&self) -> impl Iterator<Item = String> {
        self.unread.iter().map(|unread| format!("line {}: {unread}", unread.line))
    }

    /// A task below a heading that is open although all its tasks are done. To tick the
    /// task again ticks every such heading.
    pub(crate) fn below_open_heading(&self) -> Option<&Task> {
        let mut is_settled: Vec<bool> = self.headings.iter().map(|heading| !heading.done).collect();
        for (task, heading) in &self.under {
            let mut next = Some(*heading).filter(|_| !self.tasks[*task].done);
            while let Some(heading) = next {
                is_settled[heading] = false;
                next = self.headings[heading].above;
            }
        }
        let (task, _) = self.under.iter().find(|(_, heading)| is_settled[*heading])?;
        Some(&self.tasks[*task])
    }

    /// Whether no task is open, optional ones left out.
    pub fn is_complete(&self) -> bool {
        self.open().all(|task| task.optional)
    }

    /// The task a person names: by id (`1.2`) or by its place (`no.3`), or, in a
    /// file with ids of which none is a bare number, by 0-based index. Elsewhere a bare
    /// number could mean several things, so it means nothing.
    pub fn by_address(&self, address: &str) -> Option<&Task> {
        let ids = || {
            let headings = self.headings.iter().filter_map(|heading| heading.id.as_deref());
            self.tasks.iter().filter_map(|task| task.id.as_deref()).chain(headings)
        };
        let has_numbers = || ids().any(boxes::is_plain_number);
        let index = || address.parse().ok().filter(|_| self.has_ids && !has_numbers());
        self.tasks
            .iter()
            .find(|task| task.is_named(address))
            .or_else(|| index().and_then(|index: usize| self.tasks.get(index)))
    }

    /// Finds a task again after the file may have been edited.
    ///
    /// Without an id the position is no identity, so the title alone decides; of
    /// several equal ones the one that was meant is the nearest.
    pub fn find(&self, key: &TaskKey) -> TaskMatch {
        self.find_among(key, self.tasks.iter(), || self.tasks.iter())
    }

    /// The same among the tasks that may have its name, and those that may have
    /// its title; both in the order of the file.
    fn find_among<'t, T: Iterator<Item = &'t Task>>(
        &self,
        key: &TaskKey,
        named: impl Iterator<Item = &'t Task>,
        titled: impl Fn() -> T,
    ) -> TaskMatch {
        let mut retitled = None;
        for task in named.filter(|task| task.is_named(&key.id)) {
            if task.title == key.title {
                return TaskMatch::Same(task.index);
            }
            retitled.get_or_insert(task.index);
        }
        // Another task may have its title.
        if key.gone().is_some() {
            return TaskMatch::Gone;
        }
        let place = key.place();
        if self.has_ids && place.is_none() {
            return retitled.map_or(TaskMatch::Gone, TaskMatch::Retitled);
        }
        let before = place.unwrap_or(1);
        titled()
            .filter(|task| task.id.is_none() && task.title == key.title)
            .min_by_key(|task| (task.index + 1).abs_diff(before))
            .map_or(TaskMatch::Gone, |task| TaskMatch::Same(task.index))
    }

    /// What stands below a heading in front of the next box: fields that nobody works on.
    pub(crate) fn heading_fields(&self, heading: &Heading) -> Fields {
        let marks = self.headings.iter().map(|other| other.mark);
        let starts = self.tasks.iter().map(|task| task.block.start);
        let end = marks.chain(starts).filter(|&at| at > heading.mark).min();
        let begin = self.text[..heading.mark].iter().rposition(|&byte| byte == b'\n');
        let text = &self.text[begin.map_or(0, |at| at + 1)..end.unwrap_or(self.text.len())];
        fields::parse(text)
    }

    /// The patches that tick a task, or open it again. Its steps are ticked with it;
    /// they are opened with a heading, which has no other boxes.
    pub fn set_mark(&self, task: &Task, done: bool) -> Vec<Patch> {
        let marks = self.marks_of(task, done);
        let is_otherwise = |at: &usize| matches!(self.text[*at], b'x' | b'X') != done;
        marks.filter(is_otherwise).map(|at| mark_patch(at, done)).collect()
    }

    /// The boxes that are set with a task's.
    fn marks_of(&self, task: &Task, done: bool) -> impl Iterator<Item = usize> + use<'_> {
        let from = self.steps.partition_point(|step| step.task < task.index);
        let index = task.index;
        let steps = self.steps[from..].iter().take_while(move |step| step.task == index);
        let is_heading = task.is_heading;
        let steps = steps.filter(move |_| done || is_heading).map(|step| step.mark);
        std::iter::once(task.mark).filter(move |_| !is_heading).chain(steps)
    }

    /// The patch that puts a block of lines in front of a task.
    pub fn insert_before(&self, task: &Task, block: &str) -> Patch {
        edit::insertion(self.text, task.block.start, self.indentation(task), block)
    }

    /// The patch that puts a block of lines behind a task.
    pub fn insert_after(&self, task: &Task, block: &str) -> Patch {
        edit::insertion(self.text, task.block.end, self.indentation(task), block)
    }

    /// The blanks in front of a task.
    fn indentation(&self, task: &Task) -> &'a [u8] {
        let block = self.block(task);
        &block[..block.len() - block.trim_ascii_start().len()]
    }

    /// A digest of what a task asks for: its title and the lines below it, but
    /// neither its id nor any tick. Two tasks of the same content are the same
    /// work.
    pub fn content(&self, task: &Task) -> Digest {
        let below = line::lines(self.block(task)).skip(1);
        below.fold(Digest::of(task.title.as_bytes()), |digest, line| {
            digest.with(b"\n").with(&unticked(line.text.trim_ascii_end()))
        })
    }
}

fn mark_patch(at: usize, done: bool) -> Patch {
    let mark: &[u8] = if done { b"x" } else { b" " };
    Patch { range: at..at + 1, with: mark.to_vec() }
}

/// A line with the box open, if it has one.
pub(crate) fn unticked(line: &[u8]) -> Cow<'_, [u8]> {
    match boxes::mark_of(line) {
        Some(mark) if line[mark] != b' ' => {
            let mut text = line.to_vec();
            text[mark] = b' ';
            text.into()
        }
        _ => line.into(),
    }
}

/// The title of a task in one short line, for reports and commit messages.
pub fn short_title(title: &str) -> String {
    let title: String = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if title.len() <= 72 { title } else { format!("{}…", line::head(&title, 69)) }
}

/// How often this thread has scanned a file.
#[cfg(test)]
pub(crate) fn scans() -> usize {
    scan::SCANS.get()
}

#[cfg(test)]
mod tests;
