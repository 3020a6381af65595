//! A person: starts and stops the loop, edits the plan while it runs, and answers what
//! is asked, by the engine's own verbs.

use std::path::{Path, PathBuf};

use serde_json::Value;
use specum_core::machine::{Raise, Start};
use specum_core::state::{self, Standing, State};
use specum_core::tasks::TaskFile;
use specum_engine::memory::CommitFault;
use specum_engine::ops::{self, Caller, OpError};
use specum_engine::person::Door;

use super::plan::soul;
use super::world::{Halt, MINE, ROOT, World, promise};

impl World {
    /// Nobody works: a person starts something, or settles what keeps it from being
    /// started.
    pub(crate) fn somebody_starts(&mut self) -> Result<(), Halt> {
        let state = self.state();
        if self.fair {
            self.repositories.fail_next(None);
            if let Some(phase) = state.as_ref().and_then(|state| state.waiting_for.clone()) {
                return self.approves(&phase);
            }
            if state.as_ref().is_some_and(|state| state.standing != Standing::Running) {
                self.clears_the_tree()?;
                return self.resumes();
            }
            if state.is_some() && self.wants_everything()? {
                return Ok(());
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
            max_task_iterations: (self.state_bytes().is_none())
                .then(|| 1 + u64::from(self.chance.below(3))),
            max_global_iterations: self
                .chance
                .once_in(6)
                .then(|| self.truth.iterations + 1 + u64::from(self.chance.below(10))),
            recovery_mode: Some(self.chance.below(2) == 0),
            max_tokens: self.chance.once_in(8).then(|| self.truth.tokens + 200),
            keep_going: Some(self.chance.once_in(4)),
            approve: self.chance.one_of(&[None, None, Some(true), Some(false)]),
            ..Start::default()
        };
        match self.chance.below(5) {
            0 | 1 => self.run_starts(&start),
            2 => self.session_starts(&start),
            3 => self.accepts(),
            _ => self.resumes(),
        }
    }

    pub(crate) fn person_acts(&mut self) -> Result<(), Halt> {
        match self.chance.below(26) {
            0 => Ok(()),
            1..5 => self.person_edits(),
            5 => self.ticks_a_box("a person"),
            6 => self.opens_a_box("a person"),
            7 => self.says_that_it_is_done(),
            8 | 9 => self.accepts(),
            10 => self.pauses(),
            11 => self.resumes(),
            12 if self.chance.once_in(3) => self.cancels(),
            13 => self.another_program_writes(),
            14 if self.chance.once_in(3) => self.spoils_the_state(),
            // While somebody works in the tree, whatever is changed there is their work.
            15 if self.run.is_none() && self.session.is_none() && !self.observer.is_in_hands() => {
                self.story("a person changes a file of their own".into());
                let text = format!("mine, {}\n", self.chance.below(100));
                self.disk.put(Path::new(MINE), text.as_bytes());
                self.truth.mine = text.into_bytes();
                Ok(())
            }
            16 => {
                let faults =
                    [CommitFault::Refused, CommitFault::FailsBefore, CommitFault::FailsAfter];
                let fault = self.chance.one_of(&faults);
                self.story(format!("the next commit: {fault:?}"));
                self.repositories.fail_next(Some(fault));
                Ok(())
            }
            17..25 => self.person_steers(),
            _ => self.terminal_is_closed(),
        }
    }

    /// Puts what others have left out of the way, as `git restore` does.
    fn clears_the_tree(&mut self) -> Result<(), Halt> {
        let cleared = self.at_once(|world| {
            let git = world.ports.repositories.at(Path::new(ROOT));
            let mut changed = git.changed()?;
            changed.retain(|path| path != "mine" && !path.starts_with("specs/"));
            git.take_out(&changed)
        })?;
        cleared.map_err(|error| Halt::Broken(error.to_string()))
    }

    /// Does what a verb does. What it refuses, it refuses in words.
    pub(crate) fn verb<T>(
        &mut self,
        what: &str,
        verb: impl FnOnce(&Caller<'_>, &World) -> Result<T, OpError>,
    ) -> Result<bool, Halt> {
        self.recover()?;
        let told = self.story.len();
        self.story(format!("a person {what}"));
        let ports = self.ports.clone();
        let done = self.at_once(|world| {
            let ignore = |_: &str| {};
            let caller = Caller::new(&ports, Door::InSession, &ignore).at(PathBuf::from(ROOT));
            verb(&caller, world).map(drop)
        })?;
        self.observe()?;
        if let Err(error) = &done {
            self.story.truncate(told);
            self.story(format!("a person {what}, which is refused: {error}"));
        }
        Ok(done.is_ok())
    }

    fn pauses(&mut self) -> Result<(), Halt> {
        self.verb("pauses", |caller, world| {
            ops::pause(caller, &world.workspace(), ops::PausedBy::Now)
        })
        .map(drop)
    }

    pub(crate) fn resumes(&mut self) -> Result<(), Halt> {
        if self.verb("resumes", |caller, world| {
            ops::resume(caller, &world.workspace(), Raise::default())
        })? && let Some(session) = &mut self.session
        {
            session.disown_calls();
        }
        Ok(())
    }

    fn cancels(&mut self) -> Result<(), Halt> {
        if self.state_bytes().is_none() {
            return Ok(());
        }
        self.verb("cancels", |caller, _| ops::cancel(caller, Some("demo"), false)).map(drop)
    }

    /// `specum tick`.
    fn says_that_it_is_done(&mut self) -> Result<(), Halt> {
        let text = self.tasks();
        let file = TaskFile::scan(&text);
        let Some(task) = self.some_task(&file).filter(|task| !task.done) else { return Ok(()) };
        let (name, soul) = (task.name(), soul(&task));
        let is_worked = self.is_worked_on(&soul);
        let is_done = self.verb(&format!("says that {name} is done"), |caller, _| {
            ops::tick(caller, Some("demo"), &name)
        })?;
        promise!(!is_done || !is_worked, "{name} is being worked on, and a person has ticked it");
        Ok(())
    }

    /// `specum accept`.
    pub(crate) fn accepts(&mut self) -> Result<(), Halt> {
        let known = self.truth.tasks.known.iter();
        let asked: Vec<String> = known
            .filter(|(_, known)| known.removal || known.asked.is_some())
            .map(|(_, known)| known.name.clone())
            .collect();
        if asked.is_empty() {
            return Ok(());
        }
        let name =
            asked[self.chance.below(u32::try_from(asked.len()).expect("few")) as usize].clone();
        let what = format!("accepts what became of {name}");
        self.verb(&what, |caller, _| ops::accept(caller, Some("demo"), &name)).map(drop)
    }

    fn another_program_writes(&mut self) -> Result<(), Halt> {
        self.recover()?;
        let Some(state) = self.state() else { return Ok(()) };
        let mut object = state.to_object();
        let number = u64::from(self.chance.below(1000));
        object.insert("x-other".into(), Value::from(number));
        self.story("another program writes its field".into());
        self.truth.foreign = Some(number);
        self.disk.put(&self.store.state_path(), &state::render_object(&object));
        Ok(())
    }

    fn spoils_the_state(&mut self) -> Result<(), Halt> {
        self.recover()?;
        let Some(bytes) = self.state_bytes() else { return Ok(()) };
        let half = bytes[..bytes.len() / 2].to_vec();
        if State::parse(&half).is_err() {
            self.story("somebody spoils the state file".into());
            self.truth.foreign = Some(u64::MAX);
            self.disk.put(&self.store.state_path(), &half);
        }
        Ok(())
    }
}
