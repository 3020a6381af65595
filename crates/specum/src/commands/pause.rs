use serde_json::json;
use specum_core::journal::Entry;
use specum_core::machine::{self, Event};
use specum_core::state::{Driver, State};

use super::{hold_for_session, print, print_json, warn, workspace};
use crate::attempt::{AttemptError, Workspace};
use crate::exit;
use crate::person::{self, Door};
use crate::ralph_loop::{self, LoopFile};
use crate::session;

/// Let the loop wait
///
/// It stops where it is: the Stop hook lets the session go, a `specum run` ends
/// its agents at once, nothing is lost, and the same task comes again after
/// `specum resume`.
#[derive(Debug, clap::Args)]
pub(super) struct PauseArgs {
    /// Name or path; the active spec if left out
    pub(super) spec: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Let a paused or blocked loop go on
///
/// A task that had used its attempts gets another round.
#[derive(Debug, clap::Args)]
pub(super) struct ResumeArgs {
    /// Name or path; the active spec if left out
    pub(super) spec: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn pause(args: &PauseArgs) -> anyhow::Result<u8> {
    write_step(
        args.spec.as_deref(),
        args.json,
        Event::Pause { why: None },
        Entry::Paused { why: None, branch: None },
        "paused",
    )
}

pub(super) fn resume(args: &ResumeArgs, typed: Door) -> anyhow::Result<u8> {
    let workspace = workspace(args.spec.as_deref())?;
    // Whoever paused it may let it go on; a block is a person's to lift.
    let state = workspace.store.read_state().and_then(Result::ok);
    if state.is_some_and(|state| state.blocked.is_some()) {
        person::require("resume", typed)?;
    }
    let code =
        write_step(args.spec.as_deref(), args.json, Event::Resume, Entry::Resumed, "resumed")?;
    hold_for_session(&workspace)?;
    Ok(code)
}

fn write_step(
    named: Option<&str>,
    json: bool,
    event: Event,
    entry: Entry,
    word: &str,
) -> anyhow::Result<u8> {
    let workspace = workspace(named)?;
    let name = &workspace.spec.name;
    let locked = workspace.store.lock()?;
    let view = locked.read()?;
    let state = view.state.as_ref().ok_or_else(|| AttemptError::NoLoop(name.clone()))?;
    // Index and total follow the file; a missing one would set them to nothing.
    if view.tasks.is_none() {
        return Err(AttemptError::NoTasks(workspace.spec.shown.clone()).into());
    }
    // A spent cap is lifted by starting again, or by naming a higher one.
    let was_blocked = state.blocked.is_some();
    let step = machine::step(state, &view.file(), event);
    locked.write_step(entry, &step)?;
    drop(locked);
    if let Some(state) = step.state.filter(|state| state.driver == Driver::RalphLoop) {
        take_along(&workspace, &state)?;
    }
    if json {
        print_json(&json!({"name": name, "state": word}))?;
    } else if word == "resumed" {
        let round =
            if was_blocked { " with another round for the task that was blocked" } else { "" };
        let command = match session::host() {
            Some(host) if host.works_itself() => "",
            _ => "`specum run`, /ralph-specum:implement or ",
        };
        print(format!("resumed: {name}{round}; go on with {command}`specum next`"))?;
    } else {
        print(format!("paused: {name}; `specum resume` goes on"))?;
    }
    Ok(exit::OK)
}

/// The Ralph Loop, where it drives, waits and goes on with us.
fn take_along(workspace: &Workspace, state: &State) -> anyhow::Result<()> {
    let spec = &workspace.spec;
    if state.awaiting_approval {
        ralph_loop::end(spec)?;
    } else if LoopFile::of(spec) != (LoopFile::Ours { active: true }) {
        match ralph_loop::can_drive(spec) {
            Ok(()) => {
                let session = session::current();
                ralph_loop::begin(spec, session.as_deref(), state.max_global_iterations)?;
            }
            Err(error) => warn(format!("resumed, but nobody drives: {error}")),
        }
    }
    Ok(())
}
