//! What is wrong with the documents around a plan, and what the checks of a plan do
//! before the work.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use specum_core::digest::Digest;
use specum_core::spec::Doc;
use specum_core::spec::gate::{self, Policy, Spec};
use specum_core::spec::read_only;
use specum_core::spec::red::FirstRun;
use specum_core::tasks::{Command, TaskFile};
use specum_core::verify::{CheckRun, CheckTime, CommandRun};

use super::{OpError, PlanFinding, Severity};
use crate::documents::{Documents, ProjectFacts, read_trace};
use crate::ports::{Lock, Repository, World};
use crate::project::Spec as ProjectSpec;

/// Which checks are run before the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedScope {
    /// Those of which every command is proved to read only, in the tree as it is.
    ReadOnly,
    /// All of them, in a worktree of HEAD that is thrown away.
    All,
}

/// How long one check may take before the work, and all of them.
const READ_ONLY_LIMITS: Limits =
    Limits { each: Duration::from_secs(20), all: Duration::from_secs(120) };
const LIMITS: Limits = Limits { each: Duration::from_secs(60), all: Duration::from_secs(600) };

#[derive(Clone, Copy)]
struct Limits {
    each: Duration,
    all: Duration,
}

/// The folder whose documents are judged.
pub(super) struct Place<'p> {
    /// The folder.
    pub(super) folder: &'p Path,
    /// As a person would name it, without a slash at its end.
    pub(super) shown: String,
    /// The project around it.
    pub(super) root: &'p Path,
    /// What prepares a worktree.
    pub(super) setup: Option<&'p str>,
}

/// What is found in the documents of a folder.
pub(super) struct Judged {
    pub(super) findings: Vec<PlanFinding>,
    /// What the checks did before the work, by task.
    pub(super) first_runs: BTreeMap<String, FirstRun>,
}

/// Judges the documents of a folder, or one of them.
pub(super) fn judge(
    world: &World,
    place: &Place<'_>,
    documents: &Documents,
    only: Option<Doc>,
    policy: Policy,
    red: Option<RedScope>,
) -> Result<Judged, OpError> {
    let trace = read_trace(world, place.folder)?;
    let is_approved = trace.as_ref().is_some_and(|trace| !trace.approved.is_empty());
    let policy = Policy { is_authored: policy.is_authored || is_approved, ..policy };
    let spec = Spec::of(documents.texts());
    let mut facts = ProjectFacts::new(world, place.root, place.folder, trace.as_ref());
    if let (Some(scope), Some(file)) = (red, spec.tasks()) {
        facts.first_runs = first_runs(world, place, file, scope)?;
    }
    let docs = Doc::ALL.into_iter().filter(|doc| only.is_none_or(|only| only == *doc));
    let mut findings = Vec::new();
    facts.ask(|facts| {
        for doc in docs {
            let file = format!("{}/{}", place.shown, doc.file());
            let found = gate::judge(doc, &spec, facts, &policy).into_iter();
            findings.extend(found.map(|finding| shown(finding, &file)));
        }
    });
    Ok(Judged { findings, first_runs: facts.first_runs })
}

fn shown(finding: gate::Finding, file: &str) -> PlanFinding {
    PlanFinding {
        file: file.to_owned(),
        line: finding.line,
        severity: Severity::of(finding.severity),
        rule: Some(finding.rule.name().to_owned()),
        message: finding.message,
        fix: Some(finding.fix),
    }
}

/// What the checks of the open tasks do as things are. Nothing of what they print is
/// kept.
pub(super) fn first_runs(
    world: &World,
    place: &Place<'_>,
    file: &TaskFile<'_>,
    scope: RedScope,
) -> Result<BTreeMap<String, FirstRun>, OpError> {
    let throwaway = match scope {
        RedScope::ReadOnly => None,
        RedScope::All => Some(Throwaway::of(world, place.root, place.setup)?),
    };
    let dir = throwaway.as_ref().map_or(place.root, |worktree| worktree.project.as_path());
    let limits = if throwaway.is_some() { LIMITS } else { READ_ONLY_LIMITS };
    let lookup = world.lookup(dir);
    let began = world.clock.elapsed();
    let mut runs = BTreeMap::new();
    for task in file.open() {
        let Some(check) = file.fields(task).verify else { continue };
        let commands = check.commands(&lookup);
        let may_run = scope == RedScope::All || commands.iter().all(is_proved);
        let left = limits.all.saturating_sub(world.clock.elapsed() - began).min(limits.each);
        if !may_run || left.is_zero() {
            continue;
        }
        let run = CheckRun::of(commands, |command| run(world, command, dir, left));
        runs.extend(FirstRun::of(&run).map(|first| (task.name(), first)));
    }
    Ok(runs)
}

/// What the checks of a plan that is about to be agreed to do: all of them in a worktree
/// that is thrown away; without a commit to make one from, those that only read.
pub(crate) fn plan_time_runs(
    spec: &ProjectSpec,
    setup: Option<&str>,
    plan: &[u8],
    scope: RedScope,
) -> Result<BTreeMap<String, FirstRun>, OpError> {
    let place = Place { folder: &spec.dir, shown: spec.shown.clone(), root: &spec.root, setup };
    let git = spec.world.repositories.open(&spec.root).ok();
    let has_commit = git.is_some_and(|git| git.head().is_some());
    let scope = if has_commit { scope } else { RedScope::ReadOnly };
    first_runs(&spec.world, &place, &TaskFile::scan(plan), scope)
}

fn is_proved(command: &Command) -> bool {
    read_only::prove(command).is_ok()
}

fn run(world: &World, command: Command, dir: &Path, time: Duration) -> CommandRun {
    let began = world.clock.elapsed();
    let run = world.launcher.check(&command, dir, time);
    CommandRun {
        time: CheckTime::new(u64::try_from(time.as_millis()).ok()),
        command,
        ended: run.ended,
        output: String::new(),
        stdout: String::from_utf8_lossy(&run.stdout).into_owned(),
        cut: run.cut,
        millis: world.millis_since(began),
    }
}

/// A worktree of HEAD that is removed when it is dropped.
struct Throwaway {
    git: Arc<dyn Repository>,
    path: PathBuf,
    /// The project in it.
    project: PathBuf,
    _alone: Box<dyn Lock>,
}

impl Throwaway {
    /// Makes one, and prepares it as `specum run` prepares its own.
    fn of(world: &World, root: &Path, setup: Option<&str>) -> Result<Throwaway, OpError> {
        let git = world.repositories.open(root)?;
        let head = git.head().ok_or_else(|| {
            OpError::Usage("nothing is committed yet; `--red` alone runs what only reads".into())
        })?;
        let home = world.state_home.as_ref().ok_or_else(|| {
            OpError::Usage("there is no home for a worktree; `--red` alone needs none".into())
        })?;
        let name = Digest::of(root.as_os_str().as_encoded_bytes()).hex();
        let folder = home.join("red");
        world.disk.make_folder(&folder)?;
        let alone = world.disk.lock(&folder.join(format!("{name}.lock")), Duration::ZERO)?;
        let alone = alone.ok_or_else(|| {
            OpError::Usage("the checks of this project are being run already; wait for that".into())
        })?;
        let path = folder.join(name);
        // One that a killed process has left.
        if git.has_worktree(&path) {
            git.remove_worktree(&path)?;
        }
        git.add_worktree(&path, &head)?;
        let below = root.strip_prefix(git.root()).unwrap_or(Path::new(""));
        let project = path.join(below);
        let throwaway = Throwaway { git, path, project, _alone: alone };
        if let Some(setup) = setup {
            let run = world.launcher.set_up(setup, &throwaway.project, root);
            if !run.succeeded() {
                return Err(OpError::Usage(format!("worktree_setup failed: `{setup}`")));
            }
        }
        Ok(throwaway)
    }
}

impl Drop for Throwaway {
    fn drop(&mut self) {
        // What stays is removed by the next one.
        let _ = self.git.remove_worktree(&self.path);
    }
}
