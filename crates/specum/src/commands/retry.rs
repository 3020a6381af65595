use super::{Answered, answer};
use specum_engine::ops::{self, Caller};

/// Have a task worked on once more
///
/// A task that failed or blocks the loop gets all its attempts again. A box that is
/// ticked is opened; its commits stay (`specum undo` takes them out). An attempt that
/// is under way in a `specum run` is ended, counts for nothing, and its work is kept;
/// the next one begins with your notes. In a session, interrupt the agent there.
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
    let retry = ops::retry(caller, args.spec.as_deref(), &args.task)?;
    answer(args.json, &retry, |retry| {
        let task = &retry.task;
        match (retry.ended, retry.reopened, retry.has_loop) {
            (true, ..) => format!("the attempt at {task} is ended and kept; a new one begins"),
            (false, true, true) => format!("{task} is open again; its commits stay"),
            (false, true, false) => {
                format!("{task} is open again; its commits stay. `specum run` works on it")
            }
            (false, false, true) => format!("{task} has all its attempts again"),
            (false, false, false) => format!("{task} is open already; `specum run` works on it"),
        }
    })
}
