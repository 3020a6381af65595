//! The store under fire: killed between any two writes, or shared by many
//! processes at once.

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use specum_core::digest::Digest;

use crate::world::{JOURNAL, PROGRESS, World, call, skipped, specum};

const KERNEL: &str = env!("CARGO_BIN_EXE_kernel");

fn kernel(world: &World, args: &[&str]) -> Command {
    let mut command = Command::new(KERNEL);
    command.arg(&world.root).args(args).stderr(Stdio::null());
    command
}

/// A spec in the middle of a batch, with the notes of two executors waiting
/// and a state that has fields of its own.
fn in_the_middle() -> World {
    let world = World::with_tasks(
        "# Plan\r\n- [ ] 1.1 [P] a\r\n  - **Verify**: `true`\r\n- [x] 1.2 [P] b\r\n- [ ] 1.3 c\r\n",
    );
    world.state(&json!({
        "name": "kept",
        "phase": "execution",
        "taskIndex": 0,
        "totalTasks": 3,
        "maxTaskIterations": 2,
        "recoveryMode": true,
        "parallelGroup": {"startIndex": 0, "endIndex": 1, "taskIndices": [0, 1], "isParallel": true},
        "taskResults": {
            "0": {"status": "pending", "attempts": 1, "id": "1.1"},
            "1": {"status": "success", "attempts": 1, "id": "1.2"},
        },
    }));
    world.write("specs/test-spec/.progress.md", "# Mine\n\n## Learnings\n\n- old\n\n## Other\n");
    world.write("specs/test-spec/.progress-task-0.md", "- learned by the first\n");
    world.write("specs/test-spec/.progress-task-1.md", "- learned by the second\n");
    world
}

fn all_done() -> World {
    let world = World::with_tasks("- [x] 1.1 a\n- [x] 1.2 b\n");
    world.state(&json!({"phase": "execution", "taskIndex": 2, "totalTasks": 2}));
    world
}

/// The files of the spec that a person or a later run sees: not the journal,
/// which tells of every try, the lock, or the leftovers of a killed writer.
fn files(world: &World) -> Vec<(PathBuf, String)> {
    let counts = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        !name.starts_with(".ralph-tmp-") && name != ".ralph.lock" && name != ".ralph-journal.jsonl"
    };
    let relative = |(path, bytes): (PathBuf, Vec<u8>)| {
        (path.strip_prefix(&world.root).unwrap().to_owned(), String::from_utf8(bytes).unwrap())
    };
    world.snapshot().into_iter().filter(|(path, _)| counts(path)).map(relative).collect()
}

/// Kills a transaction at each of its steps in turn and compares what the next
/// start finds with what stood before and what should stand afterwards.
fn killed_at_every_step(setting: fn() -> World, event: &[&str], least_steps: usize) {
    let undisturbed = setting();
    let before = files(&undisturbed);
    assert!(kernel(&undisturbed, event).status().unwrap().success());
    let after = files(&undisturbed);
    assert_ne!(before, after);

    let mut ended_before = 0;
    for step in 1.. {
        let world = setting();
        let killed = kernel(&world, event).env("SPECUM_DIE_AT", step.to_string()).status().unwrap();
        if killed.success() {
            assert!(step > least_steps, "only {step} steps in {event:?}");
            assert!(ended_before > 0, "some step is before the journal");
            return;
        }
        assert!(kernel(&world, &["recover"]).status().unwrap().success());
        let found = files(&world);
        if found == before {
            ended_before += 1;
        } else {
            assert_eq!(found, after, "killed at step {step} of {event:?}");
        }
        // Whatever was completed is not completed a second time.
        assert!(kernel(&world, &["recover"]).status().unwrap().success());
        assert_eq!(files(&world), found, "recovered twice after step {step} of {event:?}");
    }
}

#[test]
fn a_pass_that_ends_a_batch_is_whole_or_has_not_happened() {
    killed_at_every_step(in_the_middle, &["pass", "0"], 9);
}

#[test]
fn a_failure_that_inserts_a_fix_task_is_whole_or_has_not_happened() {
    killed_at_every_step(in_the_middle, &["fail", "0"], 9);
}

#[test]
fn a_cancellation_is_whole_or_has_not_happened() {
    killed_at_every_step(in_the_middle, &["cancel"], 3);
}

#[test]
fn a_completion_is_whole_or_has_not_happened() {
    killed_at_every_step(all_done, &["complete"], 3);
}

#[test]
fn a_verdict_that_is_said_to_be_done_is_on_the_disk_with_the_folder_that_names_it() {
    let world = World::planned("- [ ] 1.1 a\n  - **Verify**: `true`\n- [ ] 1.2 b\n");
    let calls = world.home().join("calls");
    let mut strace = world.program("strace");
    strace.args(["-f", "-y", "-s", "300", "-o"]).arg(&calls);
    strace.args(["-e", "trace=write,fsync,fdatasync,rename,renameat,renameat2"]).arg(specum());
    strace.args(["run", "--agent", "script"]);
    if !Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .status()
        .is_ok_and(|ok| ok.success())
    {
        return skipped("strace does not work here", "SPECUM_NEEDS", "all");
    }
    call(strace, b"").exits(0);

    let calls = String::from_utf8_lossy(&std::fs::read(calls).unwrap()).into_owned();
    let passed = calls.find("\\\"passed\\\"").expect("it has passed");
    let is_ours = |line: &&str| line.contains("/specs/test-spec");
    let calls: Vec<&str> = calls[passed..].lines().filter(is_ours).collect();
    let at = |parts: &[&str]| {
        let found = calls.iter().position(|line| parts.iter().all(|part| line.contains(part)));
        found.unwrap_or_else(|| panic!("no {parts:?} in\n{}", calls.join("\n")))
    };
    let announced = at(&["fdatasync(", ".ralph-journal.jsonl>"]);
    let folder = at(&["fsync(", "/specs/test-spec>"]);
    let done = at(&["write(", ".ralph-journal.jsonl>", "\\\"done\\\""]);
    for file in ["tasks.md", ".progress.md", ".ralph-state.json"] {
        let renamed = at(&["rename", &format!("/specs/test-spec/{file}\"")]);
        let source = calls[renamed].split('"').nth(1).unwrap();
        let synced = at(&["fdatasync(", source]);
        let order = [announced.max(synced), renamed, folder, done];
        assert!(order.is_sorted(), "{file}: {order:?} of\n{}", calls.join("\n"));
    }
}

#[test]
fn a_recovery_that_is_killed_itself_is_recovered_from() {
    let undisturbed = in_the_middle();
    assert!(kernel(&undisturbed, &["pass", "0"]).status().unwrap().success());
    for step in 1.. {
        let world = in_the_middle();
        let die = |command: &mut Command, at: usize| {
            command.env("SPECUM_DIE_AT", at.to_string()).status().unwrap()
        };
        assert!(!die(&mut kernel(&world, &["pass", "0"]), 2).success(), "right behind the journal");
        let done = die(&mut kernel(&world, &["recover"]), step).success();
        assert!(kernel(&world, &["recover"]).status().unwrap().success());
        assert_eq!(files(&world), files(&undisturbed), "recovery killed at step {step}");
        if done {
            assert!(step > 6, "only {step} steps");
            return;
        }
    }
}

/// The notes, as an older version tells them from others.
fn older_digest(world: &World) -> String {
    Digest::of(world.read(PROGRESS).as_bytes()).hex()
}

#[test]
fn a_transaction_that_an_older_version_has_begun_is_completed() {
    let setting = || {
        let world = in_the_middle();
        // Taken for a person's edit of what the transaction has made, this would not be
        // added a second time.
        world.write(PROGRESS, "# Mine\n\n- learned by the first\n\n## Learnings\n\n- old\n");
        world
    };
    let undisturbed = setting();
    let before = older_digest(&undisturbed);
    assert!(kernel(&undisturbed, &["pass", "0"]).status().unwrap().success());
    assert_eq!(undisturbed.read(PROGRESS).matches("- learned by the first\n").count(), 2);
    let digests = json!({"before": before, "after": older_digest(&undisturbed)});
    for step in 2.. {
        let world = setting();
        let mut pass = kernel(&world, &["pass", "0"]);
        if pass.env("SPECUM_DIE_AT", step.to_string()).status().unwrap().success() {
            assert!(step > 6, "only {step} steps");
            return;
        }
        let in_older_form = |line: &str| {
            let mut record: Value = serde_json::from_str(line).unwrap();
            if let Some(found) = record.get_mut("changes").and_then(|it| it.get_mut("progress")) {
                assert!(found["after"].as_str().unwrap().starts_with("x3:"), "{found}");
                *found = digests.clone();
            }
            format!("{record}\n")
        };
        world.write(JOURNAL, world.read(JOURNAL).lines().map(in_older_form).collect::<String>());
        assert!(kernel(&world, &["recover"]).status().unwrap().success());
        assert_eq!(files(&world), files(&undisturbed), "killed at step {step}");
    }
}

#[test]
fn a_person_who_edits_between_crash_and_recovery_loses_nothing() {
    let world = in_the_middle();
    let die_at_journal = kernel(&world, &["pass", "0"]).env("SPECUM_DIE_AT", "2").status().unwrap();
    assert!(!die_at_journal.success());
    let tasks = world.read("specs/test-spec/tasks.md");
    world.write("specs/test-spec/tasks.md", format!("- [ ] 0.9 new\r\n{tasks}"));
    world.write("specs/test-spec/.progress.md", "# Mine\n\nrewritten\n");
    assert!(kernel(&world, &["recover"]).status().unwrap().success());
    let tasks = world.read("specs/test-spec/tasks.md");
    assert!(tasks.starts_with("- [ ] 0.9 new\r\n# Plan\r\n- [x] 1.1 [P] a\r\n"), "{tasks}");
    let progress = world.read("specs/test-spec/.progress.md");
    assert!(progress.starts_with("# Mine\n\nrewritten\n"));
    assert_eq!(progress.matches("1.1 a (attempt 2)").count(), 1, "{progress}");
}

#[test]
fn a_torn_journal_line_neither_loses_its_neighbours_nor_takes_effect() {
    let world = in_the_middle();
    world.write(
        "specs/test-spec/.ralph-journal.jsonl",
        "{\"v\":1,\"at\":\"\",\"event\":\"paused\"}\n{\"v\":1,\"at\":\"\",\"event\":\"res",
    );
    let before = files(&world);
    assert!(kernel(&world, &["recover"]).status().unwrap().success());
    assert_eq!(files(&world), before);
    assert!(kernel(&world, &["pass", "0"]).status().unwrap().success());
    let journal = world.read("specs/test-spec/.ralph-journal.jsonl");
    let whole = journal.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok());
    assert_eq!((journal.lines().count(), whole.count()), (4, 3), "{journal}");
}

#[test]
fn sixteen_processes_tick_four_thousand_boxes_and_none_is_lost_or_doubled() {
    const PROCESSES: usize = 16;
    const EACH: usize = 250;
    let tasks: String = (0..PROCESSES * EACH).map(|n| format!("- [ ] 1.{n} t\n")).collect();
    let world = World::with_tasks(&tasks);
    let children: Vec<_> = (0..PROCESSES)
        .map(|process| {
            // Neighbours belong to different processes.
            let ids = (0..EACH).map(|n| format!("1.{}", n * PROCESSES + process));
            kernel(&world, &["tick"]).args(ids).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(world.read("specs/test-spec/tasks.md"), tasks.replace("[ ]", "[x]"));
    let journal = world.read("specs/test-spec/.ralph-journal.jsonl");
    let ticked: Vec<&str> =
        journal.lines().filter(|line| line.contains("\"event\":\"committed\"")).collect();
    let ids: HashSet<&str> = ticked
        .iter()
        .map(|line| line.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap())
        .collect();
    assert_eq!((ticked.len(), ids.len()), (PROCESSES * EACH, PROCESSES * EACH));
}
