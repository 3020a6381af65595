//! What the words behind a Verify command ask for: that it succeeds, that it
//! prints something, or nothing that can be read.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a Verify command is to print. It takes the place of the exit code,
/// because commands such as `grep -c` fail when they rightly print 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expectation {
    /// `returns N`, `shows N`: this number and nothing else.
    Number(i64),
    /// `>= N`, `N+`, `at least N`: a number, and not below this one.
    AtLeast(i64),
    /// `<= N`, `at most N`: a number, and not above this one.
    AtMost(i64),
    /// `nothing`, `no output`, `empty`.
    Nothing,
}

impl Expectation {
    /// Whether an output is what was asked for.
    pub fn holds(&self, stdout: &str) -> bool {
        let printed = stdout.trim();
        let number = || printed.parse::<i64>().ok();
        match self {
            Expectation::Number(wanted) => printed == wanted.to_string(),
            Expectation::AtLeast(least) => number().is_some_and(|n| n >= *least),
            Expectation::AtMost(most) => number().is_some_and(|n| n <= *most),
            Expectation::Nothing => printed.is_empty(),
        }
    }

    /// An output for which it holds.
    pub fn example(&self) -> String {
        match self {
            Expectation::Number(n) | Expectation::AtLeast(n) | Expectation::AtMost(n) => {
                n.to_string()
            }
            Expectation::Nothing => String::new(),
        }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expectation::Number(n) => write!(f, "{n}"),
            Expectation::AtLeast(n) => write!(f, "{n} or more"),
            Expectation::AtMost(n) => write!(f, "{n} or less"),
            Expectation::Nothing => f.write_str("nothing"),
        }
    }
}

/// The words behind a command, as far as they are understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Clause {
    /// No words, or those that say that it succeeds.
    Succeeds,
    /// What it prints.
    Prints {
        what: Expectation,
        /// Whether the word is `returns`, which people say of exit codes too.
        returned: bool,
        /// Whether more words follow.
        more: bool,
    },
    /// Other words.
    Unread {
        /// Whether they sound like an expectation.
        expects: bool,
    },
}

/// Words that carry nothing.
const FILLERS: &[&str] = &[
    "should", "must", "will", "shall", "it", "that", "which", "the", "a", "an", "output",
    "outputs:", "result", "count", "command", "still", "now", "exactly", "to", "stdout", "and",
    "all", "both", "tests", "-", "–", "—", ":", "*", "_", "**", "__",
];
/// Words in front of what is printed.
const VERBS: &[&str] = &[
    "returns", "return", "shows", "show", "prints", "print", "outputs", "equals", "equal", "gives",
    "give", "is", "be", "are", "=", "==", "===", "→", "->", "=>", "produces", "yields", "reports",
    "finds", "find", "displays",
];
/// Words in front of a value, which is no command although it is code.
const VALUE_WORDS: &[&str] = &[
    "contains",
    "contain",
    "includes",
    "include",
    "mentions",
    "mention",
    "matches",
    "match",
    "says",
    "say",
    "with",
    "exactly",
    "as",
    "containing",
    "output",
    "code",
    "status",
    "least",
    "most",
    "than",
    ">=",
    "<=",
    "≥",
    "≤",
    ">",
    "<",
    "expected",
    "expect",
    "called",
    "named",
];
/// What says that a command is to succeed, once the words that carry nothing
/// are left out.
const SUCCESS: &[&str] = &[
    "",
    "passes",
    "pass",
    "succeeds",
    "succeed",
    "works",
    "work",
    "green",
    "is green",
    "completes",
    "completes successfully",
    "runs successfully",
    "exits 0",
    "exit 0",
    "exits with 0",
    "exits with code 0",
    "exits with status 0",
    "exit code 0",
    "exits with exit code 0",
    "exit code is 0",
    "returns exit code 0",
    "exits cleanly",
    "exits successfully",
    "exits zero",
    "be green",
    "are green",
];
/// Words that sound like an expectation, wherever they stand.
const EXPECTS: &[&str] = &[
    "returns", "return", "shows", "show", "prints", "print", "outputs", "equals", "nothing",
    "empty", "fails", "fail", "exits", "exit", "non-zero", "nonzero", "|",
];

/// What a command prints that looks for something. Not `errors`: a command that
/// shows none may print a lot.
const FINDINGS: &[&str] = &["output", "results", "matches", "hits", "occurrences", "lines"];

/// Whether code right behind these words is a value and no command.
pub(super) fn leads_to_a_value(words: &str) -> bool {
    let last = words.split_whitespace().next_back().unwrap_or_default();
    let last = last.trim_end_matches(':').to_lowercase();
    VERBS.contains(&last.as_str()) || VALUE_WORDS.contains(&last.as_str())
}

/// Reads the words behind a command.
pub(super) fn read(text: &str) -> Clause {
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    let plain: Vec<&str> = words
        .iter()
        .map(|word| word.trim_end_matches(['.', ',', ';', ':', '!']))
        .filter(|word| !word.is_empty() && !FILLERS.contains(word))
        .collect();
    if SUCCESS.contains(&plain.join(" ").as_str()) {
        return Clause::Succeeds;
    }
    let lead = words.iter().take_while(|w| FILLERS.contains(w) || VERBS.contains(w)).count();
    let (lead, rest) = words.split_at(lead);
    let said = lead.iter().any(|word| VERBS.contains(word));
    let returned = lead.iter().any(|word| matches!(*word, "returns" | "return"));
    match value(rest, said) {
        Some((what, more)) => Clause::Prints { what, returned, more },
        None => {
            let sounds = |word: &&str| {
                let word = word.trim_matches(['.', ',', ';', ':', '(', ')', '!']);
                EXPECTS.contains(&word) || word.starts_with(['≥', '≤']) || word.starts_with(">=")
            };
            Clause::Unread { expects: words.iter().any(sounds) }
        }
    }
}

/// What is printed, and whether words follow behind the end of the clause.
/// `said` tells whether a verb stands in front.
fn value(words: &[&str], said: bool) -> Option<(Expectation, bool)> {
    let (what, used) = match words {
        ["at", "least", n, ..] => (Expectation::AtLeast(number(n)?), 3),
        ["at", "most", n, ..] | ["up", "to", n, ..] => (Expectation::AtMost(number(n)?), 3),
        ["more" | "greater", "than", n, ..] => (above(n)?, 3),
        ["less" | "fewer", "than", n, ..] => (below(n)?, 3),
        [">=" | "≥", n, ..] => (Expectation::AtLeast(number(n)?), 2),
        ["<=" | "≤", n, ..] => (Expectation::AtMost(number(n)?), 2),
        [">", n, ..] => (above(n)?, 2),
        ["<", n, ..] => (below(n)?, 2),
        [n, "or", more, ..] if said => {
            let number = bare_number(n)?;
            match end_of(more) {
                "more" | "greater" | "higher" => (Expectation::AtLeast(number), 3),
                "less" | "fewer" | "lower" => (Expectation::AtMost(number), 3),
                _ => return None,
            }
        }
        ["no", word, ..] if FINDINGS.contains(&end_of(word)) => (Expectation::Nothing, 2),
        ["empty", word, ..] if end_of(word) == "output" => (Expectation::Nothing, 2),
        [word, ..] => match end_of(word) {
            "nothing" | "empty" => (Expectation::Nothing, 1),
            word => (glued(word, said)?, 1),
        },
        [] => return None,
    };
    let (read, rest) = words.split_at(used);
    let ends = rest.is_empty() || read.last().is_some_and(|word| end_of(word) != *word);
    // `3, or more` goes on.
    let goes_on = matches!(rest.first(), Some(&("or" | "but" | "unless" | "if")));
    (ends && !goes_on).then_some((what, !rest.is_empty()))
}

/// `>=5`, `5+`, `<3`, and a number alone if a verb stands in front.
fn glued(word: &str, said: bool) -> Option<Expectation> {
    if let Some(n) = word.strip_prefix(">=").or(word.strip_prefix('≥')) {
        return number(n).map(Expectation::AtLeast);
    }
    if let Some(n) = word.strip_prefix("<=").or(word.strip_prefix('≤')) {
        return number(n).map(Expectation::AtMost);
    }
    match word.as_bytes().first() {
        Some(b'>') => above(&word[1..]),
        Some(b'<') => below(&word[1..]),
        _ if !said => None,
        _ => match word.strip_suffix('+') {
            Some(n) => bare_number(n).map(Expectation::AtLeast),
            None => bare_number(word).map(Expectation::Number),
        },
    }
}

fn above(word: &str) -> Option<Expectation> {
    number(word)?.checked_add(1).map(Expectation::AtLeast)
}

fn below(word: &str) -> Option<Expectation> {
    number(word)?.checked_sub(1).map(Expectation::AtMost)
}

/// A word without the punctuation that ends a clause.
fn end_of(word: &str) -> &str {
    word.trim_end_matches(['.', ',', ';'])
}

fn number(word: &str) -> Option<i64> {
    bare_number(end_of(word))
}

/// Nothing but digits, perhaps below zero, and written as they are printed.
fn bare_number(word: &str) -> Option<i64> {
    let n: i64 = word.parse().ok()?;
    (n.to_string() == word).then_some(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prints(text: &str) -> Option<String> {
        match read(text) {
            Clause::Prints { what, .. } => Some(what.to_string()),
            _ => None,
        }
    }

    #[test]
    fn an_expectation_means_what_a_reader_takes_it_for() {
        for (text, meant) in [
            ("returns 0", "0"),
            ("should return 3.", "3"),
            ("Shows 12, as before", "12"),
            ("prints -1", "-1"),
            ("outputs 4", "4"),
            ("equals 4", "4"),
            ("→ 4", "4"),
            ("== 4", "4"),
            ("returns >=5", "5 or more"),
            (">= 5", "5 or more"),
            ("returns ≥5", "5 or more"),
            ("shows 5+", "5 or more"),
            ("returns at least 5", "5 or more"),
            ("prints 5 or more", "5 or more"),
            ("returns > 0", "1 or more"),
            ("returns more than 2.", "3 or more"),
            ("prints <= 5", "5 or less"),
            ("prints less than 5", "4 or less"),
            ("returns nothing", "nothing"),
            ("should print no output.", "nothing"),
            ("no output", "nothing"),
            ("output is empty", "nothing"),
            ("finds nothing, at last", "nothing"),
            ("returns no results", "nothing"),
            ("no matches.", "nothing"),
        ] {
            assert_eq!(prints(text).as_deref(), Some(meant), "{text}");
        }
    }

    #[test]
    fn what_is_not_read_is_not_guessed() {
        for text in [
            "shows 2 directories",
            "returns 0 errors",
            "shows 3 passing",
            "returns 3, or more if it rains",
            "returns 3 (or more)",
            "returns at least 5 lines",
            "returns 1.5",
            "returns 007",
            "fails",
            "exits non-zero",
            "should exit with code 1",
            "shows no errors",
            "returns a list",
            "prints 99999999999999999999",
        ] {
            assert_eq!(read(text), Clause::Unread { expects: true }, "{text}");
        }
        assert_eq!(read("and look at the page"), Clause::Unread { expects: false });
        assert_eq!(read("5"), Clause::Unread { expects: false });
    }

    #[test]
    fn words_of_success_are_understood() {
        for text in
            ["", " . ", "**", "passes", "must pass.", "both pass", "exits with code 0", "is green"]
        {
            assert_eq!(read(text), Clause::Succeeds, "{text:?}");
        }
    }

    mod properties {
        use proptest::prelude::*;

        use super::*;

        proptest! {
            #[test]
            fn every_expectation_holds_for_its_example_and_its_words_are_read_again(n in any::<i32>()) {
                let n = i64::from(n);
                for what in [
                    Expectation::Number(n),
                    Expectation::AtLeast(n),
                    Expectation::AtMost(n),
                    Expectation::Nothing,
                ] {
                    prop_assert!(what.holds(&what.example()));
                    prop_assert!(!what.holds("x"));
                    prop_assert_eq!(prints(&format!("prints {what}")), Some(what.to_string()));
                }
            }

            #[test]
            fn words_without_a_number_expect_none(text in "[^0-9]{0,40}") {
                if let Clause::Prints { what, .. } = read(&text) {
                    prop_assert_eq!(what, Expectation::Nothing, "{}", text);
                }
            }
        }
    }
}
