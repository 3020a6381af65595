//! A file system without room, or without room for one more file: the run ends in
//! order, and goes on when there is room again.
//!
//! The file system is a small one in memory, which only the shell that mounts it
//! sees; so everything is done there.

use std::process::Command;

use super::{agent, command_run, planned};
use crate::world::{Call, call, skipped};

/// Mounts a small file system over a folder that has files already, lets the agent
/// fill it, makes room, and starts the same command again.
const IN_A_SMALL_PLACE: &str = r#"
place=$1; shift
cp -a "$place" "$HOME/was" && mount -t tmpfs -o size=8m,nr_inodes=600 tmpfs "$place" || exit 77
cp -a "$HOME/was/." "$place" && rm -r "$HOME/was"
cd "$PROJECT" || exit 77
"$@"; echo "full: $?"
rm -rf "$place/filler"; : > "$HOME/room"
"$@"; echo "room: $?"
git fsck --strict > /dev/null 2>&1; echo "fsck: $?"
git log --reverse --format='%(trailers:key=Task,separator=,valueonly)' | tr -d '\n'; echo
git status --porcelain | sed 's/^/dirty: /'
ls "$HOME"/.local/state/specum/worktrees 2> /dev/null | sed 's/^/left: /'
"#;

/// Fills a place once, with one file or with many, and does its work.
fn fills(what: &str) -> String {
    format!(
        "if ! test -e \"$HOME/room\"; then mkdir -p \"$FULL/filler\"; {what}; fi\n\
         echo whole > $id.txt && echo TASK_COMPLETE\n"
    )
}

const WITH_BYTES: &str = "cat /dev/zero > \"$FULL/filler/big\" 2> /dev/null";
const WITH_FILES: &str = "n=0; while (: > \"$FULL/filler/$n\") 2> /dev/null; do n=$((n + 1)); done";

fn in_a_small_place(plan: &str, in_project: bool, what: &str) -> Option<Call> {
    let tried = Command::new("unshare").args(["-rm", "true"]).output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        skipped("unshare does not work here", "SPECUM_NEEDS", "all");
        return None;
    }
    let world = planned(plan);
    world.write(".gitignore", "filler/\n");
    world.git(&["add", ".gitignore"]);
    world.git(&["commit", "--quiet", "-m", "ignore"]);
    let state = world.home().join(".local/state");
    std::fs::create_dir_all(&state).unwrap();
    let place = if in_project { world.root.clone() } else { state };
    let run = command_run(&world, &agent(&world, &fills(what)), &[]);
    let mut command = world.program("unshare");
    command.args(["-rm", "sh", "-c", IN_A_SMALL_PLACE, "sh"]).arg(&place);
    command.arg(run.get_program()).args(run.get_args());
    command.env("PROJECT", &world.root).env("FULL", &place);
    let ended = call(command, b"");
    if ended.code == Some(77) {
        skipped("no right to mount here", "SPECUM_NEEDS", "all");
        return None;
    }
    Some(ended)
}

fn survives(what: &str) {
    for plan in ["- [ ] 1.1 a\n- [ ] 1.2 b\n", "- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n"] {
        for in_project in [true, false] {
            let Some(ended) = in_a_small_place(plan, in_project, what) else { return };
            let told = format!("{plan}{in_project}\n{}{}", ended.stdout, ended.stderr);
            let lines: Vec<&str> = ended.stdout.lines().collect();
            assert!(!told.contains("panicked"), "{told}");
            assert!(lines.iter().any(|line| ["full: 0", "full: 1", "full: 6"].contains(line)));
            assert!(lines.contains(&"room: 0"), "{told}");
            assert!(lines.contains(&"fsck: 0"), "{told}");
            // One that failed in its group is done again behind the other.
            assert!(lines.contains(&"1.11.2") || lines.contains(&"1.21.1"), "{told}");
            assert!(!told.contains("dirty: ") && !told.contains("left: "), "{told}");
        }
    }
}

#[test]
fn a_full_disk_ends_a_run_in_order_and_with_room_it_goes_on() {
    survives(WITH_BYTES);
}

#[test]
fn a_disk_without_inodes_ends_a_run_in_order_and_with_some_it_goes_on() {
    survives(WITH_FILES);
}
