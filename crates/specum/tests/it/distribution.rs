//! What a release has next to its archives, made of local files and installed into an
//! empty folder: installer, formula, npm packages.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::world::{Call, World, call, repository, skipped, specum};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const OTHERS: [&str; 2] = ["aarch64-apple-darwin", "x86_64-apple-darwin"];
const LINUX: [&str; 2] = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"];

/// The target whose archive runs here; there is none on other systems.
fn ours() -> Option<&'static str> {
    let is_ours = |target: &&str| target.starts_with(std::env::consts::ARCH);
    LINUX.into_iter().find(is_ours).filter(|_| cfg!(target_os = "linux"))
}

/// A folder with an archive for each target: ours has the program, the others a file
/// that stands for one, as there is for the sibling.
fn archives(world: &World, ours: &str) -> PathBuf {
    let folder = world.home().join("archives");
    fs::create_dir_all(&folder).unwrap();
    for target in LINUX.into_iter().chain(OTHERS) {
        let name = format!("specum-{VERSION}-{target}");
        let unpacked = world.home().join(&name);
        fs::create_dir_all(&unpacked).unwrap();
        match target == ours {
            true => drop(fs::copy(specum(), unpacked.join("specum")).unwrap()),
            false => fs::write(unpacked.join("specum"), target).unwrap(),
        }
        fs::write(unpacked.join("specum-net"), "#!/bin/sh\necho sibling \"$@\"\n").unwrap();
        let mut tar = Command::new("tar");
        tar.arg("-czf").arg(folder.join(format!("{name}.tar.gz"))).arg(&name);
        call_in(tar, world.home()).exits(0);
    }
    folder
}

fn call_in(mut command: Command, folder: &Path) -> Call {
    command.current_dir(folder);
    call(command, b"")
}

/// Makes everything that is distributed of the archives.
fn distributed(world: &World, archives: &Path) -> PathBuf {
    let results = world.home().join("results");
    let mut script = world.program("bash");
    script.arg(repository().join(".ci/distribute")).arg(archives).arg(&results);
    script.args(LINUX).args(OTHERS);
    call_in(script, world.home()).exits(0);
    results
}

/// The checksums of a release by file.
fn checksums(results: &Path) -> BTreeMap<String, String> {
    let sums = fs::read_to_string(results.join("SHA256SUMS")).unwrap();
    let pair = |line: &str| line.split_once("  ").map(|(sum, file)| (file.into(), sum.into()));
    sums.lines().filter_map(pair).collect()
}

/// An installer's call, with local files in place of the release.
fn install(world: &World, results: &Path, archives: &Path, prefix: &Path) -> Call {
    let mut installer = world.program("sh");
    installer.arg(results.join("specum-installer.sh"));
    installer.env("SPECUM_DOWNLOADS", format!("file://{}", archives.display()));
    installer.env("SPECUM_PREFIX", prefix);
    call_in(installer, world.home())
}

fn demo(world: &World, mut program: Command) {
    program.arg("demo");
    let demo = call_in(program, &world.root);
    assert!(demo.exits(0).stdout.contains("demo  complete  7 of 7"), "{}", demo.stdout);
}

/// `specum serve` is the program that came with it.
fn finds_its_sibling(world: &World, mut program: Command) {
    program.args(["serve", "--port", "1"]);
    let said = call_in(program, &world.root);
    let expected = format!("sibling --of {VERSION} serve --port 1\n");
    assert_eq!(said.exits(0).stdout, expected);
}

/// The checksums of the formula, by file: each stands behind its address.
fn in_formula(formula: &str) -> BTreeMap<String, String> {
    let quoted = |word: &str| -> Vec<String> {
        let begin = format!("{word} \"");
        let lines = formula.lines().filter_map(|line| line.trim().strip_prefix(&begin));
        lines.map(|rest| rest.trim_end_matches('"').to_owned()).collect()
    };
    let files = quoted("url").into_iter().map(|url| url.rsplit_once('/').unwrap().1.to_owned());
    files.zip(quoted("sha256")).collect()
}

#[test]
fn installer_formula_and_npm_packages_are_made_of_the_archives_and_work() {
    let Some(ours) = ours() else { return };
    let needed = ["npm", "node", "curl"];
    let is_there = |program: &&str| Command::new(program).arg("--version").output().is_ok();
    if !needed.iter().all(is_there) {
        return skipped("it needs Node.js, npm and curl", "CI", "true");
    }
    let world = World::empty();
    let archives = archives(&world, ours);
    let results = distributed(&world, &archives);
    let sums = checksums(&results);
    assert_eq!(sums.len(), 4, "{sums:?}");

    let formula = fs::read_to_string(results.join("specum.rb")).unwrap();
    assert!(!formula.contains('@'), "a place that was not filled: {formula}");
    assert_eq!(in_formula(&formula), sums);
    let opens = |line: &&str| {
        line.starts_with("class ") || line.starts_with("def ") || line.ends_with(" do")
    };
    let lines: Vec<&str> = formula.lines().map(str::trim).collect();
    let ends = lines.iter().filter(|line| **line == "end").count();
    assert_eq!(lines.iter().copied().filter(|line| opens(line)).count(), ends, "{formula}");

    let prefix = world.home().join("prefix");
    let installed = install(&world, &results, &archives, &prefix);
    assert!(installed.exits(0).stdout.contains("on your PATH, then: specum demo"));
    assert_eq!(fs::read_dir(prefix.join("bin")).unwrap().count(), 2, "nothing else is left");
    demo(&world, world.program(prefix.join("bin/specum")));
    finds_its_sibling(&world, world.program(prefix.join("bin/specum")));
    assert!(formula.contains("bin.install \"specum\", \"specum-net\""), "{formula}");
    npm_starts_the_program_of_its_platform(&world, &results);

    // What is not what the release had is not installed.
    let name = format!("specum-{VERSION}-{ours}.tar.gz");
    fs::write(archives.join(&name), "something else").unwrap();
    let second = world.home().join("second");
    let refused = install(&world, &results, &archives, &second);
    let why = &refused.exits(1).stderr;
    assert!(why.contains(&format!("{name} has the checksum")), "{why}");
    assert!(!second.join("bin/specum").exists());
    fs::remove_file(archives.join(&name)).unwrap();
    let gone = install(&world, &results, &archives, &second);
    assert!(gone.exits(1).stderr.contains("specum was not installed: cannot download"));
}

/// Installs the packages from their files into an empty folder, without a registry.
fn npm_starts_the_program_of_its_platform(world: &World, results: &Path) {
    let cpu = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let folder = world.home().join("npm");
    fs::create_dir_all(&folder).unwrap();
    let package = |name: &str| results.join(format!("{name}-{VERSION}.tgz"));
    let npm = |packages: &[PathBuf]| {
        let mut npm = world.program("npm");
        npm.args(["install", "--offline", "--no-audit", "--no-fund"]).args(packages);
        call_in(npm, &folder).exits(0);
    };
    let launched = || world.program(folder.join("node_modules/.bin/specum"));
    npm(&[package("specum")]);
    let alone = call_in(launched(), &world.root);
    let why = format!("the package @specum/linux-{cpu} is not installed");
    assert!(alone.exits(1).stderr.contains(&why), "{}", alone.stderr);

    npm(&[package("specum"), package(&format!("specum-linux-{cpu}"))]);
    demo(world, launched());
    finds_its_sibling(world, launched());
    let mut unknown = launched();
    unknown.args(["switch", "nowhere"]);
    call_in(unknown, &world.root).exits(3);
}

#[test]
fn binstall_is_sent_to_the_archives_of_a_release() {
    let manifest = fs::read_to_string(repository().join("crates/specum/Cargo.toml")).unwrap();
    let (_, binstall) = manifest.split_once("[package.metadata.binstall]").unwrap();
    let filled = binstall
        .replace("{ version }", VERSION)
        .replace("{ target }", LINUX[0])
        .replace("{ bin }{ binary-ext }", "specum");
    // As `.ci/package` and the formula name them.
    let name = format!("specum-{VERSION}-{}", LINUX[0]);
    assert!(filled.contains(&format!("{{ repo }}/releases/download/v{VERSION}/{name}.tar.gz")));
    assert!(filled.contains(&format!("bin-dir = \"{name}/specum\"")), "{filled}");
    let package = fs::read_to_string(repository().join(".ci/package")).unwrap();
    assert!(package.contains("name=specum-$version-$target"), "{package}");
    assert!(package.contains("cp \"$built\" \"$folder/specum-net$ending\""), "{package}");
}
