//! The journals of earlier loops, and what goes when it is old.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::{nothing_is_left, planned, works};
use crate::world::{JOURNAL, TASKS, World, call};

const SEGMENT: &str = "specs/test-spec/.ralph-journal-1.jsonl";
const WORKS: &str = "echo 1 > $id.txt; echo TASK_COMPLETE\n";

/// A plan that was worked to its end, and has one more task since.
fn with_another_task() -> World {
    let world = planned("- [ ] 1.1 a\n  - **Verify**: `test -f 1.1.txt`\n");
    works(&world, WORKS, &[]).exits(0);
    world.write(TASKS, world.read(TASKS) + "- [ ] 1.2 b\n  - **Verify**: `test -f 1.2.txt`\n");
    world.git(&["commit", "--quiet", "--all", "-m", "more"]);
    world
}

/// The events that `specum log` tells, with their tasks.
fn logged(world: &World) -> Vec<(String, String)> {
    let log = world.specum(&["log", "--json"]);
    let event = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&event["event"]), text(&event["task"]["id"]))
    };
    log.exits(0).stdout.lines().map(event).collect()
}

fn count(told: &[(String, String)], event: &str, task: &str) -> usize {
    told.iter().filter(|(name, id)| name == event && id == task).count()
}

#[test]
fn finding_2_10_a_loop_has_a_journal_of_its_own_and_the_log_tells_of_earlier_ones() {
    let world = with_another_task();
    let first = world.read(JOURNAL);
    works(&world, WORKS, &[]).exits(0);
    assert_eq!(world.read(SEGMENT), first);
    assert_eq!(world.journal("passed").len(), 1, "the other is not read again");
    let told = logged(&world);
    for task in ["1.1", "1.2"] {
        assert_eq!(count(&told, "passed", task), 1, "{told:?}");
    }
    let of_task = world.specum(&["log", "1.1"]);
    assert!(of_task.exits(0).stdout.contains("attempt 1"), "{}", of_task.stdout);
    nothing_is_left(&world);
}

#[test]
fn finding_2_10_what_a_cancelled_loop_has_tried_counts_on() {
    let world = planned("- [ ] 1.1 a\n  - **Verify**: `false`\n");
    let args = ["--max-task-iterations", "1"];
    works(&world, WORKS, &args).exits(6);
    world.specum(&["cancel"]).exits(0);
    world.specum(&["implement"]).exits(0);
    assert!(!world.path(SEGMENT).exists());
    let brief = world.specum(&["next"]);
    assert!(brief.stdout.contains("`false` ended with code 1"), "{}", brief.stdout);
}

#[test]
fn finding_2_10_killed_anywhere_the_next_loop_begins_and_nothing_of_the_last_is_lost() {
    let world = with_another_task();
    let original = world.root.with_file_name("original");
    copy(&world.root, &original);
    for point in 1.. {
        fs::remove_dir_all(&world.root).unwrap();
        copy(&original, &world.root);
        let mut implement = world.command();
        implement.arg("implement").env("SPECUM_DIE_AT", point.to_string());
        let ended = call(implement, b"").code == Some(0);
        world.specum(&["implement"]).exits(0);
        let told = logged(&world);
        assert_eq!(count(&told, "passed", "1.1"), 1, "killed at {point}: {told:?}");
        assert_eq!(count(&told, "completed", ""), 1, "killed at {point}: {told:?}");
        works(&world, WORKS, &[]).exits(0);
        if ended {
            assert!(point > 5, "{point} points");
            return;
        }
    }
}

fn copy(from: &PathBuf, to: &PathBuf) {
    let status = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(status.unwrap().success());
}

#[test]
fn finding_10_what_git_clean_deletes_of_earlier_loops_is_written_again() {
    let world = with_another_task();
    let first = world.read(JOURNAL);
    works(&world, &format!("git clean -fdxq; {WORKS}"), &[]).exits(0);
    assert_eq!(world.read(SEGMENT), first);
}

/// Gives a file, or all in a folder, a time of forty days ago.
fn make_old(path: &PathBuf) {
    let script = "find \"$0\" -exec touch -h -d '40 days ago' {} +";
    let status = Command::new("sh").args(["-c", script]).arg(path).status();
    assert!(status.unwrap().success());
}

#[test]
fn finding_2_10_a_removed_spec_goes_when_it_is_old_unless_it_is_the_only_copy() {
    let world = planned("- [ ] 1.1 a\n  - **Verify**: `test -f 1.1.txt`\n");
    for name in ["committed", "edited", "young"] {
        world.write(&format!("specs/{name}/tasks.md"), format!("- [ ] 1.1 {name}\n"));
        world.write(&format!("specs/{name}/.progress.md"), format!("# {name}\n"));
    }
    world.git(&["add", "specs"]);
    world.git(&["commit", "--quiet", "-m", "specs"]);
    world.write("specs/edited/design.md", "only here\n");
    for name in ["committed", "edited", "young"] {
        world.specum(&["implement", name]).exits(0);
        world.specum(&["cancel", "--remove", name]).exits(0);
    }
    world.git(&["commit", "--quiet", "--all", "-m", "removed"]);
    world.write("specs/.current-spec", "test-spec\n");
    let trash = world.path("specs/.specum-trash");
    for entry in fs::read_dir(&trash).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        let (spec, _) = name.rsplit_once('-').unwrap();
        if spec != "young" {
            fs::rename(entry.path(), trash.join(format!("{spec}-20200131T120000000Z"))).unwrap();
        }
    }
    let ended = works(&world, WORKS, &[]);
    let line = "committed-20200131T120000000Z, a removed spec that git has: older than 30 days";
    assert!(ended.exits(0).stdout.contains(line), "{}", ended.stdout);
    let mut left: Vec<String> = fs::read_dir(&trash)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left[0].starts_with("edited-2020") && left[1].starts_with("young-"), "{left:?}");
    assert!(trash.join(&left[0]).join("design.md").exists());
}

#[test]
fn finding_2_10_old_notes_about_sessions_go_unless_their_host_runs() {
    let world = planned("- [ ] 1.1 a\n  - **Verify**: `test -f 1.1.txt`\n");
    let notes = world.home().join(".local/state/specum/sessions");
    fs::create_dir_all(&notes).unwrap();
    let me = Command::new("sh").args(["-c", "cut -d' ' -f22 /proc/$PPID/stat"]).output().unwrap();
    let started = String::from_utf8(me.stdout).unwrap().trim().to_owned();
    let note = |process: Value| json!({"sessionId": "s", "process": process}).to_string();
    let gone = json!({"pid": 1, "started": "1"});
    fs::write(notes.join("a.note.json"), note(gone.clone())).unwrap();
    fs::write(notes.join("a.typed.json"), "[]").unwrap();
    fs::write(notes.join("b.note.json"), note(gone)).unwrap();
    let space = space();
    let alive = json!({"pid": std::process::id(), "started": started, "space": space});
    fs::write(notes.join("c.note.json"), note(alive)).unwrap();
    make_old(&notes);
    fs::write(notes.join("b.note.json"), note(json!(null))).unwrap();
    let ended = works(&world, WORKS, &[]);
    let line = "deleted 2 notes about sessions: older than 30 days (keep_days)";
    assert!(ended.exits(0).stdout.contains(line), "{}", ended.stdout);
    let left = |name: &str| notes.join(name).exists();
    assert!(left("b.note.json"), "it is young");
    assert!(left("c.note.json"), "its host runs");
}

/// Where processes are numbered, as a run here says it.
fn space() -> Value {
    let script = "cat specs/test-spec/.ralph-state.json > $HOME/state; echo 1 > $id.txt; echo TASK_COMPLETE\n";
    let other = planned("- [ ] 1.1 a\n  - **Verify**: `test -f 1.1.txt`\n");
    works(&other, script, &[]).exits(0);
    let state = fs::read_to_string(other.home().join("state")).unwrap();
    let state: Value = serde_json::from_str(&state).unwrap();
    state["owner"]["process"]["space"].clone()
}
