//! Which task comes next, and which may run at the same time.
//!
//! The order is the order of the file, with one exception: a task that has an open fix
//! task, or one that goes before it, waits for it, although that stands behind it.

mod needs;

use std::collections::HashMap;

pub use self::needs::barred;
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
    /// Whether optional tasks are worked too. One that is named always is.
    pub optional: bool,
}

impl Scope {
    /// Every task that is not optional, so many at once.
    pub fn all(max_parallel: usize) -> Scope {
        Scope { max_parallel, only: Vec::new(), optional: false }
    }

    /// Whether a task is among those that are to be worked.
    pub fn holds(&self, task: &Task) -> bool {
        match self.only.is_empty() {
            true => self.optional || !task.optional,
            false => self.only.iter().any(|name| task.is_named(name)),
        }
    }

    /// Whether a task is no part of any group, and ends none.
    fn passes_over(&self, task: &Task) -> bool {
        !self.holds(task) && (task.optional || task.mode() == Mode::Parallel)
    }
}

/// What earlier attempts at a task mean for the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// Nothing.
    Ready,
    /// It joins no group.
    Alone,
    /// It is not due before a person has answered a question, or has looked at what is
    /// blocked.
    Waits,
    /// A person wants it passed over. Where it is a fix, what it fixes does not wait.
    Skipped,
}

impl Readiness {
    /// Whether nobody works on it now.
    fn is_passed_over(self) -> bool {
        matches!(self, Readiness::Waits | Readiness::Skipped)
    }
}

/// The next unit of work, and why some of it may not be what the plan says.
pub fn next(file: &TaskFile<'_>, scope: &Scope, how: impl Fn(&Task) -> Readiness) -> Unit {
    let fixes = Fixes::without(&file.tasks, |task| how(task) == Readiness::Skipped);
    let is_ready = |task: &Task| !how(task).is_passed_over();
    let asked_for = |task: &Task| scope.holds(task) && is_ready(task);
    let index = first(&file.tasks, &fixes, asked_for, is_ready);
    index.map_or(Unit::Complete, |index| unit(file, &fixes, index, scope, how))
}

/// Every unit of work in its order, as if each of them passed.
pub fn order(file: &TaskFile<'_>, scope: &Scope) -> Vec<Unit> {
    let fixes = Fixes::of(&file.tasks);
    let mut units = Vec::new();
    let mut left = file.clone();
    // Whatever is before is done or not asked for, and stays so.
    let mut from = 0;
    loop {
        let is_open = |task: &Task| !task.done && scope.holds(task);
        let Some(at) = left.tasks[from..].iter().position(is_open) else { return units };
        from += at;
        let index = fixes.last_of(&left.tasks, from);
        let unit = unit(&left, &fixes, index, scope, |_| Readiness::Ready);
        unit.tasks().iter().for_each(|&index| left.tasks[index].done = true);
        units.push(unit);
    }
}

/// The unit that begins with a task.
fn unit(
    file: &TaskFile<'_>,
    fixes: &Fixes<'_>,
    index: usize,
    scope: &Scope,
    how: impl Fn(&Task) -> Readiness,
) -> Unit {
    match file.tasks[index].mode() {
        Mode::Verify => Unit::Verify(index),
        Mode::Sequential => Unit::Sequential(index),
        Mode::Parallel => match group(file, fixes, index, scope, how) {
            alone if alone.len() < 2 => Unit::Sequential(index),
            group => Unit::Parallel(group),
        },
    }
}

/// The index of the next task: the first open one that is not optional, or the fix it
/// waits for.
pub fn current(tasks: &[Task]) -> Option<usize> {
    first(tasks, &Fixes::of(tasks), |task| !task.optional, |_| true)
}

/// The first task that is asked for, or the fix it waits for. Where that is not
/// ready, the task is passed over.
fn first(
    tasks: &[Task],
    fixes: &Fixes<'_>,
    asked_for: impl Fn(&Task) -> bool,
    is_ready: impl Fn(&Task) -> bool,
) -> Option<usize> {
    let open = tasks.iter().filter(|task| !task.done && asked_for(task));
    let mut due = open.map(|task| fixes.last_of(tasks, task.index));
    due.find(|&index| is_ready(&tasks[index]))
}

/// What each task waits for, by its id, in the order of the file: its fixes, and what goes
/// before it.
struct Fixes<'t>(HashMap<&'t str, Vec<usize>>);

impl<'t> Fixes<'t> {
    fn of(tasks: &'t [Task]) -> Fixes<'t> {
        Fixes::without(tasks, |_| false)
    }

    /// The same without those that nobody waits for.
    fn without(tasks: &'t [Task], is_left_out: impl Fn(&Task) -> bool) -> Fixes<'t> {
        let mut fixes: HashMap<&str, Vec<usize>> = HashMap::new();
        for task in tasks.iter().filter(|task| !is_left_out(task)) {
            if let Some(id) = task.goes_before() {
                fixes.entry(id).or_default().push(task.index);
            }
        }
        Fixes(fixes)
    }

    /// A task, or the open fix that it waits for, or the fix of that.
    fn last_of(&self, tasks: &[Task], mut index: usize) -> usize {
        let mut seen = vec![index];
        while let Some(fix) = self.open_of(tasks, &tasks[index]) {
            // Two tasks that claim to fix each other: whichever, but not for ever.
            if seen.contains(&fix) {
                break;
            }
            seen.push(fix);
            index = fix;
        }
        index
    }

    fn open_of(&self, tasks: &[Task], task: &Task) -> Option<usize> {
        let fixes = self.0.get(task.id.as_deref()?)?;
        let fix = *fixes.iter().find(|&&fix| !tasks[fix].done)?;
        (fix != task.index).then_some(fix)
    }
}

/// The open `[P]` tasks that follow one another from `start`, below one heading, without
/// a file in common, and none of which says that it depends on another.
fn group(
    file: &TaskFile<'_>,
    fixes: &Fixes<'_>,
    start: usize,
    scope: &Scope,
    how: impl Fn(&Task) -> Readiness,
) -> Vec<usize> {
    if how(&file.tasks[start]) == Readiness::Alone {
        return vec![start];
    }
    let section = file.tasks[start].section;
    let mut group = Vec::new();
    let mut taken = Taken::default();
    for task in &file.tasks[start..] {
        let readiness = how(task);
        if task.done || readiness.is_passed_over() || scope.passes_over(task) {
            continue;
        }
        let waits = fixes.open_of(&file.tasks, task).is_some();
        if group.len() == scope.max_parallel
            || readiness == Readiness::Alone
            || task.section != section
            || task.mode() != Mode::Parallel
            || waits
            || taken.refuse(file, task)
        {
            break;
        }
        taken.take(file, task);
        group.push(task.index);
    }
    group
}

/// What the tasks of a group keep from the others.
#[derive(Default)]
struct Taken {
    files: Vec<String>,
    /// The tasks of the group, by index.
    tasks: Vec<usize>,
    /// The tasks that they say they depend on.
    needed: Vec<usize>,
}

impl Taken {
    fn take(&mut self, file: &TaskFile<'_>, task: &Task) {
        self.files.extend(file.fields(task).files);
        self.tasks.push(task.index);
        self.needed.extend(needs::dependencies(file, task));
    }

    /// Whether a task names a file of theirs, or one of both depends on the other.
    fn refuse(&self, file: &TaskFile<'_>, task: &Task) -> bool {
        self.needed.contains(&task.index)
            || file.fields(task).files.iter().any(|path| self.files.contains(path))
            || needs::dependencies(file, task).iter().any(|needed| self.tasks.contains(needed))
    }
}

/// What a task of a running group means for those that may join it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Membership {
    /// It belongs to the group and is worked on, or waits to be integrated: its files
    /// are taken.
    UnderWay,
    /// It belongs to the group and has its verdict, or is to be done alone.
    PassedOver,
    /// It may join.
    Outside,
}

/// At most `room` more tasks that may join a group which begins with `start`: those
/// that [`next`] would have put into the group if more were worked on at once.
pub fn joiners(
    file: &TaskFile<'_>,
    start: usize,
    scope: &Scope,
    room: usize,
    how: impl Fn(&Task) -> Membership,
) -> Vec<usize> {
    let fixes = Fixes::of(&file.tasks);
    let Some(section) = file.tasks.get(start).map(|task| task.section) else { return Vec::new() };
    let mut joining = Vec::new();
    let mut taken = Taken::default();
    for task in &file.tasks[start..] {
        let is_parallel = task.mode() == Mode::Parallel;
        let membership = how(task);
        if !task.done && membership == Membership::PassedOver {
            // It is done once more, alone; what depends on it waits for that.
            taken.tasks.push(task.index);
        }
        if task.done
            || membership == Membership::PassedOver
            || (scope.passes_over(task) && membership == Membership::Outside)
        {
            continue;
        }
        if membership == Membership::Outside {
            let waits = fixes.open_of(&file.tasks, task).is_some();
            if joining.len() == room
                || task.section != section
                || !is_parallel
                || waits
                || taken.refuse(file, task)
            {
                break;
            }
            joining.push(task.index);
        }
        taken.take(file, task);
    }
    joining
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_joins_a_group_is_what_a_wider_one_would_have_held() {
        use Membership::{Outside, PassedOver, UnderWay};
        let text = "- [ ] 1.1 [P] a\n  - **Files**: a\n- [ ] 1.2 [P] b\n- [x] 1.3 [P] c\n\
                    - [ ] 1.4 [P] d\n- [ ] 1.5 [P] e\n  - **Files**: a\n- [ ] 1.6 [P] f\n\
                    - [ ] 1.7 g\n- [ ] 1.8 [P] h\n";
        let file = TaskFile::scan(text.as_bytes());
        let join = |room, under_way: &[&str], over: &[&str]| {
            let how = |task: &Task| match task.name().as_str() {
                name if under_way.contains(&name) => UnderWay,
                name if over.contains(&name) => PassedOver,
                _ => Outside,
            };
            joiners(&file, 0, &Scope::all(2), room, how)
        };
        assert_eq!(join(1, &["1.1", "1.2"], &[]), [3]);
        assert_eq!(join(5, &["1.1", "1.2"], &[]), [3], "1.5 changes a file of 1.1");
        assert_eq!(join(5, &["1.2", "1.4"], &["1.1"]), [4, 5], "1.7 is no part of the group");
        assert_eq!(join(0, &["1.1"], &[]), [0; 0]);
        assert_eq!(join(5, &["1.1", "1.2", "1.4"], &["1.5", "1.6"]), [0; 0]);
        let some = Scope { only: vec!["1.6".into()], ..Scope::all(2) };
        assert_eq!(joiners(&file, 0, &some, 5, |_| Outside), [5]);
        assert_eq!(joiners(&file, 99, &some, 5, |_| Outside), [0; 0]);
    }

    #[test]
    fn a_task_that_depends_on_one_of_the_group_waits_for_it() {
        let text = "- [ ] T001 [P] a\n- [ ] T002 [P] b\n- [ ] T003 [P] c (depends on T001)\n\
                    - [ ] T004 [P] d\n";
        assert_eq!(unit(text), Unit::Parallel(vec![0, 1]));
        assert_eq!(unit(&text.replacen("[ ]", "[x]", 1)), Unit::Parallel(vec![1, 2, 3]));
        // Also where the one that depends stands before.
        let before = "- [ ] T001 [P] a (depends on T002)\n- [ ] T002 [P] b\n";
        assert_eq!(unit(before), Unit::Sequential(0));
        use Membership::{Outside, PassedOver, UnderWay};
        let file = TaskFile::scan(text.as_bytes());
        let join = |first| {
            let how = |task: &Task| if task.index == 0 { first } else { Outside };
            joiners(&file, 0, &Scope::all(5), 5, how)
        };
        assert_eq!((join(UnderWay), join(PassedOver)), (vec![1], vec![1]));
    }

    fn unit(text: &str) -> Unit {
        next(&TaskFile::scan(text.as_bytes()), &Scope::all(DEFAULT_MAX_PARALLEL), |_| {
            Readiness::Ready
        })
    }

    /// What [`order`] promises, one tick after the other.
    fn worked(text: &str, scope: &Scope) -> Vec<Unit> {
        let mut file = TaskFile::scan(text.as_bytes());
        let mut units = Vec::new();
        loop {
            match next(&file, scope, |_| Readiness::Ready) {
                Unit::Complete => return units,
                unit => {
                    unit.tasks().iter().for_each(|&index| file.tasks[index].done = true);
                    units.push(unit);
                }
            }
        }
    }

    #[test]
    fn finding_53_the_order_of_a_plan_takes_one_scan() {
        let tasks = (1..=2_000).map(|n| match n % 5 {
            0 => format!("- [ ] 1.{n} [VERIFY] look\n"),
            1 => format!("- [ ] 1.{n} [P] one\n  - **Files**: {}\n", n % 7),
            2 => format!("- [ ] 1.{n} [P] two\n  - **Files**: {}\n", n % 3),
            3 => format!("- [x] 1.{n} [P] done\n"),
            _ => format!("- [ ] 1.{n} [FIX 1.{}] fix\n", n - 3),
        });
        let text: String = tasks.collect();
        let before = crate::tasks::scans();
        let file = TaskFile::scan(text.as_bytes());
        let only = Scope { only: vec!["1.2".into(), "1.15".into()], ..Scope::all(2) };
        for scope in [Scope::all(3), only] {
            assert_eq!(order(&file, &scope), worked(&text, &scope));
        }
        // One for each of the two by hand.
        assert_eq!(crate::tasks::scans() - before, 1 + 2);
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
    fn what_a_person_skips_is_passed_over_and_what_it_fixes_goes_on() {
        let due = |text: &str, skipped: &[&str]| {
            let how = |task: &Task| match skipped.contains(&task.name().as_str()) {
                true => Readiness::Skipped,
                false => Readiness::Ready,
            };
            next(&TaskFile::scan(text.as_bytes()), &Scope::all(5), how)
        };
        let plan = "- [ ] 1.1 a\n- [ ] 1.1.1 [FIX 1.1] a\n- [ ] 1.2 b\n";
        assert_eq!(due(plan, &["1.1.1"]), Unit::Sequential(0), "it does not wait for its fix");
        assert_eq!(due(plan, &["1.1", "1.1.1"]), Unit::Sequential(2));
        let group = "- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n- [ ] 1.3 [P] c\n";
        assert_eq!(due(group, &["1.2"]), Unit::Parallel(vec![0, 2]));
        assert_eq!(due(group, &["1.1", "1.2", "1.3"]), Unit::Complete);
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
    fn an_optional_task_is_worked_if_it_is_asked_for_and_the_plan_is_complete_without_it() {
        let text = "- [ ] 1.1 [P] a\n- [ ]* 1.2 b\n- [ ] 1.3 [P] c\n- [ ]* 1.4 d\n";
        let of = |scope: &Scope| worked(text, scope);
        assert_eq!(of(&Scope::all(5)), [Unit::Parallel(vec![0, 2])]);
        let optional = Scope { optional: true, ..Scope::all(5) };
        assert_eq!(of(&optional), [0, 1, 2, 3].map(Unit::Sequential));
        let named = Scope { only: vec!["1.4".into()], ..Scope::all(5) };
        assert_eq!(of(&named), [Unit::Sequential(3)]);
        assert_eq!(current(&TaskFile::scan(b"- [x] 1.1 a\n- [ ]* 1.2 b\n").tasks), None);
    }

    #[test]
    fn a_group_ends_at_a_heading() {
        let text = "### Tests\n- [ ] T010 [P] a\n- [ ] T011 [P] b\n### Code\n- [ ] T012 [P] c\n- [ ] T013 (P) d\n";
        let groups = [Unit::Parallel(vec![0, 1]), Unit::Parallel(vec![2, 3])];
        assert_eq!(order(&TaskFile::scan(text.as_bytes()), &Scope::all(5)), groups);
    }

    #[test]
    fn a_task_waits_for_its_open_fix_and_comes_back_afterwards() {
        let open = "- [ ] 1.1 a\n- [ ] 1.1.1 [FIX 1.1] Fix: a\n- [ ] 1.2 b\n";
        assert_eq!(unit(open), Unit::Sequential(1));
        let fixed = "- [ ] 1.1 a\n- [x] 1.1.1 [FIX 1.1] Fix: a\n- [ ] 1.2 b\n";
        assert_eq!(unit(fixed), Unit::Sequential(0));
        let nested = "- [ ] 1.1 a\n- [ ] 1.1.1 [FIX 1.1] f\n- [ ] 1.1.1.1 [FIX 1.1.1] g\n";
        assert_eq!(unit(nested), Unit::Sequential(2));
    }

    #[test]
    fn tasks_that_fix_each_other_or_themselves_do_not_hang() {
        let each_other = "- [ ] 1.1 [FIX 1.2] a\n- [ ] 1.2 [FIX 1.1] b\n";
        assert_eq!(unit(each_other), Unit::Sequential(1));
        assert_eq!(unit("- [ ] 1.1 [FIX 1.1] a\n"), Unit::Sequential(0));
    }
}
