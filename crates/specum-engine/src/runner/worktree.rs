//! Worktrees: how one is prepared for an attempt, and what was changed in it.
//!
//! Of the spec's folder a worktree has a copy. Specum's own files in it are never
//! taken from there, but for the notes of its executor.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use specum_core::attempt::Attempt;
use specum_core::digest::ContentDigest;
use specum_core::line;
use specum_core::verify::ProcessEnd;

use super::RunError;
use crate::attempt::{Workspace, Worktree};
use crate::files::FileError;
use crate::logs;
use crate::names::{note_of, worktrees_dir};
use crate::os;
use crate::ports::{Disk, Repository, World};
use crate::project::Spec;

/// The largest file whose content is compared; of a larger one its size and time.
const MAX_COMPARED: u64 = 64 * 1024 * 1024;
/// The longest document of a plan that a worktree gets a copy of.
const MAX_DOCUMENT: u64 = 4 * 1024 * 1024;
/// The longest path of a spec worth reading.
const MAX_PLACE: u64 = 64 * 1024;

/// A spec whose folder was moved since a run of it was killed.
pub(super) struct MovedProject {
    /// Where it was.
    pub(super) place: PathBuf,
    /// Where the worktrees of that time may lie.
    pub(super) worktrees: PathBuf,
}

/// Where a spec of this name was that is there no more. It need not be this one:
/// only worktrees of this repository are.
pub(super) fn moved(spec: &Spec) -> Result<Vec<MovedProject>, FileError> {
    let Some(own) = worktrees_dir(spec) else { return Ok(Vec::new()) };
    let same_name = format!("{}-", logs::plain(&spec.name));
    let disk = &spec.world.disk;
    let entries = own.parent().map(|all| disk.entries(all)).transpose()?.unwrap_or_default();
    let folders = entries.into_iter().filter(|path| disk.is_folder(path));
    let moved = folders
        .filter(|path| *path != own)
        .filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&same_name))
        })
        .filter_map(|worktrees| {
            let place = disk.read(&note_of(&worktrees), MAX_PLACE).ok()?;
            let place = PathBuf::from(os::text(&place));
            (!disk.exists(&place)).then_some(MovedProject { place, worktrees })
        });
    Ok(moved.collect())
}

/// The name of the directory in which an attempt is worked.
pub(super) fn worktree_name(opened: &Attempt) -> String {
    format!("{}-{}", logs::plain(&opened.key.id), opened.number)
}

/// Whether a directory is still a worktree: an agent may have deleted it, or
/// what makes it one.
pub(super) fn is_worktree(disk: &dyn Disk, path: &Path) -> bool {
    disk.exists(&path.join(".git"))
}

/// Where a worktree comes from.
pub(super) struct Origin {
    /// The user's tree.
    tree: Arc<dyn Repository>,
    /// The spec's folder, from the root of the repository.
    plan: PathBuf,
}

impl Origin {
    pub(super) fn of(workspace: &Workspace) -> Result<Origin, RunError> {
        let root = workspace.repository()?.root();
        let plan = workspace.spec.dir.strip_prefix(root).unwrap_or(Path::new(".")).to_owned();
        Ok(Origin { tree: workspace.world().repositories.at(root), plan })
    }
}

/// What was changed in a worktree since it was made. Of the spec's folder it has a
/// copy, in which specum's own files, and what is as it was copied, are no work.
pub(super) fn changed_in(
    disk: &dyn Disk,
    git: &dyn Repository,
    base: &str,
    origin: &Origin,
) -> Result<Vec<String>, RunError> {
    let mut changed = git.changed()?;
    changed.extend(git.changed_since(base)?);
    changed.sort();
    changed.dedup();
    let Origin { tree, plan } = origin;
    let is_copy = |path: &str| {
        let (here, there) = (tree.file(path), git.file(path));
        Path::new(path).starts_with(plan) && content(disk, &here) == content(disk, &there)
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
fn content(disk: &dyn Disk, path: &Path) -> Option<String> {
    match disk.read(path, MAX_COMPARED) {
        Ok(bytes) => Some(ContentDigest::of(&bytes).to_string()),
        Err(_) => {
            let file = disk.look(path).ok()?;
            Some(format!("{} bytes, {:?}", file.length, file.modified))
        }
    }
}

/// A worktree with what it was made from.
pub(super) struct PreparedWorktree {
    pub(super) git: Arc<dyn Repository>,
    /// The project's root in it.
    pub(super) root: PathBuf,
    /// The commit it was made from.
    pub(super) base: String,
    origin: Origin,
    world: World,
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
        let origin = Origin::of(workspace)?;
        let (world, prepared) = (workspace.world().clone(), Vec::new());
        let tree = PreparedWorktree { root, git, base, origin, world, prepared };
        tree.copy_plan(&workspace.spec)?;
        Ok(tree)
    }

    /// The plan as it stands, which need not be committed.
    pub(super) fn copy_plan(&self, spec: &Spec) -> Result<(), RunError> {
        let Ok(below) = spec.dir.strip_prefix(&spec.root) else { return Ok(()) };
        let target = self.root.join(below);
        let disk = &self.world.disk;
        disk.make_folder(&target)?;
        for document in disk.entries(&spec.dir)? {
            let name = document.file_name().unwrap_or_default().to_string_lossy();
            if name.ends_with(".md")
                && !name.starts_with(".progress-task-")
                && let Some(text) = disk.read_if_there(&document, MAX_DOCUMENT)?
            {
                disk.write(&target.join(&*name), &text)?;
            }
        }
        Ok(())
    }

    /// Remembers what is changed in it before an agent works there.
    pub(super) fn once_prepared(mut self) -> Result<PreparedWorktree, RunError> {
        let changed = self.git.changed()?.into_iter();
        let with_content = |path: String| {
            let content = content(&*self.world.disk, &self.git.file(&path));
            (path, content)
        };
        self.prepared = changed.map(with_content).collect();
        Ok(self)
    }

    /// Whether it is still there, and nothing else in its place.
    pub(super) fn is_there(&self, workspace: &Workspace) -> Result<bool, RunError> {
        Ok(workspace.repository()?.has_worktree(self.git.root()))
    }

    /// What was changed in it, but for what its preparation has left.
    pub(super) fn changed(&self) -> Result<Vec<String>, RunError> {
        let mut changed = changed_in(&*self.world.disk, &*self.git, &self.base, &self.origin)?;
        changed.retain(|path| {
            let before = self.prepared.iter().find(|(prepared, _)| prepared == path);
            before.is_none_or(|(_, before)| {
                *before != content(&*self.world.disk, &self.git.file(path))
            })
        });
        Ok(changed)
    }

    /// Runs `worktree_setup`.
    pub(super) fn set_up(&self, setup: &str, project: &Path) -> Result<(), RunError> {
        let run = self.world.launcher.set_up(setup, &self.root, project);
        let how = match run.ended {
            ProcessEnd::Code(0) => return Ok(()),
            ProcessEnd::Code(code) => format!("code {code}"),
            ProcessEnd::Signal(signal) => format!("signal {signal}"),
            ProcessEnd::TimedOut(seconds) => format!("not done within {seconds} s"),
            ProcessEnd::NotStarted(why) => why,
        };
        let output = String::from_utf8_lossy(&run.output);
        Err(RunError::Setup { how, output: line::tail(&output, 4096).to_owned() })
    }

    /// The notes of its executor go where they are merged from.
    pub(super) fn bring_notes(
        &self,
        workspace: &Workspace,
        opened: &Attempt,
    ) -> Result<(), RunError> {
        let spec = &workspace.spec;
        let Ok(below) = spec.dir.strip_prefix(&spec.root) else { return Ok(()) };
        workspace.bring_notes(opened, &self.root.join(below))?;
        Ok(())
    }

    pub(super) fn remove(&self, workspace: &Workspace) -> Result<(), RunError> {
        Ok(workspace.repository()?.remove_worktree(self.git.root())?)
    }
}
