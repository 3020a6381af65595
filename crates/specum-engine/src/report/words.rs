//! What every form of a report says in the same words.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use specum_core::numbers;
use specum_core::report::{Mark, Report, Stands, Task, TaskStands};
use specum_core::summary::{AttemptResult, Spent};

/// How a loop stands, in a word.
pub(super) fn standing(stands: Stands) -> &'static str {
    match stands {
        Stands::NotStarted => "Not begun",
        Stands::Working => "Working",
        Stands::Left => "Left off",
        Stands::Paused => "Paused",
        Stands::Blocked => "Blocked",
        Stands::Stopped => "Stopped",
        Stands::Cancelled => "Cancelled",
        Stands::Complete => "Complete",
    }
}

/// A part of a sentence, and whether it stands out.
pub(super) type Part = (bool, String);

/// The verdict on a loop, in a sentence or two.
pub(super) fn verdict(report: &Report) -> Vec<Part> {
    let totals = &report.totals;
    let mut parts: Vec<Part> = Vec::new();
    let done = match (totals.done, totals.tasks) {
        (_, 0) => "There are no tasks".to_owned(),
        (1, 1) => "The task is done".to_owned(),
        (done, tasks) if done == tasks => format!("All {tasks} tasks are done"),
        (done, tasks) => {
            format!("{done} of {tasks} tasks {}", if done == 1 { "is done" } else { "are done" })
        }
    };
    parts.push((true, done));
    let took = (totals.millis > 0).then(|| format!("in {}", coarse(totals.millis)));
    let cost = totals.spent.cost.map(|_| format!("for {}", cost(totals.spent)));
    let how: Vec<String> = took.into_iter().chain(cost).collect();
    match how.is_empty() {
        true => parts.push((false, ".".to_owned())),
        false => parts.push((false, format!(", {}.", how.join(" and ")))),
    }
    let mut more: Vec<Part> = Vec::new();
    if totals.again > 0 {
        more.push((false, format!("{} needed more than one attempt", count_of(totals.again))));
    }
    if totals.unproved > 0 {
        let is = if totals.unproved == 1 { "is" } else { "are" };
        more.push((true, format!("{} {is} ticked without proof", count_of(totals.unproved))));
    }
    let last = more.len().saturating_sub(1);
    for (at, (strong, text)) in more.into_iter().enumerate() {
        let text = if at == 0 { capital(&text) } else { text };
        parts.push((false, if at == 0 { " " } else { ", and " }.to_owned()));
        parts.push((strong, text));
        if at == last {
            parts.push((false, ".".to_owned()));
        }
    }
    if !report.why.is_empty() {
        parts.push((false, format!(" {}: {}", standing(report.standing), report.why)));
    }
    parts
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// `one`, `4`.
fn count_of(count: usize) -> String {
    if count == 1 { "one".to_owned() } else { count.to_string() }
}

/// `1 task`, `2 tasks`.
pub(super) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// A length of time without more than anybody wants to know: `12 s`, `3 min`, `6 h 1 min`.
pub(super) fn coarse(millis: u64) -> String {
    let seconds = millis.div_ceil(1_000);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        _ => numbers::duration(Duration::from_secs(seconds)),
    }
}

/// What was paid; `~` stands before an estimate.
pub(super) fn cost(spent: Spent) -> String {
    let about = if spent.estimated { "~" } else { "" };
    spent.cost.map_or_else(
        || "not counted".to_owned(),
        |cost| format!("{about}{}", numbers::dollars(cost)),
    )
}

/// How many tokens.
pub(super) fn tokens(spent: Spent) -> String {
    spent.tokens.map_or_else(|| "not counted".to_owned(), numbers::tokens)
}

/// The sign of a task, and the word that it stands for.
pub(super) fn sign(task: &Task) -> (&'static str, &'static str, &'static str) {
    match task.state {
        TaskStands::Done => ("✓", "good", "done"),
        TaskStands::Working => ("…", "cool", "being worked on"),
        TaskStands::Failed => ("✗", "bad", "failed"),
        TaskStands::Again => ("↻", "wary", "to be done again"),
        TaskStands::Waits => ("?", "wary", "waits for a person"),
        TaskStands::Skipped => ("–", "soft", "passed over"),
        TaskStands::Open => ("·", "soft", "open"),
        TaskStands::Gone => ("–", "soft", "no longer in the plan"),
    }
}

/// A mark in words.
pub(super) fn mark(mark: Mark, task: &Task) -> String {
    match mark {
        Mark::Unproved => "unproved".to_owned(),
        Mark::BySuite => "by the suite alone".to_owned(),
        Mark::GreenBefore => "green before the work".to_owned(),
        Mark::ByPerson => "ticked by a person".to_owned(),
        Mark::Outside => "outside its files".to_owned(),
        Mark::Fixes => format!("fixes {}", task.fixes.as_deref().unwrap_or("another")),
    }
}

/// What came of an attempt.
pub(super) fn result(result: AttemptResult) -> &'static str {
    match result {
        AttemptResult::Open => "without a verdict",
        AttemptResult::Passed => "passed",
        AttemptResult::Failed => "failed",
        AttemptResult::SetAside => "set aside",
        AttemptResult::Waits => "waits for a person",
    }
}

/// `First attempt`, `12th attempt`.
pub(super) fn ordinal(place: u64) -> String {
    const WORDS: [&str; 9] =
        ["First", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth", "Ninth"];
    let word = usize::try_from(place).ok().and_then(|place| WORDS.get(place.wrapping_sub(1)));
    word.map_or_else(|| format!("Attempt {place}"), |word| format!("{word} attempt"))
}

/// A moment in the user's time.
pub(super) fn moment(millis: i64, format: &str, zone: &TimeZone) -> String {
    let time = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH);
    time.to_zoned(zone.clone()).strftime(format).to_string()
}

/// What is to be said of the tasks that need no look, if anything is true of all of them.
pub(super) fn others(report: &Report) -> String {
    let is_plain = |task: &Task| {
        task.state == TaskStands::Done && task.attempts.len() == 1 && task.marks.is_empty()
    };
    let looked: Vec<usize> = report.look.iter().map(|look| look.task).collect();
    let rest = || report.tasks.iter().enumerate().filter(|(at, _)| !looked.contains(at));
    let (all, plain) = (rest().count(), rest().filter(|(_, task)| is_plain(task)).count());
    let who = match plain {
        0 if looked.is_empty() => return "Nothing stands out.".to_owned(),
        0 => return String::new(),
        _ if looked.is_empty() && all == plain => "All of them".to_owned(),
        1 if all == plain => "The other one".to_owned(),
        _ if all == plain => format!("The other {plain}"),
        1 => "One other".to_owned(),
        _ => format!("{plain} others"),
    };
    let their = if plain == 1 {
        "its check at the first attempt and stayed within its files"
    } else {
        "their check at the first attempt and stayed within their files"
    };
    format!("{who} passed {their}.")
}

#[cfg(test)]
mod tests {
    use specum_core::report::Totals;

    use super::*;

    fn said(report: &Report) -> String {
        verdict(report).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn the_verdict_stands_in_a_sentence_or_two() {
        let spent = Spent { cost: Some(6.03), ..Spent::default() };
        let totals = Totals {
            done: 15,
            tasks: 15,
            again: 4,
            unproved: 1,
            millis: 21_660_000,
            spent,
            ..Totals::default()
        };
        let mut report = Report { totals, standing: Stands::Complete, ..Report::default() };
        assert_eq!(
            said(&report),
            "All 15 tasks are done, in 6 h 1 min and for $6.03. 4 needed more than one attempt, \
             and one is ticked without proof."
        );
        report.totals = Totals { done: 1, tasks: 3, ..Totals::default() };
        (report.standing, report.why) = (Stands::Blocked, "2.1 failed".to_owned());
        assert_eq!(said(&report), "1 of 3 tasks is done. Blocked: 2.1 failed");
    }

    #[test]
    fn what_nobody_counted_is_no_zero() {
        assert_eq!(
            (cost(Spent::default()), tokens(Spent::default())),
            ("not counted".into(), "not counted".into())
        );
        assert_eq!(
            (coarse(200), coarse(61_000), coarse(7_260_000)),
            ("1 s".into(), "1 min".into(), "2 h 1 min".into())
        );
        assert_eq!((ordinal(1), ordinal(10)), ("First attempt".into(), "Attempt 10".into()));
    }
}
