//! `specum hook prompt`: a slash command of the plugin is about to run.
//!
//! The host hands over the arguments as JSON, before any shell sees them. A bad
//! one ends the command here, with a clear text and without a call of the
//! model; good ones are kept for the command itself.

use std::path::Path;

use specum_core::authoring::goal;
use specum_core::hook::{HookOutput, split_arguments};
use specum_core::spec::Doc;

use super::{HookCall, log};
use crate::commands;
use specum_engine::attempt::{AttemptError, Workspace};
use specum_engine::ops::{noted_spec, settings_problems};
use specum_engine::project::{Project, Spec};
use specum_engine::session::Pending;
use specum_engine::store::Store;

/// What a command of ours is called in the host.
const PREFIX: &str = "ralph-specum:";

/// The commands that need no spec, and no folder of specs.
const BEGINNING: [&str; 3] = ["start", "new", "index"];

pub(super) fn expansion(input: &HookCall<'_>) -> Option<String> {
    let verb = input.command_name.as_deref()?.strip_prefix(PREFIX)?;
    if !commands::is_session_verb(verb) {
        return None;
    }
    let typed = input.command_args.as_deref().unwrap_or_default();
    match prepare(input, verb, typed) {
        Ok(()) => None,
        Err(reason) => {
            let system_message = format!("/{PREFIX}{verb} was not run");
            Some(HookOutput::Block { reason, system_message }.render())
        }
    }
}

/// What the verb itself would refuse, in its own words: a slash command that
/// fails later says nothing to a host without a terminal.
fn refuse_early(project: &Project, verb: &str, spec: Option<Spec>) -> Result<(), String> {
    if matches!(verb, "help" | "switch") {
        return Ok(());
    }
    let spec = spec.ok_or("no spec is active; /ralph-specum:switch <spec> makes one so")?;
    if matches!(verb, "status" | "trace") {
        return Ok(());
    }
    let said = |error: AttemptError| error.to_string();
    let workspace = Workspace::new(project, spec).map_err(said)?;
    match verb {
        "implement" => workspace.refuse_bad_plan().map_err(said),
        _ if workspace.store.has_state() => Ok(()),
        _ => Err(said(AttemptError::NoLoop(workspace.spec.name.clone()))),
    }
}

/// The arguments of a command as a command line has them. Behind the verbs that plan
/// stands free text: an apostrophe in it opens no quote.
fn arguments(project: Option<&Project>, verb: &str, typed: &str) -> Result<Vec<String>, String> {
    let said = |why: String| format!("/{PREFIX}{verb}: {why}");
    let is_spec = |name: &str| project.is_some_and(|project| project.spec(name).is_ok());
    let line = |flags: Vec<String>, text: &str| {
        let text = (!text.is_empty()).then(|| ["--".to_owned(), text.to_owned()]);
        flags.into_iter().chain(text.into_iter().flatten()).collect()
    };
    if verb == "start" {
        let goal = goal::take_flags(typed).map_err(said)?;
        return Ok(line(goal.flags, &goal.text));
    }
    if Doc::named(verb).is_some() {
        let first = typed.split_whitespace().next().filter(|word| is_spec(word));
        let text = typed.trim().strip_prefix(first.unwrap_or_default()).unwrap_or_default();
        let spec = first.into_iter().flat_map(|name| ["--spec".to_owned(), name.to_owned()]);
        return Ok(line(spec.collect(), text.trim()));
    }
    split_arguments(typed).ok_or_else(|| said(format!("a quote is not closed in: {typed}")))
}

fn prepare(input: &HookCall<'_>, verb: &str, typed: &str) -> Result<(), String> {
    let home = std::env::var_os("HOME");
    let found = Project::find(input.world, Path::new(&input.cwd), home.as_deref().map(Path::new));
    let arguments = arguments(found.as_ref(), verb, typed)?;
    let spec = commands::named_spec(verb, &arguments)?;
    let needs_settings = !matches!(verb, "help" | "switch");
    if let Some(problems) = found.as_ref().filter(|_| needs_settings).and_then(settings_problems) {
        return Err(problems);
    }
    // These make the folder of a spec, and look at it themselves.
    if BEGINNING.contains(&verb) {
        return keep(input, verb, arguments);
    }
    let project =
        found.ok_or("no specs in this folder or above; a plan is a file specs/<name>/tasks.md")?;
    let of_session = || {
        let noted = noted_spec(input.world, input.session_id.as_deref()?)?;
        Store::of(&noted.1).has_state().then_some(noted)
    };
    let (project, noted) = match spec.is_none().then(of_session).flatten() {
        // A session means the spec it works on, whichever is active.
        Some((project, spec)) if !matches!(verb, "implement" | "switch") => (project, Some(spec)),
        _ => (project, None),
    };
    let spec = match spec {
        Some(name) => Some(project.spec(&name).map_err(|error| error.to_string())?),
        None if noted.is_some() => noted,
        None => project.current().map_err(|error| error.to_string())?,
    };
    refuse_early(&project, verb, spec)?;
    keep(input, verb, arguments)
}

/// Keeps the arguments for the command itself.
fn keep(input: &HookCall<'_>, verb: &str, arguments: Vec<String>) -> Result<(), String> {
    // `help` runs no verb of ours that would pick anything up.
    let Some(session_id) = input.session_id.clone().filter(|_| verb != "help") else {
        return Ok(());
    };
    let pending = Pending {
        session_id,
        verb: verb.to_owned(),
        arguments,
        process: input.world.launcher.host(),
    };
    if let Err(error) = pending.keep(input.world) {
        // The command would run without its arguments, which is worse than not
        // at all.
        log(&error.to_string());
        return Err(error.to_string());
    }
    Ok(())
}
