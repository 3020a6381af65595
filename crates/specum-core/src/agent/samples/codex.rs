//! Codex 0.166.0.

use crate::agent::{Reset, Trouble, Usage, by_name};

use super::*;

const RUN: &str = r#"{"type":"thread.started","thread_id":"01a1e114"}
{"type":"item.completed","item":{"id":"item_2","type":"error","message":"Model metadata for `gpt-5` not found. Defaulting to fallback metadata; this can degrade performance and cause issues."}}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_3","type":"agent_message","text":"t"}}
{"type":"item.started","item":{"id":"item_4","type":"command_execution","command":"/bin/bash -lc 'echo HI-$((1+1)); exit 3'","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_4","type":"command_execution","command":"/bin/bash -lc 'echo HI-$((1+1)); exit 3'","aggregated_output":"HI-2\n","exit_code":3,"status":"failed"}}
{"type":"item.completed","item":{"id":"item_5","type":"agent_message","text":"fin"}}
{"type":"turn.completed","usage":{"input_tokens":20,"cached_input_tokens":4,"cache_write_input_tokens":0,"output_tokens":10,"reasoning_output_tokens":2}}"#;

fn failing(message: &str) -> String {
    format!(
        r#"{{"type":"turn.started"}}
{{"type":"error","message":"{message}"}}
{{"type":"turn.failed","error":{{"message":"{message}"}}}}"#
    )
}

#[test]
fn it_is_called_without_hooks_and_reads_standard_input() {
    let call = by_name("codex", None).unwrap().call(&Order { model: Some("gpt-5"), ..ORDER });
    insta::assert_snapshot!(call.args.join(" "), @"exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox -c features.hooks=false --model=gpt-5 -");
    assert_eq!(call.stdin, b"Do it.");
}

#[test]
fn the_last_message_is_the_answer_and_warnings_are_no_errors() {
    let (signs, report) = read("codex", RUN, &ProcessEnd::Code(0), "");
    assert_eq!(
        signs,
        [
            said("t"),
            tool("Bash: echo HI-$((1+1)); exit 3"),
            Sign::ToolEnded,
            said("fin"),
            used(30, None)
        ]
    );
    let usage = Some(Usage { tokens: 30, cost: None });
    assert_eq!(report, Report { result: "fin".into(), usage, trouble: None });
}

#[test]
fn a_tool_that_is_told_at_its_end_has_begun_too() {
    let edit = r#"{"type":"item.completed","item":{"id":"item_9","type":"file_change","changes":[{"path":"src/a.rs","kind":"add"}],"status":"completed"}}"#;
    let (signs, _) = read("codex", edit, &ProcessEnd::Code(0), "");
    assert_eq!(signs, [tool("Edit: src/a.rs"), Sign::ToolEnded]);
}

#[test]
fn errors_are_told_apart_by_their_texts() {
    let class = |message| class("codex", &failing(message), &ProcessEnd::Code(1), "");
    assert_eq!(class("unexpected status 401 Unauthorized: mock error 401"), "authentication");
    assert_eq!(class("unexpected status 403 Forbidden: mock error 403"), "authentication");
    assert_eq!(class("unexpected status 404 Not Found: model nope not found"), "missing");
    assert_eq!(class("exceeded retry limit, last status: 429 Too Many Requests"), "rate-limit");
    assert_eq!(class("Quota exceeded. Check your plan and billing details."), "rate-limit");
    assert_eq!(class("Codex ran out of room in the model's context window."), "context-overflow");
    assert_eq!(
        class("We’re currently experiencing high demand, which may cause temporary errors."),
        "server"
    );
    assert_eq!(class("stream disconnected before completion: error sending request"), "server");
    assert_eq!(class("something new"), "crash");
}

#[test]
fn a_usage_limit_names_its_end() {
    let reset = |message: &str| match read("codex", &failing(message), &ProcessEnd::Code(1), "").1 {
        Report { trouble: Some(Trouble::RateLimited { reset, .. }), .. } => reset,
        other => panic!("{other:?}"),
    };
    let dated = "You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit https://chatgpt.com/settings/usage to purchase more credits or try again at Nov 16th, 2026 12:46 AM.";
    assert_eq!(reset(dated), Some(Reset::Local("2026-11-16T00:46:00".into())));
    // On the same day it names no date.
    let today = "You’ve hit your usage limit. Upgrade to Pro or try again at 3:33 AM.";
    assert_eq!(reset(today), Some(Reset::Local("03:33:00".into())));
    assert_eq!(reset("exceeded retry limit, last status: 429 Too Many Requests"), None);
}

#[test]
fn a_lost_connection_that_is_found_again_is_no_error() {
    let reconnecting =
        r#"{"type":"error","message":"Reconnecting... 1/1 (unexpected status 500)"}"#;
    let (signs, report) =
        read("codex", &format!("{reconnecting}\n{RUN}"), &ProcessEnd::Code(0), "");
    assert_eq!(
        signs[0],
        Sign::Retrying { why: "Reconnecting... 1/1 (unexpected status 500)".into() }
    );
    assert_eq!(report.trouble, None);
    // If it was ended meanwhile, that is why.
    assert_eq!(class("codex", reconnecting, &ProcessEnd::Signal(15), ""), "server");
}

#[test]
fn without_an_end_of_its_turn_it_broke_off() {
    let begun = RUN.lines().take(4).collect::<Vec<_>>().join("\n");
    assert_eq!(class("codex", &begun, &ProcessEnd::Code(143), ""), "crash");
    assert_eq!(class("codex", &begun, &ProcessEnd::TimedOut(5), ""), "timeout");
    assert_eq!(class("codex", "", &ProcessEnd::Code(2), "error: unexpected argument"), "missing");
    assert_eq!(class("codex", "", &ProcessEnd::NotStarted("not found".into()), ""), "missing");
}
