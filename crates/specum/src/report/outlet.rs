//! The way of a report to whoever reads it, who may be slow, or stand still.
//!
//! Whoever tells something never waits for a reader: a thread of its own writes.
//! Events of the run wait for it, however many there are: a task has a handful.
//! What agents say comes by the thousand. Those who read it from an agent
//! [keep pace](Outlet::keep_pace) with a reader that is merely slow; for one that
//! stands still it is left out, and that is told.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use specum_core::agent::Sign;
use specum_core::event::RunEvent;
use specum_core::summary::Summary;
use specum_core::tasks::TaskKey;

use super::Reporter;
use specum_engine::clock;
use specum_engine::runner::Listener;

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
/// A reader that takes nothing for so long stands still.
const STANDSTILL: Duration = Duration::from_secs(1);
/// A reader that takes longer for a few events is told apart from one that stands
/// still by each of them.
const SLOW: Duration = Duration::from_millis(50);
/// How long one that stands still is waited for at the end.
const LAST_CHANCE: Duration = Duration::from_secs(5);

/// To whom a run tells what happens. It never fails and never waits: a run goes
/// on although nobody listens. Dropped, it waits until all is written, as long as
/// somebody reads.
pub struct Outlet(Arc<Shared>);

struct Shared {
    line: Mutex<Line>,
    changed: Condvar,
}

/// What waits to be written.
struct Line {
    told: VecDeque<(Timestamp, Item)>,
    /// How many events that is, with what the writer has taken and not written yet.
    length: usize,
    /// What agents have said since, and nobody had room for.
    left_out: u64,
    /// Whether what moves is to be drawn anew.
    tick: bool,
    /// When something was written last.
    written: Instant,
    /// Whether nothing more will come.
    over: bool,
    /// Whether nothing more will be written.
    ended: bool,
}

enum Item {
    Event(RunEvent),
    Said(TaskKey, Vec<Sign>),
    LeftOut(u64),
    Summary(String, Box<Summary>),
    Failure(String),
}

impl Outlet {
    /// Lets a reporter of its own thread write what is told.
    pub(super) fn by(reporter: Box<dyn Reporter + Send>) -> io::Result<Outlet> {
        let line = Line {
            told: VecDeque::new(),
            length: 0,
            left_out: 0,
            tick: false,
            written: Instant::now(),
            over: false,
            ended: false,
        };
        let shared = Arc::new(Shared { line: Mutex::new(line), changed: Condvar::new() });
        let writer = Arc::clone(&shared);
        thread::Builder::new().spawn(move || writer.write(reporter))?;
        Ok(Outlet(shared))
    }

    /// The run has ended, and this is what became of the loop.
    pub fn summary(&self, spec: &str, summary: Summary) {
        self.0.lock().push(Item::Summary(spec.to_owned(), Box::new(summary)));
        self.0.changed.notify_all();
    }

    /// The run has failed, and this line says so to a program.
    pub fn failure(&self, line: String) {
        self.0.lock().push(Item::Failure(line));
        self.0.changed.notify_all();
    }
}

impl Listener for Outlet {
    fn event(&self, event: RunEvent) {
        self.0.event(event);
    }

    fn said(&self, task: TaskKey, signs: Vec<Sign>) {
        let mut line = self.0.lock();
        if line.length >= FULL {
            line.left_out += signs.len() as u64;
            return;
        }
        let was_empty = line.told.is_empty();
        line.push(Item::Said(task, signs));
        if was_empty {
            // Otherwise the writer is at work, and a wake-up is a call of the system.
            self.0.changed.notify_all();
        }
    }

    fn teller(&self) -> Box<dyn Fn(String) + Send> {
        let shared = Arc::clone(&self.0);
        Box::new(move |text| shared.event(RunEvent::Warning { text }))
    }

    fn tick(&self) {
        self.0.lock().tick = true;
        self.0.changed.notify_all();
    }

    /// Waits for a reader that is behind, if it moves at all.
    fn keep_pace(&self) {
        let is_slow = |line: &mut Line| {
            line.length >= BEHIND && !line.ended && line.written.elapsed() < STANDSTILL
        };
        let _ = self.0.changed.wait_timeout_while(self.0.lock(), STANDSTILL, is_slow);
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        let mut line = self.0.lock();
        line.over = true;
        line.written = Instant::now();
        self.0.changed.notify_all();
        while !line.ended && line.written.elapsed() < LAST_CHANCE {
            let left = LAST_CHANCE.saturating_sub(line.written.elapsed());
            line = self.0.changed.wait_timeout(line, left).expect("no holder panics").0;
        }
    }
}

impl Line {
    fn push(&mut self, told: Item) {
        let now = clock::now();
        if let count @ 1.. = std::mem::take(&mut self.left_out) {
            self.told.push_back((now, Item::LeftOut(count)));
            self.length += 1;
        }
        self.length += told.length();
        self.told.push_back((now, told));
    }

    /// Takes what is to be written next: at least one thing, if there is any.
    fn take(&mut self) -> Vec<(Timestamp, Item)> {
        let mut length = 0;
        let fits = |(_, told): &&(Timestamp, Item)| {
            let is_first = length == 0;
            length += told.length();
            is_first || length <= BATCH
        };
        let count = self.told.iter().take_while(fits).count();
        self.told.drain(..count).collect()
    }
}

impl Item {
    /// How many events it is.
    fn length(&self) -> usize {
        match self {
            Item::Said(_, signs) => signs.len(),
            Item::Event(_) | Item::LeftOut(_) | Item::Summary(..) | Item::Failure(_) => 1,
        }
    }
}

impl Shared {
    fn event(&self, event: RunEvent) {
        let mut line = self.lock();
        if matches!(event, RunEvent::Agent { .. }) && line.length >= FULL {
            line.left_out += 1;
            return;
        }
        line.push(Item::Event(event));
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().expect("no holder panics")
    }

    /// Writes what comes until nothing more will.
    fn write(&self, mut reporter: Box<dyn Reporter + Send>) {
        loop {
            let waits = |line: &mut Line| line.told.is_empty() && !line.tick && !line.over;
            let mut line = self.changed.wait_while(self.lock(), waits).expect("no holder panics");
            let batch = line.take();
            let tick = batch.is_empty() && std::mem::take(&mut line.tick);
            if batch.is_empty() && !tick {
                break;
            }
            drop(line);
            let mut written = 0;
            for (at, told) in batch {
                written += told.length();
                self.write_one(reporter.as_mut(), at, told);
            }
            if tick {
                reporter.tick();
            }
            reporter.flush();
            let mut line = self.lock();
            line.written = Instant::now();
            let before = line.length;
            line.length -= written;
            let has_caught_up = before >= CAUGHT_UP && line.length < CAUGHT_UP;
            drop(line);
            if has_caught_up {
                self.changed.notify_all();
            }
        }
        self.lock().ended = true;
        self.changed.notify_all();
    }

    fn write_one(&self, reporter: &mut dyn Reporter, at: Timestamp, told: Item) {
        match told {
            Item::Event(event) => reporter.event(at, &event),
            Item::LeftOut(count) => reporter.left_out(at, count),
            Item::Summary(spec, summary) => reporter.summary(at, &spec, &summary),
            Item::Failure(line) => reporter.failure(&line),
            Item::Said(task, signs) => {
                let mut signs = signs.into_iter();
                let Some(sign) = signs.next() else { return };
                let mut event = RunEvent::Agent { task, sign };
                let mut began = Instant::now();
                reporter.event(at, &event);
                for next in signs {
                    if let RunEvent::Agent { sign, .. } = &mut event {
                        *sign = next;
                    }
                    reporter.event(at, &event);
                    if began.elapsed() >= SLOW {
                        began = Instant::now();
                        self.lock().written = began;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, Receiver, Sender};

    use super::*;

    /// Takes an event as soon as it may, and says which.
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
        fn event(&mut self, _at: Timestamp, event: &RunEvent) {
            self.take(match event {
                RunEvent::Agent { sign: Sign::Text { text }, .. } | RunEvent::Warning { text } => {
                    text.clone()
                }
                _ => "other".into(),
            });
        }

        fn left_out(&mut self, _at: Timestamp, count: u64) {
            self.take(format!("left out {count}"));
        }

        fn tick(&mut self) {}

        fn flush(&mut self) {}

        fn summary(&mut self, _at: Timestamp, _spec: &str, _summary: &Summary) {}
    }

    fn says(text: String) -> RunEvent {
        let task = TaskKey { id: "1.1".into(), title: String::new() };
        RunEvent::Agent { task, sign: Sign::Text { text } }
    }

    #[test]
    fn a_reader_that_stands_still_misses_what_agents_say_and_nothing_else() {
        let (let_it, may) = mpsc::channel();
        let (took, taken) = mpsc::channel();
        let report = Outlet::by(Box::new(Slow { may, took })).unwrap();
        for number in 0..2 * FULL {
            report.event(says(number.to_string()));
        }
        report.event(RunEvent::Warning { text: "the end".into() });
        drop(let_it);
        drop(report);
        let taken: Vec<String> = taken.iter().collect();
        let (said, rest) = taken.split_at(taken.len() - 2);
        assert!((FULL..=FULL + 1).contains(&said.len()), "{}", said.len());
        assert!(said.iter().enumerate().all(|(number, text)| number.to_string() == *text));
        assert_eq!(rest, [format!("left out {}", 2 * FULL - said.len()), "the end".to_owned()]);
    }

    #[test]
    fn a_reader_that_is_slow_misses_nothing_if_those_who_tell_keep_pace() {
        let (let_it, may) = mpsc::channel();
        let (took, taken) = mpsc::channel();
        let report = Outlet::by(Box::new(Slow { may, took })).unwrap();
        let reader = thread::spawn(move || {
            for _ in 0..3 * FULL {
                let _ = let_it.send(());
                thread::yield_now();
            }
            taken.iter().count()
        });
        for number in 0..3 * FULL {
            report.keep_pace();
            report.event(says(number.to_string()));
        }
        drop(report);
        assert_eq!(reader.join().unwrap(), 3 * FULL);
    }
}
