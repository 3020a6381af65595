mod tasks;

use specum_core::prompt;
use specum_core::state::Phase;
use specum_core::summary::Spent;
use specum_core::tasks::short_title;

use super::{Answered, print_json, print_report, way_to_begin};
use crate::exit::Exit;
use crate::report::{Layout, numbers, sanitize, timeline};
use specum_engine::ops::{self, Caller, Status, StatusDriver, StatusTask, TaskState};

/// Show where a spec stands, and how each of its tasks does
///
/// What is done, what is at work, by whom and since when, what has failed and why, and
/// what is open. Of a long plan, what is done and what is far away is folded.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name or path; the active spec if left out
    pub(super) spec: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Show every task of a long plan
    #[arg(long, conflicts_with = "json")]
    all: bool,
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let status = ops::status(caller, args.spec.as_deref())?;
    if args.json {
        return print_json(&status, Exit::Done);
    }
    print_report(as_text(&status, args.all))?;
    Ok(Exit::Done)
}

fn as_text(status: &Status, all: bool) -> String {
    let (done, total) = (status.done, status.total);
    let mut lines = vec![
        format!("{}  {}", status.name, status.path),
        format!("{} {done}/{total}", bar(done, total)),
    ];
    let mut line = |label: &str, value: String| lines.push(format!("{label:10} {value}"));
    match &status.phase {
        None if done == total && total > 0 && status.questions.is_empty() => {
            line("loop", "finished: every task is done".into());
        }
        None => line("loop", format!("not running; {} starts it", way_to_begin())),
        Some(phase) => describe_loop(status, phase, &mut line),
    }
    let is_next = |id: &String| status.tasks.iter().find(|task| task.id == *id && !task.done);
    if let Some(task) = status.next.as_ref().and_then(is_next) {
        let name = sanitize::one_line(&format!("{} {}", task.id, short_title(&task.title)));
        line("next", format!("{name} (tasks.md:{})", task.line));
    }
    if let Some(so_far) = so_far(status) {
        line("so far", so_far);
    }
    if let Some(outcome) = &status.last_run {
        // Why it is blocked stands above.
        let said_above = status.blocked.as_ref().filter(|why| outcome.ends_with(why.as_str()));
        let outcome = said_above.map_or(outcome.as_str(), |_| "blocked");
        line("last run", sanitize::one_line(outcome));
    }
    if !status.unverified.is_empty() {
        line("unverified", status.unverified.join(", "));
    }
    if !status.by_suite.is_empty() {
        line("suite", format!("{}: by the plan's check alone", status.by_suite.join(", ")));
    }
    if !status.green_before.is_empty() {
        let tasks = status.green_before.join(", ");
        line(
            "green before",
            format!("{tasks}: the check passed before the work, and proves nothing"),
        );
    }
    if !status.by_person.is_empty() {
        line("by you", format!("{}: ticked by you, not checked", status.by_person.join(", ")));
    }
    for kept in &status.kept {
        let reference = timeline::kept(&sanitize::one_line(&kept.reference), kept.files);
        let task = timeline::name(&kept.task);
        line("kept", format!("{task}, what attempt {} left: {reference}", kept.place));
    }
    for question in &status.questions {
        line("waits", sanitize::one_line(question));
    }
    for check in &status.overruled_checks {
        line("plan", sanitize::one_line(check));
    }
    let tasks = tasks::lines(&status.tasks, all, status.blocked.as_deref(), Layout::of_stdout());
    // What others have written into them must not steer a terminal.
    let mut lines: Vec<String> = lines.iter().map(|line| sanitize::text(line)).collect();
    if !tasks.is_empty() {
        lines.push(String::new());
        lines.extend(tasks);
    }
    lines.join("\n")
}

/// The lines about a loop that is under way.
fn describe_loop(status: &Status, phase: &str, line: &mut impl FnMut(&str, String)) {
    if phase != Phase::Execution.as_str() {
        line("phase", phase.to_owned());
    }
    line("held by", status.held_by.clone());
    if status.driver == Some(StatusDriver::RalphLoop) {
        line("driver", "Ralph Loop".into());
    }
    if phase == Phase::Execution.as_str() {
        let (most, cap) = (status.max_task_iterations, status.max_global_iterations);
        // No other attempt is made behind the last one.
        let within = |count: Option<u64>, cap: Option<u64>| count.min(cap).unwrap_or(0);
        line(
            "attempt",
            format!(
                "{} of {} for this task, {} of {} in all",
                within(status.task_iteration, most),
                most.unwrap_or(0),
                within(status.global_iteration, cap),
                cap.unwrap_or(0)
            ),
        );
    }
    if let Some(reason) = &status.blocked {
        line("blocked", sanitize::one_line(reason));
        let failed = |task: &&StatusTask| task.state == TaskState::Failed;
        let stuck = status.tasks.iter().find(failed);
        line("", timeline::way_on(stuck.map(|task| task.id.as_str())));
    } else if status.paused {
        let way_on = prompt::way_on(status.paused_for.as_deref());
        match &status.paused_for {
            Some(why) => {
                line("paused", sanitize::one_line(why));
                line("", way_on.into());
            }
            None => line("paused", way_on.into()),
        }
    }
}

/// What the loop has taken until now.
fn so_far(status: &Status) -> Option<String> {
    let count = match status.worked {
        0 => return None,
        1 => "1 attempt".to_owned(),
        attempts => format!("{attempts} attempts"),
    };
    let spent = Spent { tokens: status.tokens, cost: status.cost, estimated: status.estimated };
    let facts = [count, numbers::millis(status.millis)];
    Some(facts.into_iter().chain(numbers::spent(spent)).collect::<Vec<_>>().join(", "))
}

fn bar(done: usize, total: usize) -> String {
    const WIDTH: usize = 30;
    let full = (done * WIDTH).checked_div(total).unwrap_or(0);
    format!("[{}{}]", "#".repeat(full), ".".repeat(WIDTH - full))
}
