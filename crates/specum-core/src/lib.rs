//! The pure kernel of specum: bytes and values in, values out.
//!
//! Nothing here reads a file, a clock or an environment variable, and nothing
//! is started. A caller at the edge gathers the input, asks, and carries out
//! the answer. In reading order:
//!
//! - [`tasks`] finds the checkboxes of a `tasks.md` and edits single bytes of it;
//! - [`plan`] says which task, or group of tasks, comes next;
//! - [`state`] is the loop's state file, with every field it does not know kept;
//! - [`machine`] moves that state one event forward and names the effects;
//! - [`verify`] turns the evidence of an attempt into a verdict;
//! - [`stop`] decides whether an agent may stop, with [`guard`] as its memory
//!   and [`completion`] as its ear;
//! - [`prompt`] and [`brief`] write what models read, [`progress`] what people
//!   read;
//! - [`agent`] calls each agent and reads what it prints, [`event`] is what a
//!   run tells while it works;
//! - [`coordinate`] decides for a headless run, [`budget`] is what a loop may use
//!   and has used; [`protocol`] is what a run and its workers say to each other;
//! - [`journal`], [`settings`] and [`hook`] are the remaining formats, and
//!   [`summary`] is what a person wants to know of a journal;
//! - [`report`] is everything that became of a loop, for a person who comes back to it, with
//!   [`timeline`], [`look`], [`patch`] and [`secrets`];
//! - [`picture`] is a spec at this moment, for a view of one that somebody else works;
//! - [`authoring`] moves the planning of a spec one event forward;
//! - [`notice`] is what a person hears who is not looking;
//! - [`check`] is the lint of a task file, [`spec`] reads and judges the documents
//!   around it.
#![forbid(unsafe_code)]

pub mod agent;
pub mod attempt;
pub mod authoring;
pub mod brief;
pub mod budget;
pub mod check;
pub mod completion;
pub mod coordinate;
pub mod digest;
pub mod duration;
pub mod event;
pub mod guard;
pub mod hook;
pub mod journal;
pub mod line;
pub mod look;
pub mod machine;
pub mod modify;
pub mod moment;
pub mod notice;
pub mod numbers;
pub mod owner;
pub mod patch;
pub mod picture;
pub mod plan;
pub mod plan_record;
pub mod progress;
pub mod prompt;
pub mod protocol;
pub mod report;
pub mod retention;
pub mod sanitize;
pub mod secrets;
pub mod settings;
pub mod spec;
pub mod state;
pub mod stop;
pub mod suite;
pub mod summary;
pub mod tasks;
pub mod timeline;
pub mod verify;

/// The candidate that somebody who wrote `word` most likely meant.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}
