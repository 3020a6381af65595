//! Tests on the real binary, in one program.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to fail")]

use harness::{built, corpus, host, model, other_model, terminal, world};

/// The harness proves itself.
mod host_smoke;

/// The plugin in the real Claude Code.
mod claude_loop;

/// Coordinator, executors and judge in the real Claude Code.
mod session;

/// The hooks around sub-agents, with the input that Claude Code sends.
mod session_hooks;

/// Each agent as specum calls it, on the real programs.
mod agents;
/// The plugin's way into the hosts, and the loop in the other two.
mod plugin;

mod working_hosts;

/// What stands beside the plugin in the real Claude Code.
mod neighbours;

/// Another plugin as the driver.
mod ralph_loop;

/// What an agent is told about where its task stands.
mod briefs;

/// The store, killed at every step and shared by many.
mod transaction;

/// The benchmarks work, and their rows are whole.
mod figures;

/// What the documents say is what the program does.
mod docs;

/// What a person reads: the format of a plan, the demo, and commands in the documents.
mod words;

/// What programs read: every answer fits its schema.
mod json;

/// The picture in the README.
mod recording;

/// What a newcomer is told.
mod first_minute;

/// Plans of other tools.
mod other_tools;

/// Plans of other tools become specs.
mod import;

/// The documents of a small spec, and authors that write them.
mod authored;
/// Goals of several specs.
mod epic;

/// The documents around a plan.
mod documents;

/// Documents from a sentence.
mod plan;

/// What a check does before the work.
mod red;

/// What an executor asks of the plan.
mod modify;

/// A plan that stands on what has changed.
mod stale;

/// The checks of a whole plan, and checks that cannot be run.
mod plan_checks;

/// What is packaged, installed and generated.
mod packaging;

/// What a release has next to its archives.
mod distribution;

/// What may come in as a dependency.
mod dependencies;

/// What the Stop hook answers, case by case.
mod stop;

/// Whatever stands in the files and comes in by the pipe.
mod bad_input;

/// Generated plans under injected faults, in short.
mod campaign;
/// What docs/security.md claims.
mod security;

/// What is promised elsewhere.
mod promises;

/// Faults of earlier loops, by number.
mod faults;

/// `specum run`: killed, interrupted, in groups, and beside others.
mod run;

/// `specum run` with the real hosts.
mod run_hosts;

/// What became of a loop, as a page and for CI.
mod report;

/// What people and scripts type.
mod verbs;

/// `specum run` at its limits.
mod run_limits;

// The kernel in a simulated world.
mod simulation;

/// In a person's shell.
mod shell;
