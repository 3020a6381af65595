//! Drives the coordinator of a run: whatever happens becomes one input after another,
//! and what it says is carried out.
//!
//! What touches the user's tree is done one thing after another, and each start of an
//! agent is seen through by itself: [`Hands`] do both, which are threads, or a
//! simulation. The rest, which takes no time, is done here: time, signals, what others
//! do to the spec, what is spent.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread::{self, Scope};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use specum_core::agent::Trouble;
use specum_core::attempt::AttemptId;
use specum_core::budget::Charge;
use specum_core::coordinate::agents::{Millis, WaitClock};
use specum_core::coordinate::{Action, Broken, Candidate, Coordinator, Input, Launch};
use specum_core::event::Outcome;
use specum_core::journal::Entry;
use specum_core::machine::{self, Event};
use specum_core::state::Standing;

use super::crew::{Crew, StartRequest, lock};
use super::notices;
use super::{Beginning, Message, RunError, RunResult, WAITING_MESSAGES};
use crate::attempt::Workspace;
use crate::owner;
use crate::ports::FileInfo;
use crate::process::Handle;

/// How often we look around when nothing happens.
const TICK: Duration = Duration::from_millis(100);
/// If we have not looked around for that long, we were stopped, or the machine
/// was.
const ABSENCE: Duration = Duration::from_secs(1);

/// Works with threads until the coordinator says that the run is over.
pub(super) fn drive(crew: &Crew<'_>, beginning: Beginning) -> Result<RunResult, RunError> {
    let (line, messages) = mpsc::sync_channel(WAITING_MESSAGES);
    let (tree, jobs) = mpsc::channel();
    thread::scope(|scope| {
        let answers = line.clone();
        let work = move || work_in_tree(crew, &jobs, &answers);
        thread::Builder::new().spawn_scoped(scope, work).map_err(RunError::Thread)?;
        let hands = Threads { crew, scope, line, tree };
        Ok(drive_by_messages(Driver::new(crew, beginning, hands), &messages))
    })
}

fn drive_by_messages(
    mut driver: Driver<'_, impl Hands>,
    messages: &Receiver<Message>,
) -> RunResult {
    driver.tell(Input::Tick);
    while !driver.is_over() {
        let first = match messages.recv_timeout(TICK) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        // Takes all waiting messages before it looks for silent agents.
        let waiting = messages.try_iter().take(WAITING_MESSAGES);
        first.into_iter().chain(waiting).for_each(|message| driver.take(message));
        driver.look_around();
    }
    driver.result()
}

/// Who does what takes time.
pub(super) trait Hands {
    /// Does something in the user's tree, after what was asked for before.
    fn in_tree(&self, job: TreeJob);
    /// Starts an agent, and sees its work through.
    fn start(&self, request: StartRequest, handle: Handle) -> io::Result<()>;
}

/// Threads: one for the user's tree, and one for each start.
struct Threads<'scope, 'env> {
    crew: &'env Crew<'env>,
    scope: &'scope Scope<'scope, 'env>,
    line: SyncSender<Message>,
    tree: Sender<TreeJob>,
}

impl Hands for Threads<'_, '_> {
    fn in_tree(&self, job: TreeJob) {
        // A thread that is gone has panicked; joining it says so.
        let _ = self.tree.send(job);
    }

    fn start(&self, request: StartRequest, handle: Handle) -> io::Result<()> {
        let (crew, line) = (self.crew, self.line.clone());
        let work = move || {
            let _fuse = Fuse(&line);
            see_through(crew, &request, handle, &|message| {
                // A driver that is gone has ended the run.
                let _ = line.send(message);
            });
        };
        thread::Builder::new().spawn_scoped(self.scope, work).map(drop)
    }
}

/// Something that is done in the user's tree.
pub(super) enum TreeJob {
    Open,
    CompleteIfDone,
    Check(AttemptId),
    Integrate(AttemptId),
    GiveUp(AttemptId, Trouble),
    Drop(AttemptId),
}

/// Does one job after another, and answers each.
fn work_in_tree(crew: &Crew<'_>, jobs: &Receiver<TreeJob>, line: &SyncSender<Message>) {
    // Without an answer the driver would wait for ever.
    let _fuse = Fuse(line);
    for job in jobs {
        for message in do_job(crew, &job) {
            // A driver that is gone has ended the run.
            let _ = line.send(message);
        }
    }
}

/// Does one job; what the driver is told of it.
pub(super) fn do_job(crew: &Crew<'_>, job: &TreeJob) -> Vec<Message> {
    let (done, attempt) = match job {
        TreeJob::Open => (crew.open(), None),
        TreeJob::CompleteIfDone => (crew.complete_if_done(), None),
        TreeJob::Check(attempt) => (crew.check(attempt), Some(attempt)),
        TreeJob::Integrate(attempt) => (crew.integrate(attempt), Some(attempt)),
        TreeJob::GiveUp(attempt, trouble) => (crew.give_up(attempt, trouble), Some(attempt)),
        TreeJob::Drop(attempt) => (crew.drop_unwanted(attempt), Some(attempt)),
    };
    let done = done.or_else(|error| {
        crew.clear_tree()?;
        crew.meaning_of(error, attempt)
    });
    let broken = || attempt.map_or(Broken::Open, |attempt| Broken::Attempt(attempt.clone()));
    match done {
        Ok(stop @ Input::Stop(_)) => {
            // The job itself is answered too.
            let answer = match (job, attempt) {
                (_, Some(attempt)) => Input::BrokenOff(attempt.clone()),
                (TreeJob::CompleteIfDone, None) => Input::NotDone,
                (_, None) => Input::Opened(Vec::new()),
            };
            vec![Message::Input(stop), Message::Input(answer)]
        }
        Ok(input) => vec![Message::Input(input)],
        Err(error) => vec![Message::Broke(broken(), Box::new(error))],
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

/// The coordinator, and what it has to do with.
pub(super) struct Driver<'env, H> {
    crew: &'env Crew<'env>,
    hands: H,
    coordinator: Coordinator,
    /// When the run began, by the clock that does not jump.
    began: Duration,
    /// The same by the clock on the wall.
    began_at: Timestamp,
    waits: WaitClock,
    looked: Duration,
    handles: BTreeMap<Launch, Handle>,
    /// The state file as we saw it last, if we have looked: its time, and which file it
    /// was, because every write is a rename.
    seen: Option<Option<(Option<SystemTime>, u64)>>,
    /// Whether the coordinator knows that everybody is to stop.
    has_told_stop: bool,
    /// What has failed first.
    failure: Option<RunError>,
    outcome: Option<Outcome>,
}

impl<'env, H: Hands> Driver<'env, H> {
    pub(super) fn new(crew: &'env Crew<'env>, beginning: Beginning, hands: H) -> Self {
        let (options, Beginning { at: began, budget }) = (crew.options, beginning);
        let candidates = options.agents.iter().map(|agent| Candidate {
            name: agent.name().to_owned(),
            measures: agent.measures(),
            sign_in: agent.sign_in().to_owned(),
        });
        let candidates = candidates.collect();
        let places = crew.workspace.scope.max_parallel;
        Driver {
            crew,
            hands,
            coordinator: Coordinator::new(candidates, options.patience, budget, places),
            began,
            began_at: crew.workspace.world().clock.now(),
            waits: WaitClock::default(),
            looked: began,
            handles: BTreeMap::new(),
            seen: None,
            has_told_stop: false,
            failure: None,
            outcome: None,
        }
    }

    /// Whether the coordinator has said that the run is over.
    pub(super) fn is_over(&self) -> bool {
        self.outcome.is_some()
    }

    /// What the run came to.
    pub(super) fn result(self) -> RunResult {
        let uncharged = self.coordinator.uncharged(self.now());
        let outcome = self.outcome.unwrap_or(Outcome::Interrupted);
        RunResult { outcome: self.failure.map_or(Ok(outcome), Err), uncharged }
    }

    /// Takes in a message.
    pub(super) fn take(&mut self, message: Message) {
        match message {
            Message::Input(input) => self.tell(input),
            Message::Broke(broken, error) => self.broke(broken, *error),
            // Told when the thread is joined.
            Message::Panicked => self.outcome = Some(Outcome::Interrupted),
        }
    }

    fn now(&self) -> Millis {
        self.crew.workspace.world().millis_since(self.began).saturating_mul(haste())
    }

    /// The time by which waits begin and end.
    fn waiting_now(&mut self) -> Millis {
        let now = self.crew.workspace.world().clock.now();
        let wall = now.as_millisecond() - self.began_at.as_millisecond();
        let wall = u64::try_from(wall).unwrap_or(0).saturating_mul(haste());
        self.waits.now(self.now(), wall)
    }

    /// Tells the coordinator what has happened, and carries out what it says.
    pub(super) fn tell(&mut self, input: Input) {
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

    /// What no message says.
    pub(super) fn look_around(&mut self) {
        let now = self.crew.workspace.world().clock.elapsed();
        if now - self.looked < TICK {
            return;
        }
        if now - self.looked > ABSENCE {
            self.tell(Input::WasAway);
        }
        self.looked = now;
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
        let found = workspace.world().disk.look_behind(&workspace.store.state_path());
        let seen = found.ok().map(|FileInfo { modified, identity, .. }| (modified, identity));
        if self.seen.as_ref() == Some(&seen) {
            return None;
        }
        self.seen = Some(seen);
        self.look_for_unwanted();
        // To wait for a file that is half written would hold up everything else.
        match workspace.store.look_at_state() {
            Some(Err(_)) => {
                self.seen = None;
                None
            }
            // The loop ends too, when every box is ticked.
            None if workspace.was_cancelled() => Some(Outcome::Cancelled),
            // `git clean -x` by an agent, for one.
            None if !workspace.is_complete() => {
                let is_lost = workspace.bring_back().is_err() || !workspace.store.has_state();
                is_lost.then(|| {
                    let why = "the loop's state was deleted while it ran; `specum run` starts \
                               again from the boxes";
                    Outcome::Blocked { why: why.to_owned() }
                })
            }
            Some(Ok(state)) if !owner::is_this_run(workspace.world(), &state) => {
                Some(Outcome::TakenOver)
            }
            Some(Ok(state)) if matches!(state.standing, Standing::Paused(_)) => {
                Some(Outcome::Paused)
            }
            None | Some(Ok(_)) => None,
        }
    }

    /// A person may not want an attempt any more that is under way.
    fn look_for_unwanted(&mut self) {
        // The next write reports a journal that cannot be read.
        let unwanted = self.crew.workspace.store.ledger();
        let unwanted = unwanted.map(|ledger| ledger.unwanted().to_vec()).unwrap_or_default();
        unwanted.into_iter().for_each(|attempt| self.tell(Input::Unwanted(attempt)));
    }

    fn carry_out(&mut self, action: Action) {
        tracing::debug!(?action, "carries out");
        match action {
            Action::Open => self.hands.in_tree(TreeJob::Open),
            Action::CompleteIfDone => self.hands.in_tree(TreeJob::CompleteIfDone),
            Action::Check(attempt) => self.hands.in_tree(TreeJob::Check(attempt)),
            Action::Integrate(attempt) => self.hands.in_tree(TreeJob::Integrate(attempt)),
            Action::GiveUp { attempt, trouble } => {
                self.hands.in_tree(TreeJob::GiveUp(attempt, trouble));
            }
            Action::Drop(attempt) => self.hands.in_tree(TreeJob::Drop(attempt)),
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
                self.crew.workspace.world().launcher.end_everything();
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
                notices::tell_wait(self.crew.workspace, self.crew.options, (&agent, millis, &why));
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

    fn start(&mut self, request: StartRequest) {
        let (launch, attempt) = (request.launch, request.attempt.clone());
        let handle = Handle::default();
        self.handles.insert(launch, handle.clone());
        if let Err(error) = self.hands.start(request, handle) {
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
pub(super) fn see_through(
    crew: &Crew<'_>,
    request: &StartRequest,
    handle: Handle,
    send: &dyn Fn(Message),
) {
    let (launch, attempt) = (request.launch, &request.attempt);
    let done = crew.start(request, handle, &|input| send(Message::Input(input)));
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
        // Cancelled meanwhile: what was spent is reported all the same.
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
