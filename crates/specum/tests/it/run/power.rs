//! The power is cut: everything is gone at once, git in the middle of its work too.
//! The same command always comes to the end that an undisturbed run comes to.
//!
//! `SPECUM_POWER_CUTS=200` asks for more of them.

use std::fs;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{committed, nothing_is_left, planned, processes, run, run_command, tree};
use crate::world::{World, until};

/// A sequence and a group, with a hook that takes its time.
const PLAN: &str = "\
- [ ] 1.1 First
  ```sh
  mkdir -p out; echo 1 > out/1.1.txt
  ```
  - **Verify**: `test -f out/1.1.txt`
- [ ] 1.2 [P] Left
  ```sh
  mkdir -p out; echo 2 > out/1.2.txt
  ```
- [ ] 1.3 [P] Right
  ```sh
  mkdir -p out; echo 3 > out/1.3.txt; git add out/1.3.txt
  ```
- [ ] 1.4 Last
  ```sh
  mkdir -p out; echo 4 > out/1.4.txt
  ```
";

fn world() -> World {
    let world = planned(PLAN);
    fs::remove_dir_all(world.path(".git/hooks")).unwrap();
    world
}

/// Ends everything at once, so that nobody hears of another's end: all are stopped
/// first, and parents go last.
fn cut_the_power(world: &World, run: &mut Child) {
    let numbers = || -> Vec<Pid> {
        let number = |line: &String| line.split(':').next()?.parse().ok().and_then(Pid::from_raw);
        let mut found: Vec<Pid> = processes(world).iter().filter_map(number).collect();
        found.sort_by_key(|pid| std::cmp::Reverse(pid.as_raw_nonzero()));
        found
    };
    let stop = |pids: &[Pid], signal: Signal| {
        for pid in pids {
            // It may have ended by itself.
            let _ = kill_process(*pid, signal);
        }
    };
    stop(&[Pid::from_child(run)], Signal::STOP);
    // Twice: one may have been born meanwhile.
    stop(&numbers(), Signal::STOP);
    let all = numbers();
    stop(&all, Signal::STOP);
    stop(&all, Signal::KILL);
    run.wait().expect("it was started");
    // One that was about to become git may hold what the run has held until it is
    // gone.
    until("everything is gone", || processes(world).is_empty());
}

#[test]
fn finding_47_after_a_power_cut_the_same_command_goes_on() {
    let cuts = std::env::var("SPECUM_POWER_CUTS").ok().and_then(|cuts| cuts.parse().ok());
    let template = world();
    let calm = template.copy();
    let began = Instant::now();
    run(&calm, &[]).exits(0);
    let whole = began.elapsed();
    let undisturbed = tree(&calm);
    // Moments that differ from one start of the test to the next.
    let seed = u64::from(std::process::id());
    for cut in 0..cuts.unwrap_or(8_u64) {
        let part = (seed + cut).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        let moment = whole.mul_f64(f64::from(u32::try_from(part).unwrap()) / f64::from(1 << 24));
        let world = template.copy();
        let mut command = run_command(&world, &[]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the binary starts");
        thread::sleep(moment.max(Duration::from_millis(5)));
        cut_the_power(&world, &mut child);
        let locks = locks(&world);
        let again = run(&world, &[]);
        let told = format!("{moment:?} of {whole:?}, {locks:?}: {}{}", again.stdout, again.stderr);
        assert_eq!(again.code, Some(0), "{told}");
        assert_eq!(tree(&world), undisturbed, "{told}");
        assert_eq!(committed(&world), ["1.1", "1.2", "1.3", "1.4"], "{told}");
        nothing_is_left(&world);
    }
}

/// What git has left.
fn locks(world: &World) -> Vec<String> {
    let all = world.snapshot();
    let names = all.iter().map(|(path, _)| path.display().to_string());
    names.filter(|name| name.ends_with(".lock") && name.contains("/.git/")).collect()
}
