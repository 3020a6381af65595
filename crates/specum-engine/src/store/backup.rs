//! A copy of the journal in git's own folder of the work tree, where `git clean -x`
//! does not reach.
//!
//! It grows with the journal. Where it cannot be written, as in a host's sandbox,
//! less can be brought back, and the next writer makes up for it. It is known by
//! the place of the spec in its work tree, so it moves with the repository. The journals
//! of earlier loops have copies next to it.

use std::path::{Path, PathBuf};

use specum_core::digest::Digest;
use specum_core::journal::{self, Entry};

use super::segments;
use crate::files::{Durability, FileError};
use crate::ports::{Disk, NewContent, World};

/// The longest journal that is brought back.
const MAX_BYTES: u64 = 1024 * 1024 * 1024;
/// The longest file that says where git's folder is.
const MAX_LINK: u64 = 64 * 1024;

/// The copy of one journal.
pub(super) struct Backup {
    world: World,
    path: PathBuf,
}

impl Backup {
    /// The one of a spec; `None` outside of a repository.
    pub(super) fn of(world: &World, spec: &Path) -> Option<Backup> {
        let disk = &*world.disk;
        let root = spec.ancestors().skip(1).find(|dir| disk.exists(&dir.join(".git")))?;
        let place = spec.strip_prefix(root).ok()?;
        let name = Digest::of(place.as_os_str().as_encoded_bytes()).hex();
        let path = git_folder(disk, root)?.join("specum").join(format!("{name}.jsonl"));
        Some(Backup { world: world.clone(), path })
    }

    fn disk(&self) -> &dyn Disk {
        &*self.world.disk
    }

    /// Adds the line that was just written to a journal, with its end, or makes a new copy of it
    /// where a loop begins or lines are missing.
    pub(super) fn follow(&self, journal: &Path, line: &[u8], begins: bool) {
        let theirs = self.disk().look_behind(journal).map_or(0, |file| file.length);
        let ours = self.length();
        let added = line.len() as u64;
        let is_longer = ours + added > theirs;
        if !begins && is_longer && self.tells_of_loop_under_way() {
            // Somebody has taken something away: what we have is to be brought back.
            return;
        }
        if !begins && ours > 0 && ours + added == theirs {
            let _ = self.disk().append_line(&self.path, line, Durability::Fast);
            return;
        }
        if let (Ok(bytes), Some(folder)) =
            (self.disk().read(journal, MAX_BYTES), self.path.parent())
            && self.disk().make_folder(folder).is_ok()
        {
            let _ = self.disk().write(&self.path, &bytes);
        }
    }

    /// How long the copy is.
    pub(super) fn length(&self) -> u64 {
        self.disk().look_behind(&self.path).map_or(0, |file| file.length)
    }

    /// The copies of the journals of earlier loops, by number.
    pub(super) fn segments(&self) -> Result<Vec<(u64, PathBuf)>, FileError> {
        let (folder, prefix) = self.place();
        segments::in_order(self.disk(), folder, &prefix)
    }

    /// All copies, the newest first.
    pub(super) fn newest(&self) -> Result<Vec<PathBuf>, FileError> {
        let segments = self.segments()?.into_iter().rev().map(|(_, path)| path);
        Ok(std::iter::once(self.path.clone()).chain(segments).collect())
    }

    /// Where the copies of those are, and what their names begin with.
    fn place(&self) -> (&Path, String) {
        let name = self.path.file_stem().unwrap_or_default().to_string_lossy();
        (self.path.parent().unwrap_or(Path::new("")), format!("{name}-"))
    }

    /// Makes the copy of a journal that is a segment by now the copy of that segment.
    pub(super) fn retire(&self, spec: &Path) -> Result<(), FileError> {
        let Ok(ours) = self.disk().read(&self.path, MAX_BYTES) else { return Ok(()) };
        let (folder, prefix) = self.place();
        let place = |number| folder.join(segments::name(&prefix, number));
        let is_whole = |path: &Path| {
            self.disk().read(path, MAX_BYTES).ok().filter(|bytes| bytes.starts_with(&ours))
        };
        let same = segments::numbered(self.disk(), spec)?.into_iter().rev();
        let same = same.filter_map(|(number, path)| Some((number, is_whole(&path)?))).next();
        match same {
            Some((number, bytes)) => {
                if self.disk().write(&place(number), &bytes).is_ok() {
                    let _ = self.disk().remove(&self.path);
                }
            }
            // Somebody has deleted the journal: this is the only copy.
            None => {
                let number = segments::next_number(self.disk(), spec, &self.segments()?)?;
                let _ = self.disk().rename(&self.path, &place(number));
            }
        }
        Ok(())
    }

    /// Lets the copies hold what the segments in a folder do.
    pub(super) fn thin_segments(&self, spec: &Path) -> Result<(), FileError> {
        for (number, copy) in self.segments()? {
            if let Ok(bytes) = self.disk().read(&segments::path(spec, number), MAX_BYTES) {
                let _ = self.disk().write(&copy, &bytes);
            }
        }
        Ok(())
    }

    /// Writes the segments again that are missing from a folder.
    pub(super) fn bring_segments_back(&self, spec: &Path) -> Result<(), FileError> {
        for (number, copy) in self.segments()? {
            if let Some(bytes) = self.disk().read_if_there(&copy, MAX_BYTES)? {
                // One that is there is left alone.
                let path = segments::path(spec, number);
                self.disk().create(NewContent { path: &path, bytes: &bytes })?;
            }
        }
        Ok(())
    }

    /// Deletes all copies.
    pub(super) fn forget(&self) -> Result<(), FileError> {
        self.segments()?.iter().try_for_each(|(_, copy)| self.disk().remove(copy))?;
        self.disk().remove(&self.path)
    }

    /// Whether it is the copy of a loop that has not ended. The copy of one that was
    /// completed may have been left behind where git's folder is read-only.
    fn tells_of_loop_under_way(&self) -> bool {
        self.disk().read(&self.path, MAX_BYTES).is_ok_and(|ours| is_under_way(&ours))
    }

    /// What the journal of a loop under way should hold, if something of it was taken
    /// away.
    pub(super) fn missing_from(&self, journal: &[u8]) -> Option<Vec<u8>> {
        let ours =
            self.disk().read(&self.path, MAX_BYTES).ok().filter(|ours| is_under_way(ours))?;
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

/// Whether a journal tells of a loop that has not ended.
fn is_under_way(journal: &[u8]) -> bool {
    let records = journal::parse(journal);
    let last = records.iter().rev().find(|record| {
        matches!(record.entry, Entry::Cancelled | Entry::Completed { .. } | Entry::Started { .. })
    });
    last.is_some_and(|record| matches!(record.entry, Entry::Started { .. }))
}

/// git's own folder of the work tree that begins here.
fn git_folder(disk: &dyn Disk, root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if disk.is_folder(&git) {
        return Some(git);
    }
    let text = disk.read(&git, MAX_LINK).ok()?;
    let text = String::from_utf8(text).ok()?;
    Some(root.join(text.trim_end().strip_prefix("gitdir: ")?))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// As [`journal::Record::render`] has them.
    const LINES: [&str; 3] = [
        r#"{"v":1,"at":"1","event":"started","tasks":1,"open":1}"#,
        r#"{"v":1,"at":"2","event":"resumed"}"#,
        r#"{"v":1,"at":"3","event":"paused"}"#,
    ];

    fn world() -> (tempfile::TempDir, PathBuf, Backup) {
        let place = tempfile::tempdir().unwrap();
        let spec = place.path().join("specs/demo");
        fs::create_dir_all(&spec).unwrap();
        fs::create_dir(place.path().join(".git")).unwrap();
        let backup = Backup::of(&World::real(), &spec).unwrap();
        (place, spec.join("journal"), backup)
    }

    fn add(journal: &Path, line: &str) {
        let line = format!("{line}\n");
        World::real().disk.append_line(journal, line.as_bytes(), Durability::Fast).unwrap();
    }

    fn append(journal: &Path, backup: &Backup, line: &str, begins: bool) {
        add(journal, line);
        backup.follow(journal, format!("{line}\n").as_bytes(), begins);
    }

    #[test]
    fn each_record_is_added_to_the_copy_which_is_not_made_anew() {
        let (_place, journal, backup) = world();
        append(&journal, &backup, LINES[0], true);
        let file = |path: &Path| backup.disk().look(path).unwrap().identity;
        let copy = file(&backup.path);
        for line in [LINES[1], LINES[2], LINES[1]] {
            append(&journal, &backup, line, false);
            assert_eq!(fs::read(&backup.path).unwrap(), fs::read(&journal).unwrap());
            assert_eq!(file(&backup.path), copy);
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
    fn finding_55_a_line_is_added_to_the_copy_and_nothing_else_is_written() {
        let (_place, journal, backup) = world();
        append(&journal, &backup, LINES[0], true);
        let file = || backup.disk().look(&backup.path).unwrap().identity;
        let before = file();
        for line in LINES {
            append(&journal, &backup, line, false);
            assert_eq!(fs::read(&backup.path).unwrap(), fs::read(&journal).unwrap());
            assert_eq!(file(), before, "a copy made anew is another file");
        }
    }

    #[test]
    fn the_copy_of_a_loop_that_is_over_is_missing_from_no_journal() {
        let (_place, journal, backup) = world();
        append(&journal, &backup, LINES[0], true);
        append(&journal, &backup, r#"{"v":1,"at":"2","event":"completed","tasks":1}"#, false);
        let spec = journal.parent().unwrap();
        // The process is killed here, or git's folder is read-only.
        fs::rename(&journal, spec.join(".ralph-journal-1.jsonl")).unwrap();
        add(&journal, LINES[0]);
        assert_eq!(backup.missing_from(&fs::read(&journal).unwrap()), None);
        append(&journal, &backup, LINES[1], false);
        assert_eq!(fs::read(&backup.path).unwrap(), fs::read(&journal).unwrap());
    }

    #[test]
    fn the_copy_of_a_journal_becomes_the_copy_of_its_segment() {
        let (_place, journal, backup) = world();
        append(&journal, &backup, LINES[0], true);
        let spec = journal.parent().unwrap();
        let segment = spec.join(".ralph-journal-7.jsonl");
        fs::rename(&journal, &segment).unwrap();
        backup.retire(spec).unwrap();
        let segments = backup.segments().unwrap();
        let [(7, copy)] = &segments[..] else { panic!("{segments:?}") };
        assert_eq!(fs::read(copy).unwrap(), fs::read(&segment).unwrap());
        assert_eq!(backup.length(), 0);
        // If the original was deleted, it is the only copy.
        append(&journal, &backup, LINES[1], true);
        fs::remove_file(&journal).unwrap();
        backup.retire(spec).unwrap();
        assert_eq!(backup.segments().unwrap().len(), 2);
        backup.bring_segments_back(spec).unwrap();
        assert_eq!(segments::segments(backup.disk(), spec).unwrap().len(), 2);
    }

    #[test]
    fn a_copy_that_lacks_lines_is_made_anew() {
        let (_place, journal, backup) = world();
        append(&journal, &backup, LINES[0], true);
        add(&journal, LINES[1]);
        append(&journal, &backup, LINES[2], false);
        assert_eq!(fs::read(&backup.path).unwrap(), fs::read(&journal).unwrap());
    }
}
