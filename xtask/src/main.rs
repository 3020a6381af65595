//! `cargo figures`, `cargo campaign` and `cargo xtask`.

use std::process::ExitCode;

use anyhow::ensure;
use clap::Parser;
use xtask::{build_programs, campaign, cargo, faults, figures, page, recording};

/// What people who work on specum run
#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask")]
enum Task {
    #[command(bin_name = "cargo campaign")]
    Campaign(campaign::Options),
    #[command(bin_name = "cargo figures")]
    Figures(figures::Options),
    Faults(faults::Options),
    /// Record the demo anew as the picture in the README
    Recording,
    /// Make the picture in docs/report.md anew, with a real Chromium
    Page,
    /// Write docs/commands.md, docs/json.md, the README's demo and its picture anew
    Docs,
}

fn main() -> anyhow::Result<ExitCode> {
    match Task::parse() {
        Task::Campaign(options) => return campaign::run(&options),
        Task::Figures(options) => figures::run(&options)?,
        Task::Faults(options) => faults::run(&options)?,
        Task::Recording => record()?,
        Task::Page => {
            build_programs()?;
            page::write()?;
        }
        Task::Docs => {
            record()?;
            // What the documents say comes from the tests that compare it.
            let mut test = cargo();
            test.args(["test", "--package", "specum", "--test", "it", "docs::"]);
            ensure!(test.env("SPECUM_UPDATE_DOCS", "1").status()?.success(), "a document is wrong");
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn record() -> anyhow::Result<()> {
    build_programs()?;
    recording::write()
}
