use std::fs::{self, File};
use std::process::Command;

use serde_json::json;

use super::{STATE, TASKS, TWO};
use crate::world::{Call, JOURNAL, World, call, skipped};

const LOCK: &str = "specs/test-spec/.ralph.lock";
const MEMORY: &str = "specs/test-spec/.ralph-hook.json";

/// Calls the binary so that every write fails as on a full disk.
fn on_a_full_disk(world: &World, args: &[&str], input: &[u8]) -> Call {
    let template = world.command();
    let mut shell = Command::new("sh");
    shell.arg("-c").arg("trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"");
    shell.arg(template.get_program()).args(args);
    shell.env_clear().current_dir(&world.root);
    shell.envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))));
    call(shell, input)
}

fn stop_input(world: &World) -> Vec<u8> {
    json!({"session_id": "s", "cwd": world.root, "stop_hook_active": false}).to_string().into()
}

#[test]
fn a_memory_that_cannot_be_written_means_no_block() {
    let world = World::with_tasks(TWO);
    fs::create_dir(world.path(MEMORY)).unwrap();
    let call = world.stop();
    assert!(call.silent().stderr.starts_with("[ralph-specum] not blocking: "), "{}", call.stderr);
    assert!(call.stderr.contains(".ralph-hook.json"), "{}", call.stderr);
    assert_eq!(call.stderr.lines().count(), 1);
    world.raw_state("{");
    assert!(world.stop().silent().stderr.contains("not blocking"));
}

#[test]
fn on_a_full_disk_the_hook_lets_the_agent_stop() {
    let world = World::with_tasks(TWO);
    let before = world.snapshot();
    let call = on_a_full_disk(&world, &["hook", "stop"], &stop_input(&world));
    assert!(call.silent().stderr.starts_with("[ralph-specum] not blocking: "), "{}", call.stderr);
    assert_eq!(world.snapshot(), before, "no temporary file is left");
    assert!(world.stop().reason().starts_with("Continue"), "it was the disk");
}

#[test]
fn on_a_full_disk_a_verb_names_the_file_and_changes_nothing() {
    let world = World::with_tasks(TWO);
    let before = |world: &World| {
        let mut files = world.snapshot();
        // The lock and the journal may have been created, but are empty.
        files.retain(|(path, bytes)| !(bytes.is_empty() && path.starts_with(&world.root)));
        files
    };
    let untouched = before(&world);
    for args in [&["implement"][..], &["next"], &["pause"], &["cancel"], &["switch", "test-spec"]] {
        let call = on_a_full_disk(&world, args, b"");
        call.exits(1);
        assert!(call.stderr.starts_with("error: cannot "), "{args:?}: {}", call.stderr);
        assert!(call.stderr.contains("/specs/"), "{args:?}: {}", call.stderr);
        assert!(call.stderr.contains("File too large"), "{args:?}: {}", call.stderr);
        assert_eq!(before(&world), untouched, "{args:?}");
    }
    world.specum(&["implement"]).exits(0);
}

#[test]
fn a_journal_that_cannot_be_written_is_named_and_nothing_is_done_without_it() {
    let world = World::with_tasks(TWO);
    fs::create_dir(world.path(JOURNAL)).unwrap();
    let state = world.read(STATE);
    for verb in ["implement", "next", "pause"] {
        let call = world.specum(&[verb]);
        call.exits(1);
        assert!(call.stderr.contains(".ralph-journal.jsonl: "), "{verb}: {}", call.stderr);
    }
    assert_eq!(world.read(STATE), state);
}

#[test]
fn a_lock_that_cannot_be_opened_is_named() {
    let world = World::with_tasks(TWO);
    fs::create_dir(world.path(LOCK)).unwrap();
    let call = world.specum(&["next"]);
    call.exits(1);
    assert!(call.stderr.contains("cannot lock") && call.stderr.contains(".ralph.lock"));
}

#[test]
fn a_lock_held_for_ever_is_an_error_of_the_verbs_and_nothing_to_the_stop_hook() {
    let world = World::with_tasks(TWO);
    let held = File::create(world.path(LOCK)).unwrap();
    held.lock().unwrap();
    let before = world.snapshot();
    for args in [&["implement"][..], &["next"], &["pause"], &["resume"], &["cancel"]] {
        let mut command = world.command();
        command.args(args).env("SPECUM_LOCK_MILLIS", "100");
        let call = call(command, b"");
        call.exits(5);
        assert!(call.stderr.contains(".ralph.lock is held by another process"), "{}", call.stderr);
        assert_eq!(world.snapshot(), before, "{args:?}");
    }
    assert!(world.stop().reason().starts_with("Continue"), "it takes no lock");
    world.specum(&["status"]).exits(0);
    drop(held);
    world.specum(&["next"]).exits(0);
}

#[test]
fn a_lock_held_for_ever_leaves_the_session_end_hook_silent() {
    let world = World::with_tasks(TWO);
    let owner = json!({"kind": "session", "sessionId": "s"});
    world.state(&json!({"phase": "execution", "totalTasks": 2, "owner": owner}));
    let held = File::create(world.path(LOCK)).unwrap();
    held.lock().unwrap();
    let mut command = world.command();
    command.args(["hook", "session-end"]).env("SPECUM_LOCK_MILLIS", "100");
    let call = call(command, &stop_input(&world));
    assert!(call.silent().stderr.contains(".ralph.lock is held"), "{}", call.stderr);
}

#[test]
fn a_full_disk_during_the_verdict_leaves_the_attempt_open() {
    let world = World::with_tasks(TWO);
    world.specum(&["implement"]).exits(0);
    let tasks = world.read(TASKS);
    let call = on_a_full_disk(&world, &["finish", "1.1"], b"TASK_COMPLETE");
    call.exits(1);
    assert!(call.stderr.contains("File too large"), "{}", call.stderr);
    assert_eq!(world.read(TASKS), tasks);
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    assert!(world.read(TASKS).starts_with("- [x] 1.1"));
}

#[test]
fn a_disk_that_is_readable_only_is_named() {
    let world = World::with_tasks(TWO);
    let tried = Command::new("unshare").args(["-rm", "true"]).output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        return skipped("unshare does not work here", "SPECUM_NEEDS", "all");
    }
    let call = {
        // A mount of its own, read-only; needs the right to make one.
        let template = world.command();
        let mut unshare = Command::new("unshare");
        unshare.args(["-rm", "sh", "-c", "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && cd \"$0\" && exec \"$1\" next"]);
        unshare.arg(&world.root).arg(template.get_program());
        unshare.env_clear();
        unshare.envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))));
        call(unshare, b"")
    };
    if call.stderr.contains("mount:") {
        let why = format!("no right to mount here: {}", call.stderr.trim());
        return skipped(&why, "SPECUM_NEEDS", "all");
    }
    call.exits(1);
    assert!(call.stderr.contains("Read-only file system"), "{}", call.stderr);
    assert!(call.stderr.contains("/specs/test-spec/"), "{}", call.stderr);
}
