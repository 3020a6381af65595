//! The commit of a document that somebody has agreed to.
//!
//! Nothing in the journal says that it is still to be made: a document that is agreed to,
//! stands as it was agreed to and differs from HEAD is committed by whoever looks next.

use specum_core::authoring::Status;
use specum_core::digest::ContentDigest;
use specum_core::spec::Doc;

use super::super::{AttemptError, Workspace};
use crate::documents::{GOAL_FILE, TRACE_FILE};
use crate::git::GitError;
use crate::session;

impl Workspace {
    /// Commits the documents that are agreed to and are not committed yet. A git that
    /// refuses is told, and nothing waits for it.
    pub fn commit_documents(&self) -> Result<(), AttemptError> {
        // Taking the lock completes what a killed process has begun.
        drop(self.store.lock()?);
        let (Some(planning), Ok(git)) = (self.planning()?, &self.git) else { return Ok(()) };
        if !planning.commits || session::judged_by_hooks(self.world()).is_some() {
            return Ok(());
        }
        let disk = &self.world().disk;
        let path = |name: &str| {
            let path = self.spec.dir.join(name);
            let path = path.strip_prefix(git.root()).ok().map(crate::git::shown);
            path.filter(|_| disk.exists(&self.spec.dir.join(name)))
        };
        let is_agreed = |doc: &Doc| planning.document(*doc).status == Status::Approved;
        let docs: Vec<Doc> = Doc::ALL.into_iter().filter(is_agreed).collect();
        if docs.is_empty() {
            return Ok(());
        }
        let changed = git.changed()?;
        let beside: Vec<String> = [TRACE_FILE, GOAL_FILE].into_iter().filter_map(path).collect();
        for doc in docs {
            let Some(file) = path(doc.file()).filter(|file| changed.contains(file)) else {
                continue;
            };
            let text = disk.read_if_there(&self.spec.dir.join(doc.file()), 64 * 1024 * 1024)?;
            let digest = planning.document(doc).digest.unwrap_or_default();
            if !ContentDigest::matches(&digest, &text.unwrap_or_default()) {
                // A person is at it.
                continue;
            }
            let head = git.head();
            let was = match &head {
                Some(head) => !git.paths_at(head, std::slice::from_ref(&file))?.is_empty(),
                None => false,
            };
            let verb = if was { "revise" } else { "add" };
            let name = &self.spec.name;
            let mut paths = vec![file];
            paths.extend(beside.iter().filter(|path| changed.contains(path)).cloned());
            let ignored = git.ignored(&paths)?;
            paths.retain(|path| !ignored.contains(path));
            if paths.is_empty() {
                continue;
            }
            let message = format!("spec({name}): {verb} {doc}\n\nSpec: {name}\nDocument: {doc}\n");
            match git.commit(&paths, &message) {
                Ok(_) => {}
                Err(error @ GitError::Refused { .. }) => {
                    self.add_news(format!("{} is not committed: {error}", doc.file()));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
