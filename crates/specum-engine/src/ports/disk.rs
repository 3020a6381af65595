//! The port to files.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::files::{self, Durability, FileError};

/// What is known about a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileInfo {
    /// What it is.
    pub kind: FileKind,
    /// How long it is.
    pub length: u64,
    /// Tells it from another one that has taken its name.
    pub identity: u64,
    /// When it was written last.
    pub modified: Option<SystemTime>,
    /// When anything about it was changed last, which nobody can set back; `None`
    /// where the system does not tell.
    pub changed: Option<SystemTime>,
}

impl FileInfo {
    /// Whether it is a regular file.
    pub fn is_file(&self) -> bool {
        self.kind == FileKind::File
    }

    /// Whether it is a folder.
    pub fn is_folder(&self) -> bool {
        self.kind == FileKind::Folder
    }
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A pipe, a device and so on.
    Other,
}

/// The content that a file is to have.
#[derive(Debug, Clone, Copy)]
pub struct NewContent<'c> {
    /// The file.
    pub path: &'c Path,
    /// All of it.
    pub bytes: &'c [u8],
}

/// Files. Every write is all or nothing, and a reader needs no lock; only
/// [`Disk::append_line`] lets a file grow in place.
pub trait Disk: Send + Sync {
    /// What is at a path. A link is not followed.
    fn look(&self, path: &Path) -> io::Result<FileInfo>;
    /// What a path leads to.
    fn look_behind(&self, path: &Path) -> io::Result<FileInfo>;
    /// A path without any link in it.
    fn real_path(&self, path: &Path) -> io::Result<PathBuf>;
    /// The same for a path below a folder whose own path has no link in it.
    fn real_path_below(&self, _folder: &Path, path: &Path) -> io::Result<PathBuf> {
        self.real_path(path)
    }
    /// The paths in a folder.
    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>>;
    /// Opens a regular file to be read. A link is followed, a pipe is not waited for.
    fn open(&self, path: &Path) -> io::Result<Box<dyn OpenFile>>;
    /// The same for a file that is ours alone: a link in its place is not followed,
    /// because a repository may bring one that leads anywhere.
    fn open_own(&self, path: &Path) -> io::Result<Box<dyn OpenFile>>;
    /// Gives files new contents, in this order, each by a rename; with
    /// [`Durability::Synced`] all of them, and `before`, are on the disk before the
    /// first one is in its place.
    fn replace(
        &self,
        new: &[NewContent<'_>],
        durability: Durability,
        before: Option<&Path>,
    ) -> Result<(), FileError>;
    /// Creates a file with its content; `false` if there is one already.
    fn create(&self, new: NewContent<'_>) -> Result<bool, FileError>;
    /// Creates an empty file, and the folders above it, that only this user may read;
    /// `false` if there is one already.
    fn create_private(&self, path: &Path) -> io::Result<bool>;
    /// Adds a line at the end of a file, in one write. A torn line before it is ended
    /// first, so that it cannot swallow this one.
    fn append_line(
        &self,
        path: &Path,
        line: &[u8],
        durability: Durability,
    ) -> Result<(), FileError>;
    /// Deletes a file that may already be gone.
    fn remove(&self, path: &Path) -> Result<(), FileError>;
    /// Gives a file or a folder another name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Makes a folder, and those above it.
    fn make_folder(&self, path: &Path) -> Result<(), FileError>;
    /// Removes a folder that is empty.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;
    /// Removes a folder with everything in it.
    fn remove_tree(&self, path: &Path) -> Result<(), FileError>;
    /// Lets renames and deletions in a folder survive a power cut.
    fn sync_folder(&self, folder: &Path) -> Result<(), FileError>;
    /// Takes a lock, and waits for its holder at most for so long; `None` if
    /// that was not enough.
    fn lock(&self, path: &Path, patience: Duration) -> Result<Option<Box<dyn Lock>>, FileError>;
    /// Whether a lock is held; `None` if that cannot be told. The file is not
    /// created.
    fn is_locked(&self, path: &Path) -> Option<bool>;
}

/// A file that is being read, whatever happens to its name meanwhile.
pub trait OpenFile {
    /// What is known about it.
    fn info(&self) -> io::Result<FileInfo>;
    /// At most `limit` bytes from `start` on.
    fn read(&mut self, start: u64, limit: u64) -> io::Result<Vec<u8>>;
}

/// A lock, held until dropped, or until the process ends.
pub trait Lock: Send {
    /// Writes into the file for those who find it locked.
    fn note(&mut self, bytes: &[u8]) -> io::Result<()>;
}

/// The end of a file.
#[derive(Debug)]
pub struct FileTail {
    /// The last bytes.
    pub bytes: Vec<u8>,
    /// Whether they are the whole file.
    pub whole: bool,
    /// The first byte of the file.
    pub first: Option<u8>,
}

impl dyn Disk + '_ {
    /// The content of a regular file; an error if it is longer than `limit`.
    pub fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        let mut file = self.open(path)?;
        let length = file.info()?.length;
        if length > limit {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("{length} bytes long"),
            ));
        }
        // To its end, wherever that is, if the system does not tell how long it is.
        file.read(0, if length > 0 { length } else { limit })
    }

    /// The same, or `None` if there is no such file.
    pub fn read_if_there(&self, path: &Path, limit: u64) -> Result<Option<Vec<u8>>, FileError> {
        match self.read(path, limit) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FileError::new("read", path, error)),
        }
    }

    /// The last `limit` bytes of a regular file.
    pub fn read_tail(&self, path: &Path, limit: u64) -> io::Result<FileTail> {
        let mut file = self.open(path)?;
        let length = file.info()?.length;
        let first = file.read(0, 1)?.first().copied();
        let bytes = file.read(length.saturating_sub(limit), limit)?;
        Ok(FileTail { bytes, whole: length <= limit, first })
    }

    /// Puts a file in place of another, all at once.
    pub fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), FileError> {
        self.replace(&[NewContent { path, bytes }], Durability::Fast, None)
    }

    /// Whether a path leads to something.
    pub fn exists(&self, path: &Path) -> bool {
        self.look_behind(path).is_ok()
    }

    /// Whether a path leads to a folder.
    pub fn is_folder(&self, path: &Path) -> bool {
        self.look_behind(path).is_ok_and(|found| found.is_folder())
    }

    /// Whether a path leads to a regular file.
    pub fn is_file(&self, path: &Path) -> bool {
        self.look_behind(path).is_ok_and(|found| found.is_file())
    }

    /// What is in a folder; nothing if there is no such folder. One that cannot be read
    /// is not an empty one.
    pub fn entries(&self, folder: &Path) -> Result<Vec<PathBuf>, FileError> {
        files::of_folder(folder, self.list(folder))
    }

    /// Deletes what writers in a folder have left that were killed before their rename.
    /// Only where it is known that no other process writes there now.
    pub fn remove_temporaries(&self, folder: &Path) -> Result<(), FileError> {
        let entries = self.entries(folder)?.into_iter();
        entries.filter(|path| files::is_temporary(path)).try_for_each(|path| self.remove(&path))
    }
}
