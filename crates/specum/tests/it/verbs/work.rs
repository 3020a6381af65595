use std::fs;

use serde_json::json;
use specum_core::digest::{ContentDigest, Digest};

use crate::world::{JOURNAL, PROGRESS, TASKS, World, call};

const PLAN: &str = "- [ ] 1.1 Write a\n  - **Files**: a.txt\n  - **Verify**: `test -f a.txt`\n  - **Commit**: `feat: add a`\n- [ ] 1.2 Then b\n";

fn committed(world: &World, commit: &str) -> Vec<String> {
    let shown = world.git(&["show", "--name-only", "--format=", commit]);
    let mut files: Vec<String> = shown.lines().map(str::to_owned).collect();
    files.sort();
    files
}

/// A hook of git that refuses every commit.
fn refuse_commits(world: &World, words: &str) {
    world.git_hook("pre-commit", &format!("echo '{words}' >&2\nexit 1\n"));
}

#[test]
fn implement_writes_the_state_and_prints_the_first_piece_of_work() {
    let world = World::with_tasks(PLAN);
    fs::remove_file(world.path("specs/test-spec/.ralph-state.json")).unwrap();
    let call = world.specum(&["implement", "--max-task-iterations", "7"]);
    call.exits(0);
    assert!(call.stdout.starts_with(
        "test-spec: 0 of 2 tasks done\n\nDue: task 1.1 for spec-executor, attempt 1\n\n- [ ] 1.1 Write a\n"
    ));
    assert!(
        call.stdout.contains("say TASK_COMPLETE") && call.stdout.contains("`specum finish 1.1`")
    );
    let state = world.read_state();
    for (name, value) in [
        ("phase", json!("execution")),
        ("taskIndex", json!(0)),
        ("totalTasks", json!(2)),
        ("taskIteration", json!(1)),
        ("maxTaskIterations", json!(7)),
        ("globalIteration", json!(1)),
        ("maxGlobalIterations", json!(100)),
        ("recoveryMode", json!(false)),
        ("awaitingApproval", json!(false)),
    ] {
        assert_eq!(state[name], value, "{name}");
    }
}

#[test]
fn implement_keeps_the_fields_of_others_and_their_order() {
    let world = World::with_tasks(PLAN);
    world.raw_state(r#"{"zeta":[1],"phase":"tasks","name":"x","taskIndex":9,"basePath":"./specs/x","alpha":null}"#);
    world.specum(&["implement", "--json"]).exits(0);
    let text = world.read("specs/test-spec/.ralph-state.json");
    let at =
        |name: &str| text.find(&format!("\"{name}\"")).unwrap_or_else(|| panic!("{name}: {text}"));
    assert!(at("zeta") < at("phase") && at("phase") < at("name") && at("basePath") < at("alpha"));
    let state = world.read_state();
    assert_eq!((&state["phase"], &state["taskIndex"]), (&json!("execution"), &json!(0)));
    assert_eq!((&state["zeta"], &state["name"]), (&json!([1]), &json!("x")));
}

#[test]
fn a_missing_progress_file_is_made_when_the_loop_starts_and_one_that_is_there_is_kept() {
    let world = World::started(PLAN);
    let progress = world.read(PROGRESS);
    let headings: Vec<&str> = progress.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(
        headings,
        [
            "# Progress: test-spec",
            "## Goal",
            "## Completed Tasks",
            "## Failed Attempts",
            "## Learnings",
            "## Blockers"
        ]
    );
    world.finish("1.1", "TASK_COMPLETE").exits(1);
    let told = world.read(PROGRESS);
    assert!(told.contains("- 1.1 attempt 1: "), "{told}");
    world.specum(&["implement"]).exits(0);
    assert_eq!(world.read(PROGRESS), told);
}

#[test]
fn next_gives_the_same_again_until_it_is_finished() {
    let world = World::started(PLAN);
    let first = world.specum(&["next"]).exits(0).stdout.clone();
    let state = world.read("specs/test-spec/.ralph-state.json");
    let journal = world.read("specs/test-spec/.ralph-journal.jsonl");
    assert_eq!(world.specum(&["next"]).stdout, first);
    assert_eq!(world.read("specs/test-spec/.ralph-state.json"), state);
    assert_eq!(world.read("specs/test-spec/.ralph-journal.jsonl"), journal);
    let due = world.specum(&["next", "--json"]).json();
    assert_eq!(due["due"], "task");
    assert_eq!((&due["tasks"][0]["id"], &due["tasks"][0]["attempt"]), (&json!("1.1"), &json!(1)));
    assert!(PLAN.starts_with(due["tasks"][0]["block"].as_str().unwrap().trim_end()));
}

#[test]
fn finish_ticks_notes_and_commits_with_the_tasks_message_and_nothing_of_others() {
    let world = World::planned(PLAN);
    // Somebody's own work: there before, and staged.
    world.write("staged.txt", "theirs");
    world.git(&["add", "staged.txt"]);
    world.specum(&["implement"]).exits(0);
    world.write("a.txt", "a");
    let call = world.finish("1.1", "Done.\n\nTASK_COMPLETE\n");
    call.exits(0);
    assert!(call.stdout.contains("1.1 passed: verified, ticked, commit "), "{}", call.stdout);
    assert!(call.stdout.contains("\nTASK_COMPLETE\n") && call.stdout.contains("Due: task 1.2"));
    let message = world.git(&["log", "-1", "--format=%B"]);
    let (message, id) = message.trim_end().split_once("\nAttempt-Id: ").unwrap();
    assert_eq!(message, "feat: add a\n\nSpec: test-spec\nTask: 1.1\nAttempt: 1");
    assert!(world.read(JOURNAL).contains(&format!("\"id\":\"{id}\"")), "{id} is on record");
    assert_eq!(committed(&world, "HEAD"), ["a.txt", PROGRESS, TASKS]);
    assert_eq!(world.git(&["status", "--porcelain"]), "A  staged.txt\n", "it stays as it was");
    assert!(world.read(TASKS).starts_with("- [x] 1.1 Write a\n"));
    assert!(world.read(PROGRESS).contains("- 1.1 Write a (attempt 1)\n"));
}

#[test]
fn what_was_changed_before_the_attempt_is_not_committed_with_it() {
    let world = World::with_tasks(PLAN);
    world.git_init();
    world.write("mine.txt", "mine");
    world.specum(&["implement"]).exits(0);
    world.write("a.txt", "a");
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    assert_eq!(committed(&world, "HEAD"), ["a.txt", PROGRESS, TASKS].map(str::to_owned));
    assert!(world.git(&["status", "--porcelain"]).contains("?? mine.txt"));
}

#[test]
fn finish_in_json_carries_the_verdict() {
    let world = World::started(PLAN);
    let failed = world.specum_with(&["finish", "1.1", "--json"], b"TASK_COMPLETE");
    let verdict = failed.exits(1).json();
    assert_eq!((&verdict["task"], &verdict["attempt"]), (&json!("1.1"), &json!(1)));
    assert_eq!((&verdict["passed"], &verdict["commit"]), (&json!(false), &json!(null)));
    assert_eq!(verdict["failures"].as_array().unwrap().len(), 1);
    world.specum(&["next"]).exits(0);
    world.write("a.txt", "a");
    world.write("b.txt", "b");
    let passed = world.specum_with(&["finish", "1.1", "--json"], b"TASK_COMPLETE");
    let verdict = passed.exits(0).json();
    assert_eq!((&verdict["passed"], &verdict["attempt"]), (&json!(true), &json!(2)));
    assert_eq!(verdict["outside"], json!(["b.txt"]));
    assert_eq!(verdict["commit"].as_str().unwrap(), world.git(&["rev-parse", "HEAD"]).trim());
}

#[test]
fn finish_needs_a_task_that_is_open() {
    let world = World::started(PLAN);
    assert!(world.finish("9.9", "TASK_COMPLETE").exits(3).stderr.contains("no task 9.9"));
    let call = world.finish("1.2", "TASK_COMPLETE");
    assert!(call.exits(3).stderr.contains("task 1.2 has no open attempt"), "{}", call.stderr);
    world.write("a.txt", "");
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    let call = world.finish("1.1", "TASK_COMPLETE");
    assert!(call.exits(3).stderr.contains("task 1.1 has no open attempt"), "{}", call.stderr);
}

#[test]
fn a_contradiction_is_named_and_every_other_failure_beside_it() {
    let world = World::started(PLAN);
    let call = world.finish("1.1", "This requires manual testing.\nTASK_COMPLETE");
    call.exits(1);
    assert!(call.stdout.contains("CONTRADICTION: claimed complete but"), "{}", call.stdout);
    let verdict = call.stdout.split("Due: ").next().unwrap();
    assert_eq!(verdict.matches("\n- ").count(), 2, "{verdict}");
}

#[test]
fn too_many_failures_block_the_loop_until_a_person_resumes_it() {
    let world = World::started("- [ ] 1.1 a\n  - **Verify**: `false`\n");
    world.specum(&["implement", "--max-task-iterations", "2"]).exits(0);
    world.finish("1.1", "TASK_COMPLETE").exits(1);
    let call = world.finish("1.1", "TASK_COMPLETE");
    assert!(call.exits(1).stdout.contains("Blocked: task 1.1 failed 2 times"), "{}", call.stdout);
    assert_eq!(world.specum(&["next", "--json"]).exits(6).json()["due"], "blocked");
    world.stop().silent();
    assert!(world.read(PROGRESS).contains("## Blockers\n\n- 1.1 failed 2 times"));
    world.specum(&["implement"]).exits(6);
    world.specum(&["resume"]).exits(1);
    let call = world.person(&["resume"]);
    assert!(call.contains("another round"), "{call}");
    assert!(world.specum(&["next"]).exits(0).stdout.contains("Due: task 1.1"));
}

#[test]
fn specums_own_files_never_show_in_git_status() {
    let world = World::started(PLAN);
    world.in_session(&["next"]).exits(0);
    world.stop().reason();
    world.specum(&["switch", "test-spec"]).exits(0);
    world.write("specs/test-spec/.progress-task-3.md", "notes");
    // The progress file is the user's, and goes into the first commit.
    let shown = world.git(&["status", "--porcelain", "--untracked-files=all"]);
    assert_eq!(shown, format!("?? {PROGRESS}\n"));
    world.write("a.txt", "");
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    world.finish("1.2", "TASK_COMPLETE").exits(0);
    world.write("specs/other/tasks.md", PLAN);
    world.specum(&["cancel", "--remove", "other"]).exits(0);
    assert_eq!(world.git(&["status", "--porcelain", "--untracked-files=all"]), "");
    let ever = world.git(&["log", "--all", "--name-only", "--format="]);
    for name in [".ralph-state.json", ".ralph-hook.json", ".ralph-journal", ".ralph.lock"] {
        assert!(!ever.contains(name), "{name}: {ever}");
    }
}

#[test]
fn finding_28_a_progress_file_that_is_ignored_stays_out_of_the_commit() {
    let world = World::with_tasks(PLAN);
    world.write(".gitignore", ".progress.md\nspecs/*/.progress.md\n");
    world.git_init();
    world.specum(&["implement"]).exits(0);
    world.write("a.txt", "");
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    assert!(!committed(&world, "HEAD").contains(&PROGRESS.to_owned()));
    world.write("specs/test-spec/.gitignore", "*\n");
    world.finish("1.2", "TASK_COMPLETE").exits(0);
    assert!(committed(&world, "HEAD").contains(&TASKS.to_owned()), "what is tracked stays so");
}

#[test]
fn a_commit_hook_that_refuses_gives_a_failed_attempt_in_gits_words() {
    let world = World::started(PLAN);
    refuse_commits(&world, "lint says no");
    world.write("a.txt", "");
    let head = world.git(&["rev-parse", "HEAD"]);
    let call = world.finish("1.1", "TASK_COMPLETE");
    assert!(call.exits(1).stdout.contains("lint says no"), "{}", call.stdout);
    assert!(!call.stdout.contains("passed") && !call.stdout.contains("\nTASK_COMPLETE\n"));
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    assert!(world.read(TASKS).starts_with("- [ ] 1.1 Write a\n"), "{}", world.read(TASKS));
    let progress = world.read(PROGRESS);
    assert!(!progress.contains("- 1.1 Write a (attempt"), "{progress}");
    assert!(
        progress.contains("- 1.1 attempt 1: ") && progress.contains("lint says no"),
        "{progress}"
    );
    fs::remove_file(world.path(".git/hooks/pre-commit")).unwrap();
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    assert!(committed(&world, "HEAD").contains(&"a.txt".to_owned()), "the work is not lost");
}

#[test]
fn a_title_rewritten_while_its_commit_is_refused_does_not_hold_up_the_loop() {
    let world = World::started(PLAN);
    refuse_commits(&world, "no");
    let rewrites = "sed -i 's/ Write a$/ Write it/' specs/test-spec/tasks.md\nexit 1";
    let hook = world.read(".git/hooks/pre-commit").replace("exit 1", rewrites);
    world.write(".git/hooks/pre-commit", hook);
    world.write("a.txt", "");
    let call = world.finish("1.1", "TASK_COMPLETE");
    assert!(call.exits(1).stdout.contains("failed (attempt 1)"), "{}", call.stdout);
    assert!(world.read(TASKS).starts_with("- [ ] 1.1 Write it\n"), "{}", world.read(TASKS));
    world.specum(&["next"]).exits(0);
}

#[test]
fn commits_refused_again_and_again_use_up_the_attempts() {
    let world = World::started(PLAN);
    world.specum(&["implement", "--max-task-iterations", "3"]).exits(0);
    refuse_commits(&world, "no");
    world.write("a.txt", "");
    for attempt in 1..=3 {
        let call = world.finish("1.1", "TASK_COMPLETE");
        assert!(
            call.exits(1).stdout.contains(&format!("failed (attempt {attempt})")),
            "{}",
            call.stdout
        );
        assert_eq!(world.read_state()["globalIteration"], attempt + 1, "one attempt counts once");
    }
    assert!(world.specum(&["next"]).exits(6).stdout.contains("1.1 failed 3 times"));
}

#[test]
fn a_failure_in_a_batch_does_not_touch_what_its_neighbour_has_done() {
    let world = World::started(
        "- [ ] 1.1 [P] a\n  - **Files**: a.txt\n  - **Verify**: `test -f a.txt`\n- [ ] 1.2 [P] b\n  - **Files**: b.txt\n  - **Verify**: `test -f b.txt`\n",
    );
    world.write("b.txt", "the neighbour's work");
    world.finish("1.1", "TASK_COMPLETE").exits(1);
    world.finish("1.2", "TASK_COMPLETE").exits(0);
    assert!(
        committed(&world, "HEAD").contains(&"b.txt".to_owned()),
        "{:?}",
        committed(&world, "HEAD")
    );
    assert_eq!(world.read_state()["taskIndex"], 0, "the first that failed");
    world.write("a.txt", "");
    let call = world.specum(&["next"]);
    assert!(call.exits(0).stdout.contains("Due: task 1.1 for spec-executor, attempt 2"));
}

#[test]
fn a_batch_is_not_joined_by_a_task_beyond_it_while_it_runs() {
    let tasks: String =
        (1..=6).map(|n| format!("- [ ] 1.{n} [P] t\n  - **Files**: f{n}\n")).collect();
    let world = World::started(&tasks);
    world.write("f2", "done by the second executor");
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    let due = world.specum(&["next", "--json"]).json();
    let ids: Vec<&str> =
        due["tasks"].as_array().unwrap().iter().map(|t| t["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["1.2", "1.3", "1.4", "1.5"]);
    world.finish("1.2", "TASK_COMPLETE").exits(0);
    assert!(
        committed(&world, "HEAD").contains(&"f2".to_owned()),
        "{:?}",
        committed(&world, "HEAD")
    );
}

#[test]
fn without_a_repository_the_work_goes_on_without_commits() {
    let world = World::with_tasks(PLAN);
    world.specum(&["implement"]).exits(0);
    world.write("a.txt", "");
    let call = world.finish("1.1", "TASK_COMPLETE");
    assert!(call.exits(0).stdout.contains("1.1 passed: verified, ticked, not committed"));
    assert!(world.finish("1.2", "TASK_COMPLETE").stdout.ends_with("ALL_TASKS_COMPLETE\n"));
    assert!(!world.path("specs/test-spec/.ralph-state.json").exists());
    assert!(world.path(PROGRESS).exists());
}

#[test]
fn an_executor_that_ticked_and_committed_itself_is_not_punished() {
    let world = World::started(PLAN);
    world.write("a.txt", "a");
    world.write(TASKS, PLAN.replacen("[ ]", "[x]", 1));
    world.git(&["add", "a.txt", TASKS]);
    world.git(&["commit", "--quiet", "-m", "mine"]);
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    assert_eq!(committed(&world, "HEAD"), [PROGRESS.to_owned()], "only the rest");
    assert_eq!(committed(&world, "HEAD~1"), ["a.txt", TASKS].map(str::to_owned));
}

#[test]
fn the_end_of_a_long_result_counts() {
    let world = World::started("- [ ] 1.1 a\n");
    let long = "x".repeat(80 * 1024 * 1024);
    world.finish("1.1", &format!("TASK_COMPLETE\n{long}")).exits(1);
    world.finish("1.1", &format!("{long}\nTASK_COMPLETE\n")).exits(0);
}

#[test]
fn a_result_may_stand_in_a_file() {
    let world = World::started("- [ ] 1.1 a\n");
    let call = world.specum(&["finish", "1.1", "--result", "none.txt"]);
    assert!(call.exits(1).stderr.contains("cannot read none.txt"), "{}", call.stderr);
    world.write("result.txt", "TASK_COMPLETE\n");
    world.specum(&["finish", "1.1", "--result", "result.txt"]).exits(0);
    assert!(world.read(TASKS).starts_with("- [x] 1.1"));
}

#[test]
fn any_name_and_any_kind_of_change_is_committed() {
    let world = World::with_tasks("- [ ] 1.1 a\n");
    fs::remove_file(world.path("specs/test-spec/.ralph-state.json")).unwrap();
    world.write("gone.txt", "x");
    world.write("old name.txt", "y");
    world.git_init();
    world.specum(&["implement"]).exits(0);
    fs::remove_file(world.path("gone.txt")).unwrap();
    fs::rename(world.path("old name.txt"), world.path("new name.txt")).unwrap();
    for name in ["ü ñ.txt", "*.txt", ":(top)x", "-dash", "new\nline", "\"quoted\""] {
        world.write(name, "z");
    }
    let call = world.finish("1.1", "TASK_COMPLETE");
    assert!(call.exits(0).stdout.contains("1.1 passed"), "{}", call.stdout);
    assert_eq!(world.git(&["status", "--porcelain", "--untracked-files=all"]), "");
    assert!(!world.git(&["ls-files"]).contains("gone.txt"));
}

#[test]
fn a_file_that_was_staged_and_then_deleted_does_not_stand_in_the_way() {
    let world = World::started("- [ ] 1.1 a\n");
    world.write("brief.txt", "x");
    world.git(&["add", "brief.txt"]);
    fs::remove_file(world.path("brief.txt")).unwrap();
    world.write("kept.txt", "y");
    let call = world.finish("1.1", "TASK_COMPLETE");
    assert_eq!(call.code, Some(0), "{}{}", call.stdout, call.stderr);
    assert!(committed(&world, "HEAD").contains(&"kept.txt".to_owned()));
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

#[test]
fn the_notes_of_a_batch_are_merged_in_the_order_of_the_tasks() {
    let world = World::started("- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n");
    world.write("specs/test-spec/.progress-task-1.md", "second note\n");
    world.write("specs/test-spec/.progress-task-0.md", "first note\n");
    world.finish("1.2", "TASK_COMPLETE").exits(0);
    assert!(world.path("specs/test-spec/.progress-task-0.md").exists(), "the batch still runs");
    let call = world.finish("1.1", "TASK_COMPLETE");
    assert!(call.exits(0).stdout.contains("\nBATCH_COMPLETE\n"), "{}", call.stdout);
    let progress = world.read(PROGRESS);
    assert!(progress.find("first note") < progress.find("second note"), "{progress}");
    assert!(progress.contains("## Learnings\n\nfirst note\nsecond note\n"), "{progress}");
    for index in 0..2 {
        assert!(!world.path(&format!("specs/test-spec/.progress-task-{index}.md")).exists());
    }
    assert_eq!(world.git(&["status", "--porcelain"]), "", "and committed");
}

#[test]
fn an_executor_that_committed_a_deletion_does_not_stand_in_the_way() {
    let world = World::with_tasks("- [ ] 1.1 a\n");
    world.write("gone.txt", "x");
    world.git_init();
    world.specum(&["implement"]).exits(0);
    world.git(&["rm", "--quiet", "gone.txt"]);
    world.git(&["commit", "--quiet", "-m", "mine"]);
    let call = world.finish("1.1", "TASK_COMPLETE");
    assert_eq!(call.code, Some(0), "{}{}", call.stdout, call.stderr);
    assert_eq!(committed(&world, "HEAD"), [PROGRESS, TASKS].map(str::to_owned));
}

#[test]
fn a_batch_keeps_apart_what_its_tasks_have_done() {
    let world = World::started(
        "- [ ] 1.1 [P] a\n  - **Files**: a.txt\n- [ ] 1.2 [P] b\n  - **Files**: b.txt\n",
    );
    world.write("a.txt", "");
    world.write("b.txt", "");
    for (id, file) in [("1.1", "a.txt"), ("1.2", "b.txt")] {
        let call = world.specum_with(&["finish", id, "--json"], b"TASK_COMPLETE");
        assert_eq!(call.exits(0).json()["outside"], json!([]), "{id}");
        assert_eq!(committed(&world, "HEAD")[..1], [file.to_owned()], "{id}");
    }
}

#[test]
fn a_project_below_the_root_of_its_repository_names_its_own_files() {
    let world = World::started(PLAN);
    let inner =
        ["specs/.current-spec", TASKS].map(|path| (format!("sub/{path}"), world.read(path)));
    inner.iter().for_each(|(path, text)| world.write(path, text));
    let specum = |args: &[&str]| {
        let mut command = world.command();
        command.args(args).current_dir(world.path("sub"));
        call(command, b"TASK_COMPLETE")
    };
    specum(&["implement"]).exits(0);
    world.write("sub/a.txt", "");
    let verdict = specum(&["finish", "1.1", "--json"]).exits(0).json();
    assert_eq!(verdict["outside"], json!([]));
    assert!(committed(&world, "HEAD").contains(&"sub/a.txt".to_owned()));
}

#[test]
fn a_file_of_a_person_that_an_older_version_has_recorded_stays_out_of_the_commit() {
    let world = World::planned(PLAN);
    world.write("mine.txt", "mine");
    world.write("shared.txt", "mine too");
    world.specum(&["implement"]).exits(0);
    world.specum(&["next"]).exits(0);
    let in_older_form = |journal: String| {
        ["mine", "mine too"].iter().fold(journal, |journal, content| {
            let (now, before) =
                (ContentDigest::of(content.as_bytes()), Digest::of(content.as_bytes()));
            assert!(journal.contains(&now.to_string()), "{journal}");
            journal.replace(&now.to_string(), &before.hex())
        })
    };
    world.write(JOURNAL, in_older_form(world.read(JOURNAL)));
    // Its copy would bring the newer form back.
    fs::remove_dir_all(world.path(".git/specum")).unwrap();
    world.write("a.txt", "");
    world.write("shared.txt", "changed by the attempt");
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    let files = committed(&world, "HEAD");
    assert_eq!(files, ["a.txt", "shared.txt", PROGRESS, TASKS]);
}
