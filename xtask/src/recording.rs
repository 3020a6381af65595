//! The picture in the README: `specum demo` on a real pseudo-terminal, as an
//! animated SVG.

pub mod svg;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use harness::terminal::{on_terminal, read_to_the_end};
use harness::world::{World, repository};

const COLUMNS: u16 = 88;
const ROWS: u16 = 42;
/// A spinner that turns ten times a second is not worth ten pictures.
const FRAME: Duration = Duration::from_millis(200);

/// The screen from one moment on.
pub struct Frame {
    at: Duration,
    pub screen: vt100::Screen,
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

/// Runs the demo and keeps the screen whenever it has changed, and all lines
/// that were ever on it.
pub fn record() -> (Vec<Frame>, String) {
    let world = World::empty();
    let mut command = world.command();
    command.arg("demo").env("TERM", "xterm-256color");
    let (mut demo, terminal) = on_terminal(command, ROWS, COLUMNS);
    let mut parser = vt100::Parser::new(ROWS, COLUMNS, 0);
    let mut tall = vt100::Parser::new(200, COLUMNS, 0);
    let begin = Instant::now();
    let mut frames: Vec<Frame> = Vec::new();
    read_to_the_end(terminal, |bytes| {
        parser.process(bytes);
        tall.process(bytes);
        let frame = Frame { at: begin.elapsed(), screen: parser.screen().clone() };
        match frames.last_mut() {
            Some(last) if frame.at - last.at < FRAME => last.screen = frame.screen,
            _ => frames.push(frame),
        }
    });
    assert!(demo.wait().expect("it is our child").success(), "{}", tall.screen().contents());
    (frames, tall.screen().contents())
}
