//! What a person is shown of a document before saying yes to it, made by code.

use crate::line;
use crate::spec::gate::Spec;
use crate::spec::trace::matrix;
use crate::spec::{Doc, Texts};

/// How long a summary is.
const LONGEST: usize = 1_000;
/// How many items it names.
const MOST_NAMED: usize = 8;

/// The document in a line or two.
pub fn of(doc: Doc, texts: Texts<'_>) -> String {
    let spec = Spec::of(texts);
    let text = match doc {
        Doc::Research => {
            let outline = spec.outline(doc);
            let section = outline.and_then(|outline| {
                let section = outline.section(&["Executive Summary"])?;
                let lines = outline.lines_of(section).map(|line| line.text.trim());
                Some(lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" "))
            });
            section.unwrap_or_default()
        }
        Doc::Requirements => {
            let Some(stated) = spec.requirements() else { return String::new() };
            let said = stated.active().map(|one| format!("{} {}", one.id, one.text));
            let mut text = named(&said.collect::<Vec<_>>());
            let outside = stated.out_of_scope.iter().take(3).cloned().collect::<Vec<_>>();
            if !outside.is_empty() {
                text.push_str(&format!(" · not: {}", outside.join("; ")));
            }
            text
        }
        Doc::Design => {
            let Some(design) = spec.design() else { return String::new() };
            let parts = design.components.iter().map(|part| {
                let id = part.id.as_ref().map(|id| format!("{id} ")).unwrap_or_default();
                format!("{id}{}", part.title)
            });
            format!("{} · {} files change", named(&parts.collect::<Vec<_>>()), design.files.len())
        }
        Doc::Tasks => {
            let Some(file) = spec.tasks() else { return String::new() };
            let rows = matrix(&spec);
            let covered = rows.iter().filter(|row| !row.tasks.is_empty()).count();
            let titles = file
                .tasks
                .iter()
                .map(|task| format!("{} {}", task.name(), crate::tasks::short_title(&task.title)));
            let titles = named(&titles.collect::<Vec<_>>());
            let (tasks, all) = (file.count(), rows.len());
            format!("{tasks} tasks, {covered} of {all} requirements covered: {titles}")
        }
    };
    line::head(&crate::sanitize::clean(&text), LONGEST).to_owned()
}

fn named(items: &[String]) -> String {
    let more = items.len().saturating_sub(MOST_NAMED);
    let shown = items.iter().take(MOST_NAMED).map(|item| line::head(item, 120));
    let shown = shown.collect::<Vec<_>>().join(" · ");
    if more > 0 { format!("{shown} · and {more} more") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::samples::{DESIGN, REQUIREMENTS, TASKS};

    #[test]
    fn a_person_sees_what_counts_in_each_document() {
        let texts = Texts::default()
            .with(Doc::Requirements, REQUIREMENTS.as_bytes())
            .with(Doc::Design, DESIGN.as_bytes())
            .with(Doc::Tasks, TASKS.as_bytes());
        assert_eq!(
            of(Doc::Requirements, texts),
            "FR-1 A link is mailed on request · FR-2 An expired link is refused · NFR-1 Answers \
             are quick · not: Passwords, social sign-in"
        );
        assert_eq!(of(Doc::Design, texts), "C-1 Link store · C-2 Routes · 2 files change");
        let plan = of(Doc::Tasks, texts);
        assert!(plan.starts_with("3 tasks, 3 of 3 requirements covered: 1.1 "), "{plan}");
    }
}
