//! Times of several subjects, taken in turn.
//!
//! A busy machine slows neighbours alike: so a subject and its yardstick are
//! called one after the other in each round. A figure is the median of its
//! rounds, a ratio that of two medians; its spread are the quartiles of the
//! rounds' own ratios.

use std::time::{Duration, Instant};

/// Something to be timed; it times itself, so that it can prepare what it needs.
pub(super) type Subject<'a> = Box<dyn FnMut() -> Duration + 'a>;

/// The times of one subject in seconds, by round.
pub(super) struct Sample(Vec<f64>);

/// Calls every subject once in each round.
pub(super) fn in_turn(rounds: usize, mut subjects: Vec<Subject<'_>>) -> Vec<Sample> {
    let mut samples: Vec<Sample> = subjects.iter().map(|_| Sample(Vec::new())).collect();
    for _ in 0..rounds {
        for (subject, sample) in subjects.iter_mut().zip(&mut samples) {
            sample.0.push(subject().as_secs_f64());
        }
    }
    samples
}

/// How long this takes.
pub(super) fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let began = Instant::now();
    let result = work();
    let time = began.elapsed();
    drop(result);
    time
}

impl Sample {
    pub(super) fn median(&self) -> f64 {
        quantile(&self.0, 0.5)
    }

    /// The same, for a part of what was timed.
    pub(super) fn per(&self, parts: usize) -> Sample {
        Sample(self.0.iter().map(|time| time / parts as f64).collect())
    }

    /// How many times as long as the yardstick.
    pub(super) fn beside(&self, yardstick: &Sample) -> Ratio {
        let rounds: Vec<f64> = self.0.iter().zip(&yardstick.0).map(|(a, b)| a / b).collect();
        Ratio {
            value: self.median() / yardstick.median(),
            spread: Some((quantile(&rounds, 0.25), quantile(&rounds, 0.75))),
        }
    }
}

fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

/// A figure as a multiple of its yardstick.
#[derive(Clone, Copy, Debug)]
pub struct Ratio {
    pub(super) value: f64,
    /// The quartiles, if it was measured more than once.
    pub(super) spread: Option<(f64, f64)>,
}

impl Ratio {
    /// Of two figures that are what they are, however often they are measured.
    pub(super) fn of(figure: f64, yardstick: f64) -> Ratio {
        Ratio { value: figure / yardstick, spread: None }
    }
}
