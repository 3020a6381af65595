//! Claude Code in print mode, against a mock model.
//!
//! It sees nothing of the machine it runs on: an own home, a cleared
//! environment, a key that opens nothing.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use rustix::process::Pid;
use serde_json::Value;
use tempfile::TempDir;

use super::process::{Finished, Running};

/// Far beyond what any run takes; it only keeps a hung host from hanging CI.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// One `claude -p`, to be configured and then run.
pub(crate) struct ClaudeRun {
    command: Command,
    home: Option<TempDir>,
    path: Vec<OsString>,
}

impl ClaudeRun {
    /// A run of `program` in `project` that asks `prompt`, with a home of its
    /// own that is gone afterwards.
    pub(crate) fn new(program: &Path, model_url: &str, project: &Path, prompt: &str) -> ClaudeRun {
        let home = tempfile::tempdir().expect("a directory for the home");
        let mut command = Command::new(program);
        command
            .current_dir(project)
            .args(["-p", prompt, "--output-format", "stream-json", "--verbose"])
            .args(["--include-hook-events", "--dangerously-skip-permissions"])
            .env_clear()
            .env("ANTHROPIC_BASE_URL", model_url)
            .env("ANTHROPIC_API_KEY", "sk-mock")
            .env("DISABLE_TELEMETRY", "1")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_AUTOUPDATER", "1")
            // Lets root skip the permissions, as in most containers.
            .env("IS_SANDBOX", "1")
            // The default of ten takes minutes.
            .env("CLAUDE_CODE_MAX_RETRIES", "2");
        live_in(home.path(), &mut command);
        ClaudeRun { command, home: Some(home), path: Vec::new() }
    }

    /// Uses a home that outlives the run, so that a session can be resumed.
    pub(crate) fn home(mut self, home: &Path) -> ClaudeRun {
        live_in(home, &mut self.command);
        self.home = None;
        self
    }

    pub(crate) fn plugin_dir(self, directory: &Path) -> ClaudeRun {
        let directory = directory.to_str().expect("a plugin path in UTF-8").to_owned();
        self.args(["--plugin-dir", &directory])
    }

    pub(crate) fn args<'a>(mut self, args: impl IntoIterator<Item = &'a str>) -> ClaudeRun {
        self.command.args(args);
        self
    }

    /// Puts a directory in front of the PATH of the host and its hooks.
    pub(crate) fn path(mut self, directory: &Path) -> ClaudeRun {
        self.path.push(directory.into());
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> ClaudeRun {
        self.command.env(name, value);
        self
    }

    /// Runs to the end.
    pub(crate) fn run(self) -> Outcome {
        self.spawn().wait()
    }

    /// Starts the run and leaves it to the caller to wait for it or to kill it.
    pub(crate) fn spawn(mut self) -> RunningClaude {
        let inherited = env::var_os("PATH").unwrap_or_default();
        let directories = self.path.iter().map(Into::into).chain(env::split_paths(&inherited));
        let path = env::join_paths(directories).expect("no PATH entry holds a separator");
        self.command.env("PATH", path);
        RunningClaude { process: Running::spawn(self.command, TIME_LIMIT), _home: self.home }
    }
}

fn live_in(home: &Path, command: &mut Command) {
    // Left alone, it keeps the output of its commands in /tmp for good.
    command.env("HOME", home).env("CLAUDE_CODE_TMPDIR", home);
}

/// A Claude Code at work; killed if dropped.
pub(crate) struct RunningClaude {
    process: Running,
    _home: Option<TempDir>,
}

impl RunningClaude {
    /// The process to signal; it stays valid until [`wait`](Self::wait).
    pub(crate) fn pid(&self) -> Pid {
        self.process.pid()
    }

    pub(crate) fn wait(self) -> Outcome {
        let finished = self.process.wait();
        // A killed host leaves half a line; the tail still shows it.
        let events = finished.stdout.iter().filter_map(|line| serde_json::from_str(line).ok());
        Outcome { events: events.collect(), finished }
    }
}

/// What one run of Claude Code came to.
pub(crate) struct Outcome {
    /// The events of its output, in order.
    pub(crate) events: Vec<Value>,
    finished: Finished,
}

/// What the host reports about one hook it ran.
#[derive(Debug)]
pub(crate) struct HookResponse<'a> {
    pub(crate) stdout: &'a str,
    pub(crate) stderr: &'a str,
    /// `success`, `error` or `cancelled`.
    pub(crate) outcome: &'a str,
}

impl Outcome {
    pub(crate) fn status(&self) -> ExitStatus {
        self.finished.status
    }

    /// All final reports: none after a kill, several after background work.
    pub(crate) fn results(&self) -> Vec<&Value> {
        self.events.iter().filter(|event| event["type"] == "result").collect()
    }

    /// The last final report.
    pub(crate) fn result(&self) -> &Value {
        match self.results().last() {
            Some(result) => result,
            None => panic!("no result ({}); {}", self.status(), self.finished.tail()),
        }
    }

    /// The `system` events of one subtype, such as `api_retry`.
    pub(crate) fn system_events(&self, subtype: &str) -> Vec<&Value> {
        let of_subtype = |event: &&Value| event["type"] == "system" && event["subtype"] == subtype;
        self.events.iter().filter(of_subtype).collect()
    }

    /// What the hooks on `event` (`Stop`, `PreToolUse`, ...) answered.
    pub(crate) fn hook_responses(&self, event: &str) -> Vec<HookResponse<'_>> {
        let responses = self.system_events("hook_response").into_iter();
        responses
            .filter(|response| response["hook_event"] == event)
            .map(|response| {
                let field = |name: &str| response[name].as_str().unwrap_or_default();
                HookResponse {
                    stdout: field("stdout"),
                    stderr: field("stderr"),
                    outcome: field("outcome"),
                }
            })
            .collect()
    }
}
