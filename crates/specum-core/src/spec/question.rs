//! The open questions of a document: each with its answers, one of which is taken if
//! nobody says otherwise.

use super::id::{Id, Kind, ids_in};
use super::outline::{DocLine, LineKind, Outline, item_text};

/// A question for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Its id, if it has one.
    pub id: Option<Id>,
    /// Its line, from 1.
    pub line: usize,
    /// What is asked, without what it affects.
    pub text: String,
    /// What stands behind the arrow, once it is answered.
    pub answer: Option<String>,
    /// The answers that its writer has thought of.
    pub options: Vec<Choice>,
    /// What the answer changes.
    pub affects: Vec<Id>,
}

/// One answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Its line, from 1.
    pub line: usize,
    /// What it says.
    pub text: String,
    /// Whether it is taken if nobody says otherwise.
    pub is_default: bool,
}

/// The titles of the section.
pub const TITLES: &[&str] = &["Open Questions", "Unresolved Questions"];

/// The questions of a document. "None: why" is no question.
pub fn questions(outline: &Outline) -> Vec<Question> {
    let Some(section) = outline.section(TITLES) else { return Vec::new() };
    let mut found: Vec<Question> = Vec::new();
    for line in outline.lines_of(section).filter(|line| line.kind == LineKind::Text) {
        let Some(text) = item_text(&line.text) else { continue };
        let is_nested = line.text.starts_with([' ', '\t']);
        match found.last_mut().filter(|_| is_nested) {
            Some(question) => question.options.push(choice(line, text)),
            None if text.to_lowercase().starts_with("none") => {}
            None => found.push(question(line, text)),
        }
    }
    found
}

fn question(line: &DocLine, text: &str) -> Question {
    let is_ticked = line.text.contains("[x]") || line.text.contains("[X]");
    let (id, text) = match Id::at_start(text).filter(|(id, _)| id.kind == Kind::Question) {
        Some((id, length)) => (Some(id), text[length..].trim_start_matches([':', ' ', '*'])),
        None => (None, text),
    };
    let (asked, answer) = match text.split_once('→') {
        Some((asked, answer)) => (asked.trim(), Some(answer.trim().to_owned())),
        None => (text, is_ticked.then(String::new)),
    };
    let (asked, affects) = match asked.rfind("(affects") {
        Some(at) => (asked[..at].trim_end(), ids_in(&asked[at..])),
        None => (asked, Vec::new()),
    };
    let text = asked.to_owned();
    Question { id, line: line.number, text, answer, options: Vec::new(), affects }
}

fn choice(line: &DocLine, text: &str) -> Choice {
    let marked = text.strip_prefix("(default)");
    let text = marked.unwrap_or(text).trim().to_owned();
    Choice { line: line.number, text, is_default: marked.is_some() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_has_answers_and_one_of_them_is_the_default() {
        let text = "## Open Questions\n- [ ] Q-1: Which mailer? (affects FR-1, C-2)\n  \
                    - (default) SMTP\n  - An API: bounces are seen\n- [x] Q-2: Twice? → no\n";
        let found = questions(&Outline::scan(text.as_bytes()));
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].text, "Which mailer?");
        assert_eq!(found[0].affects.len(), 2);
        assert_eq!(found[0].answer, None);
        let defaults: Vec<bool> = found[0].options.iter().map(|choice| choice.is_default).collect();
        assert_eq!(defaults, [true, false]);
        assert_eq!(found[1].answer.as_deref(), Some("no"));
    }

    #[test]
    fn none_is_no_question() {
        let of = |text: &str| questions(&Outline::scan(text.as_bytes())).len();
        assert_eq!(of("## Open Questions\n- None: all is said\n"), 0);
        assert_eq!(of("## Open Questions\nNone: all is said\n"), 0);
        assert_eq!(of("# Nothing\n"), 0);
    }
}
