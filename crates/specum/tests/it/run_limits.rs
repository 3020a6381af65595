//! `specum run` at its limits: what it may use, what goes wrong with agents,
//! what they print, and what people type.
//!
//! The agents are copies of `tests/fakes/agent.rs` under the names of the real
//! ones, so specum's own parsers read what they say. Time is waited for only on
//! specum's own clock, which [`Stage::hasty`] lets run a thousand times faster.

/// What they read.
mod briefs;
/// Caps, and what is charged.
mod caps;
/// What agents claim.
mod claims;
/// What goes wrong with them.
mod classes;
/// Options, the environment and the settings.
mod options;
/// What they print.
mod output;
/// How long they may take.
mod patience;
/// How they run and end, and what is made of names.
mod processes;
/// What the real agents print, in short.
mod speech;
/// What people type.
mod verb;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::world::{Call, TASKS, World, call};

const AGENT: &str = env!("CARGO_BIN_EXE_fake-agent");
const AGENTS: [&str; 4] = ["claude", "codex", "gemini", "opencode"];

/// A task whose check wants a file.
fn wants(id: &str, file: &str) -> String {
    format!("- [ ] {id} Write {file}\n  - **Verify**: `test -f {file}`\n")
}

/// A project with a plan and agents to work it.
struct Stage {
    world: World,
    /// Where the scripts are, and what the agents leave.
    place: PathBuf,
    bin: PathBuf,
}

impl Stage {
    /// A committed plan, worked by nobody yet; no agent is installed.
    fn new(tasks: impl AsRef<[u8]>) -> Stage {
        let world = World::planned(tasks);
        let base = world.root.parent().expect("it has a place").to_owned();
        let stage = Stage { place: base.join("stage"), bin: base.join("bin"), world };
        fs::create_dir(&stage.place).expect("a new directory");
        fs::create_dir(&stage.bin).expect("a new directory");
        stage
    }

    /// Installs an agent that does this whenever it is called.
    fn agent(&self, name: &str, script: impl AsRef<[u8]>) -> &Self {
        fs::write(self.place.join(name), script).expect("a script");
        let program = self.bin.join(name);
        if !program.exists() {
            symlink(AGENT, program).expect("a new link");
        }
        self
    }

    /// Lets an agent do this when it is called for the nth time.
    fn once(&self, name: &str, nth: usize, script: impl AsRef<[u8]>) -> &Self {
        fs::write(self.place.join(format!("{name}.{nth}")), script).expect("a script");
        self
    }

    /// How often an agent was called.
    fn calls(&self, name: &str) -> usize {
        (1..).take_while(|n| self.place.join(format!("{name}.{n}.called")).exists()).count()
    }

    /// What the nth call of an agent has left.
    fn left(&self, name: &str, nth: usize, what: &str) -> Vec<u8> {
        let path = self.place.join(format!("{name}.{nth}.{what}"));
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The directories of PATH in which no real agent is, behind our own.
    fn path(&self) -> OsString {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let has_no_agent = |dir: &PathBuf| AGENTS.iter().all(|agent| !dir.join(agent).exists());
        let others = std::env::split_paths(&path).filter(has_no_agent);
        std::env::join_paths(std::iter::once(self.bin.clone()).chain(others)).expect("plain names")
    }

    /// `specum` with these arguments.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.world.command();
        command.args(args).env("PATH", self.path()).env("FAKE_AGENT", &self.place);
        command
    }

    fn specum(&self, args: &[&str]) -> Call {
        call(self.command(args), b"")
    }

    /// `specum run --json` with these arguments.
    fn run(&self, args: &[&str]) -> Told {
        Told::by(call(self.command(&[&["run", "--json"], args].concat()), b""))
    }

    /// The same on a clock that runs a thousand times faster. What is not named
    /// among the arguments has time without end.
    fn hasty(&self, args: &[&str]) -> Told {
        self.faster(1000, args)
    }

    /// The same on a clock of this speed.
    fn faster(&self, haste: u32, args: &[&str]) -> Told {
        let mut command = self.command(&[&["run", "--json"], args].concat());
        command
            .env("SPECUM_HASTE", haste.to_string())
            .env("SPECUM_TASK_TIMEOUT", "100d")
            .env("SPECUM_IDLE_TIMEOUT", "100d");
        Told::by(call(command, b""))
    }

    /// Starts `specum run` and does not wait for it.
    fn start(&self, args: &[&str]) -> Child {
        let mut command = self.command(&[&["run", "--json"], args].concat());
        command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("the binary starts")
    }

    /// The records of the journal with this name.
    fn journal(&self, event: &str) -> Vec<Value> {
        self.world.journal(event)
    }

    fn tasks(&self) -> String {
        self.world.read(TASKS)
    }

    fn status(&self) -> Value {
        self.specum(&["status", "--json"]).json()
    }

    /// The logs of the spec, by name.
    fn logs(&self) -> BTreeMap<String, Vec<u8>> {
        let logs = self.world.home().join(".local/state/specum/logs");
        let folders = fs::read_dir(logs).into_iter().flatten().flatten();
        let files = folders.flat_map(|folder| fs::read_dir(folder.path()).unwrap().flatten());
        files
            .map(|file| {
                let name = file.file_name().to_string_lossy().into_owned();
                (name, fs::read(file.path()).unwrap())
            })
            .collect()
    }
}

/// What a run has told.
#[must_use = "look at how it ended"]
struct Told {
    call: Call,
    events: Vec<Value>,
}

impl Told {
    #[track_caller]
    fn by(call: Call) -> Told {
        let event = |line: &str| {
            let event: Value =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert!(event["event"].is_string() && event["at"].is_string(), "{line}");
            event
        };
        Told { events: call.stdout.lines().map(event).collect(), call }
    }

    /// Asserts the exit code and the outcome, and gives what is said about it.
    #[track_caller]
    fn ends(&self, code: u8, outcome: &str) -> String {
        let shown = || format!("{}{}", self.call.stdout, self.call.stderr);
        assert_eq!(self.call.code, Some(i32::from(code)), "{}", shown());
        let [.., ended, summary] = self.events.as_slice() else { panic!("{}", shown()) };
        assert_eq!(
            (&ended["event"], &ended["outcome"]),
            (&"run-ended".into(), &outcome.into()),
            "{}",
            shown()
        );
        assert_eq!(summary["event"], "summary", "{}", shown());
        ended["why"].as_str().unwrap_or_default().to_owned()
    }

    /// The events of this name.
    fn all(&self, event: &str) -> Vec<&Value> {
        self.events.iter().filter(|told| told["event"] == event).collect()
    }

    fn summary(&self) -> &Value {
        self.events.last().expect("it has told something")
    }

    /// The class and the first reason of each failed attempt.
    fn failures(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let failure = |told: &&Value| (text(&told["class"]), text(&told["reasons"][0]));
        self.all("failed").iter().map(failure).collect()
    }
}
