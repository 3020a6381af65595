//! A run that cannot go on and stays: it holds nothing and asks no agent, and goes on
//! when a person lets it.

use std::time::Duration;

use specum_core::event::Outcome;
use specum_core::journal::Entry;
use specum_core::machine::{self, Due};
use specum_core::owner::Asker;
use specum_core::settings::Branch;

use super::{Options, RunError, Start, alone_in_tree};
use crate::attempt::Workspace;
use crate::{owner, process};

/// How often is looked whether a person has said something.
const LOOK: Duration = Duration::from_millis(100);

/// Whether a run with such an end can be let go on by a person.
pub fn waits_for_a_person(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Paused
        | Outcome::Waits { .. }
        | Outcome::Blocked { .. }
        | Outcome::Capped { .. }
        | Outcome::NoAgent { .. }
        | Outcome::Circuit { .. } => true,
        Outcome::Complete
        | Outcome::Planned
        | Outcome::ChosenDone { .. }
        | Outcome::Cancelled
        | Outcome::TakenOver
        | Outcome::Failed { .. }
        | Outcome::Interrupted => false,
    }
}

/// Tells the journal that a run stays which would have ended so.
pub fn tell_stay(workspace: &Workspace, outcome: &Outcome) -> Result<(), RunError> {
    Ok(workspace.store.lock()?.record(Entry::Stays { outcome: outcome.clone() })?)
}

/// Waits until a person lets the loop go on, which is `None`, or ends it.
pub fn stay(workspace: &Workspace) -> Option<Outcome> {
    loop {
        if process::interrupted_by().is_some() {
            return Some(Outcome::Interrupted);
        }
        if workspace.was_cancelled() {
            return Some(Outcome::Cancelled);
        }
        if workspace.is_complete() {
            return Some(Outcome::Complete);
        }
        // A file that cannot be read now may be with the next look.
        if may_go_on(workspace).unwrap_or(false) {
            return None;
        }
        workspace.world().clock.sleep(LOOK);
    }
}

fn may_go_on(workspace: &Workspace) -> Result<bool, RunError> {
    if !workspace.store.ledger()?.has_gone_on() {
        return Ok(false);
    }
    let view = workspace.store.read()?;
    let Some(state) = &view.state else { return Ok(false) };
    let me = workspace.world().launcher.me();
    if owner::holder(&workspace.store, Some(state), Asker::Runner(&me)).other().is_some() {
        return Ok(false);
    }
    let plan_record = workspace.store.plan_record()?;
    let due = machine::due(state, &view.file(), &workspace.scope, &plan_record);
    if !matches!(due, Due::Work(_) | Due::Complete) {
        return Ok(false);
    }
    // A person's verb may still be at it: it says so before its commit is made.
    Ok(alone_in_tree(workspace).is_ok())
}

impl Options {
    /// The same for a run that goes on: what was said of caps, the branch and sessions
    /// was said of its beginning, and a person may have said otherwise since.
    pub fn go_on(&mut self) {
        self.start = Start { driver: self.start.driver, ..Start::default() };
        self.branch = Branch::Here;
        self.take_over = false;
    }
}
