use super::{Answered, counted, print, print_json};
use crate::exit::Exit;
use crate::report::layout::{columns, pad};
use specum_engine::ops::{self, Caller, EpicView, Severity, SpecStatus};

/// Show an epic: its specs, how far they have come, and what is wrong with it
///
/// An epic is a goal that is cut into two to eight specs, with the contracts between
/// them: specs/_epics/<name>/epic.md (docs/epics.md). Errors end with exit code 1,
/// warnings do not.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name of the epic; the active one if left out
    epic: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let view = ops::epic(caller, args.epic.as_deref())?;
    let is_wrong = view.findings.iter().any(|finding| finding.severity == Severity::Error);
    let exit = if is_wrong { Exit::Failed } else { Exit::Done };
    if args.json {
        return print_json(&view, exit);
    }
    let (name, done) = (&view.name, view.completed);
    print(format!("{name}: {done} of {} complete", counted(view.specs.len(), "spec")))?;
    rows(&view).into_iter().try_for_each(print)?;
    for finding in &view.findings {
        let word = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let (path, line, rule) = (&view.path, finding.line, &finding.rule);
        print(format!("{path}:{line}: {word}: {}; {} [{rule}]", finding.message, finding.fix))?;
    }
    if !is_wrong {
        print(next(&view))?;
    }
    Ok(exit)
}

fn rows(view: &EpicView) -> Vec<String> {
    let width = view.specs.iter().map(|spec| columns(&spec.name)).max().unwrap_or(0);
    let row = |spec: &ops::EpicSpec| {
        let status = match spec.status {
            SpecStatus::Pending if spec.planned => "planned",
            SpecStatus::Pending => "no plan yet",
            SpecStatus::InProgress => "in progress",
            SpecStatus::Completed => "complete",
        };
        let boxes = match spec.total {
            0 => String::new(),
            total => format!("{}/{total}", spec.done),
        };
        let needs = match spec.dependencies.as_slice() {
            [] => String::new(),
            needs => format!("needs {}", needs.join(", ")),
        };
        let (name, status) = (pad(&spec.name, width), pad(status, 11));
        format!("  {name}  {status}  {}  {needs}", pad(&boxes, 5)).trim_end().to_owned()
    };
    view.specs.iter().map(row).collect()
}

fn next(view: &EpicView) -> String {
    let name = &view.name;
    let planned = |next: &String| view.specs.iter().any(|spec| spec.name == *next && spec.planned);
    match &view.next {
        _ if !view.approved => {
            format!("next: `specum approve --epic {name}` makes its specs")
        }
        None if view.completed == view.specs.len() => "everything is done".to_owned(),
        None => "no spec can be worked: each needs one that is not complete".to_owned(),
        Some(next) if planned(next) => format!("next: {next}, with `specum run --epic {name}`"),
        Some(next) => format!("next: {next}, which `specum plan {next}` plans"),
    }
}
