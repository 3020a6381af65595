//! spec-kit: `spec.md` with stories, scenarios and `FR-001`, `plan.md`, and `tasks.md`
//! with `T012 [P] [US1] …`.

use std::collections::HashMap;

use super::kiro::{other, paragraph};
use super::plan::{Entry, Reading, tasks};
use super::write::{Stated, Stating, Story, requirements};
use super::{Imported, Source, design_of, find};
use crate::spec::Doc;
use crate::spec::id::Kind;
use crate::spec::outline::{LineKind, Outline, Section, item_text};
use crate::spec::requirements::Requirements;
use crate::tasks::{Marker, Task, TaskFile};

/// Whether an id is one of spec-kit's.
pub(super) fn is_id(id: &str) -> bool {
    let number = id.strip_prefix('T').unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

pub(super) fn convert(name: &str, sources: &[Source<'_>]) -> Imported {
    let mut imported = Imported::default();
    if let Some(spec) = find(sources, "spec.md") {
        let outline = Outline::scan(spec);
        imported.goal = asked_for(&outline);
        imported.add(Doc::Requirements, requirements(name, &stated(&outline)));
    }
    imported.add(Doc::Research, find(sources, "research.md").map(<[u8]>::to_vec));
    let titles = [("Summary", "Overview"), ("Project Structure", "File Structure")];
    imported.add(Doc::Design, find(sources, "plan.md").map(|text| design_of(text, &titles)));
    imported.add(Doc::Tasks, find(sources, "tasks.md").map(|text| plan(name, text)));
    imported
}

/// What the person has typed, which spec-kit keeps word for word.
fn asked_for(outline: &Outline) -> Option<String> {
    let input = outline.lines.iter().find_map(|line| line.text.strip_prefix("**Input**:"))?;
    let (_, text) = input.split_once("User description:")?;
    let text = text.trim().trim_matches(['"', '“', '”']).trim();
    (!text.is_empty() && text != "$ARGUMENTS").then(|| text.to_owned())
}

fn stated(outline: &Outline) -> Stated {
    let read = Requirements::of(outline);
    let functional = read.requirements.iter().filter(|one| one.id.kind == Kind::Functional);
    let mut stated = Stated {
        goal: asked_for(outline).unwrap_or_default(),
        requirements: functional
            .map(|one| Stating {
                id: one.id.to_string(),
                text: one.text.clone(),
                criteria: one.links.iter().map(ToString::to_string).collect(),
            })
            .collect(),
        ..Stated::default()
    };
    for section in &outline.sections {
        let Some(title) = section.title.strip_prefix("User Story ") else { continue };
        let digits = title.bytes().take_while(u8::is_ascii_digit).count();
        let Ok(number) = title[..digits].parse::<u32>() else { continue };
        let id = format!("US-{number}");
        if stated.stories.iter().any(|story| story.id == id) {
            continue;
        }
        let title = title[digits..].trim_start_matches([' ', '-', '–', '—', ':']).to_owned();
        let (text, criteria) = story(outline, section);
        let criteria = criteria.into_iter().zip(1_u32..);
        let criteria = criteria.map(|(text, at)| (format!("AC-{number}.{at}"), text)).collect();
        stated.stories.push(Story { id, title, text, criteria });
    }
    for line in outline.lines.iter().filter(|line| line.kind == LineKind::Text) {
        let Some(item) = item_text(&line.text) else { continue };
        let Some(rest) = item.trim_start_matches('*').strip_prefix("SC-") else { continue };
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let Ok(number) = rest[..digits].parse::<u32>() else { continue };
        let id = format!("NFR-{number}");
        if !stated.measures.iter().any(|(known, _)| *known == id) {
            let text = rest[digits..].trim_start_matches(['*', ':', ' ']);
            stated.measures.push((id, text.to_owned()));
        }
    }
    let items = |title: &str| -> Vec<String> {
        let section = outline.section(&[title]);
        let lines = section.into_iter().flat_map(|section| outline.lines_of(section));
        lines.filter_map(|line| item_text(&line.text)).map(str::to_owned).collect()
    };
    stated.out_of_scope = items("Out of Scope");
    stated.assumptions = items("Assumptions");
    stated.others =
        ["Edge Cases", "Key Entities"].iter().filter_map(|title| other(outline, title)).collect();
    stated
}

/// What a story says, and its scenarios.
fn story(outline: &Outline, section: &Section) -> (String, Vec<String>) {
    let mut scenarios: Vec<String> = Vec::new();
    let mut in_scenarios = false;
    for line in outline.lines_of(section).filter(|line| line.kind == LineKind::Text) {
        let text = line.text.trim();
        if text.contains("Acceptance Scenarios") {
            in_scenarios = true;
        } else if text.is_empty() || text == "---" || !in_scenarios {
        } else if let (Some(item), false) = (item_text(text), line.text.starts_with([' ', '\t'])) {
            scenarios.push(item.replace("**", ""));
        } else if let Some(last) = scenarios.last_mut() {
            last.push(' ');
            last.push_str(&item_text(text).unwrap_or(text).replace("**", ""));
        }
    }
    let said = paragraph(outline, section);
    let said = said.split("**Why this priority**").next().unwrap_or_default();
    let said = said.split("**Acceptance Scenarios**").next().unwrap_or_default();
    (said.trim().to_owned(), scenarios)
}

fn plan(name: &str, text: &[u8]) -> Vec<u8> {
    let file = TaskFile::scan(text);
    let outline = Outline::scan(text);
    // The headings that tasks stand below: of level 2 a phase, deeper a part of one.
    let mut entries = Vec::new();
    let mut ids: HashMap<String, String> = HashMap::new();
    let (mut phase, mut in_phase) = (0, 0);
    let mut told: (Option<usize>, Option<usize>) = (None, None);
    for task in &file.tasks {
        let line = outline.lines.get(task.line - 1);
        let innermost = line.and_then(|line| line.section);
        let around = std::iter::successors(innermost, |at| outline.sections[*at].above);
        let around: Vec<usize> = around.collect();
        let of_phase = around.iter().rev().find(|at| outline.sections[**at].level >= 2).copied();
        let of_part = innermost.filter(|at| Some(*at) != of_phase && of_phase.is_some());
        if phase == 0 || told.0 != of_phase {
            (phase, in_phase, told) = (phase + 1, 0, (of_phase, None));
            let title = of_phase.map_or("Work", |at| outline.sections[at].title.as_str());
            entries.push(Entry::Phase(phase.to_string(), without_number(title)));
        }
        if told.1 != of_part {
            told.1 = of_part;
            let title = of_part.map_or("More", |at| outline.sections[at].title.as_str());
            entries.push(Entry::Part(title.to_owned()));
        }
        in_phase += 1;
        let id = format!("{phase}.{in_phase}");
        if let Some(old) = &task.id {
            ids.entry(old.clone()).or_insert_with(|| id.clone());
        }
        entries.push(Entry::Task(task, id, links(task)));
    }
    let renamed = |text: &str| renamed(text, &ids);
    tasks(name, &file, &entries, &Reading { is_link: &|_| false, renamed: &renamed })
}

/// A heading without `Phase 3:` in front.
fn without_number(title: &str) -> String {
    let rest = title.strip_prefix("Phase ").map(|rest| {
        rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
            .trim_start_matches([':', '-', '–', '—', ' '])
    });
    rest.filter(|rest| !rest.is_empty()).unwrap_or(title).to_owned()
}

/// The stories that a task is there for.
fn links(task: &Task) -> Vec<String> {
    let stories = task.markers.iter().filter_map(|marker| match marker {
        Marker::Label(label) => label.strip_prefix("US")?.parse::<u32>().ok(),
        _ => None,
    });
    stories.map(|number| format!("US-{number}")).collect()
}

/// A text in which the tasks are called what they are called from now on.
fn renamed(text: &str, ids: &HashMap<String, String>) -> String {
    let mut new = String::with_capacity(text.len());
    let mut word = String::new();
    for c in text.chars().chain([' ']) {
        if c.is_alphanumeric() {
            word.push(c);
            continue;
        }
        new.push_str(ids.get(&word).unwrap_or(&word));
        word.clear();
        new.push(c);
    }
    new.pop();
    new
}
