//! Checks that cannot be run, whatever an attempt does: the plan is to blame.

use specum_core::attempt::{Attempt, Ending, Judgement};
use specum_core::journal::Entry;
use specum_core::tasks::TaskFile;
use specum_core::verify::CheckRun;

use super::{AttemptError, Workspace};
use crate::lint;
use crate::store::{Locked, StoreError};

impl Workspace {
    /// Why the check of an attempt cannot be run at all, and who is to do something about
    /// it.
    pub(super) fn plan_fault(
        &self,
        opened: &Attempt,
        file: &TaskFile<'_>,
        check: &CheckRun,
    ) -> Option<String> {
        // Only the words depend on it.
        let suite = self.suite().unwrap_or_default();
        let why = lint::plan_fault(self.world(), &self.spec.root, file, &suite, check)?;
        Some(format!("{} cannot be checked: {why}", opened.key.shown()))
    }

    /// Whether what was found is no attempt's fault, because the check cannot be run.
    pub fn finds_plan_fault(
        &self,
        opened: &Attempt,
        check: &CheckRun,
    ) -> Result<bool, AttemptError> {
        let view = self.store.read()?;
        Ok(self.plan_fault(opened, &view.file(), check).is_some())
    }

    /// Says that the loop waits, and why, if a judgement has stopped it.
    pub(super) fn record_halt(
        &self,
        locked: &Locked<'_>,
        judged: &Judgement,
    ) -> Result<(), StoreError> {
        let Ending::Halts(why) = &judged.ending else { return Ok(()) };
        locked.record(Entry::Paused { why: Some(why.clone()), branch: None })
    }
}
