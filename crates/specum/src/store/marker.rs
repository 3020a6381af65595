//! The marker that says which spec of a project is active, and the trash beside
//! the specs.

use std::fs;
use std::path::PathBuf;

use crate::clock;
use crate::files::{self, FileError};
use crate::project::{Project, Spec};

/// Makes a spec the one that verbs and hooks mean when none is named.
pub fn make_active(project: &Project, spec: &Spec) -> Result<(), FileError> {
    let marker = project.marker_for(spec);
    files::write(&project.current_spec_file(), format!("{marker}\n").as_bytes())
}

/// Moves the folder of a spec to the trash beside it, from where it can be moved
/// back, and gives its new place. If it was the active spec, no spec is.
pub fn move_to_trash(project: &Project, spec: &Spec) -> Result<PathBuf, FileError> {
    let was_active = project.current().ok().flatten().as_ref() == Some(spec);
    let trash = spec.dir.with_file_name(".specum-trash");
    fs::create_dir_all(&trash).map_err(|error| FileError::new("create", &trash, error))?;
    let stamp = clock::now().strftime("%Y%m%dT%H%M%S%3fZ");
    let target = trash.join(format!("{}-{stamp}", spec.name));
    fs::rename(&spec.dir, &target)
        .map_err(|error| FileError::new("move to the trash", &spec.dir, error))?;
    if was_active {
        files::remove(&project.current_spec_file())?;
    }
    Ok(target)
}
