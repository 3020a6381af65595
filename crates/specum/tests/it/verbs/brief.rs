use serde_json::json;

use crate::world::{PROGRESS, TASKS, World};

const MIXED: &str = "- [ ] 1.1 Write a\n  - **Verify**: `echo seen; test -f a.txt`\n- [ ] 1.2 [P] b\n  - **Files**: b\n- [ ] 1.3 [P] c\n  - **Files**: c\n- [ ] 1.4 [VERIFY] all\n";

#[test]
fn next_prints_a_brief_with_block_failure_learnings_rules_and_marker() {
    let world = World::started(MIXED);
    world.finish("1.1", "TASK_COMPLETE").exits(1);
    let progress = world.read(PROGRESS);
    world.write(PROGRESS, progress.replace("## Learnings\n", "## Learnings\n\n- use make\n"));
    let call = world.specum(&["next"]);
    let text = &call.exits(0).stdout;
    let block = MIXED.split("- [ ] 1.2").next().unwrap();
    assert!(text.starts_with(&format!("\nDue: task 1.1 for spec-executor, attempt 2\n\n{block}")));
    for part in [
        "<!-- specum-attempt {\"spec\":\"test-spec\",\"task\":\"1.1\",\"attempt\":2,\"id\":\"",
        "## What failed last time",
        "~~~\nseen\n~~~",
        "## What others learned\n- use make",
        "## Rules",
        "`specum finish 1.1`",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let due = world.specum(&["next", "--json"]).json();
    let brief = due["tasks"][0]["brief"].as_str().unwrap();
    assert!(text.contains(brief.trim_end()) && brief.starts_with(block), "{brief}");
}

#[test]
fn next_in_json_names_the_kind_of_what_is_due() {
    let world = World::started(MIXED);
    let due = |code: u8| world.specum(&["next", "--json"]).exits(code).json();
    assert_eq!(due(0)["due"], "task");
    world.specum(&["pause"]).exits(0);
    assert_eq!(due(6)["due"], "paused");
    world.specum(&["resume"]).exits(0);
    world.write("a.txt", "");
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    let group = due(0);
    assert_eq!(group["due"], "parallel");
    let briefs: Vec<&str> =
        group["tasks"].as_array().unwrap().iter().map(|t| t["brief"].as_str().unwrap()).collect();
    assert!(briefs[0].starts_with("- [ ] 1.2") && briefs[1].starts_with("- [ ] 1.3"));
    assert!(briefs.iter().all(|brief| brief.contains("do not call git")), "{briefs:?}");
    world.finish("1.2", "TASK_COMPLETE").exits(0);
    world.finish("1.3", "TASK_COMPLETE").exits(0);
    assert_eq!(due(0)["due"], "verify");
    world.specum(&["implement", "--json", "--max-global-iterations", "1"]).exits(0);
    assert_eq!(due(6)["due"], "capped");
    world.specum(&["implement", "--json", "--max-task-iterations", "1"]).exits(1);
    world.person(&["implement", "--json", "--max-task-iterations", "1"]);
    due(0);
    world.specum(&["fail", "1.4", "--reason", "no"]).exits(0);
    assert_eq!(due(6)["due"], "blocked");
    world.person(&["resume"]);
    due(0);
    world.specum_with(&["finish", "1.4", "--json"], b"VERIFICATION_PASS").exits(0);
    assert_eq!(due(0)["due"], "complete");
    assert_eq!(due(0)["due"], "complete", "and again");
}

#[test]
fn fail_counts_without_a_check_and_the_next_brief_carries_the_reason() {
    let world = World::started("- [ ] 1.1 a\n  - **Verify**: `touch ran`\n");
    world.write("half.txt", "left");
    let call = world.specum(&["fail", "1.1", "--reason", "the executor\nran out of turns"]);
    let text = &call.exits(0).stdout;
    assert!(text.starts_with("1.1 failed (attempt 1):\n- the executor\nran out of turns\n"));
    assert!(text.contains("Due: task 1.1 for spec-executor, attempt 2"), "{text}");
    assert!(text.contains("## What failed last time\n- the executor"), "{text}");
    assert!(!world.path("ran").exists(), "no check ran");
    assert!(world.read(PROGRESS).contains("- 1.1 attempt 1: the executor ran out of turns\n"));
    let state = world.read_state();
    assert_eq!((&state["taskIteration"], &state["globalIteration"]), (&json!(2), &json!(2)));
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    assert!(world.git(&["show", "--name-only", "--format="]).contains("half.txt"), "kept");
}

#[test]
fn fail_reads_its_reason_from_standard_input_and_reports_in_json() {
    let world = World::started("- [ ] 1.1 a\n");
    let verdict = world.specum_with(&["fail", "1.1", "--json"], b"it broke\n").exits(0).json();
    assert_eq!(verdict["failures"], json!(["it broke"]));
    assert_eq!((&verdict["passed"], &verdict["attempt"]), (&json!(false), &json!(1)));
    world.specum(&["next"]).exits(0);
    let verdict = world.specum_with(&["fail", "1.1", "--json"], b"\xff\xfe").exits(0).json();
    assert_eq!(verdict["attempt"], 2);
    world.specum(&["next"]).exits(0);
    let verdict = world.specum(&["fail", "1.1", "--json"]).exits(0).json();
    assert_eq!(verdict["failures"], json!(["given up without a reason"]));
}

#[test]
fn fail_needs_an_open_attempt_and_uses_up_the_attempts() {
    let world = World::started("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    for (task, says) in [("1.2", "task 1.2 has no open attempt"), ("9", "no task 9")] {
        let call = world.specum(&["fail", task, "--reason", "x"]);
        assert!(call.exits(3).stderr.contains(says), "{}", call.stderr);
    }
    world.write(TASKS, "- [x] 1.1 a\n- [ ] 1.2 b\n");
    for _ in 0..5 {
        world.specum(&["fail", "1.1", "--reason", "broken"]).exits(0);
        assert!(world.read(TASKS).starts_with("- [ ] 1.1"), "an early tick is taken back");
    }
    let blocked = world.specum(&["next"]);
    assert!(blocked.exits(6).stdout.contains("Blocked: task 1.1 failed 5 times"));
}
