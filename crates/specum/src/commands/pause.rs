use clap::ValueEnum;

use super::{Answered, answer};
use specum_core::machine::Raise;
use specum_engine::ops::{self, Caller, PausedBy};
use specum_engine::session;

/// Pause a run, or the loop of a session
///
/// It stops where it is: the Stop hook lets the session go, a `specum run` ends
/// its agents at once, nothing is lost, and the same task comes again after
/// `specum resume`. With `--after` nothing new begins, and what is at work comes to
/// its verdict first.
#[derive(Debug, clap::Args)]
pub(super) struct PauseArgs {
    /// Name or path; the active spec if left out
    pub(super) spec: Option<String>,
    /// Wait only after the task, or the phase, that is worked on
    #[arg(long, value_name = "WHAT")]
    after: Option<After>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What is to be over before the loop waits.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum After {
    /// What is worked on
    Task,
    /// The phase that is worked on
    Phase,
}

/// Continue a paused or blocked run
///
/// A task that had used its attempts gets another round. A loop that has reached a
/// cap goes on with a higher one.
#[derive(Debug, clap::Args)]
pub(super) struct ResumeArgs {
    /// Name or path; the active spec if left out
    pub(super) spec: Option<String>,
    /// Attempts in all, from now on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    max_global_iterations: Option<u64>,
    /// Most tokens, from now on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_tokens: Option<u64>,
    /// Most dollars, from now on
    #[arg(long, value_name = "DOLLARS", value_parser = super::run::dollars)]
    max_cost: Option<f64>,
    /// Longest time of work, from now on (`90m`, `8h`)
    #[arg(long, value_name = "TIME", value_parser = super::run::time)]
    max_time: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn pause(args: &PauseArgs, caller: &Caller<'_>) -> Answered {
    let when = match args.after {
        None => PausedBy::Now,
        Some(After::Task) => PausedBy::Task,
        Some(After::Phase) => PausedBy::Phase,
    };
    let pause = ops::pause(caller, &caller.workspace(args.spec.as_deref())?, when)?;
    answer(args.json, &pause, |pause| match (when, &pause.phase) {
        (PausedBy::Now, _) => format!("paused: {}; `specum resume` goes on", pause.name),
        (_, Some(phase)) => format!("{} pauses after the phase `{phase}`", pause.name),
        (_, None) => format!("{} pauses after what is worked on now", pause.name),
    })
}

pub(super) fn resume(args: &ResumeArgs, caller: &Caller<'_>) -> Answered {
    let raise = Raise {
        max_global_iterations: args.max_global_iterations,
        max_tokens: args.max_tokens,
        max_cost: args.max_cost,
        max_millis: args.max_time,
    };
    let resume = ops::resume(caller, &caller.workspace(args.spec.as_deref())?, raise)?;
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
