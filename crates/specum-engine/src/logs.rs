//! Where the output of agents is kept: one file for each start, below specum's
//! own state folder, readable by the user alone.
//!
//! A file that is there is never written again. An id is the task file's and may
//! be anything; what is no plain character in it becomes `_`, so no id leads out
//! of the folder.

use std::io;
use std::path::{Path, PathBuf};

use specum_core::digest::Digest;

use crate::ports::Disk;
use crate::project::Spec;

/// The longest name made of an id.
const MAX_NAME: usize = 80;

/// The folder for the logs of a spec; `None` without a home.
pub fn log_dir(spec: &Spec) -> Option<PathBuf> {
    Some(dir_below(spec.world.state_home.as_ref()?, &spec.name, &spec.dir))
}

/// The same for a spec of this name that is, or was, at this place.
pub(crate) fn dir_below(state_home: &Path, name: &str, place: &Path) -> PathBuf {
    state_home.join("logs").join(folder_at(name, place))
}

/// The name of a folder for this spec alone: two projects may have specs of one
/// name.
pub(crate) fn folder_of(spec: &Spec) -> String {
    folder_at(&spec.name, &spec.dir)
}

fn folder_at(name: &str, place: &Path) -> String {
    let place = Digest::of(place.as_os_str().as_encoded_bytes()).hex();
    format!("{}-{place}", plain(name))
}

/// Begins the log of one start of an agent: `<task>-<attempt>.log`, or
/// `<task>-<attempt>.2.log` when an attempt is started again.
pub fn new_log(spec: &Spec, task: &str, attempt: u64) -> io::Result<PathBuf> {
    let none = || io::Error::new(io::ErrorKind::NotFound, "neither XDG_STATE_HOME nor HOME is set");
    new_in(&*spec.world.disk, &log_dir(spec).ok_or_else(none)?, task, attempt)
}

/// What an agent prints may be private.
fn new_in(disk: &dyn Disk, dir: &Path, task: &str, attempt: u64) -> io::Result<PathBuf> {
    let mut start = newest_start(disk, dir, task, attempt).map_or(1, |start| start + 1);
    loop {
        let path = dir.join(file_name(task, attempt, start));
        if disk.create_private(&path)? {
            return Ok(path);
        }
        start += 1;
    }
}

/// Begins a file for what a run in the background prints: `run.log`, `run.2.log`, … Its
/// name is that of no log of an agent.
pub(crate) fn run_output(spec: &Spec) -> io::Result<PathBuf> {
    let none = || io::Error::new(io::ErrorKind::NotFound, "neither XDG_STATE_HOME nor HOME is set");
    let dir = log_dir(spec).ok_or_else(none)?;
    let mut number = 1;
    loop {
        let name = if number == 1 { "run.log".to_owned() } else { format!("run.{number}.log") };
        let path = dir.join(name);
        if spec.world.disk.create_private(&path)? {
            return Ok(path);
        }
        number += 1;
    }
}

/// The log of the last start of an attempt.
pub fn newest_log(spec: &Spec, task: &str, attempt: u64) -> Option<PathBuf> {
    newest_in(&*spec.world.disk, &log_dir(spec)?, task, attempt)
}

fn newest_in(disk: &dyn Disk, dir: &Path, task: &str, attempt: u64) -> Option<PathBuf> {
    Some(dir.join(file_name(task, attempt, newest_start(disk, dir, task, attempt)?)))
}

/// Whether a path that a journal names is a log of this spec: a journal may
/// come with a repository and name any file.
pub fn is_log(spec: &Spec, path: &Path) -> bool {
    path.parent().is_some_and(|parent| log_dir(spec).is_some_and(|dir| dir == parent))
}

fn newest_start(disk: &dyn Disk, dir: &Path, task: &str, attempt: u64) -> Option<u64> {
    let begin = format!("{}-{attempt}", plain(task));
    let start_of = |name: &str| match name.strip_prefix(&begin)?.strip_suffix(".log")? {
        "" => Some(1),
        rest => rest.strip_prefix('.')?.parse().ok(),
    };
    let paths = disk.list(dir).ok()?.into_iter();
    paths.filter_map(|path| start_of(path.file_name()?.to_str()?)).max()
}

fn file_name(task: &str, attempt: u64, start: u64) -> String {
    let task = plain(task);
    if start == 1 {
        format!("{task}-{attempt}.log")
    } else {
        format!("{task}-{attempt}.{start}.log")
    }
}

/// A name of plain characters only. What has lost something by that ends with a
/// digest, so that two names stay two; the `#` of a task without an id says
/// nothing.
pub(crate) fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let replaced = |c: char| if is_plain(c) { c } else { '_' };
    let plain: String = name.chars().take(MAX_NAME).map(replaced).collect();
    if name.len() > MAX_NAME || name.chars().any(|c| !is_plain(c) && c != '#') {
        format!("{plain}-{}", Digest::of(name.as_bytes()).hex())
    } else {
        plain
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::files::LocalDisk;

    #[test]
    fn every_start_of_an_attempt_has_a_file_of_its_own() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("a/b");
        let name = |task: &str, attempt| {
            let path = new_in(&LocalDisk, &dir, task, attempt).unwrap();
            assert_eq!(newest_in(&LocalDisk, &dir, task, attempt), Some(path.clone()));
            path.strip_prefix(&dir).unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(name("1.2", 1), "1.2-1.log");
        assert_eq!(name("1.2", 1), "1.2-1.2.log");
        assert_eq!(name("1.2", 1), "1.2-1.3.log");
        assert_eq!(name("1.2", 11), "1.2-11.log", "another attempt");
        assert_eq!(name("1.2-1", 2), "1.2-1-2.log", "another task");
        assert_eq!(newest_in(&LocalDisk, &dir, "1.2", 1), Some(dir.join("1.2-1.3.log")));
        assert_eq!(newest_in(&LocalDisk, &dir, "1.3", 1), None);
        fs::remove_file(dir.join("1.2-1.log")).unwrap();
        assert_eq!(name("1.2", 1), "1.2-1.4.log", "the newest has the highest number");
    }

    #[test]
    fn no_id_leads_out_of_the_folder() {
        let place = tempfile::tempdir().unwrap();
        for id in ["../../x", "/etc/passwd", "..", "", "a/b\0c", "#3", &"é".repeat(500)] {
            let path = new_in(&LocalDisk, place.path(), id, 1).unwrap();
            assert_eq!(path.parent(), Some(place.path()), "{id:?}");
        }
    }

    #[test]
    fn two_names_stay_two() {
        assert_eq!([plain("1.2"), plain("#3"), plain("my-spec")], ["1.2", "_3", "my-spec"]);
        let long = "1.".repeat(100);
        for (one, other) in
            [("日本", "中国"), ("a b", "a_b"), (&format!("{long}1"), &format!("{long}2"))]
        {
            assert_ne!(plain(one), plain(other));
            assert!(plain(one).len() <= MAX_NAME + 17);
        }
    }

    #[test]
    fn two_specs_of_one_name_have_two_folders() {
        let folder = |dir: &str| dir_below(Path::new("/state"), "api", Path::new(dir));
        let one = folder("/one/specs/api");
        assert_ne!(one, folder("/two/specs/api"));
        assert!(one.starts_with("/state/logs"));
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_can_read_a_log() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("logs");
        let path = new_in(&LocalDisk, &dir, "1.1", 1).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o077;
        assert_eq!((mode(&dir), mode(&path)), (0, 0));
    }
}
