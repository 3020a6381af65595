//! A copy of the journal in git's own folder of the work tree, where `git clean -x`
//! does not reach.
//!
//! It grows with the journal. Where it cannot be written, as in a host's sandbox,
//! less can be brought back, and the next writer makes up for it. It is known by
//! the place of the spec in its work tree, so it moves with the repository.

use std::fs;
use std::path::{Path, PathBuf};

use specum_core::digest::Digest;
use specum_core::journal;

use crate::files::{self, Durability};

/// The longest journal that is brought back.
const MAX_BYTES: u64 = 1024 * 1024 * 1024;
/// The longest file that says where git's folder is.
const MAX_LINK: u64 = 64 * 1024;

/// The copy of one journal.
pub(super) struct Backup(PathBuf);

impl Backup {
    /// The one of a spec; `None` outside of a repository.
    pub(super) fn of(spec: &Path) -> Option<Backup> {
        let root = spec.ancestors().skip(1).find(|dir| dir.join(".git").exists())?;
        let place = spec.strip_prefix(root).ok()?;
        let name = Digest::of(place.as_os_str().as_encoded_bytes()).hex();
        Some(Backup(git_folder(root)?.join("specum").join(format!("{name}.jsonl"))))
    }

    /// Adds the line, with its end, that was just written to a journal, or makes a new copy
    /// of the journal where a loop begins or lines are missing.
    pub(super) fn follow(&self, journal: &Path, line: &[u8], begins: bool) {
        let length = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
        let (ours, theirs) = (length(&self.0), length(journal));
        let added = line.len() as u64;
        if !begins && ours + added > theirs {
            // Somebody has taken something away: what we have is to be brought back.
            return;
        }
        if !begins && ours > 0 && ours + added == theirs {
            let _ = files::append_line(&self.0, line, Durability::Fast);
            return;
        }
        if let (Ok(bytes), Some(folder)) = (files::read(journal, MAX_BYTES), self.0.parent())
            && fs::create_dir_all(folder).is_ok()
        {
            let _ = files::write(&self.0, &bytes);
        }
    }

    /// What a journal should hold, if something of it was taken away.
    pub(super) fn missing_from(&self, journal: &[u8]) -> Option<Vec<u8>> {
        let ours = files::read(&self.0, MAX_BYTES).ok()?;
        if journal.len() >= ours.len() && journal.starts_with(&ours) {
            return None;
        }
        match ours.starts_with(journal) {
            true => Some(ours),
            // What was written since is told behind what was lost, unless it is
            // another loop's story.
            false if journal::parse(&ours).len() > journal::parse(journal).len() => {
                Some([ours.as_slice(), journal].concat())
            }
            false => None,
        }
    }
}

/// git's own folder of the work tree that begins here.
fn git_folder(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let text = files::read(&git, MAX_LINK).ok()?;
    let text = String::from_utf8(text).ok()?;
    Some(root.join(text.trim_end().strip_prefix("gitdir: ")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os;

    const LINES: [&str; 3] = [
        r#"{"v":1,"at":"1","event":"paused"}"#,
        r#"{"v":1,"at":"2","event":"resumed"}"#,
        r#"{"v":1,"at":"3","event":"paused"}"#,
    ];

    fn world() -> (tempfile::TempDir, PathBuf, Backup) {
        let place = tempfile::tempdir().unwrap();
        let spec = place.path().join("specs/demo");
        fs::create_dir_all(&spec).unwrap();
        fs::create_dir(place.path().join(".git")).unwrap();
        let backup = Backup::of(&spec).unwrap();
        (place, spec.join("journal"), backup)
    }

    fn append(journal: &Path, backup: &Backup, line: &str, begins: bool) {
        let line = format!("{line}\n");
        files::append_line(journal, line.as_bytes(), Durability::Fast).unwrap();
        backup.follow(journal, line.as_bytes(), begins);
    }

    #[test]
    fn each_record_is_added_to_the_copy_which_is_not_made_anew() {
        let (_place, journal, backup) = world();
        append(&journal, &backup, LINES[0], true);
        let file = |path: &Path| os::identity(&fs::metadata(path).unwrap());
        let copy = file(&backup.0);
        for line in [LINES[1], LINES[2], LINES[1]] {
            append(&journal, &backup, line, false);
            assert_eq!(fs::read(&backup.0).unwrap(), fs::read(&journal).unwrap());
            assert_eq!(file(&backup.0), copy);
        }
    }

    #[test]
    fn what_is_deleted_or_emptied_is_known() {
        let (_place, journal, backup) = world();
        append(&journal, &backup, LINES[0], true);
        append(&journal, &backup, LINES[1], false);
        let whole = fs::read(&journal).unwrap();
        assert_eq!(backup.missing_from(&whole), None, "nothing is");
        assert_eq!(backup.missing_from(b""), Some(whole.clone()));
        fs::write(&journal, "").unwrap();
        append(&journal, &backup, LINES[2], false);
        let rest = fs::read(&journal).unwrap();
        let told = [whole.as_slice(), &rest].concat();
        assert_eq!(backup.missing_from(&rest), Some(told), "what was written since stands behind");
    }

    #[test]
    fn a_copy_that_lacks_lines_is_made_anew() {
        let (_place, journal, backup) = world();
        append(&journal, &backup, LINES[0], true);
        files::append_line(&journal, LINES[1].as_bytes(), Durability::Fast).unwrap();
        append(&journal, &backup, LINES[2], false);
        assert_eq!(fs::read(&backup.0).unwrap(), fs::read(&journal).unwrap());
    }
}
