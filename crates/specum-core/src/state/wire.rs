//! The loop's state in the fields of `.ralph-state.json`.
//!
//! Only this module knows what the fields are called, which of them may be absent and
//! how each value is written.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Corrupt, DEFAULT_MAX_FIX_TASKS, DEFAULT_MAX_GLOBAL_ITERATIONS, DEFAULT_MAX_TASK_ITERATIONS,
    Driver, FORMAT_VERSION, Fixes, MAX_COUNT, ParallelGroup, Phase, Standing, State, Status,
    TaskResult,
};
use crate::authoring::Planning;
use crate::budget::Budget;

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

    /// The state of a spec whose documents are about to be written.
    pub fn of_planning(name: &str, base_path: &str, planning: Planning) -> Self {
        let fields = serde_json::json!({"name": name, "basePath": base_path});
        let Value::Object(fields) = fields else { unreachable!("the literal is an object") };
        let state = Self::from_object(fields).expect("the literal is a state");
        State { planning: Some(planning), ..state }
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
        let planning = Planning::of_state(&found);
        // A document that waits for an approval is no pause of the loop.
        let asks = planning.as_ref().is_some_and(|planning| planning.awaits().is_some());
        let is_held = read.flag("awaitingApproval")? && !asks;
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
            fix_task_map: read.map::<_, WireFixes, _>("fixTaskMap")?,
            max_fix_tasks_per_original: read
                .count("maxFixTasksPerOriginal")?
                .unwrap_or(DEFAULT_MAX_FIX_TASKS),
            max_fix_task_depth: read.count("maxFixTaskDepth")?.unwrap_or(DEFAULT_MAX_FIX_TASKS),
            parallel_group: read.typed::<WireGroup>("parallelGroup")?.map(WireGroup::into_group),
            task_results: read.map::<_, WireResult, _>("taskResults")?,
            standing: match read.text("blocked")? {
                Some(why) => Standing::Blocked(why.to_owned()),
                None if is_held || (asks && paused_for.is_some()) => Standing::Paused(paused_for),
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
            planning,
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
        if let Some(planning) = &self.planning {
            object.extend(planning.fields());
            let waits = self.standing != Standing::Running || planning.awaits().is_some();
            object.insert("awaitingApproval".to_owned(), Value::from(waits));
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
        let results: BTreeMap<usize, WireResult> =
            self.task_results.iter().map(|(index, result)| (*index, result.into())).collect();
        let fixes: BTreeMap<&str, WireFixes> =
            self.fix_task_map.iter().map(|(id, fixes)| (id.as_str(), fixes.into())).collect();
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
            ("fixTaskMap", Some(json(&fixes))),
            ("maxFixTasksPerOriginal", Some(json(self.max_fix_tasks_per_original))),
            ("maxFixTaskDepth", Some(json(self.max_fix_task_depth))),
            ("parallelGroup", self.parallel_group.as_ref().map(|group| json(WireGroup::of(group)))),
            ("taskResults", (!results.is_empty()).then(|| json(&results))),
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

    /// A map of `W`, as the file has them; an absent one is empty.
    fn map<K, W, T>(&self, name: &'static str) -> Result<BTreeMap<K, T>, Corrupt>
    where
        K: Ord + for<'de> Deserialize<'de>,
        W: Into<T> + for<'de> Deserialize<'de>,
    {
        let found = self.typed::<BTreeMap<K, W>>(name)?.unwrap_or_default();
        Ok(found.into_iter().map(|(key, wire)| (key, wire.into())).collect())
    }
}

/// [`TaskResult`] in the file, where its key is the index of its task.
#[derive(Serialize, Deserialize)]
struct WireResult {
    #[serde(with = "WireStatus")]
    status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(default, deserialize_with = "count")]
    attempts: u64,
    #[serde(
        default,
        rename = "setAside",
        skip_serializing_if = "is_zero",
        deserialize_with = "count"
    )]
    set_aside: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    waits: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    blocked: bool,
    /// Another program's results have no name.
    #[serde(
        default,
        skip_serializing_if = "String::is_empty",
        deserialize_with = "crate::tasks::name_of_any_version"
    )]
    id: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase", remote = "Status")]
enum WireStatus {
    Pending,
    Success,
    Failed,
}

/// A number that may be somebody's count.
fn count<'de, D: serde::Deserializer<'de>>(source: D) -> Result<u64, D::Error> {
    let number = u64::deserialize(source)?;
    if number > MAX_COUNT {
        return Err(serde::de::Error::custom("larger than any count"));
    }
    Ok(number)
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl From<WireResult> for TaskResult {
    fn from(wire: WireResult) -> Self {
        let WireResult { status, error, attempts, set_aside, waits, blocked, id } = wire;
        TaskResult { status, error, attempts, set_aside, waits, blocked, id }
    }
}

impl From<&TaskResult> for WireResult {
    fn from(result: &TaskResult) -> Self {
        let TaskResult { status, error, attempts, set_aside, waits, blocked, id } = result.clone();
        WireResult { status, error, attempts, set_aside, waits, blocked, id }
    }
}

/// [`Fixes`] in the file, where its key is the id of the original.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireFixes {
    #[serde(default)]
    attempts: u64,
    #[serde(default)]
    fix_task_ids: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
}

impl From<WireFixes> for Fixes {
    fn from(wire: WireFixes) -> Self {
        let WireFixes { attempts, fix_task_ids, last_error } = wire;
        Fixes { attempts, fix_task_ids, last_error }
    }
}

impl From<&Fixes> for WireFixes {
    fn from(fixes: &Fixes) -> Self {
        let Fixes { attempts, fix_task_ids, last_error } = fixes.clone();
        WireFixes { attempts, fix_task_ids, last_error }
    }
}

/// [`ParallelGroup`] in the file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireGroup {
    start_index: usize,
    end_index: usize,
    task_indices: Vec<usize>,
    /// Other programs look for it.
    #[serde(default, skip_deserializing)]
    is_parallel: bool,
}

impl WireGroup {
    fn of(group: &ParallelGroup) -> WireGroup {
        let ParallelGroup { start_index, end_index, task_indices } = group.clone();
        WireGroup { start_index, end_index, task_indices, is_parallel: true }
    }

    fn into_group(self) -> ParallelGroup {
        let WireGroup { start_index, end_index, task_indices, is_parallel: _ } = self;
        ParallelGroup { start_index, end_index, task_indices }
    }
}
