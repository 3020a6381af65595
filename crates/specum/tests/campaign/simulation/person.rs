//! A person: starts and stops the loop, edits the plan while it runs, and
//! answers what is asked.

use serde_json::Value;
use specum_core::journal::Entry;
use specum_core::machine::{self, Event, Start, Step};
use specum_core::plan_record::PlanRecord;
use specum_core::state::{self, State};
use specum_core::tasks::TaskFile;

use super::plan::{soul, soul_of};
use super::truth::End;
use super::work::took_effect;
use super::world::{Halt, World, promise};

impl World {
    /// Nobody works: a person starts something, or settles what keeps it from
    /// being started.
    pub(crate) fn somebody_starts(&mut self) -> Result<(), Halt> {
        let state = self.state();
        if self.fair {
            if state.as_ref().is_some_and(|state| state.awaiting_approval) {
                return self.happen(Event::Resume, Entry::Resumed);
            }
            if state.is_some()
                && self.truth.tasks.known.keys().any(|soul| self.truth.tasks.is_asked(soul))
            {
                return self.accepts();
            }
            // Room for whatever is left to be done.
            return self.run_starts(&Start {
                max_global_iterations: Some(100_000),
                max_tokens: Some(u64::MAX),
                ..Start::default()
            });
        }
        let start = Start {
            // Never fewer than before: what was allowed stays allowed.
            max_task_iterations: (self.disk.state.is_none())
                .then(|| 1 + u64::from(self.chance.below(3))),
            max_global_iterations: self
                .chance
                .once_in(6)
                .then(|| self.truth.iterations + 1 + u64::from(self.chance.below(10))),
            recovery_mode: Some(self.chance.below(2) == 0),
            max_tokens: self.chance.once_in(8).then(|| self.truth.tokens + 200),
            ..Start::default()
        };
        match self.chance.below(5) {
            0 | 1 => self.run_starts(&start),
            2 => self.session_starts(&start),
            3 => self.accepts(),
            _ => self.happen(Event::Resume, Entry::Resumed),
        }
    }

    pub(crate) fn person_acts(&mut self) -> Result<(), Halt> {
        match self.chance.below(16) {
            0 => Ok(()),
            1..5 => self.person_edits(),
            5 => self.ticks_a_box("a person"),
            6 => self.opens_a_box("a person"),
            7 => self.says_that_it_is_done(),
            8 | 9 => self.accepts(),
            10 => {
                self.happen(Event::Pause { why: None }, Entry::Paused { why: None, branch: None })
            }
            11 => self.happen(Event::Resume, Entry::Resumed),
            12 if self.chance.once_in(3) => self.cancels(),
            13 => self.another_program_writes(),
            14 if self.chance.once_in(3) => self.spoils_the_state(),
            _ => self.terminal_is_closed(),
        }
    }

    pub(crate) fn happen(&mut self, event: Event, entry: Entry) -> Result<(), Halt> {
        self.lock()?;
        let Some(state) = self.state() else { return Ok(()) };
        self.story(format!("a person: {entry:?}"));
        if let (Entry::Resumed, Some(session)) = (&entry, &mut self.session) {
            session.disown_calls();
        }
        let text = self.disk.tasks.clone();
        let step = machine::step(&state, &TaskFile::scan(&text), event);
        self.write(entry, &step)
    }

    fn cancels(&mut self) -> Result<(), Halt> {
        self.lock()?;
        if self.state().is_none() {
            return Ok(());
        }
        self.story("a person cancels".into());
        let step = Step { state: None, effects: Vec::new() };
        let written = self.write(Entry::Cancelled, &step);
        if took_effect(&written) {
            self.truth.ended(End::Cancelled);
            self.disk.memory = None;
        }
        written
    }

    /// `specum tick`.
    fn says_that_it_is_done(&mut self) -> Result<(), Halt> {
        let reviewed = self.enter()?;
        let Some(state) = reviewed.state else { return Ok(()) };
        let text = self.disk.tasks.clone();
        let file = TaskFile::scan(&text);
        let Some(task) = self.some_task(&file).filter(|task| !task.done) else { return Ok(()) };
        let name = task.name();
        let is_refused = self.disk.ledger.at_work().contains(&name.as_str());
        let is_worked = self.truth.tasks.at_work.contains(&soul(&task));
        promise!(is_refused == is_worked, "{name} is worked on: {is_worked}, told: {is_refused}");
        if is_refused {
            return Ok(());
        }
        self.story(format!("a person says that {name} is done"));
        let step = machine::step(&state, &file, Event::Tick { index: task.index });
        let written = self.write(Entry::Ticked { task: task.key() }, &step);
        if took_effect(&written) {
            self.truth.tasks.by_person.insert(soul(&task));
        }
        written
    }

    /// `specum accept`.
    pub(crate) fn accepts(&mut self) -> Result<(), Halt> {
        let reviewed = self.enter()?;
        let Some(state) = reviewed.state else { return Ok(()) };
        let plan_record = PlanRecord::of(&self.disk.records);
        let asked: Vec<_> =
            plan_record.tasks().iter().filter(|task| task.unconfirmed.is_some()).collect();
        if asked.is_empty() {
            return Ok(());
        }
        let on_record = self.chance.one_of(&asked);
        let task = on_record.task.clone();
        self.story(format!("a person accepts what became of {}", task.id));
        let text = self.disk.tasks.clone();
        let event = Event::Follow { renames: Vec::new(), settled: vec![task.id.clone()] };
        let step = machine::step(&state, &TaskFile::scan(&text), event);
        let soul = soul_of(&task);
        let written = self.write(Entry::Accepted { task }, &step);
        if took_effect(&written) {
            self.truth.tasks.accepted(&soul);
        }
        written
    }

    fn another_program_writes(&mut self) -> Result<(), Halt> {
        self.lock()?;
        let Some(state) = self.state() else { return Ok(()) };
        let mut object = state.to_object();
        let number = u64::from(self.chance.below(1000));
        object.insert("x-other".into(), Value::from(number));
        self.story("another program writes its field".into());
        self.truth.foreign = Some(number);
        self.disk.state = Some(state::render_object(&object));
        Ok(())
    }

    fn spoils_the_state(&mut self) -> Result<(), Halt> {
        self.lock()?;
        let Some(bytes) = self.disk.state.clone() else { return Ok(()) };
        let half = bytes[..bytes.len() / 2].to_vec();
        if State::parse(&half).is_err() {
            self.story("somebody spoils the state file".into());
            self.truth.foreign = Some(u64::MAX);
            self.disk.state = Some(half);
        }
        Ok(())
    }
}
