use serde_json::json;
use specum_core::machine::Start;

use super::{next, print, print_json, workspace};
use crate::exit;

/// Start working the tasks of a spec, or go on with them
///
/// Checks the spec, writes the loop's state, and prints the first piece of
/// work. What earlier runs learned about failed tasks is kept.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name or path; the active spec if left out
    spec: Option<String>,
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
    let view = workspace.start(Start {
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
    print(format!("{}: {done} of {total} tasks done", workspace.spec.name))?;
    if total == 0 {
        super::warn("tasks.md has no tasks; `specum check` tells what a task looks like");
    }
    next::show(&workspace)
}
