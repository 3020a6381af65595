//! Stories told in JSON, as journals hold them, and where they leave each attempt.

use serde_json::{Value, json};

use super::*;
use crate::brief::BriefMarker;
use crate::journal::{self, Entry};

/// A journal of attempts at 1.1, as format 2 has it unless an event says otherwise.
fn story(events: &[Value]) -> Vec<Record> {
    let line = |event: &Value| {
        let mut record = json!({"v": 2, "at": "", "task": {"id": "1.1", "title": "a"}});
        for (name, value) in event.as_object().unwrap() {
            record[name] = value.clone();
        }
        format!("{record}\n")
    };
    let records = journal::parse(events.iter().map(line).collect::<String>().as_bytes());
    assert_eq!(records.len(), events.len(), "every record is one");
    records
}

fn ledger(events: &[Value]) -> Ledger {
    Ledger::of(&story(events))
}

fn key(title: &str) -> TaskKey {
    TaskKey { id: "1.1".into(), title: title.into() }
}

fn opened(attempt: u64) -> Value {
    json!({"event": "opened", "id": format!("a{attempt}"), "attempt": attempt,
           "block": "- [ ] 1.1 a\n", "dirty": {"mine": "1"}})
}

/// An event about an attempt, with the fields of it.
fn of(attempt: u64, event: &str, fields: &Value) -> Value {
    let mut all = json!({"event": event, "id": format!("a{attempt}"), "attempt": attempt});
    for (name, value) in fields.as_object().unwrap() {
        all[name] = value.clone();
    }
    all
}

fn launched(attempt: u64, beside: bool) -> Value {
    of(attempt, "launched", &json!({"agent": "script", "beside": beside}))
}

fn failed(attempt: u64, changed: &[&str]) -> Value {
    of(attempt, "failed", &json!({"changed": changed, "reasons": []}))
}

fn id(text: &str) -> AttemptId {
    AttemptId::from(text)
}

/// Whether `made` counts as the user's when the next attempt is opened.
fn is_the_users(events: &[Value]) -> bool {
    let dirty = ["mine", "made"].map(|path| (path.to_owned(), "1".to_owned())).into();
    let before = ledger(events).baseline(&key("a"), &dirty);
    assert!(before.contains_key("mine"));
    before.contains_key("made")
}

#[test]
fn ids_differ_and_sort_by_time() {
    let ids = [AttemptId::new(9, 1, 0), AttemptId::new(10, 1, 1), AttemptId::new(1 << 50, 1, 2)];
    assert!(ids.is_sorted() && ids[0] != ids[1]);
}

#[test]
fn an_attempt_is_open_until_its_verdict() {
    let open = ledger(&[opened(1)]);
    assert_eq!(open.open_attempt(&key("a")).map(|attempt| attempt.id), Some(id("a1")));
    assert_eq!(open.open_attempts().len(), 1);
    let ends = [
        of(1, "passed", &json!({})),
        failed(1, &[]),
        of(1, "set-aside", &json!({"reasons": []})),
        of(1, "waits", &json!({"reasons": []})),
        of(1, "cleared", &json!({})),
        json!({"event": "cancelled"}),
        json!({"event": "completed", "tasks": 1}),
    ];
    for end in ends {
        let ended = ledger(&[opened(1), end.clone()]);
        assert!(ended.open_attempt(&key("a")).is_none(), "{end}");
        assert!(ended.open_attempts().is_empty() && !ended.is_open(&id("a1")), "{end}");
    }
}

#[test]
fn a_verdict_on_an_earlier_attempt_does_not_end_a_later_one() {
    // The judge of a killed host may write late.
    let events = [opened(1), opened(2), failed(1, &[])];
    assert!(ledger(&events).is_open(&id("a2")));
    assert_eq!(ledger(&events).open_attempt(&key("a")).map(|a| a.id), Some(id("a2")));
}

#[test]
fn what_a_failed_attempt_has_left_is_its_tasks() {
    assert!(is_the_users(&[]));
    assert!(!is_the_users(&[opened(1), failed(1, &["made"])]));
}

#[test]
fn it_stays_so_when_a_later_attempt_in_a_worktree_comes_to_nothing() {
    let tree = [opened(1), failed(1, &["made"]), opened(2), launched(2, true)];
    let ends =
        [failed(2, &[]), of(2, "set-aside", &json!({"reasons": []})), of(2, "cleared", &json!({}))];
    for end in ends {
        assert!(!is_the_users(&[&tree[..], std::slice::from_ref(&end)].concat()), "{end}");
    }
}

#[test]
fn what_was_cleaned_up_and_comes_back_is_the_users() {
    let cleared = of(2, "cleared", &json!({}));
    let tree = [opened(1), failed(1, &["made"]), opened(2), launched(2, false), cleared];
    assert!(is_the_users(&tree));
}

#[test]
fn what_a_failed_attempt_has_left_stays_its_tasks_when_a_later_one_is_cleaned_up() {
    let mut second = opened(2);
    second["left_before"] = json!({"made": "1"});
    let cleared = of(2, "cleared", &json!({}));
    let first = [opened(1), failed(1, &["made"])];
    assert!(!is_the_users(&[&first[..], &[second, launched(2, false), cleared]].concat()));
}

#[test]
fn a_commit_ends_it_and_a_refused_one_does_not() {
    let passed = of(1, "passed", &json!({}));
    assert!(!is_the_users(&[opened(1), passed, failed(1, &["made"])]));
    let again = of(2, "passed", &json!({}));
    assert!(is_the_users(&[opened(1), failed(1, &["made"]), opened(2), again]));
}

#[test]
fn a_task_of_another_loop_is_the_same_only_with_the_same_title() {
    let kept = of(1, "kept", &json!({"reference": "r"}));
    let ended = ledger(&[opened(1), failed(1, &[]), kept, json!({"event": "cancelled"})]);
    assert!(ended.last_failure(&key("a")).is_some() && ended.kept(&key("a")) == Some("r"));
    assert!(ended.last_failure(&key("b")).is_none() && ended.kept(&key("b")).is_none());
}

#[test]
fn what_was_left_stays_left_until_its_own_task_is_committed() {
    let left =
        |events: &[Value]| ledger(events).left_in_tree().map(str::to_owned).collect::<Vec<_>>();
    let called = |title: &str, mut event: Value| {
        event["task"] = json!({"id": "1.1", "title": title});
        event["id"] = json!(format!("of {title}"));
        event
    };
    let first = [opened(1), failed(1, &["made"]), json!({"event": "cancelled"})];
    let commits = |title: &str| {
        let committed = of(1, "committed", &json!({"commit": "c"}));
        [called(title, opened(1)), called(title, committed)]
    };
    assert_eq!(left(&[&first[..], &commits("a")].concat()), [""; 0], "it is the same task");
    let other = [&first[..], &commits("b")].concat();
    assert_eq!(left(&other), ["made"], "another task that has its name by now");
    // The commit of an attempt at the old one does not speak for the new one either.
    let new = [called("b", opened(1)), called("b", failed(1, &["new"]))];
    let late = of(1, "committed", &json!({"commit": "c"}));
    assert_eq!(left(&[&first[..], &new, &[late]].concat()), ["new"]);
}

#[test]
fn a_pass_forgets_what_failed_before() {
    let events = [opened(1), failed(1, &[]), opened(2), of(2, "passed", &json!({}))];
    assert!(ledger(&events[..2]).last_failure(&key("a")).is_some());
    assert!(ledger(&events).last_failure(&key("a")).is_none());
}

#[test]
fn an_agent_without_a_verdict_is_unsettled_until_a_run_cleans_up() {
    let tree = [opened(1), launched(1, false)];
    let place = |events: &[Value]| ledger(events).unsettled().first().map(|(_, place)| *place);
    assert_eq!(place(&tree), Some(LaunchPlace::InTree));
    let ready = of(1, "ready", &json!({"result": "done", "commit": "c"}));
    let run = json!({"event": "run-started", "agents": []});
    for end in [ready.clone(), failed(1, &[]), opened(2), run] {
        assert_eq!(place(&[&tree[..], std::slice::from_ref(&end)].concat()), None, "{end}");
    }
    let waiting = ledger(&[opened(1), launched(1, true), ready]);
    assert_eq!(waiting.ready(&id("a1")).map(|ready| ready.commit.as_str()), Some("c"));
}

#[test]
fn a_start_is_charged_once() {
    let tree = [opened(1), launched(1, false)];
    assert_eq!(ledger(&tree).uncharged().len(), 1);
    let charged = of(1, "charged", &json!({"agent": "script", "millis": 1}));
    assert!(ledger(&[&tree[..], &[charged]].concat()).uncharged().is_empty());
    let mut kept = launched(1, false);
    kept["log"] = json!("/logs/1.1-1.log");
    let edits = json!([{"renamed": {"from": {"id": "1.1", "title": "a"},
        "to": {"id": "2.1", "title": "a"}}}]);
    let renamed = json!({"event": "plan-changed", "edits": edits});
    let log = ledger(&[opened(1), kept, renamed]).uncharged()[0].log.clone();
    assert_eq!(log.as_deref(), Some("/logs/1.1-1.log"), "whatever its task is called by now");
    // Another loop pays its own bills.
    assert!(ledger(&[&tree[..], &[json!({"event": "cancelled"})]].concat()).uncharged().is_empty());
}

#[test]
fn what_is_being_integrated_is_found_until_it_is_decided() {
    let events = [opened(1), of(1, "integrating", &json!({"paths": ["f"]}))];
    let found = |events: &[Value]| ledger(events).half_integrated().map(|(a, _)| a.id.clone());
    assert_eq!(found(&events), Some(id("a1")));
    let run = json!({"event": "run-started", "agents": []});
    for end in [of(1, "taken-out", &json!({})), of(1, "passed", &json!({})), run] {
        let decided = ledger(&[&events[..], std::slice::from_ref(&end)].concat());
        assert!(decided.half_integrated().is_none(), "{end}");
    }
}

#[test]
fn finding_2_10_what_a_complete_loop_has_passed_is_not_looked_at_again() {
    let passed = |n| of(n, "passed", &json!({"to_commit": true, "changed": ["f"]}));
    let mut events = vec![opened(1), passed(1)];
    let found = |events: &[Value]| ledger(events).uncommitted().map(|passed| passed.attempt.id);
    assert_eq!(found(&events), Some(id("a1")));
    events.push(json!({"event": "completed", "tasks": 1}));
    assert_eq!(found(&events), None);
    events.extend([opened(2), passed(2)]);
    assert_eq!(found(&events), Some(id("a2")));
    events.push(of(2, "committed", &json!({"commit": "abc"})));
    assert_eq!(found(&events), None);
    assert_eq!(ledger(&events).commit_of("1.1"), Some(Some("abc")));
}

#[test]
fn what_has_passed_is_still_to_be_committed_after_a_cancel() {
    let passed = of(1, "passed", &json!({"to_commit": true, "changed": ["f"]}));
    let events = [opened(1), passed, json!({"event": "cancelled"})];
    let found = ledger(&events).uncommitted().unwrap();
    assert_eq!(found.attempt.block, b"- [ ] 1.1 a\n", "its commit message is in it");
    let committed = of(1, "committed", &json!({"commit": "abc"}));
    assert!(ledger(&[&events[..], &[committed]].concat()).uncommitted().is_none());
}

#[test]
fn a_new_loop_is_not_charged_with_what_was_started_after_the_last_one_was_cancelled() {
    let cancelled = json!({"event": "cancelled"});
    let plan = json!([{"task": {"id": "1.1", "title": "a"}, "content": "c"}]);
    let started = |plan: &Value| json!({"event": "started", "tasks": 1, "open": 1, "plan": plan});
    let events = [opened(1), cancelled, launched(1, false), started(&json!([]))];
    assert_eq!(ledger(&events).uncharged().len(), 1, "the same loop goes on");
    assert!(ledger(&[&events[..], &[started(&plan)]].concat()).uncharged().is_empty());
}

#[test]
fn an_attempt_is_untouched_until_somebody_is_called_or_started_for_it() {
    let mut by_run = opened(1);
    by_run["run"] = json!("r1");
    let untouched = |events: &[Value]| ledger(events).untouched().len();
    assert_eq!(untouched(std::slice::from_ref(&by_run)), 1);
    assert_eq!(untouched(&[opened(1)]), 0, "a person may be at work by hand");
    let called = of(1, "delegated", &json!({"tool_use_id": "t"}));
    let cleared = of(1, "cleared", &json!({}));
    for event in [launched(1, false), called, cleared] {
        assert_eq!(untouched(&[by_run.clone(), event.clone()]), 0, "{event}");
    }
}

#[test]
fn a_task_inherits_nothing_of_another_that_had_its_name_in_an_earlier_loop() {
    let cancelled = json!({"event": "cancelled"});
    let before = [opened(1), launched(1, false), failed(1, &["made"]), cancelled];
    let dirty = [("made".to_owned(), "1".to_owned())].into();
    let now = ledger(&before);
    assert!(now.baseline(&key("a"), &dirty).is_empty(), "the same task goes on");
    assert!(!now.baseline(&key("b"), &dirty).is_empty(), "another one has left nothing");

    // What is heard later of the old attempt is nothing of the new task either.
    let mut other = opened(2);
    other["task"] = json!({"id": "1.1", "title": "b"});
    let late = of(1, "failed", &json!({"reasons": ["late"], "changed": ["made"]}));
    let now = ledger(&[&before[..], &[other, late]].concat());
    assert!(now.last_failure(&key("b")).is_none());
    assert!(!now.baseline(&key("b"), &dirty).is_empty());
}

#[test]
fn a_report_counts_until_its_executor_is_sent_back_or_replaced() {
    let call = |n: u64| of(1, "delegated", &json!({"tool_use_id": format!("t{n}")}));
    let report = of(1, "reported", &json!({"result": "done"}));
    let events = [opened(1), call(1), report];
    assert_eq!(ledger(&events).reported(&id("a1")), Some("done"));
    assert!(ledger(&events).calls_at_work().is_empty());
    for end in [of(1, "sent-back", &json!({"reasons": []})), call(2)] {
        let after = ledger(&[&events[..], std::slice::from_ref(&end)].concat());
        assert_eq!(after.reported(&id("a1")), None, "{end}");
        assert_eq!(after.calls_at_work().len(), 1, "{end}");
    }
    assert_eq!(ledger(&events).called("t1").map(|attempt| &attempt.id), Some(&id("a1")));
    assert!(ledger(&events).called("t2").is_none());
}

#[test]
fn a_person_who_lets_the_loop_go_on_gives_calls_another_round() {
    let call = of(1, "delegated", &json!({"tool_use_id": "t1"}));
    let events = [opened(1), call.clone(), call];
    assert_eq!(ledger(&events).delegations(&id("a1")), 2);
    let resumed = ledger(&[&events[..], &[json!({"event": "resumed"})]].concat());
    assert_eq!((resumed.delegations(&id("a1")), resumed.calls_at_work().len()), (0, 0));
}

#[test]
fn everything_follows_a_task_that_gets_another_name() {
    let renamed = json!({"event": "plan-changed", "edits": [{"renamed":
        {"from": {"id": "1.1", "title": "a"}, "to": {"id": "2.7", "title": "a"}}}]});
    let tree = [opened(1), launched(1, false), failed(1, &["made"]), opened(2), launched(2, false)];
    let now = ledger(&[&tree[..], &[renamed]].concat());
    let name = TaskKey { id: "2.7".into(), title: "a".into() };
    let attempt = now.open_attempt(&name).unwrap();
    assert_eq!((&attempt.id, attempt.is_called("1.1")), (&id("a2"), true));
    assert!(now.open_attempt(&key("a")).is_none(), "another task may have the old name");
    assert!(now.last_failure(&name).is_some() && now.last_failure(&key("a")).is_none());
    assert_eq!((now.at_work(), now.unsettled().len()), (vec!["2.7"], 1));
    let marked = |id: Option<AttemptId>| {
        let marker = BriefMarker { spec: "x".into(), task: "1.1".into(), attempt: 2, id };
        now.marked(&marker).map(|attempt| attempt.id.clone())
    };
    assert_eq!(marked(None), Some(id("a2")), "its brief was written before");
    assert_eq!(marked(Some(id("a1"))), Some(id("a1")), "an id counts, whatever else is said");
    assert_eq!(marked(Some(id("a9"))), None);
    let dirty = [("made".to_owned(), "1".to_owned())].into();
    assert!(now.baseline(&name, &dirty).is_empty());
    assert!(!now.baseline(&key("a"), &dirty).is_empty());
}

#[test]
fn records_of_format_1_mean_the_newest_attempt_at_their_task() {
    let without_ids = |mut event: Value| {
        event.as_object_mut().unwrap().remove("id");
        event["v"] = json!(1);
        event
    };
    let passed = of(2, "passed", &json!({"to_commit": true}));
    let events = [opened(1), failed(1, &[]), opened(2), launched(2, false), passed];
    let old = ledger(&events.map(without_ids));
    assert_eq!(old.uncommitted().map(|passed| passed.attempt.number), Some(2));
    assert!(old.open_attempts().is_empty() && old.unsettled().is_empty());
}

#[test]
fn a_record_about_an_attempt_nobody_opened_changes_nothing() {
    let strange = ledger(&[
        launched(7, false),
        of(7, "passed", &json!({"to_commit": true})),
        of(7, "integrating", &json!({"paths": ["f"]})),
    ]);
    assert!(strange.uncommitted().is_none() && strange.half_integrated().is_none());
    assert!(strange.unsettled().is_empty() && strange.open_attempts().is_empty());
}

#[test]
fn the_loop_stands_as_its_last_word_says() {
    let started = json!({"event": "started", "tasks": 1, "open": 1});
    let cancelled = json!({"event": "cancelled"});
    let completed = json!({"event": "completed", "tasks": 1});
    for (events, standing) in [
        (vec![], LoopStanding::None),
        (vec![started.clone()], LoopStanding::UnderWay),
        (vec![started.clone(), cancelled], LoopStanding::Cancelled),
        (vec![started.clone(), completed.clone()], LoopStanding::Completed),
        (vec![started.clone(), completed, started], LoopStanding::UnderWay),
    ] {
        assert_eq!(ledger(&events).standing(), standing);
    }
}

#[test]
fn a_coordinator_hears_of_verdicts_but_of_none_of_a_run() {
    let passed = |attempt| of(attempt, "passed", &json!({"output": "long", "changed": ["a"]}));
    let told = |events: &[Value]| ledger(events).untold().to_vec();
    let found = told(&[opened(1), passed(1)]);
    let Entry::Passed { output, changed, .. } = &found[0].entry else { panic!("{found:?}") };
    assert!(output.is_empty() && changed.is_empty(), "nobody tells them");
    let run = json!({"event": "run-started", "agents": []});
    assert!(told(&[run.clone(), opened(1), passed(1)]).is_empty());
    let ended = json!({"event": "run-ended", "outcome": "", "millis": 0});
    assert_eq!(told(&[run.clone(), ended, opened(1), passed(1)]).len(), 1);
    // A run that was killed has said nothing of its end.
    let held = json!({"event": "held", "session": "s"});
    assert_eq!(told(&[run, held, opened(1), passed(1)]).len(), 1);
}

#[test]
fn what_was_done_after_a_verdict_is_told_once_by_the_word_after_it() {
    let late = |file: &str| of(1, "late", &json!({"changed": [file]}));
    let told = json!({"event": "told", "tasks": []});
    let found = |events: &[Value]| {
        let ledger = ledger(&[&[opened(1)], events].concat());
        ledger.late_work().map(|late| late.changed.join(" ")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(found(&[late("a")]), "a");
    assert_eq!(found(&[late("a"), told.clone()]), "a");
    assert_eq!(found(&[late("a"), told.clone(), late("b")]), "a b");
    assert_eq!(found(&[late("a"), told.clone(), late("b"), told.clone()]), "b");
    assert_eq!(found(&[late("a"), told.clone(), late("b"), told.clone(), told]), "");
}

#[test]
fn the_ledger_knows_when_and_how_often() {
    let at = |at: &str, mut event: Value| {
        event["at"] = at.into();
        event
    };
    let events = [
        at("1", json!({"event": "held", "session": "s"})),
        at("2", opened(1)),
        at("3", of(1, "passed", &json!({}))),
        at("4", of(1, "committed", &json!({"commit": "c"}))),
        at("5", json!({"event": "completed", "tasks": 1, "promise": true})),
    ];
    let known: Vec<_> = (0..=events.len())
        .map(|count| {
            let ledger = ledger(&events[..count]);
            let held = (ledger.held_at("s").is_some(), ledger.was_held_by("s"));
            (ledger.last_at().clone(), ledger.results(), held, ledger.has_promised())
        })
        .collect();
    let expected = [
        ("", 0, (false, false), false),
        ("1", 0, (true, true), false),
        ("2", 0, (true, true), false),
        ("3", 1, (true, true), false),
        ("4", 2, (true, true), false),
        ("5", 2, (true, false), true),
    ];
    assert_eq!(known, expected.map(|(at, n, held, is)| (at.into(), n, held, is)));
}

#[test]
fn of_an_attempt_with_a_commit_little_is_kept() {
    let ready = of(1, "ready", &json!({"result": "long", "commit": "c"}));
    let passed = of(1, "passed", &json!({"to_commit": true}));
    let committed = of(1, "committed", &json!({"commit": "d"}));
    let events = [opened(1), launched(1, true), ready, passed, committed];
    let (before, after) = (ledger(&events[..4]), ledger(&events));
    assert!(before.ready(&id("a1")).is_some() && after.ready(&id("a1")).is_none());
    let ground = |ledger: &Ledger| ledger.stories["1.1"].ground.clone();
    assert!(ground(&before) != ground(&after) && ground(&after) == Default::default());
    let settled = after.attempt(&id("a1")).unwrap();
    assert!(settled.block.is_empty() && settled.dirty.is_empty());
    assert_eq!((after.commit_of("1.1"), after.has_verdict(&id("a1"))), (Some(Some("d")), true));
}

#[test]
fn a_cancelled_loop_still_knows_what_was_the_users_before_its_agent_began() {
    let cancelled = json!({"event": "cancelled"});
    let unsettled = ledger(&[opened(1), launched(1, false), cancelled.clone()]).unsettled();
    assert!(unsettled[0].0.dirty.contains_key("mine") && !unsettled[0].0.block.is_empty());
    let settled = ledger(&[opened(1), launched(1, false), failed(1, &[]), cancelled]);
    assert!(settled.attempt(&id("a1")).unwrap().dirty.is_empty());
}

#[test]
fn an_agent_whose_run_could_not_put_its_work_away_is_still_at_work() {
    let ended = json!({"event": "run-ended", "outcome": "no space", "millis": 0});
    let cleared = of(1, "cleared", &json!({}));
    let begun = [opened(1), launched(1, false)];
    let at_work = |rest: &[Value]| ledger(&[&begun, rest].concat()).at_work().len();
    assert_eq!(at_work(std::slice::from_ref(&ended)), 1, "a tick of its is no person's");
    assert_eq!(at_work(&[ended.clone(), cleared.clone()]), 0);
    assert_eq!(at_work(&[cleared, ended]), 0);
}

#[test]
fn a_cancel_before_the_agent_starts_forgets_nothing_of_the_users() {
    let late = ledger(&[opened(1), json!({"event": "cancelled"}), launched(1, false)]);
    let unsettled = late.unsettled();
    let [(attempt, _)] = unsettled.as_slice() else { panic!("{unsettled:?}") };
    assert!(attempt.dirty.contains_key("mine"), "it was there before the agent");
    let settled = ledger(&[opened(1), failed(1, &[]), json!({"event": "cancelled"})]);
    let kept = settled.attempt(&id("a1")).unwrap();
    assert!(kept.dirty.is_empty(), "nobody asks for it any more");
}

#[test]
fn a_note_counts_until_its_task_has_passed_for_good() {
    let note = |text: &str| json!({"event": "noted", "text": text});
    let for_all = json!({"event": "noted", "text": "be brief", "task": null});
    let notes = |events: &[Value]| {
        let ledger = ledger(events);
        ledger.notes_for(&key("a")).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let told = [note("look"), for_all, opened(1), failed(1, &[]), note("again")];
    assert_eq!(notes(&told), ["look", "be brief", "again"], "a failure uses none up");
    let other = TaskKey { id: "9.9".into(), title: "x".into() };
    assert_eq!(ledger(&told).notes_for(&other), ["be brief"]);
    let passed = [&told[..], &[opened(2), of(2, "passed", &json!({}))]].concat();
    assert_eq!(notes(&passed), ["be brief"]);
    let refused = [&passed[..], &[failed(2, &[])]].concat();
    assert_eq!(notes(&refused).len(), 3, "its commit was refused");
    let renamed = json!({"event": "plan-changed", "edits": [{"renamed": {
        "from": {"id": "1.1", "title": "a"}, "to": {"id": "2.1", "title": "a"}}}]});
    let now = TaskKey { id: "2.1".into(), title: "a".into() };
    assert_eq!(ledger(&[note("look"), renamed]).notes_for(&now), ["look"]);
    let withdrawn = json!({"event": "note-withdrawn"});
    assert_eq!(notes(&[&told[..], &[withdrawn]].concat()), ["be brief"]);
    let withdrawn = json!({"event": "note-withdrawn", "task": null});
    assert_eq!(notes(&[&told[..], &[withdrawn]].concat()), ["look", "again"]);
    assert!(notes(&[&told[..], &[json!({"event": "cancelled"})]].concat()).is_empty());
}

#[test]
fn an_attempt_is_unwanted_from_a_retry_or_a_skip_to_its_end() {
    for word in ["retried", "skipped"] {
        let said = json!({"event": word});
        assert_eq!(ledger(std::slice::from_ref(&said)).unwanted(), []);
        let story = [opened(1), launched(1, false), said];
        assert_eq!(ledger(&story).unwanted(), [id("a1")]);
        for end in [of(1, "cleared", &json!({})), failed(1, &[]), of(1, "passed", &json!({}))] {
            let story = [&story[..], &[end]].concat();
            assert_eq!(ledger(&story).unwanted(), [], "{story:?}");
        }
    }
}

#[test]
fn an_attempt_is_once_more_from_a_retry_on() {
    let begun = [opened(1), failed(1, &[]), opened(2)];
    assert!(!ledger(&begun).is_once_more(&id("a2")));
    let story = [&begun[..], &[json!({"event": "retried"}), of(2, "passed", &json!({}))]].concat();
    assert!(ledger(&story).is_once_more(&id("a2")));
    assert!(!ledger(&story).is_once_more(&id("a1")), "that one was over");
    let skipped = [&begun[..], &[json!({"event": "skipped"})]].concat();
    assert!(!ledger(&skipped).is_once_more(&id("a2")));
}
