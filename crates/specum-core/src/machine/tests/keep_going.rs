//! A loop that goes on with what does not need a blocked task.

use super::*;

const PLAN: &str = "- [ ] 1.1 a\n  - **Files**: a.rs\n- [ ] 1.2 b\n  - **Files**: a.rs\n\
                    - [ ] 1.3 c\n  - **Files**: c.rs\n- [ ] 1.4 d (depends on 1.2)\n";

fn keeps_going(text: &str) -> World {
    let mut world = World::new(text);
    let start = Start { max_task_iterations: Some(1), keep_going: Some(true), ..Start::default() };
    world.happen(Event::Start(start));
    world
}

#[test]
fn what_does_not_need_a_blocked_task_is_worked_and_then_the_loop_is_blocked() {
    let mut world = keeps_going(PLAN);
    assert_eq!(world.fail(0), [], "the loop goes on");
    assert_eq!(world.due(), Due::Work(Unit::Sequential(2)), "1.2 changes a file of 1.1");
    assert_eq!(world.pass(2), [Signal::TaskComplete, Signal::Blocked]);
    let why = "task 1.1 failed once (`--recovery-mode` would add a fix task): verify failed; 1.2, 1.4 need it \
               and were not begun";
    assert_eq!(world.due(), Due::Blocked(why.into()));
    assert_eq!(world.state.to_object()["blocked"], why);
    let blockers = world.told.iter().filter(|note| note.contains("1.1 failed once"));
    assert_eq!(blockers.count(), 1, "it is noted once: {:?}", world.told);
}

#[test]
fn a_person_who_resumes_gives_every_blocked_task_another_round() {
    let mut world = keeps_going("- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 c\n");
    world.fail(0);
    world.fail(1);
    assert_eq!(world.due(), Due::Work(Unit::Sequential(2)));
    // Also while something else is due.
    world.happen(Event::Resume(Raise::default()));
    assert_eq!(world.due(), Due::Work(Unit::Sequential(0)));
    world.fail(0);
    world.fail(1);
    assert_eq!(world.fail(2), [Signal::Blocked]);
    let Due::Blocked(why) = world.due() else { panic!("{:?}", world.due()) };
    assert!(["1.1", "1.2", "1.3"].iter().all(|id| why.contains(&format!("task {id} failed"))));
    world.happen(Event::Resume(Raise::default()));
    assert_eq!((world.due(), world.state.task_iteration), (Due::Work(Unit::Sequential(0)), 1));
}

#[test]
fn starting_again_does_not_lift_a_block_but_a_block_of_before_is_worked_around() {
    let mut world = keeps_going("- [ ] 1.1 a\n");
    world.fail(0);
    world.happen(Event::Start(Start::default()));
    assert!(matches!(world.due(), Due::Blocked(_)), "nothing else is left");
    let mut world = World::new(THREE);
    world.state.max_task_iterations = 1;
    assert_eq!(world.fail(0), [Signal::Blocked]);
    world.happen(Event::Start(Start { keep_going: Some(true), ..Start::default() }));
    assert_eq!(world.due(), Due::Work(Unit::Sequential(1)));
    world.pass(1);
    world.pass(2);
    assert!(matches!(world.due(), Due::Blocked(why) if why.starts_with("task 1.1 failed")));
}

#[test]
fn a_loop_that_is_no_longer_to_keep_going_is_blocked_by_what_is_blocked() {
    let mut world = keeps_going("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    world.fail(0);
    assert_eq!(world.due(), Due::Work(Unit::Sequential(1)));
    let stops = Start { keep_going: Some(false), ..Start::default() };
    assert_eq!(world.happen(Event::Start(stops)), [Signal::Blocked]);
    let why = "task 1.1 failed once (`--recovery-mode` would add a fix task): verify failed";
    assert_eq!(world.due(), Due::Blocked(why.into()));
    world.happen(Event::Skip { index: 0 });
    assert_eq!(world.due(), Due::Work(Unit::Sequential(1)));
}

#[test]
fn a_group_goes_on_without_its_blocked_member_and_those_that_need_it() {
    let text = "- [ ] 1.1 [P] a\n  - **Files**: a.rs\n- [ ] 1.2 [P] b\n- [ ] 1.3 [P] c\n  - \
                **Files**: a.rs\n- [ ] 1.4 [P] d\n- [ ] 1.5 [P] e\n";
    let mut world = keeps_going(text);
    world.happen(Event::Open(vec![0, 1]));
    world.fail(0);
    world.pass(1);
    assert_eq!(world.due(), Due::Work(Unit::Parallel(vec![3, 4])));
    world.happen(Event::Open(vec![3, 4]));
    let joiners = joiners(&world.state, &TaskFile::scan(&world.text), &Scope::all(5), 5);
    assert_eq!(joiners, [0; 0], "1.3 needs a file of 1.1");
    world.pass(3);
    world.pass(4);
    assert!(
        matches!(world.due(), Due::Blocked(why) if why.ends_with("1.3 needs it and was not begun"))
    );
}

#[test]
fn a_run_of_chosen_tasks_says_blocked_only_of_its_own() {
    let mut world = keeps_going(PLAN);
    world.fail(0);
    let of = |only: &str| {
        let scope = Scope { only: vec![only.into()], ..Scope::all(5) };
        due(&world.state, &TaskFile::scan(&world.text), &scope, &PlanRecord::default())
    };
    assert_eq!(of("1.3"), Due::Work(Unit::Sequential(2)));
    assert!(matches!(of("1.2"), Due::Blocked(_)));
    world.pass(2);
    assert!(world.state.blocked().is_some());
}

#[test]
fn the_state_of_such_a_loop_can_be_read_again() {
    let mut world = keeps_going(PLAN);
    world.fail(0);
    let read = State::parse(&world.state.render()).unwrap();
    assert!(read.keep_going && read.task_results[&0].blocked);
    assert_eq!(
        due(&read, &TaskFile::scan(&world.text), &Scope::all(5), &PlanRecord::default()),
        world.due()
    );
}

#[test]
fn what_is_not_skipped_any_more_is_due_and_is_blocked_when_it_has_used_its_attempts() {
    let mut world = keeps_going("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    world.fail(0);
    assert_eq!(world.happen(Event::Skip { index: 1 }), [Signal::Blocked]);
    world.happen(Event::Unskip { index: 1 });
    assert_eq!(world.due(), Due::Work(Unit::Sequential(1)));
    assert_eq!(world.fail(1), [Signal::Blocked]);
    let Due::Blocked(why) = world.due() else { panic!("{:?}", world.due()) };
    assert!(["1.1", "1.2"].iter().all(|id| why.contains(&format!("task {id} failed"))), "{why}");
}
