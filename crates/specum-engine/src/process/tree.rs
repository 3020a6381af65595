//! Everything that descends from us.
//!
//! Agents put their own children into sessions of their own, so a signal to a
//! process group does not reach them. Three things find them nevertheless: what
//! we started is remembered with its number; on Linux, what it leaves behind
//! becomes our child ([`begin_run`]); and everything that a run starts carries a
//! [`Mark`] in its environment, which its descendants inherit and which outlives
//! us. Where the system does not tell about other processes, only the process
//! group is ended.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use specum_core::digest::Digest;
use specum_core::verify;

use super::{find_program, why_not_started, workers};
use crate::failpoint;
use crate::os::{self, Strength};

/// How long git may take to put away its locks.
const GIT_GOES: Duration = Duration::from_millis(500);
/// As long as the process that started git would have waited for it.
const LONGEST_GIT: Duration = Duration::from_secs(600);
/// How long is waited without a word.
const SOON: Duration = Duration::from_secs(1);
/// How often orphans that keep having children are looked for again.
const ROUNDS: usize = 1000;
/// How long a process that was killed may take to be gone: the kernel may hold
/// it, and nobody can do anything about that.
pub(super) const LONGEST_DEATH: Duration = Duration::from_secs(1);
/// More than that is somebody who has children faster than we end them.
const MOST_SURVIVORS: usize = 10_000;
/// A program that signals a whole group, or all of a container, does so in less.
const SAME_MOMENT: Duration = Duration::from_secs(1);

/// What an interruption means to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenInterrupted {
    /// It is ended at once.
    End,
    /// It may finish: ended in the middle, git would leave a lock behind.
    Finish,
}

/// Tells what was started once, and all its descendants, from every other
/// process. It begins with what all marks of one spec begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark(String);

/// The variable that carries a mark.
pub const MARK: &str = "SPECUM_MARK";
/// The end of a mark whose bearer may finish its work, even without us.
const MAY_FINISH: &str = ".git";

fn spec_part(spec: &Path) -> String {
    format!("{}.", Digest::of(spec.as_os_str().as_encoded_bytes()).hex())
}

struct ProcessTree {
    /// What the marks of the spec begin with that we run, if we do.
    run: Option<String>,
    /// How many marks were given.
    marks: u64,
    /// What we have started and not waited for yet.
    started: Vec<(u32, WhenInterrupted)>,
    /// Directories of ours that go when we are interrupted.
    directories: Vec<PathBuf>,
    /// Those that want to end in order when we are interrupted.
    listener: Option<Box<dyn FnOnce() + Send>>,
    /// The signal that has interrupted us first.
    signal: Option<i32>,
}

static FAMILY: Mutex<ProcessTree> = Mutex::new(ProcessTree {
    run: None,
    marks: 0,
    started: Vec::new(),
    directories: Vec::new(),
    listener: None,
    signal: None,
});

/// Tells that [`ProcessTree::signal`] is there.
static HEARD: Condvar = Condvar::new();

/// Whether a child that we did not start is an orphan.
static ADOPTING: AtomicBool = AtomicBool::new(false);
/// Whether we are on the way out.
static LEAVING: AtomicBool = AtomicBool::new(false);
/// Whether this program knows [`LAUNCH`].
static LAUNCHER: AtomicBool = AtomicBool::new(false);

fn process_tree() -> MutexGuard<'static, ProcessTree> {
    FAMILY.lock().expect("no holder panics")
}

/// From now on Ctrl-C, SIGTERM, SIGHUP and SIGQUIT end what we have started
/// before they end us: a command in a session of its own does not hear them.
pub fn clean_up_when_interrupted() {
    // If that cannot be, the default applies: we end, and so do those who die
    // with us.
    let _ = os::listen(interrupted, reap_orphans);
}

fn interrupted(signal: i32) {
    // A listener gets the first one; the second one ends us.
    let listener = process_tree().listener.take();
    if let Some(listener) = listener {
        listener();
        // Only now: who waits for it, waits for what the listener does.
        process_tree().signal.get_or_insert(signal);
        HEARD.notify_all();
        return;
    }
    LEAVING.store(true, Ordering::SeqCst);
    end_everything();
    let mut tree = process_tree();
    for (pid, _) in &tree.started {
        os::end_group(*pid, Strength::Gentle);
    }
    for directory in &tree.directories {
        // Already on the way out, and it is only a copy.
        let _ = std::fs::remove_dir_all(directory);
    }
    let first = *tree.signal.get_or_insert(signal);
    crate::terminal::restore();
    std::process::exit(i32::from(code_of_signal(first)));
}

/// What a shell reports of a program that a signal has killed: 130 for Ctrl-C, 143
/// for SIGTERM, 129 for SIGHUP.
pub fn code_of_signal(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(130)
}

/// The signal that has interrupted us, if one has.
pub fn interrupted_by() -> Option<i32> {
    process_tree().signal
}

/// Returns when we are interrupted, or when it can be told that we are not:
/// the process that signals us may signal what we have started first.
fn await_the_same_signal() {
    let _ = HEARD.wait_timeout_while(process_tree(), SAME_MOMENT, |tree| tree.signal.is_none());
}

/// Waits for those orphans of ours that have ended: until then they count
/// against the limits of the user.
fn reap_orphans() {
    let tree = process_tree();
    // Where only git runs there are none, and looking takes time.
    let is_expecting = tree.started.iter().any(|(_, when)| *when == WhenInterrupted::End);
    if ADOPTING.load(Ordering::SeqCst) && is_expecting {
        tree.orphans().into_iter().for_each(|pid| {
            os::reap(pid);
        });
    }
}

/// Calls a listener, so that it can end in order, when we are interrupted first.
pub fn tell_when_interrupted(listener: impl FnOnce() + Send + 'static) {
    process_tree().listener = Some(Box::new(listener));
}

/// Lets a temporary directory of ours go with us when we are interrupted.
pub fn remove_when_interrupted(directory: &Path) {
    process_tree().directories.push(directory.to_owned());
}

/// From now on what we start works for a run of this spec, and what it leaves
/// behind becomes our child. Only for a process that starts everything through
/// this module: any other child would be taken for an orphan.
pub fn begin_run(spec: &Path) {
    process_tree().run = Some(spec_part(spec));
    // A system that cannot do it leaves us with process groups and marks.
    ADOPTING.store(os::adopt_orphans(), Ordering::SeqCst);
}

/// The word with which we start ourselves in order to become another program.
pub const LAUNCH: &str = "--launch";
/// What we say if we cannot become it, and with which code we end.
const NOT_LAUNCHED: &str = "specum: cannot start ";
const NOT_LAUNCHED_CODE: u8 = 127;

/// From now on this program may be started with [`LAUNCH`].
pub fn be_the_launcher() {
    LAUNCHER.store(true, Ordering::SeqCst);
}

/// Becomes the program that `args` name, without a terminal, on which it could
/// wait for a person for ever. In front of its name stand the process that it
/// dies with, or 0, and the folder that it works in, or nothing.
pub fn launch(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let parent = args.next().and_then(|parent| parent.to_str()?.parse().ok());
    let (Some(parent), Some(folder), Some(program)) = (parent, args.next(), args.next()) else {
        return ExitCode::from(2);
    };
    os::leave_terminal();
    if parent != 0 && !os::die_with(parent) {
        return ExitCode::FAILURE;
    }
    let mut command = Command::new(&program);
    command.args(args);
    if !folder.is_empty() {
        command.current_dir(folder);
    }
    let error = os::turn_into(&mut command);
    let _ = writeln!(io::stderr(), "{NOT_LAUNCHED}{}", why_not_started(&program, &error));
    ExitCode::from(NOT_LAUNCHED_CODE)
}

/// Why a program could not be launched, from how it ended and what it said.
pub(super) fn not_launched(status: ExitStatus, said: &[u8]) -> Option<String> {
    let said = (status.code() == Some(NOT_LAUNCHED_CODE.into())).then_some(said)?;
    let why = said.strip_prefix(NOT_LAUNCHED.as_bytes())?;
    Some(String::from_utf8_lossy(why).trim_end().to_owned())
}

/// A terminal by its name: what unlocks keys would ask there.
const TERMINAL_OF_KEYS: &str = "GPG_TTY";

/// Which terminal a command has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminal {
    /// Ours, if we have one: it asks nothing.
    Ours,
    /// None: it may be, or start, a program of others. What asks a person there
    /// fails at once, instead of being stopped until its time is up.
    None,
}

/// Lets a command be ended together with what it starts: in a session of its own
/// if it is to have no terminal, else in a group.
pub(super) fn apart(mut command: Command, terminal: Terminal, when: WhenInterrupted) -> Command {
    let is_startable = || program_of(&command).is_some_and(|file| os::is_of_our_kind(&file));
    // Where there is no terminal to leave, a launcher would only tie the command to us,
    // which one that is to finish is not.
    let is_needed = || when == WhenInterrupted::End || os::has_terminal();
    match launcher().filter(|_| terminal == Terminal::None && is_needed() && is_startable()) {
        Some(ourselves) => launched(ourselves, &command, when),
        None => {
            if terminal == Terminal::None {
                command.env_remove(TERMINAL_OF_KEYS);
            }
            os::in_a_group_of_its_own(&mut command);
            command
        }
    }
}

/// The file of a program, where it can be told.
fn program_of(command: &Command) -> Option<PathBuf> {
    let program = command.get_program();
    match program.to_str().filter(|name| !name.contains('/')) {
        Some(name) => find_program(name),
        None => Path::new(program).is_absolute().then(|| PathBuf::from(program)),
    }
}

fn launcher() -> Option<PathBuf> {
    LAUNCHER.load(Ordering::SeqCst).then(os::ourselves).flatten()
}

fn launched(ourselves: PathBuf, command: &Command, when: WhenInterrupted) -> Command {
    let dies_with = match when {
        // Everybody waits for what they have started, so no thread ends before.
        WhenInterrupted::End => std::process::id(),
        WhenInterrupted::Finish => 0,
    };
    let mut launched = Command::new(ourselves);
    launched.arg(LAUNCH).arg(dies_with.to_string());
    // The launcher changes to the folder. If this process did, it would be copied
    // for that first, which takes longer the more it holds.
    launched.arg(command.get_current_dir().unwrap_or(Path::new("")));
    launched.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => launched.env(name, value),
            None => launched.env_remove(name),
        };
    }
    launched.env_remove(TERMINAL_OF_KEYS);
    launched
}

impl ProcessTree {
    /// Children that we did not start ourselves.
    fn orphans(&self) -> Vec<u32> {
        // To ask whether there is any child takes one call, and to list them dozens.
        if self.started.is_empty() && !os::has_children() {
            return Vec::new();
        }
        let started = |pid: &u32| self.started.iter().any(|(other, _)| other == pid);
        os::children(std::process::id()).into_iter().filter(|pid| !started(pid)).collect()
    }

    /// The mark of one more start.
    fn mark(&mut self, when: WhenInterrupted) -> Option<Mark> {
        let run = self.run.as_ref()?;
        self.marks += 1;
        Some(Mark(match when {
            WhenInterrupted::End => format!("{run}{}.{}", std::process::id(), self.marks),
            WhenInterrupted::Finish => format!("{run}{}{MAY_FINISH}", std::process::id()),
        }))
    }
}

/// Starts a command that is [`apart`].
pub(super) fn start(
    command: &mut Command,
    when: WhenInterrupted,
) -> io::Result<(Child, Option<Mark>)> {
    if when == WhenInterrupted::End {
        // Whatever is not our own git works where it is started.
        super::in_no_given_repository(command);
    }
    // Held while it starts: a search for orphans must not take a child
    // for one that is just being born.
    let mut tree = process_tree();
    let mark = tree.mark(when);
    if let Some(Mark(value)) = &mark {
        command.env(MARK, value);
    }
    failpoint::reached("before a start");
    let child = command.spawn()?;
    tree.started.push((child.id(), when));
    tracing::debug!(process = child.id(), program = ?command.get_program(), "started a program");
    failpoint::reached("after a start");
    Ok((child, mark))
}

/// Calls `ended` when a child has ended and was not waited for yet.
pub(super) fn watch(
    mut child: Child,
    ended: impl FnOnce(Child) + Send + 'static,
) -> io::Result<()> {
    workers::start(move || {
        os::await_end(&mut child);
        ended(child);
    })
}

/// Waits for a child that has ended, and forgets it. Does not return once we are
/// on the way out: what an interrupted command came to is nobody's verdict.
pub(super) fn wait(mut child: Child) -> io::Result<ExitStatus> {
    while LEAVING.load(Ordering::SeqCst) {
        thread::park();
    }
    let status = {
        // At once, so that nobody ends a number that stands for somebody else.
        let mut tree = process_tree();
        tree.started.retain(|(pid, _)| *pid != child.id());
        child.wait()?
    };
    if let verify::ProcessEnd::Signal(signal) = os::how_it_ended(status)
        && os::asks_to_end(signal)
    {
        await_the_same_signal();
    }
    Ok(status)
}

/// Forgets a command that does not end although it was killed, or for which
/// nobody can wait.
pub(super) fn give_up(pid: u32) {
    process_tree().started.retain(|(other, _)| *other != pid);
    os::wait_for(&[pid]);
}

/// Ends every command that is not to finish, and everything below us that we
/// did not start ourselves.
pub fn end_everything() {
    let started = process_tree().started.clone();
    let doomed = started.iter().filter(|(_, when)| *when == WhenInterrupted::End);
    end_all(&doomed.map(|(pid, _)| *pid).collect::<Vec<_>>());
    end_orphans(|_| true);
}

/// Ends a command with all its descendants.
pub(super) fn end(pid: u32) {
    end_all(&[pid]);
}

/// All of them at once: each may have a git that is waited for.
fn end_all(leaders: &[u32]) {
    // Seen before they end: afterwards nothing ties them to each other.
    let below: Vec<u32> = leaders.iter().flat_map(|pid| descendants(*pid)).collect();
    let_git_go(&below);
    let tree = process_tree();
    for (pid, _) in tree.started.iter().filter(|(pid, _)| leaders.contains(pid)) {
        os::end_group(*pid, Strength::Final);
    }
    drop(tree);
    below.iter().for_each(|pid| os::end_process(*pid, Strength::Final));
    // What was born meanwhile is an orphan of ours now, or carries the mark.
}

/// Asks those of them to end that are git, and waits until they have, within
/// bounds: ended in the middle, git leaves a lock in the user's repository that
/// nobody takes away.
fn let_git_go(pids: &[u32]) {
    let git: Vec<u32> = pids.iter().copied().filter(|pid| is_git(*pid)).collect();
    git.iter().for_each(|pid| os::end_process(*pid, Strength::Gentle));
    let asked = Instant::now();
    while asked.elapsed() < GIT_GOES && git.iter().any(|pid| is_git(*pid)) {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Ends what a command that has ended left behind. What carries no mark at all
/// goes too, if nobody else is at work that it could belong to.
pub(super) fn end_left_by(mark: Option<&Mark>, alone: bool) {
    end_orphans(|pid| match marked(pid) {
        Some(value) => mark.is_some_and(|mark| mark.0 == value),
        None => alone,
    });
}

/// How many commands run that may have descendants of their own.
pub(super) fn running() -> usize {
    process_tree().started.iter().filter(|(_, when)| *when == WhenInterrupted::End).count()
}

fn descendants(pid: u32) -> Vec<u32> {
    let mut found = os::children(pid);
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        found.extend(os::children(pid));
        next += 1;
    }
    found
}

/// The mark a process carries.
fn marked(pid: u32) -> Option<String> {
    os::variable_of(pid, MARK)
}

/// Ends those orphans of ours, with everything below them, that `which`
/// names.
fn end_orphans(which: impl Fn(u32) -> bool) {
    if !ADOPTING.load(Ordering::SeqCst) {
        return;
    }
    let mut ended = BTreeSet::new();
    for _ in 0..ROUNDS {
        // Under the lock no child of ours is born unseen.
        let orphans = process_tree().orphans();
        let doomed: Vec<u32> = orphans.into_iter().filter(|pid| which(*pid)).collect();
        // Who is still there was waited for, and is held by the kernel.
        if doomed.iter().all(|pid| ended.contains(pid)) {
            return;
        }
        end_with_everything_below(&doomed);
        // Nobody else waits for them.
        os::wait_for(&doomed);
        ended.extend(doomed);
    }
}

fn end_with_everything_below(pids: &[u32]) {
    let below = pids.iter().flat_map(|pid| descendants(*pid));
    let tree: Vec<u32> = pids.iter().copied().chain(below).collect();
    let_git_go(&tree);
    tree.into_iter().for_each(|pid| os::end_process(pid, Strength::Final));
}

/// Ends what an earlier run of a spec, which is gone, has left running, and
/// waits for what may finish: what git does meanwhile, nobody else can. Tells
/// which process that is.
pub fn end_survivors(spec: &Path, waits_for: impl Fn(u32)) {
    let mut ended = BTreeSet::<u32>::new();
    let mut last = Instant::now();
    loop {
        let survivors: Vec<u32> =
            marked_for(spec).into_iter().filter(|(_, finishes)| !finishes).map(first).collect();
        let known = ended.len();
        ended.extend(&survivors);
        if ended.len() > known {
            last = Instant::now();
            end_with_everything_below(&survivors);
        }
        if survivors.is_empty() || last.elapsed() > LONGEST_DEATH || ended.len() > MOST_SURVIVORS {
            break;
        }
        thread::sleep(Duration::from_millis(1));
    }
    let began = Instant::now();
    let mut told = None;
    loop {
        let finishing = marked_for(spec).into_iter().filter(|(_, finishes)| *finishes).map(first);
        let git: Vec<u32> = finishing.filter(|pid| is_git(*pid)).collect();
        if git.is_empty() {
            break;
        }
        // Only they are asked for until they are gone: there may be thousands of
        // others.
        while let Some(pid) = git.iter().copied().find(|pid| is_git(*pid)) {
            if began.elapsed() > LONGEST_GIT {
                return;
            }
            // Most are gone before anybody could read it.
            if told != Some(pid) && began.elapsed() > SOON {
                told = Some(pid);
                waits_for(pid);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Whether a process that lives is git.
fn is_git(pid: u32) -> bool {
    os::stat(pid).is_some_and(|stat| stat.name.as_deref() == Some("git"))
}

/// The living git, if there is one, that works in one of these folders; `None` also
/// where the system does not tell.
pub fn git_at_work(folders: &[&Path]) -> Option<u32> {
    let is_there = |pid: &u32| {
        let at = os::folder_of(*pid);
        at.is_some_and(|at| folders.iter().any(|folder| at.starts_with(folder)))
    };
    os::processes().into_iter().filter(|pid| is_git(*pid)).find(is_there)
}

fn first((pid, _): (u32, bool)) -> u32 {
    pid
}

/// The processes that carry a mark of a spec, and whether each may finish.
fn marked_for(spec: &Path) -> Vec<(u32, bool)> {
    let part = spec_part(spec);
    let me = std::process::id();
    let others = os::processes().into_iter().filter(|pid| *pid != me);
    others
        .filter_map(|pid| {
            let mark = marked(pid).filter(|mark| mark.starts_with(&part))?;
            // The process that started us may carry the mark itself.
            let is_ours = descendants(pid).contains(&me);
            let lives = os::stat(pid).is_some();
            (!is_ours && lives).then_some((pid, mark.ends_with(MAY_FINISH)))
        })
        .collect()
}
