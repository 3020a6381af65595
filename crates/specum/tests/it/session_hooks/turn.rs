use super::*;

/// A prompt at the session's terminal.
fn says(world: &World, turn: &str, prompt: &str) -> Call {
    let fields = json!({
        "hook_event_name": "UserPromptSubmit", "prompt_id": turn, "prompt": prompt,
    });
    world.hook("submit", &fields)
}

fn stops(world: &World, turn: &str) -> Call {
    world.hook("stop", &json!({"prompt_id": turn}))
}

#[test]
fn a_turn_that_a_person_opens_with_their_own_words_may_end() {
    let world = session(PLAN);
    for prompt in ["What is this?", "/ralph-specum:status", "/clear", "/ralph-specum:implementing"]
    {
        says(&world, prompt, prompt).silent();
        let line = stops(&world, prompt).tells();
        assert!(line.contains("the loop of test-spec waits, 0 of 2 tasks are done"), "{line}");
    }
    for (turn, prompt) in [("5", "/ralph-specum:implement"), ("6", "/ralph-specum:resume x")] {
        says(&world, turn, prompt).silent();
        let answer = stops(&world, turn).json();
        let context = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
        assert!(context.contains("`task 1.1`") && context.len() < 400, "{context}");
        assert!(answer.get("decision").is_none(), "guidance, no error: {answer}");
    }
}

#[test]
fn a_task_that_is_called_makes_the_turn_the_loops_again() {
    let world = session(PLAN);
    says(&world, "1", "go on, please").silent();
    let fields = json!({"prompt_id": "1", "tool_use_id": "t1"});
    given(&calls_with(&world, &fields, &json!({"prompt": "task 1.1"})));
    // Words that are typed while the turn goes on do not open one.
    says(&world, "1", "how far are you?").silent();
    assert!(stops(&world, "1").json()["hookSpecificOutput"].is_object());
}

#[test]
fn a_session_that_never_asked_is_left_alone() {
    let world = session(PLAN);
    world.hook("session-end", &json!({"reason": "other"})).silent();
    for session in ["stranger", "test-session"] {
        let fields = json!({"session_id": session, "prompt_id": "1"});
        let stopped = world.hook("stop", &fields);
        match session {
            "stranger" => assert_eq!(stopped.silent().stderr, ""),
            _ => assert!(stopped.json()["hookSpecificOutput"].is_object(), "it is resumed"),
        }
    }
    let other = json!({"session_id": "stranger", "tool_use_id": "t9"});
    given(&calls_with(&world, &other, &json!({"prompt": "task 1.1"})));
    let stopped = world.hook("stop", &json!({"session_id": "stranger", "prompt_id": "1"}));
    assert!(stopped.json()["hookSpecificOutput"].is_object(), "now it has asked");
}

#[test]
fn a_call_that_a_person_breaks_off_is_over_with_their_next_prompt() {
    let world = session(PLAN);
    let call = |turn: &str, id: &str| {
        let fields = json!({"prompt_id": turn, "tool_use_id": id});
        calls_with(&world, &fields, &json!({"prompt": "task 1.1"}))
    };
    given(&call("1", "t1"));
    says(&world, "2", "what was that?").silent();
    assert_eq!(recorded(&world, "returned"), ["1.1"]);
    given(&call("3", "t2"));
    assert_eq!(world.read_state()["globalIteration"], 1, "no attempt");
}

#[test]
fn a_call_that_returns_late_does_not_end_the_one_that_has_taken_its_place() {
    let world = session(PLAN);
    let call = |turn: &str, id: &str| {
        let fields = json!({"prompt_id": turn, "tool_use_id": id});
        calls_with(&world, &fields, &json!({"prompt": "task 1.1"}))
    };
    given(&call("1", "t1"));
    says(&world, "2", "what was that?").silent();
    given(&call("3", "t2"));
    let text = result_of(&world, "t1", "[Request interrupted by user]");
    assert!(text.contains("another one is at work on it. Wait for its result."), "{text}");
    assert_eq!(recorded(&world, "returned"), ["1.1"], "the first one alone");
    let twice = refused(&call("3", "t3"));
    assert!(twice.contains("is being worked on by another call"), "{twice}");
}

#[test]
fn the_verdict_on_a_call_in_the_background_comes_with_the_hosts_notification() {
    let world = session(PLAN);
    given(&calls_with(
        &world,
        &json!({"prompt_id": "1", "tool_use_id": "t1"}),
        &json!({"prompt": "task 1.1"}),
    ));
    let launched = json!({"status": "async_launched", "agentId": "a1", "isAsync": true});
    let answer = returns(&world, "t1", &launched).exits(0).json();
    assert_eq!(answer["continue"], false, "the turn ends: {answer}");
    says(&world, "2", "how is it going?").silent();
    assert_eq!(recorded(&world, "returned"), Vec::<String>::new(), "it works on");
    world.write("a", "");
    ends(&world, "t1", "TASK_COMPLETE").silent();
    let notification = "<task-notification>\n<task-id>a1</task-id>\n<tool-use-id>t1</tool-use-id>\n\
                        <status>completed</status>\n<result>done</result>\n</task-notification>";
    let answer = says(&world, "3", notification).exits(0).json();
    let told = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(told.contains("Task 1.1 passed") && told.contains("`task 1.2`"), "{told}");
    let seen = answer["systemMessage"].as_str().unwrap();
    assert!(seen.starts_with("1.1 passed, 1 of 2, "), "{seen}");
    assert!(stops(&world, "3").json()["hookSpecificOutput"].is_object(), "and it goes on");
}

#[test]
fn a_persons_word_typed_as_a_whole_message_counts_once() {
    let world = session(PLAN);
    let ticks = |args: &[&str]| world.in_session(args).code;
    says(&world, "1", "please specum tick 1.2").silent();
    assert_eq!(ticks(&["tick", "1.2"]), Some(1));
    says(&world, "2", "specum tick 1.2").silent();
    assert_eq!(ticks(&["tick", "1.1"]), Some(1), "not what was typed");
    assert_eq!(ticks(&["tick", "1.2"]), Some(0));
    says(&world, "3", "specum accept 1.1").silent();
    says(&world, "4", "no, wait").silent();
    assert_eq!(ticks(&["accept", "1.1"]), Some(1), "taken back");
}

#[test]
fn a_stranger_does_not_break_off_the_calls_of_a_session() {
    let world = session(PLAN);
    take_over(&world, "second").exits(0);
    let call = |id: &str| {
        let fields = json!({"session_id": "second", "tool_use_id": id});
        calls_with(&world, &fields, &json!({"prompt": "task 1.1"}))
    };
    given(&call("t1"));
    says(&world, "9", "what is up?").silent();
    refused(&call("t2"));
}

#[test]
fn something_else_in_the_background_does_not_hold_a_person() {
    let world = session(PLAN);
    says(&world, "1", "build it in the background").silent();
    stops(&world, "1").tells();
    says(&world, "2", "<task-notification>\n<tool-use-id>x</tool-use-id>\n").silent();
    stops(&world, "2").tells();
}

#[test]
fn a_session_means_the_spec_it_works_on_whichever_is_active() {
    let world = session(PLAN);
    world.write("specs/other/tasks.md", "- [ ] 9.9 another\n");
    world.specum(&["switch", "other"]).exits(0);
    let due = world.in_session(&["next"]);
    assert!(due.exits(0).stdout.contains("`task 1.1`"), "{}", due.stdout);
    assert!(world.in_session(&["pause"]).exits(0).stdout.contains("paused: test-spec"));
}

#[test]
fn the_loop_is_found_by_the_session_wherever_its_shell_stands() {
    let world = session(PLAN);
    world.write("packages/api/specs/own/tasks.md", "- [ ] 9.9 another\n");
    world.write("packages/api/specs/.current-spec", "own\n");
    world.write("specs/other/tasks.md", "- [ ] 9.9 another\n");
    for elsewhere in [Some("packages/api"), None] {
        let cwd = elsewhere.map_or(world.root.clone(), |path| world.path(path));
        if elsewhere.is_none() {
            world.specum(&["switch", "other"]).exits(0);
        }
        let (id, task) = if elsewhere.is_some() { ("t1", "1.1") } else { ("t2", "1.2") };
        let fields = json!({"cwd": cwd, "tool_use_id": id});
        given(&calls_with(&world, &fields, &json!({"prompt": format!("task {task}")})));
        world.write("a", "");
        let at = |event: &str, more: Value| {
            let mut input = json!({"cwd": cwd});
            merge(&mut input, &more);
            world.hook(event, &input)
        };
        let stopped = at("stop", json!({"prompt_id": "1"}));
        assert!(stopped.stdout.contains(&format!("`task {task}`")), "{}", stopped.stdout);
        ends(&world, id, "TASK_COMPLETE").silent();
        assert!(result_of(&world, id, "x").starts_with(&format!("Task {task} passed")));
    }
    assert!(!world.path(STATE).exists(), "complete");
}

#[test]
fn a_worktree_that_the_shell_has_entered_changes_nothing_for_the_loop() {
    let world = session(PLAN);
    given(&calls(&world, "task 1.1", "t0"));
    world.git(&["worktree", "add", "--quiet", ".claude/worktrees/other"]);
    result_of(&world, "t0", "lost");
    let cwd = world.path(".claude/worktrees/other");
    for (id, task) in [("t1", "1.1"), ("t2", "1.2")] {
        let fields = json!({"cwd": cwd, "tool_use_id": id});
        let given = given(&calls_with(&world, &fields, &json!({"prompt": format!("task {task}")})));
        let brief = given["prompt"].as_str().unwrap();
        assert!(brief.contains(&format!("Work in {}: ", world.root.display())), "{brief}");
        world.write("a", "");
        let stopped = world.hook("stop", &json!({"cwd": cwd, "prompt_id": "1"}));
        assert!(stopped.stdout.contains(&format!("`task {task}`")), "{}", stopped.stdout);
        ends_with(&world, id, &json!({"cwd": cwd})).silent();
        let text = result_of(&world, id, "x");
        assert!(text.starts_with(&format!("Task {task} passed")), "{text}");
    }
    assert!(!world.path(STATE).exists(), "complete");
    let commits = world.git(&["log", "main", "--format=%(trailers:key=Task,valueonly)"]);
    assert_eq!(commits.split_whitespace().collect::<Vec<_>>(), ["1.2", "1.1"]);
    let committed = world.git(&["log", "main", "--format=", "--name-only"]);
    assert!(!committed.contains("worktrees"), "{committed}");
}

#[test]
fn a_session_that_calls_a_plan_complete_from_which_a_task_was_removed_is_not_believed() {
    let world = session("- [ ] 1.1 a\n- [ ] 1.2 b\n");
    given(&calls(&world, "task 1.1", "t1"));
    world.write(TASKS, "- [ ] 1.1 a\n");
    ends(&world, "t1", "TASK_COMPLETE").silent();
    result_of(&world, "t1", "x");
    assert_eq!(world.read(TASKS), "- [x] 1.1 a\n", "every box is ticked");
    let claims = json!({"prompt_id": "1", "last_assistant_message": "ALL_TASKS_COMPLETE"});
    let line = world.hook("stop", &claims).tells();
    let waits = "specum waits for you: task 1.2 (b) was removed while 1.1 was being worked on";
    assert!(line.contains(waits) && line.contains("`specum accept 1.2`"), "{line}");
    assert!(world.path(STATE).exists() && world.journal("completed").is_empty());
}

#[test]
fn a_session_that_opens_where_a_loop_waits_hears_so_unless_somebody_holds_it() {
    let world = session(PLAN);
    let starts = |session: &str| {
        let fields =
            json!({"session_id": session, "hook_event_name": "SessionStart", "source": "startup"});
        world.hook("session-start", &fields)
    };
    let held = starts("new");
    assert!(held.exits(0).stdout.starts_with("specum: the active spec is test-spec"), "no JSON");
    assert!(!held.stdout.contains("waits"), "{}", held.stdout);
    world.hook("session-end", &json!({"reason": "other"})).silent();
    let answer = starts("new").exits(0).json();
    let line = "specum: the loop of test-spec waits, 0 of 2 tasks are done. ";
    assert!(answer["systemMessage"].as_str().unwrap().starts_with(line), "{answer}");
    let context = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(context.starts_with("specum: the active spec is test-spec"), "{answer}");
    // Where no loop is, nothing waits.
    world.specum(&["cancel"]).exits(0);
    assert!(starts("new").exits(0).stdout.starts_with("specum: the active spec"));
}

#[test]
fn a_command_that_its_verb_would_refuse_is_refused_where_it_can_be_heard() {
    let world = World::planned("- [ ] 1.1 a\n- [ ] 1.1 b\n");
    let types = |name: &str| {
        let fields = json!({"command_name": format!("ralph-specum:{name}"), "command_args": ""});
        world.hook("prompt", &fields)
    };
    assert!(types("implement").reason().contains("id 1.1 is taken"));
    assert!(types("pause").reason().contains("no loop is running for test-spec"));
    world.write(TASKS, "# Nothing yet\n");
    assert!(types("implement").reason().contains("has no tasks"));
    world.write(".claude/ralph-specum.local.md", "---\nmax_paralel: 3\n---\n");
    assert!(types("implement").reason().contains("the settings have mistakes"));
}

#[test]
fn a_loop_is_not_taken_from_a_session_whose_executor_is_at_work() {
    let world = session(PLAN);
    given(&calls(&world, "task 1.1", "t1"));
    let refused = take_over(&world, "second");
    assert!(refused.exits(5).stderr.contains("whose executor works on 1.1"), "{}", refused.stderr);
    world.write("a", "");
    ends(&world, "t1", "TASK_COMPLETE").silent();
    let taken = take_over(&world, "second");
    assert!(taken.exits(0).stderr.contains("session test-session held this loop"));
}

#[test]
fn complete_is_not_said_before_the_last_commit_is_made() {
    let world = session(&GROUP.replace("- [ ] 1.3 c\n", ""));
    let pipe = world.home().join("gate");
    crate::world::fifo(&pipe);
    // The commit of 1.2 waits, and is refused.
    let hook = format!(
        "git diff --cached --name-only | grep -qx b || exit 0\ncat {}\nexit 1\n",
        pipe.display()
    );
    world.git_hook("pre-commit", &hook);
    for id in ["1.1", "1.2"] {
        given(&calls(&world, &format!("task {id}"), id));
    }
    world.write("a", "");
    world.write("b", "");
    ends(&world, "1.1", "TASK_COMPLETE").silent();
    std::thread::scope(|scope| {
        let judge = scope.spawn(|| ends(&world, "1.2", "TASK_COMPLETE"));
        let held = crate::world::gate(&pipe);
        // 1.2 has passed and is ticked; its commit is being made.
        let early = scope.spawn(|| result_of(&world, "1.1", "x"));
        let next = scope.spawn(|| world.specum(&["next"]));
        drop(held);
        judge.join().unwrap().silent();
        let texts =
            [early.join().unwrap(), next.join().unwrap().stdout, result_of(&world, "1.2", "x")];
        for text in &texts {
            assert!(!text.contains("Every task is done"), "{text}");
        }
        let verdicts = texts.iter().filter(|text| text.contains("Task 1.2 failed")).count();
        assert_eq!(verdicts, 1, "told once: {texts:?}");
    });
    assert_eq!(world.journal("completed").len(), 0);
    assert!(world.read(TASKS).contains("- [ ] 1.2"));
}

#[test]
fn what_an_executor_changes_after_its_verdict_is_in_nobodys_commit() {
    let world = session("- [ ] 1.1 a\n  - **Files**: a\n- [ ] 1.2 b\n  - **Files**: b\n");
    given(&calls(&world, "task 1.1", "t1"));
    world.write("a", "");
    ends(&world, "t1", "TASK_COMPLETE").silent();
    result_of(&world, "t1", "x");
    given(&calls(&world, "task 1.2", "t2"));
    // Somebody has sent the first one a message.
    world.write("extra", "");
    ends(&world, "t1", "I did more.").silent();
    assert_eq!(world.journal("late")[0]["changed"], json!(["extra"]));
    world.write("b", "");
    ends(&world, "t2", "TASK_COMPLETE").silent();
    let committed = world.git(&["log", "--format=", "--name-only"]);
    assert!(committed.lines().any(|path| path == "b"), "{committed}");
    assert!(!committed.contains("extra"), "{committed}");
}

#[test]
fn what_it_changes_before_the_next_task_is_called_is_in_nobodys_commit_either() {
    let world = session("- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 c\n");
    given(&calls(&world, "task 1.1", "t1"));
    world.write("a", "");
    ends(&world, "t1", "TASK_COMPLETE").silent();
    result_of(&world, "t1", "x");
    world.write("extra", "");
    ends(&world, "t1", "I did more.").silent();
    assert_eq!(world.journal("late")[0]["changed"], json!(["extra"]));
    given(&calls(&world, "task 1.2", "t2"));
    world.write("b", "");
    ends(&world, "t2", "TASK_COMPLETE").silent();
    let seen = returns(&world, "t2", &response("x")).system_message();
    let late = "the executor of 1.1 changed extra after its verdict, which is not committed";
    assert!(seen.contains(late), "{seen}");
    let committed = world.git(&["log", "--format=", "--name-only"]);
    assert!(committed.lines().any(|path| path == "b"), "{committed}");
    assert!(!committed.contains("extra"), "{committed}");
    assert!(world.path("extra").exists());
}
