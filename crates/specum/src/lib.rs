//! The parts of the `specum` program, for its own tests: no stable interface.
//!
//! Decisions are made in `specum-core` and carried out in `specum-engine`; here are
//! the doors, each of which parses, calls the engine and renders its answer:
//!
//! - [`commands`] answers a person, [`hook`] a host;
//! - [`report`] shows what a run does and what became of a loop;
//! - [`plugin`] makes a host call us;
//! - [`exit`] says what exit codes mean, [`diagnosis`] writes what a bug report needs.

pub mod commands;
pub mod diagnosis;
pub mod exit;
pub mod hook;
pub mod plugin;
pub mod report;
