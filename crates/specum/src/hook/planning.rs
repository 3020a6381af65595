//! The hooks around the authors of a planning: the loop inside a turn, for documents.
//!
//! `pre-tool-use` puts the brief in the place of `phase design`, `subagent-stop` judges
//! what was written, and the answer to the call says what is next: an author, the
//! question to the person, or the work.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use specum_core::attempt::Attempt;
use specum_core::authoring::word::TypedWord;
use specum_core::authoring::{self, Due, Profile};
use specum_core::brief::BriefMarker;
use specum_core::hook::{HookOutput, Host};
use specum_core::journal::{Entry, Source, Via};
use specum_core::line;
use specum_core::machine::Start;
use specum_core::owner::{Asker, Holder};
use specum_core::prompt::{self, SpecName};
use specum_core::spec::Doc;
use specum_core::state::{Phase, State};
use specum_core::verify::Role;

use super::agent::{self, Denial, OURS};
use super::answer::Answer;
use super::{HookCall, Lookup, lookup};
use specum_engine::attempt::{Change, DocumentVerdict, NextDocument, Workspace};
use specum_engine::ops::{self, OpError};
use specum_engine::owner;
use specum_engine::person;

/// How much of what an author is sent back with stands in the answer.
const MAX_FINDINGS: usize = 16 * 1024;

/// Who writes the one document of a small change.
pub(super) const SMALL_PLANNER: &str = "plan-synthesizer";

/// The state of a spec whose documents are being written.
pub(super) fn state(workspace: &Workspace) -> Option<State> {
    let state = workspace.store.read_state()?.ok()?;
    (state.phase != Phase::Execution && state.planning.is_some()).then_some(state)
}

/// What is due in it.
fn due(workspace: &Workspace) -> Option<Due> {
    state(workspace)?.planning.map(|planning| planning.due())
}

/// The document that a prompt asks for: `phase design`, or a brief of its author.
pub(super) fn named_document(prompt: &str) -> Option<Doc> {
    if let Some(marker) = BriefMarker::find(prompt) {
        return authoring::document(&marker.task);
    }
    let mut words = prompt.split_whitespace();
    words.next().filter(|word| word.eq_ignore_ascii_case("phase"))?;
    Doc::named(words.next()?.trim_matches(['`', ':', '.', ',']))
}

/// `pre-tool-use`: the call of an author, with the full brief.
pub(super) fn delegate(
    workspace: &Workspace,
    input: &HookCall<'_>,
    asked: &str,
) -> Result<Value, Denial> {
    agent::refuse_others(workspace, input)?;
    let session = input.session_id.as_deref().unwrap_or_default();
    let next = workspace.open_document()?;
    let said = due(workspace).map(|due| prompt::planning::in_words(input.host, due));
    let said = said.unwrap_or_default();
    let (NextDocument::Author(opened), Some(named)) = (next, named_document(asked)) else {
        return Err(Denial(said));
    };
    if opened.role != Role::Author(named) {
        return Err(Denial(format!("{} is not due. {said}", named.file())));
    }
    agent::refuse_after_too_many(workspace, input, &opened)?;
    let entry = Entry::Delegated {
        task: opened.key.clone(),
        attempt: opened.number,
        tool_use_id: input.tool_use_id.clone().unwrap_or_default(),
    };
    agent::record_call(workspace, input, &opened, entry)?;
    agent::remember_session(input, session, &workspace.spec);
    let planning = workspace.planning()?;
    let is_small = planning.is_some_and(|planning| planning.profile == Profile::Small);
    let agent = if is_small { SMALL_PLANNER } else { prompt::agent(opened.role) };
    let mut updated = json!({
        "description": format!("phase {named}"),
        "subagent_type": format!("{OURS}{agent}"),
        "prompt": workspace.author_brief(&opened, &workspace.spec.root)?,
        "run_in_background": false,
    });
    if let Some(model) = input.tool_input.get("model") {
        updated["model"] = model.clone();
    }
    Ok(updated)
}

/// `subagent-stop`: judges what an author has written, and sends it back with what is
/// wrong while it has tries.
pub(super) fn judge(workspace: &Workspace, opened: &Attempt) -> Result<Option<String>, OpError> {
    let ledger = workspace.store.ledger()?;
    let mut at_work = ledger.calls_at_work().into_iter();
    let call = at_work.find(|known| known.attempt == opened.id);
    let verdict = judged(workspace, opened)?;
    if verdict.errors.is_empty() || verdict.is_blocked {
        return Ok(None);
    }
    // The next try is the same author's, within the same call.
    let NextDocument::Author(again) = workspace.open_document()? else { return Ok(None) };
    if let Some(call) = call {
        let (task, attempt, tool_use_id) =
            (again.key.clone(), again.number, call.tool_use_id.clone());
        let entry = Entry::Delegated { task, attempt, tool_use_id };
        workspace.store.lock()?.record_of(&again.id, entry)?;
    }
    let file = verdict.doc.file();
    let findings = verdict.errors.join("\n- ");
    let reason = format!(
        "{file} is not right yet:\n- {}\n\nCorrect the file, then end.\n",
        line::head(&findings, MAX_FINDINGS)
    );
    let system_message = format!("specum: {file} goes back to its author");
    Ok(Some(HookOutput::Block { reason, system_message }.render()))
}

/// The verdict about an attempt. In a session only those checks of a plan are run before
/// the work that are proved to read.
fn judged(workspace: &Workspace, opened: &Attempt) -> Result<DocumentVerdict, OpError> {
    let first_runs = match opened.role {
        Role::Author(Doc::Tasks) => ops::first_runs_in_session(workspace)?,
        _ => BTreeMap::new(),
    };
    Ok(workspace.judge_document(opened, None, &first_runs)?)
}

/// What the end of an author's call means.
pub(super) fn ended(
    workspace: &Workspace,
    delegation: &Attempt,
    (call, said): (&str, &str),
) -> Result<Answer, OpError> {
    let file = &delegation.key.title;
    let ledger = workspace.store.ledger()?;
    if !ledger.has_verdict(&delegation.id) {
        for known in ledger.calls_at_work().iter().filter(|known| known.tool_use_id == call) {
            let entry = Entry::Returned {
                task: known.task.clone(),
                tool_use_id: known.tool_use_id.clone(),
            };
            workspace.store.lock()?.record_of(&known.attempt, entry)?;
        }
        let mut answer = next(workspace, Host::Claude)?;
        answer.text = format!(
            "{file} ended without a verdict, which counts as no try. It said: {said}\n\n{}",
            answer.text
        );
        return Ok(answer);
    }
    next(workspace, Host::Claude)
}

/// What has become of the documents, and what is next: for the model and the person.
pub(super) fn next(workspace: &Workspace, host: Host) -> Result<Answer, OpError> {
    let Some(state) = state(workspace) else {
        let next = ops::open(workspace)?;
        return Ok(Answer { text: next.for_coordinator(), news: Vec::new() });
    };
    let planning = state.planning.as_ref().expect("a planning has one");
    let due = planning.due();
    if due == Due::Start && planning.quick {
        return begin(workspace, &state);
    }
    let mut text = prompt::planning::in_words(host, due);
    let mut news = workspace.take_news();
    if let Some(waiting) = ops::waiting(workspace)? {
        text = format!("{}\n\n{text}", waiting.for_person());
        news.push(format!("{}.md is ready", waiting.document));
    }
    Ok(Answer { text, news })
}

/// Begins the work of an approved plan.
pub(super) fn begin(workspace: &Workspace, state: &State) -> Result<Answer, OpError> {
    workspace.start(Start { owner: state.owner.clone(), ..Start::default() })?;
    let spec = SpecName { name: &workspace.spec.name, path: &workspace.spec.shown };
    let next = ops::open(workspace)?;
    let text = format!("{}\n\n{}", prompt::coordinator(spec), next.for_coordinator());
    let news = format!("{}: the plan is approved, the work begins", spec.name);
    Ok(Answer { text, news: vec![news] })
}

/// `submit` in a host without dialogs: a whole message that is a person's word about the
/// document that waits. It is carried out here, where git may write.
pub(super) fn typed_word(
    input: &HookCall<'_>,
    is_nested: impl FnOnce(&str) -> bool,
) -> Option<String> {
    // A sub-agent's prompt is no person's word.
    if !input.host.works_itself() || input.agent_id.is_some() {
        return None;
    }
    let word = TypedWord::of(input.prompt.as_deref()?)?;
    let session = input.session_id.as_deref()?;
    let Lookup::Loop(project, spec) = lookup(input) else { return None };
    let workspace = agent::opened(&project, spec)?;
    let known = state(&workspace);
    known.as_ref()?;
    let holds =
        owner::holder(&workspace.store, known.as_ref(), Asker::Session(session)) == Holder::Me;
    let source = person::says_in_session(input.world, session, Via::Prompt);
    let source = source.filter(|_| holds && !is_nested(session))?;
    let answer = carry_out(&workspace, input.host, word, source).unwrap_or_else(|error| {
        let text = format!("specum: {error}");
        Answer { news: vec![text.clone()], text }
    });
    let event = if input.host == Host::Gemini { "BeforeAgent" } else { "UserPromptSubmit" };
    let output = json!({"hookEventName": event, "additionalContext": answer.text});
    Some(agent::with_news(json!({"hookSpecificOutput": output}), &answer.news))
}

fn carry_out(
    workspace: &Workspace,
    host: Host,
    word: TypedWord,
    source: Source,
) -> Result<Answer, OpError> {
    let news = match word {
        TypedWord::Approve(doc) => {
            let none = BTreeMap::new();
            let approved = ops::approve_document(workspace, doc, &none, None, source)?;
            format!("{}.md is approved", approved.document)
        }
        TypedWord::Change(text) => {
            let change = Change { doc: None, text: &text };
            let changed = ops::change_document(workspace, change, source)?;
            format!("{}.md is to be changed as the person says", changed.document)
        }
    };
    let mut answer = next(workspace, host)?;
    answer.text = format!("{news}.\n\n{}", answer.text);
    answer.news.insert(0, news);
    Ok(answer)
}
