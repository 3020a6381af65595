//! What happened to a spec, from its journal, while others may be writing it; and what
//! happens to it, with what agents say meanwhile.

use std::path::{Path, PathBuf};
use std::time::Duration;

use specum_core::agent::{self, Reader};
use specum_core::event::{Event, Numbering};
use specum_core::journal::{Entry, Record};
use specum_core::moment::Moment;
use specum_core::summary::{Attempt, AttemptResult, Summary, TaskSummary};
use specum_core::tasks::TaskKey;

use super::{Caller, OpError, diff};
use crate::attempt::AttemptError;
use crate::feed::Feed;
use crate::logs;
use crate::owner;
use crate::ports::World;
use crate::process::Replay;
use crate::project::Spec;
use crate::store::Store;

/// How long a run whose loop has ended may take to say its last word.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The journal of a spec, read again as it grows.
pub struct Log {
    /// The spec.
    pub spec: Spec,
    store: Store,
    /// What the journals of earlier loops tell, and how many there are.
    earlier: (Vec<Record>, usize),
    records: Vec<Record>,
    /// How long the file was when it was read.
    length: u64,
    /// When it was found longer than before.
    grown: Duration,
}

/// The log of one start of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentLog {
    /// Where it is.
    pub path: PathBuf,
    /// Whose it is; `None` if no record says so.
    pub agent: Option<String>,
}

/// That a task has no attempt of this place.
pub(super) fn no_attempt(task: &TaskSummary, place: u64) -> String {
    match task.attempts.last() {
        None => format!("there is no attempt at {} yet", task.id),
        Some(last) => {
            format!("there is no attempt {place} at {}; its last one is {}", task.id, last.place)
        }
    }
}

/// Opens the journal of a spec and reads what is there.
pub fn log(caller: &Caller<'_>, named: Option<&str>) -> Result<Log, OpError> {
    let (_, spec) = caller.named(named)?;
    let (store, earlier, records) = (Store::of(&spec), (Vec::new(), 0), Vec::new());
    let grown = caller.world.clock.elapsed();
    let mut log = Log { spec, store, earlier, records, length: 0, grown };
    log.read_on()?;
    Ok(log)
}

/// What became of the last loop of a spec.
pub fn summary(store: &Store) -> Result<Summary, OpError> {
    let tasks = store.read_tasks()?.unwrap_or_default();
    let mut summary = Summary::of(&store.read_journal()?, &tasks.file());
    diff::count(store, &mut summary);
    Ok(summary)
}

impl Log {
    /// How many records there are of all loops.
    pub fn length(&self) -> usize {
        self.earlier.0.len() + self.records.len()
    }

    /// The record at a place of the story, with those of the same journal before it.
    pub fn up_to(&self, at: usize) -> &[Record] {
        match at.checked_sub(self.earlier.0.len()) {
            Some(at) => &self.records[..=at],
            None => &self.earlier.0[..=at],
        }
    }

    /// Every record of all loops.
    pub fn story(&self) -> impl Iterator<Item = &Record> {
        self.earlier.0.iter().chain(self.records.iter())
    }

    /// The same as events, under the names that tasks have now.
    pub fn events(&self) -> Vec<Event> {
        let mut numbering = Numbering::default();
        let event = |record: &Record| Event::recorded(numbering.number(record), record.clone());
        self.story().map(event).collect()
    }

    /// Follows the spec from the beginning of its story.
    pub fn follow(&self) -> Follow {
        Follow {
            feed: Feed::from(&self.store, 1),
            spec: self.spec.clone(),
            store: self.store.clone(),
            talking: Vec::new(),
            has_caught_up: false,
            standing: LoopStanding::NotStarted,
            in_run: false,
            grown: self.store.world.clock.elapsed(),
        }
    }

    /// Reads what is new. A journal only ever grows.
    pub fn read_on(&mut self) -> Result<(), OpError> {
        let world = &self.store.world;
        let found = world.disk.look_behind(&self.store.journal_path());
        let length = found.map_or(0, |file| file.length);
        let segments = self.store.count_earlier()?;
        if length != self.length || segments != self.earlier.1 {
            let records = self.store.read_journal()?;
            // One that was replaced is not told a second time; one that has become a
            // segment is told as that.
            if segments > self.earlier.1 {
                self.earlier = (self.store.read_earlier()?, segments);
                self.records = records;
            } else if records.len() >= self.records.len() {
                self.records = records;
            }
            (self.length, self.grown) = (length, world.clock.elapsed());
        }
        Ok(())
    }

    /// The summary of the last loop.
    pub fn summary(&self) -> Result<Summary, OpError> {
        let tasks = self.store.read_tasks()?.unwrap_or_default();
        let mut summary = Summary::of(&self.records, &tasks.file());
        diff::count(&self.store, &mut summary);
        Ok(summary)
    }

    /// The id of the task that a person names: of the plan, or of the journal if
    /// the plan no longer has it.
    pub fn id_of(&self, named: &str) -> Result<String, OpError> {
        let tasks = self.store.read_tasks()?.unwrap_or_default();
        if let Some(task) = tasks.file().by_address(named) {
            return Ok(task.name());
        }
        let mut known = self.story().filter_map(|record| record.entry.task());
        match known.find(|task| task.id == named) {
            Some(task) => Ok(task.id.clone()),
            None => Err(AttemptError::NoTask(named.to_owned()).into()),
        }
    }

    /// All attempts at a task, those of earlier loops too.
    pub fn task(&self, id: &str) -> Result<TaskSummary, OpError> {
        Ok(self.task_and_summary(id)?.0)
    }

    /// The same, and the summary of all loops without its tasks.
    pub(super) fn task_and_summary(&self, id: &str) -> Result<(TaskSummary, Summary), OpError> {
        let tasks = self.store.read_tasks()?.unwrap_or_default();
        let story: Vec<Record> = self.story().cloned().collect();
        let mut all = Summary::of_all_loops(&story, &tasks.file());
        let task = std::mem::take(&mut all.tasks).into_iter().find(|task| task.id == id);
        let none = || AttemptError::NoTask(id.to_owned());
        Ok((task.ok_or_else(none)?, all))
    }

    /// The logs of the starts of an attempt, the newest last.
    pub fn agent_logs(&self, task: &TaskSummary, attempt: &Attempt) -> Vec<AgentLog> {
        let mut paths: Vec<PathBuf> = attempt.logs.iter().map(PathBuf::from).collect();
        paths.retain(|path| logs::is_log(&self.spec, path) && self.spec.world.disk.is_file(path));
        // An attempt that runs is not charged yet.
        if paths.is_empty() || attempt.result == AttemptResult::Open {
            let newest = logs::newest_log(&self.spec, &task.id, attempt.number);
            paths.extend(newest.filter(|path| !paths.contains(path)));
        }
        let log = |path: PathBuf| AgentLog { agent: self.agent_of(&path), path };
        paths.into_iter().map(log).collect()
    }

    /// Whose log it is, if a record says so.
    fn agent_of(&self, path: &Path) -> Option<String> {
        self.records.iter().rev().chain(self.earlier.0.iter().rev()).find_map(
            |record| match &record.entry {
                Entry::Launched { agent, log: Some(log), .. }
                | Entry::Charged { agent, log: Some(log), .. }
                    if Path::new(log) == path =>
                {
                    Some(agent.clone())
                }
                _ => None,
            },
        )
    }

    /// The attempt that a person names by its place; without a name the last one that
    /// has a log, or else the last one.
    pub fn attempt<'t>(
        &self,
        task: &'t TaskSummary,
        place: Option<u64>,
    ) -> Result<Option<&'t Attempt>, OpError> {
        let mut newest_first = task.attempts.iter().rev();
        let Some(place) = place else {
            let with_log = newest_first.clone().find(|one| !self.agent_logs(task, one).is_empty());
            return Ok(with_log.or(task.attempts.last()));
        };
        match newest_first.find(|attempt| attempt.place == place) {
            Some(attempt) => Ok(Some(attempt)),
            None => Err(OpError::NotFound(no_attempt(task, place))),
        }
    }

    /// Whether nothing more is to be expected.
    pub fn is_over(&self) -> bool {
        let in_run = self.records.iter().rev().find_map(|record| match record.entry {
            Entry::RunStarted { .. } => Some(true),
            Entry::RunEnded { .. } => Some(false),
            _ => None,
        });
        let in_run = in_run == Some(true);
        if !self.store.has_state() {
            return !in_run || self.store.world.clock.elapsed() - self.grown > LAST_WORDS;
        }
        if in_run {
            let state = self.store.read_state().and_then(Result::ok);
            let owner = state.and_then(|state| state.owner);
            return owner.is_some_and(|owner| owner::is_gone(&self.store, &owner));
        }
        let last = self.records.iter().rev().find(|record| record.entry != Entry::Done);
        last.is_some_and(|record| matches!(record.entry, Entry::RunEnded { .. }))
    }
}

/// What happens to a spec: what is recorded, and what agents say meanwhile.
pub struct Follow {
    feed: Feed,
    spec: Spec,
    store: Store,
    /// The agents that are at work.
    talking: Vec<Talking>,
    /// Whether what was there at the beginning is read.
    has_caught_up: bool,
    standing: LoopStanding,
    /// Whether a run has begun that has not said that it has ended.
    in_run: bool,
    /// When something was recorded last.
    grown: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoopStanding {
    NotStarted,
    UnderWay,
    Ended,
}

/// An agent at work, whose log is read as it grows.
struct Talking {
    /// What is recorded of its start.
    launch: Event,
    task: TaskKey,
    replay: Replay,
    reader: Box<dyn Reader>,
}

impl Follow {
    /// What is new, in its order. At first that is everything that was recorded.
    pub fn next(&mut self) -> Result<Vec<Event>, OpError> {
        let mut events = Vec::new();
        let recorded = self.feed.next()?;
        if !recorded.is_empty() {
            self.grown = self.store.world.clock.elapsed();
        }
        for event in recorded {
            self.look_at(&event);
            if let Some(ended) = ended_by(&event) {
                let place = self.talking.iter().position(|talking| talking.is_of(&event, ended));
                if let Some(place) = place {
                    let mut talking = self.talking.remove(place);
                    if self.has_caught_up {
                        talking.read_on(&self.store.world, true, &mut events);
                    }
                }
            }
            self.talking.extend(Talking::begun_by(&self.spec, &event));
            events.push(event);
        }
        self.has_caught_up = true;
        for talking in &mut self.talking {
            talking.read_on(&self.store.world, false, &mut events);
        }
        Ok(events)
    }

    fn look_at(&mut self, event: &Event) {
        match event.entry() {
            Some(Entry::Started { .. }) => self.standing = LoopStanding::UnderWay,
            Some(Entry::Completed { .. } | Entry::Cancelled) => {
                self.standing = LoopStanding::Ended;
            }
            Some(Entry::RunStarted { .. }) => self.in_run = true,
            Some(Entry::RunEnded { .. }) => {
                self.in_run = false;
                self.talking.clear();
            }
            _ => {}
        }
    }

    /// Whether the loop has ended as far as it was read, or there is none.
    pub fn is_over(&self) -> bool {
        match self.standing {
            LoopStanding::NotStarted => !self.store.has_state(),
            // A person who removes a spec moves its journal away.
            LoopStanding::UnderWay => !self.store.world.disk.exists(&self.spec.dir),
            LoopStanding::Ended => {
                !self.in_run || self.store.world.clock.elapsed() - self.grown > LAST_WORDS
            }
        }
    }
}

impl Talking {
    /// The agent that is started, if its log is one of ours and it can be read.
    fn begun_by(spec: &Spec, event: &Event) -> Option<Talking> {
        let Some(Entry::Launched { task, agent, log: Some(log), .. }) = event.entry() else {
            return None;
        };
        let path = Path::new(log);
        let agent = agent::by_name(agent, Some("")).filter(|_| logs::is_log(spec, path))?;
        let file = spec.world.disk.open_own(path).ok()?;
        let (launch, task, replay) = (event.clone(), task.clone(), Replay::of(file));
        Some(Talking { launch, task, replay, reader: agent.reader() })
    }

    /// Whether an event is about this agent's attempt.
    fn is_of(&self, event: &Event, task: &TaskKey) -> bool {
        match (&self.launch.attempt, &event.attempt) {
            (Some(ours), Some(theirs)) => ours == theirs,
            _ => self.task.id == task.id,
        }
    }

    /// Adds what it has said since.
    fn read_on(&mut self, world: &World, has_ended: bool, events: &mut Vec<Event>) {
        let Talking { launch, task, replay, reader } = self;
        let at = Moment::from(world.clock.now());
        let mut read = |line: &[u8]| {
            let said = |sign| Event::said(at.clone(), launch, task.clone(), sign);
            events.extend(reader.line(line).into_iter().map(said));
        };
        // A log that cannot be read tells nothing; what is recorded goes on.
        let _ = replay.read_on(&mut read);
        if has_ended {
            replay.end(read);
        }
    }
}

/// The task whose agent has said everything when this is recorded.
fn ended_by(event: &Event) -> Option<&TaskKey> {
    match event.entry()? {
        Entry::Charged { task, .. }
        | Entry::Passed { task, .. }
        | Entry::Failed { task, .. }
        | Entry::SetAside { task, .. }
        | Entry::Modified { task, .. }
        | Entry::Waits { task, .. }
        | Entry::Cleared { task, .. } => Some(task),
        _ => None,
    }
}
