//! What counts as done: evidence in, verdict out.
//!
//! Five layers look at the same attempt. All are evaluated and all failures are
//! reported together, so that the next attempt sees all of them at once.

mod outcome;
mod proof;
mod telling;

use std::fmt;

use crate::completion;
use crate::line;
use crate::spec::Doc;
use crate::tasks::{Command, Expectation};
use serde::{Deserialize, Serialize};

pub use self::outcome::CheckOutcome;
pub use self::proof::proofs;
pub use self::telling::telling;

/// Who was asked, and so what is to be said at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// `spec-executor`: `TASK_COMPLETE`.
    Executor,
    /// `qa-engineer`: `VERIFICATION_PASS`.
    QaEngineer,
    /// Writes a document of the plan. The gate judges it, whatever its author says.
    Author(Doc),
}

impl Role {
    /// The word that ends a successful attempt.
    pub fn signal(self) -> &'static str {
        match self {
            Role::Executor | Role::Author(_) => completion::TASK_COMPLETE,
            Role::QaEngineer => completion::VERIFICATION_PASS,
        }
    }
}

/// What is known about an attempt when it ends.
#[derive(Debug, Clone)]
pub struct Evidence<'a> {
    /// Who worked.
    pub role: Role,
    /// What was said at the end.
    pub result: &'a str,
    /// What became of the Verify command.
    pub check: CheckRun,
    /// The paths the task names.
    pub files: &'a [String],
    /// The paths the attempt changed, the spec's own files left out.
    pub changed: &'a [String],
    /// Those of them that were there before and that the check rests on.
    pub proofs: &'a [String],
    /// What is left once specum has committed.
    pub commit: CommitRun,
}

/// What became of the commands of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckRun {
    /// The task has none, or words only.
    Unverified,
    /// They ran, in this order. The last one is the first that failed, if one
    /// did and nothing made up for it.
    Ran(Vec<CommandRun>),
}

/// What became of one command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRun {
    /// How long the whole check had.
    pub time: CheckTime,
    /// The command, and what it is to print.
    pub command: Command,
    /// How it ended.
    pub ended: ProcessEnd,
    /// What its standard output and error ended with.
    pub output: String,
    /// The end of its standard output.
    pub stdout: String,
    /// Whether the beginning of that is gone.
    pub cut: bool,
    /// How long it took.
    #[serde(default)]
    pub millis: u64,
}

impl CheckRun {
    /// Runs the commands of a check until one has failed for good: `run` runs
    /// one of them.
    pub fn of(commands: Vec<Command>, mut run: impl FnMut(Command) -> CommandRun) -> CheckRun {
        let mut runs: Vec<CommandRun> = Vec::new();
        let mut failed = false;
        for command in commands {
            // An alternative is for one that failed, and nothing else is run
            // behind that.
            if command.instead != failed && !runs.is_empty() {
                if failed {
                    break;
                }
                continue;
            }
            let done = run(command);
            failed = done.failure().is_some();
            runs.push(done);
        }
        if runs.is_empty() { CheckRun::Unverified } else { CheckRun::Ran(runs) }
    }

    /// Whether it is these commands that have passed: all of them but for alternatives
    /// that nobody needed.
    pub fn is_of(&self, commands: &[Command]) -> bool {
        let runs = match self {
            CheckRun::Unverified => &[][..],
            CheckRun::Ran(runs) => runs,
        };
        let was_run = |command: &Command| runs.iter().any(|run| run.command == *command);
        runs.iter().all(|run| commands.contains(&run.command))
            && commands.iter().all(|command| command.instead || was_run(command))
    }

    /// What work rests on that has passed it: on the commands that could have failed.
    fn proof(&self) -> Proof {
        let CheckRun::Ran(runs) = self else { return Proof::None };
        let proves =
            |run: &&CommandRun| run.failure().is_none() && run.command.never_fails().is_none();
        let proving: Vec<&CommandRun> = runs.iter().filter(proves).collect();
        match proving.as_slice() {
            [] => Proof::None,
            proving if proving.iter().all(|run| run.command.suite) => Proof::Suite,
            _ => Proof::Check,
        }
    }

    /// Whether a check of the whole plan is what has failed.
    pub fn fails_by_suite(&self) -> bool {
        let CheckRun::Ran(runs) = self else { return false };
        runs.last().is_some_and(|run| run.command.suite && run.failure().is_some())
    }

    /// What the commands printed; of several, each under its own line.
    pub fn output(&self) -> String {
        match self {
            CheckRun::Unverified => String::new(),
            CheckRun::Ran(runs) => match runs.as_slice() {
                [run] => run.output.clone(),
                runs => runs
                    .iter()
                    .map(|run| format!("$ {}\n{}\n", run.command.head(), run.output.trim_end()))
                    .collect(),
            },
        }
    }
}

/// How long the commands of a check may take together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckTime {
    /// In milliseconds.
    pub millis: u64,
    /// Whether a person has set more: a host does not wait longer for its hook.
    cut_by_host: bool,
}

impl CheckTime {
    /// Unless a person says otherwise: a cold build in a new worktree.
    const DEFAULT: u64 = 30 * 60_000;
    /// The same in a hook, which judges all tasks of a batch one after the other.
    const DEFAULT_IN_HOOK: u64 = 480_000;
    /// Well under the hour that hosts are asked to give a hook.
    const MOST_IN_HOOK: u64 = 50 * 60_000;

    /// For a run, or a verb; `set` is what a person has set.
    pub fn new(set: Option<u64>) -> CheckTime {
        CheckTime { millis: set.unwrap_or(CheckTime::DEFAULT), cut_by_host: false }
    }

    /// For a hook.
    pub fn in_hook(set: Option<u64>) -> CheckTime {
        let millis = set.unwrap_or(CheckTime::DEFAULT_IN_HOOK).min(CheckTime::MOST_IN_HOOK);
        CheckTime { millis, cut_by_host: set.is_some_and(|set| set > millis) }
    }

    /// Why a command was ended by it.
    fn is_over(self, command: &str) -> String {
        let time = match self.millis {
            millis if millis < 1000 => format!("{millis} milliseconds"),
            millis => format!("{} seconds", millis / 1000),
        };
        let whose = if self.cut_by_host {
            "a hook's check has in this host, whatever verify_timeout says; `specum run` waits longer"
        } else {
            "a check has; verify_timeout in the settings gives it more"
        };
        format!("`{command}` did not end within {time}, which is what {whose}")
    }
}

impl CommandRun {
    /// Why it has failed, if it has.
    pub fn failure(&self) -> Option<String> {
        let command = self.command.head();
        match (&self.ended, &self.command.expect) {
            (ProcessEnd::TimedOut(_), _) => Some(self.time.is_over(&command)),
            (ProcessEnd::NotStarted(why), _) => {
                Some(format!("`{command}` could not be started: {why}"))
            }
            (ProcessEnd::Signal(signal), _) => {
                Some(format!("`{command}` was ended by signal {signal}"))
            }
            (ProcessEnd::Code(code), Some(wanted)) => self.misprint(*code, wanted),
            (ProcessEnd::Code(0), None) => None,
            (ProcessEnd::Code(code), None) => Some(format!("`{command}` ended with code {code}")),
        }
    }

    /// Why an output is not what was asked for. The exit code does not matter
    /// beside a number, but a command that broke off has not printed nothing.
    fn misprint(&self, code: i32, wanted: &Expectation) -> Option<String> {
        let command = self.command.head();
        if self.cut {
            return Some(format!(
                "`{command}` should print {wanted} and printed more than is kept, so it cannot be \
                 compared"
            ));
        }
        if !wanted.holds(&self.stdout) {
            let printed = line::head(self.stdout.trim(), 80);
            return Some(format!("`{command}` should print {wanted} and printed \"{printed}\""));
        }
        let found_nothing = code == 0 || (code == 1 && self.output.trim().is_empty());
        (*wanted == Expectation::Nothing && !found_nothing).then(|| {
            format!("`{command}` printed nothing, as it should, but ended with code {code}")
        })
    }
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProcessEnd {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Not within this many seconds; it was killed.
    TimedOut(u64),
    /// It never began.
    NotStarted(String),
}

/// What is left once specum has committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitRun {
    /// There is no repository, or the commit is still to come.
    NotApplicable,
    /// These paths of the attempt are still uncommitted.
    Left(Vec<String>),
    /// The commit was refused, in git's own words.
    Refused(String),
    /// These are reasons why some of the attempt's work cannot be committed; it
    /// was not tried.
    Cannot(Vec<String>),
}

/// What the tick of a task rests on. Shown and written as one word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// Nothing could be run that could have failed.
    #[default]
    None,
    /// The checks of the whole plan, and none of its own.
    Suite,
    /// A check of its own, of which nobody knows what it did before the work.
    Check,
    /// A check of its own that failed before the work.
    RedGreen,
    /// A check of its own that failed when the plan was written, and passed already when
    /// the work began.
    Earlier,
    /// A check of its own that passed before the work already.
    GreenBefore,
    /// A check of its own that may pass before the work: it keeps something as it is.
    Guard,
    /// A word of another version.
    #[serde(other)]
    Unknown,
}

impl Proof {
    /// What a record says: older ones knew only whether there was any.
    pub fn on_record(proof: Option<Proof>, unverified: bool) -> Proof {
        match (proof, unverified) {
            (Some(proof), _) => proof,
            (None, true) => Proof::None,
            (None, false) => Proof::Check,
        }
    }

    /// What a person may know about a tick that rests on it.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Proof::RedGreen => Some("red→green"),
            Proof::Earlier => Some("red when it was planned"),
            Proof::Guard => Some("a guard"),
            Proof::None | Proof::Suite | Proof::GreenBefore | Proof::Check | Proof::Unknown => {
                self.note()
            }
        }
    }

    /// What a person is to know about a tick that rests on it.
    pub fn note(self) -> Option<&'static str> {
        match self {
            Proof::None => Some("unverified"),
            Proof::Suite => Some("by the suite alone"),
            Proof::GreenBefore => Some("green before the work"),
            Proof::Check | Proof::RedGreen | Proof::Earlier | Proof::Guard | Proof::Unknown => None,
        }
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The kind of a failure: the layer that refused, or what went wrong with the agent.
/// The fifth layer only names files outside `Files`. Shown and written as one word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureClass {
    /// Layer 1: a claim and an admission in one text.
    Contradiction,
    /// Layer 2: something is left uncommitted.
    Uncommitted,
    /// Layer 3: the executor did not say that it is done.
    NoSignal,
    /// Layer 4: the check failed.
    Verify,
    /// The agent cannot be started.
    Missing,
    /// It is not signed in.
    Authentication,
    /// It has used up what it may for a while.
    RateLimit,
    /// The task is too long for its model.
    ContextOverflow,
    /// What it talks to has failed.
    Server,
    /// It ended without an answer.
    Crash,
    /// It was silent for too long.
    Idle,
    /// It did not end in time.
    Timeout,
    /// It has used the dollars that were left for it.
    OverBudget,
    /// A word of another version.
    #[serde(untagged)]
    Other(String),
}

impl fmt::Display for FailureClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Why an attempt did not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What kind of reason.
    pub class: FailureClass,
    /// Why, for the next attempt and for people.
    pub message: String,
}

/// What the layers say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Empty: passed.
    pub failures: Vec<Failure>,
    /// What it rests on, if it passed.
    pub proof: Proof,
    /// Files changed that the task does not name.
    pub outside: Vec<String>,
    /// Files changed that its check runs, or that were tests before.
    pub proofs: Vec<String>,
}

impl Verdict {
    /// The verdict on an attempt that was not examined.
    pub fn failed(failures: Vec<Failure>) -> Verdict {
        Verdict { failures, proof: Proof::None, outside: Vec::new(), proofs: Vec::new() }
    }

    /// Whether nothing could be run to prove it.
    pub fn unverified(&self) -> bool {
        self.proof == Proof::None
    }

    /// Whether every layer passed.
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }

    /// The kind of failure, if there is one: the check's word counts most.
    pub fn class(&self) -> Option<FailureClass> {
        let verify = self.failures.iter().find(|failure| failure.class == FailureClass::Verify);
        verify.or(self.failures.first()).map(|failure| failure.class.clone())
    }

    /// The kind of each failure, in their order.
    pub fn classes(&self) -> Vec<FailureClass> {
        self.failures.iter().map(|failure| failure.class.clone()).collect()
    }

    /// All failures in one text.
    pub fn reason(&self) -> String {
        self.failures.iter().map(|f| f.message.as_str()).collect::<Vec<_>>().join("; ")
    }
}

/// Turns evidence into a verdict.
pub fn judge(evidence: &Evidence<'_>) -> Verdict {
    let layers = [
        (FailureClass::Contradiction, contradiction(evidence)),
        (FailureClass::Uncommitted, uncommitted(evidence)),
        (FailureClass::NoSignal, signal(evidence)),
        (FailureClass::Verify, verify(evidence)),
    ];
    Verdict {
        failures: layers
            .into_iter()
            .filter_map(|(class, failed)| failed.map(|message| Failure { class, message }))
            .collect(),
        proof: evidence.check.proof(),
        outside: outside(evidence.files, evidence.changed),
        proofs: evidence.proofs.to_vec(),
    }
}

/// Words that admit that something is left to do.
const ADMISSIONS: [&str; 7] = [
    "requires manual",
    "cannot be automated",
    "could not complete",
    "needs human",
    "manual intervention",
    "unable to complete",
    "skipping verification",
];

fn contradiction(evidence: &Evidence<'_>) -> Option<String> {
    if !completion::says(evidence.result, evidence.role.signal()) {
        return None;
    }
    let said = own_words(evidence.result);
    let admission = ADMISSIONS
        .iter()
        .find(|phrase| said.match_indices(**phrase).any(|(at, _)| !negated(&said[..at])))?;
    Some(format!("CONTRADICTION: claimed complete but the result says \"{admission}\""))
}

/// Whether the word before a phrase turns it around.
fn negated(before: &str) -> bool {
    matches!(before.split_whitespace().next_back(), Some("no" | "not" | "without" | "never"))
}

/// A text in lower case without its code and quotations, blanks folded.
fn own_words(text: &str) -> String {
    let mut words = String::new();
    for line in line::outside_fences(text.as_bytes()) {
        if !line.trimmed().starts_with(b">") {
            words.push_str(&unquoted(&line::readable(line.text)));
            words.push(' ');
        }
    }
    words.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A line without what stands between backticks or double quotes. An odd one
/// out opens nothing.
fn unquoted(line: &str) -> String {
    let mut kept = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(['`', '"', '“']) {
        let open = rest[at..].chars().next().expect("a character was found here");
        let behind = &rest[at + open.len_utf8()..];
        let close = if open == '“' { '”' } else { open };
        kept.push_str(&rest[..at]);
        rest = behind.find(close).map_or(behind, |end| &behind[end + close.len_utf8()..]);
        kept.push(' ');
    }
    kept + rest
}

fn uncommitted(evidence: &Evidence<'_>) -> Option<String> {
    left_by(&evidence.commit)
}

/// The second layer alone, for a commit that was made later than the verdict.
pub fn after_commit(commit: &CommitRun) -> Option<Failure> {
    left_by(commit).map(|message| Failure { class: FailureClass::Uncommitted, message })
}

fn left_by(commit: &CommitRun) -> Option<String> {
    match commit {
        CommitRun::Left(paths) if !paths.is_empty() => {
            Some(format!("left uncommitted: {}", paths.join(", ")))
        }
        CommitRun::Refused(why) => Some(format!("the commit was refused: {why}")),
        CommitRun::Cannot(reasons) if !reasons.is_empty() => Some(reasons.join("; ")),
        CommitRun::NotApplicable | CommitRun::Left(_) | CommitRun::Cannot(_) => None,
    }
}

fn signal(evidence: &Evidence<'_>) -> Option<String> {
    let word = evidence.role.signal();
    (!completion::says(evidence.result, word))
        .then(|| format!("the result does not say {word} on a line of its own"))
}

fn verify(evidence: &Evidence<'_>) -> Option<String> {
    failed_check(&evidence.check)
}

/// The fourth layer alone: why a check has failed, if it has.
pub fn failed_check(check: &CheckRun) -> Option<String> {
    let CheckRun::Ran(runs) = check else { return None };
    // Those in front of it that failed too are the ones it was to make up for.
    let failures: Vec<String> = runs.iter().rev().map_while(CommandRun::failure).collect();
    let in_order: Vec<String> = failures.into_iter().rev().collect();
    (!in_order.is_empty()).then(|| in_order.join(", and "))
}

/// The changed files that the task does not name. A task that names none has
/// no scope to leave.
fn outside(files: &[String], changed: &[String]) -> Vec<String> {
    if files.is_empty() {
        return Vec::new();
    }
    changed.iter().filter(|path| !is_named(files, path)).cloned().collect()
}

/// Whether a task names a path among its files.
pub fn is_named(files: &[String], path: &str) -> bool {
    files.iter().any(|pattern| covers(pattern, path))
}

/// A path, a directory above it, or a pattern with one `*`.
fn covers(pattern: &str, path: &str) -> bool {
    if let Some((head, tail)) = pattern.split_once('*') {
        let tail = tail.trim_start_matches(['*', '/']);
        return path.starts_with(head) && path.ends_with(tail);
    }
    let directory = pattern.trim_end_matches('/');
    path == directory || path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests;
