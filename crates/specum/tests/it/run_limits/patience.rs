//! How long an agent may be silent, and how long it may work.

use super::speech::claude;
use super::{Stage, Told, wants};

fn one() -> Stage {
    Stage::new(wants("1.1", "a.txt"))
}

/// What a single attempt comes to that may be silent and may take so many
/// minutes. An agent that did not get round to saying its lines in that time, on
/// a machine with much to do, is given more.
fn given(script: &str, idle: u32, task: u32) -> Told {
    let lines = script.matches("say ").count();
    let mut more = [1, 10, 100].into_iter().map(|times| {
        let stage = one();
        stage.agent("claude", script);
        let [idle, task] = [idle, task].map(|minutes| format!("{}m", times * minutes));
        let limits = ["--idle-timeout", &idle, "--task-timeout", &task];
        stage.hasty(&[&limits[..], &["--max-task-iterations", "1"]].concat())
    });
    more.find(|told| told.all("agent").len() >= lines).expect("it says its lines")
}

#[test]
fn an_agent_that_hangs_without_a_word_is_ended() {
    let stage = one();
    stage
        .once("claude", 1, "hang")
        .agent("claude", format!("read\nsh touch a.txt\n{}", claude::complete(5, 0.1)));
    let told = stage.hasty(&["--idle-timeout", "50m"]);
    told.ends(0, "complete");
    let silent = ("idle".to_owned(), "the agent was silent for 3000 seconds".to_owned());
    assert_eq!(told.failures(), [silent]);
    let brief = stage.left("claude", 2, "brief");
    assert!(String::from_utf8_lossy(&brief).contains("- the agent was silent for 3000 seconds"));
}

#[test]
fn an_agent_that_says_something_and_hangs_is_ended_too() {
    let stage = one();
    stage.agent("claude", claude::text("m", "let me see", 7) + "hang");
    let told = stage.hasty(&["--idle-timeout", "10m", "--max-task-iterations", "1"]);
    told.ends(6, "blocked");
    assert_eq!(told.failures()[0].0, "idle");
}

#[test]
fn idle_time_stands_still_while_a_tool_runs() {
    // What it waits for is its time as a whole, which is up later.
    let told = given(&(claude::tool("t", "make") + "hang"), 10, 20);
    told.ends(6, "blocked");
    let (class, why) = told.failures().remove(0);
    assert_eq!(class, "timeout");
    assert!(why.starts_with("the agent did not end within "), "{why}");
}

#[test]
fn the_first_of_two_tools_that_answers_does_not_start_the_clock() {
    let tools = claude::tool("t1", "make") + &claude::tool("t2", "ls") + &claude::answered("t2");
    let told = given(&(tools + "hang"), 10, 20);
    told.ends(6, "blocked");
    assert_eq!(told.failures()[0].0, "timeout");
}

#[test]
fn silence_behind_the_last_tool_counts() {
    let told = given(&(claude::tool("t", "make") + &claude::answered("t") + "hang"), 10, 100_000);
    told.ends(6, "blocked");
    assert_eq!(told.failures()[0].0, "idle");
}

#[test]
fn an_agent_that_talks_without_end_is_ended_when_its_time_is_up() {
    let told = given("sh while :; do echo '{\"type\":\"user\"}'; done", 100_000, 20);
    told.ends(6, "blocked");
    assert_eq!(told.failures()[0].0, "timeout");
}

#[test]
fn finding_44_work_of_a_command_that_does_not_end_behind_its_last_word_is_judged() {
    let stage = one();
    stage.agent("plain", "sh touch a.txt\nsay TASK_COMPLETE\nhang");
    let told = stage.hasty(&["--agent-command", "plain", "--idle-timeout", "1000h"]);
    told.ends(0, "complete");
    assert_eq!((told.failures().len(), stage.calls("plain")), (0, 1));
}

#[test]
fn an_answer_stands_although_the_agent_does_not_end_behind_it() {
    let stage = one();
    stage.agent("claude", format!("sh touch a.txt\n{}hang", claude::complete(5, 0.1)));
    let told = stage.hasty(&["--idle-timeout", "50m"]);
    told.ends(0, "complete");
    assert_eq!((told.failures().len(), stage.calls("claude")), (0, 1));
}
