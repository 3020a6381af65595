//! What an executor asks of the plan, on the real binary: granted within limits, refused
//! with a reason, on record at once, and complete after a kill.

use harness::run::{agent, committed, nothing_is_left, planned, run_with};
use serde_json::{Value, json};

use crate::world::{JOURNAL, TASKS, World, call};

const PLAN: &str = "\
# Plan

## Phase 1: Work

- [ ] 1.1 Both
  - **Do**: both
  - **Files**: a.txt, b.txt
  - **Done when**: both are there
  - **Verify**: `test -f a.txt && test -f b.txt`
  - **Commit**: `feat: both`
- [ ] 1.2 The rest
  - **Do**: it
  - **Files**: c.txt
  - **Done when**: it is there
  - **Verify**: `test -f c.txt`
  - **Commit**: `feat: rest`
";

/// A proposed task that makes a file.
fn proposed(title: &str, file: &str) -> String {
    format!(
        "- [ ] 9.9 {title}\n  - **Do**: write it\n  - **Files**: {file}\n  - **Done when**: it is \
         there\n  - **Verify**: `test -f {file}`\n  - **Commit**: `feat: {file}`"
    )
}

/// What an executor of this task says that asks for others.
fn request(kind: &str, task: &str, tasks: &[String]) -> String {
    let object = json!({
        "type": kind, "originalTaskId": task, "reasoning": "it is two things",
        "proposedTasks": tasks,
    });
    format!("TASK_MODIFICATION_REQUEST\n```json\n{object}\n```\n")
}

/// An agent that says what is in `$HOME/asks-<task>` once, if it is there; else it makes
/// the files of its task.
fn asking(world: &World, asks: &[(&str, String)]) -> String {
    for (task, text) in asks {
        std::fs::write(world.home().join(format!("asks-{task}")), text).unwrap();
    }
    agent(
        world,
        "echo \"$id\" >> \"$HOME/starts\"\nprintf '%s' \"$brief\" > \"$HOME/brief-$id\"\n\
         if [ -f \"$HOME/asks-$id\" ]; then cat \"$HOME/asks-$id\"; rm \"$HOME/asks-$id\"; exit 0; fi\n\
         for file in $(printf '%s\\n' \"$brief\" | sed -n 's/.*Files\\*\\*: //p' | head -n 1 | tr -d ,); do echo x > \"$file\"; done\n\
         echo TASK_COMPLETE\n",
    )
}

fn events(world: &World, event: &str) -> Vec<Value> {
    let journal = world.read(JOURNAL);
    let records = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.filter(|record| record["event"] == event).collect()
}

fn started(world: &World) -> Vec<String> {
    let starts = std::fs::read_to_string(world.home().join("starts")).unwrap_or_default();
    starts.lines().map(str::to_owned).collect()
}

#[test]
fn a_task_that_is_split_comes_last_and_is_ticked_by_its_own_check() {
    let world = planned(PLAN);
    let parts = [proposed("One", "a.txt"), proposed("Two", "b.txt")];
    let agent = asking(&world, &[("1.1", request("SPLIT_TASK", "1.1", &parts))]);
    let told = run_with(&world, &agent, &[]).exits(0).stdout.clone();
    assert_eq!(started(&world), ["1.1", "1.1.1", "1.1.2", "1.2"], "nobody works on 1.1 again");
    assert_eq!(committed(&world), ["1.1.1", "1.1.2", "1.1", "1.2"]);
    let plan = world.read(TASKS);
    assert!(plan.contains("- [x] 1.1.1 [BEFORE 1.1] One\n"), "{plan}");
    let modified = events(&world, "modified");
    assert_eq!(modified[0]["inserted"], json!(["1.1.1", "1.1.2"]));
    assert_eq!(modified[0]["kind"], "split");
    assert!(events(&world, "failed").is_empty(), "it has not failed");
    assert!(told.contains("1.1 has asked for another task: 1.1.1"), "{told}");
    assert!(told.contains("2 tasks were added because executors asked"), "{told}");
    let state = world.specum(&["status", "--json"]).json();
    assert_eq!(state["done"], 4, "{state}");
    nothing_is_left(&world);
}

#[test]
fn what_comes_first_is_on_record_at_once() {
    let world = planned(PLAN);
    let tasks = [proposed("First", "first.txt")];
    let agent = asking(&world, &[("1.2", request("ADD_PREREQUISITE", "1.2", &tasks))]);
    // The run may make two attempts, which ends it right behind the request.
    run_with(&world, &agent, &["--max-iterations", "2"]).exits(6);
    let plan = world.read(TASKS);
    assert!(plan.contains("- [ ] 1.2.1 [BEFORE 1.2] First\n"), "{plan}");
    // Its check is the one on record, whatever becomes of the plan during an attempt.
    let changed = events(&world, "plan-changed");
    assert!(changed.iter().any(|record| record.to_string().contains("1.2.1")), "{changed:?}");
    run_with(&world, &agent, &["--max-iterations", "20"]).exits(0);
    assert_eq!(started(&world), ["1.1", "1.2", "1.2.1", "1.2"]);
    nothing_is_left(&world);
}

#[test]
fn a_refusal_and_its_reason_are_in_the_next_brief() {
    let world = planned(PLAN);
    let tasks = [proposed("Mine", "c.txt")];
    let agent = asking(&world, &[("1.1", request("SPLIT_TASK", "1.1", &tasks))]);
    run_with(&world, &agent, &[]).exits(0);
    let refused = events(&world, "modification-refused");
    let why = "\"Mine\" names c.txt, which is a file of 1.2";
    assert_eq!(refused[0]["why"], why);
    let brief = std::fs::read_to_string(world.home().join("brief-1.1")).unwrap();
    assert!(brief.contains(&format!("what it asked of the plan was refused: {why}")), "{brief}");
    assert!(events(&world, "modified").is_empty());
    let log = world.specum(&["log"]).exits(0).stdout.clone();
    assert!(log.contains("1.1 asked for a change of the plan, refused"), "{log}");
}

#[test]
fn what_follows_is_left_to_a_person_unless_it_is_required() {
    let world = planned(PLAN);
    let follow = request("ADD_FOLLOWUP", "1.1", &[proposed("Clean up", "d.txt")]);
    let follow = format!("{follow}\nTASK_COMPLETE\n");
    // It does its work first.
    let script = "echo \"$id\" >> \"$HOME/starts\"\ntouch a.txt b.txt c.txt d.txt\n\
                  if [ \"$id\" = 1.1 ]; then cat \"$HOME/asks\"; else echo TASK_COMPLETE; fi\n";
    std::fs::write(world.home().join("asks"), &follow).unwrap();
    run_with(&world, &agent(&world, script), &[]).exits(0);
    let progress = world.read("specs/test-spec/.progress.md");
    assert!(progress.contains("follow-up of 1.1: Clean up (it is two things)"), "{progress}");
    assert_eq!(started(&world), ["1.1", "1.2"]);

    let world =
        planned(&PLAN.replace("# Plan\n", "# Plan\n\n## Requirements\n- FR-1: It is clean.\n"));
    let linked = format!("{}\n  - _Requirements: FR-1_", proposed("Clean up", "d.txt"));
    let follow = request("ADD_FOLLOWUP", "1.1", &[linked]);
    std::fs::write(world.home().join("asks"), format!("{follow}\nTASK_COMPLETE\n")).unwrap();
    run_with(&world, &agent(&world, script), &[]).exits(0);
    assert_eq!(started(&world), ["1.1", "1.1.1", "1.2"]);
    assert_eq!(events(&world, "modified")[0]["kind"], "follow-up");
    nothing_is_left(&world);
}

#[test]
fn a_plan_grows_no_further_than_its_limits() {
    let world = planned(PLAN);
    // An agent that asks whenever it is asked.
    let script = "echo \"$id\" >> \"$HOME/starts\"\nn=$(wc -l < \"$HOME/starts\")\n\
        cat <<END\nTASK_MODIFICATION_REQUEST\n\\`\\`\\`json\n{\"type\": \"ADD_PREREQUISITE\", \
        \"originalTaskId\": \"$id\", \"reasoning\": \"more\", \"proposedTasks\": [\"- [ ] 9 Task $n\\\\n  \
        - **Do**: x\\\\n  - **Files**: f$n\\\\n  - **Done when**: x\\\\n  - **Verify**: \\`test -f f$n\\`\\\\n  \
        - **Commit**: x\"]}\n\\`\\`\\`\nEND\n";
    run_with(&world, &agent(&world, script), &["--max-iterations", "30"]).exits(6);
    let modified = events(&world, "modified");
    assert!(modified.len() <= 5, "{} tasks were added", modified.len());
    assert!(!modified.is_empty(), "{:?}", events(&world, "modification-refused"));
    let plan = world.read(TASKS);
    assert!(!plan.contains("1.1.1.1.1"), "two levels deep at most: {plan}");
    let refused = events(&world, "modification-refused");
    assert!(refused.iter().any(|record| record["why"].as_str().unwrap().contains("levels deep")));
}

#[test]
fn settings_turn_it_off_and_set_the_number() {
    for (settings, why) in [
        ("modifications: false\n", "the settings say `modifications: false`"),
        ("max_added_tasks: 0\n", "0 tasks were added of 0 that may be"),
    ] {
        let world = planned(PLAN);
        world.write("specum.yaml", settings);
        world.git(&["add", "."]);
        world.git(&["commit", "-q", "-m", "settings"]);
        let tasks = [proposed("One", "a.txt")];
        let agent = asking(&world, &[("1.1", request("SPLIT_TASK", "1.1", &tasks))]);
        run_with(&world, &agent, &[]).exits(0);
        assert_eq!(events(&world, "modification-refused")[0]["why"], why);
        assert!(events(&world, "modified").is_empty());
    }
}

#[test]
fn inside_a_group_nothing_is_added() {
    let world =
        planned(&PLAN.replace("1.1 Both", "1.1 [P] Both").replace("1.2 The", "1.2 [P] The"));
    let tasks = [proposed("One", "a.txt")];
    let agent = asking(&world, &[("1.1", request("SPLIT_TASK", "1.1", &tasks))]);
    run_with(&world, &agent, &[]).exits(0);
    let why = "a group is being worked on; ask again when the task is worked alone";
    assert_eq!(events(&world, "modification-refused")[0]["why"], why);
    nothing_is_left(&world);
}

#[test]
fn a_request_is_carried_out_whole_wherever_specum_is_killed() {
    let parts = [proposed("One", "a.txt"), proposed("Two", "b.txt")];
    let request = request("SPLIT_TASK", "1.1", &parts);
    for point in 1..100 {
        let world = planned(PLAN);
        world.specum(&["implement"]).exits(0);
        world.specum(&["next"]).exits(0);
        let mut finish = world.command();
        finish.args(["finish", "1.1"]).env("SPECUM_DIE_AT", point.to_string());
        let is_whole = call(finish, request.as_bytes()).code.is_some();
        let due = world.specum(&["next"]).stdout.clone();
        let plan = world.read(TASKS);
        let count = |text: &str| plan.matches(text).count();
        let added = (count(" 1.1.1 [BEFORE 1.1] One"), count(" 1.1.2 [BEFORE 1.1] Two"));
        match added {
            // It died before anything was announced: the attempt is open as before.
            (0, 0) => assert!(!is_whole && due.contains("1.1"), "point {point}: {due}"),
            (1, 1) => assert!(due.contains("1.1.1"), "point {point}: {due}"),
            other => panic!("point {point}: {other:?} in {plan}"),
        }
        if is_whole {
            assert!(point > 5, "there are few points");
            assert_eq!(added, (1, 1));
            return;
        }
    }
    panic!("it never ends");
}
