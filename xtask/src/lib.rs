//! What people who work on specum run, and what the tests run in short: the figures,
//! the fault campaign, and the picture in the README.
#![allow(missing_docs, reason = "a tool of this repository; names and comments say enough")]

/// Generated plans under injected faults.
pub mod campaign;
/// Deliberate faults that the simulation must find.
pub mod faults;
/// Every figure and its yardstick.
pub mod figures;
/// The report of the demo as a picture.
pub mod page;
/// The demo as a picture.
pub mod recording;

use std::process::Command;

use anyhow::{Context, ensure};
use harness::world::repository;

/// cargo, at the root of the repository.
pub fn cargo() -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(repository());
    cargo
}

/// Builds specum and the helper programs of the tests next to this program, in its
/// profile: cargo does so by itself only for the tests of their own package.
pub fn build_programs() -> anyhow::Result<()> {
    let (built, is_dev) = (harness::built(), harness::built().ends_with("debug"));
    let target = built.parent().context("a profile is in a folder")?;
    let mut build = cargo();
    // With this package, so that it is the build that has made this program.
    build.args(["build", "--package", "specum", "--package", "xtask", "--bins"]);
    build.args(["--features", "specum/test-support"]);
    build.arg("--target-dir").arg(target);
    if let Some(profile) = built.file_name().filter(|_| !is_dev) {
        build.arg("--profile").arg(profile);
    }
    ensure!(build.status().context("cannot run cargo")?.success(), "the programs do not build");
    Ok(())
}
