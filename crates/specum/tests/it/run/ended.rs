//! How a run says that it has ended when others end it.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{
    Listener, agent, command_run, committed, nothing_is_left, planned, references, send, works,
};
use crate::world::{STATE, World};

const ONE: &str = "- [ ] 1.1 a\n";
const HALF: &str = "echo half > a.txt; echo in > $HOME/line; sleep infinity\n";

/// A run whose agent is in the middle of its work when something is done to it:
/// its exit code, and the outcome that it tells.
fn ended_by(world: &World, what: impl FnOnce(&std::process::Child)) -> (Option<i32>, Value) {
    let mut line = Listener::new(world, "line");
    let mut command = command_run(world, &agent(world, HALF), &["--json"]);
    let run = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    line.line();
    what(&run);
    let output = run.wait_with_output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let mut events = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ended = events.find(|event| event["event"] == "run-ended").unwrap();
    (output.status.code(), ended["outcome"].clone())
}

/// What the agent had done is kept, and is not in the tree.
#[track_caller]
fn half_is_kept(world: &World) {
    nothing_is_left(world);
    assert_eq!(references(world), ["refs/specum/test-spec/kept/1.1-1"]);
    assert_eq!(world.git(&["show", "refs/specum/test-spec/kept/1.1-1:a.txt"]), "half\n");
}

#[test]
fn a_run_that_is_paused_cancelled_or_interrupted_says_which() {
    let world = planned(ONE);
    let ended = ended_by(&world, |_| drop(world.specum(&["pause"])));
    assert_eq!(ended, (Some(6), json!("paused")));
    half_is_kept(&world);
    let world = planned(ONE);
    let ended = ended_by(&world, |_| drop(world.specum(&["cancel"])));
    assert_eq!(ended, (Some(6), json!("cancelled")));
    half_is_kept(&world);
    let world = planned(ONE);
    let ended = ended_by(&world, |run| send(run, Signal::INT));
    assert_eq!(ended, (Some(130), json!("interrupted")));
    half_is_kept(&world);
}

#[test]
fn a_run_whose_spec_is_taken_over_keeps_its_work_and_leaves_the_spec_to_the_other() {
    let world = planned(ONE);
    let other = json!({"kind": "session", "sessionId": "other"});
    let ended = ended_by(&world, |_| {
        let mut state = world.read_state();
        state["owner"] = other.clone();
        // By a rename, as everybody does it.
        world.write("../state", state.to_string());
        std::fs::rename(world.path("../state"), world.path(STATE)).unwrap();
    });
    assert_eq!(ended, (Some(6), json!("taken-over")));
    half_is_kept(&world);
    assert_eq!(world.read_state()["owner"], other);
}

#[test]
fn an_agent_that_switches_the_branch_commits_nothing_there_and_the_run_stops() {
    let world = planned(ONE);
    let ended =
        works(&world, "git checkout -q -b theirs; echo x > a.txt; echo TASK_COMPLETE\n", &[]);
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert!(said.contains("main") && said.contains("theirs"), "{said}");
    assert_eq!(ended.code, Some(6), "{said}");
    assert_eq!(committed(&world), [""; 0]);
    assert_eq!(world.git(&["rev-parse", "main"]), world.git(&["rev-parse", "theirs"]));
    assert!(world.read(crate::world::TASKS).starts_with("- [ ] 1.1"));
}
