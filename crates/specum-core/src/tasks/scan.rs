//! One pass over the lines of a task file.

use std::sync::{Arc, OnceLock};

use super::{Heading, Marker, Scanned, Task, TaskFile};
use crate::line::{self, Line};

/// The first line behind a checkbox that ends any block, where one was met before
/// the next checkbox.
struct BlockEnd {
    /// Which checkbox, from 0.
    checkbox: usize,
    /// Where the line begins.
    at: usize,
}

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

#[cfg(test)]
thread_local! {
    /// How often a file was scanned, for tests of what is not to be done twice.
    pub(super) static SCANS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

pub(super) fn scan(text: &[u8]) -> TaskFile<'_> {
    #[cfg(test)]
    SCANS.set(SCANS.get() + 1);
    // The checkboxes at column 0, before it is known which of them are tasks.
    let mut boxes: Vec<Task> = Vec::new();
    let mut ends: Vec<BlockEnd> = Vec::new();
    let mut phases = 0;
    let mut hidden = Hidden::Not;
    let mut ahead = Ahead::new(text);
    // Where the here-document ends that was met last.
    let mut document_end = 0;

    for (number, line) in line::lines(text).enumerate() {
        if is_phase_heading(line.text) {
            hidden.meets_phase(&line, &mut ahead);
            phases += usize::from(matches!(hidden, Hidden::Not));
        }
        if !matches!(hidden, Hidden::Not) {
            if hidden.ends_with(&line) {
                hidden = Hidden::Not;
            }
            continue;
        }
        // Most lines are told by their first character that is no blank.
        match line.text.iter().find(|byte| !matches!(byte, b' ' | b'\t')) {
            Some(b'`' | b'~') => {
                if let Some(fence) = Fence::opened_by(&line) {
                    hidden = Hidden::Fence { fence, is_closed: false };
                }
            }
            Some(b'<') if opens_comment(line.text) => hidden = Hidden::Comment { is_closed: false },
            Some(b'-' | b'*' | b'+') if !matches!(line.text[0], b' ' | b'\t') => {
                if let Some(task) = checkbox(&line, number + 1, phases) {
                    boxes.push(task);
                }
            }
            Some(b'#') if is_heading(line.text) && line.start >= document_end => {
                let is_open = ends.last().is_none_or(|end| end.checkbox + 1 < boxes.len());
                if let Some(last) = boxes.last().filter(|_| is_open) {
                    match here_document_end(text, last.block.start, &line) {
                        Some(end) => document_end = end,
                        None => ends.push(BlockEnd { checkbox: boxes.len() - 1, at: line.start }),
                    }
                }
            }
            _ => {}
        }
    }

    let has_ids = boxes.iter().any(|found| found.id.is_some());
    let without_id = || boxes.iter().filter(|found| has_ids && found.id.is_none());
    let headings = without_id().filter_map(heading).collect();
    let without_id = without_id().map(|found| found.line).collect();
    let tasks = into_tasks(text, boxes, ends, has_ids);
    let digest = OnceLock::new();
    let scanned = Scanned { tasks, has_ids, without_id, headings, digest };
    TaskFile { text, scanned: Arc::new(scanned) }
}

/// A code fence: which character, and how many of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    mark: u8,
    length: usize,
}

impl Fence {
    /// The fence that a line begins with, after any blanks. Backticks behind
    /// the first ones make a code span of it.
    pub(super) fn opened_by(line: &Line<'_>) -> Option<Fence> {
        let blanks = line.text.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let text = &line.text[blanks..];
        let mark = *text.first().filter(|mark| matches!(mark, b'`' | b'~'))?;
        let length = text.iter().take_while(|&&b| b == mark).count();
        let is_span = mark == b'`' && text[length..].contains(&b'`');
        (length >= 3 && !is_span).then_some(Fence { mark, length })
    }

    /// Whether a line ends what this fence has begun: the same character, at
    /// least as often, and nothing else.
    pub(super) fn is_closed_by(&self, line: &Line<'_>) -> bool {
        let text = line.trimmed();
        text.len() >= self.length && text.iter().all(|&b| b == self.mark)
    }
}

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
    checkbox(line, 0, 0).is_some_and(|task| task.id.is_some())
}

/// Drops the checkboxes that are no tasks and gives each task its block. Nothing is
/// moved to another place: a large plan would touch as much memory once more.
fn into_tasks(
    text: &[u8],
    mut boxes: Vec<Task>,
    mut ends: Vec<BlockEnd>,
    has_ids: bool,
) -> Vec<Task> {
    // Blocks are cut from the end: each ends where the next task begins, or at
    // the first heading behind it.
    let mut next_start = text.len();
    let mut closed = None;
    for (number, task) in boxes.iter_mut().enumerate().rev() {
        closed = ends.pop_if(|end| end.checkbox == number).map(|end| end.at).or(closed);
        if has_ids && task.id.is_none() {
            continue;
        }
        let end = closed.take().unwrap_or(next_start).min(next_start);
        next_start = task.block.start;
        task.block.end = end_of_last_line(text, task.block.start, end);
    }
    boxes.retain(|found| !has_ids || found.id.is_some());
    for (index, task) in boxes.iter_mut().enumerate() {
        task.index = index;
    }
    boxes
}

/// `end` moved in front of the blank lines before it.
fn end_of_last_line(text: &[u8], start: usize, end: usize) -> usize {
    let written = start + text[start..end].trim_ascii_end().len();
    text[written..end].iter().position(|&b| b == b'\n').map_or(end, |n| written + n + 1)
}

fn checkbox(line: &Line<'_>, number: usize, phase: usize) -> Option<Task> {
    let text = line.text;
    let [b'-' | b'*' | b'+', rest @ ..] = text else { return None };
    let box_text = rest.trim_ascii_start();
    if box_text.len() == rest.len() {
        return None;
    }
    let (mark, behind) = match box_text {
        [b'[', mark @ (b' ' | b'x' | b'X'), b']', behind @ ..] => (*mark, behind),
        _ => return None,
    };
    if !behind.is_empty() && !behind[0].is_ascii_whitespace() {
        return None;
    }
    let offset = text.len() - box_text.len() + 1;
    let head = String::from_utf8_lossy(behind.trim_ascii());
    let (id, head) = split_id(&head);
    let (markers, title) = split_markers(head);
    Some(Task {
        index: 0,
        id: id.map(str::to_owned),
        title: title.to_owned(),
        markers,
        done: mark != b' ',
        phase,
        line: number,
        block: line.span(),
        mark: line.start + offset,
    })
}

/// `- [ ] 2. Models` heads the tasks 2.1, 2.2 and so on.
fn heading(task: &Task) -> Option<Heading> {
    let number = task.title.split_whitespace().next()?.trim_end_matches(['.', ':', ')']);
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let prefix = format!("{number}.");
    is_number.then_some(Heading { prefix, done: task.done, mark: task.mark })
}

/// Where the mark of a checkbox stands in a line, however far it is indented.
pub(super) fn mark_of(line: &[u8]) -> Option<usize> {
    let text = line.trim_ascii_start();
    let [b'-' | b'*' | b'+', b' ' | b'\t', rest @ ..] = text else { return None };
    match rest.trim_ascii_start() {
        behind @ [b'[', b' ' | b'x' | b'X', b']', ..] => Some(line.len() - behind.len() + 1),
        _ => None,
    }
}

/// An id at the beginning of a task's text, and what stands behind it.
fn split_id(text: &str) -> (Option<&str>, &str) {
    let word = text.split_whitespace().next().unwrap_or("");
    let id = word.trim_end_matches([':', '.']);
    if is_id(id) { (Some(id), text[word.len()..].trim_start()) } else { (None, text) }
}

/// `1.1`, `1.3.1`, `1.X`, `V1`, `VE2`, `VF`, and a fix of each: `V1.1`.
pub(super) fn is_id(word: &str) -> bool {
    let number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let (first, rest) = match word.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (word, None),
    };
    let is_check = first == "VF"
        || ["VF", "VE", "V"].iter().any(|kind| first.strip_prefix(kind).is_some_and(number));
    (is_check || (number(first) && rest.is_some()))
        && rest.is_none_or(|rest| rest.split('.').all(|part| number(part) || part == "X"))
}

/// The known markers at the beginning of a text, and the title behind them.
fn split_markers(mut text: &str) -> (Vec<Marker>, &str) {
    let mut markers = Vec::new();
    while let Some((marker, rest)) = first_marker(text) {
        markers.push(marker);
        text = rest;
    }
    (markers, text)
}

fn first_marker(text: &str) -> Option<(Marker, &str)> {
    let (word, rest) = text.strip_prefix('[')?.split_once(']')?;
    let marker = match word {
        "P" => Marker::Parallel,
        "VERIFY" => Marker::Verify,
        "SEQUENTIAL" => Marker::Sequential,
        "RED" => Marker::Red,
        "GREEN" => Marker::Green,
        "YELLOW" => Marker::Yellow,
        _ => {
            Marker::Fix(word.strip_prefix("FIX ").map(str::trim).filter(|id| is_id(id))?.to_owned())
        }
    };
    Some((marker, rest.trim_start()))
}

/// `## Phase 2: Refactoring`.
fn is_phase_heading(text: &[u8]) -> bool {
    let Some(title) = text.strip_prefix(b"## ") else { return false };
    let behind = title.trim_ascii().strip_prefix(b"Phase");
    behind.is_some_and(|rest| {
        rest.first().is_none_or(|byte| byte.is_ascii_whitespace() || *byte == b':')
    })
}

/// `# ` to `###### ` at column 0.
fn is_heading(text: &[u8]) -> bool {
    let level = text.iter().take_while(|&&b| b == b'#').count();
    (1..=6).contains(&level) && text.get(level).is_none_or(u8::is_ascii_whitespace)
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
