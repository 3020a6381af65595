//! What a task says it is there for: `_Requirements: FR-1, AC-1.2_`, `_Design: C-1_`.

use super::id::{Id, ids_in};
use crate::tasks::{Task, TaskFile};

/// The links of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Links {
    /// The requirements and criteria that it names.
    pub requirements: Vec<Id>,
    /// The components that it names, as they are written.
    pub design: Vec<String>,
    /// Why its check may pass before the work is done, if it says so.
    pub green_before: Option<String>,
}

/// The links of a task.
pub fn of(file: &TaskFile<'_>, task: &Task) -> Links {
    let value = |name: &str| {
        let raw = file.raw_field(task, name)?;
        let (_, value) = raw.split_once(':')?;
        Some(value.trim_matches(['_', '*', ' ', '\n', '\r']).to_owned())
    };
    let requirements = value("Requirements").map(|text| ids_in(&text)).unwrap_or_default();
    let design = value("Design").unwrap_or_default();
    let names = design.split([',', ';']).map(|name| name.trim().trim_matches('`'));
    let green_before = file.raw_field(task, "Verify").and_then(|raw| {
        let (_, behind) = raw.split_once("(green before:")?;
        let why = behind.split_once(')')?.0.trim();
        (!why.is_empty()).then(|| why.to_owned())
    });
    Links {
        requirements,
        design: names.filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        green_before,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_names_what_it_is_there_for() {
        let text = "- [ ] 1.1 a\n  - **Verify**: `make` (green before: nothing may break)\n  \
                    - _Requirements: FR-1..FR-3, AC-1.1_\n  - _Design: C-1, Stop-Hook_\n";
        let file = TaskFile::scan(text.as_bytes());
        let links = of(&file, &file.tasks[0]);
        assert_eq!(links.requirements.len(), 4);
        assert_eq!(links.design, ["C-1", "Stop-Hook"]);
        assert_eq!(links.green_before.as_deref(), Some("nothing may break"));
    }

    #[test]
    fn a_task_may_name_nothing() {
        let file = TaskFile::scan(b"- [ ] 1.1 a\n  - **Verify**: `make` (green before: )\n");
        assert_eq!(of(&file, &file.tasks[0]), Links::default());
    }
}
