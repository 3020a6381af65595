use std::fs;
use std::path::PathBuf;

use specum_core::event::RunId;
use specum_core::journal::Entry;
use tempfile::TempDir;

use super::*;
use crate::files::Durability;
use crate::ports::World;
use crate::project::Spec;

/// A spec without a repository.
fn world() -> (TempDir, Store) {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().canonicalize().unwrap();
    (place, store_of(dir.clone(), dir))
}

fn store_of(dir: PathBuf, root: PathBuf) -> Store {
    let (name, shown, world) = ("a".into(), "a".into(), World::real());
    Store::of(&Spec { name, dir, shown, root, world })
}

fn warn(store: &Store, text: &str) {
    store.lock().unwrap().record(Entry::Warning { text: text.into() }).unwrap();
}

/// Ends a loop and begins the next one.
fn begin_next_loop(store: &Store) {
    let locked = store.lock().unwrap();
    locked.record(Entry::Completed { tasks: 1, promise: false }).unwrap();
    locked.begin_segment().unwrap();
    drop(locked);
    assert!(!store.journal_path().exists());
}

/// The numbers and the texts of what is new.
fn new(feed: &mut Feed) -> Vec<(u64, String)> {
    let shown = |event: Event| match event.entry() {
        Some(Entry::Warning { text }) => (event.seq.unwrap(), text.clone()),
        other => (event.seq.unwrap(), serde_json::to_value(other).unwrap()["event"].to_string()),
    };
    feed.next().unwrap().into_iter().map(shown).collect()
}

fn told(events: &[(u64, &str)]) -> Vec<(u64, String)> {
    events.iter().map(|(seq, text)| (*seq, (*text).to_owned())).collect()
}

/// Writes a file anew, under a name of its own first.
fn replace(path: &Path, text: &[u8]) {
    let new = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::rename(&new, path).unwrap();
}

#[test]
fn a_feed_gives_what_was_from_a_number_on_and_then_what_comes() {
    let (_place, store) = world();
    let mut early = Feed::from(&store, 1);
    assert_eq!(new(&mut early), told(&[]), "no journal yet");
    ["a", "b", "c"].iter().for_each(|text| warn(&store, text));
    let mut late = Feed::from(&store, 2);
    let mut next = Feed::from_now(&store).unwrap();
    assert_eq!(new(&mut early), told(&[(1, "a"), (2, "b"), (3, "c")]));
    assert_eq!(new(&mut late), told(&[(2, "b"), (3, "c")]));
    assert_eq!(new(&mut next), told(&[]));
    // The process that writes it.
    warn(&Store::clone(&store), "d");
    for feed in [&mut early, &mut late, &mut next] {
        assert_eq!(new(feed), told(&[(4, "d")]));
        assert_eq!(new(feed), told(&[]));
    }
}

#[test]
fn a_record_names_the_run_that_wrote_it() {
    let (_place, mut store) = world();
    warn(&store, "a session");
    store.write_as(RunId::new(1, 2, 3));
    warn(&store, "a run");
    assert_eq!(store.written(), 2);
    let runs: Vec<Option<RunId>> =
        Feed::from(&store, 0).next().unwrap().into_iter().map(|event| event.run).collect();
    assert_eq!(runs, [None, Some(RunId::new(1, 2, 3))]);
}

#[test]
fn a_feed_follows_a_journal_into_its_segment_and_on_into_the_next_one() {
    let (_place, store) = world();
    warn(&store, "a");
    let mut reading = Feed::from(&store, 1);
    let mut waiting = Feed::from_now(&store).unwrap();
    assert_eq!(new(&mut reading).len() + new(&mut waiting).len(), 1);
    warn(&store, "b");
    begin_next_loop(&store);
    assert_eq!(new(&mut waiting), told(&[(2, "b"), (3, "\"completed\"")]), "no new one yet");
    warn(&store, "c");
    assert_eq!(new(&mut waiting), told(&[(4, "c")]));
    let rest = told(&[(2, "b"), (3, "\"completed\""), (4, "c")]);
    assert_eq!(new(&mut reading), rest, "both at once");
    // Two loops at once, and nothing of either was read.
    begin_next_loop(&store);
    warn(&store, "d");
    begin_next_loop(&store);
    warn(&store, "e");
    let rest = told(&[(5, "\"completed\""), (6, "d"), (7, "\"completed\""), (8, "e")]);
    assert_eq!(new(&mut reading), rest);
    assert_eq!(new(&mut waiting), rest);
    let all = new(&mut Feed::from(&store, 1));
    assert!(all.iter().map(|(seq, _)| *seq).eq(1..=8), "{all:?}");
    assert_eq!(new(&mut Feed::from(&store, 6)), rest[1..]);
}

#[test]
fn a_feed_finds_its_place_in_a_journal_that_was_replaced() {
    let (_place, store) = world();
    ["a", "b"].iter().for_each(|text| warn(&store, text));
    let path = store.journal_path();
    let mut reading = Feed::from(&store, 1);
    let mut waiting = Feed::from_now(&store).unwrap();
    assert_eq!(new(&mut reading).len() + new(&mut waiting).len(), 2);
    let text = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(new(&mut reading), told(&[]), "gone");
    replace(&path, &text);
    assert_eq!(new(&mut reading), told(&[]), "the same as before");
    warn(&store, "c");
    let text = fs::read(&path).unwrap();
    replace(&path, &text);
    for feed in [&mut reading, &mut waiting] {
        assert_eq!(new(feed), told(&[(3, "c")]));
    }
    // Lost, without a copy, and begun anew.
    fs::remove_file(&path).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(5));
    warn(&store, "d");
    for feed in [&mut reading, &mut waiting] {
        assert_eq!(new(feed), told(&[(1, "d")]));
    }
    warn(&store, "e");
    for feed in [&mut reading, &mut waiting] {
        assert_eq!(new(feed), told(&[(2, "e")]));
    }
}

#[test]
fn a_feed_waits_until_a_line_is_whole() {
    let (_place, store) = world();
    warn(&store, "a");
    let path = store.journal_path();
    let whole = fs::read_to_string(&path).unwrap();
    for end in [1, whole.len() / 2, whole.len() - 1] {
        let mut feed = Feed::from(&store, 1);
        fs::write(&path, &whole[..end]).unwrap();
        assert_eq!(new(&mut feed), told(&[]), "{end}");
        fs::write(&path, &whole).unwrap();
        assert_eq!(new(&mut feed), told(&[(1, "a")]), "{end}");
        // Behind a line that is whole.
        let next = whole.replace("\"seq\":1", "\"seq\":2");
        fs::write(&path, format!("{whole}{}", &next[..end])).unwrap();
        assert_eq!(new(&mut feed), told(&[]), "{end}");
        fs::write(&path, format!("{whole}{next}")).unwrap();
        assert_eq!(new(&mut feed), told(&[(2, "a")]), "{end}");
        let mut late = Feed::from(&store, 1);
        fs::write(&path, format!("{whole}{}", &next[..end])).unwrap();
        assert_eq!(new(&mut late), told(&[(1, "a")]), "{end}");
        fs::write(&path, format!("{whole}{next}")).unwrap();
        assert_eq!(new(&mut late), told(&[(2, "a")]), "{end}");
    }
    // The process that wrote it was killed; the next one begins a line of its own.
    let mut feed = Feed::from(&store, 1);
    fs::write(&path, format!("{whole}{{\"v\":2,\"se")).unwrap();
    assert_eq!(new(&mut feed), told(&[(1, "a")]));
    warn(&store, "b");
    assert_eq!(new(&mut feed), told(&[(2, "b")]));
}

#[test]
fn records_without_a_number_get_theirs_by_place() {
    let (_place, store) = world();
    let line = "{\"v\":1,\"at\":\"2026-01-01T00:00:00Z\",\"event\":\"resumed\"}\n";
    fs::write(store.journal_path().with_file_name(".ralph-journal-1.jsonl"), line.repeat(2))
        .unwrap();
    fs::write(store.journal_path(), line.repeat(3)).unwrap();
    assert_eq!(store.last_seq().unwrap(), 5);
    let mut feed = Feed::from(&store, 4);
    assert_eq!(new(&mut feed), told(&[(4, "\"resumed\""), (5, "\"resumed\"")]));
    warn(&store, "new");
    assert_eq!(new(&mut feed), told(&[(6, "new")]));
    // An older version writes behind it.
    store.world.disk.append_line(&store.journal_path(), line.as_bytes(), Durability::Fast).unwrap();
    warn(&store, "newer");
    assert_eq!(new(&mut feed), told(&[(7, "\"resumed\""), (8, "newer")]));
    assert_eq!(new(&mut Feed::from(&store, 7)).len(), 2);
}

#[test]
fn numbers_go_on_from_the_copy_where_a_journal_was_deleted() {
    let (_place, store) = world();
    // In a repository there is a copy.
    let root = store.journal_path().parent().unwrap().to_owned();
    fs::create_dir_all(root.join(".git")).unwrap();
    let dir = root.join("specs/a");
    fs::create_dir_all(&dir).unwrap();
    let store = store_of(dir, root);
    let started = Entry::Started { tasks: 1, open: 1, plan: Vec::new() };
    store.lock().unwrap().record(started).unwrap();
    warn(&store, "a");
    let mut feed = Feed::from(&store, 1);
    assert_eq!(new(&mut feed).len(), 2);
    fs::remove_file(store.journal_path()).unwrap();
    warn(&store, "b");
    assert_eq!(new(&mut feed), told(&[(3, "b")]));
    assert!(store.lock().unwrap().bring_back().unwrap());
    assert_eq!(new(&mut feed), told(&[]));
    warn(&store, "c");
    assert_eq!(new(&mut feed), told(&[(4, "c")]));
    let all = new(&mut Feed::from(&store, 1));
    assert!(all.iter().map(|(seq, _)| *seq).eq(1..=4), "{all:?}");
}
