//! What the journal says by now, folded as it grows. It only ever grows, so a
//! second look reads what was added; a loop of a thousand tasks would otherwise
//! read its whole story a thousand times. The records themselves are not kept:
//! a caller that tells the story reads the file, once.

use std::io;
use std::path::Path;
use std::sync::Arc;

use specum_core::attempt::Ledger;
use specum_core::journal::{self, Record, StateChange};
use specum_core::plan_record::PlanRecord;

use crate::ports::{Disk, FileInfo, OpenFile};

/// The longest journal worth reading.
pub(super) const MAX_JOURNAL: u64 = 1024 * 1024 * 1024;

/// Every record of a journal, under the names that tasks have now. Only the state
/// that was written last is ever asked for, and states are most of a journal: the
/// other records have let theirs go.
pub(super) fn read_all(disk: &dyn Disk, path: &Path) -> io::Result<Vec<Record>> {
    let mut records: Vec<Record> = Vec::new();
    let mut with_state: Option<usize> = None;
    for record in journal::records(&read_file(disk, path, MAX_JOURNAL)?) {
        let writes = record.changes.as_ref().is_some_and(|changes| !changes.state.is_kept());
        if writes
            && let Some(before) = with_state.replace(records.len())
            && let Some(changes) = &mut records[before].changes
        {
            changes.state = StateChange::Keep;
        }
        records.push(record);
    }
    journal::follow_renames(&mut records, 0);
    Ok(records)
}

/// What so much of a journal has on record about the plan.
fn read_plan_record(disk: &dyn Disk, path: &Path, length: u64) -> io::Result<PlanRecord> {
    let text = read_file(disk, path, length)?;
    let mut records: Vec<Record> = journal::records(&text).filter_map(about_the_plan).collect();
    journal::follow_renames(&mut records, 0);
    Ok(PlanRecord::of(&records))
}

/// A record as far as it says something about the plan.
fn about_the_plan(record: Record) -> Option<Record> {
    PlanRecord::is_touched_by(&record).then_some(Record { changes: None, ..record })
}

fn read_file(disk: &dyn Disk, path: &Path, length: u64) -> io::Result<Vec<u8>> {
    match disk.open_own(path) {
        Ok(mut file) => file.read(0, length),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// What the whole lines of the journal say, as far as they have been read.
#[derive(Debug, Default)]
pub(super) struct Records {
    /// How much of the file is read: whole lines.
    length: u64,
    /// Which file it was.
    identity: u64,
    /// What was read last, to be sure that the file is still the same.
    last_line: Vec<u8>,
    /// The file as it was when all of it had been read: as long as nothing about it
    /// changes, there is nothing to read. `None` if its last line has no end yet.
    seen: Option<FileInfo>,
    /// Where the attempts stand.
    ledger: Arc<Ledger>,
    /// What is on record about the plan; `None` if only reading everything again
    /// tells.
    plan_record: Option<Arc<PlanRecord>>,
}

impl Records {
    /// Where the attempts of the journal stand.
    pub(super) fn ledger(&mut self, disk: &dyn Disk, path: &Path) -> io::Result<Arc<Ledger>> {
        let torn = self.read_on(disk, path)?;
        let mut ledger = Arc::clone(&self.ledger);
        torn.iter().for_each(|record| Arc::make_mut(&mut ledger).add(record));
        Ok(ledger)
    }

    /// What the journal has on record about the plan.
    pub(super) fn plan_record(
        &mut self,
        disk: &dyn Disk,
        path: &Path,
    ) -> io::Result<Arc<PlanRecord>> {
        let torn = self.read_on(disk, path)?;
        if torn.is_some_and(|record| PlanRecord::is_touched_by(&record)) {
            return read_plan_record(disk, path, MAX_JOURNAL).map(Arc::new);
        }
        if let Some(known) = &self.plan_record {
            return Ok(Arc::clone(known));
        }
        let known = Arc::new(read_plan_record(disk, path, self.length)?);
        Ok(Arc::clone(self.plan_record.insert(known)))
    }

    /// Reads what was added since. Gives the record of a line that has no end yet:
    /// somebody died before the end of the line, but not before that of the record.
    fn read_on(&mut self, disk: &dyn Disk, path: &Path) -> io::Result<Option<Record>> {
        if self.seen.is_some() && disk.look(path).ok() == self.seen {
            return Ok(None);
        }
        let mut file = match disk.open_own(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                *self = Records::default();
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        // Ahead of what is read, so that what is added meanwhile is read the next time.
        let found = file.info()?;
        if !self.is_of(&mut *file)? {
            *self = Records { identity: found.identity, ..Records::default() };
        }
        let added = file.read(self.length, MAX_JOURNAL)?;
        let whole = added.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.add(&added[..whole]);
        self.seen = (whole == added.len()).then_some(found);
        Ok(journal::records(&added[whole..]).next())
    }

    /// Whether a journal is the one that was read, and at least so long: then nothing
    /// was taken from it since.
    pub(super) fn is_whole(&self, disk: &dyn Disk, path: &Path, length: u64) -> bool {
        self.length > 0
            && disk.open_own(path).is_ok_and(|mut file| {
                file.info().is_ok_and(|found| found.length >= length)
                    && self.is_of(&mut *file).unwrap_or(false)
            })
    }

    /// Whether a file still begins with what was read of it.
    fn is_of(&self, file: &mut dyn OpenFile) -> io::Result<bool> {
        let found = file.info()?;
        if found.length < self.length || found.identity != self.identity {
            return Ok(false);
        }
        let length = self.last_line.len() as u64;
        Ok(file.read(self.length - length, length)? == self.last_line)
    }

    fn add(&mut self, lines: &[u8]) {
        if lines.is_empty() {
            return;
        }
        let is_beginning = self.length == 0;
        let before = lines[..lines.len() - 1].iter().rposition(|byte| *byte == b'\n');
        self.last_line = lines[before.map_or(0, |at| at + 1)..].to_vec();
        self.length += lines.len() as u64;
        let ledger = Arc::make_mut(&mut self.ledger);
        let mut about_plan = Vec::new();
        for record in journal::records(lines) {
            ledger.add(&record);
            about_plan.extend(about_the_plan(record));
        }
        if is_beginning {
            journal::follow_renames(&mut about_plan, 0);
            self.plan_record = Some(Arc::new(PlanRecord::of(&about_plan)));
        } else if about_plan.iter().any(PlanRecord::is_rewritten_by) {
            self.plan_record = None;
        } else if let Some(known) = self.plan_record.as_mut().filter(|_| !about_plan.is_empty()) {
            let known = Arc::make_mut(known);
            about_plan.iter().for_each(|record| known.add(record));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use specum_core::journal::Entry;
    use specum_core::plan_record::{Lines, PlanEdit, PlannedTask};
    use specum_core::tasks::TaskKey;

    use super::*;
    use crate::files::LocalDisk;

    const PAUSED: &str = "{\"v\":1,\"at\":\"\",\"event\":\"paused\"}\n";
    const RESUMED: &str = "{\"v\":1,\"at\":\"\",\"event\":\"resumed\"}\n";

    /// What a reader finds: in the ledger, about the plan, and of all records.
    fn found(records: &mut Records, path: &Path) -> (Arc<Ledger>, Arc<PlanRecord>, Vec<Record>) {
        let about_plan = records.plan_record(&LocalDisk, path).unwrap();
        (records.ledger(&LocalDisk, path).unwrap(), about_plan, read_all(&LocalDisk, path).unwrap())
    }

    /// What one finds that has seen nothing.
    fn fresh(path: &Path) -> (Arc<Ledger>, Arc<PlanRecord>, Vec<Record>) {
        found(&mut Records::default(), path)
    }

    #[test]
    fn a_second_look_finds_what_a_first_one_would() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("journal");
        let mut records = Records::default();
        assert_eq!(found(&mut records, &path), fresh(&path));
        let texts = [
            PAUSED.to_owned(),
            format!("{PAUSED}{RESUMED}"),
            // Torn in the middle, and torn but for the end of the line.
            format!("{PAUSED}{RESUMED}{}", &PAUSED[..9]),
            format!("{PAUSED}{RESUMED}{}", PAUSED.trim_end()),
            format!("{PAUSED}{RESUMED}{PAUSED}{RESUMED}"),
            // Somebody has put another file in its place.
            RESUMED.to_owned(),
            format!("{RESUMED}{RESUMED}{RESUMED}{RESUMED}{RESUMED}"),
            format!("{PAUSED}{PAUSED}{PAUSED}{PAUSED}{PAUSED}{PAUSED}{PAUSED}"),
        ];
        for text in texts {
            fs::write(&path, &text).unwrap();
            assert_eq!(found(&mut records, &path), fresh(&path), "{text}");
            assert_eq!(found(&mut records, &path), fresh(&path), "again: {text}");
        }
        fs::remove_file(&path).unwrap();
        assert_eq!(found(&mut records, &path), fresh(&path));
    }

    #[test]
    fn what_is_on_record_grows_with_the_journal_and_follows_renames() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("journal");
        let key = |id: &str| TaskKey { id: id.into(), title: "Work".into() };
        let planned = |id: &str| PlannedTask {
            task: key(id),
            check: Lines(b"true".to_vec()),
            content: id.to_owned(),
            ticked: false,
        };
        let lines = [
            Entry::Started { tasks: 2, open: 2, plan: vec![planned("1.1"), planned("1.2")] },
            Entry::Ticked { task: key("1.1") },
            Entry::PlanChanged {
                edits: vec![
                    PlanEdit::Renamed { from: key("1.1"), to: key("1.2") },
                    PlanEdit::Renamed { from: key("1.2"), to: key("1.3") },
                    PlanEdit::Recorded(planned("1.1")),
                ],
            },
            Entry::Ticked { task: key("1.3") },
            Entry::Unticked { tasks: vec!["1.2".into()] },
            Entry::Completed { tasks: 3, promise: true },
            Entry::Started { tasks: 1, open: 1, plan: vec![planned("2.1")] },
        ]
        .map(|entry| Record::new("", entry).render());
        let (mut text, mut records, mut proofs) = (Vec::new(), Records::default(), Vec::new());
        for line in lines {
            // Without the end of its line, and with it.
            for part in [&line[..line.len() - 1], b"\n"] {
                text.extend_from_slice(part);
                fs::write(&path, &text).unwrap();
                assert_eq!(found(&mut records, &path), fresh(&path));
                let of_all = PlanRecord::of(&read_all(&LocalDisk, &path).unwrap());
                assert_eq!(*records.plan_record(&LocalDisk, &path).unwrap(), of_all);
            }
            let known = records.plan_record(&LocalDisk, &path).unwrap();
            let ticked = known.tasks().iter().filter(|task| task.proof.is_some());
            proofs.push(ticked.map(|task| task.task.id.clone()).collect::<Vec<_>>().join(" "));
        }
        assert_eq!(proofs, ["", "1.1", "1.2", "1.2 1.3", "1.3", "", ""]);
    }

    #[test]
    fn finding_55_a_journal_that_only_grows_is_whole_without_a_look_at_all_of_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("journal");
        let mut records = Records::default();
        assert!(!records.is_whole(&LocalDisk, &path, 0), "nothing is known of it");
        fs::write(&path, PAUSED).unwrap();
        records.ledger(&LocalDisk, &path).unwrap();
        let length = PAUSED.len() as u64;
        assert!(records.is_whole(&LocalDisk, &path, length));
        assert!(!records.is_whole(&LocalDisk, &path, length + 1), "the copy is longer");
        for other in ["", RESUMED] {
            fs::write(&path, other).unwrap();
            assert!(!records.is_whole(&LocalDisk, &path, 0), "{other}");
        }
        fs::remove_file(&path).unwrap();
        assert!(!records.is_whole(&LocalDisk, &path, 0));
    }

    #[test]
    fn the_last_record_keeps_its_state_and_old_ones_let_it_go() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("journal");
        let mut text = String::new();
        for n in 0..40 {
            text.push_str(&format!(
                "{{\"v\":1,\"at\":\"{n}\",\"event\":\"paused\",\"changes\":{{\"state\":{{\"write\":{{}}}}}}}}\n"
            ));
        }
        // However many records follow.
        text.push_str(&PAUSED.repeat(40));
        fs::write(&path, &text).unwrap();
        let found = read_all(&LocalDisk, &path).unwrap();
        assert_eq!(found.len(), 80);
        let with_state = found
            .iter()
            .filter(|record| record.changes.as_ref().is_some_and(|c| !c.state.is_kept()));
        assert_eq!(with_state.map(|record| record.at.as_str()).collect::<Vec<_>>(), ["39"]);
    }
}
