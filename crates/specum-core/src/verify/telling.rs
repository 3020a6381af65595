//! The lines of a failed check's output that say why it failed.
//!
//! Test runners and compilers print much around the two or three lines that a person
//! looks for. Each line is given a [`Weight`] by what it looks like, whichever program
//! printed it. What is chosen are the last lines that say what is wrong, with the one
//! that names the test or the place; without such lines, the last that are no noise.

use crate::line;
use crate::sanitize::clean;

/// How many lines are given.
const MOST: usize = 3;
/// How long each of them may be.
const LONGEST: usize = 200;

/// What a line is worth to a person who wants to know why a check failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// It says nothing: it is blank, or a ruler.
    Nothing,
    /// It says that something failed and not what, or how long it took.
    Chatter,
    /// Anything else.
    Plain,
    /// It names the test or the file of the lines behind it.
    Head,
    /// It names the place of the line before it.
    Place,
    /// It says what is wrong.
    Cause,
}

/// The lines of an output that tell why its check failed, three at most, in their
/// order. What the reasons of the failure quote already is not repeated.
pub fn telling(output: &str, reasons: &[String]) -> Vec<String> {
    let output = clean(output);
    let is_quoted =
        |text: &str| reasons.iter().any(|reason| reason.contains(&format!("\"{text}\"")));
    let lines: Vec<(&str, Weight)> = output
        .lines()
        .map(|text| (text.trim(), weight(text)))
        .filter(|(text, weight)| *weight != Weight::Nothing && !is_quoted(text))
        .collect();
    let mut chosen: Vec<String> = Vec::new();
    for at in choose(&lines) {
        let text = line::head(lines[at].0, LONGEST).to_owned();
        if chosen.last() != Some(&text) {
            chosen.push(text);
        }
    }
    chosen
}

/// Where the lines stand that are to be shown.
fn choose(lines: &[(&str, Weight)]) -> Vec<usize> {
    let last = |most: usize, wanted: &[Weight]| {
        let is_wanted = |at: &usize| wanted.contains(&lines[*at].1);
        let mut found: Vec<usize> = (0..lines.len()).rev().filter(is_wanted).take(most).collect();
        found.reverse();
        found
    };
    let mut causes = last(MOST, &[Weight::Cause]);
    let Some(&end) = causes.last() else {
        let groups: [(usize, &[Weight]); 3] = [
            (MOST, &[Weight::Head, Weight::Place]),
            (MOST, &[Weight::Plain]),
            (MOST - 1, &[Weight::Chatter]),
        ];
        let found = groups.into_iter().map(|(most, wanted)| last(most, wanted));
        return found.into_iter().find(|found| !found.is_empty()).unwrap_or_default();
    };
    let begin = causes[causes.len().saturating_sub(MOST - 1)];
    let before = (0..begin).rev().find(|at| lines[*at].1 == Weight::Head);
    let behind = || {
        let names = |at: &usize| matches!(lines[*at].1, Weight::Head | Weight::Place);
        (end + 1..lines.len()).find(names)
    };
    if let Some(name) = before.or_else(behind) {
        causes.drain(..causes.len().saturating_sub(MOST - 1));
        causes.push(name);
        causes.sort_unstable();
    }
    causes
}

fn weight(line: &str) -> Weight {
    let text = line.trim();
    if text.chars().all(is_ruler) {
        return Weight::Nothing;
    }
    if is_banner(text) || is_source(text) {
        return Weight::Plain;
    }
    let lower = text.to_lowercase();
    if is_chatter(text, &lower) {
        return Weight::Chatter;
    }
    if is_place(text) {
        return Weight::Place;
    }
    if is_head(text, &lower) {
        return Weight::Head;
    }
    if is_cause(text, &lower) {
        return Weight::Cause;
    }
    Weight::Plain
}

/// What lines between sections are made of, and progress bars.
fn is_ruler(c: char) -> bool {
    c.is_whitespace() || "-=_*~.#+|^[](){}<>⎯─━═│┃╌·•>".contains(c)
}

/// A title between rulers: `=== FAILURES ===`.
fn is_banner(text: &str) -> bool {
    let is_rule = |part: &str| part.chars().count() >= 3 && part.chars().all(is_ruler);
    let mut words = text.split_whitespace();
    words.next().is_some_and(is_rule) && words.next_back().is_some_and(is_rule)
}

/// A line of a source that a compiler or a test runner shows: `  4 | let x = 1;`.
fn is_source(text: &str) -> bool {
    let text = text.trim_start_matches(['>', ' ']);
    let text = text.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    text.starts_with(['|', '│'])
}

/// What stands around a failure, whatever it is.
fn is_chatter(text: &str, lower: &str) -> bool {
    const STARTS: [&str; 56] = [
        // What was done, and how long it took.
        "compiling ",
        "checking ",
        "downloading ",
        "downloaded ",
        "finished ",
        "running ",
        "ran ",
        "collected ",
        "collecting ",
        "platform ",
        "rootdir",
        "plugins:",
        "time:",
        "duration",
        "start at",
        "snapshots:",
        "run ",
        "> ",
        "$ ",
        "tap version",
        "1..",
        "# ",
        "ℹ ",
        "stack:",
        "stack backtrace",
        "traceback (most recent",
        "location:",
        "code:",
        "name:",
        "operator:",
        "failuretype:",
        "generatedmessage:",
        "note: run with `rust_backtrace",
        "note: some details are omitted",
        "for more information about this error",
        "some errors have detailed explanations",
        // What passed.
        "ok ",
        "✓",
        "✔",
        "pass ",
        // That something failed.
        "exit status",
        "failures:",
        "failed (",
        "test result:",
        "tests:",
        "tests ",
        "test suites:",
        "test files",
        "error: test failed",
        "error: could not compile",
        "error: aborting due to",
        "warning: ",
        "npm warn",
        "npm notice",
        "✖ failing tests",
        "error: process completed",
    ];
    const NPM: [&str; 7] =
        ["code ", "errno ", "path ", "command ", "workspace ", "location ", "lifecycle script"];
    let npm = lower.strip_prefix("npm error ").or_else(|| lower.strip_prefix("npm err! "));
    let is_npm = npm.is_some_and(|rest| NPM.iter().any(|start| rest.starts_with(start)));
    // `make: *** [Makefile:2: test] Error 1`, and not that there is no rule for a target.
    let is_make = lower.contains("*** [");
    let is_problem_count = text.starts_with('✖') && lower.contains(" problem");
    let is_count = lower.split_once(" failed").is_some_and(|(before, behind)| {
        let is_number = !before.is_empty() && before.chars().all(|c| c.is_ascii_digit());
        is_number && (behind.is_empty() || behind.starts_with([',', ' ', ')']))
    });
    is_npm
        || is_make
        || is_problem_count
        || is_count
        || STARTS.iter().any(|start| lower.starts_with(start))
        || matches!(lower, "fail" | "failed" | "- expected" | "+ received")
        || lower.ends_with("%]")
        || lower.ends_with("|-")
        || lower.ends_with(" ... ok")
        || lower.contains("1 test | ")
        || is_frame(text)
}

/// A frame of a stack: `at run (a.js:1:2)`, `4: core::panicking::panic_fmt`.
fn is_frame(text: &str) -> bool {
    let behind_number = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = behind_number.len() < text.len()
        && behind_number.strip_prefix(": ").is_some_and(|name| name.contains("::"));
    let ends_at_place = text.ends_with(')') && text.contains(':') && text.contains(" (");
    is_numbered
        || text.starts_with("at ")
        || (ends_at_place && text.contains("node:"))
        || text.starts_with("node:internal")
}

/// ` --> src/lib.rs:1:34`, ` ❯ a.test.ts:3:17`.
fn is_place(text: &str) -> bool {
    ["--> ", "❯ ", "→ "]
        .iter()
        .any(|start| text.strip_prefix(start).is_some_and(|place| !place.trim().contains(' ')))
}

fn is_head(text: &str, lower: &str) -> bool {
    const STARTS: [&str; 10] =
        ["--- fail", "fail ", "fail:", "failed ", "not ok ", "● ", "✕ ", "× ", "✖ ", "✗ "];
    let is_file = !text.contains(' ')
        && (text.contains('/') || text.contains('\\'))
        && text.rsplit(['/', '\\']).next().is_some_and(|name| name.contains('.'));
    is_file
        || STARTS.iter().any(|start| lower.starts_with(start))
        || lower.contains(" panicked at ")
        || (lower.contains(": in function") && text.ends_with(':'))
}

fn is_cause(text: &str, lower: &str) -> bool {
    const STARTS: [&str; 7] = ["left:", "right:", "e  ", "actual:", "expected", "received", "got"];
    const WORDS: [&str; 26] = [
        "error:",
        "error[",
        "error ",
        "errors ",
        "assert",
        "exception",
        "expect",
        "fatal",
        "not found",
        "no such file",
        "no rule to make",
        "cannot",
        "can't",
        "could not",
        "undefined",
        "unexpected",
        "denied",
        "refused",
        "missing",
        "mismatch",
        "invalid",
        "timed out",
        "segmentation fault",
        " want ",
        "!==",
        " != ",
    ];
    STARTS.iter().any(|start| lower.starts_with(start))
        || WORDS.iter().any(|word| lower.contains(word))
        || (text.starts_with("E ") && text.len() > 2)
}

#[cfg(test)]
mod tests;
