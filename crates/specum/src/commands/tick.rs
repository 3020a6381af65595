use super::{Answered, answer};
use specum_engine::ops::{self, Caller};

/// Say that a task is done, without a check
///
/// The box is ticked on your word: reports show it as "ticked by you, not
/// checked". While a loop is under way, a box that is ticked in any other way
/// than by a verdict is opened again. Not for the task that is being worked on.
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
    let tick = ops::tick(caller, args.spec.as_deref(), &args.task)?;
    answer(args.json, &tick, |tick| match tick.already {
        true => format!("{} is ticked already", tick.task),
        false => format!("{} ticked by you, not checked", tick.task),
    })
}
