//! What happened, line by line, for somebody who was not there.

use super::{Told, Tone, Veil};
use crate::journal::{Actor, Entry, Record, Via};
use crate::look::Piece;
use crate::tasks::TaskKey;
use crate::timeline::millis_of;

/// Nobody reads more; `specum log` has all.
const MOST: usize = 5_000;

/// Everything that is worth a line, in its order: the last lines of a very long story, and
/// that something is left out.
pub(super) fn tell_all(records: &[Record], veil: &Veil) -> Vec<Told> {
    let mut told = tell(records, MOST + 1, veil);
    if told.len() > MOST {
        let what = vec![Piece::Text("what came before is left out here".to_owned())];
        let why = "`specum log` has it".to_owned();
        told[0] = Told { at: None, tone: Tone::Plain, what, why };
    }
    told
}

/// The last lines of it, in their order.
pub(crate) fn tell(records: &[Record], most: usize, veil: &Veil) -> Vec<Told> {
    let newest_first = records.iter().rev().filter_map(|record| line(record, veil));
    let mut told: Vec<Told> = newest_first.take(most).collect();
    told.reverse();
    told
}

fn line(record: &Record, veil: &Veil) -> Option<Told> {
    let (tone, what, why) = of_entry(&record.entry, veil)?;
    let mut what = what;
    if let Some(by) = said_by(record) {
        what.push(Piece::Text(by.to_owned()));
    }
    Some(Told { at: millis_of(&record.at), tone, what, why: veil.line(&why) })
}

/// Who wanted it, where that was shown.
fn said_by(record: &Record) -> Option<&'static str> {
    match (&record.entry, record.by, record.via) {
        (Entry::Opened { .. } | Entry::Passed { .. } | Entry::Failed { .. }, ..) => None,
        (_, Some(Actor::Person), Some(Via::Command | Via::Prompt | Via::Dialog)) => {
            Some(", by a person in a session")
        }
        (_, Some(Actor::Person), Some(Via::Web)) => Some(", by a person in the browser"),
        (_, Some(Actor::Person), _) => Some(", by a person"),
        (_, Some(Actor::Agent), _) => Some(", by an agent"),
        _ => None,
    }
}

type Line = (Tone, Vec<Piece>, String);

fn of_entry(entry: &Entry, veil: &Veil) -> Option<Line> {
    let text = |text: &str| vec![Piece::Text(text.to_owned())];
    let about = |key: &TaskKey, what: &str| {
        vec![Piece::Task(veil.line(&key.id)), Piece::Text(format!(" {what}"))]
    };
    let none = String::new;
    Some(match entry {
        Entry::Started { open, .. } => {
            (Tone::Plain, text(&format!("begun with {open} open")), none())
        }
        Entry::RunStarted { agents, .. } => {
            let agents = veil.line(&agents.join(", "));
            (Tone::Plain, text(&format!("a run started with {agents}")), none())
        }
        Entry::Passed { task, .. } => (Tone::Good, about(task, "passed"), none()),
        Entry::Failed { task, reasons, .. } => {
            (Tone::Bad, about(task, "failed"), reasons.join("; "))
        }
        Entry::SetAside { task, reasons, .. } => {
            (Tone::Wary, about(task, "set aside, to be done again"), reasons.join("; "))
        }
        Entry::Modified { task, inserted, why, .. } => {
            let added = format!("asked for {}, which were added", inserted.join(", "));
            (Tone::Wary, about(task, &added), why.clone())
        }
        Entry::ModificationRefused { task, why, .. } => (
            Tone::Wary,
            about(task, "asked for a change of the plan, which was refused"),
            why.clone(),
        ),
        Entry::Waits { task, reasons, .. } => {
            (Tone::Wary, about(task, "waits for a person"), reasons.join("; "))
        }
        Entry::SentBack { task, reasons, .. } => {
            (Tone::Wary, about(task, "sent back"), reasons.join("; "))
        }
        Entry::Waited { agent, why, .. } => {
            (Tone::Wary, text(&format!("waited for {}", veil.line(agent))), why.clone())
        }
        Entry::AgentChanged { from, to, why } => {
            let words = format!("{} took over from {}", veil.line(to), veil.line(from));
            (Tone::Wary, text(&words), why.clone())
        }
        Entry::RunEnded { outcome, .. } => {
            (Tone::Plain, text("the run ended"), outcome.to_string())
        }
        Entry::Completed { .. } => (Tone::Good, text("every box is ticked"), none()),
        Entry::Cancelled => (Tone::Wary, text("cancelled"), none()),
        Entry::Paused { why, .. } => (Tone::Wary, text("paused"), why.clone().unwrap_or_default()),
        Entry::Resumed => (Tone::Plain, text("resumed"), none()),
        Entry::PauseAsked { .. } => (Tone::Plain, text("a pause was asked for"), none()),
        Entry::Approved { phase } => (Tone::Plain, text("a phase was approved"), phase.clone()),
        Entry::Noted { task: Some(task), text } => {
            (Tone::Plain, about(task, "noted"), text.clone())
        }
        Entry::Noted { task: None, text: note } => (Tone::Plain, text("noted"), note.clone()),
        Entry::Skipped { task } => (Tone::Wary, about(task, "is passed over"), none()),
        Entry::Unskipped { task } => (Tone::Plain, about(task, "is worked on after all"), none()),
        Entry::Retried { task } => (Tone::Wary, about(task, "is to be done once more"), none()),
        Entry::Ticked { task } => (Tone::Wary, about(task, "ticked without a check"), none()),
        Entry::Accepted { task } => (Tone::Plain, about(task, "changed, and accepted"), none()),
        Entry::Undone { task, .. } => (Tone::Wary, about(task, "taken out again"), none()),
        Entry::Unticked { tasks } => {
            let tasks = veil.line(&tasks.join(", "));
            (Tone::Wary, text(&format!("opened again, for want of a verdict: {tasks}")), none())
        }
        Entry::Warning { text: warning } => (Tone::Wary, text("a warning"), warning.clone()),
        _ => return None,
    })
}
