//! A plan that stands on what has changed: it is not worked before a person has looked at
//! it, or has said that it is worked all the same.

use specum_core::spec::Doc;
use specum_core::spec::gate::Spec as Documented;
use specum_core::spec::trace::Graph;
use specum_core::summary::Summary;

use super::trace::{StalePart, shown};
use super::{Caller, OpError, summary};
use crate::attempt::Workspace;
use crate::documents::{Documents, read_trace};
use crate::ports::World;
use crate::project::Spec;
use crate::store::Store;

/// The parts of a spec that stand on what has changed. There are none in a spec without
/// requirements of its own, or of which nothing was recorded.
pub(super) fn stale(world: &World, spec: &Spec) -> Result<Vec<StalePart>, OpError> {
    let documents = Documents::read(world, &spec.dir)?;
    let recorded = match documents.get(Doc::Requirements) {
        Some(_) => read_trace(world, &spec.dir)?,
        None => None,
    };
    let graph = || Graph::of(&Documented::of(documents.texts()));
    Ok(recorded.map(|recorded| shown(&graph().stale(&recorded))).unwrap_or_default())
}

/// Refuses to work a plan that stands on what has changed, or says so, if a person wants
/// it worked all the same.
pub fn refuse_stale(
    caller: &Caller<'_>,
    workspace: &Workspace,
    is_allowed: bool,
) -> Result<(), OpError> {
    let stale = stale(workspace.world(), &workspace.spec)?;
    if stale.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = stale.iter().map(StalePart::in_words).collect();
    match is_allowed {
        true => {
            caller.warn(format!("worked although it is stale: {}", list.join("; ")));
            Ok(())
        }
        false => Err(OpError::Stale(list)),
    }
}

/// What became of the last loop, with what the plan stands on that has changed.
pub fn summary_with_stale(workspace: &Workspace) -> Result<Summary, OpError> {
    let stale = stale(workspace.world(), &workspace.spec)?;
    let stale = stale.iter().map(StalePart::in_words).collect();
    Ok(Summary { stale, ..summary(&workspace.store)? })
}

/// Takes a stale part as it is: what it stands on is recorded as it is now. Whether the
/// part was stale.
pub(super) fn accept(caller: &Caller<'_>, spec: &Spec, name: &str) -> Result<bool, OpError> {
    let (world, store) = (caller.world, Store::of(spec));
    let documents = Documents::read(world, &spec.dir)?;
    let Some(mut recorded) = read_trace(world, &spec.dir)? else { return Ok(false) };
    let graph = Graph::of(&Documented::of(documents.texts()));
    let stale = graph.stale(&recorded).into_iter();
    let is_it = |part: &String| *part == name || part.strip_prefix("task ") == Some(name);
    let Some(part) = stale.map(|stale| stale.name).find(is_it) else { return Ok(false) };
    let node = graph.record(&part).expect("a stale part is in the graph");
    recorded.nodes.insert(part, node);
    store.lock()?.write_trace(&recorded)?;
    Ok(true)
}
