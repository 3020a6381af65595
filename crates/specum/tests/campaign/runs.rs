//! Everything that a run of the campaign needs, for the long form of it and for
//! the short one among the tests.

/// What a story has come to.
pub(crate) mod end;
/// What always holds then.
pub(crate) mod invariants;
/// From the first start to the last.
pub(crate) mod play;
/// What the fake programs do.
pub(crate) mod scripts;
/// The place where it is played.
pub(crate) mod stage;
/// What is to happen.
pub(crate) mod story;
/// How much of it.
pub(crate) mod tally;
