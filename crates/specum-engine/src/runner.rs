//! `specum run`: a spec worked to its end, with a fresh agent process for each
//! attempt and no coordinating model at all.
//!
//! Every decision is made by [`specum_core::coordinate`], which knows neither clock
//! nor process. The `driver` feeds it with what happens and carries out what it says:
//! the `crew` opens attempts, makes out orders, receives and integrates results; a
//! `worker` carries out one order and knows neither the spec's files nor the run.
//!
//! Killed anywhere, the next run finds in the journal what was under way:
//! `recover` ends survivors, keeps what they left under a reference, and clears
//! it away.

mod author;
mod beginning;
mod crew;
mod driver;
mod foreman;
mod integrate;
mod isolate;
mod leavings;
mod limits;
mod notices;
mod pulse;
mod recover;
mod retain;
mod stay;
#[cfg(feature = "test-support")]
mod stepwise;
mod worker;
mod worktree;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use specum_core::agent::{Agent, Signs};
use specum_core::budget::Budget;
use specum_core::coordinate::agents::Patience;
use specum_core::coordinate::{Broken, Input};
use specum_core::event::{Outcome, RunId};
use specum_core::journal::Entry;
use specum_core::machine::{self, Event, Start};
use specum_core::owner::{Asker, Holder, Owner, Process};
use specum_core::settings::Branch;
use specum_core::spec::Doc;
use specum_core::tasks::TaskKey;
use thiserror::Error;

use self::crew::{Crew, Stop};
use self::pulse::Pulse;
pub use self::recover::{Leftovers, leftovers};
pub use self::stay::{stay, tell_stay, waits_for_a_person};
#[cfg(feature = "test-support")]
pub use self::stepwise::{SteppedRun, SteppedStart, run_stepwise};
use crate::attempt::{AttemptError, Workspace};
use crate::files::FileError;
use crate::git::{GitError, Programs};
use crate::logs;
use crate::names;
use crate::owner;
use crate::ports::{Lock, Repository, World};
use crate::project::Spec;
use crate::ralph_loop;
use crate::store::StoreError;

/// How a person wants the spec worked.
pub struct Options {
    /// In the order in which they are asked; at least one.
    pub agents: Vec<Box<dyn Agent>>,
    /// The model, where an agent has a choice.
    pub model: Option<String>,
    /// How long an agent may take.
    pub patience: Patience,
    /// Limits of the loop.
    pub start: Start,
    /// Whether a session that works the spec is to lose it.
    pub take_over: bool,
    /// Whether changes that are the user's own may lie in the tree.
    pub allow_dirty: bool,
    /// A shell command that prepares a worktree.
    pub worktree_setup: Option<String>,
    /// Whether tasks in sequence are worked in a worktree too.
    pub isolate: bool,
    /// What stays in that worktree from one attempt to the next, below the project.
    pub worktree_caches: Vec<String>,
    /// Whether an agent may change what git starts.
    pub accept_git_changes: bool,
    /// How many days what has grown old is kept.
    pub keep_days: Option<u64>,
    /// The branch that is worked on.
    pub branch: Branch,
    /// How a person who is not watching learns of its end.
    pub notify: Option<Notify>,
    /// What is planned; `None`: the tasks are worked.
    pub plan: Option<PlanGoal>,
}

/// How the documents of a spec are written.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlanGoal {
    /// The last document; `None`: the plan.
    pub until: Option<Doc>,
    /// Whether nobody is asked.
    pub quick: bool,
    /// Whether the checks of a plan are run before it is agreed to.
    pub red: bool,
}

pub use self::notices::Notify;

/// Why a run could not begin or go on.
#[derive(Debug, Error)]
pub enum RunError {
    /// An attempt.
    #[error(transparent)]
    Attempt(#[from] AttemptError),
    /// The spec's files.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file.
    #[error(transparent)]
    File(#[from] FileError),
    /// The repository.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The user has changes of their own.
    #[error(
        "your tree has changes that are not committed: {}. Commit or stash them, or pass \
         --allow-dirty, which leaves them alone",
        listed(.0)
    )]
    Dirty(Vec<String>),
    /// A session works the spec.
    #[error("{spec} is being worked on by {by}; stop it there, or pass --take-over")]
    Held {
        /// The spec.
        spec: String,
        /// Who.
        by: String,
    },
    /// Another run works in the same tree.
    #[error(
        "another `specum run` works in this tree{}; wait for its end, or run in a git worktree of \
         its own",
        .by.as_ref().map(|by| format!(", {by}")).unwrap_or_default()
    )]
    TreeInUse {
        /// On which spec, and as which process, where that is known.
        by: Option<String>,
    },
    /// An attempt has ended of which the journal knows nothing, again.
    #[error(
        "the journal knows nothing of the attempt at task {0} that has just ended, for the second \
         time: something deletes .ralph-journal.jsonl, or what is in it"
    )]
    Forgotten(String),
    /// An attempt has changed what git starts, and nobody has accepted it.
    #[error(
        "an attempt has changed what git starts: {}. Look at it; `specum accept git` takes it, and \
         so does putting it back",
        listed(.0)
    )]
    GitChanged(Vec<String>),
    /// Something went wrong in a worktree whose work could not be kept.
    #[error("{error}. Its work is kept nowhere else, so the worktree stays: {}", .path.display())]
    InWorktree {
        /// What.
        error: Box<RunError>,
        /// The worktree.
        path: PathBuf,
    },
    /// A limit on processes, which counts threads.
    #[error("cannot start a thread: {0}; is there a limit on processes (`ulimit -u`)?")]
    Thread(std::io::Error),
    /// A worktree could not be prepared.
    #[error("worktree_setup failed ({how}):\n{output}")]
    Setup {
        /// How it ended.
        how: String,
        /// The end of what it printed.
        output: String,
    },
}

impl RunError {
    /// The same, with the place where work is that nothing else holds.
    fn in_worktree(self, path: &Path) -> RunError {
        match self {
            RunError::InWorktree { .. } => self,
            error => RunError::InWorktree { error: Box::new(error), path: path.to_owned() },
        }
    }
}

/// What a run writes into the lock of a work tree, for those it keeps out.
#[derive(Serialize, Deserialize)]
struct TreeUser {
    spec: String,
    process: Process,
}

/// How long a lock is waited for whose holder is gone, or has not said who it is.
const LETTING_GO: Duration = Duration::from_secs(2);
/// How long is waited before a lock is looked at again.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// The longest note in the lock of a tree worth reading.
const MAX_NOTE: u64 = 64 * 1024;

/// How many messages may wait for the driver. Beyond that the sender waits: the output
/// of an agent that prints without end is held up, not kept in memory.
const WAITING_MESSAGES: usize = 32;

fn listed(paths: &[String]) -> String {
    const SHOWN: usize = 5;
    let more = paths.len().saturating_sub(SHOWN);
    let shown = paths.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

/// Receives what happens in a run and is recorded nowhere. A run goes on without a
/// listener: nothing here fails, and only [`Listener::keep_pace`] ever waits.
/// Everything else is in the [feed](crate::feed).
pub trait Listener: Sync {
    /// An agent said all this.
    fn said(&self, task: TaskKey, signs: Signs);
    /// Time has passed; called about ten times a second.
    fn tick(&self);
    /// Waits for a reader that is merely slow. For those who have nothing to do but
    /// to tell, and never for the thread that listens to signals.
    fn keep_pace(&self);
}

/// What those who work for a run tell its driver.
enum Message {
    /// Something the coordinator has to know.
    Input(Input),
    /// Something has failed that is no attempt's fault.
    Broke(Broken, Box<RunError>),
    /// A thread has panicked.
    Panicked,
}

/// Tells the driver something the coordinator has to know.
type Tell<'t> = dyn Fn(Input) + 't;

/// What a run came to.
struct RunResult {
    outcome: Result<Outcome, RunError>,
    /// Time that is not part of what is spent yet.
    uncharged: u64,
}

/// An id that no other run has.
pub fn run_id(world: &World) -> RunId {
    let (at, process, count) = world.new_id();
    RunId::new(at, process, count)
}

/// Works a spec until it is done or something says stop. Every record names the run
/// that the store [writes as](crate::store::Store::write_as).
pub fn run(
    workspace: &Workspace,
    options: &Options,
    listener: &dyn Listener,
) -> Result<Outcome, RunError> {
    run_by(workspace, options, listener, driver::drive)
}

/// The same, with a given driver of the coordinator.
fn run_by(
    workspace: &Workspace,
    options: &Options,
    listener: &dyn Listener,
    drive: impl FnOnce(&Crew<'_>, Beginning) -> Result<RunResult, RunError>,
) -> Result<Outcome, RunError> {
    let world = workspace.world();
    let began = world.clock.elapsed();
    world.launcher.begin_run(&workspace.spec.dir);
    let holding = acquire(workspace, options)?;
    let worked = work(workspace, options, &holding.news, listener, |crew, budget| {
        drive(crew, Beginning { at: began, budget })
    });
    let worked = worked.unwrap_or_else(|error| RunResult { outcome: Err(error), uncharged: 0 });
    // Whatever happened: what was under way is put away, and others may work.
    let put_away = waits_for_git(workspace, options).and_then(|waits| match waits {
        // Not a call of git before a person has looked: it may start something.
        Some(_) => recover::end_survivors(workspace),
        None => recover::recover(workspace, None),
    });
    // A warning that cannot be recorded is lost; the release then fails as well.
    let warned = workspace.take_news().into_iter().try_for_each(|text| workspace.warn(text));
    // The first thing that went wrong is the one to tell.
    let outcome = worked
        .outcome
        .and_then(|outcome| put_away.map(|()| outcome))
        .and_then(|outcome| Ok(warned.map(|()| outcome)?));
    let told = outcome.as_ref().map_or_else(failed, Outcome::clone);
    notices::tell_end(workspace, options, &told);
    let released = release(workspace, told, worked.uncharged, began);
    outcome.and_then(|outcome| released.map(|()| outcome))
}

/// What an error is for the journal.
fn failed(error: &RunError) -> Outcome {
    Outcome::Failed { why: error.to_string() }
}

/// What a run begins with.
struct Beginning {
    /// When, by the clock that does not jump.
    at: Duration,
    budget: Budget,
}

/// What keeps others away as long as a run works.
struct Holding {
    /// What a person should know before the first task.
    news: Vec<String>,
    _pulse: Pulse,
    _alone: Option<AloneInTree>,
}

/// The lock of a tree, and what git may know of it.
pub(crate) struct AloneInTree {
    git: Arc<dyn Repository>,
    _lock: Box<dyn Lock>,
}

impl Drop for AloneInTree {
    fn drop(&mut self) {
        self.git.be_alone(false);
    }
}

/// Makes the spec ours, and the tree fit to be worked in.
fn acquire(workspace: &Workspace, options: &Options) -> Result<Holding, RunError> {
    workspace.bring_back()?;
    let state = workspace.store.read_state().and_then(Result::ok);
    let me = workspace.world().launcher.me();
    let holder = owner::holder(&workspace.store, state.as_ref(), Asker::Runner(&me));
    if let Holder::Other(owner) = &holder {
        let by = owner.description();
        let spec = workspace.spec.name.clone();
        match owner {
            // Nobody takes over from a process that is at work in the tree.
            Owner::Runner { .. } => return Err(AttemptError::Held { spec, by }.into()),
            Owner::Session { .. } if options.take_over => {}
            Owner::Session { .. } => return Err(RunError::Held { spec, by }),
        }
    }
    workspace.world().launcher.refuse_without_temporaries()?;
    let alone = alone_in_tree(workspace)?;
    if let Some(what) = waits_for_git(workspace, options)? {
        return Err(RunError::GitChanged(what));
    }
    // Before we beat ourselves.
    let until = recover::worked_until_then(workspace);
    let pulse = Pulse::start(workspace, &me)?;
    if let Ok(git) = &workspace.git {
        // No agent can fix that, and each would use up its attempts.
        git.refuse_without_identity()?;
    }
    let is_first = options.plan.is_none() && beginning::is_first_run(workspace)?;
    let mut news = beginning::take_branch(workspace, options)?;
    if is_first {
        news.extend(beginning::first_words(workspace, options)?);
    }
    let owner = Some(Owner::Runner { process: me });
    let start = Start { owner, ..options.start.clone() };
    match &options.plan {
        Some(plan) => workspace.hold_planning(&start, plan.quick)?,
        None => drop(workspace.start_after(start, &holder)?),
    }
    // A session that another plugin drives would be sent back to the same work.
    let ended = ralph_loop::end(&workspace.spec).map_err(RunError::from);
    let recovered = ended.and_then(|_| recover::recover(workspace, until));
    // An author works in a worktree, and what it writes is one file of the spec.
    let needs_no_clean_tree = options.allow_dirty || options.isolate || options.plan.is_some();
    let ready = recovered.and_then(|()| match needs_no_clean_tree {
        true => Ok(()),
        false => refuse_dirty(workspace),
    });
    if let Err(error) = &ready {
        let why = format!("not begun: {error}");
        release(workspace, Outcome::Failed { why }, 0, workspace.world().clock.elapsed())?;
    }
    ready.map(|()| Holding { news, _pulse: pulse, _alone: alone })
}

/// What of that which git starts was changed by an attempt, if it is so still and
/// nobody has accepted it.
fn waits_for_git(
    workspace: &Workspace,
    options: &Options,
) -> Result<Option<Vec<String>>, RunError> {
    let ledger = workspace.store.ledger()?;
    let (Ok(git), Some(change), false) =
        (&workspace.git, ledger.git_change(), options.accept_git_changes)
    else {
        return Ok(None);
    };
    let is_put_back = git.programs(None)?.digest() == change.before;
    Ok((!is_put_back).then(|| change.what.clone()))
}

/// Keeps other runs out of this work tree, also those of other specs: nobody could tell what
/// their agents change from what ours do, and each would commit, or put away,
/// the other's work.
pub(crate) fn alone_in_tree(workspace: &Workspace) -> Result<Option<AloneInTree>, RunError> {
    let Ok(git) = &workspace.git else { return Ok(None) };
    let path = git.run_lock()?;
    let spec = workspace.spec.name.clone();
    let world = workspace.world();
    match lock_of_the_living(world, &path)? {
        Some(mut lock) => {
            let note = serde_json::to_vec(&TreeUser { spec, process: world.launcher.me() });
            // Without the note, the message for other runs says less.
            let _ = lock.note(&note.expect("plain data is JSON"));
            git.be_alone(true);
            Ok(Some(AloneInTree { git: Arc::clone(git), _lock: lock }))
        }
        None => Err(match tree_user(world, &path) {
            Some(TreeUser { spec: other, process }) if other == spec => {
                AttemptError::Held { spec, by: Owner::Runner { process }.description() }.into()
            }
            other => {
                let by = other.map(|user| format!("on {} ({})", user.spec, user.process));
                RunError::TreeInUse { by }
            }
        }),
    }
}

/// Takes the lock of a tree. A child of a killed run that has not become another
/// program yet holds it for a moment more; that is waited for.
fn lock_of_the_living(world: &World, path: &Path) -> Result<Option<Box<dyn Lock>>, FileError> {
    let clock = &world.clock;
    let began = clock.elapsed();
    loop {
        match world.disk.lock(path, Duration::ZERO)? {
            None if clock.elapsed() - began < LETTING_GO && tree_user(world, path).is_none() => {
                clock.sleep(BETWEEN_LOOKS);
            }
            taken => return Ok(taken),
        }
    }
}

/// Who works in a tree, if its lock tells. A run that was killed has left its
/// note, and the next one may not have written its own yet.
fn tree_user(world: &World, lock: &Path) -> Option<TreeUser> {
    let note = world.disk.read(lock, MAX_NOTE).ok()?;
    let user: TreeUser = serde_json::from_slice(&note).ok()?;
    let is_here = user.process.space.as_ref() == Some(world.launcher.space());
    let is_gone = is_here && world.launcher.is_alive(&user.process) == Some(false);
    (!is_gone).then_some(user)
}

/// Deletes the logs of a spec that is about to be deleted itself.
pub fn forget(spec: &Spec) {
    for place in [logs::log_dir(spec), names::worktrees_dir(spec)].into_iter().flatten() {
        // Copies that are not needed any more.
        let _ = spec.world.disk.remove_tree(&place);
    }
}

/// Puts away what runs have left that did not get to their end, and what has
/// grown old; says what was deleted.
pub fn repair(workspace: &Workspace, keep_days: Option<u64>) -> Result<Vec<String>, RunError> {
    let _alone = alone_in_tree(workspace)?;
    recover::recover(workspace, recover::worked_until_then(workspace))?;
    retain::forget_old(workspace, keep_days)
}

/// The same for a session that goes on where a run was killed: what its agents left is
/// kept under a reference, and what a person changed since is no session's work.
pub fn put_away_killed(workspace: &Workspace) -> Result<(), RunError> {
    if workspace.store.ledger()?.unsettled().is_empty() {
        return Ok(());
    }
    workspace.refuse_while_a_run_works()?;
    let _alone = alone_in_tree(workspace)?;
    recover::recover(workspace, recover::worked_until_then(workspace))
}

/// The same for a run that was killed after its last verdict: where every box is ticked,
/// no further run begins that would do it.
pub fn put_away_finished(workspace: &Workspace) -> Result<(), RunError> {
    if workspace.store.read_beat().is_none() {
        return Ok(());
    }
    let _alone = alone_in_tree(workspace)?;
    let until = recover::worked_until_then(workspace);
    let _pulse = Pulse::start(workspace, &workspace.world().launcher.me())?;
    recover::recover(workspace, until)
}

/// Refuses a tree that a run would refuse, before anything is paid for.
pub fn refuse_dirty_tree(workspace: &Workspace, options: &Options) -> Result<(), RunError> {
    match options.allow_dirty || options.isolate || workspace.git.is_err() {
        true => Ok(()),
        false => refuse_dirty(workspace),
    }
}

/// Refuses a tree with changes of the user's own: afterwards they could not be told
/// from an agent's.
fn refuse_dirty(workspace: &Workspace) -> Result<(), RunError> {
    match workspace.foreign_changes()? {
        changes if changes.is_empty() => Ok(()),
        changes => Err(RunError::Dirty(changes)),
    }
}

fn work(
    workspace: &Workspace,
    options: &Options,
    news: &[String],
    listener: &dyn Listener,
    drive: impl FnOnce(&Crew<'_>, Budget) -> Result<RunResult, RunError>,
) -> Result<RunResult, RunError> {
    let agents: Vec<String> = options.agents.iter().map(|agent| agent.name().to_owned()).collect();
    let view = workspace.store.read()?;
    let budget = view.state.as_ref().map(|state| state.budget.clone()).unwrap_or_default();
    workspace.store.lock()?.record(Entry::RunStarted {
        spec: workspace.spec.name.clone(),
        total: view.file().count(),
        done: view.file().done_count(),
        agents,
        jobs: workspace.scope.max_parallel,
        caps: budget.caps(),
    })?;
    let warnings = news.iter().cloned().chain(workspace.take_news());
    let warnings = warnings.chain(lost_commits(workspace)?);
    let warnings = warnings.chain(retain::forget_old(workspace, options.keep_days)?);
    warnings.into_iter().try_for_each(|text| workspace.warn(text))?;
    let programs = match &workspace.git {
        Ok(git) => git.programs(None)?,
        Err(_) => Programs::default(),
    };
    // Not by a message: those who are to stop may have filled the line.
    let stop = Arc::new(Stop::default());
    let interrupted = Arc::clone(&stop);
    let launcher = &workspace.world().launcher;
    launcher.when_interrupted(Box::new(move || interrupted.set(Outcome::Interrupted)));
    let store = workspace.store.clone();
    let say = move |text| {
        // Nothing that waits for git holds the spec's lock. If the warning cannot be
        // recorded, the wait goes on all the same.
        let _ = store.lock().and_then(|locked| locked.record(Entry::Warning { text }));
    };
    if let Ok(git) = &workspace.git {
        git.say_to(Some(Box::new(say)));
    }
    let crew = Crew {
        workspace,
        options,
        listener,
        stop: &stop,
        programs: Mutex::new(programs),
        works: Mutex::default(),
        warm: Mutex::default(),
        starts: Mutex::default(),
    };
    let worked = drive(&crew, budget);
    if let Ok(git) = &workspace.git {
        git.say_to(None);
    }
    worked
}

/// Lets others work the spec, and tells the journal how it ended.
fn release(
    workspace: &Workspace,
    outcome: Outcome,
    uncharged: u64,
    began: Duration,
) -> Result<(), RunError> {
    let locked = workspace.store.lock()?;
    let view = locked.read()?;
    let (done, total) = (view.file().done_count(), view.file().count());
    let entry =
        Entry::RunEnded { outcome, done, total, millis: workspace.world().millis_since(began) };
    match &view.state {
        Some(state) if owner::is_this_run(workspace.world(), state) => {
            let event = Event::Release { millis: uncharged };
            locked.write_step(entry, &machine::step(state, &view.file(), event))?;
        }
        _ => locked.record(entry)?,
    }
    Ok(())
}

/// Why the commits of a run will not be where a person looks for them, and what
/// to do about it.
fn lost_commits(workspace: &Workspace) -> Result<Option<String>, GitError> {
    let git = match &workspace.git {
        Ok(git) => git,
        Err(why) => {
            let text = format!("no commits will be made, and groups run in sequence: {why}");
            return Ok(Some(text));
        }
    };
    let status = git.status()?;
    let is_detached = status.head.is_some() && status.branch.is_none();
    Ok(is_detached.then(|| {
        "HEAD is detached: the commits of this run belong to no branch; `git switch -c <name>` \
         gives them one"
            .to_owned()
    }))
}
