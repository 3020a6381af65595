//! The harness itself, on the real Claude Code: what the scripted model says is
//! done, and what the host does is seen.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::panic::catch_unwind;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::host::process::Running;
use crate::host::{self, ClaudeRun};
use crate::model::{Block, Gate, Model, Reply};
use crate::terminal::{ENTER, Terminal};

#[test]
fn a_text_reply_becomes_the_result() {
    for claude in host::claudes() {
        let project = tempfile::tempdir().unwrap();
        let model = Model::start(|_| Reply::text("hello from the script"));

        let outcome = ClaudeRun::new(&claude, &model.url(), project.path(), "say hello").run();

        let result = outcome.result();
        assert!(outcome.status().success());
        assert_eq!(result["result"], "hello from the script");
        let [request] = model.requests().try_into().expect("one request");
        assert!(request.last_user_text().contains("say hello"));
        assert!(request.has_tool("Bash") && request.has_tool("Agent"));
        assert_eq!(request.session_id(), result["session_id"].as_str());
        assert_eq!(result["usage"]["input_tokens"], request.length.div_ceil(4));
    }
}

#[test]
fn bash_calls_run_and_their_results_come_back() {
    for claude in host::claudes() {
        let project = tempfile::tempdir().unwrap();
        let model = Model::start(|request| {
            if request.assistant_turns() == 0 {
                Reply::message(vec![
                    Block::text("let me calculate"),
                    Block::tool("Bash", json!({"command": "echo $((6 * 7)) > answer; cat answer"})),
                    Block::tool("Bash", json!({"command": "exit 3"})),
                ])
            } else {
                Reply::text("done")
            }
        });

        let outcome = ClaudeRun::new(&claude, &model.url(), project.path(), "calculate").run();

        assert_eq!(outcome.result()["result"], "done");
        assert_eq!(fs::read_to_string(project.path().join("answer")).unwrap(), "42\n");
        let results = model.requests().last().unwrap().tool_results();
        let [good, bad] = results.as_slice() else { panic!("two results, not {results:?}") };
        assert_eq!((good.text.as_str(), good.is_error), ("42", false));
        assert_eq!((bad.text.as_str(), bad.is_error), ("Exit code 3", true));
        assert_ne!(good.tool_use_id, bad.tool_use_id);
    }
}

#[test]
fn two_agents_of_one_message_work_at_the_same_time() {
    for claude in host::claudes() {
        let project = tempfile::tempdir().unwrap();
        // Neither sub-agent is answered before both have asked.
        let both_asked = Gate::new(2);
        let model = Model::start(move |request| {
            if request.is_subagent() {
                both_asked.arrive();
                let name = if request.mentions("task A") { "A" } else { "B" };
                return Reply::text(&format!("worker {name} is done")).after(&both_asked);
            }
            if request.assistant_turns() == 0 {
                let agent = |prompt: &str| {
                    let input = json!({
                        "description": "a task",
                        "prompt": prompt,
                        "subagent_type": "general-purpose",
                        "run_in_background": false,
                    });
                    Block::tool("Agent", input)
                };
                return Reply::message(vec![agent("task A"), agent("task B")]);
            }
            Reply::text("both are done")
        });

        let outcome = ClaudeRun::new(&claude, &model.url(), project.path(), "delegate").run();

        assert_eq!(outcome.result()["result"], "both are done");
        let requests = model.requests();
        let mut results = requests.last().unwrap().tool_results();
        // The host lists them in the order in which the agents finished.
        results.sort_by(|a, b| a.tool_use_id.cmp(&b.tool_use_id));
        let [a, b] = results.as_slice() else { panic!("two results, not {results:?}") };
        assert!(a.text.contains("worker A is done"), "{a:?}");
        assert!(b.text.contains("worker B is done"), "{b:?}");
        let workers: Vec<_> = requests.iter().filter(|request| request.is_subagent()).collect();
        let [one, other] = workers.as_slice() else { panic!("{} workers", workers.len()) };
        assert_ne!(one.agent_id(), other.agent_id());
        assert!(one.system_text().contains("cc_is_subagent=true"));
    }
}

#[test]
fn a_wrong_key_ends_in_an_error_with_its_status() {
    for claude in host::claudes() {
        let project = tempfile::tempdir().unwrap();
        let model =
            Model::start(|_| Reply::error(401, "authentication_error", "invalid x-api-key"));

        let outcome = ClaudeRun::new(&claude, &model.url(), project.path(), "hello").run();

        let result = outcome.result();
        assert_eq!(result["is_error"], true);
        assert_eq!(result["api_error_status"], 401);
        assert_eq!(outcome.status().code(), Some(1));
    }
}

#[test]
fn rate_limit_and_overload_are_retried() {
    for claude in host::claudes() {
        let project = tempfile::tempdir().unwrap();
        let asked = AtomicUsize::new(0);
        let model = Model::start(move |_| match asked.fetch_add(1, Ordering::Relaxed) {
            // Without the header the first retry comes after half a second.
            0 => Reply::error(429, "rate_limit_error", "Slow down").header("retry-after", "1"),
            1 => Reply::error(529, "overloaded_error", "Overloaded"),
            _ => Reply::text("third time lucky"),
        });

        let outcome = ClaudeRun::new(&claude, &model.url(), project.path(), "hello").run();

        assert_eq!(outcome.result()["is_error"], false);
        assert_eq!(outcome.result()["result"], "third time lucky");
        let retries = outcome.system_events("api_retry");
        let statuses: Vec<_> = retries.iter().map(|retry| &retry["error_status"]).collect();
        assert_eq!(statuses, [429, 529]);
        let [limited, retried, _] = model.requests().try_into().expect("three requests");
        assert!(retried.arrived - limited.arrived >= Duration::from_secs(1));
    }
}

#[test]
fn a_stream_that_breaks_off_is_asked_for_again_as_a_whole() {
    for claude in host::claudes() {
        let project = tempfile::tempdir().unwrap();
        let model = Model::start(|request| match &request.body["stream"] {
            Value::Bool(true) => Reply::cut_after_first_delta(),
            _ => Reply::text("here is all of it"),
        });

        let outcome = ClaudeRun::new(&claude, &model.url(), project.path(), "hello").run();

        assert_eq!(outcome.result()["is_error"], false);
        assert_eq!(outcome.result()["result"], "here is all of it");
        // Newer hosts try the stream again first.
        let requests = model.requests();
        let (last, before) = requests.split_last().expect("it asked");
        assert!(last.body["stream"] != true && !before.is_empty());
        assert!(before.iter().all(|request| request.body["stream"] == true));
    }
}

#[test]
fn a_connection_that_keeps_breaking_off_is_an_error() {
    for claude in host::claudes() {
        let project = tempfile::tempdir().unwrap();
        let model = Model::start(|_| Reply::cut_after_first_delta());

        let outcome = ClaudeRun::new(&claude, &model.url(), project.path(), "hello").run();

        let result = outcome.result();
        assert_eq!(result["is_error"], true);
        assert!(result["api_error_status"].is_null(), "{result}");
        assert!(result["result"].as_str().unwrap().contains("Connection to the API was lost"));
        assert_eq!(outcome.status().code(), Some(1));
    }
}

#[test]
fn a_session_can_be_resumed_in_the_same_home() {
    for claude in host::claudes() {
        let project = tempfile::tempdir().unwrap();
        let home = tempfile::tempdir().unwrap();
        let model = Model::start(|_| Reply::text("noted"));
        let ask = |prompt| {
            ClaudeRun::new(&claude, &model.url(), project.path(), prompt).home(home.path())
        };

        let first = ask("remember the heron").run();
        let session = first.result()["session_id"].as_str().expect("a session id");
        let second = ask("which bird?").args(["--resume", session]).run();

        assert_eq!(second.result()["session_id"], session);
        let request = model.requests().pop().expect("a request of the second run");
        assert_eq!(request.assistant_turns(), 1);
        let said = request.user_texts().join("\n");
        assert!(said.contains("remember the heron") && said.contains("which bird?"), "{said}");
    }
}

#[test]
fn a_plugin_hook_finds_programs_on_the_path_and_sends_the_model_on() {
    for claude in host::claudes() {
        let project = tempfile::tempdir().unwrap();
        let plugin = tempfile::tempdir().unwrap();
        let programs = tempfile::tempdir().unwrap();
        write(&plugin.path().join(".claude-plugin/plugin.json"), r#"{"name": "probe"}"#);
        write(
            &plugin.path().join("hooks/hooks.json"),
            r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "probe-stop"}]}]}}"#,
        );
        let program = programs.path().join("probe-stop");
        // Blocks the first stop only: the host says so in `stop_hook_active`.
        write(
            &program,
            r#"#!/bin/sh
grep -q '"stop_hook_active":true' && exit 0
echo "{\"decision\":\"block\",\"reason\":\"$PROBE_WORD\"}"
echo seen >&2
"#,
        );
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let model = Model::start(|request| {
            if request.assistant_turns() == 0 {
                Reply::tool("Bash", json!({"command": "true"}))
            } else {
                Reply::text("I stop here")
            }
        });

        let outcome = ClaudeRun::new(&claude, &model.url(), project.path(), "work")
            .plugin_dir(plugin.path())
            .path(programs.path())
            .env("PROBE_WORD", "one more")
            .run();

        let stops = outcome.hook_responses("Stop");
        let [blocked, allowed] = stops.as_slice() else { panic!("two stops, not {stops:?}") };
        assert!(blocked.stdout.contains(r#""decision":"block""#), "{blocked:?}");
        assert_eq!(blocked.stderr.trim(), "seen");
        assert_eq!((allowed.stdout, allowed.outcome), ("", "success"));
        let last = model.requests().pop().expect("a request after the block");
        assert_eq!(last.last_user_text(), "Stop hook feedback:\none more");
    }
}

#[test]
fn a_killed_host_leaves_no_result() {
    for claude in host::claudes() {
        let project = tempfile::tempdir().unwrap();
        let never = Gate::new(1);
        let model = Model::start(move |_| Reply::text("too late").after(&never));

        let running = ClaudeRun::new(&claude, &model.url(), project.path(), "hello").spawn();
        model.wait_until(|requests| requests.len() == 1);
        kill_process(running.pid(), Signal::KILL).unwrap();
        let outcome = running.wait();

        assert_eq!(outcome.status().signal(), Some(Signal::KILL.as_raw()));
        assert!(outcome.results().is_empty());
    }
}

fn write(path: &Path, text: &str) {
    let directory = path.parent().expect("a file has a directory");
    fs::create_dir_all(directory).expect("a temporary directory is writable");
    fs::write(path, text).expect("a temporary directory is writable");
}

#[test]
fn whoever_overstays_is_killed_with_the_whole_group() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    let mut command = Command::new("sh");
    // The leader ends at once; the one left behind holds its output and the
    // fifo, which comes to its end when that one dies.
    command.args(["-c", r#"tail -f /dev/null > "$1" &"#, "sh"]).arg(&fifo);
    let running = Running::spawn(command, Duration::from_millis(10));
    let mut held = File::open(&fifo).unwrap();
    let (died, death) = mpsc::channel();
    thread::spawn(move || died.send(held.read_to_end(&mut Vec::new())));

    let panic = catch_unwind(|| running.wait()).err().expect("the limit has passed");

    let message = panic.downcast_ref::<String>().expect("a formatted message");
    assert!(message.starts_with("killed after 10ms, the time limit"), "{message}");
    let read = death.recv_timeout(Duration::from_secs(60)).expect("nobody is left");
    assert_eq!(read.unwrap(), 0);
}

#[test]
fn a_program_shows_what_it_reads_and_ends() {
    let mut command = Command::new("sh");
    command.args(["-c", "printf 'name? '; read name; echo \"hello $name\"; exit 7"]);
    let mut terminal = Terminal::start(command);
    terminal.shows("name?");
    terminal.press("heron");
    terminal.press(ENTER);
    terminal.shows("hello heron");
    assert_eq!(terminal.ended().code(), Some(7));
}
