//! Places where a test can let the process die.
//!
//! `SPECUM_DIE_AT=3` ends the process, as `kill -9` would, when the third fail
//! point is reached; so a test visits every step without knowing their names.
//! Without the `test-support` feature nothing of this is compiled.

/// Marks a step between two writes.
#[cfg(not(feature = "test-support"))]
pub(crate) fn reached(_name: &str) {}

/// Marks a step between two writes.
#[cfg(feature = "test-support")]
pub(crate) fn reached(name: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static DIE_AT: OnceLock<Option<u64>> = OnceLock::new();
    static REACHED: AtomicU64 = AtomicU64::new(0);

    let die_at = DIE_AT.get_or_init(|| std::env::var("SPECUM_DIE_AT").ok()?.parse().ok());
    let count = REACHED.fetch_add(1, Ordering::SeqCst) + 1;
    if *die_at == Some(count) {
        eprintln!("fail point {count}: {name}");
        crate::os::end_process(std::process::id(), crate::os::Strength::Final);
        std::process::abort();
    }
}
