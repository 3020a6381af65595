//! Work that is neither finished nor lost: kept under a reference, out of the
//! user's tree.

use std::path::Path;

use jiff::Timestamp;
use specum_core::attempt::Attempt;
use specum_core::journal::Entry;
use specum_core::line;

use super::{AttemptError, Workspace};
use crate::names::{kept_references, part};
use crate::ports::{Disk, Repository};

/// How much of a list of files a sentence names.
const MAX_NAMED: usize = 200;

impl Workspace {
    /// Keeps what an attempt has left in the user's tree under a reference and
    /// takes it out of the tree. What was changed after `until`, when the attempt
    /// was at work no longer, is the person's and stays; where that cannot be told,
    /// it is kept and stays.
    pub fn put_away(
        &self,
        git: &dyn Repository,
        opened: &Attempt,
        until: Option<Timestamp>,
    ) -> Result<(), AttemptError> {
        let mut of_attempt = Vec::new();
        let (mut left, mut in_doubt) = self.left_by(opened)?;
        if opened.head.is_none() && opened.branch.is_none() {
            // It began where there was no git to say what was changed before.
            in_doubt.append(&mut left);
        }
        for path in left {
            match until.map_or(Whose::Attempts, |until| {
                whose(&*self.world().disk, &git.file(&path), until)
            }) {
                Whose::Attempts => of_attempt.push(path),
                Whose::Persons => {}
                Whose::Unknown => in_doubt.push(path),
            }
        }
        let id = opened.key.shown();
        if let Some(kept) = self.keep(git, opened, &of_attempt)? {
            git.take_out(&of_attempt)?;
            let files = line::head(&of_attempt.join(", "), MAX_NAMED).to_owned();
            self.add_news(format!(
                "what the unfinished attempt at {id} had changed is no longer in your tree: \
                 {files}. It is kept: {kept}"
            ));
        }
        if let Some(kept) = self.keep(git, opened, &in_doubt)? {
            let files = line::head(&in_doubt.join(", "), MAX_NAMED).to_owned();
            self.add_news(format!(
                "{files} may be yours or of the unfinished attempt at {id}, and stays where it \
                 is; a copy is kept: {kept}"
            ));
        }
        Ok(())
    }

    /// Keeps what an attempt has changed in some tree under a reference, if it
    /// has changed anything.
    pub fn keep(
        &self,
        git: &dyn Repository,
        opened: &Attempt,
        changed: &[String],
    ) -> Result<Option<String>, AttemptError> {
        if changed.is_empty() {
            return Ok(None);
        }
        let base = git.head();
        let reference = self.free_reference(git, opened)?;
        let (task, attempt) = (&opened.key.id, opened.number);
        let message = format!("{} {task} attempt {attempt}, not finished", self.spec.name);
        self.repository()?.adopt_submodules(git.root(), changed)?;
        let commit = git.commit_paths(base.as_deref(), changed, &message)?;
        git.point(&reference, &commit)?;
        self.record_kept(opened, reference, changed.len()).map(Some)
    }

    /// Keeps a commit that holds the work of an attempt.
    pub fn keep_commit(&self, opened: &Attempt, commit: &str) -> Result<String, AttemptError> {
        let reference = self.point_to(opened, commit)?;
        self.record_kept(opened, reference, 0)
    }

    /// Lets a reference of an attempt's own lead to a commit.
    pub(super) fn point_to(&self, opened: &Attempt, commit: &str) -> Result<String, AttemptError> {
        let git = self.repository()?;
        let reference = self.free_reference(git, opened)?;
        git.point(&reference, commit)?;
        Ok(reference)
    }

    fn free_reference(
        &self,
        git: &dyn Repository,
        opened: &Attempt,
    ) -> Result<String, AttemptError> {
        let kept = kept_references(&self.spec);
        // A person who looks for it knows the name from then.
        let task = opened.was.first().unwrap_or(&opened.key.id);
        let name = format!("{kept}{}-{}", part(task), opened.number);
        let taken = git.references(&kept)?;
        let free = (1..)
            .map(|n| if n == 1 { name.clone() } else { format!("{name}.{n}") })
            .find(|reference| !taken.contains(reference));
        Ok(free.expect("some number is free"))
    }

    pub(super) fn record_kept(
        &self,
        opened: &Attempt,
        reference: String,
        files: usize,
    ) -> Result<String, AttemptError> {
        let (attempt, kept) = (opened.number, reference.clone());
        self.record(opened, |task| Entry::Kept { task, attempt, reference: kept, files })?;
        Ok(reference)
    }
}

/// Whose a change is that was found after an attempt had broken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Attempts,
    Persons,
    /// What is gone has no time, and a file may be moved with the time it had.
    Unknown,
}

/// Whose the change of a path is, if the attempt was at work until then.
fn whose(disk: &dyn Disk, path: &Path, until: Timestamp) -> Whose {
    let Ok(file) = disk.look(path) else { return Whose::Unknown };
    let written = file.modified.and_then(|at| Timestamp::try_from(at).ok());
    let changed = file.changed.and_then(|at| Timestamp::try_from(at).ok());
    match (written, changed) {
        (Some(written), _) if written > until => Whose::Persons,
        (Some(_), Some(changed)) if changed > until => Whose::Unknown,
        (Some(_), _) => Whose::Attempts,
        (None, _) => Whose::Unknown,
    }
}
