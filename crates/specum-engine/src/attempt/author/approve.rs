//! What a person says of a document: yes, these answers, or what is to change.

use std::collections::BTreeMap;

use specum_core::authoring::{self, ApprovedBy, Due, Event, Planning, Profile, Step};
use specum_core::digest::ContentDigest;
use specum_core::journal::{Changes, Entry, Source, Via};
use specum_core::moment::Moment;
use specum_core::spec::Doc;
use specum_core::spec::edit::DocEdit;
use specum_core::spec::gate::Spec;
use specum_core::spec::outline::{DocLine, LineKind, Outline};
use specum_core::spec::question::{self, questions};
use specum_core::spec::trace::{Approval, Graph};
use specum_core::tasks::TaskFile;

use super::super::{AttemptError, Workspace};
use super::Planned;
use crate::documents::{Documents, read_trace};

/// A question that a document leaves open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Its id.
    pub id: String,
    /// What is asked.
    pub text: String,
    /// The answers that its author has thought of.
    pub options: Vec<String>,
    /// Which of them is taken if nobody says otherwise; from 0.
    pub default: usize,
}

/// What became of a person's yes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approved {
    /// The document is built on from now on. With the answers that it has got.
    Approved(BTreeMap<String, String>),
    /// An answer is another one than the author has worked with: the document is written
    /// anew with it first.
    Reopened(BTreeMap<String, String>),
}

/// What is to change in a document, and in which.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    /// The document; `None`: the one that waits, or was written last.
    pub doc: Option<Doc>,
    /// What, in a person's words.
    pub text: &'a str,
}

/// A document that is agreed to: the edits of it, and the trace.
pub(super) struct Approving {
    pub(super) edits: Vec<DocEdit>,
    pub(super) trace: String,
    pub(super) digest: String,
}

impl Workspace {
    /// The document that waits for a person, as it stands: its digest, and its questions.
    pub fn waiting_document(&self) -> Result<Option<(Doc, String, Vec<Question>)>, AttemptError> {
        let Some(doc) = self.planning()?.and_then(|planning| planning.awaits()) else {
            return Ok(None);
        };
        let documents = Documents::read(self.world(), &self.spec.dir)?;
        let text = documents.get(doc).unwrap_or_default();
        Ok(Some((doc, ContentDigest::of(text).to_string(), open_questions(text))))
    }

    /// A person agrees to the document that waits, with these answers, by question: an
    /// answer's number from 1, or a text. `seen` is the digest of what was shown.
    pub fn approve_document(
        &self,
        doc: Option<Doc>,
        answers: &BTreeMap<String, String>,
        seen: Option<&str>,
        source: Source,
    ) -> Result<(Doc, Approved), AttemptError> {
        let planned = self.enter_planning()?;
        let doc = match (doc, planned.planning.due()) {
            (Some(doc), _) | (None, Due::Approve(doc) | Due::Author(doc) | Due::Fix(doc)) => doc,
            (None, Due::Start | Due::Nothing) => {
                return Err(AttemptError::NothingWaits(self.spec.name.clone()));
            }
        };
        if planned.planning.awaits() != Some(doc) {
            return Err(authoring::Refused::NotWritten(doc).into());
        }
        let documents = Documents::read(self.world(), &self.spec.dir)?;
        let text = documents.get(doc).unwrap_or_default();
        let digest = ContentDigest::of(text).to_string();
        let judged = planned.planning.document(doc).digest.unwrap_or_default();
        if digest != judged {
            drop(planned);
            return Err(self.judge_again(doc)?);
        }
        if seen.is_some_and(|seen| seen != digest) {
            return Err(authoring::Refused::Changed(doc).into());
        }
        let (chosen, is_other) = choose(text, answers)?;
        planned.locked.speaks_for(source);
        let edits: Vec<DocEdit> =
            chosen.iter().map(|(id, answer)| answer_of(doc, id, answer)).collect();
        if is_other {
            return self.reopen(&planned, doc, chosen, edits);
        }
        let answered = DocEdit::apply_all(&edits, doc, Some(text));
        let mut documents = documents;
        if let Some(answered) = answered {
            documents.set(doc, answered);
        }
        let Step { planning: mut next, .. } =
            authoring::step(&planned.planning, Event::Approve { doc, digest })?;
        let made = self.approval(doc, &documents, &next, ApprovedBy::Person, source)?;
        next.retext(doc, made.digest.clone());
        let docs = edits.into_iter().chain(made.edits).collect();
        let changes = Changes { docs, trace: Some(made.trace), ..Changes::default() };
        let agreed = ApprovedBy::Person;
        let entry = Entry::DocumentApproved { doc, digest: made.digest, agreed };
        planned.write(None, entry, next, changes)?;
        Ok((doc, Approved::Approved(chosen)))
    }

    /// A document has changed since it was judged: it is judged again, and a person looks
    /// at it again.
    fn judge_again(&self, doc: Doc) -> Result<AttemptError, AttemptError> {
        let documents = Documents::read(self.world(), &self.spec.dir)?;
        let judged = self.judge_texts(doc, documents, None, &BTreeMap::new())?;
        if !judged.errors.is_empty() {
            let errors = judged.errors.join("\n- ");
            return Ok(AttemptError::NotGood { file: doc.file(), errors });
        }
        let planned = self.enter_planning()?;
        let mut planning = planned.planning.clone();
        let digest = ContentDigest::of(judged.text()).to_string();
        planning.retext(doc, digest.clone());
        let entry = Entry::Written {
            task: authoring::key(doc),
            attempt: 0,
            digest,
            bytes: judged.text().len(),
            warnings: judged.warnings,
        };
        planned.write(None, entry, planning, Changes::default())?;
        Ok(authoring::Refused::Changed(doc).into())
    }

    /// The answers are written down, and the author goes on with them.
    fn reopen(
        &self,
        planned: &Planned<'_>,
        doc: Doc,
        answers: BTreeMap<String, String>,
        docs: Vec<DocEdit>,
    ) -> Result<(Doc, Approved), AttemptError> {
        let said = answers.iter().map(|(id, answer)| format!("{id}: {answer}"));
        let text = format!("The questions are answered. {}", said.collect::<Vec<_>>().join(". "));
        let Step { planning, .. } =
            authoring::step(&planned.planning, Event::Revise { doc, text })?;
        let entry = Entry::Answered { doc, answers: answers.clone() };
        planned.write(None, entry, planning, Changes { docs, ..Changes::default() })?;
        Ok((doc, Approved::Reopened(answers)))
    }

    /// A person says what is to change. The author of the document goes on with it.
    pub fn change_document(&self, change: Change<'_>, source: Source) -> Result<Doc, AttemptError> {
        let planned = self.enter_planning()?;
        let planning = &planned.planning;
        let last = || {
            let docs = planning.profile.docs().iter().rev();
            docs.copied().find(|doc| planning.document(*doc).digest.is_some())
        };
        let doc = change.doc.or_else(|| planning.awaits()).or_else(last);
        let none = || AttemptError::NothingWaits(self.spec.name.clone());
        let doc = doc.ok_or_else(none)?;
        let text = change.text.trim().to_owned();
        planned.locked.speaks_for(source);
        let event = Event::Revise { doc, text: text.clone() };
        let Step { planning, .. } = authoring::step(planning, event)?;
        planned.write(None, Entry::Revised { doc, text }, planning, Changes::default())?;
        Ok(doc)
    }

    /// What agreeing to a document does to it and to the trace: open questions get their
    /// defaults, the front matter says what it is, and what each part stands on is kept.
    pub(super) fn approval(
        &self,
        doc: Doc,
        documents: &Documents,
        planning: &Planning,
        by: ApprovedBy,
        source: Source,
    ) -> Result<Approving, AttemptError> {
        let text = documents.get(doc).unwrap_or_default();
        let assumed = if by == ApprovedBy::Person { "" } else { "(assumed) " };
        let defaults = open_questions(text).into_iter().filter_map(|question| {
            let answer = question.options.get(question.default)?;
            Some(answer_of(doc, &question.id, &format!("{assumed}{answer}")))
        });
        let mut edits: Vec<DocEdit> = defaults.collect();
        let now = self.world().clock.now();
        let created = now.to_string().chars().take(10).collect();
        let mut keys = vec![
            ("spec".to_owned(), self.spec.name.clone()),
            ("phase".to_owned(), doc.name().to_owned()),
        ];
        if !has_key(text, "created") {
            keys.push(("created".to_owned(), created));
        }
        if by == ApprovedBy::Quick {
            keys.push(("generated".to_owned(), "auto".to_owned()));
        }
        if doc == Doc::Tasks {
            let count = TaskFile::scan(text).count();
            keys.push(("total_tasks".to_owned(), count.to_string()));
        }
        edits.push(DocEdit::FrontMatter { doc, keys });
        let after = DocEdit::apply_all(&edits, doc, Some(text));
        let after = after.as_deref().unwrap_or(text);
        let digest = ContentDigest::of(after).to_string();
        let texts = documents.texts().with(doc, after);
        let graph = Graph::of(&Spec::of(texts));
        let mut trace = read_trace(self.world(), &self.spec.dir)?.unwrap_or_default();
        let is_of = |name: &String| graph.parts.get(name).is_none_or(|part| part.doc == doc);
        // What another document states stays as it was agreed to.
        let known_elsewhere = planning.profile != Profile::Small;
        trace.nodes.retain(|name, _| known_elsewhere && !is_of(name));
        let own = graph.recorded().into_iter().filter(|(name, _)| is_of(name));
        trace.nodes.extend(own);
        let via = match source.via {
            Some(Via::Terminal) => "terminal",
            Some(Via::Command) => "command",
            Some(Via::Prompt) => "prompt",
            Some(Via::Dialog) => "dialog",
            Some(_) | None => "",
        };
        let approval = Approval {
            digest: digest.clone(),
            by: by.as_str().to_owned(),
            via: via.to_owned(),
            at: Moment::from(now).as_str().to_owned(),
        };
        trace.approved.insert(doc.name().to_owned(), approval);
        Ok(Approving { edits, trace: trace.text(), digest })
    }
}

fn answer_of(doc: Doc, id: &str, answer: &str) -> DocEdit {
    DocEdit::Answer { doc, question: id.to_owned(), answer: answer.to_owned() }
}

/// The questions of a text that nobody has answered.
pub(super) fn open_questions(text: &[u8]) -> Vec<Question> {
    let is_open = |question: &question::Question| question.answer.is_none();
    let found = questions(&Outline::scan(text)).into_iter().filter(is_open);
    let shown = |question: question::Question| {
        Some(Question {
            id: question.id?.to_string(),
            text: question.text,
            default: question.options.iter().position(|choice| choice.is_default).unwrap_or(0),
            options: question.options.into_iter().map(|choice| choice.text).collect(),
        })
    };
    found.filter_map(shown).collect()
}

/// The answers in words, and whether one is another than its question's default.
fn choose(
    text: &[u8],
    answers: &BTreeMap<String, String>,
) -> Result<(BTreeMap<String, String>, bool), AttemptError> {
    let questions = open_questions(text);
    let mut chosen = BTreeMap::new();
    let mut is_other = false;
    for (id, answer) in answers {
        let question = questions.iter().find(|question| question.id.eq_ignore_ascii_case(id));
        let known = || questions.iter().map(|question| question.id.as_str()).collect::<Vec<_>>();
        let question = question.ok_or_else(|| {
            let open = known().join(", ");
            let open = if open.is_empty() { "none".to_owned() } else { open };
            AttemptError::NoAnswer(format!("no open question is called {id}; open: {open}"))
        })?;
        let place = match answer.trim().parse::<usize>() {
            Ok(number) => {
                let count = question.options.len();
                let place = number.checked_sub(1).filter(|place| *place < count);
                Some(place.ok_or_else(|| {
                    AttemptError::NoAnswer(format!(
                        "{id} has the answers 1 to {count}, not {number}"
                    ))
                })?)
            }
            Err(_) => question.options.iter().position(|option| option == answer.trim()),
        };
        let words = place.map_or(answer.trim(), |place| question.options[place].as_str());
        if words.is_empty() {
            return Err(AttemptError::NoAnswer(format!("the answer to {id} is empty")));
        }
        is_other |= place != Some(question.default);
        chosen.insert(question.id.clone(), words.to_owned());
    }
    Ok((chosen, is_other))
}

/// Whether the front matter of a text has a key.
fn has_key(text: &[u8], key: &str) -> bool {
    let outline = Outline::scan(text);
    let is_hidden = |line: &&DocLine| line.kind == LineKind::Hidden;
    let mut lines = outline.lines.iter().take_while(is_hidden);
    lines.any(|line| line.text.split(':').next().is_some_and(|name| name.trim() == key))
}
