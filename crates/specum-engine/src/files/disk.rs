//! The port to files, by the file system.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Durability, FileError, Replacement, Unsynced, lock, sync_together};
use crate::os;
use crate::ports::{Disk, FileInfo, FileKind, Lock, NewContent, OpenFile};

/// The file system.
pub struct LocalDisk;

impl Disk for LocalDisk {
    fn look(&self, path: &Path) -> io::Result<FileInfo> {
        path.symlink_metadata().map(|found| info(&found))
    }

    fn look_behind(&self, path: &Path) -> io::Result<FileInfo> {
        path.metadata().map(|found| info(&found))
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        path.canonicalize()
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        Ok(Box::new(super::open_regular(path)?.0))
    }

    fn open_own(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        Ok(Box::new(super::open_own(path, File::options().read(true))?))
    }

    fn replace(
        &self,
        new: &[NewContent<'_>],
        durability: Durability,
        before: Option<&Path>,
    ) -> Result<(), FileError> {
        let new: Vec<Replacement> = new
            .iter()
            .map(|new| Replacement::new(new.path, new.bytes))
            .collect::<Result<_, _>>()?;
        if durability == Durability::Synced {
            let before = before.map(|path| open_if_there(path).map(|file| (file, path)));
            let before = before.transpose()?;
            let before = before
                .iter()
                .filter_map(|(file, path)| Some(Unsynced { file: file.as_ref()?, path }));
            let files = new.iter().map(Replacement::unsynced).chain(before);
            sync_together(&files.collect::<Vec<_>>())?;
        }
        new.into_iter().try_for_each(Replacement::put_in_place)
    }

    fn create(&self, new: NewContent<'_>) -> Result<bool, FileError> {
        super::create(new.path, new.bytes)
    }

    fn create_private(&self, path: &Path) -> io::Result<bool> {
        if let Some(folder) = path.parent() {
            let mut builder = fs::DirBuilder::new();
            builder.recursive(true);
            os::private_folder(&mut builder);
            builder.create(folder)?;
        }
        let mut options = File::options();
        options.write(true).create_new(true);
        os::private_file(&mut options);
        match options.open(path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn append_line(
        &self,
        path: &Path,
        line: &[u8],
        durability: Durability,
    ) -> Result<(), FileError> {
        super::append_line(path, line, durability)
    }

    fn remove(&self, path: &Path) -> Result<(), FileError> {
        super::remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn make_folder(&self, path: &Path) -> Result<(), FileError> {
        fs::create_dir_all(path).map_err(|error| FileError::new("create", path, error))
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn remove_tree(&self, path: &Path) -> Result<(), FileError> {
        fs::remove_dir_all(path).map_err(|error| FileError::new("remove", path, error))
    }

    fn sync_folder(&self, folder: &Path) -> Result<(), FileError> {
        // The disk may get the names of files much later than the files.
        os::sync_folder(folder).map_err(|error| FileError::new("write", folder, error))
    }

    fn lock(&self, path: &Path, patience: Duration) -> Result<Option<Box<dyn Lock>>, FileError> {
        lock::acquire(path, patience)
    }

    fn is_locked(&self, path: &Path) -> Option<bool> {
        lock::is_held(path)
    }
}

impl OpenFile for File {
    fn info(&self) -> io::Result<FileInfo> {
        self.metadata().map(|found| info(&found))
    }

    fn read(&mut self, start: u64, limit: u64) -> io::Result<Vec<u8>> {
        self.seek(SeekFrom::Start(start))?;
        // With room for the end-of-file probe, so that nothing is moved.
        let length = self.metadata()?.len().saturating_sub(start).min(limit);
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0) + 32);
        self.by_ref().take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

fn info(found: &Metadata) -> FileInfo {
    let kind = match found.file_type() {
        kind if kind.is_file() => FileKind::File,
        kind if kind.is_dir() => FileKind::Folder,
        kind if kind.is_symlink() => FileKind::Link,
        _ => FileKind::Other,
    };
    FileInfo {
        kind,
        length: found.len(),
        identity: os::identity(found),
        modified: found.modified().ok(),
        changed: os::changed(found),
    }
}

fn open_if_there(path: &Path) -> Result<Option<File>, FileError> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileError::new("read", path, error)),
    }
}
