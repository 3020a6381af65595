//! `specum run` with the real Claude Code, Codex, Gemini CLI and opencode, each
//! against a scripted model: a plan with a group comes to its end, a limit is
//! waited for, a missing sign-in and an endless silence are not, and success
//! without work is none.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::host::{self, settle_codex, settle_gemini, settle_opencode};
use crate::model::{Block, Gate, Model, Reply};
use crate::other_model::{Answer, Api, OtherModel, Told};
use crate::world::{Call, TASKS, World, call};

/// Eight tasks: in sequence, a group, a check that costs nothing.
const EIGHT: &str = "## Phase 1: a
- [ ] 1.1 First
  - **Verify**: `test -f 1.1.txt`
- [ ] 1.2 Second
  - **Verify**: `test -f 1.2.txt`
## Phase 2: b
- [ ] 2.1 [P] One of three
  - **Files**: 2.1.txt
  - **Verify**: `test -f 2.1.txt`
- [ ] 2.2 [P] Two of three
  - **Files**: 2.2.txt
  - **Verify**: `test -f 2.2.txt`
- [ ] 2.3 [P] Three of three
  - **Files**: 2.3.txt
  - **Verify**: `test -f 2.3.txt`
- [ ] V1 [VERIFY] All of them
  - **Verify**: `ls 1.1.txt 1.2.txt 2.1.txt 2.2.txt 2.3.txt`
## Phase 3: c
- [ ] 3.1 Last but one
  - **Verify**: `test -f 3.1.txt`
- [ ] 3.2 Last
  - **Verify**: `test -f 3.2.txt`
";

const ONE: &str = "- [ ] 1.1 Only\n  - **Verify**: `test -f 1.1.txt`\n";

#[derive(Clone, Copy, Debug, PartialEq)]
enum Host {
    Claude,
    Codex,
    Gemini,
    Opencode,
}

/// A scripted model behind the API that a host speaks.
enum Mock {
    Messages(Model),
    Other(OtherModel),
}

impl Mock {
    fn start(host: Host, script: impl Fn(&Told) -> Answer + Send + Sync + 'static) -> Mock {
        let api = match host {
            Host::Claude => {
                return Mock::Messages(Model::start(move |request| {
                    let told = if request.assistant_turns() == 0 {
                        Told::Text(request.last_user_text())
                    } else {
                        Told::Output(String::new())
                    };
                    as_reply(script(&told))
                }));
            }
            Host::Codex => Api::Responses,
            Host::Gemini => Api::Gemini,
            Host::Opencode => Api::Chat,
        };
        Mock::Other(OtherModel::start(api, script))
    }

    fn url(&self) -> String {
        match self {
            Mock::Messages(model) => model.url(),
            Mock::Other(model) => model.url(),
        }
    }
}

/// An answer in the words of the Messages API.
fn as_reply(answer: Answer) -> Reply {
    match answer {
        Answer::Say(text) => Reply::text(&text),
        Answer::Run(command) => {
            Reply::message(vec![Block::tool("Bash", json!({"command": command}))])
        }
        Answer::Refuse(status, body) => {
            let kind = body["error"]["type"].as_str().unwrap_or("error").to_owned();
            let reply =
                Reply::error(status, &kind, body["error"]["message"].as_str().unwrap_or("no"));
            match body["retry-after"].as_str() {
                Some(seconds) => reply.header("retry-after", seconds),
                None => reply,
            }
        }
        Answer::Hang => Reply::text("never").after(&Gate::new(1)),
    }
}

/// Does what the brief asks for: makes the file of its task.
fn works(told: &Told) -> Answer {
    match told {
        Told::Text(brief) => {
            let id = brief.split("- [ ] ").nth(1).and_then(|rest| rest.split(' ').next());
            Answer::Run(format!("echo done > {}.txt", id.unwrap_or("unknown")))
        }
        Told::Output(_) => Answer::Say("Made it.\n\nTASK_COMPLETE".to_owned()),
    }
}

/// A repository with a plan, and `specum run` in it with these real hosts, each
/// with its model; `None` if this machine has to do without one of them.
fn prepare(hosts: &[(Host, &Mock)], tasks: &str) -> Option<(World, Command)> {
    let world = World::planned(tasks);
    let bin = world.home().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = world.command();
    command.env("PATH", format!("{}:{path}", bin.display()));
    let mut names = Vec::new();
    for (host, mock) in hosts {
        let (name, program) = match host {
            Host::Claude => ("claude", host::claude()?),
            Host::Codex => ("codex", host::codex()?),
            Host::Gemini => ("gemini", host::gemini()?),
            Host::Opencode => ("opencode", host::opencode()?),
        };
        std::os::unix::fs::symlink(program, bin.join(name)).unwrap();
        settle(*host, world.home(), &mock.url(), &mut command);
        names.push(name);
    }
    command.args(["run", "--json", "--agent", &names.join(",")]);
    Some((world, command))
}

/// Lets a host ask its model, with a key that opens nothing.
fn settle(host: Host, home: &Path, url: &str, command: &mut Command) {
    let environment: &[(&str, &str)] = match host {
        Host::Claude => &[
            ("ANTHROPIC_BASE_URL", url),
            ("ANTHROPIC_API_KEY", "sk-mock"),
            ("DISABLE_TELEMETRY", "1"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            // Lets root skip the permissions, as in most containers.
            ("IS_SANDBOX", "1"),
        ],
        Host::Codex => {
            settle_codex(home, url);
            &[("MOCK_KEY", "dummy")]
        }
        Host::Gemini => {
            settle_gemini(home);
            &[
                ("GEMINI_API_KEY", "dummy"),
                ("GOOGLE_GEMINI_BASE_URL", url),
                // Without a name it would ask a model which model to ask.
                ("SPECUM_MODEL", "gemini-2.5-flash"),
            ]
        }
        Host::Opencode => {
            settle_opencode(home, url);
            &[("OPENCODE_DISABLE_MODELS_FETCH", "1"), ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1")]
        }
    };
    command.envs(environment.iter().copied()).env("CLAUDE_CODE_TMPDIR", home);
}

fn run(host: Host, mock: &Mock, tasks: &str, args: &[&str]) -> Option<(World, Call)> {
    let (world, mut command) = prepare(&[(host, mock)], tasks)?;
    command.args(args);
    let ended = call(command, b"");
    Some((world, ended))
}

/// The same on a clock that runs so many times faster.
fn run_in_haste(host: Host, mock: &Mock, haste: u32, args: &[&str]) -> Option<(World, Call)> {
    let (world, mut command) = prepare(&[(host, mock)], ONE)?;
    command.args(args).env("SPECUM_HASTE", haste.to_string());
    let ended = call(command, b"");
    Some((world, ended))
}

/// The events of a run of one kind.
fn events(call: &Call, kind: &str) -> Vec<Value> {
    let lines = call.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|event| event["event"] == kind).collect()
}

fn a_plan_comes_to_its_end(host: Host) {
    let mock = Mock::start(host, works);
    let Some((world, ended)) = run(host, &mock, EIGHT, &["--jobs", "3"]) else { return };
    ended.exits(0);
    let done = world.git(&["log", "--format=%(trailers:key=Task,valueonly)"]);
    let mut done: Vec<&str> = done.split_whitespace().collect();
    done.sort_unstable();
    assert_eq!(done, ["1.1", "1.2", "2.1", "2.2", "2.3", "3.1", "3.2", "V1"]);
    assert!(!world.read(TASKS).contains("- [ ]"));
    let passed = events(&ended, "passed");
    assert!(passed.iter().all(|event| event["attempt"] == 1), "{passed:#?}");
    let counted = passed.iter().filter(|event| event["usage"]["tokens"].as_u64() > Some(0));
    assert_eq!(counted.count(), 7, "every agent counts its tokens, and V1 needs none");
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

/// The first request is refused, all others are served. The run's clock runs fifty
/// times faster, so its patience is longer; the shortest wait of 30 s is still longer
/// than a busy machine takes to ask for an agent again.
fn a_limit_is_waited_for(host: Host, refusal: Value) {
    let asked = AtomicUsize::new(0);
    let mock = Mock::start(host, move |told| match asked.fetch_add(1, Ordering::SeqCst) {
        0 => Answer::Refuse(429, refusal.clone()),
        _ => works(told),
    });
    let patient = ["--idle-timeout", "40h", "--task-timeout", "80h"];
    let Some((world, ended)) = run_in_haste(host, &mock, 50, &patient) else { return };
    ended.exits(0);
    assert_eq!(events(&ended, "waiting").len(), 1, "{}", ended.stdout);
    let passed = events(&ended, "passed");
    assert_eq!(passed[0]["attempt"], 1, "a limit is no attempt");
    let journal = world.read("specs/test-spec/.ralph-journal.jsonl");
    assert!(journal.contains("\"event\":\"waited\""));
}

fn without_a_sign_in_it_stops_at_once(host: Host) {
    let refusal = json!({"error": {"type": "authentication_error", "message": "invalid api key", "code": 401}});
    let mock = Mock::start(host, move |_| Answer::Refuse(401, refusal.clone()));
    let Some((world, ended)) = run(host, &mock, ONE, &[]) else { return };
    ended.exits(1);
    let end = events(&ended, "run-ended");
    assert_eq!(end[0]["outcome"], "no-agent", "{}", ended.stdout);
    assert!(end[0]["why"].as_str().unwrap().contains("sign"), "{end:?}");
    assert_eq!(events(&ended, "attempt-started").len(), 1);
    assert!(events(&ended, "failed").is_empty(), "no attempt is counted");
    assert!(world.read(TASKS).contains("- [ ] 1.1"));
}

fn silence_is_ended_and_success_without_work_is_none(host: Host) {
    let mock = Mock::start(host, |_| Answer::Hang);
    let once = ["--max-task-iterations", "1", "--idle-timeout", "2h", "--task-timeout", "80h"];
    let Some((_, ended)) = run_in_haste(host, &mock, 1000, &once) else { return };
    ended.exits(6);
    assert_eq!(events(&ended, "failed")[0]["class"], "idle", "{}", ended.stdout);

    let mock = Mock::start(host, |_| Answer::Say("All done.\n\nTASK_COMPLETE".to_owned()));
    let Some((world, ended)) = run(host, &mock, ONE, &once[..2]) else { return };
    ended.exits(6);
    assert_eq!(events(&ended, "failed")[0]["class"], "verify", "{}", ended.stdout);
    assert!(world.read(TASKS).contains("- [ ] 1.1"));
}

macro_rules! host_tests {
    ($name:ident, $host:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn a_plan_with_a_group_comes_to_its_end() {
                a_plan_comes_to_its_end($host);
            }

            #[test]
            fn without_a_sign_in_a_run_stops_at_once() {
                without_a_sign_in_it_stops_at_once($host);
            }

            #[test]
            fn an_endless_silence_is_ended_and_success_without_work_is_none() {
                silence_is_ended_and_success_without_work_is_none($host);
            }
        }
    };
}

host_tests!(claude, Host::Claude);
host_tests!(codex, Host::Codex);
host_tests!(gemini, Host::Gemini);
host_tests!(opencode, Host::Opencode);

#[test]
fn a_limit_of_claude_code_is_waited_for_and_is_no_attempt() {
    let refusal =
        json!({"error": {"type": "rate_limit_error", "message": "slow"}, "retry-after": "3600"});
    a_limit_is_waited_for(Host::Claude, refusal);
}

#[test]
fn a_limit_of_codex_is_waited_for_until_the_time_it_names() {
    let error = json!({"type": "usage_limit_reached", "message": "m", "resets_in_seconds": 600});
    a_limit_is_waited_for(Host::Codex, json!({"error": error}));
}

#[test]
fn a_quota_of_gemini_is_waited_for_and_is_no_attempt() {
    let details = json!([{
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}],
    }]);
    let error = json!({"code": 429, "message": "exceeded", "status": "S", "details": details});
    a_limit_is_waited_for(Host::Gemini, json!({"error": error}));
}

#[test]
fn the_next_agent_goes_on_when_the_first_is_not_signed_in() {
    let refusal = json!({"error": {"type": "authentication_error", "message": "invalid"}});
    let first = Mock::start(Host::Claude, move |_| Answer::Refuse(401, refusal.clone()));
    let second = Mock::start(Host::Codex, works);
    let hosts = [(Host::Claude, &first), (Host::Codex, &second)];
    let Some((_world, command)) = prepare(&hosts, ONE) else { return };
    let ended = call(command, b"");
    ended.exits(0);
    let changed = events(&ended, "agent-changed");
    assert_eq!((&changed[0]["from"], &changed[0]["to"]), (&json!("claude"), &json!("codex")));
    assert_eq!(events(&ended, "passed")[0]["attempt"], 1);
}
