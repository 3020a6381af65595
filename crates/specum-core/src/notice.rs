//! What a person who is not looking wants to hear of: when a run needs them, or is over.
//!
//! A notice is handed to a command of the user's. Its text may hold the words of agents
//! and plans, so it is one line, of bounded length, without a character that steers.

use serde::Serialize;

use crate::event::Outcome;
use crate::line;
use crate::sanitize;

/// The longest text of a notice.
const MAX_TEXT: usize = 200;

/// A kind of notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Notice {
    /// A task has used its attempts.
    Blocked,
    /// A cap is reached.
    Capped,
    /// No agent can work.
    NoAgent,
    /// Attempts came to nothing, one after another.
    Circuit,
    /// Something failed that is no task's fault.
    Failed,
    /// The run waits for a person's word.
    Approval,
    /// What was asked for is done.
    Complete,
    /// A limit is waited for, for a while.
    Waiting,
}

/// How long a wait has to be to be worth a notice, in milliseconds.
pub const LONG_WAIT: u64 = 15 * 60_000;

impl Notice {
    /// All of them; what a command is started for where nothing else is said.
    pub const ALL: [Notice; 8] = [
        Notice::Blocked,
        Notice::Capped,
        Notice::NoAgent,
        Notice::Circuit,
        Notice::Failed,
        Notice::Approval,
        Notice::Complete,
        Notice::Waiting,
    ];

    /// Its name in the settings and in `SPECUM_EVENT`.
    pub fn name(self) -> &'static str {
        match self {
            Notice::Blocked => "blocked",
            Notice::Capped => "capped",
            Notice::NoAgent => "no-agent",
            Notice::Circuit => "circuit",
            Notice::Failed => "failed",
            Notice::Approval => "approval",
            Notice::Complete => "complete",
            Notice::Waiting => "waiting",
        }
    }
}

/// The kind of this name, or what is wrong with it.
pub fn by_name(name: &str) -> Result<Notice, String> {
    let named = Notice::ALL.into_iter().find(|notice| notice.name() == name);
    named.ok_or_else(|| {
        let names = Notice::ALL.map(Notice::name);
        match crate::nearest(name, names) {
            Some(near) => format!("there is no `{name}`; did you mean `{near}`?"),
            None => format!("there is no `{name}`; there are {}", names.join(", ")),
        }
    })
}

/// What is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// The kind.
    pub event: Notice,
    /// The spec.
    pub spec: String,
    /// A few words for a heading.
    pub title: String,
    /// One line.
    pub text: String,
    /// The project's root.
    pub project: String,
}

impl Message {
    /// A message, made fit to be shown anywhere.
    pub fn new(event: Notice, spec: &str, text: &str, project: &str) -> Message {
        let what = match event {
            Notice::Blocked => "blocked",
            Notice::Capped => "reached a cap",
            Notice::NoAgent => "no agent can work",
            Notice::Circuit | Notice::Failed => "failed",
            Notice::Approval => "waits for you",
            Notice::Complete => "complete",
            Notice::Waiting => "waits for a limit",
        };
        let spec = one_line(spec);
        let title = format!("{spec}: {what}");
        Message { event, title, text: one_line(text), spec, project: project.to_owned() }
    }

    /// What the end of a run is worth telling. `waits` says why it is paused, if nobody
    /// but specum wanted that: a person who stopped it knows.
    pub fn of_outcome(
        outcome: &Outcome,
        waits: Option<&str>,
        (done, total): (usize, usize),
        spec: &str,
        project: &str,
    ) -> Option<Message> {
        let done = format!("{done} of {total} tasks done");
        let (event, text) = match outcome {
            Outcome::Complete | Outcome::ChosenDone { .. } => (Notice::Complete, done),
            Outcome::Planned => (Notice::Complete, "the plan is written".to_owned()),
            Outcome::Blocked { why } => (Notice::Blocked, format!("{done}; {why}")),
            Outcome::Capped { why } => (Notice::Capped, format!("{done}; {why}")),
            Outcome::NoAgent { why } => (Notice::NoAgent, format!("{done}; {why}")),
            Outcome::Circuit { why } => (Notice::Circuit, format!("{done}; {why}")),
            Outcome::Failed { why } => (Notice::Failed, format!("{done}; {why}")),
            Outcome::Waits { why } => (Notice::Approval, format!("{done}; {why}")),
            Outcome::Paused => (Notice::Approval, format!("{done}; {}", waits?)),
            Outcome::Cancelled | Outcome::TakenOver | Outcome::Interrupted => return None,
        };
        Some(Message::new(event, spec, &text, project))
    }
}

/// A text in one line of at most [`MAX_TEXT`] bytes, without what steers a terminal or
/// turns the direction of writing.
fn one_line(text: &str) -> String {
    let words = sanitize::one_line(text);
    if words.len() <= MAX_TEXT {
        return words;
    }
    format!("{}…", line::head(&words, MAX_TEXT - '…'.len_utf8()).trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(outcome: &Outcome, waits: Option<&str>) -> Option<String> {
        let message = Message::of_outcome(outcome, waits, (3, 4), "app", "/p")?;
        Some(format!("{} | {} | {}", message.event.name(), message.title, message.text))
    }

    #[test]
    fn whatever_a_person_did_not_do_is_told() {
        let why = || "task 1.2 failed".to_owned();
        let told = |outcome| of(&outcome, None).unwrap();
        insta::assert_snapshot!(told(Outcome::Complete), @"complete | app: complete | 3 of 4 tasks done");
        insta::assert_snapshot!(told(Outcome::Blocked { why: why() }), @"blocked | app: blocked | 3 of 4 tasks done; task 1.2 failed");
        insta::assert_snapshot!(told(Outcome::Waits { why: why() }), @"approval | app: waits for you | 3 of 4 tasks done; task 1.2 failed");
        for silent in
            [Outcome::Paused, Outcome::Cancelled, Outcome::Interrupted, Outcome::TakenOver]
        {
            assert_eq!(of(&silent, None), None, "{silent:?}");
        }
        let paused = of(&Outcome::Paused, Some("HEAD has moved")).unwrap();
        assert_eq!(paused, "approval | app: waits for you | 3 of 4 tasks done; HEAD has moved");
    }

    #[test]
    fn a_text_is_one_clean_line_of_bounded_length() {
        let hostile = format!("a\n\x1b]2;x\x07\u{202e}b\0{}", "é".repeat(500));
        let message = Message::new(Notice::Failed, "a\nb", &hostile, "/p");
        assert!(message.text.starts_with("a bé"), "{}", message.text);
        assert!(message.text.ends_with('…') && message.text.len() <= MAX_TEXT);
        assert_eq!(message.title, "a b: failed");
    }

    #[test]
    fn every_kind_has_a_name_of_its_own_and_a_misspelt_one_is_helped() {
        for notice in Notice::ALL {
            assert_eq!(by_name(notice.name()), Ok(notice));
            assert_eq!(serde_json::to_value(notice).unwrap(), notice.name());
        }
        assert_eq!(by_name("bloked"), Err("there is no `bloked`; did you mean `blocked`?".into()));
    }
}
