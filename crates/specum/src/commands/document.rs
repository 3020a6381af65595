use specum_core::spec::Doc;

use super::{Answered, start};
use specum_engine::ops::{self, Caller};

/// Go to a document of a plan: approve what is in front of it, or say what is to change
///
/// A slash command in a session; `specum approve` and `specum change` do the same.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What is to change in it
    text: Vec<String>,
    /// Name or path; the active spec if left out
    #[arg(long)]
    pub(super) spec: Option<String>,
}

pub(super) fn run(doc: Doc, args: &Args, caller: &Caller<'_>) -> Answered {
    let workspace = caller.workspace(args.spec.as_deref())?;
    ops::go_to_document(caller, &workspace, doc, &args.text.join(" "))?;
    start::show(caller, &workspace)
}
