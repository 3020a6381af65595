//! The rules of `design.md`.

use std::collections::{HashMap, HashSet};

use super::{Facts, Findings, Look, Rule, Spec};
use crate::check::Severity;
use crate::spec::design::{Action, Design, PlannedFile};
use crate::spec::id::{Id, Kind};

pub(super) fn judge(spec: &Spec<'_>, facts: &Facts<'_>, findings: &mut Findings<'_>) {
    let Some(design) = spec.design() else { return };
    if let Some(requirements) = spec.requirements() {
        let named: HashSet<&Id> =
            design.components.iter().flat_map(|component| &component.requirements).collect();
        for requirement in requirements.active() {
            let id = &requirement.id;
            if !named.contains(id) {
                let severity = match id.kind {
                    Kind::NonFunctional => Severity::Warning,
                    _ => Severity::Error,
                };
                let line = components_line(spec);
                let message = format!("no component is there for {id}");
                let fix = "name it in the `_Requirements: …_` of the one that is";
                let rule = Rule::RequirementWithoutComponent;
                findings.add_as(rule, severity, line, message, fix);
            }
        }
        for component in &design.components {
            for id in component.requirements.iter().filter(|id| requirements.get(id).is_none()) {
                let message = format!("{} names {id}, which nobody states", component.name());
                findings.add(Rule::IdDangling, component.line, message, "name another, or none");
            }
        }
    }
    components(design, findings);
    // Once work has begun, what was to be created is there.
    let has_begun = spec.tasks().is_some_and(|file| file.done_count() > 0);
    for file in &design.files {
        planned_file(file, facts, has_begun, findings);
    }
    for decision in &design.decisions {
        let choice = decision.choice.trim_matches(['*', '_', ' ', '-', '?']);
        if choice.is_empty() {
            let message = format!("\"{}\" is not decided", decision.title);
            findings.add(Rule::DecisionOpen, decision.line, message, "choose, or ask a person");
        }
    }
}

fn components_line(spec: &Spec<'_>) -> usize {
    let outline = spec.outline(crate::spec::Doc::Design);
    let section = outline.and_then(|outline| outline.section(&["Components"]));
    section.map_or(1, |section| section.line)
}

fn components(design: &Design, findings: &mut Findings<'_>) {
    let mut first: HashMap<String, usize> = HashMap::new();
    for component in &design.components {
        if component.requirements.is_empty() {
            let message = format!("{} names no requirement", component.name());
            let fix = "add `_Requirements: …_`, or take the component out";
            findings.add(Rule::ComponentWithoutRequirement, component.line, message, fix);
        }
        let line = *first.entry(component.name()).or_insert(component.line);
        if line != component.line {
            let message = format!("{} is there twice, first in line {line}", component.name());
            findings.add(Rule::IdDuplicate, component.line, message, "give it the next number");
        }
    }
}

fn planned_file(
    file: &PlannedFile,
    facts: &Facts<'_>,
    has_begun: bool,
    findings: &mut Findings<'_>,
) {
    let path = &file.path;
    let leads_out = path.starts_with(['/', '~', '\\'])
        || path.split(['/', '\\']).any(|part| part == "..")
        || path.get(1..2) == Some(":");
    if leads_out {
        let message = format!("{path} leads out of the project");
        findings.add(Rule::PathOutside, file.line, message, "plan files below the project's root");
        return;
    }
    // A pattern, or several files in one row.
    if has_begun || path.contains(['*', '{', '<', '…']) {
        return;
    }
    let wrong = match (file.action, (facts.look)(path)) {
        (None, _) => Some(format!("\"{}\" is no action", file.written)),
        (Some(Action::Create), Look::File(_)) => Some(format!("{path} is there already")),
        (Some(Action::Modify | Action::Delete), Look::Missing) => {
            Some(format!("{path} is not there"))
        }
        _ => None,
    };
    if let Some(message) = wrong {
        let fix = "Create is for new files, Modify and Delete for those that are there";
        findings.add(Rule::FileAction, file.line, message, fix);
    }
}
