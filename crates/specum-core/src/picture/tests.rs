use serde_json::{Value, json};

use super::*;
use crate::journal;

const PLAN: &str = "# Plan\n\n## Make it work\n\n- [x] 1.1 Keep links\n  - **Verify**: `make`\n- [ ] \
    1.2 Say it\n\n## Make it hold\n\n- [ ] 2.1 Two writers\n- [ ] 2.2 By hand\n";

/// A minute for each record.
fn records(entries: &[Value]) -> Vec<Record> {
    let line = |(at, entry): (usize, &Value)| {
        let mut line = json!({"v": 2, "at": format!("2026-01-01T00:{at:02}:00.000Z")});
        line.as_object_mut().unwrap().extend(entry.as_object().unwrap().clone());
        line.to_string()
    };
    let text: Vec<String> = entries.iter().enumerate().map(line).collect();
    let records = journal::parse(text.join("\n").as_bytes());
    assert_eq!(records.len(), entries.len());
    records
}

fn task(id: &str) -> Value {
    json!({"id": id, "title": "Say it"})
}

fn opened(id: &str, attempt: u64) -> Value {
    json!({"event": "opened", "task": task(id), "attempt": attempt, "block": "", "branch": "main"})
}

fn failed(id: &str, attempt: u64) -> Value {
    json!({"event": "failed", "task": task(id), "attempt": attempt, "class": "verify",
        "reasons": ["`make` ended with code 2"], "output": "boom\n"})
}

fn begun() -> Vec<Value> {
    vec![
        json!({"event": "started", "tasks": 4, "open": 4}),
        json!({"event": "run-started", "agents": ["claude"], "jobs": 1, "caps": {"cost": 20.0}}),
        opened("1.1", 1),
        json!({"event": "passed", "task": task("1.1"), "attempt": 1, "proof": "check"}),
    ]
}

/// A picture eight minutes after the loop began.
fn picture(entries: &[Value], state: Option<Value>, worker: Worker) -> Picture {
    let (file, records) = (TaskFile::scan(PLAN.as_bytes()), records(entries));
    let state = state.map(|mut state| {
        state["phase"] = json!("execution");
        State::parse(state.to_string().as_bytes()).unwrap()
    });
    Picture::of(&Input {
        spec: "links",
        place: "specs/links",
        now: "2026-01-01T00:08:00.000Z".parse().unwrap(),
        records: &records,
        summary: &Summary::of(&records, &file),
        file: &file,
        state: state.as_ref(),
        trouble: None,
        worker,
        has_check: &|task| task.id.as_deref() == Some("1.1"),
    })
}

#[test]
fn what_is_under_way_is_at_work_and_the_rest_comes_next() {
    let mut entries = begun();
    entries.extend([
        opened("1.2", 1),
        json!({"event": "launched", "task": task("1.2"), "attempt": 1, "agent": "claude", "log": "/x.log"}),
        json!({"event": "charged", "task": task("1.2"), "attempt": 1, "agent": "claude",
            "tokens": 128, "cost": 0.5, "millis": 5}),
        json!({"event": "checking", "task": task("1.2"), "attempt": 1, "command": "make test"}),
    ]);
    let state = json!({"budget": {"maxCost": 20.0}});
    let shown = picture(&entries, Some(state), Worker::Run);
    assert_eq!((shown.standing, shown.sentence.as_str()), (Stands::Working, "1 at work"));
    assert_eq!(shown.acts, [Act::PauseAfter, Act::Pause, Act::Cancel]);
    assert_eq!((shown.need.as_ref(), shown.command.as_ref()), (None, None));
    let [work] = &shown.at_work[..] else { panic!("{:?}", shown.at_work) };
    assert_eq!((work.task.as_str(), work.place, work.stage), ("1.2", 1, Stage::Checking));
    assert_eq!(
        (work.agent.as_deref(), work.command.as_deref()),
        (Some("claude"), Some("make test"))
    );
    assert_eq!((work.tokens, work.cost), (Some(128), Some(0.5)));
    assert_eq!(work.since, millis_of(&"2026-01-01T00:04:00.000Z".into()));
    assert_eq!(shown.logs().map(|(_, log)| log).collect::<Vec<_>>(), ["/x.log"]);
    let states = shown.phases.iter().map(|phase| {
        let states = phase.tasks.iter().map(|task| format!("{} {:?}", task.id, task.state));
        format!("{}: {}", phase.title, states.collect::<Vec<_>>().join(", "))
    });
    insta::assert_snapshot!(states.collect::<Vec<_>>().join("\n"), @r"
    Make it work: 1.1 Done, 1.2 Working
    Make it hold: 2.1 Open, 2.2 Open
    ");
    let next: Vec<_> = shown.next.iter().map(|next| (next.id.as_str(), next.has_check)).collect();
    assert_eq!(next, [("2.1", false), ("2.2", false)]);
    // One task has taken seven minutes, and three are open.
    assert_eq!(shown.left, Some(3 * 7 * 60_000));
    assert_eq!((shown.done, shown.total, shown.max_cost), (1, 4, Some(20.0)));
    assert_eq!(shown.branch.as_deref(), Some("main"));
    assert_eq!(shown.just_now.first().unwrap().tone, crate::report::Tone::Good);
}

#[test]
fn what_a_killed_run_has_left_is_not_at_work() {
    let mut entries = begun();
    entries.push(opened("1.2", 1));
    let shown = picture(&entries, Some(json!({})), Worker::Nobody);
    assert_eq!((shown.standing, shown.at_work.len()), (Stands::Left, 0));
    assert_eq!(shown.command.as_deref(), Some("specum run links"));
    assert_eq!((shown.acts, shown.left), (vec![Act::Cancel], None));
}

#[test]
fn a_blocked_loop_says_which_task_failed_how_often_and_why() {
    let mut entries = begun();
    for attempt in 1..=2 {
        entries.extend([opened("1.2", attempt), failed("1.2", attempt)]);
    }
    let state = Some(json!({"blocked": "task 1.2 has used its attempts"}));
    let shown = picture(&entries, state.clone(), Worker::WaitingRun);
    let need = shown.need.unwrap();
    assert_eq!((shown.standing, need.kind), (Stands::NeedsYou, NeedKind::Blocked));
    assert_eq!(
        (need.what.as_str(), need.why.as_str()),
        ("1.2 Say it failed 2 times", "`make` ended with code 2")
    );
    assert_eq!((shown.sentence.as_str(), need.output.as_str()), ("1.2 failed 2 times", "boom"));
    assert_eq!(need.tries.iter().map(|tried| tried.place).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(shown.acts, [Act::Resume, Act::Skip, Act::Cancel]);
    assert_eq!(shown.command, None, "a run waits for the word");
    let alone = picture(&entries, state, Worker::Nobody);
    assert_eq!(alone.command.as_deref(), Some("specum resume links && specum run links"));
}

#[test]
fn whatever_cannot_go_on_without_a_person_needs_one() {
    let ends = |outcome: &str| json!({"event": "run-ended", "outcome": outcome, "why": "the why", "millis": 5});
    for (outcome, kind) in [
        ("capped", NeedKind::Capped),
        ("no-agent", NeedKind::NoAgent),
        ("circuit", NeedKind::Failed),
        ("failed", NeedKind::Failed),
        ("waits", NeedKind::Question),
    ] {
        let mut entries = begun();
        entries.push(ends(outcome));
        let shown = picture(&entries, Some(json!({})), Worker::Nobody);
        let need = shown.need.expect(outcome);
        assert_eq!(
            (shown.standing, need.kind, need.why.as_str()),
            (Stands::NeedsYou, kind, "the why")
        );
        // It has gone on since.
        entries.push(opened("1.2", 1));
        assert_eq!(picture(&entries, Some(json!({})), Worker::Run).need, None, "{outcome}");
    }
    let waits = picture(&begun(), Some(json!({"waitingFor": "Make it hold"})), Worker::WaitingRun);
    assert_eq!(waits.need.unwrap().what, "Make it hold waits for your approval");
    assert_eq!(waits.acts, [Act::Approve, Act::Cancel]);
    let halted = picture(
        &begun(),
        Some(json!({"awaitingApproval": true, "pausedFor": "HEAD moved"})),
        Worker::Nobody,
    );
    assert_eq!(
        halted.need.map(|need| (need.kind, need.why)),
        Some((NeedKind::Halted, "HEAD moved".into()))
    );
}

#[test]
fn a_pause_a_wait_and_an_end_stand_for_themselves() {
    let paused = picture(&begun(), Some(json!({"awaitingApproval": true})), Worker::WaitingRun);
    assert_eq!((paused.standing, paused.acts), (Stands::Paused, vec![Act::Resume, Act::Cancel]));
    let mut entries = begun();
    entries
        .push(json!({"event": "waited", "agent": "claude", "why": "its limit", "millis": 600_000}));
    let waiting = picture(&entries, Some(json!({})), Worker::Run);
    assert_eq!(
        (waiting.standing, waiting.sentence.as_str()),
        (Stands::Waiting, "waits for claude: its limit")
    );
    assert_eq!(
        waiting.waiting.unwrap().until,
        millis_of(&"2026-01-01T00:14:00.000Z".into()).unwrap()
    );
    // Only a run waits.
    assert_eq!(picture(&entries, Some(json!({})), Worker::Nobody).standing, Stands::Left);
    let none = picture(&[], None, Worker::Nobody);
    assert_eq!(
        (none.standing, none.sentence.as_str(), none.acts),
        (Stands::NotBegun, "not begun", vec![])
    );
    entries.push(json!({"event": "cancelled"}));
    let cancelled = picture(&entries, None, Worker::Nobody);
    assert_eq!((cancelled.standing, cancelled.sentence.as_str()), (Stands::NotBegun, "cancelled"));
}

#[test]
fn a_pause_that_was_asked_for_is_not_offered_again() {
    let shown = picture(&begun(), Some(json!({"pauseAfter": "task"})), Worker::Run);
    assert_eq!(shown.acts, [Act::Pause, Act::Cancel]);
}

#[test]
fn texts_of_others_come_harmless_and_bounded() {
    let plan = "- [ ] 1.1 a\u{1b}]2;x\u{7}\u{202e}b sk-ant-REDACTED\n";
    let file = TaskFile::scan(plan.as_bytes());
    let long = "x".repeat(100_000);
    let records = records(&[
        json!({"event": "started", "tasks": 1, "open": 1}),
        json!({"event": "warning", "text": format!("\u{1b}[2J{long}")}),
    ]);
    let shown = Picture::of(&Input {
        spec: "a\nb",
        place: "specs/'a\nb'",
        now: Timestamp::UNIX_EPOCH,
        records: &records,
        summary: &Summary::of(&records, &file),
        file: &file,
        state: None,
        trouble: Some(format!("\u{1b}{long}")),
        worker: Worker::Nobody,
        has_check: &|_| true,
    });
    let text = serde_json::to_string(&shown).unwrap();
    for bad in ["\\u001b", "\u{202e}", "sk-ant-api03", "\\u0007"] {
        assert!(!text.contains(bad), "{bad}: {text}");
    }
    assert!(text.len() < 5_000, "{}", text.len());
    assert_eq!(shown.need.unwrap().kind, NeedKind::Broken);
}

#[test]
fn an_estimate_needs_something_to_go_by() {
    assert_eq!(estimate(60_000, 0, 3), None);
    assert_eq!(estimate(60_000, 2, 3), Some(90_000));
    assert_eq!(estimate(60_000, 2, 0), None);
    assert_eq!(estimate(u64::MAX, 1, 2), None);
}
