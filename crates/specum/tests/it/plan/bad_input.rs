//! Requests, documents and folders that are not as they should be.

use super::*;
use crate::world::call;

#[test]
fn one_word_is_no_plan_and_a_long_request_is_read_whole() {
    let world = project();
    let one = plan(&world, &["--quick", "faster"]);
    one.exits(2);
    assert!(one.stderr.contains("One word is no plan"), "{}", one.stderr);
    assert!(!world.path("specs/faster").exists());

    let long = format!("{GOAL}\n{}", "and some more of it, ".repeat(10_000));
    let call = call(
        plan_command(&world, &["--quick", "--until", "requirements", "--from", "-", "greet-it"]),
        long.as_bytes(),
    );
    call.exits(0);
    assert_eq!(world.read("specs/greet-it/plan.md"), long.trim());
    let brief = brief(&world, "requirements", 1);
    assert!(brief.len() < 32 * 1024 && brief.contains("The rest of it is in"));
}

#[test]
fn quotes_and_commands_in_a_request_are_text() {
    let world = project();
    let goal = "Greet `greet.txt` '$(touch pwned)' \"; rm -rf ~\" within 15 minutes";
    writes(
        &world,
        "requirements.md",
        REQUIREMENTS.replace("- Other languages", "- Other languages, \"; rm -rf ~\""),
    );
    plan(&world, &["--quick", "--until", "requirements", goal]).exits(0);
    assert!(!world.path("pwned").exists());
    assert!(brief(&world, "requirements", 1).contains(goal));
}

#[test]
fn documents_that_are_none_are_sent_back_and_never_break_anything() {
    let world = project();
    writes(&world, "requirements-1.md", "");
    writes(&world, "requirements-2.md", b"\xff\xfe\x00 binary \x00");
    plan(&world, &["--quick", "--until", "requirements", GOAL]).exits(0);
    let gated = journal(&world, "gated");
    assert!(gated[0]["findings"].to_string().contains("is empty"), "{gated:?}");
    assert!(gated[1]["findings"].to_string().contains("no text in UTF-8"), "{gated:?}");

    let world = project();
    writes(
        &world,
        "requirements-1.sh",
        "yes '- FR-1: more' | head -c 3000000 > ${dir}requirements.md\n",
    );
    let half = &REQUIREMENTS[..REQUIREMENTS.len() / 2];
    writes(&world, "requirements-2.md", format!("{half}\n```\n- FR-1: again\n"));
    plan(&world, &["--quick", "--until", "requirements", GOAL]).exits(0);
    let gated = journal(&world, "gated");
    assert!(gated[1]["findings"].to_string().contains("fence-open"), "{gated:?}");
    assert_eq!(status(&world, "requirements"), "approved");

    let world = project();
    writes(&world, "requirements-1.md", REQUIREMENTS.replace("| FR-2 |", "| FR-1 |"));
    plan(&world, &["--quick", "--until", "requirements", GOAL]).exits(0);
    assert!(journal(&world, "gated")[0]["findings"].to_string().contains("id-duplicate"));
}

#[test]
fn a_link_in_the_place_of_a_document_brings_nothing_in() {
    let world = project();
    fs::write(world.home().join("secret"), REQUIREMENTS).unwrap();
    writes(&world, "requirements-1.sh", "ln -s $HOME/secret ${dir}requirements.md\n");
    plan(&world, &["--quick", "--until", "requirements", GOAL]).exits(0);
    assert!(journal(&world, "gated")[0]["findings"].to_string().contains("is not there"));
}

#[test]
fn a_second_plan_of_the_same_spec_is_refused_while_the_first_works() {
    let world = project();
    let agent = format!("sh {}", world.home().join("author.sh").display());
    writes(
        &world,
        "requirements.sh",
        format!(
            "cd {}; {} plan --quick --agent-command '{agent}' {SPEC} > $HOME/second 2>&1; echo $? >> $HOME/second\n",
            world.root.display(),
            crate::world::specum().display()
        ),
    );
    plan(&world, &["--quick", "--until", "requirements", GOAL]).exits(6);
    let second = fs::read_to_string(world.home().join("second")).unwrap();
    assert!(second.trim_end().ends_with(['1', '5']), "{second}");
    assert!(second.contains("person") || second.contains("being worked on"), "{second}");
}
