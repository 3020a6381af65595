//! What is true in the simulated world, known without asking the kernel, and
//! the promises that compare the two.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use specum_core::state::{State, Status, TaskResult};
use specum_core::summary::{AttemptResult, Standing, Summary};
use specum_core::tasks::{Task, TaskFile};

use specum_engine::store::Store;

use super::known::Tasks;
use super::plan::soul;
use super::steering::Steering;
use super::world::{Halt, MINE, World, promise};

/// How often the story is told, by the number of records.
const NOW_AND_THEN: usize = 29;

/// How a loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Completed,
    Cancelled,
}

#[derive(Debug, Default)]
pub(crate) struct Truth {
    /// The plan as it is written, every box open and without fix tasks.
    pub(crate) plan: Vec<u8>,
    /// What is true about its tasks.
    pub(crate) tasks: Tasks,
    /// The fix tasks that were made.
    pub(crate) fixes: BTreeSet<String>,
    /// How many tasks there have ever been.
    pub(crate) numbers: u32,
    /// What a person has said to the work.
    pub(crate) steering: Steering,
    /// Whether the plan was edited since somebody last compared it with the
    /// record, and how.
    pub(crate) edited: Edited,
    /// What the loop must have counted.
    pub(crate) iterations: u64,
    /// What it must have spent.
    pub(crate) tokens: u64,
    /// The verdicts of the last loop, by task.
    pub(crate) verdicts: BTreeMap<String, Vec<AttemptResult>>,
    /// Whether, and how, the last loop has ended.
    pub(crate) end: Option<End>,
    /// A field of another program in the state.
    pub(crate) foreign: Option<u64>,
    /// What the user has in a file of their own.
    pub(crate) mine: Vec<u8>,
    /// Whether somebody who is alive holds the loop.
    pub(crate) living: bool,
    /// The session that asks, if one does.
    pub(crate) session: Option<String>,
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) waited: u64,
    pub(crate) completed: u64,
}

/// How a plan was edited since somebody last looked.
///
/// Some edits at once cannot be followed by anybody: who renumbers a task and
/// rewrites it has written another one. The simulation makes no such edits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Edited(u8);

impl Edited {
    /// Not at all.
    pub(crate) const NO: Edited = Edited(0);
    /// Tasks came or moved.
    pub(crate) const PLACES: Edited = Edited(1);
    /// Tasks went.
    pub(crate) const REMOVED: Edited = Edited(2);
    /// Tasks were rewritten: their names, or their titles, tell.
    pub(crate) const WORDS: Edited = Edited(4);
    /// Tasks were numbered anew: their text tells.
    pub(crate) const NUMBERS: Edited = Edited(8);
    /// A title was rewritten, or a task removed, where titles are all there is:
    /// only the neighbours tell.
    pub(crate) const TITLE: Edited = Edited(16);

    /// This and another edit at once, if anybody can follow them.
    pub(crate) fn with(self, other: Edited) -> Option<Edited> {
        let both = Edited(self.0 | other.0);
        let has = |edit: Edited| both.0 & edit.0 != 0;
        // A number that was another's, with other words behind it, is the other
        // one rewritten.
        let is_rewritten = has(Self::NUMBERS) && (has(Self::WORDS) || has(Self::REMOVED));
        let is_retitled = has(Self::TITLE) && (self != Self::NO || other != Self::TITLE);
        (self == both && other == Self::NO || !is_rewritten && !is_retitled).then_some(both)
    }
}

impl Truth {
    pub(crate) fn of(tasks: &[u8]) -> Truth {
        let numbers = u32::try_from(TaskFile::scan(tasks).tasks.len()).expect("a few tasks");
        let mine = b"changed, and not committed\n".to_vec();
        let mut truth = Truth { numbers, iterations: 1, mine, ..Truth::default() };
        truth.plan_is(tasks);
        truth.tasks.begin(&TaskFile::scan(tasks));
        truth
    }

    /// Somebody has changed the plan: this is how it reads from now on.
    pub(crate) fn plan_is(&mut self, tasks: &[u8]) {
        self.plan = self.bare(tasks);
    }

    /// A verdict was written.
    pub(crate) fn verdict(&mut self, soul: &str, result: AttemptResult) {
        self.iterations += 1;
        self.tasks.at_work.remove(soul);
        match result {
            AttemptResult::Passed => {
                self.passed += 1;
                self.tasks.rogue.remove(soul);
                self.tasks.earned.insert(soul.to_owned());
            }
            AttemptResult::Waits => {
                self.waited += 1;
                self.tasks.forget_tick(soul);
            }
            _ => {
                self.failed += 1;
                *self.tasks.failed.entry(soul.to_owned()).or_default() += 1;
                self.tasks.forget_tick(soul);
            }
        }
        self.verdicts.entry(soul.to_owned()).or_default().push(result);
    }

    /// An attempt has ended whose task is gone.
    pub(crate) fn lost_with_its_task(&mut self, soul: &str) {
        self.tasks.at_work.remove(soul);
        self.waited += 1;
        self.verdicts.entry(soul.to_owned()).or_default().push(AttemptResult::Waits);
    }

    /// A pass was taken back because its work could not be committed.
    pub(crate) fn taken_back(&mut self, soul: &str, attempt: u64) {
        let opened = self.tasks.opened.entry(soul.to_owned()).or_default();
        *opened = (*opened).max(attempt);
        // A pass counted in its own loop, and its failure counts in its place; in a loop
        // that has begun since, the failure is one of its own.
        self.iterations = self.iterations.saturating_sub(1).max(1) + 1;
        *self.tasks.failed.entry(soul.to_owned()).or_default() += 1;
        self.tasks.forget_tick(soul);
        self.commit_lost(soul);
    }

    /// A pass could not be committed, and nothing is left to be opened again.
    pub(crate) fn commit_lost(&mut self, soul: &str) {
        let verdicts = self.verdicts.entry(soul.to_owned()).or_default();
        // One of a loop that was cancelled is told as a failure of the loop that hears of it.
        verdicts.pop_if(|last| *last == AttemptResult::Passed);
        verdicts.push(AttemptResult::Failed);
    }

    /// specum has added a fix task, which is no task of a person, and on record at once.
    pub(crate) fn learn_fix(&mut self, id: &str, block: &str) {
        self.fixes.insert(id.to_owned());
        self.tasks.add(&TaskFile::scan(block.as_bytes()));
    }

    /// The loop has ended.
    pub(crate) fn ended(&mut self, end: End) {
        self.end = Some(end);
        self.iterations = 1;
        self.tokens = 0;
        self.foreign = None;
        self.completed += u64::from(end == End::Completed);
        // A new loop takes the boxes as they stand.
        let Tasks { earned, by_person, rogue, .. } = &mut self.tasks;
        by_person.append(earned);
        by_person.append(rogue);
        self.tasks.at_work.clear();
    }

    /// A loop begins, or goes on.
    pub(crate) fn started(&mut self, is_new: bool, file: &TaskFile<'_>) {
        if self.end.take().is_some() {
            self.verdicts.clear();
        }
        if is_new {
            self.tasks.begin(file);
            self.edited = Edited::NO;
        }
    }

    /// A task file without ticks and fix tasks: what belongs to people.
    pub(crate) fn bare(&self, tasks: &[u8]) -> Vec<u8> {
        let file = TaskFile::scan(tasks);
        let mut bare = Vec::with_capacity(tasks.len());
        let mut at = 0;
        for task in &file.tasks {
            bare.extend_from_slice(&tasks[at..task.block.start]);
            at = task.block.end;
            if !task.id.as_ref().is_some_and(|id| self.fixes.contains(id)) {
                let block = String::from_utf8_lossy(file.block(task));
                bare.extend_from_slice(block.replace("- [x]", "- [ ]").as_bytes());
            }
        }
        bare.extend_from_slice(&tasks[at..]);
        // Behind a last line that nobody ended an insertion ends it.
        bare.truncate(bare.trim_ascii_end().len());
        bare
    }
}

impl World {
    /// Looks at everything that is promised, as the next holder of the lock would find
    /// it.
    pub(crate) fn keep_promises(&mut self) -> Result<(), Halt> {
        self.observe()?;
        if let Some(path) = self.disk.unguarded() {
            return Err(Halt::Broken(format!("{} was written without the lock", path.display())));
        }
        if self.observer.is_half_done {
            // The next process completes it; until then there is nothing to see.
            return Ok(());
        }
        let text = self.tasks();
        let file = TaskFile::scan(&text);
        promise!(text == self.observer.plan, "the plan was changed past the record");
        promise!(self.truth.bare(&text) == self.truth.plan, "people's own text has changed");
        self.ticks_are_earned(&file)?;
        fixes_are_bounded(&file)?;
        if let Some(bytes) = self.state_bytes() {
            match State::parse(&bytes) {
                Ok(state) => {
                    promise!(state.render() == bytes, "the state is not what it was read from");
                    self.counts_are_true(&state, &file)?;
                }
                // Somebody else's doing.
                Err(why) => promise!(self.truth.foreign == Some(u64::MAX), "corrupt: {why}"),
            }
        }
        let mine = self.disk.content(Path::new(MINE));
        promise!(mine.as_ref() == Some(&self.truth.mine), "a file of the user's was changed");
        self.commits_are_right()?;
        self.record_is_true()?;
        self.story_is_true(&file)
    }

    /// Whether somebody works the loop, or has not been heard of since.
    pub(crate) fn is_held(&self) -> bool {
        self.truth.living || !self.truth.tasks.at_work.is_empty()
    }

    fn ticks_are_earned(&self, file: &TaskFile<'_>) -> Result<(), Halt> {
        let tasks = &self.truth.tasks;
        for task in &file.tasks {
            let (name, soul) = (task.name(), soul(task));
            promise!(
                !task.done || tasks.is_proved(&soul) || tasks.rogue.contains(&soul),
                "{name} is ticked, and nobody has found it good"
            );
            promise!(
                task.done || !tasks.is_proved(&soul),
                "{name} was rightly ticked, and its box is open"
            );
        }
        Ok(())
    }

    fn counts_are_true(&self, state: &State, file: &TaskFile<'_>) -> Result<(), Halt> {
        let counted = state.global_iteration;
        let verdicts = self.truth.iterations;
        promise!(counted == verdicts, "{counted} iterations are counted, {verdicts} were made");
        let (spent, used) = (state.budget.tokens, self.truth.tokens);
        promise!(spent == used, "{spent} tokens are counted, {used} were used");
        promise!(state.task_index <= state.total_tasks.unwrap_or(0), "the index is out of bounds");
        // The loop goes on without a task that is skipped or that a person has ticked, and,
        // if a person wants that, without one that is blocked.
        let is_left_out = |result: &TaskResult| {
            let is_blocked = state.keep_going && result.blocked;
            let is_done = file.tasks.iter().any(|task| task.done && task.name() == result.id);
            is_blocked || is_done || state.skipped.contains(&result.id)
        };
        let exhausted = state.task_results.iter().find(|(_, result)| {
            result.status == Status::Failed
                && result.attempts >= state.max_task_iterations
                && !is_left_out(result)
        });
        let may_be = state.blocked().is_some() || state.parallel_group.is_some();
        promise!(
            exhausted.is_none() || may_be,
            "a task has used its attempts, and the loop goes on: {exhausted:?}"
        );
        for (index, result) in &state.task_results {
            let meant = file.tasks.get(*index).map(Task::name);
            let moved = self.truth.foreign == Some(u64::MAX) || meant.is_none();
            promise!(
                moved || result.attempts <= state.max_task_iterations,
                "{} attempts at {}, {} are allowed",
                result.attempts,
                result.id,
                state.max_task_iterations
            );
        }
        self.nothing_is_inherited(state, file)?;
        if let Some(foreign) = self.truth.foreign.filter(|foreign| *foreign != u64::MAX) {
            let found = state.to_object().get("x-other").and_then(serde_json::Value::as_u64);
            promise!(found == Some(foreign), "another program's field is lost");
        }
        Ok(())
    }

    /// No task has failures that another one made. What the state calls by a name
    /// can be told only as long as nobody has given the name to another.
    fn nothing_is_inherited(&self, state: &State, file: &TaskFile<'_>) -> Result<(), Halt> {
        if self.truth.edited != Edited::NO {
            return Ok(());
        }
        self.truth.skips_are_true(state, file)?;
        for result in state.task_results.values().filter(|r| r.status == Status::Failed) {
            let Some(task) = file.tasks.iter().find(|task| task.name() == result.id) else {
                continue;
            };
            let failed = self.truth.tasks.failed.get(&soul(task)).copied().unwrap_or(0);
            promise!(
                result.attempts <= failed,
                "{} has failed {failed} times, and {} are counted",
                result.id,
                result.attempts
            );
        }
        Ok(())
    }

    /// Whether the summary tells what happened. Told only now and then: it is
    /// read from the whole journal.
    fn story_is_true(&self, file: &TaskFile<'_>) -> Result<(), Halt> {
        if !self.observer.records.is_multiple_of(NOW_AND_THEN) {
            return Ok(());
        }
        let records = self.store.read_journal();
        let records = records.map_err(|error| Halt::Broken(error.to_string()))?;
        let ledger = self.store.ledger().map_err(|error| Halt::Broken(error.to_string()))?;
        let at_once = Store::of(&self.spec()).ledger();
        promise!(
            at_once.is_ok_and(|other| other == ledger),
            "the journal reads differently at once"
        );
        if records.is_empty() {
            // The journal of a loop that is over has become a segment.
            return Ok(());
        }
        let summary = Summary::of(&records, file);
        promise!(summary.done == file.done_count(), "the summary counts other ticks");
        // Names are compared only where nobody has given them to others since.
        let names: BTreeMap<String, String> = match self.truth.edited {
            Edited::NO => file.tasks.iter().map(|task| (soul(task), task.name())).collect(),
            _ => BTreeMap::new(),
        };
        for (soul, verdicts) in &self.truth.verdicts {
            let Some(id) = names.get(soul) else { continue };
            let told: Vec<AttemptResult> = summary
                .task(id)
                .into_iter()
                .flat_map(|task| task.attempts.iter().map(|attempt| attempt.result))
                .filter(|result| *result != AttemptResult::Open)
                .collect();
            promise!(told == *verdicts, "{id}: the journal tells {told:?}, it was {verdicts:?}");
        }
        let standing = &summary.standing;
        match self.truth.end {
            Some(End::Completed) => {
                promise!(*standing == Standing::Complete, "complete, but told as {standing:?}");
            }
            Some(End::Cancelled) => {
                promise!(*standing == Standing::Cancelled, "cancelled, but told as {standing:?}");
            }
            None => {
                let over = matches!(standing, Standing::Complete | Standing::Cancelled);
                promise!(!over, "under way, but told as {standing:?}");
            }
        }
        Ok(())
    }
}

fn fixes_are_bounded(file: &TaskFile<'_>) -> Result<(), Halt> {
    for task in &file.tasks {
        let Some(id) = task.id.as_deref() else { return Ok(()) };
        let fixes = file.tasks.iter().filter(|other| other.fixes() == Some(id)).count();
        promise!(fixes <= 3, "{id} has {fixes} fix tasks");
        let mut depth = 0;
        let mut at = task;
        // A person may have removed what was fixed, and shortened the line.
        while let Some(original) = at.fixes().and_then(|id| file.by_address(id)) {
            depth += 1;
            at = original;
            promise!(depth <= 3, "{id} is a fix of a fix of a fix of a fix");
        }
    }
    Ok(())
}
