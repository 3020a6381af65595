use std::fs;
use std::io::{self, IsTerminal, stdout};
use std::path::{Path, PathBuf};

use specum_core::agent;
use specum_core::coordinate::agents::Patience;
use specum_core::event::Outcome;
use specum_core::line;
use specum_core::machine::Start;
use specum_core::settings::Branch;
use specum_core::tasks::TaskFile;

use super::{Answered, print};
use crate::exit::Exit;
use crate::report;
use specum_engine::attempt::Workspace;
use specum_engine::git::Git;
use specum_engine::ops::{self, OpError, ReportRequest};
use specum_engine::ports::World;
use specum_engine::process;
use specum_engine::project::Project;
use specum_engine::report::Form;
use specum_engine::runner::{self, Options};

/// Work a small sample plan, without any agent or account
///
/// Makes a temporary repository with a plan of a few tasks and runs it with the
/// built-in `script` agent, which runs the shell block of each task: tasks in
/// sequence, a group at once, an agent that claims to be done and is caught, a
/// conflict that is solved, the summary and the commits.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Keep the repository and say where it is
    #[arg(long)]
    keep: bool,
}

const PLAN: &str = include_str!("demo/tasks.md");
/// How long each step of the plan takes when somebody watches.
const PACE: &str = "0.8";
/// Far more than the plan needs.
const PATIENCE: Patience = Patience { task: 60_000, idle: 60_000 };

const INTRODUCTION: &str = "\
A plan of 7 tasks in a fresh repository. Each task is handed to an agent, here
the built-in one that runs a script. specum runs the task's Verify command
itself, ticks the box and commits. This is specs/demo/tasks.md, in short:
";

/// What the plan is about to show.
const WATCH: &str = "
At 1.2 the agent will claim to be done and will not be. 2.1 and 2.2 change the
same line at the same time. Watch.
";

const NEXT_STEPS: &str = "
Your own plan: `specum help format` shows how to write one.";

pub(super) fn run(args: &Args) -> Answered {
    let place = tempfile::Builder::new().prefix("specum-demo-").tempdir().map_err(unprepared())?;
    process::remove_when_interrupted(place.path());
    let root = fs::canonicalize(place.path()).map_err(unprepared())?;
    let mut workspace = prepare(&root)?;
    let first = workspace.store.read().map_err(OpError::from)?;
    print(format!("{INTRODUCTION}\n{}{WATCH}", outline(&first.file(), true)))?;
    let outcome = work(&mut workspace);
    let last = workspace.store.read().map_err(OpError::from)?;
    let page = page(&workspace);
    // The repository goes, and so does what was kept of it elsewhere.
    runner::forget(&workspace.spec);
    let outcome = outcome?;
    if outcome == Outcome::Interrupted {
        return Ok(super::run::exit(&outcome));
    }
    print(format!("\nThe plan now:\n\n{}", outline(&last.file(), false).trim_end()))?;
    let menu = fs::read_to_string(root.join("menu.txt"))?;
    print(format!("\nBoth changes of one line are in menu.txt: {}\n", menu.trim_end()))?;
    if args.keep {
        print(format!("Kept: {}\n", place.keep().display()))?;
    }
    print("$ git log --oneline")?;
    print(history(&root)?.trim_end())?;
    print(NEXT_STEPS)?;
    if let Some(page) = page {
        print(format!("What happened here, as a page for your browser:\n  {page}"))?;
    }
    Ok(Exit::Done)
}

/// Writes the report of the demo to where it outlives the repository, and says where.
fn page(workspace: &Workspace) -> Option<String> {
    let spec = &workspace.spec;
    let file = spec.world.state_home.as_ref()?.join("reports/demo.html");
    let report = ops::report_of(spec, ReportRequest::default()).ok()?;
    let written = ops::write_private_report(spec, &report, Form::Html, &file).ok()?.file;
    let home = std::env::var("HOME").unwrap_or_default();
    let below = written.strip_prefix(&home).filter(|_| home.len() > 1);
    Some(below.map_or(written.clone(), |below| format!("~{below}")))
}

/// The boxes of the plan, and how each is checked.
fn outline(file: &TaskFile<'_>, with_checks: bool) -> String {
    let mut text = String::new();
    for task in &file.tasks {
        let block = line::readable(file.block(task));
        let check = |line: &&str| with_checks && line.contains("**Verify**");
        for line in block.lines().take(1).chain(block.lines().skip(1).filter(check)) {
            text.push_str(&format!("  {line}\n"));
        }
    }
    text
}

fn unprepared() -> impl FnOnce(io::Error) -> OpError {
    OpError::io("cannot prepare the demo")
}

fn history(root: &Path) -> Result<String, OpError> {
    Ok(Git::open(root)?.history()?)
}

fn prepare(root: &Path) -> Result<Workspace, OpError> {
    let spec: PathBuf = root.join("specs/demo");
    fs::create_dir_all(&spec).map_err(unprepared())?;
    let pace = if stdout().is_terminal() { PACE } else { "0" };
    fs::write(spec.join("tasks.md"), PLAN.replace("PACE", pace)).map_err(unprepared())?;
    let git = Git::init(root)?;
    git.configure_identity("specum demo", "demo@specum.invalid")?;
    git.commit(&["specs/demo/tasks.md".into()], "plan: a small café")?;
    let project = Project::at(&World::real(), root.to_owned());
    let spec = project.spec("demo")?;
    Ok(Workspace::new(&project, spec)?)
}

fn work(workspace: &mut Workspace) -> Result<Outcome, OpError> {
    let options = Options {
        agents: agent::by_name("script", None).into_iter().collect(),
        model: None,
        patience: PATIENCE,
        start: Start::default(),
        take_over: false,
        allow_dirty: false,
        worktree_setup: None,
        isolate: false,
        worktree_caches: Vec::new(),
        accept_git_changes: false,
        keep_days: None,
        branch: Branch::Here,
        notify: None,
        plan: None,
    };
    workspace.store.write_as(runner::run_id(workspace.world()));
    let outlet = report::to_stdout(false, false, &workspace.store)?;
    let outcome = runner::run(workspace, &options, &outlet)?;
    outlet.summary(&workspace.spec.name, ops::summary(&workspace.store)?);
    Ok(outcome)
}
