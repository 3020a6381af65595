//! What git is asked for: nothing that leaves the machine, that rewrites what is
//! committed, or that loses what is not.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::everything;
use crate::world::{Call, World, call, executable, first_on_path};

/// A task that stops its own run with a signal, once, in the middle of a change.
fn stops_its_run(title: &str, signal: &str) -> String {
    let state = "$HOME/../project/specs/test-spec/.ralph-state.json";
    format!(
        "- [ ] {title}\n  ```sh\n  echo half > old.txt; echo half > new.txt; git add new.txt\n  \
         mkdir $HOME/{signal} || exit 0\n  \
         kill -{signal} $(tr ',{{}}' '\\n\\n\\n' < {state} | sed -n 's/.*\"pid\": *//p')\n  \
         sleep infinity\n  ```\n"
    )
}

/// The real git, which writes down what it was asked for by others than agents,
/// a line each.
fn git_that_tells(world: &World) -> std::path::PathBuf {
    let bin = world.home().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let git = std::env::split_paths(&path).map(|dir| dir.join("git")).find(|file| file.is_file());
    let script = format!(
        "#!/bin/sh\nasked=$(printf '%s ' \"${{GIT_INDEX_FILE:+SCRATCH}}\" \"$@\" | tr '\\n' ' ')\n\
         test -n \"$SPECUM_ATTEMPT\" || printf '%s\\n' \"$asked\" >> \"$HOME/asked\"\nexec {} \"$@\"\n",
        git.expect("git is installed").display()
    );
    fs::write(bin.join("git"), script).unwrap();
    executable(&bin.join("git"));
    bin
}

/// Why a call of git is harmless; `None` if nothing says that it is.
fn harmless(asked: &str, worktrees: &Path) -> Option<&'static str> {
    let is_scratch = asked.starts_with("SCRATCH ");
    let mut words = asked.split_whitespace().skip(usize::from(is_scratch));
    let (mut tree, mut name) = ("", "");
    while let Some(word) = words.next() {
        match word {
            "-C" => tree = words.next()?,
            "-c" => drop(words.next()),
            option if option.starts_with('-') => {}
            subcommand => {
                name = subcommand;
                break;
            }
        }
    }
    let args: Vec<&str> = words.collect();
    let has = |word: &str| args.contains(&word);
    let names_its_paths = has("--pathspec-from-file=-");
    let is_ours = |path: &str| Path::new(path).starts_with(worktrees);
    match name {
        "check-ignore" | "diff" | "diff-tree" | "for-each-ref" | "ls-files" | "ls-tree"
        | "merge-base" | "rev-parse" | "status" | "var" | "version" => Some("it only looks"),
        "remote" if args.is_empty() => Some("it only looks"),
        "symbolic-ref" if args.len() == 2 && has("--quiet") => Some("it only looks"),
        "config" if has("--get") || has("--list") => Some("it only looks"),
        "commit-tree" | "merge-tree" | "mktree" | "write-tree" => {
            Some("objects that nobody refers to yet")
        }
        "commit" if is_scratch && !has("--amend") && !has("-a") => {
            Some("a commit on top, of an index of our own")
        }
        "update-index" | "read-tree" if is_scratch => Some("an index of our own"),
        "update-index" if has("--refresh") => Some("times, no content"),
        "update-index" if has("--stdin") => Some("stages paths that it names, for a commit"),
        "read-tree" if args.starts_with(&["-m", "-u", "HEAD"]) => {
            Some("refuses to touch what is changed already")
        }
        "update-ref" => {
            let reference = args.iter().find(|word| !word.starts_with('-'))?;
            reference.starts_with("refs/specum/").then_some("a reference of our own")
        }
        "reset" if is_ours(tree) => Some("a worktree of our own"),
        "worktree" => match args.first()? {
            &"list" | &"prune" => Some("loses no worktree that is there"),
            _ => args.iter().any(|word| is_ours(word)).then_some("a worktree of our own"),
        },
        "rm" if has("--cached") && names_its_paths => Some("unstages what an attempt staged"),
        "restore" if names_its_paths => Some("puts back what an attempt changed and was kept"),
        _ => None,
    }
}

#[test]
fn git_is_asked_to_add_commit_and_look_and_for_nothing_that_leaves_the_machine_or_rewrites() {
    let plan = [
        everything(),
        stops_its_run("1.5 Interrupted", "INT"),
        stops_its_run("1.6 [P] Killed", "KILL"),
        "- [ ] 1.7 [P] Beside\n- [ ] 1.8 By hand\n- [ ] 1.9 Never\n".to_owned(),
    ];
    let world = World::planned(plan.concat());
    world.write("old.txt", "old\n");
    world.git(&["add", "old.txt"]);
    world.git(&["commit", "--quiet", "-m", "something old"]);
    let path = first_on_path(&git_that_tells(&world));
    let mut heads = vec![world.git(&["rev-parse", "HEAD"])];
    let mut specum = |args: &[&str]| -> Call {
        let mut command = world.command();
        command.args(args).env("PATH", &path);
        let call = call(command, b"TASK_COMPLETE");
        heads.push(world.git(&["rev-parse", "HEAD"]));
        call
    };
    specum(&["run", "--agent", "script"]).exits(130);
    assert_eq!(specum(&["run", "--agent", "script"]).code, None, "it was killed");
    specum(&["doctor", "--repair"]).exits(0);
    specum(&["run", "--agent", "script", "--only", "1.6,1.7"]).exits(0);
    specum(&["implement"]).exits(0);
    world.write("by-hand.txt", "");
    specum(&["finish", "1.8"]).exits(0);
    specum(&["cancel", "--remove"]).exits(0);

    let lines = fs::read_to_string(world.home().join("asked")).unwrap();
    let worktrees = world.home().join(".local/state/specum/worktrees");
    for asked in lines.lines() {
        assert!(harmless(asked, &worktrees).is_some(), "{asked}");
    }
    let whys: BTreeSet<&str> =
        lines.lines().filter_map(|asked| harmless(asked, &worktrees)).collect();
    assert_eq!(whys.len(), 12, "everything that specum asks for was asked for: {whys:#?}");
    for head in heads {
        world.git(&["merge-base", "--is-ancestor", head.trim(), "main"]);
    }
    assert_eq!(world.git(&["branch", "--format=%(refname)"]).trim(), "refs/heads/main");
}

#[test]
fn what_git_must_not_be_asked_for_is_told_from_what_it_may() {
    let worktrees = Path::new("/state/worktrees");
    for asked in [
        "push",
        "config user.name x",
        "fetch origin",
        "-C /p gc",
        "SCRATCH commit --amend -m x",
        "commit -m x",
        "commit -a -m x",
        "update-ref refs/heads/main 1234",
        "update-ref -d refs/tags/v1",
        "reset --hard",
        "-C /project reset --quiet --hard",
        "worktree remove --force /elsewhere",
        "rm -r src",
        "restore .",
        "read-tree --reset -u HEAD",
        "checkout main",
        "stash",
        "clean -fd",
    ] {
        assert_eq!(harmless(asked, worktrees), None, "{asked}");
    }
}
