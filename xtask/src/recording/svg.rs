//! A recording as one SVG file: text as text, moved by CSS alone.
//!
//! Each row of the screen is an element for as long as it does not change. Who
//! does not want motion, or cannot have it, sees the last screen.

use std::collections::BTreeMap;
use std::time::Duration;

use vt100::{Cell, Color, Screen};

use super::Frame;

/// The advance of a character in most monospaced fonts at this size.
const CELL: f64 = 8.43;
const FONT_SIZE: u32 = 14;
const LINE: u32 = 18;
const MARGIN: f64 = 14.0;
const BAR: u32 = 36;
/// How long the last screen stays before it begins anew.
const HOLD: Duration = Duration::from_secs(8);

const STYLE: &str = "\
rect{fill:#161b22}\
text{fill:#d0d7de;visibility:hidden;white-space:pre;\
font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace}\
.e{visibility:visible}\
.b{font-weight:bold}.d{opacity:.6}\
.c1{fill:#ff7b72}.c2{fill:#56d364}.c3{fill:#e3b341}.c4{fill:#79c0ff}.c5{fill:#d2a8ff}.c6{fill:#76e3ea}.c8{fill:#8b949e}\
@media(prefers-reduced-motion:reduce){text{animation:none!important}}";

/// A row of the screen while it stays as it is: from one frame to before another.
struct Run {
    row: u16,
    markup: String,
    from: usize,
    to: usize,
}

/// The recording; `description` is all of its text, for those who read it.
pub fn animation(frames: &[Frame], description: &str) -> String {
    let (rows, columns) = frames[0].screen.size();
    let width = f64::from(columns) * CELL + 2.0 * MARGIN;
    let height = u32::from(rows) * LINE + BAR + 14;
    let total = frames.last().map_or(HOLD, |last| last.at + HOLD);
    let mut intervals: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let mut body = String::new();
    for run in (0..rows).flat_map(|row| runs(frames, row)) {
        let mut classes = Vec::new();
        if run.to == frames.len() {
            classes.push("e".to_owned());
        }
        if (run.from, run.to) != (0, frames.len()) {
            let next = intervals.len();
            let name = *intervals.entry((run.from, run.to)).or_insert(next);
            classes.push(format!("k{name}"));
        }
        let y = u32::from(run.row) * LINE + BAR + FONT_SIZE;
        body.push_str(&format!(
            "<text class=\"{}\" y=\"{y}\">{}</text>\n",
            classes.join(" "),
            run.markup
        ));
    }
    let seconds = total.as_secs_f64();
    let mut motion = String::new();
    for ((from, to), name) in &intervals {
        motion.push_str(&format!(
            ".k{name}{{animation:k{name} {seconds:.2}s step-end infinite}}@keyframes k{name}{{{}}}\n",
            keyframes(frames, *from, *to, seconds)
        ));
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height}\" width=\"{width:.0}\" height=\"{height}\">\n\
         <title>specum run</title>\n<desc>{}</desc>\n<style>{STYLE}\n{motion}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\"/>\n\
         <g fill=\"#6e7681\"><circle cx=\"20\" cy=\"17\" r=\"5\"/><circle cx=\"38\" cy=\"17\" r=\"5\"/><circle cx=\"56\" cy=\"17\" r=\"5\"/></g>\n\
         <g transform=\"translate({MARGIN})\">\n{body}</g>\n</svg>\n",
        escaped(description)
    )
}

/// When an element is seen.
fn keyframes(frames: &[Frame], from: usize, to: usize, seconds: f64) -> String {
    let percent =
        |frame: usize| format!("{:.2}%", frames[frame].at.as_secs_f64() * 100.0 / seconds);
    let mut text = String::new();
    if from == 0 {
        text.push_str("0%{visibility:visible}");
    } else {
        text.push_str(&format!("0%{{visibility:hidden}}{}{{visibility:visible}}", percent(from)));
    }
    if to < frames.len() {
        text.push_str(&format!("{}{{visibility:hidden}}", percent(to)));
    }
    text
}

/// What one row shows, one after the other; blank rows are left out.
fn runs(frames: &[Frame], row: u16) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (number, frame) in frames.iter().enumerate() {
        let markup = markup(&frame.screen, row);
        match runs.last_mut() {
            Some(last) if last.markup == markup => last.to = number + 1,
            _ => runs.push(Run { row, markup, from: number, to: number + 1 }),
        }
    }
    runs.retain(|run| !run.markup.is_empty());
    runs
}

/// The text of a row in spans of one look. A span begins at its own place, so
/// that a character from another font moves nothing behind it.
fn markup(screen: &Screen, row: u16) -> String {
    let columns = screen.size().1;
    let cells = (0..columns).filter_map(|column| Some((column, screen.cell(row, column)?)));
    let mut spans: Vec<(u16, String, String)> = Vec::new();
    let mut blanks = usize::MAX;
    for (column, cell) in cells.filter(|(_, cell)| !cell.is_wide_continuation()) {
        if !cell.has_contents() || cell.contents() == " " {
            blanks = blanks.saturating_add(1);
            continue;
        }
        let look = look(cell);
        match spans.last_mut() {
            Some((_, known, text)) if *known == look && blanks < 2 => {
                text.push_str(&" ".repeat(blanks));
                text.push_str(&escaped(cell.contents()));
            }
            _ => spans.push((column, look, escaped(cell.contents()))),
        }
        blanks = 0;
    }
    let spans = spans.into_iter().map(|(column, look, text)| {
        let class = if look.is_empty() { String::new() } else { format!(" class=\"{look}\"") };
        format!("<tspan x=\"{:.1}\"{class}>{text}</tspan>", f64::from(column) * CELL)
    });
    spans.collect()
}

/// The classes of a cell.
fn look(cell: &Cell) -> String {
    let mut classes = Vec::new();
    match cell.fgcolor() {
        Color::Idx(colour @ 1..=6) => classes.push(format!("c{colour}")),
        Color::Idx(8) => classes.push("c8".into()),
        Color::Idx(colour @ 9..=14) => classes.push(format!("c{}", colour - 8)),
        Color::Default | Color::Idx(_) | Color::Rgb(..) => {}
    }
    if cell.bold() {
        classes.push("b".into());
    }
    if cell.dim() {
        classes.push("d".into());
    }
    classes.join(" ")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn plain(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// The text behind a picture.
pub fn description(picture: &str) -> String {
    let (_, rest) = picture.split_once("<desc>").expect("a picture has a description");
    plain(rest.split_once("</desc>").expect("which ends").0)
}

/// The rows that a picture shows when it has come to its end, in their order.
pub fn rows(picture: &str) -> Vec<String> {
    let lasting = picture.lines().filter(|line| line.starts_with("<text class=\"e"));
    let row = |line: &str| {
        let mut row = String::new();
        for span in line.split("<tspan x=\"").skip(1) {
            let (x, rest) = span.split_once('"').expect("a place");
            let column = (x.parse::<f64>().expect("a number") / CELL).round() as usize;
            let (_, rest) = rest.split_once('>').expect("a span opens");
            let (text, _) = rest.split_once('<').expect("a span closes");
            let missing = column.saturating_sub(row.chars().count());
            row.push_str(&" ".repeat(missing));
            row.push_str(&plain(text));
        }
        row
    };
    lasting.map(row).collect()
}
