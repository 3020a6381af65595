//! Which boxes of a file are tasks, and what the others are.
//!
//! Every box is one of four things, so none is lost: a task; a heading, which is done
//! when the tasks below it are; a step of a task; or text of a task, such as the
//! checklist of a pull request that somebody pasted behind the task's fields.
//!
//! - A box with an id is a task, and so is a box at the left margin. If others are
//!   nested in it that are tasks, it is their heading. So is `2.` above `2.1`, nested
//!   or not.
//! - A box without an id that is nested in a task is a step of it. Below a heading it
//!   is a task.
//! - `### Task 1: Parser` is a task if boxes without ids stand below it. These are its
//!   steps, and it is done when all of them are.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use super::boxes::{family, is_plain_number};
use super::scan::{Found, Shape};
use super::{Heading, Scanned, Step, Task, UnreadBox, fields};

/// What a box is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Task,
    Heading,
    Step,
    /// Text of the task above, or a heading `### Task 1` that is no task.
    Text,
}

/// What was found in a file.
pub(super) fn scanned(mut found: Found<'_>) -> Scanned {
    let (kinds, above) = match found.is_flat {
        true => (Vec::new(), Vec::new()),
        false => {
            settle_ids(&mut found);
            let outline = Outline::of(&mut found);
            (outline.kinds, outline.above)
        }
    };
    let kind = |at: usize| kinds.get(at).copied().unwrap_or(Kind::Task);
    let mut scanned = Scanned {
        tasks: Vec::new(),
        has_ids: false,
        unread: Vec::new(),
        headings: Vec::new(),
        under: Vec::new(),
        steps: Vec::new(),
        sections: std::mem::take(&mut found.sections),
        digest: OnceLock::new(),
    };
    cut_blocks(&mut found, kind);
    // Nothing is moved to another place: a large plan would touch as much memory once
    // more.
    let (mut at, mut index) = (0, 0);
    let heads = (0..kinds.len()).filter(|&at| kind(at) == Kind::Heading);
    let headings: HashMap<usize, usize> = heads.zip(0..).collect();
    let mut boxes = std::mem::take(&mut found.boxes);
    boxes.retain_mut(|task| {
        let (kind, over) = (kind(at), above.get(at).copied().flatten());
        let heading = over.and_then(|over| headings.get(&over).copied());
        match kind {
            Kind::Task => {
                task.index = index;
                index += 1;
                scanned.has_ids |= task.id.is_some();
                scanned.under.extend(heading.map(|heading| (task.index, heading)));
            }
            Kind::Heading => {
                let id = task.id.take();
                let (line, mark, done) = (task.line, task.mark, task.done);
                scanned.headings.push(Heading { id, line, mark, done, above: heading });
            }
            Kind::Step => {
                // A box can only be a step of a task above it.
                scanned.steps.push(Step { task: index.saturating_sub(1), mark: task.mark });
            }
            Kind::Text => {}
        }
        at += 1;
        kind == Kind::Task
    });
    scanned.tasks = boxes;
    let unread = std::mem::take(&mut found.unread);
    scanned.unread = outside_of_fields(found.text, &scanned.tasks, unread);
    scanned
}

/// Gives each task its block: down to the next task or heading box, or the first heading
/// behind it.
fn cut_blocks(found: &mut Found<'_>, kind: impl Fn(usize) -> Kind) {
    let mut next_start = found.text.len();
    let mut closed = None;
    for (number, task) in found.boxes.iter_mut().enumerate().rev() {
        while let Some(end) = found.ends.pop_if(|end| end.checkbox == number) {
            closed = Some(end.at);
        }
        if matches!(kind(number), Kind::Step | Kind::Text) {
            continue;
        }
        let end = closed.take().unwrap_or(next_start).min(next_start);
        next_start = task.block.start;
        task.block.end = end_of_last_line(found.text, task.block.start, end);
    }
}

/// `end` moved in front of the blank lines before it.
fn end_of_last_line(text: &[u8], start: usize, end: usize) -> usize {
    let written = start + text[start..end].trim_ascii_end().len();
    text[written..end].iter().position(|&b| b == b'\n').map_or(end, |n| written + n + 1)
}

/// What looks like a box and is none, without what stands in a task behind its fields:
/// that is text of the task.
fn outside_of_fields(text: &[u8], tasks: &[Task], mut unread: Vec<UnreadBox>) -> Vec<UnreadBox> {
    // Where the first field of the task stands that was asked for last.
    let mut known: Option<(usize, Option<usize>)> = None;
    unread.retain(|found| {
        if found.hidden.is_some() {
            return true;
        }
        let behind = tasks.partition_point(|task| task.block.start <= found.at);
        let Some(task) = tasks[..behind].last().filter(|task| found.at < task.block.end) else {
            return true;
        };
        let (_, first_field) = *known.insert(match known {
            Some(known) if known.0 == task.index => known,
            _ => {
                let block = &text[task.block.clone()];
                let first = fields::places(block).next().map(|(at, _)| task.block.start + at);
                (task.index, first)
            }
        });
        first_field.is_none_or(|field| found.at < field)
    });
    unread
}

/// Makes ids of the words that may be ids where the other boxes say so: `AUTH-3` if
/// there is a second one of its kind and no two are the same, and `2` if there is a 2.1.
fn settle_ids(found: &mut Found<'_>) {
    if found.maybes.is_empty() {
        return;
    }
    let id_of = |label: &super::boxes::Label| label.id.clone().unwrap_or_default();
    let mut families: HashMap<String, HashSet<String>> = HashMap::new();
    let mut doubled: HashSet<String> = HashSet::new();
    for (_, label) in &found.maybes {
        let id = id_of(label);
        let family = family(&id).to_owned();
        if !families.entry(family.clone()).or_default().insert(id) {
            doubled.insert(family);
        }
    }
    let numbers: HashSet<String> = (found.boxes.iter())
        .filter_map(|task| Some(task.id.as_deref()?.split_once('.')?.0.to_owned()))
        .collect();
    for (at, label) in std::mem::take(&mut found.maybes) {
        let id = id_of(&label);
        let is_id = match is_plain_number(&id) {
            true => numbers.contains(&id),
            false => families[family(&id)].len() > 1 && !doubled.contains(family(&id)),
        };
        if is_id {
            let task = &mut found.boxes[at];
            (task.id, task.markers, task.title) = (label.id, label.markers, label.title);
            task.optional |= label.optional;
        }
    }
}

/// How the boxes of a file belong together.
struct Outline {
    kinds: Vec<Kind>,
    /// The heading that each belongs to.
    above: Vec<Option<usize>>,
}

/// The boxes while it is being told what they are.
struct Boxes<'f> {
    text: &'f [u8],
    tasks: &'f mut [Task],
    shapes: &'f [Shape],
    /// The box that each is nested in.
    parents: Vec<Option<usize>>,
    /// Whether a Markdown heading stands right in front of each.
    begins_section: Vec<bool>,
    /// Whether each is a box of a heading that is a task, or that heading.
    in_task_heading: Vec<bool>,
    /// The fields of tasks: behind which box each stands, and how far from the left.
    fields: Vec<(usize, u32)>,
}

impl Outline {
    fn of(found: &mut Found<'_>) -> Outline {
        let fields = fields_behind(found);
        let in_task_heading = task_headings(found);
        let mut begins_section = vec![false; found.boxes.len() + 1];
        found.ends.iter().for_each(|end| begins_section[end.checkbox + 1] = true);
        let parents = parents(&found.shapes, &begins_section);
        let (text, tasks, shapes) = (found.text, found.boxes.as_mut_slice(), &found.shapes);
        let boxes = Boxes { text, tasks, shapes, parents, begins_section, in_task_heading, fields };
        let (is_task, mut is_heading) = boxes.with_ids();
        let numbered = boxes.numbered_headings(&is_task, &mut is_heading);
        let kinds = boxes.kinds(&is_task, &is_heading);
        let above = boxes.above(&kinds, &numbered);
        for (at, over) in above.iter().enumerate() {
            boxes.tasks[at].optional |= over.is_some_and(|over| boxes.tasks[over].optional);
        }
        Outline { kinds, above }
    }
}

impl Boxes<'_> {
    /// How far from the left a box stands; a heading that is a task stands further left
    /// than any.
    fn indent(&self, at: usize) -> u32 {
        match self.shapes[at] {
            Shape::Item(indent) => indent,
            Shape::Heading(_) => 0,
        }
    }

    /// Notes whose fields stand between a box and the next one.
    fn note_fields(&self, at: usize, next: &mut usize, has_fields: &mut [bool]) {
        while let Some(&(_, indent)) = self.fields.get(*next).filter(|(behind, _)| *behind == at) {
            *next += 1;
            let mut owner = at;
            while let Some(parent) = self.parents[owner].filter(|_| indent <= self.indent(owner)) {
                owner = parent;
            }
            has_fields[owner] = true;
        }
    }

    /// Which boxes are tasks because of their ids, and which are headings because such
    /// tasks are nested in them.
    fn with_ids(&self) -> (Vec<bool>, Vec<bool>) {
        let count = self.tasks.len();
        let (mut is_task, mut is_heading) = (vec![false; count], vec![false; count]);
        let (mut has_fields, mut is_text) = (vec![false; count], vec![false; count]);
        // A box with fields of its own, in front of its children or behind them, is a task
        // and no heading, unless the children are numbered as its own.
        let mut asks = vec![false; count];
        let mut next = 0;
        (0..count).for_each(|at| self.note_fields(at, &mut next, &mut asks));
        let mut next = 0;
        for at in 0..count {
            let parent = self.parents[at];
            let is_behind = parent.is_some_and(|parent| has_fields[parent] || is_text[parent]);
            let extends = |id: &str| {
                let over = parent.and_then(|parent| self.tasks[parent].id.as_deref());
                over.is_some_and(|over| id.strip_prefix(over).is_some_and(|r| r.starts_with('.')))
            };
            is_task[at] = !self.in_task_heading[at]
                && self.tasks[at].id.as_deref().is_some_and(|id| match parent {
                    None => true,
                    // The steps of a task are often numbered 1, 2, 3.
                    Some(_) if is_plain_number(id) => false,
                    Some(parent) => !is_text[parent] && (!asks[parent] || extends(id)),
                })
                && matches!(self.shapes[at], Shape::Item(_));
            is_text[at] = is_behind && !is_task[at];
            // With nothing but optional tasks nested in it, a box is work of its own.
            let heads = |parent: &usize| !self.tasks[at].optional || self.tasks[*parent].optional;
            let mut over = parent.filter(|_| is_task[at]);
            while let Some(parent) = over.filter(|&parent| !is_heading[parent]).filter(heads) {
                is_heading[parent] = true;
                over = self.parents[parent];
            }
            self.note_fields(at, &mut next, &mut has_fields);
        }
        (is_task, is_heading)
    }

    /// The headings by number, such as `2.` for 2.1 and 2.2 wherever they stand. What
    /// fixes a task does not make a heading of it.
    fn numbered_headings(
        &self,
        is_task: &[bool],
        is_heading: &mut [bool],
    ) -> HashMap<String, usize> {
        let tasks = || self.tasks.iter().enumerate().filter(|(at, _)| is_task[*at]);
        let numbers = |with_optional: bool| -> HashSet<&str> {
            let children =
                tasks().map(|(_, task)| task).filter(|task| task.goes_before().is_none());
            children.filter(|task| with_optional || !task.optional).filter_map(number).collect()
        };
        let (of_all, of_required) = (numbers(true), numbers(false));
        let mut headings = HashMap::new();
        for (at, task) in tasks() {
            let id = task.id.as_deref().unwrap_or_default();
            // A second one is no heading but a task whose id is taken.
            let numbers = if task.optional { &of_all } else { &of_required };
            if is_plain_number(id) && numbers.contains(id) && !headings.contains_key(id) {
                headings.insert(id.to_owned(), at);
                is_heading[at] = true;
            }
        }
        headings
    }

    fn kinds(&self, is_task: &[bool], is_heading: &[bool]) -> Vec<Kind> {
        let has_ids = is_task.contains(&true) || self.in_task_heading.contains(&true);
        let mut kinds: Vec<Kind> = Vec::with_capacity(self.tasks.len());
        let mut has_fields = vec![false; self.tasks.len()];
        // The task in whose block the next box stands.
        let mut owner: Option<usize> = None;
        let mut next = 0;
        for at in 0..self.tasks.len() {
            if self.begins_section[at] {
                owner = None;
            }
            let is_pasted = |owner: Option<usize>| {
                let is_in_its_fields = |owner: usize| {
                    has_fields[owner]
                        && self.tasks[owner].id.is_some()
                        && self.indent(owner) == self.indent(at)
                };
                has_ids && owner.is_some_and(is_in_its_fields) && !self.has_own_fields(at)
            };
            let loose = || if is_pasted(owner) { Kind::Text } else { Kind::Task };
            let kind = match self.shapes[at] {
                Shape::Heading(_) if self.in_task_heading[at] => Kind::Task,
                Shape::Heading(_) => Kind::Text,
                Shape::Item(_) if self.in_task_heading[at] => Kind::Step,
                Shape::Item(_) if is_heading[at] => Kind::Heading,
                Shape::Item(_) if is_task[at] => Kind::Task,
                Shape::Item(_) => match self.parents[at].map(|parent| kinds[parent]) {
                    None | Some(Kind::Heading) => loose(),
                    Some(Kind::Task | Kind::Step) => Kind::Step,
                    Some(Kind::Text) => Kind::Text,
                },
            };
            if matches!(kind, Kind::Task | Kind::Heading) {
                owner = Some(at).filter(|_| kind == Kind::Task);
            }
            kinds.push(kind);
            self.note_fields(at, &mut next, &mut has_fields);
        }
        kinds
    }

    /// Whether fields stand below a box that are its own.
    fn has_own_fields(&self, at: usize) -> bool {
        let end = self.tasks.get(at + 1).map_or(self.text.len(), |next| next.block.start);
        fields::has_own(&self.text[self.tasks[at].block.start..end])
    }

    /// The heading that each task or heading belongs to: the one it is nested in, or the
    /// one with its number.
    fn above(&self, kinds: &[Kind], numbered: &HashMap<String, usize>) -> Vec<Option<usize>> {
        let above = |at: usize| {
            let nested = self.parents[at].filter(|&parent| kinds[parent] == Kind::Heading);
            let by_number = || numbered.get(number(&self.tasks[at])?).copied();
            let is_listed = matches!(kinds[at], Kind::Task | Kind::Heading);
            nested.or_else(by_number).filter(|_| is_listed)
        };
        (0..kinds.len()).map(above).collect()
    }
}

/// The number of the heading that a task belongs to by its id: `2` for 2.1.
fn number(task: &Task) -> Option<&str> {
    task.id.as_deref()?.split_once('.').map(|(number, _)| number)
}

/// The box that each is nested in: the nearest above it that stands further left. None
/// reaches beyond a heading.
fn parents(shapes: &[Shape], begins_section: &[bool]) -> Vec<Option<usize>> {
    let mut open: Vec<(usize, u32)> = Vec::new();
    let mut parents = Vec::with_capacity(shapes.len());
    for (at, shape) in shapes.iter().enumerate() {
        if begins_section[at] {
            open.clear();
        }
        let Shape::Item(indent) = *shape else {
            open.clear();
            parents.push(None);
            continue;
        };
        while open.pop_if(|(_, other)| *other >= indent).is_some() {}
        parents.push(open.last().map(|(at, _)| *at));
        open.push((at, indent));
    }
    parents
}

/// The fields between the boxes: behind which each stands, and how far from the left.
fn fields_behind(found: &Found<'_>) -> Vec<(usize, u32)> {
    let mut places = Vec::new();
    for (at, task) in found.boxes.iter().enumerate() {
        let end = found.boxes.get(at + 1).map_or(found.text.len(), |next| next.block.start);
        let gap = &found.text[task.block.start..end];
        places.extend(fields::places(gap).map(|(_, indent)| (at, indent)));
    }
    places
}

/// Which boxes belong to a heading that is a task, and these headings. Such a heading is
/// as done as its steps, and headings below it that are smaller do not end it.
fn task_headings(found: &mut Found<'_>) -> Vec<bool> {
    // The level of the heading that a box belongs to.
    let mut levels = vec![None; found.boxes.len()];
    for at in 0..found.boxes.len() {
        let Shape::Heading(level) = found.shapes[at] else { continue };
        let first_end = found.ends.partition_point(|end| end.checkbox < at);
        let closing = found.ends[first_end..].iter().find(|end| end.level <= level);
        let end = closing.map_or(found.boxes.len(), |end| end.checkbox + 1);
        let is_item = |shape: &&Shape| matches!(shape, Shape::Item(_));
        let count = found.shapes[at + 1..end].iter().take_while(is_item).count();
        let steps = &found.boxes[at + 1..=at + count];
        let is_step = |step: &Task| step.id.as_deref().is_none_or(is_plain_number);
        let Some(first) = steps.first().filter(|_| steps.iter().all(is_step)) else { continue };
        let (mark, done) = (first.mark, steps.iter().all(|step| step.done));
        (found.boxes[at].mark, found.boxes[at].done) = (mark, done);
        levels[at..=at + count].fill(Some(level));
    }
    found.ends.retain(|end| levels[end.checkbox].is_none_or(|level| end.level <= level));
    levels.iter().map(Option::is_some).collect()
}
