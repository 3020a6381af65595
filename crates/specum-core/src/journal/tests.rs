use super::*;
use crate::tasks::TaskEdit;

fn record(entry: Entry, changes: Option<Changes>) -> Record {
    Record { changes, ..Record::new("2026-01-01T00:00:00Z", entry) }
}

#[test]
fn a_record_is_one_readable_line() {
    let key = TaskKey { id: "1.1".into(), title: "a\nb".into() };
    let changes = Changes {
        tasks: vec![TaskEdit::Tick(key.clone())],
        state: StateChange::Delete,
        ..Changes::default()
    };
    let line = String::from_utf8(
        record(Entry::Completed { tasks: 3, promise: false }, Some(changes.clone())).render(),
    )
    .unwrap();
    insta::assert_snapshot!(line.trim_end(), @r#"{"v":2,"at":"2026-01-01T00:00:00Z","event":"completed","tasks":3,"changes":{"tasks":[{"tick":{"id":"1.1","title":"a\nb"}}],"state":"delete"}}"#);
    assert_eq!(parse(line.as_bytes())[0].changes.as_ref(), Some(&changes));
}

#[test]
fn a_record_names_who_wanted_it_and_a_newer_word_for_that_hides_nothing() {
    let record = Record {
        by: Some(Actor::Person),
        via: Some(Via::Terminal),
        ..Record::new("2026-01-01T00:00:00Z", Entry::Resumed)
    };
    let line = String::from_utf8(record.render()).unwrap();
    insta::assert_snapshot!(line.trim_end(), @r#"{"v":2,"at":"2026-01-01T00:00:00Z","by":"person","via":"terminal","event":"resumed"}"#);
    assert_eq!(parse(line.as_bytes()), [record]);
    let newer = line.replace("terminal", "carrier-pigeon").replace("person", "committee");
    let read = &parse(newer.as_bytes())[0];
    assert_eq!((read.by, read.via), (Some(Actor::Other), Some(Via::Other)));
    assert_eq!(read.entry, Entry::Resumed);
}

#[test]
fn only_a_transaction_at_the_end_is_unfinished() {
    let begun =
        record(Entry::Paused { why: None, branch: None }, Some(Changes::default())).render();
    let done = record(Entry::Done, None).render();
    assert!(unfinished(&begun).is_some());
    assert!(unfinished(&[begun.as_slice(), &done].concat()).is_none());
    assert!(unfinished(&[begun.as_slice(), b"{\"v\":1,\"at\":\"20"].concat()).is_some());
    assert!(unfinished(&begun[..begun.len() - 9]).is_none(), "torn: it never began");
    assert!(unfinished(b"").is_none());
}

#[test]
fn torn_and_newer_lines_do_not_hide_the_others() {
    let text = b"{\"v\":1,\"at\":\"\",\"event\":\"paused\"}\n{\"v\":1,\"at\"\n{\"v\":9,\"at\":\"\",\"event\":\"from-the-future\",\"x\":1}\n\xff\xfe\n{\"v\":1,\"at\":\"\",\"event\":\"resumed\"}";
    let entries: Vec<Entry> = parse(text).into_iter().map(|r| r.entry).collect();
    assert_eq!(
        entries,
        [Entry::Paused { why: None, branch: None }, Entry::Unknown, Entry::Resumed]
    );
}

#[test]
fn a_commit_of_nothing_is_written_as_an_empty_text() {
    for (written, read) in [("", None), ("abc", Some("abc".to_owned()))] {
        let text = format!(
            "{{\"v\":2,\"at\":\"\",\"event\":\"committed\",\"task\":{{\"id\":\"1\",\"title\":\"\"}},\"commit\":\"{written}\"}}\n"
        );
        let records = parse(text.as_bytes());
        assert!(matches!(&records[0].entry, Entry::Committed { commit, .. } if *commit == read));
        assert_eq!(records[0].render(), text.as_bytes());
    }
}
