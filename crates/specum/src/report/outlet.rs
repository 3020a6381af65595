//! The way of a report to its reader, who may be slow, or stand still.
//!
//! A run never waits for a reader: a thread of its own reads the feed of the
//! spec and writes. What is recorded waits for it in the journal, however much there
//! is. What agents say is recorded nowhere and comes by the thousand. Those who read it
//! from an agent [keep pace](Outlet::keep_pace) with a reader that is merely slow; for
//! one that stands still it is left out, and that is told.
//!
//! What an agent says stands behind everything that was recorded before it said so, and
//! in front of everything that was recorded after.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use specum_core::agent::Signs;
use specum_core::event::Event;
use specum_core::journal::Entry;
use specum_core::summary::{Places, Summary};
use specum_core::tasks::TaskKey;
use specum_engine::clock;
use specum_engine::feed::Feed;
use specum_engine::runner::{Listener, RunError};
use specum_engine::store::{Store, StoreError};
use specum_engine::terminal::Quiet;

use super::Reporter;
use super::lines::{Lines, Stamp};

/// How much may wait before agents are held up.
const BEHIND: usize = 500;
/// How little waits when agents that are held up go on.
const CAUGHT_UP: usize = BEHIND / 2;
/// How much may wait before what agents say is left out. More than [`BEHIND`] by
/// what is on its way when they are held up.
const FULL: usize = 4_000;
/// How much the writer takes at once. Each turn wakes those who wait for it, which
/// costs more than to write a short line.
const BATCH: usize = 256;
/// How often the feed is looked at while nobody says anything.
const LOOK: Duration = Duration::from_millis(100);
/// A reader that takes nothing for so long stands still.
const STANDSTILL: Duration = Duration::from_secs(1);
/// A reader that takes longer for a few events is told apart from one that stands
/// still by each of them.
const SLOW: Duration = Duration::from_millis(50);
/// How long one that stands still is waited for at the end.
const LAST_CHANCE: Duration = Duration::from_secs(5);

/// Shows what a run does. It never fails and never waits: a run goes on although
/// nobody listens. Dropped, it waits until all is written, as long as somebody reads.
pub struct Outlet {
    shared: Arc<Shared>,
    /// Given back when all is written.
    _quiet: Option<Quiet>,
}

struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    /// Knows which record was written last.
    store: Store,
}

/// What waits to be written and is recorded nowhere.
struct Queue {
    items: VecDeque<Queued>,
    /// How many events that is, with what the writer has taken and not written yet.
    length: usize,
    /// How much agents have said since for which there was no room, and the last record
    /// that was written before.
    left_out: Option<(u64, u64)>,
    /// Whether what moves is to be drawn anew.
    tick: bool,
    /// When something was written last.
    written: Instant,
    /// Whether nothing more will come.
    over: bool,
    /// Whether nothing more will be written.
    ended: bool,
}

struct Queued {
    at: Timestamp,
    /// The last record that was written before.
    behind: u64,
    item: Item,
}

enum Item {
    Said(TaskKey, Signs),
    LeftOut(u64),
    Summary(String, Box<Summary>),
    Failure(String),
}

impl Outlet {
    /// Lets a reporter of its own thread write what the run of a store does from now
    /// on.
    pub(super) fn by(
        reporter: Box<dyn Reporter + Send>,
        store: &Store,
    ) -> Result<Outlet, RunError> {
        let queue = Queue {
            items: VecDeque::new(),
            length: 0,
            left_out: None,
            tick: false,
            written: Instant::now(),
            over: false,
            ended: false,
        };
        let feed = Feed::from_now(store).map_err(StoreError::from)?;
        let places = Places::of_records(&store.read_journal().map_err(StoreError::from)?);
        let shared = Arc::new(Shared {
            queue: Mutex::new(queue),
            changed: Condvar::new(),
            store: store.clone(),
        });
        let (reads, recorded) = (Arc::clone(&shared), Recorded::new(feed));
        let write =
            move || Writer { shared: &reads, reporter, recorded }.write(Lines::behind(places));
        thread::Builder::new().spawn(write).map_err(RunError::Thread)?;
        Ok(Outlet { shared, _quiet: None })
    }

    /// The same on a terminal that shows no keys until all is written.
    pub(super) fn on_terminal(mut self, quiet: Quiet) -> Outlet {
        self._quiet = Some(quiet);
        self
    }

    /// The run has ended, and this is what became of the loop.
    pub fn summary(&self, spec: &str, summary: Summary) {
        self.shared.push(Item::Summary(spec.to_owned(), Box::new(summary)));
    }

    /// The run has failed, and this line says so to a program.
    pub fn failure(&self, line: String) {
        self.shared.push(Item::Failure(line));
    }
}

impl Listener for Outlet {
    fn said(&self, task: TaskKey, signs: Signs) {
        let mut queue = self.shared.lock();
        let recorded = self.shared.store.written();
        if queue.length >= FULL {
            let (count, _) = queue.left_out.get_or_insert((0, recorded));
            *count += signs.len() as u64;
            return;
        }
        let was_empty = queue.items.is_empty();
        queue.push(Item::Said(task, signs), recorded);
        if was_empty {
            // Otherwise the writer is at work, and a wake-up is a call of the system.
            self.shared.changed.notify_all();
        }
    }

    fn tick(&self) {
        self.shared.lock().tick = true;
        self.shared.changed.notify_all();
    }

    /// Waits for a reader that is behind, if it moves at all.
    fn keep_pace(&self) {
        let is_slow = |queue: &mut Queue| {
            queue.length >= BEHIND && !queue.ended && queue.written.elapsed() < STANDSTILL
        };
        let _ = self.shared.changed.wait_timeout_while(self.shared.lock(), STANDSTILL, is_slow);
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.tell_left_out();
        queue.over = true;
        queue.written = Instant::now();
        self.shared.changed.notify_all();
        while !queue.ended && queue.written.elapsed() < LAST_CHANCE {
            let left = LAST_CHANCE.saturating_sub(queue.written.elapsed());
            queue = self.shared.changed.wait_timeout(queue, left).expect("no holder panics").0;
        }
    }
}

impl Queue {
    fn push(&mut self, item: Item, behind: u64) {
        self.tell_left_out();
        self.length += item.length();
        self.items.push_back(Queued { at: clock::now(), behind, item });
    }

    fn tell_left_out(&mut self) {
        if let Some((count, behind)) = self.left_out.take() {
            self.length += 1;
            let item = Item::LeftOut(count);
            self.items.push_back(Queued { at: clock::now(), behind, item });
        }
    }

    /// Takes what is to be written next: at least one thing, if there is any.
    fn take(&mut self) -> Vec<Queued> {
        let mut length = 0;
        let fits = |queued: &&Queued| {
            let is_first = length == 0;
            length += queued.item.length();
            is_first || length <= BATCH
        };
        let count = self.items.iter().take_while(fits).count();
        self.items.drain(..count).collect()
    }
}

impl Item {
    /// How many events it is.
    fn length(&self) -> usize {
        match self {
            Item::Said(_, signs) => signs.len(),
            Item::LeftOut(_) | Item::Summary(..) | Item::Failure(_) => 1,
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("no holder panics")
    }

    fn push(&self, item: Item) {
        self.lock().push(item, self.store.written());
        self.changed.notify_all();
    }
}

/// What the run has recorded and is not written yet.
struct Recorded {
    feed: Feed,
    events: VecDeque<Event>,
    /// The number of the last one that was read.
    read: u64,
    /// Whether the run has begun; what was recorded before is not its own story.
    has_begun: bool,
}

impl Recorded {
    fn new(feed: Feed) -> Recorded {
        Recorded { feed, events: VecDeque::new(), read: 0, has_begun: false }
    }

    /// The next event of a run up to this number.
    fn next(&mut self, store: &Store, up_to: u64) -> Option<Event> {
        loop {
            // Nobody else writes what is asked for, so that much need not be looked at.
            if self.events.is_empty() && self.read < up_to {
                // What cannot be read now may be with the next look.
                self.events.extend(self.feed.next().unwrap_or_default());
                self.read = self.events.back().and_then(|event| event.seq).unwrap_or(self.read);
            }
            if self.events.front()?.seq > Some(up_to) {
                return None;
            }
            let event = self.events.pop_front()?;
            self.has_begun |= matches!(event.entry(), Some(Entry::RunStarted { .. }));
            // Others may work on the spec as well: a person pauses it, for one.
            if self.has_begun && event.run.as_ref() == store.run() {
                return Some(event);
            }
        }
    }
}

/// Writes what is recorded and what is said, in their order.
struct Writer<'s> {
    shared: &'s Shared,
    reporter: Box<dyn Reporter + Send>,
    recorded: Recorded,
}

impl Writer<'_> {
    /// Writes what comes until nothing more will.
    fn write(mut self, mut lines: Lines) {
        loop {
            let waits = |queue: &mut Queue| queue.items.is_empty() && !queue.tick && !queue.over;
            let queue = self.shared.changed.wait_timeout_while(self.shared.lock(), LOOK, waits);
            let mut queue = queue.expect("no holder panics").0;
            let batch = queue.take();
            let tick = batch.is_empty() && std::mem::take(&mut queue.tick);
            let is_over = batch.is_empty() && queue.over;
            // Whatever is said from now on stands behind that.
            let recorded = if is_over { u64::MAX } else { self.shared.store.written() };
            drop(queue);
            let mut written = 0;
            let is_empty = batch.is_empty();
            for Queued { at, behind, item } in batch {
                self.write_recorded(&mut lines, behind);
                written += item.length();
                self.write_item(at, item);
            }
            if is_empty {
                self.write_recorded(&mut lines, recorded);
            }
            if tick {
                self.reporter.tick();
            }
            self.reporter.flush();
            let mut queue = self.shared.lock();
            queue.written = Instant::now();
            let before = queue.length;
            queue.length -= written;
            let has_caught_up = before >= CAUGHT_UP && queue.length < CAUGHT_UP;
            drop(queue);
            if has_caught_up {
                self.shared.changed.notify_all();
            }
            if is_over {
                break;
            }
        }
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
    }

    /// Writes what was recorded up to this number.
    fn write_recorded(&mut self, lines: &mut Lines, up_to: u64) {
        while let Some(event) = self.recorded.next(&self.shared.store, up_to) {
            for line in lines.take(&event) {
                self.reporter.line(Stamp::of(&event), &line);
                self.shared.lock().written = Instant::now();
            }
        }
    }

    fn write_item(&mut self, at: Timestamp, item: Item) {
        let at = at.round(jiff::Unit::Millisecond).unwrap_or_default().to_string();
        let stamp = Stamp { at: &at, seq: None, run: self.shared.store.run() };
        match item {
            Item::LeftOut(count) => self.reporter.left_out(stamp, count),
            Item::Summary(spec, summary) => self.reporter.summary(&at, &spec, &summary),
            Item::Failure(line) => self.reporter.failure(&line),
            Item::Said(task, signs) => {
                let mut signs = signs.iter().peekable();
                let mut began = Instant::now();
                while signs.peek().is_some() {
                    self.reporter.said(stamp, &task, &mut signs);
                    if began.elapsed() >= SLOW {
                        began = Instant::now();
                        self.shared.lock().written = began;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, Receiver, Sender};

    use specum_core::agent::Sign;
    use specum_core::event::RunId;
    use specum_engine::ports::World;
    use specum_engine::project::Spec;
    use tempfile::TempDir;

    use super::*;
    use crate::report::lines::Line;

    /// Takes a line as soon as it may, and says which.
    struct Slow {
        may: Receiver<()>,
        took: Sender<String>,
    }

    impl Slow {
        fn take(&self, what: String) {
            let _ = self.may.recv();
            let _ = self.took.send(what);
        }
    }

    impl Reporter for Slow {
        fn line(&mut self, stamp: Stamp<'_>, line: &Line) {
            assert!(stamp.run.is_some());
            self.take(match line {
                Line::Agent { sign: Sign::Text { text }, .. } | Line::Warning { text } => {
                    text.clone()
                }
                _ => "other".into(),
            });
        }

        fn left_out(&mut self, _stamp: Stamp<'_>, count: u64) {
            self.take(format!("left out {count}"));
        }

        fn tick(&mut self) {}

        fn flush(&mut self) {}

        fn summary(&mut self, _at: &str, _spec: &str, _summary: &Summary) {}
    }

    /// A run of a spec of its own, with a reader that takes what `let_it` allows.
    struct Run {
        _place: TempDir,
        store: Store,
        outlet: Outlet,
        let_it: Sender<()>,
        taken: Receiver<String>,
    }

    impl Run {
        fn begin() -> Run {
            let place = tempfile::tempdir().unwrap();
            let dir = place.path().canonicalize().unwrap();
            let (name, shown, world) = ("a".into(), "a".into(), World::real());
            let spec = Spec { name, dir: dir.clone(), shown, root: dir, world };
            let mut store = Store::of(&spec);
            record(&store, Entry::Warning { text: "of an earlier run".into() });
            store.write_as(RunId::new(1, 1, 1));
            let (let_it, may) = mpsc::channel();
            let (took, taken) = mpsc::channel();
            let outlet = Outlet::by(Box::new(Slow { may, took }), &store).unwrap();
            record(&store, Entry::Warning { text: "before it has begun".into() });
            let (spec, agents) = ("a".to_owned(), Vec::new());
            let caps = Default::default();
            record(&store, Entry::RunStarted { spec, total: 1, done: 0, agents, jobs: 1, caps });
            Run { _place: place, store, outlet, let_it, taken }
        }

        fn says(&self, text: String) {
            let task = TaskKey { id: "1.1".into(), title: String::new() };
            self.outlet.said(task, vec![Sign::Text { text }].into());
        }

        fn warns(&self, text: &str) {
            record(&self.store, Entry::Warning { text: text.into() });
        }
    }

    fn record(store: &Store, entry: Entry) {
        store.lock().unwrap().record(entry).unwrap();
    }

    #[test]
    fn a_reader_that_stands_still_misses_what_agents_say_and_nothing_else() {
        let run = Run::begin();
        for number in 0..2 * FULL {
            run.says(number.to_string());
        }
        run.warns("the end");
        let Run { outlet, let_it, taken, .. } = run;
        drop(let_it);
        drop(outlet);
        let taken: Vec<String> = taken.iter().collect();
        assert_eq!(taken[0], "other", "the run's beginning, and nothing before it");
        let (said, rest) = taken[1..].split_at(taken.len() - 3);
        assert!((FULL..=FULL + 1).contains(&said.len()), "{}", said.len());
        assert!(said.iter().enumerate().all(|(number, text)| number.to_string() == *text));
        assert_eq!(rest, [format!("left out {}", 2 * FULL - said.len()), "the end".to_owned()]);
    }

    #[test]
    fn a_reader_that_is_slow_misses_nothing_if_those_who_tell_keep_pace() {
        let Run { _place, store, outlet, let_it, taken } = Run::begin();
        let reader = thread::spawn(move || {
            for _ in 0..3 * FULL {
                let _ = let_it.send(());
                thread::yield_now();
            }
            drop(let_it);
            taken.iter().count()
        });
        let task = TaskKey { id: "1.1".into(), title: String::new() };
        for number in 0..3 * FULL {
            outlet.keep_pace();
            outlet.said(task.clone(), vec![Sign::Text { text: number.to_string() }].into());
        }
        drop((outlet, store));
        assert_eq!(reader.join().unwrap(), 3 * FULL + 1);
    }

    #[test]
    fn what_is_said_stands_between_what_was_recorded_before_and_after() {
        let run = Run::begin();
        // The reader stands still meanwhile, so all of it waits.
        for number in 0..100 {
            run.warns(&format!("before {number}"));
            run.says(format!("said {number}"));
            if number % 3 == 0 {
                run.says(format!("more {number}"));
            }
        }
        run.warns("the end");
        let Run { _place, outlet, let_it, taken, .. } = run;
        drop(let_it);
        drop(outlet);
        let mut expected = vec!["other".to_owned()];
        for number in 0..100 {
            expected.extend([format!("before {number}"), format!("said {number}")]);
            expected.extend((number % 3 == 0).then(|| format!("more {number}")));
        }
        expected.push("the end".to_owned());
        assert_eq!(taken.iter().collect::<Vec<_>>(), expected);
    }
}
