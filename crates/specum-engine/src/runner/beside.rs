//! A group: each task in a worktree of its own, beside the user's tree, and
//! then, one after another in the order of the plan, on top of the others'.
//!
//! What has passed in its worktree is kept as a commit under a reference until
//! it is in the user's tree, so nothing is lost on the way. What does not fit
//! there, because the files conflict or because the check fails on top of the
//! others' work, is set aside and done again alone; that is no failed attempt.
//! Of the spec's folder, specum's own files are not taken from a worktree, but for
//! the notes of its executor.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use specum_core::agent::{Report, Trouble};
use specum_core::attempt::{Attempt, ReadyWork};
use specum_core::brief;
use specum_core::digest::Digest;
use specum_core::event::Outcome;
use specum_core::journal::Entry;
use specum_core::line;
use specum_core::verify::{CheckRun, ProcessEnd};

use super::executor::{AgentWork, Executor, WorkSite};
use super::{RunError, recover};
use crate::attempt::{self, AttemptError, By, Workspace, Worktree};
use crate::files::{self, FileError};
use crate::git::{Git, Merge};
use crate::logs;
use crate::names::{note_of, ready_reference, worktrees_dir};
use crate::os;
use crate::process;
use crate::project::Spec;

/// How long `worktree_setup` may take: it may install dependencies.
const SETUP_LIMIT: Duration = Duration::from_secs(30 * 60);
/// How much of a conflict the next attempt is shown.
const SHOWN_CONFLICT: usize = 8 * 1024;
/// The largest file whose content is compared; of a larger one its size and time.
const MAX_COMPARED: u64 = 64 * 1024 * 1024;
/// The longest document of a plan that a worktree gets a copy of.
const MAX_DOCUMENT: u64 = 4 * 1024 * 1024;
/// The longest path of a spec worth reading.
const MAX_PLACE: u64 = 64 * 1024;
/// The variable that tells `worktree_setup` where the user's tree is.
const PROJECT: &str = "SPECUM_PROJECT";

/// A spec whose folder was moved since a run of it was killed.
pub(super) struct MovedProject {
    /// Where it was.
    pub(super) place: PathBuf,
    /// Where the worktrees of that time may lie.
    pub(super) worktrees: PathBuf,
}

/// Where a spec of this name was that is there no more. It need not be this one:
/// only worktrees of this repository are.
pub(super) fn moved(spec: &Spec) -> Vec<MovedProject> {
    let Some(own) = worktrees_dir(spec) else { return Vec::new() };
    let same_name = format!("{}-", logs::plain(&spec.name));
    let entries = own.parent().and_then(|all| fs::read_dir(all).ok()).into_iter().flatten();
    let folders = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    folders
        .filter(|path| *path != own)
        .filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&same_name))
        })
        .filter_map(|worktrees| {
            let place = files::read(&note_of(&worktrees), MAX_PLACE).ok()?;
            let place = PathBuf::from(os::text(&place));
            (!place.exists()).then_some(MovedProject { place, worktrees })
        })
        .collect()
}

/// The name of the directory in which an attempt is worked.
pub(super) fn worktree_name(opened: &Attempt) -> String {
    format!("{}-{}", logs::plain(&opened.key.id), opened.number)
}

/// Whether a directory is still a worktree: an agent may have deleted it, or
/// what makes it one.
pub(super) fn is_worktree(path: &Path) -> bool {
    path.join(".git").exists()
}

/// What was changed in a worktree since it was made. Of the spec's folder it has a
/// copy, in which specum's own files, and what is as it was copied, are no work.
pub(super) fn changed_in(
    git: &Git,
    base: &str,
    workspace: &Workspace,
) -> Result<Vec<String>, RunError> {
    let mut changed = git.changed()?;
    changed.extend(git.changed_since(base)?);
    changed.sort();
    changed.dedup();
    let root = &workspace.repository()?.root;
    let plan = workspace.spec.dir.strip_prefix(root).unwrap_or(Path::new("."));
    let is_copy = |path: &str| {
        let (here, there) = (Git::at(root.clone()).file(path), git.file(path));
        Path::new(path).starts_with(plan) && content(&here) == content(&there)
    };
    changed.retain(|path| {
        !is_of_specum(Path::new(path), plan) && !crate::git::is_own_file(path) && !is_copy(path)
    });
    Ok(changed)
}

/// Whether a path is one of the files of a spec that specum writes itself.
fn is_of_specum(path: &Path, plan: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    path.parent() == Some(plan)
        && (name == "tasks.md"
            || (name.starts_with(".progress") && name.ends_with(".md"))
            || name.starts_with(".ralph"))
}

/// What tells the content of a file from another; `None` if there is none.
fn content(path: &Path) -> Option<String> {
    match files::read(path, MAX_COMPARED) {
        Ok(bytes) => Some(Digest::of(&bytes).hex()),
        Err(_) => {
            let file = path.symlink_metadata().ok()?;
            Some(format!("{} bytes, {:?}", file.len(), file.modified().ok()))
        }
    }
}

/// What became of a task beside the tree.
pub(super) enum Beside {
    /// It has passed there, and this commit holds it. The check is the one that it has
    /// passed, unless that was in an earlier run.
    Ready { report: Report, commit: String, check: Option<CheckRun> },
    /// It has its verdict; perhaps the run ends for it.
    Ended(Option<Outcome>),
    /// Everybody stops.
    Stopped,
}

impl Executor<'_> {
    /// Works a group. An outcome ends the run.
    pub(super) fn work_group(&self, group: &[Attempt]) -> Result<Option<Outcome>, RunError> {
        if let [_, _, ..] = group {
            let tasks = group.iter().map(|opened| opened.key.clone()).collect();
            self.workspace.store.lock()?.record(Entry::GroupStarted { tasks })?;
        }
        let mut outcome = None;
        let mut failure = None;
        thread::scope(|scope| {
            let workers: Vec<_> = group
                .iter()
                .enumerate()
                .map(|(slot, opened)| {
                    let executor = self.clone();
                    let work = move || executor.work_beside(slot, opened);
                    thread::Builder::new().spawn_scoped(scope, work).map_err(RunError::Thread)
                })
                .collect();
            // In the order of the plan; those behind may still be at work.
            for (opened, worker) in group.iter().zip(workers) {
                let ended =
                    worker.and_then(|worker| worker.join().expect("a worker does not panic"));
                if failure.is_some() {
                    // What lies undecided in the tree is taken out first; until
                    // then nothing is put on top of it.
                    continue;
                }
                let took_in = ended.and_then(|ended| match self.options.isolate {
                    true => self.take_in(opened, ended),
                    false => self.bring_in(opened, ended),
                });
                match took_in {
                    Ok(None) => {}
                    Ok(Some(ends)) => outcome = outcome.take().or(Some(ends)),
                    Err(error) => failure = Some(error),
                }
            }
        });
        let Some(error) = failure else { return Ok(outcome) };
        recover::take_out_undecided(self.workspace)?;
        Err(error)
    }

    fn work_beside(&self, slot: usize, opened: &Attempt) -> Result<Beside, RunError> {
        if let Some(ready) = self.ready(opened)? {
            return Ok(ready);
        }
        let Some(worktree) = self.prepare(opened)? else { return Ok(Beside::Stopped) };
        let place =
            WorkSite { slot, root: &worktree.root, at: brief::WorkPlace::Beside, shown: None };
        let ended = self.work_in(&worktree, &place, opened);
        if self.stop.get().is_some() {
            // A run that is stopped keeps what it finds there.
            return ended;
        }
        if ended.is_err() && worktree.is_there(self.workspace)? {
            let kept = worktree
                .changed(self.workspace)
                .and_then(|changed| Ok(self.workspace.keep(&worktree.git, opened, &changed)?));
            if kept.is_err() {
                // What is kept nowhere stays where it is.
                return ended.map_err(|error| error.in_worktree(&worktree.git.root));
            }
        }
        worktree.remove(self.workspace)?;
        ended
    }

    /// What has passed in a worktree in an earlier run.
    pub(super) fn ready(&self, opened: &Attempt) -> Result<Option<Beside>, RunError> {
        let ledger = self.workspace.store.ledger()?;
        Ok(ledger.ready(&opened.id).map(|ReadyWork { result, commit }| {
            let report = Report { result: result.to_owned(), ..Report::default() };
            Beside::Ready { report, commit: commit.to_owned(), check: None }
        }))
    }

    /// A worktree for an attempt; none if everybody stops.
    fn prepare(&self, opened: &Attempt) -> Result<Option<PreparedWorktree>, RunError> {
        let worktree =
            PreparedWorktree::add(self.workspace, &worktree_name(opened), opened.base())?;
        if self.options.worktree_setup.is_none() {
            return Ok(Some(worktree));
        }
        if let Err(error) = self.set_up(&worktree) {
            worktree.remove(self.workspace)?;
            return Err(error);
        }
        if self.stop.get().is_some() {
            return Ok(None);
        }
        Ok(Some(worktree.once_prepared()?))
    }

    /// Runs `worktree_setup`, if there is one. It may have been ended because everybody
    /// stops, which is no failure.
    pub(super) fn set_up(&self, worktree: &PreparedWorktree) -> Result<(), RunError> {
        let Some(setup) = &self.options.worktree_setup else { return Ok(()) };
        let project = (PROJECT, self.workspace.spec.root.as_os_str());
        let run = process::shell_with(setup, &worktree.root, SETUP_LIMIT, &[project]);
        if run.ended == ProcessEnd::Code(0) || self.stop.get().is_some() {
            return Ok(());
        }
        let output = String::from_utf8_lossy(&run.output).into_owned();
        let how = match run.ended {
            ProcessEnd::Code(code) => format!("code {code}"),
            ProcessEnd::Signal(signal) => format!("signal {signal}"),
            ProcessEnd::TimedOut(seconds) => format!("not done within {seconds} s"),
            ProcessEnd::NotStarted(why) => why,
        };
        Err(RunError::Setup { how, output: line::tail(&output, 4096).to_owned() })
    }

    pub(super) fn work_in(
        &self,
        worktree: &PreparedWorktree,
        place: &WorkSite<'_>,
        opened: &Attempt,
    ) -> Result<Beside, RunError> {
        let (report, failed) = match self.run_agent(opened, place)? {
            AgentWork::Answered(report) => (report, None),
            AgentWork::Stopped => return Ok(Beside::Stopped),
            AgentWork::Failed(trouble, outcome) => (Report::default(), Some((trouble, outcome))),
        };
        if !worktree.is_there(self.workspace)? {
            // Not asked git about: it would look for another repository above.
            let gone = Trouble::Crash("it has deleted the worktree it was given".into());
            let (trouble, outcome) = failed.unwrap_or((gone, None));
            self.workspace.give_up_on(opened, &trouble, Vec::new())?;
            self.record_news()?;
            return Ok(Beside::Ended(outcome));
        }
        if let Some(branch) = worktree.git.branch_of_head() {
            // It was given none.
            let id = &opened.key.id;
            let text = format!("the agent of {id} has worked on the branch {branch}, which stays");
            self.workspace.warn(text)?;
        }
        let changed = worktree.changed(self.workspace)?;
        if let Some((trouble, outcome)) = failed {
            self.workspace.keep(&worktree.git, opened, &changed)?;
            self.workspace.give_up_on(opened, &trouble, Vec::new())?;
            self.record_news()?;
            return Ok(Beside::Ended(outcome));
        }
        let elsewhere = self.workspace.take_back_elsewhere(&worktree.git, opened, &changed)?;
        if !elsewhere.is_empty() {
            self.workspace.warn(attempt::told(&elsewhere))?;
        }
        self.record_check(opened, false)?;
        let tried = self.workspace.try_work(opened, &report.result, &worktree.root, &changed)?;
        if self.stop.get().is_some() {
            return Ok(Beside::Stopped);
        }
        if !tried.verdict.passed() {
            self.workspace.keep(&worktree.git, opened, &changed)?;
            self.workspace.fail(opened, tried, By::Run)?;
            self.record_news()?;
            return Ok(Beside::Ended(None));
        }
        // Ahead of the record that lets the worktree go.
        worktree.bring_notes(self.workspace, opened)?;
        let commit = self.keep_work(worktree, opened, &report, &changed)?;
        Ok(Beside::Ready { report, commit, check: Some(tried.check) })
    }

    /// Keeps what has passed until it is in.
    fn keep_work(
        &self,
        worktree: &PreparedWorktree,
        opened: &Attempt,
        report: &Report,
        changed: &[String],
    ) -> Result<String, RunError> {
        let spec = &self.workspace.spec;
        let message = format!("{} {}", spec.name, opened.key.id);
        let reference = ready_reference(spec, &opened.key.id);
        self.workspace.repository()?.adopt_submodules(&worktree.git, changed)?;
        let commit = worktree.git.keep(Some(&worktree.base), changed, &reference, &message)?;
        self.record_ready(opened, report, &commit)?;
        Ok(commit)
    }

    pub(super) fn record_ready(
        &self,
        opened: &Attempt,
        report: &Report,
        commit: &str,
    ) -> Result<(), RunError> {
        Ok(self.workspace.record(opened, |task| Entry::Ready {
            task,
            attempt: opened.number,
            result: line::tail(&report.result, 64 * 1024).to_owned(),
            commit: commit.to_owned(),
        })?)
    }

    /// Puts the work of one task on top of the others'.
    fn bring_in(&self, opened: &Attempt, ended: Beside) -> Result<Option<Outcome>, RunError> {
        let (report, commit) = match ended {
            Beside::Ready { report, commit, .. } => (report, commit),
            Beside::Ended(outcome) => return Ok(outcome),
            Beside::Stopped => return Ok(self.stop.get()),
        };
        if let Some(outcome) = self.stop.get() {
            return Ok(Some(outcome));
        }
        let git = self.workspace.repository()?;
        let tree = match git.merge(&commit)? {
            Merge::Clean(tree) => tree,
            Merge::Conflict { paths, tree } => {
                let shown = git.difference(&tree, &paths)?;
                let reason = format!("it conflicts with the others' work in {}", paths.join(", "));
                return self.set_aside(opened, reason, &shown);
            }
        };
        let paths = git.differing(&tree)?;
        // Looked at before anything is announced: what is in the tree by the
        // next record is taken out again if we are killed.
        let theirs = git.changed()?;
        if let Some(path) = paths.iter().find(|path| theirs.contains(path)) {
            let reason = format!("{path} has changes in the tree that are not committed");
            return self.set_aside(opened, reason, "");
        }
        let (attempt, put_in) = (opened.number, paths.clone());
        self.workspace.record(opened, |task| Entry::Integrating {
            task,
            attempt,
            paths: put_in,
        })?;
        if let Err(error) = git.put_in(&tree) {
            // It may have put in some of it, or all, before it failed.
            recover::take_out(self.workspace, git, opened, &paths)?;
            let reason = format!("it does not fit into the tree: {error}");
            return self.set_aside(opened, reason, "");
        }
        self.record_check(opened, true)?;
        let found = self.workspace.examine(opened, &report.result, Some(paths.clone()))?;
        if let Some(outcome) = self.stop.get() {
            recover::take_out(self.workspace, git, opened, &paths)?;
            return Ok(Some(outcome));
        }
        let judged = match self.workspace.conclude(opened, found, By::OnTop) {
            // Nobody waits for this work any more, so it does not stay in the tree.
            Err(error @ AttemptError::NotOpen(_)) => {
                recover::take_out(self.workspace, git, opened, &paths)?;
                return Err(error.into());
            }
            judged => judged?,
        };
        if !judged.passed() {
            recover::take_out(self.workspace, git, opened, &paths)?;
        }
        if judged.question.is_some() {
            // Its task may be gone, and with it what says that the work is needed.
            self.workspace.keep_commit(opened, &commit)?;
        }
        if judged.passed() || judged.question.is_some() {
            git.delete_reference(&ready_reference(&self.workspace.spec, &opened.key.id))?;
        }
        self.record_news()?;
        Ok(None)
    }

    pub(super) fn set_aside(
        &self,
        opened: &Attempt,
        reason: String,
        shown: &str,
    ) -> Result<Option<Outcome>, RunError> {
        let shown = line::head(shown, SHOWN_CONFLICT).to_owned();
        self.workspace.set_aside(opened, reason, shown)?;
        self.record_news()?;
        Ok(None)
    }
}

/// A worktree with what it was made from.
pub(super) struct PreparedWorktree {
    pub(super) git: Git,
    /// The project's root in it.
    pub(super) root: PathBuf,
    /// The commit it was made from.
    pub(super) base: String,
    /// What its preparation left uncommitted, which is nobody's work as long as it
    /// stays as it is.
    prepared: Vec<(String, Option<String>)>,
}

impl PreparedWorktree {
    /// Makes one from a commit, with a copy of the plan.
    pub(super) fn add(
        workspace: &Workspace,
        name: &str,
        base: Option<&str>,
    ) -> Result<PreparedWorktree, RunError> {
        let Worktree { git, root } = workspace.add_worktree(name, base)?;
        let base = base.unwrap_or_default().to_owned();
        let tree = PreparedWorktree { root, git, base, prepared: Vec::new() };
        tree.copy_plan(&workspace.spec)?;
        Ok(tree)
    }

    /// The plan as it stands, which need not be committed.
    pub(super) fn copy_plan(&self, spec: &Spec) -> Result<(), RunError> {
        let Ok(below) = spec.dir.strip_prefix(&spec.root) else { return Ok(()) };
        let target = self.root.join(below);
        fs::create_dir_all(&target).map_err(|error| FileError::new("create", &target, error))?;
        let documents = fs::read_dir(&spec.dir).into_iter().flatten().flatten().filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.ends_with(".md") && !name.starts_with(".progress-task-")
        });
        for document in documents {
            if let Some(text) = files::read_if_there(&document.path(), MAX_DOCUMENT)? {
                files::write(&target.join(document.file_name()), &text)?;
            }
        }
        Ok(())
    }

    /// Remembers what is changed in it before anybody works there.
    pub(super) fn once_prepared(mut self) -> Result<PreparedWorktree, RunError> {
        let changed = self.git.changed()?.into_iter();
        let with_content = |path: String| {
            let content = content(&self.git.file(&path));
            (path, content)
        };
        self.prepared = changed.map(with_content).collect();
        Ok(self)
    }

    /// Whether it is still there, and nothing else in its place.
    pub(super) fn is_there(&self, workspace: &Workspace) -> Result<bool, RunError> {
        Ok(workspace.repository()?.has_worktree(&self.git.root))
    }

    /// What was changed in it, but for what its preparation has left.
    pub(super) fn changed(&self, workspace: &Workspace) -> Result<Vec<String>, RunError> {
        let mut changed = changed_in(&self.git, &self.base, workspace)?;
        changed.retain(|path| {
            let before = self.prepared.iter().find(|(prepared, _)| prepared == path);
            before.is_none_or(|(_, before)| *before != content(&self.git.file(path)))
        });
        Ok(changed)
    }

    /// The notes of its executor go where they are merged from.
    fn bring_notes(&self, workspace: &Workspace, opened: &Attempt) -> Result<(), RunError> {
        let spec = &workspace.spec;
        let Ok(below) = spec.dir.strip_prefix(&spec.root) else { return Ok(()) };
        workspace.bring_notes(opened, &self.root.join(below))?;
        Ok(())
    }

    pub(super) fn remove(&self, workspace: &Workspace) -> Result<(), RunError> {
        Ok(workspace.repository()?.remove_worktree(&self.git.root)?)
    }
}
