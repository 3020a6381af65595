//! What the exit codes of `specum` mean. Scripts may rely on them.

/// It worked.
pub const OK: u8 = 0;
/// It did not work, or `specum check` found errors.
pub const FAILED: u8 = 1;
/// The command line is wrong, or a name fits several specs.
pub const USAGE: u8 = 2;
/// There is no such project, spec or task.
pub const NOT_FOUND: u8 = 3;
/// A file is corrupt, or of a newer format than this version writes.
pub const UNUSABLE: u8 = 4;
/// Another process holds the spec.
pub const BUSY: u8 = 5;
/// A person interrupted it by Ctrl-C; other signals have [codes of their
/// own](interrupted_by).
pub const INTERRUPTED: u8 = 130;
/// The loop stopped before its end: paused, blocked or out of attempts.
pub const STOPPED: u8 = 6;

/// A signal has ended it: what a shell says of a program that the signal has
/// killed, 143 for SIGTERM, 129 for SIGHUP.
pub fn interrupted_by(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(INTERRUPTED)
}
