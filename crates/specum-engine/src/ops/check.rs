//! The mistakes of a plan, and the commands that check its tasks.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use specum_core::check;
use specum_core::line;
use specum_core::plan::{self, Unit};
use specum_core::plan_record::PlanRecord;
use specum_core::spec::Doc;
use specum_core::spec::gate::{Policy, Rule};
use specum_core::spec::links;
use specum_core::spec::red::{self, FirstRun};
use specum_core::suite::Suite;
use specum_core::tasks::{self, Lookup, Shell, Task, TaskFile, short_title};

use super::documents::{self, Judged, Place, RedScope};
use super::{Caller, OpError};
use crate::attempt::{AttemptError, Workspace, checks_on_record, counted_suite};
use crate::documents::Documents;
use crate::files::FileError;
use crate::lint;
use crate::project::{self, Spec};
use crate::store::Store;

/// What is wrong with the documents of a spec, and how its open tasks are checked.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// The file, as it was named or from the project's root.
    pub path: String,
    /// How many tasks it has.
    #[serde(rename = "total")]
    pub tasks: usize,
    /// The mistakes, in the order of the documents and their lines.
    pub findings: Vec<PlanFinding>,
    /// The open tasks that have a check.
    pub checks: Vec<TaskCheck>,
    /// What the checks did before the work, by task; only what was run.
    pub first_runs: BTreeMap<String, FirstCheck>,
}

/// What a check did before the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FirstCheck {
    /// It failed, as it should.
    Red,
    /// It passed already, and so proves nothing.
    Green,
    /// It cannot be run.
    Broken,
}

impl FirstCheck {
    fn of(run: &FirstRun) -> FirstCheck {
        match run {
            FirstRun::Red => FirstCheck::Red,
            FirstRun::Green => FirstCheck::Green,
            FirstRun::Broken(_) => FirstCheck::Broken,
        }
    }
}

/// Something wrong with a document of a spec.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlanFinding {
    /// The document, as it was named or from the project's root.
    pub file: String,
    /// Where, from 1.
    pub line: usize,
    /// How bad it is.
    pub severity: Severity,
    /// The rule of docs/gates.md that it breaks; null for what makes a plan hard to read
    /// or to run.
    pub rule: Option<String>,
    /// What is wrong, and what to do unless `fix` says it.
    pub message: String,
    /// What would be right.
    pub fix: Option<String>,
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

impl Severity {
    pub(super) fn of(severity: check::Severity) -> Severity {
        match severity {
            check::Severity::Error => Severity::Error,
            check::Severity::Warning => Severity::Warning,
        }
    }
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
    /// Whether it is a check of the whole plan, and not the task's own.
    pub suite: bool,
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
            suite: command.suite,
            shown: command.to_string(),
        }
    }
}

/// What is to be looked at, and how.
#[derive(Debug, Default)]
pub struct CheckRequest<'r> {
    /// The name or the path of a spec, or a file; the active spec if there is none.
    pub named: Option<&'r str>,
    /// Whether the documents are judged as those are that specum had written.
    pub strict: bool,
    /// Which checks are run before the work.
    pub red: Option<RedScope>,
}

/// Looks for mistakes in the documents of a spec, or in a file.
pub fn check(caller: &Caller<'_>, request: &CheckRequest<'_>) -> Result<Check, OpError> {
    let world = caller.world;
    let Target { path, shown, root, store, only, setup } = target(caller, request.named)?;
    let folder = path.parent().unwrap_or(&root);
    let documents = match Doc::named(&file_name(&path)) {
        Some(_) => Documents::read(world, folder)?,
        None => Documents::of_plan(world, &path)?,
    };
    let is_there = match only {
        Some(doc) => documents.get(doc).is_some(),
        None => !documents.is_empty(),
    };
    if !is_there {
        return Err(OpError::NotFound(format!(
            "{shown} does not exist; write it, then check again"
        )));
    }
    let above = Path::new(&shown).parent().map(|folder| folder.display().to_string());
    let place = Place {
        folder,
        shown: above.filter(|above| !above.is_empty()).unwrap_or_else(|| ".".into()),
        root: &root,
        setup: setup.as_deref(),
    };
    let policy = Policy { is_authored: request.strict, ..Policy::default() };
    let judged = documents::judge(world, &place, &documents, only, policy, request.red)?;
    let looks_at_plan = only.is_none_or(|doc| doc == Doc::Tasks);
    let text = documents.get(Doc::Tasks).filter(|_| looks_at_plan).unwrap_or_default();
    let first_runs = judged.first_runs.iter();
    let first_runs = first_runs.map(|(task, run)| (task.clone(), FirstCheck::of(run))).collect();
    if text.is_empty() && documents.get(Doc::Tasks).is_none_or(|_| !looks_at_plan) {
        let findings = judged.findings;
        return Ok(Check { path: shown, tasks: 0, findings, checks: Vec::new(), first_runs });
    }
    let file = TaskFile::scan(text);
    let lookup = world.lookup(&root);
    let set = project::settings_at(world, &root).run.suite;
    let (on_record, suite) = match &store {
        Some(store) => (
            checks_on_record(store, &file)?,
            counted_suite(&*store.plan_record()?, file.text(), set),
        ),
        None => (HashMap::new(), counted_suite(&PlanRecord::default(), file.text(), set)),
    };
    let checks = file.open().filter_map(|task| {
        let commands = counted_check(&on_record, &file, task, &suite)?.commands(&lookup);
        (!commands.is_empty()).then(|| TaskCheck {
            task: task.name(),
            line: task.line,
            on_record: on_record.contains_key(&task.name()),
            commands: commands.iter().map(CheckCommand::of).collect(),
            shown: tasks::shown(&commands),
        })
    });
    let checks = checks.collect();
    let findings = merged(lint::findings(world, &root, &file, &suite), judged, &shown);
    Ok(Check { path: shown, tasks: file.tasks.len(), findings, checks, first_runs })
}

/// The findings of the gate, and behind those of the other documents what the lint of
/// the plan finds. What both find is shown once.
fn merged(lint: Vec<check::Finding>, judged: Judged, plan: &str) -> Vec<PlanFinding> {
    let (mut of_plan, mut findings): (Vec<PlanFinding>, Vec<PlanFinding>) =
        judged.findings.into_iter().partition(|finding| finding.file == plan);
    let named = |finding: &PlanFinding| finding.rule.as_deref().and_then(Rule::named);
    let is_error = |line: usize| {
        lint.iter().any(|one| one.severity == check::Severity::Error && one.line == line)
    };
    of_plan.retain(|finding| {
        let is_lints = matches!(named(finding), Some(Rule::VerifySyntax | Rule::VerifyProgram));
        !(is_lints && is_error(finding.line))
    });
    let told: Vec<usize> = of_plan
        .iter()
        .filter(|finding| named(finding).is_some_and(Rule::is_in_check))
        .map(|finding| finding.line)
        .collect();
    let is_told = |finding: &check::Finding| {
        finding.severity == check::Severity::Warning && told.contains(&finding.line)
    };
    let lint = lint.into_iter().filter(|finding| !is_told(finding)).map(|finding| PlanFinding {
        file: plan.to_owned(),
        line: finding.line,
        severity: Severity::of(finding.severity),
        rule: None,
        message: finding.message,
        fix: None,
    });
    of_plan.extend(lint);
    of_plan.sort_by_key(|finding| finding.line);
    findings.append(&mut of_plan);
    findings
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The check that will be run for a task: the one on record if the plan's waits
/// for a person.
fn counted_check(
    on_record: &HashMap<String, tasks::Check>,
    file: &TaskFile<'_>,
    task: &Task,
    suite: &Suite,
) -> Option<tasks::Check> {
    let own = on_record.get(&task.name()).cloned().or_else(|| file.fields(task).verify);
    tasks::Check::in_plan(own, suite)
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
    /// The document that is named; all of the folder if none is.
    only: Option<Doc>,
    /// What prepares a worktree.
    setup: Option<String>,
}

fn target(caller: &Caller<'_>, named: Option<&str>) -> Result<Target, OpError> {
    if let Some(named) = named
        && caller.world.disk.is_file(Path::new(named))
    {
        let path = std::path::absolute(named)
            .map_err(|error| FileError::new("find", Path::new(named), error))?;
        let folder = path.parent().unwrap_or(&path).to_owned();
        let project = caller.project().ok();
        let setup = project.as_ref().and_then(|one| one.settings.run.worktree_setup.clone());
        let root = project.map_or(folder, |project| project.root);
        let only = Some(Doc::named(&file_name(&path)).unwrap_or(Doc::Tasks));
        return Ok(Target { path, shown: named.to_owned(), root, store: None, only, setup });
    }
    let (project, spec) = caller.named(named)?;
    let store = Store::of(&spec);
    let (path, shown) = (store.tasks_path(), format!("{}/tasks.md", spec.shown));
    let setup = project.settings.run.worktree_setup;
    Ok(Target { path, shown, root: spec.root, store: Some(store), only: None, setup })
}

/// What a run would work, in which order and by whom, if every task passed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DryRun {
    /// The spec.
    #[serde(rename = "spec")]
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
    /// The optional tasks that are left out.
    #[serde(rename = "leftOut")]
    pub left_out: Vec<String>,
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
    /// What its own check does now, before the work; null if it was not run.
    pub first_run: Option<FirstCheck>,
    /// Whether it may pass before the work: it keeps something as it is.
    #[serde(skip)]
    pub is_guard: bool,
}

impl DryTask {
    fn of(
        (file, task): (&TaskFile<'_>, &Task),
        check: Option<&tasks::Check>,
        lookup: Lookup<'_>,
        first_run: Option<FirstCheck>,
    ) -> DryTask {
        let commands = check.map(|check| check.commands(lookup)).unwrap_or_default();
        DryTask {
            id: task.name(),
            title: short_title(&task.title),
            has_verify: check.is_some_and(|check| !check.text().is_empty()),
            check: (!commands.is_empty()).then(|| tasks::joined(&commands)),
            commands: commands.iter().map(CheckCommand::of).collect(),
            first_run,
            is_guard: red::may_be_green(task, &links::of(file, task)),
        }
    }
}

/// What a run of these agents would work. With `red`, the checks are run now; nothing is
/// run without it.
pub fn dry_run(
    workspace: &Workspace,
    agents: Vec<String>,
    commands: BTreeMap<String, String>,
    (isolate, setup): (bool, Option<&str>),
    red: Option<RedScope>,
) -> Result<DryRun, OpError> {
    let tasks = workspace.store.read_tasks()?;
    let text = tasks.ok_or_else(|| AttemptError::NoTasks(workspace.spec.shown.clone()))?;
    let file = text.file();
    let lookup = workspace.world().lookup(&workspace.spec.root);
    let on_record = checks_on_record(&workspace.store, &file)?;
    let suite = match workspace.typed_suite.is_empty() {
        true => workspace.suite()?,
        false => workspace.suite_now(file.text()),
    };
    let Spec { dir, shown, root, .. } = &workspace.spec;
    let place = Place { folder: dir, shown: shown.clone(), root, setup };
    let first_runs = match red {
        Some(scope) => documents::first_runs(workspace.world(), &place, &file, scope)?,
        None => BTreeMap::new(),
    };
    let task = |at: &usize| {
        let task = &file.tasks[*at];
        let check = counted_check(&on_record, &file, task, &suite);
        let first_run = first_runs.get(&task.name()).map(FirstCheck::of);
        DryTask::of((&file, task), check.as_ref(), &lookup, first_run)
    };
    let unit = |unit: Unit| DryUnit {
        unit: match unit {
            Unit::Parallel(_) => UnitKind::Parallel,
            Unit::Verify(_) => UnitKind::Verify,
            Unit::Sequential(_) | Unit::Complete => UnitKind::Task,
        },
        tasks: unit.tasks().iter().map(task).collect(),
    };
    let scope = &workspace.scope;
    let is_left_out = |task: &Task| task.optional && scope.only.is_empty() && !scope.optional;
    Ok(DryRun {
        isolate,
        name: workspace.spec.name.clone(),
        agents,
        jobs: workspace.scope.max_parallel,
        commands,
        units: plan::order(&file, &workspace.scope).into_iter().map(unit).collect(),
        left_out: file.open().filter(|task| is_left_out(task)).map(Task::name).collect(),
    })
}
