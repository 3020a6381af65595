use super::{Answered, answer};
use specum_engine::ops::{self, Caller};

/// Take a task's work out again
///
/// One new commit reverts the files of the task's newest commit and opens its box;
/// history is never rewritten. Refused where later work stands on top of it: the
/// refusal names the files and the tasks. To have it done again, `specum run`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Id of the task
    pub(super) task: String,
    /// Name or path; the active spec if left out
    #[arg(long)]
    pub(super) spec: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let undo = ops::undo(caller, args.spec.as_deref(), &args.task)?;
    answer(args.json, &undo, |undo| {
        let task = &undo.task;
        let short =
            |id: &Option<String>| id.as_deref().map(|id| id.get(..7).unwrap_or(id).to_owned());
        let reverted = short(&undo.reverted).unwrap_or_default();
        let commit = short(&undo.commit);
        match (commit, undo.files.len()) {
            (Some(commit), 1) => {
                format!("{task} is undone: 1 file is as before, committed as {commit}")
            }
            (Some(commit), files) => {
                format!("{task} is undone: {files} files are as before, committed as {commit}")
            }
            (None, _) => {
                format!("{task} is open again; nothing of its newest commit, {reverted}, was left")
            }
        }
    })
}
