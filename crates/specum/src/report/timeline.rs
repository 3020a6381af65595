//! The story of a spec for a person: a line for each thing that happened.

use jiff::tz::TimeZone;
use specum_core::agent::Sign;
use specum_core::event::{Event, Kind, Said};
use specum_core::journal::Entry;
use specum_core::moment::Moment;
use specum_core::plan_record::{Change, PlanEdit};
use specum_core::spec::red::FirstResult;
use specum_core::summary::Places;
use specum_core::tasks::TaskKey;
use specum_core::verify::Proof;

use super::layout::{Layout, Part, Tone, fit};
use super::{numbers, sanitize, steering};

/// On a narrower page a line has the time of day alone.
const ROOM_FOR_DATE: usize = 60;

/// The last of these events as a line, in the user's own time; `None` if it says
/// nothing to a person.
pub(crate) fn line(events: &[Event], places: &Places, layout: Layout) -> Option<String> {
    let (event, earlier) = events.split_last()?;
    let (text, tone) = match &event.kind {
        Kind::Said(Said { task, sign }) => (says(task, sign)?, Tone::Dim),
        Kind::Recorded(Entry::Reported { task, .. }) if others_work(earlier, task) => {
            (format!("{} reported, waits for the others", id(task)), Tone::Normal)
        }
        Kind::Recorded(entry) => told(entry, places)?,
        _ => return None,
    };
    let time = Part::new(format!("{}  ", time(&event.at, layout)), Tone::Dim);
    Some(layout.row(&[time], &Part::new(text, tone), &[]))
}

fn time(at: &Moment, layout: Layout) -> String {
    let format = if layout.width < ROOM_FOR_DATE { "%H:%M" } else { "%Y-%m-%d %H:%M:%S" };
    match at.time() {
        Some(moment) => moment.to_zoned(TimeZone::system()).strftime(format).to_string(),
        None => fit(&sanitize::one_line(at.as_str()), 19),
    }
}

/// Whether another task of the same round was begun and has not reported.
fn others_work(earlier: &[Event], task: &TaskKey) -> bool {
    let mut reported = vec![task];
    for entry in earlier.iter().rev().filter_map(Event::entry) {
        match entry {
            Entry::Reported { task, .. } => reported.push(task),
            Entry::Opened { task, .. } if !reported.contains(&task) => return true,
            Entry::Passed { .. } | Entry::Failed { .. } | Entry::Started { .. } => return false,
            _ => {}
        }
    }
    false
}

/// What an agent says or does, in words.
fn says(task: &TaskKey, sign: &Sign) -> Option<String> {
    match sign {
        Sign::Text { text } => Some(said(text)).filter(|text| !text.is_empty()),
        Sign::Tool { name } => Some(format!("uses {}", said(name))),
        Sign::Retrying { why } => Some(format!("waits: {}", said(why))),
        Sign::ToolEnded | Sign::Used(_) => None,
    }
    .map(|text| format!("{} │ {text}", id(task)))
}

/// What a record tells, in words.
fn told(entry: &Entry, places: &Places) -> Option<(String, Tone)> {
    let place = |task: &TaskKey, attempt: &u64| places.of(task, *attempt);
    let text = match entry {
        Entry::Passed { task, attempt, unverified, proof, millis, .. } => {
            let attempt = place(task, attempt);
            let proof = Proof::on_record(*proof, *unverified);
            let tone = if proof.note().is_some() { Tone::Wary } else { Tone::Good };
            let proof = proof.words().map(|note| format!(", {note}")).unwrap_or_default();
            let text = format!("{} passed (attempt {attempt}{}{proof})", id(task), took(*millis));
            return Some((text, tone));
        }
        Entry::Failed { task, attempt, reasons, class, millis, .. } => {
            let attempt = place(task, attempt);
            let class = class
                .as_ref()
                .map_or_else(String::new, |class| format!(", {}", said(&class.to_string())));
            let (id, took, why) = (id(task), took(*millis), all(reasons));
            return Some((
                format!("{id} failed (attempt {attempt}{took}{class}): {why}"),
                Tone::Bad,
            ));
        }
        Entry::SetAside { task, attempt, reasons, .. } => {
            let attempt = place(task, attempt);
            let text = format!("{} set aside (attempt {attempt}): {}", id(task), all(reasons));
            return Some((text, Tone::Wary));
        }
        Entry::Modified { task, inserted, why, .. } => {
            let text = format!("{} asked for {}: {}", id(task), all(inserted), said(why));
            return Some((text, Tone::Wary));
        }
        Entry::ModificationRefused { task, why, .. } => {
            let text =
                format!("{} asked for a change of the plan, refused: {}", id(task), said(why));
            return Some((text, Tone::Wary));
        }
        Entry::Completed { tasks, .. } => {
            let all = match tasks {
                1 => "the only task is done".to_owned(),
                _ => format!("all {tasks} tasks are done"),
            };
            return Some((format!("complete: {all}"), Tone::Good));
        }
        Entry::Started { tasks, open, .. } => format!("loop started: {open} of {tasks} tasks open"),
        Entry::Opened { task, attempt, .. } => {
            let attempt = place(task, attempt);
            format!("{} begun (attempt {attempt}): {}", id(task), said(&task.title))
        }
        Entry::Delegated { task, .. } => format!("{} given to a sub-agent", id(task)),
        Entry::Reported { task, .. } => format!("{} reported", id(task)),
        Entry::SentBack { task, reasons, .. } => {
            format!("{} sent back: {}", id(task), all(reasons))
        }
        Entry::Committed { task, commit: None, .. } => {
            format!("{} had nothing to commit", id(task))
        }
        Entry::Committed { task, commit: Some(commit), .. } => {
            format!("{} committed as {}", id(task), said(&numbers::commit(commit)))
        }
        Entry::Paused { why: None, .. } => "paused".into(),
        Entry::Paused { why: Some(why), .. } => format!("paused: {}", said(why)),
        Entry::Ticked { task } => format!("{} ticked by you, not checked", id(task)),
        Entry::Accepted { task } => format!("{} the change to its block is accepted", id(task)),
        Entry::Waits { task, attempt, reasons, .. } => {
            let attempt = place(task, attempt);
            let text = format!("{} waits (attempt {attempt}): {}", id(task), all(reasons));
            return Some((text, Tone::Wary));
        }
        Entry::Returned { task, .. } => format!("{} came back without a result", id(task)),
        Entry::Late { task, changed } => {
            format!("{} changed after its verdict: {}", id(task), all(changed))
        }
        Entry::PlanChanged { edits } => return Some((plan_change(edits)?, Tone::Wary)),
        Entry::Red { task, result: FirstResult::Green, .. } => {
            let text = format!("{} before the work its check passed: it proves nothing", id(task));
            return Some((text, Tone::Wary));
        }
        Entry::Resumed => "resumed".into(),
        Entry::Held { session } => format!("session {} works on it", said(session)),
        Entry::Released { session } => format!("session {} has ended", said(session)),
        Entry::Cancelled => "cancelled".into(),
        Entry::Done | Entry::Unknown => return None,
        other => steering::told(other).or_else(|| told_of_run(other, places))?,
    };
    Some((text, Tone::Normal))
}

/// What a person has to know about a change of the plan; the rest is their own.
fn plan_change(edits: &[PlanEdit]) -> Option<String> {
    let told: Vec<String> = edits
        .iter()
        .filter_map(|edit| match edit {
            PlanEdit::Unconfirmed { task, change: Change::Check(_), .. } => {
                Some(format!("the check of {} was changed, and waits to be accepted", id(task)))
            }
            PlanEdit::Unconfirmed { task, change: Change::Removed(name), .. } => {
                let (name, title) = (said(name), said(&task.title));
                Some(format!("{name} {title} was removed, which waits to be accepted"))
            }
            PlanEdit::Withdrawn(task) => Some(format!("{} is as it was on record", id(task))),
            PlanEdit::Ticked(task) => Some(format!("{} ticked by you, not checked", id(task))),
            PlanEdit::Reopened(task) => Some(format!("{} is to be done again", id(task))),
            PlanEdit::Recorded(_)
            | PlanEdit::Renamed { .. }
            | PlanEdit::Reworded { .. }
            | PlanEdit::Removed(_) => None,
        })
        .collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// What only a run records.
fn told_of_run(entry: &Entry, places: &Places) -> Option<String> {
    Some(match entry {
        Entry::RunStarted { agents, .. } => {
            let agents: Vec<String> = agents.iter().map(|name| said(name)).collect();
            format!("run started: agents {}", agents.join(", "))
        }
        Entry::GroupStarted { tasks } => {
            let ids: Vec<String> = tasks.iter().map(id).collect();
            format!("group started: {}", ids.join(", "))
        }
        Entry::Checking { task, command, .. } => {
            let what = command.as_deref().map_or("no command".into(), said);
            format!("{} checking: {what}", id(task))
        }
        Entry::Warning { text } => format!("warning: {}", said(text)),
        Entry::RunEnded { outcome, millis, .. } => {
            format!("run ended: {}{}", said(&outcome.to_string()), took(*millis))
        }
        Entry::Charged { task, agent, tokens, cost, estimated, millis, .. } => {
            let spent =
                specum_core::summary::Spent { tokens: *tokens, cost: *cost, estimated: *estimated };
            let spent: String =
                numbers::spent(spent).iter().map(|amount| format!(", {amount}")).collect();
            format!("{} worked by {}{}{spent}", id(task), said(agent), took(*millis))
        }
        Entry::Unticked { tasks } => {
            format!("opened again, ticked without a check: {}", all(tasks))
        }
        Entry::BatchEnded => "what was left of the group is ticked or gone".to_owned(),
        Entry::Ready { task, .. } => format!("{} ready to be put on top of the others", id(task)),
        Entry::Integrating { task, paths, .. } => {
            let files = if paths.len() == 1 { "file" } else { "files" };
            format!("{} is put on top of the others: {} {files}", id(task), paths.len())
        }
        Entry::Kept { task, attempt, reference, files } => {
            let attempt = places.of(task, *attempt);
            let reference = kept(&said(reference), *files);
            format!("{} what attempt {attempt} left is kept: {reference}", id(task))
        }
        Entry::Waited { agent, why, millis } => {
            format!("waiting for {}{}: {}", said(agent), took(*millis), said(why))
        }
        Entry::GitChanged { task, what, .. } => {
            format!("{} changed what git starts: {}", id(task), all(what))
        }
        Entry::GitAccepted { .. } => "what git starts is accepted by a person".to_owned(),
        Entry::AgentChanged { from, to, why } => {
            format!("agent changed from {} to {}: {}", said(from), said(to), said(why))
        }
        _ => return None,
    })
}

/// What a person does about a loop that is blocked.
pub(crate) fn way_on(stuck: Option<&str>) -> String {
    let look =
        stuck.map(|id| format!("`specum log {}` shows what happened; ", sanitize::one_line(id)));
    let look = look.unwrap_or_default();
    format!("{look}fix it, then `specum resume` gives the task another round")
}

/// What a task is called that may be gone from the plan.
pub(crate) fn name(id: &str) -> String {
    let key = TaskKey { id: id.to_owned(), title: String::new() };
    if key.gone().is_some() { "removed".to_owned() } else { sanitize::one_line(id) }
}

/// Where work is kept, and how much of it.
pub(crate) fn kept(reference: &str, files: usize) -> String {
    match files {
        0 => reference.to_owned(),
        1 => format!("{reference} (1 file)"),
        files => format!("{reference} ({files} files)"),
    }
}

fn said(text: &str) -> String {
    sanitize::one_line(text)
}

fn id(task: &TaskKey) -> String {
    fit(&sanitize::one_line(task.shown()), 40)
}

fn took(millis: u64) -> String {
    format!(", {}", numbers::millis(millis))
}

fn all(reasons: &[String]) -> String {
    reasons.iter().map(|reason| said(reason)).collect::<Vec<_>>().join("; ")
}
