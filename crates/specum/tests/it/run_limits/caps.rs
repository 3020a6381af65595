//! Caps bind on report and before each attempt, over every restart, and what
//! nobody has reported is charged all the same.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Child;

use serde_json::json;

use super::speech::{claude, codex};
use super::{Stage, wants};
use crate::world::{fifo, until};

/// Two tasks, one after the other.
fn two() -> String {
    wants("1.1", "a.txt") + &wants("1.2", "b.txt")
}

/// Works both and says what it used.
fn works(tokens: u64, cost: f64) -> String {
    format!(
        "read\nsh if test -f a.txt; then touch b.txt; else touch a.txt; fi\n{}",
        claude::complete(tokens, cost)
    )
}

/// Waits until somebody opens a pipe for writing.
fn wait_for(pipe: &Path) {
    fs::File::open(pipe).unwrap().read_to_end(&mut Vec::new()).unwrap();
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn an_agent_that_reports_more_than_its_tokens_is_ended_at_once() {
    let stage = Stage::new(two());
    stage.agent("claude", format!("{}hang", claude::text("m", "a long look around", 600)));
    let told = stage.run(&["--max-tokens", "500"]);
    let why = told.ends(6, "capped");
    assert!(why.contains("600 of 500 tokens are used (--max-tokens)"), "{why}");
    assert_eq!(stage.journal("charged")[0]["tokens"], 600);
    assert_eq!(told.all("failed").len(), 0, "it was not the task's fault");
}

#[test]
fn fault_32_the_cost_cap_did_nothing_without_a_session() {
    let stage = Stage::new(two());
    let step = json!({"type": "step_finish", "part": {"reason": "tool-calls", "cost": 0.5, "tokens": {"total": 9}}});
    stage.agent("opencode", format!("say {step}\nhang"));
    let why = stage.run(&["--max-cost", "0.40"]).ends(6, "capped");
    assert!(why.contains("$0.50 of $0.40 are spent (--max-cost)"), "{why}");
}

#[test]
fn finding_50_tokens_without_a_price_end_a_run_under_a_cap_in_dollars() {
    let stage = Stage::new(two());
    stage.agent("claude", works(600, 0.0));
    // As often as one starts it.
    for _ in 0..2 {
        let why = stage.run(&["--max-cost", "5"]).ends(6, "capped");
        assert!(why.contains("named no price, so --max-cost cannot bind"), "{why}");
    }
    assert_eq!(stage.calls("claude"), 1);
    assert!(stage.tasks().starts_with("- [x] 1.1"), "what it did counts");
    stage.agent("claude", works(600, 0.5));
    stage.run(&["--max-cost", "6"]).ends(0, "complete");
}

/// A group of five, whose agents name their price in their last words.
fn priced_group(cost: f64) -> Stage {
    let group: String = (1..=5).map(|n| wants(&format!("1.{n}"), "a.txt")).collect();
    let stage = Stage::new(group.replace(" Write", " [P] Write"));
    stage.agent("claude", format!("read\nsh touch a.txt\n{}", claude::complete(100, cost)));
    stage
}

/// The limit that each start of Claude Code was given.
fn limits(stage: &Stage) -> Vec<String> {
    let limit = |nth| {
        let args = String::from_utf8(stage.left("claude", nth, "called")).unwrap();
        let limit = args.split("--max-budget-usd=").nth(1).unwrap_or_default();
        limit.split(' ').next().unwrap_or_default().to_owned()
    };
    (1..=stage.calls("claude")).map(limit).collect()
}

#[test]
fn finding_51_a_group_holds_back_until_a_price_is_known() {
    let stage = priced_group(10.0);
    let told = stage.run(&["--max-cost", "1", "--jobs", "5"]);
    let why = told.ends(6, "capped");
    assert!(why.contains("$10.00 of $1.00 are spent (--max-cost)"), "{why}");
    assert_eq!(limits(&stage), ["1.0000"]);
}

#[test]
fn finding_51_as_many_start_at_once_as_the_rest_of_a_cap_allows() {
    let stage = priced_group(1.0);
    let why = stage.run(&["--max-cost", "3", "--jobs", "5"]).ends(6, "capped");
    assert!(why.contains("$3.00 of $3.00 are spent (--max-cost)"), "{why}");
    let limits = limits(&stage);
    assert_eq!(limits.len(), 3, "{limits:?}");
    assert_eq!(limits[0], "3.0000", "the first one works alone");
    let stage = priced_group(1.0);
    stage.run(&["--max-cost", "50", "--jobs", "5"]).ends(0, "complete");
    assert_eq!(stage.calls("claude"), 5);
}

#[test]
fn finding_51_an_agent_that_stops_at_the_cap_has_not_failed() {
    let stage = Stage::new(two());
    let stopped = json!({"type": "result", "subtype": "error_max_budget_usd", "is_error": true,
        "total_cost_usd": 1.02, "modelUsage": {"m": {"inputTokens": 9}},
        "errors": ["Reached maximum budget ($1)"]});
    stage.agent("claude", format!("read\nsay {stopped}\nexit 1"));
    let told = stage.run(&["--max-cost", "1"]);
    let why = told.ends(6, "capped");
    assert!(why.contains("$1.02 of $1.00 are spent (--max-cost)"), "{why}");
    assert_eq!(told.failures(), []);
}

#[test]
fn work_that_is_finished_counts_although_it_was_dearer_than_the_cap() {
    let stage = Stage::new(two());
    // It lingers behind its last word, as the real one does now and then.
    stage.agent("claude", works(600, 0.5) + "hang");
    let told = stage.hasty(&["--max-cost", "0.40", "--idle-timeout", "50m"]);
    let why = told.ends(6, "capped");
    assert!(why.contains("$0.50 of $0.40 are spent (--max-cost)"), "{why}");
    assert!(stage.tasks().starts_with("- [x] 1.1"), "{}", told.call.stdout);
    assert_eq!(stage.calls("claude"), 1);
}

#[test]
fn what_completes_the_plan_is_success_although_it_reaches_every_cap() {
    let stage = Stage::new(wants("1.1", "a.txt"));
    stage.agent("claude", works(600, 0.5));
    let caps = ["--max-cost", "0.50", "--max-tokens", "600", "--max-global-iterations", "1"];
    stage.run(&caps).ends(0, "complete");
    assert_eq!(stage.status()["done"], 1);
}

#[test]
fn a_cap_that_is_reached_binds_the_next_run_and_the_verbs_and_a_higher_one_goes_on() {
    for (cap, reached, higher) in [
        ("--max-tokens", "500", "5000"),
        ("--max-cost", "0.40", "4"),
        ("--max-global-iterations", "1", "20"),
    ] {
        let stage = Stage::new(two());
        stage.agent("claude", works(600, 0.5));
        stage.run(&[cap, reached]).ends(6, "capped");
        assert!(stage.tasks().starts_with("- [x] 1.1"), "{cap}");
        // As often as one likes, with or without the option.
        for again in [&[][..], &[cap, reached]] {
            let why = stage.run(again).ends(6, "capped");
            assert!(why.contains(cap), "{cap} {again:?}: {why}");
        }
        let next = stage.specum(&["next"]);
        assert!(next.exits(6).stdout.contains(cap), "{cap}: {}", next.stdout);
        let next = stage.specum(&["next", "--json"]);
        assert_eq!(next.exits(6).json()["due"], "capped", "{cap}");
        assert_eq!(stage.calls("claude"), 1, "{cap}");
        stage.run(&[cap, higher]).ends(0, "complete");
        assert_eq!(stage.calls("claude"), 2, "{cap}");
    }
}

#[test]
fn a_cap_that_is_not_reached_yet_outlives_the_run_that_set_it() {
    let stage = Stage::new(two() + &wants("1.3", "c.txt"));
    stage.agent("claude", "sh touch a.txt b.txt c.txt\n".to_owned() + &claude::complete(300, 0.1));
    for (only, outcome, code) in [("1.1", "chosen-done", 0), ("1.2", "capped", 6)] {
        let caps: &[&str] = if only == "1.1" { &["--max-global-iterations", "1"] } else { &[] };
        let _ = stage.run(&[&["--only", only], caps].concat()).ends(code, outcome);
    }
    assert_eq!(stage.status()["maxGlobalIterations"], 1);
}

#[test]
fn time_is_a_cap_too_and_ends_a_running_agent() {
    let stage = Stage::new(two());
    stage.agent("claude", "hang");
    // Slow enough for the agent to be started first, also on a busy machine.
    let why = stage.faster(100, &["--max-time", "5m"]).ends(6, "capped");
    assert!(why.contains("of 300 seconds are worked (--max-time)"), "{why}");
    stage.agent("claude", works(1, 0.1));
    let why = stage.run(&[]).ends(6, "capped");
    assert!(why.contains("(--max-time)"), "{why}");
    assert_eq!(stage.calls("claude"), 1);
    stage.run(&["--max-time", "100d"]).ends(0, "complete");
}

#[test]
fn time_runs_on_while_a_limit_is_waited_for() {
    let stage = Stage::new(two());
    stage.agent("claude", claude::fails("rate_limit", 429, "try again in 90 days"));
    let told = stage.hasty(&["--max-time", "10m", "--no-red"]);
    let why = told.ends(6, "capped");
    assert!(why.contains("(--max-time)"), "{why}");
    assert_eq!((told.all("waiting").len(), stage.calls("claude")), (1, 1));
}

#[test]
fn a_task_has_so_many_attempts_and_a_person_gives_it_more() {
    let stage = Stage::new(two());
    stage.agent("claude", claude::complete(10, 0.1));
    let told = stage.run(&["--max-task-iterations", "2"]);
    let why = told.ends(6, "blocked");
    assert!(why.contains("1.1 failed 2 times"), "{why}");
    assert_eq!((stage.calls("claude"), told.failures().len()), (2, 2));
    stage.run(&["--max-task-iterations", "9"]).ends(6, "blocked");
    assert_eq!(stage.calls("claude"), 2, "only a person lets it go on");
    stage.world.person(&["resume"]);
    stage.run(&[]).ends(6, "blocked");
    stage.agent("claude", works(10, 0.1));
    stage.world.person(&["resume"]);
    stage.run(&[]).ends(0, "complete");
}

#[test]
fn what_ends_without_a_report_is_charged_like_the_dearest_and_marked() {
    let stage = Stage::new(two());
    stage.once("claude", 1, works(600, 0.5));
    stage.once("claude", 2, format!("{}exit 1", claude::text("m", "I begin", 50)));
    stage.agent("claude", works(100, 0.1));
    let told = stage.hasty(&[]);
    told.ends(0, "complete");
    let charged: Vec<_> = stage
        .journal("charged")
        .iter()
        .map(|charged| json!([charged["tokens"], charged["cost"], charged["estimated"] == true]))
        .collect();
    assert_eq!(
        charged,
        [json!([600, 0.5, false]), json!([600, 0.5, true]), json!([100, 0.1, false])]
    );
    let summary = told.summary();
    assert_eq!((&summary["tokens"], &summary["estimated"]), (&json!(1300), &json!(true)));
    assert_eq!(stage.status()["estimated"], true);
    let log = stage.specum(&["log"]);
    assert!(log.exits(0).stdout.contains("estimate"), "{}", log.stdout);
    let status = stage.specum(&["status"]);
    assert!(status.exits(0).stdout.contains("~1.3k tokens, ~$1.10"), "{}", status.stdout);
}

#[test]
fn a_cap_in_dollars_cannot_be_passed_by_dying_early() {
    let stage = Stage::new(two());
    stage.once("claude", 1, works(600, 0.5));
    stage.agent("claude", format!("{}exit 1", claude::text("m", "I begin", 50)));
    let why = stage.hasty(&["--max-cost", "0.90"]).ends(6, "capped");
    assert!(why.contains("$1.00 of $0.90"), "{why}");
    assert_eq!(stage.calls("claude"), 2);
}

#[test]
fn an_agent_whose_run_was_killed_is_charged_at_the_next_start() {
    let stage = Stage::new(two());
    let gate = stage.place.join("gate");
    fifo(&gate);
    stage.once("claude", 1, works(600, 0.5));
    stage.once("claude", 2, format!("sh : > {}\nhang", gate.display()));
    stage.agent("claude", works(100, 0.1));
    let run = stage.start(&["--max-tokens", "1000"]);
    wait_for(&gate);
    kill(run);
    let why = stage.run(&[]).ends(6, "capped");
    assert!(why.contains("1200 of 1000 tokens"), "{why}");
    let lost = stage.journal("charged").pop().unwrap();
    assert_eq!((&lost["tokens"], &lost["estimated"]), (&json!(600), &json!(true)));
    assert_eq!(stage.calls("claude"), 2);
    stage.run(&["--max-tokens", "9000"]).ends(0, "complete");
    assert_eq!(stage.journal("charged").len(), 3, "nothing is charged twice");
}

#[test]
fn what_a_killed_run_has_seen_of_its_first_agent_is_not_forgotten() {
    let stage = Stage::new(two());
    let gate = stage.place.join("gate");
    fifo(&gate);
    stage.agent("claude", works(100, 0.1));
    stage.once(
        "claude",
        1,
        format!("{}sh : > {}\nhang", claude::text("m", "I begin", 700), gate.display()),
    );
    let run = stage.start(&["--max-tokens", "1000"]);
    wait_for(&gate);
    // It may be said, and not heard yet.
    until("it is heard", || stage.logs().values().any(|log| log.ends_with(b"\n")));
    kill(run);
    stage.run(&[]).ends(0, "complete");
    let lost = stage.journal("charged").remove(0);
    assert_eq!((&lost["tokens"], &lost["estimated"]), (&json!(700), &json!(true)));
}

#[test]
fn a_lost_agent_of_a_loop_that_was_cancelled_costs_the_next_one_nothing() {
    let stage = Stage::new(two());
    let gate = stage.place.join("gate");
    fifo(&gate);
    stage.agent("claude", works(100, 0.1));
    stage.once("claude", 1, format!("sh : > {}\nhang", gate.display()));
    let run = stage.start(&[]);
    wait_for(&gate);
    kill(run);
    stage.specum(&["cancel"]).exits(0);
    stage.run(&[]).ends(0, "complete");
    assert_eq!(stage.journal("charged").len(), 2);
    assert_eq!(stage.status()["estimated"], false);
}

#[test]
fn fault_32_a_cap_that_cannot_be_measured_was_accepted() {
    let stage = Stage::new(two());
    for agent in ["claude", "codex", "gemini", "opencode"] {
        stage.agent(agent, works(1, 0.1));
    }
    let before = stage.world.snapshot();
    for (agents, cap, named) in [
        ("codex", "--max-cost", "codex"),
        ("gemini", "--max-cost", "gemini"),
        ("script", "--max-cost", "script"),
        ("claude,codex", "--max-cost", "codex"),
        ("command", "--max-cost", "command"),
        ("command", "--max-tokens", "command"),
        ("opencode,script", "--max-tokens", "script"),
    ] {
        let call = stage.specum(&["run", "--agent", agents, "--agent-command", "true", cap, "5"]);
        let said = &call.exits(2).stderr;
        assert!(said.contains(named) && said.contains(cap), "{agents} {cap}: {said}");
    }
    assert_eq!(stage.world.snapshot(), before);
}

#[test]
fn a_cap_of_an_earlier_run_is_refused_for_an_agent_that_cannot_report_it() {
    let stage = Stage::new(two());
    stage.agent("claude", works(600, 0.3)).agent("codex", codex::complete(5));
    stage.run(&["--agent", "claude", "--max-cost", "5", "--only", "1.1"]).ends(0, "chosen-done");
    let call = stage.specum(&["run", "--agent", "codex"]);
    assert!(call.exits(2).stderr.contains("codex does not name its price"), "{}", call.stderr);
    assert_eq!(stage.calls("codex"), 0);
}

#[test]
fn the_same_word_for_different_tasks_is_no_stall() {
    let tasks = (1..=6).map(|n| wants(&format!("1.{n}"), &format!("{n}.txt"))).collect::<String>();
    let stage = Stage::new(tasks);
    stage.agent(
        "claude",
        format!(
            "sh touch $(ls | grep -c txt).txt; touch 1.txt 2.txt 3.txt 4.txt 5.txt 6.txt\n{}",
            claude::complete(10, 0.1)
        ),
    );
    let told = stage.run(&[]);
    told.ends(0, "complete");
    assert_eq!((told.all("passed").len(), stage.calls("claude")), (6, 6));
}

#[test]
fn finding_58_so_many_iterations_are_so_many_attempts() {
    for attempts in [1, 3] {
        let stage = Stage::new(two());
        stage.agent("claude", claude::complete(10, 0.1));
        stage.run(&["--max-global-iterations", &attempts.to_string()]).ends(6, "capped");
        assert_eq!(stage.calls("claude"), attempts);
        let status = stage.specum(&["status"]);
        let shown = format!(", {attempts} of {attempts} in all");
        assert!(status.exits(0).stdout.contains(&shown), "{}", status.stdout);
    }
}

#[test]
fn a_group_does_not_begin_more_attempts_than_the_loop_has() {
    let tasks = (1..=4).map(|n| wants(&format!("1.{n}"), &format!("{n}.txt"))).collect::<String>();
    let stage = Stage::new(tasks.replace(" Write", " [P] Write"));
    stage.agent("claude", claude::complete(10, 0.1));
    stage.run(&["--max-global-iterations", "3"]).ends(6, "capped");
    assert_eq!(stage.calls("claude"), 3);
}
