//! What lies in a worktree besides the files that git tracks, ignored or not, and how
//! the worktree is put back to it.

use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::files::FileError;
use crate::ports::{Disk, FileInfo};

/// Files and folders that git does not track, at one moment.
#[derive(Debug, Default)]
pub(super) struct Leavings(BTreeMap<PathBuf, Kind>);

/// What tells a file from the one that was there before.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Folder,
    File(FileInfo),
}

impl Leavings {
    /// What is below a folder, but for git's own and for what is to be left alone.
    pub(super) fn below(
        disk: &dyn Disk,
        root: &Path,
        tracked: &HashSet<PathBuf>,
        left_alone: &[PathBuf],
    ) -> Result<Leavings, FileError> {
        let mut found = BTreeMap::new();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            let unreadable = |error| FileError::new("read", &folder, error);
            for path in disk.list(&folder).map_err(unreadable)? {
                let is_gits = path.file_name().is_some_and(|name| name == ".git") && folder == root;
                if is_gits || left_alone.contains(&path) {
                    continue;
                }
                let about =
                    disk.look(&path).map_err(|error| FileError::new("read", &path, error))?;
                if about.is_folder() {
                    folders.push(path.clone());
                }
                if !tracked.contains(&path) {
                    let kind = if about.is_folder() { Kind::Folder } else { Kind::File(about) };
                    found.insert(path, kind);
                }
            }
        }
        Ok(Leavings(found))
    }

    /// The same without what is in a folder.
    pub(super) fn outside(mut self, folder: &Path) -> Leavings {
        self.0.retain(|path, _| !path.starts_with(folder));
        self
    }

    /// Removes what is there now and was not before. Gives the first path that was
    /// there before and is gone or changed: that cannot be put back.
    pub(super) fn put_back(
        &self,
        disk: &dyn Disk,
        now: &Leavings,
    ) -> Result<Option<PathBuf>, FileError> {
        let differs = |(path, kind): &(&PathBuf, &Kind)| now.0.get(*path) != Some(*kind);
        if let Some((path, _)) = self.0.iter().find(differs) {
            return Ok(Some(path.clone()));
        }
        // What is in a folder comes behind it.
        for (path, kind) in now.0.iter().rev().filter(|(path, _)| !self.0.contains_key(*path)) {
            match kind {
                Kind::File(_) => disk.remove(path)?,
                Kind::Folder => match disk.remove_folder(path) {
                    // Something tracked is in it, or something that is left alone.
                    Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {}
                    removed => removed.map_err(|error| FileError::new("remove", path, error))?,
                },
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::files::LocalDisk;

    struct World(tempfile::TempDir);

    impl World {
        fn write(&self, path: &str, text: &str) -> PathBuf {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        }

        fn leavings(&self) -> Leavings {
            let tracked = HashSet::from([self.0.path().join("src/tracked")]);
            Leavings::below(&LocalDisk, self.0.path(), &tracked, &[self.0.path().join("cache")])
                .unwrap()
        }

        fn has(&self, path: &str) -> bool {
            self.0.path().join(path).symlink_metadata().is_ok()
        }
    }

    fn world() -> World {
        let world = World(tempfile::tempdir().unwrap());
        world.write("src/tracked", "tracked");
        world.write(".git", "gitdir: elsewhere");
        world.write("modules/one", "one");
        world.write("cache/warm", "warm");
        world
    }

    #[test]
    fn what_was_not_there_goes_and_everything_else_stays() {
        let world = world();
        let before = world.leavings();
        world.write("out/deep/new", "new");
        world.write("modules/two", "two");
        world.write("cache/more", "more");
        fs::create_dir(world.0.path().join("src/empty")).unwrap();
        assert_eq!(before.put_back(&LocalDisk, &world.leavings()).unwrap(), None);
        for path in ["out", "modules/two", "src/empty"] {
            assert!(!world.has(path), "{path}");
        }
        for path in ["src/tracked", ".git", "modules/one", "cache/warm", "cache/more"] {
            assert!(world.has(path), "{path}");
        }
    }

    #[test]
    fn what_was_there_and_is_changed_or_gone_is_named() {
        let world = world();
        let before = world.leavings();
        let one = world.write("modules/one", "changed");
        let named = before.put_back(&LocalDisk, &world.leavings()).unwrap();
        assert_eq!(named, Some(one.clone()));
        fs::remove_file(&one).unwrap();
        assert_eq!(before.put_back(&LocalDisk, &world.leavings()).unwrap(), Some(one));
    }

    #[test]
    fn a_link_is_removed_and_not_what_it_leads_to() {
        let (world, elsewhere) = (world(), tempfile::tempdir().unwrap());
        fs::write(elsewhere.path().join("mine"), "mine").unwrap();
        let before = world.leavings();
        #[cfg(unix)]
        std::os::unix::fs::symlink(elsewhere.path(), world.0.path().join("link")).unwrap();
        assert_eq!(before.put_back(&LocalDisk, &world.leavings()).unwrap(), None);
        assert!(!world.has("link") && elsewhere.path().join("mine").exists());
    }
}
