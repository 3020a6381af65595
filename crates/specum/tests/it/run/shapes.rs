//! Repositories of every shape, and files of every kind and name: a plan is worked
//! in each of them as in any other.

use std::fs;
use std::path::PathBuf;

use super::{committed, nothing_is_left, planned, run, works};
use crate::world::{PROGRESS, TASKS, World};

/// A sequence and a group, each task with a file of its own.
const PLAN: &str = "\
- [ ] 1.1 First
  ```sh
  mkdir -p out; echo 1 > out/1.1.txt
  ```
  - **Verify**: `test -f out/1.1.txt`
- [ ] 1.2 [P] Left
  ```sh
  mkdir -p out; echo 2 > out/1.2.txt
  ```
- [ ] 1.3 [P] Right
  ```sh
  mkdir -p out; echo 3 > out/1.3.txt
  ```
";

/// A repository with the plan and some history, to be cloned.
fn origin() -> World {
    let world = planned(PLAN);
    for n in 0..3 {
        world.write(&format!("src/{n}.txt"), format!("{n}\n"));
        world.write(&format!("docs/{n}.txt"), format!("{n}\n"));
        world.git(&["add", "src", "docs"]);
        world.git(&["commit", "--quiet", "-m", "history"]);
    }
    world
}

/// A project that is a clone of another.
fn cloned(origin: &World, args: &[&str]) -> World {
    let world = World::empty();
    fs::remove_dir_all(&world.root).unwrap();
    fs::create_dir(&world.root).unwrap();
    let url = format!("file://{}", origin.root.display());
    world.git(&[&["clone", "--quiet"], args, &[&url, "."]].concat());
    named(&world);
    world
}

/// Gives the user of a project a name, and makes the plan the active one.
fn named(world: &World) {
    world.git(&["config", "user.name", "Test"]);
    world.git(&["config", "user.email", "test@example.invalid"]);
    world.write("specs/.current-spec", "test-spec\n");
}

/// Asserts that the plan is worked there.
#[track_caller]
fn is_worked(world: &World) {
    run(world, &[]).exits(0);
    assert_eq!(committed(world), ["1.1", "1.2", "1.3"]);
    assert_eq!(world.read("out/1.2.txt"), "2\n");
    let left = world.git(&["status", "--porcelain"]);
    assert_eq!(left, "", "the tree");
    world.git(&["fsck", "--strict"]);
}

#[test]
fn a_plan_is_worked_in_clones_that_have_not_everything() {
    let origin = origin();
    origin.git(&["config", "uploadpack.allowFilter", "true"]);
    let ways: [&[&str]; 5] = [
        &["--depth=1"],
        &["--filter=blob:none"],
        &["--single-branch", "--no-tags"],
        &["--sparse"],
        &["--separate-git-dir=../elsewhere.git"],
    ];
    for args in ways {
        let world = cloned(&origin, args);
        if args == ["--sparse"] {
            world.git(&["sparse-checkout", "set", "--cone", "specs", "src", "out"]);
        }
        is_worked(&world);
        let has_docs = world.path("docs").exists();
        assert_eq!(has_docs, args != ["--sparse"], "what is left out stays out: {args:?}");
    }
    let world = cloned(&origin, &[]);
    world.git(&["sparse-checkout", "set", "--no-cone", "/*", "!/docs/"]);
    is_worked(&world);
    assert!(!world.path("docs").exists());
}

/// A project whose root is this folder below its place.
fn moved_to(mut world: World, root: PathBuf) -> World {
    world.root = root;
    world
}

#[test]
fn a_plan_is_worked_in_a_worktree_a_submodule_and_a_part_of_a_repository() {
    let origin = origin();
    // A worktree of another repository, and of one without a tree of its own.
    for args in [&[][..], &["--bare"]] {
        let parent = cloned(&origin, args);
        let root = parent.home().join("worktree");
        parent.git(&["worktree", "add", "--quiet", "-b", "side", root.to_str().unwrap()]);
        let world = moved_to(parent, root);
        named(&world);
        is_worked(&world);
    }
    // A submodule.
    let parent = planned("- [ ] 1.1 another plan\n");
    let url = origin.root.to_str().unwrap();
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"];
    parent.git(&add);
    let root = parent.path("sub");
    let world = moved_to(parent, root);
    named(&world);
    is_worked(&world);
    // A part of a repository.
    let world = World::empty();
    world.git_init();
    let root = world.path("packages/one");
    fs::create_dir_all(&root).unwrap();
    let world = moved_to(world, root);
    world.write(TASKS, PLAN);
    world.write(PROGRESS, "# Notes\n");
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "begin"]);
    named(&world);
    is_worked(&world);
}

#[test]
fn a_plan_is_worked_with_filters_crlf_and_a_detached_head() {
    let world = planned(PLAN);
    world.write(".gitattributes", "*.txt filter=rot\n");
    world.git(&["config", "filter.rot.clean", "tr a-z0-9 b-za1-90"]);
    world.git(&["config", "filter.rot.smudge", "tr b-za1-90 a-z0-9"]);
    world.git(&["config", "filter.rot.required", "true"]);
    world.git(&["add", ".gitattributes"]);
    world.git(&["commit", "--quiet", "-m", "attributes"]);
    is_worked(&world);
    assert_eq!(world.git(&["show", "HEAD:out/1.2.txt"]), "3\n", "as the filter has it");
    let world = planned(PLAN);
    world.write(".gitattributes", "* text=auto eol=crlf\n");
    world.git(&["add", "--renormalize", "."]);
    world.git(&["add", ".gitattributes"]);
    world.git(&["commit", "--quiet", "-m", "attributes"]);
    run(&world, &[]).exits(0);
    assert_eq!(committed(&world), ["1.1", "1.2", "1.3"]);
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    let world = planned(PLAN);
    world.git(&["checkout", "--quiet", "--detach"]);
    is_worked(&world);
}

/// Leaves files of every kind and name, in a folder of its own.
const ODD_FILES: &str = r#"
d="out $id"; mkdir -p "$d"; cd "$d"
echo x > "new
line"
for name in '"quoted"' "it's" '*' ':(top)x' '-dash' ' blank ' 'tab	tab' '\back' '$(x)' '`x`' '#x' \
    '!x' 'ä' '日本' '🦀' '.hidden' '...' 'a..b' 'HEAD' 'index.lock' '{a,b}' '[x]' '?' '~' '%s' '&;|'; do
    echo "$name" > "./$name"
done
echo x > "$(printf 'x%.0s' $(seq 250))"
echo one > case; echo two > CASE
ln -s case link; ln -s nowhere dangling; ln -s .. up
mkdir -p deep/er/still; echo x > deep/er/still/x; mkdir empty
: > nothing; printf 'no end' > no-end; printf '\000\001\377' > binary
echo x > run.sh; chmod 755 run.sh; echo x > locked; chmod 400 locked
mkfifo fifo
cd ..
echo TASK_COMPLETE
"#;

#[test]
fn files_of_every_kind_and_name_are_committed() {
    for group in ["", "[P] "] {
        let world = planned(&format!("- [ ] 1.1 {group}a\n- [ ] 1.2 {group}b\n"));
        works(&world, ODD_FILES, &[]).exits(0);
        assert_eq!(committed(&world), ["1.1", "1.2"]);
        let list = world.git(&["ls-tree", "-r", "-z", "--name-only", "HEAD", "out 1.2"]);
        let names: Vec<&str> = list.split('\0').filter(|name| !name.is_empty()).collect();
        assert_eq!(names.len(), 39, "{names:?}");
        for name in ["new\nline", ":(top)x", "-dash", "日本", "CASE", "dangling", "deep/er/still/x"]
        {
            assert!(names.contains(&format!("out 1.2/{name}").as_str()), "{name}: {names:?}");
        }
        nothing_is_left(&world);
    }
}

#[test]
fn a_file_may_take_the_place_of_a_folder_and_a_folder_that_of_a_file() {
    for group in ["", "[P] "] {
        let world = planned(&format!("- [ ] 1.1 {group}a\n- [ ] 1.2 {group}b\n"));
        world.write("file", "a file\n");
        world.write("folder/in", "a folder\n");
        world.git(&["add", "--all"]);
        world.git(&["commit", "--quiet", "-m", "both"]);
        let script = "case $id in\n\
            1.1) rm file; mkdir file; echo x > file/in;;\n\
            1.2) rm -r folder; echo x > folder;;\nesac\necho TASK_COMPLETE\n";
        works(&world, script, &[]).exits(0);
        assert_eq!(committed(&world), ["1.1", "1.2"]);
        let tree = world.git(&["ls-tree", "-r", "--name-only", "HEAD", "file", "folder"]);
        assert_eq!(tree, "file/in\nfolder\n");
        nothing_is_left(&world);
    }
}
