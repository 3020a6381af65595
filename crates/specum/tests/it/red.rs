//! Red first: what a check does before the work, and what a tick says of it afterwards.

use std::fs;

use harness::run::{nothing_is_left, planned, run, starts, worktrees};
use serde_json::Value;

use crate::world::{JOURNAL, TASKS, World};

/// One task of each kind: red before, green before, a guard that says so, one that tidies
/// up, and one without a check.
const PLAN: &str = "\
# Plan

## Phase 1: Work

- [ ] 1.1 Make it
  - **Do**: it
    ```sh
    echo made > made.txt
    ```
  - **Verify**: `grep -q made made.txt`
- [ ] 1.2 Prove nothing
  - **Do**: it
    ```sh
    echo more > more.txt
    ```
  - **Verify**: `test -d specs`
- [ ] 1.3 Keep it
  - **Do**: it
    ```sh
    echo kept > kept.txt
    ```
  - **Verify**: `test -d specs` (green before: the folder stays)
- [ ] 1.4 [YELLOW] Tidy up
  - **Do**: it
    ```sh
    echo tidy > tidy.txt
    ```
  - **Verify**: `test -d specs`
- [ ] 1.5 [VERIFY] All there
  - **Verify**: `test -f made.txt`
";

fn journal(world: &World) -> Vec<Value> {
    world.read(JOURNAL).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What became of the check of each task before the work.
fn before(world: &World) -> Vec<String> {
    let journal = journal(world);
    let red = journal.iter().filter(|record| record["event"] == "red");
    red.map(|record| format!("{} {}", text(&record["task"]["id"]), text(&record["result"])))
        .collect()
}

/// What the tick of each task rests on.
fn proofs(world: &World) -> Vec<String> {
    let journal = journal(world);
    let passed = journal.iter().filter(|record| record["event"] == "passed");
    passed
        .map(|record| format!("{} {}", text(&record["task"]["id"]), text(&record["proof"])))
        .collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[test]
fn each_tick_says_what_its_check_did_before_the_work() {
    let world = planned(PLAN);
    let told = run(&world, &[]).exits(0).stdout.clone();
    assert_eq!(before(&world), ["1.1 red", "1.2 green"]);
    let wanted = ["1.1 red-green", "1.2 green-before", "1.3 guard", "1.4 guard", "1.5 guard"];
    assert_eq!(proofs(&world), wanted);
    assert!(told.contains("1.2: its tick proves nothing, its check was green before"), "{told}");
    let log = world.specum(&["log"]).exits(0).stdout.clone();
    for line in [
        "1.1 passed (attempt 1, red→green",
        "1.2 before the work its check passed: it proves nothing",
        "1.2 passed (attempt 1, green before the work",
        "1.3 passed (attempt 1, a guard",
    ] {
        let (head, tail) = line.split_once("attempt 1, ").unwrap_or((line, ""));
        let is_it = |shown: &str| shown.contains(head) && shown.contains(tail);
        assert!(log.lines().any(is_it), "{line}: {log}");
    }
    let summary = world.specum(&["log", "--json"]).exits(0).stdout.clone();
    let last: Value = serde_json::from_str(summary.lines().last().unwrap()).unwrap();
    assert_eq!(last["greenBefore"], serde_json::json!(["1.2"]), "{last}");
    nothing_is_left(&world);
}

#[test]
fn an_agent_is_told_that_its_check_is_green_already() {
    let world = planned(PLAN);
    let agent = "printf '%s' \"$brief\" > \"$HOME/brief-$id\"\necho x > made.txt\n\
                 echo made >> made.txt\necho TASK_COMPLETE\n";
    let agent = harness::run::agent(&world, agent);
    harness::run::run_with(&world, &agent, &["--only", "1.1,1.2"]).exits(0);
    let brief = |id: &str| fs::read_to_string(world.home().join(format!("brief-{id}"))).unwrap();
    let told = "It passed before you began, so that it passes proves nothing";
    assert!(brief("1.2").contains(told), "{}", brief("1.2"));
    assert!(!brief("1.1").contains(told), "{}", brief("1.1"));
}

#[test]
fn without_red_first_nothing_is_run_before_the_work() {
    for (settings, args) in [("", &["--no-red"][..]), ("---\nred_first: off\n---\n", &[])] {
        let world = planned(PLAN);
        world.write(".claude/ralph-specum.local.md", settings);
        world.git(&["add", "."]);
        world.git(&["commit", "-q", "--allow-empty", "-m", "settings"]);
        run(&world, args).exits(0);
        assert_eq!(before(&world), [""; 0]);
        assert_eq!(proofs(&world)[1], "1.2 check");
    }
}

#[test]
fn strict_waits_for_a_person_before_an_agent_is_paid() {
    let world = planned(PLAN);
    world.write("specum.yaml", "red_first: strict\n");
    world.git(&["add", "."]);
    world.git(&["commit", "-q", "-m", "settings"]);
    let told = run(&world, &[]).exits(6).stdout.clone();
    assert!(told.contains("the check of 1.2 passes before the work"), "{told}");
    let launched = |id: &str| {
        let of_task = |record: &&Value| record["event"] == "launched" && record["task"]["id"] == id;
        journal(&world).iter().filter(of_task).count()
    };
    assert_eq!((launched("1.1"), launched("1.2")), (1, 0));
    // A person says why, and it goes on.
    let plan = world.read(TASKS).replacen(
        "`test -d specs`\n",
        "`test -d specs` (green before: it stays)\n",
        1,
    );
    world.write(TASKS, plan);
    run(&world, &[]).exits(0);
    assert_eq!(proofs(&world)[1], "1.2 guard");
    nothing_is_left(&world);
}

#[test]
fn what_a_check_leaves_before_the_work_is_no_work_of_the_agents() {
    let plan = "- [ ] 1.1 Make it\n  - **Do**: it\n    ```sh\n    echo made > made.txt\n    ```\n  \
                - **Files**: made.txt\n  - **Verify**: `echo run >> report.txt; test -f made.txt`\n";
    let world = planned(plan);
    run(&world, &["--allow-dirty"]).exits(0);
    assert_eq!(before(&world), ["1.1 red"]);
    assert_eq!(world.read("report.txt").lines().count(), 2, "once before, once behind");
    assert_eq!(world.git(&["status", "--porcelain"]), "?? report.txt\n");
    let more = format!("{}- [ ] 1.2 More\n", world.read(TASKS));
    world.write(TASKS, more);
    let again = run(&world, &[]);
    assert!(
        !again.stderr.contains("report.txt"),
        "it is not taken for a person's: {}",
        again.stderr
    );
}

#[test]
fn a_check_is_run_where_the_work_is_done() {
    let group = "## Phase 1: Work\n\n\
        - [ ] 1.1 [P] One\n  - **Do**: it\n    ```sh\n    echo 1 > one\n    ```\n  - **Files**: one\n  \
        - **Verify**: `echo x >> seen; test -f one`\n\
        - [ ] 1.2 [P] Two\n  - **Do**: it\n    ```sh\n    echo 2 > two\n    ```\n  - **Files**: two\n  \
        - **Verify**: `echo x >> seen; test -f two`\n";
    let world = planned(group);
    run(&world, &[]).exits(0);
    let mut seen = before(&world);
    seen.sort();
    assert_eq!(seen, ["1.1 red", "1.2 red"]);
    assert_eq!(
        world.git(&["show", "--stat", "--format=", "HEAD~1", "HEAD"]).matches("seen").count(),
        0
    );
    assert!(worktrees(&world).is_empty());

    let isolated = planned(&group.replace(" [P]", ""));
    run(&isolated, &["--isolate"]).exits(0);
    assert_eq!(before(&isolated), ["1.1 red", "1.2 red"]);
    assert!(!isolated.path("seen").exists(), "nothing of it comes into the user's tree");
    nothing_is_left(&isolated);
}

#[test]
fn in_a_session_only_what_is_proved_to_read_is_run() {
    let plan = "- [ ] 1.1 Read\n  - **Verify**: `grep -q x made.txt`\n\
                - [ ] 1.2 Write\n  - **Verify**: `touch made.txt`\n";
    let world = planned(plan);
    world.specum(&["implement"]).exits(0);
    let work = world.specum(&["next", "--json"]);
    assert!(work.stdout.contains("\"1.1\""), "{} {}", work.stdout, work.stderr);
    assert_eq!(before(&world), ["1.1 red"]);
    world.write("made.txt", "x\n");
    world.specum_with(&["finish", "1.1"], b"TASK_COMPLETE").exits(0);
    world.specum(&["next"]).exits(0);
    assert_eq!(before(&world), ["1.1 red"], "the other is not run");
    assert_eq!(proofs(&world), ["1.1 red-green"]);
}

#[test]
fn a_check_is_not_run_twice_before_the_work() {
    let plan = "- [ ] 1.1 Make it\n  - **Verify**: `test -f made.txt`\n";
    let world = planned(plan);
    harness::run::works(
        &world,
        "echo x >> \"$HOME/starts\"\n[ $(wc -l < \"$HOME/starts\") -lt 3 ] || touch made.txt\necho TASK_COMPLETE\n",
        &[],
    )
    .exits(0);
    assert_eq!(starts(&world), 3);
    assert_eq!(before(&world), ["1.1 red"]);
    assert_eq!(proofs(&world), ["1.1 red-green"]);
}

#[test]
fn a_dry_run_says_what_each_check_does_now_if_it_is_asked() {
    let world = planned(PLAN);
    let dry = |more: &[&str]| {
        let mut args = vec!["run", "--agent", "script", "--dry-run"];
        args.extend(more);
        world.specum(&args).exits(0).stdout.clone()
    };
    assert!(!dry(&[]).contains("now"), "nothing is run without it");
    let told = dry(&["--red"]);
    for line in [
        "fails now, as it should",
        "passes now, so it proves nothing [verify-green]",
        "passes now, as it may",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    let first = |more: &str| {
        let json: Value = serde_json::from_str(&dry(&[more, "--json"])).unwrap();
        let tasks = json["units"].as_array().unwrap().iter().map(|unit| &unit["tasks"][0]);
        tasks.map(|task| text(&task["firstRun"]).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(first("--red"), ["red", "green", "green", "green", "red"]);
    assert_eq!(first("--red=all"), ["red", "green", "green", "green", "red"]);
}

/// An author of a small plan, whose second check is green as soon as the first task is
/// done, and who works the tasks too.
const AUTHOR: &str = r#"
dir=$(dirname "$(ls specs/*/plan.md | head -n 1)")
if [ ! -f "$dir/tasks.md" ]; then cat > "$dir/tasks.md" <<'END'
# Tasks: both
## Goal
Both files are there, for whoever looks.
## Requirements
- FR-1: The first file is there.
- FR-2: The second file is there.
## Out of Scope
- Anything else
## Assumptions
- A-1: Two files are enough.
## Phase 1: Change
- [ ] 1.1 Write the first file
  - **Do**: write it
  - **Files**: one.txt
  - **Done when**: it is there
  - **Verify**: `test -f one.txt`
  - **Commit**: `feat: one`
  - _Requirements: FR-1_
- [ ] 1.2 Write the second file
  - **Do**: write it
  - **Files**: two.txt
  - **Done when**: it is there
  - **Verify**: `test -f one.txt && sh ./check.sh`
  - **Commit**: `feat: two`
  - _Requirements: FR-2_
END
else
echo x > "one.txt"; test "$id" != 1.2 || echo x > two.txt
fi
echo TASK_COMPLETE
"#;

#[test]
fn what_the_plan_has_seen_red_is_said_of_a_check_that_is_green_by_then() {
    let world = World::empty();
    world.write("check.sh", "true\n");
    world.git_init();
    let agent = harness::run::agent(&world, AUTHOR);
    let planned = world.specum(&[
        "plan",
        "--small",
        "--auto",
        "--agent-command",
        &agent,
        "Write one.txt and two.txt",
    ]);
    assert_eq!(planned.code, Some(0), "{}{}", planned.stdout, planned.stderr);
    let specs = fs::read_dir(world.path("specs")).unwrap().flatten();
    let mut journals = specs.map(|spec| spec.path().join(".ralph-journal.jsonl"));
    let journal = journals.find(|path| path.exists()).unwrap();
    let journal = fs::read_to_string(journal).unwrap();
    let records = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let passed = records.filter(|record| record["event"] == "passed");
    let proofs: Vec<String> = passed.map(|record| text(&record["proof"]).to_owned()).collect();
    assert_eq!(proofs, ["red-green", "earlier"], "{journal}");
}
