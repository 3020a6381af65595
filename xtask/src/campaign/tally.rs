//! How many runs, and which faults have struck.

use std::collections::BTreeMap;
use std::fmt;

use super::play::Played;
use super::story::Story;
use super::story::fault::Kind;

/// What a campaign came to.
#[derive(Debug, Default)]
pub struct Tally {
    pub runs: usize,
    pub failed: usize,
    starts: usize,
    done: usize,
    /// By kind: how often it was planned, and how often it struck.
    faults: BTreeMap<Kind, (usize, usize)>,
}

impl Tally {
    pub fn add(&mut self, story: &Story, played: &Played) {
        self.runs += 1;
        self.failed += usize::from(played.broken.is_some());
        self.starts += played.starts;
        self.done += played.done;
        for (fault, struck) in story.faults.iter().zip(&played.struck) {
            let counts = self.faults.entry(fault.kind()).or_default();
            counts.0 += 1;
            counts.1 += usize::from(*struck);
        }
    }

    /// How often a kind of fault has struck.
    pub fn struck(&self, kind: Kind) -> usize {
        self.faults.get(&kind).map_or(0, |(_, struck)| *struck)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "runs              {:>7}", self.runs)?;
        writeln!(f, "starts of specum  {:>7}", self.starts)?;
        writeln!(f, "tasks done        {:>7}", self.done)?;
        writeln!(f, "runs that failed  {:>7}", self.failed)?;
        writeln!(f, "\nfault             planned  struck")?;
        for kind in Kind::ALL {
            let planned = self.faults.get(&kind).map_or(0, |(planned, _)| *planned);
            writeln!(f, "{:<17} {planned:>7} {:>7}", kind.name(), self.struck(kind))?;
        }
        Ok(())
    }
}
