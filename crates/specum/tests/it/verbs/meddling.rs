//! Executors, and people, who do more than their task.

use std::{fs, thread};

use crate::run::{Listener, agent, at_work, planned};
use crate::world::{JOURNAL, STATE, TASKS, World, fifo, gate};

fn journal_of(world: &World, event: &str) -> serde_json::Value {
    let journal = world.read("specs/test-spec/.ralph-journal.jsonl");
    let lines = journal.lines().map(|line| serde_json::from_str(line).expect("whole lines"));
    lines
        .into_iter()
        .rfind(|record: &serde_json::Value| record["event"] == event)
        .expect("it is told")
}

#[test]
fn an_executor_that_ticks_other_boxes_has_them_opened_again() {
    let world = World::started("- [x] 1.0 z\n- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 c\n");
    world.write(TASKS, world.read(TASKS).replace("[ ]", "[x]"));
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    assert_eq!(world.read(TASKS), "- [x] 1.0 z\n- [x] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 c\n");
    assert_eq!(journal_of(&world, "passed")["unticked"], serde_json::json!(["1.2", "1.3"]));
    assert_eq!(world.read_state()["taskIndex"], 2);
}

#[test]
fn a_failed_attempt_keeps_no_tick_of_its_own_or_of_others() {
    let world = World::started("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    world.write(TASKS, world.read(TASKS).replace("[ ]", "[x]"));
    world.finish("1.1", "I could not.").exits(1);
    assert_eq!(world.read(TASKS), "- [ ] 1.1 a\n- [ ] 1.2 b\n");
}

#[test]
fn a_box_that_a_person_ticks_while_nothing_runs_stays_ticked() {
    let world = World::started("- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 c\n");
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    // `finish` has opened 1.2 already; its verdict leaves the loop with 1.3.
    world.finish("1.2", "TASK_COMPLETE").exits(0);
    world.specum(&["cancel"]).exits(0);
    world.write(TASKS, world.read(TASKS).replace("[ ]", "[x]") + "- [ ] 1.4 d\n");
    world.specum(&["implement"]).exits(0);
    world.finish("1.4", "TASK_COMPLETE").exits(0);
    assert!(!world.read(TASKS).contains("[ ]"));
}

#[test]
fn the_check_that_counts_is_the_one_on_record() {
    let world = World::started("- [ ] 1.1 a\n  - **Verify**: `false`\n- [ ] 1.2 b\n");
    world.write("half.txt", "");
    world.write(TASKS, world.read(TASKS).replace("`false`", "`true`"));
    let call = world.finish("1.1", "TASK_COMPLETE");
    let question = "the check of 1.1 was changed while 1.1 was being worked on: `false` → `true`; \
                    `specum accept 1.1` takes the new one";
    assert!(call.exits(6).stdout.contains(question), "{}", call.stdout);
    assert!(call.stdout.contains("its work is kept: refs/specum/test-spec/kept/1.1-1"));
    assert!(world.path("half.txt").exists(), "and nothing has left the tree");
    assert_eq!(world.read_state()["taskResults"]["0"]["attempts"], 0, "no failed attempt");
    assert!(call.stdout.contains("Due: task 1.2"), "others go on: {}", call.stdout);
    let status = world.specum(&["status", "--json"]).exits(0).json();
    assert_eq!(status["next"], "1.2", "1.1 waits");
    let call = world.finish("1.2", "TASK_COMPLETE");
    assert!(call.exits(0).stdout.contains("Waiting for a person:"), "{}", call.stdout);
    for shown in [&["next"][..], &["status"], &["log"]] {
        let call = world.specum(shown);
        assert!(call.stdout.contains("1.1") && call.stdout.contains("accept"), "{}", call.stdout);
    }
    let call = world.specum(&["accept", "1.1"]);
    assert!(call.exits(1).stderr.contains("`specum accept` is a person's to say"));
    let shown = world.person(&["accept", "1.1"]);
    assert!(shown.contains("1.1 is checked by `true` from now on"), "{shown}");
    world.specum(&["next"]).exits(0);
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    assert!(!world.path("specs/test-spec/.ralph-state.json").exists(), "complete");
}

/// A check that tells when it runs, and ends when the gate in the home is opened.
const SLOW_CHECK: &str = "echo x > $HOME/line; read x < $HOME/gate; test -d .";

#[test]
fn a_check_that_is_accepted_while_another_one_runs_is_run_before_the_verdict() {
    let world = World::started(&format!("- [ ] 1.1 a\n  - **Verify**: `{SLOW_CHECK}`\n"));
    fifo(&world.home().join("gate"));
    let mut line = Listener::new(&world, "line");
    world.write(TASKS, world.read(TASKS).replace(SLOW_CHECK, "test -f b"));
    let call = thread::scope(|scope| {
        let judge = scope.spawn(|| world.finish("1.1", "TASK_COMPLETE"));
        line.line();
        world.person(&["accept", "1.1"]);
        gate(&world.home().join("gate"));
        judge.join().expect("the verdict is there")
    });
    assert!(call.exits(1).stdout.contains("`test -f b` ended with code 1"), "{}", call.stdout);
    assert!(world.read(TASKS).starts_with("- [ ] 1.1"), "the first check alone proves nothing");
    world.write("b", "");
    world.finish("1.1", "TASK_COMPLETE").exits(0);
}

#[test]
fn in_a_run_too_a_check_that_is_accepted_while_another_one_runs_is_run_before_the_verdict() {
    for how in [&["--no-red"][..], &["--no-red", "--isolate"]] {
        let world = planned(&format!("- [ ] 1.1 a\n  - **Verify**: `{SLOW_CHECK}`\n"));
        fifo(&world.home().join("gate"));
        let mut line = Listener::new(&world, "line");
        let plan = world.path(TASKS).display().to_string();
        let works = agent(
            &world,
            &format!(
                "sed -i 's/`echo.*`/`test -f b`/' {plan}\ntest ! -e $HOME/once || touch b\n\
                 touch a $HOME/once\necho TASK_COMPLETE\n"
            ),
        );
        let mut run = at_work(&world, &works, how);
        line.line();
        world.person(&["accept", "1.1"]);
        gate(&world.home().join("gate"));
        assert_eq!(run.wait().unwrap().code(), Some(0), "{how:?}");
        let fell_through = [world.journal("failed"), world.journal("set-aside")].concat();
        assert_eq!(fell_through.len(), 1, "{how:?}: {fell_through:?}");
        let why = fell_through[0].to_string();
        assert!(why.contains("`test -f b` ended with code 1"), "{how:?}: {why}");
        assert_eq!(world.count("passed"), 1);
    }
}

#[test]
fn a_check_of_a_later_task_that_an_agent_weakens_does_not_count() {
    let plan = "- [ ] 1.1 a\n- [ ] 1.2 b\n  - **Verify**: `test -f b`\n";
    let world = World::started(plan);
    world.write(TASKS, world.read(TASKS).replace("`test -f b`", "`true`"));
    let call = world.finish("1.1", "TASK_COMPLETE");
    assert!(call.exits(0).stderr.contains("the check of 1.2 was changed while 1.1 was"));
    world.finish("1.2", "TASK_COMPLETE").exits(6);
    assert!(world.read(TASKS).contains("- [ ] 1.2"));
    // Whoever puts it back has settled it.
    world.write(TASKS, world.read(TASKS).replace("`true`", "`test -f b`"));
    world.write("b", "");
    world.specum(&["next"]).exits(0);
    world.finish("1.2", "TASK_COMPLETE").exits(0);
}

#[test]
fn a_changed_check_of_a_task_that_passed_is_named_in_the_summary() {
    let world = World::started("- [ ] 1.1 a\n  - **Verify**: `test -f a`\n- [ ] 1.2 b\n");
    world.write("a", "");
    world.write(TASKS, world.read(TASKS).replace("`test -f a`", "`true`"));
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    let named = "the check of 1.1 was changed while 1.1 was being worked on: `test -f a` → `true`; \
                 the old one was run";
    assert!(world.specum(&["status"]).stdout.contains(named), "while the loop is under way");
    world.finish("1.2", "TASK_COMPLETE").exits(0);
    assert!(!world.path("specs/test-spec/.ralph-state.json").exists(), "complete");
    for shown in [&["status", "--json"], &["log", "--json"]] {
        let call = world.specum(shown);
        assert!(call.exits(0).stdout.contains(named), "{shown:?}: {}", call.stdout);
    }
}

#[test]
fn check_and_dry_run_show_the_check_on_record_while_another_one_waits() {
    let plan = "- [ ] 1.1 a\n- [ ] 1.2 b\n  - **Verify**: `test -f b`\n";
    let world = World::started(plan);
    world.write(TASKS, plan.replace("`test -f b`", "`true`"));
    let shown = |on_record: bool| {
        let check = world.specum(&["check"]).exits(0).stdout.clone();
        let line = check.lines().find(|line| line.contains("check: 1.2")).unwrap();
        let dry = world.specum(&["run", "--dry-run", "--agent-command", "true"]);
        let dry = dry.exits(0).stdout.clone();
        let note = ", the check on record: the plan's waits for `specum accept`";
        let of_plan = [line.contains("`true`"), dry.contains("checked by `true`")];
        let recorded = [line.contains("`test -f b`"), dry.contains("checked by `test -f b`")];
        assert_eq!((recorded, of_plan), ([on_record; 2], [!on_record; 2]), "{check}{dry}");
        assert_eq!(line.ends_with(note), on_record, "{line}");
    };
    shown(true);
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    shown(true);
    world.person(&["accept", "1.2"]);
    shown(false);
}

#[test]
fn a_fix_task_that_comes_with_the_end_of_a_group_is_on_record() {
    let world = World::planned("- [ ] 1.1 [P] a\n  - **Verify**: `test -f a`\n- [ ] 1.2 [P] b\n");
    world.specum(&["implement", "--recovery-mode", "--max-task-iterations", "1"]).exits(0);
    world.finish("1.1", "TASK_COMPLETE").exits(1);
    // Nothing is left of the group, and that is found by whoever asks next.
    world.person(&["tick", "1.2"]);
    let due = world.specum(&["next"]);
    assert!(due.exits(0).stdout.contains("Due: task 1.1.1"), "{}", due.stdout);
    let (head, fix) = {
        let tasks = world.read(TASKS);
        let (head, fix) = tasks.split_once("- [ ] 1.1.1 ").expect("a fix task");
        (head.to_owned(), fix.replacen("**Verify**: `test -f a`", "**Verify**: `true`", 1))
    };
    world.write(TASKS, format!("{head}- [ ] 1.1.1 {fix}"));
    let call = world.finish("1.1.1", "TASK_COMPLETE");
    let question = "the check of 1.1.1 was changed while 1.1.1 was being worked on";
    assert!(call.exits(6).stdout.contains(question), "{}", call.stdout);
    assert!(!call.stdout.contains("Due: task"), "and it is not due: {}", call.stdout);
    assert!(world.specum(&["next"]).exits(6).stdout.contains(question));
}

#[test]
fn a_step_that_an_executor_ticks_costs_nothing() {
    let plan = "- [ ] 1.1 a\n  - [ ] a step\n  - **Verify**:\n    - [ ] `test -f a`\n- [ ] 1.2 b\n";
    let world = World::started(plan);
    world.write("a", "");
    world.write(TASKS, plan.replace("  - [ ]", "  - [x]"));
    let call = world.finish("1.1", "TASK_COMPLETE");
    assert_eq!(call.exits(0).stderr, "");
    assert!(call.stdout.contains("1.1 passed: verified"), "{}", call.stdout);
    assert_eq!(world.read(TASKS), plan.replace("  - [ ]", "  - [x]").replace("[ ] 1.1", "[x] 1.1"));
    assert_eq!(world.journal("plan-changed").len() + world.journal("unticked").len(), 0);
    assert_eq!(world.git(&["show", "HEAD:specs/test-spec/tasks.md"]), world.read(TASKS));
}

#[test]
fn a_heading_is_ticked_in_the_commit_of_its_last_task() {
    let world =
        World::started("- [ ] 1. Set up\n- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] 2. More\n- [ ] 2.1 c\n");
    let committed = || world.git(&["show", "HEAD:specs/test-spec/tasks.md"]);
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    assert!(committed().starts_with("- [ ] 1. Set up\n- [x] 1.1 a\n"), "{}", committed());
    world.finish("1.2", "TASK_COMPLETE").exits(0);
    let after = "- [x] 1. Set up\n- [x] 1.1 a\n- [x] 1.2 b\n- [ ] 2. More\n- [ ] 2.1 c\n";
    assert_eq!((committed(), world.read(TASKS)), (after.into(), after.into()));
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_task_that_is_removed_during_an_attempt_keeps_the_loop_from_being_complete() {
    let world = World::started("- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 c\n");
    world.write(TASKS, "- [ ] 1.1 a\n");
    let call = world.finish("1.1", "TASK_COMPLETE");
    assert!(
        call.exits(0).stdout.contains("task 1.2 (b) was removed while 1.1 was being worked on")
    );
    assert!(!call.stdout.contains("Every task is done"), "{}", call.stdout);
    world.specum(&["next"]).exits(6);
    world.person(&["accept", "1.2"]);
    let (shown, code) = world.person_gets(&["accept", "1.2"]);
    assert_eq!(code, Some(3), "{shown}");
    world.write(TASKS, world.read(TASKS) + "- [ ] 1.3 c\n");
    world.specum(&["next"]).exits(0);
    world.finish("1.3", "TASK_COMPLETE").exits(0);
    assert!(!world.path("specs/test-spec/.ralph-state.json").exists(), "complete");
}

#[test]
fn a_task_that_is_removed_while_it_is_worked_on_is_in_nobodys_commit() {
    let world = World::started("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    world.write("one.txt", "");
    world.write(TASKS, "- [ ] 1.2 b\n");
    let call = world.finish("1.1", "TASK_COMPLETE");
    let question = "task 1.1 (a) was removed while 1.1 was being worked on";
    assert!(call.exits(6).stdout.contains(question), "{}", call.stdout);
    world.specum(&["next"]).exits(0);
    world.write("two.txt", "");
    let last = world.finish("1.2", "TASK_COMPLETE");
    let committed = world.git(&["log", "--format=", "--name-only"]);
    assert!(committed.contains("two.txt") && !committed.contains("one.txt"), "{committed}");
    // It is called what it was called, wherever it is shown.
    let shown = [&["next"][..], &["status"], &["log"], &[]].map(|verb| world.specum(verb));
    for call in shown.iter().chain([&call, &last]) {
        let said = format!("{}{}", call.stdout, call.stderr);
        assert!(said.contains("task 1.1 (a) was removed") && !said.contains("gone."), "{said}");
    }
}

#[test]
fn a_person_says_that_a_task_is_done() {
    let world = World::started("- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 c\n");
    let call = world.specum(&["tick", "1.2"]);
    assert!(call.exits(1).stderr.contains("`specum tick` is a person's to say"), "{}", call.stderr);
    let shown = world.person(&["tick", "1.2"]);
    assert!(shown.contains("1.2 ticked by you, not checked"), "{shown}");
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    assert!(world.read(TASKS).contains("- [x] 1.2"), "it counts");
    world.finish("1.3", "TASK_COMPLETE").exits(0);
    let log = world.specum(&["log", "--json"]).stdout;
    assert!(log.contains("\"byPerson\""), "{log}");
    assert!(world.specum(&["log"]).stdout.contains("ticked by you, not checked"));
}

#[test]
fn a_plan_that_is_edited_while_the_check_runs_is_judged_under_its_new_names() {
    // The check itself does what a person might: it renumbers, and retitles.
    let plan = "- [ ] 1.1 a\n  - **Verify**: `cp next.md specs/test-spec/tasks.md; test -f a`\n- [ ] 1.2 b\n";
    for edited in [
        format!("- [ ] 1.0 new\n{}", plan.replace("1.2 b", "1.3 b").replace("1.1 a", "1.2 a")),
        plan.replace("1.1 a", "1.1 a better a"),
    ] {
        let world = World::started(plan);
        world.write("next.md", &edited);
        world.write("a", "");
        world.finish("1.1", "TASK_COMPLETE").exits(0);
        let committed = world.git(&["show", "--format=", "--name-only", "HEAD"]);
        assert!(committed.lines().any(|path| path == "a"), "{committed}");
        world.specum(&["next"]).exits(0);
        let tasks = world.read(TASKS);
        assert!(tasks.contains("- [x] 1.2 a") || tasks.contains("- [x] 1.1 a better"), "{tasks}");
        assert_eq!(tasks.matches("[x]").count(), 1, "{tasks}");
    }
}

#[test]
fn a_state_that_is_deleted_is_no_way_to_have_ticks_count() {
    let world = World::started("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    world.write(TASKS, world.read(TASKS).replace("[ ]", "[x]"));
    fs::remove_file(world.path("specs/test-spec/.ralph-state.json")).unwrap();
    let call = world.specum(&["implement"]);
    assert!(call.exits(0).stdout.contains("Due: task 1.1"), "{}", call.stdout);
    assert_eq!(world.read(TASKS), "- [ ] 1.1 a\n- [ ] 1.2 b\n");
    world.in_session(&["cancel"]).exits(1);
}

#[test]
fn a_second_task_of_one_id_stops_the_loop_in_words() {
    let world = World::started("- [ ] 1.1 a\n- [ ] 1.2 b\n  - **Verify**: `test -f b`\n");
    world.write(TASKS, world.read(TASKS) + "- [ ] 1.2 copy\n  - **Verify**: `true`\n");
    let call = world.finish("1.1", "TASK_COMPLETE");
    assert!(call.stderr.contains("id 1.2 is taken"), "{}{}", call.stdout, call.stderr);
    world.write(TASKS, world.read(TASKS).replace("- [ ] 1.2 copy\n  - **Verify**: `true`\n", ""));
    world.specum(&["next"]).exits(0);
    world.finish("1.2", "TASK_COMPLETE").exits(1);
}

#[test]
fn a_box_that_a_person_opens_again_is_done_again() {
    let world = World::started("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    world.write(TASKS, world.read(TASKS).replace("[x] 1.1", "[ ] 1.1"));
    let call = world.finish("1.2", "TASK_COMPLETE");
    assert!(call.exits(0).stdout.contains("Due: task 1.1"), "{}", call.stdout);
    // The old verdict does not prove what comes now.
    world.write(TASKS, world.read(TASKS).replace("[ ] 1.1", "[x] 1.1"));
    let call = world.specum(&["next"]);
    assert!(call.stderr.contains("box 1.1 was ticked without a verdict and is open again"));
}

#[test]
fn a_task_of_a_plan_without_ids_inherits_nothing_from_the_one_whose_place_it_takes() {
    let plan = "- [ ] Make a\n  - **Verify**: `test -f a`\n- [ ] Make b\n";
    let world = World::started(plan);
    world.write("half-of-a", "");
    let call = world.finish("no.1", "TASK_COMPLETE");
    assert!(call.exits(1).stdout.contains("no.1 failed (attempt 1)"), "{}", call.stdout);
    world.write(TASKS, format!("- [ ] Make z\n{}", world.read(TASKS)));
    let call = world.specum(&["next"]);
    assert!(call.exits(0).stdout.contains("Due: task no.1 for spec-executor, attempt 1"));
    assert!(!call.stdout.contains("What failed last time"), "{}", call.stdout);
    world.write("z", "");
    world.finish("no.1", "TASK_COMPLETE").exits(0);
    let committed = world.git(&["show", "--format=", "--name-only", "HEAD"]);
    assert!(committed.contains("\nz\n") && !committed.contains("half-of-a"), "{committed}");
    let call = world.specum(&["next"]);
    assert!(call.stdout.contains("Due: task no.2 for spec-executor, attempt 2"), "{}", call.stdout);
    assert!(call.stdout.contains("What failed last time"), "{}", call.stdout);
    // Told to work on `no.2`, an executor means that task wherever it stands.
    world.write(TASKS, format!("- [x] Make y\n{}", world.read(TASKS)));
    world.write("a", "");
    let call = world.finish("no.2", "TASK_COMPLETE");
    assert!(call.exits(0).stdout.contains("no.3 passed: verified"), "{}", call.stdout);
}

#[test]
fn the_boxes_of_another_plan_are_nobodys_to_tick() {
    let world = World::planned("- [ ] 1.1 a\n");
    world.write("specs/other/tasks.md", "- [x] 1.0 z\n- [ ] 1.1 theirs\n");
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "-m", "another plan"]);
    world.specum(&["implement", "test-spec"]).exits(0);
    world.write("specs/other/tasks.md", "- [x] 1.0 z\n- [x] 1.1 theirs\n");
    let call = world.finish("1.1", "TASK_COMPLETE");
    assert!(call.exits(0).stdout.contains("1.1 passed"), "{}", call.stdout);
    assert_eq!(world.read("specs/other/tasks.md"), "- [x] 1.0 z\n- [ ] 1.1 theirs\n");
    assert_eq!(journal_of(&world, "passed")["unticked"], serde_json::json!(["1.1 of other"]));
}

#[test]
fn a_box_in_a_plan_that_nobody_has_committed_is_not_to_be_ticked_either() {
    let world = World::planned("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    world.write("specs/other/tasks.md", "- [x] 1.0 z\n- [ ] 1.1 theirs\n");
    world.specum(&["implement", "test-spec"]).exits(0);
    world.write("specs/other/tasks.md", "- [x] 1.0 z\n- [x] 1.1 theirs\n- [x] 1.2 new\n");
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    let after = "- [x] 1.0 z\n- [ ] 1.1 theirs\n- [x] 1.2 new\n";
    assert_eq!(world.read("specs/other/tasks.md"), after);
    assert_eq!(journal_of(&world, "passed")["unticked"], serde_json::json!(["1.1 of other"]));
}

#[test]
fn nor_is_one_in_a_plan_that_git_ignores() {
    let world = World::planned("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    world.write("specs/other/tasks.md", "- [x] 1.0 z\n- [ ] 1.1 theirs\n");
    world.write(".git/info/exclude", "specs/other/\n");
    world.specum(&["implement", "test-spec"]).exits(0);
    world.write("specs/other/tasks.md", "- [x] 1.0 z\n- [x] 1.1 theirs\n");
    let call = world.finish("1.1", "TASK_COMPLETE");
    let told = "box 1.1 of other was ticked without a verdict and is open again";
    assert!(call.exits(0).stdout.contains(told), "{}", call.stdout);
    assert_eq!(world.read("specs/other/tasks.md"), "- [x] 1.0 z\n- [ ] 1.1 theirs\n");
}

#[test]
fn nor_is_one_in_a_project_without_a_repository() {
    let world = World::with_tasks("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    fs::remove_file(world.path(STATE)).expect("just written");
    world.write("specs/other/tasks.md", "- [x] 1.0 z\n- [ ] 1.1 theirs\n");
    world.write("specs/done/tasks.md", "- [x] 1.1 long ago\n");
    world.specum(&["implement", "test-spec"]).exits(0);
    assert!(!world.read(JOURNAL).contains("specs/done"), "nothing there could be ticked");
    world.write("specs/other/tasks.md", "- [x] 1.0 z\n- [x] 1.1 theirs\n- [x] 1.2 new\n");
    let call = world.finish("1.1", "TASK_COMPLETE");
    let told = "box 1.1 of other was ticked without a verdict and is open again";
    assert!(call.exits(0).stdout.contains(told), "{}", call.stdout);
    let after = "- [x] 1.0 z\n- [ ] 1.1 theirs\n- [x] 1.2 new\n";
    assert_eq!(world.read("specs/other/tasks.md"), after);
}

#[test]
fn head_on_another_branch_pauses_the_loop() {
    let world = World::started("- [ ] 1.1 a\n");
    world.git(&["switch", "--quiet", "-c", "elsewhere"]);
    let call = world.finish("1.1", "TASK_COMPLETE");
    call.exits(6);
    assert!(
        call.stderr.contains("HEAD is on elsewhere, the attempt began on main"),
        "{}",
        call.stderr
    );
    assert_eq!(world.read_state()["awaitingApproval"], true);
    assert!(world.read(TASKS).contains("- [ ] 1.1"));
    world.git(&["switch", "--quiet", "main"]);
    world.specum(&["resume"]).exits(0);
    world.finish("1.1", "TASK_COMPLETE").exits(0);
}

#[test]
fn a_detached_head_is_worked_on_like_any_other() {
    let world = World::with_tasks("- [ ] 1.1 a\n");
    world.git_init();
    world.git(&["switch", "--quiet", "--detach"]);
    world.specum(&["implement"]).exits(0);
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    assert_eq!(world.git(&["log", "-1", "--format=%s"]), "a\n");
}

#[test]
fn two_tasks_with_one_id_are_refused_before_anything_is_written() {
    let world = World::with_tasks("- [ ] 1.1 a\n- [ ] 1.1 b\n");
    fs::remove_file(world.path("specs/test-spec/.ralph-state.json")).expect("just written");
    let call = world.specum(&["implement"]);
    call.exits(1);
    assert!(
        call.stderr.contains("line 2: id 1.1 is taken: line 1 has it already"),
        "{}",
        call.stderr
    );
    assert!(!world.path("specs/test-spec/.ralph-state.json").exists());
}

#[test]
fn an_executor_that_commits_itself_is_not_punished() {
    let world = World::started("- [ ] 1.1 a\n  - **Verify**: `test -f made`\n");
    world.write("made", "");
    world.git(&["add", "made"]);
    world.git(&["commit", "--quiet", "-m", "by the executor"]);
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    let last = world.git(&["show", "--name-only", "--format=%s", "HEAD"]);
    assert!(last.starts_with("a\n") && last.contains("tasks.md") && !last.contains("made"));
}

#[test]
fn whoever_changes_a_spec_that_a_session_works_is_told_so() {
    let world = World::started("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    assert_eq!(world.finish("1.1", "TASK_COMPLETE").stderr, "");
    world.in_session(&["next"]).exits(0);
    let told = "warning: this spec is being worked on by session test-session\n";
    assert_eq!(world.finish("1.2", "no").stderr, told);
    assert_eq!(world.specum(&["cancel"]).exits(0).stderr, told);
}
