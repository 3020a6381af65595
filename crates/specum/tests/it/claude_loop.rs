//! The loop in the real Claude Code: the plugin's Stop hook keeps one prompt
//! going until the work is done, and lets go when it is not.

use std::path::Path;

use serde_json::{Value, json};

use crate::host::{self, ClaudeRun, Outcome};
use crate::model::{Model, Reply, Request};
use crate::world::{World, plugin};

/// A repository with `count` tasks, started.
pub(crate) fn started(count: usize) -> World {
    let tasks: String = (1..=count)
        .map(|n| format!("- [ ] 1.{n} Task {n}\n  - **Verify**: `test -f done-1.{n}`\n"))
        .collect();
    let world = World::empty();
    world.write("specs/demo/tasks.md", format!("## Phase 1: All\n\n{tasks}"));
    world.git_init();
    world.specum(&["switch", "demo"]).exits(0);
    world.specum(&["implement"]).exits(0);
    // As if another program had begun it: there the Stop hook drives whoever
    // comes by.
    let journal = "specs/demo/.ralph-journal.jsonl";
    let records = world.read(journal);
    let others = records.lines().filter(|line| !line.contains("\"event\":\"started\""));
    world.write(journal, others.map(|line| format!("{line}\n")).collect::<String>());
    let state = "specs/demo/.ralph-state.json";
    let mut fields: Value = serde_json::from_str(&world.read(state)).unwrap();
    fields.as_object_mut().unwrap().remove("plan");
    world.write(state, serde_json::to_string_pretty(&fields).unwrap());
    world
}

/// Claude Code with the plugin in a project. A second Stop hook beside ours
/// writes down what the host tells them.
fn claude(program: &Path, world: &World, model: &Model, prompt: &str) -> Outcome {
    let recorder = world.root.with_file_name("recorder.json");
    let hook =
        json!({"type": "command", "command": "cat >> ../stops.jsonl; echo >> ../stops.jsonl"});
    let settings = json!({"hooks": {"Stop": [{"hooks": [hook]}]}});
    std::fs::write(&recorder, settings.to_string()).unwrap();
    ClaudeRun::new(program, &model.url(), &world.root, prompt)
        .with_specum()
        .args(["--settings", recorder.to_str().unwrap()])
        .run()
}

/// What the host told its Stop hooks.
fn stops(world: &World) -> Vec<Value> {
    let text =
        std::fs::read_to_string(world.root.with_file_name("stops.jsonl")).unwrap_or_default();
    text.lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn open_boxes(world: &World) -> usize {
    world.read("specs/demo/tasks.md").matches("- [ ]").count()
}

fn blocks(outcome: &Outcome) -> usize {
    outcome.hook_responses("Stop").iter().filter(|hook| hook.stdout.contains("\"block\"")).count()
}

/// The task that the last prompt names, if it names one.
fn due(request: &Request) -> Option<String> {
    let text = request.last_user_text();
    let (_, behind) = text.rsplit_once("`specum finish ")?;
    behind.split('`').next().map(str::to_owned)
}

/// A model that does the one task it is told of, and stops.
fn one_task_a_turn(request: &Request) -> Reply {
    if !request.tool_results().is_empty() {
        return Reply::text("One task done, so I stop here.");
    }
    match due(request) {
        Some(id) => Reply::tool(
            "Bash",
            json!({
                "command": format!("touch done-{id} && printf 'Made the file.\\n\\nTASK_COMPLETE\\n' | specum finish {id}")
            }),
        ),
        None => Reply::text("ALL_TASKS_COMPLETE"),
    }
}

const PROMPT: &str = "Work the spec. Hand the result of the first task to `specum finish 1.1`.";

fn finishes(count: usize) {
    for program in host::claudes() {
        let world = started(count);
        let model = Model::start(one_task_a_turn);

        let outcome = claude(&program, &world, &model, PROMPT);

        assert_eq!(open_boxes(&world), 0);
        assert_eq!(outcome.result()["is_error"], false);
        assert!(!world.path("specs/demo/.ralph-state.json").exists(), "the loop has ended");
        let subjects = world.git(&["log", "--reverse", "--format=%(trailers:key=Task,valueonly)"]);
        let tasks: Vec<&str> = subjects.split_whitespace().collect();
        let expected: Vec<String> = (1..=count).map(|n| format!("1.{n}")).collect();
        assert_eq!(tasks, expected, "one commit for each task, in order");
        assert_eq!(world.git(&["status", "--porcelain"]), "");

        // All in one prompt: the flag is set on every stop but the first, which is
        // where the shell ancestor of this hook gives up.
        let stops = stops(&world);
        assert_eq!(blocks(&outcome), count - 1);
        assert_eq!(stops.len(), count);
        assert_eq!(stops[0]["stop_hook_active"], false);
        assert!(stops[1..].iter().all(|stop| stop["stop_hook_active"] == true));
    }
}

#[test]
fn ten_of_ten_tasks_are_done_in_one_prompt() {
    finishes(10);
}

#[test]
fn sixty_of_sixty_tasks_are_done_in_one_prompt() {
    finishes(60);
}

#[test]
fn a_model_that_only_ticks_boxes_has_ticked_none_and_is_let_go() {
    for program in host::claudes() {
        let world = started(4);
        world.specum(&["cancel"]).exits(0);
        let model = Model::start(|request| {
            if !request.tool_results().is_empty() {
                return Reply::text("ALL_TASKS_COMPLETE");
            }
            let command = "sed -i 's/^- \\[ \\]/- [x]/' specs/demo/tasks.md";
            Reply::tool("Bash", json!({"command": command}))
        });

        let outcome = claude(&program, &world, &model, "/ralph-specum:implement");

        assert!(outcome.status().success(), "it is let go");
        let requests = model.requests();
        let sent_back = "Not finished: boxes of tasks.md are open. The plan demo goes on: 0 of 4";
        let ticks = "boxes 1.1, 1.2, 1.3, 1.4 were ticked without a verdict and count as open";
        for said in [sent_back, ticks] {
            assert!(requests.iter().any(|request| request.mentions(said)), "{said}");
        }
        let shown = outcome.hook_responses("Stop");
        let shown = shown.iter().find(|hook| hook.stdout.contains(sent_back)).unwrap();
        let shown: Value = serde_json::from_str(shown.stdout).unwrap();
        assert!(shown["systemMessage"].as_str().unwrap().contains(ticks), "{shown}");
        let story = world.specum(&["log"]).exits(0).stdout.clone();
        let again = "boxes 1.1, 1.2, 1.3, 1.4 were ticked without a verdict and are open again";
        assert!(story.contains(again), "{story}");
        assert_eq!(open_boxes(&world), 4, "nothing was done");
        assert!(world.path("specs/demo/.ralph-state.json").exists());
    }
}

#[test]
fn a_model_that_does_nothing_is_let_go_and_the_state_is_whole() {
    for program in host::claudes() {
        let world = started(3);
        let before = world.read("specs/demo/.ralph-state.json");
        let model = Model::start(|_| Reply::text("I would rather not."));

        let outcome = claude(&program, &world, &model, PROMPT);

        assert_eq!(blocks(&outcome), 3, "one continuation and two that name the stall");
        let hooks = outcome.hook_responses("Stop");
        let last = hooks.iter().rfind(|hook| hook.stdout.contains("systemMessage")).unwrap();
        assert!(last.stdout.contains("nothing has moved"), "{}", last.stdout);
        assert_eq!(world.read("specs/demo/.ralph-state.json"), before);
        assert_eq!(open_boxes(&world), 3);
    }
}

#[test]
fn a_false_claim_is_sent_back_and_a_quotation_is_none() {
    for program in host::claudes() {
        let world = started(2);
        let model = Model::start(|request| match request.assistant_turns() {
            0 => Reply::text("ALL_TASKS_COMPLETE"),
            1 => Reply::text(
                "I am to say:\n```\nALL_TASKS_COMPLETE\n```\nwhen done, and ALL_TASKS_COMPLETE is not due yet.",
            ),
            _ => one_task_a_turn(request),
        });

        let outcome = claude(&program, &world, &model, "Work the spec.");

        assert_eq!(open_boxes(&world), 0, "it went on to the end");
        let reasons: Vec<String> = model.requests().iter().map(Request::last_user_text).collect();
        assert!(
            reasons[1].contains("Not finished: tasks.md still has open boxes: 1.1, 1.2."),
            "{}",
            reasons[1]
        );
        assert!(reasons[2].contains("Stalled (1 of 2)"), "{}", reasons[2]);
        assert_eq!(outcome.result()["is_error"], false);
    }
}

#[test]
fn a_second_session_in_the_folder_is_left_alone() {
    for program in host::claudes() {
        let world = started(3);
        // The first session is blocked and so owns the spec; its host lives on as
        // long as this test does.
        world.hook("stop", &json!({"session_id": "first"})).reason();
        let model = Model::start(|_| Reply::text("Hello, I am here for something else."));

        let outcome = claude(&program, &world, &model, "What is the time?");

        assert_eq!(blocks(&outcome), 0);
        assert_eq!(outcome.result()["result"], "Hello, I am here for something else.");
        world.hook("stop", &json!({"session_id": "first", "stop_hook_active": true})).reason();
    }
}

#[test]
fn corrupt_state_gets_the_recovery_text_three_times() {
    for program in host::claudes() {
        let world = started(2);
        world.write("specs/demo/.ralph-state.json", "{\"phase\":");
        let model = Model::start(|_| Reply::text("Hm."));

        let outcome = claude(&program, &world, &model, "Work the spec.");

        assert_eq!(blocks(&outcome), 3);
        assert!(
            model.requests()[1]
                .last_user_text()
                .contains("ERROR: Corrupt state file at ./specs/demo/.ralph-state.json")
        );
        assert_eq!(
            world.read("specs/demo/.ralph-state.json"),
            "{\"phase\":",
            "never reset by itself"
        );
    }
}

#[test]
fn the_iteration_cap_is_reported_once() {
    for program in host::claudes() {
        let world = started(2);
        let state = world.read("specs/demo/.ralph-state.json");
        world.write(
            "specs/demo/.ralph-state.json",
            state.replace("\"globalIteration\": 1", "\"globalIteration\": 100"),
        );
        let model = Model::start(|_| Reply::text("Hm."));

        let outcome = claude(&program, &world, &model, "Work the spec.");

        assert_eq!(blocks(&outcome), 1);
        assert!(
            model.requests()[1]
                .last_user_text()
                .contains("ERROR: Maximum global iterations (100) reached.")
        );
    }
}

#[test]
fn the_model_is_told_of_the_active_spec_when_a_session_starts() {
    for program in host::claudes() {
        let world = started(2);
        world.specum(&["pause"]).exits(0);
        let model = Model::start(|_| Reply::text("I see."));

        claude(&program, &world, &model, "Where do we stand?");

        let request = &model.requests()[0];
        assert!(
            request.mentions("specum: the active spec is demo (./specs/demo), 0 of 2 tasks done.")
        );
        assert!(request.mentions("Paused: `specum resume` lets it go on."));
    }
}

#[test]
fn the_plugin_and_its_marketplace_are_valid_in_the_hosts_eyes() {
    for program in host::claudes() {
        let home = tempfile::tempdir().unwrap();
        let repository = crate::world::repository();
        for directory in [plugin(), repository] {
            let output = std::process::Command::new(&*program)
                .args(["plugin", "validate", "--strict"])
                .arg(&directory)
                .env_clear()
                .env("HOME", home.path())
                .env("PATH", std::env::var_os("PATH").unwrap())
                .output()
                .unwrap();
            let said =
                String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{said}");
        }
    }
}
