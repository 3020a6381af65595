//! The verdict on an attempt, and what follows from it.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use specum_core::journal::Entry;
use specum_core::line;
use specum_core::machine::{self, Effect, Event, Signal, Step};
use specum_core::owner::Asker;
use specum_core::state::State;
use specum_core::tasks::{self, Check, Fields, TaskEdit, TaskFile, TaskKey};
use specum_core::verify::{self, CheckRun, CommitRun, Evidence, Layer, Verdict};

use super::{AttemptError, History, Opened, Workspace, history};
use crate::clock;
use crate::owner;
use crate::process;
use crate::store::Locked;

/// How long a Verify command may run: well under what a host gives a hook.
const VERIFY_LIMIT: Duration = Duration::from_secs(480);
/// How much of a check's output is kept in the journal.
pub(super) const KEPT_EVIDENCE: usize = 4 * 1024;
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
    /// A run's, which must own the spec when the verdict is written.
    Run,
    /// A run's, for work that has passed by itself and is now tried on top of
    /// the others': if only the check fails, it is set aside.
    OnTop,
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
    /// Whether the work does not fit on top of the others': it is done again,
    /// and has not failed.
    pub set_aside: bool,
    /// The kind of failure, in one word; empty if it passed.
    pub class: String,
    /// The end of the Verify command's output.
    pub output: String,
    /// The commit, if there was something to commit.
    pub commit: Option<String>,
    /// What the loop says of itself.
    pub signals: Vec<Signal>,
    /// The ids of fix tasks that were added.
    pub fixes: Vec<String>,
    /// Other tasks' boxes that were ticked meanwhile, and opened again.
    pub unticked: Vec<String>,
    /// What the attempt changed.
    pub(super) changed: Vec<String>,
}

impl Judged {
    /// What is known of an attempt that somebody else found to have passed.
    pub(super) fn of_passed(opened: &Opened, changed: Vec<String>) -> Judged {
        let verdict = Verdict { failures: Vec::new(), unverified: false, outside: Vec::new() };
        Judged::new(opened, verdict, changed, &[])
    }

    pub(super) fn new(
        opened: &Opened,
        verdict: Verdict,
        changed: Vec<String>,
        foreign: &[TaskKey],
    ) -> Judged {
        Judged {
            key: opened.key.clone(),
            attempt: opened.attempt,
            class: verdict.class().to_owned(),
            verdict,
            sent_back: false,
            set_aside: false,
            output: String::new(),
            commit: None,
            signals: Vec::new(),
            fixes: Vec::new(),
            unticked: foreign.iter().map(|key| key.id.clone()).collect(),
            changed,
        }
    }

    /// Takes over what a step says of the loop.
    pub(super) fn learn_from(&mut self, step: &Step) {
        self.signals = signals(step);
        self.fixes = inserted(step);
    }

    /// The record of an attempt that has not passed.
    pub(super) fn entry(&self, opened: &Opened) -> Entry {
        let (task, attempt) = (opened.key.clone(), opened.attempt);
        let (reasons, output) = (reasons(&self.verdict), self.output.clone());
        if self.set_aside {
            return Entry::SetAside { task, attempt, reasons, output };
        }
        Entry::Failed {
            task,
            attempt,
            changed: self.changed.clone(),
            reasons,
            class: self.class.clone(),
            unticked: self.unticked.clone(),
            output,
            millis: millis_since(&opened.at),
        }
    }
}

/// What was found before the lock is taken.
#[derive(Debug)]
pub struct Found<'a> {
    /// What the executor said at the end.
    pub result: &'a str,
    /// What the attempt changed.
    pub changed: Vec<String>,
    branch: Option<String>,
    check: CheckRun,
}

impl Found<'_> {
    /// Why the check has failed, if it has, and the end of what it printed.
    pub fn failed_check(&self) -> Option<(String, String)> {
        verify::failed_check(&self.check).map(|why| (why, evidence(&self.check)))
    }
}

impl Workspace {
    /// Judges an attempt by its result and by what stands now.
    pub fn judge(&self, opened: &Opened, result: &str, by: By<'_>) -> Result<Judged, AttemptError> {
        self.complete_commits()?;
        // One check at a time: two builds in one tree break each other. Held
        // until the commit is made, so that nobody takes the loop for finished
        // in between.
        let _turn = self.store.check_turn()?;
        let found = self.find(opened, result, None)?;
        self.write_verdict(opened, found, by)
    }

    /// The first half of a judgement: what stands now, and what becomes of the
    /// check. Whoever is told to stop meanwhile leaves it at that.
    pub fn examine<'r>(
        &self,
        opened: &Opened,
        result: &'r str,
        changed: Option<Vec<String>>,
    ) -> Result<Found<'r>, AttemptError> {
        let _turn = self.store.check_turn()?;
        self.find(opened, result, changed)
    }

    /// The second half: the verdict and what follows from it.
    pub fn conclude(
        &self,
        opened: &Opened,
        found: Found<'_>,
        by: By<'_>,
    ) -> Result<Judged, AttemptError> {
        let _turn = self.store.check_turn()?;
        self.write_verdict(opened, found, by)
    }

    fn find<'r>(
        &self,
        opened: &Opened,
        result: &'r str,
        changed: Option<Vec<String>>,
    ) -> Result<Found<'r>, AttemptError> {
        // Before the check, which may leave files of its own.
        let tree = self.tree()?;
        let changed = match changed {
            Some(changed) => changed,
            None => self.changed_by(opened, &tree)?,
        };
        let check = run_check(&opened.fields(), &self.spec.root);
        Ok(Found { result, changed, branch: tree.branch, check })
    }

    fn write_verdict(
        &self,
        opened: &Opened,
        found: Found<'_>,
        by: By<'_>,
    ) -> Result<Judged, AttemptError> {
        let locked = self.store.lock()?;
        let (mut judged, step) = self.decide(&locked, opened, found, by)?;
        let Some(step) = step else { return Ok(judged) };
        judged.learn_from(&step);
        if !judged.verdict.passed() {
            locked.write_step(judged.entry(opened), &step)?;
            return Ok(judged);
        }
        locked.write_step(passed(opened, &judged, self.git.is_ok()), &step)?;
        drop(locked);
        self.commit_passed(opened, judged)
    }

    /// The verdict, and the step it leads to; none if nothing is decided yet.
    fn decide(
        &self,
        locked: &Locked<'_>,
        opened: &Opened,
        found: Found<'_>,
        by: By<'_>,
    ) -> Result<(Judged, Option<Step>), AttemptError> {
        let view = locked.read()?;
        let state =
            view.state.as_ref().ok_or_else(|| AttemptError::NoLoop(self.spec.name.clone()))?;
        let file = view.file();
        let journal = self.store.read_journal()?;
        self.is_still_open(state, opened, by, &journal)?;
        self.pause_on_another_branch(locked, state, &file, opened, found.branch.as_ref())?;
        let task = match file.find(&opened.key) {
            tasks::Found::Same(index) | tasks::Found::Retitled(index) => Some(&file.tasks[index]),
            tasks::Found::Gone => None,
        };
        let files = self.in_repository(opened.fields().files);
        let verdict = verify::judge(&Evidence {
            role: opened.role,
            result: found.result,
            // The journal keeps text, so both sides are compared as text.
            block_before: line::readable(&opened.block).as_bytes(),
            block_after: task
                .map(|task| line::readable(file.block(task)))
                .as_deref()
                .map(str::as_bytes),
            check: found.check.clone(),
            files: &files,
            changed: &found.changed,
            commit: CommitRun::NotApplicable,
        });
        let foreign = foreign_ticks(&file, opened, History(&journal));
        let mut judged = Judged::new(opened, verdict, found.changed, &foreign);
        judged.output = evidence(&found.check);
        let sent_back = History(&journal).sent_back(opened);
        if matches!(by, By::Executor(_)) && can_mend(&judged.verdict, sent_back) {
            locked.record(Entry::SentBack {
                task: opened.key.clone(),
                attempt: opened.attempt,
                reasons: reasons(&judged.verdict),
            })?;
            judged.sent_back = true;
            return Ok((judged, None));
        }
        let Some(index) = task.map(|task| task.index) else {
            // The attempt is lost with its task; there is nothing to try again.
            locked.record(judged.entry(opened))?;
            return Ok((judged, None));
        };
        judged.set_aside = by == By::OnTop && only_the_check_failed(&judged.verdict);
        let event = if judged.verdict.passed() {
            Event::Pass { index, unverified: judged.verdict.unverified }
        } else if judged.set_aside {
            Event::SetAside { index, reason: judged.verdict.reason() }
        } else {
            Event::Fail { index, reason: judged.verdict.reason() }
        };
        Ok((judged, Some(without_foreign_ticks(state, &file, event, &foreign))))
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

    /// Somebody may have judged the attempt, or taken the spec over, while the
    /// check ran.
    pub(super) fn is_still_open(
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
        let is_allowed = match by {
            By::Verb => return self.refuse_beside_a_run(state),
            By::Executor(session) | By::Batch(session) => {
                let asker = Asker::Session(session);
                owner::holder(&self.store, Some(state), asker).other().is_none()
            }
            By::Run | By::OnTop => owner::is_this_run(state),
        };
        is_allowed.then_some(()).ok_or_else(|| AttemptError::NotYours(self.spec.name.clone()))
    }

    /// Work that was begun on one branch is not committed on another.
    fn pause_on_another_branch(
        &self,
        locked: &Locked<'_>,
        state: &State,
        file: &TaskFile<'_>,
        opened: &Opened,
        now: Option<&String>,
    ) -> Result<(), AttemptError> {
        if opened.head.is_none() || self.git.is_err() || now == opened.branch.as_ref() {
            return Ok(());
        }
        let step = machine::step(state, file, Event::Pause);
        locked.write_step(Entry::Paused, &step)?;
        let name = |branch: Option<&String>| branch.map_or("no branch".into(), Clone::clone);
        let (before, now) = (name(opened.branch.as_ref()), name(now));
        Err(AttemptError::OtherBranch { before, now })
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
pub fn foreign_ticks(file: &TaskFile<'_>, opened: &Opened, history: History<'_>) -> Vec<TaskKey> {
    let passed = history.passed_since(opened);
    file.ticked_since(&opened.ticks)
        .into_iter()
        .filter(|task| task.name() != opened.key.id && !passed.contains(&task.name().as_str()))
        .map(tasks::Task::key)
        .collect()
}

/// A step over the file as it is without those ticks, which takes them back.
pub fn without_foreign_ticks(
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

pub(super) fn signals(step: &Step) -> Vec<Signal> {
    step.effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Signal(signal) => Some(*signal),
            _ => None,
        })
        .collect()
}

fn inserted(step: &Step) -> Vec<String> {
    let fix = |effect: &Effect| match effect {
        Effect::Edit(TaskEdit::InsertAfter { id, .. }) => Some(id.clone()),
        _ => None,
    };
    step.effects.iter().filter_map(fix).collect()
}

fn reasons(verdict: &Verdict) -> Vec<String> {
    verdict.failures.iter().map(|failure| failure.message.clone()).collect()
}

fn passed(opened: &Opened, judged: &Judged, to_commit: bool) -> Entry {
    Entry::Passed {
        task: opened.key.clone(),
        attempt: opened.attempt,
        unverified: judged.verdict.unverified,
        changed: judged.changed.clone(),
        to_commit,
        outside: judged.verdict.outside.clone(),
        unticked: judged.unticked.clone(),
        output: judged.output.clone(),
        millis: millis_since(&opened.at),
    }
}

/// The end of what a check printed.
pub(super) fn evidence(check: &CheckRun) -> String {
    match check {
        CheckRun::Ran { output, .. } => line::tail(output, KEPT_EVIDENCE).to_owned(),
        CheckRun::Unverified => String::new(),
    }
}

/// Whether the work itself may be good and only the ground has moved.
fn only_the_check_failed(verdict: &Verdict) -> bool {
    !verdict.passed() && verdict.failures.iter().all(|failure| failure.layer == Layer::Verify)
}

pub(super) fn run_check(fields: &Fields, root: &Path) -> CheckRun {
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
        u64::try_from(clock::now().as_millisecond() - at.as_millisecond()).unwrap_or(0)
    })
}
