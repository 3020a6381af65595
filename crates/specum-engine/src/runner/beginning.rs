//! What is settled before a run begins: the branch that it works on, and what a person
//! should know who has never run this spec.

use specum_core::agent;
use specum_core::journal::Entry;
use specum_core::settings::Branch;

use super::{Options, RunError, refuse_dirty};
use crate::attempt::Workspace;
use crate::names;

/// Whether the journal knows of no run of this spec.
pub(super) fn is_first_run(workspace: &Workspace) -> Result<bool, RunError> {
    let journal = workspace.store.read_journal()?;
    let has_run = journal.iter().any(|record| matches!(record.entry, Entry::RunStarted { .. }));
    Ok(!has_run && workspace.store.segments()?.is_empty())
}

/// Lets HEAD be on the branch that a person wants the run to work on; says so if it was
/// not.
pub(super) fn take_branch(
    workspace: &Workspace,
    options: &Options,
) -> Result<Vec<String>, RunError> {
    let wanted = match &options.branch {
        Branch::Here => return Ok(Vec::new()),
        Branch::OfSpec => names::branch_of(&workspace.spec.name),
        Branch::Named(name) => name.clone(),
    };
    let Ok(git) = &workspace.git else { return Ok(Vec::new()) };
    let before = git.branch_of_head();
    if before.as_deref() == Some(wanted.as_str()) {
        return Ok(Vec::new());
    }
    git.refuse_half_done()?;
    git.exclude_own_files()?;
    // What an attempt has left there is put away first, and only then the rest is looked at.
    let ledger = workspace.store.ledger()?;
    let is_settled = ledger.unsettled().is_empty()
        && ledger.uncommitted().is_none()
        && ledger.half_integrated().is_none();
    if is_settled && !options.allow_dirty && !options.isolate {
        refuse_dirty(workspace)?;
    }
    let was_made = git.switch(&wanted)?;
    let before = before.unwrap_or_else(|| "a detached HEAD".to_owned());
    Ok(vec![match was_made {
        true => format!("works on the new branch {wanted}, made from {before}"),
        false => format!("works on the branch {wanted}; you were on {before}"),
    }])
}

/// What a person should know before the first run of a spec.
pub(super) fn first_words(
    workspace: &Workspace,
    options: &Options,
) -> Result<Vec<String>, RunError> {
    let mut words = Vec::new();
    let names = options.agents.iter().map(|agent| agent.name());
    let unasked: Vec<&str> = names.filter(|name| agent::NAMES.contains(name)).collect();
    if !unasked.is_empty() {
        words.push(format!(
            "{} runs with permission prompts off, because nobody is there to answer them; \
             docs/security.md says what that means",
            unasked.join(", then ")
        ));
    }
    if let (Ok(git), Branch::Here) = (&workspace.git, &options.branch)
        && git.is_on_shared_branch()?
    {
        let branch = git.branch_of_head().unwrap_or_default();
        words.push(format!(
            "commits go to {branch}; `--branch`, or `branch: true` in the settings, puts them on \
             a branch of their own"
        ));
    }
    Ok(words)
}
