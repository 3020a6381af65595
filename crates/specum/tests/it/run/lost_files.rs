//! Files that are gone: deleted by a person after a run was killed, or by an agent
//! while it works.

use std::fs::{self, File};

use rustix::process::Signal;

use super::{
    Listener, agent, at_work, committed, nothing_is_left, planned, processes, run_with, send,
    state_home, works,
};
use crate::world::{JOURNAL, PROGRESS, STATE, World};

const TWO: &str = "- [ ] 1.1 a\n- [ ] 1.2 b\n";
const GROUP: &str = "- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n";

/// Writes half a file, says so and waits; with `$HOME/go` it does its work.
const HALF: &str = r#"
test -e "$HOME/go" && { echo whole > "$id.txt"; echo TASK_COMPLETE; exit; }
echo half > "$id.txt"; echo ready > "$HOME/line"; exec sleep 600
"#;

/// Deletes a file or a folder, if it is there.
fn delete(world: &World, path: &str) {
    let path = match path {
        "logs" => state_home(world).join("logs"),
        path => world.path(path),
    };
    let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
}

#[test]
fn after_a_kill_or_ctrl_c_a_run_goes_on_without_the_files_that_are_gone() {
    let any = [
        STATE,
        PROGRESS,
        JOURNAL,
        "specs/test-spec/.ralph.lock",
        "specs/.current-spec",
        ".git/info/exclude",
        ".git/specum",
        "logs",
    ];
    for (signal, plan, agents, gone) in [
        (Signal::KILL, TWO, 1, &any[..]),
        (Signal::INT, TWO, 1, &[STATE, JOURNAL]),
        (Signal::KILL, GROUP, 2, &[STATE, JOURNAL]),
    ] {
        for path in gone {
            let world = planned(plan);
            let agent = agent(&world, HALF);
            let mut line = Listener::new(&world, "line");
            let mut run = at_work(&world, &agent, &[]);
            line.lines(agents);
            send(&run, signal);
            run.wait().unwrap();
            delete(&world, path);
            File::create(world.home().join("go")).unwrap();
            let again = run_with(&world, &agent, &["test-spec"]);
            assert_eq!(again.code, Some(0), "{path}: {}{}", again.stdout, again.stderr);
            assert_eq!(committed(&world), ["1.1", "1.2"], "{path}");
            nothing_is_left(&world);
        }
    }
}

#[test]
fn an_agent_that_deletes_the_ground_ends_the_run_in_order() {
    let deletes = [
        "rm -rf .git",
        "rm -rf specs",
        "rm specs/test-spec/tasks.md",
        ": > specs/test-spec/tasks.md",
        "rm -rf ./* ./.[!.]*",
        "rm -rf .git/objects",
        ": > .git/HEAD",
        "rm .git/index",
        "echo nonsense > .git/index",
        "echo nonsense > specs/test-spec/.ralph-state.json",
    ];
    for delete in deletes {
        for plan in [TWO, GROUP] {
            let world = planned(plan);
            let root = world.root.display();
            let script = format!(
                "test $id = 1.1 && (cd {root} && {delete})\necho $id > $id.txt; echo TASK_COMPLETE\n"
            );
            let ended = works(&world, &script, &[]);
            let said = format!("{delete}: {:?}\n{}{}", ended.code, ended.stdout, ended.stderr);
            assert!(matches!(ended.code, Some(0 | 1 | 3 | 4 | 6)), "{said}");
            assert!(!said.contains("panicked"), "{said}");
            assert!(ended.code == Some(0) || !ended.stderr.is_empty() || said.contains("specum"));
            assert_eq!(processes(&world), [""; 0], "{said}");
        }
    }
}
