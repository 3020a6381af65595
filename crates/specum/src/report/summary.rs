//! A summary for a person: what they want to read in the morning.
//!
//! First how the loop stands and what to do about it, then a line for each task
//! that was worked, then the story of those that were not done at the first
//! attempt, then the sums, and what nobody has proved. No line is wider than the
//! page.

mod table;

use std::time::Duration;

use specum_core::moment::Moment;
use specum_core::prompt;
use specum_core::summary::{Attempt, AttemptResult, Standing, Summary, TaskSummary};
use specum_core::verify::Proof;

use self::table::{Column, Table};
use super::layout::{Layout, Part, Tone, columns, fit, pad};
use super::{numbers, sanitize, timeline};
use specum_engine::attempt;

/// How many names a list shows before it says how many more there are.
const LISTED: usize = 12;

/// The summary of a spec's loop, in lines.
pub(crate) fn render(spec: &str, summary: &Summary, layout: Layout) -> String {
    let sections = [
        headline(spec, summary, layout),
        tasks(summary, layout),
        stories(summary, layout),
        totals(summary, layout),
    ];
    let sections = sections.into_iter().filter(|lines| !lines.is_empty());
    sections.map(|lines| lines.join("\n") + "\n").collect::<Vec<_>>().join("\n")
}

/// How the loop stands, and what a person does next.
fn headline(spec: &str, summary: &Summary, layout: Layout) -> Vec<String> {
    let blocked = timeline::way_on(summary.stuck().map(|task| task.id.as_str()));
    let (word, tone, why, next) = match &summary.standing {
        Standing::NotStarted => ("not started", Tone::Normal, "", "`specum run` starts it"),
        Standing::UnderWay => ("under way", Tone::Normal, "", ""),
        Standing::Paused { why } => {
            let why = why.as_deref();
            ("paused", Tone::Wary, why.unwrap_or_default(), prompt::way_on(why))
        }
        Standing::Blocked { why } => ("blocked", Tone::Bad, why.as_str(), blocked.as_str()),
        Standing::Stopped { why } => {
            ("stopped", Tone::Wary, why.as_str(), "`specum run` continues from here")
        }
        Standing::Cancelled => ("cancelled", Tone::Wary, "", "`specum run` begins anew"),
        Standing::Complete => ("complete", Tone::Good, "", ""),
    };
    let Summary { done, total, .. } = summary;
    let parts = [
        Part::new(format!("{}  ", sanitize::one_line(spec)), Tone::Strong),
        Part::new(word, tone),
        Part::new(format!("  {done} of {total} tasks done"), Tone::Normal),
        Part::new(summary.proofs_in_words(), Tone::Wary),
    ];
    let mut lines = vec![layout.line(&parts)];
    lines.extend(layout.wrapped(2, &sanitize::one_line(why), tone));
    if let Standing::Blocked { .. } = summary.standing {
        lines.extend(layout.quoted(&summary.telling()));
    }
    lines.extend(layout.wrapped(2, next, Tone::Normal));
    lines
}

/// A line for each task that was worked, and how many others there are.
fn tasks(summary: &Summary, layout: Layout) -> Vec<String> {
    let worked: Vec<&TaskSummary> =
        summary.tasks.iter().filter(|task| !task.attempts.is_empty()).collect();
    let mut lines = table_of(&worked).render(layout);
    let beside = |done: bool| {
        summary.tasks.iter().filter(move |task| task.done == done && task.attempts.is_empty())
    };
    let by_person = &summary.by_person;
    for task in beside(true).filter(|task| by_person.contains(&task.id)) {
        let (id, title) = (sanitize::one_line(&task.id), sanitize::one_line(&task.title));
        let text = format!("✓ {id} {title}: ticked by you, not checked");
        lines.push(layout.line(&[Part::new(text, Tone::Wary)]));
    }
    let before = beside(true).filter(|task| !by_person.contains(&task.id)).count();
    if before > 0 {
        let text = format!("✓ {before} ticked before this loop began");
        lines.push(layout.line(&[Part::new(text, Tone::Dim)]));
    }
    for is_optional in [false, true] {
        let open = || beside(false).filter(move |task| task.optional == is_optional);
        let Some(first) = open().next() else { continue };
        let (id, title) = (sanitize::one_line(&first.id), sanitize::one_line(&first.title));
        let text = match is_optional {
            false => format!("· {} not begun, the first is {id} {title}", open().count()),
            true => format!(
                "· {} optional not begun (`specum run --optional`), the first is {id} {title}",
                open().count()
            ),
        };
        lines.push(layout.line(&[Part::new(text, Tone::Dim)]));
    }
    lines
}

/// What a task is called before its title.
fn name(task: &TaskSummary) -> String {
    timeline::name(&task.id)
}

fn table_of(worked: &[&TaskSummary]) -> Table {
    let each = |cell: &dyn Fn(&TaskSummary) -> Option<String>| {
        worked.iter().map(|task| cell(task).unwrap_or_default()).collect::<Vec<_>>()
    };
    let agents = |task: &TaskSummary| Some(fit(&sanitize::one_line(&task.agents().join(", ")), 20));
    let cost =
        |task: &TaskSummary| numbers::spent(task.spent()).into_iter().find(|t| t.contains('$'));
    let tokens = |task: &TaskSummary| {
        numbers::spent(task.spent()).into_iter().find(|t| t.contains("tokens"))
    };
    let commit = |task: &TaskSummary| {
        let id = task.passed()?.commit.as_deref()?;
        Some(sanitize::one_line(&numbers::commit(id)))
    };
    let changed = |task: &TaskSummary| changes(task.passed()?);
    let unproved = |task: &TaskSummary| Some(task.passed()?.proof?.note()?.to_owned());
    let tries = |task: &TaskSummary| {
        (task.attempts.len() > 1).then(|| format!("{} attempts", task.attempts.len()))
    };
    Table {
        signs: worked.iter().map(|task| sign(task)).collect(),
        ids: each(&|task| Some(fit(&name(task), 12))),
        titles: each(&|task| Some(sanitize::one_line(&task.title))),
        // The first ones are the last to go where there is little room.
        columns: vec![
            Column::new(each(&|task| took(task.millis())), Tone::Dim).right_aligned(),
            Column::new(each(&unproved), Tone::Wary),
            Column::new(each(&tries), Tone::Wary),
            Column::new(each(&commit), Tone::Dim),
            Column::new(each(&changed), Tone::Dim),
            Column::new(each(&cost), Tone::Dim).right_aligned(),
            Column::new(each(&agents), Tone::Dim),
            Column::new(each(&tokens), Tone::Dim).right_aligned(),
        ],
    }
}

fn sign(task: &TaskSummary) -> (&'static str, Tone) {
    match task.attempts.last().map(|attempt| attempt.result) {
        _ if task.done => ("✓", Tone::Good),
        Some(AttemptResult::Failed) => ("✗", Tone::Bad),
        Some(AttemptResult::SetAside) => ("↻", Tone::Wary),
        Some(AttemptResult::Waits) => ("?", Tone::Wary),
        _ => ("·", Tone::Wary),
    }
}

/// What happened to the tasks that were not done at the first attempt.
fn stories(summary: &Summary, layout: Layout) -> Vec<String> {
    let is_kept = |task: &TaskSummary| summary.kept.iter().any(|kept| kept.task == task.id);
    let told = summary
        .tasks
        .iter()
        .filter(|task| task.attempts.len() > 1 || is_stuck(task) || is_kept(task));
    let mut lines = Vec::new();
    for task in told {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        let head = Part::new(format!("{} ", name(task)), Tone::Strong);
        lines.push(layout.row(
            &[head],
            &Part::new(sanitize::one_line(&task.title), Tone::Normal),
            &[],
        ));
        lines.extend(
            task.attempts.iter().flat_map(|attempt| told_attempt(attempt, Output::Telling, layout)),
        );
        let kept = summary.kept.iter().filter(|kept| kept.task == task.id);
        for kept in kept {
            let reference = sanitize::one_line(&kept.reference);
            let reference = timeline::kept(&reference, kept.files);
            let text = format!("what attempt {} left is kept: {reference}", kept.place);
            lines.extend(layout.wrapped(4, &text, Tone::Dim));
        }
    }
    lines
}

/// Whether a task was worked and is open, for a reason that can be told.
fn is_stuck(task: &TaskSummary) -> bool {
    let told =
        |attempt: &Attempt| attempt.result != AttemptResult::Open || !attempt.sent_back.is_empty();
    !task.done && task.attempts.iter().any(told)
}

/// How much an attempt's commit changes, if somebody has looked.
fn changes(attempt: &Attempt) -> Option<String> {
    let counts = attempt.changes.filter(|counts| counts.files > 0)?;
    Some(numbers::changes(counts.files, counts.added, counts.removed))
}

/// How long something took, if anybody has said.
fn took(millis: u64) -> Option<String> {
    (millis > 0).then(|| numbers::millis(millis))
}

/// How much of a check's output stands below an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// None.
    None,
    /// The lines that tell why it failed.
    Telling,
}

/// An attempt with its verdict, and the reasons below.
pub(crate) fn told_attempt(attempt: &Attempt, output: Output, layout: Layout) -> Vec<String> {
    let (word, tone) = match attempt.result {
        AttemptResult::Open => ("no verdict yet", Tone::Wary),
        AttemptResult::Passed => match attempt.proof {
            Some(Proof::None) => ("passed, unverified", Tone::Wary),
            Some(Proof::Suite) => ("passed, by the suite alone", Tone::Wary),
            Some(Proof::GreenBefore) => ("passed, green before the work", Tone::Wary),
            Some(Proof::RedGreen) => ("passed, red→green", Tone::Good),
            Some(Proof::Earlier) => ("passed, red when it was planned", Tone::Good),
            Some(Proof::Guard) => ("passed, a guard", Tone::Good),
            _ => ("passed", Tone::Good),
        },
        AttemptResult::Failed => ("failed", Tone::Bad),
        AttemptResult::SetAside => ("set aside", Tone::Wary),
        AttemptResult::Waits => ("waits for you", Tone::Wary),
    };
    let head = [Part::new(format!("  attempt {}  ", attempt.place), Tone::Dim)];
    let mut facts: Vec<Part> =
        took(attempt.millis).into_iter().map(|time| Part::new(time, Tone::Dim)).collect();
    let agents = sanitize::one_line(&attempt.agents.join(", "));
    facts.extend((!agents.is_empty()).then(|| Part::new(agents, Tone::Dim)));
    let commit = attempt.commit.as_deref().map(|id| sanitize::one_line(&numbers::commit(id)));
    facts.extend(commit.map(|id| Part::new(id, Tone::Dim)));
    facts.extend(changes(attempt).map(|counts| Part::new(counts, Tone::Dim)));
    facts.extend(numbers::spent(attempt.spent).into_iter().map(|fact| Part::new(fact, Tone::Dim)));
    let mut lines = vec![layout.row(&head, &Part::new(word, tone), &facts)];
    for reason in &attempt.reasons {
        lines.extend(layout.wrapped(4, &sanitize::one_line(reason), Tone::Normal));
    }
    if output == Output::Telling {
        lines.extend(layout.quoted(&attempt.telling()));
    }
    for reason in &attempt.sent_back {
        let text = format!("sent back: {}", sanitize::one_line(reason));
        lines.extend(layout.wrapped(4, &text, Tone::Dim));
    }
    lines
}

/// The sums, one below the other.
fn totals(summary: &Summary, layout: Layout) -> Vec<String> {
    if summary.attempts == 0 {
        return Vec::new();
    }
    let mut rows: Vec<(&str, String, Tone)> = Vec::new();
    let commits = match summary.commits {
        0 => String::new(),
        1 => ", 1 commit".to_owned(),
        commits => format!(", {commits} commits"),
    };
    rows.push(("attempts", format!("{}{commits}", summary.attempts), Tone::Normal));
    rows.push(("time", time(summary), Tone::Normal));
    let spent = numbers::spent(summary.spent);
    if !spent.is_empty() {
        let about = if summary.spent.estimated { " (in part an estimate)" } else { "" };
        rows.push(("used", format!("{}{about}", spent.join(", ")), Tone::Normal));
    }
    if !summary.waits.is_empty() {
        let millis = summary.waits.iter().fold(0_u64, |sum, wait| sum.saturating_add(wait.millis));
        let why = summary.waits.last().map(|wait| format!("{}: {}", wait.agent, wait.why));
        let times = match summary.waits.len() {
            1 => "once".to_owned(),
            times => format!("{times} times"),
        };
        let text =
            format!("{times}, {} in all; {}", numbers::millis(millis), why.unwrap_or_default());
        rows.push(("waited", text, Tone::Normal));
    }
    for change in &summary.agent_changes {
        rows.push((
            "agent",
            format!("{} → {}: {}", change.from, change.to, change.why),
            Tone::Normal,
        ));
    }
    for outside in &summary.outside {
        let text =
            format!("{} also changed {}, not in its Files", outside.task, listed(&outside.files));
        rows.push(("outside", text, Tone::Wary));
    }
    for question in &summary.questions {
        rows.push(("waits", question.clone(), Tone::Wary));
    }
    for check in &summary.overruled_checks {
        rows.push(("plan", check.clone(), Tone::Wary));
    }
    if !summary.unticked.is_empty() {
        rows.push(("opened", attempt::taken_back_in_words(&summary.unticked), Tone::Wary));
    }
    for proofs in &summary.proofs {
        let text =
            format!("{} changed {}, which its check runs", proofs.task, listed(&proofs.files));
        rows.push(("proof", text, Tone::Wary));
    }
    if !summary.by_person.is_empty() {
        let text = format!("{}: ticked by you, not checked", listed(&summary.by_person));
        rows.push(("unverified", text, Tone::Wary));
    }
    // The last pass of a loop under way may be on its way to git.
    if !summary.uncommitted.is_empty() && summary.standing != Standing::UnderWay {
        let text =
            format!("{}: there was no git repository to commit to", listed(&summary.uncommitted));
        rows.push(("uncommitted", text, Tone::Wary));
    }
    if !summary.unverified.is_empty() {
        let text = format!("{}: no Verify command, so nobody checked", listed(&summary.unverified));
        rows.push(("unverified", text, Tone::Wary));
    }
    if !summary.by_suite.is_empty() {
        let text = format!("{}: checked by the plan's check alone", listed(&summary.by_suite));
        rows.push(("suite", text, Tone::Wary));
    }
    if summary.added > 0 {
        let (tasks, were) = if summary.added == 1 { ("task", "was") } else { ("tasks", "were") };
        let text = format!("{} {tasks} {were} added because executors asked", summary.added);
        rows.push(("added", text, Tone::Wary));
    }
    if !summary.stale.is_empty() {
        rows.push(("stale", summary.stale.join("; "), Tone::Wary));
    }
    if !summary.green_before.is_empty() {
        let text = match summary.green_before.as_slice() {
            [one] => format!("{one}: its tick proves nothing, its check was green before the work"),
            ticks => format!(
                "{} ticks prove nothing: their checks were green before the work ({})",
                ticks.len(),
                listed(ticks)
            ),
        };
        rows.push(("proof", text, Tone::Wary));
    }
    rows.iter().flat_map(|(label, text, tone)| row(label, text, *tone, layout)).collect()
}

/// A label and a text, which goes on below itself.
fn row(label: &str, text: &str, tone: Tone, layout: Layout) -> Vec<String> {
    const LABEL: usize = 12;
    let mut lines = layout.wrapped(LABEL, &sanitize::one_line(text), tone);
    if let Some(first) = lines.first_mut() {
        let label = layout.paint(&pad(label, LABEL), Tone::Dim);
        first.replace_range(..LABEL, &label);
    }
    lines
}

fn time(summary: &Summary) -> String {
    let worked = numbers::millis(summary.millis);
    let moment = |at: &Option<Moment>| at.as_ref()?.time();
    match (moment(&summary.since), moment(&summary.until)) {
        (Some(since), Some(until)) => {
            let whole = Duration::try_from(until.duration_since(since)).unwrap_or_default();
            format!("{} (agents worked {worked})", numbers::duration(whole))
        }
        _ => format!("agents worked {worked}"),
    }
}

fn listed(names: &[String]) -> String {
    let mut text = names.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
    if let Some(more) = names.len().checked_sub(LISTED).filter(|more| *more > 0) {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

#[cfg(test)]
mod tests;
