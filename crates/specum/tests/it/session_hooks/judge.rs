use specum_core::brief::BriefMarker;

use super::*;

/// A project in which 1.1 was given to a sub-agent.
fn delegated(tasks: &str) -> World {
    let world = session(tasks);
    given(&calls(&world, "task 1.1", "toolu_1"));
    world
}

#[test]
fn the_attempt_is_found_by_the_id_of_the_call() {
    let world = delegated(PLAN);
    world.write("a", "");
    ends(&world, "toolu_1", "Made it.\n\nTASK_COMPLETE").silent();
    assert!(world.read(TASKS).starts_with("- [x] 1.1"));
    assert_eq!(world.git(&["log", "-1", "--format=%(trailers:key=Task,valueonly)"]).trim(), "1.1");
}

#[test]
fn without_that_id_the_marker_of_the_brief_counts() {
    for meta in [None, Some("{}"), Some("not JSON"), Some(r#"{"toolUseId":"unknown"}"#)] {
        let world = session(PLAN);
        let brief = given(&calls(&world, "task 1.1", "toolu_1"))["prompt"].clone();
        world.write("a", "");
        let path = transcript("x");
        let first = json!({"type": "user", "message": {"role": "user", "content": brief}});
        let lines =
            format!("{{\"type\":\"summary\"}}\nnot JSON\n{first}\n{{\"type\":\"assistant\"}}\n");
        world.write(&path, lines);
        if let Some(meta) = meta {
            world.write(&path.replace(".jsonl", ".meta.json"), meta);
        }
        stops(&world, &path, &json!({})).silent();
        assert_eq!(recorded(&world, "passed"), ["1.1"], "{meta:?}");
    }
}

#[test]
fn a_marker_of_another_spec_or_behind_the_first_line_is_none_of_ours() {
    let world = delegated(PLAN);
    world.write("a", "");
    let before = world.snapshot();
    let path = transcript("x");
    let marker = |spec: &str| {
        let (task, attempt, id) = ("1.1".into(), 1, None);
        let text = BriefMarker { spec: spec.into(), task, attempt, id }.render();
        json!({"type": "user", "message": {"content": text}}).to_string()
    };
    let plain = json!({"type": "user", "message": {"content": "hello"}}).to_string();
    for lines in [marker("other"), format!("{plain}\n{}", marker("test-spec")), String::new()] {
        world.write(&path, lines + "\n");
        stops(&world, &path, &json!({})).silent();
    }
    stops(&world, "../home/no-such.jsonl", &json!({})).silent();
    stops(&world, &path, &json!({"agent_transcript_path": null})).silent();
    assert_eq!(world.snapshot(), before);
}

#[test]
fn other_agents_and_the_compaction_agent_are_not_judged() {
    let world = delegated(PLAN);
    world.write("a", "");
    let before = world.snapshot();
    for agent in [json!(""), json!("Explore"), json!("other:spec-executor"), json!(null)] {
        ends_with(&world, "toolu_1", &json!({"agent_type": agent})).silent();
    }
    assert_eq!(world.snapshot(), before);
}

#[test]
fn an_attempt_that_is_judged_or_old_is_not_judged_again() {
    let world = delegated(PLAN);
    world.specum(&["fail", "1.1", "--reason", "broke"]).exits(0);
    world.write("a", "");
    let before = world.snapshot();
    ends(&world, "toolu_1", "TASK_COMPLETE").silent();
    assert_eq!(world.snapshot(), before, "attempt 2 is open, this is attempt 1");
    given(&calls(&world, "task 1.1", "toolu_2"));
    ends(&world, "toolu_2", "TASK_COMPLETE").silent();
    let before = world.snapshot();
    for id in ["toolu_1", "toolu_2"] {
        ends(&world, id, "TASK_COMPLETE").silent();
    }
    assert_eq!(world.snapshot(), before);
    assert_eq!(recorded(&world, "passed"), ["1.1"]);
}

#[test]
fn the_orphan_judge_of_a_killed_host_changes_nothing() {
    for tasks in [PLAN, GROUP] {
        let world = delegated(tasks);
        world.write("a", "");
        // Its process is another one than the one that lives under its number.
        let mut state = world.read_state();
        state["owner"]["process"]["started"] = json!("1");
        world.state(&state);
        take_over(&world, "second").exits(0);
        let before = world.snapshot();
        let head = world.git(&["rev-parse", "HEAD"]);
        ends(&world, "toolu_1", "TASK_COMPLETE").silent();
        let mut after = world.snapshot();
        after.retain(|(path, _)| !path.ends_with(".ralph-check.lock"));
        assert_eq!(after, before, "{tasks}");
        assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
        // Nor later, through the door of the new owner.
        world.specum(&["next"]).exits(0);
        assert_eq!(recorded(&world, "passed"), Vec::<String>::new());
    }
}

#[test]
fn an_executor_is_sent_back_twice_within_its_attempt_and_then_has_failed() {
    let world = delegated(PLAN);
    for n in 1..=2 {
        let call = ends(&world, "toolu_1", "TASK_COMPLETE");
        let reason = call.reason();
        assert!(reason.starts_with("Task 1.1 is not done yet:\n- "), "{reason}");
        assert!(reason.contains("test -f a") && reason.contains("TASK_COMPLETE"), "{reason}");
        assert_eq!(recorded(&world, "sent-back").len(), n);
        assert_eq!(world.read_state()["globalIteration"], 1);
    }
    ends(&world, "toolu_1", "TASK_COMPLETE").silent();
    assert_eq!(recorded(&world, "failed"), ["1.1"]);
    assert_eq!(world.read_state()["taskIteration"], 2);
}

#[test]
fn what_is_mended_after_it_was_sent_back_passes_in_the_same_attempt() {
    let world = delegated(PLAN);
    ends(&world, "toolu_1", "It requires manual work.\nTASK_COMPLETE").reason();
    world.write("a", "");
    ends(&world, "toolu_1", "Now.\nTASK_COMPLETE").silent();
    assert!(world.read("specs/test-spec/.progress.md").contains("- 1.1 a (attempt 1)"));
}

#[test]
fn an_executor_that_rewrites_its_check_is_judged_by_the_one_on_record() {
    let world = delegated(PLAN);
    world.write(TASKS, PLAN.replace("`test -f a`", "`true`"));
    ends(&world, "toolu_1", "TASK_COMPLETE").silent();
    assert_eq!(recorded(&world, "waits"), ["1.1"], "neither passed nor failed");
    assert!(world.read(TASKS).contains("- [ ] 1.1"));
    let text = result_of(&world, "toolu_1", "x");
    assert!(text.contains("the check of 1.1 was changed while 1.1 was being worked on"), "{text}");
    assert!(text.contains("`task 1.2`"), "others go on: {text}");

    let world = delegated(PLAN);
    world.write("a", "");
    world.write(TASKS, PLAN.replace("`test -f a`", "`false`").replace("] 1.1 a", "] 1.1 better"));
    ends(&world, "toolu_1", "TASK_COMPLETE").silent();
    assert_eq!(recorded(&world, "passed"), ["1.1"], "and an edit costs nothing");
}

#[test]
fn a_batch_is_judged_with_its_last_result_and_only_what_failed_comes_again() {
    let world = session(GROUP);
    given(&calls(&world, "task 1.1", "t1"));
    given(&calls(&world, "task 1.2", "t2"));
    world.write("b", "");
    world.write("specs/test-spec/.progress-task-1.md", "- second\n");
    world.write("specs/test-spec/.progress-task-0.md", "- first\n");
    ends(&world, "t2", "TASK_COMPLETE").silent();
    assert!(!world.read(TASKS).contains("[x]"), "the other still works");
    assert_eq!(recorded(&world, "passed"), Vec::<String>::new());
    ends(&world, "t1", "TASK_COMPLETE").silent();
    assert_eq!(
        (recorded(&world, "passed"), recorded(&world, "failed")),
        (vec!["1.2".into()], vec!["1.1".into()])
    );
    assert_eq!(recorded(&world, "sent-back"), Vec::<String>::new(), "nobody is there any more");
    let progress = world.read("specs/test-spec/.progress.md");
    assert!(progress.contains("- first\n- second\n"), "{progress}");
    for n in 0..2 {
        assert!(!world.path(&format!("specs/test-spec/.progress-task-{n}.md")).exists());
    }
    let due = world.specum(&["next", "--json"]).json();
    assert_eq!((&due["due"], &due["tasks"][0]["id"]), (&json!("task"), &json!("1.1")));
    assert_eq!(due["tasks"][0]["attempt"], 2);
}

#[test]
fn members_of_a_group_that_tick_boxes_are_judged_like_everybody_else() {
    let world = session(GROUP);
    given(&calls(&world, "task 1.1", "t1"));
    given(&calls(&world, "task 1.2", "t2"));
    // The first ticks its own box, the second one all of them.
    world.write("a", "");
    world.write(TASKS, world.read(TASKS).replace("[ ] 1.1", "[x] 1.1"));
    ends(&world, "t1", "TASK_COMPLETE").silent();
    world.write("b", "");
    world.write(TASKS, world.read(TASKS).replace("[ ]", "[x]"));
    ends(&world, "t2", "TASK_COMPLETE").silent();

    assert_eq!(recorded(&world, "passed"), ["1.1", "1.2"]);
    let trailers = world.git(&["log", "--reverse", "--format=%(trailers:key=Task,valueonly)"]);
    assert_eq!(trailers.split_whitespace().collect::<Vec<_>>(), ["1.1", "1.2"]);
    for (commit, file) in [("HEAD~1", "a"), ("HEAD", "b")] {
        let files = world.git(&["show", "--format=", "--name-only", commit]);
        assert_eq!(files.lines().next(), Some(file), "{files}");
    }
    assert_eq!(
        world.read(TASKS),
        GROUP.replace("[ ] 1.1", "[x] 1.1").replace("[ ] 1.2", "[x] 1.2")
    );
    let answer = returns(&world, "t2", &response("x")).exits(0).json();
    let open_again = "boxes 1.2, 1.3 were ticked without a verdict and are open again";
    let seen = answer["systemMessage"].as_str().unwrap();
    assert!(seen.contains(open_again), "{seen}");
    let text = &answer["hookSpecificOutput"]["updatedToolOutput"]["content"][0]["text"];
    assert!(text.as_str().unwrap().contains(&format!("The {open_again}.")), "{text}");
}

#[test]
fn a_member_of_a_group_that_ticks_its_box_without_work_has_failed() {
    let world = session(GROUP);
    given(&calls(&world, "task 1.1", "t1"));
    given(&calls(&world, "task 1.2", "t2"));
    world.write("b", "");
    world.write(TASKS, world.read(TASKS).replace("[ ] 1.1", "[x] 1.1"));
    ends(&world, "t1", "TASK_COMPLETE").silent();
    ends(&world, "t2", "TASK_COMPLETE").silent();
    assert_eq!(
        (recorded(&world, "passed"), recorded(&world, "failed")),
        (vec!["1.2".into()], vec!["1.1".into()])
    );
    assert_eq!(world.read(TASKS), GROUP.replace("[ ] 1.2", "[x] 1.2"));
}

#[test]
fn an_executor_that_ticks_every_box_and_dies_has_ticked_none() {
    let world = delegated(PLAN);
    world.write(TASKS, PLAN.replace("[ ]", "[x]"));
    result_of(&world, "toolu_1", "API Error: 529 Overloaded");
    let call = calls(&world, "task 1.1", "toolu_2");
    given(&call);
    assert_eq!(world.read(TASKS), PLAN, "1.1 is due");
    let seen = call.system_message();
    assert_eq!(seen, "boxes 1.1, 1.2 were ticked without a verdict and are open again");
    assert_eq!(world.journal("completed").len(), 0);
}

#[test]
fn a_coordinator_that_ticks_the_box_that_is_due_is_sent_back() {
    let world = session(PLAN);
    given(&calls(&world, "task 1.1", "toolu_1"));
    result_of(&world, "toolu_1", "API Error");
    world.write(TASKS, PLAN.replace("[ ] 1.1", "[x] 1.1"));
    let stopped = world.hook("stop", &json!({"prompt_id": "1"})).exits(0).json();
    let context = stopped["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(context.contains("`task 1.1`"), "{stopped}");
    let ticks = "box 1.1 was ticked without a verdict and counts as open";
    assert!(context.contains(ticks), "{stopped}");
    assert!(stopped["systemMessage"].as_str().unwrap().contains(ticks), "{stopped}");
    given(&calls(&world, "task 1.1", "toolu_2"));
    assert_eq!(world.read(TASKS), PLAN);
    assert_eq!(world.journal("unticked")[0]["tasks"], json!(["1.1"]));
}

#[test]
fn a_fix_task_is_on_record_as_soon_as_it_is_inserted() {
    // Inserted with the failure of the last of the group, or with the pass of it.
    for (made, fix, check) in [("a", "1.2.1", "`test -f b`"), ("b", "1.1.1", "`test -f a`")] {
        let world = World::planned(GROUP);
        let recovery = ["implement", "--recovery-mode", "--max-task-iterations", "1"];
        world.in_session(&recovery).exits(0);
        for id in ["1.1", "1.2"] {
            given(&calls(&world, &format!("task {id}"), id));
        }
        world.write(made, "");
        for id in ["1.1", "1.2"] {
            ends(&world, id, "TASK_COMPLETE").silent();
        }
        let tasks = world.read(TASKS);
        let (head, block) = tasks.split_once(&format!("- [ ] {fix} ")).expect("a fix task");
        // An executor that works on after its verdict weakens it.
        let verify = format!("**Verify**: {check}");
        let weak = block.replacen(&verify, "**Verify**: `true`", 1);
        assert_ne!(weak, block, "{tasks}");
        world.write(TASKS, format!("{head}- [ ] {fix} {weak}"));
        let seen = returns(&world, "1.2", &response("x")).system_message();
        let question =
            format!("the check of {fix} was changed while the loop was at work: {check}");
        assert!(seen.contains(&question), "{seen}");
    }
}

#[test]
fn the_story_says_that_a_task_waits_for_others_only_where_there_are_others() {
    let reports = |world: &World| {
        let story = world.specum(&["log"]).exits(0).stdout.clone();
        let lines = story.lines().filter(|line| line.contains(" reported"));
        lines.map(|line| line[21..].to_owned()).collect::<Vec<_>>()
    };
    let world = delegated(PLAN);
    world.write("a", "");
    ends(&world, "toolu_1", "TASK_COMPLETE").silent();
    assert_eq!(reports(&world), ["1.1 reported"]);

    let world = delegated(GROUP);
    given(&calls(&world, "task 1.2", "toolu_2"));
    world.write("a", "");
    world.write("b", "");
    ends(&world, "toolu_2", "TASK_COMPLETE").silent();
    ends(&world, "toolu_1", "TASK_COMPLETE").silent();
    assert_eq!(reports(&world), ["1.2 reported, waits for the others", "1.1 reported"]);
}

#[test]
fn a_session_is_told_of_the_whole_group_that_is_due_and_next_names_the_calls() {
    let world = session(GROUP);
    let start = world.hook("session-start", &json!({"source": "resume"}));
    let due = "\nDue: 1.1 a, 1.2 b (a group of 2, worked at once). Held by this session.\n";
    assert!(start.exits(0).stdout.contains(due), "{}", start.stdout);

    let next = |args: &[&str]| {
        let mut command = world.command();
        command.arg("next").args(args).env("CLAUDE_CODE_SESSION_ID", "test-session");
        call(command, b"").exits(0).stdout.clone()
    };
    let told = next(&[]);
    assert!(told.starts_with("Due now, 2 Agent calls in one message:\n- `task 1.1` for"), "{told}");
    assert!(!told.contains("specum-attempt") && told.len() < 400, "{told}");
    let briefs = next(&["--brief"]);
    assert_eq!(briefs.matches("specum-attempt").count(), 2, "{briefs}");
    assert_eq!(world.specum(&["next"]).exits(0).stdout, briefs, "as outside a session");
    world.specum(&["pause"]).exits(0);
    let mut command = world.command();
    command.arg("next").env("CLAUDE_CODE_SESSION_ID", "test-session");
    assert!(call(command, b"").exits(6).stdout.contains("Paused"));
}

#[test]
fn without_a_repository_the_end_says_that_nothing_is_committed() {
    let world = World::empty();
    world.write("specs/.current-spec", "test-spec\n");
    world.write(TASKS, "- [ ] 1.1 a\n");
    take_over(&world, "test-session").exits(0);
    given(&calls(&world, "task 1.1", "toolu_1"));
    ends(&world, "toolu_1", "TASK_COMPLETE").silent();
    let end = result_of(&world, "toolu_1", "TASK_COMPLETE");
    let nothing = "Every task is done. Nothing is committed: this is no git repository.";
    assert!(end.contains(nothing), "{end}");
    assert!(world.specum(&["next"]).exits(0).stdout.contains(nothing));
    let log = world.specum(&["log"]).exits(0).stdout.clone();
    assert!(log.contains("\nuncommitted 1.1: there was no git repository to commit to\n"), "{log}");
}

#[test]
fn a_verdict_that_was_cut_off_is_made_by_next() {
    // The check kills its judge, once.
    let deadly = "`if rm die; then kill -9 $PPID; fi; test -f a`";
    for (tasks, ids) in [(PLAN, &["1.1"][..]), (GROUP, &["1.1", "1.2"])] {
        let world = session(&tasks.replace("`test -f a`", deadly));
        for name in ["a", "b", "die"] {
            world.write(name, "");
        }
        for id in ids {
            given(&calls(&world, &format!("task {id}"), id));
        }
        for id in &ids[1..] {
            ends(&world, id, "TASK_COMPLETE").silent();
        }
        let before = world.read(TASKS);
        assert_eq!(ends(&world, ids[0], "TASK_COMPLETE").code, None, "the judge is killed");
        assert_eq!((world.read(TASKS), recorded(&world, "passed")), (before, vec![]));
        let text = result_of(&world, ids[0], "TASK_COMPLETE");
        assert!(text.contains("`specum next`"), "{text}");
        let call = world.specum(&["next"]);
        assert!(call.exits(0).stdout.contains("Due: task"), "{}", call.stdout);
        assert_eq!(recorded(&world, "passed"), ids, "{tasks}");
    }
}

#[test]
fn a_verdict_that_was_cut_off_is_made_before_its_task_is_given_out_again() {
    let world =
        session(&PLAN.replace("`test -f a`", "`if rm die; then kill -9 $PPID; fi; test -f a`"));
    world.write("die", "");
    given(&calls(&world, "task 1.1", "t1"));
    assert_eq!(ends(&world, "t1", "TASK_COMPLETE").code, None);
    given(&calls(&world, "task 1.1", "t2"));
    assert_eq!(recorded(&world, "failed"), ["1.1"]);
    let call = world.specum(&["next"]);
    assert!(call.exits(0).stdout.contains("attempt 2"), "{}", call.stdout);
}
