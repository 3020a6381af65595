//! Settings: `specum.yaml` for a team, and on top of it the YAML front matter of
//! `.claude/ralph-specum.local.md` for one person.
//!
//! [`read`] takes a file over the settings of another one and gives everything that is
//! wrong with it. Verbs refuse to work on a file with problems; a hook takes
//! what it can, because a misspelt key must not turn off the others.
//!
//! The smart-ralph plugin keeps its settings in a file of the name of the second. Its
//! keys are no mistakes: [`inherited`] names them.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::authoring::{Profile, TaskSize};
use crate::duration;
use crate::line;
use crate::notice::{self, Notice};
use crate::plan::DEFAULT_MAX_PARALLEL;
use crate::spec::Doc;
use crate::spec::red::RedFirst;
use crate::suite::{self, Suite};

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
    /// How `specum plan` works.
    pub plan: PlanSettings,
}

/// How documents are written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlanSettings {
    /// How many documents a spec has.
    pub profile: Option<Profile>,
    /// The documents a person is asked about; `None`: all of them.
    pub approve: Option<BTreeSet<Doc>>,
    /// Whether a document that is agreed to becomes a commit.
    pub commit_spec: Option<bool>,
    /// How large a task is.
    pub tasks_size: Option<TaskSize>,
    /// The folder with what the team adds to the briefs of authors.
    pub brief_extra: Option<String>,
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
    /// Attempts for the whole loop.
    pub max_global_iterations: Option<u64>,
    /// Whether a task that keeps failing gets a fix task.
    pub recovery_mode: Option<bool>,
    /// Whether a person has to approve each phase.
    pub approve: Option<bool>,
    /// How long one start of an agent may take, in milliseconds.
    pub task_timeout: Option<u64>,
    /// How long it may be silent, in milliseconds.
    pub idle_timeout: Option<u64>,
    /// The checks of the whole plan.
    pub suite: Suite,
    /// How long a check may take, in milliseconds.
    pub verify_timeout: Option<u64>,
    /// How long all of it may take, in milliseconds.
    pub max_time: Option<u64>,
    /// Most dollars.
    pub max_cost: Option<f64>,
    /// Most tokens.
    pub max_tokens: Option<u64>,
    /// How many days old logs, and copies of work that was done again, are kept.
    pub keep_days: Option<u64>,
    /// A shell command that prepares a worktree.
    pub worktree_setup: Option<String>,
    /// Whether tasks in sequence are worked in a worktree too.
    pub isolate: Option<bool>,
    /// What stays in that worktree from one attempt to the next: paths below the
    /// project.
    pub worktree_caches: Vec<String>,
    /// Whether an agent may change what git starts, such as its hooks.
    pub accept_git_changes: Option<bool>,
    /// Whether to go on with what does not need a blocked task.
    pub keep_going: Option<bool>,
    /// The branch that is worked on.
    pub branch: Option<Branch>,
    /// What is done about checks that pass before the work.
    pub red_first: Option<RedFirst>,
    /// Whether executors may have tasks added to the plan.
    pub modifications: Option<bool>,
    /// How many tasks may be added so in a loop.
    pub max_added_tasks: Option<usize>,
    /// A shell command that is started when something happens.
    pub notify: Option<String>,
    /// What it is started for; `None`: what is worth it by default.
    pub notify_on: Option<Vec<Notice>>,
    /// Whether a terminal rings at the end of a long run.
    pub bell: Option<bool>,
}

/// The branch that a run works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Branch {
    /// The one that is checked out.
    Here,
    /// One that is named after the spec.
    OfSpec,
    /// This one.
    Named(String),
}

/// Where settings stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A file for everybody who works on the project.
    Team,
    /// A file for one person, on top of the other.
    Person,
}

impl Place {
    /// The file, below the project.
    pub fn file(self) -> &'static str {
        match self {
            Place::Team => "specum.yaml",
            Place::Person => ".claude/ralph-specum.local.md",
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            enabled: true,
            specs_dirs: Vec::new(),
            max_parallel: DEFAULT_MAX_PARALLEL,
            run: RunSettings::default(),
            plan: PlanSettings::default(),
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
pub const KEYS: &[&str] = &[
    "enabled",
    "specs_dirs",
    "max_parallel",
    "agent",
    "agent_command",
    "model",
    "max_task_iterations",
    "max_global_iterations",
    "recovery_mode",
    "approve",
    "task_timeout",
    "idle_timeout",
    "verify",
    "verify_all",
    "verify_timeout",
    "max_time",
    "max_cost",
    "max_tokens",
    "keep_days",
    "worktree_setup",
    "isolate",
    "worktree_caches",
    "accept_git_changes",
    "keep_going",
    "branch",
    "red_first",
    "modifications",
    "max_added_tasks",
    "notify",
    "notify_on",
    "bell",
    "profile",
    "commit_spec",
    "tasks_size",
    "brief_extra",
];

/// A key of the smart-ralph plugin, whose settings file has the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inherited {
    /// Line number, from 1.
    pub line: usize,
    /// The key.
    pub key: &'static str,
    /// The key of ours that it sets; `None` if it has no effect here.
    pub read_as: Option<&'static str>,
}

/// The keys of that plugin which specum does not have, and what they mean here.
const INHERITED_KEYS: [(&str, Option<&str>); 3] = [
    (DEFAULT_MAX_ITERATIONS, Some("max_task_iterations")),
    ("auto_commit_spec", None),
    ("quick_mode_default", None),
];
const DEFAULT_MAX_ITERATIONS: &str = "default_max_iterations";

/// How much of a value may come from aliases.
const MOST_REPEATED: usize = 1000;

/// One top-level key with the lines that belong to it.
pub(crate) struct SettingEntry {
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// Reads a person's settings alone.
pub fn parse(text: &[u8]) -> (Settings, Vec<Problem>) {
    let mut settings = Settings::default();
    let problems = read(Place::Person, text, &mut settings);
    (settings, problems)
}

/// Takes what a file sets over other settings, and says what is wrong with it.
pub fn read(place: Place, text: &[u8], settings: &mut Settings) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    if place == Place::Person && !has_front_matter(text) && !text.trim_ascii().is_empty() {
        let message = "there are no settings here: they stand at the top, between two lines `---`";
        problems.push(Problem { line: 1, message: message.to_owned() });
    }
    for entry in entries(place, text) {
        // SettingEntry by entry, so that a mistake in one does not void the others.
        let outcome = yaml_value(&entry.text).and_then(|value| set(settings, &mut seen, &value));
        if let Err(message) = outcome {
            problems.push(Problem { line: entry.line, message });
        }
    }
    problems
}

/// The keys of a settings file that come from the smart-ralph plugin.
pub fn inherited(text: &[u8]) -> Vec<Inherited> {
    let of_entry = |entry: SettingEntry| {
        let named = entry.text.split(':').next()?.trim().trim_matches(['"', '\'']);
        let (key, read_as) = INHERITED_KEYS.into_iter().find(|(key, _)| *key == named)?;
        Some(Inherited { line: entry.line, key, read_as })
    };
    entries(Place::Person, text).into_iter().filter_map(of_entry).collect()
}

/// What a piece of YAML says, or why it is none.
pub(crate) fn yaml_value(text: &str) -> Result<Value, String> {
    serde_saphyr::from_str_with_options::<Value>(text, yaml())
        .map_err(|error| first_line(&error.to_string()))
}

/// How an entry is read. Aliases of aliases can make a list of millions out of a
/// few lines, and a hook is asked at every stop.
fn yaml() -> serde_saphyr::Options {
    serde_saphyr::options! {
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MOST_REPEATED },
    }
}

fn has_front_matter(text: &[u8]) -> bool {
    line::lines(text).next().is_some_and(|first| first.text.trim_ascii_end() == b"---")
}

/// Cuts a file, or its front matter, into the top-level entries.
pub(crate) fn entries(place: Place, text: &[u8]) -> Vec<SettingEntry> {
    let mut lines = line::lines(text).enumerate();
    match (has_front_matter(text), place) {
        (true, _) => drop(lines.next()),
        (false, Place::Person) => return Vec::new(),
        (false, Place::Team) => {}
    }
    let mut entries: Vec<SettingEntry> = Vec::new();
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
            _ => entries.push(SettingEntry { line: number + 1, text: shown }),
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
        // The other two have no effect, so any value will do.
        "auto_commit_spec" | "quick_mode_default" => {}
        // Our own key counts more, wherever it stands.
        DEFAULT_MAX_ITERATIONS => {
            let mut theirs = RunSettings::default();
            set_run(&mut theirs, key, value)?;
            if settings.run.max_task_iterations.is_none() {
                settings.run.max_task_iterations = theirs.max_task_iterations;
            }
        }
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
        "approve" => set_approve(settings, value)?,
        "profile" => {
            let named = value.as_str().and_then(Profile::named);
            let wrong = || format!("`profile` must be small, standard or full, not {value}");
            settings.plan.profile = Some(named.ok_or_else(wrong)?);
        }
        "tasks_size" => {
            settings.plan.tasks_size = Some(match value.as_str() {
                Some("coarse") => TaskSize::Coarse,
                Some("fine") => TaskSize::Fine,
                _ => return Err(format!("`tasks_size` must be coarse or fine, not {value}")),
            });
        }
        "commit_spec" => {
            let wrong = || format!("`commit_spec` must be true or false, not {value}");
            settings.plan.commit_spec = Some(truth(value).ok_or_else(wrong)?);
        }
        "brief_extra" => {
            let folder = text(value).filter(|folder| is_inside(folder));
            let wrong = || format!("`brief_extra` must be a folder below the project, not {value}");
            settings.plan.brief_extra = Some(folder.ok_or_else(wrong)?);
        }
        _ => set_run(&mut settings.run, key, value)?,
    }
    Ok(())
}

/// One list for everything that waits for a person: documents, and each phase of the
/// plan.
fn set_approve(settings: &mut Settings, value: &Value) -> Result<(), String> {
    let wrong = || {
        format!(
            "`approve` must be never, or a list of requirements, design, tasks, research and \
             phase, not {value}"
        )
    };
    let names = texts(value).ok_or_else(wrong)?;
    let names: Vec<&str> = names.iter().flat_map(|names| names.split(',')).map(str::trim).collect();
    let is_known = |name: &str| matches!(name, "phase" | "never") || Doc::named(name).is_some();
    if names.is_empty() || !names.iter().all(|name| is_known(name)) {
        return Err(wrong());
    }
    let docs: BTreeSet<Doc> = names.iter().filter_map(|name| Doc::named(name)).collect();
    settings.run.approve = Some(names.contains(&"phase"));
    // `phase` alone says nothing of documents.
    if !docs.is_empty() || names.contains(&"never") {
        settings.plan.approve = Some(docs);
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
            .and_then(duration::millis)
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
        "isolate" => run.isolate = Some(truth(value).ok_or_else(|| wrong("true or false"))?),
        "worktree_caches" => {
            let paths = texts(value).filter(|paths| paths.iter().all(|path| is_inside(path)));
            let what = "a path or a list of paths below the project, such as `target`";
            run.worktree_caches = paths.ok_or_else(|| wrong(what))?;
        }
        "max_task_iterations" | DEFAULT_MAX_ITERATIONS => {
            run.max_task_iterations = Some(count(1_000)?);
        }
        "max_global_iterations" => run.max_global_iterations = Some(count(1_000_000)?),
        "max_tokens" => run.max_tokens = Some(count(u64::MAX)?),
        "accept_git_changes" => {
            run.accept_git_changes = Some(truth(value).ok_or_else(|| wrong("true or false"))?);
        }
        "keep_days" => run.keep_days = Some(count(36_500)?),
        "recovery_mode" => {
            run.recovery_mode = Some(truth(value).ok_or_else(|| wrong("true or false"))?);
        }
        "max_cost" => {
            let cost = value.as_f64().filter(|cost| cost.is_finite() && *cost > 0.0);
            run.max_cost = Some(cost.ok_or_else(|| wrong("a number of dollars above 0"))?);
        }
        "keep_going" => run.keep_going = Some(truth(value).ok_or_else(|| wrong("true or false"))?),
        "bell" => run.bell = Some(truth(value).ok_or_else(|| wrong("true or false"))?),
        "branch" => {
            run.branch = Some(match truth(value) {
                Some(false) => Branch::Here,
                Some(true) => Branch::OfSpec,
                None => Branch::Named(self::text(value).ok_or_else(|| wrong("a name, or true"))?),
            });
        }
        "modifications" => {
            run.modifications = Some(truth(value).ok_or_else(|| wrong("true or false"))?);
        }
        "max_added_tasks" => {
            let number = value.as_u64().filter(|n| *n <= 1_000).and_then(|n| n.try_into().ok());
            run.max_added_tasks = Some(number.ok_or_else(|| wrong("a number from 0 to 1000"))?);
        }
        "red_first" => {
            run.red_first = Some(match (truth(value), self::text(value).as_deref()) {
                // YAML reads `off` as a truth value.
                (Some(false), _) => RedFirst::Off,
                (_, Some("note")) => RedFirst::Note,
                (_, Some("strict")) => RedFirst::Strict,
                _ => return Err(wrong("`off`, `note` or `strict`")),
            });
        }
        "notify" => run.notify = Some(text()?),
        "notify_on" => {
            let names = texts(value).ok_or_else(|| wrong("a list of names"))?;
            let found = names.iter().map(|name| notice::by_name(name)).collect::<Result<_, _>>();
            run.notify_on = Some(found.map_err(|why| format!("`notify_on`: {why}"))?);
        }
        "task_timeout" => run.task_timeout = Some(span()?),
        "idle_timeout" => run.idle_timeout = Some(span()?),
        suite::VERIFY => run.suite.verify = suite::value(key, value)?,
        suite::VERIFY_ALL => run.suite.verify_all = suite::value(key, value)?,
        "verify_timeout" => run.verify_timeout = Some(span()?),
        "max_time" => run.max_time = Some(span()?),
        unknown => return Err(unknown_key(unknown)),
    }
    Ok(())
}

fn unknown_key(key: &str) -> String {
    match crate::nearest(key, KEYS.iter().copied()) {
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

/// Whether a path names something below the folder it begins in, and nothing of
/// git's.
fn is_inside(path: &str) -> bool {
    let mut parts = path.split(['/', '\\']).filter(|part| !matches!(*part, "" | ".")).peekable();
    let is_relative = !path.starts_with(['/', '\\', '~']) && !path.contains(':');
    let first = parts.peek().copied();
    is_relative && first.is_some_and(|first| first != ".git") && parts.all(|part| part != "..")
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests;
