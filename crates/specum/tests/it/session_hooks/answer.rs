use super::*;

#[test]
fn the_verdict_and_the_next_task_stand_in_the_place_of_the_result() {
    let world = session(PLAN);
    given(&calls(&world, "task 1.1", "t1"));
    world.write("a", "");
    ends(&world, "t1", "TASK_COMPLETE").silent();
    let received = response("a long story\n\nTASK_COMPLETE");
    let answer = returns(&world, "t1", &received).exits(0).json();
    let mut output = answer["hookSpecificOutput"]["updatedToolOutput"].clone();
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "PostToolUse");
    let text = output["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("Task 1.1 passed: verified"), "{text}");
    assert!(text.contains("Due now, one Agent call:\n- `task 1.2`"), "{text}");
    output["content"] = received["content"].clone();
    assert_eq!(output, received, "everything else as it came");
}

#[test]
fn a_failed_attempt_comes_again_with_its_number() {
    let world = session(PLAN);
    given(&calls(&world, "task 1.1", "t1"));
    ends(&world, "t1", "TASK_COMPLETE").reason();
    ends(&world, "t1", "TASK_COMPLETE").reason();
    ends(&world, "t1", "TASK_COMPLETE").silent();
    let text = result_of(&world, "t1", "x");
    assert!(text.starts_with("Task 1.1 failed (attempt 1): "), "{text}");
    assert!(text.contains("- `task 1.1` for `ralph-specum:spec-executor`: a, attempt 2"), "{text}");
}

#[test]
fn files_outside_the_tasks_own_are_named_to_the_person() {
    let world = session("- [ ] 1.1 a\n  - **Files**: `a`\n  - **Verify**: `test -f a`\n");
    given(&calls(&world, "task 1.1", "t1"));
    world.write("a", "");
    world.write("mine.txt", "a person's, meanwhile");
    ends(&world, "t1", "TASK_COMPLETE").silent();
    let answer = returns(&world, "t1", &response("x")).exits(0).json();
    let seen = answer["systemMessage"].as_str().expect("a line for the person");
    assert!(seen.contains("1.1 changed mine.txt outside its Files"), "{seen}");
    let committed = world.git(&["show", "--format=", "--name-only", "HEAD"]);
    assert!(committed.contains("mine.txt\n"), "it cannot be told apart: {committed}");
}

#[test]
fn a_branch_that_was_switched_is_named_to_everybody() {
    let world = session(PLAN);
    given(&calls(&world, "task 1.1", "t1"));
    world.write("a", "");
    world.git(&["switch", "--quiet", "-c", "elsewhere"]);
    ends(&world, "t1", "TASK_COMPLETE").exits(0);
    let why = "HEAD is on elsewhere, the attempt began on main";
    let text = result_of(&world, "t1", "x");
    assert!(text.contains(why), "the coordinator: {text}");
    let status = world.specum(&["status"]).exits(0).stdout.clone();
    assert!(status.contains(why), "the person: {status}");
}

#[test]
fn in_a_group_only_the_last_one_carries_what_is_next() {
    let world = session(GROUP);
    for id in ["1.1", "1.2"] {
        given(&calls(&world, &format!("task {id}"), id));
    }
    world.write("a", "");
    world.write("b", "");
    ends(&world, "1.1", "TASK_COMPLETE").silent();
    let text = result_of(&world, "1.1", "x");
    assert_eq!(text, "Task 1.1 has ended; its verdict comes with the last of the group.\n");
    ends(&world, "1.2", "TASK_COMPLETE").silent();
    let last = result_of(&world, "1.2", "x");
    assert!(last.starts_with("Task 1.1 passed: "), "{last}");
    assert!(last.contains("\nTask 1.2 passed: ") && last.contains("- `task 1.3`"), "{last}");
    // The host may come with the first one only now.
    assert_eq!(result_of(&world, "1.1", "x"), "Task 1.1 has ended; see the others of its group.\n");
}

#[test]
fn the_last_task_ends_with_the_word() {
    let world = session("- [ ] 1.1 a\n");
    given(&calls(&world, "task 1.1", "t1"));
    ends(&world, "t1", "TASK_COMPLETE").silent();
    let text = result_of(&world, "t1", "x");
    assert!(text.contains("Every task is done. Say ALL_TASKS_COMPLETE alone on a line"), "{text}");
    assert!(!world.path(STATE).exists());
}

#[test]
fn a_commit_that_git_refuses_is_a_failure_and_nothing_else() {
    let world = session(PLAN);
    world.git_hook("pre-commit", "echo lint says no >&2\nexit 1\n");
    given(&calls(&world, "task 1.1", "t1"));
    world.write("a", "");
    ends(&world, "t1", "TASK_COMPLETE").silent();
    let text = result_of(&world, "t1", "x");
    assert!(
        text.starts_with("Task 1.1 failed (attempt 1): ") && text.contains("lint says no"),
        "{text}"
    );
    assert!(text.contains("- `task 1.1`") && !text.contains("passed"), "{text}");
}

#[test]
fn an_error_of_the_hosts_api_is_no_failed_attempt() {
    let world = session(PLAN);
    given(&calls(&world, "task 1.1", "t1"));
    let text = result_of(&world, "t1", "API Error: 500 Internal server error.");
    assert!(text.contains("counts as no attempt") && text.contains("API Error: 500"), "{text}");
    assert!(text.contains("Call the Agent tool again with the prompt `task 1.1`"), "{text}");
    assert_eq!(recorded(&world, "returned"), ["1.1"]);
    assert_eq!(world.read_state()["globalIteration"], 1);
    given(&calls(&world, "task 1.1", "t2"));
}

#[test]
fn calls_that_are_not_ours_keep_their_result() {
    let world = session(PLAN);
    returns(&world, "unknown", &response("x")).silent();
    let input = json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_response": {"stdout": ""}});
    world.hook("post-tool-use", &input).silent();
    world.hook("post-tool-use", &json!({"tool_name": "Agent"})).silent();
}

#[test]
fn a_result_of_any_shape_is_answered() {
    for shape in [json!("a text"), json!(["x"]), json!(null), json!(7), json!({"content": "x"})] {
        let world = session(PLAN);
        given(&calls(&world, "task 1.1", "t1"));
        let answer = returns(&world, "t1", &shape);
        assert_eq!(answer.code, Some(0), "{shape}: {}", answer.stderr);
        let output = &answer.json()["hookSpecificOutput"]["updatedToolOutput"];
        assert!(output["content"][0]["text"].as_str().unwrap().contains("task 1.1"), "{shape}");
    }
}

#[test]
fn a_call_that_has_only_begun_is_not_taken_for_one_that_has_ended() {
    for status in ["async_launched", "remote_launched", "teammate_spawned"] {
        let world = session(PLAN);
        given(&calls(&world, "task 1.1", "t1"));
        let answer = returns(&world, "t1", &json!({"status": status})).exits(0).json();
        assert_eq!(answer["continue"], false, "{status}: {answer}");
        assert_eq!(recorded(&world, "returned"), Vec::<String>::new(), "{status}");
        let twice = refused(&calls(&world, "task 1.1", "t2"));
        assert!(twice.contains("is being worked on by another call"), "{status}: {twice}");
    }
}
