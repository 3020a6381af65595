//! What has grown old: logs of loops that are over, and references to work that
//! has been done again since. What is deleted is said.

use std::fs;

use jiff::{SignedDuration, Timestamp};
use specum_core::retention;

use super::RunError;
use crate::attempt::Workspace;
use crate::clock;
use crate::files::FileError;
use crate::logs;
use crate::names::kept_references;

/// How long it is kept unless a person says otherwise.
const DAYS: u64 = 30;

/// Deletes what is older than so many days, and gives a sentence for each kind.
pub(super) fn forget_old(
    workspace: &Workspace,
    days: Option<u64>,
) -> Result<Vec<String>, RunError> {
    let days = days.unwrap_or(DAYS);
    let age = SignedDuration::from_hours(i64::try_from(days).unwrap_or(0) * 24);
    let Ok(moment) = clock::now().checked_sub(age) else { return Ok(Vec::new()) };
    let moment = moment.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
    let journal = workspace.store.read_journal()?;
    let old = retention::older_than(&journal, &moment);
    let mut said = Vec::new();
    if let Ok(git) = &workspace.git {
        // The journal is no authority on other references.
        for reference in git.references(&kept_references(&workspace.spec))? {
            if let Some(task) = old.kept.get(reference.as_str()) {
                git.delete_reference(&reference)?;
                said.push(format!(
                    "deleted {reference}, unfinished work at {task}, which was done since: older \
                     than {days} days (keep_days)"
                ));
            }
        }
    }
    let count = forget_logs(workspace, old.logs_before)?;
    if count > 0 {
        let logs = if count == 1 { "log" } else { "logs" };
        said.push(format!("deleted {count} {logs} of agents, older than {days} days (keep_days)"));
    }
    Ok(said)
}

fn forget_logs(workspace: &Workspace, before: &str) -> Result<usize, RunError> {
    let (Some(dir), Ok(before)) = (logs::log_dir(&workspace.spec), before.parse::<Timestamp>())
    else {
        return Ok(0);
    };
    let mut count = 0;
    // A folder that is not there has no logs.
    for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
        let written = entry.metadata().ok().filter(fs::Metadata::is_file);
        let written = written.and_then(|found| Timestamp::try_from(found.modified().ok()?).ok());
        if written.is_some_and(|written| written < before) {
            let path = entry.path();
            fs::remove_file(&path).map_err(|error| FileError::new("delete", &path, error))?;
            count += 1;
        }
    }
    Ok(count)
}
