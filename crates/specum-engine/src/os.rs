//! What differs from one operating system to the next, and nothing else does:
//! no other module asks which one it runs on.
//!
//! Files and signals are those of Unix, or of Windows. What other processes do
//! is known on Linux only; elsewhere those that were not started by us look as
//! if they were not there, so a run ends its agents' process groups and not
//! what has left them.

use specum_core::verify::ProcessEnd;

#[cfg(not(target_os = "linux"))]
mod fallback;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(unix)]
mod terminal;
#[cfg(unix)]
mod unix;
#[cfg(not(unix))]
mod windows;

#[cfg(not(target_os = "linux"))]
pub(crate) use self::fallback::*;
#[cfg(target_os = "linux")]
pub(crate) use self::linux::*;
#[cfg(unix)]
pub(crate) use self::terminal::*;
#[cfg(unix)]
pub(crate) use self::unix::*;
#[cfg(not(unix))]
pub(crate) use self::windows::*;

/// What opens a file in the user's browser, and what it is told before the file.
#[cfg(target_os = "macos")]
pub(crate) const OPENER: (&str, &[&str]) = ("open", &[]);
#[cfg(windows)]
pub(crate) const OPENER: (&str, &[&str]) = ("explorer", &[]);
#[cfg(not(any(target_os = "macos", windows)))]
pub(crate) const OPENER: (&str, &[&str]) = ("xdg-open", &[]);

/// How a process is asked to end.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Strength {
    /// It may clean up.
    Gentle,
    /// It may not.
    Final,
}

/// What the system knows about a process that has not ended.
pub(crate) struct Stat {
    /// `None` where the system does not tell.
    pub(crate) name: Option<String>,
    pub(crate) parent: u32,
    /// Tells it from a later process with the same number; empty where the
    /// system does not tell.
    pub(crate) started: String,
}
