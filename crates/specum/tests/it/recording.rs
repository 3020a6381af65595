//! The picture in the README is of the current demo. `cargo xtask recording` records
//! it anew.

use xtask::recording::{picture, record, svg};

use crate::docs::steady;

/// What does not change from one demo to the next: everything below the live
/// view, without times and ids.
fn told_at_the_end(text: &str) -> String {
    let begin = text.find("demo  complete").expect("the demo completes");
    text[begin..].trim_end().lines().map(|line| steady(line) + "\n").collect()
}

#[test]
fn the_picture_in_the_readme_is_of_the_current_demo() {
    let (frames, everything) = record();
    assert!(frames.len() > 10, "the live view moves: {} frames", frames.len());
    let picture = std::fs::read_to_string(picture()).unwrap();
    assert_eq!(
        told_at_the_end(&svg::description(&picture)),
        told_at_the_end(&everything),
        "docs/demo.svg is out of date: cargo xtask recording"
    );
    // The words are in the picture itself, not only beside it.
    let last = frames.last().expect("there are frames").screen.contents();
    let told = |text: &str| steady(text.trim_end());
    let last: Vec<String> = last.lines().filter(|line| !line.trim().is_empty()).map(told).collect();
    let shown: Vec<String> = svg::rows(&picture).iter().map(|row| told(row)).collect();
    assert_eq!(shown, last);
    assert!(picture.len() < 150_000, "{} bytes", picture.len());
}
