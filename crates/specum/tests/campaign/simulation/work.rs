//! What both doors do with an attempt: open it, judge it, commit it. The steps
//! are those of `specum::attempt`, on simulated files.

use specum::attempt::{self, History, Opened};
use specum_core::journal::{Changes, Entry};
use specum_core::machine::{self, Due, Event, Start, Step};
use specum_core::plan::{Scope, Unit};
use specum_core::state::{State, TaskResult};
use specum_core::summary::AttemptResult;
use specum_core::tasks::{Expectation, Found, Program, TaskFile};
use specum_core::verify::{self, CheckRun, CommandRun, CommitRun, Ended, Evidence, Verdict};

use super::agents::Act;
use super::disk::{self, Died};
use super::truth::End;
use super::world::{Halt, World, promise};

/// What is to be worked.
pub(crate) enum Next {
    Work(Vec<Opened>),
    Wait(Due),
    Complete,
    /// There is no loop, or none that can be read.
    NoLoop,
}

/// How an attempt is ended.
pub(crate) enum Ending<'a> {
    /// What its agent did is judged.
    Judged { said: &'a str, act: Act },
    /// The same on top of the others' work, which may not fit.
    OnTop { said: &'a str, act: Act, conflict: bool },
    /// Its agent has failed.
    Trouble(String),
}

impl World {
    /// Starts a loop, or starts it again.
    pub(crate) fn start(&mut self, start: Start) -> Result<(), Halt> {
        self.take_back_ticks()?;
        self.lock()?;
        let text = self.disk.tasks.clone();
        let file = TaskFile::scan(&text);
        let was_corrupt = self.disk.state.is_some() && self.state().is_none();
        let state = self
            .state()
            .or_else(|| was_corrupt.then(|| History(&self.disk.records).last_state()).flatten());
        let state = state.unwrap_or_else(|| State::new(file.tasks.len()));
        let step = machine::step(&state, &file, Event::Start(start));
        let entry = Entry::Started { tasks: file.tasks.len(), open: file.open().count() };
        let written = self.write(entry, &step);
        if took_effect(&written) {
            self.truth.started();
            if was_corrupt {
                self.truth.foreign = None;
            }
        }
        written
    }

    /// Opens what is due. Asked twice, it gives the same attempts again.
    pub(crate) fn open(&mut self) -> Result<Next, Halt> {
        self.complete_commits()?;
        self.lock()?;
        let Some(state) = self.state() else { return Ok(Next::NoLoop) };
        let text = self.disk.tasks.clone();
        let file = TaskFile::scan(&text);
        if machine::batch_is_over(&state, &file) {
            let step = machine::step(&state, &file, Event::EndBatch);
            let written = self.write(Entry::BatchEnded, &step);
            if took_effect(&written) {
                self.truth.learn_fixes(&step);
            }
            written?;
            return self.open();
        }
        let unit = match machine::due(&state, &file, &Scope::all(self.max_parallel)) {
            Due::Work(unit) => unit,
            Due::Complete => {
                let step = machine::step(&state, &file, Event::Complete);
                let written =
                    self.write(Entry::Completed { tasks: file.tasks.len(), promise: false }, &step);
                if took_effect(&written) {
                    self.truth.ended(End::Completed);
                    self.disk.memory = None;
                    self.story("the loop is complete".into());
                }
                return written.map(|()| Next::Complete);
            }
            wait => return Ok(Next::Wait(wait)),
        };
        promise!(
            unit.tasks().len() as u64 <= state.max_global_iterations - state.global_iteration,
            "more attempts are begun than there are iterations left"
        );
        self.open_unit(&state, &file, &unit)
    }

    fn open_unit(&mut self, state: &State, file: &TaskFile<'_>, unit: &Unit) -> Result<Next, Halt> {
        let pending = attempt::pending(state, file, &self.disk.records);
        let again = |world: &World, index: usize| {
            attempt::open_attempt(&world.disk.records, &file.tasks[index].key())
        };
        let (indices, joins): (Vec<usize>, bool) = if pending.is_empty() {
            (unit.tasks().to_vec(), false)
        } else {
            (pending.iter().map(|(index, _)| *index).collect(), true)
        };
        let known: Option<Vec<Opened>> = indices.iter().map(|&index| again(self, index)).collect();
        if let Some(known) = known {
            return Ok(Next::Work(known));
        }
        let mut step = (!joins).then(|| machine::step(state, file, Event::Open(indices.clone())));
        let mut opened = Vec::new();
        for index in indices {
            if let Some(open) = again(self, index).filter(|_| joins) {
                opened.push(open);
                continue;
            }
            let entry = opening(state, file, index);
            match step.take() {
                Some(step) => self.write(entry, &step)?,
                None => self.record(entry)?,
            }
            let task = &file.tasks[index];
            let Some(open) = again(self, index) else {
                return Err(Halt::Broken(format!("{} is opened and not open", task.name())));
            };
            self.story(format!("attempt {} at {} begins", open.attempt, task.name()));
            opened.push(open);
        }
        Ok(Next::Work(opened))
    }

    /// Ends an attempt; `None` if it is not open any more.
    pub(crate) fn end(
        &mut self,
        opened: &Opened,
        ending: &Ending<'_>,
    ) -> Result<Option<AttemptResult>, Halt> {
        self.lock()?;
        let Some(state) = self.state() else { return Ok(None) };
        let open = attempt::open_attempt(&self.disk.records, &opened.key);
        if open.is_none_or(|open| open.attempt != opened.attempt) {
            return Ok(None);
        }
        let text = self.disk.tasks.clone();
        let file = TaskFile::scan(&text);
        let index = match file.find(&opened.key) {
            Found::Same(index) | Found::Retitled(index) => Some(index),
            Found::Gone => None,
        };
        let block = index.map(|index| file.block(&file.tasks[index]));
        let verdict = self.verdict(opened, ending, block)?;
        let (id, reason) = (opened.key.id.clone(), verdict.reason());
        let set_aside = match ending {
            Ending::OnTop { conflict, .. } => {
                let only_check = verdict.class() == "verify" && verdict.failures.len() == 1;
                *conflict || (!verdict.passed() && only_check)
            }
            Ending::Judged { .. } | Ending::Trouble(_) => false,
        };
        let foreign = attempt::foreign_ticks(&file, opened, History(&self.disk.records));
        let (result, event) = match index {
            None => (AttemptResult::Failed, None),
            Some(index) if set_aside => {
                (AttemptResult::SetAside, Some(Event::SetAside { index, reason: reason.clone() }))
            }
            Some(index) if verdict.passed() => {
                let unverified = verdict.unverified;
                (AttemptResult::Passed, Some(Event::Pass { index, unverified }))
            }
            Some(index) => {
                (AttemptResult::Failed, Some(Event::Fail { index, reason: reason.clone() }))
            }
        };
        let entry = entry(opened, result, &verdict);
        let Some(event) = event else {
            // Lost with its task.
            self.story(format!("{id} is gone, and its attempt with it"));
            self.record(entry)?;
            self.truth.verdicts.entry(id).or_default().push(result);
            self.truth.failed += 1;
            // A person is at work: nobody can tell whose ticks they are.
            self.truth.rogues_are_found_out(true);
            return Ok(Some(result));
        };
        let step = attempt::without_foreign_ticks(&state, &file, event, &foreign);
        self.story(format!("{id} attempt {}: {result:?} {reason}", opened.attempt));
        let written = self.write(entry, &step);
        if took_effect(&written) {
            let moved = self.has_moved_since(opened);
            self.truth.verdict(&id, result, &step);
            self.truth.rogues_are_found_out(moved);
        }
        written?;
        if result == AttemptResult::Passed {
            self.complete_commits()?;
        }
        Ok(Some(result))
    }

    /// Whether a person has moved tasks since an attempt began: then positions
    /// say nothing.
    fn has_moved_since(&self, opened: &Opened) -> bool {
        self.truth.moved_at.is_some_and(|at| {
            let opened = self.disk.records.iter().rposition(|record| {
                matches!(&record.entry, Entry::Opened { task, attempt, .. }
                    if task.id == opened.key.id && *attempt == opened.attempt)
            });
            opened.is_none_or(|opened| opened < at)
        })
    }

    /// The verdict of the kernel, held against what is true.
    fn verdict(
        &self,
        opened: &Opened,
        ending: &Ending<'_>,
        block: Option<&[u8]>,
    ) -> Result<Verdict, Halt> {
        let (said, act, conflict) = match ending {
            Ending::Judged { said, act } => (*said, *act, false),
            Ending::OnTop { said, act, conflict } => (*said, *act, *conflict),
            Ending::Trouble(why) => {
                let failure =
                    verify::Failure { layer: verify::Layer::Signal, message: why.clone() };
                let failures = vec![failure];
                return Ok(Verdict::failed(failures));
            }
        };
        let works = act.is_good_work() && !conflict;
        let commands = opened.fields().verify.map(|check| check.commands(&|_| Program::Found));
        let check = CheckRun::of(commands.unwrap_or_default(), |command| {
            let wanted = command.expect.as_ref().filter(|_| works);
            CommandRun {
                ended: Ended::Code(i32::from(!works)),
                output: String::new(),
                stdout: wanted.map(Expectation::example).unwrap_or_default(),
                cut: false,
                command,
            }
        });
        let has_check = check != CheckRun::Unverified;
        let verdict = verify::judge(&Evidence {
            role: opened.role,
            result: said,
            block_before: &opened.block,
            block_after: block,
            check,
            files: &[],
            changed: &[],
            proofs: &[],
            commit: CommitRun::NotApplicable,
        });
        let deserved = match act {
            Act::Good => true,
            Act::FalseClaim => !has_check,
            _ => false,
        };
        promise!(!verdict.passed() || deserved, "{act:?} passes");
        let untouched =
            block.is_some_and(|block| TaskFile::same_but_for_tick(&opened.block, block));
        promise!(
            verdict.passed() || !deserved || conflict || !untouched,
            "good work fails: {}",
            verdict.reason()
        );
        Ok(verdict)
    }

    /// Makes the commits that nobody got to, or takes the ticks back.
    pub(crate) fn complete_commits(&mut self) -> Result<(), Halt> {
        self.lock()?;
        for _ in 0..100 {
            let Some(passed) = History(&self.disk.records).uncommitted() else { return Ok(()) };
            let (opened, notes) = (passed.opened, passed.notes);
            if self.fair || !self.chance.once_in(12) {
                let task = opened.key.clone();
                self.record(Entry::Committed { task, commit: "c".into(), left: Vec::new() })?;
            } else {
                self.take_back(&opened, Changes { retracted: notes, ..Changes::default() })?;
            }
        }
        Err(Halt::Broken("there is always one more commit to be made".into()))
    }

    fn take_back(&mut self, opened: &Opened, changes: Changes) -> Result<(), Halt> {
        let text = self.disk.tasks.clone();
        let file = TaskFile::scan(&text);
        let id = opened.key.id.clone();
        let reason = "the commit was refused".to_owned();
        let failures =
            vec![verify::Failure { layer: verify::Layer::Uncommitted, message: reason.clone() }];
        let verdict = Verdict { unverified: false, ..Verdict::failed(failures) };
        let entry = entry(opened, AttemptResult::Failed, &verdict);
        let found = file.find(&opened.key);
        let (Some(state), Found::Same(index) | Found::Retitled(index)) = (self.state(), found)
        else {
            self.story(format!("the commit of {id} is refused, and nothing is left to open"));
            let written = self.record(entry);
            if took_effect(&written) {
                self.truth.commit_lost(&id);
            }
            return written;
        };
        let event = Event::TakeBack { index, attempt: opened.attempt, reason };
        let step = machine::step(&state, &file, event);
        self.story(format!("the commit of {id} is refused"));
        let changes = Changes { retracted: changes.retracted, ..disk::changes(&step) };
        let at = self.at();
        let written = self.disk.write(&at, entry, changes).map_err(Halt::from);
        if took_effect(&written) {
            self.truth.taken_back(&id, &step);
        }
        written
    }

    /// Writes a step as one transaction.
    pub(crate) fn write(&mut self, entry: Entry, step: &Step) -> Result<(), Halt> {
        let at = self.at();
        Ok(self.disk.write(&at, entry, disk::changes(step))?)
    }

    /// Writes a record that changes no file.
    pub(crate) fn record(&mut self, entry: Entry) -> Result<(), Halt> {
        let at = self.at();
        Ok(self.disk.record(&at, entry)?)
    }
}

/// Whether what was to be written is, or will be when somebody looks.
pub(crate) fn took_effect(written: &Result<(), Halt>) -> bool {
    matches!(written, Ok(()) | Err(Halt::Died(Died { announced: true })))
}

fn opening(state: &State, file: &TaskFile<'_>, index: usize) -> Entry {
    let task = &file.tasks[index];
    Entry::Opened {
        task: task.key(),
        attempt: state.result_of(index, &task.name()).map_or(1, TaskResult::next_attempt),
        head: Some("h".into()),
        block: String::from_utf8_lossy(file.block(task)).into_owned(),
        block_bytes: None,
        dirty: Default::default(),
        branch: None,
        ticks: file.ticks(),
    }
}

fn entry(opened: &Opened, result: AttemptResult, verdict: &Verdict) -> Entry {
    let (task, attempt) = (opened.key.clone(), opened.attempt);
    let reasons = verdict.failures.iter().map(|failure| failure.message.clone()).collect();
    let output = String::new();
    match result {
        AttemptResult::Passed => Entry::Passed {
            task,
            attempt,
            unverified: verdict.unverified,
            changed: Vec::new(),
            to_commit: true,
            outside: Vec::new(),
            proofs: Vec::new(),
            unticked: Vec::new(),
            output,
            millis: 1,
        },
        AttemptResult::SetAside => Entry::SetAside { task, attempt, reasons, output },
        AttemptResult::Failed | AttemptResult::Open => Entry::Failed {
            task,
            attempt,
            changed: Vec::new(),
            reasons,
            class: verdict.class().to_owned(),
            unticked: Vec::new(),
            output,
            millis: 1,
        },
    }
}
