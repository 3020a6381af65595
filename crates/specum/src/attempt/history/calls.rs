//! What the journal tells about the calls of a host's sub-agents.

use specum_core::journal::{Entry, Record};
use specum_core::tasks::TaskKey;

use super::{Attempt, History};

/// A call of a host's sub-agent for an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegation {
    /// Where the journal tells of it: what stands before belongs to others.
    at: usize,
    /// The task.
    pub task: TaskKey,
    /// The attempt.
    pub attempt: u64,
}

/// A call whose sub-agent is at work, as far as anybody has heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallAtWork<'a> {
    /// The task.
    pub task: &'a TaskKey,
    /// The host's id of the call.
    pub tool_use_id: &'a str,
    /// Whether its executor has ended, and was not sent back.
    has_ended: bool,
}

impl<'a> History<'a> {
    /// The attempt that a call of a sub-agent was made for.
    pub fn delegated(self, tool_use_id: &str) -> Option<Delegation> {
        self.0.iter().enumerate().rev().find_map(|(at, record)| match &record.entry {
            Entry::Delegated { task, attempt, tool_use_id: id } if id == tool_use_id => {
                Some(Delegation { at, task: task.clone(), attempt: *attempt })
            }
            _ => None,
        })
    }

    /// The attempt that a marker in a brief names.
    pub fn marked(self, id: &str, number: u64) -> Option<Delegation> {
        self.0.iter().enumerate().rev().find_map(|(at, record)| match &record.entry {
            Entry::Opened { task, attempt, was, .. }
                if *attempt == number && was.first().unwrap_or(&task.id) == id =>
            {
                Some(Delegation { at, task: task.clone(), attempt: *attempt })
            }
            _ => None,
        })
    }

    /// How often an attempt that is still open was given to a sub-agent since a
    /// person last let the loop go on.
    pub fn delegations(self, opened: &Attempt) -> usize {
        self.since_opening(opened)
            .take_while(|entry| !matches!(entry, Entry::Started { .. } | Entry::Resumed))
            .filter(
                |entry| matches!(entry, Entry::Delegated { task, .. } if task.id == opened.key.id),
            )
            .count()
    }

    /// How often the executor of an attempt was told what is missing.
    pub fn sent_back(self, opened: &Attempt) -> usize {
        self.since_opening(opened)
            .filter(
                |entry| matches!(entry, Entry::SentBack { task, .. } if task.id == opened.key.id),
            )
            .count()
    }

    /// What the executor of an attempt has reported, if its verdict is still to
    /// come. It counts no more when it was sent back, or when another one was
    /// called for the same attempt.
    pub fn reported(self, opened: &Attempt) -> Option<String> {
        let last = self.since_opening(opened).find(|entry| match entry {
            Entry::Reported { task, .. }
            | Entry::SentBack { task, .. }
            | Entry::Delegated { task, .. } => task.id == opened.key.id,
            _ => false,
        })?;
        match last {
            Entry::Reported { result, .. } => Some(result.clone()),
            _ => None,
        }
    }

    /// The calls whose sub-agents are at work. A loop that was started or resumed
    /// since, or let go of, has none.
    pub fn calls_at_work(self) -> Vec<CallAtWork<'a>> {
        let mut calls: Vec<CallAtWork<'a>> = Vec::new();
        for record in self.0 {
            let entry = &record.entry;
            match entry {
                Entry::Delegated { task, tool_use_id, .. } => {
                    calls.retain(|call| call.task.id != task.id);
                    calls.push(CallAtWork { task, tool_use_id, has_ended: false });
                }
                Entry::Reported { task, .. } | Entry::SentBack { task, .. } => {
                    for call in calls.iter_mut().filter(|call| call.task.id == task.id) {
                        call.has_ended = matches!(entry, Entry::Reported { .. });
                    }
                }
                Entry::Returned { tool_use_id, .. } => {
                    calls.retain(|call| call.tool_use_id != tool_use_id);
                }
                Entry::Passed { task, .. }
                | Entry::Failed { task, .. }
                | Entry::SetAside { task, .. }
                | Entry::Waits { task, .. }
                | Entry::Cleared { task, .. } => calls.retain(|call| call.task.id != task.id),
                Entry::Started { .. }
                | Entry::Resumed
                | Entry::Released { .. }
                | Entry::Cancelled
                | Entry::Completed { .. } => calls.clear(),
                _ => {}
            }
        }
        calls.retain(|call| !call.has_ended);
        calls
    }

    /// The verdicts that no coordinator has heard yet, in their order, one for
    /// each task: a commit that git refuses makes a failure of a pass.
    pub fn untold(self) -> Vec<&'a Record> {
        let since = self
            .0
            .iter()
            .rposition(|record| matches!(record.entry, Entry::Told { .. } | Entry::Started { .. }));
        let mut untold: Vec<&Record> = Vec::new();
        for record in &self.0[since.map_or(0, |at| at + 1)..] {
            let (Entry::Passed { task, .. }
            | Entry::Failed { task, .. }
            | Entry::SetAside { task, .. }
            | Entry::Waits { task, .. }) = &record.entry
            else {
                continue;
            };
            untold.retain(|known| known.entry.task().is_none_or(|known| known.id != task.id));
            untold.push(record);
        }
        untold
    }

    /// Whether an attempt has its verdict.
    pub fn has_verdict(self, delegation: &Delegation) -> bool {
        self.0[delegation.at..].iter().any(|record| match &record.entry {
            Entry::Passed { task, attempt, .. }
            | Entry::Failed { task, attempt, .. }
            | Entry::Waits { task, attempt, .. } => {
                task.id == delegation.task.id && *attempt == delegation.attempt
            }
            _ => false,
        })
    }
}
