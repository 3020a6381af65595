mod task;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use specum_core::journal::{Entry, Record};
use specum_core::summary::Summary;

use super::{NotHere, print, print_report, project, spec};
use crate::exit;
use crate::owner;
use crate::project::Spec;
use crate::report::{Layout, json, summary, timeline};
use crate::store::Store;

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
/// How long a run whose loop has ended may take to say its last word.
const LAST_WORDS: Duration = Duration::from_secs(2);

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let project = project()?;
    let spec = spec(&project, args.spec.as_deref())?;
    let mut journal = Journal::of(&spec);
    journal.look()?;
    match &args.task {
        Some(task) => task::run(args, &spec, &mut journal, task)?,
        None => tell(args, &spec, &mut journal)?,
    }
    Ok(exit::OK)
}

/// The story of the whole spec.
fn tell(args: &Args, spec: &Spec, journal: &mut Journal) -> anyhow::Result<()> {
    if journal.records.is_empty() && !args.follow && !args.json {
        return print("nothing has happened yet; `specum implement` starts the loop");
    }
    let layout = Layout::of_stdout_for_lines();
    let mut told = 0;
    loop {
        // Asked first: what is written until then is told below.
        let over = journal.is_over();
        journal.look()?;
        for at in told..journal.records.len() {
            show(&journal.records[..=at], args.json, layout)?;
        }
        told = journal.records.len();
        if over || !args.follow {
            break;
        }
        thread::sleep(LOOK);
    }
    end(args, spec, &journal.summary()?)
}

/// Shows the last of these records.
fn show(records: &[Record], as_json: bool, layout: Layout) -> anyhow::Result<()> {
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

fn end(args: &Args, spec: &Spec, summary: &Summary) -> anyhow::Result<()> {
    if args.json {
        let at = summary.until.clone().unwrap_or_default();
        return print(json::summary_line(at, &spec.name, summary).trim_end());
    }
    print_report(format!(
        "\n{}",
        summary::render(&spec.name, summary, Layout::of_stdout()).trim_end()
    ))
}

/// A journal that somebody else may be writing.
struct Journal {
    store: Store,
    records: Arc<Vec<Record>>,
    /// How long the file was when it was read.
    length: u64,
    /// When it was found longer than before.
    grown: Instant,
}

impl Journal {
    fn of(spec: &Spec) -> Journal {
        let store = Store::of(spec);
        Journal { store, records: Arc::default(), length: 0, grown: Instant::now() }
    }

    /// Reads what is new. A journal only ever grows.
    fn look(&mut self) -> anyhow::Result<()> {
        let length = self.store.journal_path().metadata().map_or(0, |file| file.len());
        if length != self.length {
            let records = self.store.read_journal()?;
            // One that somebody has replaced is not told a second time.
            if records.len() >= self.records.len() {
                self.records = records;
            }
            (self.length, self.grown) = (length, Instant::now());
        }
        Ok(())
    }

    /// The summary of the last loop.
    fn summary(&self) -> anyhow::Result<Summary> {
        let tasks = self.store.read_tasks()?.unwrap_or_default();
        Ok(Summary::of(&self.records, &tasks.file()))
    }

    /// Whether nothing more is to be expected.
    fn is_over(&self) -> bool {
        let in_run = self.records.iter().rev().find_map(|record| match record.entry {
            Entry::RunStarted { .. } => Some(true),
            Entry::RunEnded { .. } => Some(false),
            _ => None,
        });
        let in_run = in_run == Some(true);
        if !self.store.has_state() {
            return !in_run || self.grown.elapsed() > LAST_WORDS;
        }
        if in_run {
            let state = self.store.read_state().and_then(Result::ok);
            let owner = state.and_then(|state| state.owner);
            return owner.is_some_and(|owner| owner::is_gone(&self.store, &owner));
        }
        let last = self.records.iter().rev().find(|record| record.entry != Entry::Done);
        last.is_some_and(|record| matches!(record.entry, Entry::RunEnded { .. }))
    }
}
