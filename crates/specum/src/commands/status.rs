use serde_json::{Value, json};
use specum_core::machine;
use specum_core::owner::Asker;
use specum_core::plan::{self, Scope};
use specum_core::prompt;
use specum_core::state::{Driver, Phase, State};
use specum_core::summary::{Attempt, AttemptResult, Summary};
use specum_core::tasks::{Task, TaskFile, short_title};

use super::{print, print_json, project, spec};
use crate::exit;
use crate::owner;
use crate::project::Spec;
use crate::report::{numbers, sanitize, timeline};
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
    let file = tasks.file();
    let journal = store.read_journal()?;
    let held_by = owner::holder(&store, state.as_ref(), Asker::Person).to_string();
    let told = Overview { held_by, summary: Summary::of(&journal, &file) };
    if args.json {
        print_json(&as_json(&spec, state.as_ref(), &file, &told))?;
    } else {
        print(as_text(&spec, state.as_ref(), &file, &told).trim_end())?;
    }
    Ok(exit::OK)
}

/// What neither the state nor the task file says.
struct Overview {
    held_by: String,
    summary: Summary,
}

fn as_json(spec: &Spec, state: Option<&State>, file: &TaskFile<'_>, told: &Overview) -> Value {
    let Overview { held_by, summary } = told;
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
        "next": next(state, file).map(Task::name),
        "taskIteration": state.map(|state| state.task_iteration),
        "maxTaskIterations": state.map(|state| state.max_task_iterations),
        "globalIteration": state.map(|state| state.global_iteration),
        "maxGlobalIterations": state.map(|state| state.max_global_iterations),
        "paused": state.is_some_and(|state| state.awaiting_approval && state.blocked.is_none()),
        "pausedFor": state.and_then(|state| state.paused_for.clone()),
        "blocked": state.and_then(|state| state.blocked.clone()),
        "heldBy": held_by,
        "unverified": summary.unverified,
        "byPerson": summary.by_person,
        "questions": summary.questions,
        "overruledChecks": summary.overruled_checks,
        "kept": summary.kept,
        "attempts": summary.attempts,
        "millis": summary.millis,
        "tokens": summary.spent.tokens,
        "cost": summary.spent.cost,
        "estimated": summary.spent.estimated,
        "lastRun": summary.last_run,
        "tasks": tasks,
    })
}

fn as_text(spec: &Spec, state: Option<&State>, file: &TaskFile<'_>, told: &Overview) -> String {
    let Overview { held_by, summary } = told;
    let (done, total) = (file.done_count(), file.tasks.len());
    let mut text = format!("{}  {}\n{} {done}/{total}\n", spec.name, spec.shown, bar(done, total));
    let mut line = |label: &str, value: String| text.push_str(&format!("{label:10} {value}\n"));
    match state {
        None if done == total && total > 0 => line("loop", "finished: every box is ticked".into()),
        None => line("loop", "not running; start it with `specum implement`".into()),
        Some(state) => {
            line("phase", state.phase.as_str().to_owned());
            line("held by", held_by.clone());
            if state.driver == Driver::RalphLoop {
                line("driver", "Ralph Loop".into());
            }
            if state.phase == Phase::Execution {
                line(
                    "attempts",
                    format!(
                        "{} of {} for this task, iteration {} of {}",
                        // Behind the last one no other is made.
                        state.task_iteration.min(state.max_task_iterations),
                        state.max_task_iterations,
                        state.global_iteration.min(state.max_global_iterations),
                        state.max_global_iterations
                    ),
                );
            }
            match &state.blocked {
                Some(reason) => {
                    line("blocked", sanitize::one_line(reason));
                    line("", "fix it, then `specum resume` gives the task another round".into());
                }
                None if state.awaiting_approval => {
                    let way_on = prompt::way_on(state.paused_for.as_deref());
                    match &state.paused_for {
                        Some(why) => {
                            line("paused", sanitize::one_line(why));
                            line("", way_on.into());
                        }
                        None => line("paused", way_on.into()),
                    }
                }
                None => {}
            }
        }
    }
    if let Some(task) = next(state, file) {
        let name = sanitize::one_line(&format!("{} {}", task.name(), short_title(&task.title)));
        line("next", format!("{name} (tasks.md:{})", task.line));
    }
    if let Some(so_far) = so_far(summary) {
        line("so far", so_far);
    }
    if let Some(outcome) = &summary.last_run {
        line("last run", sanitize::one_line(outcome));
    }
    if !summary.unverified.is_empty() {
        line("unverified", summary.unverified.join(", "));
    }
    if !summary.by_person.is_empty() {
        line("by you", format!("{}: ticked by you, not checked", summary.by_person.join(", ")));
    }
    for kept in &summary.kept {
        let reference = timeline::kept(&sanitize::one_line(&kept.reference), kept.files);
        let task = timeline::name(&kept.task);
        line("kept", format!("{task}, what attempt {} left: {reference}", kept.attempt));
    }
    for question in &summary.questions {
        line("waits", sanitize::one_line(question));
    }
    for check in &summary.overruled_checks {
        line("plan", sanitize::one_line(check));
    }
    text
}

/// What the loop has taken until now.
/// What is due next; a task that waits for a person is not.
fn next<'t>(state: Option<&State>, file: &'t TaskFile<'_>) -> Option<&'t Task> {
    let index = match state {
        Some(state) => machine::unit(state, file, &Scope::all(1)).tasks().first().copied(),
        None => plan::current(&file.tasks),
    };
    index.map(|index| &file.tasks[index])
}

fn so_far(summary: &Summary) -> Option<String> {
    // An attempt that was opened, and that nobody has worked, took nothing.
    let worked = |attempt: &&Attempt| {
        attempt.result != AttemptResult::Open || attempt.millis > 0 || !attempt.agents.is_empty()
    };
    let attempts = summary.tasks.iter().flat_map(|task| &task.attempts);
    let count = match attempts.filter(worked).count() {
        0 => return None,
        1 => "1 attempt".to_owned(),
        attempts => format!("{attempts} attempts"),
    };
    let facts = [count, numbers::millis(summary.millis)];
    Some(facts.into_iter().chain(numbers::spent(summary.spent)).collect::<Vec<_>>().join(", "))
}

fn bar(done: usize, total: usize) -> String {
    const WIDTH: usize = 30;
    let full = (done * WIDTH).checked_div(total).unwrap_or(0);
    format!("[{}{}]", "#".repeat(full), ".".repeat(WIDTH - full))
}
