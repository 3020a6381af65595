//! A planning in the real Claude Code: authors, dialogs, and a person who answers them.

use std::path::Path;

use serde_json::json;
use specum_core::authoring;
use specum_core::spec::Doc;

use super::{bash, calls_due, execute, task_of};
use crate::authored::{GOAL, bad, good};
use crate::host::{self, ClaudeRun, Conversation};
use crate::model::{Block, Model, Reply, Request};
use crate::terminal::{DOWN, ENTER, ESCAPE};
use crate::world::World;

const SPEC: &str = "specs/greeting-spec";

fn project() -> World {
    let world = World::planned_as("other", "- [x] 1.1 done\n");
    world.write("check.sh", "test -f hello.txt\n");
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "check"]);
    world
}

/// An author that is wrong first, with the requirements.
fn write(request: &Request, doc: Doc) -> Reply {
    let text = match (doc, request.assistant_turns()) {
        (Doc::Requirements, 0) => bad(doc),
        (Doc::Requirements, 2) | (Doc::Research | Doc::Design | Doc::Tasks, 0) => {
            good(doc).to_owned()
        }
        _ => return Reply::text("Written."),
    };
    bash(&format!("cat > {SPEC}/{} <<'END'\n{text}END", doc.file()))
}

/// Authors and executors.
fn agent(request: &Request) -> Reply {
    let id = task_of(request);
    match authoring::document(&id) {
        Some(doc) => write(request, doc),
        None if id == "1.1" && request.assistant_turns() == 0 => bash("echo hello > hello.txt"),
        None => execute(request),
    }
}

/// A coordinator that calls whom it is told to call, and asks if it is told to ask.
fn coordinate(request: &Request) -> Reply {
    // Behind an answer in a dialog the hook's word stands beside the result.
    let told = format!("{}\n{}", request.news(), request.told());
    let last = told.rsplit_once("Due now").map_or(told.as_str(), |(_, due)| due);
    if told.contains("Every task is done.") {
        return Reply::text("ALL_TASKS_COMPLETE");
    }
    if request.news().contains("capital of France") {
        return Reply::text("It is Paris.");
    }
    if told.trim_end().ends_with("and stop.") && !last.contains("specum?") {
        return Reply::text("I wait for you.");
    }
    if let Some((_, doc)) = last.split_once("- `phase ") {
        let (doc, rest) = doc.split_once('`').unwrap();
        let agent = rest.split("for `").nth(1).and_then(|rest| rest.split('`').next());
        let input = json!({
            "description": "next",
            "prompt": format!("phase {doc}"),
            "subagent_type": agent.unwrap(),
        });
        return Reply::message(vec![Block::tool("Agent", input)]);
    }
    if last.contains("`specum?`") {
        return question("specum?");
    }
    calls_due(&told).unwrap_or_else(|| Reply::text("I do not know what to do."))
}

fn question(text: &str) -> Reply {
    let options = [("1", "one"), ("2", "two")];
    let options = options.map(|(label, about)| json!({"label": label, "description": about}));
    let asked = json!({"question": text, "header": "x", "options": options, "multiSelect": false});
    Reply::tool("AskUserQuestion", json!({"questions": [asked]}))
}

fn model() -> Model {
    Model::start(|request| match request.is_subagent() {
        true => agent(request),
        false => coordinate(request),
    })
}

fn status(world: &World, doc: Doc) -> String {
    let state = world.read(&format!("{SPEC}/.ralph-state.json"));
    let state: serde_json::Value = serde_json::from_str(&state).unwrap();
    state["phases"][doc.name()]["status"].as_str().unwrap_or("absent").to_owned()
}

/// A person who has started to plan, and sees the first dialog.
fn begun(program: &Path, world: &World, model: &Model) -> Conversation {
    let mut person = ClaudeRun::interactive(program, &model.url(), &world.root)
        .with_specum()
        .env("CLAUDE_CODE_FORK_SUBAGENT", "0")
        .open();
    person.says(&format!("/ralph-specum:start greeting-spec {GOAL}"));
    person.sees("requirements.md, Q-1: Who is greeted?");
    person
}

#[test]
fn quick_mode_goes_from_a_goal_to_the_last_tick_in_one_prompt() {
    for program in host::claudes() {
        let (world, model) = (project(), model());
        let prompt = format!("/ralph-specum:start --quick greeting-spec {GOAL}");
        let outcome =
            ClaudeRun::new(&program, &model.url(), &world.root, &prompt).with_specum().run();

        let tasks = world.read(&format!("{SPEC}/tasks.md"));
        assert_eq!(tasks.matches("- [x]").count(), 2, "{tasks}\n{:?}", outcome.result());
        assert_eq!(world.read("hello.txt"), "hello\n");
        assert!(world.read(&format!("{SPEC}/requirements.md")).contains("(assumed) the world"));
        let coordinator = model.requests().iter().filter(|r| !r.is_subagent()).count();
        assert_eq!(coordinator, 6, "one to begin with, and one for each result");
        let log = world.git(&["log", "--format=%s"]);
        assert!(log.contains("feat: greet") && log.contains("spec(greeting-spec)"), "{log}");
    }
}

#[test]
fn without_dialogs_a_session_ends_where_a_person_is_waited_for() {
    for program in host::claudes() {
        let (world, model) = (project(), model());
        let prompt = format!("/ralph-specum:start greeting-spec {GOAL}");
        let outcome =
            ClaudeRun::new(&program, &model.url(), &world.root, &prompt).with_specum().run();

        assert_eq!(status(&world, Doc::Requirements), "written", "{:?}", outcome.result());
        assert!(!world.path(&format!("{SPEC}/design.md")).exists());
    }
}

#[test]
fn a_person_takes_the_defaults_and_all_that_follows() {
    for program in host::claudes() {
        let (world, model) = (project(), model());
        let mut person = begun(&program, &world, &model);
        let screen = person.screen();
        assert!(screen.contains("the world (default)"), "{screen}");
        assert!(!screen.contains("specum?"), "the model's question is not shown\n{screen}");

        person.presses(ENTER);
        person.sees("❯ 1. Approve");
        person.presses_until(DOWN, "❯ 2. Approve this and all that follows");
        person.presses(ENTER);
        person.sees("Submit answers");
        person.presses(ENTER);
        person.sees("begins the work");

        assert_eq!(status(&world, Doc::Tasks), "approved");
        assert!(world.read(&format!("{SPEC}/requirements.md")).contains("→ the world"));
        person.leaves();
    }
}

#[test]
fn esc_moves_nothing() {
    for program in host::claudes() {
        let (world, model) = (project(), model());
        let mut person = begun(&program, &world, &model);
        let before = world.read(&format!("{SPEC}/.ralph-state.json"));
        person.presses_until_gone(ESCAPE, "Esc to cancel");
        person.sees("User declined to answer questions");
        person.is_asked();
        person.says("What is the capital of France?");
        person.sees("It is Paris.");
        person.is_asked();
        assert_eq!(world.read(&format!("{SPEC}/.ralph-state.json")), before);
        person.leaves();
    }
}

#[test]
fn a_foreign_question_is_shown_as_it_is() {
    for program in host::claudes() {
        let world = project();
        let model = Model::start(|request| match request.is_subagent() {
            true => agent(request),
            false if request.news().contains("ask me") => question("Tea or coffee?"),
            false
                if request.told().contains("Tea or coffee?")
                    && !request.news().contains("specum?") =>
            {
                Reply::text("I see: one.")
            }
            false => coordinate(request),
        });
        let mut person = begun(&program, &world, &model);
        person.presses_until_gone(ESCAPE, "Esc to cancel");
        person.sees("User declined to answer questions");
        person.is_asked();
        person.says("ask me something");
        person.sees("Tea or coffee?");
        let screen = person.sees("2. 2");
        assert!(!screen.contains("requirements.md, Q-1"), "{screen}");
        person.presses_until_gone(ENTER, "Enter to select");
        person.sees("I see: one.");
        assert_eq!(status(&world, Doc::Requirements), "written");
        person.leaves();
    }
}
