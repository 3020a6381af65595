//! New specs: a folder with its first files, all of them or none.

use std::io;
use std::path::{Path, PathBuf};

use crate::files::FileError;
use crate::project::{Project, Spec};

/// Makes a folder for a spec, with these files, where specs are kept. What is there under
/// this name is left alone, and is an error.
pub fn create(project: &Project, name: &str, files: &[(&str, &[u8])]) -> Result<Spec, FileError> {
    let disk = &project.world.disk;
    let home = project.home_of_specs();
    let folder = home.join(name);
    let failed = |error| FileError::new("make", &folder, error);
    if disk.look(&folder).is_ok() {
        return Err(failed(io::Error::from(io::ErrorKind::AlreadyExists)));
    }
    // What a killed process has left under this name is nobody's.
    let unfinished = unfinished(&home, name);
    if disk.look(&unfinished).is_ok_and(|found| found.is_folder()) {
        disk.remove_tree(&unfinished)?;
    }
    disk.make_folder(&unfinished)?;
    for (file, bytes) in files {
        disk.write(&unfinished.join(file), bytes)?;
    }
    disk.rename(&unfinished, &folder).map_err(failed)?;
    project.spec_in(&folder).map_err(|why| failed(io::Error::other(why.to_string())))
}

fn unfinished(home: &Path, name: &str) -> PathBuf {
    home.join(format!(".specum-new-{name}"))
}
