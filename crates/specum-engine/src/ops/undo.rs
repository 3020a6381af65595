//! Taking a task's work out again: one new commit that reverts its files and opens its
//! box. History is never rewritten.

use schemars::JsonSchema;
use serde::Serialize;
use specum_core::journal::{Entry, Source};
use specum_core::machine::{self, Event};
use specum_core::tasks::{Task, TaskFile, short_title};

use super::{Caller, NewState, OpError};
use crate::attempt::{AttemptError, Workspace};
use crate::git::Merge;
use crate::ports::Repository;
use crate::runner;

/// A task whose work was taken out again.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Undo {
    /// The task.
    pub task: String,
    /// `undone`.
    pub state: NewState,
    /// The commit that was reverted; null if the task has none.
    pub reverted: Option<String>,
    /// The commit that reverts it; null if nothing of its work was left.
    pub commit: Option<String>,
    /// The files that are as they were before it.
    pub files: Vec<String>,
}

/// What is to be taken out, and how the tree looks without it.
struct Plan {
    /// The commit that is reverted.
    commit: String,
    /// HEAD without its work.
    tree: String,
    /// Where that differs from HEAD.
    paths: Vec<String>,
}

/// The largest file that is compared.
const MAX_FILE: u64 = 64 << 20;

/// Takes the newest commit of a task out again, and opens its box. Refused while
/// somebody works in the tree, and where later work stands on top of it.
pub fn undo(caller: &Caller<'_>, named: Option<&str>, address: &str) -> Result<Undo, OpError> {
    let source = caller.require_person("undo")?;
    let workspace = caller.workspace(named)?;
    let git = workspace.repository()?;
    let _alone = runner::alone_in_tree(&workspace)?;
    refuse_at_work(&workspace)?;
    workspace.complete_commits()?;
    let tasks = workspace.store.read_tasks()?;
    let tasks = tasks.ok_or_else(|| AttemptError::NoTasks(workspace.spec.shown.clone()))?;
    let file = tasks.file();
    let task = file.by_address(address).ok_or_else(|| AttemptError::NoTask(address.to_owned()))?;
    let plan = plan(&workspace, git, &file, task)?;
    refuse_changed(&workspace, git, &plan)?;
    open_box(&workspace, task, &plan.commit, source)?;
    let commit = take_out(&workspace, git, task, &plan)?;
    Ok(Undo {
        task: task.name(),
        state: NewState::Undone,
        reverted: Some(plan.commit),
        commit,
        files: plan.paths,
    })
}

/// A change made at this moment could not be told from what is taken out.
pub(super) fn refuse_at_work(workspace: &Workspace) -> Result<(), OpError> {
    workspace.refuse_while_a_run_works()?;
    let ledger = workspace.store.ledger()?;
    match ledger.calls_at_work().first().map(|call| call.task.id.clone()) {
        Some(id) => Err(OpError::NotFound(format!(
            "a session works on {id} in this tree; wait for its verdict, or interrupt it there"
        ))),
        None => Ok(()),
    }
}

fn plan(
    workspace: &Workspace,
    git: &dyn Repository,
    file: &TaskFile<'_>,
    task: &Task,
) -> Result<Plan, OpError> {
    let id = task.name();
    let ledger = workspace.store.ledger()?;
    let commit = match ledger.commit_of(&id) {
        Some(Some(commit)) => commit.to_owned(),
        Some(None) => {
            return Err(OpError::NotFound(format!(
                "{id} has changed nothing, so there is no commit to undo; `specum retry {id}` \
                 opens its box"
            )));
        }
        None => {
            return Err(OpError::NotFound(format!(
                "no commit of {id} is on record; `git log --grep \"Task: {id}\"` finds it if \
                 there is one, and `git revert` takes it out"
            )));
        }
    };
    let head = git.head().unwrap_or_default();
    if !git.descends(&head, &commit)? {
        return Err(OpError::NotFound(format!(
            "{commit}, the commit of {id}, is not part of what is checked out"
        )));
    }
    let Some(before) = git.parent_of(&commit) else {
        return Err(OpError::NotFound(format!(
            "{commit} is the first commit there is; nothing stands before it"
        )));
    };
    let own = workspace.spec_files(git);
    let mut of_task = git.changed_between(&before, &commit)?;
    of_task.retain(|path| !own.contains(path));
    let without = git.overlay(&commit, &before, &of_task)?;
    let without = git.commit_tree(&without, Some(&commit), "undo")?;
    match git.merge(&without)? {
        Merge::Clean(tree) => Ok(Plan { paths: git.differing(&tree)?, commit, tree }),
        Merge::Conflict { paths, .. } => {
            let later = later_tasks(workspace, git, file, (&id, &commit), &paths)?;
            let later = match later.is_empty() {
                true => "later commits".to_owned(),
                false => later.join(", "),
            };
            Err(OpError::NotFound(format!(
                "{id} cannot be taken out: {later} changed the same lines of {}; undo {later} \
                 first, or take it out by hand with `git revert {commit}`",
                paths.join(", ")
            )))
        }
    }
}

/// The tasks whose commits came later and changed one of these files.
fn later_tasks(
    workspace: &Workspace,
    git: &dyn Repository,
    file: &TaskFile<'_>,
    (id, commit): (&str, &str),
    paths: &[String],
) -> Result<Vec<String>, OpError> {
    let ledger = workspace.store.ledger()?;
    let mut later = Vec::new();
    for other in file.tasks.iter().map(Task::name).filter(|other| other != id) {
        let Some(Some(theirs)) = ledger.commit_of(&other) else { continue };
        let Some(before) = git.parent_of(theirs) else { continue };
        if git.descends(theirs, commit)?
            && git.changed_between(&before, theirs)?.iter().any(|path| paths.contains(path))
        {
            later.push(other);
        }
    }
    Ok(later)
}

fn refuse_changed(workspace: &Workspace, git: &dyn Repository, plan: &Plan) -> Result<(), OpError> {
    let mut changed = Vec::new();
    for path in git.changed()?.into_iter().filter(|path| plan.paths.contains(path)) {
        if !is_taken_out(workspace, git, plan, &path)? {
            changed.push(path);
        }
    }
    if !changed.is_empty() {
        return Err(OpError::NotFound(format!(
            "{} has changes that are not committed; commit or stash them first",
            changed.join(", ")
        )));
    }
    // What git ignores it would overwrite without a word.
    let taken = git.in_the_way(&git.head().unwrap_or_default(), &plan.tree, &[])?;
    match taken.is_empty() {
        true => Ok(()),
        false => Err(OpError::NotFound(format!(
            "something that git does not track lies where {} is to be again; move it away first",
            taken.join(", ")
        ))),
    }
}

/// Whether a file is as it was before the work: an undo that was killed ahead of its commit
/// has left it so.
fn is_taken_out(
    workspace: &Workspace,
    git: &dyn Repository,
    plan: &Plan,
    path: &str,
) -> Result<bool, OpError> {
    let meant = git.file_at(&plan.tree, path)?;
    let now = workspace.world().disk.read_if_there(&git.root().join(path), MAX_FILE);
    // What cannot be read is somebody else's.
    Ok(now.is_ok_and(|now| now == meant))
}

fn open_box(
    workspace: &Workspace,
    task: &Task,
    commit: &str,
    source: Source,
) -> Result<(), OpError> {
    if !workspace.store.has_state() {
        let locked = workspace.store.lock()?;
        return Ok(locked.open_boxes(&[task.key()])?);
    }
    let (locked, view) = workspace.enter_for_a_person()?;
    let none = || AttemptError::NoLoop(workspace.spec.name.clone());
    let state = view.state.as_ref().ok_or_else(none)?;
    let file = view.file();
    let gone = || AttemptError::NoTask(task.name());
    let task = file.tasks.iter().find(|now| now.is_named(&task.name())).ok_or_else(gone)?;
    let step = machine::step(state, &file, Event::Undo { index: task.index });
    locked.speaks_for(source);
    let entry = Entry::Undone { task: task.key(), commit: commit.to_owned() };
    Ok(locked.write_step(entry, &step)?)
}

/// Commits the tree without the work, with the box that is open again.
fn take_out(
    workspace: &Workspace,
    git: &dyn Repository,
    task: &Task,
    plan: &Plan,
) -> Result<Option<String>, OpError> {
    git.put_in(&plan.tree)?;
    let mut paths = plan.paths.clone();
    paths.extend(workspace.spec_files_to_commit(git)?);
    let (spec, id, title) = (&workspace.spec.name, task.name(), short_title(&task.title));
    let message = format!(
        "revert({spec}): {id} {title}\n\nThis reverts commit {}.\n\nSpec: {spec}\nUndone: {id}\n",
        plan.commit
    );
    match git.commit(&paths, &message) {
        Ok(committed) => Ok(committed.id),
        Err(error) => {
            // The work stays until it can be taken out by a commit.
            git.take_out(&plan.paths)?;
            Err(error.into())
        }
    }
}
