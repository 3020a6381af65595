//! Requests that are granted, and every reason why one is refused.

use super::*;

const PLAN: &str = "\
## Phase 1: Work
- [ ] 1.1 Mail it
  - **Do**: write it
  - **Files**: src/mail.rs
  - **Done when**: it is mailed
  - **Verify**: `grep -q mailed src/mail.rs`
  - **Commit**: `feat: mail`
  - _Requirements: FR-1_
- [ ] 1.2 Refuse it
  - **Do**: write it
  - **Files**: src/old.rs
  - **Done when**: it is refused
  - **Verify**: `grep -q refused src/old.rs`
  - **Commit**: `feat: refuse`
  - _Requirements: FR-2_
";

const REQUIREMENTS: &str = "\
# Requirements: links
## Goal
Visitors sign in by a link.
## User Stories
### US-1: Sign in
- AC-1.1: WHEN an address is sent in THE service SHALL answer 202.
## Functional Requirements
| ID | Requirement | Priority | Acceptance Criteria |
|----|-------------|----------|---------------------|
| FR-1 | A link is mailed | Must | AC-1.1 |
| FR-2 | An expired link is refused | Must | AC-1.1 |
";

const LIMITS: Limits = Limits {
    of_task: 0,
    most_of_task: MOST_OF_TASK,
    most_depth: MOST_DEPTH,
    added: 0,
    most_added: None,
    in_group: false,
};

/// A proposed task with this title, below which these lines stand too.
fn proposed(title: &str, file: &str, more: &str) -> String {
    format!(
        "- [ ] 9.9 {title}\n  - **Do**: write it\n  - **Files**: {file}\n  - **Done when**: it is \
         there\n  - **Verify**: `grep -q it {file}`\n  - **Commit**: `feat: it`\n{more}"
    )
}

fn asked(kind: &str, tasks: &[String]) -> Request {
    let object = serde_json::json!({
        "type": kind, "originalTaskId": "1.1", "reasoning": "two  things\nin one",
        "proposedTasks": tasks,
    });
    let message = format!("It is too large.\n\n{WORD}\n```json\n{object}\n```\n");
    Request::find(&message).expect("there is one").expect("it can be read")
}

fn texts() -> Texts<'static> {
    let texts = Texts::default().with(Doc::Tasks, PLAN.as_bytes());
    texts.with(Doc::Requirements, REQUIREMENTS.as_bytes())
}

fn decided(request: &Request, limits: &Limits) -> Result<Change, String> {
    decide(request, texts(), 0, &Facts::none(), limits)
}

fn after(change: &Change) -> String {
    String::from_utf8(TaskEdit::apply_all(&change.edits, PLAN.as_bytes())).unwrap()
}

#[test]
fn what_a_task_is_split_into_comes_before_it_under_ids_of_its_own() {
    let tasks =
        [proposed("[P] Write the mail", "src/mail.rs", ""), proposed("[RED] Test it", "t.rs", "")];
    let change = decided(&asked("SPLIT_TASK", &tasks), &LIMITS).unwrap();
    assert_eq!(change.inserted(), ["1.1.1", "1.1.2"]);
    assert_eq!(change.why, "two things in one");
    let after = after(&change);
    assert!(after.contains("- [ ] 1.1.1 [BEFORE 1.1] Write the mail\n"), "{after}");
    assert!(after.contains("- [ ] 1.1.2 [BEFORE 1.1] [RED] Test it\n"), "{after}");
    let file = TaskFile::scan(after.as_bytes());
    let names: Vec<String> = file.tasks.iter().map(Task::name).collect();
    assert_eq!(names, ["1.1", "1.1.1", "1.1.2", "1.2"]);
    let order = crate::plan::order(&file, &crate::plan::Scope::all(1));
    let order: Vec<usize> = order.iter().flat_map(|unit| unit.tasks().to_vec()).collect();
    assert_eq!(order, [1, 2, 0, 3], "the task waits for its parts");
}

#[test]
fn what_follows_stands_behind_it_or_is_left_to_a_person() {
    let linked = proposed("Clean up", "src/clean.rs", "  - _Requirements: FR-2_\n");
    let change = decided(&asked("ADD_FOLLOWUP", &[linked]), &LIMITS).unwrap();
    assert!(after(&change).contains("- [ ] 1.1.1 Clean up\n"), "{change:?}");
    let stray = proposed("Rewrite it all", "src/all.rs", "");
    let change = decided(&asked("ADD_FOLLOWUP", &[stray]), &LIMITS).unwrap();
    assert!(change.edits.is_empty());
    assert_eq!(change.for_person, ["- follow-up of 1.1: Rewrite it all (two things in one)"]);
}

#[test]
fn a_request_is_refused_that_does_not_keep_to_its_task_or_to_the_rules() {
    let good = || proposed("Write the mail", "src/mail.rs", "");
    let without = |field: &str| {
        let lines = good();
        lines
            .lines()
            .filter(|line| !line.contains(field))
            .fold(String::new(), |text, line| text + line + "\n")
    };
    for (tasks, why) in [
        (vec![without("Verify")], "verify-missing"),
        (vec![without("Done when")], "task-form"),
        (vec![good().replace("`grep -q it src/mail.rs`", "`true`")], "verify-cannot-fail"),
        (vec![good().replace("`grep -q it src/mail.rs`", "look at it manually")], "verify-prose"),
        (vec![proposed("Mail", "src/old.rs", "")], "is a file of 1.2"),
        (vec![proposed("Mail", "a.rs", "  - _Requirements: FR-2_\n")], "names FR-2"),
        (vec![proposed("Mail", "a.rs", "  - _Design: C-1_\n")], "names C-1"),
        (vec![good().replace("- [ ]", "- [x]")], "has to be open"),
        (vec![good().replace("- [ ]", "- [ ]*")], "not optional"),
        (vec![format!("{}{}", good(), good())], "is not one task"),
        (vec!["## Phase 9\n".to_owned() + &good()], "none of its own"),
        (vec![good() + "  <!-- specum-attempt {} -->\n"], "holds a comment"),
        (vec![good() + "  ```\n"], "fence"),
        (vec![String::new()], "is not one task"),
    ] {
        let refused = decided(&asked("SPLIT_TASK", &tasks), &LIMITS).unwrap_err();
        assert!(refused.contains(why), "{why}: {refused}");
    }
    let mut other = asked("SPLIT_TASK", &[good()]);
    other.task = "1.2".into();
    assert!(decided(&other, &LIMITS).unwrap_err().contains("1.1 is the task that is worked on"));
}

#[test]
fn a_request_is_refused_beyond_every_limit() {
    let request = asked("ADD_PREREQUISITE", &[proposed("Mail", "a.rs", "")]);
    assert!(decided(&request, &LIMITS).is_ok());
    for (limits, why) in [
        (Limits { of_task: 3, ..LIMITS }, "3 requests about 1.1"),
        (Limits { added: 5, ..LIMITS }, "5 tasks were added of 5"),
        (Limits { most_added: Some(0), ..LIMITS }, "0 tasks were added of 0"),
        (Limits { in_group: true, ..LIMITS }, "a group is being worked on"),
        (Limits { most_depth: 0, ..LIMITS }, "0 levels deep"),
    ] {
        let refused = decided(&request, &limits).unwrap_err();
        assert!(refused.contains(why), "{why}: {refused}");
    }
    let deep = PLAN.replace("- [ ] 1.2 Refuse it", "- [ ] 1.2 [BEFORE 1.1] Refuse it");
    let mut below = request.clone();
    below.task = "1.2".into();
    let texts = Texts::default().with(Doc::Tasks, deep.as_bytes());
    let limits = Limits { most_depth: 1, ..LIMITS };
    let refused = decide(&below, texts, 1, &Facts::none(), &limits).unwrap_err();
    assert!(refused.contains("1 levels deep"), "{refused}");
}

#[test]
fn a_message_asks_only_by_the_word_alone_and_a_closed_fence() {
    let object =
        r#"{"type":"SPLIT_TASK","originalTaskId":"1.1","reasoning":"x","proposedTasks":["y"]}"#;
    let found = |message: &str| Request::find(message);
    assert_eq!(found("TASK_COMPLETE"), None);
    assert_eq!(found(&format!("I may say {WORD} later.\n```json\n{object}\n```\n")), None);
    assert_eq!(found(&format!("```\n{WORD}\n```\n")), None, "it is quoted");
    assert_eq!(found(&format!("{WORD}\n")), Some(Err(NO_OBJECT.into())));
    assert_eq!(found(&format!("{WORD}\n```json\n{object}\n")), Some(Err(NO_OBJECT.into())));
    assert!(found(&format!("**{WORD}**\r\n\r\n~~~json\r\n{object}\r\n~~~\r\n")).unwrap().is_ok());
    let twice = format!("{WORD}\n```\n{{}}\n```\n{WORD}\n```\n{object}\n```\n");
    assert!(found(&twice).unwrap().is_ok(), "the last one counts");
    for (from, to, why) in [
        ("SPLIT_TASK", "DELETE_ALL", "there is no type"),
        (r#""x""#, r#"" ""#, "no reasoning"),
        (r#"["y"]"#, "[]", "proposes 0 tasks"),
        (r#"["y"]"#, "7", "cannot be read"),
    ] {
        let message = format!("{WORD}\n```json\n{}\n```\n", object.replace(from, to));
        let refused = found(&message).unwrap().unwrap_err();
        assert!(refused.contains(why), "{why}: {refused}");
    }
}

proptest::proptest! {
    /// Whatever an agent says is read without a panic, and what is granted keeps every
    /// limit and leaves every other task as it was.
    #[test]
    fn whatever_is_granted_keeps_the_limits(
        title in "[ -~é\u{202e}]{0,40}", below in "[ -~\n`#<*-]{0,200}", count in 1_usize..4,
        added in 0_usize..7,
    ) {
        let tasks = vec![proposed(&title, "a.rs", &below); count];
        let request = Request {
            kind: Kind::Prerequisite, task: "1.1".into(), why: "x".into(), proposed: tasks,
        };
        let limits = Limits { added, ..LIMITS };
        if let Ok(change) = decided(&request, &limits) {
            proptest::prop_assert!(added + count <= 5);
            let text = after(&change);
            let file = TaskFile::scan(text.as_bytes());
            proptest::prop_assert_eq!(file.tasks.len(), 2 + count);
            let before = TaskFile::scan(PLAN.as_bytes());
            for task in &before.tasks {
                let same = file.tasks.iter().find(|other| other.id == task.id);
                let block = same.map(|same| file.block(same).to_vec());
                proptest::prop_assert_eq!(block, Some(before.block(task).to_vec()));
            }
        }
    }
}
