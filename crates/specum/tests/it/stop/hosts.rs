use serde_json::json;

use super::TWO;
use crate::world::{World, call};

fn done() -> World {
    let world = World::with_tasks("- [x] 1.1 a\n");
    world.state(&json!({"phase": "execution", "taskIndex": 0, "totalTasks": 1}));
    world
}

#[test]
fn gemini_says_after_agent_and_prompt_response() {
    let input = |world: &World, response: &str, active: bool| {
        json!({"session_id": "g", "transcript_path": world.path("none.json"), "cwd": world.root,
            "hook_event_name": "AfterAgent", "timestamp": "2026-01-01T00:00:00Z", "prompt": "ALL_TASKS_COMPLETE",
            "prompt_response": response, "stop_hook_active": active})
    };
    let world = World::with_tasks(TWO);
    let reason = world.hook("stop", &input(&world, "working", false)).reason();
    assert!(reason.starts_with("test-spec: 0 of 2 · now 1.1"), "{reason}");
    // It sends everything that was said in the turn.
    let reason = world.hook("stop", &input(&world, "working\nworking", true)).reason();
    assert!(reason.contains("Nothing has moved since your last stop (1 of 2)"), "{reason}");
    let world = done();
    let call = world.hook("stop", &input(&world, "ALL_TASKS_COMPLETE", false));
    assert!(call.silent().stderr.contains("detected"));
}

#[test]
fn codex_sends_its_turn_and_its_own_kind_of_transcript() {
    let world = done();
    let line = |text: &str| {
        json!({"type": "response_item", "payload": {"type": "message", "role": "assistant",
            "content": [{"type": "output_text", "text": text}]}})
        .to_string()
    };
    world.write("rollout.jsonl", line("ALL_TASKS_COMPLETE"));
    let input = |message: Option<&str>| {
        json!({"session_id": "c", "turn_id": "7", "cwd": world.root, "hook_event_name": "Stop",
            "model": "m", "permission_mode": "default", "stop_hook_active": false,
            "transcript_path": world.path("rollout.jsonl"), "last_assistant_message": message})
    };
    let reason = world.hook("stop", &input(Some("working"))).reason();
    assert!(reason.contains(" · run `specum next`"), "{reason}");
    assert!(world.hook("stop", &input(None)).silent().stderr.contains("detected"));
}

#[test]
fn a_host_that_sends_no_session_is_still_bounded() {
    let world = World::with_tasks(TWO);
    let blocks = world.blocks(30, &json!({"session_id": null, "stop_hook_active": null}));
    assert_eq!(blocks, 9);
}

#[test]
fn a_host_that_starts_the_hook_through_a_shell_is_served_the_same() {
    let world = World::with_tasks(TWO);
    let mut shell = std::process::Command::new("sh");
    let template = world.command();
    shell.arg("-c").arg("\"$0\" hook stop; exit $?").arg(template.get_program());
    shell.env_clear().current_dir(&world.root);
    shell.envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let input = json!({"session_id": "s", "cwd": world.root, "stop_hook_active": false});
    let answer = call(shell, input.to_string().as_bytes());
    assert!(answer.reason().starts_with("Continue spec: test-spec"));
}

#[test]
fn a_session_that_starts_is_told_where_the_spec_stands() {
    let world = World::with_tasks("- [x] 1.1 First\n- [ ] 1.2 Second\n");
    let call = world.hook("session-start", &json!({"source": "startup"}));
    assert_eq!(
        call.stdout,
        "specum: the active spec is test-spec (./specs/test-spec), 1 of 2 tasks done.\n\
         Due: 1.2 Second (attempt 1). Held by nobody.\n\
         Go on with /ralph-specum:implement, or `specum next`.\n"
    );
    assert_eq!((call.code, call.stderr.as_str()), (Some(0), ""));
    world.raw_state("{");
    let call = world.hook("session-start", &json!({"source": "startup"}));
    assert!(call.stdout.contains("is corrupt"), "{}", call.stdout);
}

#[test]
fn an_unknown_event_is_no_block_for_any_host() {
    let world = World::with_tasks(TWO);
    let call = world.hook("stopp", &json!({}));
    assert_eq!((call.code, call.stdout.as_str()), (Some(1), ""), "2 would mean: do not stop");
    assert!(call.stderr.contains("stopp") && call.stderr.contains("session-start"));
}
