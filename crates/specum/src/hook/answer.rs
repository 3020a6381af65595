//! `specum hook post-tool-use`: the verdict, and what is next, as the result of
//! a coordinator's call, so that it goes on within its turn.

use serde_json::json;
use specum_core::hook::Input;
use specum_core::journal::{Entry, Record};
use specum_core::line;

use super::active_spec;
use super::agent::is_agent_call;
use crate::attempt::{AttemptError, Delegation, History, Workspace};

pub(super) fn after_call(input: &Input) -> Option<String> {
    if !is_agent_call(input) {
        return None;
    }
    let (project, spec) = active_spec(&input.cwd)?;
    let workspace = super::agent::opened(&project, spec)?;
    let journal = workspace.store.read_journal().ok()?;
    let delegation = History(&journal).delegated(input.tool_use_id.as_deref()?)?;
    let text = match outcome(&workspace, input, &journal, &delegation) {
        Ok(text) => text,
        Err(error) => format!("specum: {error}\n"),
    };
    // Everything else as it came, if there is anything else.
    let mut response = input.tool_response.clone();
    if !response.is_object() {
        response = json!({});
    }
    response["content"] = json!([{"type": "text", "text": text}]);
    let answer = json!({"hookEventName": "PostToolUse", "updatedToolOutput": response});
    Some(json!({"hookSpecificOutput": answer}).to_string() + "\n")
}

fn outcome(
    workspace: &Workspace,
    input: &Input,
    journal: &[Record],
    delegation: &Delegation,
) -> Result<String, AttemptError> {
    let id = &delegation.task.id;
    let Some(round) = Round::of(journal, delegation) else {
        return without_verdict(workspace, input, journal, id);
    };
    if round.verdicts.len() > 1 && round.last_reported != Some(id.as_str()) {
        return Ok(format!("Task {id} has ended; see the last of the group.\n"));
    }
    let verdicts: String = round.verdicts.into_iter().map(|(_, text)| text).collect();
    Ok(format!("{verdicts}\n{}", workspace.announce()?))
}

fn without_verdict(
    workspace: &Workspace,
    input: &Input,
    journal: &[Record],
    id: &str,
) -> Result<String, AttemptError> {
    let history = History(journal);
    let reported = workspace.opened(id).ok().and_then(|opened| history.reported(&opened));
    if reported.is_none() {
        return Ok(lost(input, id));
    }
    // The judge comes with the last report, and has ended when its call has.
    let was_last = history.last_reported() == Some(id) && !workspace.reports()?.is_empty();
    Ok(if was_last {
        format!(
            "Task {id} has ended, and its verdict was cut off. Run `specum next`: it makes the \
             verdict and says what is due.\n"
        )
    } else {
        format!("Task {id} has ended; its verdict comes with the last of the group.\n")
    })
}

/// A call that ended without anybody having judged it: the host's API failed,
/// or a limit of turns was reached. No failed attempt.
fn lost(input: &Input, id: &str) -> String {
    let content = input.tool_response["content"].as_array();
    let said = content.and_then(|blocks| blocks.iter().find_map(|block| block["text"].as_str()));
    let said = line::head(said.unwrap_or("nothing"), 300);
    format!(
        "Task {id} ended without a verdict, which counts as no attempt. It said: {said}\n\nCall \
         the Agent tool again with the prompt `task {id}`.\n"
    )
}

/// What was opened together and has its verdicts.
struct Round<'a> {
    /// Each task with its verdict in words.
    verdicts: Vec<(&'a str, String)>,
    /// The task whose executor was the last one to report.
    last_reported: Option<&'a str>,
}

impl<'a> Round<'a> {
    /// The round of an attempt; `None` as long as it has no verdict.
    fn of(journal: &'a [Record], attempt: &Delegation) -> Option<Round<'a>> {
        let begins = |record: &Record| {
            matches!(record.entry, Entry::Opened { .. } | Entry::Completed { .. })
        };
        let at = journal.iter().rposition(|record| is_verdict(&record.entry, attempt))?;
        let begin = journal[..at].iter().rposition(begins).map_or(0, |n| n + 1);
        let end = journal[at..].iter().position(begins).map_or(journal.len(), |n| at + n);
        let records = &journal[begin..end];
        let mut verdicts: Vec<(&str, String)> = Vec::new();
        for record in records {
            let Some((id, text)) = in_words(&record.entry, records) else { continue };
            // A commit that git refuses makes a failure of what had passed.
            verdicts.retain(|(known, _)| *known != id);
            verdicts.push((id, text));
        }
        let last_reported = History(records).last_reported();
        Some(Round { verdicts, last_reported })
    }
}

fn is_verdict(entry: &Entry, of: &Delegation) -> bool {
    match entry {
        Entry::Passed { task, attempt, .. } | Entry::Failed { task, attempt, .. } => {
            task.id == of.task.id && *attempt == of.attempt
        }
        _ => false,
    }
}

fn in_words<'a>(entry: &'a Entry, records: &[Record]) -> Option<(&'a str, String)> {
    match entry {
        Entry::Passed { task, unverified, .. } => {
            let id = task.id.as_str();
            let proof = if *unverified { "unverified" } else { "verified" };
            let committed = records.iter().any(
                |record| matches!(&record.entry, Entry::Committed { task, .. } if task.id == id),
            );
            let commit = if committed { ", committed" } else { "" };
            Some((id, format!("Task {id} passed: {proof}, ticked{commit}.\n")))
        }
        Entry::Failed { task, attempt, reasons, .. } => {
            let reasons = line::head(&reasons.join("; "), 500).to_owned();
            let id = task.id.as_str();
            Some((id, format!("Task {id} failed (attempt {attempt}): {reasons}\n")))
        }
        _ => None,
    }
}
