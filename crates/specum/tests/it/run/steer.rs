//! What a person says to the work while it goes on: notes, once more, not this one,
//! wait there.

use super::{Listener, agent, at_work, nothing_is_left, planned, references, run_with};
use crate::world::{TASKS, World, call, fifo, gate, on_a_terminal, specum};

const THREE: &str = "- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 c\n";
const PHASES: &str =
    "## Phase 1: base\n- [ ] 1.1 a\n- [ ] 1.2 b\n\n## Phase 2: rest\n- [ ] 2.1 c\n";

/// Says its task, writes half a file and waits for its gate; then it does its work.
const HELD: &str = "echo half > $id.txt; echo $id > $HOME/line; cat $HOME/gate\n\
                    echo whole > $id.txt; echo TASK_COMPLETE\n";
/// Keeps its brief and does its work.
const KEEPS: &str =
    "printf '%s\\n' \"$brief\" > $HOME/brief.$id; echo x > $id.txt; echo TASK_COMPLETE\n";
/// Does its work, unless it is the one of 1.2.
const FAILS: &str = "test $id = 1.2 && exit 1; echo x > $id.txt; echo TASK_COMPLETE\n";

fn held(plan: &str) -> (World, std::process::Child, Listener) {
    let world = planned(plan);
    let agent = agent(&world, HELD);
    let mut line = Listener::new(&world, "line");
    fifo(&world.home().join("gate"));
    let run = at_work(&world, &agent, &[]);
    assert_eq!(line.line(), "1.1");
    (world, run, line)
}

fn open(world: &World) {
    drop(gate(&world.home().join("gate")));
}

#[test]
fn a_skipped_task_is_never_ticked_and_the_run_says_so() {
    let world = planned(THREE);
    let agent = agent(&world, KEEPS);
    world.specum(&["implement"]).exits(0);
    world.person(&["skip", "1.2"]);
    assert!(world.person(&["skip", "1.2"]).contains("skipped already"));
    let ended = run_with(&world, &agent, &[]);
    assert!(ended.exits(0).stdout.contains("done but for 1 that you skipped"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("omplete"), "{}", ended.stdout);
    assert_eq!(world.read(TASKS), "- [x] 1.1 a\n- [ ] 1.2 b\n- [x] 1.3 c\n");
    let skipped = &world.journal("skipped")[0];
    assert_eq!((&skipped["by"], &skipped["via"]), (&"person".into(), &"terminal".into()));
    assert_eq!(world.journal("run-ended")[0]["outcome"], "chosen-done");
    world.person(&["unskip", "1.2"]);
    run_with(&world, &agent, &[]).exits(0);
    assert_eq!(world.read(TASKS), "- [x] 1.1 a\n- [x] 1.2 b\n- [x] 1.3 c\n");
    assert!(!world.path(crate::world::STATE).exists(), "the loop is complete");
}

#[test]
fn a_note_stands_in_every_brief_until_its_task_passes() {
    let world = planned(THREE);
    let agent = agent(&world, KEEPS);
    world.specum(&["implement"]).exits(0);
    world.person(&["note", "1.2", "look", "at the store"]);
    world.person(&["note", "--all", "write short words"]);
    world.person(&["note", "1.3", "never mind"]);
    world.person(&["note", "1.3", "--withdraw"]);
    run_with(&world, &agent, &[]).exits(0);
    let brief =
        |id: &str| std::fs::read_to_string(world.home().join(format!("brief.{id}"))).unwrap();
    let heading = "## A word from the person in charge\n";
    assert!(brief("1.1").contains(&format!("{heading}- write short words\n")), "{}", brief("1.1"));
    let both = format!("{heading}- look at the store\n- write short words\n");
    assert!(brief("1.2").contains(&both), "{}", brief("1.2"));
    assert!(!brief("1.3").contains("never mind"), "{}", brief("1.3"));
}

#[test]
fn a_note_survives_the_attempts_that_fail() {
    let world = planned("- [ ] 1.1 a\n");
    let agent = agent(
        &world,
        "printf '%s\\n' \"$brief\" > $HOME/brief; test -e $HOME/once || { touch $HOME/once; exit 1; }\n\
         echo x > a; echo TASK_COMPLETE\n",
    );
    world.specum(&["implement"]).exits(0);
    world.person(&["note", "1.1", "mind the lock"]);
    run_with(&world, &agent, &[]).exits(0);
    assert_eq!(world.count("failed"), 1);
    let brief = std::fs::read_to_string(world.home().join("brief")).unwrap();
    assert!(brief.contains("- mind the lock\n"), "{brief}");
}

#[test]
fn a_note_may_come_through_a_pipe_at_a_persons_terminal_and_through_no_agents() {
    let world = World::started(THREE);
    let mut shell = world.program("sh");
    let piped = "printf 'mind the lock\\nand the key\\n' | \"$0\" note 1.1 -";
    shell.args(["-c", piped]).arg(specum());
    let shown = on_a_terminal(shell);
    assert!(shown.contains("noted for every further attempt at 1.1"), "{shown}");
    assert_eq!(world.journal("noted")[0]["text"], "mind the lock\nand the key");
    let refused = world.specum_with(&["note", "1.1", "-"], b"weaken the check");
    assert!(refused.exits(1).stderr.contains("is a person's to say"), "{}", refused.stderr);
    assert_eq!(world.count("noted"), 1);
}

#[test]
fn a_note_that_nobody_could_read_is_refused() {
    let world = World::started(THREE);
    for (note, says) in [("", "the note is empty"), (&*"x".repeat(4001), "at most 4000")] {
        let (shown, code) = world.person_gets(&["note", "1.1", note]);
        assert!(code == Some(2) && shown.contains(says), "{shown}");
    }
    assert_eq!(world.count("noted"), 0);
}

#[test]
fn a_running_attempt_that_is_retried_is_ended_kept_and_begun_anew_without_being_counted() {
    let (world, mut run, mut line) = held(THREE);
    world.person(&["note", "1.1", "another way"]);
    let said = world.person(&["retry", "1.1"]);
    assert!(said.contains("the attempt at 1.1 is ended and kept"), "{said}");
    assert_eq!(line.line(), "1.1", "it begins anew");
    let kept = references(&world).into_iter().find(|name| name.contains("/kept/1.1-1"));
    let kept = kept.expect("what it had made is kept");
    assert_eq!(world.git(&["show", &format!("{kept}:1.1.txt")]), "half\n");
    for task in ["1.2", "1.3"] {
        open(&world);
        assert_eq!(line.line(), task);
    }
    open(&world);
    assert_eq!(run.wait().unwrap().code(), Some(0));
    assert_eq!(world.count("failed"), 0, "it was no attempt that failed");
    let opened: Vec<_> =
        world.journal("opened").iter().map(|record| record["attempt"].clone()).collect();
    assert_eq!(opened, [1, 1, 1, 1], "nor one that counts");
    assert_eq!(world.git(&["show", "HEAD:1.1.txt"]), "whole\n");
    nothing_is_left(&world);
}

#[test]
fn a_running_attempt_that_is_skipped_is_ended_and_the_run_goes_on_without_it() {
    let (world, mut run, mut line) = held(THREE);
    world.person(&["skip", "1.1"]);
    assert_eq!(line.line(), "1.2");
    open(&world);
    assert_eq!(line.line(), "1.3");
    open(&world);
    assert_eq!(run.wait().unwrap().code(), Some(0));
    assert_eq!(world.read(TASKS), "- [ ] 1.1 a\n- [x] 1.2 b\n- [x] 1.3 c\n");
    assert!(!world.path("1.1.txt").exists(), "what it had made is kept, and not in the tree");
}

#[test]
fn a_blocked_task_that_is_retried_or_skipped_lets_the_loop_go_on() {
    for verb in ["retry", "skip"] {
        let world = planned(THREE);
        let agent = agent(&world, FAILS);
        let blocked = run_with(&world, &agent, &["--max-task-iterations", "1"]);
        assert!(blocked.exits(6).stdout.contains("1.2"), "{}", blocked.stdout);
        world.person(&[verb, "1.2"]);
        let good = super::agent(&world, KEEPS);
        run_with(&world, &good, &[]).exits(0);
        let ticked = if verb == "skip" { " " } else { "x" };
        assert_eq!(world.read(TASKS), format!("- [x] 1.1 a\n- [{ticked}] 1.2 b\n- [x] 1.3 c\n"));
    }
}

#[test]
fn a_ticked_task_is_worked_once_more_with_a_loop_and_without_one() {
    let world = planned(THREE);
    let agent = agent(&world, KEEPS);
    run_with(&world, &agent, &[]).exits(0);
    let commits = world.git(&["rev-list", "--count", "HEAD"]);
    let said = world.person(&["retry", "1.2"]);
    assert!(said.contains("1.2 is open again; its commits stay"), "{said}");
    assert_eq!(world.read(TASKS), "- [x] 1.1 a\n- [ ] 1.2 b\n- [x] 1.3 c\n");
    assert_eq!(world.git(&["rev-list", "--count", "HEAD"]), commits);
    world.specum(&["implement"]).exits(0);
    world.person(&["retry", "1.3"]);
    assert_eq!(world.read(TASKS), "- [x] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 c\n");
    world.git(&["commit", "--quiet", "-am", "opened"]);
    run_with(&world, &agent, &[]).exits(0);
    assert_eq!(world.read(TASKS), "- [x] 1.1 a\n- [x] 1.2 b\n- [x] 1.3 c\n");
}

#[test]
fn a_pause_after_the_task_lets_it_come_to_its_verdict_first() {
    let (world, mut run, _line) = held(THREE);
    world.person(&["pause", "--after", "task"]);
    open(&world);
    assert_eq!(run.wait().unwrap().code(), Some(6));
    assert_eq!(world.read(TASKS), "- [x] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 c\n");
    assert_eq!(world.count("opened"), 1, "nothing new was begun");
    assert!(world.specum(&["next"]).exits(6).stdout.contains("Paused"));
}

#[test]
fn a_pause_after_the_phase_lets_the_phase_come_to_its_end() {
    let world = planned(PHASES);
    let agent = agent(&world, KEEPS);
    world.specum(&["implement"]).exits(0);
    let said = world.person(&["pause", "--after", "phase"]);
    assert!(said.contains("after the phase `Phase 1: base`"), "{said}");
    run_with(&world, &agent, &[]).exits(6);
    assert_eq!(world.read(TASKS), PHASES.replace("[ ] 1", "[x] 1"));
    run_with(&world, &agent, &[]).exits(0);
    assert_eq!(world.read(TASKS), PHASES.replace("[ ]", "[x]"), "it has waited once");
}

#[test]
fn each_phase_waits_for_its_approval_and_to_resume_is_not_to_approve() {
    let world = planned(PHASES);
    let agent = agent(&world, KEEPS);
    let waits = run_with(&world, &agent, &["--approve", "phase"]);
    assert!(waits.exits(6).stdout.contains("waits for your approval"), "{}", waits.stdout);
    assert_eq!(world.read(TASKS), PHASES.replace("[ ] 1", "[x] 1"));
    assert_eq!(world.read_state()["waitingFor"], "Phase 2: rest");
    let refused = world.specum(&["resume"]);
    assert!(refused.exits(3).stderr.contains("`specum approve`"), "{}", refused.stderr);
    run_with(&world, &agent, &[]).exits(6);
    assert_eq!(world.read(TASKS), PHASES.replace("[ ] 1", "[x] 1"), "nor is to run");
    world.person(&["approve"]);
    run_with(&world, &agent, &[]).exits(0);
    assert_eq!(world.read(TASKS), PHASES.replace("[ ]", "[x]"));
}

#[test]
fn a_loop_that_has_reached_a_cap_goes_on_with_a_higher_one() {
    let world = planned(THREE);
    let agent = agent(&world, KEEPS);
    run_with(&world, &agent, &["--max-global-iterations", "1"]).exits(6);
    run_with(&world, &agent, &[]).exits(6);
    world.person(&["resume", "--max-global-iterations", "9"]);
    run_with(&world, &agent, &[]).exits(0);
    assert_eq!(world.journal("resumed")[0]["by"], "person");
}

#[test]
fn what_is_a_persons_is_refused_from_an_agents_shell() {
    let world = World::started(PHASES);
    let before = world.read(TASKS);
    let verbs: [&[&str]; 7] = [
        &["note", "1.1", "x"],
        &["retry", "1.1"],
        &["skip", "1.1"],
        &["unskip", "1.1"],
        &["undo", "1.1"],
        &["approve"],
        &["resume", "--max-cost", "50"],
    ];
    for args in verbs {
        let (shown, code) = world.at_a_terminal(args, &[("CLAUDECODE", "1")]);
        let refusal = format!("`specum {}` is a person's to say", args[0]);
        assert!(code == Some(1) && shown.contains(&refusal), "{shown}");
        let mut command = world.command();
        command.args(args).env("SPECUM_MARK", "x");
        assert!(call(command, b"").exits(1).stderr.contains(&refusal));
    }
    assert_eq!(world.read(TASKS), before);
}
