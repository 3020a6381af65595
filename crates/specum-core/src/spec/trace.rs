//! What stands on what: requirements on criteria, components on requirements, tasks on
//! both.
//!
//! Links are written once, downward; everything else is computed. When documents are
//! approved, the digest of each part is kept, with the digests of what it stood on
//! ([`TraceFile`]). A part is stale when one of these is another by now. A component that
//! keeps its text although its requirement has changed is stale itself, but what stands
//! on the component alone is not.

mod file;

use std::collections::{BTreeMap, BTreeSet};

use super::Doc;
use super::design::Component;
use super::gate::Spec;
use super::id::{Id, Kind};
use super::links;
use super::requirements::Statement;
use crate::digest::Digest;
use crate::line;
use crate::tasks::{Task, TaskFile, unticked};

pub use self::file::{Approval, FORMAT, Node as RecordedNode, TraceFile, TraceFileError};

/// A part of a spec, under its id or, for a task, as `task 1.2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The document that it stands in.
    pub doc: Doc,
    /// Its line, from 1.
    pub line: usize,
    /// What it says, as a digest: without links, ticks and the width of blanks.
    pub digest: Digest,
    /// The parts that it stands on.
    pub on: BTreeSet<String>,
}

/// The parts of a spec by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Graph {
    /// All parts.
    pub parts: BTreeMap<String, Part>,
}

/// A part that stands on what has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// Its name.
    pub name: String,
    /// The document that it stands in.
    pub doc: Doc,
    /// Its line, from 1.
    pub line: usize,
    /// The parts that have changed or are gone.
    pub because: Vec<String>,
}

/// A requirement, and what there is for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The requirement.
    pub id: Id,
    /// What it says.
    pub text: String,
    /// Must, Should or Could.
    pub priority: Option<String>,
    /// What is measured.
    pub target: Option<String>,
    /// The criteria that it stands on.
    pub criteria: Vec<Id>,
    /// The components that are there for it.
    pub components: Vec<String>,
    /// The tasks that name it, one of its criteria, or, if none does, one of its
    /// components; by index.
    pub tasks: Vec<usize>,
}

impl Graph {
    /// The parts of a spec.
    pub fn of(spec: &Spec<'_>) -> Graph {
        let mut graph = Graph::default();
        graph.add_requirements(spec);
        graph.add_components(spec);
        if let Some(file) = spec.tasks() {
            for task in &file.tasks {
                graph.add_task(spec, file, task);
            }
        }
        graph
    }

    fn add_requirements(&mut self, spec: &Spec<'_>) {
        let (Some(stated), Some(doc)) = (spec.requirements(), spec.requirements_doc()) else {
            return;
        };
        let add = |graph: &mut Graph, statement: &Statement, digest: Digest| {
            let on = statement.links.iter().map(Id::to_string).collect();
            let part = Part { doc, line: statement.line, digest, on };
            graph.parts.entry(statement.id.to_string()).or_insert(part);
        };
        for statement in stated.stories.iter().chain(&stated.criteria) {
            add(self, statement, digest_of(statement));
        }
        for requirement in &stated.requirements {
            // A requirement means what its criteria say.
            let criteria = requirement.links.iter().filter_map(|id| stated.get(id));
            let digest = criteria.fold(digest_of(requirement), |digest, criterion| {
                digest.with(digest_of(criterion).hex().as_bytes())
            });
            add(self, requirement, digest);
        }
    }

    fn add_components(&mut self, spec: &Spec<'_>) {
        for component in spec.design().iter().flat_map(|design| &design.components) {
            let digest = Digest::of(plain(&component.text).as_bytes());
            let on = component.requirements.iter().map(Id::to_string).collect();
            let part = Part { doc: Doc::Design, line: component.line, digest, on };
            self.parts.entry(component.name()).or_insert(part);
        }
    }

    fn add_task(&mut self, spec: &Spec<'_>, file: &TaskFile<'_>, task: &Task) {
        let links = links::of(file, task);
        let components = links.design.iter().map(|link| {
            let component = spec.design().and_then(|design| design.component(link));
            component.map_or_else(|| link.clone(), Component::name)
        });
        let on = links.requirements.iter().map(Id::to_string).chain(components).collect();
        let part = Part { doc: Doc::Tasks, line: task.line, digest: task_digest(file, task), on };
        self.parts.entry(task_name(task)).or_insert(part);
    }

    /// What is kept of all parts as they are now.
    pub fn recorded(&self) -> BTreeMap<String, RecordedNode> {
        self.parts.keys().filter_map(|name| Some((name.clone(), self.record(name)?))).collect()
    }

    /// What is kept of one part as it is now. What it names and nobody states is left
    /// out.
    pub fn record(&self, name: &str) -> Option<RecordedNode> {
        let part = self.parts.get(name)?;
        let on = part.on.iter().filter_map(|on| Some((on.clone(), self.digest(on)?))).collect();
        Some(RecordedNode { digest: part.digest.hex(), on })
    }

    fn digest(&self, name: &str) -> Option<String> {
        self.parts.get(name).map(|part| part.digest.hex())
    }

    /// The parts that stand on what has changed since they were recorded, in the order
    /// of the documents. What was never recorded is new, and not stale.
    pub fn stale(&self, file: &TraceFile) -> Vec<Stale> {
        let mut stale: Vec<Stale> = Vec::new();
        for (name, part) in &self.parts {
            let Some(recorded) = file.nodes.get(name) else { continue };
            // A requirement is written with its criteria, in one document.
            if matches!(part.doc, Doc::Requirements) {
                continue;
            }
            let has_moved =
                |(on, digest): &(&String, &String)| self.digest(on).as_ref() != Some(*digest);
            let because: Vec<String> =
                recorded.on.iter().filter(has_moved).map(|(on, _)| on.clone()).collect();
            if !because.is_empty() {
                let name = name.clone();
                stale.push(Stale { name, doc: part.doc, line: part.line, because });
            }
        }
        stale.sort_by_key(|stale| (stale.doc, stale.line));
        stale
    }

    /// The parts that say something else than when they were recorded, and those that
    /// are gone.
    pub fn changed(&self, file: &TraceFile) -> Vec<String> {
        let has_changed = |(name, node): &(&String, &RecordedNode)| {
            self.digest(name).as_ref() != Some(&node.digest)
        };
        file.nodes.iter().filter(has_changed).map(|(name, _)| name.clone()).collect()
    }
}

/// A task as a part.
pub fn task_name(task: &Task) -> String {
    format!("task {}", task.name())
}

/// Each requirement that holds, and what there is for it.
pub fn matrix(spec: &Spec<'_>) -> Vec<Row> {
    let Some(stated) = spec.requirements() else { return Vec::new() };
    let file = spec.tasks();
    let mut by_id: BTreeMap<Id, Vec<usize>> = BTreeMap::new();
    let mut by_component: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for task in file.iter().flat_map(|file| &file.tasks) {
        let links = file.map(|file| links::of(file, task)).unwrap_or_default();
        for id in links.requirements {
            by_id.entry(id).or_default().push(task.index);
        }
        for link in links.design {
            let component = spec.design().and_then(|design| design.component(&link));
            let name = component.map_or(link, Component::name);
            by_component.entry(name).or_default().push(task.index);
        }
    }
    let mut components: BTreeMap<&Id, Vec<String>> = BTreeMap::new();
    for component in spec.design().iter().flat_map(|design| &design.components) {
        for id in &component.requirements {
            components.entry(id).or_default().push(component.name());
        }
    }
    let row = |requirement: &Statement| {
        let names = requirement.links.iter().chain([&requirement.id]);
        let mut tasks: BTreeSet<usize> =
            names.filter_map(|id| by_id.get(id)).flatten().copied().collect();
        let parts = components.get(&requirement.id).cloned().unwrap_or_default();
        if tasks.is_empty() {
            tasks =
                parts.iter().filter_map(|name| by_component.get(name)).flatten().copied().collect();
        }
        Row {
            id: requirement.id.clone(),
            text: requirement.text.clone(),
            priority: requirement.priority.clone(),
            target: measure(requirement),
            criteria: requirement.links.clone(),
            components: parts,
            tasks: tasks.into_iter().collect(),
        }
    };
    stated.active().map(row).collect()
}

/// What a non-functional requirement measures, and what is to come out.
fn measure(requirement: &Statement) -> Option<String> {
    let parts = [requirement.metric.as_deref(), requirement.target.as_deref()];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    let is_measured = requirement.id.kind == Kind::NonFunctional && !parts.is_empty();
    is_measured.then(|| parts.join(" "))
}

/// A text with each run of blanks made one, so that rewrapped lines are the same.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn digest_of(statement: &Statement) -> Digest {
    let more = [&statement.priority, &statement.metric, &statement.target];
    let said = Digest::of(plain(&statement.text).as_bytes());
    more.into_iter()
        .flatten()
        .fold(said, |digest, more| digest.with(b"|").with(plain(more).as_bytes()))
}

/// The digest of what a task asks for: its ticks and links left out.
fn task_digest(file: &TaskFile<'_>, task: &Task) -> Digest {
    let is_link = |text: &str| {
        let bare = text.trim_start_matches(['-', '*', '_', ' ', '\t']);
        bare.starts_with("Requirements") || bare.starts_with("Design")
    };
    let below = line::lines(file.block(task)).skip(1);
    let texts = below.map(|line| plain(&line::readable(&unticked(line.text))));
    let said = texts.filter(|text| !text.is_empty() && !is_link(text));
    said.fold(Digest::of(plain(&task.title).as_bytes()), |digest, text| {
        digest.with(b"\n").with(text.as_bytes())
    })
}

#[cfg(test)]
mod tests;
