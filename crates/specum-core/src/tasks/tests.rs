use super::*;

/// Marks, names, markers and titles, a task a line.
fn listed(text: &str) -> String {
    let file = TaskFile::scan(text.as_bytes());
    let lines = file.tasks.iter().map(|task| {
        let mark = if task.done { 'x' } else { '.' };
        format!("{mark} {} {:?} {}\n", task.name(), task.markers, task.title)
    });
    lines.collect()
}

fn fields(block: &str) -> Fields {
    let file = TaskFile::scan(block.as_bytes());
    file.fields(&file.tasks[0])
}

/// What a check runs where every lower-case word is a program.
pub(super) fn shown_check(fields: &Fields) -> String {
    let lookup = |name: &str| match name.bytes().all(|b| b.is_ascii_lowercase()) {
        true => Program::Found,
        false => Program::Missing,
    };
    fields.verify.as_ref().map_or_else(String::new, |check| shown(&check.commands(&lookup)))
}

#[test]
fn ids_markers_and_titles() {
    insta::assert_snapshot!(listed(
        "- [ ] 1.1 [P] Add the parser\n* [X] 1.3.1 [VERIFY][RED] Check\n+ [x]  V1: [FIX 1.2] Fix\n\
         - [ ] VE2 [NEW] [P] Stay\n- [ ] VF\n- [ ] 1.X later\n- [ ] 1.10 ten\n"
    ), @"
    . 1.1 [Parallel] Add the parser
    x 1.3.1 [Verify, Red] Check
    x V1 [Fix(\"1.2\")] Fix
    . VE2 [] [NEW] [P] Stay
    . VF [] 
    . 1.X [] later
    . 1.10 [] ten
    ");
}

#[test]
fn nested_fenced_commented_and_quoted_checkboxes_are_no_tasks() {
    insta::assert_snapshot!(listed(
        "- [ ] 1.1 real\n  - [ ] nested\n```\n- [ ] 1.2 fenced\n```\n   ~~~\n- [ ] 1.3 fenced\n~~~\n\
         <!--\n- [ ] 1.4 comment\n-->\n> - [ ] 1.5 quoted\n-[ ] 1.6 no blank\n- [y] 1.7 no mark\n\
         - [ ]1.8 glued\n- [ ] 1.9 real `<!--`\n- [ ] 1.10 real\n"
    ), @"
    . 1.1 [] real
    . 1.9 [] real `<!--`
    . 1.10 [] real
    ");
}

#[test]
fn a_box_without_an_id_among_boxes_with_ids_is_called_by_its_place() {
    assert_eq!(listed("- [ ] one\n- [ ] two\n"), ". no.1 [] one\n. no.2 [] two\n");
    assert_eq!(listed("- [ ] one\n- [ ] 1.1 two\n"), ". no.1 [] one\n. 1.1 [] two\n");
}

#[test]
fn an_unclosed_fence_ends_at_the_next_phase() {
    insta::assert_snapshot!(listed(
        "## Phase 1: a\n- [ ] 1.1 a\n```sh\n- [ ] 1.2 lost in the fence\n## Phase 2: b\n- [ ] 2.1 b\n"
    ), @"
    . 1.1 [] a
    . 2.1 [] b
    ");
}

#[test]
fn a_closed_fence_is_closed_wherever_a_phase_stands_in_it() {
    let plan = "- [ ] 1.1 a\n```markdown\n## Phase 1: quoted\n- [ ] 8.8 quoted\n## Phase 2: quoted\n```\n\
                - [ ] 1.2 b\n- [ ] 1.3 c\n";
    assert_eq!(listed(plan), ". 1.1 [] a\n. 1.2 [] b\n. 1.3 [] c\n");
    assert_eq!(TaskFile::scan(plan.as_bytes()).tasks[2].section, 0, "a quoted heading is none");
    let longer = plan.replace("```", "````").replace("- [ ] 8.8 quoted", "```sh\nx\n```");
    assert_eq!(listed(&longer), listed(plan), "a shorter fence is inside");
    let tildes = plan.replace("```", "~~~").replace("- [ ] 8.8 quoted", "```");
    assert_eq!(listed(&tildes), listed(plan), "so is one of another character");
    let comment = plan.replace("```markdown", "<!--").replace("```", "-->");
    assert_eq!(listed(&comment), listed(plan));
}

#[test]
fn what_nobody_closed_ends_at_the_next_phase_although_others_follow() {
    for (open, close) in [("```sh", "```"), ("~~~sh", "~~~"), ("<!--", "-->")] {
        let plan = format!(
            "- [ ] 1.1 a\n{open}\n## Phase 2: b\n- [ ] 2.1 b\n{open}\nx\n{close}\n- [ ] 2.2 c\n"
        );
        assert_eq!(listed(&plan).lines().count(), 3, "{plan}");
    }
}

#[test]
fn a_heading_in_a_fence_or_a_here_document_ends_no_block() {
    let verify = "EOF\n)\"\n  - **Verify**: `make`\n";
    let body = "gh pr create --body \"$(cat <<'EOF'\n## Summary\n- [ ] I have read it\n### Tests\n";
    let plain = format!("- [ ] 1.1 a\n  - **Do**: {body}{verify}");
    assert_eq!(shown_check(&fields(&plain)), "`make`");
    let fenced =
        format!("- [ ] 1.1 a\n  - **Do**:\n```sh\n{body}EOF\n)\"\n```\n  - **Verify**: `make`\n");
    assert_eq!(shown_check(&fields(&fenced)), "`make`");
    let unended = format!("- [ ] 1.1 a\n  - **Do**: {body}- [ ] 1.2 b\n  - **Verify**: `make`\n");
    let file = TaskFile::scan(unended.as_bytes());
    assert!(file.block(&file.tasks[0]).ends_with(b"<<'EOF'\n"), "the document has no end");
}

#[test]
fn blocks_end_at_the_next_task_or_heading_and_leave_blank_lines_out() {
    let text = "- [ ] 1.1 a\n  - **Do**: x\n\n- [ ] pasted\n\n\n## Notes\ntext\n- [ ] 1.2 b\nlast";
    let file = TaskFile::scan(text.as_bytes());
    let block = |n: usize| std::str::from_utf8(file.block(&file.tasks[n])).unwrap();
    assert_eq!(block(0), "- [ ] 1.1 a\n  - **Do**: x\n\n- [ ] pasted\n");
    assert_eq!(block(1), "- [ ] 1.2 b\nlast");
}

#[test]
fn crlf_tabs_bom_and_foreign_bytes_are_normal() {
    let text = b"\xEF\xBB\xBF- [ ]\t1.1\t[P]\ta\xFF\r\n\t- **Verify**: `true`\r\n- [x] 1.2 b";
    let file = TaskFile::scan(text);
    assert_eq!(file.tasks.len(), 2);
    assert_eq!(file.tasks[0].title, "a\u{FFFD}");
    let ticked = apply(text, &file.set_mark(&file.tasks[0], true));
    assert_eq!(ticked.len(), text.len());
    assert_eq!(ticked[6], b'x');
    assert_eq!(shown_check(&file.fields(&file.tasks[0])), "`true`");
}

#[test]
fn ticking_1_1_leaves_1_10_alone() {
    let text = b"- [ ] 1.10 ten\n- [ ] 1.1 one\n";
    let file = TaskFile::scan(text);
    let ticked = apply(text, &file.set_mark(file.by_address("1.1").unwrap(), true));
    assert_eq!(ticked, b"- [ ] 1.10 ten\n- [x] 1.1 one\n");
}

#[test]
fn insertions_take_the_line_endings_of_the_file() {
    let text = b"- [ ] 1.1 a\r\n\r\n- [ ] 1.2 b";
    let file = TaskFile::scan(text);
    let after_first = file.insert_after(&file.tasks[0], "- [ ] 1.1.1 f\n  x");
    let after_last = file.insert_after(&file.tasks[1], "- [ ] 1.3 c");
    let before_first = file.insert_before(&file.tasks[0], "- [ ] 1.0 z");
    assert_eq!(
        std::str::from_utf8(&apply(text, &[after_last, after_first, before_first])).unwrap(),
        "- [ ] 1.0 z\r\n- [ ] 1.1 a\r\n- [ ] 1.1.1 f\r\n  x\r\n\r\n- [ ] 1.2 b\r\n- [ ] 1.3 c\r\n"
    );
}

#[test]
fn a_task_is_found_again_by_id_and_title() {
    let before = TaskFile::scan(b"- [ ] 1.1 a\n- [ ] 1.2 b\n").tasks[1].key();
    let found = |text: &str| TaskFile::scan(text.as_bytes()).find(&before);
    assert_eq!(found("- [ ] 1.0 new\n- [ ] 1.1 a\n- [ ] 1.2 b\n"), TaskMatch::Same(2));
    assert_eq!(found("- [ ] 1.2 rewritten\n"), TaskMatch::Retitled(0));
    assert_eq!(found("- [ ] 1.1 a\n"), TaskMatch::Gone);
    // Twice the same id: the title decides.
    assert_eq!(found("- [ ] 1.2 other\n- [ ] 1.2 b\n"), TaskMatch::Same(1));
}

#[test]
fn without_ids_the_title_finds_a_task_again() {
    let before = TaskFile::scan(b"- [ ] a\n- [ ] b\n- [ ] b\n").tasks[2].key();
    assert_eq!(before.id, "no.3");
    let found = |text: &str| TaskFile::scan(text.as_bytes()).find(&before);
    assert_eq!(found("- [ ] new\n- [ ] a\n- [ ] b\n- [ ] b\n"), TaskMatch::Same(2));
    assert_eq!(found("- [ ] b\n"), TaskMatch::Same(0));
    assert_eq!(found("- [ ] c\n"), TaskMatch::Gone);
}

#[test]
fn all_fields_of_a_task() {
    let fields = fields(
        "- [ ] 1.2 [P] Add the parser\n  - **Do**:\n    1. Write it\n    2. Test it\n  - **Files**: src/a.rs, `src/b,c.rs` (new), app/[id]/page.tsx [moved]\n  \
         - **Done when**: it parses\n  - **Verify**: `cargo test parser` passes\n  - **Commit**: `feat(parser): add it`\n  - _Requirements: FR-1_  _Design: Parser_\n",
    );
    assert_eq!(fields.does.as_deref(), Some("1. Write it\n    2. Test it"));
    assert_eq!(fields.files, ["src/a.rs", "src/b,c.rs", "app/[id]/page.tsx"]);
    assert_eq!(fields.done_when.as_deref(), Some("it parses"));
    assert_eq!(shown_check(&fields), "`cargo test parser`");
    assert_eq!(fields.commit.as_deref(), Some("feat(parser): add it"));
    assert_eq!(fields.script, None);
}

#[test]
fn commit_none_means_no_message() {
    let commit = |value: &str| fields(&format!("- [ ] 1.1 a\n  - **Commit:** {value}\n")).commit;
    assert_eq!(commit("None"), None);
    assert_eq!(commit("`None`"), None);
    assert_eq!(commit("feat: plain words"), Some("feat: plain words".into()));
}

#[test]
fn the_script_is_the_fenced_sh_block_that_is_not_verify() {
    let fields = fields(
        "- [ ] 1.1 a\n  - **Do**: this\n    ```text\n    no\n    ```\n    ```sh\n    echo hi\n    ```\n  - **Verify**:\n    ```sh\n    true\n    ```\n",
    );
    assert_eq!(fields.script.as_deref(), Some("echo hi"));
    assert_eq!(shown_check(&fields), "`true`");
}

#[test]
fn fields_inside_a_fence_are_text() {
    let fields =
        fields("- [ ] 1.1 a\n  ```\n  - **Verify**: `rm -rf x`\n  ```\n  - **Verify**: `true`\n");
    assert_eq!(shown_check(&fields), "`true`");
}

#[test]
fn the_content_of_a_task_is_neither_its_id_nor_a_tick() {
    let content = |text: &str| {
        let file = TaskFile::scan(text.as_bytes());
        file.content(&file.tasks[0])
    };
    let same = |a: &str, b: &str| content(a) == content(b);
    assert!(same("- [ ] 1.1 a\n  - x\n", "- [x] 1.1 a\n  - x"));
    assert!(same("- [ ] 1.1 a\n  - [ ] s\n", "- [ ] 1.1 a\n  - [x] s\n"), "a step");
    assert!(same("- [ ] 1.1 [P] a\n", "- [x] 2.3 a\n"), "another number");
    assert!(!same("- [ ] 1.1 a\n", "- [ ] 1.1 b\n"));
    assert!(!same("- [ ] 1.1 a\n  - x\n", "- [ ] 1.1 a\n  - y\n"));
}

mod checks;
mod dialects;

mod properties {
    use proptest::prelude::*;

    use super::*;

    /// Text that looks enough like a task file to reach every branch.
    fn task_like() -> impl Strategy<Value = Vec<u8>> {
        let line = prop_oneof![
            1 => "- \\[[ x]\\] 1\\. [a-z]{0,3}",
            4 => "[-*+] \\[[ xX]\\] (1\\.[0-9]{1,2} |V1 |)(\\[P\\] |\\[VERIFY\\] |\\[FIX 1.1\\] |)[a-z ]{0,8}",
            1 => Just("```".to_owned()), 1 => Just("  ~~~sh".to_owned()),
            1 => Just("<!--".to_owned()), 1 => Just("-->".to_owned()),
            1 => Just("## Phase 1: x".to_owned()), 1 => Just(String::new()),
            1 => "  - (\\*\\*(Files|Verify|Commit|Do)\\*\\*|Verify|\\*Verify\\*): [`a-z, ()\\[\\]]{0,12}",
            1 => "    (- |)(run |)`[a-z ]{0,8}`( and | returns 3| or |)(`x`|)",
            1 => ".{0,10}",
        ];
        let ending = prop_oneof![Just("\n"), Just("\r\n")];
        (prop::collection::vec((line, ending), 0..30), any::<bool>()).prop_map(|(lines, cut)| {
            let mut text: String = lines.into_iter().map(|(line, end)| line + end).collect();
            if cut {
                text.pop();
            }
            text.into_bytes()
        })
    }

    /// A line below a task.
    fn body_line() -> impl Strategy<Value = String> {
        prop_oneof![
            2 => "- \\*\\*(Verify|Do)\\*\\*:( `a`|)",
            2 => Just("```sh".to_owned()), 1 => Just("```".to_owned()),
            2 => "[a-z]{1,4}", 1 => "- `[a-z]{1,3}`", 1 => Just(String::new()),
        ]
    }

    proptest! {
        #[test]
        fn a_task_asks_for_the_same_check_however_far_it_is_indented(
            lines in prop::collection::vec((0..9_usize, body_line()), 0..12),
            by in 1..9_usize,
        ) {
            let block = |by: usize| {
                let lines = lines.iter().map(|(blanks, line)| (by + blanks, line.as_str()));
                let lines = std::iter::once((by, "- [ ] 1.1 a")).chain(lines);
                lines.map(|(by, line)| " ".repeat(by) + line + "\n").collect::<String>()
            };
            let check = |block: &str| fields::parse(block.as_bytes()).verify;
            prop_assert_eq!(check(&block(by)), check(&block(0)));
        }

        #[test]
        fn every_tick_changes_marks_of_one_task_alone(text in task_like()) {
            let file = TaskFile::scan(&text);
            for task in &file.tasks {
                let flipped = apply(&text, &file.set_mark(task, !task.done));
                prop_assert_eq!(flipped.len(), text.len());
                let changed = || (0..text.len()).filter(|&at| text[at] != flipped[at]);
                prop_assert!(changed().count() > 0);
                prop_assert!(changed().all(|at| task.block.contains(&at) && text[at - 1] == b'['));
                let mut expected = file.tasks.clone();
                expected[task.index].done = !task.done;
                prop_assert_eq!(&TaskFile::scan(&flipped).tasks, &expected);
            }
        }

        #[test]
        fn edits_at_once_are_the_same_as_one_after_the_other(
            text in task_like(),
            picks in prop::collection::vec((any::<prop::sample::Index>(), 0..8_u8), 0..12),
        ) {
            let file = TaskFile::scan(&text);
            let edit = |(at, what): (prop::sample::Index, u8)| {
                let key = match file.tasks.len() {
                    0 => TaskKey { id: "1.1".into(), title: String::new() },
                    count => file.tasks[at.index(count)].key(),
                };
                let stranger = TaskKey { title: "z".into(), ..key.clone() };
                match what {
                    0..=2 => TaskEdit::Tick(key),
                    3..=4 => TaskEdit::Untick(key),
                    5 => TaskEdit::Tick(stranger),
                    6 => TaskEdit::Tick(TaskKey { id: "no.99".into(), ..key }),
                    _ => {
                        let block = "- [ ] 9.9 new\n".to_owned();
                        TaskEdit::InsertAfter { after: key, id: "9.9".into(), block }
                    }
                }
            };
            let edits: Vec<TaskEdit> = picks.into_iter().map(edit).collect();
            let one_by_one = edits.iter().fold(text.clone(), |text, edit| edit.apply(&text));
            prop_assert_eq!(TaskEdit::apply_all(&edits, &text), one_by_one);
        }

        #[test]
        fn blocks_are_in_order_and_do_not_overlap(text in task_like()) {
            let file = TaskFile::scan(&text);
            let mut at = 0;
            for task in &file.tasks {
                prop_assert!(task.block.start >= at && task.block.end > task.block.start);
                prop_assert!(task.block.end <= text.len());
                at = task.block.end;
            }
        }

        #[test]
        fn an_insertion_keeps_every_byte_and_every_task(text in task_like()) {
            let file = TaskFile::scan(&text);
            if let Some(task) = file.tasks.first() {
                let inserted = apply(&text, &[file.insert_after(task, "- [ ] 9.9 new")]);
                let rest: Vec<u8> = [&inserted[..task.block.end], &inserted[inserted.len() - (text.len() - task.block.end)..]].concat();
                prop_assert_eq!(rest, text);
            }
        }
    }
}

#[test]
fn a_task_is_not_inserted_where_it_or_another_would_be_hidden() {
    let after = |text: &[u8]| TaskFile::scan(text).tasks[0].key();
    let insert = |text: &[u8], block: &str| {
        let edit =
            TaskEdit::InsertAfter { after: after(text), id: "1.1.1".into(), block: block.into() };
        edit.apply(text)
    };
    let fine = "- [ ] 1.1.1 [FIX 1.1] b\n";
    let plan = b"- [ ] 1.1 a\n- [ ] 1.2 c\n";
    assert_eq!(insert(plan, fine), b"- [ ] 1.1 a\n- [ ] 1.1.1 [FIX 1.1] b\n- [ ] 1.2 c\n");
    for unclosed in ["- [ ] 1.1 a\n```\n", "- [ ] 1.1 a\n<!-- x\n"] {
        assert_eq!(insert(unclosed.as_bytes(), fine), unclosed.as_bytes());
    }
    assert_eq!(insert(plan, "- [ ] 1.1.1 b\n```\n"), plan, "it would hide 1.2");
    assert_eq!(insert(plan, "- [ ] 1.1.1 b\n- [ ] 1.1.2 b\n"), plan, "one at a time");
}

#[test]
fn a_heading_is_ticked_with_the_last_of_its_tasks_and_opened_with_any() {
    let plan =
        "- [ ] 1. Set up\n- [x] 1.1 a\n- [ ] 1.2 b\n- [ ] 2. More\n- [ ] 2.1 c\n- [ ] 12.1 d\n";
    let key = |text: &str, id: &str| TaskFile::scan(text.as_bytes()).by_address(id).unwrap().key();
    let apply =
        |text: &str, edit: TaskEdit| String::from_utf8(edit.apply(text.as_bytes())).unwrap();
    let ticked = apply(plan, TaskEdit::Tick(key(plan, "1.2")));
    assert!(ticked.starts_with("- [x] 1. Set up\n- [x] 1.1 a\n- [x] 1.2 b\n- [ ] 2. More\n"));
    let opened = apply(&ticked, TaskEdit::Untick(key(&ticked, "1.1")));
    assert!(opened.starts_with("- [ ] 1. Set up\n- [ ] 1.1 a\n- [x] 1.2 b\n"), "{opened}");
}

#[test]
fn finding_53_a_thousand_ticks_scan_the_file_once() {
    let plan: String = (1..=1_000).map(|n| format!("- [ ] 1.{n} task {n}\n")).collect();
    let plan = format!("- [ ] 1. All of it\n{plan}");
    let keys = TaskFile::scan(plan.as_bytes()).tasks.iter().map(Task::key).collect::<Vec<_>>();
    let ticks: Vec<TaskEdit> = keys.iter().cloned().map(TaskEdit::Tick).collect();
    let before = scans();
    let ticked = TaskEdit::apply_all(&ticks, plan.as_bytes());
    assert_eq!(scans() - before, 1);
    assert_eq!(String::from_utf8(ticked).unwrap(), plan.replace("[ ]", "[x]"), "the heading too");
}
