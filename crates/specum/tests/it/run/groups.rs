//! Groups: each task in a worktree of its own, and its way into the user's tree.

/// The user's tree, and what lies in it.
mod tree;

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use super::{
    Listener, agent, at_work, committed, nothing_is_left, planned, references, run, run_with, send,
    state_home, works,
};
use crate::world::{PROGRESS, World, call, executable, fifo, first_on_path, gate, until};

const TWO: &str = "- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n";

/// Two that change the same line, and a third.
const SAME_LINE: &str = "\
- [ ] 1.1 [P] Left
  ```sh
  sed -i 's/$/ left/' shared.txt
  ```
  - **Verify**: `grep -q left shared.txt`
- [ ] 1.2 [P] Right
  ```sh
  sed -i 's/$/ right/' shared.txt
  ```
  - **Verify**: `grep -q right shared.txt`
- [ ] 1.3 [P] Other
  ```sh
  echo other > other.txt
  ```
";

fn with_shared_line(tasks: &str) -> World {
    let world = planned(tasks);
    world.write("shared.txt", "base\n");
    world.commit_all();
    world
}

/// The events of a run, by name and task.
fn events(stdout: &str) -> Vec<(String, String)> {
    let event = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&event["event"]), text(&event["task"]["id"]))
    };
    stdout.lines().filter(|line| line.starts_with('{')).map(event).collect()
}

#[test]
fn a_slow_neighbour_does_not_hold_up_a_free_place() {
    let world = planned("- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n- [ ] 1.3 [P] c\n- [ ] 1.4 [P] d\n");
    let agent = agent(
        &world,
        "echo x > $id.txt; echo $id > $HOME/line; cat $HOME/gate.$id; echo TASK_COMPLETE\n",
    );
    let mut line = Listener::new(&world, "line");
    let gates = ["1.1", "1.2", "1.3", "1.4"].map(|id| world.home().join(format!("gate.{id}")));
    gates.iter().for_each(|place| fifo(place));
    let mut run = at_work(&world, &agent, &["--jobs", "2"]);
    assert_eq!(line.lines(2), ["1.1", "1.2"]);
    // The first one stays at work; the others come and go in the second place.
    for (id, next) in [(1, "1.3"), (2, "1.4")] {
        drop(gate(&gates[id]));
        assert_eq!(line.line(), next);
    }
    assert_eq!(committed(&world), [""; 0], "what is ready waits for those before it");
    drop(gate(&gates[0]));
    drop(gate(&gates[3]));
    assert!(run.wait().unwrap().success());
    assert_eq!(committed(&world), ["1.1", "1.2", "1.3", "1.4"], "in the order of the plan");
    nothing_is_left(&world);
}

#[test]
fn a_task_of_a_group_that_depends_on_another_begins_with_its_work() {
    let world = planned(
        "- [ ] T001 [P] a in a.txt\n- [ ] T002 [P] b in b.txt (depends on T001)\n- [ ] T003 [P] c\n",
    );
    let script = "case $id in T002) test -e T001.txt || exit 1;; esac\n\
                  echo x > $id.txt; echo TASK_COMPLETE\n";
    works(&world, script, &["--attempts", "1"]).exits(0);
    assert_eq!(committed(&world), ["T001", "T002", "T003"]);
}

#[test]
fn what_joins_a_group_begins_from_the_newest_commit() {
    let world = planned("- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n- [ ] 1.3 [P] c\n- [ ] 1.4 [P] d\n");
    let agent = agent(
        &world,
        "ls > $HOME/seen.$id; echo x > $id.txt; echo $id > $HOME/line; \
         test -e $HOME/gate.$id && cat $HOME/gate.$id; echo TASK_COMPLETE\n",
    );
    let mut line = Listener::new(&world, "line");
    let gates = ["1.2", "1.3"].map(|id| world.home().join(format!("gate.{id}")));
    gates.iter().for_each(|place| fifo(place));
    let mut run = at_work(&world, &agent, &["--jobs", "2"]);
    assert_eq!(line.lines(3), ["1.1", "1.2", "1.3"]);
    until("the first one is committed", || committed(&world) == ["1.1"]);
    drop(gate(&gates[1]));
    assert_eq!(line.line(), "1.4");
    drop(gate(&gates[0]));
    assert!(run.wait().unwrap().success());
    let seen = fs::read_to_string(world.home().join("seen.1.4")).unwrap();
    assert!(seen.contains("1.1.txt") && !seen.contains("1.2.txt"), "{seen}");
    assert_eq!(committed(&world), ["1.1", "1.2", "1.3", "1.4"]);
}

/// A git that cannot name the newest commit of the user's tree while there is a file
/// `blind` in the home, and leaves a file `asked` there then.
fn git_that_may_be_blind(world: &World) -> OsString {
    let bin = world.home().join("bin");
    fs::create_dir(&bin).unwrap();
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in \"-C {root} \"*\" rev-parse --verify --quiet HEAD\")\n\
         test -f $HOME/blind && : > $HOME/asked && exit 128;;\nesac\n\
         PATH=${{PATH#*:}} exec git \"$@\"\n",
        root = world.root.display()
    );
    fs::write(bin.join("git"), script).unwrap();
    executable(&bin.join("git"));
    first_on_path(&bin)
}

#[test]
fn nothing_joins_a_group_while_git_cannot_name_the_newest_commit() {
    let world = planned("- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n- [ ] 1.3 [P] c\n");
    let works = "echo x > $id.txt; echo $id > $HOME/line; \
                 test -e $HOME/gate.$id && cat $HOME/gate.$id; echo TASK_COMPLETE\n";
    let agent = agent(&world, works);
    let mut line = Listener::new(&world, "line");
    let gates = ["1.1", "1.2"].map(|id| world.home().join(format!("gate.{id}")));
    gates.iter().for_each(|place| fifo(place));
    let mut command = harness::run::command_run(&world, &agent, &["--jobs", "2"]);
    command.env("PATH", git_that_may_be_blind(&world)).stdout(Stdio::null()).stderr(Stdio::null());
    let mut run = command.spawn().unwrap();
    assert_eq!(line.lines(2), ["1.1", "1.2"]);
    let [blind, asked] = ["blind", "asked"].map(|name| world.home().join(name));
    fs::write(&blind, "").unwrap();
    drop(gate(&gates[1]));
    until("the free place has been looked at", || asked.exists());
    fs::remove_file(blind).unwrap();
    drop(gate(&gates[0]));
    assert!(run.wait().unwrap().success());
    assert_eq!(committed(&world), ["1.1", "1.2", "1.3"]);
    nothing_is_left(&world);
}

#[test]
fn fault_23_parallel_tasks_shared_a_tree_or_ran_in_the_main_checkout() {
    let world = planned(TWO);
    let agent = agent(
        &world,
        "pwd > $HOME/pwd.$id; echo x > $id.txt; echo $id > $HOME/line; cat $HOME/gate.$id\n\
         ls > $HOME/seen.$id; echo TASK_COMPLETE\n",
    );
    let mut line = Listener::new(&world, "line");
    let gates = ["1.1", "1.2"].map(|id| world.home().join(format!("gate.{id}")));
    gates.iter().for_each(|place| fifo(place));
    let mut run = at_work(&world, &agent, &[]);
    assert_eq!(line.lines(2), ["1.1", "1.2"]);
    let known = world.git(&["worktree", "list", "--porcelain"]);
    for id in ["1.1", "1.2"] {
        let place = fs::read_to_string(world.home().join(format!("pwd.{id}"))).unwrap();
        let place = place.trim_end();
        assert!(
            place.starts_with(state_home(&world).join("worktrees").to_str().unwrap()),
            "{place}"
        );
        assert!(known.contains(&format!("worktree {place}\n")), "{known}");
    }
    assert!(!world.path("1.1.txt").exists(), "nothing is in the main checkout yet");
    gates.iter().for_each(|place| drop(gate(place)));
    assert_eq!(run.wait().unwrap().code(), Some(0));
    for (id, other) in [("1.1", "1.2.txt"), ("1.2", "1.1.txt")] {
        let seen = fs::read_to_string(world.home().join(format!("seen.{id}"))).unwrap();
        assert!(seen.contains(&format!("{id}.txt")) && !seen.contains(other), "{id}: {seen}");
    }
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    nothing_is_left(&world);
}

#[test]
fn fault_24_a_conflict_dropped_content_and_left_branches_behind() {
    let world = with_shared_line(SAME_LINE);
    let call = run(&world, &["--json"]);
    call.exits(0);
    assert_eq!(world.read("shared.txt"), "base left right\n", "both are in");
    assert_eq!(committed(&world), ["1.1", "1.3", "1.2"]);
    let events = events(&call.stdout);
    let of = |name: &str| {
        let named = events.iter().filter(|(event, _)| event == name);
        named.map(|(_, task)| task.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(of("set-aside"), ["1.2"]);
    assert_eq!(of("failed"), [""; 0], "nobody has failed");
    assert_eq!(of("passed"), ["1.1", "1.3", "1.2"]);
    let attempt = world.git(&["log", "-1", "--format=%(trailers:key=Attempt,valueonly)"]);
    assert_eq!(attempt.trim(), "2");
    let log = world.specum(&["log"]).stdout;
    assert!(log.contains("set aside") && log.contains("conflicts with"), "{log}");
    let progress = world.read(PROGRESS);
    assert!(progress.contains("- 1.2 attempt 1 is done again, alone"), "{progress}");
    assert_eq!(references(&world), [""; 0]);
    nothing_is_left(&world);
}

#[test]
fn the_next_attempt_at_a_conflict_is_shown_both_sides() {
    let world = with_shared_line("- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n");
    let agent = agent(
        &world,
        "printf '%s' \"$brief\" > $HOME/brief.$id.$SPECUM_ATTEMPT\n\
         sed -i \"s/$/ $id/\" shared.txt; echo TASK_COMPLETE\n",
    );
    run_with(&world, &agent, &[]).exits(0);
    let brief = fs::read_to_string(world.home().join("brief.1.2.2")).unwrap();
    assert!(brief.contains("base 1.1") && brief.contains("base 1.2"), "{brief}");
    assert!(brief.contains("conflicts with the others' work in shared.txt"), "{brief}");
    assert_eq!(world.read("shared.txt"), "base 1.1 1.2\n");
}

#[test]
fn a_result_that_breaks_on_top_of_the_others_is_set_aside_and_has_not_failed() {
    let world = planned(
        "- [ ] 1.1 [P] First\n  ```sh\n  echo 1 > one\n  ```\n\
         - [ ] 1.2 [P] Alone\n  ```sh\n  ls > list\n  ```\n  - **Verify**: `ls one; test ! -e one || grep one list`\n",
    );
    // The second attempt lists what the first did not see.
    run(&world, &["--max-task-iterations", "1"]).exits(0);
    assert_eq!((world.count("set-aside"), world.count("failed")), (1, 0));
    assert!(world.read("list").contains("one\n"));
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    nothing_is_left(&world);
}

#[test]
fn fault_25_state_files_ended_up_in_the_users_commits() {
    let world = planned(TWO);
    world.write("specs/test-spec/design.md", "as it was\n");
    world.commit_all();
    // Everything below the spec's folder is changed in the worktree, and
    // committed there too. What is not specum's own is work like any other.
    let agent = agent(
        &world,
        "cd specs/test-spec; sed -i 's/\\[ \\]/[x]/' tasks.md; echo changed > design.md\n\
         echo '{}' > .ralph-state.json; echo new > new.md\n\
         n=${id#1.}; echo \"- learned by $id\" > .progress-task-$((n - 1)).md\n\
         cd ../..; echo x > $id.txt; git add --all --force; git commit --quiet -m mine\n\
         echo TASK_COMPLETE\n",
    );
    run_with(&world, &agent, &[]).exits(0);
    let touched = world.git(&["log", "--format=", "--name-only", "-2"]);
    let mut touched: Vec<&str> = touched.lines().filter(|line| !line.is_empty()).collect();
    touched.sort_unstable();
    touched.dedup();
    let spec = ["tasks.md", "new.md", "design.md", ".progress.md"];
    let [tasks, new, design, progress] = spec.map(|name| format!("specs/test-spec/{name}"));
    assert_eq!(touched, ["1.1.txt", "1.2.txt", &progress, &design, &new, &tasks]);
    let progress = world.read(PROGRESS);
    for id in ["1.1", "1.2"] {
        assert_eq!(progress.matches(&format!("- learned by {id}")).count(), 1, "{progress}");
    }
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    nothing_is_left(&world);
}

#[test]
fn fault_26_resume_refused_for_a_side_file_or_did_finished_work_again() {
    let world = planned("- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 [P] c\n- [ ] 1.4 [P] d\n");
    let agent = agent(
        &world,
        "echo $id >> $HOME/worked; echo x > $id.txt\n\
         case $id in 1.1|1.3) ;; *) test -e $HOME/go || { echo $id > $HOME/line; sleep 600; };; esac\n\
         echo TASK_COMPLETE\n",
    );
    let mut line = Listener::new(&world, "line");
    let mut first = at_work(&world, &agent, &[]);
    assert_eq!(line.line(), "1.2");
    send(&first, Signal::INT);
    assert_eq!(first.wait().unwrap().code(), Some(130));
    // Everything beside the plan is gone, and what was learned with it.
    fs::remove_dir_all(state_home(&world)).unwrap();
    for name in ["journal.jsonl", "state.json", "check.lock", "hook.json"] {
        let _ = fs::remove_file(world.path(&format!("specs/test-spec/.ralph-{name}")));
    }
    let _ = fs::remove_file(world.path("specs/test-spec/.ralph.lock"));
    fs::remove_file(world.home().join("line")).unwrap();
    fs::write(world.home().join("go"), "").unwrap();
    run_with(&world, &agent, &[]).exits(0);
    let worked = fs::read_to_string(world.home().join("worked")).unwrap();
    let mut again: Vec<&str> = worked.lines().collect();
    again.sort_unstable();
    assert_eq!(again, ["1.1", "1.2", "1.2", "1.3", "1.4"], "what is ticked is done");
    assert_eq!(committed(&world), ["1.1", "1.2", "1.3", "1.4"]);
    nothing_is_left(&world);
}

#[test]
fn a_group_that_was_interrupted_goes_on_with_as_many_at_once_as_are_wanted_now() {
    let world = planned("- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n- [ ] 1.3 [P] c\n- [ ] 1.4 d\n");
    let agent = agent(
        &world,
        "echo x > $id.txt\n\
         test -e $HOME/go || { echo $id > $HOME/line; sleep 600; }\n\
         mkdir $HOME/busy || touch $HOME/two-at-once; rmdir $HOME/busy; echo TASK_COMPLETE\n",
    );
    let mut line = Listener::new(&world, "line");
    let mut first = at_work(&world, &agent, &[]);
    assert_eq!(line.lines(3), ["1.1", "1.2", "1.3"]);
    send(&first, Signal::INT);
    first.wait().unwrap();
    fs::write(world.home().join("go"), "").unwrap();
    run_with(&world, &agent, &["--only", "1.4"]).exits(0);
    assert_eq!(committed(&world), ["1.4"], "what is asked for comes first");
    run_with(&world, &agent, &["--jobs", "1"]).exits(0);
    assert_eq!(committed(&world), ["1.4", "1.1", "1.2", "1.3"]);
    assert!(!world.home().join("two-at-once").exists());
    nothing_is_left(&world);
}

#[test]
fn what_has_passed_in_its_worktree_is_not_worked_again() {
    let world = planned(TWO);
    let agent = agent(
        &world,
        "echo $id >> $HOME/worked; echo x > $id.txt\n\
         test $id = 1.2 || test -e $HOME/go || { echo $id > $HOME/line; sleep 600; }\n\
         echo TASK_COMPLETE\n",
    );
    let mut line = Listener::new(&world, "line");
    let mut first = at_work(&world, &agent, &[]);
    line.line();
    until("one has come to its end", || world.count("ready") == 1);
    send(&first, Signal::KILL);
    first.wait().unwrap();
    assert!(references(&world).contains(&"refs/specum/test-spec/ready/1.2".to_owned()));
    fs::write(world.home().join("go"), "").unwrap();
    run_with(&world, &agent, &[]).exits(0);
    let worked = fs::read_to_string(world.home().join("worked")).unwrap();
    assert_eq!(worked.matches("1.2").count(), 1, "{worked}");
    assert_eq!(committed(&world), ["1.1", "1.2"], "in the order of the plan");
    nothing_is_left(&world);
}

/// Every kind of change that git knows.
const EVERYTHING: &str = "
  rm gone.txt
  git mv old.txt 'new name.txt'
  chmod +x tool.sh
  ln -s tool.sh link
  printf '\\000\\377\\001' > binary
  mkdir 'dé p' && echo x > 'dé p/ü \"q\".txt'
  printf x > \"$(printf 'two\\nlines')\"
  printf x > ':(top)*'
  rm -r folder && echo now a file > folder
  rm file && mkdir file && echo now a folder > file/in
  git add file folder
";

fn with_something_to_change(tasks: &str) -> World {
    let world = planned(tasks);
    for (path, text) in [
        ("gone.txt", "gone"),
        ("old.txt", "old name, long enough to be found again\n"),
        ("tool.sh", "#!/bin/sh\n"),
        ("folder/a", "a"),
        ("file", "f"),
    ] {
        world.write(path, text);
    }
    world.commit_all();
    world
}

#[track_caller]
fn everything_is_in(world: &World) {
    assert!(!world.path("gone.txt").exists() && !world.path("old.txt").exists());
    assert!(world.read("new name.txt").starts_with("old name"));
    let mode = world.path("tool.sh").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
    assert_eq!(fs::read_link(world.path("link")).unwrap().to_str(), Some("tool.sh"));
    assert_eq!(fs::read(world.path("binary")).unwrap(), [0, 255, 1]);
    assert_eq!(world.read("dé p/ü \"q\".txt"), "x\n");
    assert_eq!(world.read("two\nlines"), "x");
    assert_eq!(world.read(":(top)*"), "x");
    assert_eq!(world.read("folder"), "now a file\n");
    assert_eq!(world.read("file/in"), "now a folder\n");
    nothing_is_left(world);
}

#[test]
fn every_kind_of_change_comes_through() {
    for mark in ["[P] ", ""] {
        let world = with_something_to_change(&format!(
            "- [ ] 1.1 {mark}Changes\n  ```sh{EVERYTHING}  ```\n\
             - [ ] 1.2 {mark}Other\n  ```sh\n  echo 2 > two.txt\n  ```\n"
        ));
        run(&world, &[]).exits(0);
        assert_eq!(committed(&world), ["1.1", "1.2"]);
        everything_is_in(&world);
    }
}

#[test]
fn every_kind_of_change_is_taken_out_again_when_it_is_interrupted() {
    let world = with_something_to_change("- [ ] 1.1 a\n");
    let hold = "test -e $HOME/go || { echo in > $HOME/line; sleep 600; }";
    let agent = agent(&world, &format!("set -e\n{EVERYTHING}\n{hold}\necho TASK_COMPLETE\n"));
    let before = world.snapshot();
    let mut line = Listener::new(&world, "line");
    let mut first = at_work(&world, &agent, &[]);
    line.line();
    send(&first, Signal::INT);
    assert_eq!(first.wait().unwrap().code(), Some(130));
    let in_tree = |files: Vec<(std::path::PathBuf, Vec<u8>)>| {
        let ours = |path: &std::path::Path| {
            !path.starts_with(world.path(".git")) && !path.starts_with(world.path("specs"))
        };
        files.into_iter().filter(|(path, _)| ours(path)).collect::<Vec<_>>()
    };
    assert_eq!(in_tree(world.snapshot()), in_tree(before));
    nothing_is_left(&world);
    let kept = world.git(&["ls-tree", "-r", "-z", "--name-only", &references(&world)[0]]);
    assert!(kept.contains("file/in\0") && kept.contains("two\nlines\0"), "{kept}");
    fs::write(world.home().join("go"), "").unwrap();
    run_with(&world, &agent, &[]).exits(0);
    everything_is_in(&world);
}

#[test]
fn a_project_below_the_root_of_its_repository_is_worked_there() {
    let world = World::empty();
    world.write("top.txt", "top\n");
    world.write("sub/specs/test-spec/tasks.md", "\
- [ ] 1.1 [P] a\n  ```sh\n  pwd > here.txt; echo 1 >> ../top.txt\n  ```\n  - **Files**: here.txt\n  - **Verify**: `grep sub here.txt`\n\
- [ ] 1.2 [P] b\n  ```sh\n  echo 2 > two.txt\n  ```\n");
    world.write("sub/specs/test-spec/.progress.md", "# Notes\n");
    world.git_init();
    world.write("sub/specs/.current-spec", "test-spec\n");
    let mut command = super::run_command(&world, &[]);
    command.current_dir(world.path("sub"));
    call(command, b"").exits(0);
    assert!(world.read("sub/here.txt").trim_end().ends_with("/1.1-1/sub"));
    assert_eq!(world.read("top.txt"), "top\n1\n");
    assert_eq!(world.read("sub/two.txt"), "2\n");
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    assert!(!world.read("sub/specs/test-spec/tasks.md").contains("[ ]"));
    nothing_is_left(&world);
}
