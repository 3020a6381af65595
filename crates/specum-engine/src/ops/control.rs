//! Pausing, resuming and cancelling a loop.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use specum_core::journal::{Entry, Source};
use specum_core::machine::{self, Event, Raise};
use specum_core::owner::{Asker, Holder, Owner};
use specum_core::state::{Driver, PauseAfter, State};

use super::caller::holder;
use super::{Caller, LoopFile, NewState, OpError, steer};
use crate::attempt::{AttemptError, Workspace};
use crate::owner;
use crate::person;
use crate::project::Spec;
use crate::ralph_loop;
use crate::session;
use crate::store::{self, Store};

/// How long a run may take to put away what its agents have left.
const RUN_ENDS: Duration = Duration::from_secs(60);

/// A loop that waits from now on.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Pause {
    /// The spec.
    #[serde(rename = "spec")]
    pub name: String,
    /// `paused`, or `pause-asked` if something is to be over first.
    pub state: NewState,
    /// The phase that is to be over first, by its heading, if one is.
    pub phase: Option<String>,
}

/// What is to be over before the loop waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PausedBy {
    /// Nothing: it waits at once.
    Now,
    /// What is worked on.
    Task,
    /// The phase that is worked on.
    Phase,
}

/// A loop that goes on.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Resume {
    /// The spec.
    #[serde(rename = "spec")]
    pub name: String,
    /// `resumed`.
    pub state: NewState,
    /// Whether a task that had used its attempts gets another round.
    #[serde(skip)]
    pub another_round: bool,
}

/// A loop that was ended, and what stood before.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cancel {
    /// The spec.
    #[serde(rename = "spec")]
    pub name: String,
    /// The phase of the loop; null without one.
    pub phase: Option<String>,
    /// How many boxes are ticked.
    pub done: usize,
    /// How many boxes there are.
    pub total: usize,
    /// Which attempt at its task was next.
    pub task_iteration: Option<u64>,
    /// Which attempt of the loop was next.
    pub global_iteration: Option<u64>,
    /// Whether a loop was running.
    pub cancelled: bool,
    /// Where the spec's folder is now; null unless it was moved to the trash.
    pub moved_to: Option<String>,
    /// What became of the loop file of the Ralph Loop plugin; null without one.
    pub loop_file: Option<LoopFile>,
}

/// Lets the loop wait: at once, so that the Stop hook lets the session go and a run
/// ends its agents; or when what is worked on is over.
pub fn pause(caller: &Caller<'_>, workspace: &Workspace, when: PausedBy) -> Result<Pause, OpError> {
    let name = workspace.spec.name.clone();
    if when != PausedBy::Now {
        let after = steer::pause_after(caller, workspace, when == PausedBy::Phase)?;
        let phase = match after {
            PauseAfter::Phase(phase) => Some(phase),
            PauseAfter::Task => None,
        };
        return Ok(Pause { name, state: NewState::PauseAsked, phase });
    }
    let entry = Entry::Paused { why: None, branch: None };
    let source = caller.who("pause");
    let after = change(workspace, source, Event::Pause { why: None }, entry)?.after;
    if after.is_some_and(|state| state.driver == Driver::RalphLoop) {
        // The Ralph Loop waits with us.
        ralph_loop::end(&workspace.spec)?;
    }
    Ok(Pause { name, state: NewState::Paused, phase: None })
}

/// Lets a paused or blocked loop go on, and may let it use more than was agreed before.
pub fn resume(caller: &Caller<'_>, workspace: &Workspace, raise: Raise) -> Result<Resume, OpError> {
    // The one who paused it may let it go on; a block is a person's to lift, and a cap.
    let state = workspace.store.read_state().and_then(Result::ok);
    if let Some(phase) = state.as_ref().and_then(|state| state.waiting_for.as_ref()) {
        return Err(OpError::NotFound(format!(
            "`{phase}` waits for your approval; `specum approve` lets the loop go on"
        )));
    }
    let is_blocked = state.is_some_and(|state| state.blocked().is_some());
    let source = match is_blocked || raise.says_something() {
        true => caller.require_person("resume")?,
        false => caller.who("resume"),
    };
    let event = Event::Resume(raise);
    let Changed { was_blocked, after } = change(workspace, source, event, Entry::Resumed)?;
    if let Some(state) = after.filter(|state| state.driver == Driver::RalphLoop) {
        drive_again(caller, &workspace.spec, &state)?;
    }
    caller.hold_for_session(workspace)?;
    let name = workspace.spec.name.clone();
    Ok(Resume { name, state: NewState::Resumed, another_round: was_blocked })
}

/// A change of the loop's state.
struct Changed {
    was_blocked: bool,
    after: Option<State>,
}

fn change(
    workspace: &Workspace,
    source: Source,
    event: Event,
    entry: Entry,
) -> Result<Changed, OpError> {
    let locked = workspace.store.lock()?;
    let view = locked.read()?;
    let none = || AttemptError::NoLoop(workspace.spec.name.clone());
    let state = view.state.as_ref().ok_or_else(none)?;
    // Index and total follow the file; a missing one would set them to nothing.
    if view.tasks.is_none() && state.planning.is_none() {
        return Err(AttemptError::NoTasks(workspace.spec.shown.clone()).into());
    }
    let step = machine::step(state, &view.file(), event);
    locked.speaks_for(source);
    locked.write_step(entry, &step)?;
    Ok(Changed { was_blocked: state.blocked().is_some(), after: step.state })
}

/// Begins the Ralph Loop again that drives this spec.
fn drive_again(caller: &Caller<'_>, spec: &Spec, state: &State) -> Result<(), OpError> {
    if ralph_loop::LoopFile::of(spec) == (ralph_loop::LoopFile::Ours { active: true }) {
        return Ok(());
    }
    match ralph_loop::can_drive(spec) {
        Ok(()) => {
            let session = session::current();
            ralph_loop::begin(spec, session.as_deref(), state.max_global_iterations)?;
        }
        Err(error) => caller.warn(format!("resumed, but no plugin drives the loop: {error}")),
    }
    Ok(())
}

/// Ends the loop and deletes its state. With `remove` the spec's folder goes to the
/// trash, once a run that worked the spec has ended.
pub fn cancel(caller: &Caller<'_>, named: Option<&str>, remove: bool) -> Result<Cancel, OpError> {
    // An agent that ends a loop and begins it anew would have its ticks count.
    let source = match person::is_an_agents_shell() {
        true => caller.require_person("cancel")?,
        false => caller.who("cancel"),
    };
    let (project, spec) = caller.find(named)?;
    let store = Store::of(&spec);
    caller.warn_if_held(&store);
    let runner = match holder(&store, Asker::Person) {
        Holder::Other(owner @ Owner::Runner { .. }) => Some(owner),
        Holder::Nobody | Holder::Me | Holder::Other(Owner::Session { .. }) => None,
    };
    let mut cancel = end_loop(&spec, &store, source)?;
    cancel.loop_file = LoopFile::of(ralph_loop::end(&spec)?);
    if remove {
        runner.map_or(Ok(()), |runner| wait_for(&store, &runner))?;
        if let Ok(git) = project.world.repositories.open(&project.root) {
            git.exclude_own_files()?;
        }
        cancel.moved_to = Some(project.shown(&store::move_to_trash(&project, &spec)?));
    }
    Ok(cancel)
}

/// Deletes the state and what the hooks remember, and tells what stood before.
fn end_loop(spec: &Spec, store: &Store, source: Source) -> Result<Cancel, OpError> {
    let state = store.read_state();
    // A plan or a state that cannot be read is no reason to go on with it.
    let tasks = store.read_tasks().ok().flatten().unwrap_or_default();
    let file = tasks.file();
    let phase = state.as_ref().map(|state| match state {
        Ok(state) => state.phase.as_str().to_owned(),
        Err(why) => format!("unknown (corrupt state: {why})"),
    });
    let cancelled = store.has_state();
    let state = state.and_then(Result::ok);
    let cancel = Cancel {
        name: spec.name.clone(),
        phase,
        done: file.done_count(),
        total: file.count(),
        task_iteration: state.as_ref().map(|state| state.task_iteration),
        global_iteration: state.as_ref().map(|state| state.global_iteration),
        cancelled,
        moved_to: None,
        loop_file: None,
    };
    if cancelled {
        let state = state.unwrap_or_else(|| State::new(file.tasks.len()));
        let step = machine::step(&state, &file, Event::Cancel);
        let locked = store.lock()?;
        locked.speaks_for(source);
        locked.write_step(Entry::Cancelled, &step)?;
    }
    store.forget_memory()?;
    Ok(cancel)
}

/// Waits for a run that has lost its spec: it still puts away what its agents have
/// left, and tells the journal.
fn wait_for(store: &Store, runner: &Owner) -> Result<(), OpError> {
    let clock = &store.world.clock;
    let asked = clock.elapsed();
    while !owner::is_gone(store, runner) {
        if clock.elapsed() - asked > RUN_ENDS {
            return Err(OpError::StillRunning(runner.description()));
        }
        clock.sleep(Duration::from_millis(10));
    }
    Ok(())
}
