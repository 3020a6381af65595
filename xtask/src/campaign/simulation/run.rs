//! `specum run`, one step at a time: the engine's own run, whose threads wait for the
//! simulation to say what happens next.

use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use specum_core::agent::{self, Signs};
use specum_core::attempt::AttemptId;
use specum_core::coordinate::agents::Patience;
use specum_core::event::Outcome;
use specum_core::machine::Start;
use specum_core::settings::Branch;
use specum_core::tasks::TaskKey;
use specum_engine::attempt::Workspace;
use specum_engine::memory::Died;
use specum_engine::ports::Clock;
use specum_engine::runner::{self, Listener, Options, RunError, SteppedRun};

use super::agents::{self, Act, TEAMS};
use super::launcher::{AgentAtWork, GOOD};
use super::threads::{Order, Point, Thread, Waiting, wait_at};
use super::world::{Halt, World, is_well};

/// How long an agent may take here.
const PATIENCE: Patience = Patience { task: 300_000, idle: 60_000 };

/// A run that is under way.
pub(crate) struct Run {
    pid: u32,
    thread: Thread,
    waiting: Waiting,
    /// The agents that are at work.
    launches: Vec<Launch>,
    outcome: Receiver<Result<Outcome, RunError>>,
}

struct Launch {
    thread: Thread,
    at: AgentAtWork,
    attempt: Option<AttemptId>,
    act: Act,
    messages: u32,
}

/// Nobody listens.
struct NoListener;

impl Listener for NoListener {
    fn said(&self, _: TaskKey, _: Signs) {}
    fn tick(&self) {}
    fn keep_pace(&self) {}
}

impl Run {
    /// Dies with the machine.
    pub(crate) fn dies(self) {
        self.launches.into_iter().for_each(|launch| launch.thread.dies());
        self.thread.dies();
    }
}

impl World {
    /// A run takes the spec.
    pub(crate) fn run_starts(&mut self, start: &Start) -> Result<(), Halt> {
        self.story("`specum run` starts".into());
        let team = if self.fair { TEAMS[0] } else { self.chance.one_of(&TEAMS) };
        let pid = self.new_process();
        self.programs.living.lock().expect("no holder panics").insert(pid);
        let mut workspace = self.workspace();
        workspace.store.survive_power_cuts();
        workspace.store.write_as(runner::run_id(&self.ports));
        let options = Options {
            agents: team.iter().filter_map(|name| agent::by_name(name, Some("cat"))).collect(),
            model: None,
            patience: PATIENCE,
            start: start.clone(),
            take_over: true,
            allow_dirty: true,
            worktree_setup: None,
            isolate: !self.fair && self.chance.once_in(4),
            worktree_caches: Vec::new(),
            accept_git_changes: false,
            keep_days: None,
            branch: Branch::Here,
            notify: None,
            plan: None,
        };
        let (told, outcome) = mpsc::channel();
        let thread = Thread::begin(self.programs.process(pid), move || {
            let _ = told.send(work(&workspace, &options));
        });
        let point = thread.first();
        let (waiting, launches) = (Waiting::default(), Vec::new());
        self.follow(Run { pid, thread, waiting, launches, outcome }, point)
    }

    /// Goes with a run to where it waits for its next step.
    fn follow(&mut self, mut run: Run, mut point: Point) -> Result<(), Halt> {
        loop {
            point = match point {
                Point::Idle(waiting) => {
                    run.waiting = waiting;
                    self.run = Some(run);
                    return self.observe();
                }
                Point::Started(thread) => match self.launched(&mut run, thread) {
                    Ok(()) => run.thread.go(Order::GoOn),
                    Err(halt) => return self.breaks_off(run, halt),
                },
                Point::Checked => match self.somebody_meddles() {
                    Ok(()) => run.thread.go(Order::GoOn),
                    Err(halt) => return self.breaks_off(run, halt),
                },
                Point::Leaving => match self.starts_end(&mut run) {
                    Ok(()) => run.thread.go(Order::GoOn),
                    Err(halt) => return self.breaks_off(run, halt),
                },
                Point::Ended(end) => {
                    self.programs.living.lock().expect("no holder panics").remove(&run.pid);
                    is_well(end)?;
                    let outcome = run.outcome.recv().expect("a run that is over has an outcome");
                    self.observe()?;
                    if self.truth.living {
                        // It could not even say that it has ended.
                        self.truth.living = false;
                        self.truth.tasks.holder_is_gone();
                    }
                    return match outcome {
                        Ok(outcome) => {
                            self.story(format!("the run ends: {outcome}"));
                            self.nothing_is_left()
                        }
                        // The next one puts away what this one could not.
                        Err(error) => {
                            self.story(format!("the run fails: {error}"));
                            Ok(())
                        }
                    };
                }
                Point::Agent(_) => {
                    return Err(Halt::Broken("a run has no agent in its own thread".into()));
                }
            };
        }
    }

    /// A run goes no further.
    fn breaks_off(&mut self, run: Run, halt: Halt) -> Result<(), Halt> {
        self.disk.die();
        run.dies();
        Err(halt)
    }

    /// An agent was started, as far as its first word, or its end.
    fn launched(&mut self, run: &mut Run, thread: Thread) -> Result<(), Halt> {
        let point = thread.first();
        let Some(at) = self.follow_start(&thread, point)? else { return Ok(()) };
        self.observe()?;
        self.brief_is_right(&at)?;
        let act = self.draw_act();
        self.story(format!("an agent works on {}: {act:?}", at.marker.task));
        let attempt = at.marker.id.clone();
        run.launches.push(Launch { thread, at, attempt, act, messages: 0 });
        self.agent_meddles("the agent")
    }

    /// Goes with a start to where its agent waits; nothing if it has ended.
    fn follow_start(
        &mut self,
        thread: &Thread,
        mut point: Point,
    ) -> Result<Option<AgentAtWork>, Halt> {
        loop {
            point = match point {
                Point::Agent(at) => return Ok(Some(at)),
                Point::Ended(end) => return is_well(end).map(|()| None),
                Point::Checked => match self.somebody_meddles() {
                    Ok(()) => thread.go(Order::GoOn),
                    Err(halt) => {
                        self.disk.die();
                        thread.dies();
                        return Err(halt);
                    }
                },
                _ => return Err(Halt::Broken("a start of an agent starts something".into())),
            };
        }
    }

    /// One step of the run.
    pub(crate) fn run_goes_on(&mut self) -> Result<(), Halt> {
        let Some(mut run) = self.run.take() else { return Ok(()) };
        let Waiting { jobs, starts, messages } = run.waiting;
        if self.fair && jobs + starts + messages + run.launches.len() == 0 {
            // It waits for a limit to end.
            self.clock.pass(Duration::from_secs(3600));
        }
        let mut able = vec![Next::LookAround];
        able.extend((jobs > 0).then_some(Next::Job));
        able.extend((starts > 0).then_some(Next::Start));
        able.extend((messages > 0).then_some(Next::Message));
        able.extend((0..run.launches.len()).map(Next::Agent));
        // Somebody looks around again and again, and it is over at once.
        if able.len() > 1 && !self.chance.once_in(8) {
            able.remove(0);
        }
        let order = match self.chance.one_of(&able) {
            Next::Job => Order::DoJob,
            Next::Start => Order::Start,
            Next::Message => Order::TakeMessage,
            Next::LookAround if !self.fair && self.chance.once_in(60) => Order::Interrupt,
            Next::LookAround => Order::LookAround,
            Next::Agent(at) => {
                let launch = run.launches.remove(at);
                return match self.agent_goes_on(launch) {
                    Ok(launch) => {
                        run.launches.extend(launch);
                        let point = run.thread.go(Order::GoOn);
                        self.follow(run, point)
                    }
                    Err(halt) => self.breaks_off(run, halt),
                };
            }
        };
        let point = run.thread.go(order);
        self.follow(run, point)
    }

    /// An agent says something, or ends; the launch, unless it is over.
    fn agent_goes_on(&mut self, mut launch: Launch) -> Result<Option<Launch>, Halt> {
        let is_claude = launch.at.is_claude;
        if launch.act == Act::Silence && !launch.at.is_doomed {
            // Time passes, and nothing else.
            let point = launch.thread.go(Order::GoOn);
            return self.still_at_work(launch, point);
        }
        if self.chance.below(3) > 0 && !launch.at.is_doomed {
            launch.messages += 1;
            let line = agents::line(is_claude, launch.messages, &mut self.chance);
            let point = launch.thread.go(Order::Say(line));
            return self.still_at_work(launch, point);
        }
        // Whether somebody has ended it is known by now.
        let point = launch.thread.go(Order::GoOn);
        let Some(mut launch) = self.still_at_work(launch, point)? else { return Ok(None) };
        if launch.at.is_doomed {
            launch.act = Act::Death;
        }
        self.works(&launch.at, launch.attempt.clone(), launch.act);
        let order = match launch.at.is_doomed {
            true => agents::killed(),
            false => {
                let wall = self.clock.now().as_millisecond();
                let task = (launch.at.marker.task.as_str(), launch.at.word);
                agents::last_words(launch.act, is_claude, task, wall)
            }
        };
        let point = launch.thread.go(Order::End(order));
        self.follow_start(&launch.thread, point)?;
        Ok(None)
    }

    fn still_at_work(&mut self, mut launch: Launch, point: Point) -> Result<Option<Launch>, Halt> {
        let Some(at) = self.follow_start(&launch.thread, point)? else { return Ok(None) };
        launch.at = at;
        Ok(Some(launch))
    }

    /// What an agent will come to.
    pub(crate) fn draw_act(&mut self) -> Act {
        match if self.fair { Act::Good } else { Act::random(&mut self.chance) } {
            Act::Asks(_) => {
                self.truth.numbers += 1;
                Act::Asks(self.truth.numbers)
            }
            act => act,
        }
    }

    /// An agent does what it does to the files.
    pub(crate) fn works(&mut self, at: &AgentAtWork, attempt: Option<AttemptId>, act: Act) {
        if let Some(attempt) = attempt {
            self.acts.entry(attempt).or_default().push(act);
        }
        let file = at.root.join(&at.file);
        if act.does_the_work() {
            self.disk.put(&file, GOOD);
            if !self.fair && self.chance.once_in(4) {
                // What others change too.
                let text = format!("for {}\n", at.file);
                self.disk.put(&at.root.join("shared"), text.as_bytes());
            }
        } else if matches!(act, Act::Death | Act::TooLong) && self.chance.once_in(2) {
            self.disk.put(&file, b"half\n");
        }
    }

    /// The starts of a run that is over come to their end.
    fn starts_end(&mut self, run: &mut Run) -> Result<(), Halt> {
        while let Some(mut launch) = run.launches.pop() {
            launch.at.is_doomed = true;
            self.works(&launch.at, launch.attempt.clone(), Act::Death);
            let point = launch.thread.go(Order::End(agents::killed()));
            self.follow_start(&launch.thread, point)?;
        }
        Ok(())
    }
}

/// What a run may do next.
#[derive(Debug, Clone, Copy)]
enum Next {
    LookAround,
    Job,
    Start,
    Message,
    Agent(usize),
}

/// The thread of a run.
fn work(workspace: &Workspace, options: &Options) -> Result<Outcome, RunError> {
    runner::run_stepwise(workspace, options, &NoListener, |run| {
        thread::scope(|scope| {
            let driven = panic::catch_unwind(AssertUnwindSafe(|| drive(run, scope)));
            // Nobody leaves the scope before everybody in it has.
            wait_at(Point::Leaving);
            if let Err(why) = driven {
                panic::resume_unwind(why);
            }
        });
    })
}

fn drive<'s, 'r: 's>(run: &mut SteppedRun<'r>, scope: &'s thread::Scope<'s, '_>) {
    let process = super::threads::process().expect("a run has a process");
    while !run.is_over() {
        let (jobs, starts, messages) = run.waiting();
        match wait_at(Point::Idle(Waiting { jobs, starts, messages })) {
            Order::DoJob => drop(run.do_job()),
            Order::TakeMessage => drop(run.take_message()),
            Order::LookAround => run.look_around(),
            Order::Interrupt => run.interrupt(),
            Order::Start => {
                if let Some(start) = run.next_start() {
                    let started = move || start.see_through();
                    let thread = Thread::begin_in(scope, process.clone(), started);
                    wait_at(Point::Started(thread));
                }
            }
            Order::Die => panic::resume_unwind(Box::new(Died)),
            _ => {}
        }
    }
}
