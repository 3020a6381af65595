//! How the ledger takes one record after another.

use std::collections::HashMap;

use super::task::{Ground, LeftInTree, TaskStory};
use super::{
    Call, GitChange, Held, LateWork, LaunchPlace, Ledger, LoopStanding, Progress, ReadyWork,
    UnchargedStart, Uncommitted,
};
use crate::attempt::{Attempt, AttemptId};
use crate::journal::{Entry, Record};
use crate::plan_record::PlanEdit;
use crate::spec::red::FirstResult;
use crate::tasks::TaskKey;

impl Ledger {
    /// Takes the next record.
    pub fn add(&mut self, record: &Record) {
        self.last_at.clone_from(&record.at);
        self.add_to_loop(record);
        self.add_persons_word(record);
        if let Some(attempt) = Attempt::opened_by(record) {
            self.open(attempt, record.run.is_some());
        }
        if let (Entry::Red { task, check, result, .. }, None) = (&record.entry, &record.id) {
            // When the plan was written, before there was any attempt.
            let red = (*result == FirstResult::Red).then(|| check.clone());
            TaskStory::of(&mut self.stories, task).planned_red = red;
            return;
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
            Entry::Started { plan, .. } => {
                if !plan.is_empty() {
                    // What an agent has used that was started after a cancel is no part of
                    // what a new loop spends.
                    self.uncharged.clear();
                }
                self.is_in_run = false;
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
            Entry::Completed { promise, .. } => {
                self.has_promised = *promise;
                self.end(LoopStanding::Completed);
            }
            Entry::Told { .. } => {
                self.untold.clear();
                self.late_work.swap(0, 1);
                self.late_work[1].clear();
            }
            Entry::Held { session } => {
                self.is_in_run = false;
                let held = Held { at: record.at.clone(), is_of_earlier_loop: false };
                self.sessions.insert(session.clone(), held);
            }
            Entry::Released { .. } => {
                self.calls.clear();
                self.at_work.clear();
            }
            Entry::RunEnded { .. } => {
                self.is_in_run = false;
                self.has_gone_on = false;
                // A run that could not write has not put away what its agents left, nor
                // taken back their ticks.
                let launched = &self.launched;
                self.at_work.retain(|id| launched.iter().any(|(other, _)| other == id));
            }
            // A run cleans up what others have left before it begins.
            Entry::RunStarted { .. } => {
                self.is_in_run = true;
                self.launched.clear();
                self.integrating = None;
            }
            Entry::GitChanged { before, after, what, .. } => {
                let (before, after, what) = (before.clone(), after.clone(), what.clone());
                self.git_change = Some(GitChange { before, after, what });
            }
            Entry::GitAccepted { .. } => self.git_change = None,
            Entry::Passed { .. } | Entry::Committed { .. } => self.results += 1,
            Entry::Modified { inserted, .. } => self.added += inserted.len(),
            Entry::PlanChanged { edits } => self.follow(edits),
            _ => {}
        }
    }

    /// What a person has said of the work.
    fn add_persons_word(&mut self, record: &Record) {
        self.words.add(record);
        match &record.entry {
            Entry::Retried { task } | Entry::Skipped { task } => {
                self.has_gone_on = true;
                let open = self.newest.get(&task.id).filter(|id| self.is_open(id)).cloned();
                if let (Entry::Retried { .. }, Some(id)) = (&record.entry, &open)
                    && let Some(progress) = self.attempts.get_mut(id)
                {
                    progress.is_once_more = true;
                }
                self.unwanted.extend(open);
            }
            Entry::Resumed
            | Entry::Approved { .. }
            | Entry::Unskipped { .. }
            | Entry::Ticked { .. }
            | Entry::Accepted { .. }
            | Entry::GitAccepted { .. }
            | Entry::Undone { .. }
            | Entry::Passed { .. } => self.has_gone_on = true,
            _ => {}
        }
    }

    fn let_calls_go(&mut self) {
        self.calls.clear();
        self.attempts.values_mut().for_each(|progress| progress.delegations = 0);
    }

    fn end(&mut self, standing: LoopStanding) {
        self.standing = standing;
        self.added = 0;
        self.left_branch = None;
        self.calls.clear();
        self.at_work.clear();
        self.uncharged.clear();
        self.unwanted.clear();
        self.sessions.values_mut().for_each(|held| held.is_of_earlier_loop = true);
        self.newest.clear();
        if standing == LoopStanding::Completed {
            self.left.clear();
            self.uncommitted.clear();
        }
        self.left.iter_mut().for_each(|left| left.is_of_earlier_loop = true);
        for story in self.stories.values_mut() {
            story.is_of_earlier_loop = true;
            (story.first, story.modified, story.is_split) = (None, 0, false);
            if standing == LoopStanding::Completed {
                story.ground = Ground::default();
            }
        }
        for (id, progress) in &mut self.attempts {
            progress.is_of_earlier_loop = true;
            // What its agent leaves is still to be put away, and nothing of the user's. A
            // run that has not heard of the end yet may start the agent of an open one.
            // What has passed is still to be committed.
            let was_open = std::mem::take(&mut progress.is_open);
            let is_launched = self.launched.iter().any(|(launched, _)| launched == id);
            let has_passed = self.uncommitted.iter().any(|passed| passed.attempt == *id);
            if !was_open && !is_launched && !has_passed {
                progress.attempt.slim();
            }
        }
    }

    fn open(&mut self, attempt: Attempt, is_untouched: bool) {
        let (id, name) = (attempt.id.clone(), attempt.key.id.clone());
        self.forget_launches(&name);
        TaskStory::of(&mut self.stories, &attempt.key).ground.open(&attempt);
        self.newest.insert(name.clone(), id.clone());
        let progress = Progress {
            attempt,
            first_name: name,
            order: self.attempts.len(),
            is_open: true,
            is_untouched,
            has_verdict: false,
            is_of_earlier_loop: false,
            delegations: 0,
            sent_back: 0,
            reported: None,
            ready: None,
            has_kept: false,
            is_once_more: false,
            is_isolated: false,
        };
        self.attempts.insert(id, progress);
    }

    fn add_to_story(&mut self, record: &Record, task: &TaskKey, id: &AttemptId) {
        if let Some(story) = self.story_of(task, id) {
            story.add(&record.entry, id);
        }
        match &record.entry {
            Entry::Failed { changed, .. }
            | Entry::Waits { changed, .. }
            | Entry::Modified { changed, .. } => {
                let is_of_earlier_loop = self.is_of_earlier_loop(id);
                let (key, paths) = (task.clone(), changed.clone());
                self.left.push(LeftInTree { key, is_of_earlier_loop, paths });
            }
            Entry::Committed { left, .. } => {
                let is_earlier = self.is_of_earlier_loop(id);
                // A task goes on in the next loop if it is still called the same.
                self.left.retain(|left| {
                    !left.is_of(task, is_earlier) && (is_earlier || !left.is_of(task, true))
                });
                self.left_by_checks.extend(left.iter().cloned());
            }
            Entry::Red { left, .. } => {
                self.left_by_checks.extend(left.keys().cloned());
                if let Some(progress) = self.attempts.get_mut(id) {
                    let left = left.iter().map(|(path, digest)| (path.clone(), digest.clone()));
                    progress.attempt.dirty.extend(left);
                }
            }
            Entry::Late { changed, .. } => {
                self.late.extend(changed.iter().cloned());
                let (task, changed) = (task.clone(), changed.clone());
                self.late_work[1].push(LateWork { task, changed });
            }
            _ => {}
        }
    }

    /// The story that an attempt belongs to. What is heard of an attempt of an earlier
    /// loop is no part of this one, in which another task may have the name of its own.
    fn story_of(&mut self, task: &TaskKey, id: &AttemptId) -> Option<&mut TaskStory> {
        match self.is_of_earlier_loop(id) {
            false => Some(TaskStory::of(&mut self.stories, task)),
            true => {
                let story = self.stories.get_mut(&task.id)?;
                (story.is_of_earlier_loop && story.key == *task).then_some(story)
            }
        }
    }

    fn is_of_earlier_loop(&self, id: &AttemptId) -> bool {
        self.attempts.get(id).is_some_and(|attempt| attempt.is_of_earlier_loop)
    }

    fn add_to_calls(&mut self, record: &Record, id: &AttemptId) {
        let Some(progress) = self.attempts.get_mut(id) else { return };
        match &record.entry {
            Entry::Delegated { task, tool_use_id, .. } => {
                self.is_in_run = false;
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
            Entry::Opened { .. } => self.is_at_work(task, id),
            Entry::Delegated { .. } => {
                self.is_at_work(task, id);
                self.is_touched(id);
            }
            Entry::Launched { agent, beside, isolated, log, .. } => {
                self.is_at_work(task, id);
                self.is_touched(id);
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
                self.uncharged.push(UnchargedStart { attempt, agent, at, log: log.clone() });
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

    fn is_touched(&mut self, id: &AttemptId) {
        if let Some(progress) = self.attempts.get_mut(id) {
            progress.is_untouched = false;
        }
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
        let is_modified =
            matches!(&record.entry, Entry::Modified { kind, .. } if kind.ends_attempt());
        let is_told = is_verdict || is_modified || matches!(record.entry, Entry::SetAside { .. });
        if is_told {
            self.untold.retain(|known| known.entry.task().is_none_or(|known| known.id != task.id));
            if !self.is_in_run {
                let (id, entry) = (record.id.clone(), verdict_alone(&record.entry));
                self.untold.push(Record { id, ..Record::new(record.at.clone(), entry) });
            }
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
        let is_judged = matches!(record.entry, Entry::Gated { .. } | Entry::Written { .. });
        if is_told || is_judged || matches!(record.entry, Entry::Cleared { .. }) {
            self.is_not_at_work(&task.id);
            self.calls.retain(|call| call.task.id != task.id);
            self.forget_launches(&task.id);
            self.unwanted.retain(|other| other != id);
            if let Some(progress) = self.attempts.get_mut(id) {
                progress.is_open = false;
                progress.has_verdict |= is_verdict || is_judged;
            }
        }
        let is_settled = matches!(record.entry, Entry::Committed { .. });
        if let Some(progress) = self.attempts.get_mut(id).filter(|_| is_settled) {
            progress.attempt.slim();
            (progress.reported, progress.ready) = (None, None);
            if let Some(story) = self.story_of(task, id) {
                story.ground = Ground::default();
            }
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
        self.words.rename(&renames);
        for late in self.late_work.iter_mut().flatten() {
            if let Some(to) = renames.get(late.task.id.as_str()) {
                late.task = (*to).clone();
            }
        }
        for left in self.left.iter_mut().filter(|left| !left.is_of_earlier_loop) {
            if let Some(to) = renames.get(left.key.id.as_str()) {
                left.key = (*to).clone();
            }
        }
        self.newest = renamed(std::mem::take(&mut self.newest), &renames);
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

/// A verdict without its output and files: a long loop has many, and what was
/// printed and changed is most of each.
fn verdict_alone(verdict: &Entry) -> Entry {
    let mut verdict = verdict.clone();
    if let Entry::Passed { changed, output, .. } | Entry::Failed { changed, output, .. } =
        &mut verdict
    {
        (*changed, *output) = (Vec::new(), String::new());
    }
    if let Entry::Waits { changed, output, .. } = &mut verdict {
        (*changed, *output) = (Vec::new(), String::new());
    }
    verdict
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
