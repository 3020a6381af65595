//! The short form of the fault campaign: for every kind of fault a few stories
//! in which it strikes, and some in which everything strikes at once. The long
//! one is `cargo campaign`.

/// Each of them can fail.
mod invariants;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use xtask::campaign::play::play;
use xtask::campaign::stage::Programs;
use xtask::campaign::story::Story;
use xtask::campaign::story::fault::Kind;
use xtask::campaign::tally::Tally;

/// How many stories each kind of fault has to itself.
const SEEDS: u64 = 2;
/// How many stories have faults of all kinds.
const MIXED: u64 = 8;

#[test]
fn whatever_strikes_nothing_is_lost_done_twice_or_left_behind() {
    let kinds: Vec<Kind> =
        Kind::ALL.into_iter().filter(|kind| Programs::get().can_play(*kind)).collect();
    let mut stories: Vec<Story> = (1..=MIXED).map(|seed| Story::from_seed(seed, &kinds)).collect();
    for kind in &kinds {
        stories.extend((1..=SEEDS).map(|seed| Story::from_seed(seed, &[*kind])));
    }
    let (next, tally) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    let work = || {
        while let Some(story) = stories.get(next.fetch_add(1, Ordering::SeqCst)) {
            let played = play(story).expect("a place to play");
            tally.lock().unwrap().add(story, &played);
            if let Some(broken) = played.broken {
                let place = played.kept.unwrap_or_default();
                panic!("seed {}\n{story}{broken:?}\nkept: {}", story.seed, place.display());
            }
        }
    };
    thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
    let tally = tally.into_inner().unwrap();
    for kind in kinds {
        assert!(tally.struck(kind) > 0, "{} has not struck\n{tally}", kind.name());
    }
}

#[test]
fn a_seed_tells_the_same_story_every_time() {
    for seed in 0..200 {
        assert_eq!(Story::from_seed(seed, &Kind::ALL), Story::from_seed(seed, &Kind::ALL));
    }
}
