//! Who works a spec while a run does, and what a person does to it meanwhile.

use std::fs;

use rustix::process::Signal;
use serde_json::json;

use super::{
    Listener, agent, at_work, command_run, committed, nothing_is_left, planned, run_with, send,
};
use crate::world::{TASKS, World, call, fifo, gate};

const TWO: &str = "- [ ] 1.1 a\n- [ ] 1.2 b\n";

/// An agent that says its task and works once its gate is opened.
const HELD: &str = "echo $id > $HOME/line; cat $HOME/gate; echo x > $id.txt; echo TASK_COMPLETE\n";

/// A run whose first agent is at work and waits.
struct Held {
    world: World,
    agent: String,
    run: std::process::Child,
    line: Listener,
}

impl Held {
    fn with(tasks: &str, script: &str) -> Held {
        let world = planned(tasks);
        let agent = agent(&world, script);
        let mut line = Listener::new(&world, "line");
        fifo(&world.home().join("gate"));
        let run = at_work(&world, &agent, &[]);
        assert_eq!(line.line(), "1.1");
        Held { world, agent, run, line }
    }

    /// Lets the agent go that waits.
    fn open(&self) {
        drop(gate(&self.world.home().join("gate")));
    }

    fn end(&mut self) -> Option<i32> {
        self.run.wait().unwrap().code()
    }

    fn edit(&self, from: &str, to: &str) {
        let text = self.world.read(TASKS);
        assert!(text.contains(from), "{text}");
        self.world.write(TASKS, text.replace(from, to));
    }
}

#[test]
fn nobody_ends_an_attempt_that_a_run_works() {
    let mut held = Held::with("- [ ] 1.1 a\n", HELD);
    for verb in ["finish", "fail"] {
        let refused = held.world.specum_with(&[verb, "1.1"], b"not done");
        assert!(
            refused.exits(5).stderr.contains("stop it there, or with `specum pause test-spec`"),
            "{}",
            refused.stderr
        );
    }
    held.open();
    assert_eq!(held.end(), Some(0));
    assert_eq!(
        held.world.git(&["log", "-1", "--name-only", "--format=", "--", "1.1.txt"]),
        "1.1.txt\n"
    );
    nothing_is_left(&held.world);
}

#[test]
fn two_runs_do_not_work_one_spec() {
    let mut held = Held::with(TWO, HELD);
    let pid = held.run.id().to_string();
    for args in [&[][..], &["--take-over"]] {
        let second = call(command_run(&held.world, &held.agent, args), b"");
        second.exits(5);
        assert!(second.stderr.contains(&format!("process {pid}")), "{}", second.stderr);
    }
    held.open();
    assert_eq!(held.line.line(), "1.2");
    held.open();
    assert_eq!(held.end(), Some(0), "the first one has not noticed");
    assert_eq!(committed(&held.world), ["1.1", "1.2"]);
    nothing_is_left(&held.world);
}

#[test]
fn a_session_does_not_begin_what_a_run_works() {
    let mut held = Held::with(TWO, HELD);
    let refused = held.world.specum(&["implement"]);
    assert!(
        refused.exits(5).stderr.contains("is being worked on by `specum run`"),
        "{}",
        refused.stderr
    );
    held.world.stop().silent();
    let state = held.world.read_state();
    assert_eq!(state["owner"]["process"]["pid"], held.run.id(), "{state}");
    send(&held.run, Signal::INT);
    assert_eq!(held.end(), Some(130));
    held.world.specum(&["implement"]).exits(0);
}

#[test]
fn a_session_keeps_its_spec_unless_it_is_taken_over_and_has_it_back_afterwards() {
    let world = planned("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    let script = "test $id = 1.1 || { echo $id > $HOME/line; sleep 600; }\n\
                  echo x > $id.txt; echo TASK_COMPLETE\n";
    let agent = agent(&world, script);
    world.in_session(&["implement"]).exits(0);
    assert!(world.stop().reason().starts_with("Continue"), "the session owns it now");
    let refused = run_with(&world, &agent, &[]);
    refused.exits(5);
    assert!(refused.stderr.contains("session test-session"), "{}", refused.stderr);
    assert!(refused.stderr.contains("--take-over"), "{}", refused.stderr);
    let mut line = Listener::new(&world, "line");
    let mut run = at_work(&world, &agent, &["--take-over"]);
    assert_eq!(line.line(), "1.2");
    world.stop_again().silent();
    send(&run, Signal::INT);
    assert_eq!(run.wait().unwrap().code(), Some(130));
    let reason = world.stop().reason();
    assert!(reason.contains("- [ ] 1.2"), "the session goes on where the run was: {reason}");
    let other = world.hook("stop", &json!({"session_id": "another"}));
    other.silent();
}

#[test]
fn hooks_inside_an_agent_of_a_run_say_nothing() {
    // A loop that nobody works: whoever comes by would be asked to.
    let other = World::started(TWO);
    other.in_session(&["implement"]).exits(0);
    let input = json!({
        "session_id": "test-session", "cwd": other.root, "stop_hook_active": false,
        "tool_name": "Agent", "tool_use_id": "toolu_1",
        "tool_input": {"prompt": "task 1.1", "subagent_type": "ralph-specum:spec-executor"},
        "last_assistant_message": "TASK_COMPLETE",
    })
    .to_string();
    let world = planned(TWO);
    fs::write(world.home().join("input"), &input).unwrap();
    let script = format!(
        "for hook in {}; do {} hook $hook < $HOME/input >> $HOME/said 2>&1; done\n\
         echo x > $id.txt; echo TASK_COMPLETE\n",
        specum::hook::EVENTS.join(" "),
        crate::world::specum().display()
    );
    let agent = agent(&world, &script);
    let before = other.snapshot();
    run_with(&world, &agent, &[]).exits(0);
    assert_eq!(fs::read_to_string(world.home().join("said")).unwrap(), "");
    assert_eq!(other.snapshot(), before, "and remember nothing");
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    for hook in ["session-start", "stop", "pre-tool-use"] {
        let answer = other.specum_with(&["hook", hook], input.as_bytes());
        assert_ne!(answer.exits(0).stdout, "", "{hook} elsewhere");
    }
}

#[test]
fn a_box_that_somebody_ticks_meanwhile_is_opened_again_and_worked() {
    let mut held = Held::with(TWO, HELD);
    held.edit("- [ ] 1.2", "- [x] 1.2");
    held.open();
    assert_eq!(held.line.line(), "1.2", "nobody has done it");
    held.open();
    assert_eq!(held.end(), Some(0));
    assert_eq!(committed(&held.world), ["1.1", "1.2"]);
    let journal = held.world.read(crate::world::JOURNAL);
    assert!(journal.contains("\"unticked\":[\"1.2\"]"), "{journal}");
}

#[test]
fn a_box_that_somebody_ticks_while_its_own_agent_works_is_ticked_once() {
    let mut held = Held::with(TWO, HELD);
    held.edit("- [ ] 1.1", "- [x] 1.1");
    held.open();
    assert_eq!(held.line.line(), "1.2");
    held.open();
    assert_eq!(held.end(), Some(0));
    assert_eq!(committed(&held.world), ["1.1", "1.2"]);
    nothing_is_left(&held.world);
}

#[test]
fn a_task_that_is_added_meanwhile_is_worked_in_its_place() {
    let mut held = Held::with(TWO, HELD);
    held.edit("- [ ] 1.2 b\n", "- [ ] 1.5 between\n- [ ] 1.2 b\n- [ ] 1.9 last\n");
    for next in ["1.5", "1.2", "1.9"] {
        held.open();
        assert_eq!(held.line.line(), next);
    }
    held.open();
    assert_eq!(held.end(), Some(0));
    assert_eq!(committed(&held.world), ["1.1", "1.5", "1.2", "1.9"]);
    nothing_is_left(&held.world);
}

#[test]
fn a_task_that_is_deleted_while_its_agent_works_costs_only_its_attempt() {
    let mut held = Held::with(TWO, HELD);
    held.edit("- [ ] 1.1 a\n", "");
    held.open();
    assert_eq!(held.line.line(), "1.2");
    held.open();
    assert_eq!(held.end(), Some(6), "until somebody agrees");
    assert_eq!(committed(&held.world), ["1.2"], "what nobody wants is not committed");
    assert_eq!(held.world.git(&["status", "--porcelain"]), "?? 1.1.txt\n", "nor thrown away");
    let kept = ["show", "--format=", "--name-only", "refs/specum/test-spec/kept/1.1-1"];
    assert!(held.world.git(&kept).contains("1.1.txt"), "and there is a copy");
    held.world.person(&["accept", "1.1"]);
}

#[test]
fn a_task_of_a_group_that_is_deleted_does_not_disturb_the_others() {
    let plan = "- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n- [ ] 1.3 [P] c\n";
    let script = "test $id != 1.1 || { echo $id > $HOME/line; cat $HOME/gate; }\n\
                  echo x > $id.txt; echo TASK_COMPLETE\n";
    let mut held = Held::with(plan, script);
    held.edit("- [ ] 1.1 [P] a\n", "");
    held.open();
    assert_eq!(held.end(), Some(6), "until somebody agrees");
    assert_eq!(committed(&held.world), ["1.2", "1.3"]);
    nothing_is_left(&held.world);
}

#[test]
fn a_task_that_moves_while_its_group_works_is_found_again() {
    let plan = "- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n";
    let script = "test $id != 1.1 || { echo $id > $HOME/line; cat $HOME/gate; }\n\
                  echo x > $id.txt; echo TASK_COMPLETE\n";
    let mut held = Held::with(plan, script);
    held.edit(plan, "- [ ] 0.9 new\n- [ ] 1.2 [P] b\n- [ ] 1.1 [P] a\n");
    held.open();
    assert_eq!(held.end(), Some(0));
    let mut commits = committed(&held.world);
    commits.sort();
    assert_eq!(commits, ["0.9", "1.1", "1.2"]);
    nothing_is_left(&held.world);
}

#[test]
fn a_state_that_is_spoilt_meanwhile_is_rebuilt_by_the_next_run() {
    let mut held = Held::with(TWO, HELD);
    held.world.write("specs/test-spec/.ralph-state.json", "{");
    held.open();
    assert_eq!(held.end(), Some(4), "it cannot be used");
    held.world.raw_state("{");
    fs::write(held.world.home().join("agent.sh"), "echo TASK_COMPLETE\n").unwrap();
    call(command_run(&held.world, &held.agent, &["--allow-dirty"]), b"").exits(0);
    assert_eq!(held.world.read(TASKS).matches("- [x]").count(), 2);
}
