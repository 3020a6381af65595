//! Claude Code 2.1.197.

use crate::agent::{Reset, Trouble, Usage, by_name};

use super::*;

const INIT: &str = r#"{"type":"system","subtype":"init","cwd":"/p","session_id":"af6e0f54","tools":["Task","Bash"],"model":"claude-opus-4-8[1m]","permissionMode":"bypassPermissions","claude_code_version":"2.1.197"}"#;
const SAYS: &str = r#"{"type":"assistant","message":{"id":"msg_mock_1","type":"message","role":"assistant","model":"claude-opus-4-8","content":[{"type":"text","text":"spawning"}],"stop_reason":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"af6e0f54","request_id":"req_mock"}"#;
const CALLS: &str = r#"{"type":"assistant","message":{"id":"msg_mock_1","type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"cargo test"}}],"stop_reason":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":1}},"parent_tool_use_id":null}"#;
const SUB_AGENT_SAYS: &str = r#"{"type":"assistant","message":{"id":"msg_mock_2","role":"assistant","content":[{"type":"text","text":"sub"}],"usage":{"input_tokens":5,"output_tokens":1}},"parent_tool_use_id":"toolu_1"}"#;
const ANSWERED: &str = r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_1","type":"tool_result","content":"TOOLDONE-2","is_error":false}]},"parent_tool_use_id":null}"#;
const DONE: &str = r#"{"type":"result","subtype":"success","is_error":false,"api_error_status":null,"num_turns":7,"result":"all done","stop_reason":"end_turn","total_cost_usd":0.001575,"usage":{"input_tokens":30,"output_tokens":15},"modelUsage":{"claude-opus-4-8[1m]":{"inputTokens":90,"outputTokens":45,"cacheReadInputTokens":0,"cacheCreationInputTokens":0,"costUSD":0.001575}},"terminal_reason":"completed"}"#;
const RETRY: &str = r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":2,"retry_delay_ms":541.28,"error_status":529,"error":"overloaded"}"#;
const LIMIT: &str = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794784106,"rateLimitType":"five_hour","overageStatus":"rejected"}}"#;

/// A message and a result of an API error, as they follow one another.
fn failing(error: &str, status: &str, text: &str) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"id":"6b12f8bd","model":"<synthetic>","role":"assistant","content":[{{"type":"text","text":"{text}"}}],"usage":{{"input_tokens":0,"output_tokens":0}}}},"parent_tool_use_id":null,"error":"{error}"}}
{{"type":"result","subtype":"success","is_error":true,"api_error_status":{status},"num_turns":1,"result":"{text}","stop_reason":"stop_sequence","total_cost_usd":0,"modelUsage":{{}},"terminal_reason":"completed"}}"#
    )
}

#[test]
fn it_is_called_without_hooks_in_a_session_of_its_own() {
    let call = by_name("claude", None).unwrap().call(&Order { model: Some("opus"), ..ORDER });
    insta::assert_snapshot!(call.args.join(" "), @r#"-p --output-format stream-json --verbose --dangerously-skip-permissions --settings {"disableAllHooks":true} --model=opus"#);
    assert_eq!(call.stdin, b"Do it.");
    assert!(call.unset.iter().any(|name| name == "CLAUDECODE"));
    let retries = ("CLAUDE_CODE_MAX_RETRIES".to_owned(), "2".to_owned());
    assert!(call.env.contains(&retries));
    assert!(call.env.contains(&("SPECUM_ATTEMPT".to_owned(), "2".to_owned())));
}

#[test]
fn messages_in_several_events_are_counted_once() {
    let output = [INIT, SAYS, CALLS, SUB_AGENT_SAYS, ANSWERED, DONE].join("\n");
    let (signs, report) = read("claude", &output, &ProcessEnd::Code(0), "");
    assert_eq!(
        signs,
        [
            said("spawning"),
            used(15, None),
            tool("Bash: cargo test"),
            used(21, None),
            Sign::ToolEnded,
            used(135, Some(0.001_575)),
        ]
    );
    let usage = Some(Usage { tokens: 135, cost: Some(0.001_575) });
    assert_eq!(report, Report { result: "all done".into(), usage, trouble: None });
}

#[test]
fn success_with_an_error_is_an_error() {
    let class = |error, status, text| {
        class("claude", &failing(error, status, text), &ProcessEnd::Code(1), "")
    };
    assert_eq!(
        class("authentication_failed", "401", "Invalid API key · Fix external API key"),
        "authentication"
    );
    assert_eq!(class("rate_limit", "429", "API Error: Request rejected (429)"), "rate-limit");
    assert_eq!(class("billing_error", "400", "Credit balance is too low"), "rate-limit");
    assert_eq!(class("server_error", "529", "API Error: 529 Overloaded."), "server");
    assert_eq!(class("server_error", "null", "Request timed out"), "server");
    assert_eq!(class("unknown", "null", "API Error: Overloaded"), "server");
    assert_eq!(class("invalid_request", "400", "Prompt is too long · 9"), "context-overflow");
    assert_eq!(class("max_output_tokens", "null", "API Error: too much"), "context-overflow");
    assert_eq!(class("model_not_found", "404", "no such model"), "missing");
    assert_eq!(class("unknown", "null", "API Error: what?"), "crash");
    assert_eq!(
        class("authentication_failed", "null", "Not logged in · Please run /login"),
        "authentication"
    );
}

#[test]
fn an_error_counts_in_spite_of_exit_code_0() {
    let aborted = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"total_cost_usd":0,"errors":["aborted"]}"#;
    let (_, report) = read("claude", aborted, &ProcessEnd::Code(0), "");
    assert_eq!(report.trouble, Some(Trouble::Crash("aborted".into())));
    let turns = r#"{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":3,"total_cost_usd":0.06,"modelUsage":{},"terminal_reason":"max_turns","errors":["Reached maximum number of turns (2)"]}"#;
    let (_, report) = read("claude", turns, &ProcessEnd::Code(1), "");
    let why = "Reached maximum number of turns (2)";
    assert_eq!(report.trouble, Some(Trouble::Crash(why.into())));
}

#[test]
fn a_prompt_that_is_too_long_is_named_by_the_reason_of_the_end() {
    let output = failing("invalid_request", "400", "Too much of it")
        .replace(r#""terminal_reason":"completed""#, r#""terminal_reason":"prompt_too_long""#);
    assert_eq!(class("claude", &output, &ProcessEnd::Code(1), ""), "context-overflow");
}

#[test]
fn a_session_limit_ends_when_its_event_says() {
    let text = "You've hit your session limit · resets 11:08pm (UTC)";
    let output = format!("{LIMIT}\n{}", failing("rate_limit", "429", text));
    let (_, report) = read("claude", &output, &ProcessEnd::Code(1), "");
    let reset = Some(Reset::At(1_794_784_106));
    assert_eq!(report.trouble, Some(Trouble::RateLimited { why: text.into(), reset }));
}

#[test]
fn a_warning_about_a_limit_is_no_limit() {
    let output = format!(
        "{}\n{}",
        LIMIT.replace("rejected", "allowed_warning"),
        failing("rate_limit", "429", "slow down")
    );
    let (_, report) = read("claude", &output, &ProcessEnd::Code(1), "");
    let why = "slow down".into();
    assert_eq!(report.trouble, Some(Trouble::RateLimited { why, reset: None }));
}

#[test]
fn the_last_of_several_results_counts() {
    let later = DONE.replace("all done", "really done").replace("0.001575", "0.003");
    let (_, report) = read("claude", &format!("{DONE}\n{later}"), &ProcessEnd::Code(0), "");
    assert_eq!(report.result, "really done");
    assert_eq!(report.usage, Some(Usage { tokens: 135, cost: Some(0.003) }));
}

#[test]
fn an_empty_answer_is_no_trouble() {
    let empty = DONE.replace("all done", "").replace(r#""num_turns":7"#, r#""num_turns":0"#);
    let (_, report) = read("claude", &empty, &ProcessEnd::Code(0), "");
    assert_eq!((report.result.as_str(), report.trouble), ("", None));
}

#[test]
fn a_refusal_is_an_answer() {
    let output = failing("invalid_request", "null", "I will not.")
        .replace(r#""stop_reason":"stop_sequence""#, r#""stop_reason":"refusal""#);
    let (_, report) = read("claude", &output, &ProcessEnd::Code(1), "");
    assert_eq!((report.result.as_str(), report.trouble), ("I will not.", None));
}

#[test]
fn without_a_result_it_broke_off() {
    let begun = [INIT, SAYS].join("\n");
    assert_eq!(class("claude", &begun, &ProcessEnd::Code(143), ""), "crash");
    assert_eq!(class("claude", &begun, &ProcessEnd::Signal(15), ""), "crash");
    assert_eq!(class("claude", &begun, &ProcessEnd::TimedOut(9), ""), "timeout");
    let (_, report) = read("claude", &begun, &ProcessEnd::Signal(9), "");
    assert_eq!(report.usage, None, "it did not get to say so");
}

#[test]
fn an_answer_stands_however_the_process_ends() {
    assert_eq!(class("claude", DONE, &ProcessEnd::Signal(9), ""), "");
}

#[test]
fn arguments_it_refuses_mean_that_it_cannot_be_started() {
    let stderr = "--dangerously-skip-permissions cannot be used with root/sudo privileges";
    assert_eq!(class("claude", "", &ProcessEnd::Code(1), stderr), "missing");
    let (_, report) = read("claude", "", &ProcessEnd::Code(1), stderr);
    let told = report.trouble.expect("it did not start").message();
    assert!(told.contains("Run specum as another user, or set IS_SANDBOX=1"), "{told}");
    assert_eq!(class("claude", "", &ProcessEnd::Code(1), "error: unknown option"), "missing");
}

#[test]
fn retries_are_told() {
    let (signs, _) = read("claude", RETRY, &ProcessEnd::Code(0), "");
    assert_eq!(signs, [Sign::Retrying { why: "overloaded (529)".into() }]);
}

#[test]
fn finding_51_it_is_told_what_is_left_of_a_cap_and_says_when_that_is_used() {
    let most = |max_cost| {
        let call = by_name("claude", None).unwrap().call(&Order { max_cost, ..ORDER });
        call.args.last().cloned().unwrap_or_default()
    };
    assert_eq!(most(Some(2.5)), "--max-budget-usd=2.5000");
    assert_eq!(most(Some(0.123_41)), "--max-budget-usd=0.1235", "never below the cap");
    assert_eq!(most(Some(0.0)), "--max-budget-usd=0.0001", "it refuses 0");
    assert_eq!(most(None), r#"{"disableAllHooks":true}"#);
    let stopped = r#"{"type":"result","subtype":"error_max_budget_usd","is_error":true,"num_turns":3,"total_cost_usd":1.02,"modelUsage":{"m":{"inputTokens":9}},"errors":["Reached maximum budget ($1)"]}"#;
    let (_, report) = read("claude", stopped, &ProcessEnd::Code(1), "");
    assert_eq!(report.trouble, Some(Trouble::OverBudget("Reached maximum budget ($1)".into())));
    assert_eq!(report.usage, Some(Usage { tokens: 9, cost: Some(1.02) }));
}
