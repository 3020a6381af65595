//! `specum hook submit`: something was typed at a prompt, or put there by the
//! host.
//!
//! A turn that a person opens with words of their own may end as soon as they
//! are answered, whatever loop waits. A notification of the host about a call of
//! ours brings the verdict to the coordinator.

use serde_json::json;
use specum_core::hook::{Host, split_arguments};
use specum_core::journal::Entry;
use specum_core::line;
use specum_core::owner::{Asker, Holder};

use super::agent::with_news;
use super::answer::{called, ended};
use super::{HookCall, log, planning};
use crate::commands;
use specum_engine::attempt::Workspace;
use specum_engine::ops::noted_spec;
use specum_engine::owner;
use specum_engine::session::{self, Note, Turn};
use specum_engine::store::StoreError;

/// How the host tells that something in the background has ended.
const NOTIFICATION: &str = "<task-notification>";

/// How a prompt begins that Gemini CLI writes itself, after an answer without a
/// word.
const OF_GEMINI_ITSELF: &str = "[System: ";

/// The slash commands that ask for work.
const ASKING: [&str; 7] = [
    "/ralph-specum:implement",
    "/ralph-specum:resume",
    "/ralph-specum:start",
    "/ralph-specum:research",
    "/ralph-specum:requirements",
    "/ralph-specum:design",
    "/ralph-specum:tasks",
];

pub(super) fn submit(input: &HookCall<'_>) -> Option<String> {
    let word = planning::typed_word(input, is_nested);
    remember_turn(input, word.is_some()).or(word)
}

/// Remembers what has opened the turn. To a notification of the host there is an answer.
fn remember_turn(input: &HookCall<'_>, has_asked: bool) -> Option<String> {
    let prompt = input.prompt.as_deref()?.trim();
    if let Some(answer) = notified_of(prompt).and_then(|call| notification(input, prompt, call)) {
        return Some(answer);
    }
    let session = input.session_id.as_deref()?;
    // A sub-agent's prompt is no person's word.
    if input.agent_id.is_some() {
        return None;
    }
    // A word that was carried out is not the model's to carry out again.
    keep_typed_verb(input, session, if has_asked { "" } else { prompt });
    let note = match Note::of(input.world, session) {
        Some(note) => note,
        // Its commands have to know that hooks are called here.
        None if input.host.works_itself() => {
            super::project_of(input.world, &input.cwd)?;
            Note { session_id: session.to_owned(), ..Note::default() }
        }
        None => return None,
    };
    let note = if input.host.works_itself() { at_home(input, note) } else { note };
    if input.host == Host::Gemini && prompt.starts_with(OF_GEMINI_ITSELF) {
        // The next stop gets only the model's next words.
        remember(input, &Note { heard: 0, ..note });
        return None;
    }
    if note.sent_back.as_deref().is_some_and(|ours| ours.trim() == prompt) {
        return None;
    }
    if prompt.starts_with(NOTIFICATION) {
        // Of something else in the background: the turn is whose it was.
        let was_a_persons = note.turn.as_ref().is_some_and(|turn| turn.is_a_persons);
        let id = input.turn_id.clone().unwrap_or_default();
        remember(input, &Note { turn: Some(Turn::now(input.world, id, was_a_persons)), ..note });
        return None;
    }
    let asks = has_asked
        || ASKING.iter().any(|command| {
            prompt
                .strip_prefix(command)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        });
    let id = input.turn_id.clone().unwrap_or_default();
    // Words that are typed while a turn is under way open none.
    let is_same_turn = |turn: &Turn| !id.is_empty() && turn.id == id;
    if note.turn.as_ref().is_some_and(is_same_turn) {
        return None;
    }
    // The host tells nobody that a person has broken a call off; but one who
    // opens a turn has no call under way, except in the background.
    if input.turn_id.is_some()
        && let Some((project, spec)) = noted_spec(input.world, session)
        && let Some(workspace) = super::agent::opened(&project, spec)
        && holds(&workspace, session)
        && let Err(error) = break_off_calls(&workspace, &note)
    {
        log(&error.to_string());
    }
    let turn = Some(Turn::now(input.world, id, !asks));
    remember(input, &Note { turn, sent_back: None, interrupted: false, heard: 0, ..note });
    None
}

/// A note that knows the host's process, which commands in a sandbox cannot see.
fn at_home(input: &HookCall<'_>, note: Note) -> Note {
    let Some(process) = input.world.launcher.host() else { return note };
    // Gemini CLI tells its commands no session; they find it by that process. And what a
    // model types into a session of its own is no person's word.
    if let Err(error) = session::keep_session_of(input.world, &process, &note.session_id) {
        log(&error.to_string());
    }
    Note { process: Some(process), ..note }
}

/// Whether a session holds a spec: the calls of others are not its own to end.
fn holds(workspace: &Workspace, session: &str) -> bool {
    let state = workspace.store.read_state().and_then(Result::ok);
    let asker = Asker::Session(session);
    owner::holder(&workspace.store, state.as_ref(), asker) == Holder::Me
}

fn remember(input: &HookCall<'_>, note: &Note) {
    if let Err(error) = note.write(input.world) {
        log(&error.to_string());
    }
}

/// Records that the calls of this session, those in the background left out, are
/// at work no longer.
pub(super) fn break_off_calls(workspace: &Workspace, note: &Note) -> Result<(), StoreError> {
    let ledger = workspace.store.ledger()?;
    let calls = ledger.calls_at_work();
    for call in calls.iter().filter(|call| !note.background.contains(&call.tool_use_id)) {
        let (task, tool_use_id) = (call.task.clone(), call.tool_use_id.clone());
        let entry = Entry::Returned { task, tool_use_id };
        workspace.store.lock()?.record_of(&call.attempt, entry)?;
    }
    Ok(())
}

/// The call that a notification of the host is about.
fn notified_of(prompt: &str) -> Option<&str> {
    prompt.starts_with(NOTIFICATION).then_some(())?;
    between(prompt, "<tool-use-id>", "</tool-use-id>")
}

fn between<'t>(text: &'t str, open: &str, close: &str) -> Option<&'t str> {
    let (_, behind) = text.split_once(open)?;
    behind.split_once(close).map(|(inside, _)| inside)
}

/// A call in the background has ended.
fn notification(input: &HookCall<'_>, prompt: &str, call: &str) -> Option<String> {
    let (workspace, delegation) = called(input, call)?;
    let said = between(prompt, "<result>", "</result>");
    let said = said.or_else(|| between(prompt, "<summary>", "</summary>")).unwrap_or("nothing");
    let answer = ended(&workspace, &delegation, call, line::head(said, 300));
    if let Some(mut note) = input.session_id.as_deref().and_then(|id| Note::of(input.world, id)) {
        note.background.retain(|launched| launched != call);
        let id = input.turn_id.clone().unwrap_or_default();
        note.turn = Some(Turn::now(input.world, id, false));
        remember(input, &note);
    }
    let output = json!({"hookEventName": "UserPromptSubmit", "additionalContext": answer.text});
    Some(with_news(json!({"hookSpecificOutput": output}), &answer.news))
}

/// Whether another session's command has started this one: its model writes the
/// prompt then, and no person does.
fn is_nested(session: &str) -> bool {
    let outer = std::env::var("CODEX_SESSION_ID").is_ok_and(|outer| outer != session);
    outer || ["CODEX_CI", "GEMINI_CLI"].iter().any(|mark| std::env::var_os(mark).is_some())
}

/// A whole message that is a person's verb, such as `specum tick 1.2`, is that
/// person's word: the command it leads to finds it here.
fn keep_typed_verb(input: &HookCall<'_>, session: &str, prompt: &str) {
    let words = split_arguments(prompt).unwrap_or_default();
    let typed = match words.split_first() {
        Some((program, words)) if program == "specum" => words,
        _ => &[],
    };
    let is_persons =
        !is_nested(session) && typed.first().is_some_and(|verb| commands::is_persons_verb(verb));
    // The next message takes the word back.
    let kept = if is_persons {
        session::keep_typed(input.world, session, typed)
    } else {
        session::forget_typed(input.world, session)
    };
    if let Err(error) = kept {
        log(&error.to_string());
    }
}
