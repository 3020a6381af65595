//! A short story that breaks the same invariant.

use std::io;
use std::time::{Duration, Instant};

use super::play::{Played, play};
use super::story::Story;
use super::story::fault::{AtStart, Fault};

/// How long shorter stories are looked for.
const PATIENCE: Duration = Duration::from_secs(120);

/// Leaves out faults, then tasks, and lets the others strike earlier, as long as
/// the same invariant breaks. Gives what breaks, and how.
pub(super) fn shrink(
    story: Story,
    played: Played,
    mut tell: impl FnMut(&str),
) -> io::Result<(Story, Played)> {
    let (mut story, mut played) = (story, played);
    let began = Instant::now();
    'smaller: loop {
        for candidate in smaller(&story) {
            if began.elapsed() > PATIENCE {
                return Ok((story, played));
            }
            let again = play(&candidate)?;
            let invariant = |played: &Played| played.broken.as_ref().map(|broken| broken.invariant);
            if invariant(&again) == invariant(&played) {
                tell(&format!(
                    "still broken with {} faults and {} tasks",
                    candidate.faults.len(),
                    candidate.tasks.len()
                ));
                forget(&played)?;
                (story, played) = (candidate, again);
                continue 'smaller;
            }
            forget(&again)?;
        }
        return Ok((story, played));
    }
}

fn forget(played: &Played) -> io::Result<()> {
    played.kept.as_ref().map_or(Ok(()), std::fs::remove_dir_all)
}

/// Every story that is a little shorter.
fn smaller(story: &Story) -> Vec<Story> {
    let mut all = Vec::new();
    for n in 0..story.faults.len() {
        let mut smaller = story.clone();
        smaller.faults.remove(n);
        all.push(smaller);
    }
    for n in (0..story.tasks.len()).rev().filter(|_| story.tasks.len() > 1) {
        let named = format!("{:?}", story.faults);
        if !named.contains(&format!("\"{}\"", story.tasks[n].id)) {
            let mut smaller = story.clone();
            smaller.tasks.remove(n);
            all.push(smaller);
        }
    }
    for n in 0..story.faults.len() {
        let earlier: Option<Fault> = earlier(&story.faults[n]);
        all.extend(earlier.map(|fault| {
            let mut smaller = story.clone();
            smaller.faults[n] = fault;
            smaller
        }));
    }
    let mut plain = story.clone();
    (plain.layout.crlf, plain.layout.noise, plain.layout.dirty) = (false, false, false);
    (plain.layout.keep_going, plain.layout.approve, plain.layout.stay) = (false, false, false);
    if plain != *story {
        all.push(plain);
    }
    all
}

/// The same fault at an earlier event, if there is one.
fn earlier(fault: &Fault) -> Option<Fault> {
    let half = |number: u64| (number > 1).then_some(number / 2);
    Some(match fault.clone() {
        Fault::Start { start, how } => {
            let how = match how {
                AtStart::Killed { point } => AtStart::Killed { point: half(point)? },
                AtStart::Torn { write } => AtStart::Torn { write: half(write)? },
                AtStart::Full { first, last } if last > first => {
                    AtStart::Full { first, last: first + (last - first) / 2 }
                }
                AtStart::Full { first, .. } => {
                    AtStart::Full { first: half(first)?, last: half(first)? }
                }
                AtStart::Clock { look, seconds } => AtStart::Clock { look: half(look)?, seconds },
                AtStart::SmallFiles { .. }
                | AtStart::Twice
                | AtStart::Stalled
                | AtStart::FewProcesses { .. } => return None,
            };
            Fault::Start { start, how }
        }
        Fault::Git { call, how } => Fault::Git { call: half(call)?, how },
        Fault::Agent { .. } | Fault::Hook { .. } => return None,
    })
}
