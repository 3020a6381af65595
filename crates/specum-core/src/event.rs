//! The event stream of a spec: what happened, in one numbered order.
//!
//! The durable part is the journal: each [`Record`] is an [`Event`] with a sequence
//! number that only grows within a spec. The passing part is what agents say while
//! they work; it has no number and is written nowhere but in their logs. Every
//! view of a spec, live or later, is made of these.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::agent::Sign;
use crate::attempt::AttemptId;
use crate::journal::{Actor, Entry, Record, Via};
use crate::moment::Moment;
use crate::tasks::TaskKey;

/// Names one `specum run` for ever. Ids sort by the time of its beginning.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(String);

impl RunId {
    /// An id made of the moment in microseconds since 1970, the process that runs,
    /// and how many runs this process has begun before.
    pub fn new(micros: i64, process: u32, count: u64) -> RunId {
        RunId(format!("{:014x}-{process:x}-{count:04x}", micros.max(0)))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The process that runs, if the id tells.
    pub fn process(&self) -> Option<u32> {
        u32::from_str_radix(self.0.split('-').nth(1)?, 16).ok()
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for RunId {
    fn from(text: &str) -> RunId {
        RunId(text.to_owned())
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Event {
    /// Its place in the story of the spec; `None` for what passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// When.
    pub at: Moment,
    /// The run that did it; `None` for a session's or a person's doing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The attempt it is about.
    #[serde(rename = "id", default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptId>,
    /// Who wanted it, if that was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
    /// By which way that came here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
    /// What.
    #[serde(flatten)]
    pub kind: Kind,
}

/// What an event tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Kind {
    /// An agent gave a sign of life. Never in the journal.
    Said(Said),
    /// Something that the journal has.
    Recorded(Entry),
}

/// A sign of life of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename = "agent")]
pub struct Said {
    /// The task it works on.
    pub task: TaskKey,
    /// What it does.
    #[serde(flatten)]
    pub sign: Sign,
}

impl Event {
    /// What a record tells, at its place in the story.
    pub fn recorded(seq: u64, record: Record) -> Event {
        let Record { at, run, id, by, via, entry, .. } = record;
        Event { seq: Some(seq), at, run, attempt: id, by, via, kind: Kind::Recorded(entry) }
    }

    /// What an agent says at this moment that another event tells the start of.
    pub fn said(at: Moment, start: &Event, task: TaskKey, sign: Sign) -> Event {
        let (run, attempt) = (start.run.clone(), start.attempt.clone());
        let kind = Kind::Said(Said { task, sign });
        Event { seq: None, at, run, attempt, by: None, via: None, kind }
    }

    /// What the journal has of it; `None` for what passes.
    pub fn entry(&self) -> Option<&Entry> {
        match &self.kind {
            Kind::Recorded(entry) => Some(entry),
            Kind::Said(_) => None,
        }
    }
}

/// Gives each record of a story its sequence number. A record that names none, as
/// older versions wrote them, gets the one behind its neighbour's; numbers only
/// grow, whatever stands in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Numbering {
    last: u64,
}

impl Numbering {
    /// Behind a record of this number.
    pub fn after(last: u64) -> Numbering {
        Numbering { last }
    }

    /// The number of the next record.
    pub fn number(&mut self, record: &Record) -> u64 {
        let next = self.last.saturating_add(1);
        self.last = record.seq.map_or(next, |named| named.max(next));
        self.last
    }

    /// The number of the last record; 0 before the first.
    pub fn last(&self) -> u64 {
        self.last
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// Every box is ticked.
    Complete,
    /// The documents that were asked for are written and agreed to.
    Planned,
    /// The tasks that were asked for are done; others are open.
    ChosenDone {
        /// How many of those a person has skipped.
        #[serde(skip_serializing_if = "is_zero")]
        skipped: usize,
    },
    /// A person paused it.
    Paused,
    /// What is left waits for a person's word on changes of the plan.
    Waits {
        /// What is asked.
        why: String,
    },
    /// A person ended the loop.
    Cancelled,
    /// Somebody else works the spec by now.
    TakenOver,
    /// A task has used its attempts.
    Blocked {
        /// Which, and why.
        why: String,
    },
    /// A limit is reached.
    Capped {
        /// Which.
        why: String,
    },
    /// No agent can work.
    NoAgent {
        /// Why, and what to do.
        why: String,
    },
    /// Three attempts in a row came to nothing for reasons outside the tasks.
    Circuit {
        /// What happened.
        why: String,
    },
    /// Something failed that is no task's fault; no summary follows.
    Failed {
        /// What.
        why: String,
    },
    /// Ctrl-C or a signal.
    Interrupted,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl fmt::Display for Outcome {
    /// In words, as the journal and the reports have it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Complete => f.write_str("complete"),
            Outcome::Planned => f.write_str("planned"),
            Outcome::ChosenDone { skipped: 0 } => f.write_str("the chosen tasks are done"),
            Outcome::ChosenDone { skipped } => {
                write!(f, "done but for {skipped} that you skipped")
            }
            Outcome::Paused => f.write_str("paused"),
            Outcome::Waits { why } => write!(f, "waiting for a person: {why}"),
            Outcome::Cancelled => f.write_str("cancelled"),
            Outcome::TakenOver => f.write_str("taken over by somebody else"),
            Outcome::Blocked { why } => write!(f, "blocked: {why}"),
            Outcome::Capped { why } => write!(f, "a limit is reached: {why}"),
            Outcome::NoAgent { why } => write!(f, "no agent can work: {why}"),
            Outcome::Circuit { why } => write!(f, "three attempts in a row came to nothing: {why}"),
            Outcome::Failed { why } => f.write_str(why),
            Outcome::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl Outcome {
    /// What older versions wrote: the words that [`Display`](fmt::Display) gives.
    fn of_words(words: &str) -> Outcome {
        let behind = |start: &str| words.strip_prefix(start).map(str::to_owned);
        match words {
            "the chosen tasks are done" => Outcome::ChosenDone { skipped: 0 },
            "planned" => Outcome::Planned,
            "taken over by somebody else" => Outcome::TakenOver,
            _ => None
                .or_else(|| behind("waiting for a person: ").map(|why| Outcome::Waits { why }))
                .or_else(|| behind("blocked: ").map(|why| Outcome::Blocked { why }))
                .or_else(|| behind("a limit is reached: ").map(|why| Outcome::Capped { why }))
                .or_else(|| behind("no agent can work: ").map(|why| Outcome::NoAgent { why }))
                .or_else(|| {
                    behind("three attempts in a row came to nothing: ")
                        .map(|why| Outcome::Circuit { why })
                })
                .unwrap_or_else(|| Outcome::Failed { why: words.to_owned() }),
        }
    }
}

impl<'de> Deserialize<'de> for Outcome {
    /// Any text is an outcome: one that this version does not know is told in its
    /// own words.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Outcome, D::Error> {
        #[derive(Deserialize)]
        struct Named {
            outcome: String,
            why: Option<String>,
            #[serde(default)]
            skipped: usize,
        }
        let Named { outcome, why, skipped } = Named::deserialize(deserializer)?;
        Ok(match (outcome.as_str(), why) {
            ("complete", _) => Outcome::Complete,
            ("planned", _) => Outcome::Planned,
            ("chosen-done", _) => Outcome::ChosenDone { skipped },
            ("paused", _) => Outcome::Paused,
            ("cancelled", _) => Outcome::Cancelled,
            ("taken-over", _) => Outcome::TakenOver,
            ("interrupted", _) => Outcome::Interrupted,
            ("waits", Some(why)) => Outcome::Waits { why },
            ("blocked", Some(why)) => Outcome::Blocked { why },
            ("capped", Some(why)) => Outcome::Capped { why },
            ("no-agent", Some(why)) => Outcome::NoAgent { why },
            ("circuit", Some(why)) => Outcome::Circuit { why },
            ("failed", Some(why)) => Outcome::Failed { why },
            (words, None) => Outcome::of_words(words),
            (name, Some(why)) => Outcome::Failed { why: format!("{name}: {why}") },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Usage;
    use crate::journal;

    fn outcomes() -> [Outcome; 13] {
        let why = || "1.2: no".to_owned();
        [
            Outcome::Complete,
            Outcome::Planned,
            Outcome::ChosenDone { skipped: 0 },
            Outcome::Paused,
            Outcome::Waits { why: why() },
            Outcome::Cancelled,
            Outcome::TakenOver,
            Outcome::Blocked { why: why() },
            Outcome::Capped { why: why() },
            Outcome::NoAgent { why: why() },
            Outcome::Circuit { why: why() },
            Outcome::Failed { why: why() },
            Outcome::Interrupted,
        ]
    }

    #[test]
    fn an_event_is_read_as_it_was_written() {
        let task = || TaskKey { id: "1.1".into(), title: "a".into() };
        let said = |sign| Kind::Said(Said { task: task(), sign });
        let ended =
            |outcome| Kind::Recorded(Entry::RunEnded { outcome, done: 1, total: 2, millis: 3 });
        let kinds = [
            said(Sign::Text { text: "hm".into() }),
            said(Sign::Tool { name: "Bash".into() }),
            said(Sign::ToolEnded),
            said(Sign::Used(Usage { tokens: 1, cost: Some(0.5) })),
            said(Sign::Retrying { why: "busy".into() }),
            Kind::Recorded(Entry::Resumed),
            Kind::Recorded(Entry::Warning { text: "x".into() }),
            Kind::Recorded(Entry::GroupStarted { tasks: vec![task()] }),
        ];
        for kind in kinds.into_iter().chain(outcomes().map(ended)) {
            let (run, attempt) = (Some("r-1".into()), Some("a-1".into()));
            let (by, via) = (Some(Actor::Person), Some(Via::Terminal));
            let event = Event { seq: Some(7), at: "now".into(), run, attempt, by, via, kind };
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event, "{text}");
        }
    }

    #[test]
    fn the_words_of_older_versions_are_still_an_outcome() {
        for outcome in outcomes() {
            let line = serde_json::json!({
                "v": 1, "at": "", "event": "run-ended", "outcome": outcome.to_string(), "millis": 1
            });
            let record = journal::parse(line.to_string().as_bytes()).remove(0);
            let ended = Entry::RunEnded { outcome, done: 0, total: 0, millis: 1 };
            assert_eq!(record.entry, ended);
        }
    }

    #[test]
    fn numbers_only_grow_and_records_without_one_get_theirs_by_place() {
        let text = [None, None, Some(7), None, Some(3), Some(20)].map(|seq| match seq {
            Some(seq) => format!("{{\"v\":2,\"seq\":{seq},\"at\":\"\",\"event\":\"resumed\"}}\n"),
            None => "{\"v\":1,\"at\":\"\",\"event\":\"resumed\"}\n".to_owned(),
        });
        let mut numbering = Numbering::default();
        let records = journal::parse(text.concat().as_bytes());
        let numbers: Vec<u64> = records.iter().map(|record| numbering.number(record)).collect();
        assert_eq!(numbers, [1, 2, 7, 8, 9, 20]);
        assert_eq!(numbering.last(), 20);
    }
}
