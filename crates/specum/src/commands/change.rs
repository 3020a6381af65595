use super::{Answered, answer};
use specum_engine::attempt::Change;
use specum_engine::ops::{self, Caller, OpError};

/// Say what is to change in a document of a plan
///
/// Its author goes on with your words. Without a document the one is meant that waits for
/// your approval.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What is to change, in your words
    #[arg(required = true)]
    text: Vec<String>,
    /// The document: research, requirements, design or tasks
    #[arg(long, value_name = "DOCUMENT")]
    document: Option<String>,
    /// Name or path; the active spec if left out
    #[arg(long)]
    pub(super) spec: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let named = |name: &String| {
        let none = || OpError::Usage(format!("there is no document `{name}`"));
        ops::document_named(name).ok_or_else(none)
    };
    let doc = args.document.as_ref().map(named).transpose()?;
    let text = args.text.join(" ");
    let changed = ops::change(caller, args.spec.as_deref(), Change { doc, text: &text })?;
    answer(args.json, &changed, |changed| {
        format!(
            "noted for {document}.md: its author goes on with it. `specum plan {name}` has that \
             done.",
            document = changed.document,
            name = changed.name
        )
    })
}
