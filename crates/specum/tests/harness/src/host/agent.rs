//! An agent as specum calls it: everything about the call comes from the
//! kernel, and the test adds only what keeps the host from the machine.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use rustix::process::{Signal, kill_process_group};
use specum_core::agent::{Agent, Call, Order, Report, Sign, by_name};
use specum_core::verify::ProcessEnd;
use tempfile::TempDir;

use super::process::Running;
use crate::world::first_on_path;

/// Far beyond what any run takes; it only keeps a hung host from hanging CI.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// A home and a project in which an agent works.
pub struct Workplace {
    agent: Box<dyn Agent>,
    program: PathBuf,
    place: TempDir,
    env: Vec<(&'static str, String)>,
}

impl Workplace {
    /// An empty place for the agent of this name, whose host is `program`.
    pub fn new(name: &str, program: PathBuf) -> Workplace {
        let place = tempfile::tempdir().expect("a temporary directory");
        for directory in ["home", "project"] {
            fs::create_dir(place.path().join(directory)).expect("a new directory");
        }
        // The command line matters only to a call, not to its reader.
        let agent = by_name(name, Some("true")).expect("an agent of this name");
        Workplace { agent, program, place, env: Vec::new() }
    }

    pub fn env(mut self, name: &'static str, value: &str) -> Workplace {
        self.env.push((name, value.to_owned()));
        self
    }

    pub fn home(&self) -> PathBuf {
        self.place.path().join("home")
    }

    pub fn project(&self) -> PathBuf {
        self.place.path().join("project")
    }

    /// Writes a file below the home or the project.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.place.path().join(path);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    /// What the agent is called with.
    pub fn call(&self, brief: &str, model: Option<&str>) -> Call {
        let signal = "TASK_COMPLETE";
        let brief = brief.as_bytes();
        self.agent.call(&Order { brief, model, script: None, attempt: 1, signal, max_cost: None })
    }

    /// Works a brief to the end.
    pub fn work(&self, brief: &str, model: Option<&str>) -> (Vec<Sign>, Report) {
        self.start(&self.call(brief, model)).wait()
    }

    /// Starts a call and leaves it to the test to wait for it or to end it.
    pub fn start(&self, call: &Call) -> AtWork<'_> {
        let directory = self.program.parent().expect("a program is in a directory");
        let mut command = Command::new(&call.program);
        command
            .args(&call.args)
            .current_dir(self.project())
            .env_clear()
            .env("HOME", self.home())
            .env("TMPDIR", self.home())
            .env("PATH", first_on_path(directory))
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .envs(call.env.iter().map(|(name, value)| (name, value)));
        for name in &call.unset {
            command.env_remove(name);
        }
        let process = Running::spawn_with(command, call.stdin.clone(), TIME_LIMIT);
        AtWork { process, agent: self.agent.as_ref() }
    }
}

/// An agent at work; killed if dropped.
pub struct AtWork<'a> {
    process: Running,
    agent: &'a dyn Agent,
}

impl AtWork<'_> {
    /// Ends it, as a runner does that has lost its patience. The whole group:
    /// Gemini CLI works in a child of the process that was started.
    pub fn end(self) -> (Vec<Sign>, Report) {
        kill_process_group(self.process.pid(), Signal::KILL).expect("it is at work");
        self.wait()
    }

    pub fn wait(self) -> (Vec<Sign>, Report) {
        let finished = self.process.wait();
        let mut reader = self.agent.reader();
        let lines = finished.stdout.iter();
        let signs = lines.flat_map(|line| reader.line(line.as_bytes())).collect();
        let report = reader.end(&ended(finished.status), &finished.stderr.join("\n"));
        // Shown if the test fails.
        println!("{signs:#?}\n{report:#?}\n{}", finished.tail());
        (signs, report)
    }
}

fn ended(status: ExitStatus) -> ProcessEnd {
    match status.code() {
        Some(code) => ProcessEnd::Code(code),
        None => ProcessEnd::Signal(status.signal().unwrap_or_default()),
    }
}
