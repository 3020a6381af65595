use serde_json::json;
use specum_core::machine::Start;
use specum_core::prompt::{self, Spec};
use specum_core::state::Owner;

use super::{next, print, print_json, workspace};
use crate::exit;
use crate::process;
use crate::session;

/// Start working the tasks of a spec, or go on with them
///
/// Checks the spec, writes the loop's state, and prints the first piece of
/// work. What earlier runs learned about failed tasks is kept.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name or path; the active spec if left out
    pub(super) spec: Option<String>,
    /// Attempts for each task [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    max_task_iterations: Option<u64>,
    /// Iteration at which the loop stops; every attempt is one [default: tasks ×
    /// attempts × 2, at least 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    max_global_iterations: Option<u64>,
    /// Give a task that keeps failing a fix task instead of stopping
    #[arg(long)]
    recovery_mode: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let workspace = workspace(args.spec.as_deref())?;
    let session = session::current();
    let owner =
        session.clone().map(|session_id| Owner::Session { session_id, process: process::host() });
    let view = workspace.start(Start {
        owner,
        max_task_iterations: args.max_task_iterations,
        max_global_iterations: args.max_global_iterations,
        recovery_mode: args.recovery_mode.then_some(true),
        ..Start::default()
    })?;
    let file = view.file();
    let (done, total) = (file.done_count(), file.tasks.len());
    if args.json {
        print_json(&json!({"name": workspace.spec.name, "done": done, "total": total}))?;
        return Ok(exit::OK);
    }
    if session.is_some() {
        let spec = Spec { name: &workspace.spec.name, path: &workspace.spec.shown };
        print(prompt::coordinator(spec))?;
        return print(workspace.announce()?.trim_end()).map(|()| exit::OK);
    }
    print(format!("{}: {done} of {total} tasks done", workspace.spec.name))?;
    if total == 0 {
        super::warn("tasks.md has no tasks; `specum check` tells what a task looks like");
    }
    next::show(&workspace)
}
