//! The lint of a task file: what would go wrong, or not be checked, if it were
//! worked as it stands.

mod commands;

use std::collections::{HashMap, HashSet};

use crate::plan;
use crate::tasks::{Fields, Lookup, Mode, Task, TaskFile};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Works, but not as its writer may think.
    Warning,
    /// Does not work.
    Error,
}

/// Something to be fixed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Line number, from 1.
    pub line: usize,
    /// How bad.
    pub severity: Severity,
    /// What, and what to do about it.
    pub message: String,
}

/// Everything worth fixing, in the order of the file. `lookup` tells which
/// programs there are.
pub fn check(file: &TaskFile<'_>, lookup: Lookup<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |line: usize, severity: Severity, message: String| {
        findings.push(Finding { line, severity, message });
    };
    if file.tasks.is_empty() {
        let message = "no tasks: a task is a line such as `- [ ] 1.1 Title` at column 0";
        add(1, Severity::Error, message.into());
    }
    let ids: HashSet<&str> = file.tasks.iter().filter_map(|task| task.id.as_deref()).collect();
    let mut first_with_id: HashMap<&str, usize> = HashMap::new();
    let open: HashSet<&str> = file.open().filter_map(|task| task.id.as_deref()).collect();
    for (heading, box_) in file.headings.iter().enumerate() {
        if let Some(id) = box_.id.as_deref() {
            first_with_id.insert(id, box_.line);
        }
        let mut below = file.under.iter().filter(|(_, over)| *over == heading);
        let open = below.find(|(task, _)| !file.tasks[*task].done && !file.tasks[*task].optional);
        if let Some((task, _)) = open.filter(|_| box_.done) {
            let (task, name) = (file.tasks[*task].name(), box_.id.as_deref().unwrap_or("it"));
            let message = format!("{name} is ticked, and {task} below it is open: {task} counts");
            add(box_.line, Severity::Warning, message);
        }
    }
    let made = commands::MadeFiles::by(file);
    for task in &file.tasks {
        if let Some(id) = task.id.as_deref() {
            match first_with_id.get(id) {
                Some(line) => {
                    let message = format!("id {id} is taken: line {line} has it already");
                    // Nobody works them any more, so nobody confuses them.
                    let severity =
                        if open.contains(id) { Severity::Error } else { Severity::Warning };
                    add(task.line, severity, message);
                }
                None => {
                    first_with_id.insert(id, task.line);
                }
            }
        }
        if let Some(original) = task.fixes()
            && !ids.contains(original)
        {
            let message = format!("[FIX {original}]: there is no task {original}");
            add(task.line, Severity::Error, message);
        }
        let fields = file.fields(task);
        for message in warnings(file, task, &fields) {
            add(task.line, Severity::Warning, message);
        }
        for (severity, message) in commands::findings(task, &fields, &made, lookup) {
            add(task.line, severity, message);
        }
    }
    for unread in &file.unread {
        add(unread.line, Severity::Warning, unread.to_string());
    }
    for (line, message) in shared_files(file) {
        add(line, Severity::Warning, message);
    }
    findings.sort_by_key(|finding| finding.line);
    findings
}

fn warnings(file: &TaskFile<'_>, task: &Task, fields: &Fields) -> Vec<String> {
    let mut found = Vec::new();
    let name = task.name();
    if task.title.is_empty() {
        found.push(format!("{name} has no title"));
    }
    if let Some(marker) = unknown_marker(&task.title) {
        found
            .push(format!("unknown marker [{marker}] in {name}: it is taken as part of the title"));
    }
    let mut missing = Vec::new();
    if fields.does.is_none() && task.mode() != Mode::Verify {
        missing.push("Do");
    }
    if fields.files.is_empty() && task.mode() != Mode::Verify {
        missing.push("Files");
    }
    if fields.done_when.is_none() {
        missing.push("Done when");
    }
    if fields.verify.is_none() {
        missing.push("Verify");
    }
    if file.raw_field(task, "Commit").is_none() && task.mode() != Mode::Verify {
        missing.push("Commit");
    }
    if !missing.is_empty() {
        found.push(format!("{name} has no {}", missing.join(", ")));
    }
    found
}

/// A word in capitals and brackets at the beginning of a title.
fn unknown_marker(title: &str) -> Option<&str> {
    let (word, rest) = title.strip_prefix('[')?.split_once(']')?;
    let looks_like_one =
        word.chars().all(|c| c.is_ascii_alphanumeric() || " ._-".contains(c)) && !word.is_empty();
    (looks_like_one && !rest.starts_with('(')).then_some(word)
}

/// `[P]` neighbours that name the same file and so cannot run at once.
fn shared_files(file: &TaskFile<'_>) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for pair in file.tasks.windows(2) {
        let [a, b] = pair else { continue };
        if a.mode() != Mode::Parallel || b.mode() != Mode::Parallel || a.section != b.section {
            continue;
        }
        // Against every [P] task of the run that ends here, not the neighbour
        // alone.
        let first = b.index.saturating_sub(plan::DEFAULT_MAX_PARALLEL - 1);
        let run_start = file.tasks[first..b.index]
            .iter()
            .rposition(|task| task.mode() != Mode::Parallel || task.section != b.section)
            .map_or(first, |index| first + index + 1);
        let mine = file.fields(b).files;
        for other in &file.tasks[run_start..b.index] {
            let theirs = file.fields(other).files;
            if let Some(path) = mine.iter().find(|path| theirs.contains(path)) {
                let message = format!(
                    "[P] tasks {} and {} both name {path}: they will not run at once",
                    other.name(),
                    b.name()
                );
                found.push((b.line, message));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::Program;

    fn listed(text: &str) -> String {
        let findings = check(&TaskFile::scan(text.as_bytes()), &|_| Program::Found);
        let lines =
            findings.into_iter().map(|f| format!("{}: {:?}: {}\n", f.line, f.severity, f.message));
        lines.collect()
    }

    #[test]
    fn a_complete_file_has_no_findings() {
        assert_eq!(
            listed(
                "- [ ] 1.1 a\n  - **Do**: x\n  - **Files**: a\n  - **Done when**: y\n  - **Verify**: `make`\n  - **Commit**: None\n- [ ] V1 [VERIFY] b\n  - **Done when**: y\n  - **Verify**: `make`\n"
            ),
            ""
        );
    }

    #[test]
    fn what_looks_like_a_box_and_is_none_is_named() {
        let task = "  - **Do**: x\n  - **Files**: a\n  - **Done when**: y\n  - **Verify**: `make`\n  - **Commit**: None\n";
        insta::assert_snapshot!(listed(&format!("- [ ] 1.1 a\n{task}\n## More\n-[ ] 1.2 b\n")), @"9: Warning: `-[ ] 1.2 b` looks like a box and is none, so nobody works on it: write `- [ ] …`");
        let pasted = format!("- [ ] 1.1 a\n{task}- [ ] I have read the rules\n-[ ] And these\n");
        assert_eq!(listed(&pasted), "", "text of the task");
        assert_eq!(listed(&format!("- [ ] a\n{task}- [ ] b\n{task}")), "", "two tasks");
    }

    #[test]
    fn findings_name_their_line() {
        insta::assert_snapshot!(listed("# Plan\n- [ ] 1.1 a\n- [ ] 1.1 [TODO] b\n  - **Do**: x\n  - **Files**: f\n  - **Done when**: y\n  - **Verify**: look at it\n  - **Commit**: None\n- [ ] 1.2 [FIX 9.9] c\n- [ ] 1.3 [P] [see](x)\n  - **Files**: a.rs\n- [ ] 1.4 [P] e\n- [ ] 1.5 [P] f\n  - **Files**: `a.rs`\n"), @"
        2: Warning: 1.1 has no Do, Files, Done when, Verify, Commit
        3: Error: id 1.1 is taken: line 2 has it already
        3: Warning: unknown marker [TODO] in 1.1: it is taken as part of the title
        3: Warning: 1.1: Verify has no command in backticks, so nothing will be run: unverified
        9: Error: [FIX 9.9]: there is no task 9.9
        9: Warning: 1.2 has no Do, Files, Done when, Verify, Commit
        10: Warning: 1.3 has no Do, Done when, Verify, Commit
        12: Warning: 1.4 has no Do, Files, Done when, Verify, Commit
        13: Warning: 1.5 has no Do, Done when, Verify, Commit
        13: Warning: [P] tasks 1.3 and 1.5 both name a.rs: they will not run at once
        ");
        assert!(listed("nothing\n").starts_with("1: Error: no tasks"));
    }

    #[test]
    fn an_id_that_is_taken_is_an_error_only_while_one_of_them_is_open() {
        let of = |marks: [&str; 2]| {
            let text = format!("- [{}] 1.1 a\n- [{}] 1.1 b\n", marks[0], marks[1]);
            let findings = check(&TaskFile::scan(text.as_bytes()), &|_| Program::Found);
            let taken = findings.iter().find(|found| found.message.contains("is taken"));
            taken.map(|found| found.severity)
        };
        assert_eq!(of(["x", "x"]), Some(Severity::Warning));
        assert_eq!(of(["x", " "]), Some(Severity::Error));
        assert_eq!(of([" ", "x"]), Some(Severity::Error));
    }
}
