//! The specs of a project, and which one is active.

use schemars::JsonSchema;
use serde::Serialize;
use specum_core::owner::{Asker, Holder};
use specum_core::state::{Phase, Standing, State};
use specum_core::tasks::Task;

use super::{Caller, OpError};
use crate::owner;
use crate::project::{Project, Spec};
use crate::store::{self, Store};

/// The specs of a project.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SpecList {
    /// Each of them, in the order of the folders where specs are.
    pub specs: Vec<SpecRow>,
}

/// A spec in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SpecRow {
    /// The name of its folder.
    #[serde(rename = "spec")]
    pub name: String,
    /// Where it is, from the project's root.
    pub path: String,
    /// Whether it is the active one.
    pub active: bool,
    /// The phase of its loop, or `corrupt`; null without a loop.
    pub phase: Option<String>,
    /// Where it stands, in words.
    pub standing: String,
    /// How many boxes are ticked.
    pub done: usize,
    /// How many boxes there are.
    pub total: usize,
}

/// The spec that has become the active one.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Switch {
    /// Its name.
    #[serde(rename = "spec")]
    pub name: String,
    /// Where it is, from the project's root.
    pub path: String,
}

/// The names of the tasks of the active spec.
pub fn task_names(caller: &Caller<'_>) -> Result<Vec<String>, OpError> {
    let (_, spec) = caller.named(None)?;
    let tasks = Store::of(&spec).read_tasks()?.unwrap_or_default();
    Ok(tasks.file().tasks.iter().map(Task::name).collect())
}

/// Every spec of the project, in the order of the specs directories.
pub fn list(caller: &Caller<'_>) -> Result<SpecList, OpError> {
    let project = caller.project()?;
    // A person who has to correct the marker needs the names.
    let active = project.current().unwrap_or_else(|error| {
        caller.warn(error);
        None
    });
    let row = |spec| {
        let store = Store::of(&spec);
        let tasks = store.read_tasks().ok().flatten().unwrap_or_default();
        let file = tasks.file();
        let state = store.read_state();
        let phase = state.as_ref().map(|state| match state {
            Ok(State { phase, .. }) => phase.as_str().to_owned(),
            Err(_) => "corrupt".to_owned(),
        });
        let standing = match &state {
            None if file.count() > 0 && file.done_count() == file.count() => "finished",
            None => "not running",
            Some(Err(_)) => "corrupt state",
            Some(Ok(state)) => match &state.standing {
                Standing::Blocked(_) => "blocked",
                Standing::Paused(_) => "paused",
                Standing::Running
                    if owner::holder(&store, Some(state), Asker::Person) != Holder::Nobody =>
                {
                    "at work"
                }
                Standing::Running if state.phase == Phase::Execution => "begun, nobody at work",
                Standing::Running => state.phase.as_str(),
            },
        };
        SpecRow {
            active: active.as_ref() == Some(&spec),
            standing: standing.to_owned(),
            name: spec.name,
            path: spec.shown,
            phase,
            done: file.done_count(),
            total: file.count(),
        }
    };
    Ok(SpecList { specs: project.specs()?.into_iter().map(row).collect() })
}

/// Makes a spec that is about to be run the active one, where there is a specs folder.
pub fn activate(project: &Project, spec: &Spec) -> Result<(), OpError> {
    let is_active = project.current().is_ok_and(|active| active.as_ref() == Some(spec));
    let marker = project.current_spec_file();
    let has_folder = marker.parent().is_some_and(|dir| project.world.disk.is_folder(dir));
    if has_folder && !is_active {
        store::make_active(project, spec)?;
    }
    Ok(())
}

/// Makes a spec the active one.
pub fn switch(caller: &Caller<'_>, named: &str) -> Result<Switch, OpError> {
    let project = caller.project()?;
    let spec = project.spec(named)?;
    // In a host's sandbox the hooks see to it.
    if let Ok(git) = project.world.repositories.open(&project.root)
        && git.refuse_read_only().is_ok()
    {
        git.exclude_own_files()?;
    }
    store::make_active(&project, &spec)?;
    Ok(Switch { name: spec.name, path: spec.shown })
}
