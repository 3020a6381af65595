//! The whole way by verbs, with whoever writes.

use super::*;
use crate::world::World;

fn begun() -> World {
    let world = project();
    plan(&world, &["--until", "requirements", GOAL]).exits(6);
    world
}

#[test]
fn each_document_waits_for_a_person_and_the_same_command_goes_on() {
    let world = begun();
    assert_eq!(status(&world, "requirements"), "written");
    let next = world.specum(&["next", "--json"]);
    next.exits(6);
    let waiting = next.json();
    assert_eq!(waiting["due"], "approval");
    assert_eq!(waiting["approval"]["questions"][0]["default"], 1);
    let summary = waiting["approval"]["summary"].as_str().unwrap();
    assert!(summary.contains("FR-1 greet.txt says hello"), "{summary}");

    let said = world.person(&["approve"]);
    assert!(said.contains("approved: requirements.md"), "{said}");
    assert!(read(&world, "requirements.md").contains("→ hello: as people write"));
    assert!(read(&world, ".ralph-trace.json").contains("\"via\":\"terminal\""));

    plan(&world, &[GOAL]).exits(6);
    assert_eq!(starts(&world), ["requirements 1", "design 1"]);
    world.person(&["approve"]);
    plan(&world, &[GOAL]).exits(6);
    world.specum(&["run", "--agent", "script"]).exits(6);
    world.person(&["approve", "tasks"]);
    plan(&world, &[GOAL]).exits(0);
    assert_eq!(subjects(&world).len(), 4);
}

#[test]
fn an_agents_shell_approves_nothing_and_asks_for_no_quick_plan() {
    let world = begun();
    for args in [&["approve"][..], &["approve", "requirements"], &["change", "more"]] {
        let call = world.in_session(args);
        call.exits(1);
        assert!(call.stderr.contains("is a person's to say"), "{}", call.stderr);
    }
    assert_eq!(status(&world, "requirements"), "written");
    world.in_session(&["plan", "--quick", GOAL]).exits(1);
}

#[test]
fn another_answer_than_the_default_goes_to_the_author_first() {
    let world = begun();
    let loud = REQUIREMENTS.replace(
        "- [ ] Q-1: How loud is it? (affects FR-1)\n",
        "- [x] Q-1: How loud is it? (affects FR-1) → HELLO: louder\n",
    );
    writes(&world, "requirements.md", loud);
    let (said, code) = world.person_gets(&["approve", "--answer", "Q-1=9"]);
    assert!(code == Some(2) && said.contains("answers 1 to 2"), "{said}");
    let (said, code) = world.person_gets(&["approve", "--answer", "Q-7=1"]);
    assert!(code == Some(2) && said.contains("no open question is called Q-7"), "{said}");
    world.person(&["approve", "--answer", "Q-1=2"]);
    assert_eq!(status(&world, "requirements"), "stale");
    assert!(read(&world, "requirements.md").contains("- [x] Q-1"));
    plan(&world, &[GOAL]).exits(6);
    assert!(brief(&world, "requirements", 1).contains("Q-1: HELLO: louder"));
    assert_eq!(status(&world, "requirements"), "written");
}

#[test]
fn a_change_that_a_person_wants_goes_to_the_author() {
    let world = begun();
    world.person(&["change", "say", "it", "twice"]);
    assert_eq!(status(&world, "requirements"), "stale");
    plan(&world, &[GOAL]).exits(6);
    let told = brief(&world, "requirements", 1);
    assert!(told.contains("What the person wants changed") && told.contains("say it twice"));
    assert_eq!(journal(&world, "revised")[0]["by"], "person");
}

#[test]
fn next_and_finish_take_a_document() {
    let world = project();
    let made = world.specum(&["new", "greet", GOAL]);
    made.exits(0);
    let skeleton = world.read("specs/greet/requirements.md");
    world.specum(&["check", "greet"]).exits(1);
    plan(&world, &["--until", "requirements", "greet"]).exits(6);
    assert_ne!(world.read("specs/greet/requirements.md"), skeleton);
    world.person(&["approve", "greet"]);

    let next = world.specum(&["next", "greet", "--json"]).json();
    assert_eq!(
        (&next["due"], &next["document"]["document"]),
        (&"document".into(), &"design".into())
    );
    world.write("specs/greet/design.md", "# Design\n");
    let finish = world.specum(&["finish", "design", "--spec", "greet", "--json"]);
    finish.exits(1);
    assert!(finish.json()["findings"].to_string().contains("missing-section"));
    world.specum(&["next", "greet"]).exits(0);
    world.write("specs/greet/design.md", DESIGN);
    let finish = world.specum(&["finish", "@design", "--spec", "greet", "--json"]);
    finish.exits(0);
    assert_eq!(finish.json()["waits"], true);
}
