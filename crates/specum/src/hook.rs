//! Answers to a host: `specum hook <event>`.
//!
//! A hook reads JSON on standard input and writes what the host is to hear on
//! standard output. Whatever goes wrong, it ends with code 0 and nothing on
//! standard output, so that the host works on as if it were not there. The
//! Stop hook takes no lock and starts no process, thread or runtime.

mod agent;
mod answer;
mod command;

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use specum_core::claim;
use specum_core::guard::{Memory, Released};
use specum_core::hook::Input;
use specum_core::journal::{Changes, Entry, StateChange};
use specum_core::machine;
use specum_core::plan::{Scope, Unit};
use specum_core::prompt::{self, Spec as PromptSpec};
use specum_core::state::Owner;
use specum_core::stop::{self, Decision, Scene};
use specum_core::tasks::TaskFile;

use crate::claude_config;
use crate::files;
use crate::owner;
use crate::process;
use crate::project::{Project, Spec, SpecError};
use crate::session;
use crate::store::Store;

/// The events that are answered.
pub const EVENTS: [&str; 7] = [
    "stop",
    "session-start",
    "session-end",
    "prompt",
    "pre-tool-use",
    "post-tool-use",
    "subagent-stop",
];

/// What Gemini CLI sets for its hooks. It shows what a hook prints to the person;
/// the model hears only what comes as JSON.
const GEMINI_VARIABLE: &str = "GEMINI_SESSION_ID";

/// The longest input worth reading.
const MAX_INPUT: u64 = 32 * 1024 * 1024;

/// Answers one event.
pub fn run(event: &str) -> ExitCode {
    let answer: fn(&Input) -> Option<String> = match event {
        "stop" => stop,
        "session-start" => session_start,
        "session-end" => session_end,
        "prompt" => command::expansion,
        "pre-tool-use" => agent::before_call,
        "post-tool-use" => answer::after_call,
        "subagent-stop" => agent::end_of_agent,
        unknown => {
            log(&format!("unknown hook `{unknown}`; the hooks are {}", EVENTS.join(", ")));
            // Not 2: hosts take that for "do not stop".
            return ExitCode::FAILURE;
        }
    };
    if event != "stop" {
        // A check that runs when the host ends us must not run on.
        process::clean_up_when_interrupted();
    }
    let output = read_input().as_deref().and_then(Input::parse).and_then(|input| answer(&input));
    if let Some(output) = output {
        // A host that has closed the pipe does not want to know.
        let _ = io::stdout().lock().write_all(output.as_bytes());
    }
    ExitCode::SUCCESS
}

/// Standard input to its end, so that the host is not left with a broken pipe;
/// `None` if it is too long to be an event.
fn read_input() -> Option<Vec<u8>> {
    let mut input = Vec::new();
    let mut stdin = io::stdin().lock();
    stdin.by_ref().take(MAX_INPUT).read_to_end(&mut input).ok()?;
    let rest = io::copy(&mut stdin, &mut io::sink()).ok()?;
    (rest == 0).then_some(input)
}

fn log(line: &str) {
    let mark = if line.starts_with('[') { "" } else { "[ralph-specum] " };
    // One write, so that lines of two hooks do not mix.
    let _ = io::stderr().lock().write_all(format!("{mark}{line}\n").as_bytes());
}

/// The project a session works in, unless the user has turned the hooks off, or
/// a run has started the session: then the run is the loop.
fn project_of(cwd: &str) -> Option<Project> {
    if std::env::var_os(process::MARK).is_some() {
        return None;
    }
    let home = std::env::var_os("HOME");
    let project = Project::find(Path::new(cwd), home.as_deref().map(Path::new))?;
    project.settings.enabled.then_some(project)
}

/// The active spec of that project.
fn active_spec(cwd: &str) -> Option<(Project, Spec)> {
    let project = project_of(cwd)?;
    match project.current() {
        Ok(spec) => spec.map(|spec| (project, spec)),
        Err(SpecError::NotFound { .. }) => None,
        Err(error) => {
            log(&error.to_string().replace('\n', " "));
            None
        }
    }
}

/// `stop`: may the agent stop?
fn stop(input: &Input) -> Option<String> {
    let (project, spec) = active_spec(&input.cwd)?;
    let store = Store::of(&spec);
    // Twice at most: a second look is needed only when another session was
    // faster in claiming the spec.
    for _ in 0..2 {
        let before = store.read_memory();
        let decision = decide(input, &project, &spec, &store, &before)?;
        let remembered = match &decision.memory {
            Some(after) => store.write_memory(&before, after),
            None => Ok(true),
        };
        match remembered {
            Ok(true) => {
                decision.stderr.iter().for_each(|line| log(line));
                return Some(decision.output.render());
            }
            Ok(false) => {}
            // A block that is not remembered could be repeated for ever.
            Err(error) => {
                log(&format!("not blocking: {error}"));
                return None;
            }
        }
    }
    None
}

fn decide(
    input: &Input,
    project: &Project,
    spec: &Spec,
    store: &Store,
    memory: &Memory,
) -> Option<Decision> {
    let state = store.read_state()?;
    let tasks = match store.read_tasks() {
        Ok(tasks) => tasks,
        Err(error) => {
            log(&error.to_string());
            None
        }
    };
    let file = tasks.as_deref().map(TaskFile::scan);
    let last_message = input.last_message.clone().or_else(|| {
        let path = Path::new(input.transcript_path.as_deref()?);
        claim::TRANSCRIPT_TAILS.into_iter().find_map(|length| {
            let tail = files::read_tail(path, length).ok()?;
            claim::last_message(&tail.bytes, tail.whole, tail.first)
        })
    });
    let host = process::host();
    let state_owner = state.as_ref().ok().and_then(|state| state.owner.as_ref());
    Some(stop::decide(&Scene {
        input,
        spec: PromptSpec { name: &spec.name, path: &spec.shown },
        state: state.as_ref(),
        tasks: file.as_ref(),
        last_message: last_message.as_deref(),
        memory,
        host: host.as_ref(),
        state_owner_gone: owner::is_gone(state_owner),
        memory_owner_gone: owner::is_gone(memory.owner.as_ref()),
        max_parallel: project.settings.max_parallel,
    }))
}

/// `session-start`: what the model should know of the active spec.
fn session_start(input: &Input) -> Option<String> {
    let note = note_on_active_spec(input);
    let warning = warning_of_namesakes(&input.cwd);
    if warning.is_none() && std::env::var_os(GEMINI_VARIABLE).is_none() {
        return note;
    }
    let mut answer = json!({});
    if let Some(note) = note {
        answer["hookSpecificOutput"] =
            json!({"hookEventName": "SessionStart", "additionalContext": note});
    }
    if let Some(warning) = warning {
        answer["systemMessage"] = json!(format!("Ralph-specum: {warning}"));
    }
    (answer != json!({})).then(|| answer.to_string())
}

/// For a session of Claude Code in a project with specs: whether another plugin
/// may take our plugin's place.
fn warning_of_namesakes(cwd: &str) -> Option<String> {
    session::current()?;
    claude_config::namesakes(&project_of(cwd)?.root)
}

fn note_on_active_spec(input: &Input) -> Option<String> {
    let (project, spec) = active_spec(&input.cwd)?;
    let store = Store::of(&spec);
    let mut memory = store.read_memory();
    if input.source.as_deref() == Some("clear") {
        memory = take_over_cleared(input, &store, memory);
    }
    let tasks = store.read_tasks().ok().flatten().unwrap_or_default();
    let file = TaskFile::scan(&tasks);
    let state = match store.read_state() {
        Some(Ok(state)) => Some(state),
        Some(Err(why)) => {
            let shown = &spec.shown;
            return Some(format!(
                "specum: the state of the active spec {} ({shown}/.ralph-state.json) is corrupt: \
                 {why}.\n/ralph-specum:implement rebuilds it from tasks.md.\n",
                spec.name
            ));
        }
        None => None,
    };
    let held_by = owner::described(state.as_ref(), &memory, input.session_id.as_deref());
    let named = PromptSpec { name: &spec.name, path: &spec.shown };
    let scope = Scope::all(project.settings.max_parallel);
    let unit = state.as_ref().map_or(Unit::Complete, |state| machine::unit(state, &file, &scope));
    Some(prompt::session_note(named, state.as_ref(), &file, &unit, &held_by))
}

/// The session that a `/clear` opens goes on with what that `/clear` released.
fn take_over_cleared(input: &Input, store: &Store, memory: Memory) -> Memory {
    let host = process::host();
    let (Some(released), Some(session_id)) = (&memory.released, &input.session_id) else {
        return memory;
    };
    let same_host = match (&released.process, &host) {
        (Some(before), Some(now)) => before == now,
        _ => true,
    };
    if !same_host || memory.owner.is_some() {
        return memory;
    }
    let owner = Owner::Session { session_id: session_id.clone(), process: host };
    let after = Memory { owner: Some(owner), ..Memory::default() };
    match store.write_memory(&memory, &after) {
        Ok(true) => after,
        Ok(false) => memory,
        Err(error) => {
            log(&error.to_string());
            memory
        }
    }
}

/// `session-end`: lets go of the spec.
///
/// Of every spec, not of the active one alone: the person may have switched
/// while the session worked another.
fn session_end(input: &Input) -> Option<String> {
    let session_id = input.session_id.as_deref()?;
    let cleared = input.reason.as_deref() == Some("clear");
    for spec in project_of(&input.cwd)?.specs() {
        release(&Store::of(&spec), session_id, cleared);
    }
    None
}

/// Lets go of one spec, if the session holds it.
fn release(store: &Store, session_id: &str, cleared: bool) {
    let before = store.read_memory();
    if before.is_newer_format() {
        return;
    }
    let state = store.read_state().and_then(Result::ok);
    let in_state = state.as_ref().and_then(|state| state.owner.as_ref());
    let owners = [before.owner.as_ref(), in_state].into_iter().flatten();
    let Some(mine) = owners.into_iter().find(|owner| owner::is_session(owner, session_id)) else {
        return;
    };
    let released = cleared
        .then(|| Released { session_id: session_id.to_owned(), process: mine.process().cloned() });
    let owner = before.owner.clone().filter(|owner| !owner::is_session(owner, session_id));
    let after = Memory { owner, released, ..Memory::default() };
    // An empty memory is no file, so that the next claim is again the first.
    let written = match after == Memory::default() {
        true => store.forget_memory(),
        false => store.write_memory(&before, &after).map(|_| ()),
    };
    if let Err(error) = written {
        log(&error.to_string());
    }
    if in_state.is_some_and(|owner| owner::is_session(owner, session_id)) {
        release_in_state(store, session_id);
    }
}

fn release_in_state(store: &Store, session_id: &str) {
    let release = || -> Result<(), crate::store::StoreError> {
        let locked = store.lock()?;
        let Some(mut state) = locked.read()?.state else { return Ok(()) };
        // Somebody else may have taken it since.
        if !state.owner.as_ref().is_some_and(|owner| owner::is_session(owner, session_id)) {
            return Ok(());
        }
        state.owner = None;
        let changes =
            Changes { state: StateChange::Write(state.to_object()), ..Changes::default() };
        locked.write(Entry::Released { session: session_id.to_owned() }, changes)
    };
    if let Err(error) = release() {
        log(&error.to_string());
    }
}
