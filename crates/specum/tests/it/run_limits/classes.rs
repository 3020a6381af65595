//! What goes wrong with an agent, and what follows.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::speech::{claude, codex};
use super::{Stage, wants};
use crate::run::Listener;

fn one() -> Stage {
    Stage::new(wants("1.1", "a.txt"))
}

fn works() -> String {
    format!("read\nsh touch a.txt\n{}", claude::complete(5, 0.1))
}

/// A second long after every test.
fn in_an_hour() -> i64 {
    jiff::Timestamp::now().as_second() + 3600
}

#[test]
fn a_limit_is_waited_for_until_the_time_that_the_agent_names() {
    let stage = one();
    stage.agent("claude", claude::limited_until(in_an_hour()));
    let mut command = stage.command(&["run", "--json"]);
    let mut run = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(run.stdout.take().unwrap()).lines().map(Result::unwrap);
    let waiting = lines.find(|line| line.contains("\"event\":\"waiting\"")).unwrap();
    kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    lines.for_each(drop);
    assert_eq!(run.wait().unwrap().code(), Some(130));
    let waiting: Value = serde_json::from_str(&waiting).unwrap();
    assert_eq!(
        (&waiting["agent"], &waiting["why"]),
        (&json!("claude"), &json!("You've hit your session limit"))
    );
    let millis = waiting["millis"].as_u64().unwrap();
    assert!((3_000_000..=3_601_000).contains(&millis), "{millis}");
}

#[test]
fn a_wait_of_an_hour_is_told_to_the_command_that_the_user_has_set() {
    let stage = one();
    let told = "notify: 'echo \"$SPECUM_EVENT|$SPECUM_TITLE|$SPECUM_TEXT\" > \"$HOME/told\"'\n";
    stage.world.write("specum.yaml", told);
    stage.world.commit_all();
    stage.agent("claude", claude::limited_until(in_an_hour()));
    let mut notice = Listener::new(&stage.world, "told");
    let mut run = stage.start(&[]);
    let line = notice.line();
    kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(130));
    let parts: Vec<&str> = line.split('|').collect();
    assert_eq!(parts[..2], ["waiting", "test-spec: waits for a limit"]);
    assert!(parts[2].ends_with(" min for claude: You've hit your session limit"), "{line}");
}

#[test]
fn fault_12_a_rate_limit_was_retried_at_once_for_ever() {
    let stage = one();
    for nth in 1..=2 {
        stage.once("claude", nth, claude::fails("rate_limit", 429, "slow down"));
    }
    stage.agent("claude", works());
    // Not faster: a wait that is over before it begins is not told.
    let told = stage.faster(30, &[]);
    told.ends(0, "complete");
    let order: Vec<&str> = told
        .events
        .iter()
        .filter_map(|event| event["event"].as_str())
        .filter(|event| ["attempt-started", "waiting"].contains(event))
        .collect();
    let [start, wait] = ["attempt-started", "waiting"];
    assert_eq!(order, [start, wait, start, wait, start]);
    assert_eq!((stage.calls("claude"), told.failures().len()), (3, 0));
    assert_eq!(told.all("passed")[0]["attempt"], 1, "a limit is no attempt");
    assert_eq!(stage.journal("waited").len(), 2);
    assert_eq!(told.summary()["waits"].as_array().unwrap().len(), 2);
}

/// How the agents say that a limit is reached, as they have really said it.
fn limits() -> Vec<(&'static str, String)> {
    let soon = jiff::Timestamp::now().as_second() + 30;
    let codex = |message: &str| ("codex", codex::fails(message));
    let gemini = |message: &str| {
        let result = json!({"type": "result", "status": "error", "stats": {},
            "error": {"message": message}});
        ("gemini", format!("say {result}\nexit 173\n"))
    };
    let opencode = |status: u64, message: &str, headers: Value| {
        let error = json!({"type": "error", "error": {"name": "APIError", "data": {
            "message": message, "statusCode": status, "responseHeaders": headers}}});
        ("opencode", format!("say {error}\nexit 1\n"))
    };
    vec![
        ("claude", claude::limited_until(soon)),
        ("claude", claude::fails("rate_limit", 429, "You've hit your weekly limit")),
        ("claude", claude::fails("rate_limit", 429, "API Error: Request rejected (429)")),
        ("claude", claude::fails("rate_limit", 429, "slow down, retry in 20s")),
        ("claude", claude::fails("rate_limit", 429, "try again at 3:33 AM")),
        ("claude", claude::fails("billing_error", 400, "Credit balance is too low")),
        ("claude", claude::fails("unknown", 429, "This request would exceed your rate limit.")),
        codex("exceeded retry limit, last status: 429 Too Many Requests"),
        codex("Quota exceeded. Check your plan and billing details."),
        codex("You’ve hit your usage limit. Upgrade to Pro or try again at 3:33 AM."),
        codex("You’ve hit your usage limit. Try again in 5 minutes."),
        gemini("quota exceeded. Please retry in 17.2s."),
        gemini("You have exhausted your capacity. Your quota will reset after 1h0m5s."),
        opencode(429, "Too Many Requests", json!({"retry-after": "30"})),
        opencode(429, "rate limit", json!({})),
        opencode(402, "Insufficient credits", json!({})),
    ]
}

#[test]
fn a_limit_in_any_shape_that_an_agent_has_is_waited_for_and_is_no_attempt() {
    let gemini = json!({"type": "message", "role": "assistant", "content": "TASK_COMPLETE"});
    let gemini_end = json!({"type": "result", "status": "success", "stats": {"total_tokens": 5}});
    let opencode = json!({"type": "text", "part": {"messageID": "m", "text": "TASK_COMPLETE"}});
    let opencode_end = json!({"type": "step_finish", "part": {"messageID": "m",
        "reason": "stop", "cost": 0.1, "tokens": {"input": 5, "output": 0}}});
    for (agent, limit) in limits() {
        let answer = match agent {
            "claude" => claude::complete(5, 0.1),
            "codex" => codex::complete(5),
            "gemini" => format!("say {gemini}\nsay {gemini_end}\n"),
            _ => format!("say {opencode}\nsay {opencode_end}\n"),
        };
        let stage = one();
        stage.once(agent, 1, &limit);
        stage.agent(agent, format!("sh touch a.txt\n{answer}"));
        // Half a day is gone in a second.
        let told = stage.faster(100_000, &["--agent", agent]);
        told.ends(0, "complete");
        assert_eq!((stage.calls(agent), told.failures().len()), (2, 0), "{agent}: {limit}");
        assert_eq!(told.all("passed")[0]["attempt"], 1, "{agent}: {limit}");
    }
}

#[test]
fn the_next_agent_goes_on_and_the_first_comes_back() {
    let tasks = (1..=3).map(|n| wants(&format!("1.{n}"), &format!("{n}.txt"))).collect::<String>();
    let stage = Stage::new(tasks);
    let files = "sh touch 1.txt 2.txt 3.txt\n";
    stage.agent("claude", files.to_owned() + &claude::complete(5, 0.1));
    stage.once("claude", 1, claude::fails("rate_limit", 429, "slow down, retry in 700s"));
    stage.agent("codex", files.to_owned() + &codex::complete(5));
    // It works until the limit of the other one has passed: what has to pass is
    // time, on specum's own clock, and more of it does no harm.
    stage.once("codex", 1, format!("{files}sh sleep 1\n{}", codex::complete(5)));
    let told = stage.hasty(&["--agent", "claude,codex"]);
    told.ends(0, "complete");
    let changes: Vec<_> = told
        .all("agent-changed")
        .iter()
        .map(|change| json!([change["from"], change["to"]]))
        .collect();
    assert_eq!(
        changes,
        [json!(["claude", "codex"]), json!(["codex", "claude"])],
        "{}",
        told.call.stdout
    );
    let whys: Vec<_> =
        stage.journal("agent-changed").iter().map(|change| change["why"].clone()).collect();
    assert_eq!(whys, ["slow down, retry in 700s", "claude is available again"]);
    assert_eq!(told.all("waiting").len(), 0);
    assert_eq!((stage.calls("claude"), stage.calls("codex")), (3, 1));
}

#[test]
fn an_agent_without_a_network_makes_way_for_the_next_one() {
    let stage = one();
    stage.agent("codex", codex::reconnects("waiting for network") + "hang");
    stage.agent("claude", works());
    let told = stage.hasty(&["--agent", "codex,claude"]);
    told.ends(0, "complete");
    let changes = stage.journal("agent-changed");
    assert_eq!((&changes[0]["to"], changes.len()), (&json!("claude"), 1), "{}", told.call.stdout);
    assert_eq!(changes[0]["why"], "its server did not answer for a minute");
    assert_eq!((told.failures().len(), &told.all("passed")[0]["attempt"]), (0, &json!(1)));
}

#[test]
fn who_works_as_root_is_told_what_lets_claude_work() {
    let stage = one();
    let refusal = "--dangerously-skip-permissions cannot be used with root/sudo privileges";
    stage.agent("claude", format!("complain {refusal} for security reasons\nexit 1"));
    let why = stage.run(&[]).ends(1, "no-agent");
    let way = "Run specum as another user, or set IS_SANDBOX=1 if this is a container or a sandbox";
    assert!(why.contains(refusal) && why.contains(way), "{why}");
}

#[test]
fn whoever_is_not_signed_in_is_asked_once_and_the_person_told_what_to_do() {
    let stage = one();
    stage.agent("claude", claude::fails("authentication_failed", 401, "Invalid API key"));
    let told = stage.run(&[]);
    let why = told.ends(1, "no-agent");
    assert!(why.contains("Invalid API key") && why.contains("/login"), "{why}");
    assert_eq!((stage.calls("claude"), told.failures().len()), (1, 0));
    let state = stage.world.read_state();
    assert_eq!((&state["taskIteration"], &state["globalIteration"]), (&json!(1), &json!(1)));
    stage.agent("claude", works());
    let told = stage.run(&[]);
    told.ends(0, "complete");
    assert_eq!(told.all("passed")[0]["attempt"], 1);
}

#[test]
fn every_agent_that_is_refused_is_told_how_to_sign_in() {
    let gemini = json!({"type": "result", "status": "error", "stats": {},
        "error": {"message": "API key not valid. Please pass a valid API key."}});
    let opencode = json!({"type": "error",
        "error": {"name": "APIError", "data": {"message": "no", "statusCode": 401}}});
    for (agent, script, hint) in [
        ("codex", codex::fails("unexpected status 401 Unauthorized"), "codex login"),
        ("gemini", format!("say {gemini}\nexit 145"), "GEMINI_API_KEY"),
        ("opencode", format!("say {opencode}\nexit 1"), "opencode auth login"),
    ] {
        let stage = one();
        stage.agent(agent, script);
        let why = stage.run(&["--agent", agent]).ends(1, "no-agent");
        assert!(why.contains(hint), "{agent}: {why}");
        assert_eq!(stage.calls(agent), 1);
    }
}

#[test]
fn somebody_else_works_while_one_is_not_signed_in() {
    let stage = one();
    stage.agent("claude", claude::fails("authentication_failed", 401, "Invalid API key"));
    stage.agent("codex", format!("sh touch a.txt\n{}", codex::complete(5)));
    stage.run(&["--agent", "claude,codex"]).ends(0, "complete");
    assert_eq!((stage.calls("claude"), stage.calls("codex")), (1, 1));
}

#[test]
fn a_task_too_long_and_a_failing_server_are_failed_attempts() {
    let stage = one();
    stage.once("claude", 1, claude::fails("invalid_request", 413, "Prompt is too long"));
    stage.once("claude", 2, claude::fails("overloaded", 529, "Overloaded"));
    stage.once(
        "claude",
        3,
        "complain it broke\nsh touch half.txt\nsay {\"type\":\"system\"}\nexit 3",
    );
    stage.agent("claude", works());
    let told = stage.hasty(&[]);
    told.ends(0, "complete");
    let failed: Vec<(&str, &str)> = vec![
        ("context-overflow", "too long for the model: Prompt is too long"),
        ("server", "the model's server failed: Overloaded"),
        ("crash", "the agent broke off: ended with code 3 and without an answer: it broke"),
    ];
    let told: Vec<(String, String)> = told.failures();
    assert_eq!(
        told.iter().map(|(class, why)| (class.as_str(), why.as_str())).collect::<Vec<_>>(),
        failed
    );
    let brief = String::from_utf8(stage.left("claude", 4, "brief")).unwrap();
    assert!(brief.contains("- the agent broke off: ended with code 3"), "{brief}");
}

#[test]
fn what_a_failed_attempt_has_used_is_told_with_its_failure() {
    let stage = one();
    let fails = claude::fails("overloaded", 529, "Overloaded")
        .replace("\"total_cost_usd\":0", "\"total_cost_usd\":0.25");
    stage.once("claude", 1, claude::text("m", "I begin", 40) + &fails).agent("claude", works());
    let told = stage.hasty(&[]);
    told.ends(0, "complete");
    assert_eq!(told.all("failed")[0]["usage"], json!({"tokens": 40, "cost": 0.25}));
    let charged = &stage.journal("charged")[0];
    assert_eq!((&charged["tokens"], &charged["cost"]), (&json!(40), &json!(0.25)));
    assert_ne!(charged["estimated"], true, "it has said so itself");
}

#[test]
fn fault_33_a_failing_agent_was_called_five_times_in_a_second() {
    let stage = Stage::new(wants("1.1", "a.txt") + &wants("1.2", "b.txt"));
    stage.agent("claude", "say {\"type\":\"system\"}\ncomplain segmentation fault\nexit 139");
    let told = stage.run(&[]);
    let why = told.ends(1, "circuit");
    assert!(why.contains("segmentation fault"), "{why}");
    assert_eq!((stage.calls("claude"), told.failures().len()), (3, 3));
    assert_eq!(told.all("waiting").len(), 2, "it is not called three times in a second");
}

#[test]
fn work_between_them_closes_the_circuit() {
    let stage = one();
    let breaks = "say {\"type\":\"system\"}\nexit 139";
    for nth in [1, 2, 4, 5] {
        stage.once("claude", nth, breaks);
    }
    stage.once("claude", 3, format!("sh touch some.txt\n{breaks}"));
    stage.agent("claude", works());
    let told = stage.hasty(&["--max-task-iterations", "9"]);
    told.ends(0, "complete");
    assert_eq!(stage.calls("claude"), 6);
}

#[test]
fn fault_33_what_a_failing_agent_said_was_hidden() {
    let stage = one();
    stage.agent("claude", "complain error: unknown option '--settings'\nexit 1");
    let why = stage.run(&[]).ends(1, "no-agent");
    assert!(why.contains("error: unknown option '--settings'"), "{why}");
    assert!(!why.contains("/login"), "nothing is wrong with the sign-in: {why}");
    assert_eq!(stage.calls("claude"), 1);
    assert_eq!(stage.journal("failed").len(), 0);
}

#[test]
fn fault_33_a_missing_program_was_reported_without_its_name() {
    let executable = |stage: &Stage, content: &str, mode: u32| {
        fs::write(stage.bin.join("claude"), content).unwrap();
        fs::set_permissions(stage.bin.join("claude"), fs::Permissions::from_mode(mode)).unwrap();
    };
    for (content, mode, word) in
        [("#!/no/such/interpreter\n", 0o755, "interpreter"), ("\x7fELF nonsense", 0o755, "format")]
    {
        let stage = one();
        executable(&stage, content, mode);
        let why = stage.run(&[]).ends(1, "no-agent");
        assert!(why.contains("claude: ") && why.contains(word), "{content:?}: {why}");
        assert!(!why.contains("/login"), "{why}");
        assert_eq!(stage.journal("failed").len(), 0);
    }
    let stage = one();
    executable(&stage, "#!/bin/sh\n", 0o644);
    let call = stage.specum(&["run", "--agent", "claude"]);
    assert!(call.exits(3).stderr.contains("claude"), "{}", call.stderr);
    fs::remove_file(stage.bin.join("claude")).unwrap();
    fs::create_dir(stage.bin.join("claude")).unwrap();
    let call = stage.specum(&["run", "--agent", "claude"]);
    assert!(call.exits(3).stderr.contains("claude is not on PATH"), "{}", call.stderr);
}

#[test]
fn a_program_behind_the_agent_command_that_is_missing_is_named() {
    let stage = one();
    let why = stage.run(&["--agent-command", "no-such-agent --fast"]).ends(1, "no-agent");
    assert!(why.contains("no-such-agent"), "{why}");
    assert_eq!(stage.journal("failed").len(), 0);
}
