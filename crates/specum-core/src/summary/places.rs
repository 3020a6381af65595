//! Attempts counted by their place: the first at a task, the second, and so on.
//!
//! The number of an attempt begins anew when a person gives its task another round, so
//! a task may have two attempts of one number. What people read, and name, is the place
//! of an attempt among all those that the loop has made at its task.

use std::collections::HashMap;

use crate::journal::{Entry, Record};
use crate::tasks::TaskKey;

/// The places of attempts, as far as records have been taken in.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// The newest attempt at each task, by the task's id.
    newest: HashMap<String, Newest>,
    is_in_loop: bool,
}

#[derive(Debug, Clone, Copy)]
struct Newest {
    number: u64,
    place: u64,
    is_judged: bool,
}

impl Places {
    /// The places of the attempts that these records tell of.
    pub fn of_records<'r>(records: impl IntoIterator<Item = &'r Record>) -> Places {
        let mut places = Places::default();
        records.into_iter().for_each(|record| places.take(&record.entry));
        places
    }

    /// Takes a record in.
    pub fn take(&mut self, entry: &Entry) {
        match entry {
            Entry::Started { .. } if !self.is_in_loop => {
                self.newest.clear();
                self.is_in_loop = true;
            }
            Entry::Completed { .. } | Entry::Cancelled => self.is_in_loop = false,
            Entry::Opened { task, attempt, .. } => self.open(task, *attempt),
            Entry::Passed { task, attempt, .. }
            | Entry::Failed { task, attempt, .. }
            | Entry::SetAside { task, attempt, .. }
            | Entry::Modified { task, attempt, .. }
            | Entry::Waits { task, attempt, .. } => {
                let newest = self.newest.get_mut(&task.id);
                if let Some(newest) = newest.filter(|newest| newest.number == *attempt) {
                    newest.is_judged = true;
                }
            }
            _ => {}
        }
    }

    /// An attempt begins, or is begun again after its worker was gone.
    fn open(&mut self, task: &TaskKey, number: u64) {
        let before = self.newest.get(&task.id).copied();
        let place = match before {
            Some(newest) if newest.number == number && !newest.is_judged => return,
            Some(newest) => newest.place.saturating_add(1),
            None => 1,
        };
        self.newest.insert(task.id.clone(), Newest { number, place, is_judged: false });
    }

    /// The place of the newest attempt of this number. Where no record has told of it,
    /// its number is the best there is.
    pub fn of(&self, task: &TaskKey, number: u64) -> u64 {
        let newest = self.newest.get(&task.id).filter(|newest| newest.number == number);
        newest.map_or(number, |newest| newest.place)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn take(places: &mut Places, event: &str, attempt: u64) -> u64 {
        let task = TaskKey { id: "1.1".into(), title: "a".into() };
        let entry = json!({"event": event, "task": task, "attempt": attempt, "block": "",
            "reasons": [], "tasks": 1, "open": 1});
        places.take(&serde_json::from_value(entry).unwrap());
        places.of(&task, attempt)
    }

    #[test]
    fn another_round_goes_on_counting_and_another_loop_begins_anew() {
        let mut places = Places::default();
        take(&mut places, "started", 0);
        assert_eq!(take(&mut places, "opened", 1), 1);
        assert_eq!(take(&mut places, "opened", 1), 1, "begun again after a crash");
        assert_eq!(take(&mut places, "failed", 1), 1);
        assert_eq!(take(&mut places, "opened", 2), 2);
        assert_eq!(take(&mut places, "failed", 2), 2);
        take(&mut places, "started", 0);
        assert_eq!(take(&mut places, "opened", 1), 3, "another round of the same loop");
        assert_eq!(take(&mut places, "failed", 1), 3);
        take(&mut places, "cancelled", 0);
        take(&mut places, "started", 0);
        assert_eq!(take(&mut places, "opened", 1), 1, "another loop");
    }
}
