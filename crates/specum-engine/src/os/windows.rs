//! Files and processes on Windows, as far as the standard library goes.
//!
//! A file is told from another by when it was made, a process is ended with
//! what it started by the system's own `taskkill`, and what Unix keeps private
//! by a mode is private here by its place in the user's profile.

use std::ffi::OsString;
use std::fs::{DirBuilder, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::SystemTime;

use super::{ProcessEnd, Strength};

/// `FILE_FLAG_OPEN_REPARSE_POINT`: the link itself is opened, not what it leads
/// to.
const NOT_THROUGH_LINKS: u32 = 0x0020_0000;

pub(crate) fn is_program(file: &Path) -> bool {
    file.is_file()
}

/// Arguments are text here.
pub(crate) fn text(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}

pub(crate) fn as_any_file(_builder: &mut tempfile::Builder<'_, '_>) {}

/// The system sees to it.
pub(crate) fn sync_folder(_folder: &Path) -> std::io::Result<()> {
    Ok(())
}

pub(crate) fn no_follow(options: &mut OpenOptions) {
    options.custom_flags(NOT_THROUGH_LINKS);
}

pub(crate) fn private_file(_options: &mut OpenOptions) {}

pub(crate) fn private_folder(_builder: &mut DirBuilder) {}

pub(crate) fn is_writable(folder: &Path) -> bool {
    folder.metadata().is_ok_and(|found| !found.permissions().readonly())
}

pub(crate) fn identity(file: &Metadata) -> u64 {
    file.creation_time()
}

pub(crate) fn has_children() -> bool {
    true
}

pub(crate) fn changed(_file: &Metadata) -> Option<SystemTime> {
    None
}

pub(crate) fn in_a_group_of_its_own(_command: &mut Command) {}

pub(crate) fn leave_terminal() {}

pub(crate) fn turn_into(_command: &mut Command) -> io::Error {
    io::ErrorKind::Unsupported.into()
}

/// As long as we hold a child, its number stands for nobody else.
pub(crate) fn await_end(child: &mut Child) {
    let _ = child.wait();
}

pub(crate) fn asks_to_end(_signal: i32) -> bool {
    false
}

/// Ctrl-C is what another system calls signal 2.
pub(crate) fn listen(
    asked: impl Fn(i32) + Send + 'static,
    _child_ended: impl Fn() + Send + 'static,
) -> io::Result<()> {
    ctrlc::set_handler(move || asked(2)).map_err(io::Error::other)
}

pub(crate) fn how_it_ended(status: ExitStatus) -> ProcessEnd {
    ProcessEnd::Code(status.code().unwrap_or(-1))
}

pub(crate) fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}

/// Whether this process has a terminal that what it starts could ask at.
pub(crate) fn has_terminal() -> bool {
    true
}

pub(crate) const ENDS_ARE_SEEN: bool = false;

pub(crate) fn parent_of_self() -> Option<u32> {
    None
}

/// Only the hard way: the soft one reaches no program without a window.
pub(crate) fn end_group(leader: u32, strength: Strength) {
    if let Strength::Final = strength {
        let mut taskkill = Command::new("taskkill");
        taskkill.args(["/F", "/T", "/PID", &leader.to_string()]);
        // Nobody left is the normal case.
        let _ = taskkill.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

pub(crate) fn end_process(process: u32, strength: Strength) {
    end_group(process, strength);
}

/// The console shows no keys that no program reads.
pub(crate) struct QuietTerminal;

impl QuietTerminal {
    pub(crate) fn open() -> Option<QuietTerminal> {
        None
    }

    pub(crate) fn hold(&mut self) {}

    pub(crate) fn typed(&mut self) -> bool {
        false
    }

    pub(crate) fn let_go(&mut self) {}
}

/// Nobody stops a program here.
pub(crate) fn when_asked_to_stop(_asked: impl Fn() + Send + 'static) {}

pub(crate) fn stop() {}
