//! What stands behind the tasks: requirements, money, the story, what was learned.

use maud::{Markup, html};
use specum_core::report::{Report, Told, Tone};
use specum_core::summary::{AttemptResult, Spent};

use super::super::words;
use super::Page;

pub(super) fn requirements(page: &Page<'_>) -> Markup {
    let all = &page.report.requirements;
    let proven = all.iter().filter(|one| one.is_proven).count();
    html! {
        @if !all.is_empty() {
            section aria-labelledby="requirements" {
                h2 #requirements { "Requirements" }
                p.say {
                    (proven) " of " (all.len()) " have only tasks that are done and were checked."
                }
                ul.look.requirements {
                    @for one in all {
                        li {
                            @let (sign, tone, word) = match (one.is_proven, one.tasks.is_empty()) {
                                (true, _) => ("✓", "good", "proved"),
                                (_, true) => ("△", "wary", "without a task"),
                                _ => ("·", "soft", "not proved"),
                            };
                            span.m.(tone) { span aria-hidden="true" { (sign) } span.vh { (word) } }
                            span.id { (one.id) }
                            div {
                                (one.text) " "
                                p {
                                    @for (at, task) in one.tasks.iter().enumerate() {
                                        @if at > 0 { ", " }
                                        (page.task_link(task)) (proof(page.report, task))
                                    }
                                    @if one.tasks.is_empty() { "no task names it" }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What the tick of a task rests on, if that is worth a word.
fn proof(report: &Report, id: &str) -> String {
    match report.task(id) {
        Some(task) if words::sign(task).0 != "✓" => format!(" ({})", words::sign(task).2),
        Some(task) if task.evidence.iter().any(|one| !one.is_good) => " (not checked)".to_owned(),
        _ => String::new(),
    }
}

pub(super) fn money(page: &Page<'_>) -> Markup {
    let report = page.report;
    let phases: Vec<usize> =
        (0..report.phases.len()).filter(|phase| has_cost(report, *phase)).collect();
    let most = phases.iter().map(|phase| cost(report, *phase, None)).fold(0.0, f64::max);
    let lost = report.totals.lost.cost.unwrap_or(0.0);
    html! {
        @if most > 0.0 {
            section aria-labelledby="money" {
                h2 #money { "Where the money went" }
                p.say {
                    @if lost >= 0.005 {
                        (words::cost(report.totals.lost)) " of " (words::cost(report.totals.spent))
                        " went into attempts that did not pass."
                    } @else { "All of it went into attempts that passed." }
                }
                div.money {
                    @for phase in phases { (row(report, phase, most)) }
                }
            }
        }
    }
}

fn row(report: &Report, phase: usize, most: f64) -> Markup {
    let name = &report.phases[phase];
    let share = |result| cost(report, phase, Some(result)) / most * 100.0;
    let (passed, failed) = (share(AttemptResult::Passed), share(AttemptResult::Failed));
    let others = cost(report, phase, None) / most * 100.0 - passed - failed;
    let tasks = report.tasks.iter().filter(|task| task.phase == phase);
    let spent = tasks.fold(Spent::default(), |sum, task| sum.and(task.spent));
    let n = |number: f64| format!("{number:.1}");
    html! {
        span { @if name.is_empty() { "All tasks" } @else { (name) } }
        svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" {
            rect.passed width=(n(passed)) height="10" {}
            rect.lost x=(n(passed)) width=(n(failed)) height="10" {}
            rect.aside x=(n(passed + failed)) width=(n(others.max(0.0))) height="10" {}
        }
        span.num { (words::cost(spent)) }
        span.num.soft { (words::tokens(spent)) }
    }
}

fn has_cost(report: &Report, phase: usize) -> bool {
    cost(report, phase, None) > 0.0
}

/// What a phase cost, or its attempts that ended so.
fn cost(report: &Report, phase: usize, result: Option<AttemptResult>) -> f64 {
    let tasks = report.tasks.iter().filter(|task| task.phase == phase);
    let attempts = tasks.flat_map(|task| &task.attempts);
    let chosen = attempts.filter(|one| result.is_none_or(|result| one.result == result));
    chosen.filter_map(|one| one.spent.cost).sum()
}

pub(super) fn story(page: &Page<'_>) -> Markup {
    let story = &page.report.story;
    html! {
        @if !story.is_empty() {
            section aria-labelledby="story" {
                h2 #story { "The story" }
                details.fold {
                    summary { "Every verdict, in order" }
                    div.story { @for told in story { (line(page, told)) } }
                }
            }
        }
    }
}

fn line(page: &Page<'_>, told: &Told) -> Markup {
    let tone = match told.tone {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Wary => "wary",
        Tone::Plain => "plain",
    };
    html! {
        time { (page.clock(told.at)) }
        span {
            span.(tone) { (page.sentence(&told.what)) }
            @if !told.why.is_empty() { ": " (page.reason(&told.why)) }
        }
    }
}

pub(super) fn learned(page: &Page<'_>) -> Markup {
    let learned = &page.report.learned;
    html! {
        @if !learned.is_empty() {
            section aria-labelledby="learned" {
                h2 #learned { "Learned" }
                details.fold {
                    summary { "What executors have found out" }
                    pre.out tabindex="0" { (learned) }
                }
            }
        }
    }
}
