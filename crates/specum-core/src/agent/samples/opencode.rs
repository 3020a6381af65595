//! opencode 1.18.33.

use crate::agent::{Reset, Trouble, Usage, by_name};

use super::*;

const RUN: &str = r#"{"type":"step_start","timestamp":1794794027492,"sessionID":"ses_1","part":{"id":"prt_1","messageID":"msg_1","type":"step-start"}}
{"type":"text","timestamp":1794794027492,"sessionID":"ses_1","part":{"id":"prt_2","messageID":"msg_1","type":"text","text":"let me"}}
{"type":"tool_use","timestamp":1794794027607,"sessionID":"ses_1","part":{"type":"tool","tool":"bash","callID":"call_1","state":{"status":"completed","input":{"command":"touch made","description":"d"},"output":"","title":"touch made"},"id":"prt_3"}}
{"type":"step_finish","timestamp":1794794027657,"sessionID":"ses_1","part":{"id":"prt_4","reason":"tool-calls","messageID":"msg_1","type":"step-finish","tokens":{"total":15,"input":10,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0.5}}
{"type":"step_start","timestamp":1794794027809,"sessionID":"ses_1","part":{"id":"prt_5","messageID":"msg_2","type":"step-start"}}
{"type":"text","timestamp":1794794027810,"sessionID":"ses_1","part":{"id":"prt_6","messageID":"msg_2","type":"text","text":"fin"}}
{"type":"text","timestamp":1794794027810,"sessionID":"ses_1","part":{"id":"prt_7","messageID":"msg_2","type":"text","text":"TASK_COMPLETE"}}
{"type":"step_finish","timestamp":1794794027849,"sessionID":"ses_1","part":{"id":"prt_8","reason":"stop","messageID":"msg_2","type":"step-finish","tokens":{"input":10,"output":5,"reasoning":1,"cache":{"write":2,"read":3}},"cost":0.25}}"#;

const REFUSED: &str = r#"{"type":"error","timestamp":1794777975561,"sessionID":"ses_1","error":{"name":"APIError","data":{"message":"mock error","statusCode":401,"isRetryable":false,"responseHeaders":{"content-type":"application/json","retry-after":"30"},"responseBody":"{}"}}}"#;

#[test]
fn it_is_called_with_the_prompt_on_standard_input() {
    let call = by_name("opencode", None).unwrap().call(&Order { model: Some("a/b"), ..ORDER });
    insta::assert_snapshot!(call.args.join(" "), @"run --format json --auto --title=specum --print-logs --log-level ERROR --model=a/b");
    assert_eq!(call.stdin, b"Do it.");
}

#[test]
fn use_is_summed_and_the_parts_of_the_last_message_are_the_answer() {
    let (signs, report) = read("opencode", RUN, &ProcessEnd::Code(0), "");
    assert_eq!(
        signs,
        [
            said("let me"),
            tool("bash: touch made"),
            Sign::ToolEnded,
            used(15, Some(0.5)),
            said("fin"),
            said("TASK_COMPLETE"),
            used(36, Some(0.75)),
        ]
    );
    let usage = Some(Usage { tokens: 36, cost: Some(0.75) });
    assert_eq!(report, Report { result: "fin\nTASK_COMPLETE".into(), usage, trouble: None });
}

#[test]
fn an_error_is_told_by_its_status_and_its_name() {
    let with = |from: &str, to: &str| {
        class("opencode", &REFUSED.replace(from, to), &ProcessEnd::Code(1), "")
    };
    assert_eq!(with("", ""), "authentication");
    assert_eq!(with("401", "429"), "rate-limit");
    assert_eq!(with("401", "500"), "server");
    assert_eq!(with("APIError", "ContextOverflowError"), "context-overflow");
    assert_eq!(with("APIError", "ProviderAuthError"), "authentication");
    assert_eq!(with(r#""statusCode":401,"#, ""), "crash");
}

#[test]
fn a_limit_ends_when_the_server_says() {
    let (_, report) = read("opencode", &REFUSED.replace("401", "429"), &ProcessEnd::Code(1), "");
    let limited = Trouble::RateLimited { why: "mock error".into(), reset: Some(Reset::In(30)) };
    assert_eq!(report.trouble, Some(limited));
}

#[test]
fn an_error_that_was_overcome_is_none() {
    assert_eq!(class("opencode", &format!("{REFUSED}\n{RUN}"), &ProcessEnd::Code(0), ""), "");
}

#[test]
fn an_error_counts_in_spite_of_exit_code_0() {
    assert_eq!(
        class("opencode", &format!("{RUN}\n{REFUSED}"), &ProcessEnd::Code(0), ""),
        "authentication"
    );
}

#[test]
fn an_error_that_points_to_the_log_is_told_as_the_log_tells_it() {
    let unknown = r#"{"type":"error","timestamp":1,"sessionID":"ses_1","error":{"name":"UnknownError","data":{"message":"Unexpected server error. Check server logs for details.","ref":"err_e6f8ace9"}}}"#;
    let log = "level=ERROR run=f0 message=failed error=\"ProviderModelNotFoundError\"\n";
    assert_eq!(class("opencode", unknown, &ProcessEnd::Code(1), log), "missing");
    assert_eq!(class("opencode", unknown, &ProcessEnd::Code(1), ""), "crash");
}

#[test]
fn an_attempt_that_was_ended_while_it_waited_tells_for_what() {
    let log = |error: &str| {
        format!(
            "timestamp=2026 level=ERROR run=c5 message=\"stream error\" small=false error.error=\"{error}\"\n"
        )
    };
    let limited = log("AI_APICallError: Too Many Requests");
    assert_eq!(class("opencode", "", &ProcessEnd::TimedOut(60), &limited), "rate-limit");
    let down = log("AI_APICallError: Internal Server Error");
    assert_eq!(class("opencode", "", &ProcessEnd::Signal(15), &down), "server");
    assert_eq!(class("opencode", "", &ProcessEnd::TimedOut(60), ""), "timeout");
}

#[test]
fn without_a_last_step_it_broke_off() {
    let begun = RUN.lines().take(5).collect::<Vec<_>>().join("\n");
    assert_eq!(class("opencode", &begun, &ProcessEnd::Code(0), ""), "crash");
    assert_eq!(class("opencode", &begun, &ProcessEnd::Signal(9), ""), "crash");
    let cut = RUN.replace(r#""reason":"stop""#, r#""reason":"length""#);
    assert_eq!(class("opencode", &cut, &ProcessEnd::Code(0), ""), "context-overflow");
}
