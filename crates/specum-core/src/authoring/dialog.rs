//! The dialog in which a person answers the open questions of a document and agrees to
//! it.
//!
//! Its text comes from the document and from here, and its answers are read here: what
//! a model would ask, or say that a person has answered, comes up nowhere. A host gives
//! answers back under the text of the question, so each text is another one.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::line;
use crate::sanitize;
use crate::spec::Doc;
use crate::spec::question::{Choice, Question};

/// The word by which a model asks for the dialog.
pub const WORD: &str = "specum?";
/// How many questions a host shows at once.
const MAX_QUESTIONS: usize = 4;
/// How many answers it offers to each.
const MAX_OPTIONS: usize = 4;
/// The longest header of a question.
const MAX_HEADER: usize = 12;
/// The longest question, answer and explanation worth showing.
const MAX_TEXT: usize = 600;
const MAX_LABEL: usize = 80;
const MAX_ABOUT: usize = 200;

const APPROVE: &str = "Approve";
const APPROVE_ALL: &str = "Approve this and all that follows";
const APPROVE_AND_START: &str = "Approve and start";
const NOT_YET: &str = "Not yet";

/// What waits for a person.
#[derive(Debug, Clone, Copy)]
pub struct WaitingDoc<'a> {
    /// The document.
    pub doc: Doc,
    /// How often it has been written.
    pub version: u64,
    /// Its questions; those that are answered are left out.
    pub questions: &'a [Question],
    /// What it says, in a few words.
    pub gist: &'a str,
    /// Whether the work may begin when it is approved.
    pub starts: bool,
    /// Whether its questions have been answered with their defaults.
    pub is_settled: bool,
    /// Whether other documents follow.
    pub is_last: bool,
}

/// What a person is asked at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dialog {
    questions: Vec<Asked>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Asked {
    text: String,
    header: String,
    /// The open question of the document; the approval has none.
    question: Option<String>,
    options: Vec<Answer>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Answer {
    label: String,
    about: String,
    /// What it is called in the document.
    answer: String,
    is_default: bool,
}

/// What a person has said in a dialog.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// The open questions that were answered.
    pub answers: Vec<QuestionAnswer>,
    /// What was said of the document; nothing if that was not asked, or not answered.
    pub verdict: Option<Verdict>,
}

/// A person's answer to an open question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionAnswer {
    /// The id of the question.
    pub question: String,
    /// The answer.
    pub text: String,
    /// Whether it is the one that is taken if nobody says otherwise.
    pub is_default: bool,
}

/// What a person says of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is right.
    Approve,
    /// It is right, and nobody is asked about what follows.
    ApproveAll,
    /// It is right, and the work begins.
    ApproveAndStart,
    /// Nothing yet.
    NotYet,
    /// This is to change.
    Change(String),
}

impl Dialog {
    /// Asks about a document: the open questions first. The approval has its place
    /// beside three of them, or in a dialog of its own.
    pub fn about(waiting: &WaitingDoc<'_>) -> Dialog {
        let is_open = |question: &&Question| question.answer.is_none() && !waiting.is_settled;
        let open = waiting.questions.iter().filter(is_open);
        let mut questions: Vec<Asked> = Vec::new();
        for asked in open.filter_map(|question| open_question(waiting, question)) {
            let is_new = !questions.iter().any(|known| known.text == asked.text);
            if is_new && questions.len() < MAX_QUESTIONS {
                questions.push(asked);
            }
        }
        if questions.len() < MAX_QUESTIONS {
            questions.push(approval(waiting));
        }
        Dialog { questions }
    }

    /// The same as the input of `AskUserQuestion`.
    pub fn input(&self) -> Value {
        let option = |answer: &Answer| json!({"label": answer.label, "description": answer.about});
        let question = |asked: &Asked| {
            json!({
                "question": asked.text,
                "header": asked.header,
                "options": asked.options.iter().map(option).collect::<Vec<_>>(),
                "multiSelect": false,
            })
        };
        json!({"questions": self.questions.iter().map(question).collect::<Vec<_>>()})
    }

    /// The questions, each on a line, for a record.
    pub fn texts(&self) -> Vec<String> {
        self.questions.iter().map(|asked| asked.text.clone()).collect()
    }

    /// What a person has answered: answers by the text of their question. A text that
    /// is none of the options was typed.
    pub fn read(&self, answers: &Map<String, Value>) -> Reply {
        let mut reply = Reply::default();
        for asked in &self.questions {
            let said = answers.get(&asked.text).and_then(Value::as_str).map(str::trim);
            let Some(said) = said.filter(|said| !said.is_empty()) else { continue };
            let taken = asked.options.iter().find(|option| option.label == said);
            match &asked.question {
                Some(question) => reply.answers.push(QuestionAnswer {
                    question: question.clone(),
                    text: taken.map_or(said, |option| &option.answer).to_owned(),
                    is_default: taken.is_some_and(|option| option.is_default),
                }),
                None => reply.verdict = Some(verdict(taken, said)),
            }
        }
        reply
    }
}

fn verdict(taken: Option<&Answer>, said: &str) -> Verdict {
    match taken.map(|option| option.answer.as_str()) {
        Some(APPROVE) => Verdict::Approve,
        Some(APPROVE_ALL) => Verdict::ApproveAll,
        Some(APPROVE_AND_START) => Verdict::ApproveAndStart,
        Some(_) => Verdict::NotYet,
        None => Verdict::Change(said.to_owned()),
    }
}

impl Reply {
    /// What the author is told, if a question has another answer than its default or
    /// something is to change.
    pub fn feedback(&self) -> Option<String> {
        let answers = self.answers.iter().filter(|answer| !answer.is_default);
        let answers = answers.map(|answer| format!("{}: {}", answer.question, answer.text));
        let change = match &self.verdict {
            Some(Verdict::Change(text)) => Some(text.clone()),
            _ => None,
        };
        let lines: Vec<String> = answers.chain(change).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// A text of the document, on one line and not too long.
fn shown(text: &str, limit: usize) -> String {
    let text = sanitize::one_line(text);
    match text.len() > limit {
        true => format!("{}…", line::head(&text, limit).trim_end()),
        false => text,
    }
}

/// The document, as a person may know it from an earlier dialog.
fn name(waiting: &WaitingDoc<'_>) -> String {
    match waiting.version {
        0 | 1 => waiting.doc.file().to_owned(),
        version => format!("{}, version {version}", waiting.doc.file()),
    }
}

fn open_question(waiting: &WaitingDoc<'_>, question: &Question) -> Option<Asked> {
    let id = question.id.as_ref()?.to_string();
    // The default comes first: a host marks the first answer.
    let (default, others): (Vec<&Choice>, Vec<&Choice>) =
        question.options.iter().partition(|choice| choice.is_default);
    let mut options: Vec<Answer> = Vec::new();
    for choice in default.into_iter().chain(others) {
        let answer = option(choice);
        let is_new = !options.iter().any(|known| known.label == answer.label);
        if is_new && !answer.label.is_empty() && options.len() < MAX_OPTIONS {
            options.push(answer);
        }
    }
    // The gate lets no question with fewer pass.
    (options.len() >= 2).then(|| Asked {
        text: format!("{}, {id}: {}", name(waiting), shown(&question.text, MAX_TEXT)),
        header: line::head(&id, MAX_HEADER).to_owned(),
        question: Some(id),
        options,
    })
}

fn option(choice: &Choice) -> Answer {
    let (label, about) = match choice.text.split_once(": ") {
        Some((label, about)) => (label.trim(), about.trim()),
        None => (choice.text.trim(), ""),
    };
    let label = shown(label, MAX_LABEL);
    Answer {
        label: if choice.is_default { format!("{label} (default)") } else { label },
        about: shown(about, MAX_ABOUT),
        answer: shown(&choice.text, MAX_TEXT),
        is_default: choice.is_default,
    }
}

fn approval(waiting: &WaitingDoc<'_>) -> Asked {
    let option = |label: &str, about: &str| Answer {
        label: label.to_owned(),
        about: about.to_owned(),
        answer: label.to_owned(),
        is_default: false,
    };
    let mut options = Vec::new();
    if waiting.is_last && waiting.starts {
        options.push(option(APPROVE_AND_START, "the first task begins"));
    }
    let next = if waiting.is_last { "the plan is kept" } else { "the next document is written" };
    options.push(option(APPROVE, next));
    if !waiting.is_last {
        options.push(option(APPROVE_ALL, "nobody is asked about the other documents"));
    }
    options.push(option(NOT_YET, "it waits; or type what is to change"));
    let gist = shown(waiting.gist, MAX_TEXT);
    let colon = if gist.is_empty() { "" } else { ": " };
    Asked {
        text: format!("{} is ready{colon}{gist}", name(waiting)),
        header: line::head(waiting.doc.name(), MAX_HEADER).to_owned(),
        question: None,
        options,
    }
}

/// What a model is told that asks for the dialog, if the call is that: the one question
/// it asks is the word.
pub fn is_asked_for(input: &Value) -> bool {
    let questions = input["questions"].as_array();
    questions.is_some_and(|asked| asked.len() == 1 && asked[0]["question"] == WORD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::outline::Outline;
    use crate::spec::question::questions;

    const OPEN: &str = "## Open Questions\n\
        - [ ] Q-1: Which mailer? (affects FR-1)\n\
        \x20 - Provider API: bounces are seen\n\
        \x20 - (default) SMTP as today: nothing new to run\n\
        - [x] Q-2: Twice? → no\n";

    fn found(text: &str) -> Vec<Question> {
        questions(&Outline::scan(text.as_bytes()))
    }

    fn waiting(questions: &[Question]) -> WaitingDoc<'_> {
        WaitingDoc {
            doc: Doc::Requirements,
            version: 1,
            questions,
            gist: "FR-1 send a link",
            starts: true,
            is_settled: false,
            is_last: false,
        }
    }

    fn labels(dialog: &Dialog, question: usize) -> Vec<String> {
        let input = dialog.input();
        let options = input["questions"][question]["options"].as_array().unwrap().clone();
        options.iter().map(|option| option["label"].as_str().unwrap().to_owned()).collect()
    }

    fn says(dialog: &Dialog, answers: &[&str]) -> Reply {
        let texts = dialog.texts().into_iter();
        dialog.read(&texts.zip(answers.iter().map(|text| Value::from(*text))).collect())
    }

    #[test]
    fn open_questions_come_first_and_the_default_before_the_others() {
        let questions = found(OPEN);
        let dialog = Dialog::about(&waiting(&questions));
        assert_eq!(
            dialog.texts(),
            ["requirements.md, Q-1: Which mailer?", "requirements.md is ready: FR-1 send a link"]
        );
        assert_eq!(labels(&dialog, 0), ["SMTP as today (default)", "Provider API"]);
        assert_eq!(labels(&dialog, 1), [APPROVE, APPROVE_ALL, NOT_YET]);
        let input = dialog.input();
        assert_eq!(input["questions"][0]["options"][0]["description"], "nothing new to run");
        for question in input["questions"].as_array().unwrap() {
            assert!(question["header"].as_str().unwrap().chars().count() <= MAX_HEADER);
        }
    }

    #[test]
    fn an_answer_is_a_default_another_option_or_what_was_typed() {
        let questions = found(OPEN);
        let dialog = Dialog::about(&waiting(&questions));
        let reply = says(&dialog, &["SMTP as today (default)", APPROVE]);
        assert!(reply.answers[0].is_default);
        assert_eq!(reply.answers[0].text, "SMTP as today: nothing new to run");
        assert_eq!((reply.verdict.clone(), reply.feedback()), (Some(Verdict::Approve), None));
        let reply = says(&dialog, &["Provider API", APPROVE_ALL]);
        assert_eq!(reply.verdict, Some(Verdict::ApproveAll));
        assert_eq!(reply.feedback().as_deref(), Some("Q-1: Provider API: bounces are seen"));
        let reply = says(&dialog, &["a carrier pigeon", "leave the passwords in"]);
        assert_eq!(reply.verdict, Some(Verdict::Change("leave the passwords in".into())));
        assert_eq!(
            reply.feedback().as_deref(),
            Some("Q-1: a carrier pigeon\nleave the passwords in")
        );
        assert_eq!(says(&dialog, &["SMTP as today (default)", NOT_YET]).feedback(), None);
    }

    #[test]
    fn what_nobody_answered_is_no_answer() {
        let questions = found(OPEN);
        let dialog = Dialog::about(&waiting(&questions));
        assert_eq!(dialog.read(&Map::new()), Reply::default());
        assert_eq!(says(&dialog, &["", "  "]), Reply::default());
        let foreign = json!({"specum?": "Approve", "requirements.md is ready": "Approve"});
        assert_eq!(dialog.read(foreign.as_object().unwrap()), Reply::default());
    }

    #[test]
    fn four_questions_leave_the_approval_to_a_dialog_of_its_own() {
        let mut text = String::from("## Open Questions\n");
        for n in 1..=5 {
            text.push_str(&format!("- [ ] Q-{n}: Which?\n  - (default) a\n  - b\n"));
        }
        let questions = found(&text);
        let dialog = Dialog::about(&waiting(&questions));
        assert_eq!(dialog.texts().len(), MAX_QUESTIONS);
        let texts: std::collections::BTreeSet<String> = dialog.texts().into_iter().collect();
        assert_eq!(texts.len(), MAX_QUESTIONS, "each is another: answers come by their text");
        assert_eq!(says(&dialog, &["a (default)"; 4]).verdict, None);
        let settled = WaitingDoc { is_settled: true, ..waiting(&questions) };
        assert_eq!(Dialog::about(&settled).texts(), ["requirements.md is ready: FR-1 send a link"]);
    }

    #[test]
    fn the_plan_may_begin_at_once() {
        let mut waiting = waiting(&[]);
        (waiting.doc, waiting.is_last, waiting.version) = (Doc::Tasks, true, 2);
        let dialog = Dialog::about(&waiting);
        assert_eq!(dialog.texts(), ["tasks.md, version 2 is ready: FR-1 send a link"]);
        assert_eq!(labels(&dialog, 0), [APPROVE_AND_START, APPROVE, NOT_YET]);
        assert_eq!(says(&dialog, &[APPROVE_AND_START]).verdict, Some(Verdict::ApproveAndStart));
        waiting.starts = false;
        assert_eq!(labels(&Dialog::about(&waiting), 0), [APPROVE, NOT_YET]);
    }

    #[test]
    fn hostile_documents_neither_steer_the_terminal_nor_fill_it() {
        let text = format!(
            "## Open Questions\n- [ ] Q-1: \x1b[2J{}\n  - (default) yes\x07\n  - yes\x1b]0;x\x07\n  - {}\n",
            "long ".repeat(1000),
            "x".repeat(5000),
        );
        let questions = found(&text);
        let dialog = Dialog::about(&waiting(&questions));
        let told = dialog.input().to_string();
        assert!(!told.contains("u001b") && told.len() < 2_000, "{} bytes", told.len());
        let none = found("## Open Questions\n- [ ] Q-1: Which?\n- [ ] no id\n  - a\n  - b\n");
        assert_eq!(Dialog::about(&waiting(&none)).texts().len(), 1, "the approval alone");
    }

    #[test]
    fn only_the_word_alone_asks_for_it() {
        let asks = |input: Value| is_asked_for(&input);
        assert!(asks(json!({"questions": [{"question": "specum?", "options": []}]})));
        for input in [
            json!({"questions": [{"question": "Which mailer? specum?"}]}),
            json!({"questions": [{"question": "specum?"}, {"question": "and?"}]}),
            json!({"questions": "specum?"}),
            json!(null),
        ] {
            assert!(!asks(input));
        }
    }
}
