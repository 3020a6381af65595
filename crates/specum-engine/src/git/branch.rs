//! The branch that a person works on, and the one that others share.

use super::{Git, GitError};

/// What a branch is called that others take for the main one, where no remote says so.
const COMMON: [&str; 3] = ["main", "master", "trunk"];

impl Git {
    /// Whether there is a remote, and HEAD is on the branch that others take for the main
    /// one.
    pub fn is_on_shared_branch(&self) -> Result<bool, GitError> {
        let Some(branch) = self.branch_of_head() else { return Ok(false) };
        let remotes = self.read(&["remote"])?;
        let Some(remote) = remotes.lines().next() else { return Ok(false) };
        // Fails where the remote has never said which one it is.
        let reference = format!("refs/remotes/{remote}/HEAD");
        let says = self.read(&["symbolic-ref", "--quiet", &reference]).ok();
        let says = says.as_deref().map(str::trim);
        Ok(match says.and_then(|head| head.strip_prefix(&format!("refs/remotes/{remote}/"))) {
            Some(main) => main == branch,
            None => COMMON.contains(&branch.as_str()),
        })
    }

    /// Lets HEAD be on a branch, which is made at HEAD if it is not there; says whether
    /// it was made.
    pub fn switch(&self, branch: &str) -> Result<bool, GitError> {
        if self.branch_of_head().as_deref() == Some(branch) {
            return Ok(false);
        }
        self.read(&["check-ref-format", "--branch", branch])?;
        let reference = format!("refs/heads/{branch}");
        let is_there = self.read(&["rev-parse", "--verify", "--quiet", &reference]).is_ok();
        match is_there {
            true => self.read(&["switch", "--quiet", "--no-guess", branch])?,
            false => self.read(&["switch", "--quiet", "--no-track", "-c", branch])?,
        };
        Ok(!is_there)
    }
}
