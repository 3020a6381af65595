//! What the lines of a report say, put together from the events of a spec.
//!
//! The journal tells one thing in one record, and a person wants to read it in one
//! line: that an attempt has passed stands in one record, its commit in the next, and
//! what it cost in one before. [`Lines`] holds back what is not complete yet. Live
//! view, plain lines and JSON are all made of these.

use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;
use specum_core::agent::{Sign, Usage};
use specum_core::event::{Event, Kind, Outcome, RunId, Said};
use specum_core::journal::Entry;
use specum_core::moment::Moment;
use specum_core::summary::Places;
use specum_core::tasks::TaskKey;
use specum_core::verify::{self, FailureClass, Proof};
use specum_engine::attempt;

/// Where a line comes from.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Stamp<'a> {
    /// When it happened, in RFC 3339.
    pub at: &'a str,
    /// The number of the record that completed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The run that did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<&'a RunId>,
}

impl<'a> Stamp<'a> {
    /// Where the lines of an event come from.
    pub fn of(event: &'a Event) -> Stamp<'a> {
        Stamp { at: event.at.as_str(), seq: event.seq, run: event.run.as_ref() }
    }
}

/// What one line of a report says.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Line {
    /// The run has begun.
    RunStarted {
        /// The spec.
        spec: String,
        /// How many tasks there are.
        total: usize,
        /// How many of them are done already.
        done: usize,
        /// The agents, in the order in which they are asked.
        agents: Vec<String>,
        /// How many tasks may run at once.
        jobs: usize,
    },
    /// Several tasks begin at once, each in a worktree of its own.
    GroupStarted {
        /// The tasks.
        tasks: Vec<TaskKey>,
    },
    /// An agent works a task.
    AttemptStarted {
        /// The task.
        task: TaskKey,
        /// Its number, from 1. It begins anew when the task is given another round.
        attempt: u64,
        /// Its place among the loop's attempts at the task, from 1.
        place: u64,
        /// Who works; `None` if specum runs the check alone.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        /// Its log file.
        #[serde(skip_serializing_if = "Option::is_none")]
        log: Option<String>,
        /// How long ago the attempt was opened: its verdict counts from there.
        #[serde(skip)]
        since: Duration,
    },
    /// A sign of life of a running agent.
    Agent {
        /// The task.
        task: TaskKey,
        /// What it does.
        #[serde(flatten)]
        sign: Sign,
    },
    /// The agent has ended, the check runs.
    Checking {
        /// The task.
        task: TaskKey,
        /// What is run, in one text; `None` if nothing is.
        #[serde(skip_serializing_if = "Option::is_none")]
        command: Option<String>,
        /// Whether the work of a group's task is tried on top of the others'.
        integrated: bool,
    },
    /// An attempt has passed: ticked and, where there is a repository,
    /// committed.
    Passed {
        /// The task.
        task: TaskKey,
        /// Its number, from 1. It begins anew when the task is given another round.
        attempt: u64,
        /// Its place among the loop's attempts at the task, from 1.
        place: u64,
        /// The commit.
        #[serde(skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
        /// Whether nothing could be run to prove it.
        unverified: bool,
        /// What it rests on: `check`, `suite` or `none`.
        proof: Proof,
        /// Whether an agent worked on it and changed nothing.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        changed_nothing: bool,
        /// Files changed that the task does not name.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        outside: Vec<String>,
        /// Files changed that its check runs, or that were tests before.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        proofs: Vec<String>,
        /// How long it took.
        millis: u64,
        /// What the agent used.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// An attempt has failed.
    Failed {
        /// The task.
        task: TaskKey,
        /// Its number, from 1. It begins anew when the task is given another round.
        attempt: u64,
        /// Its place among the loop's attempts at the task, from 1.
        place: u64,
        /// The class of the failure: `verify`, `no-signal`, `contradiction`,
        /// `uncommitted` or what went wrong with the agent.
        class: String,
        /// Every reason.
        reasons: Vec<String>,
        /// The lines of the check's output that tell why, three at most.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        telling: Vec<String>,
        /// How long it took.
        millis: u64,
        /// What the agent used.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// The work of a group's task does not fit on top of the others': it runs
    /// again, alone. No failed attempt.
    SetAside {
        /// The task.
        task: TaskKey,
        /// Its number, from 1. It begins anew when the task is given another round.
        attempt: u64,
        /// Its place among the loop's attempts at the task, from 1.
        place: u64,
        /// What does not fit.
        reasons: Vec<String>,
    },
    /// An attempt has neither passed nor failed: its task was removed, or its
    /// check was changed, and a person is asked. Its work is kept.
    Waits {
        /// The task.
        task: TaskKey,
        /// Its number, from 1. It begins anew when the task is given another round.
        attempt: u64,
        /// Its place among the loop's attempts at the task, from 1.
        place: u64,
        /// What a person is asked.
        question: String,
        /// The reference that holds the work, if there is any.
        #[serde(skip_serializing_if = "Option::is_none")]
        kept: Option<String>,
    },
    /// A task has used its attempts and was given a fix task.
    FixAdded {
        /// The task that keeps failing.
        task: TaskKey,
        /// The id of the new task.
        fix: String,
    },
    /// A task was added because the executor of another one has asked for it.
    TaskAdded {
        /// The task whose executor has asked.
        task: TaskKey,
        /// The id of the new task.
        added: String,
    },
    /// No agent is available; the run waits.
    Waiting {
        /// The agent that is waited for.
        agent: String,
        /// Why.
        why: String,
        /// How long.
        millis: u64,
    },
    /// Another agent takes over.
    AgentChanged {
        /// Who worked.
        from: String,
        /// Who works from now on.
        to: String,
        /// Why.
        why: String,
    },
    /// What became of a try at a document.
    Document {
        /// The document: `requirements`.
        document: String,
        /// What became of it: `good`, `wrong` or `agreed`.
        standing: &'static str,
        /// What is to be fixed, or what a person should know, a line each.
        findings: Vec<String>,
    },
    /// Something a person should know.
    Warning {
        /// What.
        text: String,
    },
    /// The run has ended.
    RunEnded {
        /// How.
        #[serde(flatten)]
        outcome: Outcome,
        /// Tasks that are done.
        done: usize,
        /// Tasks in all.
        total: usize,
        /// How long it took.
        millis: u64,
    },
}

/// Puts lines together.
#[derive(Debug, Default)]
pub struct Lines {
    /// What is known of the attempts that have no verdict yet, by id; by the task's
    /// where a record of an older version names none.
    attempts: HashMap<String, Progress>,
    /// Attempts that wait for a person and whose work is being kept.
    waiting: Vec<(String, Line)>,
    places: Places,
}

#[derive(Debug, Default)]
struct Progress {
    /// When it was opened.
    opened: Option<Moment>,
    /// Whether an agent was started.
    is_launched: bool,
    /// What the last one used.
    usage: Option<Usage>,
    /// The verdict, until its commit is made.
    passed: Option<Line>,
}

impl Lines {
    /// Goes on where others have told of these attempts.
    pub fn behind(places: Places) -> Lines {
        Lines { places, ..Lines::default() }
    }

    /// The lines that an event completes.
    pub fn take(&mut self, event: &Event) -> Vec<Line> {
        let entry = match &event.kind {
            Kind::Said(Said { task, sign }) => {
                return vec![Line::Agent { task: task.clone(), sign: sign.clone() }];
            }
            Kind::Recorded(entry) => entry,
            _ => return Vec::new(),
        };
        self.places.take(entry);
        let id = event.attempt.as_ref().map(|id| id.as_str().to_owned());
        let id = id.or_else(|| entry.task().map(|task| task.id.clone())).unwrap_or_default();
        let mut lines = self.overdue(entry, &id);
        lines.extend(self.of_record(event, entry, &id).into_iter().flatten());
        lines
    }

    /// Those whose work was not kept after all, once something else has begun.
    fn overdue(&mut self, entry: &Entry, id: &str) -> Vec<Line> {
        let goes_on = matches!(
            entry,
            Entry::Opened { .. }
                | Entry::Paused { .. }
                | Entry::Cancelled
                | Entry::Completed { .. }
                | Entry::RunStarted { .. }
                | Entry::RunEnded { .. }
        );
        let is_kept = matches!(entry, Entry::Kept { .. } | Entry::TakenOut { .. });
        let is_over = |other: &str| goes_on || (other == id && !is_kept);
        if entry == &Entry::Done || !self.waiting.iter().any(|(other, _)| is_over(other)) {
            return Vec::new();
        }
        let (over, waiting) =
            self.waiting.drain(..).partition::<Vec<_>, _>(|(other, _)| is_over(other));
        self.waiting = waiting;
        over.into_iter().map(|(_, line)| line).collect()
    }

    fn of_record(&mut self, event: &Event, entry: &Entry, id: &str) -> Option<Vec<Line>> {
        let line = match entry {
            Entry::Opened { .. } => {
                self.attempts.entry(id.to_owned()).or_default().opened = Some(event.at.clone());
                return None;
            }
            Entry::RunStarted { spec, total, done, agents, jobs, .. } => {
                self.attempts.values_mut().for_each(|attempt| attempt.is_launched = false);
                let (spec, agents) = (spec.clone(), agents.clone());
                Line::RunStarted { spec, total: *total, done: *done, agents, jobs: *jobs }
            }
            Entry::GroupStarted { tasks } => Line::GroupStarted { tasks: tasks.clone() },
            Entry::Launched { task, attempt, agent, log, .. } => {
                let known = self.attempts.entry(id.to_owned()).or_default();
                (known.is_launched, known.usage) = (true, None);
                let since = between(known.opened.as_ref(), &event.at);
                let (attempt, place) = (*attempt, self.places.of(task, *attempt));
                let (task, agent) = (task.clone(), Some(agent.clone()));
                Line::AttemptStarted { task, attempt, place, agent, log: log.clone(), since }
            }
            Entry::Checking { task, attempt, command, integrated } => {
                return Some(self.checking(
                    event,
                    id,
                    (task, *attempt),
                    command.as_ref(),
                    *integrated,
                ));
            }
            Entry::Passed { .. }
            | Entry::Failed { .. }
            | Entry::SetAside { .. }
            | Entry::Modified { .. } => {
                return Some(self.verdict(entry, id));
            }
            Entry::Waits { task, attempt, reasons, unticked, changed, .. } => {
                self.attempts.remove(id);
                let (attempt, place) = (*attempt, self.places.of(task, *attempt));
                let (task, question, kept) = (task.clone(), reasons.join("; "), None);
                let waits = Line::Waits { task, attempt, place, question, kept };
                let mut lines = warning(unticked);
                // What it has changed is kept, and the next record says where.
                match changed.is_empty() {
                    true => lines.push(waits),
                    false => self.waiting.push((id.to_owned(), waits)),
                }
                return Some(lines);
            }
            Entry::Kept { reference, .. } => {
                let place = self.waiting.iter().position(|(other, _)| other == id)?;
                let (_, mut line) = self.waiting.remove(place);
                if let Line::Waits { kept, .. } = &mut line {
                    *kept = Some(reference.clone());
                }
                line
            }
            Entry::Committed { commit, .. } => {
                let mut line = self.attempts.remove(id)?.passed?;
                if let Line::Passed { commit: made, .. } = &mut line {
                    made.clone_from(commit);
                }
                line
            }
            Entry::Charged { tokens, cost, estimated, .. } => {
                // What an agent did not say itself is no news.
                let known = self.attempts.entry(id.to_owned()).or_default();
                let said = tokens.filter(|tokens| !estimated && (*tokens > 0 || cost.is_some()));
                known.usage = said.map(|tokens| Usage { tokens, cost: *cost });
                return None;
            }
            Entry::Waited { agent, why, millis } => {
                Line::Waiting { agent: agent.clone(), why: why.clone(), millis: *millis }
            }
            Entry::AgentChanged { from, to, why } => {
                Line::AgentChanged { from: from.clone(), to: to.clone(), why: why.clone() }
            }
            Entry::Gated { task, findings, .. } => of_document(&task.id, "wrong", findings),
            Entry::Written { task, warnings, .. } => of_document(&task.id, "good", warnings),
            Entry::DocumentApproved { doc, .. } => of_document(doc.name(), "agreed", &[]),
            Entry::Warning { text } => Line::Warning { text: text.clone() },
            Entry::RunEnded { outcome, done, total, millis } => {
                let (outcome, done, total) = (outcome.clone(), *done, *total);
                Line::RunEnded { outcome, done, total, millis: *millis }
            }
            _ => return None,
        };
        Some(vec![line])
    }

    fn checking(
        &mut self,
        event: &Event,
        id: &str,
        (task, attempt): (&TaskKey, u64),
        command: Option<&String>,
        integrated: bool,
    ) -> Vec<Line> {
        let (task, command) = (task.clone(), command.cloned());
        let known = self.attempts.entry(id.to_owned()).or_default();
        let is_alone = !integrated && !known.is_launched;
        let begins = is_alone.then(|| {
            let (since, place) =
                (between(known.opened.as_ref(), &event.at), self.places.of(&task, attempt));
            Line::AttemptStarted {
                task: task.clone(),
                attempt,
                place,
                agent: None,
                log: None,
                since,
            }
        });
        let check = Line::Checking { task, command, integrated };
        begins.into_iter().chain([check]).collect()
    }

    /// The lines of a verdict, with what else was found in front.
    fn verdict(&mut self, entry: &Entry, id: &str) -> Vec<Line> {
        let usage = self.attempts.get(id).and_then(|known| known.usage);
        let mut lines = Vec::new();
        match entry {
            Entry::Passed {
                task,
                attempt,
                unverified,
                proof,
                changed,
                to_commit,
                outside,
                proofs,
                unticked,
                millis,
                ..
            } => {
                lines.extend(warning(unticked));
                let passed = Line::Passed {
                    task: task.clone(),
                    attempt: *attempt,
                    place: self.places.of(task, *attempt),
                    commit: None,
                    unverified: *unverified,
                    proof: Proof::on_record(*proof, *unverified),
                    changed_nothing: changed.is_empty()
                        && *to_commit
                        && self.attempts.get(id).is_some_and(|known| known.is_launched),
                    outside: outside.clone(),
                    proofs: proofs.clone(),
                    millis: *millis,
                    usage,
                };
                if *to_commit {
                    self.attempts.entry(id.to_owned()).or_default().passed = Some(passed);
                    return lines;
                }
                lines.push(passed);
            }
            Entry::Failed {
                task,
                attempt,
                reasons,
                class,
                fixes,
                unticked,
                output,
                millis,
                ..
            } => {
                if self.attempts.get(id).is_none_or(|known| known.passed.is_none()) {
                    lines.extend(warning(unticked));
                }
                lines.push(Line::Failed {
                    task: task.clone(),
                    attempt: *attempt,
                    place: self.places.of(task, *attempt),
                    telling: match class {
                        Some(FailureClass::Verify) => verify::telling(output, reasons),
                        _ => Vec::new(),
                    },
                    class: class.as_ref().map_or_else(String::new, ToString::to_string),
                    reasons: reasons.clone(),
                    millis: *millis,
                    usage,
                });
                let added = |fix: &String| Line::FixAdded { task: task.clone(), fix: fix.clone() };
                lines.extend(fixes.iter().map(added));
            }
            Entry::SetAside { task, attempt, reasons, unticked, .. } => {
                lines.extend(warning(unticked));
                let (attempt, place) = (*attempt, self.places.of(task, *attempt));
                let (task, reasons) = (task.clone(), reasons.clone());
                lines.push(Line::SetAside { task, attempt, place, reasons });
            }
            Entry::Modified { task, attempt, kind, inserted, why, unticked, .. } => {
                let added = |id: &String| Line::TaskAdded { task: task.clone(), added: id.clone() };
                lines.extend(inserted.iter().map(added));
                if !kind.ends_attempt() {
                    return lines;
                }
                lines.extend(warning(unticked));
                let (attempt, place) = (*attempt, self.places.of(task, *attempt));
                let reasons = vec![format!("it asked for {}: {why}", inserted.join(", "))];
                lines.push(Line::SetAside { task: task.clone(), attempt, place, reasons });
            }
            _ => {}
        }
        self.attempts.remove(id);
        lines
    }
}

/// How long one moment is behind another.
fn between(from: Option<&Moment>, to: &Moment) -> Duration {
    let length = from.and_then(Moment::time).zip(to.time());
    let length = length.map(|(from, to)| Duration::try_from(to.duration_since(from)));
    length.and_then(Result::ok).unwrap_or_default()
}

fn of_document(name: &str, standing: &'static str, findings: &[String]) -> Line {
    let document = name.trim_start_matches('@').to_owned();
    Line::Document { document, standing, findings: findings.to_vec() }
}

/// Whether what a record tells is told in lines, its own or others'.
pub fn are_made_of(entry: &Entry) -> bool {
    matches!(
        entry,
        Entry::RunStarted { .. }
            | Entry::GroupStarted { .. }
            | Entry::Launched { .. }
            | Entry::Checking { .. }
            | Entry::Passed { .. }
            | Entry::Failed { .. }
            | Entry::SetAside { .. }
            | Entry::Modified { .. }
            | Entry::Waits { .. }
            | Entry::Committed { .. }
            | Entry::Waited { .. }
            | Entry::AgentChanged { .. }
            | Entry::Gated { .. }
            | Entry::Written { .. }
            | Entry::DocumentApproved { .. }
            | Entry::Warning { .. }
            | Entry::RunEnded { .. }
    )
}

/// What is said of boxes that were ticked without a verdict.
fn warning(unticked: &[String]) -> Vec<Line> {
    match unticked {
        [] => Vec::new(),
        some => vec![Line::Warning { text: attempt::taken_back_in_words(some) }],
    }
}

#[cfg(test)]
mod tests;
