//! What is a person's to say, and how an agent's shell is told from a person's.

use crate::world::{STATE, TASKS, World, call};

const PLAN: &str = "- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 c\n";

#[test]
fn a_terminal_of_a_host_or_of_a_run_is_no_persons() {
    let world = World::started(PLAN);
    let marks =
        [("CLAUDECODE", "1"), ("SPECUM_MARK", "x"), ("CODEX_SESSION_ID", "x"), ("GEMINI_CLI", "1")];
    for mark in marks {
        for args in [&["tick", "1.2"][..], &["accept", "1.2"]] {
            let (shown, code) = world.at_a_terminal(args, &[mark]);
            let refusal = format!("`specum {}` is a person's to say", args[0]);
            assert!(code == Some(1) && shown.contains(&refusal), "{mark:?}: {shown}");
        }
    }
    assert_eq!(world.read(TASKS), PLAN);
    world.person(&["tick", "1.2"]);
}

#[test]
fn what_an_agent_of_a_run_types_into_a_session_of_its_own_is_no_persons() {
    let world = World::started(PLAN);
    let in_inner_session = |args: &[&str], input: &serde_json::Value| {
        let mut command = world.command();
        command.args(args).env("SPECUM_MARK", "x").env("CLAUDE_CODE_SESSION_ID", "inner");
        call(command, input.to_string().as_bytes())
    };
    let typed = |event: &str, more: serde_json::Value| {
        let mut input = serde_json::json!({"session_id": "inner", "cwd": world.root});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        in_inner_session(&["hook", event], &input).exits(0);
    };
    let nothing = serde_json::json!({});
    typed("submit", serde_json::json!({"prompt": "specum tick 1.2"}));
    let refused = in_inner_session(&["tick", "1.2"], &nothing);
    assert!(refused.exits(1).stderr.contains("is a person's to say"), "{}", refused.stderr);
    let command = serde_json::json!({"command_name": "ralph-specum:tick", "command_args": "1.2"});
    typed("prompt", command);
    let refused = in_inner_session(&["--from-session", "tick"], &nothing);
    assert!(refused.exits(0).stdout.contains("is a person's to say"), "{}", refused.stdout);
    assert_eq!(world.read(TASKS), PLAN);
}

#[test]
fn a_higher_cap_is_a_persons_to_set() {
    let world = World::started(PLAN);
    let cap = || world.read_state()["maxGlobalIterations"].clone();
    let before = cap();
    let from_an_agent = |args: &[&str]| {
        let mut command = world.command();
        command.args(args).env("CLAUDECODE", "1");
        call(command, b"")
    };
    let run = ["run", "--agent-command", "true", "--max-global-iterations"];
    for args in
        [&[&run[..], &["500"]].concat()[..], &["implement", "--max-global-iterations", "500"]]
    {
        let refused = from_an_agent(args);
        assert!(refused.exits(1).stderr.contains("is a person's to say"), "{}", refused.stderr);
        assert_eq!(cap(), before, "{args:?}");
    }
    assert_eq!(world.journal("run-started").len(), 0, "no agent was started");
    from_an_agent(&["implement", "--max-global-iterations", "50"]).exits(0);
    assert_eq!(cap(), 50, "a lower one is anybody's");
}

#[test]
fn an_approval_is_not_an_agents_to_waive() {
    let world = World::planned("## One\n- [ ] 1.1 a\n\n## Two\n- [ ] 2.1 b\n");
    let works = "cat > /dev/null; echo TASK_COMPLETE";
    let run = ["run", "--agent-command", works, "--approve"];
    assert_ne!(world.specum(&[&run[..], &["phase"]].concat()).code, Some(0));
    assert_eq!(world.journal("passed").len(), 1, "the second phase waits");
    let mut command = world.command();
    command.args(run).arg("never").env("CLAUDECODE", "1");
    let refused = call(command, b"");
    assert!(refused.exits(1).stderr.contains("is a person's to say"), "{}", refused.stderr);
    assert_eq!(world.journal("passed").len(), 1);
    // Without a host around it, it is a person's script.
    world.specum(&[&run[..], &["never"]].concat()).exits(0);
}

#[test]
fn the_task_that_a_session_works_on_by_itself_is_not_to_be_ticked() {
    let world = World::planned(PLAN);
    world.specum(&["implement"]).exits(0);
    let mut command = world.command();
    command.arg("next").env("CODEX_SESSION_ID", "x");
    assert!(call(command, b"").exits(0).stdout.contains("Due: task 1.1"));
    let (shown, code) = world.person_gets(&["tick", "1.1"]);
    assert!(code == Some(3) && shown.contains("1.1 is being worked on"), "{shown}");
    world.person(&["tick", "1.2"]);
    assert_eq!(world.read(TASKS), PLAN.replace("[ ] 1.2", "[x] 1.2"));
    assert!(world.path(STATE).exists());
}
