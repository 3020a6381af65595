use super::{Answered, answer};
use specum_engine::ops::{self, AcceptedChange, Caller};

/// Agree to a change of the plan that was made while a task was being worked on
///
/// A Verify that was changed, or an open task that was removed, during an
/// attempt may be an agent's doing. The check on record counts, and the loop is
/// not complete, until you agree or put it back. `specum status` lists what
/// waits. A task or component that stands on what has changed since is taken as it is.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Id of the task, or of a part of the spec that `specum trace --stale` names; `git` for what git starts, such as its hooks; `verify` for the
    /// check of the whole plan
    pub(super) task: String,
    /// Name or path; the active spec if left out
    #[arg(long)]
    pub(super) spec: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let accept = ops::accept(caller, args.spec.as_deref(), &args.task)?;
    answer(args.json, &accept, |accept| match accept.change {
        AcceptedChange::Check => {
            let check = accept.check.as_deref().unwrap_or_default();
            format!("{} is checked by {check} from now on", accept.task)
        }
        AcceptedChange::Suite => {
            format!(
                "the check of the whole plan is {}",
                accept.check.as_deref().unwrap_or_default()
            )
        }
        AcceptedChange::Removed => format!("{} is no longer part of the plan", accept.task),
        AcceptedChange::Ground => format!("{} is taken as it is", accept.task),
        AcceptedChange::Git => {
            "what git starts is accepted as it is now; `specum run` goes on".into()
        }
    })
}
