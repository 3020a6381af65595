//! Answers to a host: `specum hook <event>`.
//!
//! A hook reads JSON on standard input and writes what the host is to hear on
//! standard output. Whatever goes wrong, it ends with code 0 and nothing on
//! standard output, so that the host works on as if it were not there. The
//! Stop hook of Claude Code waits for no lock and starts no process, thread or runtime;
//! that of Codex and Gemini CLI judges (`hook/end_of_turn`).

mod agent;
mod answer;
mod command;
mod end_of_turn;
mod planning;
mod question;
mod turn;

use std::io::{self, Read, Write};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;
use specum_core::completion;
use specum_core::guard::{Memory, Released};
use specum_core::hook::{Host, Input};
use specum_core::machine;
use specum_core::moment::Moment;
use specum_core::owner::{Asker, Holder};
use specum_core::plan::{Scope, Unit};
use specum_core::prompt::{self, SpecName};
use specum_core::state::State;
use specum_core::stop::{self, Decision, Scene, Stake};
use specum_core::tasks::{TaskEdit, TaskText};

use crate::exit::Exit;
use specum_engine::attempt::release_session;
use specum_engine::claude_config;
use specum_engine::ops::noted_spec;
use specum_engine::owner;
use specum_engine::ports::World;
use specum_engine::process;
use specum_engine::project::{Project, Spec, SpecError};
use specum_engine::session::{self, Note};
use specum_engine::store::Store;

/// The events that are answered.
pub const EVENTS: [&str; 9] = [
    "stop",
    "session-start",
    "session-end",
    "prompt",
    "submit",
    "pre-tool-use",
    "post-tool-use",
    "post-tool-use-failure",
    "subagent-stop",
];

/// The longest input worth reading.
const MAX_INPUT: u64 = 32 * 1024 * 1024;

/// Answers one event.
pub fn run(event: &str) -> Exit {
    let Some(answer) = answer_to(event) else {
        log(&format!("unknown hook `{event}`; the hooks are {}", EVENTS.join(", ")));
        // Not 2: hosts take that for "do not stop".
        return Exit::Failed;
    };
    if event != "stop" {
        // A check that runs when the host ends us must not run on.
        process::clean_up_when_interrupted();
    }
    let input = read_input().as_deref().and_then(Input::parse);
    let output = input.and_then(|input| answer(&HookCall { world: &World::real(), input: &input }));
    tracing::debug!(event, ?output, "answers a hook");
    if let Some(output) = output {
        // A host that has closed the pipe does not want to know.
        let _ = io::stdout().lock().write_all(output.as_bytes());
    }
    Exit::Done
}

/// Answers one event of a host that is in some world.
#[cfg(feature = "test-support")]
pub fn answer(world: &World, event: &str, input: &[u8]) -> Option<String> {
    let input = Input::parse(input)?;
    IS_QUIET.set(true);
    let answer = answer_to(event)?(&HookCall { world, input: &input });
    IS_QUIET.set(false);
    answer
}

#[cfg(feature = "test-support")]
thread_local! {
    /// Whether the log is off: a simulation calls hooks by the million.
    static IS_QUIET: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// What a host tells a hook, and where.
struct HookCall<'a> {
    world: &'a World,
    input: &'a Input,
}

impl Deref for HookCall<'_> {
    type Target = Input;

    fn deref(&self) -> &Input {
        self.input
    }
}

type Answer = fn(&HookCall<'_>) -> Option<String>;

fn answer_to(event: &str) -> Option<Answer> {
    let answer: Answer = match event {
        "stop" => stop,
        "session-start" => session_start,
        "session-end" => session_end,
        "prompt" => command::expansion,
        "submit" => turn::submit,
        "pre-tool-use" => agent::before_call,
        "post-tool-use" => answer::after_call,
        "post-tool-use-failure" => answer::failed_call,
        "subagent-stop" => agent::end_of_agent,
        _ => return None,
    };
    Some(answer)
}

/// Standard input to its end, so that the host is not left with a broken pipe;
/// `None` if it is too long to be an event.
fn read_input() -> Option<Vec<u8>> {
    let mut input = Vec::new();
    let mut stdin = io::stdin().lock();
    let length = stdin.by_ref().take(MAX_INPUT).read_to_end(&mut input).ok()?;
    if (length as u64) < MAX_INPUT {
        return Some(input);
    }
    let rest = io::copy(&mut stdin, &mut io::sink()).ok()?;
    (rest == 0).then_some(input)
}

fn log(line: &str) {
    #[cfg(feature = "test-support")]
    if IS_QUIET.get() {
        return;
    }
    let mark = if line.starts_with('[') { "" } else { "[ralph-specum] " };
    // One write, so that lines of two hooks do not mix.
    let _ = io::stderr().lock().write_all(format!("{mark}{line}\n").as_bytes());
}

/// The project a session works in, unless the user has turned the hooks off, or
/// a run has started the session: then the run is the loop.
fn project_of(world: &World, cwd: &str) -> Option<Project> {
    if std::env::var_os(process::MARK).is_some() {
        return None;
    }
    let home = std::env::var_os("HOME");
    let project = Project::find(world, Path::new(cwd), home.as_deref().map(Path::new))?;
    project.settings.enabled.then_some(project)
}

/// The active spec of that project.
fn active_spec(world: &World, cwd: &str) -> Option<(Project, Spec)> {
    let project = project_of(world, cwd)?;
    match project.current() {
        Ok(spec) => spec.map(|spec| (project, spec)),
        Err(SpecError::NotFound { .. }) => None,
        Err(error) => {
            log(&error.to_string().replace('\n', " "));
            None
        }
    }
}

/// What a session's hooks have to do with.
enum Lookup {
    /// Nothing: no project, or hooks that are turned off, or a run's own agent.
    NotOurs,
    /// No loop; perhaps the spec that had one.
    NoLoop(Option<(Project, Spec)>),
    /// The loop of this spec.
    Loop(Project, Spec),
}

/// The loop that a session's hooks have to do with: the one it has asked for,
/// wherever its shell stands by now and whichever spec is active; or else that
/// of the active spec.
fn lookup(input: &HookCall<'_>) -> Lookup {
    if std::env::var_os(process::MARK).is_some() {
        return Lookup::NotOurs;
    }
    let noted = input.session_id.as_deref().and_then(|id| noted_spec(input.world, id));
    let has_loop = |spec: &Spec| Store::of(spec).has_state();
    match noted {
        Some((project, spec)) if has_loop(&spec) => Lookup::Loop(project, spec),
        noted => match active_spec(input.world, &input.cwd) {
            Some((project, spec)) if has_loop(&spec) => Lookup::Loop(project, spec),
            active => match noted.or(active) {
                None if project_of(input.world, &input.cwd).is_none() => Lookup::NotOurs,
                found => Lookup::NoLoop(found),
            },
        },
    }
}

/// `stop`: may the agent stop?
fn stop(input: &HookCall<'_>) -> Option<String> {
    let (project, spec) = match lookup(input) {
        Lookup::Loop(project, spec) => (project, spec),
        Lookup::NoLoop(Some((_, spec))) if input.host.works_itself() => {
            return end_of_turn::cancelled(input, &spec);
        }
        Lookup::NoLoop(_) | Lookup::NotOurs => return None,
    };
    if input.host.works_itself() {
        return end_of_turn::stop(input, &project, &spec);
    }
    decided(input, &project, &spec, &[]).map(|decision| decision.output.render())
}

/// The decision about a stop, remembered and logged; `None` if there is nothing
/// to decide.
fn decided(
    input: &HookCall<'_>,
    project: &Project,
    spec: &Spec,
    news: &[String],
) -> Option<Decision> {
    let store = Store::of(spec);
    // Twice at most: a second look is needed only when another session was
    // faster in claiming the spec.
    for _ in 0..2 {
        let before = store.read_memory();
        let decision = decide(input, project, spec, (&store, &before), news)?;
        let remembered = match &decision.memory {
            Some(after) => store.write_memory(&before, after),
            None => Ok(true),
        };
        match remembered {
            Ok(true) => {
                decision.stderr.iter().for_each(|line| log(line));
                return Some(decision);
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
    input: &HookCall<'_>,
    project: &Project,
    spec: &Spec,
    (store, memory): (&Store, &Memory),
    news: &[String],
) -> Option<Decision> {
    let state = store.read_state()?;
    let tasks = match store.read_tasks() {
        Ok(tasks) => tasks,
        Err(error) => {
            log(&error.to_string());
            None
        }
    };
    let stake = stake(input, spec, store, state.as_ref().ok());
    let Proved { tasks, questions, unproved } = match (stake, tasks) {
        (Stake::Asked | Stake::PersonsTurn, Some(tasks)) => {
            proved(store, tasks, state.as_ref().ok())
        }
        (_, tasks) => Proved { tasks, ..Proved::default() },
    };
    let file = tasks.as_ref().map(|tasks| tasks.file());
    let last_message = input.last_message.clone().or_else(|| {
        let path = Path::new(input.transcript_path.as_deref()?);
        completion::TRANSCRIPT_TAILS.into_iter().find_map(|length| {
            let tail = input.world.disk.read_tail(path, length).ok()?;
            completion::last_message(&tail.bytes, tail.whole, tail.first)
        })
    });
    let host = input.world.launcher.host();
    // A host that names no session has one all the same: the one without a name.
    let asker = Asker::Session(input.session_id.as_deref().unwrap_or_default());
    let holder = owner::holder_at_stop(store, state.as_ref().ok(), memory, asker);
    let mut decision = stop::decide(&Scene {
        input,
        spec: SpecName { name: &spec.name, path: &spec.shown },
        state: state.as_ref(),
        tasks: file.as_ref(),
        last_message: last_message.as_deref(),
        memory,
        host: host.as_ref(),
        now: &input.world.clock.now().to_string(),
        holder: &holder,
        max_parallel: if input.host.works_itself() { 1 } else { project.settings.max_parallel },
        stake,
        questions: &questions,
        news,
    });
    if !unproved.is_empty() {
        decision.output.add(&unproved_in_words(&unproved));
    }
    Some(decision)
}

/// Whether a loop is one of ours and not begun by another program.
fn is_ours(store: &Store, state: Option<&State>) -> bool {
    // A state of ours says so; one of an earlier version, or one that cannot be
    // read, leaves it to the journal.
    state.is_some_and(|state| state.plan.is_some() || state.planning.is_some())
        || store.ledger().is_ok_and(|ledger| ledger.is_under_way())
}

/// What the session has to do with the loop.
fn stake(input: &HookCall<'_>, spec: &Spec, store: &Store, state: Option<&State>) -> Stake {
    if !is_ours(store, state) {
        return Stake::Unclaimed;
    }
    let session = input.session_id.as_deref().unwrap_or_default();
    let note = Note::of(input.world, session);
    let owner = state.and_then(|state| state.owner.as_ref());
    let owns = owner.is_some_and(|owner| owner.is_session(session));
    let turn = note.as_ref().and_then(|note| note.turn.as_ref());
    let is_persons_turn = turn.is_some_and(|turn| {
        turn.is_a_persons
            && input.turn_id.as_ref().is_none_or(|id| *id == turn.id)
            && !(input.host.works_itself() && has_asked_since(store, session, &turn.opened))
    });
    let has_asked = note.as_ref().is_some_and(|note| note.spec == spec.dir);
    match owns || has_asked {
        false => Stake::None,
        true if is_persons_turn => Stake::PersonsTurn,
        true => Stake::Asked,
    }
}

/// Whether a command of a session has asked for work since its turn began. What
/// it could write down from inside a sandbox is in the journal.
fn has_asked_since(store: &Store, session: &str, opened: &str) -> bool {
    let (Ok(ledger), Ok(opened)) = (store.ledger(), opened.parse::<Timestamp>()) else {
        return false;
    };
    let asked = ledger.held_at(session).and_then(Moment::time);
    asked.is_some_and(|at| at >= opened)
}

/// A plan as it counts.
#[derive(Default)]
struct Proved {
    /// The plan without ticks that have nothing behind them.
    tasks: Option<Arc<TaskText>>,
    /// What waits for a person.
    questions: Vec<String>,
    /// The tasks whose ticks are left out; the next holder of the lock takes them
    /// back.
    unproved: Vec<String>,
}

/// The plan as it counts. One that was reviewed as it stands needs no look at the
/// journal.
fn proved(store: &Store, tasks: Arc<TaskText>, state: Option<&State>) -> Proved {
    let waits = state.is_some_and(|state| state.task_results.values().any(|task| task.waits));
    let file = tasks.file();
    let something_open = !file.is_complete();
    let is_reviewed = state.is_some_and(|state| state.has_reviewed(&file));
    let plan_record = match something_open && !waits && is_reviewed {
        true => None,
        false => store.plan_record().ok(),
    };
    let Some(plan_record) = plan_record else {
        return Proved { tasks: Some(tasks), ..Proved::default() };
    };
    let unproved = plan_record.unproved(&file);
    let names = unproved.iter().map(|task| task.id.clone()).collect();
    let edits: Vec<TaskEdit> = unproved.into_iter().map(TaskEdit::Untick).collect();
    let tasks = Some(Arc::new(TaskEdit::apply_to(&edits, &file)));
    let questions = plan_record.questions().chain(file.questions()).collect();
    Proved { tasks, questions, unproved: names }
}

/// That these ticks count for nothing, in words.
fn unproved_in_words(tasks: &[String]) -> String {
    let (boxes, were, count) =
        if tasks.len() == 1 { ("box", "was", "counts") } else { ("boxes", "were", "count") };
    format!("{boxes} {} {were} ticked without a verdict and {count} as open", tasks.join(", "))
}

/// `session-start`: what the model should know of the active spec, and the person
/// of a loop that waits.
fn session_start(input: &HookCall<'_>) -> Option<String> {
    let note = note_on_active_spec(input);
    let told: Vec<String> =
        [loop_that_waits(input), nothing_to_commit_with(input), warning_of_namesakes(input)]
            .into_iter()
            .flatten()
            .collect();
    if told.is_empty() && input.host != Host::Gemini {
        return note;
    }
    let mut answer = json!({});
    if let Some(note) = note {
        answer["hookSpecificOutput"] =
            json!({"hookEventName": "SessionStart", "additionalContext": note});
    }
    if !told.is_empty() {
        answer["systemMessage"] = json!(told.join("\n"));
    }
    (answer != json!({})).then(|| answer.to_string())
}

/// For a session of Claude Code in a project with specs: whether another plugin
/// may take our plugin's place.
fn warning_of_namesakes(input: &HookCall<'_>) -> Option<String> {
    session::current()?;
    let warning = claude_config::namesakes(&project_of(input.world, &input.cwd)?.root)?;
    Some(format!("Ralph-specum: {warning}"))
}

/// Why nothing could be committed in the repository of the active spec, if so:
/// better known before the first task is given out.
fn nothing_to_commit_with(input: &HookCall<'_>) -> Option<String> {
    let (_, spec) = active_spec(input.world, &input.cwd)?;
    let tasks = Store::of(&spec).read_tasks().ok()??;
    tasks.file().open().next()?;
    let git = input.world.repositories.open(&spec.root).ok()?;
    let error = git.refuse_unable_to_commit().err()?;
    Some(format!("specum: nothing can be committed here: {error}"))
}

/// The line for a person who opens a session in a project where a loop of ours waits
/// without an owner.
fn loop_that_waits(input: &HookCall<'_>) -> Option<String> {
    let (_, spec) = active_spec(input.world, &input.cwd)?;
    let store = Store::of(&spec);
    let state = store.read_state()?.ok()?;
    let asker = Asker::session_or_person(input.session_id.as_deref());
    if !is_ours(&store, Some(&state))
        || owner::holder(&store, Some(&state), asker) != Holder::Nobody
    {
        return None;
    }
    let tasks = store.read_tasks().ok()??;
    let file = tasks.file();
    Some(stop::loop_waits(input.host, &spec.name, (file.done_count(), file.count())))
}

fn note_on_active_spec(input: &HookCall<'_>) -> Option<String> {
    if input.source.as_deref() == Some("resume") {
        break_off_calls(input);
    }
    let (project, spec) = active_spec(input.world, &input.cwd)?;
    let store = Store::of(&spec);
    if input.source.as_deref() == Some("clear") {
        take_over_cleared(input, &store);
    }
    let tasks = store.read_tasks().ok().flatten().unwrap_or_default();
    let file = tasks.file();
    let state = match store.read_state() {
        Some(Ok(state)) => Some(state),
        Some(Err(why)) => {
            let shown = &spec.shown;
            let command = prompt::implement(input.host);
            return Some(format!(
                "specum: the state of the active spec {} ({shown}/.ralph-state.json) is corrupt: \
                 {why}.\n{command} rebuilds it from tasks.md.\n",
                spec.name
            ));
        }
        None => None,
    };
    let asker = Asker::session_or_person(input.session_id.as_deref());
    let holder = owner::holder(&store, state.as_ref(), asker);
    let named = SpecName { name: &spec.name, path: &spec.shown };
    let scope = Scope::all(project.settings.max_parallel);
    let unit = state.as_ref().map_or(Unit::Complete, |state| machine::unit(state, &file, &scope));
    Some(prompt::session_note(input.host, named, state.as_ref(), &file, &unit, &holder))
}

/// A session that is resumed has no call under way: its host has ended since.
fn break_off_calls(input: &HookCall<'_>) {
    let Some(note) = input.session_id.as_deref().and_then(|id| Note::of(input.world, id)) else {
        return;
    };
    let Some((project, spec)) = noted_spec(input.world, &note.session_id) else { return };
    let Some(workspace) = agent::opened(&project, spec) else { return };
    let note = Note { background: Vec::new(), turn: None, ..note };
    let written = turn::break_off_calls(&workspace, &note).map_err(|error| error.to_string());
    let written = written.and_then(|()| note.write(input.world).map_err(|error| error.to_string()));
    if let Err(error) = written {
        log(&error);
    }
}

/// The session that a `/clear` opens goes on with what that `/clear` released.
fn take_over_cleared(input: &HookCall<'_>, store: &Store) {
    let memory = store.read_memory();
    let (Some(released), Some(session_id)) = (&memory.released, &input.session_id) else { return };
    let same_host = match (&released.process, input.world.launcher.host()) {
        (Some(before), Some(now)) => *before == now,
        _ => true,
    };
    // A loop of ours is worked on by those who ask for it, not by a session that comes
    // after them.
    let state = store.read_state().and_then(Result::ok);
    if !same_host || memory.owner.is_some() || is_ours(store, state.as_ref()) {
        return;
    }
    let after =
        Memory { owner: Some(owner::session(input.world, session_id)), ..Memory::default() };
    if let Err(error) = store.write_memory(&memory, &after) {
        log(&error.to_string());
    }
}

/// `session-end`: lets go of the spec.
///
/// Of every spec, not of the active one alone: the person may have switched
/// while the session worked another.
fn session_end(input: &HookCall<'_>) -> Option<String> {
    let session_id = input.session_id.as_deref()?;
    let cleared = input.reason.as_deref() == Some("clear");
    let noted = noted_spec(input.world, session_id).map(|(_, spec)| spec);
    let here = project_of(input.world, &input.cwd).map(|project| project.specs());
    let here = here.transpose().unwrap_or_else(|error| {
        log(&error.to_string());
        None
    });
    for spec in noted.into_iter().chain(here.unwrap_or_default()) {
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
    let Some(mine) = owners.into_iter().find(|owner| owner.is_session(session_id)) else {
        return;
    };
    let released = cleared
        .then(|| Released { session_id: session_id.to_owned(), process: mine.process().cloned() });
    let owner = before.owner.clone().filter(|owner| !owner.is_session(session_id));
    let after = Memory { owner, released, ..Memory::default() };
    // An empty memory is no file, so that the next claim is again the first.
    let written = match after == Memory::default() {
        true => store.forget_memory(),
        false => store.write_memory(&before, &after).map(|_| ()),
    };
    if let Err(error) = written {
        log(&error.to_string());
    }
    if in_state.is_some_and(|owner| owner.is_session(session_id))
        && let Err(error) = release_session(store, session_id)
    {
        log(&error.to_string());
    }
}
