//! The files of a spec: the only module that writes them.
//!
//! A change goes through [`Store::lock`], which first completes whatever a
//! killed process left half-done, and [`Locked::write`], which is one
//! transaction: a journal line, then task file, progress file and state, each
//! by rename, then a line that says it is done. Killed anywhere, the next
//! start ends in the state before it or the state after it.

mod backup;
mod epic;
mod folder;
mod marker;
mod records;
mod segments;
mod transaction;

use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use specum_core::attempt::Ledger;
use specum_core::event::{Numbering, RunId};
use specum_core::guard::Memory;
use specum_core::journal::{self, Record};
use specum_core::owner::{Beat, Owner};
use specum_core::plan_record::PlanRecord;
use specum_core::spec::Doc;
use specum_core::state::{self, Corrupt, State};
use specum_core::tasks::{TaskFile, TaskText};
use thiserror::Error;

use self::backup::Backup;
pub use self::epic::{EpicFolder, current_epic, make_epic_active};
pub use self::folder::create;
pub use self::marker::{make_active, move_to_trash};
use self::records::Records;
pub use self::transaction::Locked;
use crate::documents::TRACE_FILE;
use crate::files::{Durability, FileError};
use crate::ports::{Disk, Lock, NewContent, World};
use crate::project::Spec;

/// The longest task, progress or part file that is worked.
pub(crate) const MAX_TEXT: u64 = 64 * 1024 * 1024;
/// The longest notes of one executor that are merged.
const MAX_PART: u64 = 256 * 1024;
/// A transaction takes milliseconds; a holder beyond this is stuck.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);
/// How long a check may keep others waiting: a batch of them.
const CHECK_PATIENCE: Duration = Duration::from_secs(3000);
/// How long a run waits for those who look whether there is one.
const RUN_PATIENCE: Duration = Duration::from_secs(1);
/// The longest beat worth reading.
const MAX_BEAT: u64 = 64 * 1024;
/// How much of a journal's end is read for the number of its last record.
const SEQ_TAIL: u64 = 64 * 1024;
/// How long a writer that does not rename may take to finish its file.
const TORN_WRITE: Duration = Duration::from_secs(2);

/// Why a spec could not be read or changed.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// The state file cannot be used.
    #[error("{} is corrupt: {why}; `specum run` rebuilds it from tasks.md", path.display())]
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
    /// Where its files are.
    pub(crate) world: World,
    /// The journal as far as it is read.
    records: Arc<Mutex<Records>>,
    /// The task file as it was read or written last: most looks find the same.
    known_tasks: Arc<Mutex<Arc<TaskText>>>,
    durability: Durability,
    /// The run that writes, if one does.
    run: Option<RunId>,
    /// The number of the last record that was written here.
    written: Arc<AtomicU64>,
}

/// A spec as it stands.
#[derive(Debug)]
pub struct View {
    /// `None`: no loop.
    pub state: Option<State>,
    /// The bytes of `tasks.md`; `None`: no such file.
    pub tasks: Option<Arc<TaskText>>,
}

impl View {
    /// The tasks; none if the file is missing.
    pub fn file(&self) -> TaskFile<'_> {
        self.tasks.as_ref().map_or_else(|| TaskFile::scan(b""), |tasks| tasks.file())
    }
}

impl Store {
    /// The files of a spec.
    pub fn of(spec: &Spec) -> Store {
        Store {
            name: spec.name.clone(),
            dir: spec.dir.clone(),
            root: spec.root.clone(),
            world: spec.world.clone(),
            records: Arc::default(),
            known_tasks: Arc::default(),
            durability: Durability::Fast,
            run: None,
            written: Arc::default(),
        }
    }

    /// Where its files are.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// From now on every record names this run.
    pub fn write_as(&mut self, run: RunId) {
        self.run = Some(run);
    }

    /// The run that writes, if one does.
    pub fn run(&self) -> Option<&RunId> {
        self.run.as_ref()
    }

    /// The number of the last record that this process has written by this store or
    /// a clone of it; 0 if none.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// Lets every change survive a power cut: for unattended runs. A
    /// hook cannot wait for the disk.
    pub fn survive_power_cuts(&mut self) {
        self.durability = Durability::Synced;
    }

    fn disk(&self) -> &dyn Disk {
        &*self.world.disk
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> Result<(), FileError> {
        self.disk().replace(&[NewContent { path, bytes }], self.durability, None)
    }

    /// `tasks.md`.
    pub fn tasks_path(&self) -> PathBuf {
        self.dir.join("tasks.md")
    }

    /// A document of the spec.
    pub fn document_path(&self, doc: Doc) -> PathBuf {
        self.dir.join(doc.file())
    }

    /// `.ralph-trace.json`.
    pub fn trace_path(&self) -> PathBuf {
        self.dir.join(TRACE_FILE)
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

    /// The files that say what is run: a loop is begun by a person, it does not come
    /// with a repository.
    pub fn loop_files(&self) -> Result<Vec<PathBuf>, FileError> {
        let mut files = segments::segments(self.disk(), &self.dir)?;
        files.extend([self.state_path(), self.journal_path()]);
        Ok(files)
    }

    /// The copy of the journal that survives a deletion of the spec's own files.
    fn backup(&self) -> Option<Backup> {
        Backup::of(&self.world, &self.dir)
    }

    /// `.ralph.lock`.
    pub fn lock_path(&self) -> PathBuf {
        self.dir.join(".ralph.lock")
    }

    /// `.ralph-hook.json`.
    pub fn memory_path(&self) -> PathBuf {
        self.dir.join(".ralph-hook.json")
    }

    /// `.ralph-run.lock`: held by a `specum run` for as long as it works.
    fn run_lock_path(&self) -> PathBuf {
        self.dir.join(".ralph-run.lock")
    }

    /// `.ralph-beat`.
    fn beat_path(&self) -> PathBuf {
        self.dir.join(".ralph-beat")
    }

    fn part_path(&self, index: usize) -> PathBuf {
        self.dir.join(part_name(index))
    }

    /// Copies an executor's notes from the folder where it wrote them.
    pub fn bring_part(&self, index: usize, from: &Path) -> Result<(), FileError> {
        let source = from.join(part_name(index));
        // A link could bring in any file.
        let is_file = self.disk().look(&source).is_ok_and(|found| found.is_file());
        match self.disk().read_if_there(&source, MAX_PART) {
            Ok(Some(text)) if is_file => self.disk().write(&self.part_path(index), &text),
            // Notes that are none, or too long, are not worth an attempt.
            _ => Ok(()),
        }
    }

    /// Where a file really is, so that a rename does not replace a link to it.
    /// A link out of the project is not followed.
    fn writable(&self, path: &Path) -> Result<PathBuf, FileError> {
        match self.disk().real_path(path) {
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
        let clock = &self.world.clock;
        let started = clock.elapsed();
        loop {
            let outcome = self.look_at_state()?;
            let torn = outcome.is_err() && self.was_touched_just_now();
            if !torn || clock.elapsed() - started >= TORN_WRITE {
                return Some(outcome);
            }
            clock.sleep(Duration::from_millis(20));
        }
    }

    /// The same as it is at this moment, torn or not: for a caller that looks again soon.
    pub fn look_at_state(&self) -> Option<Result<State, Corrupt>> {
        match self.disk().read(&self.state_path(), state::MAX_BYTES) {
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
        self.disk().look(&self.state_path()).is_ok()
    }

    fn was_touched_just_now(&self) -> bool {
        let found = self.disk().look_behind(&self.state_path()).ok();
        found.and_then(|found| found.modified).is_some_and(|at| {
            let now = SystemTime::from(self.world.clock.now());
            now.duration_since(at).is_ok_and(|age| age < TORN_WRITE)
        })
    }

    /// The task file, `None` if there is none.
    pub fn read_tasks(&self) -> Result<Option<Arc<TaskText>>, FileError> {
        let Some(bytes) = self.disk().read_if_there(&self.tasks_path(), MAX_TEXT)? else {
            return Ok(None);
        };
        let mut known = self.known_tasks.lock().expect("no reader panics");
        if ***known != *bytes {
            *known = Arc::new(bytes.into());
        }
        Ok(Some(Arc::clone(&known)))
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
        Ok(self.disk().read_if_there(&self.progress_path(), MAX_TEXT)?.unwrap_or_default())
    }

    /// Waits until no other check of this spec runs, and keeps others waiting.
    pub fn check_turn(&self) -> Result<Box<dyn Lock>, StoreError> {
        self.acquire(&self.dir.join(".ralph-check.lock"), CHECK_PATIENCE)
    }

    /// Makes this process the only run of this spec. A process that only looks whether
    /// there is one holds the lock for a moment, which is waited for.
    pub fn lock_for_run(&self) -> Result<Box<dyn Lock>, StoreError> {
        self.acquire(&self.run_lock_path(), RUN_PATIENCE)
    }

    fn acquire(&self, path: &Path, patience: Duration) -> Result<Box<dyn Lock>, StoreError> {
        let busy = || StoreError::Busy { path: path.to_owned(), seconds: patience.as_secs() };
        self.disk().lock(path, patience)?.ok_or_else(busy)
    }

    /// Whether another process holds a lock at this moment.
    fn is_held(&self, path: &Path) -> bool {
        self.disk().exists(path) && matches!(self.disk().lock(path, Duration::ZERO), Ok(None))
    }

    /// Whether a run holds its lock; `None` if that cannot be told.
    pub fn is_run_locked(&self) -> Option<bool> {
        self.disk().is_locked(&self.run_lock_path())
    }

    /// The last beat of a run, if there is one.
    pub fn read_beat(&self) -> Option<Beat> {
        let bytes = self.disk().read(&self.beat_path(), MAX_BEAT).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Lets others see that a run is alive. It may be lost when the power goes:
    /// so is the run.
    pub fn write_beat(&self, beat: &Beat) -> Result<(), FileError> {
        let beat = serde_json::to_vec(beat).expect("plain data is JSON");
        self.disk().write(&self.beat_path(), &beat)
    }

    /// Lets others see that the run has ended.
    pub fn forget_beat(&self) -> Result<(), FileError> {
        self.disk().remove(&self.beat_path())
    }

    /// Whether a check of this spec runs at this moment.
    pub fn is_being_checked(&self) -> bool {
        self.is_held(&self.dir.join(".ralph-check.lock"))
    }

    /// Every record of the journal, read from its beginning: for a caller that tells the
    /// story. Where things stand is in the ledger.
    pub fn read_journal(&self) -> Result<Vec<Record>, FileError> {
        let path = self.journal_path();
        records::read_all(self.disk(), &path).map_err(|error| FileError::new("read", &path, error))
    }

    /// Where the attempts stand.
    pub fn ledger(&self) -> Result<Arc<Ledger>, FileError> {
        let path = self.journal_path();
        let read = self.records.lock().expect("no reader panics").ledger(self.disk(), &path);
        read.map_err(|error| FileError::new("read", &path, error))
    }

    /// The records of the loops before those that the journal tells of.
    pub fn read_earlier(&self) -> Result<Vec<Record>, FileError> {
        segments::read(self.disk(), &self.dir)
    }

    /// The journals of earlier loops, by number.
    pub(crate) fn segments(&self) -> Result<Vec<(u64, PathBuf)>, FileError> {
        segments::numbered(self.disk(), &self.dir)
    }

    /// How many journals of earlier loops there are.
    pub fn count_earlier(&self) -> Result<usize, FileError> {
        Ok(segments::segments(self.disk(), &self.dir)?.len())
    }

    /// The number of the last record of the spec; 0 if there is none.
    pub fn last_seq(&self) -> Result<u64, FileError> {
        let last_of = |path: &Path| -> Result<Option<u64>, FileError> {
            match self.disk().read_tail(path, SEQ_TAIL) {
                Ok(tail) => Ok(journal::last(&tail.bytes).and_then(|record| record.seq)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(FileError::new("read", path, error)),
            }
        };
        if let Some(seq) = last_of(&self.journal_path())? {
            return Ok(seq);
        }
        // An older version wrote there last, or nothing was written yet.
        let mut numbering = Numbering::default();
        for record in self.read_earlier()?.iter().chain(self.read_journal()?.iter()) {
            numbering.number(record);
        }
        // Somebody may have deleted the journals: what is brought back comes first. From a
        // copy that cannot be read nothing is.
        let copies = self.backup().map(|backup| backup.newest()).transpose()?.unwrap_or_default();
        let copied = copies.iter().find_map(|copy| last_of(copy).ok().flatten());
        Ok(numbering.last().max(copied.unwrap_or(0)))
    }

    /// Everything that is told of the spec, earlier loops included.
    pub fn read_story(&self) -> Result<Vec<Record>, FileError> {
        let mut story = self.read_earlier()?;
        story.extend(self.read_journal()?);
        Ok(story)
    }

    /// Forgets the copies of the journals: for a spec whose folder was moved away with
    /// its journals in it.
    pub fn forget_backup(&self) -> Result<(), FileError> {
        self.backup().map_or(Ok(()), |backup| backup.forget())
    }

    /// What the journal has on record about the plan.
    pub fn plan_record(&self) -> Result<Arc<PlanRecord>, FileError> {
        let path = self.journal_path();
        let read = self.records.lock().expect("no reader panics").plan_record(self.disk(), &path);
        read.map_err(|error| FileError::new("read", &path, error))
    }

    /// What the hooks remember.
    pub fn read_memory(&self) -> Memory {
        self.disk()
            .read(&self.memory_path(), state::MAX_BYTES)
            .map(|bytes| Memory::parse(&bytes))
            .unwrap_or_default()
    }

    /// Lets the hooks remember something else. `false` if the spec gets another owner by
    /// that and another hook was faster: of two sessions that find nobody, or an owner
    /// that is dead, one gets it.
    pub fn write_memory(&self, before: &Memory, after: &Memory) -> Result<bool, FileError> {
        let path = self.memory_path();
        if before == after {
            return Ok(true);
        }
        let bytes = &after.render();
        if before.owner.is_none() && self.disk().create(NewContent { path: &path, bytes })? {
            return Ok(true);
        }
        // A power cut ends the sessions that it is about.
        let write =
            || self.disk().replace(&[NewContent { path: &path, bytes }], Durability::Passing, None);
        let session = |memory: &Memory| match &memory.owner {
            Some(Owner::Session { session_id, .. }) => Some(session_id.clone()),
            _ => None,
        };
        if before.owner.is_some() && session(before) == session(after) {
            return write().map(|()| true);
        }
        // The holder has been faster, and is not waited for.
        let claim = self.disk().lock(&self.dir.join(".ralph-hook.lock"), Duration::ZERO)?;
        if claim.is_none() || self.read_memory() != *before {
            return Ok(false);
        }
        write().map(|()| true)
    }

    /// Whether another process holds the lock at this moment.
    pub fn is_locked(&self) -> bool {
        self.is_held(&self.lock_path())
    }

    /// Lets the hooks forget everything.
    pub fn forget_memory(&self) -> Result<(), FileError> {
        self.disk().remove(&self.memory_path())
    }

    /// The spec's folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Takes the lock and completes what a killed process left half-done.
    pub fn lock(&self) -> Result<Locked<'_>, StoreError> {
        let held = self.acquire(&self.lock_path(), lock_patience())?;
        let locked =
            Locked { store: self, _held: held, last_seq: Cell::new(None), source: Cell::default() };
        locked.recover()?;
        Ok(locked)
    }
}

/// Tests may not want to wait that long.
fn lock_patience() -> Duration {
    #[cfg(feature = "test-support")]
    if let Some(millis) = std::env::var("SPECUM_LOCK_MILLIS").ok().and_then(|v| v.parse().ok()) {
        return Duration::from_millis(millis);
    }
    LOCK_PATIENCE
}

fn part_name(index: usize) -> String {
    format!(".progress-task-{index}.md")
}

#[cfg(test)]
mod tests;
