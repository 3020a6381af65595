use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};
use std::path::PathBuf;

use clap::FromArgMatches;
use specum_core::authoring::Profile;
use specum_core::event::Outcome;
use specum_core::spec::red::RedFirst;
use specum_engine::attempt::{Change, Workspace};
use specum_engine::files::FileError;
use specum_engine::ops::{self, Approval, Caller, NewState, OpError, PlanRequest, WaitingDocument};
use specum_engine::runner::{self, PlanGoal};

use super::run::{self};
use super::{Answered, Failure, print};
use crate::exit::Exit;

/// Plan a spec: from a sentence to requirements, a design and tasks
///
/// Starts an agent for each document. specum checks what it writes, sends it back with
/// what is wrong, three tries at most, and commits what you agree to. On a terminal it asks
/// you there; elsewhere it stops at each document that waits for you (exit code 6). The
/// same command goes on where it stopped. With --quick nobody is asked, and --auto has the
/// tasks worked too.
///
/// Agents, models, limits and caps are those of `specum run`, from the same settings, and
/// count on the same budget.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What is to be done; or the name of a spec, alone to go on with it, or in front
    goal: Vec<String>,
    /// tasks.md alone, for a small change
    #[arg(long, conflicts_with_all = ["standard", "full"])]
    small: bool,
    /// Requirements, design, tasks [default]
    #[arg(long, conflicts_with = "full")]
    standard: bool,
    /// Research in front of these
    #[arg(long)]
    full: bool,
    /// Ask nobody: open questions get their defaults, which are written down
    #[arg(long)]
    quick: bool,
    /// The same, and then work the tasks, as `specum run` does
    #[arg(long)]
    auto: bool,
    /// Stop once this document is agreed to: research, requirements, design or tasks
    #[arg(long, value_name = "DOCUMENT", conflicts_with = "auto")]
    until: Option<String>,
    /// Read what is to be done from a file, or with `-` from standard input
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Leave the documents uncommitted
    #[arg(long)]
    no_commit_spec: bool,
    /// Do not run the checks of the plan before the work
    #[arg(long)]
    no_red: bool,
    /// Who writes, as in `specum run`
    #[arg(long, value_name = "NAMES")]
    agent: Option<String>,
    /// The command line behind the agent `command`: reads the brief on standard input and
    /// writes the document
    #[arg(long, value_name = "COMMAND")]
    agent_command: Option<String>,
    /// The model, where the agent has a choice
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// How long one start of an agent may take [default: 1h]
    #[arg(long, value_name = "TIME")]
    task_timeout: Option<String>,
    /// How long an agent may be silent [default: 10m]
    #[arg(long, value_name = "TIME")]
    idle_timeout: Option<String>,
    /// How long all of it may take
    #[arg(long, value_name = "TIME")]
    max_time: Option<String>,
    /// Most dollars
    #[arg(long, value_name = "DOLLARS")]
    max_cost: Option<String>,
    /// Most tokens
    #[arg(long, value_name = "N")]
    max_tokens: Option<String>,
    /// Take the spec over from a session that plans it
    #[arg(long)]
    take_over: bool,
    /// Print events as JSON, one a line (see docs/run-events.md)
    #[arg(long)]
    json: bool,
}

/// The longest request that is read.
const MAX_GOAL: u64 = 1024 * 1024 + 1;

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let until = args.until.as_ref().map(|name| {
        let none = || OpError::Usage(format!("--until: there is no document `{name}`"));
        ops::document_named(name).ok_or_else(none)
    });
    let until = until.transpose()?;
    let request = request(args, caller)?;
    let (project, mut workspace, _) = ops::begin_plan(caller, &request)?;
    let (run_args, typed) = run::Args::of_line(&line(args, &workspace.spec.shown))?;
    let settings = &project.settings.run;
    let mut options = run::options(&run_args, typed, settings, caller)?;
    let quick = args.quick || args.auto;
    if args.no_red {
        workspace.red_first = RedFirst::Off;
    }
    options.plan = Some(PlanGoal { until, quick, red: workspace.red_first != RedFirst::Off });
    run::refuse_caps_that_cannot_bind(&workspace, &options)?;
    if args.auto {
        runner::refuse_dirty_tree(&workspace, &options).map_err(OpError::from)?;
    }
    workspace.store.survive_power_cuts();
    let bell = settings.bell.unwrap_or(true);
    loop {
        let outcome = run::run_once(&run_args, &mut workspace, &options, bell, caller)?;
        match &outcome {
            Outcome::Waits { .. } if asks_here(args, caller) => {
                if !ask(&workspace, caller)? {
                    return Ok(run::exit(&outcome));
                }
            }
            Outcome::Planned if args.auto => return run::run(&run_args, typed, caller),
            Outcome::Planned => {
                say_planned(args, &workspace)?;
                return Ok(Exit::Done);
            }
            _ => return Ok(run::exit(&outcome)),
        }
    }
}

/// The same with a command line that specum has put together itself.
pub(super) fn run_line(line: &[String], caller: &Caller<'_>) -> Answered {
    let line = ["specum".to_owned()].into_iter().chain(line.iter().cloned());
    let wrong = |error: clap::Error| OpError::Usage(error.render().to_string());
    let matches = super::definition().try_get_matches_from(line).map_err(wrong)?;
    let (_, plan) = matches.subcommand().expect("the line names the verb");
    run(&Args::from_arg_matches(plan).map_err(wrong)?, caller)
}

/// What is to be planned.
fn request(args: &Args, caller: &Caller<'_>) -> Result<PlanRequest, OpError> {
    let profile = match (args.small, args.standard, args.full) {
        (true, ..) => Some(Profile::Small),
        (_, true, _) => Some(Profile::Standard),
        (.., true) => Some(Profile::Full),
        _ => None,
    };
    let (name, goal) = name_and_goal(&args.goal, args.from.as_ref(), caller)?;
    Ok(PlanRequest {
        name,
        goal,
        profile,
        quick: args.quick || args.auto,
        plan_only: !args.auto,
        commits: args.no_commit_spec.then_some(false),
    })
}

/// The spec that the words name, and what is to be done.
pub(super) fn name_and_goal(
    words: &[String],
    from: Option<&PathBuf>,
    caller: &Caller<'_>,
) -> Result<(Option<String>, Option<String>), OpError> {
    let words = words.join(" ");
    match from.map(goal_from).transpose()? {
        Some(goal) => Ok((Some(words).filter(|words| !words.is_empty()), Some(goal))),
        None => ops::name_and_goal(caller, &words),
    }
}

/// What is to be done, from a file or standard input.
fn goal_from(from: &PathBuf) -> Result<String, OpError> {
    let mut bytes = Vec::new();
    if from.as_os_str() == "-" {
        let read = io::stdin().lock().take(MAX_GOAL).read_to_end(&mut bytes);
        read.map_err(OpError::io("cannot read what is to be done"))?;
    } else {
        let file = std::fs::File::open(from);
        let read = file.and_then(|file| file.take(MAX_GOAL).read_to_end(&mut bytes));
        read.map_err(|error| FileError::new("read", from, error))?;
    }
    let goal = String::from_utf8_lossy(&bytes).trim().to_owned();
    match goal.is_empty() {
        true => Err(OpError::Usage(format!("{}: it says nothing", from.display()))),
        false => Ok(goal),
    }
}

/// The command line of the run that carries it.
fn line(args: &Args, spec: &str) -> Vec<String> {
    let mut line = vec!["run".to_owned(), spec.to_owned()];
    let valued = [
        ("--agent", &args.agent),
        ("--agent-command", &args.agent_command),
        ("--model", &args.model),
        ("--task-timeout", &args.task_timeout),
        ("--idle-timeout", &args.idle_timeout),
        ("--max-time", &args.max_time),
        ("--max-cost", &args.max_cost),
        ("--max-tokens", &args.max_tokens),
    ];
    for (name, value) in valued {
        line.extend(value.iter().map(|value| format!("{name}={value}")));
    }
    for (name, is_set) in
        [("--take-over", args.take_over), ("--no-red", args.no_red), ("--json", args.json)]
    {
        if is_set {
            line.push(name.to_owned());
        }
    }
    line
}

fn asks_here(args: &Args, caller: &Caller<'_>) -> bool {
    !args.json && caller.is_a_person_at_a_terminal()
}

/// Asks the person at this terminal about the document that waits; whether to go on.
fn ask(workspace: &Workspace, caller: &Caller<'_>) -> Result<bool, Failure> {
    let Some(waiting) = ops::waiting(workspace)? else { return Ok(false) };
    show_waiting(&waiting)?;
    let mut answers = BTreeMap::new();
    for question in &waiting.questions {
        let said = said(&format!("{} [{}]: ", question.id, question.default))?;
        let Some(said) = said else { return Ok(false) };
        if !said.is_empty() {
            answers.insert(question.id.clone(), said);
        }
    }
    print(
        "\n1 Approve   2 Approve this and all that follows   3 Not yet   or say what is to change",
    )?;
    let Some(word) = said("> ")? else { return Ok(false) };
    let doc = ops::document_named(&waiting.document);
    let spec = Some(workspace.spec.shown.as_str());
    match word.as_str() {
        "" | "3" => return Ok(false),
        "1" | "2" => {
            if word == "2" {
                ops::ask_no_more(caller, workspace)?;
            }
            let approved = ops::approve(caller, spec, doc, &answers)?;
            if let Approval::Document(approved) = approved
                && approved.state == NewState::Reopened
            {
                print("Its author goes on with your answers.")?;
            }
        }
        text => drop(ops::change(caller, spec, Change { doc, text })?),
    }
    Ok(true)
}

/// What a person types; `None` at the end of what there is.
fn said(prompt: &str) -> Result<Option<String>, Failure> {
    use std::io::Write;
    print!("{prompt}");
    io::stdout().flush()?;
    let mut line = String::new();
    let length = io::stdin().lock().read_line(&mut line)?;
    Ok((length > 0).then(|| line.trim().to_owned()))
}

fn say_planned(args: &Args, workspace: &Workspace) -> Result<(), Failure> {
    if args.json {
        return Ok(());
    }
    let name = &workspace.spec.name;
    let is_whole = workspace.planning().map_err(OpError::from)?;
    match is_whole.is_some_and(|planning| planning.is_agreed()) {
        true => print(format!("{name} is planned: `specum run {name}` works its tasks.")),
        false => print(format!("`specum plan {name}` goes on with what is left.")),
    }
}

/// Prints what a person is asked before a document is built on.
pub(super) fn show_waiting(waiting: &WaitingDocument) -> Result<(), Failure> {
    let size = waiting.bytes.div_ceil(100);
    print(format!("\n{} ({}.{} KB)\n  {}", waiting.file, size / 10, size % 10, waiting.summary))?;
    waiting.warnings.iter().try_for_each(|warning| print(format!("  note: {warning}")))?;
    for question in &waiting.questions {
        print(format!("\n{}: {}", question.id, question.text))?;
        for (number, option) in question.options.iter().enumerate() {
            let default = if number + 1 == question.default { " (default)" } else { "" };
            print(format!("  {} {option}{default}", number + 1))?;
        }
    }
    Ok(())
}
