//! What git has said about the index, for as long as the index and HEAD stay as they
//! were.
//!
//! A task's commit needs to know what is staged and which files are tracked. The look
//! at the work tree before the check has told both already; asking again costs two
//! processes for each task. The answers are kept with a [`Stamp`] that was taken
//! before git was asked: if the stamp has changed since, git is asked again.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::SystemTime;

use super::commit::Staged;
use super::{Git, Status, common_folder};
use crate::files;
use crate::os;

/// The length of the checksum at the end of an index, or more than it.
const CHECKSUM: u64 = 32;
/// The longest file that names a commit.
const MAX_REFERENCE: u64 = 64 * 1024;

/// The answers that are known.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// What they were true of; `None` if nothing is known.
    stamp: Option<Stamp>,
    /// Where the index differs from HEAD.
    staged: Option<Vec<Staged>>,
    /// Some of the paths that are in the index.
    tracked: BTreeSet<String>,
}

/// What changes when something is staged or HEAD is moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    length: u64,
    identity: u64,
    modified: Option<SystemTime>,
    changed: Option<SystemTime>,
    /// The end of the index, which is its checksum unless the user has turned that
    /// off.
    checksum: Vec<u8>,
    /// `HEAD`, and the reference that it names.
    head: Vec<u8>,
    branch: Option<Vec<u8>>,
}

impl Stamp {
    /// `None` if HEAD cannot be followed without git, or if there is no index.
    fn of(own: &Path, common: &Path) -> Option<Stamp> {
        let (found, checksum) = end_of(&own.join("index")).ok()?;
        let head = files::read(&own.join("HEAD"), MAX_REFERENCE).ok()?;
        let branch = match head.strip_prefix(b"ref: ") {
            Some(name) => {
                let file = common.join(os::text(name.trim_ascii_end()));
                // A packed reference, one of a reftable, or one before the first
                // commit.
                let names = files::read(&file, MAX_REFERENCE).ok()?;
                Some(names).filter(|names| !names.starts_with(b"ref: ")).map(Some)?
            }
            None => None,
        };
        Some(Stamp {
            length: found.len(),
            identity: os::identity(&found),
            modified: found.modified().ok(),
            changed: os::changed(&found),
            checksum,
            head,
            branch,
        })
    }
}

fn end_of(file: &Path) -> std::io::Result<(fs::Metadata, Vec<u8>)> {
    let mut file = File::open(file)?;
    let found = file.metadata()?;
    let mut end = Vec::new();
    file.seek(SeekFrom::Start(found.len().saturating_sub(CHECKSUM)))?;
    file.take(CHECKSUM).read_to_end(&mut end)?;
    Ok((found, end))
}

impl Git {
    /// The stamp of the index and HEAD. Taken before git is asked something that is
    /// to be kept.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        // `git status` may be told to overlook a submodule, even a staged one.
        if self.root.join(".gitmodules").exists() {
            return None;
        }
        Stamp::of(&self.directory().ok()?, &common_folder(&self.root)?)
    }

    /// Keeps what a look at the work tree has told about the index.
    pub(super) fn learn_staged(&self, stamp: Option<Stamp>, status: &Status) {
        let staged = status.staged_entries.clone();
        self.learn(stamp, |known| known.staged = staged);
    }

    /// Keeps that these paths are in the index.
    pub(super) fn learn_tracked(
        &self,
        stamp: Option<Stamp>,
        paths: impl IntoIterator<Item = String>,
    ) {
        self.learn(stamp, |known| known.tracked.extend(paths));
    }

    /// Keeps that these paths, which were staged for the commit at HEAD, are in the
    /// index, unless the last look at the work tree says that it differs in them.
    pub(super) fn learn_committed(&self, paths: Vec<String>) {
        let mut known = self.known.lock().expect("no holder panics");
        let Some(staged) = &known.staged else { return };
        let differs = |path: &String| staged.iter().any(|staged| staged.path == *path);
        let same: Vec<String> = paths.into_iter().filter(|path| !differs(path)).collect();
        known.tracked.extend(same);
    }

    fn learn(&self, stamp: Option<Stamp>, add: impl FnOnce(&mut Known)) {
        let mut known = self.known.lock().expect("no holder panics");
        if known.stamp != stamp {
            *known = Known { stamp, ..Known::default() };
        }
        if known.stamp.is_some() {
            add(&mut known);
        }
    }

    /// Where the index differs from HEAD, if that is known.
    pub(super) fn known_staged(&self) -> Option<Vec<Staged>> {
        let stamp = self.stamp()?;
        let known = self.known.lock().expect("no holder panics");
        known.staged.clone().filter(|_| known.stamp == Some(stamp))
    }

    /// Those of some paths of which it is not known that they are in the index.
    pub(super) fn perhaps_untracked(&self, paths: &[String]) -> Vec<String> {
        let stamp = self.stamp();
        let known = self.known.lock().expect("no holder panics");
        let is_known = stamp.is_some() && known.stamp == stamp;
        let is_tracked = |path: &&String| is_known && known.tracked.contains(*path);
        paths.iter().filter(|path| !is_tracked(path)).cloned().collect()
    }
}
