//! The fault campaign: generated plans, worked by the real specum with a fake
//! agent, under faults that follow from a seed. See `docs/proof/faults.md`.

/// What a story has come to.
pub mod end;
/// What always holds then.
pub mod invariants;
/// From the first start to the last.
pub mod play;
/// What the fake programs do.
mod scripts;
mod shrink;
mod simulation;
/// The place where it is played.
pub mod stage;
/// What is to happen.
pub mod story;
/// How much of it.
pub mod tally;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Instant, SystemTime};

use clap::Args;

use self::play::{Played, play};
use self::stage::Programs;
use self::story::Story;
use self::story::fault::Kind;
use self::tally::Tally;

/// Work generated plans with a fake agent under injected faults: the kernel alone in
/// a simulated world, then the real program
#[derive(Args)]
pub struct Options {
    /// The first seed, or `now` for one from the clock
    #[arg(long, value_name = "N", default_value = "1", value_parser = seed)]
    seed: u64,
    /// How many seeds of the real program
    #[arg(long, value_name = "N", default_value_t = 200)]
    runs: u64,
    /// How many steps of the simulation
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    steps: u64,
    /// Only faults of these kinds
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = kind)]
    faults: Vec<Kind>,
    /// Print the story of the seed and do not play it
    #[arg(long)]
    story: bool,
}

fn seed(word: &str) -> Result<u64, String> {
    match word {
        // One that nobody has chosen: the seconds since 1970.
        "now" => Ok(SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs())),
        number => number.parse().map_err(|_| format!("{number} is no number")),
    }
}

fn kind(name: &str) -> Result<Kind, String> {
    let found = Kind::ALL.into_iter().find(|kind| kind.name() == name);
    let all = || Kind::ALL.map(Kind::name).join(", ");
    found.ok_or_else(|| format!("there is no fault {name}, but {}", all()))
}

/// The long form.
pub fn run(options: &Options) -> anyhow::Result<ExitCode> {
    if options.steps > 0 && !options.story {
        match simulate(options.seed, options.steps) {
            Ok(kept) => println!("{kept}\n"),
            Err(story) => {
                println!("{story}");
                println!("  repeat: cargo campaign --seed {} --runs 0", options.seed);
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    if options.runs == 0 && !options.story {
        return Ok(ExitCode::SUCCESS);
    }
    crate::build_programs()?;
    let kinds = if options.faults.is_empty() { usable_kinds() } else { options.faults.clone() };
    if options.story {
        print!("seed {}\n{}", options.seed, Story::from_seed(options.seed, &kinds));
        return Ok(ExitCode::SUCCESS);
    }
    Ok(play_stories(options, &kinds)?)
}

/// The simulated part: what it came to, or the story in which a promise broke.
pub fn simulate(seed: u64, steps: u64) -> Result<String, String> {
    let began = Instant::now();
    let report = simulation::run(seed, steps).map_err(|story| story.to_string())?;
    Ok(format!(
        "simulation: {} steps in {:.1} s, {} plans, {} verdicts, {} deaths, all promises kept",
        report.steps,
        began.elapsed().as_secs_f64(),
        report.lives,
        report.passed + report.failed,
        report.deaths
    ))
}

impl Options {
    /// The command that repeats a run.
    fn repeats(&self, seed: u64, kinds: &[Kind]) -> String {
        let faults = if kinds.len() == Kind::ALL.len() {
            String::new()
        } else {
            let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
            format!(" --faults {}", names.join(","))
        };
        format!("cargo campaign --seed {seed} --runs 1 --steps 0{faults}")
    }
}

fn usable_kinds() -> Vec<Kind> {
    let programs = Programs::get();
    let (usable, left_out): (Vec<Kind>, Vec<Kind>) =
        Kind::ALL.into_iter().partition(|kind| programs.can_play(*kind));
    for kind in left_out {
        println!("without {}: it needs another user to play as", kind.name());
    }
    usable
}

/// In place on a terminal, else every now and then.
fn tell_progress(tally: &Tally, of: u64) -> io::Result<()> {
    let told = format!("{} of {of} runs, {} failed", tally.runs, tally.failed);
    if io::stdout().is_terminal() {
        print!("\r{told}");
        return io::stdout().flush();
    }
    if tally.runs.is_multiple_of(50) {
        println!("{told}");
    }
    Ok(())
}

fn play_stories(options: &Options, kinds: &[Kind]) -> io::Result<ExitCode> {
    let last = options.seed.saturating_add(options.runs - 1);
    println!("seeds {} to {last}", options.seed);
    let next = AtomicU64::new(options.seed);
    let tally = Mutex::new(Tally::default());
    let failed: Mutex<Vec<(Story, Played)>> = Mutex::default();
    // Much of a story is waiting.
    let workers = 2 * thread::available_parallelism().map_or(1, usize::from);
    let work = || -> io::Result<()> {
        loop {
            let seed = next.fetch_add(1, Ordering::SeqCst);
            if seed > last {
                return Ok(());
            }
            let story = Story::from_seed(seed, kinds);
            let played = play(&story)?;
            let mut tally = tally.lock().expect("nobody panics with it");
            tally.add(&story, &played);
            tell_progress(&tally, options.runs)?;
            if let Some(broken) = &played.broken {
                println!("\nseed {seed}: {}: {}", broken.invariant, broken.why);
                failed.lock().expect("nobody panics with it").push((story, played));
            }
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })?;
    let tally = tally.into_inner().expect("nobody panics with it");
    println!("\n\n{tally}");
    let mut failed = failed.into_inner().expect("nobody panics with it").into_iter();
    // One story is told in full; the others are named above.
    let Some((story, played)) = failed.next() else { return Ok(ExitCode::SUCCESS) };
    let seed = story.seed;
    println!("seed {seed} is shrunk:");
    let (story, played) = shrink::shrink(story, played, |step| println!("  {step}"))?;
    println!("\nseed {seed}, shrunk\n{story}");
    if let Some(broken) = &played.broken {
        println!("  broken: {}: {}", broken.invariant, broken.why);
    }
    for (fault, _) in story.faults.iter().zip(&played.struck).filter(|(_, struck)| !**struck) {
        println!("  (did not strike: {fault})");
    }
    if let Some(place) = &played.kept {
        println!("  kept: {}", place.display());
    }
    println!("  repeat: {}", options.repeats(seed, kinds));
    Ok(ExitCode::FAILURE)
}
