//! The page that reports are written on: how wide it is, and whether it has
//! colours.
//!
//! A line that is laid out here is never wider than its page, whatever stands
//! in it.

use std::io::{self, IsTerminal};

use console::Term;
use unicode_width::UnicodeWidthChar;

use super::sanitize;

/// Wider lines are hard to read.
const WIDEST: usize = 100;
/// Narrower ones show nothing.
const NARROWEST: usize = 20;
/// What a title or a word of an agent needs to say something.
const LEGIBLE: usize = 14;
/// Between two parts of a line.
const GAP: &str = "  ";

/// Where a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Columns that may be used.
    pub(crate) width: usize,
    /// Whether it has colours.
    pub(crate) colours: bool,
}

/// What a part of a line means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Nothing special.
    Normal,
    /// The name of something.
    Strong,
    /// Secondary.
    Dim,
    /// It has passed.
    Good,
    /// It has failed.
    Bad,
    /// It waits, or wants to be looked at.
    Wary,
}

/// A part of a line: text that is clean, and what it means.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

impl Part {
    pub(crate) fn new(text: impl Into<String>, tone: Tone) -> Part {
        Part { text: text.into(), tone }
    }
}

impl Layout {
    /// Standard output.
    pub fn of_stdout() -> Layout {
        let terminal = io::stdout().is_terminal();
        let columns =
            Term::stdout().size_checked().filter(|_| terminal).map(|(_, columns)| columns);
        Layout::of(columns, colours_wanted(terminal, |name| std::env::var(name).ok()))
    }

    /// Standard output for lines that stand alone: in a file, where a person
    /// searches rather than reads, they may be long.
    pub(crate) fn of_stdout_for_lines() -> Layout {
        const LONG: usize = 400;
        let page = Layout::of_stdout();
        if io::stdout().is_terminal() { page } else { Layout { width: LONG, ..page } }
    }

    /// A terminal of so many columns; the last is left empty, because some
    /// terminals begin a new line as soon as it is written. `None` is a file.
    pub(crate) fn of(columns: Option<u16>, colours: bool) -> Layout {
        let width = columns.map_or(WIDEST, |columns| usize::from(columns).saturating_sub(1));
        Layout { width: width.clamp(NARROWEST, WIDEST), colours }
    }

    /// A text in its tone.
    pub(crate) fn paint(self, text: &str, tone: Tone) -> String {
        let code = match tone {
            Tone::Normal => return text.to_owned(),
            _ if !self.colours || text.is_empty() => return text.to_owned(),
            Tone::Strong => "1",
            Tone::Dim => "2",
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Wary => "33",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// Parts behind one another, cut where the page ends.
    pub(crate) fn line(self, parts: &[Part]) -> String {
        let mut room = self.width;
        let mut line = String::new();
        for part in parts {
            let text = fit(&part.text, room);
            room = room.saturating_sub(columns(&text));
            line.push_str(&self.paint(&text, part.tone));
        }
        line
    }

    /// A head that is shown whole, a body that is cut, and facts, of which the
    /// last ones go first where there is little room.
    pub(crate) fn row(self, head: &[Part], body: &Part, facts: &[Part]) -> String {
        let (body, facts) = self.shared(head, body, facts);
        let gap = Part::new(GAP, Tone::Normal);
        let facts = facts.iter().flat_map(|fact| [gap.clone(), fact.clone()]);
        self.line(&head.iter().cloned().chain([body]).chain(facts).collect::<Vec<_>>())
    }

    /// The same with the facts at the right edge.
    pub(crate) fn spread(self, head: &[Part], body: &Part, facts: &[Part]) -> String {
        let (body, facts) = self.shared(head, body, facts);
        let taken = width_of(head) + columns(&body.text);
        let facts_width = width_of(&facts) + GAP.len() * facts.len();
        let blank = " ".repeat(self.width.saturating_sub(taken + facts_width));
        let gap = Part::new(GAP, Tone::Normal);
        let facts = facts.iter().flat_map(|fact| [gap.clone(), fact.clone()]);
        let parts = head.iter().cloned().chain([body, Part::new(blank, Tone::Normal)]).chain(facts);
        self.line(&parts.collect::<Vec<_>>())
    }

    /// The body and the facts that fit next to each other.
    fn shared(self, head: &[Part], body: &Part, facts: &[Part]) -> (Part, Vec<Part>) {
        let room = self.width.saturating_sub(width_of(head));
        let wanted = columns(&body.text).min(LEGIBLE);
        let mut facts = facts.to_vec();
        let taken = |facts: &[Part]| width_of(facts) + GAP.len() * facts.len();
        while !facts.is_empty() && room < taken(&facts) + wanted {
            facts.pop();
        }
        let left = room.saturating_sub(taken(&facts));
        (Part::new(fit(&body.text, left), body.tone), facts)
    }

    /// Lines that somebody else has printed, each behind a bar and cut where the page
    /// ends.
    pub(crate) fn quoted<L: AsRef<str>>(self, lines: &[L]) -> Vec<String> {
        let line = |line: &L| {
            let text = line.as_ref().replace('\t', "    ");
            self.paint(&fit(&format!("    │ {}", sanitize::one_line(&text)), self.width), Tone::Dim)
        };
        lines.iter().map(line).collect()
    }

    /// A text over as many lines as it needs, three at most, behind an indent.
    pub(crate) fn wrapped(self, indent: usize, text: &str, tone: Tone) -> Vec<String> {
        const MOST: usize = 3;
        let width = self.width.saturating_sub(indent).max(8);
        let mut lines = wrap(text, width);
        if lines.len() > MOST {
            let rest = lines.drain(MOST - 1..).collect::<Vec<_>>().join(" ");
            lines.push(fit(&rest, width));
        }
        let indent = " ".repeat(indent);
        lines.iter().map(|line| format!("{indent}{}", self.paint(line, tone))).collect()
    }
}

/// Whether a person wants colours: `NO_COLOR` says no before all others,
/// `CLICOLOR_FORCE` wants them even in a file.
fn colours_wanted(terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    if set("NO_COLOR").is_some() {
        return false;
    }
    if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
        return true;
    }
    let refused = set("CLICOLOR").is_some_and(|value| value == "0");
    terminal && !refused && set("TERM").is_none_or(|term| term != "dumb")
}

fn width_of(parts: &[Part]) -> usize {
    parts.iter().map(|part| columns(&part.text)).sum()
}

/// How many columns a text takes. Character by character, so that what is cut
/// and what is measured agree.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// As much of a text as fits, with a sign if that is not all.
pub(crate) fn fit(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let Some(room) = width.checked_sub(1) else { return String::new() };
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= room
    };
    let cut: String = text.chars().take_while(fits).collect();
    format!("{}…", cut.trim_end())
}

/// A text, filled up with blanks.
pub(crate) fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

/// The same with the blanks in front.
pub(crate) fn pad_left(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(columns(text))))
}

/// A text in lines, broken between words where it can be.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let mut word = word.to_owned();
        let line = lines.last_mut().expect("there is always one");
        if !line.is_empty() && columns(line) + 1 + columns(&word) <= width {
            line.push(' ');
            line.push_str(&word);
            continue;
        }
        if !line.is_empty() {
            lines.push(String::new());
        }
        while columns(&word) > width {
            let mut used = 0;
            let cut = word.char_indices().find(|(_, c)| {
                used += c.width().unwrap_or(0);
                used > width
            });
            let cut = cut.map_or(word.len(), |(at, _)| at);
            let rest = word.split_off(cut);
            *lines.last_mut().expect("there is always one") = word;
            lines.push(String::new());
            word = rest;
        }
        lines.last_mut().expect("there is always one").push_str(&word);
    }
    lines.retain(|line| !line.is_empty());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_says_no_before_all_others() {
        let wanted = |terminal: bool, set: &[(&str, &str)]| {
            colours_wanted(terminal, |name| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(wanted(true, &[]) && !wanted(false, &[]));
        assert!(wanted(true, &[("NO_COLOR", "")]), "empty is not set");
        assert!(!wanted(true, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]));
        assert!(wanted(false, &[("CLICOLOR_FORCE", "1")]));
        assert!(!wanted(false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!wanted(true, &[("CLICOLOR", "0")]));
        assert!(!wanted(true, &[("TERM", "dumb")]));
    }

    #[test]
    fn what_does_not_fit_is_cut_by_columns_and_not_by_bytes() {
        assert_eq!(fit("añb", 3), "añb");
        assert_eq!(fit("日本語のタイトル", 7), "日本語…");
        assert_eq!(fit("日本", 3), "日…");
        assert_eq!((fit("abc", 1).as_str(), fit("abc", 0).as_str()), ("…", ""));
    }

    #[test]
    fn a_long_reason_has_three_lines_and_a_long_word_is_broken() {
        let page = Layout { width: 20, colours: false };
        let lines =
            page.wrapped(4, &format!("one two three {} end of it", "x".repeat(40)), Tone::Dim);
        assert_eq!(lines, ["    one two three", "    xxxxxxxxxxxxxxxx", "    xxxxxxxxxxxxxxx…"]);
        assert_eq!(page.wrapped(4, " \n ", Tone::Dim), Vec::<String>::new());
    }

    proptest::proptest! {
        #[test]
        fn no_line_is_wider_than_its_page(
            width in 20_usize..60, head in ".{0,30}", body in ".{0,80}",
            facts in proptest::collection::vec(".{0,20}", 0..5),
        ) {
            let page = Layout { width, colours: false };
            let part = |text: &str| Part::new(sanitize::one_line(text), Tone::Normal);
            let facts: Vec<Part> = facts.iter().map(|fact| part(fact)).collect();
            let (head, body) = ([part(&head)], part(&body));
            proptest::prop_assert!(columns(&page.row(&head, &body, &facts)) <= width);
            proptest::prop_assert!(columns(&page.spread(&head, &body, &facts)) <= width);
            for line in page.wrapped(4, &body.text, Tone::Normal) {
                proptest::prop_assert!(columns(&line) <= width);
            }
        }
    }
}
