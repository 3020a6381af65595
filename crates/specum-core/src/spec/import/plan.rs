//! `tasks.md` in our form, from the task list of another tool.

use super::write::line;
use crate::line as lines;
use crate::spec::outline::item_text;
use crate::tasks::{Mode, Task, TaskFile};

/// A part of the plan that is written.
pub(super) enum Entry<'f> {
    /// `## Phase 2: Models`.
    Phase(String, String),
    /// `### Tests`.
    Part(String),
    /// A task, what it is called from now on, and the ids that it is there for.
    Task(&'f Task, String, Vec<String>),
}

/// How the tasks of a tool are read.
pub(super) struct Reading<'r> {
    /// Whether a line says what a task is there for, which its links say now.
    pub(super) is_link: &'r dyn Fn(&str) -> bool,
    /// A text with the ids that tasks have from now on.
    pub(super) renamed: &'r dyn Fn(&str) -> String,
}

/// The plan with these entries.
pub(super) fn tasks(
    name: &str,
    file: &TaskFile<'_>,
    entries: &[Entry<'_>],
    reading: &Reading<'_>,
) -> Vec<u8> {
    let wanted: Vec<(String, bool)> = entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Task(task, ..) => Some((title(task, reading), task.done)),
            _ => None,
        })
        .collect();
    let has_all = |written: &String| {
        let again = TaskFile::scan(written.as_bytes());
        again.tasks.iter().map(|task| (task.title.clone(), task.done)).eq(wanted.iter().cloned())
    };
    let as_it_is = document(name, file, entries, reading, true);
    if has_all(&as_it_is) {
        return as_it_is.into_bytes();
    }
    // What stands in a task may begin something that hides the next one.
    let in_words = document(name, file, entries, reading, false);
    if has_all(&in_words) {
        return in_words.into_bytes();
    }
    // An id that is there twice, or is the beginning of another, makes a heading of a task.
    document(name, file, &numbered_anew(entries), reading, false).into_bytes()
}

/// The same with an id for each task that no other has.
fn numbered_anew<'f>(entries: &[Entry<'f>]) -> Vec<Entry<'f>> {
    let (mut phase, mut in_phase) = (1, 0);
    let anew = entries.iter().map(|entry| match entry {
        Entry::Phase(number, title) => {
            phase += usize::from(in_phase > 0);
            in_phase = 0;
            Entry::Phase(number.clone(), title.clone())
        }
        Entry::Part(title) => Entry::Part(title.clone()),
        Entry::Task(task, _, links) => {
            in_phase += 1;
            Entry::Task(task, format!("{phase}.{in_phase}"), links.clone())
        }
    });
    anew.collect()
}

/// Numbers for the tasks that have none, in a plan where others have one: behind the fields
/// of a task, a box without an id would be a line of that task.
pub(super) fn free_numbers(file: &TaskFile<'_>) -> impl Iterator<Item = String> + use<> {
    let of_tasks = file.tasks.iter().filter_map(|task| task.id.as_deref());
    let of_headings = file.headings.iter().filter_map(|heading| heading.id.as_deref());
    let first = |id: &str| id.split('.').next()?.parse::<u32>().ok();
    let has_ids = file.tasks.iter().any(|task| task.id.is_some());
    let last = of_tasks.chain(of_headings).filter_map(first).max().unwrap_or(0);
    (1..).map(move |more| last.saturating_add(more).to_string()).take_while(move |_| has_ids)
}

fn title(task: &Task, reading: &Reading<'_>) -> String {
    line(&(reading.renamed)(&task.title))
}

fn document(
    name: &str,
    file: &TaskFile<'_>,
    entries: &[Entry<'_>],
    reading: &Reading<'_>,
    as_it_is: bool,
) -> String {
    let name = line(name);
    let mut text = format!("---\nspec: {name}\nphase: tasks\n---\n# Tasks: {name}\n");
    for entry in entries {
        match entry {
            Entry::Phase(number, title) => {
                text.push_str(&format!("\n## Phase {number}: {}\n\n", line(title)));
            }
            Entry::Part(title) => {
                let gap = if text.ends_with("\n\n") { "" } else { "\n" };
                text.push_str(&format!("{gap}### {}\n\n", line(title)));
            }
            Entry::Task(task, id, links) => {
                text.push_str(&block(file, task, id, links, reading, as_it_is));
            }
        }
    }
    text
}

/// A task with its lines.
fn block(
    file: &TaskFile<'_>,
    task: &Task,
    id: &str,
    links: &[String],
    reading: &Reading<'_>,
    as_it_is: bool,
) -> String {
    let mark = if task.done { "x" } else { " " };
    let star = if task.optional { "*" } else { "" };
    let marker = match task.mode() {
        Mode::Parallel => "[P] ",
        Mode::Verify => "[VERIFY] ",
        Mode::Sequential => "",
    };
    let title = title(task, reading);
    // A number alone is an id only with a full stop behind it.
    let is_number = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    let id = match id {
        "" => String::new(),
        _ if is_number => format!("{id}. "),
        _ => format!("{id} "),
    };
    let mut text = format!("- [{mark}]{star} {id}{marker}{title}").trim_end().to_owned() + "\n";
    let has = |field: &str| file.raw_field(task, field).is_some();
    let is_in_fields = ["Do", "Files", "Done when", "Verify", "Commit"].into_iter().any(has);
    let own = lines::lines(file.block(task));
    let own: Vec<String> = own.map(|line| lines::readable(line.text)).collect();
    let base = own.first().map_or(0, |first| indent(first));
    // What stands at the left margin behind a task without fields is nobody's.
    let is_own = |line: &str| is_in_fields || indent(line) > base;
    let says = |line: &&String| !line.trim().is_empty() && is_own(line) && !(reading.is_link)(line);
    let below: Vec<String> =
        own.iter().skip(1).filter(says).map(|line| (reading.renamed)(line)).collect();
    if !is_in_fields && !below.is_empty() {
        text.push_str("  - **Do**:\n");
    }
    let by = if is_in_fields { 0 } else { 2 };
    for line in &below {
        if as_it_is {
            let moved = &line[base.min(indent(line))..];
            text.push_str(&format!("{}{}\n", " ".repeat(by), moved.trim_end()));
        } else {
            text.push_str(&format!("    - {}\n", words(line)));
        }
    }
    let files = file.fields(task).files;
    if !files.is_empty() && (!has("Files") || !as_it_is) {
        let files: Vec<String> = files.iter().map(|file| line(file)).collect();
        text.push_str(&format!("  - **Files**: {}\n", files.join(", ")));
    }
    if !links.is_empty() {
        text.push_str(&format!("  - _Requirements: {}_\n", links.join(", ")));
    }
    text
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// A line as words that begin nothing: no box, no fence, no heading.
fn words(text: &str) -> String {
    let mut text = line(text);
    loop {
        let bare = item_text(&text)
            .unwrap_or(&text)
            .trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '(' | '"' | '/'));
        if bare.len() == text.len() {
            return text;
        }
        text = bare.to_owned();
    }
}
