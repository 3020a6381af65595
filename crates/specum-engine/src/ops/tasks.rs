//! How each task of a plan stands.

use std::collections::HashMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use specum_core::agent::{NAMES, Spoken, Transcript};
use specum_core::journal::Record;
use specum_core::picture::{Stage, UnderWay, under_way};
use specum_core::state::State;
use specum_core::summary::{Attempt, AttemptResult, Summary, TaskSummary};
use specum_core::tasks::{Task, TaskFile};

use crate::logs;
use crate::process::Replay;
use crate::project::Spec;

/// How much of the end of a log is looked at for what its agent does now.
const LAST_WORDS: u64 = 64 * 1024;

/// A task of the plan.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StatusTask {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Whether its box is ticked.
    pub done: bool,
    /// Whether the plan is complete without it.
    pub optional: bool,
    /// The line of `tasks.md` that it begins on.
    pub line: usize,
    /// How it stands.
    pub state: TaskState,
    /// How many attempts the loop has made at it.
    pub attempts: u64,
    /// Why it is not done, after an attempt that has not passed; null otherwise.
    pub why: Option<String>,
    /// The lines of the last check's output that tell why it failed, three at most.
    pub telling: Vec<String>,
    /// The work that is done on it now; null unless `state` is `at-work`.
    pub work: Option<Work>,
    /// The commit with its work, if this loop has made it.
    pub commit: Option<String>,
}

/// How a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TaskState {
    /// Its box is ticked.
    Done,
    /// An attempt at it is under way.
    AtWork,
    /// Its last attempt has failed.
    Failed,
    /// Its work did not fit on top of the others' and is to be done again.
    SetAside,
    /// A person is asked.
    Waits,
    /// A person wants it passed over.
    Skipped,
    /// Nobody has worked on it yet, or not to an end.
    Open,
}

/// The work on a task that is under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Work {
    /// Which attempt it is, by its place, from 1.
    pub place: u64,
    /// When it began, in RFC 3339.
    pub since: String,
    /// The agent; null in a session of a host, and where only a check runs.
    pub agent: Option<String>,
    /// What is done, in words.
    pub doing: String,
}

/// How each task of a plan stands. `is_held` says whether anybody works on the spec:
/// what a run has left that was killed is not under way.
pub(super) fn tasks(
    spec: &Spec,
    file: &TaskFile<'_>,
    records: &[Record],
    summary: &Summary,
    state: Option<&State>,
    is_held: bool,
) -> Vec<StatusTask> {
    let under_way = if is_held { under_way(records) } else { HashMap::new() };
    let of_task: HashMap<&str, &TaskSummary> =
        summary.tasks.iter().map(|task| (task.id.as_str(), task)).collect();
    let row = |task: &Task| {
        let (id, done) = (task.name(), task.done);
        let known = of_task.get(id.as_str());
        let last = known.and_then(|known| known.attempts.last());
        let begun = under_way.get(id.as_str()).filter(|_| !done);
        let work = begun.zip(last).map(|(begun, last)| work(begun, spec, last));
        // One that nobody works on any more says nothing; the one before it does.
        let judged = known.and_then(|known| known.attempts.iter().rev().find(is_judged));
        let is_skipped = state.is_some_and(|state| state.is_skipped(task));
        let stands = stands(done, work.is_some(), judged);
        let is_open = !matches!(stands, TaskState::Done | TaskState::AtWork);
        let unfinished = judged.filter(|_| !done && work.is_none());
        StatusTask {
            id,
            title: task.title.clone(),
            done,
            optional: task.optional,
            line: task.line,
            state: if is_open && is_skipped { TaskState::Skipped } else { stands },
            attempts: if work.is_some() { last } else { judged }.map_or(0, |last| last.place),
            why: unfinished.map(Attempt::why).filter(|why| !why.is_empty()),
            telling: unfinished.map(Attempt::telling).unwrap_or_default(),
            work,
            commit: known.and_then(|known| known.passed()?.commit.clone()),
        }
    };
    file.tasks.iter().map(row).collect()
}

fn stands(done: bool, is_at_work: bool, last: Option<&Attempt>) -> TaskState {
    match last.map(|last| last.result) {
        _ if done => TaskState::Done,
        _ if is_at_work => TaskState::AtWork,
        Some(AttemptResult::Failed) => TaskState::Failed,
        Some(AttemptResult::SetAside) => TaskState::SetAside,
        Some(AttemptResult::Waits) => TaskState::Waits,
        Some(AttemptResult::Open | AttemptResult::Passed) | None => TaskState::Open,
    }
}

fn is_judged(attempt: &&Attempt) -> bool {
    attempt.result != AttemptResult::Open
}

/// The work on an attempt that is under way.
fn work(begun: &UnderWay, spec: &Spec, attempt: &Attempt) -> Work {
    let doing = match (begun.stage, &begun.command) {
        (Stage::Starting, _) => "starting".to_owned(),
        (Stage::Working, _) => said(begun, spec).unwrap_or_else(|| "working".to_owned()),
        (Stage::Checking, Some(command)) => format!("checking: {command}"),
        (Stage::Checking, None) => "checking".to_owned(),
        (Stage::Ended, _) => "has ended, waits for the others of its group".to_owned(),
        (Stage::Ready, _) => "has passed, waits to be put on top of the others".to_owned(),
    };
    Work {
        place: attempt.place,
        since: begun.since.as_str().to_owned(),
        agent: begun.agent.clone(),
        doing,
    }
}

/// What the agent said or did last, from the end of its log.
fn said(begun: &UnderWay, spec: &Spec) -> Option<String> {
    let path: &Path =
        begun.log.as_deref().map(Path::new).filter(|path| logs::is_log(spec, path))?;
    let file = spec.world.disk.open_own(path).ok()?;
    let (mut replay, _) = Replay::of_end(file, LAST_WORDS).ok()?;
    let mut transcript = Transcript::of(begun.agent.as_deref());
    let has_stream = begun.agent.as_deref().is_some_and(|name| NAMES.contains(&name));
    let mut last = None;
    let mut take = |pieces: Vec<Spoken>| {
        for piece in pieces {
            // What such an agent says stands in its stream.
            let is_said = !(has_stream && matches!(piece, Spoken::Printed(_)));
            if let Spoken::Words(text) | Spoken::Call(text) | Spoken::Printed(text) = piece
                && is_said
            {
                let line = text.lines().rev().find(|line| !line.trim().is_empty());
                last = line.map(|line| line.trim().to_owned()).or(last.take());
            }
        }
    };
    replay.read_on(|line| take(transcript.line(line))).ok()?;
    take(transcript.end());
    last
}
