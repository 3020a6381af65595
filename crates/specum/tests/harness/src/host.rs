//! The real agent hosts, pinned: each to its newest release, and Claude Code
//! to the oldest that is supported as well.
//!
//! `SPECUM_HOSTS=all` asks for them, and so does `CI=true`; without either, tests
//! that need a host are left out, which is said once. `SPECUM_HOSTS=newest` takes
//! what the registry has by now instead of the pinned versions, and
//! `SPECUM_HOSTS=none` does without hosts in CI too.
//!
//! A host is installed by the first test that needs it, below cargo's target
//! directory, and found there ever after. One that was asked for and cannot be had
//! is skipped aloud on a developer's machine and fails the test in CI: what CI
//! shows green has run.

mod agent;
mod claude;
mod conversation;
mod other;
pub mod process;

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread;

use crate::built;
use crate::world::{announce, skipped};
pub use agent::Workplace;
pub use claude::{ClaudeRun, Outcome};
pub use conversation::Conversation;
pub use other::{
    OtherOutcome, codex_command, codex_exec, codex_in_background, codex_in_its_sandbox,
    codex_read_only, codex_without_trust, gemini_command, gemini_prompt, gemini_without_trust,
    opencode_prompt, settle_codex, settle_gemini, settle_opencode,
};

/// An agent host as npm knows it.
struct Host {
    name: &'static str,
    package: &'static str,
    /// The pinned version.
    version: &'static str,
    /// What the download puts on the disk, for the announcement.
    megabytes: u32,
}

/// The last release in which a sub-agent works in the foreground unless it is
/// told otherwise.
const OLDEST_CLAUDE: Host = Host {
    name: "claude",
    package: "@anthropic-ai/claude-code",
    version: "2.1.197",
    megabytes: 235,
};

const CLAUDE: Host = Host { version: "2.1.325", megabytes: 350, ..OLDEST_CLAUDE };

const CODEX: Host =
    Host { name: "codex", package: "@openai/codex", version: "0.166.0", megabytes: 435 };

const GEMINI: Host =
    Host { name: "gemini", package: "@google/gemini-cli", version: "0.61.0", megabytes: 100 };

const OPENCODE: Host =
    Host { name: "opencode", package: "opencode-ai", version: "1.18.33", megabytes: 355 };

/// The program of opencode, or `None` if this machine has to do without.
pub fn opencode() -> Option<PathBuf> {
    OPENCODE.program()
}

/// The program of Codex, or `None` if this machine has to do without.
pub fn codex() -> Option<PathBuf> {
    CODEX.program()
}

/// The program of Gemini CLI, or `None` if this machine has to do without.
pub fn gemini() -> Option<PathBuf> {
    GEMINI.program()
}

/// The program of the newest Claude Code, or `None` if this machine has to do
/// without. A test of what happens inside a session asks for [`claudes`].
pub fn claude() -> Option<PathBuf> {
    CLAUDE.program()
}

/// Every Claude Code that a session must work in, the oldest first: the body
/// of a test is a loop over them.
pub fn claudes() -> impl Iterator<Item = Claude> {
    let oldest = (wanted() != Wanted::Newest).then_some(OLDEST_CLAUDE);
    oldest.into_iter().chain([CLAUDE]).filter_map(|host| {
        let program = host.program()?;
        Some(Claude { version: host.version().ok()?, program })
    })
}

/// The program of one Claude Code. If the test fails while it holds it, it says
/// with which version.
pub struct Claude {
    program: PathBuf,
    version: String,
}

impl Claude {
    pub fn version(&self) -> &str {
        &self.version
    }
}

impl Deref for Claude {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.program
    }
}

impl Drop for Claude {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("this was with Claude Code {}", self.version);
        }
    }
}

/// Which hosts `SPECUM_HOSTS` asks for.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    Pinned,
    Newest,
    None,
    /// Nobody has said anything.
    Unasked,
}

/// Those who ask by what they do, as the figures, need not set `SPECUM_HOSTS`.
pub fn want_all() {
    ALL.store(true, Ordering::Relaxed);
}

static ALL: AtomicBool = AtomicBool::new(false);

fn wanted() -> Wanted {
    let is_ci = env::var_os("CI").is_some_and(|set| set == "true");
    match env::var("SPECUM_HOSTS").unwrap_or_default().as_str() {
        "" if is_ci || ALL.load(Ordering::Relaxed) => Wanted::Pinned,
        "" => Wanted::Unasked,
        "all" => Wanted::Pinned,
        "newest" => Wanted::Newest,
        "none" => Wanted::None,
        other => panic!("SPECUM_HOSTS is `{other}`; it may be `all`, `newest` or `none`"),
    }
}

/// Says once that hosts can be asked for.
fn say_that_hosts_are_left_out() {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        announce(
            "without the real hosts: `SPECUM_HOSTS=all cargo test` installs them below \
             target/tmp (needs npm, 1.5 GB once) and tests with them",
        );
    });
}

impl Host {
    fn program(&self) -> Option<PathBuf> {
        let reason = match wanted() {
            Wanted::Unasked => {
                say_that_hosts_are_left_out();
                return None;
            }
            Wanted::None => "SPECUM_HOSTS is none",
            Wanted::Pinned | Wanted::Newest => match self.install() {
                Ok(directory) => return Some(self.find_program(&directory)),
                Err(NoNpm) => "npm is not on the PATH",
            },
        };
        skipped(&format!("no {} {}: {reason}", self.name, self.version), "CI", "true");
        None
    }

    /// The version to test with: the pinned one, or the newest there is.
    fn version(&self) -> Result<String, NoNpm> {
        if wanted() != Wanted::Newest {
            return Ok(self.version.to_owned());
        }
        // Asked once, so that all tests of a run test the same.
        static NEWEST: Mutex<BTreeMap<&str, String>> = Mutex::new(BTreeMap::new());
        let mut newest = NEWEST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(version) = newest.get(self.package) {
            return Ok(version.clone());
        }
        let said = npm(&["view", self.package, "version"])?;
        let version = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        assert!(
            said.status.success() && !version.is_empty(),
            "npm does not say which {} is the newest\n{}",
            self.package,
            String::from_utf8_lossy(&said.stderr),
        );
        announce(&format!("newest {}: {version} (pinned: {})", self.name, self.version));
        newest.insert(self.package, version.clone());
        Ok(version)
    }

    /// Gives the directory of the installed host, after installing it if this
    /// is the first time.
    fn install(&self) -> Result<PathBuf, NoNpm> {
        let version = self.version()?;
        let name = format!("{}-{version}", self.name);
        let package = format!("{}@{version}", self.package);
        install(&name, &package, self.megabytes, |folder| self.check(folder, &version))
    }

    /// Panics unless the installed program runs and is the right one: npm calls
    /// it success when the native program, an optional package, did not arrive.
    fn check(&self, directory: &Path, version: &str) {
        let program = self.find_program(directory);
        let said = Command::new(&program).arg("--version").env("HOME", directory).output();
        let said = said.unwrap_or_else(|error| panic!("cannot run {}: {error}", program.display()));
        let says = String::from_utf8_lossy(&said.stdout);
        assert!(says.contains(version), "not {version}: {said:?}");
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

/// The directory of a package that the tests need, where they may install things; `None`
/// elsewhere, and without npm.
pub fn package(name: &str, version: &str, megabytes: u32) -> Option<PathBuf> {
    let folder = format!("{}-{version}", name.replace(['@', '/'], "-"));
    let is_there = || hosts().join(&folder).exists();
    let may = matches!(wanted(), Wanted::Pinned | Wanted::Newest) || is_there();
    may.then(|| install(&folder, &format!("{name}@{version}"), megabytes, |_| ()).ok())?
}

/// Where packages are installed.
fn hosts() -> PathBuf {
    built().parent().expect("a profile is in a folder").join("tmp/hosts")
}

/// Gives the directory of an installed package, after installing it if this is the first
/// time.
fn install(
    name: &str,
    package: &str,
    megabytes: u32,
    check: impl Fn(&Path),
) -> Result<PathBuf, NoNpm> {
    let hosts = hosts();
    let directory = hosts.join(name);
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

    announce(&format!("installing {package} (ca. {megabytes} MB), once"));
    let staging = tempfile::tempdir_in(&hosts).expect("a directory to install into");
    let npm = npm_install(staging.path(), package)?;
    assert!(
        npm.status.success(),
        "npm could not install {package}; set SPECUM_HOSTS=none to do without\n{}",
        String::from_utf8_lossy(&npm.stderr),
    );
    check(staging.path());
    fs::rename(staging.keep(), &directory).expect("a rename within one directory");
    Ok(directory)
}

struct NoNpm;

fn npm_install(directory: &Path, package: &str) -> Result<Output, NoNpm> {
    let directory = directory.to_str().expect("the target directory is in UTF-8");
    let quietly = ["--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"];
    npm(&[&["install"], &quietly[..], &["--prefix", directory, package]].concat())
}

fn npm(args: &[&str]) -> Result<Output, NoNpm> {
    match Command::new("npm").args(args).output() {
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
