use specum_core::journal::Changes;
use specum_core::tasks::{Task, TaskEdit};

use super::*;

fn store_in(place: &Path) -> Store {
    let dir = place.canonicalize().unwrap();
    let (name, shown, world) = ("a".into(), "a".into(), World::real());
    Store::of(&Spec { name, dir: dir.clone(), shown, root: dir, world })
}

fn owned_by(session: &str) -> Memory {
    let owner = Owner::Session { session_id: session.into(), process: None, seen: None };
    Memory { owner: Some(owner), ..Memory::default() }
}

#[test]
fn of_two_sessions_that_take_over_from_a_dead_one_the_first_gets_the_spec() {
    let place = tempfile::tempdir().unwrap();
    let store = store_in(place.path());
    for before in [Memory::default(), owned_by("dead")] {
        store.forget_memory().unwrap();
        assert!(store.write_memory(&Memory::default(), &before).unwrap());
        assert!(store.write_memory(&before, &owned_by("a")).unwrap());
        // It has read the same as the first one.
        assert!(!store.write_memory(&before, &owned_by("b")).unwrap());
        assert_eq!(store.read_memory(), owned_by("a"));
    }
    // While another hook does it, this one does not wait.
    let claim = store.dir.join(".ralph-hook.lock");
    let held = store.disk().lock(&claim, Duration::ZERO).unwrap().unwrap();
    assert!(!store.write_memory(&owned_by("a"), &owned_by("b")).unwrap());
    drop(held);
    assert!(store.write_memory(&owned_by("a"), &owned_by("b")).unwrap());
}

#[test]
fn a_torn_state_is_waited_for_by_those_who_have_the_time() {
    let place = tempfile::tempdir().unwrap();
    let store = store_in(place.path());
    std::fs::write(store.state_path(), "{\"phase\":").unwrap();
    let clock = Arc::clone(&store.world.clock);
    let began = clock.elapsed();
    assert!(matches!(store.look_at_state(), Some(Err(_))));
    assert!(clock.elapsed() - began < TORN_WRITE);
    let began = clock.elapsed();
    assert!(matches!(store.read_state(), Some(Err(_))));
    assert!(clock.elapsed() - began >= TORN_WRITE - Duration::from_millis(500));
}

fn tick(store: &Store, task: &Task) {
    let changes = Changes { tasks: vec![TaskEdit::Tick(task.key())], ..Changes::default() };
    let entry = journal::Entry::Ticked { task: task.key() };
    store.lock().unwrap().write(entry, changes).unwrap();
}

#[test]
fn finding_55_a_plan_is_scanned_once_however_often_it_is_read() {
    let place = tempfile::tempdir().unwrap();
    let store = store_in(place.path());
    std::fs::write(store.tasks_path(), "- [ ] 1.1 a\n- [ ] 1.2 b\n").unwrap();
    let first = store.read_tasks().unwrap().unwrap();
    let again = store.read_tasks().unwrap().unwrap();
    assert!(Arc::ptr_eq(&first, &again));
    // What we have written ourselves is known already.
    tick(&store, &first.file().tasks[0]);
    let known = Arc::clone(&store.known_tasks.lock().unwrap());
    let ticked = store.read_tasks().unwrap().unwrap();
    assert!(Arc::ptr_eq(&known, &ticked));
    assert_eq!(&**ticked, b"- [x] 1.1 a\n- [ ] 1.2 b\n");
    assert_eq!(ticked.file().tasks, TaskFile::scan(&ticked).tasks);
    // What another process writes is not.
    std::fs::write(store.tasks_path(), "- [x] 1.1 a\n- [x] 1.2 b\n").unwrap();
    assert_eq!(store.read_tasks().unwrap().unwrap().file().done_count(), 2);
}
