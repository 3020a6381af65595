//! Where the tasks on record stand in a file that somebody may have edited.

use std::collections::HashMap;

use super::OnRecord;
use crate::tasks::TaskFile;

/// The position in the file of each task on record; `None` if it is gone.
///
/// A task is found by its content first, so that a block that only got another
/// number is the same task; then by its id, or without one by its title; then,
/// without an id, by its place between the same neighbours. Of
/// several that look alike, the one with the same name comes first, then
/// whichever comes first in the file. One that is known to be gone takes the
/// place of none that is not.
pub(super) fn places(tasks: &[OnRecord], file: &TaskFile<'_>) -> Vec<Option<usize>> {
    let mut search = Search {
        // A place is no name: whatever was inserted in front has moved it.
        names: file.tasks.iter().map(|task| task.id.clone()).collect(),
        order: order(tasks),
        present: tasks.iter().filter(|task| !task.is_removal()).count(),
        places: vec![None; tasks.len()],
        taken: vec![false; file.tasks.len()],
    };
    let contents: Vec<String> = file.tasks.iter().map(|task| file.content(task).hex()).collect();
    search.by_name(tasks, |on_record, index| on_record.content == contents[index]);
    search.by(tasks, |on_record| &on_record.content, |index| Some(&contents[index]));
    // One that was gone has come back only if it is still called the same.
    search.by_name(tasks, |on_record, index| {
        !on_record.is_removal() || on_record.task.title == file.tasks[index].title
    });
    let has_no_id = |index: usize| file.tasks[index].id.is_none();
    if (0..file.tasks.len()).any(has_no_id) {
        let title = |index: usize| Some(&file.tasks[index].title).filter(|_| has_no_id(index));
        search.by(tasks, |on_record| &on_record.task.title, title);
        // Where others have ids, only those that had none are followed by their place.
        let is_placed = |at: &usize| !file.has_ids || tasks[*at].task.place().is_some();
        search.by_neighbours(is_placed, has_no_id);
    }
    search.places
}

/// The tasks in the order in which they are looked for: those that are gone
/// come last.
fn order(tasks: &[OnRecord]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|&at| tasks[at].is_removal());
    order
}

struct Search {
    names: Vec<Option<String>>,
    /// In which order the tasks are looked for.
    order: Vec<usize>,
    /// How many of them are not known to be gone.
    present: usize,
    places: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl Search {
    fn take(&mut self, at: usize, index: usize) {
        self.places[at] = Some(index);
        self.taken[index] = true;
    }

    /// Those of the same name, if they fit.
    fn by_name(&mut self, tasks: &[OnRecord], fits: impl Fn(&OnRecord, usize) -> bool) {
        let names = self.names.iter().enumerate();
        let names: HashMap<String, usize> =
            names.filter_map(|(index, name)| Some((name.clone()?, index))).collect();
        for at in self.order.clone() {
            let on_record = &tasks[at];
            if self.places[at].is_none()
                && let Some(&index) = names.get(on_record.removed().unwrap_or(&on_record.task.id))
                && !self.taken[index]
                && fits(on_record, index)
            {
                self.take(at, index);
            }
        }
    }

    /// Those that are alike in something, one after another.
    fn by<'f>(
        &mut self,
        tasks: &[OnRecord],
        on_record: impl Fn(&OnRecord) -> &str,
        in_file: impl Fn(usize) -> Option<&'f String>,
    ) {
        // Backwards, so that the first of several is the last of its list.
        let mut free: HashMap<&str, Vec<usize>> = HashMap::new();
        for index in (0..self.taken.len()).rev().filter(|&index| !self.taken[index]) {
            if let Some(value) = in_file(index) {
                free.entry(value).or_default().push(index);
            }
        }
        for at in self.order.clone() {
            if self.places[at].is_none()
                && let Some(index) = free.get_mut(on_record(&tasks[at])).and_then(Vec::pop)
            {
                self.take(at, index);
            }
        }
    }

    /// One that is missing and one that is new between the same neighbours are
    /// the same task with another title.
    fn by_neighbours(
        &mut self,
        is_placed: impl Fn(&usize) -> bool,
        may_be_new: impl Fn(usize) -> bool,
    ) {
        let present: Vec<usize> =
            self.order[..self.present].iter().filter(|at| is_placed(at)).copied().collect();
        let mut at = 0;
        while at < present.len() {
            let place = |at: usize| self.places[present[at]];
            if place(at).is_some() {
                at += 1;
                continue;
            }
            let missing = (at..present.len()).take_while(|&n| place(n).is_none()).count();
            let begin = at.checked_sub(1).and_then(place).map_or(0, |index| index + 1);
            let end = present.get(at + missing).and_then(|&below| self.places[below]);
            let end = end.unwrap_or(self.taken.len());
            let is_new = |index: &usize| !self.taken[*index] && may_be_new(*index);
            let new: Vec<usize> = (begin..end).filter(is_new).collect();
            if let ([index], 1) = (new.as_slice(), missing) {
                self.take(present[at], *index);
            }
            at += missing;
        }
    }
}
