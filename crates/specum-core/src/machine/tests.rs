mod keep_going;

use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq};

use super::*;
use crate::budget::Charge;
use crate::plan_record::PlanRecord;
use crate::state::PauseAfter;
use crate::tasks::Task;

/// A loop over a task file, carried out in memory.
pub(super) struct World {
    pub(super) text: Vec<u8>,
    pub(super) state: State,
    pub(super) told: Vec<String>,
}

impl World {
    pub(super) fn new(text: &str) -> Self {
        let total = TaskFile::scan(text.as_bytes()).tasks.len();
        let mut world = World { text: text.into(), state: State::new(total), told: Vec::new() };
        world.happen(Event::Start(Start::default()));
        world
    }

    pub(super) fn happen(&mut self, event: Event) -> Vec<Signal> {
        let text = self.text.clone();
        let step = step(&self.state, &TaskFile::scan(&text), event);
        let mut signals = Vec::new();
        for effect in step.effects {
            match effect {
                Effect::Edit(edit) => self.text = edit.apply(&self.text),
                Effect::Note(note) => self.told.push(note.text),
                Effect::MergeParts(parts) => self.told.push(format!("merge {parts:?}")),
                Effect::Signal(signal) => signals.push(signal),
            }
        }
        if let Some(state) = step.state {
            self.state = state;
        }
        signals
    }

    pub(super) fn pass(&mut self, index: usize) -> Vec<Signal> {
        self.happen(Event::Pass { index, unverified: false })
    }

    pub(super) fn fail(&mut self, index: usize) -> Vec<Signal> {
        self.happen(Event::Fail { index, reason: "verify failed".into() })
    }

    pub(super) fn due(&self) -> Due {
        due(&self.state, &TaskFile::scan(&self.text), &Scope::all(5), &PlanRecord::default())
    }

    fn at(&self) -> (usize, u64, u64) {
        (self.state.task_index, self.state.task_iteration, self.state.global_iteration)
    }

    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.text).unwrap()
    }
}

const THREE: &str = "- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 c\n";

#[test]
fn a_pass_ticks_notes_commits_and_moves_on() {
    let mut world = World::new(THREE);
    world.happen(Event::Open(vec![0]));
    assert_eq!(world.pass(0), [Signal::TaskComplete]);
    assert_eq!(world.text(), "- [x] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 c\n");
    assert_eq!(world.at(), (1, 1, 2));
    assert_eq!(world.told, ["- 1.1 a (attempt 1)"]);
    assert_eq!(world.due(), Due::Work(Unit::Sequential(1)));
}

#[test]
fn a_failure_counts_in_both_counters_and_keeps_the_box_open() {
    let mut world = World::new("- [x] 1.1 a\n- [x] 1.2 ticked too early\n");
    world.fail(1);
    assert_eq!(world.text(), "- [x] 1.1 a\n- [ ] 1.2 ticked too early\n");
    assert_eq!(world.at(), (1, 2, 2));
    world.fail(1);
    assert_eq!(world.at(), (1, 3, 3));
    assert_eq!(world.told[0], "- 1.2 attempt 1: verify failed");
    world.pass(1);
    assert_eq!(world.at(), (2, 1, 4));
    assert!(world.state.task_results.is_empty());
}

#[test]
fn starting_again_keeps_the_counters() {
    let mut world = World::new(THREE);
    world.fail(0);
    world.fail(0);
    world.happen(Event::Start(Start::default()));
    assert_eq!(world.at(), (0, 3, 3));
    let options = Start {
        max_task_iterations: Some(9),
        max_global_iterations: Some(50),
        recovery_mode: Some(true),
        ..Start::default()
    };
    world.happen(Event::Start(options));
    assert_eq!(
        (
            world.state.max_task_iterations,
            world.state.max_global_iterations,
            world.state.recovery_mode
        ),
        (9, 50, true)
    );
}

#[test]
fn starting_again_moves_a_spent_cap_on() {
    let mut world = World::new(THREE);
    world.state.global_iteration = 101;
    assert_eq!(world.due(), Due::Capped);
    world.happen(Event::Start(Start::default()));
    assert_eq!(world.state.max_global_iterations, 200);
    assert_eq!(world.due(), Due::Work(Unit::Sequential(0)));
}

/// As `specum run` starts a loop.
fn by_run(max_global_iterations: Option<u64>) -> Event {
    let process = state::Process { pid: 1, started: String::new(), space: None };
    let owner = Some(Owner::Runner { process });
    Event::Start(Start { owner, max_global_iterations, ..Start::default() })
}

#[test]
fn a_run_that_is_started_again_does_not_lift_a_cap() {
    let mut world = World::new(THREE);
    world.happen(by_run(Some(2)));
    world.fail(0);
    world.happen(by_run(None));
    assert_eq!(world.state.max_global_iterations, 2, "not reached yet");
    world.fail(0);
    world.happen(by_run(None));
    assert_eq!(world.due(), Due::Capped);
    world.happen(by_run(Some(9)));
    assert_eq!(world.due(), Due::Work(Unit::Sequential(0)));
}

#[test]
fn a_cap_that_nobody_chose_grows_with_the_plan() {
    let mut world = World::new(THREE);
    world.happen(by_run(None));
    let options = Start { max_task_iterations: Some(50), ..Start::default() };
    let Event::Start(start) = by_run(None) else { unreachable!() };
    world.happen(Event::Start(Start { owner: start.owner, ..options }));
    assert_eq!(world.state.max_global_iterations, 300);
    // A person adds to it while it is being worked.
    world.text.extend_from_slice(b"- [ ] 1.4 d\n");
    world.fail(0);
    world.happen(by_run(None));
    assert_eq!(world.state.max_global_iterations, 400);
}

#[test]
fn a_batch_has_no_more_tasks_than_there_are_attempts_left() {
    let mut world = World::new("- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n- [ ] 1.3 [P] c\n");
    for (cap, unit) in [
        (100, Unit::Parallel(vec![0, 1, 2])),
        (3, Unit::Parallel(vec![0, 1, 2])),
        (2, Unit::Parallel(vec![0, 1])),
        (1, Unit::Sequential(0)),
    ] {
        world.state.max_global_iterations = cap;
        assert_eq!(world.due(), Due::Work(unit), "{cap}");
    }
}

#[test]
fn finishing_with_the_last_allowed_attempt_is_finishing() {
    let mut world = World::new("- [ ] 1.1 a\n");
    world.state.global_iteration = 100;
    world.pass(0);
    assert_eq!(world.state.attempts_left(), 0);
    assert_eq!(world.due(), Due::Complete);
    assert_eq!(world.happen(Event::Complete), [Signal::AllTasksComplete]);
}

#[test]
fn completion_is_refused_while_a_box_is_open() {
    let mut world = World::new(THREE);
    assert_eq!(world.happen(Event::Complete), []);
    assert_eq!(world.state.phase, Phase::Execution);
}

#[test]
fn cancelling_deletes_the_state_and_nothing_else() {
    let mut world = World::new(THREE);
    world.happen(Event::Open(vec![0]));
    let step = step(&world.state, &TaskFile::scan(&world.text), Event::Cancel);
    assert_eq!(step, Step { state: None, effects: Vec::new() });
}

#[test]
fn whoever_releases_a_loop_changes_nothing_but_its_owner() {
    let mut world = World::new(THREE);
    let before = world.state.clone();
    let owner = Owner::Session { session_id: "a".into(), process: None, seen: None };
    world.happen(Event::Hold(owner));
    assert_ne!(world.state, before);
    world.happen(Event::Release { millis: 0 });
    assert_eq!(world.state, before);
}

#[test]
fn without_recovery_the_last_failure_blocks_and_a_person_may_resume() {
    let mut world = World::new(THREE);
    world.state.max_task_iterations = 2;
    assert_eq!(world.fail(0), []);
    assert_eq!(world.fail(0), [Signal::Blocked]);
    let reason = "task 1.1 failed 2 times (`--recovery-mode` would add a fix task): verify failed";
    assert_eq!(world.due(), Due::Blocked(reason.into()));
    assert_eq!(world.state.to_object()["awaitingApproval"], true);
    world.happen(Event::Start(Start::default()));
    assert!(matches!(world.due(), Due::Blocked(_)), "starting again is no remedy");
    world.happen(Event::Resume(Raise::default()));
    assert_eq!((world.due(), world.state.task_iteration), (Due::Work(Unit::Sequential(0)), 1));
}

#[test]
fn a_fix_that_an_unclosed_fence_would_hide_is_not_made() {
    // Hidden, it would never be worked, and be made again and again.
    let text = "- [ ] 1.1 a\n  - **Verify**:\n    ```sh\n    true\n";
    let mut world = World::new(text);
    world.state.max_task_iterations = 1;
    world.state.recovery_mode = true;
    assert_eq!(world.fail(0), [Signal::Blocked]);
    assert_eq!(world.text(), text);
    insta::assert_snapshot!(world.state.blocked().unwrap(), @"task 1.1 failed once (a fence or comment in tasks.md is not closed and would hide a fix): verify failed");
}

#[test]
fn a_count_at_its_largest_can_still_be_read() {
    let mut world = World::new(THREE);
    world.state.global_iteration = state::MAX_COUNT;
    world.fail(0);
    assert!(State::parse(&world.state.render()).is_ok());
}

#[test]
fn recovery_inserts_a_fix_and_comes_back_to_the_original() {
    let mut world = World::new(
        "- [ ] 1.1 a\n  - **Files**: x.rs\n  - **Verify**:\n    ```sh\n    make\n    ```\n  - **Commit**: None\n- [ ] 1.2 b\n",
    );
    world.state.recovery_mode = true;
    world.state.max_task_iterations = 1;
    world.happen(Event::Fail { index: 0, reason: "no\n- [ ] 9.9 injected\n```".into() });
    insta::assert_snapshot!(world.text(), @"
    - [ ] 1.1 a
      - **Files**: x.rs
      - **Verify**:
        ```sh
        make
        ```
      - **Commit**: None
    - [ ] 1.1.1 [FIX 1.1] Fix: a
      - **Do**: 1.1 kept failing. Find the cause and fix it; 1.1 is tried again afterwards.
        Last failure: no - [ ] 9.9 injected ```
      - **Files**: x.rs
      - **Verify**:
        ```sh
        make
        ```
    - [ ] 1.2 b
    ");
    assert_eq!(world.at(), (1, 1, 2));
    world.pass(1);
    assert_eq!(world.at(), (0, 1, 3), "back to the original, not to the ticked fix");
    assert_eq!(world.state.fix_task_map["1.1"].fix_task_ids, ["1.1.1"]);
    world.fail(0);
    assert_eq!(world.at(), (2, 1, 4));
    let names: Vec<String> = TaskFile::scan(&world.text).tasks.iter().map(Task::name).collect();
    assert_eq!(names, ["1.1", "1.1.1", "1.1.2", "1.2"]);
}

#[test]
fn fixes_are_bounded_in_number_and_depth() {
    let mut world = World::new("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    world.state.recovery_mode = true;
    world.state.max_task_iterations = 1;
    for _ in 0..3 {
        assert_eq!(world.fail(0), []);
        world.pass(world.state.task_index);
    }
    assert_eq!(world.fail(0), [Signal::Blocked]);
    assert!(world.state.blocked().unwrap().contains("3 fix tasks did not help"));

    let mut world = World::new("- [ ] 1.1 a\n");
    world.state.recovery_mode = true;
    world.state.max_task_iterations = 1;
    for _ in 0..3 {
        assert_eq!(world.fail(world.state.task_index), []);
    }
    assert_eq!(world.fail(world.state.task_index), [Signal::Blocked]);
    assert!(world.state.blocked().unwrap().contains("depth 3"));
}

#[test]
fn a_file_without_ids_gets_no_fix_task() {
    let mut world = World::new("- [ ] a\n- [ ] b\n");
    world.state.recovery_mode = true;
    world.state.max_task_iterations = 1;
    assert_eq!(world.fail(0), [Signal::Blocked]);
    assert_eq!(world.text(), "- [ ] a\n- [ ] b\n");
}

const GROUP: &str = "- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n- [ ] 1.3 [P] c\n- [ ] 1.4 d\n";

#[test]
fn a_batch_ends_with_its_last_verdict() {
    let mut world = World::new(GROUP);
    assert_eq!(world.due(), Due::Work(Unit::Parallel(vec![0, 1, 2])));
    world.happen(Event::Open(vec![0, 1, 2]));
    assert_eq!(world.state.parallel_group.as_ref().unwrap().end_index, 2);
    assert_eq!(world.pass(2), [Signal::TaskComplete]);
    assert_eq!(world.pass(0), [Signal::TaskComplete]);
    assert_eq!(world.pass(1), [Signal::TaskComplete, Signal::BatchComplete]);
    assert_eq!(world.at(), (3, 1, 4));
    assert_eq!(world.state.parallel_group, None);
    assert_eq!(
        world.told.iter().filter(|told| told.starts_with("merge")).collect::<Vec<_>>(),
        ["merge [0, 1, 2]"]
    );
}

#[test]
fn the_tasks_of_a_group_join_its_batch_as_places_get_free() {
    let mut world = World::new(GROUP);
    let joiners = |world: &World, room| {
        joiners(&world.state, &TaskFile::scan(&world.text), &Scope::all(2), room)
    };
    assert_eq!(joiners(&world, 5), [0; 0], "there is no batch to join");
    world.happen(Event::Open(vec![0, 1]));
    assert_eq!(joiners(&world, 5), [2]);
    assert_eq!(joiners(&world, 0), [0; 0]);
    world.fail(0);
    assert_eq!(joiners(&world, 5), [2], "what failed is tried again after the batch");
    world.happen(Event::Join(vec![2]));
    assert_eq!(joiners(&world, 5), [0; 0]);
    world.pass(1);
    assert_eq!(world.pass(2), [Signal::TaskComplete, Signal::BatchComplete]);
    assert_eq!(world.told.last().unwrap(), "merge [0, 1, 2]");
    assert_eq!(world.due(), Due::Work(Unit::Sequential(0)), "the one that failed");
}

#[test]
fn a_task_that_has_used_its_attempts_does_not_join_the_batch_that_it_has_left() {
    let mut world = World::new(GROUP);
    world.state.max_task_iterations = 1;
    world.happen(Event::Open(vec![0, 1]));
    // A person ticks it, and its agent fails nevertheless.
    world.happen(Event::Tick { index: 1 });
    world.fail(1);
    let file = TaskFile::scan(&world.text);
    assert_eq!(joiners(&world.state, &file, &Scope::all(2), 5), [2]);
}

#[test]
fn no_task_joins_a_loop_that_waits_or_has_no_attempts_left() {
    let mut world = World::new(GROUP);
    world.happen(Event::Open(vec![0, 1]));
    let joiners = |world: &World| {
        joiners(&world.state, &TaskFile::scan(&world.text), &Scope::all(2), 5).len()
    };
    assert_eq!(joiners(&world), 1);
    let mut paused = world.state.clone();
    paused.standing = Standing::Paused(None);
    let left = world.state.attempts_left();
    world.state.global_iteration += left - 2;
    assert_eq!(joiners(&world), 0, "two are under way, and no more may be");
    world.state = paused;
    assert_eq!(joiners(&world), 0);
}

#[test]
fn of_a_batch_only_the_failed_ones_are_tried_again() {
    let mut world = World::new(GROUP);
    world.happen(Event::Open(vec![0, 1, 2]));
    world.pass(0);
    world.fail(1);
    assert_eq!(world.fail(2), [Signal::BatchComplete]);
    assert_eq!(world.at(), (1, 2, 4), "the index stands at the first failed one");
    assert_eq!(world.due(), Due::Work(Unit::Parallel(vec![1, 2])));
    world.happen(Event::Open(vec![1, 2]));
    world.pass(1);
    world.fail(2);
    assert_eq!(world.due(), Due::Work(Unit::Sequential(2)));
    assert_eq!(world.at(), (2, 3, 6));
}

#[test]
fn results_follow_their_task_when_one_is_inserted() {
    let mut world = World::new(GROUP);
    world.state.recovery_mode = true;
    world.happen(Event::Open(vec![0, 1, 2]));
    world.fail(2);
    world.pass(1);
    world.fail(0);
    world.state.max_task_iterations = 2;
    world.fail(0);
    let at: Vec<(usize, &str, u64)> =
        world.state.task_results.iter().map(|(at, r)| (*at, r.id.as_str(), r.attempts)).collect();
    assert_eq!(at, [(0, "1.1", 0), (3, "1.3", 1)]);
}

#[test]
fn a_fix_task_waits_for_the_end_of_the_batch() {
    let mut world = World::new(GROUP);
    world.state.recovery_mode = true;
    world.state.max_task_iterations = 1;
    world.happen(Event::Open(vec![0, 1, 2]));
    assert_eq!(world.fail(0), []);
    assert_eq!(world.text(), GROUP, "positions must not shift under a running batch");
    world.pass(1);
    world.pass(2);
    let names: Vec<String> = TaskFile::scan(&world.text).tasks.iter().map(Task::name).collect();
    assert_eq!(names, ["1.1", "1.1.1", "1.2", "1.3", "1.4"]);
    assert_eq!(world.at(), (1, 1, 4));
}

#[test]
fn pause_waits_and_resume_goes_on() {
    let mut world = World::new(THREE);
    world.happen(Event::Pause { why: None });
    assert_eq!(world.due(), Due::Paused(None));
    world.happen(Event::Resume(Raise::default()));
    assert_eq!(world.due(), Due::Work(Unit::Sequential(0)));
}

#[test]
fn a_batch_ends_when_a_person_has_ticked_or_removed_what_was_left_of_it() {
    for rest in ["- [x] 1.2 [P] b\n", ""] {
        let mut world = World::new("- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n");
        world.state.max_task_iterations = 1;
        world.happen(Event::Open(vec![0, 1]));
        world.fail(0);
        assert!(!batch_is_over(&world.state, &TaskFile::scan(&world.text)));
        world.text = format!("- [ ] 1.1 [P] a\n{rest}").into_bytes();
        assert!(batch_is_over(&world.state, &TaskFile::scan(&world.text)), "{rest}");
        assert_eq!(world.happen(Event::EndBatch), [Signal::Blocked], "it has used its attempts");
        assert!(!batch_is_over(&world.state, &TaskFile::scan(&world.text)));
    }
}

#[test]
fn a_person_may_add_tasks_while_the_loop_runs() {
    let mut world = World::new(THREE);
    world.text = b"- [ ] 1.0 new\n- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 c\n".to_vec();
    world.pass(1);
    assert_eq!((world.state.total_tasks, world.state.task_index), (Some(4), 0));
}

proptest::proptest! {
    /// Whatever happens, in whatever order: the index names an open task, and
    /// no counter runs backwards.
    #[test]
    fn any_story_keeps_the_books_straight(
        marks in proptest::collection::vec((0_u8..3, proptest::bool::ANY), 1..8),
        story in proptest::collection::vec((0_u8..10, 0_usize..8), 0..40),
        recovery: bool,
    ) {
        let text: String = marks.iter().enumerate().map(|(n, (kind, done))| {
            let marker = ["", "[P] ", "[VERIFY] "][usize::from(*kind)];
            format!("- [{}] 1.{n} {marker}t\n", if *done { 'x' } else { ' ' })
        }).collect();
        let mut world = World::new(&text);
        world.state.recovery_mode = recovery;
        world.state.max_task_iterations = 2;
        for (what, pick) in story {
            let count = TaskFile::scan(&world.text).tasks.len();
            let before = world.state.global_iteration;
            let index = pick % count;
            match what {
                0 => { world.pass(index); }
                1 => { world.fail(index); }
                2 => if let Due::Work(unit) = world.due() { world.happen(Event::Open(unit.tasks().to_vec())); },
                3 => { world.happen(Event::Pause { why: None }); }
                4 => { world.happen(Event::Resume(Raise::default())); }
                5 => { world.happen(Event::Skip { index }); }
                6 => { world.happen(Event::Unskip { index }); }
                7 => { world.happen(Event::Retry { index }); }
                8 => { world.happen(Event::Undo { index }); }
                _ => { world.happen(Event::Start(Start::default())); }
            }
            let file = TaskFile::scan(&world.text);
            let state = &world.state;
            proptest::prop_assert_eq!(state.total_tasks, Some(file.tasks.len()));
            proptest::prop_assert_eq!(plan::current(&file.tasks).unwrap_or(file.tasks.len()), state.task_index);
            proptest::prop_assert!(state.global_iteration >= before && state.task_iteration >= 1);
            proptest::prop_assert!(file.tasks.len() <= marks.len() * 40);
            let again = State::parse(&state.render()).unwrap();
            proptest::prop_assert_eq!(again.render(), state.render());
        }
    }
}

#[test]
fn what_does_not_fit_on_top_of_the_others_runs_again_alone_and_has_not_failed() {
    let mut world = World::new("- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n- [ ] 1.3 [P] c\n");
    world.happen(Event::Open(vec![0, 1, 2]));
    world.pass(0);
    world.happen(Event::SetAside { index: 1, reason: "conflict in x".into() });
    assert_eq!(world.pass(2), [Signal::TaskComplete, Signal::BatchComplete]);
    assert_eq!(world.due(), Due::Work(Unit::Sequential(1)));
    assert_eq!(world.at(), (1, 1, 4), "three attempts in all, none of them failed");
    assert_eq!(world.state.task_results[&1].next_attempt(), 2);
    world.pass(1);
    assert_eq!(world.told[1], "- 1.2 attempt 1 is done again, alone: conflict in x");
    assert!(world.told.contains(&"- 1.2 b (attempt 2)".to_owned()));
    assert_eq!(world.due(), Due::Complete);
}

#[test]
fn a_cap_that_is_reached_ends_the_loop_and_a_higher_one_lets_it_go_on() {
    let mut world = World::new(THREE);
    world.happen(Event::Start(Start { max_tokens: Some(100), ..Start::default() }));
    let charge = Charge { tokens: Some(100), ..Charge::default() };
    world.happen(Event::Charge { charge, millis: 5 });
    assert!(matches!(world.due(), Due::Spent(why) if why.contains("--max-tokens")));
    world.happen(Event::Start(Start::default()));
    assert!(matches!(world.due(), Due::Spent(_)), "a start without a word changes no cap");
    world.happen(Event::Start(Start { max_tokens: Some(101), ..Start::default() }));
    assert_eq!(world.due(), Due::Work(Unit::Sequential(0)));
    assert_eq!(world.state.budget.millis, 5);
}

#[test]
fn what_is_not_about_the_plan_forgets_nothing_while_the_plan_is_gone() {
    let mut world = World::new("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    world.fail(0);
    let before = world.state.clone();
    let gone = TaskFile::scan(b"");
    let charge = Charge { tokens: Some(100), ..Charge::default() };
    for event in [
        Event::Charge { charge, millis: 5 },
        Event::Release { millis: 5 },
        Event::Pause { why: None },
    ] {
        let after = step(&before, &gone, event).state.unwrap();
        assert_eq!(after.task_results, before.task_results);
        assert_eq!((after.task_index, after.total_tasks), (before.task_index, before.total_tasks));
    }
}

#[test]
fn a_refused_commit_does_not_count_what_was_set_aside_as_a_failure() {
    let mut world = World::new("- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n");
    world.state.max_task_iterations = 1;
    world.happen(Event::Open(vec![0, 1]));
    world.happen(Event::SetAside { index: 0, reason: "conflict".into() });
    world.pass(1);
    world.pass(0);
    world.happen(Event::TakeBack { index: 0, attempt: 2, reason: "refused".into() });
    assert_eq!(world.state.task_results[&0].attempts, 1);
}

#[test]
fn what_is_known_of_fixes_follows_the_number_of_what_they_fix() {
    let mut world = World::new("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    (world.state.recovery_mode, world.state.max_task_iterations) = (true, 1);
    world.fail(0);
    world.text = world.text().replace("1.1 a", "1.7 a").into_bytes();
    let to = TaskKey { id: "1.7".into(), title: "a".into() };
    world.happen(Event::Follow { renames: vec![("1.1".into(), to)], settled: Vec::new() });
    assert_eq!(world.state.fix_task_map.keys().collect::<Vec<_>>(), ["1.7"]);
}

#[test]
fn a_fix_takes_along_no_prose_and_no_empty_line() {
    let mut world = World::new("- [ ] 1.1 a\n  - **Files**: f\n\nMore words.\n\n- [ ] 1.2 b\n");
    (world.state.recovery_mode, world.state.max_task_iterations) = (true, 1);
    world.fail(0);
    assert_eq!(world.text().matches("More words.").count(), 1, "{}", world.text());
    assert!(world.text().ends_with("  - **Files**: f\n\n- [ ] 1.2 b\n"), "{}", world.text());
}

#[test]
fn a_batch_does_not_wait_for_whoever_takes_the_place_of_a_task_that_a_person_ticked() {
    let mut world = World::new("- [ ] [P] a\n- [ ] [P] b\n- [ ] c\n");
    world.state.max_task_iterations = 1;
    world.happen(Event::Open(vec![0, 1]));
    world.happen(Event::Tick { index: 1 });
    world.text = b"- [ ] [P] a\n- [ ] c\n".to_vec();
    world.fail(0);
    assert!(world.state.blocked().is_some(), "{:?}", world.state);
}

/// Events about tasks by position, and whatever else changes counters and batches.
fn any_event() -> impl Strategy<Value = Event> {
    let numbers = (0_usize..6, proptest::collection::vec(0_usize..6, 0..4), any::<u64>());
    (0..21, numbers).prop_map(|(what, (index, indices, number))| {
        let reason = "it does not work".to_owned();
        match what {
            0 => Event::Open(indices),
            1 => Event::Join(indices),
            2 => Event::Pass { index, unverified: false },
            3 => Event::Fail { index, reason },
            4 => Event::TakeBack { index, attempt: number, reason },
            5 => Event::SetAside { index, reason },
            6 => Event::Wait { index, reason },
            7 => Event::Tick { index },
            8 => Event::Start(Start { max_global_iterations: Some(number), ..Start::default() }),
            9 => Event::Start(Start::default()),
            10 => Event::Charge { charge: Charge::default(), millis: number },
            11 => Event::Resume(Raise::default()),
            12 => Event::EndBatch,
            13 => Event::Skip { index },
            14 => Event::Unskip { index },
            15 => Event::Retry { index },
            16 => Event::Undo { index },
            17 => Event::PauseAfter(PauseAfter::Task),
            18 => Event::AwaitApproval { phase: "x".into() },
            19 => Event::Approve,
            _ => Event::Complete,
        }
    })
}

/// A state as a file may have it: counters at their bounds, and a result and a batch
/// that may be about no task of the plan.
fn any_state() -> impl Strategy<Value = State> {
    let count = || proptest::sample::select(vec![0, 1, 2, state::MAX_COUNT]);
    let counts = [count(), count(), count(), count(), count()];
    (counts, 0_usize..6, 0_usize..6, any::<bool>(), any::<bool>()).prop_map(
        |([iteration, cap, most, attempts, aside], at, id, recovery, named)| {
            let mut result = serde_json::json!({
                "status": "failed", "error": "e", "attempts": attempts, "setAside": aside
            });
            if named {
                result["id"] = format!("1.{id}").into();
            }
            let state = serde_json::json!({
                "phase": "execution", "globalIteration": iteration, "maxGlobalIterations": cap,
                "maxTaskIterations": most, "recoveryMode": recovery,
                "taskResults": {at.to_string(): result},
                "parallelGroup": {
                    "startIndex": at, "endIndex": id, "taskIndices": [at, id], "isParallel": true
                },
            });
            State::parse(state.to_string().as_bytes()).unwrap()
        },
    )
}

proptest::proptest! {
    #[test]
    fn no_event_breaks_a_loop_and_one_about_no_task_changes_nothing(
        tasks in 0_usize..5,
        state in any_state(),
        events in proptest::collection::vec(any_event(), 1..6),
    ) {
        let text: String = (0..tasks).map(|n| format!("- [ ] 1.{n} [P] t\n")).collect();
        let (mut state, mut text) = (state, text.into_bytes());
        for event in events {
            let file = TaskFile::scan(&text);
            due(&state, &file, &Scope::all(5), &PlanRecord::default());
            joiners(&state, &file, &Scope::all(5), 5);
            batch_is_over(&state, &file);
            let is_unknown = |index: &usize| *index >= file.tasks.len();
            let is_about_no_task = match &event {
                Event::Open(indices) | Event::Join(indices) => indices.iter().any(is_unknown),
                Event::Pass { index, .. }
                | Event::Fail { index, .. }
                | Event::TakeBack { index, .. }
                | Event::SetAside { index, .. }
                | Event::Wait { index, .. }
                | Event::Tick { index } => is_unknown(index),
                _ => false,
            };
            let after = step(&state, &file, event);
            if is_about_no_task {
                prop_assert_eq!(&after, &Step { state: Some(state.clone()), effects: Vec::new() });
            }
            text = TaskEdit::apply_all(&after.edits(), &text);
            state = after.state.unwrap_or(state);
            let total = TaskFile::scan(&text).tasks.len();
            prop_assert!(state.total_tasks.is_none_or(|found| found == total));
            prop_assert!(state.task_index <= total || state.total_tasks.is_none());
        }
    }
}
