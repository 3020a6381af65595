//! Everything that descends from us.
//!
//! Agents put their own children into sessions of their own, so a signal to a
//! process group does not reach them. Three things find them nevertheless: what
//! we started is remembered with its number; on Linux, what it leaves behind
//! becomes our child ([`begin_run`]); and everything that a run starts carries a
//! [`Mark`] in its environment, which its descendants inherit and which outlives
//! us. Where the system does not tell about other processes, only the process
//! group is ended.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use specum_core::digest::Digest;

use crate::failpoint;
use crate::os::{self, Strength};

/// How long git may take to put away its locks.
const GIT_GOES: Duration = Duration::from_millis(500);
/// As long as whoever started git would have waited for it.
const LONGEST_GIT: Duration = Duration::from_secs(600);
/// How long is waited without a word.
const SOON: Duration = Duration::from_secs(1);
/// How often orphans that keep having children are looked for again.
const ROUNDS: usize = 1000;

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

struct Family {
    /// What the marks of the spec begin with that we run, if we do.
    run: Option<String>,
    /// How many marks were given.
    marks: u64,
    /// What we have started and not waited for yet.
    started: Vec<(u32, WhenInterrupted)>,
    /// Directories of ours that go when we are interrupted.
    directories: Vec<PathBuf>,
    /// Whoever wants to end in order when we are interrupted.
    listener: Option<Box<dyn FnOnce() + Send>>,
}

static FAMILY: Mutex<Family> = Mutex::new(Family {
    run: None,
    marks: 0,
    started: Vec::new(),
    directories: Vec::new(),
    listener: None,
});

/// Whether a child that we did not start is an orphan.
static ADOPTING: AtomicBool = AtomicBool::new(false);
/// Whether we are on the way out.
static LEAVING: AtomicBool = AtomicBool::new(false);

fn family() -> MutexGuard<'static, Family> {
    FAMILY.lock().expect("no holder panics")
}

/// From now on Ctrl-C, SIGTERM and SIGHUP end what we have started before they
/// end us, with exit code 130: a command in a group of its own does not hear
/// them.
pub fn clean_up_when_interrupted() {
    os::keep_ignoring_hangups();
    let installed = ctrlc::set_handler(|| {
        // Whoever listens hears the first one; the second one ends us.
        let listener = family().listener.take();
        if let Some(listener) = listener {
            return listener();
        }
        LEAVING.store(true, Ordering::SeqCst);
        end_everything();
        let family = family();
        for (pid, _) in &family.started {
            os::end_group(*pid, Strength::Gentle);
        }
        for directory in &family.directories {
            // Already on the way out, and it is only a copy.
            let _ = std::fs::remove_dir_all(directory);
        }
        std::process::exit(i32::from(crate::exit::INTERRUPTED));
    });
    // Without a handler the default applies: we end, and so does nothing else.
    debug_assert!(installed.is_ok());
}

/// Lets somebody end in order when we are interrupted for the first time.
pub fn tell_when_interrupted(listener: impl FnOnce() + Send + 'static) {
    family().listener = Some(Box::new(listener));
}

/// Lets a temporary directory of ours go with us when we are interrupted.
pub fn remove_when_interrupted(directory: &Path) {
    family().directories.push(directory.to_owned());
}

/// From now on what we start works for a run of this spec, and what it leaves
/// behind becomes our child. Only for a process that starts everything through
/// this module: any other child would be taken for an orphan.
pub fn begin_run(spec: &Path) {
    family().run = Some(spec_part(spec));
    // A system that cannot do it leaves us with process groups and marks.
    ADOPTING.store(os::adopt_orphans(), Ordering::SeqCst);
}

impl Family {
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

/// Starts a command in a group of its own.
pub(super) fn start(
    command: &mut Command,
    when: WhenInterrupted,
) -> std::io::Result<(Child, Option<Mark>)> {
    os::in_a_group_of_its_own(command);
    if when == WhenInterrupted::End {
        // Whatever is not our own git works where it is started.
        super::in_no_given_repository(command);
    }
    // Held while it starts: whoever looks for orphans must not take a child
    // for one that is just being born.
    let mut family = family();
    let mark = family.mark(when);
    if let Some(Mark(value)) = &mark {
        command.env(MARK, value);
    }
    failpoint::reached("before a start");
    let child = command.spawn()?;
    family.started.push((child.id(), when));
    failpoint::reached("after a start");
    Ok((child, mark))
}

/// Forgets a command that was waited for. Does not return once we are on the
/// way out: what an interrupted command came to is nobody's verdict.
pub(super) fn forget(pid: u32) {
    while LEAVING.load(Ordering::SeqCst) {
        thread::park();
    }
    family().started.retain(|(other, _)| *other != pid);
}

/// Ends every command that is not to finish, and everything below us that we
/// did not start ourselves.
pub fn end_everything() {
    let doomed: Vec<u32> = family()
        .started
        .iter()
        .filter(|(_, when)| *when == WhenInterrupted::End)
        .map(|(pid, _)| *pid)
        .collect();
    doomed.into_iter().for_each(end);
    end_orphans(|_| true);
}

/// Ends a command with all its descendants.
pub(super) fn end(pid: u32) {
    // Seen before it ends: afterwards nothing ties them to it.
    let below = descendants(pid);
    let_git_go(&below);
    os::end_group(pid, Strength::Final);
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
    family().started.iter().filter(|(_, when)| *when == WhenInterrupted::End).count()
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
    for _ in 0..ROUNDS {
        // Under the lock no child of ours is born unseen.
        let orphans: Vec<u32> = {
            let family = family();
            let started = |pid: &u32| family.started.iter().any(|(other, _)| other == pid);
            os::children(std::process::id()).into_iter().filter(|pid| !started(pid)).collect()
        };
        let doomed: Vec<u32> = orphans.into_iter().filter(|pid| which(*pid)).collect();
        if doomed.is_empty() {
            return;
        }
        for pid in doomed {
            end_with_everything_below(pid);
            // Nobody else waits for it. It dies at once; if the kernel holds
            // it, the next round finds it again.
            os::wait_for(pid);
        }
    }
}

fn end_with_everything_below(pid: u32) {
    let mut family = descendants(pid);
    family.insert(0, pid);
    let_git_go(&family);
    family.into_iter().for_each(|pid| os::end_process(pid, Strength::Final));
}

/// Ends what an earlier run of a spec, which is gone, has left running, and
/// waits for what may finish: what git does meanwhile, nobody else can. Tells
/// which process that is.
pub fn end_survivors(spec: &Path, waits_for: impl Fn(u32)) {
    for _ in 0..ROUNDS {
        let survivors: Vec<u32> =
            marked_for(spec).into_iter().filter(|(_, finishes)| !finishes).map(first).collect();
        if survivors.is_empty() {
            break;
        }
        survivors.into_iter().for_each(end_with_everything_below);
        thread::yield_now();
    }
    let began = Instant::now();
    let mut told = None;
    while began.elapsed() < LONGEST_GIT {
        let works = |(pid, finishes): &(u32, bool)| *finishes && is_git(*pid);
        let Some((pid, _)) = marked_for(spec).into_iter().find(works) else { return };
        // Most are gone before anybody could read it.
        if told != Some(pid) && began.elapsed() > SOON {
            told = Some(pid);
            waits_for(pid);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process that lives is git.
fn is_git(pid: u32) -> bool {
    os::stat(pid).is_some_and(|stat| stat.name.as_deref() == Some("git"))
}

/// The living git, if there is one, that works in one of these folders, or
/// anywhere if none is named; `None` also where the system does not tell.
pub fn git_at_work(folders: &[&Path]) -> Option<u32> {
    let is_there = |pid: &u32| {
        let at = os::folder_of(*pid);
        folders.is_empty()
            || at.is_some_and(|at| folders.iter().any(|folder| at.starts_with(folder)))
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
            // Whoever started us may carry the mark itself.
            let is_ours = descendants(pid).contains(&me);
            let lives = os::stat(pid).is_some();
            (!is_ours && lives).then_some((pid, mark.ends_with(MAY_FINISH)))
        })
        .collect()
}
