//! Reads `epic.md`.

use super::{Contract, Epic, Part};
use crate::line::readable;
use crate::spec::outline::{LineKind, Outline, Section, item_text, plain_title};

/// The fields of a spec, and how they may be called.
const FIELDS: &[(&str, Field)] = &[
    ("Goal", Field::Goal),
    ("Acceptance Criteria", Field::Criteria),
    ("In Scope", Field::Inside),
    ("In", Field::Inside),
    ("Out of Scope", Field::Outside),
    ("Out", Field::Outside),
    ("Dependencies", Field::Needs),
    ("Depends on", Field::Needs),
    ("Exposes", Field::Exposes),
    ("Consumes", Field::Consumes),
    ("Size", Field::Size),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Goal,
    Criteria,
    Inside,
    Outside,
    Needs,
    Exposes,
    Consumes,
    Size,
}

impl Epic {
    /// Reads a text. Never fails.
    pub fn scan(text: &[u8]) -> Epic {
        let outline = Outline::scan(text);
        let says = |title: &str| {
            let section = outline.section(&[title]);
            section.map(|section| words(&outline, section)).unwrap_or_default()
        };
        let title = outline.sections.first().map(|first| plain_title(&first.title));
        let title = title.unwrap_or_default();
        let specs = outline.section(&["Specs"]);
        let parts = outline.sections.iter().filter(|section| {
            let above = section.above.map(|above| &outline.sections[above]);
            specs.is_some_and(|specs| above.is_some_and(|above| above.line == specs.line))
        });
        Epic {
            title: title.strip_prefix("Epic:").unwrap_or(title).trim().to_owned(),
            vision: says("Vision"),
            success: says("Success Criteria"),
            specs: parts.map(|section| part(&outline, section)).collect(),
        }
    }
}

/// The lines of a section as they stand.
fn words(outline: &Outline, section: &Section) -> String {
    let lines: Vec<&str> = outline.lines_of(section).map(|line| line.text.trim_end()).collect();
    lines.join("\n").trim().to_owned()
}

fn part(outline: &Outline, section: &Section) -> Part {
    let name = plain_title(&section.title).trim_matches('`');
    let name = name.strip_prefix("Spec:").unwrap_or(name).trim().trim_matches('`');
    let mut part = Part { name: name.to_owned(), line: section.line, ..Part::default() };
    let mut field: Option<Field> = None;
    for line in outline.lines_of(section) {
        if line.kind == LineKind::Heading {
            field = named(plain_title(line.text.trim_start_matches(['#', ' '])));
            continue;
        }
        if line.kind == LineKind::Code {
            part.add(field, line.number, &line.text, true);
            continue;
        }
        let (behind, fields) = split(&line.text);
        if !behind.trim().is_empty() {
            part.add(field, line.number, behind, false);
        }
        for (next, value) in fields {
            field = Some(next);
            if !value.trim().is_empty() {
                part.add(field, line.number, value, false);
            }
        }
    }
    for text in [&mut part.goal, &mut part.inside, &mut part.outside] {
        *text = text.trim().to_owned();
    }
    part
}

impl Part {
    /// Takes in a line, or what of it belongs to a field.
    fn add(&mut self, field: Option<Field>, number: usize, text: &str, is_code: bool) {
        let bare = if is_code { text } else { text.trim() };
        let item = if is_code { None } else { item_text(text) };
        let says_none = |text: &str| {
            let word = text.trim_matches(['.', ' ', '*', '-', '—', '`']).to_lowercase();
            word == "none" || word.starts_with("none:") || word.is_empty()
        };
        let push = |to: &mut String| {
            if !to.is_empty() {
                to.push('\n');
            }
            to.push_str(bare);
        };
        match field {
            None => {}
            Some(Field::Goal) => push(&mut self.goal),
            Some(Field::Inside) => push(&mut self.inside),
            Some(Field::Outside) => push(&mut self.outside),
            Some(Field::Size) => {
                self.size.get_or_insert_with(|| bare.chars().take(20).collect());
            }
            Some(Field::Criteria) => match (item, self.criteria.last_mut()) {
                (None, Some(last)) => {
                    last.push(' ');
                    last.push_str(bare);
                }
                (item, _) => self.criteria.push(item.unwrap_or(bare).to_owned()),
            },
            Some(Field::Needs) => {
                let names = item.unwrap_or(bare).split([',', ';']);
                let names = names.map(|name| name.trim().trim_matches(['`', '*', '.', ' ']));
                let names = names.filter(|name| !says_none(name));
                self.needs.extend(names.map(|name| (name.to_owned(), number)));
            }
            Some(Field::Consumes) => {
                let text = item.unwrap_or(bare);
                let names: Vec<&str> = match text.contains('`') {
                    true => text.split('`').skip(1).step_by(2).collect(),
                    false => text.split([',', ';']).collect(),
                };
                let names = names.into_iter().map(str::trim).filter(|name| !says_none(name));
                self.consumes.extend(names.map(|name| (name.to_owned(), number)));
            }
            Some(Field::Exposes) => {
                let text = item.unwrap_or(bare);
                let contract = (!is_code).then(|| contract(text)).flatten();
                match (contract, self.exposes.last_mut()) {
                    (Some((name, shape)), _) => {
                        let (name, shape) = (name.to_owned(), shape.to_owned());
                        self.exposes.push(Contract { name, shape, line: number });
                    }
                    (None, Some(last)) => {
                        last.shape.push('\n');
                        last.shape.push_str(text);
                    }
                    (None, None) => {}
                }
            }
        }
    }
}

/// The name and the shape in `` `link-store`: issue(address) ``.
fn contract(text: &str) -> Option<(&str, &str)> {
    let (name, behind) = text.strip_prefix('`')?.split_once('`')?;
    let shape = behind.trim_start().strip_prefix(':').unwrap_or(behind);
    let is_name = !name.trim().is_empty();
    is_name.then(|| (name.trim(), shape.trim()))
}

/// What stands in a line in front of its first field, and its fields with their values.
fn split(text: &str) -> (&str, Vec<(Field, &str)>) {
    let mut places: Vec<(usize, usize, Field)> = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find("**") {
        let start = at + found;
        let inner = &text[start + 2..];
        let Some(end) = inner.find("**") else { break };
        let label = inner[..end].trim();
        let after = start + 2 + end + 2;
        let has_colon = label.ends_with(':') || text[after..].starts_with(':');
        if let Some(field) = named(label.trim_end_matches(':')).filter(|_| has_colon) {
            let value = after + usize::from(text[after..].starts_with(':'));
            places.push((start, value, field));
        }
        at = after;
    }
    let first = places.first().map_or(text.len(), |(start, ..)| *start);
    let ends = places.iter().skip(1).map(|(start, ..)| *start).chain([text.len()]);
    let fields =
        places.iter().zip(ends).map(|((_, value, field), end)| (*field, &text[*value..end]));
    let front = text[..first].trim_end_matches(['-', '*', ' ']);
    (if places.is_empty() { text } else { front }, fields.collect())
}

fn named(label: &str) -> Option<Field> {
    let known = FIELDS.iter().find(|(name, _)| label.eq_ignore_ascii_case(name));
    known.map(|(_, field)| *field)
}

/// The name in `specs/.current-epic`.
pub fn current(text: &[u8]) -> Option<String> {
    let text = readable(text);
    let name =
        text.trim_start_matches('\u{feff}').lines().map(str::trim).find(|line| !line.is_empty());
    name.map(str::to_owned)
}
