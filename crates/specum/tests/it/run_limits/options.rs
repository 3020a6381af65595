//! What is typed counts most, then the environment, then the settings; and what
//! is wrong is said.

use serde_json::{Value, json};

use super::speech::claude;
use super::{Stage, wants};
use crate::world::{Call, call};

const SETTINGS: &str = ".claude/ralph-specum.local.md";

/// A plan, and an agent that ends every run before it begins, at no cost.
fn refused() -> Stage {
    let stage = Stage::new(wants("1.1", "a.txt") + &wants("1.2", "b.txt"));
    for agent in ["claude", "opencode", "own-1", "own-2", "own-3"] {
        stage.agent(agent, claude::fails("authentication_failed", 401, "no"));
    }
    stage
}

fn settings(stage: &Stage, line: &str) {
    stage.world.write(SETTINGS, format!("---\n{line}\n---\n"));
}

/// Calls `specum run` with an option set in the first so many of: the settings,
/// the environment, the command line.
fn set_in(stage: &Stage, places: usize, option: &str, values: [&str; 3], more: &[&str]) -> Call {
    let key = option.replace('-', "_");
    settings(
        stage,
        &format!("{}: {}", if key == "jobs" { "max_parallel" } else { &key }, values[0]),
    );
    let mut command = stage.command(&[&["run"], more].concat());
    if places > 1 {
        command.env(format!("SPECUM_{}", key.to_uppercase()), values[1]);
    }
    if places > 2 {
        command.arg(format!("--{option}={}", values[2]));
    }
    call(command, b"")
}

#[test]
fn what_is_typed_counts_most_then_the_environment_then_the_settings() {
    let table: [(&str, [&str; 3], &str, [Value; 3]); 6] = [
        (
            "max-task-iterations",
            ["3", "4", "6"],
            "/maxTaskIterations",
            [json!(3), json!(4), json!(6)],
        ),
        (
            "max-global-iterations",
            ["30", "40", "60"],
            "/maxGlobalIterations",
            [json!(30), json!(40), json!(60)],
        ),
        (
            "recovery-mode",
            ["true", "false", "true"],
            "/recoveryMode",
            [json!(true), json!(false), json!(true)],
        ),
        (
            "max-time",
            ["2h", "90m", "1d"],
            "/budget/maxMillis",
            [json!(7_200_000), json!(5_400_000), json!(86_400_000)],
        ),
        (
            "max-cost",
            ["1.5", "2.5", "3.5"],
            "/budget/maxCost",
            [json!(1.5), json!(2.5), json!(3.5)],
        ),
        (
            "max-tokens",
            ["100", "200", "300"],
            "/budget/maxTokens",
            [json!(100), json!(200), json!(300)],
        ),
    ];
    for (option, values, place, expected) in table {
        for (places, expected) in (1..).zip(expected) {
            let stage = refused();
            set_in(&stage, places, option, values, &[]).exits(1);
            let state = stage.world.read_state();
            assert_eq!(
                state.pointer(place),
                Some(&expected),
                "{option}, {places} places: {state:#}"
            );
        }
    }
}

#[test]
fn the_same_holds_for_who_works_and_how_many() {
    let table: [(&str, [&str; 3], [Value; 3]); 2] = [
        (
            "agent",
            ["claude", "opencode", "script"],
            [json!(["claude"]), json!(["opencode"]), json!(["script"])],
        ),
        ("jobs", ["2", "3", "4"], [json!(2), json!(3), json!(4)]),
    ];
    for (option, values, expected) in table {
        let shown = if option == "agent" { "agents" } else { option };
        for (places, expected) in (1..).zip(expected) {
            let stage = refused();
            let call = set_in(&stage, places, option, values, &["--dry-run", "--json"]);
            assert_eq!(call.exits(0).json()[shown], expected, "{option}, {places} places");
        }
    }
    for places in 1..=3 {
        let stage = refused();
        let values = ["own-1", "own-2", "own-3"];
        set_in(&stage, places, "agent-command", values, &["--max-task-iterations", "1"]).exits(6);
        assert_eq!(stage.calls(values[places - 1]), 1, "{places} places");
        let stage = refused();
        set_in(&stage, places, "model", ["small", "large", "-x"], &[]).exits(1);
        let args = String::from_utf8(stage.left("claude", 1, "called")).unwrap();
        let model = ["--model=small", "--model=large", "--model=-x"][places - 1];
        assert!(args.ends_with(model), "{places} places: {args}");
    }
}

#[test]
fn and_for_how_long_an_agent_may_take() {
    for (option, said) in
        [("task-timeout", "did not end within"), ("idle-timeout", "was silent for")]
    {
        for places in 1..=3 {
            let stage = refused();
            stage.agent("claude", "hang");
            let values = ["300s", "5m10s", "320"];
            settings(&stage, &format!("{}: {}", option.replace('-', "_"), values[0]));
            let mut command = stage.command(&["run", "--max-task-iterations", "1", "--json"]);
            command.env("SPECUM_HASTE", "1000");
            if places > 1 {
                command
                    .env(format!("SPECUM_{}", option.replace('-', "_").to_uppercase()), values[1]);
            }
            if places > 2 {
                command.args([format!("--{option}"), values[2].to_owned()]);
            }
            let call = call(command, b"");
            let expected = format!("{said} {} seconds", [300, 310, 320][places - 1]);
            assert!(call.exits(6).stdout.contains(&expected), "{expected}: {}", call.stdout);
        }
    }
}

#[test]
fn finding_21_a_check_has_the_time_that_is_typed_or_set() {
    for places in 1..=3 {
        let stage = Stage::new("- [ ] 1.1 a\n  - **Verify**: `sleep infinity`\n");
        stage.agent("claude", claude::complete(5, 0.1));
        let values = ["11ms", "22ms", "33ms"];
        let more = ["--max-task-iterations", "1", "--json"];
        let call = set_in(&stage, places, "verify-timeout", values, &more);
        let limit = ["11 milliseconds", "22 milliseconds", "33 milliseconds"][places - 1];
        let expected = format!("did not end within {limit}, which is what a check has");
        assert!(call.exits(6).stdout.contains(&expected), "{expected}: {}", call.stdout);
        assert!(call.stdout.contains("verify_timeout"), "{}", call.stdout);
    }
}

#[test]
fn a_command_that_is_typed_counts_more_than_an_agent_of_the_environment() {
    let stage = refused();
    let mut command =
        stage.command(&["run", "--agent-command", "own-1", "--max-task-iterations", "1"]);
    command.env("SPECUM_AGENT", "claude");
    call(command, b"").exits(6);
    assert_eq!((stage.calls("own-1"), stage.calls("claude")), (1, 0));
    // Unless its name is typed too.
    let stage = refused();
    stage.specum(&["run", "--agent-command", "own-1", "--agent", "claude"]).exits(1);
    assert_eq!((stage.calls("own-1"), stage.calls("claude")), (0, 1));
}

#[test]
fn a_switch_does_not_swallow_the_name_of_the_spec() {
    let stage = refused();
    stage.specum(&["run", "--recovery-mode", "test-spec"]).exits(1);
    assert_eq!(stage.world.read_state()["recoveryMode"], true);
    for (value, expected) in [("yes", true), ("0", false), ("off", false), ("TRUE", true)] {
        let stage = refused();
        let mut command = stage.command(&["run"]);
        command.env("SPECUM_RECOVERY_MODE", value);
        call(command, b"").exits(1);
        assert_eq!(stage.world.read_state()["recoveryMode"], expected, "{value}");
    }
}

#[test]
fn bad_values_are_refused_wherever_they_stand_and_nothing_begins() {
    let stage = refused();
    let before = stage.world.snapshot();
    for (option, value, word) in [
        ("max-task-iterations", "0", "0"),
        ("max-task-iterations", "1001", "1001"),
        ("max-task-iterations", "many", "many"),
        ("max-global-iterations", "0", "0"),
        ("max-global-iterations", "1000001", "1000001"),
        ("jobs", "0", "0"),
        ("jobs", "65", "65"),
        ("task-timeout", "soon", "90s, 10m or 2h"),
        ("task-timeout", "0", "90s, 10m or 2h"),
        ("idle-timeout", "-5s", "90s, 10m or 2h"),
        ("verify-timeout", "later", "90s, 10m or 2h"),
        ("max-time", "18446744073709551615", "90s, 10m or 2h"),
        ("max-time", "99999999999999999999d", "90s, 10m or 2h"),
        ("max-cost", "0", "above 0"),
        ("max-cost", "-1", "above 0"),
        ("max-cost", "NaN", "above 0"),
        ("max-cost", "inf", "above 0"),
        ("max-tokens", "0", "0"),
        ("max-tokens", "1.5", "1.5"),
        ("recovery-mode", "perhaps", "perhaps"),
    ] {
        let typed = stage.specum(&["run", &format!("--{option}={value}")]);
        assert!(typed.exits(2).stderr.contains(word), "{option}={value}: {}", typed.stderr);
        let mut command = stage.command(&["run"]);
        command.env(format!("SPECUM_{}", option.replace('-', "_").to_uppercase()), value);
        let inherited = call(command, b"");
        assert!(inherited.exits(2).stderr.contains(word), "{option}={value}: {}", inherited.stderr);
        assert_eq!(stage.world.snapshot(), before);
        let key = option.replace('-', "_").replace("jobs", "max_parallel");
        settings(&stage, &format!("{key}: {value}"));
        let stands = stage.specum(&["run"]);
        let said = &stands.exits(1).stderr;
        assert!(said.contains(&format!("{SETTINGS}:2: `{key}` must be")), "{key}: {value}: {said}");
        std::fs::remove_dir_all(stage.world.path(".claude")).unwrap();
    }
    assert_eq!(stage.calls("claude"), 0);
}

#[test]
fn a_misspelt_setting_is_an_error_with_the_right_one() {
    let stage = refused();
    settings(&stage, "max_cots: 5");
    let call = stage.specum(&["run"]);
    let said = &call.exits(1).stderr;
    assert!(said.contains("unknown key `max_cots`; did you mean `max_cost`?"), "{said}");
    assert_eq!(stage.calls("claude"), 0);
}

#[test]
fn a_misspelt_agent_is_an_error_with_the_right_one() {
    let stage = refused();
    for (typed, said) in [
        ("cluade", "there is no agent `cluade`; did you mean `claude`?"),
        ("claude,codx", "there is no agent `codx`; did you mean `codex`?"),
        ("gpt", "there are claude, codex, gemini, opencode, command, script"),
        ("command", "the agent `command` needs --agent-command"),
    ] {
        let call = stage.specum(&["run", "--agent", typed]);
        assert!(call.exits(2).stderr.contains(said), "{typed}: {}", call.stderr);
    }
}

#[test]
fn without_an_agent_a_person_is_told_what_to_do() {
    let stage = Stage::new(wants("1.1", "a.txt"));
    let before = stage.world.snapshot();
    let call = stage.specum(&["run"]);
    let said = &call.exits(3).stderr;
    assert!(said.contains("no agent is installed") && said.contains("--agent-command"), "{said}");
    let call = stage.specum(&["run", "--agent", "codex,gemini"]);
    assert!(call.exits(3).stderr.contains("codex, gemini"), "{}", call.stderr);
    assert_eq!(stage.world.snapshot(), before);
    // One of two is enough.
    stage.agent("claude", format!("sh touch a.txt\n{}", claude::complete(5, 0.1)));
    let call = stage.specum(&["run", "--agent", "codex,claude"]);
    assert!(call.exits(0).stderr.contains("codex is not on PATH; it is passed over"));
}

#[test]
fn a_variable_that_is_almost_one_of_ours_is_told() {
    let stage = refused();
    let mut command = stage.command(&["run", "--dry-run"]);
    command.env("SPECUM_MAX_COTS", "5").env("SPECUM_JOBS", "3").env("SPECUM_MARK", "x");
    let call = call(command, b"");
    call.exits(0);
    let expected =
        "warning: SPECUM_MAX_COTS is no variable of specum; did you mean SPECUM_MAX_COST?\n";
    assert_eq!(call.stderr, expected);
}

#[test]
fn a_fix_task_that_a_start_adds_is_on_record_before_anybody_works() {
    let stage = Stage::new(wants("1.1", "a.txt"));
    stage.agent("claude", format!("read\n{}", claude::complete(5, 0.1)));
    stage.run(&["--max-task-iterations", "1"]).ends(6, "blocked");
    assert!(stage.run(&["--keep-going", "--recovery-mode"]).call.code.is_some());
    let journal = stage.world.read(crate::world::JOURNAL);
    let events: Vec<Value> =
        journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let started = events.iter().rposition(|event| event["event"] == "started").unwrap();
    let mut behind = events[started + 1..].iter().filter(|event| event["event"] != "done");
    let next = behind.next().unwrap();
    assert_eq!(next["event"], "plan-changed");
    assert_eq!(next["edits"][0]["recorded"]["task"]["id"], "1.1.1");
}
