//! `design.md`: components, planned files and decisions, with their places.

use std::collections::HashMap;
use std::ops::Range;

use super::id::{Id, Kind, ids_in};
use super::outline::{LineKind, Outline, Section, plain_title};
use super::question::{Question, questions};

/// A part of the design.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// Its id; older designs have none.
    pub id: Option<Id>,
    /// What its heading says behind the id.
    pub title: String,
    /// The line of its heading, from 1.
    pub line: usize,
    /// Its heading and the lines below.
    pub range: Range<usize>,
    /// The requirements that it is there for.
    pub requirements: Vec<Id>,
    /// What it says, without its links.
    pub text: String,
}

impl Component {
    /// The name that a task calls it by.
    pub fn name(&self) -> String {
        self.id.as_ref().map_or_else(|| self.title.clone(), Id::to_string)
    }
}

/// What becomes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It is new.
    Create,
    /// It is there, and changes.
    Modify,
    /// It is there, and goes.
    Delete,
}

/// A row of the file structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFile {
    /// Its path, from the root of the project.
    pub path: String,
    /// What becomes of it; `None` if nobody can tell.
    pub action: Option<Action>,
    /// As it is written.
    pub written: String,
    /// Its line, from 1.
    pub line: usize,
}

/// A row of the decisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What is decided.
    pub title: String,
    /// What was chosen.
    pub choice: String,
    /// Its line, from 1.
    pub line: usize,
}

/// What a design says.
#[derive(Debug, Clone, Default)]
pub struct Design {
    /// Its components, in their order.
    pub components: Vec<Component>,
    /// The files that change.
    pub files: Vec<PlannedFile>,
    /// What is decided.
    pub decisions: Vec<Decision>,
    /// The questions for a person.
    pub questions: Vec<Question>,
    /// Where the first component with a name stands, the name as [`link_name`] gives it.
    places: HashMap<String, usize>,
}

impl Design {
    /// Reads a text.
    pub fn scan(text: &[u8]) -> Design {
        Design::of(&Outline::scan(text))
    }

    /// Reads a text that is cut into sections.
    pub fn of(outline: &Outline) -> Design {
        let rows = |titles: &[&str]| {
            let section = outline.section(titles);
            section.map(|section| outline.rows(section.lines.clone())).unwrap_or_default()
        };
        let files = rows(&["File Structure", "Files"]).into_iter().map(|row| {
            let path = row.cell("file").or(row.cell("path")).unwrap_or_default();
            let written = row.cell("action").unwrap_or_default().trim_matches('*').to_owned();
            PlannedFile { path: path_in(path), action: action(&written), written, line: row.line }
        });
        let decisions = rows(&["Technical Decisions"]).into_iter().map(|row| Decision {
            title: row.cell("decision").unwrap_or(row.at(0)).to_owned(),
            choice: row.cell("choice").unwrap_or_default().to_owned(),
            line: row.line,
        });
        let components = components(outline);
        let mut places = HashMap::new();
        for (place, component) in components.iter().enumerate() {
            places.entry(link_name(&component.name())).or_insert(place);
        }
        Design {
            components,
            places,
            files: files.filter(|file| !file.path.is_empty()).collect(),
            decisions: decisions.collect(),
            questions: questions(outline),
        }
    }

    /// Whether the design names its components by ids.
    pub fn is_ours(&self) -> bool {
        self.components.iter().any(|component| component.id.is_some())
    }

    /// The component that a link means: by its id, or by its heading if it has none.
    pub fn component(&self, link: &str) -> Option<&Component> {
        self.components.get(*self.places.get(&link_name(link))?)
    }
}

fn link_name(link: &str) -> String {
    Id::parse(link).map_or_else(|| link.trim().to_lowercase(), |id| id.to_string())
}

fn action(written: &str) -> Option<Action> {
    match written.to_lowercase().split_whitespace().next()? {
        "create" | "new" | "add" => Some(Action::Create),
        "modify" | "rewrite" | "update" | "edit" | "change" => Some(Action::Modify),
        "delete" | "remove" => Some(Action::Delete),
        _ => None,
    }
}

/// The path in a cell: the first code span, or the first word.
fn path_in(cell: &str) -> String {
    let span = cell.split('`').nth(1).filter(|span| !span.is_empty());
    let path = span.or_else(|| cell.split_whitespace().next()).unwrap_or_default();
    path.trim_start_matches("./").to_owned()
}

fn components(outline: &Outline) -> Vec<Component> {
    let is_component = |section: &Section| match heading_id(&section.title) {
        Some(_) => true,
        None => {
            let above = section.above.map(|above| &outline.sections[above]);
            above.is_some_and(|above| plain_title(&above.title).eq_ignore_ascii_case("components"))
        }
    };
    outline
        .sections
        .iter()
        .filter(|section| is_component(section))
        .map(|section| component(outline, section))
        .collect()
}

fn heading_id(title: &str) -> Option<(Id, usize)> {
    Id::at_start(title).filter(|(id, _)| id.kind == Kind::Component)
}

fn component(outline: &Outline, section: &Section) -> Component {
    let (id, title) = match heading_id(&section.title) {
        Some((id, length)) => {
            (Some(id), section.title[length..].trim_start_matches([':', '.', ' ', '—', '-']))
        }
        None => (None, plain_title(&section.title)),
    };
    let mut requirements = Vec::new();
    let mut text = title.to_owned();
    for line in outline.lines_of(section) {
        match requirement_links(&line.text).filter(|_| line.kind == LineKind::Text) {
            Some(links) => requirements.extend(links),
            None => {
                text.push(' ');
                text.push_str(line.text.trim());
            }
        }
    }
    let start = outline.lines[section.line - 1].span.start;
    let end = outline.lines[section.lines.end - 1].span.end;
    let title = title.to_owned();
    Component { id, title, line: section.line, range: start..end, requirements, text }
}

/// The ids behind `_Requirements: …_` or `**Requirements**: …`.
fn requirement_links(line: &str) -> Option<Vec<Id>> {
    let bare = line.trim_start_matches(['-', '*', '_', ' ', '\t']);
    let rest = bare.strip_prefix("Requirements")?;
    let rest = rest.trim_start_matches('*').strip_prefix(':')?;
    Some(ids_in(rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::samples;

    #[test]
    fn components_files_and_decisions_are_found() {
        let design = Design::scan(samples::DESIGN.as_bytes());
        let names: Vec<String> = design.components.iter().map(Component::name).collect();
        assert_eq!(names, ["C-1", "C-2"]);
        let links = design.components[0].requirements.iter().map(Id::to_string);
        assert_eq!(links.collect::<Vec<_>>(), ["FR-1", "FR-2"]);
        assert!(!design.components[0].text.contains("FR-1"));
        let files: Vec<_> =
            design.files.iter().map(|file| (file.path.as_str(), file.action)).collect();
        assert_eq!(
            files,
            [("src/links.rs", Some(Action::Create)), ("src/main.rs", Some(Action::Modify))]
        );
        assert_eq!(design.decisions[0].choice, "a table");
    }

    #[test]
    fn a_design_without_ids_is_read_by_its_headings() {
        let design = Design::scan(b"## Components\n### Component A: Store\nx\n### Stop-Hook\ny\n");
        assert!(!design.is_ours());
        assert!(design.component("stop-hook").is_some());
        assert!(design.component("C-1").is_none());
    }
}
