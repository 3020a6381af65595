//! Files, signals and ends of processes on every Unix.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getppid, kill_process, kill_process_group, setsid, waitid,
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use super::{ProcessEnd, Strength};

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
pub(crate) fn no_follow(options: &mut OpenOptions) {
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

/// Brings to the disk which files are in a folder.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
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

/// Leaves the session of the process that started us, and with it the terminal; from
/// then on we lead a group of our own, which can be ended together.
pub(crate) fn leave_terminal() {
    // It fails for the leader of a group, which a process that was just
    // started is not.
    let _ = setsid();
}

/// Becomes another program; returns only if that fails.
pub(crate) fn turn_into(command: &mut Command) -> io::Error {
    command.exec()
}

/// Returns when a child has ended. Until it is waited for, its number stands
/// for nobody else, and neither does that of its group.
pub(crate) fn await_end(child: &mut Child) {
    if let Some(pid) = pid(child.id()) {
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), ended) {}
    }
}

/// Whether we have any child, also one that has ended and was not waited for.
pub(crate) fn has_children() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    !matches!(waitid(WaitId::All, look), Err(rustix::io::Errno::CHILD))
}

/// The signals by which a person or the system asks a process to end.
const ASKS: [i32; 4] = [SIGINT, SIGTERM, SIGQUIT, SIGHUP];

/// Whether a signal is one that asks a process to end.
pub(crate) fn asks_to_end(signal: i32) -> bool {
    ASKS.contains(&signal)
}

/// From now on calls `asked` with each signal that asks us to end, and
/// `child_ended` whenever a child of ours may have, on a thread of its own.
pub(crate) fn listen(
    asked: impl Fn(i32) + Send + 'static,
    child_ended: impl Fn() + Send + 'static,
) -> io::Result<()> {
    // A person who started us with `nohup` wants us to outlive the terminal.
    let asks = ASKS.into_iter().filter(|signal| *signal != SIGHUP || !super::ignores(SIGHUP));
    let (listener, signals) = mpsc::channel::<Signals>();
    // First the thread: without it, the signals we have taken over would go unheard.
    thread::Builder::new().spawn(move || {
        let Ok(mut signals) = signals.recv() else { return };
        for signal in signals.forever() {
            if signal == SIGCHLD { child_ended() } else { asked(signal) }
        }
    })?;
    let _ = listener.send(Signals::new(asks.chain([SIGCHLD]))?);
    Ok(())
}

/// How a process ended.
pub(crate) fn how_it_ended(status: ExitStatus) -> ProcessEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => ProcessEnd::Code(code),
        (None, Some(signal)) => ProcessEnd::Signal(signal),
        (None, None) => ProcessEnd::Code(-1),
    }
}

/// The name of this host.
pub(crate) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Whether this process has a terminal that what it starts could ask at. It does not
/// get one later.
pub(crate) fn has_terminal() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| File::open("/dev/tty").is_ok())
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

/// Ends a process that leads a group, or is about to, with the group.
pub(crate) fn end_group(leader: u32, strength: Strength) {
    if let Some(leader) = pid(leader) {
        // Nobody left is the normal case.
        let _ = kill_process_group(leader, strength.signal());
        let _ = kill_process(leader, strength.signal());
    }
}

/// Ends one process.
pub(crate) fn end_process(process: u32, strength: Strength) {
    if let Some(process) = pid(process) {
        let _ = kill_process(process, strength.signal());
    }
}
