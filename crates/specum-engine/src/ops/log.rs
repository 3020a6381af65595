//! What happened to a spec, from its journal, while others may be writing it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use specum_core::journal::{Entry, Record};
use specum_core::summary::{AttemptResult, Summary, TaskSummary};

use super::{Caller, OpError};
use crate::attempt::AttemptError;
use crate::logs;
use crate::owner;
use crate::project::Spec;
use crate::store::Store;

/// How long a run whose loop has ended may take to say its last word.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The journal of a spec, read again as it grows.
pub struct Log {
    /// The spec.
    pub spec: Spec,
    store: Store,
    /// What the journals of earlier loops tell, and how many there are.
    earlier: (Vec<Record>, usize),
    records: Vec<Record>,
    /// How long the file was when it was read.
    length: u64,
    /// When it was found longer than before.
    grown: Instant,
}

/// Opens the journal of a spec and reads what is there.
pub fn log(caller: &Caller<'_>, named: Option<&str>) -> Result<Log, OpError> {
    let project = caller.project()?;
    let spec = caller.spec(&project, named)?;
    let (store, earlier, records) = (Store::of(&spec), (Vec::new(), 0), Vec::new());
    let mut log = Log { spec, store, earlier, records, length: 0, grown: Instant::now() };
    log.read_on()?;
    Ok(log)
}

/// What became of the last loop of a spec.
pub fn summary(store: &Store) -> Result<Summary, OpError> {
    let tasks = store.read_tasks()?.unwrap_or_default();
    Ok(Summary::of(&store.read_journal()?, &tasks.file()))
}

impl Log {
    /// How many records there are of all loops.
    pub fn length(&self) -> usize {
        self.earlier.0.len() + self.records.len()
    }

    /// The record at a place of the story, with those of the same journal before it.
    pub fn up_to(&self, at: usize) -> &[Record] {
        match at.checked_sub(self.earlier.0.len()) {
            Some(at) => &self.records[..=at],
            None => &self.earlier.0[..=at],
        }
    }

    /// Every record of all loops.
    pub fn story(&self) -> impl Iterator<Item = &Record> {
        self.earlier.0.iter().chain(self.records.iter())
    }

    /// Reads what is new. A journal only ever grows.
    pub fn read_on(&mut self) -> Result<(), OpError> {
        let length = self.store.journal_path().metadata().map_or(0, |file| file.len());
        let segments = self.store.count_earlier();
        if length != self.length || segments != self.earlier.1 {
            let records = self.store.read_journal()?;
            // One that was replaced is not told a second time; one that has become a
            // segment is told as that.
            if segments > self.earlier.1 {
                self.earlier = (self.store.read_earlier()?, segments);
                self.records = records;
            } else if records.len() >= self.records.len() {
                self.records = records;
            }
            (self.length, self.grown) = (length, Instant::now());
        }
        Ok(())
    }

    /// The summary of the last loop.
    pub fn summary(&self) -> Result<Summary, OpError> {
        let tasks = self.store.read_tasks()?.unwrap_or_default();
        Ok(Summary::of(&self.records, &tasks.file()))
    }

    /// The id of the task that a person names: of the plan, or of the journal if
    /// the plan no longer has it.
    pub fn id_of(&self, named: &str) -> Result<String, OpError> {
        let tasks = self.store.read_tasks()?.unwrap_or_default();
        if let Some(task) = tasks.file().by_address(named) {
            return Ok(task.name());
        }
        let mut known = self.story().filter_map(|record| record.entry.task());
        match known.find(|task| task.id == named) {
            Some(task) => Ok(task.id.clone()),
            None => Err(AttemptError::NoTask(named.to_owned()).into()),
        }
    }

    /// All attempts at a task, those of earlier loops too.
    pub fn task(&self, id: &str) -> Result<TaskSummary, OpError> {
        let tasks = self.store.read_tasks()?.unwrap_or_default();
        let story: Vec<Record> = self.story().cloned().collect();
        let all = Summary::of_all_loops(&story, &tasks.file());
        let task = all.tasks.into_iter().find(|task| task.id == id);
        task.ok_or_else(|| AttemptError::NoTask(id.to_owned()).into())
    }

    /// The newest log of the last attempt at a task that has one.
    pub fn last_log(&self, task: &TaskSummary) -> Option<(u64, PathBuf)> {
        task.attempts.iter().rev().find_map(|attempt| {
            let named = attempt.logs.last().map(PathBuf::from);
            let named = named.filter(|path| logs::is_log(&self.spec, path) && path.is_file());
            // An attempt that runs is not charged yet.
            let found = || logs::newest_log(&self.spec, &task.id, attempt.number);
            let running = attempt.result == AttemptResult::Open;
            let path = if running { found().or(named) } else { named.or_else(found) };
            path.map(|path| (attempt.number, path))
        })
    }

    /// Whether nothing more is to be expected.
    pub fn is_over(&self) -> bool {
        let in_run = self.records.iter().rev().find_map(|record| match record.entry {
            Entry::RunStarted { .. } => Some(true),
            Entry::RunEnded { .. } => Some(false),
            _ => None,
        });
        let in_run = in_run == Some(true);
        if !self.store.has_state() {
            return !in_run || self.grown.elapsed() > LAST_WORDS;
        }
        if in_run {
            let state = self.store.read_state().and_then(Result::ok);
            let owner = state.and_then(|state| state.owner);
            return owner.is_some_and(|owner| owner::is_gone(&self.store, &owner));
        }
        let last = self.records.iter().rev().find(|record| record.entry != Entry::Done);
        last.is_some_and(|record| matches!(record.entry, Entry::RunEnded { .. }))
    }
}
