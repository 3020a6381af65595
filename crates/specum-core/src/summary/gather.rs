//! From records to a summary: one pass over the records of a loop.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    AgentChange, AgentStart, Attempt, AttemptResult, Kept, Outside, Places, Spent, Standing,
    Summary, TaskSummary, Wait,
};
use crate::journal::{Changes, Entry, Record, StateChange};
use crate::moment::Moment;
use crate::plan_record::{PlanEdit, PlanRecord};
use crate::tasks::{TaskFile, TaskKey, TaskMatch};
use crate::verify::Proof;

/// The summary of one loop.
pub(super) fn gather(records: &[Record], file: &TaskFile<'_>) -> Summary {
    let mut gathering = Gathering::new(file);
    for record in records {
        gathering.take(record);
    }
    let mut summary = gathering.summary;
    summary.since = records.first().map(|record| record.at.clone());
    summary.until = records.last().map(|record| record.at.clone());
    let plan_record = PlanRecord::of(records);
    summary.questions = plan_record.questions().collect();
    // A loop that has ended has no plan on record any more.
    let ends = |record: &Record| matches!(record.entry, Entry::Completed { .. } | Entry::Cancelled);
    let plan_record = match records.iter().rposition(ends) {
        Some(end) => PlanRecord::of(&records[..end]),
        None => plan_record,
    };
    summary.overruled_checks = plan_record.overruled_checks().collect();
    add_up(&mut summary);
    summary
}

struct Gathering<'f, 't> {
    summary: Summary,
    file: &'f TaskFile<'t>,
    /// Where each task stands among the tasks of the summary, by id.
    places: HashMap<String, usize>,
    /// The places of the attempts.
    attempts: Places,
}

impl<'f, 't> Gathering<'f, 't> {
    fn new(file: &'f TaskFile<'t>) -> Self {
        let tasks = file.tasks.iter().map(|task| TaskSummary {
            id: task.name(),
            title: task.title.clone(),
            done: task.done,
            optional: task.optional,
            fixes: task.fixes().map(str::to_owned),
            attempts: Vec::new(),
        });
        let summary = Summary {
            done: file.done_count(),
            total: file.count(),
            tasks: tasks.collect(),
            ..Summary::default()
        };
        let mut places = HashMap::new();
        for (place, task) in summary.tasks.iter().enumerate() {
            places.entry(task.id.clone()).or_insert(place);
        }
        Gathering { summary, file, places, attempts: Places::default() }
    }

    fn take(&mut self, record: &Record) {
        self.attempts.take(&record.entry);
        match &record.entry {
            Entry::Opened { task, attempt, .. } => self.open(task, *attempt, &record.at),
            Entry::SentBack { task, attempt, reasons } => {
                self.attempt(task, *attempt, &record.at).sent_back.extend(reasons.iter().cloned());
            }
            Entry::Passed { .. }
            | Entry::Failed { .. }
            | Entry::SetAside { .. }
            | Entry::Modified { .. }
            | Entry::Waits { .. }
            | Entry::Gated { attempt: 1.., .. }
            | Entry::Written { attempt: 1.., .. } => self.judge(record),
            Entry::Ticked { task } => self.summary.by_person.push(task.id.clone()),
            Entry::PlanChanged { edits } => {
                self.summary.by_person.extend(edits.iter().filter_map(|edit| match edit {
                    PlanEdit::Ticked(task) => Some(task.id.clone()),
                    _ => None,
                }));
            }
            Entry::Unticked { tasks } => self.summary.unticked.extend(tasks.iter().cloned()),
            Entry::Charged { .. } => self.charge(record),
            Entry::Committed { task, commit, .. } => {
                let place = self.place(task);
                if let Some(attempt) = self.summary.tasks[place].attempts.last_mut() {
                    attempt.commit.clone_from(commit);
                    attempt.committed = Some(record.at.clone());
                    attempt.went_to_git = true;
                }
            }
            Entry::Kept { task, attempt, reference, files } => {
                let place = self.attempts.of(task, *attempt);
                let (task, reference) = (task.id.clone(), reference.clone());
                let kept = Kept { task, attempt: *attempt, place, reference, files: *files };
                self.summary.kept.push(kept);
            }
            Entry::Waited { agent, why, millis } => {
                let (at, agent, why) = (record.at.clone(), agent.clone(), why.clone());
                let wait = Wait { at, agent, why, millis: *millis };
                self.summary.waits.push(wait);
            }
            Entry::RunStarted { jobs, caps, .. } => {
                self.summary.jobs = self.summary.jobs.max(*jobs);
                self.summary.caps = *caps;
            }
            Entry::AgentChanged { from, to, why } => {
                let change = AgentChange { from: from.clone(), to: to.clone(), why: why.clone() };
                self.summary.agent_changes.push(change);
            }
            _ => {}
        }
        self.clock(record);
        self.stand(record);
    }

    /// When an attempt was worked, checked and waited.
    fn clock(&mut self, record: &Record) {
        let (entry, at) = (&record.entry, &record.at);
        match entry {
            Entry::Launched { task, attempt, .. } | Entry::Delegated { task, attempt, .. } => {
                let start = AgentStart { launched: at.clone(), ended: None };
                self.attempt(task, *attempt, at).starts.push(start);
            }
            Entry::Charged { task, attempt, .. } | Entry::Reported { task, attempt, .. } => {
                let last = self.attempt(task, *attempt, at).starts.last_mut();
                if let Some(start) = last.filter(|start| start.ended.is_none()) {
                    start.ended = Some(at.clone());
                }
            }
            Entry::Checking { task, attempt, command, .. } => {
                self.attempt(task, *attempt, at).command.clone_from(command);
            }
            Entry::Ready { task, attempt, .. } => {
                self.attempt(task, *attempt, at).ready = Some(at.clone());
            }
            Entry::Passed { task, attempt, .. }
            | Entry::Failed { task, attempt, .. }
            | Entry::SetAside { task, attempt, .. }
            | Entry::Modified { task, attempt, .. }
            | Entry::Waits { task, attempt, .. }
            | Entry::Gated { task, attempt: attempt @ 1.., .. }
            | Entry::Written { task, attempt: attempt @ 1.., .. } => {
                self.attempt(task, *attempt, at).judged = Some(at.clone());
            }
            _ => {}
        }
    }

    /// Where a task stands. One that is no longer in the file is added.
    fn place(&mut self, key: &TaskKey) -> usize {
        if let Some(&place) = self.places.get(&key.id) {
            // Without an id a position says little: tasks may have been moved since.
            let same = key.place().is_none() || self.summary.tasks[place].title == key.title;
            if same || place >= self.file.tasks.len() {
                return place;
            }
        }
        if let TaskMatch::Same(place) | TaskMatch::Retitled(place) = self.file.find(key) {
            return place;
        }
        let place = self.summary.tasks.len();
        let gone =
            TaskSummary { id: key.id.clone(), title: key.title.clone(), ..Default::default() };
        self.summary.tasks.push(gone);
        self.places.insert(key.id.clone(), place);
        place
    }

    /// An attempt begins, or is begun again after its worker was gone.
    fn open(&mut self, key: &TaskKey, number: u64, at: &Moment) {
        let (place, count) = (self.place(key), self.attempts.of(key, number));
        let attempts = &mut self.summary.tasks[place].attempts;
        let again = attempts
            .last()
            .is_some_and(|last| last.number == number && last.result == AttemptResult::Open);
        if !again {
            let began = at.clone();
            attempts.push(Attempt { number, place: count, began, ..Attempt::default() });
        }
    }

    /// The last attempt of this number.
    fn attempt(&mut self, key: &TaskKey, number: u64, at: &Moment) -> &mut Attempt {
        let (place, count) = (self.place(key), self.attempts.of(key, number));
        let attempts = &mut self.summary.tasks[place].attempts;
        let index = attempts.iter().rposition(|attempt| attempt.number == number);
        let index = index.unwrap_or_else(|| {
            let began = at.clone();
            attempts.push(Attempt { number, place: count, began, ..Attempt::default() });
            attempts.len() - 1
        });
        &mut attempts[index]
    }

    /// A verdict. A failure may follow a pass of the same attempt: its commit
    /// was refused.
    fn judge(&mut self, record: &Record) {
        if let Entry::Passed { unticked, .. } | Entry::Failed { unticked, .. } = &record.entry {
            self.summary.unticked.extend(unticked.iter().cloned());
        }
        match &record.entry {
            Entry::Gated { task, attempt, findings } => {
                let attempt = self.attempt(task, *attempt, &record.at);
                attempt.result = AttemptResult::Failed;
                attempt.reasons.clone_from(findings);
            }
            Entry::Written { task, attempt, .. } => {
                self.attempt(task, *attempt, &record.at).result = AttemptResult::Passed;
            }
            Entry::Passed {
                task,
                attempt,
                unverified,
                proof,
                outside,
                proofs,
                output,
                check,
                millis,
                ..
            } => {
                let attempt = self.attempt(task, *attempt, &record.at);
                attempt.result = AttemptResult::Passed;
                attempt.check = check.as_deref().cloned();
                attempt.unverified = *unverified;
                attempt.proof = Some(Proof::on_record(*proof, *unverified));
                attempt.outside.clone_from(outside);
                attempt.proofs.clone_from(proofs);
                attempt.output.clone_from(output);
                took(attempt, *millis);
            }
            Entry::Failed {
                task,
                attempt,
                reasons,
                class,
                layers,
                output,
                check,
                changed,
                millis,
                ..
            } => {
                let attempt = self.attempt(task, *attempt, &record.at);
                attempt.layers.clone_from(layers);
                attempt.check = check.as_deref().cloned();
                attempt.changed.clone_from(changed);
                attempt.result = AttemptResult::Failed;
                attempt.unverified = false;
                attempt.proof = None;
                attempt.outside.clear();
                attempt.proofs.clear();
                attempt.reasons.clone_from(reasons);
                attempt.class.clone_from(class);
                attempt.output.clone_from(output);
                took(attempt, *millis);
            }
            Entry::SetAside { task, attempt, reasons, output, check, .. } => {
                let attempt = self.attempt(task, *attempt, &record.at);
                attempt.check = check.as_deref().cloned();
                attempt.result = AttemptResult::SetAside;
                attempt.reasons.clone_from(reasons);
                attempt.output.clone_from(output);
            }
            Entry::Modified { task, attempt, kind, inserted, why, .. } => {
                self.summary.added += inserted.len();
                if !kind.ends_attempt() {
                    return;
                }
                let attempt = self.attempt(task, *attempt, &record.at);
                attempt.result = AttemptResult::SetAside;
                attempt.reasons = vec![format!("it asked for {}: {why}", inserted.join(", "))];
            }
            Entry::Waits { task, attempt, reasons, output, .. } => {
                let attempt = self.attempt(task, *attempt, &record.at);
                attempt.result = AttemptResult::Waits;
                attempt.reasons.clone_from(reasons);
                attempt.output.clone_from(output);
            }
            _ => {}
        }
    }

    /// What one start of an agent used.
    fn charge(&mut self, record: &Record) {
        let Entry::Charged { task, attempt, agent, tokens, cost, estimated, millis, log } =
            &record.entry
        else {
            return;
        };
        let attempt = self.attempt(task, *attempt, &record.at);
        if !attempt.agents.contains(agent) {
            attempt.agents.push(agent.clone());
        }
        // A number that is none would swallow every other.
        let cost = cost.filter(|cost| cost.is_finite());
        attempt.spent = attempt.spent.and(Spent { tokens: *tokens, cost, estimated: *estimated });
        attempt.logs.extend(log.clone());
        // The verdict tells the whole time, if one comes.
        if attempt.result == AttemptResult::Open {
            attempt.millis = attempt.millis.saturating_add(*millis);
        }
    }

    /// How the loop stands after a record.
    fn stand(&mut self, record: &Record) {
        let standing = &mut self.summary.standing;
        match &record.entry {
            Entry::Started { .. } | Entry::RunStarted { .. } | Entry::Resumed => {
                *standing = Standing::UnderWay;
            }
            Entry::Opened { .. } if matches!(standing, Standing::Stopped { .. }) => {
                *standing = Standing::UnderWay;
            }
            Entry::Paused { why, .. } => *standing = Standing::Paused { why: why.clone() },
            Entry::Cancelled => *standing = Standing::Cancelled,
            Entry::Completed { .. } => *standing = Standing::Complete,
            Entry::RunEnded { outcome, .. } => {
                self.summary.last_run = Some(outcome.to_string());
                // What the loop itself has said is more than how the run ended.
                if *standing == Standing::UnderWay {
                    *standing = Standing::Stopped { why: outcome.to_string() };
                }
            }
            _ => {}
        }
        let Some(Changes { state: StateChange::Write(state), .. }) = &record.changes else {
            return;
        };
        match state.get("blocked").and_then(Value::as_str) {
            Some(why) => *standing = Standing::Blocked { why: why.to_owned() },
            None if matches!(standing, Standing::Blocked { .. }) => *standing = Standing::UnderWay,
            None => {}
        }
    }
}

/// The verdict tells how long an attempt took, as every line about it does; records of
/// older versions may not.
fn took(attempt: &mut Attempt, millis: u64) {
    if millis > 0 {
        attempt.millis = millis;
    }
}

/// The sums over all tasks.
fn add_up(summary: &mut Summary) {
    let Summary { tasks, by_person, unticked, .. } = summary;
    // A task that was opened again, or has passed since, does not rest on a person's word.
    by_person.retain(|id| tasks.iter().any(|task| task.id == *id && task.done));
    for names in [by_person, unticked] {
        names.sort();
        names.dedup();
    }
    for task in &summary.tasks {
        summary.attempts += task.attempts.len();
        summary.millis = summary.millis.saturating_add(task.millis());
        summary.spent = summary.spent.and(task.spent());
        summary.commits += task.attempts.iter().filter(|one| one.commit.is_some()).count();
        if task.done && task.passed().is_some_and(|attempt| attempt.unverified) {
            summary.unverified.push(task.id.clone());
        }
        if task.done && task.passed().is_some_and(|attempt| attempt.proof == Some(Proof::Suite)) {
            summary.by_suite.push(task.id.clone());
        }
        let is_green = |attempt: &Attempt| attempt.proof == Some(Proof::GreenBefore);
        if task.done && task.passed().is_some_and(is_green) {
            summary.green_before.push(task.id.clone());
        }
        if task.done && task.passed().is_some_and(|attempt| !attempt.went_to_git) {
            summary.uncommitted.push(task.id.clone());
        }
        if let Some(passed) = task.passed().filter(|attempt| !attempt.outside.is_empty()) {
            let files = passed.outside.clone();
            summary.outside.push(Outside { task: task.id.clone(), files });
        }
        if let Some(passed) = task.passed().filter(|attempt| !attempt.proofs.is_empty()) {
            let files = passed.proofs.clone();
            summary.proofs.push(Outside { task: task.id.clone(), files });
        }
    }
}
