//! The loop's state: `.ralph-state.json`.
//!
//! [`State::parse`] accepts the file or says why not; it never fills in a
//! default for something that is there and wrong. [`State::render`] gives back
//! every field it does not know, in the order it was found, because other
//! programs keep theirs in the same file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::budget::Budget;
pub use crate::owner::{Owner, Process};
use crate::tasks::{Task, TaskFile};

/// The newest format this version writes. A file with a higher
/// `formatVersion` is read but never overwritten.
pub const FORMAT_VERSION: u64 = 1;

/// A state file longer than this is not one of ours.
pub const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The largest number a counter may have. Larger ones are nobody's count.
pub const MAX_COUNT: u64 = 1_000_000_000;

/// Default of `maxTaskIterations`.
pub const DEFAULT_MAX_TASK_ITERATIONS: u64 = 5;
/// What `maxGlobalIterations` is when the file does not say, and the least it
/// defaults to for a new loop.
pub const DEFAULT_MAX_GLOBAL_ITERATIONS: u64 = 100;
/// Default of `maxFixTasksPerOriginal` and of `maxFixTaskDepth`.
pub const DEFAULT_MAX_FIX_TASKS: u64 = 3;

/// Why a state file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Corrupt {
    /// No JSON.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// JSON, but no object.
    #[error("not a JSON object")]
    NotAnObject,
    /// A field of the wrong type or out of range.
    #[error("field `{0}` is {1}")]
    Field(&'static str, String),
    /// A newer version wrote something that this one cannot read.
    #[error("written in format {0}, which is newer than this version of specum")]
    Newer(u64),
    /// Too long to be a state file.
    #[error("longer than {MAX_BYTES} bytes")]
    TooLong,
    /// It is there but cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(String),
}

/// Where the spec stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// The tasks are being worked.
    Execution,
    /// `research`, `requirements`, `design`, `tasks` or anything else.
    Other(String),
}

impl Phase {
    /// The word in the file.
    pub fn as_str(&self) -> &str {
        match self {
            Phase::Execution => "execution",
            Phase::Other(name) => name,
        }
    }
}

/// Whether the loop may go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It may.
    Running,
    /// A person has to let it go on. Why, if nobody but specum wanted it to wait.
    Paused(Option<String>),
    /// It cannot go on by itself, for this reason.
    Blocked(String),
}

/// What is to be over before the loop waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PauseAfter {
    /// Whatever is worked on at the moment.
    Task,
    /// The phase with this heading.
    Phase(String),
}

/// Who feeds the agent its next prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Driver {
    /// Our own Stop hook.
    #[default]
    Hook,
    /// The Ralph Loop plugin.
    RalphLoop,
}

/// The batch that is running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ParallelGroup {
    /// Smallest index of the batch.
    pub start_index: usize,
    /// Largest index of the batch.
    pub end_index: usize,
    /// All of them.
    pub task_indices: Vec<usize>,
}

impl ParallelGroup {
    /// As in the file, where other programs look for the word that it is one.
    fn to_wire(&self) -> Value {
        let mut group = json(self);
        group["isParallel"] = Value::Bool(true);
        group
    }
}

/// How far a task has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// No verdict yet.
    Pending,
    /// Ticked and committed.
    Success,
    /// The last attempt failed.
    Failed,
}

/// What earlier attempts at a task came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskResult {
    /// The last verdict.
    pub status: Status,
    /// Why the last attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Attempts that ended with a verdict.
    #[serde(default, deserialize_with = "count")]
    pub attempts: u64,
    /// How often its work did not fit on top of the others'. Such a task runs
    /// alone.
    #[serde(
        default,
        rename = "setAside",
        skip_serializing_if = "is_zero",
        deserialize_with = "count"
    )]
    pub set_aside: u64,
    /// Whether the task waits for a person to accept a change of its check, and
    /// is not due until then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
    /// Whether it has used its attempts, and the loop goes on with what does not need it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocked: bool,
    /// The task's name. Positions shift when a task is inserted; names do not.
    #[serde(
        default,
        skip_serializing_if = "String::is_empty",
        deserialize_with = "crate::tasks::name_of_any_version"
    )]
    pub id: String,
}

impl TaskResult {
    /// The number of the next attempt. What was set aside has been an attempt,
    /// though none that failed.
    pub fn next_attempt(&self) -> u64 {
        self.attempts + self.set_aside + 1
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A number that may be somebody's count.
fn count<'de, D: serde::Deserializer<'de>>(source: D) -> Result<u64, D::Error> {
    let number = u64::deserialize(source)?;
    if number > MAX_COUNT {
        return Err(serde::de::Error::custom("nobody counts that far"));
    }
    Ok(number)
}

/// The number behind a count. The largest one stays what it is: a larger one
/// could not be read again.
pub(crate) fn one_more(count: u64) -> u64 {
    count.saturating_add(1).min(MAX_COUNT)
}

/// The fix tasks of one original.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fixes {
    /// How many were made.
    #[serde(default)]
    pub attempts: u64,
    /// Their ids.
    #[serde(default)]
    pub fix_task_ids: Vec<String>,
    /// What the original failed with when the last one was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// The state of a loop. Fields as in the file, in snake case.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the fields are documented in docs/state.md under their file names")]
pub struct State {
    pub phase: Phase,
    pub task_index: usize,
    /// Absent in files that never entered execution.
    pub total_tasks: Option<usize>,
    pub task_iteration: u64,
    pub max_task_iterations: u64,
    pub global_iteration: u64,
    pub max_global_iterations: u64,
    pub recovery_mode: bool,
    /// Whether the loop goes on with what does not need a blocked task.
    pub keep_going: bool,
    pub fix_task_map: BTreeMap<String, Fixes>,
    pub max_fix_tasks_per_original: u64,
    pub max_fix_task_depth: u64,
    pub parallel_group: Option<ParallelGroup>,
    /// By index, as in the file.
    pub task_results: BTreeMap<usize, TaskResult>,
    pub standing: Standing,
    pub quick_mode: bool,
    pub driver: Driver,
    pub owner: Option<Owner>,
    /// A digest of the plan as the last review has left it: whoever finds the same
    /// has nothing to review. Empty where somebody has to look; absent in a loop
    /// that another program began.
    pub plan: Option<String>,
    /// What is to be over before the loop waits for a person, if a person has said so.
    pub pause_after: Option<PauseAfter>,
    /// The phase that a person has let the loop work on, by its heading, if each has to
    /// be approved.
    pub approved: Option<String>,
    /// The phase that waits for a person to approve it, by its heading.
    pub waiting_for: Option<String>,
    /// The tasks that a person wants passed over, by name.
    pub skipped: Vec<String>,
    /// Caps and expenses.
    pub budget: Budget,
    pub format_version: u64,
    /// The file as it was read.
    found: Map<String, Value>,
}

impl State {
    /// A loop that is about to begin. Unlike a file that is only read, a new one
    /// spells out the fields people look for.
    pub fn new(total_tasks: usize) -> Self {
        let cap = Self::default_global_cap(total_tasks, DEFAULT_MAX_TASK_ITERATIONS);
        let fields = serde_json::json!({
            "phase": Phase::Execution.as_str(),
            "taskIndex": 0,
            "totalTasks": total_tasks,
            "taskIteration": 1,
            "maxTaskIterations": DEFAULT_MAX_TASK_ITERATIONS,
            "globalIteration": 1,
            "maxGlobalIterations": cap,
            "recoveryMode": false,
            "awaitingApproval": false,
        });
        let Value::Object(fields) = fields else { unreachable!("the literal is an object") };
        Self::from_object(fields).expect("the literal is a state")
    }

    /// The cap of a new loop: room for every task to use its attempts twice.
    pub fn default_global_cap(total_tasks: usize, max_task_iterations: u64) -> u64 {
        let needed = (total_tasks as u64).saturating_mul(max_task_iterations).saturating_mul(2);
        needed.clamp(DEFAULT_MAX_GLOBAL_ITERATIONS, MAX_COUNT)
    }

    /// Reads a state file.
    pub fn parse(bytes: &[u8]) -> Result<Self, Corrupt> {
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(object)) => {
                let newer = object
                    .get("formatVersion")
                    .and_then(Value::as_u64)
                    .filter(|version| *version > FORMAT_VERSION);
                Self::from_object(object).map_err(|error| newer.map_or(error, Corrupt::Newer))
            }
            Ok(_) => Err(Corrupt::NotAnObject),
            Err(error) => Err(Corrupt::NotJson(error.to_string())),
        }
    }

    fn from_object(found: Map<String, Value>) -> Result<Self, Corrupt> {
        let read = FieldReader(&found);
        let is_held = read.flag("awaitingApproval")?;
        let paused_for = read.text("pausedFor")?.map(str::to_owned);
        Ok(State {
            phase: match read.text("phase")? {
                Some("execution") => Phase::Execution,
                other => Phase::Other(other.unwrap_or_default().to_owned()),
            },
            task_index: read.index("taskIndex")?.unwrap_or(0),
            total_tasks: read.index("totalTasks")?,
            task_iteration: read.count("taskIteration")?.unwrap_or(1),
            max_task_iterations: read
                .count("maxTaskIterations")?
                .unwrap_or(DEFAULT_MAX_TASK_ITERATIONS),
            global_iteration: read.count("globalIteration")?.unwrap_or(1),
            max_global_iterations: read
                .count("maxGlobalIterations")?
                .unwrap_or(DEFAULT_MAX_GLOBAL_ITERATIONS),
            recovery_mode: read.flag("recoveryMode")?,
            keep_going: read.flag("keepGoing")?,
            fix_task_map: read.typed("fixTaskMap")?.unwrap_or_default(),
            max_fix_tasks_per_original: read
                .count("maxFixTasksPerOriginal")?
                .unwrap_or(DEFAULT_MAX_FIX_TASKS),
            max_fix_task_depth: read.count("maxFixTaskDepth")?.unwrap_or(DEFAULT_MAX_FIX_TASKS),
            parallel_group: read.typed("parallelGroup")?,
            task_results: read.typed("taskResults")?.unwrap_or_default(),
            standing: match read.text("blocked")? {
                Some(why) => Standing::Blocked(why.to_owned()),
                None if is_held => Standing::Paused(paused_for),
                None => Standing::Running,
            },
            quick_mode: read.flag("quickMode")?,
            driver: match read.text("driver")? {
                None | Some("hook") => Driver::Hook,
                Some("ralph-loop") => Driver::RalphLoop,
                Some(other) => return Err(Corrupt::Field("driver", format!("`{other}`"))),
            },
            owner: read.typed("owner")?,
            plan: read.text("plan")?.map(str::to_owned),
            pause_after: read.typed("pauseAfter")?,
            approved: read.text("approved")?.map(str::to_owned),
            waiting_for: read.text("waitingFor")?.map(str::to_owned),
            skipped: read.typed("skipped")?.unwrap_or_default(),
            budget: read.typed("budget")?.unwrap_or_default(),
            format_version: read.count("formatVersion")?.unwrap_or(FORMAT_VERSION),
            found,
        })
    }

    /// The fields as they are to be written.
    ///
    /// A field that was absent and has its default stays absent, so that a
    /// file does not grow by being read.
    pub fn to_object(&self) -> Map<String, Value> {
        let mut object = self.found.clone();
        let defaults = Self::from_object(Map::new()).expect("an empty object is a state");
        for ((name, value), (_, default)) in self.fields().into_iter().zip(defaults.fields()) {
            match value {
                Some(value) if object.contains_key(name) || Some(&value) != default.as_ref() => {
                    object.insert(name.to_owned(), value);
                }
                Some(_) => {}
                None => {
                    object.shift_remove(name);
                }
            }
        }
        object
    }

    /// The file as it is to be written.
    pub fn render(&self) -> Vec<u8> {
        render_object(&self.to_object())
    }

    /// Every typed field under its name in the file, in the order a new file
    /// is written in.
    fn fields(&self) -> Vec<(&'static str, Option<Value>)> {
        let driver = match self.driver {
            Driver::Hook => "hook",
            Driver::RalphLoop => "ralph-loop",
        };
        let (blocked, paused_for) = match &self.standing {
            Standing::Running => (None, None),
            Standing::Paused(why) => (None, why.as_ref()),
            Standing::Blocked(why) => (Some(why), None),
        };
        vec![
            ("formatVersion", Some(json(self.format_version))),
            ("phase", Some(json(self.phase.as_str()))),
            ("taskIndex", Some(json(self.task_index))),
            ("totalTasks", self.total_tasks.map(json)),
            ("taskIteration", Some(json(self.task_iteration))),
            ("maxTaskIterations", Some(json(self.max_task_iterations))),
            ("globalIteration", Some(json(self.global_iteration))),
            ("maxGlobalIterations", Some(json(self.max_global_iterations))),
            ("recoveryMode", Some(json(self.recovery_mode))),
            ("keepGoing", Some(json(self.keep_going))),
            ("fixTaskMap", Some(json(&self.fix_task_map))),
            ("maxFixTasksPerOriginal", Some(json(self.max_fix_tasks_per_original))),
            ("maxFixTaskDepth", Some(json(self.max_fix_task_depth))),
            ("parallelGroup", self.parallel_group.as_ref().map(ParallelGroup::to_wire)),
            ("taskResults", (!self.task_results.is_empty()).then(|| json(&self.task_results))),
            ("awaitingApproval", Some(json(self.standing != Standing::Running))),
            ("quickMode", Some(json(self.quick_mode))),
            ("driver", Some(json(driver))),
            ("owner", self.owner.as_ref().map(json)),
            ("blocked", blocked.map(json)),
            ("pausedFor", paused_for.map(json)),
            ("plan", self.plan.as_ref().map(json)),
            ("pauseAfter", self.pause_after.as_ref().map(json)),
            ("approved", self.approved.as_ref().map(json)),
            ("waitingFor", self.waiting_for.as_ref().map(json)),
            ("skipped", (!self.skipped.is_empty()).then(|| json(&self.skipped))),
            ("budget", (self.budget != Budget::default()).then(|| json(&self.budget))),
        ]
    }

    /// What the fields are called that are read and written.
    pub fn field_names() -> impl Iterator<Item = &'static str> {
        Self::new(1).fields().into_iter().map(|(name, _)| name)
    }

    /// Whether a newer version of specum wrote this file.
    pub fn is_newer_format(&self) -> bool {
        self.format_version > FORMAT_VERSION
    }

    /// Whether a plan is as the last review has left it.
    pub fn has_reviewed(&self, file: &TaskFile<'_>) -> bool {
        let plan = self.plan.as_deref().filter(|plan| !plan.is_empty());
        plan.is_some_and(|plan| plan == file.digest().hex())
    }

    /// Why the loop cannot go on by itself, if it cannot.
    pub fn blocked(&self) -> Option<&String> {
        match &self.standing {
            Standing::Blocked(why) => Some(why),
            Standing::Running | Standing::Paused(_) => None,
        }
    }

    /// Whether a person wants a task passed over.
    pub fn is_skipped(&self, task: &Task) -> bool {
        self.skipped.iter().any(|name| task.is_named(name))
    }

    /// How many attempts the loop may still make.
    pub fn attempts_left(&self) -> u64 {
        // The iteration is the number of the next one. A loop of another program ends
        // at the last one, as it does there.
        let end = self.max_global_iterations.saturating_add(u64::from(self.plan.is_some()));
        end.saturating_sub(self.global_iteration)
    }

    /// What earlier attempts at a task came to. The name decides, because
    /// positions shift; a result without one is taken by its position.
    pub fn result_of(&self, task: &Task) -> Option<&TaskResult> {
        let at_its_place = || self.task_results.get(&task.index).filter(|r| r.id.is_empty());
        self.task_results.values().find(|result| task.is_named(&result.id)).or_else(at_its_place)
    }
}

/// The fields of a state as a file.
pub fn render_object(object: &Map<String, Value>) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(object).expect("a map of strings is JSON");
    bytes.push(b'\n');
    bytes
}

fn json<T: Serialize>(value: T) -> Value {
    serde_json::to_value(value).expect("plain data is JSON")
}

/// Typed access to the fields of a file.
struct FieldReader<'a>(&'a Map<String, Value>);

impl<'a> FieldReader<'a> {
    fn wrong(name: &'static str, value: &Value) -> Corrupt {
        let shown = value.to_string();
        Corrupt::Field(name, crate::line::head(&shown, 60).to_owned())
    }

    fn count(&self, name: &'static str) -> Result<Option<u64>, Corrupt> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        match value.as_u64() {
            Some(number) if number <= MAX_COUNT => Ok(Some(number)),
            _ => Err(Self::wrong(name, value)),
        }
    }

    fn index(&self, name: &'static str) -> Result<Option<usize>, Corrupt> {
        Ok(self.count(name)?.map(|number| usize::try_from(number).unwrap_or(usize::MAX)))
    }

    fn flag(&self, name: &'static str) -> Result<bool, Corrupt> {
        match self.0.get(name) {
            None => Ok(false),
            Some(Value::Bool(value)) => Ok(*value),
            Some(value) => Err(Self::wrong(name, value)),
        }
    }

    fn text(&self, name: &'static str) -> Result<Option<&'a str>, Corrupt> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(value)) => Ok(Some(value)),
            Some(value) => Err(Self::wrong(name, value)),
        }
    }

    fn typed<T: for<'de> Deserialize<'de>>(
        &self,
        name: &'static str,
    ) -> Result<Option<T>, Corrupt> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => T::deserialize(value).map(Some).map_err(|_| Self::wrong(name, value)),
        }
    }
}

#[cfg(test)]
mod tests;
