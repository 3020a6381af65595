//! The picture in docs/report.md: the report of the demo's plan in a real Chromium, light
//! and dark.

use std::path::PathBuf;

use anyhow::{Context, ensure};
use harness::browser::Browser;
use harness::world::{World, call, repository};

/// How long each step of the plan takes.
const PACE: &str = "0.8";

/// Where the picture is.
pub fn picture() -> PathBuf {
    repository().join("docs/report.png")
}

/// Makes the picture anew.
pub fn write() -> anyhow::Result<()> {
    let world = World::empty();
    let plan = repository().join("crates/specum/src/commands/demo/tasks.md");
    let plan = std::fs::read_to_string(plan).context("the demo has a plan")?;
    world.write("specs/cafe/tasks.md", plan.replace("PACE", PACE));
    world.git_init();
    let mut run = world.command();
    run.args(["run", "cafe", "--agent", "script", "--report", "../report.html"]);
    let run = call(run, b"");
    ensure!(run.code == Some(0), "the plan is not worked: {}", run.stderr);
    harness::host::want_all();
    let mut browser = Browser::start().context("no Chromium")?;
    browser.screen(1200, 1080, false);
    browser.prefers("light", true);
    browser.open(&world.path("../report.html"));
    std::fs::write(picture(), browser.picture(false)).context("cannot write docs/report.png")
}
