//! New specs: a folder with its first files, all of them or none.

use std::io;

use crate::files::FileError;
use crate::project::{Project, Spec};
use crate::trash;

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
    // Where git does not see it. What a killed process has left there is nobody's.
    let aside = home.join(trash::FOLDER);
    let unfinished = aside.join(format!("new-{name}"));
    if disk.look(&unfinished).is_ok_and(|found| found.is_folder()) {
        disk.remove_tree(&unfinished)?;
    }
    disk.make_folder(&unfinished)?;
    for (file, bytes) in files {
        disk.write(&unfinished.join(file), bytes)?;
    }
    disk.rename(&unfinished, &folder).map_err(failed)?;
    // Unless something else is in it.
    let _ = disk.remove_folder(&aside);
    project.spec_in(&folder).map_err(|why| failed(io::Error::other(why.to_string())))
}
