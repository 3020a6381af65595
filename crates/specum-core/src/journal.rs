//! `.ralph-journal.jsonl`: every decision and every attempt, one JSON object a
//! line, only ever added to.
//!
//! A record with [`Changes`] is a transaction: it is written before the files
//! it names, and followed by [`Entry::Done`] when they are. A transaction that
//! is the last record of the journal was interrupted and is completed from
//! here. Every change can be made twice without harm.

mod changes;
mod optional_text;
mod rename;
mod source;

use std::collections::BTreeMap;

pub use self::changes::{BeforeAndAfter, Changes, StateChange};
pub use self::rename::follow_renames;
pub use self::source::{Actor, Source, Via};
use serde::{Deserialize, Serialize};

use crate::attempt::AttemptId;
use crate::authoring::ApprovedBy;
use crate::budget::Caps;
use crate::event::{Outcome, RunId};
use crate::modify;
use crate::moment::Moment;
use crate::plan_record::{PlanEdit, PlannedTask};
use crate::spec::Doc;
use crate::spec::red::FirstResult;
use crate::state::{self, PauseAfter, State};
use crate::suite::Suite;
use crate::tasks::TaskKey;
use crate::verify::{CheckOutcome, FailureClass, Proof};

/// The newest format this version writes.
pub const FORMAT_VERSION: u64 = 2;

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Format of the line.
    pub v: u64,
    /// Its place in the story of the spec, over all its journals. Older versions
    /// named none; [`Numbering`](crate::event::Numbering) knows which one is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// When.
    pub at: Moment,
    /// The attempt it is about. Format 1 named it in the record of its opening
    /// only; [`Ledger`](crate::attempt::Ledger) knows which one is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<AttemptId>,
    /// The run that wrote it; `None` for a session's or a person's doing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Who wanted it, if that was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
    /// By which way that came here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
    /// What.
    #[serde(flatten)]
    pub entry: Entry,
    /// The files this record changes, if it is a transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Changes>,
}

/// What a record tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Entry {
    /// The loop was started, or started again.
    Started {
        /// How many tasks there are.
        tasks: usize,
        /// How many of them were open.
        open: usize,
        /// The plan as the loop found it, if the loop is new.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        plan: Vec<PlannedTask>,
    },
    /// The plan differs from the one on record.
    PlanChanged {
        /// In what.
        edits: Vec<PlanEdit>,
    },
    /// The checks of the whole plan differ from those on record.
    SuiteChanged {
        /// What they are now.
        suite: Suite,
        /// The tasks that were being worked on: then it counts only once a person
        /// accepts it. Absent if it counts from now on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        during: Option<String>,
    },
    /// A person says that a task is done. Nothing was checked.
    Ticked {
        /// The task.
        task: TaskKey,
    },
    /// A person says something to every further attempt at a task, or at any.
    Noted {
        /// The task; `None`: every one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskKey>,
        /// What.
        text: String,
    },
    /// A person takes back what they have said about a task, or about every one.
    NoteWithdrawn {
        /// The task; `None`: what was said about every one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskKey>,
    },
    /// A person wants a task passed over. Its box stays open.
    Skipped {
        /// The task.
        task: TaskKey,
    },
    /// A person wants a task worked on after all.
    Unskipped {
        /// The task.
        task: TaskKey,
    },
    /// A person wants a task worked on once more: its box is open again, and the
    /// attempt that is under way, if one is, is not wanted any more.
    Retried {
        /// The task.
        task: TaskKey,
    },
    /// A person wants the loop to wait once the task, or the phase, is over.
    PauseAsked {
        /// What is to be over first.
        after: PauseAfter,
    },
    /// A person lets the loop go on to the next phase.
    Approved {
        /// The phase, by its heading.
        phase: String,
    },
    /// A person has a task's work taken out by a commit of its own. Its box is open
    /// again.
    Undone {
        /// The task.
        task: TaskKey,
        /// The commit that is reverted.
        commit: String,
    },
    /// A run that could not go on waits for a person.
    Stays {
        /// How it would have ended.
        #[serde(flatten)]
        outcome: Outcome,
    },
    /// A person agrees to a change of the plan that waited for it.
    Accepted {
        /// The task.
        task: TaskKey,
    },
    /// An attempt ended without a verdict: its check on record failed while
    /// another one waits for a person's word, or its task was removed.
    Waits {
        /// The task.
        task: TaskKey,
        /// The attempt.
        attempt: u64,
        /// What a person is asked.
        reasons: Vec<String>,
        /// Boxes of other tasks that were ticked meanwhile, and opened again.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unticked: Vec<String>,
        /// The end of the check's output.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        output: String,
        /// What it changed and left uncommitted, as a failed attempt does.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed: Vec<String>,
    },
    /// An attempt began.
    Opened {
        /// The task.
        task: TaskKey,
        /// The attempt, from 1.
        attempt: u64,
        /// HEAD at that moment; absent without a repository.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<String>,
        /// The task's block as it stood, for people to read.
        block: String,
        /// The same in hexadecimal digits, if it is no UTF-8.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        block_bytes: Option<String>,
        /// What was uncommitted already, with a digest of each file: not the
        /// attempt's work unless it changes further.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        dirty: BTreeMap<String, String>,
        /// What failed attempts at the task had left in the tree by then, with a
        /// digest of each file: the attempt's work, but not its own to take away.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        left_before: BTreeMap<String, String>,
        /// The open tasks of other specs' plans that were uncommitted already:
        /// what stood there is nowhere else.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        open_elsewhere: BTreeMap<String, Vec<String>>,
        /// The branch; absent when HEAD is detached or there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
        /// What its task was called then and since, if it is called otherwise now.
        /// Never written: a reader that follows the plan's edits fills it in.
        #[serde(skip)]
        was: Vec<String>,
    },
    /// A sub-agent of a host works the attempt.
    Delegated {
        /// The task.
        task: TaskKey,
        /// The attempt.
        attempt: u64,
        /// The host's id of the call.
        tool_use_id: String,
    },
    /// An executor of a batch has ended; its verdict waits for the others.
    Reported {
        /// The task.
        task: TaskKey,
        /// The attempt.
        attempt: u64,
        /// The end of what it said.
        result: String,
    },
    /// A call of a sub-agent has come back without a result.
    Returned {
        /// The task.
        task: TaskKey,
        /// The host's id of the call.
        tool_use_id: String,
    },
    /// The verdicts on these attempts, and what is next, were told to the
    /// coordinator.
    Told {
        /// The tasks, by name.
        tasks: Vec<String>,
    },
    /// An executor has changed files after its verdict.
    Late {
        /// The task.
        task: TaskKey,
        /// The files.
        changed: Vec<String>,
    },
    /// An executor was told what is missing and works on in the same attempt.
    SentBack {
        /// The task.
        task: TaskKey,
        /// The attempt.
        attempt: u64,
        /// What is missing.
        reasons: Vec<String>,
    },
    /// An attempt passed.
    Passed {
        /// The task.
        task: TaskKey,
        /// The attempt.
        attempt: u64,
        /// Whether nothing could be run to prove it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unverified: bool,
        /// What it rests on; absent in old records.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<Proof>,
        /// What it changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed: Vec<String>,
        /// Whether that is to be committed. Until a `committed` record follows,
        /// it is not.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        to_commit: bool,
        /// Files changed that the task does not name.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        outside: Vec<String>,
        /// Files changed that its check runs, or that were tests before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        proofs: Vec<String>,
        /// Boxes of other tasks that were ticked meanwhile, and opened again.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unticked: Vec<String>,
        /// The end of the Verify command's output.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        output: String,
        /// How that command ended; absent if nothing was run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        check: Option<Box<CheckOutcome>>,
        /// How long the attempt took.
        #[serde(default)]
        millis: u64,
        /// The commit that holds its work, if it was worked in a worktree and the
        /// user's tree has not taken it in yet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        isolated: Option<String>,
    },
    /// An attempt failed.
    Failed {
        /// The task.
        task: TaskKey,
        /// The attempt.
        attempt: u64,
        /// What it changed and left uncommitted: the next attempt goes on from
        /// there, and commits it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed: Vec<String>,
        /// Every layer that failed, in words.
        reasons: Vec<String>,
        /// The kind of failure; absent in old records.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<FailureClass>,
        /// The kind of each of the reasons; absent in old records.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        layers: Vec<FailureClass>,
        /// The ids of fix tasks that were added.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        fixes: Vec<String>,
        /// Boxes of other tasks that were ticked meanwhile, and opened again.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unticked: Vec<String>,
        /// The end of the Verify command's output.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        output: String,
        /// How that command ended; absent if nothing was run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        check: Option<Box<CheckOutcome>>,
        /// How long the attempt took.
        #[serde(default)]
        millis: u64,
    },
    /// A run of its own process works the spec.
    RunStarted {
        /// The spec.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        spec: String,
        /// How many tasks there are.
        #[serde(default)]
        total: usize,
        /// How many of them are done already.
        #[serde(default)]
        done: usize,
        /// The agents, in the order in which they are asked.
        agents: Vec<String>,
        /// How many tasks may run at once; 0 if an older version wrote it.
        #[serde(default)]
        jobs: usize,
        /// What the loop may use.
        #[serde(default, skip_serializing_if = "Caps::is_empty")]
        caps: Caps,
    },
    /// Several tasks begin at once, each in a worktree of its own.
    GroupStarted {
        /// The tasks.
        tasks: Vec<TaskKey>,
    },
    /// The check of a task was run before the work.
    Red {
        /// The task.
        task: TaskKey,
        /// What is checked, as a digest of its words: another check is another matter.
        check: String,
        /// What it did.
        result: FirstResult,
        /// How long it took.
        #[serde(default)]
        millis: u64,
        /// What it has left uncommitted in the user's tree, with a digest of each file:
        /// not the attempt's work unless it changes further.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        left: BTreeMap<String, String>,
    },
    /// A check begins.
    Checking {
        /// The task.
        task: TaskKey,
        /// The attempt.
        attempt: u64,
        /// What is run, in one text; `None` if nothing is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
        /// Whether the work of a group's task is tried on top of the others'.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        integrated: bool,
    },
    /// Something a person should know.
    Warning {
        /// What.
        text: String,
    },
    /// Boxes that an agent ticked whom nobody got to judge are open again.
    Unticked {
        /// The tasks, by name.
        tasks: Vec<String>,
    },
    /// The run has ended.
    RunEnded {
        /// How.
        #[serde(flatten)]
        outcome: Outcome,
        /// Tasks that are done.
        #[serde(default)]
        done: usize,
        /// Tasks in all.
        #[serde(default)]
        total: usize,
        /// How long it worked.
        millis: u64,
    },
    /// An agent is about to be started for an attempt. What it leaves in the
    /// tree, if nobody gets to judge it, is its own and nobody else's.
    Launched {
        /// The task.
        task: TaskKey,
        /// The attempt.
        attempt: u64,
        /// Who.
        agent: String,
        /// Whether it works in a worktree of its own.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        beside: bool,
        /// Whether that is the one worktree of an isolated run.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        isolated: bool,
        /// Where its output is kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        log: Option<String>,
    },
    /// What one start of an agent used.
    Charged {
        /// The task.
        task: TaskKey,
        /// The attempt.
        attempt: u64,
        /// Who worked.
        agent: String,
        /// Tokens; absent from an agent that does not count them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens: Option<u64>,
        /// Dollars; absent from an agent that does not name them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
        /// Whether the agent did not get to say so, and the dearest start so
        /// far was taken in its place.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        estimated: bool,
        /// How long it ran.
        millis: u64,
        /// Where its output is kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        log: Option<String>,
    },
    /// The work of a group's task has passed in its worktree and is kept as a
    /// commit; it waits to be put on top of the others'.
    Ready {
        /// The task.
        task: TaskKey,
        /// The attempt.
        attempt: u64,
        /// What the agent said at the end.
        result: String,
        /// The commit that holds the work.
        commit: String,
    },
    /// The files of a group's task are about to be put into the user's tree.
    Integrating {
        /// The task.
        task: TaskKey,
        /// The attempt.
        attempt: u64,
        /// The files.
        paths: Vec<String>,
    },
    /// They have been taken out again before anything was decided.
    TakenOut {
        /// The task.
        task: TaskKey,
    },
    /// The work of a group's task does not fit on top of the others'. It runs
    /// again, alone; this was no failed attempt.
    SetAside {
        /// The task.
        task: TaskKey,
        /// The attempt.
        attempt: u64,
        /// What does not fit.
        reasons: Vec<String>,
        /// Boxes of other tasks that were ticked meanwhile, and opened again.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unticked: Vec<String>,
        /// The conflict, or the end of the check's output.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        output: String,
        /// How the check ended; absent if nothing was run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        check: Option<Box<CheckOutcome>>,
    },
    /// The plan was changed as the executor of a task had asked. Unless it asked for
    /// something to follow, its attempt ends, and the task runs again; it has not failed.
    Modified {
        /// The task.
        task: TaskKey,
        /// The attempt.
        attempt: u64,
        /// What it asked for.
        kind: modify::Kind,
        /// The ids of the tasks that were added.
        inserted: Vec<String>,
        /// Why, in the executor's words.
        why: String,
        /// What it changed and left uncommitted, as a failed attempt does.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed: Vec<String>,
        /// Boxes of other tasks that were ticked meanwhile, and opened again.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unticked: Vec<String>,
    },
    /// What the executor of a task asked of the plan was refused.
    ModificationRefused {
        /// The task.
        task: TaskKey,
        /// The attempt.
        attempt: u64,
        /// Why.
        why: String,
    },
    /// What an interrupted or failed attempt had left was taken out of the tree
    /// and kept under a reference.
    Kept {
        /// The task.
        task: TaskKey,
        /// The attempt.
        attempt: u64,
        /// The reference.
        reference: String,
        /// How many files it holds; 0 if that was not counted.
        #[serde(default)]
        files: usize,
    },
    /// What an attempt had left that nobody got to judge is out of the user's
    /// tree: what is changed there from now on is somebody else's, and the
    /// attempt begins anew.
    Cleared {
        /// The task.
        task: TaskKey,
        /// The attempt.
        attempt: u64,
    },
    /// The run waited for an agent.
    Waited {
        /// The agent.
        agent: String,
        /// Why.
        why: String,
        /// How long it was to wait.
        millis: u64,
    },
    /// Another agent took over.
    AgentChanged {
        /// Who worked.
        from: String,
        /// Who works from then on.
        to: String,
        /// Why.
        why: String,
    },
    /// What makes git start a program was changed while a task was being worked on,
    /// and nobody has accepted it.
    GitChanged {
        /// The task.
        task: TaskKey,
        /// What git would start before.
        before: String,
        /// What it would start from then on.
        after: String,
        /// The hooks and settings that differ.
        what: Vec<String>,
    },
    /// A person accepts what git starts now.
    GitAccepted {
        /// What it would start.
        after: String,
    },
    /// A task's work was committed.
    Committed {
        /// The task.
        task: TaskKey,
        /// The commit's id, if there was something to commit.
        #[serde(with = "optional_text")]
        commit: Option<String>,
        /// What the check has left in the tree apart from the attempt's work.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left: Vec<String>,
    },
    /// A batch ended without a verdict: a person had ticked or removed what was
    /// left of it.
    BatchEnded,
    /// The loop was stopped for a while.
    Paused {
        /// Why, if it was not a person's wish.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// The branch that HEAD has to be on again before it goes on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
    },
    /// A person let the loop go on.
    Resumed,
    /// A session works on the spec from now on.
    Held {
        /// Its id.
        session: String,
    },
    /// The session that worked the spec has ended.
    Released {
        /// Its id.
        session: String,
    },
    /// A person ended the loop.
    Cancelled,
    /// Every box is ticked.
    Completed {
        /// How many tasks there were.
        tasks: usize,
        /// Whether the Ralph Loop drove, which waits for a promise.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        promise: bool,
    },
    /// The documents of a spec are about to be written.
    PlanStarted {
        /// Which of them there are to be: `small`, `standard`, `full`.
        profile: String,
        /// Whether nobody is asked.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        quick: bool,
        /// The beginning of what the person has asked for.
        goal: String,
    },
    /// A document has errors: its author tries again, or a person is waited for.
    Gated {
        /// The document, under the name of its attempts.
        task: TaskKey,
        /// The attempt; 0 without one.
        attempt: u64,
        /// The errors, a line each.
        findings: Vec<String>,
    },
    /// A document has no errors.
    Written {
        /// The document, under the name of its attempts.
        task: TaskKey,
        /// The attempt; 0 if a person has written it.
        attempt: u64,
        /// The digest of its text.
        digest: String,
        /// Its length.
        bytes: usize,
        /// What a person should know, a line each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<String>,
    },
    /// Questions of a document are answered.
    Answered {
        /// The document.
        doc: Doc,
        /// The answers, by question.
        answers: BTreeMap<String, String>,
    },
    /// Somebody has agreed to a document.
    DocumentApproved {
        /// The document.
        doc: Doc,
        /// The digest of its text.
        digest: String,
        /// A person, quick mode or the settings.
        agreed: ApprovedBy,
    },
    /// A person says what is to change in a document.
    Revised {
        /// The document.
        doc: Doc,
        /// What.
        text: String,
    },
    /// Documents have parts that stand on what has changed.
    Staled {
        /// The documents.
        docs: Vec<Doc>,
        /// What has changed.
        because: Vec<String>,
    },
    /// A spec gets more documents than were planned at first.
    Enlarged {
        /// Which: `standard`, `full`.
        profile: String,
        /// Why.
        why: String,
    },
    /// The files of the transaction above are written.
    Done,
    /// A record of a newer version.
    #[serde(other)]
    Unknown,
}

/// The task of an entry, borrowed as the entry is.
macro_rules! task_of {
    ($entry:expr) => {
        match $entry {
            Entry::Opened { task, .. }
            | Entry::Ticked { task }
            | Entry::Accepted { task }
            | Entry::Noted { task: Some(task), .. }
            | Entry::NoteWithdrawn { task: Some(task) }
            | Entry::Skipped { task }
            | Entry::Unskipped { task }
            | Entry::Retried { task }
            | Entry::Undone { task, .. }
            | Entry::Waits { task, .. }
            | Entry::Returned { task, .. }
            | Entry::Late { task, .. }
            | Entry::Red { task, .. }
            | Entry::Delegated { task, .. }
            | Entry::Reported { task, .. }
            | Entry::SentBack { task, .. }
            | Entry::Passed { task, .. }
            | Entry::Failed { task, .. }
            | Entry::Launched { task, .. }
            | Entry::Checking { task, .. }
            | Entry::Charged { task, .. }
            | Entry::Ready { task, .. }
            | Entry::Integrating { task, .. }
            | Entry::TakenOut { task }
            | Entry::SetAside { task, .. }
            | Entry::Modified { task, .. }
            | Entry::ModificationRefused { task, .. }
            | Entry::Kept { task, .. }
            | Entry::GitChanged { task, .. }
            | Entry::Cleared { task, .. }
            | Entry::Gated { task, .. }
            | Entry::Written { task, .. }
            | Entry::Committed { task, .. } => Some(task),
            Entry::Started { .. }
            | Entry::PlanChanged { .. }
            | Entry::SuiteChanged { .. }
            | Entry::RunStarted { .. }
            | Entry::GroupStarted { .. }
            | Entry::Warning { .. }
            | Entry::Told { .. }
            | Entry::Noted { task: None, .. }
            | Entry::NoteWithdrawn { task: None }
            | Entry::PauseAsked { .. }
            | Entry::Approved { .. }
            | Entry::Stays { .. }
            | Entry::Unticked { .. }
            | Entry::RunEnded { .. }
            | Entry::Waited { .. }
            | Entry::AgentChanged { .. }
            | Entry::GitAccepted { .. }
            | Entry::BatchEnded
            | Entry::Paused { .. }
            | Entry::Resumed
            | Entry::Held { .. }
            | Entry::Released { .. }
            | Entry::Cancelled
            | Entry::Completed { .. }
            | Entry::PlanStarted { .. }
            | Entry::Answered { .. }
            | Entry::DocumentApproved { .. }
            | Entry::Revised { .. }
            | Entry::Staled { .. }
            | Entry::Enlarged { .. }
            | Entry::Done
            | Entry::Unknown => None,
        }
    };
}

impl Entry {
    /// The task it is about, if it is about one.
    pub fn task(&self) -> Option<&TaskKey> {
        task_of!(self)
    }

    /// The same, to be changed.
    fn task_mut(&mut self) -> Option<&mut TaskKey> {
        task_of!(self)
    }
}

impl Record {
    /// A record of this format that changes no file.
    pub fn new(at: impl Into<Moment>, entry: Entry) -> Record {
        let (seq, id, run, by, via, changes) = (None, None, None, None, None, None);
        Record { v: FORMAT_VERSION, seq, at: at.into(), id, run, by, via, entry, changes }
    }

    /// One line, with its line ending.
    pub fn render(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).expect("a record is JSON");
        line.push(b'\n');
        line
    }
}

/// The records of a journal. Lines that are torn or foreign are left out: a
/// line that was not written whole never took effect.
pub fn parse(bytes: &[u8]) -> Vec<Record> {
    records(bytes).collect()
}

/// The same, one after another: a long journal is more than it says.
pub fn records(bytes: &[u8]) -> impl Iterator<Item = Record> {
    crate::line::lines(bytes).filter_map(|line| serde_json::from_slice(line.text).ok())
}

/// The last whole record of a journal or of its tail.
pub fn last(tail: &[u8]) -> Option<Record> {
    let lines: Vec<_> = crate::line::lines(tail).collect();
    lines.iter().rev().find_map(|line| serde_json::from_slice(line.text).ok())
}

/// What became of the state file last.
pub fn last_state_change(records: &[Record]) -> &StateChange {
    let changes = records.iter().rev().filter_map(|record| record.changes.as_ref());
    let mut states = changes.map(|changes| &changes.state);
    states.find(|state| !state.is_kept()).unwrap_or(&StateChange::Keep)
}

/// The state as the loop wrote it last; `None` if the loop has ended since.
pub fn last_state(records: &[Record]) -> Option<State> {
    match last_state_change(records) {
        StateChange::Write(object) => State::parse(&state::render_object(object)).ok(),
        StateChange::Keep | StateChange::Delete => None,
    }
}

/// The transaction that was begun and not completed, if the journal ends with
/// one. A torn line behind it changes nothing.
pub fn unfinished(tail: &[u8]) -> Option<Changes> {
    last(tail).and_then(|record| record.changes)
}

#[cfg(test)]
mod tests;
