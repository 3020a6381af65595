//! Faults of earlier loops of this kind, one test each, by number: what went
//! wrong there must not come back here.

/// 13 to 21: wrong counts, wrong task.
mod counts;
mod session;

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::world::{STATE, TASKS, World, call, fifo, lives, until};

const TWO: &str = "- [ ] 1.1 First\n- [ ] 1.2 Second\n";

fn tick(world: &World, id: &str) {
    let text = world.read(TASKS).replace(&format!("- [ ] {id} "), &format!("- [x] {id} "));
    world.write(TASKS, text);
}

#[test]
fn fault_01_the_loop_ended_after_two_tasks_because_stop_hook_active_stays_true() {
    let tasks: String = (1..=12).map(|n| format!("- [ ] 1.{n} t\n")).collect();
    let world = World::with_tasks(&tasks);
    world.stop().reason();
    for n in 1..=11 {
        tick(&world, &format!("1.{n}"));
        let reason = world.stop_again().reason();
        let next = n + 1;
        assert!(reason.starts_with(&format!("Continue spec: test-spec (Task {next}/12")), "{n}");
        assert!(!reason.contains("Stalled"), "{n}");
    }
    tick(&world, "1.12");
    world.state(&json!({"phase": "execution", "taskIndex": 12, "totalTasks": 12}));
    world.stop_again().silent();
}

#[test]
fn fault_02_a_search_of_the_transcript_found_the_hooks_own_prompt() {
    let world = World::with_tasks(TWO);
    let prompt = world.stop().reason();
    assert!(prompt.contains("ALL_TASKS_COMPLETE"));
    // Every box is ticked, so that a claim would be believed.
    world.write(TASKS, TWO.replace("[ ]", "[x]"));
    let said = |role: &str, text: &str| {
        json!({"type": role, "message": {"role": role, "content": text}}).to_string() + "\n"
    };
    let command = "Say so when done:\nALL_TASKS_COMPLETE\n";
    let text = said("user", command) + &said("assistant", "working") + &said("user", &prompt);
    world.write("t.jsonl", text);
    let call = world.hook("stop", &json!({"transcript_path": world.path("t.jsonl")}));
    assert!(call.reason().starts_with("Continue"));
    let quoted = format!("The hook says:\n```\n{prompt}\nALL_TASKS_COMPLETE\n```\nso I go on");
    let call = world.hook("stop", &json!({"last_assistant_message": quoted}));
    assert!(call.reason().starts_with("Continue"));
}

#[test]
fn fault_03_the_promise_was_missed_because_the_transcript_was_not_flushed() {
    let world = World::with_tasks("- [x] 1.1 a\n");
    world.state(&json!({"phase": "execution", "taskIndex": 0, "totalTasks": 1}));
    world.write("t.jsonl", "{\"type\":\"user\"}\n{\"type\":\"assist");
    let fields = json!({"transcript_path": world.path("t.jsonl"),
        "last_assistant_message": "<promise>ALL_TASKS_COMPLETE</promise>"});
    assert!(world.hook("stop", &fields).silent().stderr.contains("detected"));
}

#[test]
fn fault_04_complete_was_believed_with_tasks_left_and_ticks_without_work() {
    let world = World::with_tasks("- [ ] 1.1 a\n  - **Verify**: `test -f made`\n- [ ] 1.2 b\n");
    let call = world.hook("stop", &json!({"last_assistant_message": "ALL_TASKS_COMPLETE"}));
    assert!(call.reason().contains("still has open boxes: 1.1, 1.2"));
    world.specum(&["implement"]).exits(0);
    tick(&world, "1.1");
    let call = world.finish("1.1", "TASK_COMPLETE");
    call.exits(1);
    assert!(world.read(TASKS).starts_with("- [ ] 1.1 a"), "the early tick is taken back");
    let call = world.finish("1.1", "I did it");
    call.exits(1);
    assert_eq!(world.read_state()["taskIndex"], 0);
    world.write("made", "");
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    assert!(world.read(TASKS).starts_with("- [x] 1.1 a"));
}

#[test]
fn fault_05_completion_on_the_last_allowed_iteration_counted_as_a_failure() {
    let world = World::with_tasks("- [ ] 1.1 a\n  - **Verify**: `true`\n");
    world.git_init();
    world.specum(&["implement", "--max-global-iterations", "2"]).exits(0);
    let call = world.finish("1.1", "TASK_COMPLETE");
    call.exits(0);
    assert!(call.stdout.ends_with("ALL_TASKS_COMPLETE\n"), "{}", call.stdout);
    assert!(!world.path(STATE).exists());
    // The same seen by the hook: the cap is reached, and everything is done.
    let world = World::with_tasks("- [x] 1.1 a\n");
    world.state(&json!({"phase": "execution", "taskIndex": 1, "totalTasks": 1,
        "globalIteration": 2, "maxGlobalIterations": 2}));
    assert_eq!(world.stop().silent().stderr, "");
}

#[test]
fn fault_06_the_same_event_three_times_was_a_stall_though_tasks_were_done() {
    let world = World::with_tasks("- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 c\n- [ ] 1.4 d\n");
    world.in_session(&["implement"]).exits(0);
    world.stop().reason();
    for id in ["1.1", "1.2", "1.3"] {
        world.finish(id, "TASK_COMPLETE").exits(0);
        assert!(!world.stop_again().reason().contains("Stalled"), "{id}");
    }
    assert!(world.stop_again().reason().contains("Stalled (1"), "and now nothing was done");
}

#[test]
fn fault_07_an_empty_state_a_broken_index_a_path_or_a_subdirectory_stopped_in_silence() {
    let world = World::with_tasks(TWO);
    world.raw_state("");
    assert!(world.stop().reason().starts_with("ERROR: Corrupt"));
    world.raw_state(r#"{"phase":"execution","taskIndex":"one","totalTasks":2}"#);
    assert!(world.stop().reason().starts_with("ERROR: Corrupt"));
    let world = World::with_tasks(TWO);
    world.write("specs/.current-spec", world.path("specs/test-spec").display().to_string());
    fs::create_dir_all(world.path("src")).unwrap();
    let call = world.hook("stop", &json!({"cwd": world.path("src")}));
    assert!(call.reason().starts_with("Continue spec: test-spec"));
}

#[test]
fn fault_08_any_session_in_the_folder_was_caught_by_the_loop_of_another() {
    let world = World::with_tasks(TWO);
    world.hook("stop", &json!({"session_id": "owner"})).reason();
    for active in [true, false] {
        let fields = json!({"session_id": "bystander", "stop_hook_active": active});
        assert_eq!(world.blocks(5, &fields), 0);
    }
}

#[test]
fn fault_09_a_corrupt_state_or_an_index_ahead_of_the_boxes_blocked_without_limit() {
    let corrupt = World::with_tasks(TWO);
    corrupt.raw_state("{");
    let ahead = World::with_tasks(TWO);
    ahead.state(&json!({"phase": "execution", "taskIndex": 2, "totalTasks": 2}));
    for (world, most) in [(corrupt, 3), (ahead, 9)] {
        assert_eq!(world.blocks(50, &json!({})), most);
    }
}

#[test]
fn fault_10_retries_did_not_count_and_starting_again_reset_the_counters() {
    let world = World::with_tasks("- [ ] 1.1 a\n  - **Verify**: `false`\n");
    world.git_init();
    world.specum(&["implement", "--max-global-iterations", "4"]).exits(0);
    for _ in 0..2 {
        world.finish("1.1", "TASK_COMPLETE").exits(1);
    }
    let count = |name: &str| world.read_state()[name].clone();
    assert_eq!((count("taskIteration"), count("globalIteration")), (json!(3), json!(3)));
    world.specum(&["implement"]).exits(0);
    assert_eq!((count("taskIteration"), count("globalIteration")), (json!(3), json!(3)));
    let world = World::with_tasks("- [ ] 1.1 a\n  - **Verify**: `false`\n");
    world.in_session(&["implement", "--max-global-iterations", "2"]).exits(0);
    world.finish("1.1", "TASK_COMPLETE").exits(1);
    let call = world.finish("1.1", "TASK_COMPLETE");
    assert!(call.stdout.contains("All attempts are used."), "{}", call.stdout);
    world.specum(&["next"]).exits(6);
    assert!(world.stop().reason().contains("Maximum global iterations (2) reached"));
}

#[test]
fn fault_11_a_switch_that_says_off_was_never_read() {
    let world = World::with_tasks(TWO);
    world.specum(&["pause"]).exits(0);
    world.stop().silent();
    world.specum(&["resume"]).exits(0);
    assert!(world.stop().reason().starts_with("Continue"));
    world.write(".claude/ralph-specum.local.md", "---\nenabled: false\n---\n");
    world.stop().silent();
}

#[test]
fn fault_12_what_hangs_was_waited_for_without_end() {
    let check = "sleep infinity & echo $! > ../inside; \
                 setsid sh -c 'echo $$ > ../outside; : > ../gate; exec sleep infinity' & cat ../gate";
    let world = World::with_tasks(&format!("- [ ] 1.1 a\n  - **Verify**: `{check}`\n"));
    fifo(&world.path("../gate"));
    world.specum(&["implement"]).exits(0);
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    assert!(world.read(TASKS).starts_with("- [x] 1.1"));
    until("what it left has ended", || !lives(&world.read("../inside")));
    // A session of its own is beyond the reach of a check.
    let outside = world.read("../outside").trim().parse().ok().and_then(Pid::from_raw).unwrap();
    kill_process(outside, Signal::KILL).unwrap();
}

#[test]
fn fault_27_a_torn_last_line_of_the_log_lost_the_event() {
    let world = World::with_tasks(TWO);
    let journal = "specs/test-spec/.ralph-journal.jsonl";
    world.specum(&["implement"]).exits(0);
    let whole = world.read(journal);
    world.write(journal, format!("{whole}{{\"v\":1,\"at\":\"2026"));
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    let after = world.read(journal);
    let events: Vec<String> = after
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .map(|record| record["event"].as_str().unwrap().to_owned())
        .collect();
    for event in ["started", "opened", "passed"] {
        assert!(events.iter().any(|name| name == event), "{event}: {after}");
    }
    assert_eq!(events.len() + 1, after.lines().count(), "only the torn line is unreadable");
}

#[test]
fn fault_27_the_state_was_written_in_place() {
    use std::io::Read;
    let world = World::with_tasks(TWO);
    let before = world.read(STATE);
    let mut held = fs::File::open(world.path(STATE)).unwrap();
    world.specum(&["pause"]).exits(0);
    let mut seen = String::new();
    held.read_to_string(&mut seen).unwrap();
    assert_eq!(seen, before, "whoever has it open sees the old file whole");
    assert_eq!(world.read_state()["awaitingApproval"], true);
}

#[test]
fn fault_37_an_unknown_key_or_text_before_the_json_voided_the_answer() {
    let world = World::with_tasks(TWO);
    // `reason` asserts the keys; the rest is about the bytes around them.
    let calls = [world.stop(), world.stop_again(), world.stop_again(), world.stop_again()];
    let told = &calls[3];
    assert_eq!(told.json().as_object().unwrap().keys().collect::<Vec<_>>(), ["systemMessage"]);
    for call in &calls {
        assert!(call.stdout.starts_with('{') && call.stdout.ends_with("}\n"), "{}", call.stdout);
        assert_eq!(call.stdout.lines().count(), 1);
        assert!(!call.stdout.contains("hookSpecificOutput"));
    }
    calls[..3].iter().for_each(|call| assert!(!call.reason().is_empty()));
    // Nor does the log get between: it goes to standard error, even if RUST_LOG
    // and friends ask for more.
    let mut command = world.command();
    command.args(["hook", "stop"]).env("RUST_LOG", "trace").env("RUST_BACKTRACE", "full");
    let input = json!({"session_id": "test-session", "cwd": world.root, "stop_hook_active": false});
    assert!(call(command, input.to_string().as_bytes()).reason().starts_with("Continue"));
}

#[test]
fn fault_39_a_misspelt_key_was_silently_ignored() {
    let world = World::with_tasks(TWO);
    world.write(
        ".claude/ralph-specum.local.md",
        "---\nenabled: true\nspec_dirs: [x]\nwhatever: 1\n---\n",
    );
    let call = world.specum(&["status"]);
    call.exits(1);
    assert!(
        call.stderr.contains("local.md:3: unknown key `spec_dirs`; did you mean `specs_dirs`?")
    );
    assert!(call.stderr.contains("local.md:4: unknown key `whatever`; the keys are"));
    assert!(world.stop().reason().starts_with("Continue"), "a hook takes what it can");
}
