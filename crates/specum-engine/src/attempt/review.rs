//! The plan as it stands against the plan on record, before anything is decided.
//!
//! A process that takes the spec's lock to decide something reviews first: what a
//! person has edited while nobody held the loop goes on record, a check that was
//! changed or a task that was removed during an attempt waits for a person, and
//! a tick with nothing behind it is taken back.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use specum_core::attempt::Ledger;
use specum_core::journal::{self, Changes, Entry, StateChange};
use specum_core::machine::{self, Effect, Event, Step};
use specum_core::owner::{Asker, Holder};
use specum_core::plan_record::{Change, PlanEdit, PlanRecord};
use specum_core::state::State;
use specum_core::tasks::{Check, TaskEdit, TaskFile, TaskKey};

use super::{AttemptError, Workspace};
use crate::owner;
use crate::store::{Locked, Store, StoreError, View};

/// A spec under its lock, with plan and record brought together.
pub(crate) struct ReviewedPlan {
    /// State and plan as they stand.
    pub(crate) view: View,
    /// What is on record.
    pub(crate) plan_record: Arc<PlanRecord>,
    /// Ticks with nothing behind them, which are still to be taken back.
    pub(crate) unproved: Vec<TaskKey>,
    /// What a person should know.
    pub(crate) news: Vec<String>,
    /// Whether the plan differs from what was on record.
    pub(crate) has_changed: bool,
}

impl Workspace {
    /// Takes the lock for a decision.
    pub(super) fn enter(&self) -> Result<(Locked<'_>, ReviewedPlan), AttemptError> {
        let locked = self.store.lock()?;
        let view = locked.read()?;
        let mut reviewed = review(&self.store, &locked, view)?;
        take_back(&locked, &mut reviewed)?;
        self.review_suite(&locked, &mut reviewed, true)?;
        self.tell(&mut reviewed);
        Ok((locked, reviewed))
    }

    /// The same for a person's verb, which decides by itself what it does.
    pub fn enter_for_a_person(&self) -> Result<(Locked<'_>, View), AttemptError> {
        let (locked, reviewed) = self.enter()?;
        Ok((locked, reviewed.view))
    }

    /// Opens the boxes again that were ticked with nothing behind it. A state
    /// that cannot be read does not prevent that: the journal has another.
    pub fn take_back_ticks(&self) -> Result<(), AttemptError> {
        let locked = self.store.lock()?;
        let tasks = self.store.read_tasks()?;
        let state = self.known_state()?;
        let mut reviewed = review(&self.store, &locked, View { state, tasks })?;
        take_back(&locked, &mut reviewed)?;
        self.review_suite(&locked, &mut reviewed, true)?;
        self.tell(&mut reviewed);
        Ok(())
    }

    /// The state, or what the journal knows of it: a program that deletes or spoils the
    /// file of a loop that is under way has not ended the loop.
    pub(super) fn known_state(&self) -> Result<Option<State>, AttemptError> {
        let state = self.store.read_state();
        if state.is_none() && !self.store.ledger()?.is_under_way() {
            return Ok(None);
        }
        Ok(match state {
            Some(Ok(state)) => Some(state),
            Some(Err(_)) | None => journal::last_state(&self.store.read_journal()?),
        })
    }

    /// Writes the loop's own files again if they were deleted, such as by
    /// `git clean -fdx`, and says so. For an unattended run: in a session a person is
    /// asked to start again.
    pub fn bring_back(&self) -> Result<(), AttemptError> {
        if !self.world().disk.exists(&self.spec.dir) {
            return Ok(());
        }
        if self.store.lock()?.bring_back()? {
            self.add_news(
                "the loop's own files were deleted or emptied (git clean -x?) and are written again"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// Keeps what a review has found until it is shown to a person.
    pub(super) fn tell(&self, reviewed: &mut ReviewedPlan) {
        self.news.lock().expect("no holder panics").append(&mut reviewed.news);
    }

    /// Keeps something else that a person should know.
    pub(super) fn add_news(&self, text: String) {
        self.news.lock().expect("no holder panics").push(text);
    }

    /// What reviews have found since the last time, each in a sentence.
    pub fn take_news(&self) -> Vec<String> {
        std::mem::take(&mut *self.news.lock().expect("no holder panics"))
    }

    /// What is on record about the plan.
    pub fn plan_record(&self) -> Result<Arc<PlanRecord>, AttemptError> {
        Ok(self.store.plan_record()?)
    }
}

/// Puts on record what differs from it. A loop that was begun by another program
/// has no record, and stays as it is.
pub(crate) fn review(
    store: &Store,
    locked: &Locked<'_>,
    view: View,
) -> Result<ReviewedPlan, StoreError> {
    let plan_record = store.plan_record()?;
    let mut reviewed = ReviewedPlan {
        view,
        plan_record,
        unproved: Vec::new(),
        news: Vec::new(),
        has_changed: false,
    };
    let (Some(state), Some(tasks)) = (&reviewed.view.state, &reviewed.view.tasks) else {
        return Ok(reviewed);
    };
    let ledger = store.ledger()?;
    let file = tasks.file();
    if state.has_reviewed(&file) || !ledger.is_under_way() {
        return Ok(reviewed);
    }
    let during = at_work(store, state, &ledger);
    let found = reviewed.plan_record.review(&file, during.as_deref());
    reviewed.has_changed = !found.edits.is_empty() || found.has_doubles;
    let mut state = state.clone();
    if !found.edits.is_empty() {
        let renames = found.renames();
        let renames = renames.iter().map(|(from, to)| ((*from).to_owned(), (*to).clone()));
        let settled = found.settled().map(|task| task.id.clone()).collect();
        let event = Event::Follow { renames: renames.collect(), settled };
        let mut step = machine::step(&state, &file, event);
        if let Some(state) = &mut step.state {
            found.note_in(state, &file);
        }
        let asked = asked(&found.edits);
        locked.write_step(Entry::PlanChanged { edits: found.edits }, &step)?;
        reviewed.plan_record = store.plan_record()?;
        reviewed
            .news
            .extend(asked.iter().filter_map(|id| reviewed.plan_record.task(id)?.question()));
        reviewed.view.state = step.state;
    } else {
        // The next record brings the state up to date, so no further review is needed.
        found.note_in(&mut state, &file);
        reviewed.view.state = Some(state);
    }
    reviewed.unproved = found.unproved;
    Ok(reviewed)
}

/// The tasks that are being worked on, as a review names them; `None` if nobody
/// holds the loop.
pub(super) fn at_work(store: &Store, state: &State, ledger: &Ledger) -> Option<String> {
    let held = owner::holder(store, Some(state), Asker::Person) != Holder::Nobody;
    let at_work = ledger.at_work();
    (held || !at_work.is_empty()).then(|| at_work.join(", "))
}

/// The checks that count although the plan says otherwise, by the id of the task:
/// the ones on record of tasks whose check was changed while an attempt was open.
/// Changes nothing.
pub(crate) fn checks_on_record(
    store: &Store,
    file: &TaskFile<'_>,
) -> Result<HashMap<String, Check>, StoreError> {
    let Some(Ok(state)) = store.read_state() else { return Ok(HashMap::new()) };
    let plan_record = store.plan_record()?;
    let ledger = store.ledger()?;
    if !plan_record.has_begun() || !ledger.is_under_way() {
        return Ok(HashMap::new());
    }
    let found = plan_record.review(file, at_work(store, &state, &ledger).as_deref());
    let changed = found.edits.iter().filter_map(|edit| match edit {
        PlanEdit::Unconfirmed { task, change: Change::Check(_), .. } => Some(task.id.as_str()),
        _ => None,
    });
    let settled: HashSet<&str> = found.settled().map(|task| task.id.as_str()).collect();
    let waiting = plan_record.tasks().iter().filter(|known| {
        let asked = known.unconfirmed.as_ref().map(|asked| &asked.change);
        matches!(asked, Some(Change::Check(_))) && !settled.contains(known.task.id.as_str())
    });
    let ids = changed.chain(waiting.map(|known| known.task.id.as_str()));
    let on_record = ids.filter_map(|id| {
        let check = Check::of_lines(&plan_record.task(id)?.check.0)?;
        Some((id.to_owned(), check))
    });
    Ok(on_record.collect())
}

/// The tasks about which a person is asked from now on.
fn asked(edits: &[PlanEdit]) -> Vec<String> {
    let asked = edits.iter().filter_map(|edit| match edit {
        PlanEdit::Unconfirmed { task, .. } => Some(task.id.clone()),
        _ => None,
    });
    asked.collect()
}

/// A session that has ended holds the loop no more.
pub fn release_session(store: &Store, session_id: &str) -> Result<(), StoreError> {
    let locked = store.lock()?;
    // From now on a tick is a person's; one that is unproved by now is not.
    let mut reviewed = review(store, &locked, locked.read()?)?;
    take_back(&locked, &mut reviewed)?;
    let Some(state) = &reviewed.view.state else { return Ok(()) };
    // Somebody else may have taken it since.
    if !state.owner.as_ref().is_some_and(|owner| owner.is_session(session_id)) {
        return Ok(());
    }
    let step = machine::step(state, &reviewed.view.file(), Event::Release { millis: 0 });
    locked.write_step(Entry::Released { session: session_id.to_owned() }, &step)
}

/// Opens the boxes again that were ticked with nothing behind it.
pub(super) fn take_back(
    locked: &Locked<'_>,
    reviewed: &mut ReviewedPlan,
) -> Result<(), StoreError> {
    let unproved = std::mem::take(&mut reviewed.unproved);
    if unproved.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = unproved.iter().map(|key| key.id.clone()).collect();
    let tasks = reviewed.view.tasks.clone().unwrap_or_default();
    let file = tasks.file();
    let changes = match &reviewed.view.state {
        Some(state) => {
            let nothing = Event::Follow { renames: Vec::new(), settled: Vec::new() };
            let step = without_ticks(state, &file, nothing, &unproved);
            let changes = locked.changes(&step)?;
            reviewed.view.state = step.state;
            changes
        }
        None => {
            let tasks = unproved.into_iter().map(TaskEdit::Untick).collect();
            Changes { tasks, state: StateChange::Keep, ..Changes::default() }
        }
    };
    reviewed.news.push(taken_back_in_words(&names));
    if reviewed.view.tasks.is_some() {
        reviewed.view.tasks = Some(Arc::new(TaskEdit::apply_to(&changes.tasks, &file)));
    }
    locked.write(Entry::Unticked { tasks: names }, changes)
}

/// That these boxes are open again, in words.
pub fn taken_back_in_words(names: &[String]) -> String {
    let (boxes, were, are) =
        if names.len() == 1 { ("box", "was", "is") } else { ("boxes", "were", "are") };
    format!("{boxes} {} {were} ticked without a verdict and {are} open again", names.join(", "))
}

/// A step over the file as it is without those ticks, which takes them back.
pub fn without_ticks(
    state: &State,
    file: &TaskFile<'_>,
    event: Event,
    unproved: &[TaskKey],
) -> Step {
    if unproved.is_empty() {
        return machine::step(state, file, event);
    }
    let edits: Vec<TaskEdit> = unproved.iter().cloned().map(TaskEdit::Untick).collect();
    let text = TaskEdit::apply_to(&edits, file);
    let mut step = machine::step(state, &text.file(), event);
    step.effects.splice(0..0, edits.into_iter().map(Effect::Edit));
    step
}
