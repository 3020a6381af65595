//! Answers to a person: one file for each verb.
//!
//! The doc comment of an `Args` struct is the verb's help. A verb returns an
//! exit code or an error; what the error means for the exit code is decided in
//! one place, `exit_code`.

mod accept;
mod advice;
mod cancel;
mod check;
mod completions;
mod demo;
mod doctor;
mod fail;
mod finish;
mod implement;
mod list;
mod log;
mod man;
mod next;
mod pause;
mod plugin;
mod run;
mod status;
mod switch;
mod tick;

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::anyhow;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use serde_json::json;
use specum_core::hook::Host;
use specum_core::journal::Entry;
use specum_core::line;
use specum_core::machine::{self, Event};
use specum_core::owner::{Asker, Holder};
use specum_core::tasks::{self, Shell};

use crate::attempt::{AttemptError, Workspace};
use crate::codex_config::HOW_TO_TRUST;
use crate::exit;
use crate::hook;
use crate::owner;
use crate::person::Door;
use crate::process;
use crate::project::{Project, SETTINGS_FILE, Spec, SpecError};
use crate::ralph_loop::LoopError;
use crate::report::sanitize;
use crate::runner::RunError;
use crate::session::{self, Note, Pending};
use crate::store::{Store, StoreError};

/// Runs a written plan to its end
///
/// A plan is a folder `specs/<name>/` with a `tasks.md`, a list of checkboxes.
/// specum hands the tasks to a coding agent, checks each result itself, ticks
/// the box, commits, and goes on until every box is ticked.
#[derive(Debug, Parser)]
#[command(name = "specum", version, after_help = AFTER_HELP)]
struct Cli {
    /// Without one, what to do next is told.
    #[command(subcommand)]
    verb: Option<Verb>,
}

const AFTER_HELP: &str = "\
Exit codes: 0 done, 1 failed, 2 wrong call or ambiguous name, 3 not found,
4 corrupt or newer file, 5 held by another process, 6 paused, blocked or capped,
130 interrupted (129 by SIGHUP, 143 by SIGTERM).

Start here: specum demo. Without a command, specum says what to do next.";

#[derive(Debug, Subcommand)]
enum Verb {
    Demo(demo::Args),
    List(list::Args),
    Switch(switch::Args),
    Status(status::Args),
    Log(log::Args),
    Check(check::Args),
    Run(Box<run::Args>),
    Implement(implement::Args),
    Next(next::Args),
    Finish(finish::Args),
    Fail(fail::Args),
    Tick(tick::Args),
    Accept(accept::Args),
    Pause(pause::PauseArgs),
    Resume(pause::ResumeArgs),
    Cancel(cancel::Args),
    Doctor(doctor::Args),
    Plugin(plugin::Args),
    Completions(completions::Args),
    Man(man::Args),
    Hook(HookArgs),
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
const SESSION_VERBS: [&str; 9] =
    ["implement", "cancel", "status", "pause", "resume", "switch", "tick", "accept", "help"];

/// The verbs that are a person's to say, or may be.
const PERSONS_VERBS: [&str; 5] = ["tick", "accept", "resume", "implement", "cancel"];

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
        _ => None,
    })
}

/// The command line. Behind `--from-session` stands a verb whose arguments were
/// typed in a host and kept by its hook, because they must not pass through a
/// shell.
fn command_line() -> Result<(Vec<std::ffi::OsString>, Door), String> {
    let mut line: Vec<std::ffi::OsString> = std::env::args_os().collect();
    let mut typed = Door::Here;
    if line.len() == 3 && line[1] == "--from-session" {
        line.remove(1);
        let verb = line[1].to_string_lossy().into_owned();
        // Without them the verb would do something else than was typed.
        let pending =
            session::current().and_then(|id| Pending::take(&id, &verb)).ok_or_else(|| {
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
    let (line, typed) = match command_line() {
        Ok(line) => line,
        Err(why) => {
            let _ = writeln!(io::stderr(), "error: {why}");
            return ExitCode::from(exit::USAGE);
        }
    };
    let matches = Cli::command().get_matches_from(line);
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    process::clean_up_when_interrupted();
    let outcome = match cli.verb {
        None => advice::run(),
        Some(Verb::Demo(args)) => demo::run(&args),
        Some(Verb::List(args)) => list::run(&args),
        Some(Verb::Switch(args)) => switch::run(&args),
        Some(Verb::Status(args)) => status::run(&args),
        Some(Verb::Log(args)) => log::run(&args),
        Some(Verb::Check(args)) => check::run(&args),
        Some(Verb::Run(args)) => run::run(&args, run::GivenFlags::of(&matches)),
        Some(Verb::Implement(args)) => implement::run(&args, typed),
        Some(Verb::Next(args)) => next::run(&args),
        Some(Verb::Finish(args)) => finish::run(&args),
        Some(Verb::Fail(args)) => fail::run(&args),
        Some(Verb::Tick(args)) => tick::run(&args, typed),
        Some(Verb::Accept(args)) => accept::run(&args, typed),
        Some(Verb::Pause(args)) => pause::pause(&args),
        Some(Verb::Resume(args)) => pause::resume(&args, typed),
        Some(Verb::Cancel(args)) => cancel::run(&args, typed),
        Some(Verb::Doctor(args)) => doctor::run(&args),
        Some(Verb::Plugin(args)) => plugin::run(&args),
        Some(Verb::Completions(args)) => completions::run(&args),
        Some(Verb::Man(args)) => man::run(&args),
        Some(Verb::Hook(args)) => return hook::run(&args.event),
    };
    match outcome {
        // To the host, an exit code would be a broken command: without a terminal
        // it shows the person nothing at all. The words go to the model instead.
        Ok(_) if typed == Door::InSession => ExitCode::SUCCESS,
        Err(error) if typed == Door::InSession => match print(refused_in_session(&error)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::from(exit::FAILED),
        },
        Ok(code) => ExitCode::from(code),
        Err(error) if is_broken_pipe(&error) => ExitCode::from(exit::FAILED),
        Err(error) => {
            complain(format!("{error:#}"));
            if let Some(hint) = sandbox_hint(&error) {
                complain(hint);
            }
            ExitCode::from(exit_code(&error))
        }
    }
}

/// What to do about a host's sandbox that keeps us from the project's files.
fn sandbox_hint(error: &anyhow::Error) -> Option<String> {
    let is_kept_out = format!("{error:#}").contains("Read-only file system");
    (is_kept_out && session::host() == Some(Host::Codex)).then(|| {
        let root = project().map_or("the project's root".into(), |p| p.root.display().to_string());
        format!(
            "codex lets its commands write only below the folder it was started in, and only with \
             `--sandbox workspace-write`: start it in {root}"
        )
    })
}

/// What a slash command says that could not do what was asked.
fn refused_in_session(error: &anyhow::Error) -> String {
    format!("error: {error:#}\n\nNothing was done. Tell the person what this says, and stop.")
}

/// The whole command line, for documentation.
pub fn definition() -> clap::Command {
    Cli::command()
}

/// What a failure means to a script.
fn exit_code(error: &anyhow::Error) -> u8 {
    for cause in error.chain() {
        // What a transparent error wraps is not in the chain itself.
        let attempt = match cause.downcast_ref::<RunError>() {
            Some(RunError::Attempt(error)) => Some(error),
            _ => cause.downcast_ref::<AttemptError>(),
        };
        let in_store = match (attempt, cause.downcast_ref::<RunError>()) {
            (Some(AttemptError::Store(error)), _) | (_, Some(RunError::Store(error))) => {
                Some(error)
            }
            _ => cause.downcast_ref::<StoreError>(),
        };
        if let Some(error) = in_store {
            return match error {
                StoreError::Corrupt { .. } | StoreError::Newer { .. } => exit::UNUSABLE,
                StoreError::Busy { .. } => exit::BUSY,
                StoreError::File(_) => exit::FAILED,
            };
        }
        if let Some(error) = cause.downcast_ref::<SpecError>() {
            return match error {
                SpecError::Ambiguous { .. } | SpecError::Refused { .. } => exit::USAGE,
                SpecError::NotFound { .. } => exit::NOT_FOUND,
            };
        }
        if let Some(
            AttemptError::OtherBranch { .. }
            | AttemptError::OffBranch { .. }
            | AttemptError::Rewritten(_)
            | AttemptError::InTheWay { .. },
        ) = attempt
        {
            return exit::STOPPED;
        }
        if let Some(AttemptError::Held { .. } | AttemptError::HeldByOther { .. }) = attempt {
            return exit::BUSY;
        }
        if let Some(
            AttemptError::NoLoop(_)
            | AttemptError::NoTasks(_)
            | AttemptError::Empty(_)
            | AttemptError::NoTask(_)
            | AttemptError::NotOpen(_),
        ) = attempt
        {
            return exit::NOT_FOUND;
        }
        if let Some(error) = cause.downcast_ref::<LoopError>() {
            return match error {
                LoopError::NoPlugin => exit::NOT_FOUND,
                LoopError::OtherSpec { .. } | LoopError::Foreign => exit::BUSY,
                LoopError::Outside(_) | LoopError::File(_) => exit::FAILED,
            };
        }
        if cause.downcast_ref::<WrongCall>().is_some() {
            return exit::USAGE;
        }
        if let Some(RunError::Held { .. } | RunError::TreeInUse { .. }) = cause.downcast_ref() {
            return exit::BUSY;
        }
        if let Some(RunError::GitChanged(_)) = cause.downcast_ref() {
            return exit::STOPPED;
        }
        if cause.downcast_ref::<NotHere>().is_some() {
            return exit::NOT_FOUND;
        }
    }
    exit::FAILED
}

/// An option that makes no sense.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct WrongCall(String);

/// Something that should be here and is not.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NotHere(String);

/// Prints a text for a person or a program. A program gets it as it is; on a
/// terminal, what stands in it of others' words must not steer.
fn print(text: impl Display) -> anyhow::Result<()> {
    Ok(writeln!(io::stdout().lock(), "{}", harmless(text, &io::stdout()))?)
}

/// Prints what a report has made: cleaned already, and perhaps coloured.
fn print_report(text: impl Display) -> anyhow::Result<()> {
    Ok(writeln!(io::stdout().lock(), "{text}")?)
}

fn harmless(text: impl Display, to: &impl IsTerminal) -> String {
    let text = text.to_string();
    if to.is_terminal() { sanitize::text(&text) } else { text }
}

/// Whether whoever read our output has gone away, which is no failure of ours
/// worth a word.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    kind == Some(io::ErrorKind::BrokenPipe)
}

fn print_json(value: &serde_json::Value) -> anyhow::Result<()> {
    print(serde_json::to_string_pretty(value)?)
}

/// A command of a check, for programs.
fn command_json(command: &tasks::Command) -> serde_json::Value {
    let shell = match command.shell {
        Shell::Sh => "sh",
        Shell::ShBlock => "sh -e",
        Shell::BashBlock => "bash -e",
    };
    json!({
        "command": line::readable(&command.text),
        "shell": shell,
        "prints": command.expect.as_ref().map(ToString::to_string),
        "or": command.instead,
    })
}

fn complain(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "error: {}", harmless(text, &io::stderr()));
}

fn warn(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "warning: {}", harmless(text, &io::stderr()));
}

/// Says so if somebody else works a spec that a person is about to change. The
/// person decides; the other one notices at its next step.
fn warn_if_held(store: &Store) {
    let state = store.read_state().and_then(Result::ok);
    let me = session::of_any_host();
    let asker = Asker::session_or_person(me.as_deref());
    if let Holder::Other(owner) = owner::holder(store, state.as_ref(), asker) {
        warn(format!("this spec is being worked on by {}", owner.description()));
    }
}

/// What is wrong with the settings of a project, if anything is.
pub(crate) fn settings_problems(project: &Project) -> Option<String> {
    let lines = project
        .problems
        .iter()
        .map(|problem| format!("\n  {SETTINGS_FILE}:{}: {}", problem.line, problem.message));
    let lines: String = lines.collect();
    (!lines.is_empty()).then(|| format!("the settings have mistakes:{lines}"))
}

/// The project around the current directory, with good settings.
fn project() -> anyhow::Result<Project> {
    let here = std::env::current_dir()?;
    let home = std::env::var_os("HOME");
    let project = Project::find(&here, home.as_deref().map(Path::new)).ok_or_else(|| {
        NotHere(format!(
            "no specs in {} or above; a plan is a file specs/<name>/tasks.md, see `specum demo`",
            here.display()
        ))
    })?;
    if let Some(problems) = settings_problems(&project) {
        return Err(anyhow!(problems));
    }
    project.warnings.iter().for_each(warn);
    Ok(project)
}

/// Says which settings have no effect, where a loop is about to begin with them.
fn warn_of_settings(project: &Project) {
    let keys: Vec<String> = project
        .inherited
        .iter()
        .filter(|key| key.read_as.is_none())
        .map(|key| format!("`{}`", key.key))
        .collect();
    if !keys.is_empty() {
        let have = if keys.len() == 1 { "has" } else { "have" };
        let keys = keys.join(", ");
        warn(format!("{SETTINGS_FILE}: {keys} {have} no effect in specum; see `specum doctor`"));
    }
}

/// The spec a person names, or the active one.
fn spec(project: &Project, named: Option<&str>) -> anyhow::Result<Spec> {
    if let Some(name) = named {
        return Ok(project.spec(name)?);
    }
    if let Some(active) = project.active()? {
        active.doubt().iter().for_each(warn);
        return Ok(active.spec);
    }
    let specs: Vec<String> = project.specs().into_iter().map(|spec| spec.name).collect();
    let known = if specs.is_empty() { "there are none yet".into() } else { specs.join(", ") };
    Err(NotHere(format!("no spec is active; `specum switch <spec>` makes one so ({known})")).into())
}

/// Says what a look at the plan has found.
fn tell_news(workspace: &Workspace) {
    workspace.take_news().iter().for_each(warn);
}

/// A session whose shell asks for work, or hands it in, works on the spec from
/// now on, unless somebody else does.
fn hold_for_session(workspace: &Workspace) -> anyhow::Result<()> {
    let without_hooks = session::host().filter(|_| session::judged_by_hooks().is_none());
    let how = match without_hooks {
        Some(Host::Codex) => Some(("codex", HOW_TO_TRUST)),
        Some(Host::Gemini) => Some((
            "gemini",
            "trust this folder in gemini (/permissions), \
            and run `specum plugin install --host gemini` in a terminal",
        )),
        Some(Host::Claude) | None => None,
    };
    if let Some((host, how)) = how {
        warn(format!(
            "{host} has not called specum's hooks in this session, so nothing sends it back to \
             work: {how}"
        ));
    }
    let Some(session) = session::of_any_host() else { return Ok(()) };
    let locked = workspace.store.lock()?;
    let view = locked.read()?;
    let Some(state) = view.state.as_ref() else { return Ok(()) };
    let holder = owner::holder(&workspace.store, Some(state), Asker::Session(&session));
    // In a sandbox the journal is all that a later hook can see.
    let works_itself = session::host().is_some_and(Host::works_itself);
    if holder == Holder::Nobody || (works_itself && holder == Holder::Me) {
        let step = machine::step(state, &view.file(), Event::Hold(owner::session(&session)));
        locked.write_step(Entry::Held { session: session.clone() }, &step)?;
    }
    if holder.other().is_none() {
        match Note::asked(&session, None, &workspace.spec) {
            // A sandbox may keep us from writing anywhere but in the project.
            Err(error) if !works_itself => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

/// The spec that the session this command runs in works on.
fn spec_of_session() -> Option<(Project, Spec)> {
    let session = session::of_any_host()?;
    let (project, spec) = hook::noted_spec(&session)?;
    let store = Store::of(&spec);
    let state = store.read_state().and_then(Result::ok);
    let holder = owner::holder(&store, state.as_ref(), Asker::Session(&session));
    (holder == Holder::Me).then_some((project, spec))
}

fn workspace(named: Option<&str>) -> anyhow::Result<Workspace> {
    // A session means the spec it works on, whichever is active.
    let (project, spec) = match spec_of_session().filter(|_| named.is_none()) {
        Some(found) => found,
        None => {
            let project = project()?;
            let spec = spec(&project, named)?;
            (project, spec)
        }
    };
    Ok(one_at_a_time(Workspace::new(&project, spec)?))
}

/// In a host whose own model works, one model does one task after the other.
fn one_at_a_time(mut workspace: Workspace) -> Workspace {
    if session::host().is_some_and(Host::works_itself) {
        workspace.scope.max_parallel = 1;
    }
    workspace
}

/// Refuses a session that asks for work of a spec that another one holds.
fn refuse_other_sessions(workspace: &Workspace) -> anyhow::Result<()> {
    let Some(session) = session::of_any_host() else { return Ok(()) };
    let state = workspace.store.read_state().and_then(Result::ok);
    let holder = owner::holder(&workspace.store, state.as_ref(), Asker::Session(&session));
    match holder.other() {
        Some(other) => {
            let (spec, by) = (workspace.spec.name.clone(), other.description());
            Err(AttemptError::HeldByOther { spec, by }.into())
        }
        None => Ok(()),
    }
}
