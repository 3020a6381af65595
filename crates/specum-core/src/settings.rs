//! `.claude/ralph-specum.local.md`: settings in YAML front matter.
//!
//! [`parse`] gives the settings and, beside them, everything that is wrong
//! with the file. Verbs refuse to work on a file with problems; a hook takes
//! what it can, because a misspelt key must not turn off the others.

use serde_json::Value;

use crate::line;
use crate::plan::DEFAULT_MAX_PARALLEL;

/// What a project may set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Whether the hooks do anything at all.
    pub enabled: bool,
    /// Where specs live, relative to the project. Empty: `./specs`.
    pub specs_dirs: Vec<String>,
    /// How many tasks of a parallel group run at once.
    pub max_parallel: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { enabled: true, specs_dirs: Vec::new(), max_parallel: DEFAULT_MAX_PARALLEL }
    }
}

/// Something wrong with a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line number, from 1.
    pub line: usize,
    /// What is wrong and what would be right.
    pub message: String,
}

/// Every key a settings file may have.
pub const KEYS: [&str; 3] = ["enabled", "specs_dirs", "max_parallel"];

/// One top-level key with the lines that belong to it.
struct Entry {
    line: usize,
    text: String,
}

/// Reads the front matter of a settings file.
pub fn parse(text: &[u8]) -> (Settings, Vec<Problem>) {
    let mut settings = Settings::default();
    let mut problems = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for entry in entries(text) {
        // Entry by entry, so that a mistake in one does not void the others.
        let outcome = serde_saphyr::from_str::<Value>(&entry.text)
            .map_err(|error| first_line(&error.to_string()))
            .and_then(|value| set(&mut settings, &mut seen, &value));
        if let Err(message) = outcome {
            problems.push(Problem { line: entry.line, message });
        }
    }
    (settings, problems)
}

/// Cuts the front matter into its top-level entries.
fn entries(text: &[u8]) -> Vec<Entry> {
    let mut lines = line::lines(text).enumerate();
    match lines.next() {
        Some((_, first)) if first.text.trim_ascii_end() == b"---" => {}
        _ => return Vec::new(),
    }
    let mut entries: Vec<Entry> = Vec::new();
    for (number, line) in lines {
        if matches!(line.text.trim_ascii_end(), b"---" | b"...") {
            break;
        }
        let begins =
            line.text.first().is_some_and(|b| !b.is_ascii_whitespace() && !b"-#]".contains(b));
        let shown = line::readable(line.text);
        match entries.last_mut() {
            Some(last) if !begins => {
                last.text.push('\n');
                last.text.push_str(&shown);
            }
            None if !begins => {}
            _ => entries.push(Entry { line: number + 1, text: shown }),
        }
    }
    entries
}

fn set(settings: &mut Settings, seen: &mut Vec<String>, value: &Value) -> Result<(), String> {
    let Some((key, value)) = value.as_object().and_then(|object| object.iter().next()) else {
        return Err("expected `key: value`".into());
    };
    if seen.contains(key) {
        return Err(format!("`{key}` is set twice; the first one counts"));
    }
    seen.push(key.clone());
    match key.as_str() {
        "enabled" => {
            settings.enabled = truth(value)
                .ok_or_else(|| format!("`enabled` must be true or false, not {value}"))?;
        }
        "specs_dirs" => {
            settings.specs_dirs = texts(value).ok_or("`specs_dirs` must be a list of paths")?;
        }
        "max_parallel" => {
            let number = value.as_u64().filter(|n| (1..=64).contains(n));
            settings.max_parallel =
                number.and_then(|n| usize::try_from(n).ok()).ok_or_else(|| {
                    format!("`max_parallel` must be a number from 1 to 64, not {value}")
                })?;
        }
        unknown => return Err(unknown_key(unknown)),
    }
    Ok(())
}

fn unknown_key(key: &str) -> String {
    match crate::nearest(key, KEYS) {
        Some(near) => format!("unknown key `{key}`; did you mean `{near}`?"),
        None => format!("unknown key `{key}`; the keys are {}", KEYS.join(", ")),
    }
}

/// Booleans as people write them: any case, quoted or not.
fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(*value),
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Null => Some(Vec::new()),
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Settings {
        parse(format!("---\n{body}\n---\n# Notes\nenabled: false\n").as_bytes()).0
    }

    fn problems(body: &str) -> Vec<String> {
        let (_, problems) = parse(format!("---\n{body}\n---\n").as_bytes());
        problems.into_iter().map(|p| format!("{}: {}", p.line, p.message)).collect()
    }

    #[test]
    fn no_front_matter_means_defaults() {
        for text in ["", "# Title\nenabled: false\n", "---", "---\n---\n"] {
            assert_eq!(parse(text.as_bytes()), (Settings::default(), vec![]), "{text}");
        }
    }

    #[test]
    fn enabled_is_false_in_any_case_quoted_or_not() {
        for value in [
            "false",
            "False",
            "FALSE",
            "'false'",
            "\"False\"",
            "no",
            "off",
            "false   # for now",
            "false\r",
        ] {
            assert!(!read(&format!("enabled: {value}")).enabled, "{value}");
        }
        for value in ["true", "TRUE", "'true'", "yes"] {
            assert!(read(&format!("enabled: {value}")).enabled, "{value}");
        }
    }

    #[test]
    fn lists_are_inline_or_block_with_any_quotes() {
        let expected = ["./a", "b c"];
        for body in [
            "specs_dirs: [./a, 'b c']",
            "specs_dirs: [\"./a\", b c]",
            "specs_dirs:\n  - ./a\n  - 'b c'",
            "specs_dirs:\n- ./a\n# comment\n- \"b c\"",
            "specs_dirs:\r\n  - ./a\r\n  - b c\r",
            "specs_dirs: [\n  ./a,\n  b c\n]",
        ] {
            assert_eq!(read(body).specs_dirs, expected, "{body}");
        }
        assert_eq!(read("specs_dirs: ./one").specs_dirs, ["./one"]);
        assert_eq!(read("specs_dirs:").specs_dirs, Vec::<String>::new());
    }

    #[test]
    fn a_mistake_is_named_and_voids_nothing_else() {
        let body =
            "specs_dir: [x]\nenabled: false\nmax_parallel: many\nspecs_dirs: [a\nenabled: true";
        assert_eq!(read(body), Settings { enabled: false, ..Settings::default() });
        insta::assert_snapshot!(problems(body).join("\n"), @"
        2: unknown key `specs_dir`; did you mean `specs_dirs`?
        4: `max_parallel` must be a number from 1 to 64, not \"many\"
        5: line 1 column 13: unclosed bracket '['
        6: `enabled` is set twice; the first one counts
        ");
        assert_eq!(
            problems("colour: red"),
            ["2: unknown key `colour`; the keys are enabled, specs_dirs, max_parallel"]
        );
        assert_eq!(problems("enabled: maybe").len(), 1);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_settings(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200), lead: bool) {
            let text = if lead { [b"---\n".as_slice(), &bytes].concat() } else { bytes };
            parse(&text);
        }
    }
}
