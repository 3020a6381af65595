//! docs/run-events.md: every event and each of its fields, with a real line.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use specum::report::json::event_line;
use specum::report::lines::{Line, Stamp};
use specum_core::agent::{Sign, Usage};
use specum_core::event::{Outcome, RunId};
use specum_core::summary::Summary;
use specum_core::tasks::TaskKey;
use specum_core::verify::{FailureClass, Proof};

use super::{document, is_up_to_date};

/// An event of every kind, with everything in it that can be.
fn every_event() -> Vec<Line> {
    let task = || TaskKey { id: "1.2".into(), title: "Add the parser".into() };
    let agent = |sign| Line::Agent { task: task(), sign };
    let usage = Some(Usage { tokens: 48_211, cost: Some(0.31) });
    vec![
        Line::RunStarted {
            spec: "calculator".into(),
            total: 12,
            done: 1,
            agents: vec!["claude".into(), "codex".into()],
            jobs: 2,
        },
        Line::GroupStarted {
            tasks: vec![task(), TaskKey { id: "1.3".into(), title: "Write the printer".into() }],
        },
        Line::AttemptStarted {
            task: task(),
            attempt: 1,
            place: 1,
            agent: Some("claude".into()),
            log: Some(
                "/home/me/.local/state/specum/logs/calculator-1f2e3d4c5b6a7980/1.2-1.log".into(),
            ),
            since: Duration::ZERO,
        },
        agent(Sign::Text { text: "I look at the grammar first.".into() }),
        agent(Sign::Tool { name: "Bash cargo test".into() }),
        agent(Sign::ToolEnded),
        agent(Sign::Used(Usage { tokens: 20_100, cost: Some(0.12) })),
        agent(Sign::Retrying { why: "overloaded".into() }),
        Line::Checking {
            task: task(),
            command: Some("cargo test -p parser".into()),
            integrated: false,
        },
        Line::Passed {
            task: task(),
            attempt: 2,
            place: 2,
            commit: Some("8c1f0d2b7a9e4c55d0e3b1a2f4c6d8e0a1b2c3d4".into()),
            unverified: false,
            proof: Proof::Check,
            changed_nothing: false,
            outside: vec!["Cargo.lock".into()],
            proofs: vec!["tests/parser.rs".into()],
            millis: 95_000,
            usage,
        },
        Line::Failed {
            task: task(),
            attempt: 1,
            place: 1,
            class: "verify".into(),
            reasons: vec!["`cargo test -p parser` ended with code 101".into()],
            telling: vec!["left: 41".into(), "right: 42".into()],
            millis: 34_000,
            usage,
        },
        Line::SetAside {
            task: task(),
            attempt: 1,
            place: 1,
            reasons: vec!["Cargo.toml was changed by 1.3 too".into()],
        },
        Line::Waits {
            task: task(),
            attempt: 1,
            place: 1,
            question: "the check of 1.2 was changed while 1.1 was being worked on: `a` → `b`; \
                       `specum accept 1.2` takes the new one"
                .into(),
            kept: Some("refs/specum/demo/kept/1.2-1".into()),
        },
        Line::FixAdded { task: task(), fix: "1.2.1".into() },
        Line::TaskAdded { task: task(), added: "1.2.1".into() },
        Line::Waiting {
            agent: "claude".into(),
            why: "5-hour limit reached".into(),
            millis: 3_600_000,
        },
        Line::AgentChanged {
            from: "claude".into(),
            to: "codex".into(),
            why: "5-hour limit reached".into(),
        },
        Line::Document {
            document: "requirements".into(),
            standing: "wrong",
            findings: vec!["requirements.md:41 id-dangling: FR-4 names AC-9".into()],
        },
        Line::Warning { text: "1.4 has no Verify command".into() },
        Line::RunEnded {
            outcome: Outcome::Blocked { why: "1.2 failed 5 times".into() },
            done: 4,
            total: 12,
            millis: 5_400_000,
        },
    ]
}

/// The heading an event is documented under. Whoever adds an event is sent here
/// by the compiler, and adds it to `every_event` and to the page.
fn heading(event: &Line) -> &'static str {
    match event {
        Line::RunStarted { .. } => "run-started",
        Line::GroupStarted { .. } => "group-started",
        Line::AttemptStarted { .. } => "attempt-started",
        Line::Agent { sign, .. } => match sign {
            Sign::Text { .. } => "agent: text",
            Sign::Tool { .. } => "agent: tool",
            Sign::ToolEnded => "agent: toolEnded",
            Sign::Used(_) => "agent: used",
            Sign::Retrying { .. } => "agent: retrying",
        },
        Line::Checking { .. } => "checking",
        Line::Passed { .. } => "passed",
        Line::Failed { .. } => "failed",
        Line::SetAside { .. } => "set-aside",
        Line::Waits { .. } => "waits",
        Line::FixAdded { .. } => "fix-added",
        Line::TaskAdded { .. } => "task-added",
        Line::Waiting { .. } => "waiting",
        Line::AgentChanged { .. } => "agent-changed",
        Line::Document { .. } => "document",
        Line::Warning { .. } => "warning",
        Line::RunEnded { .. } => "run-ended",
    }
}

/// An outcome of every kind.
fn every_outcome() -> [Outcome; 13] {
    let why = || "x".to_owned();
    [
        Outcome::Complete,
        Outcome::Planned,
        Outcome::ChosenDone { skipped: 0 },
        Outcome::Paused,
        Outcome::Waits { why: why() },
        Outcome::Cancelled,
        Outcome::TakenOver,
        Outcome::Blocked { why: why() },
        Outcome::Capped { why: why() },
        Outcome::NoAgent { why: why() },
        Outcome::Circuit { why: why() },
        Outcome::Failed { why: why() },
        Outcome::Interrupted,
    ]
}

/// Every class of a failure. Whoever adds one is sent here by the compiler.
fn every_class() -> BTreeSet<String> {
    use FailureClass::{
        Authentication, ContextOverflow, Contradiction, Crash, Idle, Missing, NoSignal, Other,
        OverBudget, RateLimit, Server, Timeout, Uncommitted, Verify,
    };
    let word = |class: FailureClass| match class {
        Contradiction | Uncommitted | NoSignal | Verify | Missing | Authentication | RateLimit
        | ContextOverflow | Server | Crash | Idle | Timeout | OverBudget => class.to_string(),
        Other(word) => word,
    };
    let layers = [Contradiction, Uncommitted, NoSignal, Verify];
    let troubles = [
        Missing,
        Authentication,
        RateLimit,
        ContextOverflow,
        Server,
        Crash,
        Idle,
        Timeout,
        OverBudget,
    ];
    layers.into_iter().chain(troubles).map(word).collect()
}

/// A page in which the block of JSON below a heading is replaced.
fn with_example(page: &str, heading: &str, example: &str) -> String {
    let begin = format!("\n## {heading}\n");
    let (before, behind) =
        page.split_once(&begin).unwrap_or_else(|| panic!("`{heading}` is not documented"));
    let (words, block) = behind.split_once("```json\n").unwrap();
    assert!(!words.contains("\n## "), "{heading} has no example");
    let (_, rest) = block.split_once("```\n").unwrap();
    format!("{before}{begin}{words}```json\n{example}```\n{rest}")
}

/// What the page says about a heading.
fn section<'p>(page: &'p str, heading: &str) -> &'p str {
    let (_, behind) = page.split_once(&format!("\n## {heading}\n")).unwrap();
    behind.split("\n## ").next().unwrap()
}

#[test]
fn every_event_of_a_run_is_documented_with_all_its_fields_and_a_real_line() {
    const PAGE: &str = "docs/run-events.md";
    let written = document(PAGE);
    let mut page = written.clone();
    let run = RunId::new(1_767_233_000_000_000, 4711, 0);
    for (seq, event) in (41..).zip(every_event()) {
        let is_recorded = !matches!(event, Line::Agent { .. });
        let (at, seq) = ("2026-01-01T02:03:04.567Z", is_recorded.then_some(seq));
        let example = event_line(Stamp { at, seq, run: Some(&run) }, &event);
        page = with_example(&page, heading(&event), &example);
        let line: Value = serde_json::from_str(&example).unwrap();
        let common = ["at", "seq", "run", "event"];
        let fields = line.as_object().unwrap().keys();
        for field in fields.filter(|field| !common.contains(&field.as_str())) {
            let told = section(&page, heading(&event)).contains(&format!("| `{field}` |"));
            assert!(told, "`{field}` of {} is not documented", heading(&event));
        }
    }
    for outcome in every_outcome() {
        let line = serde_json::to_value(&outcome).unwrap();
        let name = line["outcome"].as_str().unwrap();
        assert!(section(&page, "run-ended").contains(&format!("| `{name}` |")), "{name}");
    }
    let listed = section(&page, "failed").lines().find(|line| line.starts_with("| `class` |"));
    let listed = listed.unwrap().split('`').skip(3).step_by(2).map(str::to_owned).collect();
    assert_eq!(every_class(), listed, "the classes of a failure");
    for field in serde_json::to_value(Summary::default()).unwrap().as_object().unwrap().keys() {
        assert!(section(&page, "summary").contains(&format!("| `{field}` |")), "{field}");
    }
    is_up_to_date(PAGE, &page);
}
