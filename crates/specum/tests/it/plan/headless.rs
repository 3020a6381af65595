//! `specum plan` from a sentence to its end.

use super::*;
use crate::run::{references, worktrees};

#[test]
fn one_sentence_becomes_committed_work() {
    let world = small_project();
    plan(&world, &["--small", "--auto", GOAL]).exits(0);
    assert_eq!(starts(&world), ["tasks 1"]);
    assert_eq!(world.git(&["show", "HEAD:greet.txt"]), "hello\n");
    let subjects = subjects(&world);
    assert!(subjects.contains(&"feat: greet the reader".to_owned()), "{subjects:?}");
    assert!(
        subjects.contains(&"spec(greet-reader-greet-txt-within): add tasks".to_owned()),
        "{subjects:?}"
    );
    assert!(read(&world, "tasks.md").contains("- [x] 1.1"));
    assert_eq!(read(&world, "plan.md"), GOAL);
    assert!(read(&world, ".ralph-trace.json").contains("\"by\":\"quick\""));
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    assert!(worktrees(&world).is_empty());
}

#[test]
fn a_document_that_is_wrong_first_is_sent_back_with_what_is_wrong_and_mended() {
    let world = project();
    let wrong = REQUIREMENTS.replace("| AC-1.2 |", "| AC-9.9 |");
    writes(&world, "requirements-1.md", &wrong);
    plan(&world, &["--quick", GOAL]).exits(0);
    assert_eq!(starts(&world), ["requirements 1", "requirements 2", "design 1", "tasks 1"]);
    let told = brief(&world, "requirements", 2);
    assert!(told.contains("What was wrong last time"), "{told}");
    assert!(told.contains("id-dangling"), "{told}");
    assert!(told.contains("is there already; read it first"), "{told}");
    let gated = journal(&world, "gated");
    assert_eq!((gated.len(), &gated[0]["task"]["id"]), (1, &"@requirements".into()));
    for doc in ["requirements", "design", "tasks"] {
        assert_eq!(status(&world, doc), "approved");
    }
    let text = read(&world, "requirements.md");
    assert!(text.contains("- [x] Q-1: How loud is it? (affects FR-1) → (assumed) hello"), "{text}");
    assert!(text.starts_with("---\nspec: greet-reader-greet-txt-within\nphase: requirements\n"));
    assert!(text.contains("generated: auto"));
    let subjects = subjects(&world);
    let added = |doc: &str| format!("spec(greet-reader-greet-txt-within): add {doc}");
    assert_eq!(subjects[..3], [added("tasks"), added("design"), added("requirements")]);
}

#[test]
fn an_author_who_is_wrong_three_times_blocks_the_spec_until_a_person_resumes_it() {
    let world = project();
    writes(&world, "requirements.md", "# Requirements\nTBD\n");
    let call = plan(&world, &["--quick", GOAL]);
    call.exits(6);
    assert_eq!(starts(&world), ["requirements 1", "requirements 2", "requirements 3"]);
    assert_eq!(status(&world, "requirements"), "blocked");
    plan(&world, &["--quick", GOAL]).exits(6);
    assert_eq!(starts(&world).len(), 3, "nobody is asked again");
    // A person fixes it by hand.
    world.write(&format!("{SPEC}/requirements.md"), REQUIREMENTS);
    world.person(&["resume"]);
    plan(&world, &["--quick", GOAL]).exits(0);
    assert_eq!(starts(&world)[3..], ["design 1", "tasks 1"], "it needs no author");
}

#[test]
fn what_an_author_changes_elsewhere_never_reaches_the_tree_and_is_kept() {
    let world = project();
    writes(
        &world,
        "requirements-1.sh",
        "cp $HOME/docs/requirements.md $dir; echo evil > check.sh; echo x > new.txt\n",
    );
    plan(&world, &["--quick", "--until", "requirements", GOAL]).exits(0);
    assert_eq!(world.read("check.sh"), "test \"$(cat greet.txt)\" = hello\n");
    assert!(!world.path("new.txt").exists());
    let kept = references(&world);
    let kept = kept.iter().find(|reference| reference.contains("/kept/")).expect("a reference");
    assert_eq!(world.git(&["show", &format!("{kept}:new.txt")]), "x\n");
    assert_eq!(status(&world, "requirements"), "approved");
}

#[test]
fn an_author_who_writes_nothing_or_another_file_is_told_so() {
    let world = project();
    writes(&world, "requirements-1.sh", "true\n");
    writes(&world, "requirements-2.sh", "cp $HOME/docs/requirements.md ${dir}design.md\n");
    plan(&world, &["--quick", "--until", "requirements", GOAL]).exits(0);
    let gated = journal(&world, "gated");
    assert!(gated[0]["findings"][0].as_str().unwrap().contains("is not there; write it"));
    let second = gated[1]["findings"].to_string();
    assert!(second.contains("design.md was changed: write requirements.md"), "{second}");
    assert!(!world.path(&format!("{SPEC}/design.md")).exists());
}

#[test]
fn a_change_that_is_not_small_gets_more_documents_in_quick_mode_and_waits_otherwise() {
    let world = project();
    writes(
        &world,
        "tasks-1.sh",
        "if [ -e ${dir}requirements.md ]; then cp $HOME/docs/tasks.md $dir; else echo 'TOO_LARGE: two services'; fi\n",
    );
    let call = plan(&world, &["--small", GOAL]);
    call.exits(6);
    assert!(format!("{}{}", call.stdout, call.stderr).contains("two services"), "{}", call.stdout);
    plan(&world, &["--standard", "--quick", GOAL]).exits(0);
    assert_eq!(status(&world, "design"), "approved");

    let quick = project();
    writes(
        &quick,
        "tasks-1.sh",
        "if [ -e ${dir}requirements.md ]; then cp $HOME/docs/tasks.md $dir; else echo 'TOO_LARGE: two services'; fi\n",
    );
    plan(&quick, &["--small", "--quick", GOAL]).exits(0);
    assert_eq!(starts(&quick), ["tasks 1", "requirements 1", "design 1", "tasks 1"]);
}

#[test]
fn a_check_that_passes_before_the_work_is_sent_back() {
    let world = small_project();
    writes(
        &world,
        "tasks-1.md",
        small_tasks().replace("grep -qx hello greet.txt", "test -e check.sh"),
    );
    plan(&world, &["--small", "--quick", GOAL]).exits(0);
    let told = journal(&world, "gated")[0]["findings"].to_string();
    assert!(told.contains("verify-green"), "{told}");
    assert_eq!(starts(&world), ["tasks 1", "tasks 2"]);

    let world = small_project();
    writes(
        &world,
        "tasks-1.md",
        small_tasks().replace("grep -qx hello greet.txt", "test -e check.sh"),
    );
    plan(&world, &["--small", "--quick", "--no-red", GOAL]).exits(0);
    assert_eq!(starts(&world), ["tasks 1"]);
}

#[test]
fn without_a_repository_or_a_commit_the_author_works_in_the_tree() {
    let world = project();
    fs::remove_dir_all(world.path(".git")).unwrap();
    plan(&world, &["--quick", GOAL]).exits(0);
    assert_eq!(status(&world, "tasks"), "approved");
    let unborn = project();
    fs::remove_dir_all(unborn.path(".git")).unwrap();
    unborn.git(&["init", "-q"]);
    plan(&unborn, &["--quick", "--no-commit-spec", GOAL]).exits(0);
    assert_eq!(status(&unborn, "tasks"), "approved");
}

#[test]
fn settings_choose_the_size_the_approvals_and_the_commits() {
    let world = small_project();
    world.write("specum.yaml", "profile: small\ncommit_spec: false\nbrief_extra: team\n");
    world.write("team/tasks.md", "Mind the gap.\n");
    world.commit_all();
    plan(&world, &[GOAL]).exits(0);
    assert_eq!(starts(&world), ["tasks 1"]);
    assert!(brief(&world, "tasks", 1).contains("Mind the gap."));
    assert!(!subjects(&world).iter().any(|subject| subject.starts_with("spec(")));

    let world = project();
    world.write("specum.yaml", "approve: [design]\n");
    world.commit_all();
    plan(&world, &[GOAL]).exits(6);
    assert_eq!(
        (status(&world, "requirements"), status(&world, "design")),
        ("approved".into(), "written".into())
    );
}
