//! Operations: one for each thing that can be asked of specum.
//!
//! An operation takes typed arguments, does its work through [`crate::attempt`],
//! [`crate::store`] and [`crate::project`], and returns a typed answer or an
//! [`OpError`]. It prints nothing: the text of a verb, its `--json` and the output of
//! a hook are made from the answer. The JSON of an answer is its `Serialize`, its
//! schema its `JsonSchema`; field names are camelCase, a spec is `spec`, a task `task` or,
//! in a list of tasks, `id`, and `tasks` is such a list. What is worth knowing and no failure goes to
//! the [`Caller`].

mod advice;
mod caller;
mod check;
mod control;
mod detach;
mod dialog;
mod diff;
mod doctor;
mod documents;
mod epic;
mod error;
mod finish;
mod import;
mod index;
mod list;
mod log;
mod next;
mod picture;
mod plan;
mod report;
mod stale;
mod start;
mod status;
mod steer;
mod stray;
mod tasks;
mod trace;
mod undo;
mod word;

use schemars::JsonSchema;
use serde::Serialize;

pub use self::advice::{Advice, Step};
pub use self::caller::Caller;
pub use self::caller::{noted_spec, settings_problems};
pub use self::check::{
    Check, CheckCommand, CheckRequest, DryRun, DryTask, DryUnit, FirstCheck, PlanFinding, Severity,
    TaskCheck, UnitKind, check, dry_run,
};
pub use self::control::{Cancel, Pause, PausedBy, Resume, cancel, pause, resume};
pub use self::detach::{Detached, detach};
pub use self::dialog::{dialog, first_runs_in_session, go_to_document};
pub use self::diff::{Changes, Diff, FileChange, diff};
pub use self::doctor::{Doctor, Finding, Grade, Repair, doctor};
pub use self::documents::RedScope;
pub(crate) use self::documents::plan_time_runs;
pub use self::epic::{
    ApproveEpic, EpicFinding, EpicNext, EpicSpec, EpicView, SpecStatus, approve_epic, epic,
    epic_next, open_specs,
};
pub use self::error::{ErrorKind, OpError};
pub use self::finish::{
    Finish, RecordedResult, Verdict, fail, finish, finish_by_hand, planned_document,
};
pub use self::import::{Import, import};
pub use self::index::{Index, IndexCommand, index};
pub use self::list::{SpecList, SpecRow, Switch, activate, list, switch, task_names};
pub use self::log::{AgentLog, Log, log, summary};
pub use self::next::{DueTask, DueWork, Wait, completion, next, open};
pub use self::picture::{picture, picture_of};
pub use self::plan::{
    Approval, ApprovedDocument, Changed, DocumentFinish, DueDocument, NewSpec, OpenQuestion, Plan,
    PlanDocument, PlanRequest, WaitingDocument, approve_document, approve_typed as approve,
    ask_no_more, begin_plan, change, change_document, document_named, fail_document,
    finish_document, is_planned, name_and_goal, new_spec, plan_of, waiting,
};
pub use self::report::{
    ReportRequest, WrittenReport, report, report_of, write_private_report, write_report,
};
pub use self::stale::{refuse_stale, summary_with_stale};
pub use self::start::{Implement, StartRequest, start};
pub use self::status::{KeptWork, Status, StatusDriver, status};
pub use self::steer::{
    About, Approve, Note, NoteText, Retry, Skip, note, retry, skip, unskip, withdraw_note,
};
pub use self::tasks::{StatusTask, TaskState, Work};
pub use self::trace::{StalePart, Trace, TracedRequirement, TracedTask, trace};
pub use self::undo::{Undo, undo};
pub use self::word::{Accept, AcceptedChange, Tick, accept, tick};
use crate::ralph_loop::LoopFileFate;

/// What an operation has made of a loop, a task or a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NewState {
    /// The loop waits for `specum resume`.
    Paused,
    /// The loop will wait for `specum resume` once something is over.
    PauseAsked,
    /// The loop may work on the phase, or the document is built on.
    Approved,
    /// The document is written once more.
    Reopened,
    /// It stands in the brief of further attempts.
    Noted,
    /// It stands there no longer.
    Withdrawn,
    /// The task is passed over.
    Skipped,
    /// The task is worked on after all.
    Unskipped,
    /// The task is worked on once more.
    Retried,
    /// The task's work is taken out again.
    Undone,
    /// The loop goes on.
    Resumed,
    /// The box is ticked.
    Ticked,
    /// The change counts.
    Accepted,
}

/// What became of the loop file of the Ralph Loop plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoopFile {
    /// It is deleted.
    Deleted,
    /// It is not an active loop of this spec, and stays.
    Kept,
}

impl LoopFile {
    fn of(dropped: LoopFileFate) -> Option<LoopFile> {
        match dropped {
            LoopFileFate::Nothing => None,
            LoopFileFate::Deleted => Some(LoopFile::Deleted),
            LoopFileFate::Kept => Some(LoopFile::Kept),
        }
    }
}
