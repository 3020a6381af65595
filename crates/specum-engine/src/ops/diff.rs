//! What an attempt at a task has changed.

use std::collections::HashMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use specum_core::summary::{Attempt, AttemptResult, Kept, LineCounts, Summary, TaskSummary};

use super::log::no_attempt;
use super::{Caller, Log, OpError};
use crate::git::{self, ChangedFile, Git};
use crate::ports::Repository;
use crate::store::Store;

/// What an attempt at a task has changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Diff {
    /// The spec.
    pub spec: String,
    /// The task.
    pub task: String,
    /// Which attempt it was, by its place, from 1.
    pub place: u64,
    /// Whether it has passed.
    pub passed: bool,
    /// The commit that holds its work.
    pub commit: String,
    /// The reference that keeps this commit, if it is on no branch.
    pub kept: Option<String>,
    /// The files that it changed, those of the spec left out.
    pub files: Vec<FileChange>,
    /// The spec's own files, which are left out.
    #[serde(skip)]
    own: Vec<String>,
    #[serde(skip)]
    root: PathBuf,
}

/// A file that was changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileChange {
    /// Where it is, from the root of the repository.
    pub path: String,
    /// How many lines were added; null if it is no text.
    pub added: Option<u64>,
    /// How many lines were removed; null if it is no text.
    pub removed: Option<u64>,
}

/// How much was changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Changes {
    /// How many files.
    pub files: u64,
    /// How many lines were added.
    pub added: u64,
    /// How many lines were removed.
    pub removed: u64,
}

/// What an attempt has changed; without a place that of the attempt that has passed, or
/// of the last one that is kept.
pub fn diff(
    caller: &Caller<'_>,
    named: Option<&str>,
    task: &str,
    place: Option<u64>,
) -> Result<Diff, OpError> {
    let log = super::log(caller, named)?;
    let (task, summary) = log.task_and_summary(&log.id_of(task)?)?;
    let store = Store::of(&log.spec);
    let git = store.world.repositories.open(&log.spec.dir)?;
    let own = own_files(&store, &*git);
    let is_there = |reference: &str| git.references(reference).is_ok_and(|found| !found.is_empty());
    let kept_of = |attempt: &Attempt| -> Option<&Kept> {
        let of_attempt = |kept: &&Kept| kept.task == task.id && kept.place == attempt.place;
        summary.kept.iter().rev().filter(of_attempt).find(|kept| is_there(&kept.reference))
    };
    let attempt = chosen(&task, place, &kept_of)?;
    let (commit, kept) = match (&attempt.commit, kept_of(attempt)) {
        (Some(commit), _) => (commit.clone(), None),
        (None, Some(kept)) => (resolved(&log, &kept.reference)?, Some(kept.reference.clone())),
        (None, None) => return Err(OpError::NotFound(nothing(&task, attempt))),
    };
    let mut changed = git.changed_in(&[&commit])?.remove(&commit).unwrap_or_default();
    changed.retain(|file| !own.contains(&file.path));
    Ok(Diff {
        spec: log.spec.name,
        task: task.id.clone(),
        place: attempt.place,
        passed: attempt.result == AttemptResult::Passed,
        commit,
        kept,
        files: changed.into_iter().map(FileChange::from).collect(),
        own,
        root: git.root().to_owned(),
    })
}

impl Diff {
    /// Shows it on standard output as git would.
    pub fn show(&self) -> Result<(), OpError> {
        Ok(Git::at(self.root.clone()).show(&self.commit, &self.own)?)
    }
}

impl From<ChangedFile> for FileChange {
    fn from(file: ChangedFile) -> FileChange {
        let (added, removed) = file.lines.unzip();
        FileChange { path: file.path, added, removed }
    }
}

/// The attempt that is meant.
fn chosen<'t>(
    task: &'t TaskSummary,
    place: Option<u64>,
    kept_of: &dyn Fn(&Attempt) -> Option<&'t Kept>,
) -> Result<&'t Attempt, OpError> {
    let mut newest_first = task.attempts.iter().rev();
    let found = match place {
        Some(place) => newest_first.find(|attempt| attempt.place == place),
        None => newest_first
            .clone()
            .find(|attempt| attempt.commit.is_some())
            .or_else(|| newest_first.clone().find(|attempt| kept_of(attempt).is_some()))
            .or_else(|| newest_first.find(|attempt| attempt.result != AttemptResult::Open))
            .or(task.attempts.last()),
    };
    found.ok_or_else(|| OpError::NotFound(no_attempt(task, place.unwrap_or(1))))
}

/// Why there is nothing to be shown of an attempt, and where its work is.
fn nothing(task: &TaskSummary, attempt: &Attempt) -> String {
    let which = format!("attempt {} at {}", attempt.place, task.id);
    let judged = task.attempts.iter().filter(|one| one.result != AttemptResult::Open);
    let is_last = judged.map(|one| one.place).next_back() == Some(attempt.place);
    let files = attempt.changed.join(", ");
    match attempt.result {
        AttemptResult::Passed if !attempt.went_to_git => {
            format!("{which} passed where there was no git repository, so nothing keeps its work")
        }
        AttemptResult::Passed => format!("{which} passed and changed no files"),
        AttemptResult::Open => {
            format!("{which} has no verdict yet; `git diff` shows what is in your tree")
        }
        _ if attempt.changed.is_empty() => format!("{which} left no files changed"),
        _ if is_last && !task.done => {
            format!("what {which} changed is still in your tree: {files}; `git diff` shows it")
        }
        _ => format!(
            "what {which} changed is not kept apart, because the next attempt went on from there: \
             {files}; `specum diff {}` shows what became of it",
            task.id
        ),
    }
}

fn resolved(log: &Log, reference: &str) -> Result<String, OpError> {
    Ok(Git::open(&log.spec.dir)?.commit_at(reference)?)
}

/// The spec's own files that a task's commit holds.
pub(super) fn own_files(store: &Store, git: &dyn Repository) -> Vec<String> {
    let paths = [store.tasks_path(), store.progress_path()];
    paths.iter().filter_map(|path| path.strip_prefix(git.root()).ok()).map(git::shown).collect()
}

/// Counts the files and lines that each attempt of a summary has changed, with one look
/// at the repository. Without a repository nothing is counted.
pub(super) fn count(store: &Store, summary: &mut Summary) {
    let attempts = || summary.tasks.iter().flat_map(|task| &task.attempts);
    let commits: Vec<&str> = attempts().filter_map(|one| one.commit.as_deref()).collect();
    if commits.is_empty() {
        return;
    }
    let Some((own, changed)) = changed_in(store, &commits) else { return };
    for attempt in summary.tasks.iter_mut().flat_map(|task| &mut task.attempts) {
        let files = attempt.commit.as_ref().and_then(|commit| changed.get(commit));
        attempt.changes = files.map(|files| counts(files, &own));
    }
}

/// The same for one commit.
pub(super) fn count_commit(store: &Store, commit: &str) -> Option<Changes> {
    let (own, changed) = changed_in(store, &[commit])?;
    let LineCounts { files, added, removed } = counts(changed.get(commit)?, &own);
    Some(Changes { files, added, removed })
}

type Changed = HashMap<String, Vec<ChangedFile>>;

/// What was changed, and which of it is the spec's own. A commit that is gone, because
/// somebody has rewritten the history, is not counted.
pub(super) fn changed_in(store: &Store, commits: &[&str]) -> Option<(Vec<String>, Changed)> {
    let git = store.world.repositories.open(store.tasks_path().parent()?).ok()?;
    Some((own_files(store, &*git), git.changed_in(commits).ok()?))
}

fn counts(files: &[ChangedFile], own: &[String]) -> LineCounts {
    let mut counts = LineCounts::default();
    for file in files.iter().filter(|file| !own.contains(&file.path)) {
        let (added, removed) = file.lines.unwrap_or_default();
        counts.files += 1;
        counts.added = counts.added.saturating_add(added);
        counts.removed = counts.removed.saturating_add(removed);
    }
    counts
}
