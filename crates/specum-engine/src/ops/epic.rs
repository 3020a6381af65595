//! Epics: what they say, how far their specs have come, and their approval.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use specum_core::authoring::name::is_name;
use specum_core::spec::epic::{self, Part, Progress};

use super::check::Severity;
use super::{Caller, OpError};
use crate::documents::GOAL_FILE;
use crate::project::{Project, Spec};
use crate::store::{self, EpicFolder, Store};

/// The longest epic that is read.
const MAX_EPIC: u64 = 4 * 1024 * 1024;

/// An epic, and how far it has come.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EpicView {
    /// The name of its folder.
    #[serde(rename = "epic")]
    pub name: String,
    /// Its document, from the project's root.
    pub path: String,
    /// What it is called.
    pub title: String,
    /// Whether its specs have been made.
    pub approved: bool,
    /// How many of its specs are complete.
    pub completed: usize,
    /// Its specs, in their order.
    pub specs: Vec<EpicSpec>,
    /// The spec that is worked next; null if none can be.
    pub next: Option<String>,
    /// What is wrong with its document.
    pub findings: Vec<EpicFinding>,
}

/// A spec of an epic.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EpicSpec {
    /// Its name.
    #[serde(rename = "spec")]
    pub name: String,
    /// How far it has come.
    pub status: SpecStatus,
    /// How many boxes are ticked.
    pub done: usize,
    /// How many boxes there are.
    pub total: usize,
    /// Whether it has a plan.
    pub planned: bool,
    /// The specs that it needs.
    pub dependencies: Vec<String>,
    /// S, M or L; null if the epic does not say.
    pub size: Option<String>,
}

/// How far a spec of an epic has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpecStatus {
    /// Nobody has begun.
    Pending,
    /// Some of it is done, or a loop is under way.
    InProgress,
    /// Every box is ticked.
    Completed,
}

impl SpecStatus {
    fn of(progress: Progress) -> SpecStatus {
        match progress {
            Progress::Pending => SpecStatus::Pending,
            Progress::InProgress => SpecStatus::InProgress,
            Progress::Completed => SpecStatus::Completed,
        }
    }
}

/// Something wrong with an epic.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EpicFinding {
    /// Its line, from 1.
    pub line: usize,
    /// How bad it is.
    pub severity: Severity,
    /// The rule of docs/epics.md that it breaks.
    pub rule: String,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub fix: String,
}

/// What an approval has made.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApproveEpic {
    /// The epic.
    #[serde(rename = "epic")]
    pub name: String,
    /// The specs whose plan.md was written.
    pub made: Vec<String>,
    /// The specs whose plan.md a person has edited, which stays as it is.
    pub kept: Vec<String>,
    /// The commit with the epic and these files; null without a repository.
    pub commit: Option<String>,
}

/// An epic as it lies in the project.
struct Found {
    name: String,
    folder: EpicFolder,
    epic: epic::Epic,
    /// The digests of the plans that were made of it.
    plans: BTreeMap<String, String>,
    specs: BTreeMap<String, Counted>,
}

/// How far a spec has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counted {
    progress: Progress,
    done: usize,
    total: usize,
    planned: bool,
}

const NOT_THERE: Counted =
    Counted { progress: Progress::Pending, done: 0, total: 0, planned: false };

impl Found {
    fn counted(&self, name: &str) -> Counted {
        self.specs.get(name).copied().unwrap_or(NOT_THERE)
    }

    fn next(&self, passed_over: &BTreeSet<String>) -> Option<&Part> {
        self.epic.next(&|name| self.counted(name).progress, passed_over)
    }

    fn is_approved(&self) -> bool {
        !self.plans.is_empty()
    }

    fn judged(&self) -> Vec<EpicFinding> {
        let is_taken = |name: &str| self.specs.contains_key(name) && !self.plans.contains_key(name);
        let found = epic::judge(&self.epic, &is_taken).into_iter();
        let shown = found.map(|finding| EpicFinding {
            line: finding.line,
            severity: Severity::of(finding.rule.severity()),
            rule: finding.rule.name().to_owned(),
            message: finding.message,
            fix: finding.fix,
        });
        shown.collect()
    }

    /// Brings `.epic-state.json` up to date, for others to read.
    fn write_state(&self) -> Result<(), OpError> {
        let progress = |name: &str| self.counted(name).progress;
        let text = self.epic.state_text(&self.name, &progress, &self.plans);
        Ok(self.folder.write_state(text.as_bytes())?)
    }
}

/// Reads the epic that is named, or the active one, or the only one.
fn find(project: &Project, named: Option<&str>) -> Result<Found, OpError> {
    let name = match named {
        Some(name) => name.to_owned(),
        None => active(project)?,
    };
    // What stands in the marker is a path otherwise.
    if !is_name(&name) {
        return Err(OpError::Usage(format!(
            "`{name}` is no name for an epic: small letters, digits and hyphens"
        )));
    }
    let folder = EpicFolder::of(project, &name);
    let Some(text) = folder.read_epic(MAX_EPIC)? else {
        let all = EpicFolder::all(project)?;
        let known = match all.as_slice() {
            [] => format!(
                "there is no epic yet: write {}, as docs/epics.md shows",
                project.shown(&folder.epic_path())
            ),
            all => format!("there are {}", all.join(", ")),
        };
        return Err(OpError::NotFound(format!("there is no epic `{name}`; {known}")));
    };
    let epic = epic::Epic::scan(&text);
    let plans = epic::plans_of_state(&folder.read_state()?.unwrap_or_default());
    let home = project.home_of_specs();
    let there = epic.specs.iter().filter_map(|part| {
        let is_there = is_name(&part.name) && project.world.disk.is_folder(&home.join(&part.name));
        let spec = is_there.then(|| project.spec_in(&home.join(&part.name)).ok()).flatten()?;
        Some((part.name.clone(), counted(&spec)))
    });
    let specs = there.collect();
    Ok(Found { name, folder, epic, plans, specs })
}

/// The epic that `.current-epic` names, or the only one.
fn active(project: &Project) -> Result<String, OpError> {
    if let Some(name) = store::current_epic(project)? {
        return Ok(name);
    }
    let mut all = EpicFolder::all(project)?;
    match all.len() {
        1 => Ok(all.remove(0)),
        0 => Err(OpError::NotFound(
            "there is no epic yet: write specs/_epics/<name>/epic.md, as docs/epics.md shows"
                .into(),
        )),
        _ => Err(OpError::NotFound(format!("no epic is active: name one of {}", all.join(", ")))),
    }
}

fn counted(spec: &Spec) -> Counted {
    let store = Store::of(spec);
    let tasks = store.read_tasks().ok().flatten();
    let planned = tasks.is_some();
    let tasks = tasks.unwrap_or_default();
    let file = tasks.file();
    let (done, total) = (file.done_count(), file.count());
    let is_begun = done > 0 || store.has_state();
    let progress = match () {
        () if total > 0 && file.is_complete() => Progress::Completed,
        () if is_begun => Progress::InProgress,
        () => Progress::Pending,
    };
    Counted { progress, done, total, planned }
}

fn view(project: &Project, found: &Found) -> EpicView {
    let specs = found.epic.specs.iter().map(|part| {
        let Counted { progress, done, total, planned } = found.counted(&part.name);
        EpicSpec {
            name: part.name.clone(),
            status: SpecStatus::of(progress),
            done,
            total,
            planned,
            dependencies: part.needs.iter().map(|(need, _)| need.clone()).collect(),
            size: part.size.clone(),
        }
    });
    let specs: Vec<EpicSpec> = specs.collect();
    EpicView {
        name: found.name.clone(),
        path: project.shown(&found.folder.epic_path()),
        title: found.epic.title.clone(),
        approved: found.is_approved(),
        completed: specs.iter().filter(|spec| spec.status == SpecStatus::Completed).count(),
        specs,
        next: found.next(&BTreeSet::new()).map(|part| part.name.clone()),
        findings: found.judged(),
    }
}

/// Shows an epic, and what is wrong with it.
pub fn epic(caller: &Caller<'_>, named: Option<&str>) -> Result<EpicView, OpError> {
    let project = caller.project()?;
    Ok(view(&project, &find(&project, named)?))
}

/// What a run works next of an epic.
#[derive(Debug)]
pub enum EpicNext {
    /// This spec, which has a plan.
    Work(Spec),
    /// This spec, whose plan nobody has written.
    Plan(String),
    /// Nothing: every spec is complete.
    Complete,
    /// Nothing: these need what is not complete.
    Waiting(Vec<String>),
}

/// What is worked next of the epic that is named or active. Those that are passed over
/// are not taken, nor is what needs them.
pub fn epic_next(
    caller: &Caller<'_>,
    named: Option<&str>,
    passed_over: &BTreeSet<String>,
) -> Result<(EpicView, EpicNext), OpError> {
    let project = caller.project()?;
    let found = find(&project, named)?;
    let view = view(&project, &found);
    if let Some(error) = view.findings.iter().find(|one| one.severity == Severity::Error) {
        let EpicFinding { line, message, fix, .. } = error;
        return Err(OpError::Usage(format!("{}:{line}: {message}; {fix}", view.path)));
    }
    if !found.is_approved() {
        return Err(OpError::NotFound(format!(
            "{} is not approved, so its specs are not made: look at it with `specum epic {}`, then \
             `specum approve --epic {}`",
            view.path, found.name, found.name
        )));
    }
    store::make_epic_active(&project, &found.name)?;
    found.write_state()?;
    let next = match found.next(passed_over) {
        Some(part) if !found.counted(&part.name).planned => EpicNext::Plan(part.name.clone()),
        Some(part) => EpicNext::Work(project.spec_in(&project.home_of_specs().join(&part.name))?),
        None => {
            let is_open = |part: &&Part| found.counted(&part.name).progress != Progress::Completed;
            let open = found.epic.specs.iter().filter(is_open).map(|part| part.name.clone());
            match open.collect::<Vec<String>>() {
                open if open.is_empty() => EpicNext::Complete,
                open => EpicNext::Waiting(open),
            }
        }
    };
    Ok((view, next))
}

/// The specs with open tasks, those of the active epic first, in its order.
pub fn open_specs(caller: &Caller<'_>, optional: bool) -> Result<Vec<Spec>, OpError> {
    let project = caller.project()?;
    let order = store::current_epic(&project)?.and_then(|name| find(&project, Some(&name)).ok());
    let place = |spec: &Spec| {
        let parts = order.iter().flat_map(|found| &found.epic.specs);
        parts.enumerate().find(|(_, part)| part.name == spec.name).map_or(usize::MAX, |(at, _)| at)
    };
    let mut specs = Vec::new();
    for spec in project.specs()? {
        let tasks = Store::of(&spec).read_tasks()?.unwrap_or_default();
        if tasks.file().open().any(|task| optional || !task.optional) {
            specs.push(spec);
        }
    }
    specs.sort_by_key(place);
    Ok(specs)
}

/// Makes the specs of an epic: a folder each, with what it is asked for. Only a person
/// may.
pub fn approve_epic(caller: &Caller<'_>, named: Option<&str>) -> Result<ApproveEpic, OpError> {
    caller.require_person("approve")?;
    let project = caller.project()?;
    let mut found = find(&project, named)?;
    let errors = found.judged().into_iter().filter(|one| one.severity == Severity::Error);
    let errors: Vec<String> = errors
        .map(|one| format!("\n  {}: {}; {} [{}]", one.line, one.message, one.fix, one.rule))
        .collect();
    if !errors.is_empty() {
        let path = project.shown(&found.folder.epic_path());
        return Err(OpError::Usage(format!("{path} cannot be built on:{}", errors.concat())));
    }
    let home = project.home_of_specs();
    let (mut made, mut kept) = (Vec::new(), Vec::new());
    let mut paths: Vec<PathBuf> = vec![found.folder.epic_path()];
    for part in &found.epic.specs {
        let goal = found.epic.goal_of(part);
        let path = home.join(&part.name).join(GOAL_FILE);
        if !found.specs.contains_key(&part.name) {
            store::create(&project, &part.name, &[(GOAL_FILE, goal.as_bytes())])?;
        } else {
            let there = project.world.disk.read_if_there(&path, MAX_EPIC)?.unwrap_or_default();
            if there == goal.as_bytes() {
                continue;
            }
            if found.plans.get(&part.name) != Some(&epic::plan_digest(&there)) {
                kept.push(part.name.clone());
                continue;
            }
            project.world.disk.write(&path, goal.as_bytes())?;
        }
        found.plans.insert(part.name.clone(), epic::plan_digest(goal.as_bytes()));
        made.push(part.name.clone());
        paths.push(path);
    }
    found.write_state()?;
    store::make_epic_active(&project, &found.name)?;
    let commit = commit(&project, &found.name, &paths)?;
    Ok(ApproveEpic { name: found.name, made, kept, commit })
}

/// Commits these files, and nothing else; nothing where there is no repository.
fn commit(project: &Project, name: &str, paths: &[PathBuf]) -> Result<Option<String>, OpError> {
    let git = match project.world.repositories.open(&project.root) {
        Err(error) if error.means_no_repository() => return Ok(None),
        other => other?,
    };
    git.exclude_own_files()?;
    let relative = paths.iter().filter_map(|path| path.strip_prefix(git.root()).ok());
    let relative: Vec<String> = relative.map(|path| path.to_string_lossy().into_owned()).collect();
    let message = format!("docs({name}): approve the epic and its specs");
    Ok(git.commit(&relative, &message)?.id)
}
