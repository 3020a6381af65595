use specum_core::machine::Start;
use specum_core::owner::{Holder, Owner};

use super::{AttemptError, Workspace};
use crate::ports::World;
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
