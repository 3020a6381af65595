//! The commit of a task that passed.
//!
//! Tick, note and work belong in one commit, so the tick is written first. A
//! tick without its commit is an unfinished transaction: the journal says so,
//! and the next process that looks makes the commit or takes the tick back.

use std::time::SystemTime;

use jiff::Timestamp;
use specum_core::attempt::{Attempt, Judgement, PassedAttempt, TakenBack};
use specum_core::journal::Entry;
use specum_core::machine::{self, Event};
use specum_core::sanitize;
use specum_core::tasks::{TaskMatch, short_title};
use specum_core::verify::{self, CommitRun, Failure, FailureClass};

use super::judge::evidence;
use super::review::review;
use super::{AttemptError, Workspace};
use crate::git::{self, Committed, GitError};
use crate::ports::Repository;

/// What became of a commit.
pub(super) struct CommitOutcome {
    /// Its id, if there was something to commit.
    pub(super) id: Option<String>,
    /// The judgement in place of the pass, if the attempt has not passed after all.
    pub(super) failure: Option<Judgement>,
}

impl Workspace {
    /// Commits an attempt that has just passed.
    pub(super) fn commit_passed(
        &self,
        opened: &Attempt,
        mut judged: Judgement,
    ) -> Result<Judgement, AttemptError> {
        // Not held any longer: the journal would be copied for the next record.
        let passed = self.store.ledger()?.uncommitted();
        let Some(passed) = passed.filter(|passed| passed.attempt.id == opened.id) else {
            return Ok(judged);
        };
        let outcome = self.commit(&passed, &judged, None)?;
        judged.commit = outcome.id;
        if let Some(failed) = outcome.failure {
            return Ok(Judgement { commit: judged.commit, ..failed });
        }
        Ok(judged)
    }

    /// Makes the commits that an earlier process did not get to.
    pub fn complete_commits(&self) -> Result<(), AttemptError> {
        self.complete_commits_of(None)
    }

    /// The same for a run that was at work until then: what was changed in the tree
    /// later is a person's, and nothing that a check has left.
    pub fn complete_commits_of(&self, until: Option<Timestamp>) -> Result<(), AttemptError> {
        // Taking the lock completes the tick itself, which comes first.
        drop(self.store.lock()?);
        let Ok(git) = &self.git else { return Ok(()) };
        if self.store.ledger()?.uncommitted().is_none() {
            return Ok(());
        }
        // The process that judged it may still be at it.
        let _turn = self.store.check_turn()?;
        while let Some(passed) = self.store.ledger()?.uncommitted() {
            let judged = Judgement::of_passed(&passed.attempt, passed.changed.clone());
            // Asked first: a git that cannot tell is not one that refuses.
            match git.commit_since(passed.attempt.head.as_deref(), &trailer(&passed.attempt))? {
                // Files and index were there before it was.
                Some(commit) if passed.isolated.is_some() => {
                    self.record_taken_in(&passed.attempt, Some(commit))?;
                }
                Some(commit) => {
                    let at = passed.at.time().map(SystemTime::from);
                    let made = git.committed(&commit, &|path| git.changed_at(path) <= at)?;
                    let made = Committed { id: Some(commit), ..made };
                    self.after_commit(&passed, &judged, made, until)?;
                }
                None => drop(self.commit(&passed, &judged, until)?),
            }
        }
        Ok(())
    }

    fn commit(
        &self,
        passed: &PassedAttempt,
        judged: &Judgement,
        until: Option<Timestamp>,
    ) -> Result<CommitOutcome, AttemptError> {
        let Ok(git) = &self.git else { return Ok(CommitOutcome { id: None, failure: None }) };
        let opened = &passed.attempt;
        if let Some(result) = &passed.isolated {
            return self.commit_in_worktree(passed, judged, result);
        }
        let mut paths = passed.changed.clone();
        paths.extend(self.spec_files_to_commit(&**git)?);
        match git.commit(&paths, &self.message(opened)) {
            Ok(committed) => self.after_commit(passed, judged, committed, until),
            Err(error @ GitError::Refused { .. }) if !error.means_busy() => {
                // Where nothing can be committed at all, no attempt has failed.
                git.refuse_unable_to_commit()?;
                git.refuse_unsigned()?;
                let run = CommitRun::Refused(error.to_string());
                self.after_no_commit(passed, judged, &run, until)
            }
            // Not the attempt's fault: the next process makes the commit, or
            // finds it made.
            Err(error) => Err(error.into()),
        }
    }

    /// Once git has made the commit the task is done, whatever else has happened
    /// to its files; unless hooks have changed them, and the check fails with
    /// what they have made of them.
    fn after_commit(
        &self,
        passed: &PassedAttempt,
        judged: &Judgement,
        committed: Committed,
        until: Option<Timestamp>,
    ) -> Result<CommitOutcome, AttemptError> {
        let opened = &passed.attempt;
        let Committed { id, by_hooks, status } = committed;
        // Not the spec's own files: a neighbour's verdict, or a person, may have
        // written them since, and the next commit takes them.
        let now = &status.changed;
        let left: Vec<String> =
            passed.changed.iter().filter(|path| now.contains(path)).cloned().collect();
        if id.is_none() && !left.is_empty() {
            return self.after_no_commit(passed, judged, &CommitRun::Left(left), until);
        }
        if let Some(id) = &id
            && !by_hooks.is_empty()
            && let Some((why, output)) = self.fails_now(opened)?
        {
            let message = format!(
                "{why}. It had passed; then a git hook changed {} in the commit {id}, which stays",
                by_hooks.join(", ")
            );
            let failure = Failure { class: FailureClass::Verify, message };
            return self.take_back(passed, judged, TakenBack { failure, output, left }, Some(id));
        }
        if !left.is_empty() {
            let id = &opened.key.id;
            self.add_news(format!(
                "{} changed again while {id} was committed, and is left as it is",
                left.join(", ")
            ));
        }
        let is_known = |path: &&String| {
            opened.dirty.contains_key(*path)
                || (passed.changed.contains(path) && !left.contains(path))
                || git::is_own_file(path)
        };
        let own = self.git.as_ref().map(|git| self.spec_files(&**git)).unwrap_or_default();
        let beside = now.iter().filter(|path| !is_known(path) && !own.contains(path));
        let beside = beside.filter(|path| self.is_earlier(path, until)).cloned().collect();
        self.remember(status);
        let commit = id.clone();
        self.record(opened, |task| Entry::Committed { task, commit, left: beside })?;
        Ok(CommitOutcome { id, failure: None })
    }

    /// Whether a file was changed while the run was at work that has left it; what was
    /// changed later is a person's.
    fn is_earlier(&self, path: &str, until: Option<Timestamp>) -> bool {
        let Some(until) = until.map(SystemTime::from) else { return true };
        let changed = self.git.as_ref().ok().and_then(|git| git.changed_at(path));
        changed.is_some_and(|changed| changed <= until)
    }

    fn after_no_commit(
        &self,
        passed: &PassedAttempt,
        judged: &Judgement,
        run: &CommitRun,
        until: Option<Timestamp>,
    ) -> Result<CommitOutcome, AttemptError> {
        let failure = verify::after_commit(run).expect("it says why there is no commit");
        // With what a hook has made before git refused the commit. A git that cannot
        // tell that now is no reason to keep the box ticked.
        let now = self.changed_now(&passed.attempt).unwrap_or_default();
        let mut left = judged.changed.clone();
        let is_new = |path: &String| !judged.changed.contains(path);
        left.extend(now.into_iter().filter(|path| is_new(path) && self.is_earlier(path, until)));
        let output = judged.output.clone();
        self.take_back(passed, judged, TakenBack { failure, output, left }, None)
    }

    /// Why the check of an attempt fails with what stands now, and the end of what
    /// it prints.
    fn fails_now(&self, opened: &Attempt) -> Result<Option<(String, String)>, AttemptError> {
        let check = self.run_check(self.check_of(opened)?.as_ref(), &self.spec.root);
        Ok(verify::failed_check(&check).map(|why| (why, evidence(&check))))
    }

    /// The spec's own files, but for those that the user keeps out of the
    /// repository.
    pub(crate) fn spec_files_to_commit(
        &self,
        git: &dyn Repository,
    ) -> Result<Vec<String>, AttemptError> {
        let mut files = self.spec_files(git);
        let ignored = git.ignored(&files)?;
        files.retain(|path| !ignored.contains(path));
        Ok(files)
    }

    /// Opens a box again whose work could not be committed, or fails as it was.
    pub(super) fn take_back(
        &self,
        passed: &PassedAttempt,
        judged: &Judgement,
        back: TakenBack,
        commit: Option<&String>,
    ) -> Result<CommitOutcome, AttemptError> {
        let locked = self.store.lock()?;
        let mut reviewed = review(&self.store, &locked, locked.read()?)?;
        self.tell(&mut reviewed);
        let view = &reviewed.view;
        let opened = &self.renamed(&passed.attempt)?;
        let file = view.file();
        let mut judged = judged.taken_back(&back);
        let id = commit.cloned();
        let (Some(state), TaskMatch::Same(index) | TaskMatch::Retitled(index)) =
            (&view.state, file.find(&opened.key))
        else {
            // There is no box to open again, and no further attempt to make.
            locked.record_of(&opened.id, self.entry(&judged, opened))?;
            return Ok(CommitOutcome { id, failure: Some(judged) });
        };
        // What failed before a person wanted it once more counts no more.
        let attempt = match self.store.ledger()?.is_once_more(&opened.id) {
            true => 1,
            false => opened.number,
        };
        let reason = back.failure.message;
        let step = machine::step(state, &file, Event::TakeBack { index, attempt, reason });
        judged.learn_from(&step);
        let mut changes = locked.changes(&step)?;
        changes.retracted.clone_from(&passed.notes);
        locked.write_of(&opened.id, self.entry(&judged, opened), changes)?;
        self.record_fixes(&locked, &step)?;
        Ok(CommitOutcome { id, failure: Some(judged) })
    }

    pub(super) fn message(&self, opened: &Attempt) -> String {
        let (spec, id) = (&self.spec.name, &opened.key.id);
        let subject = match opened.fields().commit {
            Some(message) => message,
            None => subject_of(&short_title(&opened.key.title), id),
        };
        // `git log` shows it as it is.
        let subject = sanitize::clean(&subject);
        let (number, attempt) = (opened.number, trailer(opened));
        format!("{subject}\n\nSpec: {spec}\nTask: {id}\nAttempt: {number}\n{attempt}\n")
    }
}

/// The subject of a commit whose task names none: the title, in one line, or the id of a
/// task that has no title.
fn subject_of(title: &str, id: &str) -> String {
    let title = sanitize::clean(title);
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if title.is_empty() { format!("task {id}") } else { title }
}

/// The line that tells the commit of an attempt from every other. Names and numbers do
/// not: a task may get the name of another, and a loop that begins anew counts anew.
fn trailer(attempt: &Attempt) -> String {
    format!("Attempt-Id: {}", attempt.id)
}
