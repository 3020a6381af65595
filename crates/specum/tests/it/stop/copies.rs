//! Two copies of the plugin, told of every stop by the same host.

use serde_json::json;

use crate::world::{Call, World};

/// A stop of an agent that does nothing: the host says the same every time, and
/// the transcript is longer every time.
fn stop(world: &World, number: usize) -> Call {
    world.write("t.jsonl", "{\"type\":\"user\"}\n".repeat(number));
    again(world)
}

/// The same stop, told to the other copy.
fn again(world: &World) -> Call {
    let transcript = world.path("t.jsonl");
    world.hook("stop", &json!({
        "stop_hook_active": true, "transcript_path": transcript, "last_assistant_message": "No.",
    }))
}

fn stalled() -> World {
    let world = World::with_tasks("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    world.stop().reason();
    world
}

#[test]
fn both_copies_give_the_same_answer_and_the_stop_counts_once() {
    let world = stalled();
    for number in 1..=2 {
        let first = stop(&world, number).reason();
        assert!(first.contains(&format!("Stalled ({number} of 2)")), "{first}");
        assert_eq!(again(&world).reason(), first);
    }
    let given_up = stop(&world, 3).tells();
    assert_eq!(again(&world).tells(), given_up);
}

#[test]
fn a_stop_that_only_looks_the_same_counts() {
    let world = stalled();
    let blocked = |call: Call| call.stdout.contains("\"block\"");
    assert_eq!((1..=5).filter(|&n| blocked(stop(&world, n))).count(), 2);

    let world = stalled();
    stop(&world, 1).reason();
    let blocks = (0..20).take_while(|_| blocked(again(&world))).count();
    assert!(blocks < 6, "a transcript that stands still: {blocks}");
}

#[test]
fn a_host_without_a_transcript_has_every_stop_counted() {
    let world = stalled();
    assert_eq!(world.blocks(5, &json!({"stop_hook_active": true, "transcript_path": "/none"})), 2);
}
