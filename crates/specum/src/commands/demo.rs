use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use specum_core::machine::Start;
use specum_core::tasks::short_title;

use super::print;
use crate::attempt::{By, Judged, Next, Opened, Workspace};
use crate::exit;
use crate::git::Git;
use crate::process::{self, Bounds, WhenInterrupted};
use crate::project::Project;

/// Work a small sample plan, without any agent or account
///
/// Makes a temporary repository with a plan of a few tasks and works it with
/// the built-in `script` agent, which runs the shell block of each task.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Keep the repository and say where it is
    #[arg(long)]
    keep: bool,
}

const PLAN: &str = include_str!("demo/tasks.md");
/// How long a task's script may run.
const SCRIPT_LIMIT: Bounds = Bounds {
    time: Duration::from_secs(60),
    output: 64 * 1024,
    when_interrupted: WhenInterrupted::End,
};

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let place = tempfile::Builder::new().prefix("specum-demo-").tempdir()?;
    process::remove_when_interrupted(place.path());
    let root = fs::canonicalize(place.path())?;
    let workspace = prepare(&root).context("cannot prepare the demo")?;
    print(format!(
        "A plan of {} tasks in a fresh repository, worked by the built-in script agent.\n",
        workspace.start(Start::default())?.file().tasks.len()
    ))?;
    work(&workspace)?;
    print("\nWhat is in the repository now:\n")?;
    print(history(&root)?.trim_end())?;
    if args.keep {
        print(format!("\nKept: {}", place.keep().display()))?;
    }
    print("\nYour own plan: write specs/<name>/tasks.md, then `specum check <name>`.")?;
    Ok(exit::OK)
}

fn prepare(root: &Path) -> anyhow::Result<Workspace> {
    let spec: PathBuf = root.join("specs/demo");
    fs::create_dir_all(&spec)?;
    fs::write(spec.join("tasks.md"), PLAN)?;
    let git = Git::init(root)?;
    git.configure_identity("specum demo", "demo@specum.invalid")?;
    git.commit(&["specs/demo/tasks.md".into()], "plan: the demo")?;
    let project = Project::find(root, None).context("the demo has a specs folder")?;
    let spec = project.spec("demo")?;
    Ok(Workspace::new(&project, spec)?)
}

fn work(workspace: &Workspace) -> anyhow::Result<()> {
    loop {
        match workspace.open()? {
            Next::Work(attempts) => {
                for attempt in attempts {
                    let title = short_title(&attempt.key.title);
                    print(format!("  {}  {title}, attempt {}", attempt.key.id, attempt.attempt))?;
                    let result = play(&attempt, &workspace.spec.root);
                    tell(&workspace.judge(&attempt, &result, By::Verb)?)?;
                }
            }
            Next::Complete => {
                print(
                    "\nEvery box is ticked, every tick was verified, every task has its commit.",
                )?;
                return Ok(());
            }
            Next::Wait(due) => anyhow::bail!("the demo stopped: {due:?}"),
        }
    }
}

/// The `script` agent: runs the task's own shell block and reports.
fn play(attempt: &Opened, root: &Path) -> String {
    let signal = attempt.role.signal();
    let Some(script) = attempt.fields().script else { return signal.to_owned() };
    let mut shell = Command::new("sh");
    shell
        .arg("-ec")
        .arg(script)
        .current_dir(root)
        .env("SPECUM_ATTEMPT", attempt.attempt.to_string());
    let run = process::run(shell, &[], SCRIPT_LIMIT);
    let output = String::from_utf8_lossy(&run.output).into_owned();
    if run.succeeded() { format!("{output}\n{signal}\n") } else { output }
}

fn tell(judged: &Judged) -> anyhow::Result<()> {
    if judged.verdict.passed() {
        let commit = judged.commit.as_deref().unwrap_or_default();
        return print(format!(
            "       passed: verified, ticked, committed as {}",
            &commit[..commit.len().min(7)]
        ));
    }
    for failure in &judged.verdict.failures {
        print(format!("       failed: {}", failure.message))?;
    }
    Ok(())
}

fn history(root: &Path) -> anyhow::Result<String> {
    Ok(Git::open(root)?.history()?)
}
