//! Removed specs: a folder next to the specs from which they can be moved back.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::files::FileError;
use crate::git::{self, GitError};
use crate::ports::{Disk, Repository};
use crate::project::Spec;

/// The folder, next to the specs.
pub(crate) const FOLDER: &str = ".specum-trash";
/// How the moment is written behind the name of a spec.
const STAMP: &str = "%Y%m%dT%H%M%S%3fZ";
/// How long that is.
const STAMP_LENGTH: usize = "20260131T120000000Z".len();

/// A spec in the trash.
pub(crate) struct Removed {
    /// What it was called.
    pub(crate) name: String,
    /// Where it is.
    pub(crate) path: PathBuf,
    /// The folder in which it was.
    beside: PathBuf,
}

/// Moves the folder of a spec to the trash, and says where it is then.
pub(crate) fn move_there(spec: &Spec) -> Result<PathBuf, FileError> {
    let trash = spec.dir.with_file_name(FOLDER);
    let (disk, now) = (&spec.world.disk, spec.world.clock.now());
    disk.make_folder(&trash)?;
    let target = trash.join(format!("{}-{}", spec.name, now.strftime(STAMP)));
    let failed = |error| FileError::new("move the spec to", &target, error);
    disk.rename(&spec.dir, &target).map_err(failed)?;
    Ok(target)
}

/// The specs of a folder that were removed before a moment. What has another name was
/// put there by somebody else.
pub(crate) fn removed_before(
    disk: &dyn Disk,
    beside: &Path,
    moment: Timestamp,
) -> Result<Vec<Removed>, FileError> {
    // A trash that is not there is empty.
    let entries = disk.entries(&beside.join(FOLDER))?.into_iter();
    let folders = entries.filter(|path| disk.look(path).is_ok_and(|found| found.is_folder()));
    let removed = |path: PathBuf| {
        let (name, at) = name_and_time(path.file_name()?.to_str()?)?;
        let name = name.to_owned();
        (at < moment).then(|| Removed { name, path, beside: beside.to_owned() })
    };
    Ok(folders.filter_map(removed).collect())
}

fn name_and_time(entry: &str) -> Option<(&str, Timestamp)> {
    let at = entry.len().checked_sub(STAMP_LENGTH)?;
    let (name, stamp) = (entry.get(..at)?.strip_suffix('-')?, entry.get(at..)?);
    let (seconds, millis) = stamp.strip_suffix('Z')?.split_at_checked(15)?;
    millis.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
    let moment = DateTime::strptime("%Y%m%dT%H%M%S", seconds).ok()?;
    let moment = moment.to_zoned(TimeZone::UTC).ok()?.timestamp();
    (!name.is_empty()).then_some((name, moment))
}

impl Removed {
    /// Whether git has every document of the spec as it is here: then nothing is lost
    /// with it. specum's own files are not documents.
    pub(crate) fn is_in(&self, disk: &dyn Disk, git: &dyn Repository) -> Result<bool, GitError> {
        let Ok(root) = self.beside.strip_prefix(git.root()) else { return Ok(false) };
        folder_is_in(disk, git, &self.path, &root.join(&self.name))
    }
}

/// Whether git has every document of a folder that was there.
fn folder_is_in(
    disk: &dyn Disk,
    git: &dyn Repository,
    folder: &Path,
    was: &Path,
) -> Result<bool, GitError> {
    // What cannot be looked at may be anything.
    let Ok(paths) = disk.list(folder) else { return Ok(false) };
    for path in paths {
        let (Ok(found), Some(name)) = (disk.look(&path), path.file_name()) else {
            return Ok(false);
        };
        let was = was.join(name);
        let is_safe = if found.is_folder() {
            folder_is_in(disk, git, &path, &was)?
        } else if git::is_own_file(&name.to_string_lossy()) {
            true
        } else {
            found.is_file() && git.had_file(&path, &was)?
        };
        if !is_safe {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_called_like_a_removed_spec_is_none() {
        let (name, at) = name_and_time("a-b-20260131T120000123Z").unwrap();
        assert_eq!((name, at.to_string().as_str()), ("a-b", "2026-01-31T12:00:00Z"));
        for entry in [
            "",
            "a",
            "-20260131T120000123Z",
            "a-20261331T120000123Z",
            "20260131T120000123Z",
            "a_20260131T120000123Z",
            "é20260131T120000123Z",
            "a-20260131T120000é3Z",
        ] {
            assert!(name_and_time(entry).is_none(), "{entry}");
        }
    }
}
