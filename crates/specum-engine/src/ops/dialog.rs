//! What a session asks a person about a document, and what the person's commands there
//! lead to.

use std::collections::BTreeMap;

use specum_core::authoring::Due;
use specum_core::authoring::dialog::{Dialog, WaitingDoc};
use specum_core::journal::Entry;
use specum_core::spec::Doc;
use specum_core::spec::gate::Spec;
use specum_core::spec::outline::Outline;
use specum_core::spec::question::questions;
use specum_core::spec::red::FirstRun;

use super::documents::{Place, RedScope, first_runs};
use super::{Caller, OpError, WaitingDocument, approve_document, waiting};
use crate::attempt::{Change, Workspace};
use crate::documents::Documents;

/// The document that waits for a person, and the dialog about it. Its questions are left
/// out if they are settled.
pub fn dialog(
    workspace: &Workspace,
    is_settled: impl FnOnce(&WaitingDocument) -> bool,
) -> Result<Option<(WaitingDocument, Dialog)>, OpError> {
    let Some(waiting) = waiting(workspace)? else { return Ok(None) };
    let (Some(planning), Some(doc)) = (workspace.planning()?, Doc::named(&waiting.document)) else {
        return Ok(None);
    };
    let documents = Documents::read(workspace.world(), &workspace.spec.dir)?;
    let questions = questions(&Outline::scan(documents.get(doc).unwrap_or_default()));
    let records = workspace.store.read_journal()?;
    let is_written = |entry: &Entry| match entry {
        Entry::Written { task, .. } => specum_core::authoring::document(&task.id) == Some(doc),
        _ => false,
    };
    let dialog = Dialog::about(&WaitingDoc {
        doc,
        version: records.iter().filter(|record| is_written(&record.entry)).count() as u64,
        questions: &questions,
        gist: &waiting.summary,
        starts: !planning.plan_only,
        is_settled: is_settled(&waiting),
        is_last: planning.profile.docs().last() == Some(&doc),
    });
    Ok(Some((waiting, dialog)))
}

/// What the checks of the plan do before the work, as far as they are proved to read:
/// others are not run in a session.
pub fn first_runs_in_session(workspace: &Workspace) -> Result<BTreeMap<String, FirstRun>, OpError> {
    let documents = Documents::read(workspace.world(), &workspace.spec.dir)?;
    let spec = Spec::of(documents.texts());
    let Some(file) = spec.tasks() else { return Ok(BTreeMap::new()) };
    let place = Place {
        folder: &workspace.spec.dir,
        shown: workspace.spec.shown.clone(),
        root: &workspace.spec.root,
        setup: None,
    };
    first_runs(workspace.world(), &place, file, RedScope::ReadOnly)
}

/// A person goes to a document: what waits in front of it is approved, and what they say
/// is to change in it is noted for its author.
pub fn go_to_document(
    caller: &Caller<'_>,
    workspace: &Workspace,
    doc: Doc,
    text: &str,
) -> Result<(), OpError> {
    let source = caller.require_person(doc.name())?;
    let planning = workspace.planning()?;
    let due = planning.as_ref().map(specum_core::authoring::Planning::due);
    if let Some(Due::Approve(front)) = due
        && front < doc
    {
        approve_document(workspace, Some(front), &BTreeMap::new(), None, source)?;
    }
    if !text.trim().is_empty() {
        super::change_document(workspace, Change { doc: Some(doc), text }, source)?;
    }
    Ok(())
}
