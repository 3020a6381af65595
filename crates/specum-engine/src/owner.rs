//! Who holds a spec now, for every command and hook that asks.
//!
//! [`specum_core::owner`] decides; this module finds out what is known of the
//! recorded owners: their processes, the lock and the beat of a run, the time of
//! a session's last action. Times on other hosts are compared with our clock,
//! because there is nothing else to compare them with.

use std::time::Duration;

use jiff::Timestamp;
use specum_core::guard::Memory;
use specum_core::owner::{Asker, Holder, Owner, PidSpace, Process, Witness};
use specum_core::state::State;

use crate::ports;
use crate::session::Note;
use crate::store::Store;

/// How old a session's record may become before an action of it renews it: often
/// enough for [`specum_core::owner::SESSION_IS_SILENT`], and not a write each
/// time.
const RENEWAL: Duration = Duration::from_secs(15 * 60);

/// Who holds the spec whose state this is.
pub fn holder(store: &Store, state: Option<&State>, asker: Asker<'_>) -> Holder {
    let world = LocalWitness { store, tries_lock: true };
    Holder::of(state, &store.read_memory(), asker, |owner| owner.is_alive(&world))
}

/// The same for the Stop hook, which tries no lock and has read the memory.
pub fn holder_at_stop(
    store: &Store,
    state: Option<&State>,
    memory: &Memory,
    asker: Asker<'_>,
) -> Holder {
    let world = LocalWitness { store, tries_lock: false };
    Holder::of(state, memory, asker, |owner| owner.is_alive(&world))
}

/// Whether this very process holds the spec.
pub fn is_this_run(world: &ports::World, state: &State) -> bool {
    // This process is alive, so there is no need to look.
    let asker = Asker::Runner(&world.launcher.me());
    Holder::of(Some(state), &Memory::default(), asker, |_| true) == Holder::Me
}

/// Whether an owner of the spec is no longer alive.
pub fn is_gone(store: &Store, owner: &Owner) -> bool {
    !owner.is_alive(&LocalWitness { store, tries_lock: true })
}

/// A session of our host as the owner of a spec, from now on.
pub fn session(world: &ports::World, id: &str) -> Owner {
    let seen = Some(world.clock.now().to_string());
    let noted = Note::of(world, id).and_then(|note| note.process);
    let process = noted.or_else(|| world.launcher.host());
    Owner::Session { session_id: id.to_owned(), process, seen }
}

/// Whether the recorded owner says the same as the `current` one of the same
/// session, and not too long ago.
pub fn is_up_to_date(world: &ports::World, recorded: &Owner, current: &Owner) -> bool {
    let (
        Owner::Session { session_id: id, process, seen },
        Owner::Session { session_id, process: host, .. },
    ) = (recorded, current)
    else {
        return false;
    };
    let is_recent =
        seen.as_deref().and_then(|at| age_of(world, at)).is_some_and(|age| age < RENEWAL);
    id == session_id && process == host && is_recent
}

/// How long ago a recorded time was. One in the future is now: some clock is
/// wrong, and its writer was alive.
fn age_of(world: &ports::World, at: &str) -> Option<Duration> {
    let at: Timestamp = at.parse().ok()?;
    Some(world.clock.now().duration_since(at).try_into().unwrap_or_default())
}

/// What can be seen of the owners of a spec.
struct LocalWitness<'a> {
    store: &'a Store,
    tries_lock: bool,
}

impl Witness for LocalWitness<'_> {
    fn here(&self) -> &PidSpace {
        self.store.world.launcher.space()
    }

    fn lives(&self, process: &Process) -> Option<bool> {
        self.store.world.launcher.is_alive(process)
    }

    fn holds_lock(&self, run: &Process) -> Option<bool> {
        let is_locked = if self.tries_lock { self.store.is_run_locked()? } else { return None };
        // Perhaps it is held by a later run, or by ourselves: the beat tells.
        let holder = self.store.read_beat().map(|beat| beat.process);
        Some(is_locked && holder.is_none_or(|holder| holder == *run))
    }

    fn beat_age(&self, run: &Process) -> Option<Duration> {
        let beat = self.store.read_beat().filter(|beat| beat.process == *run)?;
        age_of(&self.store.world, &beat.at)
    }

    fn age(&self, at: &str) -> Option<Duration> {
        age_of(&self.store.world, at)
    }
}
