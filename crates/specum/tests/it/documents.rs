//! The documents around a plan: what `check`, `trace` and `index` say of them.

use serde_json::json;

use specum_core::check::Severity;
use specum_core::spec::gate::Rule;

use crate::corpus;
use crate::docs::document;
use crate::world::World;

const FOLDER: &str = "specs/test-spec";

const REQUIREMENTS: &str = "\
# Requirements: links
## Goal
Visitors sign in by a link that lives 15 minutes.
## User Stories
### US-1: Sign in
**As a** visitor **I want** a link **so that** I need no password.
- AC-1.1: WHEN an address is sent in THE service SHALL answer 202.
- AC-1.2: IF the link is older than 15 minutes THEN THE service SHALL answer 410.
## Functional Requirements
| ID | Requirement | Priority | Acceptance Criteria |
|----|-------------|----------|---------------------|
| FR-1 | A link is mailed | Must | AC-1.1 |
| FR-2 | An expired link is refused | Must | AC-1.2 |
## Non-Functional Requirements
None: as before
## Out of Scope
- Passwords
## Open Questions
None: all is said
## Assumptions
- A-1: Addresses are unique.
";

const DESIGN: &str = "\
# Design: links
## Components
### C-1: Link store
**Purpose**: keeps links.
_Requirements: FR-1, FR-2_
";

const PLAN: &str = "\
## Phase 1: Work
- [ ] 1.1 Mail the link
  - **Do**: write it
  - **Files**: src/mail.txt
  - **Done when**: it is mailed
  - **Verify**: `grep -q mailed src/mail.txt`
  - **Commit**: `feat: mail`
  - _Requirements: FR-1_
  - _Design: C-1_
- [ ] 1.2 Refuse an expired link
  - **Do**: write it
  - **Files**: src/old.txt
  - **Done when**: it is refused
  - **Verify**: `test -d specs`
  - **Commit**: `feat: refuse`
  - _Requirements: AC-1.2_
";

fn world() -> World {
    let world = World::planned(PLAN);
    world.write(&format!("{FOLDER}/requirements.md"), REQUIREMENTS);
    world.write(&format!("{FOLDER}/design.md"), DESIGN);
    world
}

#[test]
fn check_looks_at_every_document_and_names_file_line_rule_and_way_out() {
    let world = world();
    let plan = PLAN.replace("  - _Requirements: FR-1_\n", "");
    world.write("specs/test-spec/tasks.md", plan);
    let check = world.specum(&["check"]);
    let found = "./specs/test-spec/tasks.md:1: warning: no task names FR-1 (A link is mailed); \
                 name it in the `_Requirements: …_` of the task that builds it, or add one \
                 [requirement-uncovered]";
    assert!(check.exits(0).stdout.contains(found), "{}", check.stdout);
    assert!(check.stdout.contains("./specs/test-spec/design.md:1: warning: there is no section"));
    let strict = world.specum(&["check", "--strict"]);
    assert!(strict.exits(1).stdout.contains("error: no task names FR-1"), "{}", strict.stdout);
}

#[test]
fn check_looks_at_the_one_document_that_is_named() {
    let world = world();
    world.write(
        "specs/test-spec/requirements.md",
        REQUIREMENTS.replace("| Must | AC-1.2 |", "| Must | AC-9.9 |"),
    );
    let check = world.specum(&["check", "specs/test-spec/requirements.md", "--json"]);
    let found = &check.exits(0).json()["findings"];
    let rules: Vec<&str> =
        found.as_array().unwrap().iter().map(|one| one["rule"].as_str().unwrap()).collect();
    assert_eq!(rules, ["criterion-unused", "id-dangling"]);
    assert_eq!(found[0]["file"], "specs/test-spec/requirements.md");
    assert_eq!(found[1]["line"], 13);
    let gone = world.specum(&["check", "specs/test-spec/research.md"]);
    assert!(gone.stderr.contains("there is no spec"), "{}", gone.stderr);
}

#[test]
fn a_spec_whose_plan_is_still_to_be_written_can_be_checked() {
    let world = World::empty();
    world.write("specs/new/requirements.md", REQUIREMENTS);
    let check = world.specum(&["check", "new"]);
    assert_eq!(check.exits(0).stdout, "0 tasks, 0 errors, 0 warnings\n");
}

#[test]
fn a_plan_alone_is_checked_as_before() {
    let world = World::with_tasks(PLAN);
    let check = world.specum(&["check"]);
    assert!(check.exits(0).stdout.ends_with("2 tasks, 0 errors, 0 warnings\n"), "{}", check.stdout);
}

#[test]
fn red_first_runs_what_only_reads_and_nothing_else() {
    let world = world();
    let plan = format!(
        "{PLAN}- [ ] 1.3 Writes\n  - **Do**: x\n  - **Files**: a\n  - **Done when**: y\n  \
         - **Verify**: `touch ran; test -f nothing`\n  - **Commit**: None\n"
    );
    world.write("specs/test-spec/tasks.md", plan);
    let check = world.specum(&["check", "--red"]);
    assert!(check.exits(0).stdout.contains("before the work: 1 red, 1 green, 1 not run"));
    assert!(check.stdout.contains("1.2: the check passes before the work, so it proves nothing"));
    assert!(check.stdout.contains("[verify-green]"), "{}", check.stdout);
    assert!(!world.path("ran").exists(), "a command that may write is not run");
    let runs = &world.specum(&["check", "--red", "--json"]).json()["firstRuns"];
    assert_eq!(*runs, json!({"1.1": "red", "1.2": "green"}));
    assert!(
        !world.specum(&["check"]).stdout.contains("before the work"),
        "only if it is asked for"
    );
}

#[test]
fn red_first_runs_everything_in_a_worktree_that_is_thrown_away() {
    let world = world();
    let plan = PLAN.replace("`test -d specs`", "`touch ran; test -f nothing`");
    world.write("specs/test-spec/tasks.md", plan);
    world.write("committed.txt", "x");
    world.commit_all();
    world.write("uncommitted.txt", "x");
    let check = world.specum(&["check", "--red=all"]);
    assert!(check.exits(0).stdout.contains("before the work: 2 red, 0 green, 0 not run"));
    assert!(!world.path("ran").exists(), "the user's tree is left alone");
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1, "and so is the worktree");
}

#[test]
fn a_guard_may_be_green_before() {
    let world = world();
    let guard = "`test -d specs` (green before: the folder stays)";
    world.write("specs/test-spec/tasks.md", PLAN.replace("`test -d specs`", guard));
    let check = world.specum(&["check", "--red"]);
    assert!(!check.exits(0).stdout.contains("verify-green"), "{}", check.stdout);
}

#[test]
fn trace_shows_what_there_is_for_each_requirement() {
    let world = world();
    let trace = world.specum(&["trace"]);
    assert_eq!(
        trace.exits(0).stdout,
        "test-spec  2 of 2 requirements covered, 0 proven\n\
         FR-1    Must     AC-1.1  C-1  1.1 open\n\
         FR-2    Must     AC-1.2  C-1  1.2 open\n\
         what each part stands on is not recorded: `specum trace --rebuild` does that\n"
    );
}

#[test]
fn a_changed_criterion_makes_stale_exactly_what_stands_on_it() {
    let world = world();
    world.specum(&["trace", "--rebuild"]).exits(0);
    assert_eq!(world.specum(&["trace", "--stale"]).exits(0).stdout, "nothing is stale\n");
    let changed = REQUIREMENTS.replace("SHALL answer 410", "SHALL answer 404");
    world.write("specs/test-spec/requirements.md", changed);
    let stale = world.specum(&["trace", "--stale"]);
    assert_eq!(
        stale.exits(6).stdout,
        "design.md:3: C-1 is stale: FR-2 has changed since\n\
         tasks.md:10: task 1.2 is stale: AC-1.2 has changed since\n"
    );
    let parts = &world.specum(&["trace", "--json"]).json()["stale"];
    assert_eq!(parts[0]["part"], "C-1");
    let again = world.specum(&["trace", "--rebuild"]);
    again.exits(1);
    assert!(again.stderr.contains("a person's to say"), "{}", again.stderr);
    world.person(&["trace", "--rebuild"]);
    world.specum(&["trace", "--stale"]).exits(0);
}

#[test]
fn a_requirement_is_proven_once_its_tasks_have_passed_their_checks() {
    let world = world();
    world.commit_all();
    world.specum(&["implement"]).exits(0);
    world.specum(&["next"]).exits(0);
    world.write("src/mail.txt", "mailed\n");
    world.specum_with(&["finish", "1.1"], b"TASK_COMPLETE\n").exits(0);
    let shown = world.specum(&["trace"]).exits(0).stdout.clone();
    assert!(shown.contains("red→green"), "{shown}");
    let trace = world.specum(&["trace", "--json"]).json();
    assert_eq!((&trace["covered"], &trace["proven"]), (&json!(2), &json!(1)));
    let task = &trace["requirements"][0]["tasks"][0];
    assert_eq!((&task["done"], &task["checked"]), (&json!(true), &json!(true)));
    assert_eq!(task["proof"], "red-green");
    // A check that was green before the work proves nothing.
    world.specum(&["next"]).exits(0);
    world.specum_with(&["finish", "1.2"], b"TASK_COMPLETE\n").exits(0);
    let trace = world.specum(&["trace", "--json"]).json();
    assert_eq!(trace["proven"], 1);
    assert_eq!(trace["requirements"][1]["tasks"][0]["proof"], "green-before");
}

#[test]
fn a_trace_that_cannot_be_read_says_how_to_make_it_anew() {
    let world = world();
    world.write("specs/test-spec/.ralph-trace.json", "<<<<<<< HEAD\n");
    for verb in ["trace", "check"] {
        let call = world.specum(&[verb]);
        assert!(call.stderr.contains("`specum trace --rebuild` makes it again"), "{}", call.stderr);
        call.exits(4);
    }
    world.person(&["trace", "--rebuild"]);
    world.specum(&["trace"]).exits(0);
}

#[test]
fn trace_says_what_is_missing_where_nothing_is_required() {
    let world = World::with_tasks(PLAN);
    let trace = world.specum(&["trace"]);
    assert!(trace.exits(3).stderr.contains("states no requirements"), "{}", trace.stderr);
}

#[test]
fn index_writes_a_map_and_the_list_of_specs() {
    let world = world();
    world.write("package.json", r#"{"scripts": {"lint": "x"}}"#);
    world.write("Makefile", "all:\n\ttrue\n");
    world.write(".github/workflows/ci.yml", "steps:\n  - run: make all\n  - run: npm ci\n");
    world.write("src/main.rs", "fn main() {}\n");
    world.commit_all();
    let index = world.specum(&["index", "--json"]);
    let commands = index.exits(0).json()["commands"].clone();
    assert_eq!(
        commands,
        json!([
            {"command": "npm run lint", "source": "package.json"},
            {"command": "make all", "source": "Makefile"},
            {"command": "npm ci", "source": ".github/workflows/ci.yml"},
        ])
    );
    let map = world.read("specs/.index/map.md");
    assert!(map.contains("## Entry points\n\n- src/main.rs\n"), "{map}");
    assert!(map.len() <= 6 * 1024);
    let specs = world.read("specs/.index/index.md");
    assert!(specs.contains("| test-spec | requirements, design, tasks | 0/2 |"), "{specs}");
    let list = world.specum(&["list"]);
    assert!(!list.stdout.contains(".index"), "it is no spec: {}", list.stdout);
}

#[test]
fn documents_that_are_no_text_are_judged_like_others() {
    let world = world();
    world.write("specs/test-spec/requirements.md", b"\xff\xfe## Goal\n\x00".as_slice());
    world.write("specs/test-spec/design.md", "");
    world.specum(&["check"]).exits(0);
    world.specum(&["check", "--strict"]).exits(1);
}

#[test]
fn the_page_about_gates_lists_every_rule() {
    let page = document("docs/gates.md");
    let rows = Rule::ALL.iter().map(|rule| {
        let severity = if rule.severity() == Severity::Error { "error" } else { "warning" };
        format!("| `{}` | {severity} | {} |\n", rule.name(), rule.about())
    });
    let rows: String = rows.collect();
    assert!(page.contains(&rows), "the table is to be:\n{rows}");
}

#[test]
fn checks_that_prove_nothing_and_forgotten_requirements_are_found_with_line_and_way_out() {
    let world = corpus::world();
    let check = world.specum(&["check", "tool", "--strict", "--red", "--json"]).exits(1).json();
    let found: Vec<_> = check["findings"].as_array().unwrap().iter().collect();
    let plan = world.read("specs/tool/tasks.md");
    let lines: Vec<&str> = plan.lines().collect();
    for (at, (command, rule)) in corpus::CHECKS.iter().enumerate() {
        let task = format!("- [ ] 1.{} ", at + 1);
        let of_task = found.iter().filter(|one| {
            let line = usize::try_from(one["line"].as_u64().unwrap()).unwrap();
            one["file"].as_str().unwrap().ends_with("tasks.md")
                && lines[line - 1].starts_with(&task)
        });
        let of_check = of_task
            .filter(|one| one["rule"].as_str().is_some_and(|rule| rule.starts_with("verify-")));
        let rules: Vec<&str> = of_check
            .inspect(|one| assert!(!one["fix"].as_str().unwrap().is_empty(), "{one}"))
            .map(|one| one["rule"].as_str().unwrap())
            .collect();
        match rule {
            Some(rule) => assert!(rules.contains(rule), "{command}: {rules:?}"),
            None => assert_eq!(rules, [""; 0], "{command}"),
        }
    }
    let uncovered: Vec<&str> = found
        .iter()
        .filter(|one| one["rule"] == "requirement-uncovered")
        .inspect(|one| assert!(one["fix"].as_str().unwrap().contains("_Requirements")))
        .map(|one| one["message"].as_str().unwrap())
        .collect();
    assert_eq!(
        uncovered,
        ["FR-7", "FR-8", "FR-9"].map(|id| format!("no task names {id} (It prints {})", &id[3..]))
    );
}
