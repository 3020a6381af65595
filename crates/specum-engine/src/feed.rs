//! The event stream of a spec for its readers: what was, from any sequence
//! number on, and then what comes.
//!
//! A feed reads the journals and nothing else, so there may be any number of them
//! in any process, and the writer knows of none. It follows a journal into the
//! segment that it becomes and on into the next one, finds its place again in a
//! journal that was replaced, and waits for a line that is not whole yet.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use specum_core::event::{Event, Numbering};
use specum_core::journal::{self, Record};
use specum_core::moment::Moment;

use crate::files::FileError;
use crate::ports::{FileInfo, OpenFile};
use crate::store::Store;

/// The longest journal worth reading.
const MAX_JOURNAL: u64 = 1024 * 1024 * 1024;
/// How much of a journal's end is looked at for its last record.
const TAIL: u64 = 64 * 1024;

/// What happens to a spec, in its order.
#[derive(Debug)]
pub struct Feed {
    store: Store,
    /// The first number that is still to be given.
    from: u64,
    /// The numbers of what is read.
    numbering: Numbering,
    /// The numbers of what stands in front of the journal; `None` if nobody has
    /// looked.
    base: Option<Numbering>,
    /// The newest segment that is read; 0 if there is none.
    segment: u64,
    /// When the last record that is read was written.
    last_at: Moment,
    /// The journal as far as it is read.
    journal: Option<JournalPosition>,
    /// The journal's file as it was found last, if somebody has looked.
    seen: Option<Option<Version>>,
}

/// How far a file is read.
#[derive(Debug)]
struct JournalPosition {
    identity: u64,
    /// Whole lines.
    length: u64,
    /// The last one, to be sure that the file is still the same.
    last_line: Vec<u8>,
}

/// Tells one version of a file from another.
#[derive(Debug, PartialEq, Eq)]
struct Version {
    identity: u64,
    length: u64,
    modified: Option<SystemTime>,
}

impl Feed {
    /// What happened from a sequence number on, and what will.
    pub fn from(store: &Store, seq: u64) -> Feed {
        Feed {
            store: store.clone(),
            from: seq,
            numbering: Numbering::default(),
            base: None,
            segment: 0,
            last_at: Moment::default(),
            journal: None,
            seen: None,
        }
    }

    /// Only what will happen.
    pub fn from_now(store: &Store) -> Result<Feed, FileError> {
        Ok(Feed::from(store, store.last_seq()?.saturating_add(1)))
    }

    /// The events that were added since the last call; at the first call, those that
    /// are there. Where nothing was added, that is one look at a file's metadata.
    #[expect(clippy::should_implement_trait, reason = "it does not end, and it can fail")]
    pub fn next(&mut self) -> Result<Vec<Event>, FileError> {
        let path = self.store.journal_path();
        let read = self.read(&path);
        read.map_err(|error| FileError::new("read", &path, error))
    }

    fn read(&mut self, path: &Path) -> io::Result<Vec<Event>> {
        let disk = &self.store.world.disk;
        let found = disk.look(path).ok().map(|file| Version::of(&file));
        if self.seen.as_ref() == Some(&found) {
            return Ok(Vec::new());
        }
        let file = match disk.open_own(path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let events = self.read_on(file)?;
        self.seen = Some(found);
        Ok(events)
    }

    fn read_on(&mut self, mut file: Option<Box<dyn OpenFile>>) -> io::Result<Vec<Event>> {
        let mut events = Vec::new();
        if let (Some(place), Some(file)) = (&self.journal, &mut file)
            && place.is_of(&mut **file)?
        {
            self.add(&mut **file, &mut events)?;
            return Ok(events);
        }
        if let (None, None, Some(file)) = (&self.journal, &self.seen, &mut file)
            && self.skip_to_end(&mut **file)?
        {
            return Ok(events);
        }
        // Looked for after the journal was opened: if it is a new one, the old one is
        // a segment by now.
        let segments = self.segments()?.into_iter().filter(|(n, _)| *n > self.segment);
        for (number, path) in segments.collect::<Vec<_>>() {
            let mut segment = self.store.world.disk.open_own(&path)?;
            let start = match self.journal.take() {
                // The journal that was read until now.
                Some(place) if place.is_of(&mut *segment)? => place.length,
                // Another that has taken its place meanwhile.
                Some(_) => {
                    self.numbering = self.base()?;
                    0
                }
                None => 0,
            };
            let text = segment.read(start, MAX_JOURNAL)?;
            self.number(journal::parse(&text), &mut events);
            (self.segment, self.base) = (number, Some(self.numbering));
        }
        let Some(mut file) = file else { return Ok(events) };
        if self.journal.is_some() {
            self.read_replaced(&mut *file, &mut events)?;
        } else {
            self.base = Some(self.numbering);
            self.add(&mut *file, &mut events)?;
        }
        Ok(events)
    }

    /// Reads a journal that was put in the place of the one that was read.
    fn read_replaced(
        &mut self,
        file: &mut dyn OpenFile,
        events: &mut Vec<Event>,
    ) -> io::Result<()> {
        let before = self.numbering.last();
        let (from, last_at) = (self.from, self.last_at.clone());
        self.numbering = self.base()?;
        self.journal = None;
        let mut all = Vec::new();
        self.from = 0;
        self.add(file, &mut all)?;
        if self.numbering.last() >= before || from > before.saturating_add(1) {
            all.retain(|event| event.seq.is_some_and(|seq| seq >= from));
            self.from = from.max(self.numbering.last().saturating_add(1));
        } else {
            // Some of what was given is gone, and its numbers are given again.
            all.retain(|event| event.at > last_at);
        }
        events.append(&mut all);
        Ok(())
    }

    /// Begins at the end of a journal of which nothing is asked for.
    fn skip_to_end(&mut self, file: &mut dyn OpenFile) -> io::Result<bool> {
        let found = file.info()?;
        let start = found.length.saturating_sub(TAIL);
        let tail = file.read(start, MAX_JOURNAL)?;
        let Some(end) = tail.iter().rposition(|byte| *byte == b'\n') else { return Ok(false) };
        let before = tail[..end].iter().rposition(|byte| *byte == b'\n');
        let begins = match before {
            Some(before) => before + 1,
            None if start == 0 => 0,
            None => return Ok(false),
        };
        let last = journal::parse(&tail[begins..=end]).pop();
        let Some((seq, last)) = last.and_then(|last| Some((last.seq?, last))) else {
            return Ok(false);
        };
        if seq >= self.from {
            return Ok(false);
        }
        self.segment = self.segments()?.last().map_or(0, |(number, _)| *number);
        self.numbering = Numbering::after(seq);
        self.last_at = last.at;
        self.journal = Some(JournalPosition {
            identity: found.identity,
            length: start + end as u64 + 1,
            last_line: tail[begins..=end].to_vec(),
        });
        Ok(true)
    }

    /// The journals of earlier loops, by number.
    fn segments(&self) -> io::Result<Vec<(u64, PathBuf)>> {
        self.store.segments().map_err(io::Error::other)
    }

    /// The numbers of what stands in front of the journal.
    fn base(&mut self) -> io::Result<Numbering> {
        if let Some(base) = self.base {
            return Ok(base);
        }
        let mut base = Numbering::default();
        for (_, path) in self.segments()?.into_iter().filter(|(n, _)| *n <= self.segment) {
            let text = self.store.world.disk.read(&path, MAX_JOURNAL)?;
            journal::parse(&text).iter().for_each(|record| {
                base.number(record);
            });
        }
        Ok(*self.base.insert(base))
    }

    /// Reads the lines of the journal that are new, and whole.
    fn add(&mut self, file: &mut dyn OpenFile, events: &mut Vec<Event>) -> io::Result<()> {
        let identity = file.info()?.identity;
        let place = self.journal.get_or_insert(JournalPosition {
            identity,
            length: 0,
            last_line: Vec::new(),
        });
        let mut text = file.read(place.length, MAX_JOURNAL)?;
        let Some(end) = text.iter().rposition(|byte| *byte == b'\n') else { return Ok(()) };
        text.truncate(end + 1);
        let begins = text[..end].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        place.length += text.len() as u64;
        place.last_line = text[begins..].to_vec();
        self.number(journal::parse(&text), events);
        Ok(())
    }

    /// Gives those of these records that are asked for their numbers.
    fn number(&mut self, records: Vec<Record>, events: &mut Vec<Event>) {
        for record in records {
            let seq = self.numbering.number(&record);
            self.last_at.clone_from(&record.at);
            if seq >= self.from {
                self.from = seq.saturating_add(1);
                events.push(Event::recorded(seq, record));
            }
        }
    }
}

impl JournalPosition {
    /// Whether a file still begins with what was read of it.
    fn is_of(&self, file: &mut dyn OpenFile) -> io::Result<bool> {
        let found = file.info()?;
        if found.length < self.length || found.identity != self.identity {
            return Ok(false);
        }
        let length = self.last_line.len() as u64;
        Ok(file.read(self.length - length, length)? == self.last_line)
    }
}

impl Version {
    fn of(file: &FileInfo) -> Version {
        let FileInfo { identity, length, modified, .. } = *file;
        Version { identity, length, modified }
    }
}

#[cfg(test)]
mod tests;
