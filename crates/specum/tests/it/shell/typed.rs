use std::fs;

use crate::run::{Listener, agent, at_work, command_run, planned, send, works};
use crate::world::{World, call, lives};
use rustix::process::Signal;

const DONE: &str = "echo whole > $id.txt; echo TASK_COMPLETE\n";

fn without_marker(plans: &[(&str, &str)]) -> World {
    let world = World::empty();
    for (name, plan) in plans {
        world.write(&format!("specs/{name}/tasks.md"), plan);
    }
    world.git_init();
    world
}

#[test]
fn the_only_spec_is_meant_and_so_is_the_only_one_with_open_tasks() {
    let world = without_marker(&[("a", "- [x] 1.1 a\n")]);
    assert!(world.specum(&["status"]).exits(0).stdout.starts_with("a "));
    world.write("specs/b/tasks.md", "- [ ] 1.1 b\n");
    assert!(world.specum(&["status"]).exits(0).stdout.starts_with("b "));
    world.write("specs/c/tasks.md", "- [ ] 1.1 c\n");
    let refused = world.specum(&["status"]);
    let why = &refused.exits(3).stderr;
    assert!(why.contains("name one of a, b, c") && why.contains("specum switch a"), "{why}");
}

#[test]
fn a_named_spec_that_is_run_becomes_the_active_one_and_is_meant_while_it_runs() {
    let world = without_marker(&[("a", "- [ ] 1.1 a\n"), ("b", "- [ ] 1.1 b\n")]);
    let waits = agent(&world, "echo $$ > $HOME/line; sleep infinity\n");
    let mut line = Listener::new(&world, "line");
    let mut run = at_work(&world, &waits, &["b"]);
    let pid = line.line();
    assert_eq!(world.read("specs/.current-spec"), "b\n");
    // Also by somebody who has lost the marker.
    fs::remove_file(world.path("specs/.current-spec")).unwrap();
    assert!(world.specum(&["status"]).exits(0).stdout.starts_with("b "));
    send(&run, Signal::INT);
    run.wait().unwrap();
    assert!(!lives(&pid));
}

#[test]
fn a_person_in_a_shell_is_sent_to_run_and_a_session_to_implement() {
    let world = planned("- [ ] 1.1 a\n");
    for args in [vec!["status"], vec!["doctor"], vec!["log"], vec!["pause"], vec![]] {
        let said = world.specum(&args);
        let said = format!("{}{}", said.stdout, said.stderr);
        assert!(
            said.contains("`specum run`") || said.contains("  specum run "),
            "{args:?}: {said}"
        );
        assert!(!said.contains("specum implement"), "{args:?}: {said}");
    }
    assert!(world.in_session(&["status"]).exits(0).stdout.contains("`specum implement`"));
}

#[test]
fn a_finished_plan_is_not_run_again_and_keeps_its_summary() {
    let world = planned("- [ ] 1.1 a\n");
    works(&world, DONE, &[]).exits(0);
    let journal = world.read("specs/test-spec/.ralph-journal.jsonl");
    let mut command = world.command();
    // Nobody who could work is needed.
    command.args(["run"]).env("PATH", "/usr/bin:/bin");
    let again = call(command, b"");
    let said = &again.exits(0).stdout;
    assert!(said.contains("everything is done, 1 task"), "{said}");
    assert!(said.contains("✓ 1.1"), "the summary is still there: {said}");
    assert_eq!(world.read("specs/test-spec/.ralph-journal.jsonl"), journal);
}

#[test]
fn a_dry_run_needs_no_agent() {
    let world = planned("- [ ] 1.1 a\n");
    let mut command = world.command();
    command.args(["run", "--dry-run"]).env("PATH", "/usr/bin:/bin");
    let run = call(command, b"");
    let said = &run.exits(0).stdout;
    assert!(said.contains("1 open task,") && said.contains("no agent is installed"), "{said}");
}

#[test]
fn commands_of_other_tools_are_answered_with_what_does_the_same() {
    let world = planned("- [ ] 1.1 a\n");
    for (verb, way) in [
        ("begin", "`specum run`"),
        ("stop", "`specum pause`"),
        ("watch", "`specum log --follow`"),
        ("settings", "specum.yaml"),
    ] {
        let call = world.specum(&[verb]);
        let said = &call.exits(2).stderr;
        assert!(said.contains(way) && !said.contains("similar"), "{verb}: {said}");
    }
    let slip = world.specum(&["rnu"]);
    assert!(slip.exits(2).stderr.contains("rnu"), "{}", slip.stderr);
}

#[test]
fn everything_can_be_done_as_if_it_had_been_started_elsewhere() {
    let world = planned("- [ ] 1.1 a\n");
    let mut command = world.command();
    command.args(["-C", world.root.to_str().unwrap(), "status"]).current_dir("/");
    assert!(call(command, b"").exits(0).stdout.starts_with("test-spec"));
    let nowhere = world.specum(&["-C", "no/such/place", "status"]);
    assert!(nowhere.exits(3).stderr.contains("-C no/such/place"), "{}", nowhere.stderr);
    for version in ["-v", "-V", "--version"] {
        assert!(world.specum(&[version]).exits(0).stdout.starts_with("specum "));
    }
}

#[test]
fn the_long_names_of_limits_have_short_ones() {
    let world = planned("- [ ] 1.1 a\n");
    let agent = agent(&world, "echo TASK_FAILED\n");
    let run = command_run(&world, &agent, &["--attempts", "2", "--max-iterations", "7"]);
    call(run, b"").exits(6);
    let state = world.read_state();
    assert_eq!(
        (&state["maxTaskIterations"], &state["maxGlobalIterations"]),
        (&2.into(), &7.into())
    );
}

#[test]
fn a_task_without_a_message_of_its_own_is_committed_under_its_title() {
    let world = planned("- [ ] 1.1 Write the greeting\n");
    works(&world, DONE, &[]).exits(0);
    assert_eq!(world.git(&["log", "-1", "--format=%s"]).trim(), "Write the greeting");
}
