//! Plans of other tools, where these tools keep them, worked to their end.

use std::fs;

use crate::world::{Call, World};

const KIRO: &str = "# Implementation Plan\n\n- [ ] 1. Set up\n  - _Requirements: 1.1_\n- [ ] 2. Models\n  - [ ] 2.1 User\n    - [ ] write it\n  - [-] 2.2 Document\n  - [ ]* 2.3 Tests\n- [ ] 3. Wire it up\n";

/// A repository without a folder `specs`, with these files.
fn repository(files: &[(&str, &str)]) -> World {
    let world = World::empty();
    fs::remove_dir(world.path("specs")).unwrap();
    for (path, text) in files {
        world.write(path, text);
    }
    world.git_init();
    world
}

/// The plan of each tool, as it is in the corpus of the scanner.
macro_rules! plan {
    ($name:literal) => {
        include_str!(concat!("../../../specum-core/src/tasks/tests/plans/", $name, ".md"))
    };
}

/// Where each tool keeps its plans, and one of them.
const TOOLS: [(&str, &str); 9] = [
    (".kiro/specs/app", plan!("kiro")),
    (".kiro/specs/app", plan!("kiro-flat")),
    (".kiro/specs/app", plan!("cc-sdd")),
    ("specs/001-app", plan!("spec-kit")),
    ("openspec/changes/app", plan!("openspec")),
    ("agent-os/specs/app", plan!("agent-os")),
    (".agent-os/specs/app", plan!("agent-os")),
    (".spec-workflow/specs/app", plan!("spec-workflow")),
    ("specs/app", plan!("superpowers")),
];

/// A run whose agent says that it is done.
fn run(world: &World, args: &[&str]) -> Call {
    let agent =
        ["run", "--agent", "command", "--agent-command", "cat >/dev/null; echo TASK_COMPLETE"];
    world.specum(&[&agent, args].concat())
}

#[test]
fn a_kiro_plan_is_found_and_complete_when_every_box_is_ticked_but_the_optional_ones() {
    let world = repository(&[(".kiro/specs/app/tasks.md", KIRO)]);
    let list = world.specum(&["list"]);
    assert!(list.exits(0).stdout.contains("./.kiro/specs/app"), "{}", list.stdout);
    let call = run(&world, &["app"]);
    assert!(call.exits(0).stdout.contains("4 of 4 tasks done"), "{}", call.stdout);
    let ticked = KIRO.replace("[ ] ", "[x] ").replace("[-]", "[x]");
    assert_eq!(world.read(".kiro/specs/app/tasks.md"), ticked);
    assert!(!world.path("specs").exists());

    let call = run(&world, &["app", "--optional"]);
    assert!(call.exits(0).stdout.contains("5 of 5 tasks done"), "{}", call.stdout);
    assert_eq!(world.read(".kiro/specs/app/tasks.md"), ticked.replace("[ ]*", "[x]*"));
}

#[test]
fn the_folders_of_other_tools_are_found_and_openspecs_archive_is_none() {
    let task = "- [ ] 1.1 a\n";
    let folders = [
        ".kiro/specs/kiro",
        "openspec/changes/change",
        "agent-os/specs/agent-os",
        ".agent-os/specs/older",
        ".spec-workflow/specs/workflow",
        "specs/001-name",
    ];
    let files = folders.map(|folder| format!("{folder}/tasks.md"));
    let mut files: Vec<(&str, &str)> = files.iter().map(|path| (path.as_str(), task)).collect();
    files.push(("openspec/changes/archive/old/tasks.md", task));
    let world = repository(&files);
    let list = world.specum(&["list"]);
    for folder in folders {
        assert!(list.exits(0).stdout.contains(folder), "{folder}: {}", list.stdout);
    }
    assert!(!list.stdout.contains("archive"), "{}", list.stdout);
    let doctor = world.specum(&["doctor"]).stdout;
    for said in
        [".kiro/specs of Kiro, cc-sdd", "openspec/changes of OpenSpec", ".agent-os/specs of"]
    {
        assert!(doctor.contains(said), "{said}: {doctor}");
    }
}

#[test]
fn a_plan_is_worked_by_the_path_of_its_file_or_its_folder() {
    let task = "- [ ] T001 a\n";
    let world = repository(&[("docs/one/tasks.md", task), ("docs/two/tasks.md", task)]);
    for path in ["docs/one/tasks.md", "docs/two"] {
        let call = run(&world, &[path]);
        assert!(call.exits(0).stdout.contains("1 of 1"), "{path}: {}{}", call.stdout, call.stderr);
    }
    assert_eq!(world.read("docs/one/tasks.md"), "- [x] T001 a\n");
    assert_eq!(world.read("docs/two/tasks.md"), "- [x] T001 a\n");
    for verb in [&["status"][..], &["log", "--spec"], &["check"], &["pause"]] {
        let call = world.specum(&[verb, &["docs/one"]].concat());
        assert!(!call.stderr.contains("no spec"), "{verb:?}: {}", call.stderr);
    }
    let status = world.specum(&["status", "docs/two/tasks.md", "--json"]).exits(0).json();
    assert_eq!(status["done"], 1);
    for (path, moved) in [
        ("tasks.md", "mkdir -p specs/plan && mv tasks.md specs/plan/tasks.md"),
        ("docs/PLAN.md", "mkdir -p specs/plan && mv docs/PLAN.md specs/plan/tasks.md"),
        ("docs/my app.md", "mv 'docs/my app.md' specs/plan/tasks.md"),
    ] {
        world.write(path, task);
        let call = run(&world, &[path]);
        assert!(call.exits(3).stderr.contains(moved), "{}", call.stderr);
        assert!(call.stderr.contains("a folder of its own"), "{}", call.stderr);
    }
}

/// The lines of a plan that a person would call an open box, its fences left out.
fn open_boxes(plan: &str) -> Vec<&str> {
    let mut in_fence = false;
    let is_open = |line: &&str| {
        let line = line.trim_start();
        in_fence ^= line.starts_with("```");
        !in_fence && ["- [ ]", "- [-]", "- [~]"].iter().any(|open| line.starts_with(open))
    };
    plan.lines().filter(is_open).collect()
}

#[test]
fn the_plan_of_each_tool_is_worked_to_its_last_box_by_its_name_and_by_its_path() {
    for (folder, plan) in TOOLS {
        let name = folder.rsplit('/').next().unwrap();
        let (by_name, by_path) = (format!("{folder}/tasks.md"), "docs/plan/tasks.md");
        for (path, named) in [
            (by_name.as_str(), name),
            (&by_name, folder),
            (by_path, "docs/plan"),
            (by_path, by_path),
        ] {
            let world = repository(&[(path, plan)]);
            let call = run(&world, &[named]);
            let ended = format!("{folder} {named}: {}{}", call.stdout, call.stderr);
            assert!(call.code == Some(0) && call.stdout.contains("complete"), "{ended}");
            let left = world.read(path);
            let is_optional = |line: &&str| line.contains("[ ]*");
            let open: Vec<&str> = open_boxes(&left).into_iter().filter(is_optional).collect();
            let other = open_boxes(&left).len() - open.len();
            assert!(other == 0 || !open.is_empty(), "{ended}\n{left}");
            run(&world, &[named, "--optional"]).exits(0);
            assert_eq!(open_boxes(&world.read(path)), [""; 0], "{ended}");
            // No other byte has changed.
            let unmarked = |text: &str| text.replace(['x', 'X', ' ', '-', '~'], "");
            assert_eq!(unmarked(&world.read(path)), unmarked(plan), "{ended}");
        }
    }
}

#[test]
fn optional_tasks_that_are_left_out_are_named_with_the_switch_that_works_them() {
    let world = repository(&[(".kiro/specs/app/tasks.md", KIRO)]);
    let dry = world.specum(&["run", "app", "--dry-run"]);
    let left_out = "optional, and left out without --optional: 2.3";
    assert!(dry.exits(0).stdout.contains(left_out), "{}", dry.stdout);
    let call = run(&world, &["app"]);
    let named = "1 optional not begun (`specum run --optional`), the first is 2.3 Tests";
    assert!(call.exits(0).stdout.contains(named), "{}", call.stdout);
    let status = world.specum(&["status", "app"]);
    assert!(status.exits(0).stdout.contains("2.3 Tests  optional"), "{}", status.stdout);
}

#[test]
fn a_plan_with_a_line_that_could_not_be_read_is_not_complete() {
    let plan = "- [ ] 1.1 a\n\n## More\n-[ ] 1.2 b\n";
    let world = repository(&[("specs/app/tasks.md", plan)]);
    let call = run(&world, &["app"]);
    let code = call.code.unwrap();
    assert!(code != 0 && !call.stdout.contains("complete"), "{code}: {}", call.stdout);
    for said in [&call.stdout, &call.stderr] {
        assert!(said.contains("line 4: `-[ ] 1.2 b` looks like a box"), "{said}");
    }
    assert_eq!(world.read("specs/app/tasks.md"), plan.replace("- [ ] 1.1", "- [x] 1.1"));
    let status = world.specum(&["status", "app"]);
    assert!(status.exits(0).stdout.contains("line 4: `-[ ] 1.2 b`"), "{}", status.stdout);
    world.write("specs/app/tasks.md", "- [x] 1.1 a\n\n## More\n- [x] 1.2 b\n");
    world.commit_all();
    assert!(run(&world, &["app"]).exits(0).stdout.contains("2 of 2"));
}

/// What people and models write by hand, and what a task of it is called.
const BY_HAND: [(&str, &str); 11] = [
    ("- [ ] **1.1 Title**", "1.1"),
    ("* [ ] 1.2 a", "1.2"),
    ("1. [ ] b", "no.4"),
    ("- [ ] 1.6a c", "1.6a"),
    ("- [ ] 2A.1 d", "2A.1"),
    ("- [ ] TASK-1 e", "TASK-1"),
    ("- [ ] `1.8` f", "1.8"),
    ("- [-] 3. g", "3"),
    ("+ [~] 4) h", "4"),
    ("- [ ] no id", "no.11"),
    ("- [ ] 5.1 i", "5.1"),
];

#[test]
fn what_people_write_by_hand_is_worked_and_a_pasted_checklist_is_left_alone() {
    let pasted = "  - **Do**: it\n- [ ] I have read it\n";
    let boxes: String = BY_HAND.iter().map(|(line, _)| format!("{line}\n")).collect();
    let plan = format!("- [X] 0.1 done\n{boxes}{pasted}");
    let world = repository(&[("specs/app/tasks.md", &plan)]);
    let status = world.specum(&["status", "app", "--json"]).exits(0).json();
    let tasks = status["tasks"].as_array().unwrap();
    let names: Vec<&str> = tasks[1..].iter().map(|task| task["id"].as_str().unwrap()).collect();
    // The first box of the plan is another one's.
    assert_eq!(names, BY_HAND.map(|(_, name)| name));
    let call = run(&world, &["app"]);
    assert!(call.exits(0).stdout.contains("complete  12 of 12 tasks done"), "{}", call.stdout);
    let ticked = boxes.replace("[ ]", "[x]").replace("[-]", "[x]").replace("[~]", "[x]");
    assert_eq!(world.read("specs/app/tasks.md"), format!("- [X] 0.1 done\n{ticked}{pasted}"));
}

#[test]
fn what_is_meant_as_a_box_and_is_none_is_named_with_its_line_by_check_run_and_status() {
    for line in ["-[ ] 1.2 b", "- [] 1.2 b", "- [ ]1.2 b", "> - [ ] 1.2 b", "☐ 1.2 b", "[ ] 1.2 b"]
    {
        let plan = format!("- [ ] 1.1 a\n\n## More\n\n{line}\n");
        let world = repository(&[("specs/app/tasks.md", &plan)]);
        let names = |said: &str| said.contains("5") && said.contains(line);
        let check = world.specum(&["check", "app"]);
        assert!(check.exits(0).stdout.lines().any(|said| said.contains("tasks.md:5: ")), "{line}");
        let status = world.specum(&["status", "app"]);
        assert!(status.exits(0).stdout.lines().any(names), "{line}: {}", status.stdout);
        let call = run(&world, &["app"]);
        let is_told = call.stderr.contains("line 5") && call.stderr.contains(line);
        assert!(call.code != Some(0) && is_told, "{line}: {}{}", call.stdout, call.stderr);
        assert!(!call.stdout.contains("complete"), "{line}: {}", call.stdout);
        assert!(world.read("specs/app/tasks.md").ends_with(&format!("{line}\n")));
    }
}
