//! Locks of git's that are in our way: of a program at work, which is waited for, or
//! left by a git that was killed.
//!
//! git deletes a lock when it ends in order. After a power cut, or `kill -9`, it is
//! there for ever, and every later git refuses. A process that is alone in a work tree, and
//! sees no git at work there, knows that nobody will come back for it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{Git, GitError, common_folder};
use crate::files::{self, FileError};
use crate::os;
use crate::ports::Listener;
use crate::process;

/// How long a lock is looked at before it counts as left behind: a program that is
/// not called git may hold one for a moment.
const A_MOMENT: Duration = Duration::from_secs(1);
/// How long a lock is waited for whose holder is unknown.
const SHORT: Duration = Duration::from_secs(5);
/// How long for a git that is at work: its hooks may take long.
const LONG: Duration = Duration::from_secs(600);

/// Whether we are alone in a work tree, and where it is said what we wait for.
#[derive(Default)]
pub(super) struct Company {
    alone: AtomicBool,
    listener: Mutex<Option<Listener>>,
}

impl fmt::Debug for Company {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Company").field("alone", &self.alone).finish_non_exhaustive()
    }
}

/// The lock that git's words name, if one is in its way.
pub(super) fn named_lock(words: &str) -> Option<PathBuf> {
    let behind = words.split("Unable to create '").nth(1)?;
    let (lock, why) = behind.split_once("': ")?;
    (lock.ends_with(".lock") && why.starts_with("File exists")).then(|| PathBuf::from(lock))
}

/// LockPatience with one lock.
#[derive(Default)]
pub(super) struct LockPatience {
    began: Option<Instant>,
    told: bool,
}

impl LockPatience {
    /// Waits for a while, or removes a lock that nobody holds; `false` if it is no
    /// use.
    pub(super) fn waits(&mut self, git: &Git, lock: &Path) -> bool {
        let waited = self.began.get_or_insert_with(Instant::now).elapsed();
        let is_alone = git.company.alone.load(Ordering::SeqCst);
        let holder = git.at_work();
        let limit = if is_alone && holder.is_some() { LONG } else { SHORT };
        if waited >= limit {
            return false;
        }
        if let Some(pid) = holder {
            if !self.told && is_alone && waited >= A_MOMENT {
                self.told = true;
                git.say(format!("waiting for git (process {pid}), which holds {}", lock.display()));
            }
        } else if is_alone && os::PROCESSES_ARE_SEEN && waited >= A_MOMENT {
            if files::remove(lock).is_ok() {
                git.say(format!(
                    "removed {}: no git is at work here that could hold it",
                    lock.display()
                ));
            }
            return true;
        }
        thread::sleep(Duration::from_millis(20).max(waited / 4).min(A_MOMENT / 4));
        true
    }
}

impl Git {
    pub(super) fn be_alone(&self, alone: bool) {
        self.company.alone.store(alone, Ordering::SeqCst);
    }

    pub(super) fn say_to(&self, listener: Option<Listener>) {
        *self.company.listener.lock().expect("no holder panics") = listener;
    }

    pub(super) fn say(&self, text: String) {
        match &*self.company.listener.lock().expect("no holder panics") {
            Some(say) => say(text),
            None => eprintln!("specum: {text}"),
        }
    }

    /// A git that works in this tree, or in the one that it shares its repository
    /// with.
    fn at_work(&self) -> Option<u32> {
        let common = common_folder(&self.root);
        let main = common.as_deref().and_then(Path::parent);
        let folders: Vec<&Path> =
            std::iter::once(self.root.as_path()).chain(main).chain(common.as_deref()).collect();
        process::git_at_work(&folders)
    }

    /// Waits for the holder of a lock that the next commit needs, or removes a lock
    /// without a holder. Called before an agent is paid.
    pub fn clear_locks(&self) -> Result<(), GitError> {
        for lock in self.locks()? {
            let mut patience = LockPatience::default();
            while lock.symlink_metadata().is_ok() {
                if !patience.waits(self, &lock) {
                    return Err(GitError::Locked(lock));
                }
            }
        }
        Ok(())
    }

    /// The locks that keep git from committing here, and from keeping work.
    fn locks(&self) -> Result<Vec<PathBuf>, GitError> {
        let own = self.directory()?;
        let common = common_folder(&self.root).unwrap_or_else(|| own.clone());
        let mut locks = vec![own.join("index.lock"), own.join("HEAD.lock")];
        locks.extend(["packed-refs.lock", "config.lock"].map(|name| common.join(name)));
        locks.push(common.join("reftable/tables.list.lock"));
        if let Some(branch) = self.branch_of_head() {
            locks.push(common.join(format!("refs/heads/{branch}.lock")));
        }
        collect_locks(&common.join("refs/specum"), &mut locks)?;
        locks.retain(|lock| lock.symlink_metadata().is_ok());
        Ok(locks)
    }

    /// The branch that HEAD is on, as far as that can be told without git.
    pub fn branch_of_head(&self) -> Option<String> {
        let head = files::read(&self.directory().ok()?.join("HEAD"), 64 * 1024).ok()?;
        let head = String::from_utf8(head).ok()?;
        let branch = head.trim_end().strip_prefix("ref: refs/heads/")?;
        // What stands there if references are kept in another way.
        (branch != ".invalid").then(|| branch.to_owned())
    }
}

fn collect_locks(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), FileError> {
    for path in files::entries(folder)? {
        if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            collect_locks(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "lock") {
            found.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_known_by_gits_words() {
        let words = "fatal: cannot lock ref 'HEAD': Unable to create \
                     '/p/.git/refs/heads/main.lock': File exists.\n\nAnother git process";
        assert_eq!(named_lock(words), Some(PathBuf::from("/p/.git/refs/heads/main.lock")));
        assert_eq!(named_lock("Unable to create '/p/index.lock': Permission denied"), None);
        assert_eq!(named_lock("nothing to commit"), None);
    }
}
