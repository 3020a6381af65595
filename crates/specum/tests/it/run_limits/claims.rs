//! What an agent says about its work is not believed.

use serde_json::json;

use super::speech::claude;
use super::{Stage, TASKS, wants};

const TICKS: &str = "sh sed -i 's/\\[ \\]/[x]/' specs/test-spec/tasks.md\n";

fn two() -> Stage {
    Stage::new(wants("1.1", "a.txt") + &wants("1.2", "b.txt"))
}

#[test]
fn success_without_work_is_a_failed_attempt() {
    for said in [
        claude::complete(5, 0.1),
        claude::done("", 0, 0.0).replace("\"num_turns\":2", "\"num_turns\":0"),
        claude::done("Everything is already in place.", 5, 0.1),
        "say Unknown command\n".to_owned() + &claude::done("", 0, 0.0),
    ] {
        let stage = two();
        stage.agent("claude", said.clone());
        let told = stage.run(&["--max-task-iterations", "2"]);
        told.ends(6, "blocked");
        assert_eq!((told.failures().len(), told.all("passed").len()), (2, 0), "{said}");
        assert!(!stage.tasks().contains("[x]"), "{said}");
        assert_eq!(stage.world.git(&["rev-list", "--count", "HEAD"]).trim(), "1", "{said}");
    }
}

#[test]
fn boxes_that_the_model_ticks_without_work_are_taken_back() {
    let stage = two();
    stage.agent("claude", TICKS.to_owned() + &claude::done("ALL_TASKS_COMPLETE", 5, 0.1));
    let told = stage.run(&["--max-task-iterations", "2"]);
    told.ends(6, "blocked");
    assert!(!stage.tasks().contains("[x]"), "{}", stage.tasks());
    assert_eq!((&stage.status()["done"], told.all("passed").len()), (&json!(0), 0));
    let warnings = told.all("warning");
    let text = "was ticked without a verdict and is open again";
    let is_told = |event: &&&serde_json::Value| event["text"].to_string().contains(text);
    assert_eq!(warnings.iter().filter(is_told).count(), 2, "live, each time: {warnings:?}");
}

#[test]
fn boxes_ticked_by_an_agent_that_was_ended_are_taken_back_too() {
    // Ended for what it used, with every box ticked and nothing done.
    let stage = two();
    stage.agent("claude", TICKS.to_owned() + &claude::text("m", "All done!", 600) + "hang");
    stage.run(&["--max-tokens", "500"]).ends(6, "capped");
    assert!(!stage.tasks().contains("[x]"), "{}", stage.tasks());
    stage.run(&[]).ends(6, "capped");
    assert_eq!(stage.status()["done"], 0);
    assert_eq!(stage.specum(&["next"]).code, Some(6));
}

#[test]
fn boxes_ticked_by_an_agent_that_reached_a_limit_are_taken_back_too() {
    let stage = two();
    stage.once("claude", 1, TICKS.to_owned() + &claude::fails("rate_limit", 429, "slow down"));
    stage.agent("claude", "sh touch a.txt b.txt\n".to_owned() + &claude::complete(5, 0.1));
    let told = stage.hasty(&[]);
    told.ends(0, "complete");
    assert_eq!(told.all("passed").len(), 2, "{}", told.call.stdout);
}

#[test]
fn a_plan_without_tasks_is_no_success() {
    for tasks in ["", "# Tasks\n\nTo be written.\n"] {
        let stage = Stage::new(tasks);
        stage.agent("claude", claude::complete(5, 0.1));
        let call = stage.specum(&["run"]);
        assert!(call.exits(3).stderr.contains("no tasks"), "{}{}", call.stdout, call.stderr);
        assert_eq!(stage.calls("claude"), 0);
    }
    let stage = two();
    std::fs::remove_file(stage.world.path(TASKS)).unwrap();
    stage.agent("claude", claude::complete(5, 0.1));
    stage.specum(&["run", "--allow-dirty"]).exits(3);
}

#[test]
fn an_agent_that_changes_its_own_check_has_not_passed_and_a_person_is_asked() {
    let stage = two();
    let weakens = "sh sed -i 's/test -f a.txt/true/' specs/test-spec/tasks.md\n";
    stage.agent("claude", weakens.to_owned() + &claude::complete(5, 0.1));
    let told = stage.run(&["--max-task-iterations", "1"]);
    told.ends(6, "blocked");
    assert_eq!(told.all("passed").len(), 0, "{}", told.call.stdout);
    let waits = told.all("waits");
    let question = waits[0]["question"].as_str().unwrap();
    assert!(question.contains("`specum accept 1.1` takes the new one"), "{question}");
    stage.world.person(&["accept", "1.1"]);
}

#[test]
fn what_a_person_does_while_nothing_runs_is_left_alone() {
    let stage = two();
    let works = "sh touch half.txt\n".to_owned() + &claude::text("m", "I begin", 600) + "hang";
    stage.agent("claude", works);
    stage.run(&["--max-tokens", "500"]).ends(6, "capped");
    assert!(!stage.world.path("half.txt").exists(), "what the agent left is kept elsewhere");
    // The person does a task, and begins another one.
    stage.world.write("b.txt", "mine");
    stage.world.write(TASKS, stage.tasks().replace("- [ ] 1.2", "- [x] 1.2"));
    let call = stage.specum(&["run", "--max-tokens", "9000"]);
    assert!(call.exits(1).stderr.contains("b.txt"), "{}", call.stderr);
    assert_eq!(stage.world.read("b.txt"), "mine");
    stage.world.git(&["add", "--all"]);
    stage.world.git(&["commit", "--quiet", "-m", "mine"]);
    stage.agent("claude", "sh touch a.txt\n".to_owned() + &claude::complete(5, 0.1));
    let told = stage.run(&["--max-tokens", "9000"]);
    told.ends(0, "complete");
    assert_eq!(told.all("passed").len(), 1, "1.2 was the person's: {}", told.call.stdout);
}
