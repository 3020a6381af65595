//! An attempt at a document, from its opening to what a person says of it.
//!
//! A document is opened as a task is, under the name `@design`; its author writes the
//! file, and the gate judges it. What the gate asks of the project is gathered without the
//! lock; what follows is one transaction. The only edits that are made to a document are
//! [`DocEdit`]s: a person's words in it stay as they are.

mod approve;
mod commit;

use std::collections::BTreeMap;
use std::path::Path;

use specum_core::attempt::{Attempt, AttemptId};
use specum_core::authoring::brief::{AuthorBrief, MAX_EXTRA};
use specum_core::authoring::{self, Due, Effect, Event, Planning, Profile, Step};
use specum_core::check::Severity;
use specum_core::digest::ContentDigest;
use specum_core::journal::{Changes, Entry, Source, StateChange};
use specum_core::line;
use specum_core::machine::Start;
use specum_core::progress::{self, Note, Section};
use specum_core::prompt::SpecName;
use specum_core::spec::design::Action;
use specum_core::spec::edit::DocEdit;
use specum_core::spec::gate::{self, Policy, Spec};
use specum_core::spec::red::{FirstRun, RedFirst};
use specum_core::spec::trace::{Graph, TraceFile};
use specum_core::spec::{Doc, Texts};
use specum_core::state::{Phase, Standing, State};
use specum_core::verify::Role;

pub use self::approve::{Approved, Change, Question};
use super::open::attempt_id;
use super::red::record_planned_red;
use super::{AttemptError, Workspace};
use crate::documents::{Documents, ProjectFacts, read_trace};
use crate::ops::{self, RedScope};
use crate::store::Locked;

/// The longest document that is judged.
const MAX_JUDGED: usize = 512 * 1024;
/// How many findings an author is told at once.
const MOST_FINDINGS: usize = 20;
/// How much of the request the journal has.
const MAX_GOAL: usize = 500;

/// What is due in a spec that is being planned.
#[derive(Debug)]
pub enum NextDocument {
    /// This attempt.
    Author(Box<Attempt>),
    /// A person agrees to this document, or says what is to change.
    Approve(Doc),
    /// A person fixes this document: no author got it right.
    Fix(Doc, String),
    /// Nothing: a person has to let it go on. Why, if nobody but specum wanted it to wait.
    Paused(Option<String>),
    /// The plan is written and agreed to.
    Planned,
}

/// What an author has made in a worktree.
#[derive(Debug, Default)]
pub struct AuthorsWork {
    /// The document; `None` if it is not there.
    pub text: Option<Vec<u8>>,
    /// What else was changed, which is nowhere in the user's tree.
    pub elsewhere: Vec<String>,
}

/// What became of an attempt at a document.
#[derive(Debug, Clone)]
pub struct DocumentVerdict {
    /// The document.
    pub doc: Doc,
    /// Which attempt it was.
    pub attempt: u64,
    /// What is to be fixed, a line each; none if the document is good.
    pub errors: Vec<String>,
    /// What a person should know.
    pub warnings: Vec<String>,
    /// Whether a person is asked about it.
    pub asks: bool,
    /// Whether no try is left.
    pub is_blocked: bool,
}

/// A document with what the gate has found in it.
struct Judged {
    doc: Doc,
    /// The texts of all documents, this one as it will be.
    documents: Documents,
    errors: Vec<String>,
    warnings: Vec<String>,
}

impl Judged {
    fn text(&self) -> &[u8] {
        self.documents.get(self.doc).unwrap_or_default()
    }
}

/// A spec that is being planned, under its lock.
struct Planned<'w> {
    locked: Locked<'w>,
    state: State,
    planning: Planning,
}

impl Workspace {
    /// The planning of the spec, if it has one.
    pub fn planning(&self) -> Result<Option<Planning>, AttemptError> {
        Ok(self.store.read()?.state.and_then(|state| state.planning))
    }

    /// Begins to plan the spec, or goes on. What a person has asked for is written down
    /// word for word.
    pub fn begin_planning(
        &self,
        planning: Planning,
        goal: Option<&str>,
        source: Source,
    ) -> Result<(), AttemptError> {
        if let Ok(git) = &self.git {
            git.refuse_old()?;
            if planning.commits {
                git.refuse_without_identity()?;
            }
            git.exclude_own_files()?;
        }
        let locked = self.store.lock()?;
        if self.known_state()?.is_some() {
            return Ok(());
        }
        if let Some(goal) = goal {
            locked.write_goal(goal)?;
        }
        locked.begin_segment()?;
        let goal = goal.unwrap_or_default();
        let entry = Entry::PlanStarted {
            profile: planning.profile.as_str().to_owned(),
            quick: planning.quick,
            goal: line::head(goal, MAX_GOAL).to_owned(),
        };
        let state = State::of_planning(&self.spec.name, &self.spec.shown, planning);
        let planned = Planned::with(locked, state);
        planned.locked.speaks_for(source);
        planned.write(None, entry, planned.planning.clone(), Changes::default())
    }

    /// Makes this process the one that plans the spec, within what it may use, and lets
    /// nobody be asked from now on if it is to be quick.
    pub fn hold_planning(&self, start: &Start, quick: bool) -> Result<(), AttemptError> {
        if let Ok(git) = &self.git {
            git.refuse_old()?;
            git.refuse_half_done()?;
            git.exclude_own_files()?;
        }
        let planned = self.enter_planning()?;
        self.refuse_beside_a_run(&planned.state)?;
        let mut planning = planned.planning.clone();
        planning.quick |= quick;
        let entry = Entry::PlanStarted {
            profile: planning.profile.as_str().to_owned(),
            quick: planning.quick,
            goal: String::new(),
        };
        let mut state = planned.state.clone();
        state.owner.clone_from(&start.owner);
        let budget = &mut state.budget;
        budget.max_tokens = start.max_tokens.or(budget.max_tokens);
        budget.allow_cost(start.max_cost);
        budget.max_millis = start.max_millis.or(budget.max_millis);
        planned.write_with(None, entry, state, planning, Changes::default())
    }

    /// A person wants to be asked about nothing more of this spec.
    pub fn ask_no_more(&self, source: Source) -> Result<(), AttemptError> {
        let planned = self.enter_planning()?;
        planned.locked.speaks_for(source);
        let mut planning = planned.planning.clone();
        planning.asks.clear();
        let entry = Entry::PlanStarted {
            profile: planning.profile.as_str().to_owned(),
            quick: planning.quick,
            goal: String::new(),
        };
        planned.write(None, entry, planning, Changes::default())
    }

    /// Takes the lock of a spec that is being planned.
    fn enter_planning(&self) -> Result<Planned<'_>, AttemptError> {
        let locked = self.store.lock()?;
        let state = self.known_state()?;
        let no_plan = || AttemptError::NoPlanning(self.spec.name.clone());
        let state = state.filter(|state| state.planning.is_some()).ok_or_else(no_plan)?;
        Ok(Planned::with(locked, state))
    }

    /// Opens the document that is due. Asked twice, it gives the same attempt again. A
    /// document that a person has written, and that is good, needs no author.
    pub fn open_document(&self) -> Result<NextDocument, AttemptError> {
        self.commit_documents()?;
        loop {
            let planned = self.enter_planning()?;
            match &planned.state.standing {
                Standing::Running => {}
                Standing::Paused(why) => return Ok(NextDocument::Paused(why.clone())),
                Standing::Blocked(why) if matches!(planned.planning.due(), Due::Fix(_)) => {
                    let Due::Fix(doc) = planned.planning.due() else { continue };
                    return Ok(NextDocument::Fix(doc, why.clone()));
                }
                Standing::Blocked(why) => return Ok(NextDocument::Paused(Some(why.clone()))),
            }
            let doc = match planned.planning.due() {
                Due::Author(doc) => doc,
                Due::Approve(doc) => return Ok(NextDocument::Approve(doc)),
                Due::Fix(doc) => {
                    let why = format!("{} is not good after all its tries", doc.file());
                    return Ok(NextDocument::Fix(doc, why));
                }
                Due::Start | Due::Nothing => return Ok(NextDocument::Planned),
            };
            if let Some(opened) = self.store.ledger()?.open_attempt(&authoring::key(doc)) {
                return Ok(NextDocument::Author(Box::new(opened)));
            }
            let document = planned.planning.document(doc);
            // What an author has left behind is that author's to fix.
            let is_new = document == authoring::Document::default();
            let begun = planned.planning.clone();
            drop(planned);
            if is_new && self.takes_as_written(doc)? {
                self.commit_documents()?;
                continue;
            }
            if let Some(opened) = self.open_author(doc, &begun)? {
                return Ok(NextDocument::Author(Box::new(opened)));
            }
        }
    }

    /// A document that lies there and is good is taken as it is.
    fn takes_as_written(&self, doc: Doc) -> Result<bool, AttemptError> {
        let documents = Documents::read(self.world(), &self.spec.dir)?;
        if documents.get(doc).is_none_or(|text| text.trim_ascii().is_empty()) {
            return Ok(false);
        }
        let first_runs = self.read_only_runs(doc, documents.get(doc).unwrap_or_default());
        let judged = self.judge_texts(doc, documents, None, &first_runs)?;
        if !judged.errors.is_empty() {
            return Ok(false);
        }
        let planned = self.enter_planning()?;
        let due = planned.planning.due() == Due::Author(doc);
        let now = Documents::read(self.world(), &self.spec.dir)?;
        if !due || now.get(doc) != Some(judged.text()) {
            return Ok(false);
        }
        let planning = match authoring::step(&planned.planning, Event::Open(doc)) {
            Ok(step) => step.planning,
            // An author of whom nothing came had opened it.
            Err(_) => planned.planning.clone(),
        };
        self.record_valid(&planned, &planning, None, &judged, Vec::new())?;
        Ok(true)
    }

    /// What those checks of a plan do as things are that only read. What cannot be told is
    /// nothing to hold against the plan.
    pub fn read_only_runs(&self, doc: Doc, text: &[u8]) -> BTreeMap<String, FirstRun> {
        if doc != Doc::Tasks || self.red_first == RedFirst::Off {
            return BTreeMap::new();
        }
        ops::plan_time_runs(&self.spec, None, text, RedScope::ReadOnly).unwrap_or_default()
    }

    /// Opens an attempt at a document; `None` if somebody else has moved the planning on.
    fn open_author(&self, doc: Doc, begun: &Planning) -> Result<Option<Attempt>, AttemptError> {
        let tree = self.tree()?;
        let planned = self.enter_planning()?;
        if planned.planning != *begun {
            return Ok(None);
        }
        // An attempt that was sent back, or cut off, is followed by the next one.
        let next = match authoring::step(&planned.planning, Event::Open(doc)) {
            Ok(step) => step.planning,
            Err(authoring::Refused::AtWork(_)) => planned.planning.clone(),
            Err(refused) => return Err(refused.into()),
        };
        let text =
            self.world().disk.read_if_there(&self.store.document_path(doc), MAX_JUDGED as u64);
        let opened = Attempt {
            id: attempt_id(self.world()),
            key: authoring::key(doc),
            number: next.document(doc).attempts,
            block: text.ok().flatten().unwrap_or_default(),
            role: Role::Author(doc),
            at: self.world().clock.now().into(),
            head: tree.head,
            branch: tree.branch,
            dirty: tree.dirty,
            left_before: BTreeMap::new(),
            open_elsewhere: BTreeMap::new(),
            was: Vec::new(),
        };
        planned.write(Some(&opened.id), opened.entry(), next, Changes::default())?;
        Ok(Some(opened))
    }

    /// What an author is to read who works at this place.
    pub fn author_brief(&self, opened: &Attempt, root: &Path) -> Result<String, AttemptError> {
        let Role::Author(doc) = opened.role else {
            return Err(AttemptError::NotOpen(opened.key.id.clone()));
        };
        let no_plan = || AttemptError::NoPlanning(self.spec.name.clone());
        let planning = self.planning()?.ok_or_else(no_plan)?;
        let documents = Documents::read(self.world(), &self.spec.dir)?;
        let spec = Spec::of(documents.texts());
        let is_new = spec.design().is_some_and(|design| {
            !design.files.is_empty()
                && design.files.iter().all(|file| file.action == Some(Action::Create))
        });
        let stale = match read_trace(self.world(), &self.spec.dir)? {
            Some(trace) => stale_parts(&spec, &trace, doc),
            None => Vec::new(),
        };
        let document = planning.document(doc);
        let ledger = self.store.ledger()?;
        let findings = ledger.last_failure(&opened.key).map(|(reasons, _)| reasons.to_vec());
        let request = self.goal(&documents)?;
        let extra = self.extra(doc);
        Ok(AuthorBrief {
            spec: SpecName { name: &self.spec.name, path: &self.spec.shown },
            doc,
            profile: planning.profile,
            size: planning.tasks,
            is_new,
            id: &opened.id,
            attempt: opened.number,
            left: planning.max_attempts.saturating_sub(opened.number),
            root: &root.to_string_lossy(),
            request: &request,
            exists: documents.get(doc).is_some(),
            feedback: document.feedback.as_deref(),
            stale: &stale,
            findings: &findings.unwrap_or_default(),
            facts: &crate::map::facts(self.world(), &self.spec.root),
            extra: &extra,
        }
        .render())
    }

    /// What the person has asked for.
    fn goal(&self, documents: &Documents) -> Result<String, AttemptError> {
        if let Some(goal) = documents.texts().goal {
            return Ok(goal.to_owned());
        }
        let progress = self.store.read_progress()?;
        let named = || format!("What the name of the spec says: {}", self.spec.name);
        Ok(progress::goal(&progress).unwrap_or_else(named))
    }

    /// What the team adds to the brief of a document.
    fn extra(&self, doc: Doc) -> String {
        let Some(folder) = &self.brief_extra else { return String::new() };
        let path = self.spec.root.join(folder).join(format!("{}.md", doc.name()));
        let real = self.world().disk.real_path_below(&self.spec.root, &path);
        let inside = real.ok().filter(|path| path.starts_with(&self.spec.root));
        let text = inside.and_then(|path| self.world().disk.read(&path, MAX_JUDGED as u64).ok());
        let text = line::readable(&text.unwrap_or_default());
        line::head(&text, MAX_EXTRA).to_owned()
    }

    /// Judges an attempt at a document. What was made in a worktree takes the place of
    /// what its author began with, unless a person has changed that meanwhile: then the
    /// person's text is judged, and the author's is kept by the caller.
    pub fn judge_document(
        &self,
        opened: &Attempt,
        work: Option<&AuthorsWork>,
        first_runs: &BTreeMap<String, FirstRun>,
    ) -> Result<DocumentVerdict, AttemptError> {
        let Role::Author(doc) = opened.role else {
            return Err(AttemptError::NotOpen(opened.key.id.clone()));
        };
        loop {
            let documents = Documents::read(self.world(), &self.spec.dir)?;
            let before = documents.get(doc).map(<[u8]>::to_vec);
            let put = work.and_then(|work| self.put(opened, doc, before.as_deref(), work));
            let unfit = work.and_then(|work| self.unfit(opened, doc, before.as_deref(), work));
            let mut judged = self.judge_texts(doc, documents, put.as_ref(), first_runs)?;
            if let Some(unfit) = unfit {
                judged.errors = vec![unfit];
            }
            if let Some(AuthorsWork { elsewhere, .. }) = work
                && !elsewhere.is_empty()
                && put.is_none()
            {
                // Whoever has written another file may have mistaken it for this one.
                let files = line::head(&elsewhere.join(", "), 300).to_owned();
                judged.errors.push(format!(
                    "{file} is as it was, and {files} was changed: write {file} and nothing else",
                    file = doc.file()
                ));
            }
            let planned = self.enter_planning()?;
            if !self.store.ledger()?.is_open(&opened.id) {
                return Err(AttemptError::NotOpen(opened.key.id.clone()));
            }
            let now = Documents::read(self.world(), &self.spec.dir)?;
            if now.get(doc) != before.as_deref() {
                // Somebody has written it since it was judged.
                continue;
            }
            let edits = put.into_iter().collect();
            let verdict = self.record_verdict(&planned, opened, &judged, edits)?;
            if verdict.errors.is_empty() && doc == Doc::Tasks {
                record_planned_red(&planned.locked, judged.text(), first_runs)?;
            }
            return Ok(verdict);
        }
    }

    /// The edit that puts an author's text into the user's tree.
    fn put(
        &self,
        opened: &Attempt,
        doc: Doc,
        before: Option<&[u8]>,
        work: &AuthorsWork,
    ) -> Option<DocEdit> {
        let stood = (!opened.block.is_empty()).then_some(opened.block.as_slice());
        let text = work.text.as_deref().filter(|text| text.len() <= MAX_JUDGED)?;
        let text = std::str::from_utf8(text).ok().filter(|text| !text.contains('\0'))?;
        let is_untouched = before.unwrap_or_default() == stood.unwrap_or_default();
        (is_untouched && before != Some(text.as_bytes())).then(|| DocEdit::Put {
            doc,
            over: before.map(|before| ContentDigest::of(before).to_string()),
            text: text.to_owned(),
        })
    }

    /// Why what an author has made cannot be put into the user's tree.
    fn unfit(
        &self,
        opened: &Attempt,
        doc: Doc,
        before: Option<&[u8]>,
        work: &AuthorsWork,
    ) -> Option<String> {
        let is_edited = before.unwrap_or_default() != opened.block;
        let file = doc.file();
        match &work.text {
            _ if is_edited => None,
            None => Some(format!("{file} is not there; write it")),
            Some(text) if text.len() > MAX_JUDGED => {
                Some(format!("{file} had {} bytes; say what counts, in a few pages", text.len()))
            }
            Some(text) if std::str::from_utf8(text).is_err() || text.contains(&0) => {
                Some(format!("{file} was no text in UTF-8; write it anew"))
            }
            Some(_) => None,
        }
    }

    /// Whether the gate finds nothing in a text but what its checks do before the work.
    pub fn is_sound(&self, doc: Doc, text: &[u8]) -> Result<bool, AttemptError> {
        let mut documents = Documents::read(self.world(), &self.spec.dir)?;
        documents.set(doc, text.to_vec());
        Ok(self.judge_texts(doc, documents, None, &BTreeMap::new())?.errors.is_empty())
    }

    /// Whether a person has changed a document since an author began with it.
    pub fn was_edited_meanwhile(&self, opened: &Attempt) -> Result<bool, AttemptError> {
        let Role::Author(doc) = opened.role else { return Ok(false) };
        let path = self.store.document_path(doc);
        let now = self.world().disk.read_if_there(&path, MAX_JUDGED as u64)?;
        Ok(now.unwrap_or_default() != opened.block)
    }

    /// What the gate finds in a document, as it is or with an edit.
    fn judge_texts(
        &self,
        doc: Doc,
        mut documents: Documents,
        put: Option<&DocEdit>,
        first_runs: &BTreeMap<String, FirstRun>,
    ) -> Result<Judged, AttemptError> {
        if let Some(DocEdit::Put { text, .. }) = put {
            documents.set(doc, text.clone().into_bytes());
        }
        let file = doc.file();
        let text = documents.get(doc);
        let unfit = match text {
            None => Some(format!("{file} is not there; write it")),
            Some(text) if text.trim_ascii().is_empty() => {
                Some(format!("{file} is empty; write it"))
            }
            Some(text) if text.len() > MAX_JUDGED => {
                Some(format!("{file} has {} bytes; say what counts, in a few pages", text.len()))
            }
            Some(text) if text.contains(&0) || std::str::from_utf8(text).is_err() => {
                Some(format!("{file} is no text in UTF-8; write it anew"))
            }
            Some(_) => None,
        };
        if let Some(unfit) = unfit {
            let (errors, warnings) = (vec![unfit], Vec::new());
            return Ok(Judged { doc, documents, errors, warnings });
        }
        let trace = read_trace(self.world(), &self.spec.dir)?;
        let (root, dir) = (&self.spec.root, &self.spec.dir);
        let mut facts = ProjectFacts::new(self.world(), root, dir, trace.as_ref());
        facts.first_runs.clone_from(first_runs);
        let policy = Policy { is_authored: true, ..Policy::default() };
        let found = facts.ask(|facts| {
            let spec = Spec::of(up_to(doc, documents.texts()));
            gate::judge(doc, &spec, facts, &policy)
        });
        let of = |severity: Severity| {
            let found = found.iter().filter(move |finding| finding.severity == severity);
            let shown = found.take(MOST_FINDINGS).map(|finding| {
                let (rule, line) = (finding.rule.name(), finding.line);
                format!("{file}:{line} {rule}: {}; {}", finding.message, finding.fix)
            });
            shown.collect::<Vec<_>>()
        };
        let (mut errors, warnings) = (of(Severity::Error), of(Severity::Warning));
        if doc == Doc::Tasks
            && Spec::of(documents.texts()).tasks().is_none_or(|f| f.tasks.is_empty())
        {
            errors.insert(
                0,
                format!("{file} has no tasks; one is a line `- [ ] 1.1 Add the parser`"),
            );
        }
        Ok(Judged { doc, documents, errors, warnings })
    }

    /// Writes down what the gate says, and what follows.
    fn record_verdict(
        &self,
        planned: &Planned<'_>,
        opened: &Attempt,
        judged: &Judged,
        edits: Vec<DocEdit>,
    ) -> Result<DocumentVerdict, AttemptError> {
        let doc = judged.doc;
        if judged.errors.is_empty() {
            self.record_valid(planned, &planned.planning, Some(opened), judged, edits)?;
        } else {
            self.record_invalid(planned, opened, &judged.errors, edits)?;
        }
        let after = self.planning()?.unwrap_or_else(|| planned.planning.clone());
        Ok(DocumentVerdict {
            doc,
            attempt: opened.number,
            errors: judged.errors.clone(),
            warnings: judged.warnings.clone(),
            asks: after.awaits() == Some(doc),
            is_blocked: after.due() == Due::Fix(doc),
        })
    }

    fn record_invalid(
        &self,
        planned: &Planned<'_>,
        opened: &Attempt,
        errors: &[String],
        edits: Vec<DocEdit>,
    ) -> Result<(), AttemptError> {
        let Role::Author(doc) = opened.role else { return Ok(()) };
        let Step { planning, effects } = authoring::step(&planned.planning, Event::Invalid(doc))?;
        let entry = Entry::Gated {
            task: opened.key.clone(),
            attempt: opened.number,
            findings: errors.to_vec(),
        };
        let mut changes = Changes { docs: edits, ..Changes::default() };
        let mut state = planned.state.clone();
        if effects.contains(&Effect::Block(doc)) {
            let (tries, file) = (planning.max_attempts, doc.file());
            let first = errors.first().map(String::as_str).unwrap_or_default();
            let why = format!("{file} is not good after {tries} tries: {}", line::head(first, 300));
            changes.notes.push(Note { section: Section::Blockers, text: format!("- {why}") });
            state.standing = Standing::Blocked(why);
        }
        planned.write_with(Some(&opened.id), entry, state, planning, changes)
    }

    /// A document that is good: somebody is asked, or it is agreed to at once.
    fn record_valid(
        &self,
        planned: &Planned<'_>,
        planning: &Planning,
        opened: Option<&Attempt>,
        judged: &Judged,
        edits: Vec<DocEdit>,
    ) -> Result<(), AttemptError> {
        let doc = judged.doc;
        let trace = read_trace(self.world(), &self.spec.dir)?.unwrap_or_default();
        let spec = Spec::of(judged.documents.texts());
        let stale: Vec<Doc> =
            Graph::of(&spec).stale(&trace).into_iter().map(|stale| stale.doc).collect();
        let digest = ContentDigest::of(judged.text()).to_string();
        let event = Event::Valid { doc, digest: digest.clone(), stale };
        let Step { planning: mut next, effects } = authoring::step(planning, event)?;
        let entry = Entry::Written {
            task: authoring::key(doc),
            attempt: opened.map_or(0, |opened| opened.number),
            digest,
            bytes: judged.text().len(),
            warnings: judged.warnings.clone(),
        };
        let mut changes = Changes { docs: edits, ..Changes::default() };
        let by = effects.iter().find_map(|effect| match effect {
            Effect::Commit(_, by) => Some(*by),
            _ => None,
        });
        let approved = by.map(|by| {
            let made = self.approval(doc, &judged.documents, &next, by, Source::default());
            made.map(|made| (made, by))
        });
        let approved = approved.transpose()?;
        let id = opened.map(|opened| &opened.id);
        let Some((made, by)) = approved else {
            return planned.write(id, entry, next, changes);
        };
        changes.docs.extend(made.edits);
        changes.trace = Some(made.trace);
        next.retext(doc, made.digest.clone());
        planned.write(id, entry, next, changes)?;
        let entry = Entry::DocumentApproved { doc, digest: made.digest, agreed: by };
        Ok(planned.locked.record(entry)?)
    }

    /// Ends an attempt at a document whose agent has failed: a try that came to nothing.
    pub fn fail_document(&self, opened: &Attempt, why: &str) -> Result<(), AttemptError> {
        let planned = self.enter_planning()?;
        if !self.store.ledger()?.is_open(&opened.id) {
            return Err(AttemptError::NotOpen(opened.key.id.clone()));
        }
        self.record_invalid(&planned, opened, &[why.to_owned()], Vec::new())
    }

    /// The author of a small plan finds that the change is none: the try does not count.
    /// In quick mode the spec gets the documents of the next size; else a person is asked.
    pub fn too_large(&self, opened: &Attempt, why: &str) -> Result<(), AttemptError> {
        let Role::Author(doc) = opened.role else { return Ok(()) };
        let planned = self.enter_planning()?;
        let (task, attempt) = (opened.key.clone(), opened.number);
        let Step { planning, .. } = authoring::step(&planned.planning, Event::Abandon(doc))?;
        let cleared = Entry::Cleared { task, attempt };
        planned.write(Some(&opened.id), cleared, planning.clone(), Changes::default())?;
        let mut state = planned.state.clone();
        if planning.quick {
            let profile = Profile::Standard;
            let step = authoring::step(&planning, Event::Enlarge(profile))?;
            let (profile, why) = (profile.as_str().to_owned(), why.to_owned());
            let entry = Entry::Enlarged { profile, why };
            return planned.write_with(None, entry, state, step.planning, Changes::default());
        }
        let name = &self.spec.name;
        let why = format!(
            "this is no small change: {why}. `specum plan {name} --standard` plans it \
                           with requirements and a design"
        );
        state.standing = Standing::Paused(Some(why.clone()));
        let entry = Entry::Paused { why: Some(why), branch: None };
        planned.write_with(None, entry, state, planning, Changes::default())
    }

    /// Gives a spec more documents than were planned at first.
    pub fn enlarge(&self, profile: Profile, source: Source) -> Result<(), AttemptError> {
        let planned = self.enter_planning()?;
        if planned.planning.profile == profile {
            return Ok(());
        }
        planned.locked.speaks_for(source);
        let step = authoring::step(&planned.planning, Event::Enlarge(profile))?;
        let why = "a person wants it".to_owned();
        let entry = Entry::Enlarged { profile: profile.as_str().to_owned(), why };
        let mut state = planned.state.clone();
        state.standing = Standing::Running;
        planned.write_with(None, entry, state, step.planning, Changes::default())
    }
}

impl<'w> Planned<'w> {
    fn with(locked: Locked<'w>, state: State) -> Planned<'w> {
        let none = || Planning::new(Profile::Standard, false, Doc::ALL.into());
        let planning = state.planning.clone().unwrap_or_else(none);
        Planned { locked, state, planning }
    }

    /// Writes what has happened, with the planning that it leads to.
    fn write(
        &self,
        attempt: Option<&AttemptId>,
        entry: Entry,
        planning: Planning,
        changes: Changes,
    ) -> Result<(), AttemptError> {
        self.write_with(attempt, entry, self.state.clone(), planning, changes)
    }

    fn write_with(
        &self,
        attempt: Option<&AttemptId>,
        entry: Entry,
        mut state: State,
        planning: Planning,
        changes: Changes,
    ) -> Result<(), AttemptError> {
        let current = match planning.due() {
            Due::Author(doc) | Due::Approve(doc) | Due::Fix(doc) => doc,
            Due::Start | Due::Nothing => Doc::Tasks,
        };
        if state.phase != Phase::Execution {
            state.phase = Phase::Other(current.name().to_owned());
        }
        state.quick_mode = planning.quick;
        state.planning = Some(planning);
        let changes = Changes { state: StateChange::Write(state.to_object()), ..changes };
        match attempt {
            Some(id) => self.locked.write_of(id, entry, changes)?,
            None => self.locked.write(entry, changes)?,
        }
        Ok(())
    }
}

/// The documents up to one of them: those behind it are not built on yet, or judged again.
fn up_to(doc: Doc, texts: Texts<'_>) -> Texts<'_> {
    let start = Texts { goal: texts.goal, ..Texts::default() };
    let there = Doc::ALL.into_iter().filter(|other| *other <= doc);
    let there = there.filter_map(|other| Some((other, texts.get(other)?)));
    there.fold(start, |before, (other, text)| before.with(other, text))
}

/// The parts of a document that stand on what has changed, each with what that is.
fn stale_parts(spec: &Spec<'_>, trace: &TraceFile, doc: Doc) -> Vec<String> {
    let stale = Graph::of(spec).stale(trace).into_iter().filter(|stale| stale.doc == doc);
    stale.map(|stale| format!("{}: {}", stale.name, stale.because.join(", "))).collect()
}
