//! A session of the real Claude Code, with a scripted model.

use std::path::Path;

use serde_json::json;

use super::row::{Row, size};
use super::sample::Ratio;
use super::{Bench, Figures, plan, tell};
use harness::host::{self, Claude, ClaudeRun, Outcome};
use harness::model::{Model, Reply, Request};
use harness::world::World;

pub(super) fn measure(bench: &Bench) -> Figures {
    let Some(program) = host::claude() else {
        let skipped = vec!["there is no Claude Code here".to_owned()];
        return Figures { skipped, ..Figures::default() };
    };
    let mut rows = stopping(bench, &program, bench.pick(300, 2));
    for claude in host::claudes() {
        rows.extend(delegating(bench, &claude, bench.pick(60, 2)));
    }
    rows.into()
}

/// A model that stops after each task, with the Stop hook and without.
fn stopping(bench: &Bench, program: &Path, tasks: usize) -> Vec<Row> {
    let begin = "Begin with `task 1.1`.";
    let work = |with_plugin: Plugin| {
        let world = World::planned_as("demo", plan(tasks, 0));
        let mut implement = world.program(&bench.specum);
        let status = implement.arg("implement").stdout(std::process::Stdio::null()).status();
        assert!(status.expect("specum starts").success());
        let model = Model::start(one_task_a_turn);
        session(bench, program, &model, &world, begin, with_plugin);
        (done(&world), model.requests())
    };
    tell(&format!("a session of {tasks} tasks whose model stops after each"));
    let (with, requests) = work(Plugin::There);
    assert_eq!(with, tasks, "the loop ended too early");
    tell("the same without the plugin");
    let (without, _) = work(Plugin::Missing);
    let continuations = requests.iter().filter(|request| request.tool_results().is_empty());
    let longest = continuations.map(|request| request.last_user_text().len()).max();
    let longest = longest.expect("a session asks something") as f64;
    let plan = plan(tasks, 0).len() as f64;
    vec![
        Row::new(
            "tasks done in one prompt, by a model that stops after each",
            format!("{with} of {tasks}"),
            format!("without the plugin: {without}"),
            Ratio::of(with as f64, without as f64),
        )
        .headline(),
        Row::new(
            "what sends it back each time, at most",
            size(longest),
            format!("tasks.md: {}", size(plan)),
            Ratio::of(longest, plan),
        ),
    ]
}

/// A coordinator that calls an executor for each task.
fn delegating(bench: &Bench, claude: &Claude, tasks: usize) -> Vec<Row> {
    let version = claude.version();
    tell(&format!("a session of {tasks} tasks that delegates, Claude Code {version}"));
    let world = World::planned_as("demo", plan(tasks, 0));
    let model = Model::start(|request| {
        if request.is_subagent() { Reply::text("TASK_COMPLETE") } else { coordinate(request) }
    });
    session(bench, claude, &model, &world, "/ralph-specum:implement", Plugin::There);
    assert_eq!(done(&world), tasks, "the loop ended too early");
    let requests = model.requests();
    let (executors, coordinator): (Vec<&Request>, Vec<&Request>) =
        requests.iter().partition(|request| request.is_subagent());
    let texts: Vec<String> = coordinator.iter().map(|request| given(request)).collect();
    let bytes: usize = texts.iter().map(String::len).sum();
    let own: usize = texts.iter().map(|text| without_frame(text).len()).sum();
    let plan = plan(tasks, 0).len() as f64;
    let asked = |name: &str, requests: usize| {
        let ratio = Ratio::of(requests as f64, tasks as f64);
        let name = format!("requests of {name}, {tasks} tasks, Claude Code {version}");
        Row::new(name, requests.to_string(), format!("one for each task: {tasks}"), ratio)
    };
    let read = |name: &str, bytes: usize| {
        let known = format!("tasks.md, once: {}", size(plan));
        Row::new(name, size(bytes as f64), known, Ratio::of(bytes as f64, plan))
    };
    vec![
        asked("a coordinator", coordinator.len()),
        asked("its executors", executors.len()),
        read(&format!("what a coordinator is given to read, Claude Code {version}"), bytes),
        read(&format!("of it without the host's frame, Claude Code {version}"), own),
    ]
}

#[derive(Clone, Copy)]
enum Plugin {
    There,
    Missing,
}

fn done(world: &World) -> usize {
    world.read("specs/demo/tasks.md").matches("- [x]").count()
}

/// One prompt, to its end.
fn session(
    bench: &Bench,
    program: &Path,
    model: &Model,
    world: &World,
    prompt: &str,
    plugin: Plugin,
) -> Outcome {
    let directory = harness::world::plugin();
    let run = ClaudeRun::new(program, &model.url(), &world.root, prompt)
        .path(bench.specum.parent().expect("a binary has a directory"));
    match plugin {
        Plugin::There => run.plugin_dir(&directory).run(),
        Plugin::Missing => run.run(),
    }
}

/// What the coordinator was given to read, with what the host says around it.
fn given(request: &Request) -> String {
    let results = request.tool_results();
    if results.is_empty() {
        return request.last_user_text();
    }
    results.into_iter().map(|result| result.text).collect()
}

/// A result without what the host says around it: newer releases open it with a
/// warning, and all of them end it with the sub-agent's id and use.
fn without_frame(text: &str) -> &str {
    let text = match text.split_once('\n') {
        Some((frame, text)) if frame.starts_with("[Subagent hand-back]") => text,
        _ => text,
    };
    text.split_once("\nagentId: ").map_or(text, |(text, _)| text)
}

fn coordinate(request: &Request) -> Reply {
    match request.told().rsplit_once("- `task ").and_then(|(_, rest)| rest.split('`').next()) {
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

/// It does by itself what it is sent back for, and stops.
fn one_task_a_turn(request: &Request) -> Reply {
    if !request.tool_results().is_empty() {
        return Reply::text("One task done.");
    }
    let text = request.last_user_text();
    match text.rsplit_once("`task ").and_then(|(_, rest)| rest.split('`').next()) {
        Some(id) => Reply::tool(
            "Bash",
            json!({"command": format!("echo TASK_COMPLETE | specum finish {id}")}),
        ),
        None => Reply::text("ALL_TASKS_COMPLETE"),
    }
}
