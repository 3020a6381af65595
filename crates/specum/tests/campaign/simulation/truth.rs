//! What is true in the simulated world, known without asking the kernel, and
//! the promises that compare the two.

use std::collections::{BTreeMap, BTreeSet};

use specum_core::journal;
use specum_core::machine::{Effect, Step};
use specum_core::state::{State, Status};
use specum_core::summary::{AttemptResult, Standing, Summary};
use specum_core::tasks::{Task, TaskEdit, TaskFile};

use super::world::{Halt, World, promise};

/// How often the story is told, by the length of the journal.
const NOW_AND_THEN: usize = 7;
/// How often the whole journal is read again.
const EVERYTHING: usize = NOW_AND_THEN * 41;

/// How a loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Completed,
    Cancelled,
}

#[derive(Debug)]
pub(crate) struct Truth {
    /// What people have written, every box open and without fix tasks.
    pub(crate) plan: Vec<u8>,
    /// The fix tasks that were made.
    pub(crate) fixes: BTreeSet<String>,
    /// Tasks whose work was good when it was judged.
    pub(crate) earned: BTreeSet<String>,
    /// Tasks that a person has ticked, or accepted as they stood.
    pub(crate) by_person: BTreeSet<String>,
    /// Boxes that agents have ticked by themselves, until somebody judges them.
    pub(crate) rogue: BTreeSet<String>,
    /// Boxes that a person has opened again, and how many records there were.
    pub(crate) reopened: BTreeMap<String, usize>,
    /// How many tasks a person has added.
    pub(crate) added: u32,
    /// How many records there were when a person last moved tasks.
    pub(crate) moved_at: Option<usize>,
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
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) completed: u64,
}

impl Truth {
    pub(crate) fn of(tasks: &[u8]) -> Truth {
        let mut truth = Truth {
            plan: Vec::new(),
            fixes: BTreeSet::new(),
            earned: BTreeSet::new(),
            by_person: BTreeSet::new(),
            rogue: BTreeSet::new(),
            reopened: BTreeMap::new(),
            added: 0,
            moved_at: None,
            iterations: 1,
            tokens: 0,
            verdicts: BTreeMap::new(),
            end: None,
            foreign: None,
            passed: 0,
            failed: 0,
            completed: 0,
        };
        truth.person_has_edited(tasks);
        truth.accept_ticks(tasks);
        truth
    }

    /// A person has changed the plan: this is how it is meant from now on.
    pub(crate) fn person_has_edited(&mut self, tasks: &[u8]) {
        self.plan = self.bare(tasks);
    }

    /// A person has a task of their own, or opens it again: nothing that was
    /// known of its box counts any more.
    pub(crate) fn forget(&mut self, id: &str) {
        self.earned.remove(id);
        self.by_person.remove(id);
        self.rogue.remove(id);
    }

    /// A person takes the boxes as they stand.
    pub(crate) fn accept_ticks(&mut self, tasks: &[u8]) {
        let file = TaskFile::scan(tasks);
        self.by_person.extend(file.tasks.iter().filter(|task| task.done).map(Task::name));
    }

    /// Whoever ticked by themselves is found out, unless a person has moved the
    /// tasks meanwhile: then nobody can tell whose ticks they are.
    pub(crate) fn rogues_are_found_out(&mut self, plan_has_moved: bool) {
        let rogue = std::mem::take(&mut self.rogue);
        if plan_has_moved {
            self.by_person.extend(rogue);
        }
    }

    /// A verdict was written.
    pub(crate) fn verdict(&mut self, id: &str, result: AttemptResult, step: &Step) {
        self.iterations += 1;
        match result {
            AttemptResult::Passed => {
                self.passed += 1;
                self.earned.insert(id.to_owned());
            }
            _ => {
                self.failed += 1;
                self.earned.remove(id);
                self.by_person.remove(id);
            }
        }
        self.verdicts.entry(id.to_owned()).or_default().push(result);
        self.learn_fixes(step);
    }

    /// A pass was taken back because its work could not be committed.
    pub(crate) fn taken_back(&mut self, id: &str, step: &Step) {
        self.earned.remove(id);
        self.by_person.remove(id);
        self.commit_lost(id);
        self.learn_fixes(step);
    }

    /// A pass could not be committed, and nothing is left to be opened again.
    pub(crate) fn commit_lost(&mut self, id: &str) {
        if let Some(last) = self.verdicts.get_mut(id).and_then(|verdicts| verdicts.last_mut()) {
            *last = AttemptResult::Failed;
        }
    }

    /// Fix tasks are no task of a person.
    pub(crate) fn learn_fixes(&mut self, step: &Step) {
        for effect in &step.effects {
            if let Effect::Edit(TaskEdit::InsertAfter { id, .. }) = effect {
                self.fixes.insert(id.clone());
            }
        }
    }

    /// The loop has ended.
    pub(crate) fn ended(&mut self, end: End) {
        self.end = Some(end);
        self.iterations = 1;
        self.tokens = 0;
        self.foreign = None;
        self.completed += u64::from(end == End::Completed);
    }

    /// A loop begins, or goes on.
    pub(crate) fn started(&mut self) {
        if self.end.take().is_some() {
            self.verdicts.clear();
        }
    }

    /// A task file without ticks and fix tasks: what belongs to people.
    fn bare(&self, tasks: &[u8]) -> Vec<u8> {
        let file = TaskFile::scan(tasks);
        let mut bare = Vec::with_capacity(tasks.len());
        let mut at = 0;
        for task in &file.tasks {
            bare.extend_from_slice(&tasks[at..task.block.start]);
            at = task.block.end;
            if !task.id.as_ref().is_some_and(|id| self.fixes.contains(id)) {
                let mark = file.set_mark(task, false);
                bare.extend_from_slice(&tasks[task.block.start..mark.range.start]);
                bare.extend_from_slice(&mark.with);
                bare.extend_from_slice(&tasks[mark.range.end..task.block.end]);
            }
        }
        bare.extend_from_slice(&tasks[at..]);
        // Behind a last line that nobody ended an insertion ends it.
        bare.truncate(bare.trim_ascii_end().len());
        bare
    }
}

impl World {
    /// Looks at everything that is promised, as whoever takes the lock next
    /// would find it.
    pub(crate) fn keep_promises(&mut self) -> Result<(), Halt> {
        let mut disk = self.disk.half_done();
        let disk = match &mut disk {
            Some(recovered) => {
                recovered.recover(&self.at())?;
                &*recovered
            }
            None => &self.disk,
        };
        let file = TaskFile::scan(&disk.tasks);
        promise!(self.truth.bare(&disk.tasks) == self.truth.plan, "people's own text has changed");
        self.ticks_are_earned(&file)?;
        fixes_are_bounded(&file)?;
        if let Some(bytes) = &disk.state {
            match State::parse(bytes) {
                Ok(state) => {
                    promise!(state.render() == *bytes, "the state is not what it was read from");
                    self.counts_are_true(&state, &file)?;
                }
                // Somebody else's doing.
                Err(why) => promise!(self.truth.foreign == Some(u64::MAX), "corrupt: {why}"),
            }
        }
        self.story_is_true(disk.journal.len(), &file)
    }

    fn ticks_are_earned(&self, file: &TaskFile<'_>) -> Result<(), Halt> {
        let truth = &self.truth;
        for task in &file.tasks {
            let name = task.name();
            let earned = truth.earned.contains(&name);
            if task.done {
                let known = earned || truth.by_person.contains(&name);
                promise!(
                    known || truth.rogue.contains(&name),
                    "{name} is ticked, and nobody has found it good"
                );
            }
            promise!(task.done || !earned, "{name} has passed, and its box is open");
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
        let exhausted = state.task_results.values().any(|result| {
            result.status == Status::Failed && result.attempts >= state.max_task_iterations
        });
        let may_be = state.blocked.is_some() || state.parallel_group.is_some();
        promise!(!exhausted || may_be, "a task has used its attempts, and the loop goes on");
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
        if let Some(foreign) = self.truth.foreign.filter(|foreign| *foreign != u64::MAX) {
            let found = state.to_object().get("x-other").and_then(serde_json::Value::as_u64);
            promise!(found == Some(foreign), "another program's field is lost");
        }
        Ok(())
    }

    /// Whether the summary tells what happened. Told only now and then: it is
    /// read from the whole journal.
    fn story_is_true(&self, length: usize, file: &TaskFile<'_>) -> Result<(), Halt> {
        if !length.is_multiple_of(NOW_AND_THEN) {
            return Ok(());
        }
        let records = &self.disk.records;
        if length.is_multiple_of(EVERYTHING) {
            let at_once = journal::parse(&self.disk.journal);
            promise!(at_once == *records, "the journal reads differently when read at once");
        }
        let summary = Summary::of(records, file);
        promise!(summary.done == file.done_count(), "the summary counts other ticks");
        for (id, verdicts) in &self.truth.verdicts {
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
