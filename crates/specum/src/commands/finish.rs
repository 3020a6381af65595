use std::io::Read;
use std::path::PathBuf;

use super::{Answered, Failure, answer, next, print, print_json};
use crate::exit::Exit;
use crate::report::numbers;
use specum_engine::attempt::{self, Workspace};
use specum_engine::files::FileError;
use specum_engine::ops::{self, Caller, DocumentFinish, Finish, OpError, Verdict};

/// Judge the result of a task: verify, tick, commit, go on
///
/// The result is what the executor said at the end, on standard input or in a
/// file. What counts is checked by specum itself. Prints what is next. In a
/// session of Codex or Gemini CLI that calls specum's hooks, the result is only
/// recorded: the hook at the end of the turn judges it.
///
/// At a terminal of your own it judges what you have done by hand, and reads no result:
/// a task that blocks the loop, or any open one. What is uncommitted is the work. If its
/// check passes, it is ticked and committed, and a block is lifted; if not, nothing is
/// counted.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Id of the task, or the document that is planned: requirements, design, tasks
    task: String,
    /// Name or path; the active spec if left out
    #[arg(long)]
    spec: Option<String>,
    /// Read the result from a file instead of standard input
    #[arg(long, value_name = "FILE")]
    result: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The most of a result that is looked at: its end, where the signal stands.
const KEPT_RESULT: usize = 16 * 1024 * 1024;
/// How much is read before it is cut.
const MAX_RESULT: u64 = 16 * 1024 * 1024;

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let workspace = caller.workspace(args.spec.as_deref())?;
    if let Some(doc) = ops::planned_document(&workspace, &args.task)? {
        let finish = ops::finish_document(caller, &workspace, doc)?;
        let exit = if finish.passed { Exit::Done } else { Exit::Failed };
        if args.json {
            print_json(&finish, exit)?;
        } else {
            show_document(&finish)?;
            next::show_what_is_due(&workspace)?;
        }
        caller.tell_news(&workspace);
        return Ok(exit);
    }
    if args.result.is_none() && caller.is_a_person_at_a_terminal() {
        return by_hand(args, caller, &workspace);
    }
    let finish = ops::finish(caller, &workspace, &args.task, || read_result(args))?;
    let verdict = match &finish {
        Finish::Judgement(verdict) => verdict,
        Finish::Document(finish) => return print_json(finish, Exit::Done),
        Finish::Recorded(recorded) => {
            return answer(args.json, recorded, |recorded| {
                format!(
                    "{}: the result is recorded. End your turn now: specum runs the check, ticks \
                     and commits then, and says what is next.",
                    recorded.task
                )
            });
        }
    };
    let exit = exit(verdict);
    if args.json {
        print_json(verdict, exit)?;
    } else {
        show(verdict)?;
        next::show_what_is_due(&workspace)?;
    }
    caller.tell_news(&workspace);
    Ok(exit)
}

/// Judges what a person has done by hand. Nothing new is opened for them.
fn by_hand(args: &Args, caller: &Caller<'_>, workspace: &Workspace) -> Answered {
    let verdict = ops::finish_by_hand(caller, workspace, &args.task)?;
    let exit = exit(&verdict);
    if args.json {
        print_json(&verdict, exit)?;
    } else {
        show(&verdict)?;
        match () {
            () if workspace.is_complete() => print(ops::completion(workspace)?)?,
            () if verdict.passed => print("`specum run` goes on with what is open.")?,
            () if verdict.waits.is_some() => {}
            () => print(format!(
                "Your changes stay as they are. Fix it and say `specum finish {id}` again, or let \
                 an agent try: `specum retry {id}`, then `specum run`.",
                id = verdict.shown
            ))?,
        }
    }
    caller.tell_news(workspace);
    Ok(exit)
}

fn exit(verdict: &Verdict) -> Exit {
    match verdict.waits {
        _ if verdict.passed => Exit::Done,
        Some(_) => Exit::Stopped,
        None => Exit::Failed,
    }
}

fn read_result(args: &Args) -> Result<String, OpError> {
    let bytes = match &args.result {
        Some(path) => std::fs::File::open(path)
            .and_then(end_of)
            .map_err(|error| FileError::new("read", path, error))?,
        None => end_of(std::io::stdin().lock()).map_err(OpError::io("cannot read the result"))?,
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The end of a stream, within bounds.
pub(super) fn end_of(mut stream: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while stream.by_ref().take(MAX_RESULT).read_to_end(&mut bytes)? > 0 {
        bytes.drain(..bytes.len().saturating_sub(KEPT_RESULT));
    }
    Ok(bytes)
}

/// Prints what became of an author's try.
pub(super) fn show_document(finish: &DocumentFinish) -> Result<(), Failure> {
    let (file, attempt) = (&finish.document, finish.attempt);
    if finish.passed {
        print(format!("{file}.md is good (attempt {attempt})"))?;
    } else {
        print(format!("{file}.md is not good yet (attempt {attempt}):"))?;
        finish.findings.iter().try_for_each(|finding| print(format!("- {finding}")))?;
    }
    finish.warnings.iter().try_for_each(|warning| print(format!("  note: {warning}")))
}

/// Prints a verdict.
pub(super) fn show(verdict: &Verdict) -> Result<(), Failure> {
    let id = &verdict.shown;
    if let Some(question) = &verdict.waits {
        print(format!("{id} waits for you: {question}"))?;
        if let Some(kept) = &verdict.kept {
            print(format!("its work is kept: {kept}"))?;
        }
    } else if verdict.passed {
        let proof = match verdict.proof.as_str() {
            "none" => "unverified",
            "green-before" => "verified by a check that was green before the work",
            "suite" => "verified by the plan's check alone",
            _ => "verified",
        };
        let commit = match (&verdict.commit, &verdict.not_committed) {
            (Some(id), _) => {
                let changes = verdict.changes.as_ref().filter(|counts| counts.files > 0);
                let changes = changes.map_or_else(String::new, |counts| {
                    let counts = numbers::changes(counts.files, counts.added, counts.removed);
                    format!(", {counts}")
                });
                format!("commit {}{changes}", &id[..id.len().min(12)])
            }
            (None, None) => "nothing to commit".into(),
            (None, Some(why)) => format!("not committed ({why})"),
        };
        print(format!("{id} passed: {proof}, ticked, {commit}"))?;
        if !verdict.outside.is_empty() {
            print(format!("outside its Files: {}", verdict.outside.join(", ")))?;
        }
        if !verdict.proofs.is_empty() {
            print(format!("changed {}, which its check runs", verdict.proofs.join(", ")))?;
        }
    } else if !verdict.added.is_empty() {
        print(format!("{id} asked for {}, which come first", verdict.added.join(", ")))?;
    } else {
        print(format!("{id} failed (attempt {}):", verdict.place))?;
        verdict.failures.iter().try_for_each(|failure| print(format!("- {failure}")))?;
        if !verdict.output.is_empty() {
            print(format!("\nThe output ended with:\n{}", verdict.output.trim_end()))?;
        }
    }
    if !verdict.unticked.is_empty() {
        print(attempt::taken_back_in_words(&verdict.unticked))?;
    }
    verdict.signals.iter().try_for_each(print)
}
