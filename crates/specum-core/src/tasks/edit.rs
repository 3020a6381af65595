//! Edits of a text as values.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Task, TaskFile, TaskKey, TaskMatch, TaskText};
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
        TaskEdit::apply_all(std::slice::from_ref(self), text)
    }

    /// The text with all edits made, in their order.
    pub fn apply_all(edits: &[TaskEdit], text: &[u8]) -> Vec<u8> {
        TaskEdit::apply_to(edits, &TaskFile::scan(text)).into_bytes()
    }

    /// The same for a file that is scanned already. A tick moves nothing, so one
    /// scan is enough for all that follow one another.
    pub fn apply_to(edits: &[TaskEdit], file: &TaskFile<'_>) -> TaskText {
        // A large plan is copied only by what changes it.
        let mut edited: Option<TaskText> = None;
        let mut rest = edits;
        while let Some(first) = rest.first() {
            let is_mark = |edit: &&TaskEdit| !matches!(edit, TaskEdit::InsertAfter { .. });
            let marks = rest.iter().take_while(is_mark).count();
            let now = edited.as_ref().map_or_else(|| file.clone(), TaskText::file);
            let after = match first {
                TaskEdit::InsertAfter { after, id, block } => {
                    let patch = inserted(&now, after, id, block);
                    patch.map(|patch| apply(now.text(), &[patch]).into())
                }
                _ => {
                    let set = Marks::of(&now).set_all(&rest[..marks]);
                    (!set.is_empty()).then(|| TaskText::with_marks(&now, set))
                }
            };
            edited = after.or(edited);
            rest = &rest[marks.max(1)..];
        }
        edited.unwrap_or_else(|| TaskText::of(file))
    }
}

/// The patch that puts a new task behind another one, if it may stand there.
fn inserted(file: &TaskFile<'_>, after: &TaskKey, id: &str, block: &str) -> Option<Patch> {
    let is_there = file.tasks.iter().any(|task| task.id.as_deref() == Some(id));
    let (TaskMatch::Same(index) | TaskMatch::Retitled(index)) = file.find(after) else {
        return None;
    };
    let patch = file.insert_after(&file.tasks[index], block);
    (!is_there && adds_one_task(file, &patch, id)).then_some(patch)
}

/// The boxes of a file while they are set.
struct Marks<'f, 't> {
    file: &'f TaskFile<'t>,
    /// What was set, by the place of the box.
    set: BTreeMap<usize, bool>,
    /// What stands below each heading.
    below: Vec<Below>,
    /// Whether any task was to be ticked.
    has_ticked: bool,
}

/// The tasks below a heading.
#[derive(Clone, Copy, Default)]
struct Below {
    /// How many are open that the heading waits for.
    open: usize,
    /// How many there are.
    count: usize,
    /// Whether any is not optional. Then the heading waits for these alone.
    has_required: bool,
}

impl<'f, 't> Marks<'f, 't> {
    fn of(file: &'f TaskFile<'t>) -> Marks<'f, 't> {
        let below = vec![Below::default(); file.headings.len()];
        let mut marks = Marks { file, set: BTreeMap::new(), below, has_ticked: false };
        for optional in [false, true] {
            for &(index, heading) in &file.under {
                let task = &file.tasks[index];
                if task.optional != optional {
                    continue;
                }
                marks.each_above(heading, |marks, heading| {
                    let below = &mut marks.below[heading];
                    below.count += 1;
                    below.has_required |= !optional;
                    let waits = !task.done && optional != below.has_required;
                    below.open += usize::from(waits);
                });
            }
        }
        marks
    }

    /// Does something with a heading and those above it.
    fn each_above(&mut self, heading: usize, mut with: impl FnMut(&mut Self, usize)) {
        let mut next = Some(heading);
        while let Some(heading) = next {
            with(self, heading);
            next = self.file.headings[heading].above;
        }
    }

    /// The boxes that are set otherwise, one edit after the other.
    fn set_all(mut self, edits: &[TaskEdit]) -> BTreeMap<usize, bool> {
        // Many are not to walk through the whole file each.
        let names = (edits.len() > 1).then(|| Names::of(self.file));
        for edit in edits {
            let (key, done) = match edit {
                TaskEdit::Tick(key) => (key, true),
                TaskEdit::Untick(key) => (key, false),
                TaskEdit::InsertAfter { .. } => continue,
            };
            let found = match &names {
                Some(names) => names.find(key),
                None => self.file.find(key),
            };
            if let TaskMatch::Same(index) | TaskMatch::Retitled(index) = found {
                self.has_ticked |= done;
                self.set(&self.file.tasks[index], done);
            }
        }
        self.tick_headings();
        self.set
    }

    /// Ticks the headings that were left open above tasks that are done, with the next
    /// tick of any task, even one that is done.
    fn tick_headings(&mut self) {
        if !self.has_ticked {
            return;
        }
        for (heading, below) in self.file.headings.iter().zip(&self.below) {
            if below.count > 0 && below.open == 0 && !self.is_set(heading.mark, heading.done) {
                self.set.insert(heading.mark, true);
            }
        }
    }

    /// Sets a task's box, and with it that of the headings which are done when all
    /// their tasks are.
    fn set(&mut self, task: &Task, done: bool) {
        if self.is_set(task.mark, task.done) == done {
            return;
        }
        let file = self.file;
        for mark in file.marks_of(task, done) {
            let before = matches!(file.text()[mark], b'x' | b'X');
            // A step that is ticked stays as it was written.
            if mark == task.mark || self.is_set(mark, before) != done {
                self.set.insert(mark, done);
            }
        }
        let Ok(at) = file.under.binary_search_by_key(&task.index, |(task, _)| *task) else {
            return;
        };
        self.each_above(file.under[at].1, |marks, heading| {
            let below = &mut marks.below[heading];
            if task.optional && below.has_required {
                return;
            }
            below.open = if done { below.open - 1 } else { below.open + 1 };
            if done && below.open > 0 {
                return;
            }
            let heading = &file.headings[heading];
            if marks.is_set(heading.mark, heading.done) != done {
                marks.set.insert(heading.mark, done);
            }
        });
    }

    fn is_set(&self, mark: usize, before: bool) -> bool {
        self.set.get(&mark).copied().unwrap_or(before)
    }
}

/// The tasks of a file by name, and by title where that decides.
struct Names<'f, 't> {
    file: &'f TaskFile<'t>,
    named: HashMap<String, Vec<&'f Task>>,
    titled: HashMap<&'f str, Vec<&'f Task>>,
}

impl<'f, 't> Names<'f, 't> {
    fn of(file: &'f TaskFile<'t>) -> Names<'f, 't> {
        let mut names = Names { file, named: HashMap::new(), titled: HashMap::new() };
        for task in &file.tasks {
            names.named.entry(task.name()).or_default().push(task);
            if task.id.is_none() {
                names.titled.entry(&task.title).or_default().push(task);
            }
        }
        names
    }

    /// As [`TaskFile::find`] does.
    fn find(&self, key: &TaskKey) -> TaskMatch {
        let named = self.named.get(&key.id).into_iter().flatten().copied();
        let titled = || self.titled.get(key.title.as_str()).into_iter().flatten().copied();
        self.file.find_among(key, named, titled)
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

/// A block of lines put at the beginning of a line, with the line endings and the
/// indentation of the text around it.
pub(super) fn insertion(text: &[u8], at: usize, indentation: &[u8], block: &str) -> Patch {
    let ending = line::line_ending(text).as_bytes();
    let mut with = Vec::new();
    // Behind a last line that nobody ended.
    if at > 0 && text[at - 1] != b'\n' && at == text.len() {
        with.extend_from_slice(ending);
    }
    for line in block.lines() {
        if !line.is_empty() {
            with.extend_from_slice(indentation);
        }
        with.extend_from_slice(line.as_bytes());
        with.extend_from_slice(ending);
    }
    Patch { range: at..at, with }
}
