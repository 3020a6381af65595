//! OpenSpec: `proposal.md`, the deltas in `specs/<capability>/spec.md`, `design.md` and
//! `tasks.md`.

use super::kiro::{other, paragraph};
use super::plan::{Entry, Reading, free_numbers, tasks};
use super::write::{Stated, Stating, requirements};
use super::{Imported, Source, design_of, find};
use crate::spec::Doc;
use crate::spec::outline::{LineKind, Outline, Section, item_text, plain_title};
use crate::tasks::TaskFile;

/// Whether a file says what changes in a capability.
pub(super) fn is_delta(source: &Source<'_>) -> bool {
    source.path.starts_with("specs/") && source.path.ends_with("/spec.md")
}

pub(super) fn convert(name: &str, sources: &[Source<'_>]) -> Imported {
    let mut imported = Imported::default();
    let mut stated = Stated::default();
    for delta in sources.iter().filter(|source| is_delta(source)) {
        add_delta(&Outline::scan(delta.text), &mut stated);
    }
    for text in ["proposal.md", "design.md"].into_iter().filter_map(|path| find(sources, path)) {
        stated.out_of_scope.extend(non_goals(&Outline::scan(text)));
    }
    if let Some(proposal) = find(sources, "proposal.md") {
        let outline = Outline::scan(proposal);
        stated.goal =
            outline.section(&["Why"]).map(|why| paragraph(&outline, why)).unwrap_or_default();
        stated.others =
            ["What Changes", "Impact"].iter().filter_map(|title| other(&outline, title)).collect();
    }
    imported.add(Doc::Requirements, requirements(name, &stated));
    let titles = [("Context", "Overview"), ("Decisions", "Technical Decisions")];
    imported.add(Doc::Design, find(sources, "design.md").map(|text| design_of(text, &titles)));
    imported.add(Doc::Tasks, find(sources, "tasks.md").map(|text| plan(name, text)));
    imported
}

/// What a delta asks for: each requirement, with its scenarios as criteria.
fn add_delta(outline: &Outline, stated: &mut Stated) {
    for (at, section) in outline.sections.iter().enumerate() {
        let Some(title) = section.title.strip_prefix("Requirement:") else { continue };
        let number = stated.requirements.len() + 1;
        let mut criteria = Vec::new();
        let below = outline.sections[at + 1..].iter().take_while(|one| one.level > section.level);
        for scenario in below {
            let Some(title) = scenario.title.strip_prefix("Scenario:") else { continue };
            let id = format!("AC-{number}.{}", criteria.len() + 1);
            stated
                .criteria
                .push((id.clone(), format!("{}: {}", title.trim(), steps(outline, scenario))));
            criteria.push(id);
        }
        let above = section.above.map_or("", |above| outline.sections[above].title.as_str());
        let removed = if above.to_uppercase().starts_with("REMOVED") { "Removed: " } else { "" };
        let says = paragraph(outline, section);
        let text = format!("{removed}{}: {says}", title.trim());
        let text = text.trim_end_matches([' ', ':']).to_owned();
        stated.requirements.push(Stating { id: format!("FR-{number}"), text, criteria });
    }
}

/// The steps of a scenario in one line.
fn steps(outline: &Outline, scenario: &Section) -> String {
    let lines = outline.lines_of(scenario).filter(|line| line.kind == LineKind::Text);
    let steps = lines.map(|line| item_text(&line.text).unwrap_or(line.text.trim()));
    let steps: Vec<String> =
        steps.filter(|step| !step.is_empty()).map(|step| step.replace("**", "")).collect();
    steps.join(" ")
}

/// What stands below "Non-Goals", be it a heading or a line of its own.
fn non_goals(outline: &Outline) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_below = false;
    for line in outline.lines.iter() {
        let bare = line.text.trim_matches(['*', ':', '#', ' ', '\t']);
        let is_title = line.kind == LineKind::Heading || line.text.trim_start().starts_with("**");
        if is_title {
            is_below = plain_title(bare).eq_ignore_ascii_case("non-goals")
                || bare.eq_ignore_ascii_case("out of scope");
        } else if let Some(item) = item_text(&line.text).filter(|_| is_below) {
            found.push(item.to_owned());
        }
    }
    found
}

fn plan(name: &str, text: &[u8]) -> Vec<u8> {
    let file = TaskFile::scan(text);
    let outline = Outline::scan(text);
    let mut entries = Vec::new();
    let mut told: Option<Option<usize>> = None;
    let mut free = free_numbers(&file);
    for task in &file.tasks {
        let section = outline.lines.get(task.line - 1).and_then(|line| line.section);
        if told != Some(section) {
            let number = entries.iter().filter(|one| matches!(one, Entry::Phase(..))).count() + 1;
            let title = section.map_or("Work", |at| outline.sections[at].title.as_str());
            let (number, title) = numbered(title).unwrap_or((number.to_string(), title));
            entries.push(Entry::Phase(number, title.to_owned()));
            told = Some(section);
        }
        let id = task.id.clone().unwrap_or_else(|| free.next().unwrap_or_default());
        entries.push(Entry::Task(task, id, Vec::new()));
    }
    let reading = Reading { is_link: &|_| false, renamed: &str::to_owned };
    tasks(name, &file, &entries, &reading)
}

/// The number and the words of `2A. Hardening`.
fn numbered(title: &str) -> Option<(String, &str)> {
    let (number, rest) = title.split_once(['.', ')'])?;
    let is_number = number.starts_with(|c: char| c.is_ascii_digit())
        && number.len() <= 6
        && number.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_number && !rest.trim().is_empty()).then(|| (number.to_owned(), rest.trim()))
}
