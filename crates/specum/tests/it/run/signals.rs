//! A run that is told to stop: by a signal, by another process, or not at all.
//! Whoever worked for it ends with it, or is ended by the next one.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{
    Listener, agent, at_work, command_run, committed, nothing_is_left, planned, processes,
    references, run_with, send, state_home,
};
use crate::world::{TASKS, World, call, fifo, gate, lives, skipped, until};

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
    run_with(world, agent, &[]).exits(0);
    assert_eq!(committed(world), tasks);
    assert_eq!(world.count("failed"), 0, "an interruption is no failure");
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
    let brief = fs::read_to_string(world.home().join("brief")).unwrap();
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
    let refused = run_with(&world, &agent, &[]);
    assert!(refused.exits(1).stderr.contains("mine.txt"), "{}", refused.stderr);
    assert_eq!(world.read("mine.txt"), "by hand");
    run_with(&world, &agent, &["--allow-dirty"]).exits(0);
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
    // Two that are not taken for one.
    send(&run, Signal::INT);
    send(&run, Signal::TERM);
    assert_eq!(run.wait().unwrap().code(), Some(130));
    until("every process has ended", || processes(&world).is_empty());
    assert!(!world.path(".git/index.lock").exists());
    world.git_hook("pre-commit", "exit 0\n");
    run_with(&world, &agent, &[]).exits(0);
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
    run_with(&world, &agent, &[]).exits(0);
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
        run_with(&world, &agent, &[]).exits(0);
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
    run_with(&world, &agent, &[]).exits(0);
    assert!(!lives(&check));
    nothing_is_left(&world);
}

/// A run whose events nobody reads, with an agent that talks without end: it ends
/// with this code, once `end` has done what it does when far more was said than
/// fits into the pipe.
fn ends_unread(args: &[&str], code: i32, end: impl FnOnce(&World, &Child)) {
    let world = planned(ONE);
    let agent = agent(&world, "echo $$ > \"$HOME/line\"; while :; do echo chatter; done\n");
    let mut line = Listener::new(&world, "line");
    let mut command = command_run(&world, &agent, &[&["--json"], args].concat());
    let mut run = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let pid = line.line();
    let log = state_home(&world).join("logs");
    let said = || -> u64 {
        let logs = fs::read_dir(&log).into_iter().flatten().flatten();
        let files = logs.flat_map(|spec| fs::read_dir(spec.path()).into_iter().flatten().flatten());
        files.map(|file| file.metadata().map_or(0, |file| file.len())).sum()
    };
    until("more is said than anybody holds", || said() > 1024 * 1024 || !lives(&pid));
    end(&world, &run);
    assert_eq!(run.wait().unwrap().code(), Some(code));
    assert!(!lives(&pid), "the agent has ended");
    assert_eq!(processes(&world), [""; 0]);
}

#[test]
fn finding_37_a_reader_that_stands_still_does_not_hold_up_a_signal() {
    ends_unread(&[], 143, |_, run| send(run, Signal::TERM));
}

#[test]
fn finding_37_a_reader_that_stands_still_does_not_hold_up_a_pause() {
    ends_unread(&[], 6, |world, _| drop(world.specum(&["pause"])));
}

#[test]
fn finding_37_a_reader_that_stands_still_holds_up_no_limit() {
    ends_unread(&["--max-time", "3s"], 6, |_, _| ());
    ends_unread(&["--task-timeout", "3s", "--max-task-iterations", "1"], 6, |_, _| ());
}

#[test]
fn a_reader_that_stands_still_does_not_hold_up_a_run_that_fails() {
    let args = ["--task-timeout", "3s", "--max-task-iterations", "2"];
    ends_unread(&args, 3, |world, _| {
        fs::remove_file(world.path("specs/test-spec/tasks.md")).unwrap();
    });
}

#[test]
fn finding_37_a_reader_that_is_slow_misses_no_line() {
    let world = planned(ONE);
    let agent = agent(&world, "seq 20000; echo TASK_COMPLETE\n");
    let mut command = command_run(&world, &agent, &["--json"]);
    let mut run = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::with_capacity(64, run.stdout.take().unwrap()).lines();
    let said = |line: String| {
        thread::yield_now();
        serde_json::from_str::<Value>(&line).unwrap()["text"].as_str()?.parse::<u32>().ok()
    };
    assert!(lines.by_ref().filter_map(|line| said(line.unwrap())).eq(1..=20_000));
    assert_eq!(run.wait().unwrap().code(), Some(0));
}

#[test]
fn finding_43_an_agent_that_talks_is_not_silent_while_the_run_is_stopped() {
    let world = planned(ONE);
    let talks = "while ! test -e $HOME/go; do echo talk; echo talk > $HOME/line; sleep 0.1; done";
    let agent = agent(&world, &format!("{talks}\necho whole > a.txt; echo TASK_COMPLETE\n"));
    let mut line = Listener::new(&world, "line");
    let mut run = at_work(&world, &agent, &["--idle-timeout", "2s"]);
    for _ in 0..3 {
        line.line();
        send(&run, Signal::STOP);
        // For more than two seconds it talks, and nobody hears it.
        (0..30).for_each(|_| drop(line.line()));
        send(&run, Signal::CONT);
    }
    go(&world);
    assert_eq!(run.wait().unwrap().code(), Some(0));
    assert_eq!(world.count("failed"), 0);
}

#[test]
fn finding_40_orphans_that_have_ended_are_waited_for_while_the_agent_works() {
    let world = planned(ONE);
    let agent = agent(
        &world,
        "for i in $(seq 300); do (true &); done\necho $PPID > $HOME/line; cat $HOME/gate\n\
         echo TASK_COMPLETE\n",
    );
    let mut line = Listener::new(&world, "line");
    let place = world.home().join("gate");
    fifo(&place);
    let mut run = at_work(&world, &format!("exec {agent}"), &[]);
    let specum = line.line();
    assert_eq!(specum, run.id().to_string());
    let zombies = || {
        let all = fs::read_dir("/proc").unwrap().flatten();
        let stats = all.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
        let ours = format!(" Z {specum} ");
        stats.filter(|stat| stat.contains(&ours)).count()
    };
    until("nobody is left who has ended", || zombies() == 0);
    drop(gate(&place));
    assert_eq!(run.wait().unwrap().code(), Some(0));
}

#[test]
fn finding_39_a_limit_on_processes_ends_a_run_in_order() {
    // The limit does not bind root, and counts whatever else a user runs.
    const NOBODY_ELSE: &str = "54321";
    let user = [format!("--reuid={NOBODY_ELSE}"), format!("--regid={NOBODY_ELSE}")];
    let as_nobody = |program: &str| {
        let mut command = Command::new("setpriv");
        command.args(&user).arg("--clear-groups").arg(program);
        command
    };
    let works = as_nobody("prlimit").args(["--nproc=2", "true"]).output();
    if !works.is_ok_and(|tried| tried.status.success()) {
        return skipped("setpriv does not work here", "SPECUM_NEEDS", "all");
    }
    for limit in [2, 3, 4, 6, 8, 11, 14, 18, 23, 28] {
        let world = planned(FOUR);
        let agent = agent(&world, "echo whole > $id.txt; sleep 0.1; echo TASK_COMPLETE\n");
        let run = command_run(&world, &agent, &[]);
        let place = world.root.parent().unwrap();
        let owned = Command::new("chown").args(["-R", NOBODY_ELSE]).arg(place).status().unwrap();
        assert!(owned.success());
        let mut limited = as_nobody("prlimit");
        limited.arg(format!("--nproc={limit}")).arg(run.get_program()).args(run.get_args());
        limited.current_dir(&world.root).env_clear();
        limited.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let ended = call(limited, b"");
        assert!(
            matches!(ended.code, Some(0 | 1 | 6)),
            "{limit}: {:?} {}",
            ended.code,
            ended.stderr
        );
        assert!(!ended.stderr.contains("panicked"), "{limit}: {}", ended.stderr);
        assert_eq!(processes(&world), [""; 0], "{limit}");
    }
}
