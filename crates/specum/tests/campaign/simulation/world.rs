//! The world: a plan, its files, clocks, and whoever works or meddles.

use std::collections::BTreeMap;

use jiff::Timestamp;
use specum_core::digest::Digest;
use specum_core::state::{Owner, State};
use specum_core::tasks::TaskFile;

use super::agents::Act;
use super::disk::{Died, Disk};
use super::runner::Runner;
use super::session::Session;
use super::truth::Truth;
use super::{Chance, Report};

/// What keeps a step from coming to its end.
#[derive(Debug)]
pub(crate) enum Halt {
    /// The machine has died.
    Died(Died),
    /// A promise is broken.
    Broken(String),
}

impl From<Died> for Halt {
    fn from(died: Died) -> Halt {
        Halt::Died(died)
    }
}

/// Breaks off if something that is promised does not hold.
macro_rules! promise {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err(Halt::Broken(format!($($words)+)));
        }
    };
}
pub(crate) use promise;

/// How long a life is before the weather turns fair.
const STEPS: u32 = 240;
/// By how much a clock on the wall may jump.
const JUMPS: [i64; 6] = [3_600_000, -3_600_000, 86_400_000, -86_400_000, 9 * 86_400_000, -1];

pub(crate) struct World {
    pub(crate) chance: Chance,
    pub(crate) disk: Disk,
    pub(crate) truth: Truth,
    /// The clock on the wall, in milliseconds; it may jump.
    pub(crate) wall: i64,
    /// A clock that only goes on.
    pub(crate) now: u64,
    pub(crate) runner: Option<Runner>,
    pub(crate) session: Option<Session>,
    /// Whoever works the loop and is alive.
    pub(crate) living: Option<Owner>,
    /// What the executors of a session did who have reported, by task.
    pub(crate) acts: BTreeMap<String, Act>,
    /// From now on nothing goes wrong.
    pub(crate) fair: bool,
    pub(crate) max_parallel: usize,
    pub(crate) story: Vec<String>,
    trace: Digest,
    steps: u64,
    deaths: u64,
}

impl World {
    pub(crate) fn new(mut chance: Chance) -> World {
        let tasks = super::plan::write(&mut chance);
        let truth = Truth::of(&tasks);
        let max_parallel = chance.one_of(&[5, 1, 2]);
        World {
            chance,
            disk: Disk { tasks, ..Disk::default() },
            truth,
            wall: 1_794_700_800_000,
            now: 0,
            runner: None,
            session: None,
            living: None,
            acts: BTreeMap::new(),
            fair: false,
            max_parallel,
            story: Vec::new(),
            trace: Digest::of(b""),
            steps: 0,
            deaths: 0,
        }
    }

    pub(crate) fn report(&self) -> Report {
        let trace = self.trace.with(&self.disk.journal).with(&self.disk.tasks);
        Report {
            steps: self.steps,
            lives: 1,
            passed: self.truth.passed,
            failed: self.truth.failed,
            deaths: self.deaths,
            completed: self.truth.completed,
            trace: u64::from_str_radix(&trace.hex(), 16).expect("a digest is hexadecimal"),
        }
    }

    /// Lives until the plan is worked; the error is the promise that is broken.
    pub(crate) fn live(&mut self) -> Result<(), String> {
        let steps = self.chance.below(STEPS);
        for _ in 0..steps {
            self.step()?;
        }
        self.story("from here on the weather is fair".into());
        self.fair = true;
        // A few steps for each attempt, and something for what has to be put
        // away first.
        let open = TaskFile::scan(&self.disk.tasks).open().count();
        for _ in 0..200 + 20 * open {
            if self.is_over() {
                return Ok(());
            }
            self.step()?;
        }
        Err("nothing goes wrong any more, and still the loop does not come to its end".into())
    }

    fn is_over(&self) -> bool {
        self.runner.is_none()
            && self.disk.state.is_none()
            && TaskFile::scan(&self.disk.tasks).open().next().is_none()
    }

    /// One thing happens.
    fn step(&mut self) -> Result<(), String> {
        self.steps += 1;
        self.time_passes();
        if !self.fair && self.chance.once_in(30) {
            self.disk.lives_for = Some(self.chance.below(7));
            self.disk.tears_at = self.chance.below(101) as usize;
        }
        let mut happened = self.something_happens();
        self.disk.lives_for = None;
        if let Err(Halt::Died(_)) = happened {
            self.machine_dies();
            happened = Ok(());
        }
        let kept = happened.and_then(|()| self.keep_promises());
        kept.map_err(|halt| match halt {
            Halt::Broken(promise) => promise,
            Halt::Died(_) => "the machine died although it was well".into(),
        })
    }

    fn something_happens(&mut self) -> Result<(), Halt> {
        if !self.fair && self.chance.once_in(6) {
            return self.person_acts();
        }
        if self.runner.is_some() {
            self.run_goes_on()
        } else if self.session.is_some() {
            self.session_goes_on()
        } else {
            self.somebody_starts()
        }
    }

    fn time_passes(&mut self) {
        let millis = self.chance.one_of(&[10, 0, 500, 3_000, 12_000, 70_000]);
        self.now += millis;
        self.wall += i64::try_from(millis).expect("a short time");
        if !self.fair && self.chance.once_in(60) {
            // Somebody sets the clock, or the machine has slept.
            let jump = self.chance.one_of(&JUMPS);
            self.wall += jump;
            if jump > 0 && self.chance.once_in(2) {
                self.now += jump.unsigned_abs();
            }
            self.story(format!("the clock jumps by {} s", jump / 1000));
        }
    }

    fn machine_dies(&mut self) {
        self.deaths += 1;
        self.runner = None;
        self.session = None;
        self.living = None;
        self.disk.read_again();
        self.truth.tasks.holder_is_gone();
        self.story("the machine dies".into());
    }

    pub(crate) fn story(&mut self, event: String) {
        self.trace = self.trace.with(event.as_bytes()).with_number(self.now);
        self.story.push(event);
    }

    /// The time that records bear.
    pub(crate) fn at(&self) -> String {
        Timestamp::from_millisecond(self.wall).unwrap_or_default().to_string()
    }

    /// The state, if there is one that can be read.
    pub(crate) fn state(&self) -> Option<State> {
        self.disk.state.as_deref().and_then(|bytes| State::parse(bytes).ok())
    }

    /// Takes the lock, which completes what somebody has left half-done.
    pub(crate) fn lock(&mut self) -> Result<(), Halt> {
        let at = self.at();
        Ok(self.disk.recover(&at)?)
    }
}
