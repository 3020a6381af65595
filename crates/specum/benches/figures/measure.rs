//! What is measured, in groups.
//!
//! Each group gives rows, and every row stands beside a yardstick of the same
//! run. [`Scale::Quick`] measures the same rows at sizes that say nothing, for
//! the test that keeps this from rotting.

pub(crate) mod build;
pub(crate) mod growth;
mod hosts;
pub(crate) mod plot;
pub(crate) mod row;
mod run;
mod sample;
mod session;
mod stop;

use std::path::PathBuf;

use clap::ValueEnum;
use tempfile::TempDir;

use plot::Line;
use row::Row;

/// What can be measured by itself.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Group {
    /// The stop decision beside `/bin/true`
    Stop,
    /// Scan and tick of ever more tasks
    Growth,
    /// A run beside the bare commands, at once, and its memory
    Run,
    /// A session of the real Claude Code with a scripted model
    Session,
    /// Sessions of the real Codex and Gemini CLI
    Hosts,
    /// The binary's size and a cold build
    Build,
}

impl Group {
    /// Measures it, which may take minutes.
    pub(crate) fn measure(self, bench: &Bench) -> Figures {
        match self {
            Group::Stop => stop::measure(bench).into(),
            Group::Growth => growth::measure(bench),
            Group::Run => run::measure(bench).into(),
            Group::Session => session::measure(bench),
            Group::Hosts => hosts::measure(bench),
            Group::Build => build::measure(bench).into(),
        }
    }
}

/// How much is measured.
#[derive(Clone, Copy)]
pub(crate) enum Scale {
    /// As published.
    Full,
    /// As little as shows that it works.
    Quick,
}

/// What all groups share.
pub(crate) struct Bench {
    scale: Scale,
    /// The binary that is measured.
    specum: PathBuf,
    place: TempDir,
}

impl Bench {
    pub(crate) fn new(scale: Scale, specum: PathBuf) -> Bench {
        Bench { scale, specum, place: tempfile::tempdir().expect("a temporary directory") }
    }

    /// The one for the table, or the one for the test.
    fn pick<T>(&self, full: T, quick: T) -> T {
        match self.scale {
            Scale::Full => full,
            Scale::Quick => quick,
        }
    }
}

/// What has been measured.
#[derive(Default)]
pub(crate) struct Figures {
    pub(crate) rows: Vec<Row>,
    /// The lines of the plot.
    pub(crate) growth: Vec<Line>,
    /// What could not be measured here.
    pub(crate) skipped: Vec<String>,
}

impl Figures {
    pub(crate) fn add(&mut self, more: Figures) {
        self.rows.extend(more.rows);
        self.growth.extend(more.growth);
        self.skipped.extend(more.skipped);
    }
}

impl From<Vec<Row>> for Figures {
    fn from(rows: Vec<Row>) -> Figures {
        Figures { rows, ..Figures::default() }
    }
}

/// A plan of tasks as people write them, the first few done.
fn plan(tasks: usize, done: usize) -> String {
    let task = |n| {
        let mark = if n <= done { 'x' } else { ' ' };
        format!(
            "- [{mark}] 1.{n} Do the thing number {n}\n  - **Do**: it, with care\n  - **Files**: src/{n}.rs\n  - **Done when**: it holds\n  - **Verify**: `true`\n  - **Commit**: `feat: {n}`\n\n"
        )
    };
    (1..=tasks).map(task).collect()
}

/// Tells the person who waits.
fn tell(what: &str) {
    eprintln!("measuring {what}");
}
