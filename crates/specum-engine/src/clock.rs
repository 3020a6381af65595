//! The time of day: the only place that asks for it.
//!
//! It may jump, in either direction, while we run: it is written into records
//! and shown, and nothing that must hold follows from it, with two exceptions:
//! whether an owner that cannot be seen is alive is told by the age of its last
//! sign (see [`crate::owner`]), and two hosts share no other clock; and a wait for a
//! limit may end by it, because the other clock sleeps with the machine. How long
//! something takes is measured by [`std::time::Instant`], which does not jump.

use std::any::Any;
use std::io;
use std::sync::OnceLock;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::ports::Clock;

/// The clocks of the system.
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        now()
    }

    fn elapsed(&self) -> Duration {
        static ORIGIN: OnceLock<Instant> = OnceLock::new();
        ORIGIN.get_or_init(Instant::now).elapsed()
    }

    fn sleep(&self, time: Duration) {
        thread::sleep(time);
    }

    fn every(
        &self,
        interval: Duration,
        mut action: Box<dyn FnMut() + Send>,
    ) -> io::Result<Box<dyn Any + Send>> {
        let (stop, stopped) = mpsc::channel::<()>();
        let repeat = move || {
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                action();
            }
        };
        let thread = thread::Builder::new().spawn(repeat)?;
        Ok(Box::new(Repetition { stop: Some(stop), thread: Some(thread) }))
    }
}

/// A thread that does something again and again until this is dropped.
struct Repetition {
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Repetition {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the clock shows.
#[cfg(not(feature = "test-support"))]
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// What the clock shows. `SPECUM_CLOCK_JUMP=3:-7200` sets it back by two hours
/// when it is looked at for the third time.
#[cfg(feature = "test-support")]
pub fn now() -> Timestamp {
    use std::sync::atomic::{AtomicU64, Ordering};

    static JUMP: OnceLock<Option<(u64, i64)>> = OnceLock::new();
    static LOOKS: AtomicU64 = AtomicU64::new(0);

    let jump = JUMP.get_or_init(|| {
        let jump = std::env::var("SPECUM_CLOCK_JUMP").ok()?;
        let (look, seconds) = jump.split_once(':')?;
        Some((look.parse().ok()?, seconds.parse().ok()?))
    });
    let count = LOOKS.fetch_add(1, Ordering::SeqCst) + 1;
    match *jump {
        Some((look, seconds)) if count >= look => {
            if count == look {
                eprintln!("the clock jumps by {seconds} s");
            }
            Timestamp::now() + jiff::SignedDuration::from_secs(seconds)
        }
        _ => Timestamp::now(),
    }
}
