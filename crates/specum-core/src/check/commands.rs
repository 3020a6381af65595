//! What the lint says about the Verify fields: what is not run, what cannot
//! fail, and what cannot be started.

use std::cell::OnceCell;
use std::collections::HashSet;

use super::{Severity, Surroundings};
use crate::line;
use crate::suite::{self, Origin};
use crate::tasks::{Command, Fields, Lookup, Program, Task, TaskFile};

/// Everything worth fixing in the Verify fields of a task.
pub(super) fn findings(
    task: &Task,
    fields: &Fields,
    made: &MadeFiles<'_>,
    around: Surroundings<'_>,
) -> Vec<(Severity, String)> {
    let Some(check) = &fields.verify else { return Vec::new() };
    let (name, lookup) = (task.name(), around.lookup);
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
    let is_proved = commands.iter().any(|command| command.never_fails().is_none());
    for command in &commands {
        warnings(command, is_proved)
            .into_iter()
            .for_each(|message| warn(format!("{name}: {message}")));
    }
    if !task.done {
        let missing = missing(&commands, made, lookup);
        let unread = commands.iter().filter_map(|command| unreadable(command, around));
        let errors = missing
            .into_iter()
            .map(|why| format!("{name}: Verify {why}"))
            .chain(unread.map(|why| format!("{name}: {why}")).collect::<Vec<_>>());
        found.extend(errors.map(|message| (Severity::Error, message)));
    }
    found
}

/// Why the checks of the whole plan cannot be run, each at its line of the plan, or at the
/// first if it does not stand there.
pub(super) fn findings_of_suite(
    file: &TaskFile<'_>,
    made: &MadeFiles<'_>,
    around: Surroundings<'_>,
) -> Vec<(usize, String)> {
    if file.open().next().is_none() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for key in [suite::VERIFY, suite::VERIFY_ALL] {
        let origin = around.suite.origin(key, file.text());
        let line = if let Origin::FrontMatter(line) = origin { line } else { 1 };
        for command in suite::commands(around.suite.of_key(key)) {
            let whose = origin.shown(key);
            let cannot_start =
                cannot_start(&command, made, around.lookup).map(|why| format!("{whose} {why}"));
            let unread = unreadable(&command, around).map(|why| format!("{whose}: {why}"));
            found.extend(cannot_start.into_iter().chain(unread).map(|message| (line, message)));
        }
    }
    found
}

/// Why a shell cannot read a command.
fn unreadable(command: &Command, around: Surroundings<'_>) -> Option<String> {
    let why = (around.syntax)(command)?;
    Some(format!("a shell cannot read `{}`: {why}. Correct the command", command.head()))
}

/// Why a check cannot be run, whatever an attempt does: a program of it is missing that
/// no task of the plan makes.
pub fn cannot_run(
    file: &TaskFile<'_>,
    command: &Command,
    around: Surroundings<'_>,
) -> Option<String> {
    let made = MadeFiles::by(file);
    let whose = match command.suite {
        true => around.suite.whose(command, file.text()),
        false => "its check".to_owned(),
    };
    cannot_start(command, &made, around.lookup)
        .map(|why| format!("{whose} {why}"))
        .or_else(|| Some(format!("{whose}: {}", unreadable(command, around)?)))
}

/// `is_proved` if another command of the check can fail.
fn warnings(command: &Command, is_proved: bool) -> Vec<String> {
    let head = command.head();
    let mut found = Vec::new();
    let never_fails = command.never_fails();
    if never_fails.is_none() {
        found.extend(command.pipes_that_go_on().into_iter().map(|pipe| {
            format!("the block goes on when a part of `{pipe}` fails, unless the last part does")
        }));
    }
    if let Some(part) = never_fails {
        let because =
            if part == head { String::new() } else { format!(", because `{part}` does not") };
        let so = if is_proved { "it proves nothing" } else { "the task counts as unverified" };
        found.push(format!("`{head}` cannot fail{because}: {so}"));
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
fn missing(commands: &[Command], made: &MadeFiles<'_>, lookup: Lookup<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let groups = commands.chunk_by(|_, next| next.instead);
    for group in groups {
        let why: Vec<String> =
            group.iter().filter_map(|command| cannot_start(command, made, lookup)).collect();
        if why.len() == group.len() {
            found.extend(why);
        }
    }
    found
}

fn cannot_start(command: &Command, made: &MadeFiles<'_>, lookup: Lookup<'_>) -> Option<String> {
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
        (!made.holds(program)).then(|| {
            format!(
                "runs `{}`, and `{program}` is no program: {why}, and no task makes it. \
                 Correct the command, or install the program",
                command.head()
            )
        })
    })
}

/// What the tasks of a plan make, gathered once it is asked for.
pub(super) struct MadeFiles<'f> {
    file: &'f TaskFile<'f>,
    names: OnceCell<HashSet<String>>,
}

impl<'f> MadeFiles<'f> {
    pub(super) fn by(file: &'f TaskFile<'f>) -> MadeFiles<'f> {
        MadeFiles { file, names: OnceCell::new() }
    }

    /// Whether a task names a program among its files, alone or by a folder
    /// above it, or says that it installs it.
    fn holds(&self, program: &str) -> bool {
        let names = self.names.get_or_init(|| made_names(self.file));
        let path = program.trim_start_matches("./");
        let mut above = path.match_indices('/').map(|(at, _)| &path[..at]);
        names.contains(path) || above.any(|folder| names.contains(folder))
    }
}

/// The files that tasks name, each also by its last part, and the words of the
/// lines that say `install`.
fn made_names(file: &TaskFile<'_>) -> HashSet<String> {
    let mut names = HashSet::new();
    for task in &file.tasks {
        for path in file.fields(task).files {
            let path = path.trim_end_matches('/');
            names.extend(path.rsplit('/').next().map(str::to_owned));
            names.insert(path.to_owned());
        }
        let text = line::readable(file.block(task));
        for line in text.lines().filter(|line| line.to_ascii_lowercase().contains("install")) {
            let is_part = |c: char| c.is_alphanumeric() || "-_.".contains(c);
            let words = line.split(|c: char| !is_part(c)).map(|word| word.trim_end_matches('.'));
            names.extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
        }
    }
    names
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
        let suite = suite::in_plan(text.as_bytes()).0;
        let syntax = |command: &Command| {
            command.text.ends_with(b"&&").then(|| "unexpected end of file".to_owned())
        };
        let around = Surroundings { lookup: &lookup, suite: &suite, syntax: &syntax };
        let findings = check(&TaskFile::scan(text.as_bytes()), around);
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
        insta::assert_snapshot!(found("`make | tee log`, `make test`"), @"Warning: 1.1: `make | tee log` cannot fail, because `tee log` does not: it proves nothing");
        insta::assert_snapshot!(found("`npm test` shows 3 passing"), @r#"Warning: 1.1: "shows 3 passing" behind `npm test` is not read as an expectation; its exit code counts"#);
        insta::assert_snapshot!(found("`npm test` returns 0"), @r#"Warning: 1.1: "returns 0" behind `npm test` is taken for the exit code; write "prints 0" to compare what it prints"#);
        insta::assert_snapshot!(found("`source env && make`"), @"Warning: 1.1: `source` is known to bash alone, and `source env && make` is run by sh; put it in a ```bash block");
        insta::assert_snapshot!(found("\n    ```sh\n    ! grep x y\n    make\n    ```"), @"Warning: 1.1: the block goes on when `! grep x y` fails; write `if …; then exit 1; fi` or put it last");
        insta::assert_snapshot!(found("\n    ```sh\n    make | tee log\n    make\n    ```"), @"Warning: 1.1: the block goes on when a part of `make | tee log` fails, unless the last part does");
        insta::assert_snapshot!(found("`(cd web && make) | tee log`"), @"Warning: 1.1: `(cd web && make) | tee log` cannot fail, because `tee log` does not: the task counts as unverified");
        insta::assert_snapshot!(found("`make test` exits non-zero"), @r#"Warning: 1.1: "exits non-zero" behind `make test` is not read as an expectation; its exit code counts"#);
        assert_eq!(found("`make | tee log | grep -c x` returns 0"), "");
        assert_eq!(found("\n    ```bash\n    source env\n    make\n    ```"), "");
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error_unless_a_task_makes_it() {
        insta::assert_snapshot!(found("`mkae test`"), @"Error: 1.1: Verify runs `mkae test`, and `mkae` is no program: it is not on PATH, and no task makes it. Correct the command, or install the program");
        insta::assert_snapshot!(found("`docs/a.md`"), @"Error: 1.1: Verify runs `docs/a.md`, and `docs/a.md` is no program: it cannot be started, and no task makes it. Correct the command, or install the program");
        insta::assert_snapshot!(found("`make &&`"), @"Error: 1.1: a shell cannot read `make &&`: unexpected end of file. Correct the command");
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
