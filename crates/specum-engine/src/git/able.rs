//! What no agent can make possible is found before one is paid: whether anything
//! can be committed here at all.

use specum_core::verify::ProcessEnd;

use super::{BOUNDS, Git, GitError, line_of, said};
use crate::os;
use crate::process;

/// The first git that can merge without a work tree.
const NEEDED: (u32, u32) = (2, 38);

/// What may be half done in a repository: the file or folder that says so, what it
/// is, and how it is ended.
const HALF_DONE: [(&str, &str, &str); 5] = [
    ("MERGE_HEAD", "a merge", "git merge --abort"),
    ("CHERRY_PICK_HEAD", "a cherry-pick", "git cherry-pick --abort"),
    ("REVERT_HEAD", "a revert", "git revert --abort"),
    ("rebase-merge", "a rebase", "git rebase --abort"),
    ("rebase-apply", "a rebase or `git am`", "git rebase --abort"),
];

impl Git {
    /// Refuses, in git's own words, if git has no name to commit by.
    pub fn refuse_without_identity(&self) -> Result<(), GitError> {
        self.read(&["var", "GIT_AUTHOR_IDENT"])?;
        self.read(&["var", "GIT_COMMITTER_IDENT"]).map(drop)
    }

    /// Refuses where nothing can be committed whatever anybody does: nobody is
    /// known who could, or git's own folder cannot be written.
    pub fn refuse_unable_to_commit(&self) -> Result<(), GitError> {
        self.refuse_read_only()?;
        self.refuse_without_identity()
    }

    /// Refuses if git's own folder cannot be written, as in a host's sandbox.
    pub fn refuse_read_only(&self) -> Result<(), GitError> {
        let folder = self.root.join(".git");
        let folders = match folder.is_dir() {
            true => vec![folder],
            // In a linked worktree it is a file that names one folder, and the
            // objects are in another.
            false => {
                let common = self.read_bytes(&["rev-parse", "--git-common-dir"])?;
                vec![self.directory()?, self.root.join(os::text(line_of(&common)))]
            }
        };
        match folders.into_iter().find(|folder| !os::is_writable(folder)) {
            Some(folder) => Err(GitError::ReadOnly(folder)),
            None => Ok(()),
        }
    }

    /// Refuses a git that does not know what we ask of it.
    pub fn refuse_old(&self) -> Result<(), GitError> {
        let said = self.read(&["version"])?;
        let version = said.trim().trim_start_matches("git version ");
        let mut numbers = version.split(['.', ' ']).map_while(|number| number.parse::<u32>().ok());
        match (numbers.next(), numbers.next()) {
            (Some(major), Some(minor)) if (major, minor) < NEEDED => {
                Err(GitError::TooOld(version.to_owned()))
            }
            // One that does not say it may be anything.
            _ => Ok(()),
        }
    }

    /// Refuses in the midst of a merge, a rebase and the like: a commit would be a
    /// part of it, or land nowhere.
    pub fn refuse_half_done(&self) -> Result<(), GitError> {
        let folder = self.directory()?;
        match HALF_DONE.iter().find(|(name, ..)| folder.join(name).exists()) {
            Some((_, what, end)) => Err(GitError::InProgress { what, end }),
            None => Ok(()),
        }
    }

    /// Refuses, in git's own words, if commits are to be signed and cannot be: tries
    /// it with a commit that nobody refers to.
    pub fn refuse_unsigned(&self) -> Result<(), GitError> {
        let asked = process::run(
            self.command(&["config", "--type=bool", "--get", "commit.gpgSign"]),
            &[],
            BOUNDS,
        );
        if asked.ended != ProcessEnd::Code(0) || line_of(&asked.stdout) != b"true" {
            return Ok(());
        }
        let tree = self.read(&["mktree"])?;
        let args = ["commit-tree", "-S", tree.trim(), "-m", "specum: can a commit be signed?"];
        let run = process::run(self.command(&args), &[], BOUNDS);
        if run.succeeded() { Ok(()) } else { Err(said(&["commit"], &run)) }
    }
}
