//! What the journal tells about the attempts at a task.

mod calls;

use std::collections::{BTreeMap, HashSet};

pub use self::calls::Delegation;
use specum_core::journal::{Changes, Entry, Record, StateChange};
use specum_core::line;
use specum_core::state::{self, State, Status};
use specum_core::tasks::{TaskFile, TaskKey};

use super::commit::Uncommitted;
use super::open::{Attempt, role};

/// Where an agent was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaunchPlace {
    /// In the user's tree.
    InTree,
    /// In a worktree of its own.
    Beside,
}

/// A start of an agent of whose end nobody has heard.
#[derive(Debug, Clone, Copy)]
pub struct UnchargedStart<'a> {
    /// The task.
    pub task: &'a TaskKey,
    /// The attempt.
    pub attempt: u64,
    /// The agent's name.
    pub agent: &'a str,
    /// When it was started, in RFC 3339.
    pub at: &'a str,
}

/// Questions to a journal.
#[derive(Debug, Clone, Copy)]
pub struct History<'a>(pub &'a [Record]);

impl<'a> History<'a> {
    /// Why the last attempt at a task failed, and what its check printed; none
    /// if it passed since.
    pub fn last_failure(self, key: &TaskKey) -> Option<(Vec<String>, String)> {
        self.about(key).find_map(|entry| match entry {
            Entry::Failed { reasons, output, .. } | Entry::SetAside { reasons, output, .. } => {
                Some(Some((reasons.clone(), output.clone())))
            }
            Entry::Passed { .. } => Some(None),
            _ => None,
        })?
    }

    /// The reference that holds what an attempt at a task had changed, unless
    /// the task has passed since.
    pub fn kept(self, key: &TaskKey) -> Option<&'a str> {
        self.about(key).find_map(|entry| match entry {
            Entry::Kept { reference, .. } => Some(Some(reference.as_str())),
            Entry::Passed { .. } => Some(None),
            _ => None,
        })?
    }

    /// The records about a task, the newest first. Nobody has followed the plan
    /// from one loop to the next, so a task of an earlier one is the same only if
    /// it has the same title too.
    fn about(self, key: &TaskKey) -> impl Iterator<Item = &'a Entry> {
        let mut is_earlier = false;
        self.0.iter().rev().filter_map(move |record| {
            is_earlier |= matches!(record.entry, Entry::Cancelled | Entry::Completed { .. });
            let task = record.entry.task()?;
            let is_same = if is_earlier { task == key } else { task.id == key.id };
            is_same.then_some(&record.entry)
        })
    }

    /// The attempts for which an agent was started whose work nobody got to
    /// judge, and where; none of which the leavings are put away already, or
    /// after which somebody began anew.
    pub fn unsettled(self) -> Vec<(Attempt, LaunchPlace)> {
        let mut found: Vec<(Attempt, LaunchPlace)> = Vec::new();
        for (at, record) in self.0.iter().enumerate() {
            match &record.entry {
                Entry::Launched { task, attempt, beside, .. } => {
                    let opened = self.0[..at].iter().rev().find_map(|record| {
                        opening(record).filter(|o| o.key.id == task.id && o.attempt == *attempt)
                    });
                    let place = if *beside { LaunchPlace::Beside } else { LaunchPlace::InTree };
                    found.retain(|(other, _)| other.key.id != task.id);
                    found.extend(opened.map(|opened| (opened, place)));
                }
                // A run puts away what others have left before it begins. Those of
                // an earlier loop may have had names that are others' by now.
                Entry::RunStarted { .. } => found.clear(),
                // What has passed beside the tree waits there to be put into it.
                Entry::Ready { task, .. }
                | Entry::Opened { task, .. }
                | Entry::Passed { task, .. }
                | Entry::Failed { task, .. }
                | Entry::SetAside { task, .. }
                | Entry::Waits { task, .. }
                | Entry::Cleared { task, .. } => {
                    found.retain(|(other, _)| other.key.id != task.id);
                }
                _ => {}
            }
        }
        found
    }

    /// What has passed in its worktree and waits to be put on top of the
    /// others': what was said, and the commit that holds it.
    pub fn ready(self, opened: &Attempt) -> Option<(&'a str, &'a str)> {
        self.since_opening(opened).find_map(|entry| match entry {
            Entry::Ready { task, result, commit, .. } if task.id == opened.key.id => {
                Some((result.as_str(), commit.as_str()))
            }
            _ => None,
        })
    }

    /// The files that were being put into the user's tree when somebody was
    /// killed: they are neither there for good nor taken out again.
    pub fn half_integrated(self) -> Option<(&'a TaskKey, &'a [String])> {
        let at =
            self.0.iter().rposition(|record| matches!(record.entry, Entry::Integrating { .. }))?;
        let Entry::Integrating { task, paths, .. } = &self.0[at].entry else { return None };
        let decided = self.0[at..].iter().any(|record| match &record.entry {
            Entry::Passed { task: other, .. } | Entry::TakenOut { task: other } => {
                other.id == task.id
            }
            // Which looks after it first.
            Entry::RunStarted { .. } => true,
            _ => false,
        });
        (!decided).then_some((task, paths.as_slice()))
    }

    /// The starts of agents in this loop that nobody has charged for.
    pub fn uncharged(self) -> Vec<UnchargedStart<'a>> {
        let mut open: Vec<UnchargedStart<'a>> = Vec::new();
        for record in self.0 {
            match &record.entry {
                Entry::Launched { task, attempt, agent, .. } => {
                    open.push(UnchargedStart { task, attempt: *attempt, agent, at: &record.at });
                }
                Entry::Charged { task, attempt, .. } => {
                    open.retain(|start| start.task.id != task.id || start.attempt != *attempt);
                }
                // Another loop pays its own bills.
                Entry::Cancelled | Entry::Completed { .. } => open.clear(),
                _ => {}
            }
        }
        open
    }

    /// The commit of the last attempt at a task that passed; empty if there was
    /// nothing to commit.
    pub fn commit_of(self, id: &str) -> Option<&'a str> {
        self.0.iter().rev().find_map(|record| match &record.entry {
            Entry::Committed { task, commit, .. } if task.id == id => Some(commit.as_str()),
            _ => None,
        })
    }

    /// The files that executors have changed after their verdicts.
    pub fn late(self) -> Vec<&'a str> {
        let late = self.0.iter().filter_map(|record| match &record.entry {
            Entry::Late { changed, .. } => Some(changed),
            _ => None,
        });
        late.flatten().map(String::as_str).collect()
    }

    /// What git would start before and since a change that nobody has accepted, and
    /// what differs.
    pub fn git_change(self) -> Option<(&'a str, &'a str, &'a [String])> {
        let last = self.0.iter().rev().find(|record| {
            matches!(record.entry, Entry::GitChanged { .. } | Entry::GitAccepted { .. })
        })?;
        match &last.entry {
            Entry::GitChanged { before, after, what, .. } => Some((before, after, what)),
            _ => None,
        }
    }

    /// Whether something of an attempt was kept since it began.
    pub fn has_kept(self, opened: &Attempt) -> bool {
        self.since_opening(opened)
            .any(|entry| matches!(entry, Entry::Kept { task, .. } if task.id == opened.key.id))
    }

    /// Whether a command of this session has asked for work of this loop.
    pub fn was_held(self, session: &str) -> bool {
        let loop_of_now = self.0.iter().rev().take_while(|record| {
            !matches!(record.entry, Entry::Cancelled | Entry::Completed { .. })
        });
        loop_of_now
            .map(|record| &record.entry)
            .any(|entry| matches!(entry, Entry::Held { session: by } if by == session))
    }

    /// Whether a loop of ours has begun and not ended.
    pub fn is_under_way(self) -> bool {
        let last = self.0.iter().rev().find(|record| {
            matches!(
                record.entry,
                Entry::Cancelled | Entry::Completed { .. } | Entry::Started { .. }
            )
        });
        last.is_some_and(|record| matches!(record.entry, Entry::Started { .. }))
    }

    /// The tasks that somebody has begun to work on, and whom nobody has heard
    /// of since: neither a verdict, nor that the session or the run has ended.
    pub fn at_work(self) -> Vec<&'a str> {
        let mut at_work: Vec<&str> = Vec::new();
        for record in self.0 {
            match &record.entry {
                Entry::Opened { task, .. }
                | Entry::Delegated { task, .. }
                | Entry::Launched { task, .. } => {
                    at_work.retain(|id| *id != task.id);
                    at_work.push(&task.id);
                }
                Entry::Passed { task, .. }
                | Entry::Failed { task, .. }
                | Entry::SetAside { task, .. }
                | Entry::Waits { task, .. }
                | Entry::Cleared { task, .. }
                | Entry::Ticked { task } => at_work.retain(|id| *id != task.id),
                Entry::Released { .. }
                | Entry::RunEnded { .. }
                | Entry::Cancelled
                | Entry::Completed { .. } => at_work.clear(),
                _ => {}
            }
        }
        at_work
    }

    /// The attempts that are open, also those whose task is gone from the plan.
    pub fn open_attempts(self) -> Vec<Attempt> {
        let tasks: BTreeMap<&str, &TaskKey> = self
            .0
            .iter()
            .filter_map(|record| match &record.entry {
                Entry::Opened { task, .. } => Some((task.id.as_str(), task)),
                _ => None,
            })
            .collect();
        tasks.values().filter_map(|task| open_attempt(self.0, task)).collect()
    }

    /// Where the journal tells of the beginning of an attempt.
    pub fn opening_of(self, opened: &Attempt) -> Option<usize> {
        self.0.iter().rposition(|record| match &record.entry {
            Entry::Opened { task, attempt, id, .. } => {
                *id == opened.id && task.id == opened.key.id && *attempt == opened.attempt
            }
            _ => false,
        })
    }

    /// What the task of an attempt is called now: the plan may have been edited
    /// since it began.
    pub fn key_now(self, opened: &Attempt) -> TaskKey {
        let same = |entry: &Entry| match entry {
            Entry::Opened { id, task, .. } if !id.is_empty() && *id == opened.id => {
                Some(task.clone())
            }
            _ => None,
        };
        let found = self.0.iter().rev().find_map(|record| same(&record.entry));
        found.unwrap_or_else(|| opened.key.clone())
    }

    /// Whether the loop was ended by its last task and not by a person.
    pub fn is_complete(self) -> bool {
        let end = self.0.iter().rev().find(|record| {
            matches!(
                record.entry,
                Entry::Cancelled | Entry::Completed { .. } | Entry::Started { .. }
            )
        });
        end.is_some_and(|record| matches!(record.entry, Entry::Completed { .. }))
    }

    /// Whether the loop was ended by a person, and not begun again since.
    pub fn was_cancelled(self) -> bool {
        let last = self.0.iter().rev().find(|record| {
            matches!(
                record.entry,
                Entry::Cancelled | Entry::Completed { .. } | Entry::Started { .. }
            )
        });
        last.is_some_and(|record| record.entry == Entry::Cancelled)
    }

    /// The branch that HEAD had left when the loop was paused for it, unless it was
    /// let go on since.
    pub fn left_branch(self) -> Option<&'a str> {
        self.0.iter().rev().find_map(|record| match &record.entry {
            Entry::Paused { branch, .. } => Some(branch.as_deref()),
            Entry::Resumed | Entry::Started { .. } | Entry::Cancelled | Entry::Completed { .. } => {
                Some(None)
            }
            _ => None,
        })?
    }

    /// What failed attempts at tasks that are still open, and checks, have left
    /// in the tree.
    pub fn left_in_tree(self) -> Vec<&'a str> {
        let mut left: Vec<(&str, &[String])> = Vec::new();
        let mut by_checks: Vec<&str> = Vec::new();
        for record in self.0 {
            match &record.entry {
                Entry::Failed { task, changed, .. } | Entry::Waits { task, changed, .. } => {
                    left.push((&task.id, changed));
                }
                Entry::Committed { task, left: beside, .. } => {
                    left.retain(|(id, _)| *id != task.id);
                    by_checks.extend(beside.iter().map(String::as_str));
                }
                Entry::Completed { .. } => left.clear(),
                _ => {}
            }
        }
        let by_attempts = left.into_iter().flat_map(|(_, paths)| paths.iter().map(String::as_str));
        by_attempts.chain(by_checks).collect()
    }

    /// The state as the loop wrote it last.
    pub fn last_state(self) -> Option<State> {
        let changes = self.0.iter().rev().find_map(|record| match &record.changes {
            Some(Changes { state: StateChange::Keep, .. }) | None => None,
            Some(changes) => Some(&changes.state),
        })?;
        match changes {
            StateChange::Write(object) => State::parse(&state::render_object(object)).ok(),
            StateChange::Keep | StateChange::Delete => None,
        }
    }

    /// The last attempt that passed and whose commit is not recorded. What a
    /// person has cancelled is theirs.
    pub fn uncommitted(self) -> Option<Uncommitted> {
        let mut settled: HashSet<&str> = HashSet::new();
        for (at, record) in self.0.iter().enumerate().rev() {
            match &record.entry {
                // A loop is not complete before every pass has its commit.
                Entry::Cancelled | Entry::Completed { .. } => return None,
                Entry::Committed { task, .. } | Entry::Failed { task, .. } => {
                    settled.insert(&task.id);
                }
                Entry::Passed { task, attempt, changed, to_commit: true, .. }
                    if !settled.contains(task.id.as_str()) =>
                {
                    let opened = self.0[..at].iter().rev().find_map(|record| {
                        opening(record).filter(|o| o.key.id == task.id && o.attempt == *attempt)
                    });
                    let Some(opened) = opened else { continue };
                    let notes = record.changes.as_ref().map(|changes| changes.notes.clone());
                    let (changed, notes) = (changed.clone(), notes.unwrap_or_default());
                    return Some(Uncommitted { opened, changed, notes });
                }
                _ => {}
            }
        }
        None
    }

    /// The records behind the opening of an attempt, the newest first.
    fn since_opening(self, opened: &Attempt) -> impl Iterator<Item = &'a Entry> {
        let (key, number) = (opened.key.clone(), opened.attempt);
        self.0.iter().rev().map(|record| &record.entry).take_while(move |entry| {
            !matches!(entry, Entry::Opened { task, attempt, .. } if task.id == key.id && *attempt == number)
        })
    }
}

/// Whether two keys name one task. An id stays when a title is rewritten; a
/// position does not say much.
fn is_same(one: &TaskKey, other: &TaskKey) -> bool {
    one == other || (one.id == other.id && one.place().is_none())
}

/// The last attempt at a task, unless it has its verdict or the loop was
/// started anew since.
pub fn open_attempt(journal: &[Record], key: &TaskKey) -> Option<Attempt> {
    for record in journal.iter().rev() {
        match &record.entry {
            Entry::Passed { task, .. }
            | Entry::Failed { task, .. }
            | Entry::SetAside { task, .. }
            | Entry::Waits { task, .. }
            | Entry::Cleared { task, .. }
                if task.id == key.id =>
            {
                return None;
            }
            Entry::Cancelled | Entry::Completed { .. } => return None,
            Entry::Opened { task, .. } if is_same(task, key) => {
                return Some(Attempt { key: key.clone(), ..opening(record)? });
            }
            _ => {}
        }
    }
    None
}

/// The attempt that a record opens.
fn opening(record: &Record) -> Option<Attempt> {
    let Entry::Opened {
        task,
        attempt,
        head,
        block,
        block_bytes,
        dirty,
        left_before,
        open_elsewhere,
        branch,
        id,
        was,
    } = &record.entry
    else {
        return None;
    };
    let block = line::text_or_bytes(block, block_bytes.as_deref());
    let mode = TaskFile::scan(&block).tasks.first()?.mode();
    Some(Attempt {
        key: task.clone(),
        attempt: *attempt,
        block,
        role: role(mode),
        at: record.at.clone(),
        head: head.clone(),
        branch: branch.clone(),
        dirty: dirty.clone(),
        left_before: left_before.clone(),
        open_elsewhere: open_elsewhere.clone(),
        id: id.clone(),
        was: was.clone(),
    })
}

/// The tasks of the running batch that have no verdict yet, each with its
/// attempt; none if that is to begin anew.
pub fn pending(
    state: &State,
    file: &TaskFile<'_>,
    journal: &[Record],
) -> Vec<(usize, Option<Attempt>)> {
    if state.parallel_group.is_none() {
        return Vec::new();
    }
    let pending = state.task_results.values().filter(|result| result.status == Status::Pending);
    pending
        .filter_map(|result| file.tasks.iter().find(|task| task.name() == result.id))
        .map(|task| (task.index, open_attempt(journal, &task.key())))
        .collect()
}

/// The attempts of the running batch that are under way.
pub(super) fn running(state: &State, file: &TaskFile<'_>, journal: &[Record]) -> Vec<Attempt> {
    pending(state, file, journal).into_iter().filter_map(|(_, opened)| opened).collect()
}

/// What was uncommitted before anybody worked at a task: what is so now, but
/// for what failed attempts at it have left. One that was worked elsewhere, or
/// set aside, has not taken that away.
pub(super) fn baseline(
    journal: &[Record],
    id: &str,
    dirty: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut before: Option<&BTreeMap<String, String>> = None;
    let mut left: Vec<&String> = Vec::new();
    let (mut failed, mut cleared) = (None, None);
    for record in journal.iter().rev() {
        match &record.entry {
            Entry::Completed { .. } => break,
            Entry::Waits { task, changed, .. } if task.id == id => left.extend(changed),
            Entry::Failed { task, attempt, changed, .. } if task.id == id => {
                left.extend(changed);
                failed = Some(attempt);
            }
            // Unless its commit was refused, and so it has failed after all.
            Entry::Passed { task, attempt, .. } if task.id == id && failed != Some(attempt) => {
                break;
            }
            Entry::Cleared { task, attempt } if task.id == id => cleared = Some(attempt),
            // With what it had changed, everything older was taken out.
            Entry::Launched { task, attempt, beside: false, .. }
                if task.id == id && cleared == Some(attempt) =>
            {
                break;
            }
            Entry::Opened { task, dirty, .. } if task.id == id => {
                before.get_or_insert(dirty);
            }
            _ => {}
        }
    }
    let Some(before) = before else { return dirty.clone() };
    let stood = |(path, now): (&String, &String)| {
        let digest = if left.contains(&path) { before.get(path)? } else { now };
        Some((path.clone(), digest.clone()))
    };
    dirty.iter().filter_map(stood).collect()
}

#[cfg(test)]
mod tests;
