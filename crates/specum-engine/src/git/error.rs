//! Why git did not do what it was asked, and what a person can do about it.

use std::path::PathBuf;

use thiserror::Error;

use super::busy;
use crate::files::FileError;

/// Why git did not do what it was asked.
#[derive(Debug, Error)]
pub enum GitError {
    /// git said so.
    #[error("git {command}: {message}")]
    Said {
        /// The subcommand.
        command: String,
        /// git's own words.
        message: String,
    },
    /// git said that it does not make a commit.
    #[error("git {command}: {message}")]
    Refused {
        /// The subcommand.
        command: String,
        /// git's own words.
        message: String,
    },
    /// There is no git to ask.
    #[error("git cannot be started ({0}; install it, or put it on PATH)")]
    NotInstalled(String),
    /// There is one, and the system does not start it now.
    #[error("git cannot be started ({0})")]
    NotStarted(String),
    /// It does not know what we ask of it.
    #[error("git {0} is too old; specum needs 2.38 or newer")]
    TooOld(String),
    /// Something else is half done in the repository.
    #[error("{what} is in progress here; finish it, or end it with `{end}`, and then begin")]
    InProgress {
        /// What.
        what: &'static str,
        /// How it is ended.
        end: &'static str,
    },
    /// Nothing can be written where git keeps what it knows.
    #[error(
        "{} is read-only here, so nothing can be committed. A host's sandbox does this to its \
         commands: install specum's hooks there (`specum plugin install`) and trust them, they \
         run outside of it; or run this in a terminal of your own",
        .0.display()
    )]
    ReadOnly(PathBuf),
    /// There is no repository.
    #[error("{} is in no git repository; `git init` makes one", .0.display())]
    NoRepository(PathBuf),
    /// Somebody holds a lock, and does not let go.
    #[error(
        "{} is there, so git cannot work: a program holds it. If none does, delete the file",
        .0.display()
    )]
    Locked(PathBuf),
    /// A file of the repository could not be written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl GitError {
    /// Whether another program has held a lock all the time.
    pub fn means_busy(&self) -> bool {
        matches!(self, GitError::Said { message, .. } | GitError::Refused { message, .. }
            if busy::named_lock(message).is_some())
    }

    /// Whether there is simply no repository, or no git to ask.
    pub fn means_no_repository(&self) -> bool {
        match self {
            GitError::NotInstalled(_) | GitError::NoRepository(_) => true,
            GitError::Said { message, .. } | GitError::Refused { message, .. } => {
                message.contains("cannot change to")
            }
            GitError::File(_)
            | GitError::NotStarted(_)
            | GitError::Locked(_)
            | GitError::ReadOnly(_)
            | GitError::TooOld(_)
            | GitError::InProgress { .. } => false,
        }
    }

    /// The same as the end of a commit.
    pub(super) fn refusal(self) -> GitError {
        match self {
            GitError::Said { command, message } => GitError::Refused { command, message },
            other => other,
        }
    }
}
