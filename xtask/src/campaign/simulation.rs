//! The engine in a simulated world: years of runs, crashes and meddling in seconds.
//!
//! A seed makes a plan, and then one thing after another happens to it: agents
//! work, fail, lie, wait for limits, fall silent and die; a person edits the
//! plan, ticks, pauses, resumes, cancels and starts again; the machine dies
//! between any two writes and tears a line of the journal; clocks jump. After
//! every step the promises of `truth` are looked at, and at the end of each
//! loop's life the weather turns fair: then everything must come to its end.
//!
//! **Real** is everything: the engine with its store, its attempts and its run, the
//! hooks, the verbs, and the kernel below them, on a disk, a repository and a clock in
//! memory. A run's threads wait for the simulation, so that one thing happens at a time.
//!
//! **Simulated** are the agents, the checks and the host. What git does to a tree, what
//! signals do to processes and whether a rename survives a power cut is for the stories
//! with real processes.
//!
//! The same seed gives the same story to the last byte. One that breaks a
//! promise is told again with fewer and plainer choices until nothing can be
//! left out.

use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::thread;

use specum_core::digest::Digest;

mod agents;
mod edits;
mod known;
mod launcher;
mod observer;
mod person;
mod plan;
mod run;
mod session;
mod steering;
mod threads;
mod truth;
mod world;

use world::World;

/// How many events a story ends with.
const LAST_EVENTS: usize = 24;
/// How often a broken life is lived again to make its story shorter.
const RETELLINGS: usize = 60;
/// How many lives a core has before the others are waited for.
const LIVES_IN_A_ROW: usize = 8;

/// What a simulation came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// Things that happened.
    pub(crate) steps: u64,
    /// Plans that were worked.
    pub(crate) lives: u64,
    /// Verdicts.
    pub(crate) passed: u64,
    /// Verdicts.
    pub(crate) failed: u64,
    /// How often the machine has died.
    pub(crate) deaths: u64,
    /// Loops that came to their end.
    pub(crate) completed: u64,
    /// Everything that happened, in one number.
    pub(crate) trace: u64,
}

/// A broken promise, and how it came to it.
#[derive(Debug)]
pub(crate) struct Story {
    /// The seed.
    pub(crate) seed: u64,
    /// How many steps had gone well.
    pub(crate) step: u64,
    /// The promise.
    pub(crate) broken: String,
    /// What happened, in the shortest life that was found.
    pub(crate) events: Vec<String>,
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, step {}: {}", self.seed, self.step, self.broken)?;
        let skipped = self.events.len().saturating_sub(LAST_EVENTS);
        if skipped > 0 {
            writeln!(f, "  … {skipped} events before")?;
        }
        for event in &self.events[skipped..] {
            writeln!(f, "  {event}")?;
        }
        Ok(())
    }
}

/// Simulates at least so many steps, on every core. The lives follow from the
/// seed in their order, however many are lived at once.
pub(crate) fn run(seed: u64, steps: u64) -> Result<Report, Story> {
    let mut seeds = fastrand::Rng::with_seed(seed);
    let mut report = Report::default();
    let mut trace = Digest::of(&seed.to_le_bytes());
    let mut lived = Vec::<Life>::new().into_iter();
    while report.steps < steps {
        let Some(life) = lived.next() else {
            lived = at_once(&mut seeds).into_iter();
            continue;
        };
        if let Some(broken) = life.broken {
            let (broken, events) = shortest(broken, life.choices, life.events);
            return Err(Story { seed, step: report.steps + life.report.steps, broken, events });
        }
        report.steps += life.report.steps;
        report.lives += 1;
        report.passed += life.report.passed;
        report.failed += life.report.failed;
        report.deaths += life.report.deaths;
        report.completed += life.report.completed;
        trace = trace.with_number(life.report.trace);
    }
    report.trace = u64::from_str_radix(&trace.hex(), 16).expect("a digest is hexadecimal");
    Ok(report)
}

/// The next few lives.
fn at_once(seeds: &mut fastrand::Rng) -> Vec<Life> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let next: Vec<Vec<u64>> =
        (0..cores).map(|_| (0..LIVES_IN_A_ROW).map(|_| seeds.u64(..)).collect()).collect();
    thread::scope(|scope| {
        let threads: Vec<_> = next
            .into_iter()
            .map(|seeds| {
                let live_all = move || -> Vec<Life> {
                    seeds.into_iter().map(|seed| live(Chance::random(seed))).collect()
                };
                scope.spawn(live_all)
            })
            .collect();
        let lived = threads.into_iter().map(|lives| lives.join().expect("a life does not panic"));
        lived.flatten().collect()
    })
}

/// One plan from its making to its end.
struct Life {
    report: Report,
    broken: Option<String>,
    events: Vec<String>,
    choices: Vec<u32>,
}

fn live(chance: Chance) -> Life {
    let mut world = World::new(chance);
    let lived = panic::catch_unwind(AssertUnwindSafe(|| world.live()));
    let broken = match lived {
        Ok(lived) => lived.err(),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().cloned();
            let said = said.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).into()));
            Some(format!("the engine panicked: {}", said.unwrap_or_default()))
        }
    };
    Life { report: world.report(), broken, events: world.story, choices: world.chance.taken }
}

/// The story with as few and as plain choices as still break the promise.
fn shortest(broken: String, choices: Vec<u32>, events: Vec<String>) -> (String, Vec<String>) {
    let mut best = (broken, choices, events);
    let mut retellings = 0;
    let mut length = best.1.len().next_power_of_two();
    while length > 0 && retellings < RETELLINGS {
        let mut at = 0;
        let mut shorter = false;
        while at < best.1.len() && retellings < RETELLINGS {
            let end = (at + length).min(best.1.len());
            let without = [&best.1[..at], &best.1[end..]].concat();
            let mut plain = best.1.clone();
            plain[at..end].fill(0);
            let told = [without, plain].into_iter().find_map(|choices| {
                retellings += 1;
                let simpler = (choices.len(), choices.iter().sum::<u32>())
                    < (best.1.len(), best.1.iter().sum::<u32>());
                let life = simpler.then(|| live(Chance::told(choices)))?;
                let broken = life.broken.filter(|_| life.choices.len() <= best.1.len())?;
                Some((broken, life.choices, life.events))
            });
            match told {
                Some(told) => (best, shorter) = (told, true),
                None => at = end,
            }
        }
        if !shorter {
            length /= 2;
        }
    }
    (best.0, best.2)
}

/// Where everything that happens by chance comes from. Zero is the plainest
/// choice everywhere, so that a story can be made plainer without knowing it.
pub(crate) struct Chance {
    source: Source,
    taken: Vec<u32>,
}

enum Source {
    Random(fastrand::Rng),
    /// Choices made before; zero behind their end.
    Told(Vec<u32>),
}

impl Chance {
    fn random(seed: u64) -> Chance {
        Chance { source: Source::Random(fastrand::Rng::with_seed(seed)), taken: Vec::new() }
    }

    fn told(choices: Vec<u32>) -> Chance {
        Chance { source: Source::Told(choices), taken: Vec::new() }
    }

    /// A number below another.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        let number = match &mut self.source {
            Source::Random(rng) => rng.u32(..bound),
            Source::Told(choices) => choices.get(self.taken.len()).map_or(0, |n| n % bound),
        };
        self.taken.push(number);
        number
    }

    /// Something that happens once in a while.
    pub(crate) fn once_in(&mut self, times: u32) -> bool {
        self.below(times) == times - 1
    }

    /// One of several.
    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(u32::try_from(choices.len()).expect("few choices")) as usize]
    }
}
