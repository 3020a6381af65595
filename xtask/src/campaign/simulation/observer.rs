//! What the engine has recorded, held against what is true. The observer reads every
//! record once, in its order, before anybody else changes anything.

use std::collections::{BTreeMap, BTreeSet};

use specum_core::attempt::AttemptId;
use specum_core::event::RunId;
use specum_core::journal::{self, Entry, Record};
use specum_core::plan_record::{Change, Lines, OnRecord, PlanEdit};
use specum_core::summary::AttemptResult;
use specum_core::tasks::{Task, TaskEdit, TaskFile, TaskKey};
use specum_core::verify::Role;

use super::agents::Act;
use super::plan::{self, Proof, soul, soul_of};
use super::truth::{Edited, End};
use super::world::{Halt, SPEC, World, promise};

/// The longest that anybody is to wait for: a limit of eight days.
const LONGEST_WAIT: u64 = 8 * 24 * 3_600_000;

/// How far the journal is read, and what it said.
pub(crate) struct Observer {
    /// The plan as people wrote it, with every recorded edit.
    pub(crate) plan: Vec<u8>,
    /// How many records there were.
    pub(crate) records: usize,
    /// Whether the last record announces what is not carried out yet.
    pub(crate) is_half_done: bool,
    /// How much of the journal is read, and which file that was.
    read: usize,
    identity: u64,
    /// The attempts of all loops.
    attempts: BTreeMap<AttemptId, Known>,
    /// The starts of agents that nobody has paid for.
    unpaid: Vec<AttemptId>,
    /// The attempts that have passed and are not committed yet.
    uncommitted: BTreeSet<AttemptId>,
    /// How many commits are recorded.
    commits: usize,
    /// How many tasks were added in this loop because agents have asked for them.
    added: usize,
    /// How many requests about each task were granted in this loop.
    granted: BTreeMap<String, u64>,
}

/// An attempt as it is known.
struct Known {
    key: TaskKey,
    /// Its place in the plan when it was opened.
    place: usize,
    /// The record that has opened it.
    since: usize,
    is_beside: bool,
    is_launched: bool,
    /// The record since which its work waits to be integrated.
    ready: Option<usize>,
    /// The run that has launched its agent.
    run: Option<RunId>,
    has_verdict: bool,
    passed: bool,
}

impl Observer {
    pub(crate) fn new(plan: Vec<u8>) -> Observer {
        Observer {
            plan,
            records: 0,
            is_half_done: false,
            read: 0,
            identity: 0,
            attempts: BTreeMap::new(),
            unpaid: Vec::new(),
            uncommitted: BTreeSet::new(),
            commits: 0,
            added: 0,
            granted: BTreeMap::new(),
        }
    }

    /// Somebody has written the plan with an editor.
    pub(crate) fn plan_becomes(&mut self, text: &[u8]) {
        self.plan = text.to_vec();
    }

    /// Whether an attempt is open: whatever is changed in the tree now may count as its
    /// work.
    pub(crate) fn is_in_hands(&self) -> bool {
        self.attempts.values().any(|known| !known.has_verdict)
    }

    /// The attempts without a verdict.
    pub(crate) fn undecided(&self) -> Vec<AttemptId> {
        let open = self.attempts.iter().filter(|(_, known)| !known.has_verdict);
        open.map(|(id, _)| id.clone()).collect()
    }

    /// The task of an attempt, and the record that has opened it.
    pub(crate) fn begun(&self, id: &AttemptId) -> Option<(String, usize)> {
        self.attempts.get(id).map(|known| (soul_of(&known.key), known.since))
    }

    /// The task of an attempt.
    pub(crate) fn key_of(&self, id: &AttemptId) -> Option<&TaskKey> {
        self.attempts.get(id).map(|known| &known.key)
    }
}

impl World {
    /// Completes what a dead process has announced, as the next holder of the lock does.
    pub(crate) fn recover(&mut self) -> Result<(), Halt> {
        self.observe()?;
        if self.observer.is_half_done {
            let locked = self.at_once(|world| world.store.lock().map(drop))?;
            locked.map_err(|error| Halt::Broken(format!("nobody can recover: {error}")))?;
            self.observe()?;
        }
        Ok(())
    }

    /// Reads what was recorded since.
    pub(crate) fn observe(&mut self) -> Result<(), Halt> {
        let disk = self.disk.clone();
        let journal = self.store.journal_path();
        let now = disk.peek(&journal);
        if let (Some((identity, _)), true) = (&now, self.observer.identity != 0)
            && *identity != self.observer.identity
        {
            // The journal that was read until now has become a segment.
            let segments = disk.files_below(std::path::Path::new(SPEC));
            let is_it = |name: &&String| {
                let found = disk.peek(&std::path::Path::new(SPEC).join(name.as_str()));
                found.is_some_and(|(identity, _)| identity == self.observer.identity)
            };
            if let Some(bytes) = segments.keys().find(is_it).map(|name| segments[name].clone()) {
                self.take_records(&bytes)?;
            }
            self.observer.read = 0;
        }
        let Some((identity, bytes)) = now else { return Ok(()) };
        self.observer.identity = identity;
        self.take_records(&bytes)
    }

    fn take_records(&mut self, bytes: &[u8]) -> Result<(), Halt> {
        let mut rest = &bytes[self.observer.read.min(bytes.len())..];
        while !rest.is_empty() {
            let end = rest.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
            let line = &rest[..end.unwrap_or(rest.len())];
            let record = journal::records(line).next();
            if record.is_none() && end.is_none() {
                // Torn: the next writer ends the line.
                return Ok(());
            }
            self.observer.read += line.len();
            rest = &rest[line.len()..];
            if let Some(record) = record {
                self.take_record(&record)?;
            }
        }
        Ok(())
    }

    fn take_record(&mut self, record: &Record) -> Result<(), Halt> {
        self.observer.records += 1;
        self.observer.is_half_done = record.changes.is_some();
        let before = self.observer.plan.clone();
        self.learn(record, &before)?;
        self.truth.steer(record, self.observer.records);
        if let Some(changes) = &record.changes {
            for edit in &changes.tasks {
                if let TaskEdit::InsertAfter { id, block, .. } = edit {
                    self.truth.learn_fix(id, block);
                }
            }
            self.observer.plan = TaskEdit::apply_all(&changes.tasks, &before);
            if !changes.state.is_kept() && self.truth.foreign == Some(u64::MAX) {
                self.truth.foreign = None;
            }
        }
        Ok(())
    }

    /// What a record says, in a plan as it was before.
    fn learn(&mut self, record: &Record, text: &[u8]) -> Result<(), Halt> {
        let file = TaskFile::scan(text);
        match &record.entry {
            Entry::Started { plan, .. } => {
                if !plan.is_empty() {
                    // What a cancelled loop has spent is told, or is nobody's.
                    self.observer.unpaid.clear();
                    self.observer.added = 0;
                    self.observer.granted.clear();
                }
                self.truth.started(!plan.is_empty(), &file);
                self.truth.living = true;
            }
            Entry::PlanChanged { edits } => self.plan_changed(edits, &file)?,
            Entry::Unticked { tasks } => self.taken_back(tasks, None, &file)?,
            Entry::Ticked { task } => {
                self.truth.tasks.by_person.insert(soul_of(task));
                self.truth.tasks.rogue.remove(&soul_of(task));
                // Nobody is asked any more what a dead agent has made of it.
                self.truth.tasks.at_work.remove(&soul_of(task));
            }
            Entry::Accepted { task } => self.truth.tasks.accepted(&soul_of(task)),
            Entry::Opened { task, attempt, .. } => self.opened(record, task, *attempt, &file)?,
            Entry::Delegated { task, .. } => {
                self.truth.tasks.at_work.insert(soul_of(task));
            }
            Entry::Launched { task, beside, .. } => {
                self.truth.tasks.at_work.insert(soul_of(task));
                if let Some(known) = self.known(record) {
                    (known.is_beside, known.is_launched) = (*beside, true);
                    known.run.clone_from(&record.run);
                }
                self.observer.unpaid.extend(record.id.clone());
            }
            Entry::Charged { tokens, .. } => {
                let paid =
                    self.observer.unpaid.iter().position(|id| Some(id) == record.id.as_ref());
                promise!(paid.is_some(), "an agent is charged that was not started, or twice");
                self.observer.unpaid.remove(paid.unwrap_or_default());
                if record.changes.is_some() {
                    self.truth.tokens += tokens.unwrap_or(0);
                }
            }
            // It waits in its worktree, and nobody is at work on it.
            Entry::Ready { .. } => {
                let now = self.observer.records;
                if let Some(known) = self.known(record) {
                    (known.is_launched, known.ready) = (false, Some(now));
                }
            }
            Entry::Integrating { task, .. } => self.is_in_order(record, task, &file)?,
            Entry::Passed { .. }
            | Entry::Failed { .. }
            | Entry::SetAside { .. }
            | Entry::Waits { .. } => self.verdict(record, &file)?,
            Entry::Modified { .. } => {
                self.modified(record, &file)?;
                self.verdict(record, &file)?;
            }
            Entry::Committed { task, commit, .. } => {
                self.committed(record, task, commit.as_deref())?;
            }
            Entry::Cleared { task, .. } => {
                self.truth.tasks.at_work.remove(&soul_of(task));
                if let Some(known) = self.known(record) {
                    known.has_verdict = true;
                }
            }
            // A run puts away what others have left before it begins.
            Entry::RunStarted { .. } => {
                self.observer.attempts.values_mut().for_each(|known| known.is_launched = false);
            }
            Entry::Waited { millis, .. } => {
                promise!(*millis <= LONGEST_WAIT, "a wait of {} s", millis / 1000);
            }
            Entry::RunEnded { .. } => {
                promise!(
                    self.observer.unpaid.is_empty() || self.truth.end.is_some(),
                    "a run has ended, and {} starts of agents are charged to nobody",
                    self.observer.unpaid.len()
                );
                self.truth.living = false;
                // A run that could not write has not put away what its agents left.
                let attempts = self.observer.attempts.values();
                let left: BTreeSet<String> = attempts
                    .filter(|known| known.is_launched && !known.has_verdict)
                    .map(|known| soul_of(&known.key))
                    .collect();
                self.truth.tasks.at_work.retain(|soul| left.contains(soul));
            }
            Entry::Released { .. } => {
                self.truth.living = false;
                self.truth.tasks.at_work.clear();
            }
            Entry::Completed { .. } => self.completed()?,
            Entry::Cancelled => self.truth.ended(End::Cancelled),
            _ => {}
        }
        Ok(())
    }

    fn known(&mut self, record: &Record) -> Option<&mut Known> {
        self.observer.attempts.get_mut(record.id.as_ref()?)
    }

    /// Somebody has compared the plan with the record.
    fn plan_changed(&mut self, edits: &[PlanEdit], file: &TaskFile<'_>) -> Result<(), Halt> {
        for edit in edits {
            if let PlanEdit::Renamed { from, to } = edit {
                promise!(soul_of(from) == soul_of(to), "{from:?} is taken for {to:?}");
                for known in self.observer.attempts.values_mut().filter(|known| known.key == *from)
                {
                    known.key = to.clone();
                }
            }
        }
        let held = self.is_held();
        self.truth.tasks.reviewed(file, held);
        self.truth.edited = Edited::NO;
        let tasks = &self.truth.tasks;
        let accepted: Vec<&String> = tasks.rogue.intersection(&tasks.by_person).collect();
        promise!(
            accepted.is_empty(),
            "{accepted:?} were ticked by agents, and count as a person's"
        );
        Ok(())
    }

    /// Boxes are opened again: all that have nothing behind them, and no others.
    fn taken_back(
        &mut self,
        names: &[String],
        own: Option<&str>,
        file: &TaskFile<'_>,
    ) -> Result<(), Halt> {
        let mut told = BTreeSet::new();
        for name in names.iter().filter(|name| !name.contains(" of ")) {
            let Some(task) = file.by_address(name) else { continue };
            promise!(
                !self.truth.tasks.is_proved(&soul(task)),
                "{name} was rightly ticked, and is opened again"
            );
            told.insert(soul(task));
        }
        let left = file.tasks.iter().find(|task| {
            let soul = soul(task);
            task.done
                && self.truth.edited == Edited::NO
                && !self.truth.tasks.is_proved(&soul)
                && !told.contains(&soul)
                && own != Some(soul.as_str())
        });
        promise!(
            left.is_none(),
            "{:?} is ticked with nothing behind it, and stays so",
            left.map(Task::name)
        );
        for soul in told {
            self.truth.tasks.forget_tick(&soul);
        }
        Ok(())
    }

    /// An attempt begins: what is known of its task is its own.
    fn opened(
        &mut self,
        record: &Record,
        task: &TaskKey,
        number: u64,
        file: &TaskFile<'_>,
    ) -> Result<(), Halt> {
        let soul = soul_of(task);
        let before = self.truth.tasks.opened.get(&soul).copied().unwrap_or(0);
        promise!(
            number <= before + 1,
            "{} was tried {before} times, and its next attempt is the {number}th",
            task.id
        );
        let place = file.tasks.iter().position(|other| other.name() == task.id);
        promise!(place.is_some(), "{} is opened, and not in the plan", task.id);
        let Some(id) = record.id.clone() else {
            return Err(Halt::Broken(format!("the attempt at {} has no id", task.id)));
        };
        self.may_begin(task, file)?;
        let tasks = &mut self.truth.tasks;
        tasks.reopened.remove(&soul);
        tasks.counted.remove(&soul);
        tasks.at_work.insert(soul.clone());
        *tasks.opened.entry(soul).or_default() += 1;
        let known = Known {
            key: task.clone(),
            place: place.unwrap_or(0),
            since: self.observer.records,
            is_beside: false,
            is_launched: false,
            ready: None,
            run: None,
            has_verdict: false,
            passed: false,
        };
        promise!(self.observer.attempts.insert(id, known).is_none(), "two attempts have one id");
        self.story(format!("attempt {number} at {} begins", task.id));
        Ok(())
    }

    /// Results go into the tree in the order of the plan.
    fn is_in_order(
        &self,
        record: &Record,
        task: &TaskKey,
        file: &TaskFile<'_>,
    ) -> Result<(), Halt> {
        let Some(mine) = record.id.as_ref().and_then(|id| self.observer.attempts.get(id)) else {
            return Ok(());
        };
        // Where it was when the attempt began, and where it is: a person may have moved it.
        let places = |known: &Known| {
            let its = soul_of(&known.key);
            (known.place, file.tasks.iter().position(|task| soul(task) == its))
        };
        let (then, now) = places(mine);
        let earlier = self.observer.attempts.values().find(|known| {
            let (before, place) = places(known);
            let is_in_front = before < then && place.is_some() && place < now;
            // One that a person has written in front of it later finds it on its way.
            let is_late = mine.ready.is_some_and(|ready| known.since > ready);
            let is_in_front = is_in_front && !is_late;
            known.is_beside && !known.has_verdict && known.run == record.run && is_in_front
        });
        promise!(
            earlier.is_none(),
            "{} is integrated before {:?}, which stands in front of it",
            task.id,
            earlier.map(|known| &known.key.id)
        );
        Ok(())
    }

    /// An attempt has its verdict, which is held against what is true.
    fn verdict(&mut self, record: &Record, file: &TaskFile<'_>) -> Result<(), Halt> {
        let (key, unticked, result) = match &record.entry {
            Entry::Passed { task, unticked, .. } => (task, unticked, AttemptResult::Passed),
            Entry::Failed { task, unticked, .. } => (task, unticked, AttemptResult::Failed),
            Entry::SetAside { task, unticked, .. } | Entry::Modified { task, unticked, .. } => {
                (task, unticked, AttemptResult::SetAside)
            }
            Entry::Waits { task, unticked, .. } => (task, unticked, AttemptResult::Waits),
            _ => return Ok(()),
        };
        let soul = soul_of(key);
        self.is_rightly_named(key)?;
        let id = record.id.clone();
        let attempt = id.as_ref().and_then(|id| self.observer.attempts.get_mut(id));
        let was_passed = attempt.as_ref().is_some_and(|known| known.passed);
        if let Some(attempt) = attempt {
            promise!(soul_of(&attempt.key) == soul, "an attempt is taken for one at {soul}");
            promise!(!attempt.has_verdict || was_passed, "{} has two verdicts", key.id);
            attempt.has_verdict = true;
            attempt.passed = result == AttemptResult::Passed;
        }
        if was_passed {
            // A pass is taken back whose work could not be committed.
            self.observer.uncommitted.retain(|other| Some(other) != id.as_ref());
            self.story(format!("the commit of {} is refused", key.id));
            match record.changes.is_some() {
                true => self.truth.taken_back(&soul, number_of(&record.entry)),
                false => self.truth.commit_lost(&soul),
            }
            return Ok(());
        }
        match &record.entry {
            Entry::Failed { reasons, .. } => {
                self.story(format!("{}: {result:?}, {}", key.id, reasons.join("; ")));
            }
            _ => self.story(format!("{}: {result:?}", key.id)),
        }
        let acts = id.as_ref().and_then(|id| self.acts.get(id));
        self.is_just(key, result, acts.map(Vec::as_slice).unwrap_or_default())?;
        if record.changes.is_some() {
            self.taken_back(unticked, Some(&soul), file)?;
        }
        if result == AttemptResult::Passed {
            self.observer.uncommitted.extend(id);
        }
        match record.changes.is_some() {
            true => self.truth.verdict(&soul, result),
            false => self.truth.lost_with_its_task(&soul),
        }
        Ok(())
    }

    /// The plan grows as an agent has asked, and within its limits.
    fn modified(&mut self, record: &Record, file: &TaskFile<'_>) -> Result<(), Halt> {
        let Entry::Modified { task, inserted, .. } = &record.entry else { return Ok(()) };
        let soul = soul_of(task);
        let own = file.tasks.len() - self.observer.added.min(file.tasks.len());
        self.observer.added += inserted.len();
        let added = self.observer.added;
        promise!(added <= (own / 4).max(5), "{added} tasks are added to a plan of {own}");
        let granted = self.observer.granted.entry(soul).or_default();
        *granted += 1;
        promise!(*granted <= 3, "{granted} requests about {} are granted", task.id);
        let edits = record.changes.iter().flat_map(|changes| &changes.tasks);
        let text = TaskEdit::apply_all(&edits.cloned().collect::<Vec<_>>(), file.text());
        let after = TaskFile::scan(&text);
        for id in inserted {
            let depth = std::iter::successors(after.by_address(id), |at| {
                after.by_address(at.goes_before()?)
            });
            let depth = depth.skip(1).take(9).count();
            promise!((1..=2).contains(&depth), "{id} stands {depth} levels deep");
        }
        let asked =
            record.id.as_ref().and_then(|id| self.acts.get(id)).and_then(|acts| acts.last());
        promise!(
            matches!(asked, Some(Act::Asks(_))),
            "{inserted:?} were added, and nobody has asked"
        );
        Ok(())
    }

    /// Whether a verdict is deserved.
    fn is_just(&self, key: &TaskKey, result: AttemptResult, acts: &[Act]) -> Result<(), Halt> {
        let soul = soul_of(key);
        let known = self.truth.tasks.known.get(&soul);
        let proof = known.map_or(Proof::Nothing, |known| known.check);
        let block = known.map(|known| known.block.as_slice()).unwrap_or_default();
        let block = TaskFile::scan(block);
        let task = block.tasks.first();
        let file = task.map(|task| plan::file_of(&block, task)).unwrap_or_default();
        // The check of such a task passes without an agent.
        let is_check = task.is_some_and(|task| Role::of(task.mode()) == Role::QaEngineer);
        let is_good = self.programs.found_good.lock().expect("no holder panics").contains(&file);
        // An agent of a run may have passed in its worktree before another one was asked.
        let claimed = |act: &Act| matches!(act, Act::Good | Act::FalseClaim);
        let claims = is_check || acts.is_empty() || acts.iter().any(claimed);
        match result {
            AttemptResult::Passed => {
                promise!(claims, "{} passes, and its agent did not say so: {acts:?}", key.id);
                let counted = self.truth.tasks.counted.get(&soul).into_iter().flatten();
                let mut proofs = counted.chain([&proof]);
                promise!(
                    is_good || proofs.any(|proof| proof.proves_nothing()),
                    "{} passes by {proof:?}, and its work is not done: {acts:?}",
                    key.id
                );
            }
            AttemptResult::Waits => {
                promise!(
                    self.truth.tasks.is_asked(&soul) || known.is_none(),
                    "{} waits, and nobody is asked about it",
                    key.id
                );
            }
            AttemptResult::Failed => {
                let deserved = acts.last() != Some(&Act::Good) || !is_good;
                promise!(deserved, "{} fails, and its work is good", key.id);
            }
            AttemptResult::SetAside | AttemptResult::Open => {}
        }
        Ok(())
    }

    /// Every verdict calls a task what it is called on record at that moment.
    fn is_rightly_named(&self, key: &TaskKey) -> Result<(), Halt> {
        let known = self.truth.tasks.known.get(&soul_of(key));
        if let Some(known) = known.filter(|known| !known.removal) {
            promise!(
                known.name == key.id,
                "{} is called {} on record, and a record about it {}",
                soul_of(key),
                known.name,
                key.id
            );
        }
        Ok(())
    }

    /// A commit is recorded: it holds its task, and nothing else.
    fn committed(
        &mut self,
        record: &Record,
        task: &TaskKey,
        commit: Option<&str>,
    ) -> Result<(), Halt> {
        if let Some(id) = &record.id {
            promise!(
                self.observer.uncommitted.remove(id),
                "{} is committed, and has not passed",
                task.id
            );
        }
        let Some(commit) = commit else { return Ok(()) };
        self.observer.commits += 1;
        let Some(paths) = self.repositories.changed_by(commit) else {
            return Err(Halt::Broken(format!("the commit of {} is in no history", task.id)));
        };
        let of_spec = ["specs/demo/tasks.md", "specs/demo/.progress.md", "shared"];
        let foreign = paths.iter().find(|path| {
            let is_of_task = path.starts_with('f') && !path.contains('/');
            !of_spec.contains(&path.as_str()) && !is_of_task
        });
        promise!(foreign.is_none(), "the commit of {} holds {foreign:?}", task.id);
        Ok(())
    }

    /// Every commit of specum's has its record, or its pass waits for it.
    pub(crate) fn commits_are_right(&self) -> Result<(), Halt> {
        let made = self.repositories.count("\nTask: ");
        let recorded = self.observer.commits;
        let waiting = self.observer.uncommitted.len();
        promise!(
            recorded <= made && made <= recorded + waiting,
            "{made} commits were made, {recorded} are recorded, {waiting} passes wait for theirs"
        );
        Ok(())
    }

    /// A run that has ended by itself leaves nothing behind.
    pub(crate) fn nothing_is_left(&self) -> Result<(), Halt> {
        let (_, worktrees) = self.repositories.left();
        promise!(worktrees.is_empty(), "a run has left worktrees: {worktrees:?}");
        Ok(())
    }

    fn completed(&mut self) -> Result<(), Halt> {
        let tasks = &self.truth.tasks;
        for (soul, known) in &tasks.known {
            let name = &known.name;
            promise!(!known.removal, "complete, and nobody has agreed to the removal of {name}");
            promise!(tasks.is_proved(soul), "complete, and {name} is not done");
        }
        promise!(
            self.observer.uncommitted.is_empty(),
            "complete, and not every pass has its commit"
        );
        self.truth.ended(End::Completed);
        self.story("the loop is complete".into());
        Ok(())
    }

    /// What the engine has on record is what happened.
    pub(crate) fn record_is_true(&self) -> Result<(), Halt> {
        let plan_record = self.store.plan_record();
        let plan_record = plan_record.map_err(|error| Halt::Broken(error.to_string()))?;
        if self.truth.end.is_some() || !plan_record.has_begun() {
            return Ok(());
        }
        let on_record: BTreeMap<String, &OnRecord> =
            plan_record.tasks().iter().map(|task| (soul_of(&task.task), task)).collect();
        let known = &self.truth.tasks.known;
        promise!(on_record.len() == plan_record.tasks().len(), "a task is on record twice");
        promise!(
            on_record.keys().eq(known.keys()),
            "on record are {:?}, there were {:?}",
            on_record.keys(),
            known.keys()
        );
        let proof = |lines: &Lines| Proof::of_lines(&lines.0);
        for (soul, task) in on_record {
            let (known, id) = (&known[&soul], &task.task.id);
            promise!(
                proof(&task.check) == known.check,
                "the check of {id} is not {:?}",
                known.check
            );
            let asked = task.unconfirmed.as_ref().map(|asked| &asked.change);
            let removal = matches!(asked, Some(Change::Removed(_)));
            promise!(removal == known.removal, "the removal of {id} is asked for: {removal}");
            if let Some(Change::Check(lines)) = asked {
                promise!(Some(proof(lines)) == known.asked, "{id} waits for another check");
            }
        }
        Ok(())
    }
}

/// The number of the attempt that a verdict is about.
fn number_of(verdict: &Entry) -> u64 {
    match verdict {
        Entry::Failed { attempt, .. } => *attempt,
        _ => 0,
    }
}
