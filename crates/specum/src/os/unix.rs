//! Files, signals and ends of processes on every Unix.

use std::ffi::OsStr;
use std::fs::{DirBuilder, Metadata, OpenOptions, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, getppid, kill_process, kill_process_group};

use super::{Ended, Strength};

/// Whether a file can be started.
pub(crate) fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Bytes as an argument of a program.
pub(crate) fn text(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

/// A new file has the permissions of any other: what the user's umask leaves.
pub(crate) fn as_any_file(builder: &mut tempfile::Builder<'_, '_>) {
    builder.permissions(Permissions::from_mode(0o666));
}

/// Opening follows no link and waits for no pipe.
pub(crate) fn without_detour(options: &mut OpenOptions) {
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
}

/// Nobody else may read the file.
pub(crate) fn private_file(options: &mut OpenOptions) {
    options.mode(0o600);
}

/// Nobody else may look into the folder.
pub(crate) fn private_folder(builder: &mut DirBuilder) {
    builder.mode(0o700);
}

/// Whether something can be put into a folder: a sandbox may keep even those
/// from it who have the right.
pub(crate) fn is_writable(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Tells a file from another one that has taken its name.
pub(crate) fn identity(file: &Metadata) -> u64 {
    file.ino()
}

/// When a file, or what the system knows of it, was last changed: nobody can set
/// that.
pub(crate) fn changed(file: &Metadata) -> Option<SystemTime> {
    let seconds = Duration::from_secs(u64::try_from(file.ctime()).ok()?);
    let more = Duration::from_nanos(u64::try_from(file.ctime_nsec()).ok()?);
    SystemTime::UNIX_EPOCH.checked_add(seconds)?.checked_add(more)
}

/// A command and what it starts can be ended together.
pub(crate) fn in_a_group_of_its_own(command: &mut Command) {
    command.process_group(0);
}

/// How a process ended.
pub(crate) fn how_it_ended(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Code(code),
        (None, Some(signal)) => Ended::Signal(signal),
        (None, None) => Ended::Code(-1),
    }
}

/// The name of this host.
pub(crate) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Whether a process that cannot be found has ended.
pub(crate) const ENDS_ARE_SEEN: bool = true;

/// Who started us.
pub(crate) fn parent_of_self() -> Option<u32> {
    getppid().and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok())
}

pub(super) fn pid(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

impl Strength {
    fn signal(self) -> Signal {
        match self {
            Strength::Gentle => Signal::TERM,
            Strength::Final => Signal::KILL,
        }
    }
}

/// Ends a process that leads a group, with the group.
pub(crate) fn end_group(leader: u32, strength: Strength) {
    if let Some(group) = pid(leader) {
        // Nobody left is the normal case.
        let _ = kill_process_group(group, strength.signal());
    }
}

/// Ends one process.
pub(crate) fn end_process(process: u32, strength: Strength) {
    if let Some(process) = pid(process) {
        let _ = kill_process(process, strength.signal());
    }
}
