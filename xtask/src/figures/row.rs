//! The table: rows, units, and their place in a document.

use std::fmt;

use super::sample::{Ratio, Sample};

/// A figure and its yardstick.
#[derive(Clone, Debug)]
pub struct Row {
    pub name: String,
    pub figure: String,
    pub yardstick: String,
    pub ratio: Ratio,
    goal: Option<(String, bool)>,
    /// Whether the README has it too.
    pub headline: bool,
}

impl Row {
    pub(super) fn new(
        name: impl Into<String>,
        figure: String,
        yardstick: String,
        ratio: Ratio,
    ) -> Row {
        Row { name: name.into(), figure, yardstick, ratio, goal: None, headline: false }
    }

    /// A time against that of something known.
    pub(super) fn timed(
        name: impl Into<String>,
        sample: &Sample,
        known: &str,
        yardstick: &Sample,
    ) -> Row {
        Row::new(
            name,
            time(sample.median()),
            format!("{known}: {}", time(yardstick.median())),
            sample.beside(yardstick),
        )
    }

    /// The most it should be as a multiple of the yardstick.
    pub(super) fn at_most(self, times: f64) -> Row {
        let met = self.ratio.value <= times;
        self.goal(format!("≤ {times} ×"), met)
    }

    pub(super) fn goal(self, goal: String, met: bool) -> Row {
        Row { goal: Some((goal, met)), ..self }
    }

    pub(super) fn headline(self) -> Row {
        Row { headline: true, ..self }
    }

    fn cells(&self) -> [String; 5] {
        let goal = self.goal.as_ref().map_or_else(String::new, |(goal, met)| {
            format!("{goal}: {}", if *met { "met" } else { "**missed**" })
        });
        [
            self.name.clone(),
            self.figure.clone(),
            self.yardstick.clone(),
            self.ratio.to_string(),
            goal,
        ]
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ×", digits(self.value))?;
        match self.spread {
            Some((low, high)) => write!(f, " ({} to {})", digits(low), digits(high)),
            None => Ok(()),
        }
    }
}

/// The rows in Markdown, in columns for a terminal too.
pub fn table(rows: &[Row]) -> String {
    let head = ["what", "figure", "yardstick", "ratio", "goal"].map(str::to_owned);
    let cells: Vec<[String; 5]> =
        std::iter::once(head).chain(rows.iter().map(Row::cells)).collect();
    let width = |column: usize| {
        cells.iter().map(|cells| cells[column].chars().count()).max().unwrap_or_default()
    };
    let widths: [usize; 5] = std::array::from_fn(width);
    let line = |cells: &[String; 5]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| format!(" {cell:width$} |"));
        format!("|{}\n", padded.collect::<String>())
    };
    let rule: String = widths.iter().map(|width| format!("{}|", "-".repeat(width + 2))).collect();
    let body: String = cells[1..].iter().map(line).collect();
    format!("{}|{rule}\n{body}", line(&cells[0]))
}

const OPEN: &str = "<!-- figures -->\n";
const CLOSE: &str = "<!-- /figures -->";

/// The page with something new between its marks, if it has them.
pub fn between_marks(page: &str, content: &str) -> Option<String> {
    let (head, rest) = page.split_once(OPEN)?;
    let (_, tail) = rest.split_once(CLOSE)?;
    Some(format!("{head}{OPEN}{content}{CLOSE}{tail}"))
}

/// A time with its unit.
pub(super) fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s < 1e-6 => (s * 1e9, "ns"),
        s if s < 1e-3 => (s * 1e6, "µs"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    format!("{} {unit}", digits(value))
}

/// A number of bytes with its unit.
pub(super) fn size(bytes: f64) -> String {
    let (value, unit) = match bytes {
        b if b < 1e3 => return format!("{bytes} B"),
        b if b < 1e6 => (b / 1e3, "KB"),
        b => (b / 1e6, "MB"),
    };
    format!("{} {unit}", digits(value))
}

/// Three digits that say something.
fn digits(value: f64) -> String {
    match value {
        v if v < 10.0 => format!("{v:.2}"),
        v if v < 100.0 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// `100000` as `100,000`.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
