//! A whole spec in one session of the real Claude Code: the scripted model
//! plays coordinator and executors, specum does everything else.

mod commands;
mod interactive;
mod planning;
mod turn;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};
use specum_core::brief::BriefMarker;

use crate::host::{self, ClaudeRun, Outcome};
use crate::model::{Block, Gate, Model, Reply, Request};
use crate::world::{World, until};

const PLAN: &str = "\
# Plan

## Phase 1: Build

- [ ] 1.1 First
  - **Files**: done-1.1
  - **Verify**: `test -f done-1.1`
  - **Commit**: `feat: first`
- [ ] 1.2 [P] Beside
  - **Files**: done-1.2
  - **Verify**: `test -f done-1.2`
- [ ] 1.3 [P] Beside
  - **Files**: done-1.3
  - **Verify**: `test -f done-1.3`
- [ ] 1.4 [P] Beside
  - **Files**: done-1.4
  - **Verify**: `test -f done-1.4`

## Phase 2: Check

- [ ] V1 [VERIFY] All there
  - **Verify**: `test -f done-1.1 && test -f done-1.4`
- [ ] 2.1 Wrong at first
  - **Verify**: `cat done-2.1` shows 42
- [ ] 2.2 Says too much
  - **Verify**: `true`
";

fn claude(program: &Path, world: &World, model: &Model, prompt: &str) -> ClaudeRun {
    ClaudeRun::new(program, &model.url(), &world.root, prompt).with_specum()
}

fn run(program: &Path, world: &World, model: &Model, prompt: &str) -> Outcome {
    claude(program, world, model, prompt).run()
}

/// A coordinator that calls what it is told to call.
pub(crate) fn coordinate(request: &Request) -> Reply {
    let told = request.told();
    if told.contains("Every task is done.") {
        return Reply::text("ALL_TASKS_COMPLETE");
    }
    calls_due(&told).unwrap_or_else(|| Reply::text("I do not know what to do."))
}

/// The calls that a text says are due, if it says so.
fn calls_due(told: &str) -> Option<Reply> {
    let (_, due) = told.rsplit_once("Due now")?;
    let calls = due.split("- `task ").skip(1).map(|rest| {
        let id = rest.split('`').next().unwrap_or_default();
        let agent = rest.split("for `").nth(1).and_then(|rest| rest.split('`').next());
        Block::tool(
            "Agent",
            json!({
                "description": "next",
                "prompt": format!("task {id}"),
                "subagent_type": agent.unwrap_or("general-purpose"),
            }),
        )
    });
    Some(Reply::message(calls.collect()))
}

pub(crate) fn task_of(request: &Request) -> String {
    let brief = request.user_texts().concat();
    BriefMarker::find(&brief).map_or_else(String::new, |marker| marker.task)
}

fn bash(command: &str) -> Reply {
    Reply::tool("Bash", json!({"command": command}))
}

/// An executor: makes its file, and says so. 2.1 is wrong at first, 2.2 admits
/// something that it should not.
fn execute(request: &Request) -> Reply {
    let id = task_of(request);
    match (id.as_str(), request.assistant_turns()) {
        ("V1", _) => Reply::text("Both are there.\n\nVERIFICATION_PASS"),
        ("2.1", 0) => bash("echo 41 > done-2.1"),
        ("2.1", 1) => Reply::text("Computed.\n\nTASK_COMPLETE"),
        ("2.1", 2) => bash("echo 42 > done-2.1"),
        ("2.2", 0) => Reply::text("The last step requires manual work.\n\nTASK_COMPLETE"),
        ("2.1" | "2.2", _) => Reply::text("Now it holds.\n\nTASK_COMPLETE"),
        (_, 0) => bash(&format!("touch done-{id}{}", note(request, &id))),
        _ => Reply::text("Made it.\n\nTASK_COMPLETE"),
    }
}

/// A line for the notes that the brief of a batch names.
fn note(request: &Request, id: &str) -> String {
    let brief = request.user_texts().concat();
    match brief.split_once("goes to ./specs/demo/.progress-task-") {
        Some((_, rest)) => {
            let index = rest.split('.').next().unwrap_or_default();
            format!("; echo '- {id} learned something' > specs/demo/.progress-task-{index}.md")
        }
        None => String::new(),
    }
}

fn journal(world: &World) -> Vec<Value> {
    let text = world.read("specs/demo/.ralph-journal.jsonl");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn tasks_in(journal: &[Value], event: &str) -> Vec<String> {
    let of_event = journal.iter().filter(|record| record["event"] == event);
    of_event.map(|record| record["task"]["id"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn one_command_works_a_whole_spec() {
    for program in host::claudes() {
        let world = World::planned_as("demo", PLAN);
        let together = Gate::new(3);
        let model = Model::start(move |request| {
            if !request.is_subagent() {
                return coordinate(request);
            }
            let id = task_of(request);
            let first_of_group =
                ["1.2", "1.3", "1.4"].contains(&id.as_str()) && request.assistant_turns() == 0;
            if first_of_group {
                together.arrive();
                return execute(request).after(&together);
            }
            execute(request)
        });

        let outcome = run(&program, &world, &model, "/ralph-specum:implement");

        let plan = world.read("specs/demo/tasks.md");
        assert_eq!(outcome.result()["result"], "ALL_TASKS_COMPLETE", "{plan}");
        assert!(!plan.contains("- [ ]"), "{plan}");
        assert!(!world.path("specs/demo/.ralph-state.json").exists());
        assert_each_task_is_committed(&world);
        assert_story(&world);
        assert_cost(&model);
    }
}

const TASKS: [&str; 7] = ["1.1", "1.2", "1.3", "1.4", "V1", "2.1", "2.2"];

/// Each task's work, tick and note are in a commit of its own.
#[track_caller]
fn assert_each_task_is_committed(world: &World) {
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    let tasks = world.git(&["log", "--reverse", "--format=%(trailers:key=Task,valueonly)"]);
    assert_eq!(tasks.split_whitespace().collect::<Vec<_>>(), TASKS);
    let first = world.git(&["show", "--name-only", "--format=%s", "HEAD~6"]);
    assert_eq!(first, "feat: first\n\ndone-1.1\nspecs/demo/.progress.md\nspecs/demo/tasks.md\n");
    for (n, task) in TASKS[1..4].iter().enumerate() {
        let files = world.git(&["show", "--name-only", "--format=", &format!("HEAD~{}", 5 - n)]);
        assert!(files.contains(&format!("done-{task}\n")), "{files}");
        assert_eq!(files.matches("done-").count(), 1, "{files}");
    }
}

/// Notes and journal tell of one attempt at each task, and of what was sent back
/// within it.
#[track_caller]
fn assert_story(world: &World) {
    let progress = world.read("specs/demo/.progress.md");
    let lines =
        |what: &str| -> Vec<&str> { progress.lines().filter(|line| line.contains(what)).collect() };
    assert_eq!(lines("(attempt 1").len(), TASKS.len(), "{progress}");
    let learned = ["1.2", "1.3", "1.4"].map(|id| format!("- {id} learned something"));
    assert_eq!(lines("learned something"), learned);
    let journal = journal(world);
    assert_eq!(tasks_in(&journal, "passed"), TASKS);
    assert_eq!(tasks_in(&journal, "failed"), [""; 0]);
    assert_eq!(tasks_in(&journal, "sent-back"), ["2.1", "2.2"]);
    let sent_back = journal.iter().filter(|record| record["event"] == "sent-back");
    let reasons: Vec<&str> = sent_back.filter_map(|sent| sent["reasons"][0].as_str()).collect();
    assert!(reasons[0].contains("should print 42 and printed \"41\""), "{reasons:?}");
    assert!(reasons[1].starts_with("CONTRADICTION: claimed complete but"), "{reasons:?}");
}

/// The coordinator is asked about once for each unit of work, reads little, and is
/// never told of more than is due.
#[track_caller]
fn assert_cost(model: &Model) {
    let requests = model.requests();
    let main: Vec<&Request> = requests.iter().filter(|request| !request.is_subagent()).collect();
    assert!(main.len() <= 7, "{} requests for 5 units", main.len());
    let told: Vec<String> = main.iter().map(|request| request.told()).collect();
    assert!(told[0].len() < 3 * 1024, "coordinator prompt: {}", told[0].len());
    for (n, text) in told.iter().enumerate() {
        let due = text.rsplit_once("Due now").map_or("", |(_, due)| due);
        for task in &TASKS[(2 + n * 3).min(TASKS.len())..] {
            assert!(!due.contains(&format!("task {task}`")), "{task} is not due in: {text}");
        }
    }
    assert!(!main[main.len() - 1].mentions("specum-attempt"), "its history holds no brief");
}

#[test]
fn a_failed_task_of_a_group_alone_is_tried_again() {
    for program in host::claudes() {
        let world = World::planned_as(
            "demo",
            "- [ ] 1.1 [P] a\n  - **Verify**: `test -f done-1.1`\n- [ ] 1.2 [P] b\n  - **Verify**: `test -f done-1.2`\n- [ ] 1.3 c\n",
        );
        let model = Model::start(|request| {
            if !request.is_subagent() {
                return coordinate(request);
            }
            let failed_before = request.user_texts().concat().contains("What failed last time");
            match (task_of(request).as_str(), failed_before) {
                ("1.2", false) => Reply::text("I forgot to make the file.\n\nTASK_COMPLETE"),
                _ => execute(request),
            }
        });

        let outcome = run(&program, &world, &model, "/ralph-specum:implement");

        assert_eq!(outcome.result()["result"], "ALL_TASKS_COMPLETE");
        let journal = journal(&world);
        assert_eq!(tasks_in(&journal, "passed"), ["1.1", "1.2", "1.3"]);
        assert_eq!(tasks_in(&journal, "failed"), ["1.2"]);
        let main: Vec<String> =
            model.requests().iter().filter(|r| !r.is_subagent()).map(Request::told).collect();
        assert!(
            main[1].contains("Task 1.1 passed")
                && main[1]
                    .contains("Task 1.2 failed (attempt 1): `test -f done-1.2` ended with code 1")
        );
        assert!(
        main[1].contains(
            "Due now, one Agent call:\n- `task 1.2` for `ralph-specum:spec-executor`: b, attempt 2"
        ),
        "{}",
        main[1]
    );
    }
}

#[test]
fn an_executor_that_dies_of_an_api_error_costs_no_attempt() {
    for program in host::claudes() {
        let world = World::planned_as("demo", "- [ ] 1.1 a\n  - **Verify**: `test -f done-1.1`\n");
        let model = Model::start(dies_once());

        let outcome = run(&program, &world, &model, "/ralph-specum:implement");

        assert_eq!(outcome.result()["result"], "ALL_TASKS_COMPLETE");
        let journal = journal(&world);
        assert_eq!(tasks_in(&journal, "delegated"), ["1.1", "1.1"]);
        let verdicts = (tasks_in(&journal, "failed").len(), tasks_in(&journal, "passed").len());
        assert_eq!(verdicts, (0, 1));
    }
}

#[test]
fn a_coordinator_is_told_that_a_call_was_lost() {
    for program in host::claudes() {
        let world = World::planned_as("demo", "- [ ] 1.1 a\n  - **Verify**: `test -f done-1.1`\n");
        let model = Model::start(dies_once());

        run(&program, &world, &model, "/ralph-specum:implement");

        let requests = model.requests();
        let coordinator = requests.iter().filter(|r| !r.is_subagent()).nth(1).unwrap();
        assert!(coordinator.told().contains("API Error: 400"), "{}", coordinator.told());
        let words = "ended without a verdict, which counts as no attempt.";
        assert!(coordinator.mentions(words), "{:?}", coordinator.user_texts());
    }
}

/// A model whose first executor never gets an answer but an error.
fn dies_once() -> impl Fn(&Request) -> Reply + Send + Sync {
    let doomed = OnceLock::new();
    move |request| {
        let Some(agent) = request.agent_id() else {
            return match request.told().contains("API Error") {
                true => Reply::tool(
                    "Agent",
                    json!({"description": "x", "prompt": "task 1.1", "subagent_type": "ralph-specum:spec-executor"}),
                ),
                false => coordinate(request),
            };
        };
        // Whatever it asks, and however often the host tries again.
        if doomed.get_or_init(|| agent.to_owned()) == agent {
            return Reply::error(400, "invalid_request_error", "no such thing");
        }
        execute(request)
    }
}

#[test]
fn a_killed_host_loses_nothing_and_its_orphaned_judge_changes_nothing() {
    for program in host::claudes() {
        let world = World::planned_as(
            "demo",
            "- [ ] 1.1 a\n  - **Verify**: `test -f go || { cat ../gate; false; }`\n- [ ] 1.2 b\n",
        );
        let gate = world.root.with_file_name("gate");
        crate::world::fifo(&gate);
        let model = Model::start(|request| {
            if request.is_subagent() { execute(request) } else { coordinate(request) }
        });

        // The executor has ended and the judge runs the check, which reads from the
        // gate: opening it for writing waits for exactly that.
        let first = claude(&program, &world, &model, "/ralph-specum:implement").spawn();
        let held = std::fs::File::options().write(true).open(&gate).unwrap();
        rustix::process::kill_process(first.pid(), rustix::process::Signal::KILL).unwrap();
        first.wait();

        // A new session takes the spec over. Its executor ends too, and its judge
        // waits for the orphaned one.
        let before = model.requests().len();
        let second = claude(&program, &world, &model, "/ralph-specum:implement").spawn();
        model.wait_until(|requests| {
            requests.len() > before
                && requests[before..].iter().any(|r| r.is_subagent() && r.assistant_turns() == 1)
        });
        world.write("go", "");
        drop(held);
        let outcome = second.wait();

        assert_eq!(outcome.result()["result"], "ALL_TASKS_COMPLETE");
        let journal = journal(&world);
        assert_eq!(tasks_in(&journal, "passed"), ["1.1", "1.2"], "nothing is judged twice");
        // The orphan's check failed; it is not the orphan's to say so.
        assert_eq!(tasks_in(&journal, "failed"), Vec::<String>::new());
        assert_eq!(tasks_in(&journal, "sent-back"), Vec::<String>::new());
        let tasks = world.git(&["log", "--reverse", "--format=%(trailers:key=Task,valueonly)"]);
        assert_eq!(tasks.split_whitespace().collect::<Vec<_>>(), ["1.1", "1.2"]);
    }
}

#[test]
fn a_session_killed_in_a_batch_goes_on_when_it_is_resumed() {
    killed_in_a_batch(Life::Resumed);
}

#[test]
fn a_session_killed_in_a_batch_goes_on_in_a_new_one() {
    killed_in_a_batch(Life::New);
}

#[derive(Clone, Copy)]
enum Life {
    Resumed,
    New,
}

/// Kills a host while one executor of a batch has ended and another one waits
/// for a shell command, which lives on until the very end.
fn killed_in_a_batch(second_life: Life) {
    for program in host::claudes() {
        let world = World::planned_as(
            "demo",
            "- [ ] 1.1 [P] a\n  - **Verify**: `test -f done-1.1`\n- [ ] 1.2 [P] b\n  - **Verify**: `test -f done-1.2`\n- [ ] 1.3 c\n",
        );
        let home = tempfile::tempdir().unwrap();
        let gate = world.root.with_file_name("gate");
        crate::world::fifo(&gate);
        let killed = Arc::new(AtomicBool::new(false));
        let is_killed = Arc::clone(&killed);
        let model = Model::start(move |request| {
            if !request.is_subagent() {
                return coordinate(request);
            }
            let first_life = !is_killed.load(Ordering::SeqCst);
            match (task_of(request).as_str(), request.assistant_turns()) {
                ("1.2", 0) if first_life => bash("touch done-1.2; cat ../gate"),
                _ => execute(request),
            }
        });

        let run = || claude(&program, &world, &model, "/ralph-specum:implement").home(home.path());
        let first = run().spawn();
        // The command of 1.2 runs: it has opened the gate. 1.1 has ended.
        let held = std::fs::File::options().write(true).open(&gate).unwrap();
        until("1.1 reports", || tasks_in(&journal(&world), "reported") == ["1.1"]);
        let session = model.requests()[0].session_id().unwrap().to_owned();
        rustix::process::kill_process(first.pid(), rustix::process::Signal::KILL).unwrap();
        first.wait();
        killed.store(true, Ordering::SeqCst);

        let outcome = match second_life {
            Life::Resumed => run().args(["--resume", &session]).run(),
            Life::New => run().run(),
        };
        drop(held);

        assert_eq!(outcome.result()["result"], "ALL_TASKS_COMPLETE");
        let journal = journal(&world);
        let mut passed = tasks_in(&journal, "passed");
        passed.sort();
        assert_eq!(passed, ["1.1", "1.2", "1.3"], "nothing lost, nothing done twice");
        let begun = tasks_in(&journal, "delegated");
        let of_first = begun.iter().filter(|task| *task == "1.1").count();
        assert_eq!(of_first, 1, "what has ended is not worked again: {begun:?}");
        let tasks = world.git(&["log", "--format=%(trailers:key=Task,valueonly)"]);
        assert_eq!(tasks.split_whitespace().count(), 3, "{tasks}");
        assert_eq!(world.git(&["status", "--porcelain"]), "");
    }
}
