use serde_json::{Value, json};
use specum_core::journal::Entry;
use specum_core::plan;
use specum_core::state::{Driver, Phase, State};
use specum_core::tasks::{Task, TaskFile, short_title};

use super::{print, print_json, project, spec};
use crate::exit;
use crate::owner;
use crate::project::Spec;
use crate::store::{Store, StoreError};

/// Show where a spec stands
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name or path; the active spec if left out
    pub(super) spec: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let project = project()?;
    let spec = spec(&project, args.spec.as_deref())?;
    let store = Store::of(&spec);
    let state = match store.read_state() {
        Some(Err(why)) => {
            return Err(StoreError::Corrupt { path: store.state_path(), why }.into());
        }
        Some(Ok(state)) => Some(state),
        None => None,
    };
    let tasks = store.read_tasks()?.unwrap_or_default();
    let file = TaskFile::scan(&tasks);
    let unverified = unverified(&store)?;
    let held_by = owner::described(state.as_ref(), &store.read_memory(), None);
    if args.json {
        print_json(&as_json(&spec, state.as_ref(), &file, &held_by, &unverified))?;
    } else {
        print(as_text(&spec, state.as_ref(), &file, &held_by, &unverified).trim_end())?;
    }
    Ok(exit::OK)
}

/// The tasks that passed without anything having been run.
fn unverified(store: &Store) -> anyhow::Result<Vec<String>> {
    let passed = store.read_journal()?.into_iter().filter_map(|record| match record.entry {
        Entry::Passed { task, unverified: true, .. } => Some(task.id),
        _ => None,
    });
    Ok(passed.collect())
}

fn as_json(
    spec: &Spec,
    state: Option<&State>,
    file: &TaskFile<'_>,
    held_by: &str,
    unverified: &[String],
) -> Value {
    let tasks: Vec<Value> = file
        .tasks
        .iter()
        .map(|task| json!({"id": task.name(), "title": task.title, "done": task.done, "line": task.line}))
        .collect();
    json!({
        "name": spec.name,
        "path": spec.shown,
        "phase": state.map(|state| state.phase.as_str()),
        "done": file.done_count(),
        "total": file.tasks.len(),
        "next": plan::current(&file.tasks).map(|index| file.tasks[index].name()),
        "taskIteration": state.map(|state| state.task_iteration),
        "maxTaskIterations": state.map(|state| state.max_task_iterations),
        "globalIteration": state.map(|state| state.global_iteration),
        "maxGlobalIterations": state.map(|state| state.max_global_iterations),
        "paused": state.is_some_and(|state| state.awaiting_approval && state.blocked.is_none()),
        "blocked": state.and_then(|state| state.blocked.clone()),
        "heldBy": held_by,
        "unverified": unverified,
        "tasks": tasks,
    })
}

fn as_text(
    spec: &Spec,
    state: Option<&State>,
    file: &TaskFile<'_>,
    held_by: &str,
    unverified: &[String],
) -> String {
    let (done, total) = (file.done_count(), file.tasks.len());
    let mut text = format!("{}  {}\n{} {done}/{total}\n", spec.name, spec.shown, bar(done, total));
    let mut line = |label: &str, value: String| text.push_str(&format!("{label:10} {value}\n"));
    match state {
        None if done == total && total > 0 => line("loop", "finished: every box is ticked".into()),
        None => line("loop", "not running; start it with `specum implement`".into()),
        Some(state) => {
            line("phase", state.phase.as_str().to_owned());
            line("held by", held_by.to_owned());
            if state.driver == Driver::RalphLoop {
                line("driver", "Ralph Loop".into());
            }
            if state.phase == Phase::Execution {
                line(
                    "attempts",
                    format!(
                        "{} of {} for this task, iteration {} of {}",
                        state.task_iteration,
                        state.max_task_iterations,
                        state.global_iteration,
                        state.max_global_iterations
                    ),
                );
            }
            match &state.blocked {
                Some(reason) => {
                    line("blocked", reason.clone());
                    line("", "mend it, then `specum resume` gives the task another round".into());
                }
                None if state.awaiting_approval => {
                    line("paused", "`specum resume` lets it go on".into());
                }
                None => {}
            }
        }
    }
    if let Some(index) = plan::current(&file.tasks) {
        let task: &Task = &file.tasks[index];
        line(
            "next",
            format!("{} {} (tasks.md:{})", task.name(), short_title(&task.title), task.line),
        );
    }
    if !unverified.is_empty() {
        line("unverified", unverified.join(", "));
    }
    text
}

fn bar(done: usize, total: usize) -> String {
    const WIDTH: usize = 30;
    let full = (done * WIDTH).checked_div(total).unwrap_or(0);
    format!("[{}{}]", "#".repeat(full), ".".repeat(WIDTH - full))
}
