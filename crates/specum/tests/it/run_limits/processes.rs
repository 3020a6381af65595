//! Agents that do not do what processes usually do.

use std::fs;
use std::path::Path;

use super::speech::claude;
use super::{Stage, wants};
use crate::world::{fifo, gate, lives};

fn done() -> String {
    claude::complete(5, 0.1)
}

#[test]
fn an_agent_that_closes_its_output_and_works_on_is_waited_for() {
    let stage = Stage::new(wants("1.1", "a.txt"));
    let place = stage.place.join("gate");
    fifo(&place);
    // It sees, by what its parent has open, that the end of its output was heard.
    let script = format!(
        "pipe=$(readlink /proc/$$/fd/1); exec >&- 2>&-; \
         while ls -l /proc/$PPID/fd | grep -qF \"$pipe\"; do :; done; \
         : < {}; : > a.txt",
        place.display()
    );
    stage.agent("claude", format!("{}become {script}", done()));
    let run = stage.start(&[]);
    drop(gate(&place));
    assert!(run.wait_with_output().unwrap().status.success());
    assert_eq!(stage.journal("failed").len(), 0);
    assert!(stage.tasks().starts_with("- [x] 1.1"));
}

#[test]
fn a_child_that_the_agent_leaves_behind_is_ended_before_the_check() {
    // The check fails as long as the child lives.
    let plan =
        "- [ ] 1.1 Leave nothing\n  - **Verify**: `test -f a.txt && ! kill -0 $(cat child.txt)`\n";
    for leave in [
        "leave echo $$ > child.txt; : > GATE; exec sleep infinity",
        "leave setsid sh -c 'echo $$ > child.txt; : > GATE; exec sleep infinity'",
        "leave env -u SPECUM_MARK setsid sh -c 'echo $$ > child.txt; : > GATE; exec sleep infinity' &",
    ] {
        let stage = Stage::new(plan);
        let gate = {
            let gate = stage.place.join("gate");
            fifo(&gate);
            gate
        };
        let leave = leave.replace("GATE", &gate.display().to_string());
        stage.agent(
            "claude",
            format!("{leave}\nsh cat {}\nsh touch a.txt\n{}", gate.display(), done()),
        );
        let told = stage.run(&[]);
        told.ends(0, "complete");
        assert_eq!(told.failures(), [], "{leave}");
        assert!(!lives(&stage.world.read("child.txt")), "{leave}");
    }
}

#[test]
fn a_child_that_holds_the_pipe_open_is_not_waited_for() {
    let stage = Stage::new(wants("1.1", "a.txt"));
    let (child, place) = (stage.place.join("child"), stage.place.join("gate"));
    fifo(&place);
    // It has the agent's output, its own session, and no mark.
    let stays =
        format!("echo $$ > {}; : > {}; exec sleep infinity", child.display(), place.display());
    stage.agent(
        "claude",
        format!(
            "leave env -i PATH=\"$PATH\" setsid sh -c '{stays}'\nsh cat {}\nsh touch a.txt\n{}",
            place.display(),
            done()
        ),
    );
    let told = stage.run(&[]);
    told.ends(0, "complete");
    assert!(!lives(&fs::read_to_string(child).unwrap()), "nor does it outlive the run");
}

#[test]
fn an_agent_that_ignores_every_signal_it_can_is_ended() {
    let stage = Stage::new(wants("1.1", "a.txt"));
    let pid = stage.place.join("pid");
    let deaf = format!(
        "trap '' TERM INT HUP; echo $$ > {}; while :; do sleep infinity; done",
        pid.display()
    );
    stage.agent("claude", format!("become {deaf}"));
    let told = stage.hasty(&["--idle-timeout", "50m", "--max-task-iterations", "1"]);
    told.ends(6, "blocked");
    assert!(!lives(&fs::read_to_string(pid).unwrap()));
}

#[test]
fn an_agent_that_does_not_read_its_brief_holds_nobody_up() {
    let long = "  - **Do**: read all of this\n".repeat(12_000);
    let stage = Stage::new(wants("1.1", "a.txt").trim_end().to_owned() + "\n" + &long);
    stage.agent("claude", format!("sh touch a.txt\n{}", done()));
    stage.run(&[]).ends(0, "complete");
    let stage = Stage::new(wants("1.1", "a.txt").trim_end().to_owned() + "\n" + &long);
    stage.agent("claude", format!("sh touch a.txt\nread\n{}", done()));
    stage.run(&[]).ends(0, "complete");
    assert!(stage.left("claude", 1, "brief").len() > 300_000);
}

#[test]
fn an_agent_carries_a_mark_and_no_session_of_another_one() {
    let stage = Stage::new(wants("1.1", "a.txt"));
    stage.agent("claude", format!("sh env > a.txt\n{}", done()));
    let mut command = stage.command(&["run"]);
    command.env("CLAUDECODE", "1");
    crate::world::call(command, b"").exits(0);
    let environment = stage.world.read("a.txt");
    let has = |name: &str| environment.lines().any(|line| line.starts_with(name));
    assert!(has("SPECUM_MARK=") && has("SPECUM_ATTEMPT=1") && !has("CLAUDECODE="), "{environment}");
}

#[test]
fn names_of_specs_lead_nowhere_else() {
    for name in [
        "x.lock",
        "-rf",
        "HEAD",
        "with blanks",
        "日本",
        "a..b",
        "@{1}",
        "~^:?*[",
        ".hidden",
        "é",
        &"n".repeat(200),
    ] {
        let stage = Stage::new("");
        let world = &stage.world;
        let dir = Path::new("specs").join(name);
        let tasks = dir.join("tasks.md");
        world.write(tasks.to_str().unwrap(), "- [ ] 1.1 [P] a\n  - **Verify**: `test -f a.txt`\n- [ ] 1.2 [P] b\n  - **Verify**: `test -f a.txt`\n- [ ] 1.3 c\n");
        world.write("specs/.current-spec", format!("{name}\n"));
        world.git(&["add", "--all"]);
        world.git(&["commit", "--quiet", "-m", "plan"]);
        stage.once("claude", 1, "sh touch half.txt\nsay {\"type\":\"system\"}\nexit 3");
        stage.agent("claude", format!("sh touch a.txt\n{}", done()));
        let told = stage.hasty(&[]);
        told.ends(0, "complete");
        let state = world.home().join(".local/state/specum");
        let below: Vec<_> =
            fs::read_dir(&state).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert!(
            below
                .iter()
                .all(|name| ["logs", "projects", "worktrees"].iter().any(|known| name == known)),
            "{name}: {below:?}"
        );
        let references = world.git(&["for-each-ref", "--format=%(refname)"]);
        assert!(
            references
                .lines()
                .all(|name| name == "refs/heads/main" || name.starts_with("refs/specum/")),
            "{references}"
        );
        assert!(references.contains("/kept/"), "{name}: {references}");
    }
}

#[test]
fn two_specs_whose_names_look_alike_have_references_of_their_own() {
    let stage = Stage::new("");
    let world = &stage.world;
    // It is ended for what it says, so what it leaves comes first.
    stage.agent("claude", format!("sh touch half.txt\n{}hang", claude::text("m", "I begin", 600)));
    for name in ["日本", "中国"] {
        world.write(&format!("specs/{name}/tasks.md"), wants("1.1", "a.txt"));
    }
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "-m", "plan"]);
    for name in ["日本", "中国"] {
        stage.run(&[name, "--max-tokens", "500"]).ends(6, "capped");
    }
    let references = world.git(&["for-each-ref", "--format=%(refname)", "refs/specum"]);
    let spec = |line: &str| line.split('/').nth(2).map(str::to_owned);
    let specs: Vec<_> = references.lines().filter_map(spec).collect();
    assert_eq!(specs.len(), 2, "{references}");
    assert_ne!(specs[0], specs[1], "{references}");
}

#[test]
fn ids_that_only_differ_at_their_end_have_files_of_their_own() {
    let long = "1.".repeat(150);
    let plan: String = (1..=2)
        .map(|n| wants(&format!("{long}{n}"), "a.txt").replace(" Write", " [P] Write"))
        .collect();
    let stage = Stage::new(plan);
    stage.agent("claude", format!("sh touch a.txt\n{}", done()));
    let told = stage.run(&[]);
    told.ends(0, "complete");
    assert_eq!(stage.calls("claude"), 2, "{}", told.call.stdout);
    let logs = stage.logs();
    assert!(
        logs.len() == 2 && logs.keys().all(|name| !name.ends_with(".2.log")),
        "{:?}",
        logs.keys()
    );
}
