//! The picture in the README: `specum demo` on a real pseudo-terminal, as an
//! animated SVG.
//!
//! `SPECUM_UPDATE_DOCS=1 cargo test recording` records it anew.

mod svg;

use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::docs::steady;
use crate::terminal::on_terminal;
use crate::world::World;

const COLUMNS: u16 = 88;
const ROWS: u16 = 42;
/// A spinner that turns ten times a second is not worth ten pictures.
const FRAME: Duration = Duration::from_millis(200);
const PICTURE: &str = "docs/demo.svg";

/// The screen from one moment on.
struct Frame {
    at: Duration,
    screen: vt100::Screen,
}

/// Runs the demo and keeps the screen whenever it has changed, and all lines
/// that were ever on it.
fn record() -> (Vec<Frame>, String) {
    let world = World::empty();
    let mut command = world.command();
    command.arg("demo").env("TERM", "xterm-256color");
    let (mut demo, mut terminal) = on_terminal(command, ROWS, COLUMNS);
    let mut parser = vt100::Parser::new(ROWS, COLUMNS, 0);
    let mut tall = vt100::Parser::new(200, COLUMNS, 0);
    let begin = Instant::now();
    let mut frames: Vec<Frame> = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = match terminal.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            // Linux says so when the other end is closed.
            Err(_) => break,
        };
        parser.process(&buffer[..count]);
        tall.process(&buffer[..count]);
        let frame = Frame { at: begin.elapsed(), screen: parser.screen().clone() };
        match frames.last_mut() {
            Some(last) if frame.at - last.at < FRAME => last.screen = frame.screen,
            _ => frames.push(frame),
        }
    }
    assert!(demo.wait().expect("it is our child").success(), "{}", tall.screen().contents());
    (frames, tall.screen().contents())
}

/// What does not change from one demo to the next: everything below the live
/// view, without times and ids.
fn told_at_the_end(text: &str) -> String {
    let begin = text.find("demo  complete").expect("the demo completes");
    text[begin..].trim_end().lines().map(|line| steady(line) + "\n").collect()
}

#[test]
fn the_picture_in_the_readme_is_of_the_current_demo() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PICTURE);
    let (frames, everything) = record();
    assert!(frames.len() > 10, "the live view moves: {} frames", frames.len());
    let now = told_at_the_end(&everything);
    if std::env::var_os("SPECUM_UPDATE_DOCS").is_some() {
        std::fs::write(&path, svg::animation(&frames, &everything)).unwrap();
    }
    let picture = std::fs::read_to_string(&path).unwrap();
    assert_eq!(
        told_at_the_end(&svg::description(&picture)),
        now,
        "{PICTURE} is out of date: SPECUM_UPDATE_DOCS=1 cargo test recording"
    );
    // The words are in the picture itself, not only beside it.
    let last = frames.last().expect("there are frames").screen.contents();
    let told = |text: &str| steady(text.trim_end());
    let last: Vec<String> = last.lines().filter(|line| !line.trim().is_empty()).map(told).collect();
    let shown: Vec<String> = svg::rows(&picture).iter().map(|row| told(row)).collect();
    assert_eq!(shown, last);
    assert!(picture.len() < 150_000, "{} bytes", picture.len());
}
