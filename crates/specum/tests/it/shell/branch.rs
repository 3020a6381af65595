use crate::run::{planned, works};
use crate::world::World;

const ONE: &str = "- [ ] 1.1 a\n";
const DONE: &str = "echo whole > $id.txt; echo TASK_COMPLETE\n";

fn branch(world: &World) -> String {
    world.git(&["branch", "--show-current"]).trim().to_owned()
}

/// A repository whose branch `main` a remote has.
fn with_remote(world: &World) {
    world.git(&["branch", "-m", "main"]);
    world.git(&["remote", "add", "origin", "https://example.invalid/a.git"]);
    world.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    world.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
}

#[test]
fn a_run_works_on_a_branch_of_its_own_made_from_here_and_goes_on_there() {
    let world = planned("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    with_remote(&world);
    let before = world.git(&["rev-parse", "main"]);
    let first = works(&world, DONE, &["--branch", "--only", "1.1"]);
    let said = &first.exits(0).stdout;
    assert!(said.contains("works on the new branch specum/test-spec, made from main"), "{said}");
    assert!(!said.contains("commits go to main"), "{said}");
    assert_eq!(branch(&world), "specum/test-spec");
    assert_eq!(world.git(&["rev-parse", "main"]), before, "main is as it was");
    let second = works(&world, DONE, &["--branch"]);
    assert!(!second.exits(0).stdout.contains("works on"), "{}", second.stdout);
    assert_eq!(world.git(&["rev-list", "--count", "main..HEAD"]).trim(), "2");
}

#[test]
fn the_settings_name_a_branch_and_a_bad_name_is_refused_before_anything_changes() {
    let world = planned(ONE);
    world.write("specum.yaml", "branch: feature/cafe\n");
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "-m", "settings"]);
    works(&world, DONE, &[]).exits(0);
    assert_eq!(branch(&world), "feature/cafe");

    let world = planned(ONE);
    let before = branch(&world);
    let run = works(&world, DONE, &["--branch=a..b"]);
    assert!(run.exits(1).stderr.contains("a..b"), "{}", run.stderr);
    assert_eq!((branch(&world), world.count("opened")), (before, 0));
}

#[test]
fn a_run_that_cannot_begin_makes_no_branch_and_leaves_nothing_for_git_to_see() {
    let world = planned(ONE);
    let before = branch(&world);
    world.write("mine.txt", "mine\n");
    let run = works(&world, DONE, &["--branch"]);
    assert!(run.exits(1).stderr.contains("not committed: mine.txt"), "{}", run.stderr);
    assert_eq!(branch(&world), before);
    assert_eq!(world.git(&["branch", "--list", "specum/*"]), "");
    assert_eq!(world.git(&["status", "--porcelain"]), "?? mine.txt\n");
    // What is there is no reason where nobody asks for a clean tree.
    works(&world, DONE, &["--branch", "--allow-dirty"]).exits(0);
    assert_eq!(branch(&world), "specum/test-spec");

    let world = planned(ONE);
    let elsewhere = world.path("../elsewhere");
    let elsewhere = elsewhere.to_str().unwrap();
    world.git(&["worktree", "add", "--quiet", "-b", "specum/test-spec", elsewhere]);
    let run = works(&world, DONE, &["--branch"]);
    assert!(run.exits(1).stderr.contains("elsewhere"), "{}", run.stderr);
    assert_eq!((branch(&world), world.git(&["status", "--porcelain"])), (before, String::new()));
}

#[test]
fn the_first_run_on_a_shared_branch_says_so_once_and_how_to_change_it() {
    let world = planned("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    with_remote(&world);
    let run = works(&world, DONE, &["--only", "1.1"]);
    let said = &run.exits(0).stdout;
    assert!(said.contains("commits go to main; `--branch`"), "{said}");
    let run = works(&world, DONE, &[]);
    assert!(!run.exits(0).stdout.contains("commits go to"), "{}", run.stdout);

    let world = planned(ONE);
    let run = works(&world, DONE, &[]);
    assert!(!run.exits(0).stdout.contains("commits go to"), "without a remote: {}", run.stdout);
}
