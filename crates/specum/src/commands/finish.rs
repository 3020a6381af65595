use std::io::Read;
use std::path::PathBuf;

use anyhow::Context;
use serde_json::json;
use specum_core::completion;
use specum_core::machine::Signal;

use super::{hold_for_session, next, print, print_json, tell_news, warn_if_held, workspace};
use crate::attempt::{self, By, Judgement, Workspace};
use crate::exit;
use crate::session;

/// Judge the result of a task: verify, tick, commit, go on
///
/// The result is what the executor said at the end, on standard input or in a
/// file. What counts is checked by specum itself. Prints what is next. In a
/// session of Codex or Gemini CLI that calls specum's hooks, the result is only
/// recorded: the hook at the end of the turn judges it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Id of the task
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

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let workspace = workspace(args.spec.as_deref())?;
    warn_if_held(&workspace.store);
    hold_for_session(&workspace)?;
    let opened = workspace.opened(&args.task)?;
    if let Some(session) = session::judged_by_hooks() {
        workspace.report(&opened, &read_result(args)?, &session)?;
        return recorded(&opened.key.id, args.json);
    }
    let judged = workspace.judge(&opened, &read_result(args)?, By::Verb)?;
    if args.json {
        print_json(&as_json(&judged))?;
    } else {
        show(&workspace, &judged)?;
    }
    tell_news(&workspace);
    Ok(if judged.passed() {
        exit::OK
    } else if judged.question.is_some() {
        exit::STOPPED
    } else {
        exit::FAILED
    })
}

/// Where a command cannot commit, the host's hook judges: it is called outside
/// the sandbox, with the person's own configuration.
fn recorded(id: &str, as_json: bool) -> anyhow::Result<u8> {
    if as_json {
        print_json(&json!({"task": id, "recorded": true}))?;
    } else {
        print(format!(
            "{id}: the result is recorded. End your turn now: specum runs the check, ticks and \
             commits then, and says what is next."
        ))?;
    }
    Ok(exit::OK)
}

fn read_result(args: &Args) -> anyhow::Result<String> {
    let bytes = match &args.result {
        Some(path) => std::fs::File::open(path)
            .and_then(end_of)
            .with_context(|| format!("cannot read {}", path.display()))?,
        None => end_of(std::io::stdin().lock()).context("cannot read the result")?,
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

/// Prints a verdict, and what is next.
pub(super) fn show(workspace: &Workspace, judged: &Judgement) -> anyhow::Result<()> {
    let id = judged.key.shown();
    if let Some(question) = &judged.question {
        print(format!("{id} waits for you: {question}"))?;
        if let Some(kept) = &judged.kept {
            print(format!("its work is kept: {kept}"))?;
        }
    } else if judged.verdict.passed() {
        let proof = if judged.verdict.unverified { "unverified" } else { "verified" };
        let commit = match (&judged.commit, &workspace.git) {
            (Some(id), _) => format!("commit {}", &id[..id.len().min(12)]),
            (None, Ok(_)) => "nothing to commit".into(),
            (None, Err(why)) => {
                format!("not committed ({})", why.lines().next().unwrap_or_default())
            }
        };
        print(format!("{id} passed: {proof}, ticked, {commit}"))?;
        if !judged.verdict.outside.is_empty() {
            print(format!("outside its Files: {}", judged.verdict.outside.join(", ")))?;
        }
        if !judged.verdict.proofs.is_empty() {
            print(format!("changed {}, which its check runs", judged.verdict.proofs.join(", ")))?;
        }
    } else {
        print(format!("{id} failed (attempt {}):", judged.attempt))?;
        for failure in &judged.verdict.failures {
            print(format!("- {}", failure.message))?;
        }
        if !judged.output.is_empty() {
            print(format!("\nThe output ended with:\n{}", judged.output.trim_end()))?;
        }
    }
    if !judged.unticked.is_empty() {
        print(attempt::told(&judged.unticked))?;
    }
    for signal in &judged.signals {
        match signal {
            Signal::TaskComplete => print(completion::TASK_COMPLETE)?,
            Signal::BatchComplete => print("BATCH_COMPLETE")?,
            Signal::AllTasksComplete | Signal::Blocked => {}
        }
    }
    next::show(workspace)?;
    Ok(())
}

pub(super) fn as_json(judged: &Judgement) -> serde_json::Value {
    json!({
        "task": judged.key.id,
        "attempt": judged.attempt,
        "passed": judged.passed(),
        "waits": judged.question,
        "unverified": judged.verdict.unverified,
        "failures": judged.verdict.failures.iter().map(|f| f.message.as_str()).collect::<Vec<_>>(),
        "unticked": judged.unticked,
        "outside": judged.verdict.outside,
        "proofs": judged.verdict.proofs,
        "commit": judged.commit,
        "output": judged.output,
    })
}
