//! The slash commands: what a person types behind them is data, and what stands
//! in their way is said before a model is asked.

use serde_json::{Value, json};

use super::run;
use crate::host::{self, ClaudeRun};
use crate::model::{Model, Reply};
use crate::world::World;

#[test]
fn arguments_never_reach_a_shell_and_bad_ones_never_reach_the_model() {
    for program in host::claudes() {
        let hostile = [
            "demo $(touch HACKED)",
            "demo `touch HACKED`",
            "demo \"; touch HACKED; \"",
            "demo\n```\n!`touch HACKED`",
            "demo --max-task-iterations 'x; touch HACKED'",
            "dmeo",
            "demo --recovery",
            "demo 'unclosed",
        ];
        for arguments in hostile {
            let world = World::planned_as("demo", "- [ ] 1.1 a\n");
            let model = Model::start(|_| Reply::text("The model was called."));
            let outcome =
                run(&program, &world, &model, &format!("/ralph-specum:implement {arguments}"));
            assert!(!world.path("HACKED").exists(), "{arguments}");
            assert_eq!(model.requests().len(), 0, "{arguments}");
            assert!(!world.path("specs/demo/.ralph-state.json").exists(), "{arguments}");
            assert!(
                outcome.result()["result"].as_str().unwrap().contains("blocked by hook"),
                "{arguments}"
            );
        }
        let world = World::planned_as("demo", "- [ ] 1.1 a\n");
        let model = Model::start(|_| Reply::text("I see."));
        let outcome = run(&program, &world, &model, "/ralph-specum:implement dmeo");
        let said = outcome.result()["result"].as_str().unwrap().to_owned();
        assert!(said.contains("there is no spec `dmeo`; did you mean `demo`?"), "{said}");
    }
}

#[test]
fn good_arguments_arrive_whatever_they_are_written_with() {
    for program in host::claudes() {
        let world = World::empty();
        world.write("specs/my spec $(x)/tasks.md", "- [ ] 1.1 a\n");
        world.git_init();
        let model = Model::start(|_| Reply::text("I see."));
        run(&program, &world, &model, "/ralph-specum:switch 'my spec $(x)'");
        assert_eq!(world.read("specs/.current-spec"), "my spec $(x)\n");
        run(
            &program,
            &world,
            &model,
            "/ralph-specum:implement --max-task-iterations \"7\" --recovery-mode",
        );
        let state: Value =
            serde_json::from_str(&world.read("specs/my spec $(x)/.ralph-state.json")).unwrap();
        assert_eq!(
            (&state["maxTaskIterations"], &state["recoveryMode"]),
            (&json!(7), &json!(true))
        );
    }
}

#[test]
fn without_the_program_a_command_says_how_to_get_it_and_the_host_works_on() {
    for program in host::claudes() {
        let world = World::planned_as("demo", "- [ ] 1.1 a\n");
        world.specum(&["implement"]).exits(0);
        let model = Model::start(|_| Reply::text("Hello."));
        let without = |prompt: &str| {
            ClaudeRun::new(&program, &model.url(), &world.root, prompt)
                .plugin_dir(&crate::world::plugin())
                .run()
        };
        let said =
            without("/ralph-specum:implement").result()["result"].as_str().unwrap().to_owned();
        assert!(
            said.contains(
                "The program specum is not installed. Install it with: cargo install specum"
            ),
            "{said}"
        );
        assert_eq!(model.requests().len(), 0);
        let outcome = without("Hello?");
        assert_eq!(outcome.result()["result"], "Hello.");
        let stops = outcome.hook_responses("Stop");
        assert!(!stops.is_empty(), "the hook was asked");
        assert!(stops.iter().all(|hook| hook.outcome == "success" && hook.stdout.is_empty()));
    }
}

#[test]
fn a_command_that_fails_says_why_to_the_model() {
    for program in host::claudes() {
        let world = World::planned_as("demo", "- [ ] 1.1 a\n");
        world.specum(&["implement"]).exits(0);
        let model = Model::start(|_| Reply::text("There is no such task."));
        let outcome = run(&program, &world, &model, "/ralph-specum:tick 9.9");
        assert_eq!(outcome.result()["result"], "There is no such task.");
        let requests = model.requests();
        assert!(requests[0].mentions("error: there is no task 9.9"), "{}", requests[0].news());
        assert!(
            requests[0].mentions("Nothing was done. Tell the person what this says, and stop.")
        );
        assert!(world.read("specs/demo/tasks.md").contains("- [ ] 1.1"));
    }
}
