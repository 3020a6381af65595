//! Who holds a spec now, for every command and hook that asks.
//!
//! [`specum_core::owner`] decides; this module knows which owners are alive.

use specum_core::guard::Memory;
use specum_core::owner::{Asker, Holder, Owner};
use specum_core::state::State;

use crate::process;
use crate::store::Store;

/// Who holds the spec whose state this is.
pub fn holder(store: &Store, state: Option<&State>, asker: Asker<'_>) -> Holder {
    holder_by(state, &store.read_memory(), asker)
}

/// The same, with what the hooks remember read before.
pub fn holder_by(state: Option<&State>, memory: &Memory, asker: Asker<'_>) -> Holder {
    Holder::of(state, memory, asker, |owner| !is_gone(owner))
}

/// Whether this very process holds the spec.
pub fn is_this_run(store: &Store, state: &State) -> bool {
    holder(store, Some(state), Asker::Runner(&process::me())) == Holder::Me
}

/// Whether an owner's process is known and gone.
pub fn is_gone(owner: &Owner) -> bool {
    owner.process().is_some_and(|process| !process::is_alive(process))
}
