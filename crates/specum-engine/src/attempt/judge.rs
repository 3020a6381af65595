//! The verdict on an attempt, and what follows from it.

use std::path::Path;
use std::time::Duration;

use specum_core::attempt::Attempt;
use specum_core::journal::Entry;
use specum_core::line;
use specum_core::machine::{self, Effect, Event, Signal, Step};
use specum_core::owner::Asker;
use specum_core::plan_record::{OnRecord, PlanRecord};
use specum_core::state::State;
use specum_core::tasks::{self, Check, Command, TaskEdit, TaskFile, TaskKey};
use specum_core::verify::{
    self, CheckRun, CheckTime, CommandRun, CommitRun, Evidence, FailureClass, Verdict,
};

use super::review::{ReviewedPlan, review, without_ticks};
use super::tree::Rewritten;
use super::{AttemptError, Workspace};
use crate::git;
use crate::owner;
use crate::ports::World;
use crate::store::Locked;

/// How much of a check's output is kept in the journal.
pub(super) const KEPT_EVIDENCE: usize = 4 * 1024;
/// How often an executor is told what is missing within one attempt.
const MAX_SENT_BACK: usize = 2;

/// On whose word an attempt is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By<'a> {
    /// A person's or a program's, which has finished.
    Verb,
    /// A host's session, whose executor can still fix something. It must own
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
pub struct Judgement {
    /// The task.
    pub key: TaskKey,
    /// Which attempt it was.
    pub attempt: u64,
    /// What the layers said.
    pub verdict: Verdict,
    /// Whether the executor is to fix it within the same attempt; then nothing
    /// has been decided.
    pub sent_back: bool,
    /// Whether the work does not fit on top of the others': it is done again,
    /// and has not failed.
    pub set_aside: bool,
    /// What a person is asked before the task is due again; the attempt has
    /// neither passed nor failed.
    pub question: Option<String>,
    /// The reference that holds its work meanwhile.
    pub kept: Option<String>,
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

impl Judgement {
    /// Whether the task is done.
    pub fn passed(&self) -> bool {
        self.question.is_none() && self.verdict.passed()
    }

    /// What is known of an attempt that somebody else found to have passed.
    pub(super) fn of_passed(opened: &Attempt, changed: Vec<String>) -> Judgement {
        let verdict = Verdict { unverified: false, ..Verdict::failed(Vec::new()) };
        Judgement::new(opened, verdict, changed, &[])
    }

    pub(super) fn new(
        opened: &Attempt,
        verdict: Verdict,
        changed: Vec<String>,
        foreign: &[TaskKey],
    ) -> Judgement {
        Judgement {
            key: opened.key.clone(),
            attempt: opened.number,
            verdict,
            sent_back: false,
            set_aside: false,
            question: None,
            kept: None,
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
    pub(super) fn entry(&self, world: &World, opened: &Attempt) -> Entry {
        let (task, attempt) = (opened.key.clone(), opened.number);
        let (reasons, output) = (reasons(&self.verdict), self.output.clone());
        if let Some(question) = &self.question {
            let (reasons, changed) = (vec![question.clone()], self.changed.clone());
            let unticked = self.unticked.clone();
            return Entry::Waits { task, attempt, reasons, unticked, output, changed };
        }
        if self.set_aside {
            let unticked = self.unticked.clone();
            return Entry::SetAside { task, attempt, reasons, unticked, output };
        }
        Entry::Failed {
            task,
            attempt,
            changed: self.changed.clone(),
            reasons,
            class: self.verdict.class(),
            fixes: self.fixes.clone(),
            unticked: self.unticked.clone(),
            output,
            millis: opened.at.millis_until(world.clock.now()).unwrap_or(0),
        }
    }
}

/// What was found before the lock is taken.
#[derive(Debug)]
pub struct Examination<'a> {
    /// What the executor said at the end.
    pub result: &'a str,
    /// What the attempt changed.
    pub changed: Vec<String>,
    branch: Option<String>,
    check: CheckRun,
    /// The files among those changed that the check rests on.
    proofs: Vec<String>,
    /// Why some of what is changed cannot be committed.
    cannot: Vec<String>,
    /// Boxes of other plans that the attempt ticked, and that are open again.
    elsewhere: Vec<String>,
    /// What became of the history, if the attempt has rewritten it.
    rewritten: Option<Rewritten>,
    /// The commit that holds its work, if it is not in the user's tree.
    isolated: Option<String>,
}

impl Examination<'_> {
    /// Why the check has failed, if it has, and the end of what it printed.
    pub fn failed_check(&self) -> Option<(String, String)> {
        verify::failed_check(&self.check).map(|why| (why, evidence(&self.check)))
    }
}

impl Workspace {
    /// Judges an attempt by its result and by what stands now.
    pub fn judge(
        &self,
        opened: &Attempt,
        result: &str,
        by: By<'_>,
    ) -> Result<Judgement, AttemptError> {
        if let Ok(git) = &self.git {
            // No attempt of anybody's: nobody could commit here.
            git.refuse_unable_to_commit()?;
        }
        self.complete_commits()?;
        // One check at a time: two builds in one tree break each other. Held
        // until the commit is made, so that nobody takes the loop for finished
        // in between.
        let _turn = self.store.check_turn()?;
        // Whoever had the turn before may have judged this very attempt; its check
        // is not run twice.
        let ledger = self.store.ledger()?;
        if !ledger.is_open(&opened.id) {
            return Err(AttemptError::NotOpen(opened.key.id.clone()));
        }
        let found = self.find(opened, result, None)?;
        self.write_verdict(opened, found, by)
    }

    /// The first half of a judgement: what stands now, and what becomes of the
    /// check. Whoever is told to stop meanwhile leaves it at that.
    pub fn examine<'r>(
        &self,
        opened: &Attempt,
        result: &'r str,
        changed: Option<Vec<String>>,
    ) -> Result<Examination<'r>, AttemptError> {
        let _turn = self.store.check_turn()?;
        self.find(opened, result, changed)
    }

    /// The second half: the verdict and what follows from it.
    pub fn conclude(
        &self,
        opened: &Attempt,
        found: Examination<'_>,
        by: By<'_>,
    ) -> Result<Judgement, AttemptError> {
        let _turn = self.store.check_turn()?;
        self.write_verdict(opened, found, by)
    }

    fn find<'r>(
        &self,
        opened: &Attempt,
        result: &'r str,
        changed: Option<Vec<String>>,
    ) -> Result<Examination<'r>, AttemptError> {
        // Before the check, which may leave files of its own.
        let tree = self.tree()?;
        let changed = match changed {
            Some(changed) => changed,
            None => self.changed_by(opened, &tree)?,
        };
        let rewritten = self.keep_rewritten(opened, &tree)?;
        self.tell_vanished(opened, &tree, &changed);
        let elsewhere = match &self.git {
            Ok(git) => self.take_back_elsewhere(&**git, opened, &changed)?,
            Err(_) => Vec::new(),
        };
        let check = self.run_check(self.check_of(opened)?.as_ref(), &self.spec.root);
        let proofs = self.changed_proofs(opened, &check, &changed);
        let cannot = git::cannot_be_committed(&changed, &tree.dirty_submodules);
        let (branch, isolated) = (tree.branch, None);
        Ok(Examination {
            result,
            changed,
            branch,
            check,
            proofs,
            cannot,
            elsewhere,
            rewritten,
            isolated,
        })
    }

    /// The same for work that has been looked at in a worktree, on the newest commit,
    /// and is not in the user's tree.
    pub fn examined_in_worktree<'r>(
        &self,
        opened: &Attempt,
        result: &'r str,
        (commit, changed): (&str, Vec<String>),
        check: CheckRun,
    ) -> Result<Examination<'r>, AttemptError> {
        let proofs = self.changed_proofs(opened, &check, &changed);
        let cannot = git::cannot_be_committed(&changed, &[]);
        let branch = self.repository()?.status()?.branch;
        let (elsewhere, rewritten, isolated) = (Vec::new(), None, Some(commit.to_owned()));
        Ok(Examination {
            result,
            changed,
            branch,
            check,
            proofs,
            cannot,
            elsewhere,
            rewritten,
            isolated,
        })
    }

    /// The check that counts for an attempt: the one on record, whatever stands
    /// in the plan by now.
    pub fn check_of(&self, opened: &Attempt) -> Result<Option<Check>, AttemptError> {
        let ledger = self.store.ledger()?;
        let key = ledger.key_now(opened);
        Ok(match self.store.plan_record()?.task(&key.id) {
            Some(on_record) => Check::of_lines(&on_record.check.0),
            None => opened.fields().verify,
        })
    }

    /// What is run to check an attempt, by the programs that are there.
    pub fn commands_of(&self, opened: &Attempt) -> Result<Vec<Command>, AttemptError> {
        let lookup = self.world().lookup(&self.spec.root);
        Ok(self.check_of(opened)?.map(|check| check.commands(&lookup)).unwrap_or_default())
    }

    fn write_verdict(
        &self,
        opened: &Attempt,
        found: Examination<'_>,
        by: By<'_>,
    ) -> Result<Judgement, AttemptError> {
        let locked = self.store.lock()?;
        // First of all: the plan may have been edited while the check ran, and
        // whatever is written from here on calls the task what it is called now.
        let mut reviewed = review(&self.store, &locked, locked.read()?)?;
        self.tell(&mut reviewed);
        let opened = &self.renamed(opened)?;
        let isolated = found.isolated.clone();
        let (mut judged, step) = self.decide((&locked, &reviewed), opened, found, by)?;
        if let Some(step) = &step {
            judged.learn_from(step);
        }
        match step {
            Some(step) if judged.passed() => {
                let entry = passed(self.world(), opened, &judged, (self.git.is_ok(), isolated));
                locked.write_step_of(&opened.id, entry, &step)?;
                self.record_fixes(&locked, &step)?;
                drop(locked);
                // Plan and plan_record would be copied to be changed.
                drop(reviewed);
                return self.commit_passed(opened, judged);
            }
            Some(step) => {
                locked.write_step_of(&opened.id, judged.entry(self.world(), opened), &step)?;
                self.record_fixes(&locked, &step)?;
            }
            None => {}
        }
        drop(locked);
        // What an attempt has done that waits for a person stays where it is, and
        // there is a copy. What was put on top of others' work is kept by whoever
        // put it there.
        if judged.question.is_some()
            && by != By::OnTop
            && let Ok(git) = &self.git
        {
            judged.kept = self.keep(&**git, opened, &judged.changed)?;
        }
        Ok(judged)
    }

    /// Puts the fix tasks that a step has inserted on record at once: whoever is
    /// still at work may edit them.
    pub(super) fn record_fixes(
        &self,
        locked: &Locked<'_>,
        step: &Step,
    ) -> Result<(), AttemptError> {
        if !inserted(step).is_empty() {
            self.tell(&mut review(&self.store, locked, locked.read()?)?);
        }
        Ok(())
    }

    /// An attempt under the name its task has now.
    pub(super) fn renamed(&self, opened: &Attempt) -> Result<Attempt, AttemptError> {
        let key = self.store.ledger()?.key_now(opened);
        let mut was = opened.was.clone();
        if key.id != opened.key.id {
            was.push(opened.key.id.clone());
        }
        Ok(Attempt { key, was, ..opened.clone() })
    }

    /// What the task of an attempt is called now.
    pub fn key_now(&self, opened: &Attempt) -> Result<TaskKey, AttemptError> {
        Ok(self.renamed(opened)?.key)
    }

    /// Records something about an attempt, under the name its task has now: a
    /// person may have given the old one to another task since it began.
    pub fn record(
        &self,
        opened: &Attempt,
        entry: impl FnOnce(TaskKey) -> Entry,
    ) -> Result<(), AttemptError> {
        let locked = self.store.lock()?;
        let task = self.key_now(opened)?;
        Ok(locked.record_of(&opened.id, entry(task))?)
    }

    /// Records something that a person should know.
    pub fn warn(&self, text: String) -> Result<(), AttemptError> {
        Ok(self.store.lock()?.record(Entry::Warning { text })?)
    }

    /// The verdict, and the step it leads to; none if nothing is decided yet.
    fn decide(
        &self,
        (locked, reviewed): (&Locked<'_>, &ReviewedPlan),
        opened: &Attempt,
        found: Examination<'_>,
        by: By<'_>,
    ) -> Result<(Judgement, Option<Step>), AttemptError> {
        let view = &reviewed.view;
        let state =
            view.state.as_ref().ok_or_else(|| AttemptError::NoLoop(self.spec.name.clone()))?;
        let file = view.file();
        self.is_still_open(state, opened, by)?;
        self.pause_on_another_branch(locked, state, &file, opened, found.branch.as_ref())?;
        if let Some(Rewritten { why, reference }) = found.rewritten {
            let pause = Event::Pause { why: Some(why.clone()) };
            let entry = Entry::Paused { why: Some(why.clone()), branch: None };
            locked.write_step(entry, &machine::step(state, &file, pause))?;
            let (task, attempt) = (opened.key.clone(), opened.number);
            locked.record_of(&opened.id, Entry::Kept { task, attempt, reference, files: 0 })?;
            return Err(AttemptError::Rewritten(why));
        }
        let task = match file.find(&opened.key) {
            tasks::TaskMatch::Same(index) | tasks::TaskMatch::Retitled(index) => {
                Some(&file.tasks[index])
            }
            tasks::TaskMatch::Gone => None,
        };
        let files = self.in_repository(opened.fields().files);
        let verdict = verify::judge(&Evidence {
            role: opened.role,
            result: found.result,
            check: found.check.clone(),
            files: &files,
            changed: &found.changed,
            proofs: &found.proofs,
            commit: CommitRun::Cannot(found.cannot),
        });
        // Its own tick is neither a proof nor a fault.
        let mut foreign = reviewed.unproved.clone();
        foreign.retain(|key| key.id != opened.key.id);
        let mut judged = Judgement::new(opened, verdict, found.changed, &foreign);
        judged.output = evidence(&found.check);
        if task.is_none() {
            // Nothing is written to the plan: whoever decides next takes them back.
            judged.unticked.clear();
        }
        judged.unticked.extend(found.elsewhere);
        judged.question = question(&reviewed.plan_record, opened, task.is_none(), &judged.verdict);
        let sent_back = self.store.ledger()?.sent_back(&opened.id);
        let asked = judged.question.is_some();
        if matches!(by, By::Executor(_)) && !asked && can_mend(&judged.verdict, sent_back) {
            locked.record_of(
                &opened.id,
                Entry::SentBack {
                    task: opened.key.clone(),
                    attempt: opened.number,
                    reasons: reasons(&judged.verdict),
                },
            )?;
            judged.sent_back = true;
            return Ok((judged, None));
        }
        let Some(index) = task.map(|task| task.index) else {
            // There is no box to tick and nothing to try again.
            locked.record_of(&opened.id, judged.entry(self.world(), opened))?;
            return Ok((judged, None));
        };
        judged.set_aside = by == By::OnTop && only_the_check_failed(&judged.verdict);
        let event = if let Some(question) = &judged.question {
            Event::Wait { index, reason: question.clone() }
        } else if judged.verdict.passed() {
            Event::Pass { index, unverified: judged.verdict.unverified }
        } else if judged.set_aside {
            Event::SetAside { index, reason: judged.verdict.reason() }
        } else {
            Event::Fail { index, reason: judged.verdict.reason() }
        };
        let mut step = without_ticks(state, &file, event, &foreign);
        if found.isolated.is_some() && judged.passed() && state.parallel_group.is_none() {
            // Those of a group are merged at its end.
            step.effects.push(Effect::MergeParts(vec![index]));
        }
        Ok((judged, Some(step)))
    }

    /// Keeps what an executor of a session said until its verdict is written,
    /// and tells whether it is one of a batch.
    pub fn report(
        &self,
        opened: &Attempt,
        result: &str,
        session: &str,
    ) -> Result<bool, AttemptError> {
        let locked = self.store.lock()?;
        let view = locked.read()?;
        let state =
            view.state.as_ref().ok_or_else(|| AttemptError::NoLoop(self.spec.name.clone()))?;
        self.is_still_open(state, opened, By::Batch(session))?;
        locked.record_of(
            &opened.id,
            Entry::Reported {
                task: opened.key.clone(),
                attempt: opened.number,
                result: result.to_owned(),
            },
        )?;
        Ok(state.parallel_group.is_some())
    }

    /// Somebody may have judged the attempt, or taken the spec over, while the
    /// check ran.
    pub(super) fn is_still_open(
        &self,
        state: &State,
        opened: &Attempt,
        by: By<'_>,
    ) -> Result<(), AttemptError> {
        if !self.store.ledger()?.is_open(&opened.id) {
            return Err(AttemptError::NotOpen(opened.key.id.clone()));
        }
        let is_allowed = match by {
            By::Verb => return self.refuse_beside_a_run(state),
            By::Executor(session) | By::Batch(session) => {
                let asker = Asker::Session(session);
                owner::holder(&self.store, Some(state), asker).other().is_none()
            }
            By::Run | By::OnTop => owner::is_this_run(self.world(), state),
        };
        is_allowed.then_some(()).ok_or_else(|| AttemptError::NotYours(self.spec.name.clone()))
    }

    pub(super) fn run_check(&self, check: Option<&Check>, root: &Path) -> CheckRun {
        run_check(self.world(), check, root, self.check_time)
    }

    /// Work that was begun on one branch is not committed on another.
    fn pause_on_another_branch(
        &self,
        locked: &Locked<'_>,
        state: &State,
        file: &TaskFile<'_>,
        opened: &Attempt,
        now: Option<&String>,
    ) -> Result<(), AttemptError> {
        if opened.head.is_none() || self.git.is_err() || now == opened.branch.as_ref() {
            return Ok(());
        }
        let name = |branch: Option<&String>| branch.map_or("no branch".into(), Clone::clone);
        let (before, now) = (name(opened.branch.as_ref()), name(now));
        let why = Some(format!("HEAD is on {now}, the attempt began on {before}; switch back"));
        let step = machine::step(state, file, Event::Pause { why: why.clone() });
        let branch = opened.branch.clone();
        locked.write_step(Entry::Paused { why, branch }, &step)?;
        Err(AttemptError::OtherBranch { before, now })
    }
}

/// Runs the commands of a check, one after the other, until one has failed.
pub(crate) fn run_check(
    world: &World,
    check: Option<&Check>,
    root: &Path,
    time: CheckTime,
) -> CheckRun {
    let Some(check) = check else { return CheckRun::Unverified };
    // All of them share the time that a check has.
    let began = world.clock.elapsed();
    CheckRun::of(check.commands(&world.lookup(root)), |command| {
        let left = Duration::from_millis(time.millis).saturating_sub(world.clock.elapsed() - began);
        let run = world.launcher.check(&command, root, left);
        CommandRun {
            time,
            command,
            ended: run.ended,
            output: String::from_utf8_lossy(&run.output).into_owned(),
            stdout: String::from_utf8_lossy(&run.stdout).into_owned(),
            cut: run.cut,
        }
    })
}

/// Whether the executor can still do something about a verdict.
fn can_mend(verdict: &Verdict, sent_back: usize) -> bool {
    !verdict.passed() && sent_back < MAX_SENT_BACK
}

/// What a person is asked before an attempt can have a verdict: its task was
/// removed, or the check on record fails and another one waits to be accepted.
pub(super) fn question(
    plan_record: &PlanRecord,
    opened: &Attempt,
    gone: bool,
    verdict: &Verdict,
) -> Option<String> {
    let asked = plan_record.task(&opened.key.id).and_then(OnRecord::question);
    if gone {
        let id = &opened.key.id;
        return Some(asked.unwrap_or_else(|| format!("task {id} is gone from tasks.md")));
    }
    asked.filter(|_| only_the_check_failed(verdict))
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

pub(super) fn inserted(step: &Step) -> Vec<String> {
    let fix = |effect: &Effect| match effect {
        Effect::Edit(TaskEdit::InsertAfter { id, .. }) => Some(id.clone()),
        _ => None,
    };
    step.effects.iter().filter_map(fix).collect()
}

fn reasons(verdict: &Verdict) -> Vec<String> {
    verdict.failures.iter().map(|failure| failure.message.clone()).collect()
}

fn passed(
    world: &World,
    opened: &Attempt,
    judged: &Judgement,
    (to_commit, isolated): (bool, Option<String>),
) -> Entry {
    Entry::Passed {
        task: opened.key.clone(),
        attempt: opened.number,
        unverified: judged.verdict.unverified,
        changed: judged.changed.clone(),
        to_commit,
        outside: judged.verdict.outside.clone(),
        proofs: judged.verdict.proofs.clone(),
        unticked: judged.unticked.clone(),
        output: judged.output.clone(),
        millis: opened.at.millis_until(world.clock.now()).unwrap_or(0),
        isolated,
    }
}

/// The end of what a check printed.
pub(super) fn evidence(check: &CheckRun) -> String {
    line::tail(&check.output(), KEPT_EVIDENCE).to_owned()
}

/// Whether the work itself may be good and only the ground has moved.
fn only_the_check_failed(verdict: &Verdict) -> bool {
    !verdict.passed()
        && verdict.failures.iter().all(|failure| failure.class == FailureClass::Verify)
}
