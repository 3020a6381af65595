use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::journal::{self, Record};
use crate::patch::{self, Patch};
use crate::summary::Summary;
use crate::tasks::TaskFile;

const PLAN: &str = "# Plan\n\n## Make it work\n\n- [x] 1.1 Keep links\n  - **Do**: a table\n  \
    - **Files**: store.py\n  - **Verify**: `make`\n  - _Requirements: FR-1_\n- [x] 1.2 Say it\n  \
    - **Verify**: it reads well\n\n## Make it hold\n\n- [ ] 2.1 Two writers\n- [x] 2.2 By hand\n";

fn records(entries: &[Value]) -> Vec<Record> {
    let line = |(at, entry): (usize, &Value)| {
        let mut line =
            json!({"v": 2, "at": format!("2026-01-01T0{}:{:02}:00.000Z", at / 60, at % 60)});
        line.as_object_mut().unwrap().extend(entry.as_object().unwrap().clone());
        line.to_string()
    };
    let text: Vec<String> = entries.iter().enumerate().map(line).collect();
    let records = journal::parse(text.join("\n").as_bytes());
    assert_eq!(records.len(), entries.len());
    records
}

fn task(id: &str) -> Value {
    json!({"id": id, "title": "t"})
}

fn loop_of_two() -> Vec<Record> {
    let (one, two, three) = (task("1.1"), task("1.2"), task("2.1"));
    let charged = |task: &Value, attempt: u64, cost: f64| {
        json!({"event": "charged", "task": task, "attempt": attempt, "agent": "claude",
            "tokens": 1000, "cost": cost, "millis": 60_000, "log": "x.log"})
    };
    records(&[
        json!({"event": "started", "tasks": 4, "open": 4}),
        json!({"event": "run-started", "agents": ["claude"], "jobs": 2, "caps": {"cost": 20.0}}),
        json!({"event": "opened", "task": one, "attempt": 1, "block": "", "branch": "main"}),
        json!({"event": "launched", "task": one, "attempt": 1, "agent": "claude"}),
        charged(&one, 1, 0.25),
        json!({"event": "failed", "task": one, "attempt": 1, "reasons": ["`make` ended with code 1"],
            "class": "verify", "layers": ["verify"], "output": "boom", "check": {"code": 1, "millis": 1500}}),
        json!({"event": "opened", "task": one, "attempt": 2, "block": ""}),
        json!({"event": "launched", "task": one, "attempt": 2, "agent": "claude"}),
        charged(&one, 2, 0.5),
        json!({"event": "checking", "task": one, "attempt": 2, "command": "make"}),
        json!({"event": "passed", "task": one, "attempt": 2, "proof": "check", "outside": ["b.py"],
            "output": "ok", "check": {"code": 0, "millis": 2000}, "millis": 5}),
        json!({"event": "committed", "task": one, "commit": "aa11"}),
        json!({"event": "opened", "task": two, "attempt": 1, "block": ""}),
        json!({"event": "passed", "task": two, "attempt": 1, "proof": "none", "unverified": true}),
        json!({"event": "waited", "agent": "claude", "why": "limit", "millis": 120_000}),
        json!({"event": "ticked", "task": task("2.2")}),
        json!({"event": "noted", "task": three, "text": "look at the lock", "by": "person"}),
        json!({"event": "opened", "task": three, "attempt": 1, "block": ""}),
        json!({"event": "failed", "task": three, "attempt": 1, "reasons": ["no"]}),
        json!({"event": "run-ended", "outcome": "blocked", "why": "2.1 failed", "millis": 5}),
    ])
}

fn patches() -> HashMap<String, Patch> {
    patch::by_commit(
        b"\0aa11\0feat: links\n\ndiff --git a/store.py b/store.py\n@@ -0,0 +1,2 @@\n+a\n+b\n",
    )
}

fn report(records: &[Record], veil: Veil) -> Report {
    let file = TaskFile::scan(PLAN.as_bytes());
    let summary = Summary::of(records, &file);
    let said = vec![Said::Words("I begin.".into()), Said::Tool("Bash make".into())];
    Report::of(Input {
        spec: "links",
        place: "specs/links",
        version: "1.0.0",
        now: Timestamp::from_millisecond(1_800_000_000_000).unwrap(),
        is_worked_on: false,
        records,
        summary: &summary,
        file: &file,
        check: &|task| (task.id.as_deref() == Some("1.1")).then(|| "make".to_owned()),
        progress: b"## Learnings\n\n- the store is slow\n",
        patches: patches(),
        words: HashMap::from([(("1.1".to_owned(), 2), said)]),
        requirements: Vec::new(),
        veil,
    })
}

fn plain(pieces: &[Piece]) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) | Piece::Code(text) | Piece::Task(text) => text.clone(),
    };
    pieces.iter().map(piece).collect()
}

#[test]
fn a_loop_is_told_with_its_sums_its_phases_and_how_it_stands() {
    let report = report(&loop_of_two(), Veil::default());
    assert_eq!((report.standing, report.why.as_str()), (Stands::Stopped, "blocked: 2.1 failed"));
    let totals = &report.totals;
    assert_eq!((totals.done, totals.tasks, totals.attempts), (3, 4, 4));
    assert_eq!((totals.passed, totals.failed, totals.again, totals.unproved), (2, 2, 1, 2));
    assert_eq!((totals.lost.cost, totals.cap), (Some(0.25), Some(20.0)));
    assert_eq!(totals.agents[0].spent.tokens, Some(2000));
    assert_eq!(report.phases, ["Make it work", "Make it hold"]);
    assert_eq!(report.tasks.iter().map(|task| task.phase).collect::<Vec<_>>(), [0, 0, 1, 1]);
    assert_eq!(report.commits, Some(("aa11".into(), "aa11".into())));
    assert_eq!(
        (report.learned.as_str(), report.branch.as_deref()),
        ("- the store is slow", Some("main"))
    );
}

#[test]
fn a_task_is_told_with_what_was_asked_what_happened_and_why_it_counts() {
    let report = report(&loop_of_two(), Veil::default());
    let task = report.task("1.1").unwrap();
    assert_eq!((task.state, task.marks.as_slice()), (TaskStands::Done, &[Mark::Outside][..]));
    let asked: Vec<(&str, &str)> =
        task.asked.iter().map(|one| (one.name.as_str(), one.text.as_str())).collect();
    let expected =
        [("Do", "a table"), ("Files", "store.py"), ("Verify", "make"), ("Requirements", "FR-1")];
    assert_eq!(asked, expected);
    let [first, second] = &task.attempts[..] else { panic!("{task:?}") };
    assert_eq!((first.place, first.result), (1, AttemptResult::Failed));
    assert_eq!(first.check.as_deref(), Some("ended with 1, after 1.5 s"));
    assert_eq!((second.place, second.words.len()), (2, 2));
    let evidence: Vec<String> = task.evidence.iter().map(|one| plain(&one.what)).collect();
    assert_eq!(
        evidence,
        [
            "make succeeded, after 2.0 s, run by specum",
            "its agent said that it is done, and nothing to the contrary",
            "everything is committed"
        ]
    );
    assert_eq!(task.commits[0].subject, "feat: links");
    assert_eq!(task.changes.unwrap().added, 2);
    assert_eq!(task.millis, 8 * 60_000);
    let unproved = report.task("1.2").unwrap();
    assert_eq!(unproved.marks, [Mark::Unproved]);
    assert!(unproved.evidence.iter().any(|one| !one.is_good));
    let failed = report.task("2.1").unwrap();
    assert_eq!(
        (failed.state, failed.notes.as_slice()),
        (TaskStands::Failed, &["look at the lock".to_owned()][..])
    );
    assert_eq!(report.task("2.2").unwrap().marks, [Mark::ByPerson]);
}

#[test]
fn what_to_look_at_first_is_what_holds_up_the_loop_and_then_what_nobody_proved() {
    let report = report(&loop_of_two(), Veil::default());
    let order: Vec<&str> =
        report.look.iter().map(|look| report.tasks[look.task].id.as_str()).collect();
    assert_eq!(order, ["2.1", "1.2", "2.2", "1.1"]);
}

#[test]
fn the_story_has_a_line_for_whatever_a_person_wants_to_know() {
    let report = report(&loop_of_two(), Veil::default());
    let lines: Vec<String> =
        report.story.iter().map(|told| format!("{} | {}", plain(&told.what), told.why)).collect();
    assert_eq!(
        lines,
        [
            "begun with 4 open | ",
            "a run started with claude | ",
            "1.1 failed | `make` ended with code 1",
            "1.1 passed | ",
            "1.2 passed | ",
            "waited for claude | limit",
            "2.2 ticked without a check | ",
            "2.1 noted, by a person | look at the lock",
            "2.1 failed | no",
            "the run ended | blocked: 2.1 failed",
        ]
    );
}

/// Every text of a value.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(fields) => fields.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

/// A value with something behind every text of it.
fn poisoned(value: &Value, poison: &str) -> Value {
    match value {
        Value::String(text) => Value::String(format!("{text}{poison}")),
        Value::Array(items) => items.iter().map(|item| poisoned(item, poison)).collect(),
        Value::Object(fields) => {
            // What kind of record it is, and when, decides how it is read.
            let kept = ["event", "at", "class", "layers", "proof", "by", "outcome", "id"];
            let one = |(name, value): (&String, &Value)| match kept.contains(&name.as_str()) {
                true => (name.clone(), value.clone()),
                false => (name.clone(), poisoned(value, poison)),
            };
            Value::Object(fields.iter().map(one).collect())
        }
        other => other.clone(),
    }
}

#[test]
fn no_text_of_a_journal_brings_a_key_or_a_control_character_into_a_report() {
    let key = format!("sk-ant-{}", "x1".repeat(20));
    let poison = format!(" {key} \x1b[31m\u{202e}\0");
    let mut records: Vec<Value> =
        loop_of_two().iter().map(|record| serde_json::to_value(record).unwrap()).collect();
    records.iter_mut().for_each(|record| *record = poisoned(record, &poison));
    let lines: Vec<String> = records.iter().map(Value::to_string).collect();
    let report = report(&journal::parse(lines.join("\n").as_bytes()), Veil::default());
    let mut found = Vec::new();
    texts(&serde_json::to_value(&report).unwrap(), &mut found);
    assert!(found.iter().any(|text| text.contains("sk-ant-█")), "the key was somewhere");
    for text in found {
        assert!(!text.contains(&key), "{text}");
        let is_hidden = |c: char| crate::sanitize::is_hidden(c) && !matches!(c, '\n' | '\t');
        assert!(!text.contains(is_hidden), "{text:?}");
    }
}

#[test]
fn nothing_at_all_gives_a_report_too() {
    let file = TaskFile::scan(b"");
    let summary = Summary::default();
    let report = Report::of(Input {
        spec: "",
        place: "",
        version: "",
        now: Timestamp::UNIX_EPOCH,
        is_worked_on: true,
        records: &[],
        summary: &summary,
        file: &file,
        check: &|_| None,
        progress: b"",
        patches: HashMap::new(),
        words: HashMap::new(),
        requirements: Vec::new(),
        veil: Veil::default(),
    });
    assert_eq!((report.tasks.len(), report.standing), (0, Stands::NotStarted));
}
