//! Each invariant can fail.

use serde_json::json;

use xtask::campaign::end::{Asked, Commit, End, Rewritten};
use xtask::campaign::invariants::{NOTE, broken};
use xtask::campaign::stage::SHARED_BEGINNING;
use xtask::campaign::story::plan::SHARED;

/// The end of a story in which nothing went wrong.
fn whole() -> End {
    let own = ("out/1.1.txt".to_owned(), "done 1.1\n".to_owned());
    let asked = |id: &str, file, line: Option<&str>| Asked {
        id: id.to_owned(),
        file,
        line: line.map(str::to_owned),
        checked: true,
    };
    let commit = |id: &str, path: &str| Commit {
        tasks: vec![id.to_owned()],
        paths: vec!["specs/plan/tasks.md".to_owned(), path.to_owned()],
    };
    let mut end = End {
        asked: vec![asked("1.1", Some(own), None), asked("1.2", None, Some("done 1.2"))],
        meant: b"- [ ] 1.1 a\n- [ ] 1.2 b\r\n".into(),
        plan: b"- [x] 1.1 a\n- [x] 1.2 b\r\n".into(),
        progress: "## Completed\n- 1.1 a\n- 1.2 b\n## Learnings\n- 1.1 was hard\n".into(),
        journal: ["1.1", "1.2"].map(|id| json!({"event": "passed", "task": {"id": id}})).into(),
        commits: vec![commit("1.1", "out/1.1.txt"), commit("1.2", SHARED)],
        work: [("out/1.1.txt".to_owned(), b"done 1.1\n".to_vec())].into(),
        shared: format!("{SHARED_BEGINNING}done 1.2\n"),
        evidence: ["1.1".to_owned(), "1.2".to_owned()].into(),
        worktrees: vec!["/project".into()],
        references: vec!["refs/heads/main".into(), "refs/specum/plan/kept/1.1-1".into()],
        ..End::default()
    };
    end.before.files.insert("README.md".into(), (0o644, b"mine".into()));
    end.after = end.before.clone();
    end
}

/// Asserts that a change breaks this invariant before any other.
#[track_caller]
fn breaks(invariant: &str, change: impl FnOnce(&mut End)) {
    let mut end = whole();
    change(&mut end);
    assert_eq!(broken(&end).map(|broken| broken.invariant), Some(invariant));
}

#[test]
fn an_end_without_a_fault_is_whole() {
    assert_eq!(broken(&whole()), None);
}

#[test]
fn a_task_that_is_open_is_lost() {
    breaks("no-task-lost", |end| end.plan = end.meant.clone());
}

#[test]
fn a_tick_needs_a_verdict_that_has_not_been_taken_back() {
    breaks("ticked-with-verdict", |end| end.journal.clear());
    breaks("ticked-with-verdict", |end| {
        end.journal.push(json!({"event": "failed", "task": {"id": "1.2"}}));
    });
}

#[test]
fn a_tick_needs_a_check_that_was_run() {
    breaks("check-has-run", |end| end.evidence.clear());
}

#[test]
fn work_is_there_once_and_is_somebodys() {
    breaks("work-is-there", |end| end.work.clear());
    breaks("work-is-there", |end| {
        end.work.insert("out/1.1.txt".into(), b"half\n".into());
    });
    breaks("work-is-there", |end| {
        end.work.insert("out/other.txt".into(), Vec::new());
    });
    breaks("work-is-there", |end| end.shared.push_str("done 1.2\n"));
    breaks("work-is-there", |end| end.shared = "done 1.2\n".into());
}

#[test]
fn a_task_is_committed_once() {
    breaks("committed-once", |end| end.commits.truncate(1));
    breaks("committed-once", |end| end.commits.push(end.commits[0].clone()));
    breaks("committed-once", |end| {
        end.commits.push(Commit { tasks: Vec::new(), paths: Vec::new() });
    });
}

#[test]
fn a_commit_holds_its_work_and_no_more() {
    breaks("commits-hold-their-work", |end| end.commits[0].paths.push("README.md".into()));
    breaks("commits-hold-their-work", |end| end.commits[0].paths.truncate(1));
}

#[test]
fn a_plan_changes_by_its_ticks_alone() {
    breaks("plan-untouched", |end| end.plan.extend_from_slice(b"more\n"));
    breaks("plan-untouched", |end| end.plan.retain(|byte| *byte != b'\r'));
}

#[test]
fn a_task_is_noted_once() {
    breaks("noted-once", |end| end.progress = end.progress.replace("- 1.2 b\n", ""));
    breaks("noted-once", |end| end.progress = end.progress.replace("- 1.2 b", "- 1.2 b\n- 1.2 b"));
}

#[test]
fn the_files_of_the_user_stay_as_they_are() {
    breaks("user-files-untouched", |end| end.after.files.clear());
    breaks("user-files-untouched", |end| {
        end.after.files.insert("new.txt".into(), (0o644, Vec::new()));
    });
    breaks("user-files-untouched", |end| {
        end.after.files.insert("README.md".into(), (0o755, b"mine".into()));
    });
    breaks("user-files-untouched", |end| {
        end.after.status.insert("A  README.md".into());
    });
}

#[test]
fn what_an_agent_deletes_is_gone_and_nothing_else() {
    let mut end = whole();
    end.before.files.insert("ignored".into(), (0o644, Vec::new()));
    end.before.status.insert("?? ignored".into());
    end.may_be_gone.insert("ignored".into());
    assert_eq!(broken(&end), None);
    end.after.files.insert("ignored".into(), (0o644, b"changed".into()));
    assert_eq!(broken(&end).map(|broken| broken.invariant), Some("user-files-untouched"));
}

#[test]
fn a_commit_that_an_agent_drops_is_kept_and_told() {
    let found = |is_kept, is_told| Some(Rewritten { is_kept, is_told });
    breaks("history-kept", |end| end.rewritten = found(false, true));
    breaks("history-kept", |end| end.rewritten = found(true, false));
    let mut end = whole();
    end.rewritten = found(true, true);
    assert_eq!(broken(&end), None);
}

#[test]
fn an_agent_that_was_started_is_charged_unless_the_loop_is_cancelled() {
    breaks("agents-charged", |end| end.agents = 1);
    let mut end = whole();
    end.agents = 1;
    end.journal.push(json!({"event": "cancelled"}));
    assert_eq!(broken(&end), None);
}

#[test]
fn a_note_reaches_every_attempt_that_is_opened_behind_it() {
    let noted = |end: &mut End, task: serde_json::Value| {
        end.journal.insert(0, json!({"event": "noted", "task": task, "text": NOTE}));
        end.journal.insert(1, json!({"event": "opened", "task": {"id": "1.1"}, "id": "a1"}));
        end.briefs.push("read this <!-- a1 -->".into());
    };
    for about in [json!({"id": "1.1"}), serde_json::Value::Null] {
        breaks("notes-reach", |end| noted(end, about.clone()));
        let mut end = whole();
        noted(&mut end, about);
        end.briefs[0].insert_str(0, NOTE);
        assert_eq!(broken(&end), None);
    }
    let mut end = whole();
    noted(&mut end, json!({"id": "1.2"}));
    assert_eq!(broken(&end), None, "it was about another task");
}

#[test]
fn nothing_is_left() {
    breaks("no-process-left", |end| end.processes.push("claude".into()));
    breaks("no-branch-left", |end| end.worktrees.push("/elsewhere".into()));
    breaks("no-branch-left", |end| end.references.push("refs/specum/plan/ready/1.1".into()));
    breaks("no-branch-left", |end| end.references.push("refs/heads/task-1.1".into()));
    breaks("no-file-left", |end| end.leftovers.push(".ralph-state.json".into()));
}
