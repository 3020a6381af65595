use super::{Answered, answer};
use specum_engine::ops::{self, Caller};

/// Pass over a task
///
/// The box stays open: the loop ends without it, and never says that the plan is
/// complete. An attempt at it in a `specum run` is ended; its work is kept.
/// `specum unskip` takes it back.
#[derive(Debug, clap::Args)]
pub(super) struct SkipArgs {
    /// Id of the task
    pub(super) task: String,
    /// Name or path; the active spec if left out
    #[arg(long)]
    pub(super) spec: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Have a task worked on after all that you skipped
#[derive(Debug, clap::Args)]
pub(super) struct UnskipArgs {
    /// Id of the task
    pub(super) task: String,
    /// Name or path; the active spec if left out
    #[arg(long)]
    pub(super) spec: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn skip(args: &SkipArgs, caller: &Caller<'_>) -> Answered {
    let skip = ops::skip(caller, args.spec.as_deref(), &args.task)?;
    answer(args.json, &skip, |skip| {
        let ended = if skip.ended { "; the attempt that is under way is ended" } else { "" };
        let task = &skip.task;
        match skip.already {
            true => format!("{task} is skipped already"),
            false => format!("{task} is skipped{ended}; its box stays open"),
        }
    })
}

pub(super) fn unskip(args: &UnskipArgs, caller: &Caller<'_>) -> Answered {
    let skip = ops::unskip(caller, args.spec.as_deref(), &args.task)?;
    answer(args.json, &skip, |skip| match skip.already {
        true => format!("{} was not skipped", skip.task),
        false => format!("{} is worked on after all", skip.task),
    })
}
