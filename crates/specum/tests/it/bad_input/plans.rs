//! Plans with mistakes that people make: each is answered with a sentence that says what
//! is wrong where, and no byte of the plan is lost.

use crate::world::{Call, TASKS, World};

fn planned(plan: &str) -> World {
    World::planned(plan)
}

/// A run whose agent says that it is done.
fn run(world: &World, args: &[&str]) -> Call {
    let agent = "cat >/dev/null; echo x >> $HOME/starts; echo TASK_COMPLETE";
    world.specum(&[&["run", "--agent", "command", "--agent-command", agent], args].concat())
}

/// What `check` says of a plan, and with which code it ends.
fn checked(world: &World) -> (String, Option<i32>) {
    let check = world.specum(&["check"]);
    (check.stdout.clone(), check.code)
}

#[test]
fn a_plan_in_several_styles_at_once_is_worked_whole_and_what_cannot_be_read_is_named() {
    let plan = "# Plan\n\n- [ ] 1.1 a\n- [ ] T002 [P] b\n- [ ] **3. c**\n- [ ]* 3.1 d\n\n\
                ### Task 4: e\n- [ ] **Step 1: write it**\n- [ ] **Step 2: test it**\n\n\
                ## Rest\n1. [ ] f\n";
    let world = planned(plan);
    let (said, code) = checked(&world);
    assert!(code == Some(0) && said.contains(" 0 errors"), "{said}");
    assert!(run(&world, &[]).exits(0).stdout.contains("complete"));
    let ticked = plan.replace("[ ] ", "[x] ");
    let left = world.read(TASKS);
    assert_eq!(left.replace("[x]*", "[ ]*"), ticked, "every box, and nothing else");

    let glued = format!("{plan}-[ ] g\n- [✓] h\n");
    let world = planned(&glued);
    let call = run(&world, &[]);
    assert!(call.code != Some(0) && !call.stdout.contains("complete"), "{}", call.stdout);
    for line in ["line 14: `-[ ] g` looks like a box", "line 15: `- [✓] h` looks like a box"] {
        assert!(call.stdout.contains(line) && call.stderr.contains(line), "{}", call.stdout);
    }
    assert!(world.read(TASKS).ends_with("-[ ] g\n- [✓] h\n"));
}

#[test]
fn an_id_that_is_there_twice_is_named_with_both_lines_and_nobody_is_paid() {
    let plan = "- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.1 c\n";
    let world = planned(plan);
    let (said, code) = checked(&world);
    let mistake = "tasks.md:3: error: id 1.1 is taken: line 1 has it already";
    assert!(code == Some(1) && said.contains(mistake), "{said}");
    let call = run(&world, &[]);
    assert!(call.exits(1).stderr.contains("id 1.1 is taken: line 1"), "{}", call.stderr);
    assert_eq!(world.read(TASKS), plan);
    assert!(!world.home().join("starts").exists());
}

#[test]
fn a_parent_that_is_ticked_above_open_children_is_named_and_the_children_are_worked() {
    let plan =
        "- [x] 1. Models\n  - [ ] 1.1 User\n  - [x] 1.2 Group\n- [x] 2. Views\n- [ ] 2.1 List\n";
    let world = planned(plan);
    let (said, code) = checked(&world);
    assert!(code == Some(0), "{said}");
    for line in [
        "tasks.md:1: warning: 1 is ticked, and 1.1 below it is open: 1.1 counts",
        "tasks.md:4: warning: 2 is ticked, and 2.1 below it is open: 2.1 counts",
    ] {
        assert!(said.contains(line), "{said}");
    }
    assert!(run(&world, &["--only", "1.1"]).exits(0).stdout.contains("2 of 3 tasks done"));
    let call = run(&world, &[]);
    assert!(call.exits(0).stdout.contains("complete  3 of 3 tasks done"), "{}", call.stdout);
    assert_eq!(world.read(TASKS), plan.replace("[ ]", "[x]"));
}

#[test]
fn a_front_matter_that_is_no_yaml_is_named_with_its_line_and_stays_as_it_is() {
    let title = "---\nowner: me\ntitle: a: b: c\n---\n- [ ] 1.1 a\n";
    let world = planned(title);
    let (said, code) = checked(&world);
    let warning = "tasks.md:3: warning: the front matter is no YAML: mapping values are not \
                   allowed in this context. Put the value in quotes";
    assert!(code == Some(0) && said.contains(warning), "{said}");
    run(&world, &[]).exits(0);
    assert_eq!(world.read(TASKS), title.replace("[ ]", "[x]"));

    // What says how the work is checked is not guessed at.
    for (front, says) in [
        ("verify: [a, b", "tasks.md:2: error: `verify` in the front matter is no YAML"),
        ("verify: npm test: all", "tasks.md:2: error: `verify` in the front matter is no YAML"),
        ("verify: {a: b}", "tasks.md:2: error: `verify` must be a command or a list of commands"),
    ] {
        let plan = format!("---\n{front}\n---\n- [ ] 1.1 a\n");
        let world = planned(&plan);
        let (said, code) = checked(&world);
        assert!(code == Some(1) && said.contains(says), "{front}: {said}");
        let call = run(&world, &[]);
        assert!(call.exits(1).stderr.contains("`verify`"), "{front}: {}", call.stderr);
        assert_eq!(world.read(TASKS), plan);
    }
}

#[test]
fn a_verify_that_is_empty_is_named_wherever_it_stands() {
    const EMPTY: &str = "is empty: write the command that checks the work, such as `npm test`, or \
                         remove the line";
    for front in ["verify:", "verify: ''", "verify: []", "verify_all: ' '"] {
        let world = planned(&format!("---\n{front}\n---\n- [ ] 1.1 a\n"));
        let (said, code) = checked(&world);
        let key = front.split(':').next().unwrap();
        let mistake = format!("tasks.md:2: error: `{key}` {EMPTY}");
        assert!(code == Some(1) && said.contains(&mistake), "{front}: {said}");
        assert!(run(&world, &[]).exits(1).stderr.contains(EMPTY), "{front}");
    }
    let world = planned("- [ ] 1.1 a\n  - **Verify**:\n- [ ] 1.2 b\n  - **Verify**: ``\n");
    let (said, code) = checked(&world);
    for line in [
        "tasks.md:1: warning: 1.1 has no Do, Files, Done when, Verify, Commit",
        "tasks.md:3: warning: 1.2: Verify has no command in backticks, so nothing will be run",
    ] {
        assert!(code == Some(0) && said.contains(line), "{said}");
    }
    let call = run(&world, &[]);
    assert!(call.exits(0).stdout.contains("2 of 2 tasks done; 2 had no check"), "{}", call.stdout);
    let typed = run(&planned("- [ ] 1.1 a\n"), &["--verify", " "]);
    assert!(typed.exits(2).stderr.contains("--verify is empty: name the command"));
    let world = planned("- [ ] 1.1 a\n");
    world.write("specum.yaml", "verify:\n");
    assert!(run(&world, &[]).exits(1).stderr.contains("specum.yaml:1: `verify` is empty"));
}
