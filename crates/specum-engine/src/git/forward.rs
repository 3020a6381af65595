//! The way of a commit that was made in a worktree into the user's tree, whose owner
//! may be at work there.
//!
//! A file that the user has changed, staged or made is never written: if one is in
//! the way, nothing is changed at all. Files come first and the branch last, and only
//! if it is still where it was. So a process that is interrupted in between has nothing in the
//! tree but what the same commit brings once more.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::commit::{EXECUTABLE, NOTHING, PLAIN};
use super::work::run_as_specum;
use super::{Git, GitError, Merge, line_of, os, own_folder, path, with_paths};
use crate::failpoint;
use crate::files;

/// The mode of a link.
const LINK: &str = "120000";

/// What became of a user's tree that was to follow a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forward {
    /// Branch, index and files are at the commit.
    Done,
    /// The branch has another newest commit by now. Nothing is changed.
    Moved,
    /// These files have changes of the user's. Nothing is changed.
    InTheWay(Vec<String>),
}

/// What a commit makes of one path.
#[derive(Debug)]
struct Change {
    path: String,
    /// Mode and object before and afterwards.
    was: (String, String),
    now: (String, String),
}

/// What stands in the user's tree of the changes that it is to follow.
struct ChangesInTree<'c> {
    /// What the user has changed of it.
    theirs: Vec<String>,
    /// What is there already.
    there: Vec<&'c Change>,
}

impl Git {
    /// The commit that another one was made on; `None` for a first one.
    pub fn parent_of(&self, commit: &str) -> Option<String> {
        let parent = format!("{commit}^");
        let parent = self.read(&["rev-parse", "--verify", "--quiet", &parent]).ok()?;
        Some(parent.trim().to_owned())
    }

    /// What a commit has changed, done to another one instead. Unlike a merge it
    /// brings nothing else along, although the history was rewritten meanwhile.
    pub fn transplant(&self, commit: &str, onto: &str) -> Result<Merge, GitError> {
        let Some(base) = self.parent_of(commit) else { return self.merge_commits(onto, commit) };
        if self.descends(onto, &base)? {
            return self.merge_commits(onto, commit);
        }
        // git finds the base of a merge by the history; here is one that says it.
        let base = self.commit_tree(&base, None, "base")?;
        let onto = self.commit_tree(onto, Some(&base), "onto")?;
        let commit = self.commit_tree(commit, Some(&base), "commit")?;
        self.merge_commits(&onto, &commit)
    }

    /// A commit of ours with the files of another one, or of a tree.
    pub fn commit_tree(
        &self,
        files: &str,
        parent: Option<&str>,
        message: &str,
    ) -> Result<String, GitError> {
        let files = format!("{files}^{{tree}}");
        let mut args = vec!["commit-tree", &files, "-m", message];
        args.extend(parent.iter().flat_map(|parent| ["-p", parent]));
        run_as_specum(self.command(&args), &args, &[])
    }

    /// Whether a path is a worktree of this repository, and nothing that somebody has
    /// put in its place.
    pub fn has_worktree(&self, path: &Path) -> bool {
        let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
        let is_linked = path.join(".git").symlink_metadata().is_ok_and(|found| found.is_file());
        if !is_folder || !is_linked {
            return false;
        }
        let common = self.read_bytes(&["rev-parse", "--path-format=absolute", "--git-common-dir"]);
        let all = common.map(|said| PathBuf::from(os::text(line_of(&said))).join("worktrees"));
        let all = all.ok().and_then(|all| all.canonicalize().ok());
        let own = own_folder(path).and_then(|own| own.parent()?.canonicalize().ok());
        own.is_some() && own == all
    }

    /// Lets a worktree be on no branch at a commit, with its files, and undoes
    /// whatever is changed in files that git tracks.
    pub fn reset_to(&self, commit: &str) -> Result<(), GitError> {
        // Nobody works here any more, so a lock was left by a git that was ended.
        for lock in ["index.lock", "HEAD.lock"] {
            files::remove(&self.directory()?.join(lock))?;
        }
        // The agent that worked here may be on a branch, which is to stay where it is.
        self.write(&["update-ref", "--no-deref", "HEAD", commit], &[])?;
        self.write(&["reset", "--quiet", "--hard"], &[])
    }

    /// Lets a worktree be at a commit with the files of another one, all of whose
    /// changes are staged.
    pub fn stage_on(&self, commit: &str, files: &str) -> Result<(), GitError> {
        self.reset_to(files)?;
        self.write(&["update-ref", "--no-deref", "HEAD", commit], &[])
    }

    /// Lets the files of a worktree have what another commit has changed, and leaves
    /// the index alone; `false` if that does not fit.
    pub fn apply(&self, commit: &str) -> Result<bool, GitError> {
        let Merge::Clean(tree) = self.transplant(commit, "HEAD")? else { return Ok(false) };
        self.write(&["read-tree", "-m", "-u", "HEAD", &tree], &[])?;
        self.write(&["reset", "--quiet"], &[])?;
        Ok(true)
    }

    /// The paths that differ between two commits.
    pub fn changed_between(&self, from: &str, to: &str) -> Result<Vec<String>, GitError> {
        Ok(self.changes_between(from, to)?.into_iter().map(|change| change.path).collect())
    }

    /// The files that git tracks in this tree.
    pub fn tracked(&self) -> Result<HashSet<PathBuf>, GitError> {
        let list = path::listed(&self.read_bytes(&["ls-files", "-z"])?);
        Ok(list.iter().map(|path| self.file(path)).collect())
    }

    /// Those of the paths that a commit changes which the user has changed, staged or
    /// made. `own` are specum's, which the user's tree has as the commit does.
    pub fn in_the_way(
        &self,
        from: &str,
        commit: &str,
        own: &[String],
    ) -> Result<Vec<String>, GitError> {
        Ok(self.look_at(&self.changes_between(from, commit)?, own)?.theirs)
    }

    /// Lets branch, index and files of the user's tree go from one commit to the next.
    /// Of `own` the files are left alone: they may have been changed again since.
    pub fn fast_forward(&self, from: &str, to: &str, own: &[String]) -> Result<Forward, GitError> {
        let changes = self.changes_between(from, to)?;
        let seen = self.look_at(&changes, own)?;
        if !seen.theirs.is_empty() {
            return Ok(Forward::InTheWay(seen.theirs));
        }
        if self.head().as_deref() != Some(from) {
            return Ok(Forward::Moved);
        }
        // git would refuse to go on from a file that differs from the index.
        self.set_index(&seen.there)?;
        // git compares times first, and a file that was only touched would be in the
        // way. It fails for files that are changed, which is no matter.
        let _ = self.write(&["update-index", "-q", "--refresh"], &[]);
        if let Err(error) = self.write(&["read-tree", "-m", "-u", from, to], &[]) {
            // Somebody was faster, or there is no room.
            let theirs = self.look_at(&changes, own)?.theirs;
            return if theirs.is_empty() { Err(error) } else { Ok(Forward::InTheWay(theirs)) };
        }
        failpoint::reached("before the branch follows");
        let why = format!("specum: {}", self.subject_of(to)?);
        let Err(error) = self.write(&["update-ref", "-m", &why, "HEAD", to, from], &[]) else {
            return Ok(Forward::Done);
        };
        let has_moved = self.head().as_deref() != Some(from);
        self.write(&["read-tree", "-m", "-u", to, from], &[])?;
        if has_moved { Ok(Forward::Moved) } else { Err(error) }
    }

    fn subject_of(&self, commit: &str) -> Result<String, GitError> {
        Ok(self.read(&["log", "-1", "--format=%s", commit])?.trim().to_owned())
    }

    fn changes_between(&self, from: &str, to: &str) -> Result<Vec<Change>, GitError> {
        let said =
            self.read_bytes(&["diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", from, to])?;
        let mut fields = said.split(|byte| *byte == 0);
        let mut changes = Vec::new();
        // `:100644 100755 <object> <object> M`, and then the path.
        while let (Some(about), Some(path)) = (fields.next(), fields.next()) {
            let about = String::from_utf8_lossy(about);
            if let [was, now, before, after, ..] = about.split(' ').collect::<Vec<_>>()[..] {
                changes.push(Change {
                    path: path::text(path),
                    was: (was.trim_start_matches(':').to_owned(), before.to_owned()),
                    now: (now.to_owned(), after.to_owned()),
                });
            }
        }
        Ok(changes)
    }

    /// Looks at the user's tree before it is changed. A path is the user's if it is
    /// neither as it was nor as it is to be, in the index or in the files.
    fn look_at<'c>(
        &self,
        changes: &'c [Change],
        own: &[String],
    ) -> Result<ChangesInTree<'c>, GitError> {
        let status = self.status()?;
        let changed: HashSet<&String> = status.changed.iter().collect();
        let staged: HashSet<&String> = status.staged.iter().collect();
        let all: HashSet<&str> = changes.iter().map(|change| change.path.as_str()).collect();
        let (own, others): (Vec<&Change>, Vec<&Change>) =
            changes.iter().partition(|change| own.contains(&change.path));
        let in_index =
            self.index_of(others.iter().filter(|change| staged.contains(&change.path)))?;
        // Where git has conflicts to be resolved it changes nothing at all.
        let mut seen = ChangesInTree { theirs: self.unmerged()?, there: own };
        for change in others {
            let path = &change.path;
            let is_as_in_index = match in_index.get(path.as_str()) {
                Some(in_index) => *in_index == change.now,
                None => change.now.0 == NOTHING,
            };
            if staged.contains(path) && !is_as_in_index {
                seen.theirs.push(path.clone());
            } else if changed.contains(path) || self.is_taken(change, &all) {
                match self.is_in_files(path, &change.now) {
                    true => seen.there.push(change),
                    false => seen.theirs.push(path.clone()),
                }
            }
        }
        seen.theirs.sort();
        seen.theirs.dedup();
        Ok(seen)
    }

    /// The paths whose conflicts are not resolved.
    fn unmerged(&self) -> Result<Vec<String>, GitError> {
        let said = path::listed(&self.read_bytes(&["ls-files", "-z", "--unmerged"])?);
        Ok(said.iter().filter_map(|line| Some(line.split_once('\t')?.1.to_owned())).collect())
    }

    /// Whether something lies where a new file is to be, perhaps ignored: the file
    /// itself, a file in place of a folder above it, or a folder with files that the
    /// commit does not take away.
    fn is_taken(&self, change: &Change, all: &HashSet<&str>) -> bool {
        let path = change.path.as_str();
        if change.was.0 != NOTHING {
            return false;
        }
        let is_no_folder = |above: &str| {
            let found = self.file(above).symlink_metadata();
            found.is_ok_and(|found| !found.is_dir()) && !all.contains(above)
        };
        if path.match_indices('/').any(|(at, _)| is_no_folder(&path[..at])) {
            return true;
        }
        let file = self.file(path);
        match file.symlink_metadata() {
            Ok(found) if found.is_dir() => has_files_beside(&self.root, &file, all),
            found => found.is_ok(),
        }
    }

    /// Whether the files have a path as a commit has it.
    fn is_in_files(&self, path: &str, (mode, object): &(String, String)) -> bool {
        let file = self.file(path);
        let Ok(found) = file.symlink_metadata() else { return mode == NOTHING };
        if found.is_symlink() {
            let target = fs::read_link(&file).unwrap_or_default();
            let blob = self.read_of(&["cat-file", "blob", object]).ok();
            return mode == LINK && blob.as_deref() == Some(target.as_os_str().as_encoded_bytes());
        }
        let is_file = found.is_file() && matches!(mode.as_str(), PLAIN | EXECUTABLE);
        if !is_file || os::is_program(&file) != (mode == EXECUTABLE) {
            return false;
        }
        let hash = self.read_of(&with_paths(&["hash-object", "--"], &[path.to_owned()]));
        hash.is_ok_and(|hash| String::from_utf8_lossy(&hash).trim() == object)
    }

    /// What the index has at some paths: mode and object.
    fn index_of<'c>(
        &self,
        changes: impl Iterator<Item = &'c &'c Change>,
    ) -> Result<HashMap<String, (String, String)>, GitError> {
        let mut index = HashMap::new();
        let paths: Vec<String> = changes.map(|change| change.path.clone()).collect();
        // A command line has an end.
        for some in paths.chunks(100) {
            let said = self.read_of(&with_paths(&["ls-files", "-z", "--stage", "--"], some))?;
            for line in path::listed(&said) {
                // `100644 <object> 0`, a tab and the path.
                if let Some((about, path)) = line.split_once('\t')
                    && let [mode, object, _] = about.split(' ').collect::<Vec<_>>()[..]
                {
                    index.insert(path.to_owned(), (mode.to_owned(), object.to_owned()));
                }
            }
        }
        Ok(index)
    }

    /// Lets the index have some paths as they are to be.
    fn set_index(&self, changes: &[&Change]) -> Result<(), GitError> {
        if changes.is_empty() {
            return Ok(());
        }
        let mut list = Vec::new();
        for Change { path, now: (mode, object), .. } in changes {
            list.extend_from_slice(format!("{mode} {object}\t").as_bytes());
            list.extend(path::joined([path]));
        }
        self.write(&["update-index", "-z", "--index-info"], &list)
    }
}

/// Whether a folder has a file that is not among these paths, as far as that can be
/// told: one that cannot be read may have any.
fn has_files_beside(root: &Path, folder: &Path, all: &HashSet<&str>) -> bool {
    let Ok(entries) = files::entries(folder) else { return true };
    entries.into_iter().any(|path| {
        if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return has_files_beside(root, &path, all);
        }
        let below = path.strip_prefix(root).map(path::shown).unwrap_or_default();
        !all.contains(below.as_str())
    })
}
