//! Seen from other terminals while it works.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::{Listener, agent, command_run, planned};
use crate::world::World;

const TWO: &str = "- [ ] 1.1 a\n  - **Verify**: `test -f a.txt`\n- [ ] 1.2 b\n";

/// `specum log --follow --json`, in a process of its own.
struct Follower {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    seen: Vec<Value>,
}

impl Follower {
    fn since(world: &World, seq: u64) -> Follower {
        let mut command = world.command();
        command.args(["log", "--follow", "--json", "--since", &seq.to_string()]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the binary starts");
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Follower { child, lines, seen: Vec::new() }
    }

    fn next(&mut self) -> Option<&Value> {
        let line = self.lines.next()?.expect("text");
        self.seen.push(serde_json::from_str(&line).expect("JSON"));
        self.seen.last()
    }

    /// Reads up to an event.
    fn sees(&mut self, event: &str, task: &str) {
        let is_it = |line: &Value| {
            line["event"] == event && (task.is_empty() || line["task"]["id"] == task)
        };
        while !is_it(self.next().unwrap_or_else(|| panic!("no {event} of {task}"))) {}
    }

    /// Everything that it has printed, once it has ended by itself.
    fn all(mut self) -> Vec<Value> {
        while self.next().is_some() {}
        assert!(self.child.wait().unwrap().success());
        self.seen
    }
}

/// The events that come from records.
fn recorded(lines: &[Value]) -> Vec<Value> {
    lines.iter().filter(|line| line.get("seq").is_some()).cloned().collect()
}

fn names(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["event"].as_str().unwrap()).collect()
}

#[track_caller]
fn numbers_only_grow(lines: &[Value]) {
    let numbers: Vec<u64> = lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
}

#[test]
fn a_run_is_followed_by_any_number_of_readers_who_end_with_it() {
    let world = planned(TWO);
    let (mut begun, gate) = (Listener::new(&world, "begun"), world.home().join("gate"));
    crate::world::fifo(&gate);
    let script = "echo \"I work $id\"; echo $id > $HOME/begun; read go < $HOME/gate\n\
                  case $id in 1.1) echo > a.txt;; *) echo > b.txt;; esac; echo TASK_COMPLETE\n";
    let mut command = command_run(&world, &agent(&world, script), &["--json"]);
    let run = command.stdout(Stdio::piped()).spawn().unwrap();
    assert_eq!(begun.line(), "1.1");
    let mut early = Follower::since(&world, 1);
    early.sees("attempt-started", "1.1");
    early.sees("agent", "1.1");
    std::fs::write(&gate, "go\n").unwrap();
    assert_eq!(begun.line(), "1.2");
    // Begun later, and from a later number on.
    early.sees("passed", "1.1");
    let passed = early.seen.last().unwrap()["seq"].as_u64().unwrap();
    let mut late = Follower::since(&world, passed);
    late.sees("passed", "1.1");
    early.sees("agent", "1.2");
    std::fs::write(&gate, "go\n").unwrap();
    let output = run.wait_with_output().unwrap();
    assert!(output.status.success());
    let (early, late) = (early.all(), late.all());
    let told = String::from_utf8(output.stdout).unwrap();
    let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();

    assert_eq!(names(&early).last_chunk(), Some(&["run-ended", "summary"]));
    let (early_records, late_records) = (recorded(&early), recorded(&late));
    let tail: Vec<Value> =
        early_records.iter().filter(|line| line["seq"].as_u64() >= Some(passed)).cloned().collect();
    assert_eq!(late_records, tail, "the same events in the same order");
    numbers_only_grow(&early_records);
    // What the run prints is what they see of it, line by line.
    let of_run = recorded(&told);
    let same: Vec<Value> =
        early_records.iter().filter(|line| of_run.contains(line)).cloned().collect();
    assert_eq!(same, of_run);
    let run_id = &of_run[0]["run"];
    assert!(run_id.is_string() && told.iter().rev().skip(1).all(|line| line["run"] == *run_id));
    // An agent's words stand behind its start and in front of its check.
    for lines in [&early, &told] {
        let of_task: Vec<&str> = lines
            .iter()
            .filter(|line| line["task"]["id"] == "1.2" && line["event"] != "opened")
            .filter(|line| line["event"] != "charged" && line["sign"] != "used")
            .map(|line| line["event"].as_str().unwrap())
            .collect();
        let agent = of_task.iter().filter(|name| **name == "agent").count();
        assert!(agent > 0, "{of_task:?}");
        let expected = [vec!["attempt-started"], vec!["agent"; agent], vec!["checking", "passed"]];
        assert_eq!(of_task, expected.concat());
    }
    let passed = of_run.iter().filter(|line| line["event"] == "passed").collect::<Vec<_>>();
    assert_eq!(passed.len(), 2);
    assert!(passed.iter().all(|line| line["commit"].is_string() && line["millis"].is_u64()));
}

#[test]
fn a_loop_worked_from_a_shell_is_followed_alike() {
    let world = World::started(TWO);
    let mut early = Follower::since(&world, 1);
    early.sees("opened", "1.1");
    world.finish("1.1", "TASK_COMPLETE").exits(1);
    early.sees("failed", "1.1");
    world.write("a.txt", "");
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    early.sees("passed", "1.1");
    let passed = early.seen.last().unwrap().clone();
    assert!(passed["commit"].is_string() && passed.get("run").is_none(), "{passed}");
    let seq = passed["seq"].as_u64().unwrap();
    let mut late = Follower::since(&world, seq);
    late.sees("passed", "1.1");
    world.specum(&["next"]).exits(0);
    world.finish("1.2", "TASK_COMPLETE").exits(0);
    let (early, late) = (early.all(), late.all());
    let early_records = recorded(&early);
    numbers_only_grow(&early_records);
    let tail: Vec<Value> =
        early_records.iter().filter(|line| line["seq"].as_u64() >= Some(seq)).cloned().collect();
    assert_eq!(recorded(&late), tail, "the same events in the same order");
    assert_eq!(names(&late).last_chunk(), Some(&["completed", "summary"]));
    assert_eq!(late.last().unwrap()["standing"], json!("complete"));
    let text = world.specum(&["log", "--since", &seq.to_string()]);
    let first = text.exits(0).stdout.lines().next().unwrap();
    assert!(first.contains("1.1 committed as "), "{}", text.stdout);
}

#[test]
fn what_agents_say_is_followed_as_text() {
    let world = planned("- [ ] 1.1 a\n");
    let gate = world.home().join("gate");
    crate::world::fifo(&gate);
    let script = "echo 'I look at it first.'; read go < $HOME/gate; echo TASK_COMPLETE\n";
    let mut command = command_run(&world, &agent(&world, script), &["--json"]);
    let mut run = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(run.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("attempt-started")));
    let mut command = world.command();
    let mut child = command.args(["log", "-f"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut shown = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(shown.any(|line| line.ends_with("1.1 │ I look at it first.")));
    std::fs::write(&gate, "go\n").unwrap();
    assert!(shown.any(|line| line.contains("run ended: complete")));
    assert!(shown.any(|line| line == "test-spec  complete  1 of 1 tasks done; 1 had no check"));
    assert!(child.wait().unwrap().success());
    assert_eq!(lines.last().map(|line| line.contains("summary")), Some(true));
    assert!(run.wait().unwrap().success());
}
