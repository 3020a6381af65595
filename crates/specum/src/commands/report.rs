use std::path::{Path, PathBuf};

use super::{Answered, print, print_json};
use crate::exit::Exit;
use specum_engine::ops::{self, Caller, OpError, ReportRequest};
use specum_engine::process;
use specum_engine::project::Spec;
use specum_engine::report::{self, Form, Length};

/// Write down what became of a loop: a page to look at, Markdown, or JUnit
///
/// The page is one file that loads nothing: what to look at first, what happened when,
/// and for each task its attempts, what proves it, and what changed. It may be made at any
/// time, also while a run works. Without -o it goes into specum's own state folder, where
/// only you can read it; Markdown and JUnit are printed.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name or path of a spec; the active spec if left out
    spec: Option<String>,
    /// The form [default: by the ending of the file, or html]
    #[arg(long, value_name = "FORM")]
    format: Option<FormName>,
    /// Write it into this file; `-` prints it
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Open it in a browser
    #[arg(long)]
    open: bool,
    /// Leave out what is nobody else's business: the words of agents, and the paths and
    /// the name of this machine's user
    #[arg(long)]
    share: bool,
    /// Tell of earlier loops too
    #[arg(long)]
    all: bool,
    /// Keep Markdown short enough for the body of a pull request
    #[arg(long)]
    brief: bool,
    /// Print where it is as JSON
    #[arg(long)]
    json: bool,
}

/// The form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FormName {
    /// A page
    Html,
    /// Markdown
    Md,
    /// JUnit's XML
    Junit,
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let file = args.output.as_deref().filter(|file| *file != Path::new("-"));
    let form = match args.format {
        Some(FormName::Html) => Form::Html,
        Some(FormName::Md) => Form::Markdown(Length::Full),
        Some(FormName::Junit) => Form::Junit,
        None => file.map_or(Form::Html, by_ending),
    };
    let form = match (form, args.brief) {
        (Form::Markdown(_), true) => Form::Markdown(Length::Brief),
        (_, true) => return Err(OpError::Usage("--brief is for `--format md`".into()).into()),
        (form, false) => form,
    };
    let is_printed = args.output.is_some() && file.is_none()
        || args.output.is_none() && form != Form::Html && !args.open && !args.json;
    let request = ReportRequest { all: args.all, share: args.share };
    let (spec, report) = ops::report(caller, args.spec.as_deref(), request)?;
    if is_printed {
        print(report::render(&report, form, &jiff::tz::TimeZone::system()).trim_end())?;
        return Ok(Exit::Done);
    }
    let written = ops::write_report(&spec, &report, form, file)?;
    match args.json {
        true => drop(print_json(&written, Exit::Done)?),
        false => print(&written.file)?,
    }
    if args.open {
        let opened = process::open_in_browser(Path::new(&written.file));
        opened.map_err(|error| OpError::NotFound(error.to_string()))?;
    }
    Ok(Exit::Done)
}

/// The form that the name of a file asks for.
fn by_ending(file: &Path) -> Form {
    match file.extension().and_then(|ending| ending.to_str()) {
        Some("md" | "markdown") => Form::Markdown(Length::Full),
        Some("xml") => Form::Junit,
        _ => Form::Html,
    }
}

/// Refuses a file for the report of a run that could not be written at its end.
pub(super) fn refuse_unwritable(file: Option<&Path>) -> Result<(), OpError> {
    let Some(file) = file else { return Ok(()) };
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder.is_some_and(|folder| !folder.is_dir()) || file.is_dir() {
        true => Err(OpError::Usage(format!(
            "--report {}: that is no file in a folder that there is",
            file.display()
        ))),
        false => Ok(()),
    }
}

/// Writes the report of a run, however it has ended. A run is not worth less without.
pub(super) fn of_run(spec: &Spec, file: &Path, caller: &Caller<'_>) {
    let report = ops::report_of(spec, ReportRequest::default());
    let written =
        report.and_then(|report| ops::write_report(spec, &report, by_ending(file), Some(file)));
    if let Err(error) = written {
        caller.warn(format!("the report is not written: {error}"));
    }
}
