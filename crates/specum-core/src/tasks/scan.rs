//! One pass over the lines of a task file.

use super::{Marker, Task, TaskFile};
use crate::line::{self, Line};

/// A checkbox at column 0, before it is known whether it is a task.
struct Checkbox {
    task: Task,
    /// The first line behind the checkbox that ends any block, if one was met
    /// before the next checkbox.
    closed_at: Option<usize>,
}

/// What hides the lines between its first and its last one.
#[derive(PartialEq)]
enum Hidden {
    Not,
    Fence,
    Comment,
}

pub(super) fn scan(text: &[u8]) -> TaskFile<'_> {
    let mut boxes: Vec<Checkbox> = Vec::new();
    let mut phases = 0;
    let mut hidden = Hidden::Not;

    for (number, line) in line::lines(text).enumerate() {
        // A phase heading ends whatever somebody forgot to close above it.
        if is_phase_heading(line.text) {
            hidden = Hidden::Not;
            phases += 1;
        }
        match hidden {
            Hidden::Fence if line.is_fence() => hidden = Hidden::Not,
            Hidden::Comment if contains(line.text, b"-->") => hidden = Hidden::Not,
            Hidden::Fence | Hidden::Comment => {}
            Hidden::Not if line.is_fence() => hidden = Hidden::Fence,
            Hidden::Not if opens_comment(line.text) => hidden = Hidden::Comment,
            Hidden::Not => {
                if let Some(task) = checkbox(&line, number + 1, phases) {
                    boxes.push(Checkbox { task, closed_at: None });
                } else if is_heading(line.text)
                    && let Some(last) = boxes.last_mut()
                {
                    last.closed_at.get_or_insert(line.start);
                }
            }
        }
    }

    let has_ids = boxes.iter().any(|found| found.task.id.is_some());
    let without_id = boxes
        .iter()
        .filter(|found| has_ids && found.task.id.is_none())
        .map(|found| found.task.line)
        .collect();
    let tasks = into_tasks(text, boxes, has_ids);
    TaskFile { text, tasks, has_ids, without_id }
}

/// Drops the checkboxes that are no tasks and gives each task its block.
fn into_tasks(text: &[u8], boxes: Vec<Checkbox>, has_ids: bool) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::with_capacity(boxes.len());
    // Blocks are cut from the end: each ends where the next task begins, or at
    // the first heading behind it.
    let mut next_start = text.len();
    let mut closed = None;
    for found in boxes.into_iter().rev() {
        closed = found.closed_at.or(closed);
        if has_ids && found.task.id.is_none() {
            continue;
        }
        let mut task = found.task;
        let end = closed.take().unwrap_or(next_start).min(next_start);
        next_start = task.block.start;
        task.block.end = end_of_last_line(text, task.block.start, end);
        tasks.push(task);
    }
    tasks.reverse();
    for (index, task) in tasks.iter_mut().enumerate() {
        task.index = index;
    }
    tasks
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
    let head = line::readable(behind.trim_ascii());
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
