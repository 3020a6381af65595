//! Locks: one holder at a time, across processes.
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

use super::FileError;
use crate::ports::Lock;

/// Held until dropped.
struct HeldLock {
    file: File,
}

impl Lock for HeldLock {
    fn note(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(bytes)
    }
}

/// Whether a lock is held; `None` if that cannot be told. The file is not
/// created, and several may ask at once.
pub(super) fn is_held(path: &Path) -> Option<bool> {
    let file = super::open_own(path, File::options().read(true)).ok()?;
    match file.try_lock_shared() {
        Ok(()) => Some(false),
        Err(TryLockError::WouldBlock) => Some(true),
        Err(TryLockError::Error(_)) => None,
    }
}

/// Takes a lock, and waits for its holder at most for so long; `None` if that was not
/// enough.
pub(super) fn acquire(path: &Path, patience: Duration) -> Result<Option<Box<dyn Lock>>, FileError> {
    let failed = |source| FileError::new("lock", path, source);
    let taken = |file| Ok(Some(Box::new(HeldLock { file }) as Box<dyn Lock>));
    let mut options = File::options();
    options.create(true).write(true).truncate(false);
    let file = super::open_own(path, &mut options).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => return taken(file),
        Err(TryLockError::WouldBlock) if patience.is_zero() => return Ok(None),
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
        Ok(Ok(file)) => taken(file),
        Ok(Err(error)) => Err(failed(error)),
        Err(_) => Ok(None),
    }
}
