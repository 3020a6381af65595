//! The loop inside one turn of the coordinator, in every host that is supported.

use serde_json::json;

use super::{bash, coordinate, execute, journal, run, task_of, tasks_in};
use crate::host;
use crate::model::{Gate, Model, Reply};
use crate::world::World;

#[test]
fn ten_tasks_take_about_eleven_requests_of_the_coordinator() {
    for program in host::claudes() {
        let tasks = (1..=10)
            .map(|n| format!("- [ ] 1.{n} Task {n}\n  - **Verify**: `test -f done-1.{n}`\n"));
        let world = World::planned_as("demo", tasks.collect::<String>());
        let model = Model::start(|request| {
            if request.is_subagent() { execute(request) } else { coordinate(request) }
        });

        let outcome = run(&program, &world, &model, "/ralph-specum:implement");

        assert_eq!(outcome.result()["result"], "ALL_TASKS_COMPLETE");
        let requests = model.requests();
        let coordinator = requests.iter().filter(|request| !request.is_subagent()).count();
        assert_eq!(coordinator, 11, "one for each result, and one to begin with");
        assert_eq!(outcome.hook_responses("Stop").len(), 1, "the turn ends once");
        assert!(!world.read("specs/demo/tasks.md").contains("- [ ]"));
        assert!(!world.path("specs/demo/.ralph-state.json").exists(), "the loop has ended");
        assert_eq!(
            world
                .git(&["log", "--format=%(trailers:key=Task,valueonly)"])
                .split_whitespace()
                .count(),
            10
        );
    }
}

#[test]
fn a_coordinator_that_enters_a_worktree_goes_on_with_the_loop() {
    for program in host::claudes() {
        let world = World::planned_as("demo", "- [ ] 1.1 a\n- [ ] 1.2 b\n");
        let root = world.root.clone();
        let model = Model::start(move |request| {
            if request.is_subagent() {
                let touch = format!("cd {} && touch done", root.display());
                return match request.assistant_turns() {
                    0 => Reply::tool("Bash", json!({"command": touch})),
                    _ => Reply::text("Made it.\n\nTASK_COMPLETE"),
                };
            }
            match request.assistant_turns() {
                0 => Reply::tool("EnterWorktree", json!({"name": "elsewhere"})),
                1 => Reply::tool(
                    "Agent",
                    json!({"description": "x", "prompt": "task 1.1", "subagent_type": "ralph-specum:spec-executor"}),
                ),
                _ => coordinate(request),
            }
        });

        let outcome = run(&program, &world, &model, "/ralph-specum:implement");

        assert_eq!(outcome.result()["result"], "ALL_TASKS_COMPLETE");
        let journal = journal(&world);
        assert_eq!(tasks_in(&journal, "failed"), Vec::<String>::new());
        assert_eq!(tasks_in(&journal, "passed"), ["1.1", "1.2"]);
        assert!(world.path(".claude/worktrees/elsewhere").exists(), "it was there");
        let committed = world.git(&["log", "main", "--format=", "--name-only"]);
        assert!(committed.contains("done\n") && !committed.contains("worktrees"), "{committed}");
    }
}

#[test]
fn executors_of_a_group_that_tick_their_own_boxes_are_judged_and_committed() {
    for program in host::claudes() {
        let group: String = (1..=3)
            .map(|n| format!("- [ ] 1.{n} [P] Task {n}\n  - **Files**: done-1.{n}\n  - **Verify**: `test -f done-1.{n}`\n"))
            .collect();
        let world = World::planned_as("demo", &group);
        let together = Gate::new(3);
        let model = Model::start(move |request| {
            let id = task_of(request);
            match (request.is_subagent(), request.assistant_turns()) {
                (false, _) => coordinate(request),
                (true, 0) => {
                    together.arrive();
                    let tick =
                        format!("sed -i 's/^- \\[ \\] {id} /- [x] {id} /' specs/demo/tasks.md");
                    bash(&format!("touch done-{id} && {tick}")).after(&together)
                }
                (true, _) => Reply::text("Made it, and ticked it.\n\nTASK_COMPLETE"),
            }
        });

        let outcome = run(&program, &world, &model, "/ralph-specum:implement");

        assert_eq!(outcome.result()["result"], "ALL_TASKS_COMPLETE");
        let journal = journal(&world);
        let mut passed = tasks_in(&journal, "passed");
        passed.sort();
        assert_eq!(passed, ["1.1", "1.2", "1.3"]);
        for n in 1..=3 {
            let task = format!("Task: 1.{n}$");
            let files = world.git(&["log", "--grep", &task, "--format=", "--name-only"]);
            assert!(files.starts_with(&format!("done-1.{n}\n")), "{files}");
            assert_eq!(files.matches("done-").count(), 1, "{files}");
        }
        assert_eq!(world.git(&["rev-list", "--count", "HEAD"]), "4\n");
        assert_eq!(world.git(&["status", "--porcelain"]), "");
        assert!(!world.path("specs/demo/.ralph-state.json").exists());
    }
}
