//! The map of a project: what a newcomer needs to know of its files, on one page.
//!
//! It is made from the list of files and the manifests, by code and within a bound, so
//! that it is never older than the files and never too long for a brief.

use std::collections::{BTreeMap, BTreeSet};

use crate::line;

/// The longest map, in bytes.
pub const LONGEST: usize = 6 * 1024;

/// How many folders, test folders and entry points are named.
const MOST_FOLDERS: usize = 40;
const MOST_NAMED: usize = 20;
/// How many commands are named.
const MOST_COMMANDS: usize = 40;

/// A command that a file of the project names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundCommand {
    /// What is typed: `npm run lint`.
    pub command: String,
    /// The file that names it.
    pub source: String,
}

/// The map of these files, `/` between their folders, and these commands.
pub fn render<'p>(paths: impl Iterator<Item = &'p str>, commands: &[FoundCommand]) -> String {
    let mut count = 0_usize;
    let mut languages: BTreeMap<&str, usize> = BTreeMap::new();
    let mut folders: BTreeMap<String, usize> = BTreeMap::new();
    let mut tests: BTreeSet<&str> = BTreeSet::new();
    let mut entries: BTreeSet<&str> = BTreeSet::new();
    for path in paths {
        count += 1;
        if let Some(language) = language(path) {
            *languages.entry(language).or_default() += 1;
        }
        let folder = path.rsplit_once('/').map_or(".", |(folder, _)| folder);
        *folders.entry(folder.split('/').take(2).collect::<Vec<_>>().join("/")).or_default() += 1;
        tests.extend(test_folder(path));
        if is_entry(path) {
            entries.insert(path);
        }
    }
    let mut text = format!("# Map\n\n{count} files.\n");
    section(&mut text, "Languages", &by_count(languages.into_iter(), MOST_NAMED));
    let folders = folders.iter().map(|(name, count)| (name.as_str(), *count));
    section(&mut text, "Folders", &by_count(folders, MOST_FOLDERS));
    section(&mut text, "Entry points", &named(entries));
    section(&mut text, "Test folders", &named(tests));
    let commands = commands.iter().take(MOST_COMMANDS);
    let shown = |found: &FoundCommand| {
        format!("- `{}` ({})\n", one_line(&found.command), one_line(&found.source))
    };
    section(&mut text, "Commands", &commands.map(shown).collect::<String>());
    if text.len() > LONGEST {
        let cut = line::head(&text, LONGEST - 8).rfind('\n').unwrap_or(0);
        text.truncate(cut);
        text.push_str("\n…\n");
    }
    text
}

fn section(text: &mut String, title: &str, lines: &str) {
    if !lines.is_empty() {
        text.push_str(&format!("\n## {title}\n\n{lines}"));
    }
}

/// The largest first.
fn by_count<'n>(counts: impl Iterator<Item = (&'n str, usize)>, most: usize) -> String {
    let mut counts: Vec<(&str, usize)> = counts.collect();
    counts.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
    let lines = counts.iter().take(most);
    lines.map(|(name, count)| format!("- {} {count}\n", one_line(name))).collect()
}

/// The shortest first.
fn named(paths: BTreeSet<&str>) -> String {
    let mut paths: Vec<&str> = paths.into_iter().collect();
    paths.sort_by_key(|path| (path.matches('/').count(), *path));
    paths.iter().take(MOST_NAMED).map(|path| format!("- {}\n", one_line(path))).collect()
}

/// A name of a file on one line and without code fences: it goes into a brief.
fn one_line(name: &str) -> String {
    name.chars().take(200).map(|c| if c.is_control() || c == '`' { '?' } else { c }).collect()
}

fn language(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension {
        "rs" => "Rust",
        "js" | "mjs" | "cjs" | "jsx" => "JavaScript",
        "ts" | "tsx" | "mts" => "TypeScript",
        "py" => "Python",
        "go" => "Go",
        "java" => "Java",
        "kt" | "kts" => "Kotlin",
        "swift" => "Swift",
        "rb" => "Ruby",
        "php" => "PHP",
        "cs" => "C#",
        "c" | "h" => "C",
        "cc" | "cpp" | "cxx" | "hpp" => "C++",
        "sh" | "bash" => "Shell",
        "ex" | "exs" => "Elixir",
        "scala" => "Scala",
        "dart" => "Dart",
        "lua" => "Lua",
        "sql" => "SQL",
        "html" => "HTML",
        "css" | "scss" => "CSS",
        "vue" => "Vue",
        "svelte" => "Svelte",
        "md" => "Markdown",
        "toml" | "yaml" | "yml" | "json" => "Configuration",
        _ => return None,
    })
}

/// The folder with tests that a file lies in.
fn test_folder(path: &str) -> Option<&str> {
    let mut end = 0;
    for part in path.split('/') {
        end += part.len();
        let is_last = end == path.len();
        if !is_last && matches!(part, "test" | "tests" | "__tests__" | "spec" | "e2e") {
            return Some(&path[..end]);
        }
        end += 1;
    }
    None
}

/// Whether a program is likely to begin in a file.
fn is_entry(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let depth = path.matches('/').count();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let is_code = language(path).is_some_and(|language| language != "Markdown");
    let begins = matches!(stem, "main" | "__main__" | "index" | "app" | "cli" | "server");
    is_code
        && begins
        && depth <= 4
        && !matches!(extension, "json" | "yml" | "yaml" | "toml" | "css")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_shows_what_a_newcomer_asks_for() {
        let paths = ["src/main.rs", "src/links.rs", "tests/links.rs", "README.md", "web/index.ts"];
        let commands = [FoundCommand { command: "cargo test".into(), source: "Cargo.toml".into() }];
        insta::assert_snapshot!(render(paths.into_iter(), &commands), @r"
        # Map

        5 files.

        ## Languages

        - Rust 3
        - Markdown 1
        - TypeScript 1

        ## Folders

        - src 2
        - . 1
        - tests 1
        - web 1

        ## Entry points

        - src/main.rs
        - web/index.ts

        ## Test folders

        - tests

        ## Commands

        - `cargo test` (Cargo.toml)
        ");
    }

    #[test]
    fn a_map_is_never_too_long_and_never_more_than_names() {
        let long: Vec<String> =
            (0..20_000).map(|n| format!("{}{n}/main.rs", "folder".repeat(20))).collect();
        let text = render(long.iter().map(String::as_str), &[]);
        assert!(text.len() <= LONGEST && text.ends_with("…\n"), "{}", text.len());
        let odd = ["a\n```\n# Heading/main.rs"];
        let text = render(odd.into_iter(), &[]);
        assert!(!text.contains("```") && text.matches("\n# ").count() == 0, "{text}");
    }
}
