//! The checks of the whole plan: what they are now, and which of them count.

use specum_core::journal::Entry;
use specum_core::machine::{self, Event};
use specum_core::plan_record::PlanRecord;
use specum_core::suite::{self, Suite};
use specum_core::tasks::TaskFile;

use super::review::{ReviewedPlan, at_work};
use super::{AttemptError, Workspace};
use crate::project;
use crate::store::{Locked, StoreError};

/// The checks of the whole plan that count for a loop, if it has recorded any; else
/// those that stand in the plan and in the settings.
pub(crate) fn counted_suite(record: &PlanRecord, plan: &[u8], set: Suite) -> Suite {
    match record.has_begun() {
        true => record.suite().clone(),
        false => suite::in_plan(plan).0.over(set),
    }
}

impl Workspace {
    /// The checks of the whole plan as they stand now: what was typed for this run counts
    /// most, then the plan, then the settings.
    pub fn suite_now(&self, plan: &[u8]) -> Suite {
        let settings = project::settings_at(self.world(), &self.spec.root);
        self.typed_suite.clone().over(suite::in_plan(plan).0).over(settings.run.suite)
    }

    /// The checks of the whole plan that count.
    pub fn suite(&self) -> Result<Suite, AttemptError> {
        let record = self.store.plan_record()?;
        if record.has_begun() {
            return Ok(record.suite().clone());
        }
        let tasks = self.store.read_tasks()?.unwrap_or_default();
        Ok(self.suite_now(tasks.file().text()))
    }

    /// Puts on record what differs from it. What counts from now on is left alone unless
    /// the plan has been reviewed before: tasks that have waited for it are due again.
    pub(super) fn review_suite(
        &self,
        locked: &Locked<'_>,
        reviewed: &mut ReviewedPlan,
        is_settled: bool,
    ) -> Result<(), StoreError> {
        let (Some(state), Some(tasks)) = (&reviewed.view.state, &reviewed.view.tasks) else {
            return Ok(());
        };
        let (record, ledger) = (self.store.plan_record()?, self.store.ledger()?);
        if !record.has_begun() || !ledger.is_under_way() {
            return Ok(());
        }
        let file = tasks.file();
        let during = at_work(&self.store, state, &ledger);
        drop(ledger);
        let found = record.review_suite(&self.suite_now(file.text()), during.as_deref());
        let Some(entry @ Entry::SuiteChanged { .. }) = found else { return Ok(()) };
        let is_asked = matches!(entry, Entry::SuiteChanged { during: Some(_), .. });
        if !is_asked && !is_settled {
            return Ok(());
        }
        let settled = waiting_for_it(&record, &file);
        drop(record);
        if is_asked || !state.task_results.values().any(|result| result.waits) {
            locked.record(entry)?;
        } else {
            let step = machine::step(state, &file, Event::Follow { renames: Vec::new(), settled });
            locked.write_step(entry, &step)?;
            reviewed.view.state = step.state;
        }
        reviewed.plan_record = self.store.plan_record()?;
        if is_asked {
            reviewed.news.extend(reviewed.plan_record.suite_question());
        }
        Ok(())
    }
}

/// The tasks that do not wait for an answer of their own.
pub(crate) fn waiting_for_it(record: &PlanRecord, file: &TaskFile<'_>) -> Vec<String> {
    let names = file.tasks.iter().map(specum_core::tasks::Task::name);
    let is_free = |name: &String| record.task(name).is_none_or(|known| known.unconfirmed.is_none());
    names.filter(is_free).collect()
}
