//! An isolated run: tasks in sequence are worked in one warm worktree beside the user's
//! tree, and the user's tree takes in what has passed on its newest commit.
//!
//! Before each attempt the worktree is put back to what `worktree_setup` has left,
//! ignored files included, but for the caches that settings name. If an attempt has
//! changed what the setup left, the setup runs again. Nothing is put back before its
//! work is kept under a reference.

use std::path::{Path, PathBuf};

use specum_core::agent::Report;
use specum_core::attempt::{Attempt, AttemptId};
use specum_core::brief;
use specum_core::event::Outcome;
use specum_core::verify::{self, CheckRun, Role};

use super::RunError;
use super::beside::{Beside, PreparedWorktree};
use super::executor::{Executor, WorkSite};
use super::leavings::Leavings;
use crate::attempt::{By, Renewed, Workspace};
use crate::git::{self, Git};
use crate::names::{ISOLATED, ready_reference};

/// The worktree of an isolated run, with what it is put back to.
pub(super) struct WarmTree {
    tree: PreparedWorktree,
    /// What the setup left beside the files that git tracks.
    left: Leavings,
    /// A commit with what the setup has changed of those.
    changed: Option<String>,
    /// The attempt that was worked in it since it was put back.
    worked: Option<AttemptId>,
}

/// What a check without an agent has shown.
enum FirstCheck {
    /// It has passed: there is a result, without changes.
    Passed(Beside),
    /// There is none, or it has failed: an agent is to work.
    Failed(Option<(String, String)>),
    /// Everybody stops.
    Stopped,
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

impl Executor<'_> {
    /// Works one task in the worktree and lets the user's tree take it in. An outcome
    /// ends the run.
    pub(super) fn work_isolated(&self, opened: &Attempt) -> Result<Option<Outcome>, RunError> {
        let ended = match self.ready(opened)? {
            Some(ready) => ready,
            None => self.work_in_warm_tree(opened)?,
        };
        self.take_in(opened, ended)
    }

    fn work_in_warm_tree(&self, opened: &Attempt) -> Result<Beside, RunError> {
        let mut warm = self.isolated.lock().expect("no holder panics");
        self.put_back(&mut warm, opened.base())?;
        let mut shown = None;
        if opened.role == Role::QaEngineer && self.workspace.has_never_failed(opened)? {
            // A check costs nothing; only what it finds does.
            match self.check_first(opened, &mut warm)? {
                FirstCheck::Passed(ready) => return Ok(ready),
                FirstCheck::Stopped => return Ok(Beside::Stopped),
                FirstCheck::Failed(why) => shown = why,
            }
        }
        let Some(WarmTree { tree, worked, .. }) = warm.as_mut() else {
            return Ok(Beside::Stopped);
        };
        *worked = Some(opened.id.clone());
        let place = WorkSite { slot: 0, root: &tree.root, at: brief::WorkPlace::Isolated, shown };
        let ended = self.work_in(tree, &place, opened);
        if ended.is_err() && self.stop.get().is_none() && tree.is_there(self.workspace)? {
            let kept = tree
                .changed(self.workspace)
                .and_then(|changed| Ok(self.workspace.keep(&tree.git, opened, &changed)?));
            if kept.is_err() {
                // What is kept nowhere stays where it is.
                return ended.map_err(|error| error.in_worktree(&tree.git.root));
            }
            tree.remove(self.workspace)?;
            *warm = None;
        }
        ended
    }

    /// Runs the command of a `[VERIFY]` task in the worktree.
    fn check_first(
        &self,
        opened: &Attempt,
        warm: &mut Option<WarmTree>,
    ) -> Result<FirstCheck, RunError> {
        let Some(WarmTree { tree, .. }) = warm else { return Ok(FirstCheck::Stopped) };
        if self.workspace.commands_of(opened)?.is_empty() {
            return Ok(FirstCheck::Failed(None));
        }
        self.record_check(opened, false)?;
        let check = self.workspace.check_in(opened, &tree.root)?;
        if self.stop.get().is_some() {
            return Ok(FirstCheck::Stopped);
        }
        let tried = self.workspace.weigh(opened, opened.role.signal(), check, &[]);
        if let Some(why) = verify::failed_check(&tried.check) {
            // The check may have left something, which is not the agent's.
            self.put_back(warm, opened.base())?;
            return Ok(FirstCheck::Failed(Some((why, tried.output))));
        }
        let (git, id) = (self.workspace.repository()?, &opened.key.id);
        let message = format!("{} {id}", self.workspace.spec.name);
        let commit = git.commit_tree(&tree.base, Some(&tree.base), &message)?;
        git.point(&ready_reference(&self.workspace.spec, id), &commit)?;
        let report = Report { result: opened.role.signal().to_owned(), ..Report::default() };
        Ok(FirstCheck::Passed(Beside::Ready { report, commit, check: Some(tried.check) }))
    }

    /// Lets the user's tree take in what has passed, on the newest commit.
    pub(super) fn take_in(
        &self,
        opened: &Attempt,
        ended: Beside,
    ) -> Result<Option<Outcome>, RunError> {
        let (report, mut commit, mut check) = match ended {
            Beside::Ready { report, commit, check } => (report, commit, check),
            Beside::Ended(outcome) => return Ok(outcome),
            Beside::Stopped => return Ok(self.stop.get()),
        };
        let git = self.workspace.repository()?;
        let (head, check) = loop {
            if let Some(outcome) = self.stop.get() {
                return Ok(Some(outcome));
            }
            if let Err(error) = git.refuse_half_done() {
                let (id, error) = (opened.key.shown(), error.to_string());
                let why = format!("{id} has passed and waits: {error}; `specum run` goes on");
                return self.pause(why).map(Some);
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
                    return self.set_aside(opened, reason, &shown);
                }
                None => return Ok(self.stop.get()),
            }
        };
        let theirs = self.workspace.in_the_way(&head, &commit)?;
        if !theirs.is_empty() {
            let why = self.workspace.kept_out(opened, theirs);
            return self.pause(why.to_string()).map(Some);
        }
        self.conclude_isolated(opened, &report, (&commit, check))
    }

    /// Puts a result on the newest commit and checks it there; none if everybody stops.
    fn renew(
        &self,
        opened: &Attempt,
        report: &Report,
        commit: &str,
        head: &str,
    ) -> Result<Option<OnNewest>, RunError> {
        let mut warm = self.isolated.lock().expect("no holder panics");
        let git = self.workspace.repository()?;
        let is_of_it =
            |warm: &WarmTree| warm.is_there(git) && warm.worked.as_ref() == Some(&opened.id);
        if !warm.as_ref().is_some_and(is_of_it) {
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
        if self.stop.get().is_some() {
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
        opened: &Attempt,
        report: &Report,
        (commit, check): (&str, CheckRun),
    ) -> Result<Option<Outcome>, RunError> {
        let git = self.workspace.repository()?;
        let changed = git.changed_between(&format!("{commit}^"), commit)?;
        let found = self.workspace.examined_in_worktree(
            opened,
            &report.result,
            (commit, changed),
            check,
        )?;
        let judged = self.workspace.conclude(opened, found, By::OnTop)?;
        if judged.question.is_some() {
            // Its task may be gone, and with it what says that the work is needed.
            self.workspace.keep_commit(opened, commit)?;
            git.delete_reference(&ready_reference(&self.workspace.spec, &opened.key.id))?;
        }
        self.record_news()?;
        Ok(None)
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
        if self.stop.get().is_none() {
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
        let plan = plan_in(workspace, &tree.git);
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
        let left = leavings(&tree, caches)?.outside(&plan);
        Ok(WarmTree { tree: tree.once_prepared()?, left, changed, worked: None })
    }

    /// Whether it is still there, and nothing else in its place.
    fn is_there(&self, git: &Git) -> bool {
        git.has_worktree(&self.tree.git.root)
    }

    fn put_back(
        mut self,
        workspace: &Workspace,
        base: &str,
        caches: &[String],
    ) -> Result<PutBack, RunError> {
        let tree = &mut self.tree;
        tree.git.reset_to(base)?;
        base.clone_into(&mut tree.base);
        let mut differs = self.left.put_back(&leavings(tree, caches)?)?;
        if differs.is_none()
            && let Some(changed) = &self.changed
            && !tree.git.apply(changed)?
        {
            differs = Some(tree.root.clone());
        }
        if let Some(differs) = differs {
            Leavings::default().put_back(&leavings(tree, caches)?)?;
            tree.copy_plan(&workspace.spec)?;
            let differs = differs.strip_prefix(&tree.root).unwrap_or(&differs).to_owned();
            return Ok(PutBack::Cleared(self.tree, differs));
        }
        tree.copy_plan(&workspace.spec)?;
        Ok(PutBack::AsItWas(WarmTree { tree: self.tree.once_prepared()?, worked: None, ..self }))
    }
}

/// Where the plan lies in a worktree.
fn plan_in(workspace: &Workspace, worktree: &Git) -> PathBuf {
    let root = workspace.repository().map(|git| git.root.clone()).unwrap_or_default();
    let below = workspace.spec.dir.strip_prefix(root).unwrap_or(Path::new("specs"));
    worktree.root.join(below)
}

/// What lies in a worktree that git does not track, but for caches.
fn leavings(tree: &PreparedWorktree, caches: &[String]) -> Result<Leavings, RunError> {
    // In their shortest form, as they are found.
    let caches: Vec<PathBuf> =
        caches.iter().map(|cache| tree.root.join(cache).components().collect()).collect();
    Ok(Leavings::below(&tree.git.root, &tree.git.tracked()?, &caches)?)
}

fn set_up_again(changed: &Path) -> String {
    format!(
        "the worktree is set up again: {} is not as worktree_setup left it. If it may differ from \
         attempt to attempt, name it in worktree_caches",
        git::shown(changed)
    )
}
