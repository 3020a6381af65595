//! The Stop hook: what it answers, case by case.

/// `ALL_TASKS_COMPLETE`: who may say it, where, and when it is believed.
mod claim;
/// However often a session stops, it is blocked a handful of times.
mod endless;
/// Claude Code, Codex and Gemini CLI say the same thing in different words.
mod hosts;
/// Which session the loop belongs to.
mod ownership;

use serde_json::json;

use crate::world::World;

const TWO: &str = "- [ ] 1.1 First\n- [ ] 1.2 Second\n";

#[test]
fn tasks_remain_so_the_agent_is_sent_back() {
    let world = World::with_tasks(TWO);
    let call = world.stop();
    let reason = call.reason();
    assert!(reason.starts_with("Continue spec: test-spec (Task 1/2, Iter 1)\n"), "{reason}");
    assert_eq!(call.system_message(), "Ralph-specum iteration 1 | Task 1/2");
    assert_eq!(
        call.stderr,
        "[ralph-specum] Session stopped during spec: test-spec | Task: 1/2 | Attempt: 1\n"
    );
}

#[test]
fn the_continuation_has_its_four_sections_and_names_what_others_look_for() {
    let reason = World::with_tasks(TWO).stop().reason();
    let headings: Vec<&str> = reason.lines().filter(|line| line.starts_with("## ")).collect();
    assert_eq!(headings, ["## State", "## Current Task", "## Resume", "## Critical"]);
    for name in [".ralph-state.json", "tasks.md", "spec-executor", "ALL_TASKS_COMPLETE"] {
        assert!(reason.contains(name), "{name}: {reason}");
    }
    assert!(!reason.contains("PARALLEL"), "{reason}");
}

#[test]
fn the_continuation_is_under_two_kilobytes_beside_the_task() {
    let reason = World::with_tasks(TWO).stop().reason();
    assert!(reason.len() < 2048 + "- [ ] 1.1 First\n".len(), "{} bytes", reason.len());
    let block = format!("- [ ] 1.1 Long\n  - **Do**: {}\n", "x".repeat(50_000));
    let reason = World::with_tasks(&block).stop().reason();
    assert!(reason.contains(block.trim_end()), "the block is whole");
    assert!(reason.len() < 2048 + block.len(), "{} bytes", reason.len());
}

#[test]
fn midway_the_first_open_task_is_due() {
    let world = World::with_tasks("- [x] 1.1 a\n- [x] 1.2 b\n- [ ] 1.3 c\n- [ ] 1.4 d\n");
    world.state(&json!({"phase": "execution", "taskIndex": 2, "totalTasks": 4, "taskIteration": 3,
        "globalIteration": 9}));
    let call = world.stop();
    let reason = call.reason();
    assert!(reason.starts_with("Continue spec: test-spec (Task 3/4, Iter 9)\n"), "{reason}");
    assert!(reason.contains("- [ ] 1.3 c") && !reason.contains("1.4"), "{reason}");
    assert!(reason.contains("Index: 2 | Attempt: 3/5"), "{reason}");
    assert_eq!(call.system_message(), "Ralph-specum iteration 9 | Task 3/4");
    assert!(call.stderr.ends_with("| Task: 3/4 | Attempt: 3\n"), "{}", call.stderr);
}

#[test]
fn one_task_left_is_enough_to_go_on() {
    let world = World::with_tasks("- [x] 1.1 a\n- [ ] 1.2 b\n");
    world.state(&json!({"phase": "execution", "taskIndex": 1, "totalTasks": 2}));
    assert!(world.stop().reason().starts_with("Continue spec: test-spec (Task 2/2, Iter 1)\n"));
}

#[test]
fn the_answer_is_one_json_object_on_one_line() {
    let call = World::with_tasks("- [ ] 1.1 Quote \"a\" \\ tab\t and `code` <b> é\n").stop();
    assert!(call.reason().contains("Quote \"a\" \\ tab\t and `code` <b> é"));
    assert_eq!(call.stdout.lines().count(), 1);
    assert!(call.stdout.starts_with('{') && call.stdout.ends_with("}\n"));
}

#[test]
fn without_a_state_there_is_no_loop() {
    let world = World::with_tasks(TWO);
    assert!(world.stop().stdout.contains("block"));
    std::fs::remove_file(world.path("specs/test-spec/.ralph-state.json")).unwrap();
    assert_eq!(world.stop().silent().stderr, "");
}

#[test]
fn without_an_active_spec_or_its_folder_there_is_no_loop() {
    let world = World::with_tasks(TWO);
    world.write("specs/.current-spec", "gone\n");
    assert_eq!(world.stop().silent().stderr, "");
    std::fs::remove_file(world.path("specs/.current-spec")).unwrap();
    assert_eq!(world.stop().silent().stderr, "");
    world.write("specs/.current-spec", "test-spec\n");
    assert!(world.stop().reason().starts_with("Continue"));
}

#[test]
fn only_the_execution_phase_goes_on() {
    let world = World::with_tasks(TWO);
    for phase in ["research", "requirements", "design", "tasks", "done", ""] {
        world.state(&json!({"phase": phase, "taskIndex": 0, "totalTasks": 2}));
        assert_eq!(world.stop().silent().stderr, "", "{phase}");
    }
    world.state(&json!({"taskIndex": 0, "totalTasks": 2}));
    assert_eq!(world.stop().silent().stderr, "", "no phase is not execution");
    world.state(&json!({"phase": "execution", "taskIndex": 0, "totalTasks": 2}));
    assert!(world.stop().reason().starts_with("Continue"));
}

#[test]
fn an_index_at_the_total_ends_the_loop_when_the_boxes_agree() {
    let world = World::with_tasks("- [x] 1.1 a\n- [x] 1.2 b\n");
    for index in [2, 7] {
        world.state(&json!({"phase": "execution", "taskIndex": index, "totalTasks": 2}));
        assert_eq!(world.stop().silent().stderr, "");
    }
    world.state(&json!({"phase": "execution", "taskIndex": 1, "totalTasks": 2}));
    assert!(world.stop().reason().contains("the state has not caught up"), "it was the index");
}

#[test]
fn an_index_at_the_total_with_open_boxes_is_contradicted_and_they_are_named() {
    let world = World::with_tasks("- [x] 1.1 a\n- [ ] 1.2 b\n");
    world.state(&json!({"phase": "execution", "taskIndex": 2, "totalTasks": 2}));
    let reason = world.stop().reason();
    assert!(reason.starts_with("Continue spec: test-spec (Task 2/2, Iter 1)\n"), "{reason}");
    assert!(reason.contains("still has open boxes: 1.2."), "{reason}");
}

#[test]
fn a_missing_task_file_lets_the_index_decide() {
    let world = World::with_tasks(TWO);
    std::fs::remove_file(world.path("specs/test-spec/tasks.md")).unwrap();
    let reason = world.stop().reason();
    assert!(reason.contains("tasks.md is missing"), "{reason}");
    world.state(&json!({"phase": "execution", "taskIndex": 2, "totalTasks": 2}));
    assert_eq!(world.stop().silent().stderr, "");
}

#[test]
fn settings_turn_the_hook_off_and_on() {
    let world = World::with_tasks(TWO);
    for off in ["false", "FALSE", "\"false\"", "'False'"] {
        world.write(".claude/ralph-specum.local.md", format!("---\nenabled: {off}\n---\n"));
        assert_eq!(world.stop().silent().stderr, "", "{off}");
    }
    for on in ["true", "\"true\"", "TRUE"] {
        world.write(".claude/ralph-specum.local.md", format!("---\nenabled: {on}\n---\n"));
        let call = world.stop();
        assert!(call.reason().starts_with("Continue spec: test-spec"), "{on}");
    }
}

#[test]
fn a_state_of_the_ralph_loop_is_left_to_it() {
    let world = World::with_tasks(TWO);
    let mut state = json!({"phase": "execution", "taskIndex": 0, "totalTasks": 2});
    state["driver"] = json!("ralph-loop");
    world.state(&state);
    assert_eq!(world.stop().silent().stderr, "");
    state["driver"] = json!("hook");
    world.state(&state);
    assert!(world.stop().reason().starts_with("Continue"));
}

#[test]
fn a_corrupt_state_gives_the_recovery_text_whatever_the_flag() {
    for active in [false, true] {
        let world = World::with_tasks(TWO);
        world.raw_state("{not json");
        let call = world.hook("stop", &json!({"stop_hook_active": active}));
        let reason = call.reason();
        let path = "./specs/test-spec/.ralph-state.json";
        assert!(reason.starts_with(&format!("ERROR: Corrupt state file at {path}\n")), "{reason}");
        assert!(
            reason.ends_with(
                "Recovery options:\n\
                 1. Reset state: /ralph-specum:implement (reinitializes from tasks.md)\n\
                 2. Cancel spec: /ralph-specum:cancel\n"
            ),
            "{reason}"
        );
        assert!(!reason.contains("Continue spec"), "{reason}");
        assert_eq!(call.system_message(), "Ralph-specum: corrupt state file");
        assert_eq!(call.stderr, "");
    }
}

#[test]
fn a_corrupt_state_is_never_reset_by_the_hook_and_implement_rebuilds_it_from_the_boxes() {
    let world = World::with_tasks("- [x] 1.1 a\n- [ ] 1.2 b\n");
    world.raw_state("{not json");
    world.stop().reason();
    assert_eq!(world.read("specs/test-spec/.ralph-state.json"), "{not json");
    world.in_session(&["implement"]).exits(0);
    let state = world.read_state();
    assert_eq!((&state["taskIndex"], &state["totalTasks"]), (&json!(1), &json!(2)));
    assert!(world.stop().reason().starts_with("Continue spec: test-spec (Task 2/2"));
}

#[test]
fn a_state_that_was_mended_after_our_block_goes_on_in_the_same_turn() {
    let world = World::with_tasks(TWO);
    world.raw_state("{not json");
    assert!(world.stop().reason().starts_with("ERROR: Corrupt"));
    world.in_session(&["implement"]).exits(0);
    assert!(world.stop_again().reason().starts_with("Continue spec: test-spec (Task 1/2"));
}

#[test]
fn a_cap_that_was_raised_after_our_block_goes_on_in_the_same_turn() {
    let world = World::with_tasks(TWO);
    world.state(&capped());
    assert!(world.stop().reason().starts_with("ERROR: Maximum"));
    world.person(&["implement"]);
    world.in_session(&["next"]).exits(0);
    assert!(world.stop_again().reason().starts_with("Continue spec: test-spec (Task 1/2"));
}

fn capped() -> serde_json::Value {
    json!({"phase": "execution", "taskIndex": 0, "totalTasks": 2, "taskIteration": 2,
        "globalIteration": 7, "maxGlobalIterations": 7})
}

#[test]
fn the_iteration_cap_gives_its_recovery_text_once_whatever_the_flag() {
    for active in [false, true] {
        let world = World::with_tasks(TWO);
        world.state(&capped());
        let fields = json!({"stop_hook_active": active});
        let call = world.hook("stop", &fields);
        assert_eq!(
            call.reason(),
            "ERROR: Maximum global iterations (7) reached.\n\n\
             This safety limit prevents infinite execution loops.\n\n\
             Recovery options:\n\
             1. Review .progress.md for failure patterns\n\
             2. Fix issues manually, then run: /ralph-specum:implement\n\
             3. Cancel and restart: /ralph-specum:cancel\n"
        );
        assert_eq!(call.system_message(), "Ralph-specum: max iterations (7) reached");
        let lines: Vec<&str> = call.stderr.lines().collect();
        assert_eq!(
            lines[0],
            "[ralph-specum] Session stopped during spec: test-spec | Task: 1/2 | Attempt: 2"
        );
        let second = "[ralph-specum] ERROR: Maximum global iterations (7) reached";
        assert!(lines[1].starts_with(second) && lines.len() == 2, "{}", call.stderr);
        assert_eq!(world.hook("stop", &fields).silent().stderr, "");
    }
}

#[test]
fn below_the_cap_the_loop_goes_on_and_a_missing_cap_is_a_hundred() {
    let world = World::with_tasks(TWO);
    let mut state = capped();
    state["globalIteration"] = json!(6);
    world.state(&state);
    assert!(world.stop().reason().starts_with("Continue"));
    world.state(&json!({"phase": "execution", "totalTasks": 2, "globalIteration": 99}));
    assert!(world.stop().reason().starts_with("Continue"));
    world.state(&json!({"phase": "execution", "totalTasks": 2, "globalIteration": 100}));
    assert!(world.stop().reason().contains("iterations (100) reached"));
}

#[test]
fn the_cap_says_nothing_outside_execution_or_when_everything_is_done() {
    let world = World::with_tasks(TWO);
    let mut state = capped();
    state["phase"] = json!("design");
    world.state(&state);
    assert_eq!(world.stop().silent().stderr, "");
    world.state(&capped());
    assert!(world.stop().reason().starts_with("ERROR: Maximum"), "it was the phase");
    let world = World::with_tasks("- [x] 1.1 a\n- [x] 1.2 b\n");
    let mut state = capped();
    state["taskIndex"] = json!(2);
    world.state(&state);
    assert_eq!(world.stop().silent().stderr, "");
    world.state(&capped());
    let reason = world.stop().reason();
    assert!(reason.contains("the state has not caught up"), "the index is behind: {reason}");
}

#[test]
fn a_loop_that_waits_for_a_person_lets_the_session_stop_and_says_so_in_the_log() {
    let world = World::with_tasks(TWO);
    world.state(&json!({"phase": "execution", "totalTasks": 2, "awaitingApproval": true}));
    let call = world.stop();
    assert!(call.silent().stderr.starts_with("[ralph-specum] awaitingApproval=true"));
    assert_eq!(call.stderr.lines().count(), 1);
}

#[test]
fn quick_mode_goes_on_with_the_planning_phases() {
    let world = World::with_tasks(TWO);
    world.state(&json!({"phase": "design", "quickMode": true, "awaitingApproval": true}));
    let call = world.stop();
    assert!(call.reason().starts_with("Continue spec: test-spec (phase design, quick mode)\n"));
    assert_eq!(call.stderr, "");
    world.state(&json!({"phase": "tasks", "quickMode": true}));
    assert!(world.stop_again().reason().contains("phase tasks"), "the phase moved");
    world.state(&json!({"phase": "execution", "quickMode": true, "totalTasks": 2}));
    assert!(world.stop_again().reason().contains("(Task 1/2"), "execution is as ever");
}

#[test]
fn running_sub_agents_wake_the_host_themselves_but_a_background_shell_does_not() {
    let world = World::with_tasks(TWO);
    let tasks =
        |kind: &str, status: &str| json!({"background_tasks": [{"type": kind, "status": status}]});
    assert_eq!(world.hook("stop", &tasks("subagent", "running")).silent().stderr, "");
    for fields in [tasks("shell", "running"), tasks("subagent", "completed")] {
        assert!(world.hook("stop", &fields).reason().starts_with("Continue"), "{fields}");
    }
}

#[test]
fn a_lone_parallel_task_is_not_called_parallel() {
    let reason = World::with_tasks("- [ ] 1.1 [P] a\n- [ ] 1.2 b\n").stop().reason();
    assert!(reason.contains("\n## Current Task\n"), "{reason}");
    assert!(!reason.contains("PARALLEL") && !reason.contains("1.2"), "{reason}");
}

#[test]
fn a_verify_task_ends_a_parallel_group_and_goes_to_the_qa_engineer() {
    let text = "- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n- [ ] V1 [VERIFY] c\n- [ ] 1.3 [P] d\n";
    let world = World::with_tasks(text);
    let reason = world.stop().reason();
    assert!(reason.contains("\n## Current Task Group (PARALLEL)\n"), "{reason}");
    assert!(reason.contains("1.1 [P] a") && reason.contains("1.2 [P] b"), "{reason}");
    assert!(!reason.contains("V1") && !reason.contains("1.3"), "{reason}");
    world.write(
        "specs/test-spec/tasks.md",
        text.replace("[ ] 1.1", "[x] 1.1").replace("[ ] 1.2", "[x] 1.2"),
    );
    let reason = world.stop_again().reason();
    assert!(reason.contains("qa-engineer") && reason.contains("VERIFICATION_PASS"), "{reason}");
    assert!(!reason.contains("PARALLEL") && !reason.contains("1.3"), "{reason}");
}

#[test]
fn the_hook_finds_the_project_from_a_subdirectory() {
    let world = World::with_tasks(TWO);
    world.write("src/deep/er/x.rs", "");
    let call = world.hook("stop", &json!({"cwd": world.path("src/deep/er")}));
    assert!(call.reason().starts_with("Continue spec: test-spec"));
    world.write("vendor/.git/HEAD", "");
    let call = world.hook("stop", &json!({"cwd": world.path("vendor")}));
    assert_eq!(call.silent().stderr, "", "another repository is another project");
}

#[test]
fn a_stop_changes_nothing_but_the_hooks_own_memory() {
    let world = World::with_tasks(TWO);
    let before = world.snapshot();
    world.stop().reason();
    let mut after = world.snapshot();
    after.retain(|(path, _)| !path.ends_with(".ralph-hook.json"));
    assert_eq!(after.len(), before.len());
    assert_eq!(after, before);
    assert!(world.path("specs/test-spec/.ralph-hook.json").is_file());
}

#[test]
fn a_name_with_blanks_and_a_specs_directory_of_its_own_are_found() {
    let world = World::empty();
    world.write(".claude/ralph-specum.local.md", "---\nspecs_dirs:\n  - \"my plans\"\n---\n");
    world.write("my plans/.current-spec", "two words\n");
    world.write("my plans/two words/tasks.md", TWO);
    world.write("my plans/two words/.ralph-state.json", r#"{"phase":"execution","totalTasks":2}"#);
    let reason = world.stop().reason();
    assert!(reason.starts_with("Continue spec: two words (Task 1/2"), "{reason}");
    assert!(reason.contains("Path: ./my plans/two words |"), "{reason}");
}
