//! The port to files, by the file system.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use super::{Durability, FileError, Replacement, Unsynced, lock, sync_together};
use crate::os;
use crate::ports::{Disk, FileInfo, FileKind, Lock, NewContent, OpenFile};

/// Room for so much is made without asking how long a file is.
const SMALL: u64 = 64 * 1024;

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

    fn real_path_below(&self, folder: &Path, path: &Path) -> io::Result<PathBuf> {
        match without_links(folder, path).filter(|_| os::NAMES_ARE_EXACT) {
            Some(real) => Ok(real),
            None => self.real_path(path),
        }
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        Ok(Box::new(DiskFile::new(super::open_regular(path)?.0)))
    }

    fn open_own(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        Ok(Box::new(DiskFile::new(super::open_own(path, File::options().read(true))?)))
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
        new.into_iter().try_for_each(|new| new.put_in_place(durability))
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

/// A file that is being read.
struct DiskFile {
    file: File,
    /// Where the next byte is read from.
    at: u64,
}

impl DiskFile {
    fn new(file: File) -> DiskFile {
        DiskFile { file, at: 0 }
    }
}

impl OpenFile for DiskFile {
    fn info(&self) -> io::Result<FileInfo> {
        self.file.metadata().map(|found| info(&found))
    }

    fn read(&mut self, start: u64, limit: u64) -> io::Result<Vec<u8>> {
        // A hook is started for every stop, so no call of the system is made in vain.
        if start != self.at {
            self.file.seek(SeekFrom::Start(start))?;
            self.at = start;
        }
        let length = match limit {
            ..=SMALL => limit,
            _ => self.file.metadata()?.len().saturating_sub(start).min(limit),
        };
        // With room for the end-of-file probe, so that nothing is moved.
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0) + 32);
        let read = self.file.by_ref().take(limit).read_to_end(&mut bytes);
        self.at += bytes.len() as u64;
        read?;
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

/// A path below a folder, if everything on the way from there is in place and no link.
fn without_links(folder: &Path, path: &Path) -> Option<PathBuf> {
    let mut real = folder.to_path_buf();
    for component in path.strip_prefix(folder).ok()?.components() {
        let Component::Normal(name) = component else { return None };
        real.push(name);
        real.symlink_metadata().ok().filter(|found| !found.is_symlink())?;
    }
    Some(real)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_real_path_below_a_folder_is_the_one_that_the_system_tells() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("specs/a/deep")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        symlink("specs/a", root.join("link")).unwrap();
        symlink("/", root.join("out")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        for path in [
            "",
            "specs",
            "specs/",
            "./specs/a",
            "specs/./a/deep",
            "specs/a/../a",
            "..",
            "/",
            "file",
            "file/x",
            "gone",
            "specs/gone/x",
            "link",
            "link/deep",
            "out",
            "out/proc",
            "dangling",
        ] {
            let path = root.join(path);
            let told = path.canonicalize().map_err(|error| error.kind());
            let found = LocalDisk.real_path_below(&root, &path).map_err(|error| error.kind());
            assert_eq!(found, told, "{path:?}");
        }
        assert!(without_links(&root, &root.join("specs/a")).is_some());
    }

    #[test]
    fn a_passing_write_replaces_a_file_or_makes_one_and_leaves_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let path = &place.path().join("memory");
        for bytes in [&b"one"[..], b"two"] {
            LocalDisk.replace(&[NewContent { path, bytes }], Durability::Passing, None).unwrap();
            assert_eq!(fs::read(path).unwrap(), bytes);
            assert_eq!(LocalDisk.list(place.path()).unwrap(), std::slice::from_ref(path));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn two_files_exchange_their_names_if_both_are_there() {
        let place = tempfile::tempdir().unwrap();
        let (one, two) = (place.path().join("one"), place.path().join("two"));
        fs::write(&one, "1").unwrap();
        assert!(!os::exchange(&one, &two));
        fs::write(&two, "2").unwrap();
        assert!(os::exchange(&one, &two));
        assert_eq!((fs::read(&one).unwrap(), fs::read(&two).unwrap()), (b"2".into(), b"1".into()));
    }

    #[test]
    fn a_folder_that_cannot_be_read_is_not_an_empty_one() {
        let place = tempfile::tempdir().unwrap();
        let (disk, in_circles) = (&LocalDisk as &dyn Disk, place.path().join("in-circles"));
        symlink(&in_circles, &in_circles).unwrap();
        assert!(disk.entries(&in_circles).is_err());
        let error = super::super::entries(&in_circles).unwrap_err().to_string();
        assert!(error.contains("cannot list") && error.contains("in-circles"), "{error}");
        fs::write(place.path().join("file"), "").unwrap();
        for none in ["gone", "gone/below", "file"].map(|name| place.path().join(name)) {
            assert_eq!(disk.entries(&none).unwrap(), [""; 0].map(PathBuf::from), "{none:?}");
        }
        assert_eq!(disk.entries(place.path()).unwrap().len(), 2);
    }

    #[test]
    fn a_file_is_read_from_wherever_it_is_asked_for() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        let text: Vec<u8> = (0..200_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        fs::write(&path, &text).unwrap();
        let mut file = LocalDisk.open(&path).unwrap();
        let most = 3 * SMALL;
        for (start, limit) in [(0, 1), (1, 9), (0, 2), (SMALL, SMALL), (5, most), (199_999, most)] {
            let to = text.len().min((start + limit) as usize);
            assert_eq!(file.read(start, limit).unwrap(), text[start as usize..to], "{start}");
        }
        assert_eq!(file.read(300_000, 10).unwrap(), b"");
        assert_eq!((&LocalDisk as &dyn Disk).read(&path, 1 << 20).unwrap(), text);
    }
}
