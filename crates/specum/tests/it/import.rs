//! Plans of other tools become specs; their own files stay as they are.

use std::fs;

use serde_json::json;

use crate::world::{World, on_a_terminal};

const REQUIREMENTS: &str = "\
# Requirements Document
## Introduction
Visitors sign in by a link.
## Requirements
### Requirement 1: Sign in
**User Story:** As a visitor, I want a link, so that I need no password.
#### Acceptance Criteria
1. WHEN a known address is sent in THEN the service SHALL mail a link
2. IF the link is older than 15 minutes THEN the service SHALL answer 410
### Requirement 2: Log
#### Acceptance Criteria
1. WHEN a link is used THEN the service SHALL log it
";

const TASKS: &str = "\
# Implementation Plan
- [x] 1. Set up
  - _Requirements: 1.1_
- [ ] 2. Links
  - [ ] 2.1 Write the store in src/links.rs
    - keep one for each address
    - _Requirements: 1.1, 1.2_
  - [ ]* 2.2 Tests
";

/// A project with a spec of Kiro, and no folder of our own.
fn kiro() -> World {
    let world = World::empty();
    fs::remove_dir(world.path("specs")).unwrap();
    world.write(".kiro/specs/sign-in/requirements.md", REQUIREMENTS);
    world.write(".kiro/specs/sign-in/design.md", "# Design\n## Overview\nx\n");
    world.write(".kiro/specs/sign-in/tasks.md", TASKS);
    world.write(".kiro/specs/sign-in/notes.md", "x");
    world.git_init();
    world
}

#[test]
fn a_kiro_spec_becomes_one_of_ours_and_stays_what_it_is() {
    let world = kiro();
    let files = ["requirements.md", "design.md", "tasks.md", "notes.md"];
    let theirs = files.map(|file| world.read(&format!(".kiro/specs/sign-in/{file}")));
    let import = world.specum(&["import", ".kiro/specs/sign-in"]);
    assert_eq!(
        import.exits(0).stdout,
        "./specs/sign-in: requirements.md, design.md, tasks.md, from a plan of Kiro\n\
         left where they are: notes.md\n\
         `specum check ./specs/sign-in` names what they do not say\n"
    );
    for (file, text) in files.into_iter().zip(theirs) {
        assert_eq!(world.read(&format!(".kiro/specs/sign-in/{file}")), text);
    }
    let plan = world.read("specs/sign-in/tasks.md");
    assert!(plan.contains("- [x] 1. Set up\n"), "{plan}");
    assert!(plan.contains("- [ ] 2.1 Write the store"), "{plan}");
    assert!(plan.contains("  - **Files**: src/links.rs\n"), "{plan}");
    assert!(plan.contains("  - _Requirements: AC-1.1, AC-1.2_\n"), "{plan}");

    // What Kiro does not say is found, and nothing that it says.
    let check = world.specum(&["check", "./specs/sign-in", "--json"]).exits(0).json();
    let rules: Vec<&str> = check["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["rule"].as_str())
        .collect();
    assert!(rules.contains(&"requirement-uncovered"), "FR-2 is in no task: {rules:?}");
    assert!(rules.contains(&"missing-section"), "{rules:?}");
    for rule in ["id-dangling", "id-malformed", "link-unknown", "criterion-unused"] {
        assert!(!rules.contains(&rule), "{rules:?}");
    }
    let trace = world.specum(&["trace", "./specs/sign-in"]);
    assert!(trace.exits(0).stdout.contains("1 of 2 requirements covered"), "{}", trace.stdout);
}

#[test]
fn what_is_there_under_the_name_is_left_alone() {
    let world = kiro();
    world.write("specs/sign-in/tasks.md", "- [ ] 1.1 mine\n");
    let import = world.specum(&["import", ".kiro/specs/sign-in/tasks.md"]);
    assert!(import.exits(2).stderr.contains("is there already"), "{}", import.stderr);
    assert!(import.stderr.contains("--as NAME"), "{}", import.stderr);
    assert_eq!(world.read("specs/sign-in/tasks.md"), "- [ ] 1.1 mine\n");
    let again = world.specum(&["import", ".kiro/specs/sign-in", "--as", "links", "--json"]);
    assert_eq!(
        again.exits(0).json(),
        json!({
            "spec": "links", "path": "./specs/links", "tool": "Kiro",
            "files": ["requirements.md", "design.md", "tasks.md"], "leftOut": ["notes.md"],
        })
    );
    let wrong = world.specum(&["import", ".kiro/specs/sign-in", "--as", "../up"]);
    assert!(wrong.exits(2).stderr.contains("such as `up`"), "{}", wrong.stderr);
}

#[test]
fn spec_kit_and_openspec_and_smart_ralph_are_imported_too() {
    let world = World::empty();
    world.write(
        "specs/001-albums/spec.md",
        "## Requirements\n### Functional Requirements\n- **FR-001**: System MUST list\n",
    );
    world.write(
        "specs/001-albums/tasks.md",
        "## Phase 1: Setup\n- [ ] T001 [P] [US1] a in src/a.py\n",
    );
    world.write("openspec/changes/two-factor/proposal.md", "## Why\nSafer.\n");
    world.write(
        "openspec/changes/two-factor/specs/auth/spec.md",
        "## ADDED Requirements\n### Requirement: Codes\nIt SHALL ask.\n#### Scenario: a\n- **WHEN** b\n",
    );
    world.write("openspec/changes/two-factor/tasks.md", "## 1. Work\n- [ ] 1.1 a\n");
    world.write("theirs/app/requirements.md", "## Functional Requirements\n- FR-1: x\n");
    world.write("theirs/app/tasks.md", "- [x] 1.1 a\n  - **Verify**: `true`\n");
    let of = |path: &str| world.specum(&["import", path]).exits(0).stdout.clone();
    assert!(
        of("specs/001-albums")
            .contains("./specs/albums: requirements.md, tasks.md, from a plan of spec-kit")
    );
    assert!(world.read("specs/albums/tasks.md").contains(
        "- [ ] 1.1 [P] a in src/a.py\n  - **Files**: src/a.py\n  - _Requirements: US-1_\n"
    ));
    assert!(of("openspec/changes/two-factor").contains("from a plan of OpenSpec"));
    let stated = world.read("specs/two-factor/requirements.md");
    assert!(stated.contains("| FR-1 | Codes: It SHALL ask. | Must | AC-1.1 |"), "{stated}");
    assert!(of("theirs/app").contains("from a plan of smart-ralph"));
    assert_eq!(world.read("specs/app/tasks.md"), world.read("theirs/app/tasks.md"));
}

#[test]
fn an_imported_plan_can_be_worked_to_its_end() {
    let world = kiro();
    world.specum(&["import", ".kiro/specs/sign-in", "--as", "links"]).exits(0);
    world.commit_all();
    let agent = "cat >/dev/null; echo TASK_COMPLETE";
    let run = world.specum(&["run", "links", "--agent-command", agent, "--optional"]);
    assert!(run.exits(0).stdout.contains("3 of 3 tasks done"), "{}", run.stdout);
}

#[test]
fn what_is_no_plan_is_named_and_nothing_is_written() {
    let world = World::empty();
    world.write("notes/a.md", "x");
    world.write("huge/tasks.md", vec![b'x'; 5 << 20]);
    let gone = world.specum(&["import", "nowhere"]);
    assert!(gone.exits(3).stderr.contains("there is no folder nowhere"), "{}", gone.stderr);
    let none = world.specum(&["import", "notes"]);
    assert!(none.exits(3).stderr.contains("holds no plan of Kiro"), "{}", none.stderr);
    let huge = world.specum(&["import", "huge"]);
    assert!(huge.exits(1).stderr.contains("cannot read tasks.md"), "{}", huge.stderr);
    assert_eq!(fs::read_dir(world.path("specs")).unwrap().count(), 0);
}

#[test]
fn a_link_in_a_foreign_folder_brings_nothing_in() {
    let world = kiro();
    fs::write(world.home().join("secret.md"), "a key").unwrap();
    let link = world.path(".kiro/specs/sign-in/research.md");
    std::os::unix::fs::symlink(world.home().join("secret.md"), link).unwrap();
    world.specum(&["import", ".kiro/specs/sign-in"]).exits(0);
    assert!(!world.path("specs/sign-in/research.md").exists());
}

#[test]
fn names_of_files_cannot_steer_a_terminal() {
    let world = kiro();
    world.write(".kiro/specs/sign-in/\u{1b}[31mred.md", "x");
    let mut command = world.command();
    command.args(["import", ".kiro/specs/sign-in"]);
    let shown = on_a_terminal(command);
    assert!(shown.contains("red.md") && !shown.contains("\u{1b}[31m"), "{shown:?}");
}
