//! A spec at this moment: how it stands, what it needs of a person, who is at work on
//! what, what is next, how far each phase is, what it has taken, and what happened last.
//!
//! It is folded from the journal, the state and the plan, for a view of a spec that
//! somebody else works: the web view and the terminal view show the same value. Every text
//! of others in it has come through a [`Veil`]. Moments are
//! milliseconds since 1970, lengths of time are milliseconds.

mod need;
mod under_way;

use std::collections::HashMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

pub use self::need::{Need, NeedKind, Try};
pub use self::under_way::{Stage, UnderWay, under_way};
use crate::budget::Caps;
use crate::event::Outcome;
use crate::journal::{Entry, Record};
use crate::plan::{self, Scope};
use crate::report::{TaskStands, Told, Veil, story};
use crate::state::{self, Phase, State};
use crate::summary::{self, AttemptResult, Standing, Summary, TaskSummary};
use crate::tasks::{Task, TaskFile, short_title};
use crate::timeline::millis_of;

/// How many tasks are named that come next.
const NEXT: usize = 5;
/// How much is told of what happened last.
const JUST_NOW: usize = 20;

/// A spec at this moment.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Picture {
    /// The spec.
    pub spec: String,
    /// Where it is, from the project's root.
    pub place: String,
    /// The branch that is worked on, if the journal names one.
    pub branch: Option<String>,
    /// How it stands.
    pub standing: Stands,
    /// The same in a few words, with what matters most.
    pub sentence: String,
    /// What it needs of a person; null if nothing.
    pub need: Option<Need>,
    /// What a person can say to it now, the likeliest first.
    pub acts: Vec<Act>,
    /// What to type so that somebody works on it; null while somebody does, or if nothing
    /// is left to be done.
    pub command: Option<String>,
    /// How many boxes are ticked.
    pub done: usize,
    /// How many boxes there are.
    pub total: usize,
    /// The tasks by phase, in the order of the plan.
    pub phases: Vec<PhasePart>,
    /// The attempts that are under way.
    pub at_work: Vec<AtWork>,
    /// The tasks that come next.
    pub next: Vec<NextTask>,
    /// The wait for an agent, while a run waits.
    pub waiting: Option<Waiting>,
    /// When the loop began.
    pub began: Option<i64>,
    /// When the last thing happened.
    pub last: Option<i64>,
    /// The tokens that ended starts of agents have used; null if none counts them.
    pub tokens: Option<u64>,
    /// The dollars they cost; null if none names its price.
    pub cost: Option<f64>,
    /// Whether part of that is an estimate.
    pub estimated: bool,
    /// The most dollars that the loop may cost.
    pub max_cost: Option<f64>,
    /// The most tokens that it may use.
    pub max_tokens: Option<u64>,
    /// The longest that it may work.
    pub max_millis: Option<u64>,
    /// How long the open tasks will take if they take as long as those before.
    pub left: Option<u64>,
    /// How many tasks are ticked without a check.
    pub unproved: usize,
    /// What happened last, the newest first.
    pub just_now: Vec<Told>,
}

/// How a spec stands, as a person asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stands {
    /// It cannot go on without a person.
    NeedsYou,
    /// Somebody works on it.
    Working,
    /// A run waits for an agent, for a limit of its account say.
    Waiting,
    /// A person wants it to wait.
    Paused,
    /// A loop was begun, and nobody works on it.
    Left,
    /// Every box is ticked.
    Done,
    /// No loop was begun, or a person has ended it.
    NotBegun,
}

/// What a person can say to a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Act {
    /// Wait once what is worked on is over.
    PauseAfter,
    /// Wait at once.
    Pause,
    /// Go on; if a task has used its attempts, it gets another round.
    Resume,
    /// Go on to the phase that waits.
    Approve,
    /// Pass over the task that it is stuck at.
    Skip,
    /// End the loop.
    Cancel,
}

/// A phase of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PhasePart {
    /// Its heading.
    pub title: String,
    /// Its tasks.
    pub tasks: Vec<TaskPart>,
}

/// A task of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TaskPart {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// How it stands.
    pub state: TaskStands,
}

/// An attempt that is under way.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AtWork {
    /// The task's id.
    pub task: String,
    /// Its title.
    pub title: String,
    /// Which attempt it is, by its place, from 1.
    pub place: u64,
    /// When it began.
    pub since: Option<i64>,
    /// The agent; null in a session of a host.
    pub agent: Option<String>,
    /// How far it is.
    pub stage: Stage,
    /// What checks it, once that has begun.
    pub command: Option<String>,
    /// The tokens that its ended starts have used.
    pub tokens: Option<u64>,
    /// The dollars they cost.
    pub cost: Option<f64>,
    /// Where the output of its agent is kept, as the journal has it: to be opened only if it
    /// is a log of ours.
    #[serde(skip)]
    pub log: Option<String>,
}

/// A task that comes next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NextTask {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Whether something can be run to prove it.
    pub has_check: bool,
}

/// A wait for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Waiting {
    /// The agent.
    pub agent: String,
    /// Why.
    pub why: String,
    /// When it is to end.
    pub until: i64,
}

/// Who works on a spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worker {
    /// Nobody.
    Nobody,
    /// A run.
    Run,
    /// A session of a host.
    Session,
    /// A run that could not go on and waits for a person's word.
    WaitingRun,
}

/// What a picture is made from.
pub struct Input<'a> {
    /// The spec.
    pub spec: &'a str,
    /// Its folder, as a person names it.
    pub place: &'a str,
    /// The time.
    pub now: Timestamp,
    /// The journal.
    pub records: &'a [Record],
    /// What became of its last loop.
    pub summary: &'a Summary,
    /// The plan.
    pub file: &'a TaskFile<'a>,
    /// The loop's state, if there is one.
    pub state: Option<&'a State>,
    /// Why the state or the plan cannot be read, if it cannot.
    pub trouble: Option<String>,
    /// Who works on it.
    pub worker: Worker,
    /// Whether something can be run to prove a task.
    pub has_check: &'a dyn Fn(&Task) -> bool,
}

/// How long the open tasks will take if they take as long as those before, in
/// milliseconds: `passed` tasks took `worked`.
pub fn estimate(worked: u64, passed: usize, open: usize) -> Option<u64> {
    let whole = worked.checked_div(passed as u64)?.checked_mul(open as u64)?;
    (whole >= 1_000).then_some(whole)
}

impl Picture {
    /// A spec at this moment.
    pub fn of(input: &Input<'_>) -> Picture {
        let veil = Veil::default();
        let records = summary::last_loop(input.records);
        let is_held = !matches!(input.worker, Worker::Nobody | Worker::WaitingRun);
        let begun = if is_held { under_way(records) } else { HashMap::new() };
        let at_work = at_work(input, &begun, &veil);
        let waiting = waiting(input, records, &veil).filter(|_| is_held && at_work.is_empty());
        let need = need::need(input, records, is_held, &veil);
        let standing = stands(input, need.is_some(), waiting.is_some(), is_held);
        let caps = input.state.map_or(input.summary.caps, |state| state.budget.caps());
        let Caps { cost: max_cost, tokens: max_tokens, millis: max_millis } = caps;
        let unproved = input.summary.unverified.len() + input.summary.by_person.len();
        let acts = acts(input, need.as_ref(), standing, is_held);
        let moment = |at: Option<&crate::moment::Moment>| at.and_then(millis_of);
        Picture {
            spec: veil.line(input.spec),
            place: veil.line(input.place),
            branch: branch(records).map(|branch| veil.line(branch)),
            sentence: sentence(input, need.as_ref(), waiting.as_ref(), standing, at_work.len()),
            command: command(input, standing, is_held),
            left: left(input, records).filter(|_| standing == Stands::Working),
            standing,
            need,
            acts,
            done: input.file.done_count(),
            total: input.file.count(),
            phases: phases(input, &begun, &veil),
            next: next(input, &begun, &veil),
            at_work,
            waiting,
            began: moment(input.summary.since.as_ref()),
            last: moment(input.summary.until.as_ref()),
            tokens: input.summary.spent.tokens,
            cost: input.summary.spent.cost,
            estimated: input.summary.spent.estimated,
            max_cost,
            max_tokens,
            max_millis,
            unproved,
            just_now: just_now(records, &veil),
        }
    }

    /// The attempts under way whose agent's output is kept.
    pub fn logs(&self) -> impl Iterator<Item = (&AtWork, &str)> {
        self.at_work.iter().filter_map(|work| Some((work, work.log.as_deref()?)))
    }
}

fn stands(input: &Input<'_>, needs: bool, waits: bool, is_held: bool) -> Stands {
    let is_paused = matches!(input.state.map(|s| &s.standing), Some(state::Standing::Paused(_)));
    let is_over = input.state.is_none() || input.summary.standing == Standing::Complete;
    match &input.summary.standing {
        _ if needs => Stands::NeedsYou,
        _ if is_paused => Stands::Paused,
        _ if waits => Stands::Waiting,
        _ if is_held => Stands::Working,
        _ if is_over && input.file.count() > 0 && input.file.is_complete() => Stands::Done,
        Standing::NotStarted | Standing::Cancelled => match input.state.map(|s| &s.phase) {
            Some(Phase::Execution) => Stands::Left,
            _ => Stands::NotBegun,
        },
        Standing::Complete if input.state.is_none() => Stands::NotBegun,
        _ => Stands::Left,
    }
}

fn sentence(
    input: &Input<'_>,
    need: Option<&Need>,
    waiting: Option<&Waiting>,
    standing: Stands,
    at_work: usize,
) -> String {
    let counted = |count: usize, what: &str| (count > 0).then(|| format!("{count} {what}"));
    let summary = input.summary;
    match (need, waiting) {
        (Some(need), _) => return need.short.clone(),
        (None, Some(waiting)) => return format!("waits for {}: {}", waiting.agent, waiting.why),
        (None, None) => {}
    }
    match standing {
        Stands::Working => match (input.worker, at_work) {
            (Worker::Session, 0) => "a session works on it".to_owned(),
            (_, 0) => "a run works on it".to_owned(),
            (_, count) => format!("{count} at work"),
        },
        Stands::Paused if input.worker == Worker::Nobody => "paused, nobody works on it".to_owned(),
        Stands::Paused => "paused".to_owned(),
        Stands::Left => "nobody works on it".to_owned(),
        Stands::Done => {
            let unproved = summary.unverified.len() + summary.by_person.len();
            counted(unproved, "unproved").unwrap_or_else(|| "every task is done".to_owned())
        }
        _ if summary.standing == Standing::Cancelled => "cancelled".to_owned(),
        _ if input.file.count() == 0 => "has no tasks yet".to_owned(),
        _ => match input.state.map(|state| &state.phase) {
            Some(Phase::Other(phase)) => format!("planning: {}", Veil::default().line(phase)),
            _ => "not begun".to_owned(),
        },
    }
}

/// What a person can say to it now.
fn acts(input: &Input<'_>, need: Option<&Need>, standing: Stands, is_held: bool) -> Vec<Act> {
    let Some(state) = input.state else { return Vec::new() };
    let mut acts = need.map(|need| need.acts.clone()).unwrap_or_default();
    match standing {
        Stands::Working | Stands::Waiting if is_held => {
            let asked = state.pause_after.is_some();
            acts.extend(
                [Act::PauseAfter].into_iter().filter(|_| !asked && input.worker == Worker::Run),
            );
            acts.push(Act::Pause);
        }
        Stands::Paused => acts.push(Act::Resume),
        _ => {}
    }
    acts.push(Act::Cancel);
    acts
}

/// What to type so that somebody works on it.
fn command(input: &Input<'_>, standing: Stands, is_held: bool) -> Option<String> {
    let waits = is_held || input.worker == Worker::WaitingRun;
    if waits || input.file.count() == 0 || standing == Stands::Done || input.trouble.is_some() {
        return None;
    }
    let name = in_a_shell(input.spec);
    let before = input.state.and_then(|state| match &state.standing {
        _ if state.waiting_for.is_some() => Some("approve"),
        state::Standing::Running => None,
        state::Standing::Paused(_) | state::Standing::Blocked(_) => Some("resume"),
    });
    let before = before.map(|verb| format!("specum {verb} {name} && ")).unwrap_or_default();
    Some(format!("{before}specum run {name}"))
}

/// A name as a shell takes it for one word.
fn in_a_shell(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    match !name.is_empty() && name.chars().all(is_plain) {
        true => name.to_owned(),
        false => format!("'{}'", Veil::default().line(name).replace('\'', "'\\''")),
    }
}

fn branch(records: &[Record]) -> Option<&str> {
    records.iter().rev().find_map(|record| match &record.entry {
        Entry::Opened { branch, .. } => branch.as_deref(),
        _ => None,
    })
}

/// How a task of the plan stands.
fn state_of(
    input: &Input<'_>,
    task: &Task,
    of: Option<&TaskSummary>,
    begun: &HashMap<&str, UnderWay>,
) -> TaskStands {
    let judged = of.and_then(|of| {
        let last = of.attempts.iter().rev().find(|one| one.result != AttemptResult::Open);
        last.map(|last| last.result)
    });
    match judged {
        _ if task.done => TaskStands::Done,
        _ if begun.contains_key(task.name().as_str()) => TaskStands::Working,
        _ if input.state.is_some_and(|state| state.is_skipped(task)) => TaskStands::Skipped,
        Some(AttemptResult::Failed) => TaskStands::Failed,
        Some(AttemptResult::SetAside) => TaskStands::Again,
        Some(AttemptResult::Waits) => TaskStands::Waits,
        Some(AttemptResult::Open | AttemptResult::Passed) | None => TaskStands::Open,
    }
}

fn phases(input: &Input<'_>, begun: &HashMap<&str, UnderWay>, veil: &Veil) -> Vec<PhasePart> {
    let mut phases: Vec<PhasePart> = Vec::new();
    // The summary has the tasks of the file first, in its order.
    for (place, task) in input.file.tasks.iter().enumerate() {
        let title = veil.line(&input.file.phase(task));
        let part = TaskPart {
            id: veil.line(&task.name()),
            title: veil.line(&short_title(&task.title)),
            state: state_of(input, task, input.summary.tasks.get(place), begun),
        };
        match phases.last_mut() {
            Some(phase) if phase.title == title => phase.tasks.push(part),
            _ => phases.push(PhasePart { title, tasks: vec![part] }),
        }
    }
    phases
}

fn at_work(input: &Input<'_>, begun: &HashMap<&str, UnderWay>, veil: &Veil) -> Vec<AtWork> {
    let tasks = input.summary.tasks.iter().filter(|of| !of.done);
    let work = |of: &TaskSummary| {
        let begun = begun.get(of.id.as_str())?;
        let last = of.attempts.last()?;
        Some(AtWork {
            task: veil.line(&of.id),
            title: veil.line(&short_title(&of.title)),
            place: last.place,
            since: millis_of(&begun.since),
            agent: begun.agent.as_ref().map(|agent| veil.line(agent)),
            stage: begun.stage,
            command: begun.command.as_ref().map(|command| veil.line(command)),
            tokens: last.spent.tokens,
            cost: last.spent.cost,
            log: begun.log.clone(),
        })
    };
    tasks.filter_map(work).collect()
}

fn next(input: &Input<'_>, begun: &HashMap<&str, UnderWay>, veil: &Veil) -> Vec<NextTask> {
    let units = plan::order(input.file, &Scope::all(1));
    let tasks = units.iter().flat_map(plan::Unit::tasks).map(|at| &input.file.tasks[*at]);
    let is_due = |task: &&Task| {
        !begun.contains_key(task.name().as_str())
            && !input.state.is_some_and(|state| state.is_skipped(task))
    };
    let one = |task: &Task| NextTask {
        id: veil.line(&task.name()),
        title: veil.line(&short_title(&task.title)),
        has_check: (input.has_check)(task),
    };
    tasks.filter(is_due).take(NEXT).map(one).collect()
}

/// The wait that the journal's end tells of, unless it is over.
fn waiting(input: &Input<'_>, records: &[Record], veil: &Veil) -> Option<Waiting> {
    let ends = |record: &&Record| {
        matches!(
            record.entry,
            Entry::Waited { .. }
                | Entry::Launched { .. }
                | Entry::AgentChanged { .. }
                | Entry::RunStarted { .. }
                | Entry::RunEnded { .. }
        )
    };
    let last = records.iter().rev().find(ends)?;
    let Entry::Waited { agent, why, millis } = &last.entry else { return None };
    let until = millis_of(&last.at)?.saturating_add(i64::try_from(*millis).unwrap_or(i64::MAX));
    let is_on = until > input.now.as_millisecond();
    is_on.then(|| Waiting { agent: veil.line(agent), why: veil.line(why), until })
}

/// How long the open tasks will take, by what the run has done so far.
fn left(input: &Input<'_>, records: &[Record]) -> Option<u64> {
    let is_start = |record: &Record| matches!(record.entry, Entry::RunStarted { .. });
    let of_run = &records[records.iter().rposition(is_start)?..];
    let now = input.now;
    let (mut passed, mut waited) = (0_usize, 0_u64);
    for record in of_run {
        match &record.entry {
            Entry::Passed { .. } => passed += 1,
            Entry::Waited { millis, .. } => {
                let at_most = record.at.millis_until(now).unwrap_or(0);
                waited = waited.saturating_add((*millis).min(at_most));
            }
            _ => {}
        }
    }
    let worked = of_run.first()?.at.millis_until(now)?.saturating_sub(waited);
    let is_left =
        |task: &&Task| !task.optional && !input.state.is_some_and(|state| state.is_skipped(task));
    estimate(worked, passed, input.file.open().filter(is_left).count())
}

fn just_now(records: &[Record], veil: &Veil) -> Vec<Told> {
    let mut told = story::tell(records, JUST_NOW, veil);
    told.reverse();
    told
}

/// How the last run ended, or would have, unless the loop has gone on since.
fn last_end(records: &[Record]) -> Option<&Outcome> {
    let mut end = None;
    for record in records {
        match &record.entry {
            Entry::RunEnded { outcome, .. } | Entry::Stays { outcome } => end = Some(outcome),
            Entry::Started { .. }
            | Entry::RunStarted { .. }
            | Entry::Resumed
            | Entry::Opened { .. } => end = None,
            _ => {}
        }
    }
    end
}

#[cfg(test)]
mod tests;
