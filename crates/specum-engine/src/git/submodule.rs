//! Submodules of a worktree and of the user's tree.
//!
//! A submodule that is checked out in a worktree is a clone of its own, which goes with
//! the worktree. [`Git::adopt_submodules`] brings its commits to the clone in the user's
//! tree first. A clone is moved to another commit only after a reference holds the one
//! that it leaves.

use std::ffi::OsStr;

use super::commit::POINTER;
use super::{Git, GitError, path};

/// Where the commits of a submodule are kept, in the submodule itself.
const KEPT: &str = "refs/specum/";

impl Git {
    /// Brings the commits that these paths of a worktree point to into the submodules
    /// of this tree. Fails if a commit is nowhere else and has no place here.
    pub fn adopt_submodules(&self, worktree: &Git, paths: &[String]) -> Result<(), GitError> {
        if worktree.root == self.root {
            return Ok(());
        }
        let is_folder = |path: &&String| worktree.file(path).is_dir() && !path.ends_with('/');
        let folders: Vec<String> = paths.iter().filter(is_folder).cloned().collect();
        for path in worktree.pointers(folders)? {
            let (Some(theirs), ours) = (worktree.submodule(&path), self.submodule(&path)) else {
                continue;
            };
            let Some(commit) = theirs.head() else { continue };
            match ours {
                Some(ours) => ours.fetch_from(&theirs, &commit)?,
                None if theirs.is_published(&commit)? => {}
                None => {
                    let message = format!(
                        "{path} has commits that are nowhere else; `git submodule update --init \
                         {path}` in your tree gives them a place"
                    );
                    return Err(GitError::Said { command: "submodule".into(), message });
                }
            }
        }
        Ok(())
    }

    /// The clone that is checked out at a path, if there is one.
    fn submodule(&self, path: &str) -> Option<Git> {
        let root = self.file(path);
        root.join(".git").exists().then(|| Git::at(root))
    }

    fn fetch_from(&self, other: &Git, commit: &str) -> Result<(), GitError> {
        let source = format!("+HEAD:{KEPT}{commit}");
        let fetch = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"].map(OsStr::new);
        let what = [OsStr::new("--no-recurse-submodules"), other.root.as_os_str(), source.as_ref()];
        self.write(&[&fetch[..], &what[..]].concat(), &[])
    }

    /// Whether a commit came from where the submodule was cloned from, or was pushed
    /// there.
    fn is_published(&self, commit: &str) -> Result<bool, GitError> {
        let args = ["for-each-ref", "--count=1", "--contains", commit, "refs/remotes"];
        Ok(!self.read(&args)?.trim().is_empty())
    }

    /// The submodules that a tree points to another commit of than HEAD does.
    pub(super) fn moved_pointers(&self, tree: &str) -> Result<Vec<(String, String)>, GitError> {
        let args = ["diff-tree", "-r", "--raw", "-z", "--no-renames", "--no-abbrev", "HEAD", tree];
        let said = self.read_bytes(&args)?;
        let mut fields = said.split(|byte| *byte == 0);
        let mut moved = Vec::new();
        // `:160000 160000 <commit> <commit> M`, and then the path.
        while let (Some(about), Some(path)) = (fields.next(), fields.next()) {
            let about = String::from_utf8_lossy(about);
            if let [_, POINTER, _, commit, ..] = about.split(' ').collect::<Vec<_>>()[..] {
                moved.push((path::text(path), commit.to_owned()));
            }
        }
        Ok(moved)
    }

    /// Checks a commit out in a submodule, if the submodule is checked out at all.
    pub(super) fn move_submodule(&self, path: &str, commit: &str) -> Result<(), GitError> {
        let Some(submodule) = self.submodule(path) else { return Ok(()) };
        match submodule.head() {
            Some(head) if head == commit => return Ok(()),
            Some(head) => submodule.point(&format!("{KEPT}{head}"), &head)?,
            None => {}
        }
        // Its hooks are not part of the task.
        let args = ["-c", "core.hooksPath=/dev/null", "checkout", "--quiet", "--detach", commit];
        submodule.write(&args, &[])
    }

    /// Moves those of these paths that are submodules back to where HEAD points.
    pub(super) fn move_submodules_back(&self, paths: &[&String]) -> Result<(), GitError> {
        let is_checked_out = |path: &&&String| self.submodule(path).is_some();
        let folders: Vec<String> =
            paths.iter().filter(is_checked_out).map(|path| (*path).clone()).collect();
        if folders.is_empty() {
            return Ok(());
        }
        let args = super::with_paths(&["ls-tree", "-z", "HEAD", "--"], &folders);
        // `160000 commit <commit>`, a tab, and the path.
        for line in path::listed(&self.read_of(&args)?) {
            let Some((about, path)) = line.split_once('\t') else { continue };
            if let [POINTER, _, commit] = about.split(' ').collect::<Vec<_>>()[..] {
                // One with changes that are not committed in it stays as it is.
                let _ = self.move_submodule(path, commit);
            }
        }
        Ok(())
    }
}
