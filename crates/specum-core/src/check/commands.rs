//! What the lint says about the Verify fields: what is not run, what cannot
//! fail, and what cannot be started.

use super::Severity;
use crate::tasks::{Command, Fields, Lookup, Program, Task, TaskFile};

/// Everything worth fixing in the Verify fields of a task.
pub(super) fn findings(
    file: &TaskFile<'_>,
    task: &Task,
    fields: &Fields,
    lookup: Lookup<'_>,
) -> Vec<(Severity, String)> {
    let Some(check) = &fields.verify else { return Vec::new() };
    let name = task.name();
    let commands = check.commands(lookup);
    let mut found = Vec::new();
    let mut warn = |message: String| found.push((Severity::Warning, message));
    let not_run = check.not_run(lookup);
    if commands.is_empty() && not_run.is_empty() {
        warn(format!(
            "{name}: Verify has no command in backticks, so nothing will be run: unverified"
        ));
    } else if commands.is_empty() {
        let named = not_run.join(", ");
        warn(format!("{name}: Verify names no program ({named}), so nothing is run: unverified"));
    } else if !not_run.is_empty() {
        let named = not_run.join(", ");
        warn(format!("{name}: {named} in Verify will not be run; put a command in its place"));
    }
    for command in &commands {
        warnings(command).into_iter().for_each(|message| warn(format!("{name}: {message}")));
    }
    if !task.done {
        let missing = missing(file, &commands, lookup);
        found.extend(missing.into_iter().map(|why| (Severity::Error, format!("{name}: {why}"))));
    }
    found
}

fn warnings(command: &Command) -> Vec<String> {
    let head = command.head();
    let mut found = Vec::new();
    if let Some(part) = command.never_fails() {
        let because =
            if part == head { String::new() } else { format!(", because `{part}` does not") };
        found.push(format!("`{head}` cannot fail{because}: the task counts as unverified"));
    }
    for line in command.lines_that_do_not_stop() {
        found.push(format!(
            "the block goes on when `{line}` fails; write `if …; then exit 1; fi` or put it last"
        ));
    }
    if let Some(words) = command.unread() {
        found.push(format!(
            "\"{words}\" behind `{head}` is not read as an expectation; its exit code counts"
        ));
    }
    if command.is_by_exit_code() {
        found.push(format!(
            "\"returns 0\" behind `{head}` is taken for the exit code; write \"prints 0\" to \
             compare what it prints"
        ));
    }
    if let Some(word) = command.bash_word() {
        found.push(format!(
            "`{word}` is known to bash alone, and `{head}` is run by sh; put it in a ```bash block"
        ));
    }
    found
}

/// Why commands cannot be started, now or once the plan is worked. Of commands
/// that make up for each other one is enough.
fn missing(file: &TaskFile<'_>, commands: &[Command], lookup: Lookup<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let groups = commands.chunk_by(|_, next| next.instead);
    for group in groups {
        let why: Vec<String> =
            group.iter().filter_map(|command| cannot_start(file, command, lookup)).collect();
        if why.len() == group.len() {
            found.extend(why);
        }
    }
    found
}

fn cannot_start(file: &TaskFile<'_>, command: &Command, lookup: Lookup<'_>) -> Option<String> {
    if !command.stands_alone() {
        return None;
    }
    let programs = command.programs();
    programs.iter().find_map(|program| {
        let is_below = program.contains('/') && !program.starts_with('/');
        let why = match lookup(program) {
            Program::Found => return None,
            // Whatever lies below the project may be built there.
            Program::Missing if is_below => return None,
            Program::Missing if program.contains('/') => "there is no such file",
            Program::Missing => "it is not on PATH",
            Program::NotExecutable => "it cannot be started",
        };
        (!is_made_by_a_task(file, program)).then(|| {
            format!(
                "Verify runs `{}`, and `{program}` is no program: {why}, and no task makes it. \
                 Correct the command, or install the program",
                command.head()
            )
        })
    })
}

/// Whether a task names a program among its files, or says that it installs it.
fn is_made_by_a_task(file: &TaskFile<'_>, program: &str) -> bool {
    let path = program.trim_start_matches("./");
    file.tasks.iter().any(|task| {
        let names = |file: &String| {
            file == path
                || file.strip_suffix(path).is_some_and(|above| above.ends_with('/'))
                || path
                    .strip_prefix(file.as_str())
                    .is_some_and(|rest| file.ends_with('/') || rest.starts_with('/'))
        };
        file.fields(task).files.iter().any(names) || is_installed_by(file.block(task), program)
    })
}

/// Whether a line of a task says `install` and the program's name.
fn is_installed_by(block: &[u8], program: &str) -> bool {
    let text = String::from_utf8_lossy(block);
    text.lines().filter(|line| line.to_ascii_lowercase().contains("install")).any(|line| {
        let is_part = |c: char| c.is_alphanumeric() || "-_.".contains(c);
        line.split(|c: char| !is_part(c)).any(|word| word.trim_end_matches('.') == program)
    })
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    /// The findings about one task's Verify, on a machine with a few programs.
    fn found(verify: &str) -> String {
        found_with(verify, "")
    }

    fn found_with(verify: &str, more: &str) -> String {
        let text = format!(
            "- [ ] 1.1 a\n  - **Do**: x\n  - **Files**: a\n  - **Done when**: y\n  \
             - **Verify**: {verify}\n  - **Commit**: None\n{more}"
        );
        let lookup = |name: &str| match name {
            "make" | "npm" | "grep" | "tee" | "id" | "bash" => Program::Found,
            "docs/a.md" => Program::NotExecutable,
            _ => Program::Missing,
        };
        let findings = check(&TaskFile::scan(text.as_bytes()), &lookup);
        let own = findings.into_iter().filter(|finding| finding.line == 1);
        own.map(|finding| format!("{:?}: {}\n", finding.severity, finding.message)).collect()
    }

    #[test]
    fn what_is_not_run_is_named() {
        insta::assert_snapshot!(found("check that `README.md` mentions it"), @"Warning: 1.1: Verify names no program (`README.md`), so nothing is run: unverified");
        insta::assert_snapshot!(found("`make` passes and `out/a.txt` is there"), @"Warning: 1.1: `out/a.txt` in Verify will not be run; put a command in its place");
        insta::assert_snapshot!(found("`make`\n    ```json\n    {}\n    ```"), @"Warning: 1.1: the `json` block in Verify will not be run; put a command in its place");
        insta::assert_snapshot!(found("look at it"), @"Warning: 1.1: Verify has no command in backticks, so nothing will be run: unverified");
        assert_eq!(found("`make` && `make test`; `npm test` passes"), "");
    }

    #[test]
    fn what_does_not_mean_what_it_seems_to_is_named() {
        insta::assert_snapshot!(found("`make | tee log`"), @"Warning: 1.1: `make | tee log` cannot fail, because `tee log` does not: the task counts as unverified");
        insta::assert_snapshot!(found("`npm test` shows 3 passing"), @r#"Warning: 1.1: "shows 3 passing" behind `npm test` is not read as an expectation; its exit code counts"#);
        insta::assert_snapshot!(found("`npm test` returns 0"), @r#"Warning: 1.1: "returns 0" behind `npm test` is taken for the exit code; write "prints 0" to compare what it prints"#);
        insta::assert_snapshot!(found("`source env && make`"), @"Warning: 1.1: `source` is known to bash alone, and `source env && make` is run by sh; put it in a ```bash block");
        insta::assert_snapshot!(found("\n    ```sh\n    ! grep x y\n    make\n    ```"), @"Warning: 1.1: the block goes on when `! grep x y` fails; write `if …; then exit 1; fi` or put it last");
        assert_eq!(found("`make | tee log | grep -c x` returns 0"), "");
        assert_eq!(found("\n    ```bash\n    source env\n    make\n    ```"), "");
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error_unless_a_task_makes_it() {
        insta::assert_snapshot!(found("`mkae test`"), @"Error: 1.1: Verify runs `mkae test`, and `mkae` is no program: it is not on PATH, and no task makes it. Correct the command, or install the program");
        insta::assert_snapshot!(found("`docs/a.md`"), @"Error: 1.1: Verify runs `docs/a.md`, and `docs/a.md` is no program: it cannot be started, and no task makes it. Correct the command, or install the program");
        assert!(found("`/no/such x`").contains("there is no such file"));
        assert!(found("`make && mkae`").starts_with("Error"), "every part of a list");
        assert!(found("\n    ```sh\n    mkae\n    ```").starts_with("Error"), "a block");
        assert_eq!(found("`./build/tool --help`"), "", "it may be built");
        assert_eq!(found("`mkae` or `make`"), "", "one of two is enough");
        assert!(found("`mkae` or `mkea`").starts_with("Error"));
        assert_eq!(found_with("`mkae`", "- [ ] 1.2 b\n  - **Files**: bin/mkae\n"), "");
        assert_eq!(found_with("`docs/a.md`", "- [ ] 1.2 b\n  - **Files**: docs/\n"), "");
        assert_eq!(found_with("`mkae`", "- [ ] 1.2 Install mkae.\n"), "");
    }
}
