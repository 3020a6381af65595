//! What nobody needs any more of a spec's story: the logs of loops that are over,
//! and copies of unfinished work at tasks that have passed since.
//!
//! Nothing of a loop under way is old, nor is the only copy of anything.

use std::collections::{BTreeMap, HashSet};

use crate::journal::{Entry, Record};

/// What may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expired<'a> {
    /// Logs that were last written before this moment, in RFC 3339.
    pub logs_before: &'a str,
    /// References that hold work which has been done again since, by task.
    pub kept: BTreeMap<&'a str, &'a str>,
}

/// What is older than a moment, written as a record's.
pub fn older_than<'a>(records: &'a [Record], moment: &'a str) -> Expired<'a> {
    let logs_before = began(records).filter(|began| *began < moment).unwrap_or(moment);
    let mut kept = BTreeMap::new();
    // Behind the record that is looked at.
    let (mut is_complete, mut passed, mut seen) = (false, HashSet::new(), HashSet::new());
    for record in records.iter().rev() {
        match &record.entry {
            Entry::Completed { .. } => is_complete = true,
            Entry::Passed { task, .. } => {
                passed.insert(&task.id);
            }
            // A reference that was written again is as old as the last time.
            Entry::Kept { task, reference, .. }
                if seen.insert(reference)
                    && is_complete
                    && passed.contains(&task.id)
                    && record.at.as_str() < moment =>
            {
                kept.insert(reference.as_str(), task.id.as_str());
            }
            _ => {}
        }
    }
    Expired { logs_before, kept }
}

/// When the loop began that is under way, if one is.
fn began(records: &[Record]) -> Option<&str> {
    let is_end =
        |record: &Record| matches!(record.entry, Entry::Cancelled | Entry::Completed { .. });
    let since = records.iter().rposition(is_end).map_or(0, |at| at + 1);
    let start =
        records[since..].iter().find(|record| matches!(record.entry, Entry::Started { .. }));
    start.map(|record| record.at.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal;

    fn story(events: &[(&str, &str)]) -> Vec<Record> {
        let line = |(at, event): &(&str, &str)| {
            let task = "\"task\":{\"id\":\"1.1\",\"title\":\"a\"},\"attempt\":1";
            let fields = match *event {
                "started" => "\"tasks\":1,\"open\":1".to_owned(),
                "completed" => "\"tasks\":1".to_owned(),
                "kept" => format!("{task},\"reference\":\"refs/kept/1.1-1\""),
                _ => task.to_owned(),
            };
            format!("{{\"v\":1,\"at\":\"{at}\",\"event\":\"{event}\",{fields}}}\n")
        };
        let records = journal::parse(events.iter().map(line).collect::<String>().as_bytes());
        assert_eq!(records.len(), events.len(), "every record is one");
        records
    }

    #[test]
    fn finding_49_work_that_was_done_again_is_old_and_what_is_not_finished_never_is() {
        let done = [("1", "started"), ("2", "kept"), ("3", "passed"), ("4", "completed")];
        let is_old = |events: &[(&str, &str)], moment: &str| {
            !older_than(&story(events), moment).kept.is_empty()
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
        let before =
            |events: &[(&str, &str)]| older_than(&story(events), "5").logs_before.to_owned();
        assert_eq!(before(&[]), "5");
        assert_eq!(before(&[("1", "started"), ("2", "completed")]), "5");
        assert_eq!(before(&[("1", "started"), ("2", "completed"), ("3", "started")]), "3");
        assert_eq!(before(&[("6", "started")]), "5");
    }
}
