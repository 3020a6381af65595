//! The kernel in a simulated world. `cargo test` looks at a few seeds;
//! `SPECUM_SIMULATION_STEPS` asks for more.

use xtask::campaign::simulate;

/// How much is looked at in every build: seconds, without optimization too.
const STEPS: u64 = 3_000;

#[test]
fn no_promise_breaks_in_any_weather() {
    let asked = std::env::var("SPECUM_SIMULATION_STEPS").ok();
    let steps = asked.map_or(STEPS, |steps| steps.parse().expect("a number of steps"));
    for seed in 1..=2 {
        match simulate(seed, steps / 2) {
            Ok(kept) => println!("seed {seed}: {kept}"),
            Err(story) => panic!("{story}"),
        }
    }
}

#[test]
fn the_same_seed_tells_the_same_story() {
    // But for the time that it took.
    let told = |seed| {
        let told = simulate(seed, 500).unwrap_or_else(|story| story);
        told.split_once(" s, ").map_or(told.clone(), |(_, counts)| counts.to_owned())
    };
    assert_eq!(told(7), told(7));
    assert_ne!(told(7), told(8));
}
