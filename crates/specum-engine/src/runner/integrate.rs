//! What a group's task has made in its worktree, on top of the others' in the user's
//! tree.
//!
//! It is a commit under a reference until it is in the user's tree, so nothing is lost
//! on the way. What does not fit there, because the files conflict or because the check
//! fails on top of the others' work, is set aside and done again alone; that is no
//! failed attempt.

use specum_core::attempt::Attempt;
use specum_core::coordinate::Input;
use specum_core::journal::Entry;
use specum_core::line;

use super::crew::{Crew, PassedWork, Work};
use super::{RunError, recover};
use crate::attempt::{AttemptError, By};
use crate::git::Merge;
use crate::names::ready_reference;

/// How much of a conflict the next attempt is shown.
const SHOWN_CONFLICT: usize = 8 * 1024;

impl Crew<'_> {
    /// Puts the work of one task on top of the others'.
    pub(super) fn bring_in(&self, work: &Work, passed: &PassedWork) -> Result<Input, RunError> {
        let (opened, commit, report) = (&work.attempt, &passed.commit, &passed.report);
        if self.stop.is_set() {
            return Ok(Input::BrokenOff(opened.id.clone()));
        }
        let git = self.workspace.repository()?;
        let tree = match git.merge(commit)? {
            Merge::Clean(tree) => tree,
            Merge::Conflict { paths, tree } => {
                let shown = git.difference(&tree, &paths)?;
                let reason = format!("it conflicts with the others' work in {}", paths.join(", "));
                return self.set_aside(work, reason, &shown);
            }
        };
        let paths = git.differing(&tree)?;
        // Looked at before anything is announced: what is in the tree by the
        // next record is taken out again if we are killed.
        let theirs = git.changed()?;
        if let Some(path) = paths.iter().find(|path| theirs.contains(path)) {
            let reason = format!("{path} has changes in the tree that are not committed");
            return self.set_aside(work, reason, "");
        }
        let (attempt, put_in) = (opened.number, paths.clone());
        self.workspace.record(opened, |task| Entry::Integrating {
            task,
            attempt,
            paths: put_in,
        })?;
        if let Err(error) = git.put_in(&tree) {
            // It may have put in some of it, or all, before it failed.
            self.take_out(opened, &paths)?;
            let reason = format!("it does not fit into the tree: {error}");
            return self.set_aside(work, reason, "");
        }
        let judged = loop {
            self.record_check(opened, true)?;
            let found = self.workspace.examine(opened, &report.result, Some(paths.clone()))?;
            if self.stop.is_set() {
                self.take_out(opened, &paths)?;
                return Ok(Input::BrokenOff(opened.id.clone()));
            }
            match self.workspace.conclude(opened, found, By::OnTop) {
                Err(AttemptError::OtherCheck(_)) => {}
                // Nobody waits for this work any more, so it does not stay in the tree.
                Err(error @ AttemptError::NotOpen(_)) => {
                    self.take_out(opened, &paths)?;
                    return Err(error.into());
                }
                judged => break judged?,
            }
        };
        if !judged.passed() {
            self.take_out(opened, &paths)?;
        }
        if judged.question().is_some() {
            // Its task may be gone, and with it what says that the work is needed.
            self.workspace.keep_commit(opened, commit)?;
        }
        if judged.passed() || judged.question().is_some() {
            git.delete_reference(&ready_reference(&self.workspace.spec, &opened.key.id))?;
        }
        self.record_news()?;
        Ok(Input::Settled(opened.id.clone()))
    }

    fn take_out(&self, opened: &Attempt, paths: &[String]) -> Result<(), RunError> {
        recover::take_out(self.workspace, self.workspace.repository()?, opened, paths)
    }

    /// Lets work be done again, alone, that does not fit.
    pub(super) fn set_aside(
        &self,
        work: &Work,
        reason: String,
        shown: &str,
    ) -> Result<Input, RunError> {
        let shown = line::head(shown, SHOWN_CONFLICT).to_owned();
        self.workspace.set_aside(&work.attempt, reason, shown)?;
        self.record_news()?;
        Ok(Input::Settled(work.attempt.id.clone()))
    }
}
