//! A session with a person at a terminal: what they see of the loop, and that
//! it leaves them free.

use std::path::Path;

use serde_json::json;

use super::{calls_due, execute, task_of};
use crate::host::{self, ClaudeRun, Conversation};
use crate::model::{Gate, Model, Reply, Request};
use crate::world::{World, until};

/// Newer hosts run every sub-agent of an interactive session in the background,
/// whatever a hook says, unless their forks are switched off.
const FOREGROUND: (&str, &str) = ("CLAUDE_CODE_FORK_SUBAGENT", "0");

fn three_tasks() -> World {
    let tasks =
        (1..=3).map(|n| format!("- [ ] 1.{n} Task {n}\n  - **Verify**: `test -f done-1.{n}`\n"));
    World::planned_as("demo", tasks.collect::<String>())
}

fn at_terminal(program: &Path, world: &World, model: &Model) -> ClaudeRun {
    ClaudeRun::interactive(program, &model.url(), &world.root).with_specum()
}

/// A coordinator that answers what a person asks, and otherwise calls what it
/// is told to call, by whatever way it hears of it.
fn coordinate(request: &Request) -> Reply {
    let news = request.news().replace("\n  ", "\n");
    if news.contains("capital of France") {
        return Reply::text("It is Paris.");
    }
    if news.contains("tell the person what it says") {
        return Reply::text("I see.");
    }
    if news.contains("Every task is done.") {
        return Reply::text("ALL_TASKS_COMPLETE");
    }
    if let Some(calls) = calls_due(&news) {
        return calls;
    }
    match news.rsplit_once("`task ").and_then(|(_, rest)| rest.split_once('`')) {
        Some((id, _)) => {
            let agent = "ralph-specum:spec-executor";
            let input = json!({"description": "next", "prompt": format!("task {id}"), "subagent_type": agent});
            Reply::tool("Agent", input)
        }
        None => Reply::text("I wait."),
    }
}

fn model() -> Model {
    Model::start(|request| match request.is_subagent() {
        true => execute(request),
        false => coordinate(request),
    })
}

/// A model whose executors come to no end.
fn model_that_works_on_and_on() -> Model {
    let never = Gate::new(1);
    Model::start(move |request| match request.is_subagent() {
        true => execute(request).after(&never),
        false => coordinate(request),
    })
}

fn ticked(world: &World) -> usize {
    world.read("specs/demo/tasks.md").matches("- [x]").count()
}

fn has_state(world: &World) -> bool {
    world.path("specs/demo/.ralph-state.json").exists()
}

/// A person who has started the loop and pressed Esc while 1.1 was worked on.
fn interrupted(program: &Path, world: &World, model: &Model) -> Conversation {
    let mut person = at_terminal(program, world, model).env(FOREGROUND.0, FOREGROUND.1).open();
    person.says("/ralph-specum:implement");
    model.wait_until(|requests| requests.iter().any(Request::is_subagent));
    person.interrupts();
    person
}

/// Asks something else, and asserts that the answer is the end of it.
fn is_free(mut person: Conversation, world: &World, model: &Model) {
    let calls = |model: &Model| model.requests().iter().filter(|r| r.is_subagent()).count();
    let before = calls(model);
    person.says("What is the capital of France?");
    person.sees("It is Paris.");
    person.is_asked();
    assert_eq!(calls(model), before, "nothing is worked on:\n{}", person.screen());
    assert_eq!(ticked(world), 0);
    assert!(has_state(world), "the loop waits");
    person.leaves();
}

#[test]
fn a_prompt_is_typed_and_its_answer_seen() {
    for program in host::claudes() {
        let world = World::empty();
        let model = Model::start(|_| Reply::text("hello from the script"));
        let mut person = ClaudeRun::interactive(&program, &model.url(), &world.root).open();
        person.says("say hello");
        person.sees("● hello from the script");
        assert!(person.leaves().success());
    }
}

#[test]
fn a_typed_command_works_a_plan_to_its_end() {
    for program in host::claudes() {
        let (world, model) = (three_tasks(), model());
        let mut person =
            at_terminal(&program, &world, &model).env(FOREGROUND.0, FOREGROUND.1).open();

        person.says("/ralph-specum:implement");
        person.sees("● ALL_TASKS_COMPLETE");

        assert_eq!(ticked(&world), 3);
        assert!(!has_state(&world), "the loop has ended");
        let coordinator = model.requests().iter().filter(|r| !r.is_subagent()).count();
        assert_eq!(coordinator, 4, "one for each result, and one to begin with");
        person.leaves();
    }
}

#[test]
fn a_typed_command_works_a_plan_to_its_end_in_the_background_too() {
    for program in host::claudes() {
        let (world, model) = (three_tasks(), model());
        let mut person = at_terminal(&program, &world, &model).open();

        person.says("/ralph-specum:implement");
        person.sees("● ALL_TASKS_COMPLETE");

        until("the state goes", || !has_state(&world));
        assert_eq!(ticked(&world), 3);
        let coordinator = model.requests().iter().filter(|r| !r.is_subagent()).count();
        assert!(coordinator <= 7, "{coordinator} requests for three tasks");
        person.leaves();
    }
}

#[test]
fn a_person_sees_each_verdict_and_a_summary() {
    for program in host::claudes() {
        let world = three_tasks();
        let model = Model::start(|request| {
            if !request.is_subagent() {
                return coordinate(request);
            }
            let failed_before = request.user_texts().concat().contains("What failed last time");
            match task_of(request).as_str() {
                "1.2" if !failed_before => Reply::text("I forgot the file.\n\nTASK_COMPLETE"),
                _ => execute(request),
            }
        });
        let mut person = at_terminal(&program, &world, &model).open();

        person.says("/ralph-specum:implement");
        let screen = person.sees("● ALL_TASKS_COMPLETE");

        let commit = world.git(&["log", "--reverse", "--format=%h"]);
        let first = commit.lines().nth(1).unwrap_or_default();
        assert!(screen.contains(&format!("1.1 passed, 1 of 3, {first}")), "{screen}");
        assert!(screen.contains("1.2 failed (1 of 5): `test -f done-1.2` ended with code 1"));
        assert!(screen.contains("1.2 passed, 2 of 3, "), "{screen}");
        assert!(screen.contains("1.3 passed, 3 of 3, "), "{screen}");
        person.sees("3 of 3 tasks are done");
        person.leaves();
    }
}

#[test]
fn a_stop_that_is_sent_back_reads_as_guidance() {
    for program in host::claudes() {
        let world = three_tasks();
        let model = Model::start(|request| match request.is_subagent() {
            true => execute(request),
            // Stops once before it does anything.
            false if request.assistant_turns() == 0 => Reply::text("I stop here."),
            false => coordinate(request),
        });
        let mut person = at_terminal(&program, &world, &model).open();

        person.says("/ralph-specum:implement");
        let screen = person.sees("● ALL_TASKS_COMPLETE");

        assert!(!screen.contains("Stop hook error"), "{screen}");
        let (_, behind) = screen.split_once("● I stop here.").unwrap();
        let (guidance, _) = behind.split_once("spec-executor").unwrap();
        assert!(guidance.lines().count() <= 8, "{guidance}");
        person.leaves();
    }
}

#[test]
fn esc_and_a_question_leave_the_person_free() {
    for program in host::claudes() {
        let (world, model) = (three_tasks(), model_that_works_on_and_on());
        is_free(interrupted(&program, &world, &model), &world, &model);
    }
}

#[test]
fn esc_and_a_look_at_the_status_leave_the_person_free() {
    for program in host::claudes() {
        let (world, model) = (three_tasks(), model_that_works_on_and_on());
        let mut person = interrupted(&program, &world, &model);
        person.says("/ralph-specum:status");
        person.sees("I see.");
        is_free(person, &world, &model);
    }
}

#[test]
fn a_cleared_conversation_leaves_the_person_free() {
    for program in host::claudes() {
        let (world, model) = (three_tasks(), model_that_works_on_and_on());
        let mut person = interrupted(&program, &world, &model);
        person.says("/clear");
        person.sees("specum: the loop of demo waits, 0 of 3 tasks are done.");
        is_free(person, &world, &model);
    }
}

#[test]
fn a_new_session_beside_an_interrupted_loop_leaves_the_person_free() {
    for program in host::claudes() {
        let (world, model) = (three_tasks(), model_that_works_on_and_on());
        interrupted(&program, &world, &model).leaves();
        let person = at_terminal(&program, &world, &model).open();
        is_free(person, &world, &model);
    }
}

#[test]
fn a_person_who_is_let_go_is_told_that_a_loop_waits() {
    for program in host::claudes() {
        let (world, model) = (three_tasks(), model_that_works_on_and_on());
        let mut person = interrupted(&program, &world, &model);
        person.says("What is the capital of France?");
        person.sees("It is Paris.");
        let screen = person.sees("says: specum: ");
        let line = screen.lines().find(|line| line.contains("says: specum: ")).unwrap();
        assert!(line.contains("demo") && line.contains("waits"), "{line}");
        person.leaves();
    }
}

#[test]
fn a_paused_loop_leaves_the_person_free() {
    for program in host::claudes() {
        let (world, model) = (three_tasks(), model_that_works_on_and_on());
        let mut person = interrupted(&program, &world, &model);
        person.says("/ralph-specum:pause");
        person.sees("I see.");
        is_free(person, &world, &model);
    }
}

#[test]
fn an_interrupted_loop_goes_on_when_it_is_asked_to() {
    for program in host::claudes() {
        let world = three_tasks();
        let at_work = Gate::new(2);
        let held = at_work.clone();
        let model = Model::start(move |request| {
            if !request.is_subagent() {
                return coordinate(request);
            }
            // The first executor waits for the second one, and so is interrupted.
            held.arrive();
            execute(request).after(&held)
        });
        let mut person = interrupted(&program, &world, &model);

        person.says("/ralph-specum:implement");
        person.sees("● ALL_TASKS_COMPLETE");

        assert_eq!(ticked(&world), 3);
        assert!(!has_state(&world), "the loop has ended");
        person.leaves();
    }
}
