//! The ports: everything of the world that working a spec touches.
//!
//! A [`World`] is a disk, a clock, repositories, and a way to start programs. The
//! engine reaches them by these traits alone, so the simulation puts a world of its
//! own in their place and drives the same code. [`World::real`] is the one that users
//! have.

mod disk;
mod repository;

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use specum_core::agent::Call;
use specum_core::notice::Message;
use specum_core::owner::{PidSpace, Process};
use specum_core::tasks::{Command, Program, Shell};

pub use self::disk::{Disk, FileInfo, FileKind, FileTail, Lock, NewContent, OpenFile};
pub use self::repository::{Listener, Repositories, Repository};
use crate::clock::SystemClock;
use crate::files::{FileError, LocalDisk};
use crate::git::LocalRepositories;
use crate::process::{Chunk, Handle, LocalLauncher, Run, StreamEnd};
use crate::session;

/// The world as the engine sees it. Clones share it.
#[derive(Clone)]
pub struct World {
    /// Files: those of specs, and specum's own.
    pub disk: Arc<dyn Disk>,
    /// Programs other than git.
    pub launcher: Arc<dyn Launcher>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Repositories.
    pub repositories: Arc<dyn Repositories>,
    /// specum's own folder for what belongs to no project; `None` without a home.
    pub state_home: Option<PathBuf>,
    /// How many ids were made, so that no two are the same.
    pub ids: Arc<AtomicU64>,
}

impl World {
    /// How many milliseconds have passed since the clock showed this.
    pub(crate) fn millis_since(&self, began: Duration) -> u64 {
        let passed = self.clock.elapsed().saturating_sub(began);
        u64::try_from(passed.as_millis()).unwrap_or(u64::MAX)
    }

    /// The one that users have.
    pub fn real() -> World {
        World {
            disk: Arc::new(LocalDisk),
            launcher: Arc::new(LocalLauncher),
            clock: Arc::new(SystemClock),
            repositories: Arc::new(LocalRepositories),
            state_home: session::state_home(),
            ids: Arc::default(),
        }
    }

    /// What no other id is made of: the time, the process, and a number of its own.
    pub(crate) fn new_id(&self) -> (i64, u32, u64) {
        let count = self.ids.fetch_add(1, Ordering::Relaxed);
        (self.clock.now().as_microsecond(), self.launcher.me().pid, count)
    }

    /// Tells what is known of a program that a command at `root` names. Each name is
    /// looked for once.
    pub fn lookup(&self, root: &Path) -> impl Fn(&str) -> Program {
        let known: RefCell<HashMap<String, Program>> = RefCell::default();
        move |name| {
            let mut known = known.borrow_mut();
            *known.entry(name.to_owned()).or_insert_with(|| self.launcher.find(root, name))
        }
    }
}

/// What a shell says of commands, by their text and whether it is bash.
type KnownCommands = HashMap<(Vec<u8>, bool), Option<String>>;

/// How many commands one look at a plan gives to a shell: it takes a millisecond each.
const MOST_READ: usize = 500;

impl World {
    /// Tells why a shell cannot read a command, if it cannot. Each is asked about once.
    pub fn syntax(&self) -> impl Fn(&Command) -> Option<String> {
        let known: RefCell<KnownCommands> = RefCell::default();
        move |command| {
            // A plain word means itself to every shell.
            let is_plain =
                |byte: &u8| byte.is_ascii_alphanumeric() || b" ._-/=:,@%+".contains(byte);
            let first = command.text.split(|&byte| byte == b' ').next().unwrap_or_default();
            if command.text.iter().all(is_plain) && !RESERVED.contains(&first) {
                return None;
            }
            let mut known = known.borrow_mut();
            let key = (command.text.clone(), command.shell == Shell::BashBlock);
            if known.len() >= MOST_READ && !known.contains_key(&key) {
                return None;
            }
            known.entry(key).or_insert_with(|| self.launcher.syntax(command)).clone()
        }
    }
}

/// Words that begin something which other words end.
const RESERVED: [&[u8]; 13] = [
    b"if",
    b"then",
    b"else",
    b"elif",
    b"fi",
    b"for",
    b"while",
    b"until",
    b"do",
    b"done",
    b"case",
    b"esac",
    b"function",
];

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("World")
    }
}

/// Two values of one process live in the same world.
impl PartialEq for World {
    fn eq(&self, _: &World) -> bool {
        true
    }
}

impl Eq for World {}

/// The time.
pub trait Clock: Send + Sync {
    /// The time of day. It may jump, in either direction: it is written into records
    /// and shown, and little follows from it (see [`crate::clock`]).
    fn now(&self) -> Timestamp;
    /// The time since some moment that stays the same. It does not jump.
    fn elapsed(&self) -> Duration;
    /// Lets time pass.
    fn sleep(&self, time: Duration);
    /// Does something again and again, whatever else happens, until the answer is
    /// dropped.
    fn every(
        &self,
        interval: Duration,
        action: Box<dyn FnMut() + Send>,
    ) -> io::Result<Box<dyn Any + Send>>;
}

/// Programs other than git, and the processes they are.
pub trait Launcher: Send + Sync {
    /// What is known of a program that a command at `root` names.
    fn find(&self, root: &Path, name: &str) -> Program;
    /// Runs a command of a check at `dir`, for at most `time`.
    fn check(&self, command: &Command, dir: &Path, time: Duration) -> Run;
    /// Why a shell cannot read a command, if it cannot. Nothing of it is run.
    fn syntax(&self, command: &Command) -> Option<String>;
    /// Runs the shell command that prepares a worktree for `project`.
    fn set_up(&self, command: &str, worktree: &Path, project: &Path) -> Run;
    /// Runs the shell command that a person wants to hear of something by.
    fn notify(&self, command: &str, project: &Path, message: &Message) -> Run;
    /// Runs an agent at `root` to its end. What it prints is kept in `log`, and the
    /// lines of its standard output are given to `read`. Asked to end by its `handle`,
    /// it ends at once.
    fn run_agent(
        &self,
        call: &Call,
        root: &Path,
        log: &Path,
        handle: &Handle,
        read: &mut dyn FnMut(Chunk<'_>),
    ) -> StreamEnd;
    /// Ends every program that was started, but for git.
    fn end_everything(&self);
    /// From now on what is started belongs to the run of a spec.
    fn begin_run(&self, spec: &Path);
    /// Ends what earlier runs of a spec have left. `waits` hears of a git that is
    /// waited for.
    fn end_survivors(&self, spec: &Path, waits: &dyn Fn(u32));
    /// Calls `listener` when somebody asks this process to end.
    fn when_interrupted(&self, listener: Box<dyn FnOnce() + Send>);
    /// Fails where no program could be given its input.
    fn refuse_without_temporaries(&self) -> Result<(), FileError>;
    /// This process.
    fn me(&self) -> Process;
    /// The host's process, if one has started us.
    fn host(&self) -> Option<Process>;
    /// Where the numbers of processes mean what they mean here.
    fn space(&self) -> &PidSpace;
    /// Whether a process of this space is alive; `None` if that cannot be told.
    fn is_alive(&self, process: &Process) -> Option<bool>;
}
