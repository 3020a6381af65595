use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::world::World;

/// A plan of so many tasks, of which the first are done.
fn plan(done: usize, total: usize) -> String {
    let task = |n: usize| {
        let mark = if n <= done { 'x' } else { ' ' };
        format!("- [{mark}] 1.{n} Task {n}\n  - **Verify**: `echo expected {n}; test -f {n}`\n")
    };
    (1..=total).map(task).collect()
}

/// The lines of `status` about tasks.
fn tasks(world: &World, args: &[&str]) -> Vec<String> {
    let call = world.specum(&[&["status"], args].concat());
    let (_, tasks) = call.exits(0).stdout.split_once("\n\n").expect("tasks are told");
    tasks.lines().map(str::to_owned).collect()
}

#[test]
fn status_lists_the_tasks_and_why_one_has_failed() {
    let world = World::started(&plan(1, 3));
    assert_eq!(tasks(&world, &[]), ["✓ 1.1 Task 1", "· 1.2 Task 2", "· 1.3 Task 3"]);
    world.finish("1.2", "TASK_COMPLETE").exits(1);
    assert_eq!(
        tasks(&world, &[]),
        [
            "✓ 1.1 Task 1",
            "✗ 1.2 Task 2  attempt 1 failed",
            "    `echo expected 2; test -f 2` ended with code 1",
            "    │ expected 2",
            "· 1.3 Task 3",
        ]
    );
    let status = world.specum(&["status", "--json"]).exits(0).json();
    let states: Vec<&Value> =
        status["tasks"].as_array().unwrap().iter().map(|task| &task["state"]).collect();
    assert_eq!(states, ["done", "failed", "open"]);
    assert_eq!(status["tasks"][1]["telling"], json!(["expected 2"]));
    assert_eq!(status["tasks"][1]["attempts"], 1);
}

#[test]
fn status_says_who_is_at_work_on_what_and_since_when() {
    let world = World::planned(plan(0, 2));
    let gate = world.path("gate");
    let agent = "echo I look at the plan; until test -f gate; do sleep 0.05; done; touch 1 2; \
                 echo TASK_COMPLETE";
    let mut run = world.command();
    run.args(["run", "--agent-command", agent, "--allow-dirty"]).stdout(Stdio::null());
    let mut run = run.spawn().expect("the binary starts");
    let at_work = loop {
        let shown = tasks(&world, &[]);
        if shown.iter().any(|line| line.contains("I look at the plan")) {
            break shown;
        }
        assert!(run.try_wait().unwrap().is_none(), "{shown:?}");
    };
    assert!(at_work[0].starts_with("▸ 1.1 Task 1  command  "), "{at_work:?}");
    assert_eq!(at_work[1], "    I look at the plan");
    let status = world.specum(&["status", "--json"]).exits(0).json();
    assert_eq!(status["tasks"][0]["state"], "at-work");
    assert_eq!(status["tasks"][0]["work"]["agent"], "command");
    fs::write(gate, "").unwrap();
    run.wait().unwrap();
    let done = tasks(&world, &[]);
    assert!(done[0].starts_with("✓ 1.1 Task 1  ") && done[1].starts_with("✓ 1.2 "), "{done:?}");
}

#[test]
fn why_a_loop_is_blocked_stands_in_status_once() {
    let world = World::planned(plan(0, 2));
    let run = ["run", "--attempts", "1", "--agent-command", "echo TASK_COMPLETE"];
    world.specum(&run).exits(6);
    let shown = world.specum(&["status"]).exits(0).stdout.clone();
    assert_eq!(shown.matches("ended with code 1").count(), 1, "{shown}");
    assert!(shown.contains("\nlast run   blocked\n"), "{shown}");
    assert!(shown.contains("attempt    1 of 1 for this task"), "{shown}");
}

#[test]
fn status_of_200_tasks_fits_on_a_screen() {
    let world = World::started(&plan(97, 200));
    world.finish("1.98", "TASK_COMPLETE").exits(1);
    let shown = world.specum(&["status"]).exits(0).stdout.clone();
    assert!(shown.lines().count() <= 24, "{shown}");
    let lines = tasks(&world, &[]);
    assert_eq!(lines[0], "✓ 97 done, the last is 1.97 Task 97  --all shows them");
    assert_eq!(lines[1], "✗ 1.98 Task 98  attempt 1 failed");
    assert_eq!(lines[4..8], [99, 100, 101, 102].map(|n| format!("· 1.{n} Task {n}")));
    assert_eq!(lines[8], "· 98 more open, the last is 1.200 Task 200  --all shows them");
    assert_eq!(lines.len(), 9);
    assert_eq!(tasks(&world, &["--all"]).len(), 202);
}

#[test]
fn list_has_a_header_and_words() {
    let world = World::with_tasks(&plan(1, 3));
    world.write("specs/other/tasks.md", "- [x] 1.1 a\n");
    let stands = |name: &str, phase: &str, more: &Value| {
        world.write(&format!("specs/{name}/tasks.md"), "- [ ] 1.1 a\n");
        let mut state = json!({"phase": phase, "totalTasks": 1});
        state.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        world.write(&format!("specs/{name}/.ralph-state.json"), state.to_string());
    };
    stands("a-paused", "execution", &json!({"awaitingApproval": true}));
    stands("b-blocked", "execution", &json!({"blocked": "1.1 failed"}));
    stands("c-design", "design", &json!({}));
    world.write("specs/d-corrupt/.ralph-state.json", "{");
    let shown = world.specum(&["list"]).exits(0).stdout.clone();
    let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
    assert_eq!(
        lines,
        [
            "  SPEC       DONE  LOOP                   PATH",
            "  a-paused   0/1   paused                 ./specs/a-paused",
            "  b-blocked  0/1   blocked                ./specs/b-blocked",
            "  c-design   0/1   design                 ./specs/c-design",
            "  d-corrupt  0/0   corrupt state          ./specs/d-corrupt",
            "  other      1/1   finished               ./specs/other",
            "* test-spec  1/3   begun, nobody at work  ./specs/test-spec",
        ]
    );
}
