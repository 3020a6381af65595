//! A person's notes for the agents, and how long each counts.

use std::collections::HashMap;

use crate::attempt::AttemptId;
use crate::journal::{Entry, Record};
use crate::tasks::TaskKey;

/// The notes of a loop.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PersonsWords(Vec<Word>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    /// The task; `None`: every one.
    task: Option<TaskKey>,
    text: String,
    /// The attempt that has passed with it. A commit that git refuses makes a failure of
    /// a pass, and then it counts again.
    passed: Option<AttemptId>,
}

impl PersonsWords {
    pub(super) fn for_task(&self, key: &TaskKey) -> Vec<&str> {
        let counts = |word: &&Word| match &word.task {
            Some(task) => task.id == key.id && word.passed.is_none(),
            None => true,
        };
        self.0.iter().filter(counts).map(|word| word.text.as_str()).collect()
    }

    pub(super) fn add(&mut self, record: &Record) {
        match &record.entry {
            Entry::Noted { task, text } => {
                let (task, text) = (task.clone(), text.clone());
                self.0.push(Word { task, text, passed: None });
            }
            Entry::NoteWithdrawn { task } => {
                let id = task.as_ref().map(|task| &task.id);
                self.0.retain(|word| word.task.as_ref().map(|task| &task.id) != id);
            }
            Entry::Passed { task, .. } => {
                for word in self.0.iter_mut().filter(|word| word.is_about(task)) {
                    if word.passed.is_none() {
                        word.passed.clone_from(&record.id);
                    }
                }
            }
            Entry::Failed { task, .. } => {
                for word in self.0.iter_mut().filter(|word| word.is_about(task)) {
                    word.passed.take_if(|passed| record.id.as_ref() == Some(passed));
                }
            }
            Entry::Cancelled | Entry::Completed { .. } => self.0.clear(),
            _ => {}
        }
    }

    /// Lets each word follow its task.
    pub(super) fn rename(&mut self, renames: &HashMap<&str, &TaskKey>) {
        for task in self.0.iter_mut().filter_map(|word| word.task.as_mut()) {
            if let Some(to) = renames.get(task.id.as_str()) {
                *task = (*to).clone();
            }
        }
    }
}

impl Word {
    fn is_about(&self, task: &TaskKey) -> bool {
        self.task.as_ref().is_some_and(|about| about.id == task.id)
    }
}
