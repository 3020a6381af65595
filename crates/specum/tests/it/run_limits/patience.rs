//! How long an agent may be silent, and how long it may work.

use super::speech::claude;
use super::{Stage, Told, wants};

fn one() -> Stage {
    Stage::new(wants("1.1", "a.txt"))
}

/// What a single attempt comes to that may be silent and may take so long.
fn given(stage: &Stage, idle: &str, task: &str) -> Told {
    let limits = ["--idle-timeout", idle, "--task-timeout", task, "--max-task-iterations", "1"];
    stage.hasty(&limits)
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
    let stage = one();
    // What it waits for is its time as a whole, which is up much later.
    stage.agent("claude", claude::tool("t", "make") + "hang");
    let told = given(&stage, "10m", "50m");
    told.ends(6, "blocked");
    let late = ("timeout".to_owned(), "the agent did not end within 3000 seconds".to_owned());
    assert_eq!(told.failures(), [late]);
}

#[test]
fn the_first_of_two_tools_that_answers_does_not_start_the_clock() {
    let stage = one();
    let tools = claude::tool("t1", "make") + &claude::tool("t2", "ls") + &claude::answered("t2");
    stage.agent("claude", tools + "hang");
    let told = given(&stage, "10m", "50m");
    told.ends(6, "blocked");
    assert_eq!(told.failures()[0].0, "timeout");
}

#[test]
fn silence_behind_the_last_tool_counts() {
    let stage = one();
    stage.agent("claude", claude::tool("t", "make") + &claude::answered("t") + "hang");
    let told = given(&stage, "10m", "300m");
    told.ends(6, "blocked");
    assert_eq!(told.failures()[0].0, "idle");
}

#[test]
fn an_agent_that_talks_without_end_is_ended_when_its_time_is_up() {
    let stage = one();
    stage.agent("claude", "sh while :; do echo '{\"type\":\"user\"}'; done");
    let told = given(&stage, "50m", "20m");
    told.ends(6, "blocked");
    assert_eq!(told.failures()[0].0, "timeout");
}

#[test]
fn an_answer_stands_although_the_agent_does_not_end_behind_it() {
    let stage = one();
    stage.agent("claude", format!("sh touch a.txt\n{}hang", claude::complete(5, 0.1)));
    let told = stage.hasty(&["--idle-timeout", "50m"]);
    told.ends(0, "complete");
    assert_eq!((told.failures().len(), stage.calls("claude")), (0, 1));
}
