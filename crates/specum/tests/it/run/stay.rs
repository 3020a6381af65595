//! `specum run --stay`: a run that waits for a person instead of ending.

use std::process::{Child, Stdio};

use rustix::process::Signal;

use super::{Listener, agent, at_work, command_run, nothing_is_left, planned, processes, send};
use crate::world::{STATE, TASKS, World, fifo, gate, until};

const TWO: &str = "- [ ] 1.1 a\n- [ ] 1.2 b\n";
/// Does its work where `$HOME/go` is, and fails elsewhere.
const WITH_GO: &str = "test -e $HOME/go || exit 1; echo x > $id.txt; echo TASK_COMPLETE\n";

/// Waits until the run has said so often that it stays; how it would have ended.
fn stays(world: &World, times: usize) -> String {
    until("the run stays", || world.count("stays") == times);
    let last = world.journal("stays").pop().expect("it has said so");
    last["outcome"].as_str().expect("a word").to_owned()
}

/// A run that stays because 1.1 has used its attempts.
fn blocked() -> (World, Child) {
    let world = planned(TWO);
    let run = at_work(&world, &agent(&world, WITH_GO), &["--stay", "--max-task-iterations", "1"]);
    assert_eq!(stays(&world, 1), "blocked");
    (world, run)
}

/// Gives a run that stays the time of a few looks.
fn look_around(world: &World) {
    (0..20).for_each(|_| drop(world.specum(&["status"])));
}

fn ends(run: &mut Child, code: i32) {
    assert_eq!(run.wait().unwrap().code(), Some(code));
}

#[test]
fn a_paused_run_that_stays_holds_nothing_and_goes_on_when_it_is_resumed() {
    let world = planned(TWO);
    let waits = agent(
        &world,
        "echo $id > $HOME/line; cat $HOME/gate; echo x > $id.txt; echo TASK_COMPLETE\n",
    );
    let mut line = Listener::new(&world, "line");
    fifo(&world.home().join("gate"));
    let mut run = at_work(&world, &waits, &["--stay"]);
    assert_eq!(line.line(), "1.1");
    world.specum(&["pause"]).exits(0);
    assert_eq!(stays(&world, 1), "paused");
    let left = processes(&world);
    assert!(matches!(left.as_slice(), [run] if run.contains("--stay")), "no agent: {left:?}");
    assert!(world.read_state()["owner"].is_null(), "and nothing is held or charged");
    // What lets no paused loop go on.
    world.person(&["note", "1.1", "gently"]);
    world.person(&["retry", "1.2"]);
    look_around(&world);
    world.write("mine.txt", "mine\n");
    world.person(&["finish", "1.2"]);
    assert_eq!(world.count("run-started"), 1);
    world.specum(&["resume"]).exits(0);
    assert_eq!(line.line(), "1.1");
    drop(gate(&world.home().join("gate")));
    ends(&mut run, 0);
    assert_eq!(world.read(TASKS), TWO.replace("[ ]", "[x]"));
    let outcomes: Vec<_> =
        world.journal("run-ended").iter().map(|record| record["outcome"].clone()).collect();
    assert_eq!(outcomes, ["paused", "complete"]);
    nothing_is_left(&world);
}

#[test]
fn a_blocked_run_that_stays_goes_on_with_another_round() {
    let (world, mut run) = blocked();
    std::fs::write(world.home().join("go"), "").unwrap();
    world.person(&["retry", "1.1"]);
    ends(&mut run, 0);
    assert_eq!(world.read(TASKS), TWO.replace("[ ]", "[x]"));
    assert_eq!((world.count("run-started"), world.count("failed")), (2, 1));
}

#[test]
fn a_blocked_run_that_stays_goes_on_when_a_person_has_done_the_task_by_hand() {
    let (world, mut run) = blocked();
    std::fs::write(world.home().join("go"), "").unwrap();
    world.write("mine.txt", "mine\n");
    world.person(&["finish", "1.1"]);
    ends(&mut run, 0);
    assert_eq!(world.read(TASKS), TWO.replace("[ ]", "[x]"));
    assert_eq!(world.count("launched"), 2, "1.1 before, and 1.2");
}

#[test]
fn a_run_at_a_cap_that_stays_goes_on_with_a_higher_one_and_not_without() {
    let world = planned(TWO);
    std::fs::write(world.home().join("go"), "").unwrap();
    let options = ["--stay", "--max-global-iterations", "1"];
    let mut run = at_work(&world, &agent(&world, WITH_GO), &options);
    assert_eq!(stays(&world, 1), "capped");
    world.specum(&["resume"]).exits(0);
    look_around(&world);
    world.person(&["resume", "--max-global-iterations", "5"]);
    ends(&mut run, 0);
    assert_eq!(world.read(TASKS), TWO.replace("[ ]", "[x]"));
    assert_eq!(world.count("run-started"), 2, "the first word changed nothing");
}

#[test]
fn a_run_that_stays_says_what_it_waits_for() {
    let world = planned(TWO);
    let mut command = command_run(&world, &agent(&world, "exit 1"), &["--stay", "--attempts", "1"]);
    let run = command.stdout(Stdio::piped()).spawn().unwrap();
    assert_eq!(stays(&world, 1), "blocked");
    world.specum(&["cancel"]).exits(0);
    let said = String::from_utf8(run.wait_with_output().unwrap().stdout).unwrap();
    let summary = said.find("`specum log 1.1` shows what happened").expect("the summary");
    let waits = said.find("Waiting here for your word").expect("that it waits");
    assert!(summary < waits, "{said}");
    let log = world.specum(&["log"]);
    assert!(log.exits(0).stdout.contains("waits for you, blocked"), "{}", log.stdout);
}

#[test]
fn a_run_that_stays_is_ended_by_ctrl_c_and_by_cancel() {
    let (world, mut run) = blocked();
    send(&run, Signal::INT);
    ends(&mut run, 130);
    assert!(world.path(STATE).exists(), "the loop waits as it did");
    let (world, mut run) = blocked();
    world.specum(&["cancel"]).exits(0);
    ends(&mut run, 6);
    assert_eq!(world.count("run-started"), 1);
}
