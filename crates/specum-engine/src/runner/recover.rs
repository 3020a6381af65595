//! What a run that did not get to its end has left: its processes are ended,
//! its worktrees removed, and what it had changed is kept under a reference and
//! taken out of the user's tree. Also what a run does to itself when it stops.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use specum_core::agent::{self, Agent, Sign, Usage};
use specum_core::attempt::{Attempt, LaunchPlace};
use specum_core::journal::Entry;
use specum_core::moment::Moment;

use super::driver::write_charge;
use super::worktree::{MovedProject, Origin, changed_in, is_worktree, moved, worktree_name};
use super::{RunError, pulse};
use crate::attempt::{AttemptError, Workspace};
use crate::files;
use crate::logs;
use crate::names::{
    ISOLATED, kept_references, note_of, ready_reference, ready_references, worktrees_dir,
};
use crate::ports::{Disk, Repository, World};
use crate::process;

/// Puts away whatever is under way. `until` is the time until which the run that
/// left it was at work, if that is over.
pub(super) fn recover(workspace: &Workspace, until: Option<Timestamp>) -> Result<(), RunError> {
    end_survivors(workspace)?;
    // First of all, so that a git that fails does not prevent the charge.
    charge_lost(workspace)?;
    if let Ok(git) = &workspace.git {
        git.clear_locks()?;
    }
    let completed = workspace.complete_commits_of(until);
    // A git that fails does not leave ticks standing that have nothing behind them: once
    // nobody is at work, they would count as a person's.
    workspace.take_back_ticks()?;
    // What waits for a person does not keep anything else from being put away.
    let waits = match completed {
        Err(error @ AttemptError::InTheWay { .. }) => Err(error),
        completed => Ok(completed?),
    };
    workspace.store.lock()?.remove_temporaries()?;
    let Ok(git) = workspace.git.as_deref() else { return Ok(()) };
    git.remove_scratch()?;
    take_out_undecided(workspace)?;
    let unsettled = workspace.store.ledger()?.unsettled();
    for (opened, _) in unsettled.iter().filter(|(_, place)| *place == LaunchPlace::InTree) {
        workspace.pause_if_rewritten(opened)?;
        workspace.put_away(git, opened, until)?;
    }
    put_away_worktrees(workspace, git, &unsettled)?;
    let untouched = workspace.store.ledger()?.untouched();
    let opened = unsettled.into_iter().map(|(opened, _)| opened);
    for opened in opened.chain(untouched) {
        let (task, attempt) = (opened.key, opened.number);
        workspace.store.lock()?.record_of(&opened.id, Entry::Cleared { task, attempt })?;
    }
    forget_work_that_is_in(workspace, git)?;
    Ok(waits?)
}

/// Ends what is left of agents and checks, and waits for git.
pub(super) fn end_survivors(workspace: &Workspace) -> Result<(), RunError> {
    let waits = |pid| {
        if let Ok(git) = &workspace.git {
            git.say(format!("waiting for git (process {pid}), which an earlier run has left"));
        }
    };
    let launcher = &workspace.world().launcher;
    launcher.end_survivors(&workspace.spec.dir, &waits);
    for moved in moved(&workspace.spec)? {
        launcher.end_survivors(&moved.place, &waits);
    }
    Ok(())
}

/// Until when the run that was here last can have been at work: two beats after
/// its last one, or, if somebody has deleted that, after its last record.
pub(super) fn worked_until_then(workspace: &Workspace) -> Option<Timestamp> {
    let last: Timestamp = match workspace.store.read_beat() {
        Some(beat) => beat.at.parse().ok()?,
        None => workspace.store.ledger().ok()?.last_at().time()?,
    };
    last.checked_add(2 * pulse::interval()).ok()
}

/// The work of a task that was set aside is kept until the task is done.
fn forget_work_that_is_in(workspace: &Workspace, git: &dyn Repository) -> Result<(), RunError> {
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
        (Ok(git), Some((attempt, paths))) => take_out(workspace, &**git, attempt, paths),
        _ => Ok(()),
    }
}

/// Takes what was put into the user's tree out again.
pub(super) fn take_out(
    workspace: &Workspace,
    git: &dyn Repository,
    attempt: &Attempt,
    paths: &[String],
) -> Result<(), RunError> {
    git.take_out(paths)?;
    Ok(workspace.record(attempt, |task| Entry::TakenOut { task })?)
}

fn put_away_worktrees(
    workspace: &Workspace,
    git: &dyn Repository,
    unsettled: &[(Attempt, LaunchPlace)],
) -> Result<(), RunError> {
    let disk = &*workspace.world().disk;
    git.remove_half_made()?;
    for MovedProject { worktrees, .. } in moved(&workspace.spec)? {
        let theirs = git.worktrees_below(&worktrees)?;
        for worktree in &theirs {
            git.repair_worktree(&worktree.path)?;
        }
        put_away_below(workspace, git, unsettled, &worktrees)?;
        if !theirs.is_empty() {
            forget_folder(disk, &worktrees)?;
        }
    }
    let Some(dir) = worktrees_dir(&workspace.spec) else { return Ok(()) };
    put_away_below(workspace, git, unsettled, &dir)?;
    // What git does not know of any more has no work in it that we could keep.
    disk.entries(&dir)?.iter().try_for_each(|path| disk.remove_tree(path))?;
    forget_folder(disk, &dir)
}

/// A folder of worktrees goes with its last one; one that is not there is none to
/// miss.
fn forget_folder(disk: &dyn Disk, worktrees: &Path) -> Result<(), RunError> {
    let _ = disk.remove_folder(worktrees);
    if !disk.exists(worktrees) {
        disk.remove(&note_of(worktrees))?;
        if let Some(all) = worktrees.parent() {
            forget_torn_notes(disk, all)?;
        }
    }
    Ok(())
}

/// Deletes the notes that runs have left half written. While there is a folder, its
/// run may be writing one; so folders are looked for after the notes.
fn forget_torn_notes(disk: &dyn Disk, all: &Path) -> Result<(), RunError> {
    let mut torn = disk.entries(all)?;
    torn.retain(|path| files::is_temporary(path));
    if !disk.entries(all)?.iter().any(|path| disk.is_folder(path)) {
        torn.iter().try_for_each(|path| disk.remove(path))?;
    }
    Ok(())
}

fn put_away_below(
    workspace: &Workspace,
    git: &dyn Repository,
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
        let there = workspace.world().repositories.at(&worktree.path);
        let disk = &*workspace.world().disk;
        let is_whole = || is_worktree(disk, &worktree.path) && there.head().is_some();
        if let Some(opened) = opened.filter(|_| is_whole()) {
            let (base, origin) = (opened.base().unwrap_or("HEAD"), Origin::of(workspace)?);
            let kept = changed_in(disk, &*there, base, &origin)
                .and_then(|changed| Ok(workspace.keep(&*there, opened, &changed)?));
            // What is kept nowhere stays where it is.
            kept.map_err(|error| error.in_worktree(&worktree.path))?;
        }
        git.remove_worktree(&worktree.path)?;
    }
    Ok(())
}

/// An agent that was started and has no recorded end is charged like
/// the dearest one, or with what it had reported if that is more.
fn charge_lost(workspace: &Workspace) -> Result<(), RunError> {
    let Some(state) = workspace.store.read()?.state else { return Ok(()) };
    let ledger = workspace.store.ledger()?;
    for lost in ledger.uncharged() {
        let Some(agent) = agent::by_name(&lost.agent, Some("")) else { continue };
        let Some(attempt) = ledger.attempt(&lost.attempt) else { continue };
        // Its task may be called otherwise by now.
        let named = lost.log.as_ref().map(PathBuf::from);
        let log = named
            .filter(|path| logs::is_log(&workspace.spec, path))
            .or_else(|| logs::newest_log(&workspace.spec, &attempt.key.id, attempt.number));
        let reported =
            log.as_ref().and_then(|log| reported_in(workspace.world(), log, agent.as_ref()));
        let millis = log
            .as_ref()
            .and_then(|log| worked_until(workspace.world(), log, &lost.at))
            .unwrap_or_default();
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
fn reported_in(world: &World, log: &Path, agent: &dyn Agent) -> Option<Usage> {
    let mut reader = agent.reader();
    let mut reported = None;
    process::replay(&*world.disk, log, |line| {
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
fn worked_until(world: &World, log: &Path, started: &Moment) -> Option<u64> {
    let printed = world.disk.look_behind(log).ok()?.modified?;
    started.millis_until(Timestamp::try_from(printed).ok()?)
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
    let before = moved(&workspace.spec).map_err(RunError::from)?;
    let before = before.into_iter().map(|moved| moved.worktrees);
    let mut worktrees = Vec::new();
    for dir in worktrees_dir(&workspace.spec).into_iter().chain(before) {
        worktrees.extend(git.worktrees_below(&dir)?.into_iter().map(|worktree| worktree.path));
    }
    Ok(Leftovers { worktrees, kept: git.references(&kept_references(&workspace.spec))? })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use specum_core::machine::Start;
    use specum_core::owner::Owner;

    use super::*;
    use crate::attempt::tests::in_memory;
    use crate::attempt::{By, NextWork};
    use crate::files::LocalDisk;
    use crate::memory::CommitFault;

    #[test]
    fn ticks_with_nothing_behind_them_are_taken_back_although_git_fails() {
        let (workspace, disk, repositories) = in_memory("- [ ] 1.1 a\n- [ ] 1.2 b\n");
        let process = workspace.world().launcher.me();
        let owner = Some(Owner::Runner { process });
        workspace.start(Start { owner, ..Start::default() }).unwrap();
        let NextWork::Work(opened) = workspace.open().unwrap() else { panic!("nothing is due") };
        repositories.fail_next(Some(CommitFault::FailsBefore));
        workspace.judge(&opened[0], "TASK_COMPLETE", By::Run).unwrap_err();
        // By an agent that has not been judged yet.
        let plan = Path::new("/p/specs/demo/tasks.md");
        disk.put(plan, b"- [x] 1.1 a\n- [x] 1.2 b\n");
        repositories.fail_next(Some(CommitFault::FailsBefore));
        recover(&workspace, None).unwrap_err();
        let text = String::from_utf8(disk.content(plan).unwrap()).unwrap();
        assert_eq!(text, "- [x] 1.1 a\n- [ ] 1.2 b\n");
    }

    #[test]
    fn a_lost_agent_has_used_what_its_log_reported_last() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("1.1-1.log");
        let claude = agent::by_name("claude", None).unwrap();
        let said = |tokens: u64| {
            format!(
                "{{\"type\":\"assistant\",\"message\":{{\"id\":\"m{tokens}\",\"usage\":{{\
                 \"input_tokens\":{tokens},\"output_tokens\":1}},\"content\":[]}}}}\n"
            )
        };
        fs::write(&log, said(10) + &said(20) + "{\"type\":\"assis").unwrap();
        let tokens = reported_in(&World::real(), &log, claude.as_ref()).unwrap().tokens;
        assert_eq!(tokens, 10 + 1 + 20 + 1);
        fs::write(&log, "no JSON\n").unwrap();
        assert_eq!(reported_in(&World::real(), &log, claude.as_ref()), None);
        assert_eq!(reported_in(&World::real(), &dir.path().join("gone"), claude.as_ref()), None);
    }

    #[test]
    fn a_lost_agent_has_worked_until_it_last_printed() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let printed: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
        log.as_file().set_modified(printed.into()).unwrap();
        let worked = |log: &Path, at: &str| worked_until(&World::real(), log, &Moment::from(at));
        assert_eq!(worked(log.path(), "2026-01-01T00:00:00Z"), Some(60_000));
        assert_eq!(worked(log.path(), "2026-01-01T00:02:00Z"), None, "the clock was set");
        assert_eq!(worked(log.path(), "at noon"), None);
        assert_eq!(worked(Path::new("/gone"), "2026-01-01T00:00:00Z"), None);
    }

    #[test]
    fn half_written_notes_go_with_the_last_folder_and_not_before() {
        let all = tempfile::tempdir().unwrap();
        let torn = all.path().join(".ralph-tmp-x");
        let note = all.path().join("demo-1.json");
        let worktrees = all.path().join("demo-1");
        fs::write(&torn, "{").unwrap();
        fs::write(&note, "{}").unwrap();
        fs::create_dir(&worktrees).unwrap();
        forget_torn_notes(&LocalDisk, all.path()).unwrap();
        assert!(torn.exists(), "its run may be writing it");
        fs::remove_dir(&worktrees).unwrap();
        forget_torn_notes(&LocalDisk, all.path()).unwrap();
        assert!(!torn.exists() && note.exists());
    }
}
