//! A spec at this moment.

use specum_core::journal::{Entry, Record};
use specum_core::owner::{Asker, Holder, Owner, Process};
use specum_core::picture::{Input, Picture, Worker};
use specum_core::state::State;
use specum_core::summary::Summary;
use specum_core::tasks::{Task, TaskFile};

use super::{Caller, OpError};
use crate::owner;
use crate::project::Spec;
use crate::store::Store;

/// A spec at this moment.
pub fn picture(caller: &Caller<'_>, named: Option<&str>) -> Result<Picture, OpError> {
    let (_, spec) = caller.named(named)?;
    Ok(picture_of(&spec, &Store::of(&spec)))
}

/// The same of a spec that is known. What cannot be read of it is what it says.
pub fn picture_of(spec: &Spec, store: &Store) -> Picture {
    let mut trouble = None;
    let mut tell = |error: String| {
        trouble.get_or_insert(error);
    };
    let state = match store.look_at_state() {
        Some(Err(why)) => {
            tell(format!("its state is corrupt: {why}; `specum run` rebuilds it"));
            None
        }
        Some(Ok(state)) => Some(state),
        None => None,
    };
    let tasks = store.read_tasks().map_err(|error| tell(error.to_string()));
    let tasks = tasks.ok().flatten().unwrap_or_default();
    let records = store.read_journal().map_err(|error| tell(error.to_string()));
    let records = records.unwrap_or_default();
    let file = tasks.file();
    let summary = Summary::of(&records, &file);
    picture_from(
        spec,
        store,
        Known { state: state.as_ref(), file: &file, records: &records, summary: &summary, trouble },
    )
}

/// What has been read of a spec.
pub(super) struct Known<'a> {
    pub(super) state: Option<&'a State>,
    pub(super) file: &'a TaskFile<'a>,
    pub(super) records: &'a [Record],
    pub(super) summary: &'a Summary,
    pub(super) trouble: Option<String>,
}

/// The picture of what has been read.
pub(super) fn picture_from(spec: &Spec, store: &Store, known: Known<'_>) -> Picture {
    let Known { state, file, records, summary, trouble } = known;
    let worker = match owner::holder(store, state, Asker::Person) {
        Holder::Other(Owner::Runner { .. }) => Worker::Run,
        Holder::Other(Owner::Session { .. }) | Holder::Me => Worker::Session,
        Holder::Nobody if a_run_stays(store, records) => Worker::WaitingRun,
        Holder::Nobody => Worker::Nobody,
    };
    let lookup = spec.world.lookup(&spec.root);
    let has_check = |task: &Task| {
        let check = file.fields(task).verify;
        check.is_some_and(|check| !check.commands(&lookup).is_empty())
    };
    Picture::of(&Input {
        spec: &spec.name,
        place: &spec.shown,
        now: spec.world.clock.now(),
        records,
        summary,
        file,
        state,
        trouble,
        worker,
        has_check: &has_check,
    })
}

/// Whether a run that could not go on still waits for a person. It holds nothing; its
/// process tells, if that can be seen from here.
fn a_run_stays(store: &Store, records: &[Record]) -> bool {
    let tells = |record: &&Record| {
        matches!(
            record.entry,
            Entry::Stays { .. }
                | Entry::RunStarted { .. }
                | Entry::Completed { .. }
                | Entry::Cancelled
        )
    };
    let Some(last) = records.iter().rev().find(tells) else { return false };
    let pid = last.run.as_ref().and_then(specum_core::event::RunId::process);
    let (Entry::Stays { .. }, Some(pid)) = (&last.entry, pid) else { return false };
    let launcher = &store.world.launcher;
    let process = Process { pid, started: String::new(), space: Some(launcher.space().clone()) };
    launcher.is_alive(&process).unwrap_or(true)
}
