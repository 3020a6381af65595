//! Promises of ARCHITECTURE.md and the documents that no other test keeps.

use std::fs::{self, File};
use std::path::Path;

use serde_json::json;

use crate::world::{Call, PROGRESS, TASKS, World, call, executable, first_on_path};

const LOCK: &str = "specs/test-spec/.ralph.lock";

/// A line of shell that says whether somebody holds the spec's lock.
fn asks_for_the_lock(who: &str) -> String {
    format!(
        "{{ flock --nonblock {LOCK} echo {who}: free || echo {who}: held; }} >> $HOME/lock-asked"
    )
}

#[test]
fn the_lock_is_not_held_while_an_agent_a_check_or_git_runs() {
    let world = World::planned(format!(
        "- [ ] 1.1 a\n  ```sh\n  touch a.txt; {}\n  ```\n  - **Verify**: `{}`\n",
        asks_for_the_lock("agent"),
        asks_for_the_lock("check"),
    ));
    world.git_hook("pre-commit", &asks_for_the_lock("git"));
    world.specum(&["run", "--agent", "script"]).exits(0);
    let asked = || fs::read_to_string(world.home().join("lock-asked")).unwrap();
    assert_eq!(asked(), "check: free\nagent: free\ncheck: free\ngit: free\n");
    // The question is a good one.
    let held = File::options().write(true).open(world.path(LOCK)).unwrap();
    held.lock().unwrap();
    let mut shell = world.program("sh");
    shell.args(["-c", &asks_for_the_lock("test")]);
    call(shell, b"").exits(0);
    assert!(asked().ends_with("test: held\n"), "{}", asked());
}

#[test]
fn the_stop_hook_starts_no_process() {
    let world = World::started("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    world.in_session(&["implement"]).exits(0);
    let bin = world.home().join("bin");
    fs::create_dir(&bin).unwrap();
    for name in ["git", "sh", "ps", "bash"] {
        fs::write(bin.join(name), "#!/bin/sh\n: > \"$HOME/started\"\nexit 1\n").unwrap();
        executable(&bin.join(name));
    }
    let specum = |args: &[&str], input: &str| -> Call {
        let mut command = world.command();
        command.args(args).env("PATH", first_on_path(&bin));
        call(command, input.as_bytes())
    };
    for active in [false, true] {
        let input =
            json!({"session_id": "test-session", "cwd": world.root, "stop_hook_active": active});
        assert!(specum(&["hook", "stop"], &input.to_string()).reason().starts_with("Continue"));
    }
    assert!(!world.home().join("started").exists());
    let _ = specum(&["next"], "");
    assert!(world.home().join("started").exists(), "others do");
}

/// A run of a group, which needs a place for logs and worktrees.
fn group_with(variables: &[(&str, Option<&Path>)]) -> (World, Call) {
    let world = World::planned(
        "- [ ] 1.1 [P] a\n  ```sh\n  touch a.txt\n  ```\n- [ ] 1.2 [P] b\n  ```sh\n  touch b.txt\n  ```\n",
    );
    let mut command = world.command();
    command.args(["run", "--agent", "script"]);
    for (name, value) in variables {
        match value {
            Some(value) => command.env(name, world.root.join("..").join(value)),
            None => command.env_remove(name),
        };
    }
    let call = call(command, b"");
    (world, call)
}

#[test]
fn the_state_folder_is_where_xdg_state_home_says() {
    let (world, call) = group_with(&[("XDG_STATE_HOME", Some(Path::new("elsewhere")))]);
    call.exits(0);
    assert!(world.path("../elsewhere/specum/logs").is_dir());
    assert!(world.path("../elsewhere/specum/worktrees").is_dir());
    assert!(!world.home().join(".local").exists());
}

#[test]
fn a_relative_xdg_state_home_is_none() {
    let world = World::planned("- [ ] 1.1 a\n  ```sh\n  touch a.txt\n  ```\n");
    let mut command = world.command();
    command.args(["run", "--agent", "script"]).env("XDG_STATE_HOME", "relative");
    call(command, b"").exits(0);
    assert!(!world.path("relative").exists());
    assert!(world.home().join(".local/state/specum/logs").is_dir());
}

#[test]
fn without_a_home_a_group_says_what_is_missing_and_nothing_is_written_anywhere() {
    let (world, call) = group_with(&[("HOME", None)]);
    let said = call.exits(1).stderr.clone();
    assert!(said.contains("neither XDG_STATE_HOME nor HOME is set"), "{said}");
    assert!(!world.path("a.txt").exists() && world.journal("launched").is_empty());
    assert_eq!(fs::read_dir(world.home()).unwrap().count(), 0);
}

#[test]
fn the_search_for_a_project_ends_at_home() {
    let world = World::with_tasks("- [ ] 1.1 a\n");
    let home = world.path("someone");
    let here = home.join("work");
    fs::create_dir_all(&here).unwrap();
    let status = |home: &Path| -> Call {
        let mut command = world.command();
        command.arg("status").current_dir(&here).env("HOME", home);
        call(command, b"")
    };
    status(&home).exits(3);
    assert!(status(world.home()).exits(0).stdout.contains("test-spec"), "it would be found");
}

#[test]
fn a_settings_file_that_is_a_directory_is_named_and_keeps_the_hooks_still() {
    let world = World::with_tasks("- [ ] 1.1 a\n");
    fs::create_dir_all(world.path(".claude/ralph-specum.local.md")).unwrap();
    let call = world.specum(&["status"]);
    assert!(call.exits(1).stderr.contains("local.md:1: cannot be read: "), "{}", call.stderr);
    world.stop().silent();
    fs::remove_dir(world.path(".claude/ralph-specum.local.md")).unwrap();
    assert!(world.stop().reason().starts_with("Continue"), "it was the directory");
}

#[test]
fn a_link_among_the_notes_of_a_group_does_not_bring_its_target_in() {
    let note = "specs/test-spec/.progress-task";
    let world = World::planned(format!(
        "- [ ] 1.1 [P] a\n  ```sh\n  touch a.txt; ln -s \"$HOME/key\" {note}-0.md\n  ```\n\
         - [ ] 1.2 [P] b\n  ```sh\n  touch b.txt; echo '- LEARNED' > {note}-1.md\n  ```\n"
    ));
    fs::write(world.home().join("key"), "- SECRET\n").unwrap();
    world.specum(&["run", "--agent", "script"]).exits(0);
    let progress = world.read(PROGRESS);
    assert!(progress.contains("- LEARNED") && !progress.contains("SECRET"), "{progress}");
    assert!(!world.git(&["log", "-p", "--format="]).contains("SECRET"));
    assert!(!world.read(TASKS).contains("[ ]"));
}
