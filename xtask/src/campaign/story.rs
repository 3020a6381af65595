//! A story: a plan, the user's files around it, and the faults that strike while
//! it is worked. All of it follows from a seed, and so does every run of it:
//! a fault strikes at an event, never at a time.

mod draw;
pub mod fault;
pub mod plan;

use std::fmt;

use fastrand::Rng;

use self::draw::Lot;
use self::fault::{AtCommit, Fault, Kind};
use self::plan::{Layout, Task};

/// Everything that a run needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Story {
    pub seed: u64,
    pub layout: Layout,
    pub tasks: Vec<Task>,
    pub faults: Vec<Fault>,
}

/// The most faults of one story.
const MOST_FAULTS: usize = 5;

impl Story {
    /// The story of a seed, with faults of these kinds.
    pub fn from_seed(seed: u64, kinds: &[Kind]) -> Story {
        // Neighbouring seeds would begin with similar numbers.
        let mut rng = Rng::with_seed(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let layout = Layout::draw(&mut rng).with_wishes(seed);
        let tasks = plan::draw(&mut rng);
        let count = rng.usize(1..=MOST_FAULTS);
        let mut faults: Vec<Fault> = Vec::new();
        for _ in 0..count {
            let Some(kind) = rng.choice(kinds) else { break };
            let mut lot =
                Lot { tasks: &tasks, bare: layout.bare, dirty: layout.dirty, rng: &mut rng };
            let fault = lot.fault(*kind);
            if faults.iter().all(|other| !other.excludes(&fault)) {
                faults.push(fault);
            }
        }
        Story { seed, layout, tasks, faults }
    }

    /// What the repository's hook does, if it has one.
    pub fn hook(&self) -> Option<AtCommit> {
        self.faults.iter().find_map(|fault| match fault {
            Fault::Hook { how } => Some(*how),
            _ => None,
        })
    }

    /// Whether some start has a fault of this kind.
    pub fn has(&self, kind: Kind) -> bool {
        self.faults.iter().any(|fault| fault.kind() == kind)
    }
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  the plan: {}", self.layout)?;
        for task in &self.tasks {
            writeln!(f, "    {task}")?;
        }
        writeln!(f, "  the faults:")?;
        for fault in &self.faults {
            writeln!(f, "    {fault}")?;
        }
        Ok(())
    }
}
