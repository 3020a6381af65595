//! A clock that moves only when a test moves it.

use std::any::Any;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::ports::Clock;

/// Both clocks of a machine. Only [`MemoryClock::pass`] and [`Clock::sleep`] let time pass.
#[derive(Default)]
pub struct MemoryClock {
    times: Mutex<Times>,
    repeated: Mutex<Vec<Repeated>>,
}

#[derive(Default)]
struct Times {
    wall: Timestamp,
    elapsed: Duration,
}

struct Repeated {
    interval: Duration,
    due: Duration,
    /// Held by the caller as long as it is wanted.
    wanted: std::sync::Weak<()>,
    action: Box<dyn FnMut() + Send>,
}

impl MemoryClock {
    /// A clock that shows this time of day.
    pub fn at(wall: Timestamp) -> MemoryClock {
        MemoryClock {
            times: Mutex::new(Times { wall, elapsed: Duration::ZERO }),
            repeated: Mutex::default(),
        }
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        self.times.lock().expect("no holder panics")
    }

    /// Lets time pass, and does what is due by then, once.
    pub fn pass(&self, time: Duration) {
        let now = {
            let mut times = self.times();
            times.elapsed += time;
            times.wall = times.wall.saturating_add(time).unwrap_or(times.wall);
            times.elapsed
        };
        let mut repeated = std::mem::take(&mut *self.repeated.lock().expect("no holder panics"));
        repeated.retain(|repeated| repeated.wanted.strong_count() > 0);
        for repeated in repeated.iter_mut().filter(|repeated| repeated.due <= now) {
            repeated.due = now + repeated.interval;
            (repeated.action)();
        }
        self.repeated.lock().expect("no holder panics").append(&mut repeated);
    }

    /// Sets the time of day forwards or back.
    pub fn jump(&self, by: SignedDuration) {
        let mut times = self.times();
        times.wall = times.wall.saturating_add(by).unwrap_or(times.wall);
    }

    /// Forgets what was to be repeated: the caller that wanted it has died.
    pub fn forget_repeated(&self) {
        self.repeated.lock().expect("no holder panics").clear();
    }
}

impl Clock for MemoryClock {
    fn now(&self) -> Timestamp {
        self.times().wall
    }

    fn elapsed(&self) -> Duration {
        self.times().elapsed
    }

    fn sleep(&self, time: Duration) {
        self.pass(time);
    }

    fn every(
        &self,
        interval: Duration,
        action: Box<dyn FnMut() + Send>,
    ) -> io::Result<Box<dyn Any + Send>> {
        let wanted = Arc::new(());
        let due = self.elapsed() + interval;
        let repeated = Repeated { interval, due, wanted: Arc::downgrade(&wanted), action };
        self.repeated.lock().expect("no holder panics").push(repeated);
        Ok(Box::new(wanted))
    }
}
