//! However a run is started, its tasks come to their commits: with streams that are closed
//! or full, with next to no environment, from a hook of git or behind a pipe.

use std::process::Command;

use super::{agent, command_run, committed, nothing_is_left, planned};
use crate::world::{World, call};

const TWO: &str = "- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n";

/// How people and programs start a run, as a shell does it.
const STARTS: [(&str, &str); 13] = [
    ("behind a pipe that is left early", "\"$@\" | head -n 1"),
    ("without standard input", "\"$@\" <&-"),
    ("without standard output", "\"$@\" >&-"),
    ("without standard error", "\"$@\" 2>&-"),
    ("without any of them", "\"$@\" <&- >&- 2>&-"),
    ("with output that has no room", "\"$@\" > /dev/full 2>&1"),
    ("beyond a logout", "nohup \"$@\" > \"$HOME/out.log\""),
    ("in a session of its own", "setsid -w \"$@\""),
    ("with next to no environment", "env -i PATH=\"$PATH\" HOME=\"$HOME\" \"$@\""),
    ("with files that the user alone may read", "umask 077; \"$@\""),
    ("in a time zone that there is not", "TZ=Mars/Olympus \"$@\""),
    ("with 24 open files at most", "ulimit -n 24; \"$@\""),
    ("by an alias of git", "git -c alias.go='!f() { \"$@\"; }; f' go \"$@\""),
];

/// Starts a run of a group as this script does.
fn started_by(script: &str) -> World {
    let world = planned(TWO);
    // Not by the environment, which may be empty.
    world.git(&["config", "user.name", "Test"]);
    world.git(&["config", "user.email", "test@example.invalid"]);
    let agent = agent(&world, "echo $id > $id.txt; echo TASK_COMPLETE\n");
    let run = command_run(&world, &agent, &[]);
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).arg(run.get_program()).args(run.get_args());
    shell.current_dir(&world.root).env_clear();
    shell.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    // Behind a pipe its exit code is another program's.
    let _ = call(shell, b"");
    world
}

#[test]
fn however_a_run_is_started_its_tasks_come_to_their_commits() {
    for (how, script) in STARTS {
        let world = started_by(script);
        assert_eq!(committed(&world), ["1.1", "1.2"], "{how}");
        assert!(!world.path("specs/test-spec/.ralph-state.json").exists(), "{how}");
        nothing_is_left(&world);
    }
}

#[test]
fn a_hook_of_git_may_start_a_run() {
    let world = planned(TWO);
    let agent = agent(&world, "echo $id > $id.txt; echo TASK_COMPLETE\n");
    let run = command_run(&world, &agent, &[]);
    let words = std::iter::once(run.get_program()).chain(run.get_args());
    let quoted: Vec<String> = words.map(|word| format!("'{}'", word.to_string_lossy())).collect();
    world.git_hook("post-merge", &format!("{} >&2\n", quoted.join(" ")));
    world.git(&["switch", "--quiet", "-c", "theirs"]);
    world.write("theirs.txt", "theirs\n");
    world.git(&["add", "theirs.txt"]);
    world.git(&["commit", "--quiet", "-m", "theirs"]);
    world.git(&["switch", "--quiet", "-"]);
    let mut merge = world.program("git");
    merge.args(["merge", "--quiet", "theirs"]);
    call(merge, b"").exits(0);
    world.git(&["branch", "--quiet", "-d", "theirs"]);
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    nothing_is_left(&world);
}
