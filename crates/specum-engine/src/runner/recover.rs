//! What a run that did not get to its end has left: its processes are ended,
//! its worktrees removed, and what it had changed is kept under a reference and
//! taken out of the user's tree. Also what a run does to itself when it stops.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use specum_core::agent::{self, Agent, Sign, Usage};
use specum_core::attempt::{Attempt, LaunchPlace};
use specum_core::journal::Entry;

use super::driver::write_charge;
use super::worktree::{MovedProject, Origin, changed_in, is_worktree, moved, worktree_name};
use super::{RunError, pulse};
use crate::attempt::{AttemptError, Workspace};
use crate::files::{self, FileError};
use crate::git::{self, Git};
use crate::logs;
use crate::names::{
    ISOLATED, kept_references, note_of, ready_reference, ready_references, worktrees_dir,
};
use crate::process;

/// Puts away whatever is under way. `until` is the time until which the run that
/// left it was at work, if that is over.
pub(super) fn recover(workspace: &Workspace, until: Option<Timestamp>) -> Result<(), RunError> {
    end_survivors(workspace);
    if let Ok(git) = &workspace.git {
        git.clear_locks()?;
    }
    // What waits for a person does not keep anything else from being put away.
    let waits = match workspace.complete_commits_of(until) {
        Err(error @ AttemptError::InTheWay { .. }) => Err(error),
        completed => Ok(completed?),
    };
    charge_lost(workspace)?;
    workspace.take_back_ticks()?;
    workspace.store.lock()?.remove_temporaries()?;
    let Ok(git) = &workspace.git else { return Ok(()) };
    git.remove_scratch()?;
    take_out_undecided(workspace)?;
    let unsettled = workspace.store.ledger()?.unsettled();
    for (opened, _) in unsettled.iter().filter(|(_, place)| *place == LaunchPlace::InTree) {
        workspace.pause_if_rewritten(opened)?;
        workspace.put_away(git, opened, until)?;
    }
    put_away_worktrees(workspace, git, &unsettled)?;
    for (opened, _) in unsettled {
        let (task, attempt) = (opened.key, opened.number);
        workspace.store.lock()?.record_of(&opened.id, Entry::Cleared { task, attempt })?;
    }
    forget_work_that_is_in(workspace, git)?;
    Ok(waits?)
}

/// Ends what is left of agents and checks, and waits for git.
pub(super) fn end_survivors(workspace: &Workspace) {
    let waits =
        |pid| git::say(format!("waiting for git (process {pid}), which an earlier run has left"));
    process::end_survivors(&workspace.spec.dir, waits);
    for moved in moved(&workspace.spec) {
        process::end_survivors(&moved.place, waits);
    }
}

/// Until when the run that was here last can have been at work: two beats after
/// its last one, or, if somebody has deleted that, after its last record.
pub(super) fn worked_until_then(workspace: &Workspace) -> Option<Timestamp> {
    let last = match workspace.store.read_beat() {
        Some(beat) => beat.at,
        None => workspace.store.ledger().ok()?.last_at().to_owned(),
    };
    let last: Timestamp = last.parse().ok()?;
    last.checked_add(2 * pulse::interval()).ok()
}

/// The work of a task that was set aside is kept until the task is done.
fn forget_work_that_is_in(workspace: &Workspace, git: &Git) -> Result<(), RunError> {
    let view = workspace.store.read()?;
    let file = view.file();
    let needed: Vec<String> =
        file.open().map(|task| ready_reference(&workspace.spec, &task.name())).collect();
    for reference in git.references(&ready_references(&workspace.spec))? {
        if !needed.contains(&reference) {
            git.delete_reference(&reference)?;
        }
    }
    Ok(())
}

/// Takes out what was put into the user's tree and has no verdict there.
pub(super) fn take_out_undecided(workspace: &Workspace) -> Result<(), RunError> {
    let ledger = workspace.store.ledger()?;
    match (&workspace.git, ledger.half_integrated()) {
        (Ok(git), Some((attempt, paths))) => take_out(workspace, git, attempt, paths),
        _ => Ok(()),
    }
}

/// Takes what was put into the user's tree out again.
pub(super) fn take_out(
    workspace: &Workspace,
    git: &Git,
    attempt: &Attempt,
    paths: &[String],
) -> Result<(), RunError> {
    git.take_out(paths)?;
    Ok(workspace.record(attempt, |task| Entry::TakenOut { task })?)
}

fn put_away_worktrees(
    workspace: &Workspace,
    git: &Git,
    unsettled: &[(Attempt, LaunchPlace)],
) -> Result<(), RunError> {
    git.remove_half_made()?;
    for MovedProject { worktrees, .. } in moved(&workspace.spec) {
        let theirs = git.worktrees_below(&worktrees)?;
        for worktree in &theirs {
            git.repair_worktree(&worktree.path)?;
        }
        put_away_below(workspace, git, unsettled, &worktrees)?;
        if !theirs.is_empty() {
            forget_folder(&worktrees)?;
        }
    }
    let Some(dir) = worktrees_dir(&workspace.spec) else { return Ok(()) };
    put_away_below(workspace, git, unsettled, &dir)?;
    // What git does not know of any more has no work in it that we could keep.
    for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
        let path = entry.path();
        fs::remove_dir_all(&path).map_err(|error| FileError::new("remove", &path, error))?;
    }
    forget_folder(&dir)
}

/// A folder of worktrees goes with its last one; one that is not there is none to
/// miss.
fn forget_folder(worktrees: &Path) -> Result<(), RunError> {
    let _ = fs::remove_dir(worktrees);
    if !worktrees.exists() {
        files::remove(&note_of(worktrees))?;
        if let Some(all) = worktrees.parent() {
            forget_torn_notes(all)?;
        }
    }
    Ok(())
}

/// Deletes the notes that runs have left half written. While there is a folder, its
/// run may be writing one; so folders are looked for after the notes.
fn forget_torn_notes(all: &Path) -> Result<(), RunError> {
    let entries = || fs::read_dir(all).into_iter().flatten().flatten().map(|entry| entry.path());
    let torn: Vec<PathBuf> = entries().filter(|path| files::is_temporary(path)).collect();
    if !entries().any(|path| path.is_dir()) {
        torn.iter().try_for_each(|path| files::remove(path))?;
    }
    Ok(())
}

fn put_away_below(
    workspace: &Workspace,
    git: &Git,
    unsettled: &[(Attempt, LaunchPlace)],
    dir: &Path,
) -> Result<(), RunError> {
    for worktree in git.worktrees_below(dir)? {
        let name = worktree.path.file_name().map(|name| name.to_string_lossy().into_owned());
        let is_worked_here = |(opened, place): &&(Attempt, LaunchPlace)| match place {
            LaunchPlace::Isolated => name.as_deref() == Some(ISOLATED),
            LaunchPlace::InTree | LaunchPlace::Worktree => {
                name.as_ref() == Some(&worktree_name(opened))
            }
        };
        let opened = unsettled.iter().find(is_worked_here).map(|(opened, _)| opened);
        // What has passed there is kept already. One that git was only about to
        // make has nothing in it, and git does not look into it.
        let there = Git::at(worktree.path.clone());
        let is_whole = || is_worktree(&worktree.path) && there.head().is_some();
        if let Some(opened) = opened.filter(|_| is_whole()) {
            let kept = changed_in(&there, opened.base().unwrap_or("HEAD"), &Origin::of(workspace)?)
                .and_then(|changed| Ok(workspace.keep(&there, opened, &changed)?));
            // What is kept nowhere stays where it is.
            kept.map_err(|error| error.in_worktree(&worktree.path))?;
        }
        git.remove_worktree(&worktree.path)?;
    }
    Ok(())
}

/// An agent that was started and of whose end nobody has heard is charged like
/// the dearest one, or with what it had reported if that is more.
fn charge_lost(workspace: &Workspace) -> Result<(), RunError> {
    let Some(state) = workspace.store.read()?.state else { return Ok(()) };
    let ledger = workspace.store.ledger()?;
    for lost in ledger.uncharged() {
        let Some(agent) = agent::by_name(&lost.agent, Some("")) else { continue };
        let Some(attempt) = ledger.attempt(&lost.attempt) else { continue };
        let log = logs::newest_log(&workspace.spec, &attempt.key.id, attempt.number);
        let reported = log.as_ref().and_then(|log| reported_in(log, agent.as_ref()));
        let millis = log.as_ref().and_then(|log| worked_until(log, &lost.at)).unwrap_or_default();
        let charge = state.budget.charge(agent.measures(), reported, true);
        let entry = Entry::Charged {
            task: attempt.key.clone(),
            attempt: attempt.number,
            agent: lost.agent.clone(),
            tokens: charge.tokens,
            cost: charge.cost,
            estimated: charge.estimated,
            millis,
            log: log.map(|log| log.to_string_lossy().into_owned()),
        };
        write_charge(workspace, &lost.attempt, entry, charge, millis)?;
    }
    Ok(())
}

/// The use that an agent had reported when its output ended.
fn reported_in(log: &Path, agent: &dyn Agent) -> Option<Usage> {
    let mut reader = agent.reader();
    let mut reported = None;
    process::replay(log, |line| {
        for sign in reader.line(line) {
            if let Sign::Used(usage) = sign {
                reported = Some(usage);
            }
        }
    })
    .ok()?;
    reported
}

/// How long an agent had worked when it last printed something.
fn worked_until(log: &Path, started: &str) -> Option<u64> {
    let printed = Timestamp::try_from(fs::metadata(log).ok()?.modified().ok()?).ok()?;
    let started: Timestamp = started.parse().ok()?;
    u64::try_from(printed.as_millisecond() - started.as_millisecond()).ok()
}

/// What runs that did not get to their end have left.
#[derive(Debug, Default)]
pub struct Leftovers {
    /// Worktrees of runs that are gone.
    pub worktrees: Vec<PathBuf>,
    /// References that hold what was not finished.
    pub kept: Vec<String>,
}

/// Looks for leftovers of a spec.
pub fn leftovers(workspace: &Workspace) -> Result<Leftovers, RunError> {
    let Ok(git) = &workspace.git else { return Ok(Leftovers::default()) };
    let before = moved(&workspace.spec).into_iter().map(|moved| moved.worktrees);
    let mut worktrees = Vec::new();
    for dir in worktrees_dir(&workspace.spec).into_iter().chain(before) {
        worktrees.extend(git.worktrees_below(&dir)?.into_iter().map(|worktree| worktree.path));
    }
    Ok(Leftovers { worktrees, kept: git.references(&kept_references(&workspace.spec))? })
}
