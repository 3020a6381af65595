use std::path::{Path, PathBuf};

use serde_json::json;
use specum_core::check::{self, Severity};
use specum_core::tasks::TaskFile;

use super::{NotHere, print, print_json, project, spec};
use crate::exit;
use crate::files::{self, FileError};
use crate::store::Store;

/// Look for mistakes in a tasks.md
///
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
    let (path, shown) = target(args.spec.as_deref())?;
    let text = files::read_if_there(&path, 64 * 1024 * 1024)?
        .ok_or_else(|| NotHere(format!("{shown} does not exist; write it, then check again")))?;
    let file = TaskFile::scan(&text);
    let findings = check::check(&file);
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    if args.json {
        let rows = findings.iter().map(|finding| {
            json!({"line": finding.line, "severity": word(finding.severity), "message": finding.message})
        });
        print_json(&json!({
            "path": shown,
            "tasks": file.tasks.len(),
            "findings": rows.collect::<Vec<_>>(),
        }))?;
    } else {
        for finding in &findings {
            let word = word(finding.severity);
            print(format!("{shown}:{}: {word}: {}", finding.line, finding.message))?;
        }
        let warnings = findings.len() - errors;
        print(format!("{} tasks, {errors} errors, {warnings} warnings", file.tasks.len()))?;
    }
    Ok(if errors == 0 { exit::OK } else { exit::FAILED })
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn target(named: Option<&str>) -> anyhow::Result<(PathBuf, String)> {
    if let Some(named) = named
        && Path::new(named).is_file()
    {
        let path = std::path::absolute(named)
            .map_err(|error| FileError::new("find", Path::new(named), error))?;
        return Ok((path, named.to_owned()));
    }
    let project = project()?;
    let spec = spec(&project, named)?;
    let path = Store::of(&spec).tasks_path();
    Ok((path, format!("{}/tasks.md", spec.shown)))
}
