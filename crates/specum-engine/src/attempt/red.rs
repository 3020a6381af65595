//! Red first: the check of a task is run once before the first attempt at it, so that its
//! tick can say whether the check proves anything.
//!
//! In a host's session only what is proved to read is run. A run without a session runs
//! every check, where the work will be done.

use std::collections::BTreeMap;
use std::path::Path;

use specum_core::attempt::{Attempt, Ending, Judgement};
use specum_core::digest::Digest;
use specum_core::journal::Entry;
use specum_core::machine::{self, Event};
use specum_core::spec::red::{self, FirstResult, FirstRun, RedFirst};
use specum_core::spec::{links, read_only};
use specum_core::tasks::{Check, Command, TaskFile, TaskMatch};
use specum_core::verify::{CheckRun, CheckTime, Proof, Role, Verdict};

use super::judge::run_commands;
use super::{AttemptError, NextWork, Workspace};
use crate::store::{Locked, StoreError};

/// How long a check may take before the work, in milliseconds.
const MOST_TIME: u64 = 120_000;
/// The same in a host's session, which waits for it.
const MOST_TIME_IN_SESSION: u64 = 20_000;

/// Which checks may be run before the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Those of which every command is proved to read only.
    ReadOnly,
    /// Every one.
    All,
}

/// What the check of a task has done before the work.
#[derive(Debug)]
pub struct FirstLook {
    check: String,
    /// What it did.
    pub result: FirstResult,
    millis: u64,
    /// Whether it may have changed something.
    is_free: bool,
}

impl FirstLook {
    /// Whether it may have changed something where it was run.
    pub fn may_have_changed(&self) -> bool {
        self.is_free
    }
}

impl Workspace {
    /// Opens what is due in a host's session, and runs those checks first that only read.
    pub fn open_in_session(&self) -> Result<NextWork, AttemptError> {
        loop {
            let next = self.open()?;
            let NextWork::Work(opened) = &next else { return Ok(next) };
            let mut halted = false;
            for attempt in opened {
                if let Some(look) = self.look_first(attempt, &self.spec.root, Reach::ReadOnly)? {
                    halted |= self.record_look(attempt, &look, false)?;
                }
            }
            if !halted {
                return Ok(next);
            }
        }
    }

    /// Runs the check of a task before the first attempt at it, if that is to be done and
    /// was not done before.
    pub fn look_first(
        &self,
        opened: &Attempt,
        root: &Path,
        reach: Reach,
    ) -> Result<Option<FirstLook>, AttemptError> {
        let is_first = opened.number == 1 && opened.left_before.is_empty();
        if self.red_first == RedFirst::Off || !is_first || opened.role != Role::Executor {
            return Ok(None);
        }
        let Some((check, commands)) = self.own_check(opened)? else { return Ok(None) };
        let known = self.store.ledger()?.first_run(&opened.key, &check);
        let proves = commands.iter().any(|command| command.never_fails().is_none());
        let is_free = commands.iter().any(|command| read_only::prove(command).is_err());
        if known.is_some() || !proves || is_guard(opened) || (is_free && reach == Reach::ReadOnly) {
            return Ok(None);
        }
        let most = if reach == Reach::All { MOST_TIME } else { MOST_TIME_IN_SESSION };
        let time = CheckTime::new(Some(self.check_time.millis.min(most)));
        let _turn = if is_free { Some(self.store.check_turn()?) } else { None };
        let began = self.world().clock.elapsed();
        let run: CheckRun = run_commands(self.world(), commands, root, time);
        let millis = self.world().millis_since(began);
        Ok(Some(FirstLook { check, result: FirstResult::of(&run), millis, is_free }))
    }

    /// Records what a check has done before the work. `in_tree` says that it was run in
    /// the user's tree: what it has left there is not the attempt's. Whether the loop
    /// waits for a person now, because the check proves nothing.
    pub fn record_look(
        &self,
        opened: &Attempt,
        look: &FirstLook,
        in_tree: bool,
    ) -> Result<bool, AttemptError> {
        let left = match in_tree && look.is_free {
            true => self.left_by_look(opened)?,
            false => BTreeMap::new(),
        };
        let (check, result, millis) = (look.check.clone(), look.result, look.millis);
        self.record(opened, |task| Entry::Red { task, check, result, millis, left })?;
        match self.red_first == RedFirst::Strict && result == FirstResult::Green {
            true => self.halt_green(opened).map(|()| true),
            false => Ok(false),
        }
    }

    /// Whether the check of an attempt has passed before the work, although it should
    /// not have.
    pub(super) fn is_green_before(&self, opened: &Attempt) -> Result<bool, AttemptError> {
        Ok(self.proof_of(opened, Proof::Check)? == Proof::GreenBefore)
    }

    /// What a pass rests on, by what is known of its check before the work.
    pub(super) fn proof_of(&self, opened: &Attempt, proof: Proof) -> Result<Proof, AttemptError> {
        let Some((check, _)) = self.own_check(opened)?.filter(|_| proof == Proof::Check) else {
            return Ok(proof);
        };
        let ledger = self.store.ledger()?;
        let first = ledger.first_run(&opened.key, &check);
        Ok(red::proof(first, is_guard(opened), ledger.was_red(&opened.key, &check)))
    }

    /// The check of an attempt's task alone, with a digest of its words; none if the task
    /// is checked by the suite, or by nothing.
    fn own_check(&self, opened: &Attempt) -> Result<Option<(String, Vec<Command>)>, AttemptError> {
        let Some(check) = self.check_of(opened)? else { return Ok(None) };
        let commands = own_commands(&check, &self.world().lookup(&self.spec.root));
        Ok((!commands.is_empty()).then_some((digest_of(&check), commands)))
    }

    /// What is uncommitted in the user's tree and was not when the attempt was opened.
    fn left_by_look(&self, opened: &Attempt) -> Result<BTreeMap<String, String>, AttemptError> {
        let now = self.tree()?.dirty;
        let own = self.git.as_ref().map(|git| self.spec_files(&**git)).unwrap_or_default();
        let is_new = |(path, digest): &(String, String)| {
            opened.dirty.get(path) != Some(digest)
                && !own.contains(path)
                && !crate::git::is_own_file(path)
        };
        Ok(now.into_iter().filter(is_new).collect())
    }

    /// Ends an attempt that is not begun, because its check proves nothing: the loop
    /// waits for a person.
    fn halt_green(&self, opened: &Attempt) -> Result<(), AttemptError> {
        let locked = self.store.lock()?;
        let view = locked.read()?;
        let opened = &self.renamed(opened)?;
        let Some(state) = &view.state else { return Ok(()) };
        let file = view.file();
        let (TaskMatch::Same(index) | TaskMatch::Retitled(index)) = file.find(&opened.key) else {
            return Ok(());
        };
        let why = format!(
            "the check of {} passes before the work, so it proves nothing: correct it, or say \
             `(green before: why)` behind it",
            opened.key.shown()
        );
        let ending = Ending::Halts(why.clone());
        let judged = Judgement::new(opened, Verdict::failed(Vec::new()), ending, Vec::new());
        let step = machine::step(state, &file, Event::Halt { index, reason: why });
        locked.write_step_of(&opened.id, self.entry(&judged, opened), &step)?;
        self.record_halt(&locked, &judged)?;
        Ok(())
    }
}

/// Records which checks of a plan were seen to fail when it was written.
pub(super) fn record_planned_red(
    locked: &Locked<'_>,
    plan: &[u8],
    first_runs: &BTreeMap<String, FirstRun>,
) -> Result<(), StoreError> {
    let file = TaskFile::scan(plan);
    for task in file.open() {
        let first = first_runs.get(&task.name());
        let is_red = matches!(first, Some(FirstRun::Red | FirstRun::Broken(_)));
        let Some(check) = file.fields(task).verify.filter(|_| is_red) else { continue };
        let (task, check, result) = (task.key(), digest_of(&check), FirstResult::Red);
        locked.record(Entry::Red { task, check, result, millis: 0, left: BTreeMap::new() })?;
    }
    Ok(())
}

/// Tells a check from another one.
fn digest_of(check: &Check) -> String {
    Digest::of(check.text().as_bytes()).hex()
}

/// Whether the check of an attempt's task may pass before the work, as the task said when
/// the attempt was opened.
fn is_guard(opened: &Attempt) -> bool {
    let file = TaskFile::scan(&opened.block);
    file.tasks.first().is_some_and(|task| red::may_be_green(task, &links::of(&file, task)))
}

fn own_commands(check: &Check, lookup: specum_core::tasks::Lookup<'_>) -> Vec<Command> {
    let own = check.commands(lookup).into_iter();
    own.filter(|command| !command.suite).collect()
}
