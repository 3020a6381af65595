//! Repositories as people have them. The numbers are those of the findings that
//! a campaign against `specum run` has brought.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use super::{
    agent, command_run, committed, nothing_is_left, planned, run, run_with, starts, works,
};
use crate::world::{PROGRESS, TASKS, World, call, executable, first_on_path};

/// Two tasks that each leave a file.
const TWO: &str = "\
- [ ] 1.1 One
  - **Verify**: `test -f out/1.1.txt`
- [ ] 1.2 Two
  - **Verify**: `test -f out/1.2.txt`
";

/// Does what its task asks for, and counts its starts.
const WORKS: &str =
    "echo x >> $HOME/starts; mkdir -p out; echo \"$id  \" > out/$id.txt; echo TASK_COMPLETE\n";

/// Formats what is staged and stages it again, as lint-staged does.
const FORMATS: &str = "for f in $(git diff --cached --name-only --diff-filter=ACM -- '*.txt'); do\n\
                       sed -i 's/ *$//' \"$f\"; git add \"$f\"; done\n";

/// Formats what is staged and leaves the files.
const FORMATS_INDEX: &str = "for f in $(git diff --cached --name-only --diff-filter=ACM -- '*.txt'); do\n\
                             blob=$(git show :$f | sed 's/ *$//' | git hash-object -w --stdin)\n\
                             git update-index --cacheinfo 100644,$blob,$f; done\n";

/// The paths of a commit.
fn paths_of(world: &World, commit: &str) -> Vec<String> {
    let list = world.git(&["show", "--name-only", "--format=", commit]);
    list.lines().map(str::to_owned).collect()
}

#[test]
fn finding_22_a_hook_that_formats_takes_one_agent_and_one_commit() {
    for plan in [TWO.to_owned(), TWO.replace(" One", " [P] One").replace(" Two", " [P] Two")] {
        let world = planned(&plan);
        world.git_hook("pre-commit", FORMATS);
        works(&world, WORKS, &[]).exits(0);
        assert_eq!(starts(&world), 2);
        assert_eq!(committed(&world), ["1.1", "1.2"]);
        assert_eq!(world.git(&["show", "HEAD:out/1.2.txt"]), "1.2\n", "as it was formatted");
        nothing_is_left(&world);
    }
}

#[test]
fn finding_22_what_a_hook_breaks_is_committed_and_named_and_repaired_by_the_next_attempt() {
    let check = "grep -q ' $' out/1.1.txt || test -f out/repaired";
    let world = planned(&format!("- [ ] 1.1 a\n  - **Verify**: `{check}`\n"));
    world.git_hook("pre-commit", FORMATS);
    let script = "echo x >> $HOME/starts; mkdir -p out; printf '%s' \"$brief\" > $HOME/brief\n\
                  test -f out/1.1.txt && touch out/repaired\n\
                  echo \"1.1 \" > out/1.1.txt; echo TASK_COMPLETE\n";
    let ended = works(&world, script, &[]);
    ended.exits(0);
    assert_eq!(starts(&world), 2);
    assert_eq!(committed(&world), ["1.1", "1.1"]);
    let first = world.git(&["rev-parse", "HEAD~1"]);
    let brief = fs::read_to_string(world.home().join("brief")).unwrap();
    let named = format!("a git hook changed out/1.1.txt in the commit {}", first.trim());
    assert!(brief.contains(&named), "{brief}");
    assert!(ended.stdout.contains("which stays"), "{}", ended.stdout);
    assert!(world.read(TASKS).starts_with("- [x] 1.1"));
    nothing_is_left(&world);
}

#[test]
fn finding_22_a_hook_may_format_the_commit_and_leave_the_file() {
    let world = planned(TWO);
    world.git_hook("pre-commit", FORMATS_INDEX);
    works(&world, WORKS, &[]).exits(0);
    assert_eq!(starts(&world), 2);
    assert_eq!(world.read("out/1.1.txt"), "1.1\n", "the file follows");
    nothing_is_left(&world);
}

#[test]
fn finding_22_hooks_see_no_options_of_ours() {
    let world = planned(TWO);
    world.git_hook("pre-commit", "echo \"${GIT_LITERAL_PATHSPECS-none}\" > $HOME/seen\n");
    works(&world, WORKS, &[]).exits(0);
    assert_eq!(fs::read_to_string(world.home().join("seen")).unwrap(), "none\n");
}

#[test]
fn finding_22_what_others_have_staged_stays_staged_and_out_of_the_commit() {
    let world = planned(TWO);
    world.write("mine.txt", "mine\n");
    world.write("both.txt", "old\n");
    world.git(&["add", "both.txt"]);
    world.git(&["commit", "--quiet", "-m", "old"]);
    world.write("both.txt", "staged\n");
    world.git(&["add", "mine.txt", "both.txt"]);
    // And while a hook works.
    let hook = format!("{FORMATS}echo > late.txt; GIT_INDEX_FILE=.git/index git add late.txt\n");
    world.git_hook("pre-commit", &hook);
    works(&world, WORKS, &["--allow-dirty"]).exits(0);
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    assert_eq!(paths_of(&world, "HEAD"), ["out/1.2.txt", PROGRESS, TASKS]);
    let staged = world.git(&["status", "--porcelain"]);
    assert_eq!(staged, "M  both.txt\nA  late.txt\nA  mine.txt\n");
}

#[test]
fn finding_23_hooks_that_add_files_leave_a_clean_index() {
    let world = planned(TWO);
    world.git_hook("pre-commit", "date +%s%N > VERSION; git add VERSION\n");
    works(&world, WORKS, &[]).exits(0);
    assert_eq!(starts(&world), 2);
    assert!(paths_of(&world, "HEAD").contains(&"VERSION".to_owned()));
    nothing_is_left(&world);
}

#[test]
fn a_file_that_a_hook_adds_to_a_refused_commit_does_not_keep_the_next_run_out() {
    let world = planned(TWO);
    let adds = "date +%s%N > VERSION; git add VERSION\n";
    world.git_hook("pre-commit", &format!("{adds}exit 1\n"));
    works(&world, WORKS, &["--max-task-iterations", "1"]).exits(6);
    assert!(world.path("VERSION").exists(), "the hook has left it");
    world.git_hook("pre-commit", adds);
    world.person(&["resume"]);
    works(&world, WORKS, &[]).exits(0);
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    nothing_is_left(&world);
}

#[test]
fn files_follow_a_commit_that_a_hook_has_changed_although_the_run_is_killed_behind_it() {
    let world = planned(TWO);
    world.git_hook("pre-commit", FORMATS_INDEX);
    // The hook's parent is git, and git's is the run.
    let kills = "kill -9 $(ps -o ppid= -p $(ps -o ppid= -p $$))\n";
    world.git_hook("post-commit", &format!("rm .git/hooks/post-commit; {kills}"));
    let agent = agent(&world, WORKS);
    assert_eq!(run_with(&world, &agent, &[]).code, None);
    run_with(&world, &agent, &[]).exits(0);
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    assert_eq!(world.read("out/1.1.txt"), "1.1\n", "the file follows");
    nothing_is_left(&world);
}

#[test]
fn files_follow_a_commit_that_a_hook_has_changed_although_git_fails_behind_it() {
    let world = planned(TWO);
    world.git_hook("pre-commit", FORMATS_INDEX);
    let bin = world.home().join("bin");
    fs::create_dir(&bin).unwrap();
    // It does its work and says that it has not, once.
    let fails = "case \"$*\" in *' restore '*) mkdir $HOME/once 2> /dev/null && {\n\
                 PATH=${PATH#*:} git \"$@\"; exit 128; };; esac\n";
    let script = format!("#!/bin/sh\n{fails}PATH=${{PATH#*:}} exec git \"$@\"\n");
    fs::write(bin.join("git"), script).unwrap();
    executable(&bin.join("git"));
    let agent = agent(&world, WORKS);
    let mut command = command_run(&world, &agent, &[]);
    command.env("PATH", first_on_path(&bin));
    call(command, b"").exits(1);
    run_with(&world, &agent, &[]).exits(0);
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    assert_eq!(world.read("out/1.1.txt"), "1.1\n", "the file follows");
    nothing_is_left(&world);
}

#[test]
fn finding_27_a_hook_that_changes_files_and_fails_once_takes_one_agent() {
    let world = planned(TWO);
    let script = "for f in $(git diff --cached --name-only --diff-filter=ACM -- '*.txt'); do\n\
                  cp $f $HOME/before; sed -i 's/ *$//' $f; cmp -s $f $HOME/before || failed=1; done\n\
                  exit ${failed-0}\n";
    world.git_hook("pre-commit", script);
    works(&world, WORKS, &[]).exits(0);
    assert_eq!(starts(&world), 2);
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    assert_eq!(world.git(&["show", "HEAD:out/1.2.txt"]), "1.2\n");
    nothing_is_left(&world);
}

#[test]
fn finding_22_killed_behind_a_commit_that_a_hook_has_changed_index_and_files_follow_it() {
    let world = planned(TWO);
    world.git_hook("pre-commit", FORMATS);
    let agent = agent(&world, WORKS);
    let killed = command_run(&world, &agent, &[]);
    // The hook's parent is git, and git's is the run.
    let hook = "kill -9 $(ps -o ppid= -p $(ps -o ppid= -p $$))\n";
    world.git_hook("post-commit", &format!("rm .git/hooks/post-commit; {hook}"));
    assert_eq!(call(killed, b"").code, None);
    run_with(&world, &agent, &[]).exits(0);
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    assert_eq!(starts(&world), 2);
    nothing_is_left(&world);
}

#[test]
fn finding_16_what_the_index_says_is_committed_as_the_agent_left_it() {
    for group in ["", "[P] "] {
        let plan = format!(
            "- [ ] 1.1 {group}Untrack\n  - **Verify**: `! git ls-files --error-unmatch secrets.env`\n\
             - [ ] 1.2 {group}Run\n  - **Verify**: `git ls-files -s run.sh | grep -q ^100755`\n"
        );
        let world = planned(&plan);
        world.write("secrets.env", "secret\n");
        world.write("run.sh", "true\n");
        world.commit_all();
        let script = "case $id in\n\
            1.1) git rm -q --cached secrets.env; echo secrets.env >> .gitignore;;\n\
            1.2) echo more >> run.sh; git update-index --chmod=+x run.sh; echo > new.sh; \
                 git add --chmod=+x new.sh;;\n\
            esac\necho x >> $HOME/starts; echo TASK_COMPLETE\n";
        works(&world, script, &[]).exits(0);
        assert_eq!(starts(&world), 2);
        let tree = world.git(&["ls-tree", "-r", "HEAD"]);
        assert!(!tree.contains("secrets.env"), "{tree}");
        let modes: Vec<&str> =
            tree.lines().filter(|line| line.ends_with(".sh")).map(|line| &line[..6]).collect();
        assert_eq!(modes, ["100755", "100755"], "{tree}");
        assert_eq!(world.git(&["show", "HEAD:run.sh"]), "true\nmore\n");
        if group.is_empty() {
            assert_eq!(world.read("secrets.env"), "secret\n", "the file stays");
        }
        assert_eq!(world.git(&["diff", "--cached", "--name-only"]), "");
    }
}

#[test]
fn finding_24_the_pointer_of_a_submodule_is_committed() {
    let world = planned("- [ ] 1.1 a\n");
    let other = World::planned("- [ ] 1.1 b\n");
    let url = other.root.to_str().unwrap();
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"];
    world.git(&add);
    world.commit_all();
    let script = "echo x >> $HOME/starts; echo 1 > sub/new; git -C sub add new\n\
                  git -C sub commit -q -m new; echo TASK_COMPLETE\n";
    works(&world, script, &[]).exits(0);
    assert_eq!(starts(&world), 1);
    assert!(paths_of(&world, "HEAD").contains(&"sub".to_owned()));
    nothing_is_left(&world);
}

#[test]
fn finding_24_a_pointer_that_is_moved_in_a_worktree_is_committed_with_its_commit() {
    let world = planned("- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n");
    let other = World::planned("- [ ] 1.1 b\n");
    let url = other.root.to_str().unwrap();
    let file = ["-c", "protocol.file.allow=always"];
    world.git(&[&file[..], &["submodule", "--quiet", "add", url, "sub"]].concat());
    world.commit_all();
    let script = "echo x >> $HOME/starts; test $id = 1.1 || { echo 1 > $id.txt; echo TASK_COMPLETE; exit; }\n\
                  git -c protocol.file.allow=always submodule --quiet update --init sub\n\
                  echo 1 > sub/new; git -C sub add new\n\
                  git -C sub -c user.name=a -c user.email=a@b commit -q -m new; echo TASK_COMPLETE\n";
    works(&world, script, &[]).exits(0);
    assert_eq!(starts(&world), 2);
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    assert_eq!(world.git(&["show", "HEAD:1.2.txt"]), "1\n");
    assert!(paths_of(&world, "HEAD~1").contains(&"sub".to_owned()));
    let sub = world.path("sub");
    assert_eq!(
        world.git(&["rev-parse", "HEAD:sub"]),
        world.git(&["-C", sub.to_str().unwrap(), "rev-parse", "HEAD"])
    );
    assert_eq!(world.read("sub/new"), "1\n");
    nothing_is_left(&world);
}

#[test]
fn finding_24_what_no_commit_takes_in_is_named_before_the_commit() {
    let world = planned("- [ ] 1.1 a\n");
    let other = World::planned("- [ ] 1.1 b\n");
    let url = other.root.to_str().unwrap();
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"];
    world.git(&add);
    world.commit_all();
    let two = ["--max-task-iterations", "2"];
    let nested = "git init -q out/repo; echo 1 > out/repo/in; echo TASK_COMPLETE\n";
    let ended = works(&world, nested, &two);
    let told = "out/repo/ is a git repository of its own";
    assert!(ended.exits(6).stdout.contains(told), "{}", ended.stdout);
    assert_eq!(committed(&world), [""; 0], "nothing is committed meanwhile");
    fs::remove_dir_all(world.path("out/repo")).unwrap();
    world.person(&["resume"]);
    let ended = works(&world, "echo 1 > sub/dirt; echo TASK_COMPLETE\n", &two);
    let told = "sub is a submodule with changes of its own: commit them in it";
    assert!(ended.exits(6).stdout.contains(told), "{}", ended.stdout);
    assert_eq!(committed(&world), [""; 0], "nothing is committed meanwhile");
}

#[test]
fn finding_25_submodules_that_are_followed_by_habit_do_not_end_a_group() {
    let world = planned("- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n");
    let other = World::planned("- [ ] 1.1 b\n");
    let url = other.root.to_str().unwrap();
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"];
    world.git(&add);
    world.commit_all();
    world.git(&["config", "submodule.recurse", "true"]);
    works(&world, "echo 1 > $id.txt; echo TASK_COMPLETE\n", &[]).exits(0);
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    nothing_is_left(&world);
}

#[test]
fn finding_28_ignored_spec_files_stay_out_of_commits() {
    for place in [".gitignore", ".git/info/exclude"] {
        let world = World::empty();
        world.git_init();
        world.write(place, "specs/\n");
        if place == ".gitignore" {
            world.commit_all();
        }
        world.write(TASKS, TWO);
        world.write("specs/.current-spec", "test-spec\n");
        works(&world, WORKS, &[]).exits(0);
        assert_eq!(world.git(&["ls-files", "specs"]), "", "{place}");
        assert_eq!(committed(&world), ["1.1", "1.2"]);
        assert!(!world.read(TASKS).contains("- [ ]"));
        nothing_is_left(&world);
    }
}

#[test]
fn finding_29_the_state_folder_stays_out_of_commits_wherever_it_lies() {
    let world = planned(&TWO.replace(" One", " [P] One").replace(" Two", " [P] Two"));
    let agent = agent(&world, WORKS);
    let mut command = command_run(&world, &agent, &[]);
    command.env("XDG_STATE_HOME", world.path(".state"));
    call(command, b"").exits(0);
    world.write(TASKS, "- [ ] 2.1 a\n");
    let mut command = command_run(&world, &agent, &[]);
    command.env("XDG_STATE_HOME", world.path(".state"));
    call(command, b"").exits(0);
    assert_eq!(committed(&world), ["1.1", "1.2", "2.1"]);
    assert_eq!(world.git(&["log", "--format=%s", "--", ".state"]), "");
    assert!(world.path(".state/specum/logs").exists());
}

#[test]
fn finding_30_paths_are_bytes() {
    for group in ["", "[P] "] {
        let world = planned(&format!("- [ ] 1.1 {group}a\n- [ ] 1.2 {group}b\n"));
        let script = "echo x >> $HOME/starts; mkdir -p out; printf 1 > \"out/$(printf 'a\\377')$id\"\n\
                      echo TASK_COMPLETE\n";
        works(&world, script, &[]).exits(0);
        assert_eq!(starts(&world), 2);
        let list = world.git(&["ls-tree", "-r", "--name-only", "HEAD", "out"]);
        assert_eq!(list, "\"out/a\\3771.1\"\n\"out/a\\3771.2\"\n");
        nothing_is_left(&world);
    }
}

#[test]
fn finding_30_a_project_may_lie_below_a_path_that_is_no_text() {
    let place = tempfile::tempdir().unwrap();
    let odd = place.path().join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&odd).unwrap();
    let world = World::at(tempfile::tempdir_in(&odd).unwrap());
    let task = |id: &str, mark: &str| {
        format!("- [ ] {id} {mark}Make a file\n  ```sh\n  echo > {id}.txt\n  ```\n")
    };
    let group = task("1.2", "[P] ") + &task("1.3", "[P] ");
    world.write(TASKS, task("1.1", "") + &group);
    world.write("specs/.current-spec", "test-spec\n");
    world.git_init();
    run(&world, &[]).exits(0);
    assert_eq!(committed(&world), ["1.1", "1.2", "1.3"]);
    nothing_is_left(&world);
}

/// How often a run of this many tasks starts git.
fn git_starts(tasks: usize) -> usize {
    let task =
        |n: usize| format!("- [ ] 1.{n} Task {n}\n  - **Verify**: `test -f out/1.{n}.txt`\n");
    let world = planned(&(1..=tasks).map(task).collect::<String>());
    let (counted, path) = (world.home().join("bin"), std::env::var("PATH").unwrap());
    fs::create_dir(&counted).unwrap();
    let script =
        format!("#!/bin/sh\necho x >> \"$HOME/git-starts\"\nPATH='{path}'\nexec git \"$@\"\n");
    fs::write(counted.join("git"), script).unwrap();
    executable(&counted.join("git"));
    let mut command = command_run(&world, &agent(&world, WORKS), &[]);
    command.env("PATH", first_on_path(&counted));
    call(command, b"").exits(0);
    assert_eq!(committed(&world).len(), tasks);
    fs::read_to_string(world.home().join("git-starts")).unwrap().lines().count()
}

#[test]
fn a_task_takes_four_starts_of_git() {
    // The look before the verdict, staging, the commit, and the look behind it.
    assert_eq!(git_starts(5) - git_starts(2), 3 * 4);
}

#[test]
fn what_a_check_stages_stays_out_of_the_commit() {
    let world = planned(TWO);
    world.write(TASKS, TWO.replace("`test", "`echo > mine.txt; git add mine.txt; test"));
    world.commit_all();
    works(&world, WORKS, &[]).exits(0);
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    assert_eq!(paths_of(&world, "HEAD~1"), ["out/1.1.txt", PROGRESS, TASKS]);
    assert!(world.git(&["status", "--porcelain"]).contains("A  mine.txt"), "it stays staged");
}

#[test]
fn a_plan_that_is_taken_out_of_the_repository_during_a_run_stays_out() {
    let world = planned(TWO);
    let script = format!(
        "if [ $id = 1.2 ]; then echo specs/ >> .git/info/exclude; \
         git rm -r -q --cached specs; git commit -q -m 'Keep plans out'; fi\n{WORKS}"
    );
    works(&world, &script, &[]).exits(0);
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    assert_eq!(world.git(&["ls-files", "specs"]), "");
    assert!(!world.read(TASKS).contains("- [ ]"));
}
