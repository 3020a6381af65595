//! The verdict on an attempt, and what follows from it.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use specum_core::guard::Memory;
use specum_core::journal::Entry;
use specum_core::line;
use specum_core::machine::{self, Effect, Event, Signal, Step};
use specum_core::state::{Owner, State};
use specum_core::tasks::{Check, Fields, Found, TaskEdit, TaskFile, TaskKey, short_title};
use specum_core::verify::{self, CheckRun, CommitRun, Evidence, Failure, Layer, Verdict};

use super::{AttemptError, History, Opened, Workspace, history};
use crate::process;
use crate::store::Locked;

/// How long a Verify command may run: well under what a host gives a hook.
const VERIFY_LIMIT: Duration = Duration::from_secs(480);
/// How much of a check's output is kept in the journal.
const KEPT_EVIDENCE: usize = 4 * 1024;
/// How often an executor is told what is missing within one attempt.
const MAX_SENT_BACK: usize = 2;

/// On whose word an attempt is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By<'a> {
    /// A person's or a program's, which has finished.
    Verb,
    /// A host's session, whose executor can still mend something. It must own
    /// the spec when the verdict is written: the judge of a killed host may
    /// live on.
    Executor(&'a str),
    /// The same for an executor that has ended long ago, as the others of its
    /// batch have.
    Batch(&'a str),
}

/// An attempt that was judged.
#[derive(Debug)]
pub struct Judged {
    /// The task.
    pub key: TaskKey,
    /// Which attempt it was.
    pub attempt: u64,
    /// What the layers said.
    pub verdict: Verdict,
    /// Whether the executor is to mend it within the same attempt; then nothing
    /// has been decided.
    pub sent_back: bool,
    /// The end of the Verify command's output.
    pub output: String,
    /// The commit, if there was something to commit.
    pub commit: Option<String>,
    /// What the loop says of itself.
    pub signals: Vec<Signal>,
    /// Other tasks' boxes that were ticked meanwhile, and opened again.
    pub unticked: Vec<String>,
    /// What the attempt changed.
    changed: Vec<String>,
}

impl Workspace {
    /// Judges an attempt by its result and by what stands now.
    pub fn judge(&self, opened: &Opened, result: &str, by: By<'_>) -> Result<Judged, AttemptError> {
        // One check at a time: two builds in one tree break each other.
        let turn = self.store.check_turn()?;
        let fields = opened.fields();
        let check = run_check(&fields, &self.spec.root);
        let changed = self.changed_by(opened)?;
        let files = self.in_repository(fields.files.clone());
        let output = match &check {
            CheckRun::Ran { output, .. } => line::tail(output, KEPT_EVIDENCE).to_owned(),
            CheckRun::Unverified => String::new(),
        };

        let locked = self.store.lock()?;
        let view = locked.read()?;
        let state =
            view.state.as_ref().ok_or_else(|| AttemptError::NoLoop(self.spec.name.clone()))?;
        let file = view.file();
        let journal = self.store.read_journal()?;
        self.is_still_open(state, opened, by, &journal)?;
        self.pause_on_another_branch(&locked, state, &file, opened)?;
        let (Found::Same(index) | Found::Retitled(index)) = file.find(&opened.key) else {
            return Err(AttemptError::NoTask(opened.key.id.clone()));
        };
        // The journal keeps text, so both sides are compared as text.
        let block_before = line::readable(&opened.block);
        let block_after = line::readable(file.block(&file.tasks[index]));
        let evidence = Evidence {
            role: opened.role,
            result,
            block_before: block_before.as_bytes(),
            block_after: Some(block_after.as_bytes()),
            check,
            files: &files,
            changed: &changed,
            commit: CommitRun::NotApplicable,
        };
        let foreign = foreign_ticks(&file, opened, History(&journal));
        let mut judged = Judged {
            key: opened.key.clone(),
            attempt: opened.attempt,
            verdict: verify::judge(&evidence),
            sent_back: false,
            output,
            commit: None,
            signals: Vec::new(),
            unticked: foreign.iter().map(|key| key.id.clone()).collect(),
            changed: changed.clone(),
        };
        if matches!(by, By::Executor(_))
            && can_mend(&judged.verdict, History(&journal).sent_back(opened))
        {
            locked.record(Entry::SentBack {
                task: opened.key.clone(),
                attempt: opened.attempt,
                reasons: reasons(&judged.verdict),
            })?;
            judged.sent_back = true;
            return Ok(judged);
        }
        let event = if judged.verdict.passed() {
            Event::Pass { index, unverified: judged.verdict.unverified }
        } else {
            Event::Fail { index, reason: judged.verdict.reason() }
        };
        let step = without_foreign_ticks(state, &file, event, &foreign);
        judged.signals = signals(&step);
        if !judged.verdict.passed() {
            locked.write_step(failed(opened, &judged), &step)?;
            return Ok(judged);
        }
        locked.write_step(passed(opened, &judged), &step)?;
        drop(locked);
        let judged = self.commit(opened, &fields, &step, evidence, judged);
        drop(turn);
        judged
    }

    /// Keeps what an executor of a session said until its verdict is written,
    /// and tells whether it is one of a batch.
    pub fn report(
        &self,
        opened: &Opened,
        result: &str,
        session: &str,
    ) -> Result<bool, AttemptError> {
        let locked = self.store.lock()?;
        let view = locked.read()?;
        let state =
            view.state.as_ref().ok_or_else(|| AttemptError::NoLoop(self.spec.name.clone()))?;
        self.is_still_open(state, opened, By::Batch(session), &self.store.read_journal()?)?;
        locked.record(Entry::Reported {
            task: opened.key.clone(),
            attempt: opened.attempt,
            result: result.to_owned(),
        })?;
        Ok(state.parallel_group.is_some())
    }

    /// Ends an attempt as failed on somebody's word, without a check: whoever
    /// worked it broke off.
    pub fn give_up(&self, opened: &Opened, reason: &str) -> Result<Judged, AttemptError> {
        let changed = self.changed_by(opened)?;
        let locked = self.store.lock()?;
        let view = locked.read()?;
        let state =
            view.state.as_ref().ok_or_else(|| AttemptError::NoLoop(self.spec.name.clone()))?;
        let file = view.file();
        let journal = self.store.read_journal()?;
        self.is_still_open(state, opened, By::Verb, &journal)?;
        let (Found::Same(index) | Found::Retitled(index)) = file.find(&opened.key) else {
            return Err(AttemptError::NoTask(opened.key.id.clone()));
        };
        let message = line::head(reason, KEPT_EVIDENCE).to_owned();
        let failures = vec![Failure { layer: Layer::Signal, message }];
        let foreign = foreign_ticks(&file, opened, History(&journal));
        let mut judged = Judged {
            key: opened.key.clone(),
            attempt: opened.attempt,
            verdict: Verdict { failures, unverified: true, outside: Vec::new() },
            sent_back: false,
            output: String::new(),
            commit: None,
            signals: Vec::new(),
            unticked: foreign.iter().map(|key| key.id.clone()).collect(),
            changed,
        };
        let event = Event::Fail { index, reason: judged.verdict.reason() };
        let step = without_foreign_ticks(state, &file, event, &foreign);
        judged.signals = signals(&step);
        locked.write_step(failed(opened, &judged), &step)?;
        Ok(judged)
    }

    /// Somebody may have judged the attempt, or taken the spec over, while the
    /// check ran.
    fn is_still_open(
        &self,
        state: &State,
        opened: &Opened,
        by: By<'_>,
        journal: &[specum_core::journal::Record],
    ) -> Result<(), AttemptError> {
        let now = history::open_attempt(journal, &opened.key);
        if now.is_none_or(|now| now.attempt != opened.attempt) {
            return Err(AttemptError::NotOpen(opened.key.id.clone()));
        }
        match by {
            By::Executor(session) | By::Batch(session)
                if !holds(state, &self.store.read_memory(), session) =>
            {
                Err(AttemptError::NotYours(self.spec.name.clone()))
            }
            By::Executor(_) | By::Batch(_) | By::Verb => Ok(()),
        }
    }

    /// Work that was begun on one branch is not committed on another.
    fn pause_on_another_branch(
        &self,
        locked: &Locked<'_>,
        state: &State,
        file: &TaskFile<'_>,
        opened: &Opened,
    ) -> Result<(), AttemptError> {
        let Ok(git) = &self.git else { return Ok(()) };
        let now = git.branch();
        if opened.head.is_none() || now == opened.branch {
            return Ok(());
        }
        let step = machine::step(state, file, Event::Pause);
        locked.write_step(Entry::Paused, &step)?;
        let name = |branch: Option<&String>| branch.map_or("no branch".into(), Clone::clone);
        let (before, now) = (name(opened.branch.as_ref()), name(now.as_ref()));
        Err(AttemptError::OtherBranch { before, now })
    }

    /// Commits a passed attempt. If git refuses, it has not passed after all.
    fn commit(
        &self,
        opened: &Opened,
        fields: &Fields,
        passed: &Step,
        evidence: Evidence<'_>,
        mut judged: Judged,
    ) -> Result<Judged, AttemptError> {
        let Ok(git) = &self.git else { return Ok(judged) };
        let mut paths = evidence.changed.to_vec();
        paths.extend(self.spec_files(git));
        let commit = match git.commit(&paths, &self.message(opened, fields)) {
            Ok(commit) => {
                judged.commit = commit;
                let now = git.changed()?;
                CommitRun::Left(paths.into_iter().filter(|path| now.contains(path)).collect())
            }
            Err(error) => CommitRun::Refused(error.to_string()),
        };
        judged.verdict = verify::judge(&Evidence { commit, ..evidence });
        let locked = self.store.lock()?;
        if !judged.verdict.passed() {
            return self.take_back(&locked, opened, passed, judged);
        }
        if let Some(commit) = judged.commit.clone() {
            locked.record(Entry::Committed { task: opened.key.clone(), commit })?;
        }
        Ok(judged)
    }

    /// Opens a box again whose work could not be committed.
    fn take_back(
        &self,
        locked: &Locked<'_>,
        opened: &Opened,
        passed: &Step,
        mut judged: Judged,
    ) -> Result<Judged, AttemptError> {
        let view = locked.read()?;
        let file = view.file();
        let (Some(state), Found::Same(index)) = (&view.state, file.find(&opened.key)) else {
            return Err(AttemptError::NoTask(opened.key.id.clone()));
        };
        let reason = judged.verdict.reason();
        let attempt = opened.attempt;
        let step = machine::step(state, &file, Event::TakeBack { index, attempt, reason });
        let mut changes = locked.changes(&step)?;
        changes.retracted = passed
            .effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::Note(note) => Some(note.clone()),
                _ => None,
            })
            .collect();
        locked.write(failed(opened, &judged), changes)?;
        judged.signals = signals(&step);
        Ok(judged)
    }

    fn message(&self, opened: &Opened, fields: &Fields) -> String {
        let (spec, id) = (&self.spec.name, &opened.key.id);
        let subject = fields.commit.clone().unwrap_or_else(|| format!("chore({spec}): {id}"));
        let title = short_title(&opened.key.title);
        let body = if fields.commit.is_none() { format!("\n\n{title}") } else { String::new() };
        let attempt = opened.attempt;
        format!("{subject}{body}\n\nSpec: {spec}\nTask: {id}\nAttempt: {attempt}\n")
    }
}

/// Whether a session owns a spec.
pub(crate) fn holds(state: &State, memory: &Memory, session: &str) -> bool {
    match state.owner.as_ref().or(memory.owner.as_ref()) {
        Some(Owner::Session { session_id, .. }) => session_id == session,
        Some(Owner::Runner { .. }) => false,
        None => true,
    }
}

/// Whether the executor can still do something about a verdict. A task whose
/// text was changed has lost its attempt.
fn can_mend(verdict: &Verdict, sent_back: usize) -> bool {
    !verdict.passed()
        && sent_back < MAX_SENT_BACK
        && verdict.failures.iter().all(|failure| failure.layer != Layer::Checkmark)
}

/// The boxes of other tasks that were ticked since the attempt began, by
/// nobody who may.
fn foreign_ticks(file: &TaskFile<'_>, opened: &Opened, history: History<'_>) -> Vec<TaskKey> {
    let passed = history.passed_since(opened);
    file.ticked_since(&opened.ticks)
        .into_iter()
        .filter(|task| task.name() != opened.key.id && !passed.contains(&task.name().as_str()))
        .map(specum_core::tasks::Task::key)
        .collect()
}

/// A step over the file as it is without those ticks, which takes them back.
fn without_foreign_ticks(
    state: &State,
    file: &TaskFile<'_>,
    event: Event,
    foreign: &[TaskKey],
) -> Step {
    let edits: Vec<TaskEdit> = foreign.iter().cloned().map(TaskEdit::Untick).collect();
    let text = TaskEdit::apply_all(&edits, file.text());
    let mut step = machine::step(state, &TaskFile::scan(&text), event);
    step.effects.splice(0..0, edits.into_iter().map(Effect::Edit));
    step
}

fn signals(step: &Step) -> Vec<Signal> {
    step.effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Signal(signal) => Some(*signal),
            _ => None,
        })
        .collect()
}

fn reasons(verdict: &Verdict) -> Vec<String> {
    verdict.failures.iter().map(|failure| failure.message.clone()).collect()
}

fn passed(opened: &Opened, judged: &Judged) -> Entry {
    Entry::Passed {
        task: opened.key.clone(),
        attempt: opened.attempt,
        unverified: judged.verdict.unverified,
        outside: judged.verdict.outside.clone(),
        unticked: judged.unticked.clone(),
        output: judged.output.clone(),
        millis: millis_since(&opened.at),
    }
}

fn failed(opened: &Opened, judged: &Judged) -> Entry {
    Entry::Failed {
        task: opened.key.clone(),
        attempt: opened.attempt,
        changed: judged.changed.clone(),
        reasons: reasons(&judged.verdict),
        unticked: judged.unticked.clone(),
        output: judged.output.clone(),
        millis: millis_since(&opened.at),
    }
}

fn run_check(fields: &Fields, root: &Path) -> CheckRun {
    let Some(Check::Command { command, expect }) = &fields.verify else {
        return CheckRun::Unverified;
    };
    let run = process::shell(command, root, verify_limit());
    CheckRun::Ran {
        command: command.clone(),
        ended: run.ended,
        output: String::from_utf8_lossy(&run.output).into_owned(),
        expect: expect.clone(),
        stdout: String::from_utf8_lossy(&run.stdout).into_owned(),
    }
}

/// Tests may not want to wait that long.
fn verify_limit() -> Duration {
    #[cfg(feature = "test-support")]
    if let Some(millis) = std::env::var("SPECUM_VERIFY_MILLIS").ok().and_then(|v| v.parse().ok()) {
        return Duration::from_millis(millis);
    }
    VERIFY_LIMIT
}

fn millis_since(at: &str) -> u64 {
    at.parse::<Timestamp>().map_or(0, |at| {
        u64::try_from(Timestamp::now().as_millisecond() - at.as_millisecond()).unwrap_or(0)
    })
}
