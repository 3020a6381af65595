//! The tasks by phase, each of which opens into what was asked, what happened, why it
//! counts as done, and what changed.

use maud::{Markup, html};
use specum_core::report::{Attempt, Mark, Report, Said, Task};
use specum_core::summary::AttemptResult;

use super::super::words;
use super::{Page, diff, escaped, lanes, short};

pub(super) fn section(page: &Page<'_>) -> Markup {
    let report = page.report;
    html! {
        @if !report.tasks.is_empty() {
            section aria-labelledby="tasks" {
                h2 #tasks { "Tasks" }
                (tools(report))
                @for (phase, name) in report.phases.iter().enumerate() {
                    div.group {
                        @if !name.is_empty() {
                            div.phase { h3 { (name) } span { (sums(report, phase)) } }
                        }
                        @for (place, task) in report.tasks.iter().enumerate().filter(|(_, task)| task.phase == phase) {
                            (row(page, place, task))
                        }
                    }
                }
            }
        }
    }
}

/// The filter. It needs the script, which shows it.
fn tools(report: &Report) -> Markup {
    let has = |kind: &str| report.tasks.iter().any(|task| kinds(task).contains(&kind));
    let chips = [
        ("again", "more than one attempt"),
        ("open", "not done"),
        ("unproved", "unproved"),
        ("outside", "outside its files"),
    ];
    html! {
        div.tools #tools hidden {
            input #filter type="search" placeholder="Filter by id, title, file or requirement" aria-label="Filter the tasks";
            div.chips {
                button.chip type="button" data-kind="all" aria-pressed="true" { "all" }
                @for (kind, text) in chips {
                    @if has(kind) {
                        button.chip type="button" data-kind=(kind) aria-pressed="false" { (text) }
                    }
                }
                span #count .soft role="status" {}
            }
        }
    }
}

fn kinds(task: &Task) -> Vec<&'static str> {
    let has = |mark: Mark| task.marks.contains(&mark);
    let (sign, ..) = words::sign(task);
    let all = [
        (true, "all"),
        (task.attempts.len() > 1, "again"),
        (sign != "✓", "open"),
        (has(Mark::Unproved) || has(Mark::ByPerson) || has(Mark::GreenBefore), "unproved"),
        (has(Mark::Outside), "outside"),
    ];
    all.into_iter().filter_map(|(holds, kind)| holds.then_some(kind)).collect()
}

/// `4 tasks · 1 h 18 min · $1.48`.
fn sums(report: &Report, phase: usize) -> String {
    let tasks = || report.tasks.iter().filter(|task| task.phase == phase);
    let millis: u64 = tasks().map(|task| task.millis).sum();
    let spent =
        tasks().fold(specum_core::summary::Spent::default(), |sum, task| sum.and(task.spent));
    let mut parts = vec![words::counted(tasks().count(), "task")];
    parts.extend((millis > 0).then(|| words::coarse(millis)));
    parts.extend(spent.cost.map(|_| words::cost(spent)));
    parts.join(" · ")
}

/// What the filter looks at.
fn found_by(task: &Task) -> String {
    let files = task.commits.iter().flat_map(|commit| &commit.files).map(|file| file.path.as_str());
    let asked =
        task.asked.iter().filter(|one| matches!(one.name.as_str(), "Files" | "Requirements"));
    let parts = [task.id.as_str(), task.title.as_str()].into_iter();
    let all: Vec<&str> = parts.chain(asked.map(|one| one.text.as_str())).chain(files).collect();
    specum_core::line::head(&all.join(" ").to_lowercase(), 2_000).to_owned()
}

fn row(page: &Page<'_>, place: usize, task: &Task) -> Markup {
    let (sign, tone, word) = words::sign(task);
    let commit = task.commits.last();
    html! {
        details.task id=(page.anchors[place]) data-kinds=(kinds(task).join(" ")) data-find=(found_by(task)) {
            summary {
                span.mark.(tone) { span aria-hidden="true" { (sign) } span.vh { (word) } }
                span.id { (task.id) }
                span.title {
                    (task.title)
                    span.tags { @for mark in &task.marks { (tag(*mark, task)) } }
                }
                (pips(task))
                span.num.lines {
                    @if let Some(changes) = task.changes {
                        @if changes.added > 0 { span.good { "+" (changes.added) } }
                        @if changes.removed > 0 { " " span.bad { "−" (changes.removed) } }
                    }
                }
                span.num.time { @if task.millis > 0 { (words::coarse(task.millis)) } }
                span.num { @if task.spent.cost.is_some() { (words::cost(task.spent)) } }
                span.num { @if let Some(commit) = commit { code { (short(&commit.id)) } } }
            }
            div.body {
                div.cols {
                    div { h4 { "What was asked" } (asked(task)) }
                    div { h4 { "What happened" } (attempts(page, task)) }
                }
                (evidence(page, task))
                (diff::commits(page, task))
            }
        }
    }
}

fn tag(mark: Mark, task: &Task) -> Markup {
    let tone = match mark {
        Mark::Unproved | Mark::GreenBefore | Mark::ByPerson => "wary",
        Mark::BySuite | Mark::Outside => "quiet",
        Mark::Fixes => "cool",
    };
    html! { span.tag.(tone) { (words::mark(mark, task)) } }
}

fn pips(task: &Task) -> Markup {
    /// More are not told apart at a glance.
    const MOST: usize = 12;
    let text = words::counted(task.attempts.len(), "attempt");
    let first = task.attempts.len().saturating_sub(MOST);
    html! {
        @if task.attempts.is_empty() { span.pips {} } @else {
            span.pips role="img" aria-label=(text) title=(text) {
                @for attempt in &task.attempts[first..] { i.(lanes::kind(attempt.result)) {} }
            }
        }
    }
}

fn asked(task: &Task) -> Markup {
    html! {
        @if task.asked.is_empty() { p.soft { "Nothing but its title." } }
        dl.ask {
            @for one in &task.asked {
                div {
                    dt { (one.name) }
                    dd { @if one.is_code { code { (one.text) } } @else { (one.text) } }
                }
            }
            @for note in &task.notes {
                div { dt { "A person said" } dd { (note) } }
            }
        }
    }
}

fn attempts(page: &Page<'_>, task: &Task) -> Markup {
    html! {
        @if task.attempts.is_empty() {
            p.soft { @if words::sign(task).0 == "✓" { "It was ticked without an attempt of this loop." } @else { "Nobody has begun it." } }
        } @else {
            ol.attempts { @for one in &task.attempts { (attempt(page, one)) } }
        }
    }
}

fn attempt(page: &Page<'_>, one: &Attempt) -> Markup {
    let kind = lanes::kind(one.result);
    let head = format!("{} {}", words::ordinal(one.place), words::result(one.result));
    let spent = specum_core::numbers::spent(one.spent).join(", ");
    let is_passed = one.result == AttemptResult::Passed;
    html! {
        li.(kind) {
            i {}
            div.ah {
                b { (head) }
                @if one.from.is_some() {
                    span { (page.clock(one.from)) @if one.until.is_some() { "–" (page.clock(one.until)) } }
                }
                @if !one.agents.is_empty() { span { (one.agents.join(", ")) } }
                @if !spent.is_empty() { span { (spent) } }
            }
            @for reason in &one.reasons { p.why { (page.reason(reason)) } }
            @for reason in &one.sent_back { p.why.soft { "Sent back: " (page.reason(reason)) } }
            @if let Some(check) = one.check.as_ref().filter(|_| !is_passed) { p.why.soft { "Its check " (check) "." } }
            @if !is_passed && !one.output.trim().is_empty() { pre.out tabindex="0" { (output(page, one)) } }
            @if let Some(kept) = &one.kept { p.why.soft { "Its work is kept: " code { (kept) } } }
            (said(page, &one.words))
        }
    }
}

/// How long the words of each attempt are.
pub(super) fn word_sizes(report: &Report) -> Vec<usize> {
    let attempts = report.tasks.iter().flat_map(|task| &task.attempts);
    attempts.map(|one| size(&one.words)).collect()
}

/// How long the outputs of the checks are.
pub(super) fn output_sizes(report: &Report) -> Vec<usize> {
    let attempts = report.tasks.iter().flat_map(|task| &task.attempts);
    attempts.map(|one| escaped(&one.output)).collect()
}

/// The end of what a check printed.
fn output(page: &Page<'_>, one: &Attempt) -> String {
    let text = one.output.trim_end();
    match specum_core::line::tail(text, page.longest_output) {
        all if all.len() == text.len() => all.to_owned(),
        end => format!("…{end}"),
    }
}

fn size(words: &[Said]) -> usize {
    let one = |said: &Said| match said {
        Said::Words(text) | Said::Tool(text) | Said::Trouble(text) => escaped(text),
        Said::LeftOut => 0,
    };
    words.iter().map(one).sum()
}

fn said(page: &Page<'_>, words: &[Said]) -> Markup {
    html! {
        @if !words.is_empty() {
            @if size(words) > page.longest_words {
                p.why.soft { "What its agent said is left out here; " code { "specum log" } " has it." }
            } @else {
                details.fold {
                    summary { "What the agent said" }
                    div.said {
                        @for said in words {
                            @match said {
                                Said::Words(text) => p { (text) },
                                Said::Tool(text) => div.tool { (text) },
                                Said::Trouble(text) => p.bad { (text) },
                                Said::LeftOut => p.soft { "…" },
                            }
                        }
                    }
                }
            }
        }
    }
}

fn evidence(page: &Page<'_>, task: &Task) -> Markup {
    let passed = task.attempts.last().filter(|one| one.result == AttemptResult::Passed);
    html! {
        @if !task.evidence.is_empty() {
            div {
                h4 { "Why it counts as done" }
                ul.layers {
                    @for one in &task.evidence {
                        li.warn[!one.is_good] { (page.sentence(&one.what)) }
                    }
                }
                @if let Some(output) = passed.map(|one| output(page, one)).filter(|text| !text.is_empty()) {
                    details.fold {
                        summary { "What the check printed" }
                        pre.out tabindex="0" { (output) }
                    }
                }
            }
        }
    }
}
