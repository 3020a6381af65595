use std::collections::BTreeMap;

use super::{Answered, answer};
use specum_engine::ops::{self, Approval, Caller, NewState};

/// Agree to what waits for you: a document of a plan, or its next phase
///
/// While a spec is planned, the document that is written waits for you. Its open questions
/// get the answers you name, or else their defaults; another answer than the default sends
/// the document to its author once more. While its tasks are worked, with
/// `--approve phase`, the loop waits before each new phase.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name or path of the spec; or the document, of the active spec
    pub(super) spec: Option<String>,
    /// An answer to an open question, by its number or in words, such as Q-1=2
    #[arg(long = "answer", value_name = "ID=ANSWER", value_parser = pair)]
    answers: Vec<(String, String)>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').map(|(id, answer)| (id.trim(), answer.trim()));
    let parts = parts.filter(|(id, answer)| !id.is_empty() && !answer.is_empty());
    let (id, answer) = parts.ok_or("not an answer such as Q-1=2")?;
    Ok((id.to_owned(), answer.to_owned()))
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let doc = args.spec.as_deref().and_then(ops::document_named);
    let spec = args.spec.as_deref().filter(|_| doc.is_none());
    let answers: BTreeMap<String, String> = args.answers.iter().cloned().collect();
    let approval = ops::approve(caller, spec, doc, &answers)?;
    answer(args.json, &approval, |approval| match approval {
        Approval::Phase(approve) => {
            format!("approved: {}; go on with `specum run`, or in the session", approve.phase)
        }
        Approval::Document(approved) => {
            let (name, document) = (&approved.name, &approved.document);
            match approved.state {
                NewState::Reopened => format!(
                    "{document}.md goes to its author once more, with your answers; `specum plan \
                     {name}` has that done."
                ),
                _ if document == "tasks" => {
                    format!("approved: tasks.md. `specum run {name}` works the tasks.")
                }
                _ => format!("approved: {document}.md. `specum plan {name}` goes on."),
            }
        }
    })
}
