//! The rules of the checks: can each be run, can it fail, and did it fail before the
//! work?

use std::collections::BTreeSet;

use super::tasks::{Planned, open};
use super::{Facts, Findings, Look, Manifest, Rule};
use crate::spec::red::{self, FirstRun};
use crate::tasks::{Command, Mode, Program};

pub(super) fn judge(
    planned: &[Planned<'_>],
    facts: &Facts<'_>,
    is_linked: bool,
    findings: &mut Findings<'_>,
) {
    let mut made: BTreeSet<&str> = BTreeSet::new();
    for one in planned {
        made.extend(one.fields.files.iter().map(String::as_str));
        if one.task.done {
            continue;
        }
        if is_linked {
            is_there(one, findings);
        }
        can_fail(one, findings);
        for command in &one.commands {
            can_run(one, command, &made, facts, findings);
            is_everywhere(one, command, facts, findings);
        }
        before(one, &made, facts, findings);
    }
    guards(planned, findings);
}

/// Every task has a command.
fn is_there(one: &Planned<'_>, findings: &mut Findings<'_>) {
    let (name, line) = (one.task.name(), one.task.line);
    let fix = "add `- **Verify**: `command``, which fails until the task is done";
    match &one.fields.verify {
        None => findings.add(Rule::VerifyMissing, line, format!("{name} has no Verify"), fix),
        Some(_) if one.commands.is_empty() => {
            let message = format!("{name}: Verify has no command");
            findings.add(Rule::VerifyProse, line, message, fix);
        }
        Some(_) => {}
    }
}

/// A check of which no command can fail proves nothing.
fn can_fail(one: &Planned<'_>, findings: &mut Findings<'_>) {
    let never: Vec<Option<String>> = one.commands.iter().map(cannot_fail).collect();
    if never.is_empty() || never.iter().any(Option::is_none) {
        return;
    }
    if let Some(Some(part)) = never.last() {
        let message = format!("{}: `{part}` succeeds whatever happens", one.task.name());
        let fix = "compare what it prints: `test \"$(…)\" = …`, `jq -e`, `grep -q`";
        findings.add(Rule::VerifyCannotFail, one.task.line, message, fix);
    }
}

/// The part of a command that keeps it from failing.
fn cannot_fail(command: &Command) -> Option<String> {
    if command.expect.is_some() {
        return None;
    }
    command.never_fails().or_else(|| loop_of_words(command)).or_else(|| {
        let calls = command.calls()?;
        let last = calls.last().filter(|words| words.first().is_some_and(|word| word == "jq"))?;
        let options: Vec<&String> = last[1..].iter().filter(|word| word.starts_with('-')).collect();
        let decides = |word: &&String| {
            *word == "--exit-status" || (!word.starts_with("--") && word.contains('e'))
        };
        // `jq . file` and `jq empty file` fail if it is no JSON.
        let filter = last[1..].iter().find(|word| !word.starts_with('-'))?;
        let asks = !matches!(filter.as_str(), "." | "empty" | "type");
        (asks && !options.iter().any(decides)).then(|| last.join(" "))
    })
}

/// A loop that only says something, and so succeeds whatever it finds.
fn loop_of_words(command: &Command) -> Option<String> {
    let text = crate::line::readable(&command.text);
    let text = text.trim();
    let is_loop = ["for ", "while ", "until "].iter().any(|word| text.starts_with(word));
    let (_, body) = text.strip_suffix("done")?.split_once("do")?;
    let mut said = body.split([';', '\n']).map(str::trim).filter(|part| !part.is_empty());
    let says = |part: &str| part.starts_with("echo ") || part.starts_with("printf ");
    let only_words = body.starts_with(char::is_whitespace) && said.all(says);
    (is_loop && only_words && !body.contains("&&")).then(|| crate::line::head(text, 60).to_owned())
}

/// A command is read by the shell, and what it names is there.
fn can_run(
    one: &Planned<'_>,
    command: &Command,
    made: &BTreeSet<&str>,
    facts: &Facts<'_>,
    findings: &mut Findings<'_>,
) {
    let (name, line, head) = (one.task.name(), one.task.line, command.head());
    if findings.wants(Rule::VerifySyntax)
        && let Some(why) = (facts.syntax)(command)
    {
        let message = format!("{name}: the shell cannot read `{head}`: {why}");
        findings.add(Rule::VerifySyntax, line, message, "correct it; `sh -n` says the same");
    }
    for program in command.programs() {
        let path = program.trim_start_matches("./");
        let is_made = made.iter().any(|made| *made == path || made.ends_with(&format!("/{path}")));
        let is_below = program.contains('/') && !program.starts_with('/');
        if is_made || (facts.lookup)(&program) == Program::Found {
            continue;
        }
        if !is_below || (facts.look)(path) == Look::Missing {
            let message = format!("{name}: `{program}` is no program, and no task makes it");
            let fix = "correct the name, or let an earlier task make it";
            findings.add(Rule::VerifyProgram, line, message, fix);
        }
    }
    for words in command.calls().unwrap_or_default() {
        let Some((manifest, target)) = target(&words) else { continue };
        let file = manifest_file(manifest);
        let is_made = made.iter().any(|path| path.rsplit('/').next() == Some(file));
        let known = (facts.targets)(manifest).filter(|_| !is_made);
        if known.is_some_and(|known| !known.contains(target)) {
            let message = format!("{name}: {file} has no `{target}`");
            let fix = format!("name one that it has, or let an earlier task change {file}");
            findings.add(Rule::VerifyTarget, line, message, fix);
        }
    }
}

fn manifest_file(manifest: Manifest) -> &'static str {
    match manifest {
        Manifest::Npm => "package.json",
        Manifest::Make => "Makefile",
        Manifest::Just => "justfile",
        Manifest::Cargo => "Cargo.toml",
    }
}

/// The script, target or package that a simple command names.
fn target(words: &[String]) -> Option<(Manifest, &str)> {
    let plain = |word: &&String| !word.starts_with('-') && !word.contains(['=', '$', '/']);
    let (program, arguments) = words.split_first()?;
    let behind = |flags: &[&str]| {
        let at = arguments.iter().position(|word| flags.contains(&word.as_str()))?;
        arguments.get(at + 1).filter(plain)
    };
    let first = || arguments.first().filter(plain);
    match program.as_str() {
        "npm" | "pnpm" | "yarn" => Some((Manifest::Npm, behind(&["run", "run-script"])?)),
        "make" => Some((Manifest::Make, first()?)),
        "just" => Some((Manifest::Just, first()?)),
        "cargo" => Some((Manifest::Cargo, behind(&["-p", "--package"])?)),
        _ => None,
    }
}

/// Where a path leads to another place on every machine.
const MACHINE: &[&str] =
    &["/home/", "/Users/", "/root/", "/tmp/", "/private/", "/var/folders/", "~/", "$HOME", "C:\\"];

/// A command works on every machine, ends by itself, and looks at the work instead of the
/// plan.
fn is_everywhere(
    one: &Planned<'_>,
    command: &Command,
    facts: &Facts<'_>,
    findings: &mut Findings<'_>,
) {
    let (name, line, head) = (one.task.name(), one.task.line, command.head());
    let text = crate::line::readable(&command.text);
    let words = || text.split(|c: char| c.is_whitespace() || "'\"()=<>|;&`".contains(c));
    if let Some(word) = words().find(|word| MACHINE.iter().any(|place| word.starts_with(place))) {
        let message = format!("{name}: `{word}` is a path of one machine");
        let fix = "use a path below the project, or `mktemp`";
        findings.add(Rule::VerifyMachinePath, line, message, fix);
    }
    let calls = command.calls().unwrap_or_default();
    let goes_on = calls.iter().any(|words| goes_on(words));
    let is_left = text.trim_end().ends_with('&') && !text.trim_end().ends_with("&&");
    if goes_on || is_left {
        let message = format!("{name}: `{head}` does not end by itself");
        findings.add(Rule::VerifyOpenEnded, line, message, "use the form that runs once and ends");
    }
    let names_own = |word: &str| {
        let word = word.trim_start_matches("./");
        !facts.folder.is_empty()
            && (word == facts.folder
                || word.strip_prefix(facts.folder).is_some_and(|rest| rest.starts_with('/')))
    };
    if words().any(names_own) {
        let message = format!("{name}: `{head}` looks at the spec's own documents");
        findings.add(Rule::VerifySelf, line, message, "check the work, not the plan");
    }
}

/// Whether a simple command is a server, or waits for changes.
fn goes_on(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let watches = words.iter().any(|word| matches!(*word, "--watch" | "--watchAll" | "--serve"));
    let starts = matches!(
        words.as_slice(),
        ["npm" | "pnpm" | "yarn", "start", ..]
            | ["npm" | "pnpm" | "yarn", "run", "dev" | "start" | "serve", ..]
            | ["tail", "-f", ..]
            | ["sleep", "infinity"]
            | ["python" | "python3", "-m", "http.server", ..]
    );
    watches || starts
}

/// What the check did before the work.
fn before(
    one: &Planned<'_>,
    made: &BTreeSet<&str>,
    facts: &Facts<'_>,
    findings: &mut Findings<'_>,
) {
    let (name, line) = (one.task.name(), one.task.line);
    match facts.first_runs.get(&name) {
        Some(FirstRun::Green) if !is_guard(one) => {
            let message = format!("{name}: the check passes before the work, so it proves nothing");
            let fix = "check what the task changes; or say `(green before: why)` behind it";
            findings.add(Rule::VerifyGreen, line, message, fix);
        }
        Some(FirstRun::Broken(why)) if !waits_for_work(one, made, facts) => {
            let message = format!("{name}: the check fails because it cannot be run: {why}");
            findings.add(Rule::VerifyBroken, line, message, "correct the command");
        }
        _ => {}
    }
}

/// Whether a check cannot be run only because a file is not there that a task makes:
/// `sh -n src/new.sh`.
fn waits_for_work(one: &Planned<'_>, made: &BTreeSet<&str>, facts: &Facts<'_>) -> bool {
    let is_made =
        |path: &String| made.contains(path.as_str()) && (facts.look)(path) == Look::Missing;
    one.commands.iter().flat_map(Command::paths).any(|path| is_made(&path))
}

/// Whether a check may pass before the work: it keeps something as it is.
fn is_guard(one: &Planned<'_>) -> bool {
    red::may_be_green(one.task, &one.links)
}

/// Guards are for what stays as it is. Most work changes something.
fn guards(planned: &[Planned<'_>], findings: &mut Findings<'_>) {
    let work = || open(planned).filter(|one| one.task.mode() != Mode::Verify);
    let said: Vec<&Planned<'_>> = work().filter(|one| one.links.green_before.is_some()).collect();
    let count = work().count();
    if let Some(first) = said.first().filter(|_| said.len() > 1 && said.len() * 3 > count) {
        let message = format!("{} of {count} tasks have a check that is green before", said.len());
        let fix = "give those that change something a check that fails now";
        let severity = crate::check::Severity::Warning;
        findings.add_as(Rule::VerifyGreen, severity, first.task.line, message, fix);
    }
}
