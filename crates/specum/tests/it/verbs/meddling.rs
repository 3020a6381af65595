//! Executors, and people, who do more than their task.

use std::fs;

use crate::world::{TASKS, World};

fn journal_of(world: &World, event: &str) -> serde_json::Value {
    let journal = world.read("specs/test-spec/.ralph-journal.jsonl");
    let lines = journal.lines().map(|line| serde_json::from_str(line).expect("whole lines"));
    lines
        .into_iter()
        .rfind(|record: &serde_json::Value| record["event"] == event)
        .expect("it is told")
}

#[test]
fn an_executor_that_ticks_other_boxes_has_them_opened_again() {
    let world = World::started("- [x] 1.0 z\n- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 c\n");
    world.write(TASKS, world.read(TASKS).replace("[ ]", "[x]"));
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    assert_eq!(world.read(TASKS), "- [x] 1.0 z\n- [x] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 c\n");
    assert_eq!(journal_of(&world, "passed")["unticked"], serde_json::json!(["1.2", "1.3"]));
    assert_eq!(world.read_state()["taskIndex"], 2);
}

#[test]
fn a_failed_attempt_keeps_no_tick_of_its_own_or_of_others() {
    let world = World::started("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    world.write(TASKS, world.read(TASKS).replace("[ ]", "[x]"));
    world.finish("1.1", "I could not.").exits(1);
    assert_eq!(world.read(TASKS), "- [ ] 1.1 a\n- [ ] 1.2 b\n");
}

#[test]
fn a_box_that_a_person_ticks_while_nothing_runs_stays_ticked() {
    let world = World::started("- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 c\n");
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    // `finish` has opened 1.2 already; its verdict leaves the loop with 1.3.
    world.finish("1.2", "TASK_COMPLETE").exits(0);
    world.specum(&["cancel"]).exits(0);
    world.write(TASKS, world.read(TASKS).replace("[ ]", "[x]") + "- [ ] 1.4 d\n");
    world.specum(&["implement"]).exits(0);
    world.finish("1.4", "TASK_COMPLETE").exits(0);
    assert!(!world.read(TASKS).contains("[ ]"));
}

#[test]
fn an_executor_that_rewrites_its_own_verify_line_loses_the_attempt() {
    let world = World::started("- [ ] 1.1 a\n  - **Verify**: `false`\n");
    world.write(TASKS, world.read(TASKS).replace("`false`", "`true`"));
    let call = world.finish("1.1", "TASK_COMPLETE");
    call.exits(1);
    assert!(call.stdout.contains("the task's text in tasks.md was changed during the attempt"));
    assert!(
        call.stdout.contains("`false` ended with code 1"),
        "the old command is the one that runs"
    );
}

#[test]
fn a_task_that_a_person_retitles_costs_the_attempt_and_the_new_text_counts() {
    let world = World::started("- [ ] 1.1 a\n  - **Verify**: `true`\n");
    world.write(TASKS, "- [ ] 1.1 another title\n  - **Verify**: `true`\n");
    world.finish("1.1", "TASK_COMPLETE").exits(1);
    assert_eq!(world.read_state()["taskIteration"], 2);
    world.finish("1.1", "TASK_COMPLETE").exits(0);
}

#[test]
fn head_on_another_branch_pauses_the_loop() {
    let world = World::started("- [ ] 1.1 a\n");
    world.git(&["switch", "--quiet", "-c", "elsewhere"]);
    let call = world.finish("1.1", "TASK_COMPLETE");
    call.exits(6);
    assert!(
        call.stderr.contains("HEAD is on elsewhere, the attempt began on main"),
        "{}",
        call.stderr
    );
    assert_eq!(world.read_state()["awaitingApproval"], true);
    assert!(world.read(TASKS).contains("- [ ] 1.1"));
    world.git(&["switch", "--quiet", "main"]);
    world.specum(&["resume"]).exits(0);
    world.finish("1.1", "TASK_COMPLETE").exits(0);
}

#[test]
fn a_detached_head_is_worked_on_like_any_other() {
    let world = World::with_tasks("- [ ] 1.1 a\n");
    world.git_init();
    world.git(&["switch", "--quiet", "--detach"]);
    world.specum(&["implement"]).exits(0);
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    assert!(world.git(&["log", "-1", "--format=%s"]).contains("chore(test-spec): 1.1"));
}

#[test]
fn two_tasks_with_one_id_are_refused_before_anything_is_written() {
    let world = World::with_tasks("- [ ] 1.1 a\n- [ ] 1.1 b\n");
    fs::remove_file(world.path("specs/test-spec/.ralph-state.json")).expect("just written");
    let call = world.specum(&["implement"]);
    call.exits(1);
    assert!(
        call.stderr.contains("line 2: id 1.1 is taken: line 1 has it already"),
        "{}",
        call.stderr
    );
    assert!(!world.path("specs/test-spec/.ralph-state.json").exists());
}

#[test]
fn an_executor_that_commits_itself_is_not_punished() {
    let world = World::started("- [ ] 1.1 a\n  - **Verify**: `test -f made`\n");
    world.write("made", "");
    world.git(&["add", "made"]);
    world.git(&["commit", "--quiet", "-m", "by the executor"]);
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    let last = world.git(&["show", "--name-only", "--format=%s", "HEAD"]);
    assert!(
        last.contains("chore(test-spec): 1.1")
            && last.contains("tasks.md")
            && !last.contains("made")
    );
}

#[test]
fn whoever_changes_a_spec_that_a_session_works_is_told_so() {
    let world = World::started("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    assert_eq!(world.finish("1.1", "TASK_COMPLETE").stderr, "");
    world.stop().reason();
    let told = "warning: this spec is being worked by session test-session\n";
    assert_eq!(world.finish("1.2", "no").stderr, told);
    assert_eq!(world.specum(&["cancel"]).exits(0).stderr, told);
}
