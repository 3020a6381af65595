use std::fs;

use serde_json::Value;

use crate::run::{Listener, agent, command_run, nothing_is_left, planned, works};
use crate::world::{World, call, fifo, gate, lives, until};

const DONE: &str = "echo whole > $id.txt; echo TASK_COMPLETE\n";

/// Lets a run tell what it has to say by a line in `$HOME/notices`, and the JSON of it in
/// `$HOME/notice.json`.
fn with_notices(world: &World, more: &str) {
    let command = "echo \"$SPECUM_EVENT|$SPECUM_SPEC|$SPECUM_TITLE|$SPECUM_TEXT\" >> \
                   \"$HOME/notices\"; cat > \"$HOME/notice.json\"";
    world.write("specum.yaml", format!("notify: '{command}'\n{more}"));
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "-m", "settings"]);
}

fn notices(world: &World) -> Vec<String> {
    let told = fs::read_to_string(world.home().join("notices")).unwrap_or_default();
    told.lines().map(str::to_owned).collect()
}

#[test]
fn a_command_of_the_users_hears_of_the_end_by_its_environment_and_its_input() {
    let world = planned("- [ ] 1.1 a\n");
    with_notices(&world, "");
    works(&world, DONE, &[]).exits(0);
    assert_eq!(notices(&world), ["complete|test-spec|test-spec: complete|1 of 1 tasks done"]);
    let json = fs::read(world.home().join("notice.json")).unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(
        (&json["event"], &json["title"]),
        (&"complete".into(), &"test-spec: complete".into())
    );
    assert_eq!(json["project"], world.root.to_str().unwrap());
}

#[test]
fn what_an_agent_says_reaches_the_command_as_text_and_never_its_shell() {
    let world = planned(
        "- [ ] 1.1 $(touch $HOME/pwned) `touch $HOME/pwned`\n  - **Verify**: `echo '\"; touch $HOME/pwned; \"'; false`\n",
    );
    with_notices(&world, "notify_on: [blocked]\n");
    works(&world, DONE, &["--attempts", "1"]).exits(6);
    assert!(!world.home().join("pwned").exists());
    assert!(notices(&world)[0].starts_with("blocked|test-spec|test-spec: blocked|0 of 1"));
}

#[test]
fn nobody_is_told_what_they_did_not_ask_for_or_did_themselves() {
    let world = planned("- [ ] 1.1 a\n");
    with_notices(&world, "notify_on: [blocked]\n");
    works(&world, DONE, &[]).exits(0);
    assert_eq!(notices(&world), [""; 0], "it was complete");

    let world = planned("- [ ] 1.1 a\n");
    with_notices(&world, "");
    let waits = agent(&world, "echo $$ > $HOME/line; sleep infinity\n");
    let mut line = Listener::new(&world, "line");
    let mut run = command_run(&world, &waits, &[]).spawn().unwrap();
    line.line();
    world.specum(&["pause"]).exits(0);
    assert_eq!(run.wait().unwrap().code(), Some(6));
    assert_eq!(notices(&world), [""; 0], "a person paused it");
}

#[test]
fn a_notice_that_fails_is_a_warning_and_costs_the_run_nothing() {
    let world = planned("- [ ] 1.1 a\n");
    world.write("specum.yaml", "notify: 'echo no such server >&2; exit 7'\n");
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "-m", "settings"]);
    let run = works(&world, DONE, &[]);
    let said = &run.exits(0).stdout;
    assert!(said.contains("the notify command ended with code 7: no such server"), "{said}");
}

#[test]
fn a_test_notice_is_sent_by_the_doctor() {
    let world = planned("- [ ] 1.1 a\n");
    let none = world.specum(&["doctor", "--notify"]);
    assert!(none.stdout.contains("there is no `notify` in the settings"), "{}", none.stdout);
    with_notices(&world, "");
    let sent = world.specum(&["doctor", "--notify"]);
    assert!(sent.stdout.contains("a test notice was sent"), "{}", sent.stdout);
    assert!(notices(&world)[0].contains("a test of your notify command"));
}

#[test]
fn a_run_in_the_background_outlives_its_terminal_and_says_how_to_watch_and_stop_it() {
    let world = planned("- [ ] 1.1 a\n");
    fifo(&world.home().join("gate"));
    let waits = agent(&world, &format!("read x < $HOME/gate; {DONE}"));
    let begun = call(command_run(&world, &waits, &["--detach"]), b"");
    let said = &begun.exits(0).stdout;
    for part in
        ["specum log test-spec --follow", "specum pause test-spec", "specum cancel test-spec"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    let pid = said.split("as process ").nth(1).unwrap().split_whitespace().next().unwrap();
    let session = |of: &str| {
        let stat = fs::read_to_string(format!("/proc/{of}/stat")).unwrap();
        stat.rsplit(") ").next().unwrap().split(' ').nth(3).unwrap().to_owned()
    };
    assert_eq!(session(pid), *pid, "it leads a session of its own");
    gate(&world.home().join("gate"));
    until("it has ended", || !lives(pid));
    assert_eq!(world.git(&["log", "-1", "--format=%s"]).trim(), "a");
    let output = said.trim_end().rsplit("what it prints: ").next().unwrap();
    assert!(fs::read_to_string(output).unwrap().contains("complete, 1 of 1"));
    nothing_is_left(&world);
}

#[test]
fn a_background_run_that_cannot_begin_says_why_and_ends_as_it_would_have_here() {
    let world = planned("- [ ] 1.1 a\n");
    world.write("mine.txt", "not committed\n");
    let waits = agent(&world, DONE);
    let refused = call(command_run(&world, &waits, &["--detach"]), b"");
    assert!(refused.exits(1).stdout.contains("mine.txt"), "{}", refused.stdout);
}
