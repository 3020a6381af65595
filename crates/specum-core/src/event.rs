//! What a run tells while it works: one closed set of events.
//!
//! The live view, the plain lines and `--json` are all made of these. What a
//! person wants to know afterwards is in the journal.

use std::fmt;

use serde::Serialize;

use crate::agent::{Sign, Usage};
use crate::tasks::TaskKey;

/// Something a run tells.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum RunEvent {
    /// The run has begun.
    RunStarted {
        /// The spec.
        spec: String,
        /// How many tasks there are.
        total: usize,
        /// How many of them are done already.
        done: usize,
        /// The agents, in the order in which they are asked.
        agents: Vec<String>,
        /// How many tasks may run at once.
        jobs: usize,
    },
    /// Several tasks begin at once, each in a worktree of its own.
    GroupStarted {
        /// The tasks.
        tasks: Vec<TaskKey>,
    },
    /// An agent works a task.
    AttemptStarted {
        /// The task.
        task: TaskKey,
        /// From 1.
        attempt: u64,
        /// Who works; `None` if specum runs the check alone.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        /// Its log file.
        #[serde(skip_serializing_if = "Option::is_none")]
        log: Option<String>,
    },
    /// A sign of life of a running agent.
    Agent {
        /// The task.
        task: TaskKey,
        /// What it does.
        #[serde(flatten)]
        sign: Sign,
    },
    /// The agent has ended, the check runs.
    Checking {
        /// The task.
        task: TaskKey,
        /// What is run, in one text; `None` if nothing is.
        #[serde(skip_serializing_if = "Option::is_none")]
        command: Option<String>,
        /// Whether the work of a group's task is tried on top of the others'.
        integrated: bool,
    },
    /// An attempt has passed: ticked and, where there is a repository,
    /// committed.
    Passed {
        /// The task.
        task: TaskKey,
        /// From 1.
        attempt: u64,
        /// The commit.
        #[serde(skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
        /// Whether nothing could be run to prove it.
        unverified: bool,
        /// Files changed that the task does not name.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        outside: Vec<String>,
        /// Files changed that its check runs, or that were tests before.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        proofs: Vec<String>,
        /// How long it took.
        millis: u64,
        /// What the agent used.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// An attempt has failed.
    Failed {
        /// The task.
        task: TaskKey,
        /// From 1.
        attempt: u64,
        /// The class of the failure: `verify`, `no-signal`, `contradiction`,
        /// `checkmark`, `uncommitted` or what went wrong with the agent.
        class: String,
        /// Every reason.
        reasons: Vec<String>,
        /// How long it took.
        millis: u64,
        /// What the agent used.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// The work of a group's task does not fit on top of the others': it runs
    /// again, alone. No failed attempt.
    SetAside {
        /// The task.
        task: TaskKey,
        /// From 1.
        attempt: u64,
        /// What does not fit.
        reasons: Vec<String>,
    },
    /// An attempt has neither passed nor failed: its task was removed, or its
    /// check was changed, and a person is asked. Its work is kept.
    Waits {
        /// The task.
        task: TaskKey,
        /// From 1.
        attempt: u64,
        /// What a person is asked.
        question: String,
        /// The reference that holds the work, if there is any.
        #[serde(skip_serializing_if = "Option::is_none")]
        kept: Option<String>,
    },
    /// A task has used its attempts and was given a fix task.
    FixAdded {
        /// The task that keeps failing.
        task: TaskKey,
        /// The id of the new task.
        fix: String,
    },
    /// No agent is available; the run waits.
    Waiting {
        /// The agent that is waited for.
        agent: String,
        /// Why.
        why: String,
        /// How long.
        millis: u64,
    },
    /// Another agent takes over.
    AgentChanged {
        /// Who worked.
        from: String,
        /// Who works from now on.
        to: String,
        /// Why.
        why: String,
    },
    /// Something a person should know.
    Warning {
        /// What.
        text: String,
    },
    /// The run has ended.
    RunEnded {
        /// How.
        #[serde(flatten)]
        outcome: Outcome,
        /// Tasks that are done.
        done: usize,
        /// Tasks in all.
        total: usize,
        /// How long it took.
        millis: u64,
    },
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// Every box is ticked.
    Complete,
    /// The tasks that were asked for are done; others are open.
    ChosenDone,
    /// A person paused it.
    Paused,
    /// What is left waits for a person's word on changes of the plan.
    Waits {
        /// What is asked.
        why: String,
    },
    /// A person ended the loop.
    Cancelled,
    /// Somebody else works the spec by now.
    TakenOver,
    /// A task has used its attempts.
    Blocked {
        /// Which, and why.
        why: String,
    },
    /// A limit is reached.
    Capped {
        /// Which.
        why: String,
    },
    /// No agent can work.
    NoAgent {
        /// Why, and what to do.
        why: String,
    },
    /// Three attempts in a row came to nothing for reasons outside the tasks.
    Circuit {
        /// What happened.
        why: String,
    },
    /// Something failed that is no task's fault; no summary follows.
    Failed {
        /// What.
        why: String,
    },
    /// Ctrl-C or a signal.
    Interrupted,
}

impl fmt::Display for Outcome {
    /// In words, as the journal and the reports have it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Complete => f.write_str("complete"),
            Outcome::ChosenDone => f.write_str("the chosen tasks are done"),
            Outcome::Paused => f.write_str("paused"),
            Outcome::Waits { why } => write!(f, "waiting for a person: {why}"),
            Outcome::Cancelled => f.write_str("cancelled"),
            Outcome::TakenOver => f.write_str("taken over by somebody else"),
            Outcome::Blocked { why } => write!(f, "blocked: {why}"),
            Outcome::Capped { why } => write!(f, "a limit is reached: {why}"),
            Outcome::NoAgent { why } => write!(f, "no agent can work: {why}"),
            Outcome::Circuit { why } => write!(f, "three attempts in a row came to nothing: {why}"),
            Outcome::Failed { why } => f.write_str(why),
            Outcome::Interrupted => f.write_str("interrupted"),
        }
    }
}
