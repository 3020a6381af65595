//! The mistakes of a plan, and the commands that check its tasks.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use specum_core::check;
use specum_core::line;
use specum_core::plan::{self, Unit};
use specum_core::tasks::{self, Lookup, Shell, Task, TaskFile, short_title};

use super::{Caller, OpError};
use crate::attempt::{AttemptError, Workspace, checks_on_record};
use crate::files::FileError;
use crate::store::Store;

/// The longest plan that is looked at.
const MAX_PLAN: u64 = 64 * 1024 * 1024;

/// What is wrong with a plan, and how its open tasks are checked.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Check {
    /// The file, as it was named or from the project's root.
    pub path: String,
    /// How many tasks it has.
    pub tasks: usize,
    /// The mistakes, in the order of the file.
    pub findings: Vec<PlanFinding>,
    /// The open tasks that have a check.
    pub checks: Vec<TaskCheck>,
}

/// Something wrong with a plan.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlanFinding {
    /// Where, from 1.
    pub line: usize,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, and what to do.
    pub message: String,
}

/// How bad a mistake is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The plan cannot be worked.
    Error,
    /// The plan can be worked.
    Warning,
}

/// How an open task is checked.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskCheck {
    /// The task.
    pub task: String,
    /// The line that it begins on.
    pub line: usize,
    /// Whether this is an earlier check than the plan's, which waits for `specum
    /// accept`.
    pub on_record: bool,
    /// What is run, in this order, until one fails.
    pub commands: Vec<CheckCommand>,
    /// The commands in words.
    #[serde(skip)]
    pub shown: String,
}

/// A command of a check.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CheckCommand {
    /// What is run.
    pub command: String,
    /// By which shell: `sh`, `sh -e` or `bash -e`.
    pub shell: String,
    /// What it has to print, in words; null if only its exit code counts.
    pub prints: Option<String>,
    /// Whether it is run only if the one before it fails.
    pub or: bool,
    /// The command in words.
    #[serde(skip)]
    pub shown: String,
}

impl CheckCommand {
    fn of(command: &tasks::Command) -> CheckCommand {
        let shell = match command.shell {
            Shell::Sh => "sh",
            Shell::ShBlock => "sh -e",
            Shell::BashBlock => "bash -e",
        };
        CheckCommand {
            command: line::readable(&command.text),
            shell: shell.to_owned(),
            prints: command.expect.as_ref().map(ToString::to_string),
            or: command.instead,
            shown: command.to_string(),
        }
    }
}

/// Looks for mistakes in the plan of a spec, or in a file.
pub fn check(caller: &Caller<'_>, named: Option<&str>) -> Result<Check, OpError> {
    let Target { path, shown, root, store } = target(caller, named)?;
    let text = caller.world.disk.read_if_there(&path, MAX_PLAN)?.ok_or_else(|| {
        OpError::NotFound(format!("{shown} does not exist; write it, then check again"))
    })?;
    let file = TaskFile::scan(&text);
    let lookup = caller.world.lookup(&root);
    let on_record = match &store {
        Some(store) => checks_on_record(store, &file)?,
        None => HashMap::new(),
    };
    let finding = |finding: check::Finding| PlanFinding {
        line: finding.line,
        severity: match finding.severity {
            check::Severity::Error => Severity::Error,
            check::Severity::Warning => Severity::Warning,
        },
        message: finding.message,
    };
    let checks = file.open().filter_map(|task| {
        let commands = counted_check(&on_record, &file, task)?.commands(&lookup);
        (!commands.is_empty()).then(|| TaskCheck {
            task: task.name(),
            line: task.line,
            on_record: on_record.contains_key(&task.name()),
            commands: commands.iter().map(CheckCommand::of).collect(),
            shown: tasks::shown(&commands),
        })
    });
    Ok(Check {
        path: shown,
        tasks: file.tasks.len(),
        findings: check::check(&file, &lookup).into_iter().map(finding).collect(),
        checks: checks.collect(),
    })
}

/// The check that will be run for a task: the one on record if the plan's waits
/// for a person.
fn counted_check(
    on_record: &HashMap<String, tasks::Check>,
    file: &TaskFile<'_>,
    task: &Task,
) -> Option<tasks::Check> {
    on_record.get(&task.name()).cloned().or_else(|| file.fields(task).verify)
}

/// What is looked at.
struct Target {
    path: PathBuf,
    /// As a person would name it.
    shown: String,
    /// Where its commands would be run.
    root: PathBuf,
    /// The spec's files, if it is the plan of one.
    store: Option<Store>,
}

fn target(caller: &Caller<'_>, named: Option<&str>) -> Result<Target, OpError> {
    if let Some(named) = named
        && caller.world.disk.is_file(Path::new(named))
    {
        let path = std::path::absolute(named)
            .map_err(|error| FileError::new("find", Path::new(named), error))?;
        let folder = path.parent().unwrap_or(&path).to_owned();
        let root = caller.project().map_or(folder, |project| project.root);
        return Ok(Target { path, shown: named.to_owned(), root, store: None });
    }
    let project = caller.project()?;
    let spec = caller.spec(&project, named)?;
    let store = Store::of(&spec);
    let (path, shown) = (store.tasks_path(), format!("{}/tasks.md", spec.shown));
    Ok(Target { path, shown, root: spec.root, store: Some(store) })
}

/// What a run would work, in which order and by whom, if every task passed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DryRun {
    /// The spec.
    pub name: String,
    /// The agents, in the order in which they are asked.
    pub agents: Vec<String>,
    /// How many tasks are worked at once at most.
    pub jobs: usize,
    /// Whether tasks in sequence are worked on in a worktree too.
    pub isolate: bool,
    /// What a shell runs besides the checks, by the name of the setting.
    pub commands: BTreeMap<String, String>,
    /// The units of work, in their order.
    pub units: Vec<DryUnit>,
}

/// A unit of work.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DryUnit {
    /// How its tasks are worked.
    pub unit: UnitKind,
    /// Its tasks.
    pub tasks: Vec<DryTask>,
}

/// How the tasks of a unit are worked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnitKind {
    /// One task, in the user's tree.
    Task,
    /// A check that specum runs first.
    Verify,
    /// Several at once, each in a worktree.
    Parallel,
}

/// A task that would be worked.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DryTask {
    /// Its id.
    pub id: String,
    /// Its title, perhaps shortened.
    pub title: String,
    /// Whether it has a Verify, of commands or of prose.
    pub has_verify: bool,
    /// The commands that check it as one line; null if none does.
    pub check: Option<String>,
    /// The same one by one.
    pub commands: Vec<CheckCommand>,
}

impl DryTask {
    fn of(task: &Task, check: Option<&tasks::Check>, lookup: Lookup<'_>) -> DryTask {
        let commands = check.map(|check| check.commands(lookup)).unwrap_or_default();
        DryTask {
            id: task.name(),
            title: short_title(&task.title),
            has_verify: check.is_some(),
            check: (!commands.is_empty()).then(|| tasks::joined(&commands)),
            commands: commands.iter().map(CheckCommand::of).collect(),
        }
    }
}

/// What a run of these agents would work.
pub fn dry_run(
    workspace: &Workspace,
    agents: Vec<String>,
    commands: BTreeMap<String, String>,
    isolate: bool,
) -> Result<DryRun, OpError> {
    let tasks = workspace.store.read_tasks()?;
    let text = tasks.ok_or_else(|| AttemptError::NoTasks(workspace.spec.shown.clone()))?;
    let file = text.file();
    let lookup = workspace.world().lookup(&workspace.spec.root);
    let on_record = checks_on_record(&workspace.store, &file)?;
    let task = |at: &usize| {
        let task = &file.tasks[*at];
        DryTask::of(task, counted_check(&on_record, &file, task).as_ref(), &lookup)
    };
    let unit = |unit: Unit| DryUnit {
        unit: match unit {
            Unit::Parallel(_) => UnitKind::Parallel,
            Unit::Verify(_) => UnitKind::Verify,
            Unit::Sequential(_) | Unit::Complete => UnitKind::Task,
        },
        tasks: unit.tasks().iter().map(task).collect(),
    };
    Ok(DryRun {
        isolate,
        name: workspace.spec.name.clone(),
        agents,
        jobs: workspace.scope.max_parallel,
        commands,
        units: plan::order(&file, &workspace.scope).into_iter().map(unit).collect(),
    })
}
