//! What a person should look at first, by rule.
//!
//! Each rule has a weight and says what it has seen; the heaviest decides where a task
//! stands. A rule orders what is there and changes no verdict.

use schemars::JsonSchema;
use serde::Serialize;

use crate::patch::FilePatch;
use crate::summary::{Attempt, AttemptResult, TaskSummary};
use crate::verify::{FailureClass, Proof};

/// More changed lines than these are many.
const MANY_LINES: u64 = 400;

/// A task that should be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LookAt {
    /// The task, by its place in the summary.
    pub task: usize,
    /// How much it matters.
    pub weight: u64,
    /// The sign before it.
    pub sign: Sign,
    /// Why, a sentence for each rule, the most important first.
    pub why: Vec<Vec<Piece>>,
}

/// A sign before a task; a word stands next to it wherever it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sign {
    /// It failed, ✗.
    Failed,
    /// It was done again, ↻.
    Again,
    /// Something is worth a look, △.
    Doubt,
}

/// A piece of a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Piece {
    /// Words of ours.
    Text(String),
    /// A name, a path, a command: of others.
    Code(String),
    /// A task, by its id.
    Task(String),
}

/// What the rules look at.
#[derive(Debug)]
pub struct Seen<'a> {
    /// The task.
    pub task: &'a TaskSummary,
    /// Whether the loop goes on without it, or it has used its attempts.
    pub is_stuck: bool,
    /// Whether a person has ticked it.
    pub by_person: bool,
    /// The tasks that were added to fix it.
    pub fixed_by: Vec<&'a str>,
    /// What its commits have changed.
    pub files: Vec<&'a FilePatch>,
}

struct Rule {
    weight: u64,
    sign: Sign,
    says: fn(&Seen<'_>) -> Option<Vec<Piece>>,
}

/// Every rule, the heaviest first.
const RULES: [Rule; 14] = [
    Rule { weight: 1000, sign: Sign::Failed, says: stuck },
    Rule { weight: 100, sign: Sign::Doubt, says: unproved },
    Rule { weight: 100, sign: Sign::Doubt, says: by_person },
    Rule { weight: 90, sign: Sign::Doubt, says: green_before },
    Rule { weight: 80, sign: Sign::Failed, says: contradicted },
    Rule { weight: 75, sign: Sign::Doubt, says: ran_nothing },
    Rule { weight: 70, sign: Sign::Doubt, says: hides_something },
    // And ten for each failure.
    Rule { weight: FAILED, sign: Sign::Failed, says: failed },
    Rule { weight: 50, sign: Sign::Again, says: set_aside },
    Rule { weight: 45, sign: Sign::Doubt, says: fewer_tests },
    Rule { weight: 30, sign: Sign::Doubt, says: outside },
    Rule { weight: 25, sign: Sign::Doubt, says: many_lines },
    Rule { weight: 20, sign: Sign::Again, says: sent_back },
    Rule { weight: 15, sign: Sign::Doubt, says: own_test },
];

/// The weight of failing, without how often.
const FAILED: u64 = 40;
/// The most that failing weighs.
const MOST_FAILED: u64 = 90;

/// The tasks that should be looked at, the heaviest first.
pub fn first<'a>(seen: impl IntoIterator<Item = Seen<'a>>) -> Vec<LookAt> {
    let at = |(task, seen): (usize, Seen<'_>)| look_at(task, &seen);
    let mut found: Vec<LookAt> = seen.into_iter().enumerate().filter_map(at).collect();
    found.sort_by_key(|look| (u64::MAX - look.weight, look.task));
    found
}

fn look_at(task: usize, seen: &Seen<'_>) -> Option<LookAt> {
    let weight = |rule: &Rule| match rule.weight {
        FAILED => MOST_FAILED.min(FAILED + 10 * failures(seen)),
        weight => weight,
    };
    let of_rule = |rule: &Rule| Some((weight(rule), rule.sign, (rule.says)(seen)?));
    let mut found: Vec<_> = RULES.iter().filter_map(of_rule).collect();
    found.sort_by_key(|(weight, ..)| u64::MAX - weight);
    let &(heaviest, sign, _) = found.first()?;
    let own_test = found.len() > 1 && own_test(seen).is_some();
    Some(LookAt {
        task,
        weight: heaviest + if own_test { 15 } else { 0 },
        sign,
        why: found.into_iter().map(|(.., sentence)| sentence).collect(),
    })
}

fn failures(seen: &Seen<'_>) -> u64 {
    let failed = |one: &&Attempt| one.result == AttemptResult::Failed;
    seen.task.attempts.iter().filter(failed).count() as u64
}

fn text(text: impl Into<String>) -> Vec<Piece> {
    vec![Piece::Text(text.into())]
}

/// The attempt whose work counts.
fn passed<'a>(seen: &Seen<'a>) -> Option<&'a Attempt> {
    seen.task.passed().filter(|_| seen.task.done)
}

/// `once`, `twice`, `3 times`.
pub fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

fn stuck(seen: &Seen<'_>) -> Option<Vec<Piece>> {
    (seen.is_stuck && !seen.task.done).then(|| match failures(seen) {
        0 => text("It is open and holds up the loop."),
        failures => text(format!("It is still open after it failed {}.", times(failures))),
    })
}

fn unproved(seen: &Seen<'_>) -> Option<Vec<Piece>> {
    let nothing = passed(seen)?.proof == Some(Proof::None);
    nothing.then(|| text("Nothing could be run to prove it."))
}

fn green_before(seen: &Seen<'_>) -> Option<Vec<Piece>> {
    let is_green = passed(seen)?.proof == Some(Proof::GreenBefore);
    is_green.then(|| text("Its check passed before the work already, so it proves nothing."))
}

fn by_person(seen: &Seen<'_>) -> Option<Vec<Piece>> {
    (seen.by_person && seen.task.done).then(|| text("A person ticked it; nothing was checked."))
}

fn contradicted(seen: &Seen<'_>) -> Option<Vec<Piece>> {
    let is_it = |one: &&Attempt| {
        let is_it = |class: &FailureClass| *class == FailureClass::Contradiction;
        one.class.as_ref().is_some_and(is_it) || one.layers.iter().any(is_it)
    };
    let count = seen.task.attempts.iter().filter(is_it).count() as u64;
    match count {
        0 => None,
        1 => Some(text("One attempt claimed to be complete and admitted that it was not.")),
        count => Some(text(format!(
            "{count} attempts claimed to be complete and admitted that they were not."
        ))),
    }
}

/// What test programs say that have run nothing.
const NOTHING_RAN: [&str; 9] = [
    "ran 0 tests",
    "collected 0 items",
    "no tests to run",
    "no tests ran",
    "no tests found",
    "0 passing",
    "no test files",
    "0 examples, 0 failures",
    "tests: 0 total",
];

fn ran_nothing(seen: &Seen<'_>) -> Option<Vec<Piece>> {
    let output = passed(seen)?.output.to_lowercase();
    let lines = || output.lines().map(str::trim);
    let starts = |what: &str| lines().filter(|line| line.starts_with(what)).count();
    // cargo says it for each of its programs: one that runs something is enough.
    let cargo = starts("running ") > 0
        && lines()
            .filter(|line| line.starts_with("running "))
            .all(|line| line == "running 0 tests");
    let says = NOTHING_RAN.iter().find(|says| {
        // `10 passing` says something else.
        let is_said = |line: &str| line.find(*says).is_some_and(|at| !after_digit(line, at));
        lines().any(is_said)
    });
    let said = says.copied().or(cargo.then_some("running 0 tests"))?;
    let said = Piece::Code(said.to_owned());
    let before = "Its check passed and says that it ran nothing: ".to_owned();
    Some(vec![Piece::Text(before), said, Piece::Text(".".to_owned())])
}

fn after_digit(line: &str, at: usize) -> bool {
    line[..at].ends_with(|c: char| c.is_ascii_digit())
}

fn failed(seen: &Seen<'_>) -> Option<Vec<Piece>> {
    let failures = failures(seen);
    if failures == 0 || (seen.is_stuck && !seen.task.done) {
        return None;
    }
    let mut pieces = text(format!("Failed {}.", times(failures)));
    if let [fix, ..] = seen.fixed_by[..] {
        pieces.extend([
            Piece::Text(" ".to_owned()),
            Piece::Task(fix.to_owned()),
            Piece::Text(" was added to fix it.".to_owned()),
        ]);
    }
    Some(pieces)
}

fn set_aside(seen: &Seen<'_>) -> Option<Vec<Piece>> {
    let aside = seen.task.attempts.iter().any(|one| one.result == AttemptResult::SetAside);
    aside.then(|| text("Did not fit on top of the others’ work and was done again."))
}

/// Whether a path is that of a test.
pub fn is_test(path: &str) -> bool {
    let parts: Vec<&str> = path.split(['/', '\\']).collect();
    let is_folder = |part: &&str| matches!(*part, "test" | "tests" | "spec" | "__tests__");
    let name = parts.last().copied().unwrap_or_default();
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    let in_words = words.flat_map(camel_words).any(|word| {
        matches!(word.to_ascii_lowercase().as_str(), "test" | "tests" | "spec" | "specs")
    });
    in_words || parts.iter().rev().skip(1).any(is_folder)
}

/// The words of a name such as `StoreTest`.
fn camel_words(name: &str) -> Vec<&str> {
    let upper = |(at, c): (usize, char)| (at > 0 && c.is_ascii_uppercase()).then_some(at);
    let mut cuts: Vec<usize> = name.char_indices().filter_map(upper).collect();
    cuts.insert(0, 0);
    cuts.push(name.len());
    cuts.windows(2).map(|pair| &name[pair[0]..pair[1]]).collect()
}

fn fewer_tests(seen: &Seen<'_>) -> Option<Vec<Piece>> {
    let tests = || seen.files.iter().filter(|file| is_test(&file.path));
    let removed: u64 = tests().map(|file| file.removed).sum();
    let added: u64 = tests().map(|file| file.added).sum();
    let says = || text(format!("Removed {removed} lines of tests and added {added}."));
    (removed > added).then(says)
}

/// `Changed a, b and 2 more`, and what stands behind it.
fn changed(files: &[String], behind: &str) -> Vec<Piece> {
    const SHOWN: usize = 3;
    let mut pieces = text("Changed ");
    for (at, file) in files.iter().take(SHOWN).enumerate() {
        if at > 0 {
            pieces.push(Piece::Text(", ".to_owned()));
        }
        pieces.push(Piece::Code(file.clone()));
    }
    if files.len() > SHOWN {
        pieces.push(Piece::Text(format!(" and {} more", files.len() - SHOWN)));
    }
    pieces.push(Piece::Text(behind.to_owned()));
    pieces
}

fn outside(seen: &Seen<'_>) -> Option<Vec<Piece>> {
    let files = &passed(seen)?.outside;
    (!files.is_empty()).then(|| changed(files, ", which it does not name."))
}

fn own_test(seen: &Seen<'_>) -> Option<Vec<Piece>> {
    let files = &passed(seen)?.proofs;
    (!files.is_empty()).then(|| changed(files, ", which its check runs."))
}

fn many_lines(seen: &Seen<'_>) -> Option<Vec<Piece>> {
    let changes = passed(seen)?.changes?;
    let lines = changes.added.saturating_add(changes.removed);
    (lines > MANY_LINES).then(|| text(format!("Changed {lines} lines.")))
}

fn sent_back(seen: &Seen<'_>) -> Option<Vec<Piece>> {
    let sent = seen.task.attempts.iter().any(|one| !one.sent_back.is_empty());
    sent.then(|| text("Its agent was sent back within an attempt."))
}

fn hides_something(seen: &Seen<'_>) -> Option<Vec<Piece>> {
    let file = seen.files.iter().find(|file| file.hides_something)?;
    let before = "Added characters that nobody sees, or that turn a line around, in ".to_owned();
    let path = Piece::Code(file.path.clone());
    Some(vec![Piece::Text(before), path, Piece::Text(".".to_owned())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::LineCounts;

    fn attempt(result: AttemptResult) -> Attempt {
        let proof = (result == AttemptResult::Passed).then_some(Proof::Check);
        Attempt { result, proof, ..Attempt::default() }
    }

    fn done(passed: Attempt) -> TaskSummary {
        TaskSummary { done: true, attempts: vec![passed], ..TaskSummary::default() }
    }

    fn seen(task: &TaskSummary) -> Seen<'_> {
        Seen { task, is_stuck: false, by_person: false, fixed_by: vec![], files: vec![] }
    }

    fn plain(look: &LookAt) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) | Piece::Code(text) | Piece::Task(text) => text.clone(),
        };
        let sentence = |pieces: &Vec<Piece>| pieces.iter().map(piece).collect::<String>();
        look.why.iter().map(sentence).collect::<Vec<_>>().join(" ")
    }

    #[track_caller]
    fn looks(seen: Seen<'_>, weight: u64, words: &str) {
        let found = first([seen]);
        let [look] = &found[..] else { panic!("{found:?}") };
        assert_eq!((look.weight, plain(look).as_str()), (weight, words));
    }

    #[test]
    fn a_task_that_passed_its_check_at_once_needs_no_look() {
        assert_eq!(first([seen(&done(attempt(AttemptResult::Passed)))]), []);
        assert_eq!(first([seen(&TaskSummary::default())]), [], "nor one that nobody has begun");
    }

    #[test]
    fn a_task_that_holds_up_the_loop_comes_first() {
        let failed = vec![attempt(AttemptResult::Failed); 5];
        let task = TaskSummary { attempts: failed, ..TaskSummary::default() };
        let stuck = Seen { is_stuck: true, ..seen(&task) };
        looks(stuck, 1000, "It is still open after it failed 5 times.");
    }

    #[test]
    fn a_tick_without_proof_is_named_and_so_is_a_persons() {
        let passed = Attempt { proof: Some(Proof::None), ..attempt(AttemptResult::Passed) };
        looks(seen(&done(passed)), 100, "Nothing could be run to prove it.");
        let ticked = TaskSummary { done: true, ..TaskSummary::default() };
        let person = Seen { by_person: true, ..seen(&ticked) };
        looks(person, 100, "A person ticked it; nothing was checked.");
    }

    #[test]
    fn a_claim_with_an_admission_outweighs_a_single_failure() {
        let class = Some(FailureClass::Contradiction);
        let mut task = done(attempt(AttemptResult::Passed));
        task.attempts.insert(0, Attempt { class, ..attempt(AttemptResult::Failed) });
        let words = "One attempt claimed to be complete and admitted that it was not. Failed once.";
        looks(seen(&task), 80, words);
    }

    #[test]
    fn a_check_that_ran_nothing_is_found_by_what_it_says() {
        let with = |output: &str| {
            done(Attempt { output: output.to_owned(), ..attempt(AttemptResult::Passed) })
        };
        for output in [
            "Ran 0 tests in 0.000s\n\nOK",
            "running 0 tests\n\nrunning 0 tests\n",
            "collected 0 items",
            "testing: warning: no tests to run",
            "  0 passing (2ms)",
        ] {
            let task = with(output);
            let found = first([seen(&task)]);
            assert_eq!(found.first().map(|look| look.weight), Some(75), "{output}");
        }
        for output in ["running 0 tests\nrunning 3 tests", "  10 passing", "Ran 10 tests", ""] {
            assert_eq!(first([seen(&with(output))]), [], "{output}");
        }
    }

    #[test]
    fn each_failure_weighs_up_to_a_bound_and_a_fix_task_is_named() {
        let mut task = done(attempt(AttemptResult::Passed));
        task.attempts.insert(0, attempt(AttemptResult::Failed));
        looks(seen(&task), 50, "Failed once.");
        task.attempts.insert(0, attempt(AttemptResult::Failed));
        let fixed = Seen { fixed_by: vec!["3.3.1"], ..seen(&task) };
        looks(fixed, 60, "Failed twice. 3.3.1 was added to fix it.");
        task.attempts.splice(0..0, vec![attempt(AttemptResult::Failed); 8]);
        looks(seen(&task), 90, "Failed 10 times.");
    }

    #[test]
    fn work_that_was_set_aside_or_sent_back_is_named() {
        let mut task = done(attempt(AttemptResult::Passed));
        task.attempts.insert(0, attempt(AttemptResult::SetAside));
        looks(seen(&task), 50, "Did not fit on top of the others’ work and was done again.");
        let back = Attempt { sent_back: vec!["x".into()], ..attempt(AttemptResult::Passed) };
        looks(seen(&done(back)), 20, "Its agent was sent back within an attempt.");
    }

    #[test]
    fn fewer_tests_hidden_characters_and_many_lines_are_seen_in_what_changed() {
        let task = done(attempt(AttemptResult::Passed));
        let file =
            FilePatch { path: "src/a_test.go".into(), removed: 3, added: 1, ..Default::default() };
        looks(
            Seen { files: vec![&file], ..seen(&task) },
            45,
            "Removed 3 lines of tests and added 1.",
        );
        let hidden = FilePatch { path: "a.c".into(), hides_something: true, ..Default::default() };
        let words = "Added characters that nobody sees, or that turn a line around, in a.c.";
        looks(Seen { files: vec![&hidden], ..seen(&task) }, 70, words);
        let changes = Some(LineCounts { files: 1, added: 300, removed: 101 });
        let long = done(Attempt { changes, ..attempt(AttemptResult::Passed) });
        looks(seen(&long), 25, "Changed 401 lines.");
    }

    #[test]
    fn files_that_a_task_does_not_name_and_tests_of_its_own_check_are_named() {
        let outside = vec!["a".into(), "b".into(), "c".into(), "d".into()];
        let passed = Attempt { outside, ..attempt(AttemptResult::Passed) };
        let words = "Changed a, b, c and 1 more, which it does not name.";
        looks(seen(&done(passed)), 30, words);
        let proofs: Vec<String> = vec!["tests/t.py".into()];
        let alone = Attempt { proofs: proofs.clone(), ..attempt(AttemptResult::Passed) };
        looks(seen(&done(alone.clone())), 15, "Changed tests/t.py, which its check runs.");
        let mut both = done(alone);
        both.attempts.insert(0, attempt(AttemptResult::Failed));
        looks(seen(&both), 65, "Failed once. Changed tests/t.py, which its check runs.");
    }

    #[test]
    fn tests_are_known_by_their_folder_or_by_a_word_of_their_name() {
        for path in [
            "tests/a.py",
            "a/spec/b.rb",
            "__tests__/x",
            "src/store.test.ts",
            "StoreTest.java",
            "test_a.py",
        ] {
            assert!(is_test(path), "{path}");
        }
        for path in ["src/latest.rs", "contest/a.py", "src/inspect.c", "tests", "spectrum.go"] {
            assert!(!is_test(path) || path == "tests", "{path}");
        }
    }

    #[test]
    fn the_heaviest_rule_decides_the_order_and_the_plan_decides_between_equals() {
        let unproved = Attempt { proof: Some(Proof::None), ..attempt(AttemptResult::Passed) };
        let back = Attempt { sent_back: vec!["x".into()], ..attempt(AttemptResult::Passed) };
        let tasks = [done(back.clone()), done(unproved), done(back)];
        let order: Vec<usize> =
            first(tasks.iter().map(seen)).iter().map(|look| look.task).collect();
        assert_eq!(order, [1, 0, 2]);
    }
}
