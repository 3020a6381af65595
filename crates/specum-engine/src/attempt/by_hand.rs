//! Work that a person has done by hand: judged like an agent's, on the check on record.

use specum_core::attempt::Judgement;
use specum_core::journal::Source;

use super::judge::By;
use super::open::opening;
use super::tree::TreeState;
use super::{AttemptError, Workspace};
use crate::project::SETTINGS_FILE;

impl Workspace {
    /// Judges what is uncommitted as a person's work at a task without an open attempt.
    /// The attempt is opened once its check has passed: what fails is not counted, and
    /// nothing is written.
    pub fn judge_by_hand(&self, address: &str, source: Source) -> Result<Judgement, AttemptError> {
        if let Ok(git) = &self.git {
            git.refuse_half_done()?;
            git.refuse_unable_to_commit()?;
            self.refuse_off_branch(&**git)?;
        }
        self.complete_commits()?;
        let tree = self.tree_of_a_person()?;
        let _turn = self.store.check_turn()?;
        let opened = {
            let (_locked, reviewed) = self.enter()?;
            let none = || AttemptError::NoLoop(self.spec.name.clone());
            let state = reviewed.view.state.as_ref().ok_or_else(none)?;
            let file = reviewed.view.file();
            let task = file.by_address(address);
            let task = task.ok_or_else(|| AttemptError::NoTask(address.to_owned()))?;
            if task.done {
                return Err(AttemptError::Done(task.name()));
            }
            let ledger = self.store.ledger()?;
            opening((self, &tree), state, &file, task.index, &ledger)
        };
        let found = self.find(&opened, opened.role.signal(), None)?;
        let (locked, reviewed) = self.enter()?;
        let occasion = self.occasion(&opened, By::Verb)?;
        let judged = self.weigh_up(&reviewed, &opened, &found, occasion);
        if !judged.passed() {
            return Ok(judged);
        }
        locked.speaks_for(source);
        locked.record_of(&opened.id, opened.entry())?;
        drop((locked, reviewed));
        self.write_verdict(&opened, found, By::Verb)
    }

    /// The tree as it was before a person worked in it: all that is uncommitted is the
    /// work, but for the settings and the files of other specs.
    fn tree_of_a_person(&self) -> Result<TreeState, AttemptError> {
        let mut tree = self.tree()?;
        let elsewhere = &tree.open_elsewhere;
        tree.dirty.retain(|path, _| {
            path.ends_with(SETTINGS_FILE)
                || path.ends_with("/.progress.md")
                || elsewhere.contains_key(path)
        });
        Ok(tree)
    }
}
