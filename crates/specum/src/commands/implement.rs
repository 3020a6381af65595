use specum_core::prompt::{self, SpecName};
use specum_core::state::Driver;

use super::{Answered, next, print, print_json};
use crate::exit::Exit;
use specum_engine::attempt::Workspace;
use specum_engine::ops::{self, Caller, StartRequest};
use specum_engine::session;

/// Start working the tasks of a spec, or go on with them
///
/// Checks the spec, writes the loop's state, and prints the first piece of
/// work. The spec becomes the active one. What earlier runs learned about
/// failed tasks is kept.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name or path; the active spec if left out
    pub(super) spec: Option<String>,
    /// Attempts for each task [default: the settings', or 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    max_task_iterations: Option<u64>,
    /// Attempts for the whole loop, failed ones too [default: tasks × attempts ×
    /// 2, at least 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    max_global_iterations: Option<u64>,
    /// Give a task that keeps failing a fix task instead of stopping
    #[arg(long)]
    recovery_mode: bool,
    /// Work a plan whose tasks stand on requirements that have changed since
    #[arg(long)]
    allow_stale: bool,
    /// Who sends the agent back to work when it stops: specum's own Stop hook,
    /// or the Ralph Loop plugin of Claude Code
    #[arg(long, value_name = "WHO", value_enum, default_value_t = DrivenBy::Hook)]
    driver: DrivenBy,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The drivers as they are typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum DrivenBy {
    Hook,
    RalphLoop,
}

impl From<DrivenBy> for Driver {
    fn from(by: DrivenBy) -> Driver {
        match by {
            DrivenBy::Hook => Driver::Hook,
            DrivenBy::RalphLoop => Driver::RalphLoop,
        }
    }
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let request = StartRequest {
        spec: args.spec.as_deref(),
        max_task_iterations: args.max_task_iterations,
        max_global_iterations: args.max_global_iterations,
        recovery_mode: args.recovery_mode,
        driver: args.driver.into(),
        allow_stale: args.allow_stale,
    };
    let (workspace, started) = ops::start(caller, &request)?;
    if args.json {
        return print_json(&started, Exit::Done);
    }
    if session::current().is_some() {
        return brief_session(&workspace, request.driver);
    }
    print(format!("{}: {} of {} tasks done", started.name, started.done, started.total))?;
    if started.activated {
        print(format!("it is the active spec now ({})", started.path))?;
    }
    if let Some(why) = &started.not_committed {
        caller.warn(format!("no commits will be made: {why}"));
    }
    next::show_what_is_due(&workspace)
}

/// Prints what the session that typed the command is to do.
fn brief_session(workspace: &Workspace, driver: Driver) -> Answered {
    let spec = SpecName { name: &workspace.spec.name, path: &workspace.spec.shown };
    if driver == Driver::RalphLoop {
        print(prompt::ralph_loop(spec).trim_end())?;
        return Ok(Exit::Done);
    }
    print(prompt::coordinator(spec))?;
    print(ops::open(workspace)?.for_coordinator().trim_end())?;
    Ok(Exit::Done)
}
