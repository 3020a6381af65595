//! The terminal that a person has started us from, on every Unix.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, getpgid, getpgrp, getpid, getsid, kill_process};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcgetpgrp, tcsetattr};
use signal_hook::consts::SIGTSTP;
use signal_hook::iterator::Signals;

/// What the terminal does with a key: it shows it, and keeps it until the line ends.
const OF_KEYS: LocalModes = LocalModes::ECHO.union(LocalModes::ICANON);

/// Our controlling terminal, which shows nothing of what is typed while it is held.
pub(crate) struct QuietTerminal {
    terminal: File,
    /// Which of [`OF_KEYS`] were on before; `None` while it is not held.
    before: Option<LocalModes>,
}

impl QuietTerminal {
    /// The terminal, not held yet; `None` if we have none.
    pub(crate) fn open() -> Option<QuietTerminal> {
        let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
        let mut options = OpenOptions::new();
        let terminal = options.read(true).write(true).custom_flags(flags).open("/dev/tty").ok()?;
        Some(QuietTerminal { terminal, before: None })
    }

    /// Whether what is typed is meant for us. Who changes a terminal from the background
    /// is stopped by the system.
    fn is_ours(&self) -> bool {
        tcgetpgrp(&self.terminal).is_ok_and(|group| group == getpgrp())
    }

    /// Turns off what shows keys, also when it was turned on again.
    pub(crate) fn hold(&mut self) {
        let modes = || tcgetattr(&self.terminal).ok().filter(|_| self.is_ours());
        let Some(mut modes) = modes() else { return };
        let on = modes.local_modes & OF_KEYS;
        if on.is_empty() {
            return;
        }
        modes.local_modes -= OF_KEYS;
        if tcsetattr(&self.terminal, OptionalActions::Now, &modes).is_ok() {
            self.before = Some(self.before.unwrap_or(LocalModes::empty()) | on);
        }
    }

    /// Takes what was typed while it is held, and says whether anything was.
    pub(crate) fn typed(&mut self) -> bool {
        let mut keys = [0; 256];
        let mut any = false;
        while self.before.is_some()
            && self.is_ours()
            && matches!(self.terminal.read(&mut keys), Ok(1..))
        {
            any = true;
        }
        any
    }

    /// Makes the terminal what it was, and throws away what was typed.
    pub(crate) fn let_go(&mut self) {
        let Some(before) = self.before.take() else { return };
        if !self.is_ours() {
            // The shell that has taken it sees to it.
            return;
        }
        if let Ok(mut modes) = tcgetattr(&self.terminal) {
            modes.local_modes |= before;
            let _ = tcsetattr(&self.terminal, OptionalActions::Flush, &modes);
        }
    }
}

/// From now on calls `asked` instead of stopping when a person asks us to stop (Ctrl-Z), on
/// a thread of its own. It [stops us](stop) when it is ready.
pub(crate) fn when_asked_to_stop(asked: impl Fn() + Send + 'static) {
    if super::ignores(SIGTSTP) {
        return;
    }
    // Without the thread, we stop with the terminal as it is.
    let _ = std::thread::Builder::new().spawn(move || {
        let Ok(mut signals) = Signals::new([SIGTSTP]) else { return };
        signals.forever().for_each(|_| asked());
    });
}

/// Stops this process until somebody lets it go on, if there is somebody who can: a
/// shell in our session that is not of our process group.
pub(crate) fn stop() {
    if has_shell() {
        let _ = kill_process(getpid(), Signal::STOP);
    }
}

fn has_shell() -> bool {
    let (session, group) = (getsid(None).ok(), getpgrp());
    let mut parent = rustix::process::getppid();
    for _ in 0..32 {
        let Some(pid) = parent else { return false };
        if getsid(Some(pid)).ok() != session {
            return false;
        }
        if getpgid(Some(pid)).is_ok_and(|other| other != group) {
            return true;
        }
        let number = u32::try_from(pid.as_raw_nonzero().get()).unwrap_or(0);
        // Where the system does not tell, there is a shell as a rule.
        let Some(above) = super::stat(number).map(|stat| stat.parent).filter(|above| *above > 0)
        else {
            return !super::PROCESSES_ARE_SEEN;
        };
        parent = i32::try_from(above).ok().and_then(Pid::from_raw);
    }
    false
}
