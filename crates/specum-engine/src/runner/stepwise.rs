//! A run that its caller drives, one step at a time: for the simulation, in which
//! nothing happens at the same moment and every order of things is tried.
//!
//! What threads do in a run of a user's is done here by the caller: a job in the
//! tree, a start of an agent, a message to the coordinator, a look around.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};

use specum_core::coordinate::Input;
use specum_core::event::Outcome;

use super::crew::{Crew, StartRequest, lock};
use super::driver::{Driver, Hands, TreeJob, do_job, see_through};
use super::{Listener, Message, Options, RunError, run_by};
use crate::attempt::Workspace;
use crate::process::Handle;

/// Works a spec like [`run`](super::run); the caller drives it.
pub fn run_stepwise(
    workspace: &Workspace,
    options: &Options,
    listener: &dyn Listener,
    drive: impl FnOnce(&mut SteppedRun<'_>),
) -> Result<Outcome, RunError> {
    run_by(workspace, options, listener, |crew, beginning| {
        let waiting = Arc::new(Mutex::new(Waiting::default()));
        let driver = Driver::new(crew, beginning, Queue(Arc::clone(&waiting)));
        let mut run = SteppedRun { crew, driver, waiting };
        run.driver.tell(Input::Tick);
        drive(&mut run);
        Ok(run.driver.result())
    })
}

/// What waits to be done.
#[derive(Default)]
struct Waiting {
    jobs: VecDeque<TreeJob>,
    starts: VecDeque<(StartRequest, Handle)>,
    messages: VecDeque<Message>,
}

/// Hands that put everything down for later.
struct Queue(Arc<Mutex<Waiting>>);

impl Hands for Queue {
    fn in_tree(&self, job: TreeJob) {
        lock(&self.0).jobs.push_back(job);
    }

    fn start(&self, request: StartRequest, handle: Handle) -> io::Result<()> {
        lock(&self.0).starts.push_back((request, handle));
        Ok(())
    }
}

/// A run between two steps.
pub struct SteppedRun<'r> {
    crew: &'r Crew<'r>,
    driver: Driver<'r, Queue>,
    waiting: Arc<Mutex<Waiting>>,
}

impl<'r> SteppedRun<'r> {
    /// Whether the coordinator has said that the run is over.
    pub fn is_over(&self) -> bool {
        self.driver.is_over()
    }

    /// How many jobs in the tree, starts of agents and messages wait.
    pub fn waiting(&self) -> (usize, usize, usize) {
        let waiting = lock(&self.waiting);
        (waiting.jobs.len(), waiting.starts.len(), waiting.messages.len())
    }

    /// Does the next job in the user's tree; `false` if none waits.
    pub fn do_job(&mut self) -> bool {
        let job = lock(&self.waiting).jobs.pop_front();
        let Some(job) = job else { return false };
        let messages = do_job(self.crew, &job);
        lock(&self.waiting).messages.extend(messages);
        true
    }

    /// The next agent that is to be started, if one is.
    pub fn next_start(&mut self) -> Option<SteppedStart<'r>> {
        let (request, handle) = lock(&self.waiting).starts.pop_front()?;
        let waiting = Arc::clone(&self.waiting);
        Some(SteppedStart { crew: self.crew, request, handle, waiting })
    }

    /// Tells the coordinator the next thing that somebody has said; `false` if nobody
    /// has.
    pub fn take_message(&mut self) -> bool {
        let message = lock(&self.waiting).messages.pop_front();
        let Some(message) = message else { return false };
        self.driver.take(message);
        true
    }

    /// Looks at the time, and at what others have done to the spec.
    pub fn look_around(&mut self) {
        self.driver.look_around();
    }

    /// A person interrupts the run.
    pub fn interrupt(&self) {
        self.crew.stop.set(Outcome::Interrupted);
    }
}

/// An agent that is to be started.
pub struct SteppedStart<'r> {
    crew: &'r Crew<'r>,
    request: StartRequest,
    handle: Handle,
    waiting: Arc<Mutex<Waiting>>,
}

impl SteppedStart<'_> {
    /// Starts it and sees its work through. Returns when that has ended, so it wants a
    /// thread of its own.
    pub fn see_through(self) {
        let SteppedStart { crew, request, handle, waiting } = self;
        see_through(crew, &request, handle, &|message| lock(&waiting).messages.push_back(message));
    }
}
