//! A disk in memory, which can die between any two writes.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::ops::Bound;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, SystemTime};

use crate::files::{Durability, FileError};
use crate::os;
use crate::ports::{Clock, Disk, FileInfo, FileKind, Lock, NewContent, OpenFile};

/// What a thread unwinds with when the machine dies under it.
#[derive(Debug)]
pub struct Died;

/// Files and folders in memory, without links. Clones are the same disk.
#[derive(Clone)]
pub struct MemoryDisk {
    clock: Arc<dyn Clock>,
    shelf: Arc<Mutex<Shelf>>,
}

/// What is on a disk.
#[derive(Default)]
struct Shelf {
    /// By the bytes of their paths, so that what is in a folder stands together.
    nodes: BTreeMap<Vec<u8>, Node>,
    identities: u64,
    locked: HashSet<Vec<u8>>,
    /// How often a file was opened.
    opened: u64,
    /// How many more writes the machine lives to see.
    lives_for: Option<u32>,
    /// How much of the last line is written then, in percent.
    tears_at: usize,
    is_dead: bool,
    /// The folder in which nothing of a loop is written without this lock.
    guarded: Option<(Vec<u8>, Vec<u8>)>,
    /// The first file that was.
    unguarded: Option<PathBuf>,
}

/// The files of a loop that are written under its lock.
const GUARDED: [&str; 4] =
    ["tasks.md", ".progress.md", ".ralph-state.json", ".ralph-journal.jsonl"];

impl Shelf {
    /// Notes that a file is written.
    fn look_after(&mut self, path: &Path) {
        let Some((folder, lock)) = &self.guarded else { return };
        let is_of_loop = path.parent().is_some_and(|above| key(above) == folder)
            && path.file_name().is_some_and(|name| GUARDED.iter().any(|file| name == *file));
        if is_of_loop && !self.locked.contains(lock) {
            self.unguarded.get_or_insert_with(|| path.to_owned());
        }
    }
}

#[derive(Clone)]
struct Node {
    /// `None` for a folder.
    bytes: Option<Arc<Vec<u8>>>,
    identity: u64,
    modified: SystemTime,
}

impl MemoryDisk {
    /// An empty disk, whose files have the times of this clock.
    pub fn new(clock: Arc<dyn Clock>) -> MemoryDisk {
        let disk = MemoryDisk { clock, shelf: Arc::default() };
        disk.add_folders(&mut disk.shelf(), Some(Path::new("/")));
        disk
    }

    /// Lets the machine die when so many more writes are made, a line being torn after
    /// so many percent of it; `None` lets it live.
    pub fn live_for(&self, writes: Option<u32>, tears_at: usize) {
        let mut shelf = self.shelf();
        (shelf.lives_for, shelf.tears_at) = (writes, tears_at);
    }

    /// Starts the machine again: all processes on it are gone, and so are their
    /// locks.
    pub fn start_again(&self) {
        let mut shelf = self.shelf();
        shelf.is_dead = false;
        shelf.lives_for = None;
        shelf.locked.clear();
    }

    /// Lets the machine die now.
    pub fn die(&self) {
        self.shelf().is_dead = true;
    }

    /// From now on nothing of the loop in a folder is to be written without its lock.
    pub fn guard(&self, folder: &Path, lock: &str) {
        let lock = folder.join(lock);
        self.shelf().guarded = Some((key(folder).to_vec(), key(&lock).to_vec()));
    }

    /// The first file that was written all the same.
    pub fn unguarded(&self) -> Option<PathBuf> {
        self.shelf().unguarded.clone()
    }

    /// How often a file was opened.
    pub fn opened(&self) -> u64 {
        self.shelf().opened
    }

    /// The content of a file, whatever becomes of the machine.
    pub fn content(&self, path: &Path) -> Option<Vec<u8>> {
        let shelf = self.shelf();
        let node = shelf.nodes.get(key(path))?;
        node.bytes.as_ref().map(|bytes| bytes.to_vec())
    }

    /// Which file it is, and its content, whatever becomes of the machine.
    pub fn peek(&self, path: &Path) -> Option<(u64, Arc<Vec<u8>>)> {
        let shelf = self.shelf();
        let node = shelf.nodes.get(key(path))?;
        Some((node.identity, Arc::clone(node.bytes.as_ref()?)))
    }

    /// Writes a file as another program would, with the folders above it.
    pub fn put(&self, path: &Path, bytes: &[u8]) {
        let mut shelf = self.shelf();
        self.add_folders(&mut shelf, path.parent());
        let node = self.node(&mut shelf, Some(bytes.to_vec()));
        shelf.nodes.insert(key(path).to_vec(), node);
    }

    /// Deletes a file as another program would.
    pub fn delete(&self, path: &Path) {
        self.shelf().nodes.remove(key(path));
    }

    /// The files below a folder, with their content, by their path from there.
    pub fn files_below(&self, folder: &Path) -> BTreeMap<String, Arc<Vec<u8>>> {
        let prefix = inside(folder);
        let shelf = self.shelf();
        let below = shelf.nodes.range::<Vec<u8>, _>((Bound::Excluded(&prefix), Bound::Unbounded));
        below
            .take_while(|(path, _)| path.starts_with(&prefix))
            .filter_map(|(path, node)| {
                let name = String::from_utf8_lossy(&path[prefix.len()..]).into_owned();
                Some((name, Arc::clone(node.bytes.as_ref()?)))
            })
            .collect()
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().expect("no holder panics")
    }

    /// The disk for a process on the machine, if it lives.
    fn alive(&self) -> io::Result<MutexGuard<'_, Shelf>> {
        let shelf = self.shelf();
        if !shelf.is_dead {
            return Ok(shelf);
        }
        drop(shelf);
        if thread::panicking() {
            return Err(io::Error::other("the machine is dead"));
        }
        panic::resume_unwind(Box::new(Died));
    }

    /// The same for a write: the machine may die just before it.
    fn writing(&self) -> io::Result<MutexGuard<'_, Shelf>> {
        let mut shelf = self.alive()?;
        match &mut shelf.lives_for {
            Some(0) => {
                shelf.is_dead = true;
                drop(shelf);
                return self.alive();
            }
            Some(writes) => *writes -= 1,
            None => {}
        }
        Ok(shelf)
    }

    fn node(&self, shelf: &mut Shelf, bytes: Option<Vec<u8>>) -> Node {
        shelf.identities += 1;
        let modified = SystemTime::from(self.clock.now());
        Node { bytes: bytes.map(Arc::new), identity: shelf.identities, modified }
    }

    fn add_folders(&self, shelf: &mut Shelf, folder: Option<&Path>) {
        for folder in folder.into_iter().flat_map(Path::ancestors) {
            if shelf.nodes.contains_key(key(folder)) {
                return;
            }
            let node = self.node(shelf, None);
            shelf.nodes.insert(key(folder).to_vec(), node);
        }
    }

    /// Puts a file into a folder that is there.
    fn place(&self, shelf: &mut Shelf, path: &Path, bytes: Vec<u8>) -> io::Result<()> {
        let is_folder =
            |path: &Path| shelf.nodes.get(key(path)).is_some_and(|node| node.bytes.is_none());
        if !path.parent().is_some_and(is_folder) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let node = self.node(shelf, Some(bytes));
        shelf.nodes.insert(key(path).to_vec(), node);
        Ok(())
    }
}

fn key(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

/// What the paths in a folder begin with.
fn inside(folder: &Path) -> Vec<u8> {
    let mut prefix = key(folder).to_vec();
    if !prefix.ends_with(b"/") {
        prefix.push(b'/');
    }
    prefix
}

impl Node {
    fn info(&self) -> FileInfo {
        FileInfo {
            kind: if self.bytes.is_some() { FileKind::File } else { FileKind::Folder },
            length: self.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64),
            identity: self.identity,
            modified: Some(self.modified),
            changed: Some(self.modified),
        }
    }
}

impl OpenFile for Node {
    fn info(&self) -> io::Result<FileInfo> {
        Ok(Node::info(self))
    }

    fn read(&mut self, start: u64, limit: u64) -> io::Result<Vec<u8>> {
        let bytes = self.bytes.as_ref().ok_or(io::ErrorKind::IsADirectory)?;
        let at = |place: u64| usize::try_from(place).unwrap_or(usize::MAX).min(bytes.len());
        Ok(bytes[at(start)..at(start.saturating_add(limit))].to_vec())
    }
}

/// A lock of a process on this machine.
struct MemoryLock {
    disk: MemoryDisk,
    path: PathBuf,
}

impl Lock for MemoryLock {
    fn note(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut shelf = self.disk.alive()?;
        self.disk.place(&mut shelf, &self.path, bytes.to_vec())
    }
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.disk.shelf().locked.remove(key(&self.path));
    }
}

impl Disk for MemoryDisk {
    fn look(&self, path: &Path) -> io::Result<FileInfo> {
        let shelf = self.alive()?;
        shelf.nodes.get(key(path)).map(Node::info).ok_or(io::ErrorKind::NotFound.into())
    }

    fn look_behind(&self, path: &Path) -> io::Result<FileInfo> {
        self.look(path)
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        self.look(path).map(|_| path.to_owned())
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.look(folder)?;
        let prefix = inside(folder);
        let shelf = self.alive()?;
        let below = shelf.nodes.range::<Vec<u8>, _>((Bound::Excluded(&prefix), Bound::Unbounded));
        Ok(below
            .take_while(|(path, _)| path.starts_with(&prefix))
            .filter(|(path, _)| !path[prefix.len()..].contains(&b'/'))
            .map(|(path, _)| PathBuf::from(os::text(path)))
            .collect())
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        let mut shelf = self.alive()?;
        shelf.opened += 1;
        let node = shelf.nodes.get(key(path)).ok_or(io::ErrorKind::NotFound)?;
        match node.bytes {
            Some(_) => Ok(Box::new(node.clone())),
            None => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
        }
    }

    fn open_own(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        self.open(path)
    }

    fn replace(
        &self,
        new: &[NewContent<'_>],
        _: Durability,
        _: Option<&Path>,
    ) -> Result<(), FileError> {
        for NewContent { path, bytes } in new {
            let write = || {
                let mut shelf = self.writing()?;
                shelf.look_after(path);
                self.place(&mut shelf, path, bytes.to_vec())
            };
            write().map_err(|error| FileError::new("write", path, error))?;
        }
        Ok(())
    }

    fn create(&self, new: NewContent<'_>) -> Result<bool, FileError> {
        if self.look(new.path).is_ok() {
            return Ok(false);
        }
        self.replace(&[new], Durability::Fast, None).map(|()| true)
    }

    fn create_private(&self, path: &Path) -> io::Result<bool> {
        let mut shelf = self.writing()?;
        if shelf.nodes.contains_key(key(path)) {
            return Ok(false);
        }
        self.add_folders(&mut shelf, path.parent());
        self.place(&mut shelf, path, Vec::new()).map(|()| true)
    }

    fn append_line(&self, path: &Path, line: &[u8], _: Durability) -> Result<(), FileError> {
        let append = || -> io::Result<()> {
            let mut shelf = self.alive()?;
            shelf.look_after(path);
            let known = shelf.nodes.get_mut(key(path));
            let Some(node) = known.filter(|node| node.bytes.is_some()) else {
                drop(shelf);
                return self.place(&mut *self.writing()?, path, line.to_vec());
            };
            let before = node.bytes.as_ref().map_or(&[][..], |bytes| bytes);
            let end = if before.is_empty() || before.ends_with(b"\n") { &b""[..] } else { b"\n" };
            let mut added = [end, line].concat();
            let dies = shelf.lives_for == Some(0);
            if dies {
                added.truncate(added.len() * shelf.tears_at / 100);
                shelf.is_dead = true;
            } else if let Some(writes) = &mut shelf.lives_for {
                *writes -= 1;
            }
            let modified = SystemTime::from(self.clock.now());
            if let Some(node) = shelf.nodes.get_mut(key(path)) {
                node.modified = modified;
                if let Some(bytes) = &mut node.bytes {
                    Arc::make_mut(bytes).extend_from_slice(&added);
                }
            }
            drop(shelf);
            self.alive().map(drop)
        };
        append().map_err(|error| FileError::new("write", path, error))
    }

    fn remove(&self, path: &Path) -> Result<(), FileError> {
        let remove = || -> io::Result<()> {
            // What is not there is not removed, which is no write.
            if self.alive()?.nodes.contains_key(key(path)) {
                self.writing()?.nodes.remove(key(path));
            }
            Ok(())
        };
        remove().map_err(|error| FileError::new("delete", path, error))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut shelf = self.writing()?;
        let node = shelf.nodes.remove(key(from)).ok_or(io::ErrorKind::NotFound)?;
        shelf.nodes.insert(key(to).to_vec(), node);
        let prefix = inside(from);
        let is_below = |path: &&Vec<u8>| path.starts_with(&prefix);
        let below: Vec<Vec<u8>> = shelf.nodes.keys().filter(is_below).cloned().collect();
        for path in below {
            if let Some(node) = shelf.nodes.remove(&path) {
                let moved = [&inside(to), &path[prefix.len()..]].concat();
                shelf.nodes.insert(moved, node);
            }
        }
        Ok(())
    }

    fn make_folder(&self, path: &Path) -> Result<(), FileError> {
        let failed = |error| FileError::new("create", path, error);
        if self.look(path).is_err() {
            let mut shelf = self.writing().map_err(failed)?;
            self.add_folders(&mut shelf, Some(path));
        }
        Ok(())
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        if !self.list(path)?.is_empty() {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        self.writing()?.nodes.remove(key(path));
        Ok(())
    }

    fn remove_tree(&self, path: &Path) -> Result<(), FileError> {
        let failed = |error| FileError::new("remove", path, error);
        let mut shelf = self.writing().map_err(failed)?;
        let prefix = inside(path);
        shelf.nodes.retain(|node, _| node != key(path) && !node.starts_with(&prefix));
        Ok(())
    }

    fn sync_folder(&self, _: &Path) -> Result<(), FileError> {
        Ok(())
    }

    fn lock(&self, path: &Path, _: Duration) -> Result<Option<Box<dyn Lock>>, FileError> {
        let failed = |error| FileError::new("lock", path, error);
        let mut shelf = self.alive().map_err(failed)?;
        if !shelf.locked.insert(key(path).to_vec()) {
            return Ok(None);
        }
        if !shelf.nodes.contains_key(key(path)) {
            self.place(&mut shelf, path, Vec::new()).map_err(failed)?;
        }
        Ok(Some(Box::new(MemoryLock { disk: self.clone(), path: path.to_owned() })))
    }

    fn is_locked(&self, path: &Path) -> Option<bool> {
        let shelf = self.alive().ok()?;
        shelf.nodes.contains_key(key(path)).then(|| shelf.locked.contains(key(path)))
    }
}
