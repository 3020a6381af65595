//! The text of a task file, scanned at most once.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock};

use super::{Scanned, TaskFile};

/// The bytes of a task file, and what was found in them once somebody has asked.
#[derive(Debug, Default)]
pub struct TaskText {
    bytes: Vec<u8>,
    scanned: OnceLock<Arc<Scanned>>,
    /// What it was made from by setting boxes. Taken by the first who asks.
    from: Mutex<Option<Origin>>,
}

/// A text before boxes were set in it, which moves nothing.
#[derive(Debug)]
struct Origin {
    scanned: Arc<Scanned>,
    /// What was set, by the place of the box.
    set: BTreeMap<usize, bool>,
}

impl TaskText {
    /// A copy of what a file is scanned from.
    pub(super) fn of(file: &TaskFile<'_>) -> TaskText {
        TaskText { scanned: Arc::clone(&file.scanned).into(), ..TaskText::from(file.text.to_vec()) }
    }

    /// The file with these boxes set, by their place.
    pub(super) fn with_marks(file: &TaskFile<'_>, set: BTreeMap<usize, bool>) -> TaskText {
        let mut bytes = file.text.to_vec();
        for (&at, &done) in &set {
            bytes[at] = if done { b'x' } else { b' ' };
        }
        let from = Mutex::new(Some(Origin { scanned: Arc::clone(&file.scanned), set }));
        TaskText { bytes, from, ..TaskText::default() }
    }

    /// The tasks.
    pub fn file(&self) -> TaskFile<'_> {
        let scanned = self.scanned.get_or_init(|| {
            let from = self.from.lock().ok().and_then(|mut from| from.take());
            match from {
                // Nothing is copied if the text from before is gone by now.
                Some(Origin { scanned, set }) => {
                    Arc::new(Arc::unwrap_or_clone(scanned).with_marks(&set))
                }
                None => TaskFile::scan(&self.bytes).scanned,
            }
        });
        TaskFile { text: &self.bytes, scanned: Arc::clone(scanned) }
    }

    /// The bytes alone.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl From<Vec<u8>> for TaskText {
    fn from(bytes: Vec<u8>) -> TaskText {
        TaskText { bytes, ..TaskText::default() }
    }
}

impl Deref for TaskText {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Scanned {
    /// What a scan would find with these boxes set.
    fn with_marks(mut self, set: &BTreeMap<usize, bool>) -> Scanned {
        self.digest = OnceLock::new();
        let tasks = self.tasks.iter_mut().map(|task| (task.mark, &mut task.done));
        let headings = self.headings.iter_mut().map(|heading| (heading.mark, &mut heading.done));
        for (mark, done) in tasks.chain(headings) {
            *done = set.get(&mark).copied().unwrap_or(*done);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::TaskEdit;

    #[test]
    fn finding_55_a_tick_copies_no_task_once_the_text_before_it_is_gone() {
        let before = TaskText::from(b"- [ ] 1.1 a\n- [ ] 1.2 b\n".to_vec());
        let tick = [TaskEdit::Tick(before.file().tasks[1].key())];
        let title = before.file().tasks[0].title.as_ptr();
        let after = TaskEdit::apply_to(&tick, &before.file());
        drop(before);
        assert_eq!(after.file().tasks[0].title.as_ptr(), title);
        assert_eq!(after.file().tasks, TaskFile::scan(&after).tasks);
        assert_eq!(after.file().digest(), TaskFile::scan(&after).digest());
        // While it is there, it stays as it was.
        let again =
            TaskEdit::apply_to(&[TaskEdit::Untick(after.file().tasks[1].key())], &after.file());
        assert_eq!((again.file().done_count(), after.file().done_count()), (0, 1));
    }
}
