use super::{Answered, print, print_json};
use crate::exit::Exit;
use specum_engine::ops::{self, Caller, Trace, TracedRequirement, TracedTask};

/// Show what each requirement has come to
///
/// For every requirement: its criteria, the components and the tasks that are there for
/// it, and what proves them. Then what stands on something that has changed since it was
/// recorded. Ends with exit code 6 if --stale is given and anything is stale.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name or path of a spec; the active spec if left out
    pub(super) spec: Option<String>,
    /// Show only what is stale
    #[arg(long)]
    stale: bool,
    /// Record what each part stands on as it is now: nothing is stale afterwards
    #[arg(long)]
    rebuild: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let trace = ops::trace(caller, args.spec.as_deref(), args.rebuild)?;
    let exit = match args.stale && !trace.stale.is_empty() {
        true => Exit::Stopped,
        false => Exit::Done,
    };
    if args.json {
        return print_json(&trace, exit);
    }
    if !args.stale {
        print(head(&trace))?;
        trace.requirements.iter().try_for_each(|one| print(row(one)))?;
    }
    for stale in &trace.stale {
        let because = stale.because.join(", ");
        let place = format!("{}:{}", stale.document, stale.line);
        print(format!("{place}: {} is stale: {because} has changed since", stale.name))?;
    }
    if args.stale && trace.stale.is_empty() {
        print("nothing is stale")?;
    }
    if !trace.recorded {
        print("what each part stands on is not recorded: `specum trace --rebuild` does that")?;
    }
    Ok(exit)
}

fn head(trace: &Trace) -> String {
    let count = trace.requirements.len();
    let (name, covered, proven) = (&trace.name, trace.covered, trace.proven);
    format!("{name}  {covered} of {count} requirements covered, {proven} proven")
}

fn row(one: &TracedRequirement) -> String {
    let what = one.measure.as_ref().or(one.priority.as_ref()).map_or("", String::as_str);
    let tasks: Vec<String> = one.tasks.iter().map(task).collect();
    let tasks = if tasks.is_empty() { "no task".to_owned() } else { tasks.join(", ") };
    let parts = [one.criteria.join(" "), one.components.join(" "), tasks];
    let parts = parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>();
    format!("{:<7} {what:<8} {}", one.id, parts.join("  "))
}

fn task(task: &TracedTask) -> String {
    let name = &task.task;
    let commit =
        task.commit.as_deref().map(|commit| format!(" {}", &commit[..commit.len().min(7)]));
    match (task.done, task.checked) {
        (true, true) => {
            let proof = match task.proof.as_deref() {
                Some("red-green") => " red→green",
                Some("earlier") => " red when it was planned",
                Some("guard") => " a guard",
                _ => "",
            };
            format!("{name} ✓{}{proof}", commit.unwrap_or_default())
        }
        (true, false) if task.proof.as_deref() == Some("green-before") => {
            format!("{name} ✓{} green before the work", commit.unwrap_or_default())
        }
        (true, false) => format!("{name} ✓{} not checked", commit.unwrap_or_default()),
        (false, _) if task.check.is_some() => format!("{name} open"),
        (false, _) => format!("{name} open, without a check"),
    }
}
