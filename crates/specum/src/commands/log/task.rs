//! The story of one task: its attempts, and what the agent of one of them said and did.

use std::io;
use std::thread;

use specum_core::agent::{NAMES, Spoken, Transcript};
use specum_core::summary::{Attempt, AttemptResult, TaskSummary};

use super::{Args, Failure, LOOK, end, print, print_report, show_record};
use crate::report::layout::{Part, Tone};
use crate::report::{Layout, numbers, sanitize, summary, transcript};
use specum_engine::files::{self, FileError};
use specum_engine::ops::{AgentLog, Log, OpError};
use specum_engine::process::Replay;

/// How much is shown of the log of an agent that prints plain text: its end. `--raw`
/// prints the whole.
const SHOWN: u64 = 256 * 1024;

pub(super) fn run(args: &Args, log: &mut Log, named: &str) -> Result<(), Failure> {
    let id = log.id_of(named)?;
    if args.raw {
        return copy(args, log, &log.task(&id)?);
    }
    if args.json {
        return as_json(args, log, &id);
    }
    let task = log.task(&id)?;
    head(&task)?;
    if args.follow {
        return follow(log, task);
    }
    let Some(chosen) = log.attempt(&task, args.attempt)? else {
        return print("  not worked on yet");
    };
    let layout = Layout::of_stdout();
    for attempt in &task.attempts {
        if args.attempt.is_none() && !std::ptr::eq(attempt, chosen) {
            print_lines(&summary::told_attempt(attempt, summary::Output::Telling, layout))?;
        }
    }
    for agent_log in log.agent_logs(&task, chosen) {
        let mut reading = Reading::begin(log, chosen, agent_log)?;
        reading.show()?;
        reading.end()?;
    }
    if let Some(named) = named_elsewhere(log, &task, chosen) {
        print(format!("\nits log is not here: {}", sanitize::one_line(named)))?;
    }
    verdict(chosen)
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

/// The task, and how it stands.
fn head(task: &TaskSummary) -> Result<(), Failure> {
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
    let title = Part::new(sanitize::one_line(&task.title), Tone::Normal);
    print_report(layout.row(&head, &title, &facts))
}

/// What the check of an attempt printed, and how the attempt ended.
fn verdict(attempt: &Attempt) -> Result<(), Failure> {
    let layout = Layout::of_stdout();
    let is_whole = attempt.result != AttemptResult::Passed;
    let output = transcript::output(&attempt.output, is_whole, layout);
    if !output.is_empty() {
        print(format!("\noutput of the check of attempt {}:", attempt.place))?;
        print_lines(&output)?;
    }
    print_lines(&summary::told_attempt(attempt, summary::Output::None, layout))
}

/// Shows the logs of the last attempt and of those that follow as they grow, until the
/// task has passed or nothing more will come.
fn follow(log: &mut Log, mut task: TaskSummary) -> Result<(), Failure> {
    let layout = Layout::of_stdout();
    let mut reading: Option<Reading> = None;
    let judged = |task: &TaskSummary| task.attempts.iter().take_while(|one| is_judged(one)).count();
    let mut told = judged(&task);
    for attempt in &task.attempts[..told] {
        print_lines(&summary::told_attempt(attempt, summary::Output::Telling, layout))?;
    }
    loop {
        // Asked first: what is written until then is shown below.
        let over = log.is_over() || task.passed().is_some();
        let newest = task.attempts.iter().rev().find_map(|attempt| {
            let newest = log.agent_logs(&task, attempt).pop();
            newest.map(|agent_log| (attempt, agent_log))
        });
        if let Some((attempt, agent_log)) = newest
            && reading.as_ref().is_none_or(|reading| reading.log != agent_log)
        {
            if let Some(before) = &mut reading {
                before.show()?;
                before.end()?;
            }
            reading = Some(Reading::begin(log, attempt, agent_log)?);
        }
        if let Some(reading) = &mut reading {
            reading.show()?;
        }
        let now = judged(&task);
        if let Some(reading) = reading.as_mut().filter(|_| over || now > told) {
            reading.end()?;
        }
        task.attempts[told.min(now)..now].iter().try_for_each(verdict)?;
        told = now;
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
fn named_elsewhere<'a>(log: &Log, task: &TaskSummary, attempt: &'a Attempt) -> Option<&'a String> {
    attempt.logs.last().filter(|_| log.agent_logs(task, attempt).is_empty())
}

fn print_lines(lines: &[String]) -> Result<(), Failure> {
    lines.iter().try_for_each(print_report)
}

/// Prints the last log of an attempt as it is.
fn copy(args: &Args, log: &Log, task: &TaskSummary) -> Result<(), Failure> {
    let attempt = log.attempt(task, args.attempt)?;
    let newest = attempt.and_then(|attempt| log.agent_logs(task, attempt).pop());
    let none = || OpError::NotFound(format!("there is no log of {}", task.id));
    let path = newest.ok_or_else(none)?.path;
    let file = files::open_own(&path, std::fs::File::options().read(true));
    let mut file = file.map_err(|error| OpError::from(FileError::new("read", &path, error)))?;
    io::copy(&mut file, &mut io::stdout().lock())?;
    Ok(())
}

/// A log that is being shown.
struct Reading {
    log: AgentLog,
    replay: Replay,
    transcript: Transcript,
    layout: Layout,
}

impl Reading {
    fn begin(log: &Log, attempt: &Attempt, agent_log: AgentLog) -> Result<Reading, Failure> {
        let path = &agent_log.path;
        let read = |error| OpError::from(FileError::new("read", path, error));
        let file = log.spec.world.disk.open_own(path).map_err(read)?;
        let who = agent_log.agent.as_deref().map(sanitize::one_line);
        let who = who.map_or_else(String::new, |who| format!(" ({who})"));
        print(format!("\nlog of attempt {}{who}: {}", attempt.place, path.display()))?;
        let has_stream = agent_log.agent.as_deref().is_some_and(|name| NAMES.contains(&name));
        let most = if has_stream { u64::MAX } else { SHOWN };
        let (replay, before) = Replay::of_end(file, most).map_err(read)?;
        if before > 0 {
            print(format!("(the first {before} bytes are left out; `--raw` prints all)"))?;
        }
        let transcript = Transcript::of(agent_log.agent.as_deref());
        Ok(Reading { log: agent_log, replay, transcript, layout: Layout::of_stdout() })
    }

    /// Shows what has been added.
    fn show(&mut self) -> Result<(), Failure> {
        let Reading { log, replay, transcript, layout } = self;
        let mut shown = Ok(());
        let read = replay.read_on(|line| {
            if shown.is_ok() {
                shown = show(&transcript.line(line), *layout);
            }
        });
        read.map_err(|error| OpError::from(FileError::new("read", &log.path, error)))?;
        shown
    }

    /// Shows what nobody has ended.
    fn end(&mut self) -> Result<(), Failure> {
        let Reading { replay, transcript, layout, .. } = self;
        let mut last = Vec::new();
        replay.end(|line| last = transcript.line(line));
        last.extend(transcript.end());
        show(&last, *layout)
    }
}

fn show(pieces: &[Spoken], layout: Layout) -> Result<(), Failure> {
    pieces.iter().try_for_each(|piece| print_lines(&transcript::lines(piece, layout)))
}
