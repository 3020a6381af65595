use serde_json::{Value, json};

use super::TWO;
use crate::world::World;

const STOPS: usize = 1000;

/// The first stop of a turn, then a thousand more with this flag.
#[track_caller]
fn blocked(world: &World, active: bool, expected: usize) {
    let first = world.blocks(1, &json!({}));
    let more = world.blocks(STOPS, &json!({"stop_hook_active": active}));
    assert_eq!(first + more, expected, "stop_hook_active: {active}");
}

#[test]
fn a_turn_that_does_not_move_is_blocked_three_times() {
    blocked(&World::with_tasks(TWO), true, 3);
}

#[test]
fn turns_that_do_not_move_are_blocked_nine_times() {
    blocked(&World::with_tasks(TWO), false, 9);
}

#[test]
fn a_corrupt_state_blocks_three_times_and_then_says_why_not() {
    for active in [false, true] {
        let world = World::with_tasks(TWO);
        world.raw_state("[]");
        blocked(&world, active, 3);
        let told = world.hook("stop", &json!({"stop_hook_active": active})).tells();
        assert!(told.contains(".ralph-state.json is still corrupt"), "{told}");
        assert!(told.contains("specum implement"), "{told}");
    }
}

#[test]
fn the_cap_blocks_once() {
    for active in [false, true] {
        let world = World::with_tasks(TWO);
        world.state(&json!({"phase": "execution", "totalTasks": 2, "globalIteration": 100}));
        blocked(&world, active, 1);
    }
}

#[test]
fn quick_mode_without_a_new_phase_is_bounded() {
    for (active, expected) in [(true, 3), (false, 9)] {
        let world = World::with_tasks(TWO);
        world.state(&json!({"phase": "design", "quickMode": true}));
        blocked(&world, active, expected);
    }
}

#[test]
fn a_false_claim_repeated_is_bounded() {
    let world = World::with_tasks(TWO);
    let claim = |active: bool| json!({"last_assistant_message": "ALL_TASKS_COMPLETE", "stop_hook_active": active});
    let blocks = world.blocks(1, &claim(false)) + world.blocks(STOPS, &claim(true));
    assert_eq!(blocks, 3);
}

#[test]
fn an_index_that_is_ahead_of_the_boxes_is_bounded() {
    let world = World::with_tasks(TWO);
    world.state(&json!({"phase": "execution", "taskIndex": 2, "totalTasks": 2}));
    blocked(&world, true, 3);
}

#[test]
fn a_stall_is_named_twice_and_then_the_person_is_told_how_to_resume() {
    let world = World::with_tasks(TWO);
    assert!(!world.stop().reason().contains("Stalled"));
    for n in 1..=2 {
        let reason = world.stop_again().reason();
        assert!(reason.starts_with("Continue spec: test-spec"), "{reason}");
        assert!(reason.contains(&format!("Stalled ({n} of 2)")), "{reason}");
        assert!(reason.contains("`specum finish 1.1`"), "{reason}");
    }
    let call = world.stop_again();
    let told = call.tells();
    assert!(told.contains("nothing has moved") && told.contains("specum next"), "{told}");
    assert_eq!(call.stderr, "");
}

#[test]
fn a_new_turn_of_a_person_gets_the_loop_going_again() {
    let world = World::with_tasks(TWO);
    assert_eq!(
        world.blocks(1, &json!({})) + world.blocks(5, &json!({"stop_hook_active": true})),
        3
    );
    assert!(!world.stop().reason().contains("Stalled"));
}

/// Each of these is progress, and so resets the count.
#[test]
fn every_kind_of_progress_counts() {
    let state = |index: u64, attempt: u64, global: u64| -> Value {
        json!({"phase": "execution", "totalTasks": 2, "taskIndex": index,
            "taskIteration": attempt, "globalIteration": global})
    };
    let world = World::with_tasks(TWO);
    world.state(&state(0, 1, 1));
    world.stop().reason();
    let moves: [(&str, &dyn Fn()); 4] = [
        ("another attempt", &|| world.state(&state(0, 2, 1))),
        ("another iteration", &|| world.state(&state(0, 2, 2))),
        ("another index", &|| world.state(&state(1, 2, 2))),
        ("a ticked box", &|| {
            world.write("specs/test-spec/tasks.md", TWO.replacen("[ ]", "[x]", 1));
        }),
    ];
    for (what, moved) in moves {
        assert!(world.stop_again().reason().contains("Stalled (1"), "before {what}");
        moved();
        assert!(!world.stop_again().reason().contains("Stalled"), "{what}");
    }
}

#[test]
fn a_block_that_was_not_ours_is_left_alone_with_one_line() {
    let world = World::with_tasks(TWO);
    let call = world.stop_again();
    assert!(call.silent().stderr.starts_with("[ralph-specum] stop_hook_active=true"));
    assert_eq!(call.stderr.lines().count(), 1);
    assert_eq!(world.blocks(STOPS, &json!({"stop_hook_active": true})), 0);
    assert!(world.stop().reason().starts_with("Continue"), "our own turn comes");
}

#[test]
fn starting_again_and_asking_what_is_due_is_no_progress() {
    let world = World::with_tasks(TWO);
    world.in_session(&["implement"]).exits(0);
    world.stop().reason();
    let blocks = (0..40).map(|_| {
        world.in_session(&["implement"]).exits(0);
        world.in_session(&["next"]).exits(0);
        world.blocks(1, &json!({"stop_hook_active": true}))
    });
    assert_eq!(blocks.sum::<usize>(), 2, "as if nobody had asked");
}
