//! The lock of a spec: one writer at a time, across processes.
//!
//! The kernel releases it when a process ends, however it ends, so a crash
//! leaves nothing to clean up. Waiting is bounded: a holder that does not let
//! go is an error that names the file.

use std::fs::{File, TryLockError};
use std::io::{self, Seek, Write};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::StoreError;
use crate::files::{self, FileError};

/// A transaction takes milliseconds; a holder beyond this is stuck.
const PATIENCE: Duration = Duration::from_secs(10);

/// Held until dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Writes into the file for those who find it locked.
    pub fn note(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(bytes)
    }
}

pub(super) fn acquire(path: &Path) -> Result<Lock, StoreError> {
    acquire_within(path, patience())
}

/// Takes a lock that is held for long, and so not waited for.
pub fn lock_now(path: &Path) -> Result<Lock, StoreError> {
    acquire_within(path, Duration::ZERO)
}

/// Whether somebody holds a lock; `None` if that cannot be told. The file is not
/// created, and several may ask at once.
pub(super) fn is_held(path: &Path) -> Option<bool> {
    let file = files::open_own(path, File::options().read(true)).ok()?;
    match file.try_lock_shared() {
        Ok(()) => Some(false),
        Err(TryLockError::WouldBlock) => Some(true),
        Err(TryLockError::Error(_)) => None,
    }
}

pub(super) fn acquire_within(path: &Path, patience: Duration) -> Result<Lock, StoreError> {
    let failed = |source| StoreError::File(FileError::new("lock", path, source));
    let busy = || StoreError::Busy { path: path.to_owned(), seconds: patience.as_secs() };
    let mut options = File::options();
    options.create(true).write(true).truncate(false);
    let file = files::open_own(path, &mut options).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => return Ok(Lock { file }),
        Err(TryLockError::WouldBlock) if patience.is_zero() => return Err(busy()),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    // The blocking call is queued by the kernel, which polling is not: with
    // many writers nobody starves. If we give up first, the receiver is gone,
    // the send fails, and dropping the file lets go of the lock.
    let (sender, receiver) = mpsc::channel();
    let wait = move || {
        let outcome = file.lock().map(|()| file);
        let _ = sender.send(outcome);
    };
    thread::Builder::new().spawn(wait).map_err(failed)?;
    tracing::debug!(?path, "waits for a lock");
    match receiver.recv_timeout(patience) {
        Ok(Ok(file)) => Ok(Lock { file }),
        Ok(Err(error)) => Err(failed(error)),
        Err(_) => Err(busy()),
    }
}

/// Tests may not want to wait that long.
fn patience() -> Duration {
    #[cfg(feature = "test-support")]
    if let Some(millis) = std::env::var("SPECUM_LOCK_MILLIS").ok().and_then(|v| v.parse().ok()) {
        return Duration::from_millis(millis);
    }
    PATIENCE
}
