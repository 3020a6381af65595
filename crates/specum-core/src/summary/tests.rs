use super::*;
use crate::budget::Caps;
use crate::event::Outcome;
use crate::journal::{self, Changes, StateChange};
use crate::tasks::TaskKey;
use crate::verify::CheckOutcome;

const TASKS: &str = "- [x] 1.1 First\n- [x] 1.2 Second\n- [ ] 1.3 Third\n";

fn key(id: &str) -> TaskKey {
    TaskKey { id: id.into(), title: "A title of its own".into() }
}

/// Records a second apart.
fn records(entries: Vec<Entry>) -> Vec<Record> {
    let at = |n: usize| format!("2026-01-01T00:00:{n:02}Z");
    let record = |(n, entry)| Record::new(at(n).as_str(), entry);
    entries.into_iter().enumerate().map(record).collect()
}

fn started() -> Entry {
    Entry::Started { tasks: 3, open: 3, plan: vec![] }
}

fn opened(id: &str, attempt: u64) -> Entry {
    Entry::Opened {
        task: key(id),
        attempt,
        head: None,
        block: String::new(),
        block_bytes: None,
        dirty: Default::default(),
        left_before: Default::default(),
        open_elsewhere: Default::default(),
        branch: None,
        was: vec![],
    }
}

fn passed(id: &str, attempt: u64, millis: u64) -> Entry {
    Entry::Passed {
        task: key(id),
        attempt,
        unverified: id == "1.2",
        proof: None,
        changed: vec!["a".into(), "b".into()],
        to_commit: true,
        outside: vec!["b".into()],
        proofs: vec!["tests/b".into()],
        unticked: Vec::new(),
        output: "ok".into(),
        check: Some(Box::new(CheckOutcome {
            code: Some(0),
            millis: 20,
            ..CheckOutcome::default()
        })),
        millis,
        isolated: None,
    }
}

fn run_started() -> Entry {
    let (spec, agents) = ("demo".into(), vec!["claude".into()]);
    Entry::RunStarted {
        spec,
        total: 3,
        done: 0,
        agents,
        jobs: 1,
        caps: Caps { cost: Some(20.0), ..Caps::default() },
    }
}

fn failed(id: &str, attempt: u64, reason: &str) -> Entry {
    Entry::Failed {
        task: key(id),
        attempt,
        changed: Vec::new(),
        reasons: vec![reason.into(), "and\nmore".into()],
        class: Some(FailureClass::Verify),
        layers: vec![FailureClass::Verify, FailureClass::NoSignal],
        fixes: Vec::new(),
        unticked: Vec::new(),
        output: "the end".into(),
        check: Some(Box::new(CheckOutcome {
            code: Some(1),
            millis: 30,
            ..CheckOutcome::default()
        })),
        millis: 2_000,
    }
}

fn charged(id: &str, attempt: u64, agent: &str, tokens: u64, cost: Option<f64>) -> Entry {
    Entry::Charged {
        task: key(id),
        attempt,
        agent: agent.into(),
        tokens: Some(tokens),
        cost,
        estimated: cost.is_none(),
        millis: 1_500,
        log: Some(format!("{id}-{attempt}.log")),
    }
}

fn committed(id: &str, commit: &str) -> Entry {
    Entry::Committed { task: key(id), commit: Some(commit.into()), left: Vec::new() }
}

fn summary(entries: Vec<Entry>) -> Summary {
    Summary::of(&records(entries), &TaskFile::scan(TASKS.as_bytes()))
}

#[test]
fn every_attempt_is_told_with_who_worked_it_and_what_came_of_it() {
    let summary = summary(vec![
        started(),
        opened("1.1", 1),
        charged("1.1", 1, "claude", 100, Some(0.5)),
        failed("1.1", 1, "no"),
        opened("1.1", 2),
        charged("1.1", 2, "codex", 50, None),
        passed("1.1", 2, 3_000),
        committed("1.1", "abc"),
        opened("1.3", 1),
    ]);
    let task = summary.task("1.1").unwrap();
    assert_eq!((task.title.as_str(), task.done), ("First", true), "as the file has it");
    assert_eq!(task.agents(), ["claude", "codex"]);
    assert_eq!(task.spent(), Spent { tokens: Some(150), cost: Some(0.5), estimated: true });
    assert_eq!(task.millis(), 5_000, "as the verdicts say");
    let [first, second] = &task.attempts[..] else { panic!("{task:?}") };
    assert_eq!((first.result, first.why().as_str()), (AttemptResult::Failed, "no; and more"));
    assert_eq!((&first.class, first.output.as_str()), (&Some(FailureClass::Verify), "the end"));
    assert_eq!((second.result, second.commit.as_deref()), (AttemptResult::Passed, Some("abc")));
    assert_eq!(second.logs, ["1.1-2.log"]);
    assert_eq!(summary.task("1.3").unwrap().attempts[0].result, AttemptResult::Open);
    assert_eq!((summary.done, summary.total, summary.attempts, summary.commits), (2, 3, 3, 1));
    assert_eq!(summary.outside, [Outside { task: "1.1".into(), files: vec!["b".into()] }]);
    assert_eq!(summary.proofs, [Outside { task: "1.1".into(), files: vec!["tests/b".into()] }]);
    assert_eq!(summary.since, Some("2026-01-01T00:00:00Z".into()));
    assert_eq!(summary.until, Some("2026-01-01T00:00:08Z".into()));
}

#[test]
fn what_an_earlier_loop_did_is_left_out_and_a_second_start_is_not() {
    let loops = |end: Entry| {
        vec![started(), opened("1.1", 1), passed("1.1", 1, 9), end, started(), opened("1.2", 1)]
    };
    for end in [Entry::Cancelled, Entry::Completed { tasks: 3, promise: false }] {
        assert_eq!(summary(loops(end)).attempts, 1);
    }
    assert_eq!(
        summary(loops(Entry::Paused { why: None, branch: None })).attempts,
        2,
        "the same loop, started again"
    );
    let mut over = loops(Entry::Paused { why: None, branch: None });
    over.extend([Entry::Completed { tasks: 3, promise: false }, committed("1.2", "x")]);
    assert_eq!(summary(over).attempts, 2, "a loop that has ended is still the last one");
}

#[test]
fn a_pass_whose_commit_was_refused_is_one_failed_attempt() {
    let summary = summary(vec![
        started(),
        opened("1.2", 1),
        passed("1.2", 1, 2_000),
        failed("1.2", 1, "git"),
    ]);
    let task = summary.task("1.2").unwrap();
    assert_eq!(task.attempts.len(), 1);
    assert_eq!((task.attempts[0].result, task.millis()), (AttemptResult::Failed, 2_000));
    let attempt = &task.attempts[0];
    assert!(
        !attempt.unverified && attempt.outside.is_empty() && attempt.proofs.is_empty(),
        "it proves nothing any more"
    );
    assert!(summary.unverified.is_empty() && summary.outside.is_empty());
}

#[test]
fn an_attempt_that_was_begun_again_is_one_and_another_round_is_another() {
    let again = vec![started(), opened("1.1", 1), opened("1.1", 1)];
    assert_eq!(summary(again).attempts, 1);
    let round = vec![started(), opened("1.1", 1), failed("1.1", 1, "no"), opened("1.1", 1)];
    assert_eq!(summary(round).attempts, 2);
}

#[test]
fn set_aside_kept_waited_and_changed_are_told() {
    let summary = summary(vec![
        started(),
        run_started(),
        opened("1.2", 1),
        charged("1.2", 1, "claude", 7, None),
        Entry::SetAside {
            task: key("1.2"),
            attempt: 1,
            reasons: vec!["conflict".into()],
            unticked: Vec::new(),
            output: String::new(),
            check: None,
        },
        Entry::Kept { task: key("1.2"), attempt: 1, reference: "refs/x".into(), files: 2 },
        Entry::Waited { agent: "claude".into(), why: "limit".into(), millis: 5 },
        Entry::AgentChanged { from: "claude".into(), to: "codex".into(), why: "limit".into() },
        opened("1.2", 2),
        passed("1.2", 2, 1),
    ]);
    let task = summary.task("1.2").unwrap();
    assert_eq!(task.attempts[0].result, AttemptResult::SetAside);
    assert_eq!(task.attempts[0].millis, 1_500, "nobody but the agent has said");
    assert_eq!(summary.kept[0].reference, "refs/x");
    assert_eq!((summary.waits.len(), summary.agent_changes.len()), (1, 1));
    assert_eq!(summary.unverified, ["1.2"]);
}

#[test]
fn the_loop_stands_as_the_last_word_about_it_says() {
    let ended = |outcome| Entry::RunEnded { outcome, done: 0, total: 3, millis: 1 };
    let limit = || ended(Outcome::Capped { why: "time".into() });
    let run = run_started;
    let stands = |entries: Vec<Entry>| summary(entries).standing;
    assert_eq!(stands(vec![]), Standing::NotStarted);
    assert_eq!(stands(vec![started()]), Standing::UnderWay);
    let capped = Standing::Stopped { why: "a limit is reached: time".into() };
    assert_eq!(stands(vec![started(), run(), limit()]), capped);
    assert_eq!(stands(vec![started(), run(), limit(), opened("1.1", 1)]), Standing::UnderWay);
    assert_eq!(
        stands(vec![
            started(),
            run(),
            Entry::Paused { why: None, branch: None },
            ended(Outcome::Paused)
        ]),
        Standing::Paused { why: None }
    );
    let why = Some("HEAD is elsewhere".to_owned());
    let paused = Entry::Paused { why: why.clone(), branch: None };
    assert_eq!(
        stands(vec![started(), run(), paused, ended(Outcome::Paused)]),
        Standing::Paused { why }
    );
    assert_eq!(
        stands(vec![started(), Entry::Paused { why: None, branch: None }, Entry::Resumed]),
        Standing::UnderWay
    );
    assert_eq!(stands(vec![started(), Entry::Cancelled]), Standing::Cancelled);
    let complete = vec![
        started(),
        run(),
        Entry::Completed { tasks: 3, promise: false },
        ended(Outcome::Complete),
    ];
    assert_eq!(stands(complete), Standing::Complete);
}

#[test]
fn a_blocked_loop_says_why_until_it_is_resumed() {
    let mut all = records(vec![
        started(),
        failed("1.1", 5, "no"),
        Entry::RunEnded {
            outcome: Outcome::Blocked { why: "1.1 failed 5 times".into() },
            done: 0,
            total: 3,
            millis: 1,
        },
    ]);
    let state = serde_json::json!({"blocked": "1.1 failed 5 times"});
    let write = StateChange::Write(state.as_object().unwrap().clone());
    all[1].changes = Some(Changes { state: write, ..Changes::default() });
    let file = TaskFile::scan(TASKS.as_bytes());
    let blocked = Standing::Blocked { why: "1.1 failed 5 times".into() };
    assert_eq!(Summary::of(&all, &file).standing, blocked);
    all.extend(records(vec![Entry::Resumed]));
    assert_eq!(Summary::of(&all, &file).standing, Standing::UnderWay);
}

#[test]
fn tasks_that_moved_are_found_and_tasks_that_went_are_kept_at_the_end() {
    let key = |id: &str, title: &str| TaskKey { id: id.into(), title: title.into() };
    let open = |of: TaskKey| {
        let mut entry = opened("", 1);
        if let Entry::Opened { task, .. } = &mut entry {
            *task = of;
        }
        entry
    };
    let all = records(vec![
        started(),
        open(key("no.1", "b")),
        open(key("no.9", "gone")),
        failed("no.9", 1, "the id is enough"),
    ]);
    let summary = Summary::of(&all, &TaskFile::scan(b"- [ ] new\n- [ ] b\n"));
    assert_eq!(summary.tasks.len(), 3);
    assert_eq!(summary.tasks[0].attempts.len(), 0);
    assert_eq!(summary.tasks[1].attempts.len(), 1);
    assert_eq!((summary.tasks[2].title.as_str(), summary.tasks[2].attempts.len()), ("gone", 1));
}

#[test]
fn a_summary_is_plain_json() {
    let summary = summary(vec![started(), opened("1.1", 1), passed("1.1", 1, 5)]);
    let json = serde_json::to_value(&summary).unwrap();
    assert_eq!(json["standing"], "under-way");
    assert_eq!(json["tasks"][0]["attempts"][0]["result"], "passed");
    assert_eq!((json["tokens"].is_null(), json["estimated"].as_bool()), (true, Some(false)));
}

proptest::proptest! {
    #[test]
    fn any_journal_and_any_file_have_a_summary(
        lines in proptest::collection::vec(
            r#"\{"v":1,"at":"","event":"(started|opened|passed|failed|charged|committed|set-aside|kept|completed)","tasks":1,"open":1,"task":\{"id":"(1\.[1-4]|#[1-3]|)","title":"[ab]"\},"attempt":[0-3],"block":"","reasons":\["x"\],"agent":"a","millis":18446744073709551615,"commit":"c","reference":"r"\}"#,
            0..20,
        ),
        tasks in "(- \\[[ x]\\] (1\\.[1-3] )?[ab]\n){0,4}",
    ) {
        let records = journal::parse(lines.join("\n").as_bytes());
        proptest::prop_assert_eq!(records.len(), lines.len());
        let file = TaskFile::scan(tasks.as_bytes());
        let summary = Summary::of(&records, &file);
        proptest::prop_assert!(summary.tasks.len() >= file.tasks.len());
        proptest::prop_assert_eq!(summary.total, file.tasks.len());
    }
}

#[test]
fn an_attempt_has_its_moments_and_how_its_check_ended() {
    let launched = Entry::Launched {
        task: key("1.1"),
        attempt: 1,
        agent: "claude".into(),
        beside: false,
        isolated: false,
        log: None,
    };
    let checking = Entry::Checking {
        task: key("1.1"),
        attempt: 1,
        command: Some("make".into()),
        integrated: false,
    };
    let summary = summary(vec![
        started(),
        run_started(),
        opened("1.1", 1),
        launched.clone(),
        charged("1.1", 1, "claude", 1, None),
        launched,
        charged("1.1", 1, "claude", 1, None),
        checking,
        failed("1.1", 1, "no"),
        opened("1.1", 1),
        passed("1.1", 1, 0),
        committed("1.1", "abc"),
    ]);
    let at = |second: u64| Moment::from(format!("2026-01-01T00:00:{second:02}Z").as_str());
    let start = |from, to| AgentStart { launched: at(from), ended: Some(at(to)) };
    let attempts = &summary.task("1.1").unwrap().attempts;
    let [first, second] = attempts.as_slice() else { panic!("{attempts:?}") };
    assert_eq!(first.starts, [start(3, 4), start(5, 6)]);
    assert_eq!((&first.began, &first.judged), (&at(2), &Some(at(8))));
    assert_eq!(first.command.as_deref(), Some("make"));
    assert_eq!(first.check.as_ref().and_then(|check| check.code), Some(1));
    assert_eq!(first.layers, [FailureClass::Verify, FailureClass::NoSignal]);
    assert_eq!((&second.judged, &second.committed), (&Some(at(10)), &Some(at(11))));
    assert_eq!((second.starts.len(), second.check.as_ref().unwrap().millis), (0, 20));
    assert_eq!((summary.jobs, summary.caps.cost), (1, Some(20.0)));
}
