//! The files of a spec, in memory, and how they are written: the order of
//! `specum_engine::store`, with a machine that can die before every single write.

use std::convert::Infallible;

use specum_core::attempt::{AttemptId, Ledger};
use specum_core::digest::Digest;
use specum_core::journal::{self, BeforeAndAfter, Changes, Entry, Record, StateChange};
use specum_core::machine::Step;
use specum_core::progress;
use specum_core::state;
use specum_core::tasks::TaskEdit;

/// The machine has died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Died {
    /// Whether the journal line of the transaction was written whole: then it
    /// is completed by whoever comes next.
    pub(crate) announced: bool,
}

/// The files of a spec.
#[derive(Debug, Clone, Default)]
pub(crate) struct Disk {
    pub(crate) tasks: Vec<u8>,
    pub(crate) progress: Vec<u8>,
    pub(crate) state: Option<Vec<u8>>,
    pub(crate) journal: Vec<u8>,
    /// What the journal reads as.
    pub(crate) records: Vec<Record>,
    /// Where its attempts stand.
    pub(crate) ledger: Ledger,
    /// What the hooks remember.
    pub(crate) memory: Option<Vec<u8>>,
    /// How many more writes the machine lives for.
    pub(crate) lives_for: Option<u32>,
    /// How much of the line that it dies in is written, in hundredths.
    pub(crate) tears_at: usize,
}

impl Disk {
    /// A transaction: the journal, then the files, then the word that they are
    /// written.
    pub(crate) fn write(
        &mut self,
        at: &str,
        entry: Entry,
        mut changes: Changes,
    ) -> Result<(), Died> {
        if !changes.notes.is_empty() || !changes.retracted.is_empty() {
            let after = progress::edited(&self.progress, &changes.retracted, &changes.notes);
            changes.progress = Some(BeforeAndAfter {
                before: Digest::of(&self.progress).hex(),
                after: Digest::of(&after).hex(),
            });
        }
        self.append(at, entry, Some(changes.clone()))?;
        let written = self.apply(&changes).and_then(|()| self.append(at, Entry::Done, None));
        written.map_err(|_| Died { announced: true })
    }

    /// A record that changes no file.
    pub(crate) fn record(&mut self, at: &str, entry: Entry) -> Result<(), Died> {
        self.append(at, entry, None)
    }

    /// Completes what a dead machine has announced, as taking the lock does.
    pub(crate) fn recover(&mut self, at: &str) -> Result<(), Died> {
        // Asked of the bytes only if there is something to be found.
        if self.records.last().is_none_or(|record| record.changes.is_none()) {
            return Ok(());
        }
        let Some(changes) = journal::unfinished(last_lines(&self.journal)) else { return Ok(()) };
        self.apply(&changes)?;
        self.append(at, Entry::Done, None)
    }

    /// The files as they would be recovered, if somebody has left them half-done.
    pub(crate) fn half_done(&self) -> Option<Disk> {
        let unfinished = self.records.last().is_some_and(|record| record.changes.is_some());
        unfinished.then(|| Disk { lives_for: None, ..self.clone() })
    }

    /// Reads the journal anew, as a new process does.
    pub(crate) fn read_again(&mut self) {
        self.records = journal::parse(&self.journal);
        self.ledger = Ledger::of(&self.records);
        journal::follow_renames(&mut self.records, 0);
    }

    fn apply(&mut self, changes: &Changes) -> Result<(), Died> {
        let tasks = TaskEdit::apply_all(&changes.tasks, &self.tasks);
        if tasks != self.tasks {
            self.live()?;
            self.tasks = tasks;
        }
        if let Some(digests) = &changes.progress {
            let now = Digest::of(&self.progress).hex();
            if now != digests.after {
                self.live()?;
                self.progress =
                    progress::edited(&self.progress, &changes.retracted, &changes.notes);
            }
        }
        match &changes.state {
            StateChange::Keep => {}
            StateChange::Write(object) => {
                self.live()?;
                self.state = Some(state::render_object(object));
            }
            StateChange::Delete => {
                self.live()?;
                self.state = None;
            }
        }
        Ok(())
    }

    fn append(&mut self, at: &str, entry: Entry, changes: Option<Changes>) -> Result<(), Died> {
        let id = matches!(entry, Entry::Opened { .. }).then(|| self.new_id());
        let record = Record { id, changes, ..Record::new(at, entry) };
        let line = record.render();
        if !self.journal.is_empty() && !self.journal.ends_with(b"\n") {
            self.journal.push(b'\n');
        }
        if self.live().is_err() {
            let torn = line.len() * self.tears_at / 100;
            self.journal.extend_from_slice(&line[..torn]);
            return Err(Died { announced: torn + 1 >= line.len() });
        }
        self.journal.extend_from_slice(&line);
        let known = self.records.len();
        self.ledger.add(&record);
        self.records.push(record);
        journal::follow_renames(&mut self.records, known);
        Ok(())
    }

    fn new_id(&self) -> AttemptId {
        AttemptId::new(0, 0, self.records.len() as u64)
    }

    fn live(&mut self) -> Result<(), Died> {
        match &mut self.lives_for {
            None => Ok(()),
            Some(0) => Err(Died { announced: false }),
            Some(writes) => {
                *writes -= 1;
                Ok(())
            }
        }
    }
}

/// What a step of the machine does to the files; nobody leaves notes here.
pub(crate) fn changes(step: &Step) -> Changes {
    let none = |_| Ok::<_, Infallible>(None);
    step.changes(none).unwrap_or_else(|never| match never {})
}

/// The end of a journal, long enough for its last record.
fn last_lines(journal: &[u8]) -> &[u8] {
    &journal[journal.len().saturating_sub(64 * 1024)..]
}
