//! A run that is told to stop: by a signal, by another process, or not at all.
//! Whoever worked for it ends with it, or is ended by the next one.

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{
    Listener, TASKS, agent, at_work, command_run, committed, nothing_is_left, planned, processes,
    references, send, told,
};
use crate::world::{World, call, fifo, gate, lives, until};

const FOUR: &str = "- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n- [ ] 1.3 [P] c\n- [ ] 1.4 [P] d\n";
const ONE: &str = "- [ ] 1.1 a\n";

/// Writes half a file and stays, with two that are in sessions of their own:
/// a child that hears no signal it could ignore, and one whose parent is gone
/// and whose environment is empty. With `$HOME/go` it does its work.
const STUBBORN: &str = r#"
test -e "$HOME/go" && { echo whole > "$id.txt"; echo TASK_COMPLETE; exit; }
echo half > "$id.txt"
stay='trap "" TERM HUP INT; echo "$0 $$" > "$1/line"; exec sleep 600'
setsid sh -c "$stay" "$id deaf" "$HOME" &
(env -i PATH="$PATH" setsid sh -c "$stay" "$id bare" "$HOME" &)
wait
"#;

fn go(world: &World) {
    File::create(world.home().join("go")).unwrap();
}

/// The numbers that agents have said.
fn pids(lines: &[String]) -> Vec<&str> {
    lines.iter().map(|line| line.rsplit(' ').next().unwrap()).collect()
}

/// Asserts that an interrupted run has left everything in order, and that the
/// next one comes to the end without a failed attempt.
fn goes_on(world: &World, agent: &str, tasks: &[&str]) {
    let state = world.read_state();
    assert_eq!(state["owner"], Value::Null, "nobody holds the spec");
    nothing_is_left(world);
    go(world);
    call(command_run(world, agent, &[]), b"").exits(0);
    assert_eq!(committed(world), tasks);
    assert_eq!(told(world, "failed"), 0, "an interruption is no failure");
    let attempts = world.git(&["log", "--format=%(trailers:key=Attempt,valueonly,separator=)"]);
    let attempts: Vec<&str> = attempts.split_whitespace().collect();
    assert_eq!(attempts, vec!["1"; tasks.len()]);
    nothing_is_left(world);
}

fn four_agents_end_with(signal: Signal) {
    let world = planned(FOUR);
    let agent = agent(&world, STUBBORN);
    let mut line = Listener::new(&world, "line");
    let mut run = at_work(&world, &agent, &[]);
    let said = line.lines(8);
    assert!(pids(&said).iter().all(|pid| lives(pid)), "{said:?}");
    send(&run, signal);
    assert_eq!(run.wait().unwrap().code(), Some(128 + signal.as_raw()));
    assert!(pids(&said).iter().all(|pid| !lives(pid)), "{said:?}");
    assert_eq!(processes(&world), [""; 0]);
    let kept: Vec<String> =
        (1..=4).map(|n| format!("refs/specum/test-spec/kept/1.{n}-1")).collect();
    assert_eq!(references(&world), kept);
    goes_on(&world, &agent, &["1.1", "1.2", "1.3", "1.4"]);
}

#[test]
fn fault_30_ctrl_c_left_the_agents_children_running() {
    four_agents_end_with(Signal::INT);
}

#[test]
fn a_request_to_terminate_ends_everything_as_ctrl_c_does() {
    four_agents_end_with(Signal::TERM);
}

#[test]
fn a_terminal_that_is_closed_ends_everything_as_ctrl_c_does() {
    four_agents_end_with(Signal::HUP);
}

#[test]
fn finding_38_ctrl_backslash_ends_everything_as_ctrl_c_does() {
    four_agents_end_with(Signal::QUIT);
}

#[test]
fn finding_38_an_agent_and_a_check_die_with_a_run_that_is_killed() {
    let stay = "echo $$ > $HOME/line; while :; do read x < $HOME/never; done";
    for (plan, script) in
        [(ONE.to_owned(), stay), (format!("{ONE}  - **Verify**: `{stay}`\n"), "echo TASK_COMPLETE")]
    {
        let world = planned(&plan);
        fifo(&world.home().join("never"));
        let agent = agent(&world, script);
        let mut line = Listener::new(&world, "line");
        let mut run = at_work(&world, &format!("exec {agent}"), &[]);
        let pid = line.line();
        send(&run, Signal::KILL);
        assert_eq!(run.wait().unwrap().signal(), Some(9));
        until("it has ended", || !lives(&pid));
    }
}

#[test]
fn an_agent_and_a_check_that_die_of_the_signal_that_ends_the_run_have_not_failed() {
    // As a supervisor does it that signals all of a service, one after another.
    for signal in [Signal::HUP, Signal::TERM] {
        let stay = "test -e $HOME/go || { echo $$ > $HOME/line; read x < $HOME/never; }";
        for (plan, script) in [
            (ONE.to_owned(), format!("{stay}; echo whole > a.txt; echo TASK_COMPLETE")),
            (
                format!("{ONE}  - **Verify**: `{stay}`\n"),
                "echo whole > a.txt; echo TASK_COMPLETE".to_owned(),
            ),
        ] {
            let world = planned(&plan);
            fifo(&world.home().join("never"));
            let agent = agent(&world, &script);
            let mut line = Listener::new(&world, "line");
            let mut run = at_work(&world, &format!("exec {agent}"), &[]);
            let pid = line.line();
            let child = Pid::from_raw(pid.parse().unwrap()).unwrap();
            kill_process(child, signal).unwrap();
            until("it has ended", || !lives(&pid));
            send(&run, signal);
            assert_eq!(run.wait().unwrap().code(), Some(128 + signal.as_raw()));
            goes_on(&world, &agent, &["1.1"]);
        }
    }
}

#[test]
fn what_an_interrupted_agent_changed_is_kept_and_the_next_one_told_where() {
    let world = planned(ONE);
    let script = format!("{STUBBORN}\n")
        .replace("echo whole", "printf '%s' \"$brief\" > \"$HOME/brief\"; mkdir dir; echo whole");
    let agent = agent(
        &world,
        &script.replace("echo half", "mkdir -p dir/deep; echo half > dir/deep/x; echo half"),
    );
    let mut line = Listener::new(&world, "line");
    let mut run = at_work(&world, &agent, &[]);
    line.lines(2);
    send(&run, Signal::INT);
    assert_eq!(run.wait().unwrap().code(), Some(130));
    let kept = "refs/specum/test-spec/kept/1.1-1";
    assert_eq!(world.git(&["show", &format!("{kept}:1.1.txt")]), "half\n");
    assert_eq!(world.git(&["show", &format!("{kept}:dir/deep/x")]), "half\n");
    assert!(!world.path("dir").exists(), "a folder that was not there is not there");
    goes_on(&world, &agent, &["1.1"]);
    let brief = std::fs::read_to_string(world.home().join("brief")).unwrap();
    assert!(brief.contains(kept), "{brief}");
}

#[test]
fn what_a_person_changes_after_an_interruption_is_theirs() {
    let world = planned(ONE);
    let agent = agent(&world, STUBBORN);
    let mut line = Listener::new(&world, "line");
    let mut run = at_work(&world, &agent, &[]);
    line.lines(2);
    send(&run, Signal::INT);
    assert_eq!(run.wait().unwrap().code(), Some(130));
    world.write("mine.txt", "by hand");
    go(&world);
    let refused = call(command_run(&world, &agent, &[]), b"");
    assert!(refused.exits(1).stderr.contains("mine.txt"), "{}", refused.stderr);
    assert_eq!(world.read("mine.txt"), "by hand");
    call(command_run(&world, &agent, &["--allow-dirty"]), b"").exits(0);
    assert_eq!(world.git(&["status", "--porcelain"]), "?? mine.txt\n");
    assert_eq!(world.read("mine.txt"), "by hand");
}

#[test]
fn a_second_ctrl_c_does_not_wait_for_git_and_leaves_no_lock() {
    let world = planned(ONE);
    let agent = agent(&world, "echo whole > a.txt; echo TASK_COMPLETE\n");
    let mut line = Listener::new(&world, "line");
    let gate = world.home().join("gate");
    fifo(&gate);
    world.git_hook("pre-commit", "echo committing > \"$HOME/line\"; cat \"$HOME/gate\"\n");
    let mut run = at_work(&world, &agent, &[]);
    assert_eq!(line.line(), "committing");
    assert!(world.path(".git/index.lock").exists(), "git is in the middle of it");
    // Two that are not taken for one.
    send(&run, Signal::INT);
    send(&run, Signal::TERM);
    assert_eq!(run.wait().unwrap().code(), Some(130));
    until("every process has ended", || processes(&world).is_empty());
    assert!(!world.path(".git/index.lock").exists());
    world.git_hook("pre-commit", "exit 0\n");
    call(command_run(&world, &agent, &[]), b"").exits(0);
    assert_eq!(committed(&world), ["1.1"]);
    nothing_is_left(&world);
}

#[test]
fn a_first_ctrl_c_lets_a_commit_be_made() {
    let world = planned("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    let agent = agent(&world, "echo whole > $id.txt; echo TASK_COMPLETE\n");
    let mut line = Listener::new(&world, "line");
    let place = world.home().join("gate");
    fifo(&place);
    world.git_hook("pre-commit", "echo committing > \"$HOME/line\"; cat \"$HOME/gate\"\n");
    let mut run = at_work(&world, &agent, &[]);
    line.line();
    send(&run, Signal::INT);
    drop(gate(&place));
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert_eq!(committed(&world), ["1.1"]);
    world.git_hook("pre-commit", "exit 0\n");
    goes_on(&world, &agent, &["1.1", "1.2"]);
}

#[test]
fn a_run_that_was_started_to_outlive_its_terminal_does() {
    let world = planned(ONE);
    let agent = agent(&world, "echo in > $HOME/line; cat $HOME/gate; echo TASK_COMPLETE\n");
    let mut line = Listener::new(&world, "line");
    let place = world.home().join("gate");
    fifo(&place);
    // As nohup does it.
    let run = world.command();
    let mut started = Command::new("sh");
    started
        .args(["-c", "trap '' HUP; exec \"$SPECUM\" run --agent-command \"$AGENT\""])
        .current_dir(&world.root)
        .env_clear()
        .envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("AGENT", &agent)
        .env("SPECUM", run.get_program())
        .stdout(Stdio::null());
    let mut run = started.spawn().unwrap();
    line.line();
    send(&run, Signal::HUP);
    drop(gate(&place));
    assert_eq!(run.wait().unwrap().code(), Some(0));
    assert_eq!(committed(&world), ["1.1"]);
}

#[test]
fn git_in_the_hands_of_an_agent_leaves_no_lock_when_it_is_ended() {
    let world = planned(ONE);
    let agent = agent(
        &world,
        "test -e \"$HOME/go\" || { echo x > x.txt; git add x.txt; git commit -m mine x.txt; }\n\
         echo whole > a.txt; echo TASK_COMPLETE\n",
    );
    let mut line = Listener::new(&world, "line");
    world.git_hook(
        "pre-commit",
        "test -e \"$HOME/go\" || { echo in > \"$HOME/line\"; sleep 600; }\n",
    );
    let mut run = at_work(&world, &agent, &[]);
    line.line();
    assert!(world.path(".git/index.lock").exists(), "the agent's git is in the middle of it");
    send(&run, Signal::INT);
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert!(!world.path(".git/index.lock").exists());
    goes_on(&world, &agent, &["1.1"]);
}

#[test]
fn an_interrupted_check_ends_and_decides_nothing() {
    for plan in [
        "- [ ] 1.1 a\n  - **Verify**: `test -e $HOME/go || { echo $$ > $HOME/line; setsid sleep 600; }`\n",
        "- [ ] 1.1 [VERIFY] a\n  - **Verify**: `test -e $HOME/go || { echo $$ > $HOME/line; setsid sleep 600; }`\n",
    ] {
        let world = planned(plan);
        let agent = agent(&world, "echo whole > a.txt; echo TASK_COMPLETE\n");
        let mut line = Listener::new(&world, "line");
        let mut run = at_work(&world, &agent, &[]);
        let check = line.line();
        send(&run, Signal::INT);
        assert_eq!(run.wait().unwrap().code(), Some(130));
        assert!(!lives(&check));
        assert!(world.read(TASKS).starts_with("- [ ] 1.1"));
        goes_on(&world, &agent, &["1.1"]);
    }
}

#[test]
fn pause_from_another_terminal_ends_the_agents_at_once() {
    let world = planned(FOUR);
    let agent = agent(&world, STUBBORN);
    let mut line = Listener::new(&world, "line");
    let mut run = at_work(&world, &agent, &[]);
    let said = line.lines(8);
    world.specum(&["pause"]).exits(0);
    assert_eq!(run.wait().unwrap().code(), Some(6));
    assert!(pids(&said).iter().all(|pid| !lives(pid)), "{said:?}");
    world.specum(&["resume"]).exits(0);
    goes_on(&world, &agent, &["1.1", "1.2", "1.3", "1.4"]);
}

#[test]
fn fault_35_cancel_waited_for_the_iteration_to_finish() {
    let world = planned(ONE);
    let agent = agent(&world, STUBBORN);
    let mut line = Listener::new(&world, "line");
    let mut run = at_work(&world, &agent, &[]);
    let said = line.lines(2);
    world.specum(&["cancel"]).exits(0);
    assert_eq!(run.wait().unwrap().code(), Some(6));
    assert!(pids(&said).iter().all(|pid| !lives(pid)), "{said:?}");
    assert!(!world.path("specs/test-spec/.ralph-state.json").exists());
    assert_eq!(world.read(TASKS), ONE, "the plan is kept");
    nothing_is_left(&world);
    assert_eq!(world.git(&["show", "refs/specum/test-spec/kept/1.1-1:1.1.txt"]), "half\n");
    go(&world);
    call(command_run(&world, &agent, &[]), b"").exits(0);
    assert_eq!(committed(&world), ["1.1"]);
}

#[test]
fn cancelling_a_group_keeps_what_it_had_done() {
    let world = planned(FOUR);
    let agent = agent(&world, STUBBORN);
    let mut line = Listener::new(&world, "line");
    let mut run = at_work(&world, &agent, &[]);
    line.lines(8);
    world.specum(&["cancel"]).exits(0);
    assert_eq!(run.wait().unwrap().code(), Some(6));
    nothing_is_left(&world);
    assert_eq!(references(&world).len(), 4, "{:?}", references(&world));
}

#[test]
fn a_spec_that_is_moved_to_the_trash_is_not_worked_any_more() {
    let world = planned(ONE);
    let agent = agent(&world, STUBBORN);
    let mut line = Listener::new(&world, "line");
    let mut run = at_work(&world, &agent, &[]);
    let said = line.lines(2);
    world.specum(&["cancel", "--remove"]).exits(0);
    assert_eq!(run.wait().unwrap().code(), Some(6));
    assert!(pids(&said).iter().all(|pid| !lives(pid)), "{said:?}");
    assert!(!world.path("specs/test-spec").exists(), "nothing is written into it any more");
}

#[test]
fn agents_that_outlive_a_killed_run_are_ended_by_the_next_and_their_work_kept() {
    for plan in [ONE, FOUR] {
        let world = planned(plan);
        // Nobody finds what has shed its mark and its parents.
        let agent = agent(&world, &STUBBORN.replace("env -i", "env"));
        let mut line = Listener::new(&world, "line");
        let mut run = at_work(&world, &agent, &[]);
        let tasks = plan.lines().count();
        let said = line.lines(2 * tasks);
        send(&run, Signal::KILL);
        assert_eq!(run.wait().unwrap().signal(), Some(9));
        assert!(pids(&said).iter().all(|pid| lives(pid)), "they live on");
        go(&world);
        call(command_run(&world, &agent, &[]), b"").exits(0);
        assert!(pids(&said).iter().all(|pid| !lives(pid)), "{said:?}");
        assert_eq!(committed(&world).len(), tasks);
        assert_eq!(references(&world).len(), tasks, "what each had left is kept");
        assert_eq!(world.git(&["show", &format!("{}:1.1.txt", references(&world)[0])]), "half\n");
        nothing_is_left(&world);
    }
}

#[test]
fn what_a_check_has_started_and_outlives_a_killed_run_is_ended_by_the_next() {
    let stay = "sh -c 'echo $$ > $HOME/line; exec sleep 600'";
    let world =
        planned(&format!("{ONE}  - **Verify**: `test -e $HOME/go || {{ {stay}; false; }}`\n"));
    let agent = agent(&world, "echo whole > a.txt; echo TASK_COMPLETE\n");
    let mut line = Listener::new(&world, "line");
    let mut run = at_work(&world, &agent, &[]);
    let check = line.line();
    send(&run, Signal::KILL);
    run.wait().unwrap();
    assert!(lives(&check), "it lives on");
    go(&world);
    call(command_run(&world, &agent, &[]), b"").exits(0);
    assert!(!lives(&check));
    nothing_is_left(&world);
}

#[test]
fn a_run_whose_output_nobody_reads_can_be_stopped() {
    let world = planned(ONE);
    let agent = agent(&world, "echo $$ > \"$HOME/line\"; while :; do echo chatter; done\n");
    let mut line = Listener::new(&world, "line");
    let mut command = command_run(&world, &agent, &["--json"]);
    let mut run = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let pid = line.line();
    // Its pipe is full, and so is everything behind it: the agent stands still.
    until("the agent stands still", || (0..1000).all(|_| sleeps(&pid)));
    send(&run, Signal::INT);
    send(&run, Signal::TERM);
    assert_eq!(run.wait().unwrap().code(), Some(130));
    until("the agent has ended", || !lives(&pid));
}

fn sleeps(pid: &str) -> bool {
    thread::yield_now();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.contains(") S ")
}
