use super::super::tests::World;
use super::super::{Due, Event, Raise, Start, joiners};
use super::*;
use crate::plan::{Scope, Unit};

const THREE: &str = "- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 c\n";
const GROUP: &str = "- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n- [ ] 1.3 c\n";
const PHASES: &str = "## Phase 1: base\n- [ ] 1.1 a\n- [ ] 1.2 b\n## Phase 2: rest\n- [ ] 2.1 c\n";

fn skipped(names: &[&str]) -> Due {
    Due::ChosenDone { skipped: names.iter().map(|&name| name.to_owned()).collect() }
}

fn hold(world: &World, index: usize) -> Option<Hold> {
    hold_before(&world.state, &TaskFile::scan(&world.text), index)
}

#[test]
fn a_skipped_task_is_passed_over_and_stays_open() {
    let mut world = World::new(THREE);
    world.happen(Event::Skip { index: 1 });
    world.happen(Event::Skip { index: 1 });
    world.pass(0);
    assert_eq!(world.due(), Due::Work(Unit::Sequential(2)));
    world.pass(2);
    assert_eq!(world.text(), "- [x] 1.1 a\n- [ ] 1.2 b\n- [x] 1.3 c\n");
    assert_eq!(world.due(), skipped(&["1.2"]));
    assert!(world.happen(Event::Complete).is_empty(), "an open box is never complete");
    world.happen(Event::Unskip { index: 1 });
    assert_eq!(world.due(), Due::Work(Unit::Sequential(1)));
}

#[test]
fn to_skip_what_blocks_lets_the_loop_go_on_and_to_unskip_it_gives_another_round() {
    let mut world = World::new(THREE);
    (0..5).for_each(|_| drop(world.fail(0)));
    assert!(matches!(world.due(), Due::Blocked(_)));
    world.happen(Event::Skip { index: 0 });
    assert_eq!(world.due(), Due::Work(Unit::Sequential(1)));
    world.fail(1);
    assert_eq!(world.due(), Due::Work(Unit::Sequential(1)), "what is skipped blocks nobody");
    world.happen(Event::Unskip { index: 0 });
    assert_eq!(world.due(), Due::Work(Unit::Sequential(0)));
    assert_eq!(world.state.task_results[&0].attempts, 0);
}

#[test]
fn a_batch_does_not_wait_for_a_member_that_is_skipped() {
    let mut world = World::new(GROUP);
    world.happen(Event::Open(vec![0, 1]));
    world.pass(0);
    world.happen(Event::Skip { index: 1 });
    assert_eq!(world.state.parallel_group, None);
    assert!(world.state.task_results.is_empty());
    assert_eq!(world.due(), Due::Work(Unit::Sequential(2)));
}

#[test]
fn a_retry_gives_a_failed_task_its_attempts_and_opens_a_ticked_one() {
    let mut world = World::new(THREE);
    world.pass(0);
    (0..5).for_each(|_| drop(world.fail(1)));
    assert!(matches!(world.due(), Due::Blocked(_)));
    world.happen(Event::Retry { index: 0 });
    assert_eq!(world.text(), THREE);
    assert!(matches!(world.due(), Due::Blocked(_)), "1.2 has used its attempts");
    world.happen(Event::Retry { index: 1 });
    assert_eq!(world.due(), Due::Work(Unit::Sequential(0)));
    assert_eq!(world.state.task_results[&1].attempts, 0);
    assert_eq!(world.state.task_results[&1].error.as_deref(), Some("verify failed"));
}

#[test]
fn a_retry_of_a_ticked_member_does_not_keep_its_batch_from_ending() {
    let mut world = World::new(GROUP);
    world.happen(Event::Open(vec![0, 1]));
    world.pass(0);
    world.happen(Event::Retry { index: 0 });
    world.pass(1);
    assert_eq!(world.state.parallel_group, None);
    assert_eq!(world.due(), Due::Work(Unit::Sequential(0)));
}

#[test]
fn what_was_skipped_is_worked_on_again_once_it_is_retried() {
    let mut world = World::new(THREE);
    world.happen(Event::Skip { index: 0 });
    world.happen(Event::Retry { index: 0 });
    assert_eq!(world.due(), Due::Work(Unit::Sequential(0)));
}

#[test]
fn what_is_undone_is_open_and_noted() {
    let mut world = World::new(THREE);
    world.pass(0);
    world.happen(Event::Undo { index: 0 });
    assert_eq!(world.text(), THREE);
    assert_eq!(world.told, ["- 1.1 a (attempt 1)", "- 1.1 a (undone by you)"]);
}

#[test]
fn a_pass_of_what_blocks_lets_the_loop_go_on() {
    let mut world = World::new(THREE);
    (0..5).for_each(|_| drop(world.fail(0)));
    world.pass(0);
    assert_eq!(world.due(), Due::Work(Unit::Sequential(1)));
}

#[test]
fn the_loop_waits_after_the_task_or_the_phase() {
    let mut world = World::new(PHASES);
    assert_eq!(hold(&world, 0), None);
    world.happen(Event::PauseAfter(PauseAfter::Task));
    assert_eq!(hold(&world, 1), Some(Hold::Pause));
    world.happen(Event::Pause { why: None });
    world.happen(Event::Resume(Raise::default()));
    assert_eq!(hold(&world, 1), None, "it has waited");
    world.happen(Event::PauseAfter(PauseAfter::Phase("Phase 1: base".into())));
    assert_eq!((hold(&world, 1), hold(&world, 2)), (None, Some(Hold::Pause)));
}

#[test]
fn the_phase_under_way_is_not_that_of_a_task_that_is_skipped() {
    let mut world = World::new(PHASES);
    let phase = |world: &World| phase_under_way(&world.state, &TaskFile::scan(&world.text));
    world.happen(Event::Skip { index: 0 });
    assert_eq!(phase(&world), "Phase 1: base");
    world.pass(1);
    assert_eq!(phase(&world), "Phase 2: rest");
    world.pass(2);
    assert_eq!(phase(&world), "");
}

#[test]
fn nothing_joins_a_group_behind_the_phase_after_which_the_loop_waits() {
    let mut world = World::new(
        "## One\n- [ ] 1.1 a\n## Two\n- [ ] 2.1 [P] b\n- [ ] 2.2 [P] c\n- [ ] 2.3 [P] d\n",
    );
    world.happen(Event::Skip { index: 0 });
    world.happen(Event::Open(vec![1, 2]));
    let joiners =
        |world: &World| joiners(&world.state, &TaskFile::scan(&world.text), &Scope::all(5), 5);
    assert_eq!(joiners(&world), [3]);
    world.happen(Event::PauseAfter(PauseAfter::Phase("One".into())));
    assert_eq!(joiners(&world), [0; 0]);
}

#[test]
fn each_phase_waits_for_its_approval() {
    let mut world = World::new(PHASES);
    world.happen(Event::Start(Start { approve: Some(true), ..Start::default() }));
    assert_eq!((hold(&world, 0), hold(&world, 1)), (None, None));
    let Some(Hold::Approval(phase)) = hold(&world, 2) else { panic!("it does not wait") };
    assert_eq!(phase, "Phase 2: rest");
    world.happen(Event::AwaitApproval { phase });
    world.happen(Event::Resume(Raise::default()));
    let why = "`Phase 2: rest` waits for your approval".to_owned();
    assert_eq!(world.due(), Due::Paused(Some(why)), "to go on is not to approve");
    world.happen(Event::Approve);
    assert_eq!(hold(&world, 2), None);
    assert_eq!(world.due(), Due::Work(Unit::Sequential(0)));
    world.happen(Event::Start(Start { approve: Some(true), ..Start::default() }));
    assert_eq!(hold(&world, 2), None, "an approved phase stays approved");
    world.happen(Event::Start(Start { approve: Some(false), ..Start::default() }));
    assert_eq!(world.state.approved, None);
}

#[test]
fn a_loop_may_go_on_with_a_higher_cap() {
    let mut world = World::new(THREE);
    world.happen(Event::Start(Start { max_global_iterations: Some(1), ..Start::default() }));
    world.fail(0);
    assert_eq!(world.due(), Due::Capped);
    world.happen(Event::Resume(Raise { max_global_iterations: Some(3), ..Raise::default() }));
    assert_eq!(world.due(), Due::Work(Unit::Sequential(0)));
}
