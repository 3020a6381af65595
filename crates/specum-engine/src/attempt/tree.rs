//! What an attempt changed in the user's tree.

use std::borrow::Cow;
use std::collections::BTreeMap;

use specum_core::attempt::{Attempt, Ledger};
use specum_core::digest::ContentDigest;
use specum_core::journal::Entry;
use specum_core::line;
use specum_core::verify::{self, CheckRun};

use super::digests::Digests;
use super::{AttemptError, Workspace};
use crate::git::{self, Status};
use crate::ports::Repository;
use crate::project::SETTINGS_FILE;

/// The user's tree at one moment; empty without a repository.
#[derive(Debug, Default)]
pub(super) struct TreeState {
    /// HEAD; `None` before the first commit.
    pub(super) head: Option<String>,
    /// The branch; `None` when HEAD is detached.
    pub(super) branch: Option<String>,
    /// What is uncommitted, with a digest of each file.
    pub(super) dirty: BTreeMap<String, String>,
    /// The open tasks of other specs' plans that are uncommitted or ignored.
    pub(super) open_elsewhere: BTreeMap<String, Vec<String>>,
    /// Those of them that are submodules with changes of their own.
    pub(super) dirty_submodules: Vec<String>,
}

/// A history that an attempt has rewritten.
#[derive(Debug)]
pub(super) struct Rewritten {
    /// What a person is told.
    pub(super) why: String,
    /// What leads to the history as it was.
    pub(super) reference: String,
}

impl Workspace {
    /// The tree as it stands.
    pub(super) fn tree(&self) -> Result<TreeState, AttemptError> {
        match &self.git {
            Ok(git) => Ok(self.tree_of(git.status()?)),
            Err(_) => {
                Ok(TreeState { open_elsewhere: self.open_without_git(), ..TreeState::default() })
            }
        }
    }

    /// The same, with what git has said of it.
    pub(super) fn tree_of(&self, status: Status) -> TreeState {
        let Ok(git) = &self.git else { return TreeState::default() };
        let with_digest = |path: String| {
            let file = git.file(&path);
            let digest = self.digests.of(self.world(), &file);
            (path, digest)
        };
        let dirty: BTreeMap<String, String> = status.changed.into_iter().map(with_digest).collect();
        let plans = dirty.keys().chain(self.hidden_plans(&**git));
        let open_elsewhere = self.open_elsewhere(&**git, plans);
        let (head, branch, dirty_submodules) =
            (status.head, status.branch, status.dirty_submodules);
        TreeState { head, branch, dirty, open_elsewhere, dirty_submodules }
    }

    /// The uncommitted files of now. One that an older version has recorded, and that
    /// has not changed since, has the digest of that record.
    pub(super) fn as_recorded<'t>(
        &self,
        recorded: &BTreeMap<String, String>,
        now: &'t BTreeMap<String, String>,
    ) -> Cow<'t, BTreeMap<String, String>> {
        let Ok(git) = &self.git else { return Cow::Borrowed(now) };
        let unchanged: Vec<_> = recorded
            .iter()
            .filter(|(path, digest)| {
                ContentDigest::is_of_older_version(digest)
                    && now.contains_key(*path)
                    && Digests::is_as_recorded(self.world(), &git.file(path), digest)
            })
            .collect();
        if unchanged.is_empty() {
            return Cow::Borrowed(now);
        }
        let mut dirty = now.clone();
        dirty.extend(unchanged.into_iter().map(|(path, digest)| (path.clone(), digest.clone())));
        Cow::Owned(dirty)
    }

    /// The spec's own files that go into a task's commit.
    pub(crate) fn spec_files(&self, git: &dyn Repository) -> Vec<String> {
        [self.store.tasks_path(), self.store.progress_path()]
            .iter()
            .filter(|path| self.world().disk.exists(path))
            .filter_map(|path| path.strip_prefix(git.root()).ok())
            .map(git::shown)
            .collect()
    }

    /// What the attempt changed: whatever is uncommitted now and was not, or
    /// was different, and whatever it committed itself.
    pub(super) fn changed_by(
        &self,
        opened: &Attempt,
        now: &TreeState,
    ) -> Result<Vec<String>, AttemptError> {
        let Ok(git) = &self.git else { return Ok(Vec::new()) };
        let own = self.spec_files(&**git);
        let mut changed: Vec<String> = self
            .as_recorded(&opened.dirty, &now.dirty)
            .iter()
            .filter(|(path, digest)| opened.dirty.get(*path) != Some(digest))
            .map(|(path, _)| path.clone())
            .collect();
        if let Some(head) = &opened.head
            && now.head != opened.head
        {
            changed.extend(git.changed_since(head)?);
        }
        let others = self.files_of_neighbours(opened)?;
        let ledger = self.store.ledger()?;
        let late = ledger.late();
        let named = self.in_repository(opened.fields().files);
        changed.retain(|path| {
            !own.contains(path)
                && !others.contains(path)
                && !git::is_own_file(path)
                && (named.contains(path) || !late.contains(path))
        });
        changed.sort();
        changed.dedup();
        Ok(changed)
    }

    /// What the attempt has changed up to now.
    pub fn changed_now(&self, opened: &Attempt) -> Result<Vec<String>, AttemptError> {
        self.changed_by(opened, &self.tree()?)
    }

    /// Records what an executor has changed that had its verdict already, as far
    /// as that can be told from the work of the executor at work now: its Files
    /// are its own. While none is, everything is late.
    pub fn record_late_work(&self, of: &Attempt) -> Result<(), AttemptError> {
        let view = self.store.read()?;
        let ledger = self.store.ledger()?;
        let file = view.file();
        let open: Vec<Attempt> =
            file.open().filter_map(|task| ledger.open_attempt(&task.key())).collect();
        let [opened] = open.as_slice() else { return Ok(()) };
        if opened.key.id == of.key.id {
            return Ok(());
        }
        let files = self.in_repository(opened.fields().files);
        let mut changed = self.changed_by(opened, &self.tree()?)?;
        let was_empty = changed.is_empty();
        let calls = ledger.calls_at_work();
        if calls.iter().any(|call| call.task.id == opened.key.id) {
            // Without Files nothing tells whose it is; the record says that it happened.
            changed.retain(|path| !files.is_empty() && !verify::is_named(&files, path));
        }
        if !was_empty {
            self.record(of, |task| Entry::Late { task, changed })?;
        }
        Ok(())
    }

    /// What the attempt has left uncommitted in the user's tree and nowhere
    /// else: files that were not changed before it began; and what it has changed
    /// of what stood there already from earlier attempts, which a person may have
    /// put right since.
    pub fn left_by(&self, opened: &Attempt) -> Result<(Vec<String>, Vec<String>), AttemptError> {
        let now = TreeState { head: opened.head.clone(), ..self.tree()? };
        let mut left = self.changed_by(opened, &now)?;
        let dirty = self.as_recorded(&opened.left_before, &now.dirty);
        left.retain(|path| {
            let stood = opened.left_before.get(path);
            !opened.dirty.contains_key(path) && (stood.is_none() || stood != dirty.get(path))
        });
        Ok(left.into_iter().partition(|path| !opened.left_before.contains_key(path)))
    }

    /// Says which changes of the user's own an attempt has made away with: what
    /// was uncommitted before it, and is neither that nor committed now.
    pub(super) fn tell_vanished(&self, opened: &Attempt, now: &TreeState, changed: &[String]) {
        // The plan and its notes go with the next commit, which may be a neighbour's.
        let of_spec = self.git.as_ref().map(|git| self.spec_files(&**git)).unwrap_or_default();
        let ledger = self.store.ledger();
        let by_checks: Vec<&str> =
            ledger.as_ref().map(|ledger| ledger.left_in_tree().collect()).unwrap_or_default();
        let gone = |path: &&String| {
            // Our own are kept out of sight as soon as that can be done.
            !now.dirty.contains_key(*path)
                && !changed.contains(path)
                && !git::is_own_file(path)
                && !of_spec.contains(path)
                && !by_checks.contains(&path.as_str())
        };
        let gone: Vec<&str> = opened.dirty.keys().filter(gone).map(String::as_str).collect();
        if !gone.is_empty() {
            self.add_news(format!(
                "uncommitted changes of yours are gone since the attempt at {} began: {}. `git \
                 stash list` may have them",
                opened.key.shown(),
                line::head(&gone.join(", "), 200)
            ));
        }
    }

    /// Keeps the commit that an attempt began from if it is no longer part of the
    /// history. Nothing is recorded: the one who tells a person does that then, so that
    /// it is told although a run is killed in between.
    pub(super) fn keep_rewritten(
        &self,
        opened: &Attempt,
        now: &TreeState,
    ) -> Result<Option<Rewritten>, AttemptError> {
        let (Ok(git), Some(before), Some(head)) = (&self.git, &opened.head, &now.head) else {
            return Ok(None);
        };
        if before == head || now.branch != opened.branch || git.descends(head, before)? {
            return Ok(None);
        }
        let ledger = self.store.ledger()?;
        if ledger.has_kept(&opened.id) {
            return Ok(None);
        }
        let reference = self.point_to(opened, before)?;
        let branch = opened.branch.as_deref().unwrap_or("HEAD");
        let why = format!(
            "the attempt at {} has rewritten the history: {} is no longer part of {branch}. It is \
             kept: {reference}",
            opened.key.shown(),
            line::head(before, 12)
        );
        Ok(Some(Rewritten { why, reference }))
    }

    /// Pauses the loop if an attempt that has no verdict has rewritten the history:
    /// its agent failed, or the run was ended or killed. Says so, and whether.
    pub fn pause_if_rewritten(&self, opened: &Attempt) -> Result<bool, AttemptError> {
        let Some(rewritten) = self.keep_rewritten(opened, &self.tree()?)? else {
            return Ok(false);
        };
        self.pause(&rewritten.why)?;
        self.record_kept(opened, rewritten.reference, 0)?;
        self.add_news(rewritten.why);
        Ok(true)
    }

    /// The user's own uncommitted changes: neither the plan's, nor ours, nor
    /// what failed attempts have left.
    pub fn foreign_changes(&self) -> Result<Vec<String>, AttemptError> {
        let Ok(git) = &self.git else { return Ok(Vec::new()) };
        // What the checks of an earlier loop have left is still there.
        let ledger = Ledger::of(&self.store.read_story()?);
        let left: Vec<&str> = ledger.left_in_tree().collect();
        let plan = self.spec.dir.strip_prefix(git.root()).map(git::shown);
        let in_plan = |path: &str| {
            plan.as_ref().is_ok_and(|plan| {
                path.strip_prefix(plan.as_str()).is_some_and(|rest| rest.starts_with('/'))
            })
        };
        let mut changed = git.changed()?;
        changed.retain(|path| {
            !in_plan(path)
                && !left.contains(&path.as_str())
                && !git::is_own_file(path)
                && !path.ends_with(SETTINGS_FILE)
                // The notes of another spec, which its own next commit takes.
                && !path.ends_with("/.progress.md")
        });
        Ok(changed)
    }

    /// The files that the others of a running batch have been given.
    fn files_of_neighbours(&self, opened: &Attempt) -> Result<Vec<String>, AttemptError> {
        let view = self.store.read()?;
        let batch = view.state.as_ref().filter(|state| state.parallel_group.is_some());
        let Some(state) = batch else { return Ok(Vec::new()) };
        let file = view.file();
        let given = state
            .task_results
            .values()
            .filter(|result| result.id != opened.key.id)
            .filter_map(|result| file.tasks.iter().find(|task| task.name() == result.id))
            .flat_map(|task| file.fields(task).files);
        Ok(self.in_repository(given))
    }

    /// The files among those changed that the check rests on and that were there
    /// when the attempt began. This only informs, so git may fail at it.
    pub(super) fn changed_proofs(
        &self,
        opened: &Attempt,
        check: &CheckRun,
        changed: &[String],
    ) -> Vec<String> {
        let mut proofs = verify::proofs(check, changed, |paths| self.in_repository(paths));
        let (Ok(git), false) = (&self.git, proofs.is_empty()) else { return Vec::new() };
        let committed = opened.head.as_ref().map(|head| git.paths_at(head, &proofs));
        let committed = committed.transpose().unwrap_or_default().unwrap_or_default();
        proofs.retain(|path| committed.contains(path) || opened.dirty.contains_key(path));
        proofs
    }

    /// Paths that a task names, as git names them: the project may lie below
    /// the root of its repository.
    pub(super) fn in_repository(&self, files: impl IntoIterator<Item = String>) -> Vec<String> {
        let below = self.git.as_ref().ok().and_then(|git| {
            let below = self.spec.root.strip_prefix(git.root()).ok()?;
            (!below.as_os_str().is_empty()).then_some(below)
        });
        let named = |file: String| match below {
            Some(below) => git::shown(&below.join(file)),
            None => file,
        };
        files.into_iter().map(named).collect()
    }
}
