use std::path::PathBuf;

use specum_core::authoring::Profile;
use specum_core::prompt::{SpecName, planning};

use super::{Answered, next, plan, print};
use crate::exit::Exit;
use specum_engine::attempt::Workspace;
use specum_engine::ops::{self, Caller, PlanRequest};
use specum_engine::session;

/// Plan a spec in a host's session, from a goal to its tasks
///
/// Writes down what you want, word for word, and says which document is due. The session
/// has each document written, specum checks it, and you agree to it or say what is to
/// change. Without a goal it goes on with the spec that is named, or the active one.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What is to be done; a name may stand in front
    goal: Vec<String>,
    /// Read what is to be done from a file, or from standard input if it is -
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// tasks.md alone
    #[arg(long, conflicts_with = "full")]
    small: bool,
    /// research.md in front of the others
    #[arg(long)]
    full: bool,
    /// Ask nothing, and go on into the work
    #[arg(long)]
    quick: bool,
    /// End with the plan
    #[arg(long)]
    plan_only: bool,
    /// Do not commit the documents
    #[arg(long)]
    no_commit_spec: bool,
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let (name, goal) = plan::name_and_goal(&args.goal, args.from.as_ref(), caller)?;
    let profile = match (args.small, args.full) {
        (true, _) => Some(Profile::Small),
        (_, true) => Some(Profile::Full),
        _ => None,
    };
    let request = PlanRequest {
        name,
        goal,
        profile,
        quick: args.quick,
        plan_only: args.plan_only,
        commits: args.no_commit_spec.then_some(false),
    };
    let (_, workspace, begun) = ops::begin_plan(caller, &request)?;
    if session::current().is_none() {
        print(format!("{}: {} ({})", begun.name, begun.path, begun.profile))?;
    }
    show(caller, &workspace)
}

/// Prints what is due in a planning: for a coordinator, with its rules.
pub(super) fn show(caller: &Caller<'_>, workspace: &Workspace) -> Answered {
    if session::current().is_none() {
        return next::show_next(caller, workspace);
    }
    let due = ops::next(caller, workspace)?;
    let spec = SpecName { name: &workspace.spec.name, path: &workspace.spec.shown };
    print(planning::coordinator(spec))?;
    print(due.for_coordinator().trim_end())?;
    Ok(Exit::Done)
}
