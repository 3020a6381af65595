//! Kiro: `requirements.md` with numbered requirements and criteria, `design.md`, and
//! `tasks.md` with nested boxes that name criteria as `_Requirements: 1.2_`.

use super::plan::{Entry, Reading, free_numbers, tasks};
use super::write::{Stated, Stating, Story, requirements};
use super::{Imported, Source, design_of, find};
use crate::spec::Doc;
use crate::spec::outline::{LineKind, Outline, Section, item_text, plain_title};
use crate::tasks::{Heading, TaskFile};

pub(super) fn convert(name: &str, sources: &[Source<'_>]) -> Imported {
    let mut imported = Imported::default();
    let stated = find(sources, "requirements.md").map(stated).unwrap_or_default();
    imported.add(Doc::Research, find(sources, "research.md").map(<[u8]>::to_vec));
    imported.add(Doc::Requirements, requirements(name, &stated));
    let titles = [
        ("Components and Interfaces", "Components"),
        ("Testing Strategy", "Test Strategy"),
        ("Error handling strategy", "Error Handling"),
    ];
    imported.add(Doc::Design, find(sources, "design.md").map(|text| design_of(text, &titles)));
    imported.add(Doc::Tasks, find(sources, "tasks.md").map(|text| plan(name, text)));
    imported
}

/// What the requirements state: each requirement is a story, its criteria, and one
/// functional requirement that stands on all of them.
fn stated(text: &[u8]) -> Stated {
    let outline = Outline::scan(text);
    let mut stated = Stated { goal: introduction(&outline), ..Stated::default() };
    let mut used: Vec<u64> = Vec::new();
    for section in &outline.sections {
        let Some((number, title)) = numbered(&section.title) else { continue };
        let number = match number.filter(|number| !used.contains(number)) {
            Some(number) => number,
            None => used.iter().max().map_or(1, |last| last.saturating_add(1)),
        };
        used.push(number);
        let (text, criteria) = parts(&outline, section);
        let criteria: Vec<(String, String)> =
            criteria.into_iter().map(|(at, text)| (format!("AC-{number}.{at}"), text)).collect();
        let title = if title.is_empty() { format!("Requirement {number}") } else { title };
        stated.requirements.push(Stating {
            id: format!("FR-{number}"),
            text: title.clone(),
            criteria: criteria.iter().map(|(id, _)| id.clone()).collect(),
        });
        stated.stories.push(Story { id: format!("US-{number}"), title, text, criteria });
    }
    let items = |title: &str| -> Vec<String> {
        let section = outline.section(&[title]);
        let lines = section.into_iter().flat_map(|section| outline.lines_of(section));
        lines.filter_map(|line| item_text(&line.text)).map(str::to_owned).collect()
    };
    stated.out_of_scope = [items("Out of Scope"), items("Non-Goals")].concat();
    stated.assumptions = items("Assumptions");
    stated.others = ["Glossary"].iter().filter_map(|title| other(&outline, title)).collect();
    stated
}

/// A section that is taken over as it is.
pub(super) fn other(outline: &Outline, title: &str) -> Option<(String, String)> {
    let is_it = |section: &&Section| {
        plain_title(&section.title).to_lowercase().starts_with(&title.to_lowercase())
    };
    let section = outline.sections.iter().find(is_it)?;
    let lines: String =
        outline.lines_of(section).map(|line| format!("{}\n", line.text.trim_end())).collect();
    (!lines.trim().is_empty()).then(|| (title.to_owned(), lines.trim_matches('\n').to_owned()))
}

/// What stands below the title or the introduction, in front of the first part.
fn introduction(outline: &Outline) -> String {
    let section = outline.section(&["Introduction", "Overview", "Project Description (Input)"]);
    let Some(section) = section else { return String::new() };
    paragraph(outline, section)
}

/// The words of a section in front of the first heading in it.
pub(super) fn paragraph(outline: &Outline, section: &Section) -> String {
    let lines = outline.lines_of(section).take_while(|line| line.kind != LineKind::Heading);
    let words: Vec<&str> =
        lines.filter(|line| line.kind == LineKind::Text).map(|line| line.text.trim()).collect();
    words.join(" ").trim().to_owned()
}

/// The number and the words of a heading `Requirement 3: Title`.
fn numbered(title: &str) -> Option<(Option<u64>, String)> {
    let rest = title.trim_matches('*').strip_prefix("Requirement")?;
    let rest = rest.strip_prefix([' ', ':'])?.trim_start();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let title = rest[digits..].trim_start_matches([':', '.', '-', '–', '—', ' ']).trim();
    let number = rest[..digits].parse().ok().filter(|number| (1..10_000).contains(number));
    (digits > 0 || !title.is_empty()).then(|| (number, title.to_owned()))
}

/// The story of a requirement, and its criteria with their numbers.
fn parts(outline: &Outline, section: &Section) -> (String, Vec<(u64, String)>) {
    let mut story: Vec<&str> = Vec::new();
    let mut criteria: Vec<(u64, String)> = Vec::new();
    let mut in_criteria = false;
    for line in outline.lines_of(section) {
        let text = line.text.trim();
        if text.to_lowercase().contains("acceptance criteria") {
            in_criteria = true;
        } else if line.kind == LineKind::Heading
            && numbered(text.trim_start_matches(['#', ' '])).is_some()
        {
            break;
        } else if !in_criteria {
            story.extend((line.kind == LineKind::Text && text != "---").then_some(text));
        } else if let (Some(item), false) = (item_text(text), line.text.starts_with([' ', '\t'])) {
            let last = criteria.last().map_or(0, |(last, _)| *last);
            let written = text.split(['.', ')']).next().and_then(|number| number.parse().ok());
            let number = written.filter(|number| (last + 1..10_000).contains(number));
            criteria.push((number.unwrap_or(last + 1), item.to_owned()));
        } else if let Some((_, criterion)) = criteria.last_mut().filter(|_| text != "---") {
            criterion.push(' ');
            criterion.push_str(item_text(text).unwrap_or(text));
        }
    }
    let story = story.join(" ");
    let bare = ["**User Story:**", "**Objective:**", "**User Story**:", "**Objective**:"];
    let bare = bare.iter().find_map(|label| story.trim().strip_prefix(label));
    (bare.unwrap_or(&story).trim().to_owned(), criteria)
}

fn plan(name: &str, text: &[u8]) -> Vec<u8> {
    let file = TaskFile::scan(text);
    let mut entries = Vec::new();
    let mut headings = file.headings.iter().peekable();
    let has_parts = file.headings.iter().any(|heading| heading.above.is_none());
    let mut free = free_numbers(&file);
    // Whether the tasks that come stand below no box.
    let mut is_alone = false;
    if !has_parts {
        entries.push(Entry::Phase("1".into(), "Work".into()));
    }
    for task in &file.tasks {
        let is_below = file.under.iter().any(|(below, _)| *below == task.index);
        while let Some(heading) = headings.next_if(|heading| heading.line < task.line) {
            entries.push(of_heading(&file, heading));
        }
        if has_parts && !is_below && !is_alone {
            let number = task.id.clone().unwrap_or_else(|| (task.index + 1).to_string());
            entries.push(Entry::Phase(number, task.title.clone()));
        }
        is_alone = !is_below;
        let id = task.id.clone().unwrap_or_else(|| free.next().unwrap_or_default());
        let own = crate::line::readable(file.block(task));
        let mut links: Vec<String> =
            own.lines().filter(|line| is_link(line)).flat_map(links).collect();
        links.dedup();
        entries.push(Entry::Task(task, id, links));
    }
    let reading = Reading { is_link: &is_link, renamed: &str::to_owned };
    tasks(name, &file, &entries, &reading)
}

/// A box with tasks below it is a phase, or a part of one.
fn of_heading<'f>(file: &TaskFile<'_>, heading: &Heading) -> Entry<'f> {
    let line = crate::line::lines(file.text()).nth(heading.line - 1);
    let text = line.map(|line| crate::line::readable(line.text)).unwrap_or_default();
    let title = text.split_once(']').map_or(text.as_str(), |(_, title)| title);
    let title = title.trim_start_matches(['*', ' ']);
    let id = heading.id.clone().unwrap_or_default();
    let title =
        title.strip_prefix(id.as_str()).unwrap_or(title).trim_start_matches(['.', ')', ' ']);
    match heading.above {
        None => Entry::Phase(if id.is_empty() { "1".into() } else { id }, title.to_owned()),
        Some(_) => Entry::Part(format!("{id} {title}").trim().to_owned()),
    }
}

/// Whether a line names requirements: `- _Requirements: 1.2_`, `**Validates:
/// Requirements 2.5**`.
fn is_link(line: &str) -> bool {
    let bare = line.trim_start_matches([' ', '\t', '-', '*', '_']);
    bare.starts_with("Requirements:") || bare.starts_with("Validates:")
}

/// The ids behind such a line: a criterion, or all of a requirement.
fn links(line: &str) -> Vec<String> {
    let numbers = line.split(|c: char| !c.is_ascii_digit() && c != '.');
    let numbers = numbers.map(|number| number.trim_matches('.'));
    let id = |number: &str| {
        let parts: Option<Vec<u32>> = number.split('.').map(|part| part.parse().ok()).collect();
        match parts?.as_slice() {
            [requirement] => Some(format!("FR-{requirement}")),
            [requirement, criterion] => Some(format!("AC-{requirement}.{criterion}")),
            _ => None,
        }
    };
    numbers.filter_map(id).collect()
}
