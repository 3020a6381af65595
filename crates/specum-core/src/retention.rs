//! What is no longer needed of a spec's story: the logs of loops that are over, copies
//! of unfinished work at tasks that have passed since, and everything in the journals
//! of old loops but their verdicts, commits and proofs.
//!
//! Nothing of a loop under way is old, nor is the only copy of anything.

use std::collections::{BTreeMap, HashSet};

use crate::journal::{self, Entry, Record};
use crate::moment::Moment;
use crate::tasks::TaskKey;

/// What may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expired<'a> {
    /// Logs that were last written before this moment.
    pub logs_before: &'a Moment,
    /// References that hold work which has been done again since, by task.
    pub kept: BTreeMap<&'a str, &'a str>,
}

/// The tasks that have passed behind a record. A name is that of one task only within a
/// loop, in which the journal follows it; in another loop it takes the title too.
#[derive(Default)]
struct Passed<'a> {
    /// By name, in the loop of that record.
    in_loop: HashSet<&'a str>,
    tasks: HashSet<&'a TaskKey>,
}

impl Passed<'_> {
    fn before_another_loop(&mut self) {
        self.in_loop.clear();
    }

    fn has(&self, task: &TaskKey) -> bool {
        self.in_loop.contains(task.id.as_str()) || self.tasks.contains(task)
    }
}

/// What is older than a moment.
pub fn older_than<'a>(records: &'a [Record], moment: &'a Moment) -> Expired<'a> {
    let logs_before = began(records).filter(|began| *began < moment).unwrap_or(moment);
    let mut kept = BTreeMap::new();
    // Behind the record that is looked at.
    let (mut is_complete, mut passed, mut seen) = (false, Passed::default(), HashSet::new());
    for record in records.iter().rev() {
        match &record.entry {
            Entry::Completed { .. } => {
                is_complete = true;
                passed.before_another_loop();
            }
            Entry::Cancelled => passed.before_another_loop(),
            Entry::Started { plan, .. } if !plan.is_empty() => passed.before_another_loop(),
            Entry::Passed { task, .. } => {
                passed.in_loop.insert(&task.id);
                passed.tasks.insert(task);
            }
            // A reference that was written again is as old as the last time.
            Entry::Kept { task, reference, .. }
                if seen.insert(reference)
                    && is_complete
                    && passed.has(task)
                    && record.at < *moment =>
            {
                kept.insert(reference.as_str(), task.id.as_str());
            }
            _ => {}
        }
    }
    Expired { logs_before, kept }
}

/// The journal of an earlier loop as it stays once it is older than a moment: its
/// verdicts with their proofs, its commits, what a person said, and what it cost.
/// `None` if it is to stay as it is: because it is not old, because a newer version
/// wrote some of it, or because nothing would go.
pub fn thinned(segment: &[u8], moment: &Moment) -> Option<Vec<u8>> {
    let records = journal::parse(segment);
    if records.last()?.at >= *moment {
        return None;
    }
    let is_newer =
        |record: &Record| record.v > journal::FORMAT_VERSION || record.entry == Entry::Unknown;
    if records.iter().any(is_newer) {
        return None;
    }
    let kept: Vec<u8> = records.into_iter().filter_map(kept_of).flat_map(|r| r.render()).collect();
    (kept.len() < segment.len()).then_some(kept)
}

/// What stays of a record of an old loop.
fn kept_of(record: Record) -> Option<Record> {
    let entry = match record.entry {
        // The plan as it was is in the commits.
        Entry::Started { tasks, open, .. } => Entry::Started { tasks, open, plan: Vec::new() },
        // Logs go at the same age.
        Entry::Charged { task, attempt, agent, tokens, cost, estimated, millis, .. } => {
            Entry::Charged { task, attempt, agent, tokens, cost, estimated, millis, log: None }
        }
        entry @ (Entry::Passed { .. }
        | Entry::Failed { .. }
        | Entry::SetAside { .. }
        | Entry::Modified { .. }
        | Entry::ModificationRefused { .. }
        | Entry::Waits { .. }
        | Entry::Committed { .. }
        | Entry::Kept { .. }
        | Entry::Ticked { .. }
        | Entry::Accepted { .. }
        | Entry::Noted { .. }
        | Entry::NoteWithdrawn { .. }
        | Entry::Skipped { .. }
        | Entry::Unskipped { .. }
        | Entry::Retried { .. }
        | Entry::Undone { .. }
        | Entry::Approved { .. }
        | Entry::Unticked { .. }
        | Entry::PlanChanged { .. }
        | Entry::GitChanged { .. }
        | Entry::GitAccepted { .. }
        | Entry::Cancelled
        | Entry::Completed { .. }) => entry,
        _ => return None,
    };
    // How files were changed is of no use once the loop is over.
    Some(Record { entry, changes: None, ..record })
}

/// When the loop began that is under way, if one is.
fn began(records: &[Record]) -> Option<&Moment> {
    let is_end =
        |record: &Record| matches!(record.entry, Entry::Cancelled | Entry::Completed { .. });
    let since = records.iter().rposition(is_end).map_or(0, |at| at + 1);
    let start =
        records[since..].iter().find(|record| matches!(record.entry, Entry::Started { .. }));
    start.map(|record| &record.at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records of a plan without ids, in which the first task is called by its place.
    fn without_ids(events: &[(&str, &str)]) -> Vec<Record> {
        let line = |(at, (event, title)): (usize, &(&str, &str))| {
            let task = format!("\"task\":{{\"id\":\"no.1\",\"title\":\"{title}\"}},\"attempt\":1");
            let fields = match *event {
                "kept" => format!("{task},\"reference\":\"refs/kept/{title}\""),
                "passed" => task,
                "started" => {
                    format!("\"tasks\":1,\"open\":1,\"plan\":[{{{task},\"content\":\"\"}}]")
                }
                _ => "\"tasks\":1".to_owned(),
            };
            format!("{{\"v\":1,\"at\":\"{at}\",\"event\":\"{event}\",{fields}}}\n")
        };
        let text: String = events.iter().enumerate().map(line).collect();
        let records = journal::parse(text.as_bytes());
        assert_eq!(records.len(), events.len(), "every record is one: {text}");
        assert!(records.iter().all(|record| record.entry != Entry::Unknown));
        records
    }

    #[test]
    fn work_at_a_task_is_not_old_because_another_one_that_stands_in_its_place_has_passed() {
        let is_old = |events: &[(&str, &str)]| {
            !older_than(&without_ids(events), &"9".into()).kept.is_empty()
        };
        for end in ["cancelled", "completed"] {
            let first = [("started", "a"), ("kept", "a"), (end, "")];
            let then = |title| [("started", title), ("passed", title), ("completed", "")];
            assert!(!is_old(&[first, then("b")].concat()), "{end}: nobody has done it again");
            assert!(is_old(&[first, then("a")].concat()), "{end}: it is the same task");
        }
        // Within a loop the journal follows a task that gets another title.
        assert!(is_old(&[("started", "a"), ("kept", "a"), ("passed", "b"), ("completed", "")]));
    }

    fn text(events: &[(&str, &str)]) -> String {
        let line = |(at, event): &(&str, &str)| {
            let task = "\"task\":{\"id\":\"1.1\",\"title\":\"a\"},\"attempt\":1";
            let fields = match *event {
                "started" => "\"tasks\":1,\"open\":1".to_owned(),
                "completed" => "\"tasks\":1".to_owned(),
                "resumed" => "\"x\":1".to_owned(),
                "kept" => format!("{task},\"reference\":\"refs/kept/1.1-1\""),
                _ => task.to_owned(),
            };
            format!("{{\"v\":1,\"at\":\"{at}\",\"event\":\"{event}\",{fields}}}\n")
        };
        events.iter().map(line).collect()
    }

    fn story(events: &[(&str, &str)]) -> Vec<Record> {
        let records = journal::parse(text(events).as_bytes());
        assert_eq!(records.len(), events.len(), "every record is one");
        records
    }

    #[test]
    fn finding_2_10_verdicts_commits_and_proofs_of_an_old_loop_stay() {
        let opened = r#"{"v":1,"at":"1","event":"opened","task":{"id":"1.1","title":"a"},"attempt":1,"block":"- [ ] 1.1 a","dirty":{"x":"1"}}"#;
        let passed = r#"{"v":1,"at":"2","event":"passed","task":{"id":"1.1","title":"a"},"attempt":1,"proofs":["t.sh"],"output":"ok","millis":7,"changes":{"state":"delete"}}"#;
        let committed = r#"{"v":1,"at":"3","event":"committed","task":{"id":"1.1","title":"a"},"commit":"abc"}"#;
        let done = "{\"v\":1,\"at\":\"3\",\"event\":\"done\"}";
        let journal = format!("{opened}\n{passed}\n{done}\n{committed}\n{{\"torn");
        assert_eq!(thinned(journal.as_bytes(), &"3".into()), None, "not old yet");
        let thin = thinned(journal.as_bytes(), &"4".into()).unwrap();
        let passed = passed.replace(r#","changes":{"state":"delete"}"#, "");
        assert_eq!(String::from_utf8_lossy(&thin), format!("{passed}\n{committed}\n"));
        assert_eq!(thinned(&thin, &"4".into()), None, "nothing more goes");
        let newer = format!("{journal}\n{}\n", r#"{"v":2,"at":"3","event":"new"}"#);
        assert_eq!(thinned(newer.as_bytes(), &"4".into()), None, "a newer version may need it");
        assert_eq!(thinned(b"", &"4".into()), None);
    }

    #[test]
    fn finding_2_10_what_is_old_in_a_whole_journal_is_old_in_a_thinned_one() {
        let done = [("1", "started"), ("2", "kept"), ("3", "passed"), ("4", "completed")];
        let thin =
            thinned((text(&done) + &text(&[("5", "resumed")])).as_bytes(), &"9".into()).unwrap();
        assert_eq!(
            older_than(&journal::parse(&thin), &"9".into()).kept,
            older_than(&story(&done), &"9".into()).kept
        );
    }

    #[test]
    fn finding_49_work_that_was_done_again_is_old_and_what_is_not_finished_never_is() {
        let done = [("1", "started"), ("2", "kept"), ("3", "passed"), ("4", "completed")];
        let is_old = |events: &[(&str, &str)], moment: &str| {
            !older_than(&story(events), &moment.into()).kept.is_empty()
        };
        assert!(is_old(&done, "5"));
        assert!(!is_old(&done, "2"), "not yet");
        assert!(!is_old(&done[..3], "5"), "the loop is under way");
        assert!(!is_old(&[done[0], done[1], done[3]], "5"), "nobody has done it again");
        let again = [&done[..], &[("4", "started"), ("5", "kept")]].concat();
        assert!(!is_old(&again, "9"), "and this is the only copy");
    }

    #[test]
    fn finding_49_the_logs_of_a_loop_under_way_are_not_old() {
        let before = |events: &[(&str, &str)]| {
            older_than(&story(events), &"5".into()).logs_before.to_string()
        };
        assert_eq!(before(&[]), "5");
        assert_eq!(before(&[("1", "started"), ("2", "completed")]), "5");
        assert_eq!(before(&[("1", "started"), ("2", "completed"), ("3", "started")]), "3");
        assert_eq!(before(&[("6", "started")]), "5");
    }
}
