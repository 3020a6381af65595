//! What an agent is told about where its task stands, in plans of other tools.

use crate::world::World;

/// What spec-kit writes, shortened.
const SPEC_KIT: &str = "\
---
description: \"Task list\"
---

# Tasks: Photo albums

**Input**: Design documents from `/specs/001-albums/`
**Prerequisites**: plan.md, spec.md

## Format: `[ID] [P?] [Story] Description`

- **[P]**: Can run in parallel (different files, no dependencies)

## Phase 1: Setup (Shared Infrastructure)

**Purpose**: Project initialization and basic structure

- [ ] T001 Create the project structure

## Phase 2: User Story 1 - Make an album (Priority: P1)

**Goal**: A person can make an album and see it

**Independent Test**: make an album, reload, it is there

### Implementation for User Story 1

- [ ] T002 [P] [US1] Create the model in src/models/album.py
- [ ] T003 [P] [US1] Create the view in src/views/album.py
";

/// An agent that keeps its brief, and whether what it names is there where it works.
const KEEPS_ITS_BRIEF: &str = "\
brief=$(cat); id=$(printf '%s' \"$brief\" | sed -n 's/^The above is task \\([^ ]*\\) .*/\\1/p')
printf '%s\\n' \"$brief\" > \"$HOME/$id\"
cat specs/001-albums/spec.md >> \"$HOME/$id\"
echo TASK_COMPLETE
";

/// A repository with a plan of spec-kit and what stands next to it.
fn albums() -> World {
    let world = World::empty();
    for (path, text) in [
        ("specs/001-albums/tasks.md", SPEC_KIT),
        ("specs/001-albums/plan.md", "Python, no framework\n"),
        ("specs/001-albums/spec.md", "Albums hold photos\n"),
        ("specs/001-albums/data-model.md", "Album: name\n"),
        ("specs/001-albums/contracts/albums.yaml", "openapi: 3.1.0\n"),
        (".specify/memory/constitution.md", "Tests first\n"),
        ("CLAUDE.md", "Be brief\n"),
        ("src/models/AGENTS.md", "Dataclasses only\n"),
    ] {
        world.write(path, text);
    }
    world.git_init();
    world
}

/// The section that says where the task stands.
fn section(brief: &str) -> &str {
    let (_, behind) =
        brief.split_once("\n## Where it stands\n").unwrap_or_else(|| panic!("{brief}"));
    behind.split("\n\n").next().unwrap()
}

#[test]
fn a_plan_of_spec_kit_tells_an_agent_where_its_plan_lies() {
    let world = albums();
    let run = world.specum(&["run", "001-albums", "--agent-command", KEEPS_ITS_BRIEF]);
    run.exits(0);
    let home = |task: &str| std::fs::read_to_string(world.home().join(task)).unwrap();
    let first = home("T001");
    assert!(first.starts_with("- [ ] T001 Create the project structure\n"), "{first}");
    insta::assert_snapshot!(section(&first), @"
    The plan: Tasks: Photo albums
    > **Input**: Design documents from `/specs/001-albums/`
    > **Prerequisites**: plan.md, spec.md
    In: Phase 1: Setup (Shared Infrastructure)
    > **Purpose**: Project initialization and basic structure
    Documents of the plan: ./specs/001-albums/spec.md, ./specs/001-albums/plan.md, ./specs/001-albums/data-model.md, ./specs/001-albums/contracts/. Read what bears on this task before you begin.
    Rules of the project: CLAUDE.md, .specify/memory/constitution.md. They hold for your work; the one nearest to a file counts most for it.
    ");
    // One of a group, which works in a worktree.
    let grouped = home("T002");
    assert!(grouped.contains("a worktree of its own"), "{grouped}");
    assert!(grouped.ends_with("Albums hold photos\n"), "the documents are there too: {grouped}");
    insta::assert_snapshot!(section(&grouped), @"
    The plan: Tasks: Photo albums
    > **Input**: Design documents from `/specs/001-albums/`
    > **Prerequisites**: plan.md, spec.md
    In: Phase 2: User Story 1 - Make an album (Priority: P1)
    > **Goal**: A person can make an album and see it
    > **Independent Test**: make an album, reload, it is there
    In: Implementation for User Story 1
    Documents of the plan: ./specs/001-albums/spec.md, ./specs/001-albums/plan.md, ./specs/001-albums/data-model.md, ./specs/001-albums/contracts/. Read what bears on this task before you begin.
    Rules of the project: src/models/AGENTS.md, CLAUDE.md, .specify/memory/constitution.md. They hold for your work; the one nearest to a file counts most for it.
    ");
}

#[test]
fn a_plan_without_words_of_its_own_takes_its_goal_from_its_notes() {
    let world = World::planned("# App\n\n- [ ] 1. Set up\n- [ ] 2. Models\n  - [ ] 2.1 User\n");
    let brief =
        |world: &World| world.specum(&["next", "--json"]).json()["tasks"][0]["brief"].clone();
    world.specum(&["implement"]).exits(0);
    assert_eq!(section(brief(&world).as_str().unwrap()), "The plan: App");
    let notes = world.read(crate::world::PROGRESS);
    let goal = "See the documents beside this file.";
    assert!(notes.contains(goal), "{notes}");
    world.write(crate::world::PROGRESS, notes.replace(goal, "Tea for everybody,\nsoon"));
    let with_goal = brief(&world);
    let with_goal = section(with_goal.as_str().unwrap());
    assert_eq!(with_goal, "The plan: App\n> Tea for everybody,\n> soon");
    world.finish("1", "TASK_COMPLETE").exits(0);
    let nested = brief(&world);
    assert!(section(nested.as_str().unwrap()).ends_with("\nIn: 2. Models"), "{nested}");
}
