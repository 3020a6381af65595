//! What a person says to the work while it goes on: a note, once more, not this one.

use schemars::JsonSchema;
use serde::Serialize;
use specum_core::brief::MAX_NOTE;
use specum_core::journal::{Entry, Source};
use specum_core::machine::{self, Event};
use specum_core::owner::{Asker, Holder, Owner};
use specum_core::state::{PauseAfter, State};
use specum_core::tasks::{Task, TaskFile};

use super::caller::holder;
use super::{Caller, NewState, OpError, stale};
use crate::attempt::{AttemptError, Workspace};
use crate::store::{Locked, View};

/// A person's note for the agents that work from now on, or one taken back.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Note {
    /// The spec.
    #[serde(rename = "spec")]
    pub name: String,
    /// The task; null for every one.
    pub task: Option<String>,
    /// `noted` or `withdrawn`.
    pub state: NewState,
}

/// A task that is passed over from now on, or no longer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Skip {
    /// The task.
    pub task: String,
    /// `skipped` or `unskipped`.
    pub state: NewState,
    /// Whether it was so before.
    pub already: bool,
    /// Whether an attempt that was under way is ended.
    pub ended: bool,
}

/// A task that is worked on once more.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Retry {
    /// The task.
    pub task: String,
    /// `retried`.
    pub state: NewState,
    /// Whether its box was ticked, and is open now.
    pub reopened: bool,
    /// Whether an attempt that was under way is ended.
    pub ended: bool,
    /// Whether a loop is under way that works on it.
    pub has_loop: bool,
}

/// A phase that the loop may work on.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Approve {
    /// The spec.
    #[serde(rename = "spec")]
    pub name: String,
    /// `approved`.
    pub state: NewState,
    /// The phase, by its heading.
    pub phase: String,
}

/// Which notes are meant.
#[derive(Debug, Clone, Copy)]
pub enum About<'a> {
    /// Those about this task.
    Task(&'a str),
    /// Those about every task.
    Every,
}

/// A loop that a person says something to, and the task that it is about.
struct Said<'w> {
    workspace: &'w Workspace,
    locked: Locked<'w>,
    view: View,
    source: Source,
}

impl<'w> Said<'w> {
    fn to(workspace: &'w Workspace, source: Source) -> Result<Said<'w>, OpError> {
        let (locked, view) = workspace.enter_for_a_person()?;
        if view.state.is_none() {
            return Err(AttemptError::NoLoop(workspace.spec.name.clone()).into());
        }
        Ok(Said { workspace, locked, view, source })
    }

    fn state(&self) -> &State {
        self.view.state.as_ref().expect("there is a loop")
    }

    fn file(&self) -> TaskFile<'_> {
        self.view.file()
    }

    fn write(&self, entry: Entry, event: Event) -> Result<(), OpError> {
        self.locked.speaks_for(self.source);
        let step = machine::step(self.state(), &self.file(), event);
        self.locked.write_step(entry, &step)?;
        Ok(self.workspace.record_fixes(&self.locked, &step)?)
    }

    fn record(&self, entry: Entry) -> Result<(), OpError> {
        self.locked.speaks_for(self.source);
        Ok(self.locked.record(entry)?)
    }
}

fn task_of(file: &TaskFile<'_>, address: &str) -> Result<Task, OpError> {
    let task = file.by_address(address).ok_or_else(|| AttemptError::NoTask(address.to_owned()));
    Ok(task?.clone())
}

/// What a note says, and how that comes here.
pub enum NoteText<'n> {
    /// Behind the verb.
    Typed(String),
    /// On standard input, which is read once the task is found.
    Piped(&'n dyn Fn() -> Result<String, OpError>),
}

/// Adds a note for the agents that work on a task from now on, or on any.
pub fn note(
    caller: &Caller<'_>,
    named: Option<&str>,
    about: About<'_>,
    text: NoteText<'_>,
) -> Result<Note, OpError> {
    let source = match &text {
        NoteText::Typed(_) => caller.require_person("note")?,
        NoteText::Piped(_) => caller.require_person_with_input("note")?,
    };
    let workspace = caller.workspace(named)?;
    let said = Said::to(&workspace, source)?;
    let task = key_of(&said, about)?;
    let text = match text {
        NoteText::Typed(text) => text,
        NoteText::Piped(read) => read()?,
    };
    let text = text.trim();
    if text.is_empty() {
        return Err(OpError::Usage("the note is empty; say something behind the task".into()));
    }
    if text.len() > MAX_NOTE {
        let long = text.len();
        return Err(OpError::Usage(format!(
            "the note has {long} bytes, and an agent is told at most {MAX_NOTE}; write the rest \
             into a file and name it"
        )));
    }
    let name = task.as_ref().map(|task| task.id.clone());
    said.record(Entry::Noted { task, text: text.to_owned() })?;
    Ok(Note { name: workspace.spec.name.clone(), task: name, state: NewState::Noted })
}

/// Takes back what was noted.
pub fn withdraw_note(
    caller: &Caller<'_>,
    named: Option<&str>,
    about: About<'_>,
) -> Result<Note, OpError> {
    let source = caller.require_person("note")?;
    let workspace = caller.workspace(named)?;
    let said = Said::to(&workspace, source)?;
    let task = key_of(&said, about)?;
    let name = task.as_ref().map(|task| task.id.clone());
    said.record(Entry::NoteWithdrawn { task })?;
    Ok(Note { name: workspace.spec.name.clone(), task: name, state: NewState::Withdrawn })
}

fn key_of(
    said: &Said<'_>,
    about: About<'_>,
) -> Result<Option<specum_core::tasks::TaskKey>, OpError> {
    match about {
        About::Task(address) => Ok(Some(task_of(&said.file(), address)?.key())),
        About::Every => Ok(None),
    }
}

/// Has a task passed over. Its box stays open.
pub fn skip(caller: &Caller<'_>, named: Option<&str>, address: &str) -> Result<Skip, OpError> {
    let source = caller.require_person("skip")?;
    let workspace = caller.workspace(named)?;
    let said = Said::to(&workspace, source)?;
    let task = task_of(&said.file(), address)?;
    if task.done {
        let id = task.name();
        return Err(OpError::NotFound(format!("{id} is done; there is nothing to skip")));
    }
    let ended = is_in_a_run(&workspace, &task)?;
    let already = said.state().is_skipped(&task);
    if !already {
        said.write(Entry::Skipped { task: task.key() }, Event::Skip { index: task.index })?;
    }
    Ok(Skip { task: task.name(), state: NewState::Skipped, already, ended: ended && !already })
}

/// Has a task worked on after all.
pub fn unskip(caller: &Caller<'_>, named: Option<&str>, address: &str) -> Result<Skip, OpError> {
    let source = caller.require_person("unskip")?;
    let workspace = caller.workspace(named)?;
    let said = Said::to(&workspace, source)?;
    let task = task_of(&said.file(), address)?;
    let already = !said.state().is_skipped(&task);
    if !already {
        said.write(Entry::Unskipped { task: task.key() }, Event::Unskip { index: task.index })?;
    }
    Ok(Skip { task: task.name(), state: NewState::Unskipped, already, ended: false })
}

/// Has a task worked on once more: a box that is ticked is opened, an attempt that is
/// under way in a run is ended, and one that failed has all its attempts again.
/// Without a loop the box is all there is.
pub fn retry(caller: &Caller<'_>, named: Option<&str>, address: &str) -> Result<Retry, OpError> {
    let source = caller.require_person("retry")?;
    let workspace = caller.workspace(named)?;
    let retry = match workspace.store.has_state() {
        true => retry_in_loop(&workspace, source, address)?,
        false => reopen(&workspace, address)?,
    };
    // What it is done by from now on is what stands there now.
    stale::accept(caller, &workspace.spec, &retry.task)?;
    Ok(retry)
}

fn retry_in_loop(workspace: &Workspace, source: Source, address: &str) -> Result<Retry, OpError> {
    let said = Said::to(workspace, source)?;
    let task = task_of(&said.file(), address)?;
    let ended = is_in_a_run(workspace, &task)?;
    said.write(Entry::Retried { task: task.key() }, Event::Retry { index: task.index })?;
    Ok(Retry {
        task: task.name(),
        state: NewState::Retried,
        reopened: task.done,
        ended,
        has_loop: true,
    })
}

fn reopen(workspace: &Workspace, address: &str) -> Result<Retry, OpError> {
    let locked = workspace.store.lock()?;
    let tasks = workspace.store.read_tasks()?;
    let tasks = tasks.ok_or_else(|| AttemptError::NoTasks(workspace.spec.shown.clone()))?;
    let task = task_of(&tasks.file(), address)?;
    if task.done {
        locked.open_boxes(&[task.key()])?;
    }
    let reopened = task.done;
    let (task, state) = (task.name(), NewState::Retried);
    Ok(Retry { task, state, reopened, ended: false, has_loop: false })
}

/// Lets the loop go on to the phase that waits for it.
pub(super) fn approve_phase(workspace: &Workspace, source: Source) -> Result<Approve, OpError> {
    let said = Said::to(workspace, source)?;
    let Some(phase) = said.state().waiting_for.clone() else {
        return Err(OpError::NotFound("no phase waits for your approval".into()));
    };
    said.write(Entry::Approved { phase: phase.clone() }, Event::Approve)?;
    Ok(Approve { name: workspace.spec.name.clone(), state: NewState::Approved, phase })
}

/// Has the loop wait once the task, or the phase, that is worked on is over.
pub(super) fn pause_after(
    caller: &Caller<'_>,
    workspace: &Workspace,
    wants_phase: bool,
) -> Result<PauseAfter, OpError> {
    let said = Said::to(workspace, caller.who("pause"))?;
    let after = match wants_phase {
        true => PauseAfter::Phase(machine::phase_under_way(said.state(), &said.file())),
        false => PauseAfter::Task,
    };
    said.write(Entry::PauseAsked { after: after.clone() }, Event::PauseAfter(after.clone()))?;
    Ok(after)
}

/// Whether an attempt at a task is under way in a run, which ends it. One in a session
/// is nobody's to end from outside.
fn is_in_a_run(workspace: &Workspace, task: &Task) -> Result<bool, OpError> {
    let ledger = workspace.store.ledger()?;
    let id = task.name();
    let is_called = ledger.calls_at_work().iter().any(|call| call.task.id == id);
    let is_at_work = ledger.at_work().contains(&id.as_str());
    match holder(&workspace.store, Asker::Person) {
        Holder::Other(Owner::Runner { .. }) => Ok(is_at_work),
        Holder::Other(Owner::Session { session_id, .. })
            if is_called || (is_at_work && ledger.was_held_by(&session_id)) =>
        {
            Err(OpError::NotFound(format!(
                "a session works on {id}, and nobody can end that from outside; interrupt it \
                 there, or wait for its verdict"
            )))
        }
        Holder::Other(Owner::Session { .. }) | Holder::Nobody | Holder::Me => Ok(false),
    }
}
