//! Nothing of a person's or of an agent's leaves a tree without a reference and a
//! line on the screen.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use rustix::process::Signal;

use super::{
    Listener, agent, at_work, command_run, committed, planned, references, run_with, send, works,
    worktrees,
};
use crate::world::{World, call, executable};

const ONE: &str = "- [ ] 1.1 a\n";
const TWO: &str = "- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n";
const KEPT: &str = "refs/specum/test-spec/kept/1.1-1";

/// Writes half a file, says so and waits; with `$HOME/go` it does its work.
const HALF: &str = r#"
test -e "$HOME/go" && { echo whole > "$id.txt"; echo TASK_COMPLETE; exit; }
echo half > "$id.txt"; echo ready > "$HOME/line"; exec sleep 600
"#;

fn go(world: &World) {
    File::create(world.home().join("go")).unwrap();
}

/// A run that was killed while its agent had written half a file.
fn killed(world: &World, agent: &str) {
    let mut line = Listener::new(world, "line");
    let mut run = at_work(world, agent, &[]);
    line.line();
    send(&run, Signal::KILL);
    run.wait().unwrap();
    go(world);
}

#[test]
fn a_session_that_goes_on_after_a_kill_takes_nothing_of_a_persons() {
    let world = with_readme("- [ ] 1.1 a\n  - **Verify**: `test -f whole.txt`\n");
    killed(&world, &agent(&world, HALF));
    writes_later(&world, "mine.txt", "mine\n");
    writes_later(&world, "README.md", "edited\n");
    world.in_session(&["implement"]).exits(0);
    assert!(!world.path("1.1.txt").exists(), "what the agent left is put away");
    assert_eq!(world.git(&["show", &format!("{KEPT}:1.1.txt")]), "half\n");
    world.in_session(&["next"]).exits(0);
    world.write("whole.txt", "whole\n");
    let mut finish = world.command();
    finish.args(["finish", "1.1"]).env("CLAUDE_CODE_SESSION_ID", "test-session");
    call(finish, b"TASK_COMPLETE\n").exits(0);
    let made = world.git(&["log", "-1", "--name-only", "--format="]);
    assert!(made.contains("whole.txt") && !made.contains("README.md"), "{made}");
    assert_eq!(world.git(&["status", "--porcelain"]), " M README.md\n?? mine.txt\n");
    assert_eq!(world.read("README.md"), "edited\n");
}

/// Writes a file as somebody does who comes back later.
fn writes_later(world: &World, path: &str, content: &str) {
    world.write(path, content);
    let file = File::options().write(true).open(world.path(path)).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_secs(3600)).unwrap();
}

fn with_readme(plan: &str) -> World {
    let world = planned(plan);
    world.write("README.md", "as it was\n");
    world.git(&["add", "README.md"]);
    world.git(&["commit", "--quiet", "-m", "readme"]);
    world
}

#[test]
fn finding_1_what_a_person_changes_after_a_kill_is_theirs() {
    let world = with_readme(ONE);
    let agent = agent(&world, HALF);
    killed(&world, &agent);
    writes_later(&world, "mine.txt", "mine\n");
    writes_later(&world, "README.md", "edited\n");
    writes_later(&world, "docs/new.md", "new\n");
    world.git(&["add", "docs/new.md"]);
    let refused = run_with(&world, &agent, &[]);
    let said = &refused.exits(1).stderr;
    for path in ["mine.txt", "README.md", "docs/new.md"] {
        assert!(said.contains(path), "{said}");
    }
    let kept = format!("is no longer in your tree: 1.1.txt. It is kept: {KEPT}");
    assert!(said.contains(&kept), "{said}");
    assert!(!world.path("1.1.txt").exists());
    assert_eq!(world.git(&["show", &format!("{KEPT}:1.1.txt")]), "half\n");
    run_with(&world, &agent, &["--allow-dirty"]).exits(0);
    assert_eq!(world.read("mine.txt"), "mine\n");
    assert_eq!(world.read("README.md"), "edited\n");
    let status = world.git(&["status", "--porcelain"]);
    assert_eq!(status, " M README.md\nA  docs/new.md\n?? mine.txt\n");
}

#[test]
fn finding_1_wherever_a_run_is_killed_what_a_person_changes_then_is_theirs() {
    let mut refused = 0;
    for point in (1..).step_by(3) {
        let world = with_readme("- [ ] 1.1 a\n- [ ] 1.2 b\n");
        let agent = agent(&world, "echo x > $id.txt; echo TASK_COMPLETE");
        let mut command = command_run(&world, &agent, &[]);
        command.env("SPECUM_DIE_AT", point.to_string());
        if call(command, b"").code == Some(0) {
            break;
        }
        writes_later(&world, "README.md", "edited\n");
        writes_later(&world, "mine.txt", "mine\n");
        if !world.read("specs/test-spec/tasks.md").contains("- [ ]") {
            continue;
        }
        let said = run_with(&world, &agent, &[]);
        assert_eq!(said.code, Some(1), "killed at point {point}: {}", said.stdout);
        for path in ["mine.txt", "README.md"] {
            assert!(said.stderr.contains(path), "killed at point {point}: {}", said.stderr);
        }
        refused += 1;
    }
    assert!(refused > 20, "{refused}");
}

#[test]
fn finding_1_a_commit_that_is_refused_after_a_kill_takes_nothing_of_a_persons() {
    let mut refused = 0;
    for point in 1.. {
        let world = with_readme(ONE);
        let agent = agent(&world, "echo x >> $id.txt; echo TASK_COMPLETE");
        let mut command = command_run(&world, &agent, &[]);
        command.env("SPECUM_DIE_AT", point.to_string());
        if call(command, b"").code == Some(0) {
            break;
        }
        writes_later(&world, "mine.txt", "mine\n");
        let once = "test -e $HOME/refused || { touch $HOME/refused; exit 1; }\n";
        world.git_hook("pre-commit", once);
        run_with(&world, &agent, &["--allow-dirty"]).exits(0);
        refused += usize::from(world.home().join("refused").exists());
        let committed = world.git(&["log", "--format=", "--name-only"]);
        assert!(!committed.contains("mine.txt"), "killed at point {point}: {committed}");
        assert_eq!(world.read("mine.txt"), "mine\n");
    }
    assert!(refused > 5, "{refused}");
}

#[test]
fn finding_1_in_doubt_it_is_copied_and_stays_where_it_is() {
    let world = with_readme(ONE);
    let agent = agent(&world, HALF);
    killed(&world, &agent);
    // Whoever deletes a file leaves no time behind.
    fs::remove_file(world.path("README.md")).unwrap();
    let refused = run_with(&world, &agent, &[]);
    let said = &refused.exits(1).stderr;
    let doubt = "README.md may be yours or of the unfinished attempt at 1.1, and stays where it is";
    assert!(said.contains(doubt), "{said}");
    assert!(!world.path("README.md").exists(), "nobody brings it back");
    assert_eq!(references(&world).len(), 2, "the half, and the copy");
}

/// A folder with the programs that an agent needs, and without git.
fn programs_without_git(world: &World) -> PathBuf {
    let bin = world.home().join("bin");
    fs::create_dir(&bin).unwrap();
    for program in ["sh", "cat", "sed", "head", "sleep"] {
        symlink(Path::new("/bin").join(program), bin.join(program)).unwrap();
    }
    bin
}

#[test]
fn what_stood_before_an_attempt_that_began_without_git_stays() {
    let world = with_readme(ONE);
    world.write("README.md", "edited\n");
    let agent = agent(&world, HALF);
    let bin = programs_without_git(&world);
    let mut line = Listener::new(&world, "line");
    let mut command = command_run(&world, &agent, &["--allow-dirty"]);
    command.env("PATH", &bin).stdin(Stdio::null()).stdout(Stdio::null());
    let mut run = command.spawn().unwrap();
    line.line();
    send(&run, Signal::KILL);
    run.wait().unwrap();
    go(&world);
    let ended = run_with(&world, &agent, &["--allow-dirty"]);
    let doubt = "README.md may be yours or of the unfinished attempt at 1.1";
    assert!(ended.exits(0).stdout.contains(doubt), "{}", ended.stdout);
    assert_eq!(world.read("README.md"), "edited\n");
}

#[test]
fn a_git_that_is_there_and_cannot_be_started_is_no_reason_to_work_without_commits() {
    let world = with_readme(ONE);
    let bin = programs_without_git(&world);
    fs::write(bin.join("git"), "#!/no/such/interpreter\n").unwrap();
    executable(&bin.join("git"));
    let agent = agent(&world, "echo x > \"$HOME/started\"; echo TASK_COMPLETE\n");
    let mut command = command_run(&world, &agent, &[]);
    command.env("PATH", &bin);
    let ended = call(command, b"");
    assert!(ended.exits(1).stderr.contains("git cannot be started"), "{}", ended.stderr);
    assert!(!world.home().join("started").exists());
}

#[test]
fn finding_2_what_an_agent_changes_of_what_the_setup_left_is_its_work() {
    let world = planned(TWO);
    world.write("lock.json", "base\n");
    world.write(
        ".claude/ralph-specum.local.md",
        "---\nworktree_setup: echo setup >> lock.json\n---\n",
    );
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "-m", "lock"]);
    let agent = agent(
        &world,
        "echo x > $id.txt; test $id = 1.1 && echo by the agent >> lock.json; echo TASK_COMPLETE\n",
    );
    run_with(&world, &agent, &[]).exits(0);
    assert_eq!(world.git(&["show", "HEAD:lock.json"]), "base\nsetup\nby the agent\n");
    let touched = world.git(&["show", "--format=", "--name-only", "HEAD"]);
    assert!(!touched.contains("lock.json"), "1.2 has not changed it: {touched}");
}

#[test]
fn finding_3_work_below_the_folder_of_the_spec_is_work() {
    let world = planned(TWO);
    works(&world, "echo $id > specs/test-spec/notes-$id.md; echo TASK_COMPLETE\n", &[]).exits(0);
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    for id in ["1.1", "1.2"] {
        let notes = world.git(&["show", &format!("HEAD:specs/test-spec/notes-{id}.md")]);
        assert_eq!(notes, format!("{id}\n"));
    }
    assert_eq!(world.count("set-aside"), 0, "and is done once");
}

#[test]
fn finding_4_a_worktree_whose_work_is_kept_nowhere_is_not_removed() {
    let world = planned(TWO);
    world.write(".gitattributes", "*.bin filter=missing\n");
    world.git(&["add", ".gitattributes"]);
    world.git(&["commit", "--quiet", "-m", "attributes"]);
    world.git(&["config", "filter.missing.required", "true"]);
    world.git(&["config", "filter.missing.clean", "false"]);
    let agent = agent(&world, "echo finished > $id.bin; echo TASK_COMPLETE\n");
    let ended = run_with(&world, &agent, &[]);
    let left = worktrees(&world);
    assert!(!left.is_empty(), "{}", ended.stderr);
    for worktree in &left {
        let has_work = fs::read_dir(worktree)
            .unwrap()
            .flatten()
            .any(|entry| entry.path().extension().is_some_and(|extension| extension == "bin"));
        assert!(has_work, "{worktree:?}");
    }
    let said = &ended.exits(1).stderr;
    assert!(said.contains("the worktree stays: "), "{said}");
    // With the filter there, the same command goes on.
    world.git(&["config", "filter.missing.clean", "cat"]);
    run_with(&world, &agent, &[]).exits(0);
    assert_eq!(committed(&world), ["1.1", "1.2"]);
    assert!(worktrees(&world).is_empty());
}

#[test]
fn finding_5_what_ctrl_c_takes_out_of_the_tree_is_named_everywhere() {
    let world = planned(ONE);
    let agent = agent(&world, HALF);
    let mut line = Listener::new(&world, "line");
    let mut command = command_run(&world, &agent, &[]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let run = command.spawn().unwrap();
    line.line();
    send(&run, Signal::INT);
    let output = run.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains(&format!("It is kept: {KEPT}")), "{said}");
    let kept = format!("what attempt 1 left is kept: {KEPT} (1 file)");
    assert!(said.contains(&kept), "the summary: {said}");
    let status = world.specum(&["status"]);
    assert!(status.stdout.contains(&format!("{KEPT} (1 file)")), "{}", status.stdout);
}

#[test]
fn finding_6_what_stood_when_an_attempt_began_stands_after_ctrl_c() {
    let world = planned("- [ ] 1.1 a\n  - **Verify**: `grep -q right 1.1.txt`\n");
    let failing = agent(&world, "echo wrong > $id.txt; echo TASK_COMPLETE\n");
    run_with(&world, &failing, &["--max-task-iterations", "1"]).exits(6);
    world.write("1.1.txt", "by hand\n");
    world.person(&["resume"]);
    let waits =
        agent(&world, "echo more > more.txt; echo ready > \"$HOME/line\"; exec sleep 600\n");
    let mut line = Listener::new(&world, "line");
    let mut run = at_work(&world, &waits, &[]);
    line.line();
    send(&run, Signal::INT);
    run.wait().unwrap();
    assert_eq!(world.read("1.1.txt"), "by hand\n");
    assert!(!world.path("more.txt").exists(), "what the attempt made is kept elsewhere");
}

#[test]
fn finding_8_history_that_an_agent_rewrites_is_noticed_and_the_old_tip_kept() {
    let world = with_readme(ONE);
    let tip = world.git(&["rev-parse", "HEAD"]);
    let agent =
        agent(&world, "git reset --quiet --hard HEAD~1; echo x > $id.txt; echo TASK_COMPLETE\n");
    let ended = run_with(&world, &agent, &[]);
    let said = format!("{}{}", ended.stdout, ended.exits(6).stderr);
    assert!(said.contains("the attempt at 1.1 has rewritten the history"), "{said}");
    let kept = references(&world);
    let kept: Vec<String> =
        kept.iter().map(|name| world.git(&["rev-parse", name])).filter(|id| *id == tip).collect();
    assert_eq!(kept.len(), 1, "the commit of the person's: {said}");
    assert!(committed(&world).is_empty());
    let status = world.specum(&["status"]);
    assert!(status.stdout.contains("rewritten the history"), "{}", status.stdout);
}

/// Rewrites the history, says so, and then ends in some way.
fn rewrites(then: &str) -> String {
    let rewrites = "git reset --quiet --hard HEAD~1; echo half > $id.txt";
    format!(
        "test -e \"$HOME/go\" && {{ echo whole > \"$id.txt\"; echo TASK_COMPLETE; exit; }}\n\
         {rewrites}; echo ready > \"$HOME/line\"; {then}\n"
    )
}

/// Asserts that the commit is under a reference.
#[track_caller]
fn is_kept(world: &World, tip: &str, said: &str) {
    assert!(said.contains("the attempt at 1.1 has rewritten the history"), "{said}");
    let holds = |name: &String| world.git(&["rev-parse", name]) == tip;
    assert_eq!(references(world).iter().filter(|name| holds(name)).count(), 1, "{said}");
}

#[test]
fn history_that_an_agent_rewrites_before_it_breaks_off_is_noticed() {
    let world = with_readme(ONE);
    let tip = world.git(&["rev-parse", "HEAD"]);
    let _line = Listener::new(&world, "line");
    let ended = call(command_run(&world, &agent(&world, &rewrites("kill -9 $$")), &[]), b"");
    is_kept(&world, &tip, &format!("{}{}", ended.stdout, ended.exits(6).stderr));
    assert!(committed(&world).is_empty());
}

#[test]
fn history_that_an_agent_rewrites_before_its_run_is_ended_is_noticed() {
    for signal in [Signal::INT, Signal::KILL] {
        let world = with_readme(ONE);
        let tip = world.git(&["rev-parse", "HEAD"]);
        let agent = agent(&world, &rewrites("exec sleep 600"));
        let mut line = Listener::new(&world, "line");
        let mut command = command_run(&world, &agent, &[]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let run = command.spawn().unwrap();
        line.line();
        send(&run, signal);
        let output = run.wait_with_output().unwrap();
        go(&world);
        let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
        if signal == Signal::KILL {
            // The next run is the first that can say so.
            said = run_with(&world, &agent, &[]).exits(6).stdout.clone();
        }
        is_kept(&world, &tip, &said);
        world.git(&["reset", "--quiet", "--hard", tip.trim()]);
        run_with(&world, &agent, &[]).exits(0);
        assert_eq!(committed(&world), ["1.1"]);
        assert_eq!(world.read("README.md"), "as it was\n");
    }
}

#[test]
fn what_a_failed_attempt_has_left_is_committed_although_the_next_one_was_interrupted() {
    let world = planned(ONE);
    let script = "test -e \"$HOME/go\" && { echo TASK_COMPLETE; exit; }\n\
                  test -e 1.1.txt && { echo ready > \"$HOME/line\"; exec sleep 600; }\n\
                  echo whole > 1.1.txt; echo no word of completion\n";
    let agent = agent(&world, script);
    let mut line = Listener::new(&world, "line");
    let mut run = at_work(&world, &agent, &[]);
    line.line();
    send(&run, Signal::INT);
    run.wait().unwrap();
    go(&world);
    run_with(&world, &agent, &[]).exits(0);
    assert_eq!(world.git(&["show", "HEAD:1.1.txt"]), "whole\n");
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

#[test]
fn finding_9_changes_of_the_persons_that_an_agent_stashes_are_named() {
    let world = with_readme(ONE);
    world.write("README.md", "edited\n");
    let ended = works(
        &world,
        "git stash --quiet; echo x > $id.txt; echo TASK_COMPLETE\n",
        &["--allow-dirty"],
    );
    let gone = "uncommitted changes of yours are gone since the attempt at 1.1 began: README.md";
    assert!(ended.exits(0).stdout.contains(gone), "{}", ended.stdout);
}

#[test]
fn finding_59_an_agent_that_changes_what_git_starts_pauses_the_run() {
    let hooks = [
        "printf '#!/bin/sh\\ntouch \"$HOME/ran\"\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
        "git config core.hooksPath hooks; mkdir -p hooks",
        "git config filter.x.clean 'touch \"$HOME/ran\"; cat'; echo '*.txt filter=x' > .gitattributes",
        "git config --global gpg.program ./sign",
    ];
    for harm in hooks {
        let world = planned("- [ ] 1.1 a\n- [ ] 1.2 b\n");
        let script =
            format!("test $id = 1.1 && {{ {harm}; }}; echo $id > $id.txt; echo TASK_COMPLETE\n");
        let agent = agent(&world, &script);
        let ended = run_with(&world, &agent, &[]);
        assert!(ended.exits(6).stdout.contains("changed what git starts"), "{}", ended.stdout);
        assert!(!world.home().join("ran").exists(), "{harm}: it was not started");
        for shown in [&["status"][..], &["log"], &[]] {
            let shown = world.specum(shown).exits(0).stdout.clone();
            let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains("changed what git starts"), "{shown}");
            assert!(words.contains("specum accept git"), "{shown}");
            assert!(!words.contains("specum resume"), "that alone does not help: {shown}");
        }
        let again = run_with(&world, &agent, &[]);
        assert!(again.exits(6).stderr.contains("`specum accept git` takes it"), "{}", again.stderr);
        let refused = world.specum(&["accept", "git"]);
        assert!(refused.exits(1).stderr.contains("is a person's to say"), "{}", refused.stderr);
        world.person(&["accept", "git"]);
        run_with(&world, &agent, &[]).exits(0);
        assert_eq!(committed(&world), ["1.1", "1.2"], "{harm}");
    }
}

#[test]
fn finding_59_settings_may_accept_it_beforehand() {
    let world = planned(ONE);
    world.write(".claude/ralph-specum.local.md", "---\naccept_git_changes: true\n---\n");
    let agent =
        agent(&world, "git config core.hooksPath .husky; echo $id > $id.txt; echo TASK_COMPLETE\n");
    let ended = run_with(&world, &agent, &["--allow-dirty"]);
    let told = "the attempt at 1.1 changed what git starts: core.hookspath";
    assert!(ended.exits(0).stdout.contains(told), "{}", ended.stdout);
}

#[test]
fn finding_9_the_notes_of_the_plan_are_no_change_that_a_group_makes_away_with() {
    // The run begins the notes, and the first commit of the group takes them.
    let world = planned(TWO);
    world.git(&["rm", "--quiet", "specs/test-spec/.progress.md"]);
    world.git(&["commit", "--quiet", "-m", "no notes"]);
    let run = works(&world, "echo x > $id.txt; echo TASK_COMPLETE\n", &[]);
    assert_eq!(run.exits(0).stderr, "");
    assert!(!run.stdout.contains("uncommitted changes of yours are gone"), "{}", run.stdout);
}
