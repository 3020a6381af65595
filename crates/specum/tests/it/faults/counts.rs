use std::fs;

use serde_json::json;

use super::TASKS;
use crate::world::World;

#[test]
fn fault_13_nested_fenced_quoted_and_pasted_checkboxes_were_counted() {
    let world = World::with_tasks("");
    world.write(
        TASKS,
        "# Plan\n\n<!--\n- [ ] 9.1 in a comment\n-->\n\n## Phase 1: x\n\n\
         - [x] 1.1 First\n  - [ ] 9.2 nested\n  - **Do**: x\n    ```sh\n- [ ] 9.3 fenced\n    ```\n\
         > - [ ] 9.4 quoted\n\n- [ ] a pasted checklist\n- [x] another line of it\n\n\
         - [ ] 1.2 Second\n~~~\n- [ ] 9.5 fenced\n~~~\n",
    );
    let status = world.specum(&["status", "--json"]).json();
    let ids: Vec<&str> =
        status["tasks"].as_array().unwrap().iter().map(|t| t["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["1.1", "1.2"]);
    world.state(&json!({"phase": "execution", "taskIndex": 1, "totalTasks": 2}));
    assert!(world.stop().reason().starts_with("Continue spec: test-spec (Task 2/2"));
}

#[test]
fn fault_14_the_first_open_task_was_the_number_of_ticks() {
    let world = World::with_tasks("- [x] 1.1 a\n- [ ] 1.2 b\n- [x] 1.3 c\n- [ ] 1.4 d\n");
    world.state(&json!({"phase": "execution", "taskIndex": 2, "totalTasks": 4}));
    let reason = world.stop().reason();
    assert!(reason.contains("- [ ] 1.2 b") && !reason.contains("1.3"), "{reason}");
    world.specum(&["implement"]).exits(0);
    assert_eq!(world.read_state()["taskIndex"], 1);
    world.finish("1.2", "TASK_COMPLETE").exits(0);
    assert_eq!(world.read_state()["taskIndex"], 3, "over the gap");
}

#[test]
fn fault_15_the_prompt_carried_all_remaining_tasks_of_the_phase() {
    let tasks: String =
        (1..=60).map(|n| format!("- [ ] 1.{n} Title{n}\n  - **Do**: work{n}x\n")).collect();
    let world = World::with_tasks(&tasks);
    let reason = world.stop().reason();
    assert!(reason.contains("Title1\n") && reason.contains("work1x"), "{reason}");
    for n in 2..=60 {
        assert!(!reason.contains(&format!("work{n}x")), "{n}");
    }
}

#[test]
fn fault_16_ticking_1_1_also_ticked_1_10() {
    let tasks: String = (1..=12).map(|n| format!("- [ ] 1.{n} See 1.1\n")).collect();
    let world = World::with_tasks(&tasks);
    world.specum(&["implement"]).exits(0);
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    assert_eq!(world.read(TASKS), tasks.replacen("[ ]", "[x]", 1));
}

#[test]
fn fault_17_a_group_took_in_verify_and_ticked_tasks_and_a_lone_one_was_parallel() {
    let world = World::with_tasks(
        "- [ ] 1.1 [P] a\n- [x] 1.2 [P] b\n- [ ] 1.3 [P] c\n- [ ] V1 [P] [VERIFY] d\n- [ ] 1.4 [P] e\n",
    );
    world.git_init();
    world.specum(&["implement"]).exits(0);
    let due = world.specum(&["next", "--json"]).json();
    assert_eq!(due["due"], "parallel");
    let ids = |due: &serde_json::Value| -> Vec<String> {
        due["tasks"].as_array().unwrap().iter().map(|t| t["id"].as_str().unwrap().into()).collect()
    };
    assert_eq!(ids(&due), ["1.1", "1.3"]);
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    world.finish("1.3", "TASK_COMPLETE").exits(0);
    let due = world.specum(&["next", "--json"]).json();
    assert_eq!(
        (due["due"].as_str(), due["tasks"][0]["agent"].as_str()),
        (Some("verify"), Some("qa-engineer"))
    );
    world.finish("V1", "VERIFICATION_PASS").exits(0);
    let due = world.specum(&["next", "--json"]).json();
    assert_eq!((due["due"].as_str(), ids(&due)), (Some("task"), vec!["1.4".to_owned()]));
}

#[test]
fn fault_18_an_inserted_task_shifted_what_was_known_of_the_others() {
    let world = World::with_tasks("- [ ] 1.1 a\n  - **Verify**: `false`\n- [ ] 1.2 b\n");
    world.git_init();
    world.specum(&["implement"]).exits(0);
    world.finish("1.1", "TASK_COMPLETE").exits(1);
    world.finish("1.1", "TASK_COMPLETE").exits(1);
    world.write(TASKS, format!("# Ours\n\n- [ ] 0.9 new\n{}", world.read(TASKS)));
    let call = world.specum(&["next"]);
    assert!(call.stdout.contains("Due: task 0.9 for spec-executor, attempt 1"), "{}", call.stdout);
    world.finish("0.9", "TASK_COMPLETE").exits(0);
    world.finish("1.1", "TASK_COMPLETE").exits(1);
    let state = world.read_state();
    assert_eq!((&state["taskIndex"], &state["taskIteration"]), (&json!(1), &json!(4)));
    assert_eq!(state["taskResults"]["1"]["attempts"], 3);
    assert_eq!(state["taskResults"].as_object().unwrap().len(), 1);
}

#[test]
fn fault_18_an_inserted_task_did_not_let_a_batch_end() {
    let world = World::with_tasks("- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n- [ ] 1.3 c\n");
    world.git_init();
    world.specum(&["implement"]).exits(0);
    world.write("specs/test-spec/.progress-task-1.md", "learned something\n");
    world.write(TASKS, format!("- [x] 1.0 new\n{}", world.read(TASKS)));
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    let call = world.finish("1.2", "TASK_COMPLETE");
    call.exits(0);
    assert!(call.stdout.contains("BATCH_COMPLETE"), "{}", call.stdout);
    assert!(world.read("specs/test-spec/.progress.md").contains("learned something"));
    assert_eq!(world.read_state().get("parallelGroup"), None);
}

#[test]
fn fault_19_after_a_recovery_the_index_stood_on_the_fix_that_was_done() {
    let world = World::with_tasks("- [ ] 1.1 a\n  - **Verify**: `test -f made`\n- [ ] 1.2 b\n");
    world.git_init();
    world.in_session(&["implement", "--recovery-mode", "--max-task-iterations", "1"]).exits(0);
    world.finish("1.1", "TASK_COMPLETE").exits(1);
    assert!(world.read(TASKS).contains("- [ ] 1.1.1 [FIX 1.1] Fix: a"), "{}", world.read(TASKS));
    assert_eq!(world.read_state()["taskIndex"], 1, "the fix comes first");
    world.write("made", "");
    world.finish("1.1.1", "TASK_COMPLETE").exits(0);
    let state = world.read_state();
    assert_eq!((&state["taskIndex"], &state["totalTasks"]), (&json!(0), &json!(3)));
    assert!(world.stop().reason().contains("\n- [ ] 1.1 a\n"));
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    assert_eq!(world.read_state()["taskIndex"], 2);
}

#[test]
fn fault_20_the_settings_parser_missed_block_lists_quotes_and_line_endings() {
    let world = World::with_tasks("- [ ] 1.1 a\n");
    for text in [
        "---\r\nenabled: false\r\n---\r\n",
        "---\nenabled: 'FALSE'\n---\n",
        "---\nspecs_dirs:\n- './specs'\nenabled: \"False\"\n---\n",
        "\u{feff}---\nenabled: false # for now\n---\n",
        "---\nenabled: false",
    ] {
        world.write(".claude/ralph-specum.local.md", text);
        assert_eq!(world.stop().silent().stderr, "", "{text:?}");
    }
    world.write("plans/p/tasks.md", "- [ ] 1.1 a\n");
    for list in ["['specs', \"plans\"]", "\n  - specs\n  - './plans'", "\r\n- specs\r\n- plans\r"] {
        world.write(".claude/ralph-specum.local.md", format!("---\nspecs_dirs: {list}\n---\n"));
        let call = world.specum(&["list", "--json"]);
        let names: Vec<_> =
            call.json()["specs"].as_array().unwrap().iter().map(|s| s["spec"].clone()).collect();
        assert_eq!(names, ["test-spec", "p"], "{list:?}: {}", call.stderr);
    }
}

#[test]
fn fault_21_epics_were_listed_and_blanks_in_names_dropped() {
    let world = World::with_tasks("- [ ] 1.1 a\n");
    world.write("specs/_epics/big/tasks.md", "- [ ] 1.1 a\n");
    world.write("specs/two  words é/tasks.md", "- [ ] 1.1 a\n- [x] 1.2 b\n");
    fs::create_dir_all(world.path("specs/.hidden")).unwrap();
    let list = world.specum(&["list", "--json"]).json();
    let names: Vec<_> =
        list["specs"].as_array().unwrap().iter().map(|spec| spec["spec"].clone()).collect();
    assert_eq!(names, ["test-spec", "two  words é"]);
    world.specum(&["switch", "two  words é"]).exits(0);
    assert_eq!(world.read("specs/.current-spec"), "two  words é\n");
    let status = world.specum(&["status", "--json"]).json();
    assert_eq!((&status["spec"], &status["done"]), (&json!("two  words é"), &json!(1)));
}
