//! The hooks' memory: `.ralph-hook.json`.
//!
//! A host reports `stop_hook_active` on every stop after the first block of a
//! turn, whatever the agent did in between. So the flag alone cannot tell a
//! loop that works from one that turns on the spot. The memory can: it holds a
//! fingerprint of the progress at the last block, and how often we have
//! blocked since it moved.

use serde::{Deserialize, Serialize};

use crate::state::{Owner, Process};

/// The newest format this version writes.
pub const FORMAT_VERSION: u64 = 1;

/// Blocks that name the stall before the agent is let go.
pub const STALL_BLOCKS: u32 = 2;
/// Blocks without any progress, over all turns of a session. A host that never
/// sets `stop_hook_active` would be blocked for ever otherwise.
pub const MAX_UNMOVED_BLOCKS: u32 = 9;
/// Blocks for one corrupt state.
pub const MAX_CORRUPT_BLOCKS: u32 = 3;

/// What the hooks remember between two calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// Format of the file.
    pub format_version: u64,
    /// The session that was the first to be blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// What a `/clear` released, for the session it opens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released: Option<Released>,
    /// The guard of the owner.
    #[serde(default)]
    pub guard: Guard,
}

/// A session that ended by `/clear`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Released {
    /// Its id.
    pub session_id: String,
    /// Its host, which lives on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
}

/// How the blocks of one session went.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Guard {
    /// The session this is about; empty before the first block.
    pub session_id: String,
    /// Digest of the progress at the last block.
    pub fingerprint: String,
    /// Blocks in this turn that led to nothing.
    pub stalls: u32,
    /// Blocks since the fingerprint last moved.
    pub unmoved: u32,
    /// Blocks because of a corrupt state.
    pub corrupt: u32,
    /// Whether the iteration cap has been reported.
    pub capped: bool,
}

/// Whether the Stop hook may block now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permit {
    /// Block.
    Block,
    /// Block, and say what has not moved. Counts from 1.
    BlockStalled(u32),
    /// Let the agent stop, and tell the person.
    LetStop,
    /// Another hook has blocked. Let the agent stop.
    NotOurs,
}

impl Default for Memory {
    fn default() -> Self {
        Memory {
            format_version: FORMAT_VERSION,
            owner: None,
            released: None,
            guard: Guard::default(),
        }
    }
}

impl Memory {
    /// Reads the memory. What cannot be read is forgotten: the worst that
    /// follows is one block too many or too few.
    pub fn parse(bytes: &[u8]) -> Self {
        serde_json::from_slice(bytes).unwrap_or_default()
    }

    /// The file as it is to be written.
    pub fn render(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).expect("plain data is JSON");
        bytes.push(b'\n');
        bytes
    }

    /// Whether a newer version of specum wrote this file.
    pub fn is_newer_format(&self) -> bool {
        self.format_version > FORMAT_VERSION
    }
}

impl Guard {
    /// The guard of a session: this one, or a fresh one if it was another's.
    #[must_use]
    pub fn of(&self, session_id: &str) -> Guard {
        if self.session_id == session_id {
            self.clone()
        } else {
            Guard { session_id: session_id.to_owned(), ..Guard::default() }
        }
    }

    /// Remembers a block that was made without asking, so that the turn it
    /// opens is known as ours. What stands afterwards is progress.
    pub fn blocked_unasked(&mut self) {
        if self.fingerprint.is_empty() {
            "unasked".clone_into(&mut self.fingerprint);
        }
    }

    /// Asks for permission to block, and remembers the answer.
    ///
    /// `self` must be the guard of the asking session.
    pub fn ask(&mut self, stop_hook_active: bool, fingerprint: &str) -> Permit {
        let known = !self.fingerprint.is_empty();
        let moved = self.fingerprint != fingerprint;
        if stop_hook_active && !known {
            return Permit::NotOurs;
        }
        if moved {
            self.unmoved = 0;
        }
        if moved || !stop_hook_active {
            self.stalls = 0;
        }
        fingerprint.clone_into(&mut self.fingerprint);
        if self.unmoved >= MAX_UNMOVED_BLOCKS {
            return Permit::LetStop;
        }
        if stop_hook_active && !moved {
            if self.stalls >= STALL_BLOCKS {
                return Permit::LetStop;
            }
            self.stalls += 1;
            self.unmoved += 1;
            return Permit::BlockStalled(self.stalls);
        }
        self.unmoved += 1;
        Permit::Block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_between_blocks_keeps_the_loop_going() {
        let mut guard = Guard::default().of("s");
        assert_eq!(guard.ask(false, "0"), Permit::Block);
        for n in 1..300 {
            assert_eq!(guard.ask(true, &n.to_string()), Permit::Block);
        }
    }

    #[test]
    fn more_stalls_than_there_can_be_are_enough() {
        let mut guard = Guard { stalls: u32::MAX, fingerprint: "0".into(), ..Guard::default() };
        assert_eq!(guard.ask(true, "0"), Permit::LetStop);
    }

    #[test]
    fn a_stall_is_named_twice_and_then_let_go() {
        let mut guard = Guard::default().of("s");
        guard.ask(false, "a");
        assert_eq!(guard.ask(true, "a"), Permit::BlockStalled(1));
        assert_eq!(guard.ask(true, "a"), Permit::BlockStalled(2));
        assert_eq!(guard.ask(true, "a"), Permit::LetStop);
        assert_eq!(guard.ask(true, "a"), Permit::LetStop);
        assert_eq!(guard.ask(false, "a"), Permit::Block, "a person has started a new turn");
        assert_eq!(guard.ask(true, "a"), Permit::BlockStalled(1));
        assert_eq!(guard.ask(true, "b"), Permit::Block, "it moved");
        assert_eq!(guard.ask(true, "b"), Permit::BlockStalled(1));
    }

    #[test]
    fn a_thousand_stops_without_progress_give_a_handful_of_blocks() {
        for active in [false, true] {
            let mut guard = Guard::default().of("s");
            guard.ask(false, "a");
            let blocks = (0..1000)
                .filter(|_| {
                    matches!(guard.ask(active, "a"), Permit::Block | Permit::BlockStalled(_))
                })
                .count();
            assert!(blocks < 10, "{active}: {blocks}");
        }
    }

    #[test]
    fn a_block_we_do_not_remember_is_somebody_elses() {
        assert_eq!(Guard::default().of("s").ask(true, "a"), Permit::NotOurs);
        let mut guard = Guard::default().of("s");
        guard.ask(false, "a");
        assert_eq!(guard.of("other").ask(true, "a"), Permit::NotOurs);
        assert_eq!(guard.of("s").ask(true, "b"), Permit::Block);
    }

    #[test]
    fn a_block_made_without_asking_is_ours_all_the_same() {
        let mut guard = Guard::default().of("s");
        guard.blocked_unasked();
        assert_eq!(guard.ask(true, "a"), Permit::Block);
        guard.blocked_unasked();
        assert_eq!(guard.ask(true, "a"), Permit::BlockStalled(1));
    }

    #[test]
    fn memory_survives_and_nonsense_is_forgotten() {
        let memory = Memory {
            owner: Some(Owner::Session { session_id: "s".into(), process: None, seen: None }),
            guard: Guard {
                session_id: "s".into(),
                fingerprint: "f".into(),
                unmoved: 2,
                ..Guard::default()
            },
            ..Memory::default()
        };
        assert_eq!(Memory::parse(&memory.render()), memory);
        assert_eq!(Memory::parse(b"[]"), Memory::default());
        assert!(Memory::parse(br#"{"formatVersion":2}"#).is_newer_format());
    }
}
