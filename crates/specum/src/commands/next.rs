use serde_json::{Value, json};
use specum_core::attempt::Attempt;
use specum_core::hook::Host;
use specum_core::line;
use specum_core::machine::Due;
use specum_core::prompt;
use specum_core::verify::Role;

use super::{hold_for_session, print, print_json, refuse_other_sessions, tell_news, workspace};
use crate::attempt::{By, NextWork, Workspace};
use crate::exit;
use crate::ralph_loop::{self, LoopFileFate};
use crate::session;

/// Open the next task, or group of tasks, and print a brief for each executor
///
/// A brief holds the task, what failed last time, what others learned and the
/// rules. Asked twice without `specum finish` in between, it prints the same
/// again. In a session of Claude Code it prints which sub-agents to call: the
/// plugin's hooks give them their briefs.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name or path; the active spec if left out
    spec: Option<String>,
    /// Print the briefs in a session of Claude Code too
    #[arg(long)]
    brief: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let workspace = workspace(args.spec.as_deref())?;
    workspace.refuse_while_a_run_works()?;
    refuse_other_sessions(&workspace)?;
    hold_for_session(&workspace)?;
    if session::judged_by_hooks().is_none() {
        // A verdict that a host's time limit cut off.
        workspace.judge_reported(By::Verb)?;
    } else if let Some((opened, _)) = workspace.reports()?.first() {
        let id = &opened.key.id;
        print(format!("{id} waits for its verdict: end your turn, specum judges it then."))?;
        return Ok(exit::OK);
    }
    let code = match args {
        Args { json: true, .. } => show_json(&workspace),
        Args { brief: false, .. } if session::current().is_some() => show_calls(&workspace),
        _ => show(&workspace),
    };
    tell_news(&workspace);
    code
}

/// Prints what is due, for a coordinator.
fn show_calls(workspace: &Workspace) -> anyhow::Result<u8> {
    let next = workspace.open()?;
    print(workspace.announced(&next)?.trim_end())?;
    Ok(match next {
        NextWork::Work(_) => {
            print("\nWithout the plugin's hooks: `specum next --brief` prints what to do.")?;
            exit::OK
        }
        NextWork::Complete => exit::OK,
        NextWork::Wait(_) => exit::STOPPED,
    })
}

/// Prints what is due, for people and models.
pub(super) fn show(workspace: &Workspace) -> anyhow::Result<u8> {
    match workspace.open()? {
        NextWork::Work(attempts) if session::host().is_some_and(Host::works_itself) => {
            show_one(workspace, &attempts)
        }
        NextWork::Work(attempts) => {
            for attempt in &attempts {
                let agent = prompt::agent(attempt.role);
                print(format!(
                    "\nDue: task {} for {agent}, attempt {}\n",
                    attempt.key.id, attempt.number
                ))?;
                print(workspace.brief(attempt, attempts.len() > 1)?.trim_end())?;
            }
            print("")?;
            for Attempt { key, role, .. } in &attempts {
                print(how_to_finish(&key.id, role.signal()))?;
            }
            Ok(exit::OK)
        }
        NextWork::Complete => {
            print(format!("\n{}\n\n{}", workspace.all_done(), workspace.last_word()?))?;
            Ok(exit::OK)
        }
        NextWork::Wait(due) => {
            print(format!("\n{}", prompt::waiting(&due)))?;
            if let_go(workspace)? {
                print(AGAIN)?;
            }
            Ok(exit::STOPPED)
        }
    }
}

/// Prints the brief of one task: a model that works itself does them in turn,
/// also where a group was opened for several.
fn show_one(workspace: &Workspace, attempts: &[Attempt]) -> anyhow::Result<u8> {
    let ledger = workspace.store.ledger()?;
    let is_open = |opened: &&Attempt| ledger.reported(&opened.id).is_none();
    let Some(opened) = attempts.iter().find(is_open) else { return Ok(exit::OK) };
    let id = &opened.key.id;
    print(format!("\nDue: task {id} (attempt {})\n", opened.number))?;
    print(workspace.brief(opened, false)?.trim_end())?;
    let signal = opened.role.signal();
    let how = match session::judged_by_hooks() {
        Some(_) => format!(
            "When done, end your turn with {signal} on a line of its own: specum judges it then, \
             ticks and commits."
        ),
        None => how_to_finish(id, signal),
    };
    print(format!("\n{how}"))?;
    Ok(exit::OK)
}

fn how_to_finish(id: &str, signal: &str) -> String {
    format!(
        "When done, say {signal} on a line of its own and pipe the result to `specum finish {id}`."
    )
}

/// How a loop that waited is driven again.
const AGAIN: &str = "The Ralph Loop has ended meanwhile; it begins again with `specum resume`, or \
    `specum implement --driver ralph-loop`.";

/// The Ralph Loop would send its session back into a loop that waits for a
/// person, again and again; so its file goes.
fn let_go(workspace: &Workspace) -> anyhow::Result<bool> {
    Ok(ralph_loop::end(&workspace.spec)? == LoopFileFate::Deleted)
}

fn show_json(workspace: &Workspace) -> anyhow::Result<u8> {
    let (value, code) = match workspace.open()? {
        NextWork::Work(attempts) => {
            let kind = match attempts.as_slice() {
                [Attempt { role: Role::QaEngineer, .. }] => "verify",
                [_] => "task",
                _ => "parallel",
            };
            let tasks: Vec<Value> = attempts
                .iter()
                .map(|attempt| {
                    Ok(json!({
                        "id": attempt.key.id,
                        "title": attempt.key.title,
                        "attempt": attempt.number,
                        "agent": prompt::agent(attempt.role),
                        "block": line::readable(&attempt.block),
                        "brief": workspace.brief(attempt, attempts.len() > 1)?,
                    }))
                })
                .collect::<anyhow::Result<_>>()?;
            (json!({"due": kind, "tasks": tasks}), exit::OK)
        }
        NextWork::Complete => (json!({"due": "complete"}), exit::OK),
        NextWork::Wait(due) => {
            let_go(workspace)?;
            let kind = match due {
                Due::Paused(_) => "paused",
                Due::Blocked(_) => "blocked",
                Due::Waits(_) => "waits",
                _ => "capped",
            };
            (json!({"due": kind, "message": prompt::waiting(&due)}), exit::STOPPED)
        }
    };
    print_json(&value)?;
    Ok(code)
}
