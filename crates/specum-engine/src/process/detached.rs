//! Ourselves once more, in a session of our own.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::process::{Child, Command, Stdio};

use crate::os;

/// Starts this program once more with these arguments; what it says goes into a file. It
/// is to [leave the session](leave_session).
pub fn start_detached(args: Vec<OsString>, output: &File) -> io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(args).stdin(Stdio::null());
    command.stdout(output.try_clone()?).stderr(output.try_clone()?);
    command.spawn()
}

/// Leaves the session that we were started in, and with it the terminal.
pub fn leave_session() {
    os::leave_terminal();
}
