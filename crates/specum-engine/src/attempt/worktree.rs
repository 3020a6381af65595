//! Attempts that are worked, checked and committed in a worktree, while a person may be
//! at work in the user's tree.
//!
//! Work that has passed is a commit of specum's own under a reference, made on the
//! commit with which it has passed. Its commit for the branch is made in the worktree,
//! where nothing of the person's can make the check or a hook fail; then the user's
//! tree follows, unless a file is in the way that the person has changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use specum_core::attempt::{Attempt, Judgement, PassedAttempt, TakenBack};
use specum_core::journal::Entry;
use specum_core::verify::{self, CheckRun, CommitRun, Failure, FailureClass};

use super::commit::CommitOutcome;
use super::judge::evidence;
use super::{AttemptError, Workspace};
use crate::git::{Committed, Forward, GitError, Merge};
use crate::names::{ISOLATED, note_of, ready_reference, worktrees_dir};
use crate::ports::{Disk, FileKind, Repository};
use crate::store::MAX_TEXT;

/// A checkout apart from the user's tree.
pub struct Worktree {
    /// Its repository.
    pub git: Arc<dyn Repository>,
    /// The project's root in it.
    pub root: PathBuf,
}

/// What became of work on a newer commit.
#[derive(Debug)]
pub enum Renewed {
    /// It does not fit.
    Conflict {
        /// Where.
        paths: Vec<String>,
        /// Both sides, to be read.
        shown: String,
    },
    /// It fits, and is checked out in the worktree.
    Checked {
        /// The commit that holds it now.
        commit: String,
        /// What its check says there.
        check: CheckRun,
    },
}

/// What git has made of a result in the worktree.
enum Made {
    /// A commit, or none because there was nothing to commit.
    Commit(Option<String>),
    /// Something that does not hold.
    Fails(TakenBack),
}

impl Workspace {
    /// Makes a worktree from a commit, in place of one of the same name.
    pub fn add_worktree(&self, name: &str, base: Option<&str>) -> Result<Worktree, AttemptError> {
        let said = |message: &str| {
            let (command, message) = ("worktree".into(), message.into());
            AttemptError::from(GitError::Said { command, message })
        };
        let git = self.repository()?;
        let no_commit = || said("there is no commit yet to make one from; commit something first");
        let base = base.ok_or_else(no_commit)?;
        let no_home = || said("neither XDG_STATE_HOME nor HOME is set");
        let dir = worktrees_dir(&self.spec).ok_or_else(no_home)?;
        let path = dir.join(name);
        let disk = &self.world().disk;
        if disk.look(&path).is_ok() {
            git.remove_worktree(&path)?;
        }
        disk.make_folder(&dir)?;
        disk.write(&note_of(&dir), self.spec.dir.as_os_str().as_encoded_bytes())?;
        let git = git.add_worktree(&path, base)?;
        Ok(Worktree { git, root: self.root_in(&path)? })
    }

    /// Whether an attempt has passed in the worktree of an isolated run, and waits there.
    pub fn waits_in_worktree(&self, opened: &Attempt) -> Result<bool, AttemptError> {
        Ok(self.store.ledger()?.waits_in_worktree(&opened.id))
    }

    /// Those of the files that a result changes which the person has changed.
    pub fn in_the_way(&self, head: &str, result: &str) -> Result<Vec<String>, AttemptError> {
        let git = self.repository()?;
        Ok(git.in_the_way(head, result, &self.spec_files(git))?)
    }

    /// Why a result waits for the person.
    pub fn kept_out(&self, opened: &Attempt, files: Vec<String>) -> AttemptError {
        let task = opened.key.shown().to_owned();
        let reference = ready_reference(&self.spec, &opened.key.id);
        AttemptError::InTheWay { task, files, reference }
    }

    /// Puts work that has passed on the newest commit, in the worktree, and checks it
    /// there.
    pub fn renew(
        &self,
        opened: &Attempt,
        result: &str,
        head: &str,
    ) -> Result<Renewed, AttemptError> {
        let git = self.repository()?;
        let mut commit = result.to_owned();
        if git.parent_of(result).as_deref() != Some(head) {
            match git.transplant(result, head)? {
                Merge::Conflict { paths, tree } => {
                    let shown = git.difference(&tree, &paths)?;
                    return Ok(Renewed::Conflict { paths, shown });
                }
                Merge::Clean(tree) => {
                    let message = format!("{} {}", self.spec.name, opened.key.id);
                    commit = git.commit_tree(&tree, Some(head), &message)?;
                    git.point(&ready_reference(&self.spec, &opened.key.id), &commit)?;
                }
            }
        }
        let check = self.check_in(opened, &self.check_out(head, &commit)?.root)?;
        Ok(Renewed::Checked { commit, check })
    }

    /// Commits an attempt that has passed in a worktree, and lets the user's tree
    /// follow. Another commit under way is waited for: the result goes on top.
    pub(super) fn commit_in_worktree(
        &self,
        passed: &PassedAttempt,
        judged: &Judgement,
        result: &str,
    ) -> Result<CommitOutcome, AttemptError> {
        let (git, opened) = (self.repository()?, &passed.attempt);
        let mut result = result.to_owned();
        loop {
            let head = git.head().unwrap_or_default();
            if git.parent_of(&result).as_ref() != Some(&head) {
                match self.renew(opened, &result, &head)? {
                    Renewed::Conflict { paths, shown } => {
                        let back = conflicting(&paths, shown);
                        return self.take_back_kept(passed, judged, back, &result);
                    }
                    Renewed::Checked { commit, check } => {
                        result = commit;
                        if let Some(message) = verify::failed_check(&check) {
                            let back = failing(message, evidence(&check));
                            return self.take_back_kept(passed, judged, back, &result);
                        }
                    }
                }
            }
            let theirs = self.in_the_way(&head, &result)?;
            if !theirs.is_empty() {
                return Err(self.kept_out(opened, theirs));
            }
            let id = match self.make_commit(opened, &head, &result)? {
                Made::Commit(id) => id,
                Made::Fails(back) => return self.take_back_kept(passed, judged, back, &result),
            };
            let own = self.spec_files(git);
            match id.as_ref().map(|id| git.fast_forward(&head, id, &own)).transpose()? {
                None | Some(Forward::Done) => {
                    self.record_taken_in(opened, id.clone())?;
                    return Ok(CommitOutcome { id, failure: None });
                }
                Some(Forward::Moved) => {}
                Some(Forward::InTheWay(theirs)) => return Err(self.kept_out(opened, theirs)),
            }
        }
    }

    /// The user's tree has taken in an attempt.
    pub(super) fn record_taken_in(
        &self,
        opened: &Attempt,
        commit: Option<String>,
    ) -> Result<(), AttemptError> {
        self.record(opened, |task| Entry::Committed { task, commit, left: Vec::new() })?;
        let reference = ready_reference(&self.spec, &opened.key.id);
        Ok(self.repository()?.delete_reference(&reference)?)
    }

    /// Makes the commit for the branch: the result, the tick and the notes.
    fn make_commit(
        &self,
        opened: &Attempt,
        head: &str,
        result: &str,
    ) -> Result<Made, AttemptError> {
        let (git, worktree) = (self.repository()?, self.check_out(head, result)?);
        let own = self.spec_files_to_commit(git)?;
        for path in &own {
            copy(&*self.world().disk, &git.file(path), &worktree.git.file(path))?;
        }
        let changed = worktree.git.changed_between(head, result)?;
        let paths = [&changed[..], &own[..]].concat();
        let Committed { id, by_hooks, status } =
            match worktree.git.commit(&paths, &self.message(opened)) {
                Ok(committed) => committed,
                Err(error @ GitError::Refused { .. }) if !error.means_busy() => {
                    // Where nothing can be committed at all, no attempt has failed.
                    git.refuse_unable_to_commit()?;
                    git.refuse_unsigned()?;
                    return Ok(Made::Fails(uncommitted(&CommitRun::Refused(error.to_string()))));
                }
                Err(error) => return Err(error.into()),
            };
        let left: Vec<String> =
            changed.into_iter().filter(|path| status.changed.contains(path)).collect();
        if id.as_deref() == Some(head) || id.is_none() {
            return Ok(match left.is_empty() {
                true => Made::Commit(None),
                false => Made::Fails(uncommitted(&CommitRun::Left(left))),
            });
        }
        if !by_hooks.is_empty() {
            let check = self.check_in(opened, &worktree.root)?;
            if let Some(why) = verify::failed_check(&check) {
                let hooks = by_hooks.join(", ");
                let message = format!("{why}. It had passed; then a git hook changed {hooks}");
                return Ok(Made::Fails(failing(message, evidence(&check))));
            }
        }
        Ok(Made::Commit(id))
    }

    /// Opens the box of an attempt again, and keeps its work for the next one.
    fn take_back_kept(
        &self,
        passed: &PassedAttempt,
        judged: &Judgement,
        back: TakenBack,
        result: &str,
    ) -> Result<CommitOutcome, AttemptError> {
        self.keep_commit(&passed.attempt, result)?;
        let reference = ready_reference(&self.spec, &passed.attempt.key.id);
        self.repository()?.delete_reference(&reference)?;
        self.take_back(passed, judged, back, None)
    }

    /// Checks a result out in the worktree of the isolated run. It may be gone, or broken
    /// by the agent that worked there; a new one will do.
    fn check_out(&self, head: &str, result: &str) -> Result<Worktree, AttemptError> {
        let git = self.repository()?;
        let path = worktrees_dir(&self.spec).map(|dir| dir.join(ISOLATED));
        if let Some(path) = path.filter(|path| git.has_worktree(path)) {
            let worktree =
                Worktree { root: self.root_in(&path)?, git: self.world().repositories.at(&path) };
            if worktree.git.stage_on(head, result).is_ok() {
                return Ok(worktree);
            }
        }
        let worktree = self.add_worktree(ISOLATED, Some(head))?;
        worktree.git.stage_on(head, result)?;
        Ok(worktree)
    }

    /// The project's root in another checkout.
    fn root_in(&self, path: &Path) -> Result<PathBuf, AttemptError> {
        let below = self.spec.root.strip_prefix(self.repository()?.root()).unwrap_or(Path::new(""));
        Ok(path.join(below))
    }
}

fn conflicting(paths: &[String], output: String) -> TakenBack {
    let message = format!("it conflicts with what was committed meanwhile in {}", paths.join(", "));
    failing(message, output)
}

fn failing(message: String, output: String) -> TakenBack {
    TakenBack {
        failure: Failure { class: FailureClass::Verify, message },
        output,
        left: Vec::new(),
    }
}

fn uncommitted(run: &CommitRun) -> TakenBack {
    let failure = verify::after_commit(run).expect("it says why there is no commit");
    TakenBack { failure, output: String::new(), left: Vec::new() }
}

/// Lets a file of the spec be in the worktree as it is in the user's tree. A link is
/// committed as it is, whatever it leads to.
fn copy(disk: &dyn Disk, from: &Path, to: &Path) -> Result<(), AttemptError> {
    if disk.look(from).is_ok_and(|found| found.kind == FileKind::Link) {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        disk.make_folder(folder)?;
    }
    match disk.read_if_there(from, MAX_TEXT)? {
        Some(text) => Ok(disk.write(to, &text)?),
        None => Ok(()),
    }
}
