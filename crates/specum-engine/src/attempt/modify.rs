//! What an executor asks of the plan: answered beside its verdict.
//!
//! The answer is found before the lock is taken, with the plan as it stands then. If a
//! person has edited the plan since, the executor may ask again.

use specum_core::attempt::{Attempt, Judgement};
use specum_core::digest::Digest;
use specum_core::journal::Entry;
use specum_core::machine::Event;
use specum_core::modify::{self, Change, Kind, Limits, MOST_DEPTH, MOST_OF_TASK, Request};
use specum_core::spec::Doc;
use specum_core::state::State;
use specum_core::tasks::{TaskFile, TaskMatch};
use specum_core::verify::{Failure, FailureClass};

use super::Workspace;
use crate::documents::{Documents, ProjectFacts, read_trace};
use crate::store::{Locked, StoreError};

/// What was found of a request.
#[derive(Debug, Clone)]
pub struct Asked {
    /// What becomes of the plan, or why it is refused.
    answer: Result<Change, String>,
    /// The plan that this was found for.
    plan: Digest,
}

/// What is left to be written of a request, once the verdict is.
#[derive(Debug, Default)]
pub(super) struct Answered {
    /// What follows a task that has passed.
    follows: Option<Change>,
    /// Why the request is refused.
    refused: Option<String>,
}

impl Workspace {
    /// What becomes of the request in an executor's last message; `None` if there is none.
    pub(super) fn asked(&self, opened: &Attempt, result: &str) -> Option<Asked> {
        let request = Request::find(result)?;
        let view = self.store.read().ok()?;
        let file = view.file();
        let plan = file.digest();
        let answer = request.and_then(|request| match self.may_modify {
            false => Err("the settings say `modifications: false`".to_owned()),
            true => self.answer(opened, &request, &file, view.state.as_ref()),
        });
        Some(Asked { answer, plan })
    }

    fn answer(
        &self,
        opened: &Attempt,
        request: &Request,
        file: &TaskFile<'_>,
        state: Option<&State>,
    ) -> Result<Change, String> {
        let unknown = |error: &dyn std::fmt::Display| error.to_string();
        let opened = self.renamed(opened).map_err(|error| unknown(&error))?;
        let (TaskMatch::Same(index) | TaskMatch::Retitled(index)) = file.find(&opened.key) else {
            return Err("its task is gone".into());
        };
        let (world, spec) = (self.world(), &self.spec);
        let documents = Documents::read(world, &spec.dir).map_err(|error| unknown(&error))?;
        let trace = read_trace(world, &spec.dir).map_err(|error| unknown(&error))?;
        let limits = {
            let ledger = self.store.ledger().map_err(|error| unknown(&error))?;
            Limits {
                of_task: ledger.modifications(&opened.key),
                most_of_task: MOST_OF_TASK,
                most_depth: MOST_DEPTH,
                added: ledger.added(),
                most_added: self.most_added,
                in_group: state.is_some_and(|state| state.parallel_group.is_some()),
            }
        };
        let texts = documents.texts().with(Doc::Tasks, file.text());
        let facts = ProjectFacts::new(world, &spec.root, &spec.dir, trace.as_ref());
        facts.ask(|facts| modify::decide(request, texts, index, facts, &limits))
    }

    /// Lets a judgement take account of a request. A task that has passed is done: only
    /// what is to follow it is granted then.
    pub(super) fn weigh_request(
        &self,
        judged: &mut Judgement,
        asked: Option<Asked>,
        file: &TaskFile<'_>,
    ) -> Answered {
        let Some(Asked { answer, plan }) = asked else { return Answered::default() };
        let refused = match answer {
            Ok(_) if plan != file.digest() => {
                "the plan was edited meanwhile; ask again if it is still needed".to_owned()
            }
            Ok(change) if judged.passed() && change.kind == Kind::FollowUp => {
                judged.added = change.inserted();
                return Answered { follows: Some(change), refused: None };
            }
            Ok(_) if judged.passed() => "the task has passed".to_owned(),
            Ok(change) if change.kind == Kind::FollowUp => {
                "what is to follow is added once the task has passed".to_owned()
            }
            Ok(change) => {
                judged.added = change.inserted();
                judged.ending = judged.ending.clone().or_modified(Some(change));
                return Answered::default();
            }
            Err(why) => why,
        };
        if !judged.passed() {
            let message = format!("what it asked of the plan was refused: {refused}");
            judged.verdict.failures.push(Failure { class: FailureClass::NoSignal, message });
        }
        Answered { follows: None, refused: Some(refused) }
    }

    /// Records what became of a request beside the verdict.
    pub(super) fn record_answer(
        &self,
        locked: &Locked<'_>,
        judged: &Judgement,
        opened: &Attempt,
        answered: Answered,
    ) -> Result<(), StoreError> {
        let (task, attempt) = (judged.key.clone(), judged.attempt);
        if let Some(why) = answered.refused {
            let entry = Entry::ModificationRefused { task, attempt, why };
            return locked.record_of(&opened.id, entry);
        }
        let Some(change) = answered.follows else { return Ok(()) };
        let (kind, inserted, why) = (change.kind, change.inserted(), change.why);
        let (changed, unticked) = (Vec::new(), Vec::new());
        let entry = Entry::Modified { task, attempt, kind, inserted, why, changed, unticked };
        locked.record_of(&opened.id, entry)
    }
}

impl Answered {
    /// What happens to the loop, if something is to follow.
    pub(super) fn event(&self, event: Event) -> Event {
        match (event, &self.follows) {
            (Event::Pass { index, unverified }, Some(change)) => {
                Event::PassAndFollow { index, unverified, change: change.clone() }
            }
            (event, _) => event,
        }
    }
}
