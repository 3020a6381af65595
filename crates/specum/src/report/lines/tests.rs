use serde_json::{Value, json};

use super::*;

/// The lines that come of these records, each with the record it comes with.
fn lines(records: &[Value]) -> Vec<String> {
    let mut lines = Lines::default();
    let mut shown = Vec::new();
    for (number, record) in records.iter().enumerate() {
        let mut event = json!({"at": "", "id": "a"});
        for (name, value) in record.as_object().unwrap() {
            event[name] = value.clone();
        }
        if record["event"] != "run-started" && record["event"] != "run-ended" {
            event["task"] = json!({"id": "1.1", "title": ""});
        }
        let event: Event = serde_json::from_value(event).unwrap();
        for line in lines.take(&event) {
            let line = serde_json::to_value(line).unwrap();
            let what = ["commit", "usage", "kept", "agent", "fix", "text"];
            let what = what.map(|name| line[name].clone()).into_iter().filter(|v| !v.is_null());
            let what: Vec<String> = what.map(|value| value.to_string()).collect();
            let name = line["event"].as_str().unwrap();
            shown.push(format!("{number} {name} {}", what.join(" ")).trim().to_owned());
        }
    }
    shown
}

fn launched() -> Value {
    json!({"event": "launched", "attempt": 1, "agent": "claude"})
}

fn charged(tokens: u64) -> Value {
    json!({"event": "charged", "attempt": 1, "agent": "claude", "tokens": tokens, "cost": 0.5, "millis": 1})
}

fn passed() -> Value {
    json!({"event": "passed", "attempt": 1, "to_commit": true, "millis": 1, "unticked": ["1.2"]})
}

#[test]
fn a_pass_is_told_with_its_cost_once_it_is_committed() {
    let checking = json!({"event": "checking", "attempt": 1});
    let committed = json!({"event": "committed", "commit": "abc"});
    let records = [launched(), charged(3), launched(), charged(7), checking, passed(), committed];
    assert_eq!(
        lines(&records),
        [
            "0 attempt-started \"claude\"",
            "2 attempt-started \"claude\"",
            "4 checking",
            "5 warning \"box 1.2 was ticked without a verdict and is open again\"",
            "6 passed \"abc\" {\"tokens\":7,\"cost\":0.5}",
        ]
    );
    let nothing = json!({"event": "committed", "commit": ""});
    assert_eq!(lines(&[launched(), passed(), nothing])[2], "2 passed");
    let without_git = json!({"event": "passed", "attempt": 1, "millis": 1});
    assert_eq!(lines(&[without_git]), ["0 passed"]);
}

#[test]
fn a_pass_that_is_taken_back_is_a_failure_and_nothing_else() {
    let failed = json!({"event": "failed", "attempt": 1, "reasons": [], "millis": 1,
        "unticked": ["1.2"], "fixes": ["1.1.1"]});
    assert_eq!(
        lines(&[launched(), charged(7), passed(), failed])[2..],
        ["3 failed {\"tokens\":7,\"cost\":0.5}", "3 fix-added \"1.1.1\""]
    );
}

#[test]
fn an_attempt_has_its_place_and_the_time_since_it_was_opened() {
    let mut lines = Lines::default();
    let mut tell = |second: u8, record: Value| -> Vec<Line> {
        let at = format!("2026-01-01T00:00:{second:02}Z");
        let mut event = json!({"at": at, "id": "a", "task": {"id": "1.1", "title": ""}});
        for (name, value) in record.as_object().unwrap() {
            event[name] = value.clone();
        }
        lines.take(&serde_json::from_value(event).unwrap())
    };
    let opened = json!({"event": "opened", "attempt": 1, "block": ""});
    let failed = json!({"event": "failed", "attempt": 1, "reasons": ["no"], "class": "verify",
        "output": "one\n====\ntwo\n", "millis": 1});
    tell(0, opened.clone());
    tell(1, failed.clone());
    tell(2, opened);
    let started = tell(5, launched()).remove(0);
    let Line::AttemptStarted { attempt, place, since, .. } = started else { panic!() };
    assert_eq!((attempt, place, since), (1, 2, Duration::from_secs(3)));
    let Line::Failed { place, telling, .. } = tell(6, failed).remove(0) else { panic!() };
    assert_eq!((place, telling), (2, vec!["one".to_owned(), "two".to_owned()]));
}

#[test]
fn what_no_agent_said_is_no_usage() {
    let estimated = json!({"event": "charged", "attempt": 1, "agent": "claude", "tokens": 9,
        "estimated": true, "millis": 1});
    let failed = json!({"event": "failed", "attempt": 1, "reasons": [], "millis": 1});
    assert_eq!(lines(&[launched(), estimated, failed])[1], "2 failed");
}

#[test]
fn a_check_without_an_agent_begins_its_attempt() {
    let check = |integrated| json!({"event": "checking", "attempt": 1, "integrated": integrated});
    let started = json!({"event": "run-started", "agents": []});
    assert_eq!(lines(&[check(false)]), ["0 attempt-started", "0 checking"]);
    assert_eq!(lines(&[check(true)]), ["0 checking"]);
    let again = lines(&[launched(), check(false), started, check(false)]);
    assert_eq!(again[1..], ["1 checking", "2 run-started", "3 attempt-started", "3 checking"]);
}

#[test]
fn a_question_is_told_with_the_place_where_the_work_is_kept() {
    let waits = |changed: &[&str]| json!({"event": "waits", "attempt": 1, "reasons": ["why"], "changed": changed});
    let kept = json!({"event": "kept", "attempt": 1, "reference": "refs/a"});
    let ended = json!({"event": "run-ended", "outcome": "waits", "why": "x", "millis": 1});
    assert_eq!(lines(&[waits(&[])]), ["0 waits"]);
    assert_eq!(lines(&[waits(&["a"]), kept]), ["1 waits \"refs/a\""]);
    assert_eq!(lines(&[waits(&["a"]), ended]), ["1 waits", "1 run-ended"]);
}
