//! Where the system does not tell about other processes, there seem to be none
//! but those that we have started.

use std::path::{Path, PathBuf};

use super::Stat;

/// A process is known by its number alone.
#[cfg(unix)]
pub(crate) fn stat(process: u32) -> Option<Stat> {
    match rustix::process::test_kill_process(super::unix::pid(process)?) {
        Ok(()) | Err(rustix::io::Errno::PERM) => {
            Some(Stat { name: None, parent: 0, started: String::new() })
        }
        Err(_) => None,
    }
}

/// Whether a process lives is not known.
#[cfg(not(unix))]
pub(crate) fn stat(_process: u32) -> Option<Stat> {
    None
}

pub(crate) fn boot() -> String {
    String::new()
}

pub(crate) fn exchange(_one: &Path, _other: &Path) -> bool {
    false
}

pub(crate) fn pid_namespace() -> String {
    String::new()
}

pub(crate) fn processes() -> Vec<u32> {
    Vec::new()
}

/// Whether a file has one name only: elsewhere another case may name it too.
pub(crate) const NAMES_ARE_EXACT: bool = false;

/// Whether other processes are seen at all.
pub(crate) const PROCESSES_ARE_SEEN: bool = false;

pub(crate) fn folder_of(_process: u32) -> Option<PathBuf> {
    None
}

pub(crate) fn children(_process: u32) -> Vec<u32> {
    Vec::new()
}

pub(crate) fn variable_of(_process: u32, _name: &str) -> Option<String> {
    None
}

pub(crate) fn adopt_orphans() -> bool {
    false
}

pub(crate) fn wait_for(_children: &[u32]) {}

pub(crate) fn reap(_child: u32) -> bool {
    true
}

/// The process that starts us is not watched.
pub(crate) fn die_with(_parent: u32) -> bool {
    true
}

#[cfg(unix)]
pub(crate) fn ourselves() -> Option<std::path::PathBuf> {
    std::env::current_exe().ok()
}

/// There is no session to leave.
#[cfg(not(unix))]
pub(crate) fn ourselves() -> Option<std::path::PathBuf> {
    None
}

/// What cannot be started says so itself.
pub(crate) fn is_of_our_kind(_file: &std::path::Path) -> bool {
    true
}

#[cfg(unix)]
pub(crate) fn ignores(_signal: i32) -> bool {
    false
}

pub(crate) fn grow_pipe(_pipe: &impl Sized) {}
