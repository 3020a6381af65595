use super::{Answered, print, print_json};
use crate::exit::Exit;
use specum_engine::ops::{self, Caller};

/// Show what a task has changed
///
/// Of a task that has passed, its commit without the spec's own files; of one that has
/// failed, what specum keeps of its work. git shows it: on a terminal with the pager
/// and the colours that you have set for it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Id of the task
    task: String,
    /// Name or path; the active spec if left out
    #[arg(long)]
    spec: Option<String>,
    /// Show this attempt at the task: 1 is the first one
    #[arg(long, value_name = "N")]
    attempt: Option<u64>,
    /// Print the files, with the lines that were added and removed, as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let diff = ops::diff(caller, args.spec.as_deref(), &args.task, args.attempt)?;
    if args.json {
        return print_json(&diff, Exit::Done);
    }
    if diff.files.is_empty() {
        print(format!("{} changed nothing but the plan", diff.task))?;
        return Ok(Exit::Done);
    }
    diff.show()?;
    Ok(Exit::Done)
}
