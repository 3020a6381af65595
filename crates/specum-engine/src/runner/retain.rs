//! What has grown old: logs of loops that are over, references to work that has been
//! done again since, the journals of earlier loops, removed specs, and notes about
//! sessions. What is deleted is said.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use specum_core::moment::Moment;
use specum_core::retention;

use super::RunError;
use crate::attempt::Workspace;
use crate::logs;
use crate::names::kept_references;
use crate::ports::{Disk, FileInfo};
use crate::session;
use crate::trash;

/// How long it is kept unless a person says otherwise.
const DAYS: u64 = 30;

/// Deletes what is older than so many days, and gives a sentence for each kind.
pub(super) fn forget_old(
    workspace: &Workspace,
    days: Option<u64>,
) -> Result<Vec<String>, RunError> {
    let days = days.unwrap_or(DAYS);
    let age = SignedDuration::from_hours(i64::try_from(days).unwrap_or(0) * 24);
    let world = workspace.world();
    let Ok(moment) = world.clock.now().checked_sub(age) else { return Ok(Vec::new()) };
    let why = format!("older than {days} days (keep_days)");
    let mut said = forget_story(workspace, moment, &why)?;
    said.extend(forget_trash(workspace, moment, &why)?);
    if let count @ 1.. = session::forget_old(world, moment)? {
        said.push(format!("deleted {} about sessions: {why}", counted(count, "note")));
    }
    Ok(said)
}

/// What is old in the story of the spec itself.
fn forget_story(
    workspace: &Workspace,
    moment: Timestamp,
    why: &str,
) -> Result<Vec<String>, RunError> {
    let as_in_records = Moment::from(moment);
    let story = workspace.store.read_story()?;
    let old = retention::older_than(&story, &as_in_records);
    let mut said = Vec::new();
    if let Ok(git) = &workspace.git {
        // The journal is no authority on other references.
        for reference in git.references(&kept_references(&workspace.spec))? {
            if let Some(task) = old.kept.get(reference.as_str()) {
                git.delete_reference(&reference)?;
                said.push(format!(
                    "deleted {reference}, unfinished work at {task}, which was done since: {why}"
                ));
            }
        }
    }
    let logs = logs::log_dir(&workspace.spec).zip(old.logs_before.time());
    if let Some((dir, before)) = logs
        && let count @ 1.. = forget_files(&*workspace.world().disk, &dir, before)?
    {
        said.push(format!("deleted {} of agents, {why}", counted(count, "log")));
    }
    if let count @ 1.. = workspace.store.lock()?.thin_segments(&as_in_records)? {
        let journals = counted(count, "journal");
        said.push(format!(
            "deleted all but verdicts, commits and proofs from {journals} of earlier loops, {why}"
        ));
    }
    Ok(said)
}

/// Removed specs of which git has every document, and the logs of all that are old.
fn forget_trash(
    workspace: &Workspace,
    moment: Timestamp,
    why: &str,
) -> Result<Vec<String>, RunError> {
    let (Ok(git), Some(beside)) = (&workspace.git, workspace.spec.dir.parent()) else {
        return Ok(Vec::new());
    };
    let (world, mut said) = (workspace.world(), Vec::new());
    for removed in trash::removed_before(&*world.disk, beside, moment)? {
        let dir = beside.join(&removed.name);
        if !world.disk.exists(&dir)
            && let Some(home) = &world.state_home
            && let logs = logs::dir_below(home, &removed.name, &dir)
            && let count @ 1.. = forget_files(&*world.disk, &logs, moment)?
        {
            let (logs, name) = (counted(count, "log"), &removed.name);
            said.push(format!("deleted {logs} of agents of {name}, a removed spec: {why}"));
        }
        if removed.is_in(&*world.disk, &**git)? {
            let path = &removed.path;
            world.disk.remove_tree(path)?;
            said.push(format!("deleted {}, a removed spec that git has: {why}", path.display()));
        }
    }
    Ok(said)
}

/// Deletes the files of a folder that were last written before a moment.
fn forget_files(disk: &dyn Disk, dir: &Path, before: Timestamp) -> Result<usize, RunError> {
    let mut count = 0;
    // A folder that is not there has none.
    for path in disk.entries(dir)? {
        let written = disk.look(&path).ok().filter(FileInfo::is_file);
        let written = written.and_then(|found| Timestamp::try_from(found.modified?).ok());
        if written.is_some_and(|written| written < before) {
            disk.remove(&path)?;
            count += 1;
        }
    }
    Ok(count)
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
