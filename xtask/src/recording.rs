//! The picture in the README: the demo's plan worked on a real pseudo-terminal, with
//! the plan's boxes next to it and the commits below, as an animated SVG.

pub mod svg;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use harness::terminal::{on_terminal, read_to_the_end};
use harness::world::{World, repository};
use vt100::{Parser, Screen};

/// The terminal in which the run is seen.
const COLUMNS: u16 = 80;
const ROWS: u16 = 26;
/// The plan, to its left.
const PLAN_COLUMNS: u16 = 44;
/// The commits, below it, under their title.
const COMMITS: u16 = 8;
/// A spinner that turns ten times a second is not worth ten pictures.
const FRAME: Duration = Duration::from_millis(200);

const PLAN: &str = "specs/demo/tasks.md";
/// How long each step of the plan takes.
const PACE: &str = "0.8";

/// The picture from one moment on.
pub struct Frame {
    at: Duration,
    pub screen: Screen,
}

/// Where the picture is.
pub fn picture() -> PathBuf {
    repository().join("docs/demo.svg")
}

/// Records the picture anew.
pub fn write() -> anyhow::Result<()> {
    let (frames, everything) = record();
    let picture = svg::animation(&frames, &everything);
    std::fs::write(self::picture(), picture).context("cannot write docs/demo.svg")
}

/// Works the demo's plan and keeps the picture whenever it has changed, and all lines
/// that were ever on the terminal.
pub fn record() -> (Vec<Frame>, String) {
    let world = World::empty();
    let plan = repository().join("crates/specum/src/commands/demo/tasks.md");
    let plan = std::fs::read_to_string(plan).expect("the demo has a plan");
    world.write(PLAN, plan.replace("PACE", PACE));
    world.git_init();
    world.git(&["commit", "--quiet", "--amend", "-m", "plan: a small café"]);
    let mut command = world.command();
    command.args(["run", "demo", "--agent", "script"]).env("TERM", "xterm-256color");
    let (mut run, terminal) = on_terminal(command, ROWS, COLUMNS);
    let mut parser = Parser::new(ROWS, COLUMNS, 0);
    let mut tall = Parser::new(200, COLUMNS, 0);
    let begin = Instant::now();
    let mut frames: Vec<Frame> = Vec::new();
    read_to_the_end(terminal, |bytes| {
        parser.process(bytes);
        tall.process(bytes);
        let at = begin.elapsed();
        match frames.last_mut() {
            Some(last) if at - last.at < FRAME => {}
            _ => frames.push(Frame { at, screen: composed(&world, parser.screen()) }),
        }
    });
    let everything = tall.screen().contents();
    assert!(run.wait().expect("it is our child").success(), "{everything}");
    frames.push(Frame { at: begin.elapsed(), screen: composed(&world, parser.screen()) });
    (frames, everything)
}

/// The plan's boxes, the terminal next to them, and the commits below.
fn composed(world: &World, terminal: &Screen) -> Screen {
    let columns = PLAN_COLUMNS + COLUMNS;
    let mut canvas = Canvas(Parser::new(ROWS + COMMITS + 3, columns, 0));
    canvas.put(0, 0, format!("\x1b[1m{PLAN}\x1b[0m").as_bytes());
    let plan = world.read(PLAN);
    let lines = plan.lines().filter(|line| line.starts_with("- [") || line.starts_with("## "));
    for (line, row) in lines.zip(2..) {
        let line = match line.strip_prefix("## ") {
            Some(heading) => format!("\x1b[2m{}\x1b[0m", cut(heading)),
            None if line.starts_with("- [x]") => format!("\x1b[32m{}\x1b[0m", cut(line)),
            None => cut(line),
        };
        canvas.put(row, 0, line.as_bytes());
    }
    canvas.put(0, PLAN_COLUMNS, b"\x1b[1m$ specum run\x1b[0m");
    for (row, text) in (2..).zip(terminal.rows_formatted(0, COLUMNS)) {
        canvas.put(row, PLAN_COLUMNS, &text);
    }
    canvas.put(ROWS + 2, 0, b"\x1b[1m$ git log --oneline\x1b[0m");
    let log = world.git(&["log", "--format=%h %s"]);
    for (line, row) in log.lines().zip(ROWS + 3..ROWS + 3 + COMMITS) {
        let (id, subject) = line.split_once(' ').unwrap_or((line, ""));
        canvas.put(row, 0, format!("\x1b[33m{id}\x1b[0m {subject}").as_bytes());
    }
    canvas.0.screen().clone()
}

/// A line of the plan that fits in its place.
fn cut(line: &str) -> String {
    let room = usize::from(PLAN_COLUMNS) - 3;
    match line.chars().count() <= room {
        true => line.to_owned(),
        false => line.chars().take(room - 1).chain(['…']).collect(),
    }
}

/// A screen on which lines are put where they belong.
struct Canvas(Parser);

impl Canvas {
    fn put(&mut self, row: u16, column: u16, text: &[u8]) {
        self.0.process(format!("\x1b[{};{}H\x1b[0m", row + 1, column + 1).as_bytes());
        self.0.process(text);
    }
}
