//! An isolated run: tasks in sequence are worked in one warm worktree, apart from the user's
//! tree, and the user's tree takes in what has passed on its newest commit.
//!
//! Before each attempt the worktree is put back to what `worktree_setup` has left,
//! ignored files included, but for the caches that settings name. If an attempt has
//! changed what the setup left, the setup runs again. Nothing is put back before its
//! work is kept under a reference.

use std::path::{Path, PathBuf};

use specum_core::agent::Report;
use specum_core::attempt::{Attempt, AttemptId};
use specum_core::coordinate::Input;
use specum_core::verify::{self, CheckRun};

use super::crew::{Crew, Looked, PassedWork, StartRequest, Work, lock};
use super::leavings::Leavings;
use super::worktree::PreparedWorktree;
use super::{RunError, Tell};
use crate::attempt::{AttemptError, By, Renewed, Workspace};
use crate::git;
use crate::names::{ISOLATED, ready_reference};
use crate::ports::{Disk, Repository};
use crate::process::Handle;

/// The worktree of an isolated run, with what it is put back to.
pub(super) struct WarmTree {
    tree: PreparedWorktree,
    /// What the setup left besides the files that git tracks.
    left: Leavings,
    /// A commit with what the setup has changed of those.
    changed: Option<String>,
    /// The attempt that was worked in it since it was put back.
    worked: Option<AttemptId>,
}

/// What became of a result on the newest commit.
enum OnNewest {
    Holds {
        commit: String,
        check: CheckRun,
    },
    /// It is to be done again: why, and what there is to read about it.
    Fails {
        reason: String,
        shown: String,
    },
}

impl Crew<'_> {
    /// Starts an agent in the worktree.
    pub(super) fn start_isolated(
        &self,
        request: &StartRequest,
        work: &Work,
        handle: Handle,
        tell: &Tell<'_>,
    ) -> Result<Option<Input>, RunError> {
        let (mut warm, opened) = (lock(&self.warm), &work.attempt);
        let git = self.workspace.repository()?;
        // An agent may have reached a limit in it, and another one goes on there.
        if !warm.as_ref().is_some_and(|warm| warm.is_there(git) && warm.is_of(opened)) {
            self.put_back(&mut warm, opened.base())?;
            let root = warm.as_ref().map(|warm| warm.tree.root.clone());
            match root.map(|root| self.look_first(work, &root)).transpose()? {
                Some(Looked::Halted) => {
                    self.record_news()?;
                    return Ok(Some(Input::Settled(opened.id.clone())));
                }
                // What the check has left is not the agent's.
                Some(Looked::Free) => self.put_back(&mut warm, opened.base())?,
                Some(Looked::Clean) | None => {}
            }
        }
        let Some(WarmTree { tree, worked, .. }) = warm.as_mut() else {
            return Ok(Some(Input::NotStarted(request.launch)));
        };
        *worked = Some(opened.id.clone());
        let ended = self.carry_out(request, work, (&tree.root, Some(tree)), handle, tell);
        if ended.is_err() && !self.stop.is_set() {
            if self.keep_all(tree, opened).is_err() {
                // What is kept nowhere stays where it is.
                return ended.map_err(|error| error.in_worktree(tree.git.root()));
            }
            tree.remove(self.workspace)?;
            *warm = None;
        }
        ended
    }

    /// Keeps what an attempt has changed in the worktree.
    pub(super) fn keep_warm(&self, opened: &Attempt) -> Result<(), RunError> {
        let warm = lock(&self.warm);
        match warm.as_ref().filter(|warm| warm.is_of(opened)) {
            Some(warm) => self.keep_all(&warm.tree, opened),
            None => Ok(()),
        }
    }

    /// Runs the command of a `[VERIFY]` task in the worktree. If it passes there is a
    /// result, without changes.
    pub(super) fn check_isolated(&self, work: &Work) -> Result<Input, RunError> {
        let opened = &work.attempt;
        let broken_off = || Ok(Input::BrokenOff(opened.id.clone()));
        let mut warm = lock(&self.warm);
        self.put_back(&mut warm, opened.base())?;
        let Some(WarmTree { tree, .. }) = warm.as_mut() else { return broken_off() };
        self.record_check(opened, false)?;
        let check = self.workspace.check_in(opened, &tree.root)?;
        if self.stop.is_set() {
            return broken_off();
        }
        let tried = self.workspace.weigh(opened, opened.role.signal(), check, &[]);
        if let Some(why) = verify::failed_check(&tried.check) {
            // The check may have left something, which is not the agent's.
            self.put_back(&mut warm, opened.base())?;
            if self.workspace.finds_plan_fault(opened, &tried.check)? {
                self.workspace.fail(opened, tried, By::Run)?;
                return Ok(Input::Settled(opened.id.clone()));
            }
            work.show((why, tried.output));
            return Ok(Input::CheckFailed(opened.id.clone()));
        }
        let (git, id) = (self.workspace.repository()?, &opened.key.id);
        let message = format!("{} {id}", self.workspace.spec.name);
        let commit = git.commit_tree(&tree.base, Some(&tree.base), &message)?;
        git.point(&ready_reference(&self.workspace.spec, id), &commit)?;
        let report = Report { result: opened.role.signal().to_owned(), ..Report::default() };
        *lock(&work.result) = PassedWork { report, commit, check: Some(tried.check) };
        Ok(Input::Ready(opened.id.clone()))
    }

    /// Lets the user's tree take in what has passed, on the newest commit.
    pub(super) fn take_in(&self, work: &Work, passed: PassedWork) -> Result<Input, RunError> {
        let opened = &work.attempt;
        let PassedWork { report, mut commit, check } = passed;
        // A person may have accepted another check since.
        let counts = self.workspace.commands_of(opened)?;
        let mut check = check.filter(|check| check.is_of(&counts));
        let git = self.workspace.repository()?;
        let (head, check) = loop {
            if self.stop.is_set() {
                return Ok(Input::BrokenOff(opened.id.clone()));
            }
            if let Err(error) = git.refuse_half_done() {
                let (id, error) = (opened.key.shown(), error.to_string());
                let why = format!("{id} has passed and waits: {error}; `specum run` goes on");
                return self.pause(why);
            }
            let head = git.head().unwrap_or_default();
            if git.parent_of(&commit).as_ref() == Some(&head)
                && let Some(check) = check.take()
            {
                break (head, check);
            }
            match self.renew(opened, &report, &commit, &head)? {
                Some(OnNewest::Holds { commit: renewed, check: run }) => {
                    (commit, check) = (renewed, Some(run));
                }
                Some(OnNewest::Fails { reason, shown }) => {
                    self.workspace.keep_commit(opened, &commit)?;
                    return self.set_aside(work, reason, &shown);
                }
                None => return Ok(Input::BrokenOff(opened.id.clone())),
            }
        };
        let theirs = self.workspace.in_the_way(&head, &commit)?;
        if !theirs.is_empty() {
            let why = self.workspace.kept_out(opened, theirs);
            return self.pause(why.to_string());
        }
        self.conclude_isolated(work, &report, (&commit, check))
    }

    /// Puts a result on the newest commit and checks it there; none if everybody stops.
    fn renew(
        &self,
        opened: &Attempt,
        report: &Report,
        commit: &str,
        head: &str,
    ) -> Result<Option<OnNewest>, RunError> {
        let mut warm = lock(&self.warm);
        let git = self.workspace.repository()?;
        if !warm.as_ref().is_some_and(|warm| warm.is_there(git) && warm.is_of(opened)) {
            self.put_back(&mut warm, Some(head))?;
        }
        if warm.is_none() {
            return Ok(None);
        }
        self.record_check(opened, true)?;
        let (renewed, check) = match self.workspace.renew(opened, commit, head)? {
            Renewed::Checked { commit, check } => (commit, check),
            Renewed::Conflict { paths, shown } => {
                let paths = paths.join(", ");
                let reason = format!("it conflicts with what was committed meanwhile in {paths}");
                return Ok(Some(OnNewest::Fails { reason, shown }));
            }
        };
        let changed = git.changed_between(head, &renewed)?;
        let tried = self.workspace.weigh(opened, &report.result, check, &changed);
        if self.stop.is_set() {
            return Ok(None);
        }
        if !tried.verdict.passed() {
            let (reason, shown) = (tried.verdict.reason(), tried.output);
            return Ok(Some(OnNewest::Fails { reason, shown }));
        }
        if renewed != commit {
            self.record_ready(opened, report, &renewed)?;
        }
        Ok(Some(OnNewest::Holds { commit: renewed, check: tried.check }))
    }

    fn conclude_isolated(
        &self,
        work: &Work,
        report: &Report,
        (commit, check): (&str, CheckRun),
    ) -> Result<Input, RunError> {
        let (git, opened) = (self.workspace.repository()?, &work.attempt);
        let changed = git.changed_between(&format!("{commit}^"), commit)?;
        let passed = (commit, changed);
        let found = self.workspace.examined_in_worktree(opened, &report.result, passed, check);
        let judged = match found.and_then(|found| self.workspace.conclude(opened, found, By::OnTop))
        {
            Err(AttemptError::OtherCheck(_)) => {
                let (report, commit) = (report.clone(), commit.to_owned());
                return self.take_in(work, PassedWork { report, commit, check: None });
            }
            judged => judged?,
        };
        if judged.question().is_some() {
            // Its task may be gone, and with it what says that the work is needed.
            self.workspace.keep_commit(opened, commit)?;
            git.delete_reference(&ready_reference(&self.workspace.spec, &opened.key.id))?;
        }
        self.record_news()?;
        Ok(Input::Settled(opened.id.clone()))
    }

    /// Lets the worktree be as the setup has left it, at a commit; there is none if
    /// everybody stops meanwhile.
    fn put_back(&self, warm: &mut Option<WarmTree>, base: Option<&str>) -> Result<(), RunError> {
        let (workspace, caches) = (self.workspace, &self.options.worktree_caches);
        let (before, git) = (warm.take(), workspace.repository()?);
        let put_back = match (before.filter(|before| before.is_there(git)), base) {
            (Some(before), Some(base)) => before.put_back(workspace, base, caches).ok(),
            _ => None,
        };
        let tree = match put_back {
            Some(PutBack::AsItWas(back)) => {
                *warm = Some(back);
                return Ok(());
            }
            Some(PutBack::Cleared(tree, changed)) => {
                workspace.warn(set_up_again(&changed))?;
                tree
            }
            // Whatever has kept it from being put back goes with it.
            None => PreparedWorktree::add(workspace, ISOLATED, base)?,
        };
        self.set_up(&tree)?;
        if !self.stop.is_set() {
            *warm = Some(WarmTree::after_setup(workspace, tree, caches)?);
        }
        Ok(())
    }
}

/// A worktree that was to be put back.
enum PutBack {
    /// As the setup has left it.
    AsItWas(WarmTree),
    /// As if it were new, because this is not as the setup has left it.
    Cleared(PreparedWorktree, PathBuf),
}

impl WarmTree {
    /// A worktree in which the setup has just ended.
    fn after_setup(
        workspace: &Workspace,
        tree: PreparedWorktree,
        caches: &[String],
    ) -> Result<WarmTree, RunError> {
        let plan = plan_in(workspace, &*tree.git);
        let tracked = tree.git.tracked()?;
        let is_of_setup = |path: &String| {
            let file = tree.git.file(path);
            tracked.contains(&file) && !file.starts_with(&plan)
        };
        let changed: Vec<String> = tree.git.changed()?.into_iter().filter(is_of_setup).collect();
        let changed = match changed.is_empty() {
            true => None,
            false => Some(tree.git.commit_paths(Some(&tree.base), &changed, "worktree_setup")?),
        };
        let left = leavings(&*workspace.world().disk, &tree, caches)?.outside(&plan);
        Ok(WarmTree { tree: tree.once_prepared()?, left, changed, worked: None })
    }

    /// Whether this attempt was worked on in it since it was put back.
    fn is_of(&self, opened: &Attempt) -> bool {
        self.worked.as_ref() == Some(&opened.id)
    }

    /// Whether it is still there, and nothing else in its place.
    fn is_there(&self, git: &dyn Repository) -> bool {
        git.has_worktree(self.tree.git.root())
    }

    fn put_back(
        mut self,
        workspace: &Workspace,
        base: &str,
        caches: &[String],
    ) -> Result<PutBack, RunError> {
        let (tree, disk) = (&mut self.tree, &*workspace.world().disk);
        tree.git.reset_to(base)?;
        base.clone_into(&mut tree.base);
        let mut differs = self.left.put_back(disk, &leavings(disk, tree, caches)?)?;
        if differs.is_none()
            && let Some(changed) = &self.changed
            && !tree.git.apply(changed)?
        {
            differs = Some(tree.root.clone());
        }
        if let Some(differs) = differs {
            Leavings::default().put_back(disk, &leavings(disk, tree, caches)?)?;
            tree.copy_plan(&workspace.spec)?;
            let differs = differs.strip_prefix(&tree.root).unwrap_or(&differs).to_owned();
            return Ok(PutBack::Cleared(self.tree, differs));
        }
        tree.copy_plan(&workspace.spec)?;
        Ok(PutBack::AsItWas(WarmTree { tree: self.tree.once_prepared()?, worked: None, ..self }))
    }
}

/// Where the plan lies in a worktree.
fn plan_in(workspace: &Workspace, worktree: &dyn Repository) -> PathBuf {
    let root = workspace.repository().map_or(Path::new(""), |git| git.root());
    let below = workspace.spec.dir.strip_prefix(root).unwrap_or(Path::new("specs"));
    worktree.root().join(below)
}

/// What lies in a worktree that git does not track, but for caches.
fn leavings(
    disk: &dyn Disk,
    tree: &PreparedWorktree,
    caches: &[String],
) -> Result<Leavings, RunError> {
    // In their shortest form, as they are found.
    let caches: Vec<PathBuf> =
        caches.iter().map(|cache| tree.root.join(cache).components().collect()).collect();
    Ok(Leavings::below(disk, tree.git.root(), &tree.git.tracked()?, &caches)?)
}

fn set_up_again(changed: &Path) -> String {
    format!(
        "the worktree is set up again: {} is not as worktree_setup left it. If it may differ from \
         attempt to attempt, name it in worktree_caches",
        git::shown(changed)
    )
}
