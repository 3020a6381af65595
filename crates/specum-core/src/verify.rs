//! What counts as done: evidence in, verdict out.
//!
//! Five layers look at the same attempt. All are evaluated and all failures are
//! reported together, so that the next attempt hears everything at once.

use crate::claim;
use crate::line;
use crate::tasks::Expectation;

/// Who was asked, and so what is to be said at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// `spec-executor`: `TASK_COMPLETE`.
    Executor,
    /// `qa-engineer`: `VERIFICATION_PASS`.
    QaEngineer,
}

impl Role {
    /// The word that ends a successful attempt.
    pub fn signal(self) -> &'static str {
        match self {
            Role::Executor => claim::TASK_COMPLETE,
            Role::QaEngineer => claim::VERIFICATION_PASS,
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
    /// What is left once specum has committed.
    pub commit: CommitRun,
}

/// What became of the Verify command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckRun {
    /// The task has none, or words only.
    Unverified,
    /// It ran.
    Ran {
        /// The command.
        command: String,
        /// How it ended.
        ended: Ended,
        /// What its standard output and error ended with.
        output: String,
        /// What its standard output is to be, if the task says so.
        expect: Option<Expectation>,
        /// Its standard output.
        stdout: String,
    },
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
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
}

/// One of those that can refuse. The fifth only names files outside `Files`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// 1: no claim beside an admission.
    Contradiction,
    /// 2: nothing left uncommitted.
    Uncommitted,
    /// 3: the executor said so.
    Signal,
    /// 4: the command succeeds.
    Verify,
}

impl Layer {
    /// The kind of failure, in one word, for records and programs.
    pub fn class(self) -> &'static str {
        match self {
            Layer::Contradiction => "contradiction",
            Layer::Uncommitted => "uncommitted",
            Layer::Signal => "no-signal",
            Layer::Verify => "verify",
        }
    }
}

/// A layer that did not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Which.
    pub layer: Layer,
    /// Why, for the next attempt and for people.
    pub message: String,
}

/// What the layers say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Empty: passed.
    pub failures: Vec<Failure>,
    /// Whether nothing could be run to prove it.
    pub unverified: bool,
    /// Files changed that the task does not name.
    pub outside: Vec<String>,
}

impl Verdict {
    /// Whether every layer passed.
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }

    /// The kind of failure, in one word: the check's word counts most. Empty
    /// if there is none.
    pub fn class(&self) -> &'static str {
        let verify = self.failures.iter().find(|failure| failure.layer == Layer::Verify);
        verify.or(self.failures.first()).map_or("", |failure| failure.layer.class())
    }

    /// All failures in one text.
    pub fn reason(&self) -> String {
        self.failures.iter().map(|f| f.message.as_str()).collect::<Vec<_>>().join("; ")
    }
}

/// Turns evidence into a verdict.
pub fn judge(evidence: &Evidence<'_>) -> Verdict {
    let layers = [
        (Layer::Contradiction, contradiction(evidence)),
        (Layer::Uncommitted, uncommitted(evidence)),
        (Layer::Signal, signal(evidence)),
        (Layer::Verify, verify(evidence)),
    ];
    Verdict {
        failures: layers
            .into_iter()
            .filter_map(|(layer, failed)| failed.map(|message| Failure { layer, message }))
            .collect(),
        unverified: evidence.check == CheckRun::Unverified,
        outside: outside(evidence.files, evidence.changed),
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
    if !claim::claims(evidence.result, evidence.role.signal()) {
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
    let mut in_fence = false;
    for line in line::lines(text.as_bytes()) {
        if line.is_fence() {
            in_fence = !in_fence;
        } else if !in_fence && !line.trimmed().starts_with(b">") {
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
    left_by(commit).map(|message| Failure { layer: Layer::Uncommitted, message })
}

fn left_by(commit: &CommitRun) -> Option<String> {
    match commit {
        CommitRun::Left(paths) if !paths.is_empty() => {
            Some(format!("left uncommitted: {}", paths.join(", ")))
        }
        CommitRun::Refused(why) => Some(format!("the commit was refused: {why}")),
        CommitRun::NotApplicable | CommitRun::Left(_) => None,
    }
}

fn signal(evidence: &Evidence<'_>) -> Option<String> {
    let word = evidence.role.signal();
    (!claim::claims(evidence.result, word))
        .then(|| format!("the result does not say {word} on a line of its own"))
}

fn verify(evidence: &Evidence<'_>) -> Option<String> {
    failed_check(&evidence.check)
}

/// The fourth layer alone: why a check has failed, if it has.
pub fn failed_check(check: &CheckRun) -> Option<String> {
    let CheckRun::Ran { command, ended, expect, stdout, .. } = check else { return None };
    let command = line::head(command.lines().next().unwrap_or_default(), 120);
    match (ended, expect) {
        (Ended::TimedOut(seconds), _) => {
            Some(format!("`{command}` did not end within {seconds} seconds"))
        }
        (Ended::NotStarted(why), _) => Some(format!("`{command}` could not be started: {why}")),
        (Ended::Signal(signal), _) => Some(format!("`{command}` was ended by signal {signal}")),
        (Ended::Code(_), Some(Expectation(wanted))) => (stdout.trim() != wanted).then(|| {
            let printed = line::head(stdout.trim(), 80);
            format!("`{command}` should print {wanted} and printed \"{printed}\"")
        }),
        (Ended::Code(0), None) => None,
        (Ended::Code(code), None) => Some(format!("`{command}` ended with code {code}")),
    }
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
mod tests {
    use super::*;

    fn evidence(result: &str) -> Evidence<'_> {
        Evidence {
            role: Role::Executor,
            result,
            check: ran(Ended::Code(0)),
            files: &[],
            changed: &[],
            commit: CommitRun::Left(vec![]),
        }
    }

    fn ran(ended: Ended) -> CheckRun {
        CheckRun::Ran {
            command: "make".into(),
            ended,
            output: String::new(),
            expect: None,
            stdout: "3\n".into(),
        }
    }

    fn failures(evidence: &Evidence<'_>) -> Vec<String> {
        judge(evidence).failures.into_iter().map(|f| f.message).collect()
    }

    #[test]
    fn good_evidence_passes() {
        let verdict = judge(&evidence("Did it.\n\nTASK_COMPLETE"));
        assert_eq!(verdict, Verdict { failures: vec![], unverified: false, outside: vec![] });
    }

    #[test]
    fn all_failures_are_named_together() {
        let mut bad = evidence("The last step requires\nmanual work.\nTASK_COMPLETE");
        bad.check = ran(Ended::Code(2));
        bad.commit = CommitRun::Left(vec!["a.rs".into()]);
        insta::assert_snapshot!(judge(&bad).reason().replace("; ", "\n"), @r#"
        CONTRADICTION: claimed complete but the result says "requires manual"
        left uncommitted: a.rs
        `make` ended with code 2
        "#);
    }

    #[test]
    fn admissions_in_quotes_code_or_the_negative_are_none() {
        for result in [
            "Renamed `requires manual`.\nTASK_COMPLETE",
            "The label \"needs human\" is now red.\nTASK_COMPLETE",
            "The label “needs human” is now red.\nTASK_COMPLETE",
            "```\nunable to complete\n```\nTASK_COMPLETE",
            "> manual intervention\n\nTASK_COMPLETE",
            "It ran without manual intervention.\nTASK_COMPLETE",
            "No manual intervention needed.\nTASK_COMPLETE",
        ] {
            assert_eq!(failures(&evidence(result)), Vec::<String>::new(), "{result}");
        }
        for phrase in ADMISSIONS {
            let result = format!("This {} a bit.\nTASK_COMPLETE", phrase.to_uppercase());
            assert!(
                failures(&evidence(&result))[0].starts_with("CONTRADICTION: claimed complete but ")
            );
        }
    }

    #[test]
    fn an_admission_without_a_claim_is_honest() {
        assert_eq!(
            failures(&evidence("I was unable to complete this.")),
            ["the result does not say TASK_COMPLETE on a line of its own"]
        );
    }

    #[test]
    fn the_qa_engineer_says_another_word() {
        let mut qa = evidence("VERIFICATION_PASS");
        qa.role = Role::QaEngineer;
        assert!(judge(&qa).passed());
        qa.result = "VERIFICATION_FAIL";
        assert!(!judge(&qa).passed());
        qa.result = "TASK_COMPLETE";
        assert!(!judge(&qa).passed());
    }

    #[test]
    fn how_a_check_ends() {
        let failed = |ended: Ended| {
            let mut evidence = evidence("TASK_COMPLETE");
            evidence.check = ran(ended);
            failures(&evidence).join("")
        };
        assert_eq!(failed(Ended::Code(0)), "");
        assert_eq!(failed(Ended::Code(1)), "`make` ended with code 1");
        assert_eq!(failed(Ended::Signal(9)), "`make` was ended by signal 9");
        assert_eq!(failed(Ended::TimedOut(5)), "`make` did not end within 5 seconds");
        assert_eq!(failed(Ended::NotStarted("gone".into())), "`make` could not be started: gone");
    }

    #[test]
    fn an_expected_output_takes_the_place_of_the_exit_code() {
        let with = |wanted: &str, code: i32| {
            let mut evidence = evidence("TASK_COMPLETE");
            evidence.check = CheckRun::Ran {
                command: "grep -c x y".into(),
                ended: Ended::Code(code),
                output: String::new(),
                expect: Some(Expectation(wanted.into())),
                stdout: " 0\n".into(),
            };
            failures(&evidence).join("")
        };
        assert_eq!(with("0", 1), "", "grep -c fails when it rightly prints 0");
        assert_eq!(with("3", 0), "`grep -c x y` should print 3 and printed \"0\"");
    }

    #[test]
    fn without_a_command_a_task_passes_unverified() {
        let mut evidence = evidence("TASK_COMPLETE");
        evidence.check = CheckRun::Unverified;
        let verdict = judge(&evidence);
        assert!(verdict.passed() && verdict.unverified);
    }

    #[test]
    fn a_refused_commit_fails_the_attempt() {
        let mut evidence = evidence("TASK_COMPLETE");
        evidence.commit = CommitRun::Refused("hook said no".into());
        assert_eq!(failures(&evidence), ["the commit was refused: hook said no"]);
        evidence.commit = CommitRun::NotApplicable;
        assert!(judge(&evidence).passed());
    }

    #[test]
    fn files_outside_the_scope_are_named_not_refused() {
        let files: Vec<String> = ["src/a.rs", "docs/", "tests/*.rs"].map(String::from).to_vec();
        let changed: Vec<String> =
            ["src/a.rs", "docs/x/y.md", "tests/it.rs", "src/a.rs.bak", "Cargo.toml"]
                .map(String::from)
                .to_vec();
        let mut evidence = evidence("TASK_COMPLETE");
        (evidence.files, evidence.changed) = (&files, &changed);
        let verdict = judge(&evidence);
        assert!(verdict.passed());
        assert_eq!(verdict.outside, ["src/a.rs.bak", "Cargo.toml"]);
        evidence.files = &[];
        assert!(judge(&evidence).outside.is_empty());
    }
}
