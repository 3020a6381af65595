//! The journal as it has been read so far. It only ever grows, so a second look
//! reads what was added; a loop of a thousand tasks would otherwise read its
//! whole story a thousand times.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use specum_core::attempt::Ledger;
use specum_core::journal::{self, Record, StateChange};
use specum_core::plan_record::PlanRecord;

use crate::{files, os};

/// The longest journal worth reading.
pub(super) const MAX_JOURNAL: u64 = 1024 * 1024 * 1024;

#[derive(Debug, Default)]
pub(super) struct Records {
    /// How much of the file is read: whole lines.
    length: u64,
    /// Which file it was.
    identity: u64,
    /// What was read last, to be sure that the file is still the same.
    last_line: Vec<u8>,
    records: Arc<Vec<Record>>,
    /// Which of them wrote the state last. Only that one is ever asked for its
    /// state, which is most of a record; the others have let it go.
    with_state: Option<usize>,
    /// Where the attempts stand.
    ledger: Arc<Ledger>,
    /// What the first of them have on record about the plan, and how many that
    /// are.
    plan_record: (Arc<PlanRecord>, usize),
}

impl Records {
    /// Every record of the journal.
    pub(super) fn read(&mut self, path: &Path) -> io::Result<Arc<Vec<Record>>> {
        let mut file = match files::open_own(path, File::options().read(true)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                *self = Records::default();
                return Ok(Arc::default());
            }
            Err(error) => return Err(error),
        };
        if !self.is_of(&mut file)? {
            *self = Records { identity: identity(&file)?, ..Records::default() };
        }
        file.seek(SeekFrom::Start(self.length))?;
        let mut added = Vec::new();
        file.take(MAX_JOURNAL).read_to_end(&mut added)?;
        let whole = added.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.add(&added[..whole]);
        let torn = journal::parse(&added[whole..]);
        if torn.is_empty() {
            return Ok(Arc::clone(&self.records));
        }
        // Somebody died before the end of the line, but not before that of the
        // record.
        let mut records: Vec<Record> = self.records.iter().cloned().chain(torn).collect();
        journal::follow_renames(&mut records, self.records.len());
        Ok(Arc::new(records))
    }

    /// Where the attempts of the journal stand.
    pub(super) fn ledger(&mut self, path: &Path) -> io::Result<Arc<Ledger>> {
        let records = self.read(path)?;
        let known = self.records.len();
        if records.len() == known {
            return Ok(Arc::clone(&self.ledger));
        }
        let mut ledger = Ledger::clone(&self.ledger);
        records[known..].iter().for_each(|record| ledger.add(record));
        Ok(Arc::new(ledger))
    }

    /// What the journal has on record about the plan.
    pub(super) fn plan_record(&mut self, path: &Path) -> io::Result<Arc<PlanRecord>> {
        let records = self.read(path)?;
        if !Arc::ptr_eq(&records, &self.records) {
            return Ok(Arc::new(PlanRecord::of(&records)));
        }
        let (plan_record, known) = &mut self.plan_record;
        let new = records.get(*known..).unwrap_or_default();
        let is_simple = |record: &Record| !PlanRecord::is_rewritten_by(record);
        if *known > 0 && new.iter().all(is_simple) {
            if new.iter().any(PlanRecord::is_touched_by) {
                let plan_record = Arc::make_mut(plan_record);
                new.iter().for_each(|record| plan_record.add(record));
            }
        } else {
            *plan_record = Arc::new(PlanRecord::of(&records));
        }
        *known = records.len();
        Ok(Arc::clone(plan_record))
    }

    /// Whether a journal is the one that was read, and at least so long: then nothing
    /// was taken from it since.
    pub(super) fn is_whole(&self, path: &Path, length: u64) -> bool {
        let file = files::open_own(path, File::options().read(true));
        self.length > 0
            && file.is_ok_and(|mut file| {
                file.metadata().is_ok_and(|found| found.len() >= length)
                    && self.is_of(&mut file).unwrap_or(false)
            })
    }

    /// Whether a file still begins with what was read of it.
    fn is_of(&self, file: &mut File) -> io::Result<bool> {
        if file.metadata()?.len() < self.length || identity(file)? != self.identity {
            return Ok(false);
        }
        let mut line = vec![0; self.last_line.len()];
        file.seek(SeekFrom::Start(self.length - line.len() as u64))?;
        file.read_exact(&mut line)?;
        Ok(line == self.last_line)
    }

    fn add(&mut self, lines: &[u8]) {
        if lines.is_empty() {
            return;
        }
        let before = lines[..lines.len() - 1].iter().rposition(|byte| *byte == b'\n');
        self.last_line = lines[before.map_or(0, |at| at + 1)..].to_vec();
        self.length += lines.len() as u64;
        let records = Arc::make_mut(&mut self.records);
        let ledger = Arc::make_mut(&mut self.ledger);
        let known = records.len();
        for record in journal::parse(lines) {
            let writes = record.changes.as_ref().is_some_and(|c| c.state != StateChange::Keep);
            if writes
                && let Some(before) = self.with_state.replace(records.len())
                && let Some(changes) = &mut records[before].changes
            {
                changes.state = StateChange::Keep;
            }
            ledger.add(&record);
            records.push(record);
        }
        journal::follow_renames(records, known);
    }
}

fn identity(file: &File) -> io::Result<u64> {
    Ok(os::identity(&file.metadata()?))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const PAUSED: &str = "{\"v\":1,\"at\":\"\",\"event\":\"paused\"}\n";
    const RESUMED: &str = "{\"v\":1,\"at\":\"\",\"event\":\"resumed\"}\n";

    /// What a reader that has seen nothing finds.
    fn fresh(path: &Path) -> Arc<Vec<Record>> {
        Records::default().read(path).unwrap()
    }

    #[test]
    fn a_second_look_finds_what_a_first_one_would() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("journal");
        let mut records = Records::default();
        assert!(records.read(&path).unwrap().is_empty());
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
            assert_eq!(records.read(&path).unwrap(), fresh(&path), "{text}");
            assert_eq!(records.read(&path).unwrap(), fresh(&path), "again: {text}");
        }
        fs::remove_file(&path).unwrap();
        assert!(records.read(&path).unwrap().is_empty());
    }

    #[test]
    fn finding_55_a_journal_that_only_grows_is_whole_without_a_look_at_all_of_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("journal");
        let mut records = Records::default();
        assert!(!records.is_whole(&path, 0), "nothing is known of it");
        fs::write(&path, PAUSED).unwrap();
        records.read(&path).unwrap();
        let length = PAUSED.len() as u64;
        assert!(records.is_whole(&path, length));
        assert!(!records.is_whole(&path, length + 1), "the copy is longer");
        for other in ["", RESUMED] {
            fs::write(&path, other).unwrap();
            assert!(!records.is_whole(&path, 0), "{other}");
        }
        fs::remove_file(&path).unwrap();
        assert!(!records.is_whole(&path, 0));
    }

    #[test]
    fn the_last_record_keeps_its_state_and_old_ones_let_it_go() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("journal");
        let mut records = Records::default();
        let mut text = String::new();
        for n in 0..40 {
            text.push_str(&format!(
                "{{\"v\":1,\"at\":\"{n}\",\"event\":\"paused\",\"changes\":{{\"state\":{{\"write\":{{}}}}}}}}\n"
            ));
            fs::write(&path, &text).unwrap();
            let found = records.read(&path).unwrap();
            let with_state = found.iter().filter(|record| {
                record.changes.as_ref().is_some_and(|c| c.state != StateChange::Keep)
            });
            assert_eq!(
                with_state.map(|record| record.at.clone()).collect::<Vec<_>>(),
                [n.to_string()]
            );
        }
        // However much is told behind it.
        for _ in 0..40 {
            text.push_str(PAUSED);
            fs::write(&path, &text).unwrap();
            let found = records.read(&path).unwrap();
            let state = &found[39].changes.as_ref().unwrap().state;
            assert!(matches!(state, StateChange::Write(_)));
        }
    }
}
