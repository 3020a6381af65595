//! Work that is not in the user's tree yet, or not any more: worktrees, commits
//! under references of our own, and their way into the tree.
//!
//! Nothing here touches the user's index or files but [`Git::put_in`] and
//! [`Git::take_out`], and these only the paths of one task and the submodules among
//! them.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::MutexGuard;

use super::{BOUNDS, Git, GitError, os, path, said, with_paths};
use crate::files::{self, FileError};
use crate::process;

/// How the directories of scratch indices are called.
const SCRATCH_PREFIX: &str = "specum-index-";

/// A checkout of its own for one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// Where it is.
    pub path: PathBuf,
}

/// What became of two lines of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merge {
    /// They fit: this tree holds both.
    Clean(String),
    /// They do not.
    Conflict {
        /// Where.
        paths: Vec<String>,
        /// The tree with both versions of each conflict in it.
        tree: String,
    },
}

impl Git {
    fn worktrees(&self) -> MutexGuard<'_, ()> {
        self.worktrees.lock().expect("no holder panics")
    }

    /// Checks a commit out into a directory of its own, on no branch.
    pub fn add_worktree(&self, path: &Path, commit: &str) -> Result<Git, GitError> {
        let tree = Git::at(path.to_owned());
        {
            let _alone = self.worktrees();
            // Forced, because a directory that is gone may still be registered,
            // and twice, because one that was just being made is locked.
            let force = ["worktree", "add", "--force", "--force"].map(OsStr::new);
            let how = ["--quiet", "--detach", "--no-checkout"].map(OsStr::new);
            let what = [path.as_os_str(), OsStr::new(commit)];
            self.write(&[&force[..], &how[..], &what[..]].concat(), &[])?;
        }
        // The files take the longest, and nothing has to wait for them.
        tree.write(&["reset", "--quiet", "--hard"], &[])?;
        Ok(tree)
    }

    /// Removes a worktree with everything in it.
    pub fn remove_worktree(&self, path: &Path) -> Result<(), GitError> {
        let _alone = self.worktrees();
        // Twice forced: one that was being made when we were killed is locked.
        let remove = ["worktree", "remove", "--force", "--force"].map(OsStr::new);
        if self.write(&[&remove[..], &[path.as_os_str()]].concat(), &[]).is_ok() {
            return Ok(());
        }
        if path.exists() {
            std::fs::remove_dir_all(path).map_err(|error| FileError::new("remove", path, error))?;
        }
        self.write(&["worktree", "prune", "--expire=now"], &[])
    }

    /// The worktrees below a directory.
    pub fn worktrees_below(&self, directory: &Path) -> Result<Vec<Worktree>, GitError> {
        // git tells where they are without any link on the way.
        let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        let _alone = self.worktrees();
        let list = self.read_bytes(&["worktree", "list", "--porcelain", "-z"])?;
        let lines = list.split(|byte| *byte == 0);
        let paths = lines.filter_map(|line| line.strip_prefix(b"worktree "));
        Ok(paths
            .map(|path| Worktree { path: PathBuf::from(os::text(path)) })
            .filter(|worktree| worktree.path.starts_with(&directory))
            .collect())
    }

    /// Lets a worktree and the repository find each other again, one of which has
    /// been moved.
    pub fn repair_worktree(&self, path: &Path) -> Result<(), GitError> {
        let _alone = self.worktrees();
        let repair = ["worktree", "repair"].map(OsStr::new);
        self.write(&[&repair[..], &[path.as_os_str()]].concat(), &[])
    }

    /// Removes what git knows of worktrees that it was only about to make when it
    /// was killed: they are locked, so nothing else ever does.
    pub fn remove_half_made(&self) -> Result<(), GitError> {
        let Some(common) = super::common_folder(&self.root) else { return Ok(()) };
        let known = common.join("worktrees");
        let is_begun = |path: &PathBuf| path.join("locked").exists() && !path.join("HEAD").exists();
        let begun = files::entries(&known)?.into_iter().filter(is_begun);
        let begun: Vec<PathBuf> = begun.collect();
        // Somebody else may be about to make one, from any worktree of the repository.
        let trees = if begun.is_empty() { Vec::new() } else { self.worktrees_below("/".as_ref())? };
        let mut places = vec![self.root.as_path(), &common];
        places.extend(trees.iter().map(|worktree| worktree.path.as_path()));
        let _alone = self.worktrees();
        if os::PROCESSES_ARE_SEEN && process::git_at_work(&places).is_none() {
            for path in begun.iter().filter(|path| is_begun(path)) {
                std::fs::remove_dir_all(path)
                    .map_err(|error| FileError::new("remove", path, error))?;
            }
        }
        // Empty, it is as if it had never been.
        let _ = std::fs::remove_dir(known);
        Ok(())
    }

    /// Keeps these paths, as they stand in the tree, as a commit on top of
    /// `base`, if there is one, under a reference. The index is left alone.
    pub fn keep(
        &self,
        base: Option<&str>,
        paths: &[String],
        reference: &str,
        message: &str,
    ) -> Result<String, GitError> {
        let commit = self.commit_paths(base, paths, message)?;
        self.point(reference, &commit)?;
        Ok(commit)
    }

    /// The same without a reference, until git collects garbage.
    pub fn commit_paths(
        &self,
        base: Option<&str>,
        paths: &[String],
        message: &str,
    ) -> Result<String, GitError> {
        let index = self.scratch_index()?;
        let index = index.path();
        self.write_in(index, &["read-tree", base.unwrap_or("--empty")], &[])?;
        let staging = self.staging(paths, &self.staged_since(base)?)?;
        for (args, list) in staging.calls() {
            self.write_in(index, &args, &list)?;
        }
        let tree = self.write_in(index, &["write-tree"], &[])?;
        let mut args = vec!["commit-tree", &tree, "-m", message];
        args.extend(base.iter().flat_map(|base| ["-p", base]));
        self.write_in(index, &args, &[])
    }

    /// A tree with the files of `onto`, in which these paths are as in `from`; one that
    /// `from` does not have is not in it.
    pub fn overlay(&self, onto: &str, from: &str, paths: &[String]) -> Result<String, GitError> {
        let index = self.scratch_index()?;
        let index = index.path();
        self.write_in(index, &["read-tree", onto], &[])?;
        let gone = ["rm", "--cached", "--quiet", "--force", "--ignore-unmatch"];
        let from_list = ["--pathspec-from-file=-", "--pathspec-file-nul"];
        if !paths.is_empty() {
            self.write_in(index, &[&gone[..], &from_list[..]].concat(), &path::joined(paths))?;
        }
        let entries = self.read_bytes(&["ls-tree", "-r", "-z", from])?;
        let is_meant = |entry: &&[u8]| {
            let tab = entry.iter().position(|byte| *byte == b'\t');
            tab.is_some_and(|tab| paths.contains(&path::text(&entry[tab + 1..])))
        };
        let meant: Vec<u8> = entries
            .split(|byte| *byte == 0)
            .filter(is_meant)
            .flat_map(|entry| [entry, b"\0"].concat())
            .collect();
        self.write_in(index, &["update-index", "-z", "--index-info"], &meant)?;
        self.write_in(index, &["write-tree"], &[])
    }

    /// What HEAD and another commit come to together.
    pub fn merge(&self, commit: &str) -> Result<Merge, GitError> {
        self.merge_commits("HEAD", commit)
    }

    /// What two commits come to together.
    pub(super) fn merge_commits(&self, one: &str, other: &str) -> Result<Merge, GitError> {
        let args = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", one, other];
        let run = process::run(self.command(&args), &[], BOUNDS);
        let mut fields = path::listed(&run.stdout).into_iter();
        match (&run.ended, fields.next()) {
            (specum_core::verify::ProcessEnd::Code(0), Some(tree)) => {
                Ok(Merge::Clean(tree.trim().to_owned()))
            }
            (specum_core::verify::ProcessEnd::Code(1), Some(tree)) => {
                Ok(Merge::Conflict { paths: fields.collect(), tree: tree.trim().to_owned() })
            }
            _ => Err(said(&args, &run)),
        }
    }

    /// The paths in which a tree differs from HEAD.
    pub fn differing(&self, tree: &str) -> Result<Vec<String>, GitError> {
        let args = ["diff-tree", "-r", "--name-only", "-z", "--no-renames", "HEAD", tree];
        Ok(path::listed(&self.read_bytes(&args)?))
    }

    /// How a tree differs from HEAD at these paths, to be read.
    pub fn difference(&self, tree: &str, paths: &[String]) -> Result<String, GitError> {
        let args = ["diff", "--no-color", "--no-ext-diff", "HEAD", tree, "--"];
        let shown = self.read_of(&with_paths(&args, paths))?;
        Ok(String::from_utf8_lossy(&shown).into_owned())
    }

    /// Puts a tree that was made from HEAD into index and files. Refuses, and
    /// changes nothing, if a path is changed already that the tree changes.
    pub fn put_in(&self, tree: &str) -> Result<(), GitError> {
        // git compares times first, and a file that was only touched would be
        // in the way. It fails for files that are changed, which is no matter.
        let _ = self.write(&["update-index", "-q", "--refresh"], &[]);
        let moved = self.moved_pointers(tree)?;
        self.write(&["read-tree", "-m", "-u", "HEAD", tree], &[])?;
        moved.iter().try_for_each(|(path, commit)| self.move_submodule(path, commit))
    }

    /// Lets these paths be as they are at HEAD, in index and files. A file that
    /// HEAD does not have is deleted, and with it every folder that it leaves
    /// empty.
    pub fn take_out(&self, paths: &[String]) -> Result<(), GitError> {
        let status = self.status()?;
        let at_head = match &status.head {
            Some(head) => self.read_bytes(&["ls-tree", "-r", "--name-only", "-z", head])?,
            None => Vec::new(),
        };
        let at_head: HashSet<String> = path::listed(&at_head).into_iter().collect();
        let in_index = self.read_bytes(&["ls-files", "-z"])?;
        let in_index: HashSet<String> = path::listed(&in_index).into_iter().collect();
        // A nested repository stays where it is: nothing has kept it.
        let (old, new): (Vec<&String>, Vec<&String>) = paths
            .iter()
            .filter(|path| !path.ends_with('/'))
            .partition(|path| at_head.contains(*path));
        let (staged, other): (Vec<&String>, Vec<&String>) =
            new.into_iter().partition(|path| in_index.contains(*path));
        // Those first: a folder may stand where a file was, or a file where a
        // folder was. What git overlooks is not ours.
        for path in staged.iter().chain(other.iter().filter(|path| status.changed.contains(path))) {
            self.delete(path)?;
        }
        let from_list = ["--pathspec-from-file=-", "--pathspec-file-nul"];
        if !staged.is_empty() {
            let forget = ["rm", "--cached", "--quiet", "--force", "--ignore-unmatch"];
            self.write(&[&forget, &from_list[..]].concat(), &path::joined(staged))?;
        }
        if !old.is_empty() {
            let restore = ["restore", "--source=HEAD", "--staged", "--worktree"];
            self.write(&[&restore, &from_list[..]].concat(), &path::joined(old.iter().copied()))?;
            self.move_submodules_back(&old)?;
        }
        Ok(())
    }

    fn delete(&self, path: &str) -> Result<(), GitError> {
        use std::io::ErrorKind::{NotADirectory, NotFound};
        let file = self.file(path);
        match std::fs::remove_file(&file) {
            Err(error) if !matches!(error.kind(), NotFound | NotADirectory) => {
                return Err(FileError::new("remove", &file, error).into());
            }
            _ => {}
        }
        // One that is not empty stays, and so does everything above it.
        for folder in file.ancestors().skip(1).take_while(|folder| **folder != *self.root) {
            if std::fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Whether the history of a branch, tag or remote has this content at a path.
    pub fn had_file(&self, file: &Path, path: &Path) -> Result<bool, GitError> {
        let hash = ["hash-object", "--no-filters", "--"].map(OsStr::new);
        let blob = self.read_of(&[&hash[..], &[file.as_os_str()]].concat())?;
        let object = format!("--find-object={}", String::from_utf8_lossy(&blob).trim());
        let log = ["log", "-1", "--format=%H", "--branches", "--tags", "--remotes", "HEAD"];
        let args = log.iter().copied().chain([object.as_str(), "--"]).map(OsStr::new);
        let found = self.read_of(&args.chain([path.as_os_str()]).collect::<Vec<_>>());
        // Before the first commit there is no HEAD.
        Ok(found.is_ok_and(|found| !found.trim_ascii().is_empty()))
    }

    /// The references below a prefix.
    pub fn references(&self, prefix: &str) -> Result<Vec<String>, GitError> {
        let list = self.read(&["for-each-ref", "--format=%(refname)", prefix])?;
        Ok(list.lines().map(str::to_owned).collect())
    }

    /// Lets a reference of ours name a commit.
    pub fn point(&self, reference: &str, commit: &str) -> Result<(), GitError> {
        self.write(&["update-ref", reference, commit], &[])
    }

    /// Deletes a reference that may already be gone.
    pub fn delete_reference(&self, reference: &str) -> Result<(), GitError> {
        self.write(&["update-ref", "-d", reference], &[])
    }

    /// A place for an index that is nobody's: where a later process finds
    /// it if we are killed, and where that of a worktree goes with it.
    pub(super) fn scratch_index(&self) -> Result<tempfile::TempDir, GitError> {
        let dir = self.directory()?;
        let made = tempfile::Builder::new().prefix(SCRATCH_PREFIX).tempdir_in(&dir);
        made.map_err(|error| FileError::new("create a directory in", &dir, error).into())
    }

    /// Removes what somebody has left who was killed while keeping work, or
    /// while excluding our files. For a process that is alone in the tree.
    pub fn remove_scratch(&self) -> Result<(), GitError> {
        let dir = self.directory()?;
        for path in files::entries(&dir)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(SCRATCH_PREFIX) {
                std::fs::remove_dir_all(&path)
                    .map_err(|error| FileError::new("remove", &path, error))?;
            }
        }
        match self.exclude_file()?.parent() {
            Some(info) => Ok(files::remove_temporaries(info)?),
            None => Ok(()),
        }
    }

    fn write_in(&self, index: &Path, args: &[&str], input: &[u8]) -> Result<String, GitError> {
        let mut command = self.command(args);
        command.env("GIT_INDEX_FILE", index.join("index"));
        run_as_specum(command, args, input)
    }
}

/// Runs a command that may make a commit of specum's own.
pub(super) fn run_as_specum(
    mut command: Command,
    args: &[&str],
    input: &[u8],
) -> Result<String, GitError> {
    // Ours, and never pushed: it must not fail for want of a name.
    for name in ["GIT_AUTHOR", "GIT_COMMITTER"] {
        command.env(format!("{name}_NAME"), "specum");
        command.env(format!("{name}_EMAIL"), "specum@localhost");
    }
    let run = process::run(command, input, BOUNDS);
    if run.succeeded() {
        Ok(String::from_utf8_lossy(&run.stdout).trim().to_owned())
    } else {
        Err(said(args, &run))
    }
}
