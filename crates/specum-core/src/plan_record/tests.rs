use super::*;
use crate::journal::follow_renames;
use crate::tasks::{Check, TaskEdit};

fn record(entry: Entry) -> Record {
    Record::new("", entry)
}

fn started(text: &str) -> Record {
    let file = TaskFile::scan(text.as_bytes());
    let plan = beginning(&file);
    record(Entry::Started { tasks: file.tasks.len(), open: file.open().count(), plan })
}

fn key(id: &str) -> TaskKey {
    TaskKey { id: id.into(), title: String::new() }
}

fn passed(id: &str) -> Record {
    record(Entry::Passed {
        task: key(id),
        attempt: 1,
        unverified: false,
        proof: None,
        changed: vec![],
        to_commit: false,
        outside: vec![],
        proofs: vec![],
        unticked: vec![],
        output: String::new(),
        check: None,
        millis: 0,
        isolated: None,
    })
}

/// What stands, against what is on record.
fn reviewed(records: &[Record], text: &str, during: Option<&str>) -> Review {
    PlanRecord::of(records).review(&TaskFile::scan(text.as_bytes()), during)
}

fn unproved(records: &[Record], text: &str) -> Vec<String> {
    let review = reviewed(records, text, Some("1.1"));
    review.unproved.into_iter().map(|key| key.id).collect()
}

/// The story goes on: what a review found is on record.
fn and_so(records: &mut Vec<Record>, text: &str, during: Option<&str>) -> Review {
    let review = reviewed(records, text, during);
    records.push(record(Entry::PlanChanged { edits: review.edits.clone() }));
    let last = records.len() - 1;
    follow_renames(records, last);
    review
}

const PLAN: &str = "- [x] 1.1 a\n- [ ] 1.2 b\n  - **Verify**: `b`\n- [ ] 1.3 c\n";

#[test]
fn a_tick_counts_with_a_verdict_a_person_or_the_beginning_behind_it() {
    let mut records = vec![started(PLAN)];
    let all = PLAN.replace("[ ]", "[x]");
    assert_eq!(unproved(&records, &all), ["1.2", "1.3"]);
    records.push(passed("1.2"));
    assert_eq!(unproved(&records, &all), ["1.3"]);
    records.push(record(Entry::Ticked { task: key("1.3") }));
    assert_eq!(unproved(&records, &all), Vec::<String>::new());
    records.push(record(Entry::Unticked { tasks: vec!["1.2".into()] }));
    assert_eq!(unproved(&records, &all), ["1.2"]);
}

#[test]
fn what_is_ticked_while_nobody_holds_the_loop_is_a_persons() {
    let mut records = vec![started(PLAN)];
    let ticked = PLAN.replace("[ ] 1.3", "[x] 1.3");
    let review = and_so(&mut records, &ticked, None);
    assert!(matches!(&review.edits[..], [PlanEdit::Ticked(task)] if task.id == "1.3"));
    assert_eq!(unproved(&records, &ticked), Vec::<String>::new());
}

#[test]
fn an_open_box_is_open_whatever_was_proved_before() {
    let mut records = vec![started(PLAN), passed("1.2")];
    let review = and_so(&mut records, PLAN, Some("1.3"));
    assert!(matches!(&review.edits[..], [PlanEdit::Reopened(task)] if task.id == "1.2"));
    let ticked = PLAN.replace("[ ] 1.2", "[x] 1.2");
    assert_eq!(unproved(&records, &ticked), ["1.2"], "the old verdict proves nothing new");
}

#[test]
fn a_task_that_comes_ticked_during_an_attempt_is_open() {
    let records = [started(PLAN)];
    assert_eq!(unproved(&records, &format!("{PLAN}- [x] 9.9 done, really\n")), ["9.9"]);
}

#[test]
fn a_check_that_is_changed_during_an_attempt_waits_for_a_person() {
    let mut records = vec![started(PLAN)];
    let weak = PLAN.replace("`b`", "`true`");
    and_so(&mut records, &weak, Some("1.1"));
    let plan_record = PlanRecord::of(&records);
    let on_record = plan_record.task("1.2").unwrap();
    assert_eq!(on_record.check.shown(), "`b`");
    assert_eq!(
        on_record.question().unwrap(),
        "the check of 1.2 was changed while 1.1 was being worked on: `b` → `true`; `specum accept \
         1.2` takes the new one"
    );
    assert!(reviewed(&records, &weak, Some("1.1")).edits.is_empty(), "asked once");
    assert!(reviewed(&records, &weak, None).edits.is_empty(), "and it goes on waiting");

    let mut back = records.clone();
    and_so(&mut back, PLAN, Some("1.1"));
    assert_eq!(PlanRecord::of(&back).task("1.2").unwrap().question(), None, "as it was on record");

    records.push(record(Entry::Accepted { task: key("1.2") }));
    assert_eq!(PlanRecord::of(&records).task("1.2").unwrap().check.shown(), "`true`");
}

#[test]
fn what_a_person_edits_while_nobody_works_is_on_record_at_once() {
    let mut records = vec![started(PLAN)];
    let text = PLAN.replace("`b`", "`make`").replace("- [ ] 1.3 c\n", "");
    and_so(&mut records, &text, None);
    let plan_record = PlanRecord::of(&records);
    assert_eq!(plan_record.task("1.2").unwrap().check.shown(), "`make`");
    assert_eq!(plan_record.task("1.3"), None);
    assert_eq!(plan_record.questions().count(), 0);
}

#[test]
fn titles_order_new_tasks_and_steps_are_nobodys_question() {
    let mut records = vec![started(PLAN)];
    let text = "- [ ] 1.3 c\n- [ ] 1.2 better b\n  - [x] a step\n  - **Verify**: `b`\n- [x] 1.1 a\n- [ ] 1.4 d\n  - **Verify**: `d`\n";
    and_so(&mut records, text, Some("1.2"));
    let plan_record = PlanRecord::of(&records);
    assert_eq!(plan_record.questions().count(), 0);
    assert_eq!(plan_record.task("1.4").unwrap().check.shown(), "`d`");
    assert_eq!(plan_record.task("1.2").unwrap().task.title, "better b");
}

#[test]
fn a_removed_task_is_asked_for_until_it_is_back_or_accepted() {
    let mut records = vec![started(PLAN)];
    let without = PLAN.replace("- [ ] 1.3 c\n", "");
    and_so(&mut records, &without, Some("1.1"));
    let removed = |records: &[Record]| PlanRecord::of(records).removals().count();
    assert_eq!(removed(&records), 1);
    and_so(&mut records, &without, None);
    assert_eq!(removed(&records), 1, "nobody forgets it");
    let mut back = records.clone();
    and_so(&mut back, PLAN, Some("1.1"));
    assert_eq!(removed(&back), 0);
    let task = PlanRecord::of(&records).removals().next().unwrap().task.clone();
    records.push(record(Entry::Accepted { task }));
    assert_eq!(removed(&records), 0);
    assert!(reviewed(&records, &without, Some("1.1")).edits.is_empty());
}

#[test]
fn a_done_task_may_be_removed_by_anybody() {
    let mut records = vec![started(PLAN)];
    and_so(&mut records, &PLAN.replace("- [x] 1.1 a\n", ""), Some("1.2"));
    assert_eq!(PlanRecord::of(&records).removals().count(), 0);
}

#[test]
fn a_block_that_only_got_another_number_is_the_same_task() {
    let mut records = vec![started(PLAN), passed("1.2")];
    // A task is inserted, and those behind it are numbered anew.
    let text = "- [x] 1.1 a\n- [ ] 1.2 new\n- [x] 1.3 b\n  - **Verify**: `b`\n- [ ] 1.4 c\n";
    let review = and_so(&mut records, text, Some("1.4"));
    assert_eq!(review.unproved, []);
    assert!(matches!(&records[1].entry, Entry::Passed { task, .. } if task.id == "1.3"));
    let plan_record = PlanRecord::of(&records);
    assert_eq!(plan_record.questions().count(), 0);
    assert_eq!(plan_record.task("1.3").unwrap().proof, Some(Proof::Passed));
    assert_eq!(plan_record.task("1.2").unwrap().proof, None);
    // Two tasks change places.
    let swapped = "- [x] 1.1 a\n- [ ] 1.2 c\n- [x] 1.3 b\n  - **Verify**: `b`\n- [ ] 1.4 new\n";
    and_so(&mut records, swapped, Some("1.4"));
    assert_eq!(PlanRecord::of(&records).questions().count(), 0);
}

#[test]
fn tasks_without_ids_are_followed_by_text_and_place() {
    let mut records = vec![started("- [x] a\n- [ ] b\n- [ ] b\n- [ ] c\n"), passed("no.2")];
    // One is inserted in front, one is retitled.
    let text = "- [ ] z\n- [x] a\n- [x] b\n- [ ] b\n- [ ] c, but better\n";
    let review = and_so(&mut records, text, Some("no.3"));
    assert_eq!(review.unproved, []);
    let plan_record = PlanRecord::of(&records);
    let proofs: Vec<bool> = plan_record.tasks().iter().map(|task| task.proof.is_some()).collect();
    assert_eq!(proofs, [false, true, true, false, false]);
    assert_eq!(plan_record.removals().count(), 0);
    assert!(matches!(&records[1].entry, Entry::Passed { task, .. } if task.id == "no.3"));
    assert_eq!(plan_record.task("no.5").unwrap().task.title, "c, but better");
}

#[test]
fn a_second_task_of_one_id_does_not_change_the_check_of_the_first() {
    let mut records = vec![started(PLAN)];
    let doubled = format!("{PLAN}- [ ] 1.2 a copy\n  - **Verify**: `true`\n");
    and_so(&mut records, &doubled, Some("1.1"));
    assert_eq!(PlanRecord::of(&records).task("1.2").unwrap().check.shown(), "`b`");
    and_so(&mut records, PLAN, Some("1.1"));
    assert_eq!(PlanRecord::of(&records).task("1.2").unwrap().check.shown(), "`b`");
}

#[test]
fn the_number_of_a_removed_task_may_be_given_to_another() {
    let mut records = vec![started(PLAN)];
    // 1.1 goes, 1.2 takes its number, and then its check is weakened.
    let text = PLAN.replace("- [x] 1.1 a\n", "");
    and_so(&mut records, &text, Some("1.2"));
    let text = text.replace("1.2 b", "1.1 b");
    and_so(&mut records, &text, Some("1.2"));
    let text = text.replace("`b`", "`true`");
    and_so(&mut records, &text, Some("1.2"));
    let plan_record = PlanRecord::of(&records);
    assert_eq!(plan_record.task("1.1").unwrap().check.shown(), "`b`");
    assert_eq!(plan_record.questions().count(), 1);
}

#[test]
fn another_loop_begins_anew_and_a_foreign_one_has_no_record() {
    let all = PLAN.replace("[ ]", "[x]");
    assert_eq!(PlanRecord::default().unproved(&TaskFile::scan(all.as_bytes())), []);
    assert_eq!(unproved(&[], &all), ["1.1"], "what is being worked on is not done");
    let records = [started(PLAN), record(Entry::Cancelled)];
    assert!(!PlanRecord::of(&records).has_begun());
    let records = [started(PLAN), record(Entry::Cancelled), started(&all)];
    assert_eq!(unproved(&records, &all), Vec::<String>::new());
}

#[test]
fn lines_that_are_no_text_survive_the_journal() {
    for lines in [&b"- **Verify**: `a`"[..], b"`caf\xe9`", b""] {
        let lines = Lines(lines.to_vec());
        let json = serde_json::to_string(&lines).unwrap();
        assert_eq!(serde_json::from_str::<Lines>(&json).unwrap(), lines);
    }
}

proptest::proptest! {
    /// However a plan is edited: reviewed twice, there is nothing new, and
    /// nothing that nobody proved counts.
    #[test]
    fn a_second_review_finds_nothing_new(
        before in proptest::collection::vec(("[abc]", proptest::bool::ANY), 0..6),
        after in proptest::collection::vec(("[abcd]", proptest::bool::ANY), 0..6),
        ids in proptest::bool::ANY,
        held in proptest::bool::ANY,
    ) {
        let plan = |tasks: &[(String, bool)]| -> String {
            tasks.iter().enumerate().map(|(n, (title, done))| {
                let mark = if *done { 'x' } else { ' ' };
                let id = if ids { format!("1.{n} ") } else { String::new() };
                format!("- [{mark}] {id}{title}\n")
            }).collect()
        };
        let mut records = vec![started(&plan(&before))];
        let text = plan(&after);
        let during = held.then_some("1.1");
        let review = and_so(&mut records, &text, during);
        let edits: Vec<TaskEdit> = review.unproved.into_iter().map(TaskEdit::Untick).collect();
        let text = TaskEdit::apply_all(&edits, text.as_bytes());
        let again = PlanRecord::of(&records).review(&TaskFile::scan(&text), during);
        if !before.is_empty() {
            proptest::prop_assert_eq!(again, Review::default());
        }
    }
}

#[test]
fn a_task_whose_check_waits_is_followed_through_another_number_or_title() {
    let without_ids = PLAN.replace("1.1 ", "").replace("1.2 ", "").replace("1.3 ", "");
    for (plan, was, now) in [(PLAN, "1.2 b", "1.7 b"), (&without_ids, "] b", "] b, anew")] {
        let mut records = vec![started(plan)];
        let weak = plan.replace("`b`", "`true`");
        and_so(&mut records, &weak, Some("1.1"));
        let review = and_so(&mut records, &weak.replace(was, now), Some("1.1"));
        assert!(matches!(&review.edits[..], [PlanEdit::Renamed { .. }, ..]), "{review:?}");
        let plan_record = PlanRecord::of(&records);
        let task =
            plan_record.tasks().iter().find(|task| task.task.title.starts_with('b')).unwrap();
        assert_eq!(task.check.shown(), "`b`");
        assert!(task.unconfirmed.is_some());
    }
}

#[test]
fn a_task_that_is_gone_takes_no_place_of_one_that_stays() {
    let mut records = vec![started("- [ ] a\n- [ ] a\n- [ ] b\n")];
    and_so(&mut records, "- [ ] a\n- [ ] b\n", Some("no.1"));
    let again = and_so(&mut records, "- [ ] a\n- [ ] b\n", Some("no.1"));
    assert_eq!(again, Review::default());
    let review = and_so(&mut records, "- [ ] a, anew\n- [ ] b\n", Some("no.1"));
    assert!(matches!(&review.edits[0], PlanEdit::Renamed { from, .. } if from.id == "no.1"));
    assert_eq!(PlanRecord::of(&records).removals().count(), 1);
}

#[test]
fn a_task_with_the_name_of_one_that_was_removed_inherits_nothing() {
    let mut records = vec![started(PLAN), passed("1.2")];
    and_so(&mut records, "- [x] 1.1 a\n- [ ] 1.3 c\n", Some("1.3"));
    let review = and_so(&mut records, "- [x] 1.1 a\n- [ ] 1.2 c\n", Some("1.2"));
    assert!(matches!(&review.edits[..], [PlanEdit::Renamed { .. }]), "{review:?}");
    let plan_record = PlanRecord::of(&records);
    assert_eq!(plan_record.task("1.2").unwrap().task.title, "c");
    assert_eq!(plan_record.task("1.2").unwrap().proof, None);
    assert_eq!(plan_record.tasks().len(), 2);
    let is_of_another = |record: &Record| record.entry.task().is_some_and(|task| task.id == "1.2");
    assert!(!records.iter().any(is_of_another));
}

#[test]
fn another_task_with_the_number_of_one_that_is_gone_does_not_bring_it_back() {
    let mut records = vec![started(PLAN)];
    and_so(&mut records, "- [x] 1.1 a\n- [ ] 1.3 c\n", Some("1.1"));
    assert!(PlanRecord::of(&records).removals().any(|task| task.task.title == "b"));
    and_so(&mut records, "- [x] 1.1 a\n- [ ] 1.2 another\n- [ ] 1.3 c\n", Some("1.1"));
    let plan_record = PlanRecord::of(&records);
    assert!(plan_record.removals().any(|task| task.task.title == "b"));
    assert_eq!(plan_record.task("1.2").unwrap().task.title, "another");
    and_so(&mut records, PLAN, Some("1.1"));
    assert!(!PlanRecord::of(&records).removals().any(|task| task.task.title == "b"));
}

#[test]
fn a_question_says_what_to_do_however_long_the_checks_are() {
    let long = |word: &str| format!("- [ ] 1.1 a\n  - **Verify**: `{}`\n", word.repeat(50));
    let mut records = vec![started(&long("make "))];
    and_so(&mut records, &long("true "), Some("1.1"));
    let question = PlanRecord::of(&records).questions().next().unwrap();
    assert!(question.len() < 200 && question.contains("`specum accept 1.1`"), "{question}");
}

#[test]
fn a_task_that_is_put_back_is_back_though_it_reads_otherwise() {
    let mut records = vec![started(PLAN)];
    and_so(&mut records, "- [x] 1.1 a\n- [ ] 1.3 c\n", Some("1.1"));
    and_so(&mut records, "- [x] 1.1 a\n- [ ] 1.3 c\n- [ ] 1.2 b\n\nNotes.\n", None);
    assert_eq!(PlanRecord::of(&records).questions().count(), 0);
}

#[test]
fn putting_a_task_back_takes_no_check_that_waits() {
    let plan = |check: &str| format!("- [ ] 1.1 a\n- [ ] 1.2 b\n  - **Verify**: `{check}`\n");
    let mut records = vec![started(&plan("make"))];
    and_so(&mut records, &plan("true"), Some("1.1"));
    and_so(&mut records, "- [ ] 1.1 a\n", Some("1.1"));
    and_so(&mut records, &plan("true"), None);
    let plan_record = PlanRecord::of(&records);
    assert_eq!(plan_record.task("1.2").unwrap().check.shown(), "`make`");
    assert!(plan_record.questions().next().unwrap().contains("`make` → `true`"));
}

#[test]
fn finding_55_a_new_loop_has_nothing_to_review_unless_two_tasks_have_one_id() {
    for (text, is_reviewed) in
        [("- [ ] 1.1 a\n- [x] 1.2 b\n", true), ("- [x] 1.1 a\n- [x] 1.1 b\n", false)]
    {
        let file = TaskFile::scan(text.as_bytes());
        let mut state = State::new(2);
        note_beginning(&beginning(&file), &mut state, &file);
        assert_eq!(state.has_reviewed(&file), is_reviewed, "{text}");
    }
}

#[test]
fn a_block_is_on_record_to_the_byte_and_a_list_without_its_ticks() {
    let lines = |text: &str| {
        let file = TaskFile::scan(text.as_bytes());
        let lines = Lines::of(&file, &file.tasks[0]);
        (Check::of_lines(&lines.0), file.fields(&file.tasks[0]).verify, lines)
    };
    let block = "- [ ] 1.1 a\n  - **Verify**:\n    ```sh\n    diff list - <<'E'\n    - [x] one  \n    E\n    ```\n";
    let (on_record, asked, _) = lines(block);
    assert_eq!(on_record, asked, "what is run is what stands there");
    let list = "- [ ] 1.1 a\n  - **Verify**:\n    - [ ] `a`\n    - [ ] `b`\n";
    assert_eq!(lines(list).2, lines(&list.replace("[ ] `a`", "[x] `a`  ")).2);
}
