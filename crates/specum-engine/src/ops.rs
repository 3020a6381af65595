//! Operations: one for each thing that can be asked of specum.
//!
//! An operation takes typed arguments, does its work through [`crate::attempt`],
//! [`crate::store`] and [`crate::project`], and returns a typed answer or an
//! [`OpError`]. It prints nothing: the text of a verb, its `--json` and the output of
//! a hook are made from the answer. The JSON of an answer is its `Serialize`, its
//! schema its `JsonSchema`; field names are camelCase, and a spec is `name`, a task
//! `task` or, in a list of tasks, `id`. What is worth knowing and no failure goes to
//! the [`Caller`].

mod advice;
mod caller;
mod check;
mod control;
mod doctor;
mod error;
mod finish;
mod list;
mod log;
mod next;
mod start;
mod status;
mod word;

use schemars::JsonSchema;
use serde::Serialize;

pub use self::advice::{Advice, Step};
pub use self::caller::Caller;
pub use self::caller::{noted_spec, settings_problems};
pub use self::check::{
    Check, CheckCommand, DryRun, DryTask, DryUnit, PlanFinding, Severity, TaskCheck, UnitKind,
    check, dry_run,
};
pub use self::control::{Cancel, Pause, Resume, cancel, pause, resume};
pub use self::doctor::{Doctor, Finding, Grade, Repair, doctor};
pub use self::error::{ErrorKind, OpError};
pub use self::finish::{Finish, RecordedResult, Verdict, fail, finish};
pub use self::list::{SpecRow, Switch, list, switch};
pub use self::log::{Log, log, summary};
pub use self::next::{DueTask, DueWork, Wait, completion, next, open};
pub use self::start::{Implement, StartRequest, start};
pub use self::status::{KeptWork, Status, StatusDriver, StatusTask, status};
pub use self::word::{Accept, AcceptedChange, Tick, accept, tick};
use crate::ralph_loop::LoopFileFate;

/// What an operation has made of a loop, a task or a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NewState {
    /// The loop waits for `specum resume`.
    Paused,
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
