//! The projects of this machine in which a loop was begun, one small file each in specum's
//! own state folder: hints for whoever wants to show them all, and never trusted.

use std::path::PathBuf;

use specum_core::digest::Digest;

use crate::ports::World;
use crate::project::Project;

/// The longest path that is read.
const MAX_PATH: u64 = 4096;
/// So many are shown.
const MOST: usize = 500;

/// Notes that a loop was begun in a project. A loop is not worth less without the note.
pub fn remember(project: &Project) {
    let world = &project.world;
    let (Some(home), Some(root)) = (&world.state_home, project.root.to_str()) else { return };
    let name = Digest::of(root.as_bytes()).hex();
    let file = home.join("projects").join(name);
    if world.disk.create_private(&file).unwrap_or(false) {
        let _ = world.disk.write(&file, root.as_bytes());
    }
}

/// The projects that were noted and are there.
pub fn known(world: &World) -> Vec<PathBuf> {
    let Some(home) = &world.state_home else { return Vec::new() };
    let files = world.disk.list(&home.join("projects")).unwrap_or_default();
    let root = |file: PathBuf| {
        let text = world.disk.read(&file, MAX_PATH).ok()?;
        let root = PathBuf::from(String::from_utf8(text).ok()?);
        let is_there = root.is_absolute() && world.disk.is_folder(&root);
        is_there.then(|| Project::find(world, &root, None).map(|project| project.root))?
    };
    files.into_iter().take(MOST).filter_map(root).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_known_once_and_as_long_as_it_is_there() {
        let place = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(place.path()).unwrap();
        let mut world = World::real();
        world.state_home = Some(base.join("state"));
        assert_eq!(known(&world), Vec::<PathBuf>::new());
        let root = base.join("one");
        std::fs::create_dir_all(root.join("specs")).unwrap();
        let project = Project::at(&world, root.clone());
        remember(&project);
        remember(&project);
        std::fs::write(base.join("state/projects/x"), "not/absolute").unwrap();
        std::fs::write(base.join("state/projects/y"), [0xff, 0xfe]).unwrap();
        assert_eq!(known(&world), std::slice::from_ref(&root));
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(known(&world), Vec::<PathBuf>::new());
    }
}
