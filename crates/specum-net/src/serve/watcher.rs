//! Looks at the files of every spec twice a second while somebody listens, and not at all
//! otherwise; whoever listens hears of what has changed.
//!
//! Looking costs a few calls a spec and works on every file system. Who holds a spec can
//! change without a file, so a spec with a loop is looked at more closely now and then. A
//! spec that took long to read rests for longer, so no journal keeps a core busy.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use specum_core::picture::{Picture, Stands};
use specum_core::report::TaskStands;
use specum_engine::ops;
use specum_engine::ports::Disk;
use specum_engine::store::Store;
use tokio::sync::watch;

use super::places::{Place, Places};
use super::words::{Ear, Heard};

/// How often is looked.
const LOOK: Duration = Duration::from_millis(500);
/// How often is looked whether a spec has come, gone, or lost its owner.
const LOOK_CLOSELY: Duration = Duration::from_secs(2);
/// A spec rests so many times as long as it took to read.
const REST: u32 = 10;

/// All specs, as they were found last.
#[derive(Debug, Default)]
pub(super) struct Now {
    pub(super) specs: Vec<Arc<Shown>>,
}

/// A spec, as it was found last.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) place: Place,
    pub(super) picture: Picture,
    pub(super) heard: Vec<Heard>,
}

/// The one that looks.
#[derive(Debug)]
pub(super) struct Watcher {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    listeners: Mutex<Listeners>,
    wake: Condvar,
    now: watch::Sender<Arc<Now>>,
}

#[derive(Debug, Default)]
struct Listeners {
    count: usize,
    /// Whether somebody wants to know before the next look is due.
    hurry: bool,
    /// Whether somebody has come who must be told, even if nothing is new.
    waits: bool,
}

/// Somebody who listens.
pub(super) struct Listener {
    shared: Arc<Shared>,
    news: watch::Receiver<Arc<Now>>,
    /// What was found by others is good enough to begin with.
    is_fresh: bool,
}

impl Watcher {
    pub(super) fn start(places: Places) -> io::Result<Watcher> {
        let shared = Arc::new(Shared {
            listeners: Mutex::default(),
            wake: Condvar::new(),
            now: watch::channel(Arc::default()).0,
        });
        let own = Arc::clone(&shared);
        std::thread::Builder::new().name("watch".into()).spawn(move || own.watch(&places))?;
        Ok(Watcher { shared })
    }

    /// Listens from now on, until it is dropped.
    pub(super) fn listen(&self) -> Listener {
        let news = self.shared.now.subscribe();
        let mut listeners = self.shared.listeners();
        listeners.count += 1;
        let is_fresh = listeners.count > 1 && !listeners.waits;
        listeners.waits |= !is_fresh;
        self.shared.wake.notify_all();
        drop(listeners);
        Listener { shared: Arc::clone(&self.shared), news, is_fresh }
    }

    /// All specs as they are.
    pub(super) async fn now(&self) -> Arc<Now> {
        let mut listener = self.listen();
        if !listener.is_fresh || listener.current().specs.is_empty() {
            let _ = listener.changed().await;
        }
        listener.current()
    }

    /// Somebody has changed something: looks at once.
    pub(super) fn hurry(&self) {
        self.shared.listeners().hurry = true;
        self.shared.wake.notify_all();
    }
}

impl Listener {
    /// What was found last.
    pub(super) fn current(&self) -> Arc<Now> {
        Arc::clone(&self.news.borrow())
    }

    /// Waits until something else is found.
    pub(super) async fn changed(&mut self) -> Result<(), watch::error::RecvError> {
        self.news.changed().await
    }

    /// Whether nothing was found yet that is not from long ago.
    pub(super) fn has_to_wait(&mut self) -> bool {
        !std::mem::replace(&mut self.is_fresh, true)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.shared.listeners().count -= 1;
    }
}

impl Shared {
    fn listeners(&self) -> MutexGuard<'_, Listeners> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self, places: &Places) {
        let mut known: HashMap<String, Known> = HashMap::new();
        let mut listed: Option<Instant> = None;
        loop {
            let mut listeners = self.listeners();
            while listeners.count == 0 {
                listeners = self.wake.wait(listeners).unwrap_or_else(PoisonError::into_inner);
            }
            let in_a_hurry = std::mem::take(&mut listeners.hurry);
            let is_waited_for = std::mem::take(&mut listeners.waits);
            drop(listeners);
            let closely =
                is_waited_for || in_a_hurry || listed.is_none_or(|at| at.elapsed() >= LOOK_CLOSELY);
            let mut changed = is_waited_for;
            if closely {
                listed = Some(Instant::now());
                changed |= list(places, &mut known);
            }
            for spec in known.values_mut() {
                changed |= spec.look(closely, in_a_hurry);
            }
            if changed {
                self.now.send_replace(Arc::new(Now { specs: in_order(&known) }));
            }
            let listeners = self.listeners();
            if !listeners.hurry && !listeners.waits {
                drop(self.wake.wait_timeout(listeners, LOOK));
            }
        }
    }
}

/// Takes in what specs there are, and tells whether they are others than before.
fn list(places: &Places, known: &mut HashMap<String, Known>) -> bool {
    let found = places.specs();
    let before = known.len();
    known.retain(|key, _| found.iter().any(|place| place.key == *key));
    let mut changed = known.len() != before;
    for (at, place) in found.into_iter().enumerate() {
        let spec = known.entry(place.key.clone()).or_insert_with(|| {
            changed = true;
            Known::new(place)
        });
        spec.at = at;
    }
    changed
}

fn in_order(known: &HashMap<String, Known>) -> Vec<Arc<Shown>> {
    let mut all: Vec<&Known> = known.values().collect();
    all.sort_by_key(|known| known.at);
    all.iter().filter_map(|known| known.shown.clone()).collect()
}

/// A spec and what is known of it.
struct Known {
    place: Place,
    at: usize,
    store: Store,
    files: Vec<Option<(u64, u64, Option<SystemTime>)>>,
    shown: Option<Arc<Shown>>,
    rests_until: Option<Instant>,
    ears: Vec<Ear>,
}

impl Known {
    fn new(place: Place) -> Known {
        let store = Store::of(&place.spec);
        let (files, ears) = (Vec::new(), Vec::new());
        Known { place, at: 0, store, files, shown: None, rests_until: None, ears }
    }

    /// Looks, and tells whether anything is to be shown otherwise.
    fn look(&mut self, closely: bool, in_a_hurry: bool) -> bool {
        let mut changed = false;
        let rests = self.rests_until.is_some_and(|until| Instant::now() < until);
        let was_at_work = self.shown.as_ref().is_some_and(|shown| can_change_alone(&shown.picture));
        let files = files_of(&self.store);
        if (!rests || in_a_hurry) && (files != self.files || (closely && was_at_work)) {
            let began = Instant::now();
            self.files = files;
            let picture = ops::picture_of(&self.place.spec, &self.store);
            self.rests_until = Some(began + began.elapsed() * REST);
            changed = self.shown.as_ref().is_none_or(|shown| !is_same(&shown.picture, &picture));
            if changed {
                self.hear_of(&picture);
                let heard = self.heard();
                let place = self.place.clone();
                self.shown = Some(Arc::new(Shown { place, picture, heard }));
            }
        }
        let spec = &self.place.spec;
        let heard = self.ears.iter_mut().fold(false, |heard, ear| ear.listen(spec) | heard);
        if let Some(shown) = self.shown.as_ref().filter(|_| heard) {
            let (place, picture) = (shown.place.clone(), shown.picture.clone());
            self.shown = Some(Arc::new(Shown { place, picture, heard: self.heard() }));
        }
        changed || heard
    }

    /// Listens to those who are at work, and to nobody else.
    fn hear_of(&mut self, picture: &Picture) {
        let mut before = std::mem::take(&mut self.ears);
        for (work, log) in picture.logs() {
            let known = before.iter().position(|ear| ear.is_at(log));
            let ear = known.map(|at| before.swap_remove(at));
            let begin = || Ear::at(&self.place.spec, &work.task, work.agent.as_deref(), log);
            self.ears.extend(ear.or_else(begin));
        }
    }

    fn heard(&self) -> Vec<Heard> {
        self.ears.iter().map(|ear| ear.heard.clone()).collect()
    }
}

/// Whether what is shown may become wrong although no file changes: somebody may have died.
fn can_change_alone(picture: &Picture) -> bool {
    match picture.standing {
        Stands::Working | Stands::Waiting => true,
        _ => picture.command.is_none() && !picture.acts.is_empty(),
    }
}

/// Whether two pictures show the same. An estimate that moves with the clock is no news.
fn is_same(one: &Picture, other: &Picture) -> bool {
    *one == Picture { left: one.left, ..other.clone() }
}

/// What tells one version of a spec's files from another.
fn files_of(store: &Store) -> Vec<Option<(u64, u64, Option<SystemTime>)>> {
    let disk: &dyn Disk = &*store.world().disk;
    let look = |path: &Path| {
        disk.look_behind(path).ok().map(|file| (file.identity, file.length, file.modified))
    };
    let paths = [store.tasks_path(), store.state_path(), store.journal_path(), store.memory_path()];
    paths.iter().map(|path| look(path)).collect()
}

impl Shown {
    /// What the list of all specs says of this one.
    pub(super) fn short(&self) -> Value {
        let picture = &self.picture;
        let states = || picture.phases.iter().flat_map(|phase| &phase.tasks);
        let count = |state| states().filter(|task| task.state == state).count();
        json!({
            "key": self.place.key,
            "project": self.place.project,
            "spec": picture.spec,
            "standing": picture.standing,
            "sentence": picture.sentence,
            "kind": picture.need.as_ref().map(|need| need.kind),
            "done": picture.done,
            "total": picture.total,
            "working": count(TaskStands::Working),
            "failed": count(TaskStands::Failed),
            "cost": picture.cost,
            "left": picture.left,
            "last": picture.last,
            "until": picture.waiting.as_ref().map(|waiting| waiting.until),
        })
    }
}
