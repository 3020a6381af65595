//! What is to be worked now, from the state and the plan as they stand.

use super::{Loop, hold_before};
use crate::plan::{self, Membership, Readiness, Scope, Unit};
use crate::plan_record::{OnRecord, PlanRecord};
use crate::state::{ParallelGroup, Standing, State, Status};
use crate::tasks::{Task, TaskFile};

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
    ChosenDone {
        /// Those of them that a person has skipped, by name.
        skipped: Vec<String>,
    },
    /// Nothing: every box is ticked.
    Complete,
}

/// The next unit of work, whether or not it may be begun.
pub fn unit(state: &State, file: &TaskFile<'_>, scope: &Scope) -> Unit {
    let barred = barred(state, file);
    plan::next(file, scope, |task| match state.result_of(task) {
        _ if state.is_skipped(task) => Readiness::Skipped,
        _ if barred.get(task.index) == Some(&true) => Readiness::Waits,
        Some(result) if result.waits => Readiness::Waits,
        Some(result) if result.set_aside > 0 => Readiness::Alone,
        _ => Readiness::Ready,
    })
}

/// For each task, whether it is blocked or needs one that is, in a loop that goes on
/// without them; nothing if none is.
fn barred(state: &State, file: &TaskFile<'_>) -> Vec<bool> {
    match state.task_results.values().any(|result| result.blocked) {
        true => plan::barred(file, |task| is_blocked(state, task)),
        false => Vec::new(),
    }
}

pub(super) fn is_blocked(state: &State, task: &Task) -> bool {
    !state.is_skipped(task) && state.result_of(task).is_some_and(|result| result.blocked)
}

/// Why a loop that goes on without them cannot do its blocked tasks, and what needs them.
pub(super) fn blocked_tasks(state: &State, file: &TaskFile<'_>, scope: &Scope) -> Option<String> {
    let barred = barred(state, file);
    let open = || file.open().filter(|task| barred.get(task.index) == Some(&true));
    let (blocked, need): (Vec<&Task>, Vec<&Task>) =
        open().partition(|task| is_blocked(state, task));
    if !open().any(|task| scope.holds(task)) {
        return None;
    }
    let why = |task: &&Task| state.result_of(task).and_then(|result| result.error.clone());
    let whys = blocked.iter().filter_map(why).collect::<Vec<_>>().join("; ");
    let names = need.iter().map(|task| task.name()).collect::<Vec<_>>().join(", ");
    Some(match need.len() {
        0 => whys,
        1 => format!("{whys}; {names} needs it and was not begun"),
        _ => format!("{whys}; {names} need it and were not begun"),
    })
}

/// What is to be worked now. The plan_record says what waits for a person.
pub fn due(state: &State, file: &TaskFile<'_>, scope: &Scope, plan_record: &PlanRecord) -> Due {
    // Completion first: a loop that finished with its last allowed attempt has
    // finished.
    match unit(state, file, scope) {
        Unit::Complete => nothing_due(state, file, scope, plan_record),
        unit => held(state).unwrap_or_else(|| match state.budget.exhausted(&[], 0) {
            _ if state.attempts_left() == 0 => Due::Capped,
            Some(why) => Due::Spent(why),
            None => Due::Work(within(unit, state.attempts_left())),
        }),
    }
}

/// Why nothing is due while the loop is paused or blocked.
pub fn held(state: &State) -> Option<Due> {
    match &state.standing {
        Standing::Running => None,
        Standing::Paused(why) => Some(Due::Paused(why.clone())),
        Standing::Blocked(why) => Some(Due::Blocked(why.clone())),
    }
}

/// At most `room` more tasks that may join the batch that is worked on, by index.
pub fn joiners(state: &State, file: &TaskFile<'_>, scope: &Scope, room: usize) -> Vec<usize> {
    let Some(group) = &state.parallel_group else { return Vec::new() };
    if state.standing != Standing::Running || state.budget.exhausted(&[], 0).is_some() {
        return Vec::new();
    }
    let barred = barred(state, file);
    let result = |task: &Task| state.result_of(task);
    let is_pending = |task: &Task| result(task).is_some_and(|r| r.status == Status::Pending);
    let pending = file.open().filter(|task| is_pending(task)).count() as u64;
    let left = state.attempts_left().saturating_sub(pending);
    let room = room.min(usize::try_from(left).unwrap_or(usize::MAX));
    let start = group.task_indices.iter().copied().min().unwrap_or(group.start_index);
    let mut joiners = plan::joiners(file, start, scope, room, |task| match result(task) {
        Some(result) if result.status == Status::Pending => Membership::UnderWay,
        _ if state.is_skipped(task) => Membership::PassedOver,
        _ if barred.get(task.index) == Some(&true) => Membership::PassedOver,
        Some(result) if result.waits || result.set_aside > 0 => Membership::PassedOver,
        // What becomes of it is decided when the batch has ended.
        Some(result) if result.attempts >= state.max_task_iterations => Membership::PassedOver,
        _ if group.task_indices.contains(&task.index) => Membership::PassedOver,
        _ => Membership::Outside,
    });
    joiners.retain(|&index| hold_before(state, file, index).is_none());
    joiners
}

/// Why nothing is due: all is done, or a person is asked.
fn nothing_due(state: &State, file: &TaskFile<'_>, scope: &Scope, plan_record: &PlanRecord) -> Due {
    if let Some(why) = blocked_tasks(state, file, scope) {
        return Due::Blocked(why);
    }
    let waits = |task: &Task| state.result_of(task).is_some_and(|result| result.waits);
    let is_asked_for = |task: &Task| {
        scope.holds(task)
            || task.goes_before().is_some_and(|id| scope.only.iter().any(|only| only == id))
    };
    let waiting: Vec<&Task> =
        file.open().filter(|task| is_asked_for(task) && waits(task)).collect();
    let of_suite = plan_record.suite_question().filter(|_| !waiting.is_empty());
    let waiting = waiting.into_iter().filter_map(|task| plan_record.task(&task.name()));
    let removed = plan_record.removals().filter(|_| scope.only.is_empty());
    let of_tasks = waiting.chain(removed).filter_map(OnRecord::question);
    let questions: Vec<String> = of_tasks.chain(of_suite).collect();
    if !questions.is_empty() {
        return Due::Waits(questions);
    }
    match plan::current(&file.tasks) {
        Some(_) => {
            let skipped = file.open().filter(|task| !task.optional && state.is_skipped(task));
            Due::ChosenDone { skipped: skipped.map(Task::name).collect() }
        }
        // Nobody worked on what could not be read, so nobody may call it done.
        None if !file.unread.is_empty() => Due::Waits(file.questions().collect()),
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
pub(super) fn is_under_way(state: &State, group: &ParallelGroup, file: &TaskFile<'_>) -> bool {
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
