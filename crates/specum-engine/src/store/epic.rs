//! The files of epics, below `_epics` beside the specs, and the marker that says which one
//! is active.

use std::io;
use std::path::{Path, PathBuf};

use specum_core::authoring::name::is_name;
use specum_core::spec::epic;

use crate::files::FileError;
use crate::ports::World;
use crate::project::Project;

/// The folder of all epics, where specs are.
const FOLDER: &str = "_epics";
/// The document of an epic.
const EPIC: &str = "epic.md";
/// How far its specs have come, written for others.
const STATE: &str = ".epic-state.json";
/// The name of the active epic, where specs are.
const CURRENT: &str = ".current-epic";
/// The longest state or marker worth reading.
const MAX_SMALL_FILE: u64 = 256 * 1024;

/// The folder of one epic.
pub struct EpicFolder {
    world: World,
    root: PathBuf,
    dir: PathBuf,
}

impl EpicFolder {
    /// The one of this name, which may not be there.
    pub fn of(project: &Project, name: &str) -> EpicFolder {
        let dir = project.home_of_specs().join(FOLDER).join(name);
        EpicFolder { world: project.world.clone(), root: project.root.clone(), dir }
    }

    /// The names of all epics, in their order.
    pub fn all(project: &Project) -> Result<Vec<String>, FileError> {
        let disk = &project.world.disk;
        let folders = disk.entries(&project.home_of_specs().join(FOLDER))?.into_iter();
        let mut names: Vec<String> = folders
            .filter(|dir| disk.is_file(&dir.join(EPIC)))
            .filter_map(|dir| Some(dir.file_name()?.to_str()?.to_owned()))
            .filter(|name| is_name(name))
            .collect();
        names.sort();
        Ok(names)
    }

    /// `epic.md`.
    pub fn epic_path(&self) -> PathBuf {
        self.dir.join(EPIC)
    }

    /// The document; `None` if there is none.
    pub fn read_epic(&self, limit: u64) -> Result<Option<Vec<u8>>, FileError> {
        self.read(&self.epic_path(), limit)
    }

    /// `.epic-state.json`; `None` if there is none.
    pub fn read_state(&self) -> Result<Option<Vec<u8>>, FileError> {
        self.read(&self.dir.join(STATE), MAX_SMALL_FILE)
    }

    /// Writes `.epic-state.json`, if it says something else.
    pub fn write_state(&self, text: &[u8]) -> Result<(), FileError> {
        match self.read_state() {
            Ok(Some(there)) if there == text => Ok(()),
            _ => self.world.disk.write(&self.dir.join(STATE), text),
        }
    }

    /// A link that leads out of the project is not followed: what an epic says is
    /// committed.
    fn read(&self, path: &Path, limit: u64) -> Result<Option<Vec<u8>>, FileError> {
        let disk = &self.world.disk;
        match disk.real_path(path) {
            Ok(real) if real.starts_with(&self.root) => disk.read_if_there(&real, limit),
            Ok(_) => {
                let why = io::Error::other("it is a link that leads out of the project");
                Err(FileError::new("read", path, why))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FileError::new("read", path, error)),
        }
    }
}

/// The name of the active epic, if the marker says one.
pub fn current_epic(project: &Project) -> Result<Option<String>, FileError> {
    let marker = project.home_of_specs().join(CURRENT);
    let text = project.world.disk.read_if_there(&marker, MAX_SMALL_FILE)?;
    Ok(text.as_deref().and_then(epic::current))
}

/// Makes an epic the one that is meant when none is named.
pub fn make_epic_active(project: &Project, name: &str) -> Result<(), FileError> {
    if current_epic(project)?.as_deref() == Some(name) {
        return Ok(());
    }
    let marker = project.home_of_specs().join(CURRENT);
    project.world.disk.write(&marker, format!("{name}\n").as_bytes())
}
