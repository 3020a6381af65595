//! A program on a pseudo-terminal: what it shows, and keys for it.
//!
//! Waiting is on what the screen shows. Nothing here sleeps.

use std::ffi::CStr;
use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::PATIENCE;

pub const ESCAPE: &str = "\x1b";
pub const ENTER: &str = "\r";
pub const DOWN: &str = "\x1b[B";
pub const CTRL_C: &str = "\x03";
pub const CTRL_Z: &str = "\x1a";

/// Both ends of a new pseudo-terminal, ours first. Reading from ours ends when the
/// last handle of the other one is closed.
pub fn pseudo_terminal(rows: u16, columns: u16) -> (File, File) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
    grantpt(&ours).expect("it is ours");
    unlockpt(&ours).expect("it is ours");
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&ours, size).expect("a terminal has a size");
    let name = ptsname(&ours, Vec::new()).expect("it has a name");
    (File::from(ours), other_side(&name))
}

/// The other side of a pseudo-terminal. It does not become the terminal of a test that
/// leads a session, which would be hung up with it.
fn other_side(name: &CStr) -> File {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    File::from(rustix::fs::open(name, flags, Mode::empty()).expect("its other side"))
}

/// A program with a pseudo-terminal for its input and output, and our end of it.
pub fn on_terminal(mut command: Command, rows: u16, columns: u16) -> (Child, File) {
    let (ours, theirs) = pseudo_terminal(rows, columns);
    let handle = || Stdio::from(theirs.try_clone().expect("another handle"));
    command.stdin(handle()).stdout(handle()).stderr(handle());
    (command.spawn().expect("the program starts"), ours)
}

/// What comes from a program on a terminal, until nobody holds the other end; `take`
/// gets each piece of it.
pub fn read_to_the_end(mut ours: File, mut take: impl FnMut(&[u8])) {
    let mut buffer = [0; 4096];
    loop {
        match ours.read(&mut buffer) {
            Ok(count @ 1..) => take(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Linux calls it an error when the other end is closed.
            Ok(_) | Err(_) => return,
        }
    }
}

/// A running program and its screen; killed with its process group if dropped.
pub struct Terminal {
    child: Child,
    keyboard: File,
    shown: Arc<Shown>,
}

/// What the program has written so far.
struct Shown {
    screen: Mutex<Screen>,
    changed: Condvar,
}

struct Screen {
    parser: vt100::Parser,
    ended: bool,
}

impl Terminal {
    /// Tall, so that nothing scrolls away before a test has looked.
    const ROWS: u16 = 150;
    const COLUMNS: u16 = 150;

    pub fn start(command: Command) -> Terminal {
        Terminal::of_size(command, Terminal::ROWS, Terminal::COLUMNS)
    }

    /// The same with a screen of this size.
    pub fn of_size(mut command: Command, rows: u16, columns: u16) -> Terminal {
        command.process_group(0).env("TERM", "xterm-256color");
        let (child, keyboard) = on_terminal(command, rows, columns);
        let parser = vt100::Parser::new(rows, columns, 0);
        let shown = Arc::new(Shown {
            screen: Mutex::new(Screen { parser, ended: false }),
            changed: Condvar::new(),
        });
        let output = keyboard.try_clone().expect("another handle");
        thread::spawn({
            let shown = Arc::clone(&shown);
            move || shown.follow(output)
        });
        Terminal { child, keyboard, shown }
    }

    /// A person makes the window wider or narrower.
    pub fn resize(&self, rows: u16, columns: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        self.shown.lock().parser.screen_mut().set_size(rows, columns);
        tcsetwinsize(&self.keyboard, size).expect("a terminal has a size");
    }

    /// Whether the terminal itself shows what is typed and keeps it until the line ends.
    pub fn shows_keys(&self) -> bool {
        let modes = tcgetattr(&self.keyboard).expect("a terminal has modes");
        modes.local_modes.contains(LocalModes::ECHO | LocalModes::ICANON)
    }

    /// Presses keys, which are sent as they are: [`ESCAPE`], `"y"`.
    pub fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Presses a key until the screen shows what it leads to. A program that asks
    /// its terminal something throws away what is typed meanwhile.
    pub fn press_until(&mut self, keys: &str, text: &str) -> String {
        let shows = |screen: &Screen| screen.ended || screen.contents().contains(text);
        self.press_repeatedly(keys, shows);
        self.shows(text)
    }

    /// Presses a key until the screen does not show a text any more.
    pub fn press_until_gone(&mut self, keys: &str, text: &str) {
        let is_gone = |screen: &Screen| screen.ended || !screen.contents().contains(text);
        self.press_repeatedly(keys, is_gone);
        self.until(&format!("screen without `{text}`"), |screen| !screen.contains(text));
    }

    /// Presses a key until the program has ended by itself.
    pub fn press_until_ended(&mut self, keys: &str) -> ExitStatus {
        self.press_repeatedly(keys, |screen| screen.ended);
        self.ended()
    }

    /// Presses a key, and again after a while, until the screen is as wanted or
    /// patience has ended.
    fn press_repeatedly(&mut self, keys: &str, is_so: impl Fn(&Screen) -> bool) {
        const A_WHILE: Duration = Duration::from_millis(500);
        for _ in 0..PATIENCE.as_millis() / A_WHILE.as_millis() {
            // A program that has just ended takes no more keys.
            let _ = self.keyboard.write_all(keys.as_bytes());
            let screen = self.shown.lock();
            let waits = |screen: &mut Screen| !is_so(screen);
            let waited = self.shown.changed.wait_timeout_while(screen, A_WHILE, waits);
            if !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out() {
                return;
            }
        }
    }

    /// The screen as it is now.
    pub fn screen(&self) -> String {
        self.shown.lock().contents()
    }

    /// Waits until the screen is as wanted, and gives it.
    pub fn until(&self, wanted: &str, is_so: impl Fn(&str) -> bool) -> String {
        let waits = |screen: &mut Screen| !screen.ended && !is_so(&screen.contents());
        let screen = self.shown.lock();
        let (screen, _) = self
            .shown
            .changed
            .wait_timeout_while(screen, PATIENCE, waits)
            .unwrap_or_else(PoisonError::into_inner);
        let contents = screen.contents();
        let ended = if screen.ended { "the program has ended" } else { "waited in vain" };
        // Not held while the test unwinds: the reader is not to be poisoned.
        drop(screen);
        assert!(is_so(&contents), "{ended}: no {wanted} on the screen\n{contents}");
        contents
    }

    /// Waits until a text is on the screen, and gives the screen.
    pub fn shows(&self, text: &str) -> String {
        self.until(&format!("`{text}`"), |screen| screen.contains(text))
    }

    /// Waits until the program has ended by itself.
    pub fn ended(&mut self) -> ExitStatus {
        let screen = self.shown.lock();
        let (screen, waited) = self
            .shown
            .changed
            .wait_timeout_while(screen, PATIENCE, |screen| !screen.ended)
            .unwrap_or_else(PoisonError::into_inner);
        let contents = screen.contents();
        drop(screen);
        assert!(!waited.timed_out(), "the program does not end\n{contents}");
        self.child.wait().expect("it is our child")
    }
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.screen())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("the screen at the end:\n{}", self.screen());
        }
        // Until it is waited for, the number stands for nobody else.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

impl Shown {
    /// Draws what comes until the program has let go of its terminal.
    fn follow(&self, output: File) {
        read_to_the_end(output, |bytes| {
            self.lock().parser.process(bytes);
            self.changed.notify_all();
        });
        self.lock().ended = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Screen> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Screen {
    /// Its lines, without the empty ones.
    fn contents(&self) -> String {
        let contents = self.parser.screen().contents();
        let lines = contents.lines().map(str::trim_end).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join("\n")
    }
}
