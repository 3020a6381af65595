//! `.claude/ralph-specum.local.md`: settings in YAML front matter.
//!
//! [`parse`] gives the settings and, beside them, everything that is wrong
//! with the file. Verbs refuse to work on a file with problems; a hook takes
//! what it can, because a misspelt key must not turn off the others.

use serde_json::Value;

use crate::line;
use crate::plan::DEFAULT_MAX_PARALLEL;

/// What a project may set.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Whether the hooks do anything at all.
    pub enabled: bool,
    /// Where specs live, relative to the project. Empty: `./specs`.
    pub specs_dirs: Vec<String>,
    /// How many tasks of a parallel group run at once.
    pub max_parallel: usize,
    /// How `specum run` works; what is not set is left to its defaults.
    pub run: RunSettings,
}

/// What `specum run` takes from the settings. Each has an option of the same
/// name, which counts more.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunSettings {
    /// The agents, in the order in which they are asked.
    pub agent: Vec<String>,
    /// The command line behind the agent `command`.
    pub agent_command: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Attempts for each task.
    pub max_task_iterations: Option<u64>,
    /// Iteration at which the loop stops.
    pub max_global_iterations: Option<u64>,
    /// Whether a task that keeps failing gets a fix task.
    pub recovery_mode: Option<bool>,
    /// How long one start of an agent may take, in milliseconds.
    pub task_timeout: Option<u64>,
    /// How long it may be silent, in milliseconds.
    pub idle_timeout: Option<u64>,
    /// How long all of it may take, in milliseconds.
    pub max_time: Option<u64>,
    /// Most dollars.
    pub max_cost: Option<f64>,
    /// Most tokens.
    pub max_tokens: Option<u64>,
    /// A shell command that prepares a worktree.
    pub worktree_setup: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            enabled: true,
            specs_dirs: Vec::new(),
            max_parallel: DEFAULT_MAX_PARALLEL,
            run: RunSettings::default(),
        }
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
pub const KEYS: [&str; 15] = [
    "enabled",
    "specs_dirs",
    "max_parallel",
    "agent",
    "agent_command",
    "model",
    "max_task_iterations",
    "max_global_iterations",
    "recovery_mode",
    "task_timeout",
    "idle_timeout",
    "max_time",
    "max_cost",
    "max_tokens",
    "worktree_setup",
];

/// How much of a value may come from aliases.
const MOST_REPEATED: usize = 1000;

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
        let outcome = serde_saphyr::from_str_with_options::<Value>(&entry.text, yaml())
            .map_err(|error| first_line(&error.to_string()))
            .and_then(|value| set(&mut settings, &mut seen, &value));
        if let Err(message) = outcome {
            problems.push(Problem { line: entry.line, message });
        }
    }
    (settings, problems)
}

/// How an entry is read. Aliases of aliases can make a list of millions out of a
/// few lines, and a hook is asked at every stop.
fn yaml() -> serde_saphyr::Options {
    serde_saphyr::options! {
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MOST_REPEATED },
    }
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
        _ => set_run(&mut settings.run, key, value)?,
    }
    Ok(())
}

fn set_run(run: &mut RunSettings, key: &str, value: &Value) -> Result<(), String> {
    let wrong = |what: &str| format!("`{key}` must be {what}, not {value}");
    let text = || text(value).ok_or_else(|| wrong("a text"));
    let count = |most: u64| {
        let what = || wrong(&format!("a number from 1 to {most}"));
        value.as_u64().filter(|n| (1..=most).contains(n)).ok_or_else(what)
    };
    let span = || {
        // A number alone is seconds, here as there.
        let span = value.as_u64().map(|seconds| seconds.to_string());
        span.as_deref()
            .or_else(|| value.as_str())
            .and_then(duration)
            .filter(|millis| *millis > 0)
            .ok_or_else(|| wrong("a time such as 90s, 10m or 2h"))
    };
    match key {
        "agent" => {
            let names = texts(value).ok_or_else(|| wrong("a name or a list of names"))?;
            run.agent = names
                .iter()
                .flat_map(|names| names.split(','))
                .map(|name| name.trim().to_owned())
                .filter(|name| !name.is_empty())
                .collect();
        }
        "agent_command" => run.agent_command = Some(text()?),
        "model" => run.model = Some(text()?),
        "worktree_setup" => run.worktree_setup = Some(text()?),
        "max_task_iterations" => run.max_task_iterations = Some(count(1_000)?),
        "max_global_iterations" => run.max_global_iterations = Some(count(1_000_000)?),
        "max_tokens" => run.max_tokens = Some(count(u64::MAX)?),
        "recovery_mode" => {
            run.recovery_mode = Some(truth(value).ok_or_else(|| wrong("true or false"))?);
        }
        "max_cost" => {
            let cost = value.as_f64().filter(|cost| cost.is_finite() && *cost > 0.0);
            run.max_cost = Some(cost.ok_or_else(|| wrong("a number of dollars above 0"))?);
        }
        "task_timeout" => run.task_timeout = Some(span()?),
        "idle_timeout" => run.idle_timeout = Some(span()?),
        "max_time" => run.max_time = Some(span()?),
        unknown => return Err(unknown_key(unknown)),
    }
    Ok(())
}

/// A span of time as people write it, in milliseconds: `90`, `90s`, `10m`,
/// `1h30m`, `2d`.
pub fn duration(text: &str) -> Option<u64> {
    let mut rest = text.trim();
    let mut millis: u64 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number: u64 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "" | "s" | "sec" | "seconds" => 1_000,
            "ms" => 1,
            "m" | "min" | "minutes" => 60_000,
            "h" | "hours" => 3_600_000,
            "d" | "days" => 86_400_000,
            _ => return None,
        };
        rest = rest[letters..].trim_start();
        millis = millis.checked_add(number.checked_mul(unit)?)?;
    }
    Some(millis)
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

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
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
    fn aliases_that_multiply_are_a_problem_and_no_list() {
        let line = |name: &str, of: &str| format!("  - &{name} [{}]\n", [of; 8].join(","));
        let mut text = format!("---\nmax_parallel: 3\nagent:\n{}", line("a", "x"));
        for (name, of) in [("b", "*a"), ("c", "*b"), ("d", "*c"), ("e", "*d"), ("f", "*e")] {
            text.push_str(&line(name, of));
        }
        let (settings, problems) = parse(text.as_bytes());
        assert_eq!((settings.max_parallel, settings.run.agent.len()), (3, 0));
        assert_eq!(problems.len(), 1);
        assert!(problems[0].message.contains("alias"), "{}", problems[0].message);
        let few = parse(b"---\nspecs_dirs: [&a ./x, *a]\n").0.specs_dirs;
        assert_eq!(few, ["./x", "./x"]);
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
        let unknown = problems("colour: red").remove(0);
        assert!(unknown.starts_with("2: unknown key `colour`; the keys are enabled, specs_dirs,"));
        assert_eq!(problems("enabled: maybe").len(), 1);
    }

    #[test]
    fn a_run_takes_its_options_from_here() {
        let body = "agent: [claude, codex]\nagent_command: my-agent --fast\nmodel: opus\n\
            max_task_iterations: 3\nmax_global_iterations: 50\nrecovery_mode: yes\n\
            task_timeout: 1h30m\nidle_timeout: 90\nmax_time: 8h\nmax_cost: 2.5\n\
            max_tokens: 1000000\nworktree_setup: npm ci";
        assert_eq!(problems(body), Vec::<String>::new());
        let expected = RunSettings {
            agent: vec!["claude".into(), "codex".into()],
            agent_command: Some("my-agent --fast".into()),
            model: Some("opus".into()),
            max_task_iterations: Some(3),
            max_global_iterations: Some(50),
            recovery_mode: Some(true),
            task_timeout: Some(5_400_000),
            idle_timeout: Some(90_000),
            max_time: Some(28_800_000),
            max_cost: Some(2.5),
            max_tokens: Some(1_000_000),
            worktree_setup: Some("npm ci".into()),
        };
        assert_eq!(read(body).run, expected);
        assert_eq!(read("agent: claude, codex").run.agent, ["claude", "codex"]);
        for wrong in [
            "max_cost: -1",
            "max_cost: free",
            "max_tokens: 0",
            "idle_timeout: soon",
            "task_timeout: 10 fortnights",
            "recovery_mode: perhaps",
            "agent: {a: b}",
            "model:",
            "max_cots: 5",
        ] {
            assert_eq!(problems(wrong).len(), 1, "{wrong}");
        }
    }

    #[test]
    fn times_as_people_write_them() {
        let cases =
            [("90", 90_000), ("90s", 90_000), ("10m", 600_000), ("1h 30m", 5_400_000), ("5ms", 5)];
        for (text, millis) in cases {
            assert_eq!(duration(text), Some(millis), "{text}");
        }
        for text in ["", "m", "-5s", "1.5h", "5 lightyears", "99999999999999999999", "1h x"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_settings(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200), lead: bool) {
            let text = if lead { [b"---\n".as_slice(), &bytes].concat() } else { bytes };
            parse(&text);
        }
    }
}
