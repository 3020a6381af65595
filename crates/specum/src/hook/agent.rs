//! The hooks around a coordinator's `Agent` calls: the loop inside a turn.
//!
//! `pre-tool-use` opens the attempt and puts the brief in the place of `task
//! 1.2`; `subagent-stop` is the judge; `post-tool-use`, in [`super::answer`],
//! tells the coordinator. Sub-agents that are not ours are left alone.

use std::path::Path;

use serde_json::{Value, json};
use specum_core::brief::Marker;
use specum_core::hook::{Input, Output};
use specum_core::journal::{Changes, Entry, Record, StateChange};
use specum_core::line;
use specum_core::prompt;
use specum_core::state::{Owner, Phase, State};
use specum_core::verify::Role;

use super::{active_spec, log};
use crate::attempt::{AttemptError, By, Delegation, History, Judged, Next, Opened, Workspace};
use crate::files;
use crate::owner;
use crate::process;
use crate::project::{Project, Spec};
use crate::store::StoreError;

/// How often one attempt may be given out without a verdict before somebody
/// has to look.
const MAX_DELEGATIONS: usize = 4;
/// How much of a sub-agent's transcript is searched for the brief.
const BRIEF_SEARCH: u64 = 4 * 1024 * 1024;
/// How much of a result is kept until its batch is judged: the end.
const KEPT_RESULT: usize = 64 * 1024;

/// The role a sub-agent plays for us, if it does.
fn role_of(agent_type: &str) -> Option<Role> {
    match agent_type.strip_prefix("ralph-specum:").unwrap_or(agent_type) {
        "spec-executor" => Some(Role::Executor),
        "qa-engineer" => Some(Role::QaEngineer),
        _ => None,
    }
}

pub(super) fn is_agent_call(input: &Input) -> bool {
    // A sub-agent that calls another one is no coordinator.
    matches!(input.tool_name.as_deref(), Some("Agent" | "Task")) && input.agent_type.is_none()
}

/// The active spec with a loop in execution.
fn workspace(cwd: &str) -> Option<Workspace> {
    let (project, spec) = active_spec(cwd)?;
    let workspace = opened(&project, spec)?;
    let state = workspace.store.read_state()?.ok()?;
    (state.phase == Phase::Execution).then_some(workspace)
}

/// Everything needed to work a spec; a host is not told why it cannot be had,
/// the log is.
pub(super) fn opened(project: &Project, spec: Spec) -> Option<Workspace> {
    match Workspace::new(project, spec) {
        Ok(workspace) => Some(workspace),
        Err(error) => {
            log(&error.to_string());
            None
        }
    }
}

/// `pre-tool-use`: opens the attempt that a call asks for.
pub(super) fn before_call(input: &Input) -> Option<String> {
    if !is_agent_call(input) {
        return None;
    }
    let asked = input.tool_input["prompt"].as_str().unwrap_or_default();
    let agent_type = input.tool_input["subagent_type"].as_str().unwrap_or_default();
    let is_ours = role_of(agent_type).is_some();
    if !is_ours && named_task(asked).is_none() {
        return None;
    }
    let workspace = workspace(&input.cwd)?;
    if !is_ours && !means_a_task(&workspace, asked) {
        return None;
    }
    let answer = match delegate(&workspace, input, asked) {
        Ok(updated) => json!({"hookEventName": "PreToolUse", "updatedInput": updated}),
        Err(reason) => json!({
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }),
    };
    Some(json!({"hookSpecificOutput": answer}).to_string() + "\n")
}

/// The task a prompt begins with, `task 1.2`, or belongs to by its marker.
fn named_task(prompt: &str) -> Option<String> {
    if let Some(marker) = Marker::find(prompt) {
        return Some(marker.task);
    }
    let mut words = prompt.split_whitespace();
    words.next().filter(|word| word.eq_ignore_ascii_case("task"))?;
    words.next().map(|id| id.trim_matches(['`', ':', '.', ',']).to_owned())
}

/// Whether a call of some other agent means a task of ours: its prompt is a
/// brief, or nothing but `task 1.2`.
fn means_a_task(workspace: &Workspace, asked: &str) -> bool {
    if let Some(marker) = Marker::find(asked) {
        return marker.spec == workspace.spec.name;
    }
    let alone = asked.split_whitespace().count() == 2;
    let Some(id) = named_task(asked).filter(|_| alone) else { return false };
    workspace.store.read().is_ok_and(|view| view.file().by_address(&id).is_some())
}

fn delegate(workspace: &Workspace, input: &Input, asked: &str) -> Result<Value, String> {
    refuse_others(workspace, input)?;
    let said = |error: AttemptError| error.to_string();
    let attempts = match workspace.open().map_err(said)? {
        Next::Work(attempts) => attempts,
        Next::Complete => return Err(prompt::ALL_DONE.into()),
        Next::Wait(due) => return Err(prompt::waiting(&due)),
    };
    let opened = requested(workspace, &attempts, asked)?;
    let journal = workspace.store.read_journal().map_err(|error| error.to_string())?;
    if History(&journal).delegations(opened) >= MAX_DELEGATIONS {
        return Err(format!(
            "Task {} has been given out {MAX_DELEGATIONS} times without a result. Stop, and tell \
             the person; `specum status` shows where it stands.",
            opened.key.id
        ));
    }
    let entry = Entry::Delegated {
        task: opened.key.clone(),
        attempt: opened.attempt,
        tool_use_id: input.tool_use_id.clone().unwrap_or_default(),
    };
    record_call(workspace, input, entry)?;
    let mut updated = json!({
        "description": format!("task {}", opened.key.id),
        "subagent_type": format!("ralph-specum:{}", prompt::agent(opened.role)),
        "prompt": workspace.brief(opened, attempts.len() > 1).map_err(said)?,
        // Said, not left out: since Claude Code 2.1.198 the default is `true`.
        "run_in_background": false,
    });
    // Everything else is left out: in a copy of the tree nobody could judge it.
    if let Some(model) = input.tool_input.get("model") {
        updated["model"] = model.clone();
    }
    Ok(updated)
}

/// Records a call. A session that is given work of a spec nobody holds, holds
/// it from then on: otherwise its results would not be judged.
fn record_call(workspace: &Workspace, input: &Input, entry: Entry) -> Result<(), String> {
    let said = |error: StoreError| error.to_string();
    let locked = workspace.store.lock().map_err(said)?;
    refuse_others(workspace, input)?;
    let state = locked.read().map_err(said)?.state;
    let written = match state.and_then(|state| claimed(state, input.session_id.as_deref())) {
        Some(state) => {
            let state = StateChange::Write(state.to_object());
            locked.write(entry, Changes { state, ..Changes::default() })
        }
        None => locked.record(entry),
    };
    written.map_err(said)
}

/// The state with this session as its owner, unless it is that already.
fn claimed(mut state: State, session: Option<&str>) -> Option<State> {
    let session_id = session?.to_owned();
    if matches!(&state.owner, Some(Owner::Session { session_id: id, .. }) if *id == session_id) {
        return None;
    }
    state.owner = Some(Owner::Session { session_id, process: process::host() });
    Some(state)
}

fn refuse_others(workspace: &Workspace, input: &Input) -> Result<(), String> {
    let state = workspace.store.read_state().and_then(Result::ok);
    let memory = workspace.store.read_memory();
    let me = input.session_id.as_deref();
    match owner::described(state.as_ref(), &memory, me).as_str() {
        "nobody" | "this session" => Ok(()),
        other => Err(format!(
            "The spec {} is worked by {other}. /ralph-specum:implement takes it over.",
            workspace.spec.name
        )),
    }
}

/// The attempt that a call means, or why it cannot be had.
fn requested<'a>(
    workspace: &Workspace,
    attempts: &'a [Opened],
    asked: &str,
) -> Result<&'a Opened, String> {
    let due: Vec<&str> = attempts.iter().map(|opened| opened.key.id.as_str()).collect();
    let due = format!(
        "Due: {}.",
        due.iter().map(|id| format!("`task {id}`")).collect::<Vec<_>>().join(", ")
    );
    let foreign = Marker::find(asked).filter(|marker| marker.spec != workspace.spec.name);
    if let Some(marker) = foreign {
        return Err(format!("That brief belongs to the spec {}. {due}", marker.spec));
    }
    let view = workspace.store.read().map_err(|error| error.to_string())?;
    let file = view.file();
    // A coordinator may write a brief of its own; then the first id in it
    // counts.
    let name = named_task(asked).or_else(|| {
        asked
            .split(|c: char| c.is_whitespace() || "`,:;()[]".contains(c))
            .find(|word| file.tasks.iter().any(|task| task.name() == *word))
            .map(str::to_owned)
    });
    let Some(name) = name else { return Err(format!("The prompt names no task. {due}")) };
    if let Some(opened) = attempts.iter().find(|opened| opened.key.id == name) {
        return Ok(opened);
    }
    match file.by_address(&name) {
        None => Err(format!("There is no task {name}. {due}")),
        Some(task) if task.done => Err(format!("Task {name} is done already. {due}")),
        Some(_) => Err(format!("Task {name} is not due yet. {due}")),
    }
}

/// `subagent-stop`: judges what an executor has done.
pub(super) fn end_of_agent(input: &Input) -> Option<String> {
    role_of(input.agent_type.as_deref()?)?;
    let workspace = workspace(&input.cwd)?;
    let session = input.session_id.as_deref().unwrap_or_default();
    let journal = workspace.store.read_journal().ok()?;
    let delegation = delegation_of(input, &workspace.spec, &journal)?;
    let opened = workspace.opened(&delegation.task.id).ok()?;
    if opened.attempt != delegation.attempt {
        return None;
    }
    let result = input.last_message.clone().unwrap_or_default();
    match judge(&workspace, &opened, &result, session) {
        Ok(Some(judged)) if judged.sent_back => Some(
            Output::Block {
                reason: mend(&judged, opened.role),
                system_message: format!("specum: {} goes back to its executor", opened.key.id),
            }
            .render(),
        ),
        Ok(_) => None,
        Err(error) => {
            log(&error.to_string());
            None
        }
    }
}

/// The attempt a sub-agent was called for: by the id of the call, which the
/// host keeps beside the transcript, or by the marker in the brief.
fn delegation_of(input: &Input, spec: &Spec, journal: &[Record]) -> Option<Delegation> {
    let transcript = Path::new(input.agent_transcript_path.as_deref()?);
    let meta = files::read(&transcript.with_extension("meta.json"), 1024 * 1024).ok();
    let meta = meta.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let by_call = meta
        .as_ref()
        .and_then(|meta| meta["toolUseId"].as_str())
        .and_then(|id| History(journal).delegated(id));
    by_call.or_else(|| {
        let text = files::read(transcript, BRIEF_SEARCH).ok()?;
        let first = line::lines(&text)
            .filter_map(|line| serde_json::from_slice::<Value>(line.text).ok())
            .find(|entry| entry["type"] == "user")?;
        let marker = Marker::find(first["message"]["content"].as_str()?)?;
        (marker.spec == spec.name).then_some(())?;
        History(journal).marked(&marker.task, marker.attempt)
    })
}

/// Judges at once, or, in a batch, when the last of it has reported.
fn judge(
    workspace: &Workspace,
    opened: &Opened,
    result: &str,
    session: &str,
) -> Result<Option<Judged>, AttemptError> {
    let in_batch = workspace.report(opened, line::tail(result, KEPT_RESULT), session)?;
    if !in_batch {
        return workspace.judge(opened, result, By::Executor(session)).map(Some);
    }
    workspace.judge_reported(By::Batch(session))?;
    Ok(None)
}

/// What an executor is to mend before it may end.
fn mend(judged: &Judged, role: Role) -> String {
    let mut text = format!("Task {} is not done yet:\n", judged.key.id);
    for failure in &judged.verdict.failures {
        text.push_str(&format!("- {}\n", failure.message));
    }
    let output = line::tail(judged.output.trim_end(), 2000);
    if !output.is_empty() {
        text.push_str(&format!("\nThe check ended with:\n~~~\n{output}\n~~~\n"));
    }
    let signal = role.signal();
    text + &format!(
        "\nMend this, then end with {signal} on a line of its own. If you cannot, say why, without that line.\n"
    )
}
