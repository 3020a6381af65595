//! What the exit codes of `specum` mean. Scripts may rely on them.

use std::process::ExitCode;

use specum_engine::ops::ErrorKind;
use specum_engine::process;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It worked.
    Done,
    /// It did not work, or `specum check` found errors.
    Failed,
    /// The command line is wrong, or a name fits several specs.
    Usage,
    /// There is no such project, spec or task.
    NotFound,
    /// A file is corrupt, or of a newer format than this version writes.
    Unusable,
    /// Another process holds the spec.
    Busy,
    /// The loop stopped before its end: paused, blocked or out of attempts.
    Stopped,
    /// This signal ended it.
    Signal(i32),
}

impl Exit {
    /// Ctrl-C, for when the signal is not known.
    pub const INTERRUPTED: Exit = Exit::Signal(2);

    /// What another specum has ended with.
    pub(crate) fn of_code(code: i32) -> Exit {
        match code {
            0 => Exit::Done,
            2 => Exit::Usage,
            3 => Exit::NotFound,
            4 => Exit::Unusable,
            5 => Exit::Busy,
            6 => Exit::Stopped,
            129.. => Exit::Signal(code - 128),
            _ => Exit::Failed,
        }
    }

    /// The number that a script sees.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::NotFound => 3,
            Exit::Unusable => 4,
            Exit::Busy => 5,
            Exit::Stopped => 6,
            Exit::Signal(signal) => process::code_of_signal(signal),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

impl From<ErrorKind> for Exit {
    fn from(kind: ErrorKind) -> Exit {
        match kind {
            ErrorKind::Failed | ErrorKind::PersonNeeded => Exit::Failed,
            ErrorKind::Usage => Exit::Usage,
            ErrorKind::NotFound => Exit::NotFound,
            ErrorKind::Unusable => Exit::Unusable,
            ErrorKind::Busy => Exit::Busy,
            ErrorKind::Stopped => Exit::Stopped,
        }
    }
}
