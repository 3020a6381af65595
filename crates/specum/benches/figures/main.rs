//! Every figure of specum, each beside its yardstick in the same run.
//!
//! `cargo figures` (or `cargo bench --bench figures`) tells on standard error
//! what it is doing and prints one table. The binary measured is the one that
//! is released. A goal that is missed is shown and is no failure: machines
//! differ.

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use clap::{Parser, ValueEnum};

use measure::build;
use measure::plot;
use measure::row::{self, Row};
use measure::{Bench, Figures, Group, Scale};

/// What the tests have for projects, hosts and models.
#[allow(dead_code, unused_imports, reason = "the tests use the rest of it")]
#[path = "../../tests/it"]
mod it {
    pub(crate) mod host;
    pub(crate) mod model;
    pub(crate) mod other_model;
    pub(crate) mod terminal;
    pub(crate) mod world;
}
use it::{host, model, other_model, terminal, world};

#[allow(dead_code, reason = "a test uses the quick form")]
mod measure;

/// Measure everything and print one table
#[derive(Parser)]
#[command(name = "figures", bin_name = "cargo figures")]
struct Args {
    /// Measure only these
    #[arg(long, value_enum)]
    only: Vec<Group>,
    /// Write table and plot into docs/proof, and the README's rows
    #[arg(long, conflicts_with = "only")]
    write: bool,
    /// What `cargo bench` adds
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let bench = Bench::new(Scale::Full, build::released(None));
    let groups = if args.only.is_empty() { Group::value_variants() } else { &args.only };
    let mut figures = Figures::default();
    for &group in groups {
        let more = group.measure(&bench);
        // At once: what follows may take minutes, or fail.
        eprint!("{}", row::table(&more.rows));
        figures.add(more);
    }
    let machine = machine();
    println!("{}\n{machine}", row::table(&figures.rows));
    if args.write {
        ensure!(figures.skipped.is_empty(), "nothing is written: {}", figures.skipped.join(", "));
        write(&figures, &machine)?;
    }
    Ok(())
}

/// Puts the figures where people read them.
fn write(figures: &Figures, machine: &str) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
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
        let output = std::process::Command::new(program).arg("--version").output();
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
