//! One pass over the lines of a task file.

use std::ops::Range;
use std::sync::Arc;

use super::boxes::{self, BoxLine, Label, is_plain_number};
use super::{HiddenBoxes, Task, TaskFile, UnreadBox, outline};
use crate::line::{self, Fence, Line};

/// What hides the lines between its first and its last one, and whether it is
/// known to have a last one although a phase begins inside.
enum Hidden {
    Not,
    Fence { fence: Fence, is_closed: bool },
    Comment { is_closed: bool },
}

impl Hidden {
    /// Whether this line is the last one that is hidden.
    fn ends_with(&self, line: &Line<'_>) -> bool {
        match self {
            Hidden::Not => false,
            Hidden::Fence { fence, .. } => fence.is_closed_by(line),
            Hidden::Comment { .. } => contains(line.text, b"-->"),
        }
    }

    /// A phase heading ends what somebody forgot to close above it, and nothing
    /// that is closed below.
    fn meets_phase(&mut self, heading: &Line<'_>, ahead: &mut Ahead<'_>) {
        let is_closed = match self {
            Hidden::Not => return,
            Hidden::Fence { fence, is_closed } => {
                *is_closed = *is_closed || ahead.closes_fence(*fence, heading.end);
                *is_closed
            }
            Hidden::Comment { is_closed } => {
                *is_closed = *is_closed || ahead.closes_comment(heading.end);
                *is_closed
            }
        };
        if !is_closed {
            *self = Hidden::Not;
        }
    }
}

/// Tells, line by line, what of a file is visible: not in a fence nor in a comment.
pub(super) struct Visible<'t> {
    hidden: Hidden,
    ahead: Ahead<'t>,
    /// How many lines were looked at.
    lines: usize,
    /// The line that begins what hides others.
    opened: Option<Opened>,
}

/// A line that begins a fence or a comment.
#[derive(Clone, Copy)]
struct Opened {
    /// From 1.
    line: usize,
    /// Where the next line begins.
    behind: usize,
}

impl<'t> Visible<'t> {
    pub(super) fn of(text: &'t [u8]) -> Visible<'t> {
        Visible { hidden: Hidden::Not, ahead: Ahead::new(text), lines: 0, opened: None }
    }

    /// Where the first character of the next line is that is no blank, if the line is
    /// visible.
    pub(super) fn first(&mut self, line: &Line<'_>) -> Option<usize> {
        self.lines += 1;
        if is_phase_heading(line.text) {
            self.hidden.meets_phase(line, &mut self.ahead);
        }
        if !matches!(self.hidden, Hidden::Not) {
            if self.hidden.ends_with(line) {
                self.hidden = Hidden::Not;
            }
            return None;
        }
        let first = line.text.iter().position(|byte| !matches!(byte, b' ' | b'\t'))?;
        let fence = match line.text[first] {
            b'`' | b'~' => Fence::opened_by(line),
            _ => None,
        };
        if let Some(fence) = fence {
            self.hide(Hidden::Fence { fence, is_closed: false }, line);
            return None;
        }
        if line.text[first] == b'<' && opens_comment(line.text) {
            self.hide(Hidden::Comment { is_closed: false }, line);
            return None;
        }
        Some(first)
    }

    fn hide(&mut self, hidden: Hidden, line: &Line<'_>) {
        self.hidden = hidden;
        self.opened = Some(Opened { line: self.lines, behind: line.end });
    }

    /// The line that hides everything behind it, at the end of the file.
    fn unclosed(&self) -> Option<Opened> {
        self.opened.filter(|_| !matches!(self.hidden, Hidden::Not))
    }
}

#[cfg(test)]
thread_local! {
    /// How often a file was scanned, for tests of what is not to be done twice.
    pub(super) static SCANS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

pub(super) fn scan(text: &[u8]) -> TaskFile<'_> {
    #[cfg(test)]
    SCANS.set(SCANS.get() + 1);
    let mut found = Found::in_text(text);
    let mut visible = Visible::of(text);

    for (number, line) in line::lines(text).enumerate() {
        // Most lines are told by their first character that is no blank.
        let Some(first) = visible.first(&line) else { continue };
        match line.text[first] {
            b'-' | b'*' | b'+' if boxes::may_have_box(&line.text[first..]) => {
                found.item(&line, number + 1);
            }
            // A number, a bracket, or a bullet that is not ASCII.
            b'0'..=b'9' | b'[' | 0xE2 => found.item(&line, number + 1),
            b'#' => {
                found.meant(&line, number + 1);
                found.heading(&line, number + 1);
            }
            _ => found.meant(&line, number + 1),
        }
    }
    if let Some(opened) = visible.unclosed() {
        found.hidden_behind(opened);
    }
    let scanned = outline::scanned(found);
    TaskFile { text, scanned: Arc::new(scanned) }
}

/// The boxes of a file, before it is known which of them are tasks.
pub(super) struct Found<'t> {
    pub(super) text: &'t [u8],
    /// Every box, and every heading that may be a task, in the order of the file.
    pub(super) boxes: Vec<Task>,
    /// How each of them stands.
    pub(super) shapes: Vec<Shape>,
    /// The headings that end blocks, in the order of the file.
    pub(super) ends: Vec<BlockEnd>,
    /// The boxes whose text may begin with an id, and what they are then.
    pub(super) maybes: Vec<(usize, Label)>,
    /// What looks like a box and is none.
    pub(super) unread: Vec<UnreadBox>,
    /// Whether every box is a task: all stand at one depth, and have ids of their own.
    pub(super) is_flat: bool,
    /// The headings that were met.
    pub(super) sections: Vec<Section>,
    /// Where the here-document ends that was met last.
    document_end: usize,
}

/// How a box stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// In a list, so far from the left.
    Item(u32),
    /// It is a heading, `### Task 1: Parser`, of this level.
    Heading(u32),
}

/// A heading behind a box, which ends any block above it.
pub(super) struct BlockEnd {
    /// Behind which box, from 0.
    pub(super) checkbox: usize,
    /// Where the line begins.
    pub(super) at: usize,
    /// How many `#` it has.
    pub(super) level: u32,
}

/// A heading, and with it what stands below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Section {
    /// How many `#` it has.
    pub(crate) level: u32,
    /// Where it stands.
    pub(crate) line: Range<usize>,
}

impl<'t> Found<'t> {
    fn in_text(text: &'t [u8]) -> Found<'t> {
        Found {
            text,
            boxes: Vec::new(),
            shapes: Vec::new(),
            ends: Vec::new(),
            maybes: Vec::new(),
            unread: Vec::new(),
            is_flat: true,
            sections: Vec::new(),
            document_end: 0,
        }
    }

    /// A line that may be the item of a list.
    fn item(&mut self, line: &Line<'_>, number: usize) {
        match boxes::box_line(line.text) {
            BoxLine::None => self.meant(line, number),
            BoxLine::Unread => self.unread(line, number, None),
            BoxLine::Box(found) => {
                let Label { id, markers, title, optional, maybe } = found.label();
                if let Some(label) = maybe {
                    self.maybes.push((self.boxes.len(), *label));
                }
                self.is_flat &=
                    found.indent == 0 && id.as_deref().is_some_and(|id| !is_plain_number(id));
                self.shapes.push(Shape::Item(found.indent));
                self.boxes.push(Task {
                    index: 0,
                    id,
                    title,
                    markers,
                    done: found.done,
                    optional: optional || found.optional,
                    section: self.sections.len(),
                    line: number,
                    block: line.span(),
                    mark: line.start + found.mark,
                    is_heading: false,
                });
            }
        }
    }

    /// A line without a box that a person may call one.
    fn meant(&mut self, line: &Line<'_>, number: usize) {
        if boxes::is_meant_open(line.text) {
            self.unread(line, number, None);
        }
    }

    fn unread(&mut self, line: &Line<'_>, number: usize, hidden: Option<HiddenBoxes>) {
        let text = line::head(&line::readable(line.trimmed()), LONGEST_UNREAD).to_owned();
        self.unread.push(UnreadBox { line: number, text, at: line.start, hidden });
    }

    /// The open boxes behind a fence or the beginning of a comment that nobody has closed:
    /// nobody would work on them, and nobody miss them.
    fn hidden_behind(&mut self, opened: Opened) {
        let is_open = |line: &Line<'_>| match boxes::box_line(line.text) {
            BoxLine::Box(found) => !found.done && !found.optional,
            BoxLine::None | BoxLine::Unread => false,
        };
        let behind = line::lines(&self.text[opened.behind..]).enumerate();
        let mut boxes = behind.filter(|(_, line)| is_open(line));
        let Some((number, first)) = boxes.next() else { return };
        let hidden = HiddenBoxes { more: boxes.count(), by: opened.line };
        self.unread(&first, opened.line + 1 + number, Some(hidden));
    }

    /// A line that may be a heading. It ends the block above it, and may be a task.
    fn heading(&mut self, line: &Line<'_>, number: usize) {
        let Some(level) = heading_level(line.text) else { return };
        if line.start < self.document_end {
            return;
        }
        let is_first = self.ends.last().is_none_or(|end| end.checkbox + 1 < self.boxes.len());
        if let Some(last) = self.boxes.last()
            && (is_first || self.ends.last().is_some_and(|end| level < end.level))
        {
            if let Some(end) = here_document_end(self.text, last.block.start, line) {
                self.document_end = end;
                return;
            }
            let checkbox = self.boxes.len() - 1;
            self.ends.push(BlockEnd { checkbox, at: line.start, level });
        }
        self.sections.push(Section { level, line: line.span() });
        let Some(label) = boxes::task_heading(&line.text[level as usize..]) else { return };
        self.is_flat = false;
        self.shapes.push(Shape::Heading(level));
        self.boxes.push(Task {
            index: 0,
            id: label.id,
            title: label.title,
            markers: label.markers,
            done: false,
            optional: false,
            section: self.sections.len(),
            line: number,
            block: line.span(),
            mark: line.start,
            is_heading: true,
        });
    }
}

/// How much of a line is kept to name it.
const LONGEST_UNREAD: usize = 60;

/// What comes further down, looked up only when a phase begins inside a fence
/// or a comment.
struct Ahead<'t> {
    text: &'t [u8],
    /// The fences of the file, by their character.
    fences: Option<[Vec<FenceLine>; 2]>,
    /// Where the next comment ends that was looked for, and from where.
    comment_end: Option<(usize, Option<usize>)>,
}

struct FenceLine {
    start: usize,
    length: usize,
    /// Whether nothing stands behind it, so that it can close another.
    is_bare: bool,
    /// The next one in the list that is longer.
    longer: usize,
}

impl<'t> Ahead<'t> {
    fn new(text: &'t [u8]) -> Ahead<'t> {
        Ahead { text, fences: None, comment_end: None }
    }

    /// Whether a fence is closed behind this place. The next fence that could
    /// close it does, unless something is written behind it: that one opens
    /// a block of its own, and nobody has closed ours.
    fn closes_fence(&mut self, fence: Fence, from: usize) -> bool {
        let all = self.fences.get_or_insert_with(|| fence_lines(self.text));
        let lines = &all[usize::from(fence.mark == b'~')];
        let mut at = lines.partition_point(|line| line.start < from);
        while let Some(line) = lines.get(at) {
            if line.length >= fence.length {
                return line.is_bare;
            }
            at = line.longer;
        }
        false
    }

    /// Whether a comment is closed behind this place, before another begins.
    fn closes_comment(&mut self, from: usize) -> bool {
        let known = self
            .comment_end
            .filter(|(since, end)| *since <= from && end.is_none_or(|end| end >= from));
        let end = match known {
            Some((_, end)) => end,
            None => {
                let end = memchr::memmem::find(&self.text[from..], b"-->").map(|n| from + n);
                self.comment_end = Some((from, end));
                end
            }
        };
        end.is_some_and(|end| memchr::memmem::find(&self.text[from..end], b"<!--").is_none())
    }
}

/// The fences of a text: those of backticks, and those of tildes.
fn fence_lines(text: &[u8]) -> [Vec<FenceLine>; 2] {
    let mut all = [Vec::new(), Vec::new()];
    for line in line::lines(text) {
        if let Some(fence) = Fence::opened_by(&line) {
            let is_bare = fence.is_closed_by(&line);
            let lines: &mut Vec<FenceLine> = &mut all[usize::from(fence.mark == b'~')];
            lines.push(FenceLine { start: line.start, length: fence.length, is_bare, longer: 0 });
        }
    }
    for lines in &mut all {
        for at in (0..lines.len()).rev() {
            let mut longer = at + 1;
            while longer < lines.len() && lines[longer].length <= lines[at].length {
                longer = lines[longer].longer;
            }
            lines[at].longer = longer;
        }
    }
    all
}

/// How far ahead the end of a here-document is looked for.
const LONGEST_DOCUMENT: usize = 32 * 1024;

/// Where the here-document ends that a heading stands in, if it stands in one:
/// the text of a pull request, pasted into a command.
fn here_document_end(text: &[u8], block: usize, heading: &Line<'_>) -> Option<usize> {
    if is_phase_heading(heading.text) {
        return None;
    }
    let before = &text[block.max(heading.start.saturating_sub(LONGEST_DOCUMENT))..heading.start];
    let opened = memchr::memmem::rfind(before, b"<<")? + 2;
    let behind = before[opened..].strip_prefix(b"-").unwrap_or(&before[opened..]);
    let behind = behind.strip_prefix(b"'").or(behind.strip_prefix(b"\"")).unwrap_or(behind);
    let length = behind.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    let word = &behind[..length];
    let is_last = |line: &Line<'_>| line.trimmed() == word;
    if word.is_empty() || line::lines(behind).skip(1).any(|line| is_last(&line)) {
        return None;
    }
    let until = text.len().min(heading.end + LONGEST_DOCUMENT);
    line::lines(&text[heading.end..until])
        .take_while(|line| !is_phase_heading(line.text) && !is_task_with_id(line))
        .find(is_last)
        .map(|line| heading.end + line.end)
}

fn is_task_with_id(line: &Line<'_>) -> bool {
    match boxes::box_line(line.text) {
        BoxLine::Box(found) => found.indent == 0 && found.label().id.is_some(),
        BoxLine::None | BoxLine::Unread => false,
    }
}

/// `## Phase 2: Refactoring`.
fn is_phase_heading(text: &[u8]) -> bool {
    let Some(title) = text.strip_prefix(b"## ") else { return false };
    let behind = title.trim_ascii().strip_prefix(b"Phase");
    behind.is_some_and(|rest| {
        rest.first().is_none_or(|byte| byte.is_ascii_whitespace() || *byte == b':')
    })
}

/// The level of a heading, `# ` to `###### ` at column 0.
pub(super) fn heading_level(text: &[u8]) -> Option<u32> {
    let level = text.iter().take_while(|&&b| b == b'#').count();
    let is_heading =
        (1..=6).contains(&level) && text.get(level).is_none_or(u8::is_ascii_whitespace);
    is_heading.then_some(level as u32)
}

/// Whether a comment begins on this line and does not end on it. Only a line
/// that begins with one counts, as in CommonMark: `<!--` inside a sentence is
/// more often a quotation than a comment.
fn opens_comment(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    text.starts_with(b"<!--") && !contains(&text[4..], b"-->")
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
