//! The loop, one event at a time.
//!
//! [`step`] takes the state and the task file as they stand and says what they
//! become. Nothing happens here: the caller carries out the effects, in order,
//! and writes the state. [`due`] answers the question in between: what is to
//! be worked now?

mod due;
mod event;
mod fix_tasks;
mod person;

use std::collections::BTreeMap;

use crate::line;
use crate::modify::Change;
use crate::plan::{self, Scope, Unit};
use crate::progress::{Note, Section};
use crate::state::{self, Owner, ParallelGroup, Phase, Standing, State, Status, TaskResult};
use crate::tasks::{Task, TaskEdit, TaskFile, TaskKey, short_title};

pub use self::due::{Due, batch_is_over, due, held, joiners, unit};
use self::due::{blocked_tasks, is_blocked, is_under_way};
pub use self::event::{Effect, Event, Raise, Signal, Start, Step};
pub use self::person::{Hold, hold_before, phase_under_way};

/// How far apart the tasks of a batch may stand. Beyond that the bounds of a
/// group are not ours.
const MAX_BATCH_SPAN: usize = 1000;

/// Moves the loop one event forward. An event about a task that is not in the plan
/// changes nothing.
pub fn step(state: &State, file: &TaskFile<'_>, event: Event) -> Step {
    let unmoved = || Step { state: Some(state.clone()), effects: Vec::new() };
    moved(state, file, event).unwrap_or_else(unmoved)
}

/// The same; `None` if nothing changes.
fn moved(state: &State, file: &TaskFile<'_>, event: Event) -> Option<Step> {
    let task = |index: usize| file.tasks.get(index);
    let tasks = |indices: Vec<usize>| indices.into_iter().map(task).collect::<Option<Vec<_>>>();
    let follows = matches!(event, Event::Follow { .. });
    let mut loop_ = Loop { state: state.clone(), file, effects: Vec::new(), follows };
    if let Event::Follow { renames, .. } = &event {
        loop_.rename(renames);
    }
    loop_.realign();
    match event {
        Event::Start(start) => loop_.start(start),
        Event::Open(indices) => loop_.open(&tasks(indices)?),
        Event::Join(indices) => loop_.join(&tasks(indices)?),
        Event::Pass { index, unverified } => loop_.pass(task(index)?, unverified),
        Event::Fail { index, reason } => loop_.fail(task(index)?, &reason),
        Event::TakeBack { index, attempt, reason } => {
            loop_.take_back(task(index)?, attempt, &reason);
        }
        Event::SetAside { index, reason } => loop_.set_aside(task(index)?, &reason),
        Event::Modify { index, change } => loop_.modify(task(index)?, &change),
        Event::PassAndFollow { index, unverified, change } => {
            loop_.insert(task(index)?, &change);
            loop_.pass(task(index)?, unverified);
        }
        Event::Wait { index, reason } => loop_.wait(task(index)?, &reason),
        Event::Halt { index, reason } => loop_.halt(task(index)?, reason),
        Event::Tick { index } => loop_.tick(task(index)?),
        Event::Skip { index } => loop_.skip(task(index)?),
        Event::Unskip { index } => loop_.unskip(task(index)?),
        Event::Retry { index } => loop_.retry(task(index)?),
        Event::Undo { index } => loop_.undo(task(index)?),
        Event::PauseAfter(after) => {
            return without_plan(state, |state| state.pause_after = Some(after));
        }
        Event::AwaitApproval { phase } => {
            return without_plan(state, |state| person::await_approval(state, phase));
        }
        Event::Approve => return without_plan(state, person::approve),
        Event::Follow { settled, .. } => loop_.settle_questions(&settled),
        Event::Charge { charge, millis } => {
            return without_plan(state, |state| {
                state.budget.spend(&charge);
                state.budget.millis = state.budget.millis.saturating_add(millis);
            });
        }
        Event::Hold(owner) => return without_plan(state, |state| state.owner = Some(owner)),
        Event::Release { millis } => {
            return without_plan(state, |state| {
                state.budget.millis = state.budget.millis.saturating_add(millis);
                state.owner = None;
            });
        }
        Event::Pause { .. } if state.blocked().is_some() => return None,
        Event::Pause { why } => {
            return without_plan(state, |state| {
                state.standing = Standing::Paused(why);
                state.pause_after = None;
            });
        }
        Event::Resume(raise) => loop_.resume(raise),
        Event::EndBatch => {
            loop_.end_batch_if_resolved();
        }
        Event::Complete if plan::current(&file.tasks).is_some() || !file.unread.is_empty() => {}
        Event::Complete => {
            let effects = vec![Effect::Signal(Signal::AllTasksComplete)];
            return Some(Step { state: None, effects });
        }
        Event::Cancel => return Some(Step { state: None, effects: Vec::new() }),
    }
    loop_.settle();
    Some(Step { state: Some(loop_.state), effects: loop_.effects })
}

/// A change that needs no plan: its file may be gone for a moment, while a person
/// looks at another branch.
fn without_plan(state: &State, change: impl FnOnce(&mut State)) -> Option<Step> {
    let mut state = state.clone();
    change(&mut state);
    Some(Step { state: Some(state), effects: Vec::new() })
}

/// The loop while an event moves it.
struct Loop<'a> {
    state: State,
    file: &'a TaskFile<'a>,
    effects: Vec<Effect>,
    /// Whether the event comes from a review: then the plan agrees with the record.
    follows: bool,
}

impl Loop<'_> {
    fn start(&mut self, start: Start) {
        if let Some(task) = self.file.below_open_heading() {
            self.effects.push(Effect::Edit(TaskEdit::Tick(task.key())));
        }
        let state = &mut self.state;
        let total = self.file.tasks.len();
        let cap = state.max_global_iterations;
        let chosen = state.budget.max_iterations == Some(cap);
        let spent = state.attempts_left() == 0;
        let by_run = matches!(start.owner, Some(Owner::Runner { .. }));
        state.phase = Phase::Execution;
        state.plan.get_or_insert_default();
        if state.blocked().is_none() {
            state.standing = Standing::Running;
        }
        state.waiting_for = None;
        match start.approve {
            Some(true) if state.approved.is_none() => {
                let phase = plan::current(&self.file.tasks).map(|at| &self.file.tasks[at]);
                state.approved = Some(phase.map(|task| self.file.phase(task)).unwrap_or_default());
            }
            Some(false) => state.approved = None,
            Some(true) | None => {}
        }
        state.max_task_iterations = start.max_task_iterations.unwrap_or(state.max_task_iterations);
        state.recovery_mode = start.recovery_mode.unwrap_or(state.recovery_mode);
        state.keep_going = start.keep_going.unwrap_or(state.keep_going);
        state.driver = start.driver;
        state.owner = start.owner;
        let budget = &mut state.budget;
        budget.max_iterations = start.max_global_iterations.or(budget.max_iterations);
        budget.max_tokens = start.max_tokens.or(budget.max_tokens);
        budget.allow_cost(start.max_cost);
        budget.max_millis = start.max_millis.or(budget.max_millis);
        let room = State::default_global_cap(total, state.max_task_iterations);
        state.max_global_iterations = match start.max_global_iterations {
            Some(cap) => cap,
            // Scripts start a run again and again; only a person who names a
            // higher cap lets it go on.
            None if by_run && (spent || chosen) => cap,
            // Counters are never set back, so that starting again cannot hide
            // how often something failed; a spent cap is moved on instead.
            None if spent => {
                (state.global_iteration.saturating_sub(1) + room).min(state::MAX_COUNT)
            }
            None => cap.max(room),
        };
        if self.state.keep_going && self.state.blocked().is_some() {
            // It was blocked when a blocked task still ended the loop, or when nothing else
            // was left; that is found again.
            self.state.standing = Standing::Running;
            self.add_fix_tasks();
        }
        if !self.state.keep_going {
            self.stop_at_blocked();
        }
    }

    /// A loop that no longer goes on without them ends at its blocked tasks.
    fn stop_at_blocked(&mut self) {
        let blocked = self.file.open().filter(|task| is_blocked(&self.state, task));
        let mut whys = blocked.filter_map(|task| self.state.result_of(task)?.error.clone());
        if let (Some(why), Standing::Running) = (whys.next(), &self.state.standing) {
            self.state.standing = Standing::Blocked(why);
            self.effects.push(Effect::Signal(Signal::Blocked));
        }
    }

    fn open(&mut self, tasks: &[&Task]) {
        if let Some(left) = self.state.parallel_group.take() {
            // What its executors have noted so far is not lost with it.
            self.effects.push(Effect::MergeParts(parts_of(&left)));
        }
        if let [first, _, ..] = tasks {
            let (start_index, end_index) = (first.index, first.index);
            let task_indices = Vec::new();
            self.state.parallel_group =
                Some(ParallelGroup { start_index, end_index, task_indices });
            self.join(tasks);
        }
    }

    fn join(&mut self, tasks: &[&Task]) {
        let Some(group) = &mut self.state.parallel_group else { return };
        for task in tasks {
            group.start_index = group.start_index.min(task.index);
            group.end_index = group.end_index.max(task.index);
            group.task_indices.push(task.index);
        }
        for task in tasks {
            let attempts = self.attempts(task);
            self.record(task, Status::Pending, None, attempts);
        }
    }

    fn pass(&mut self, task: &Task, unverified: bool) {
        let (attempt, attempts) = (self.number(task), state::one_more(self.attempts(task)));
        let proof = if unverified { ", unverified" } else { "" };
        self.state.global_iteration = state::one_more(self.state.global_iteration);
        self.effects.push(Effect::Edit(TaskEdit::Tick(task.key())));
        self.note(
            Section::Completed,
            format!("- {} {} (attempt {attempt}{proof})", task.name(), short_title(&task.title)),
        );
        if self.in_batch(task) {
            self.record(task, Status::Success, None, attempts);
        } else {
            self.forget(task);
        }
        self.lift_block();
        // Ahead of the commit, so that notes merged at the end of a batch and
        // the fix task of a neighbour are part of it.
        let batch_ended = self.end_batch_if_resolved();
        self.effects.push(Effect::Signal(Signal::TaskComplete));
        if batch_ended {
            self.effects.push(Effect::Signal(Signal::BatchComplete));
        }
    }

    fn fail(&mut self, task: &Task, reason: &str) {
        let (attempt, attempts) = (self.number(task), state::one_more(self.attempts(task)));
        let reason = one_line(reason);
        self.state.global_iteration = state::one_more(self.state.global_iteration);
        if task.done {
            self.effects.push(Effect::Edit(TaskEdit::Untick(task.key())));
        }
        self.note(Section::Failed, format!("- {} attempt {attempt}: {reason}", task.name()));
        self.record(task, Status::Failed, Some(reason), attempts);
        if self.state.parallel_group.is_none() {
            self.add_fix_tasks();
        } else if self.end_batch_if_resolved() {
            self.effects.push(Effect::Signal(Signal::BatchComplete));
        }
    }

    fn take_back(&mut self, task: &Task, attempt: u64, reason: &str) {
        // What the pass has counted and forgotten.
        self.state.global_iteration = self.state.global_iteration.saturating_sub(1).max(1);
        // An attempt has begun, so fewer had failed than may; the number counts
        // those that were set aside too.
        let most = self.state.max_task_iterations.saturating_sub(1);
        self.record(task, Status::Failed, None, attempt.saturating_sub(1).min(most));
        self.fail(task, reason);
    }

    fn set_aside(&mut self, task: &Task, reason: &str) {
        let (attempt, attempts) = (self.number(task), self.attempts(task));
        let reason = one_line(reason);
        // Every attempt counts towards the cap of the loop.
        self.state.global_iteration = state::one_more(self.state.global_iteration);
        if task.done {
            self.effects.push(Effect::Edit(TaskEdit::Untick(task.key())));
        }
        self.note(
            Section::Failed,
            format!("- {} attempt {attempt} is done again, alone: {reason}", task.name()),
        );
        self.record(task, Status::Failed, Some(reason), attempts);
        if let Some(result) = self.state.task_results.get_mut(&task.index) {
            result.set_aside = state::one_more(result.set_aside);
        }
        if self.end_batch_if_resolved() {
            self.effects.push(Effect::Signal(Signal::BatchComplete));
        }
    }

    /// The task is done again once what it waits for is done. Its own attempts count no
    /// more: it is another task now.
    fn modify(&mut self, task: &Task, change: &Change) {
        self.state.global_iteration = state::one_more(self.state.global_iteration);
        if task.done {
            self.effects.push(Effect::Edit(TaskEdit::Untick(task.key())));
        }
        self.insert(task, change);
        self.record(task, Status::Failed, None, self.attempts(task));
        if let Some(result) = self.state.task_results.get_mut(&task.index) {
            result.set_aside = state::one_more(result.set_aside);
        }
    }

    /// Adds the tasks of a change to the plan, and what is a person's to the notes.
    fn insert(&mut self, task: &Task, change: &Change) {
        self.effects.extend(change.edits.iter().cloned().map(Effect::Edit));
        let added = change.inserted().join(", ");
        if !added.is_empty() {
            let why = one_line(&change.why);
            self.note(Section::Learnings, format!("- {} asked for {added}: {why}", task.name()));
        }
        for line in &change.for_person {
            self.note(Section::Blockers, one_line(line));
        }
    }

    /// The task waits for a person, the loop goes on with others. No failed
    /// attempt, but one towards the cap of the loop.
    fn wait(&mut self, task: &Task, reason: &str) {
        let (attempts, reason) = (self.attempts(task), one_line(reason));
        self.state.global_iteration = state::one_more(self.state.global_iteration);
        if task.done {
            self.effects.push(Effect::Edit(TaskEdit::Untick(task.key())));
        }
        self.note(Section::Blockers, format!("- {} waits: {reason}", task.name()));
        self.record(task, Status::Failed, None, attempts);
        if let Some(result) = self.state.task_results.get_mut(&task.index) {
            result.waits = true;
        }
        if self.end_batch_if_resolved() {
            self.effects.push(Effect::Signal(Signal::BatchComplete));
        }
    }

    /// The loop waits for a person, who is to make the check of a task possible; then
    /// the task is due again.
    fn halt(&mut self, task: &Task, reason: String) {
        self.wait(task, &reason);
        if let Some(result) = self.state.task_results.get_mut(&task.index) {
            result.waits = false;
        }
        if self.state.blocked().is_none() {
            self.state.standing = Standing::Paused(Some(reason));
        }
    }

    fn tick(&mut self, task: &Task) {
        self.effects.push(Effect::Edit(TaskEdit::Tick(task.key())));
        let (name, title) = (task.name(), short_title(&task.title));
        self.note(Section::Completed, format!("- {name} {title} (ticked by you, not checked)"));
        self.forget(task);
        self.lift_block();
        // Without a result nothing would say where it is when it moves.
        if let Some(group) = &mut self.state.parallel_group {
            group.task_indices.retain(|&member| member != task.index);
        }
    }

    /// Lets the state follow tasks that are called otherwise now.
    fn rename(&mut self, renames: &[(String, TaskKey)]) {
        let now = |id: &str| renames.iter().find(|(from, _)| from == id).map(|(_, to)| &to.id);
        for result in self.state.task_results.values_mut() {
            if let Some(id) = now(&result.id) {
                result.id.clone_from(id);
            }
        }
        self.state.fix_task_map = std::mem::take(&mut self.state.fix_task_map)
            .into_iter()
            .map(|(id, fixes)| (now(&id).cloned().unwrap_or(id), fixes))
            .collect();
        for fixes in self.state.fix_task_map.values_mut() {
            for fix in &mut fixes.fix_task_ids {
                if let Some(id) = now(fix) {
                    fix.clone_from(id);
                }
            }
        }
        for name in &mut self.state.skipped {
            if let Some(id) = now(name) {
                name.clone_from(id);
            }
        }
    }

    /// Nobody waits any more for an answer about these tasks.
    fn settle_questions(&mut self, settled: &[String]) {
        for result in self.state.task_results.values_mut() {
            if settled.contains(&result.id) {
                result.waits = false;
            }
        }
    }

    /// Ends the batch when each of its tasks has a verdict.
    fn end_batch_if_resolved(&mut self) -> bool {
        let Some(group) = &self.state.parallel_group else { return false };
        if is_under_way(&self.state, group, self.file) {
            return false;
        }
        self.effects.push(Effect::MergeParts(parts_of(group)));
        self.state.parallel_group = None;
        self.state.task_results.retain(|_, result| result.status != Status::Success);
        self.add_fix_tasks();
        true
    }

    fn in_batch(&self, task: &Task) -> bool {
        self.state.parallel_group.as_ref().is_some_and(|g| g.task_indices.contains(&task.index))
    }

    fn attempts(&self, task: &Task) -> u64 {
        self.state.result_of(task).map_or(0, |result| result.attempts)
    }

    fn record(&mut self, task: &Task, status: Status, error: Option<String>, attempts: u64) {
        let set_aside = self.state.result_of(task).map_or(0, |result| result.set_aside);
        self.forget(task);
        let result = TaskResult {
            status,
            error,
            attempts,
            set_aside,
            waits: false,
            blocked: false,
            id: task.name(),
        };
        self.state.task_results.insert(task.index, result);
    }

    /// The number of the attempt that has just ended.
    fn number(&self, task: &Task) -> u64 {
        self.state.result_of(task).map_or(1, TaskResult::next_attempt)
    }

    fn forget(&mut self, task: &Task) {
        let is_its_own = |at: usize, result: &TaskResult| {
            task.is_named(&result.id) || (at == task.index && result.id.is_empty())
        };
        self.state.task_results.retain(|&at, result| !is_its_own(at, result));
    }

    fn note(&mut self, section: Section, text: String) {
        self.effects.push(Effect::Note(Note { section, text }));
    }

    /// Lets results and batch follow their tasks, which a person may have moved
    /// or taken away since the state was written.
    fn realign(&mut self) {
        let found = |(index, result): (&usize, &TaskResult)| {
            (*index, position(self.file, *index, &result.id))
        };
        let moved: BTreeMap<usize, Option<usize>> =
            self.state.task_results.iter().map(found).collect();
        let now = |index: usize| moved.get(&index).copied().unwrap_or(Some(index));
        let results = std::mem::take(&mut self.state.task_results);
        self.state.task_results =
            results.into_iter().filter_map(|(index, r)| Some((now(index)?, r))).collect();
        if let Some(group) = &mut self.state.parallel_group {
            group.task_indices = group.task_indices.iter().filter_map(|&n| now(n)).collect();
        }
    }

    /// Lets index, total and results follow the file as it will be.
    fn settle(&mut self) {
        let edits = event::edits(&self.effects);
        let text;
        let after = if edits.is_empty() {
            self.file.clone()
        } else {
            text = TaskEdit::apply_to(&edits, self.file);
            text.file()
        };
        let was_reviewed = self.follows || self.state.has_reviewed(self.file);
        let state = &mut self.state;
        state.task_results = std::mem::take(&mut state.task_results)
            .into_iter()
            .filter_map(|(index, result)| {
                let index = position(&after, index, &result.id)?;
                Some((index, result))
            })
            .collect();
        state.total_tasks = Some(after.tasks.len());
        // Begun by another program, a loop has no record to be compared with. What
        // follows a plan that nobody has looked at has to be looked at, and so has a
        // task that is not on record yet.
        let inserts = edits.iter().any(|edit| matches!(edit, TaskEdit::InsertAfter { .. }));
        if let Some(plan) = &mut state.plan {
            match was_reviewed && !inserts {
                // It is the digest already.
                true if edits.is_empty() && !self.follows => {}
                true => *plan = after.digest().hex(),
                false => plan.clear(),
            }
        }
        // With every task in mind: a run that works some of them says so itself.
        let all = Scope { optional: true, ..Scope::all(1) };
        let why = match state.standing {
            Standing::Running if unit(state, &after, &all) == Unit::Complete => {
                blocked_tasks(state, &after, &all)
            }
            _ => None,
        };
        if let Some(why) = why {
            state.standing = Standing::Blocked(why);
            self.effects.push(Effect::Signal(Signal::Blocked));
        }
        let state = &mut self.state;
        let current = plan::current(&after.tasks);
        state.task_index = current.unwrap_or(after.tasks.len());
        state.task_iteration = current.map_or(1, |index| {
            let result = state.result_of(&after.tasks[index]);
            let attempts = result.map_or(0, |result| result.attempts);
            state::one_more(attempts)
        });
    }
}

/// Under which positions the executors of a batch have left notes. They were
/// told theirs when it began; the bounds of the group still say where that was.
fn parts_of(group: &ParallelGroup) -> Vec<usize> {
    let mut indices = group.task_indices.clone();
    indices.extend((group.start_index..=group.end_index).take(MAX_BATCH_SPAN));
    indices.sort_unstable();
    indices.dedup();
    indices
}

/// Where a task with this name stands now. A file without ids names tasks by
/// position, and a result without a name has only that.
fn position(file: &TaskFile<'_>, index: usize, name: &str) -> Option<usize> {
    if name.is_empty() {
        return (index < file.tasks.len()).then_some(index);
    }
    file.tasks.iter().position(|task| task.is_named(name))
}

/// A reason that may stand in a list item: one line, of bounded length, in
/// which nothing begins a checkbox, a fence or a comment.
fn one_line(reason: &str) -> String {
    let words: String = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut = line::head(&words, 300);
    if cut.len() < words.len() { format!("{cut}…") } else { words }
}

#[cfg(test)]
mod tests;
