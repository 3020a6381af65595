//! Edits of a spec's documents by code: each changes only what it names, and nothing when
//! it has been made before. The journal keeps them, so that an interrupted edit can be
//! completed.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Doc;
use super::outline::{LineKind, Outline};
use super::question::questions;
use super::requirements::Requirements;
use crate::digest::ContentDigest;
use crate::line;

/// The mark of the byte order that some editors write.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// An edit of one document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum DocEdit {
    /// What an author has written elsewhere takes the place of the text that the author
    /// began with. A text that is another one by now stays.
    Put {
        /// The document.
        doc: Doc,
        /// The digest of the text that it replaces; absent if there was none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        over: Option<String>,
        /// The new text.
        text: String,
    },
    /// The front matter has these keys; all others stay as they are.
    FrontMatter {
        /// The document.
        doc: Doc,
        /// The keys that code keeps, with their values.
        keys: Vec<(String, String)>,
    },
    /// An open question is answered.
    Answer {
        /// The document.
        doc: Doc,
        /// Its id.
        question: String,
        /// The answer.
        answer: String,
    },
    /// A requirement does not hold any more. Its line stays, and its number with it.
    Retire {
        /// The document.
        doc: Doc,
        /// Its id.
        id: String,
    },
}

impl DocEdit {
    /// The document that it changes.
    pub fn doc(&self) -> Doc {
        match self {
            DocEdit::Put { doc, .. }
            | DocEdit::FrontMatter { doc, .. }
            | DocEdit::Answer { doc, .. }
            | DocEdit::Retire { doc, .. } => *doc,
        }
    }

    /// A document with all edits made that concern it; `None` if it stays as it is.
    pub fn apply_all(edits: &[DocEdit], doc: Doc, before: Option<&[u8]>) -> Option<Vec<u8>> {
        let mut text = before.map(<[u8]>::to_vec);
        for edit in edits.iter().filter(|edit| edit.doc() == doc) {
            if let Some(after) = edit.apply(text.as_deref()) {
                text = Some(after);
            }
        }
        text.filter(|after| Some(after.as_slice()) != before)
    }

    /// The text with the edit made; `None` if it stays as it is. Only a text that an
    /// author has written makes a document that was not there.
    fn apply(&self, text: Option<&[u8]>) -> Option<Vec<u8>> {
        match (self, text) {
            (DocEdit::Put { over: None, text, .. }, None) => Some(text.clone().into_bytes()),
            (DocEdit::Put { over: Some(over), text, .. }, Some(now)) => {
                ContentDigest::matches(over, now).then(|| text.clone().into_bytes())
            }
            (DocEdit::Put { .. }, _) | (_, None) => None,
            (DocEdit::FrontMatter { keys, .. }, Some(text)) => Some(with_keys(text, keys)),
            (DocEdit::Answer { question, answer, .. }, Some(text)) => {
                answered(text, question, answer)
            }
            (DocEdit::Retire { id, .. }, Some(text)) => retired(text, id),
        }
    }
}

/// The text with these keys in its front matter.
fn with_keys(text: &[u8], keys: &[(String, String)]) -> Vec<u8> {
    // A mark of the byte order stays where it is looked for.
    if let Some(body) = text.strip_prefix(MARK) {
        return [MARK, &with_keys(body, keys)].concat();
    }
    let outline = Outline::scan(text);
    let end = line::line_ending(text);
    let is_key = |line: &str, key: &str| {
        line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'))
    };
    let last = match outline.lines.first() {
        Some(first) if first.kind == LineKind::Hidden && first.text.trim_end() == "---" => {
            outline.lines.iter().skip(1).find(|line| {
                line.kind == LineKind::Hidden && matches!(line.text.trim_end(), "---" | "...")
            })
        }
        _ => None,
    };
    let Some(last) = last else {
        let keys = keys.iter().map(|(key, value)| format!("{key}: {value}{end}"));
        let head = format!("---{end}{}---{end}", keys.collect::<String>());
        return [head.as_bytes(), text].concat();
    };
    let mut patches = Vec::new();
    let mut missing = String::new();
    for (key, value) in keys {
        let lines = &outline.lines[1..last.number - 1];
        match lines.iter().find(|line| is_key(&line.text, key)) {
            Some(found) => {
                let raw = text.get(found.span.clone()).unwrap_or_default();
                let at = found.span.start..found.span.start + raw.trim_ascii_end().len();
                patches.push((at, format!("{key}: {value}")));
            }
            None => missing.push_str(&format!("{key}: {value}{end}")),
        }
    }
    patches.push((last.span.start..last.span.start, missing));
    patched(text, patches)
}

/// The text with a question answered; `None` if nobody asks it, or it has an answer.
fn answered(text: &[u8], id: &str, answer: &str) -> Option<Vec<u8>> {
    let outline = Outline::scan(text);
    let found = questions(&outline);
    let question = found
        .iter()
        .find(|question| question.id.as_ref().is_some_and(|known| known.to_string() == id))?;
    if question.answer.is_some() {
        return None;
    }
    let line = &outline.lines[question.line - 1];
    let raw = text.get(line.span.clone())?;
    let bare = raw.trim_ascii_end();
    let answer = answer.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut patches =
        vec![(line.span.start + bare.len()..line.span.start + bare.len(), format!(" → {answer}"))];
    if let Some(at) = memchr::memmem::find(bare, b"[ ]") {
        let place = line.span.start + at + 1;
        patches.insert(0, (place..place + 1, "x".to_owned()));
    }
    Some(patched(text, patches))
}

/// The text with a requirement retired; `None` if nobody states it, or it is already.
fn retired(text: &[u8], id: &str) -> Option<Vec<u8>> {
    let outline = Outline::scan(text);
    let stated = Requirements::of(&outline);
    let all = stated.stories.iter().chain(&stated.criteria).chain(&stated.requirements);
    let statement = all.into_iter().find(|one| one.id.to_string() == id && !one.is_retired)?;
    let line = &outline.lines[statement.line - 1];
    let raw = text.get(line.span.clone())?;
    let at = memchr::memmem::find(raw, id.as_bytes())? + id.len();
    let behind = raw[at..].iter().take_while(|byte| matches!(**byte, b'*' | b'_')).count();
    let place = line.span.start + at + behind;
    Some(patched(text, vec![(place..place, " (retired)".to_owned())]))
}

/// The text with each range replaced; the ranges stand in order.
fn patched(text: &[u8], patches: Vec<(Range<usize>, String)>) -> Vec<u8> {
    let mut patches = patches;
    patches.sort_by_key(|(range, _)| (range.start, range.end));
    let mut after = Vec::with_capacity(text.len() + 64);
    let mut at = 0;
    for (range, new) in patches {
        after.extend_from_slice(text.get(at..range.start).unwrap_or_default());
        after.extend_from_slice(new.as_bytes());
        at = range.end;
    }
    after.extend_from_slice(text.get(at..).unwrap_or_default());
    after
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::samples::REQUIREMENTS;
    use super::*;

    fn keys(keys: &[(&str, &str)]) -> DocEdit {
        let keys = keys.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        DocEdit::FrontMatter { doc: Doc::Design, keys: keys.collect() }
    }

    fn text(edit: &DocEdit, text: &str) -> String {
        let after = edit.apply(Some(text.as_bytes())).unwrap_or(text.as_bytes().to_vec());
        assert_eq!(edit.apply(Some(&after)).unwrap_or(after.clone()), after, "made twice");
        String::from_utf8(after).unwrap()
    }

    #[test]
    fn front_matter_keeps_every_key_that_is_not_ours() {
        let edit = keys(&[("spec", "demo"), ("phase", "design")]);
        assert_eq!(text(&edit, "# D\n"), "---\nspec: demo\nphase: design\n---\n# D\n");
        assert_eq!(
            text(&edit, "---\r\nverify: x\r\nspec: old\r\n---\r\n# D\r\n"),
            "---\r\nverify: x\r\nspec: demo\r\nphase: design\r\n---\r\n# D\r\n"
        );
        let rule = "---\nno front matter, a rule\n";
        assert_eq!(text(&edit, rule), format!("---\nspec: demo\nphase: design\n---\n{rule}"));
    }

    #[test]
    fn an_answer_is_written_behind_its_question_once() {
        let edit = |answer: &str| DocEdit::Answer {
            doc: Doc::Requirements,
            question: "Q-1".into(),
            answer: answer.into(),
        };
        let answered = text(&edit("SMTP as\ntoday"), REQUIREMENTS);
        let line = "- [x] Q-1: Which mailer sends the link? (affects FR-1) → SMTP as today\n";
        assert!(answered.contains(line), "{answered}");
        assert_eq!(text(&edit("another"), &answered), answered);
        let missing =
            DocEdit::Answer { doc: Doc::Requirements, question: "Q-9".into(), answer: "x".into() };
        assert_eq!(text(&missing, REQUIREMENTS), REQUIREMENTS);
    }

    #[test]
    fn what_is_retired_keeps_its_line() {
        let edit = DocEdit::Retire { doc: Doc::Requirements, id: "FR-2".into() };
        let after = text(&edit, REQUIREMENTS);
        assert!(after.contains("| FR-2 (retired) | An expired link is refused |"), "{after}");
        assert_eq!(after.lines().count(), REQUIREMENTS.lines().count());
    }

    #[test]
    fn an_authors_text_replaces_only_what_the_author_has_read() {
        let put = |over: Option<&str>| DocEdit::Put {
            doc: Doc::Design,
            over: over.map(|text| ContentDigest::of(text.as_bytes()).to_string()),
            text: "new\n".into(),
        };
        let apply = |edit: DocEdit, now: Option<&str>| {
            DocEdit::apply_all(&[edit], Doc::Design, now.map(str::as_bytes))
        };
        assert_eq!(apply(put(None), None).as_deref(), Some(&b"new\n"[..]));
        assert_eq!(apply(put(None), Some("a person's")), None);
        assert_eq!(apply(put(Some("old")), Some("old")).as_deref(), Some(&b"new\n"[..]));
        assert_eq!(apply(put(Some("old")), Some("a person's")), None);
        assert_eq!(apply(put(Some("old")), None), None, "a person has deleted it");
        assert_eq!(apply(put(Some("old")), Some("new\n")), None, "made before");
    }

    proptest! {
        #[test]
        fn edits_of_any_bytes_can_be_made_twice(text in any::<Vec<u8>>(), front in any::<bool>()) {
            let text = if front { [b"---\nspec: x\n---\n".as_slice(), &text].concat() } else { text };
            for edit in [
                keys(&[("spec", "demo"), ("created", "2026-01-01")]),
                DocEdit::Answer { doc: Doc::Design, question: "Q-1".into(), answer: "a".into() },
                DocEdit::Retire { doc: Doc::Design, id: "FR-1".into() },
            ] {
                let once = edit.apply(Some(&text)).unwrap_or_else(|| text.clone());
                let twice = edit.apply(Some(&once)).unwrap_or_else(|| once.clone());
                prop_assert_eq!(once, twice);
            }
        }
    }
}
