use super::{Answered, print, print_json};
use crate::exit::Exit;
use specum_engine::ops::{self, Caller, Severity};

/// Look for mistakes in a tasks.md
///
/// Shows which commands will be run to check each open task, then what is wrong.
/// Errors end with exit code 1, warnings do not.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name or path of a spec, or a file; the active spec if left out
    spec: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let check = ops::check(caller, args.spec.as_deref())?;
    let is_error = |finding: &&ops::PlanFinding| finding.severity == Severity::Error;
    let errors = check.findings.iter().filter(is_error).count();
    let exit = if errors == 0 { Exit::Done } else { Exit::Failed };
    if args.json {
        return print_json(&check, exit);
    }
    let path = &check.path;
    for task in &check.checks {
        let why = if task.on_record { WAITS } else { "" };
        let (line, id, shown) = (task.line, &task.task, &task.shown);
        print(format!("{path}:{line}: check: {id} by {shown}{why}"))?;
    }
    for finding in &check.findings {
        let word = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        print(format!("{path}:{}: {word}: {}", finding.line, finding.message))?;
    }
    let warnings = check.findings.len() - errors;
    let counts = [(check.tasks, "task"), (errors, "error"), (warnings, "warning")];
    let counts =
        counts.map(|(count, what)| format!("{count} {what}{}", if count == 1 { "" } else { "s" }));
    print(counts.join(", "))?;
    Ok(exit)
}

/// Said behind a check that is not the one in the plan.
const WAITS: &str = ", the check on record: the plan's waits for `specum accept`";
