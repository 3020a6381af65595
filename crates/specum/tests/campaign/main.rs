//! The fault campaign: generated plans, worked by the real specum with a fake
//! agent, under faults that follow from a seed. See `docs/proof/faults.md`.

#[path = "runs.rs"]
mod runs;
mod shrink;
mod simulation;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Instant, SystemTime};

use self::runs::play::{Played, play};
use self::runs::stage::Programs;
use self::runs::story::Story;
use self::runs::story::fault::Kind;
use self::runs::tally::Tally;

const HELP: &str = "\
Works generated plans with a fake agent under injected faults: the kernel alone in
a simulated world, then the real program

Usage: cargo campaign [OPTIONS]

Options:
  --seed N       The first seed, or `now` for one from the clock [default: 1]
  --runs N       How many seeds of the real program [default: 200]
  --steps N      How many steps of the simulation [default: 1000000]
  --faults A,B   Only faults of these kinds
  --story        Prints the story of the seed and does not play it
  --help         Prints this";

/// What was typed.
struct Options {
    seed: u64,
    runs: u64,
    steps: u64,
    kinds: Vec<Kind>,
    story: bool,
}

fn main() -> io::Result<ExitCode> {
    let options = match Options::read(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            let kinds = Kind::ALL.map(Kind::name).join(", ");
            println!("{HELP}\n\nFaults: {kinds}");
            return Ok(ExitCode::SUCCESS);
        }
        Err(why) => {
            eprintln!("error: {why}\n\n{HELP}");
            return Ok(ExitCode::from(2));
        }
    };
    if options.story {
        print!("seed {}\n{}", options.seed, Story::from_seed(options.seed, &options.kinds));
        return Ok(ExitCode::SUCCESS);
    }
    if options.steps > 0 && !simulate(&options) {
        return Ok(ExitCode::FAILURE);
    }
    if options.runs == 0 { Ok(ExitCode::SUCCESS) } else { campaign(&options) }
}

/// The kernel's part; whether every promise was kept.
fn simulate(options: &Options) -> bool {
    let began = Instant::now();
    match simulation::run(options.seed, options.steps) {
        Ok(report) => {
            println!(
                "simulation: {} steps in {:.1} s, {} plans, {} verdicts, {} deaths, all promises kept\n",
                report.steps,
                began.elapsed().as_secs_f64(),
                report.lives,
                report.passed + report.failed,
                report.deaths
            );
            true
        }
        Err(story) => {
            println!("{story}");
            println!("  repeat: cargo campaign --seed {} --runs 0", options.seed);
            false
        }
    }
}

impl Options {
    /// `None`: help is asked for.
    fn read(mut words: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
        let mut options =
            Options { seed: 1, runs: 200, steps: 1_000_000, kinds: usable_kinds(), story: false };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            let number = |text: String| text.parse().map_err(|_| format!("{text} is no number"));
            match word.as_str() {
                "--seed" => {
                    let word = value()?;
                    options.seed = if word == "now" { from_clock() } else { number(word)? };
                }
                "--runs" => options.runs = number(value()?)?,
                "--steps" => options.steps = number(value()?)?,
                "--faults" => {
                    let kind = |name: &str| {
                        let found = Kind::ALL.into_iter().find(|kind| kind.name() == name);
                        found.ok_or(format!("there is no fault {name}"))
                    };
                    options.kinds = value()?.split(',').map(kind).collect::<Result<_, _>>()?;
                }
                "--story" => options.story = true,
                "--help" | "-h" => return Ok(None),
                other => return Err(format!("unknown option {other}")),
            }
        }
        Ok(Some(options))
    }

    /// The command that repeats a run.
    fn repeats(&self, seed: u64) -> String {
        let faults = if self.kinds.len() == Kind::ALL.len() {
            String::new()
        } else {
            let names: Vec<&str> = self.kinds.iter().map(|kind| kind.name()).collect();
            format!(" --faults {}", names.join(","))
        };
        format!("cargo campaign --seed {seed} --runs 1 --steps 0{faults}")
    }
}

/// A seed that nobody has chosen: the seconds since 1970.
fn from_clock() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
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

fn campaign(options: &Options) -> io::Result<ExitCode> {
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
            let story = Story::from_seed(seed, &options.kinds);
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
    println!("  repeat: {}", options.repeats(seed));
    Ok(ExitCode::FAILURE)
}
