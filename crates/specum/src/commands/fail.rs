use super::{Answered, finish, next, print_json};
use crate::exit::Exit;
use specum_engine::ops::{self, Caller, OpError};

/// Record that an attempt at a task failed, without running its check
///
/// For a coordinator whose executor broke off. It counts as any failed attempt
/// does, and the next brief carries the reason. Prints what is next.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Id of the task
    task: String,
    /// Name or path; the active spec if left out
    #[arg(long)]
    spec: Option<String>,
    /// Why; read from standard input if left out
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let workspace = caller.workspace(args.spec.as_deref())?;
    if let Some(doc) = ops::planned_document(&workspace, &args.task)? {
        let failed = ops::fail_document(&workspace, doc, &reason(args)?)?;
        if args.json {
            return print_json(&failed, Exit::Done);
        }
        finish::show_document(&failed)?;
        next::show_what_is_due(&workspace)?;
        return Ok(Exit::Done);
    }
    let verdict = ops::fail(&workspace, &args.task, || reason(args))?;
    if args.json {
        return print_json(&verdict, Exit::Done);
    }
    finish::show(&verdict)?;
    next::show_what_is_due(&workspace)?;
    Ok(Exit::Done)
}

fn reason(args: &Args) -> Result<String, OpError> {
    if let Some(reason) = &args.reason {
        return Ok(reason.clone());
    }
    let bytes = finish::end_of(std::io::stdin().lock());
    let bytes = bytes.map_err(OpError::io("cannot read the reason"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
