use super::{Answered, answer};
use specum_engine::ops::{self, Caller};
use specum_engine::session;

/// Let the loop wait
///
/// It stops where it is: the Stop hook lets the session go, a `specum run` ends
/// its agents at once, nothing is lost, and the same task comes again after
/// `specum resume`.
#[derive(Debug, clap::Args)]
pub(super) struct PauseArgs {
    /// Name or path; the active spec if left out
    pub(super) spec: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Let a paused or blocked loop go on
///
/// A task that had used its attempts gets another round.
#[derive(Debug, clap::Args)]
pub(super) struct ResumeArgs {
    /// Name or path; the active spec if left out
    pub(super) spec: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn pause(args: &PauseArgs, caller: &Caller<'_>) -> Answered {
    let pause = ops::pause(&caller.workspace(args.spec.as_deref())?)?;
    answer(args.json, &pause, |pause| format!("paused: {}; `specum resume` goes on", pause.name))
}

pub(super) fn resume(args: &ResumeArgs, caller: &Caller<'_>) -> Answered {
    let resume = ops::resume(caller, &caller.workspace(args.spec.as_deref())?)?;
    answer(args.json, &resume, |resume| {
        let round = match resume.another_round {
            true => " with another round for the task that was blocked",
            false => "",
        };
        let command = match session::host() {
            Some(host) if host.works_itself() => "",
            _ => "`specum run`, /ralph-specum:implement or ",
        };
        format!("resumed: {}{round}; go on with {command}`specum next`", resume.name)
    })
}
