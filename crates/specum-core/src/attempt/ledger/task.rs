//! What the ledger knows of one task: how its attempts ended, and what they have
//! left in the user's tree.

use std::collections::{BTreeMap, HashMap};

use super::{Attempt, AttemptId};
use crate::journal::Entry;
use crate::modify::Kind;
use crate::spec::red::FirstResult;
use crate::tasks::TaskKey;

/// How the attempts at a task have ended so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TaskStory {
    pub(super) key: TaskKey,
    /// Whether its last record is of a loop that has ended.
    pub(super) is_of_earlier_loop: bool,
    /// Why the last attempt failed, and what its check printed.
    pub(super) failure: Option<(Vec<String>, String)>,
    /// The reference that holds unfinished work.
    pub(super) kept: Option<String>,
    /// The last commit, once a pass is settled; `None` in it if there was nothing to
    /// commit.
    pub(super) commit: Option<Option<String>>,
    /// What its check did before the work, and which check that was.
    pub(super) first: Option<(String, FirstResult)>,
    /// The check that was seen to fail when the plan was written.
    pub(super) planned_red: Option<String>,
    /// How many requests of its executors were granted.
    pub(super) modified: u64,
    /// Whether it was split, and has not passed since.
    pub(super) is_split: bool,
    pub(super) ground: Ground,
}

impl TaskStory {
    /// The story of a task, a new one if the task is another one than in the loop
    /// before: the plan was not followed from one loop to the next.
    pub(super) fn of<'s>(
        stories: &'s mut HashMap<String, TaskStory>,
        task: &TaskKey,
    ) -> &'s mut TaskStory {
        let new = || TaskStory {
            key: task.clone(),
            is_of_earlier_loop: false,
            failure: None,
            kept: None,
            commit: None,
            first: None,
            planned_red: None,
            modified: 0,
            is_split: false,
            ground: Ground::default(),
        };
        let story = stories.entry(task.id.clone()).or_insert_with(new);
        if story.is_of_earlier_loop && story.key != *task {
            *story = new();
        }
        story.is_of_earlier_loop = false;
        story.key = task.clone();
        story
    }

    pub(super) fn add(&mut self, entry: &Entry, id: &AttemptId) {
        self.ground.add(entry, id);
        match entry {
            Entry::Failed { reasons, output, .. } | Entry::SetAside { reasons, output, .. } => {
                self.failure = Some((reasons.clone(), output.clone()));
            }
            Entry::Gated { findings, .. } => {
                self.failure = Some((findings.clone(), String::new()));
            }
            Entry::Passed { .. } | Entry::Written { .. } => {
                (self.failure, self.kept, self.is_split) = (None, None, false);
            }
            Entry::Modified { kind, .. } => {
                self.modified += 1;
                self.is_split |= *kind == Kind::Split;
                if kind.ends_attempt() {
                    self.failure = None;
                }
            }
            Entry::Kept { reference, .. } => self.kept = Some(reference.clone()),
            Entry::Committed { commit, .. } => self.commit = Some(commit.clone()),
            Entry::Red { check, result, .. } => self.first = Some((check.clone(), *result)),
            _ => {}
        }
    }
}

/// What a failed attempt at a task has left in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeftInTree {
    pub(super) key: TaskKey,
    /// Whether that loop has ended: since then another task may have the name of this
    /// one.
    pub(super) is_of_earlier_loop: bool,
    pub(super) paths: Vec<String>,
}

impl LeftInTree {
    /// Whether it was left at a task that is called like this in one of the two: the
    /// loop that is under way, or an earlier one.
    pub(super) fn is_of(&self, task: &TaskKey, of_earlier_loop: bool) -> bool {
        match self.is_of_earlier_loop || of_earlier_loop {
            true => self.is_of_earlier_loop && self.key == *task,
            false => self.key.id == task.id,
        }
    }
}

/// What stood in the tree before a task was worked on, and what its failed attempts
/// have left there since.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ground {
    now: Left,
    /// What stood before the last pass: a commit that git refuses makes a failure of
    /// it, and everything is there as before.
    before_pass: Option<(AttemptId, Left)>,
    launched_in_tree: Option<AttemptId>,
    /// What earlier attempts had left when the newest one was opened.
    found: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Left {
    /// What was uncommitted when the newest attempt was opened.
    dirty: Option<BTreeMap<String, String>>,
    /// What failed attempts have left.
    paths: Vec<String>,
}

impl Ground {
    pub(super) fn open(&mut self, attempt: &Attempt) {
        self.now.dirty = Some(attempt.dirty.clone());
        self.found = attempt.left_before.keys().cloned().collect();
    }

    pub(super) fn add(&mut self, entry: &Entry, id: &AttemptId) {
        match entry {
            Entry::Failed { changed, .. } => {
                if let Some((_, before)) = self.before_pass.take_if(|(passed, _)| passed == id) {
                    self.now = before;
                }
                self.now.paths.extend(changed.iter().cloned());
            }
            Entry::Waits { changed, .. } | Entry::Modified { changed, .. } => {
                self.now.paths.extend(changed.iter().cloned());
            }
            Entry::Red { left, .. } => {
                let dirty = self.now.dirty.get_or_insert_default();
                dirty.extend(left.iter().map(|(path, digest)| (path.clone(), digest.clone())));
            }
            Entry::Passed { .. } => {
                self.before_pass = Some((id.clone(), std::mem::take(&mut self.now)));
            }
            Entry::Launched { beside: false, .. } => self.launched_in_tree = Some(id.clone()),
            // What the attempt had changed was taken out; what it found there was not.
            Entry::Cleared { .. } if self.launched_in_tree.as_ref() == Some(id) => {
                self.now.paths = std::mem::take(&mut self.found);
            }
            _ => {}
        }
    }

    /// What was uncommitted before the work on the task began, of what is so now.
    pub(super) fn baseline(&self, dirty: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let Some(before) = &self.now.dirty else { return dirty.clone() };
        let stood = |(path, now): (&String, &String)| {
            let digest = if self.now.paths.contains(path) { before.get(path)? } else { now };
            Some((path.clone(), digest.clone()))
        };
        dirty.iter().filter_map(stood).collect()
    }
}
