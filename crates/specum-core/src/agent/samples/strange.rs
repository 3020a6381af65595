//! The agents that need only a shell, and whatever else may come in by the pipe.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::agent::{NAMES, Trouble, by_name};
use crate::completion;

use super::*;

#[test]
fn every_agent_is_found_by_its_name() {
    for name in NAMES.into_iter().chain(["command", "script"]) {
        assert_eq!(by_name(name, Some("cat")).expect(name).name(), name);
    }
    assert!(by_name("command", None).is_none());
    assert!(by_name("nobody", Some("cat")).is_none());
    let programs = NAMES.map(|name| by_name(name, None).and_then(|agent| agent.program()));
    assert_eq!(programs, NAMES.map(Some));
}

#[test]
fn a_model_that_looks_like_an_option_is_none() {
    for name in NAMES {
        let order = Order { model: Some("--help"), ..ORDER };
        let call = by_name(name, None).unwrap().call(&order);
        assert!(call.args.contains(&"--model=--help".to_owned()), "{name}");
    }
}

#[test]
fn a_command_line_is_the_shells() {
    let call = by_name("command", Some("aider --yes | tee log")).unwrap().call(&ORDER);
    assert_eq!(
        (call.program.as_str(), call.args.as_slice()),
        ("sh", &["-c".to_owned(), "aider --yes | tee log".to_owned()][..])
    );
    assert_eq!(call.stdin, b"Do it.");
}

#[test]
fn what_a_command_prints_is_its_answer() {
    let output = "working\n\u{1b}[32mTASK_COMPLETE\u{1b}[0m\n";
    let (signs, report) = read("command", output, &ProcessEnd::Code(0), "noise");
    assert_eq!(signs, [said("working"), said("TASK_COMPLETE")]);
    assert_eq!(report, Report { result: "working\nTASK_COMPLETE\n".into(), ..Report::default() });
    let (_, report) = read("command", output, &ProcessEnd::Code(3), "it hurts\n");
    assert_eq!(report.trouble, Some(Trouble::Crash("ended with code 3: it hurts".into())));
    let (_, report) = read("command", "", &ProcessEnd::Code(127), "sh: 1: aidr: not found\n");
    assert_eq!(report.trouble, Some(Trouble::Missing("sh: 1: aidr: not found".into())));
    assert_eq!(class("command", "", &ProcessEnd::Signal(9), ""), "crash");
    assert_eq!(class("command", "", &ProcessEnd::TimedOut(9), ""), "timeout");
}

#[test]
fn only_the_end_of_a_long_output_is_kept() {
    let output = "0123456789\n".repeat(50_000) + "TASK_COMPLETE\n";
    let (_, report) = read("command", &output, &ProcessEnd::Code(0), "");
    assert!(report.result.len() <= 64 * 1024);
    assert!(report.result.ends_with("TASK_COMPLETE\n"));
}

#[test]
fn a_script_that_fails_claims_nothing() {
    let call = by_name("script", None).unwrap().call(&Order { script: Some("make"), ..ORDER });
    assert_eq!(&call.args[3..], ["make", "TASK_COMPLETE"]);
    assert_eq!(call.stdin, b"");
    let (_, report) = read("script", "built\n\nTASK_COMPLETE\n", &ProcessEnd::Code(0), "");
    assert!(completion::says(&report.result, "TASK_COMPLETE") && report.trouble.is_none());
    let (_, report) = read("script", "TASK_COMPLETE\n", &ProcessEnd::Code(2), "no rule\n");
    assert!(!completion::says(&report.result, "TASK_COMPLETE"));
    insta::assert_snapshot!(report.result, @r"
    The script ended with code 2.

    > TASK_COMPLETE
    > no rule
    ");
    assert_eq!(report.trouble, None);
}

#[test]
fn a_long_answer_is_kept_whole_and_a_longer_one_from_its_end() {
    for (length, kept) in [(200_000, 200_000), (2_000_000, 256 * 1024 - 14)] {
        let text = format!("{}\\nTASK_COMPLETE", "x".repeat(length));
        let event = format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"result":"{text}"}}"#
        );
        let (_, report) = read("claude", &event, &ProcessEnd::Code(0), "");
        assert_eq!(report.result.len(), kept + 14);
        assert!(completion::says(&report.result, "TASK_COMPLETE"));
    }
}

fn ends() -> impl Strategy<Value = ProcessEnd> {
    prop_oneof![
        (-5..300).prop_map(ProcessEnd::Code),
        (0..40).prop_map(ProcessEnd::Signal),
        Just(ProcessEnd::TimedOut(60)),
        any::<String>().prop_map(ProcessEnd::NotStarted),
    ]
}

/// Lines as the agents print them, of which some fields are something else.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    const LINES: [&str; 12] = [
        r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"t"},{"type":"tool_use","name":"Bash","input":{"command":"c"}}],"usage":{"input_tokens":10}},"parent_tool_use_id":null,"error":"rate_limit"}"#,
        r#"{"type":"result","subtype":"success","is_error":true,"status":"error","error":{"message":"m"},"result":"r","total_cost_usd":1e308,"modelUsage":{"m":{"inputTokens":18446744073709551615,"outputTokens":1}}}"#,
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1}}"#,
        r#"{"type":"item.started","item":{"id":"i","type":"command_execution","command":"/bin/bash -lc 'x'"}}"#,
        r#"{"type":"item.completed","item":{"id":"i","type":"file_change","changes":[{"path":"p"}]}}"#,
        r#"{"type":"turn.completed","usage":{"input_tokens":18446744073709551615,"output_tokens":9}}"#,
        r#"{"type":"turn.failed","error":{"message":"status 429, try again at Nov 16th, 2026 12:46 AM"}}"#,
        r#"{"type":"message","role":"assistant","content":"a\nb","delta":true}"#,
        r#"{"type":"tool_use","tool_name":"t","parameters":{"command":"c"},"part":{"tool":"bash","state":{"input":{"command":"c"}}}}"#,
        r#"{"type":"step_finish","part":{"reason":"stop","tokens":{"total":18446744073709551615},"cost":-1.5}}"#,
        r#"{"type":"text","part":{"messageID":"m","text":"\ud83d t"}}"#,
        r#"{"type":"error","severity":"warning","message":"Agent execution blocked","error":{"name":"APIError","data":{"message":"m","statusCode":429,"responseHeaders":{"retry-after":"1"}}}}"#,
    ];
    let bytes = vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    let words = vec((any::<prop::sample::Index>(), 0..4_usize), 0..3);
    (0..LINES.len(), bytes, words).prop_map(|(line, bytes, words)| {
        let mut text = LINES[line].to_owned();
        for (at, with) in words {
            let colons: Vec<usize> = text.match_indices(':').map(|(at, _)| at).collect();
            let at = colons[at.index(colons.len())] + 1;
            let end = text[at..].find([',', '}', ']']).map_or(text.len(), |end| at + end);
            text.replace_range(at..end, ["null", "[1]", "{\"a\":{}}", "\"\\u001b[2J\""][with]);
        }
        let mut text = text.into_bytes();
        for (at, with) in bytes {
            let at = at.index(text.len());
            text[at] = with;
        }
        text
    })
}

proptest! {
    #[test]
    fn every_reader_takes_any_bytes(
        lines in vec(prop_oneof![vec(any::<u8>(), 0..200), mutated()], 0..20),
        ended in ends(),
        stderr in any::<String>(),
    ) {
        for name in NAMES.into_iter().chain(["command", "script"]) {
            let agent = by_name(name, Some("cat")).expect(name);
            let mut reader = agent.reader();
            let mut tokens = 0;
            for sign in lines.iter().flat_map(|line| reader.line(line)) {
                match sign {
                    Sign::Tool { name } => {
                        prop_assert!(name.len() <= 80 && !name.contains(char::is_control));
                    }
                    Sign::Used(used) if name == "claude" || name == "opencode" => {
                        prop_assert!(used.tokens >= tokens, "{} goes down", name);
                        tokens = used.tokens;
                    }
                    _ => {}
                }
            }
            let report = reader.end(&ended, &stderr);
            let controls = |c: char| c.is_control() && c != '\n' && c != '\t';
            prop_assert!(!report.result.contains(controls), "{}", name);
        }
    }
}
