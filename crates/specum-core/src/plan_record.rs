//! What a loop has on record about its plan: which check counts for each task,
//! and which ticks have something behind them.
//!
//! A [`PlanRecord`] is a fold over the journal. [`PlanRecord::review`] compares it with
//! the task file as it stands and says what is to be recorded and which boxes
//! are to be opened again. A tick counts only with a verdict, a person's word
//! or the beginning of the loop behind it; a check that was changed while an
//! attempt was open counts only after a person has accepted it.
//!
//! A task is followed through edits by its content, then by its id, then by its
//! title and its place among its neighbours.

mod follow;
mod lines;
mod review;
mod suite;

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

pub use self::lines::Lines;
pub use self::review::Review;
use self::review::first_sight;
use crate::journal::{Entry, Record};
use crate::state::State;
use crate::suite::Suite;
use crate::tasks::{Task, TaskFile, TaskKey, short_title};

/// A task as it goes on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTask {
    /// The task.
    pub task: TaskKey,
    /// Its check.
    #[serde(default)]
    pub check: Lines,
    /// A digest of what it asks for, see [`TaskFile::content`].
    pub content: String,
    /// Whether its box is ticked, and rightly so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ticked: bool,
}

impl PlannedTask {
    fn of(file: &TaskFile<'_>, task: &Task, ticked: bool) -> PlannedTask {
        let content = file.content(task).hex();
        PlannedTask { task: task.key(), check: Lines::of(file, task), content, ticked }
    }
}

/// Something that changed between the plan on record and the plan as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanEdit {
    /// This is on record from now on: a new task, or another text or check.
    Recorded(PlannedTask),
    /// The task has another id, place or title.
    Renamed {
        /// What it was called.
        from: TaskKey,
        /// What it is called.
        to: TaskKey,
    },
    /// The task is gone, and that is right.
    Removed(TaskKey),
    /// The plan was changed while these tasks were being worked on. A person has
    /// to accept it.
    Unconfirmed {
        /// The task.
        task: TaskKey,
        /// What became of it.
        change: Change,
        /// The tasks that were being worked on.
        during: String,
    },
    /// The task reads otherwise, while its check waits to be accepted.
    Reworded {
        /// The task.
        task: TaskKey,
        /// A digest of what it asks for, by which it is found again.
        content: String,
    },
    /// What waited to be accepted is as it was on record again.
    Withdrawn(TaskKey),
    /// A person has ticked the box while nobody held the loop.
    Ticked(TaskKey),
    /// Somebody has opened a box whose tick counted: it is to be done again.
    Reopened(TaskKey),
}

/// What waits for a person's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// The check was changed to this.
    Check(Lines),
    /// The task was removed, which was called so.
    Removed(String),
}

/// Why a tick counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// It stood there when the loop began.
    Stood,
    /// An attempt has passed.
    Passed,
    /// A person says so.
    Person,
}

/// A change that waits for a person's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnconfirmedChange {
    /// What was changed.
    pub change: Change,
    /// The tasks that were being worked on.
    pub during: String,
}

impl UnconfirmedChange {
    /// When it was changed, in words.
    fn when(&self) -> String {
        when(&self.during)
    }
}

/// When something was changed, in words, by the tasks that were being worked on.
fn when(during: &str) -> String {
    match during.is_empty() {
        true => "while the loop was at work".to_owned(),
        false if during.contains(", ") => format!("while {during} were being worked on"),
        false => format!("while {during} was being worked on"),
    }
}

/// A task on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnRecord {
    /// The task, as it is called now.
    pub task: TaskKey,
    /// The check that counts.
    pub check: Lines,
    /// Why its tick counts, if it does.
    pub proof: Option<Proof>,
    /// What waits for a person's word.
    pub unconfirmed: Option<UnconfirmedChange>,
    /// What waited when the task was removed.
    asked_before: Option<UnconfirmedChange>,
    content: String,
}

impl OnRecord {
    /// Whether the task is gone, and nobody has agreed to that.
    fn is_removal(&self) -> bool {
        self.removed().is_some()
    }

    /// The name that the task had in the plan, if it is gone.
    fn removed(&self) -> Option<&str> {
        match &self.unconfirmed.as_ref()?.change {
            Change::Removed(name) => Some(name),
            Change::Check(_) => None,
        }
    }

    /// Whether the task may be removed without a person's word.
    fn may_go(&self, during: Option<&str>) -> bool {
        !self.is_removal() && (during.is_none() || self.proof.is_some())
    }

    /// What waits for a person, and what to do about it.
    pub fn question(&self) -> Option<String> {
        let asked = self.unconfirmed.as_ref()?;
        let (id, during) = (&self.task.id, asked.when());
        Some(match &asked.change {
            Change::Check(new) => format!(
                "the check of {id} was changed {during}: {} → {}; `specum accept {id}` takes the \
                 new one",
                self.check.shortly(),
                new.shortly()
            ),
            Change::Removed(id) => {
                let title = short_title(&self.task.title);
                format!(
                    "task {id} ({title}) was removed {during}; put it back, or `specum accept \
                     {id}` agrees"
                )
            }
        })
    }
}

fn renames(edits: &[PlanEdit]) -> HashMap<&str, &TaskKey> {
    let renamed = edits.iter().filter_map(|edit| match edit {
        PlanEdit::Renamed { from, to } => Some((from.id.as_str(), to)),
        _ => None,
    });
    renamed.collect()
}

/// A plan as a new loop finds it: what is ticked counts.
pub fn beginning(file: &TaskFile<'_>) -> Vec<PlannedTask> {
    file.tasks.iter().map(|task| PlannedTask::of(file, task, task.done)).collect()
}

/// Notes in the state of a new loop that its plan is on record as it stands, so that
/// there is nothing to review, unless two tasks have one id.
pub fn note_beginning(plan: &[PlannedTask], state: &mut State, file: &TaskFile<'_>) {
    let ids: HashSet<&str> = plan.iter().map(|planned| planned.task.id.as_str()).collect();
    if ids.len() == plan.len() {
        state.plan = Some(file.digest().hex());
    }
}

/// What a loop has on record about its plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanRecord {
    tasks: Vec<OnRecord>,
    /// Where each of them stands in that list, by id.
    places: HashMap<String, usize>,
    begun: bool,
    /// The highest number of a task that is gone.
    gone: usize,
    /// The checks of the whole plan that count.
    suite: Suite,
    /// Others that wait for a person's word, and the tasks that were being worked on.
    asked_suite: Option<(Suite, String)>,
}

impl PlanRecord {
    /// What a journal has on record. Its records call every task what it is
    /// called now, see [`crate::journal::follow_renames`].
    pub fn of(records: &[Record]) -> PlanRecord {
        let mut plan_record = PlanRecord::default();
        for record in records {
            plan_record.add(record);
        }
        // Without ids the name is the place, and neighbours tell who is who.
        plan_record.tasks.sort_by_key(|known| known.task.place());
        plan_record.index();
        plan_record
    }

    /// Whether the loop has recorded its plan. One that was begun by somebody
    /// else has not.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// The tasks on record.
    pub fn tasks(&self) -> &[OnRecord] {
        &self.tasks
    }

    /// A task on record.
    pub fn task(&self, id: &str) -> Option<&OnRecord> {
        self.places.get(id).map(|&at| &self.tasks[at])
    }

    /// The removals that nobody has accepted: with one of them, no loop is
    /// complete.
    pub fn removals(&self) -> impl Iterator<Item = &OnRecord> {
        self.tasks.iter().filter(|task| task.is_removal())
    }

    /// What waits for a person's word, the tasks that are done left out.
    pub fn questions(&self) -> impl Iterator<Item = String> {
        let open = self.tasks.iter().filter(|task| task.proof.is_none());
        open.filter_map(OnRecord::question).chain(self.suite_question())
    }

    /// The checks of done tasks that were changed while the loop was at work, and
    /// that nobody has accepted: the plan shows another check than was run.
    pub fn overruled_checks(&self) -> impl Iterator<Item = String> {
        let of_tasks = self.tasks.iter().filter_map(|task| {
            let (proof, asked) = (task.proof?, task.unconfirmed.as_ref()?);
            let Change::Check(new) = &asked.change else { return None };
            let (id, when) = (&task.task.id, asked.when());
            let (old, new) = (task.check.shortly(), new.shortly());
            let run = if proof == Proof::Passed { "; the old one was run" } else { "" };
            Some(format!("the check of {id} was changed {when}: {old} → {new}{run}"))
        });
        of_tasks.chain(self.overruled_suite())
    }

    /// Whether a record changes who is who: then only reading everything again
    /// tells, because earlier records have other names by now.
    pub fn is_rewritten_by(record: &Record) -> bool {
        matches!(
            record.entry,
            Entry::PlanChanged { .. }
                | Entry::Started { .. }
                | Entry::Cancelled
                | Entry::Completed { .. }
        )
    }

    /// Whether a record says anything about the plan.
    pub fn is_touched_by(record: &Record) -> bool {
        PlanRecord::is_rewritten_by(record)
            || matches!(
                record.entry,
                Entry::Passed { .. }
                    | Entry::Ticked { .. }
                    | Entry::Failed { .. }
                    | Entry::SetAside { .. }
                    | Entry::Modified { .. }
                    | Entry::Unticked { .. }
                    | Entry::Retried { .. }
                    | Entry::Undone { .. }
                    | Entry::Accepted { .. }
                    | Entry::SuiteChanged { .. }
            )
    }

    /// Takes in one more record.
    pub fn add(&mut self, record: &Record) {
        match &record.entry {
            Entry::Cancelled | Entry::Completed { .. } => *self = PlanRecord::default(),
            Entry::Started { plan, .. } if !plan.is_empty() => {
                self.tasks = plan.iter().map(on_record).collect();
                self.begun = true;
                self.index();
            }
            Entry::PlanChanged { edits } => self.change(edits),
            Entry::SuiteChanged { suite, during: None } => {
                (self.suite, self.asked_suite) = (suite.clone(), None);
            }
            Entry::SuiteChanged { suite, during: Some(during) } => {
                self.asked_suite = Some((suite.clone(), during.clone()));
            }
            Entry::Passed { task, .. } => self.set_proof(&task.id, Some(Proof::Passed)),
            Entry::Ticked { task } => self.set_proof(&task.id, Some(Proof::Person)),
            Entry::Modified { kind, .. } if !kind.ends_attempt() => {}
            Entry::Failed { task, .. }
            | Entry::SetAside { task, .. }
            | Entry::Modified { task, .. }
            | Entry::Retried { task }
            | Entry::Undone { task, .. } => {
                self.set_proof(&task.id, None);
            }
            Entry::Unticked { tasks } => tasks.iter().for_each(|id| self.set_proof(id, None)),
            Entry::Accepted { task } => self.accept(task),
            _ => {}
        }
    }

    fn change(&mut self, edits: &[PlanEdit]) {
        self.begun = true;
        for edit in edits {
            match edit {
                PlanEdit::Recorded(planned) => self.record(planned),
                // The records call every task what it is called now.
                PlanEdit::Renamed { to, .. } => {
                    self.gone = self.gone.max(to.gone().unwrap_or_default());
                }
                PlanEdit::Removed(task) => self.remove(&task.id),
                PlanEdit::Unconfirmed { task, change, during } => {
                    if let Some(known) = self.task_mut(&task.id) {
                        let (change, during) = (change.clone(), during.clone());
                        let before =
                            known.unconfirmed.replace(UnconfirmedChange { change, during });
                        known.asked_before = before.filter(|_| known.is_removal());
                    }
                }
                PlanEdit::Reworded { task, content } => {
                    if let Some(known) = self.task_mut(&task.id) {
                        known.content.clone_from(content);
                    }
                }
                PlanEdit::Withdrawn(task) => {
                    if let Some(known) = self.task_mut(&task.id) {
                        known.unconfirmed = None;
                    }
                }
                PlanEdit::Ticked(task) => self.set_proof(&task.id, Some(Proof::Person)),
                PlanEdit::Reopened(task) => self.set_proof(&task.id, None),
            }
        }
    }

    fn record(&mut self, planned: &PlannedTask) {
        match self.task_mut(&planned.task.id) {
            Some(known) => {
                known.task = planned.task.clone();
                known.check = planned.check.clone();
                known.content = planned.content.clone();
                known.unconfirmed = None;
            }
            None => {
                self.places.insert(planned.task.id.clone(), self.tasks.len());
                self.tasks.push(on_record(planned));
            }
        }
    }

    fn remove(&mut self, id: &str) {
        self.tasks.retain(|known| known.task.id != id);
        self.index();
    }

    fn index(&mut self) {
        let places = self.tasks.iter().enumerate();
        self.places = places.map(|(at, known)| (known.task.id.clone(), at)).collect();
    }

    fn accept(&mut self, task: &TaskKey) {
        let Some(known) = self.task_mut(&task.id) else { return };
        match known.unconfirmed.take() {
            Some(UnconfirmedChange { change: Change::Check(lines), .. }) => known.check = lines,
            Some(UnconfirmedChange { change: Change::Removed(_), .. }) => self.remove(&task.id),
            None => {}
        }
    }

    fn set_proof(&mut self, id: &str, proof: Option<Proof>) {
        if let Some(known) = self.task_mut(id) {
            known.proof = proof;
        }
    }

    fn task_mut(&mut self, id: &str) -> Option<&mut OnRecord> {
        self.places.get(id).map(|&at| &mut self.tasks[at])
    }

    /// Compares the plan as it stands with the one on record. `during` names the
    /// tasks that are being worked on; `None` if nobody holds the loop, and
    /// whatever was changed is a person's.
    pub fn review(&self, file: &TaskFile<'_>, during: Option<&str>) -> Review {
        if !self.begun {
            return first_sight(file, during);
        }
        let mut review = Review::default();
        let places = follow::places(&self.tasks, file);
        let mut known = vec![false; file.tasks.len()];
        let mut taken: HashSet<String> = HashSet::new();
        let mut gone = self.gone;
        for (on_record, place) in self.tasks.iter().zip(places) {
            match place {
                None => {
                    // Its name may be another's, now or later: what is known of it
                    // must not be taken for the other's.
                    let key = &on_record.task;
                    let name = key.gone().is_none().then(|| {
                        gone += 1;
                        key.named_gone(gone)
                    });
                    review.missing(on_record, name, during);
                }
                Some(index) => {
                    known[index] = true;
                    taken.insert(file.tasks[index].name());
                    review.compare(on_record, file, &file.tasks[index], during);
                }
            }
        }
        let new = file.tasks.iter().zip(known).filter(|(_, known)| !known);
        for (task, _) in new {
            // A second task of one id says nothing about the first.
            if taken.contains(&task.name()) {
                review.has_doubles = true;
                continue;
            }
            let ticked = task.done && during.is_none();
            review.edits.push(PlanEdit::Recorded(PlannedTask::of(file, task, ticked)));
            if task.done && during.is_some() {
                review.unproved.push(task.key());
            }
        }
        review
    }

    /// The ticks that have nothing behind them, if somebody holds the loop.
    pub fn unproved(&self, file: &TaskFile<'_>) -> Vec<TaskKey> {
        match self.begun {
            true => self.review(file, Some("")).unproved,
            false => Vec::new(),
        }
    }
}

fn on_record(planned: &PlannedTask) -> OnRecord {
    OnRecord {
        task: planned.task.clone(),
        check: planned.check.clone(),
        content: planned.content.clone(),
        proof: planned.ticked.then_some(Proof::Stood),
        unconfirmed: None,
        asked_before: None,
    }
}

#[cfg(test)]
mod tests;
