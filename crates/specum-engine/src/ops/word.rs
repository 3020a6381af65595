//! What a person says about the plan: that a task is done, or that a change is
//! right.

use schemars::JsonSchema;
use serde::Serialize;
use specum_core::journal::{Entry, Source};
use specum_core::machine::{self, Event};
use specum_core::owner::{Asker, Holder, Owner};
use specum_core::plan_record::{Change, OnRecord};
use specum_core::suite;
use specum_core::tasks::Task;

use super::caller::holder;
use super::{Caller, NewState, OpError, stale};
use crate::attempt::{AttemptError, Workspace, waiting_for_it};

/// What stands in place of a task for what git starts.
const GIT: &str = "git";

/// A box that is ticked on a person's word.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Tick {
    /// The task.
    pub task: String,
    /// `ticked`.
    pub state: NewState,
    /// Whether it was ticked before.
    pub already: bool,
}

/// A change that a person has agreed to.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Accept {
    /// The task, `C-1` or another part of the spec, `git`, or `verify` for the checks of
    /// the whole plan.
    pub task: String,
    /// `accepted`.
    pub state: NewState,
    /// What was changed.
    pub change: AcceptedChange,
    /// The check from now on, if that was changed.
    pub check: Option<String>,
}

/// What was changed while a task was being worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AcceptedChange {
    /// The check of a task.
    Check,
    /// The checks of the whole plan.
    Suite,
    /// A task was removed from the plan.
    Removed,
    /// What git starts, such as its hooks.
    Git,
    /// What a part of the spec stands on.
    Ground,
}

/// Ticks a box on a person's word, without a check. Refused for a task that is
/// being worked on.
pub fn tick(caller: &Caller<'_>, named: Option<&str>, address: &str) -> Result<Tick, OpError> {
    let source = caller.require_person("tick")?;
    let workspace = caller.workspace(named)?;
    let (locked, view) = workspace.enter_for_a_person()?;
    let none = || AttemptError::NoLoop(workspace.spec.name.clone());
    let state = view.state.as_ref().ok_or_else(none)?;
    let file = view.file();
    let task = file.by_address(address).ok_or_else(|| AttemptError::NoTask(address.to_owned()))?;
    refuse_at_work(&workspace, task)?;
    if !task.done {
        let step = machine::step(state, &file, Event::Tick { index: task.index });
        locked.speaks_for(source);
        locked.write_step(Entry::Ticked { task: task.key() }, &step)?;
    }
    Ok(Tick { task: task.name(), state: NewState::Ticked, already: task.done })
}

fn refuse_at_work(workspace: &Workspace, task: &Task) -> Result<(), OpError> {
    let id = task.name();
    let ledger = workspace.store.ledger()?;
    // A session works on it by a call, or, if its shell has asked for work, itself.
    let is_at_work = || ledger.at_work().contains(&id.as_str());
    let by_itself = match holder(&workspace.store, Asker::Person) {
        // A run is about to start the agent of what is open.
        Holder::Other(Owner::Runner { .. }) => {
            is_at_work() || ledger.open_attempts().iter().any(|attempt| attempt.key.id == id)
        }
        Holder::Other(Owner::Session { session_id, .. }) => {
            ledger.was_held_by(&session_id) && is_at_work()
        }
        Holder::Nobody | Holder::Me => false,
    };
    let by_a_call = ledger.calls_at_work().iter().any(|call| call.task.id == id);
    match by_itself || by_a_call {
        true => Err(OpError::NotFound(format!(
            "{id} is being worked on; wait for its verdict, or `specum pause` first"
        ))),
        false => Ok(()),
    }
}

/// Agrees to a change of the plan that was made while a task was being worked on,
/// or, for the task `git`, to what git starts now.
pub fn accept(caller: &Caller<'_>, named: Option<&str>, address: &str) -> Result<Accept, OpError> {
    let source = caller.require_person("accept")?;
    let workspace = caller.workspace(named)?;
    if address == GIT {
        return accept_git(&workspace, source);
    }
    if address == suite::VERIFY {
        return accept_suite(&workspace, source);
    }
    if stale::accept(caller, &workspace.spec, address)? {
        let (task, change) = (address.to_owned(), AcceptedChange::Ground);
        return Ok(Accept { task, state: NewState::Accepted, change, check: None });
    }
    let (locked, view) = workspace.enter_for_a_person()?;
    let none = || AttemptError::NoLoop(workspace.spec.name.clone());
    let state = view.state.as_ref().ok_or_else(none)?;
    let file = view.file();
    // One that was removed is in no file, and answers to the name it had.
    let id = file.by_address(address).map_or(address.to_owned(), Task::name);
    let plan_record = workspace.plan_record()?;
    let was_called = |task: &&OnRecord| {
        let asked = task.unconfirmed.as_ref().map(|asked| &asked.change);
        matches!(asked, Some(Change::Removed(name)) if *name == address)
    };
    let removed = plan_record.removals().find(was_called);
    let on_record = removed.or(plan_record.task(&id));
    let on_record = on_record.ok_or_else(|| AttemptError::NoTask(address.to_owned()))?;
    let Some(asked) = &on_record.unconfirmed else {
        return Err(OpError::NotFound(format!("nothing about {id} waits to be accepted")));
    };
    let settled = vec![on_record.task.id.clone()];
    let step = machine::step(state, &file, Event::Follow { renames: Vec::new(), settled });
    locked.speaks_for(source);
    locked.write_step(Entry::Accepted { task: on_record.task.clone() }, &step)?;
    let (task, change, check) = match &asked.change {
        Change::Check(check) => (id, AcceptedChange::Check, Some(check.shown())),
        Change::Removed(name) => (name.clone(), AcceptedChange::Removed, None),
    };
    Ok(Accept { task, state: NewState::Accepted, change, check })
}

fn accept_suite(workspace: &Workspace, source: Source) -> Result<Accept, OpError> {
    let (locked, view) = workspace.enter_for_a_person()?;
    let none = || AttemptError::NoLoop(workspace.spec.name.clone());
    let state = view.state.as_ref().ok_or_else(none)?;
    let record = workspace.plan_record()?;
    let Some(suite) = record.asked_suite().cloned() else {
        let why = "nothing about the check of the whole plan waits to be accepted";
        return Err(OpError::NotFound(why.into()));
    };
    let (file, check) = (view.file(), suite.shown());
    let settled = waiting_for_it(&record, &file);
    let step = machine::step(state, &file, Event::Follow { renames: Vec::new(), settled });
    locked.speaks_for(source);
    locked.write_step(Entry::SuiteChanged { suite, during: None }, &step)?;
    let (task, change) = (suite::VERIFY.to_owned(), AcceptedChange::Suite);
    Ok(Accept { task, state: NewState::Accepted, change, check: Some(check) })
}

fn accept_git(workspace: &Workspace, source: Source) -> Result<Accept, OpError> {
    let ledger = workspace.store.ledger()?;
    if ledger.git_change().is_none() {
        return Err(OpError::NotFound("nothing about git waits to be accepted".into()));
    }
    let after = workspace.repository()?.programs(None)?.digest();
    let locked = workspace.store.lock()?;
    locked.speaks_for(source);
    locked.record(Entry::GitAccepted { after })?;
    let (task, change) = (GIT.to_owned(), AcceptedChange::Git);
    Ok(Accept { task, state: NewState::Accepted, change, check: None })
}

#[cfg(test)]
mod tests {
    use specum_core::machine::Start;

    use super::*;
    use crate::attempt::tests::in_memory;

    #[test]
    fn a_task_whose_agent_a_run_is_about_to_start_is_not_ticked_by_hand() {
        let (workspace, ..) = in_memory("- [ ] 1.1 a\n- [ ] 1.2 b\n");
        let owner = |process| Some(Owner::Runner { process });
        let me = workspace.world().launcher.me();
        workspace.start(Start { owner: owner(me.clone()), ..Start::default() }).unwrap();
        workspace.open().unwrap();
        // As after a session has opened it: nobody is at work yet.
        workspace.store.lock().unwrap().record(Entry::Released { session: String::new() }).unwrap();
        assert!(workspace.store.ledger().unwrap().at_work().is_empty());
        let view = workspace.store.read().unwrap();
        let refused = |at: usize| refuse_at_work(&workspace, &view.file().tasks[at]).is_err();
        assert_eq!((refused(0), refused(1)), (true, false));
    }
}
