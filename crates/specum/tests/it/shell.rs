//! `specum` in a person's shell: which spec is meant, where commits go, what is said
//! at the end, and what happens while nobody looks.

/// Notices, and a run in the background.
mod away;

/// Branches.
mod branch;

/// What is typed, and what was meant.
mod typed;

/// A run that goes on with what does not need a blocked task.
mod keep_going;

/// The files that settings stand in.
mod settings;
