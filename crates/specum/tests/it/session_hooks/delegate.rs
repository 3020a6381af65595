use super::*;

#[test]
fn a_short_prompt_becomes_the_brief_of_the_right_agent() {
    let world = session("- [ ] V1 [VERIFY] a\n  - **Verify**: `true`\n- [ ] 1.2 b\n");
    let call = calls_with(
        &world,
        &json!({}),
        &json!({"prompt": "task V1", "model": "haiku", "run_in_background": true, "isolation": "worktree"}),
    );
    let given = given(&call);
    assert_eq!(given["subagent_type"], "ralph-specum:qa-engineer");
    assert_eq!((&given["description"], &given["model"]), (&json!("task V1"), &json!("haiku")));
    let brief = given["prompt"].as_str().unwrap();
    assert!(brief.starts_with("- [ ] V1 [VERIFY] a\n  - **Verify**: `true`\n"), "{brief}");
    assert_eq!(given["run_in_background"], false, "left out, it would mean yes in newer hosts");
    assert!(given.get("isolation").is_none());
    assert_eq!(recorded(&world, "delegated"), ["V1"]);
}

#[test]
fn a_task_that_is_done_unknown_or_not_due_is_refused_with_what_is_due() {
    let world = session("- [x] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 c\n");
    for (task, says) in [
        ("1.1", "Task 1.1 is done already. Due: `task 1.2`."),
        ("9.9", "There is no task 9.9. Due: `task 1.2`."),
        ("1.3", "Task 1.3 is not due yet. Due: `task 1.2`."),
    ] {
        assert_eq!(refused(&calls(&world, &format!("task {task}"), "t")), says);
    }
    assert_eq!(
        refused(&calls(&world, "do something", "t")),
        "The prompt names no task. Due: `task 1.2`."
    );
    assert_eq!(recorded(&world, "delegated"), Vec::<String>::new());
}

#[test]
fn a_call_of_another_session_is_refused() {
    let world = session(PLAN);
    let state = world.read(STATE);
    let call = calls_with(&world, &json!({"session_id": "other"}), &json!({"prompt": "task 1.1"}));
    let reason = refused(&call);
    assert!(reason.contains("session test-session is working on the spec"), "{reason}");
    assert!(reason.contains("/ralph-specum:implement takes it over"), "{reason}");
    assert_eq!(world.read(STATE), state);
}

#[test]
fn a_session_that_acts_renews_what_is_recorded_of_it() {
    let world = session(PLAN);
    let recorded = || world.read_state()["owner"].clone();
    let began = recorded();
    assert_eq!(began["process"]["pid"], std::process::id());
    given(&calls(&world, "task 1.1", "t1"));
    assert_eq!(recorded(), began, "it is recent");
    // It was resumed: the host is another process than the one that began.
    let mut resumed = began.clone();
    resumed["process"]["started"] = json!("1");
    // Nobody has heard of it for long.
    let mut silent = began.clone();
    silent["seen"] = json!("2020-01-01T00:00:00Z");
    // An older version has begun.
    let old = json!({"kind": "session", "sessionId": "test-session"});
    for before in [resumed, silent, old] {
        let mut state = world.read_state();
        state["owner"] = before;
        world.state(&state);
        result_of(&world, "t1", "lost");
        given(&calls(&world, "task 1.1", "t1"));
        let now = recorded();
        assert_eq!(now["process"], began["process"]);
        assert!(now["seen"].as_str() > began["seen"].as_str(), "{now}");
    }
}

#[test]
fn a_loop_that_waits_gives_nothing_out() {
    let world = session(PLAN);
    world.specum(&["pause"]).exits(0);
    assert!(refused(&calls(&world, "task 1.1", "t")).starts_with("Paused"));
    world.specum(&["resume"]).exits(0);
    let state = world.read_state();
    let with = |fields: Value| {
        let mut state = state.clone();
        merge(&mut state, &fields);
        world.state(&state);
        refused(&calls(&world, "task 1.1", "t"))
    };
    assert!(
        with(json!({"maxGlobalIterations": 1, "globalIteration": 2}))
            .starts_with("All attempts are used")
    );
    let blocked = with(json!({"blocked": "task 1.1 failed", "awaitingApproval": true}));
    assert!(blocked.starts_with("Blocked: task 1.1 failed"), "{blocked}");
    assert_eq!(recorded(&world, "delegated"), Vec::<String>::new());
}

#[test]
fn other_agents_other_tools_and_calls_of_sub_agents_are_left_alone() {
    let world = session(PLAN);
    let before = world.snapshot();
    for (fields, tool_input) in [
        (json!({}), json!({"subagent_type": "Explore", "prompt": "find the config"})),
        (json!({}), json!({"subagent_type": "Explore", "prompt": "task force: who is in it?"})),
        (json!({}), json!({"subagent_type": "general-purpose", "prompt": "Task 3 of my own list"})),
        (json!({}), json!({"subagent_type": "Explore", "prompt": "task 1.1 looks odd, read it"})),
        (json!({"tool_name": "Bash"}), json!({"command": "task 1.1", "prompt": "task 1.1"})),
        (json!({"agent_id": "a", "agent_type": EXECUTOR}), json!({"prompt": "task 1.1"})),
        (json!({"tool_input": null}), json!({})),
        (json!({"tool_input": "task 1.1"}), json!({})),
    ] {
        calls_with(&world, &fields, &tool_input).silent();
    }
    assert_eq!(world.snapshot(), before);
    let call = calls_with(
        &world,
        &json!({}),
        &json!({"subagent_type": "general-purpose", "prompt": "task 1.1"}),
    );
    assert_eq!(given(&call)["subagent_type"], EXECUTOR, "our short prompt goes to the right agent");
}

#[test]
fn a_brief_that_the_coordinator_wrote_or_copied_works() {
    let world = session(PLAN);
    let own = "Please implement task 1.1 (a).\nCreate the file a. Say TASK_COMPLETE.";
    assert!(
        given(&calls(&world, own, "t1"))["prompt"].as_str().unwrap().starts_with("- [ ] 1.1 a")
    );
    result_of(&world, "t1", "lost");
    let due = world.specum(&["next", "--json"]).json();
    let copied = due["tasks"][0]["brief"].as_str().unwrap();
    assert_eq!(given(&calls(&world, copied, "t2"))["prompt"], copied);
    let foreign = copied.replace("\"spec\":\"test-spec\"", "\"spec\":\"other\"");
    let reason = refused(&calls(&world, &foreign, "t3"));
    assert!(reason.contains("belongs to the spec other"), "{reason}");
}

#[test]
fn after_four_lost_calls_the_loop_pauses_and_a_person_lets_it_go_on() {
    let world = session(PLAN);
    for n in 1..=4 {
        given(&calls(&world, "task 1.1", &format!("t{n}")));
        result_of(&world, &format!("t{n}"), "API Error: 529");
    }
    let reason = refused(&calls(&world, "task 1.1", "t5"));
    assert!(reason.starts_with("Paused: task 1.1 was given out 4 times"), "{reason}");
    assert!(reason.contains("`specum resume`"), "{reason}");
    assert_eq!(recorded(&world, "delegated").len(), 4);
    assert_eq!(world.read_state()["globalIteration"], 1, "and none of them has failed");
    world.stop().silent();
    for shown in [&["status"][..], &["doctor"], &["next"], &[]] {
        let call = world.specum(shown);
        assert!(call.stdout.contains("1.1 was given out 4 times"), "{shown:?}: {}", call.stdout);
    }
    for verb in ["resume", "implement"] {
        world.in_session(&[verb]).exits(0);
        for n in 1..=4 {
            given(&calls(&world, "task 1.1", &format!("{verb}{n}")));
            result_of(&world, &format!("{verb}{n}"), "API Error: 529");
        }
        refused(&calls(&world, "task 1.1", "t9"));
    }
}

#[test]
fn a_group_that_pauses_for_a_lost_member_keeps_what_its_neighbours_have_finished() {
    let world = session(GROUP);
    given(&calls(&world, "task 1.1", "t0"));
    world.write("a", "");
    ends(&world, "t0", "TASK_COMPLETE").silent();
    for n in 1..=4 {
        given(&calls(&world, "task 1.2", &format!("t{n}")));
        result_of(&world, &format!("t{n}"), "API Error: 529");
    }
    assert_eq!(recorded(&world, "passed"), Vec::<String>::new());
    let reason = refused(&calls(&world, "task 1.2", "t5"));
    assert!(reason.starts_with("Paused: task 1.2 was given out 4 times"), "{reason}");
    assert_eq!(
        (recorded(&world, "passed"), recorded(&world, "committed")),
        (vec!["1.1".into()], vec!["1.1".into()])
    );
    assert_eq!(world.read(TASKS), GROUP.replace("[ ] 1.1", "[x] 1.1"));
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    // And it goes on with the other one alone.
    world.in_session(&["resume"]).exits(0);
    let due = world.in_session(&["next"]).stdout;
    assert!(due.contains("`task 1.2`") && !due.contains("`task 1.1`"), "{due}");
}

#[test]
fn a_task_that_is_being_worked_on_is_nobodys_to_tick() {
    let world = session(PLAN);
    given(&calls(&world, "task 1.1", "t1"));
    let (shown, code) = world.person_gets(&["tick", "1.1"]);
    assert!(code != Some(0) && shown.contains("1.1 is being worked on"), "{shown}");
    result_of(&world, "t1", "API Error: 529");
    world.person(&["tick", "1.1"]);
}

#[test]
fn a_task_that_is_being_worked_on_is_not_given_out_again() {
    for plan in [PLAN, GROUP] {
        let world = session(plan);
        given(&calls(&world, "task 1.1", "t1"));
        let reason = refused(&calls(&world, "task 1.1", "t2"));
        assert_eq!(reason, "Task 1.1 is being worked on by another call. Wait for its result.");
        assert_eq!(recorded(&world, "delegated"), ["1.1"]);
    }
}

#[test]
fn what_a_group_has_finished_is_not_done_again() {
    let world = session(GROUP);
    given(&calls(&world, "task 1.1", "t1"));
    world.write("a", "");
    ends(&world, "t1", "TASK_COMPLETE").silent();
    result_of(&world, "t1", "x");
    // The host is killed, and another session goes on.
    world.in_session(&["implement"]).exits(0);
    let reason = refused(&calls(&world, "task 1.1", "t2"));
    assert_eq!(reason, "Task 1.1 has ended and waits for the others. Due: `task 1.2`.");
    let due = world.in_session(&["next"]).stdout;
    assert!(due.contains("`task 1.2`") && !due.contains("`task 1.1`"), "{due}");
}

#[test]
fn an_executor_of_ours_never_starts_without_a_loop() {
    let world = session(PLAN);
    given(&calls(&world, "task 1.1", "t1"));
    world.specum(&["cancel"]).exits(0);
    let text = result_of(&world, "t1", "x");
    assert!(text.contains("the loop was cancelled"), "{text}");
    let reason = refused(&calls(&world, "task 1.1", "t2"));
    assert!(reason.contains("/ralph-specum:implement starts one"), "{reason}");
    let own = json!({"subagent_type": "qa-engineer", "prompt": "Please review the login page"});
    calls_with(&world, &json!({}), &own).silent();
}

#[test]
fn nor_does_it_when_its_files_were_deleted() {
    let deletions: [fn(&World); 2] = [
        |world| fs::remove_file(world.path(STATE)).unwrap(),
        |world| drop(world.git(&["clean", "-fdx", "--quiet"])),
    ];
    for delete in deletions {
        let world = session(PLAN);
        given(&calls(&world, "task 1.1", "t1"));
        delete(&world);
        let reason = refused(&calls(&world, "task 1.1", "t2"));
        assert!(reason.contains("/ralph-specum:implement starts one"), "{reason}");
    }
}

#[test]
fn the_brief_names_the_root_wherever_the_shell_stands() {
    let world = session(PLAN);
    world.write("src/deep/file", "");
    let fields = json!({"cwd": world.path("src/deep"), "tool_use_id": "t1"});
    let brief =
        given(&calls_with(&world, &fields, &json!({"prompt": "task 1.1"})))["prompt"].clone();
    let brief = brief.as_str().unwrap();
    assert!(brief.contains(&format!("Work in {}: ", world.root.display())), "{brief}");
    assert!(!brief.contains("src/deep"), "{brief}");
}

#[test]
fn only_agents_of_the_plugin_are_ours() {
    let world = session(PLAN);
    for prompt in ["Please review the login page", "Compare the API of release 1.2 with 1.1"] {
        for agent in ["qa-engineer", "spec-executor", "other:spec-executor"] {
            let input = json!({"subagent_type": agent, "prompt": prompt});
            calls_with(&world, &json!({}), &input).silent();
        }
    }
}

#[test]
fn a_message_to_an_executor_that_has_its_verdict_is_refused() {
    let world = session(PLAN);
    given(&calls(&world, "task 1.1", "t1"));
    let message = |to: &str| {
        let fields = json!({
            "tool_name": "SendMessage",
            "tool_input": {"to": to, "message": "do more"},
            "transcript_path": world.path("session.jsonl"),
        });
        world.hook("pre-tool-use", &fields)
    };
    world.write("session/subagents/agent-one.meta.json", r#"{"toolUseId": "t1"}"#);
    message("one").silent();
    world.write("a", "");
    ends(&world, "t1", "TASK_COMPLETE").silent();
    let reason = refused(&message("one"));
    assert!(reason.contains("Task 1.1 has its verdict"), "{reason}");
    message("a-friend").silent();
}

#[test]
fn a_session_that_gets_work_of_a_dead_owner_owns_the_spec() {
    let world = session(PLAN);
    let mut state = world.read_state();
    state["owner"] = json!({"kind": "session", "sessionId": "dead", "process": {"pid": 4_000_000, "started": "1"}});
    world.state(&state);
    world.write("a", "");
    given(&calls(&world, "task 1.1", "t1"));
    assert_eq!(world.read_state()["owner"]["sessionId"], "test-session");
    ends(&world, "t1", "TASK_COMPLETE").silent();
    assert!(world.read(TASKS).starts_with("- [x] 1.1"), "{}", world.read(TASKS));
}
