//! What differs between a plan and the one on record.

use std::collections::HashMap;

use super::{Change, Lines, OnRecord, PlanEdit, PlannedTask, renames};
use crate::state::State;
use crate::tasks::{Task, TaskFile, TaskKey};

/// What a review has found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Review {
    /// For the record.
    pub edits: Vec<PlanEdit>,
    /// Boxes that are ticked with nothing behind it.
    pub unproved: Vec<TaskKey>,
    /// Whether tasks cannot be told apart, because they have one id.
    pub has_doubles: bool,
}

impl Review {
    /// The old ids with the new keys of the tasks that are called otherwise now.
    pub fn renames(&self) -> HashMap<&str, &TaskKey> {
        renames(&self.edits)
    }

    /// Notes in the state whether somebody has to look at this plan again, once
    /// the edits are on record.
    pub fn note_in(&self, state: &mut State, file: &TaskFile<'_>) {
        if let Some(plan) = &mut state.plan {
            let is_settled = self.unproved.is_empty() && !self.has_doubles;
            *plan = if is_settled { file.digest().hex() } else { String::new() };
        }
    }

    /// The tasks whose questions are new, or settled without a person.
    pub fn settled(&self) -> impl Iterator<Item = &TaskKey> {
        self.edits.iter().filter_map(|edit| match edit {
            PlanEdit::Withdrawn(task) => Some(task),
            PlanEdit::Recorded(planned) => Some(&planned.task),
            _ => None,
        })
    }
}

/// A loop that an earlier version began has nothing on record: what is ticked
/// counts, but for what is being worked on.
pub(super) fn first_sight(file: &TaskFile<'_>, during: Option<&str>) -> Review {
    let at_work: Vec<&str> = during.unwrap_or_default().split(", ").collect();
    let mut review = Review::default();
    for task in &file.tasks {
        let is_at_work = at_work.contains(&task.name().as_str());
        let planned = PlannedTask::of(file, task, task.done && !is_at_work);
        review.edits.push(PlanEdit::Recorded(planned));
        if task.done && is_at_work {
            review.unproved.push(task.key());
        }
    }
    review
}

impl Review {
    /// A check that waits does not count, but the task is found by it.
    fn reword(&mut self, task: &TaskKey, content: String, reads_otherwise: bool) {
        if reads_otherwise {
            self.edits.push(PlanEdit::Reworded { task: task.clone(), content });
        }
    }

    /// A task that is gone from the plan.
    pub(super) fn missing(
        &mut self,
        on_record: &OnRecord,
        name: Option<TaskKey>,
        during: Option<&str>,
    ) {
        let task = name.clone().unwrap_or_else(|| on_record.task.clone());
        if let Some(to) = name {
            self.edits.push(PlanEdit::Renamed { from: on_record.task.clone(), to });
        }
        if on_record.may_go(during) {
            self.edits.push(PlanEdit::Removed(task));
        } else if let Some(during) = during.filter(|_| !on_record.is_removal()) {
            let change = Change::Removed(on_record.task.id.clone());
            self.edits.push(PlanEdit::Unconfirmed { task, change, during: during.to_owned() });
        }
    }

    /// A task as it stands with the same one on record.
    pub(super) fn compare(
        &mut self,
        on_record: &OnRecord,
        file: &TaskFile<'_>,
        task: &Task,
        during: Option<&str>,
    ) {
        let key = task.key();
        if key != on_record.task {
            let (from, to) = (on_record.task.clone(), key.clone());
            self.edits.push(PlanEdit::Renamed { from, to });
        }
        let asked = on_record.unconfirmed.as_ref().map(|asked| &asked.change);
        let now = Lines::of(file, task);
        // Putting a task back is no answer to what was asked about its check.
        let still_asked = on_record.asked_before.as_ref().filter(|_| on_record.is_removal());
        let still_asked = still_asked.filter(|asked| asked.change == Change::Check(now.clone()));
        let changed_during = during.or(still_asked.map(|asked| asked.during.as_str()));
        let content = file.content(task).hex();
        let reads_otherwise = content != on_record.content;
        if now == on_record.check {
            if reads_otherwise {
                self.edits.push(PlanEdit::Recorded(PlannedTask::of(file, task, false)));
            } else if asked.is_some() {
                self.edits.push(PlanEdit::Withdrawn(key.clone()));
            }
        } else if let Some(during) =
            changed_during.filter(|_| asked != Some(&Change::Check(now.clone())))
        {
            let (task, change, during) = (key.clone(), Change::Check(now), during.to_owned());
            self.edits.push(PlanEdit::Unconfirmed { task, change, during });
            self.reword(&key, content, reads_otherwise);
        } else if asked == Some(&Change::Check(now)) {
            self.reword(&key, content, reads_otherwise);
        } else {
            self.edits.push(PlanEdit::Recorded(PlannedTask::of(file, task, false)));
        }
        match (task.done, on_record.proof, during) {
            (true, None, Some(_)) => self.unproved.push(key),
            (true, None, None) => self.edits.push(PlanEdit::Ticked(key)),
            (false, Some(_), _) => self.edits.push(PlanEdit::Reopened(key)),
            (true, Some(_), _) | (false, None, _) => {}
        }
    }
}
