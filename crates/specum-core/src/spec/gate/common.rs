//! What holds for every document: its sections, its length, its questions; and the facts
//! of a research.

use super::{Facts, Findings, Look, Rule, Spec};
use crate::check::Severity;
use crate::spec::Doc;
use crate::spec::id::{Id, Kind};
use crate::spec::outline::{LineKind, Outline, without_code};
use crate::spec::question::{Question, questions};
use crate::spec::research::Research;

/// The sections of a document's form, each with the titles it may have.
fn form(doc: Doc) -> &'static [&'static [&'static str]] {
    const QUESTIONS: &[&str] = crate::spec::question::TITLES;
    match doc {
        Doc::Research => &[
            &["Executive Summary", "Summary", "Overview"],
            &["Codebase Analysis"],
            &["External Research"],
            &["Constraints"],
            &["Verification", "Verification Tooling", "Quality Commands"],
            &["Related Specs"],
            &["Feasibility Assessment"],
            &["Recommendations for Requirements", "Recommendations"],
            QUESTIONS,
        ],
        Doc::Requirements => &[
            &["Goal", "Summary", "Overview"],
            &["User Stories"],
            &["Functional Requirements"],
            &["Non-Functional Requirements"],
            &["Out of Scope"],
            QUESTIONS,
            &["Assumptions"],
        ],
        Doc::Design => &[
            &["Overview", "Summary"],
            &["Architecture"],
            &["Components"],
            &["Data Flow"],
            &["Technical Decisions"],
            &["File Structure", "Files"],
            &["Error Handling"],
            &["Test Strategy"],
            &["Existing Patterns to Follow", "Existing Patterns"],
            QUESTIONS,
        ],
        Doc::Tasks => &[],
    }
}

/// How long a document should be at most, in bytes.
fn cap(doc: Doc, tasks: usize) -> usize {
    match doc {
        Doc::Research => 6 * 1024,
        Doc::Requirements => 8 * 1024,
        Doc::Design => 10 * 1024,
        Doc::Tasks => 2 * 1024 + tasks * 1536,
    }
}

/// Words that somebody has left to be replaced.
const PLACEHOLDERS: &[&str] =
    &["TBD", "TODO", "FIXME", "[NEEDS CLARIFICATION", "Lorem ipsum", "{{"];

/// How many questions may be open.
const MOST_QUESTIONS: usize = 4;

pub(super) fn judge(doc: Doc, outline: &Outline, spec: &Spec<'_>, findings: &mut Findings<'_>) {
    sections(doc, outline, findings);
    placeholders(outline, findings);
    if let Some(line) = outline.open_fence {
        let message = "this code fence is not closed";
        findings.add(Rule::FenceOpen, line, message, "close it with a fence of the same length");
    }
    let tasks = spec.tasks().map_or(0, |file| file.tasks.len());
    let (length, cap) = (spec.texts.get(doc).map_or(0, <[u8]>::len), cap(doc, tasks));
    if length > cap {
        let severity = if length > 2 * cap { Severity::Error } else { Severity::Warning };
        let message =
            format!("{} has {} KB, and {} are enough", doc.file(), length / 1024, cap / 1024);
        let fix = "say it shorter, or cut the goal into several specs";
        findings.add_as(Rule::TooLong, severity, 1, message, fix);
    }
    judge_questions(doc, &questions(outline), spec, findings);
}

fn sections(doc: Doc, outline: &Outline, findings: &mut Findings<'_>) {
    for titles in form(doc) {
        let title = titles[0];
        let Some(section) = outline.section(titles) else {
            let message = format!("there is no section \"{title}\"");
            let fix = format!("add `## {title}`, with \"None: why\" if there is nothing to say");
            findings.add(Rule::MissingSection, 1, message, fix);
            continue;
        };
        // That nothing is out of scope has a rule of its own.
        if outline.is_empty(section) && title != "Out of Scope" {
            let message = format!("\"{title}\" is empty");
            findings.add(
                Rule::EmptySection,
                section.line,
                message,
                "fill it, or write \"None: why\"",
            );
        }
    }
}

fn placeholders(outline: &Outline, findings: &mut Findings<'_>) {
    let text = |kind| matches!(kind, LineKind::Text | LineKind::Heading);
    for line in outline.lines.iter().filter(|line| text(line.kind)) {
        let words = without_code(&line.text);
        if let Some(found) = PLACEHOLDERS.iter().find(|word| has_word(&words, word)) {
            let message = format!("\"{found}\" is a placeholder");
            let fix = "write what stands there, or ask it under Open Questions";
            findings.add(Rule::Placeholder, line.number, message, fix);
        }
    }
}

/// Whether a text has a word that is no part of a longer one.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let ends_in_letter = word.ends_with(char::is_alphanumeric);
    text.match_indices(word).any(|(at, _)| {
        let behind = text[at + word.len()..].chars().next();
        let is_longer = ends_in_letter && is_part(behind);
        !is_longer && !is_part(text[..at].chars().next_back())
    })
}

fn judge_questions(doc: Doc, questions: &[Question], spec: &Spec<'_>, findings: &mut Findings<'_>) {
    let open: Vec<&Question> =
        questions.iter().filter(|question| question.answer.is_none()).collect();
    for question in &open {
        if let Some((message, fix)) = malformed(question, spec) {
            findings.add(Rule::QuestionForm, question.line, message, fix);
        }
    }
    if let Some(first) = open.get(MOST_QUESTIONS) {
        let message = format!("{} questions are open", open.len());
        let fix = "keep the four whose answers lead to different software; assume the others";
        findings.add(Rule::TooManyQuestions, first.line, message, fix);
    }
    let mut later = Doc::ALL.into_iter().filter(|other| *other > doc);
    let next = later.find(|later| spec.texts.get(*later).is_some());
    if let (Some(next), Some(first)) = (next, open.first()) {
        let message = format!("the question is open, and {} is written", next.file());
        let fix = "answer it: `- [x] Q-1: … → the answer`";
        findings.add(Rule::QuestionOpen, first.line, message, fix);
    }
}

/// What is wrong with a question.
fn malformed(question: &Question, spec: &Spec<'_>) -> Option<(String, &'static str)> {
    let defaults = question.options.iter().filter(|choice| choice.is_default).count();
    if question.id.is_none() {
        return Some(("the question has no id".into(), "begin it with `- [ ] Q-1: `"));
    }
    if !(2..=4).contains(&question.options.len()) {
        let message = format!("the question has {} answers", question.options.len());
        return Some((message, "give it two to four, each an item below it"));
    }
    if defaults != 1 {
        let message = format!("{defaults} answers are the default");
        return Some((message, "mark the one you would give with `(default)`"));
    }
    let requirements = spec.requirements()?;
    let is_known = |id: &&Id| match id.kind {
        Kind::Component => {
            spec.design().is_none_or(|design| design.component(&id.to_string()).is_some())
        }
        Kind::Question | Kind::Assumption => true,
        _ => requirements.get(id).is_some(),
    };
    let unknown = question.affects.iter().find(|id| !is_known(id))?;
    Some((format!("the question affects {unknown}, which nobody states"), "name what it changes"))
}

/// The facts of a research: each has a source that is there.
pub(super) fn research(outline: &Outline, facts: &Facts<'_>, findings: &mut Findings<'_>) {
    let research = Research::of(outline);
    for fact in &research.facts {
        let wrong = match &fact.source {
            None => Some("the fact names no file".to_owned()),
            Some((path, line)) => match ((facts.look)(path), line) {
                (Look::Missing, _) => Some(format!("there is no {path}")),
                (Look::File(lines), Some(line)) if *line > lines => {
                    Some(format!("{path} has {lines} lines, and not {line}"))
                }
                _ => None,
            },
        };
        if let Some(message) = wrong {
            let fix = "begin it with the `path:line` you have read";
            findings.add(Rule::FactWithoutSource, fact.line, message, fix);
        }
    }
    for (line, _) in &research.without_address {
        let message = "the fact names no address";
        let fix = "end it with the address that you have opened";
        findings.add(Rule::FactWithoutSource, *line, message, fix);
    }
}
