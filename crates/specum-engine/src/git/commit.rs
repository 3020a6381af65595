//! A task's commit: what index and files say of its paths, and nothing else.
//!
//! It is made from a copy of the index, so what somebody else has staged, or
//! stages while a hook works, is not taken along and stays staged. A hook may
//! change what is committed; index and files follow it then.

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::path::Path;
use std::time::SystemTime;

use super::{Git, GitError, Status, path};
use crate::clock;
use crate::failpoint;
use crate::files::FileError;

/// The mode of a submodule's pointer, and of what is not there.
pub(super) const POINTER: &str = "160000";
pub(super) const NOTHING: &str = "000000";
/// The modes of files.
pub(super) const PLAIN: &str = "100644";
pub(super) const EXECUTABLE: &str = "100755";

/// What a commit came to.
#[derive(Debug)]
pub struct Committed {
    /// The commit; `None` if there was nothing to commit.
    pub id: Option<String>,
    /// What hooks have changed of it.
    pub by_hooks: Vec<String>,
    /// The work tree afterwards.
    pub status: Status,
}

/// What the index says of a path, and differs in from a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Staged {
    pub(super) path: String,
    /// Mode and object of the commit.
    was: (String, String),
    /// The mode in the index.
    mode: String,
}

impl Staged {
    /// From the fields of an entry of `git status --porcelain=v2`; `None` if the path
    /// is in conflict.
    pub(super) fn of_status(path: &str, fields: &[&[u8]]) -> Option<Staged> {
        let [b"1", _, _, was, mode, _, object, ..] = fields else { return None };
        let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
        Some(Staged { path: path.to_owned(), was: (text(was), text(object)), mode: text(mode) })
    }
}

/// How paths get into an index so that it says what files and index say of them.
#[derive(Default)]
pub(super) struct Staging {
    /// As the file is.
    plain: Vec<String>,
    /// As the file is, but for whether it can be run.
    executable: Vec<String>,
    not_executable: Vec<String>,
    /// Not at all: dropped from the index, and ignored.
    dropped: Vec<String>,
}

impl Staging {
    /// What git is to be asked for.
    pub(super) fn calls(&self) -> Vec<(Vec<&'static str>, Vec<u8>)> {
        // Replaced, because a folder may have taken the place of a file.
        let update = |more: &[&'static str]| -> Vec<&'static str> {
            let update = ["update-index", "--add", "--remove", "--replace"];
            [&update[..], more, &["-z", "--stdin"]].concat()
        };
        let drop = ["update-index", "--force-remove", "-z", "--stdin"];
        let calls = [
            (update(&[]), &self.plain),
            (update(&["--chmod=+x"]), &self.executable),
            (update(&["--chmod=-x"]), &self.not_executable),
            (drop.to_vec(), &self.dropped),
        ];
        let asked = calls.into_iter().filter(|(_, paths)| !paths.is_empty());
        asked.map(|(args, paths)| (args, path::joined(paths))).collect()
    }
}

/// Whether git might take a line for a comment. `core.commentChar` may be any
/// character.
fn has_line_like_comment(message: &str) -> bool {
    message.lines().any(|line| line.starts_with(|first: char| !first.is_alphanumeric()))
}

impl Git {
    /// Commits these paths and nothing else.
    ///
    /// [`GitError::Refused`] says that there is no commit; after any other error
    /// there may be one.
    pub fn commit(&self, paths: &[String], message: &str) -> Result<Committed, GitError> {
        self.refuse_half_done().map_err(|error| GitError::Refused {
            command: "commit".into(),
            message: error.to_string(),
        })?;
        // By the files' own times: the clock may be set while a hook works.
        let times: HashMap<&String, Option<SystemTime>> =
            paths.iter().map(|path| (path, self.changed_at(path))).collect();
        let began = SystemTime::from(clock::now());
        let is_untouched = |path: &String| match times.get(path) {
            Some(before) => *before == self.changed_at(path),
            None => self.changed_at(path) <= Some(began),
        };
        let before = match self.known_staged() {
            Some(staged) => staged,
            None => self.staged_since(None).map_err(GitError::refusal)?,
        };
        let added = self.stage(paths, &before).map_err(GitError::refusal)?;
        failpoint::reached("after staging");
        let ours: HashSet<&String> = paths.iter().collect();
        let others: Vec<&Staged> =
            before.iter().filter(|staged| !ours.contains(&staged.path)).collect();
        let mut by_hooks = Vec::new();
        if let Err(error) = self.commit_index(&others, message) {
            let status = self.status()?;
            let is_ours = |path: &&String| ours.contains(path);
            if !status.staged.iter().any(|path| is_ours(&path)) {
                // git refuses to commit nothing.
                return Ok(Committed { id: None, by_hooks, status });
            }
            // A hook that fixes files lets the commit fail, and the next one of
            // what it has made of them pass.
            by_hooks.extend(
                status
                    .unstaged
                    .iter()
                    .filter(is_ours)
                    .filter(|path| !status.dirty_submodules.contains(path))
                    .cloned(),
            );
            if by_hooks.is_empty() || error.means_busy() {
                return Err(error.refusal());
            }
            self.stage(&by_hooks, &self.staged_since(None)?).map_err(GitError::refusal)?;
            self.commit_index(&others, message).map_err(GitError::refusal)?;
        }
        failpoint::reached("after git commit");
        let mut committed = self.committed("HEAD", paths, is_untouched)?;
        self.learn_committed(added);
        by_hooks.extend(committed.by_hooks);
        by_hooks.sort();
        by_hooks.dedup();
        committed.by_hooks = by_hooks;
        Ok(committed)
    }

    /// What a commit came to. Where its hooks have changed it, index and files
    /// follow: the index that they saw was a copy, and what is in the real one would
    /// undo their work with the next commit. Files do only if nobody has touched
    /// them since the commit was begun.
    pub fn committed(
        &self,
        commit: &str,
        ours: &[String],
        is_untouched: impl Fn(&String) -> bool,
    ) -> Result<Committed, GitError> {
        let status = self.status()?;
        let mut by_hooks = Vec::new();
        if !status.staged.is_empty() {
            let args = ["diff-tree", "-r", "--root", "--no-commit-id", "--name-only", "-z"];
            let made = self.read_bytes(&[&args[..], &["--no-renames", commit]].concat())?;
            let made: HashSet<String> = path::listed(&made).into_iter().collect();
            // What a hook has made as it was before is not in the commit at all.
            let is_of_it = |path: &&String| made.contains(*path) || ours.contains(path);
            by_hooks.extend(status.staged.iter().filter(is_of_it).cloned());
        }
        if by_hooks.is_empty() {
            return Ok(Committed { id: status.head.clone(), by_hooks, status });
        }
        let restore = |what: &[&str], paths: &[String]| match paths {
            [] => Ok(()),
            paths => {
                let from_list = ["--pathspec-from-file=-", "--pathspec-file-nul"];
                let args = [&["restore", "--source=HEAD"], what, &from_list].concat();
                self.write(&args, &path::joined(paths))
            }
        };
        // Files that are as we have staged them: nothing is in them that somebody
        // could miss.
        let is_as_staged = |path: &String| !status.unstaged.contains(path) && is_untouched(path);
        let (as_staged, others): (Vec<String>, Vec<String>) =
            by_hooks.iter().cloned().partition(is_as_staged);
        // Index and files in one call: once the index agrees with the commit, nothing
        // tells any more that the files have to follow.
        restore(&["--staged", "--worktree"], &as_staged)?;
        restore(&["--staged"], &others)?;
        let status = self.status()?;
        Ok(Committed { id: status.head.clone(), by_hooks, status })
    }

    /// When a file was changed last; `None` if it is not there.
    pub fn changed_at(&self, path: &str) -> Option<SystemTime> {
        self.file(path).symlink_metadata().and_then(|file| file.modified()).ok()
    }

    /// Where the index differs from a commit, or from HEAD.
    pub(super) fn staged_since(&self, commit: Option<&str>) -> Result<Vec<Staged>, GitError> {
        let mut args = vec!["diff", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev"];
        args.push("--ignore-submodules=none");
        args.extend(commit);
        let said = self.read_bytes(&args)?;
        let mut fields = said.split(|byte| *byte == 0);
        let mut staged = Vec::new();
        // `:100644 100755 <object> <object> M`, and then the path.
        while let (Some(about), Some(path)) = (fields.next(), fields.next()) {
            let about = String::from_utf8_lossy(about);
            if let [was, mode, object, ..] = about.split(' ').collect::<Vec<_>>()[..] {
                staged.push(Staged {
                    path: path::text(path),
                    was: (was.trim_start_matches(':').to_owned(), object.to_owned()),
                    mode: mode.to_owned(),
                });
            }
        }
        Ok(staged)
    }

    /// How these paths are staged as files and index have them.
    pub(super) fn staging(&self, paths: &[String], staged: &[Staged]) -> Result<Staging, GitError> {
        let modes: HashMap<&str, (&str, &str)> = staged
            .iter()
            .map(|staged| (staged.path.as_str(), (staged.was.0.as_str(), staged.mode.as_str())))
            .collect();
        let mut staging = Staging::default();
        let mut folders = Vec::new();
        let mut gone = Vec::new();
        // A nested repository is no path of ours.
        for path in paths.iter().filter(|path| !path.ends_with('/')) {
            let file = self.file(path).symlink_metadata();
            if file.as_ref().is_ok_and(std::fs::Metadata::is_dir) {
                folders.push(path.clone());
                continue;
            }
            let is_file = file.as_ref().is_ok_and(std::fs::Metadata::is_file);
            let to = match modes.get(path.as_str()) {
                Some((_, NOTHING)) if file.is_ok() => &mut gone,
                // A mode that only the index has is meant.
                Some((NOTHING | PLAIN, EXECUTABLE)) if is_file => &mut staging.executable,
                Some((EXECUTABLE, PLAIN)) if is_file => &mut staging.not_executable,
                _ => &mut staging.plain,
            };
            to.push(path.clone());
        }
        // One that is dropped and not ignored would be in the next commit.
        let ignored = self.ignored(&gone)?;
        let (dropped, kept) = gone.into_iter().partition(|path| ignored.contains(path));
        staging.dropped = dropped;
        staging.plain.extend::<Vec<String>>(kept);
        staging.plain.extend(self.pointers(folders)?);
        Ok(staging)
    }

    /// Those of some folders that are submodules. A folder that has taken the
    /// place of a file comes with what is in it; by its own name git would look
    /// for a repository there.
    pub(super) fn pointers(&self, mut folders: Vec<String>) -> Result<Vec<String>, GitError> {
        if folders.is_empty() {
            return Ok(folders);
        }
        let known = self.read_bytes(&["ls-files", "-z", "--stage"])?;
        let pointers: HashSet<String> = path::listed(&known)
            .iter()
            .filter_map(|line| line.strip_prefix(POINTER)?.split_once('\t'))
            .map(|(_, path)| path.to_owned())
            .collect();
        folders.retain(|path| pointers.contains(path));
        Ok(folders)
    }

    /// Stages these paths as files and index have them, and tells which of them are
    /// in the index then.
    fn stage(&self, paths: &[String], staged: &[Staged]) -> Result<Vec<String>, GitError> {
        let staging = self.staging(paths, staged)?;
        staging.calls().into_iter().try_for_each(|(args, list)| self.write(&args, &list))?;
        let is_there = |path: &String| self.file(path).symlink_metadata().is_ok();
        Ok(staging.plain.into_iter().filter(is_there).collect())
    }

    /// Commits the index, but for what others have staged.
    fn commit_index(&self, others: &[&Staged], message: &str) -> Result<(), GitError> {
        let scratch = self.scratch_index()?;
        let index = scratch.path().join("index");
        let real = self.directory()?.join("index");
        match std::fs::copy(&real, &index) {
            // Nothing was ever staged.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            copied => drop(copied.map_err(|error| FileError::new("copy", &real, error))?),
        }
        if !others.is_empty() {
            let mut list = Vec::new();
            for Staged { path, was: (mode, object), .. } in others {
                list.extend_from_slice(format!("{mode} {object}\t").as_bytes());
                list.extend(path::joined([path]));
            }
            let args = ["update-index", "-z", "--index-info"];
            self.write_with_index(&index, &args, &list)?;
        }
        let mut args = vec!["commit", "--quiet", "-m", message];
        if has_line_like_comment(message) {
            // `commit.cleanup` may be set to strip such lines.
            args.push("--cleanup=whitespace");
        }
        // Without `--literal-pathspecs`, which the user's hooks would inherit.
        self.write_with_index(&index, &args, &[])
    }

    fn write_with_index(&self, index: &Path, args: &[&str], input: &[u8]) -> Result<(), GitError> {
        let command = || {
            let mut command = self.command_with(&[], args);
            command.env("GIT_INDEX_FILE", index);
            command
        };
        self.write_by(command, args, input)
    }
}
