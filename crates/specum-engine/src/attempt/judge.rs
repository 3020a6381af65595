//! The verdict on an attempt, and what follows from it.

use std::path::Path;
use std::time::Duration;

use specum_core::attempt::{Attempt, Ending, Judgement, Occasion, question, suite_question};
use specum_core::journal::Entry;
use specum_core::line;
use specum_core::machine::{self, Effect, Event, Step};
use specum_core::owner::Asker;
use specum_core::state::State;
use specum_core::tasks::{self, Check, Command, TaskFile, TaskKey};
use specum_core::verify::{self, CheckRun, CheckTime, CommandRun, CommitRun, Evidence};

use super::modify::{Answered, Asked};
use super::review::{ReviewedPlan, review, without_ticks};
use super::tree::Rewritten;
use super::{AttemptError, Workspace};
use crate::git;
use crate::owner;
use crate::ports::World;
use crate::store::Locked;

/// How much of a check's output is kept in the journal.
pub(super) const KEPT_EVIDENCE: usize = 4 * 1024;

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

/// What was found before the lock is taken.
#[derive(Debug)]
pub struct Examination<'a> {
    /// What the executor said at the end.
    pub result: &'a str,
    /// What the attempt changed.
    pub changed: Vec<String>,
    branch: Option<String>,
    check: CheckRun,
    /// The check that counted when it was run.
    counted: Option<Check>,
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
    /// What its executor asks of the plan.
    asked: Option<Asked>,
}

impl Examination<'_> {
    /// What became of the check.
    pub fn check(&self) -> &CheckRun {
        &self.check
    }

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
            // No attempt could be committed here, so none is charged for it.
            git.refuse_unable_to_commit()?;
        }
        self.complete_commits()?;
        // One check at a time: two builds in one tree break each other. Held
        // until the commit is made, so that no other process takes the loop for finished
        // in between.
        let _turn = self.store.check_turn()?;
        // The process before this one may have judged this very attempt; its check
        // is not run twice.
        let ledger = self.store.ledger()?;
        if !ledger.is_open(&opened.id) {
            return Err(AttemptError::NotOpen(opened.key.id.clone()));
        }
        loop {
            let found = self.find(opened, result, None)?;
            match self.write_verdict(opened, found, by) {
                Err(AttemptError::OtherCheck(_)) => {}
                judged => return judged,
            }
        }
    }

    /// The first half of a judgement: what stands now, and what becomes of the
    /// check. A caller that is to stop meanwhile ends here.
    pub fn examine<'r>(
        &self,
        opened: &Attempt,
        result: &'r str,
        changed: Option<Vec<String>>,
    ) -> Result<Examination<'r>, AttemptError> {
        let _turn = self.store.check_turn()?;
        self.find(opened, result, changed)
    }

    /// The second half: the verdict and what follows from it. If a person has accepted
    /// another check since the first half, that half is to be done again.
    pub fn conclude(
        &self,
        opened: &Attempt,
        found: Examination<'_>,
        by: By<'_>,
    ) -> Result<Judgement, AttemptError> {
        let _turn = self.store.check_turn()?;
        self.write_verdict(opened, found, by)
    }

    pub(super) fn find<'r>(
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
            Err(_) => self.take_back_without_git(opened)?,
        };
        let counted = self.check_of(opened)?;
        let check = self.run_check(counted.as_ref(), &self.spec.root);
        let proofs = self.changed_proofs(opened, &check, &changed);
        let cannot = git::cannot_be_committed(&changed, &tree.dirty_submodules);
        let (branch, isolated, asked) = (tree.branch, None, self.asked(opened, result));
        Ok(Examination {
            result,
            changed,
            branch,
            check,
            counted,
            proofs,
            cannot,
            elsewhere,
            rewritten,
            isolated,
            asked,
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
        if !check.is_of(&self.commands_of(opened)?) {
            return Err(AttemptError::OtherCheck(opened.key.id.clone()));
        }
        let counted = self.check_of(opened)?;
        let asked = self.asked(opened, result);
        Ok(Examination {
            result,
            changed,
            branch,
            check,
            counted,
            proofs,
            cannot,
            elsewhere,
            rewritten,
            isolated,
            asked,
        })
    }

    /// The check that counts for an attempt: the one on record, whatever stands
    /// in the plan by now.
    pub fn check_of(&self, opened: &Attempt) -> Result<Option<Check>, AttemptError> {
        let ledger = self.store.ledger()?;
        let key = ledger.key_now(opened);
        let own = match self.store.plan_record()?.task(&key.id) {
            Some(on_record) => Check::of_lines(&on_record.check.0),
            None => opened.fields().verify,
        };
        Ok(Check::in_plan(own, &self.suite()?))
    }

    /// What is run to check an attempt, by the programs that are there.
    pub fn commands_of(&self, opened: &Attempt) -> Result<Vec<Command>, AttemptError> {
        let lookup = self.world().lookup(&self.spec.root);
        Ok(self.check_of(opened)?.map(|check| check.commands(&lookup)).unwrap_or_default())
    }

    pub(super) fn write_verdict(
        &self,
        opened: &Attempt,
        found: Examination<'_>,
        by: By<'_>,
    ) -> Result<Judgement, AttemptError> {
        let locked = self.store.lock()?;
        // First of all: the plan may have been edited while the check ran, and
        // whatever is written from here on calls the task what it is called now.
        let mut reviewed = review(&self.store, &locked, locked.read()?)?;
        self.review_suite(&locked, &mut reviewed, false)?;
        self.tell(&mut reviewed);
        let opened = &self.renamed(opened)?;
        if self.check_of(opened)? != found.counted {
            return Err(AttemptError::OtherCheck(opened.key.id.clone()));
        }
        let isolated = found.isolated.clone();
        let occasion = self.occasion(opened, by)?;
        let (mut judged, step, answered) =
            self.decide((&locked, &reviewed), opened, found, (by, occasion))?;
        judged.verdict.proof = self.proof_of(opened, judged.verdict.proof)?;
        (judged.to_commit, judged.isolated) = (self.git.is_ok(), isolated);
        match &step {
            Some(step) => {
                judged.learn_from(step);
                locked.write_step_of(&opened.id, self.entry(&judged, opened), step)?;
                self.record_halt(&locked, &judged)?;
                self.record_answer(&locked, &judged, opened, answered)?;
                self.record_fixes(&locked, step)?;
            }
            // Nothing is decided, or there is no box to tick and nothing to try again.
            None => locked.record_of(&opened.id, self.entry(&judged, opened))?,
        }
        drop(locked);
        // Plan and plan_record would be copied to be changed.
        drop(reviewed);
        if step.is_some() && judged.passed() {
            return self.commit_passed(opened, judged);
        }
        self.copy_left(opened, judged, occasion)
    }

    /// What can follow from a verdict on this word.
    pub(super) fn occasion(&self, opened: &Attempt, by: By<'_>) -> Result<Occasion, AttemptError> {
        Ok(match by {
            By::Executor(_) => {
                Occasion::Fixable { sent_back: self.store.ledger()?.sent_back(&opened.id) }
            }
            By::OnTop => Occasion::Integration,
            By::Verb | By::Batch(_) | By::Run => Occasion::Final,
        })
    }

    /// The record of a judgement.
    pub(super) fn entry(&self, judged: &Judgement, opened: &Attempt) -> Entry {
        judged.entry(opened, opened.at.millis_until(self.world().clock.now()).unwrap_or(0))
    }

    /// Copies what an attempt has left in the user's tree that waits for a person.
    pub(super) fn copy_left(
        &self,
        opened: &Attempt,
        mut judged: Judgement,
        occasion: Occasion,
    ) -> Result<Judgement, AttemptError> {
        if judged.ending.is_copied(occasion)
            && let Ok(git) = &self.git
        {
            judged.kept = self.keep(&**git, opened, &judged.changed)?;
        }
        Ok(judged)
    }

    /// Puts the fix tasks that a step has inserted on record at once: an agent that is
    /// still at work may edit them.
    pub(crate) fn record_fixes(
        &self,
        locked: &Locked<'_>,
        step: &Step,
    ) -> Result<(), AttemptError> {
        if !step.inserted().is_empty() {
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
        (by, occasion): (By<'_>, Occasion),
    ) -> Result<(Judgement, Option<Step>, Answered), AttemptError> {
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
        let mut judged = self.weigh_up(reviewed, opened, &found, occasion);
        let answered = self.weigh_request(&mut judged, found.asked, &file);
        let foreign = foreign_ticks(reviewed, opened);
        if task.is_some() {
            judged.unticked = foreign.iter().map(|key| key.id.clone()).collect();
        }
        judged.unticked.extend(found.elsewhere);
        let event = task.and_then(|task| judged.ending.event(&judged.verdict, task.index));
        let (Some(task), Some(event)) = (task, event) else {
            return Ok((judged, None, answered));
        };
        let mut step = without_ticks(state, &file, answered.event(event), &foreign);
        if found.isolated.is_some() && judged.passed() && state.parallel_group.is_none() {
            // Those of a group are merged at its end.
            step.effects.push(Effect::MergeParts(vec![task.index]));
        }
        Ok((judged, Some(step), answered))
    }

    /// What the layers say of an attempt, and what is to come of it.
    pub(super) fn weigh_up(
        &self,
        reviewed: &ReviewedPlan,
        opened: &Attempt,
        found: &Examination<'_>,
        occasion: Occasion,
    ) -> Judgement {
        let file = reviewed.view.file();
        let is_gone = file.find(&opened.key) == tasks::TaskMatch::Gone;
        let files = self.in_repository(opened.fields().files);
        let verdict = verify::judge(&Evidence {
            role: opened.role,
            result: found.result,
            check: found.check.clone(),
            files: &files,
            changed: &found.changed,
            proofs: &found.proofs,
            commit: CommitRun::Cannot(found.cannot.clone()),
        });
        let asked = question(&reviewed.plan_record, &opened.key, is_gone, &verdict);
        let asked = asked.or_else(|| suite_question(&reviewed.plan_record, &verdict, &found.check));
        let ending = Ending::of(&verdict, asked, occasion)
            .or_halts(|| self.plan_fault(opened, &file, &found.check));
        let mut judged = Judgement::new(opened, verdict, ending, found.changed.clone());
        judged.output = evidence(&found.check);
        judged.check = found.check.outcome();
        judged
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
    run_commands(world, check.commands(&world.lookup(root)), root, time)
}

/// Runs commands one after the other, until one has failed.
pub(super) fn run_commands(
    world: &World,
    commands: Vec<Command>,
    root: &Path,
    time: CheckTime,
) -> CheckRun {
    // All of them share the time that a check has.
    let began = world.clock.elapsed();
    CheckRun::of(commands, |command| {
        let left = Duration::from_millis(time.millis).saturating_sub(world.clock.elapsed() - began);
        let started = world.clock.elapsed();
        let run = world.launcher.check(&command, root, left);
        CommandRun {
            time,
            command,
            ended: run.ended,
            output: String::from_utf8_lossy(&run.output).into_owned(),
            stdout: String::from_utf8_lossy(&run.stdout).into_owned(),
            cut: run.cut,
            millis: world.millis_since(started),
        }
    })
}

/// Other tasks' ticks with nothing behind them. Its own is neither a proof nor a fault.
/// Where the task of an attempt is gone nothing is written to the plan: the one who decides
/// next takes them back.
pub(super) fn foreign_ticks(reviewed: &ReviewedPlan, opened: &Attempt) -> Vec<TaskKey> {
    let mut foreign = reviewed.unproved.clone();
    foreign.retain(|key| key.id != opened.key.id);
    foreign
}

/// The end of what a check printed.
pub(super) fn evidence(check: &CheckRun) -> String {
    line::tail(&check.output(), KEPT_EVIDENCE).to_owned()
}
