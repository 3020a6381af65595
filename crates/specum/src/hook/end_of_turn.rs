//! The end of a turn in a host whose own model does the work: Codex, Gemini CLI.
//!
//! Their commands run in a sandbox, or without the person's git configuration;
//! their hooks do not. So a command of the model only records what it hands in,
//! and this hook judges, ticks and commits it. A model that ends its turn with the
//! signal of its task has handed in what it says.
//!
//! The session that asked for work holds the spec from here on: this hook sees the
//! host's process and may write outside the project, which a sandboxed command may
//! not.

use specum_core::attempt::{Attempt, LoopStanding};
use specum_core::completion;
use specum_core::hook::{HookOutput, Host, Input};
use specum_core::journal::Entry;
use specum_core::line;
use specum_core::machine::{self, Event};
use specum_core::owner::Asker;
use specum_core::stop::Stake;
use specum_core::verify::Role;

use super::{HookCall, answer, decided, is_ours, log, planning, stake};
use specum_engine::attempt::{By, Workspace};
use specum_engine::ops::{self, DueWork, OpError};
use specum_engine::owner;
use specum_engine::process;
use specum_engine::project::{Project, Spec};
use specum_engine::session::{Note, Turn};
use specum_engine::store::Store;

/// What Gemini CLI sends when nothing was said in the turn.
const NO_WORDS: &str = "[no response text]";
/// How much of a result is kept: the end, where the signal stands.
const KEPT_RESULT: usize = 64 * 1024;
/// How much of one piece of news stands in the line that the person sees.
const MAX_NEWS: usize = 300;

pub(super) fn stop(input: &HookCall<'_>, project: &Project, spec: &Spec) -> Option<String> {
    // A check that runs when the host ends us must not run on.
    process::clean_up_when_interrupted();
    let session = input.session_id.as_deref().unwrap_or_default();
    let note = Note::of(input.world, session).unwrap_or_default();
    let heard = input.last_message.as_ref().map_or(0, String::len);
    let said = Input { last_message: last_words(input, &note), ..input.input.clone() };
    let input = &HookCall { world: input.world, input: &said };
    let store = Store::of(spec);
    let state = store.read_state()?.ok();
    if note.spec == spec.dir
        && let Some(other) = owner::holder(&store, state.as_ref(), Asker::Session(session)).other()
    {
        let text = format!("specum: {} works on {} now", other.description(), spec.name);
        return leave(input, note, text);
    }
    let has_asked = match stake(input, spec, &store, state.as_ref()) {
        // A loop that another program began is worked on by any session.
        Stake::Asked | Stake::Unclaimed => true,
        Stake::PersonsTurn => hands_in(&store, input).is_some(),
        Stake::None => false,
    };
    if has_asked && is_interrupted(input, &note) {
        return let_go(note, input, spec);
    }
    let mut judged = TurnJudgement::default();
    if has_asked {
        let outcome = Workspace::in_hook(project, spec.clone())
            .map_err(OpError::from)
            .and_then(|workspace| judge(workspace, input, session));
        match outcome {
            Ok(said) => judged = said,
            // Sent back, the model could do nothing about it.
            Err(error) => return Some(HookOutput::Tell(format!("specum: {error}")).render()),
        }
    }
    let output = match judged.is_over {
        true => HookOutput::Silent,
        false => decided(input, project, spec, &judged.news)
            .map_or(HookOutput::Silent, |decision| decision.output),
    };
    let output = match output {
        HookOutput::Silent if !judged.news.is_empty() => HookOutput::Tell(judged.news.join("\n")),
        HookOutput::Tell(text) if !judged.news.is_empty() => {
            HookOutput::Tell(format!("{}\n{text}", judged.news.join("\n")))
        }
        output => output,
    };
    if let HookOutput::Block { reason, .. } = &output {
        remember_block(input, session, reason, heard);
    }
    Some(output.render())
}

/// The answer to a session whose loop was cancelled while it worked.
pub(super) fn cancelled(input: &HookCall<'_>, spec: &Spec) -> Option<String> {
    let note =
        Note::of(input.world, input.session_id.as_deref()?).filter(|note| note.spec == spec.dir)?;
    let ledger = Store::of(spec).ledger().ok()?;
    if ledger.standing() != LoopStanding::Cancelled {
        return None;
    }
    let text = format!("specum: the loop of {} was cancelled; its plan stays as it is", spec.name);
    leave(input, note, text)
}

/// Tells the person once that the session has nothing to do with the spec any more.
fn leave(input: &HookCall<'_>, note: Note, text: String) -> Option<String> {
    write(input, &Note { spec: Default::default(), ..note });
    Some(HookOutput::Tell(text).render())
}

fn write(input: &HookCall<'_>, note: &Note) {
    if note.session_id.is_empty() {
        return;
    }
    if let Err(error) = note.write(input.world) {
        log(&error.to_string());
    }
}

/// Remembers what the model was sent back with. The note is read again: a check
/// may have run for minutes, and the person may have typed meanwhile.
fn remember_block(input: &HookCall<'_>, session: &str, reason: &str, heard: usize) {
    if let Some(note) = Note::of(input.world, session) {
        write(input, &Note { sent_back: Some(reason.to_owned()), heard, ..note });
    }
}

/// The model's last message. Gemini CLI tells everything that was said in the
/// turn, so what an earlier stop has heard is left out.
fn last_words(input: &HookCall<'_>, note: &Note) -> Option<String> {
    let said = input.last_message.as_deref()?;
    let new = match input.host {
        Host::Gemini if said != NO_WORDS => said.get(note.heard..),
        _ => None,
    };
    Some(new.unwrap_or(said).trim().to_owned())
}

/// Whether a person has interrupted the model. Gemini CLI calls the hook then as
/// at every other end, but no new word has come.
fn is_interrupted(input: &HookCall<'_>, note: &Note) -> bool {
    let says_nothing = |said: &str| said == NO_WORDS || said.is_empty();
    input.host == Host::Gemini
        && (note.interrupted || input.last_message.as_deref().is_some_and(says_nothing))
}

/// A person has interrupted the model: their word is next. Until it comes nothing
/// is judged and nobody is sent back; the host itself may ask the model once more.
fn let_go(note: Note, input: &HookCall<'_>, spec: &Spec) -> Option<String> {
    let is_told = note.interrupted;
    let turn = Some(Turn::now(input.world, input.turn_id.clone().unwrap_or_default(), true));
    write(input, &Note { turn, interrupted: true, ..note });
    let text = format!("specum: interrupted; \"Work on the spec {}\" goes on", spec.name);
    (!is_told).then(|| HookOutput::Tell(text).render())
}

/// What the end of a turn came to.
#[derive(Default)]
struct TurnJudgement {
    /// For the person, and the model's first line.
    news: Vec<String>,
    /// Whether the news say all there is to say: the loop is complete or waits.
    is_over: bool,
}

/// Judges what was handed in, and opens what is next.
fn judge(
    mut workspace: Workspace,
    input: &HookCall<'_>,
    session: &str,
) -> Result<TurnJudgement, OpError> {
    workspace.scope.max_parallel = 1;
    if let Ok(git) = &workspace.git {
        // The command that began the loop may not have been able to.
        git.exclude_own_files()?;
    }
    hold(&workspace, input, session)?;
    if planning::state(&workspace).is_some() {
        // A document is judged when it is handed in; its commit may have to be made here.
        workspace.commit_documents()?;
        return Ok(TurnJudgement::default());
    }
    workspace.take_back_ticks()?;
    if let Some(opened) = hands_in(&workspace.store, input) {
        let said = input.last_message.as_deref().unwrap_or_default();
        workspace.report(&opened, line::tail(said, KEPT_RESULT), session)?;
    }
    let by = By::Batch(session);
    let mut count = workspace.judge_finished(by)?.len();
    count += workspace.judge_reported(by)?.len();
    let one_line = |text: String| line::head(&text.replace('\n', " "), MAX_NEWS).to_owned();
    if count == 0 {
        let news = workspace.take_news().into_iter().map(one_line).collect();
        return Ok(TurnJudgement { news, is_over: false });
    }
    let mut news = answer::verdicts(&workspace)?;
    let is_over = match ops::open(&workspace) {
        Ok(DueWork::Task { .. } | DueWork::Verify { .. } | DueWork::Parallel { .. })
        | Ok(DueWork::Document { .. } | DueWork::Verdict { .. }) => false,
        Ok(DueWork::Approval { message, .. }) => {
            news.push(format!("specum: {message}"));
            true
        }
        Ok(DueWork::Complete { .. }) => {
            news.push(ops::completion(&workspace)?);
            true
        }
        Ok(
            DueWork::Paused(wait)
            | DueWork::Blocked(wait)
            | DueWork::Waits(wait)
            | DueWork::ChosenDone(wait)
            | DueWork::Planned(wait)
            | DueWork::Capped(wait),
        ) => {
            news.push(format!("specum: {}: {}", workspace.spec.name, wait.message));
            true
        }
        // The verdicts are shown all the same.
        Err(error) => {
            news.push(format!("specum: {error}"));
            true
        }
    };
    news.extend(workspace.take_news());
    Ok(TurnJudgement { news: news.into_iter().map(one_line).collect(), is_over })
}

/// Makes the session the owner of the spec, with what only a hook can tell.
fn hold(workspace: &Workspace, input: &HookCall<'_>, session: &str) -> Result<(), OpError> {
    let me = owner::session(input.world, session);
    let locked = workspace.store.lock()?;
    let view = locked.read()?;
    if let Some(state) = &view.state
        && is_ours(&workspace.store, Some(state))
        && !state.owner.as_ref().is_some_and(|known| owner::is_up_to_date(input.world, known, &me))
    {
        let step = machine::step(state, &view.file(), Event::Hold(me));
        locked.write_step(Entry::Held { session: session.to_owned() }, &step)?;
    }
    drop(locked);
    if let Err(error) = Note::asked(session, input.turn_id.as_deref(), &workspace.spec) {
        log(&error.to_string());
    }
    Ok(())
}

/// The attempt whose result the model's last words are, if they say so: the first
/// one of the plan that is open and for which nothing was handed in.
fn hands_in(store: &Store, input: &HookCall<'_>) -> Option<Attempt> {
    let said = input.last_message.as_deref()?;
    let ledger = store.ledger().ok()?;
    let view = store.read().ok()?;
    let file = view.file();
    let place = |opened: &Attempt| file.tasks.iter().position(|task| task.name() == opened.key.id);
    let open = ledger.open_attempts().into_iter();
    let open = open.filter(|opened| ledger.reported(&opened.id).is_none());
    let open = open.filter_map(|opened| place(&opened).map(|at| (at, opened)));
    let (_, opened) = open.min_by_key(|(at, _)| *at)?;
    let is_result = completion::says(said, opened.role.signal())
        || (opened.role == Role::QaEngineer
            && completion::says(said, completion::VERIFICATION_FAIL));
    is_result.then_some(opened)
}
