//! A plan that stands on requirements that have changed since: it is worked once a person
//! has looked at it, or has said that it is worked all the same.

use harness::run::{planned, run};

use crate::world::{TASKS, World};

const REQUIREMENTS: &str = "specs/test-spec/requirements.md";

const PLAN: &str = "\
## Phase 1: Work
- [ ] 1.1 Mail the link
  - **Do**: it
    ```sh
    echo mailed > mail.txt
    ```
  - **Verify**: `grep -q mailed mail.txt`
  - _Requirements: FR-1_
- [ ] 1.2 Refuse an expired link
  - **Do**: it
    ```sh
    echo refused > old.txt
    ```
  - **Verify**: `grep -q refused old.txt`
  - _Requirements: FR-2_
";

/// A spec of which it is recorded what each part stands on, and a criterion of FR-2 that
/// has changed since.
fn stale() -> World {
    let world = planned(PLAN);
    let text = "\
# Requirements: links
## Goal
Visitors sign in by a link.
## User Stories
### US-1: Sign in
- AC-1.1: WHEN an address is sent in THE service SHALL answer 202.
- AC-1.2: IF the link is older than 15 minutes THEN THE service SHALL answer 410.
## Functional Requirements
| ID | Requirement | Priority | Acceptance Criteria |
|----|-------------|----------|---------------------|
| FR-1 | A link is mailed | Must | AC-1.1 |
| FR-2 | An expired link is refused | Must | AC-1.2 |
## Out of Scope
- Passwords
";
    world.write(REQUIREMENTS, text);
    world.specum(&["trace", "--rebuild"]).exits(0);
    world.write(REQUIREMENTS, text.replace("15 minutes", "30 minutes"));
    world.commit_all();
    world
}

#[test]
fn a_stale_plan_is_not_worked_and_what_stands_on_the_change_is_named_and_nothing_else() {
    let world = stale();
    let why = "task 1.2 stands on FR-2, which has changed";
    for verb in [&["run", "--agent", "script"][..], &["implement"]] {
        let refused = world.specum(verb);
        refused.exits(6);
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
        assert!(!refused.stderr.contains("task 1.1 stands"), "{}", refused.stderr);
        assert!(refused.stderr.contains("--allow-stale goes on"), "{}", refused.stderr);
    }
    assert!(!world.path("mail.txt").exists(), "nothing was worked");
    let told = run(&world, &["--allow-stale"]).exits(0).stdout.clone();
    assert!(told.contains(why), "the summary says so: {told}");
}

#[test]
fn a_person_takes_a_stale_task_as_it_is() {
    let world = stale();
    world.specum(&["trace", "--stale"]).exits(6);
    let taken = world.person(&["accept", "1.2"]);
    assert!(taken.contains("1.2 is taken as it is"), "{taken}");
    world.specum(&["trace", "--stale"]).exits(0);
    run(&world, &[]).exits(0);
    assert!(!world.read(TASKS).contains("- [ ]"));
}

#[test]
fn a_stale_task_that_is_done_is_done_again_on_a_persons_word_and_not_otherwise() {
    let world = stale();
    world.write(TASKS, PLAN.replace("- [ ] 1.2", "- [x] 1.2"));
    world.commit_all();
    world.specum(&["run", "--agent", "script"]).exits(6);
    assert!(world.read(TASKS).contains("- [x] 1.2"), "nothing is unticked by itself");
    world.person(&["retry", "1.2"]);
    assert!(world.read(TASKS).contains("- [ ] 1.2"));
    run(&world, &["--allow-dirty"]).exits(0);
    assert!(world.path("old.txt").exists(), "it was done again");
}

#[test]
fn a_plan_without_requirements_of_its_own_is_worked_as_ever() {
    let world = stale();
    std::fs::remove_file(world.path(REQUIREMENTS)).unwrap();
    world.commit_all();
    run(&world, &[]).exits(0);
}
