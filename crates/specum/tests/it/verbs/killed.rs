//! `specum finish`, killed anywhere: the tick, the note and the commit belong
//! together.

use std::io::Write;
use std::process::{Child, Stdio};

use crate::world::{PROGRESS, STATE, TASKS, World, call, fifo, gate, until};
#[cfg(target_os = "linux")]
use crate::world::{Watch, WatchFlags};

/// A `specum finish 1.1` that has its result and is at work.
fn finishing(world: &World) -> Child {
    let mut finish = world.command();
    finish
        .args(["finish", "1.1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut finish = finish.spawn().unwrap();
    finish.stdin.take().unwrap().write_all(b"TASK_COMPLETE").unwrap();
    finish
}

#[test]
fn finish_killed_at_any_step_ends_with_one_commit_and_a_clean_tree() {
    for step in 1.. {
        let world = World::started("- [ ] 1.1 a\n  - **Verify**: `test -f a.txt`\n- [ ] 1.2 b\n");
        world.write("a.txt", "made by 1.1");
        let mut finish = world.command();
        finish.args(["finish", "1.1"]).env("SPECUM_DIE_AT", step.to_string());
        let killed = call(finish, b"TASK_COMPLETE");
        let done = killed.code == Some(0);
        assert!(done || killed.code.is_none(), "step {step}: {}", killed.stderr);

        world.specum(&["next"]).exits(0);
        if world.read(TASKS).contains("- [ ] 1.1") {
            world.finish("1.1", "TASK_COMPLETE").exits(0);
        }
        let commits = world.git(&["log", "--format=%(trailers:key=Task,valueonly)", "--", "a.txt"]);
        assert_eq!(
            commits.split_whitespace().collect::<Vec<_>>(),
            ["1.1"],
            "killed at step {step}"
        );
        assert_eq!(world.git(&["status", "--porcelain"]), "", "killed at step {step}");
        let progress = world.read(PROGRESS);
        assert_eq!(progress.matches("- 1.1 a (attempt 1").count(), 1, "step {step}: {progress}");
        if done {
            assert!(step > 12, "only {step} steps");
            return;
        }
    }
}

#[test]
fn killed_at_any_step_a_task_is_not_taken_for_one_that_had_its_name() {
    let task = |name: &str| format!("- [ ] Make {name}\n  - **Verify**: `test -f {name}.txt`\n");
    for step in 1.. {
        let world = World::started(&task("a"));
        world.specum(&["next"]).exits(0);
        // It was `no.1` when its attempt began, and another task is that now.
        world.write(TASKS, task("z") + &task("a"));
        world.specum(&["next"]).exits(0);
        world.write("z.txt", "");
        world.finish("no.1", "TASK_COMPLETE").exits(0);
        world.write("a.txt", "");
        let mut finish = world.command();
        finish.args(["finish", "no.2"]).env("SPECUM_DIE_AT", step.to_string());
        let is_done = call(finish, b"TASK_COMPLETE").code == Some(0);
        assert!(world.specum(&["next"]).code.is_some());
        if world.read(TASKS).contains("- [ ] Make a") {
            world.finish("no.2", "TASK_COMPLETE").exits(0);
        }
        let commits = world.git(&["log", "--format=%(trailers:key=Task,valueonly)", "--", "a.txt"]);
        assert_eq!(commits.trim(), "no.2", "killed at step {step}");
        if is_done {
            return;
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn finish_killed_at_any_step_before_the_first_commit_is_no_dead_end() {
    for step in 1.. {
        let world =
            World::with_tasks("- [ ] 1.1 a\n  - **Verify**: `test -f a.txt`\n- [ ] 1.2 b\n");
        world.git(&["init", "--quiet", "--initial-branch=main"]);
        world.specum(&["implement"]).exits(0);
        world.specum(&["next"]).exits(0);
        world.write("a.txt", "made by 1.1");
        let mut finish = world.command();
        finish.args(["finish", "1.1"]).env("SPECUM_DIE_AT", step.to_string());
        let code = call(finish, b"TASK_COMPLETE").code;
        assert!(matches!(code, None | Some(0)), "step {step}: {code:?}");
        world.specum(&["next"]).exits(0);
        if world.read(TASKS).contains("- [ ] 1.1") {
            world.finish("1.1", "TASK_COMPLETE").exits(0);
        }
        let commits = world.git(&["log", "--format=%(trailers:key=Task,valueonly)", "--", "a.txt"]);
        assert_eq!(commits.split_whitespace().collect::<Vec<_>>(), ["1.1"], "step {step}");
        if code.is_some() {
            return;
        }
    }
}

#[test]
fn a_loop_is_not_taken_for_finished_while_its_last_commit_is_being_made() {
    let world = World::started("- [ ] 1.1 a\n");
    let place = world.root.with_file_name("gate");
    fifo(&place);
    world.git_hook("pre-commit", "cat ../gate >/dev/null\nexit 1\n");
    let mut finish = finishing(&world);
    // The commit is being made: its hook waits at the gate.
    let held = gate(&place);
    assert!(world.read(TASKS).contains("- [x] 1.1"));
    let it_waits = Watch::on(&world.path("specs/test-spec/.ralph-check.lock"), WatchFlags::OPEN);
    let mut next = world.command();
    let next = next.args(["next"]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    it_waits.wait();
    drop(held);
    assert!(!finish.wait().unwrap().success());
    let said = next.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&said.stdout);
    assert!(!said.contains("ALL_TASKS_COMPLETE"), "{said}");
    assert!(world.read(TASKS).contains("- [ ] 1.1"), "the box is open again");
    assert!(world.path(STATE).exists());
}

#[test]
fn a_second_finish_of_one_attempt_waits_and_checks_nothing() {
    let check = "echo it >> ../checked; cat ../gate";
    let world = World::started(&format!("- [ ] 1.1 a\n  - **Verify**: `{check}`\n- [ ] 1.2 b\n"));
    let place = world.root.with_file_name("gate");
    fifo(&place);
    let mut first = finishing(&world);
    // The check runs: it waits at the gate.
    let held = gate(&place);
    let it_waits = Watch::on(&world.path("specs/test-spec/.ralph-check.lock"), WatchFlags::OPEN);
    let mut second = finishing(&world);
    it_waits.wait();
    drop(held);
    assert!(first.wait().unwrap().success());
    assert!(!second.wait().unwrap().success(), "it has a verdict already");
    let checked = std::fs::read_to_string(world.root.with_file_name("checked")).unwrap();
    assert_eq!(checked, "it\n", "the check ran once");
}

#[test]
fn an_interrupted_finish_ends_its_check_and_the_attempt_stays_open() {
    let world = World::started("- [ ] 1.1 a\n  - **Verify**: `cat ../gate`\n");
    let place = world.root.with_file_name("gate");
    fifo(&place);
    let mut finish = finishing(&world);
    // The check runs: it waits at the gate.
    let mut held = gate(&place);
    let pid = rustix::process::Pid::from_child(&finish);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(finish.wait().unwrap().code(), Some(130));
    until("nobody reads from the gate any more", || {
        held.write_all(b"x").is_err_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    });
    assert!(world.read(TASKS).contains("- [ ] 1.1"));
    assert!(world.specum(&["next"]).stdout.contains("Due: task 1.1 for spec-executor, attempt 1"));
}

#[test]
fn a_demo_that_nobody_reads_to_its_end_leaves_nothing_behind() {
    let world = World::empty();
    let place = world.root.with_file_name("tmp");
    std::fs::create_dir(&place).unwrap();
    let mut demo = world.command();
    demo.arg("demo").env("TMPDIR", &place).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut demo = demo.spawn().unwrap();
    drop(demo.stdout.take());
    assert!(!demo.wait().unwrap().success());
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
}
