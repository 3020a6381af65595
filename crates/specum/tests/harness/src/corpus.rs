//! A spec whose checks have the faults that checks of plans written by models have: some
//! cannot fail, some pass before the work, some name a path of one machine; and whose
//! tasks forget a third of the requirements.

use crate::world::World;

/// A command of a Verify, and the rule that is to find it, if it proves nothing.
pub const CHECKS: &[(&str, Option<&str>)] = &[
    // The last status is that of a command which succeeds whatever it reads.
    ("ls src | wc -l", Some("verify-cannot-fail")),
    ("grep version plugin.json | head -1", Some("verify-cannot-fail")),
    ("cat README.md | awk '{print $1}'", Some("verify-cannot-fail")),
    ("grep -c guide README.md || true", Some("verify-cannot-fail")),
    ("grep -q guide README.md; echo done", Some("verify-cannot-fail")),
    ("for f in src/*; do echo \"$f\"; done", Some("verify-cannot-fail")),
    ("test -f docs/guide.md && echo ok || echo missing", Some("verify-cannot-fail")),
    ("sort README.md | tail -2", Some("verify-cannot-fail")),
    // A place that is on one machine only.
    ("grep -q 2.1.0 /home/me/project/plugin.json", Some("verify-machine-path")),
    ("test -s /tmp/out.txt", Some("verify-machine-path")),
    // What is looked for was there before.
    ("grep -q version plugin.json", Some("verify-green")),
    ("test -f plugin.json", Some("verify-green")),
    ("test -d src", Some("verify-green")),
    ("grep -c name plugin.json", Some("verify-green")),
    ("ls src/main.sh", Some("verify-green")),
    ("test -s README.md && grep -q Tool README.md", Some("verify-green")),
    // These prove something.
    ("grep -q '\"version\": \"2.1.0\"' plugin.json", None),
    ("grep -q parse src/main.sh", None),
    ("test -f docs/guide.md", None),
    ("sh -n src/new.sh", None),
    ("test \"$(grep -c usage README.md)\" = 2", None),
    ("sh tests/run.sh", None),
];

/// How many requirements there are, and how many of them no task names.
pub const REQUIREMENTS: usize = 9;
pub const UNCOVERED: usize = 3;

/// A project with that spec, `specs/tool`, as it stands before the work.
pub fn world() -> World {
    let world = World::empty();
    world.write("plugin.json", "{\"name\": \"tool\", \"version\": \"2.0.0\"}\n");
    world.write("README.md", "# Tool\n");
    world.write("src/main.sh", "echo hello\n");
    let mut stated = String::from(
        "# Requirements: tool\n## User Stories\n### US-1: Use it\n\
         **As a** person **I want** it **so that** it helps.\n",
    );
    (1..=REQUIREMENTS).for_each(|n| {
        stated.push_str(&format!("- AC-1.{n}: WHEN it is called THE tool SHALL print {n}.\n"));
    });
    stated.push_str(
        "## Functional Requirements\n| ID | Requirement | Priority | Acceptance Criteria |\n",
    );
    stated.push_str("|----|----|----|----|\n");
    (1..=REQUIREMENTS).for_each(|n| {
        stated.push_str(&format!("| FR-{n} | It prints {n} | Must | AC-1.{n} |\n"));
    });
    world.write("specs/tool/requirements.md", stated);
    let mut plan = String::from("# Tasks: tool\n## Phase 1: Make It Work (POC)\n");
    for (at, (check, _)) in CHECKS.iter().enumerate() {
        let (number, requirement) = (at + 1, at % (REQUIREMENTS - UNCOVERED) + 1);
        plan.push_str(&format!(
            "- [ ] 1.{number} Do the thing number {number}\n  - **Do**:\n    1. Do it\n  \
             - **Files**: src/new.sh, tests/run.sh, docs/guide.md\n  - **Done when**: it is done\n  \
             - **Verify**: `{check}`\n  - **Commit**: `feat: thing {number}`\n  \
             - _Requirements: FR-{requirement}_\n"
        ));
    }
    world.write("specs/tool/tasks.md", plan);
    world.git_init();
    world
}
