//! What commits have changed, in numbers and for a person to read.

use std::collections::HashMap;
use std::ffi::OsString;

use specum_core::patch::{self, Patch};

use super::{Git, GitError, path};
use crate::process;

/// So many commits are asked for at once.
const AT_ONCE: usize = 250;

/// A file that a commit has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Where it is, from the root of the work tree.
    pub path: String,
    /// How many lines were added and removed; `None` if it is no text.
    pub lines: Option<(u64, u64)>,
}

impl Git {
    /// The files that each of these commits has changed, by the commit's id.
    pub fn changed_in(
        &self,
        commits: &[&str],
    ) -> Result<HashMap<String, Vec<ChangedFile>>, GitError> {
        let args = ["diff-tree", "--stdin", "-r", "--root", "--numstat", "-z", "--no-renames"];
        let list: String = commits.iter().map(|commit| format!("{commit}\n")).collect();
        let mut command = self.command(&args);
        command.env("GIT_OPTIONAL_LOCKS", "0");
        let run = process::run(command, list.as_bytes(), super::BOUNDS);
        if run.cut || !run.succeeded() {
            return Err(super::said(&args, &run));
        }
        Ok(by_commit(&run.stdout))
    }

    /// What each of these commits has changed, but for some files, by the commit's id. A
    /// commit that is gone is not in the answer, nor is one that no room was left for.
    pub fn patches_in(
        &self,
        commits: &[&str],
        without: &[String],
    ) -> Result<HashMap<String, Patch>, GitError> {
        let args = [
            "diff-tree",
            "--stdin",
            "-r",
            "-p",
            "--root",
            "-M",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--src-prefix=a/",
            "--dst-prefix=b/",
            "--submodule=short",
            "--format=%x00%H%x00%s",
        ];
        let mut found = HashMap::new();
        for commits in commits.chunks(AT_ONCE) {
            let list: String = commits.iter().map(|commit| format!("{commit}\n")).collect();
            let mut command = self.command_with(&[], &args);
            command.env("GIT_OPTIONAL_LOCKS", "0").args(["--", ":(top)"]);
            command.args(without.iter().map(|path| all_but(path)));
            let run = process::run(command, list.as_bytes(), super::BOUNDS);
            if !run.succeeded() {
                return Err(super::said(&args, &run));
            }
            let mut patches = patch::by_commit(&run.stdout);
            // Of what is too much, the beginning is missing.
            if run.cut {
                patches.remove("");
            }
            found.extend(patches);
        }
        Ok(found)
    }

    /// The commit that a reference leads to.
    pub fn commit_at(&self, reference: &str) -> Result<String, GitError> {
        let name = format!("{reference}^{{commit}}");
        Ok(self.read(&["rev-parse", "--verify", "--end-of-options", &name])?.trim().to_owned())
    }

    /// Shows what a commit has changed on standard output, but for some files: on a
    /// terminal with the pager and the colours that the user has set for git.
    pub fn show(&self, commit: &str, without: &[String]) -> Result<(), GitError> {
        let mut command = self.command_with(&[], &["show", "--format=", commit, "--", ":(top)"]);
        for path in without {
            command.arg(all_but(path));
        }
        let shown = process::hand_over(command);
        let why = match shown {
            Ok(status) if status.success() => return Ok(()),
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        Err(GitError::Said { command: "show".to_owned(), message: why })
    }
}

/// What leaves a path out.
fn all_but(path: &str) -> OsString {
    let mut pattern = OsString::from(":(top,exclude,literal)");
    pattern.push(path::file(path));
    pattern
}

/// Takes apart what git prints with `-z`: the id of a commit, then for each of its files
/// `<added> <removed> <path>` with tabs, all ended by a NUL.
fn by_commit(printed: &[u8]) -> HashMap<String, Vec<ChangedFile>> {
    let mut commits: HashMap<String, Vec<ChangedFile>> = HashMap::new();
    let mut commit = String::new();
    for item in printed.split(|byte| *byte == 0).filter(|item| !item.is_empty()) {
        let mut parts = item.splitn(3, |byte| *byte == b'\t');
        let first = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
        let (Some(removed), Some(path)) = (parts.next(), parts.next()) else {
            commit = first.trim().to_owned();
            continue;
        };
        let removed = String::from_utf8_lossy(removed).parse().ok();
        let lines = first.trim().parse().ok().zip(removed);
        let path = path::listed(path).pop().unwrap_or_default();
        commits.entry(commit.clone()).or_default().push(ChangedFile { path, lines });
    }
    commits
}
