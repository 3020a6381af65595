//! Threads that run one at a time: the one that has the turn goes on until it waits for the
//! simulation, which then decides what happens next. So the engine's own code runs, and
//! the same choices always lead to the same story.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use specum_core::owner::Process;
use specum_engine::memory::Died;

use super::launcher::AgentAtWork;

/// Where a thread waits.
pub(crate) enum Point {
    /// A check has just run.
    Checked,
    /// An agent is at work.
    Agent(AgentAtWork),
    /// A run waits for its next step.
    Idle(Waiting),
    /// A run has given the start of an agent to this thread.
    Started(Thread),
    /// A run is about to wait for the ends of its starts.
    Leaving,
    /// It is over.
    Ended(End),
}

/// What waits to be done in a run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Waiting {
    pub(crate) jobs: usize,
    pub(crate) starts: usize,
    pub(crate) messages: usize,
}

/// How a thread has ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    /// The machine has died.
    Died,
    Panicked(String),
}

/// What a thread is told to do.
pub(crate) enum Order {
    GoOn,
    Die,
    DoJob,
    Start,
    TakeMessage,
    LookAround,
    Interrupt,
    /// An agent prints a line.
    Say(String),
    /// An agent ends.
    End(super::agents::LastWords),
}

struct Seat {
    orders: Receiver<Order>,
    points: Sender<Point>,
    process: Process,
}

thread_local! {
    static SEAT: RefCell<Option<Seat>> = const { RefCell::new(None) };
}

/// Waits for the simulation. Its own thread waits for nobody.
pub(crate) fn wait_at(point: Point) -> Order {
    SEAT.with_borrow(|seat| {
        let Some(seat) = seat else { return Order::GoOn };
        seat.points.send(point).expect("the simulation listens");
        seat.orders.recv().expect("the simulation gives orders")
    })
}

/// The process that this thread belongs to.
pub(crate) fn process() -> Option<Process> {
    SEAT.with_borrow(|seat| seat.as_ref().map(|seat| seat.process.clone()))
}

/// A thread as the simulation has it.
pub(crate) struct Thread {
    orders: Sender<Order>,
    points: Receiver<Point>,
}

impl Thread {
    /// A thread, and what it is to do first of all.
    fn new(process: Process) -> (Thread, impl FnOnce() + Send) {
        let (orders, received) = mpsc::channel();
        let (told, points) = mpsc::channel();
        let seat = Seat { orders: received, points: told, process };
        (Thread { orders, points }, move || SEAT.set(Some(seat)))
    }

    /// Begins something in a thread of its own, as part of a process.
    pub(crate) fn begin(process: Process, work: impl FnOnce() + Send + 'static) -> Thread {
        let (thread, sit_down) = Thread::new(process);
        thread::spawn(move || {
            sit_down();
            see_to_its_end(work);
        });
        thread
    }

    /// The same for something that outlives no scope.
    pub(crate) fn begin_in<'s>(
        scope: &'s thread::Scope<'s, '_>,
        process: Process,
        work: impl FnOnce() + Send + 's,
    ) -> Thread {
        let (thread, sit_down) = Thread::new(process);
        scope.spawn(move || {
            sit_down();
            see_to_its_end(work);
        });
        thread
    }

    /// Where it waits first.
    pub(crate) fn first(&self) -> Point {
        self.points.recv().expect("a thread tells of its end")
    }

    /// Lets it die with the machine.
    pub(crate) fn dies(&self) {
        while !matches!(self.go(Order::Die), Point::Ended(_)) {}
    }

    /// Lets it go on to where it waits next.
    pub(crate) fn go(&self, order: Order) -> Point {
        self.orders.send(order).expect("a thread that waits takes orders");
        self.first()
    }
}

fn see_to_its_end(work: impl FnOnce()) {
    let end = match panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(()) => End::Done,
        Err(why) if why.is::<Died>() => End::Died,
        Err(why) => End::Panicked(words_of(&*why)),
    };
    SEAT.with_borrow(|seat| {
        let seat = seat.as_ref().expect("it sat down");
        seat.points.send(Point::Ended(end)).expect("the simulation listens");
    });
}

/// The words of a panic.
pub(crate) fn words_of(why: &(dyn Any + Send)) -> String {
    let said = why.downcast_ref::<String>().cloned();
    said.or_else(|| why.downcast_ref::<&str>().map(|text| (*text).into())).unwrap_or_default()
}
