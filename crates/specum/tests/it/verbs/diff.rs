use serde_json::json;

use crate::world::{JOURNAL, World};

const PLAN: &str = "- [ ] 1.1 Write a\n  - **Files**: a.txt\n  - **Verify**: `test -f a.txt`\n- [ ] 1.2 Then b\n  - **Verify**: `test -f b.txt`\n";

/// A loop whose first task has passed at the second attempt, in a repository.
fn worked() -> World {
    let world = World::planned(PLAN);
    world.specum(&["implement"]).exits(0);
    world.specum(&["next"]).exits(0);
    world.finish("1.1", "TASK_COMPLETE").exits(1);
    world.write("a.txt", "one\ntwo\n");
    world
}

#[test]
fn diff_shows_what_a_task_has_changed_without_the_specs_files() {
    let world = worked();
    let finished = world.finish("1.1", "TASK_COMPLETE");
    assert!(finished.exits(0).stdout.contains(", 1 file +2 −0\n"), "{}", finished.stdout);
    let shown = world.specum(&["diff", "1.1"]).exits(0).stdout.clone();
    assert!(shown.starts_with("diff --git a/a.txt b/a.txt\n"), "{shown}");
    assert!(shown.ends_with("\n+one\n+two\n") && !shown.contains("tasks.md"), "{shown}");
    assert!(!shown.contains('\u{1b}'), "no colours in a pipe");
    let diff = world.specum(&["diff", "1.1", "--json"]).exits(0).json();
    assert_eq!((&diff["spec"], &diff["place"]), (&json!("test-spec"), &json!(2)));
    assert_eq!(diff["files"], json!([{"path": "a.txt", "added": 2, "removed": 0}]));
    let one = world.specum(&["log", "1.1"]).exits(0).stdout.clone();
    assert!(one.contains("  attempt 2  passed"), "{one}");
    let summary = world.specum(&["log"]).exits(0).stdout.clone();
    assert!(summary.contains("  1 file +2 −0"), "{summary}");
    let lines = world.specum(&["log", "--json"]).exits(0).stdout.clone();
    let last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    let changes = &last["tasks"][0]["attempts"][1]["changes"];
    assert_eq!(*changes, json!({"files": 1, "added": 2, "removed": 0}));
}

#[test]
fn diff_says_where_the_work_of_a_failed_attempt_is() {
    let world = worked();
    world.write("a.txt", "one\n");
    world.write("c.txt", "three\n");
    world.specum(&["fail", "1.1", "--reason", "broke off"]).exits(0);
    let says = |args: &[&str]| world.specum(args).exits(3).stderr.clone();
    let last = says(&["diff", "1.1"]);
    assert!(
        last.contains("attempt 2 at 1.1 changed is still in your tree: a.txt, c.txt"),
        "{last}"
    );
    assert!(says(&["diff", "1.1", "--attempt", "1"]).contains("attempt 1 at 1.1 left no files"));
    assert!(says(&["diff", "1.1", "--attempt", "9"]).contains("its last one is 3"));
    assert!(says(&["diff", "1.2"]).contains("no attempt at 1.2 yet"));
    // What a run keeps of an attempt in a worktree.
    world.git(&["stash", "push", "--include-untracked", "--quiet"]);
    let kept = "refs/specum/test-spec/kept/1.1-2";
    world.git(&["update-ref", kept, "stash@{0}^3"]);
    let record = json!({"v": 2, "at": "2026-01-01T00:00:00Z", "event": "kept",
        "task": {"id": "1.1", "title": "Write a"}, "attempt": 2, "reference": kept, "files": 1});
    world.write(JOURNAL, format!("{}{record}\n", world.read(JOURNAL)));
    let shown = world.specum(&["diff", "1.1"]).exits(0).stdout.clone();
    assert!(shown.contains("+++ b/c.txt\n") && shown.contains("\n+three\n"), "{shown}");
    let diff = world.specum(&["diff", "1.1", "--attempt", "2", "--json"]).exits(0).json();
    assert_eq!((&diff["kept"], &diff["passed"]), (&json!(kept), &json!(false)));
    world.git(&["update-ref", "-d", kept]);
    assert!(says(&["diff", "1.1"]).contains("still in your tree"));
}
