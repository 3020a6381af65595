use jiff::Timestamp;
use specum_core::journal;
use specum_core::tasks::TaskFile;

use super::*;

const TASKS: &str = "- [x] 1.1 Make the project\n- [x] 1.2 Add the parser\n- [x] 1.3 Write the printer\n- [ ] 1.4 Read numbers with exponents from the command line and from files\n- [ ] 1.5 Write the manual\n- [ ] 1.6 Release\n";

/// A night's work.
fn records() -> String {
    let mut seconds = 0;
    let mut text = String::new();
    let mut tell = |after: i64, entry: &str| {
        seconds += after;
        let at = Timestamp::from_second(1_760_000_000 + seconds).unwrap();
        text.push_str(&format!("{{\"v\":1,\"at\":\"{at}\",{entry}}}\n"));
    };
    let open = |id: &str, attempt: u64| {
        format!(
            r#""event":"opened","task":{{"id":"{id}","title":""}},"attempt":{attempt},"block":"""#
        )
    };
    let charge = |id: &str, attempt: u64, agent: &str, tokens: u64, rest: &str| {
        format!(
            r#""event":"charged","task":{{"id":"{id}","title":""}},"attempt":{attempt},"agent":"{agent}","tokens":{tokens},"millis":1000{rest}"#
        )
    };
    tell(0, r#""event":"started","tasks":6,"open":5"#);
    tell(1, r#""event":"run-started","agents":["claude","codex"]"#);
    tell(1, &open("1.2", 1));
    tell(95, &charge("1.2", 1, "claude", 48_211, r#","cost":0.31"#));
    tell(5, r#""event":"passed","task":{"id":"1.2","title":""},"attempt":1,"millis":100000"#);
    tell(1, r#""event":"committed","task":{"id":"1.2","title":""},"commit":"abc1234def""#);
    tell(1, &open("1.3", 1));
    tell(90, &charge("1.3", 1, "claude", 1_200_000, r#","cost":4.5"#));
    tell(
        4,
        r#""event":"failed","task":{"id":"1.3","title":""},"attempt":1,"reasons":["`cargo test -p printer` ended with code 101","the tree has changes that are not committed: printer/src/lib.rs"],"class":"verify","output":"running 1 test\n\nthread 'prints' panicked at src/lib.rs:7:9:\n  left: 41\n right: 42\n","millis":94000"#,
    );
    tell(
        1,
        r#""event":"kept","task":{"id":"1.3","title":""},"attempt":1,"reference":"refs/specum/calculator/1.3-1""#,
    );
    tell(1, r#""event":"waited","agent":"claude","why":"5-hour limit reached","millis":3600000"#);
    tell(
        3_600,
        r#""event":"agent-changed","from":"claude","to":"codex","why":"5-hour limit reached""#,
    );
    tell(1, &open("1.3", 2));
    tell(30, &charge("1.3", 2, "codex", 90_000, r#","estimated":true"#));
    tell(
        2,
        r#""event":"passed","task":{"id":"1.3","title":""},"attempt":2,"unverified":true,"outside":["README.md","Cargo.toml"],"millis":32000"#,
    );
    tell(1, r#""event":"committed","task":{"id":"1.3","title":""},"commit":"fedcba9876""#);
    tell(1, &open("1.4", 1));
    tell(10, &charge("1.4", 1, "codex", 9_000, ""));
    tell(
        1,
        r#""event":"set-aside","task":{"id":"1.4","title":""},"attempt":1,"reasons":["Cargo.toml was changed by 1.3 too"]"#,
    );
    tell(1, &open("1.4", 2));
    tell(
        20,
        r#""event":"failed","task":{"id":"1.4","title":""},"attempt":2,"reasons":["the agent was silent for 300 seconds"],"class":"idle","millis":312000,"changes":{"state":{"write":{"phase":"execution","blocked":"1.4 failed 5 times: the agent was silent for 300 seconds"}}}"#,
    );
    tell(1, r#""event":"run-ended","outcome":"blocked: 1.4","millis":4000000"#);
    text
}

fn shown(width: u16) -> String {
    let records = journal::parse(records().as_bytes());
    assert_eq!(records.len(), 22);
    let summary = Summary::of(&records, &TaskFile::scan(TASKS.as_bytes()));
    render("calculator", &summary, Layout::of(Some(width), false))
}

#[test]
fn a_night_is_told_in_the_morning() {
    insta::assert_snapshot!(shown(101), @"
    calculator  blocked  3 of 6 tasks done; 1 had no check
      1.4 failed 5 times: the agent was silent for 300 seconds
      `specum log 1.4` shows what happened; fix it, then `specum resume` gives the task another round

    ✓ 1.2 Add the parser                             1 min 40 s                          abc1234   $0.31
    ✓ 1.3 Write the printer                           2 min 6 s  unverified  2 attempts  fedcba9  ~$4.50
    ✗ 1.4 Read numbers with exponents from the com…  5 min 13 s              2 attempts
    ✓ 1 ticked before this loop began
    · 2 not begun, the first is 1.5 Write the manual

    1.3 Write the printer
      attempt 1  failed  1 min 34 s  claude  1.2M tokens  $4.50
        `cargo test -p printer` ended with code 101
        the tree has changes that are not committed: printer/src/lib.rs
        │ thread 'prints' panicked at src/lib.rs:7:9:
        │ left: 41
        │ right: 42
      attempt 2  passed, unverified  32 s  codex  fedcba9  ~90.0k tokens
        what attempt 1 left is kept: refs/specum/calculator/1.3-1

    1.4 Read numbers with exponents from the command line and from files
      attempt 1  set aside  1.0 s  codex  9.0k tokens
        Cargo.toml was changed by 1.3 too
      attempt 2  failed  5 min 12 s
        the agent was silent for 300 seconds

    attempts    5, 2 commits
    time        1 h 4 min (agents worked 8 min 59 s)
    used        ~1.3M tokens, ~$4.81 (in part an estimate)
    waited      once, 1 h in all; claude: 5-hour limit reached
    agent       claude → codex: 5-hour limit reached
    outside     1.3 also changed README.md, Cargo.toml, not in its Files
    unverified  1.3: no Verify command, so nobody checked
    ");
}

#[test]
fn a_narrow_page_leaves_out_what_matters_least() {
    let text = shown(40);
    assert!(text.lines().all(|line| columns(line) < 40), "{text}");
    insta::assert_snapshot!(text, @"
    calculator  blocked  3 of 6 tasks done…
      1.4 failed 5 times: the agent was
      silent for 300 seconds
      `specum log 1.4` shows what happened;
      fix it, then `specum resume` gives
      the task another round

    ✓ 1.2 Add the parser         1 min 40 s
    ✓ 1.3 Write the printer       2 min 6 s
    ✗ 1.4 Read numbers with ex…  5 min 13 s
    ✓ 1 ticked before this loop began
    · 2 not begun, the first is 1.5 Write…

    1.3 Write the printer
      attempt 1  failed  1 min 34 s  claude
        `cargo test -p printer` ended with
        code 101
        the tree has changes that are not
        committed: printer/src/lib.rs
        │ thread 'prints' panicked at src/…
        │ left: 41
        │ right: 42
      attempt 2  passed, unverified  32 s
        what attempt 1 left is kept:
        refs/specum/calculator/1.3-1

    1.4 Read numbers with exponents from t…
      attempt 1  set aside  1.0 s  codex
        Cargo.toml was changed by 1.3 too
      attempt 2  failed  5 min 12 s
        the agent was silent for 300
        seconds

    attempts    5, 2 commits
    time        1 h 4 min (agents worked 8
                min 59 s)
    used        ~1.3M tokens, ~$4.81 (in
                part an estimate)
    waited      once, 1 h in all; claude:
                5-hour limit reached
    agent       claude → codex: 5-hour
                limit reached
    outside     1.3 also changed README.md,
                Cargo.toml, not in its
                Files
    unverified  1.3: no Verify command, so
                nobody checked
    ");
}

#[test]
fn a_loop_that_is_complete_is_short() {
    let records = journal::parse(
        br#"{"v":1,"at":"2026-01-01T00:00:00Z","event":"started","tasks":1,"open":1}
{"v":1,"at":"2026-01-01T00:00:01Z","event":"passed","task":{"id":"1.1","title":"a"},"attempt":1,"to_commit":true,"millis":900}
{"v":1,"at":"2026-01-01T00:00:01Z","event":"committed","task":{"id":"1.1","title":"a"},"commit":""}
{"v":1,"at":"2026-01-01T00:00:02Z","event":"completed","tasks":1}"#,
    );
    let summary = Summary::of(&records, &TaskFile::scan(b"- [x] 1.1 a\n"));
    insta::assert_snapshot!(render("small", &summary, Layout::of(None, false)), @r#"
    small  complete  1 of 1 tasks done

    ✓ 1.1 a  0.9 s

    attempts    1
    time        2.0 s (agents worked 0.9 s)
    "#);
}

#[test]
fn nothing_hostile_gets_through() {
    let evil = "\x1b[2J\u{202e}x\n\r\u{9b}1m";
    let text = records().replace("codex", "\\u001b[2J\\u202e\\n").replace("1.4", "1.4\\u001b[1m");
    let mut records = journal::parse(text.as_bytes());
    records.retain(|record| !record.at.as_str().is_empty());
    let tasks = TASKS.replace("Write", evil);
    let summary = Summary::of(&records, &TaskFile::scan(tasks.as_bytes()));
    let shown = render(evil, &summary, Layout::of(Some(60), false));
    assert!(shown.chars().all(|c| c == '\n' || !sanitize::is_hidden(c)), "{shown:?}");
    assert!(shown.lines().all(|line| columns(line) < 60), "{shown}");
}
