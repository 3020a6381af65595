//! Simulated plans: tasks that the world can tell apart whatever people, agents
//! and the kernel do to their names, places and titles.
//!
//! The last word of each title is a number that nobody else has, and that no
//! edit changes. The kernel does not know of it.

use specum_core::tasks::{Patch, Task, TaskFile, TaskKey, apply};

use super::Chance;

/// What stands in a Verify field, and what the world answers to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    /// A command that passes if the work is good.
    Honest,
    /// One that has to print something.
    Printed,
    /// Two commands.
    Several,
    /// A command that passes whatever was done.
    Hollow,
    /// Words that no program can run.
    Words,
    /// No field at all.
    Nothing,
}

impl Proof {
    pub(crate) const ALL: [Proof; 6] = [
        Proof::Honest,
        Proof::Printed,
        Proof::Several,
        Proof::Words,
        Proof::Hollow,
        Proof::Nothing,
    ];

    /// The field for a task that is about this file.
    fn line(self, file: &str) -> String {
        match self {
            Proof::Honest => format!("  - **Verify**: `test -s {file}`\n"),
            Proof::Printed => format!("  - **Verify**: `grep -c good {file}` returns 1\n"),
            Proof::Several => {
                format!("  - **Verify**: `test -e {file}` and `test -s {file}`\n")
            }
            Proof::Hollow => "  - **Verify**: `echo fine`\n".to_owned(),
            Proof::Words => "  - **Verify**: look at it\n".to_owned(),
            Proof::Nothing => String::new(),
        }
    }

    /// What a task is checked by as it stands in a file.
    pub(crate) fn of(file: &TaskFile<'_>, task: &Task) -> Proof {
        Self::of_lines(&file.verify_lines(task))
    }

    /// What some lines of a Verify field mean.
    pub(crate) fn of_lines(lines: &[u8]) -> Proof {
        let text = String::from_utf8_lossy(lines);
        let has = |part: &str| text.contains(part);
        match () {
            () if has("test -e") => Proof::Several,
            () if has("test -s") => Proof::Honest,
            () if has("grep") => Proof::Printed,
            () if has("echo") => Proof::Hollow,
            () if has("look at it") => Proof::Words,
            () => Proof::Nothing,
        }
    }

    /// Whether nothing but the agent's word decides.
    pub(crate) fn proves_nothing(self) -> bool {
        matches!(self, Proof::Hollow | Proof::Words | Proof::Nothing)
    }
}

/// A task as the world knows it, whatever it is called.
pub(crate) fn soul(task: &Task) -> String {
    soul_of(&task.key())
}

/// The same for a task that is named in a record.
pub(crate) fn soul_of(key: &TaskKey) -> String {
    match key.title.starts_with("Fix:") {
        // A fix has the title of what it fixes, and nobody renumbers it.
        true => format!("fix {}", key.id),
        false => key.title.rsplit(' ').next().unwrap_or_default().to_owned(),
    }
}

/// The file that a task is about, which nobody changes.
pub(crate) fn file_of(file: &TaskFile<'_>, task: &Task) -> String {
    file.fields(task).files.first().cloned().unwrap_or_default()
}

/// A plan of a few tasks.
pub(crate) fn write(chance: &mut Chance) -> Vec<u8> {
    let mut text = String::from("# Plan\n\nSome words.\n\n## Phase 1: One\n\n");
    let tasks = 1 + chance.below(8);
    let has_ids = !chance.once_in(3);
    for n in 1..=tasks {
        if n > 1 && chance.once_in(4) {
            text.push_str("\nMore words.\n\n## Phase 2: Two\n\n");
        }
        let marker = chance.one_of(&["", "[P] ", "[P] ", "[VERIFY] ", "[SEQUENTIAL] "]);
        let id = has_ids.then(|| format!("1.{n}"));
        let mark = if chance.once_in(12) { 'x' } else { ' ' };
        text.push_str(&block(id.as_deref(), mark, marker, n, chance));
    }
    if chance.once_in(4) {
        text = text.replace('\n', "\r\n");
    }
    if chance.once_in(4) {
        text.truncate(text.trim_end().len());
    }
    text.into_bytes()
}

/// The lines of a task.
pub(crate) fn block(
    id: Option<&str>,
    mark: char,
    marker: &str,
    number: u32,
    chance: &mut Chance,
) -> String {
    let proof = chance.one_of(&[Proof::Honest, Proof::Several, Proof::Printed, Proof::Words]);
    let id_and_blank = id.map(|id| format!("{id} ")).unwrap_or_default();
    // Where tasks have ids, a box without one is a step and no task.
    let step = if id.is_some() && chance.once_in(3) { "  - [ ] a step\n" } else { "" };
    format!(
        "- [{mark}] {id_and_blank}{marker}Task {number}\n  - **Do**: it\n{step}  - **Files**: \
         f{number}\n{}",
        proof.line(&format!("f{number}"))
    )
}

/// The text with another block in the place of a task's.
pub(crate) fn with_block(file: &TaskFile<'_>, task: &Task, block: &[u8]) -> Vec<u8> {
    apply(file.text(), &[Patch { range: task.block.clone(), with: block.to_vec() }])
}

/// The text without a task.
pub(crate) fn without(file: &TaskFile<'_>, task: &Task) -> Vec<u8> {
    with_block(file, task, b"")
}

/// The block of a task with some words in the place of others.
pub(crate) fn reworded(file: &TaskFile<'_>, task: &Task, from: &str, to: &str) -> Option<Vec<u8>> {
    let block = String::from_utf8_lossy(file.block(task)).into_owned();
    let after = block.replacen(from, to, 1);
    (after != block).then(|| with_block(file, task, after.as_bytes()))
}

/// The text with another check for a task.
pub(crate) fn rechecked(file: &TaskFile<'_>, task: &Task, proof: Proof) -> Option<Vec<u8>> {
    if Proof::of(file, task) == proof {
        return None;
    }
    let block = String::from_utf8_lossy(file.block(task)).into_owned();
    let ending = if block.contains("\r\n") { "\r\n" } else { "\n" };
    let mut lines: Vec<&str> = block.lines().filter(|line| !line.contains("**Verify**")).collect();
    // Blank lines belong to the block; the field stands in front of them.
    let at = lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |at| at + 1);
    let line = proof.line(&file_of(file, task));
    if proof != Proof::Nothing {
        lines.insert(at, line.trim_end());
    }
    let mut after = lines.join(ending);
    if block.ends_with('\n') {
        after.push_str(ending);
    }
    Some(with_block(file, task, after.as_bytes()))
}

/// The text with every task that is no fix numbered in its order, and the fixes
/// told apart by the new numbers of what they fix.
///
/// Not where a fix is left of a task that is gone: the task that got its number would
/// get its fixes too.
pub(crate) fn renumbered(text: &[u8]) -> Option<Vec<u8>> {
    let file = TaskFile::scan(text);
    let mut fixed = file.tasks.iter().filter_map(Task::goes_before);
    if !fixed.all(|id| file.tasks.iter().any(|task| task.name() == id)) {
        return None;
    }
    let own = file.tasks.iter().filter(|task| task.goes_before().is_none());
    let numbers: Vec<(String, String)> =
        own.enumerate().map(|(n, task)| (task.name(), format!("1.{}", n + 1))).collect();
    Some(with_numbers(&file, &numbers))
}

/// The text with other ids for some tasks.
pub(crate) fn with_numbers(file: &TaskFile<'_>, numbers: &[(String, String)]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut at = 0;
    let now = |id: &str| numbers.iter().find(|(from, _)| from == id).map(|(_, to)| to.as_str());
    for task in &file.tasks {
        text.extend_from_slice(&file.text()[at..task.block.start]);
        at = task.block.end;
        let block = String::from_utf8_lossy(file.block(task)).into_owned();
        let block = match (task.goes_before(), task.id.as_deref().and_then(now)) {
            (Some(waits), _) => match now(waits) {
                Some(id) => block
                    .replacen(&format!("[FIX {waits}]"), &format!("[FIX {id}]"), 1)
                    .replacen(&format!("[BEFORE {waits}]"), &format!("[BEFORE {id}]"), 1),
                None => block,
            },
            (None, Some(id)) => {
                block.replacen(&format!("] {} ", task.name()), &format!("] {id} "), 1)
            }
            (None, None) => block,
        };
        text.extend_from_slice(block.as_bytes());
    }
    text.extend_from_slice(&file.text()[at..]);
    text
}
