//! `requirements.md`: stories, criteria and requirements, with their places.
//!
//! A requirement is a row of a table, an item of a list or a heading that begins with
//! its id. The small plan states its requirements in `tasks.md`, in the same way.

use std::collections::HashMap;
use std::ops::Range;

use super::id::{Id, Kind, ids_in, meant};
use super::outline::{DocLine, LineKind, Outline, Row, item_text, plain_title};
use super::question::{Question, questions};

/// Something that a document states under an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Its id.
    pub id: Id,
    /// Its line, from 1.
    pub line: usize,
    /// Its lines in the text.
    pub range: Range<usize>,
    /// What it says, without id and links.
    pub text: String,
    /// The ids that it names: of a requirement, the criteria it stands on.
    pub links: Vec<Id>,
    /// Must, Should or Could, if it says so.
    pub priority: Option<String>,
    /// What is measured.
    pub metric: Option<String>,
    /// What the measure is to be.
    pub target: Option<String>,
    /// Whether it does not hold any more; its number is not used again.
    pub is_retired: bool,
}

/// An id that somebody has misspelt where something is stated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misspelt {
    /// Its line, from 1.
    pub line: usize,
    /// As it is written.
    pub written: String,
    /// As it should be.
    pub meant: Id,
}

/// What a document states.
#[derive(Debug, Clone, Default)]
pub struct Requirements {
    /// The user stories.
    pub stories: Vec<Statement>,
    /// The acceptance criteria.
    pub criteria: Vec<Statement>,
    /// The requirements, functional or not, in their order.
    pub requirements: Vec<Statement>,
    /// What is not built, an item each.
    pub out_of_scope: Vec<String>,
    /// The questions for a person.
    pub questions: Vec<Question>,
    /// Ids that are none.
    pub misspelt: Vec<Misspelt>,
    /// Where the first statement with an id stands among those of its kind.
    places: HashMap<Id, usize>,
}

/// Headings of what a requirement stands below.
const ABOUT_REQUIREMENTS: &[&str] = &["requirement", "stor", "accept", "criteri"];
/// Headings of what names requirements without stating them.
const ABOUT_OTHERS: &[&str] = &["trace", "out of scope", "question", "assumption", "coverage"];

impl Requirements {
    /// Reads a text.
    pub fn scan(text: &[u8]) -> Requirements {
        Requirements::of(&Outline::scan(text))
    }

    /// Reads a text that is cut into sections.
    pub fn of(outline: &Outline) -> Requirements {
        let mut found = Requirements { questions: questions(outline), ..Requirements::default() };
        for row in outline.rows(0..outline.lines.len()) {
            let line = &outline.lines[row.line - 1];
            if states(outline, line) {
                found.add_row(&row);
            }
        }
        for (index, line) in outline.lines.iter().enumerate() {
            let item = match line.kind {
                LineKind::Text => item_text(&line.text),
                LineKind::Heading => Some(line.text.trim_start_matches(['#', ' '])),
                LineKind::Code | LineKind::Hidden => None,
            };
            if let Some(item) = item.filter(|_| states(outline, line)) {
                found.add_item(outline, index, item);
            }
        }
        for statements in [&mut found.stories, &mut found.criteria, &mut found.requirements] {
            statements.sort_by_key(|statement| statement.line);
            for (place, statement) in statements.iter().enumerate() {
                found.places.entry(statement.id.clone()).or_insert(place);
            }
        }
        if let Some(section) = outline.section(&["Out of Scope"]) {
            let items = outline.lines_of(section).filter_map(|line| item_text(&line.text));
            found.out_of_scope = items.map(str::to_owned).collect();
        }
        found
    }

    /// Whether the document is written in this form at all. Other tools have files of
    /// the same name.
    pub fn is_ours(&self) -> bool {
        !(self.requirements.is_empty() && self.criteria.is_empty())
    }

    /// The statement with an id.
    pub fn get(&self, id: &Id) -> Option<&Statement> {
        let all = match id.kind {
            Kind::Story => &self.stories,
            Kind::Criterion => &self.criteria,
            Kind::Functional | Kind::NonFunctional => &self.requirements,
            Kind::Component | Kind::Question | Kind::Assumption => return None,
        };
        all.get(*self.places.get(id)?)
    }

    /// Everything that is stated.
    pub fn all(&self) -> impl Iterator<Item = &Statement> {
        self.stories.iter().chain(&self.criteria).chain(&self.requirements)
    }

    /// The requirements that hold.
    pub fn active(&self) -> impl Iterator<Item = &Statement> {
        self.requirements.iter().filter(|statement| !statement.is_retired)
    }

    fn add_row(&mut self, row: &Row) {
        let written = bare(row.at(0));
        let Some(id) = Id::parse(written) else {
            self.note_misspelt(row.line, written);
            return;
        };
        let links = row.cell("criteria").or(row.cell("accept")).map(ids_in).unwrap_or_default();
        let cell = |name: &str| row.cell(name).filter(|text| !text.is_empty()).map(str::to_owned);
        self.add(Statement {
            line: row.line,
            range: row.span.clone(),
            text: row.at(1).to_owned(),
            links: links.into_iter().filter(|link| *link != id).collect(),
            priority: cell("priority"),
            metric: cell("metric"),
            target: row.cell("target").map(str::to_owned),
            is_retired: is_retired(row.cells.iter().map(|(_, text)| text.as_str())),
            id,
        });
    }

    fn add_item(&mut self, outline: &Outline, index: usize, item: &str) {
        let item = item.trim_start_matches(['*', '`', '_']);
        let line = &outline.lines[index];
        let Some((id, length)) = Id::at_start(item) else {
            if line.kind == LineKind::Heading || item.contains(':') {
                let written = item.split([':', '*']).next().unwrap_or(item);
                self.note_misspelt(line.number, written.trim());
            }
            return;
        };
        let rest = item[length..].trim_start_matches(['*', '`', '_']).trim_start();
        let is_stated = rest.starts_with([':', '—', '–', '-', '.', '*']) || rest.is_empty();
        if !is_stated && line.kind != LineKind::Heading && id.kind != Kind::Criterion {
            return;
        }
        let last = match line.kind {
            LineKind::Heading => {
                let section = line.section.map(|at| &outline.sections[at]);
                section.map_or(index, |section| section.lines.end - 1)
            }
            _ => outline.end_of_item(index),
        };
        let range = line.span.start..outline.lines[last].span.end;
        let says = rest.trim_start_matches([':', '*', '—', '–', '-', ' ']);
        let below = outline.lines[index + 1..=last].iter().map(|line| line.text.trim());
        let whole: Vec<&str> = [says].into_iter().chain(below).collect();
        let text = match id.kind {
            Kind::Story => story_text(&whole),
            _ => whole.join(" ").trim().to_owned(),
        };
        let links = ids_in(&text).into_iter().filter(|link| link.kind == Kind::Criterion);
        self.add(Statement {
            line: line.number,
            range,
            links: links.filter(|link| *link != id).collect(),
            priority: None,
            metric: None,
            target: None,
            is_retired: is_retired([item].into_iter()),
            text,
            id,
        });
    }

    fn add(&mut self, statement: Statement) {
        match statement.id.kind {
            Kind::Story => self.stories.push(statement),
            Kind::Criterion => self.criteria.push(statement),
            Kind::Functional | Kind::NonFunctional => self.requirements.push(statement),
            Kind::Component | Kind::Question | Kind::Assumption => {}
        }
    }

    fn note_misspelt(&mut self, line: usize, written: &str) {
        let stated = [Kind::Story, Kind::Criterion, Kind::Functional, Kind::NonFunctional];
        if let Some(meant) = meant(written).filter(|id| stated.contains(&id.kind)) {
            self.misspelt.push(Misspelt { line, written: written.to_owned(), meant });
        }
    }
}

/// Whether a line stands where requirements are stated.
fn states(outline: &Outline, line: &DocLine) -> bool {
    let is_about = |title: &str, words: &[&str]| {
        let title = plain_title(title).to_lowercase();
        words.iter().any(|word| title.contains(word))
    };
    let mut is_stated = false;
    for title in outline.titles_above(line) {
        if is_about(title, ABOUT_OTHERS) {
            return false;
        }
        is_stated |= is_about(title, ABOUT_REQUIREMENTS);
    }
    is_stated
}

/// What a story says: the lines in front of its criteria.
fn story_text(lines: &[&str]) -> String {
    let is_said = |line: &&&str| {
        let bare = line.trim_matches('*').to_lowercase();
        !bare.starts_with("acceptance criteria") && item_text(line).is_none()
    };
    let said: Vec<&str> = lines.iter().take_while(is_said).copied().collect();
    said.join(" ").trim().to_owned()
}

/// A cell without bold and code.
fn bare(cell: &str) -> &str {
    cell.trim_matches(['*', '`', '_', ' '])
}

fn is_retired<'t>(mut texts: impl Iterator<Item = &'t str>) -> bool {
    texts.any(|text| text.contains("(retired)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::samples;

    fn ids(statements: &[Statement]) -> String {
        let ids: Vec<String> = statements.iter().map(|found| found.id.to_string()).collect();
        ids.join(" ")
    }

    #[test]
    fn the_form_that_is_asked_for_is_read() {
        let found = Requirements::scan(samples::REQUIREMENTS.as_bytes());
        assert_eq!(ids(&found.stories), "US-1");
        assert_eq!(ids(&found.criteria), "AC-1.1 AC-1.2");
        assert_eq!(ids(&found.requirements), "FR-1 FR-2 NFR-1");
        let first = &found.requirements[0];
        assert_eq!(first.text, "A link is mailed on request");
        assert_eq!(first.priority.as_deref(), Some("Must"));
        assert_eq!(first.links.iter().map(Id::to_string).collect::<Vec<_>>(), ["AC-1.1"]);
        assert_eq!(found.requirements[2].target.as_deref(), Some("< 200 ms"));
        assert_eq!(found.questions.len(), 1);
        assert!(found.stories[0].text.contains("As a** visitor"));
        assert!(found.is_ours());
    }

    #[test]
    fn the_forms_of_others_are_read_too() {
        let text = "## Requirements\n- **FR-001**: Does x\n- FR-002 is not stated here\n\
                    ## User Stories\n### US-1: A\n- [ ] AC-1.1 WHEN a THEN b\n  more of it\n\
                    ## Traceability\n| FR-9 | x |\n|--|--|\n| FR-8 | y |\n";
        let found = Requirements::scan(text.as_bytes());
        assert_eq!(ids(&found.requirements), "FR-1");
        assert_eq!(ids(&found.criteria), "AC-1.1");
        assert_eq!(found.criteria[0].text, "WHEN a THEN b more of it");
        assert!(!Requirements::scan(b"### Requirement 1\n1. WHEN a THEN b\n").is_ours());
    }

    #[test]
    fn a_misspelt_id_is_named_where_something_is_stated() {
        let text = "## Functional Requirements\n| ID | R |\n|--|--|\n| FR1 | x |\n| FR-2 | y |\n";
        let found = Requirements::scan(text.as_bytes());
        assert_eq!(found.misspelt[0].written, "FR1");
        assert_eq!(found.misspelt[0].line, 4);
        assert_eq!(ids(&found.requirements), "FR-2");
    }
}
