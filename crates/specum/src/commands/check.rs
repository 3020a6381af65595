use super::{Answered, print, print_json};
use crate::exit::Exit;
use specum_engine::ops::{self, Caller, FirstCheck, Severity};

/// Look for mistakes in the documents of a spec
///
/// Shows which commands will be run to check each open task, then what is wrong with
/// tasks.md and with requirements.md, design.md and research.md next to it, by the rules
/// of docs/gates.md. Errors end with exit code 1, warnings do not.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name or path of a spec, or a file; the active spec if left out
    spec: Option<String>,
    /// Judge documents that people have written like those that specum had written
    #[arg(long)]
    strict: bool,
    /// Run the checks now, before the work: one that passes already proves nothing.
    /// `read-only` runs those that are proved to change nothing; `all` runs every one, in
    /// a worktree of the newest commit that is thrown away
    #[arg(
        long, value_name = "WHICH", value_enum, num_args = 0..=1, require_equals = true,
        default_missing_value = "read-only"
    )]
    red: Option<WhichChecks>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Which checks are run before the work.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum WhichChecks {
    /// Those that are proved to change nothing.
    ReadOnly,
    /// Every one.
    All,
}

impl WhichChecks {
    pub(super) fn scope(self) -> ops::RedScope {
        match self {
            WhichChecks::ReadOnly => ops::RedScope::ReadOnly,
            WhichChecks::All => ops::RedScope::All,
        }
    }
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let red = args.red.map(WhichChecks::scope);
    let request = ops::CheckRequest { named: args.spec.as_deref(), strict: args.strict, red };
    let check = ops::check(caller, &request)?;
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
        let fix = finding.fix.as_ref().map(|fix| format!("; {fix}")).unwrap_or_default();
        let rule = finding.rule.as_ref().map(|rule| format!(" [{rule}]")).unwrap_or_default();
        let (file, line, message) = (&finding.file, finding.line, &finding.message);
        print(format!("{file}:{line}: {word}: {message}{fix}{rule}"))?;
    }
    if args.red.is_some() {
        let count = |wanted| check.first_runs.values().filter(|run| **run == wanted).count();
        let (red, green) = (count(FirstCheck::Red), count(FirstCheck::Green));
        let not_run = check.checks.len().saturating_sub(check.first_runs.len());
        print(format!("before the work: {red} red, {green} green, {not_run} not run"))?;
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
