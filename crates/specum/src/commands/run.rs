mod detach;
mod dry;
mod many;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, FromArgMatches};
use specum_core::agent::{self, Agent};
use specum_core::coordinate::agents::Patience;
use specum_core::duration;
use specum_core::event::Outcome;
use specum_core::machine::Start;
use specum_core::notice::Notice;
use specum_core::settings::{Branch, RunSettings};
use specum_core::spec::red::RedFirst;
use specum_core::suite::Suite;
use specum_core::tasks::Task;
use specum_core::verify::CheckTime;

use super::check::WhichChecks;
use super::{Answered, Failure, FailureJson, counted, print, print_json, report as written};
use crate::exit::Exit;
use crate::report;
use specum_engine::attempt::{AttemptError, Workspace};
use specum_engine::ops::{self, Caller, OpError};
use specum_engine::person;
use specum_engine::process::{self, find_program};
use specum_engine::projects;
use specum_engine::runner::{self, Notify, Options};

/// How long an agent may take unless a person says otherwise.
const PATIENCE: Patience = Patience { task: 60 * 60_000, idle: 10 * 60_000 };

/// Do all open tasks of a plan, with a fresh agent for each
///
/// Starts an agent for each task, checks what it did, ticks the box, commits,
/// and goes on: tasks in sequence in your tree, groups marked [P] at once, each
/// in a git worktree of its own. Ctrl-C stops everything at once; the same
/// command goes on later.
///
/// Every option with an environment variable can also be set in specum.yaml or in
/// .claude/ralph-specum.local.md, with `_` for `-`, and as `max_parallel` for --jobs.
/// What is typed counts most, then the environment, then the files.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name or path; the active spec if left out
    spec: Option<String>,
    /// Work every spec with open tasks, one after the other; ends at the first that is
    /// not completed, unless --keep-going is given
    #[arg(long, conflicts_with_all = ["spec", "epic", "only", "report", "detach", "stay"])]
    all: bool,
    /// Work the specs of an epic, each once those that it needs are complete; the active
    /// epic if no name is given
    #[arg(
        long, value_name = "EPIC", num_args = 0..=1,
        conflicts_with_all = ["spec", "only", "report", "detach", "stay"]
    )]
    epic: Option<Option<String>>,
    /// With --epic: have a spec without a plan planned when its turn comes, as `specum
    /// plan --quick` does
    #[arg(long, requires = "epic", conflicts_with = "dry_run")]
    auto: bool,
    /// Who works: claude, codex, gemini, opencode, command, script. Several,
    /// with commas: the next one goes on when one is out of quota or not signed
    /// in [default: the first of the four that is installed]
    #[arg(long, value_name = "NAMES", env = "SPECUM_AGENT", value_delimiter = ',')]
    agent: Vec<String>,
    /// The command line behind the agent `command`: reads the brief on standard
    /// input, says TASK_COMPLETE when it is done
    #[arg(long, value_name = "COMMAND", env = "SPECUM_AGENT_COMMAND")]
    agent_command: Option<String>,
    /// The model, where the agent has a choice
    #[arg(long, value_name = "MODEL", env = "SPECUM_MODEL")]
    model: Option<String>,
    /// How many tasks of a group run at once [default: 5]
    #[arg(long, value_name = "N", env = "SPECUM_JOBS", value_parser = clap::value_parser!(u64).range(1..=64))]
    jobs: Option<u64>,
    /// Attempts for each task [default: 5]
    #[arg(long, visible_alias = "attempts", value_name = "N", env = "SPECUM_MAX_TASK_ITERATIONS", value_parser = clap::value_parser!(u64).range(1..=1000))]
    max_task_iterations: Option<u64>,
    /// Attempts for the whole loop, failed ones too [default: tasks × attempts ×
    /// 2, at least 100]
    #[arg(long, visible_alias = "max-iterations", value_name = "N", env = "SPECUM_MAX_GLOBAL_ITERATIONS", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    max_global_iterations: Option<u64>,
    /// Give a task that keeps failing a fix task instead of stopping
    #[arg(long, env = "SPECUM_RECOVERY_MODE", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", value_parser = clap::builder::BoolishValueParser::new())]
    recovery_mode: Option<bool>,
    /// Wait before each new phase of the plan until you say `specum approve`
    /// [default: never]
    #[arg(long, value_name = "WHEN", env = "SPECUM_APPROVE")]
    approve: Option<ApproveWhen>,
    /// Go on with what does not need a task that has used its attempts. The end is
    /// still "blocked" (exit code 6)
    #[arg(long, env = "SPECUM_KEEP_GOING", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", value_parser = clap::builder::BoolishValueParser::new())]
    keep_going: Option<bool>,
    /// Work on a branch of its own, made from here: this one, or specum/<spec>
    #[arg(long, env = "SPECUM_BRANCH", num_args = 0..=1, require_equals = true, default_missing_value = "", value_name = "NAME")]
    branch: Option<String>,
    /// How long one start of an agent may take, such as 90s, 10m or 2h
    /// [default: 1h]
    #[arg(long, value_name = "TIME", env = "SPECUM_TASK_TIMEOUT", value_parser = time)]
    task_timeout: Option<u64>,
    /// How long an agent may be silent; a tool that it runs does not count
    /// [default: 10m]
    #[arg(long, value_name = "TIME", env = "SPECUM_IDLE_TIMEOUT", value_parser = time)]
    idle_timeout: Option<u64>,
    /// The check of tasks that have none of their own, such as 'npm test'; several are
    /// run one after the other
    #[arg(long, value_name = "COMMAND", env = "SPECUM_VERIFY")]
    verify: Vec<String>,
    /// How long a task's check may take, all its commands together
    /// [default: 30m]
    #[arg(long, value_name = "TIME", env = "SPECUM_VERIFY_TIMEOUT", value_parser = time)]
    verify_timeout: Option<u64>,
    /// Do not run the check of a task before the first attempt at it, to see it fail
    #[arg(long)]
    no_red: bool,
    /// How long all of it may take, over all runs of the loop
    #[arg(long, value_name = "TIME", env = "SPECUM_MAX_TIME", value_parser = time)]
    max_time: Option<u64>,
    /// Most dollars, over all runs of the loop; refused for an agent that does
    /// not name its price
    #[arg(long, value_name = "DOLLARS", env = "SPECUM_MAX_COST", value_parser = dollars)]
    max_cost: Option<f64>,
    /// Most tokens, over all runs of the loop; refused for an agent that does
    /// not count them
    #[arg(long, value_name = "N", env = "SPECUM_MAX_TOKENS", value_parser = clap::value_parser!(u64).range(1..))]
    max_tokens: Option<u64>,
    /// Work only these tasks, by id or index, with commas
    #[arg(long, value_name = "TASKS", value_delimiter = ',')]
    only: Vec<String>,
    /// Work optional tasks too, `- [ ]* 2.3`
    #[arg(long)]
    optional: bool,
    /// Where the run would end for a person to say something (paused, blocked, at a
    /// cap, without an agent), wait for it, and go on when they have
    #[arg(long)]
    stay: bool,
    /// Take the spec over from a session that works it
    #[arg(long)]
    take_over: bool,
    /// Work although your tree has changes that are not committed. They stay as
    /// they are, unless an agent changes the same file: then both are committed
    #[arg(long)]
    allow_dirty: bool,
    /// Work a plan whose tasks stand on requirements that have changed since
    #[arg(long)]
    allow_stale: bool,
    /// Work tasks in sequence in a git worktree too, so that you can go on working in
    /// your tree. It takes in what has passed, and no file that you have changed is
    /// touched
    #[arg(long, env = "SPECUM_ISOLATE", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", value_parser = clap::builder::BoolishValueParser::new())]
    isolate: Option<bool>,
    /// Write a report into this file, however the run ends; by its ending a page, Markdown
    /// (.md) or JUnit (.xml)
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Run in the background, in a session of its own, and say how to watch and stop it
    #[arg(long, conflicts_with_all = ["dry_run", "json"])]
    detach: bool,
    /// What --detach starts
    #[arg(long, hide = true)]
    detached: bool,
    /// Print what would be worked: order, groups, agents, checks
    #[arg(long)]
    dry_run: bool,
    /// With --dry-run: run the checks now, before the work, as `specum check --red` does
    #[arg(
        long, value_name = "WHICH", value_enum, num_args = 0..=1, require_equals = true,
        default_missing_value = "read-only", requires = "dry_run"
    )]
    red: Option<WhichChecks>,
    /// Print events as JSON, one a line (see docs/run-events.md)
    #[arg(long)]
    json: bool,
}

/// Where a run says what it waits for, below the summary.
const WAITS_HERE: &str =
    "\nWaiting here for your word from another terminal, as above; Ctrl-C ends it";

/// What a person is asked before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ApproveWhen {
    /// Each new phase
    Phase,
    /// Nothing
    Never,
}

pub(super) fn time(text: &str) -> Result<u64, String> {
    duration::millis(text)
        .filter(|millis| *millis > 0)
        .ok_or_else(|| "not a time such as 90s, 10m or 2h".into())
}

pub(super) fn dollars(text: &str) -> Result<f64, String> {
    let amount = text.trim_start_matches('$').parse::<f64>().ok();
    amount
        .filter(|amount| amount.is_finite() && *amount > 0.0)
        .ok_or_else(|| "not an amount above 0".into())
}

/// What was typed, as opposed to what stands in the environment.
#[derive(Debug, Clone, Copy)]
pub(super) struct GivenFlags {
    /// `--agent-command`, and no `--agent` as well.
    command_alone: bool,
}

impl GivenFlags {
    pub(super) fn of(matches: &ArgMatches) -> GivenFlags {
        let typed = |name: &str| {
            let run = matches.subcommand_matches("run");
            run.and_then(|run| run.value_source(name)) == Some(ValueSource::CommandLine)
        };
        GivenFlags { command_alone: typed("agent_command") && !typed("agent") }
    }
}

impl Args {
    /// The arguments of a command line that specum has put together itself.
    pub(super) fn of_line(line: &[String]) -> Result<(Args, GivenFlags), OpError> {
        let command = super::definition();
        let line = ["specum".to_owned()].into_iter().chain(line.iter().cloned());
        let wrong = |error: clap::Error| OpError::Usage(error.render().to_string());
        let matches = command.try_get_matches_from(line).map_err(wrong)?;
        let typed = GivenFlags::of(&matches);
        let (_, run) = matches.subcommand().expect("the line names the verb");
        Ok((Args::from_arg_matches(run).map_err(wrong)?, typed))
    }
}

pub(super) fn run(args: &Args, typed: GivenFlags, caller: &Caller<'_>) -> Answered {
    if args.detached {
        process::leave_session();
    }
    match &args.epic {
        Some(named) => many::epic(args, named.as_deref(), typed, caller),
        None if args.all => many::all(args, typed, caller),
        None => work_one(args, typed, caller, args.spec.as_deref()),
    }
}

/// Works one spec: the one that is named, or the active one.
fn work_one(args: &Args, typed: GivenFlags, caller: &Caller<'_>, named: Option<&str>) -> Answered {
    let (project, spec) = caller.named(named)?;
    let settings = &project.settings.run;
    let mut workspace = Workspace::new(&project, spec).map_err(OpError::from)?;
    workspace.typed_suite = typed_suite(&args.verify)?;
    workspace.refuse_bad_plan().map_err(OpError::from)?;
    let jobs = args.jobs.and_then(|jobs| usize::try_from(jobs).ok());
    workspace.scope.max_parallel = at_once(&workspace, jobs);
    if args.verify_timeout.is_some() {
        workspace.check_time = CheckTime::new(args.verify_timeout);
    }
    if args.no_red {
        workspace.red_first = RedFirst::Off;
    }
    workspace.scope.only = chosen(&workspace, &args.only)?;
    workspace.scope.optional = args.optional;
    warn_of_unread_boxes(&workspace, caller)?;
    warn_of_misspelt_variables(caller);
    caller.warn_of_settings(&project);
    if !args.dry_run && args.only.is_empty() && has_nothing_to_do(&workspace)? {
        runner::put_away_finished(&workspace).map_err(OpError::from)?;
        if let Some(file) = &args.report {
            written::of_run(&workspace.spec, file, caller);
        }
        return say_all_is_done(args, &workspace);
    }
    let mut options = options(args, typed, settings, caller)?;
    refuse_caps_that_cannot_bind(&workspace, &options)?;
    refuse_isolation_without_commits(&workspace, &options)?;
    if args.dry_run {
        let agents = options.agents.iter().map(|agent| agent.name().to_owned()).collect();
        let commands = shell_commands(args, &options, settings);
        let how = (options.isolate, options.worktree_setup.as_deref());
        let red = args.red.map(WhichChecks::scope);
        let plan = ops::dry_run(&workspace, agents, commands, how, red)?;
        return if args.json { print_json(&plan, Exit::Done) } else { dry::show(&plan) };
    }
    ops::refuse_stale(caller, &workspace, args.allow_stale)?;
    refuse_an_agent_that_asks_for_more(&workspace, &options)?;
    written::refuse_unwritable(args.report.as_deref())?;
    if args.detach {
        return detach::detach(&workspace);
    }
    ops::activate(&project, &workspace.spec)?;
    projects::remember(&project);
    workspace.store.survive_power_cuts();
    let bell = settings.bell.unwrap_or(true);
    loop {
        let outcome = run_once(args, &mut workspace, &options, bell, caller);
        if let Some(file) = &args.report {
            written::of_run(&workspace.spec, file, caller);
        }
        let outcome = outcome?;
        if !args.stay || !runner::waits_for_a_person(&outcome) {
            return Ok(exit(&outcome));
        }
        if !args.json {
            print(WAITS_HERE)?;
        }
        if let Some(end) = runner::stay(&workspace) {
            return Ok(exit(&end));
        }
        options.go_on();
    }
}

/// Works the spec until the run ends or waits, and shows it.
pub(super) fn run_once(
    args: &Args,
    workspace: &mut Workspace,
    options: &Options,
    bell: bool,
    caller: &Caller<'_>,
) -> Result<Outcome, Failure> {
    workspace.store.write_as(runner::run_id(caller.world));
    let outlet = report::to_stdout(args.json, bell, &workspace.store).map_err(OpError::from)?;
    work(args, workspace, options, &outlet, caller).map_err(|failure| match args.json {
        // By the way of all the others: no reader holds up the end of a run.
        true => {
            outlet.failure(FailureJson::of(&failure).line());
            Failure::Reported(Box::new(failure))
        }
        false => failure,
    })
}

fn typed_suite(verify: &[String]) -> Result<Suite, OpError> {
    match verify.iter().any(|command| command.trim().is_empty()) {
        true => Err(OpError::Usage(
            "--verify is empty: name the command that checks the work, such as 'npm test'".into(),
        )),
        false => Ok(Suite::once(verify.to_vec())),
    }
}

/// Whether every box is ticked, and no loop is under way that would have to be completed.
fn has_nothing_to_do(workspace: &Workspace) -> Result<bool, OpError> {
    let tasks = workspace.store.read_tasks().map_err(OpError::from)?.unwrap_or_default();
    let is_open = tasks.file().open().any(|task| workspace.scope.holds(task));
    Ok(!is_open && !workspace.store.has_state() && workspace.is_done()?)
}

/// Says that nothing is left to do, with the summary of the loop that did it.
fn say_all_is_done(args: &Args, workspace: &Workspace) -> Answered {
    let (spec, summary) = (&workspace.spec.name, ops::summary_with_stale(workspace)?);
    if !args.json {
        let tasks = workspace.store.read_tasks().map_err(OpError::from)?.unwrap_or_default();
        print(format!("{spec}: everything is done, {}", counted(tasks.file().count(), "task")))?;
    }
    let outlet = report::to_stdout(args.json, false, &workspace.store).map_err(OpError::from)?;
    outlet.summary(spec, summary);
    Ok(Exit::Done)
}

fn work(
    args: &Args,
    workspace: &Workspace,
    options: &Options,
    outlet: &report::Outlet,
    caller: &Caller<'_>,
) -> Result<Outcome, Failure> {
    let outcome = runner::run(workspace, options, outlet);
    // What could not begin has found something all the same.
    caller.tell_news(workspace);
    let outcome = outcome.map_err(OpError::from)?;
    if args.stay && runner::waits_for_a_person(&outcome) {
        runner::tell_stay(workspace, &outcome).map_err(OpError::from)?;
    }
    outlet.summary(&workspace.spec.name, ops::summary_with_stale(workspace)?);
    Ok(outcome)
}

/// What an outcome means to a script.
pub(super) fn exit(outcome: &Outcome) -> Exit {
    match outcome {
        Outcome::Complete | Outcome::Planned | Outcome::ChosenDone { .. } => Exit::Done,
        Outcome::Paused
        | Outcome::Waits { .. }
        | Outcome::Cancelled
        | Outcome::TakenOver
        | Outcome::Blocked { .. }
        | Outcome::Capped { .. } => Exit::Stopped,
        Outcome::NoAgent { .. } | Outcome::Circuit { .. } | Outcome::Failed { .. } => Exit::Failed,
        Outcome::Interrupted => process::interrupted_by().map_or(Exit::INTERRUPTED, Exit::Signal),
    }
}

/// How many tasks may run at once. Without a commit to begin from there are no
/// worktrees.
fn at_once(workspace: &Workspace, jobs: Option<usize>) -> usize {
    match &workspace.git {
        Ok(git) if git.head().is_some() => jobs.unwrap_or(workspace.scope.max_parallel),
        _ => 1,
    }
}

/// Names the lines that look like a box and are none, before anything is paid for.
fn warn_of_unread_boxes(workspace: &Workspace, caller: &Caller<'_>) -> Result<(), OpError> {
    let tasks = workspace.store.read_tasks()?.unwrap_or_default();
    let plan = &workspace.spec.shown;
    for question in tasks.file().questions() {
        caller.warn(format!("{plan}/tasks.md, {question}"));
    }
    Ok(())
}

fn chosen(workspace: &Workspace, named: &[String]) -> Result<Vec<String>, OpError> {
    let tasks = workspace.store.read_tasks()?.unwrap_or_default();
    let file = tasks.file();
    let name = |address: &String| {
        let task = file.by_address(address.trim());
        task.map(Task::name).ok_or_else(|| AttemptError::NoTask(address.clone()))
    };
    Ok(named.iter().map(name).collect::<Result<_, _>>()?)
}

pub(super) fn options(
    args: &Args,
    typed: GivenFlags,
    settings: &RunSettings,
    caller: &Caller<'_>,
) -> Result<Options, OpError> {
    Ok(Options {
        agents: agents(args, typed, settings, caller)?,
        model: args.model.clone().or_else(|| settings.model.clone()),
        patience: Patience {
            task: args.task_timeout.or(settings.task_timeout).unwrap_or(PATIENCE.task),
            idle: args.idle_timeout.or(settings.idle_timeout).unwrap_or(PATIENCE.idle),
        },
        start: Start {
            max_task_iterations: args.max_task_iterations.or(settings.max_task_iterations),
            max_global_iterations: args.max_global_iterations.or(settings.max_global_iterations),
            recovery_mode: args.recovery_mode.or(settings.recovery_mode),
            approve: args.approve.map(|when| when == ApproveWhen::Phase).or(settings.approve),
            keep_going: args.keep_going.or(settings.keep_going),
            max_tokens: args.max_tokens.or(settings.max_tokens),
            max_cost: args.max_cost.or(settings.max_cost),
            max_millis: args.max_time.or(settings.max_time),
            ..Start::default()
        },
        take_over: args.take_over,
        allow_dirty: args.allow_dirty,
        worktree_setup: settings.worktree_setup.clone(),
        isolate: args.isolate.or(settings.isolate).unwrap_or(false),
        worktree_caches: settings.worktree_caches.clone(),
        accept_git_changes: settings.accept_git_changes.unwrap_or(false),
        keep_days: settings.keep_days,
        branch: branch(args, settings),
        notify: notify(settings),
        plan: None,
    })
}

fn branch(args: &Args, settings: &RunSettings) -> Branch {
    match args.branch.as_deref() {
        Some("") => Branch::OfSpec,
        Some(name) => Branch::Named(name.to_owned()),
        None => settings.branch.clone().unwrap_or(Branch::Here),
    }
}

/// How the user wants to hear of a run.
pub(super) fn notify(settings: &RunSettings) -> Option<Notify> {
    let command = settings.notify.clone()?;
    let on = settings.notify_on.clone().unwrap_or_else(|| Notice::ALL.to_vec());
    Some(Notify { command, on })
}

/// The agents that are there, in the order in which they are asked.
fn agents(
    args: &Args,
    typed: GivenFlags,
    settings: &RunSettings,
    caller: &Caller<'_>,
) -> Result<Vec<Box<dyn Agent>>, OpError> {
    let command = args.agent_command.as_ref().or(settings.agent_command.as_ref());
    let named: Vec<String> = if typed.command_alone {
        vec!["command".into()]
    } else if !args.agent.is_empty() {
        args.agent.clone()
    } else if args.agent_command.is_some() {
        vec!["command".into()]
    } else if !settings.agent.is_empty() {
        settings.agent.clone()
    } else if command.is_some() {
        vec!["command".into()]
    } else {
        let installed = agent::NAMES.into_iter().find(|name| find_program(name).is_some());
        let none = || {
            let names = agent::NAMES.join(", ");
            OpError::NotFound(format!(
                "no agent is installed: none of {names} is on PATH. Install one, or name another \
                 program with --agent-command; `specum demo` needs none"
            ))
        };
        match installed {
            Some(name) => vec![name.to_owned()],
            // What would be worked can be shown without anybody who would work it.
            None if args.dry_run => return Ok(Vec::new()),
            None => return Err(none()),
        }
    };
    let mut agents = Vec::new();
    let mut missing = Vec::new();
    for name in named {
        let agent = agent(name.trim(), command.map(String::as_str))?;
        match agent.program().filter(|program| find_program(program).is_none()) {
            Some(program) => missing.push(program),
            None => agents.push(agent),
        }
    }
    if agents.is_empty() {
        let missing = missing.join(", ");
        return Err(OpError::NotFound(format!(
            "{missing} is not on PATH; install it, or name another agent"
        )));
    }
    for program in missing {
        caller.warn(format!("{program} is not on PATH; it is passed over"));
    }
    Ok(agents)
}

fn agent(name: &str, command: Option<&str>) -> Result<Box<dyn Agent>, OpError> {
    if name == "command" && command.is_none() {
        return Err(OpError::Usage("the agent `command` needs --agent-command".into()));
    }
    agent::by_name(name, command).ok_or_else(|| {
        let all = [&agent::NAMES[..], &["command", "script"]].concat();
        let near = specum_core::nearest(name, all.iter().copied());
        let hint = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", all.join(", ")),
        };
        OpError::Usage(format!("there is no agent `{name}`; {hint}"))
    })
}

/// A cap that an agent cannot report would never be reached, whichever run has
/// set it.
pub(super) fn refuse_caps_that_cannot_bind(
    workspace: &Workspace,
    options: &Options,
) -> Result<(), OpError> {
    let state = workspace.store.read_state().and_then(Result::ok);
    let before = state.map(|state| state.budget).unwrap_or_default();
    let max_cost = options.start.max_cost.or(before.max_cost);
    let max_tokens = options.start.max_tokens.or(before.max_tokens);
    for agent in &options.agents {
        let (name, measures) = (agent.name(), agent.measures());
        if max_cost.is_some() && !measures.cost {
            let instead = if measures.tokens { "; --max-tokens does" } else { "" };
            return Err(OpError::Usage(format!(
                "{name} does not name its price, so --max-cost would not bind{instead}"
            )));
        }
        if max_tokens.is_some() && !measures.tokens {
            return Err(OpError::Usage(format!(
                "{name} does not count its tokens, so --max-tokens would not bind; --max-time does"
            )));
        }
    }
    Ok(())
}

/// A worktree is made from a commit.
fn refuse_isolation_without_commits(
    workspace: &Workspace,
    options: &Options,
) -> Result<(), OpError> {
    let next = match &workspace.git {
        _ if !options.isolate => return Ok(()),
        Ok(git) if git.head().is_some() => return Ok(()),
        Ok(_) => "there is none yet: commit something first",
        Err(_) => "this is no git repository: `git init` makes one, then commit something",
    };
    Err(OpError::Usage(format!(
        "an isolated run works in a worktree, which git makes from a commit, and {next}; or run \
         without --isolate (isolate: true in the settings)"
    )))
}

/// A cap is a person's to raise, and an approval a person's to waive: an agent that has
/// used up its own, or waits, could start a run with another.
fn refuse_an_agent_that_asks_for_more(
    workspace: &Workspace,
    options: &Options,
) -> Result<(), OpError> {
    let state = workspace.store.read_state().and_then(Result::ok);
    let asks = state.is_some_and(|state| options.start.asks_for_more(&state));
    match asks && person::is_an_agents_shell() {
        true => Ok(person::require(workspace.world(), "run", person::Door::Here).map(drop)?),
        false => Ok(()),
    }
}

/// A variable that is almost one of ours was meant to be one.
fn warn_of_misspelt_variables(caller: &Caller<'_>) {
    const OURS: &str = "SPECUM_";
    let command = <Args as clap::Args>::augment_args(clap::Command::new("run"));
    let known: Vec<&str> = command
        .get_arguments()
        .filter_map(|arg| arg.get_env()?.to_str()?.strip_prefix(OURS))
        .collect();
    for (name, _) in std::env::vars_os() {
        let Some(name) = name.to_str().and_then(|name| name.strip_prefix(OURS)) else { continue };
        let near = specum_core::nearest(name, known.iter().copied());
        if let Some(near) = near.filter(|near| *near != name) {
            caller
                .warn(format!("{OURS}{name} is no variable of specum; did you mean {OURS}{near}?"));
        }
    }
}

/// What a shell runs besides the checks, because somebody has set it so.
fn shell_commands(
    args: &Args,
    options: &Options,
    settings: &RunSettings,
) -> BTreeMap<String, String> {
    let is_asked = options.agents.iter().any(|agent| agent.name() == "command");
    let agent = args.agent_command.as_ref().or(settings.agent_command.as_ref());
    let agent = agent.filter(|_| is_asked).map(|command| ("agent_command", command));
    let setup = options.worktree_setup.as_ref().map(|command| ("worktree_setup", command));
    let notify = options.notify.as_ref().map(|notify| ("notify", &notify.command));
    let all = agent.into_iter().chain(setup).chain(notify);
    all.map(|(name, command)| (name.to_owned(), command.clone())).collect()
}
