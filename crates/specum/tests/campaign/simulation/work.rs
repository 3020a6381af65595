//! What both doors do with an attempt: open it, judge it, commit it. The steps
//! are those of `specum_engine::attempt`, on simulated files.

use specum_core::attempt::Attempt;
use specum_core::journal::{self, Changes, Entry};
use specum_core::machine::{self, Due, Event, Start, Step};
use specum_core::plan::{Scope, Unit};
use specum_core::plan_record::{self, OnRecord, PlanRecord};
use specum_core::state::{State, TaskResult};
use specum_core::summary::AttemptResult;
use specum_core::tasks::{Check, Expectation, Program, TaskFile, TaskMatch};
use specum_core::verify::{
    self, CheckRun, CheckTime, CommandRun, CommitRun, Evidence, Failure, Layer, ProcessEnd, Verdict,
};
use specum_engine::attempt;

use super::agents::Act;
use super::disk::{self, Died};
use super::plan::{Proof, soul, soul_of};
use super::review::Reviewed;
use super::truth::End;
use super::world::{Halt, World, promise};

/// How often an executor of a session is told what is missing.
const MAX_SENT_BACK: usize = 2;

/// What is to be worked.
pub(crate) enum NextWork {
    Work(Vec<Attempt>),
    Wait(Due),
    Complete,
    /// There is no loop, or none that can be read.
    NoLoop,
}

/// What a check has shown, before anybody decides.
#[derive(Debug, Clone)]
pub(crate) struct Exam {
    check: CheckRun,
    /// Which check had to decide at that moment.
    proof: Proof,
}

/// How an attempt is ended.
pub(crate) enum Ending<'a> {
    /// What its agent did is judged.
    Judgement { said: &'a str, act: Act, exam: Exam },
    /// The same by a session, whose executor may be told what is missing.
    Executor { said: &'a str, act: Act, exam: Exam },
    /// The same on top of the others' work, which may not fit.
    OnTop { said: &'a str, act: Act, exam: Exam, conflict: bool },
    /// Its agent has failed.
    Trouble(String),
}

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is not open any more.
    NotOpen,
    /// Its executor works on.
    SentBack,
    /// It has its verdict.
    Verdict(AttemptResult),
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
            .or_else(|| was_corrupt.then(|| journal::last_state(&self.disk.records)).flatten());
        let state = state.unwrap_or_else(|| State::new(file.tasks.len()));
        let is_new = self.disk.state.is_none() || !PlanRecord::of(&self.disk.records).has_begun();
        let plan = if is_new { plan_record::beginning(&file) } else { Vec::new() };
        let owner = start.owner.clone();
        let step = machine::step(&state, &file, Event::Start(start));
        let open = file.open().count();
        let written = self.write(Entry::Started { tasks: file.tasks.len(), open, plan }, &step);
        if took_effect(&written) {
            self.truth.started(is_new, &file);
            if was_corrupt {
                self.truth.foreign = None;
            }
        }
        written?;
        self.living = owner;
        Ok(())
    }

    /// Opens what is due. Asked twice, it gives the same attempts again.
    pub(crate) fn open(&mut self) -> Result<NextWork, Halt> {
        self.complete_commits()?;
        let reviewed = self.enter()?;
        self.open_due(reviewed)
    }

    fn open_due(&mut self, reviewed: Reviewed) -> Result<NextWork, Halt> {
        let Some(state) = reviewed.state.clone() else { return Ok(NextWork::NoLoop) };
        let text = self.disk.tasks.clone();
        let file = TaskFile::scan(&text);
        if machine::batch_is_over(&state, &file) {
            let step = machine::step(&state, &file, Event::EndBatch);
            let written = self.write(Entry::BatchEnded, &step);
            if took_effect(&written) {
                self.truth.learn_fixes(&step);
            }
            written?;
            return self.open_due(Reviewed { state: step.state, ..reviewed });
        }
        let unit = match machine::due(&state, &file, &self.scope(), &reviewed.plan_record) {
            Due::Work(unit) => unit,
            Due::Complete => return self.complete(&state, &file),
            wait => return Ok(NextWork::Wait(wait)),
        };
        promise!(
            unit.tasks().len() as u64 <= state.attempts_left(),
            "more attempts are begun than are left"
        );
        self.open_unit(&state, &file, &unit)
    }

    fn complete(&mut self, state: &State, file: &TaskFile<'_>) -> Result<NextWork, Halt> {
        let tasks = &self.truth.tasks;
        for (soul, known) in &tasks.known {
            let name = &known.name;
            promise!(!known.removal, "complete, and nobody has agreed to the removal of {name}");
            promise!(tasks.is_proved(soul), "complete, and {name} is not done");
        }
        let step = machine::step(state, file, Event::Complete);
        let completed = Entry::Completed { tasks: file.tasks.len(), promise: false };
        let written = self.write(completed, &step);
        if took_effect(&written) {
            self.truth.ended(End::Completed);
            self.disk.memory = None;
            self.story("the loop is complete".into());
        }
        written.map(|()| NextWork::Complete)
    }

    /// What is to be worked, and how many at once.
    pub(crate) fn scope(&self) -> Scope {
        Scope::all(self.max_parallel)
    }

    fn open_unit(
        &mut self,
        state: &State,
        file: &TaskFile<'_>,
        unit: &Unit,
    ) -> Result<NextWork, Halt> {
        let pending = attempt::pending(state, file, &self.disk.ledger);
        if !pending.is_empty() {
            let mut opened = Vec::new();
            for (index, known) in pending {
                opened.push(match known {
                    Some(known) => known,
                    None => self.begin(state, file, index, None)?,
                });
            }
            return Ok(NextWork::Work(opened));
        }
        let under_way = |&index: &usize| self.disk.ledger.open_attempt(&file.tasks[index].key());
        if let Some(again) = unit.tasks().iter().map(under_way).collect() {
            return Ok(NextWork::Work(again));
        }
        let mut step = Some(machine::step(state, file, Event::Open(unit.tasks().to_vec())));
        let mut opened = Vec::new();
        for &index in unit.tasks() {
            opened.push(self.begin(state, file, index, step.take())?);
        }
        Ok(NextWork::Work(opened))
    }

    /// Opens one attempt.
    fn begin(
        &mut self,
        state: &State,
        file: &TaskFile<'_>,
        index: usize,
        step: Option<Step>,
    ) -> Result<Attempt, Halt> {
        let task = &file.tasks[index];
        let number = state.result_of(index, &task.name()).map_or(1, TaskResult::next_attempt);
        let entry = Entry::Opened {
            task: task.key(),
            attempt: number,
            head: Some("h".into()),
            block: String::from_utf8_lossy(file.block(task)).into_owned(),
            block_bytes: None,
            dirty: Default::default(),
            left_before: Default::default(),
            open_elsewhere: Default::default(),
            branch: None,
            was: Vec::new(),
        };
        self.has_inherited_nothing(task, number)?;
        let written = match step {
            Some(step) => self.write(entry, &step),
            None => self.record(entry),
        };
        if took_effect(&written) {
            let tasks = &mut self.truth.tasks;
            tasks.at_work.insert(soul(task));
            *tasks.opened.entry(soul(task)).or_default() += 1;
        }
        written?;
        let Some(opened) = self.disk.ledger.open_attempt(&task.key()) else {
            return Err(Halt::Broken(format!("{} is opened and not open", task.name())));
        };
        self.story(format!("attempt {} at {} begins", opened.number, task.name()));
        Ok(opened)
    }

    /// What is known of a task's attempts is its own.
    fn has_inherited_nothing(
        &self,
        task: &specum_core::tasks::Task,
        number: u64,
    ) -> Result<(), Halt> {
        let (name, key) = (task.name(), task.key());
        let before = self.truth.tasks.opened.get(&soul(task)).copied().unwrap_or(0);
        promise!(
            number <= before + 1,
            "{name} was tried {before} times, and its next attempt is the {number}th"
        );
        let history = &self.disk.ledger;
        // What the kernel has found, it has found in a record of the same task.
        let is_own = |is_it: fn(&Entry) -> bool| {
            let about = |entry: &&Entry| entry.task().is_some_and(|of| soul_of(of) == soul(task));
            let entries = self.disk.records.iter().map(|record| &record.entry);
            entries.filter(about).any(is_it)
        };
        let failure =
            |entry: &Entry| matches!(entry, Entry::Failed { .. } | Entry::SetAside { .. });
        promise!(
            history.last_failure(&key).is_none() || is_own(failure),
            "{name} has never failed, and is told a failure"
        );
        let kept = |entry: &Entry| matches!(entry, Entry::Kept { .. });
        promise!(
            history.kept(&key).is_none() || is_own(kept),
            "{name} has left nothing, and is given some work"
        );
        Ok(())
    }

    /// Runs the check on record.
    pub(crate) fn examine(&self, opened: &Attempt, act: Act) -> Result<Exam, Halt> {
        let records = &self.disk.records;
        let key = self.disk.ledger.key_now(opened);
        let lines = PlanRecord::of(records).task(&key.id).map(|on_record| on_record.check.clone());
        let check = match &lines {
            Some(lines) => Check::of_lines(&lines.0),
            None => opened.fields().verify,
        };
        let works = act.is_good_work();
        let commands = check.map(|check| check.commands(&|_| Program::Found));
        let check = CheckRun::of(commands.unwrap_or_default(), |command| {
            let passes = works || command.text.starts_with(b"echo");
            let wanted = command.expect.as_ref().filter(|_| passes);
            CommandRun {
                time: CheckTime::new(None),
                ended: ProcessEnd::Code(i32::from(!passes)),
                output: String::new(),
                stdout: wanted.map(Expectation::example).unwrap_or_default(),
                cut: false,
                command,
            }
        });
        let known = self.truth.tasks.known.get(&soul_of(&opened.key));
        let proof = known.map_or_else(
            || {
                let file = TaskFile::scan(&opened.block);
                file.tasks.first().map_or(Proof::Nothing, |task| Proof::of(&file, task))
            },
            |known| known.check,
        );
        Ok(Exam { check, proof })
    }

    /// Ends an attempt.
    pub(crate) fn end(&mut self, opened: &Attempt, ending: &Ending<'_>) -> Result<Outcome, Halt> {
        self.lock()?;
        let reviewed = self.review(self.state())?;
        let Some(state) = reviewed.state else { return Ok(Outcome::NotOpen) };
        let mut renamed = opened.clone();
        renamed.key = self.disk.ledger.key_now(opened);
        let (opened, id_then) = (&renamed, soul_of(&opened.key));
        let soul = soul_of(&opened.key);
        promise!(soul == id_then, "an attempt at {id_then} is taken for one at {soul}");
        if !self.disk.ledger.is_open(&opened.id) {
            return Ok(Outcome::NotOpen);
        }
        let text = self.disk.tasks.clone();
        let file = TaskFile::scan(&text);
        let index = match file.find(&opened.key) {
            TaskMatch::Same(index) | TaskMatch::Retitled(index) => Some(index),
            TaskMatch::Gone => None,
        };
        let verdict = verdict(opened, ending);
        let question = question(&reviewed.plan_record, opened, index.is_none(), &verdict);
        self.is_just(&soul, ending, &verdict, question.is_some(), index.is_none())?;
        let (id, reason) = (opened.key.id.clone(), verdict.reason());
        let sent_back = self.disk.ledger.sent_back(&opened.id);
        if matches!(ending, Ending::Executor { .. })
            && question.is_none()
            && !verdict.passed()
            && sent_back < MAX_SENT_BACK
        {
            self.story(format!("{id} goes back to its executor: {reason}"));
            let (task, attempt) = (opened.key.clone(), opened.number);
            self.record(Entry::SentBack { task, attempt, reasons: vec![reason] })?;
            return Ok(Outcome::SentBack);
        }
        let mut foreign = reviewed.unproved;
        foreign.retain(|key| key.id != opened.key.id);
        let set_aside = matches!(ending, Ending::OnTop { .. }) && only_the_check_failed(&verdict);
        let Some(index) = index else {
            let entry = self.entry(opened, AttemptResult::Waits, &verdict);
            self.story(format!("{id} is gone, and its attempt waits"));
            let written = self.record(entry);
            if took_effect(&written) {
                self.truth.lost_with_its_task(&soul);
            }
            written?;
            self.keep_work(opened)?;
            return Ok(Outcome::Verdict(AttemptResult::Waits));
        };
        let (result, event) = if let Some(reason) = question {
            (AttemptResult::Waits, Event::Wait { index, reason })
        } else if verdict.passed() {
            let unverified = verdict.unverified;
            (AttemptResult::Passed, Event::Pass { index, unverified })
        } else if set_aside {
            (AttemptResult::SetAside, Event::SetAside { index, reason: reason.clone() })
        } else {
            (AttemptResult::Failed, Event::Fail { index, reason: reason.clone() })
        };
        let step = attempt::without_ticks(&state, &file, event, &foreign);
        self.story(format!("{id} attempt {}: {result:?} {reason}", opened.number));
        let entry = self.entry(opened, result, &verdict);
        let written = self.write(entry, &step);
        if took_effect(&written) {
            self.truth.verdict(&soul, result, &step);
            for key in &foreign {
                self.truth.tasks.forget_tick(&soul_of(key));
            }
        }
        written?;
        match result {
            AttemptResult::Passed => self.complete_commits()?,
            AttemptResult::Waits => self.keep_work(opened)?,
            _ => {}
        }
        Ok(Outcome::Verdict(result))
    }

    /// Keeps the work of an attempt that waits for a person.
    fn keep_work(&mut self, opened: &Attempt) -> Result<(), Halt> {
        let (task, attempt) = (opened.key.clone(), opened.number);
        self.record(Entry::Kept { task, attempt, reference: format!("kept-{attempt}"), files: 1 })
    }

    /// The verdict of the kernel, held against what is true.
    fn is_just(
        &self,
        soul: &str,
        ending: &Ending<'_>,
        verdict: &Verdict,
        waits: bool,
        gone: bool,
    ) -> Result<(), Halt> {
        let (act, exam, conflict) = match ending {
            Ending::Judgement { act, exam, .. } | Ending::Executor { act, exam, .. } => {
                (*act, exam, false)
            }
            Ending::OnTop { act, exam, conflict, .. } => (*act, exam, *conflict),
            Ending::Trouble(_) => {
                promise!(!verdict.passed(), "an agent that has failed passes");
                promise!(waits == gone, "an attempt that its agent broke off waits");
                return Ok(());
            }
        };
        let deserved = match act {
            _ if conflict => false,
            Act::Good => true,
            Act::FalseClaim => exam.proof.proves_nothing(),
            _ => false,
        };
        promise!(!verdict.passed() || deserved, "{act:?} passes, checked by {:?}", exam.proof);
        promise!(verdict.passed() || !deserved, "good work fails: {}", verdict.reason());
        let only_check = only_the_check_failed(verdict);
        let is_asked = self.truth.tasks.is_asked(soul);
        promise!(
            waits == (gone || (is_asked && only_check)),
            "{soul} waits: {waits}; a person is asked: {is_asked}, its task is gone: {gone}"
        );
        Ok(())
    }

    /// Makes the commits that nobody got to, or takes the ticks back.
    pub(crate) fn complete_commits(&mut self) -> Result<(), Halt> {
        self.lock()?;
        for _ in 0..100 {
            let Some(passed) = self.disk.ledger.uncommitted() else { return Ok(()) };
            let (opened, notes) = (passed.attempt, passed.notes);
            let files = vec![format!("f{}", soul_of(&opened.key))];
            promise!(passed.changed == files, "{:?} is committed as {files:?}", passed.changed);
            if self.fair || !self.chance.once_in(12) {
                let task = opened.key.clone();
                self.record(Entry::Committed { task, commit: "c".into(), left: Vec::new() })?;
            } else {
                self.take_back(&opened, Changes { retracted: notes, ..Changes::default() })?;
            }
        }
        Err(Halt::Broken("there is always one more commit to be made".into()))
    }

    fn take_back(&mut self, opened: &Attempt, changes: Changes) -> Result<(), Halt> {
        let reviewed = self.review(self.state())?;
        let mut renamed = opened.clone();
        renamed.key = self.disk.ledger.key_now(opened);
        let opened = &renamed;
        let text = self.disk.tasks.clone();
        let file = TaskFile::scan(&text);
        let (id, soul) = (opened.key.id.clone(), soul_of(&opened.key));
        let reason = "the commit was refused".to_owned();
        let failures = vec![Failure { layer: Layer::Uncommitted, message: reason.clone() }];
        let verdict = Verdict { unverified: false, ..Verdict::failed(failures) };
        let entry = self.entry(opened, AttemptResult::Failed, &verdict);
        let found = file.find(&opened.key);
        let (Some(state), TaskMatch::Same(index) | TaskMatch::Retitled(index)) =
            (reviewed.state, found)
        else {
            self.story(format!("the commit of {id} is refused, and nothing is left to open"));
            let written = self.record(entry);
            if took_effect(&written) {
                self.truth.commit_lost(&soul);
            }
            return written;
        };
        let event = Event::TakeBack { index, attempt: opened.number, reason };
        let step = machine::step(&state, &file, event);
        self.story(format!("the commit of {id} is refused"));
        let changes = Changes { retracted: changes.retracted, ..disk::changes(&step) };
        self.is_rightly_named(&entry)?;
        let at = self.at();
        let written = self.disk.write(&at, entry, changes).map_err(Halt::from);
        if took_effect(&written) {
            self.truth.taken_back(&soul, &step);
        }
        written
    }

    /// The record of a verdict.
    fn entry(&self, opened: &Attempt, result: AttemptResult, verdict: &Verdict) -> Entry {
        let (task, attempt) = (opened.key.clone(), opened.number);
        let reasons = verdict.failures.iter().map(|failure| failure.message.clone()).collect();
        let (output, changed) = (String::new(), vec![format!("f{}", soul_of(&task))]);
        match result {
            AttemptResult::Passed => Entry::Passed {
                task,
                attempt,
                unverified: verdict.unverified,
                changed,
                to_commit: true,
                outside: Vec::new(),
                proofs: Vec::new(),
                unticked: Vec::new(),
                output,
                millis: 1,
                isolated: None,
            },
            AttemptResult::SetAside => {
                Entry::SetAside { task, attempt, reasons, unticked: Vec::new(), output }
            }
            AttemptResult::Waits => {
                let (unticked, changed) = (Vec::new(), Vec::new());
                Entry::Waits { task, attempt, reasons, unticked, output, changed }
            }
            AttemptResult::Failed | AttemptResult::Open => Entry::Failed {
                task,
                attempt,
                changed,
                reasons,
                class: verdict.class().to_owned(),
                fixes: Vec::new(),
                unticked: Vec::new(),
                output,
                millis: 1,
            },
        }
    }

    /// Writes a step as one transaction.
    pub(crate) fn write(&mut self, entry: Entry, step: &Step) -> Result<(), Halt> {
        self.is_rightly_named(&entry)?;
        let at = self.at();
        Ok(self.disk.write(&at, entry, disk::changes(step))?)
    }

    /// Writes a record that changes no file.
    pub(crate) fn record(&mut self, entry: Entry) -> Result<(), Halt> {
        self.is_rightly_named(&entry)?;
        let at = self.at();
        Ok(self.disk.record(&at, entry)?)
    }
}

/// What the layers say.
fn verdict(opened: &Attempt, ending: &Ending<'_>) -> Verdict {
    let (said, exam, conflict) = match ending {
        Ending::Judgement { said, exam, .. } | Ending::Executor { said, exam, .. } => {
            (*said, exam, false)
        }
        Ending::OnTop { said, exam, conflict, .. } => (*said, exam, *conflict),
        Ending::Trouble(why) => {
            let failure = Failure { layer: Layer::Signal, message: why.clone() };
            return Verdict::failed(vec![failure]);
        }
    };
    if conflict {
        let message = "it conflicts with the others' work".to_owned();
        return Verdict::failed(vec![Failure { layer: Layer::Verify, message }]);
    }
    verify::judge(&Evidence {
        role: opened.role,
        result: said,
        check: exam.check.clone(),
        files: &[],
        changed: &[],
        proofs: &[],
        commit: CommitRun::NotApplicable,
    })
}

/// What a person is asked before an attempt can have a verdict.
fn question(
    plan_record: &PlanRecord,
    opened: &Attempt,
    gone: bool,
    verdict: &Verdict,
) -> Option<String> {
    let asked = plan_record.task(&opened.key.id).and_then(OnRecord::question);
    match gone {
        true => Some(asked.unwrap_or_else(|| "the task is gone".to_owned())),
        false => asked.filter(|_| only_the_check_failed(verdict)),
    }
}

fn only_the_check_failed(verdict: &Verdict) -> bool {
    !verdict.passed() && verdict.failures.iter().all(|failure| failure.layer == Layer::Verify)
}

/// Whether what was to be written is, or will be when somebody looks.
pub(crate) fn took_effect(written: &Result<(), Halt>) -> bool {
    matches!(written, Ok(()) | Err(Halt::Died(Died { announced: true })))
}
