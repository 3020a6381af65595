//! What is true about each task of the simulated plan: whose word is behind its
//! tick, which check counts, how often it was tried. Known by what happened in
//! the world, without asking the kernel.

use std::collections::{BTreeMap, BTreeSet};

use specum_core::tasks::{Task, TaskFile};

use super::plan::{Proof, soul};

/// A task that the loop has seen.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    /// The check that counts.
    pub(crate) check: Proof,
    /// A check that waits for a person's word.
    pub(crate) asked: Option<Proof>,
    /// The task was removed while somebody was at work, and no person has agreed.
    pub(crate) removal: bool,
    /// What it is called on record.
    pub(crate) name: String,
    /// Its lines when it was last seen, for a person who puts it back.
    pub(crate) block: Vec<u8>,
}

/// What is true about the tasks, each under the name that nobody changes.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    /// The tasks of the loop under way, as they were when somebody last looked.
    pub(crate) known: BTreeMap<String, Known>,
    /// Tasks whose work was good when it was judged.
    pub(crate) earned: BTreeSet<String>,
    /// Tasks that a person has ticked, or that were ticked when the loop began.
    pub(crate) by_person: BTreeSet<String>,
    /// Boxes that somebody has ticked while the loop was held, until somebody
    /// looks.
    pub(crate) rogue: BTreeSet<String>,
    /// Boxes that a person has ticked since somebody looked.
    unseen: BTreeSet<String>,
    /// Boxes that were rightly ticked and that somebody has opened since
    /// somebody looked.
    pub(crate) reopened: BTreeSet<String>,
    /// Tasks that somebody works on, as far as anybody has heard.
    pub(crate) at_work: BTreeSet<String>,
    /// How often an attempt at a task has begun in this loop.
    pub(crate) opened: BTreeMap<String, u64>,
    /// How often one has failed or was set aside.
    pub(crate) failed: BTreeMap<String, u64>,
    /// The checks that counted when something was checked since the newest attempt at
    /// a task began: a verdict rests on one of them, whatever a person accepts later.
    pub(crate) counted: BTreeMap<String, Vec<Proof>>,
}

impl Tasks {
    /// A loop begins with a plan as it stands: what is ticked counts.
    pub(crate) fn begin(&mut self, file: &TaskFile<'_>) {
        *self = Tasks::default();
        for task in &file.tasks {
            self.known.insert(soul(task), Known::of(file, task));
            if task.done {
                self.by_person.insert(soul(task));
            }
        }
    }

    /// specum has added tasks, which are on record at once.
    pub(crate) fn add(&mut self, file: &TaskFile<'_>) {
        for task in &file.tasks {
            self.known.entry(soul(task)).or_insert_with(|| Known::of(file, task));
        }
    }

    /// A check has run.
    pub(crate) fn checked(&mut self) {
        for (soul, known) in &self.known {
            let counted = self.counted.entry(soul.clone()).or_default();
            if !counted.contains(&known.check) {
                counted.push(known.check);
            }
        }
    }

    /// Whether something is behind the tick of a task.
    pub(crate) fn is_proved(&self, soul: &str) -> bool {
        self.earned.contains(soul) || self.by_person.contains(soul)
    }

    /// Nothing that was known of the tick of a task counts any more.
    pub(crate) fn forget_tick(&mut self, soul: &str) {
        self.earned.remove(soul);
        self.by_person.remove(soul);
        self.rogue.remove(soul);
    }

    /// Somebody opens a box: the task is to be done again.
    pub(crate) fn unticked(&mut self, soul: &str) {
        if self.is_proved(soul) && !self.unseen.remove(soul) {
            self.reopened.insert(soul.to_owned());
        }
        self.forget_tick(soul);
    }

    /// Somebody ticks a box. One that was rightly ticked before, and open for a
    /// moment while nobody looked, tells nobody.
    pub(crate) fn ticked(&mut self, soul: &str, held: bool) {
        if self.reopened.remove(soul) {
            self.by_person.insert(soul.to_owned());
        } else if held {
            self.rogue.insert(soul.to_owned());
        } else {
            self.unseen.insert(soul.to_owned());
            self.by_person.insert(soul.to_owned());
        }
    }

    /// The owner of the loop is gone, and nobody has looked since. If no task was
    /// being worked on, nobody can tell what that was from what a person did.
    pub(crate) fn holder_is_gone(&mut self) {
        if self.at_work.is_empty() {
            self.unseen.extend(self.rogue.iter().cloned());
            self.by_person.append(&mut self.rogue);
        }
    }

    /// Somebody has compared the plan with the record. `held`: whether somebody
    /// was at work, or may have been. Gives the boxes that are to be opened.
    pub(crate) fn reviewed(&mut self, file: &TaskFile<'_>, held: bool) -> BTreeSet<String> {
        let now: BTreeMap<String, &Task> =
            file.tasks.iter().map(|task| (soul(task), task)).collect();
        let souls: Vec<String> = self.known.keys().cloned().collect();
        for soul in souls.iter().filter(|soul| !now.contains_key(*soul)) {
            let is_asked = self.known[soul].removal;
            // One that was opened and then removed has been done when somebody
            // last looked.
            let was_done = self.is_proved(soul) || self.reopened.contains(soul);
            if held && !was_done {
                self.known.entry(soul.clone()).and_modify(|known| known.removal = true);
            } else if !is_asked {
                self.forget(soul);
            }
        }
        self.reopened.clear();
        self.unseen.clear();
        let mut unproved = BTreeSet::new();
        for (soul, task) in now {
            let known = self.known.entry(soul.clone()).or_insert_with(|| Known::of(file, task));
            known.look_at(file, task, held);
            match (task.done, self.is_proved(&soul)) {
                (true, false) if held => {
                    unproved.insert(soul);
                }
                (true, false) => {
                    self.by_person.insert(soul);
                }
                (false, true) => self.forget_tick(&soul),
                (true, true) | (false, false) => {}
            }
        }
        unproved
    }

    /// A task is no part of the plan any more. Its agent works on it until the
    /// attempt ends: that a person agrees does not end the agent of a run that died.
    pub(crate) fn forget(&mut self, soul: &str) {
        self.forget_tick(soul);
        self.known.remove(soul);
        self.opened.remove(soul);
        self.failed.remove(soul);
    }

    /// A person agrees to what waits.
    pub(crate) fn accepted(&mut self, soul: &str) {
        let Some(known) = self.known.get_mut(soul) else { return };
        if known.removal {
            return self.forget(soul);
        }
        if let Some(proof) = known.asked.take() {
            known.check = proof;
        }
    }

    /// Whether a person is asked about a task.
    pub(crate) fn is_asked(&self, soul: &str) -> bool {
        self.known.get(soul).is_some_and(|known| known.removal || known.asked.is_some())
    }
}

impl Known {
    fn of(file: &TaskFile<'_>, task: &Task) -> Known {
        Known {
            check: Proof::of(file, task),
            asked: None,
            removal: false,
            name: task.name(),
            block: file.block(task).to_vec(),
        }
    }

    fn look_at(&mut self, file: &TaskFile<'_>, task: &Task, held: bool) {
        let now = Proof::of(file, task);
        if now == self.check {
            self.asked = None;
        } else if self.asked != Some(now) {
            match held {
                true => self.asked = Some(now),
                false => (self.check, self.asked) = (now, None),
            }
        }
        self.removal = false;
        self.name = task.name();
        self.block = file.block(task).to_vec();
    }
}
