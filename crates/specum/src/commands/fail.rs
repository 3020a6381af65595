use anyhow::Context;

use super::{finish, print_json, workspace};
use crate::exit;

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

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let workspace = workspace(args.spec.as_deref())?;
    let opened = workspace.opened(&args.task)?;
    let judged = workspace.give_up(&opened, &reason(args)?)?;
    if args.json {
        print_json(&finish::as_json(&judged))?;
    } else {
        finish::show(&workspace, &judged)?;
    }
    Ok(exit::OK)
}

fn reason(args: &Args) -> anyhow::Result<String> {
    let said = match &args.reason {
        Some(reason) => reason.clone(),
        None => {
            let bytes =
                finish::end_of(std::io::stdin().lock()).context("cannot read the reason")?;
            String::from_utf8_lossy(&bytes).into_owned()
        }
    };
    let said = said.trim();
    Ok(if said.is_empty() { "given up without a reason".into() } else { said.to_owned() })
}
