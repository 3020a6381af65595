//! An isolated run that is killed, or ended by git, loses nothing: the next one ends as
//! one that nothing has disturbed.

use super::super::crash::at_every_point;
use super::super::tree;
use super::*;
use crate::world::JOURNAL;

#[test]
fn killed_while_an_agent_works_the_same_command_goes_on_and_edits_stay() {
    let world = isolated(ONE, "");
    let mut waiting = Waiting::start(&world, &["1.1"], WAITS);
    waiting.waits();
    send(&waiting.run, Signal::KILL);
    waiting.run.wait().unwrap();
    world.write("README.md", "edited\n");
    works(&world, "echo $id > $id.txt; echo TASK_COMPLETE\n", &[]).exits(0);
    assert_eq!(world.git(&["status", "--porcelain"]), " M README.md\n");
    assert_eq!(world.git(&["show", &format!("{KEPT}:1.1.txt")]), "1.1\n");
    assert_eq!(committed(&world), ["1.1"]);
    assert!(worktrees(&world).is_empty());
}

/// One that passes, a group, and a check that is fixed.
const KILLED: &str = "\
- [ ] 1.1 Begin
  ```sh
  mkdir new && echo one > new/one.txt && echo more >> README.md
  echo '- LEARNED' > specs/test-spec/.progress-task-0.md
  ```
  - **Verify**: `grep -qx one new/one.txt`
- [ ] V1 [VERIFY] Checked
  ```sh
  echo fixed >> new/one.txt
  ```
  - **Verify**: `grep -q fixed new/one.txt`
";

const GROUP: &str = "\
- [ ] 1.1 [P] Left
  ```sh
  mkdir left && echo left > left/left.txt
  ```
- [ ] 1.2 [P] Right
  ```sh
  mkdir right && echo right > right/right.txt
  ```
";

/// Kills a run at every step; the next one ends as one that nobody has disturbed, and a
/// person's changes stay as they are.
fn killed_everywhere(plan: &str, ids: &[&str], step: u64) {
    let template = isolated(plan, "worktree_setup: echo set up > ignored-by-nobody\n");
    template.write("mine.txt", "mine\n");
    template.write("staged.txt", "staged\n");
    template.git(&["add", "staged.txt"]);
    fs::remove_dir_all(template.path(".git/hooks")).unwrap();
    let calm = template.copy();
    run(&calm, &[]).exits(0);
    let undisturbed = tree(&calm);
    let asked = std::env::var("SPECUM_CRASH_STEP").ok().and_then(|step| step.parse().ok());
    let points = at_every_point(asked.unwrap_or(step), |point| {
        let world = template.copy();
        let mut command = run_command(&world, &[]);
        command.env("SPECUM_DIE_AT", point.to_string());
        let killed = call(command, b"");
        let again = run(&world, &[]);
        let told = format!("{}{}{}", killed.stderr, again.stdout, again.stderr);
        let journal = world.read(JOURNAL);
        assert_eq!(again.code, Some(0), "killed at {point}: {told}\n{journal}");
        let mut commits = committed(&world);
        commits.sort();
        assert_eq!(commits, ids, "killed at {point}: {told}\n{journal}");
        assert_eq!(tree(&world), undisturbed, "killed at {point}: {told}\n{journal}");
        let status = world.git(&["status", "--porcelain"]);
        assert_eq!(status, "A  staged.txt\n?? mine.txt\n", "killed at {point}: {told}\n{journal}");
        assert!(worktrees(&world).is_empty(), "killed at {point}: {told}");
        let left: Vec<String> =
            references(&world).into_iter().filter(|name| !name.contains("/kept/")).collect();
        assert_eq!(left, [""; 0], "killed at {point}: {told}");
        killed.code.is_none()
    });
    assert!(points > 80, "only {points} points");
}

#[test]
fn an_isolated_run_killed_anywhere_ends_as_if_nothing_had_happened() {
    killed_everywhere(KILLED, &["1.1", "V1"], 2);
}

#[test]
fn an_isolated_group_killed_anywhere_ends_as_if_nothing_had_happened() {
    killed_everywhere(GROUP, &["1.1", "1.2"], 3);
}

#[test]
fn a_worktree_whose_work_is_kept_nowhere_is_not_removed() {
    let world = isolated("- [ ] 1.1 a\n", "");
    world.write(".gitattributes", "*.bin filter=missing\n");
    world.git(&["add", ".gitattributes"]);
    world.git(&["commit", "--quiet", "-m", "attributes"]);
    world.git(&["config", "filter.missing.required", "true"]);
    world.git(&["config", "filter.missing.clean", "false"]);
    let ended = works(&world, "echo finished > $id.bin; echo TASK_COMPLETE\n", &[]);
    assert!(ended.exits(1).stderr.contains("the worktree stays: "), "{}", ended.stderr);
    let left = worktrees(&world);
    assert_eq!(left.len(), 1);
    assert_eq!(fs::read_to_string(left[0].join("1.1.bin")).unwrap(), "finished\n");
}
