//! A person who edits, at every moment.

use super::*;
use crate::run::references;

#[test]
fn a_document_that_was_edited_while_its_author_worked_stays_as_the_person_has_it() {
    let world = project();
    let mine = REQUIREMENTS.replace("Other languages", "Other languages, and cats");
    fs::write(world.home().join("mine.md"), &mine).unwrap();
    let here = world.root.display();
    writes(
        &world,
        "requirements.sh",
        format!(
            "cp $HOME/mine.md {here}/{SPEC}/requirements.md; cp $HOME/docs/requirements.md $dir\n"
        ),
    );
    plan(&world, &["--quick", "--until", "requirements", GOAL]).exits(0);
    let text = read(&world, "requirements.md");
    assert!(text.contains("and cats"), "{text}");
    let kept = references(&world);
    let kept = kept.iter().find(|reference| reference.contains("/kept/")).expect("a reference");
    let theirs = world.git(&["show", &format!("{kept}:{SPEC}/requirements.md")]);
    assert!(!theirs.contains("and cats"));
}

#[test]
fn an_approval_of_what_has_changed_since_is_asked_for_once_more() {
    let world = project();
    plan(&world, &[GOAL]).exits(6);
    let path = format!("{SPEC}/requirements.md");
    world.write(&path, REQUIREMENTS.replace("Other languages", "Cats"));
    let (said, code) = world.person_gets(&["approve"]);
    assert!(code == Some(6) && said.contains("has changed since it was shown"), "{said}");
    world.person(&["approve"]);
    assert!(read(&world, "requirements.md").contains("- Cats"));

    let world = project();
    plan(&world, &[GOAL]).exits(6);
    world.write(&path, REQUIREMENTS.replace("| AC-1.2 |", "| AC-9.9 |"));
    let (said, code) = world.person_gets(&["approve"]);
    assert!(code == Some(6) && said.contains("id-dangling"), "{said}");
    assert_eq!(status(&world, "requirements"), "written");
}

#[test]
fn good_documents_of_a_persons_own_need_no_author() {
    let world = project();
    world.write("specs/mine/requirements.md", REQUIREMENTS);
    world.write("specs/mine/plan.md", GOAL);
    plan(&world, &["--quick", "--until", "design", "mine"]).exits(0);
    assert_eq!(starts(&world), ["design 1"]);
    let text = world.read("specs/mine/requirements.md");
    assert!(text.contains("## User Stories"), "{text}");
}

#[test]
fn a_dirty_tree_is_no_obstacle_to_planning_and_stays_as_it_is() {
    let world = project();
    world.write("README.md", "mine\n");
    plan(&world, &["--quick", GOAL]).exits(0);
    assert_eq!(world.read("README.md"), "mine\n");
    assert_eq!(world.git(&["status", "--porcelain"]).trim(), "M README.md");
    let call = plan(&world, &["--auto", "another-one", "Say", "more"]);
    call.exits(1);
    assert!(call.stderr.contains("not committed"), "{}", call.stderr);
}
