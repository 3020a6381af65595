//! Everything of specum that touches the world.
//!
//! Decisions are made in `specum-core`; here they are carried out:
//!
//! - [`project`] finds the project, its settings and its specs;
//! - [`store`] is the only writer of a spec's files, on top of [`files`];
//! - [`process`] is the only module that starts other programs, [`git`] the
//!   only one that starts `git`;
//! - [`owner`] says who holds a spec, [`person`] whether a command is a person's;
//! - [`attempt`] opens an attempt at a task and judges its result;
//! - [`ops`] does what can be asked for and gives typed answers;
//! - [`hook`] answers a host, [`commands`] a person; [`session`] carries what a
//!   slash command was given from the one to the other;
//! - [`ralph_loop`] lets another plugin drive instead of our Stop hook;
//! - [`logs`] keeps what agents print;
//! - [`runner`] works a spec unattended: `specum run`;
//! - [`report`] shows a person what a run does and what became of a loop;
//! - [`plugin`] makes a host call us.
//!
//! `os` alone knows the operating system, `clock` the time of day.

pub mod attempt;
pub mod commands;
pub mod exit;
pub mod files;
pub mod git;
pub mod hook;
pub mod logs;
mod names;
pub mod ops;
pub mod owner;
pub mod person;
pub mod plugin;
pub mod process;
pub mod project;
pub mod ralph_loop;
pub mod report;
pub mod runner;
pub mod session;
pub mod store;
mod trash;

mod claude_config;
mod clock;
mod codex_config;
mod failpoint;
mod os;
