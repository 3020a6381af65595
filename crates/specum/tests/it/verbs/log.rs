use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use specum_core::digest::Digest;

use crate::world::{JOURNAL, World};

const PLAN: &str = "- [ ] 1.1 Write a\n  - **Files**: a.txt\n  - **Verify**: `echo looking for a; test -f a.txt`\n- [ ] 1.2 Then b\n";
/// Everything a terminal would obey, and something it would not.
const EVIL: &str = "\x1b[2J\x1b]0;owned\x07\u{202e}\u{9b}1mharmless\x08";

/// A loop whose first task needed two attempts, and whose second is begun.
fn worked() -> World {
    let world = World::started(PLAN);
    world.finish("1.1", "TASK_COMPLETE").exits(1);
    world.write("a.txt", "");
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    world
}

/// Adds a record to the journal, as a run would.
fn record(world: &World, entry: &Value) {
    let mut record = json!({"v": 1, "at": "2026-01-01T00:00:00Z"});
    for (name, value) in entry.as_object().expect("an object") {
        record[name] = value.clone();
    }
    world.write(JOURNAL, format!("{}{record}\n", world.read(JOURNAL)));
}

/// Where the logs of `test-spec` are.
fn log_dir(world: &World) -> PathBuf {
    let place = world.path("specs/test-spec");
    let digest = Digest::of(place.as_os_str().as_encoded_bytes()).hex();
    world.home().join(format!(".local/state/specum/logs/test-spec-{digest}"))
}

fn keep_log(world: &World, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = log_dir(world).join(name);
    fs::create_dir_all(log_dir(world)).unwrap();
    fs::write(&path, text).unwrap();
    path
}

fn charged(task: &str, attempt: u64, log: &str) -> Value {
    json!({"event": "charged", "task": {"id": task, "title": ""}, "attempt": attempt,
        "agent": "claude", "tokens": 48_211, "cost": 0.31, "millis": 95_000, "log": log})
}

#[track_caller]
fn is_harmless(text: &str) {
    let obeyed = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!text.contains(obeyed), "{text:?}");
}

#[test]
fn log_tells_what_happened_and_then_the_summary() {
    let world = worked();
    let call = world.specum(&["log"]);
    let lines: Vec<&str> = call.exits(0).stdout.lines().collect();
    let said: Vec<&str> =
        lines.iter().take_while(|line| !line.is_empty()).map(|line| &line[21..]).collect();
    assert_eq!(said[..2], ["loop started: 2 of 2 tasks open", "1.1 begun (attempt 1): Write a"]);
    assert!(said[2].starts_with("1.1 failed (attempt 1, "), "{said:?}");
    assert!(said[2].contains("verify): `echo looking for a; test -f a.txt` ended with code 1"));
    assert!(said.iter().any(|line| line.starts_with("1.1 committed as ")), "{said:?}");
    assert!(
        call.stdout.contains("\n\ntest-spec  under way  1 of 2 tasks done\n"),
        "{}",
        call.stdout
    );
    assert!(call.stdout.contains("2 attempts") && call.stdout.contains("attempts    3, 1 commit"));
    is_harmless(&call.stdout);
}

#[test]
fn log_of_a_task_tells_each_attempt_and_what_the_last_agent_printed() {
    let world = worked();
    keep_log(&world, "1.1-1.log", "the first\n");
    let path = keep_log(&world, "1.1-2.log", format!("the \x1b[1msecond{EVIL}\nwithout an end"));
    record(&world, &charged("1.1", 2, path.to_str().unwrap()));
    let call = world.specum(&["log", "1.1"]);
    let shown = &call.exits(0).stdout;
    assert!(shown.starts_with("✓ 1.1 Write a  done  48.2k tokens  $0.31\n  attempt 1  failed  "));
    assert!(
        shown.contains("\n    `echo looking for a; test -f a.txt` ended with code 1"),
        "{shown}"
    );
    assert!(shown.contains("\n    │ looking for a\n"), "{shown}");
    assert!(shown.contains("\n  attempt 2  passed, red→green  "), "{shown}");
    let log = format!(
        "\nlog of attempt 2 (claude): {}\nthe secondharmless\nwithout an end\n\noutput of the \
         check of attempt 2:\n    │ looking for a\n  attempt 2  passed, red→green  ",
        path.display()
    );
    assert!(shown.contains(&log), "{shown}");
    is_harmless(shown);
    let raw = world.specum(&["log", "1.1", "--raw"]);
    assert_eq!(raw.exits(0).stdout, format!("the \x1b[1msecond{EVIL}\nwithout an end"));
}

#[test]
fn what_an_agent_said_and_did_is_told_as_a_person_reads_it() {
    let world = worked();
    let event = |kind: &str, content: Value| json!({"type": kind, "message": {"content": content}});
    let answer: String = (1..=9).map(|n| format!("line {n}\n")).collect();
    let stream = [
        json!({"type": "system", "subtype": "init"}),
        event("assistant", json!([{"type": "text", "text": format!("I look.{EVIL}")}])),
        event(
            "assistant",
            json!([{"type": "tool_use", "name": "Bash", "input": {"command": "ls -l"}}]),
        ),
        event("user", json!([{"type": "tool_result", "content": answer}])),
        event(
            "user",
            json!([{"type": "tool_result", "content": "no such file", "is_error": true}]),
        ),
    ];
    let stream: String = stream.iter().map(|event| format!("{event}\n")).collect();
    let path = keep_log(&world, "1.1-1.log", stream);
    record(&world, &charged("1.1", 1, path.to_str().unwrap()));
    let told = "\nI look.harmless\n  → Bash: ls -l\n    │ line 1\n    │ line 2\n    │ line 3\n    │ \
                line 4\n    │ line 5\n    │ … 4 more lines\n    │ no such file\n";
    let call = world.specum(&["log", "1.1", "--attempt", "1"]);
    let shown = &call.exits(0).stdout;
    assert!(shown.contains(told), "{shown}");
    let end = "\noutput of the check of attempt 1:\n    │ looking for a\n  attempt 1  failed  ";
    let (_, behind) = shown.split_once(end).unwrap_or_else(|| panic!("{shown}"));
    assert!(behind.contains("\n    `echo looking for a; test -f a.txt` ended with code 1"));
    assert!(!shown.contains("attempt 2"), "{shown}");
    is_harmless(shown);
    let none = world.specum(&["log", "1.1", "--attempt", "7"]);
    assert!(none.exits(3).stderr.contains("no attempt 7 at 1.1; its last one is 2"));
    let raw = world.specum(&["log", "1.1", "--attempt", "1", "--raw"]);
    assert!(raw.exits(0).stdout.starts_with("{\"type\":\"system\""), "{}", raw.stdout);
    world.specum(&["log", "--attempt", "1"]).exits(2);
}

/// What each agent has really printed, with the errors of several runs behind one another.
const SAMPLES: [(&str, &str, &[&str]); 3] = [
    (
        "codex",
        include_str!("../../../../specum-core/src/agent/transcript/samples/codex.jsonl"),
        &[
            "\nt\n  → Bash: echo HI-$((1+1)); exit 3\n    │ HI-2\n    │ exit code 3\n",
            "  → Edit: src/a.rs\n  → Edit: src/b.rs\n",
            "  ! Reconnecting... 1/1",
            "\nfin\n",
        ],
    ),
    (
        "gemini",
        include_str!("../../../../specum-core/src/agent/transcript/samples/gemini.jsonl"),
        &[
            "\nt\n  → run_shell_command: echo HI; exit 3\n    │ HI\n",
            "\nDone.\nTASK_COMPLETE\n",
            "  ✗ [API Error: API key not valid.",
        ],
    ),
    (
        "opencode",
        include_str!("../../../../specum-core/src/agent/transcript/samples/opencode.jsonl"),
        &[
            "\nlet me\n  → bash: ls\n    │ a.txt\n    │ b.txt\n",
            "  → read: c.txt\n    │ File not found: c.txt\n",
            "\nfin\n  ✗ mock error\n",
        ],
    ),
];

#[test]
fn what_codex_gemini_and_opencode_said_and_did_is_told_as_a_person_reads_it() {
    for (agent, sample, told) in SAMPLES {
        let world = worked();
        let lines = sample.lines().filter(|line| !line.starts_with("=== "));
        let stream: String = lines.map(|line| format!("{line}\n")).collect();
        let path = keep_log(&world, "1.1-1.log", stream);
        let mut charged = charged("1.1", 1, path.to_str().unwrap());
        charged["agent"] = agent.into();
        record(&world, &charged);
        let shown = world.specum(&["log", "1.1", "--attempt", "1"]).exits(0).stdout.clone();
        for part in told {
            assert!(shown.contains(part), "{agent}: {part}: {shown}");
        }
        assert!(!shown.contains("{\"") && !shown.contains("\"type\""), "{agent}: {shown}");
        let end = "\noutput of the check of attempt 1:\n    │ looking for a\n  attempt 1  failed  ";
        assert!(shown.contains(end), "{agent}: {shown}");
        is_harmless(&shown);
    }
}

#[test]
fn attempts_of_another_round_go_on_counting() {
    let plan = "- [ ] 1.1 Write a\n  - **Verify**: `echo expected a; false`\n";
    let world = World::with_tasks(plan);
    world.specum(&["implement", "--max-task-iterations", "1"]).exits(0);
    world.finish("1.1", "TASK_COMPLETE").exits(1);
    let shown = world.specum(&["status"]).exits(0).stdout.clone();
    assert!(shown.contains("│ expected a\n") && shown.contains("`specum log 1.1`"), "{shown}");
    world.person(&["resume"]);
    let next = world.specum(&["next", "--brief"]).exits(0).stdout.clone();
    assert!(next.contains("Due: task 1.1 for spec-executor, attempt 2"), "{next}");
    let finish = world.finish("1.1", "TASK_COMPLETE").exits(1).stdout.clone();
    assert!(finish.starts_with("1.1 failed (attempt 2):"), "{finish}");
    assert!(world.specum(&["status"]).exits(0).stdout.contains("attempt 2 failed"));
    let story = world.specum(&["log"]).exits(0).stdout.clone();
    assert!(story.contains("1.1 begun (attempt 2)") && story.contains("1.1 failed (attempt 2, "));
    assert!(story.contains("\n  attempt 1  failed  ") && story.contains("\n  attempt 2  failed  "));
    assert!(story.contains("\n    │ expected a\n"), "{story}");
    world.specum(&["log", "1.1", "--attempt", "2"]).exits(0);
    world.git_init();
    let diff = world.specum(&["diff", "1.1"]).stderr;
    assert!(diff.contains("attempt 2 at 1.1"), "{diff}");
}

#[test]
fn the_log_of_an_attempt_that_runs_is_its_newest_file() {
    let world = World::started(PLAN);
    keep_log(&world, "1.1-1.log", "killed\n");
    keep_log(&world, "1.1-1.2.log", "started again\n");
    let call = world.specum(&["log", "1.1"]);
    let end = "1.1-1.2.log\nstarted again\n  attempt 1  no verdict yet\n";
    assert!(call.exits(0).stdout.ends_with(end), "{}", call.stdout);
    assert!(world.specum(&["log", "1.2"]).exits(0).stdout.ends_with("  not worked on yet\n"));
    world.specum(&["log", "1.2", "--raw"]).exits(3);
}

#[test]
fn a_journal_cannot_name_any_file_as_a_log() {
    let world = worked();
    world.write("secret.txt", "secret");
    let path = world.path("secret.txt");
    record(&world, &charged("1.1", 2, path.to_str().unwrap()));
    let call = world.specum(&["log", "1.1"]);
    let elsewhere = format!("\nits log is not here: {}\n", path.display());
    assert!(call.exits(0).stdout.contains(&elsewhere), "{}", call.stdout);
    world.specum(&["log", "1.1", "--raw"]).exits(3);
}

#[test]
fn log_as_json_is_the_records_and_then_the_summary() {
    let world = worked();
    let lines = |args: &[&str]| -> Vec<Value> {
        let call = world.specum(args);
        call.exits(0).stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let all = lines(&["log", "--json"]);
    assert_eq!(all[0]["event"], "started");
    assert!(all.iter().all(|line| line.get("changes").is_none() && line["event"] != "done"));
    let summary = all.last().unwrap();
    assert_eq!((&summary["event"], &summary["spec"]), (&json!("summary"), &json!("test-spec")));
    assert_eq!((&summary["standing"], &summary["attempts"]), (&json!("under-way"), &json!(3)));
    assert_eq!(summary["tasks"].as_array().unwrap().len(), 2);
    let one = lines(&["log", "1.1", "--json"]);
    let events: Vec<&str> =
        one[..one.len() - 1].iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["opened", "red", "failed", "opened", "passed", "committed"]);
    assert!(one[..one.len() - 1].iter().all(|line| line["task"]["id"] == "1.1"));
    assert_eq!(one.last().unwrap()["tasks"].as_array().unwrap().len(), 1);
}

#[test]
fn log_follows_until_the_loop_ends() {
    let world = worked();
    let mut command = world.command();
    let mut child = command
        .args(["log", "--follow"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.by_ref().any(|line| line.contains("1.1 committed as ")), "what was");
    world.finish("1.2", "TASK_COMPLETE").exits(0);
    assert!(lines.by_ref().any(|line| line.contains("1.2 passed (attempt 1")), "what comes");
    let rest: Vec<String> = lines.collect();
    assert!(rest.iter().any(|line| line.contains("complete: all 2 tasks are done")), "{rest:?}");
    assert!(
        rest.iter().any(|line| line == "test-spec  complete  2 of 2 tasks done; 1 had no check"),
        "{rest:?}"
    );
    assert!(child.wait().unwrap().success());
    let again = world.specum(&["log", "--follow"]);
    assert!(again.exits(0).stdout.contains("test-spec  complete"), "nothing to wait for");
}

#[test]
fn log_follows_a_task_until_it_has_passed() {
    let world = World::started(PLAN);
    let path = keep_log(&world, "1.1-1.log", "first words\n");
    let mut command = world.command();
    command.args(["log", "1.1", "--follow"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the binary starts");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.by_ref().any(|line| line == "first words"));
    fs::write(&path, "first words\nmore words\n").unwrap();
    assert!(lines.by_ref().any(|line| line == "more words"));
    world.finish("1.1", "TASK_COMPLETE").exits(1);
    assert!(lines.by_ref().any(|line| line.starts_with("  attempt 1  failed")));
    keep_log(&world, "1.1-2.log", "once more");
    world.write("a.txt", "");
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    let rest: Vec<String> = lines.collect();
    assert!(rest.iter().any(|line| line == "once more"), "{rest:?}");
    assert!(rest.iter().any(|line| line.starts_with("  attempt 2  passed")), "{rest:?}");
    assert!(child.wait().unwrap().success());
}

#[test]
fn log_of_what_is_not_there_says_so() {
    let world = World::with_tasks(PLAN);
    assert!(world.specum(&["log"]).exits(0).stdout.starts_with("nothing has happened yet"));
    let call = world.specum(&["log", "9.9"]);
    assert!(call.exits(3).stderr.contains("there is no task 9.9"), "{}", call.stderr);
    world.specum(&["log", "--spec", "none"]).exits(3);
    world.specum(&["log", "--raw"]).exits(2);
}

#[test]
fn nothing_that_stands_in_a_journal_or_a_title_is_obeyed() {
    let world = World::started(&format!("- [ ] 1.1 {EVIL}\n"));
    record(&world, &charged("1.1", 1, EVIL));
    record(&world, &json!({"event": "agent-changed", "from": EVIL, "to": EVIL, "why": EVIL}));
    record(&world, &json!({"event": "run-ended", "outcome": EVIL, "millis": 1}));
    for args in [&["log"][..], &["log", "1.1"], &["log", "--json"], &["status"]] {
        let call = world.specum(args);
        assert!(call.exits(0).stdout.contains("harmless"), "{args:?}: {}", call.stdout);
        is_harmless(&call.stdout);
    }
}

#[test]
fn status_counts_no_attempt_that_nobody_has_worked() {
    let world = World::started("- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n");
    let shown = world.specum(&["status"]).exits(0).stdout.clone();
    assert!(!shown.contains("so far"), "{shown}");
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    let shown = world.specum(&["status"]).exits(0).stdout.clone();
    assert!(shown.contains("\nso far     1 attempt, "), "{shown}");
}

#[test]
fn status_says_what_the_loop_has_taken_and_how_the_last_run_ended() {
    let world = worked();
    let shown = world.specum(&["status"]).exits(0).stdout.clone();
    assert!(shown.contains("\nso far     2 attempts, ") && !shown.contains("last run"), "{shown}");
    record(&world, &charged("1.1", 2, "x.log"));
    record(&world, &json!({"event": "run-ended", "outcome": "interrupted", "millis": 1}));
    let shown = world.specum(&["status"]).exits(0).stdout.clone();
    assert!(shown.contains(" 48.2k tokens, $0.31\nlast run   interrupted\n"), "{shown}");
    let status = world.specum(&["status", "--json"]).json();
    assert_eq!((&status["tokens"], &status["cost"]), (&json!(48_211), &json!(0.31)));
    assert_eq!((&status["attempts"], &status["lastRun"]), (&json!(3), &json!("interrupted")));
}

#[test]
fn a_long_journal_changes_no_answer() {
    let answers = |world: &World| -> Vec<String> {
        let mut said = Vec::new();
        for args in [&["next"][..], &["check"], &["implement"]] {
            let call = world.specum(args);
            let answer = call.exits(0).stdout.replace(world.root.to_str().unwrap(), ".");
            // Every attempt has an id of its own.
            said.extend(answer.split(",\"id\":").map(|part| match part.split_once("} -->") {
                Some((_, behind)) => behind.to_owned(),
                None => part.to_owned(),
            }));
        }
        let finished = world.finish("1.2", "TASK_COMPLETE");
        said.push(finished.exits(0).stdout.split(" commit ").next().unwrap().to_owned());
        said
    };
    let (short, long) = (worked(), worked());
    let story = long.read(JOURNAL);
    let waits: String = (0..10_000)
        .map(|n| {
            let event = if n % 2 == 0 { "paused" } else { "resumed" };
            format!("{{\"v\":1,\"at\":\"2026-01-01T00:00:00Z\",\"event\":\"{event}\"}}\n")
        })
        .collect();
    long.write(JOURNAL, format!("{waits}{story}{waits}"));
    assert_eq!(answers(&long), answers(&short));
    assert_eq!(long.journal("passed").len(), 2);
    assert_eq!(long.journal("paused").len(), 10_000, "nothing of the story is lost");
}
