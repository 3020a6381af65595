//! What people, editors and crashes leave behind: never a panic, never a wait,
//! never a step out of the project, never a silent default.

/// `.current-spec` and specs directories.
mod marker;
/// Plans with mistakes that people make.
mod plans;
/// The host's input and its transcript.
mod spoken;
/// Files that cannot be written, and a lock that nobody lets go.
mod unwritable;

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::world::{JOURNAL, STATE, TASKS, World, fifo};
#[cfg(target_os = "linux")]
use crate::world::{Watch, WatchFlags};

const TWO: &str = "- [ ] 1.1 First\n- [ ] 1.2 Second\n";

/// Asserts that the state, as it stands, is called corrupt by every door and
/// replaced by none but `implement`.
#[track_caller]
fn is_corrupt(world: &World, what: &str) {
    let reason = world.stop().reason();
    assert!(reason.starts_with("ERROR: Corrupt state file at ./specs/test-spec/"), "{what}");
    for verb in ["status", "next", "pause", "resume"] {
        let call = world.specum(&[verb]);
        assert_eq!(call.code, Some(4), "{what}, {verb}: {}{}", call.stdout, call.stderr);
        assert!(call.stderr.contains(".ralph-state.json is corrupt"), "{what}: {}", call.stderr);
        assert_eq!(call.stdout, "", "{what}");
    }
}

#[test]
fn a_state_that_is_no_state_is_corrupt() {
    for text in [
        "",
        " \n",
        "[]",
        "null",
        "3",
        "\"execution\"",
        "{",
        r#"{"phase":"execution","taskIndex":"#,
        r#"{"phase":"execution","taskIndex":"0","totalTasks":2}"#,
        r#"{"phase":"execution","taskIndex":null,"totalTasks":2}"#,
        r#"{"phase":"execution","taskIndex":-1,"totalTasks":2}"#,
        r#"{"phase":"execution","taskIndex":0.5,"totalTasks":2}"#,
        r#"{"phase":"execution","taskIndex":1e300,"totalTasks":2}"#,
        r#"{"phase":"execution","totalTasks":18446744073709551616}"#,
        r#"{"phase":"execution","globalIteration":[]}"#,
        r#"{"phase":"execution","awaitingApproval":"false"}"#,
        r#"{"phase":["execution"]}"#,
        r#"{"phase":"execution","owner":{"kind":"ghost"}}"#,
        "{} {}",
        "\0\0\0\0",
    ] {
        let world = World::with_tasks(TWO);
        world.raw_state(text);
        is_corrupt(&world, text);
        assert_eq!(world.read(STATE), text, "nobody resets it unasked");
    }
}

#[test]
fn a_state_of_fifty_megabytes_is_corrupt_and_not_read() {
    let world = World::with_tasks(TWO);
    let mut text = r#"{"phase":"execution","totalTasks":2,"x":""#.to_owned();
    text.push_str(&"x".repeat(50 * 1024 * 1024));
    text.push_str("\"}");
    world.raw_state(text);
    is_corrupt(&world, "50 MB");
    assert!(world.stop().reason().contains("longer than"));
}

#[test]
fn a_state_that_is_no_file_is_corrupt_and_never_waited_for() {
    let replaced = |make: &dyn Fn(&std::path::Path)| {
        let world = World::with_tasks(TWO);
        fs::remove_file(world.path(STATE)).unwrap();
        make(&world.path(STATE));
        world
    };
    // A directory that is new looks like a file that is being written.
    let world = replaced(&|path| fs::create_dir(path).unwrap());
    let dir = fs::File::open(world.path(STATE)).unwrap();
    dir.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    is_corrupt(&world, "a directory");
    is_corrupt(&replaced(&|path| symlink(path, path).unwrap()), "a link to itself");
    is_corrupt(&replaced(&|path| symlink("nowhere", path).unwrap()), "a link to nothing");
    let world = replaced(&|path| fifo(path));
    is_corrupt(&world, "a pipe");
}

#[test]
fn implement_replaces_a_state_that_is_a_dead_link_and_leaves_its_target_alone() {
    let world = World::with_tasks(TWO);
    fs::remove_file(world.path(STATE)).unwrap();
    symlink("../../elsewhere.json", world.path(STATE)).unwrap();
    world.specum(&["implement"]).exits(0);
    assert_eq!(world.read_state()["totalTasks"], 2);
    assert!(!world.path("elsewhere.json").exists());
}

#[test]
fn a_state_of_a_newer_version_is_read_but_never_overwritten() {
    let world = World::with_tasks(TWO);
    let newer = r#"{"formatVersion":2,"phase":"execution","taskIndex":0,"totalTasks":2}"#;
    world.raw_state(newer);
    assert!(world.stop().reason().starts_with("Continue"));
    world.specum(&["status"]).exits(0);
    for verb in ["implement", "next", "pause", "resume", "cancel"] {
        let call = world.specum(&[verb]);
        assert_eq!(call.code, Some(4), "{verb}: {}", call.stderr);
        assert!(call.stderr.contains("has format 2, this version writes up to 1"), "{verb}");
        assert_eq!(world.read(STATE), newer, "{verb}");
    }
}

#[test]
fn a_journal_of_a_newer_version_is_named_with_its_format_and_never_written() {
    let world = World::with_tasks(TWO);
    world.specum(&["implement"]).exits(0);
    let journal = world.read(JOURNAL) + "{\"v\":3,\"seq\":99,\"at\":\"later\",\"event\":\"new\"}\n";
    world.write(JOURNAL, &journal);
    let (state, plan) = (world.read(STATE), world.read(TASKS));
    for args in
        [&["implement"][..], &["next"], &["pause"], &["cancel"], &["run", "--agent", "script"]]
    {
        let call = world.specum(args);
        assert_eq!(call.code, Some(4), "{args:?}: {}", call.stderr);
        let refusal =
            ".ralph-journal.jsonl has format 3, this version writes up to 2: update specum";
        assert!(call.stderr.contains(refusal), "{args:?}: {}", call.stderr);
        assert_eq!(world.read(JOURNAL), journal, "{args:?}");
    }
    assert_eq!((world.read(STATE), world.read(TASKS)), (state, plan));
}

#[test]
fn a_task_file_without_tasks_is_refused_and_never_called_done() {
    for text in ["", "# Plan\n\nNothing yet.\n", "> - [ ] 1.1 quoted\n", "\0\u{1}\u{2}binary"] {
        let world = World::with_tasks(text);
        assert_eq!(world.stop().silent().stderr, "", "{text:?}");
        for verb in ["implement", "next"] {
            let call = world.specum(&[verb]);
            assert!(call.exits(3).stderr.contains("/tasks.md has no tasks; one is"), "{verb}");
            assert_eq!(call.stdout, "", "{verb}");
        }
        let check = world.specum(&["check"]);
        check.exits(1);
        assert!(check.stdout.contains("error: no tasks"), "{}", check.stdout);
    }
}

#[test]
fn a_task_file_of_any_bytes_is_scanned() {
    let world = World::with_tasks("");
    let mut bytes: Vec<u8> = (0..=255).collect();
    bytes.extend_from_slice(b"\n- [ ] 1.1 caf\xe9 \xff\xfe\n\r\n\0\n");
    world.write(TASKS, &bytes);
    assert!(world.stop().reason().contains("- [ ] 1.1 caf"));
    world.specum(&["implement"]).exits(0);
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    let mut ticked = bytes.clone();
    let at = ticked.windows(3).position(|window| window == b"[ ]").unwrap();
    ticked[at + 1] = b'x';
    assert_eq!(fs::read(world.path(TASKS)).unwrap(), ticked, "one byte has changed");
}

#[test]
fn a_task_file_with_every_box_ticked_completes_at_once() {
    let world = World::with_tasks("- [x] 1.1 a\n- [X] 1.2 b\n");
    let call = world.specum(&["implement"]);
    call.exits(0);
    assert!(call.stdout.contains("2 of 2 tasks done"), "{}", call.stdout);
    assert!(call.stdout.ends_with("ALL_TASKS_COMPLETE\n"), "{}", call.stdout);
    assert!(!world.path(STATE).exists(), "the loop has ended");
}

#[test]
fn a_missing_task_file_is_named() {
    let world = World::with_tasks(TWO);
    fs::remove_file(world.path(TASKS)).unwrap();
    let call = world.specum(&["implement"]);
    call.exits(3);
    assert!(call.stderr.contains("./specs/test-spec has no tasks.md"), "{}", call.stderr);
    let call = world.specum(&["check"]);
    call.exits(3);
    assert!(call.stderr.contains("./specs/test-spec/tasks.md does not exist"), "{}", call.stderr);
    assert!(world.specum(&["doctor"]).stdout.contains("tasks.md is missing"));
}

#[test]
fn a_missing_task_file_never_ends_a_loop_as_done() {
    let world = World::with_tasks(TWO);
    fs::remove_file(world.path(TASKS)).unwrap();
    let state = world.read(STATE);
    for verb in ["next", "pause", "resume"] {
        let call = world.specum(&[verb]);
        assert_eq!(call.code, Some(3), "{verb}: {}{}", call.stdout, call.stderr);
        assert!(!call.stdout.contains("ALL_TASKS_COMPLETE"), "{}", call.stdout);
        assert_eq!(world.read(STATE), state, "{verb}");
    }
    world.write(TASKS, TWO);
    assert!(world.specum(&["next"]).exits(0).stdout.contains("Due: task 1.1"));
}

#[test]
fn a_task_file_that_is_no_file_is_an_error_of_the_verbs_and_no_block_for_ever() {
    let world = World::with_tasks(TWO);
    fs::remove_file(world.path(TASKS)).unwrap();
    fifo(&world.path(TASKS));
    for verb in ["implement", "status", "check", "next"] {
        let call = world.specum(&[verb]);
        call.exits(1);
        assert!(call.stderr.contains("tasks.md: not a regular file"), "{verb}: {}", call.stderr);
    }
    assert_eq!(world.blocks(30, &json!({})), 9);
}

#[test]
fn a_line_of_ten_megabytes_is_cut_in_the_prompt() {
    let world = World::with_tasks("");
    world.write(TASKS, format!("- [ ] 1.1 {}\n- [ ] 1.2 b\n", "x".repeat(10 * 1024 * 1024)));
    let reason = world.stop().reason();
    assert!(reason.len() < 210_000, "{} bytes", reason.len());
    assert!(reason.contains("[cut here; the whole task begins at line 1 of tasks.md]"));
}

#[test]
fn a_hundred_thousand_tasks_are_counted() {
    let mut tasks: String = (0..99_999).map(|n| format!("- [x] 1.{n} done\n")).collect();
    tasks.push_str("- [ ] 2.1 The last\n");
    let world = World::with_tasks(&tasks);
    let reason = world.stop().reason();
    assert!(reason.starts_with("Continue spec: test-spec (Task 100000/100000, Iter 1)"));
    assert!(reason.len() < 2048, "{} bytes", reason.len());
    let status = world.specum(&["status", "--json"]).json();
    assert_eq!((&status["done"], &status["next"]), (&json!(99_999), &json!("2.1")));
}

#[test]
fn a_task_file_that_is_a_link_out_of_the_project_is_never_written() {
    let world = World::with_tasks(TWO);
    let outside = world.root.parent().unwrap().join("outside.md");
    fs::write(&outside, "- [ ] 1.1 Theirs\n").unwrap();
    fs::remove_file(world.path(TASKS)).unwrap();
    symlink(&outside, world.path(TASKS)).unwrap();
    world.specum(&["implement"]).exits(0);
    let call = world.finish("1.1", "TASK_COMPLETE");
    call.exits(1);
    assert!(call.stderr.contains("leads out of the project"), "{}", call.stderr);
    assert_eq!(fs::read_to_string(&outside).unwrap(), "- [ ] 1.1 Theirs\n");
}

#[cfg(target_os = "linux")]
#[test]
fn a_state_that_is_just_being_written_is_waited_for() {
    let world = World::with_tasks(TWO);
    let whole = world.read(STATE);
    world.write(STATE, &whole[..whole.len() / 2]);
    let half_is_read = Watch::on(&world.path(STATE), WatchFlags::CLOSE_NOWRITE);
    let reason = std::thread::scope(|scope| {
        let hook = scope.spawn(|| world.stop().reason());
        half_is_read.wait();
        world.write(STATE, &whole);
        hook.join().unwrap()
    });
    assert!(reason.starts_with("Continue"), "{reason}");
}
