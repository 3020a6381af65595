//! What a person sees of a run while it works, and of a loop when it is over.
//!
//! What a run does it records, and an [`Outlet`] reads it in the feed, on a thread of
//! its own: [`lines`] puts it together, and a `Reporter` shows it, the live view on a
//! terminal, plain lines elsewhere, JSON for programs. At the end there is a summary,
//! made from the journal. Whatever titles, agents and checks have said, nothing of it
//! reaches a terminal as it was: every text goes through `clean` first.

pub mod json;
pub mod lines;

pub(crate) mod layout;
mod live;
mod outlet;
mod plain;
pub(crate) use specum_core::{numbers, sanitize};
mod steering;
pub(crate) mod summary;
pub(crate) mod timeline;
pub(crate) mod transcript;
mod view;

use std::io::{self, IsTerminal};
use std::time::Instant;

use console::Term;
use specum_core::agent::OneSign;
use specum_core::summary::Summary;
use specum_core::tasks::TaskKey;
use specum_engine::runner::RunError;
use specum_engine::store::Store;
use specum_engine::terminal;

pub use self::layout::Layout;
use self::lines::{Line, Stamp};
pub use self::outlet::Outlet;

/// Shows what a run tells. It never fails: a run goes on although nobody listens.
/// It may wait for its reader as long as it likes.
trait Reporter {
    /// Something happened. It may be shown with the next [`Reporter::flush`].
    fn line(&mut self, stamp: Stamp<'_>, line: &Line);

    /// An agent said all this. It takes as much of it as is written at once, and at least
    /// one sign: the caller looks at the clock in between.
    fn said(
        &mut self,
        stamp: Stamp<'_>,
        task: &TaskKey,
        signs: &mut dyn Iterator<Item = OneSign<'_>>,
    ) {
        if let Some(sign) = signs.next() {
            self.line(stamp, &Line::Agent { task: task.clone(), sign: sign.to_sign() });
        }
    }

    /// So many things that agents said are missing here.
    fn left_out(&mut self, stamp: Stamp<'_>, count: u64);

    /// Time has passed.
    fn tick(&mut self);

    /// Nothing more has happened for now: all of it is to be seen.
    fn flush(&mut self);

    /// The run has ended, and this is what became of the loop.
    fn summary(&mut self, at: &str, spec: &str, summary: &Summary);

    /// The run has failed, and this says so to a program. A person reads it on
    /// standard error.
    fn failure(&mut self, _line: &str) {}
}

/// Where the rest of a check's output is.
fn see_log(task: &TaskKey) -> String {
    format!("`specum log {}` shows all of it", sanitize::one_line(task.shown()))
}

/// What is said where something is missing.
fn missing(count: u64) -> Line {
    let text = format!(
        "{count} messages of agents are not shown here, because this output was read too \
         slowly; `specum log <task>` has them"
    );
    Line::Warning { text }
}

/// The report of a run on standard output; with `bell`, a terminal rings at the end of a
/// long run: JSON if a program asked for it, the live
/// view on a terminal that can move its cursor, plain lines elsewhere.
pub fn to_stdout(json: bool, bell: bool, store: &Store) -> Result<Outlet, RunError> {
    if json {
        return Outlet::by(Box::new(json::Json::new(io::stdout())), store);
    }
    let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    if !io::stdout().is_terminal() || dumb {
        return Outlet::by(Box::new(plain::Plain(io::stdout())), store);
    }
    let began = Instant::now();
    let colours = Layout::of_stdout().colours;
    let clock = move || began.elapsed();
    let quiet = terminal::quiet();
    let keys = terminal::key_was_pressed;
    let live = live::Live::new(Term::buffered_stdout(), colours, clock, keys).with_bell(bell);
    Ok(Outlet::by(Box::new(live), store)?.on_terminal(quiet))
}
