//! How a run shows that it is alive, to those who cannot see its process.
//!
//! For as long as it works it holds the spec's run lock, and every few seconds
//! it writes its beat. The state file is not touched and nothing is recorded.

use std::any::Any;
use std::time::Duration;

use specum_core::owner::{BEAT, Beat, Owner, Process};

use super::RunError;
use crate::attempt::{AttemptError, Workspace};
use crate::ports::Lock;
use crate::store::{Store, StoreError};

/// Proves that the run is alive until it is dropped.
pub(super) struct Pulse {
    store: Store,
    beating: Option<Box<dyn Any + Send>>,
    _lock: Box<dyn Lock>,
}

impl Pulse {
    /// Takes the run lock of a spec and begins to beat.
    pub(super) fn start(workspace: &Workspace, me: &Process) -> Result<Pulse, RunError> {
        let store = workspace.store.clone();
        let lock = match store.lock_for_run() {
            Ok(lock) => lock,
            Err(StoreError::Busy { .. }) => {
                let by = store.read_beat().map(|beat| Owner::Runner { process: beat.process });
                let by = by.map_or_else(|| "another `specum run`".into(), |by| by.description());
                return Err(AttemptError::Held { spec: workspace.spec.name.clone(), by }.into());
            }
            Err(error) => return Err(error.into()),
        };
        let beat = {
            let (store, process) = (store.clone(), me.clone());
            move || {
                let at = store.world.clock.now().to_string();
                store.write_beat(&Beat { process: process.clone(), at })
            }
        };
        beat()?;
        // A full disk may have room again for the next one.
        let go_on = Box::new(move || drop(beat()));
        let beating = store.world.clock.every(interval(), go_on).map_err(RunError::Thread)?;
        Ok(Pulse { store, beating: Some(beating), _lock: lock })
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.beating.take();
        // One that stays only lets others wait until it is old.
        let _ = self.store.forget_beat();
    }
}

/// Tests do not want to wait that long.
pub(super) fn interval() -> Duration {
    #[cfg(feature = "test-support")]
    if let Some(millis) = std::env::var("SPECUM_BEAT_MILLIS").ok().and_then(|v| v.parse().ok()) {
        return Duration::from_millis(millis);
    }
    BEAT
}
