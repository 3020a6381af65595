//! `requirements.md` in our form, from what another tool's files state.

use crate::sanitize;
use crate::spec::outline::item_text;
use crate::spec::requirements::Requirements;

/// What a folder states.
#[derive(Default)]
pub(super) struct Stated {
    /// What it is for, in one paragraph.
    pub(super) goal: String,
    /// The stories.
    pub(super) stories: Vec<Story>,
    /// Criteria that stand below no story.
    pub(super) criteria: Vec<(String, String)>,
    /// The functional requirements.
    pub(super) requirements: Vec<Stating>,
    /// The measures, by id.
    pub(super) measures: Vec<(String, String)>,
    /// What is not built.
    pub(super) out_of_scope: Vec<String>,
    /// What is taken for granted.
    pub(super) assumptions: Vec<String>,
    /// Sections that have no other place: title and lines.
    pub(super) others: Vec<(String, String)>,
}

/// A user story.
pub(super) struct Story {
    /// `US-1`.
    pub(super) id: String,
    pub(super) title: String,
    pub(super) text: String,
    /// Its criteria, with their ids.
    pub(super) criteria: Vec<(String, String)>,
}

/// A functional requirement.
pub(super) struct Stating {
    /// `FR-1`.
    pub(super) id: String,
    pub(super) text: String,
    /// The ids of its criteria.
    pub(super) criteria: Vec<String>,
}

/// The document; `None` if nothing is stated.
pub(super) fn requirements(name: &str, stated: &Stated) -> Option<Vec<u8>> {
    let is_empty = stated.requirements.is_empty()
        && stated.stories.is_empty()
        && stated.criteria.is_empty()
        && stated.goal.is_empty();
    if is_empty {
        return None;
    }
    let written = document(name, stated, true);
    let count = stated.requirements.len() + stated.measures.len();
    // A section that is taken over as it is may hide what follows, or state more.
    let is_read = Requirements::scan(written.as_bytes()).requirements.len() == count;
    let written = if is_read { written } else { document(name, stated, false) };
    Some(written.into_bytes())
}

fn document(name: &str, stated: &Stated, with_others: bool) -> String {
    let name = line(name);
    let mut text = format!("---\nspec: {name}\nphase: requirements\n---\n# Requirements: {name}\n");
    section(&mut text, "Goal", &plain(&stated.goal));
    let stories: Vec<String> = stated.stories.iter().map(story).collect();
    section(&mut text, "User Stories", stories.join("\n").trim_end());
    section(&mut text, "Acceptance Criteria", &items(&stated.criteria));
    let rows: Vec<String> = stated.requirements.iter().map(row).collect();
    if !rows.is_empty() {
        let head = "| ID | Requirement | Priority | Acceptance Criteria |\n\
                    |----|-------------|----------|---------------------|\n";
        section(&mut text, "Functional Requirements", &format!("{head}{}", rows.join("\n")));
    }
    section(&mut text, "Non-Functional Requirements", &items(&stated.measures));
    let list = |texts: &[String]| {
        let items: Vec<String> = texts.iter().map(|text| format!("- {}", line(text))).collect();
        items.join("\n")
    };
    section(&mut text, "Out of Scope", &list(&stated.out_of_scope));
    let assumed = stated.assumptions.iter().enumerate();
    let assumed: Vec<(String, String)> =
        assumed.map(|(at, text)| (format!("A-{}", at + 1), text.clone())).collect();
    section(&mut text, "Assumptions", &items(&assumed));
    for (title, lines) in stated.others.iter().filter(|_| with_others) {
        section(&mut text, &line(title), lines.trim_end());
    }
    text
}

fn section(text: &mut String, title: &str, content: &str) {
    if !content.is_empty() {
        text.push_str(&format!("\n## {title}\n\n{content}\n"));
    }
}

fn story(story: &Story) -> String {
    let mut text = format!("### {}: {}\n\n", story.id, line(&story.title));
    let says = plain(&story.text);
    if !says.is_empty() {
        text.push_str(&format!("{says}\n\n"));
    }
    if !story.criteria.is_empty() {
        text.push_str(&format!("**Acceptance Criteria:**\n\n{}\n", items(&story.criteria)));
    }
    text
}

fn items(stated: &[(String, String)]) -> String {
    let items: Vec<String> =
        stated.iter().map(|(id, text)| format!("- {id}: {}", line(text))).collect();
    items.join("\n")
}

fn row(one: &Stating) -> String {
    let words = |any: &[&str]| any.iter().any(|word| one.text.contains(word));
    let priority = if words(&["MUST", "SHALL"]) {
        "Must"
    } else if words(&["SHOULD"]) {
        "Should"
    } else if words(&["MAY", "COULD"]) {
        "Could"
    } else {
        ""
    };
    let cells = [one.id.as_str(), &cell(&one.text), priority, &one.criteria.join(", ")];
    format!("| {} |", cells.join(" | "))
}

/// A text in the cell of a table.
fn cell(text: &str) -> String {
    let text = line(text).replace('\\', "").replace('|', "\\|");
    if text.matches('`').count().is_multiple_of(2) { text } else { text.replace('`', "'") }
}

/// A text in one line, on which it does not begin.
pub(super) fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    sanitize::one_line(&words.join(" ")).replace("<!--", "< !--").trim().to_owned()
}

/// A text in one line that is a paragraph there: no heading, no list, no fence.
fn plain(text: &str) -> String {
    let text = line(text);
    let bare = text.trim_start_matches(['#', '>', '|', '~', '`', '<', ' ']);
    item_text(bare)
        .unwrap_or(bare)
        .trim_start_matches(['-', '+', '#', '>', '|', '~', '`'])
        .to_owned()
}
