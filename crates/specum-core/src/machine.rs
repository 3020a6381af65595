//! The loop, one event at a time.
//!
//! [`step`] takes the state and the task file as they stand and says what they
//! become. Nothing happens here: the caller carries out the effects, in order,
//! and writes the state. [`due`] answers the question in between: what is to
//! be worked now?

mod event;
mod fix_tasks;

use std::collections::BTreeMap;

use crate::line;
use crate::plan::{self, Membership, Readiness, Scope, Unit};
use crate::plan_record::{OnRecord, PlanRecord};
use crate::progress::{Note, Section};
use crate::state::{self, Owner, ParallelGroup, Phase, State, Status, TaskResult};
use crate::tasks::{Task, TaskEdit, TaskFile, TaskKey, short_title};

pub use self::event::{Effect, Event, Signal, Start, Step};

/// How far apart the tasks of a batch may stand. Beyond that the bounds of a
/// group are not ours.
const MAX_BATCH_SPAN: usize = 1000;

/// What is to be worked now.
#[derive(Debug, Clone, PartialEq)]
pub enum Due {
    /// This.
    Work(Unit),
    /// Nothing: a person has to let the loop go on. Why, if nobody but specum
    /// wanted it to wait.
    Paused(Option<String>),
    /// Nothing: a task has used its attempts.
    Blocked(String),
    /// Nothing: all attempts are used.
    Capped,
    /// Nothing: a cap on tokens, dollars or time is reached, this one.
    Spent(String),
    /// Nothing: what is left waits for a person's word on these changes.
    Waits(Vec<String>),
    /// Nothing: the tasks that were asked for are done, others are open.
    ChosenDone,
    /// Nothing: every box is ticked.
    Complete,
}

/// The next unit of work, whether or not it may be begun.
pub fn unit(state: &State, file: &TaskFile<'_>, scope: &Scope) -> Unit {
    plan::next(file, scope, |task| match state.result_of(task.index, &task.name()) {
        Some(result) if result.waits => Readiness::Waits,
        Some(result) if result.set_aside > 0 => Readiness::Alone,
        _ => Readiness::Ready,
    })
}

/// What is to be worked now. The plan_record says what waits for a person.
pub fn due(state: &State, file: &TaskFile<'_>, scope: &Scope, plan_record: &PlanRecord) -> Due {
    // Completion first: a loop that finished with its last allowed attempt has
    // finished.
    match unit(state, file, scope) {
        Unit::Complete => nothing_due(state, file, scope, plan_record),
        _ if state.blocked.is_some() => Due::Blocked(state.blocked.clone().unwrap_or_default()),
        _ if state.awaiting_approval => Due::Paused(state.paused_for.clone()),
        _ if state.attempts_left() == 0 => Due::Capped,
        unit => match state.budget.exhausted(&[], 0) {
            Some(why) => Due::Spent(why),
            None => Due::Work(within(unit, state.attempts_left())),
        },
    }
}

/// At most `room` more tasks that may join the batch that is worked on, by index.
pub fn joiners(state: &State, file: &TaskFile<'_>, scope: &Scope, room: usize) -> Vec<usize> {
    let Some(group) = &state.parallel_group else { return Vec::new() };
    let is_held = state.blocked.is_some() || state.awaiting_approval;
    if is_held || state.budget.exhausted(&[], 0).is_some() {
        return Vec::new();
    }
    let result = |task: &Task| state.result_of(task.index, &task.name());
    let is_pending = |task: &Task| result(task).is_some_and(|r| r.status == Status::Pending);
    let pending = file.open().filter(|task| is_pending(task)).count() as u64;
    let left = state.attempts_left().saturating_sub(pending);
    let room = room.min(usize::try_from(left).unwrap_or(usize::MAX));
    let start = group.task_indices.iter().copied().min().unwrap_or(group.start_index);
    plan::joiners(file, start, scope, room, |task| match result(task) {
        Some(result) if result.status == Status::Pending => Membership::UnderWay,
        Some(result) if result.waits || result.set_aside > 0 => Membership::PassedOver,
        _ if group.task_indices.contains(&task.index) => Membership::PassedOver,
        _ => Membership::Outside,
    })
}

/// Why nothing is due: all is done, or a person is asked.
fn nothing_due(state: &State, file: &TaskFile<'_>, scope: &Scope, plan_record: &PlanRecord) -> Due {
    let waits =
        |task: &Task| state.result_of(task.index, &task.name()).is_some_and(|result| result.waits);
    let is_asked_for = |task: &Task| {
        scope.holds(task) || task.fixes().is_some_and(|id| scope.only.iter().any(|only| only == id))
    };
    let waiting = file.open().filter(|task| is_asked_for(task) && waits(task));
    let waiting = waiting.filter_map(|task| plan_record.task(&task.name()));
    let removed = plan_record.removals().filter(|_| scope.only.is_empty());
    let questions: Vec<String> = waiting.chain(removed).filter_map(OnRecord::question).collect();
    if !questions.is_empty() {
        return Due::Waits(questions);
    }
    match plan::current(&file.tasks) {
        Some(_) => Due::ChosenDone,
        None => Due::Complete,
    }
}

/// Whether a batch is noted of which nothing is left to be judged. Its end has
/// to be told before anything else is begun: a task of it may have used its
/// attempts.
pub fn batch_is_over(state: &State, file: &TaskFile<'_>) -> bool {
    let mut loop_ = Loop { state: state.clone(), file, effects: Vec::new(), follows: false };
    loop_.realign();
    let group = loop_.state.parallel_group.as_ref();
    group.is_some_and(|group| !is_under_way(&loop_.state, group, file))
}

/// Whether some task of a batch waits for its verdict. What a person has ticked
/// does not.
fn is_under_way(state: &State, group: &ParallelGroup, file: &TaskFile<'_>) -> bool {
    group.task_indices.iter().any(|index| {
        file.tasks.get(*index).is_some_and(|task| !task.done)
            && state.task_results.get(index).is_none_or(|r| r.status == Status::Pending)
    })
}

/// As much of a unit as there are attempts left for: each task is one.
fn within(unit: Unit, left: u64) -> Unit {
    match (unit, usize::try_from(left)) {
        (Unit::Parallel(tasks), Ok(1)) => Unit::Sequential(tasks[0]),
        (Unit::Parallel(mut tasks), Ok(left)) => {
            tasks.truncate(left);
            Unit::Parallel(tasks)
        }
        (unit, _) => unit,
    }
}

/// Moves the loop one event forward.
pub fn step(state: &State, file: &TaskFile<'_>, event: Event) -> Step {
    let follows = matches!(event, Event::Follow { .. });
    let mut loop_ = Loop { state: state.clone(), file, effects: Vec::new(), follows };
    if let Event::Follow { renames, .. } = &event {
        loop_.rename(renames);
    }
    loop_.realign();
    let ends = match event {
        Event::Start(start) => loop_.start(start),
        Event::Open(indices) => loop_.open(&indices),
        Event::Join(indices) => loop_.join(&indices),
        Event::Pass { index, unverified } => loop_.pass(index, unverified),
        Event::Fail { index, reason } => loop_.fail(index, &reason),
        Event::TakeBack { index, attempt, reason } => loop_.take_back(index, attempt, &reason),
        Event::SetAside { index, reason } => loop_.set_aside(index, &reason),
        Event::Wait { index, reason } => loop_.wait(index, &reason),
        Event::Tick { index } => loop_.tick(index),
        Event::Follow { settled, .. } => loop_.settle_questions(&settled),
        Event::Charge { charge, millis } => {
            let mut state = state.clone();
            state.budget.spend(&charge);
            state.budget.millis = state.budget.millis.saturating_add(millis);
            StateFate::Verbatim(Box::new(state))
        }
        Event::Hold(owner) => {
            let mut state = state.clone();
            state.owner = Some(owner);
            StateFate::Verbatim(Box::new(state))
        }
        Event::Release { millis } => {
            let mut state = state.clone();
            state.budget.millis = state.budget.millis.saturating_add(millis);
            state.owner = None;
            StateFate::Verbatim(Box::new(state))
        }
        Event::Pause { why } => {
            let mut state = state.clone();
            state.awaiting_approval = true;
            state.paused_for = why;
            StateFate::Verbatim(Box::new(state))
        }
        Event::Resume => loop_.resume(),
        Event::EndBatch => {
            loop_.end_batch_if_resolved();
            StateFate::Aligned
        }
        Event::Complete if plan::current(&file.tasks).is_none() => {
            loop_.effects.push(Effect::Signal(Signal::AllTasksComplete));
            StateFate::Deleted
        }
        Event::Complete => StateFate::Aligned,
        Event::Cancel => StateFate::Deleted,
    };
    match ends {
        StateFate::Aligned => {
            loop_.settle();
            Step { state: Some(loop_.state), effects: loop_.effects }
        }
        StateFate::Verbatim(state) => Step { state: Some(*state), effects: Vec::new() },
        StateFate::Deleted => Step { state: None, effects: loop_.effects },
    }
}

/// What a step does with the state file.
enum StateFate {
    /// Written, with index, total and results brought in line with the plan.
    Aligned,
    /// Written as given, without a look at the plan: its file may be gone for a
    /// moment, while a person looks at another branch.
    Verbatim(Box<State>),
    /// Deleted: the loop has ended.
    Deleted,
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
    fn start(&mut self, start: Start) -> StateFate {
        let state = &mut self.state;
        let total = self.file.tasks.len();
        let cap = state.max_global_iterations;
        let chosen = state.budget.max_iterations == Some(cap);
        let spent = state.attempts_left() == 0;
        let by_run = matches!(start.owner, Some(Owner::Runner { .. }));
        state.phase = Phase::Execution;
        state.plan.get_or_insert_default();
        state.awaiting_approval = state.blocked.is_some();
        state.paused_for = None;
        state.max_task_iterations = start.max_task_iterations.unwrap_or(state.max_task_iterations);
        state.recovery_mode = start.recovery_mode.unwrap_or(state.recovery_mode);
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
            None if spent => (state.global_iteration - 1 + room).min(state::MAX_COUNT),
            None => cap.max(room),
        };
        StateFate::Aligned
    }

    fn open(&mut self, indices: &[usize]) -> StateFate {
        if let Some(left) = self.state.parallel_group.take() {
            // What its executors have noted so far is not lost with it.
            self.effects.push(Effect::MergeParts(parts_of(&left)));
        }
        let (Some(&first), Some(&last)) = (indices.iter().min(), indices.iter().max()) else {
            return StateFate::Aligned;
        };
        if indices.len() > 1 {
            self.state.parallel_group = Some(ParallelGroup {
                start_index: first,
                end_index: last,
                task_indices: indices.to_vec(),
                is_parallel: true,
            });
            for &index in indices {
                let attempts = self.attempts(index);
                self.record(index, Status::Pending, None, attempts);
            }
        }
        StateFate::Aligned
    }

    fn join(&mut self, indices: &[usize]) -> StateFate {
        let Some(group) = &mut self.state.parallel_group else { return StateFate::Aligned };
        for &index in indices {
            group.start_index = group.start_index.min(index);
            group.end_index = group.end_index.max(index);
            group.task_indices.push(index);
        }
        for &index in indices {
            let attempts = self.attempts(index);
            self.record(index, Status::Pending, None, attempts);
        }
        StateFate::Aligned
    }

    fn pass(&mut self, index: usize, unverified: bool) -> StateFate {
        let task = &self.file.tasks[index];
        let (attempt, attempts) = (self.number(index), state::one_more(self.attempts(index)));
        let proof = if unverified { ", unverified" } else { "" };
        self.state.global_iteration = state::one_more(self.state.global_iteration);
        self.effects.push(Effect::Edit(TaskEdit::Tick(task.key())));
        self.note(
            Section::Completed,
            format!("- {} {} (attempt {attempt}{proof})", task.name(), short_title(&task.title)),
        );
        if self.in_batch(index) {
            self.record(index, Status::Success, None, attempts);
        } else {
            self.forget(index);
        }
        // Ahead of the commit, so that notes merged at the end of a batch and
        // the fix task of a neighbour are part of it.
        let batch_ended = self.end_batch_if_resolved();
        self.effects.push(Effect::Signal(Signal::TaskComplete));
        if batch_ended {
            self.effects.push(Effect::Signal(Signal::BatchComplete));
        }
        StateFate::Aligned
    }

    fn fail(&mut self, index: usize, reason: &str) -> StateFate {
        let task = &self.file.tasks[index];
        let (attempt, attempts) = (self.number(index), state::one_more(self.attempts(index)));
        let reason = one_line(reason);
        self.state.global_iteration = state::one_more(self.state.global_iteration);
        if task.done {
            self.effects.push(Effect::Edit(TaskEdit::Untick(task.key())));
        }
        self.note(Section::Failed, format!("- {} attempt {attempt}: {reason}", task.name()));
        self.record(index, Status::Failed, Some(reason), attempts);
        if self.state.parallel_group.is_none() {
            self.add_fix_tasks();
        } else if self.end_batch_if_resolved() {
            self.effects.push(Effect::Signal(Signal::BatchComplete));
        }
        StateFate::Aligned
    }

    fn take_back(&mut self, index: usize, attempt: u64, reason: &str) -> StateFate {
        // What the pass has counted and forgotten.
        self.state.global_iteration = self.state.global_iteration.saturating_sub(1).max(1);
        // An attempt has begun, so fewer had failed than may; the number counts
        // those that were set aside too.
        let most = self.state.max_task_iterations.saturating_sub(1);
        self.record(index, Status::Failed, None, attempt.saturating_sub(1).min(most));
        self.fail(index, reason)
    }

    fn set_aside(&mut self, index: usize, reason: &str) -> StateFate {
        let task = &self.file.tasks[index];
        let (attempt, attempts) = (self.number(index), self.attempts(index));
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
        self.record(index, Status::Failed, Some(reason), attempts);
        if let Some(result) = self.state.task_results.get_mut(&index) {
            result.set_aside = state::one_more(result.set_aside);
        }
        if self.end_batch_if_resolved() {
            self.effects.push(Effect::Signal(Signal::BatchComplete));
        }
        StateFate::Aligned
    }

    /// The task waits for a person, the loop goes on with others. No failed
    /// attempt, but one towards the cap of the loop.
    fn wait(&mut self, index: usize, reason: &str) -> StateFate {
        let (attempts, reason) = (self.attempts(index), one_line(reason));
        self.state.global_iteration = state::one_more(self.state.global_iteration);
        if self.file.tasks[index].done {
            self.effects.push(Effect::Edit(TaskEdit::Untick(self.file.tasks[index].key())));
        }
        let name = self.file.tasks[index].name();
        self.note(Section::Blockers, format!("- {name} waits: {reason}"));
        self.record(index, Status::Failed, None, attempts);
        if let Some(result) = self.state.task_results.get_mut(&index) {
            result.waits = true;
        }
        if self.end_batch_if_resolved() {
            self.effects.push(Effect::Signal(Signal::BatchComplete));
        }
        StateFate::Aligned
    }

    fn tick(&mut self, index: usize) -> StateFate {
        let task = &self.file.tasks[index];
        self.effects.push(Effect::Edit(TaskEdit::Tick(task.key())));
        let (name, title) = (task.name(), short_title(&task.title));
        self.note(Section::Completed, format!("- {name} {title} (ticked by you, not checked)"));
        self.forget(index);
        // Without a result nothing would say where it is when it moves.
        if let Some(group) = &mut self.state.parallel_group {
            group.task_indices.retain(|&member| member != index);
        }
        StateFate::Aligned
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
    }

    /// Nobody waits any more for an answer about these tasks.
    fn settle_questions(&mut self, settled: &[String]) -> StateFate {
        for result in self.state.task_results.values_mut() {
            if settled.contains(&result.id) {
                result.waits = false;
            }
        }
        StateFate::Aligned
    }

    fn resume(&mut self) -> StateFate {
        self.state.awaiting_approval = false;
        self.state.paused_for = None;
        if self.state.blocked.take().is_some() {
            // A person has looked at it: one more round for what used its own.
            let cap = self.state.max_task_iterations;
            for result in self.state.task_results.values_mut() {
                if result.attempts >= cap {
                    result.attempts = 0;
                }
            }
        }
        StateFate::Aligned
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

    fn in_batch(&self, index: usize) -> bool {
        self.state.parallel_group.as_ref().is_some_and(|g| g.task_indices.contains(&index))
    }

    fn attempts(&self, index: usize) -> u64 {
        let name = self.file.tasks[index].name();
        self.state.result_of(index, &name).map_or(0, |result| result.attempts)
    }

    fn record(&mut self, index: usize, status: Status, error: Option<String>, attempts: u64) {
        let id = self.file.tasks[index].name();
        let set_aside = self.times_set_aside(index);
        self.forget(index);
        let result = TaskResult { status, error, attempts, set_aside, waits: false, id };
        self.state.task_results.insert(index, result);
    }

    fn times_set_aside(&self, index: usize) -> u64 {
        let name = self.file.tasks[index].name();
        self.state.result_of(index, &name).map_or(0, |result| result.set_aside)
    }

    /// The number of the attempt that has just ended.
    fn number(&self, index: usize) -> u64 {
        self.attempts(index) + self.times_set_aside(index) + 1
    }

    fn forget(&mut self, index: usize) {
        let name = self.file.tasks[index].name();
        self.state
            .task_results
            .retain(|at, result| result.id != name && !(*at == index && result.id.is_empty()));
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
        let current = plan::current(&after.tasks);
        state.task_index = current.unwrap_or(after.tasks.len());
        state.task_iteration = current.map_or(1, |index| {
            let name = after.tasks[index].name();
            let attempts = state.result_of(index, &name).map_or(0, |result| result.attempts);
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
