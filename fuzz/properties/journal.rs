//! `.ralph-journal.jsonl`: a torn end costs its own line and no other, every
//! change can be made twice, and the story can be told.

use specum_core::journal::{self, Record, StateChange};
use specum_core::progress;
use specum_core::summary::Summary;
use specum_core::tasks::{TaskEdit, TaskFile};

use super::{PLAN, cuts};

pub fn hold(bytes: &[u8]) {
    let records = journal::parse(bytes);
    assert_eq!(journal::last(bytes).as_ref(), records.last());
    let unfinished = records.last().and_then(|record| record.changes.clone());
    assert_eq!(journal::unfinished(bytes), unfinished);
    a_torn_end_costs_its_own_line(bytes, &records);
    for record in &records {
        let line = record.render();
        assert!(line.ends_with(b"\n") && line.iter().filter(|byte| **byte == b'\n').count() == 1);
        assert_eq!(journal::parse(&line), std::slice::from_ref(record));
        changes_can_be_made_twice(record);
    }
    let file = TaskFile::scan(PLAN);
    for summary in [Summary::of(&records, &file), Summary::of_all_loops(&records, &file)] {
        assert!(summary.tasks.len() <= file.tasks.len() + records.len());
        assert!(summary.attempts <= records.len());
        assert_eq!(summary.done, file.done_count());
        serde_json::to_vec(&summary).expect("a summary is JSON");
    }
}

fn a_torn_end_costs_its_own_line(bytes: &[u8], records: &[Record]) {
    for cut in cuts(bytes.len()) {
        let torn = &bytes[..cut];
        let whole = torn.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let kept = journal::parse(&torn[..whole]);
        assert_eq!(kept, records[..kept.len()], "whole lines are read whatever follows");
        assert!(journal::parse(torn).len() <= kept.len() + 1);
        // Whoever writes next begins a line of their own.
        let line = b"{\"v\":1,\"at\":\"\",\"event\":\"paused\"}\n";
        let ending: &[u8] = if torn.is_empty() || torn.ends_with(b"\n") { b"" } else { b"\n" };
        let longer = journal::parse(&[torn, ending, line].concat());
        assert_eq!(
            longer.last().map(|last| &last.entry),
            Some(&journal::Entry::Paused { why: None, branch: None })
        );
        assert_eq!(longer[..kept.len()], kept);
    }
}

fn changes_can_be_made_twice(record: &Record) {
    let Some(changes) = &record.changes else { return };
    for edit in changes.tasks.iter().take(8) {
        let once = edit.apply(PLAN);
        assert_eq!(edit.apply(&once), once);
    }
    let once = TaskEdit::apply_all(&changes.tasks, PLAN);
    assert!(TaskFile::scan(&once).tasks.len() >= TaskFile::scan(PLAN).tasks.len());
    for note in changes.notes.iter().take(8) {
        let before = progress::template("demo");
        let added = progress::add(before.as_bytes(), note);
        progress::retract(&added, note);
        progress::section(&added, note.section);
    }
    if let StateChange::Write(object) = &changes.state {
        // Any object may stand there; a state is made of it or it is refused.
        let bytes = specum_core::state::render_object(object);
        if let Ok(state) = specum_core::state::State::parse(&bytes) {
            assert!(specum_core::state::State::parse(&state.render()).is_ok());
        }
    }
}
