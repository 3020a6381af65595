//! Where a spec stands.

use schemars::JsonSchema;
use serde::Serialize;
use specum_core::machine;
use specum_core::owner::{Asker, Holder};
use specum_core::picture::Picture;
use specum_core::plan::{self, Scope};
use specum_core::state::{Driver, Standing, State};
use specum_core::summary::{Attempt, AttemptResult, Summary};
use specum_core::tasks::{Task, TaskFile};

use super::picture::{Known, picture_from};
use super::tasks::{self, StatusTask};
use super::{Caller, OpError};
use crate::owner;
use crate::store::Store;

/// Where a spec stands. Fields of the loop are null without one.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The spec.
    #[serde(rename = "spec")]
    pub name: String,
    /// Where it is, from the project's root.
    pub path: String,
    /// The phase of the loop.
    pub phase: Option<String>,
    /// How many boxes are ticked.
    pub done: usize,
    /// How many boxes there are.
    pub total: usize,
    /// The id of the task that is due next.
    pub next: Option<String>,
    /// Which attempt at this task is next.
    pub task_iteration: Option<u64>,
    /// How many attempts a task may have.
    pub max_task_iterations: Option<u64>,
    /// Which attempt of the loop is next.
    pub global_iteration: Option<u64>,
    /// How many attempts the loop may have.
    pub max_global_iterations: Option<u64>,
    /// Whether the loop waits for `specum resume`.
    pub paused: bool,
    /// Why it waits, unless a person wanted it to.
    pub paused_for: Option<String>,
    /// Why the loop cannot go on by itself.
    pub blocked: Option<String>,
    /// What sends a session back to work.
    pub driver: Option<StatusDriver>,
    /// Who works on the spec, in words.
    pub held_by: String,
    /// Tasks that passed without a check.
    pub unverified: Vec<String>,
    /// Tasks that were checked by the checks of the whole plan alone.
    pub by_suite: Vec<String>,
    /// Tasks whose check passed before the work already.
    pub green_before: Vec<String>,
    /// Tasks that a person ticked.
    pub by_person: Vec<String>,
    /// What waits for a person's word, and lines that look like a box and are none.
    pub questions: Vec<String>,
    /// Checks that were changed during an attempt and did not count, in words.
    pub overruled_checks: Vec<String>,
    /// Work that was taken out of the tree and kept.
    pub kept: Vec<KeptWork>,
    /// How many attempts were opened.
    pub attempts: usize,
    /// How many of them were worked on.
    pub worked: usize,
    /// How long they took, one added to the other.
    pub millis: u64,
    /// The tokens they used; null if no agent counts them.
    pub tokens: Option<u64>,
    /// The dollars they cost; null if no agent names its price.
    pub cost: Option<f64>,
    /// Whether part of that is an estimate.
    pub estimated: bool,
    /// How the last run ended, in its words.
    pub last_run: Option<String>,
    /// Every task of the plan.
    pub tasks: Vec<StatusTask>,
    /// The same as a person asks for it, as every view shows it.
    pub picture: Picture,
}

/// What sends a session back to work when it stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StatusDriver {
    /// specum's own Stop hook.
    Hook,
    /// The Ralph Loop plugin of Claude Code.
    RalphLoop,
}

/// Work that was taken out of the tree and kept.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KeptWork {
    /// The task.
    pub task: String,
    /// The attempt's number.
    pub attempt: u64,
    /// Its place among the attempts at the task, from 1.
    pub place: u64,
    /// The git reference that holds it.
    pub reference: String,
    /// How many files were changed.
    pub files: usize,
}

/// Where a spec stands.
pub fn status(caller: &Caller<'_>, named: Option<&str>) -> Result<Status, OpError> {
    let (_, spec) = caller.named(named)?;
    let store = Store::of(&spec);
    let view = store.read()?;
    let (state, file) = (view.state.as_ref(), view.file());
    let records = store.read_journal()?;
    let summary = Summary::of(&records, &file);
    let holder = owner::holder(&store, state, Asker::Person);
    let tasks = tasks::tasks(&spec, &file, &records, &summary, state, holder != Holder::Nobody);
    let worked = worked(&summary);
    let known = Known { state, file: &file, records: &records, summary: &summary, trouble: None };
    let picture = picture_from(&spec, &store, known);
    let (paused, paused_for) = match state.map(|state| &state.standing) {
        Some(Standing::Paused(why)) => (true, why.clone()),
        _ => (false, None),
    };
    Ok(Status {
        name: spec.name,
        path: spec.shown,
        phase: state.map(|state| state.phase.as_str().to_owned()),
        done: file.done_count(),
        total: file.count(),
        next: next(state, &file).map(Task::name),
        task_iteration: state.map(|state| state.task_iteration),
        max_task_iterations: state.map(|state| state.max_task_iterations),
        global_iteration: state.map(|state| state.global_iteration),
        max_global_iterations: state.map(|state| state.max_global_iterations),
        paused,
        paused_for,
        blocked: state.and_then(State::blocked).cloned(),
        driver: state.map(|state| match state.driver {
            Driver::Hook => StatusDriver::Hook,
            Driver::RalphLoop => StatusDriver::RalphLoop,
        }),
        held_by: holder.to_string(),
        unverified: summary.unverified,
        by_suite: summary.by_suite,
        green_before: summary.green_before,
        by_person: summary.by_person,
        questions: summary.questions.into_iter().chain(file.questions()).collect(),
        overruled_checks: summary.overruled_checks,
        kept: summary
            .kept
            .into_iter()
            .map(|kept| KeptWork {
                task: kept.task,
                attempt: kept.attempt,
                place: kept.place,
                reference: kept.reference,
                files: kept.files,
            })
            .collect(),
        attempts: summary.attempts,
        worked,
        millis: summary.millis,
        tokens: summary.spent.tokens,
        cost: summary.spent.cost,
        estimated: summary.spent.estimated,
        last_run: summary.last_run,
        tasks,
        picture,
    })
}

/// What is due next; a task that waits for a person is not.
fn next<'t>(state: Option<&State>, file: &'t TaskFile<'_>) -> Option<&'t Task> {
    let index = match state {
        Some(state) => machine::unit(state, file, &Scope::all(1)).tasks().first().copied(),
        None => plan::current(&file.tasks),
    };
    index.map(|index| &file.tasks[index])
}

/// How many attempts took anything: one that was opened and never worked did not.
fn worked(summary: &Summary) -> usize {
    let is_worked = |attempt: &&Attempt| {
        attempt.result != AttemptResult::Open || attempt.millis > 0 || !attempt.agents.is_empty()
    };
    summary.tasks.iter().flat_map(|task| &task.attempts).filter(is_worked).count()
}
