//! Tasks that a person finishes by hand, with `specum finish` at a terminal.

use super::{Listener, agent, at_work, nothing_is_left, planned, run_with};
use crate::world::{STATE, TASKS, World, fifo, gate};

const PLAN: &str = "- [ ] 1.1 a\n  - **Verify**: `test -e good`\n- [ ] 1.2 b\n";
/// Works on everything but 1.1.
const NEVER: &str = "echo try > $id.txt; echo TASK_COMPLETE\n";

/// A loop that 1.1 blocks.
fn blocked(plan: &str) -> World {
    let world = planned(plan);
    let agent = agent(&world, NEVER);
    run_with(&world, &agent, &["--max-task-iterations", "2"]).exits(6);
    assert_eq!((world.count("failed"), world.count("passed")), (2, 0));
    world
}

#[test]
fn a_blocked_task_that_a_person_has_fixed_is_committed_with_their_changes_and_blocks_no_more() {
    let world = blocked(PLAN);
    world.write("good", "mine\n");
    let said = world.person(&["finish", "1.1"]);
    assert!(said.contains("1.1 passed: verified, ticked, commit"), "{said}");
    assert!(said.contains("`specum run` goes on"), "{said}");
    assert_eq!(world.read(TASKS), PLAN.replace("[ ] 1.1", "[x] 1.1"));
    assert_eq!(world.git(&["show", "HEAD:good"]), "mine\n");
    assert_eq!(world.git(&["show", "HEAD:specs/test-spec/tasks.md"]), world.read(TASKS));
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    assert_eq!((world.count("launched"), world.count("passed")), (2, 1), "no agent was asked");
    assert_eq!(world.journal("opened")[2]["by"], "person");
    assert_eq!(world.count("opened"), 3, "and nothing else is begun");
    run_with(&world, &agent(&world, NEVER), &[]).exits(0);
    assert_eq!(world.read(TASKS), PLAN.replace("[ ]", "[x]"), "nobody had to resume it");
    nothing_is_left(&world);
}

#[test]
fn work_by_hand_whose_check_fails_is_neither_counted_nor_touched() {
    let world = blocked(PLAN);
    world.write("bad", "mine\n");
    let before = (world.read(TASKS), world.read_state(), world.count("opened"));
    for _ in 0..2 {
        let (said, code) = world.person_gets(&["finish", "1.1"]);
        assert!(code == Some(1) && said.contains("`test -e good` ended with code 1"), "{said}");
        assert!(said.contains("Your changes stay as they are"), "{said}");
    }
    assert_eq!((world.read(TASKS), world.read_state(), world.count("opened")), before);
    assert_eq!((world.count("failed"), world.read("bad")), (2, "mine\n".to_owned()));
}

#[test]
fn the_last_task_finished_by_hand_ends_the_loop() {
    let world = blocked("- [ ] 1.1 a\n  - **Verify**: `test -e good`\n");
    world.write("good", "mine\n");
    let said = world.person(&["finish", "1.1"]);
    assert!(said.contains("1 of 1"), "{said}");
    assert_eq!((world.count("completed"), world.path(STATE).exists()), (1, false));
    let (said, code) = world.person_gets(&["finish", "1.1"]);
    assert!(code == Some(3) && said.contains("no loop is running"), "{said}");
}

#[test]
fn an_open_task_is_finished_by_hand_before_its_turn_with_what_is_uncommitted_of_this_spec() {
    let world = planned(PLAN);
    world.write("specs/other/tasks.md", "- [ ] 9.1 other\n");
    world.commit_all();
    world.specum(&["implement"]).exits(0);
    let before = world.count("opened");
    world.write("specs/other/tasks.md", "- [ ] 9.1 another\n");
    world.write("b.txt", "mine\n");
    let said = world.person(&["finish", "1.2"]);
    assert!(said.contains("1.2 passed: unverified, ticked"), "{said}");
    assert_eq!(world.count("opened"), before + 1);
    assert_eq!(world.read(TASKS), PLAN.replace("[ ] 1.2", "[x] 1.2"));
    assert_eq!(world.git(&["show", "HEAD:b.txt"]), "mine\n");
    assert_eq!(world.git(&["status", "--porcelain"]), " M specs/other/tasks.md\n");
    let (said, code) = world.person_gets(&["finish", "1.2"]);
    assert!(code == Some(3) && said.contains("1.2 is done"), "{said}");
}

#[test]
fn nobody_finishes_by_hand_beside_a_run_or_in_an_agents_shell() {
    let world = planned(PLAN);
    let waits = agent(&world, "echo $id > $HOME/line; cat $HOME/gate; echo x > good\n");
    let mut line = Listener::new(&world, "line");
    fifo(&world.home().join("gate"));
    let mut run = at_work(&world, &waits, &["--max-task-iterations", "1"]);
    assert_eq!(line.line(), "1.1");
    world.write("b.txt", "mine\n");
    let (said, code) = world.person_gets(&["finish", "1.2"]);
    assert!(code == Some(5) && said.contains("is being worked on by"), "{said}");
    drop(gate(&world.home().join("gate")));
    run.wait().unwrap();
    let (said, code) = world.at_a_terminal(&["finish", "1.2"], &[("CLAUDECODE", "1")]);
    assert!(code == Some(3) && said.contains("1.2 has no open attempt"), "{said}");
    assert_eq!(world.read(TASKS), PLAN);
}
