//! The question to the person, around `AskUserQuestion`.
//!
//! A model that is told to ask asks `specum?`. `pre-tool-use` puts the questions of the
//! document in its place, and `post-tool-use` of the same call reads what the person has
//! answered. No word of the model is in either, and every other question of a session is
//! left alone.

use serde_json::{Map, Value, json};
use specum_core::authoring::Due;
use specum_core::authoring::dialog::{self, Reply, Verdict};
use specum_core::journal::{Source, Via};
use specum_core::spec::Doc;
use specum_core::state::State;

use super::agent::{denial, refuse_others, with_news};
use super::answer::Answer;
use super::{HookCall, Lookup, lookup, planning};
use specum_engine::attempt::{Change, Workspace};
use specum_engine::ops::{self, NewState, OpError, WaitingDocument};
use specum_engine::person;
use specum_engine::session::{self, ShownDialog};

pub(super) fn is_question(input: &HookCall<'_>) -> bool {
    input.tool_name.as_deref() == Some("AskUserQuestion") && input.agent_type.is_none()
}

/// `pre-tool-use`: our questions in the place of the word.
pub(super) fn before(input: &HookCall<'_>) -> Option<String> {
    if !dialog::is_asked_for(&input.tool_input) {
        return None;
    }
    let Lookup::Loop(project, spec) = lookup(input) else { return None };
    let workspace = super::agent::opened(&project, spec)?;
    planning::state(&workspace)?;
    if let Err(why) = refuse_others(&workspace, input) {
        return Some(denial(&why.0, &[]));
    }
    match shown(&workspace, input) {
        Ok(Some(shown)) => {
            let questions = shown.dialog.input();
            let output = json!({"hookEventName": "PreToolUse", "updatedInput": questions});
            Some(json!({"hookSpecificOutput": output}).to_string() + "\n")
        }
        Ok(None) => {
            let next = planning::next(&workspace, input.host).ok()?;
            Some(denial(&format!("Nothing waits for the person. {}", next.text), &[]))
        }
        Err(error) => Some(denial(&format!("specum: {error}"), &[])),
    }
}

/// The dialog about the document that waits, kept for its answer.
fn shown(workspace: &Workspace, input: &HookCall<'_>) -> Result<Option<ShownDialog>, OpError> {
    let (Some(session_id), Some(call)) = (input.session_id.as_deref(), input.tool_use_id.clone())
    else {
        return Ok(None);
    };
    // Four questions leave no place for the approval: it comes when they are answered.
    let last = session::last_dialog(input.world, session_id);
    let is_settled = |waiting: &WaitingDocument| {
        last.is_some_and(|last| {
            last.tool_use_id.is_none()
                && last.spec == workspace.spec.dir
                && last.digest == waiting.digest
        })
    };
    let Some((waiting, dialog)) = ops::dialog(workspace, is_settled)? else { return Ok(None) };
    let (doc, digest) = (waiting.document, waiting.digest);
    let spec = workspace.spec.dir.clone();
    let shown = ShownDialog { tool_use_id: Some(call), spec, doc, digest, dialog };
    session::keep_dialog(input.world, session_id, &shown)?;
    Ok(Some(shown))
}

/// `post-tool-use`: what the person has answered.
pub(super) fn after(input: &HookCall<'_>) -> Option<String> {
    let (session, call) = (input.session_id.as_deref()?, input.tool_use_id.as_deref()?);
    let shown = session::take_dialog(input.world, session, call)?;
    let Lookup::Loop(project, spec) = lookup(input) else { return None };
    let workspace = super::agent::opened(&project, spec)?;
    (workspace.spec.dir == shown.spec).then_some(())?;
    let none = Map::new();
    let answers = input.tool_response["answers"].as_object().unwrap_or(&none);
    let answer = match person::says_in_session(input.world, session, Via::Dialog) {
        Some(source) => answered(&workspace, input, &shown, answers, source),
        None => Ok(waits("A model has started this session, so its answers are no person's.")),
    };
    let answer = answer.unwrap_or_else(|error| waits(&format!("specum: {error}.")));
    let output = json!({"hookEventName": "PostToolUse", "additionalContext": answer.text});
    Some(with_news(json!({"hookSpecificOutput": output}), &answer.news))
}

/// Nothing has moved.
fn waits(why: &str) -> Answer {
    let text = format!("{why} Nothing has moved. Tell the person, and stop.\n");
    Answer { text, news: vec![why.to_owned()] }
}

fn answered(
    workspace: &Workspace,
    input: &HookCall<'_>,
    shown: &ShownDialog,
    answers: &Map<String, Value>,
    source: Source,
) -> Result<Answer, OpError> {
    let Some(doc) = Doc::named(&shown.doc) else { return Ok(Answer::default()) };
    let reply = shown.dialog.read(answers);
    let file = doc.file();
    if reply.verdict == Some(Verdict::NotYet) {
        return Ok(waits(&format!("{file} waits.")));
    }
    if reply == Reply::default() {
        return Ok(waits(&format!("{file} waits: nothing was answered.")));
    }
    let news = match (&reply.verdict, reply.feedback()) {
        (Some(Verdict::Change(_)), Some(text)) => {
            ops::change_document(workspace, Change { doc: Some(doc), text: &text }, source)?;
            format!("{file} goes back to its author with what the person says.")
        }
        (None, None) => {
            // Each has its default; the approval is asked for next.
            let settled = ShownDialog { tool_use_id: None, ..shown.clone() };
            let session = input.session_id.as_deref().unwrap_or_default();
            session::keep_dialog(input.world, session, &settled)?;
            format!("The questions of {file} are answered.")
        }
        _ => approve(workspace, shown, doc, &reply, source)?,
    };
    let starts = reply.verdict == Some(Verdict::ApproveAndStart);
    let mut next = match planning::state(workspace).filter(|_| starts) {
        Some(state) if is_ready(&state) => planning::begin(workspace, &state)?,
        _ => planning::next(workspace, input.host)?,
    };
    next.text = format!("{news}\n\n{}", next.text);
    next.news.insert(0, news);
    Ok(next)
}

/// Whether every document is approved.
fn is_ready(state: &State) -> bool {
    state.planning.as_ref().is_some_and(|planning| planning.due() == Due::Start)
}

/// The person agrees, with these answers. An answer that is no default has the document
/// written once more.
fn approve(
    workspace: &Workspace,
    shown: &ShownDialog,
    doc: Doc,
    reply: &Reply,
    source: Source,
) -> Result<String, OpError> {
    let answers = reply.answers.iter();
    let answers = answers.map(|one| (one.question.clone(), one.text.clone())).collect();
    let approved =
        ops::approve_document(workspace, Some(doc), &answers, Some(&shown.digest), source)?;
    if reply.verdict == Some(Verdict::ApproveAll) {
        workspace.ask_no_more(source)?;
    }
    let file = doc.file();
    Ok(match approved.state {
        NewState::Reopened => format!("{file} goes back to its author with the answers."),
        _ => format!("{file} is approved."),
    })
}
