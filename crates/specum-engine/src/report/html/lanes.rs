//! What happened when, as a picture: a bar for each attempt, strong while its agent worked.

use maud::{Markup, html};
use specum_core::report::Report;
use specum_core::summary::AttemptResult;
use specum_core::timeline::{Span, Timeline};

use super::super::words;
use super::Page;

/// How wide the picture is, at least.
const WIDTH: f64 = 1024.0;
/// How wide it may grow for many attempts, so that each can be seen.
const WIDEST: f64 = 8000.0;
/// What an attempt needs to be seen.
const EACH: f64 = 9.0;
/// What is left of a time in which nothing happened.
const GAP: f64 = 26.0;
const TOP: f64 = 30.0;
const LANE: f64 = 27.0;
const BAR: f64 = 22.0;
/// What a letter takes, about.
const LETTER: f64 = 6.3;

/// From moments to places.
struct Scale<'a> {
    line: &'a Timeline,
    width: f64,
    unit: f64,
}

impl<'a> Scale<'a> {
    fn new(line: &'a Timeline) -> Scale<'a> {
        let width = (to_f64(line.spans.len() as u64) * EACH).clamp(WIDTH, WIDEST);
        let left_out: u64 = line.gaps.iter().map(|(from, until)| until.abs_diff(*from)).sum();
        let shown = line.until.abs_diff(line.from).saturating_sub(left_out).max(1);
        let room = (width - to_f64(line.gaps.len() as u64) * GAP).max(width / 4.0);
        Scale { line, width, unit: room / to_f64(shown) }
    }

    fn x(&self, moment: i64) -> f64 {
        let mut passed = moment.saturating_sub(self.line.from).max(0).unsigned_abs();
        let mut gaps = 0.0;
        for (from, until) in &self.line.gaps {
            if *until <= moment {
                passed = passed.saturating_sub(until.abs_diff(*from));
                gaps += GAP;
            } else if *from < moment {
                passed = passed.saturating_sub(moment.abs_diff(*from));
            }
        }
        (to_f64(passed) * self.unit + gaps).min(self.width)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a picture needs no more than three digits")]
fn to_f64(number: u64) -> f64 {
    number as f64
}

/// A number as an attribute has it.
fn n(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

pub(super) fn section(page: &Page<'_>) -> Markup {
    let line = &page.report.timeline;
    html! {
        @if !line.spans.is_empty() {
            section aria-labelledby="went" {
                h2 #went { "How it went" }
                p.say { (when(page, line)) }
                div.chart tabindex="0" role="region" aria-label="Timeline, scrolls sideways" {
                    (picture(page, line))
                }
                (legend(page.report))
            }
        }
    }
}

/// `From 15 November, 23:42 to 05:43, up to 4 tasks at once.`
fn when(page: &Page<'_>, line: &Timeline) -> String {
    let show = |moment: i64, format: &str| words::moment(moment, format, page.zone);
    let day = "%-d %B";
    let from = format!("{}, {}", show(line.from, day), show(line.from, "%H:%M"));
    // The next morning is a matter of course.
    let is_far = line.until.saturating_sub(line.from) > 20 * 3_600_000;
    let until = match is_far {
        true => format!("{}, {}", show(line.until, day), show(line.until, "%H:%M")),
        false => show(line.until, "%H:%M"),
    };
    match line.lanes {
        0 | 1 => format!("From {from} to {until}."),
        lanes => format!("From {from} to {until}, up to {lanes} tasks at once."),
    }
}

fn picture(page: &Page<'_>, line: &Timeline) -> Markup {
    let scale = Scale::new(line);
    let lanes = to_f64(line.lanes as u64);
    let (bottom, height) = (TOP + lanes * LANE, TOP + lanes * LANE + 26.0);
    let is_wide = scale.width > WIDTH;
    html! {
        svg.wide[is_wide] viewBox={ "0 0 " (n(scale.width)) " " (n(height)) } width=[is_wide.then(|| n(scale.width))]
            role="group" aria-labelledby="lanes" {
            title #lanes {
                "Attempts over time in " (words::counted(line.lanes, "lane"))
                "; the tasks below tell the same in words"
            }
            defs {
                pattern #hatch width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                    line.hatchline x1="0" y1="0" x2="0" y2="6" {}
                }
            }
            (hours(page, &scale, bottom))
            (phases(page, &scale))
            @for (from, until) in &line.gaps {
                @let x = scale.x(*from);
                g {
                    title { (words::coarse(until.abs_diff(*from))) " in which nothing happened" }
                    rect.gap x=(n(x)) y="26" width=(n(GAP)) height=(n(bottom - 26.0)) {}
                }
            }
            @for wait in &line.waits {
                @let (x, end) = (scale.x(wait.from), scale.x(wait.until));
                g {
                    title {
                        (page.clock(Some(wait.from))) ": waited "
                        (words::coarse(wait.until.abs_diff(wait.from))) " for " (wait.agent) ": " (wait.why)
                    }
                    rect.wait x=(n(x)) y="28" width=(n((end - x).max(1.0))) height=(n(bottom - 28.0)) {}
                }
            }
            @for span in &line.spans { (bar(page, &scale, span)) }
        }
    }
}

fn bar(page: &Page<'_>, scale: &Scale<'_>, span: &Span) -> Markup {
    let task = &page.report.tasks[span.task];
    let (x, y) = (scale.x(span.from), TOP + to_f64(span.lane as u64) * LANE);
    let width = (scale.x(span.until) - x).max(2.0);
    let kind = kind(span.result);
    let spent = task.attempts.iter().find(|one| one.place == span.place);
    let cost = spent.filter(|one| one.spent.cost.is_some()).map(|one| words::cost(one.spent));
    let text = format!(
        "{} {}, attempt {}: {}, {}–{}{}",
        task.id,
        task.title,
        span.place,
        words::result(span.result),
        page.clock(Some(span.from)),
        page.clock(Some(span.until)),
        cost.map(|cost| format!(", {cost}")).unwrap_or_default(),
    );
    let first = span.worked.first().map_or(0.0, |(from, until)| scale.x(*until) - scale.x(*from));
    let room = to_f64(task.id.chars().count() as u64) * LETTER + 8.0;
    html! {
        a.bar href={ "#" (page.anchors[span.task]) } aria-label=(text) {
            title { (text) }
            rect.tail.(kind) x=(n(x)) y=(n(y)) width=(n(width)) height=(n(BAR)) rx="3.5" {}
            @for (from, until) in &span.worked {
                @let begin = scale.x(*from);
                rect.(kind) x=(n(begin)) y=(n(y)) width=(n((scale.x(*until) - begin).max(1.5))) height=(n(BAR)) rx="3.5" {}
            }
            @if first > room {
                text x=(n(scale.x(span.worked[0].0) + 5.0)) y=(n(y + 14.8)) { (task.id) }
            }
        }
    }
}

/// The class of a bar.
pub(super) fn kind(result: AttemptResult) -> &'static str {
    match result {
        AttemptResult::Passed => "passed",
        AttemptResult::Failed => "failed",
        AttemptResult::SetAside | AttemptResult::Waits => "set-aside",
        AttemptResult::Open => "open",
    }
}

/// Lines for the time, as many as have room.
fn hours(page: &Page<'_>, scale: &Scale<'_>, bottom: f64) -> Markup {
    const STEPS: [i64; 14] = [
        1_000,
        5_000,
        15_000,
        60_000,
        300_000,
        900_000,
        1_800_000,
        3_600_000,
        7_200_000,
        10_800_000,
        21_600_000,
        43_200_000,
        86_400_000,
        604_800_000,
    ];
    let line = scale.line;
    let has_room = |step: &&i64| to_f64(step.unsigned_abs()) * scale.unit >= 90.0;
    let step = STEPS.iter().find(has_room).copied().unwrap_or(604_800_000);
    let format = if step < 60_000 { "%H:%M:%S" } else { "%H:%M" };
    let first = line.from.div_euclid(step).saturating_add(1).saturating_mul(step);
    let in_gap = |at: i64| line.gaps.iter().any(|(from, until)| *from < at && at < *until);
    let count =
        usize::try_from((line.until.saturating_sub(first) / step).clamp(0, 2_000)).unwrap_or(0);
    let mut last = -90.0;
    let marks: Vec<(f64, i64)> = (0..=count as i64)
        .map(|at| first.saturating_add(at.saturating_mul(step)))
        .filter(|at| *at <= line.until && !in_gap(*at))
        .map(|at| (scale.x(at), at))
        .filter(|(x, _)| {
            let is_free = *x - last >= 60.0 && *x <= scale.width - 14.0 && *x >= 14.0;
            if is_free {
                last = *x;
            }
            is_free
        })
        .collect();
    html! {
        @for (x, at) in marks {
            line.grid x1=(n(x)) x2=(n(x)) y1="26" y2=(n(bottom)) {}
            text x=(n(x)) y=(n(bottom + 15.0)) text-anchor="middle" { (words::moment(at, format, page.zone)) }
        }
    }
}

fn phases(page: &Page<'_>, scale: &Scale<'_>) -> Markup {
    let mut free = 0.0;
    let mut shown = Vec::new();
    for phase in &scale.line.phases {
        let (from, until) =
            (scale.x(phase.from), scale.x(phase.until).max(scale.x(phase.from) + 4.0));
        let name = &page.report.phases[phase.phase];
        let width = to_f64(name.chars().count() as u64) * 6.6;
        // The last one may end where the picture does.
        let (x, anchor) = match from + width > scale.width {
            true => (scale.width - 2.0, "end"),
            false => (from, "start"),
        };
        let begin = if anchor == "end" { x - width } else { x };
        let name = (begin >= free && !name.is_empty()).then_some(name);
        if name.is_some() {
            free = begin + width + 8.0;
        }
        shown.push((from, until, name, x, anchor));
    }
    html! {
        @for (from, until, name, x, anchor) in shown {
            line.edge x1=(n(from)) x2=(n(until)) y1="22.5" y2="22.5" {}
            @if let Some(name) = name { text.ph x=(n(x)) y="16" text-anchor=(anchor) { (name) } }
        }
    }
}

fn legend(report: &Report) -> Markup {
    let line = &report.timeline;
    let has = |result: AttemptResult| line.spans.iter().any(|span| span.result == result);
    let keys = [
        (has(AttemptResult::Passed), "k-passed", "passed"),
        (has(AttemptResult::Failed), "k-failed", "failed"),
        (has(AttemptResult::SetAside), "k-set", "set aside, done again"),
        (has(AttemptResult::Open), "k-open", "without a verdict"),
        (true, "k-tail", "lighter: checked and committed"),
        (!line.waits.is_empty(), "k-wait", "waited for a limit"),
        (!line.gaps.is_empty(), "k-gap", "nothing happened"),
    ];
    html! {
        div.legend {
            @for (holds, class, text) in keys {
                @if holds { span { i.(class) {} (text) } }
            }
        }
    }
}
