//! Pointers to submodules that somebody has staged: they are no task's.

use super::planned;
use crate::world::World;

const PLAN: &str =
    "- [ ] 1.1 a\n  ```sh\n  echo b > b\n  ```\n- [ ] 1.2 c\n  ```sh\n  echo c > c\n  ```\n";

/// A repository below the project, without a `.gitmodules`.
fn repository_in(world: &World, path: &str) {
    world.git(&["init", "--quiet", path]);
    commits_in(world, path, "first");
}

fn commits_in(world: &World, path: &str, message: &str) {
    let name = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"];
    let commit = ["commit", "--quiet", "--allow-empty", "-m", message];
    world.git(&[&["-C", path], &name[..], &commit].concat());
}

/// A pointer that was committed, and what somebody stages of it then.
fn committed_pointer(world: &World) {
    repository_in(world, "lib");
    world.git(&["add", "lib"]);
    world.git(&["commit", "--quiet", "-m", "lib"]);
}

#[test]
fn a_staged_pointer_stays_staged_whatever_git_is_told_to_overlook() {
    type Stages = fn(&World);
    let forms: [(&str, Stages); 4] = [
        ("new", |world| {
            repository_in(world, "lib");
            world.git(&["add", "lib"]);
        }),
        ("new, and not checked out", |world| {
            let head = world.git(&["rev-parse", "HEAD"]);
            let info = format!("160000,{},lib", head.trim());
            world.git(&["update-index", "--add", "--cacheinfo", &info]);
        }),
        ("moved", |world| {
            committed_pointer(world);
            commits_in(world, "lib", "second");
            world.git(&["add", "lib"]);
        }),
        ("dropped", |world| {
            committed_pointer(world);
            world.git(&["rm", "--quiet", "--cached", "lib"]);
        }),
    ];
    for (form, stages) in forms {
        let world = planned(PLAN);
        world.git(&["config", "diff.ignoreSubmodules", "all"]);
        stages(&world);
        let staged = || world.git(&["diff", "--cached", "--raw", "--ignore-submodules=none"]);
        let before = staged();
        assert!(before.contains("160000"), "{form}: {before}");
        let from = world.git(&["rev-parse", "HEAD"]);
        world.specum(&["run", "--agent", "script", "--allow-dirty"]).exits(0);
        assert_eq!(staged(), before, "{form}");
        let range = format!("{}..HEAD", from.trim());
        let made = world.git(&["log", "--name-only", "--format=", &range]);
        assert!(made.contains("\nb\n") || made.starts_with("b\n"), "{form}: {made}");
        assert!(!made.lines().any(|path| path == "lib"), "{form}: {made}");
    }
}
