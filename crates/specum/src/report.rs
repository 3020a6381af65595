//! What a person sees of a run while it works, and of a loop when it is over.
//!
//! A run tells [`RunEvent`]s to a [`Outlet`], and a thread of its own gives them
//! to a `Reporter`: the live view on a terminal, plain lines elsewhere, JSON for
//! programs. At the end there is a summary, made from the journal. Whatever titles, agents and checks have said, nothing of it
//! reaches a terminal as it was: every text goes through `clean` first.

pub mod json;

pub(crate) mod layout;
mod live;
pub(crate) mod numbers;
mod outlet;
mod plain;
pub(crate) mod sanitize;
pub(crate) mod summary;
pub(crate) mod timeline;
mod view;

use std::io::{self, IsTerminal};
use std::time::Instant;

use console::Term;
use jiff::Timestamp;
use specum_core::event::RunEvent;
use specum_core::summary::Summary;

pub use self::layout::Layout;
pub use self::outlet::Outlet;

/// Shows what a run tells. It never fails: a run goes on although nobody listens.
/// It may wait for its reader as long as it likes.
trait Reporter {
    /// Something happened then. It may be shown with the next [`Reporter::flush`].
    fn event(&mut self, at: Timestamp, event: &RunEvent);

    /// So many things that agents said are missing here.
    fn left_out(&mut self, at: Timestamp, count: u64);

    /// Time has passed.
    fn tick(&mut self);

    /// Nothing more has happened for now: all of it is to be seen.
    fn flush(&mut self);

    /// The run has ended, and this is what became of the loop.
    fn summary(&mut self, at: Timestamp, spec: &str, summary: &Summary);

    /// The run has failed, and this says so to a program. A person reads it on
    /// standard error.
    fn failure(&mut self, _line: &str) {}
}

/// What is said where something is missing.
fn missing(count: u64) -> RunEvent {
    let text = format!(
        "{count} things that agents said are not shown here: whoever reads this did not; \
         `specum log <task>` has them"
    );
    RunEvent::Warning { text }
}

/// The report on standard output: JSON if a program asked for it, the live
/// view on a terminal that can move its cursor, plain lines elsewhere.
pub fn to_stdout(json: bool) -> io::Result<Outlet> {
    if json {
        return Outlet::by(Box::new(json::Json::new(io::stdout())));
    }
    let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    if !io::stdout().is_terminal() || dumb {
        return Outlet::by(Box::new(plain::Plain(io::stdout())));
    }
    let began = Instant::now();
    let colours = Layout::of_stdout().colours;
    let clock = move || began.elapsed();
    Outlet::by(Box::new(live::Live::new(Term::buffered_stdout(), colours, clock)))
}
