//! The growth as a picture: both axes logarithmic, so that a straight line with
//! the slope of its yardstick is a cost for each task that stays the same.
//!
//! The picture brings its own ground, light or dark as the reader has it.

use super::row::{grouped, time};

/// A line of the plot: numbers of tasks, and seconds.
pub struct Line {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
    /// Drawn dashed and grey.
    pub(super) yardstick: bool,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = WIDTH - 136.0;
const TOP: f64 = 52.0;
const BOTTOM: f64 = HEIGHT - 60.0;
/// The least distance of two names.
const LEADING: f64 = 17.0;

const STYLE: &str = "\
svg { color: #24292f }
text { font: 13px system-ui, sans-serif; fill: currentColor }
.title { font-weight: 600 }
.ground { fill: #ffffff }
.grid { stroke: #d8dee4 }
polyline { fill: none; stroke: currentColor; stroke-width: 2 }
circle { fill: currentColor }
.yardstick { color: #57606a; stroke-dasharray: 6 4 }
.a { color: #0969da } .b { color: #bc4c00 } .c { color: #1a7f37 }
@media (prefers-color-scheme: dark) {
  svg { color: #e6edf3 }
  .ground { fill: #0d1117 }
  .grid { stroke: #30363d }
  .yardstick { color: #9198a1 }
  .a { color: #58a6ff } .b { color: #f0883e } .c { color: #3fb950 }
}
";

/// The plot as SVG.
pub fn growth(lines: &[Line]) -> String {
    let points = || lines.iter().flat_map(|line| &line.points);
    let x = Axis::around(points().map(|point| point.0), LEFT, RIGHT);
    let y = Axis::around(points().map(|point| point.1), BOTTOM, TOP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\" aria-labelledby=\"title\">\n\
         <title id=\"title\">Time by the number of tasks in a plan</title>\n\
         <style>\n{STYLE}</style>\n\
         <rect class=\"ground\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"6\"/>\n"
    );
    svg += &text(LEFT, 28.0, "start", "title", "Time by the number of tasks in a plan");
    for value in x.decades() {
        let at = x.place(value);
        svg += &rule(at, TOP, at, BOTTOM);
        svg += &text(at, BOTTOM + 22.0, "middle", "", &grouped(value as usize));
    }
    for value in y.decades() {
        let at = y.place(value);
        svg += &rule(LEFT, at, RIGHT, at);
        svg += &text(LEFT - 10.0, at + 4.0, "end", "", &short_time(value));
    }
    svg += &text((LEFT + RIGHT) / 2.0, HEIGHT - 14.0, "middle", "", "tasks in the plan");
    svg += &text(LEFT - 10.0, TOP - 14.0, "end", "", "time");
    let mut colours = ["a", "b", "c"].into_iter().cycle();
    let mut class =
        |line: &Line| if line.yardstick { None } else { colours.next() }.unwrap_or("yardstick");
    let lines: Vec<(&Line, &str)> = lines.iter().map(|line| (line, class(line))).collect();
    svg.extend(lines.iter().map(|(line, class)| drawn(line, class, &x, &y)));
    svg += &names(&lines, &y);
    svg + "</svg>\n"
}

/// A logarithmic axis from one place to another.
struct Axis {
    /// Powers of ten.
    from: f64,
    to: f64,
    start: f64,
    end: f64,
}

impl Axis {
    /// An axis on which all of these have their place.
    fn around(values: impl Iterator<Item = f64> + Clone, start: f64, end: f64) -> Axis {
        let least = values.clone().fold(f64::INFINITY, f64::min);
        let most = values.fold(0.0, f64::max);
        let from = least.log10().floor();
        Axis { from, to: most.log10().ceil().max(from + 1.0), start, end }
    }

    fn decades(&self) -> impl Iterator<Item = f64> {
        (self.from as i32..=self.to as i32).map(|power| 10f64.powi(power))
    }

    fn place(&self, value: f64) -> f64 {
        let share = (value.log10() - self.from) / (self.to - self.from);
        self.start + share * (self.end - self.start)
    }
}

/// A power of ten without digits behind the point.
fn short_time(seconds: f64) -> String {
    // A little more, because a power of ten below one is never quite one.
    time(seconds * 1.000_001).replace(".00", "").replace(".0", "")
}

fn text(x: f64, y: f64, anchor: &str, class: &str, words: &str) -> String {
    format!(
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>\n"
    )
}

fn rule(x1: f64, y1: f64, x2: f64, y2: f64) -> String {
    format!("<line class=\"grid\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>\n")
}

/// A line, with dots where something was measured.
fn drawn(line: &Line, class: &str, x: &Axis, y: &Axis) -> String {
    let places = || line.points.iter().map(|&(tasks, seconds)| (x.place(tasks), y.place(seconds)));
    let points: Vec<String> = places().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let dot = |(x, y)| format!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>\n");
    let dots: String = places().map(dot).collect();
    format!("<polyline class=\"{class}\" points=\"{}\"/>\n{dots}", points.join(" "))
}

/// The names of the lines next to their ends, none on top of another.
fn names(lines: &[(&Line, &str)], y: &Axis) -> String {
    let mut ends: Vec<(f64, &str, &str)> = lines
        .iter()
        .filter_map(|(line, class)| Some((y.place(line.points.last()?.1), *class, &*line.name)))
        .collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut svg = String::new();
    let mut free = f64::NEG_INFINITY;
    for (end, class, name) in ends {
        let at = end.max(free);
        free = at + LEADING;
        svg += &text(RIGHT + 10.0, at + 4.0, "start", class, name);
    }
    svg
}
