//! Answers to a person: one file for each verb.
//!
//! The doc comment of an `Args` struct is the verb's help. A verb parses its
//! arguments, calls [`specum_engine::ops`], and shows the answer as text or, with `--json`,
//! as it is. What a failure means for the exit code is decided in
//! [`crate::exit`].

mod accept;
mod advice;
mod approve;
mod cancel;
mod change;
mod check;
mod completions;
mod demo;
mod diff;
mod doctor;
mod document;
mod epic;
mod fail;
mod finish;
mod help;
mod implement;
mod import;
mod index;
mod list;
mod log;
mod man;
mod meant;
mod new;
mod next;
mod note;
mod pause;
mod plan;
mod plugin;
mod report;
mod retry;
mod run;
mod schema;
mod serve;
mod skip;
mod start;
mod status;
mod switch;
mod tick;
mod trace;
mod undo;

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use serde::Serialize;
use specum_core::hook::Host;
use specum_core::spec::Doc;
use thiserror::Error;

use crate::exit::Exit;
use crate::hook;
use crate::report::{json, sanitize};
use specum_engine::ops::{Caller, ErrorKind, OpError};
use specum_engine::person::Door;
use specum_engine::ports::World;
use specum_engine::process;
use specum_engine::session::{self, Pending};

/// Runs a written plan to its end
///
/// A plan is a folder `specs/<name>/` with a `tasks.md`, a list of checkboxes.
/// specum hands the tasks to a coding agent, checks each result itself, ticks
/// the box, commits, and goes on until every box is ticked.
#[derive(Debug, Parser)]
#[command(
    name = "specum",
    version,
    disable_version_flag = true,
    after_help = AFTER_HELP,
    disable_help_subcommand = true
)]
struct Cli {
    /// Do everything as if it had been started in this directory
    #[arg(short = 'C', value_name = "DIR", global = true)]
    directory: Option<PathBuf>,
    /// Print the version
    #[arg(short = 'v', visible_short_alias = 'V', long, action = clap::ArgAction::Version)]
    version: Option<bool>,
    /// Without one, specum says what to do next.
    #[command(subcommand)]
    verb: Option<Verb>,
}

const AFTER_HELP: &str = "\
Exit codes: 0 done, 1 failed, 2 wrong call or ambiguous name, 3 not found,
4 corrupt or newer file, 5 held by another process, 6 paused, blocked or capped,
130 interrupted (129 by SIGHUP, 143 by SIGTERM).

Start here: specum demo. How a plan is written: specum help format. Without a
command, specum says what to do next.";

#[derive(Debug, Subcommand)]
enum Verb {
    Demo(demo::Args),
    List(list::Args),
    Switch(switch::Args),
    Status(status::Args),
    Log(log::Args),
    Diff(diff::Args),
    Report(report::Args),
    Serve(serve::Args),
    Check(check::Args),
    Trace(trace::Args),
    Index(index::Args),
    Import(import::Args),
    Epic(epic::Args),
    New(new::Args),
    Plan(Box<plan::Args>),
    Start(start::Args),
    #[command(hide = true)]
    Research(document::Args),
    #[command(hide = true)]
    Requirements(document::Args),
    #[command(hide = true)]
    Design(document::Args),
    #[command(hide = true)]
    Tasks(document::Args),
    Run(Box<run::Args>),
    Implement(implement::Args),
    Next(next::Args),
    Finish(finish::Args),
    Fail(fail::Args),
    Tick(tick::Args),
    Accept(accept::Args),
    Note(note::Args),
    Retry(retry::Args),
    Skip(skip::SkipArgs),
    Unskip(skip::UnskipArgs),
    Undo(undo::Args),
    Approve(approve::Args),
    Change(change::Args),
    Pause(pause::PauseArgs),
    Resume(pause::ResumeArgs),
    Cancel(cancel::Args),
    Doctor(doctor::Args),
    Plugin(plugin::Args),
    Schema(schema::Args),
    Completions(completions::Args),
    Man(man::Args),
    Hook(HookArgs),
    Help(help::Args),
}

/// Answer a host's hook: JSON on standard input, the answer on standard output
///
/// Called by the plugin's hooks, not by people.
#[derive(Debug, clap::Args)]
struct HookArgs {
    /// The event
    #[arg(value_parser = hook::EVENTS)]
    event: String,
}

/// The verbs that are slash commands in a host.
const SESSION_VERBS: [&str; 23] = [
    "start",
    "new",
    "research",
    "requirements",
    "design",
    "tasks",
    "index",
    "trace",
    "implement",
    "cancel",
    "status",
    "pause",
    "resume",
    "switch",
    "tick",
    "accept",
    "note",
    "retry",
    "skip",
    "unskip",
    "undo",
    "approve",
    "help",
];

/// The verbs that are a person's to say, or may be.
const PERSONS_VERBS: [&str; 13] = [
    "tick",
    "accept",
    "resume",
    "implement",
    "cancel",
    "pause",
    "note",
    "retry",
    "skip",
    "unskip",
    "undo",
    "approve",
    "change",
];

/// Whether a verb is a person's to say, or may be.
pub(crate) fn is_persons_verb(verb: &str) -> bool {
    PERSONS_VERBS.contains(&verb)
}

/// Whether a verb is a slash command in a host.
pub(crate) fn is_session_verb(verb: &str) -> bool {
    SESSION_VERBS.contains(&verb)
}

/// Checks the arguments of a verb and gives the spec they name, or says what is
/// wrong with them.
pub(crate) fn named_spec(verb: &str, arguments: &[String]) -> Result<Option<String>, String> {
    if verb == "help" {
        return Ok(None);
    }
    let line = ["specum", verb].into_iter().map(str::to_owned).chain(arguments.iter().cloned());
    let cli = Cli::try_parse_from(line).map_err(|error| error.render().to_string())?;
    Ok(match cli.verb {
        Some(Verb::Implement(args)) => args.spec,
        Some(Verb::Cancel(args)) => args.spec,
        Some(Verb::Status(args)) => args.spec,
        Some(Verb::Pause(args)) => args.spec,
        Some(Verb::Resume(args)) => args.spec,
        Some(Verb::Switch(args)) => Some(args.spec),
        Some(Verb::Tick(args)) => args.spec,
        Some(Verb::Accept(args)) => args.spec,
        Some(Verb::Note(args)) => args.spec,
        Some(Verb::Retry(args)) => args.spec,
        Some(Verb::Skip(args)) => args.spec,
        Some(Verb::Unskip(args)) => args.spec,
        Some(Verb::Undo(args)) => args.spec,
        Some(Verb::Approve(args)) => args.spec,
        Some(Verb::Trace(args)) => args.spec,
        Some(
            Verb::Research(args)
            | Verb::Requirements(args)
            | Verb::Design(args)
            | Verb::Tasks(args),
        ) => args.spec,
        Some(Verb::Change(args)) => args.spec,
        _ => None,
    })
}

/// The command line. Behind `--from-session` stands a verb whose arguments were
/// typed in a host and kept by its hook, because they must not pass through a
/// shell.
fn command_line(world: &World) -> Result<(Vec<std::ffi::OsString>, Door), String> {
    let mut line: Vec<std::ffi::OsString> = std::env::args_os().collect();
    let mut typed = Door::Here;
    if line.len() == 3 && line[1] == "--from-session" {
        line.remove(1);
        let verb = line[1].to_string_lossy().into_owned();
        // Without them the verb would do something else than was typed.
        let pending = session::current()
            .and_then(|id| Pending::take(world, &id, &verb))
            .ok_or_else(|| {
                format!(
                    "the arguments of /ralph-specum:{verb} did not arrive; is the plugin's hook \
                 UserPromptExpansion on? `specum {verb}` does the same in a terminal"
                )
            })?;
        line.extend(pending.arguments.into_iter().map(Into::into));
        typed = Door::InSession;
    }
    Ok((line, typed))
}

/// Runs the program on its command line.
pub fn run() -> ExitCode {
    let world = World::real();
    let (line, typed) = match command_line(&world) {
        Ok(line) => line,
        Err(why) => {
            let _ = writeln!(io::stderr(), "error: {why}");
            return Exit::Usage.into();
        }
    };
    let matches = Cli::command().try_get_matches_from(line).unwrap_or_else(|error| refuse(&error));
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    if let Some(directory) = &cli.directory
        && let Err(error) = std::env::set_current_dir(directory)
    {
        complain(format!("-C {}: {error}", directory.display()));
        return Exit::NotFound.into();
    }
    process::clean_up_when_interrupted();
    let caller = Caller::new(&world, typed, &warn);
    let outcome = match &cli.verb {
        None => advice::run(&world),
        Some(verb) => answer_verb(verb, &matches, &caller),
    };
    match outcome {
        // To the host, an exit code would be a broken command: without a terminal
        // it shows the person nothing at all. The words go to the model instead.
        Ok(_) if typed == Door::InSession => ExitCode::SUCCESS,
        Err(failure) if typed == Door::InSession => match print(refused_in_session(&failure)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => Exit::Failed.into(),
        },
        Ok(exit) => exit.into(),
        // The reader of our output has gone away, which is worth no word.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Exit::Failed.into()
        }
        Err(failure) => {
            if wants_json(&matches) && !matches!(failure, Failure::Reported(_)) {
                // The reader of a closed pipe misses nothing.
                let _ = print(FailureJson::of(&failure).line().trim_end());
            }
            complain(&failure);
            sandbox_hint(&failure, &caller).iter().for_each(complain);
            Exit::from(failure.kind()).into()
        }
    }
}

/// Says what is wrong with a command line, and ends.
fn refuse(error: &clap::Error) -> ! {
    let way = |verb: &String| {
        let definition = definition();
        let known = definition.get_subcommands().map(clap::Command::get_name);
        let slip = || meant::slip_of(verb, known).map(|meant| format!("did you mean `{meant}`?"));
        meant::instead_of(verb).map(str::to_owned).or_else(slip)
    };
    let verb = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(verb)) => way(verb).map(|way| (verb, way)),
        _ => None,
    };
    let Some((verb, way)) = verb else { error.exit() };
    complain(format!("there is no command `{verb}`; {way}"));
    std::process::exit(i32::from(Exit::Usage.code()))
}

fn answer_verb(verb: &Verb, matches: &ArgMatches, caller: &Caller<'_>) -> Answered {
    match verb {
        Verb::Demo(args) => demo::run(args),
        Verb::List(args) => list::run(args, caller),
        Verb::Switch(args) => switch::run(args, caller),
        Verb::Status(args) => status::run(args, caller),
        Verb::Log(args) => log::run(args, caller),
        Verb::Diff(args) => diff::run(args, caller),
        Verb::Report(args) => report::run(args, caller),
        Verb::Serve(args) => serve::run(args),
        Verb::Check(args) => check::run(args, caller),
        Verb::Trace(args) => trace::run(args, caller),
        Verb::Index(args) => index::run(args, caller),
        Verb::Import(args) => import::run(args, caller),
        Verb::Epic(args) => epic::run(args, caller),
        Verb::New(args) => new::run(args, caller),
        Verb::Plan(args) => plan::run(args, caller),
        Verb::Start(args) => start::run(args, caller),
        Verb::Research(args) => document::run(Doc::Research, args, caller),
        Verb::Requirements(args) => document::run(Doc::Requirements, args, caller),
        Verb::Design(args) => document::run(Doc::Design, args, caller),
        Verb::Tasks(args) => document::run(Doc::Tasks, args, caller),
        Verb::Run(args) => run::run(args, run::GivenFlags::of(matches), caller),
        Verb::Implement(args) => implement::run(args, caller),
        Verb::Next(args) => next::run(args, caller),
        Verb::Finish(args) => finish::run(args, caller),
        Verb::Fail(args) => fail::run(args, caller),
        Verb::Tick(args) => tick::run(args, caller),
        Verb::Accept(args) => accept::run(args, caller),
        Verb::Note(args) => note::run(args, caller),
        Verb::Retry(args) => retry::run(args, caller),
        Verb::Skip(args) => skip::skip(args, caller),
        Verb::Unskip(args) => skip::unskip(args, caller),
        Verb::Undo(args) => undo::run(args, caller),
        Verb::Approve(args) => approve::run(args, caller),
        Verb::Change(args) => change::run(args, caller),
        Verb::Pause(args) => pause::pause(args, caller),
        Verb::Resume(args) => pause::resume(args, caller),
        Verb::Cancel(args) => cancel::run(args, caller),
        Verb::Doctor(args) => doctor::run(args, caller),
        Verb::Plugin(args) => plugin::run(args, caller),
        Verb::Schema(args) => schema::run(args),
        Verb::Completions(args) => completions::run(args, caller),
        Verb::Man(args) => man::run(args),
        Verb::Hook(args) => Ok(hook::run(&args.event)),
        Verb::Help(args) => help::run(args),
    }
}

/// Whether a verb, or the verb below it, was given `--json`.
fn wants_json(matches: &ArgMatches) -> bool {
    matches.subcommand().is_some_and(|(_, verb)| {
        matches!(verb.try_get_one("json"), Ok(Some(true))) || wants_json(verb)
    })
}

/// How a verb ends.
type Answered = Result<Exit, Failure>;

/// Why a verb gave no answer.
#[derive(Debug, Error)]
enum Failure {
    /// The operation failed.
    #[error(transparent)]
    Op(#[from] OpError),
    /// The answer could not be printed.
    #[error(transparent)]
    Output(#[from] io::Error),
    /// A host could not be changed.
    #[error("{0:#}")]
    Plugin(#[from] anyhow::Error),
    /// A run failed, and its report says so on standard output.
    #[error(transparent)]
    Reported(Box<Failure>),
}

impl Failure {
    fn kind(&self) -> ErrorKind {
        match self {
            Failure::Op(error) => error.kind(),
            Failure::Reported(failure) => failure.kind(),
            Failure::Output(_) | Failure::Plugin(_) => ErrorKind::Failed,
        }
    }
}

/// A failure, for a program.
#[derive(Debug, Serialize, schemars::JsonSchema)]
struct FailureJson {
    /// What went wrong.
    error: ErrorJson,
}

/// What went wrong.
#[derive(Debug, Serialize, schemars::JsonSchema)]
struct ErrorJson {
    /// The class of the failure.
    kind: ErrorKind,
    /// What happened, and what to do.
    message: String,
    /// The exit code.
    exit: u8,
}

impl FailureJson {
    fn of(failure: &Failure) -> FailureJson {
        let kind = failure.kind();
        let (message, exit) = (failure.to_string(), Exit::from(kind).code());
        FailureJson { error: ErrorJson { kind, message, exit } }
    }

    fn line(&self) -> String {
        json::line(self)
    }
}

/// What to do about a host's sandbox that keeps us from the project's files.
fn sandbox_hint(failure: &Failure, caller: &Caller<'_>) -> Option<String> {
    let is_kept_out = failure.to_string().contains("Read-only file system");
    (is_kept_out && session::host() == Some(Host::Codex)).then(|| {
        let root = caller.project();
        let root = root.map_or("the project's root".into(), |p| p.root.display().to_string());
        format!(
            "codex lets its commands write only below the folder it was started in, and only with \
             `--sandbox workspace-write`: start it in {root}"
        )
    })
}

/// What a slash command says that could not do what was asked.
fn refused_in_session(failure: &Failure) -> String {
    format!("error: {failure}\n\nNothing was done. Tell the person what this says, and stop.")
}

/// The whole command line, for documentation.
pub fn definition() -> clap::Command {
    Cli::command()
}

/// The command that begins a loop, or goes on with one: in a session its own model works.
fn way_to_begin() -> &'static str {
    if session::host().is_some() { "`specum implement`" } else { "`specum run`" }
}

/// Prints an answer, for a program or, in these words, for a person.
fn answer<T: Serialize>(json: bool, answer: &T, text: impl FnOnce(&T) -> String) -> Answered {
    if json {
        return print_json(answer, Exit::Done);
    }
    print(text(answer))?;
    Ok(Exit::Done)
}

/// `1 task`, `2 tasks`.
fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Prints an answer for a program; the verb ends like this.
fn print_json(answer: &impl Serialize, exit: Exit) -> Answered {
    print(serde_json::to_string_pretty(answer).map_err(io::Error::from)?)?;
    Ok(exit)
}

/// Prints a text for a person or a program. A program gets it as it is; on a
/// terminal, what stands in it of others' words must not steer.
fn print(text: impl Display) -> Result<(), Failure> {
    Ok(writeln!(io::stdout().lock(), "{}", harmless(text, &io::stdout()))?)
}

/// Prints what a report has made: cleaned already, and perhaps coloured.
fn print_report(text: impl Display) -> Result<(), Failure> {
    Ok(writeln!(io::stdout().lock(), "{text}")?)
}

fn harmless(text: impl Display, to: &impl IsTerminal) -> String {
    let text = text.to_string();
    if to.is_terminal() { sanitize::text(&text) } else { text }
}

fn complain(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "error: {}", harmless(text, &io::stderr()));
}

fn warn(text: &str) {
    let _ = writeln!(io::stderr().lock(), "warning: {}", harmless(text, &io::stderr()));
}
