//! The checks of a whole plan, from the settings, a front matter or the command line, and
//! checks that cannot be run.

use serde_json::json;

use crate::world::{Call, World};

const TASKS: &str = "specs/app/tasks.md";
const SETTINGS: &str = ".claude/ralph-specum.local.md";

fn world(tasks: &str, settings: &str) -> World {
    let world = World::empty();
    world.write(TASKS, tasks);
    if !settings.is_empty() {
        world.write(SETTINGS, format!("---\n{settings}\n---\n"));
    }
    world.git_init();
    world
}

/// A run whose agent does this, with its brief on standard input, and says that it is
/// done.
fn run(world: &World, does: &str, args: &[&str]) -> Call {
    let agent = format!("cat > $HOME/brief; echo x >> $HOME/starts; {does}; echo TASK_COMPLETE");
    let run = ["run", "app", "--agent", "command", "--agent-command", &agent];
    world.specum(&[&run, args].concat())
}

fn starts(world: &World) -> usize {
    std::fs::read_to_string(world.home().join("starts")).unwrap_or_default().lines().count()
}

/// The proofs of the verdicts, in the journal.
fn proofs(world: &World) -> Vec<serde_json::Value> {
    world.journal_of("app", "passed").iter().map(|record| record["proof"].clone()).collect()
}

#[test]
fn a_plan_from_another_tool_is_checked_by_the_settings() {
    let plan = "- [ ] T001 a\n- [ ] T002 b\n  - **Verify**: `test -e done`\n";
    let world = world(plan, "verify: test -s done");
    let check = world.specum(&["check", "app"]);
    assert!(check.exits(0).stdout.contains("T001 by `test -s done`"), "{}", check.stdout);
    let call = run(&world, "true", &["--max-task-iterations", "1"]);
    let failed = "`test -s done` ended with code 1";
    assert!(call.exits(6).stdout.contains(failed), "{}", call.stdout);
    assert!(world.read("../home/brief").contains("`test -s done`"), "the agent knows it");
    world.person(&["resume", "app"]);
    let call = run(&world, "echo x > done", &[]);
    assert!(
        call.exits(0).stdout.contains(
            "2 of 2 tasks done; 1 by the suite alone, 1 by a check that was green before the work"
        ),
        "{}",
        call.stdout
    );
    assert_eq!(proofs(&world), ["suite", "green-before"]);
    let status = world.specum(&["status", "app", "--json"]).exits(0).json();
    assert_eq!((&status["bySuite"], &status["unverified"]), (&json!(["T001"]), &json!([])));
    let status = world.specum(&["status", "app"]);
    assert!(
        status.exits(0).stdout.contains("T001: by the plan's check alone"),
        "{}",
        status.stdout
    );
}

#[test]
fn a_front_matter_counts_more_than_the_settings_and_verify_all_runs_behind_every_check() {
    let plan = "---\nverify: echo front >> ../ran\n---\n- [ ] 1.1 a\n- [ ] 1.2 b\n  - **Verify**: \
                `echo own >> ../ran`\n";
    let world = world(plan, "verify: \"false\"\nverify_all: [echo all >> ../ran, test -e x]");
    run(&world, "touch x", &[]).exits(0);
    assert_eq!(world.read("../ran"), "front\nall\nown\nall\n");
    let call = world.specum(&["run", "app", "--dry-run", "--agent", "script", "--json"]);
    assert_eq!(call.exits(0).json()["units"], json!([]), "it is done");
}

#[test]
fn a_check_for_one_run_is_typed() {
    let world = world("- [ ] 1.1 a\n- [ ] 1.2 b\n", "verify: test -e settings");
    let dry =
        world.specum(&["run", "app", "--dry-run", "--agent", "script", "--verify", "test -e x"]);
    assert!(dry.exits(0).stdout.contains("checked by `test -e x`"), "{}", dry.stdout);
    run(&world, "touch x", &["--only", "1.1", "--verify", "test -e x"]).exits(0);
    let call = run(&world, "true", &["--max-task-iterations", "1"]);
    assert!(call.exits(6).stdout.contains("`test -e settings` ended"), "{}", call.stdout);
    assert_eq!(proofs(&world), ["suite"]);
    let call = run(&world, "true", &["--verify", " "]);
    assert!(call.exits(2).stderr.contains("--verify is empty"), "{}", call.stderr);
}

#[test]
fn a_check_that_an_agent_changes_waits_for_a_person() {
    for (settings, change) in [
        ("verify: test -e x", "sed -i 's/test -e x/test -d ./' .claude/*.md"),
        ("verify: test -e x", "rm .claude/*.md"),
        ("max_parallel: 2", "sed -i 's/verify: .*/verify: test -d ./' specs/app/tasks.md"),
    ] {
        let front =
            if settings.starts_with("verify") { "" } else { "---\nverify: test -e x\n---\n" };
        let world = world(&format!("{front}- [ ] 1.1 a\n"), settings);
        let call = run(&world, change, &["--allow-dirty"]);
        let question = "the check of the whole plan was changed while 1.1 was being worked on: \
                        `test -e x` → ";
        assert!(call.exits(6).stdout.contains(question), "{change}: {}", call.stdout);
        assert_eq!((starts(&world), proofs(&world).len()), (1, 0), "{change}");
        let status = world.specum(&["status", "app"]);
        assert!(status.stdout.contains("`specum accept verify`"), "{}", status.stdout);
        let call = world.specum(&["accept", "verify", "--spec", "app"]);
        assert!(call.exits(1).stderr.contains("is a person's to say"), "{}", call.stderr);
        let shown = world.person(&["accept", "verify", "--spec", "app"]);
        assert!(shown.contains("the check of the whole plan is"), "{shown}");
        let call = run(&world, "true", &["--allow-dirty"]);
        assert!(call.exits(0).stdout.contains("1 of 1 tasks done"), "{}", call.stdout);
    }
}

#[test]
fn what_cannot_be_read_or_started_is_said_before_an_agent_is_paid() {
    for (plan, says) in [
        ("- [ ] 1.1 a\n  - **Verify**: `if true; then`\n", "a shell cannot read `if true; then`"),
        ("- [ ] 1.1 a\n  - **Verify**:\n    ```bash\n    f() {\n    ```\n", "a shell cannot read"),
        ("- [ ] 1.1 a\n  - **Verify**: `no-such-tool -q`\n", "`no-such-tool` is no program"),
        (
            "---\ntitle: x\nverify: no-such-tool\n---\n- [ ] 1.1 a\n",
            "`verify` in the front matter runs `no-such-tool`",
        ),
        ("---\nverify:\n---\n- [ ] 1.1 a\n", "`verify` is empty"),
        ("---\nverify: [a, b\n---\n- [ ] 1.1 a\n", "is no YAML"),
    ] {
        let world = world(plan, "");
        let check = world.specum(&["check", "app"]);
        assert!(check.exits(1).stdout.contains(says), "{plan}: {}", check.stdout);
        let call = run(&world, "true", &[]);
        assert!(call.code != Some(0) && call.stderr.contains(says), "{plan}: {}", call.stderr);
        assert_eq!(starts(&world), 0);
        assert_eq!(world.read(TASKS), plan);
    }
}

#[test]
fn a_check_that_cannot_be_run_is_named_with_the_place_where_it_stands() {
    let task = "- [ ] 1.1 a\n";
    let set = world(task, "verify: no-such-tool");
    let check = set.specum(&["check", "app"]);
    let says = "`verify` in the settings runs `no-such-tool`";
    assert!(check.exits(1).stdout.contains(says), "{}", check.stdout);
    let all = world(task, "verify_all: if true; then");
    let says = "`verify_all` in the settings: a shell cannot read `if true; then`";
    assert!(run(&all, "true", &[]).stderr.contains(says));
    let typed = run(&world(task, ""), "true", &["--verify", "no-such-tool"]);
    let says = "`--verify` runs `no-such-tool`";
    assert!(typed.exits(1).stderr.contains(says), "{}", typed.stderr);

    // Where only the run finds it, it says so too.
    for (plan, settings, says) in [
        ("---\nverify: TOOL\n---\n- [ ] 1.1 a\n", "", "`verify` in the front matter runs `"),
        (task, "verify: TOOL", "`verify` in the settings runs `"),
    ] {
        let world = world(task, "");
        world.write("../bin/tool", "#!/bin/sh\ntest -e x\n");
        crate::world::executable(&world.path("../bin/tool"));
        let tool = world.path("../bin/tool").display().to_string();
        world.write(TASKS, plan.replace("TOOL", &tool));
        world.write(SETTINGS, format!("---\n{}\n---\n", settings.replace("TOOL", &tool)));
        world.commit_all();
        let call = run(&world, &format!("touch x; rm -f {tool}"), &[]);
        let says = format!("1.1 cannot be checked: {says}");
        assert!(call.exits(6).stdout.contains(&says), "{says}: {}", call.stdout);
    }
}

/// A program that is there when the run begins and gone when the check is run.
fn vanishes(plan: &str) -> (World, String) {
    let world = world(plan, "");
    world.write("../bin/tool", "#!/bin/sh\ntest -e x\n");
    crate::world::executable(&world.path("../bin/tool"));
    let tool = world.path("../bin/tool").display().to_string();
    world.write(TASKS, plan.replace("TOOL", &tool));
    world.git(&["commit", "--quiet", "-am", "the check"]);
    (world, tool)
}

#[test]
fn a_check_that_cannot_be_run_stops_the_run_at_its_task_and_charges_no_attempt() {
    for (plan, jobs) in [
        ("- [ ] 1.1 a\n  - **Verify**: `TOOL`\n- [ ] 1.2 b\n", "1"),
        ("- [ ] 1.1 [P] a\n  - **Verify**: `TOOL`\n- [ ] 1.2 [P] b\n", "2"),
        ("- [ ] 1.1 [VERIFY] a\n  - **Verify**: `TOOL`\n- [ ] 1.2 b\n", "1"),
        ("- [ ] 1.2 b\n- [ ] 1.1 [VERIFY] a\n  - **Verify**: `TOOL`\n", "1"),
    ] {
        let (world, tool) = vanishes(plan);
        let call = run(&world, &format!("touch x; rm -f {tool}"), &["--jobs", jobs]);
        let why = "1.1 cannot be checked: its check runs";
        assert!(call.exits(6).stdout.contains(why), "{plan}: {}", call.stdout);
        assert_eq!(starts(&world), jobs.parse::<usize>().unwrap(), "{plan}: nobody is paid twice");
        assert_eq!(world.journal_of("app", "failed").len(), 0, "{plan}");
        let status = world.specum(&["status", "app"]);
        assert!(status.stdout.contains(why), "{}", status.stdout);
        // A person repairs the plan, and the same command goes on.
        world.write(TASKS, world.read(TASKS).replace(&tool, "test -e x"));
        let call = run(&world, "touch x", &["--allow-dirty"]);
        assert!(call.exits(0).stdout.contains("2 of 2 tasks done"), "{plan}: {}", call.stdout);
    }
}

#[test]
fn an_attempt_that_changed_nothing_says_so_and_the_headline_counts_what_had_no_check() {
    let world = world("- [ ] 1.1 a\n- [ ] 1.2 b\n  - **Verify**: `true && test -d specs`\n", "");
    let call = run(&world, "case $(cat $HOME/brief) in *'task 1.2'*) echo y > y;; esac", &[]);
    assert!(call.exits(0).stdout.contains("2 of 2 tasks done; 1 had no check"), "{}", call.stdout);
    let line = |id: &str| {
        call.stdout.lines().find(|line| line.contains(&format!("{id} passed"))).unwrap().to_owned()
    };
    assert!(line("1.1").contains("unverified, changed nothing"), "{}", call.stdout);
    assert!(!line("1.2").contains("changed nothing"), "{}", call.stdout);
}
