//! Why an operation did not succeed, and what class of failure that is.

use std::io;

use schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;

use crate::attempt::AttemptError;
use crate::documents::DocumentError;
use crate::files::FileError;
use crate::git::GitError;
use crate::person::NotAPerson;
use crate::project::SpecError;
use crate::ralph_loop::LoopError;
use crate::runner::RunError;
use crate::store::StoreError;

/// Why an operation did not succeed. The text names the next step.
#[derive(Debug, Error)]
pub enum OpError {
    /// An attempt cannot be opened or judged.
    #[error(transparent)]
    Attempt(#[from] AttemptError),
    /// The spec's files cannot be read or changed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The documents around a plan cannot be read.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// Any other file.
    #[error(transparent)]
    File(#[from] FileError),
    /// The name of a spec does not lead to one.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The repository.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A run cannot begin or go on.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The Ralph Loop plugin cannot drive.
    #[error(transparent)]
    Loop(#[from] LoopError),
    /// The operation needs a person's word.
    #[error(transparent)]
    NotAPerson(#[from] NotAPerson),
    /// An option makes no sense.
    #[error("{0}")]
    Usage(String),
    /// Something that should be here is not.
    #[error("{0}")]
    NotFound(String),
    /// The plan stands on what has changed.
    #[error(
        "the plan is stale: {}. Look at each: `specum retry 1.2` has a task done again, `specum \
         accept 1.2` takes it as it is, `specum trace --rebuild` takes all of them, and \
         --allow-stale goes on without",
        .0.join("; ")
    )]
    Stale(Vec<String>),
    /// The settings file has mistakes.
    #[error("{0}")]
    Settings(String),
    /// A run that was told to end is still there.
    #[error("{0} does not end; nothing is moved")]
    StillRunning(String),
    /// Reading or writing something that is no file of the project.
    #[error("{doing}: {error}")]
    Io {
        /// What was to be done, as in "cannot read the result".
        doing: String,
        /// Named in the message, so it is no source of its own.
        error: io::Error,
    },
}

/// The class of a failure. Each has an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// It did not work.
    Failed,
    /// Only a person may do this, and nothing shows that one did.
    PersonNeeded,
    /// The command line is wrong, or a name fits several specs.
    Usage,
    /// There is no such project, spec, task or loop.
    NotFound,
    /// A file is corrupt, or of a newer format than this version writes.
    Unusable,
    /// Another process or session works on the spec.
    Busy,
    /// The loop is paused, and says why.
    Stopped,
}

impl OpError {
    /// For `map_err`: an error of the system, with what was to be done.
    pub fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> OpError {
        let doing = doing.into();
        move |error| OpError::Io { doing, error }
    }

    /// The class of this failure.
    pub fn kind(&self) -> ErrorKind {
        match self {
            OpError::Attempt(error) => of_attempt(error),
            OpError::Store(error) => of_store(error),
            OpError::Run(error) => of_run(error),
            OpError::Spec(SpecError::Ambiguous { .. } | SpecError::Refused { .. })
            | OpError::Usage(_) => ErrorKind::Usage,
            OpError::Spec(SpecError::NotFound { .. })
            | OpError::Loop(LoopError::NoPlugin)
            | OpError::NotFound(_) => ErrorKind::NotFound,
            OpError::Document(DocumentError::Trace { .. }) => ErrorKind::Unusable,
            OpError::Loop(LoopError::OtherSpec { .. } | LoopError::Foreign) => ErrorKind::Busy,
            OpError::NotAPerson(_) => ErrorKind::PersonNeeded,
            OpError::Stale(_) => ErrorKind::Stopped,
            OpError::Loop(LoopError::Outside(_) | LoopError::File(_))
            | OpError::Spec(SpecError::Unread(_))
            | OpError::File(_)
            | OpError::Document(DocumentError::File(_))
            | OpError::Git(_)
            | OpError::Settings(_)
            | OpError::StillRunning(_)
            | OpError::Io { .. } => ErrorKind::Failed,
        }
    }
}

fn of_store(error: &StoreError) -> ErrorKind {
    match error {
        StoreError::Corrupt { .. } | StoreError::Newer { .. } => ErrorKind::Unusable,
        StoreError::Busy { .. } => ErrorKind::Busy,
        StoreError::File(_) => ErrorKind::Failed,
    }
}

fn of_attempt(error: &AttemptError) -> ErrorKind {
    match error {
        AttemptError::Store(error) => of_store(error),
        AttemptError::NoLoop(_)
        | AttemptError::NoTasks(_)
        | AttemptError::Empty(_)
        | AttemptError::NoTask(_)
        | AttemptError::Done(_)
        | AttemptError::NoPlanning(_)
        | AttemptError::NothingWaits(_)
        | AttemptError::NotOpen(_) => ErrorKind::NotFound,
        AttemptError::Held { .. }
        | AttemptError::HeldByOther { .. }
        | AttemptError::OtherCheck(_) => ErrorKind::Busy,
        AttemptError::NoAnswer(_) => ErrorKind::Usage,
        AttemptError::Document(DocumentError::Trace { .. }) => ErrorKind::Unusable,
        AttemptError::Rewritten(_)
        | AttemptError::OtherBranch { .. }
        | AttemptError::OffBranch { .. }
        | AttemptError::Planning(_)
        | AttemptError::NotPlanned { .. }
        | AttemptError::NotGood { .. }
        | AttemptError::InTheWay { .. } => ErrorKind::Stopped,
        AttemptError::File(_)
        | AttemptError::Git(_)
        | AttemptError::CameAlong(_)
        | AttemptError::Document(DocumentError::File(_))
        | AttemptError::Mistaken(_)
        | AttemptError::NotYours(_)
        | AttemptError::NoRepository(_) => ErrorKind::Failed,
    }
}

fn of_run(error: &RunError) -> ErrorKind {
    match error {
        RunError::Attempt(error) => of_attempt(error),
        RunError::Store(error) => of_store(error),
        RunError::Held { .. } | RunError::TreeInUse { .. } => ErrorKind::Busy,
        RunError::GitChanged(_) => ErrorKind::Stopped,
        RunError::File(_)
        | RunError::Git(_)
        | RunError::Dirty(_)
        | RunError::Forgotten(_)
        | RunError::InWorktree { .. }
        | RunError::Thread(_)
        | RunError::Setup { .. } => ErrorKind::Failed,
    }
}
