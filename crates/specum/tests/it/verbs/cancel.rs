use std::fs;
use std::path::PathBuf;

use serde_json::json;

use super::TWO;
use crate::world::{STATE, World};

fn started() -> World {
    let world = World::with_tasks(TWO);
    world.specum(&["implement"]).exits(0);
    world.write("specs/test-spec/.progress.md", "# Progress\nour story\n");
    world
}

#[test]
fn cancel_deletes_the_state_and_keeps_the_rest() {
    let world = started();
    world.in_session(&["next"]).exits(0);
    world.stop().reason();
    let call = world.specum(&["cancel"]);
    assert_eq!(
        call.exits(0).stdout,
        "test-spec: phase execution, 1 of 2 tasks done, iteration 1\n\
         cancelled: the state is deleted\n\
         kept: the plan, .progress.md and the journal\n"
    );
    assert!(!world.path(STATE).exists());
    assert!(!world.path("specs/test-spec/.ralph-hook.json").exists());
    assert_eq!(world.read("specs/test-spec/.progress.md"), "# Progress\nour story\n");
    assert_eq!(world.read("specs/test-spec/tasks.md"), TWO);
    assert!(world.path("specs/test-spec/.ralph-journal.jsonl").exists());
    assert_eq!(world.read("specs/.current-spec"), "test-spec\n");
    assert_eq!(world.stop().silent().stderr, "");
    let again = world.specum(&["cancel", "--json"]);
    assert_eq!(again.exits(0).json()["cancelled"], false);
}

#[test]
fn cancel_reports_in_json_what_stood() {
    let report = started().specum(&["cancel", "--json"]).exits(0).json();
    assert_eq!(
        report,
        json!({"spec": "test-spec", "phase": "execution", "done": 1, "total": 2,
            "taskIteration": 1, "globalIteration": 1, "cancelled": true, "movedTo": null,
            "loopFile": null})
    );
}

#[test]
fn cancel_of_a_corrupt_state_works_and_says_so() {
    let world = started();
    world.raw_state("[");
    let call = world.specum(&["cancel"]);
    assert!(call.exits(0).stdout.contains("corrupt state"), "{}", call.stdout);
    assert!(!world.path(STATE).exists());
}

#[test]
fn an_attempt_of_a_cancelled_loop_cannot_be_finished() {
    let world = started();
    world.specum(&["cancel"]).exits(0);
    let call = world.finish("1.2", "TASK_COMPLETE");
    assert!(call.exits(3).stderr.contains("no loop is running"));
    world.specum(&["implement", "--json"]).exits(0);
    let call = world.finish("1.2", "TASK_COMPLETE");
    assert!(call.exits(3).stderr.contains("task 1.2 has no open attempt"), "{}", call.stderr);
    assert_eq!(world.read("specs/test-spec/tasks.md"), TWO);
}

#[test]
fn cancel_remove_moves_everything_to_the_trash_and_says_where() {
    let world = started();
    world.write("specs/test-spec/sub/deep.txt", "deep");
    let mut before = world.snapshot();
    before.retain(|(path, _)| {
        ![".ralph-state.json", ".current-spec", ".ralph-journal.jsonl"]
            .iter()
            .any(|name| path.ends_with(name))
    });
    let call = world.specum(&["cancel", "--remove"]);
    call.exits(0);
    let line = call.stdout.lines().last().unwrap();
    let shown = line.strip_prefix("moved to ").unwrap().split(';').next().unwrap();
    let trash = world.path(shown);
    assert!(shown.starts_with("./specs/.specum-trash/test-spec-"), "{line}");
    let dir = world.path("specs/test-spec");
    for (path, bytes) in &before {
        let moved: PathBuf = match path.strip_prefix(&dir) {
            Ok(rest) => trash.join(rest),
            Err(_) => path.clone(),
        };
        assert_eq!(&fs::read(&moved).unwrap(), bytes, "{}", moved.display());
    }
    assert!(!dir.exists());
    assert!(!world.path("specs/.current-spec").exists(), "it named this spec");
    assert_eq!(
        world.specum(&["list", "--json"]).json()["specs"],
        json!([]),
        "the trash is no spec"
    );
    fs::rename(&trash, &dir).unwrap();
    world.specum(&["implement", "test-spec"]).exits(0);
}

#[test]
fn cancel_of_one_spec_leaves_another_one_active() {
    for args in [&["cancel", "other"][..], &["cancel", "--remove", "other"]] {
        let world = started();
        world.in_session(&["next"]).exits(0);
        world.write("specs/other/tasks.md", TWO);
        world.specum(&["implement", "other"]).exits(0);
        world.specum(&["switch", "test-spec"]).exits(0);
        world.specum(args).exits(0);
        assert_eq!(world.read("specs/.current-spec"), "test-spec\n", "{args:?}");
        assert!(world.path(STATE).exists());
        assert!(!world.path("specs/other/.ralph-state.json").exists(), "{args:?}");
        assert!(world.stop().reason().starts_with("Continue spec: test-spec"));
    }
}

#[test]
fn two_removals_of_one_name_do_not_meet() {
    let world = started();
    for _ in 0..2 {
        world.write("specs/test-spec/tasks.md", TWO);
        world.specum(&["cancel", "--remove", "test-spec"]).exits(0);
    }
    assert_eq!(fs::read_dir(world.path("specs/.specum-trash")).unwrap().count(), 2);
}

#[test]
fn the_trash_of_a_name_with_blanks_holds_that_folder_only() {
    let world = started();
    world.write("specs/a b/tasks.md", TWO);
    world.write("specs/a/tasks.md", TWO);
    world.write("specs/b/tasks.md", TWO);
    world.specum(&["cancel", "--remove", "a b"]).exits(0);
    assert!(!world.path("specs/a b").exists());
    assert!(world.path("specs/a/tasks.md").exists() && world.path("specs/b/tasks.md").exists());
}
