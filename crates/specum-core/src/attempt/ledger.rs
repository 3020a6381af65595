//! Where every attempt stands, as a fold over the journal.
//!
//! [`Ledger::add`] takes one record after another; nothing is ever read again.
//! Attempts are found by id. A task's name leads to its newest attempt, and the
//! ledger follows the plan's renames.

mod fold;
mod task;
mod words;

use std::collections::{BTreeMap, HashMap};

use self::task::{LeftInTree, TaskStory};
use self::words::PersonsWords;
use super::{Attempt, AttemptId};
use crate::brief::BriefMarker;
use crate::journal::Record;
use crate::moment::Moment;
use crate::progress::Note;
use crate::spec::red::FirstResult;
use crate::tasks::TaskKey;

/// Where an agent was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaunchPlace {
    /// In the user's tree.
    InTree,
    /// In a worktree of its own.
    Worktree,
    /// In the one worktree of an isolated run.
    Isolated,
}

/// What became of the loop that the journal tells of last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LoopStanding {
    /// No loop was begun.
    #[default]
    None,
    /// It has begun and not ended.
    UnderWay,
    /// A person ended it.
    Cancelled,
    /// Every box was ticked.
    Completed,
}

/// A start of an agent that has not been charged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnchargedStart {
    /// The attempt it was started for.
    pub attempt: AttemptId,
    /// The agent's name.
    pub agent: String,
    /// When it was started.
    pub at: Moment,
    /// Where its output is kept. Older versions did not say.
    pub log: Option<String>,
}

/// An attempt that has passed and has no commit yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedAttempt {
    /// The attempt.
    pub attempt: Attempt,
    /// What it changed.
    pub changed: Vec<String>,
    /// What was noted when it passed.
    pub notes: Vec<Note>,
    /// The commit that holds its work, if the user's tree is to take it in from a
    /// worktree.
    pub isolated: Option<String>,
    /// When it passed, in RFC 3339.
    pub at: Moment,
}

/// Work that has passed in its worktree and waits to be integrated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadyWork {
    /// What the agent said at the end.
    pub result: String,
    /// The commit that holds the work.
    pub commit: String,
}

/// A call of a host's sub-agent that is at work, as far as the journal tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The attempt it works on.
    pub attempt: AttemptId,
    /// The task, under the name it has now.
    pub task: TaskKey,
    /// The host's id of the call.
    pub tool_use_id: String,
    has_ended: bool,
}

/// A change of what git starts that no person has accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitChange {
    /// A digest of what git would start before.
    pub before: String,
    /// A digest of what it starts now.
    pub after: String,
    /// The hooks and settings that differ.
    pub what: Vec<String>,
}

/// What an executor has done after its verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateWork {
    /// The task, under the name it has now.
    pub task: TaskKey,
    /// The files it has changed, as far as they are not committed.
    pub changed: Vec<String>,
}

/// Where every attempt stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    attempts: HashMap<AttemptId, Progress>,
    /// The newest attempt at each task of this loop, by the task's name.
    newest: HashMap<String, AttemptId>,
    stories: HashMap<String, TaskStory>,
    standing: LoopStanding,
    /// Agents that were started and whose work has no verdict.
    launched: Vec<(AttemptId, LaunchPlace)>,
    integrating: Option<(AttemptId, Vec<String>)>,
    uncharged: Vec<UnchargedStart>,
    uncommitted: Vec<Uncommitted>,
    calls: Vec<Call>,
    /// Attempts by the host's id of the call that was made for them.
    called: HashMap<String, AttemptId>,
    /// Verdicts that no coordinator was told of.
    untold: Vec<Record>,
    /// Whether a run is at work, which tells no coordinator.
    is_in_run: bool,
    at_work: Vec<AttemptId>,
    /// The sessions that have asked for work.
    sessions: HashMap<String, Held>,
    late: Vec<String>,
    /// Work after a verdict: before the last time that a coordinator was told
    /// something, and since.
    late_work: [Vec<LateWork>; 2],
    /// What failed attempts have left in the tree.
    left: Vec<LeftInTree>,
    left_by_checks: Vec<String>,
    git_change: Option<GitChange>,
    left_branch: Option<String>,
    /// A person's notes and wishes.
    words: PersonsWords,
    /// The attempts that a person does not want any more, and that have not ended yet.
    unwanted: Vec<AttemptId>,
    /// Whether the loop was moved on since a run has ended.
    has_gone_on: bool,
    /// How many tasks were added in this loop because executors asked for them.
    added: usize,
    /// How many attempts have passed or were committed.
    results: usize,
    /// Whether the loop that was completed last owes the Ralph Loop its promise.
    has_promised: bool,
    /// When the last record was written.
    last_at: Moment,
}

/// When a session has last asked for work.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Held {
    at: Moment,
    is_of_earlier_loop: bool,
}

/// How far one attempt has come.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Progress {
    attempt: Attempt,
    /// The name of the task when the attempt was opened.
    first_name: String,
    /// Attempts opened before.
    order: usize,
    is_open: bool,
    /// Whether a run has opened it, and no agent was called or started for it.
    is_untouched: bool,
    /// Whether it has passed or failed, or waits for a person.
    has_verdict: bool,
    /// Whether its loop has ended, so that the plan's renames do not concern it.
    is_of_earlier_loop: bool,
    delegations: usize,
    sent_back: usize,
    reported: Option<String>,
    ready: Option<ReadyWork>,
    has_kept: bool,
    /// Whether a person has given its task all its attempts again since it was opened.
    is_once_more: bool,
    /// Whether an agent was started for it in the worktree of an isolated run.
    is_isolated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Uncommitted {
    attempt: AttemptId,
    changed: Vec<String>,
    notes: Vec<Note>,
    isolated: Option<String>,
    at: Moment,
}

impl Ledger {
    /// The ledger of a whole journal.
    pub fn of(records: &[Record]) -> Ledger {
        let mut ledger = Ledger::default();
        records.iter().for_each(|record| ledger.add(record));
        ledger
    }

    // Attempts.

    /// An attempt, under the name its task has now.
    pub fn attempt(&self, id: &AttemptId) -> Option<&Attempt> {
        self.attempts.get(id).map(|progress| &progress.attempt)
    }

    /// What the task of an attempt is called now.
    pub fn key_now(&self, attempt: &Attempt) -> TaskKey {
        self.attempt(&attempt.id).map_or_else(|| attempt.key.clone(), |now| now.key.clone())
    }

    /// The open attempt at a task.
    pub fn open_attempt(&self, key: &TaskKey) -> Option<Attempt> {
        let progress = self.attempts.get(self.newest.get(&key.id)?)?;
        let opened_for = &progress.attempt.key;
        // An id stays when a title is rewritten; a position does not say much.
        let is_same = opened_for == key || opened_for.place().is_none();
        (progress.is_open && is_same)
            .then(|| Attempt { key: key.clone(), ..progress.attempt.clone() })
    }

    /// Whether an attempt is open.
    pub fn is_open(&self, id: &AttemptId) -> bool {
        self.attempts.get(id).is_some_and(|progress| progress.is_open)
    }

    /// The open attempts in the order of their opening, also those whose task is
    /// gone from the plan.
    pub fn open_attempts(&self) -> Vec<Attempt> {
        let mut open: Vec<&Progress> =
            self.newest.values().filter_map(|id| self.attempts.get(id)).collect();
        open.retain(|progress| progress.is_open);
        open.sort_by_key(|progress| progress.order);
        open.into_iter().map(|progress| progress.attempt.clone()).collect()
    }

    /// The attempt that the marker of a brief is about. One without an id means the
    /// newest attempt that was opened under its task's name and with its number.
    pub fn marked(&self, marker: &BriefMarker) -> Option<&Attempt> {
        if let Some(id) = &marker.id {
            return self.attempt(id);
        }
        let meant = |progress: &&Progress| {
            progress.first_name == marker.task && progress.attempt.number == marker.attempt
        };
        let found = self.attempts.values().filter(meant).max_by_key(|progress| progress.order);
        found.map(|progress| &progress.attempt)
    }

    /// Whether an attempt has passed or failed, or waits for a person.
    pub fn has_verdict(&self, id: &AttemptId) -> bool {
        self.attempts.get(id).is_some_and(|progress| progress.has_verdict)
    }

    /// Whether a person has given its task all its attempts again since it was opened.
    pub fn is_once_more(&self, id: &AttemptId) -> bool {
        self.attempts.get(id).is_some_and(|progress| progress.is_once_more)
    }

    /// Whether something of an attempt was kept under a reference.
    pub fn has_kept(&self, id: &AttemptId) -> bool {
        self.attempts.get(id).is_some_and(|progress| progress.has_kept)
    }

    /// Work of an attempt that has passed in its worktree and waits to be
    /// integrated.
    pub fn ready(&self, id: &AttemptId) -> Option<&ReadyWork> {
        self.attempts.get(id)?.ready.as_ref()
    }

    /// Whether an attempt has passed in the worktree of an isolated run, and the user's
    /// tree is to take in its work.
    pub fn waits_in_worktree(&self, id: &AttemptId) -> bool {
        self.attempts.get(id).is_some_and(|p| p.is_isolated && p.ready.is_some())
    }

    /// The attempts for which an agent was started and that have no verdict, and
    /// where the agent worked. Excludes attempts already cleaned up or restarted.
    pub fn unsettled(&self) -> Vec<(Attempt, LaunchPlace)> {
        let found = self.launched.iter();
        found.filter_map(|(id, place)| Some((self.attempt(id)?.clone(), *place))).collect()
    }

    /// The open attempts that a run has opened and for which nobody has been called or
    /// started: what was changed since they were opened is not their work.
    pub fn untouched(&self) -> Vec<Attempt> {
        let is_untouched = |attempt: &Attempt| {
            self.attempts.get(&attempt.id).is_some_and(|progress| progress.is_untouched)
        };
        self.open_attempts().into_iter().filter(is_untouched).collect()
    }

    /// The attempt whose files were being put into the user's tree when the process
    /// died: they are neither there for good nor taken out again.
    pub fn half_integrated(&self) -> Option<(&Attempt, &[String])> {
        let (id, paths) = self.integrating.as_ref()?;
        Some((self.attempt(id)?, paths))
    }

    /// The starts of agents in this loop that were not charged.
    pub fn uncharged(&self) -> &[UnchargedStart] {
        &self.uncharged
    }

    /// The last attempt that has passed and whose commit is not recorded.
    pub fn uncommitted(&self) -> Option<PassedAttempt> {
        let passed = self.uncommitted.last()?.clone();
        let attempt = self.attempt(&passed.attempt)?.clone();
        let Uncommitted { changed, notes, isolated, at, .. } = passed;
        Some(PassedAttempt { attempt, changed, notes, isolated, at })
    }

    // Tasks.

    /// Why the last attempt at a task failed, and what its check printed; `None` if
    /// it passed since. A task of an earlier loop is the same only with the same
    /// title.
    pub fn last_failure(&self, key: &TaskKey) -> Option<(&[String], &str)> {
        let (reasons, output) = self.story(key)?.failure.as_ref()?;
        Some((reasons, output))
    }

    /// What this check of a task did before the work in this loop; `None` if it was not
    /// run then.
    pub fn first_run(&self, key: &TaskKey, check: &str) -> Option<FirstResult> {
        let (known, result) = self.story(key)?.first.as_ref()?;
        (known == check).then_some(*result)
    }

    /// How many tasks were added in this loop because executors asked for them.
    pub fn added(&self) -> usize {
        self.added
    }

    /// How many requests about a task were granted in this loop.
    pub fn modifications(&self, key: &TaskKey) -> u64 {
        self.story(key).map_or(0, |story| story.modified)
    }

    /// Whether a task was split, and has not passed since: its own check is tried first.
    pub fn is_split(&self, key: &TaskKey) -> bool {
        self.story(key).is_some_and(|story| story.is_split)
    }

    /// Whether this check of a task was seen to fail when the plan was written.
    pub fn was_red(&self, key: &TaskKey, check: &str) -> bool {
        self.story(key).is_some_and(|story| story.planned_red.as_deref() == Some(check))
    }

    /// The reference that holds what an attempt at a task had changed, unless the
    /// task has passed since.
    pub fn kept(&self, key: &TaskKey) -> Option<&str> {
        self.story(key)?.kept.as_deref()
    }

    fn story(&self, key: &TaskKey) -> Option<&TaskStory> {
        self.stories.get(&key.id).filter(|story| !story.is_of_earlier_loop || story.key == *key)
    }

    /// The commit of the last attempt at a task that passed, once that is settled;
    /// `None` in it if there was nothing to commit.
    pub fn commit_of(&self, id: &str) -> Option<Option<&str>> {
        self.stories.get(id)?.commit.as_ref().map(Option::as_deref)
    }

    /// What was uncommitted before the work on a task began: what is so now, except
    /// for what failed attempts at it have left.
    pub fn baseline(
        &self,
        key: &TaskKey,
        dirty: &BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        self.story(key).map_or_else(|| dirty.clone(), |story| story.ground.baseline(dirty))
    }

    /// What failed attempts at tasks that are still open, and checks, have left in
    /// the tree.
    pub fn left_in_tree(&self) -> impl Iterator<Item = &str> {
        let by_attempts = self.left.iter().flat_map(|left| &left.paths);
        by_attempts.chain(&self.left_by_checks).map(String::as_str)
    }

    /// The tasks with an attempt at work: no verdict, and neither the session nor
    /// the run has ended.
    pub fn at_work(&self) -> Vec<&str> {
        self.at_work.iter().filter_map(|id| Some(self.attempt(id)?.key.id.as_str())).collect()
    }

    /// A person's notes for a task, in their order.
    pub fn notes_for(&self, key: &TaskKey) -> Vec<&str> {
        self.words.for_task(key)
    }

    /// The attempts that a person does not want any more and that have not ended.
    pub fn unwanted(&self) -> &[AttemptId] {
        &self.unwanted
    }

    /// Whether a person has let the loop go on, has changed what it is to do, or has
    /// finished a task, since a run has ended.
    pub fn has_gone_on(&self) -> bool {
        self.has_gone_on
    }

    // Calls of a host's sub-agents.

    /// The attempt that a call of a sub-agent was made for.
    pub fn called(&self, tool_use_id: &str) -> Option<&Attempt> {
        self.attempt(self.called.get(tool_use_id)?)
    }

    /// How often an open attempt was given to a sub-agent since a person last let
    /// the loop go on.
    pub fn delegations(&self, id: &AttemptId) -> usize {
        self.attempts.get(id).map_or(0, |progress| progress.delegations)
    }

    /// How often the executor of an attempt was told what is missing.
    pub fn sent_back(&self, id: &AttemptId) -> usize {
        self.attempts.get(id).map_or(0, |progress| progress.sent_back)
    }

    /// What the executor of an attempt has reported, while the verdict is still to
    /// come. A report does not count any more when the executor was sent back, or
    /// when another one was called for the same attempt.
    pub fn reported(&self, id: &AttemptId) -> Option<&str> {
        self.attempts.get(id)?.reported.as_deref()
    }

    /// The calls whose sub-agents are at work.
    pub fn calls_at_work(&self) -> Vec<&Call> {
        self.calls.iter().filter(|call| !call.has_ended).collect()
    }

    /// The verdicts that no coordinator was told of, in their order, one for each
    /// task: a commit that git refuses makes a failure of a pass. Those of a run are
    /// not among them, and what nobody tells is left out: what was printed, and
    /// which files were changed.
    pub fn untold(&self) -> &[Record] {
        &self.untold
    }

    // The loop.

    /// What became of the loop.
    pub fn standing(&self) -> LoopStanding {
        self.standing
    }

    /// Whether a loop has begun and not ended.
    pub fn is_under_way(&self) -> bool {
        self.standing == LoopStanding::UnderWay
    }

    /// Whether a command of this session has asked for work of this loop.
    pub fn was_held_by(&self, session: &str) -> bool {
        self.sessions.get(session).is_some_and(|held| !held.is_of_earlier_loop)
    }

    /// When a command of this session has last asked for work.
    pub fn held_at(&self, session: &str) -> Option<&Moment> {
        self.sessions.get(session).map(|held| &held.at)
    }

    /// The files that executors have changed after their verdicts.
    pub fn late(&self) -> &[String] {
        &self.late
    }

    /// What executors have done after their verdicts since a coordinator was told
    /// something for the last time but one.
    pub fn late_work(&self) -> impl Iterator<Item = &LateWork> {
        self.late_work.iter().flatten()
    }

    /// How many attempts have passed or were committed. Another number than before
    /// says that somebody has been here.
    pub fn results(&self) -> usize {
        self.results
    }

    /// Whether the loop that was completed last owes the Ralph Loop its promise.
    pub fn has_promised(&self) -> bool {
        self.has_promised
    }

    /// When the last record was written; no time without one.
    pub fn last_at(&self) -> &Moment {
        &self.last_at
    }

    /// What an attempt has changed of what git starts, if no person has accepted
    /// it.
    pub fn git_change(&self) -> Option<&GitChange> {
        self.git_change.as_ref()
    }

    /// The branch that HEAD had left when the loop was paused for it, unless the
    /// loop was let go on since.
    pub fn left_branch(&self) -> Option<&str> {
        self.left_branch.as_deref()
    }
}

#[cfg(test)]
mod tests;
