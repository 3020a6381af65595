use super::{Answered, answer};
use specum_engine::ops::{self, Caller};

/// Let the loop go on to the phase that waits for you
///
/// With `--approve phase`, or `approve: phase` in the settings, the loop waits before
/// each new phase of the plan.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name or path; the active spec if left out
    pub(super) spec: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let approve = ops::approve(caller, args.spec.as_deref())?;
    answer(args.json, &approve, |approve| {
        format!("approved: {}; go on with `specum run`, or in the session", approve.phase)
    })
}
