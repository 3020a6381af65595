//! The files of a spec: the only module that writes them.
//!
//! A change goes through [`Store::lock`], which first completes whatever a
//! killed process left half-done, and [`Locked::write`], which is one
//! transaction: a journal line, then task file, progress file and state, each
//! by rename, then a line that says it is done. Killed anywhere, the next
//! start ends in the state before it or the state after it.

mod lock;
mod records;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use specum_core::digest::Digest;
use specum_core::guard::Memory;
use specum_core::journal::{self, BeforeAndAfter, Changes, Entry, Record, StateChange};
use specum_core::machine::{Effect, Step};
use specum_core::progress::{self, Note, Section};
use specum_core::state::{self, Corrupt, State};
use specum_core::tasks::{TaskEdit, TaskFile};
use thiserror::Error;

pub use self::lock::{Lock, lock_now};
use self::records::Records;
use crate::clock;
use crate::failpoint;
use crate::files::{self, Durability, FileError};
use crate::project::Spec;

/// The longest task, progress or part file that is worked.
const MAX_TEXT: u64 = 64 * 1024 * 1024;
/// The longest notes of one executor that are merged.
const MAX_PART: u64 = 256 * 1024;
/// How long a check may keep others waiting: a batch of them.
const CHECK_PATIENCE: Duration = Duration::from_secs(3000);
/// How long a writer that does not rename may take to finish its file.
const TORN_WRITE: Duration = Duration::from_secs(2);

/// Why a spec could not be read or changed.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// The state file cannot be used.
    #[error("{} is corrupt: {why}; `specum implement` rebuilds it from tasks.md", path.display())]
    Corrupt {
        /// The state file.
        path: PathBuf,
        /// What is wrong with it.
        why: Corrupt,
    },
    /// A newer version of specum wrote a file.
    #[error("{} has format {found}, this version writes up to {known}: update specum", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// The newest one we write.
        known: u64,
    },
    /// Another process holds the lock.
    #[error("{} is held by another process for more than {seconds} s; `specum doctor` tells more", path.display())]
    Busy {
        /// The lock file.
        path: PathBuf,
        /// How long we waited.
        seconds: u64,
    },
}

/// The files of one spec.
#[derive(Debug, Clone)]
pub struct Store {
    name: String,
    dir: PathBuf,
    /// The project's root.
    root: PathBuf,
    /// The journal as far as it is read.
    records: Arc<Mutex<Records>>,
    durability: Durability,
}

/// A spec as it stands.
#[derive(Debug)]
pub struct View {
    /// `None`: no loop.
    pub state: Option<State>,
    /// The bytes of `tasks.md`; `None`: no such file.
    pub tasks: Option<Vec<u8>>,
}

impl View {
    /// The tasks; none if the file is missing.
    pub fn file(&self) -> TaskFile<'_> {
        TaskFile::scan(self.tasks.as_deref().unwrap_or_default())
    }
}

impl Store {
    /// The files of a spec.
    pub fn of(spec: &Spec) -> Store {
        Store {
            name: spec.name.clone(),
            dir: spec.dir.clone(),
            root: spec.root.clone(),
            records: Arc::default(),
            durability: Durability::Fast,
        }
    }

    /// Lets every change survive a power cut: for whoever works unattended. A
    /// hook cannot wait for the disk.
    pub fn survive_power_cuts(&mut self) {
        self.durability = Durability::Synced;
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> Result<(), FileError> {
        files::write_with(path, bytes, self.durability)
    }

    /// `tasks.md`.
    pub fn tasks_path(&self) -> PathBuf {
        self.dir.join("tasks.md")
    }

    /// `.progress.md`.
    pub fn progress_path(&self) -> PathBuf {
        self.dir.join(".progress.md")
    }

    /// `.ralph-state.json`.
    pub fn state_path(&self) -> PathBuf {
        self.dir.join(".ralph-state.json")
    }

    /// `.ralph-journal.jsonl`.
    pub fn journal_path(&self) -> PathBuf {
        self.dir.join(".ralph-journal.jsonl")
    }

    /// `.ralph.lock`.
    pub fn lock_path(&self) -> PathBuf {
        self.dir.join(".ralph.lock")
    }

    /// `.ralph-hook.json`.
    pub fn memory_path(&self) -> PathBuf {
        self.dir.join(".ralph-hook.json")
    }

    fn part_path(&self, index: usize) -> PathBuf {
        self.dir.join(part_name(index))
    }

    /// Copies an executor's notes from the folder where it wrote them.
    pub fn bring_part(&self, index: usize, from: &Path) -> Result<(), FileError> {
        let source = from.join(part_name(index));
        // A link would bring in a file of somebody else's choice.
        let is_file = std::fs::symlink_metadata(&source).is_ok_and(|found| found.is_file());
        match files::read_if_there(&source, MAX_PART) {
            Ok(Some(text)) if is_file => files::write(&self.part_path(index), &text),
            // Notes that are none, or too long, are not worth an attempt.
            _ => Ok(()),
        }
    }

    /// Where a file really is, so that a rename does not replace a link to it.
    /// A link out of the project is not followed.
    fn writable(&self, path: &Path) -> Result<PathBuf, FileError> {
        match path.canonicalize() {
            Ok(real) if real.starts_with(&self.root) => Ok(real),
            Ok(_) => {
                let why = io::Error::other("it is a link that leads out of the project");
                Err(FileError::new("write", path, why))
            }
            Err(_) => Ok(path.to_owned()),
        }
    }

    /// The state file, `None` if there is none. Needs no lock.
    ///
    /// Other programs may write it in place. One that was touched just now and
    /// cannot be read gets two seconds to become whole; nothing else waits.
    pub fn read_state(&self) -> Option<Result<State, Corrupt>> {
        let started = Instant::now();
        loop {
            let outcome = self.read_state_once()?;
            let torn = outcome.is_err() && self.was_touched_just_now();
            if !torn || started.elapsed() >= TORN_WRITE {
                return Some(outcome);
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn read_state_once(&self) -> Option<Result<State, Corrupt>> {
        match files::read(&self.state_path(), state::MAX_BYTES) {
            Ok(bytes) => Some(State::parse(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.has_state().then(|| Err(Corrupt::Unreadable("a link to nothing".into())))
            }
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                Some(Err(Corrupt::TooLong))
            }
            Err(error) => Some(Err(Corrupt::Unreadable(error.to_string()))),
        }
    }

    /// Whether there is a state, in whatever shape.
    pub fn has_state(&self) -> bool {
        self.state_path().symlink_metadata().is_ok()
    }

    fn was_touched_just_now(&self) -> bool {
        let touched = self.state_path().metadata().and_then(|data| data.modified());
        touched.is_ok_and(|at| {
            SystemTime::from(clock::now()).duration_since(at).is_ok_and(|age| age < TORN_WRITE)
        })
    }

    /// The bytes of the task file, `None` if there is none.
    pub fn read_tasks(&self) -> Result<Option<Vec<u8>>, FileError> {
        files::read_if_there(&self.tasks_path(), MAX_TEXT)
    }

    /// Everything that decides, read without a lock.
    pub fn read(&self) -> Result<View, StoreError> {
        let state = match self.read_state() {
            Some(Err(why)) => {
                return Err(StoreError::Corrupt { path: self.state_path(), why });
            }
            Some(Ok(state)) => Some(state),
            None => None,
        };
        Ok(View { state, tasks: self.read_tasks()? })
    }

    /// The progress file; empty if there is none.
    pub fn read_progress(&self) -> Result<Vec<u8>, FileError> {
        Ok(files::read_if_there(&self.progress_path(), MAX_TEXT)?.unwrap_or_default())
    }

    /// Waits until no other check of this spec runs, and keeps others waiting.
    pub fn check_turn(&self) -> Result<Lock, StoreError> {
        lock::acquire_within(&self.dir.join(".ralph-check.lock"), CHECK_PATIENCE)
    }

    /// The records of the journal.
    pub fn read_journal(&self) -> Result<Arc<Vec<Record>>, FileError> {
        let path = self.journal_path();
        let read = self.records.lock().expect("no reader panics").read(&path);
        read.map_err(|error| FileError::new("read", &path, error))
    }

    /// What the hooks remember.
    pub fn read_memory(&self) -> Memory {
        files::read(&self.memory_path(), state::MAX_BYTES)
            .map(|bytes| Memory::parse(&bytes))
            .unwrap_or_default()
    }

    /// Lets the hooks remember something else. `false` if the memory was new
    /// and another hook was faster.
    pub fn write_memory(&self, before: &Memory, after: &Memory) -> Result<bool, FileError> {
        let path = self.memory_path();
        if before == after {
            return Ok(true);
        }
        if before.owner.is_none() && !path.exists() {
            return files::create(&path, &after.render());
        }
        files::write(&path, &after.render()).map(|()| true)
    }

    /// Whether another process holds the lock at this moment.
    pub fn is_locked(&self) -> bool {
        let path = self.lock_path();
        path.exists() && matches!(lock_now(&path), Err(StoreError::Busy { .. }))
    }

    /// Lets the hooks forget everything.
    pub fn forget_memory(&self) -> Result<(), FileError> {
        files::remove(&self.memory_path())
    }

    /// Takes the lock and completes what a killed process left half-done.
    pub fn lock(&self) -> Result<Locked<'_>, StoreError> {
        let held = lock::acquire(&self.lock_path())?;
        let locked = Locked { store: self, _held: held };
        locked.recover()?;
        Ok(locked)
    }
}

/// A spec that nobody else changes meanwhile.
#[derive(Debug)]
pub struct Locked<'s> {
    store: &'s Store,
    _held: Lock,
}

impl Locked<'_> {
    /// Everything that decides, as it stands under the lock.
    pub fn read(&self) -> Result<View, StoreError> {
        self.store.read()
    }

    /// Writes a step of the machine as one transaction.
    pub fn write_step(&self, entry: Entry, step: &Step) -> Result<(), StoreError> {
        let changes = self.changes(step)?;
        self.write(entry, changes)
    }

    /// Makes sure that there is a progress file for executors to add to.
    pub fn begin_progress(&self) -> Result<(), StoreError> {
        let path = self.store.progress_path();
        if path.exists() {
            return Ok(());
        }
        // Whoever is faster has written the same, or something better.
        files::create(&path, progress::template(&self.store.name, "").as_bytes())?;
        Ok(())
    }

    /// Writes a record that changes no file.
    pub fn record(&self, entry: Entry) -> Result<(), StoreError> {
        self.append(entry, None)
    }

    /// Writes a transaction.
    pub fn write(&self, entry: Entry, mut changes: Changes) -> Result<(), StoreError> {
        self.refuse_newer_format()?;
        // What cannot be carried out must not be announced: every later start
        // would try to complete it.
        if !changes.tasks.is_empty() {
            self.store.writable(&self.store.tasks_path())?;
        }
        self.store.writable(&self.store.progress_path())?;
        if !changes.notes.is_empty() || !changes.retracted.is_empty() {
            let before = self.progress()?;
            let after = edited(&before, &changes.retracted, &changes.notes);
            changes.progress = Some(BeforeAndAfter {
                before: Digest::of(&before).hex(),
                after: Digest::of(&after).hex(),
            });
        }
        failpoint::reached("before the journal");
        self.append(entry, Some(changes.clone()))?;
        failpoint::reached("after the journal");
        self.apply(&changes)?;
        self.append(Entry::Done, None)?;
        failpoint::reached("after the transaction");
        Ok(())
    }

    /// What a step does to the files.
    pub fn changes(&self, step: &Step) -> Result<Changes, StoreError> {
        let mut changes = Changes {
            state: match &step.state {
                Some(state) => StateChange::Write(state.to_object()),
                None => StateChange::Delete,
            },
            ..Changes::default()
        };
        for effect in &step.effects {
            match effect {
                Effect::Edit(edit) => changes.tasks.push(edit.clone()),
                Effect::Note(note) => changes.notes.push(note.clone()),
                Effect::MergeParts(indices) => {
                    for &index in indices {
                        let path = self.store.part_path(index);
                        if let Some(text) = files::read_if_there(&path, MAX_PART)? {
                            let text = String::from_utf8_lossy(&text).trim().to_owned();
                            changes.notes.push(Note { section: Section::Learnings, text });
                            changes.merged_parts.push(index);
                        }
                    }
                }
                Effect::Commit(_) | Effect::Signal(_) => {}
            }
        }
        Ok(changes)
    }

    /// Carries out the changes. Each may have been carried out before.
    fn apply(&self, changes: &Changes) -> Result<(), StoreError> {
        self.apply_to_tasks(&changes.tasks)?;
        self.apply_to_progress(changes)?;
        for &index in &changes.merged_parts {
            files::remove(&self.store.part_path(index))?;
            failpoint::reached("after removing a part");
        }
        match &changes.state {
            StateChange::Keep => {}
            StateChange::Write(object) => {
                // If the disk loses it, the journal has it.
                files::write(&self.store.state_path(), &state::render_object(object))?;
            }
            StateChange::Delete => {
                files::remove(&self.store.state_path())?;
                failpoint::reached("after removing the state");
            }
        }
        Ok(())
    }

    fn apply_to_tasks(&self, edits: &[TaskEdit]) -> Result<(), StoreError> {
        if edits.is_empty() {
            return Ok(());
        }
        let path = self.store.tasks_path();
        let Some(before) = self.store.read_tasks()? else { return Ok(()) };
        let after = TaskEdit::apply_all(edits, &before);
        if after != before {
            self.store.replace(&self.store.writable(&path)?, &after)?;
        }
        Ok(())
    }

    fn progress(&self) -> Result<Vec<u8>, StoreError> {
        let text = files::read_if_there(&self.store.progress_path(), MAX_TEXT)?;
        Ok(text.unwrap_or_else(|| progress::template(&self.store.name, "").into_bytes()))
    }

    fn apply_to_progress(&self, changes: &Changes) -> Result<(), StoreError> {
        let Some(digests) = &changes.progress else { return Ok(()) };
        let now = self.progress()?;
        let found = Digest::of(&now).hex();
        if found == digests.after {
            return Ok(());
        }
        let mut notes = changes.notes.clone();
        if found != digests.before {
            // Somebody has edited the file since the transaction was
            // interrupted; what is in it already is not added again.
            let text = String::from_utf8_lossy(&now).into_owned();
            notes.retain(|note| !text.contains(note.text.trim()));
        }
        let path = self.store.writable(&self.store.progress_path())?;
        Ok(self.store.replace(&path, &edited(&now, &changes.retracted, &notes))?)
    }

    /// Deletes what writers have left that were killed before their rename.
    /// Under the lock nobody else writes here but a hook its memory; a hook
    /// that loses it lets its host stop, and asks again at the next one.
    pub fn remove_temporaries(&self) -> Result<(), StoreError> {
        Ok(files::remove_temporaries(&self.store.dir)?)
    }

    /// Completes the transaction that the journal ends with, if it does.
    fn recover(&self) -> Result<(), StoreError> {
        let Some(changes) = self.unfinished()? else { return Ok(()) };
        self.refuse_newer_format()?;
        self.apply(&changes)?;
        self.append(Entry::Done, None)
    }

    fn unfinished(&self) -> Result<Option<Changes>, StoreError> {
        let path = self.store.journal_path();
        let mut limit = 64 * 1024;
        loop {
            let tail = match files::read_tail(&path, limit) {
                Ok(tail) => tail,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(FileError::new("read", &path, error).into()),
            };
            // A record may be longer than the tail; then more of it is needed.
            let last = journal::last(&tail.bytes);
            if let Some(record) = last.as_ref().filter(|r| r.v > journal::FORMAT_VERSION) {
                let known = journal::FORMAT_VERSION;
                return Err(StoreError::Newer { path, found: record.v, known });
            }
            if tail.whole || last.is_some() {
                return Ok(last.and_then(|record| record.changes));
            }
            limit *= 8;
        }
    }

    fn refuse_newer_format(&self) -> Result<(), StoreError> {
        let newer = |found: u64| StoreError::Newer {
            path: self.store.state_path(),
            found,
            known: state::FORMAT_VERSION,
        };
        match self.store.read_state_once() {
            Some(Ok(state)) if state.is_newer_format() => Err(newer(state.format_version)),
            Some(Err(Corrupt::Newer(found))) => Err(newer(found)),
            _ => Ok(()),
        }
    }

    fn append(&self, entry: Entry, changes: Option<Changes>) -> Result<(), StoreError> {
        let at = clock::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        // A verdict counts; what only tells is on the disk with the next one.
        let durability = match &changes {
            Some(changes) if !changes.tasks.is_empty() || !changes.notes.is_empty() => {
                self.store.durability
            }
            _ => Durability::Fast,
        };
        let record = Record { v: journal::FORMAT_VERSION, at, entry, changes };
        Ok(files::append_line(&self.store.journal_path(), &record.render(), durability)?)
    }
}

fn part_name(index: usize) -> String {
    format!(".progress-task-{index}.md")
}

/// A progress file without some notes and with others.
fn edited(text: &[u8], retracted: &[Note], added: &[Note]) -> Vec<u8> {
    let text = retracted.iter().fold(text.to_vec(), |text, note| progress::retract(&text, note));
    added.iter().fold(text, |text, note| progress::add(&text, note))
}
