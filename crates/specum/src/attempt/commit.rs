//! The commit of a task that passed.
//!
//! Tick, note and work belong in one commit, so the tick is written first. A
//! tick without its commit is an unfinished transaction: the journal says so,
//! and whoever looks next makes the commit or takes the tick back.

use specum_core::journal::Entry;
use specum_core::machine::{self, Event, Signal};
use specum_core::progress::Note;
use specum_core::tasks::{Found, short_title};
use specum_core::verify::{self, CommitRun, Failure};

use super::judge::signals;
use super::review::review;
use super::{AttemptError, History, Judged, Opened, Workspace};
use crate::git::{self, Git, GitError};

/// A passed attempt whose commit is not recorded yet.
#[derive(Debug)]
pub struct Uncommitted {
    /// The attempt.
    pub opened: Opened,
    /// What it changed.
    pub changed: Vec<String>,
    /// What was noted when it passed.
    pub notes: Vec<Note>,
}

/// What became of a commit.
struct Outcome {
    /// Its id, if there was something to commit.
    id: Option<String>,
    /// Why the attempt has not passed after all, and what the loop says then.
    failure: Option<(Failure, Vec<Signal>)>,
}

impl Workspace {
    /// Commits an attempt that has just passed.
    pub(super) fn commit_passed(
        &self,
        opened: &Opened,
        mut judged: Judged,
    ) -> Result<Judged, AttemptError> {
        // Not held any longer: the journal would be copied for the next record.
        let passed = History(&self.store.read_journal()?).uncommitted();
        let Some(passed) = passed else { return Ok(judged) };
        debug_assert_eq!(passed.opened.key, opened.key);
        let outcome = self.commit(&passed, &judged)?;
        judged.commit = outcome.id;
        if let Some((failure, signals)) = outcome.failure {
            failure.layer.class().clone_into(&mut judged.class);
            judged.verdict.failures.push(failure);
            judged.signals = signals;
        }
        Ok(judged)
    }

    /// Makes the commits that somebody before us did not get to.
    pub fn complete_commits(&self) -> Result<(), AttemptError> {
        // Taking the lock completes the tick itself, which comes first.
        drop(self.store.lock()?);
        let Ok(git) = &self.git else { return Ok(()) };
        if History(&self.store.read_journal()?).uncommitted().is_none() {
            return Ok(());
        }
        // Whoever judged it may still be at it.
        let _turn = self.store.check_turn()?;
        while let Some(passed) = History(&self.store.read_journal()?).uncommitted() {
            let opened = &passed.opened;
            // Asked first: a git that cannot tell is not one that refuses.
            if let Some(commit) = self.commit_of(git, opened)? {
                self.record(opened, |task| Entry::Committed { task, commit, left: Vec::new() })?;
                continue;
            }
            let judged = Judged::of_passed(opened, passed.changed.clone());
            self.commit(&passed, &judged)?;
        }
        Ok(())
    }

    fn commit(&self, passed: &Uncommitted, judged: &Judged) -> Result<Outcome, AttemptError> {
        let Ok(git) = &self.git else { return Ok(Outcome { id: None, failure: None }) };
        let opened = &passed.opened;
        let mut paths = passed.changed.clone();
        paths.extend(self.spec_files(git));
        let mut beside = Vec::new();
        let (id, run) = match git.commit(&paths, &self.message(opened)) {
            Ok(committed) => {
                let now = &committed.status.changed;
                beside.extend(
                    now.iter().filter(|path| !self.is_known(opened, path, &paths)).cloned(),
                );
                // Not the spec's own files: a neighbour's verdict, or a person,
                // may have written them since, and the next commit takes them.
                let left =
                    passed.changed.iter().filter(|path| now.contains(path)).cloned().collect();
                let id = committed.id();
                self.remember(committed.status);
                (id, CommitRun::Left(left))
            }
            Err(error @ GitError::Refused { .. }) if !error.means_busy() => {
                // Where nothing can be committed at all, no attempt has failed.
                git.refuse_unable_to_commit()?;
                (None, CommitRun::Refused(error.to_string()))
            }
            // Not the attempt's fault: whoever looks next makes the commit, or
            // finds it made.
            Err(error) => return Err(error.into()),
        };
        if let Some(failure) = verify::after_commit(&run) {
            let signals = self.take_back(passed, judged, &failure)?;
            return Ok(Outcome { id, failure: Some((failure, signals)) });
        }
        let commit = id.clone().unwrap_or_default();
        self.record(opened, |task| Entry::Committed { task, commit, left: beside })?;
        Ok(Outcome { id, failure: None })
    }

    /// Whether a path that is uncommitted after an attempt was so before it, is
    /// the attempt's, or ours.
    fn is_known(&self, opened: &Opened, path: &str, committed: &[String]) -> bool {
        opened.dirty.contains_key(path)
            || committed.iter().any(|other| other == path)
            || git::is_own_file(path)
    }

    /// Opens a box again whose work could not be committed.
    fn take_back(
        &self,
        passed: &Uncommitted,
        judged: &Judged,
        failure: &Failure,
    ) -> Result<Vec<Signal>, AttemptError> {
        let locked = self.store.lock()?;
        let mut reviewed = review(&self.store, &locked, locked.read()?)?;
        self.tell(&mut reviewed);
        let view = &reviewed.view;
        let opened = &self.renamed(&passed.opened)?;
        let file = view.file();
        let mut entry = judged.entry(opened);
        if let Entry::Failed { reasons, class, .. } = &mut entry {
            reasons.push(failure.message.clone());
            failure.layer.class().clone_into(class);
        }
        let (Some(state), Found::Same(index) | Found::Retitled(index)) =
            (&view.state, file.find(&opened.key))
        else {
            // Nothing is left to be opened again, and nobody is to try once more.
            locked.record(entry)?;
            return Ok(Vec::new());
        };
        let (attempt, reason) = (opened.attempt, failure.message.clone());
        let step = machine::step(state, &file, Event::TakeBack { index, attempt, reason });
        let mut changes = locked.changes(&step)?;
        changes.retracted.clone_from(&passed.notes);
        locked.write(entry, changes)?;
        self.record_fixes(&locked, &step)?;
        Ok(signals(&step))
    }

    /// The commit of an attempt, if somebody before us has made it. Its task may
    /// have been called otherwise then.
    fn commit_of(&self, git: &Git, opened: &Opened) -> Result<Option<String>, AttemptError> {
        for name in std::iter::once(&opened.key.id).chain(&opened.was) {
            let trailers = self.trailers_of(name, opened.attempt);
            if let Some(commit) = git.commit_since(opened.head.as_deref(), &trailers)? {
                return Ok(Some(commit));
            }
        }
        Ok(None)
    }

    fn message(&self, opened: &Opened) -> String {
        let (spec, id) = (&self.spec.name, &opened.key.id);
        let (subject, body) = match opened.fields().commit {
            Some(message) => (message, String::new()),
            None => {
                let title = short_title(&opened.key.title);
                (format!("chore({spec}): {id}"), format!("\n\n{title}"))
            }
        };
        format!("{subject}{body}\n\n{}", self.trailers_of(id, opened.attempt))
    }

    /// What tells the commit of an attempt from every other.
    fn trailers_of(&self, id: &str, attempt: u64) -> String {
        let spec = &self.spec.name;
        format!("Spec: {spec}\nTask: {id}\nAttempt: {attempt}\n")
    }
}
