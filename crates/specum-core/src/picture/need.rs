//! What a spec needs of a person, and why.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Act, Input, last_end};
use crate::event::Outcome;
use crate::journal::Record;
use crate::line;
use crate::report::Veil;
use crate::state::{self, State};
use crate::summary::{Attempt, AttemptResult, Standing, TaskSummary};
use crate::tasks::short_title;
use crate::timeline::millis_of;

/// How much of a check's output is shown.
const MAX_OUTPUT: usize = 4 * 1024;

/// What a spec needs of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Need {
    /// Its kind.
    pub kind: NeedKind,
    /// What has happened, in a sentence.
    pub what: String,
    /// The same in a few words.
    pub short: String,
    /// Why, in words of the run or of the last attempt; empty if there is no more to say.
    pub why: String,
    /// The task that it is about.
    pub task: Option<String>,
    /// The end of what the task's last check printed.
    pub output: String,
    /// The attempts at that task, the newest first.
    pub tries: Vec<Try>,
    /// What a person can do, the likeliest first.
    pub acts: Vec<Act>,
}

/// What a person is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NeedKind {
    /// A task has used its attempts.
    Blocked,
    /// A phase waits for approval.
    Approval,
    /// specum has stopped it, to be let go on.
    Halted,
    /// A cap is reached.
    Capped,
    /// No agent can work.
    NoAgent,
    /// The run failed, for no task's fault.
    Failed,
    /// A change of the plan waits for a person's word.
    Question,
    /// A file of the spec cannot be read.
    Broken,
}

/// An attempt that has been made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Try {
    /// Which attempt, by its place, from 1.
    pub place: u64,
    /// When it was judged.
    pub at: Option<i64>,
    /// Why it did not pass.
    pub why: String,
}

/// What it needs, if it needs anything.
pub(super) fn need(
    input: &Input<'_>,
    records: &[Record],
    is_held: bool,
    veil: &Veil,
) -> Option<Need> {
    if let Some(trouble) = &input.trouble {
        return Some(plain(NeedKind::Broken, "it cannot be read", trouble, veil));
    }
    let state = input.state?;
    if let Some(why) = state.blocked() {
        return Some(blocked(input, why, veil));
    }
    if let Some(phase) = &state.waiting_for {
        let what = format!("{} waits for your approval", veil.line(phase));
        let need = plain(NeedKind::Approval, &what, "", veil);
        return Some(Need { acts: vec![Act::Approve], ..need });
    }
    if let state::Standing::Paused(Some(why)) = &state.standing {
        let need = plain(NeedKind::Halted, "it is paused, and not by you", why, veil);
        return Some(Need { acts: vec![Act::Resume], ..need });
    }
    if is_held {
        return None;
    }
    of_outcome(last_end(records), veil).or_else(|| questions(input, state, veil))
}

fn plain(kind: NeedKind, what: &str, why: &str, veil: &Veil) -> Need {
    let (what, why) = (capitalised(what), veil.line(why));
    Need {
        kind,
        short: match what.len() + why.len() {
            0..100 if !why.is_empty() && kind != NeedKind::Broken => why.clone(),
            _ => what.clone(),
        },
        what,
        why,
        task: None,
        output: String::new(),
        tries: Vec::new(),
        acts: Vec::new(),
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn blocked(input: &Input<'_>, why: &str, veil: &Veil) -> Need {
    let Some(stuck) = input.summary.stuck() else {
        let need = plain(NeedKind::Blocked, "it is blocked", why, veil);
        return Need { acts: vec![Act::Resume], ..need };
    };
    let failed = |one: &&Attempt| one.result == AttemptResult::Failed;
    let count = stuck.attempts.iter().filter(failed).count();
    let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
    let id = veil.line(&stuck.id);
    let last = stuck.attempts.iter().rev().find(failed);
    let reasons = last.map(Attempt::why).unwrap_or_default();
    Need {
        kind: NeedKind::Blocked,
        what: format!("{id} {} failed {times}", veil.line(&short_title(&stuck.title))),
        short: format!("{id} failed {times}"),
        why: veil.line(if reasons.is_empty() { why } else { &reasons }),
        output: last
            .map(|last| veil.text(line::tail(last.output.trim_end(), MAX_OUTPUT)))
            .unwrap_or_default(),
        tries: tries(stuck, veil),
        task: Some(id),
        acts: vec![Act::Resume, Act::Skip],
    }
}

fn tries(task: &TaskSummary, veil: &Veil) -> Vec<Try> {
    let tried = task.attempts.iter().rev().filter(|one| one.result != AttemptResult::Open);
    let one = |one: &Attempt| Try {
        place: one.place,
        at: one.judged.as_ref().and_then(millis_of),
        why: veil.line(&one.why()),
    };
    tried.map(one).collect()
}

/// What the end of a run asks of a person.
fn of_outcome(outcome: Option<&Outcome>, veil: &Veil) -> Option<Need> {
    let (kind, what, why) = match outcome? {
        Outcome::Blocked { why } => (NeedKind::Blocked, "it is blocked", why),
        Outcome::Capped { why } => (NeedKind::Capped, "a limit is reached", why),
        Outcome::NoAgent { why } => (NeedKind::NoAgent, "no agent can work", why),
        Outcome::Circuit { why } => {
            (NeedKind::Failed, "three attempts in a row came to nothing", why)
        }
        Outcome::Failed { why } => (NeedKind::Failed, "the run failed", why),
        Outcome::Waits { why } => (NeedKind::Question, "it waits for your word", why),
        Outcome::Complete
        | Outcome::Planned
        | Outcome::ChosenDone { .. }
        | Outcome::Paused
        | Outcome::Cancelled
        | Outcome::TakenOver
        | Outcome::Interrupted => return None,
    };
    let acts = if kind == NeedKind::Question { Vec::new() } else { vec![Act::Resume] };
    Some(Need { acts, ..plain(kind, what, why, veil) })
}

fn questions(input: &Input<'_>, state: &State, veil: &Veil) -> Option<Need> {
    let is_loop = state.phase == state::Phase::Execution
        && !matches!(input.summary.standing, Standing::NotStarted);
    let all = input.summary.questions.join("; ");
    (is_loop && !all.is_empty())
        .then(|| plain(NeedKind::Question, "it waits for your word", &all, veil))
}
