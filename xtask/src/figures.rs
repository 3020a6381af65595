//! Every figure of specum, each with its yardstick in the same run.
//!
//! `cargo figures` tells on standard error what it is doing and prints one table. The
//! binary measured is the one that is released. A goal that is missed is shown and is
//! no failure: machines differ.
//!
//! Each group gives rows, and every row has a yardstick of the same
//! run. `Scale::Quick` measures the same rows at sizes that say nothing, for
//! the test that keeps this from rotting.

mod build;
mod gate;
mod growth;
mod hosts;
mod look;
pub mod plot;
mod report;
pub mod row;
mod run;
mod sample;
mod session;
mod stop;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use harness::world::repository;
use tempfile::TempDir;

use plot::Line;
use row::Row;

/// Measure everything and print one table
#[derive(Args)]
pub struct Options {
    /// Measure only these
    #[arg(long, value_enum)]
    only: Vec<Group>,
    /// Write table and plot into docs/proof, and the README's rows
    #[arg(long, conflicts_with = "only")]
    write: bool,
}

/// The table, as published.
pub fn run(options: &Options) -> anyhow::Result<()> {
    crate::build_programs()?;
    harness::host::want_all();
    let bench = Bench::new(Scale::Full, build::released(None));
    let groups = if options.only.is_empty() { Group::value_variants() } else { &options.only };
    let mut figures = Figures::default();
    for &group in groups {
        let more = group.measure(&bench);
        // At once: what follows may take minutes, or fail.
        eprint!("{}", row::table(&more.rows));
        figures.add(more);
    }
    let machine = machine();
    println!("{}\n{machine}", row::table(&figures.rows));
    if options.write {
        ensure!(figures.skipped.is_empty(), "nothing is written: {}", figures.skipped.join(", "));
        write(&figures, &machine)?;
    }
    Ok(())
}

/// What can be measured by itself.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Group {
    /// The stop decision beside `/bin/true`
    Stop,
    /// Scan and tick of ever more tasks
    Growth,
    /// A run beside the bare commands, at once, and its memory
    Run,
    /// `status` and `log` of a finished plan
    Look,
    /// A session of the real Claude Code with a scripted model
    Session,
    /// Sessions of the real Codex and Gemini CLI
    Hosts,
    /// The gate of a spec's documents, and the map of a project
    Gate,
    /// The report of a long loop
    Report,
    /// The binary's size and a cold build
    Build,
}

impl Group {
    /// Measures it, which may take minutes.
    pub fn measure(self, bench: &Bench) -> Figures {
        match self {
            Group::Stop => stop::measure(bench).into(),
            Group::Growth => growth::measure(bench),
            Group::Run => run::measure(bench).into(),
            Group::Look => look::measure(bench).into(),
            Group::Session => session::measure(bench),
            Group::Hosts => hosts::measure(bench),
            Group::Gate => gate::measure(bench).into(),
            Group::Report => report::measure(bench).into(),
            Group::Build => build::measure(bench).into(),
        }
    }
}

/// How much is measured.
#[derive(Clone, Copy)]
pub enum Scale {
    /// As published.
    Full,
    /// As little as shows that it works.
    Quick,
}

/// What all groups share.
pub struct Bench {
    scale: Scale,
    /// The binary that is measured.
    specum: PathBuf,
    place: TempDir,
}

impl Bench {
    pub fn new(scale: Scale, specum: PathBuf) -> Bench {
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
pub struct Figures {
    pub rows: Vec<Row>,
    /// The lines of the plot.
    pub growth: Vec<Line>,
    /// What could not be measured here.
    pub skipped: Vec<String>,
}

impl Figures {
    pub fn add(&mut self, more: Figures) {
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

/// Puts the figures where people read them.
fn write(figures: &Figures, machine: &str) -> anyhow::Result<()> {
    let root = repository();
    let headlines: Vec<Row> = figures.rows.iter().filter(|row| row.headline).cloned().collect();
    for (name, content) in [
        ("docs/proof/figures.md", format!("{}\n{machine}\n", row::table(&figures.rows))),
        ("README.md", row::table(&headlines)),
    ] {
        let path = root.join(name);
        let page = fs::read_to_string(&path).with_context(|| format!("cannot read {name}"))?;
        let page = row::between_marks(&page, &content)
            .with_context(|| format!("{name} has no place for figures"))?;
        fs::write(&path, page).with_context(|| format!("cannot write {name}"))?;
    }
    let plot = root.join("docs/proof/growth.svg");
    fs::write(plot, plot::growth(&figures.growth)).context("cannot write docs/proof/growth.svg")?;
    eprintln!("written: docs/proof/figures.md, docs/proof/growth.svg, README.md");
    Ok(())
}

/// What the figures were measured on, as a sentence.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let processor = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(format!(" of {}", line.split_once(':')?.1.trim()))
    });
    let version = |program: &str| {
        let output = Command::new(program).arg("--version").output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        text.unwrap_or_default().split(" (").next().unwrap_or_default().trim().to_owned()
    };
    format!(
        "Measured on {cores} cores{}, {}, with {} and {}.",
        processor.unwrap_or_default(),
        std::env::consts::OS,
        version("git"),
        version("rustc"),
    )
}
