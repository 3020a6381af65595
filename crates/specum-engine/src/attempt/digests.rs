//! Digests of files that are not committed. A file is read again only if something
//! tells that it may have changed: every look at the tree asks for all of them.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use specum_core::digest::Digest;

use crate::{clock, os};

/// The largest file whose content is compared. Of a larger one, size and time are.
pub(super) const MAX_COMPARED: u64 = 64 * 1024 * 1024;
/// A file that was changed just now may be changed again within the same tick of
/// its clock: its content decides, until so much time has passed.
const SETTLED: Duration = Duration::from_secs(2);

/// The digests that are known.
#[derive(Debug)]
pub(super) struct Digests {
    known: Mutex<HashMap<PathBuf, (Stamp, String)>>,
    settled: Duration,
}

/// What does not stay the same when somebody writes to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    length: u64,
    identity: u64,
    modified: Option<SystemTime>,
    /// Which nobody can set back, where the system has it.
    changed: Option<SystemTime>,
}

impl Default for Digests {
    fn default() -> Digests {
        Digests { known: Mutex::default(), settled: SETTLED }
    }
}

impl Digests {
    /// The digest of a file, or why there is none. `read` gives its content.
    pub(super) fn of(
        &self,
        path: &Path,
        read: impl FnOnce(&Path) -> io::Result<Vec<u8>>,
    ) -> String {
        let looked = SystemTime::from(clock::now());
        let found = match fs::metadata(path) {
            Ok(found) => found,
            Err(error) => return error.kind().to_string(),
        };
        let stamp = Stamp::of(&found);
        if found.is_file() && stamp.length > MAX_COMPARED {
            let at = stamp.modified.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
            return format!("{} bytes of {}", stamp.length, at.unwrap_or_default().as_nanos());
        }
        let mut known = self.known.lock().expect("no reader panics");
        if let Some((before, digest)) = known.get(path)
            && *before == stamp
        {
            return digest.clone();
        }
        let digest = match read(path) {
            Ok(bytes) => Digest::of(&bytes).hex(),
            Err(error) => return error.kind().to_string(),
        };
        let times = [stamp.modified, stamp.changed].into_iter().flatten();
        let age = times.max().and_then(|last| looked.duration_since(last).ok());
        if age.is_some_and(|age| age >= self.settled) {
            known.insert(path.to_owned(), (stamp, digest.clone()));
        }
        digest
    }
}

impl Stamp {
    fn of(found: &Metadata) -> Stamp {
        Stamp {
            length: found.len(),
            identity: os::identity(found),
            modified: found.modified().ok(),
            changed: os::changed(found),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs::File;

    use super::*;

    #[test]
    fn finding_56_a_dirty_file_is_read_once_until_it_changes() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        let reads = Cell::new(0);
        let of = |digests: &Digests| {
            digests.of(&path, |path| {
                reads.set(reads.get() + 1);
                fs::read(path)
            })
        };
        let settled = Digests { settled: Duration::ZERO, ..Digests::default() };
        fs::write(&path, "one").unwrap();
        let one = of(&settled);
        assert_eq!((of(&settled), reads.get()), (one.clone(), 1));
        // Of the same length, and with the old time.
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        fs::write(&path, "two").unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
        assert_ne!(of(&settled), one);
        assert_eq!(reads.get(), 2);
        // In doubt it is read.
        let careful = Digests { settled: Duration::from_secs(3600), ..Digests::default() };
        assert_eq!(of(&careful), of(&careful));
        assert_eq!(reads.get(), 4);
    }

    #[test]
    fn finding_56_a_change_of_a_file_that_is_too_large_to_be_read_is_seen() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        let file = File::create(&path).unwrap();
        file.set_len(MAX_COMPARED + 1).unwrap();
        let of = || Digests::default().of(&path, |_| panic!("it is too large"));
        let before = of();
        assert_eq!(of(), before);
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert_ne!(of(), before);
        let before = of();
        file.set_len(MAX_COMPARED + 2).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert_ne!(of(), before);
    }
}
