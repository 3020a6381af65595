//! `specum run --all` and `--epic`: one spec after the other, in one tree.

use std::collections::BTreeSet;

use super::super::{Answered, complain, print};
use super::{Args, Failure, GivenFlags, work_one};
use crate::exit::Exit;
use specum_engine::ops::{self, Caller, EpicNext};
use specum_engine::project::Spec;

/// Works every spec with open tasks.
pub(super) fn all(args: &Args, typed: GivenFlags, caller: &Caller<'_>) -> Answered {
    let specs = ops::open_specs(caller, args.optional)?;
    if specs.is_empty() && !args.json {
        print("no spec has an open task")?;
    }
    let mut worst = Exit::Done;
    for (at, spec) in specs.iter().enumerate() {
        say(args, format!("{} of {}: {}", at + 1, specs.len(), spec.name))?;
        let exit = work(args, typed, caller, spec)?;
        if exit != Exit::Done {
            worst = exit;
            if !goes_on(args, caller, exit)? {
                break;
            }
        }
    }
    Ok(worst)
}

/// Works the specs of an epic, each once those that it needs are complete.
pub(super) fn epic(
    args: &Args,
    named: Option<&str>,
    typed: GivenFlags,
    caller: &Caller<'_>,
) -> Answered {
    let (mut passed_over, mut planned) = (BTreeSet::new(), BTreeSet::new());
    let mut worst = Exit::Done;
    loop {
        let (view, next) = ops::epic_next(caller, named, &passed_over)?;
        let of = format!("{}: {} of {} complete", view.name, view.completed, view.specs.len());
        let (name, exit) = match next {
            EpicNext::Complete => {
                say(args, of)?;
                return Ok(Exit::Done);
            }
            // What was passed over has said why.
            EpicNext::Waiting(_) if worst != Exit::Done => return Ok(worst),
            EpicNext::Waiting(open) => {
                complain(format!("{of}; nothing can be worked of {}", open.join(", ")));
                return Ok(Exit::Stopped);
            }
            EpicNext::Plan(name) if args.auto && planned.insert(name.clone()) => {
                say(args, format!("{of}, planning {name}"))?;
                let exit = plan(args, caller, &name)?;
                (name, exit)
            }
            EpicNext::Plan(name) => {
                complain(format!(
                    "{of}; {name} comes next and has no plan: `specum plan {name}` has one \
                     written, and `specum run --epic --auto` each when its turn comes"
                ));
                (name, Exit::Stopped)
            }
            EpicNext::Work(spec) => {
                say(args, format!("{of}, now {}", spec.name))?;
                let exit = work(args, typed, caller, &spec)?;
                (spec.name, exit)
            }
        };
        // A dry run completes nothing, so it shows each spec once.
        if exit != Exit::Done || args.dry_run {
            passed_over.insert(name);
        }
        if exit != Exit::Done {
            worst = exit;
            if !goes_on(args, caller, exit)? {
                return Ok(worst);
            }
        }
        if args.dry_run {
            return Ok(worst);
        }
    }
}

/// Has one spec planned by the agents that work, without asking anybody.
fn plan(args: &Args, caller: &Caller<'_>, name: &str) -> Answered {
    let mut line = vec!["plan".to_owned(), name.to_owned(), "--quick".to_owned()];
    if !args.agent.is_empty() {
        line.push(format!("--agent={}", args.agent.join(",")));
    }
    let valued = [("--agent-command", &args.agent_command), ("--model", &args.model)];
    for (option, value) in valued {
        line.extend(value.iter().map(|value| format!("{option}={value}")));
    }
    if args.json {
        line.push("--json".to_owned());
    }
    super::super::plan::run_line(&line, caller)
}

/// Works one spec. What keeps it from being begun is told, and is its end.
fn work(args: &Args, typed: GivenFlags, caller: &Caller<'_>, spec: &Spec) -> Answered {
    match work_one(args, typed, caller, Some(&spec.shown)) {
        Err(failure) if keeps_going(args, caller)? => {
            complain(&failure);
            Ok(Exit::from(failure.kind()))
        }
        ended => ended,
    }
}

/// Whether another spec is taken after one has ended like this. A person who has ended
/// one has ended all.
fn goes_on(args: &Args, caller: &Caller<'_>, exit: Exit) -> Result<bool, Failure> {
    Ok(!matches!(exit, Exit::Signal(_)) && keeps_going(args, caller)?)
}

fn keeps_going(args: &Args, caller: &Caller<'_>) -> Result<bool, Failure> {
    match args.keep_going {
        Some(typed) => Ok(typed),
        None => Ok(caller.project()?.settings.run.keep_going.unwrap_or(false)),
    }
}

/// A line for a person. A program reads events alone.
fn say(args: &Args, text: String) -> Result<(), Failure> {
    if args.json { Ok(()) } else { print(text) }
}
