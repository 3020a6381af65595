//! The attempts that were begun and have no verdict, folded from the journal.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::journal::{Entry, Record};
use crate::moment::Moment;
use crate::summary;

/// An attempt that was begun and has no verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnderWay {
    /// When it began.
    pub since: Moment,
    /// The agent; `None` in a session of a host, and before one is chosen.
    pub agent: Option<String>,
    /// Where the output of that agent is kept.
    pub log: Option<String>,
    /// How far it is.
    pub stage: Stage,
    /// What checks it, once that has begun.
    pub command: Option<String>,
}

/// How far an attempt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Its agent is being started.
    Starting,
    /// An agent works on it.
    Working,
    /// It is checked.
    Checking,
    /// It has ended, and waits for the others of its group.
    Ended,
    /// It has passed, and waits to be put on top of the others.
    Ready,
}

/// The attempts of the last loop that were begun and have no verdict, by the task's id.
/// What a run has left that was killed is among them.
pub fn under_way(records: &[Record]) -> HashMap<&str, UnderWay> {
    let mut found: HashMap<&str, UnderWay> = HashMap::new();
    for record in summary::last_loop(records) {
        let Some(task) = record.entry.task() else { continue };
        let id = task.id.as_str();
        match &record.entry {
            Entry::Opened { .. } => {
                let since = record.at.clone();
                let (agent, log, command) = (None, None, None);
                let stage = Stage::Starting;
                found.insert(id, UnderWay { since, agent, log, stage, command });
            }
            Entry::Passed { .. }
            | Entry::Failed { .. }
            | Entry::SetAside { .. }
            | Entry::Modified { .. }
            | Entry::Waits { .. }
            | Entry::Cleared { .. } => {
                found.remove(id);
            }
            entry => {
                if let Some(attempt) = found.get_mut(id) {
                    attempt.follow(entry);
                }
            }
        }
    }
    found
}

impl UnderWay {
    fn follow(&mut self, entry: &Entry) {
        self.stage = match entry {
            Entry::Launched { agent, log, .. } => {
                self.agent = Some(agent.clone());
                self.log.clone_from(log);
                Stage::Working
            }
            Entry::Delegated { .. } | Entry::SentBack { .. } => Stage::Working,
            Entry::Reported { .. } => Stage::Ended,
            Entry::Checking { command, .. } => {
                self.command.clone_from(command);
                Stage::Checking
            }
            Entry::Ready { .. } => Stage::Ready,
            _ => return,
        };
    }
}
