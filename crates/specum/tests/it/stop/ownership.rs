use std::io::Write;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::TWO;
use crate::world::{Call, World};

const MEMORY: &str = "specs/test-spec/.ralph-hook.json";

fn stop_of(world: &World, session: &str, active: bool) -> Call {
    world.hook("stop", &json!({"session_id": session, "stop_hook_active": active}))
}

fn state_with(owner: &Value) -> Value {
    json!({"phase": "execution", "taskIndex": 0, "totalTasks": 2, "owner": owner})
}

/// The number of a process that has ended.
fn dead_pid() -> u32 {
    let mut child = Command::new("true").spawn().expect("it is everywhere");
    child.wait().expect("our child");
    child.id()
}

#[test]
fn the_first_session_that_is_blocked_owns_the_spec_and_others_are_left_alone() {
    let world = World::with_tasks(TWO);
    assert!(stop_of(&world, "a", false).reason().starts_with("Continue"));
    for active in [false, true] {
        assert_eq!(stop_of(&world, "b", active).silent().stderr, "", "{active}");
    }
    assert!(stop_of(&world, "a", true).reason().contains("Stalled (1"), "b has changed nothing");
    let memory: Value = serde_json::from_str(&world.read(MEMORY)).unwrap();
    assert_eq!(memory["owner"]["sessionId"], "a");
    if cfg!(target_os = "linux") {
        assert_eq!(memory["owner"]["process"]["pid"], std::process::id());
    } else {
        assert_eq!(memory["owner"].get("process"), None, "it may be a shell");
    }
}

/// Lets sixteen sessions stop in one moment, and gives those that are blocked.
fn blocked_at_once(world: &World) -> Vec<String> {
    let hooks: Vec<(String, Child)> = (0..16)
        .map(|n| {
            let mut command = world.command();
            command.args(["hook", "stop"]).stdin(Stdio::piped()).stdout(Stdio::piped());
            (format!("s{n}"), command.stderr(Stdio::null()).spawn().expect("the binary starts"))
        })
        .collect();
    let mut waiting = Vec::new();
    for (session, mut hook) in hooks {
        let input = json!({"session_id": session, "cwd": world.root}).to_string();
        // All of them have started, and each goes on with its input.
        hook.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        waiting.push((session, hook));
    }
    let mut blocked = Vec::new();
    for (session, hook) in waiting {
        let said = hook.wait_with_output().unwrap().stdout;
        if String::from_utf8(said).unwrap().contains("\"decision\":\"block\"") {
            blocked.push(session);
        }
    }
    blocked
}

#[test]
fn of_sessions_that_stop_in_one_moment_one_is_blocked_and_owns_the_spec() {
    let world = World::with_tasks(TWO);
    let blocked = blocked_at_once(&world);
    let memory: Value = serde_json::from_str(&world.read(MEMORY)).unwrap();
    assert_eq!(blocked, [memory["owner"]["sessionId"].as_str().unwrap()]);
}

#[test]
fn a_session_that_was_only_silent_owns_nothing() {
    let world = World::with_tasks(TWO);
    world.state(&json!({"phase": "design"}));
    assert_eq!(stop_of(&world, "a", false).silent().stderr, "");
    assert!(!world.path(MEMORY).exists());
    world.state(&json!({"phase": "execution", "totalTasks": 2}));
    assert!(stop_of(&world, "b", false).reason().starts_with("Continue"));
}

#[test]
fn others_are_left_alone_with_a_corrupt_state_and_at_the_cap_too() {
    let world = World::with_tasks(TWO);
    stop_of(&world, "a", false).reason();
    world.raw_state("{");
    assert_eq!(stop_of(&world, "b", false).silent().stderr, "");
    world.state(&json!({"phase": "execution", "totalTasks": 2, "globalIteration": 100}));
    assert_eq!(stop_of(&world, "b", false).silent().stderr, "");
    assert!(stop_of(&world, "a", false).reason().starts_with("ERROR: Maximum"));
}

#[test]
fn an_owner_whose_process_is_gone_is_no_owner() {
    let world = World::with_tasks(TWO);
    let owner = |pid: u32| json!({"kind": "session", "sessionId": "a", "process": {"pid": pid}});
    let memory = |pid: u32| json!({"formatVersion": 1, "owner": owner(pid)}).to_string();
    world.write(MEMORY, memory(std::process::id()));
    assert_eq!(stop_of(&world, "b", false).silent().stderr, "");
    world.write(MEMORY, memory(dead_pid()));
    assert!(stop_of(&world, "b", false).reason().starts_with("Continue"));
    assert_eq!(stop_of(&world, "a", false).silent().stderr, "", "b has it now");
}

#[test]
fn a_process_with_the_owners_number_but_another_start_is_another() {
    let world = World::with_tasks(TWO);
    let process = json!({"pid": std::process::id(), "started": "1"});
    let owner = json!({"kind": "session", "sessionId": "a", "process": process});
    world.write(MEMORY, json!({"formatVersion": 1, "owner": owner}).to_string());
    assert!(stop_of(&world, "b", false).reason().starts_with("Continue"));
}

#[test]
fn a_runner_in_the_state_keeps_every_session_out_until_it_is_gone() {
    let world = World::with_tasks(TWO);
    let runner = |pid: u32| state_with(&json!({"kind": "runner", "process": {"pid": pid}}));
    world.state(&runner(std::process::id()));
    for active in [false, true] {
        assert_eq!(stop_of(&world, "a", active).silent().stderr, "");
    }
    world.state(&runner(dead_pid()));
    assert!(stop_of(&world, "a", false).reason().starts_with("Continue"));
}

#[test]
fn a_session_in_the_state_owns_the_spec_over_the_one_in_the_memory() {
    let world = World::with_tasks(TWO);
    stop_of(&world, "a", false).reason();
    world.state(&state_with(&json!({"kind": "session", "sessionId": "b"})));
    assert_eq!(stop_of(&world, "a", false).silent().stderr, "");
    assert!(stop_of(&world, "b", false).reason().starts_with("Continue"));
}

#[test]
fn a_session_that_ends_lets_go() {
    let world = World::with_tasks(TWO);
    stop_of(&world, "a", false).reason();
    let end = |session: &str| {
        world.hook("session-end", &json!({"session_id": session, "reason": "other"}))
    };
    assert_eq!(end("b").silent().stderr, "");
    assert_eq!(stop_of(&world, "b", false).silent().stderr, "", "a has not ended");
    assert_eq!(end("a").silent().stderr, "");
    assert!(stop_of(&world, "b", false).reason().starts_with("Continue"));
}

#[test]
fn a_session_that_ends_lets_go_in_the_state_too() {
    let world = World::with_tasks(TWO);
    world.state(&state_with(&json!({"kind": "session", "sessionId": "a"})));
    assert_eq!(stop_of(&world, "b", false).silent().stderr, "");
    let ended = world.hook("session-end", &json!({"session_id": "a", "reason": "other"}));
    assert_eq!(ended.silent().stderr, "");
    assert_eq!(world.read_state().get("owner"), None);
    assert!(stop_of(&world, "b", false).reason().starts_with("Continue"));
}

#[test]
fn the_session_that_a_clear_opens_takes_over_and_no_other() {
    let world = World::with_tasks(TWO);
    stop_of(&world, "a", false).reason();
    world.hook("session-end", &json!({"session_id": "a", "reason": "clear"})).silent();
    let start = |session: &str, source: &str| {
        world.hook("session-start", &json!({"session_id": session, "source": source})).stdout
    };
    assert!(start("b", "startup").contains("Held by nobody."));
    assert!(start("c", "clear").contains("Held by this session."));
    assert!(start("d", "clear").contains("Held by session c."), "what c took is not free");
    assert_eq!(stop_of(&world, "b", false).silent().stderr, "");
    assert!(stop_of(&world, "c", false).reason().starts_with("Continue"));
}

#[test]
fn a_clear_in_another_host_takes_nothing_over() {
    let world = World::with_tasks(TWO);
    let released = json!({"sessionId": "a", "process": {"pid": 1, "started": "never"}});
    world.write(MEMORY, json!({"formatVersion": 1, "released": released}).to_string());
    let start = world.hook("session-start", &json!({"session_id": "b", "source": "clear"}));
    assert!(start.stdout.contains("Held by nobody."), "{}", start.stdout);
}

#[test]
fn a_memory_of_a_newer_version_is_neither_used_nor_overwritten() {
    let world = World::with_tasks(TWO);
    let newer = "{\"formatVersion\": 2, \"owner\": null}";
    world.write(MEMORY, newer);
    assert_eq!(stop_of(&world, "a", false).silent().stderr, "");
    assert_eq!(world.read(MEMORY), newer);
    world.write(MEMORY, newer.replace('2', "1"));
    assert!(stop_of(&world, "a", false).reason().starts_with("Continue"), "it was the version");
}

#[test]
fn a_memory_that_is_nonsense_is_forgotten() {
    let world = World::with_tasks(TWO);
    for nonsense in ["", "[]", "{\"owner\": 3}", "\0\u{1}"] {
        world.write(MEMORY, nonsense);
        assert!(stop_of(&world, "a", false).reason().starts_with("Continue"), "{nonsense:?}");
    }
}

#[test]
fn the_end_of_a_session_releases_what_it_held_before_somebody_switched() {
    let world = World::with_tasks("- [ ] 1.1 a\n");
    world.stop().reason();
    world.write("specs/other/tasks.md", "- [ ] 1.1 a\n");
    world.specum(&["switch", "other"]).exits(0);
    world.hook("session-end", &json!({"reason": "other"})).silent();
    world.specum(&["switch", "test-spec"]).exits(0);
    world.hook("stop", &json!({"session_id": "next"})).reason();
}
