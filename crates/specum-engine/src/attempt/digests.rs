//! Digests of files that are not committed. A file is read again only if something
//! tells that it may have changed: every look at the tree asks for all of them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use specum_core::digest::ContentDigest;

use crate::ports::{FileInfo, World};

/// The largest file whose content is compared. Of a larger one, size and time are.
const MAX_COMPARED: u64 = 64 * 1024 * 1024;
/// A file that was changed just now may be changed again within the same tick of
/// its clock: its content decides, until so much time has passed.
const SETTLED: Duration = Duration::from_secs(2);

/// The digests that are known.
#[derive(Debug)]
pub(super) struct Digests {
    known: Mutex<HashMap<PathBuf, (FileInfo, String)>>,
    settled: Duration,
}

impl Default for Digests {
    fn default() -> Digests {
        Digests { known: Mutex::default(), settled: SETTLED }
    }
}

impl Digests {
    /// The digest of a file, or why there is none.
    pub(super) fn of(&self, world: &World, path: &Path) -> String {
        let looked = SystemTime::from(world.clock.now());
        let stamp = match world.disk.look_behind(path) {
            Ok(found) => found,
            Err(error) => return error.kind().to_string(),
        };
        if stamp.is_file() && stamp.length > MAX_COMPARED {
            let at = stamp.modified.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
            return format!("{} bytes of {}", stamp.length, at.unwrap_or_default().as_nanos());
        }
        let mut known = self.known.lock().expect("no reader panics");
        if let Some((before, digest)) = known.get(path)
            && *before == stamp
        {
            return digest.clone();
        }
        let digest = match world.disk.read(path, MAX_COMPARED) {
            Ok(bytes) => ContentDigest::of(&bytes).to_string(),
            Err(error) => return error.kind().to_string(),
        };
        let times = [stamp.modified, stamp.changed].into_iter().flatten();
        let age = times.max().and_then(|last| looked.duration_since(last).ok());
        if age.is_some_and(|age| age >= self.settled) {
            known.insert(path.to_owned(), (stamp, digest.clone()));
        }
        digest
    }

    /// Whether a file is what it was when a digest of it was recorded, which another
    /// version may have done with another algorithm.
    pub(super) fn is_as_recorded(world: &World, path: &Path, recorded: &str) -> bool {
        let content = world.disk.read(path, MAX_COMPARED);
        content.is_ok_and(|bytes| ContentDigest::matches(recorded, &bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;

    use super::*;
    use crate::memory::{MemoryClock, MemoryDisk};
    use crate::ports::Clock;

    fn world() -> (World, Arc<MemoryClock>, MemoryDisk) {
        let clock = Arc::new(MemoryClock::at(Timestamp::UNIX_EPOCH));
        let disk = MemoryDisk::new(Arc::clone(&clock) as Arc<dyn Clock>);
        let shared = (Arc::clone(&clock) as Arc<dyn Clock>, Arc::new(disk.clone()));
        (World { clock: shared.0, disk: shared.1, ..World::real() }, clock, disk)
    }

    #[test]
    fn finding_56_a_dirty_file_is_read_once_until_it_changes() {
        let (world, clock, disk) = world();
        let (path, digests) = (Path::new("/file"), Digests::default());
        let of = || (digests.of(&world, path), disk.opened());
        disk.put(path, b"one");
        // Within the same tick of its clock it may be changed again: it is read.
        let (one, _) = of();
        assert_eq!(of(), (one.clone(), 2));
        clock.pass(SETTLED);
        assert_eq!((of(), of()), ((one.clone(), 3), (one.clone(), 3)));
        // Of the same length, and at the same time.
        disk.put(path, b"two");
        let (two, opened) = of();
        assert!(two != one && opened == 4);
        clock.pass(SETTLED);
        assert_eq!((of(), of()), ((two.clone(), 5), (two, 5)));
    }

    #[test]
    fn finding_56_a_change_of_a_file_that_is_too_large_to_be_read_is_seen() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(MAX_COMPARED + 1).unwrap();
        let of = || Digests::default().of(&World::real(), &path);
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
