//! Which task comes next, and which may run beside it.
//!
//! The order is the order of the file, with one exception: a task that has an
//! open fix task waits for it, although the fix stands behind it.

use crate::tasks::{Mode, Task, TaskFile};

/// How many tasks of a parallel group run at once unless the user says
/// otherwise.
pub const DEFAULT_MAX_PARALLEL: usize = 5;

/// The next piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unit {
    /// One task for one executor.
    Sequential(usize),
    /// A check for the qa-engineer.
    Verify(usize),
    /// At least two tasks, each for an executor of its own.
    Parallel(Vec<usize>),
    /// Every box is ticked.
    Complete,
}

impl Unit {
    /// The tasks of this unit, by index.
    pub fn tasks(&self) -> &[usize] {
        match self {
            Unit::Sequential(index) | Unit::Verify(index) => std::slice::from_ref(index),
            Unit::Parallel(indices) => indices,
            Unit::Complete => &[],
        }
    }
}

/// What a person wants worked, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// How many tasks of a parallel group run at once.
    pub max_parallel: usize,
    /// The names of the tasks that are to be worked; empty: all.
    pub only: Vec<String>,
}

impl Scope {
    /// Every task, so many at once.
    pub fn all(max_parallel: usize) -> Scope {
        Scope { max_parallel, only: Vec::new() }
    }

    /// Whether a task is among those that are to be worked.
    pub fn holds(&self, task: &Task) -> bool {
        self.only.is_empty() || self.only.contains(&task.name())
    }
}

/// What earlier attempts at a task mean for the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// Nothing.
    Ready,
    /// It joins no group.
    Alone,
    /// It is not due before a person has answered a question.
    Waits,
}

/// The next unit of work, and why some of it may not be what the plan says.
pub fn next(file: &TaskFile<'_>, scope: &Scope, how: impl Fn(&Task) -> Readiness) -> Unit {
    let is_ready = |task: &Task| how(task) != Readiness::Waits;
    let asked_for = |task: &Task| scope.holds(task) && is_ready(task);
    let Some(index) = first(&file.tasks, asked_for, is_ready) else { return Unit::Complete };
    match file.tasks[index].mode() {
        Mode::Verify => Unit::Verify(index),
        Mode::Sequential => Unit::Sequential(index),
        Mode::Parallel => match group(file, index, scope, how) {
            alone if alone.len() < 2 => Unit::Sequential(index),
            group => Unit::Parallel(group),
        },
    }
}

/// The index of the next task: the first open one, or the fix it waits for.
pub fn current(tasks: &[Task]) -> Option<usize> {
    first(tasks, |_| true, |_| true)
}

/// The first task that is asked for, or the fix it waits for. Where that is not
/// ready, the task is passed over.
fn first(
    tasks: &[Task],
    asked_for: impl Fn(&Task) -> bool,
    is_ready: impl Fn(&Task) -> bool,
) -> Option<usize> {
    let open = tasks.iter().filter(|task| !task.done && asked_for(task));
    let mut due = open.map(|task| last_fix_of(tasks, task.index));
    due.find(|&index| is_ready(&tasks[index]))
}

/// A task, or the open fix that it waits for, or the fix of that.
fn last_fix_of(tasks: &[Task], mut index: usize) -> usize {
    let mut seen = vec![index];
    while let Some(fix) = open_fix_of(tasks, &tasks[index]) {
        // Two tasks that claim to fix each other: whichever, but not for ever.
        if seen.contains(&fix) {
            break;
        }
        seen.push(fix);
        index = fix;
    }
    index
}

fn open_fix_of(tasks: &[Task], task: &Task) -> Option<usize> {
    let id = task.id.as_deref()?;
    let fix = tasks.iter().find(|other| !other.done && other.fixes() == Some(id))?;
    (fix.index != task.index).then_some(fix.index)
}

/// The open `[P]` tasks that follow one another from `start`, in one phase and
/// without a file in common.
fn group(
    file: &TaskFile<'_>,
    start: usize,
    scope: &Scope,
    how: impl Fn(&Task) -> Readiness,
) -> Vec<usize> {
    if how(&file.tasks[start]) == Readiness::Alone {
        return vec![start];
    }
    let phase = file.tasks[start].phase;
    let mut group = Vec::new();
    let mut taken: Vec<String> = Vec::new();
    for task in &file.tasks[start..] {
        let readiness = how(task);
        if task.done
            || readiness == Readiness::Waits
            || (task.mode() == Mode::Parallel && !scope.holds(task))
        {
            continue;
        }
        let waits = open_fix_of(&file.tasks, task).is_some();
        let files = file.fields(task).files;
        let shared = files.iter().any(|path| taken.contains(path));
        if group.len() == scope.max_parallel
            || readiness == Readiness::Alone
            || task.phase != phase
            || task.mode() != Mode::Parallel
            || waits
            || shared
        {
            break;
        }
        taken.extend(files);
        group.push(task.index);
    }
    group
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(text: &str) -> Unit {
        next(&TaskFile::scan(text.as_bytes()), &Scope::all(DEFAULT_MAX_PARALLEL), |_| {
            Readiness::Ready
        })
    }

    #[test]
    fn the_first_open_task_comes_next_even_behind_a_gap() {
        assert_eq!(unit("- [x] 1.1 a\n- [ ] 1.2 b\n- [x] 1.3 c\n"), Unit::Sequential(1));
        assert_eq!(unit("- [x] 1.1 a\n"), Unit::Complete);
        assert_eq!(unit(""), Unit::Complete);
    }

    #[test]
    fn a_group_is_the_open_neighbours_of_one_phase() {
        let text = "## Phase 1: x\n- [ ] 1.1 [P] a\n- [x] 1.2 b\n- [ ] 1.3 [P] c\n- [ ] 1.4 d\n- [ ] 1.5 [P] e\n";
        assert_eq!(unit(text), Unit::Parallel(vec![0, 2]));
        let text = "## Phase 1: x\n- [ ] 1.1 [P] a\n## Phase 2: y\n- [ ] 2.1 [P] b\n";
        assert_eq!(unit(text), Unit::Sequential(0));
    }

    #[test]
    fn verify_beats_sequential_beats_p_and_each_ends_a_group() {
        assert_eq!(unit("- [ ] 1.1 [P] [VERIFY] a\n"), Unit::Verify(0));
        assert_eq!(unit("- [ ] 1.1 [P] [SEQUENTIAL] a\n- [ ] 1.2 [P] b\n"), Unit::Sequential(0));
        assert_eq!(
            unit("- [ ] 1.1 [P] a\n- [ ] V1 [VERIFY] b\n- [ ] 1.2 [P] c\n"),
            Unit::Sequential(0)
        );
    }

    #[test]
    fn a_task_whose_fix_waits_for_a_person_is_passed_over() {
        let due = |text: &str| {
            let waits = |task: &Task| match task.name().as_str() {
                "1.1.1" => Readiness::Waits,
                _ => Readiness::Ready,
            };
            next(&TaskFile::scan(text.as_bytes()), &Scope::all(5), waits)
        };
        let plan = "- [ ] 1.1 a\n- [ ] 1.1.1 [FIX 1.1] a\n";
        assert_eq!(due(plan), Unit::Complete, "nothing is due");
        assert_eq!(due(&format!("{plan}- [ ] 1.2 b\n")), Unit::Sequential(2));
    }

    #[test]
    fn a_group_has_at_most_max_parallel_tasks() {
        let text: String = (1..9).map(|n| format!("- [ ] 1.{n} [P] t\n")).collect();
        let at_once =
            |most| next(&TaskFile::scan(text.as_bytes()), &Scope::all(most), |_| Readiness::Ready);
        assert_eq!(at_once(3), Unit::Parallel(vec![0, 1, 2]));
        assert_eq!(at_once(1), Unit::Sequential(0));
    }

    #[test]
    fn only_the_tasks_that_were_asked_for_are_worked() {
        let text = "- [ ] 1.1 a\n- [ ] 1.2 [P] b\n- [ ] 1.3 [P] c\n- [ ] 1.4 [P] d\n- [ ] 1.5 e\n";
        let only = |names: &[&str]| {
            let only = names.iter().map(|&name| name.to_owned()).collect();
            let scope = Scope { only, ..Scope::all(5) };
            next(&TaskFile::scan(text.as_bytes()), &scope, |_| Readiness::Ready)
        };
        assert_eq!(only(&["1.5", "1.2"]), Unit::Sequential(1));
        assert_eq!(only(&["1.2", "1.4"]), Unit::Parallel(vec![1, 3]));
        assert_eq!(only(&["9.9"]), Unit::Complete);
        let fix = "- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.2.1 [FIX 1.2] c\n";
        let scope = Scope { only: vec!["1.2".into()], ..Scope::all(5) };
        assert_eq!(
            next(&TaskFile::scan(fix.as_bytes()), &scope, |_| Readiness::Ready),
            Unit::Sequential(2)
        );
    }

    #[test]
    fn what_runs_alone_joins_no_group() {
        let text = "- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n- [ ] 1.3 [P] c\n";
        let with_alone = |name: &str| {
            next(&TaskFile::scan(text.as_bytes()), &Scope::all(5), |task| match task.name() {
                other if other != name => Readiness::Ready,
                _ => Readiness::Alone,
            })
        };
        assert_eq!(with_alone("1.1"), Unit::Sequential(0));
        assert_eq!(with_alone("1.2"), Unit::Sequential(0));
        assert_eq!(with_alone("1.3"), Unit::Parallel(vec![0, 1]));
    }

    #[test]
    fn what_waits_is_passed_over() {
        let waits = |text: &str, names: &[&str]| {
            next(&TaskFile::scan(text.as_bytes()), &Scope::all(5), |task| {
                match names.contains(&task.name().as_str()) {
                    true => Readiness::Waits,
                    false => Readiness::Ready,
                }
            })
        };
        let text = "- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n- [ ] 1.3 [P] c\n";
        assert_eq!(waits(text, &["1.1"]), Unit::Parallel(vec![1, 2]));
        assert_eq!(waits(text, &["1.2"]), Unit::Parallel(vec![0, 2]));
        assert_eq!(waits(text, &["1.1", "1.2", "1.3"]), Unit::Complete);
    }

    #[test]
    fn tasks_that_name_one_file_are_never_in_one_group() {
        let text = "- [ ] 1.1 [P] a\n  - **Files**: a.rs\n- [ ] 1.2 [P] b\n  - **Files**: b.rs, `./a.rs` (again)\n- [ ] 1.3 [P] c\n";
        assert_eq!(unit(text), Unit::Sequential(0));
    }

    #[test]
    fn a_task_waits_for_its_open_fix_and_comes_back_afterwards() {
        let open = "- [ ] 1.1 a\n- [ ] 1.1.1 [FIX 1.1] Fix: a\n- [ ] 1.2 b\n";
        assert_eq!(unit(open), Unit::Sequential(1));
        let mended = "- [ ] 1.1 a\n- [x] 1.1.1 [FIX 1.1] Fix: a\n- [ ] 1.2 b\n";
        assert_eq!(unit(mended), Unit::Sequential(0));
        let nested = "- [ ] 1.1 a\n- [ ] 1.1.1 [FIX 1.1] f\n- [ ] 1.1.1.1 [FIX 1.1.1] g\n";
        assert_eq!(unit(nested), Unit::Sequential(2));
    }

    #[test]
    fn tasks_that_fix_each_other_or_themselves_do_not_hang() {
        unit("- [ ] 1.1 [FIX 1.2] a\n- [ ] 1.2 [FIX 1.1] b\n");
        assert_eq!(unit("- [ ] 1.1 [FIX 1.1] a\n"), Unit::Sequential(0));
    }
}
