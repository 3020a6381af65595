//! Planning: which document is written next, and what becomes of it.
//!
//! A document is an attempt like a task: opened, written by an agent, judged by the gate,
//! sent back or approved. [`step`] moves a [`Planning`] one event forward and names what
//! is to be done; it decides order, tries and approvals, and never looks at a text. The
//! strict order is its promise: a document is open only while all before it are approved.

pub mod brief;
pub mod dialog;
pub mod goal;
pub mod name;
pub mod skeleton;
pub mod summary;
mod wire;
pub mod word;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::spec::Doc;
use crate::tasks::TaskKey;

/// How many documents a spec has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// `tasks.md` alone.
    Small,
    /// Requirements, design, tasks.
    Standard,
    /// Research in front of these.
    Full,
}

impl Profile {
    /// The documents, in the order in which they are written.
    pub fn docs(self) -> &'static [Doc] {
        match self {
            Profile::Small => &[Doc::Tasks],
            Profile::Standard => &[Doc::Requirements, Doc::Design, Doc::Tasks],
            Profile::Full => &Doc::ALL,
        }
    }
}

/// The name under which records know the attempts at a document. No task is called so.
pub fn key(doc: Doc) -> TaskKey {
    TaskKey { id: format!("{MARK}{}", doc.name()), title: doc.file().to_owned() }
}

/// The document that is worked on under a name; `None` if it is a task's.
pub fn document(name: &str) -> Option<Doc> {
    name.strip_prefix(MARK).and_then(Doc::named)
}

/// The agent that writes a document.
pub fn author(doc: Doc) -> &'static str {
    match doc {
        Doc::Research => "research-analyst",
        Doc::Requirements => "product-manager",
        Doc::Design => "architect-reviewer",
        Doc::Tasks => "task-planner",
    }
}

const MARK: char = '@';

/// Where a document stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Status {
    /// Nobody has written it.
    #[default]
    Absent,
    /// An author is at it.
    Open,
    /// It is good, and waits for a person.
    Written,
    /// It is built on.
    Approved,
    /// It is to be revised: something that it stands on has changed, or a person has
    /// said what is to change.
    Stale,
    /// No try is left.
    Blocked,
}

/// A document of a spec that is being planned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// Where it stands.
    pub status: Status,
    /// How many tries it has had since it was last good.
    pub attempts: u64,
    /// The digest of the text that was judged good.
    pub digest: Option<String>,
    /// What a person wants changed.
    pub feedback: Option<String>,
}

/// How large the tasks of a plan are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TaskSize {
    /// A task with its test, up to ten steps and six files.
    #[default]
    Coarse,
    /// Up to four steps and three files.
    Fine,
}

/// Who has agreed to a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovedBy {
    /// A person, who has seen it.
    Person,
    /// Nobody is asked in quick mode.
    Quick,
    /// The settings ask nobody.
    Setting,
}

/// The planning of a spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planning {
    /// Which documents it has.
    pub profile: Profile,
    /// Whether nobody is asked.
    pub quick: bool,
    /// Whether it ends with the plan.
    pub plan_only: bool,
    /// How many tries a document has.
    pub max_attempts: u64,
    /// The documents a person is asked about.
    pub asks: BTreeSet<Doc>,
    /// Whether each document that is agreed to becomes a commit.
    pub commits: bool,
    /// How large a task is.
    pub tasks: TaskSize,
    /// The documents; one that is missing here is absent.
    documents: BTreeMap<Doc, Document>,
}

/// Default of `maxPhaseIterations`.
pub const DEFAULT_MAX_ATTEMPTS: u64 = 3;

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Somebody writes this document, or goes on with it.
    Author(Doc),
    /// A person agrees to this document, or says what is to change.
    Approve(Doc),
    /// A person fixes this document by hand.
    Fix(Doc),
    /// The plan can be worked.
    Start,
    /// The plan is written, and nothing more was asked for.
    Nothing,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// An author begins with a document.
    Open(Doc),
    /// An author's try is over without a verdict: it was interrupted.
    Abandon(Doc),
    /// The gate has found errors.
    Invalid(Doc),
    /// The gate has found none.
    Valid {
        /// The document.
        doc: Doc,
        /// The digest of its text.
        digest: String,
        /// The documents with parts that stand on what has changed.
        stale: Vec<Doc>,
    },
    /// A person agrees.
    Approve {
        /// The document.
        doc: Doc,
        /// The digest of what the person has seen.
        digest: String,
    },
    /// A person has answered questions with something else than their defaults, or says
    /// what is to change.
    Revise {
        /// The document.
        doc: Doc,
        /// In the person's words.
        text: String,
    },
    /// A person has edited documents by hand, and these have parts that stand on what
    /// has changed.
    Edited(Vec<Doc>),
    /// A person lets a document have another round.
    Resume(Doc),
    /// The spec gets more documents than were planned at first.
    Enlarge(Profile),
}

/// What is to be done, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The open questions are answered with their defaults.
    AnswerDefaults(Doc),
    /// What each part of the document stands on is recorded.
    Record(Doc),
    /// The document is committed, approved by somebody.
    Commit(Doc, ApprovedBy),
    /// The findings go to the author, who tries once more.
    SendBack(Doc),
    /// The author's try ends without a verdict: what it stands on is to be revised.
    Withdraw(Doc),
    /// A person has to look at the document.
    Block(Doc),
    /// The journal says that a person is waited for.
    Ask(Doc),
}

/// What an event leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The planning from now on.
    pub planning: Planning,
    /// What is to be done.
    pub effects: Vec<Effect>,
}

/// Why an event is refused. Nothing changes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refused {
    /// The spec has no such document.
    #[error("this spec has no {0}.md; its size leaves it out")]
    NotPlanned(Doc),
    /// Another document comes first.
    #[error("{0} comes first: {0}.md is not approved")]
    NotDue(Doc),
    /// Nobody is at the document.
    #[error("nobody is writing {0}.md")]
    NotOpen(Doc),
    /// There is nothing to agree to.
    #[error("{0}.md does not wait for an approval")]
    NotWritten(Doc),
    /// The document is another by now.
    #[error("{0}.md has changed since it was shown; look at it again, then approve it")]
    Changed(Doc),
    /// An author is at the document.
    #[error("{0}.md is being written; wait for its verdict")]
    AtWork(Doc),
    /// The document has not used up its tries.
    #[error("{0}.md is not blocked")]
    NotBlocked(Doc),
    /// The size of a spec is chosen before its first document.
    #[error("{0}.md is begun, and the size of a spec is chosen before that; plan a new spec")]
    Begun(Doc),
}

impl Planning {
    /// One that has just begun.
    pub fn new(profile: Profile, quick: bool, asks: BTreeSet<Doc>) -> Planning {
        let (plan_only, max_attempts) = (false, DEFAULT_MAX_ATTEMPTS);
        let (commits, tasks, documents) = (true, TaskSize::default(), BTreeMap::new());
        Planning { profile, quick, plan_only, max_attempts, asks, commits, tasks, documents }
    }

    /// A document as it stands.
    pub fn document(&self, doc: Doc) -> Document {
        self.documents.get(&doc).cloned().unwrap_or_default()
    }

    /// What comes next.
    pub fn due(&self) -> Due {
        let first = self.profile.docs().iter().find_map(|doc| match self.document(*doc).status {
            Status::Absent | Status::Open | Status::Stale => Some(Due::Author(*doc)),
            Status::Written => Some(Due::Approve(*doc)),
            Status::Blocked => Some(Due::Fix(*doc)),
            Status::Approved => None,
        });
        first.unwrap_or(if self.plan_only { Due::Nothing } else { Due::Start })
    }

    /// The document that a person is waited for.
    pub fn awaits(&self) -> Option<Doc> {
        match self.due() {
            Due::Approve(doc) => Some(doc),
            _ => None,
        }
    }

    /// Whether every document is agreed to.
    pub fn is_agreed(&self) -> bool {
        matches!(self.due(), Due::Start | Due::Nothing)
    }

    /// What it waits for, in words.
    pub fn wait(&self) -> String {
        match self.due() {
            Due::Author(doc) => format!("{} is not written", doc.file()),
            Due::Approve(doc) => {
                format!("{} waits for your approval (`specum approve`)", doc.file())
            }
            Due::Fix(doc) => format!("{} is not good after all its tries", doc.file()),
            Due::Start | Due::Nothing => "every document is agreed to".to_owned(),
        }
    }

    /// A person has looked at the document that nobody got right: it has all its tries
    /// again.
    pub fn resume(&mut self) {
        if let Due::Fix(doc) = self.due()
            && let Ok(step) = step(self, Event::Resume(doc))
        {
            *self = step.planning;
        }
    }

    /// Who agrees to a document without being asked.
    fn agrees(&self, doc: Doc) -> Option<ApprovedBy> {
        if self.quick {
            Some(ApprovedBy::Quick)
        } else if self.profile == Profile::Small || !self.asks.contains(&doc) {
            Some(ApprovedBy::Setting)
        } else {
            None
        }
    }

    /// The text of a document is another one, which says the same.
    pub fn retext(&mut self, doc: Doc, digest: String) {
        self.set(doc, |document| document.digest = Some(digest));
    }

    fn set(&mut self, doc: Doc, change: impl FnOnce(&mut Document)) {
        change(self.documents.entry(doc).or_default());
    }

    /// Documents that are built on have parts to be revised. Of what is being written the
    /// author is told when it is judged.
    fn make_stale(&mut self, docs: &[Doc]) {
        for doc in docs {
            let is_good = matches!(self.document(*doc).status, Status::Approved | Status::Written);
            if is_good && self.profile.docs().contains(doc) {
                self.set(*doc, |document| {
                    *document = Document { status: Status::Stale, ..document.clone() };
                    document.attempts = 0;
                });
            }
        }
    }
}

/// Moves a planning one event forward.
pub fn step(planning: &Planning, event: Event) -> Result<Step, Refused> {
    let mut next = planning.clone();
    let doc = match &event {
        Event::Open(doc)
        | Event::Abandon(doc)
        | Event::Invalid(doc)
        | Event::Resume(doc)
        | Event::Valid { doc, .. }
        | Event::Approve { doc, .. }
        | Event::Revise { doc, .. } => Some(*doc),
        Event::Edited(_) | Event::Enlarge(_) => None,
    };
    if let Some(doc) = doc.filter(|doc| !planning.profile.docs().contains(doc)) {
        return Err(Refused::NotPlanned(doc));
    }
    let status = doc.map(|doc| planning.document(doc).status).unwrap_or_default();
    let effects = match event {
        Event::Open(doc) => open(&mut next, doc)?,
        Event::Abandon(doc) if status != Status::Open => return Err(Refused::NotOpen(doc)),
        Event::Abandon(doc) => {
            withdraw(&mut next, doc);
            Vec::new()
        }
        Event::Invalid(doc) if status != Status::Open => return Err(Refused::NotOpen(doc)),
        Event::Invalid(doc) => invalid(&mut next, doc),
        Event::Valid { doc, .. } if status != Status::Open => return Err(Refused::NotOpen(doc)),
        Event::Valid { doc, digest, stale } => valid(&mut next, doc, digest, &stale),
        Event::Approve { doc, .. } if status != Status::Written => {
            return Err(Refused::NotWritten(doc));
        }
        Event::Approve { doc, digest } => approve(&mut next, doc, &digest)?,
        Event::Revise { doc, .. } if status == Status::Open => return Err(Refused::AtWork(doc)),
        Event::Revise { doc, text } => revise(&mut next, doc, text)?,
        Event::Edited(stale) => {
            next.make_stale(&stale);
            undermined(&mut next)
        }
        Event::Enlarge(profile) => enlarge(&mut next, profile)?,
        Event::Resume(doc) if status != Status::Blocked => return Err(Refused::NotBlocked(doc)),
        Event::Resume(doc) => {
            next.set(doc, |document| {
                *document = Document { feedback: document.feedback.take(), ..Document::default() }
            });
            Vec::new()
        }
    };
    Ok(Step { planning: next, effects })
}

/// More documents stand in front of what is written from now on. What was agreed to in
/// the smaller size would stand on nothing.
fn enlarge(next: &mut Planning, profile: Profile) -> Result<Vec<Effect>, Refused> {
    let docs = next.profile.docs();
    let is_begun = |doc: &&Doc| !matches!(next.document(**doc).status, Status::Absent);
    if let Some(begun) = docs.iter().find(is_begun) {
        return Err(Refused::Begun(*begun));
    }
    next.profile = profile;
    Ok(Vec::new())
}

fn open(next: &mut Planning, doc: Doc) -> Result<Vec<Effect>, Refused> {
    match next.due() {
        Due::Author(due) if due == doc && next.document(doc).status == Status::Open => {
            Err(Refused::AtWork(doc))
        }
        Due::Author(due) if due == doc => {
            next.set(doc, |document| {
                document.status = Status::Open;
                document.attempts += 1;
            });
            Ok(Vec::new())
        }
        Due::Author(first) | Due::Approve(first) | Due::Fix(first) => Err(Refused::NotDue(first)),
        Due::Start | Due::Nothing => Err(Refused::NotOpen(doc)),
    }
}

/// Takes back a try that nobody has judged: it is none. What was good once is revised.
fn withdraw(next: &mut Planning, doc: Doc) {
    next.set(doc, |document| {
        document.attempts = document.attempts.saturating_sub(1);
        let was_good = document.digest.is_some();
        document.status = if was_good { Status::Stale } else { Status::Absent };
    });
}

/// Takes back the try of an author who stands on what is to be revised.
fn undermined(next: &mut Planning) -> Vec<Effect> {
    let docs = next.profile.docs().iter().copied();
    let open = docs.clone().find(|doc| next.document(*doc).status == Status::Open);
    let first = docs.into_iter().find(|doc| next.document(*doc).status == Status::Stale);
    match (open, first) {
        (Some(open), Some(first)) if first < open => {
            withdraw(next, open);
            vec![Effect::Withdraw(open)]
        }
        _ => Vec::new(),
    }
}

fn invalid(next: &mut Planning, doc: Doc) -> Vec<Effect> {
    let has_more = next.document(doc).attempts < next.max_attempts;
    next.set(doc, |document| {
        if has_more {
            document.attempts += 1;
        } else {
            document.status = Status::Blocked;
        }
    });
    vec![if has_more { Effect::SendBack(doc) } else { Effect::Block(doc) }]
}

fn valid(next: &mut Planning, doc: Doc, digest: String, stale: &[Doc]) -> Vec<Effect> {
    let agrees = next.agrees(doc);
    let status = if agrees.is_some() { Status::Approved } else { Status::Written };
    next.set(doc, |document| {
        *document = Document { status, attempts: 0, digest: Some(digest), feedback: None };
    });
    let later: Vec<Doc> = stale.iter().copied().filter(|other| *other > doc).collect();
    next.make_stale(&later);
    match agrees {
        Some(by) => vec![Effect::AnswerDefaults(doc), Effect::Record(doc), Effect::Commit(doc, by)],
        // What nobody has agreed to is nothing that others stand on yet.
        None => vec![Effect::Ask(doc)],
    }
}

fn approve(next: &mut Planning, doc: Doc, seen: &str) -> Result<Vec<Effect>, Refused> {
    if next.document(doc).digest.as_deref() != Some(seen) {
        return Err(Refused::Changed(doc));
    }
    next.set(doc, |document| document.status = Status::Approved);
    let by = ApprovedBy::Person;
    Ok(vec![Effect::AnswerDefaults(doc), Effect::Record(doc), Effect::Commit(doc, by)])
}

fn revise(next: &mut Planning, doc: Doc, text: String) -> Result<Vec<Effect>, Refused> {
    // What nobody has written yet cannot be revised out of its turn, and nothing may be
    // pulled away under an author who stands on it.
    let docs = next.profile.docs();
    let at_work = docs.iter().find(|other| next.document(**other).status == Status::Open);
    if let Some(at_work) = at_work.filter(|other| **other > doc) {
        return Err(Refused::AtWork(*at_work));
    }
    next.set(doc, |document| {
        let was_good = document.digest.is_some();
        document.status = if was_good { Status::Stale } else { Status::Absent };
        document.attempts = 0;
        document.feedback = Some(text);
    });
    Ok(Vec::new())
}

#[cfg(test)]
mod tests;
