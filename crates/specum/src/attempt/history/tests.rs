//! What stood in the tree before anybody worked at a task.

use serde_json::json;
use specum_core::journal;

use super::*;

/// A journal of attempts at 1.1.
fn story(events: &[serde_json::Value]) -> Vec<Record> {
    let line = |event: &serde_json::Value| {
        let mut record = json!({"v": 1, "at": "", "task": {"id": "1.1", "title": "a"}});
        for (name, value) in event.as_object().unwrap() {
            record[name] = value.clone();
        }
        format!("{record}\n")
    };
    journal::parse(events.iter().map(line).collect::<String>().as_bytes())
}

fn opened(attempt: u64) -> serde_json::Value {
    json!({"event": "opened", "attempt": attempt, "block": "- [ ] 1.1 a\n", "dirty": {"mine": "1"}})
}

fn launched(attempt: u64, beside: bool) -> serde_json::Value {
    json!({"event": "launched", "attempt": attempt, "agent": "script", "beside": beside})
}

fn failed(attempt: u64, changed: &[&str]) -> serde_json::Value {
    json!({"event": "failed", "attempt": attempt, "changed": changed, "reasons": []})
}

/// Whose `made` is when the next attempt begins, if it is in the tree.
fn is_the_users(events: &[serde_json::Value]) -> bool {
    let journal = story(events);
    assert_eq!(journal.len(), events.len(), "every record is one");
    let dirty = ["mine", "made"].map(|path| (path.to_owned(), "1".to_owned())).into();
    let before = baseline(&journal, "1.1", &dirty);
    assert!(before.contains_key("mine"));
    before.contains_key("made")
}

#[test]
fn what_a_failed_attempt_has_left_is_its_tasks() {
    assert!(is_the_users(&[]));
    assert!(!is_the_users(&[opened(1), failed(1, &["made"])]));
}

#[test]
fn it_stays_so_when_a_later_attempt_elsewhere_comes_to_nothing() {
    let tree = [opened(1), failed(1, &["made"]), opened(2), launched(2, true)];
    let set_aside = json!({"event": "set-aside", "attempt": 2, "reasons": []});
    let cleared = json!({"event": "cleared", "attempt": 2});
    for end in [failed(2, &[]), set_aside, cleared] {
        assert!(!is_the_users(&[&tree[..], std::slice::from_ref(&end)].concat()), "{end}");
    }
}

#[test]
fn what_was_put_away_and_comes_back_is_the_users() {
    let cleared = json!({"event": "cleared", "attempt": 2});
    assert!(is_the_users(&[
        opened(1),
        failed(1, &["made"]),
        opened(2),
        launched(2, false),
        cleared
    ]));
}

#[test]
fn a_commit_ends_it_and_a_refused_one_does_not() {
    let passed = json!({"event": "passed", "attempt": 1});
    assert!(!is_the_users(&[opened(1), passed.clone(), failed(1, &["made"])]));
    let again = json!({"event": "passed", "attempt": 2});
    assert!(is_the_users(&[opened(1), failed(1, &["made"]), opened(2), again]));
}

#[test]
fn a_task_of_another_loop_is_the_same_only_with_the_same_title() {
    let cancelled = json!({"event": "cancelled"});
    let journal = story(&[opened(1), failed(1, &[]), cancelled]);
    let key = |title: &str| TaskKey { id: "1.1".into(), title: title.into() };
    assert!(History(&journal).last_failure(&key("a")).is_some());
    assert!(History(&journal).last_failure(&key("another")).is_none());
    let kept = json!({"event": "kept", "attempt": 1, "reference": "r"});
    let journal = story(&[opened(1), kept, json!({"event": "completed", "tasks": 1})]);
    assert!(History(&journal).kept(&key("a")).is_some());
    assert!(History(&journal).kept(&key("another")).is_none());
}

#[test]
fn a_run_that_has_begun_has_put_away_what_others_left() {
    let run = json!({"event": "run-started", "agents": []});
    let tree = [opened(1), launched(1, false)];
    assert_eq!(History(&story(&tree)).unsettled().len(), 1);
    assert_eq!(History(&story(&[&tree[..], &[run]].concat())).unsettled().len(), 0);
}

#[test]
fn finding_2_10_what_a_complete_loop_has_passed_is_not_looked_at_again() {
    let passed = |task: usize| {
        json!({"event": "passed", "attempt": 1, "task": {"id": format!("1.{task}"), "title": "a"},
               "to_commit": true})
    };
    let of = |task: usize, event: serde_json::Value| {
        let mut event = event;
        event["task"] = json!({"id": format!("1.{task}"), "title": "a"});
        event
    };
    let mut story_of_two = vec![of(1, opened(1)), passed(1)];
    let is_found = |events: &[serde_json::Value]| History(&story(events)).uncommitted().is_some();
    assert!(is_found(&story_of_two));
    story_of_two.push(json!({"event": "completed", "tasks": 1}));
    assert!(!is_found(&story_of_two));
    story_of_two.extend([of(2, opened(1)), passed(2)]);
    assert!(is_found(&story_of_two));
    story_of_two.push(of(2, json!({"event": "committed", "commit": "abc"})));
    assert!(!is_found(&story_of_two), "and not the first one again");
}
