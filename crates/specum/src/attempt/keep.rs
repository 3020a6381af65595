//! Work that is neither finished nor lost: kept under a reference, out of the
//! user's tree.

use specum_core::journal::Entry;

use super::{AttemptError, Opened, Workspace};
use crate::git::Git;
use crate::names::{kept_references, part};

impl Workspace {
    /// Keeps what an attempt has left in the user's tree under a reference and
    /// takes it out of the tree.
    pub fn put_away(&self, git: &Git, opened: &Opened) -> Result<Option<String>, AttemptError> {
        let left = self.left_by(opened)?;
        let reference = self.keep(git, opened, &left)?;
        git.take_out(&left)?;
        Ok(reference)
    }

    /// Keeps what an attempt has changed in some tree under a reference, if it
    /// has changed anything.
    pub fn keep(
        &self,
        git: &Git,
        opened: &Opened,
        changed: &[String],
    ) -> Result<Option<String>, AttemptError> {
        if changed.is_empty() {
            return Ok(None);
        }
        let base = git.head();
        let reference = self.free_reference(git, opened)?;
        let (task, attempt) = (&opened.key.id, opened.attempt);
        let message = format!("{} {task} attempt {attempt}, not finished", self.spec.name);
        git.keep(base.as_deref(), changed, &reference, &message)?;
        self.record_kept(opened, reference).map(Some)
    }

    /// Keeps a commit that holds the work of an attempt.
    pub fn keep_commit(&self, opened: &Opened, commit: &str) -> Result<String, AttemptError> {
        let git = self.repository()?;
        let reference = self.free_reference(git, opened)?;
        git.point(&reference, commit)?;
        self.record_kept(opened, reference)
    }

    fn free_reference(&self, git: &Git, opened: &Opened) -> Result<String, AttemptError> {
        let kept = kept_references(&self.spec);
        // Whoever looks for it knows the name from then.
        let task = opened.was.first().unwrap_or(&opened.key.id);
        let name = format!("{kept}{}-{}", part(task), opened.attempt);
        let taken = git.references(&kept)?;
        let free = (1..)
            .map(|n| if n == 1 { name.clone() } else { format!("{name}.{n}") })
            .find(|reference| !taken.contains(reference));
        Ok(free.expect("some number is free"))
    }

    fn record_kept(&self, opened: &Opened, reference: String) -> Result<String, AttemptError> {
        let (attempt, kept) = (opened.attempt, reference.clone());
        self.record(opened, |task| Entry::Kept { task, attempt, reference: kept })?;
        Ok(reference)
    }
}
