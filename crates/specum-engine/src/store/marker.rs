//! The marker that says which spec of a project is active, and the trash next to
//! the specs.

use std::path::PathBuf;

use super::Store;
use crate::files::FileError;
use crate::project::{Project, Spec};
use crate::trash;

/// Makes a spec the one that verbs and hooks mean when none is named.
pub fn make_active(project: &Project, spec: &Spec) -> Result<(), FileError> {
    let marker = project.marker_for(spec);
    let disk = &project.world.disk;
    disk.write(&project.current_spec_file(), format!("{marker}\n").as_bytes())
}

/// Moves the folder of a spec to the trash next to it, from where it can be moved
/// back, and gives its new place. If it was the active spec, no spec is.
pub fn move_to_trash(project: &Project, spec: &Spec) -> Result<PathBuf, FileError> {
    let was_active = project.current().ok().flatten().as_ref() == Some(spec);
    let target = trash::move_there(spec)?;
    // The journals are in the trash; a new spec of this name is not to get them.
    Store::of(spec).forget_backup()?;
    if was_active {
        project.world.disk.remove(&project.current_spec_file())?;
    }
    Ok(target)
}
