//! The lint of a task file: what would go wrong, or not be checked, if it were
//! worked as it stands.

mod commands;

pub use self::commands::cannot_run;

use std::collections::{HashMap, HashSet};

use crate::plan;
use crate::suite::{self, Suite};
use crate::tasks::{Check, Command, Fields, Lookup, Mode, Task, TaskFile};

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

/// What the lint looks at in addition to the plan.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Which programs there are.
    pub lookup: Lookup<'a>,
    /// The checks of the whole plan.
    pub suite: &'a Suite,
    /// Why a shell cannot read a command, if it cannot.
    pub syntax: Syntax<'a>,
}

/// Tells why a shell cannot read a command, if it cannot.
pub type Syntax<'a> = &'a dyn Fn(&Command) -> Option<String>;

/// Everything worth fixing, in the order of the file.
pub fn check(file: &TaskFile<'_>, around: Surroundings<'_>) -> Vec<Finding> {
    let mut findings = suite::in_plan(file.text()).1;
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
        if file.heading_fields(box_).verify.is_some() {
            let name = box_.id.as_deref().unwrap_or("this box");
            let message = format!(
                "{name} is ticked with the last task below it, and its own Verify is not run: move \
                 it to that task"
            );
            add(box_.line, Severity::Warning, message);
        }
    }
    let made = commands::MadeFiles::by(file);
    let fields: Vec<Fields> = file.tasks.iter().map(|task| file.fields(task)).collect();
    let has_our_fields = has_our_fields(file, &fields);
    for task in &file.tasks {
        if let Some(id) = task.id.as_deref() {
            match first_with_id.get(id) {
                Some(line) => {
                    let message = format!("id {id} is taken: line {line} has it already");
                    // Done tasks are not worked on, so they cannot be mixed up.
                    let severity =
                        if open.contains(id) { Severity::Error } else { Severity::Warning };
                    add(task.line, severity, message);
                }
                None => {
                    first_with_id.insert(id, task.line);
                }
            }
        }
        if let Some(original) = task.goes_before()
            && !ids.contains(original)
        {
            let marker = if task.fixes().is_some() { "FIX" } else { "BEFORE" };
            let message = format!("[{marker} {original}]: there is no task {original}");
            add(task.line, Severity::Error, message);
        }
        let fields = &fields[task.index];
        for message in warnings(task) {
            add(task.line, Severity::Warning, message);
        }
        if has_our_fields && let Some(message) = missing_fields(file, task, fields, around.suite) {
            add(task.line, Severity::Warning, message);
        }
        for (severity, message) in commands::findings(task, fields, &made, around) {
            add(task.line, severity, message);
        }
    }
    for (line, message) in commands::findings_of_suite(file, &made, around) {
        add(line, Severity::Error, message);
    }
    if !has_our_fields && let Some((line, message)) = unchecked(file, &fields, around) {
        add(line, Severity::Warning, message);
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

/// Whether the plan is written with fields such as Do. One of another tool is not, and
/// misses nothing by that but its checks.
fn has_our_fields(file: &TaskFile<'_>, fields: &[Fields]) -> bool {
    let is_ours = |task: &Task| {
        let fields = &fields[task.index];
        fields.does.is_some() || fields.done_when.is_some() || {
            file.raw_field(task, "Commit").is_some() || fields.verify.is_some()
        }
    };
    file.tasks.iter().any(is_ours)
}

/// What the tasks of a plan without fields rest on if nothing checks them, at the line of
/// the first.
fn unchecked(
    file: &TaskFile<'_>,
    fields: &[Fields],
    around: Surroundings<'_>,
) -> Option<(usize, String)> {
    let has_none = |task: &&Task| {
        let check = Check::in_plan(fields[task.index].verify.clone(), around.suite);
        check.is_none_or(|check| check.commands(around.lookup).is_empty())
    };
    let open: Vec<&Task> = file.open().filter(|task| !task.optional).collect();
    let without: Vec<&&Task> = open.iter().filter(|task| has_none(task)).collect();
    let first = without.first()?;
    let which = match (without.len(), open.len()) {
        (1, 1) => "the open task has no check".to_owned(),
        (all, open) if all == open => format!("none of the {open} open tasks has a check"),
        (some, open) => format!("{some} of the {open} open tasks have no check"),
    };
    let message = format!(
        "{which}, so an agent's word is all there is: set `verify: npm test`, or whatever checks \
         the project, in the settings or in the plan's front matter; `specum run --verify 'npm \
         test'` does it once"
    );
    Some((first.line, message))
}

fn warnings(task: &Task) -> Vec<String> {
    let mut found = Vec::new();
    let name = task.name();
    if task.title.is_empty() {
        found.push(format!("{name} has no title"));
    }
    if let Some(marker) = unknown_marker(&task.title) {
        found
            .push(format!("unknown marker [{marker}] in {name}: it is taken as part of the title"));
    }
    found
}

/// Which of our fields a task does not have.
fn missing_fields(
    file: &TaskFile<'_>,
    task: &Task,
    fields: &Fields,
    suite: &Suite,
) -> Option<String> {
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
    if fields.verify.is_none() && suite.is_empty() {
        missing.push("Verify");
    }
    if file.raw_field(task, "Commit").is_none() && task.mode() != Mode::Verify {
        missing.push("Commit");
    }
    (!missing.is_empty()).then(|| format!("{} has no {}", task.name(), missing.join(", ")))
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
        let suite = suite::in_plan(text.as_bytes()).0;
        let around = Surroundings { lookup: &|_| Program::Found, suite: &suite, syntax: &|_| None };
        let findings = check(&TaskFile::scan(text.as_bytes()), around);
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
    fn a_plan_without_our_fields_is_asked_for_its_checks_once() {
        let plan = "- [ ] T001 a\n- [ ] T002 b\n- [x] T003 c\n";
        insta::assert_snapshot!(listed(plan), @"1: Warning: none of the 2 open tasks has a check, so an agent's word is all there is: set `verify: npm test`, or whatever checks the project, in the settings or in the plan's front matter; `specum run --verify 'npm test'` does it once");
        insta::assert_snapshot!(listed("- [ ] 1. a\n  - _Requirements: 1.1_\n"), @"1: Warning: the open task has no check, so an agent's word is all there is: set `verify: npm test`, or whatever checks the project, in the settings or in the plan's front matter; `specum run --verify 'npm test'` does it once");
        assert_eq!(listed(&format!("---\nverify: make test\n---\n{plan}")), "");
        assert_eq!(listed("- [x] T003 c\n"), "");
    }

    #[test]
    fn a_heading_that_has_a_verify_is_named() {
        let plan = "- [ ] 2 a\n  - **Verify**: `make`\n  - [ ] 2.1 b\n    - **Verify**: `make b`\n    - **Do**: x\n    - **Files**: a\n    - **Done when**: y\n    - **Commit**: None\n";
        insta::assert_snapshot!(listed(plan), @"1: Warning: 2 is ticked with the last task below it, and its own Verify is not run: move it to that task");
    }

    #[test]
    fn boxes_that_only_a_person_reads_as_such_are_named() {
        let lines = [
            "> - [ ] quoted",
            "| 1.1 | title | [ ] |",
            "### [ ] heading",
            "☐ sign",
            "- ☐ sign in a list",
            "2.1 [ ] no bullet",
            "- 2.1 [ ] behind the id",
            "**[ ]** bold",
            "T001 [ ] id",
            "Step 2: [ ] step",
        ];
        for line in lines {
            let said = listed(&format!("- [x] 1.1 a\n\n## More\n{line}\n"));
            assert!(
                said.contains(&format!("4: Warning: `{line}` looks like a box")),
                "{line}: {said}"
            );
        }
        for line in
            ["> - [x] done", "see [ ] there", "| a | b |", "### [x] heading", "arr1[] x", "☑ done"]
        {
            assert_eq!(listed(&format!("- [x] 1.1 a\n\n## More\n{line}\n")), "", "{line}");
        }
        let text = "- [ ] 1.1 a\n  - **Verify**: `make`\n  > - [ ] quoted\n";
        assert!(!listed(text).contains("looks like"), "text of a task");
    }

    #[test]
    fn boxes_behind_a_fence_without_an_end_are_named() {
        let said = listed("- [x] 1.1 a\n\n```sh\nmake\n\n- [ ] 1.2 b\n- [ ] 1.3 c\n");
        insta::assert_snapshot!(said, @"6: Warning: `- [ ] 1.2 b` and 1 more: line 3 begins a block that has no end, so nobody works on them: close it");
        assert_eq!(listed("- [x] 1.1 a\n```sh\nmake\n"), "", "nothing is hidden");
        assert_eq!(listed("- [x] 1.1 a\n```sh\n- [ ] x\n```\n"), "", "it is closed");
        assert!(listed("- [x] 1.1 a\n<!--\n- [ ] 1.2 b\n").contains("line 2 begins a block"));
    }

    #[test]
    fn an_id_that_is_taken_is_an_error_only_while_one_of_them_is_open() {
        let of = |marks: [&str; 2]| {
            let text = format!("- [{}] 1.1 a\n- [{}] 1.1 b\n", marks[0], marks[1]);
            let findings = listed(&text);
            let taken = findings.lines().find(|found| found.contains("is taken"))?;
            taken.split(": ").nth(1).map(str::to_owned)
        };
        assert_eq!(of(["x", "x"]), Some("Warning".into()));
        assert_eq!(of(["x", " "]), Some("Error".into()));
        assert_eq!(of([" ", "x"]), Some("Error".into()));
    }
}
