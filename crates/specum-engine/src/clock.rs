//! The time of day: the only place that asks for it.
//!
//! It may jump, in either direction, while we run: it is written into records
//! and shown, and nothing that must hold follows from it, with two exceptions:
//! whether an owner that cannot be seen is alive is told by the age of its last
//! sign (see [`crate::owner`]), and two hosts share no other clock; and a wait for a
//! limit may end by it, because the other clock sleeps with the machine. How long
//! something takes is measured by [`std::time::Instant`], which does not jump.

use jiff::Timestamp;

/// What the clock shows.
#[cfg(not(feature = "test-support"))]
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// What the clock shows. `SPECUM_CLOCK_JUMP=3:-7200` sets it back by two hours
/// when it is looked at for the third time.
#[cfg(feature = "test-support")]
pub fn now() -> Timestamp {
    use std::sync::OnceLock;
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
