//! What specum calls the references and folders it makes in git's reach.

use std::path::{Path, PathBuf};

use crate::logs;
use crate::project::Spec;

/// The name of the one worktree of an isolated run. Those of a group's tasks end with
/// the number of their attempt.
pub(crate) const ISOLATED: &str = "isolated";

/// Where the worktrees of a spec lie; `None` without a home.
pub(crate) fn worktrees_dir(spec: &Spec) -> Option<PathBuf> {
    Some(spec.world.state_home.as_ref()?.join("worktrees").join(logs::folder_of(spec)))
}

/// The file that says whose worktrees lie in a folder.
pub(crate) fn note_of(worktrees: &Path) -> PathBuf {
    let mut name = worktrees.as_os_str().to_owned();
    name.push(".place");
    PathBuf::from(name)
}

/// What the references begin with that hold work until it is in.
pub(crate) fn ready_references(spec: &Spec) -> String {
    format!("refs/specum/{}/ready/", part(&spec.name))
}

/// The reference that holds the work at a task.
pub(crate) fn ready_reference(spec: &Spec, task: &str) -> String {
    format!("{}{}", ready_references(spec), part(task))
}

/// What the references begin with that hold what was not finished.
pub(crate) fn kept_references(spec: &Spec) -> String {
    format!("refs/specum/{}/kept/", part(&spec.name))
}

/// The branch that a run works on which is to have one of its own.
pub(crate) fn branch_of(spec: &str) -> String {
    format!("specum/{}", part(spec))
}

/// A piece of a reference's name, of which git forbids much.
pub(crate) fn part(text: &str) -> String {
    let plain = logs::plain(text).replace("..", "__");
    let plain = plain.trim_matches('.');
    if plain.ends_with(".lock") { format!("{plain}_") } else { plain.to_owned() }
}
