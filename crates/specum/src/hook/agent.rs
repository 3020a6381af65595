//! The hooks around a coordinator's `Agent` calls: the loop inside a turn.
//!
//! `pre-tool-use` opens the attempt and puts the brief in the place of `task
//! 1.2`; `subagent-stop` is the judge; [`super::answer`] tells the coordinator.
//! Sub-agents that are not ours are left alone, and ours never start without a
//! brief.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use specum_core::attempt::{Attempt, Ending, Judgement, Ledger};
use specum_core::authoring;
use specum_core::brief::BriefMarker;
use specum_core::hook::HookOutput;
use specum_core::journal::Entry;
use specum_core::line;
use specum_core::machine::{self, Event};
use specum_core::owner::{Asker, Holder, Owner};
use specum_core::prompt;
use specum_core::spec::Doc;
use specum_core::state::{Phase, State};
use specum_core::verify::Role;

use super::{HookCall, Lookup, log, lookup, planning, question};
use specum_engine::attempt::{AttemptError, By, NextWork, Workspace};
use specum_engine::ops::OpError;
use specum_engine::owner;
use specum_engine::ports::World;
use specum_engine::project::{Project, Spec};
use specum_engine::runner;
use specum_engine::session::{self, Note};

/// How often one attempt may be given out without a verdict before a person has to
/// look.
const MAX_DELEGATIONS: usize = 4;
/// How much of a sub-agent's transcript is searched for the brief.
const BRIEF_SEARCH: u64 = 4 * 1024 * 1024;
/// How much of a result is kept until its batch is judged: the end.
const KEPT_RESULT: usize = 64 * 1024;
/// What the names of our sub-agents begin with. A person may have agents of
/// their own that are called like ours.
pub(super) const OURS: &str = "ralph-specum:";

/// The role a sub-agent plays for us, if it does.
fn role_of(agent_type: &str) -> Option<Role> {
    match agent_type.strip_prefix(OURS)? {
        "spec-executor" => Some(Role::Executor),
        "qa-engineer" => Some(Role::QaEngineer),
        planning::SMALL_PLANNER => Some(Role::Author(Doc::Tasks)),
        author => {
            Doc::ALL.into_iter().find(|doc| authoring::author(*doc) == author).map(Role::Author)
        }
    }
}

pub(super) fn is_agent_call(input: &HookCall<'_>) -> bool {
    // A sub-agent that calls another one is no coordinator.
    matches!(input.tool_name.as_deref(), Some("Agent" | "Task")) && input.agent_type.is_none()
}

/// Everything needed to work on a spec. The reason why it cannot be had goes to the log,
/// not to the host.
pub(super) fn opened(project: &Project, spec: Spec) -> Option<Workspace> {
    match Workspace::in_hook(project, spec) {
        Ok(workspace) => Some(workspace),
        Err(error) => {
            log(&error.to_string());
            None
        }
    }
}

/// `pre-tool-use`: opens the attempt that a call asks for.
pub(super) fn before_call(input: &HookCall<'_>) -> Option<String> {
    if input.tool_name.as_deref() == Some("SendMessage") {
        return refuse_message(input);
    }
    if question::is_question(input) {
        return question::before(input);
    }
    if !is_agent_call(input) {
        return None;
    }
    let asked = input.tool_input["prompt"].as_str().unwrap_or_default();
    let agent_type = input.tool_input["subagent_type"].as_str().unwrap_or_default();
    let is_ours = role_of(agent_type).is_some();
    let means_a_document = planning::named_document(asked).is_some();
    if !is_ours && !means_a_document && named_task(asked).is_none() {
        return None;
    }
    let workspace = match lookup(input) {
        Lookup::NotOurs => return None,
        Lookup::Loop(project, spec) => opened(&project, spec),
        Lookup::NoLoop(_) => None,
    };
    if let Some(workspace) =
        workspace.as_ref().filter(|workspace| planning::state(workspace).is_some())
    {
        // A sub-agent of the person's own may be told of a phase of something else.
        let is_alone = asked.split_whitespace().count() == 2 || BriefMarker::find(asked).is_some();
        let is_meant = is_ours || (means_a_document && is_alone);
        return is_meant.then(|| given(workspace, planning::delegate(workspace, input, asked)));
    }
    let workspace = match workspace.map(|workspace| (is_executing(&workspace), workspace)) {
        Some((Ok(()), workspace)) => workspace,
        Some((Err(why), _)) => return is_ours.then(|| denial(&why, &[])),
        // No executor of ours ever starts with two words for a brief.
        None if is_ours => {
            let why = "No loop is running, so there is no task to be worked on. \
                       /ralph-specum:implement starts one.";
            return Some(denial(why, &[]));
        }
        None => return None,
    };
    if !is_ours && !means_a_task(&workspace, asked) {
        return None;
    }
    let answer = delegate(&workspace, input, asked);
    Some(given(&workspace, answer))
}

/// The answer to a call: the call as it is to be made, or why not.
fn given(workspace: &Workspace, answer: Result<Value, Denial>) -> String {
    let news = workspace.take_news();
    match answer {
        Ok(updated) => {
            let output = json!({"hookEventName": "PreToolUse", "updatedInput": updated});
            with_news(json!({"hookSpecificOutput": output}), &news)
        }
        Err(Denial(reason)) => denial(&reason, &news),
    }
}

/// Refuses a call, in words for the coordinator.
pub(super) fn denial(reason: &str, news: &[String]) -> String {
    let output = json!({
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": reason,
    });
    with_news(json!({"hookSpecificOutput": output}), news)
}

/// An answer, with what a person should know.
pub(super) fn with_news(mut answer: Value, news: &[String]) -> String {
    if !news.is_empty() {
        answer["systemMessage"] = json!(news.join("\n"));
    }
    answer.to_string() + "\n"
}

/// Whether the tasks of a spec are being worked on, or why not.
fn is_executing(workspace: &Workspace) -> Result<(), String> {
    let name = &workspace.spec.name;
    match workspace.store.read_state() {
        None => Err(format!(
            "No loop is running for {name}. /ralph-specum:implement starts one; until then no \
             task is to be called."
        )),
        Some(Err(why)) => Err(format!(
            "The state of {name} is corrupt ({why}). /ralph-specum:implement rebuilds it."
        )),
        Some(Ok(state)) if state.phase == Phase::Execution => Ok(()),
        Some(Ok(_)) => Err(format!("The tasks of {name} are not being executed yet.")),
    }
}

/// The task a prompt begins with, `task 1.2`, or belongs to by its marker.
fn named_task(prompt: &str) -> Option<String> {
    if let Some(marker) = BriefMarker::find(prompt) {
        return Some(marker.task);
    }
    let mut words = prompt.split_whitespace();
    words.next().filter(|word| word.eq_ignore_ascii_case("task"))?;
    words.next().map(|id| id.trim_matches(['`', ':', '.', ',']).to_owned())
}

/// Whether a call of some other agent means a task of ours: its prompt is a
/// brief, or nothing but `task 1.2`.
fn means_a_task(workspace: &Workspace, asked: &str) -> bool {
    if let Some(marker) = BriefMarker::find(asked) {
        return marker.spec == workspace.spec.name;
    }
    let alone = asked.split_whitespace().count() == 2;
    let Some(id) = named_task(asked).filter(|_| alone) else { return false };
    workspace.store.read().is_ok_and(|view| view.file().by_address(&id).is_some())
}

/// Why a call is refused, in words for the coordinator.
pub(super) struct Denial(pub(super) String);

impl<E: Into<OpError>> From<E> for Denial {
    fn from(error: E) -> Denial {
        Denial(error.into().to_string())
    }
}

fn delegate(workspace: &Workspace, input: &HookCall<'_>, asked: &str) -> Result<Value, Denial> {
    refuse_others(workspace, input)?;
    let session = input.session_id.as_deref().unwrap_or_default();
    // A verdict that was cut off comes first. The judge of a killed host may be
    // at it still, and is not waited for.
    if !workspace.store.is_being_checked() {
        workspace.judge_reported(By::Batch(session))?;
    }
    runner::put_away_killed(workspace)?;
    let attempts = match workspace.open_in_session()? {
        NextWork::Work(attempts) => attempts,
        NextWork::Complete => return Err(Denial(prompt::ALL_DONE.into())),
        NextWork::Wait(due) => return Err(Denial(prompt::waiting(&due))),
    };
    let opened = requested(workspace, &attempts, asked)?;
    refuse_after_too_many(workspace, input, opened)?;
    let entry = Entry::Delegated {
        task: opened.key.clone(),
        attempt: opened.number,
        tool_use_id: input.tool_use_id.clone().unwrap_or_default(),
    };
    record_call(workspace, input, opened, entry)?;
    remember_session(input, session, &workspace.spec);
    let mut updated = json!({
        "description": format!("task {}", opened.key.id),
        "subagent_type": format!("{OURS}{}", prompt::agent(opened.role)),
        "prompt": workspace.brief(opened, attempts.len() > 1)?,
        // Said, not left out: since Claude Code 2.1.198 the default is `true`.
        "run_in_background": false,
    });
    // Everything else is left out: work in a copy of the tree could not be judged.
    if let Some(model) = input.tool_input.get("model") {
        updated["model"] = model.clone();
    }
    Ok(updated)
}

/// Remembers that a session works on a loop, and which process it is.
pub(super) fn remember_session(input: &HookCall<'_>, session: &str, spec: &Spec) {
    let asked = Note::asked(session, input.turn_id.as_deref(), spec);
    let kept = asked.and_then(|()| match input.world.launcher.host() {
        Some(process) => session::keep_session_of(input.world, &process, session),
        None => Ok(()),
    });
    if let Err(error) = kept {
        log(&error.to_string());
    }
}

/// Pauses a loop whose task was given out again and again, and none of the calls came
/// back.
pub(super) fn refuse_after_too_many(
    workspace: &Workspace,
    input: &HookCall<'_>,
    opened: &Attempt,
) -> Result<(), Denial> {
    let ledger = workspace.store.ledger()?;
    if ledger.delegations(&opened.id) < MAX_DELEGATIONS {
        return Ok(());
    }
    let id = &opened.key.id;
    let why = format!("task {id} was given out {MAX_DELEGATIONS} times and never came back");
    // What its neighbours have finished is not lost with it.
    let session = input.session_id.as_deref().unwrap_or_default();
    workspace.judge_finished(By::Batch(session))?;
    workspace.pause(&why)?;
    Err(Denial(format!(
        "Paused: {why}. Tell the person, and stop. `specum resume`, or /ralph-specum:implement, \
         lets it go on."
    )))
}

/// Records a call. A session that is given work of a spec nobody holds, holds
/// it from then on: otherwise its results would not be judged.
pub(super) fn record_call(
    workspace: &Workspace,
    input: &HookCall<'_>,
    opened: &Attempt,
    entry: Entry,
) -> Result<(), Denial> {
    let locked = workspace.store.lock()?;
    let is_mine = refuse_others(workspace, input)?;
    if is_mine && let Some(task) = entry.task() {
        let ledger = workspace.store.ledger()?;
        let at_work = ledger.calls_at_work();
        if at_work.iter().any(|call| call.task.id == task.id) {
            return Err(Denial(format!(
                "Task {} is being worked on by another call. Wait for its result.",
                task.id
            )));
        }
    }
    let view = locked.read()?;
    // A session that was resumed has another process, and one that nobody can
    // see is alive as long as it acts.
    let me = input.session_id.as_deref().map(|id| owner::session(input.world, id));
    let is_known = |state: &State, me: &Owner| {
        state.owner.as_ref().is_some_and(|known| owner::is_up_to_date(input.world, known, me))
    };
    match (&view.state, me) {
        (Some(state), Some(owner)) if !is_known(state, &owner) => {
            let step = machine::step(state, &view.file(), Event::Hold(owner));
            locked.write_step_of(&opened.id, entry, &step)?;
        }
        _ => locked.record_of(&opened.id, entry)?,
    }
    Ok(())
}

/// Whether the asking session holds the spec already; an error if somebody else
/// does.
pub(super) fn refuse_others(workspace: &Workspace, input: &HookCall<'_>) -> Result<bool, Denial> {
    let state = workspace.store.read_state().and_then(Result::ok);
    let asker = Asker::session_or_person(input.session_id.as_deref());
    match owner::holder(&workspace.store, state.as_ref(), asker) {
        Holder::Nobody => Ok(false),
        Holder::Me => Ok(true),
        Holder::Other(other) => Err(Denial(format!(
            "{} is working on the spec {}. /ralph-specum:implement takes it over.",
            other.description(),
            workspace.spec.name
        ))),
    }
}

/// The attempt that a call means, or why it cannot be had.
fn requested<'a>(
    workspace: &Workspace,
    attempts: &'a [Attempt],
    asked: &str,
) -> Result<&'a Attempt, Denial> {
    let ledger = workspace.store.ledger()?;
    let in_batch = workspace.in_batch()?;
    let has_ended = |opened: &Attempt| in_batch && ledger.reported(&opened.id).is_some();
    let due: Vec<String> = attempts
        .iter()
        .filter(|opened| !has_ended(opened))
        .map(|opened| format!("`task {}`", opened.key.id))
        .collect();
    let due = format!("Due: {}.", due.join(", "));
    let foreign = BriefMarker::find(asked).filter(|marker| marker.spec != workspace.spec.name);
    if let Some(marker) = foreign {
        return Err(Denial(format!("That brief belongs to the spec {}. {due}", marker.spec)));
    }
    let view = workspace.store.read()?;
    let file = view.file();
    // A coordinator may write a brief of its own; then the first id in it
    // counts.
    let name = named_task(asked).or_else(|| {
        asked
            .split(|c: char| c.is_whitespace() || "`,:;()[]".contains(c))
            .find(|word| file.tasks.iter().any(|task| task.name() == *word))
            .map(str::to_owned)
    });
    let Some(name) = name else {
        return Err(Denial(format!("The prompt names no task. {due}")));
    };
    match attempts.iter().find(|opened| opened.is_called(&name)) {
        Some(opened) if has_ended(opened) => {
            return Err(Denial(format!("Task {name} has ended and waits for the others. {due}")));
        }
        Some(opened) => return Ok(opened),
        None => {}
    }
    Err(Denial(match file.by_address(&name) {
        None => format!("There is no task {name}. {due}"),
        Some(task) if task.done => format!("Task {name} is done already. {due}"),
        Some(_) => format!("Task {name} is not due yet. {due}"),
    }))
}

/// A message to an executor that has its verdict: what it changed from then on
/// would be nobody's.
fn refuse_message(input: &HookCall<'_>) -> Option<String> {
    let to = input.tool_input["to"].as_str()?;
    let Lookup::Loop(project, spec) = lookup(input) else { return None };
    let workspace = opened(&project, spec)?;
    let ledger = workspace.store.ledger().ok()?;
    let transcript = Path::new(input.transcript_path.as_deref()?).with_extension("");
    let meta = transcript.join("subagents").join(format!("agent-{to}.meta.json"));
    let delegation = called_by(input.world, &meta, &ledger)?;
    ledger.has_verdict(&delegation.id).then(|| {
        let why = format!(
            "Task {} has its verdict, and its executor is not called again. Call the Agent tool \
             for what is due; `specum next` tells what that is.",
            delegation.key.id
        );
        denial(&why, &[])
    })
}

/// `subagent-stop`: judges what an executor has done.
pub(super) fn end_of_agent(input: &HookCall<'_>) -> Option<String> {
    role_of(input.agent_type.as_deref()?)?;
    let Lookup::Loop(project, spec) = lookup(input) else { return None };
    let workspace = opened(&project, spec)?;
    let session = input.session_id.as_deref().unwrap_or_default();
    let ledger = workspace.store.ledger().ok()?;
    let delegation = delegation_of(input, &workspace.spec, &ledger)?;
    if matches!(delegation.role, Role::Author(_)) {
        // An author that was sent back is at the next try.
        let opened = ledger.open_attempt(&delegation.key)?;
        return planning::judge(&workspace, &opened).unwrap_or_else(|error| {
            log(&error.to_string());
            None
        });
    }
    if ledger.has_verdict(&delegation.id) {
        note_late_work(&workspace, &delegation);
        return None;
    }
    let opened = ledger.is_open(&delegation.id).then_some(delegation)?;
    let result = input.last_message.clone().unwrap_or_default();
    match judge(&workspace, &opened, &result, session) {
        Ok(Some(judged)) if judged.ending == Ending::SentBack => Some(
            HookOutput::Block {
                reason: what_is_missing(&judged, opened.role),
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

/// An executor that has its verdict has worked on. Whatever it changed is in
/// nobody's commit, as far as that can be told.
fn note_late_work(workspace: &Workspace, delegation: &Attempt) {
    if let Err(error) = workspace.record_late_work(delegation) {
        log(&error.to_string());
    }
}

/// The attempt a sub-agent was called for: by the id of the call, which the
/// host keeps next to the transcript, or by the marker in the brief.
fn delegation_of(input: &HookCall<'_>, spec: &Spec, ledger: &Ledger) -> Option<Attempt> {
    let transcript = PathBuf::from(input.agent_transcript_path.as_deref()?);
    called_by(input.world, &transcript.with_extension("meta.json"), ledger).or_else(|| {
        let text = input.world.disk.read(&transcript, BRIEF_SEARCH).ok()?;
        let first = line::lines(&text)
            .filter_map(|line| serde_json::from_slice::<Value>(line.text).ok())
            .find(|entry| entry["type"] == "user")?;
        let marker = BriefMarker::find(first["message"]["content"].as_str()?)?;
        (marker.spec == spec.name).then_some(())?;
        ledger.marked(&marker).cloned()
    })
}

/// The attempt for which a call was made that the host has kept in this file.
fn called_by(world: &World, meta: &Path, ledger: &Ledger) -> Option<Attempt> {
    let bytes = world.disk.read(meta, 1024 * 1024).ok()?;
    let meta: Value = serde_json::from_slice(&bytes).ok()?;
    ledger.called(meta["toolUseId"].as_str()?).cloned()
}

/// Judges at once, or, in a batch, when the last of it has reported.
fn judge(
    workspace: &Workspace,
    opened: &Attempt,
    result: &str,
    session: &str,
) -> Result<Option<Judgement>, AttemptError> {
    let in_batch = workspace.report(opened, line::tail(result, KEPT_RESULT), session)?;
    if !in_batch {
        return workspace.judge(opened, result, By::Executor(session)).map(Some);
    }
    workspace.judge_reported(By::Batch(session))?;
    Ok(None)
}

/// What an executor is to fix before it may end.
fn what_is_missing(judged: &Judgement, role: Role) -> String {
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
        "\nFix this, then end with {signal} on a line of its own. If you cannot, say why, without that line.\n"
    )
}
