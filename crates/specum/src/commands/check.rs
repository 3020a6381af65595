use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::json;
use specum_core::check::{self, Severity};
use specum_core::tasks::{self, Check, Task, TaskFile};

use super::{NotHere, command_json, print, print_json, project, spec};
use crate::attempt::checks_on_record;
use crate::exit;
use crate::files::{self, FileError};
use crate::process;
use crate::store::Store;

/// Look for mistakes in a tasks.md
///
/// Shows which commands will be run to check each open task, then what is wrong.
/// Errors end with exit code 1, warnings do not.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name or path of a spec, or a file; the active spec if left out
    spec: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let Target { path, shown, root, store } = target(args.spec.as_deref())?;
    let text = files::read_if_there(&path, 64 * 1024 * 1024)?
        .ok_or_else(|| NotHere(format!("{shown} does not exist; write it, then check again")))?;
    let file = TaskFile::scan(&text);
    let lookup = process::lookup(&root);
    let findings = check::check(&file, &lookup);
    let on_record = match &store {
        Some(store) => checks_on_record(store, &file)?,
        None => HashMap::new(),
    };
    let checks = file.open().filter_map(|task| {
        let commands = counted_check(&on_record, &file, task)?.commands(&lookup);
        (!commands.is_empty()).then_some((task, commands))
    });
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    if args.json {
        let rows = findings.iter().map(|finding| {
            json!({"line": finding.line, "severity": word(finding.severity), "message": finding.message})
        });
        print_json(&json!({
            "path": shown,
            "tasks": file.tasks.len(),
            "findings": rows.collect::<Vec<_>>(),
            "checks": checks.map(|(task, commands)| json!({
                "task": task.name(),
                "line": task.line,
                "commands": commands.iter().map(command_json).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
        }))?;
    } else {
        for (task, commands) in checks {
            let check = tasks::shown(&commands);
            let id = task.name();
            let why = if on_record.contains_key(&id) { WAITS } else { "" };
            print(format!("{shown}:{}: check: {id} by {check}{why}", task.line))?;
        }
        for finding in &findings {
            let word = word(finding.severity);
            print(format!("{shown}:{}: {word}: {}", finding.line, finding.message))?;
        }
        let warnings = findings.len() - errors;
        let counts = [(file.tasks.len(), "task"), (errors, "error"), (warnings, "warning")];
        let counts = counts
            .map(|(count, what)| format!("{count} {what}{}", if count == 1 { "" } else { "s" }));
        print(counts.join(", "))?;
    }
    Ok(if errors == 0 { exit::OK } else { exit::FAILED })
}

/// Said behind a check that is not the one in the plan.
const WAITS: &str = ", the check on record: the plan's waits for `specum accept`";

/// The check that will be run for a task: the one on record if the plan's waits
/// for a person.
pub(super) fn counted_check(
    on_record: &HashMap<String, Check>,
    file: &TaskFile<'_>,
    task: &Task,
) -> Option<Check> {
    on_record.get(&task.name()).cloned().or_else(|| file.fields(task).verify)
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// What is looked at.
struct Target {
    path: PathBuf,
    /// As a person would name it.
    shown: String,
    /// Where its commands would be run.
    root: PathBuf,
    /// The spec's files, if it is the plan of one.
    store: Option<Store>,
}

fn target(named: Option<&str>) -> anyhow::Result<Target> {
    if let Some(named) = named
        && Path::new(named).is_file()
    {
        let path = std::path::absolute(named)
            .map_err(|error| FileError::new("find", Path::new(named), error))?;
        let folder = path.parent().unwrap_or(&path).to_owned();
        let root = project().map_or(folder, |project| project.root);
        return Ok(Target { path, shown: named.to_owned(), root, store: None });
    }
    let project = project()?;
    let spec = spec(&project, named)?;
    let store = Store::of(&spec);
    let (path, shown) = (store.tasks_path(), format!("{}/tasks.md", spec.shown));
    Ok(Target { path, shown, root: spec.root, store: Some(store) })
}
