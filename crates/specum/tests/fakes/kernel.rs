//! A helper of the tests: single transactions on a spec's files, as other
//! processes of specum would make them.
//!
//! `kernel <root> recover`, `kernel <root> tick <task>…`,
//! `kernel <root> pass|fail|cancel|complete [<index>]`

use std::path::Path;

use specum_core::journal::{Changes, Entry, StateChange};
use specum_core::machine::{self, Event};
use specum_core::tasks::{TaskEdit, TaskKey};
use specum_engine::ports::World;
use specum_engine::project::Project;
use specum_engine::store::Store;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [root, what, rest @ ..] = args.as_slice() else { return Err("root and verb".into()) };
    let project = Project::find(&World::real(), Path::new(root), None).ok_or("no project")?;
    let store = Store::of(&project.current()?.ok_or("no active spec")?);
    if what == "tick" {
        return rest.iter().try_for_each(|id| tick(&store, id));
    }
    let locked = store.lock()?;
    if what == "recover" {
        return Ok(());
    }
    let view = locked.read()?;
    let state = view.state.as_ref().ok_or("no state")?;
    let file = view.file();
    let index = rest.first().map_or(Ok(0), |index| index.parse())?;
    let event = match what.as_str() {
        "pass" => Event::Pass { index, unverified: false },
        "fail" => Event::Fail { index, reason: "it did not work".into() },
        "cancel" => {
            let changes = Changes { state: StateChange::Delete, ..Changes::default() };
            return Ok(locked.write(Entry::Cancelled, changes)?);
        }
        "complete" => Event::Complete,
        other => return Err(format!("unknown verb {other}").into()),
    };
    let step = machine::step(state, &file, event);
    Ok(locked.write_step(Entry::Paused { why: None, branch: None }, &step)?)
}

fn tick(store: &Store, id: &str) -> Result<(), Box<dyn std::error::Error>> {
    let task = TaskKey { id: id.to_owned(), title: "t".into() };
    let changes = Changes { tasks: vec![TaskEdit::Tick(task.clone())], ..Changes::default() };
    let entry = Entry::Committed { task, commit: None, left: Vec::new() };
    Ok(store.lock()?.write(entry, changes)?)
}
