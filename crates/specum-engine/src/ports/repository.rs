//! The port to version control.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use specum_core::patch::Patch;

use crate::git::{
    self, ChangedFile, Committed, Forward, GitError, Merge, Programs, Status, Worktree,
};

/// Receives what is waited for.
pub type Listener = Box<dyn Fn(String) + Send>;

/// Where repositories come from.
pub trait Repositories: Send + Sync {
    /// The repository that a directory belongs to; the error says why there is none.
    fn open(&self, dir: &Path) -> Result<Arc<dyn Repository>, GitError>;
    /// The repository whose work tree has this root.
    fn at(&self, root: &Path) -> Arc<dyn Repository>;
}

/// A repository and one of its work trees. Paths are below its root.
pub trait Repository: Send + Sync {
    /// The root of the work tree.
    fn root(&self) -> &Path;
    /// Where a path of this work tree is.
    fn file(&self, path: &str) -> PathBuf {
        self.root().join(git::path_of(path))
    }

    // What stands.

    /// The commit at HEAD; `None` before the first one.
    fn head(&self) -> Option<String>;
    /// The branch that HEAD is on, as far as that can be told without a look at all.
    fn branch_of_head(&self) -> Option<String>;
    /// Whether there is a remote, and HEAD is on the branch that others take for the main
    /// one.
    fn is_on_shared_branch(&self) -> Result<bool, GitError>;
    /// Lets HEAD be on a branch, which is made at HEAD if it is not there; says whether it
    /// was made.
    fn switch(&self, branch: &str) -> Result<bool, GitError>;
    /// HEAD, the branch, and what is uncommitted, as they stand at one moment.
    fn status(&self) -> Result<Status, GitError>;
    /// The paths that are changed, staged, deleted or new.
    fn changed(&self) -> Result<Vec<String>, GitError> {
        Ok(self.status()?.changed)
    }
    /// When a file was changed last; `None` if it is not there.
    fn changed_at(&self, path: &str) -> Option<SystemTime>;
    /// The files that are tracked in this tree.
    fn tracked(&self) -> Result<HashSet<PathBuf>, GitError>;
    /// Which of these paths are ignored: not what is tracked.
    fn ignored(&self, paths: &[String]) -> Result<Vec<String>, GitError>;
    /// What of the files of a loop is part of the repository. Which of the `others`
    /// are, too, is kept for the next commit.
    fn committed_loop(
        &self,
        files: &[PathBuf],
        others: &[PathBuf],
    ) -> Result<Option<String>, GitError>;
    /// What would be started by a commit now. What is `known` from before saves work.
    fn programs(&self, known: Option<&Programs>) -> Result<Programs, GitError>;

    // History.

    /// The paths that differ between a commit and HEAD.
    fn changed_since(&self, commit: &str) -> Result<Vec<String>, GitError>;
    /// The paths that differ between two commits.
    fn changed_between(&self, from: &str, to: &str) -> Result<Vec<String>, GitError>;
    /// Whether one commit has another among those it was made from.
    fn descends(&self, commit: &str, from: &str) -> Result<bool, GitError>;
    /// The commit that another one was made on; `None` for a first one.
    fn parent_of(&self, commit: &str) -> Option<String>;
    /// A file as it is in a commit; `None` if it is not in it.
    fn file_at(&self, commit: &str, path: &str) -> Result<Option<Vec<u8>>, GitError>;
    /// The files that each of these commits has changed, by the commit's id. A repository
    /// that counts no lines knows of none.
    fn changed_in(&self, _commits: &[&str]) -> Result<HashMap<String, Vec<ChangedFile>>, GitError> {
        Ok(HashMap::new())
    }
    /// What each of these commits has changed, but for some files, by the commit's id. A
    /// repository that keeps no contents knows of none.
    fn patches_in(
        &self,
        _commits: &[&str],
        _without: &[String],
    ) -> Result<HashMap<String, Patch>, GitError> {
        Ok(HashMap::new())
    }
    /// Which of these paths are part of a commit.
    fn paths_at(&self, commit: &str, paths: &[String]) -> Result<Vec<String>, GitError>;
    /// The commit behind another one, or since the first, whose message has this line.
    fn commit_since(&self, start: Option<&str>, line: &str) -> Result<Option<String>, GitError>;
    /// Whether the history of a branch, tag or remote has the content of a file at a
    /// path.
    fn had_file(&self, file: &Path, path: &Path) -> Result<bool, GitError>;

    // Commits.

    /// Commits these paths and nothing else.
    ///
    /// [`GitError::Refused`] says that there is no commit; after any other error there
    /// may be one.
    fn commit(&self, paths: &[String], message: &str) -> Result<Committed, GitError>;
    /// What a commit came to that was made already.
    fn committed(
        &self,
        commit: &str,
        is_untouched: &dyn Fn(&String) -> bool,
    ) -> Result<Committed, GitError>;
    /// A commit of these paths, as they stand in the tree, on top of `base`; on no
    /// branch. The index is left alone.
    fn commit_paths(
        &self,
        base: Option<&str>,
        paths: &[String],
        message: &str,
    ) -> Result<String, GitError>;
    /// A commit of ours with the files of another one, or of a tree.
    fn commit_tree(
        &self,
        files: &str,
        parent: Option<&str>,
        message: &str,
    ) -> Result<String, GitError>;

    /// A tree with the files of `onto`, in which these paths are as in `from`; one that
    /// `from` does not have is not in it.
    fn overlay(&self, onto: &str, from: &str, paths: &[String]) -> Result<String, GitError>;

    // References of our own.

    /// The references below a prefix.
    fn references(&self, prefix: &str) -> Result<Vec<String>, GitError>;
    /// Lets a reference of ours name a commit.
    fn point(&self, reference: &str, commit: &str) -> Result<(), GitError>;
    /// Deletes a reference that may already be gone.
    fn delete_reference(&self, reference: &str) -> Result<(), GitError>;

    // Work into the tree, and out of it.

    /// What HEAD and another commit come to together.
    fn merge(&self, commit: &str) -> Result<Merge, GitError>;
    /// What a commit has changed, done to another one instead.
    fn transplant(&self, commit: &str, onto: &str) -> Result<Merge, GitError>;
    /// The paths in which a tree differs from HEAD.
    fn differing(&self, tree: &str) -> Result<Vec<String>, GitError>;
    /// How a tree differs from HEAD at these paths, to be read.
    fn difference(&self, tree: &str, paths: &[String]) -> Result<String, GitError>;
    /// Puts a tree that was made from HEAD into index and files. Refuses, and changes
    /// nothing, if a path is changed already that the tree changes.
    fn put_in(&self, tree: &str) -> Result<(), GitError>;
    /// Lets these paths be as they are at HEAD, in index and files.
    fn take_out(&self, paths: &[String]) -> Result<(), GitError>;
    /// Those of the paths that a commit changes which the user has changed, staged or
    /// made. `own` are specum's, which the user's tree has as the commit does.
    fn in_the_way(&self, from: &str, commit: &str, own: &[String])
    -> Result<Vec<String>, GitError>;
    /// Lets branch, index and files of the user's tree go from one commit to the next.
    /// Of `own` the files are left alone.
    fn fast_forward(&self, from: &str, to: &str, own: &[String]) -> Result<Forward, GitError>;

    // Worktrees.

    /// Checks a commit out into a directory of its own, on no branch.
    fn add_worktree(&self, path: &Path, commit: &str) -> Result<Arc<dyn Repository>, GitError>;
    /// Removes a worktree with everything in it.
    fn remove_worktree(&self, path: &Path) -> Result<(), GitError>;
    /// The worktrees below a directory.
    fn worktrees_below(&self, directory: &Path) -> Result<Vec<Worktree>, GitError>;
    /// Whether a path is a worktree of this repository, and nothing that somebody has
    /// put in its place.
    fn has_worktree(&self, path: &Path) -> bool;
    /// Lets a worktree and the repository find each other again, one of which has been
    /// moved.
    fn repair_worktree(&self, path: &Path) -> Result<(), GitError>;
    /// Removes what is known of worktrees that were only about to be made.
    fn remove_half_made(&self) -> Result<(), GitError>;
    /// Takes over the commits of submodules that a worktree's paths lead to.
    fn adopt_submodules(&self, worktree: &Path, paths: &[String]) -> Result<(), GitError>;
    /// Lets a worktree be on no branch at a commit, with its files, and undoes whatever
    /// is changed in files that are tracked.
    fn reset_to(&self, commit: &str) -> Result<(), GitError>;
    /// Lets a worktree be at a commit with the files of another one, all of whose
    /// changes are staged.
    fn stage_on(&self, commit: &str, files: &str) -> Result<(), GitError>;
    /// Lets the files of a worktree have what another commit has changed; `false` if
    /// that does not fit.
    fn apply(&self, commit: &str) -> Result<bool, GitError>;

    // Whether anything can be committed at all.

    /// The file whose lock says that a run works in this work tree.
    fn run_lock(&self) -> Result<PathBuf, GitError>;
    /// Whether no other run works in this tree from now on.
    fn be_alone(&self, alone: bool);
    /// Receives what is waited for, from now on; without it, standard error does.
    fn say_to(&self, listener: Option<Listener>);
    /// Tells them something.
    fn say(&self, text: String);
    /// Waits for the holder of a lock that the next commit needs, or removes a lock
    /// without a holder.
    fn clear_locks(&self) -> Result<(), GitError>;
    /// Removes what a killed process has left. Only for the one process in the tree.
    fn remove_scratch(&self) -> Result<(), GitError>;
    /// Lets the repository overlook specum's own files.
    fn exclude_own_files(&self) -> Result<(), GitError>;
    /// Fails if the program is too old for what is asked of it.
    fn refuse_old(&self) -> Result<(), GitError>;
    /// Fails if a merge or the like is half done here.
    fn refuse_half_done(&self) -> Result<(), GitError>;
    /// Fails if no author of commits is named.
    fn refuse_without_identity(&self) -> Result<(), GitError>;
    /// Fails if nothing can be committed here, for reasons that no agent can change.
    fn refuse_unable_to_commit(&self) -> Result<(), GitError>;
    /// Fails if commits are to be signed, and cannot be.
    fn refuse_unsigned(&self) -> Result<(), GitError>;
    /// Fails if nothing can be written where the repository keeps what it knows.
    fn refuse_read_only(&self) -> Result<(), GitError>;
}
