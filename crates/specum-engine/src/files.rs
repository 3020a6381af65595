//! Reading within bounds, writing by rename.
//!
//! A read never waits and never grows beyond its limit: only regular files are
//! opened. A write is a new file in the same folder and a rename, so a reader
//! sees the one or the other and needs no lock.

mod disk;
mod lock;

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread;

use thiserror::Error;

pub use self::disk::LocalDisk;
use crate::{failpoint, os};

/// How the temporary files of a write are called, so that a leftover of a
/// killed process is recognised.
pub const TEMP_PREFIX: &str = ".ralph-tmp-";

/// A file operation that failed, with the file it was about.
#[derive(Debug, Error)]
#[error("cannot {action} {}: {error}", path.display())]
pub struct FileError {
    action: &'static str,
    path: PathBuf,
    /// Named in the message, so no source of its own: it would be shown twice.
    error: io::Error,
}

impl FileError {
    /// An error for a path.
    pub fn new(action: &'static str, path: &Path, error: io::Error) -> Self {
        FileError { action, path: path.to_owned(), error }
    }

    /// What kind of failure it was.
    pub fn kind(&self) -> io::ErrorKind {
        self.error.kind()
    }
}

/// The content of a regular file; an error if it is longer than `limit`.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let (file, length) = open_regular(path)?;
    if length > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("{length} bytes long")));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0) + 32);
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The content of a file, or `None` if there is none.
pub fn read_if_there(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, FileError> {
    match read(path, limit) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileError::new("read", path, error)),
    }
}

/// A file and its length. Opening a pipe would wait for its writer, and a device
/// has no end.
fn open_regular(path: &Path) -> io::Result<(File, u64)> {
    let found = fs::metadata(path)?;
    if found.is_file() {
        Ok((File::open(path)?, found.len()))
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// What becomes of a write when the power goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// It may be lost, and what the file said before with it. ext4 begins to write to
    /// the disk when a rename replaces a file, which takes longer than everything else
    /// that a hook does; this write does without.
    Passing,
    /// It may be lost, as if it had not been made.
    Fast,
    /// It is on the disk before anything follows from it.
    Synced,
}

/// Puts a file in place of another, all at once, with the other's permissions.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    Replacement::new(path, bytes)?.put_in_place(Durability::Fast)
}

/// What is to take the place of a file, written in the same folder.
#[derive(Debug)]
struct Replacement {
    temp: tempfile::NamedTempFile,
    path: PathBuf,
}

impl Replacement {
    /// Writes it; the file itself stays as it is.
    fn new(path: &Path, bytes: &[u8]) -> Result<Replacement, FileError> {
        let temp = prepared(path, bytes).map_err(|error| FileError::new("write", path, error))?;
        Ok(Replacement { temp, path: path.to_owned() })
    }

    /// The same as something that may not be on the disk yet.
    fn unsynced(&self) -> Unsynced<'_> {
        Unsynced { file: self.temp.as_file(), path: &self.path }
    }

    /// Exchanges its name with the file's. A folder would go along as willingly, so it is
    /// left to the rename, which refuses it.
    fn exchanges(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok_and(|found| found.is_file())
            && os::exchange(self.temp.path(), &self.path)
    }

    /// Puts it in place of the file.
    fn put_in_place(self, durability: Durability) -> Result<(), FileError> {
        failpoint::reached("before rename");
        if durability == Durability::Passing && self.exchanges() {
            // What is called like the temporary file is the old content now, and goes
            // with it.
            return Ok(());
        }
        let put = self.temp.persist(&self.path);
        put.map_err(|error| FileError::new("write", &self.path, error.error))?;
        failpoint::reached("after rename");
        Ok(())
    }
}

/// A file whose content may not be on the disk yet.
#[derive(Debug, Clone, Copy)]
struct Unsynced<'f> {
    /// The file.
    file: &'f File,
    /// What it is called in an error.
    path: &'f Path,
}

impl Unsynced<'_> {
    fn sync(self) -> Result<(), FileError> {
        self.file.sync_data().map_err(|error| FileError::new("write", self.path, error))
    }
}

/// Brings files to the disk, all of them at the same time: a file system writes down
/// together what it is asked for together, and otherwise waits for the disk once for
/// each.
fn sync_together(files: &[Unsynced<'_>]) -> Result<(), FileError> {
    let Some((first, others)) = files.split_first() else { return Ok(()) };
    thread::scope(|scope| {
        let beside: Vec<_> = others
            .iter()
            .map(|file| {
                let started = thread::Builder::new().spawn_scoped(scope, || file.sync());
                // A limit on threads only makes it take longer.
                started.map_err(|_| file)
            })
            .collect();
        let first = first.sync();
        beside.into_iter().fold(first, |before, file| {
            let synced = match file {
                Ok(thread) => thread.join().expect("a sync does not panic"),
                Err(file) => file.sync(),
            };
            before.and(synced)
        })
    })
}

/// Creates a file, all at once; `false` if it is there already.
fn create(path: &Path, bytes: &[u8]) -> Result<bool, FileError> {
    let failed = |error: io::Error| FileError::new("create", path, error);
    match prepared(path, bytes).map_err(failed)?.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed(error.error)),
    }
}

/// Deletes what writers in a folder have left that were killed before their
/// rename. Only where it is known that no other process writes there now.
pub fn remove_temporaries(dir: &Path) -> Result<(), FileError> {
    let entries = entries(dir)?.into_iter();
    entries.filter(|path| is_temporary(path)).try_for_each(|path| remove(&path))
}

/// What is in a folder; nothing if there is no such folder. One that cannot be read
/// may hold anything, so it is not an empty one.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let listed = fs::read_dir(folder);
    let listed = listed.and_then(|all| all.map(|entry| Ok(entry?.path())).collect());
    of_folder(folder, listed)
}

/// What is in a folder that was listed.
pub(crate) fn of_folder(
    folder: &Path,
    listed: io::Result<Vec<PathBuf>>,
) -> Result<Vec<PathBuf>, FileError> {
    match listed {
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(Vec::new())
        }
        listed => listed.map_err(|error| FileError::new("list", folder, error)),
    }
}

/// Whether a file is one that is not renamed yet.
pub fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(TEMP_PREFIX))
}

fn prepared(path: &Path, bytes: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMP_PREFIX);
    os::as_any_file(&mut builder);
    let mut temp = builder.tempfile_in(dir)?;
    if let Ok(old) = fs::metadata(path) {
        temp.as_file().set_permissions(old.permissions())?;
    }
    failpoint::write_all(&mut temp, bytes)?;
    Ok(temp)
}

/// Adds a line at the end of a file, in one write. A torn line before it is
/// ended first, so that it cannot swallow this one.
fn append_line(path: &Path, line: &[u8], durability: Durability) -> Result<(), FileError> {
    let append = || -> io::Result<()> {
        let mut file = open_own(path, File::options().read(true).append(true).create(true))?;
        let mut bytes = Vec::with_capacity(line.len() + 1);
        if file.metadata()?.len() > 0 {
            file.seek(SeekFrom::End(-1))?;
            let mut last = [0];
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                bytes.push(b'\n');
            }
        }
        bytes.extend_from_slice(line);
        failpoint::write_all(&mut file, &bytes)?;
        if durability == Durability::Synced { file.sync_data() } else { Ok(()) }
    };
    append().map_err(|error| FileError::new("write", path, error))
}

/// Opens a file that is ours alone. A link in its place is not followed, because
/// a repository may bring one that leads anywhere; a pipe is not waited for.
pub fn open_own(path: &Path, options: &mut fs::OpenOptions) -> io::Result<File> {
    os::no_follow(options);
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// Deletes a file that may already be gone.
pub fn remove(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FileError::new("delete", path, error))
        }
        _ => Ok(()),
    }
}
