//! Who has wanted what a record tells, and by which way it came.

use serde::{Deserialize, Serialize};

/// Who has said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Actor {
    /// A person, proved by the way it came.
    Person,
    /// An agent's shell.
    Agent,
    /// A setting.
    Setting,
    /// Somebody of whom only a newer version knows.
    #[serde(other)]
    Other,
}

/// By which way a word came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// A terminal of a person's own.
    Terminal,
    /// A slash command in a host's session.
    Command,
    /// A whole message in a host's session.
    Prompt,
    /// The web view, by a link that may act.
    Web,
    /// A dialog of a host's session, whose text and answer are ours.
    Dialog,
    /// A way of which only a newer version knows.
    #[serde(other)]
    Other,
}

/// Who has said something, and by which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Source {
    /// Who; `None` if nothing shows it.
    pub by: Option<Actor>,
    /// By which way; `None` if it came by no way that proves a person.
    pub via: Option<Via>,
}

impl Source {
    /// A person, by a way that proves it.
    pub fn person(via: Via) -> Source {
        Source { by: Some(Actor::Person), via: Some(via) }
    }

    /// An agent's shell.
    pub fn agent() -> Source {
        Source { by: Some(Actor::Agent), via: None }
    }
}
