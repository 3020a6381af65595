//! What keeps git from working: found before an agent is paid, waited for, or put
//! right; and what git and others are told by their environment.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;

use super::{
    Listener, agent, at_work, command_run, committed, nothing_is_left, planned, run, run_command,
    run_with, send, starts, works, worktrees,
};
use crate::world::{JOURNAL, World, call, executable, fifo, first_on_path, gate, until};

const ONE: &str = "- [ ] 1.1 a\n";
const TWO: &str = "- [ ] 1.1 a\n- [ ] 1.2 b\n";
const GROUP: &str = "- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n";
const WORKS: &str = "echo x >> $HOME/starts; echo 1 > $id.txt; echo TASK_COMPLETE\n";

/// A program that takes the place of git, and may ask it.
fn instead_of_git(world: &World, script: &str) -> std::ffi::OsString {
    let bin = world.home().join("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join("git"), format!("#!/bin/sh\n{script}PATH=${{PATH#*:}} exec git \"$@\"\n"))
        .unwrap();
    executable(&bin.join("git"));
    first_on_path(&bin)
}

#[test]
fn finding_26_a_key_that_is_not_there_is_found_before_an_agent_is_paid() {
    let world = planned(ONE);
    world.git(&["config", "commit.gpgSign", "true"]);
    world.git(&["config", "gpg.program", "/bin/false"]);
    let ended = works(&world, WORKS, &[]);
    assert!(ended.exits(1).stderr.contains("gpg failed to sign"), "{}", ended.stderr);
    assert_eq!(starts(&world), 0);
    assert!(!world.path(JOURNAL).exists());
    let doctor = world.specum(&["doctor"]);
    assert!(doctor.exits(1).stdout.contains("gpg failed to sign"), "{}", doctor.stdout);
}

#[test]
fn finding_26_a_key_that_is_gone_later_ends_the_run_and_the_next_one_commits() {
    let world = planned(ONE);
    let key = world.home().join("key");
    fs::write(&key, "").unwrap();
    // Signs as long as there is a key.
    let gpg = world.home().join("gpg");
    let script = "cat > /dev/null; test -f $HOME/key || exit 1\n\
                  echo '[GNUPG:] SIG_CREATED ' >&2; echo signature\n";
    fs::write(&gpg, format!("#!/bin/sh\n{script}")).unwrap();
    executable(&gpg);
    world.git(&["config", "commit.gpgSign", "true"]);
    world.git(&["config", "gpg.program", gpg.to_str().unwrap()]);
    let ended = works(&world, &format!("rm $HOME/key; {WORKS}"), &[]);
    assert!(ended.exits(1).stderr.contains("gpg failed to sign"), "{}", ended.stderr);
    assert_eq!(starts(&world), 1);
    fs::write(&key, "").unwrap();
    works(&world, WORKS, &[]).exits(0);
    assert_eq!((starts(&world), committed(&world)), (1, vec!["1.1".to_owned()]));
    nothing_is_left(&world);
}

#[test]
fn finding_33_what_is_half_done_is_named_and_refused() {
    let world = planned(ONE);
    world.write("file", "base\n");
    world.git(&["add", "file"]);
    world.git(&["commit", "--quiet", "-m", "base"]);
    world.git(&["checkout", "--quiet", "-b", "other"]);
    world.write("file", "theirs\n");
    world.git(&["commit", "--quiet", "-am", "theirs"]);
    world.git(&["checkout", "--quiet", "main"]);
    world.write("file", "ours\n");
    world.git(&["commit", "--quiet", "-am", "ours"]);
    let ways = [
        ("merge", "other", "a merge is in progress"),
        ("rebase", "other", "a rebase is in progress"),
        ("cherry-pick", "other", "a cherry-pick is in progress"),
    ];
    for (begin, with, told) in ways {
        let begun = Command::new("git").args([begin, with]).current_dir(&world.root).output();
        assert!(!begun.unwrap().status.success(), "a conflict");
        for args in [&["run", "--agent", "script", "--allow-dirty"][..], &["implement"]] {
            let refused = world.specum(args);
            assert!(refused.exits(1).stderr.contains(told), "{}", refused.stderr);
            assert!(refused.stderr.contains(&format!("git {begin} --abort")), "{}", refused.stderr);
        }
        assert!(!world.path(JOURNAL).exists());
        world.git(&[begin, "--abort"]);
    }
    run(&world, &[]).exits(0);
}

#[test]
fn finding_26_a_merge_that_an_agent_leaves_is_a_failure_with_a_name() {
    let world = planned(ONE);
    let leaves = format!("git rev-parse HEAD > .git/MERGE_HEAD; {WORKS}");
    let args = ["--max-task-iterations", "1"];
    let ended = works(&world, &leaves, &args);
    assert!(ended.exits(6).stdout.contains("a merge is in progress"), "{}", ended.stdout);
    assert_eq!(committed(&world), [""; 0]);
}

#[test]
fn finding_31_no_variable_leads_agents_checks_or_setup_to_another_repository() {
    let check = "test -z \"$GIT_DIR$GIT_INDEX_FILE$GIT_WORK_TREE\"";
    let world = planned(&format!(
        "- [ ] 1.1 [P] a\n  - **Verify**: `{check}`\n- [ ] 1.2 [P] b\n  - **Verify**: `{check}`\n"
    ));
    world.write(
        ".claude/ralph-specum.local.md",
        "---\nworktree_setup: test -z \"$GIT_DIR$GIT_PREFIX\"\n---\n",
    );
    let script =
        "echo 1 > $id.txt; git add $id.txt; git commit -q -m \"own $id\"; echo TASK_COMPLETE\n";
    let mut command = command_run(&world, &agent(&world, script), &[]);
    command.env("GIT_DIR", world.path(".git")).env("GIT_WORK_TREE", &world.root);
    command.env("GIT_INDEX_FILE", world.path(".git/index")).env("GIT_PREFIX", "");
    call(command, b"").exits(0);
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    assert!(!world.git(&["log", "--format=%s"]).contains("own"), "on the user's branch");
}

#[test]
fn finding_32_a_pause_because_of_the_branch_holds_until_the_branch_is_back() {
    let world = planned(TWO);
    let script = format!("{WORKS}test $id = 1.2 || git checkout -q --detach\n");
    let ended = works(&world, &script, &[]);
    assert!(ended.exits(6).stderr.contains("the attempt began on main"), "{}", ended.stderr);
    for args in [&["run", "--agent", "script"][..], &["implement"]] {
        let refused = world.specum(args);
        let told = "test-spec is paused: HEAD is on no branch, and the attempt began on main";
        assert!(refused.exits(6).stderr.contains(told), "{}", refused.stderr);
    }
    world.git(&["checkout", "--quiet", "main"]);
    works(&world, WORKS, &[]).exits(0);
    assert_eq!(committed(&world), ["1.1", "1.2"]);
}

#[test]
fn finding_32_a_person_may_let_it_go_on_where_head_is() {
    let world = planned(ONE);
    works(&world, &format!("{WORKS}git checkout -q -b mine\n"), &[]).exits(6);
    world.specum(&["resume"]).exits(0);
    works(&world, WORKS, &[]).exits(0);
    assert_eq!(world.git(&["rev-parse", "--abbrev-ref", "HEAD"]).trim(), "mine");
    assert_eq!(committed(&world), ["1.1"]);
}

#[test]
fn finding_34_a_branch_that_an_agent_of_a_group_makes_is_named() {
    let world = planned(GROUP);
    let ended =
        works(&world, &format!("test $id = 1.2 || git checkout -q -b feature-x; {WORKS}"), &[]);
    let told = "the agent of 1.1 has worked on the branch feature-x, which stays";
    assert!(ended.exits(0).stdout.contains(told), "{}", ended.stdout);
}

#[test]
fn finding_35_what_a_killed_run_has_left_is_found_after_the_project_was_moved() {
    let mut world = planned(GROUP);
    let script = "echo half > half.txt; echo in > $HOME/line; test -f $HOME/go || sleep 600\n\
                  rm half.txt; echo 1 > $id.txt; echo TASK_COMPLETE\n";
    let agent = agent(&world, script);
    let mut line = Listener::new(&world, "line");
    let mut killed = at_work(&world, &agent, &[]);
    line.lines(2);
    send(&killed, Signal::KILL);
    killed.wait().unwrap();
    let moved: PathBuf = world.home().join("moved");
    fs::rename(&world.root, &moved).unwrap();
    world.root = moved;
    fs::write(world.home().join("go"), "").unwrap();
    run_with(&world, &agent, &[]).exits(0);
    assert!(worktrees(&world).is_empty(), "{:?}", worktrees(&world));
    let kept = world.git(&["for-each-ref", "--format=%(refname)", "refs/specum"]);
    assert_eq!(kept.lines().count(), 2, "{kept}");
    nothing_is_left(&world);
}

#[test]
fn finding_46_who_is_waited_for_is_named() {
    let world = planned(ONE);
    let mut line = Listener::new(&world, "line");
    fifo(&world.home().join("gate"));
    world.git_hook("pre-commit", "echo in > $HOME/line; cat $HOME/gate\n");
    let agent = agent(&world, WORKS);
    let mut killed = at_work(&world, &agent, &[]);
    assert_eq!(line.line(), "in");
    send(&killed, Signal::KILL);
    killed.wait().unwrap();
    let errors = world.home().join("errors");
    let mut again = command_run(&world, &agent, &[]);
    again.stdout(std::process::Stdio::null()).stderr(fs::File::create(&errors).unwrap());
    let mut again = again.spawn().unwrap();
    let told = || fs::read_to_string(&errors).unwrap_or_default();
    until("it says whom it waits for", || told().contains("waiting for git (process "));
    drop(gate(&world.home().join("gate")));
    assert_eq!(again.wait().unwrap().code(), Some(0), "{}", told());
    assert_eq!(committed(&world), ["1.1"]);
}

#[test]
fn finding_48_a_lock_that_an_agent_leaves_is_removed_with_a_word() {
    let locks = [".git/index.lock", ".git/refs/heads/main.lock", ".git/HEAD.lock"];
    for lock in locks {
        let world = planned(TWO);
        let ended = works(&world, &format!("test $id = 1.2 || touch {lock}; {WORKS}"), &[]);
        let told = format!("removed {}: no git is at work", world.path(lock).display());
        assert!(ended.exits(0).stdout.contains(&told), "{}", ended.stdout);
        assert_eq!((starts(&world), committed(&world)), (2, vec!["1.1".into(), "1.2".into()]));
        nothing_is_left(&world);
    }
}

#[test]
fn finding_47_a_lock_of_a_git_that_is_gone_keeps_no_run_from_beginning() {
    let world = planned(ONE);
    for lock in ["index.lock", "refs/heads/main.lock", "refs/specum/test-spec/ready/1.1.lock"] {
        world.write(&format!(".git/{lock}"), "");
    }
    let ended = works(&world, WORKS, &[]);
    assert_eq!(ended.exits(0).stderr.matches("no git is at work").count(), 3, "{}", ended.stderr);
    nothing_is_left(&world);
}

#[test]
fn finding_48_a_lock_whose_holder_lives_is_waited_for() {
    let world = planned(ONE);
    let mut line = Listener::new(&world, "line");
    fifo(&world.home().join("gate"));
    // `commit --all` holds the index for as long as its hook works.
    world.write("mine", "1");
    world.git(&["add", "mine"]);
    let hook = "test -n \"$SPECUM_MARK\" || { echo in > $HOME/line; cat $HOME/gate; }\n";
    world.git_hook("pre-commit", hook);
    let mut person = Command::new("git");
    person.args(["commit", "--quiet", "--all", "-m", "mine"]).current_dir(&world.root);
    let mut person = person.env("HOME", world.home()).spawn().unwrap();
    assert_eq!(line.line(), "in");
    assert!(world.path(".git/index.lock").exists());
    let agent = agent(&world, WORKS);
    let errors = world.home().join("errors");
    let mut run = command_run(&world, &agent, &["--allow-dirty"]);
    run.stdout(std::process::Stdio::null()).stderr(fs::File::create(&errors).unwrap());
    let mut run = run.spawn().unwrap();
    let told = || fs::read_to_string(&errors).unwrap_or_default();
    let waits = format!("waiting for git (process {}), which holds", person.id());
    until("it says whom it waits for", || told().contains(&waits));
    assert_eq!(starts(&world), 0, "no agent is paid meanwhile");
    drop(gate(&world.home().join("gate")));
    assert!(person.wait().unwrap().success());
    assert_eq!(run.wait().unwrap().code(), Some(0), "{}", told());
    assert_eq!(committed(&world), ["1.1"]);
}

#[test]
fn finding_57_a_temporary_folder_that_cannot_be_used_is_named_before_an_agent_is_paid() {
    let world = planned(ONE);
    let mut command = command_run(&world, &agent(&world, WORKS), &[]);
    command.env("TMPDIR", world.home().join("nowhere"));
    let refused = call(command, b"");
    let told =
        format!("cannot use the temporary folder {}", world.home().join("nowhere").display());
    assert!(refused.exits(1).stderr.contains(&told), "{}", refused.stderr);
    assert_eq!(starts(&world), 0);
    assert!(!world.path(JOURNAL).exists());
}

#[test]
fn finding_57_a_temporary_folder_that_is_gone_later_is_named() {
    let world = planned(ONE);
    let folder = world.home().join("temporary");
    fs::create_dir(&folder).unwrap();
    let agent = agent(&world, &format!("rmdir {}; {WORKS}", folder.display()));
    let mut command = command_run(&world, &agent, &[]);
    command.env("TMPDIR", &folder);
    let ended = call(command, b"");
    let told = format!("the temporary folder {} cannot be used", folder.display());
    assert!(ended.exits(1).stderr.contains(&told), "{}", ended.stderr);
    works(&world, WORKS, &[]).exits(0);
    assert_eq!((starts(&world), committed(&world)), (1, vec!["1.1".to_owned()]));
}

#[test]
fn a_git_that_is_too_old_is_refused_at_the_start_and_by_doctor() {
    let world = planned(ONE);
    let old = "case \" $* \" in *' version '*) echo 'git version 2.37.7'; exit;; esac\n";
    let path = instead_of_git(&world, old);
    for args in [&["run", "--agent", "script"][..], &["implement"], &["doctor"]] {
        let mut command = world.command();
        command.args(args).env("PATH", &path);
        let refused = call(command, b"");
        let told = refused.exits(1).stderr.clone() + &refused.stdout;
        assert!(told.contains("git 2.37.7 is too old; specum needs 2.38 or newer"), "{told}");
    }
    let path = instead_of_git(&world, &old.replace("2.37.7", "2.39.2 (Apple Git-143)"));
    let mut command = run_command(&world, &[]);
    command.env("PATH", path);
    call(command, b"").exits(0);
}

#[test]
fn the_users_locale_reaches_the_users_hooks() {
    let seen = |environment: &[(&str, &str)]| {
        let world = planned("- [ ] 1.1 a\n  ```sh\n  echo 1 > one\n  ```\n");
        let script = "echo \"${LC_ALL-none} $LANG $LC_CTYPE $LC_MESSAGES\" > $HOME/seen\n";
        world.git_hook("pre-commit", script);
        let mut command = run_command(&world, &[]);
        command.envs(environment.iter().copied());
        call(command, b"").exits(0);
        fs::read_to_string(world.home().join("seen")).unwrap()
    };
    let plain = [("LANG", "de_DE.UTF-8"), ("LC_CTYPE", "C.UTF-8")];
    assert_eq!(seen(&plain), "none de_DE.UTF-8 C.UTF-8 C\n");
    assert_eq!(seen(&[("LC_ALL", "C.UTF-8"), ("LANG", "x")]), "none C.UTF-8 C.UTF-8 C\n");
}
