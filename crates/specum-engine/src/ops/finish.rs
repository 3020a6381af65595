//! The result of an attempt: judged, or recorded for the hook that judges.

use schemars::JsonSchema;
use serde::Serialize;
use specum_core::attempt::Judgement;
use specum_core::completion;
use specum_core::machine::Signal;
use specum_core::spec::Doc;
use specum_core::summary::Places;

use super::plan::{self, DocumentFinish};
use super::undo::refuse_at_work;
use super::{Caller, Changes, OpError, diff};
use crate::attempt::{AttemptError, By, Workspace};
use crate::{runner, session};

/// What came of a result that was handed in.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Finish {
    /// The result is judged.
    Judgement(Box<Verdict>),
    /// What an author has written is judged.
    Document(Box<DocumentFinish>),
    /// The result is recorded. Where a command cannot commit, the host's hook
    /// judges at the end of the turn: it runs outside the sandbox.
    Recorded(RecordedResult),
}

/// A result that waits for its judge.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RecordedResult {
    /// The task.
    pub task: String,
    /// Always true.
    pub recorded: bool,
}

/// The verdict on an attempt.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// The task.
    pub task: String,
    /// Which attempt it was, from 1; another round begins with 1 again.
    pub attempt: u64,
    /// Its place among all the attempts at the task, from 1.
    pub place: u64,
    /// Whether the task is done.
    pub passed: bool,
    /// What a person is asked first; the attempt has neither passed nor failed then.
    pub waits: Option<String>,
    /// The git reference that holds its work meanwhile.
    pub kept: Option<String>,
    /// Whether nothing was run to prove it.
    pub unverified: bool,
    /// What a pass rests on: `check`, `suite` (the checks of the whole plan alone) or
    /// `none`.
    pub proof: String,
    /// The tasks that were added because its executor has asked for them. Unless it has
    /// passed, they come first, and it is done again; it has not failed.
    pub added: Vec<String>,
    /// Why it failed, a sentence each.
    pub failures: Vec<String>,
    /// Other tasks' boxes that were ticked meanwhile, and opened again.
    pub unticked: Vec<String>,
    /// Files that it changed and does not name.
    pub outside: Vec<String>,
    /// Files that it changed and its check runs.
    pub proofs: Vec<String>,
    /// The commit; null if there is none.
    pub commit: Option<String>,
    /// How much it changed, the spec's own files left out; null without a commit.
    pub changes: Option<Changes>,
    /// Why there is no commit, unless there was nothing to commit.
    pub not_committed: Option<String>,
    /// The end of what the check printed.
    pub output: String,
    /// What the loop says of itself: `TASK_COMPLETE`, `BATCH_COMPLETE`.
    pub signals: Vec<String>,
    /// What a person calls the task.
    #[serde(skip)]
    pub shown: String,
}

impl Verdict {
    fn of(workspace: &Workspace, judged: Judgement) -> Verdict {
        let records = workspace.store.read_journal().unwrap_or_default();
        let place = Places::of_records(&records).of(&judged.key, judged.attempt);
        let passed = judged.passed();
        let waits = judged.question().map(str::to_owned);
        let no_repository = workspace.git.as_ref().err().filter(|_| passed);
        let signal = |signal: &Signal| match signal {
            Signal::TaskComplete => Some(completion::TASK_COMPLETE.to_owned()),
            Signal::BatchComplete => Some("BATCH_COMPLETE".to_owned()),
            Signal::AllTasksComplete | Signal::Blocked => None,
        };
        let counted = judged.commit.as_ref();
        let changes = counted.and_then(|commit| diff::count_commit(&workspace.store, commit));
        Verdict {
            changes,
            shown: judged.key.shown().to_owned(),
            task: judged.key.id,
            attempt: judged.attempt,
            place,
            passed,
            waits,
            kept: judged.kept,
            unverified: judged.verdict.unverified(),
            proof: judged.verdict.proof.to_string(),
            added: judged.added,
            failures: judged.verdict.failures.into_iter().map(|failure| failure.message).collect(),
            unticked: judged.unticked,
            outside: judged.verdict.outside,
            proofs: judged.verdict.proofs,
            commit: judged.commit,
            not_committed: no_repository
                .map(|why| why.lines().next().unwrap_or_default().to_owned()),
            output: judged.output,
            signals: judged.signals.iter().filter_map(signal).collect(),
        }
    }
}

/// Judges the result of an open attempt, or records it where a hook judges. The
/// result is asked for once the attempt is found.
pub fn finish(
    caller: &Caller<'_>,
    workspace: &Workspace,
    task: &str,
    result: impl FnOnce() -> Result<String, OpError>,
) -> Result<Finish, OpError> {
    if let Some(doc) = planned_document(workspace, task)? {
        return Ok(Finish::Document(Box::new(plan::finish_document(caller, workspace, doc)?)));
    }
    caller.warn_if_held(&workspace.store);
    caller.hold_for_session(workspace)?;
    let opened = workspace.opened(task)?;
    let result = result()?;
    if let Some(session) = session::judged_by_hooks(workspace.world()) {
        workspace.report(&opened, &result, &session)?;
        let task = opened.key.id;
        return Ok(Finish::Recorded(RecordedResult { task, recorded: true }));
    }
    let judged = workspace.judge(&opened, &result, By::Verb)?;
    Ok(Finish::Judgement(Box::new(Verdict::of(workspace, judged))))
}

/// The document that is meant, in a spec whose documents are being written.
pub fn planned_document(workspace: &Workspace, name: &str) -> Result<Option<Doc>, OpError> {
    let doc = plan::document_named(name);
    Ok(if plan::is_planned(workspace)? { doc } else { None })
}

/// Judges a task on the word of a person who has done it by hand: an open attempt like
/// any other; without one, what is uncommitted is the work. The loop ends with its last
/// task. Refused while another process works in the tree.
pub fn finish_by_hand(
    caller: &Caller<'_>,
    workspace: &Workspace,
    task: &str,
) -> Result<Verdict, OpError> {
    let source = caller.require_person("finish")?;
    runner::put_away_killed(workspace)?;
    let _alone = runner::alone_in_tree(workspace)?;
    refuse_at_work(workspace)?;
    let judged = match workspace.opened(task) {
        Ok(opened) => workspace.judge(&opened, opened.role.signal(), By::Verb)?,
        Err(AttemptError::NotOpen(_)) => workspace.judge_by_hand(task, source)?,
        Err(other) => return Err(other.into()),
    };
    let verdict = Verdict::of(workspace, judged);
    if workspace.is_done()? {
        workspace.open()?;
    }
    Ok(verdict)
}

/// Ends an open attempt as failed, without a check.
pub fn fail(
    workspace: &Workspace,
    task: &str,
    reason: impl FnOnce() -> Result<String, OpError>,
) -> Result<Verdict, OpError> {
    let opened = workspace.opened(task)?;
    let reason = reason()?;
    let reason = match reason.trim() {
        "" => "given up without a reason",
        reason => reason,
    };
    Ok(Verdict::of(workspace, workspace.give_up(&opened, reason)?))
}
