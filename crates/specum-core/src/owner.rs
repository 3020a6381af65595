//! Who holds a spec.
//!
//! The state file may name an owner, and so may the hooks' memory. [`Holder::of`]
//! is the only place that decides what this means for somebody who asks. No
//! decision depends on how an owner is described in a message. Whether an owner
//! is alive is decided by [`Owner::is_alive`].

mod liveness;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::liveness::{BEAT, BEAT_IS_OLD, Beat, PidSpace, SESSION_IS_SILENT, Witness};
use crate::guard::Memory;
use crate::state::State;

/// Who is recorded as working on a spec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Owner {
    /// A session of a host such as Claude Code.
    Session {
        /// The host's id of the session.
        #[serde(rename = "sessionId")]
        session_id: String,
        /// The host's process, when it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        process: Option<Process>,
        /// When the session last did something, in RFC 3339; not recorded by
        /// older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<String>,
    },
    /// A `specum run`.
    Runner {
        /// Its process.
        process: Process,
    },
}

/// A process, told from a later one that was given the same number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it started, in the kernel's own count; empty where unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub started: String,
    /// Where its number counts; not recorded by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<PidSpace>,
}

/// In words: the number, and the host where that is known.
impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.space {
            Some(PidSpace { host, .. }) if !host.is_empty() => {
                write!(f, "process {} on {host}", self.pid)
            }
            _ => write!(f, "process {}", self.pid),
        }
    }
}

impl Owner {
    /// The process behind the owner, when it is known.
    pub fn process(&self) -> Option<&Process> {
        match self {
            Owner::Session { process, .. } => process.as_ref(),
            Owner::Runner { process } => Some(process),
        }
    }

    /// Whether the owner is this session.
    pub fn is_session(&self, id: &str) -> bool {
        matches!(self, Owner::Session { session_id, .. } if session_id == id)
    }

    /// Whether another record is about the same session, or the same run.
    pub fn is_same(&self, other: &Owner) -> bool {
        self.asker().is(other)
    }

    /// The owner in the role of the asker.
    pub fn asker(&self) -> Asker<'_> {
        match self {
            Owner::Session { session_id, .. } => Asker::Session(session_id),
            Owner::Runner { process } => Asker::Runner(process),
        }
    }

    /// The owner in words, for messages.
    pub fn description(&self) -> String {
        match self {
            Owner::Runner { process } => format!("`specum run` ({process})"),
            Owner::Session { session_id, .. } => format!("session {session_id}"),
        }
    }
}

/// Who asks whether a spec is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker<'a> {
    /// A session of a host, by its id.
    Session(&'a str),
    /// A `specum run`, by its process.
    Runner(&'a Process),
    /// A person at a terminal, who never holds a spec.
    Person,
}

impl<'a> Asker<'a> {
    /// The session a command runs in, or else a person.
    pub fn session_or_person(session: Option<&'a str>) -> Self {
        session.map_or(Asker::Person, Asker::Session)
    }

    fn is(self, owner: &Owner) -> bool {
        match (self, owner) {
            (Asker::Session(id), owner) => owner.is_session(id),
            (Asker::Runner(me), Owner::Runner { process }) => process == me,
            (Asker::Runner(_), Owner::Session { .. }) | (Asker::Person, _) => false,
        }
    }
}

/// Who holds a spec, from the point of view of an [`Asker`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// The spec is free.
    Nobody,
    /// The asker.
    Me,
    /// Somebody else.
    Other(Owner),
}

impl Holder {
    /// Decides who holds a spec: the owner in the state, or else the one in the
    /// hooks' memory. An owner that is no longer alive holds nothing, not even
    /// for itself, because the next one may hold the spec by now.
    pub fn of(
        state: Option<&State>,
        memory: &Memory,
        asker: Asker<'_>,
        is_alive: impl Fn(&Owner) -> bool,
    ) -> Holder {
        let in_state = state.and_then(|state| state.owner.as_ref());
        Self::among(in_state.into_iter().chain(&memory.owner), asker, is_alive)
    }

    /// The same for recorded owners, the one that counts first in front.
    fn among<'a>(
        owners: impl IntoIterator<Item = &'a Owner>,
        asker: Asker<'_>,
        is_alive: impl Fn(&Owner) -> bool,
    ) -> Holder {
        match owners.into_iter().find(|owner| is_alive(owner)) {
            None => Holder::Nobody,
            Some(owner) if asker.is(owner) => Holder::Me,
            Some(owner) => Holder::Other(owner.clone()),
        }
    }

    /// Somebody else, who holds the spec.
    pub fn other(&self) -> Option<&Owner> {
        match self {
            Holder::Other(owner) => Some(owner),
            Holder::Nobody | Holder::Me => None,
        }
    }
}

/// In words, for a session or a person.
impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::Nobody => f.write_str("nobody"),
            Holder::Me => f.write_str("this session"),
            Holder::Other(owner) => f.write_str(&owner.description()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(id: &str) -> Owner {
        Owner::Session { session_id: id.into(), process: None, seen: None }
    }

    fn process(pid: u32) -> Process {
        Process { pid, started: "7".into(), space: None }
    }

    fn runner(pid: u32) -> Owner {
        Owner::Runner { process: process(pid) }
    }

    #[test]
    fn a_holder_is_nobody_me_or_another() {
        let (a, run) = (session("a"), runner(1));
        let me = process(1);
        for (owner, asker, holder) in [
            (None, Asker::Session("a"), Holder::Nobody),
            (None, Asker::Person, Holder::Nobody),
            (Some(&a), Asker::Session("a"), Holder::Me),
            (Some(&a), Asker::Session("b"), Holder::Other(a.clone())),
            (Some(&a), Asker::Person, Holder::Other(a.clone())),
            (Some(&a), Asker::Runner(&me), Holder::Other(a.clone())),
            (Some(&run), Asker::Runner(&me), Holder::Me),
            (Some(&run), Asker::Runner(&process(2)), Holder::Other(run.clone())),
            (Some(&run), Asker::Session("a"), Holder::Other(run.clone())),
            (Some(&run), Asker::Person, Holder::Other(run.clone())),
        ] {
            assert_eq!(Holder::among(owner, asker, |_| true), holder, "{owner:?} {asker:?}");
        }
    }

    #[test]
    fn the_first_living_owner_holds_the_spec_and_a_dead_one_not_even_for_itself() {
        let (a, b) = (session("a"), session("b"));
        let ask = |asker, dead: &[&Owner]| Holder::among([&a, &b], asker, |o| !dead.contains(&o));
        assert_eq!(ask(Asker::Session("a"), &[]), Holder::Me);
        assert_eq!(ask(Asker::Session("b"), &[]), Holder::Other(a.clone()));
        assert_eq!(ask(Asker::Session("a"), &[&a]), Holder::Other(b.clone()));
        assert_eq!(ask(Asker::Session("b"), &[&a]), Holder::Me);
        assert_eq!(ask(Asker::Session("a"), &[&a, &b]), Holder::Nobody);
    }

    #[test]
    fn a_session_is_the_same_whenever_it_was_seen_and_a_run_is_its_process() {
        let seen = Owner::Session {
            session_id: "a".into(),
            process: Some(process(1)),
            seen: Some("2026-01-01T00:00:00Z".into()),
        };
        assert!(session("a").is_same(&seen) && seen.is_same(&session("a")));
        assert!(!session("a").is_same(&session("b")) && !session("a").is_same(&runner(1)));
        assert!(runner(1).is_same(&runner(1)) && !runner(1).is_same(&runner(2)));
    }

    #[test]
    fn a_session_cannot_pass_for_nobody_or_another_by_its_name() {
        // What a message says never decides: these are the words of messages.
        for name in ["nobody", "this session", ""] {
            let owner = session(name);
            let holder = Holder::among([&owner], Asker::Session("a"), |_| true);
            assert_eq!(holder, Holder::Other(owner));
        }
    }
}
