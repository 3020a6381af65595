//! The verb: some tasks only, none at all, checks without an agent, and what
//! stops a run.

use std::collections::BTreeSet;
use std::fs::File;

use serde_json::json;

use super::speech::claude;
use super::{Stage, TASKS, wants};
use crate::docs::document;
use crate::world::Call;

fn three() -> Stage {
    let stage = Stage::new(wants("1.1", "a.txt") + &wants("1.2", "b.txt") + &wants("2.1", "c.txt"));
    stage
        .agent("claude", format!("read\nsh touch a.txt b.txt c.txt\n{}", claude::complete(5, 0.1)));
    stage
}

#[test]
fn only_some_tasks_by_id_or_index_and_the_rest_later() {
    let stage = three();
    let told = stage.run(&["--only", "2.1,0"]);
    told.ends(0, "chosen-done");
    assert_eq!(
        told.all("passed").iter().map(|passed| &passed["task"]["id"]).collect::<Vec<_>>(),
        ["1.1", "2.1"]
    );
    let open = "- [x] 1.1 Write a.txt\n  - **Verify**: `test -f a.txt`\n- [ ] 1.2";
    assert!(stage.tasks().starts_with(open), "{}", stage.tasks());
    assert_eq!(stage.status()["next"], "1.2", "the loop is kept");
    stage.run(&["--only", "2.1"]).ends(0, "chosen-done");
    assert_eq!(stage.calls("claude"), 2, "what is done is not done again");
    let told = stage.run(&[]);
    told.ends(0, "complete");
    assert_eq!(stage.calls("claude"), 3);
}

#[test]
fn only_a_task_that_is_not_there_is_an_error_and_nothing_begins() {
    let stage = three();
    let before = stage.world.snapshot();
    for only in ["9.9", "1.1,9.9", "3", "-1", "", "1.1,"] {
        let call = stage.specum(&["run", &format!("--only={only}")]);
        assert!(call.exits(3).stderr.contains("there is no task"), "{only}: {}", call.stderr);
    }
    assert_eq!(stage.world.snapshot(), before);
    assert_eq!(stage.calls("claude"), 0);
}

#[test]
fn a_dry_run_shows_order_groups_and_checks_and_changes_nothing() {
    let stage = Stage::new(
        "- [x] 1.1 Done\n- [ ] 1.2 [P] Write a\n  - **Verify**: `test -f a.txt`\n- [ ] 1.3 [P] Write b\n\
         - [ ] 1.4 [VERIFY] All of it\n  - **Verify**: `make test`\n- [ ] 1.5 Look\n  - **Verify**: it looks good\n",
    );
    stage.agent("claude", claude::complete(5, 0.1)).agent("codex", "");
    let before = stage.world.snapshot();
    let call = stage.specum(&["run", "--dry-run", "--agent", "claude,codex"]);
    insta::assert_snapshot!(call.exits(0).stdout, @r"
    test-spec: 4 open tasks, 5 at once at most, worked by claude, then codex

      1.  at once, each in a worktree
         1.2    Write a
                checked by `test -f a.txt`
         1.3    Write b
                unverified: it has no Verify
      2.  checked by specum; an agent only fixes
         1.4    All of it
                checked by `make test`
      3.
         1.5    Look
                unverified: its Verify is prose
    ");
    let call = stage.specum(&["run", "--dry-run", "--json", "--only", "1.4,1.2", "--jobs", "3"]);
    let task = |id: &str, title: &str, check: &str| {
        let commands =
            json!([{"command": check, "shell": "sh", "prints": null, "or": false, "suite": false}]);
        json!([{"id": id, "title": title, "hasVerify": true, "check": check,
            "commands": commands, "firstRun": null}])
    };
    let expected = json!({"spec": "test-spec", "agents": ["claude"], "jobs": 3, "isolate": false, "commands": {}, "units": [
        {"unit": "task", "tasks": task("1.2", "Write a", "test -f a.txt")},
        {"unit": "verify", "tasks": task("1.4", "All of it", "make test")},
    ], "leftOut": []});
    assert_eq!(call.exits(0).json(), expected);
    assert_eq!(stage.world.snapshot(), before);
    assert!(!stage.world.home().join(".local").exists());
    assert_eq!(stage.calls("claude"), 0);
}

#[test]
fn a_dry_run_of_a_plan_that_cannot_be_worked_says_so() {
    let stage = Stage::new("- [ ] 1.1 Same\n- [ ] 1.1 Same\n");
    stage.agent("claude", "");
    for args in [&["run", "--dry-run"][..], &["run"]] {
        let call = stage.specum(args);
        assert!(call.exits(1).stderr.contains("tasks.md cannot be worked"), "{}", call.stderr);
    }
}

#[test]
fn a_check_that_passes_costs_no_agent() {
    let stage = Stage::new("- [ ] 1.1 [VERIFY] All is well\n  - **Verify**: `true`\n");
    stage.agent("claude", claude::complete(5, 0.1));
    let told = stage.run(&[]);
    told.ends(0, "complete");
    assert_eq!(stage.calls("claude"), 0);
    assert!(told.all("attempt-started")[0].get("agent").is_none(), "{}", told.call.stdout);
    assert_eq!(stage.journal("charged").len(), 0);
}

#[test]
fn a_check_that_fails_calls_an_agent_with_what_it_showed() {
    let stage = Stage::new(
        "- [ ] 1.1 [VERIFY] All is well\n  - **Verify**: `echo a.txt is missing; test -f a.txt`\n",
    );
    let fixes = claude::done("VERIFICATION_PASS", 5, 0.1);
    stage.agent("claude", format!("read\nsh touch a.txt\n{fixes}"));
    let told = stage.run(&[]);
    told.ends(0, "complete");
    assert_eq!((stage.calls("claude"), &told.all("passed")[0]["attempt"]), (1, &json!(1)));
    let brief = String::from_utf8(stage.left("claude", 1, "brief")).unwrap();
    assert!(
        brief.contains("ended with code 1\n") && brief.contains("\na.txt is missing\n"),
        "{brief}"
    );
}

#[test]
fn a_task_that_keeps_failing_gets_a_fix_task_and_the_run_goes_on() {
    let stage = three();
    for nth in 1..=2 {
        stage.once("claude", nth, claude::complete(5, 0.1));
    }
    let told = stage.run(&["--recovery-mode", "--max-task-iterations", "2"]);
    told.ends(0, "complete");
    assert_eq!(told.all("fix-added")[0]["fix"], "1.1.1");
    assert!(stage.tasks().contains("- [x] 1.1.1 [FIX 1.1]"), "{}", stage.tasks());
    assert_eq!(stage.calls("claude"), 6, "two failures, a fix, three tasks");
}

#[test]
fn a_loop_that_a_person_has_paused_is_let_go_on_by_starting_it() {
    let stage = three();
    stage.specum(&["implement"]).exits(0);
    stage.specum(&["pause"]).exits(0);
    stage.run(&[]).ends(0, "complete");
}

#[test]
fn exit_codes_are_those_of_the_document() {
    let stage = three();
    let mut seen = BTreeSet::new();
    let mut ends = |call: Call| {
        seen.insert(call.code.unwrap());
        call
    };
    ends(stage.specum(&["run", "no-such-spec"])).exits(3);
    ends(stage.specum(&["run", "--no-such-option"])).exits(2);
    stage.world.write("mine.txt", "mine");
    let call = ends(stage.specum(&["run"]));
    assert!(call.exits(1).stderr.contains("mine.txt"), "{}", call.stderr);
    assert_eq!(stage.status()["heldBy"], "nobody");
    let lock = File::create(stage.world.path(".git/specum-run.lock")).unwrap();
    lock.lock().unwrap();
    ends(stage.specum(&["run", "--allow-dirty"])).exits(5);
    drop(lock);
    stage.agent("claude", claude::complete(5, 0.1));
    ends(stage.specum(&["run", "--allow-dirty", "--max-task-iterations", "1"])).exits(6);
    stage.world.person(&["resume"]);
    stage.agent("claude", "slay -INT\nhang");
    ends(stage.specum(&["run", "--allow-dirty"])).exits(130);
    let state = stage.world.read_state();
    let mut newer = state.clone();
    newer["formatVersion"] = json!(2);
    stage.world.state(&newer);
    ends(stage.specum(&["run", "--allow-dirty"])).exits(4);
    stage.world.state(&state);
    stage.agent("claude", format!("sh touch a.txt b.txt c.txt\n{}", claude::complete(5, 0.1)));
    ends(stage.specum(&["run", "--allow-dirty"])).exits(0);
    assert_eq!(stage.world.read("mine.txt"), "mine");
    let committed = stage.world.git(&["log", "--format=", "--name-only"]);
    assert!(!committed.contains("mine.txt"), "{committed}");
    // Done is done, as often as one asks.
    let calls = stage.calls("claude");
    let again = stage.specum(&["run", "--json", "--allow-dirty"]);
    assert_eq!(again.exits(0).json()["standing"], "complete", "{}", again.stdout);
    assert_eq!(stage.calls("claude"), calls);

    let page = document("docs/run.md");
    let (_, table) = page.split_once("| code | meaning |\n|---|---|\n").unwrap();
    let rows = table.lines().map_while(|line| line.strip_prefix("| ")?.split(' ').next());
    assert_eq!(rows.map(|code| code.parse().unwrap()).collect::<BTreeSet<i32>>(), seen);
}

#[test]
fn a_spec_that_a_session_works_is_not_taken_without_a_word() {
    let stage = three();
    stage.specum(&["implement"]).exits(0);
    let owner = json!({"kind": "session", "sessionId": "s-1", "process": {"pid": std::process::id(), "started": ""}});
    let mut state = stage.world.read_state();
    state["owner"] = owner;
    stage.world.state(&state);
    let call = stage.specum(&["run"]);
    assert!(call.exits(5).stderr.contains("--take-over"), "{}", call.stderr);
    stage.run(&["--take-over"]).ends(0, "complete");
}

#[test]
fn without_a_repository_the_tasks_are_worked_one_after_another() {
    let stage = Stage::new(
        wants("1.1", "a.txt").replace(" Write", " [P] Write")
            + &wants("1.2", "b.txt").replace(" Write", " [P] Write"),
    );
    std::fs::remove_dir_all(stage.world.path(".git")).unwrap();
    stage.agent("claude", format!("sh touch a.txt b.txt\n{}", claude::complete(5, 0.1)));
    let told = stage.run(&[]);
    told.ends(0, "complete");
    let warnings = told.all("warning");
    let says = |text: &str| warnings.iter().any(|w| w["text"].as_str().unwrap().contains(text));
    assert!(says("no commits will be made") && says("permission prompts off"), "{warnings:?}");
    assert!(stage.world.read(TASKS).starts_with("- [x] 1.1"));
}
