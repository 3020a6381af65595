use specum_core::hook::Host;

use super::{Answered, Failure, plan, print, print_json};
use crate::exit::Exit;
use specum_engine::attempt::Workspace;
use specum_engine::ops::{self, Caller, DueDocument, DueTask, DueWork, LoopFile};
use specum_engine::ports::World;
use specum_engine::session;

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

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let workspace = caller.workspace(args.spec.as_deref())?;
    let next = ops::next(caller, &workspace)?;
    let exit = exit(&next);
    match &next {
        next if args.json => return print_json(next, exit),
        DueWork::Verdict { .. } => print(next.for_coordinator())?,
        next if !args.brief && session::current().is_some() => show_calls(next)?,
        next => show(caller.world, next)?,
    }
    Ok(exit)
}

fn exit(next: &DueWork) -> Exit {
    match next {
        DueWork::Task { .. }
        | DueWork::Verify { .. }
        | DueWork::Parallel { .. }
        | DueWork::Complete { .. }
        | DueWork::ChosenDone(_)
        | DueWork::Document { .. }
        | DueWork::Planned(_)
        | DueWork::Verdict { .. } => Exit::Done,
        DueWork::Approval { .. }
        | DueWork::Paused(_)
        | DueWork::Blocked(_)
        | DueWork::Waits(_)
        | DueWork::Capped(_) => Exit::Stopped,
    }
}

/// Opens what is due and prints it, behind what another verb has said.
pub(super) fn show_what_is_due(workspace: &Workspace) -> Answered {
    let next = ops::open(workspace)?;
    show(workspace.world(), &next)?;
    Ok(exit(&next))
}

/// The same for a caller who asks for work.
pub(super) fn show_next(caller: &Caller<'_>, workspace: &Workspace) -> Answered {
    let next = ops::next(caller, workspace)?;
    show(workspace.world(), &next)?;
    Ok(exit(&next))
}

/// Prints what is due, for a coordinator.
fn show_calls(next: &DueWork) -> Result<(), Failure> {
    print(next.for_coordinator().trim_end())?;
    match next {
        DueWork::Task { .. }
        | DueWork::Verify { .. }
        | DueWork::Parallel { .. }
        | DueWork::Document { .. } => {
            print("\nWithout the plugin's hooks: `specum next --brief` prints what to do.")
        }
        _ => Ok(()),
    }
}

/// Prints what is due, for people and models.
fn show(world: &World, next: &DueWork) -> Result<(), Failure> {
    match next {
        DueWork::Task { tasks } | DueWork::Verify { tasks } | DueWork::Parallel { tasks } => {
            match session::host().is_some_and(Host::works_itself) {
                true => show_one(world, tasks),
                false => show_all(tasks),
            }
        }
        DueWork::Complete { message, say } => print(format!("\n{message}\n\n{say}")),
        DueWork::Document { document } => {
            let DueDocument { document, file, attempt, agent, brief } = document;
            print(format!("\nDue: {file} for {agent}, attempt {attempt}\n"))?;
            print(brief.trim_end())?;
            print(format!("\nWhen it is written, run `specum finish {document}`."))
        }
        DueWork::Approval { approval, message } => {
            print(format!("\n{message}"))?;
            plan::show_waiting(approval)
        }
        DueWork::Paused(wait)
        | DueWork::Blocked(wait)
        | DueWork::Waits(wait)
        | DueWork::ChosenDone(wait)
        | DueWork::Planned(wait)
        | DueWork::Capped(wait) => {
            print(format!("\n{}", wait.message))?;
            match wait.loop_file {
                Some(LoopFile::Deleted) => print(AGAIN),
                Some(LoopFile::Kept) | None => Ok(()),
            }
        }
        DueWork::Verdict { .. } => print(next.for_coordinator()),
    }
}

/// Prints the briefs of all tasks, each for an executor of its own.
fn show_all(tasks: &[DueTask]) -> Result<(), Failure> {
    for DueTask { id, agent, place, brief, .. } in tasks {
        print(format!("\nDue: task {id} for {agent}, attempt {place}\n"))?;
        print(brief.trim_end())?;
    }
    print("")?;
    tasks.iter().try_for_each(|task| print(how_to_finish(task)))
}

/// Prints the brief of one task: a model that works itself does them in turn,
/// also where a group was opened for several.
fn show_one(world: &World, tasks: &[DueTask]) -> Result<(), Failure> {
    let Some(task) = tasks.iter().find(|task| !task.reported) else { return Ok(()) };
    let DueTask { id, place, brief, signal, .. } = task;
    print(format!("\nDue: task {id} (attempt {place})\n"))?;
    print(brief.trim_end())?;
    let how = match session::judged_by_hooks(world) {
        Some(_) => format!(
            "When done, end your turn with {signal} on a line of its own: specum judges it then, \
             ticks and commits."
        ),
        None => how_to_finish(task),
    };
    print(format!("\n{how}"))
}

fn how_to_finish(DueTask { id, signal, .. }: &DueTask) -> String {
    format!(
        "When done, say {signal} on a line of its own and pipe the result to `specum finish {id}`."
    )
}

/// How a loop that waited is driven again.
const AGAIN: &str = "The Ralph Loop has ended meanwhile; it begins again with `specum resume`, or \
    `specum implement --driver ralph-loop`.";
