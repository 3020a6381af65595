mod task;

use std::thread;
use std::time::Duration;

use specum_core::event::{Event, Numbering};
use specum_core::journal::{Entry, Record};
use specum_core::moment::Moment;
use specum_core::summary::{Places, Summary};

use super::{Answered, Failure, print, print_report, way_to_begin};
use crate::exit::Exit;
use crate::report::lines::{self, Lines, Stamp};
use crate::report::{Layout, json, summary, timeline};
use specum_engine::ops::{self, Caller, Log};

/// Show what happened in a spec, or at one task
///
/// Without a task: a line for each thing that happened, and the summary of the
/// last loop. With one: its attempts and why they failed, then what the agent of
/// the last one said and did, what the check printed, and the verdict.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Id of a task
    task: Option<String>,
    /// Name or path; the active spec if left out
    #[arg(long)]
    spec: Option<String>,
    /// Go on until the loop has ended, with what agents say meanwhile; with a
    /// task, until it has passed
    #[arg(long, short)]
    follow: bool,
    /// Only what has this sequence number or a later one
    #[arg(long, value_name = "N", conflicts_with = "task")]
    since: Option<u64>,
    /// Print one JSON object a line: the records of the journal, then the
    /// summary; with --follow, events as `specum run --json` prints them (see
    /// docs/run-events.md)
    #[arg(long)]
    json: bool,
    /// Show this attempt at the task: 1 is the first one
    #[arg(long, value_name = "N", requires = "task", conflicts_with_all = ["json", "follow"])]
    attempt: Option<u64>,
    /// Print what the agent printed as it is, escape codes and all
    #[arg(long, requires = "task", conflicts_with_all = ["json", "follow"])]
    raw: bool,
}

/// How often a file that grows is looked at. A person reads slower.
const LOOK: Duration = Duration::from_millis(200);

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let mut log = ops::log(caller, args.spec.as_deref())?;
    match &args.task {
        Some(task) => task::run(args, &mut log, task)?,
        None => tell(args, &mut log)?,
    }
    Ok(Exit::Done)
}

/// The story of the whole spec.
fn tell(args: &Args, log: &mut Log) -> Result<(), Failure> {
    if log.length() == 0 && !args.follow && !args.json {
        return print(format!("nothing has happened yet; {} starts the loop", way_to_begin()));
    }
    match (args.follow, args.json) {
        (true, true) => follow_as_json(args, log)?,
        (true, false) => follow(args, log)?,
        (false, true) => {
            let mut numbering = Numbering::default();
            for record in log.story() {
                let seq = numbering.number(record);
                if is_asked_for(args, seq) {
                    show_record(&Record { seq: Some(seq), ..record.clone() })?;
                }
            }
        }
        (false, false) => drop(show_story(args, log)?),
    }
    end(args, log, &log.summary()?)
}

fn is_asked_for(args: &Args, seq: u64) -> bool {
    args.since.is_none_or(|since| seq >= since)
}

/// Shows what was, and gives it back.
fn show_story(args: &Args, log: &Log) -> Result<(Vec<Event>, Places), Failure> {
    let (layout, events) = (Layout::of_stdout_for_lines(), log.events());
    let mut places = Places::default();
    for at in 0..events.len() {
        events[at].entry().into_iter().for_each(|entry| places.take(entry));
        if events[at].seq.is_some_and(|seq| is_asked_for(args, seq)) {
            timeline::line(&events[..=at], &places, layout).map_or(Ok(()), print_report)?;
        }
    }
    Ok((events, places))
}

/// Shows what was and then what comes, until the loop has ended.
fn follow(args: &Args, log: &mut Log) -> Result<(), Failure> {
    let layout = Layout::of_stdout_for_lines();
    let (mut shown, mut places) = show_story(args, log)?;
    let known = shown.last().and_then(|event| event.seq);
    each(log, |event| {
        let (seq, passes) = (event.seq, event.seq.is_none());
        if !passes && seq <= known {
            return Ok(());
        }
        event.entry().into_iter().for_each(|entry| places.take(entry));
        shown.push(event);
        let line = timeline::line(&shown, &places, layout);
        if passes {
            shown.pop();
        }
        let is_asked_for = seq.is_none_or(|seq| is_asked_for(args, seq));
        line.filter(|_| is_asked_for).map_or(Ok(()), print_report)
    })
}

/// The same as lines of `specum run --json`.
fn follow_as_json(args: &Args, log: &mut Log) -> Result<(), Failure> {
    let mut lines = Lines::default();
    each(log, |event| {
        let stamp = Stamp::of(&event);
        let own = lines.take(&event);
        if event.seq.is_some_and(|seq| !is_asked_for(args, seq)) {
            return Ok(());
        }
        for line in &own {
            print(json::event_line(stamp, line).trim_end())?;
        }
        match event.entry() {
            Some(Entry::Done | Entry::Unknown) | None => Ok(()),
            Some(entry) if lines::are_made_of(entry) => Ok(()),
            Some(_) => print(json::record_line(&event).trim_end()),
        }
    })
}

/// Gives everything that happens to `show`, until the loop has ended.
fn each(log: &mut Log, mut show: impl FnMut(Event) -> Result<(), Failure>) -> Result<(), Failure> {
    let mut follow = log.follow();
    loop {
        let events = follow.next()?;
        let is_still = events.is_empty();
        events.into_iter().try_for_each(&mut show)?;
        // Whatever was recorded until then is shown.
        if is_still && follow.is_over() {
            return Ok(log.read_on()?);
        }
        thread::sleep(LOOK);
    }
}

/// Shows a record as it stands in the journal.
fn show_record(record: &Record) -> Result<(), Failure> {
    if record.entry == Entry::Done {
        return Ok(());
    }
    // How the files were changed is the store's own affair.
    let record = Record { changes: None, ..record.clone() };
    print(json::line(&record).trim_end())
}

fn end(args: &Args, log: &Log, summary: &Summary) -> Result<(), Failure> {
    if args.json {
        let at = summary.until.as_ref().map_or("", Moment::as_str);
        return print(json::summary_line(at, &log.spec.name, summary).trim_end());
    }
    print_report(format!(
        "\n{}",
        summary::render(&log.spec.name, summary, Layout::of_stdout()).trim_end()
    ))
}
