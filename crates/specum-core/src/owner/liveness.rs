//! Whether the owner of a spec is still alive.
//!
//! Where the process of an owner can be seen, the process decides. A run that
//! cannot be seen (in a container, on another host of a shared disk, on a system
//! that does not show processes) proves its life by a lock that it holds and by
//! a beat, a time that it writes into a file of its own. A session that cannot
//! be seen counts as alive until it has done nothing for long.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Owner, Process};

/// How often a run writes its beat.
pub const BEAT: Duration = Duration::from_secs(10);

/// The age at which a beat is old: six beats. A run that is starved of its disk
/// or its processor for a moment is not taken for dead, and the clocks of two
/// hosts may differ by half a minute.
pub const BEAT_IS_OLD: Duration = Duration::from_secs(60);

/// How long a session that cannot be seen may do nothing. It acts when it hands
/// out a task or wants to stop, and in between a sub-agent may work for hours or
/// a question may wait for its person overnight. To be taken for dead costs a
/// living session its work; a dead one is taken over with a single command.
pub const SESSION_IS_SILENT: Duration = Duration::from_secs(12 * 60 * 60);

/// Where the number of a process means that process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PidSpace {
    /// The name of the host, also for messages.
    pub host: String,
    /// One start of the host; empty where unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub boot: String,
    /// The namespace of process numbers; empty where there are none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

/// How far away a process is from the one that asks about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Distance {
    /// Its number means the same to both.
    Here,
    /// The same kernel serves both, so both see the same locks.
    SameKernel,
    /// The host has started again since, so the process has ended.
    BeforeReboot,
    /// On another host.
    Elsewhere,
}

impl PidSpace {
    fn distance(&self, other: &PidSpace) -> Distance {
        let same_boot = !self.boot.is_empty() && self.boot == other.boot;
        if same_boot && self.namespace == other.namespace {
            Distance::Here
        } else if same_boot {
            Distance::SameKernel
        } else if self.host != other.host {
            Distance::Elsewhere
        } else if self.boot.is_empty() && other.boot.is_empty() {
            Distance::Here
        } else {
            Distance::BeforeReboot
        }
    }
}

/// A run's sign of life: `.ralph-beat`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beat {
    /// The run.
    pub process: Process,
    /// When, in RFC 3339.
    pub at: String,
}

/// What the world shows of an owner. Each question costs something, so only
/// those are asked that decide.
pub trait Witness {
    /// Where the asker runs.
    fn here(&self) -> &PidSpace;
    /// Whether a process that is here lives; `None` if its number does not prove
    /// it.
    fn lives(&self, process: &Process) -> Option<bool>;
    /// Whether a run holds the spec's run lock; `None` if that cannot be told.
    fn holds_lock(&self, run: &Process) -> Option<bool>;
    /// How long ago a run has beaten; `None` if it never has.
    fn beat_age(&self, run: &Process) -> Option<Duration>;
    /// How long ago a time was that stands in a record; `None` if it is none.
    fn age(&self, at: &str) -> Option<Duration>;
}

impl Owner {
    /// Whether the owner is alive, as far as that can be told.
    pub fn is_alive(&self, witness: &impl Witness) -> bool {
        match self {
            Owner::Runner { process } => run_is_alive(process, witness),
            Owner::Session { process, seen, .. } => {
                session_is_alive(process.as_ref(), seen.as_deref(), witness)
            }
        }
    }
}

/// A process without a space was recorded by an older version, which knew no
/// other than its own.
fn distance(process: &Process, witness: &impl Witness) -> Distance {
    process.space.as_ref().map_or(Distance::Here, |space| space.distance(witness.here()))
}

fn run_is_alive(process: &Process, witness: &impl Witness) -> bool {
    let distance = distance(process, witness);
    if distance == Distance::Here {
        match witness.lives(process) {
            Some(lives) => return lives,
            // An older version has neither lock nor beat.
            None if process.space.is_none() => return true,
            None => {}
        }
    }
    match (witness.holds_lock(process), distance) {
        (Some(true), _) => true,
        // The kernel lets go of a lock when its holder ends.
        (Some(false), Distance::Here | Distance::SameKernel) => false,
        // A shared disk need not show the lock of another host.
        _ => witness.beat_age(process).is_some_and(|age| age < BEAT_IS_OLD),
    }
}

fn session_is_alive(process: Option<&Process>, seen: Option<&str>, witness: &impl Witness) -> bool {
    let by_process = process.and_then(|process| match distance(process, witness) {
        Distance::Here => witness.lives(process),
        Distance::BeforeReboot => Some(false),
        Distance::SameKernel | Distance::Elsewhere => None,
    });
    by_process.unwrap_or_else(|| {
        let age = seen.and_then(|at| witness.age(at));
        // An older version did not record when a session acted.
        age.is_none_or(|age| age < SESSION_IS_SILENT)
    })
}

#[cfg(test)]
mod tests;
