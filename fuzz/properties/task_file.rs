//! `tasks.md`: scanning never fails, and an edit changes the bytes it names.

use specum_core::journal::{Entry, Record};
use specum_core::machine::{self, Due, Event};
use specum_core::plan::{self, Scope, Unit};
use specum_core::plan_record::{PlanRecord, Review};
use specum_core::state::State;
use specum_core::tasks::{Check, Program, Task, TaskEdit, TaskFile, TaskMatch};
use specum_core::{check, plan_record, suite, tasks};

/// How many tasks of a file are edited: each edit scans the file anew.
const EDITED: usize = 12;

pub fn hold(text: &[u8]) {
    let file = TaskFile::scan(text);
    tasks_stand_in_order(&file);
    for task in file.tasks.iter().take(EDITED) {
        a_tick_changes_boxes(&file, task);
        an_insertion_hides_nothing(&file, task);
        asking_for_fields_is_harmless(&file, task);
    }
    ticks_are_told_apart(&file);
    let lookup = |name: &str| match name.len() % 3 {
        0 => Program::Found,
        1 => Program::NotExecutable,
        _ => Program::Missing,
    };
    let suite = suite::in_plan(text).0;
    check::check(&file, check::Surroundings { lookup: &lookup, suite: &suite, syntax: &|_| None });
    the_plan_names_open_tasks(&file);
    a_pass_ticks_the_task_and_nothing_else(&file);
}

fn tasks_stand_in_order(file: &TaskFile<'_>) {
    let mut end = 0;
    for (index, task) in file.tasks.iter().enumerate() {
        assert_eq!(task.index, index);
        assert!(task.block.start >= end && task.block.end <= file.text().len());
        assert!(!file.block(task).is_empty());
        assert!(task.id.is_none() || file.has_ids);
        end = task.block.end;
    }
}

fn a_tick_changes_boxes(file: &TaskFile<'_>, task: &Task) {
    let text = file.text();
    let turned = tasks::apply(text, &file.set_mark(task, !task.done));
    assert!(turned != text && differ_only_in_boxes(&turned, text));
    let changed = (0..text.len()).filter(|&at| turned[at] != text[at]);
    assert!(changed.into_iter().all(|at| task.block.contains(&at)));
    let after = TaskFile::scan(&turned);
    let mut expected = file.tasks.clone();
    expected[task.index].done = !task.done;
    assert_eq!(after.tasks, expected);
    assert_eq!(file.content(task), after.content(&after.tasks[task.index]));

    let (tick, untick) = (TaskEdit::Tick(task.key()), TaskEdit::Untick(task.key()));
    let ticked = tick.apply(text);
    assert_eq!(tick.apply(&ticked), ticked, "a tick can be made twice");
    let meant = matches!(file.find(&task.key()), TaskMatch::Same(index) if index == task.index);
    if meant && !task.done {
        // The box of a heading goes with the last of its tasks.
        assert!(differ_only_in_boxes(&ticked, &turned));
        assert_eq!(TaskFile::scan(&ticked).tasks, after.tasks);
        let undone = untick.apply(&ticked);
        assert!(differ_only_in_boxes(&undone, text), "a tick can be undone");
        assert_eq!(TaskFile::scan(&undone).tasks, file.tasks);
    }
}

fn differ_only_in_boxes(one: &[u8], other: &[u8]) -> bool {
    let is_mark = |at: usize| {
        let in_box = at > 0 && one[at - 1] == b'[' && one.get(at + 1) == Some(&b']');
        in_box && [one[at], other[at]].iter().all(|byte| b" xX-~".contains(byte))
    };
    one.len() == other.len() && (0..one.len()).all(|at| one[at] == other[at] || is_mark(at))
}

fn an_insertion_hides_nothing(file: &TaskFile<'_>, task: &Task) {
    if !file.has_ids {
        return;
    }
    let id = "987.654".to_owned();
    let block = format!("- [ ] {id} [FIX {}] Fix\n  - **Do**: it\n", task.name());
    let edit = TaskEdit::InsertAfter { after: task.key(), id: id.clone(), block };
    let after = edit.apply(file.text());
    assert_eq!(edit.apply(&after), after, "an insertion can be made twice");
    let names = |file: &TaskFile<'_>| -> Vec<(Option<String>, String, bool)> {
        let others = file.tasks.iter().filter(|task| task.id.as_ref() != Some(&id));
        others.map(|task| (task.id.clone(), task.title.clone(), task.done)).collect()
    };
    assert_eq!(names(&TaskFile::scan(&after)), names(file), "every other task is there still");
    let same = |pair: &(&u8, &u8)| pair.0 == pair.1;
    let head = file.text().iter().zip(&after).take_while(same).count();
    let tail = file.text().iter().rev().zip(after.iter().rev()).take_while(same).count();
    assert!(head + tail >= file.text().len(), "nothing is taken away");
}

fn asking_for_fields_is_harmless(file: &TaskFile<'_>, task: &Task) {
    let fields = file.fields(task);
    assert!(fields.files.iter().all(|path| !path.is_empty()));
    let lines = file.verify_lines(task);
    assert_eq!(Check::of_lines(&lines), fields.verify, "a check is what its lines say");
    let commands = fields.verify.map(|check| check.commands(&|_| Program::Found));
    for command in commands.unwrap_or_default() {
        assert!(!command.text.is_empty());
        command.never_fails();
        command.files();
    }
    for name in ["Do", "Files", "Verify", "Commit"] {
        file.raw_field(task, name);
    }
    assert!(tasks::short_title(&task.title).len() <= 72);
    assert!(file.by_address(&task.name()).is_some());
}

fn ticks_are_told_apart(file: &TaskFile<'_>) {
    let Some(open) = file.open().next() else { return };
    let text = tasks::apply(file.text(), &file.set_mark(open, true));
    let after = TaskFile::scan(&text);
    let started = Entry::Started {
        tasks: file.tasks.len(),
        open: file.open().count(),
        plan: plan_record::beginning(file),
    };
    let record = Record::new("", started);
    let plan_record = PlanRecord::of(&[record]);
    // Two tasks of one id cannot be told apart, and no loop begins with them.
    if !has_doubles(file) {
        let review = plan_record.review(file, Some("1.1"));
        assert_eq!(review, Review::default(), "nothing has changed");
    }
    let unproved = plan_record.unproved(&after);
    assert!(unproved.contains(&after.tasks[open.index].key()) || has_doubles(file));
}

fn has_doubles(file: &TaskFile<'_>) -> bool {
    let mut names: Vec<String> = file.tasks.iter().map(Task::name).collect();
    names.sort();
    names.windows(2).any(|pair| pair[0] == pair[1])
}

fn the_plan_names_open_tasks(file: &TaskFile<'_>) {
    let unit = plan::next(file, &Scope::all(5), |_| plan::Readiness::Ready);
    let wanted = file.open().find(|task| !task.optional);
    assert_eq!(unit == Unit::Complete, wanted.is_none());
    let named = unit.tasks();
    assert!(named.iter().all(|&index| !file.tasks[index].done));
    assert!(named.is_sorted_by(|a, b| a < b) && named.len() <= 5);
    assert!(
        named.windows(2).all(|pair| file.tasks[pair[0]].section == file.tasks[pair[1]].section)
    );
}

fn a_pass_ticks_the_task_and_nothing_else(file: &TaskFile<'_>) {
    let state = State::new(file.tasks.len());
    let Due::Work(unit) = machine::due(&state, file, &Scope::all(1), &PlanRecord::default()) else {
        return;
    };
    let index = unit.tasks()[0];
    let step = machine::step(&state, file, Event::Pass { index, unverified: false });
    assert_eq!(step.edits(), [TaskEdit::Tick(file.tasks[index].key())]);
    let state = step.state.expect("a pass does not end the loop");
    assert!(state.task_index <= file.tasks.len());
}
