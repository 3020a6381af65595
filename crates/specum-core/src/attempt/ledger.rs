//! Where every attempt stands, as a fold over the journal.
//!
//! [`Ledger::add`] takes one record after another; nothing is ever read again.
//! Attempts are found by id. A task's name leads to its newest attempt, and the
//! ledger follows the plan's renames.

mod task;

use std::collections::{BTreeMap, HashMap, HashSet};

use self::task::{Ground, TaskStory};
use super::{Attempt, AttemptId};
use crate::journal::{Entry, Record};
use crate::plan_record::PlanEdit;
use crate::progress::Note;
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
    /// When it was started, in RFC 3339.
    pub at: String,
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
    pub at: String,
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

/// Where every attempt stands.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    attempts: HashMap<AttemptId, Progress>,
    /// The newest attempt at each task of this loop, by the task's name.
    newest: HashMap<String, AttemptId>,
    stories: HashMap<String, TaskStory>,
    grounds: HashMap<String, Ground>,
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
    at_work: Vec<AttemptId>,
    sessions: HashSet<String>,
    late: Vec<String>,
    /// What failed attempts have left in the tree, by task.
    left: Vec<(String, Vec<String>)>,
    left_by_checks: Vec<String>,
    git_change: Option<GitChange>,
    left_branch: Option<String>,
}

/// How far one attempt has come.
#[derive(Debug, Clone)]
struct Progress {
    attempt: Attempt,
    /// The name of the task when the attempt was opened.
    first_name: String,
    /// Attempts opened before.
    order: usize,
    is_open: bool,
    /// Whether it has passed or failed, or waits for a person.
    has_verdict: bool,
    /// Whether its loop has ended, so that the plan's renames do not concern it.
    is_of_earlier_loop: bool,
    delegations: usize,
    sent_back: usize,
    reported: Option<String>,
    ready: Option<ReadyWork>,
    has_kept: bool,
    /// Whether an agent was started for it in the worktree of an isolated run.
    is_isolated: bool,
}

#[derive(Debug, Clone)]
struct Uncommitted {
    attempt: AttemptId,
    changed: Vec<String>,
    notes: Vec<Note>,
    isolated: Option<String>,
    at: String,
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

    /// The newest attempt that was opened under a task's name and with this number:
    /// what the marker of a brief without an id means.
    pub fn marked(&self, name: &str, number: u64) -> Option<&Attempt> {
        let meant =
            |progress: &&Progress| progress.first_name == name && progress.attempt.number == number;
        let found = self.attempts.values().filter(meant).max_by_key(|progress| progress.order);
        found.map(|progress| &progress.attempt)
    }

    /// Whether an attempt has passed or failed, or waits for a person.
    pub fn has_verdict(&self, id: &AttemptId) -> bool {
        self.attempts.get(id).is_some_and(|progress| progress.has_verdict)
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

    /// The reference that holds what an attempt at a task had changed, unless the
    /// task has passed since.
    pub fn kept(&self, key: &TaskKey) -> Option<&str> {
        self.story(key)?.kept.as_deref()
    }

    fn story(&self, key: &TaskKey) -> Option<&TaskStory> {
        self.stories.get(&key.id).filter(|story| !story.is_of_earlier_loop || story.key == *key)
    }

    /// The commit of the last attempt at a task that passed; empty if there was
    /// nothing to commit.
    pub fn commit_of(&self, id: &str) -> Option<&str> {
        self.stories.get(id)?.commit.as_deref()
    }

    /// What was uncommitted before anybody worked on a task: what is so now, except
    /// for what failed attempts at it have left.
    pub fn baseline(&self, id: &str, dirty: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        self.grounds.get(id).map_or_else(|| dirty.clone(), |ground| ground.baseline(dirty))
    }

    /// What failed attempts at tasks that are still open, and checks, have left in
    /// the tree.
    pub fn left_in_tree(&self) -> impl Iterator<Item = &str> {
        let by_attempts = self.left.iter().flat_map(|(_, paths)| paths);
        by_attempts.chain(&self.left_by_checks).map(String::as_str)
    }

    /// The tasks with an attempt at work: no verdict, and neither the session nor
    /// the run has ended.
    pub fn at_work(&self) -> Vec<&str> {
        self.at_work.iter().filter_map(|id| Some(self.attempt(id)?.key.id.as_str())).collect()
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
    /// task: a commit that git refuses makes a failure of a pass.
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
        self.sessions.contains(session)
    }

    /// The files that executors have changed after their verdicts.
    pub fn late(&self) -> &[String] {
        &self.late
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

    // The fold.

    /// Takes the next record.
    pub fn add(&mut self, record: &Record) {
        self.add_to_loop(record);
        if let Some(attempt) = Attempt::opened_by(record) {
            self.open(attempt);
        }
        let (Some(task), Some(id)) = (record.entry.task(), self.attempt_of(record)) else {
            return;
        };
        self.add_to_story(record, task, &id);
        self.add_to_calls(record, &id);
        self.add_to_work(record, task, &id);
        self.add_verdict(record, task, &id);
    }

    /// The attempt that a record is about. Records of format 1 do not say: it is the
    /// newest one at the task.
    fn attempt_of(&self, record: &Record) -> Option<AttemptId> {
        record.id.clone().or_else(|| self.newest.get(&record.entry.task()?.id).cloned())
    }

    /// What a record means for the loop as a whole.
    fn add_to_loop(&mut self, record: &Record) {
        match &record.entry {
            Entry::Started { .. } => {
                self.standing = LoopStanding::UnderWay;
                self.left_branch = None;
                self.untold.clear();
                self.let_calls_go();
            }
            Entry::Resumed => {
                self.left_branch = None;
                self.let_calls_go();
            }
            Entry::Paused { branch, .. } => self.left_branch.clone_from(branch),
            Entry::Cancelled => self.end(LoopStanding::Cancelled),
            Entry::Completed { .. } => self.end(LoopStanding::Completed),
            Entry::Told { .. } => self.untold.clear(),
            Entry::Held { session } => {
                self.sessions.insert(session.clone());
            }
            Entry::Released { .. } => {
                self.calls.clear();
                self.at_work.clear();
            }
            Entry::RunEnded { .. } => self.at_work.clear(),
            // A run cleans up what others have left before it begins.
            Entry::RunStarted { .. } => {
                self.launched.clear();
                self.integrating = None;
            }
            Entry::GitChanged { before, after, what, .. } => {
                let (before, after, what) = (before.clone(), after.clone(), what.clone());
                self.git_change = Some(GitChange { before, after, what });
            }
            Entry::GitAccepted { .. } => self.git_change = None,
            Entry::PlanChanged { edits } => self.follow(edits),
            _ => {}
        }
    }

    fn let_calls_go(&mut self) {
        self.calls.clear();
        self.attempts.values_mut().for_each(|progress| progress.delegations = 0);
    }

    fn end(&mut self, standing: LoopStanding) {
        self.standing = standing;
        self.left_branch = None;
        self.calls.clear();
        self.at_work.clear();
        self.uncharged.clear();
        self.uncommitted.clear();
        self.sessions.clear();
        self.newest.clear();
        if standing == LoopStanding::Completed {
            self.grounds.clear();
            self.left.clear();
        }
        self.stories.values_mut().for_each(|story| story.is_of_earlier_loop = true);
        for progress in self.attempts.values_mut() {
            progress.is_of_earlier_loop = true;
            progress.is_open = false;
            progress.attempt.slim();
        }
    }

    fn open(&mut self, attempt: Attempt) {
        let (id, name) = (attempt.id.clone(), attempt.key.id.clone());
        self.forget_launches(&name);
        self.grounds.entry(name.clone()).or_default().open(&attempt);
        self.newest.insert(name.clone(), id.clone());
        let progress = Progress {
            attempt,
            first_name: name,
            order: self.attempts.len(),
            is_open: true,
            has_verdict: false,
            is_of_earlier_loop: false,
            delegations: 0,
            sent_back: 0,
            reported: None,
            ready: None,
            has_kept: false,
            is_isolated: false,
        };
        self.attempts.insert(id, progress);
    }

    fn add_to_story(&mut self, record: &Record, task: &TaskKey, id: &AttemptId) {
        let story = TaskStory::of(&mut self.stories, task);
        story.add(&record.entry);
        self.grounds.entry(task.id.clone()).or_default().add(&record.entry, id);
        match &record.entry {
            Entry::Failed { changed, .. } | Entry::Waits { changed, .. } => {
                self.left.push((task.id.clone(), changed.clone()));
            }
            Entry::Committed { left, .. } => {
                self.left.retain(|(other, _)| *other != task.id);
                self.left_by_checks.extend(left.iter().cloned());
            }
            Entry::Late { changed, .. } => self.late.extend(changed.iter().cloned()),
            _ => {}
        }
    }

    fn add_to_calls(&mut self, record: &Record, id: &AttemptId) {
        let Some(progress) = self.attempts.get_mut(id) else { return };
        match &record.entry {
            Entry::Delegated { task, tool_use_id, .. } => {
                progress.delegations += 1;
                progress.reported = None;
                self.called.insert(tool_use_id.clone(), id.clone());
                self.calls.retain(|call| call.task.id != task.id);
                self.calls.push(Call {
                    attempt: id.clone(),
                    task: task.clone(),
                    tool_use_id: tool_use_id.clone(),
                    has_ended: false,
                });
            }
            Entry::Reported { task, result, .. } => {
                progress.reported = Some(result.clone());
                self.mark_calls(&task.id, true);
            }
            Entry::SentBack { task, .. } => {
                progress.sent_back += 1;
                progress.reported = None;
                self.mark_calls(&task.id, false);
            }
            Entry::Returned { tool_use_id, .. } => {
                self.calls.retain(|call| call.tool_use_id != *tool_use_id);
            }
            _ => {}
        }
    }

    fn mark_calls(&mut self, task: &str, has_ended: bool) {
        for call in self.calls.iter_mut().filter(|call| call.task.id == task) {
            call.has_ended = has_ended;
        }
    }

    /// What a record says of the agents at work and of their results.
    fn add_to_work(&mut self, record: &Record, task: &TaskKey, id: &AttemptId) {
        match &record.entry {
            Entry::Opened { .. } | Entry::Delegated { .. } => self.is_at_work(task, id),
            Entry::Launched { agent, beside, isolated, .. } => {
                self.is_at_work(task, id);
                let place = match (beside, isolated) {
                    (_, true) => LaunchPlace::Isolated,
                    (true, false) => LaunchPlace::Worktree,
                    (false, false) => LaunchPlace::InTree,
                };
                self.forget_launches(&task.id);
                self.launched.push((id.clone(), place));
                if let Some(progress) = self.attempts.get_mut(id) {
                    progress.is_isolated |= *isolated;
                }
                let (attempt, agent, at) = (id.clone(), agent.clone(), record.at.clone());
                self.uncharged.push(UnchargedStart { attempt, agent, at });
            }
            Entry::Charged { .. } => self.uncharged.retain(|start| start.attempt != *id),
            Entry::Ready { result, commit, .. } => {
                // It waits in its worktree and is not cleaned up.
                self.launched.retain(|(other, _)| other != id);
                if let Some(progress) = self.attempts.get_mut(id) {
                    let (result, commit) = (result.clone(), commit.clone());
                    progress.ready = Some(ReadyWork { result, commit });
                }
            }
            Entry::Integrating { paths, .. } => {
                self.integrating = Some((id.clone(), paths.clone()));
            }
            Entry::TakenOut { .. } | Entry::Passed { .. }
                if self.integrating.as_ref().is_some_and(|(other, _)| other == id) =>
            {
                self.integrating = None;
            }
            Entry::Kept { .. } => {
                if let Some(progress) = self.attempts.get_mut(id) {
                    progress.has_kept = true;
                }
            }
            Entry::Ticked { task } => self.is_not_at_work(&task.id),
            _ => {}
        }
    }

    fn is_at_work(&mut self, task: &TaskKey, id: &AttemptId) {
        self.is_not_at_work(&task.id);
        self.at_work.push(id.clone());
    }

    fn is_not_at_work(&mut self, name: &str) {
        let attempts = &self.attempts;
        self.at_work.retain(|id| !is_at(attempts, id, name));
    }

    fn forget_launches(&mut self, name: &str) {
        let attempts = &self.attempts;
        self.launched.retain(|(id, _)| !is_at(attempts, id, name));
    }

    /// What a verdict, or the end of an attempt without one, means.
    fn add_verdict(&mut self, record: &Record, task: &TaskKey, id: &AttemptId) {
        let is_verdict = matches!(
            record.entry,
            Entry::Passed { .. } | Entry::Failed { .. } | Entry::Waits { .. }
        );
        let is_told = is_verdict || matches!(record.entry, Entry::SetAside { .. });
        if is_told {
            self.untold.retain(|known| known.entry.task().is_none_or(|known| known.id != task.id));
            self.untold.push(record.clone());
        }
        if matches!(record.entry, Entry::Committed { .. } | Entry::Failed { .. }) {
            let attempts = &self.attempts;
            self.uncommitted.retain(|passed| !is_at(attempts, &passed.attempt, &task.id));
        }
        if let Entry::Passed { to_commit: true, changed, isolated, .. } = &record.entry {
            let notes = record.changes.as_ref().map(|changes| changes.notes.clone());
            self.uncommitted.push(Uncommitted {
                attempt: id.clone(),
                changed: changed.clone(),
                notes: notes.unwrap_or_default(),
                isolated: isolated.clone(),
                at: record.at.clone(),
            });
        }
        if is_told || matches!(record.entry, Entry::Cleared { .. }) {
            self.is_not_at_work(&task.id);
            self.calls.retain(|call| call.task.id != task.id);
            self.forget_launches(&task.id);
            if let Some(progress) = self.attempts.get_mut(id) {
                progress.is_open = false;
                progress.has_verdict |= is_verdict;
            }
        }
        let is_settled = matches!(record.entry, Entry::Committed { .. });
        if let Some(progress) = self.attempts.get_mut(id).filter(|_| is_settled) {
            progress.attempt.slim();
        }
    }

    /// Lets everything of this loop call its tasks what the plan calls them now.
    fn follow(&mut self, edits: &[PlanEdit]) {
        let renames: HashMap<&str, &TaskKey> = edits
            .iter()
            .filter_map(|edit| match edit {
                PlanEdit::Renamed { from, to } => Some((from.id.as_str(), to)),
                _ => None,
            })
            .collect();
        if renames.is_empty() {
            return;
        }
        for progress in self.attempts.values_mut().filter(|p| !p.is_of_earlier_loop) {
            if let Some(to) = renames.get(progress.attempt.key.id.as_str()) {
                progress.attempt.was.push(progress.attempt.key.id.clone());
                progress.attempt.key = (*to).clone();
            }
        }
        for call in &mut self.calls {
            if let Some(to) = renames.get(call.task.id.as_str()) {
                call.task = (*to).clone();
            }
        }
        for record in &mut self.untold {
            record.entry.rename(&renames);
        }
        for (name, _) in &mut self.left {
            if let Some(to) = renames.get(name.as_str()) {
                name.clone_from(&to.id);
            }
        }
        self.newest = renamed(std::mem::take(&mut self.newest), &renames);
        self.grounds = renamed(std::mem::take(&mut self.grounds), &renames);
        let (earlier, mut now): (HashMap<_, _>, HashMap<_, _>) = std::mem::take(&mut self.stories)
            .into_iter()
            .partition(|(_, story): &(String, TaskStory)| story.is_of_earlier_loop);
        for story in now.values_mut() {
            if let Some(to) = renames.get(story.key.id.as_str()) {
                story.key = (*to).clone();
            }
        }
        self.stories = earlier;
        self.stories.extend(renamed(now, &renames));
    }
}

/// Whether an attempt is one at the task of this name.
fn is_at(attempts: &HashMap<AttemptId, Progress>, id: &AttemptId, name: &str) -> bool {
    attempts.get(id).is_some_and(|progress| progress.attempt.key.id == name)
}

/// The same under the names that tasks have now.
fn renamed<V>(map: HashMap<String, V>, renames: &HashMap<&str, &TaskKey>) -> HashMap<String, V> {
    let name = |old: String| renames.get(old.as_str()).map_or(old, |to| to.id.clone());
    map.into_iter().map(|(old, value)| (name(old), value)).collect()
}

#[cfg(test)]
mod tests;
