//! Journals that earlier versions wrote, as they wrote them: what they tell must
//! still be understood.

use specum_core::attempt::{Ledger, LoopStanding};
use specum_core::journal::{self, Entry, Record};
use specum_core::summary::Summary;
use specum_core::tasks::TaskFile;

const PLAN: &[u8] = b"- [x] 1.1 Write the first file\n- [x] 1.2 Fails once\n\
    - [x] 1.3 [P] One of a group\n- [x] 1.4 [P] Another of the group\n\
    - [x] 1.5 [VERIFY] Look at it all\n- [x] 1.6 In words only\n";

/// Journals of runs that completed, and of runs that were killed.
const COMPLETED: [(&str, &[u8]); 2] = [
    ("run", include_bytes!("journals/format-1/run.jsonl")),
    ("run of 0.1.0", include_bytes!("journals/format-1/run-0.1.0.jsonl")),
];
const KILLED: [(&str, &[u8]); 2] = [
    ("killed", include_bytes!("journals/format-1/killed.jsonl")),
    ("killed, of 0.1.0", include_bytes!("journals/format-1/killed-0.1.0.jsonl")),
];

/// The records of a journal, one for each of its lines.
fn records(name: &str, text: &[u8]) -> Vec<Record> {
    let records = journal::parse(text);
    let lines = text.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(records.len(), lines, "every line of {name} is a record");
    records
}

#[test]
fn every_record_of_an_earlier_format_is_known() {
    for (name, text) in COMPLETED.into_iter().chain(KILLED) {
        for record in records(name, text) {
            assert!(record.v == 1 && record.entry != Entry::Unknown, "{name}: {record:?}");
        }
    }
}

#[test]
fn a_loop_that_an_earlier_version_completed_is_complete() {
    for (name, text) in COMPLETED {
        let records = records(name, text);
        let ledger = Ledger::of(&records);
        assert_eq!(ledger.standing(), LoopStanding::Completed, "{name}");
        assert!(ledger.open_attempts().is_empty() && ledger.uncommitted().is_none(), "{name}");
        assert!(ledger.unsettled().is_empty() && ledger.uncharged().is_empty(), "{name}");
        assert!(
            ledger.commit_of("1.4").flatten().is_some_and(|commit| commit.len() == 40),
            "{name}"
        );
        let summary = Summary::of(&records, &TaskFile::scan(PLAN));
        assert_eq!((summary.done, summary.attempts, summary.commits), (6, 8, 6), "{name}");
    }
}

#[test]
fn an_attempt_that_an_earlier_version_left_open_is_found() {
    for (name, text) in KILLED {
        let ledger = Ledger::of(&records(name, text));
        assert!(ledger.is_under_way(), "{name}");
        let open = ledger.open_attempts();
        let found: Vec<_> = open.iter().map(|a| (a.key.id.as_str(), a.number)).collect();
        assert_eq!(found, [("1.6", 1)], "{name}");
        let unsettled = ledger.unsettled();
        assert_eq!(unsettled.first().map(|(a, _)| &a.id), Some(&open[0].id), "{name}");
        assert_eq!(ledger.uncharged().len(), 1, "{name}");
    }
}
