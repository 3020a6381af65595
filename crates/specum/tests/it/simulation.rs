//! The kernel in a simulated world. `cargo test` looks at a few seeds;
//! `SPECUM_SIMULATION_STEPS` asks for more.

#[path = "../campaign/simulation.rs"]
mod kernel;

use std::time::Instant;

/// How much is looked at in every build: seconds, without optimization too.
const STEPS: u64 = 3_000;

#[test]
fn no_promise_breaks_in_any_weather() {
    let asked = std::env::var("SPECUM_SIMULATION_STEPS").ok();
    let steps = asked.map_or(STEPS, |steps| steps.parse().expect("a number of steps"));
    for seed in 1..=2 {
        let began = Instant::now();
        match kernel::run(seed, steps / 2) {
            Ok(report) => println!("seed {seed}: {report:?} in {:?}", began.elapsed()),
            Err(story) => panic!("{story}"),
        }
    }
}

#[test]
fn the_same_seed_tells_the_same_story() {
    let told = |seed| match kernel::run(seed, 500) {
        Ok(report) => format!("{report:?}"),
        Err(story) => story.to_string(),
    };
    assert_eq!(told(7), told(7));
    assert_ne!(told(7), told(8));
}
