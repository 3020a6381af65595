//! The documents of a spec: what they say, whether they hold together, and what
//! stands on what.
//!
//! A spec is a folder with a `tasks.md` and, in front of it, as many of
//! `research.md`, `requirements.md` and `design.md` as somebody has written. The
//! scanners here read any text and never fail: a section is found by its heading
//! outside of fences and comments, and what is not known is left alone. [`gate`]
//! judges the documents, [`trace`] says which part of a plan stands on which
//! requirement, and [`read_only`] proves of a command that it changes nothing.

pub mod design;
pub mod edit;
pub mod epic;
pub mod gate;
pub mod id;
pub mod import;
pub mod links;
pub mod manifest;
pub mod map;
pub mod outline;
pub mod question;
pub mod read_only;
pub mod red;
pub mod requirements;
pub mod research;
#[cfg(test)]
pub(crate) mod samples;
pub mod trace;

use std::fmt;

use serde::{Deserialize, Serialize};

/// A document of a spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Doc {
    /// `research.md`: what decides whether it can be built.
    Research,
    /// `requirements.md`: what is to be true afterwards.
    Requirements,
    /// `design.md`: how it is built here.
    Design,
    /// `tasks.md`: the work, in its order.
    Tasks,
}

impl Doc {
    /// All of them, in the order in which they are written.
    pub const ALL: [Doc; 4] = [Doc::Research, Doc::Requirements, Doc::Design, Doc::Tasks];

    /// `requirements`.
    pub fn name(self) -> &'static str {
        match self {
            Doc::Research => "research",
            Doc::Requirements => "requirements",
            Doc::Design => "design",
            Doc::Tasks => "tasks",
        }
    }

    /// `requirements.md`.
    pub fn file(self) -> &'static str {
        match self {
            Doc::Research => "research.md",
            Doc::Requirements => "requirements.md",
            Doc::Design => "design.md",
            Doc::Tasks => "tasks.md",
        }
    }

    /// The document with this name, or in a file of this name.
    pub fn named(name: &str) -> Option<Doc> {
        Doc::ALL.into_iter().find(|doc| doc.name() == name || doc.file() == name)
    }
}

impl fmt::Display for Doc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The texts of a spec, as far as they are there.
#[derive(Debug, Clone, Copy, Default)]
pub struct Texts<'a> {
    /// What the person asked for, word for word.
    pub goal: Option<&'a str>,
    /// `research.md`.
    pub research: Option<&'a [u8]>,
    /// `requirements.md`.
    pub requirements: Option<&'a [u8]>,
    /// `design.md`.
    pub design: Option<&'a [u8]>,
    /// `tasks.md`.
    pub tasks: Option<&'a [u8]>,
}

impl<'a> Texts<'a> {
    /// The text of a document.
    pub fn get(&self, doc: Doc) -> Option<&'a [u8]> {
        match doc {
            Doc::Research => self.research,
            Doc::Requirements => self.requirements,
            Doc::Design => self.design,
            Doc::Tasks => self.tasks,
        }
    }

    /// The same with another text for one document.
    #[must_use]
    pub fn with(mut self, doc: Doc, text: &'a [u8]) -> Texts<'a> {
        let place = match doc {
            Doc::Research => &mut self.research,
            Doc::Requirements => &mut self.requirements,
            Doc::Design => &mut self.design,
            Doc::Tasks => &mut self.tasks,
        };
        *place = Some(text);
        self
    }
}
