//! The tasks of a plan, one line each, on one screen: what is done, and what is far away,
//! is folded.

use jiff::Timestamp;
use specum_core::moment::Moment;
use specum_core::tasks::short_title;

use crate::report::layout::{Part, Tone};
use crate::report::{Layout, numbers, sanitize};
use specum_engine::ops::{StatusTask, TaskState, Work};

/// A plan of this many tasks is shown whole.
const WHOLE: usize = 12;
/// How many tasks that are at work, or have failed, are shown.
const BUSY: usize = 8;
/// How many open tasks are shown behind them.
const NEXT: usize = 4;

/// The lines about the tasks. `blocked_at` names the task whose reason is shown already.
pub(super) fn lines(
    tasks: &[StatusTask],
    all: bool,
    blocked: Option<&str>,
    layout: Layout,
) -> Vec<String> {
    let each = |tasks: &[&StatusTask]| -> Vec<String> {
        tasks.iter().flat_map(|task| task_lines(task, blocked, layout)).collect()
    };
    if all || tasks.len() <= WHOLE {
        return each(&tasks.iter().collect::<Vec<_>>());
    }
    let of = |wanted: fn(TaskState) -> bool| -> Vec<&StatusTask> {
        tasks.iter().filter(|task| wanted(task.state)).collect()
    };
    let done = of(|state| state == TaskState::Done);
    let busy = of(|state| !matches!(state, TaskState::Done | TaskState::Open));
    let open = of(|state| state == TaskState::Open);
    let mut lines = Vec::new();
    if let Some(last) = done.last() {
        lines.push(folded("✓", Tone::Good, done.len(), "done", last, layout));
    }
    lines.extend(each(&busy[..busy.len().min(BUSY)]));
    if let Some(last) = busy.last().filter(|_| busy.len() > BUSY) {
        lines.push(folded("…", Tone::Wary, busy.len() - BUSY, "more", last, layout));
    }
    lines.extend(each(&open[..open.len().min(NEXT)]));
    match open.get(NEXT..).unwrap_or_default() {
        [] => {}
        [one] => lines.extend(each(&[*one])),
        [.., last] => {
            let more = open.len() - NEXT;
            lines.push(folded("·", Tone::Dim, more, "more open", last, layout));
        }
    }
    lines
}

/// Several tasks in one line.
fn folded(
    sign: &str,
    tone: Tone,
    count: usize,
    what: &str,
    last: &StatusTask,
    layout: Layout,
) -> String {
    let head = [Part::new(format!("{sign} "), tone)];
    let text = format!("{count} {what}, the last is {}", name(last));
    layout.row(&head, &Part::new(text, Tone::Dim), &[Part::new("--all shows them", Tone::Dim)])
}

fn name(task: &StatusTask) -> String {
    sanitize::one_line(&format!("{} {}", task.id, short_title(&task.title)))
}

fn task_lines(task: &StatusTask, blocked: Option<&str>, layout: Layout) -> Vec<String> {
    let (sign, tone) = match task.state {
        TaskState::Done => ("✓", Tone::Good),
        TaskState::AtWork => ("▸", Tone::Good),
        TaskState::Failed => ("✗", Tone::Bad),
        TaskState::SetAside => ("↻", Tone::Wary),
        TaskState::Waits => ("?", Tone::Wary),
        TaskState::Skipped => ("-", Tone::Dim),
        TaskState::Open => ("·", Tone::Dim),
    };
    let head = [
        Part::new(format!("{sign} "), tone),
        Part::new(format!("{} ", sanitize::one_line(&task.id)), Tone::Strong),
    ];
    let mut facts = Vec::new();
    let state = match task.state {
        TaskState::Failed => Some(format!("attempt {} failed", task.attempts)),
        TaskState::SetAside => Some("set aside, runs again alone".to_owned()),
        TaskState::Waits => Some("waits for you".to_owned()),
        TaskState::Skipped => Some("skipped".to_owned()),
        TaskState::Open if task.optional => Some("optional".to_owned()),
        TaskState::Done | TaskState::AtWork | TaskState::Open => None,
    };
    facts.extend(state.map(|state| Part::new(state, tone)));
    facts.extend(task.work.iter().flat_map(since));
    let commit = task.commit.as_deref().map(|id| sanitize::one_line(&numbers::commit(id)));
    facts.extend(commit.map(|id| Part::new(id, Tone::Dim)));
    let tone = if task.state == TaskState::Done { Tone::Dim } else { Tone::Normal };
    let title = Part::new(sanitize::one_line(&short_title(&task.title)), tone);
    let mut lines = vec![layout.row(&head, &title, &facts)];
    lines.extend(task.work.as_ref().map(|work| {
        let doing = sanitize::one_line(&work.doing);
        layout.row(&[Part::new("    ", Tone::Dim)], &Part::new(doing, Tone::Dim), &[])
    }));
    // Why the loop is blocked stands above.
    let is_told =
        blocked.is_some_and(|reason| task.why.as_ref().is_some_and(|why| reason.contains(why)));
    for why in task.why.iter().filter(|_| !is_told) {
        lines.extend(layout.wrapped(4, &sanitize::one_line(why), Tone::Normal));
    }
    lines.extend(layout.quoted(&task.telling));
    lines
}

/// By whom, and for how long.
fn since(work: &Work) -> Vec<Part> {
    let agent = work.agent.as_deref().map(sanitize::one_line);
    let began = Moment::from(work.since.as_str()).time();
    let length = began.map(|began| Timestamp::now().duration_since(began));
    let length = length.and_then(|length| std::time::Duration::try_from(length).ok());
    let place = (work.place > 1).then(|| format!("attempt {}", work.place));
    let facts = agent.into_iter().chain(place).chain(length.map(numbers::duration));
    facts.map(|fact| Part::new(fact, Tone::Dim)).collect()
}
