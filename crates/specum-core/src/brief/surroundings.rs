//! What an executor is told about where its task stands: the plan around it, the
//! documents next to the plan, and the rules of the project.

use crate::line;
use crate::tasks::Context;

/// The documents that tools put next to a plan, in the order in which they are read.
const DOCUMENTS: [&str; 9] = [
    "requirements.md",
    "spec.md",
    "proposal.md",
    "bugfix.md",
    "research.md",
    "design.md",
    "plan.md",
    "data-model.md",
    "quickstart.md",
];
/// The folders of such documents.
const FOLDERS: [&str; 3] = ["contracts", "specs", "checklists"];
/// How many documents are named.
const MAX_DOCUMENTS: usize = 12;

/// Where the rules of a project stand, wherever its tasks work.
const PROJECT_RULES: [&str; 5] = [
    "AGENTS.md",
    "CLAUDE.md",
    ".specify/memory/constitution.md",
    ".kiro/steering",
    "openspec/project.md",
];
/// What holds the rules for a folder, and for those below it.
const FOLDER_RULES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// How many folders are asked for rules of their own.
const MAX_FOLDERS: usize = 8;
/// The longest path that is named.
const MAX_PATH: usize = 200;

/// Where a task stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The plan around it.
    pub context: Context,
    /// What there is next to the plan, from the plan's folder; see [`documents`].
    pub documents: Vec<String>,
    /// The files with rules that count for it, from the root of the project; see
    /// [`rules_for`].
    pub rules: Vec<String>,
}

impl Surroundings {
    /// The section of the brief, empty if there is nothing to be said.
    pub(super) fn render(&self, plan: &str) -> String {
        let mut text = self.around();
        if !self.documents.is_empty() {
            let more = self.documents.len().saturating_sub(MAX_DOCUMENTS);
            let named = self.documents.iter().take(MAX_DOCUMENTS);
            let mut named: Vec<String> = named.map(|name| format!("{plan}/{name}")).collect();
            if more > 0 {
                named.push(format!("and {more} more"));
            }
            let named = named.join(", ");
            text.push_str(&format!(
                "Documents of the plan: {named}. Read what bears on this task before you begin.\n"
            ));
        }
        if !self.rules.is_empty() {
            let rules = self.rules.join(", ");
            text.push_str(&format!(
                "Rules of the project: {rules}. They hold for your work; the one nearest to a file \
                 counts most for it.\n"
            ));
        }
        if text.is_empty() { text } else { format!("\n## Where it stands\n{text}") }
    }

    /// The plan's title and goal, and the parts of it that the task is in.
    fn around(&self) -> String {
        let Context { plan, parts } = &self.context;
        let mut text = String::new();
        if !plan.title.is_empty() {
            text.push_str(&format!("The plan: {}\n", plan.title));
        } else if !plan.text.is_empty() {
            text.push_str("The plan says:\n");
        }
        text.push_str(&quoted(&plan.text));
        for part in parts {
            text.push_str(&format!("In: {}\n{}", part.title, quoted(&part.text)));
        }
        text
    }
}

/// Text of the plan, told from ours.
fn quoted(text: &str) -> String {
    text.lines().map(|line| format!("> {line}\n")).collect()
}

/// Which of the names in a plan's folder are documents to be read: those that tools
/// write first, in the order in which they build on each other.
pub fn documents(names: &[String]) -> Vec<String> {
    let place = |name: &str| DOCUMENTS.iter().position(|known| *known == name);
    let is_document = |name: &str| {
        name.ends_with(".md") && !name.starts_with('.') && name != "tasks.md" && is_plain(name)
    };
    let mut found: Vec<String> = names.iter().filter(|name| is_document(name)).cloned().collect();
    found.sort_by(|a, b| {
        (place(a).unwrap_or(usize::MAX), a).cmp(&(place(b).unwrap_or(usize::MAX), b))
    });
    let folders = FOLDERS.iter().filter(|folder| names.iter().any(|name| name == *folder));
    found.extend(folders.map(|folder| format!("{folder}/")));
    found
}

/// Where rules may stand that count for a task with these files: next to the files
/// first, then above them, then for the whole project.
pub fn rules_for(files: &[String]) -> Vec<String> {
    let mut folders: Vec<&str> = Vec::new();
    for file in files {
        let is_inside = file.split('/').all(|part| !matches!(part, "" | "." | ".."));
        let mut folder = file.rsplit_once('/').map(|(folder, _)| folder).filter(|_| is_inside);
        while let Some(path) = folder {
            if !folders.contains(&path) && is_plain(path) {
                folders.push(path);
            }
            folder = path.rsplit_once('/').map(|(above, _)| above);
        }
    }
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.matches('/').count()));
    folders.truncate(MAX_FOLDERS);
    let near =
        folders.iter().flat_map(|folder| FOLDER_RULES.map(|name| format!("{folder}/{name}")));
    near.chain(PROJECT_RULES.map(str::to_owned)).collect()
}

/// Whether a name can stand in a sentence.
fn is_plain(name: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | ' ' | '@');
    line::head(name, MAX_PATH) == name && name.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn documents_stand_in_the_order_in_which_they_are_read() {
        let names = owned(&[
            "tasks.md",
            ".progress.md",
            "notes.md",
            "plan.md",
            "spec.md",
            "contracts",
            "a\nb.md",
            "report.html",
            "design.md",
            "other",
        ]);
        assert_eq!(
            documents(&names),
            ["spec.md", "design.md", "plan.md", "notes.md", "contracts/"]
        );
    }

    #[test]
    fn rules_next_to_a_file_come_first() {
        let files = owned(&["src/web/app.ts", "../x/y", "src/a.ts", "/etc/passwd"]);
        let rules = rules_for(&files);
        assert_eq!(
            rules[..6],
            [
                "src/web/AGENTS.md",
                "src/web/CLAUDE.md",
                "src/AGENTS.md",
                "src/CLAUDE.md",
                "AGENTS.md",
                "CLAUDE.md"
            ]
        );
        let many: Vec<String> = (0..100).map(|n| format!("d{n}/x")).collect();
        assert!(rules_for(&many).len() < 30);
    }

    #[test]
    fn more_documents_than_can_be_read_are_counted() {
        let names: Vec<String> = (10..40).map(|n| format!("n{n}.md")).collect();
        let all = Surroundings { documents: documents(&names), ..Surroundings::default() };
        let text = all.render("./specs/x");
        assert!(text.contains("./specs/x/n21.md, and 18 more. Read"), "{text}");
        assert_eq!(Surroundings::default().render("./specs/x"), "");
    }
}
