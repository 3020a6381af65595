//! Tests on the real binary, in one program.

/// A hermetic project, and calls of the binary in it.
mod world;

/// A scripted model behind the Messages API.
mod model;

/// The real Claude Code, installed by the tests themselves.
mod host;

/// The two above prove themselves.
mod host_smoke;

/// What the Stop hook answers, case by case.
mod stop;

/// Whatever stands in the files and comes in by the pipe.
mod bad_input;

/// Faults of earlier loops, by number.
mod faults;

/// What people and scripts type.
mod verbs;
