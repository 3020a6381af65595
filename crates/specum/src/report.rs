//! What a person sees of a run while it works, and of a loop when it is over.
//!
//! A run tells [`RunEvent`]s to a [`Reporter`]: the live view on a terminal,
//! plain lines elsewhere, JSON for programs. At the end there is a summary, made
//! from the journal. Whatever titles, agents and checks have said, nothing of it
//! reaches a terminal as it was: every text goes through `clean` first.

pub mod json;

pub(crate) mod clean;
mod live;
pub(crate) mod page;
mod plain;
pub(crate) mod story;
pub(crate) mod summary;
pub(crate) mod units;
mod view;

use std::io::{self, IsTerminal};
use std::time::Instant;

use console::Term;
use specum_core::event::RunEvent;
use specum_core::summary::Summary;

pub use self::page::Page;

/// Somebody to whom a run tells what happens. It never fails: a run goes on
/// although nobody listens.
pub trait Reporter {
    /// Something happened.
    fn event(&mut self, event: &RunEvent);

    /// Time has passed; to be called about ten times a second.
    fn tick(&mut self);

    /// The run has ended, and this is what became of the loop.
    fn summary(&mut self, spec: &str, summary: &Summary);
}

/// The reporter for standard output: JSON if a program asked for it, the live
/// view on a terminal that can move its cursor, plain lines elsewhere.
pub fn to_stdout(json: bool) -> Box<dyn Reporter + Send> {
    if json {
        return Box::new(json::Json(io::stdout()));
    }
    let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    if !io::stdout().is_terminal() || dumb {
        return Box::new(plain::Plain(io::stdout()));
    }
    let began = Instant::now();
    let colours = Page::of_stdout().colours;
    Box::new(live::Live::new(Term::buffered_stdout(), colours, move || began.elapsed()))
}
