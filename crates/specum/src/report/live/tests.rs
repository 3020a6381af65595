use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::InMemoryTerm;
use specum_core::agent::{Sign, Usage};
use specum_core::event::Outcome;
use specum_core::tasks::TaskKey;
use specum_core::verify::Proof;

use super::*;

/// A live view on a terminal in memory, with a clock that stands still.
struct Screen {
    term: InMemoryTerm,
    millis: Arc<AtomicU64>,
    live: Box<dyn Reporter>,
}

impl Screen {
    fn new(rows: u16, columns: u16, colours: bool) -> Screen {
        let term = InMemoryTerm::new(rows, columns);
        let millis = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&millis);
        let clock = move || Duration::from_millis(clock.load(Ordering::Relaxed));
        let live = Box::new(Live::new(term.clone(), colours, clock, || false));
        Screen { term, millis, live }
    }

    fn after(&mut self, seconds: u64, events: &[Line]) {
        self.millis.fetch_add(seconds * 1_000, Ordering::Relaxed);
        events.iter().for_each(|event| self.live.line(Stamp::default(), event));
        self.live.tick();
    }

    fn shows(&self) -> String {
        self.term.contents()
    }
}

fn task(id: &str, title: &str) -> TaskKey {
    TaskKey { id: id.into(), title: title.into() }
}

fn begins(id: &str, title: &str) -> Line {
    let agent = Some("claude".into());
    Line::AttemptStarted {
        task: task(id, title),
        attempt: 1,
        place: 1,
        agent,
        log: None,
        since: Duration::ZERO,
    }
}

fn says(id: &str, sign: Sign) -> Line {
    Line::Agent { task: task(id, ""), sign }
}

fn run_starts(total: usize) -> Line {
    let agents = vec!["claude".into(), "codex".into()];
    Line::RunStarted { spec: "calculator".into(), total, done: 1, agents, jobs: 3 }
}

/// A run in the middle of its work.
fn at_work(columns: u16) -> Screen {
    let mut screen = Screen::new(24, columns, false);
    screen.after(
        0,
        &[run_starts(12), begins("1.2", "Add the parser"), begins("1.3", "Write the printer")],
    );
    let usage = Some(Usage { tokens: 48_211, cost: Some(0.31) });
    screen.after(
        95,
        &[
            Line::Passed {
                task: task("1.2", "Add the parser"),
                attempt: 1,
                place: 2,
                commit: Some("abc1234def".into()),
                unverified: false,
                proof: Proof::Check,
                changed_nothing: false,
                outside: Vec::new(),
                proofs: Vec::new(),
                millis: 95_000,
                usage,
            },
            Line::Failed {
                task: task("1.3", "Write the printer"),
                attempt: 1,
                place: 1,
                class: "verify".into(),
                telling: vec!["left: 41".into(), "right: 42".into()],
                reasons: vec![
                    "`cargo test -p printer` ended with code 101".into(),
                    "printer/src/lib.rs is not committed".into(),
                ],
                millis: 94_000,
                usage,
            },
            Line::SetAside {
                task: task("1.4", "Describe both in the manual"),
                attempt: 1,
                place: 1,
                reasons: vec!["README.md was changed by 1.2 too".into()],
            },
            begins("1.3", "Write the printer"),
            begins("1.5", "Read numbers with exponents from the command line and from files"),
            says("1.3", Sign::Text { text: "I look at the test first.\n".into() }),
            says("1.5", Sign::Tool { name: "Bash cargo test --workspace".into() }),
            says("1.5", Sign::Used(Usage { tokens: 1_234_567, cost: Some(1.5) })),
        ],
    );
    screen.after(61, &[]);
    screen
}

#[test]
fn what_runs_has_a_line_and_what_has_ended_stays_above() {
    insta::assert_snapshot!(at_work(80).shows(), @"
    calculator  1 of 12 done  claude, codex  3 at once
    ✓ 1.2 Add the parser  attempt 2  1 min 35 s  abc1234  48.2k tok  $0.31
    ✗ 1.3 Write the printer  attempt 1  1 min 34 s  48.2k tok  $0.31
        `cargo test -p printer` ended with code 101
        printer/src/lib.rs is not committed
        │ left: 41
        │ right: 42
        `specum log 1.3` shows all of it
    ↻ 1.4 Describe both in the manual  set aside  runs again alone
        README.md was changed by 1.2 too
    ⠋ 1.3 Write the printer  claude  I look at the test first.                 1:01
    ⠋ 1.5 Read numbers with exponents fr…  claude  Bash cargo test…  1:01  1.2M tok
    2/12 ━━━━━─────────────────────────  2:36  about 26 min left  1.3M tok  $2.12
    ");
}

#[test]
fn on_forty_columns_nothing_wraps() {
    insta::assert_snapshot!(at_work(40).shows(), @"
    calculator  1 of 12 done  claude, codex
    ✓ 1.2 Add the parser  attempt 2
    ✗ 1.3 Write the printer  attempt 1
        `cargo test -p printer` ended with
        code 101
        printer/src/lib.rs is not committed
        │ left: 41
        │ right: 42
        `specum log 1.3` shows all of it
    ↻ 1.4 Describe both in the…  set aside
        README.md was changed by 1.2 too
    ⠋ 1.3 I look at the test first.    1:01
    ⠋ 1.5 Bash cargo test…   1:01  1.2M tok
    2/12 ━───────  2:36  about 26 min left
    ");
}

#[test]
fn a_wait_is_counted_down_and_is_no_part_of_the_estimate() {
    let mut screen = at_work(80);
    let wait = Line::Waiting {
        agent: "claude".into(),
        why: "5-hour limit reached".into(),
        millis: 3_600_000,
    };
    screen.after(0, &[wait]);
    screen.after(600, &[]);
    let shown = screen.shows();
    assert!(shown.contains("◷ 50:00 until claude may work: 5-hour limit reached"), "{shown}");
    assert!(shown.contains("12:36  about 26 min left"), "{shown}");
    screen.after(1, &[begins("1.6", "Go on")]);
    assert!(!screen.shows().contains("◷"), "{}", screen.shows());
}

#[test]
fn when_the_run_ends_only_what_has_ended_stays() {
    let mut screen = at_work(80);
    let end = Line::RunEnded { outcome: Outcome::Interrupted, done: 2, total: 12, millis: 1 };
    screen.after(1, &[end]);
    let shown = screen.shows();
    assert!(shown.contains("✓ 1.2") && shown.contains("✗ 1.3"), "{shown}");
    assert!(!shown.contains("━") && !shown.contains("cargo test --workspace"), "{shown}");
    let summary = Summary { total: 12, done: 2, ..Summary::default() };
    screen.live.summary("", "calculator", &summary);
    assert!(screen.shows().ends_with("`specum run` starts it"), "{}", screen.shows());
}

#[test]
fn a_small_window_shows_as_many_tasks_as_it_has_room_for() {
    let mut screen = Screen::new(6, 80, false);
    let begin: Vec<Line> = (1..=9).map(|n| begins(&format!("1.{n}"), "A task")).collect();
    screen.after(0, &[run_starts(12)]);
    screen.after(1, &begin);
    let shown = screen.shows();
    assert!(shown.contains("1.3 A task") && !shown.contains("1.4"), "{shown}");
    assert!(shown.contains("and 6 more") && shown.contains("1/12"), "{shown}");
}

#[test]
fn colours_are_there_only_if_wanted() {
    for (colours, found) in [(true, true), (false, false)] {
        let mut screen = Screen::new(24, 80, colours);
        screen.after(0, &[run_starts(3), begins("1.1", "x")]);
        let raw = String::from_utf8(screen.term.contents_formatted()).unwrap();
        assert_eq!(raw.contains("[32m") || raw.contains(";32m"), found, "{raw:?}");
    }
}

#[test]
fn the_rows_of_a_group_stand_in_the_plans_order_and_an_agent_is_starting_until_it_says_something() {
    let mut screen = Screen::new(24, 80, false);
    let group = ["2.10", "V1", "2.9"].map(|id| task(id, "")).to_vec();
    let began_before = Line::AttemptStarted {
        task: task("2.9", "c"),
        attempt: 1,
        place: 1,
        agent: Some("claude".into()),
        log: None,
        since: Duration::from_secs(60),
    };
    screen.after(
        90,
        &[
            run_starts(12),
            Line::GroupStarted { tasks: group },
            began_before,
            begins("V1", "b"),
            begins("2.10", "a"),
            begins("3.10", "e"),
            begins("3.9", "d"),
            says("V1", Sign::Text { text: "I look.".into() }),
        ],
    );
    insta::assert_snapshot!(screen.shows(), @"
    calculator  1 of 12 done  claude, codex  3 at once
    ⠋ 2.10 a  claude  starting                                                 0:00
    ⠋ V1 b  claude  I look.                                                    0:00
    ⠋ 2.9 c  claude  starting                                                  1:00
    ⠋ 3.9 d  claude  starting                                                  0:00
    ⠋ 3.10 e  claude  starting                                                 0:00
    1/12 ━━────────────────────────────  0:00
    ");
}

#[test]
fn nothing_that_an_agent_or_a_title_says_is_obeyed() {
    let mut screen = Screen::new(24, 80, false);
    let evil = "\x1b[2J\x1b[H\x1b]0;owned\x07\u{202e}gone\nbelow\r\x1b[31m";
    let key = || task("9\x1b[1m.1\n", evil);
    screen.after(
        0,
        &[
            run_starts(3),
            Line::Warning { text: evil.into() },
            Line::AttemptStarted {
                task: key(),
                attempt: 1,
                place: 1,
                agent: Some(evil.into()),
                log: None,
                since: Duration::ZERO,
            },
            Line::Agent { task: key(), sign: Sign::Tool { name: evil.repeat(100_000) } },
        ],
    );
    let reasons = vec![evil.repeat(1_000)];
    let class = evil.to_owned();
    let telling = vec![evil.to_owned()];
    let (task, usage) = (key(), None);
    let failed =
        Line::Failed { task, attempt: 1, place: 1, class, reasons, telling, millis: 1, usage };
    let (task, since) = (key(), Duration::ZERO);
    let start = Line::AttemptStarted { task, attempt: 2, place: 2, agent: None, log: None, since };
    screen.after(1, &[failed, start]);
    insta::assert_snapshot!(screen.shows(), @"
    calculator  1 of 3 done  claude, codex  3 at once
    ! gone below
    ✗ 9.1 gone below  attempt 1  0.0 s
        gone below gone below gone below gone below gone below gone below gone
        below gone below gone below gone below gone below gone below gone below
        gone below gone below gone below gone below gone below gone below gone bel…
        │ gone below
        `specum log 9.1` shows all of it
    ⠋ 9.1 gone below                                                           0:00
    1/3 ━━━━━━━━━━────────────────────  0:01
    ");
    assert!(!screen.term.moves_since_last_check().contains('\u{202e}'));
}
