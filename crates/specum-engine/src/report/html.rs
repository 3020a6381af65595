//! The report as a page: one file that loads nothing, asks nobody, and shows texts of
//! others as texts.
//!
//! The markup is made by macros that escape whatever is put in; our own style and script
//! are the only exception, in [`assets`]. A policy in the page lets exactly these two run
//! and nothing be loaded, so a mistake here would still start nothing. No text of others
//! stands in a script, a style or the address of a link.

mod assets;
mod diff;
mod head;
mod lanes;
mod look;
mod sums;
mod tasks;

use std::collections::HashSet;

use jiff::tz::TimeZone;
use maud::{DOCTYPE, Markup, html};
use specum_core::look::Piece;
use specum_core::report::Report;

use super::words;

/// What all parts of the page share.
struct Page<'a> {
    report: &'a Report,
    zone: &'a TimeZone,
    /// The name of each task in the address of a link.
    anchors: Vec<String>,
    /// The longest text of a file's changes that is shown.
    longest_diff: usize,
    /// The longest words of an attempt's agents that are shown.
    longest_words: usize,
    /// How much is shown of the end of what a check printed.
    longest_output: usize,
}

/// How much all changes together may add to the page.
const DIFFS: usize = 16 * 1024 * 1024;
/// The same of what agents said.
const WORDS: usize = 4 * 1024 * 1024;
/// The same of what checks printed.
const OUTPUTS: usize = 2 * 1024 * 1024;
/// Of each check's words so much is shown at least.
const LEAST_OUTPUT: usize = 400;

/// The page.
pub(super) fn page(report: &Report, zone: &TimeZone) -> String {
    let page = Page {
        report,
        zone,
        anchors: anchors(report),
        longest_diff: longest(diff::sizes(report), DIFFS),
        longest_words: longest(tasks::word_sizes(report), WORDS),
        longest_output: longest(tasks::output_sizes(report), OUTPUTS).max(LEAST_OUTPUT),
    };
    page.document().into_string()
}

impl Page<'_> {
    fn document(&self) -> Markup {
        let report = self.report;
        let standing = words::standing(report.standing).to_lowercase();
        let totals = &report.totals;
        let title = format!(
            "{}: {standing}, {} of {} tasks · specum",
            report.spec, totals.done, totals.tasks
        );
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(assets::POLICY);
                    meta name="viewport" content="width=device-width,initial-scale=1";
                    meta name="referrer" content="no-referrer";
                    meta name="color-scheme" content="light dark";
                    title { (title) }
                    (assets::style())
                }
                body {
                    div.page {
                        header.top {
                            span { b { "specum" } " report" }
                            button #theme type="button" hidden { "light / dark" }
                        }
                        main {
                            (head::head(self))
                            (look::section(self))
                            (lanes::section(self))
                            (tasks::section(self))
                            (sums::requirements(self))
                            (sums::money(self))
                            (sums::story(self))
                            (sums::learned(self))
                        }
                        (self.footer())
                    }
                    (assets::script())
                }
            }
        }
    }

    fn footer(&self) -> Markup {
        let report = self.report;
        let made = words::moment(report.made, "%-d %B %Y, %H:%M", self.zone);
        html! {
            footer {
                span {
                    @if let Some(branch) = &report.branch { "Branch " code { (branch) } }
                    @if let Some((first, last)) = &report.commits {
                        ", " code { (short(first)) } " to " code { (short(last)) }
                    }
                }
                span {
                    "Made by specum " (report.version) " on " (made) " from the journal of "
                    (report.place) ". This file loads nothing."
                }
            }
        }
    }

    /// A sentence.
    fn sentence(&self, pieces: &[Piece]) -> Markup {
        html! {
            @for piece in pieces {
                @match piece {
                    Piece::Text(text) => (text),
                    Piece::Code(text) => code { (text) },
                    Piece::Task(id) => (self.task_link(id)),
                }
            }
        }
    }

    /// A reason, in which code stands in backquotes.
    fn reason(&self, text: &str) -> Markup {
        let parts: Vec<&str> = text.split('`').collect();
        html! {
            @for (at, part) in parts.iter().enumerate() {
                // The last one has no end.
                @if at % 2 == 0 { (part) }
                @else if at + 1 == parts.len() { "`" (part) }
                @else { code { (part) } }
            }
        }
    }

    fn task_link(&self, id: &str) -> Markup {
        let place = self.report.tasks.iter().position(|task| task.id == id);
        html! {
            @match place {
                Some(place) => a href={ "#" (self.anchors[place]) } { (id) },
                None => (id),
            }
        }
    }

    fn clock(&self, millis: Option<i64>) -> String {
        millis.map(|millis| words::moment(millis, "%H:%M", self.zone)).unwrap_or_default()
    }
}

/// The beginning of a commit's id.
fn short(commit: &str) -> String {
    commit.chars().take(7).collect()
}

/// A name for the place of each task: its id where that is plain, and no other task's.
fn anchors(report: &Report) -> Vec<String> {
    let is_plain = |id: &str| {
        !id.is_empty()
            && id.len() < 40
            && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    };
    let mut known = HashSet::new();
    let mut names = Vec::with_capacity(report.tasks.len());
    for (place, task) in report.tasks.iter().enumerate() {
        names.push(match is_plain(&task.id) && known.insert(task.id.as_str()) {
            true => format!("t-{}", task.id),
            false => format!("n-{place}"),
        });
    }
    names
}

/// The largest size with which everything that is no larger fits into a budget.
fn longest(mut sizes: Vec<usize>, budget: usize) -> usize {
    sizes.sort_unstable();
    let mut sum = 0_usize;
    let fits = |size: &&usize| {
        sum = sum.saturating_add(**size);
        sum <= budget
    };
    let count = sizes.iter().take_while(fits).count();
    // Of those that are equally large, all or none.
    sizes.get(count).map_or(usize::MAX, |first| first.saturating_sub(1))
}

/// How long a text is once it is escaped.
fn escaped(text: &str) -> usize {
    let more = |byte: u8| match byte {
        b'<' | b'>' => 3,
        b'&' => 4,
        b'"' => 5,
        _ => 0,
    };
    text.bytes().fold(text.len(), |sum, byte| sum + more(byte))
}
