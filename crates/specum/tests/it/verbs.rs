//! What people and scripts type: text, JSON and exit codes.

/// `implement`, `next`, `finish`: from a plan to its commits.
mod killed;
mod meddling;
mod verify;
mod work;

/// `fail`, and the briefs of `next`.
mod brief;

/// Checks, results and repositories that are not as they should be.
mod checks;

/// `log`, and what `status` tells of the past.
mod log;

/// `diff`, and how much a task has changed.
mod diff;

/// The tasks in `status`.
mod tasks;

/// `cancel`, and what it leaves.
mod cancel;

/// What is a person's to say.
mod word;

/// What a bug report needs.
mod diagnosis;

use serde_json::{Value, json};

use crate::world::World;

const TWO: &str = "- [x] 1.1 First\n- [ ] 1.2 Second\n";
const COMPLETE: &str = "- [ ] 1.1 a\n  - **Do**: x\n  - **Files**: a\n  - **Done when**: y\n  - **Verify**: `test -d specs`\n  - **Commit**: None\n";

/// Two roots, with `twin` in both.
fn twins() -> World {
    let world = World::empty();
    world.write(".claude/ralph-specum.local.md", "---\nspecs_dirs: [specs, more]\n---\n");
    world.write("specs/twin/tasks.md", TWO);
    world.write("more/twin/tasks.md", "- [ ] 1.1 Other\n");
    world
}

#[test]
fn list_shows_every_spec_with_its_progress_and_marks_the_active_one() {
    let world = World::with_tasks(TWO);
    world.write("specs/bare/notes.md", "");
    let call = world.specum(&["list"]);
    call.exits(0);
    assert_eq!(
        call.stdout,
        "  SPEC       DONE  LOOP                   PATH\n  \
         bare       0/0   not running            ./specs/bare\n\
         * test-spec  1/2   begun, nobody at work  ./specs/test-spec\n"
    );
    let bare = json!({"spec": "bare", "path": "./specs/bare", "active": false, "phase": null,
        "standing": "not running", "done": 0, "total": 0});
    let active = json!({"spec": "test-spec", "path": "./specs/test-spec", "active": true,
        "phase": "execution", "standing": "begun, nobody at work", "done": 1, "total": 2});
    assert_eq!(world.specum(&["list", "--json"]).json(), json!({"specs": [bare, active]}));
    world.raw_state("{");
    assert_eq!(world.specum(&["list", "--json"]).json()["specs"][1]["phase"], "corrupt");
}

#[test]
fn list_works_although_the_marker_does_not() {
    let world = World::with_tasks(TWO);
    world.write("specs/.current-spec", "/etc\n");
    let call = world.specum(&["list"]);
    assert!(call.exits(0).stdout.contains("\n  test-spec  1/2"), "{}", call.stdout);
    assert!(call.stderr.starts_with("warning: ./specs/.current-spec is refused"));
}

#[test]
fn list_of_nothing_says_what_to_do() {
    let world = World::empty();
    assert!(world.specum(&["list"]).exits(0).stdout.starts_with("no specs yet: write specs/"));
    assert_eq!(world.specum(&["list", "--json"]).json(), json!({"specs": []}));
}

#[test]
fn outside_of_any_project_every_verb_says_so() {
    let world = World::empty();
    std::fs::remove_dir(world.path("specs")).unwrap();
    for args in [&["list"][..], &["status"], &["implement"], &["next"], &["cancel"], &["check"]] {
        let call = world.specum(args);
        call.exits(3);
        assert!(call.stderr.starts_with("error: no specs in "), "{args:?}: {}", call.stderr);
    }
    assert!(world.specum(&["doctor"]).exits(0).stdout.contains("no specs here or above"));
}

#[test]
fn switch_writes_the_marker_and_status_follows() {
    let world = World::with_tasks(TWO);
    world.write("specs/other/tasks.md", "- [ ] 1.1 Theirs\n");
    let call = world.specum(&["switch", "other"]);
    assert_eq!(call.exits(0).stdout, "active spec: other (./specs/other)\n");
    assert_eq!(world.read("specs/.current-spec"), "other\n");
    assert_eq!(world.specum(&["status", "--json"]).json()["spec"], "other");
    let call = world.specum(&["switch", "./specs/test-spec", "--json"]);
    assert_eq!(call.json(), json!({"spec": "test-spec", "path": "./specs/test-spec"}));
    assert_eq!(world.read("specs/.current-spec"), "test-spec\n");
}

#[test]
fn implement_says_whether_codex_would_run_the_hooks() {
    let world = World::with_tasks(TWO);
    let warns = || {
        let call = world.specum(&["implement"]);
        call.exits(0).stderr.contains("a session of codex would not be sent back to work")
    };
    assert!(!warns(), "the plugin is not installed");
    let installed = "[plugins.\"ralph-specum@specum\"]\nenabled = true\n";
    world.write("../home/.codex/config.toml", installed);
    assert!(warns(), "installed, and not trusted");
    let trusted = ["stop", "user_prompt_submit"].map(|event| {
        let hook = format!("ralph-specum@specum:hooks/hooks.json:{event}:0:0");
        format!("[hooks.state.\"{hook}\"]\ntrusted_hash = \"x\"\n")
    });
    world.write("../home/.codex/config.toml", format!("{installed}{}", trusted.concat()));
    assert!(!warns());
}

#[test]
fn implement_makes_the_spec_it_names_the_active_one() {
    let world = World::with_tasks(TWO);
    world.write("specs/other/tasks.md", "- [ ] 1.1 Theirs\n");
    let call = world.specum(&["implement", "other"]);
    assert!(call.exits(0).stdout.contains("\nit is the active spec now (./specs/other)\n"));
    assert_eq!(world.read("specs/.current-spec"), "other\n");
    world.in_session(&["next"]).exits(0);
    assert!(world.stop().reason().starts_with("Continue spec: other"));
    let again = world.specum(&["implement"]);
    assert!(!again.exits(0).stdout.contains("active spec"), "{}", again.stdout);

    world.write("specs/bad/tasks.md", "");
    world.specum(&["implement", "bad"]).exits(3);
    assert_eq!(world.read("specs/.current-spec"), "other\n", "what is refused changes nothing");
}

#[test]
fn the_settings_of_the_smart_ralph_plugin_stop_no_verb() {
    let world = World::planned(TWO);
    world.write(
        ".claude/ralph-specum.local.md",
        "---\nenabled: true\ndefault_max_iterations: 2\nauto_commit_spec: true\n\
         quick_mode_default: false\nspecs_dirs: [\"./specs\"]\n---\n\n# Notes\n",
    );
    for verb in ["list", "status", "check"] {
        assert_eq!(world.specum(&[verb]).exits(0).stderr, "", "{verb} has nothing to warn of");
    }
    let call = world.specum(&["implement"]);
    assert_eq!(
        call.exits(0).stderr,
        "warning: .claude/ralph-specum.local.md: `auto_commit_spec`, `quick_mode_default` have no \
         effect in specum; see `specum doctor`\n"
    );
    assert_eq!(world.read_state()["maxTaskIterations"], 2);
    assert_eq!(world.stop().exits(0).stderr.matches("settings").count(), 0);
    let doctor = world.specum(&["doctor"]);
    let lines: Vec<&str> =
        doctor.exits(0).stdout.lines().filter(|line| line.contains("smart-ralph")).collect();
    assert_eq!(
        lines,
        [
            "note  settings  .claude/ralph-specum.local.md:3: `default_max_iterations` of the \
             smart-ralph plugin is read as `max_task_iterations`",
            "note  settings  .claude/ralph-specum.local.md:4: `auto_commit_spec` of the \
             smart-ralph plugin has no effect in specum",
            "note  settings  .claude/ralph-specum.local.md:5: `quick_mode_default` of the \
             smart-ralph plugin has no effect in specum",
        ]
    );
}

#[test]
fn a_name_of_two_specs_is_refused_with_both_paths_by_every_verb() {
    let world = twins();
    for verb in ["switch", "status", "check", "implement", "next", "pause", "resume", "cancel"] {
        let call = world.specum(&[verb, "twin"]);
        call.exits(2);
        assert!(call.stderr.contains("\n  ./specs/twin\n  ./more/twin"), "{verb}: {}", call.stderr);
        assert_eq!(call.stdout, "", "{verb}");
    }
    let call = world.specum(&["cancel", "--remove", "twin"]);
    call.exits(2);
    assert!(world.path("specs/twin/tasks.md").exists() && world.path("more/twin").exists());
    world.specum(&["switch", "more/twin"]).exits(0);
    assert_eq!(world.read("specs/.current-spec"), "./more/twin\n", "the marker is not ambiguous");
    assert_eq!(world.specum(&["status", "--json"]).json()["path"], "./more/twin");
}

#[test]
fn an_unknown_spec_is_not_found_and_the_nearest_is_offered() {
    let world = World::with_tasks(TWO);
    for verb in ["switch", "status", "check", "implement", "next", "pause", "resume", "cancel"] {
        let call = world.specum(&[verb, "test-spce"]);
        call.exits(3);
        let offer = "there is no spec `test-spce`; did you mean `test-spec`?";
        assert!(call.stderr.contains(offer), "{verb}: {}", call.stderr);
    }
    let call = world.specum(&["status", "zzz"]);
    assert_eq!(call.exits(3).stderr, "error: there is no spec `zzz`; `specum list` shows all\n");
    world.specum(&["status", "specs/none"]).exits(3);
}

#[test]
fn a_misspelt_setting_stops_every_verb_with_a_suggestion_and_changes_nothing() {
    let world = World::with_tasks(TWO);
    world.write(".claude/ralph-specum.local.md", "---\nenabeld: true\n---\n");
    let before = world.snapshot();
    for args in [
        &["list"][..],
        &["switch", "test-spec"],
        &["status"],
        &["check"],
        &["implement"],
        &["next"],
        &["finish", "1.2"],
        &["fail", "1.2"],
        &["pause"],
        &["resume"],
        &["cancel"],
        &["cancel", "--remove"],
    ] {
        let call = world.specum(args);
        call.exits(1);
        assert!(call.stderr.contains("did you mean `enabled`?"), "{args:?}: {}", call.stderr);
        assert!(call.stderr.contains(".claude/ralph-specum.local.md:2: "), "{args:?}");
    }
    assert_eq!(world.snapshot(), before);
    let doctor = world.specum(&["doctor"]);
    assert!(doctor.exits(1).stdout.contains("did you mean `enabled`?"), "{}", doctor.stdout);
}

#[test]
fn status_says_where_the_loop_stands() {
    let world = World::with_tasks(TWO);
    let call = world.specum(&["status"]);
    assert_eq!(
        call.exits(0).stdout,
        "test-spec  ./specs/test-spec\n\
         [###############...............] 1/2\n\
         held by    nobody\n\
         attempt    1 of 5 for this task, 1 of 100 in all\n\
         next       1.2 Second (tasks.md:2)\n\n✓ 1.1 First\n· 1.2 Second\n"
    );
    let status = world.specum(&["status", "--json"]).json();
    assert_eq!(status["next"], "1.2");
    assert_eq!(
        status["tasks"][1],
        json!({"id": "1.2", "title": "Second", "done": false, "optional": false, "line": 2,
            "state": "open", "attempts": 0, "why": null, "telling": [], "work": null,
            "commit": null})
    );
    assert_eq!((&status["paused"], &status["blocked"]), (&json!(false), &Value::Null));
    world.stop().reason();
    assert!(world.specum(&["status"]).stdout.contains("held by    session test-session\n"));
}

#[test]
fn status_without_a_loop_says_how_to_start_one() {
    let world = World::with_tasks(TWO);
    std::fs::remove_file(world.path("specs/test-spec/.ralph-state.json")).unwrap();
    assert!(world.specum(&["status"]).exits(0).stdout.contains("`specum run` starts it"));
    assert_eq!(world.specum(&["status", "--json"]).json()["phase"], Value::Null);
    let done = TWO.replace("[ ]", "[x]");
    world.write("specs/test-spec/tasks.md", done);
    assert!(world.specum(&["status"]).exits(0).stdout.contains("finished: every task is done"));
    world.write("specs/test-spec/tasks.md", TWO);
    for args in [&["next"][..], &["pause"], &["resume"], &["finish", "1.2"], &["fail", "1.2"]] {
        let call = world.specum(args);
        call.exits(3);
        assert!(call.stderr.contains("no loop is running for test-spec"), "{}", call.stderr);
    }
}

#[test]
fn check_points_at_lines_and_fails_on_errors_only() {
    let world = World::with_tasks(COMPLETE);
    let call = world.specum(&["check"]);
    let check = "./specs/test-spec/tasks.md:1: check: 1.1 by `test -d specs`\n";
    assert_eq!(call.exits(0).stdout, format!("{check}1 task, 0 errors, 0 warnings\n"));
    world.write("specs/test-spec/tasks.md", "- [ ] 1.1 a\n- [ ] 1.1 b\n");
    let call = world.specum(&["check"]);
    call.exits(1);
    let error = "./specs/test-spec/tasks.md:2: error: id 1.1 is taken: line 1 has it already\n";
    assert!(call.stdout.contains(error), "{}", call.stdout);
    assert!(call.stdout.ends_with("2 tasks, 1 error, 1 warning\n"), "{}", call.stdout);
    let report = world.specum(&["check", "--json"]).json();
    assert_eq!(report["total"], 2);
    let errors = report["findings"].as_array().unwrap().iter();
    assert_eq!(errors.filter(|finding| finding["severity"] == "error").count(), 1);
    world.write("elsewhere.md", COMPLETE);
    world.specum(&["check", "elsewhere.md"]).exits(0);
    world.write("specs/test-spec/tasks.md", TWO);
    world.specum(&["check", "test-spec"]).exits(0);
}

#[test]
fn pause_and_resume_turn_the_loop_off_and_on_where_it_stands() {
    let world = World::with_tasks(TWO);
    let paused = world.specum(&["pause"]);
    assert_eq!(paused.exits(0).stdout, "paused: test-spec; `specum resume` goes on\n");
    assert!(world.specum(&["next"]).exits(6).stdout.contains("Paused: `specum resume`"));
    assert_eq!(world.specum(&["next", "--json"]).exits(6).json()["due"], "paused");
    assert_eq!(world.specum(&["status", "--json"]).json()["paused"], true);
    world.stop().silent();
    let resumed = world.specum(&["resume", "--json"]);
    assert_eq!(resumed.exits(0).json(), json!({"spec": "test-spec", "state": "resumed"}));
    assert!(world.specum(&["next"]).exits(0).stdout.contains("Due: task 1.2"));
    assert!(world.stop().reason().contains("- [ ] 1.2 Second"));
    assert_eq!(world.specum(&["pause", "--json"]).json()["state"], "paused");
}

#[test]
fn a_named_spec_is_paused_and_not_the_active_one() {
    let world = World::with_tasks(TWO);
    world.write("specs/other/tasks.md", TWO);
    world.specum(&["implement", "other"]).exits(0);
    world.specum(&["switch", "test-spec"]).exits(0);
    world.specum(&["pause", "other"]).exits(0);
    assert_eq!(world.specum(&["status", "other", "--json"]).json()["paused"], true);
    assert_eq!(world.specum(&["status", "--json"]).json()["paused"], false);
}

#[test]
fn doctor_finds_what_is_wrong_and_says_what_to_do() {
    let world = World::with_tasks(TWO);
    let call = world.specum(&["doctor"]);
    assert!(call.exits(0).stdout.contains("ok    active    test-spec (./specs/test-spec)"));
    assert_eq!(world.specum(&["doctor", "--json"]).json()["good"], true);
    world.raw_state("[]");
    let call = world.specum(&["doctor"]);
    assert!(call.exits(1).stdout.contains("`specum run` rebuilds it"), "{}", call.stdout);
    assert_eq!(world.specum(&["doctor", "--json"]).json()["good"], false);
    world.write("specs/.current-spec", "/etc");
    let call = world.specum(&["doctor"]);
    assert!(call.exits(1).stdout.contains("leads out of the project"), "{}", call.stdout);
}

#[test]
fn a_wrong_call_is_a_wrong_call() {
    let world = World::with_tasks(TWO);
    for args in [
        &["lst"][..],
        &["implement", "--max-task-iterations", "0"],
        &["implement", "--max-task-iterations", "-1"],
        &["implement", "--max-global-iterations", "x"],
        &["implement", "--no-such"],
        &["finish"],
        &["switch"],
        &["hook"],
    ] {
        let call = world.specum(args);
        call.exits(2);
        assert!(!call.stderr.is_empty() && call.stdout.is_empty(), "{args:?}");
    }
}
