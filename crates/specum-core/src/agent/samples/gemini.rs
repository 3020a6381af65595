//! Gemini CLI 0.61.0.

use crate::agent::{Reset, Trouble, Usage, by_name};

use super::*;

const RUN: &str = r#"{"type":"init","timestamp":"2026-11-15T21:23:13.181Z","session_id":"4ebbea7e","model":"gemini-2.5-flash"}
{"type":"message","timestamp":"2026-11-15T21:23:13.182Z","role":"user","content":"hello"}
{"type":"message","timestamp":"2026-11-15T21:23:13.437Z","role":"assistant","content":"t","delta":true}
{"type":"tool_use","timestamp":"2026-11-15T21:23:13.491Z","tool_name":"run_shell_command","tool_id":"run_shell_command__g1_0","parameters":{"command":"echo HI; exit 3","description":"d"}}
{"type":"tool_result","timestamp":"2026-11-15T21:23:13.904Z","tool_id":"run_shell_command__g1_0","status":"success","output":"HI"}
{"type":"message","timestamp":"2026-11-15T21:23:14.039Z","role":"assistant","content":"Done.\nTASK_","delta":true}
{"type":"message","timestamp":"2026-11-15T21:23:14.039Z","role":"assistant","content":"COMPLETE","delta":true}
{"type":"result","timestamp":"2026-11-15T21:23:14.157Z","status":"success","stats":{"total_tokens":30,"input_tokens":20,"output_tokens":10,"cached":0,"input":20,"duration_ms":977,"tool_calls":1}}"#;

fn failing(message: &str) -> String {
    let result = serde_json::json!({
        "type": "result", "status": "error",
        "error": {"type": "unknown", "message": message},
        "stats": {"total_tokens": 0},
    });
    format!("{}\n{result}", RUN.lines().take(2).collect::<Vec<_>>().join("\n"))
}

#[test]
fn it_is_called_with_the_prompt_on_standard_input() {
    let call = by_name("gemini", None).unwrap().call(&Order { model: Some("pro"), ..ORDER });
    insta::assert_snapshot!(call.args.join(" "), @"-o stream-json -y --skip-trust --model=pro");
    assert_eq!(call.stdin, b"Do it.");
}

#[test]
fn pieces_are_put_together_and_the_last_message_is_the_answer() {
    let (signs, report) = read("gemini", RUN, &ProcessEnd::Code(0), "");
    assert_eq!(
        signs,
        [
            said("t"),
            tool("run_shell_command: echo HI; exit 3"),
            Sign::ToolEnded,
            said("Done."),
            said("TASK_COMPLETE"),
            used(30, None)
        ]
    );
    let usage = Some(Usage { tokens: 30, cost: None });
    assert_eq!(report, Report { result: "Done.\nTASK_COMPLETE".into(), usage, trouble: None });
}

#[test]
fn a_hook_that_sends_it_on_is_no_failure() {
    let blocked = r#"{"type":"error","timestamp":"2026-11-16T01:55:02.162Z","severity":"warning","message":"Agent execution blocked: go on"}"#;
    let first = r#"{"type":"message","role":"assistant","content":"not this","delta":true}"#;
    let (_, report) =
        read("gemini", &format!("{first}\n{blocked}\n{RUN}"), &ProcessEnd::Code(0), "");
    assert_eq!((report.result.as_str(), report.trouble), ("Done.\nTASK_COMPLETE", None));
}

#[test]
fn the_exit_code_is_a_status() {
    let class = |code, message| class("gemini", &failing(message), &ProcessEnd::Code(code), "");
    let body = r#"[API Error: {"error":{"message":"mock error","code":1}}]"#;
    assert_eq!(class(145, body), "authentication");
    assert_eq!(class(147, body), "authentication");
    assert_eq!(class(173, body), "rate-limit");
    assert_eq!(class(244, body), "server");
    assert_eq!(class(247, body), "server");
    assert_eq!(class(144, body), "crash");
    assert_eq!(class(144, "[API Error: API key not valid. Please pass one.]"), "authentication");
    assert_eq!(class(1, "[API Error: models/nope is not found]"), "missing");
    let long = "The input token count (2000000) exceeds the maximum number of tokens allowed";
    assert_eq!(class(144, long), "context-overflow");
}

#[test]
fn an_error_counts_in_spite_of_exit_code_0() {
    assert_eq!(class("gemini", &failing("what?"), &ProcessEnd::Code(0), ""), "crash");
}

#[test]
fn a_quota_names_its_end_if_it_can() {
    let reset =
        |message: &str| match read("gemini", &failing(message), &ProcessEnd::Code(173), "").1 {
            Report { trouble: Some(Trouble::RateLimited { reset, .. }), .. } => reset,
            other => panic!("{other:?}"),
        };
    let daily = "[API Error: You have exhausted your daily quota on this model.]\nPlease wait and try again later.";
    assert_eq!(reset(daily), None);
    assert_eq!(reset("quota exceeded. Please retry in 17.2s."), Some(Reset::In(18)));
    let capacity = "You have exhausted your capacity. Your quota will reset after 1h0m5s.";
    assert_eq!(reset(capacity), Some(Reset::In(3605)));
}

#[test]
fn without_a_result_the_exit_code_tells() {
    let class = |code, stderr| class("gemini", "", &ProcessEnd::Code(code), stderr);
    assert_eq!(class(41, "Please set an Auth method in your settings.json"), "authentication");
    assert_eq!(class(52, "bad settings"), "missing");
    assert_eq!(class(53, "turns"), "crash");
    assert_eq!(class(55, "not a trusted directory"), "missing");
    assert_eq!(class(143, ""), "crash");
}

#[test]
fn an_attempt_that_was_ended_while_it_waited_tells_for_what() {
    let stderr = "Attempt 2 failed with status 429. Retrying with backoff... _ApiError: {}\n    at throwErrorIfNotOK (a.js:1:2)\n";
    let waiting = |ended| class("gemini", RUN.lines().next().unwrap(), ended, stderr);
    assert_eq!(waiting(&ProcessEnd::TimedOut(60)), "rate-limit");
    assert_eq!(waiting(&ProcessEnd::Signal(15)), "rate-limit");
}
