use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use specum_core::journal::Entry;
use specum_core::machine::{self, Event, Start};
use specum_core::owner::{Holder, Owner};

use super::{AttemptError, NextWork, Workspace};
use crate::memory::{MemoryClock, MemoryDisk, MemoryRepositories};
use crate::ports::{Clock, World};
use crate::project::Project;

#[test]
fn of_two_sessions_that_begin_a_loop_nobody_holds_the_first_gets_it() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(place.path().join("specs/demo")).unwrap();
    std::fs::write(place.path().join("specs/demo/tasks.md"), "- [ ] 1.1 a\n").unwrap();
    let world = World { state_home: None, ..World::real() };
    let project = Project::at(&world, place.path().canonicalize().unwrap());
    let workspace = Workspace::new(&project, project.spec("demo").unwrap()).unwrap();
    let session = |id: &str| Owner::Session { session_id: id.into(), process: None, seen: None };
    let start = |id: &str| Start { owner: Some(session(id)), ..Start::default() };
    workspace.start_after(start("a"), &Holder::Nobody).unwrap();
    // It has looked before the first one began.
    let late = workspace.start_after(start("b"), &Holder::Nobody);
    assert!(matches!(late, Err(AttemptError::HeldByOther { by, .. }) if by == "session a"));
    workspace.start_after(start("a"), &Holder::Nobody).unwrap();
    // Who has seen the first one takes over from it, and says so.
    workspace.start_after(start("b"), &Holder::Other(session("a"))).unwrap();
}

/// A project in memory with one spec, whose plan is this, and what it stands on.
pub(crate) fn in_memory(plan: &str) -> (Workspace, MemoryDisk, MemoryRepositories) {
    let clock = Arc::new(MemoryClock::at(Timestamp::UNIX_EPOCH));
    let disk = MemoryDisk::new(Arc::clone(&clock) as Arc<dyn Clock>);
    disk.put(Path::new("/p/specs/demo/tasks.md"), plan.as_bytes());
    let repositories = MemoryRepositories::init(&disk, Path::new("/p"));
    let world = World {
        disk: Arc::new(disk.clone()),
        clock,
        repositories: Arc::new(repositories.clone()),
        state_home: None,
        ..World::real()
    };
    let project = Project::at(&world, "/p".into());
    let workspace = Workspace::new(&project, project.spec("demo").unwrap()).unwrap();
    (workspace, disk, repositories)
}

#[test]
fn a_task_does_not_join_its_group_anew_while_an_attempt_at_it_is_open() {
    let (workspace, ..) = in_memory("- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n");
    workspace.start(Start::default()).unwrap();
    let NextWork::Work(opened) = workspace.open().unwrap() else { panic!("nothing is due") };
    let key = &opened[1].key;
    let says = |entry, event| {
        let locked = workspace.store.lock().unwrap();
        let view = locked.read().unwrap();
        let step = machine::step(view.state.as_ref().unwrap(), &view.file(), event);
        locked.write_step(entry, &step).unwrap();
    };
    // Before the run has heard of it, which is to end the agent.
    says(Entry::Skipped { task: key.clone() }, Event::Skip { index: 1 });
    says(Entry::Unskipped { task: key.clone() }, Event::Unskip { index: 1 });
    assert_eq!(workspace.join(5).unwrap(), []);
    let number = opened[1].number;
    workspace.record(&opened[1], |task| Entry::Cleared { task, attempt: number }).unwrap();
    let joined = workspace.join(5).unwrap();
    assert_eq!(joined.iter().map(|attempt| &attempt.key).collect::<Vec<_>>(), [key]);
}
