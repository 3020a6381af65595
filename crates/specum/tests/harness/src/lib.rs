//! What the tests and the figures of specum stand on: a hermetic project and calls
//! of the real binary in it ([`world`]), the real agent hosts ([`host`]), scripted
//! models for them ([`model`], [`other_model`]), a real browser ([`browser`]), a spec with faulty checks ([`corpus`]), runs with agents that are shell scripts
//! ([`run`]), and a person's terminal ([`terminal`]). A helper that two suites need is here, once.
#![allow(missing_docs, reason = "a tool of this repository; names and comments say enough")]

pub mod browser;
pub mod corpus;
pub mod host;
pub mod model;
pub mod other_model;
pub mod run;
mod server;
pub mod terminal;
pub mod world;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

/// How long anything waits for what happens at once unless it never does. Generous,
/// because a loaded machine must not fail a test.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The folder into which cargo has put the programs of this build: that of the
/// program which runs now, but for the folder of tests in it.
pub fn built() -> &'static Path {
    static BUILT: LazyLock<PathBuf> = LazyLock::new(|| {
        let program = std::env::current_exe().expect("a program knows where it is");
        let mut folders = program.ancestors().skip(1);
        let folder = folders.find(|folder| !folder.ends_with("deps"));
        folder.expect("a program is in a folder").to_owned()
    });
    &BUILT
}
