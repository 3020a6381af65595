//! Everything that descends from us.
//!
//! Agents put their own children into sessions of their own, so a signal to a
//! process group does not reach them. Three things find them nevertheless: what
//! we started is remembered with its number; on Linux, what it leaves behind
//! becomes our child ([`adopt_orphans`]); and each agent carries a [`Mark`] in
//! its environment, which its descendants inherit and which outlives us. On
//! other systems only the process group is ended.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use specum_core::digest::Digest;

use crate::failpoint;

/// What an interruption means to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenInterrupted {
    /// It is ended at once.
    End,
    /// It may finish: ended in the middle, git would leave a lock behind.
    Finish,
}

/// Tells an agent and all its descendants from every other process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// What all marks of one spec begin with.
    spec: String,
    /// Which start of an agent it is.
    number: u64,
}

/// The variable that carries a mark.
pub const MARK: &str = "SPECUM_MARK";

impl Mark {
    /// The mark of one start of an agent.
    pub fn new(spec: &Path, number: u64) -> Mark {
        Mark { spec: spec_part(spec), number }
    }

    /// What stands in the environment.
    pub fn value(&self) -> String {
        format!("{}{}.{}", self.spec, std::process::id(), self.number)
    }
}

fn spec_part(spec: &Path) -> String {
    format!("{}.", Digest::of(spec.as_os_str().as_encoded_bytes()).hex())
}

struct Family {
    /// What we have started and not waited for yet.
    started: Vec<(u32, WhenInterrupted)>,
    /// Directories of ours that go when we are interrupted.
    directories: Vec<PathBuf>,
    /// Whoever wants to end in order when we are interrupted.
    listener: Option<Box<dyn FnOnce() + Send>>,
}

static FAMILY: Mutex<Family> =
    Mutex::new(Family { started: Vec::new(), directories: Vec::new(), listener: None });

/// Whether we are on the way out.
static LEAVING: AtomicBool = AtomicBool::new(false);

fn family() -> MutexGuard<'static, Family> {
    FAMILY.lock().expect("no holder panics")
}

/// From now on Ctrl-C, SIGTERM and SIGHUP end what we have started before they
/// end us, with exit code 130: a command in a group of its own does not hear
/// them.
pub fn clean_up_when_interrupted() {
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
            signal_group(*pid, Strength::Gentle);
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

/// Starts a command in a group of its own.
pub(super) fn start(command: &mut Command, when: WhenInterrupted) -> std::io::Result<Child> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    // Held while it starts: whoever looks for orphans must not take a child
    // for one that is just being born.
    let mut family = family();
    failpoint::reached("before a start");
    let child = command.spawn()?;
    family.started.push((child.id(), when));
    failpoint::reached("after a start");
    Ok(child)
}

/// Forgets a command that was waited for. Does not return once we are on the
/// way out: what an interrupted command came to is nobody's verdict.
pub(super) fn forget(pid: u32) {
    while LEAVING.load(Ordering::SeqCst) {
        std::thread::park();
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
    signal_group(pid, Strength::Final);
    below.iter().for_each(|pid| signal(*pid));
    // What was born meanwhile is an orphan of ours now, or carries the mark.
}

/// Ends what an agent that has ended left behind. What carries no mark at all
/// goes too, if nobody else is at work that it could belong to.
pub(super) fn end_left_by(mark: Option<&Mark>, alone: bool) {
    let ours = mark.map(Mark::value);
    end_orphans(|pid| match marked(pid) {
        Some(value) => ours.as_ref() == Some(&value),
        None => alone,
    });
}

/// How many commands run that may have descendants of their own.
pub(super) fn running() -> usize {
    family().started.iter().filter(|(_, when)| *when == WhenInterrupted::End).count()
}

#[derive(Clone, Copy)]
enum Strength {
    /// It may clean up.
    Gentle,
    /// It may not.
    Final,
}

#[cfg(unix)]
fn signal_group(pid: u32, strength: Strength) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let signal = match strength {
        Strength::Gentle => Signal::TERM,
        Strength::Final => Signal::KILL,
    };
    if let Some(group) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // Nobody left is the normal case.
        let _ = kill_process_group(group, signal);
    }
}

#[cfg(not(unix))]
fn signal_group(_pid: u32, _strength: Strength) {}

#[cfg(unix)]
fn signal(pid: u32) {
    use rustix::process::{Pid, Signal, kill_process};
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

#[cfg(not(unix))]
fn signal(_pid: u32) {}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use std::sync::atomic::Ordering;

    use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, waitpid};

    use super::{MARK, family, signal, spec_part};

    /// How often orphans that keep having children are looked for again.
    const ROUNDS: usize = 1000;

    /// Whether a child that we did not start is an orphan.
    static ADOPTING: super::AtomicBool = super::AtomicBool::new(false);

    /// From now on what our descendants leave behind becomes our child. Only
    /// for a process that starts everything through this module: any other
    /// child would be taken for an orphan.
    pub fn adopt_orphans() {
        // A kernel too old for it leaves us with process groups and marks.
        ADOPTING.store(set_child_subreaper(Some(getpid())).is_ok(), Ordering::SeqCst);
    }

    /// The children of a process.
    fn children(pid: u32) -> Vec<u32> {
        let mut found = Vec::new();
        for thread in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let Ok(list) = fs::read_to_string(thread.path().join("children")) else { continue };
            found.extend(list.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
        found
    }

    pub(super) fn descendants(pid: u32) -> Vec<u32> {
        let mut found = children(pid);
        let mut next = 0;
        while let Some(&pid) = found.get(next) {
            found.extend(children(pid));
            next += 1;
        }
        found
    }

    /// The mark a process carries.
    pub(super) fn marked(pid: u32) -> Option<String> {
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let value = environment
            .split(|byte| *byte == 0)
            .find_map(|entry| entry.strip_prefix(MARK.as_bytes())?.strip_prefix(b"="))?;
        Some(String::from_utf8_lossy(value).into_owned())
    }

    /// Ends those orphans of ours, with everything below them, that `which`
    /// names.
    pub(super) fn end_orphans(which: impl Fn(u32) -> bool) {
        if !ADOPTING.load(Ordering::SeqCst) {
            return;
        }
        for _ in 0..ROUNDS {
            // Under the lock no child of ours is born unseen.
            let orphans: Vec<u32> = {
                let family = family();
                let started = |pid: &u32| family.started.iter().any(|(other, _)| other == pid);
                children(std::process::id()).into_iter().filter(|pid| !started(pid)).collect()
            };
            let doomed: Vec<u32> = orphans.into_iter().filter(|pid| which(*pid)).collect();
            if doomed.is_empty() {
                return;
            }
            for pid in doomed {
                let below = descendants(pid);
                signal(pid);
                below.into_iter().for_each(signal);
                // Nobody else waits for it. It dies at once; if the kernel holds
                // it, the next round finds it again.
                if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                    let _ = waitpid(Some(pid), WaitOptions::empty());
                }
            }
        }
    }

    /// Ends what an earlier run of a spec, which is gone, has left running.
    pub fn end_survivors(spec: &Path) -> usize {
        let part = spec_part(spec);
        let me = std::process::id();
        let mut ended = 0;
        for _ in 0..ROUNDS {
            let survivors: Vec<u32> = fs::read_dir("/proc")
                .into_iter()
                .flatten()
                .flatten()
                .filter_map(|entry| {
                    std::str::from_utf8(entry.file_name().as_bytes()).ok()?.parse::<u32>().ok()
                })
                .filter(|pid| {
                    *pid != me && marked(*pid).is_some_and(|mark| mark.starts_with(&part))
                })
                // Whoever started us may carry the mark itself.
                .filter(|pid| !descendants(*pid).contains(&me))
                .filter(|pid| super::super::stat(*pid).is_some())
                .collect();
            if survivors.is_empty() {
                break;
            }
            ended += survivors.len();
            for pid in survivors {
                let below = descendants(pid);
                signal(pid);
                below.into_iter().for_each(signal);
            }
            std::thread::yield_now();
        }
        ended
    }
}

#[cfg(target_os = "linux")]
pub use linux::{adopt_orphans, end_survivors};
#[cfg(target_os = "linux")]
use linux::{descendants, end_orphans, marked};

/// Elsewhere nobody adopts.
#[cfg(not(target_os = "linux"))]
mod elsewhere {
    pub fn adopt_orphans() {}

    pub fn end_survivors(_spec: &std::path::Path) -> usize {
        0
    }

    pub(super) fn descendants(_pid: u32) -> Vec<u32> {
        Vec::new()
    }

    pub(super) fn marked(_pid: u32) -> Option<String> {
        None
    }

    pub(super) fn end_orphans(_which: impl Fn(u32) -> bool) {}
}

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{adopt_orphans, end_survivors};
#[cfg(not(target_os = "linux"))]
use elsewhere::{descendants, end_orphans, marked};
