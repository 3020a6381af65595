//! `--isolate`: tasks are worked beside the tree, in which a person works on.

/// An isolated run that is killed at every step.
mod killed;

use std::fs;
use std::process::{Child, Stdio};

use rustix::process::Signal;

use super::{
    Listener, agent, at_work, committed, nothing_is_left, planned, references, run, run_command,
    send, state_home, works, worktrees,
};
use crate::world::{PROGRESS, TASKS, World, call, fifo, gate};

const SETTINGS: &str = ".claude/ralph-specum.local.md";
const ONE: &str = "- [ ] 1.1 a\n  - **Verify**: `grep -q 1.1 1.1.txt`\n";
const TWO: &str = "- [ ] 1.1 a\n- [ ] 1.2 b\n";
const READY: &str = "refs/specum/test-spec/ready/1.1";
const KEPT: &str = "refs/specum/test-spec/kept/1.1-1";

/// Writes its file, says so and waits at the gate.
const WAITS: &str = "echo $id > $id.txt; echo $id > $HOME/line; cat $HOME/gate.$id\n\
                     echo TASK_COMPLETE\n";

/// A repository with a plan, a file of the person's, and settings.
fn isolated(tasks: &str, settings: &str) -> World {
    let world = planned(tasks);
    world.write("README.md", "as it was\n");
    world.write(".gitignore", ".claude/\nignored/\ntarget/\n");
    world.git(&["add", "README.md", ".gitignore"]);
    world.git(&["commit", "--quiet", "-m", "readme"]);
    world.write(SETTINGS, format!("---\nisolate: true\n{settings}---\n"));
    world
}

/// A run whose agents wait at their gates.
struct Waiting {
    run: Child,
    line: Listener,
}

impl Waiting {
    fn start(world: &World, ids: &[&str], script: &str) -> Waiting {
        for id in ids {
            fifo(&world.home().join(format!("gate.{id}")));
        }
        let agent = agent(world, script);
        let line = Listener::new(world, "line");
        Waiting { run: at_work(world, &agent, &[]), line }
    }

    /// The next task that an agent has come to the end of.
    fn waits(&mut self) -> String {
        self.line.line()
    }

    fn lets_go(&self, world: &World, id: &str) {
        drop(gate(&world.home().join(format!("gate.{id}"))));
    }

    #[track_caller]
    fn ends(&mut self, code: i32) {
        assert_eq!(self.run.wait().unwrap().code(), Some(code));
    }
}

fn show(world: &World, path: &str) -> String {
    world.git(&["show", &format!("HEAD:{path}")])
}

fn seen(world: &World, name: &str) -> String {
    fs::read_to_string(world.home().join(name)).unwrap()
}

#[test]
fn tasks_in_sequence_are_worked_beside_the_tree_in_one_worktree() {
    let world = isolated(TWO, "");
    let ended = works(&world, "pwd > $HOME/pwd.$id; echo $id > $id.txt; echo TASK_COMPLETE\n", &[]);
    ended.exits(0);
    let place = seen(&world, "pwd.1.1");
    assert!(place.starts_with(state_home(&world).to_str().unwrap()), "{place}");
    assert_eq!(place, seen(&world, "pwd.1.2"), "the same one");
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    assert_eq!(world.read("1.1.txt"), "1.1\n", "index and files follow");
    assert_eq!(world.read(TASKS), TWO.replace("[ ]", "[x]"));
    assert_eq!(world.git(&["branch", "--show-current"]), "main\n");
    nothing_is_left(&world);
}

#[test]
fn without_it_tasks_in_sequence_are_worked_in_the_tree() {
    let world = isolated(ONE, "");
    works(
        &world,
        "pwd > $HOME/pwd; echo $id > $id.txt; echo TASK_COMPLETE\n",
        &["--isolate=false"],
    )
    .exits(0);
    assert_eq!(seen(&world, "pwd").trim_end(), world.root.to_str().unwrap());
}

#[test]
fn the_setup_prepares_the_worktree_once() {
    let world = isolated(
        TWO,
        "worktree_setup: echo x >> $HOME/setups && mkdir ignored && echo left > ignored/by-setup\n",
    );
    works(&world, "cat ignored/by-setup > $id.txt; echo TASK_COMPLETE\n", &[]).exits(0);
    assert_eq!(seen(&world, "setups"), "x\n");
    assert_eq!(show(&world, "1.2.txt"), "left\n");
}

#[test]
fn before_each_attempt_the_worktree_is_put_back_to_what_the_setup_left() {
    let world = isolated(
        TWO,
        "worktree_setup: echo set up >> README.md; mkdir ignored; echo left > ignored/by-setup\n",
    );
    let script = "ls -A . ignored > $HOME/ls.$id; cat README.md > $HOME/readme.$id\n\
                  echo $id > $id.txt; mkdir -p ignored/deep new; echo x > ignored/deep/x\n\
                  echo wrong > new/wrong.txt; git init --quiet new/repo\n\
                  test $id.$SPECUM_ATTEMPT = 1.1.1 && exit 1; rm -r new; echo TASK_COMPLETE\n";
    works(&world, script, &[]).exits(0);
    let ls = seen(&world, "ls.1.2");
    assert!(ls.contains("by-setup") && ls.contains("1.1.txt"), "{ls}");
    assert!(!ls.contains("deep") && !ls.contains("new"), "{ls}");
    assert_eq!(seen(&world, "readme.1.2"), "as it was\nset up\n", "once");
    assert_eq!(show(&world, "README.md"), "as it was\n", "the setup's changes are no work");
    assert_eq!(committed(&world), ["1.1", "1.2"]);
}

#[test]
fn what_an_attempt_changes_of_what_the_setup_left_is_set_up_again() {
    let world = isolated(
        TWO,
        "worktree_setup: echo x >> $HOME/setups; mkdir -p ignored; echo left > ignored/by-setup\n",
    );
    let script = "cat ignored/by-setup > $id.txt; echo spoilt > ignored/by-setup\n\
                  echo TASK_COMPLETE\n";
    let ended = works(&world, script, &[]);
    let said = &ended.exits(0).stdout;
    assert!(said.contains("the worktree is set up again: ignored/by-setup"), "{said}");
    assert_eq!(
        (show(&world, "1.2.txt").as_str(), seen(&world, "setups").as_str()),
        ("left\n", "x\nx\n")
    );
}

#[test]
fn caches_stay_from_one_attempt_to_the_next() {
    let world = isolated(TWO, "worktree_caches: [./target]\nworktree_setup: mkdir -p target\n");
    let script = "cat target/built ignored/built > $HOME/built.$id 2>/dev/null\n\
                  mkdir ignored; echo $id > target/built; echo $id > ignored/built\n\
                  echo $id > $id.txt; echo TASK_COMPLETE\n";
    works(&world, script, &[]).exits(0);
    assert_eq!(
        (seen(&world, "built.1.1").as_str(), seen(&world, "built.1.2").as_str()),
        ("", "1.1\n")
    );
}

#[test]
fn a_dirty_tree_is_not_refused_and_stays_as_it_is() {
    let world = isolated(TWO, "");
    world.write("README.md", "edited\n");
    world.write("mine.txt", "mine\n");
    world.write("staged.txt", "staged\n");
    world.git(&["add", "staged.txt"]);
    works(&world, "ls > $HOME/ls; echo $id > $id.txt; echo TASK_COMPLETE\n", &[]).exits(0);
    assert!(!seen(&world, "ls").contains("mine.txt"));
    let status = world.git(&["status", "--porcelain"]);
    assert_eq!(status, " M README.md\nA  staged.txt\n?? mine.txt\n");
    assert_eq!(world.read("README.md"), "edited\n");
    let touched = world.git(&["show", "--format=", "--name-only", "HEAD"]);
    assert_eq!(touched.lines().collect::<Vec<_>>(), ["1.2.txt", PROGRESS, TASKS]);
}

#[test]
fn finding_7_what_a_person_edits_meanwhile_is_theirs() {
    let world = isolated(ONE, "");
    let mut waiting = Waiting::start(&world, &["1.1"], WAITS);
    waiting.waits();
    world.write("README.md", "edited\n");
    world.write("staged.txt", "staged\n");
    world.git(&["add", "staged.txt"]);
    waiting.lets_go(&world, "1.1");
    waiting.ends(0);
    assert_eq!(world.git(&["status", "--porcelain"]), " M README.md\nA  staged.txt\n");
    assert_eq!(show(&world, "README.md"), "as it was\n");
    assert_eq!(committed(&world), ["1.1"]);
}

#[test]
fn finding_7_after_ctrl_c_what_a_person_has_edited_stays_and_the_work_is_kept() {
    let world = isolated(ONE, "");
    let mut waiting = Waiting::start(&world, &["1.1"], WAITS);
    waiting.waits();
    world.write("README.md", "edited\n");
    send(&waiting.run, Signal::INT);
    waiting.ends(130);
    assert_eq!(world.git(&["status", "--porcelain"]), " M README.md\n");
    assert_eq!(world.git(&["show", &format!("{KEPT}:1.1.txt")]), "1.1\n");
    assert_eq!(world.git(&["show", &format!("{KEPT}:README.md")]), "as it was\n");
    assert!(worktrees(&world).is_empty());
    works(&world, "echo $id > $id.txt; echo TASK_COMPLETE\n", &[]).exits(0);
    assert_eq!(committed(&world), ["1.1"]);
    assert_eq!(world.git(&["status", "--porcelain"]), " M README.md\n");
}

#[test]
fn a_persons_own_commits_are_the_next_base() {
    let world = isolated(TWO, "");
    let script = "cat README.md > $HOME/readme.$id\n".to_owned() + WAITS;
    let mut waiting = Waiting::start(&world, &["1.1", "1.2"], &script);
    waiting.waits();
    world.write("README.md", "by a person\n");
    world.git(&["commit", "--quiet", "-am", "mine"]);
    waiting.lets_go(&world, "1.1");
    assert_eq!(waiting.waits(), "1.2");
    waiting.lets_go(&world, "1.2");
    waiting.ends(0);
    assert_eq!(seen(&world, "readme.1.2"), "by a person\n");
    let log = world.git(&["log", "--reverse", "--format=%s", "-3"]);
    assert_eq!(log, "mine\na\nb\n");
    assert_eq!(show(&world, "README.md"), "by a person\n");
    nothing_is_left(&world);
}

#[test]
fn the_check_that_counts_runs_on_the_newest_commit() {
    // It fails with what the person commits meanwhile, and passes when it is done again.
    let world =
        isolated("- [ ] 1.1 a\n  - **Verify**: `test ! -e needed || grep -q needed 1.1.txt`\n", "");
    let script = "ls > $id.txt; echo $id > $HOME/line; cat $HOME/gate.$id; echo TASK_COMPLETE\n";
    let mut waiting = Waiting::start(&world, &["1.1"], script);
    waiting.waits();
    world.write("needed", "by a person\n");
    world.git(&["add", "needed"]);
    world.git(&["commit", "--quiet", "-m", "mine"]);
    waiting.lets_go(&world, "1.1");
    waiting.waits();
    waiting.lets_go(&world, "1.1");
    waiting.ends(0);
    assert_eq!((world.count("set-aside"), world.count("failed")), (1, 0));
    assert!(show(&world, "1.1.txt").contains("needed"));
    nothing_is_left(&world);
}

#[test]
fn what_conflicts_with_a_persons_commit_is_done_again_on_top_of_it() {
    let world = isolated("- [ ] 1.1 a\n", "");
    let script = "printf '%s' \"$brief\" > $HOME/brief; sed -i \"s/$/ $id/\" README.md\n\
                  echo $id > $HOME/line; cat $HOME/gate.$id; echo TASK_COMPLETE\n";
    let mut waiting = Waiting::start(&world, &["1.1"], script);
    waiting.waits();
    world.write("README.md", "by a person\n");
    world.git(&["commit", "--quiet", "-am", "mine"]);
    waiting.lets_go(&world, "1.1");
    waiting.waits();
    let brief = seen(&world, "brief");
    assert!(brief.contains("conflicts with what was committed meanwhile in README.md"), "{brief}");
    assert!(brief.contains(KEPT), "{brief}");
    waiting.lets_go(&world, "1.1");
    waiting.ends(0);
    assert_eq!(show(&world, "README.md"), "by a person 1.1\n");
    nothing_is_left(&world);
}

#[test]
fn history_that_a_person_rewrites_meanwhile_is_the_base_as_it_is_now() {
    let world = isolated(ONE, "");
    let mut waiting = Waiting::start(&world, &["1.1"], WAITS);
    waiting.waits();
    world.git(&["rm", "--quiet", "--cached", "README.md"]);
    fs::remove_file(world.path("README.md")).unwrap();
    world.git(&["commit", "--quiet", "--amend", "-m", "amended"]);
    waiting.lets_go(&world, "1.1");
    waiting.ends(0);
    let log = world.git(&["log", "--format=%s", "-2"]);
    assert_eq!(log, "a\namended\n");
    assert!(!world.path("README.md").exists(), "what the person has taken out stays out");
    nothing_is_left(&world);
}

/// What a person does to a file that the result changes too.
type Edit = fn(&World);

const EDITS: [(&str, &str, Edit); 6] = [
    ("changed", "README.md", |world| world.write("README.md", "by a person\n")),
    ("deleted", "README.md", |world| fs::remove_file(world.path("README.md")).unwrap()),
    ("staged", "README.md", |world| {
        world.write("README.md", "by a person\n");
        world.git(&["add", "README.md"]);
        world.write("README.md", "as it was\n");
    }),
    ("made", "1.1.txt", |world| world.write("1.1.txt", "by a person\n")),
    ("made, and ignored", "ignored/x", |world| world.write("ignored/x", "by a person\n")),
    ("made a folder", "1.1.txt", |world| world.write("1.1.txt/mine", "by a person\n")),
];

#[test]
fn files_the_person_has_changed_are_not_touched_and_the_run_pauses() {
    for (what, path, edit) in EDITS {
        let world = isolated(ONE, "");
        let script = "echo by an agent >> README.md\n\
                      mkdir ignored; echo x > ignored/x; git add --force ignored/x\n"
            .to_owned()
            + WAITS;
        let mut waiting = Waiting::start(&world, &["1.1"], &script);
        waiting.waits();
        edit(&world);
        let look = || {
            let status = world.git(&["status", "--porcelain"]);
            (status, world.git(&["ls-files", "--stage"]), fs::read(world.path(path)).ok())
        };
        let before = look();
        waiting.lets_go(&world, "1.1");
        waiting.ends(6);
        assert_eq!(look(), before, "{what}");
        assert!(references(&world).contains(&READY.to_owned()), "{what}: the result is kept");
        assert_eq!(world.read(TASKS), ONE, "{what}: and the box is open");
        let told = world.specum(&["status"]).stdout;
        assert!(told.contains(path) && told.contains(READY), "{what}: {told}");
        // Put away, it is taken in, and nobody works it again.
        world.git(&["reset", "--quiet", "--hard"]);
        for made in ["1.1.txt", "ignored"].map(|made| world.path(made)) {
            let _ = fs::remove_file(&made).or_else(|_| fs::remove_dir_all(&made));
        }
        works(&world, "exit 1\n", &[]).exits(0);
        assert_eq!(committed(&world), ["1.1"], "{what}");
        assert_eq!(show(&world, "README.md"), "as it was\nby an agent\n", "{what}");
        assert_eq!(world.read("ignored/x"), "x\n", "{what}");
    }
}

#[test]
fn a_result_that_waits_is_taken_in_by_a_run_that_is_not_isolated_too() {
    let world = isolated(ONE, "");
    world.write("1.1.txt", "mine\n");
    works(&world, "echo $id > $id.txt; echo TASK_COMPLETE\n", &[]).exits(6);
    fs::remove_file(world.path("1.1.txt")).unwrap();
    works(&world, "exit 1\n", &["--isolate=false"]).exits(0);
    assert_eq!(committed(&world), ["1.1"]);
    assert_eq!(world.read("1.1.txt"), "1.1\n");
    nothing_is_left(&world);
}

#[test]
fn a_plan_that_the_person_edits_meanwhile_is_worked_as_it_is_now() {
    let world = isolated("- [ ] 1.1 a\n", "");
    let mut waiting = Waiting::start(&world, &["1.1", "1.2"], WAITS);
    waiting.waits();
    world.write(TASKS, "# Plan\n\n- [ ] 1.1 a\n- [ ] 1.2 b\n");
    waiting.lets_go(&world, "1.1");
    assert_eq!(waiting.waits(), "1.2");
    assert_eq!(show(&world, "specs/test-spec/tasks.md"), "# Plan\n\n- [x] 1.1 a\n- [ ] 1.2 b\n");
    waiting.lets_go(&world, "1.2");
    waiting.ends(0);
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    nothing_is_left(&world);
}

#[test]
fn another_branch_pauses_the_run_and_the_result_waits() {
    let world = isolated(ONE, "");
    let mut waiting = Waiting::start(&world, &["1.1"], WAITS);
    waiting.waits();
    world.git(&["switch", "--quiet", "-c", "mine"]);
    waiting.lets_go(&world, "1.1");
    waiting.ends(6);
    world.git(&["switch", "--quiet", "main"]);
    world.git(&["branch", "--quiet", "-D", "mine"]);
    works(&world, "exit 1\n", &[]).exits(0);
    assert_eq!(committed(&world), ["1.1"]);
    nothing_is_left(&world);
}

#[test]
fn the_work_of_a_failed_attempt_is_kept_and_the_next_one_is_told() {
    let world = isolated("- [ ] 1.1 a\n  - **Verify**: `grep -q right 1.1.txt`\n", "");
    let script = "printf '%s' \"$brief\" > $HOME/brief; ls > $HOME/ls\n\
                  test $SPECUM_ATTEMPT = 2 && git show HEAD:README.md > right.txt\n\
                  test $SPECUM_ATTEMPT = 2 && echo right > 1.1.txt || echo wrong > 1.1.txt\n\
                  echo TASK_COMPLETE\n";
    works(&world, script, &[]).exits(0);
    assert!(seen(&world, "brief").contains(&format!("git show {KEPT}")));
    assert!(!seen(&world, "ls").contains("1.1.txt"), "it begins anew");
    assert_eq!(world.git(&["show", &format!("{KEPT}:1.1.txt")]), "wrong\n");
    assert_eq!(show(&world, "1.1.txt"), "right\n");
    nothing_is_left(&world);
}

#[test]
fn what_an_executor_has_learned_comes_along() {
    let world = isolated(ONE, "");
    let script = "echo '- learned by 1.1' > specs/test-spec/.progress-task-0.md\n\
                  echo $id > $id.txt; echo TASK_COMPLETE\n";
    works(&world, script, &[]).exits(0);
    assert_eq!(show(&world, PROGRESS).matches("- learned by 1.1").count(), 1);
    nothing_is_left(&world);
}

#[test]
fn a_check_runs_in_the_worktree_and_an_agent_mends_there() {
    let world = isolated(
        "- [ ] V1 [VERIFY] Good\n  - **Verify**: `grep -q 'as it was' README.md`\n\
         - [ ] V2 [VERIFY] Fixed\n  - **Verify**: `touch by-check; grep -q fixed README.md`\n",
        "",
    );
    // In the user's tree it would fail.
    world.write("README.md", "half done\n");
    let script = "ls > $HOME/ls; echo fixed > by-agent; echo 'as it was, fixed' > README.md\n\
                  echo VERIFICATION_PASS\n";
    let ended = works(&world, script, &[]);
    ended.exits(6);
    assert_eq!(committed(&world), ["V1"], "{}", ended.stdout);
    assert!(!seen(&world, "ls").contains("by-check"));
    assert_eq!(world.read("README.md"), "half done\n");
    world.git(&["checkout", "--quiet", "README.md"]);
    works(&world, "exit 1\n", &[]).exits(0);
    assert_eq!(committed(&world), ["V1", "V2"]);
    assert_eq!(world.read("README.md"), "as it was, fixed\n");
    nothing_is_left(&world);
}

#[test]
fn a_group_is_taken_in_beside_a_persons_changes_too() {
    let world = isolated(
        "- [ ] 1.1 [P] a\n  - **Verify**: `grep -q 'as it was' README.md`\n\
         - [ ] 1.2 [P] b\n  - **Verify**: `grep -q 'as it was' README.md`\n- [ ] 1.3 c\n",
        "",
    );
    world.write("README.md", "half done\n");
    works(&world, "echo $id > $id.txt; echo TASK_COMPLETE\n", &[]).exits(0);
    assert_eq!(committed(&world), ["1.1", "1.2", "1.3"]);
    assert_eq!(world.count("set-aside"), 0);
    assert_eq!(world.git(&["status", "--porcelain"]), " M README.md\n");
}

#[test]
fn hooks_and_name_are_the_users_and_hooks_see_what_is_committed() {
    let world = isolated(ONE, "");
    world.write("README.md", "half done\n");
    // Formats what is staged, and refuses what is not finished.
    let hook = "#!/bin/sh\ngrep -q half README.md && exit 1\n\
                for file in $(git diff --cached --name-only -- '*.txt'); do\n\
                  echo formatted >> $file; git add $file\ndone\n";
    world.write(".git/hooks/pre-commit", hook);
    let path = world.path(".git/hooks/pre-commit");
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    works(&world, "echo $id > $id.txt; echo TASK_COMPLETE\n", &[]).exits(0);
    assert_eq!(show(&world, "1.1.txt"), "1.1\nformatted\n");
    assert_eq!(world.read("1.1.txt"), "1.1\nformatted\n");
    assert_eq!(world.git(&["log", "-1", "--format=%an %cn"]), "Test Test\n");
    assert_eq!(world.git(&["status", "--porcelain"]), " M README.md\n");
}

#[test]
fn a_hook_that_refuses_fails_the_attempt_and_the_work_is_kept() {
    let world = isolated(ONE, "max_task_iterations: 1\n");
    world.write(".git/hooks/pre-commit", "#!/bin/sh\necho not like this; exit 1\n");
    let path = world.path(".git/hooks/pre-commit");
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let ended = works(&world, "echo $id > $id.txt; echo TASK_COMPLETE\n", &[]);
    assert!(ended.exits(6).stdout.contains("not like this"), "{}", ended.stdout);
    assert_eq!(world.read(TASKS), ONE, "the box is open again");
    assert_eq!(world.git(&["show", &format!("{KEPT}:1.1.txt")]), "1.1\n");
    assert!(!world.path("1.1.txt").exists());
}

/// A hook that does something as a person might at the same moment, once.
fn with_hook(world: &World, script: &str) {
    let project = world.root.display();
    let once = format!(
        "#!/bin/sh\ntest -e $HOME/hooked && exit 0\ntouch $HOME/hooked\n\
         unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE; cd {project} || exit 1\n{script}\n"
    );
    world.write(".git/hooks/pre-commit", &once);
    let path = world.path(".git/hooks/pre-commit");
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn a_file_that_the_person_changes_in_the_last_moment_is_not_touched() {
    let world = isolated(ONE, "");
    with_hook(&world, "echo in the last moment > README.md");
    let script = "echo by an agent >> README.md; echo $id > $id.txt; echo TASK_COMPLETE\n";
    let ended = works(&world, script, &[]);
    let said = format!("{}{}", ended.stdout, ended.exits(6).stderr);
    assert!(said.contains("README.md was changed by you"), "{said}");
    assert_eq!(world.read("README.md"), "in the last moment\n");
    assert!(!world.path("1.1.txt").exists() && committed(&world).is_empty());
    works(&world, "exit 1\n", &[]).exits(6);
    assert_eq!(world.read("README.md"), "in the last moment\n", "as long as it is there");
    world.git(&["checkout", "--quiet", "README.md"]);
    works(&world, "exit 1\n", &[]).exits(0);
    assert_eq!(committed(&world), ["1.1"]);
    assert_eq!(world.read("README.md"), "as it was\nby an agent\n");
    nothing_is_left(&world);
}

#[test]
fn a_commit_that_the_person_makes_in_the_last_moment_is_the_base() {
    let world = isolated(ONE, "");
    with_hook(&world, "echo mine > mine.txt; git add mine.txt; git commit --quiet -m mine");
    works(&world, "echo $id > $id.txt; echo TASK_COMPLETE\n", &[]).exits(0);
    let log = world.git(&["log", "--format=%s", "-2"]);
    assert_eq!(log, "a\nmine\n");
    assert_eq!(
        (show(&world, "mine.txt").as_str(), world.read("1.1.txt").as_str()),
        ("mine\n", "1.1\n")
    );
    nothing_is_left(&world);
}

#[test]
fn a_merge_under_way_and_conflicts_pause_the_run() {
    for end in ["git merge --abort", "git reset --quiet --hard"] {
        let world = isolated(ONE, "");
        world.git(&["switch", "--quiet", "-c", "other"]);
        world.write("README.md", "other\n");
        world.git(&["commit", "--quiet", "-am", "other"]);
        world.git(&["switch", "--quiet", "main"]);
        world.write("README.md", "mine\n");
        world.git(&["commit", "--quiet", "-am", "mine"]);
        let mut waiting = Waiting::start(&world, &["1.1"], WAITS);
        waiting.waits();
        let shell = |script: &str| {
            let mut command = std::process::Command::new("sh");
            command.args(["-c", script]).current_dir(&world.root).status().unwrap()
        };
        shell("git merge --quiet other");
        if end.contains("reset") {
            // As `git stash pop` leaves it: conflicts, and no merge.
            fs::remove_file(world.path(".git/MERGE_HEAD")).unwrap();
        }
        let status = world.git(&["status", "--porcelain"]);
        waiting.lets_go(&world, "1.1");
        waiting.ends(6);
        assert_eq!(world.git(&["status", "--porcelain"]), status, "{end}");
        shell(end);
        works(&world, "exit 1\n", &[]).exits(0);
        assert_eq!(committed(&world), ["1.1"], "{end}");
    }
}

#[test]
fn an_agent_that_breaks_the_worktree_harms_neither_the_next_one_nor_the_tree() {
    let harms = [
        "touch $(git rev-parse --git-dir)/index.lock",
        "git checkout --quiet -b agents-own && git commit --quiet --allow-empty -m own",
        "rm .git",
        "wt=$PWD; cd ..; rm -rf $wt; ln -s $SPECUM_TEST_PROJECT $wt",
    ];
    for harm in harms {
        let world = isolated(TWO, "");
        world.write("mine.txt", "mine\n");
        let script = format!(
            "SPECUM_TEST_PROJECT={}; echo $id > $id.txt\n\
             test $id.$SPECUM_ATTEMPT = 1.1.1 && {{ {harm}; }}; echo TASK_COMPLETE\n",
            world.root.display()
        );
        works(&world, &script, &[]).exits(0);
        assert_eq!(committed(&world), ["1.1", "1.2"], "{harm}");
        assert_eq!(world.git(&["status", "--porcelain"]), "?? mine.txt\n", "{harm}");
        assert!(worktrees(&world).is_empty(), "{harm}");
    }
}

#[test]
fn without_a_commit_it_is_refused_with_the_next_step() {
    let world = World::empty();
    world.write(TASKS, ONE);
    world.write("specs/.current-spec", "test-spec\n");
    let refused = run(&world, &["--isolate"]);
    assert!(refused.exits(2).stderr.contains("`git init` makes one"), "{}", refused.stderr);
    world.git(&["init", "--quiet"]);
    let refused = run(&world, &["--isolate"]);
    assert!(refused.exits(2).stderr.contains("commit something first"), "{}", refused.stderr);
}

#[test]
fn a_dry_run_says_where_tasks_are_worked() {
    let world = isolated(ONE, "");
    let told = run(&world, &["--dry-run"]);
    assert!(told.exits(0).stdout.contains("in a worktree, not in your tree"), "{}", told.stdout);
    let mut command = run_command(&world, &["--dry-run", "--json"]);
    command.env("SPECUM_ISOLATE", "false").stdin(Stdio::null());
    let told = call(command, b"");
    assert!(told.exits(0).stdout.contains("\"isolate\": false"), "{}", told.stdout);
}
