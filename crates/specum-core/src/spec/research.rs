//! `research.md`: what was found, each with its source.

use super::outline::{DocLine, LineKind, Outline, item_text};
use super::question::{Question, questions};

/// Something found in the project: `path:line — fact`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// The line of the document, from 1.
    pub line: usize,
    /// The file, and the line of it, if the fact names one.
    pub source: Option<(String, Option<usize>)>,
    /// All of it.
    pub text: String,
}

/// What a research says.
#[derive(Debug, Clone, Default)]
pub struct Research {
    /// What was found in the project.
    pub facts: Vec<Fact>,
    /// What was found elsewhere and names no address, by line and text.
    pub without_address: Vec<(usize, String)>,
    /// The questions for a person.
    pub questions: Vec<Question>,
}

impl Research {
    /// Reads a text that is cut into sections.
    pub fn of(outline: &Outline) -> Research {
        let items = |title: &str| -> Vec<&DocLine> {
            let section = outline.section(&[title]);
            let lines = section.map(|section| outline.lines_of(section));
            let is_item = |line: &&DocLine| {
                let is_nested = line.text.starts_with([' ', '\t']);
                line.kind == LineKind::Text && !is_nested && item_text(&line.text).is_some()
            };
            lines.into_iter().flatten().filter(is_item).collect()
        };
        let says = |line: &&DocLine| !said(line).to_lowercase().starts_with("none");
        let fact = |line: &DocLine| {
            let text = said(line).to_owned();
            Fact { line: line.number, source: source(&text), text }
        };
        let has_address = |line: &&DocLine| !said(line).contains("://");
        Research {
            facts: items("Codebase Analysis").into_iter().filter(says).map(fact).collect(),
            without_address: items("External Research")
                .into_iter()
                .filter(|line| says(line) && has_address(line))
                .map(|line| (line.number, said(line).to_owned()))
                .collect(),
            questions: questions(outline),
        }
    }
}

fn said(line: &DocLine) -> &str {
    item_text(&line.text).unwrap_or_default()
}

/// The place that a fact begins with: `src/a.rs:12`, perhaps in code.
fn source(text: &str) -> Option<(String, Option<usize>)> {
    let first = match text.strip_prefix('`') {
        Some(rest) => rest.split('`').next()?,
        None => text.split([' ', '—']).next()?,
    };
    let first = first.trim_end_matches([':', ',']);
    let (path, line) = match first.rsplit_once(':') {
        Some((path, line)) => match line.split('-').next().unwrap_or(line).parse().ok() {
            Some(line) => (path, Some(line)),
            None => (first, None),
        },
        None => (first, None),
    };
    let is_path = path.contains(['/', '.']) && !path.contains(char::is_whitespace);
    is_path.then(|| (path.trim_start_matches("./").to_owned(), line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_names_its_file_and_its_line() {
        let of = |text: &str| source(text);
        assert_eq!(of("src/a.rs:12 — x"), Some(("src/a.rs".into(), Some(12))));
        assert_eq!(of("`src/a.rs:12-20` — x"), Some(("src/a.rs".into(), Some(12))));
        assert_eq!(of("`Cargo.toml` — x"), Some(("Cargo.toml".into(), None)));
        assert_eq!(of("src/a.rs: x"), Some(("src/a.rs".into(), None)));
        assert_eq!(of("The code is good"), None);
    }

    #[test]
    fn external_facts_need_an_address() {
        let text = "## Codebase Analysis\n- None: new\n## External Research\n\
                    - RFC says so — https://a.example/b\n- Everybody knows\n";
        let found = Research::of(&Outline::scan(text.as_bytes()));
        assert!(found.facts.is_empty());
        assert_eq!(found.without_address, [(5, "Everybody knows".to_owned())]);
    }
}
