//! What each requirement has come to: the components and tasks that are there for it,
//! and what proves them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use specum_core::spec::gate::Spec;
use specum_core::spec::id::Id;
use specum_core::spec::trace::{Graph, Row, Stale, TraceFile, matrix};
use specum_core::summary::{Attempt, AttemptResult, Summary, TaskSummary};
use specum_core::tasks::{self, Task, TaskFile};
use specum_core::verify::Proof;

use super::{Caller, OpError};
use crate::documents::{Documents, TRACE_FILE, read_trace};
use crate::store::Store;

/// What the requirements of a spec have come to.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Trace {
    /// The spec.
    #[serde(rename = "spec")]
    pub name: String,
    /// How many requirements are named by a task.
    pub covered: usize,
    /// How many have only tasks that are done and were checked.
    pub proven: usize,
    /// The requirements, in their order.
    pub requirements: Vec<TracedRequirement>,
    /// What stands on something that has changed since it was recorded.
    pub stale: Vec<StalePart>,
    /// Whether it was recorded what each part stood on; without that nothing is stale.
    pub recorded: bool,
}

/// A requirement, and what there is for it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TracedRequirement {
    /// Its id.
    pub id: String,
    /// What it says.
    pub text: String,
    /// Must, Should or Could; null if it does not say.
    pub priority: Option<String>,
    /// What is measured; null unless it is a non-functional one.
    pub measure: Option<String>,
    /// The criteria that it stands on.
    pub criteria: Vec<String>,
    /// The components that are there for it.
    pub components: Vec<String>,
    /// The tasks that are there for it.
    pub tasks: Vec<TracedTask>,
    /// Whether all of them are done and were checked.
    pub proven: bool,
}

/// A task that is there for a requirement.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TracedTask {
    /// The task.
    pub task: String,
    /// Whether its box is ticked.
    pub done: bool,
    /// Whether it passed a check.
    pub checked: bool,
    /// What its tick rests on: `red-green`, `earlier`, `guard`, `green-before`, `check`,
    /// `suite` or `none`; null as long as it has not passed.
    pub proof: Option<String>,
    /// The commands that check it, as one line; null if none does.
    pub check: Option<String>,
    /// The commit with its work; null if there is none.
    pub commit: Option<String>,
}

/// A part of a spec that stands on what has changed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StalePart {
    /// Its id, or `task 1.2`.
    #[serde(rename = "part")]
    pub name: String,
    /// The document that it stands in.
    pub document: String,
    /// Its line, from 1.
    pub line: usize,
    /// What has changed or is gone.
    pub because: Vec<String>,
}

/// What the requirements of a spec have come to. With `rebuild`, what each part stands on
/// is recorded as it is now.
pub fn trace(caller: &Caller<'_>, named: Option<&str>, rebuild: bool) -> Result<Trace, OpError> {
    let (_, spec) = caller.named(named)?;
    let store = Store::of(&spec);
    let documents = Documents::read(caller.world, &spec.dir)?;
    let parsed = Spec::of(documents.texts());
    if parsed.requirements().is_none() {
        return Err(OpError::NotFound(format!(
            "{} states no requirements: write requirements.md with ids such as FR-1 and AC-1.1, or \
             `## Requirements` in tasks.md",
            spec.shown
        )));
    }
    let graph = Graph::of(&parsed);
    let recorded = if rebuild {
        Some(record(caller, &store, &graph)?)
    } else {
        read_trace(caller.world, &spec.dir)?
    };
    let empty = TaskFile::scan(b"");
    let file = parsed.tasks().unwrap_or(&empty);
    let summary = Summary::of_all_loops(&store.read_story()?, file);
    let lookup = caller.world.lookup(&spec.root);
    let by_id: BTreeMap<&str, &TaskSummary> =
        summary.tasks.iter().map(|task| (task.id.as_str(), task)).collect();
    let task = |task: &Task| {
        let commands = file.fields(task).verify.map(|check| check.commands(&lookup));
        let shown = commands.filter(|all| !all.is_empty()).map(|all| tasks::joined(&all));
        let name = task.name();
        traced(task, shown, by_id.get(name.as_str()).copied())
    };
    let requirement = |row: Row| {
        let tasks: Vec<TracedTask> = row.tasks.iter().map(|at| task(&file.tasks[*at])).collect();
        let names = |ids: &[Id]| ids.iter().map(Id::to_string).collect();
        TracedRequirement {
            id: row.id.to_string(),
            text: row.text,
            priority: row.priority,
            measure: row.target,
            criteria: names(&row.criteria),
            components: row.components,
            proven: !tasks.is_empty() && tasks.iter().all(|task| task.done && task.checked),
            tasks,
        }
    };
    let requirements: Vec<TracedRequirement> =
        matrix(&parsed).into_iter().map(requirement).collect();
    let stale = recorded.as_ref().map(|recorded| graph.stale(recorded)).unwrap_or_default();
    Ok(Trace {
        name: spec.name.clone(),
        covered: requirements.iter().filter(|one| !one.tasks.is_empty()).count(),
        proven: requirements.iter().filter(|one| one.proven).count(),
        requirements,
        stale: shown(&stale),
        recorded: recorded.is_some(),
    })
}

/// Stale parts, as an answer has them.
pub(super) fn shown(stale: &[Stale]) -> Vec<StalePart> {
    let part = |stale: &Stale| StalePart {
        name: stale.name.clone(),
        document: stale.doc.file().to_owned(),
        line: stale.line,
        because: stale.because.clone(),
    };
    stale.iter().map(part).collect()
}

impl StalePart {
    /// In a clause.
    pub fn in_words(&self) -> String {
        let because = self.because.join(", ");
        let have = if self.because.len() == 1 { "has" } else { "have" };
        format!("{} stands on {because}, which {have} changed", self.name)
    }
}

pub(super) fn traced(
    task: &Task,
    check: Option<String>,
    summary: Option<&TaskSummary>,
) -> TracedTask {
    let attempts = summary.map(|summary| summary.attempts.as_slice()).unwrap_or_default();
    let passed = attempts.iter().rev().find(|one| one.result == AttemptResult::Passed);
    TracedTask {
        task: task.name(),
        done: task.done,
        checked: task.done && passed.is_some_and(is_proved),
        proof: passed.filter(|_| task.done).and_then(|one| Some(one.proof?.to_string())),
        check,
        commit: passed.and_then(|passed| passed.commit.clone()),
    }
}

/// Whether a check stands behind a pass that could have failed without the work.
fn is_proved(passed: &Attempt) -> bool {
    !passed.unverified && passed.proof != Some(Proof::GreenBefore)
}

/// Records what each part stands on. What was recorded already is a person's to let go.
fn record(caller: &Caller<'_>, store: &Store, graph: &Graph) -> Result<TraceFile, OpError> {
    let before = store.dir().join(TRACE_FILE);
    if caller.world.disk.exists(&before) {
        caller.require_person("trace")?;
    }
    // A file that cannot be read is made again.
    let kept = read_trace(caller.world, store.dir()).ok().flatten().unwrap_or_default();
    let trace = TraceFile { nodes: graph.recorded(), ..kept };
    store.lock()?.write_trace(&trace)?;
    Ok(trace)
}
