//! Old records under the names that tasks have now.
//!
//! A person may renumber a plan, or insert a task into one without ids, while a
//! loop is under way. The loop records which task is which; a reader who
//! follows that can compare records by name.

use std::collections::HashMap;

use super::{Entry, Record};
use crate::plan_record::PlanEdit;
use crate::tasks::TaskKey;

/// Lets every record call its task what it is called now. Records in front of
/// `from` have been followed already, by each other.
pub fn follow_renames(records: &mut [Record], from: usize) {
    for at in from..records.len() {
        let Entry::PlanChanged { edits } = &records[at].entry else { continue };
        let renames: HashMap<String, TaskKey> = edits
            .iter()
            .filter_map(|edit| match edit {
                PlanEdit::Renamed { from, to } => Some((from.id.clone(), to.clone())),
                _ => None,
            })
            .collect();
        if renames.is_empty() {
            continue;
        }
        let renames = renames.iter().map(|(from, to)| (from.as_str(), to)).collect();
        let earlier = records[..at].iter_mut().rev();
        for record in earlier.take_while(|record| !record.entry.ends_the_loop()) {
            record.entry.rename(&renames);
        }
    }
}

impl Entry {
    /// Whether the loop is over with this record.
    fn ends_the_loop(&self) -> bool {
        matches!(self, Entry::Cancelled | Entry::Completed { .. })
    }

    pub(crate) fn rename(&mut self, renames: &HashMap<&str, &TaskKey>) {
        let rename = |key: &mut TaskKey| {
            if let Some(to) = renames.get(key.id.as_str()) {
                *key = (*to).clone();
            }
        };
        match self {
            Entry::Started { plan, .. } => {
                plan.iter_mut().for_each(|planned| rename(&mut planned.task));
            }
            Entry::PlanChanged { edits } => {
                for edit in edits {
                    match edit {
                        PlanEdit::Recorded(planned) => rename(&mut planned.task),
                        PlanEdit::Removed(task)
                        | PlanEdit::Unconfirmed { task, .. }
                        | PlanEdit::Reworded { task, .. }
                        | PlanEdit::Withdrawn(task)
                        | PlanEdit::Ticked(task)
                        | PlanEdit::Reopened(task) => rename(task),
                        PlanEdit::Renamed { .. } => {}
                    }
                }
            }
            Entry::Unticked { tasks } | Entry::Told { tasks } => {
                for name in tasks {
                    if let Some(to) = renames.get(name.as_str()) {
                        name.clone_from(&to.id);
                    }
                }
            }
            Entry::Opened { task, was, .. } => {
                if renames.contains_key(task.id.as_str()) {
                    was.push(task.id.clone());
                }
                rename(task);
            }
            other => {
                if let Some(task) = other.task_mut() {
                    rename(task);
                }
            }
        }
    }
}
