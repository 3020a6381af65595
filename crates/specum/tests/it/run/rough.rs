//! Agents that harm the ground they stand on, and grounds that bear no run.

use std::ffi::OsString;
use std::fs;

use rustix::process::Signal;

use super::{
    Listener, agent, at_work, committed, nothing_is_left, planned, run, run_command, send,
    state_home, works,
};
use crate::world::{JOURNAL, World, call, executable, fifo, first_on_path, gate};

const ONE: &str = "- [ ] 1.1 a\n";
const GROUP: &str = "- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n";

#[test]
fn an_agent_that_deletes_the_journal_is_not_started_for_ever() {
    let world = planned(ONE);
    let copy = "rm -rf .git/specum";
    let script = format!("rm {JOURNAL}; {copy}; echo x >> $HOME/starts; echo TASK_COMPLETE\n");
    let ended = works(&world, &script, &[]);
    assert!(ended.exits(1).stderr.contains("something deletes .ralph-journal"), "{}", ended.stderr);
    let starts = fs::read_to_string(world.home().join("starts")).unwrap();
    assert_eq!(starts, "x\nx\n");
}

#[test]
fn finding_10_what_git_clean_deletes_is_written_again_and_caps_hold() {
    let world = planned("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    let cap = ["--max-global-iterations", "40"];
    let ended = works(&world, "git clean -fdxq; echo $id > $id.txt; echo TASK_COMPLETE\n", &cap);
    let told = "the loop's own files were deleted or emptied";
    assert!(ended.exits(0).stdout.contains(told), "{}", ended.stdout);
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    assert_eq!(world.journal("started").len(), 1, "one story");
}

#[test]
fn finding_11_a_journal_that_an_agent_empties_loses_nothing() {
    let world = planned("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    let script = format!("echo $id > $id.txt; : > {JOURNAL}; echo TASK_COMPLETE\n");
    works(&world, &script, &[]).exits(0);
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    assert_eq!(world.git(&["status", "--porcelain"]), "", "its work is committed");
}

#[test]
fn a_nested_repository_stays_when_its_attempt_is_put_away() {
    let world = planned(ONE);
    let script = "git init -q sub; echo 1 > sub/in; echo 1 > one; echo $id > $HOME/line; cat $HOME/gate; echo TASK_COMPLETE\n";
    let agent = agent(&world, script);
    let mut line = Listener::new(&world, "line");
    fifo(&world.home().join("gate"));
    let mut first = at_work(&world, &agent, &[]);
    assert_eq!(line.line(), "1.1");
    send(&first, Signal::INT);
    assert_eq!(first.wait().unwrap().code(), Some(130));
    assert_eq!(world.read("sub/in"), "1\n");
    assert!(!world.path("one").exists());
    let second = run(&world, &[]);
    assert!(second.exits(1).stderr.contains("not committed: sub/."), "{}", second.stderr);
    fs::remove_dir_all(world.path("sub")).unwrap();
    run(&world, &[]).exits(0);
    nothing_is_left(&world);
}

#[test]
fn what_cannot_be_committed_is_not_dropped_from_a_group_in_silence() {
    let world = planned(GROUP);
    let script = "test $id = 1.2 || git init -q sub; echo 1 > $id.txt; echo TASK_COMPLETE\n";
    let args = ["--max-task-iterations", "1"];
    let ended = works(&world, script, &args);
    let reason = "sub/ is a git repository of its own";
    assert!(ended.exits(6).stdout.contains(reason), "{}", ended.stdout);
    assert_eq!(committed(&world), ["1.2"]);
}

#[test]
fn doctor_finds_what_a_killed_run_of_another_spec_has_left() {
    let world = planned(GROUP);
    let agent = agent(&world, "echo in > $HOME/line; sleep 600\n");
    let mut line = Listener::new(&world, "line");
    let mut run = at_work(&world, &agent, &[]);
    line.lines(2);
    send(&run, Signal::KILL);
    run.wait().unwrap();
    world.write("specs/other/tasks.md", ONE);
    world.specum(&["switch", "other"]).exits(0);
    let found = world.specum(&["doctor"]);
    assert!(found.exits(1).stdout.contains("test-spec was killed"), "{}", found.stdout);
    world.specum(&["doctor", "--repair"]).exits(0);
    assert!(super::worktrees(&world).is_empty());
    assert!(!world.path("specs/other/.ralph.lock").exists(), "nothing was left there");
}

#[test]
fn an_agent_that_deletes_its_worktree_has_failed() {
    for deletes in ["rm -rf \"$PWD\"", "rm .git"] {
        let world = planned(GROUP);
        let script = format!(
            "test $id = 1.1 && mkdir $HOME/once 2>&1 && {deletes}\n\
             test -d . && echo 1 > $id.txt; echo TASK_COMPLETE\n"
        );
        let ended = works(&world, &script, &[]);
        assert!(ended.exits(0).stdout.contains("deleted the worktree"), "{}", ended.stdout);
        nothing_is_left(&world);
    }
}

#[test]
fn a_note_that_a_killed_run_has_left_half_written_is_deleted() {
    let world = planned(GROUP);
    let all = state_home(&world).join("worktrees");
    fs::create_dir_all(&all).unwrap();
    let torn = all.join(".ralph-tmp-torn");
    fs::write(&torn, "/half/a/pa").unwrap();
    // Where another run has worktrees, it may be the one that is writing.
    fs::create_dir(all.join("another-run")).unwrap();
    works(&world, "echo TASK_COMPLETE\n", &[]).exits(0);
    assert!(torn.exists());
    fs::remove_dir(all.join("another-run")).unwrap();
    world.write("specs/test-spec/tasks.md", "- [x] 1.1 [P] a\n- [x] 1.2 [P] b\n- [ ] 1.3 c\n");
    works(&world, "echo TASK_COMPLETE\n", &[]).exits(0);
    assert!(!torn.exists());
}

#[test]
fn two_specs_are_not_worked_in_one_tree_at_once() {
    let world = planned(ONE);
    world.write("specs/other/tasks.md", "- [ ] 1.1 b\n  ```sh\n  echo 2 > two\n  ```\n");
    world.git(&["add", "-A", "specs/other"]);
    world.git(&["commit", "-q", "-m", "other"]);
    let script = "echo 1 > one; echo $id > $HOME/line; cat $HOME/gate; echo TASK_COMPLETE\n";
    let agent = agent(&world, script);
    let mut line = Listener::new(&world, "line");
    fifo(&world.home().join("gate"));
    let mut first = at_work(&world, &agent, &[]);
    assert_eq!(line.line(), "1.1");
    let before = world.git(&["status", "--porcelain"]);
    let second = run(&world, &["other"]);
    let who = format!("works in this tree, on test-spec (process {} on ", first.id());
    assert!(second.exits(5).stderr.contains(&who), "{}", second.stderr);
    assert_eq!(world.git(&["status", "--porcelain"]), before);
    drop(gate(&world.home().join("gate")));
    assert_eq!(first.wait().unwrap().code(), Some(0));
    run(&world, &["other"]).exits(0);
    nothing_is_left(&world);
}

#[test]
fn without_a_name_to_commit_by_nobody_begins() {
    let world = planned(ONE);
    let mut command = run_command(&world, &[]);
    command.env("GIT_COMMITTER_NAME", "").env("GIT_COMMITTER_EMAIL", "");
    let refused = call(command, b"");
    assert!(refused.exits(1).stderr.contains("empty ident name"), "{}", refused.stderr);
    assert!(!world.path(JOURNAL).exists());
}

#[test]
fn a_refused_commit_is_a_failure_with_a_name() {
    let world = planned("- [ ] 1.1 a\n  ```sh\n  echo 1 > one\n  ```\n");
    world.git_hook("pre-commit", "mkdir $HOME/once\n! rmdir $HOME/once\n");
    let ended = run(&world, &["--max-task-iterations", "1"]);
    assert!(ended.exits(6).stdout.contains("s, uncommitted): "), "{}", ended.stdout);
}

#[test]
fn a_commit_that_is_made_counts_although_git_fails_right_behind_it() {
    let world = planned("- [ ] 1.1 a\n  ```sh\n  echo 1 > one\n  ```\n");
    world.git_hook("post-commit", "cp .git/config $HOME/config\necho '[' >> .git/config\n");
    let ended = run(&world, &[]);
    assert!(ended.exits(1).stderr.contains("bad config"), "{}", ended.stderr);
    fs::copy(world.home().join("config"), world.path(".git/config")).unwrap();
    fs::remove_file(world.path(".git/hooks/post-commit")).unwrap();
    run(&world, &[]).exits(0);
    assert_eq!(committed(&world), ["1.1"], "and no second time");
    nothing_is_left(&world);
}

/// Lets git fail once, when its status is asked for in a tree that has `one`.
fn git_that_fails_once(world: &World) -> OsString {
    let bin = world.home().join("bin");
    fs::create_dir(&bin).unwrap();
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in \"-C {root} \"*\" status \"*)\n\
         test -f {root}/one && mkdir $HOME/once 2>&1 && exit 128;;\nesac\n\
         PATH=${{PATH#*:}} exec git \"$@\"\n",
        root = world.root.display()
    );
    fs::write(bin.join("git"), script).unwrap();
    executable(&bin.join("git"));
    first_on_path(&bin)
}

#[test]
fn what_is_put_into_the_tree_and_not_judged_is_not_built_upon() {
    let world = planned(
        "- [ ] 1.1 [P] a\n  ```sh\n  echo 1 > one\n  ```\n\
         - [ ] 1.2 [P] b\n  ```sh\n  echo 2 > two\n  ```\n",
    );
    let mut command = run_command(&world, &[]);
    command.env("PATH", git_that_fails_once(&world));
    assert!(call(command, b"").exits(1).stderr.contains("git status"));
    assert!(!world.path("one").exists(), "nobody has judged it there");
    run(&world, &[]).exits(0);
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    nothing_is_left(&world);
}

#[test]
fn what_a_check_leaves_behind_does_not_keep_the_next_run_out() {
    let world = planned("- [ ] 1.1 a\n  - **Verify**: `touch coverage`\n- [ ] 1.2 b\n");
    run(&world, &["--only", "1.1"]).exits(0);
    assert!(world.path("coverage").exists());
    run(&world, &[]).exits(0);
    assert_eq!(world.git(&["log", "--format=%s", "--", "coverage"]), "", "and is nobody's work");
    world.write("mine", "a change of my own");
    world.write("specs/test-spec/tasks.md", "- [x] 1.1 a\n- [x] 1.2 b\n- [ ] 1.3 c\n");
    assert!(run(&world, &[]).exits(1).stderr.contains("not committed: mine"));
}

#[test]
fn an_agent_that_deletes_the_state_has_not_cancelled_the_loop() {
    let world = planned(ONE);
    // It waits until the state is there again.
    let script = "rm specs/test-spec/.ralph-state.json\n\
                  until test -e specs/test-spec/.ralph-state.json; do sleep 0.01; done\n\
                  echo TASK_COMPLETE\n";
    let ended = works(&world, script, &[]);
    assert!(ended.exits(0).stdout.contains("are written again"), "{}", ended.stdout);
    assert_eq!(committed(&world), ["1.1"]);
}
