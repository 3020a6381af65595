//! The beginning of a loop that a session or a person works.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use specum_core::machine::Start;
use specum_core::owner::{Asker, Holder, Owner};
use specum_core::spec::Doc;
use specum_core::state::{Driver, Standing};

use super::caller::{holder, one_at_a_time};
use super::{Caller, OpError, plan, refuse_stale};
use crate::attempt::{AttemptError, Workspace};
use crate::codex_config::{self, HOW_TO_TRUST, Trust};
use crate::owner;
use crate::person;
use crate::projects;
use crate::ralph_loop::{self, LOOP_FILE, LoopFileFate};
use crate::session;
use crate::store;

/// How a loop is to begin.
#[derive(Debug, Clone, Default)]
pub struct StartRequest<'a> {
    /// The spec; the active one if there is none.
    pub spec: Option<&'a str>,
    /// Attempts for each task.
    pub max_task_iterations: Option<u64>,
    /// Attempts for the whole loop.
    pub max_global_iterations: Option<u64>,
    /// Whether a task that keeps failing gets a fix task.
    pub recovery_mode: bool,
    /// Whether a plan is worked that stands on what has changed.
    pub allow_stale: bool,
    /// What sends the agent back to work when it stops.
    pub driver: Driver,
}

/// A loop that has begun, or goes on.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Implement {
    /// The spec.
    #[serde(rename = "spec")]
    pub name: String,
    /// Where it is, from the project's root.
    pub path: String,
    /// How many boxes are ticked.
    pub done: usize,
    /// How many boxes there are.
    pub total: usize,
    /// Whether it has become the active spec by this.
    pub activated: bool,
    /// Why nothing will be committed; null in a repository.
    pub not_committed: Option<String>,
}

/// Starts the loop of a spec, or starts it again with what it has learned, and
/// makes the spec the active one.
pub fn start(
    caller: &Caller<'_>,
    request: &StartRequest<'_>,
) -> Result<(Workspace, Implement), OpError> {
    let project = caller.project()?;
    caller.warn_of_settings(&project);
    let spec = caller.spec(&project, request.spec)?;
    let workspace = one_at_a_time(Workspace::new(&project, spec)?);
    let session = session::of_any_host(caller.world);
    let start = Start {
        owner: session.as_deref().map(|session| owner::session(caller.world, session)),
        max_task_iterations: request
            .max_task_iterations
            .or(project.settings.run.max_task_iterations),
        max_global_iterations: request.max_global_iterations,
        recovery_mode: request.recovery_mode.then_some(true),
        driver: request.driver,
        approve: project.settings.run.approve,
        ..Start::default()
    };
    refuse_to_lift_a_cap(caller, &workspace, &start)?;
    let holder = take_over(caller, &workspace)?;
    // Whoever types this has read the plan; an agent's shell agrees to nothing.
    // A state that cannot be read has no planning, and is rebuilt below.
    let planning =
        workspace.store.read_state().and_then(Result::ok).and_then(|state| state.planning);
    if planning.and_then(|planning| planning.awaits()) == Some(Doc::Tasks) {
        let source = caller.require_person("implement")?;
        plan::approve_document(&workspace, Some(Doc::Tasks), &BTreeMap::new(), None, source)?;
    }
    // Before anything changes.
    workspace.refuse_bad_plan()?;
    refuse_stale(caller, &workspace, request.allow_stale)?;
    if request.driver == Driver::RalphLoop {
        ralph_loop::can_drive(&workspace.spec)?;
    }
    let view = workspace.start_after(start, &holder)?;
    caller.hold_alone(&workspace)?;
    if session::host().is_none() && codex_config::trust() == Trust::Missing {
        caller.warn(format!("a session of codex would not be sent back to work: {HOW_TO_TRUST}"));
    }
    // Without this the hooks do not find the loop, and the first stop would end it.
    let was_active = project.current().is_ok_and(|active| active.as_ref() == Some(&workspace.spec));
    if !was_active {
        store::make_active(&project, &workspace.spec)?;
    }
    projects::remember(&project);
    let cap = view.state.as_ref().map_or(0, |state| state.max_global_iterations);
    hand_over(caller, &workspace, request.driver, cap)?;
    let file = view.file();
    let started = Implement {
        name: workspace.spec.name.clone(),
        path: workspace.spec.shown.clone(),
        done: file.done_count(),
        total: file.count(),
        activated: !was_active,
        not_committed: workspace.git.as_ref().err().cloned(),
    };
    Ok((workspace, started))
}

/// Starting again moves a spent cap on, and a higher cap is an agent's wish: both
/// are a person's to grant.
fn refuse_to_lift_a_cap(
    caller: &Caller<'_>,
    workspace: &Workspace,
    start: &Start,
) -> Result<(), OpError> {
    let state = workspace.store.read_state().and_then(Result::ok);
    let lifts_a_cap = state.is_some_and(|state| {
        let is_spent = state.attempts_left() == 0;
        is_spent || (start.asks_for_more(&state) && person::is_an_agents_shell())
    });
    if lifts_a_cap { caller.require_person("implement").map(drop) } else { Ok(()) }
}

/// A loop is not taken from a session whose executor is at work: the changes of two
/// in one tree cannot be told apart. Between two tasks it is, with a warning. Tells who
/// held it.
fn take_over(caller: &Caller<'_>, workspace: &Workspace) -> Result<Holder, OpError> {
    let me = session::of_any_host(caller.world);
    let holder = holder(&workspace.store, Asker::session_or_person(me.as_deref()));
    let Some(other @ Owner::Session { .. }) = holder.other() else { return Ok(holder) };
    let state = workspace.store.read_state().and_then(Result::ok);
    let is_paused = state.is_some_and(|state| state.standing != Standing::Running);
    let ledger = workspace.store.ledger()?;
    let at_work = ledger.calls_at_work();
    if let (Some(call), false) = (at_work.first(), is_paused) {
        let by = format!("{}, whose executor works on {}", other.description(), call.task.id);
        return Err(AttemptError::Held { spec: workspace.spec.name.clone(), by }.into());
    }
    caller.warn(format!("{} held this loop; it is yours now", other.description()));
    Ok(holder)
}

/// Begins the Ralph Loop, or ends the one that drove so far.
fn hand_over(
    caller: &Caller<'_>,
    workspace: &Workspace,
    driver: Driver,
    cap: u64,
) -> Result<(), OpError> {
    match driver {
        Driver::RalphLoop => {
            ralph_loop::begin(&workspace.spec, session::current().as_deref(), cap)?;
        }
        Driver::Hook => {
            if ralph_loop::end(&workspace.spec)? == LoopFileFate::Deleted {
                caller.warn(format!("{LOOP_FILE} is deleted: specum's Stop hook drives now"));
            }
        }
    }
    Ok(())
}
