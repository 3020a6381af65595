use serde_json::json;
use specum_core::machine::Start;
use specum_core::owner::{Asker, Owner};
use specum_core::prompt::{self, SpecName};
use specum_core::state::Driver;

use super::{
    hold_for_session, next, one_at_a_time, print, print_json, project, spec, switch,
    warn_of_settings,
};
use crate::attempt::{AttemptError, Workspace};
use crate::codex_config::{self, HOW_TO_TRUST, Trust};
use crate::exit;
use crate::owner;
use crate::person::{self, Door};
use crate::ralph_loop::{self, LOOP_FILE, LoopFileFate};
use crate::session;

/// Start working the tasks of a spec, or go on with them
///
/// Checks the spec, writes the loop's state, and prints the first piece of
/// work. The spec becomes the active one. What earlier runs learned about
/// failed tasks is kept.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name or path; the active spec if left out
    pub(super) spec: Option<String>,
    /// Attempts for each task [default: the settings', or 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    max_task_iterations: Option<u64>,
    /// Attempts for the whole loop, failed ones too [default: tasks × attempts ×
    /// 2, at least 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    max_global_iterations: Option<u64>,
    /// Give a task that keeps failing a fix task instead of stopping
    #[arg(long)]
    recovery_mode: bool,
    /// Who sends the agent back to work when it stops: specum's own Stop hook,
    /// or the Ralph Loop plugin of Claude Code
    #[arg(long, value_name = "WHO", value_enum, default_value_t = DrivenBy::Hook)]
    driver: DrivenBy,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The drivers as they are typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum DrivenBy {
    Hook,
    RalphLoop,
}

pub(super) fn run(args: &Args, typed: Door) -> anyhow::Result<u8> {
    let project = project()?;
    warn_of_settings(&project);
    let spec = spec(&project, args.spec.as_deref())?;
    let workspace = one_at_a_time(Workspace::new(&project, spec)?);
    let session = session::current();
    let owner = session::of_any_host().as_deref().map(owner::session);
    let start = Start {
        owner,
        max_task_iterations: args.max_task_iterations.or(project.settings.run.max_task_iterations),
        max_global_iterations: args.max_global_iterations,
        recovery_mode: args.recovery_mode.then_some(true),
        driver: match args.driver {
            DrivenBy::Hook => Driver::Hook,
            DrivenBy::RalphLoop => Driver::RalphLoop,
        },
        ..Start::default()
    };
    // Starting again moves a spent cap on, and a higher one is an agent's wish.
    let state = workspace.store.read_state().and_then(Result::ok);
    let lifts_a_cap = state.is_some_and(|state| {
        let is_spent = state.attempts_left() == 0;
        is_spent || (start.raises_a_cap(&state) && person::is_an_agents_shell())
    });
    if lifts_a_cap {
        person::require("implement", typed)?;
    }
    take_over_in_words(&workspace)?;
    // Before anything changes.
    workspace.refuse_bad_plan()?;
    if args.driver == DrivenBy::RalphLoop {
        ralph_loop::can_drive(&workspace.spec)?;
    }
    let view = workspace.start(start)?;
    hold_for_session(&workspace)?;
    if session::host().is_none() && codex_config::trust() == Trust::Missing {
        super::warn(format!("a session of codex would not be sent back to work: {HOW_TO_TRUST}"));
    }
    // A loop that nobody looks for would end with the first stop.
    let was_active = project.current().is_ok_and(|active| active.as_ref() == Some(&workspace.spec));
    if !was_active {
        switch::make_active(&project, &workspace.spec)?;
    }
    let cap = view.state.as_ref().map_or(0, |state| state.max_global_iterations);
    hand_over(&workspace, args.driver, session.as_deref(), cap)?;
    let file = view.file();
    let (done, total) = (file.done_count(), file.tasks.len());
    if args.json {
        print_json(&json!({"name": workspace.spec.name, "done": done, "total": total}))?;
        return Ok(exit::OK);
    }
    if session.is_some() {
        return brief_session(&workspace, args.driver);
    }
    print(format!("{}: {done} of {total} tasks done", workspace.spec.name))?;
    if !was_active {
        print(format!("it is the active spec now ({})", workspace.spec.shown))?;
    }
    if let Err(why) = &workspace.git {
        super::warn(format!("no commits will be made: {why}"));
    }
    next::show(&workspace)
}

/// A loop is not taken from a session whose executor is at work: two in one tree
/// would be nobody's to tell apart. Between two tasks it is, and said so.
fn take_over_in_words(workspace: &Workspace) -> anyhow::Result<()> {
    let state = workspace.store.read_state().and_then(Result::ok);
    let me = session::of_any_host();
    let asker = Asker::session_or_person(me.as_deref());
    let holder = owner::holder(&workspace.store, state.as_ref(), asker);
    let Some(other @ Owner::Session { .. }) = holder.other() else { return Ok(()) };
    let is_paused = state.as_ref().is_some_and(|state| state.awaiting_approval);
    let ledger = workspace.store.ledger()?;
    let at_work = ledger.calls_at_work();
    if let (Some(call), false) = (at_work.first(), is_paused) {
        let by = format!("{}, whose executor works on {}", other.description(), call.task.id);
        return Err(AttemptError::Held { spec: workspace.spec.name.clone(), by }.into());
    }
    super::warn(format!("{} held this loop; it is yours now", other.description()));
    Ok(())
}

/// Begins the Ralph Loop, or ends the one that drove so far.
fn hand_over(
    workspace: &Workspace,
    driver: DrivenBy,
    session: Option<&str>,
    cap: u64,
) -> anyhow::Result<()> {
    match driver {
        DrivenBy::RalphLoop => ralph_loop::begin(&workspace.spec, session, cap)?,
        DrivenBy::Hook => {
            if ralph_loop::end(&workspace.spec)? == LoopFileFate::Deleted {
                super::warn(format!("{LOOP_FILE} is deleted: specum's Stop hook drives now"));
            }
        }
    }
    Ok(())
}

/// What the session that typed the command is to do.
fn brief_session(workspace: &Workspace, driver: DrivenBy) -> anyhow::Result<u8> {
    let spec = SpecName { name: &workspace.spec.name, path: &workspace.spec.shown };
    if driver == DrivenBy::RalphLoop {
        return print(prompt::ralph_loop(spec).trim_end()).map(|()| exit::OK);
    }
    print(prompt::coordinator(spec))?;
    print(workspace.announce()?.text.trim_end()).map(|()| exit::OK)
}
