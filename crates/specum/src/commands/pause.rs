use serde_json::json;
use specum_core::journal::Entry;
use specum_core::machine::{self, Event};

use super::{print, print_json, workspace};
use crate::attempt::AttemptError;
use crate::exit;

/// Let the loop wait
///
/// It stops where it is: the Stop hook lets the session go, nothing is lost,
/// and `specum resume` goes on with the same task.
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
    happen(args.spec.as_deref(), args.json, Event::Pause, Entry::Paused, "paused")
}

pub(super) fn resume(args: &ResumeArgs) -> anyhow::Result<u8> {
    happen(args.spec.as_deref(), args.json, Event::Resume, Entry::Resumed, "resumed")
}

fn happen(
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
    let was_blocked = state.blocked.is_some();
    let step = machine::step(state, &view.file(), event);
    locked.write_step(entry, &step)?;
    if json {
        print_json(&json!({"name": name, "state": word}))?;
    } else if word == "resumed" {
        let round =
            if was_blocked { " with another round for the task that was blocked" } else { "" };
        print(format!(
            "resumed: {name}{round}; go on with /ralph-specum:implement or `specum next`"
        ))?;
    } else {
        print(format!("paused: {name}; `specum resume` goes on"))?;
    }
    Ok(exit::OK)
}
