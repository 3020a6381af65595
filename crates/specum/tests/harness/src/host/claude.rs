//! Claude Code in print mode or on a terminal, against a mock model.
//!
//! It sees nothing of the machine it runs on: an own home, a cleared
//! environment, a key that opens nothing.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;
use std::{env, fs};

use rustix::process::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::conversation::Conversation;
use super::process::{Finished, Running};
use crate::built;
use crate::world::plugin;

/// Far beyond what any run takes; it only keeps a hung host from hanging CI.
const TIME_LIMIT: Duration = Duration::from_secs(600);

const KEY: &str = "sk-mock";

/// One Claude Code, to be configured and then run or opened.
pub struct ClaudeRun {
    command: Command,
    home: Option<TempDir>,
    path: Vec<OsString>,
}

impl ClaudeRun {
    /// A run of `program` in `project` that asks `prompt`, with a home of its
    /// own that is gone afterwards.
    pub fn new(program: &Path, model_url: &str, project: &Path, prompt: &str) -> ClaudeRun {
        ClaudeRun::interactive(program, model_url, project)
            .args(["-p", prompt, "--output-format", "stream-json", "--verbose"])
            .args(["--include-hook-events"])
    }

    /// The same for a person at a terminal, to be opened with
    /// [`open`](Self::open).
    pub fn interactive(program: &Path, model_url: &str, project: &Path) -> ClaudeRun {
        let home = tempfile::tempdir().expect("a directory for the home");
        let mut command = Command::new(program);
        command
            .current_dir(project)
            .arg("--dangerously-skip-permissions")
            .env_clear()
            .env("ANTHROPIC_BASE_URL", model_url)
            .env("ANTHROPIC_API_KEY", KEY)
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
    pub fn home(mut self, home: &Path) -> ClaudeRun {
        live_in(home, &mut self.command);
        self.home = None;
        self
    }

    pub fn plugin_dir(self, directory: &Path) -> ClaudeRun {
        let directory = directory.to_str().expect("a plugin path in UTF-8").to_owned();
        self.args(["--plugin-dir", &directory])
    }

    /// With our plugin, which finds our binary.
    pub fn with_specum(self) -> ClaudeRun {
        self.plugin_dir(&plugin()).path(built())
    }

    pub fn args<'a>(mut self, args: impl IntoIterator<Item = &'a str>) -> ClaudeRun {
        self.command.args(args);
        self
    }

    /// Puts a directory in front of the PATH of the host and its hooks.
    pub fn path(mut self, directory: &Path) -> ClaudeRun {
        self.path.push(directory.into());
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> ClaudeRun {
        self.command.env(name, value);
        self
    }

    /// Runs to the end.
    pub fn run(self) -> Outcome {
        self.spawn().wait()
    }

    /// Starts the run and leaves it to the caller to wait for it or to kill it.
    pub fn spawn(mut self) -> RunningClaude {
        self.set_path();
        RunningClaude { process: Running::spawn(self.command, TIME_LIMIT), _home: self.home }
    }

    /// Opens it on a terminal and waits until it takes a prompt.
    pub fn open(mut self) -> Conversation {
        self.set_path();
        answer_dialogs(&self.command);
        Conversation::open(self.command, self.home)
    }

    fn set_path(&mut self) {
        let inherited = env::var_os("PATH").unwrap_or_default();
        let directories = self.path.iter().map(Into::into).chain(env::split_paths(&inherited));
        let path = env::join_paths(directories).expect("no PATH entry holds a separator");
        self.command.env("PATH", path);
    }
}

fn live_in(home: &Path, command: &mut Command) {
    // Left alone, it keeps the output of its commands in /tmp for good.
    command.env("HOME", home).env("CLAUDE_CODE_TMPDIR", home);
}

/// Writes into the home what a person answers when they start it for the first
/// time: the theme, the key, the trust in the project and in its commands.
fn answer_dialogs(command: &Command) {
    let mut variables = command.get_envs();
    let home = variables.find(|(name, _)| *name == "HOME").and_then(|(_, home)| home);
    let home = Path::new(home.expect("it has a home"));
    let project = command.get_current_dir().expect("it has a project");
    let project = fs::canonicalize(project).expect("the project exists");
    let answers = json!({
        "hasCompletedOnboarding": true,
        "theme": "dark",
        "bypassPermissionsModeAccepted": true,
        "customApiKeyResponses": {"approved": [KEY], "rejected": []},
        "projects": {project.to_str().expect("a path in UTF-8"): {
            "hasTrustDialogAccepted": true,
            "hasCompletedProjectOnboarding": true,
        }},
    });
    let file = home.join(".claude.json");
    // In a home that is used again, they have been answered.
    if !file.exists() {
        fs::write(file, answers.to_string()).expect("the home is writable");
        let settings = home.join(".claude");
        fs::create_dir_all(&settings).expect("the home is writable");
        let skip = json!({"skipDangerousModePermissionPrompt": true}).to_string();
        fs::write(settings.join("settings.json"), skip).expect("the home is writable");
    }
}

/// A Claude Code at work; killed if dropped.
pub struct RunningClaude {
    process: Running,
    _home: Option<TempDir>,
}

impl RunningClaude {
    /// The process to signal; it stays valid until [`wait`](Self::wait).
    pub fn pid(&self) -> Pid {
        self.process.pid()
    }

    pub fn wait(self) -> Outcome {
        let finished = self.process.wait();
        // A killed host leaves half a line; the tail still shows it.
        let events = finished.stdout.iter().filter_map(|line| serde_json::from_str(line).ok());
        Outcome { events: events.collect(), finished }
    }
}

/// What one run of Claude Code came to.
pub struct Outcome {
    /// The events of its output, in order.
    pub events: Vec<Value>,
    finished: Finished,
}

/// What the host reports about one hook it ran.
#[derive(Debug)]
pub struct HookResponse<'a> {
    pub stdout: &'a str,
    pub stderr: &'a str,
    /// `success`, `error` or `cancelled`.
    pub outcome: &'a str,
}

impl Outcome {
    pub fn status(&self) -> ExitStatus {
        self.finished.status
    }

    /// All final reports: none after a kill, several after background work.
    pub fn results(&self) -> Vec<&Value> {
        self.events.iter().filter(|event| event["type"] == "result").collect()
    }

    /// The last final report.
    pub fn result(&self) -> &Value {
        match self.results().last() {
            Some(result) => result,
            None => panic!("no result ({}); {}", self.status(), self.finished.tail()),
        }
    }

    /// The `system` events of one subtype, such as `api_retry`.
    pub fn system_events(&self, subtype: &str) -> Vec<&Value> {
        let of_subtype = |event: &&Value| event["type"] == "system" && event["subtype"] == subtype;
        self.events.iter().filter(of_subtype).collect()
    }

    /// What the hooks on `event` (`Stop`, `PreToolUse`, ...) answered.
    pub fn hook_responses(&self, event: &str) -> Vec<HookResponse<'_>> {
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
