mod task;

use std::thread;
use std::time::Duration;

use specum_core::journal::{Entry, Record};
use specum_core::summary::Summary;

use super::{Answered, Failure, print, print_report};
use crate::exit::Exit;
use crate::report::{Layout, json, summary, timeline};
use specum_engine::ops::{self, Caller, Log};

/// Show what happened: the story of a spec, or of one task
///
/// Without a task: a line for each thing that happened, and the summary of the
/// last loop. With one: its attempts, why they failed, and what the last agent
/// printed.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Id of a task
    task: Option<String>,
    /// Name or path; the active spec if left out
    #[arg(long)]
    spec: Option<String>,
    /// Go on until the loop or its run ends
    #[arg(long, short)]
    follow: bool,
    /// Print one JSON object a line: the records of the journal, then the
    /// summary
    #[arg(long)]
    json: bool,
    /// Print what the last agent printed as it is, escape codes and all
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
        return print("nothing has happened yet; `specum implement` starts the loop");
    }
    let layout = Layout::of_stdout_for_lines();
    let mut told = 0;
    loop {
        // Asked first: what is written until then is told below.
        let over = log.is_over();
        log.read_on()?;
        for at in told..log.length() {
            show(log.up_to(at), args.json, layout)?;
        }
        told = log.length();
        if over || !args.follow {
            break;
        }
        thread::sleep(LOOK);
    }
    end(args, log, &log.summary()?)
}

/// Shows the last of these records.
fn show(records: &[Record], as_json: bool, layout: Layout) -> Result<(), Failure> {
    if !as_json {
        return timeline::line(records, layout).map_or(Ok(()), print_report);
    }
    let Some(record) = records.last().filter(|record| record.entry != Entry::Done) else {
        return Ok(());
    };
    // How the files were changed is the store's own affair.
    let record = Record { changes: None, ..record.clone() };
    print(json::line(&record).trim_end())
}

fn end(args: &Args, log: &Log, summary: &Summary) -> Result<(), Failure> {
    if args.json {
        let at = summary.until.as_deref().unwrap_or_default();
        return print(json::summary_line(at, &log.spec.name, summary).trim_end());
    }
    print_report(format!(
        "\n{}",
        summary::render(&log.spec.name, summary, Layout::of_stdout()).trim_end()
    ))
}
