//! The real agent hosts, each pinned to one version.
//!
//! A host is installed by the first test that needs it, below cargo's target
//! directory, and found there ever after. A host that cannot be had is skipped
//! aloud on a developer's machine and fails the test in CI: what CI shows green
//! has run.

mod agent;
mod claude;
mod other;
mod process;

use std::env;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::world::{announce, skipped};
pub(crate) use agent::Workplace;
pub(crate) use claude::{ClaudeRun, Outcome};
pub(crate) use other::{codex_exec, gemini_prompt, settle_codex, settle_gemini, settle_opencode};

/// An agent host as npm knows it.
struct Host {
    name: &'static str,
    package: &'static str,
    version: &'static str,
    /// What the download puts on the disk, for the announcement.
    megabytes: u32,
}

const CLAUDE: Host = Host {
    name: "claude",
    package: "@anthropic-ai/claude-code",
    version: "2.1.197",
    megabytes: 235,
};

const CODEX: Host =
    Host { name: "codex", package: "@openai/codex", version: "0.166.0", megabytes: 435 };

const GEMINI: Host =
    Host { name: "gemini", package: "@google/gemini-cli", version: "0.61.0", megabytes: 100 };

const OPENCODE: Host =
    Host { name: "opencode", package: "opencode-ai", version: "1.18.33", megabytes: 355 };

/// The program of opencode, or `None` if this machine has to do without.
pub(crate) fn opencode() -> Option<PathBuf> {
    OPENCODE.program()
}

/// The program of Codex, or `None` if this machine has to do without.
pub(crate) fn codex() -> Option<PathBuf> {
    CODEX.program()
}

/// The program of Gemini CLI, or `None` if this machine has to do without.
pub(crate) fn gemini() -> Option<PathBuf> {
    GEMINI.program()
}

/// The program of Claude Code, or `None` if this machine has to do without.
pub(crate) fn claude() -> Option<PathBuf> {
    CLAUDE.program()
}

impl Host {
    fn program(&self) -> Option<PathBuf> {
        let reason = if env::var_os("SPECUM_HOSTS").is_some_and(|hosts| hosts == "none") {
            "SPECUM_HOSTS is none".to_owned()
        } else {
            match self.install() {
                Ok(directory) => return Some(self.find_program(&directory)),
                Err(NoNpm) => "npm is not on the PATH".to_owned(),
            }
        };
        let why = format!("no {} {}: {reason}", self.name, self.version);
        skipped(&why, "CI", "true");
        None
    }

    /// Gives the directory of the installed host, after installing it if this
    /// is the first time.
    fn install(&self) -> Result<PathBuf, NoNpm> {
        let hosts = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hosts");
        let directory = hosts.join(format!("{}-{}", self.name, self.version));
        // Without the lock, so that the usual case never waits. The directory
        // appears by a rename: if it exists, it is complete.
        if directory.exists() {
            return Ok(directory);
        }
        fs::create_dir_all(&hosts).expect("the target directory is writable");
        let lock = File::create(hosts.join("install.lock")).expect("a file for the lock");
        lock.lock().expect("the lock on installing hosts");
        if directory.exists() {
            return Ok(directory);
        }

        let (package, version) = (self.package, self.version);
        announce(&format!("installing {package}@{version} (ca. {} MB), once", self.megabytes));
        let staging = tempfile::tempdir_in(&hosts).expect("a directory to install into");
        let npm = npm_install(staging.path(), &format!("{package}@{version}"))?;
        assert!(
            npm.status.success(),
            "npm could not install {package}@{version}; set SPECUM_HOSTS=none to do without\n{}",
            String::from_utf8_lossy(&npm.stderr),
        );
        self.check(staging.path());
        fs::rename(staging.keep(), &directory).expect("a rename within one directory");
        Ok(directory)
    }

    /// Panics unless the installed program runs and is the right one: npm calls
    /// it success when the native program, an optional package, did not arrive.
    fn check(&self, directory: &Path) {
        let program = self.find_program(directory);
        let said = Command::new(&program).arg("--version").env("HOME", directory).output();
        let said = said.unwrap_or_else(|error| panic!("cannot run {}: {error}", program.display()));
        let version = String::from_utf8_lossy(&said.stdout);
        assert!(version.contains(self.version), "not {}: {said:?}", self.version);
    }

    /// The native program if the package brings one: it starts faster, and npm
    /// may have been told not to run the script that links it.
    fn find_program(&self, directory: &Path) -> PathBuf {
        let modules = directory.join("node_modules");
        let (package, name) = (self.package, self.name);
        let platform = format!("{}-{}", node_os(), node_arch());
        let native = [
            format!("{package}-{platform}/{name}"),
            format!("{package}-{platform}-musl/{name}"),
            format!("{name}-{platform}/bin/{name}"),
            format!("{name}-{platform}-musl/bin/{name}"),
        ]
        .map(|program| modules.join(program));
        let linked = modules.join(".bin").join(self.name);
        native.into_iter().find(|program| program.exists()).unwrap_or(linked)
    }
}

struct NoNpm;

fn npm_install(directory: &Path, package: &str) -> Result<Output, NoNpm> {
    let npm = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"])
        .arg("--prefix")
        .arg(directory)
        .arg(package)
        .output();
    match npm {
        Err(error) if error.kind() == ErrorKind::NotFound => Err(NoNpm),
        npm => Ok(npm.expect("npm runs")),
    }
}

/// Node's name for this operating system.
fn node_os() -> &'static str {
    match env::consts::OS {
        "macos" => "darwin",
        same => same,
    }
}

/// Node's name for this kind of processor.
fn node_arch() -> &'static str {
    match env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        same => same,
    }
}
