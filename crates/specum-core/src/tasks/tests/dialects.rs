//! Plans as other tools, people and models write them, and what is read from them.

use super::*;

const PLANS: [(&str, &str); 10] = [
    ("kiro", include_str!("plans/kiro.md")),
    ("kiro-flat", include_str!("plans/kiro-flat.md")),
    ("spec-kit", include_str!("plans/spec-kit.md")),
    ("openspec", include_str!("plans/openspec.md")),
    ("superpowers", include_str!("plans/superpowers.md")),
    ("cc-sdd", include_str!("plans/cc-sdd.md")),
    ("agent-os", include_str!("plans/agent-os.md")),
    ("spec-workflow", include_str!("plans/spec-workflow.md")),
    ("by-hand", include_str!("plans/by-hand.md")),
    ("by-a-model", include_str!("plans/by-a-model.md")),
];

fn plan(name: &str) -> &'static str {
    PLANS.iter().find(|(known, _)| *known == name).unwrap().1
}

/// What is read from a plan, a line each: tasks with `x`, `.` or, if they are optional,
/// `?`; headings with `#`; what is not read with `!`.
fn read(name: &str) -> String {
    let file = TaskFile::scan(plan(name).as_bytes());
    let mut lines: Vec<(usize, String)> = Vec::new();
    for task in &file.tasks {
        let mark = match task {
            Task { done: true, .. } => 'x',
            Task { optional: true, .. } => '?',
            _ => '.',
        };
        let mut line = format!("{mark} {} {}", task.name(), task.title);
        if !task.markers.is_empty() {
            line += &format!(" {:?}", task.markers);
        }
        match file.steps.iter().filter(|step| step.task == task.index).count() {
            0 => {}
            count => line += &format!(" +{count}"),
        }
        let files = file.fields(task).files;
        if !files.is_empty() {
            line += &format!(" <{}>", files.join(" "));
        }
        lines.push((task.line, line));
    }
    for heading in &file.headings {
        let mark = if heading.done { 'x' } else { '.' };
        let id = heading.id.as_deref().unwrap_or("-");
        lines.push((heading.line, format!("# {id} {mark}")));
    }
    lines.extend(file.unread.iter().map(|unread| (unread.line, format!("! {}", unread.text))));
    lines.sort();
    lines.into_iter().map(|(_, line)| line + "\n").collect()
}

/// The units of work in their order, the names of each.
fn worked(name: &str) -> String {
    let file = TaskFile::scan(plan(name).as_bytes());
    let units = crate::plan::order(&file, &crate::plan::Scope::all(5));
    let names = |unit: &crate::plan::Unit| {
        unit.tasks().iter().map(|&index| file.tasks[index].name()).collect::<Vec<_>>().join("+")
    };
    units.iter().map(names).collect::<Vec<_>>().join(" ")
}

#[test]
fn kiro() {
    insta::assert_snapshot!(read("kiro"), @"
    x 1 Set up project structure and core interfaces
    # 2 .
    x 2.1 Create model interfaces and types
    . 2.2 Implement the User model
    ? 2.3 Write property tests for the User model
    . 2.4 Implement the Document model
    . 3 Checkpoint - ensure all tests pass
    # 4 .
    . 4.1 Write the connection code
    ? 4.2 Write unit tests for connections
    # 5 .
    ? 5.1 Measure reads
    ? 5.2 Measure writes
    . 6 Wire everything together
    ");
    insta::assert_snapshot!(worked("kiro"), @"2.2 2.4 3 4.1 6");
}

#[test]
fn kiro_with_all_boxes_at_the_margin() {
    insta::assert_snapshot!(read("kiro-flat"), @"
    # 1 x
    x 1.1 Create the route
    x 1.2 Render an empty list
    ? 1.3 Write tests for the route
    # 2 .
    x 2.1 Read them from the store
    . 2.2 Show an error if that fails
    . 10 Remove the old page
    . 11 Checkpoint: everything works
    ");
    insta::assert_snapshot!(worked("kiro-flat"), @"2.2 10 11");
}

#[test]
fn spec_kit() {
    insta::assert_snapshot!(read("spec-kit"), @r#"
    x T001 Create project structure per implementation plan
    . T002 Initialize the Python project with FastAPI dependencies
    . T003 Configure linting and formatting tools in pyproject.toml [Parallel] <pyproject.toml>
    . T010 Contract test for POST /users in tests/contract/test_users.py [Parallel, Label("US1")] <tests/contract/test_users.py>
    . T011 Integration test for sign-up in `tests/integration/test_signup.py` [Parallel, Label("US1")] <tests/integration/test_signup.py>
    . T012 Create User model in src/models/user.py [Parallel, Label("US1")] <src/models/user.py>
    . T013 Create Session model in src/models/session.py [Parallel, Label("US1")] <src/models/session.py>
    . T014 Implement UserService in src/services/user_service.py (depends on T012, T013) [Label("US1")] <src/services/user_service.py>
    . T015 Add validation and error handling [Label("US1")]
    "#);
    insta::assert_snapshot!(worked("spec-kit"), @"T002 T003 T010+T011 T012+T013 T014 T015");
}

#[test]
fn openspec() {
    insta::assert_snapshot!(read("openspec"), @"
    x 1.1 Add an `otp_secret` column to users
    . 1.2 Write the migration
    . 2.1 Add the OTP endpoint
    . 2.2 Change the login flow
    . 2.3a Rate limit the endpoint
    . 2.3b Log refused codes
    . 2A.1 Rotate the secrets
    . no.8 Update the documentation
    . 3.1 Create the OTP input
    ");
}

#[test]
fn superpowers() {
    insta::assert_snapshot!(read("superpowers"), @"
    . 1 Conversion functions +4 <src/convert.py src/__init__.py tests/test_convert.py>
    x 2 Command line +2 <src/cli.py>
    . 3 Package it +2
    . no.4 Every requirement has a task
    ");
    let file = TaskFile::scan(plan("superpowers").as_bytes());
    let block = line::readable(file.block(&file.tasks[1]));
    insta::assert_snapshot!(block, @"
    ### Task 2: Command line

    **Files:**
    - Create: `src/cli.py`

    #### Notes

    The parser is argparse.

    - [x] **Step 1: Write the failing test**
    - [x] **Step 2: Implement**
    ");
}

#[test]
fn cc_sdd() {
    insta::assert_snapshot!(read("cc-sdd"), @"
    # 1 .
    . 1.1 Set up the runtime
    . 1.2 Read the configuration [Parallel]
    . 1.3 Write the logger [Parallel]
    . 2 Write the guide [Parallel]
    ? 3 Acceptance tests
    ");
    insta::assert_snapshot!(worked("cc-sdd"), @"1.1 1.2+1.3+2");
}

#[test]
fn agent_os() {
    insta::assert_snapshot!(read("agent-os"), @"
    # 1.0 .
    x 1.1 Write 2-8 focused tests for the Picture model
    . 1.2 Create the Picture model with validations
    . 1.3 Create the migration for `pictures`
    # 2.0 .
    . 2.1 Write tests for the endpoints
    . 2.2 Create the controller +2
    . no.6 Ensure API layer tests pass
    ");
}

#[test]
fn spec_workflow() {
    insta::assert_snapshot!(read("spec-workflow"), @"
    x 1 Create core interfaces in src/types/feature.ts <src/types/feature.ts>
    . 2 Create the base model class in src/models/FeatureModel.ts <src/models/FeatureModel.ts>
    . 3 Add specific model methods to FeatureModel.ts
    # 4 .
    . 4.1 Write the routes in `src/api/routes.ts` <src/api/routes.ts>
    . 4.2 Write the middleware
    ");
}

#[test]
fn by_hand() {
    insta::assert_snapshot!(read("by-hand"), @"
    x 1.1 Choose a name
    . 1.2 Register the domain
    . 1.3 Point it at the server
    . 1.4 Set up TLS
    . 1.6a Renew it by itself
    . TASK-1 Write the privacy page
    . 7 Ask a lawyer
    . no.8 ask somebody else
    . no.9 Pack
    x no.10 Send
    . M1.1 First milestone
    . M1.2 Second milestone
    . no.13 S3 bucket for the pictures
    ! -[ ] 2.1 Glued to its bullet
    ! - [] 2.2 Nothing inside
    ! - [ ]2.3 Glued to its text
    ! - [✓] 2.4 A tick of another kind
    ! [ ] 2.5 No bullet
    ! • [ ] 2.6 A bullet of another kind
    ");
}

#[test]
fn by_a_model() {
    insta::assert_snapshot!(read("by-a-model"), @"
    . T01 List the targets [Parallel]
    . T02 Measure the old build (keep the log) +2
    . 3.1 Write build.ninja +2
    . 3.2 Open the pull request
    . no.5 Tell the others
    . no.6 Try distributed builds
    . no.7 Try a cache
    ");
    let file = TaskFile::scan(plan("by-a-model").as_bytes());
    let check = |id: &str| shown_check(&file.fields(file.by_address(id).unwrap()));
    assert_eq!((check("3.1").as_str(), check("3.2").as_str()), ("`ninja -n`", "`gh pr view`"));
}

#[test]
fn a_box_with_nothing_but_optional_tasks_below_it_is_a_task_itself() {
    let kinds = |text: &str| {
        let file = TaskFile::scan(text.as_bytes());
        let tasks: Vec<String> = file.tasks.iter().map(Task::name).collect();
        (tasks.join(" "), file.headings.len())
    };
    let nested = "- [ ] 3. Wire it up\n  - [ ]* 3.1 Tests\n  - [ ]* 3.2 More\n";
    assert_eq!(kinds(nested), ("3 3.1 3.2".to_owned(), 0));
    let flat = "- [ ] 3. Wire it up\n- [ ]* 3.1 Tests\n";
    assert_eq!(kinds(flat), ("3 3.1".to_owned(), 0));
    // With one that is asked for, and where it is optional itself, it is their heading.
    for heading in [nested.replace("]* 3.2", "] 3.2"), nested.replacen("[ ]", "[ ]*", 1)] {
        assert_eq!(kinds(&heading), ("3.1 3.2".to_owned(), 1), "{heading}");
    }
}

/// A file with every task done that is not optional.
fn all_done(text: &[u8]) -> Vec<u8> {
    let file = TaskFile::scan(text);
    let open = file.open().filter(|task| !task.optional);
    let ticks: Vec<TaskEdit> = open.map(|task| TaskEdit::Tick(task.key())).collect();
    TaskEdit::apply_all(&ticks, text)
}

#[test]
fn a_plan_of_any_style_is_complete_when_no_box_is_open() {
    for (name, text) in PLANS {
        let after = all_done(text.as_bytes());
        let file = TaskFile::scan(&after);
        assert!(file.is_complete(), "{name}");
        assert_eq!(after.len(), text.len(), "{name}");
        let is_optional = |line: usize| {
            let at = |other: usize| other == line;
            let tasks = file.tasks.iter().filter(|task| task.optional).map(|task| task.line);
            let headings =
                file.headings.iter().map(|heading| (heading.id.as_deref(), heading.line));
            tasks.chain(headings.filter(|(id, _)| *id == Some("5")).map(|(_, line)| line)).any(at)
        };
        for (number, line) in line::readable(&after).lines().enumerate() {
            let boxes::BoxLine::Box(found) = boxes::box_line(line.as_bytes()) else { continue };
            let is_pasted = line.contains("I have read the guidelines");
            assert!(found.done || is_pasted || is_optional(number + 1), "{name}: {line}");
        }
    }
}

#[test]
fn a_heading_that_was_left_open_is_ticked_with_the_next_task_and_when_a_loop_starts() {
    let plan = "- [ ] 1. a\n- [x] 1.1 b\n- [ ] 2. c\n  - [x] 2.1 d\n- [ ] 3. e\n";
    let ticked = all_done(plan.as_bytes());
    assert_eq!(line::readable(&ticked), plan.replace("[ ]", "[x]"));
    let done = plan.replace("[ ] 3", "[x] 3");
    let file = TaskFile::scan(done.as_bytes());
    let edit = TaskEdit::Tick(file.below_open_heading().unwrap().key());
    assert_eq!(line::readable(&edit.apply(done.as_bytes())), plan.replace("[ ]", "[x]"));
    assert_eq!(TaskFile::scan(&ticked).below_open_heading(), None);
}

#[test]
fn a_tick_takes_the_steps_along_and_opens_those_of_a_heading() {
    let plan = "- [ ] 1.1 a\n  - [ ] b\n  - [X] c\n";
    let key = |text: &[u8]| TaskFile::scan(text).tasks[0].key();
    let ticked = TaskEdit::Tick(key(plan.as_bytes())).apply(plan.as_bytes());
    assert_eq!(line::readable(&ticked), "- [x] 1.1 a\n  - [x] b\n  - [X] c\n");
    let opened = TaskEdit::Untick(key(&ticked)).apply(&ticked);
    assert_eq!(line::readable(&opened), "- [ ] 1.1 a\n  - [x] b\n  - [X] c\n");
    let plan = "### Task 1: a\n- [x] b\n- [ ] c\n";
    let ticked = TaskEdit::Tick(key(plan.as_bytes())).apply(plan.as_bytes());
    assert_eq!(line::readable(&ticked), "### Task 1: a\n- [x] b\n- [x] c\n");
    let opened = TaskEdit::Untick(key(&ticked)).apply(&ticked);
    assert_eq!(line::readable(&opened), "### Task 1: a\n- [ ] b\n- [ ] c\n");
}

#[test]
fn a_bare_number_that_is_a_heading_is_no_index() {
    let file = TaskFile::scan(b"- [ ] 1. a\n- [ ] 1.1 b\n- [ ] 1.2 c\n");
    assert_eq!(file.by_address("1"), None);
    assert_eq!(file.by_address("1.2").map(|task| task.index), Some(1));
}

#[test]
fn a_task_without_an_id_is_found_again_where_others_have_one() {
    let before = TaskFile::scan(b"- [ ] 1.1 a\n- [ ] b\n- [ ] 1.2 c\n").tasks[1].key();
    assert_eq!(before.id, "no.2");
    let found = |text: &str| TaskFile::scan(text.as_bytes()).find(&before);
    assert_eq!(found("- [ ] 1.1 a\n- [ ] 1.3 b\n- [ ] b\n"), TaskMatch::Same(2));
    assert_eq!(found("- [ ] 1.1 a\n- [ ] 1.2 b\n"), TaskMatch::Gone);
}

#[test]
fn a_fix_of_a_nested_task_is_nested_as_far() {
    let plan = "- [ ] 2. a\n  - [ ] 2.1 b\n    - x\n  - [ ] 2.2 c\n";
    let file = TaskFile::scan(plan.as_bytes());
    let block = "- [ ] 2.1.1 [FIX 2.1] d\n  - **Do**: e\n".to_owned();
    let (after, id) = (file.tasks[0].key(), "2.1.1".to_owned());
    let fixed = TaskEdit::InsertAfter { after, id, block }.apply(plan.as_bytes());
    let expected =
        plan.replace("    - x\n", "    - x\n  - [ ] 2.1.1 [FIX 2.1] d\n    - **Do**: e\n");
    assert_eq!(line::readable(&fixed), expected);
    // A fix does not make a heading of what it fixes.
    assert_eq!(listed("- [ ] 1. a\n- [ ] 1.1 [FIX 1] b\n").lines().count(), 2);
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    /// Lines as they stand in plans of all styles, without anything that hides lines.
    fn plan_like() -> impl Strategy<Value = String> {
        let id = "(1\\. |2\\.1 |2\\.|2 |T00[12] |TASK-1 |1\\.6a |\\*\\*1\\.4\\*\\* |`3`|Task 4: |S3 |M1 |)";
        let item = format!(
            "( |  |    |\t|)([-*+]|1\\.|1\\)|•|)( |  |)\\[([ xX~-]||✓|a|  )\\](\\*|)( |){id}(\\[P\\] |\\(P\\) |\\[US1\\] |)[a-c]{{0,2}}"
        );
        let item: &'static str = Box::leak(item.into_boxed_str());
        let line = prop_oneof![
            8 => item,
            1 => "##{0,2} (Task 1: x|Phase 1|Notes)",
            1 => "(  |)- \\*\\*(Do|Verify|Property 1)\\*\\*: `x`",
            1 => "[a-z ]{0,6}",
        ];
        prop::collection::vec(line, 0..14).prop_map(|lines| lines.join("\n"))
    }

    /// Whether a person would take a line for a checkbox: a bullet or number, and behind
    /// it a bracket with nothing or a mark inside, followed by a blank or the end. Told
    /// without the reader that is being tested.
    fn looks_like_a_box(line: &str) -> bool {
        let line = line.trim_start_matches([' ', '\t']);
        let bare = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let rest = match bare.len() < line.len() {
            true => bare.strip_prefix(['.', ')']),
            false => line.strip_prefix(['-', '*', '+', '•']),
        };
        let inside = rest.and_then(|rest| rest.trim_start().strip_prefix('['));
        let Some((inside, behind)) = inside.and_then(|rest| rest.split_once(']')) else {
            return false;
        };
        let is_mark = ["", "x", "X", "-", "~"].contains(&inside.trim());
        let behind = behind.strip_prefix('*').unwrap_or(behind);
        is_mark && (behind.is_empty() || behind.starts_with(' '))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn every_line_that_looks_like_a_box_is_a_task_a_step_a_heading_or_named(text in plan_like()) {
            let file = TaskFile::scan(text.as_bytes());
            for (number, line) in line::lines(text.as_bytes()).enumerate() {
                if !looks_like_a_box(&line::readable(line.text)) {
                    continue;
                }
                let is_here = |at: usize| line.span().contains(&at);
                let is_named = file.unread.iter().any(|unread| unread.line == number + 1)
                    || file.tasks.iter().any(|task| task.line == number + 1)
                    || file.headings.iter().any(|heading| heading.line == number + 1)
                    || file.steps.iter().any(|step| is_here(step.mark));
                let is_text = file.tasks.iter().any(|task| {
                    let fields = fields::places(file.block(task)).next();
                    task.block.contains(&line.start)
                        && fields.is_some_and(|(at, _)| task.block.start + at < line.start)
                });
                prop_assert!(is_named || is_text, "line {}: {:?}", number + 1, line);
            }
        }

        #[test]
        fn every_plan_is_complete_when_its_tasks_are_done_and_not_before(text in plan_like()) {
            let after = all_done(text.as_bytes());
            let file = TaskFile::scan(&after);
            // Of tasks with one name only the first is found.
            let before = TaskFile::scan(text.as_bytes());
            let names: std::collections::HashSet<String> =
                before.tasks.iter().map(Task::name).collect();
            if names.len() == before.tasks.len() {
                prop_assert!(file.is_complete());
                // A person who ticks a task leaves its steps as they like.
                let worked = |task: usize| !before.tasks[task].done && !before.tasks[task].optional;
                let mut steps = file.steps.iter().filter(|step| worked(step.task));
                prop_assert!(steps.all(|step| matches!(after[step.mark], b'x' | b'X')));
            }
            prop_assert_eq!(before.is_complete(), before.open().all(|task| task.optional));
            prop_assert_eq!(after.len(), text.len());
        }
    }
}

proptest::proptest! {
    #[test]
    fn every_line_that_looks_like_an_open_box_is_a_task_a_step_a_heading_or_named(
        lines in proptest::collection::vec(
            proptest::sample::select(vec![
                "- [ ] 1.1 a", "- [ ] 1.2 b", "  - [ ] step", "- [ ] loose", "* [ ] star", "1. [ ] n",
                "-[ ] c", "- [] d", "- [ ]e", "[ ] f", "> - [ ] g", "| x | [ ] |", "### [ ] h",
                "2.1 [ ] i", "- [ ]* 2.3 o", "## Part", "### Task 1: x", "text", "", "- [x] 9.9 done",
            ]),
            1..14,
        )
    ) {
        let text = lines.join("\n") + "\n";
        let file = TaskFile::scan(text.as_bytes());
        let line_of = |at: usize| text[..at].matches('\n').count() + 1;
        let mut known: Vec<usize> = file.tasks.iter().map(|task| task.line).collect();
        known.extend(file.headings.iter().map(|heading| heading.line));
        known.extend(file.steps.iter().map(|step| line_of(step.mark)));
        known.extend(file.unread.iter().map(|unread| unread.line));
        for (number, line) in lines.iter().enumerate() {
            let is_open = line.contains("[ ]") || line.contains("[]");
            proptest::prop_assert!(
                !is_open || known.contains(&(number + 1)),
                "line {} of\n{}", number + 1, text
            );
        }
    }
}
