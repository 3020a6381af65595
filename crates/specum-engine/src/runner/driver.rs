//! Drives the coordinator of a run with threads: whatever happens becomes one input
//! after another, and what it says is carried out.
//!
//! One thread does what touches the user's tree, one thing after another; each start of
//! an agent has a thread of its own; the rest, which takes no time, is done here: time,
//! signals, what others do to the spec, what is spent.

use std::collections::BTreeMap;
use std::fs;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread::{self, Scope};
use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;
use specum_core::agent::Trouble;
use specum_core::attempt::AttemptId;
use specum_core::budget::{Budget, Charge};
use specum_core::coordinate::agents::{Millis, WaitClock};
use specum_core::coordinate::{Action, Broken, Candidate, Coordinator, Input, Launch};
use specum_core::event::Outcome;
use specum_core::journal::Entry;
use specum_core::machine::{self, Event};

use super::crew::{Crew, StartRequest, lock};
use super::{Message, RunError, RunResult, WAITING_MESSAGES, millis_since};
use crate::attempt::Workspace;
use crate::clock;
use crate::os;
use crate::owner;
use crate::process::{self, Handle};

/// How often we look around when nothing happens.
const TICK: Duration = Duration::from_millis(100);
/// If we have not looked around for that long, we were stopped, or the machine
/// was.
const ABSENCE: Duration = Duration::from_secs(1);

/// Works until the coordinator says that the run is over.
pub(super) fn drive(
    crew: &Crew<'_>,
    began: Instant,
    budget: Budget,
) -> Result<RunResult, RunError> {
    let (line, messages) = mpsc::sync_channel(WAITING_MESSAGES);
    let (tree, jobs) = mpsc::channel();
    thread::scope(|scope| {
        let answers = line.clone();
        let work = move || work_in_tree(crew, &jobs, &answers);
        thread::Builder::new().spawn_scoped(scope, work).map_err(RunError::Thread)?;
        Ok(Driver::new(crew, scope, (began, budget), (line, tree)).drive(&messages))
    })
}

/// Something that is done in the user's tree.
enum TreeJob {
    Open,
    CompleteIfDone,
    Check(AttemptId),
    Integrate(AttemptId),
    GiveUp(AttemptId, Trouble),
}

/// Does one job after another, and answers each.
fn work_in_tree(crew: &Crew<'_>, jobs: &Receiver<TreeJob>, line: &SyncSender<Message>) {
    // Without an answer the driver would wait for ever.
    let _fuse = Fuse(line);
    for job in jobs {
        let (done, attempt) = match &job {
            TreeJob::Open => (crew.open(), None),
            TreeJob::CompleteIfDone => (crew.complete_if_done(), None),
            TreeJob::Check(attempt) => (crew.check(attempt), Some(attempt)),
            TreeJob::Integrate(attempt) => (crew.integrate(attempt), Some(attempt)),
            TreeJob::GiveUp(attempt, trouble) => (crew.give_up(attempt, trouble), Some(attempt)),
        };
        let done = done.or_else(|error| {
            crew.clear_tree()?;
            crew.meaning_of(error, attempt)
        });
        let broken = || attempt.map_or(Broken::Open, |attempt| Broken::Attempt(attempt.clone()));
        let message = match done {
            Ok(Input::Stop(outcome)) => {
                let _ = line.send(Message::Input(Input::Stop(outcome)));
                // The job itself is answered too.
                Message::Input(match (&job, attempt) {
                    (_, Some(attempt)) => Input::BrokenOff(attempt.clone()),
                    (TreeJob::CompleteIfDone, None) => Input::NotDone,
                    (_, None) => Input::Opened(Vec::new()),
                })
            }
            Ok(input) => Message::Input(input),
            Err(error) => Message::Broke(broken(), Box::new(error)),
        };
        // A driver that is gone has ended the run.
        let _ = line.send(message);
    }
}

/// Says so if the thread that holds it panics.
struct Fuse<'l>(&'l SyncSender<Message>);

impl Drop for Fuse<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let _ = self.0.send(Message::Panicked);
        }
    }
}

struct Driver<'scope, 'env> {
    crew: &'env Crew<'env>,
    scope: &'scope Scope<'scope, 'env>,
    coordinator: Coordinator,
    line: SyncSender<Message>,
    tree: Sender<TreeJob>,
    began: Instant,
    /// The same by the clock on the wall.
    began_at: Timestamp,
    waits: WaitClock,
    looked: Instant,
    handles: BTreeMap<Launch, Handle>,
    /// The state file as we saw it last, if we have looked.
    seen: Option<Option<FileVersion>>,
    /// Whether the coordinator knows that everybody is to stop.
    has_told_stop: bool,
    /// What has failed first.
    failure: Option<RunError>,
    outcome: Option<Outcome>,
}

/// Tells one version of a file from another: every write is a rename.
#[derive(PartialEq, Eq)]
struct FileVersion {
    modified: Option<SystemTime>,
    identity: u64,
}

impl<'scope, 'env> Driver<'scope, 'env> {
    fn new(
        crew: &'env Crew<'env>,
        scope: &'scope Scope<'scope, 'env>,
        (began, budget): (Instant, Budget),
        (line, tree): (SyncSender<Message>, Sender<TreeJob>),
    ) -> Self {
        let options = crew.options;
        let candidates = options.agents.iter().map(|agent| Candidate {
            name: agent.name().to_owned(),
            measures: agent.measures(),
            sign_in: agent.sign_in().to_owned(),
        });
        let candidates = candidates.collect();
        let places = crew.workspace.scope.max_parallel;
        Driver {
            crew,
            scope,
            coordinator: Coordinator::new(candidates, options.patience, budget, places),
            line,
            tree,
            began,
            began_at: clock::now(),
            waits: WaitClock::default(),
            looked: began,
            handles: BTreeMap::new(),
            seen: None,
            has_told_stop: false,
            failure: None,
            outcome: None,
        }
    }

    fn drive(mut self, messages: &Receiver<Message>) -> RunResult {
        self.tell(Input::Tick);
        let outcome = loop {
            if let Some(outcome) = self.outcome.take() {
                break outcome;
            }
            let first = match messages.recv_timeout(TICK) {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break Outcome::Interrupted,
            };
            // All that waits, before anybody is found to be silent.
            let waiting = messages.try_iter().take(WAITING_MESSAGES);
            for message in first.into_iter().chain(waiting) {
                match message {
                    Message::Input(input) => self.tell(input),
                    Message::Broke(broken, error) => self.broke(broken, *error),
                    // Told when the thread is joined.
                    Message::Panicked => self.outcome = Some(Outcome::Interrupted),
                }
            }
            self.look_around();
        };
        let uncharged = self.coordinator.uncharged(self.now());
        RunResult { outcome: self.failure.map_or(Ok(outcome), Err), uncharged }
    }

    fn now(&self) -> Millis {
        millis_since(self.began).saturating_mul(haste())
    }

    /// The time by which waits begin and end.
    fn waiting_now(&mut self) -> Millis {
        let wall = clock::now().as_millisecond() - self.began_at.as_millisecond();
        let wall = u64::try_from(wall).unwrap_or(0).saturating_mul(haste());
        self.waits.now(self.now(), wall)
    }

    /// Tells the coordinator what has happened, and carries out what it says.
    fn tell(&mut self, input: Input) {
        // First of all: what has ended may have died of the signal that ends us.
        if !self.has_told_stop
            && let Some(why) = self.crew.stop.get()
        {
            self.has_told_stop = true;
            self.tell(Input::Stop(why));
        }
        let (now, waiting_now) = (self.now(), self.waiting_now());
        if !matches!(input, Input::Tick | Input::Printed(_) | Input::Said(..)) {
            tracing::debug!(?input, "tells the coordinator");
        }
        for action in self.coordinator.handle(now, waiting_now, input) {
            self.carry_out(action);
        }
    }

    /// Something has failed that is no attempt's fault. Those who run are ended in
    /// order before the error is told.
    fn broke(&mut self, broken: Broken, error: RunError) {
        self.failure.get_or_insert(error);
        self.tell(Input::Broke(broken));
    }

    /// What nobody tells us.
    fn look_around(&mut self) {
        if self.looked.elapsed() < TICK {
            return;
        }
        if self.looked.elapsed() > ABSENCE {
            self.tell(Input::WasAway);
        }
        self.looked = Instant::now();
        if let Some(outcome) = self.look_at_state() {
            self.tell(Input::Stop(outcome));
        }
        self.tell(Input::Tick);
        self.crew.listener.tick();
    }

    /// A person may pause or end the loop, or give it to somebody else, from
    /// another terminal.
    fn look_at_state(&mut self) -> Option<Outcome> {
        let workspace = self.crew.workspace;
        let seen = fs::metadata(workspace.store.state_path()).ok().map(|file| FileVersion {
            modified: file.modified().ok(),
            identity: os::identity(&file),
        });
        if self.seen.as_ref() == Some(&seen) {
            return None;
        }
        self.seen = Some(seen);
        match workspace.store.read_state() {
            // The loop ends too, when every box is ticked.
            None if workspace.was_cancelled() => Some(Outcome::Cancelled),
            // `git clean -x` by an agent, for one.
            None if !workspace.is_complete() => {
                let is_lost = workspace.bring_back().is_err() || !workspace.store.has_state();
                is_lost.then(|| {
                    let why = "the loop's state was deleted while it ran; `specum run` begins \
                               anew from the boxes";
                    Outcome::Blocked { why: why.to_owned() }
                })
            }
            Some(Ok(state)) if !owner::is_this_run(&state) => Some(Outcome::TakenOver),
            Some(Ok(state)) if state.awaiting_approval && state.blocked.is_none() => {
                Some(Outcome::Paused)
            }
            None | Some(_) => None,
        }
    }

    fn carry_out(&mut self, action: Action) {
        tracing::debug!(?action, "carries out");
        match action {
            Action::Open => self.in_tree(TreeJob::Open),
            Action::CompleteIfDone => self.in_tree(TreeJob::CompleteIfDone),
            Action::Check(attempt) => self.in_tree(TreeJob::Check(attempt)),
            Action::Integrate(attempt) => self.in_tree(TreeJob::Integrate(attempt)),
            Action::GiveUp { attempt, trouble } => {
                self.in_tree(TreeJob::GiveUp(attempt, trouble));
            }
            Action::Join { room } => self.join(room),
            Action::Start { launch, attempt, agent, max_cost } => {
                self.start(StartRequest { launch, attempt, agent, max_cost });
            }
            Action::End(launch) => {
                self.handles.get(&launch).inspect(|handle| handle.end());
            }
            Action::EndAll => {
                self.crew.stop.set(Outcome::Interrupted);
                self.has_told_stop = true;
                self.handles.values().for_each(Handle::doom);
                process::end_everything();
            }
            Action::Charge { launch, attempt, agent, charge, millis } => {
                self.handles.remove(&launch);
                let charged = self.charge((launch, &attempt, agent), charge, millis);
                self.or_break(charged);
            }
            Action::TellChange { from, to, why } => {
                let (from, to) = (self.name(from), self.name(to));
                self.record(Entry::AgentChanged { from, to, why });
            }
            Action::TellWait { agent, millis, why } => {
                let agent = self.name(agent);
                self.record(Entry::Waited { agent, why, millis });
            }
            Action::TellHeldBack => {
                let text = "not all tasks of the group start at once: with --max-cost the first \
                            start of an agent works alone until its price is known, and the next \
                            ones as the rest of the cap allows";
                self.record(Entry::Warning { text: text.to_owned() });
            }
            Action::TellForgotten(task) => {
                self.failure.get_or_insert(RunError::Forgotten(task));
            }
            Action::Finish(outcome) => self.outcome = Some(outcome),
        }
    }

    fn in_tree(&self, job: TreeJob) {
        // A thread that is gone has panicked, which is told when it is joined.
        let _ = self.tree.send(job);
    }

    fn join(&mut self, room: usize) {
        match self.crew.join(room).or_else(|error| self.crew.meaning_of(error, None)) {
            Ok(Input::Stop(outcome)) => {
                self.tell(Input::Stop(outcome));
                self.tell(Input::Opened(Vec::new()));
            }
            Ok(input) => self.tell(input),
            Err(error) => self.broke(Broken::Join, error),
        }
    }

    /// Lets an agent work in a thread of its own.
    fn start(&mut self, request: StartRequest) {
        let (launch, attempt) = (request.launch, request.attempt.clone());
        let handle = Handle::default();
        self.handles.insert(launch, handle.clone());
        let (crew, line) = (self.crew, self.line.clone());
        let work = move || see_through(crew, &request, handle, &line);
        let spawned = thread::Builder::new().spawn_scoped(self.scope, work);
        if let Err(error) = spawned {
            self.broke(Broken::Start(launch, attempt), RunError::Thread(error));
        }
    }

    fn charge(
        &self,
        (launch, attempt, agent): (Launch, &AttemptId, usize),
        charge: Charge,
        millis: Millis,
    ) -> Result<(), RunError> {
        let workspace = self.crew.workspace;
        let work = self.crew.work(attempt)?;
        let end = lock(&self.crew.starts).remove(&launch);
        let entry = Entry::Charged {
            task: workspace.key_now(&work.attempt)?,
            attempt: work.attempt.number,
            agent: self.name(agent),
            tokens: charge.tokens,
            cost: charge.cost,
            estimated: charge.estimated,
            millis: end.as_ref().map_or(0, |end| end.millis),
            log: end.map(|end| end.log.to_string_lossy().into_owned()),
        };
        write_charge(workspace, attempt, entry, charge, millis)
    }

    fn name(&self, agent: usize) -> String {
        self.crew.options.agents[agent].name().to_owned()
    }

    fn record(&mut self, entry: Entry) {
        let store = &self.crew.workspace.store;
        let recorded = store.lock().and_then(|locked| locked.record(entry));
        self.or_break(recorded.map_err(RunError::from));
    }

    fn or_break(&mut self, done: Result<(), RunError>) {
        if let Err(error) = done {
            self.broke(Broken::Other, error);
        }
    }
}

/// Starts an agent, and sees its work through to what the coordinator has to know.
fn see_through(
    crew: &Crew<'_>,
    request: &StartRequest,
    handle: Handle,
    line: &SyncSender<Message>,
) {
    let _fuse = Fuse(line);
    let (launch, attempt) = (request.launch, &request.attempt);
    let send = |message| {
        // A driver that is gone has ended the run.
        let _ = line.send(message);
    };
    let done = crew.start(request, handle, line);
    match done.or_else(|error| crew.meaning_of(error, Some(attempt)).map(Some)) {
        Ok(None) => {}
        Ok(Some(stop @ Input::Stop(_))) => {
            send(Message::Input(stop));
            send(Message::Input(Input::NotStarted(launch)));
            send(Message::Input(Input::BrokenOff(attempt.clone())));
        }
        Ok(Some(input)) => send(Message::Input(input)),
        Err(error) => {
            send(Message::Broke(Broken::Start(launch, attempt.clone()), Box::new(error)));
        }
    }
}

/// Writes down what is spent.
pub(super) fn write_charge(
    workspace: &Workspace,
    attempt: &AttemptId,
    entry: Entry,
    charge: Charge,
    millis: Millis,
) -> Result<(), RunError> {
    let locked = workspace.store.lock()?;
    let view = locked.read()?;
    match &view.state {
        Some(state) => {
            let step = machine::step(state, &view.file(), Event::Charge { charge, millis });
            locked.write_step_of(attempt, entry, &step)?;
        }
        // Cancelled meanwhile: what was spent is told nevertheless.
        None => locked.record_of(attempt, entry)?,
    }
    Ok(())
}

/// How many times faster our clock runs: tests do not want to wait for hours.
fn haste() -> u64 {
    #[cfg(feature = "test-support")]
    if let Some(haste) = std::env::var("SPECUM_HASTE").ok().and_then(|haste| haste.parse().ok()) {
        return haste;
    }
    1
}
