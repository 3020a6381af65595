use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::json;
use specum_core::journal::{Changes, Entry, StateChange};
use specum_core::owner::{Asker, Holder, Owner};

use super::{print, print_json, project, spec, spec_of_session, warn_if_held};
use crate::clock;
use crate::exit;
use crate::files;
use crate::git::Git;
use crate::owner;
use crate::person::{self, Door};
use crate::project::{Project, Spec};
use crate::ralph_loop::{self, LOOP_FILE, LoopFileFate};
use crate::store::Store;

/// How long a run may take to put away what its agents have left.
const RUN_ENDS: Duration = Duration::from_secs(60);

/// End the loop and delete its state; keep the plan and its story
///
/// A `specum run` that works the spec ends its agents at once. The documents,
/// .progress.md and the journal stay; a loop file that specum wrote for the
/// Ralph Loop plugin is deleted. With --remove the whole
/// folder goes to a trash folder beside the specs, from where it can be moved
/// back.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name or path; the active spec if left out
    pub(super) spec: Option<String>,
    /// Move the spec's folder to the trash
    #[arg(long)]
    remove: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, typed: Door) -> anyhow::Result<u8> {
    // An agent that ends a loop and begins it anew would have its ticks count.
    if person::is_an_agents_shell() {
        person::require("cancel", typed)?;
    }
    let of_session = args.spec.is_none().then(spec_of_session).flatten();
    let (project, spec) = match of_session {
        Some(known) => known,
        None => {
            let project = project()?;
            let spec = spec(&project, args.spec.as_deref())?;
            (project, spec)
        }
    };
    let store = Store::of(&spec);
    warn_if_held(&store);
    let report = report(&spec, &store);
    let was_running = store.has_state();
    let runner = runner(&store);
    if was_running {
        let locked = store.lock()?;
        let changes = Changes { state: StateChange::Delete, ..Changes::default() };
        locked.write(Entry::Cancelled, changes)?;
    }
    files::remove(&store.memory_path())?;
    let loop_file = ralph_loop::end(&spec)?;
    let trash = if args.remove {
        runner.as_ref().map_or(Ok(()), |runner| wait_for(&store, runner))?;
        Some(remove(&project, &spec)?)
    } else {
        None
    };
    let trash = trash.map(|path| project.shown(&path));
    if args.json {
        let mut report = report;
        report["cancelled"] = json!(was_running);
        report["movedTo"] = json!(trash);
        report["loopFile"] = match loop_file {
            LoopFileFate::Nothing => json!(null),
            LoopFileFate::Deleted => json!("deleted"),
            LoopFileFate::Kept => json!("kept"),
        };
        print_json(&report)?;
        return Ok(exit::OK);
    }
    print(format!(
        "{}: phase {}, {} of {} tasks done, iteration {}",
        spec.name,
        report["phase"].as_str().unwrap_or("none"),
        report["done"],
        report["total"],
        report["globalIteration"].as_u64().unwrap_or(0)
    ))?;
    print(if was_running { "cancelled: the state is deleted" } else { "no loop was running" })?;
    match loop_file {
        LoopFileFate::Nothing => {}
        LoopFileFate::Deleted => print(format!("deleted: {LOOP_FILE}"))?,
        LoopFileFate::Kept => {
            print(format!("kept: {LOOP_FILE}, which is not an active loop of this spec"))?;
        }
    }
    match trash {
        Some(trash) => print(format!("moved to {trash}; move it back to undo"))?,
        None => print("kept: the plan, .progress.md and the journal")?,
    }
    Ok(exit::OK)
}

/// What stood before anything is cleaned up.
fn report(spec: &Spec, store: &Store) -> serde_json::Value {
    let state = store.read_state();
    // What cannot be read is no reason to go on with it.
    let tasks = store.read_tasks().ok().flatten().unwrap_or_default();
    let file = tasks.file();
    let phase = match &state {
        None => None,
        Some(Ok(state)) => Some(state.phase.as_str().to_owned()),
        Some(Err(why)) => Some(format!("unknown (corrupt state: {why})")),
    };
    let state = state.and_then(Result::ok);
    json!({
        "name": spec.name,
        "phase": phase,
        "done": file.done_count(),
        "total": file.tasks.len(),
        "taskIteration": state.as_ref().map(|state| state.task_iteration),
        "globalIteration": state.as_ref().map(|state| state.global_iteration),
    })
}

/// The run that works the spec, if one does.
fn runner(store: &Store) -> Option<Owner> {
    let state = store.read_state()?.ok()?;
    match owner::holder(store, Some(&state), Asker::Person) {
        Holder::Other(owner @ Owner::Runner { .. }) => Some(owner),
        Holder::Nobody | Holder::Me | Holder::Other(Owner::Session { .. }) => None,
    }
}

/// A run that has lost its spec still puts away what its agents have left, and
/// tells the journal.
fn wait_for(store: &Store, runner: &Owner) -> anyhow::Result<()> {
    let asked = Instant::now();
    while !owner::is_gone(store, runner) {
        if asked.elapsed() > RUN_ENDS {
            bail!("{} does not end; nothing is moved", runner.description());
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn remove(project: &Project, spec: &Spec) -> anyhow::Result<PathBuf> {
    if let Ok(git) = Git::open(&project.root) {
        git.exclude_own_files()?;
    }
    let was_active = project.current().ok().flatten().as_ref() == Some(spec);
    let beside = spec.dir.parent().context("a spec lies in a folder")?;
    let trash = beside.join(".specum-trash");
    fs::create_dir_all(&trash).with_context(|| format!("cannot create {}", trash.display()))?;
    let stamp = clock::now().strftime("%Y%m%dT%H%M%S%3fZ");
    let target = trash.join(format!("{}-{stamp}", spec.name));
    fs::rename(&spec.dir, &target)
        .with_context(|| format!("cannot move {} to {}", spec.dir.display(), target.display()))?;
    if was_active {
        files::remove(&project.current_spec_file())?;
    }
    Ok(target)
}
