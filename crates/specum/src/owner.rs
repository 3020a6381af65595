//! Who works a spec: one answer for every door.
//!
//! The state names an owner, and so may the hooks' memory; the state's word
//! counts first. An owner whose process is gone holds nobody back.

use specum_core::guard::Memory;
use specum_core::state::{Owner, Process, State};

use crate::process;

/// Whether an owner's process is known and gone.
pub fn is_gone(owner: Option<&Owner>) -> bool {
    owner.and_then(Owner::process).is_some_and(|process| !process::is_alive(process))
}

/// Who works the spec now.
pub fn current<'a>(state: Option<&'a State>, memory: &'a Memory) -> Option<&'a Owner> {
    let in_state = state.and_then(|state| state.owner.as_ref());
    let alive = |owner: &&Owner| !is_gone(Some(owner));
    in_state.filter(alive).or(memory.owner.as_ref().filter(alive))
}

/// Whether this very process works the spec.
pub fn is_this_run(state: &State) -> bool {
    let me = process::me();
    matches!(&state.owner, Some(Owner::Runner { process }) if *process == me)
}

/// Whether an owner is this session.
pub fn is_session(owner: &Owner, session: &str) -> bool {
    matches!(owner, Owner::Session { session_id, .. } if session_id == session)
}

/// Whether a session may work the spec: it owns it, or nobody does.
pub fn lets(state: &State, memory: &Memory, session: &str) -> bool {
    current(Some(state), memory).is_none_or(|owner| is_session(owner, session))
}

/// Who works the spec, in words; `me` is the asking session.
pub fn described(state: Option<&State>, memory: &Memory, me: Option<&str>) -> String {
    match current(state, memory) {
        None => "nobody".into(),
        Some(Owner::Runner { process: Process { pid, .. } }) => {
            format!("`specum run` (process {pid})")
        }
        Some(owner) if me.is_some_and(|me| is_session(owner, me)) => "this session".into(),
        Some(Owner::Session { session_id, .. }) => format!("session {session_id}"),
    }
}
