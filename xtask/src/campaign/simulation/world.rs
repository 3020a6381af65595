//! The world: a machine in memory with a plan on it, and those who work or meddle.

use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use specum_core::attempt::AttemptId;
use specum_core::digest::Digest;
use specum_core::state::State;
use specum_core::tasks::TaskFile;
use specum_engine::attempt::Workspace;
use specum_engine::memory::{Died, MemoryClock, MemoryDisk, MemoryRepositories};
use specum_engine::ports::{Clock, Launcher, World as Ports};
use specum_engine::project::{Project, Spec};
use specum_engine::store::Store;

use super::launcher::Programs;
use super::observer::Observer;
use super::run::Run;
use super::session::Session;
use super::threads::{self, End, Order, Point, Thread};
use super::truth::Truth;
use super::{Chance, Report};

/// What keeps a step from coming to its end.
#[derive(Debug)]
pub(crate) enum Halt {
    /// The machine has died.
    Died,
    /// A promise is broken.
    Broken(String),
}

/// Breaks off if something that is promised does not hold.
macro_rules! promise {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err(Halt::Broken(format!($($words)+)));
        }
    };
}
pub(crate) use promise;

/// How long a life is before the weather turns fair.
const STEPS: u32 = 120;
/// By how much a clock on the wall may jump.
const JUMPS: [i64; 6] = [3_600_000, -3_600_000, 86_400_000, -86_400_000, 9 * 86_400_000, -1];

/// The project, and the spec in it.
pub(crate) const ROOT: &str = "/p";
pub(crate) const SPEC: &str = "/p/specs/demo";
/// A file of the user's, in which nobody else has anything to do.
pub(crate) const MINE: &str = "/p/mine";

pub(crate) struct World {
    pub(crate) chance: Chance,
    pub(crate) ports: Ports,
    pub(crate) clock: Arc<MemoryClock>,
    pub(crate) disk: MemoryDisk,
    pub(crate) repositories: MemoryRepositories,
    pub(crate) programs: Arc<Programs>,
    pub(crate) truth: Truth,
    pub(crate) observer: Observer,
    /// The spec's files, to look at.
    pub(crate) store: Store,
    pub(crate) run: Option<Run>,
    pub(crate) session: Option<Session>,
    /// What the agents of each attempt did.
    pub(crate) acts: BTreeMap<AttemptId, Vec<super::agents::Act>>,
    /// From now on nothing goes wrong.
    pub(crate) fair: bool,
    /// How many processes there have been.
    pub(crate) processes: u32,
    pub(crate) story: Vec<String>,
    trace: Digest,
    steps: u64,
    deaths: u64,
}

pub(crate) fn tasks_path() -> PathBuf {
    Path::new(SPEC).join("tasks.md")
}

impl World {
    pub(crate) fn new(mut chance: Chance) -> World {
        let tasks = super::plan::write(&mut chance);
        let max_parallel = chance.one_of(&[5, 1, 2]);
        let wall = Timestamp::from_millisecond(1_794_700_800_000).expect("a time");
        let clock = Arc::new(MemoryClock::at(wall));
        let disk = MemoryDisk::new(Arc::clone(&clock) as Arc<dyn Clock>);
        let root = Path::new(ROOT);
        disk.put(Path::new(MINE), b"as it was\n");
        disk.put(&root.join("shared"), b"as it was\n");
        disk.put(&tasks_path(), &tasks);
        let settings = format!("---\nmax_parallel: {max_parallel}\n---\n");
        disk.put(&root.join(".claude/ralph-specum.local.md"), settings.as_bytes());
        let repositories = MemoryRepositories::init(&disk, root);
        disk.put(&root.join("specs/.current-spec"), b"demo\n");
        disk.put(Path::new(MINE), b"changed, and not committed\n");
        disk.guard(Path::new(SPEC), ".ralph.lock");
        let programs = Arc::new(Programs::new(disk.clone()));
        let ports = Ports {
            disk: Arc::new(disk.clone()),
            launcher: Arc::clone(&programs) as Arc<dyn Launcher>,
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            repositories: Arc::new(repositories.clone()),
            state_home: Some(PathBuf::from("/home/state/specum")),
            ids: Arc::default(),
        };
        let spec = Spec {
            name: "demo".into(),
            dir: PathBuf::from(SPEC),
            shown: "./specs/demo".into(),
            root: root.to_owned(),
            world: ports.clone(),
        };
        World {
            chance,
            clock,
            disk,
            repositories,
            programs,
            truth: Truth::of(&tasks),
            observer: Observer::new(tasks),
            store: Store::of(&spec),
            ports,
            run: None,
            session: None,
            acts: BTreeMap::new(),
            fair: false,
            processes: 1,
            story: Vec::new(),
            trace: Digest::of(b""),
            steps: 0,
            deaths: 0,
        }
    }

    pub(crate) fn report(&self) -> Report {
        let journal = self.disk.content(&self.store.journal_path()).unwrap_or_default();
        let trace = self.trace.with(&journal).with(&self.tasks());
        Report {
            steps: self.steps,
            lives: 1,
            passed: self.truth.passed,
            failed: self.truth.failed,
            deaths: self.deaths,
            completed: self.truth.completed,
            trace: u64::from_str_radix(&trace.hex(), 16).expect("a digest is hexadecimal"),
        }
    }

    /// Lives until the plan is worked; the error is the promise that is broken.
    pub(crate) fn live(&mut self) -> Result<(), String> {
        let lived = self.live_on();
        // A thread that still waits goes with the machine.
        self.end_everybody();
        lived
    }

    fn live_on(&mut self) -> Result<(), String> {
        let steps = self.chance.below(STEPS);
        for _ in 0..steps {
            self.step()?;
        }
        self.story("from here on the weather is fair".into());
        self.fair = true;
        // A few steps for each attempt, and something for what has to be put away
        // first.
        let open = TaskFile::scan(&self.tasks()).open().count();
        for _ in 0..400 + 40 * open {
            if self.is_over() {
                return Ok(());
            }
            self.step()?;
        }
        Err("nothing goes wrong any more, and still the loop does not come to its end".into())
    }

    fn is_over(&self) -> bool {
        self.run.is_none()
            && self.session.is_none()
            && self.state_bytes().is_none()
            && TaskFile::scan(&self.tasks()).open().next().is_none()
    }

    /// One thing happens.
    fn step(&mut self) -> Result<(), String> {
        self.steps += 1;
        self.time_passes();
        if !self.fair && self.chance.once_in(30) {
            let (writes, tears_at) = (self.chance.below(9), self.chance.below(101) as usize);
            self.disk.live_for(Some(writes), tears_at);
        }
        let mut happened = self.something_happens();
        if let Err(Halt::Died) = happened {
            happened = self.machine_dies();
        }
        self.disk.live_for(None, 0);
        let kept = happened.and_then(|()| self.keep_promises());
        kept.map_err(|halt| match halt {
            Halt::Broken(promise) => promise,
            Halt::Died => "the machine died although it was well".into(),
        })
    }

    fn something_happens(&mut self) -> Result<(), Halt> {
        if !self.fair && self.chance.once_in(6) {
            return self.person_acts();
        }
        if self.run.is_some() {
            self.run_goes_on()
        } else if self.session.is_some() {
            self.session_goes_on()
        } else {
            self.somebody_starts()
        }
    }

    fn time_passes(&mut self) {
        let millis = self.chance.one_of(&[10, 0, 500, 3_000, 12_000, 70_000]);
        self.clock.pass(Duration::from_millis(millis));
        if !self.fair && self.chance.once_in(60) {
            // Somebody sets the clock, or the machine has slept.
            let jump = self.chance.one_of(&JUMPS);
            if jump > 0 && self.chance.once_in(2) {
                self.clock.pass(Duration::from_millis(jump.unsigned_abs()));
            } else {
                self.clock.jump(SignedDuration::from_millis(jump));
            }
            self.story(format!("the clock jumps by {} s", jump / 1000));
        }
    }

    fn machine_dies(&mut self) -> Result<(), Halt> {
        self.deaths += 1;
        self.end_everybody();
        self.story("the machine dies".into());
        // What was recorded until then was recorded while somebody held the loop.
        self.observe()?;
        self.truth.steering.by_hand = false;
        // What an agent did last may be known to nobody.
        for attempt in self.observer.undecided() {
            self.acts.entry(attempt).or_default().push(super::agents::Act::Death);
        }
        self.truth.living = false;
        self.truth.tasks.holder_is_gone();
        self.forget_unrecorded_fixes()
    }

    /// A fix task goes on record right after it was inserted. If the machine dies in
    /// between, the next process that looks records it as it then finds it.
    fn forget_unrecorded_fixes(&mut self) -> Result<(), Halt> {
        let plan_record = self.store.plan_record();
        let plan_record = plan_record.map_err(|error| Halt::Broken(error.to_string()))?;
        let is_lost = |fix: &&String| plan_record.has_begun() && plan_record.task(fix).is_none();
        for fix in self.truth.fixes.iter().filter(is_lost) {
            self.truth.tasks.forget(&format!("fix {fix}"));
        }
        Ok(())
    }

    /// All processes die with the machine, which starts again.
    fn end_everybody(&mut self) {
        self.disk.die();
        if let Some(run) = self.run.take() {
            run.dies();
        }
        self.session = None;
        self.clock.forget_repeated();
        self.programs.living.lock().expect("no holder panics").clear();
        *self.programs.host.lock().expect("no holder panics") = None;
        self.truth.session = None;
        self.disk.start_again();
        // What the dead process knew is gone too.
        self.store = Store::of(&self.spec());
    }

    /// Does something on the machine that waits for nobody.
    pub(crate) fn at_once<T>(&mut self, work: impl FnOnce(&mut World) -> T) -> Result<T, Halt> {
        let done = panic::catch_unwind(AssertUnwindSafe(|| work(self)));
        done.map_err(|why| match why.is::<Died>() {
            true => Halt::Died,
            false => Halt::Broken(format!("the engine panicked: {}", threads::words_of(&*why))),
        })
    }

    /// Does something in a process of its own, while checks run in which others may
    /// meddle.
    pub(crate) fn in_process<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&Ports) -> T + Send + 'static,
    ) -> Result<T, Halt> {
        let (ports, (answer, answered)) = (self.ports.clone(), std::sync::mpsc::channel());
        let pid = self.new_process();
        let process = self.programs.process(pid);
        let thread = Thread::begin(process, move || {
            let _ = answer.send(work(&ports));
        });
        let mut point = thread.first();
        loop {
            point = match point {
                Point::Ended(end) => {
                    is_well(end)?;
                    return Ok(answered.recv().expect("it has answered"));
                }
                Point::Checked => {
                    if let Err(halt) = self.somebody_meddles() {
                        self.disk.die();
                        thread.dies();
                        return Err(halt);
                    }
                    thread.go(Order::GoOn)
                }
                _ => return Err(Halt::Broken("a verb has started something".into())),
            };
        }
    }

    /// Something happens while a check runs.
    pub(crate) fn somebody_meddles(&mut self) -> Result<(), Halt> {
        self.observe()?;
        self.truth.tasks.checked();
        match self.chance.below(if self.fair { 1 } else { 6 }) {
            4 => self.person_edits(),
            5 => self.agent_meddles("somebody"),
            _ => Ok(()),
        }
    }

    /// A number for a new process.
    pub(crate) fn new_process(&mut self) -> u32 {
        self.processes += 1;
        self.processes
    }

    pub(crate) fn story(&mut self, event: String) {
        let now = u64::try_from(self.clock.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.trace = self.trace.with(event.as_bytes()).with_number(now);
        self.story.push(event);
    }

    /// The plan as it stands in the file.
    pub(crate) fn tasks(&self) -> Vec<u8> {
        self.disk.content(&tasks_path()).unwrap_or_default()
    }

    pub(crate) fn state_bytes(&self) -> Option<Vec<u8>> {
        self.disk.content(&self.store.state_path())
    }

    /// The state, if there is one that can be read.
    pub(crate) fn state(&self) -> Option<State> {
        self.state_bytes().and_then(|bytes| State::parse(&bytes).ok())
    }

    pub(crate) fn project(&self) -> Project {
        Project::find(&self.ports, Path::new(ROOT), None).expect("a project is there")
    }

    pub(crate) fn spec(&self) -> Spec {
        self.project().spec("demo").expect("a spec is there")
    }

    /// Everything needed to work the spec, for a new process.
    pub(crate) fn workspace(&self) -> Workspace {
        Workspace::new(&self.project(), self.spec()).expect("it can be worked")
    }
}

/// What the end of a thread means.
pub(crate) fn is_well(end: End) -> Result<(), Halt> {
    match end {
        End::Done => Ok(()),
        End::Died => Err(Halt::Died),
        End::Panicked(why) => Err(Halt::Broken(format!("the engine panicked: {why}"))),
    }
}
