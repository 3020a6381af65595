//! A planning in a session of Claude Code: authors, the question, the words of a person.

use specum_core::spec::Doc;

use super::*;
use crate::authored::{GOAL, bad, good};

/// What a person types behind a command of ours, and what the command then prints.
fn command(world: &World, verb: &str, arguments: &str) -> Call {
    let input = json!({
        "hook_event_name": "UserPromptExpansion",
        "command_name": format!("ralph-specum:{verb}"),
        "command_args": arguments,
    });
    world.hook("prompt", &input).silent();
    let mut command = world.command();
    command.args(["--from-session", verb]).env("CLAUDE_CODE_SESSION_ID", "test-session");
    call(command, b"")
}

/// A session that plans.
fn planning(flags: &str) -> World {
    let world = World::planned_as("other", "- [x] 1.1 done\n");
    world.write("check.sh", "test -f hello.txt\n");
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "check"]);
    let said = command(&world, "start", &format!("{flags} greeting-spec {GOAL}"));
    assert!(said.exits(0).stdout.contains("Due now"), "{}{}", said.stdout, said.stderr);
    world
}

fn document(doc: Doc) -> String {
    format!("specs/greeting-spec/{}", doc.file())
}

fn status(world: &World, doc: Doc) -> String {
    let state: Value =
        serde_json::from_str(&world.read("specs/greeting-spec/.ralph-state.json")).unwrap();
    state["phases"][doc.name()]["status"].as_str().unwrap_or("absent").to_owned()
}

fn author_of(doc: Doc) -> &'static str {
    match doc {
        Doc::Research => "ralph-specum:research-analyst",
        Doc::Requirements => "ralph-specum:product-manager",
        Doc::Design => "ralph-specum:architect-reviewer",
        Doc::Tasks => "ralph-specum:task-planner",
    }
}

fn calls_author(world: &World, doc: Doc, id: &str) -> Call {
    let input = json!({"prompt": format!("phase {doc}"), "subagent_type": author_of(doc)});
    calls_with(world, &json!({"tool_use_id": id}), &input)
}

fn author_ends(world: &World, doc: Doc, id: &str) -> Call {
    let fields = json!({"agent_type": author_of(doc), "last_assistant_message": "Written."});
    ends_with(world, id, &fields)
}

/// An author writes a good document, and the coordinator hears what is next.
fn writes(world: &World, doc: Doc) -> String {
    let id = format!("toolu_{doc}");
    given(&calls_author(world, doc, &id));
    world.write(&document(doc), good(doc));
    author_ends(world, doc, &id).silent();
    result_of(world, &id, "Written.")
}

/// The question of a model, before it is shown.
fn asks(world: &World, questions: &Value) -> Call {
    let input = json!({
        "hook_event_name": "PreToolUse",
        "tool_name": "AskUserQuestion",
        "tool_input": {"questions": questions},
        "tool_use_id": "toolu_ask",
    });
    world.hook("pre-tool-use", &input)
}

fn the_word() -> Value {
    json!([{"question": "specum?", "header": "x", "options": [{"label": "1"}, {"label": "2"}]}])
}

/// What the person is shown.
fn shown(world: &World) -> Value {
    given(&asks(world, &the_word()))["questions"].clone()
}

/// The person answers each of the questions that are shown.
fn answers(world: &World, shown: &Value, answers: &[&str]) -> Call {
    let texts = shown.as_array().unwrap().iter().map(|one| one["question"].as_str().unwrap());
    let answers: serde_json::Map<String, Value> =
        texts.zip(answers).map(|(text, answer)| (text.to_owned(), json!(answer))).collect();
    let input = json!({
        "hook_event_name": "PostToolUse",
        "tool_name": "AskUserQuestion",
        "tool_input": {"questions": shown},
        "tool_response": {"questions": shown, "answers": answers},
        "tool_use_id": "toolu_ask",
    });
    world.hook("post-tool-use", &input)
}

/// What the model hears behind the answer.
fn context(call: &Call) -> String {
    let output = &call.exits(0).json()["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], "PostToolUse");
    output["additionalContext"].as_str().unwrap().to_owned()
}

const DEFAULT: &str = "the world (default)";
const APPROVE: &str = "Approve";

#[test]
fn a_goal_is_free_text_and_a_brief_takes_the_place_of_two_words() {
    let world = planning("--full");
    assert!(world.read("specs/greeting-spec/plan.md").contains(GOAL), "word for word");
    let brief = given(&calls_author(&world, Doc::Research, "t"));
    assert_eq!(brief["subagent_type"], "ralph-specum:research-analyst");
    assert_eq!(brief["run_in_background"], false);
    let text = brief["prompt"].as_str().unwrap();
    assert!(text.contains(GOAL) && text.contains("# Research:"), "{text}");
}

#[test]
fn a_document_that_is_not_due_is_refused() {
    let world = planning("");
    let reason = refused(&calls_author(&world, Doc::Design, "t"));
    assert!(reason.contains("design.md is not due"), "{reason}");
    assert!(reason.contains("`phase requirements`"), "{reason}");
    let other = json!({"prompt": "phase two of my migration", "subagent_type": "Explore"});
    calls_with(&world, &json!({}), &other).silent();
}

#[test]
fn an_author_is_sent_back_twice_and_then_a_person_is_waited_for() {
    let world = planning("");
    let doc = Doc::Requirements;
    given(&calls_author(&world, doc, "t"));
    world.write(&document(doc), bad(doc));
    for _ in 0..2 {
        let reason = author_ends(&world, doc, "t").reason();
        assert!(reason.contains("placeholder"), "{reason}");
    }
    author_ends(&world, doc, "t").silent();
    assert_eq!(status(&world, doc), "blocked");
    let told = result_of(&world, "t", "Written.");
    assert!(told.contains("requirements.md is blocked"), "{told}");
}

#[test]
fn what_an_author_mends_is_judged_anew() {
    let world = planning("");
    let doc = Doc::Requirements;
    given(&calls_author(&world, doc, "t"));
    world.write(&document(doc), bad(doc));
    author_ends(&world, doc, "t").reason();
    world.write(&document(doc), good(doc));
    author_ends(&world, doc, "t").silent();
    assert_eq!(status(&world, doc), "written");
    let told = result_of(&world, "t", "Written.");
    assert!(told.contains("requirements.md is ready") && told.contains("specum?"), "{told}");
}

#[test]
fn the_question_is_ours_and_its_defaults_cost_no_model() {
    let world = planning("");
    writes(&world, Doc::Requirements);
    let shown = shown(&world);
    assert_eq!(shown[0]["question"], "requirements.md, Q-1: Who is greeted?");
    assert_eq!(shown[0]["options"][0]["label"], DEFAULT);
    let approval = shown[1]["question"].as_str().unwrap();
    assert!(approval.starts_with("requirements.md is ready: "), "{approval}");
    assert!(approval.contains("FR-1 hello.txt greets its reader"), "{approval}");

    let told = context(&answers(&world, &shown, &[DEFAULT, APPROVE]));

    assert!(told.contains("requirements.md is approved") && told.contains("`phase design`"));
    assert_eq!(status(&world, Doc::Requirements), "approved");
    let text = world.read(&document(Doc::Requirements));
    assert!(text.contains("- [x] Q-1: Who is greeted? (affects FR-1) → the world"), "{text}");
    let again = answers(&world, &shown, &[DEFAULT, APPROVE]);
    again.silent();
}

#[test]
fn another_answer_and_typed_text_go_to_the_author() {
    let world = planning("");
    writes(&world, Doc::Requirements);
    let told = context(&answers(&world, &shown(&world), &["the reader", APPROVE]));
    assert!(told.contains("goes back") && told.contains("`phase requirements`"), "{told}");
    assert_ne!(status(&world, Doc::Requirements), "approved");
    let brief = given(&calls_author(&world, Doc::Requirements, "t2"));
    assert!(brief["prompt"].as_str().unwrap().contains("the reader"), "{brief}");

    let world = planning("");
    writes(&world, Doc::Requirements);
    let told = context(&answers(&world, &shown(&world), &[DEFAULT, "greet in verse"]));
    assert!(told.contains("`phase requirements`"), "{told}");
    let brief = given(&calls_author(&world, Doc::Requirements, "t2"));
    assert!(brief["prompt"].as_str().unwrap().contains("greet in verse"), "{brief}");
}

#[test]
fn not_yet_and_no_answer_move_nothing() {
    let world = planning("");
    writes(&world, Doc::Requirements);
    let before = world.read("specs/greeting-spec/.ralph-state.json");
    let told = context(&answers(&world, &shown(&world), &[DEFAULT, "Not yet"]));
    assert!(told.contains("Nothing has moved"), "{told}");
    let told = context(&answers(&world, &shown(&world), &[]));
    assert!(told.contains("nothing was answered"), "{told}");
    assert_eq!(world.read("specs/greeting-spec/.ralph-state.json"), before);
}

#[test]
fn a_document_that_was_edited_since_it_was_shown_is_not_approved() {
    let world = planning("");
    writes(&world, Doc::Requirements);
    let shown = shown(&world);
    let edited = good(Doc::Requirements).replace("at home", "welcome");
    world.write(&document(Doc::Requirements), edited);
    let told = context(&answers(&world, &shown, &[DEFAULT, APPROVE]));
    assert!(told.contains("has changed since it was shown"), "{told}");
    assert_eq!(status(&world, Doc::Requirements), "written");
}

#[test]
fn one_yes_for_all_that_follows_asks_no_more_and_begins_nothing() {
    let world = planning("");
    writes(&world, Doc::Requirements);
    let all = "Approve this and all that follows";
    context(&answers(&world, &shown(&world), &[DEFAULT, all]));
    let told = writes(&world, Doc::Design);
    assert!(told.contains("`phase tasks`"), "{told}");
    let told = writes(&world, Doc::Tasks);
    assert!(told.contains("/ralph-specum:implement begins the work"), "{told}");
    assert_eq!(world.journal_of("greeting-spec", "started").len(), 0);
}

#[test]
fn approve_and_start_begins_with_the_first_task() {
    let world = planning("");
    for doc in [Doc::Requirements, Doc::Design] {
        writes(&world, doc);
        let shown = shown(&world);
        let taken = if doc == Doc::Requirements { vec![DEFAULT, APPROVE] } else { vec![APPROVE] };
        context(&answers(&world, &shown, &taken));
    }
    writes(&world, Doc::Tasks);
    let told = context(&answers(&world, &shown(&world), &["Approve and start"]));
    assert!(told.contains("`task 1.1` for `ralph-specum:spec-executor`"), "{told}");
    given(&calls(&world, "task 1.1", "t1"));
}

#[test]
fn quick_mode_asks_nothing_and_goes_on_into_the_work() {
    let world = planning("--quick");
    assert!(writes(&world, Doc::Requirements).contains("`phase design`"));
    assert!(writes(&world, Doc::Design).contains("`phase tasks`"));
    let told = writes(&world, Doc::Tasks);
    assert!(told.contains("`task 1.1` for `ralph-specum:spec-executor`"), "{told}");
    assert!(world.read(&document(Doc::Requirements)).contains("(assumed) the world"));
}

#[test]
fn every_other_question_is_left_alone() {
    let world = planning("");
    writes(&world, Doc::Requirements);
    let before = world.snapshot();
    for questions in [
        json!([{"question": "Which colour?", "options": [{"label": "red"}]}]),
        json!([{"question": "specum?"}, {"question": "and?"}]),
        json!([{"question": "Shall I approve it with specum?"}]),
        json!("specum?"),
    ] {
        asks(&world, &questions).silent();
        answers(&world, &json!([{"question": "Which colour?"}]), &["red"]).silent();
    }
    assert_eq!(world.snapshot(), before);
}

#[test]
fn nothing_is_asked_where_nothing_waits() {
    let world = planning("");
    let reason = refused(&asks(&world, &the_word()));
    assert!(reason.contains("Nothing waits for the person. Due now"), "{reason}");
    let elsewhere = session(PLAN);
    asks(&elsewhere, &the_word()).silent();
}

#[test]
fn the_dialog_of_another_call_answers_nothing() {
    let world = planning("");
    writes(&world, Doc::Requirements);
    let shown = shown(&world);
    let texts = [shown[0]["question"].as_str().unwrap(), shown[1]["question"].as_str().unwrap()];
    let input = json!({
        "hook_event_name": "PostToolUse",
        "tool_name": "AskUserQuestion",
        "tool_response": {"answers": {texts[0]: DEFAULT, texts[1]: APPROVE}},
        "tool_use_id": "toolu_other",
    });
    world.hook("post-tool-use", &input).silent();
    assert_eq!(status(&world, Doc::Requirements), "written");
}
