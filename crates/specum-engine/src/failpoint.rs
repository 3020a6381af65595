//! Places where a test can let the process die, or the disk be full.
//!
//! `SPECUM_DIE_AT=3` ends the process, as `kill -9` would, when the third fail
//! point is reached; so a test visits every step without knowing their names.
//! `SPECUM_TEAR_AT=3` ends it in the middle of the third write, and
//! `SPECUM_DISK_FULL=3-5` lets the third to the fifth write find no room for
//! more than half of what they bring. Without the `test-support` feature
//! nothing of this is compiled.

use std::io::{self, Write};

/// Marks a step between two writes.
#[cfg(not(feature = "test-support"))]
pub(crate) fn reached(_name: &str) {}

/// Writes everything.
#[cfg(not(feature = "test-support"))]
pub(crate) fn write_all(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes)
}

/// Marks a step between two writes.
#[cfg(feature = "test-support")]
pub(crate) fn reached(name: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static DIE_AT: OnceLock<Option<u64>> = OnceLock::new();
    static REACHED: AtomicU64 = AtomicU64::new(0);

    let die_at = DIE_AT.get_or_init(|| number("SPECUM_DIE_AT"));
    let count = REACHED.fetch_add(1, Ordering::SeqCst) + 1;
    if *die_at == Some(count) {
        die(&format!("fail point {count}: {name}"));
    }
}

/// Writes everything, as far as the test lets it.
#[cfg(feature = "test-support")]
pub(crate) fn write_all(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static TEAR_AT: OnceLock<Option<u64>> = OnceLock::new();
    static FULL: OnceLock<Option<(u64, u64)>> = OnceLock::new();
    static WRITTEN: AtomicU64 = AtomicU64::new(0);

    let tear_at = TEAR_AT.get_or_init(|| number("SPECUM_TEAR_AT"));
    let full = FULL.get_or_init(|| {
        let range = std::env::var("SPECUM_DISK_FULL").ok()?;
        let (first, last) = range.split_once('-')?;
        Some((first.parse().ok()?, last.parse().ok()?))
    });
    let count = WRITTEN.fetch_add(1, Ordering::SeqCst) + 1;
    if *tear_at == Some(count) {
        to.write_all(&bytes[..bytes.len() / 2])?;
        die(&format!("write {count} is torn"));
    }
    if full.is_some_and(|(first, last)| (first..=last).contains(&count)) {
        to.write_all(&bytes[..bytes.len() / 2])?;
        eprintln!("write {count} finds the disk full");
        return Err(io::ErrorKind::StorageFull.into());
    }
    to.write_all(bytes)
}

#[cfg(feature = "test-support")]
fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[cfg(feature = "test-support")]
fn die(why: &str) {
    eprintln!("{why}");
    crate::os::end_process(std::process::id(), crate::os::Strength::Final);
    std::process::abort();
}
