use serde_json::json;
use specum_core::state::State;

use super::{print, print_json, project, warn};
use crate::exit;
use crate::project::Spec;
use crate::store::Store;

/// List the specs of this project
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let project = project()?;
    // Whoever has to fix the marker needs the names.
    let active = project.current().unwrap_or_else(|error| {
        warn(error);
        None
    });
    let specs = project.specs();
    let is_active = |spec: &Spec| active.as_ref() == Some(spec);
    if args.json {
        let rows = specs.iter().map(|spec| row(spec, is_active(spec))).collect();
        print_json(&rows)?;
        return Ok(exit::OK);
    }
    if specs.is_empty() {
        print("no specs yet: write specs/<name>/tasks.md, then `specum check <name>`")?;
    }
    let width = specs.iter().map(|spec| spec.name.chars().count()).max().unwrap_or(0);
    for spec in &specs {
        let row = row(spec, is_active(spec));
        let mark = if is_active(spec) { '*' } else { ' ' };
        let phase = row["phase"].as_str().unwrap_or("-");
        print(format!(
            "{mark} {:width$}  {:>3}/{:<3}  {phase:12}  {}",
            spec.name, row["done"], row["total"], spec.shown
        ))?;
    }
    Ok(exit::OK)
}

fn row(spec: &Spec, active: bool) -> serde_json::Value {
    let store = Store::of(spec);
    let tasks = store.read_tasks().ok().flatten().unwrap_or_default();
    let file = tasks.file();
    let phase = match store.read_state() {
        Some(Ok(State { phase, .. })) => Some(phase.as_str().to_owned()),
        Some(Err(_)) => Some("corrupt".into()),
        None => None,
    };
    json!({
        "name": spec.name,
        "path": spec.shown,
        "active": active,
        "phase": phase,
        "done": file.done_count(),
        "total": file.tasks.len(),
    })
}
