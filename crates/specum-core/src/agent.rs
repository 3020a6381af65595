//! Agents: how each one is called, and what its output means.
//!
//! An [`Agent`] turns an [`Order`] into a [`Call`], a value that the edge
//! starts, and gives a [`Reader`] for what comes back. A reader takes any
//! bytes, line by line, and never fails: what it does not know it passes over.
//! At the end it says in a [`Report`] what the agent answered, what it used,
//! and, if something went wrong that was not the task's fault, what.
//!
//! Where an agent's last word and the end of its process disagree, the last
//! word counts: an error in it is an error in spite of exit code 0, and a good
//! answer stands however the process ended afterwards, because the check will
//! look at the work anyway.

mod claude;
mod codex;
mod command;
mod diagnosis;
mod gemini;
mod lines;
mod opencode;
mod reset;
mod script;
mod signs;
mod text;
mod transcript;

#[cfg(test)]
mod samples;

use serde::{Deserialize, Serialize};

pub use self::lines::{Lines, WholeLines};
pub use self::signs::{OneSign, Signs};
pub use self::transcript::{Spoken, Transcript};
use crate::verify::{FailureClass, ProcessEnd};

/// The agents that are programs of their own, in the order in which the first
/// one installed is chosen.
pub const NAMES: [&str; 4] = ["claude", "codex", "gemini", "opencode"];

/// The agent of this name: one of [`NAMES`], `script`, or `command`, which
/// needs the command line that it stands for.
pub fn by_name(name: &str, command: Option<&str>) -> Option<Box<dyn Agent>> {
    match name {
        "claude" => Some(Box::new(claude::Claude)),
        "codex" => Some(Box::new(codex::Codex)),
        "gemini" => Some(Box::new(gemini::Gemini)),
        "opencode" => Some(Box::new(opencode::Opencode)),
        "script" => Some(Box::new(script::Script)),
        "command" => {
            command.map(|line| Box::new(command::CommandLine::new(line)) as Box<dyn Agent>)
        }
        _ => None,
    }
}

/// A program that works tasks.
pub trait Agent: Send + Sync {
    /// The name a person chooses it by.
    fn name(&self) -> &'static str;

    /// The program to be found on PATH; `None` if the system's shell is all it
    /// takes.
    fn program(&self) -> Option<&'static str>;

    /// What it tells about its own use.
    fn measures(&self) -> Measures;

    /// How it is to be started for one attempt.
    fn call(&self, order: &Order<'_>) -> Call;

    /// Reads the output of one start.
    fn reader(&self) -> Box<dyn Reader>;

    /// What a person does when it is not signed in.
    fn sign_in(&self) -> &'static str;
}

/// What an agent tells about its own use. A cap on something it does not tell
/// could never be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measures {
    /// Whether it counts its tokens.
    pub tokens: bool,
    /// Whether it names its price.
    pub cost: bool,
}

/// One attempt, as an agent is given it.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// The whole brief.
    pub brief: &'a [u8],
    /// The model a person asked for.
    pub model: Option<&'a str>,
    /// The shell block of the task, for the agent that needs nothing else.
    pub script: Option<&'a str>,
    /// From 1.
    pub attempt: u64,
    /// The word that ends a successful attempt.
    pub signal: &'a str,
    /// Most dollars that this start may cost, for an agent that can stop there.
    pub max_cost: Option<f64>,
}

/// A program to be started, as a value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// What is run: a name to be found on PATH, or a path.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// What is set in its environment.
    pub env: Vec<(String, String)>,
    /// What is taken out of its environment.
    pub unset: Vec<String>,
    /// What it reads.
    pub stdin: Vec<u8>,
}

/// What the agents tell their children about themselves. An agent that finds
/// them thinks that it is part of another one's session.
pub const SESSION_MARKS: [&str; 15] = [
    "AI_AGENT",
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT",
    "CODEX_CI",
    "CODEX_SESSION_ID",
    "CODEX_THREAD_ID",
    "CODEX_TOOL_CALL_ID",
    "GEMINI_CLI",
    "GEMINI_CLI_NO_RELAUNCH",
    "OPENCODE",
    "OPENCODE_PID",
];

impl Call {
    /// A call of `program` that reads the brief, in a session of its own.
    /// Whatever runs below it sees in `SPECUM_ATTEMPT` that it is at work.
    fn new(program: &str, args: &[&str], order: &Order<'_>) -> Call {
        Call {
            program: program.to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: vec![("SPECUM_ATTEMPT".to_owned(), order.attempt.to_string())],
            unset: SESSION_MARKS.map(str::to_owned).to_vec(),
            stdin: order.brief.to_vec(),
        }
    }

    fn env(mut self, name: &str, value: &str) -> Call {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// One argument, so that no name of a model is taken for an option.
    fn model(mut self, order: &Order<'_>) -> Call {
        self.args.extend(order.model.map(|model| format!("--model={model}")));
        self
    }
}

/// Reads one agent's output while it runs.
pub trait Reader: Send {
    /// A line of its standard output, without its end.
    fn line(&mut self, line: &[u8]) -> Vec<Sign>;

    /// The same, with its signs behind others.
    fn read(&mut self, line: &[u8], signs: &mut Signs) {
        signs.extend(self.line(line));
    }

    /// Whether it has said its last word, so that nothing but its end is to
    /// come. An agent that says more has not.
    fn has_answered(&self) -> bool {
        false
    }

    /// It has ended; `stderr` is the end of its standard error.
    fn end(self: Box<Self>, ended: &ProcessEnd, stderr: &str) -> Report;
}

/// A sign of life.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "sign")]
pub enum Sign {
    /// It says something.
    Text {
        /// What.
        text: String,
    },
    /// It uses a tool, which may take long without a word.
    Tool {
        /// Which, and on what, in a few words.
        name: String,
    },
    /// The tool has answered.
    ToolEnded,
    /// It has used this much since it was started.
    Used(Usage),
    /// It waits by itself for something to become available again.
    Retrying {
        /// Why.
        why: String,
    },
}

/// What an agent has used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens in and out, cached ones included.
    pub tokens: u64,
    /// Dollars, from agents that name them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// What one start of an agent came to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Its last message.
    pub result: String,
    /// What it used; `None` if it did not get to say so.
    pub usage: Option<Usage>,
    /// What went wrong that no second look at the task would fix.
    pub trouble: Option<Trouble>,
}

/// What can go wrong with an agent, whatever the task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trouble {
    /// It is not installed, or cannot be started.
    Missing(String),
    /// It is not signed in, or not allowed to.
    NotAuthenticated(String),
    /// It has used up what it may for a while.
    RateLimited {
        /// Its own words.
        why: String,
        /// When it may work again, if it says so.
        reset: Option<Reset>,
    },
    /// The task is too long for its model.
    ContextOverflow(String),
    /// What it talks to has failed.
    Server(String),
    /// It ended without an answer.
    Crash(String),
    /// It said nothing for this many seconds.
    Idle(u64),
    /// It did not end within this many seconds.
    Timeout(u64),
    /// It stopped because it had used the dollars that were left for it.
    OverBudget(String),
}

/// When an agent may work again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reset {
    /// In Unix seconds.
    At(i64),
    /// In so many seconds.
    In(u64),
    /// By the clock on the wall, as `2026-11-16T00:46:00`; or as `03:33:00`,
    /// the next time that it shows this.
    Local(String),
}

impl Trouble {
    /// The class of an attempt that fails for it.
    pub fn class(&self) -> FailureClass {
        match self {
            Trouble::Missing(_) => FailureClass::Missing,
            Trouble::NotAuthenticated(_) => FailureClass::Authentication,
            Trouble::RateLimited { .. } => FailureClass::RateLimit,
            Trouble::ContextOverflow(_) => FailureClass::ContextOverflow,
            Trouble::Server(_) => FailureClass::Server,
            Trouble::Crash(_) => FailureClass::Crash,
            Trouble::Idle(_) => FailureClass::Idle,
            Trouble::Timeout(_) => FailureClass::Timeout,
            Trouble::OverBudget(_) => FailureClass::OverBudget,
        }
    }

    /// Whether the agent has told it, rather than ended without a word.
    pub fn is_told_by_the_agent(&self) -> bool {
        match self {
            Trouble::NotAuthenticated(_)
            | Trouble::RateLimited { .. }
            | Trouble::ContextOverflow(_)
            | Trouble::OverBudget(_)
            | Trouble::Server(_) => true,
            Trouble::Missing(_) | Trouble::Crash(_) | Trouble::Idle(_) | Trouble::Timeout(_) => {
                false
            }
        }
    }

    /// For people, and for the next attempt.
    pub fn message(&self) -> String {
        match self {
            Trouble::Missing(why) => format!("the agent cannot be started: {why}"),
            Trouble::NotAuthenticated(why) => format!("the agent is not signed in: {why}"),
            Trouble::RateLimited { why, .. } => format!("the agent has reached a limit: {why}"),
            Trouble::ContextOverflow(why) => format!("too long for the model: {why}"),
            Trouble::Server(why) => format!("the model's server failed: {why}"),
            Trouble::Crash(why) => format!("the agent broke off: {why}"),
            Trouble::Idle(seconds) => format!("the agent was silent for {seconds} seconds"),
            Trouble::Timeout(seconds) => format!("the agent did not end within {seconds} seconds"),
            Trouble::OverBudget(why) => {
                format!("the agent used what --max-cost left for it: {why}")
            }
        }
    }
}
