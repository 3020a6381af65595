//! Which tasks need another one that cannot be done for now.
//!
//! A task needs one before it if it names the same file, if it says that it depends on it,
//! or if it is a check (`[VERIFY]`) of the same section. What needs such a task cannot be
//! done either.

use std::collections::HashSet;

use crate::line;
use crate::tasks::{Mode, Task, TaskFile};

/// What stands in front of the names of tasks that another one depends on, in any case.
const WORDS: [&str; 4] = ["depends on", "depends:", "dependencies:", "dependencies**:"];

/// For each task, whether it is blocked itself or needs one that is.
pub fn barred(file: &TaskFile<'_>, is_blocked: impl Fn(&Task) -> bool) -> Vec<bool> {
    let mut barred = vec![false; file.tasks.len()];
    let mut files: HashSet<String> = HashSet::new();
    for (at, task) in file.tasks.iter().enumerate() {
        if task.done {
            continue;
        }
        let own = file.fields(task).files;
        let checks = task.mode() == Mode::Verify;
        let before = || file.tasks[..at].iter().filter(|other| barred[other.index]);
        barred[at] = is_blocked(task)
            || own.iter().any(|path| files.contains(path))
            || (checks && before().any(|other| other.section == task.section))
            || dependencies(file, task).into_iter().any(|needed| barred[needed]);
        if barred[at] {
            files.extend(own);
        }
    }
    barred
}

/// The tasks that a task says it depends on, by index.
pub(super) fn dependencies(file: &TaskFile<'_>, task: &Task) -> Vec<usize> {
    let block = line::readable(&file.text()[task.block.clone()]);
    let lines = block.lines().filter_map(|line| {
        let line = line.to_ascii_lowercase();
        let end = WORDS.iter().find_map(|word| line.find(word).map(|at| at + word.len()))?;
        let named = line.get(end..)?.split(')').next()?;
        Some(named.to_owned())
    });
    let lines: Vec<String> = lines.collect();
    lines.iter().flat_map(|line| named(file, line)).collect()
}

/// The tasks that are named in a text, one by one or from one to another, by index.
fn named(file: &TaskFile<'_>, text: &str) -> Vec<usize> {
    let at = |name: &str| {
        let is_it =
            |task: &Task| task.id.as_deref().is_some_and(|id| id.eq_ignore_ascii_case(name));
        file.tasks.iter().position(is_it)
    };
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '–');
    let words = text.split(|c: char| !is_part(c)).map(|word| word.trim_matches(['.', '-', '–']));
    let of_word = |word: &str| match (at(word), word.split_once(['-', '–'])) {
        (Some(index), _) => vec![index],
        (None, Some((from, to))) => match (at(from), at(to)) {
            (Some(from), Some(to)) => (from..=to).collect(),
            _ => Vec::new(),
        },
        (None, None) => Vec::new(),
    };
    words.flat_map(of_word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the tasks that are barred when this one is blocked.
    fn barred_by(text: &str, blocked: &str) -> Vec<String> {
        let file = TaskFile::scan(text.as_bytes());
        let barred = barred(&file, |task| task.is_named(blocked));
        let tasks = file.tasks.iter().filter(|task| barred[task.index]);
        tasks.map(Task::name).collect()
    }

    #[test]
    fn what_names_a_file_of_a_blocked_task_needs_it_and_what_stands_before_does_not() {
        let text = "- [ ] 1.1 a\n  - **Files**: a.rs\n- [ ] 1.2 b\n  - **Files**: a.rs, b.rs\n\
                    - [ ] 1.3 c\n  - **Files**: c.rs\n- [ ] 1.4 d\n  - **Files**: b.rs\n- [ ] 1.5 e\n";
        assert_eq!(barred_by(text, "1.1"), ["1.1", "1.2", "1.4"]);
        assert_eq!(barred_by(text, "1.2"), ["1.2", "1.4"]);
        assert_eq!(barred_by(text, "1.3"), ["1.3"]);
    }

    #[test]
    fn a_task_needs_what_it_says_it_depends_on_in_the_words_of_each_tool() {
        for says in [
            "- [ ] T005 e (depends on T001, T009)\n",
            "- [ ] T005 e\n  - _Depends: T001_\n",
            "- [ ] T005 e\n  - **Dependencies**: T000-T002\n",
            "- [ ] T005 e\n  - Depends on `t001`.\n",
        ] {
            let text = format!("- [ ] T000 z\n- [ ] T001 a\n- [ ] T002 b\n{says}");
            assert_eq!(barred_by(&text, "T001"), ["T001", "T005"], "{says}");
        }
        let other = "- [ ] T001 a\n- [ ] T005 e (depends on nothing, see T001)\n- [ ] T006 f\n";
        assert_eq!(barred_by(other, "T006"), ["T006"]);
        let far = "- [ ] T001 a\n- [ ] T002 b (depends on T001)\n- [ ] T003 c (depends on T002)\n";
        assert_eq!(barred_by(far, "T001"), ["T001", "T002", "T003"]);
    }

    #[test]
    fn a_check_needs_what_stands_before_it_in_its_section() {
        let text = "## One\n- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] V1 [VERIFY] c\n\
                    ## Two\n- [ ] 2.1 d\n- [ ] V2 [VERIFY] e\n";
        assert_eq!(barred_by(text, "1.2"), ["1.2", "V1"]);
    }
}
