//! The plan as it stands against the plan on record, before anything is decided:
//! the steps of `specum_engine::attempt`, held against what is true.

use std::collections::{BTreeMap, BTreeSet};

use specum_core::guard::Memory;
use specum_core::journal::{self, Changes, Entry, StateChange};
use specum_core::machine::{self, Event};
use specum_core::owner::{Asker, Holder};
use specum_core::plan_record::{Change, Lines, OnRecord, PlanRecord, Review};
use specum_core::state::State;
use specum_core::tasks::{TaskEdit, TaskFile, TaskKey};
use specum_engine::attempt;

use super::disk;
use super::plan::{Proof, soul_of};
use super::truth::Edited;
use super::work::took_effect;
use super::world::{Halt, World, promise};

/// State and record, brought together with the plan.
pub(crate) struct Reviewed {
    pub(crate) state: Option<State>,
    pub(crate) plan_record: PlanRecord,
    /// Ticks with nothing behind them, which are still to be taken back.
    pub(crate) unproved: Vec<TaskKey>,
}

impl World {
    /// Takes the lock for a decision.
    pub(crate) fn enter(&mut self) -> Result<Reviewed, Halt> {
        self.lock()?;
        let reviewed = self.review(self.state())?;
        self.take_back_unproved(reviewed)
    }

    /// Opens the boxes again that were ticked with nothing behind it, although
    /// somebody may have spoilt the state.
    pub(crate) fn take_back_ticks(&mut self) -> Result<(), Halt> {
        self.lock()?;
        let spoilt = self.disk.state.is_some() && self.state().is_none();
        let state = self
            .state()
            .or_else(|| spoilt.then(|| journal::last_state(&self.disk.records)).flatten());
        let reviewed = self.review(state)?;
        let written = self.take_back_unproved(reviewed).map(|_| ());
        if spoilt && self.state().is_some() {
            self.truth.foreign = None;
        }
        written
    }

    /// Puts on record what differs from it.
    pub(crate) fn review(&mut self, mut state: Option<State>) -> Result<Reviewed, Halt> {
        let mut plan_record = PlanRecord::of(&self.disk.records);
        let mut unproved = Vec::new();
        if let Some(known) = state.clone()
            && self.disk.ledger.is_under_way()
        {
            let text = self.disk.tasks.clone();
            let file = TaskFile::scan(&text);
            let memory = self.disk.memory.as_deref().map(Memory::parse).unwrap_or_default();
            let holder = Holder::of(Some(&known), &memory, Asker::Person, |owner| {
                self.living.as_ref() == Some(owner)
            });
            let at_work = self.disk.ledger.at_work().join(", ");
            let held = holder != Holder::Nobody || !at_work.is_empty();
            let found = plan_record.review(&file, held.then_some(at_work.as_str()));
            self.is_told_apart(&found)?;
            let is_settled = found.edits.is_empty() && found.unproved.is_empty();
            promise!(
                is_settled || !known.has_reviewed(&file),
                "a plan that counts as reviewed has something in it: {found:?}"
            );
            if !found.edits.is_empty() {
                let renames = found.renames();
                let renames = renames.iter().map(|(from, to)| ((*from).to_owned(), (*to).clone()));
                let settled = found.settled().map(|task| task.id.clone()).collect();
                let event = Event::Follow { renames: renames.collect(), settled };
                let mut step = machine::step(&known, &file, event);
                if let Some(state) = &mut step.state {
                    found.note_in(state, &file);
                }
                let entry = Entry::PlanChanged { edits: found.edits.clone() };
                let written = self.write(entry, &step);
                if took_effect(&written) {
                    self.is_what_it_is(&found.unproved)?;
                }
                written?;
                plan_record = PlanRecord::of(&self.disk.records);
                state = step.state;
            } else {
                self.is_what_it_is(&found.unproved)?;
                if let Some(state) = &mut state {
                    found.note_in(state, &file);
                }
            }
            self.record_is_true(&plan_record)?;
            unproved = found.unproved;
        }
        Ok(Reviewed { state, plan_record, unproved })
    }

    /// The boxes that are opened again are those that have nothing behind them.
    fn is_what_it_is(&mut self, found: &[TaskKey]) -> Result<(), Halt> {
        let text = self.disk.tasks.clone();
        let held = self.is_held();
        let tasks = &mut self.truth.tasks;
        let unproved = tasks.reviewed(&TaskFile::scan(&text), held);
        let told: BTreeSet<String> = found.iter().map(soul_of).collect();
        self.truth.edited = Edited::NO;
        promise!(unproved == told, "without a proof are {unproved:?}, and told to be {told:?}");
        let accepted: Vec<&String> =
            (self.truth.tasks.rogue).intersection(&self.truth.tasks.by_person).collect();
        promise!(
            accepted.is_empty(),
            "{accepted:?} were ticked by agents, and count as a person's"
        );
        Ok(())
    }

    /// Nobody is taken for another.
    fn is_told_apart(&self, found: &Review) -> Result<(), Halt> {
        for edit in &found.edits {
            if let specum_core::plan_record::PlanEdit::Renamed { from, to } = edit {
                promise!(soul_of(from) == soul_of(to), "{from:?} is taken for {to:?}");
            }
        }
        Ok(())
    }

    /// What the kernel has on record is what happened.
    fn record_is_true(&self, plan_record: &PlanRecord) -> Result<(), Halt> {
        let on_record: BTreeMap<String, &OnRecord> =
            plan_record.tasks().iter().map(|task| (soul_of(&task.task), task)).collect();
        let known = &self.truth.tasks.known;
        promise!(
            on_record.keys().eq(known.keys()),
            "on record are {:?}, there were {:?}",
            on_record.keys(),
            known.keys()
        );
        let proof = |lines: &Lines| Proof::of_lines(&lines.0);
        for (soul, task) in on_record {
            let known = &known[&soul];
            let id = &task.task.id;
            promise!(
                proof(&task.check) == known.check,
                "the check of {id} is not {:?}",
                known.check
            );
            let asked = task.unconfirmed.as_ref().map(|asked| &asked.change);
            let removal = matches!(asked, Some(Change::Removed(_)));
            promise!(removal == known.removal, "the removal of {id} is asked for: {removal}");
            if !removal {
                let check = asked.map(|change| match change {
                    Change::Check(lines) => proof(lines),
                    Change::Removed(_) => Proof::Nothing,
                });
                promise!(check == known.asked, "{id} waits for {check:?}, not {:?}", known.asked);
            }
            let proved = self.truth.tasks.is_proved(&soul);
            promise!(
                task.proof.is_some() == proved,
                "behind the tick of {id} stands {:?}, in truth: {proved}",
                task.proof
            );
        }
        Ok(())
    }

    fn take_back_unproved(&mut self, reviewed: Reviewed) -> Result<Reviewed, Halt> {
        let Reviewed { state, plan_record, unproved } = reviewed;
        if unproved.is_empty() {
            return Ok(Reviewed { state, plan_record, unproved });
        }
        let text = self.disk.tasks.clone();
        let file = TaskFile::scan(&text);
        let tasks: Vec<String> = unproved.iter().map(|key| key.id.clone()).collect();
        self.story(format!("{} open again", tasks.join(", ")));
        let (changes, state) = match state {
            Some(state) => {
                let nothing = Event::Follow { renames: Vec::new(), settled: Vec::new() };
                let step = attempt::without_ticks(&state, &file, nothing, &unproved);
                (disk::changes(&step), step.state)
            }
            None => {
                let tasks = unproved.iter().cloned().map(TaskEdit::Untick).collect();
                let state = StateChange::Keep;
                (Changes { tasks, state, ..Changes::default() }, None)
            }
        };
        let at = self.at();
        let written = self.disk.write(&at, Entry::Unticked { tasks }, changes).map_err(Halt::from);
        if took_effect(&written) {
            for key in &unproved {
                self.truth.tasks.forget_tick(&soul_of(key));
            }
        }
        written?;
        Ok(Reviewed { state, plan_record, unproved: Vec::new() })
    }

    /// Whether somebody works the loop, or has not been heard of since.
    pub(crate) fn is_held(&self) -> bool {
        self.living.is_some() || !self.truth.tasks.at_work.is_empty()
    }
}
