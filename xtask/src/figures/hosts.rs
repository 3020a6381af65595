//! A session of the real Codex and Gemini CLI, in the mode in which people start
//! them, with a scripted model.

use std::path::Path;

use super::row::{Row, size};
use super::sample::Ratio;
use super::{Bench, Figures, plan, tell};
use harness::host::{self, OtherOutcome};
use harness::other_model::{Answer, Api, OtherModel, Told};
use harness::world::{World, call, first_on_path};

pub(super) fn measure(bench: &Bench) -> Figures {
    let tasks = bench.pick(60, 2);
    let mut figures = Figures::default();
    match host::codex() {
        Some(program) => figures.rows.extend(codex(&program, tasks)),
        None => figures.skipped.push("there is no Codex here".to_owned()),
    }
    match host::gemini() {
        Some(program) => figures.rows.extend(gemini(&program, tasks)),
        None => figures.skipped.push("there is no Gemini CLI here".to_owned()),
    }
    figures
}

const PROMPT: &str = "Work on the spec demo.";

fn codex(program: &Path, tasks: usize) -> Vec<Row> {
    let model = OtherModel::start(Api::Responses, works);
    let work = |world: &World| {
        host::settle_codex(world.home(), &model.url());
        install(world, program, "codex");
        host::codex_in_its_sandbox(program, world.home(), &world.root, PROMPT)
    };
    rows("Codex", tasks, &model, work)
}

fn gemini(program: &Path, tasks: usize) -> Vec<Row> {
    let model = OtherModel::start(Api::Gemini, works);
    let work = |world: &World| {
        host::settle_gemini(world.home());
        install(world, program, "gemini");
        host::gemini_prompt(program, &model.url(), world.home(), &world.root, PROMPT)
    };
    rows("Gemini CLI", tasks, &model, work)
}

fn rows(
    name: &str,
    tasks: usize,
    model: &OtherModel,
    work: impl Fn(&World) -> OtherOutcome,
) -> Vec<Row> {
    tell(&format!("a session of {name} with {tasks} tasks"));
    let world = World::planned_as("demo", plan(tasks, 0));
    let outcome = work(&world);
    let done = world.read("specs/demo/tasks.md").matches("- [x]").count();
    assert_eq!(done, tasks, "the loop ended too early: {}", outcome.tail());
    let told = model.told();
    let text = |told: &Told| match told {
        Told::Text(text) | Told::Output(text) => text.len(),
    };
    let bytes = told.iter().map(text).sum::<usize>() as f64;
    let (requests, plan) = (told.len(), plan(tasks, 0).len() as f64);
    vec![
        Row::new(
            format!("requests of a session of {name}, {tasks} tasks"),
            requests.to_string(),
            format!("one for each task: {tasks}"),
            Ratio::of(requests as f64, tasks as f64),
        ),
        Row::new(
            format!("what its model is given to read, {name}, {tasks} tasks"),
            size(bytes),
            format!("tasks.md, once: {}", size(plan)),
            Ratio::of(bytes, plan),
        ),
    ]
}

fn install(world: &World, program: &Path, host: &str) {
    let folder = program.parent().expect("a program is in a folder");
    let mut command = world.command();
    command.args(["plugin", "install", "--host", host]).env("PATH", first_on_path(folder));
    call(command, b"").exits(0);
}

/// A model that asks once, works by one command for each task, and ends its turn.
fn works(told: &Told) -> Answer {
    match told {
        Told::Text(text) => match text.split_once(" · now ") {
            // Another one each time: Gemini CLI ends a model that repeats itself.
            Some((_, task)) => Answer::Run(format!("true {}", first_word(task))),
            None => Answer::Run("specum implement".into()),
        },
        Told::Output(_) => Answer::Say("TASK_COMPLETE".into()),
    }
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}
