//! The next piece of work: opened, with a brief for each executor.

use schemars::JsonSchema;
use serde::Serialize;
use specum_core::attempt::Attempt;
use specum_core::authoring::Due as Planned;
use specum_core::completion;
use specum_core::hook::Host;
use specum_core::line;
use specum_core::machine::Due;
use specum_core::prompt::{self, planning};
use specum_core::spec::Doc;
use specum_core::summary::Places;
use specum_core::verify::Role;

use super::caller::refuse_other_sessions;
use super::plan::{self, DueDocument, WaitingDocument};
use super::{Caller, LoopFile, OpError, summary};
use crate::attempt::{AttemptError, By, NextDocument, NextWork as Unit, Workspace};
use crate::ralph_loop;
use crate::session;

/// What is due.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "due", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum DueWork {
    /// One task, for one executor.
    Task {
        /// The task.
        tasks: Vec<DueTask>,
    },
    /// A check, for the qa-engineer.
    Verify {
        /// The task.
        tasks: Vec<DueTask>,
    },
    /// Several tasks at once, each for an executor of its own.
    Parallel {
        /// The tasks, in the order of the plan.
        tasks: Vec<DueTask>,
    },
    /// Nothing: every box is ticked and the loop has ended.
    Complete {
        /// The same for a person.
        message: String,
        /// The word that a session says then, alone on a line.
        say: String,
    },
    /// Nothing: the loop waits for `specum resume`.
    Paused(Wait),
    /// Nothing: a task has used its attempts.
    Blocked(Wait),
    /// Nothing: what is left waits for a person's word about a change of the plan.
    Waits(Wait),
    /// Nothing: all that is left was skipped by a person.
    ChosenDone(Wait),
    /// Nothing: a cap on attempts, time, tokens or dollars is reached.
    Capped(Wait),
    /// A document, for its author.
    Document {
        /// The document.
        document: DueDocument,
    },
    /// Nothing: a document waits for a person's approval.
    Approval {
        /// The document.
        approval: WaitingDocument,
        /// What a person can do.
        message: String,
    },
    /// Nothing: the plan is written and agreed to; a person has it worked.
    Planned(Wait),
    /// Nothing yet: a result is recorded, and the hook at the end of the turn
    /// judges it.
    Verdict {
        /// The task.
        task: String,
    },
}

/// A task that is due.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DueTask {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Which attempt this is, from 1; another round begins with 1 again.
    pub attempt: u64,
    /// Its place among all the attempts at the task, from 1.
    pub place: u64,
    /// The sub-agent that works it: `spec-executor` or `qa-engineer`.
    pub agent: String,
    /// The word that the executor says when it is done, alone on a line.
    pub signal: String,
    /// The lines of the task in `tasks.md`.
    pub block: String,
    /// Everything that the executor is to read.
    pub brief: String,
    /// Whether it has ended and waits for the others of its group.
    pub reported: bool,
    #[serde(skip)]
    role: Role,
}

/// Why nothing is due although boxes are open.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Wait {
    /// Why, and what a person can do.
    pub message: String,
    /// What became of the loop file of the Ralph Loop plugin, which would send its
    /// session back in vain; null without one.
    pub loop_file: Option<LoopFile>,
}

impl DueWork {
    /// The text for a coordinator: which sub-agents to call, or to stop. A task that
    /// has ended and waits for its neighbours is not called again.
    pub fn for_coordinator(&self) -> String {
        match self {
            DueWork::Task { tasks } | DueWork::Verify { tasks } | DueWork::Parallel { tasks } => {
                let due: Vec<prompt::DueTask<'_>> = tasks
                    .iter()
                    .filter(|task| !task.reported)
                    .map(|task| prompt::DueTask {
                        id: task.id.clone(),
                        title: &task.title,
                        role: task.role,
                        attempt: task.attempt,
                    })
                    .collect();
                prompt::due(&due)
            }
            DueWork::Complete { message, say } => {
                format!("{message} Say {say} alone on a line, and stop.\n")
            }
            DueWork::Document { document } => due_in_words(&document.document, Planned::Author),
            DueWork::Approval { approval, .. } => format!(
                "{}\n\n{}",
                approval.for_person(),
                due_in_words(&approval.document, Planned::Approve)
            ),
            DueWork::Paused(wait)
            | DueWork::Blocked(wait)
            | DueWork::Waits(wait)
            | DueWork::ChosenDone(wait)
            | DueWork::Planned(wait)
            | DueWork::Capped(wait) => {
                format!("{}\nTell the person, and stop.\n", wait.message)
            }
            DueWork::Verdict { task } => {
                format!("{task} waits for its verdict: end your turn, specum judges it then.")
            }
        }
    }

    /// Whether every box is ticked.
    pub fn is_complete(&self) -> bool {
        matches!(self, DueWork::Complete { .. })
    }
}

/// What a coordinator does about a document.
fn due_in_words(name: &str, due: impl FnOnce(Doc) -> Planned) -> String {
    Doc::named(name).map_or_else(String::new, |doc| planning::in_words(Host::Claude, due(doc)))
}

/// Opens what is due, for a caller in a shell. Asked twice without a result
/// in between, it gives the same attempts again.
pub fn next(caller: &Caller<'_>, workspace: &Workspace) -> Result<DueWork, OpError> {
    workspace.refuse_while_a_run_works()?;
    refuse_other_sessions(workspace)?;
    caller.hold_alone(workspace)?;
    if session::judged_by_hooks(workspace.world()).is_none() {
        // A verdict that a host's time limit cut off.
        workspace.judge_reported(By::Verb)?;
    } else if let Some((opened, _)) = workspace.reports()?.first() {
        return Ok(DueWork::Verdict { task: opened.key.id.clone() });
    }
    let next = open(workspace);
    caller.tell_news(workspace);
    next
}

/// Opens what is due.
pub fn open(workspace: &Workspace) -> Result<DueWork, OpError> {
    if plan::is_planned(workspace)? {
        return open_document(workspace);
    }
    Ok(match workspace.open_in_session()? {
        Unit::Work(attempts) => {
            let tasks = due_tasks(workspace, &attempts)?;
            match attempts.as_slice() {
                [Attempt { role: Role::QaEngineer, .. }] => DueWork::Verify { tasks },
                [_] => DueWork::Task { tasks },
                _ => DueWork::Parallel { tasks },
            }
        }
        Unit::Complete => complete(workspace)?,
        Unit::Wait(due) => {
            let loop_file = LoopFile::of(ralph_loop::end(&workspace.spec)?);
            let wait = Wait { message: prompt::waiting(&due), loop_file };
            match due {
                Due::Paused(_) => DueWork::Paused(wait),
                Due::Blocked(_) => DueWork::Blocked(wait),
                Due::Waits(_) => DueWork::Waits(wait),
                Due::ChosenDone { .. } => DueWork::ChosenDone(wait),
                Due::Capped | Due::Spent(_) | Due::Work(_) | Due::Complete => DueWork::Capped(wait),
            }
        }
    })
}

/// The same while the documents of a spec are written.
fn open_document(workspace: &Workspace) -> Result<DueWork, OpError> {
    let name = &workspace.spec.name;
    let wait = |message: String| Wait { message, loop_file: None };
    Ok(match workspace.open_document()? {
        NextDocument::Author(opened) => {
            DueWork::Document { document: plan::due_document(workspace, &opened)? }
        }
        NextDocument::Approve(doc) => {
            let file = doc.file();
            let approval = plan::waiting(workspace)?;
            let approval = approval.ok_or_else(|| AttemptError::NothingWaits(name.clone()))?;
            let message = format!(
                "{name}: {file} is written and waits for a person: `specum approve` in a terminal \
                 agrees to it, `specum change \"…\"` says what is to change."
            );
            DueWork::Approval { approval, message }
        }
        NextDocument::Fix(doc, why) => DueWork::Blocked(wait(format!(
            "{why}. A person fixes {}, then `specum resume` goes on with it.",
            doc.file()
        ))),
        NextDocument::Paused(why) => {
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            DueWork::Paused(wait(format!("{name} is paused{why}; `specum resume` goes on.")))
        }
        NextDocument::Planned => DueWork::Planned(wait(format!(
            "{name} is planned. `specum run {name}` works its tasks."
        ))),
    })
}

fn due_tasks(workspace: &Workspace, attempts: &[Attempt]) -> Result<Vec<DueTask>, OpError> {
    let ledger = workspace.store.ledger()?;
    let in_batch = workspace.in_batch()?;
    let places = Places::of_records(&workspace.store.read_journal()?);
    let due = |opened: &Attempt| {
        Ok(DueTask {
            id: opened.key.id.clone(),
            title: opened.key.title.clone(),
            attempt: opened.number,
            place: places.of(&opened.key, opened.number),
            agent: prompt::agent(opened.role).to_owned(),
            signal: opened.role.signal().to_owned(),
            block: line::readable(&opened.block),
            brief: workspace.brief(opened, attempts.len() > 1)?,
            reported: in_batch && ledger.reported(&opened.id).is_some(),
            role: opened.role,
        })
    };
    attempts.iter().map(due).collect()
}

/// The end of a loop. The Ralph Loop waits for a promise.
fn complete(workspace: &Workspace) -> Result<DueWork, OpError> {
    let commits = match &workspace.git {
        Ok(_) => "",
        Err(_) => " Nothing is committed: this is no git repository.",
    };
    let say = match workspace.store.ledger()?.has_promised() {
        true => completion::PROMISE,
        false => completion::ALL_TASKS_COMPLETE,
    };
    Ok(DueWork::Complete { message: format!("{}{commits}", prompt::ALL_DONE), say: say.to_owned() })
}

/// What became of a loop that is complete, in a line or two for a person.
pub fn completion(workspace: &Workspace) -> Result<String, OpError> {
    let summary = summary(&workspace.store)?;
    let unchecked = summary.proofs_in_words();
    let commits = match (&workspace.git, summary.commits) {
        (Err(_), _) => "nothing is committed, because there is no repository".to_owned(),
        (Ok(_), 1) => "1 commit".to_owned(),
        (Ok(_), commits) => format!("{commits} commits"),
    };
    let attempts = if summary.attempts == 1 { "attempt" } else { "attempts" };
    Ok(format!(
        "{} is complete: {} of {} tasks are done{unchecked}. {} {attempts}, {commits}. `specum log` \
         tells the whole story.",
        workspace.spec.name, summary.done, summary.total, summary.attempts
    ))
}
