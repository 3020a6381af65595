//! What a Verify asks for is what is run, and nothing else is ticked.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::world::{Call, TASKS, World, call};

/// A loop at the first of two tasks, with this Verify.
fn verified_by(verify: &str) -> World {
    World::started(&format!("- [ ] 1.1 a\n  - **Verify**: {verify}\n- [ ] 1.2 b\n"))
}

#[track_caller]
fn fails(verify: &str, why: &str) {
    let world = verified_by(verify);
    let said = world.finish("1.1", "TASK_COMPLETE");
    assert!(said.exits(1).stdout.contains(why), "{verify}: {}", said.stdout);
    assert!(world.read(TASKS).starts_with("- [ ] 1.1"));
}

#[track_caller]
fn passes(verify: &str, proof: &str) {
    let said = verified_by(verify).finish("1.1", "TASK_COMPLETE");
    let said = said.exits(0).stdout.clone();
    // Where the check only reads it was run before, and passed then too.
    let proofs = [proof, &format!("{proof} by a check that was green before the work")];
    assert!(
        proofs.iter().any(|proof| said.starts_with(&format!("1.1 passed: {proof},"))),
        "{said}"
    );
}

#[test]
fn every_command_of_a_verify_is_run_and_the_one_that_fails_is_named() {
    for verify in [
        "`test -d specs` and `test -f none`",
        "`test -d specs` && `test -f none`",
        "`test -d specs`; `test -f none`",
        "`test -d specs`, then `test -f none`",
        "\n    - `test -d specs`\n    - `test -f none`",
        "`test -d specs`\n  - **Verify**: `test -f none`",
        "`test -d specs`\n  - Verify: `test -f none`",
    ] {
        fails(verify, "- `test -f none` ended with code 1");
        passes(&verify.replace("none", "specs/test-spec/tasks.md"), "verified");
    }
    let world = verified_by("`test -f none` and `touch ran`");
    world.finish("1.1", "TASK_COMPLETE").exits(1);
    assert!(!world.path("ran").exists(), "nothing is run behind what failed");
}

#[test]
fn one_of_two_commands_is_enough_where_they_are_joined_by_or() {
    passes("`test -f none` or `test -d specs`", "verified");
    fails("`test -f none` or `test -f nor`", "none` ended with code 1, and `test -f nor` ended");
}

#[test]
fn a_block_stops_at_its_first_failing_line_and_is_run_by_the_shell_it_names() {
    fails("\n    ```sh\n    false\n    echo done\n    ```", "`false …` ended with code 1");
    passes("\n    ```bash\n    [[ a == a ]]\n    cat <(echo x)\n    ```", "verified");
    fails("\n    ```bash\n    [[ a == b ]]\n    echo done\n    ```", "ended with code 1");
}

#[test]
fn a_bash_block_without_bash_is_a_mistake_of_the_plan() {
    let world = World::with_tasks("- [ ] 1.1 a\n  - **Verify**:\n    ```bash\n    make\n    ```\n");
    fs::create_dir(world.path("../bin")).unwrap();
    for program in ["sh", "make"] {
        fs::write(world.path("../bin").join(program), "#!/bin/sh\n").unwrap();
        let anybody = fs::Permissions::from_mode(0o755);
        fs::set_permissions(world.path("../bin").join(program), anybody).unwrap();
    }
    let mut command = world.command();
    command.args(["check"]).env("PATH", world.path("../bin"));
    let said = call(command, b"");
    assert!(said.exits(1).stdout.contains("`bash` is no program"), "{}", said.stdout);
}

#[test]
fn expectations_mean_what_a_reader_takes_them_for() {
    passes("`echo 7` returns >=5", "verified");
    passes("`echo 7` returns at least 5", "verified");
    passes("`echo 5` shows 5+", "verified");
    fails("`echo 4` >= 5", "`echo 4` should print 5 or more and printed \"4\"");
    fails("`echo 3` equals 4", "`echo 3` should print 4 and printed \"3\"");
    fails("`echo 3` outputs 4", "`echo 3` should print 4 and printed \"3\"");
    passes("`grep such /dev/null` returns nothing", "verified");
    fails("`echo x` returns nothing", "should print nothing and printed \"x\"");
    fails("`grep -rn 1.1 specs` returns no results", "should print nothing and printed");
    passes("`grep -c none specs/test-spec/tasks.md || true` returns 1", "verified");
    fails("`cat none` returns nothing", "printed nothing, as it should, but ended with code 1");
    passes("`test -d specs` returns 0", "verified");
    passes("`test -d specs` shows 0 errors", "verified");
    passes("`test -d specs` passes and `echo 0` returns 0", "verified");
}

#[test]
fn an_output_that_was_cut_is_never_equal_to_a_number() {
    fails(
        "`printf 'FAIL 17\\n'; yes '' | head -c 70000; echo 0` returns 0",
        "should print 0 and printed more than is kept",
    );
}

#[test]
fn what_cannot_fail_proves_nothing() {
    passes("`false | tee log`", "unverified");
    passes("`false || true`", "unverified");
    passes("`(cd specs && false) 2>&1 | tail -5`", "unverified");
    passes("`{ false; } | tee log`", "unverified");
    passes("`for x in 1 2; do false; done; echo done`", "unverified");
    passes("\n    ```sh\n    false | cat\n    echo done\n    ```", "unverified");
    fails("`false | tee log | grep -c x` returns 1", "should print 1 and printed \"0\"");
    let world = verified_by("`false | tee log`");
    let said = world.specum(&["check"]);
    let warning = "warning: 1.1: `false | tee log` cannot fail, because `tee log` does not";
    assert!(said.exits(0).stdout.contains(warning), "{}", said.stdout);
}

#[test]
fn a_name_in_a_sentence_is_no_command() {
    passes("check that `README.md` mentions it", "unverified");
    let said = verified_by("check that `README.md` mentions it").specum(&["check"]);
    assert!(said.exits(0).stdout.contains("names no program (`README.md`)"), "{}", said.stdout);
}

#[test]
fn a_program_that_is_nowhere_stops_the_plan_before_an_agent_is_paid() {
    let world = World::with_tasks(
        "- [ ] 1.1 a\n  - **Verify**: `true`\n- [ ] 1.2 b\n  - **Verify**: `no-such-program --all`\n",
    );
    world.git_init();
    fs::remove_file(world.path("specs/test-spec/.ralph-state.json")).unwrap();
    let agent = "touch \"$HOME/paid\"; echo TASK_COMPLETE";
    let calls: [&[&str]; 4] = [
        &["check"],
        &["implement"],
        &["run", "--agent-command", agent],
        &["run", "--dry-run", "--agent-command", agent],
    ];
    for args in calls {
        let said = world.specum(args);
        let text = said.exits(1).stdout.clone() + &said.stderr;
        assert!(text.contains("`no-such-program` is no program"), "{args:?}: {text}");
    }
    assert!(!world.home().join("paid").exists());
    let made = world.read(TASKS).replace("1.2 b\n", "1.2 b\n  - **Files**: bin/no-such-program\n");
    world.write(TASKS, &made);
    world.specum(&["check"]).exits(0);
}

#[test]
fn bytes_that_are_no_text_are_run_as_they_are() {
    let plan = b"- [ ] 1.1 a\n  - **Verify**: `grep -q 'caf\xe9' f`\n- [ ] 1.2 b\n";
    let world = World::started("- [ ] 0.1 z\n");
    fs::write(world.path(TASKS), plan).unwrap();
    fs::write(world.path("f"), b"caf\xe9\n").unwrap();
    world.specum(&["next"]).exits(0);
    // Another process judges, so the bytes come from the record.
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    assert!(fs::read(world.path(TASKS)).unwrap().starts_with(b"- [x] 1.1"));
}

#[test]
fn check_dry_run_and_brief_show_exactly_what_is_run() {
    let world = World::started(
        "- [ ] 1.1 a\n  - **Verify**: `test -d specs` or `test -d x`, then `echo 7` returns >=5\n    ```bash\n    ls\n    pwd\n    ```\n- [ ] 1.2 b\n",
    );
    let commands = json!([
        {"command": "test -d specs", "shell": "sh", "prints": null, "or": false, "suite": false},
        {"command": "test -d x", "shell": "sh", "prints": null, "or": true, "suite": false},
        {"command": "echo 7", "shell": "sh", "prints": "5 or more", "or": false, "suite": false},
        {"command": "ls\npwd", "shell": "bash -e", "prints": null, "or": false, "suite": false},
    ]);
    let checked: Value = world.specum(&["check", "--json"]).exits(0).json();
    assert_eq!(checked["checks"][0]["commands"], commands);
    let dry = |args: &[&str]| -> Call {
        let all = [&["run", "--dry-run", "--agent-command", "true"], args].concat();
        world.specum(&all)
    };
    assert_eq!(dry(&["--json"]).exits(0).json()["units"][0]["tasks"][0]["commands"], commands);
    let lines = [
        "checked by `test -d specs`",
        "or by `test -d x`",
        "then by `echo 7`, which must print 5 or more",
        "then by `ls",
        "pwd` (bash)",
    ];
    let shown = dry(&[]);
    let shown: Vec<&str> = shown.exits(0).stdout.lines().map(str::trim).collect();
    assert!(shown.windows(lines.len()).any(|some| some == lines), "{shown:?}");
    let said = world.specum(&["check"]);
    let line = ":1: check: 1.1 by `test -d specs` or `test -d x`, then `echo 7`, which must print 5 or more, then `ls\npwd` (bash)\n";
    assert!(said.exits(0).stdout.contains(line), "{}", said.stdout);
    let brief = world.specum(&["next"]).exits(0).stdout.clone();
    assert!(
        brief.contains("- `echo 7`, which must print 5 or more\n- `ls\n  pwd` (bash)"),
        "{brief}"
    );
}

#[test]
fn changed_files_that_the_check_runs_are_named() {
    for (files, verify, named) in [
        ("", "`sh check.sh`", "check.sh"),
        ("  - **Files**: check.sh, a.txt\n", "`sh check.sh`", "check.sh"),
        ("", "`test -f a.txt`", "tests/test_a.py"),
        ("", "`make check`", "Makefile"),
    ] {
        let world = World::with_tasks(&format!(
            "- [ ] 1.1 a\n{files}  - **Verify**: {verify}\n- [ ] 1.2 b\n"
        ));
        world.write("check.sh", "exit 1\n");
        world.write("Makefile", "check:\n\tfalse\n");
        world.write("tests/test_a.py", "assert False\n");
        fs::remove_file(world.path("specs/test-spec/.ralph-state.json")).unwrap();
        world.git_init();
        world.specum(&["implement"]).exits(0);
        world.write("a.txt", "");
        world.write("tests/test_new.py", "");
        let text = if named == "Makefile" { "check:\n\ttrue\n" } else { "exit 0\n" };
        world.write(named, text);
        let said = world.finish("1.1", "TASK_COMPLETE");
        let line = format!("\nchanged {named}, which its check runs\n");
        assert!(said.exits(0).stdout.contains(&line), "{verify}: {}", said.stdout);
        let log = world.specum(&["log", "--json"]).exits(0).stdout.clone();
        let summary: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
        assert_eq!(summary["proofs"], json!([{"task": "1.1", "files": [named]}]), "{log}");
        let journal = world.read("specs/test-spec/.ralph-journal.jsonl");
        assert!(journal.contains(&format!("\"proofs\":[\"{named}\"]")), "{journal}");
    }
}

#[test]
fn a_block_is_run_as_it_stands_with_boxes_and_blanks() {
    let world = World::started(
        "- [ ] 1.1 a\n  - **Verify**:\n    ```sh\n    diff list - <<'E'\n    - [x] one  \n    E\n    ```\n",
    );
    world.write("list", "- [x] one  \n");
    let said = world.finish("1.1", "TASK_COMPLETE").exits(0).stdout.clone();
    assert!(said.contains("1.1 passed: verified"), "{said}");
}
