//! The user's tree: what was changed there before, what prepares a worktree,
//! and projects with little or no repository.

use std::fs;

use rustix::process::Signal;

use super::{TWO, with_shared_line};
use crate::run::crash::at_every_point;
use crate::run::{
    Listener, agent, at_work, command_run, committed, nothing_is_left, planned, processes,
    references, run, run_command, run_with, send, state_home, worktrees,
};
use crate::world::{PROGRESS, TASKS, World, call};

const SETTINGS: &str = ".claude/ralph-specum.local.md";

/// A group in which one changes the file that the user has changed.
const TOUCHES: &str = "\
- [ ] 1.1 [P] Touches
  ```sh
  sed -i 's/^base$/based/' shared.txt
  ```
  - **Verify**: `grep -q based shared.txt`
- [ ] 1.2 [P] Other
  ```sh
  echo 2 > two.txt
  ```
";

#[test]
fn a_tree_with_changes_of_the_users_own_is_refused_and_not_touched() {
    let world = with_shared_line(TWO);
    world.write("shared.txt", "mine\n");
    world.write("new file.txt", "mine too\n");
    world.write("staged.txt", "staged\n");
    world.git(&["add", "staged.txt"]);
    let before = world.git(&["status", "--porcelain"]);
    let refused = run(&world, &[]);
    refused.exits(1);
    for name in ["shared.txt", "new file.txt", "staged.txt", "--allow-dirty"] {
        assert!(refused.stderr.contains(name), "{}", refused.stderr);
    }
    assert_eq!(world.git(&["status", "--porcelain"]), before);
    assert_eq!(world.read("shared.txt"), "mine\n");
    assert_eq!(world.read_state()["owner"], serde_json::Value::Null, "nobody holds the spec");
}

#[test]
fn the_users_changes_stay_as_they_are_beside_a_group() {
    let world = with_shared_line(
        "- [ ] 1.1 [P] a\n  ```sh\n  echo 1 > one\n  ```\n- [ ] 1.2 [P] b\n  ```sh\n  echo 2 > two\n  ```\n- [ ] 1.3 c\n  ```sh\n  echo 3 > three\n  ```\n",
    );
    world.write("shared.txt", "mine\n");
    world.write("new.txt", "mine too\n");
    world.write("staged.txt", "staged\n");
    world.git(&["add", "staged.txt"]);
    let before = world.git(&["status", "--porcelain"]);
    run(&world, &["--allow-dirty"]).exits(0);
    assert_eq!(world.git(&["status", "--porcelain"]), before);
    assert_eq!(committed(&world), ["1.1", "1.2", "1.3"]);
    assert_eq!(
        (world.read("shared.txt"), world.read("new.txt")),
        ("mine\n".into(), "mine too\n".into())
    );
}

#[test]
fn a_group_that_touches_a_file_of_the_users_leaves_its_bytes_there() {
    let world = with_shared_line(TOUCHES);
    world.write("shared.txt", "base\nmine\n");
    run(&world, &["--allow-dirty"]).exits(0);
    assert_eq!(world.count("set-aside"), 1, "it is done in the tree, where it sees them");
    assert_eq!(world.read("shared.txt"), "based\nmine\n");
    assert_eq!(committed(&world), ["1.2", "1.1"]);
}

#[test]
fn a_kill_at_any_step_leaves_the_bytes_of_the_user_there() {
    let template = with_shared_line(TOUCHES);
    template.write("shared.txt", "base\nmine\n");
    template.write("new.txt", "mine too\n");
    let points = at_every_point(7, |point| {
        let world = template.copy();
        let mut command = run_command(&world, &["--allow-dirty"]);
        command.env("SPECUM_DIE_AT", point.to_string());
        let ended = call(command, b"");
        let killed = ended.code.is_none();
        assert!(killed || ended.code == Some(0), "at {point}: {}{}", ended.stdout, ended.stderr);
        let first = world.read("shared.txt");
        assert!(first.ends_with("mine\n"), "killed at {point}: {first}");
        run(&world, &["--allow-dirty"]).exits(0);
        assert_eq!(world.read("shared.txt"), "based\nmine\n", "killed at {point}");
        assert_eq!(world.read("new.txt"), "mine too\n", "killed at {point}");
        // What an agent had done to the file of the user before it was killed
        // stays there, uncommitted: nobody can tell it apart.
        let status = world.git(&["status", "--porcelain"]);
        assert!(status.ends_with("?? new.txt\n"), "killed at {point}: {status}");
        killed
    });
    assert!(points > 100, "only {points} points");
}

#[test]
fn ctrl_c_leaves_the_bytes_of_the_user_there() {
    let world = with_shared_line("- [ ] 1.1 a\n");
    world.write("shared.txt", "base\nmine\n");
    let agent = agent(
        &world,
        "echo theirs > theirs.txt; echo theirs >> shared.txt; echo in > $HOME/line; sleep 600\n",
    );
    let mut line = Listener::new(&world, "line");
    let mut run = at_work(&world, &agent, &["--allow-dirty"]);
    line.line();
    send(&run, Signal::INT);
    assert_eq!(run.wait().unwrap().code(), Some(130));
    // Nobody can tell the lines of one file apart afterwards; none is lost.
    assert_eq!(world.read("shared.txt"), "base\nmine\ntheirs\n");
    assert!(!world.path("theirs.txt").exists());
    let kept = world.git(&["show", "refs/specum/test-spec/kept/1.1-1:theirs.txt"]);
    assert_eq!(kept, "theirs\n");
}

#[test]
fn a_worktree_is_prepared_and_what_prepares_it_is_nobodys_work() {
    let world = planned(
        "- [ ] 1.1 [P] a\n  ```sh\n  cat installed > one.txt\n  ```\n\
         - [ ] 1.2 [P] b\n  ```sh\n  cat installed > two.txt\n  ```\n",
    );
    world.write(SETTINGS, "---\nworktree_setup: cp \"$SPECUM_PROJECT/secret\" installed\n---\n");
    world.write(".gitignore", "secret\n");
    world.commit_all();
    world.write("secret", "from the user's tree\n");
    run(&world, &[]).exits(0);
    assert_eq!(world.read("one.txt"), "from the user's tree\n");
    assert_eq!(world.read("two.txt"), "from the user's tree\n");
    assert!(!world.path("installed").exists());
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    nothing_is_left(&world);
}

#[test]
fn a_preparation_that_fails_ends_the_run_and_shows_what_it_said() {
    let world = planned(TWO);
    world.write(SETTINGS, "---\nworktree_setup: echo no such registry >&2; exit 7\n---\n");
    world.commit_all();
    let failed = run(&world, &[]);
    failed.exits(1);
    assert!(failed.stderr.contains("worktree_setup failed (code 7)"), "{}", failed.stderr);
    assert!(failed.stderr.contains("no such registry"), "{}", failed.stderr);
    assert_eq!(world.count("failed"), 0, "it is not the task's fault");
    nothing_is_left(&world);
    world.write(SETTINGS, "---\nworktree_setup: 'true'\n---\n");
    run(&world, &[]).exits(0);
    assert_eq!(committed(&world).len(), 2);
}

#[test]
fn without_a_repository_groups_run_in_sequence_and_the_summary_says_so() {
    let world = World::empty();
    world.write(
        TASKS,
        "- [ ] 1.1 [P] a\n  ```sh\n  pwd > one\n  ```\n- [ ] 1.2 [P] b\n  ```sh\n  cp one two\n  ```\n",
    );
    world.write("specs/.current-spec", "test-spec\n");
    let call = run(&world, &[]);
    call.exits(0);
    assert!(
        call.stdout.contains("no commits") && call.stdout.contains("in sequence"),
        "{}",
        call.stdout
    );
    assert_eq!(world.read("two").trim_end(), world.root.to_str().unwrap(), "in the user's tree");
    assert!(!world.read(TASKS).contains("[ ]"));
    assert!(processes(&world).is_empty() && worktrees(&world).is_empty());
}

#[test]
fn a_repository_without_a_first_commit_is_worked_in_sequence() {
    let world = World::empty();
    world.write(TASKS, "- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n");
    world.write("specs/.current-spec", "test-spec\n");
    world.git(&["init", "--quiet", "--initial-branch=main"]);
    let agent = agent(
        &world,
        "mkdir dir; echo half > dir/$id.txt; git add dir\n\
         test -e $HOME/go || { echo in > $HOME/line; sleep 600; }; echo TASK_COMPLETE\n",
    );
    let mut line = Listener::new(&world, "line");
    let mut run = at_work(&world, &agent, &[]);
    line.line();
    send(&run, Signal::INT);
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert!(!world.path("dir").exists());
    let kept = world.git(&["show", "refs/specum/test-spec/kept/1.1-1:dir/1.1.txt"]);
    assert_eq!(kept, "half\n");
    fs::write(world.home().join("go"), "").unwrap();
    fs::write(
        world.home().join("agent.sh"),
        fs::read_to_string(world.home().join("agent.sh"))
            .unwrap()
            .replace("mkdir dir", "mkdir -p dir"),
    )
    .unwrap();
    run_with(&world, &agent, &[]).exits(0);
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    nothing_is_left(&world);
}

#[test]
fn a_home_behind_a_link_is_put_in_order_too() {
    let world = planned(TWO);
    let link = world.root.with_file_name("link");
    std::os::unix::fs::symlink(world.home(), &link).unwrap();
    let agent = agent(
        &world,
        "echo x > $id.txt; test -e $HOME/go || { echo in > $HOME/line; sleep 600; }\n\
         echo TASK_COMPLETE\n",
    );
    let mut line = Listener::new(&world, "line");
    let mut command = command_run(&world, &agent, &[]);
    let mut run = command.env("HOME", &link).stdout(std::process::Stdio::null()).spawn().unwrap();
    line.lines(2);
    send(&run, Signal::KILL);
    run.wait().unwrap();
    assert_eq!(worktrees(&world).len(), 2);
    fs::write(world.home().join("go"), "").unwrap();
    let mut command = command_run(&world, &agent, &[]);
    command.env("HOME", &link);
    call(command, b"").exits(0);
    assert_eq!(references(&world).len(), 2, "what was half done is kept");
    nothing_is_left(&world);
}

#[test]
fn doctor_finds_the_worktrees_of_a_killed_run_and_puts_them_away() {
    let world = planned(TWO);
    let agent = agent(&world, "echo half > $id.txt; echo in > $HOME/line; sleep 600\n");
    let mut line = Listener::new(&world, "line");
    let mut run = at_work(&world, &agent, &[]);
    line.lines(2);
    assert!(!world.specum(&["doctor"]).stdout.contains("was killed"), "a run is at work");
    world.specum(&["doctor", "--repair"]).exits(5);
    send(&run, Signal::KILL);
    run.wait().unwrap();
    let found = world.specum(&["doctor"]);
    assert!(found.exits(1).stdout.contains("has left 2 worktrees"), "{}", found.stdout);
    let repaired = world.specum(&["doctor", "--repair"]);
    assert!(repaired.exits(0).stdout.contains("repaired: test-spec"), "{}", repaired.stdout);
    nothing_is_left(&world);
    assert_eq!(references(&world).len(), 2, "what they had done is kept");
    assert!(state_home(&world).join("worktrees").exists());
    assert!(!world.read(PROGRESS).contains("1.1"), "nobody has failed");
}
