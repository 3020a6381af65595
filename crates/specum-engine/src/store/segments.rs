//! The journals of earlier loops.
//!
//! When a loop begins after one that was completed, the journal of that one becomes a
//! segment: a file next to the journal, with a number. Nothing is added to it any more,
//! and nothing that works a loop has to read it.

use std::path::{Path, PathBuf};

use specum_core::journal::{self, Record};

use super::records::MAX_JOURNAL;
use crate::files::FileError;
use crate::ports::Disk;

const PREFIX: &str = ".ralph-journal-";
const SUFFIX: &str = ".jsonl";

/// The segments in a folder, the oldest first.
pub(super) fn segments(disk: &dyn Disk, folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    Ok(numbered(disk, folder)?.into_iter().map(|(_, path)| path).collect())
}

/// The same with their numbers.
pub(super) fn numbered(disk: &dyn Disk, folder: &Path) -> Result<Vec<(u64, PathBuf)>, FileError> {
    in_order(disk, folder, PREFIX)
}

/// The files of a folder that are called `<prefix><number>.jsonl`, by number.
pub(super) fn in_order(
    disk: &dyn Disk,
    folder: &Path,
    prefix: &str,
) -> Result<Vec<(u64, PathBuf)>, FileError> {
    let number = |path: &PathBuf| -> Option<u64> {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix(prefix)?.strip_suffix(SUFFIX)?.parse().ok()
    };
    // A folder that is not there has none.
    let files = disk.entries(folder)?.into_iter();
    let mut found: Vec<(u64, PathBuf)> =
        files.filter_map(|path| Some((number(&path)?, path))).collect();
    found.sort();
    Ok(found)
}

/// What the segment of this number is called.
pub(super) fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(name(PREFIX, number))
}

pub(super) fn name(prefix: &str, number: u64) -> String {
    format!("{prefix}{number}{SUFFIX}")
}

/// The number of the next segment, where others have these.
pub(super) fn next_number(
    disk: &dyn Disk,
    folder: &Path,
    others: &[(u64, PathBuf)],
) -> Result<u64, FileError> {
    let own = numbered(disk, folder)?;
    let numbers = own.iter().chain(others).map(|(number, _)| *number);
    Ok(numbers.max().map_or(1, |number| number.saturating_add(1)))
}

/// The records of the segments in a folder. Each holds whole loops, so no task in one
/// is called otherwise because of another.
pub(super) fn read(disk: &dyn Disk, folder: &Path) -> Result<Vec<Record>, FileError> {
    let mut all = Vec::new();
    for path in segments(disk, folder)? {
        let text = disk.read_if_there(&path, MAX_JOURNAL)?.unwrap_or_default();
        let mut records = journal::parse(&text);
        journal::follow_renames(&mut records, 0);
        all.append(&mut records);
    }
    Ok(all)
}
