//! Everything of specum that touches the world. It prints nothing, asks nobody and
//! opens no connection: programs that do are built on top of it.
//!
//! Decisions are made in `specum-core`; here they are carried out:
//!
//! - [`project`] finds the project, its settings and its specs;
//! - [`store`] is the only writer of a spec's files, on top of [`files`];
//! - [`process`] is the only module that starts other programs, [`git`] the
//!   only one that starts `git`;
//! - [`owner`] says who holds a spec, [`person`] whether a command is a person's;
//! - [`documents`] reads the documents around a plan, and looks up what their gate asks;
//! - [`attempt`] opens an attempt at a task and judges its result;
//! - [`runner`] works a spec unattended;
//! - [`ops`] does what can be asked for and gives typed answers;
//! - [`session`] carries what a slash command was given from the hook that sees it
//!   to the command that needs it;
//! - [`ralph_loop`] lets another plugin drive instead of our Stop hook;
//! - [`feed`] gives what happens to a spec, in its order, to any reader;
//! - [`logs`] keeps what agents print;
//! - [`report`] writes down what became of a loop: a page, Markdown, JUnit;
//! - [`terminal`] keeps keys from a view that is drawn on a terminal.
//!
//! All of it reaches the world through [`ports`], which the simulation replaces; behind
//! them `os` alone knows the operating system, [`clock`] the time of day.

pub mod attempt;
pub mod claude_config;
pub mod clock;
pub mod codex_config;
pub mod documents;
pub mod feed;
pub mod files;
pub mod git;
mod lint;
pub mod logs;
mod map;
#[cfg(any(test, feature = "test-support"))]
pub mod memory;
pub mod ops;
pub mod owner;
pub mod person;
pub mod ports;
pub mod process;
pub mod project;
pub mod projects;
pub mod ralph_loop;
pub mod report;
pub mod runner;
pub mod session;
pub mod sign_in;
pub mod store;
pub mod terminal;

mod failpoint;
mod names;
mod os;
mod trash;
