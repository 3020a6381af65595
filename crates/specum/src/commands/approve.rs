use std::collections::BTreeMap;

use super::{Answered, answer, start};
use specum_engine::ops::{self, Approval, ApproveEpic, Caller, NewState};
use specum_engine::session;

/// Agree to what waits for you: a document of a plan, or its next phase
///
/// While a spec is planned, the document that is written waits for you. Its open questions
/// get the answers you name, or else their defaults; another answer than the default sends
/// the document to its author once more. While its tasks are worked, with
/// `--approve phase`, the loop waits before each new phase. With --epic, make the
/// specs of an epic: a folder each, with a plan.md that holds its goal, criteria and
/// contracts; they are committed.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name or path of the spec; or the document, of the active spec
    pub(super) spec: Option<String>,
    /// An answer to an open question, by its number or in words, such as Q-1=2
    #[arg(long = "answer", value_name = "ID=ANSWER", value_parser = pair)]
    answers: Vec<(String, String)>,
    /// Agree to an epic, by its name; the active one if left out
    #[arg(
        long, value_name = "EPIC", num_args = 0..=1, conflicts_with_all = ["spec", "answers"]
    )]
    epic: Option<Option<String>>,
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
    if let Some(named) = &args.epic {
        let approved = ops::approve_epic(caller, named.as_deref())?;
        return answer(args.json, &approved, epic);
    }
    let doc = args.spec.as_deref().and_then(ops::document_named);
    let spec = args.spec.as_deref().filter(|_| doc.is_none());
    let answers: BTreeMap<String, String> = args.answers.iter().cloned().collect();
    let approval = ops::approve(caller, spec, doc, &answers)?;
    if let (Approval::Document(approved), true) = (&approval, session::current().is_some()) {
        // Whoever coordinates the planning here goes on at once.
        let workspace = caller.workspace(Some(&approved.name))?;
        return start::show(caller, &workspace);
    }
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

fn epic(approved: &ApproveEpic) -> String {
    let ApproveEpic { name, made, kept, .. } = approved;
    let made = match made.as_slice() {
        [] => "no spec was missing".to_owned(),
        made => format!("made {}", made.join(", ")),
    };
    let kept = match kept.as_slice() {
        [] => String::new(),
        kept => format!("\nleft as you have edited them: plan.md of {}", kept.join(", ")),
    };
    format!("{name}: {made}{kept}\n`specum epic {name}` shows which spec comes next")
}
