//! The checks of a whole plan: what is run for the tasks that have no check of their
//! own, and what is run for every task behind its own.
//!
//! They stand in the settings, in the front matter of a plan, or on the command line
//! of one run. What counts is on record with the plan, see [`crate::plan_record`].

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::check::{Finding, Severity};
use crate::line;
use crate::settings;
use crate::tasks::{Command, Shell};

/// The key of the check for tasks that have none.
pub const VERIFY: &str = "verify";
/// The key of the check for every task.
pub const VERIFY_ALL: &str = "verify_all";

/// The checks of a whole plan, as shell commands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suite {
    /// What checks a task that has no command of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<String>,
    /// What is run for every task, behind its own check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verify_all: Vec<String>,
    /// Whether the command line of one run has said so, where nobody else can look.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
}

impl Suite {
    /// What `--verify` asks for.
    pub fn once(verify: Vec<String>) -> Suite {
        Suite { once: !verify.is_empty(), verify, verify_all: Vec::new() }
    }

    /// Whether it asks for nothing.
    pub fn is_empty(&self) -> bool {
        self.verify.is_empty() && self.verify_all.is_empty()
    }

    /// The same, with what it leaves open taken from another.
    #[must_use]
    pub fn over(self, below: Suite) -> Suite {
        let or = |mine: Vec<String>, other| if mine.is_empty() { other } else { mine };
        Suite {
            verify: or(self.verify, below.verify),
            verify_all: or(self.verify_all, below.verify_all),
            once: self.once || below.once,
        }
    }

    /// Whether the same is run, wherever it was said.
    pub fn runs_the_same_as(&self, other: &Suite) -> bool {
        self.verify == other.verify && self.verify_all == other.verify_all
    }

    /// Where the check of this key comes from.
    pub fn origin(&self, key: &str, plan: &[u8]) -> Origin {
        if self.once && key == VERIFY {
            return Origin::Typed;
        }
        let of_plan = in_plan(plan).0;
        match self.of_key(key) == of_plan.of_key(key) {
            true => line_in_plan(key, plan).map_or(Origin::Settings, Origin::FrontMatter),
            false => Origin::Settings,
        }
    }

    /// Whose command this is, in words.
    pub(crate) fn whose(&self, command: &Command, plan: &[u8]) -> String {
        let holds =
            |key: &&str| self.of_key(key).iter().any(|text| text.as_bytes() == command.text);
        let key = [VERIFY, VERIFY_ALL].into_iter().find(holds).unwrap_or(VERIFY);
        self.origin(key, plan).shown(key)
    }

    /// The commands of a key.
    pub(crate) fn of_key(&self, key: &str) -> &[String] {
        if key == VERIFY { &self.verify } else { &self.verify_all }
    }

    /// Its commands in a few words.
    pub fn shown(&self) -> String {
        let quoted = |texts: &[String]| {
            texts.iter().map(|text| format!("`{}`", shortly(text))).collect::<Vec<_>>().join(", ")
        };
        match (self.verify.is_empty(), self.verify_all.is_empty()) {
            (true, true) => "no check".to_owned(),
            (false, true) => quoted(&self.verify),
            (true, false) => format!("{VERIFY_ALL}: {}", quoted(&self.verify_all)),
            (false, false) => {
                format!("{}, {VERIFY_ALL}: {}", quoted(&self.verify), quoted(&self.verify_all))
            }
        }
    }
}

/// Where a check of the whole plan comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It was typed for one run.
    Typed,
    /// It stands in the front matter of the plan, at this line.
    FrontMatter(usize),
    /// It stands in the settings.
    Settings,
}

impl Origin {
    /// The check of this key, in words that say where to correct it.
    pub fn shown(self, key: &str) -> String {
        match self {
            Origin::Typed => format!("`--{key}`"),
            Origin::FrontMatter(_) => format!("`{key}` in the front matter"),
            Origin::Settings => format!("`{key}` in the settings"),
        }
    }
}

/// How much of a command is shown in a sentence.
const SHORTLY: usize = 60;

fn shortly(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let head = line::head(&words, SHORTLY);
    if head.len() < words.len() { format!("{head}…") } else { words }
}

/// The commands that such texts are: a text of several lines stops at the first that
/// fails.
pub(crate) fn commands(texts: &[String]) -> impl Iterator<Item = Command> + '_ {
    texts.iter().map(|text| {
        let shell = if text.contains('\n') { Shell::ShBlock } else { Shell::Sh };
        let mut command = Command::plain(text);
        (command.shell, command.suite) = (shell, true);
        command
    })
}

/// The commands of a setting.
pub(crate) fn value(key: &str, value: &Value) -> Result<Vec<String>, String> {
    let empty = || {
        format!(
            "`{key}` is empty: write the command that checks the work, such as `npm test`, or \
             remove the line"
        )
    };
    let one = |value: &Value| match value {
        Value::String(text) => {
            let text = text.trim();
            // As in a plan, where a command stands in backticks.
            let bare = text.strip_prefix('`').and_then(|text| text.strip_suffix('`'));
            let bare = bare.filter(|bare| !bare.contains('`')).unwrap_or(text).trim();
            (!bare.is_empty()).then(|| bare.to_owned()).ok_or_else(empty)
        }
        Value::Null => Err(empty()),
        other => Err(format!("`{key}` must be a command or a list of commands, not {other}")),
    };
    match value {
        Value::Array(items) if items.is_empty() => Err(empty()),
        Value::Array(items) => items.iter().map(one).collect(),
        value => one(value).map(|text| vec![text]),
    }
}

/// The checks that the front matter of a plan asks for, and what is wrong there. Other
/// keys are somebody else's.
pub fn in_plan(text: &[u8]) -> (Suite, Vec<Finding>) {
    let (mut suite, mut findings) = (Suite::default(), Vec::new());
    let mut lines = line::lines(text);
    if lines.next().is_none_or(|first| first.text.trim_ascii_end() != b"---") {
        return (suite, findings);
    }
    let mut add = |line: usize, severity: Severity, message: String| {
        findings.push(Finding { line, severity, message });
    };
    let is_end = |line: &line::Line<'_>| matches!(line.text.trim_ascii_end(), b"---" | b"...");
    let end = lines.position(|line| is_end(&line));
    let entries = settings::entries(settings::Place::Person, text);
    let Some(end) = end else {
        // It may be a line across the page.
        let begins = entries.iter().take_while(|entry| !entry.text.starts_with('#'));
        if begins.map(key_of).any(|key| [VERIFY, VERIFY_ALL].contains(&key.as_str())) {
            let message = "the front matter has no end, so nothing in it is read: put a line `---` \
                           behind it";
            add(1, Severity::Error, message.into());
        }
        return (suite, findings);
    };
    let inside = &text[line::lines(text).next().map_or(0, |first| first.end)..];
    let inside: Vec<String> =
        line::lines(inside).take(end).map(|line| line::readable(line.text)).collect();
    for entry in entries {
        let key = key_of(&entry);
        let field = match key.as_str() {
            VERIFY => &mut suite.verify,
            VERIFY_ALL => &mut suite.verify_all,
            other => {
                if let Some(meant) = meant(other) {
                    let message =
                        format!("`{other}` in the front matter is not read; write `{meant}`");
                    add(entry.line, Severity::Warning, message);
                }
                continue;
            }
        };
        let read = settings::yaml_value(&entry.text)
            .map_err(|why| {
                format!("`{key}` in the front matter is no YAML: {why}; put the command in quotes")
            })
            .and_then(|read| value(&key, read.get(&key).unwrap_or(&Value::Null)));
        match read {
            Ok(_) if !field.is_empty() => {
                let message =
                    format!("`{key}` stands twice in the front matter; the first one counts");
                add(entry.line, Severity::Error, message);
            }
            Ok(texts) => *field = texts,
            Err(message) => add(entry.line, Severity::Error, message),
        }
    }
    let is_said = findings.iter().any(|finding| finding.severity == Severity::Error);
    if let Err(why) = settings::yaml_value(&inside.join("\n"))
        && !is_said
    {
        let (line, why) = placed(&why);
        let severity = Severity::Warning;
        let message = format!("the front matter is no YAML: {why}. Put the value in quotes");
        findings.push(Finding { line: line + 1, severity, message });
    }
    (suite, findings)
}

/// The key of an entry, as it is written.
fn key_of(entry: &settings::SettingEntry) -> String {
    let key = entry.text.split(':').next().unwrap_or_default();
    key.trim().trim_matches(['"', '\'']).to_owned()
}

/// The line in which the front matter of a plan has a key, from 1.
fn line_in_plan(key: &str, plan: &[u8]) -> Option<usize> {
    let entries = settings::entries(settings::Place::Person, plan);
    entries.iter().find(|entry| key_of(entry) == key).map(|entry| entry.line)
}

/// In which line something is wrong, from 1, and what.
fn placed(why: &str) -> (usize, &str) {
    let split = || {
        let (place, what) = why.strip_prefix("line ")?.split_once(": ")?;
        Some((place.split(' ').next()?.parse().ok()?, what))
    };
    split().unwrap_or((0, why))
}

/// The key that a person has meant who wrote another.
fn meant(key: &str) -> Option<&'static str> {
    let bare: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
    match bare.to_ascii_lowercase().as_str() {
        "verify" => Some(VERIFY),
        "verifyall" => Some(VERIFY_ALL),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(plan: &str) -> (Suite, String) {
        let (suite, findings) = in_plan(plan.as_bytes());
        let lines =
            findings.iter().map(|f| format!("{}: {:?}: {}\n", f.line, f.severity, f.message));
        (suite, lines.collect())
    }

    #[test]
    fn a_front_matter_may_name_checks() {
        let (suite, said) = read(
            "---\nspec: x\nverify: npm test\nverify_all:\n  - make lint\n  - \"`make fmt`\"\n---\n- [ ] 1.1 a\n",
        );
        assert_eq!(said, "");
        assert_eq!(suite.verify, ["npm test"]);
        assert_eq!(suite.verify_all, ["make lint", "make fmt"]);
        assert_eq!(suite.shown(), "`npm test`, verify_all: `make lint`, `make fmt`");
        let (suite, _) = read("---\nverify: |\n  npm ci\n  npm test\n---\n");
        assert_eq!(suite.verify, ["npm ci\nnpm test"]);
        let run: Vec<Command> = commands(&suite.verify).collect();
        assert!(run[0].suite && run[0].shell == Shell::ShBlock);
    }

    #[test]
    fn what_is_no_front_matter_is_none() {
        for plan in ["", "- [ ] 1.1 a\nverify: x\n", "# a\n---\nverify: x\n---\n", "---\n\ntext\n"]
        {
            assert_eq!(read(plan), (Suite::default(), String::new()), "{plan}");
        }
    }

    #[test]
    fn mistakes_in_a_front_matter_are_named() {
        insta::assert_snapshot!(read("---\nverify:\n---\n").1, @"2: Error: `verify` is empty: write the command that checks the work, such as `npm test`, or remove the line");
        insta::assert_snapshot!(read("---\nverify: [a, b: {]\n---\n").1, @"2: Error: `verify` in the front matter is no YAML: line 1 column 16: mismatched bracket '{' closed by ']'; put the command in quotes");
        insta::assert_snapshot!(read("---\nverify: x\nVerify-All: y\nverify: z\n---\n").1, @"
        3: Warning: `Verify-All` in the front matter is not read; write `verify_all`
        4: Error: `verify` stands twice in the front matter; the first one counts
        ");
        insta::assert_snapshot!(read("---\nverify: npm test\n\n- [ ] 1.1 a\n").1, @"1: Error: the front matter has no end, so nothing in it is read: put a line `---` behind it");
        insta::assert_snapshot!(read("---\ntitle: a: b: c\nverify: make\n---\n").1, @"2: Warning: the front matter is no YAML: mapping values are not allowed in this context. Put the value in quotes");
        assert_eq!(read("---\ntitle: a: b: c\nverify: make\n---\n").0.verify, ["make"]);
    }

    #[test]
    fn what_is_said_nearer_counts_more() {
        let once = Suite::once(vec!["a".into()]);
        let below = Suite { verify: vec!["b".into()], verify_all: vec!["c".into()], once: false };
        let both = once.over(below.clone());
        assert_eq!((both.verify[0].as_str(), both.verify_all[0].as_str()), ("a", "c"));
        assert!(both.once && !Suite::once(Vec::new()).over(below.clone()).once);
        assert!(Suite::default().over(below.clone()).runs_the_same_as(&below));
    }
}
