use std::fs;

use serde_json::json;

use crate::world::{Call, TASKS, World, call, lives, until};

fn verified_by(command: &str) -> World {
    World::started(&format!("- [ ] 1.1 a\n  - **Verify**: `{command}`\n- [ ] 1.2 b\n"))
}

/// The loop is whole: the same task is due again, and passes once it can.
#[track_caller]
fn goes_on(world: &World) {
    let due = world.specum(&["next", "--json"]).exits(0).json();
    assert_eq!((&due["tasks"][0]["id"], &due["tasks"][0]["attempt"]), (&json!("1.1"), &json!(2)));
    assert!(world.read(TASKS).starts_with("- [ ] 1.1"));
    assert_eq!(world.read_state()["taskIteration"], 2);
}

#[test]
fn a_check_that_hangs_is_ended_with_everything_it_started() {
    // As long as it takes, wherever this runs, to come to the point of hanging.
    for millis in [300, 3_000, 30_000] {
        let world = verified_by("sleep infinity & echo $$ $! > pids; echo waiting; wait");
        let mut command = world.command();
        command.args(["finish", "1.1"]).env("SPECUM_VERIFY_TIMEOUT", format!("{millis}ms"));
        let said = call(command, b"TASK_COMPLETE");
        assert!(said.exits(1).stdout.contains("did not end within"), "{}", said.stdout);
        if !said.stdout.contains("The output ended with:\nwaiting") {
            continue;
        }
        let pids = world.read("pids");
        assert_eq!(pids.split_whitespace().count(), 2);
        for pid in pids.split_whitespace() {
            until("what hung has ended", || !lives(pid));
        }
        return goes_on(&world);
    }
    panic!("the output of a check that hangs is not shown");
}

#[test]
fn of_a_hundred_megabytes_the_end_is_kept() {
    let world = verified_by("yes | head -c 100000000; echo the end; false");
    let said = world.finish("1.1", "TASK_COMPLETE");
    assert!(said.exits(1).stdout.contains("the end\n"), "{}", said.stdout.len());
    assert!(said.stdout.len() < 20_000, "{}", said.stdout.len());
    let journal = fs::metadata(world.path("specs/test-spec/.ralph-journal.jsonl")).unwrap();
    assert!(journal.len() < 50_000, "{}", journal.len());
    goes_on(&world);
}

#[test]
fn a_check_may_need_a_shell() {
    let world = verified_by("printf 'a\\nb\\n' | grep -c . | grep -qx 2 && [ \"$(echo x)\" = x ]");
    let said = world.finish("1.1", "TASK_COMPLETE");
    let passed = "1.1 passed: verified by a check that was green before the work";
    assert!(said.exits(0).stdout.starts_with(passed), "{}", said.stdout);
}

#[test]
fn a_check_that_does_not_exist_fails_with_the_shells_words() {
    let world = verified_by("./no-such-program --all");
    let said = world.finish("1.1", "TASK_COMPLETE");
    assert!(said.exits(1).stdout.contains("`./no-such-program --all` ended with code 127"));
    assert!(said.stdout.contains("not found"), "{}", said.stdout);
    goes_on(&world);
}

#[test]
fn an_empty_or_binary_result_is_a_failed_attempt() {
    for result in [&b""[..], b"\0\xff\xfe\x80", b"TASK_COMPLETE\xff", b"\xef\xbb\xbf"] {
        let world = verified_by("true");
        let said = world.specum_with(&["finish", "1.1"], result);
        assert!(said.exits(1).stdout.contains("does not say TASK_COMPLETE"), "{}", said.stdout);
        goes_on(&world);
    }
    let world = verified_by("true");
    world.specum_with(&["finish", "1.1"], b"\0\xff\xfe garbage\nTASK_COMPLETE\n").exits(0);
}

#[test]
fn a_task_that_is_not_the_open_one_is_not_judged() {
    let world = World::started("- [x] 1.0 z\n- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n- [ ] 1.3 c\n");
    world.write("specs/other/tasks.md", "- [ ] 1.1 theirs\n");
    let before = world.snapshot();
    let refused = |args: &[&str], says: &str| {
        let said = world.specum_with(args, b"TASK_COMPLETE");
        assert!(said.exits(3).stderr.contains(says), "{args:?}: {}", said.stderr);
    };
    refused(&["finish", "1.0"], "task 1.0 has no open attempt");
    refused(&["finish", "1.3"], "task 1.3 has no open attempt");
    refused(&["finish", "1.1", "--spec", "other"], "no loop is running for other");
    assert_eq!(world.snapshot(), before);
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    refused(&["finish", "1.1"], "task 1.1 has no open attempt");
    world.finish("1.2", "TASK_COMPLETE").exits(0);
    assert_eq!(world.read(TASKS).matches("[x]").count(), 3);
}

#[test]
fn without_git_the_work_goes_on_and_every_verdict_says_so() {
    let world = World::with_tasks("- [ ] 1.1 a\n  - **Verify**: `test -f a`\n- [ ] 1.2 b\n");
    fs::remove_file(world.path("specs/test-spec/.ralph-state.json")).unwrap();
    world.git_init();
    fs::create_dir(world.path("../bin")).unwrap();
    std::os::unix::fs::symlink("/bin/sh", world.path("../bin/sh")).unwrap();
    let specum = |args: &[&str]| -> Call {
        let mut command = world.command();
        command.args(args).env("PATH", world.path("../bin"));
        call(command, b"TASK_COMPLETE")
    };
    let said = specum(&["implement"]);
    assert!(said.exits(0).stderr.contains("warning: no commits will be made: "), "{}", said.stderr);
    world.write("a", "");
    let said = specum(&["finish", "1.1"]);
    assert!(said.exits(0).stdout.contains("ticked, not committed (git cannot be started (git: "));
    assert!(world.read(TASKS).starts_with("- [x] 1.1"));
    // It is back: what was done meanwhile is somebody's, what comes now is ours.
    world.write("b", "");
    world.finish("1.2", "TASK_COMPLETE").exits(0);
    assert!(world.git(&["log", "-1", "--format=%B"]).contains("Task: 1.2"));
}

#[test]
fn without_a_repository_it_says_that_nothing_is_committed() {
    let world = World::with_tasks("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    let said = world.specum(&["implement"]);
    assert!(said.exits(0).stderr.contains("no commits will be made: "), "{}", said.stderr);
    assert!(said.stderr.contains("`git init` makes one"), "{}", said.stderr);
    let said = world.finish("1.1", "TASK_COMPLETE");
    assert!(said.exits(0).stdout.contains("is in no git repository"), "{}", said.stdout);
}

#[test]
fn without_a_repository_a_group_is_worked_one_after_another() {
    let world = World::with_tasks("- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n");
    world.specum(&["implement"]).exits(0);
    for id in ["1.1", "1.2"] {
        let due = world.specum(&["next", "--json"]).exits(0).json();
        assert_eq!((&due["due"], &due["tasks"][0]["id"]), (&json!("task"), &json!(id)));
        assert_eq!(due["tasks"].as_array().map(Vec::len), Some(1));
        world.finish(id, "TASK_COMPLETE").exits(0);
    }
}
