//! One change of a spec's files: all of it, or nothing.

use std::cell::Cell;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use specum_core::attempt::{AttemptId, LoopStanding};
use specum_core::digest::ContentDigest;
use specum_core::journal::{self, BeforeAndAfter, Changes, Entry, Record, Source, StateChange};
use specum_core::machine::Step;
use specum_core::moment::Moment;
use specum_core::progress;
use specum_core::retention;
use specum_core::spec::Doc;
use specum_core::spec::edit::DocEdit;
use specum_core::spec::trace::TraceFile;
use specum_core::state::{self, Corrupt};
use specum_core::tasks::{TaskEdit, TaskKey, TaskText};

use super::{Backup, MAX_PART, MAX_TEXT, Store, StoreError, View, segments};
use crate::documents::GOAL_FILE;
use crate::failpoint;
use crate::files::{Durability, FileError};
use crate::ports::{Disk, Lock, NewContent};

/// The longest journal that is brought back.
const MAX_JOURNAL: u64 = 1024 * 1024 * 1024;

/// A spec that no other process changes meanwhile.
pub struct Locked<'s> {
    pub(super) store: &'s Store,
    pub(super) _held: Box<dyn Lock>,
    /// The number of the last record, once it is known: no other process writes one.
    pub(super) last_seq: Cell<Option<u64>>,
    /// Who wants what is written next.
    pub(super) source: Cell<Source>,
}

impl Locked<'_> {
    fn disk(&self) -> &dyn Disk {
        self.store.disk()
    }

    /// Who has asked for what is written from now on.
    pub fn speaks_for(&self, source: Source) {
        self.source.set(source);
    }

    /// Everything that decides, as it stands under the lock.
    pub fn read(&self) -> Result<View, StoreError> {
        self.store.read()
    }

    /// Writes a step of the machine as one transaction.
    pub fn write_step(&self, entry: Entry, step: &Step) -> Result<(), StoreError> {
        self.write(entry, self.changes(step)?)
    }

    /// The same for a step that an attempt leads to.
    pub fn write_step_of(
        &self,
        attempt: &AttemptId,
        entry: Entry,
        step: &Step,
    ) -> Result<(), StoreError> {
        self.write_of(attempt, entry, self.changes(step)?)
    }

    /// Makes sure that there is a progress file for executors to add to.
    pub fn begin_progress(&self) -> Result<(), StoreError> {
        let path = self.store.progress_path();
        if self.disk().exists(&path) {
            return Ok(());
        }
        // A faster process has written the same, or something better.
        let template = progress::template(&self.store.name);
        self.disk().create(NewContent { path: &path, bytes: template.as_bytes() })?;
        Ok(())
    }

    /// Writes what each part of the spec stands on.
    pub fn write_trace(&self, trace: &TraceFile) -> Result<(), StoreError> {
        Ok(self.disk().write(&self.store.trace_path(), trace.text().as_bytes())?)
    }

    /// Writes down what the person has asked for, unless it is there already.
    pub fn write_goal(&self, goal: &str) -> Result<(), StoreError> {
        let path = self.store.dir.join(GOAL_FILE);
        self.disk().create(NewContent { path: &path, bytes: goal.as_bytes() })?;
        Ok(())
    }

    /// Makes a document that is not there yet.
    pub fn begin_document(&self, doc: Doc, text: &str) -> Result<(), StoreError> {
        let path = self.store.document_path(doc);
        self.disk().create(NewContent { path: &path, bytes: text.as_bytes() })?;
        Ok(())
    }

    /// Writes a record that changes no file.
    pub fn record(&self, entry: Entry) -> Result<(), StoreError> {
        self.append(self.new_record(None, entry))
    }

    /// The same for a record about an attempt.
    pub fn record_of(&self, attempt: &AttemptId, entry: Entry) -> Result<(), StoreError> {
        self.append(self.new_record(Some(attempt), entry))
    }

    /// Writes a transaction.
    pub fn write(&self, entry: Entry, changes: Changes) -> Result<(), StoreError> {
        self.write_record(self.new_record(None, entry), changes)
    }

    /// The same for a transaction that an attempt leads to.
    pub fn write_of(
        &self,
        attempt: &AttemptId,
        entry: Entry,
        changes: Changes,
    ) -> Result<(), StoreError> {
        self.write_record(self.new_record(Some(attempt), entry), changes)
    }

    fn write_record(&self, record: Record, mut changes: Changes) -> Result<(), StoreError> {
        self.refuse_newer_format()?;
        // What cannot be carried out must not be announced: every later start
        // would try to complete it.
        if !changes.tasks.is_empty() {
            self.store.writable(&self.store.tasks_path())?;
        }
        for doc in changes.docs.iter().map(DocEdit::doc) {
            self.store.writable(&self.store.document_path(doc))?;
        }
        if changes.trace.is_some() {
            self.store.writable(&self.store.trace_path())?;
        }
        self.store.writable(&self.store.progress_path())?;
        if !changes.notes.is_empty() || !changes.retracted.is_empty() {
            let before = self.progress()?;
            let after = progress::edited(&before, &changes.retracted, &changes.notes);
            changes.progress = Some(BeforeAndAfter {
                before: ContentDigest::of(&before).to_string(),
                after: ContentDigest::of(&after).to_string(),
            });
        }
        failpoint::reached("before the journal");
        self.append(Record { changes: Some(changes.clone()), ..record })?;
        failpoint::reached("after the journal");
        self.complete(&changes)?;
        failpoint::reached("after the transaction");
        Ok(())
    }

    /// Carries out the changes and says so, once they are there for good: what is
    /// said to be done is not done again.
    fn complete(&self, changes: &Changes) -> Result<(), StoreError> {
        self.apply(changes)?;
        if self.durability_of(changes) == Durability::Synced {
            // With it the journal's own name, and everything that was renamed.
            self.disk().sync_folder(&self.store.dir)?;
        }
        // Not synced: if this record is lost, the changes are made once more, which
        // changes nothing.
        self.append(self.new_record(None, Entry::Done))
    }

    /// A verdict counts, with the state that it leads to. What only tells, or only
    /// counts on, is on the disk with the next one: a sync takes longer than
    /// everything else that we do for a task.
    fn durability_of(&self, changes: &Changes) -> Durability {
        let is_told = changes.notes.is_empty() && changes.retracted.is_empty();
        if changes.tasks.is_empty() && changes.docs.is_empty() && is_told {
            Durability::Fast
        } else {
            self.store.durability
        }
    }

    /// What a step does to the files.
    pub fn changes(&self, step: &Step) -> Result<Changes, StoreError> {
        step.changes(|index| {
            let text = self.disk().read_if_there(&self.store.part_path(index), MAX_PART)?;
            Ok(text.map(|text| String::from_utf8_lossy(&text).trim().to_owned()))
        })
    }

    /// Carries out the changes. Each may have been carried out before. The journal is
    /// on the disk before any of them is made, and so is what each consists of.
    fn apply(&self, changes: &Changes) -> Result<(), StoreError> {
        let tasks = self.edited_tasks(&changes.tasks)?;
        let progress = self.edited_progress(changes)?;
        let state = match &changes.state {
            StateChange::Write(object) => {
                Some((self.store.state_path(), state::render_object(object)))
            }
            StateChange::Keep | StateChange::Delete => None,
        };
        let documents = self.edited_documents(&changes.docs)?;
        let trace = changes.trace.as_ref().map(|trace| {
            let path = self.store.writable(&self.store.trace_path());
            path.map(|path| (path, trace.clone().into_bytes()))
        });
        let trace = trace.transpose()?;
        let new = tasks.iter().map(|(path, text)| NewContent { path, bytes: text });
        let others = documents.iter().chain(&progress).chain(&trace).chain(&state);
        let new = new.chain(others.map(|(path, bytes)| NewContent { path, bytes }));
        let durability = self.durability_of(changes);
        let journal = self.store.journal_path();
        self.disk().replace(&new.collect::<Vec<_>>(), durability, Some(&journal))?;
        if let Some((_, text)) = tasks {
            *self.store.known_tasks.lock().expect("no reader panics") = Arc::new(text);
        }
        for &index in &changes.merged_parts {
            self.disk().remove(&self.store.part_path(index))?;
            failpoint::reached("after removing a part");
        }
        if changes.state == StateChange::Delete {
            self.disk().remove(&self.store.state_path())?;
            failpoint::reached("after removing the state");
        }
        Ok(())
    }

    /// The documents that these edits change, as they leave them.
    fn edited_documents(&self, edits: &[DocEdit]) -> Result<Vec<(PathBuf, Vec<u8>)>, StoreError> {
        let mut documents = Vec::new();
        for doc in Doc::ALL.into_iter().filter(|doc| edits.iter().any(|edit| edit.doc() == *doc)) {
            let path = self.store.document_path(doc);
            let before = self.disk().read_if_there(&path, MAX_TEXT)?;
            if let Some(after) = DocEdit::apply_all(edits, doc, before.as_deref()) {
                documents.push((self.store.writable(&path)?, after));
            }
        }
        Ok(documents)
    }

    /// The task file as these edits leave it; `None` if it stays as it is.
    fn edited_tasks(&self, edits: &[TaskEdit]) -> Result<Option<(PathBuf, TaskText)>, StoreError> {
        if edits.is_empty() {
            return Ok(None);
        }
        let path = self.store.tasks_path();
        let Some(before) = self.store.read_tasks()? else { return Ok(None) };
        let after = TaskEdit::apply_to(edits, &before.file());
        if *after == **before {
            return Ok(None);
        }
        Ok(Some((self.store.writable(&path)?, after)))
    }

    /// Opens boxes of a plan whose loop, if it has one, is not concerned.
    pub fn open_boxes(&self, tasks: &[TaskKey]) -> Result<(), StoreError> {
        let tasks = tasks.iter().cloned().map(TaskEdit::Untick).collect();
        self.apply(&Changes { tasks, ..Changes::default() })
    }

    fn progress(&self) -> Result<Vec<u8>, StoreError> {
        let text = self.disk().read_if_there(&self.store.progress_path(), MAX_TEXT)?;
        Ok(text.unwrap_or_else(|| progress::template(&self.store.name).into_bytes()))
    }

    /// The notes as the changes leave them; `None` if they stay as they are.
    fn edited_progress(&self, changes: &Changes) -> Result<Option<(PathBuf, Vec<u8>)>, StoreError> {
        let Some(digests) = &changes.progress else { return Ok(None) };
        let now = self.progress()?;
        if ContentDigest::matches(&digests.after, &now) {
            return Ok(None);
        }
        let mut notes = changes.notes.clone();
        if !ContentDigest::matches(&digests.before, &now) {
            // Somebody has edited the file since the transaction was
            // interrupted; what is in it already is not added again.
            let text = String::from_utf8_lossy(&now).into_owned();
            notes.retain(|note| !text.contains(note.text.trim()));
        }
        let path = self.store.writable(&self.store.progress_path())?;
        Ok(Some((path, progress::edited(&now, &changes.retracted, &notes))))
    }

    /// Deletes what writers have left that were killed before their rename.
    /// Under the lock nobody else writes here but a hook its memory; a hook
    /// that loses it lets its host stop, and asks again at the next one.
    pub fn remove_temporaries(&self) -> Result<(), StoreError> {
        Ok(self.disk().remove_temporaries(&self.store.dir)?)
    }

    /// Completes the transaction that the journal ends with, if it does.
    pub(super) fn recover(&self) -> Result<(), StoreError> {
        let Some(changes) = self.unfinished()? else { return Ok(()) };
        self.refuse_newer_format()?;
        self.complete(&changes)
    }

    fn unfinished(&self) -> Result<Option<Changes>, StoreError> {
        let path = self.store.journal_path();
        let mut limit = 64 * 1024;
        loop {
            let tail = match self.disk().read_tail(&path, limit) {
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
                self.last_seq.set(last.as_ref().and_then(|record| record.seq));
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
        match self.store.look_at_state() {
            Some(Ok(state)) if state.is_newer_format() => Err(newer(state.format_version)),
            Some(Err(Corrupt::Newer(found))) => Err(newer(found)),
            _ => Ok(()),
        }
    }

    /// Adds a record to the journal. It is on the disk with the changes that it
    /// announces, or with the next ones.
    fn append(&self, mut record: Record) -> Result<(), StoreError> {
        let last = self.last_seq.get().map_or_else(|| self.store.last_seq(), Ok)?;
        let seq = last.saturating_add(1);
        (record.seq, record.run) = (Some(seq), self.store.run.clone());
        let begins = matches!(&record.entry, Entry::Started { plan, .. } if !plan.is_empty());
        let (path, line) = (self.store.journal_path(), record.render());
        self.disk().append_line(&path, &line, Durability::Fast)?;
        if let Some(backup) = self.store.backup() {
            backup.follow(&path, &line, begins);
        }
        self.last_seq.set(Some(seq));
        self.store.written.fetch_max(seq, Ordering::Release);
        Ok(())
    }

    /// Makes the journal of a loop that was completed a segment, so that the next loop
    /// begins with a journal of its own. What a cancelled loop has tried counts on.
    pub fn begin_segment(&self) -> Result<(), StoreError> {
        let (store, path) = (self.store, self.store.journal_path());
        let backup = store.backup();
        if store.ledger()?.standing() == LoopStanding::Completed {
            let copies = backup.as_ref().map(Backup::segments).transpose()?.unwrap_or_default();
            let number = segments::next_number(self.disk(), &store.dir, &copies)?;
            failpoint::reached("before the segment");
            self.disk()
                .rename(&path, &segments::path(&store.dir, number))
                .map_err(|error| FileError::new("rename", &path, error))?;
            failpoint::reached("after the segment");
        }
        // Also what a process has left that was killed right there.
        if let Some(backup) = backup.filter(|_| !self.disk().exists(&path)) {
            backup.retire(&store.dir)?;
            failpoint::reached("after the copy of the segment");
        }
        Ok(())
    }

    /// Lets go of what is no longer needed of the journals of loops that ended before
    /// a moment, and tells of how many.
    pub fn thin_segments(&self, moment: &Moment) -> Result<usize, StoreError> {
        let mut count = 0;
        for path in segments::segments(self.disk(), &self.store.dir)? {
            let text = self.disk().read_if_there(&path, MAX_JOURNAL)?.unwrap_or_default();
            if let Some(thin) = retention::thinned(&text, moment) {
                self.store.replace(&path, &thin)?;
                count += 1;
            }
        }
        if let Some(backup) = self.store.backup().filter(|_| count > 0) {
            backup.thin_segments(&self.store.dir)?;
        }
        Ok(count)
    }

    /// Writes the journal and the state of a loop again that somebody has deleted
    /// while it was under way, and tells whether anything was missing.
    pub fn bring_back(&self) -> Result<bool, StoreError> {
        let path = self.store.journal_path();
        let backup = self.store.backup().map_or(0, |backup| backup.length());
        let known = self.store.records.lock().expect("no reader panics").is_whole(
            self.disk(),
            &path,
            backup,
        );
        if known && self.store.has_state() {
            // To compare every byte costs more the longer the story is.
            return Ok(false);
        }
        let journal = self.disk().read_if_there(&path, MAX_JOURNAL)?.unwrap_or_default();
        let whole = self.store.backup().and_then(|backup| backup.missing_from(&journal));
        if let (Some(whole), Some(backup)) = (&whole, self.store.backup()) {
            backup.bring_segments_back(&self.store.dir)?;
            self.store.replace(&path, whole)?;
            self.last_seq.set(None);
        }
        if self.store.has_state() {
            return Ok(whole.is_some());
        }
        let records = self.store.read_journal()?;
        match journal::last_state_change(&records) {
            StateChange::Write(object) => {
                self.disk().write(&self.store.state_path(), &state::render_object(object))?;
                Ok(true)
            }
            StateChange::Keep | StateChange::Delete => Ok(whole.is_some()),
        }
    }

    /// A record of this moment.
    fn new_record(&self, attempt: Option<&AttemptId>, entry: Entry) -> Record {
        let Source { by, via } = match entry {
            Entry::Done => Source::default(),
            _ => self.source.get(),
        };
        let record = Record::new(self.store.world.clock.now(), entry);
        Record { id: attempt.cloned(), by, via, ..record }
    }
}
