//! Ticks that an attempt makes in the plans of other specs. Nobody has judged
//! those tasks, so their boxes are opened again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use specum_core::attempt::Attempt;
use specum_core::plan_record::PlanRecord;
use specum_core::tasks::{Task, TaskFile, TaskKey};

use super::{AttemptError, Workspace};
use crate::git;
use crate::ports::Repository;
use crate::project::Spec;
use crate::store::{MAX_TEXT, Store};

impl Workspace {
    /// Opens the boxes of other plans again that were ticked in some tree since an
    /// attempt began, and tells so.
    pub fn take_back_elsewhere(
        &self,
        git: &dyn Repository,
        opened: &Attempt,
        changed: &[String],
    ) -> Result<Vec<String>, AttemptError> {
        let mut names = Vec::new();
        // Git does not tell of a plan that it ignores; the opening has what stood there.
        let plans: BTreeSet<&String> = changed.iter().chain(opened.open_elsewhere.keys()).collect();
        for path in plans {
            let Some(spec) = self.other_spec(git, path) else { continue };
            let Some(was_open) = open_before(git, opened, path)? else { continue };
            let Ok(now) = self.world().disk.read(&git.file(path), MAX_TEXT) else { continue };
            names.extend(reopen(&spec, &was_open, &now)?);
        }
        Ok(names)
    }

    /// The same in a project without a repository, where the opening alone knows what
    /// stood in the other plans.
    pub(super) fn take_back_without_git(
        &self,
        opened: &Attempt,
    ) -> Result<Vec<String>, AttemptError> {
        let mut names = Vec::new();
        for (path, plan) in self.plans_of_others() {
            let Some(was_open) = opened.open_elsewhere.get(&path) else { continue };
            let Ok(now) = self.world().disk.read(&plan, MAX_TEXT) else { continue };
            let Some(dir) = plan.parent() else { continue };
            names.extend(reopen(&self.spec_at(dir.to_owned()), was_open, &now)?);
        }
        Ok(names)
    }

    /// The open tasks of the other plans in a project without a repository. Plans that
    /// are done are left out.
    pub(super) fn open_without_git(&self) -> BTreeMap<String, Vec<String>> {
        let open = self.plans_of_others().filter_map(|(path, plan)| {
            let open = open_in(&self.world().disk.read(&plan, MAX_TEXT).ok()?);
            (!open.is_empty()).then_some((path, open))
        });
        open.collect()
    }

    /// The plans of other specs, by their paths from the project's root.
    fn plans_of_others(&self) -> impl Iterator<Item = (String, PathBuf)> {
        self.others.iter().map(|dir| dir.join("tasks.md")).filter_map(|plan| {
            let path = git::shown(plan.strip_prefix(&self.spec.root).ok()?);
            Some((path, plan))
        })
    }

    /// Another spec of this project.
    fn spec_at(&self, dir: PathBuf) -> Spec {
        let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let shown = dir.strip_prefix(&self.spec.root).unwrap_or(&dir).display().to_string();
        Spec { name, shown, dir, root: self.spec.root.clone(), world: self.world().clone() }
    }

    /// The plans of other specs that git ignores, so that its status never names
    /// them. Git is asked once.
    pub(super) fn hidden_plans(&self, git: &dyn Repository) -> &[String] {
        self.hidden_plans.get_or_init(|| {
            let plans = self.others.iter().map(|dir| dir.join("tasks.md"));
            let below = plans.filter_map(|plan| plan.strip_prefix(git.root()).ok().map(git::shown));
            git.ignored(&below.collect::<Vec<_>>()).unwrap_or_default()
        })
    }

    /// The open tasks of the other plans among some paths.
    pub(super) fn open_elsewhere<'p>(
        &self,
        git: &dyn Repository,
        paths: impl Iterator<Item = &'p String>,
    ) -> BTreeMap<String, Vec<String>> {
        let plans = paths.filter(|path| self.other_spec(git, path).is_some());
        let read = |path: &String| self.world().disk.read(&git.file(path), MAX_TEXT).ok();
        plans.filter_map(|path| Some((path.clone(), open_in(&read(path)?)))).collect()
    }

    /// The spec whose plan stands at a path of some tree of this repository.
    fn other_spec(&self, git: &dyn Repository, path: &str) -> Option<Spec> {
        let root = self.repository().ok()?.root();
        let folder = Path::new(path).parent().filter(|_| path.ends_with("/tasks.md"))?;
        let known = self.others.iter().find(|dir| dir.strip_prefix(root) == Ok(folder))?;
        let name = known.file_name()?.to_string_lossy().into_owned();
        let shown = folder.to_string_lossy().into_owned();
        let (root, world) = (git.root().to_owned(), self.world().clone());
        Some(Spec { name, shown, dir: root.join(folder), root, world })
    }
}

/// Opens the boxes of another plan again that were ticked since, and names them.
fn reopen(spec: &Spec, was_open: &[String], now: &[u8]) -> Result<Vec<String>, AttemptError> {
    let store = Store::of(spec);
    let locked = store.lock()?;
    let ticked = ticked_since(was_open, now, &*store.plan_record()?);
    locked.open_boxes(&ticked)?;
    Ok(ticked.iter().map(|key| format!("{} of {}", key.id, spec.name)).collect())
}

/// The tasks of another plan that were open when an attempt began, if anybody
/// knows.
fn open_before(
    git: &dyn Repository,
    opened: &Attempt,
    path: &String,
) -> Result<Option<Vec<String>>, AttemptError> {
    let known = opened.open_elsewhere.get(path);
    if known.is_some() || opened.dirty.contains_key(path) {
        return Ok(known.cloned());
    }
    let Some(base) = opened.base() else { return Ok(None) };
    Ok(git.file_at(base, path)?.map(|plan| open_in(&plan)))
}

fn open_in(plan: &[u8]) -> Vec<String> {
    TaskFile::scan(plan).open().map(Task::name).collect()
}

/// The tasks that were open and are ticked with no verdict of their own loop
/// behind it.
fn ticked_since(was_open: &[String], now: &[u8], plan_record: &PlanRecord) -> Vec<TaskKey> {
    let was_open = |task: &&Task| {
        was_open.contains(&task.name())
            && plan_record.task(&task.name()).is_none_or(|known| known.proof.is_none())
    };
    TaskFile::scan(now)
        .tasks
        .iter()
        .filter(|task| task.done)
        .filter(was_open)
        .map(Task::key)
        .collect()
}
