//! What can happen to a loop, and what comes of it.

use crate::budget::Charge;
use crate::journal::{Changes, StateChange};
use crate::modify::Change;
use crate::progress::{Note, Section};
use crate::state::{Driver, Owner, PauseAfter, State};
use crate::tasks::{TaskEdit, TaskKey};

/// Something that happened to the loop.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Somebody wants the tasks worked.
    Start(Start),
    /// An attempt at each of these tasks begins, by index.
    Open(Vec<usize>),
    /// An attempt at each of these tasks begins too, by index: they join the batch
    /// that is worked on.
    Join(Vec<usize>),
    /// An attempt ended and every layer passed.
    Pass {
        /// The task, by index.
        index: usize,
        /// Whether nothing could be run to prove it.
        unverified: bool,
    },
    /// An attempt ended and some layer did not pass.
    Fail {
        /// The task, by index.
        index: usize,
        /// Why, in one sentence or a few.
        reason: String,
    },
    /// An attempt passed, but its work could not be committed: it has failed
    /// after all, and counts once.
    TakeBack {
        /// The task, by index.
        index: usize,
        /// Which attempt it was.
        attempt: u64,
        /// Why, in one sentence or a few.
        reason: String,
    },
    /// The work of a batch's task passed by itself, but not on top of the
    /// others': it is to be done again, alone. No failed attempt.
    SetAside {
        /// The task, by index.
        index: usize,
        /// Why, in one sentence or a few.
        reason: String,
    },
    /// The plan is changed as the executor of a task has asked; the task is done again. No
    /// failed attempt.
    Modify {
        /// The task, by index.
        index: usize,
        /// The change.
        change: Change,
    },
    /// An attempt ended and every layer passed, and its executor has asked for something
    /// to follow.
    PassAndFollow {
        /// The task, by index.
        index: usize,
        /// Whether nothing could be run to prove it.
        unverified: bool,
        /// What follows.
        change: Change,
    },
    /// The check on record failed while another one waits for a person's word:
    /// the task is not due before that. No failed attempt.
    Wait {
        /// The task, by index.
        index: usize,
        /// What a person is asked.
        reason: String,
    },
    /// The check of a task cannot be run, whatever an attempt does: the loop is to wait
    /// for a person. No failed attempt.
    Halt {
        /// The task, by index.
        index: usize,
        /// Why, and what a person is to do.
        reason: String,
    },
    /// A person says that a task is done.
    Tick {
        /// The task, by index.
        index: usize,
    },
    /// A person wants a task passed over. Its box stays open.
    Skip {
        /// The task, by index.
        index: usize,
    },
    /// A person wants a task worked on after all.
    Unskip {
        /// The task, by index.
        index: usize,
    },
    /// A person wants a task worked on once more: its box is opened, and it has all
    /// its attempts again.
    Retry {
        /// The task, by index.
        index: usize,
    },
    /// A person has the work of a task taken out again.
    Undo {
        /// The task, by index.
        index: usize,
    },
    /// A person wants the loop to wait once this is over.
    PauseAfter(PauseAfter),
    /// A phase begins that a person has to approve.
    AwaitApproval {
        /// Its heading.
        phase: String,
    },
    /// A person lets the loop go on to the phase that waits for it.
    Approve,
    /// The plan was edited, or a person has answered a question about it.
    Follow {
        /// The old ids with the new keys of tasks that are called otherwise now.
        renames: Vec<(String, TaskKey)>,
        /// The tasks that wait for nobody any more, by id.
        settled: Vec<String>,
    },
    /// An agent was started and has ended, or the run has worked for a while.
    Charge {
        /// What it is charged with.
        charge: Charge,
        /// Time worked since the last charge.
        millis: u64,
    },
    /// Somebody works on the spec from now on.
    Hold(Owner),
    /// The run or the session that worked the spec has ended.
    Release {
        /// Time worked since the last charge.
        millis: u64,
    },
    /// The loop is to wait for a person.
    Pause {
        /// Why, if it is not a person's wish.
        why: Option<String>,
    },
    /// A person lets it go on, and may let it use more than was agreed before.
    Resume(Raise),
    /// Nobody works the batch any more: a person has ticked or removed what was
    /// left of it.
    EndBatch,
    /// Nothing is left to do.
    Complete,
    /// A person ends the loop, whatever is open.
    Cancel,
}

/// How a loop is to be started. What is not said stays as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Start {
    /// Attempts for each task.
    pub max_task_iterations: Option<u64>,
    /// Attempts in all.
    pub max_global_iterations: Option<u64>,
    /// Whether a task that keeps failing gets a fix task.
    pub recovery_mode: Option<bool>,
    /// Whether to go on with what does not need a blocked task.
    pub keep_going: Option<bool>,
    /// Who drives.
    pub driver: Driver,
    /// Who works.
    pub owner: Option<Owner>,
    /// Most tokens.
    pub max_tokens: Option<u64>,
    /// Most dollars.
    pub max_cost: Option<f64>,
    /// Longest time of work, in milliseconds.
    pub max_millis: Option<u64>,
    /// Whether a person has to approve each phase.
    pub approve: Option<bool>,
}

/// What a loop may use from now on. What is not said stays as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Raise {
    /// Attempts in all.
    pub max_global_iterations: Option<u64>,
    /// Most tokens.
    pub max_tokens: Option<u64>,
    /// Most dollars.
    pub max_cost: Option<f64>,
    /// Longest time of work, in milliseconds.
    pub max_millis: Option<u64>,
}

impl Raise {
    /// Whether it says anything.
    pub fn says_something(&self) -> bool {
        *self != Raise::default()
    }
}

impl Start {
    /// Whether it lets a loop do more than was agreed before: use more, or begin phases
    /// that a person wants to approve.
    pub fn asks_for_more(&self, state: &State) -> bool {
        fn is_higher<T: PartialOrd>(wanted: Option<T>, agreed: Option<T>) -> bool {
            wanted.zip(agreed).is_some_and(|(wanted, agreed)| wanted > agreed)
        }
        let budget = &state.budget;
        is_higher(self.max_global_iterations, Some(state.max_global_iterations))
            || is_higher(self.max_tokens, budget.max_tokens)
            || is_higher(self.max_cost, budget.max_cost)
            || is_higher(self.max_millis, budget.max_millis)
            || (self.approve == Some(false) && state.approved.is_some())
    }
}

/// What the caller has to do, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Edit the task file.
    Edit(TaskEdit),
    /// Add a note to the progress file.
    Note(Note),
    /// Merge the notes of these parallel executors into the progress file, in
    /// this order, and delete them.
    MergeParts(Vec<usize>),
    /// Say so.
    Signal(Signal),
}

/// What the loop says of itself, in the words other programs wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// A task passed.
    TaskComplete,
    /// The last task of a batch has its verdict.
    BatchComplete,
    /// Every box is ticked.
    AllTasksComplete,
    /// The loop cannot go on by itself.
    Blocked,
}

/// What an event leads to.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The state from now on; `None` when there is none any more.
    pub state: Option<State>,
    /// What is to be done.
    pub effects: Vec<Effect>,
}

pub(super) fn edits(effects: &[Effect]) -> Vec<TaskEdit> {
    let edits = effects.iter().filter_map(|effect| match effect {
        Effect::Edit(edit) => Some(edit.clone()),
        _ => None,
    });
    edits.collect()
}

impl Step {
    /// The edits of the task file.
    pub fn edits(&self) -> Vec<TaskEdit> {
        edits(&self.effects)
    }

    /// What the loop says of itself.
    pub fn signals(&self) -> Vec<Signal> {
        let signals = self.effects.iter().filter_map(|effect| match effect {
            Effect::Signal(signal) => Some(*signal),
            _ => None,
        });
        signals.collect()
    }

    /// The ids of the fix tasks that are added.
    pub fn inserted(&self) -> Vec<String> {
        let fixes = self.effects.iter().filter_map(|effect| match effect {
            Effect::Edit(TaskEdit::InsertAfter { id, .. }) => Some(id.clone()),
            _ => None,
        });
        fixes.collect()
    }

    /// What is done to the files. `notes_of` gives what the executor at a
    /// position has noted, if it has.
    pub fn changes<E>(
        &self,
        mut notes_of: impl FnMut(usize) -> Result<Option<String>, E>,
    ) -> Result<Changes, E> {
        let state = match &self.state {
            Some(state) => StateChange::Write(state.to_object()),
            None => StateChange::Delete,
        };
        let mut changes = Changes { state, tasks: self.edits(), ..Changes::default() };
        for effect in &self.effects {
            match effect {
                Effect::Note(note) => changes.notes.push(note.clone()),
                Effect::MergeParts(indices) => {
                    for &index in indices {
                        if let Some(text) = notes_of(index)? {
                            changes.notes.push(Note { section: Section::Learnings, text });
                            changes.merged_parts.push(index);
                        }
                    }
                }
                Effect::Edit(_) | Effect::Signal(_) => {}
            }
        }
        Ok(changes)
    }
}
