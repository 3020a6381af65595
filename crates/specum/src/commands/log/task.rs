//! The story of one task: its attempts, and what its last agent printed.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;

use specum_core::summary::{Attempt, AttemptResult, TaskSummary};

use super::{Args, Failure, LOOK, end, print, print_report, show_record};
use crate::report::layout::{Part, Tone, fit};
use crate::report::sanitize::{self, Sanitizer};
use crate::report::{Layout, numbers, summary};
use specum_engine::files::{self, FileError};
use specum_engine::ops::{Log, OpError};

/// How much of a log is shown: its end. `--raw` prints the whole.
const SHOWN: u64 = 256 * 1024;
/// How many lines of a check's output are shown.
const OUTPUT_LINES: usize = 15;

pub(super) fn run(args: &Args, log: &mut Log, named: &str) -> Result<(), Failure> {
    let id = log.id_of(named)?;
    if args.raw {
        let none = || OpError::NotFound(format!("there is no log of {named}"));
        let (_, path) = log.last_log(&log.task(&id)?).ok_or_else(none)?;
        return copy(&path);
    }
    if args.json {
        return as_json(args, log, &id);
    }
    let task = log.task(&id)?;
    describe(&task)?;
    follow(args, log, task)
}

fn as_json(args: &Args, log: &mut Log, id: &str) -> Result<(), Failure> {
    let mut told = 0;
    loop {
        let over = log.is_over();
        log.read_on()?;
        for record in log.story().skip(told) {
            if record.entry.task().is_some_and(|task| task.id == id) {
                show_record(record)?;
            }
        }
        told = log.length();
        if over || !args.follow {
            break;
        }
        thread::sleep(LOOK);
    }
    let mut summary = log.summary()?;
    summary.tasks.retain(|task| task.id == id);
    end(args, log, &summary)
}

/// The attempts, each with its reasons and the end of its check's output.
fn describe(task: &TaskSummary) -> Result<(), Failure> {
    let layout = Layout::of_stdout();
    let (sign, tone, word) = match task.done {
        true => ("✓", Tone::Good, "done"),
        false => ("·", Tone::Wary, "open"),
    };
    let head = [
        Part::new(format!("{sign} "), tone),
        Part::new(format!("{} ", sanitize::one_line(&task.id)), Tone::Strong),
    ];
    let mut facts = vec![Part::new(word, tone)];
    facts.extend(numbers::spent(task.spent()).into_iter().map(|fact| Part::new(fact, Tone::Dim)));
    print_report(layout.row(
        &head,
        &Part::new(sanitize::one_line(&task.title), Tone::Normal),
        &facts,
    ))?;
    if task.attempts.is_empty() {
        print("  nobody has worked it yet")?;
    }
    task.attempts.iter().try_for_each(|attempt| describe_attempt(attempt, layout))
}

fn describe_attempt(attempt: &Attempt, layout: Layout) -> Result<(), Failure> {
    print_report(summary::told_attempt(attempt, layout).join("\n"))?;
    let output = sanitize::text(&attempt.output);
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    for line in &lines[lines.len().saturating_sub(OUTPUT_LINES)..] {
        let line = format!("    │ {}", line.replace('\t', "    "));
        print_report(layout.paint(&fit(&line, layout.width), Tone::Dim))?;
    }
    Ok(())
}

/// Shows the log of the last attempt, and goes on with it and with those that
/// follow, if that is asked for.
fn follow(args: &Args, log: &mut Log, mut task: TaskSummary) -> Result<(), Failure> {
    let mut reading: Option<Reading> = None;
    let mut told = task.attempts.iter().filter(|attempt| is_judged(attempt)).count();
    loop {
        // Asked first: what is written until then is shown below.
        let over = !args.follow || log.is_over() || task.passed().is_some();
        if let Some((number, path)) = log.last_log(&task) {
            if reading.as_ref().is_none_or(|reading| reading.path != path) {
                print(format!("\nlog of attempt {number}: {}", path.display()))?;
                reading = Some(Reading::begin(path)?);
            }
        } else if let Some(named) = named_elsewhere(&task).filter(|_| over) {
            print(format!("\nits log is not here: {}", sanitize::one_line(&named)))?;
        }
        if let Some(reading) = &mut reading {
            reading.show()?;
        }
        let judged: Vec<&Attempt> = task.attempts.iter().filter(|one| is_judged(one)).collect();
        if let Some(reading) = reading.as_mut().filter(|_| over || judged.len() > told) {
            reading.end_line()?;
        }
        for attempt in judged.iter().skip(told) {
            describe_attempt(attempt, Layout::of_stdout())?;
        }
        told = judged.len();
        if over {
            return Ok(());
        }
        thread::sleep(LOOK);
        log.read_on()?;
        task = log.task(&task.id)?;
    }
}

fn is_judged(attempt: &Attempt) -> bool {
    attempt.result != AttemptResult::Open
}

/// A log that the journal names and that is none of ours.
fn named_elsewhere(task: &TaskSummary) -> Option<String> {
    task.attempts.iter().rev().find_map(|attempt| attempt.logs.last().cloned())
}

fn open(path: &Path) -> Result<File, OpError> {
    files::open_own(path, File::options().read(true))
        .map_err(|error| FileError::new("read", path, error).into())
}

fn copy(path: &Path) -> Result<(), Failure> {
    io::copy(&mut open(path)?, &mut io::stdout().lock())?;
    Ok(())
}

/// A log that is being shown.
struct Reading {
    path: PathBuf,
    file: File,
    cleaner: Sanitizer,
    /// Whether the last character shown was the end of a line.
    line_ended: bool,
}

impl Reading {
    fn begin(path: PathBuf) -> Result<Reading, Failure> {
        let mut file = open(&path)?;
        let length = file.metadata()?.len();
        if let Some(before) = length.checked_sub(SHOWN).filter(|before| *before > 0) {
            file.seek(SeekFrom::Start(before))?;
            print(format!("(the first {before} bytes are left out; `--raw` prints all)"))?;
        }
        Ok(Reading { path, file, cleaner: Sanitizer::default(), line_ended: true })
    }

    /// Shows what has been added.
    fn show(&mut self) -> Result<(), Failure> {
        let mut piece = vec![0; 64 * 1024];
        let mut out = io::stdout().lock();
        // Of a long one the middle is left out, and what follows moves up.
        let length = self.file.metadata()?.len();
        if self.file.stream_position()? > length {
            self.file.seek(SeekFrom::Start(length.saturating_sub(SHOWN)))?;
            out.write_all(b"\n(some of it is left out)\n")?;
        }
        loop {
            let length = self.file.read(&mut piece)?;
            if length == 0 {
                break;
            }
            let text = self.cleaner.push(&piece[..length]);
            if let Some(last) = text.chars().next_back() {
                self.line_ended = last == '\n';
            }
            out.write_all(text.as_bytes())?;
        }
        out.flush()?;
        Ok(())
    }

    /// Ends a line that the agent has not ended.
    fn end_line(&mut self) -> Result<(), Failure> {
        let ended = std::mem::replace(&mut self.line_ended, true);
        if ended { Ok(()) } else { print("") }
    }
}
