//! A run killed at every fail point it has: before and after each rename, and
//! before and after each start of a program, git's own included. The next run
//! always comes to the end that an undisturbed one comes to.
//!
//! What a run does is spread over several small plans, because the work grows
//! with the square of a plan's length.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::{committed, nothing_is_left, planned, run, run_command, tree};
use crate::world::{Call, JOURNAL, PROGRESS, TASKS, World, call};

/// A plan with what it needs in the tree.
struct Plan {
    tasks: &'static str,
    /// Has to be in the journal of an undisturbed run: that it goes where it is
    /// meant to go.
    events: &'static [&'static str],
    least_points: u64,
    /// Every how many points it is killed. Two plans share most of their points
    /// with a third; `SPECUM_CRASH_STEP=1` visits all of them.
    step: u64,
}

/// A task that does not bear its own leftovers, and a check that has to be
/// fixed.
const ALONE: Plan = Plan {
    tasks: "\
- [ ] 1.1 Begin
  ```sh
  mkdir new && echo one > new/one.txt
  ```
  - **Verify**: `grep -qx one new/one.txt`
- [ ] V1 [VERIFY] Checked
  ```sh
  echo fixed >> new/one.txt
  ```
  - **Verify**: `grep -q fixed new/one.txt`
",
    events: &["launched"],
    least_points: 80,
    step: 1,
};

/// A group in which two change the same line, and one has learned something.
const CONFLICT: Plan = Plan {
    tasks: "\
- [ ] 1.1 [P] Left
  ```sh
  sed -i 's/$/ left/' shared.txt
  echo '- LEARNED' > specs/test-spec/.progress-task-0.md
  ```
  - **Verify**: `grep -q left shared.txt`
- [ ] 1.2 [P] Right
  ```sh
  sed -i 's/$/ right/' shared.txt
  ```
  - **Verify**: `grep -q right shared.txt`
",
    events: &["ready", "integrating", "set-aside"],
    least_points: 80,
    step: 1,
};

/// A group in which one fails at first.
const FIXED: Plan = Plan {
    tasks: "\
- [ ] 1.1 [P] Fixed
  ```sh
  mkdir out && echo half > out/half.txt
  test \"$SPECUM_ATTEMPT\" -gt 1 && mv out/half.txt out/whole.txt
  ```
  - **Verify**: `test -f out/whole.txt`
- [ ] 1.2 [P] Good
  ```sh
  echo good > good.txt
  ```
",
    events: &["failed", "kept", "integrating"],
    least_points: 80,
    step: 3,
};

/// A group in which the work of one breaks on top of the other's.
const BROKEN: Plan = Plan {
    tasks: "\
- [ ] 1.1 [P] First
  ```sh
  echo first > first.txt
  ```
- [ ] 1.2 [P] Breaks
  ```sh
  mkdir out && cp shared.txt out/
  cp first.txt out/ || true
  ```
  - **Verify**: `test ! -f first.txt || test -f out/first.txt`
",
    events: &["integrating", "taken-out", "set-aside"],
    least_points: 80,
    step: 3,
};

/// How a plan's boxes are called.
fn ids(plan: &Plan) -> Vec<&'static str> {
    let id = |line: &'static str| line.strip_prefix("- [ ] ")?.split(' ').next();
    plan.tasks.lines().filter_map(id).collect()
}

fn world(plan: &Plan) -> World {
    let world = planned(plan.tasks);
    world.write("shared.txt", "base\n");
    world.git(&["add", "shared.txt"]);
    world.git(&["commit", "--quiet", "--amend", "--no-edit"]);
    // Samples that nobody needs hundreds of copies of.
    fs::remove_dir_all(world.path(".git/hooks")).unwrap();
    world
}

fn die_at(world: &World, point: u64) -> Call {
    let mut command = run_command(world, &[]);
    command.env("SPECUM_DIE_AT", point.to_string());
    call(command, b"")
}

/// Whether a world is as an undisturbed run leaves it; what differs, if not.
fn is_at_its_end(world: &World, plan: &Plan, undisturbed: &str) {
    let ticked = plan.tasks.replace("- [ ]", "- [x]");
    assert_eq!(world.read(TASKS), ticked, "each box is ticked, and nothing else is changed");
    let mut commits = committed(world);
    commits.sort();
    assert_eq!(commits, ids(plan), "one commit for each task");
    assert_eq!(tree(world), undisturbed);
    let progress = world.read(PROGRESS);
    let completed = progress.split("## Completed").nth(1).expect("a section of its own");
    let completed = completed.split("\n## ").next().expect("there is always a first part");
    for id in ids(plan) {
        assert_eq!(completed.matches(&format!("- {id} ")).count(), 1, "{id}: {progress}");
    }
    let learned = usize::from(plan.tasks.contains("LEARNED"));
    assert_eq!(progress.matches("- LEARNED").count(), learned, "{progress}");
    nothing_is_left(world);
}

fn killed_everywhere(plan: &Plan) {
    let template = world(plan);
    let calm = template.copy();
    run(&calm, &[]).exits(0);
    let undisturbed = tree(&calm);
    is_at_its_end(&calm, plan, &undisturbed);
    let journal = calm.read(JOURNAL);
    for event in plan.events {
        assert!(journal.contains(&format!("\"event\":\"{event}\"")), "{event}: {journal}");
    }
    let asked = std::env::var("SPECUM_CRASH_STEP").ok().and_then(|step| step.parse().ok());
    let points = at_every_point(asked.unwrap_or(plan.step), |point| {
        let world = template.copy();
        let killed = die_at(&world, point);
        // Every now and then the second run does not fare better.
        if point.is_multiple_of(5) {
            let _ = die_at(&world, point * 7 % 60 + 1);
        }
        let again = run(&world, &[]);
        let told = format!("{}{}{}", killed.stderr, again.stdout, again.stderr);
        let ended = std::panic::catch_unwind(|| {
            assert_eq!(again.code, Some(0), "the next run");
            is_at_its_end(&world, plan, &undisturbed);
        });
        assert!(ended.is_ok(), "killed at {point}: {told}\n{}", world.read(JOURNAL));
        if killed.code.is_some() {
            assert_eq!(killed.code, Some(0), "{}{}", killed.stdout, killed.stderr);
        }
        killed.code.is_none()
    });
    assert!(points > plan.least_points, "only {points} points");
}

/// Visits fail points, in several threads, until one lies behind the end of the
/// run: then `visit` says no. Gives the number of the last one.
pub(super) fn at_every_point(step: u64, visit: impl Fn(u64) -> bool + Sync) -> u64 {
    let next = AtomicU64::new(step);
    let end = AtomicU64::new(u64::MAX);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let point = next.fetch_add(step, Ordering::SeqCst);
                    if point >= end.load(Ordering::SeqCst) {
                        return;
                    }
                    if !visit(point) {
                        end.fetch_min(point, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    end.into_inner() - 1
}

#[test]
fn a_task_alone_killed_anywhere_ends_as_if_nothing_had_happened() {
    killed_everywhere(&ALONE);
}

#[test]
fn a_group_with_a_conflict_killed_anywhere_ends_as_if_nothing_had_happened() {
    killed_everywhere(&CONFLICT);
}

#[test]
fn a_group_with_a_failure_killed_anywhere_ends_as_if_nothing_had_happened() {
    killed_everywhere(&FIXED);
}

#[test]
fn a_group_that_breaks_together_killed_anywhere_ends_as_if_nothing_had_happened() {
    killed_everywhere(&BROKEN);
}
