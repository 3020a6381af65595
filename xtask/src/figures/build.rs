//! The binary's size and a cold build, and a greeting with the same command
//! line parser, built in the same way.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use harness::world::repository;

use super::row::{Row, size, time};
use super::sample::{Ratio, timed};
use super::{Bench, tell};

pub(super) fn measure(bench: &Bench) -> Vec<Row> {
    let place = bench.place.path();
    tell("a cold build");
    let (mut ours, mut theirs) = (PathBuf::new(), PathBuf::new());
    let our_time = timed(|| ours = released(Some(&place.join("cold")))).as_secs_f64();
    let greeting = write_greeting(&place.join("greeting"));
    tell("a cold build of a greeting with clap");
    let their_time = timed(|| theirs = executable(greeting)).as_secs_f64();
    let bytes = |path: &Path| fs::metadata(path).expect("just built").len() as f64;
    let known = "a greeting with clap";
    vec![
        Row::new(
            "the binary's size, statically linked",
            size(bytes(&ours)),
            format!("{known}: {}", size(bytes(&theirs))),
            Ratio::of(bytes(&ours), bytes(&theirs)),
        ),
        Row::new(
            "a cold build of the release, everything downloaded",
            time(our_time),
            format!("{known}: {}", time(their_time)),
            Ratio::of(our_time, their_time),
        ),
    ]
}

/// Builds the binary as it is released, into this target directory or the usual
/// one.
pub(super) fn released(target: Option<&Path>) -> PathBuf {
    let mut cargo = crate::cargo();
    cargo.args(["dist", &released_target(), "--package", "specum", "--bin", "specum"]);
    if let Some(target) = target {
        cargo.arg("--target-dir").arg(target);
    }
    executable(cargo)
}

/// What is released for this machine.
fn released_target() -> String {
    let musl = format!("{}-unknown-linux-musl", env::consts::ARCH);
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", &musl]);
    let libraries = rustc.output().map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
    // A toolchain without it builds what comes nearest.
    match libraries.is_ok_and(|folder| Path::new(folder.trim()).is_dir()) {
        true => musl,
        false => "host-tuple".into(),
    }
}

/// Runs a build and gives the program it made.
fn executable(mut cargo: Command) -> PathBuf {
    let output = cargo
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{cargo:?} failed");
    let text = String::from_utf8_lossy(&output.stdout);
    let path = text.rsplit("\"executable\":\"").next().and_then(|rest| rest.split('"').next());
    PathBuf::from(path.expect("cargo names the binary"))
}

/// A program that greets, and the command that builds it as we are released:
/// the same versions, profile and linking.
fn write_greeting(root: &Path) -> Command {
    let ours = repository();
    let text = |path: &str| fs::read_to_string(ours.join(path)).expect("a file of the workspace");
    let manifest = text("Cargo.toml");
    let after = |mark: &str| manifest.split_once(mark).expect("it is in the manifest").1;
    let clap = after("\nclap = ").lines().next().expect("a line");
    let profile = after("\n[profile.release]\n").split("\n[").next().expect("a section");
    let manifest = format!(
        "[package]\nname = \"greeting\"\nedition = \"2024\"\n\n[dependencies]\nclap = {clap}\n\n[profile.release]\n{profile}\n"
    );
    let program = "//! Greets.\n\n#[derive(clap::Parser)]\nstruct Args {\n    /// Whom\n    name: String,\n}\n\nfn main() {\n    let args: Args = clap::Parser::parse();\n    println!(\"Hello, {}!\", args.name);\n}\n";
    fs::create_dir_all(root.join("src")).expect("a new directory");
    for (path, content) in
        [("Cargo.toml", &*manifest), ("Cargo.lock", &text("Cargo.lock")), ("src/main.rs", program)]
    {
        fs::write(root.join(path), content).expect("a new file");
    }
    let mut cargo = crate::cargo();
    cargo.current_dir(root).args(["build", "--release", "--offline"]);
    cargo.args(["--target", &released_target()]);
    cargo.arg("--config").arg(ours.join(".cargo/static.toml"));
    cargo.arg("--target-dir").arg(root.join("target"));
    cargo
}
