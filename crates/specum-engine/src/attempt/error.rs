//! Why an attempt cannot be opened or judged, each with the next step.

use specum_core::authoring;
use thiserror::Error;

use crate::documents::DocumentError;
use crate::files::FileError;
use crate::git::GitError;
use crate::store::StoreError;

/// Why there is no attempt or no verdict.
#[derive(Debug, Error)]
pub enum AttemptError {
    /// The spec's files.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file of the spec.
    #[error(transparent)]
    File(#[from] FileError),
    /// The repository.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The loop is part of the repository.
    #[error(
        "{0} is part of the repository, and a loop that came along is not worked. If it is yours, \
         take it out with `git rm --cached {0}`; if not, with `git rm {0}`"
    )]
    CameAlong(String),
    /// There is no loop.
    #[error("no loop is running for {0}; `specum run` starts one")]
    NoLoop(String),
    /// There is nothing to work.
    #[error("{0} has no tasks.md; write one, `specum check` tells whether it is good")]
    NoTasks(String),
    /// There is a plan, and nothing in it.
    #[error("{0}/tasks.md has no tasks; one is a line such as `- [ ] 1.1 Add the parser`")]
    Empty(String),
    /// No such task.
    #[error("there is no task {0}; `specum status` lists them")]
    NoTask(String),
    /// The task is done.
    #[error("{0} is done; there is nothing to finish")]
    Done(String),
    /// Two tasks cannot be told apart.
    #[error("tasks.md cannot be worked: {0}; `specum check` lists all such mistakes")]
    Mistaken(String),
    /// Somebody else works the spec.
    #[error("{spec} is being worked on by {by}; stop it there, or with `specum pause {spec}`")]
    Held {
        /// The spec.
        spec: String,
        /// Who.
        by: String,
    },
    /// Another session works on the spec, and this one has asked for its work.
    #[error(
        "{spec} is being worked on by {by}. Leave it to that session; or, if the person says so, \
         `specum implement {spec}` takes it over"
    )]
    HeldByOther {
        /// The spec.
        spec: String,
        /// Who.
        by: String,
    },
    /// Somebody who does not own the spec has asked.
    #[error("another session has taken over {0}")]
    NotYours(String),
    /// Another check counts than the one that was run.
    #[error("another check of {0} was accepted while its check ran; the same again runs that one")]
    OtherCheck(String),
    /// An attempt has rewritten the history.
    #[error("paused: {0}. Look at it, then `specum resume`")]
    Rewritten(String),
    /// The attempt began on another branch.
    #[error(
        "HEAD is on {now}, the attempt began on {before}: paused. Switch back, then `specum resume`"
    )]
    OtherBranch {
        /// Where the attempt began.
        before: String,
        /// Where HEAD is.
        now: String,
    },
    /// The loop waits for a branch.
    #[error(
        "{spec} is paused: HEAD is on {now}, and the attempt began on {before}. Switch back; or \
         `specum resume {spec}` lets it go on where HEAD is"
    )]
    OffBranch {
        /// Where the attempt began.
        before: String,
        /// Where HEAD is.
        now: String,
        /// The spec.
        spec: String,
    },
    /// Work has passed, and the user's tree cannot take it in.
    #[error(
        "{task} has passed, and your tree cannot take it in: {} changed by you, and specum leaves that alone. \
         The result is kept: {reference}. Commit your changes or put them away (`git stash`), then \
         `specum run` goes on",
        are(.files)
    )]
    InTheWay {
        /// The task.
        task: String,
        /// What the user has changed there.
        files: Vec<String>,
        /// What holds the work.
        reference: String,
    },
    /// There is no repository.
    #[error("no git repository: {0}")]
    NoRepository(String),
    /// The documents of the spec.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The planning does not allow it.
    #[error(transparent)]
    Planning(#[from] authoring::Refused),
    /// The spec is not being planned.
    #[error(
        "{0} is not being planned here; `specum plan {0}` begins that, `specum run {0}` works its \
         tasks"
    )]
    NoPlanning(String),
    /// The tasks are not planned yet.
    #[error("{spec} is being planned: {why}. `specum plan {spec}` goes on")]
    NotPlanned {
        /// The spec.
        spec: String,
        /// What it waits for.
        why: String,
    },
    /// No document waits for a person.
    #[error("no document of {0} waits for you; `specum status {0}` says where it stands")]
    NothingWaits(String),
    /// A person's document has errors.
    #[error("{file} has changed since it was checked, and is not good now:\n- {errors}")]
    NotGood {
        /// The file.
        file: &'static str,
        /// What is wrong with it.
        errors: String,
    },
    /// An answer to nothing.
    #[error("{0}")]
    NoAnswer(String),
    /// Nobody has begun this task.
    #[error("task {0} has no open attempt; `specum next` opens what is due")]
    NotOpen(String),
}

/// How many files a sentence names.
const NAMED: usize = 5;

/// Files as the subject of a sentence.
fn are(files: &[String]) -> String {
    let named = files.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match files.len() {
        1 => format!("{named} was"),
        count if count > NAMED => format!("{named} and {} more were", count - NAMED),
        _ => format!("{named} were"),
    }
}
