//! The text of a task file, scanned at most once.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use super::{Scanned, TaskFile};

/// The bytes of a task file, and what was found in them once somebody has asked.
#[derive(Debug, Default)]
pub struct TaskText {
    bytes: Vec<u8>,
    scanned: OnceLock<Arc<Scanned>>,
    /// What it was made from by setting boxes, which moves nothing: the boxes are
    /// named by their place.
    from: Option<(Arc<Scanned>, BTreeMap<usize, bool>)>,
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
        TaskText { bytes, from: Some((Arc::clone(&file.scanned), set)), ..TaskText::default() }
    }

    /// The tasks.
    pub fn file(&self) -> TaskFile<'_> {
        let scanned = self.scanned.get_or_init(|| match &self.from {
            Some((before, set)) => Arc::new(before.with_marks(set)),
            None => TaskFile::scan(&self.bytes).scanned,
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
    fn with_marks(&self, set: &BTreeMap<usize, bool>) -> Scanned {
        let mut after = Scanned { digest: OnceLock::new(), ..self.clone() };
        let tasks = after.tasks.iter_mut().map(|task| (task.mark, &mut task.done));
        let headings = after.headings.iter_mut().map(|heading| (heading.mark, &mut heading.done));
        for (mark, done) in tasks.chain(headings) {
            *done = set.get(&mark).copied().unwrap_or(*done);
        }
        after
    }
}
