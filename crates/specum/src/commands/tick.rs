use serde_json::json;
use specum_core::journal::Entry;
use specum_core::machine::{self, Event};
use specum_core::owner::{Asker, Holder, Owner};

use super::{NotHere, print, print_json, workspace};
use crate::attempt::AttemptError;
use crate::exit;
use crate::owner;
use crate::person::{self, Door};

/// Say that a task is done, without a check
///
/// The box is ticked on your word: reports show it as "ticked by you, not
/// checked". While a loop is under way, a box that is ticked in any other way
/// than by a verdict is opened again. Not for the task that is being worked on.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Id of the task
    pub(super) task: String,
    /// Name or path; the active spec if left out
    #[arg(long)]
    pub(super) spec: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, typed: Door) -> anyhow::Result<u8> {
    person::require("tick", typed)?;
    let workspace = workspace(args.spec.as_deref())?;
    let (locked, view) = workspace.enter_for_a_person()?;
    let name = &workspace.spec.name;
    let state = view.state.as_ref().ok_or_else(|| AttemptError::NoLoop(name.clone()))?;
    let file = view.file();
    let task =
        file.by_address(&args.task).ok_or_else(|| AttemptError::NoTask(args.task.clone()))?;
    let id = task.name();
    let ledger = workspace.store.ledger()?;
    let holder = owner::holder(&workspace.store, Some(state), Asker::Person);
    // A session works on it by a call, or, if its shell has asked for work, itself.
    let works_itself = match &holder {
        Holder::Other(Owner::Runner { .. }) => true,
        Holder::Other(Owner::Session { session_id, .. }) => ledger.was_held_by(session_id),
        Holder::Nobody | Holder::Me => false,
    };
    let by_itself = works_itself && ledger.at_work().contains(&id.as_str());
    let by_a_call = ledger.calls_at_work().iter().any(|call| call.task.id == id);
    if by_itself || by_a_call {
        let why = format!("{id} is being worked on; wait for its verdict, or `specum pause` first");
        return Err(NotHere(why).into());
    }
    if task.done {
        let said = || print(format!("{id} is ticked already"));
        let as_json = || print_json(&json!({"task": id, "state": "ticked"}));
        return if args.json { as_json() } else { said() }.map(|()| exit::OK);
    }
    let step = machine::step(state, &file, Event::Tick { index: task.index });
    locked.write_step(Entry::Ticked { task: task.key() }, &step)?;
    if args.json {
        print_json(&json!({"task": id, "state": "ticked"}))?;
    } else {
        print(format!("{id} ticked by you, not checked"))?;
    }
    Ok(exit::OK)
}
