//! Ticks that an attempt makes in the plans of other specs. Nobody has judged
//! those tasks, so their boxes are opened again.

use std::path::Path;

use specum_core::ledger::Ledger;
use specum_core::tasks::{Task, TaskFile, TaskKey};

use super::{AttemptError, Opened, Workspace};
use crate::files;
use crate::git::Git;
use crate::project::Spec;
use crate::store::{MAX_TEXT, Store};

impl Workspace {
    /// Opens the boxes of other plans again that were ticked in some tree since an
    /// attempt began, and tells so. A plan that was changed before is left alone:
    /// nobody could tell whose ticks they are.
    pub fn take_back_elsewhere(
        &self,
        git: &Git,
        opened: &Opened,
        changed: &[String],
    ) -> Result<Vec<String>, AttemptError> {
        let Some(base) = opened.base() else { return Ok(Vec::new()) };
        let own = self.spec_files(self.repository()?);
        let is_other_plan = |path: &&String| {
            path.ends_with("/tasks.md") && !own.contains(path) && !opened.dirty.contains_key(*path)
        };
        let mut names = Vec::new();
        for path in changed.iter().filter(is_other_plan) {
            let Some(before) = git.file_at(base, path)? else { continue };
            let Ok(now) = files::read(&git.root.join(path), MAX_TEXT) else { continue };
            let Some(spec) = self.other_spec(git, path) else { continue };
            let store = Store::of(&spec);
            let locked = store.lock()?;
            let ticked = ticked_since(&before, &now, &Ledger::of(&store.read_journal()?));
            locked.open_boxes(&ticked)?;
            names.extend(ticked.iter().map(|key| format!("{} of {}", key.id, spec.name)));
        }
        Ok(names)
    }

    /// The spec whose plan stands at a path of some tree of this repository.
    fn other_spec(&self, git: &Git, path: &str) -> Option<Spec> {
        let root = &self.repository().ok()?.root;
        let folder = Path::new(path).parent()?;
        let known = self.others.iter().find(|dir| dir.strip_prefix(root) == Ok(folder))?;
        let name = known.file_name()?.to_string_lossy().into_owned();
        let shown = folder.to_string_lossy().into_owned();
        Some(Spec { name, shown, dir: git.root.join(folder), root: git.root.clone() })
    }
}

/// The tasks that were open and are ticked with no verdict of their own loop
/// behind it.
fn ticked_since(before: &[u8], now: &[u8], ledger: &Ledger) -> Vec<TaskKey> {
    let before = TaskFile::scan(before);
    let now = TaskFile::scan(now);
    let was_open = |task: &&Task| {
        before.by_address(&task.name()).is_some_and(|known| !known.done)
            && ledger.task(&task.name()).is_none_or(|known| known.proof.is_none())
    };
    now.tasks.iter().filter(|task| task.done).filter(was_open).map(Task::key).collect()
}
