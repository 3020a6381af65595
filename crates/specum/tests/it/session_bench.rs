//! What a session of the real Claude Code comes to, with a scripted model.
//!
//! `cargo bench --bench session`. First 300 tasks in one prompt with a model
//! that does one task in a turn and then stops, so that the Stop hook has to
//! send it back each time; then 60 tasks with a coordinator that delegates, and
//! the bytes of coordination that it is given.

use std::path::Path;
use std::time::Instant;

use serde_json::json;

use crate::host::ClaudeRun;
use crate::model::{Model, Reply, Request};
use crate::world::{SPECUM, World};

#[allow(dead_code, unused_imports, reason = "the tests use the rest of it")]
mod host;
#[allow(dead_code, unused_imports, reason = "the tests use the rest of it")]
mod model;
#[allow(dead_code, reason = "the tests use the rest of it")]
mod world;

const TASKS: usize = 300;
const DELEGATED: usize = 60;

fn main() {
    let Some(program) = host::claude() else { return };
    stopping(&program);
    delegating(&program);
}

/// A model that stops after each task.
fn stopping(program: &Path) {
    let tasks: String =
        (1..=TASKS).map(|n| format!("- [ ] 1.{n} Task {n}\n  - **Verify**: `true`\n")).collect();
    let world = World::empty();
    world.write("specs/demo/tasks.md", tasks);
    world.git_init();
    world.specum(&["switch", "demo"]).exits(0);
    world.specum(&["implement"]).exits(0);
    let model = Model::start(one_task_a_turn);
    let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("marketplace/plugins/ralph-specum");

    let started = Instant::now();
    let outcome = ClaudeRun::new(program, &model.url(), &world.root, "Begin: `specum finish 1.1`.")
        .plugin_dir(&plugin)
        .path(Path::new(SPECUM).parent().expect("a binary has a directory"))
        .run();
    let seconds = started.elapsed().as_secs_f64();

    let done = world.read("specs/demo/tasks.md").matches("- [x]").count();
    let stops = outcome.hook_responses("Stop").len();
    let requests = model.requests();
    let continuations: Vec<usize> = requests
        .iter()
        .filter(|request| request.tool_results().is_empty())
        .map(|request| request.last_user_text().len())
        .collect();
    println!("{:38} {done} of {TASKS}", "tasks done in one prompt");
    println!("{:38} {stops}", "stops");
    println!("{:38} {}", "requests to the model", requests.len());
    println!("{:38} {}", "longest continuation, bytes", continuations.iter().max().unwrap_or(&0));
    println!("{:38} {:.2}", "seconds for each task", seconds / TASKS as f64);
    assert_eq!(done, TASKS, "the loop ended too early");
}

/// A coordinator that calls an executor for each task.
fn delegating(program: &Path) {
    let tasks: String = (1..=DELEGATED)
        .map(|n| format!("- [ ] 1.{n} Task {n}\n  - **Verify**: `true`\n"))
        .collect();
    let world = World::empty();
    world.write("specs/demo/tasks.md", tasks);
    world.write("specs/.current-spec", "demo");
    world.git_init();
    let model = Model::start(|request| {
        if request.is_subagent() { Reply::text("TASK_COMPLETE") } else { coordinate(request) }
    });
    let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("marketplace/plugins/ralph-specum");
    ClaudeRun::new(program, &model.url(), &world.root, "/ralph-specum:implement")
        .plugin_dir(&plugin)
        .path(Path::new(SPECUM).parent().expect("a binary has a directory"))
        .run();
    let done = world.read("specs/demo/tasks.md").matches("- [x]").count();
    let requests = model.requests();
    let main: Vec<&Request> = requests.iter().filter(|request| !request.is_subagent()).collect();
    let bytes: usize = main.iter().map(|request| told(request).len()).sum();
    println!();
    println!("{:38} {done} of {DELEGATED}", "tasks done by a coordinator");
    println!("{:38} {}", "requests of the coordinator", main.len());
    println!("{:38} {}", "coordinator prompt, bytes", told(main[0]).len());
    println!("{:38} {bytes}", "coordination in all, bytes");
    assert_eq!(done, DELEGATED, "the loop ended too early");
}

/// What the coordinator has just been told.
fn told(request: &Request) -> String {
    let results = request.tool_results();
    if results.is_empty() {
        return request.last_user_text();
    }
    results.into_iter().map(|result| result.text).collect()
}

fn coordinate(request: &Request) -> Reply {
    let told = told(request);
    match told.rsplit_once("- `task ").and_then(|(_, rest)| rest.split('`').next()) {
        Some(id) => Reply::tool(
            "Agent",
            json!({
                "description": "next",
                "prompt": format!("task {id}"),
                "subagent_type": "ralph-specum:spec-executor",
            }),
        ),
        None => Reply::text("ALL_TASKS_COMPLETE"),
    }
}

fn one_task_a_turn(request: &Request) -> Reply {
    if !request.tool_results().is_empty() {
        return Reply::text("One task done.");
    }
    let text = request.last_user_text();
    match text.rsplit_once("`specum finish ").and_then(|(_, rest)| rest.split('`').next()) {
        Some(id) => Reply::tool(
            "Bash",
            json!({"command": format!("echo TASK_COMPLETE | specum finish {id}")}),
        ),
        None => Reply::text("ALL_TASKS_COMPLETE"),
    }
}
