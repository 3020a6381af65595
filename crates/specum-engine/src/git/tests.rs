use super::*;

const OBJECT: &str = "0123456789012345678901234567890123456789";

/// An entry for a changed path: what index and files say, and what of a submodule.
fn changed(what: &str, submodule: &str, path: &str) -> String {
    format!("1 {what} {submodule} 100644 100644 100755 {OBJECT} {OBJECT} {path}")
}

fn parsed(entries: &[&str]) -> Status {
    Status::parse((entries.join("\0") + "\0").as_bytes())
}

#[test]
fn a_status_tells_head_index_and_files_apart() {
    let status = parsed(&[
        &format!("# branch.oid {OBJECT}"),
        "# branch.head main",
        &changed("M.", "N...", "staged"),
        &changed(".M", "N...", "with two  blanks"),
        &changed("AM", "N...", "both"),
        "? new/",
        "! ignored",
    ]);
    assert_eq!((status.head.as_deref(), status.branch.as_deref()), (Some(OBJECT), Some("main")));
    assert_eq!(status.changed, ["staged", "with two  blanks", "both", "new/"]);
    assert_eq!(status.staged, ["staged", "both"]);
    assert_eq!(status.unstaged, ["with two  blanks", "both", "new/"]);
    let entries = status.staged_entries.expect("nothing is in conflict");
    assert_eq!(entries.iter().map(|entry| &entry.path).collect::<Vec<_>>(), ["staged", "both"]);
}

#[test]
fn a_status_before_the_first_commit_and_with_a_detached_head_knows_no_names() {
    let status = parsed(&["# branch.oid (initial)", "# branch.head (detached)"]);
    assert_eq!((&status.head, &status.branch), (&None, &None));
    assert_eq!(status, Status { staged_entries: Some(Vec::new()), ..Status::default() });
}

#[test]
fn a_conflict_says_nothing_that_could_be_staged_again() {
    let conflict =
        format!("u UU N... 100644 100644 100644 100644 {OBJECT} {OBJECT} {OBJECT} in conflict");
    let status = parsed(&[&changed("M.", "N...", "a"), &conflict, &changed("M.", "N...", "b")]);
    assert_eq!(status.changed, ["a", "in conflict", "b"]);
    assert_eq!(status.staged_entries, None);
}

#[test]
fn a_submodule_is_dirty_by_what_is_in_it_and_not_by_another_commit() {
    for (submodule, is_dirty) in
        [("SC..", false), ("S.M.", true), ("S..U", true), ("SCMU", true), ("N...", false)]
    {
        let status = parsed(&[&changed(".M", submodule, "sub")]);
        assert_eq!(status.dirty_submodules == ["sub"], is_dirty, "{submodule}");
    }
}

#[test]
fn what_git_would_never_say_is_passed_over() {
    let text = b"1 M. N...\0\xff\xfe\x001 MMM N... 1 1 1 a b path\0? \xff.txt\0";
    let status = Status::parse(text);
    assert_eq!(status.changed.len(), 1, "{:?}", status.changed);
    assert_eq!(path::bytes(&status.changed[0]), b"\xff.txt");
    assert_eq!(Status::parse(b""), parsed(&[]));
}

#[test]
fn own_files_are_known_wherever_they_lie_and_by_their_whole_name() {
    for path in [
        ".current-spec",
        "specs/.current-spec",
        "specs/a/.ralph-state.json",
        "specs/a/.ralph-journal.jsonl",
        "specs/a/.ralph-journal-20260101T000000000Z.jsonl",
        "specs/a/.ralph-tmp-abc",
        "specs/a/.progress-task-12.md",
        "specs/.specum-trash/a-20260131T120000123Z/tasks.md",
        ".claude/ralph-loop.local.md",
        "web/.claude/ralph-loop.local.md",
    ] {
        assert!(is_own_file(path), "{path}");
    }
    for path in [
        "specs/a/tasks.md",
        "specs/a/.progress.md",
        "current-spec",
        "my.current-spec",
        ".current-spec.md",
        "specs/a/.ralph-journal-x.json",
        "specum-trash/a",
        "my.specum-trash/a",
        "ralph-loop.local.md",
        "my.claude/ralph-loop.local.md",
        "",
    ] {
        assert!(!is_own_file(path), "{path}");
    }
}
