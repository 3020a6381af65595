//! Plans of other tools as documents of ours, without a model.
//!
//! A converter reads any bytes and never fails. It takes over what a text says and makes
//! nothing up: what our form asks for and the other tool does not have is left out, so
//! that the gate names it. Ticks and titles of tasks survive; where a text could be
//! misread in its new place, it is written as plain words.

mod kiro;
mod openspec;
mod plan;
mod speckit;
#[cfg(test)]
mod tests;
mod write;

use super::requirements::Requirements;
use super::{Doc, design};
use crate::tasks::TaskFile;

/// A tool whose plans can be taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Kiro and those who write its files: cc-sdd, spec-workflow.
    Kiro,
    /// GitHub's spec-kit.
    SpecKit,
    /// OpenSpec.
    OpenSpec,
    /// smart-ralph, whose documents are ours.
    SmartRalph,
}

impl Tool {
    /// What its people call it.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Kiro => "Kiro",
            Tool::SpecKit => "spec-kit",
            Tool::OpenSpec => "OpenSpec",
            Tool::SmartRalph => "smart-ralph",
        }
    }
}

/// A file of a folder, by its path below it, `/` between its parts.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// `specs/auth/spec.md`.
    pub path: &'a str,
    /// All of it.
    pub text: &'a [u8],
}

/// What becomes of a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// What the person asked for, if it is written down word for word.
    pub goal: Option<String>,
    /// The documents, in their order.
    pub documents: Vec<(Doc, Vec<u8>)>,
    /// The files that have no place in a spec.
    pub left_out: Vec<String>,
}

impl Imported {
    fn add(&mut self, doc: Doc, text: Option<Vec<u8>>) {
        self.documents.extend(text.map(|text| (doc, text)));
        self.documents.sort_by_key(|(doc, _)| *doc);
    }
}

/// Whose folder it is; `None` if it holds no plan.
pub fn tool(sources: &[Source<'_>]) -> Option<Tool> {
    let text = |path: &str| find(sources, path);
    if text("proposal.md").is_some() || sources.iter().any(openspec::is_delta) {
        return Some(Tool::OpenSpec);
    }
    if text("spec.md").is_some() {
        return Some(Tool::SpecKit);
    }
    if let Some(requirements) = text("requirements.md") {
        let is_ours = Requirements::scan(requirements).is_ours();
        return Some(if is_ours { Tool::SmartRalph } else { Tool::Kiro });
    }
    let plan = TaskFile::scan(text("tasks.md")?);
    let first = plan.tasks.first()?;
    let is_ours = plan.tasks.iter().any(|task| plan.raw_field(task, "Verify").is_some());
    Some(if first.id.as_deref().is_some_and(speckit::is_id) {
        Tool::SpecKit
    } else if is_ours || plan.headings.is_empty() {
        Tool::SmartRalph
    } else {
        Tool::Kiro
    })
}

/// The documents of a spec with this name that say what the files of a tool say.
pub fn convert(tool: Tool, name: &str, sources: &[Source<'_>]) -> Imported {
    let mut imported = match tool {
        Tool::Kiro => kiro::convert(name, sources),
        Tool::SpecKit => speckit::convert(name, sources),
        Tool::OpenSpec => openspec::convert(name, sources),
        Tool::SmartRalph => as_it_is(sources),
    };
    let taken = match tool {
        Tool::Kiro | Tool::SmartRalph => &["requirements.md", "design.md", "tasks.md"][..],
        Tool::SpecKit => &["spec.md", "plan.md", "tasks.md"][..],
        Tool::OpenSpec => &["proposal.md", "design.md", "tasks.md"][..],
    };
    let is_taken = |source: &&Source<'_>| {
        taken.contains(&source.path)
            || source.path == "research.md" && tool != Tool::OpenSpec
            || tool == Tool::OpenSpec && openspec::is_delta(source)
    };
    let left = sources.iter().filter(|source| !is_taken(source));
    imported.left_out = left.map(|source| source.path.to_owned()).collect();
    imported
}

fn find<'a>(sources: &[Source<'a>], path: &str) -> Option<&'a [u8]> {
    sources.iter().find(|source| source.path == path).map(|source| source.text)
}

fn as_it_is(sources: &[Source<'_>]) -> Imported {
    let mut imported = Imported::default();
    for doc in Doc::ALL {
        imported.add(doc, find(sources, doc.file()).map(<[u8]>::to_vec));
    }
    imported
}

/// A design with the headings of our form, and its components numbered. Every other line
/// stays as it is.
fn design_of(text: &[u8], titles: &[(&str, &str)]) -> Vec<u8> {
    use super::outline::{LineKind, Outline, plain_title};
    let outline = Outline::scan(text);
    let is_ours = design::Design::of(&outline).is_ours();
    let renamed = |title: &str| {
        let known = titles.iter().find(|(from, _)| title.eq_ignore_ascii_case(from));
        known.map(|(_, to)| (*to).to_owned())
    };
    let mut components = 0;
    let mut written = Vec::with_capacity(text.len());
    for line in &outline.lines {
        let section = line.section.map(|at| &outline.sections[at]);
        let heading = section.filter(|_| line.kind == LineKind::Heading).and_then(|section| {
            let title = plain_title(&section.title);
            let above = section.above.map(|above| plain_title(&outline.sections[above].title));
            let above = above.map(|above| renamed(above).unwrap_or_else(|| above.to_owned()));
            let is_component =
                !is_ours && above.is_some_and(|above| above.eq_ignore_ascii_case("components"));
            let new = if is_component {
                components += 1;
                Some(format!("C-{components}: {title}"))
            } else {
                renamed(title)
            };
            new.map(|title| format!("{} {title}", "#".repeat(section.level)))
        });
        let old = &text[line.span.clone()];
        match heading {
            Some(heading) => {
                written.extend(heading.into_bytes());
                let end = old.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
                written.extend(end.map_or(&b""[..], |end| &old[end..]));
            }
            None => written.extend(old),
        }
    }
    written
}
