//! An attempt that was judged, and what the journal says of it.

use super::{Attempt, Ending};
use crate::journal::Entry;
use crate::machine::{Signal, Step};
use crate::tasks::TaskKey;
use crate::verify::{CheckOutcome, Failure, FailureClass, Proof, Verdict};

/// An attempt that was judged.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// The task.
    pub key: TaskKey,
    /// Which attempt it was.
    pub attempt: u64,
    /// What the layers said.
    pub verdict: Verdict,
    /// What follows from it.
    pub ending: Ending,
    /// The reference that holds its work while a person is asked.
    pub kept: Option<String>,
    /// The end of the Verify command's output.
    pub output: String,
    /// How the check ended; `None` if nothing was run.
    pub check: Option<CheckOutcome>,
    /// The commit, if there was something to commit.
    pub commit: Option<String>,
    /// What the loop says of itself.
    pub signals: Vec<Signal>,
    /// The ids of fix tasks that were added.
    pub fixes: Vec<String>,
    /// The ids of tasks that were added because its executor has asked for them.
    pub added: Vec<String>,
    /// Other tasks' boxes that were ticked meanwhile, and opened again.
    pub unticked: Vec<String>,
    /// What the attempt changed.
    pub changed: Vec<String>,
    /// Whether there is a repository, so that a pass is to be committed.
    pub to_commit: bool,
    /// The commit that holds its work, if that is not in the user's tree.
    pub isolated: Option<String>,
}

/// A pass that does not hold: its work could not be committed, or fails as it was
/// committed.
#[derive(Debug)]
pub struct TakenBack {
    /// Why.
    pub failure: Failure,
    /// The end of what the check has printed, if it was run again.
    pub output: String,
    /// What the attempt leaves uncommitted.
    pub left: Vec<String>,
}

impl Judgement {
    /// A verdict and what follows from it, on an attempt that has changed these files.
    pub fn new(
        opened: &Attempt,
        verdict: Verdict,
        ending: Ending,
        changed: Vec<String>,
    ) -> Judgement {
        Judgement {
            key: opened.key.clone(),
            attempt: opened.number,
            verdict,
            ending,
            kept: None,
            output: String::new(),
            check: None,
            commit: None,
            signals: Vec::new(),
            fixes: Vec::new(),
            added: Vec::new(),
            unticked: Vec::new(),
            changed,
            to_commit: false,
            isolated: None,
        }
    }

    /// The judgement on an attempt that another process found to have passed.
    pub fn of_passed(opened: &Attempt, changed: Vec<String>) -> Judgement {
        let verdict = Verdict { proof: Proof::Check, ..Verdict::failed(Vec::new()) };
        Judgement::new(opened, verdict, Ending::Passed, changed)
    }

    /// Whether the task is done.
    pub fn passed(&self) -> bool {
        self.ending == Ending::Passed
    }

    /// What a person is asked before the task is due again.
    pub fn question(&self) -> Option<&str> {
        match &self.ending {
            Ending::Waits(question) | Ending::Halts(question) => Some(question),
            _ => None,
        }
    }

    /// Takes over what a step says of the loop.
    pub fn learn_from(&mut self, step: &Step) {
        self.signals = step.signals();
        self.fixes = step.inserted();
    }

    /// The same attempt, whose pass is taken back.
    pub fn taken_back(&self, back: &TakenBack) -> Judgement {
        let mut failed = self.clone();
        failed.ending = Ending::Failed;
        failed.verdict.failures.push(back.failure.clone());
        failed.output.clone_from(&back.output);
        // The end that is known is that of the check that had passed.
        if back.failure.class == FailureClass::Verify {
            failed.check = None;
        }
        failed.changed.clone_from(&back.left);
        failed
    }

    /// The record of an attempt that has taken so long.
    pub fn entry(&self, opened: &Attempt, millis: u64) -> Entry {
        let (task, attempt) = (opened.key.clone(), opened.number);
        let (output, unticked) = (self.output.clone(), self.unticked.clone());
        let check = self.check.clone().map(Box::new);
        let messages = self.verdict.failures.iter().map(|failure| failure.message.clone());
        let reasons: Vec<String> = messages.collect();
        match &self.ending {
            Ending::SentBack => Entry::SentBack { task, attempt, reasons },
            Ending::SetAside => Entry::SetAside { task, attempt, reasons, unticked, output, check },
            Ending::Modified(change) => Entry::Modified {
                task,
                attempt,
                kind: change.kind,
                inserted: change.inserted(),
                why: change.why.clone(),
                changed: self.changed.clone(),
                unticked,
            },
            Ending::Waits(question) | Ending::Halts(question) => {
                let (reasons, changed) = (vec![question.clone()], self.changed.clone());
                Entry::Waits { task, attempt, reasons, unticked, output, changed }
            }
            Ending::Passed => Entry::Passed {
                task,
                attempt,
                unverified: self.verdict.unverified(),
                proof: Some(self.verdict.proof),
                changed: self.changed.clone(),
                to_commit: self.to_commit,
                outside: self.verdict.outside.clone(),
                proofs: self.verdict.proofs.clone(),
                unticked,
                output,
                check,
                millis,
                isolated: self.isolated.clone(),
            },
            Ending::Failed => Entry::Failed {
                task,
                attempt,
                changed: self.changed.clone(),
                reasons,
                class: self.verdict.class(),
                layers: self.verdict.classes(),
                fixes: self.fixes.clone(),
                unticked,
                output,
                check,
                millis,
            },
        }
    }
}
