//! What a person says to the work while it goes on, and what is promised about it: a
//! note reaches every further brief of its task, whatever dies in between; a task that
//! is skipped is not begun; a retry counts nothing; a loop that is to wait begins nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use specum_core::attempt::AttemptId;
use specum_core::journal::{Entry, Record, StateChange};
use specum_core::state::{self, PauseAfter, State};
use specum_core::tasks::{Task, TaskFile, TaskKey};
use specum_engine::ops::{self, About, NoteText, PausedBy};

use super::agents::Act;
use super::launcher::{AgentAtWork, GOOD};
use super::plan::{file_of, soul, soul_of};
use super::truth::Truth;
use super::world::{Halt, ROOT, World, promise};

/// What stands in front of the number of a note.
const NOTE: &str = "note number ";

/// What a person has said, and what of it still counts.
#[derive(Debug, Default)]
pub(crate) struct Steering {
    notes: Vec<Note>,
    /// How many notes there have been.
    made: u32,
    /// The tasks that are passed over.
    skipped: BTreeSet<String>,
    /// What is to be over before the loop waits.
    pause: Option<PauseAfter>,
    /// The phase that was approved last, in a loop whose phases are.
    approved: Option<String>,
    /// The tasks that were begun and have no verdict.
    under_way: BTreeSet<String>,
    /// Whether a person judges their own work at this moment, which may be at any task.
    pub(crate) by_hand: bool,
}

/// Something for those who work.
#[derive(Debug)]
struct Note {
    number: u32,
    /// Nothing: about every task.
    soul: Option<String>,
    /// The record from which on it counts.
    since: usize,
    /// The record from which on it counts no more.
    until: Option<usize>,
    /// The attempt that has passed with it.
    passed: Option<AttemptId>,
}

/// The numbers of the notes in a brief.
pub(crate) fn notes_in(brief: &str) -> Vec<u32> {
    let numbers = brief.split(NOTE).skip(1);
    numbers.filter_map(|rest| rest.split('.').next()?.parse().ok()).collect()
}

impl Steering {
    /// What is said in a record, the `now`th.
    fn learn(&mut self, record: &Record, now: usize) {
        let about = |task: &Option<TaskKey>| task.as_ref().map(soul_of);
        match &record.entry {
            Entry::Noted { task, text } => {
                let number = notes_in(text).first().copied().unwrap_or_default();
                let (soul, until, passed) = (about(task), None, None);
                self.notes.push(Note { number, soul, since: now, until, passed });
            }
            Entry::NoteWithdrawn { task } => {
                let soul = about(task);
                let withdrawn = self.notes.iter_mut().filter(|note| note.soul == soul);
                withdrawn.for_each(|note| note.until = note.until.or(Some(now)));
            }
            Entry::Skipped { task } => drop(self.skipped.insert(soul_of(task))),
            Entry::Unskipped { task } | Entry::Retried { task } | Entry::Undone { task, .. } => {
                self.skipped.remove(&soul_of(task));
            }
            Entry::PauseAsked { after } => self.pause = Some(after.clone()),
            Entry::Paused { .. } | Entry::Resumed => self.pause = None,
            Entry::Approved { phase } => self.approved = Some(phase.clone()),
            Entry::Started { .. } => self.approved = approved_by(record),
            Entry::Opened { task, .. } => drop(self.under_way.insert(soul_of(task))),
            Entry::Passed { task, .. } => {
                self.under_way.remove(&soul_of(task));
                let soul = about(&Some(task.clone()));
                for note in self.notes.iter_mut().filter(|note| note.soul == soul) {
                    if note.until.is_none() {
                        (note.until, note.passed) = (Some(now), record.id.clone());
                    }
                }
            }
            Entry::Failed { task, .. } => {
                self.under_way.remove(&soul_of(task));
                // A pass whose work could not be committed was none.
                let passed = |note: &&mut Note| note.passed.is_some() && note.passed == record.id;
                for note in self.notes.iter_mut().filter(passed) {
                    (note.until, note.passed) = (None, None);
                }
            }
            Entry::SetAside { task, .. }
            | Entry::Modified { task, .. }
            | Entry::Waits { task, .. } => {
                self.under_way.remove(&soul_of(task));
            }
            Entry::Cancelled | Entry::Completed { .. } => {
                *self = Steering { made: self.made, by_hand: self.by_hand, ..Steering::default() };
            }
            _ => {}
        }
    }

    /// Nothing is left of what was said about tasks that are gone.
    fn forget_others(&mut self, is_known: impl Fn(&String) -> bool) {
        self.notes.retain(|note| note.soul.as_ref().is_none_or(&is_known));
        self.skipped.retain(&is_known);
    }
}

/// The phase that a loop may work on from its start on.
fn approved_by(record: &Record) -> Option<String> {
    match &record.changes.as_ref()?.state {
        StateChange::Write(object) => State::parse(&state::render_object(object)).ok()?.approved,
        StateChange::Keep | StateChange::Delete => None,
    }
}

/// The heading that a task stands below.
fn phase_of(file: &TaskFile<'_>, task: &Task) -> String {
    let above = String::from_utf8_lossy(&file.text()[..task.block.start]).into_owned();
    let heading = above.lines().rfind(|line| line.starts_with("## ") || line.starts_with("# "));
    heading.unwrap_or_default().trim_start_matches('#').trim().to_owned()
}

/// Whether a task stands behind everything of a phase.
fn is_behind(file: &TaskFile<'_>, phase: &str, task: &Task) -> bool {
    let of_phase = |other: &&Task| phase_of(file, other) == phase;
    phase_of(file, task) != phase
        && file.tasks.iter().rfind(of_phase).is_none_or(|last| last.index < task.index)
}

impl Truth {
    /// What a record says of what a person wants.
    pub(crate) fn steer(&mut self, record: &Record, now: usize) {
        self.steering.learn(record, now);
        match &record.entry {
            // Everything is tried anew.
            Entry::Retried { task } | Entry::Undone { task, .. } => {
                self.tasks.forget_tick(&soul_of(task));
                self.tasks.failed.remove(&soul_of(task));
            }
            Entry::PlanChanged { .. } | Entry::Accepted { .. } => {
                self.steering.forget_others(|soul| self.tasks.known.contains_key(soul));
            }
            _ => {}
        }
    }

    /// Whether the state names those tasks as skipped that a person has skipped.
    pub(crate) fn skips_are_true(&self, state: &State, file: &TaskFile<'_>) -> Result<(), Halt> {
        let souls: BTreeSet<String> = file.tasks.iter().map(soul).collect();
        let passed_over: BTreeSet<String> =
            file.tasks.iter().filter(|task| state.is_skipped(task)).map(soul).collect();
        let meant: BTreeSet<String> = self.steering.skipped.intersection(&souls).cloned().collect();
        promise!(passed_over == meant, "{passed_over:?} are passed over, a person wants {meant:?}");
        Ok(())
    }
}

impl World {
    /// Whether a task may be begun at this moment.
    pub(crate) fn may_begin(&self, key: &TaskKey, file: &TaskFile<'_>) -> Result<(), Halt> {
        let (steering, soul) = (&self.truth.steering, soul_of(key));
        if steering.by_hand {
            return Ok(());
        }
        promise!(!steering.skipped.contains(&soul), "{} is begun, and is to be skipped", key.id);
        let Some(task) = file.tasks.iter().find(|task| task.name() == key.id) else {
            return Ok(());
        };
        let is_new = !steering.under_way.contains(&soul);
        let is_held = match &steering.pause {
            Some(PauseAfter::Task) => is_new,
            Some(PauseAfter::Phase(phase)) => is_new && is_behind(file, phase, task),
            None => false,
        };
        promise!(!is_held, "{} is begun, and the loop is to wait: {:?}", key.id, steering.pause);
        if let Some(approved) = &steering.approved {
            let is_held = is_new && is_behind(file, approved, task);
            promise!(!is_held, "{} is begun, and only {approved} is approved", key.id);
        }
        Ok(())
    }

    /// Whether an agent was told what a person has noted for it, and nothing else.
    pub(crate) fn brief_is_right(&self, at: &AgentAtWork) -> Result<(), Halt> {
        let found = at.marker.id.as_ref().and_then(|id| self.observer.begun(id));
        let Some((soul, begun)) = found else { return Ok(()) };
        let notes = &self.truth.steering.notes;
        let is_about = |note: &&Note| note.soul.as_ref().is_none_or(|about| *about == soul);
        for note in notes.iter().filter(is_about) {
            promise!(
                note.since > begun || note.until.is_some() || at.notes.contains(&note.number),
                "the brief of {} does not have note {}",
                at.marker.task,
                note.number
            );
        }
        for number in &at.notes {
            let note = notes.iter().filter(is_about).find(|note| note.number == *number);
            promise!(
                note.is_some_and(|note| note.until.is_none_or(|until| until >= begun)),
                "the brief of {} has note {number}, which is not meant for it",
                at.marker.task
            );
        }
        Ok(())
    }

    /// A person says something to the work.
    pub(crate) fn person_steers(&mut self) -> Result<(), Halt> {
        match self.chance.below(10) {
            0 | 1 => self.notes_something(),
            2 => self.withdraws_notes(),
            3 => self.skips(),
            4 => self.wants_it_after_all(),
            5 => self.wants_it_once_more(),
            6 => self.takes_it_out(),
            7 => self.wants_a_break(),
            8 => match self.state().and_then(|state| state.waiting_for) {
                Some(phase) => self.approves(&phase),
                None => Ok(()),
            },
            _ => self.works_by_hand(),
        }
    }

    /// Some task, and whether a session works on it, which nobody can end from outside.
    fn task_to_steer(&mut self) -> Option<(Task, bool)> {
        let text = self.tasks();
        let task = self.some_task(&TaskFile::scan(&text))?;
        // Without a loop an executor works for nobody.
        let has_session = self.run.is_none() && self.state_bytes().is_some();
        let is_worked = has_session && self.is_worked_on(&soul(&task));
        Some((task, is_worked))
    }

    fn notes_something(&mut self) -> Result<(), Halt> {
        let Some((task, _)) = self.task_to_steer() else { return Ok(()) };
        let for_all = self.chance.once_in(4);
        self.truth.steering.made += 1;
        let (number, name) = (self.truth.steering.made, task.name());
        let text = format!("{NOTE}{number}.");
        let (about, shown) = match for_all {
            true => (About::Every, "everybody"),
            false => (About::Task(&name), name.as_str()),
        };
        let is_noted = self.verb(&format!("notes {number} for {shown}"), |caller, _| {
            ops::note(caller, Some("demo"), about, NoteText::Typed(text))
        })?;
        let notes = &self.truth.steering.notes;
        let is_known = notes.iter().any(|note| note.number == number);
        promise!(is_noted == is_known, "note {number} is noted: {is_noted}, recorded: {is_known}");
        Ok(())
    }

    fn withdraws_notes(&mut self) -> Result<(), Halt> {
        let Some((task, _)) = self.task_to_steer() else { return Ok(()) };
        let name = task.name();
        let about = if self.chance.once_in(4) { About::Every } else { About::Task(&name) };
        let what = format!("withdraws the notes for {about:?}");
        self.verb(&what, |caller, _| ops::withdraw_note(caller, Some("demo"), about)).map(drop)
    }

    fn skips(&mut self) -> Result<(), Halt> {
        let Some((task, is_worked)) = self.task_to_steer() else { return Ok(()) };
        let name = task.name();
        let is_done = self
            .verb(&format!("skips {name}"), |caller, _| ops::skip(caller, Some("demo"), &name))?;
        promise!(!is_done || !is_worked, "{name} is skipped, and a session works on it");
        Ok(())
    }

    fn wants_it_after_all(&mut self) -> Result<(), Halt> {
        let skipped = self.names_of_skipped();
        let Some(name) = skipped.first().cloned() else { return Ok(()) };
        let what = format!("wants {name} after all");
        self.verb(&what, |caller, _| ops::unskip(caller, Some("demo"), &name)).map(drop)
    }

    /// A person lets nothing be passed over; whether something was.
    pub(crate) fn wants_everything(&mut self) -> Result<bool, Halt> {
        let was_skipped = !self.names_of_skipped().is_empty();
        self.wants_it_after_all()?;
        Ok(was_skipped)
    }

    fn names_of_skipped(&self) -> Vec<String> {
        let text = self.tasks();
        let skipped = &self.truth.steering.skipped;
        let file = TaskFile::scan(&text);
        let tasks = file.tasks.iter().filter(|task| skipped.contains(&soul(task)));
        tasks.map(Task::name).collect()
    }

    fn wants_it_once_more(&mut self) -> Result<(), Halt> {
        let Some((task, is_worked)) = self.task_to_steer() else { return Ok(()) };
        let name = task.name();
        let is_done = self.reopens(&format!("wants {name} once more"), &task, |world| {
            world.verb(&format!("wants {name} once more"), |caller, _| {
                ops::retry(caller, Some("demo"), &name)
            })
        })?;
        promise!(!is_done || !is_worked, "{name} is begun anew, and a session works on it");
        Ok(())
    }

    fn takes_it_out(&mut self) -> Result<(), Halt> {
        let Some((task, _)) = self.task_to_steer() else { return Ok(()) };
        let name = task.name();
        let is_busy = self.run.is_some();
        let is_done = self.reopens(&format!("takes {name} out"), &task, |world| {
            world.verb(&format!("takes {name} out"), |caller, _| {
                ops::undo(caller, Some("demo"), &name)
            })
        })?;
        promise!(!is_done || !is_busy, "{name} is taken out, and a run works in the tree");
        Ok(())
    }

    /// Does what may open a box. Without a loop no record tells of it.
    fn reopens(
        &mut self,
        what: &str,
        task: &Task,
        verb: impl FnOnce(&mut World) -> Result<bool, Halt>,
    ) -> Result<bool, Halt> {
        self.recover()?;
        let has_loop = self.state_bytes().is_some();
        let done = verb(self);
        if has_loop {
            return done;
        }
        let text = self.tasks();
        let file = TaskFile::scan(&text);
        let now = file.tasks.iter().find(|other| soul(other) == soul(task));
        if task.done && now.is_some_and(|now| !now.done) {
            if done.is_err() {
                self.story(format!("a person {what}, and the machine dies with it"));
            }
            self.truth.tasks.forget_tick(&soul(task));
            self.observer.plan_becomes(&text);
        }
        done
    }

    fn wants_a_break(&mut self) -> Result<(), Halt> {
        let when = self.chance.one_of(&[PausedBy::Task, PausedBy::Phase]);
        self.verb(&format!("wants a break: {when:?}"), |caller, world| {
            ops::pause(caller, &world.workspace(), when)
        })
        .map(drop)
    }

    pub(crate) fn approves(&mut self, phase: &str) -> Result<(), Halt> {
        let what = format!("approves {phase:?}");
        self.verb(&what, |caller, _| ops::approve(caller, Some("demo"), None, &BTreeMap::new()))
            .map(drop)
    }

    /// A person does a task by hand, or says so, and lets it be judged.
    fn works_by_hand(&mut self) -> Result<(), Halt> {
        if self.run.is_some() || self.session.is_some() {
            return Ok(());
        }
        self.recover()?;
        let text = self.tasks();
        let file = TaskFile::scan(&text);
        let open: Vec<&Task> = file.open().collect();
        if open.is_empty() {
            return Ok(());
        }
        let task = self.chance.one_of(&open).clone();
        // All that is uncommitted would be the work.
        let own = self.at_once(|world| {
            let git = world.ports.repositories.at(Path::new(ROOT));
            git.commit(&["mine".to_owned()], "what a person has changed")
        })?;
        if own.is_err() {
            return Ok(());
        }
        let act = if self.chance.once_in(3) { Act::FalseClaim } else { Act::Good };
        if act == Act::Good {
            self.disk.put(&Path::new(ROOT).join(file_of(&file, &task)), GOOD);
        }
        for attempt in self.observer.undecided() {
            if self.observer.key_of(&attempt).is_some_and(|key| soul_of(key) == soul(&task)) {
                self.acts.entry(attempt).or_default().push(act);
            }
        }
        let name = task.name();
        self.truth.steering.by_hand = true;
        self.verb(&format!("has done {name} by hand: {act:?}"), |caller, world| {
            ops::finish_by_hand(caller, &world.workspace(), &name)
        })?;
        self.truth.steering.by_hand = false;
        Ok(())
    }
}
