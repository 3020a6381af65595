//! Epics: what `epic`, `approve --epic`, `run --epic` and `run --all` do.

use serde_json::json;
use specum_core::check::Severity;
use specum_core::spec::epic::Rule;

use crate::docs::{document, fenced};
use crate::world::{Call, World};

const EPIC: &str = "\
# Epic: Accounts
## Vision
People have accounts.
## Success Criteria
- A person signs in by `sign-in-page`.
## Specs
### 1. store
**Goal**: keep one link for each address.
**Acceptance Criteria**:
- a link is found
**Dependencies**: none
**Exposes**: `link-api`: `issue(address) -> Token`
### 2. sign-in
**Goal**: a page that takes the link.
**Acceptance Criteria**:
- the page answers 200
**Dependencies**: store
**Exposes**: `sign-in-page`: `GET /in`
**Consumes**: `link-api`
### 3. audit
**Goal**: every use of a link is in the log.
**Acceptance Criteria**:
- one line for each use
**Dependencies**: store
**Consumes**: `link-api`
";

/// A plan of one task that leaves a file behind, if `works`.
fn plan(name: &str, works: bool) -> String {
    let check = if works { "true" } else { "false" };
    format!("- [ ] 1.1 Write {name}\n  - **Files**: {name}.txt\n  - **Verify**: `{check}`\n")
}

fn world() -> World {
    let world = World::empty();
    world.write("specs/_epics/accounts/epic.md", EPIC);
    world.git_init();
    world
}

/// With the specs made, and plans for them.
fn approved(plans: &[(&str, bool)]) -> World {
    let world = world();
    world.person(&["approve", "--epic", "accounts"]);
    for (name, works) in plans {
        world.write(&format!("specs/{name}/tasks.md"), plan(name, *works));
    }
    world.commit_all();
    world
}

fn run(world: &World, args: &[&str]) -> Call {
    let agent = ["--agent-command", "cat >/dev/null; echo TASK_COMPLETE", "--attempts", "1"];
    world.specum(&[&["run"], args, &agent].concat())
}

/// The titles of the commits, the newest first.
fn commits(world: &World) -> Vec<String> {
    world.git(&["log", "--format=%s"]).lines().map(str::to_owned).collect()
}

#[test]
fn an_epic_is_shown_with_its_specs_and_what_is_next() {
    let world = world();
    let epic = world.specum(&["epic"]);
    assert_eq!(
        epic.exits(0).stdout,
        "accounts: 0 of 3 specs complete\n  \
           store    no plan yet\n  \
           sign-in  no plan yet         needs store\n  \
           audit    no plan yet         needs store\n\
         next: `specum approve --epic accounts` makes its specs\n"
    );
    let shown = world.specum(&["epic", "accounts", "--json"]).exits(0).json();
    assert_eq!(shown["next"], "store");
    assert_eq!(shown["specs"][1]["dependencies"], json!(["store"]));
    assert!(!world.specum(&["list"]).stdout.contains("_epics"));
}

#[test]
fn an_epic_with_a_circle_or_an_open_contract_is_refused_with_line_and_way_out() {
    let world = world();
    let wrong = EPIC
        .replace("**Dependencies**: none", "**Dependencies**: sign-in")
        .replace("**Consumes**: `link-api`\n### 3", "**Consumes**: `mail-api`\n### 3");
    world.write("specs/_epics/accounts/epic.md", wrong);
    let epic = world.specum(&["epic"]);
    let circle = "./specs/_epics/accounts/epic.md:11: error: store needs itself, by way of what it \
                  needs; put what they share into a spec that comes first [dependency-cycle]";
    assert!(epic.exits(1).stdout.contains(circle), "{}", epic.stdout);
    assert!(epic.stdout.contains("epic.md:19: error: sign-in consumes `mail-api`"));
    let (said, _) = world.person_gets(&["approve", "--epic"]);
    assert!(said.contains("cannot be built on") && said.contains("[contract-open]"), "{said}");
    assert!(!world.path("specs/store").exists(), "nothing is made");
    let run = run(&world, &["--epic"]);
    assert!(run.exits(2).stderr.contains("epic.md:11"), "{}", run.stderr);
}

#[test]
fn an_approval_makes_the_specs_with_their_contracts_word_for_word() {
    let world = world();
    // An agent cannot approve for a person.
    let agent = world.specum(&["approve", "--epic", "accounts"]);
    assert!(agent.exits(1).stderr.contains("is a person's to say"), "{}", agent.stderr);
    let said = world.person(&["approve", "--epic", "accounts"]);
    assert!(said.contains("accounts: made store, sign-in, audit"), "{said}");
    let goal = world.read("specs/sign-in/plan.md");
    assert!(goal.contains("- `link-api`: `issue(address) -> Token` (exposed by store)"), "{goal}");
    assert!(goal.contains("- the page answers 200"), "{goal}");
    assert_eq!(world.read("specs/.current-epic"), "accounts\n");
    assert_eq!(commits(&world)[0], "docs(accounts): approve the epic and its specs");
    assert_eq!(world.git(&["status", "--porcelain"]), "", "nothing is left, nor state committed");
    let state: serde_json::Value =
        serde_json::from_str(&world.read("specs/_epics/accounts/.epic-state.json")).unwrap();
    assert_eq!(state["specs"][1]["status"], "pending");

    // What a person has edited stays; what they have not follows the epic.
    world.write("specs/store/plan.md", "mine\n");
    world.write("specs/_epics/accounts/epic.md", EPIC.replace("issue(address)", "issue(mail)"));
    let again = world.person(&["approve", "--epic"]);
    assert!(again.contains("made sign-in, audit"), "{again}");
    assert!(again.contains("left as you have edited them: plan.md of store"), "{again}");
    assert_eq!(world.read("specs/store/plan.md"), "mine\n");
    assert!(world.read("specs/audit/plan.md").contains("issue(mail)"));
}

#[test]
fn a_spec_of_the_name_that_is_there_already_is_not_taken() {
    let world = world();
    world.write("specs/audit/tasks.md", plan("audit", true));
    let epic = world.specum(&["epic"]);
    assert!(epic.exits(1).stdout.contains("[spec-taken]"), "{}", epic.stdout);
}

#[test]
fn an_epic_is_worked_in_the_order_of_its_dependencies() {
    let world = approved(&[("audit", true), ("sign-in", true), ("store", true)]);
    let run = run(&world, &["--epic"]);
    let said = &run.exits(0).stdout;
    for line in [
        "accounts: 0 of 3 complete, now store",
        "accounts: 1 of 3 complete, now sign-in",
        "accounts: 2 of 3 complete, now audit",
        "accounts: 3 of 3 complete",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let done: Vec<String> =
        commits(&world).into_iter().filter(|one| one.contains("Write")).collect();
    assert_eq!(done.len(), 3, "{done:?}");
    assert!(done[2].contains("store") && done[0].contains("audit"), "{done:?}");
    let state: serde_json::Value =
        serde_json::from_str(&world.read("specs/_epics/accounts/.epic-state.json")).unwrap();
    assert_eq!(state["specs"][2]["status"], "completed");
    let epic = world.specum(&["epic"]);
    assert!(epic.exits(0).stdout.contains("3 of 3 specs complete"), "{}", epic.stdout);
    assert!(epic.stdout.ends_with("everything is done\n"), "{}", epic.stdout);
}

#[test]
fn an_epic_stops_at_what_fails_and_keep_going_takes_what_does_not_need_it() {
    let world = approved(&[("store", true), ("sign-in", false), ("audit", true)]);
    let stopped = run(&world, &["--epic", "accounts"]);
    stopped.exits(6);
    assert!(world.read("specs/audit/tasks.md").contains("- [ ] 1.1"));
    let on = run(&world, &["--epic", "accounts", "--keep-going"]);
    on.exits(6);
    assert!(world.read("specs/audit/tasks.md").contains("- [x] 1.1"), "{}", on.stdout);
    assert!(world.read("specs/sign-in/tasks.md").contains("- [ ] 1.1"));
}

#[test]
fn a_spec_without_a_plan_ends_the_run_and_is_named() {
    let world = approved(&[("store", true)]);
    let run = run(&world, &["--epic"]);
    let said = "1 of 3 complete; sign-in comes next and has no plan: `specum plan sign-in`";
    assert!(run.exits(6).stderr.contains(said), "{}", run.stderr);
    assert!(world.read("specs/store/tasks.md").contains("- [x] 1.1"));
}

#[test]
fn with_auto_a_spec_is_planned_when_its_turn_comes() {
    let world = world();
    world.person(&["approve", "--epic", "accounts"]);
    world.write("specum.yaml", "profile: small\n");
    let plan = "\
# Tasks: NAME
## Goal
It works.
## Requirements
- FR-1: a file is there
## Out of Scope
- mail
## Assumptions
- A-1: nothing else
## Phase 1: Change
- [ ] 1.1 Write it
  - **Do**:
    1. write it
  - **Files**: NAME.txt
  - **Done when**: it is there
  - **Verify**: `sh -c 'test -e NAME.txt'`
  - **Commit**: `feat: write NAME`
  - _Requirements: FR-1_
";
    let (template, agent) = (world.home().join("plan.md"), world.home().join("agent.sh"));
    std::fs::write(&template, plan).unwrap();
    let script = format!(
        r#"#!/bin/sh
brief=$(cat)
for name in store sign-in audit; do
  case "$brief" in
    *"specs/$name/tasks.md alone"*) sed "s/NAME/$name/g" {} > "specs/$name/tasks.md" ;;
    *"$name.txt"*) echo x > "$name.txt" ;;
  esac
done
echo TASK_COMPLETE
"#,
        template.display()
    );
    std::fs::write(&agent, script).unwrap();
    crate::world::executable(&agent);
    world.commit_all();
    let command = agent.display().to_string();
    let run = world.specum(&["run", "--epic", "accounts", "--auto", "--agent-command", &command]);
    let said = format!("{}{}", run.stdout, run.stderr);
    assert_eq!(run.code, Some(0), "{said}");
    assert!(said.contains("1 of 3 complete, planning sign-in"), "{said}");
    for name in ["store", "sign-in", "audit"] {
        let plan = world.read(&format!("specs/{name}/tasks.md"));
        assert!(plan.contains("- [x] 1.1 Write it"), "{plan}");
    }
}

#[test]
fn an_epic_that_nobody_has_approved_is_not_worked() {
    let world = world();
    let run = run(&world, &["--epic"]);
    assert!(run.exits(3).stderr.contains("is not approved"), "{}", run.stderr);
}

#[test]
fn all_specs_with_open_boxes_are_worked_one_after_the_other() {
    let world = World::empty();
    for (name, works) in [("one", true), ("three", true), ("two", false)] {
        world.write(&format!("specs/{name}/tasks.md"), plan(name, works));
    }
    world.write("specs/done/tasks.md", "- [x] 1.1 a\n");
    world.git_init();
    let all = run(&world, &["--all"]);
    assert!(all.exits(6).stdout.contains("1 of 3: one"), "{}", all.stdout);
    assert!(all.stdout.contains("3 of 3: two"), "{}", all.stdout);
    for (name, mark) in [("one", "x"), ("three", "x"), ("two", " ")] {
        let plan = world.read(&format!("specs/{name}/tasks.md"));
        assert!(plan.starts_with(&format!("- [{mark}] 1.1")), "{plan}");
    }
    world.write("specs/two/tasks.md", "- [x] 1.1 a\n");
    let none = run(&world, &["--all"]);
    assert_eq!(none.exits(0).stdout, "no spec has an open task\n");
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let world = world();
    world.write("specs/.current-epic", "../../etc\n");
    let out = world.specum(&["epic"]);
    assert!(out.exits(2).stderr.contains("`../../etc` is no name"), "{}", out.stderr);
    let odd = world.specum(&["epic", "A b"]);
    assert!(odd.exits(2).stderr.contains("is no name for an epic"), "{}", odd.stderr);
    std::fs::remove_dir_all(world.path("specs/_epics/accounts")).unwrap();
    std::fs::write(world.home().join("epic.md"), EPIC).unwrap();
    std::fs::create_dir(world.path("specs/_epics/accounts")).unwrap();
    let link = world.path("specs/_epics/accounts/epic.md");
    std::os::unix::fs::symlink(world.home().join("epic.md"), link).unwrap();
    let out = world.specum(&["epic", "accounts"]);
    assert!(out.exits(1).stderr.contains("leads out of the project"), "{}", out.stderr);
}

#[test]
fn the_page_about_epics_shows_one_and_lists_every_rule() {
    let page = document("docs/epics.md");
    let (_, example) = fenced(&page).into_iter().find(|(info, _)| info == "markdown").unwrap();
    let world = World::empty();
    world.write("specs/_epics/accounts/epic.md", example);
    let epic = world.specum(&["epic"]);
    assert!(!epic.exits(0).stdout.contains("warning"), "{}", epic.stdout);
    let rows: String = Rule::ALL
        .iter()
        .map(|rule| {
            let error = rule.severity() == Severity::Error;
            let severity = if error { "error" } else { "warning" };
            format!("| `{}` | {severity} | {} |\n", rule.name(), rule.about())
        })
        .collect();
    assert!(page.contains(&rows), "the table is to be:\n{rows}");
}
