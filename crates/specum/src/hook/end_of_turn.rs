//! The end of a turn in a host whose own model does the work: Codex, Gemini CLI.
//!
//! Their commands run in a sandbox, or without the person's git configuration;
//! their hooks do not. So what the model hands in is only recorded by its
//! commands, and judged, ticked and committed here. The model that ends its turn
//! with the signal of its task has handed in what it says.

use specum_core::claim;
use specum_core::hook::{Host, Input, Output};
use specum_core::prompt;
use specum_core::stop::Stake;

use super::{answer, decided, log, stake};
use crate::attempt::{AttemptError, By, History, Next, Workspace};
use crate::project::{Project, Spec};
use crate::session::{Note, Turn};
use crate::store::Store;

/// What Gemini CLI tells when a person has interrupted the model.
const NO_WORDS: &str = "[no response text]";

pub(super) fn stop(input: &Input, project: &Project, spec: &Spec) -> Option<String> {
    let session = input.session_id.as_deref().unwrap_or_default();
    let note = Note::of(session).unwrap_or_default();
    let heard = input.last_message.as_ref().map_or(0, String::len);
    let input = &Input { last_message: last_words(input, &note), ..input.clone() };
    let store = Store::of(spec);
    let state = store.read_state()?;
    // In a loop that another program began, whoever is there works on it.
    let stake = stake(input, spec, &store, state.as_ref().ok());
    let has_asked = matches!(stake, Stake::Asked | Stake::Unclaimed);
    if has_asked && input.host == Host::Gemini && input.last_message.as_deref() == Some(NO_WORDS) {
        return Some(let_go(note, spec).render());
    }
    let mut news = Vec::new();
    if has_asked && let Some(workspace) = workspace(project, spec.clone()) {
        match judge(&workspace, input, session) {
            Ok(said) => news = said,
            // Sent back, the model could do nothing about it.
            Err(error) => return Some(Output::Tell(format!("specum: {error}")).render()),
        }
    }
    let output = match decided(input, project, spec, &news) {
        Some(decision) => decision.output,
        // With the last task the loop has ended.
        None => Output::Silent,
    };
    let output = match output {
        Output::Silent if !news.is_empty() => Output::Tell(news.join("\n")),
        Output::Tell(text) if !news.is_empty() => {
            let told = news.join("\n");
            Output::Tell(if told.contains(&text) { told } else { format!("{told}\n{text}") })
        }
        output => output,
    };
    if let (Output::Block { reason, .. }, false) = (&output, note.session_id.is_empty()) {
        let note = Note { sent_back: Some(reason.clone()), heard, ..note };
        if let Err(error) = note.write() {
            log(&error.to_string());
        }
    }
    Some(output.render())
}

/// The model's last message. Gemini CLI tells everything that was said in the
/// turn, so what an earlier stop has heard is left out.
fn last_words(input: &Input, note: &Note) -> Option<String> {
    let said = input.last_message.as_deref()?;
    let new = if input.host == Host::Gemini { said.get(note.heard..) } else { None };
    Some(new.unwrap_or(said).trim().to_owned())
}

/// A person has interrupted the model: their word is next.
fn let_go(note: Note, spec: &Spec) -> Output {
    let id = note.turn.as_ref().map(|turn| turn.id.clone()).unwrap_or_default();
    let note = Note { turn: Some(Turn::now(id, true)), ..note };
    if let Err(error) = note.write() {
        log(&error.to_string());
    }
    Output::Tell(format!("specum: interrupted; \"Work on the spec {}\" goes on", spec.name))
}

fn workspace(project: &Project, spec: Spec) -> Option<Workspace> {
    let mut workspace = super::agent::opened(project, spec)?;
    workspace.scope.max_parallel = 1;
    Some(workspace)
}

/// Judges what was handed in, and opens what is next. Gives the news, a line
/// each.
fn judge(workspace: &Workspace, input: &Input, session: &str) -> Result<Vec<String>, AttemptError> {
    hand_in(workspace, input, session)?;
    let by = By::Batch(session);
    let mut judged = workspace.judge_finished(by)?.len();
    judged += workspace.judge_reported(by)?.len();
    if judged == 0 {
        return Ok(workspace.take_news());
    }
    let mut news = answer::verdicts(workspace)?;
    match workspace.open()? {
        Next::Work(_) => {}
        Next::Complete => news.push(workspace.completion()?),
        Next::Wait(due) => news.push(prompt::waiting(&due)),
    }
    news.extend(workspace.take_news());
    Ok(news)
}

/// Takes the model's last words for the result of the task it was working on, if
/// they say so and nothing else was handed in.
fn hand_in(workspace: &Workspace, input: &Input, session: &str) -> Result<(), AttemptError> {
    let Some(said) = input.last_message.as_deref() else { return Ok(()) };
    let journal = workspace.store.read_journal()?;
    let open = History(&journal).open_attempts();
    let [opened] = open.as_slice() else { return Ok(()) };
    if History(&journal).reported(opened).is_none() && claim::claims(said, opened.role.signal()) {
        workspace.report(opened, said, session)?;
    }
    Ok(())
}
