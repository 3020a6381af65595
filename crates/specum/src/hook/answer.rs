//! What a coordinator reads when a call has ended: the verdict, and what is
//! next.
//!
//! `post-tool-use` puts it in the place of the call's result, so that the
//! coordinator goes on within its turn. Where the host works on in the
//! background, the turn ends with the launch, and the host's own notification
//! opens the next one: `submit`, in [`super::turn`], tells it there. What is
//! next is said once, by the hook that finds every verdict of the round in.

use serde_json::{Value, json};
use specum_core::attempt::{Attempt, LateWork, Ledger};
use specum_core::journal::{Entry, Record};
use specum_core::line;
use specum_core::machine;
use specum_core::verify::Proof;
use specum_core::verify::Role;

use super::agent::{is_agent_call, with_news};
use super::{HookCall, Lookup, log, lookup, planning, question};
use specum_engine::attempt::{Workspace, taken_back_in_words};
use specum_engine::ops::{self, OpError};
use specum_engine::session::Note;

/// What is said about a call that has ended.
#[derive(Default)]
pub(super) struct Answer {
    /// For the coordinator.
    pub(super) text: String,
    /// For the person, a line each.
    pub(super) news: Vec<String>,
}

/// `post-tool-use`.
pub(super) fn after_call(input: &HookCall<'_>) -> Option<String> {
    if question::is_question(input) {
        return question::after(input);
    }
    if !is_agent_call(input) {
        return None;
    }
    let call = input.tool_use_id.as_deref()?;
    let (workspace, delegation) = called(input, call)?;
    if is_under_way(&input.tool_response) {
        return Some(launched(input, &delegation));
    }
    let answer = ended(&workspace, &delegation, call, &said(&input.tool_response));
    // Everything else as it came, if there is anything else.
    let mut response = input.tool_response.clone();
    if !response.is_object() {
        response = json!({});
    }
    response["content"] = json!([{"type": "text", "text": answer.text}]);
    let output = json!({"hookEventName": "PostToolUse", "updatedToolOutput": response});
    Some(with_news(json!({"hookSpecificOutput": output}), &answer.news))
}

/// `post-tool-use-failure`: newer hosts tell so of a sub-agent whose API failed.
pub(super) fn failed_call(input: &HookCall<'_>) -> Option<String> {
    if !is_agent_call(input) {
        return None;
    }
    let call = input.tool_use_id.as_deref()?;
    let (workspace, delegation) = called(input, call)?;
    let said = input.error.as_deref().unwrap_or("nothing");
    let answer = ended(&workspace, &delegation, call, line::head(said, 300));
    let output = json!({"hookEventName": "PostToolUseFailure", "additionalContext": answer.text});
    Some(with_news(json!({"hookSpecificOutput": output}), &answer.news))
}

/// The attempt that a call was made for, wherever the session's shell stands.
pub(super) fn called(input: &HookCall<'_>, tool_use_id: &str) -> Option<(Workspace, Attempt)> {
    let (Lookup::Loop(project, spec) | Lookup::NoLoop(Some((project, spec)))) = lookup(input)
    else {
        return None;
    };
    let workspace = super::agent::opened(&project, spec)?;
    let ledger = workspace.store.ledger().ok()?;
    let delegation = ledger.called(tool_use_id)?.clone();
    Some((workspace, delegation))
}

/// Whether a call has only begun when it returns. Claude Code says so of one in the
/// background (`async_launched`), on another machine (`remote_launched`), and of a member
/// of a team (`teammate_spawned`).
fn is_under_way(response: &Value) -> bool {
    let status = response["status"].as_str().unwrap_or_default();
    status.ends_with("launched") || status.ends_with("spawned")
}

/// A call that the host has sent into the background. The turn ends here: with
/// nothing to do, the model could only wait aloud.
fn launched(input: &HookCall<'_>, delegation: &Attempt) -> String {
    let id = &delegation.key.id;
    let call = input.tool_use_id.clone().unwrap_or_default();
    if let Some(mut note) = input.session_id.as_deref().and_then(|id| Note::of(input.world, id)) {
        note.background.push(call);
        if let Err(error) = note.write(input.world) {
            log(&error.to_string());
        }
    }
    let reason = format!("specum: {id} is being worked on");
    json!({"continue": false, "stopReason": reason}).to_string() + "\n"
}

/// The end of what a call has said.
fn said(response: &Value) -> String {
    let content = response["content"].as_array();
    let said = content.and_then(|blocks| blocks.iter().find_map(|block| block["text"].as_str()));
    line::head(said.unwrap_or("nothing"), 300).to_owned()
}

/// What the end of a call means.
pub(super) fn ended(workspace: &Workspace, delegation: &Attempt, call: &str, said: &str) -> Answer {
    match outcome(workspace, delegation, call, said) {
        Ok(mut answer) => {
            answer.news.extend(workspace.take_news());
            answer
        }
        Err(error) => {
            let text = format!("specum: {error}\n");
            Answer { news: vec![text.trim_end().to_owned()], text }
        }
    }
}

fn outcome(
    workspace: &Workspace,
    delegation: &Attempt,
    call: &str,
    said: &str,
) -> Result<Answer, OpError> {
    let id = &delegation.key.id;
    if matches!(delegation.role, Role::Author(_)) && !workspace.was_cancelled() {
        return planning::ended(workspace, delegation, (call, said));
    }
    if workspace.was_cancelled() {
        let text = format!("Task {id}: the loop was cancelled meanwhile. Stop here.\n");
        return Ok(Answer { text, news: Vec::new() });
    }
    let ledger = workspace.store.ledger()?;
    if !ledger.has_verdict(&delegation.id) {
        return without_verdict(workspace, &ledger, delegation, (call, said));
    }
    let Some(verdicts) = close_round(workspace)? else {
        let text = format!("Task {id} has ended; see the others of its group.\n");
        return Ok(Answer { text, news: Vec::new() });
    };
    let mut answer = in_words(workspace, &verdicts)?;
    let next = ops::open(workspace)?;
    answer.text.push_str(&format!("\n{}", next.for_coordinator()));
    if next.is_complete() {
        answer.news.push(ops::completion(workspace)?);
    }
    Ok(answer)
}

/// The verdicts that were not shown yet, a line each for the person.
pub(super) fn verdicts(workspace: &Workspace) -> Result<Vec<String>, OpError> {
    let verdicts = close_round(workspace)?.unwrap_or_default();
    Ok(in_words(workspace, &verdicts)?.news)
}

/// The verdicts of a round that is over, for the first caller.
fn close_round(workspace: &Workspace) -> Result<Option<Vec<Record>>, OpError> {
    let (locked, ledger) = loop {
        // A pass counts with its commit, which its judge may be making still.
        workspace.complete_commits()?;
        let locked = workspace.store.lock()?;
        let ledger = workspace.store.ledger()?;
        if workspace.git.is_err() || ledger.uncommitted().is_none() {
            break (locked, ledger);
        }
    };
    let in_batch = locked.read()?.state.is_some_and(|state| state.parallel_group.is_some());
    let untold = ledger.untold();
    if in_batch || untold.is_empty() {
        return Ok(None);
    }
    let tasks = untold.iter().filter_map(|record| record.entry.task());
    let tasks = tasks.map(|task| task.id.clone()).collect();
    locked.record(Entry::Told { tasks })?;
    Ok(Some(untold.to_vec()))
}

fn without_verdict(
    workspace: &Workspace,
    ledger: &Ledger,
    delegation: &Attempt,
    (call, said): (&str, &str),
) -> Result<Answer, OpError> {
    let id = &delegation.key.id;
    if ledger.is_open(&delegation.id) && ledger.reported(&delegation.id).is_some() {
        // The judge comes with the last report, and has ended when its call has.
        let text = match (workspace.reports()?.is_empty(), waiting(workspace)?) {
            (_, Some(why)) => {
                let text = format!("Task {id} has ended without a verdict. {why}\n");
                return Ok(Answer { text, news: vec![why] });
            }
            (true, None) => {
                format!("Task {id} has ended; its verdict comes with the last of the group.\n")
            }
            (false, None) => format!(
                "Task {id} has ended, and its verdict was cut off. Run `specum next`: it makes the \
                 verdict and says what is due.\n"
            ),
        };
        return Ok(Answer { text, news: Vec::new() });
    }
    let at_work = ledger.calls_at_work();
    let same_attempt = || at_work.iter().filter(|known| known.attempt == delegation.id);
    // A call that was broken off may return when another one has taken its place.
    if same_attempt().any(|known| known.tool_use_id != call) {
        let text = format!(
            "This call for task {id} is over, and another one is at work on it. Wait for its \
             result.\n"
        );
        return Ok(Answer { text, news: Vec::new() });
    }
    for known in same_attempt() {
        let (task, tool_use_id) = (known.task.clone(), known.tool_use_id.clone());
        let entry = Entry::Returned { task, tool_use_id };
        workspace.store.lock()?.record_of(&known.attempt, entry)?;
    }
    let (text, news) = match waiting(workspace)? {
        Some(why) => (format!("Task {id} ended without a verdict. {why}\n"), why),
        None => (
            format!(
                "Task {id} ended without a verdict, which counts as no attempt. It said: {said}\n\n\
                 Call the Agent tool again with the prompt `task {id}`.\n"
            ),
            format!("{id} ended without a result, which counts as no attempt"),
        ),
    };
    Ok(Answer { text, news: vec![news] })
}

/// Why nothing is to be called at the moment, if so.
fn waiting(workspace: &Workspace) -> Result<Option<String>, OpError> {
    let view = workspace.store.read()?;
    let Some(state) = &view.state else { return Ok(None) };
    let file = view.file();
    let plan_record = workspace.plan_record()?;
    let due = machine::due(state, &file, &workspace.scope, &plan_record);
    Ok(match due {
        machine::Due::Work(_) | machine::Due::Complete => None,
        wait => Some(specum_core::prompt::waiting(&wait)),
    })
}

/// What an executor has done after its verdict.
fn late_work(late: &LateWork) -> String {
    let LateWork { task, changed } = late;
    match changed.is_empty() {
        true => format!(
            "the executor of {} worked on after its verdict; look at the next commit",
            task.id
        ),
        false => format!(
            "the executor of {} changed {} after its verdict, which is not committed",
            task.id,
            line::head(&changed.join(", "), 200)
        ),
    }
}

/// What a person should know about a task that has passed.
fn remarks(entry: &Entry) -> Vec<String> {
    let Entry::Passed { task, outside, proofs, .. } = entry else { return Vec::new() };
    let listed = |files: &[String]| line::head(&files.join(", "), 200).to_owned();
    let outside = (!outside.is_empty())
        .then(|| format!("{} changed {} outside its Files", task.id, listed(outside)));
    let proofs = (!proofs.is_empty())
        .then(|| format!("{} changed {}, which its check runs", task.id, listed(proofs)));
    outside.into_iter().chain(proofs).collect()
}

/// Verdicts, for the coordinator and, a line each, for the person.
fn in_words(workspace: &Workspace, verdicts: &[Record]) -> Result<Answer, OpError> {
    let view = workspace.store.read()?;
    let tasks = view.tasks.unwrap_or_default();
    let file = tasks.file();
    let count = format!("{} of {}", file.done_count(), file.count());
    let most = view.state.as_ref().map_or(0, |state| state.max_task_iterations);
    let ledger = workspace.store.ledger()?;
    let late = ledger.late_work().map(late_work).collect();
    let mut answer = Answer { text: String::new(), news: late };
    for record in verdicts {
        let (text, news) = match &record.entry {
            Entry::Passed { task, unverified, proof, .. } => {
                let id = &task.id;
                let verified = if *unverified { "unverified" } else { "verified" };
                let commit = ledger.commit_of(id);
                let committed = if commit.is_some() { ", committed" } else { "" };
                let note = match proof {
                    _ if *unverified => ", not checked",
                    Some(Proof::GreenBefore) => ", by a check that was green before the work",
                    _ => "",
                };
                let short = commit.flatten().map_or(", nothing to commit".to_owned(), |commit| {
                    format!(", {}", line::head(commit, 7))
                });
                (
                    format!("Task {id} passed: {verified}, ticked{committed}.\n"),
                    format!("{id} passed{note}, {count}{short}"),
                )
            }
            Entry::Failed { task, attempt, reasons, .. } => {
                let reasons = line::head(&reasons.join("; "), 500).to_owned();
                let id = &task.id;
                (
                    format!("Task {id} failed (attempt {attempt}): {reasons}\n"),
                    format!("{id} failed ({attempt} of {most}): {}", line::head(&reasons, 200)),
                )
            }
            Entry::Modified { task, inserted, why, .. } => {
                let (id, added) = (task.shown(), inserted.join(", "));
                (
                    format!("Task {id} asked for {added}, which come first: {why}\n"),
                    format!("{id} asked for {added}: {}", line::head(why, 200)),
                )
            }
            Entry::Waits { task, reasons, .. } => {
                let (id, reasons) = (task.shown(), reasons.join("; "));
                (
                    format!("Task {id} waits for a person: {reasons}\nIts work is kept.\n"),
                    format!("{id} waits for you: {reasons}"),
                )
            }
            _ => continue,
        };
        answer.text.push_str(&text);
        answer.news.push(news);
        answer.news.extend(remarks(&record.entry));
        if let Entry::Passed { unticked, .. }
        | Entry::Failed { unticked, .. }
        | Entry::Modified { unticked, .. } = &record.entry
            && !unticked.is_empty()
        {
            let text = taken_back_in_words(unticked);
            answer.text.push_str(&format!("The {text}.\n"));
            answer.news.push(text);
        }
    }
    Ok(answer)
}
