use serde_json::json;
use specum_core::journal::Entry;
use specum_core::machine::{self, Event};
use specum_core::plan_record::{Change, OnRecord};
use specum_core::tasks::Task;

use super::{NotHere, print, print_json, workspace};
use crate::attempt::{AttemptError, Workspace};
use crate::exit;
use crate::person::{self, Door};

/// Agree to a change of the plan that was made while a task was being worked on
///
/// A Verify that was changed, or an open task that was removed, during an
/// attempt may be an agent's doing. The check on record counts, and the loop is
/// not complete, until you agree or put it back. `specum status` lists what
/// waits.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Id of the task; `git` for what git starts, such as its hooks
    pub(super) task: String,
    /// Name or path; the active spec if left out
    #[arg(long)]
    pub(super) spec: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What stands in place of a task for what git starts.
const GIT: &str = "git";

/// Agrees to what git starts now.
fn accept_git(workspace: &Workspace, as_json: bool) -> anyhow::Result<u8> {
    let ledger = workspace.store.ledger()?;
    if ledger.git_change().is_none() {
        return Err(NotHere("nothing about git waits to be accepted".into()).into());
    }
    let after = workspace.repository()?.programs(None)?.digest();
    workspace.store.lock()?.record(Entry::GitAccepted { after })?;
    if as_json {
        print_json(&json!({"task": GIT, "state": "accepted"}))?;
    } else {
        print("what git starts is accepted as it is now; `specum run` goes on")?;
    }
    Ok(exit::OK)
}

pub(super) fn run(args: &Args, typed: Door) -> anyhow::Result<u8> {
    person::require("accept", typed)?;
    let workspace = workspace(args.spec.as_deref())?;
    if args.task == GIT {
        return accept_git(&workspace, args.json);
    }
    let (locked, view) = workspace.enter_for_a_person()?;
    let name = &workspace.spec.name;
    let state = view.state.as_ref().ok_or_else(|| AttemptError::NoLoop(name.clone()))?;
    let file = view.file();
    // One that was removed is in no file, and answers to the name it had.
    let id = file.by_address(&args.task).map_or(args.task.clone(), Task::name);
    let plan_record = workspace.plan_record()?;
    let was_called = |task: &&OnRecord| {
        let asked = task.unconfirmed.as_ref().map(|asked| &asked.change);
        matches!(asked, Some(Change::Removed(name)) if *name == args.task)
    };
    let removed = plan_record.removals().find(was_called);
    let on_record = removed.or(plan_record.task(&id));
    let on_record = on_record.ok_or_else(|| AttemptError::NoTask(args.task.clone()))?;
    let Some(asked) = &on_record.unconfirmed else {
        return Err(NotHere(format!("nothing about {id} waits to be accepted")).into());
    };
    let settled = vec![on_record.task.id.clone()];
    let event = Event::Follow { renames: Vec::new(), settled };
    let step = machine::step(state, &file, event);
    let task = on_record.task.clone();
    locked.write_step(Entry::Accepted { task }, &step)?;
    if args.json {
        print_json(&json!({"task": id, "state": "accepted"}))?;
        return Ok(exit::OK);
    }
    print(match &asked.change {
        Change::Check(check) => format!("{id} is checked by {} from now on", check.shown()),
        Change::Removed(name) => format!("{name} is no longer part of the plan"),
    })?;
    Ok(exit::OK)
}
