//! A run against what it runs: its own time, tasks at once, and its memory.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use super::row::{Row, grouped, size, time};
use super::sample::{Ratio, Sample, Subject, in_turn, timed};
use super::{Bench, tell};
use harness::world::World;

/// An agent that does nothing but read its brief and say that it is done.
pub(super) const NO_OP: &str = "cat > /dev/null; echo TASK_COMPLETE";

pub(super) fn measure(bench: &Bench) -> Vec<Row> {
    let mut rows = vec![
        own_time(bench),
        red_first(bench),
        long_plan(bench),
        dry_run(bench),
        large_plan(bench),
    ];
    rows.push(dirty_files(bench));
    rows.extend(at_once(bench));
    rows.push(rolling(bench));
    rows.extend(long_output(bench));
    rows.push(short_lines(bench));
    rows
}

/// What the runner adds to the commands it cannot do without.
fn own_time(bench: &Bench) -> Row {
    let (tasks, rounds) = bench.pick((200, 5), (2, 1));
    tell(&format!("runs of {tasks} tasks, {rounds} rounds"));
    let run: Subject<'_> = Box::new(|| {
        let world = project(tasks, nothing);
        let time = timed(|| run(bench, &world, &["--agent-command", NO_OP]));
        assert_eq!(commits(&world), tasks + 1, "one commit for each task");
        time
    });
    let bare: Subject<'_> = Box::new(|| {
        let world = project(tasks, nothing);
        timed(|| (0..tasks).for_each(|_| bare_task(&world, &[NO_OP, "true"])))
    });
    let each: Vec<Sample> =
        in_turn(rounds, vec![run, bare]).iter().map(|sample| sample.per(tasks)).collect();
    let known = "bare spawn, check, `git add`, `git commit`";
    Row::timed("a run's time for a task", &each[0], known, &each[1]).at_most(2.0).headline()
}

/// What it costs a task that its check is run before the work too: one that only reads,
/// and one after which the tree is looked at once more.
fn red_first(bench: &Bench) -> Row {
    let (tasks, rounds) = bench.pick((100, 5), (2, 1));
    tell(&format!("runs of {tasks} tasks whose checks are run before the work, {rounds} rounds"));
    let subject = |check: &'static str, more: &'static [&'static str]| {
        Box::new(move || {
            let world = project(tasks, |n| {
                format!("- [ ] 1.{n} Do nothing\n  - **Verify**: `{check}`\n\n")
            });
            let args = [&["--agent-command", NO_OP], more].concat();
            let time = timed(|| run(bench, &world, &args));
            assert_eq!(commits(&world), tasks + 1, "one commit for each task");
            time
        }) as Subject<'_>
    };
    let (reads, writes) = ("test -d specs", "printf x > \"$HOME/x\"; test -d specs");
    let samples = in_turn(
        rounds,
        vec![subject(reads, &[]), subject(writes, &[]), subject(writes, &["--no-red"])],
    );
    let each: Vec<Sample> = samples.iter().map(|sample| sample.per(tasks)).collect();
    let known = format!("with `--no-red`; {} where it only reads", time(each[0].median()));
    let name = "a run's time for a task whose check is run before the work";
    Row::timed(name, &each[1], &known, &each[2]).at_most(1.5)
}

/// The runner's memory late in a long plan, against that at its beginning.
fn long_plan(bench: &Bench) -> Row {
    let (tasks, early) = bench.pick((200, 20), (2, 1));
    tell(&format!("memory in a run of {tasks} tasks"));
    let world = project(tasks, nothing);
    let memory = memory(bench, &world, "VmRSS:", "true");
    assert_eq!(memory.len(), tasks, "one agent for each task");
    let (first, last) = (memory[early - 1], memory[tasks - 1]);
    Row::new(
        format!("a run's memory at task {tasks}"),
        size(last),
        format!("at task {early}: {}", size(first)),
        Ratio::of(last, first),
    )
}

/// What a person is to do first, with a plan of any size.
fn dry_run(bench: &Bench) -> Row {
    let ((few, many), rounds) = bench.pick(((1_000, 10_000), 11), ((10, 20), 1));
    tell(&format!("dry runs of {many} tasks, {rounds} rounds"));
    let worlds = [many, few].map(|tasks| project(tasks, nothing));
    let subjects = worlds.iter().map(|world| {
        let args = ["--dry-run", "--agent-command", NO_OP];
        Box::new(move || timed(|| run(bench, world, &args))) as Subject<'_>
    });
    let samples = in_turn(rounds, subjects.collect());
    let known = format!("of {}", grouped(few));
    let name = format!("dry run of {} tasks", grouped(many));
    let row = Row::timed(name, &samples[0], &known, &samples[1]);
    row.goal("< 1 s".into(), samples[0].median() < 1.0)
}

/// What a task costs in a plan of many, with git and all it starts.
fn large_plan(bench: &Bench) -> Row {
    let ((few, many), tasks, rounds) = bench.pick(((100, 10_000), 20, 5), ((10, 20), 2, 1));
    tell(&format!("{tasks} tasks of a plan of {many}, {rounds} rounds"));
    let subject = |size: usize| {
        Box::new(move || {
            let world = project(size, nothing);
            let most = tasks.to_string();
            let args = ["--max-global-iterations", &most, "--agent-command", NO_OP];
            let time = processor_time(bench, &world, &args);
            assert_eq!(commits(&world), tasks + 1, "one commit for each task");
            time
        }) as Subject<'_>
    };
    let samples = in_turn(rounds, vec![subject(many), subject(few)]);
    let [many_each, few_each] = [&samples[0], &samples[1]].map(|sample| sample.per(tasks));
    let name = format!("processor time of a task in a plan of {}", grouped(many));
    Row::timed(name, &many_each, &format!("of {}", grouped(few)), &few_each).at_most(1.5)
}

/// What a task costs among files that are not committed, with git and all it starts.
/// A file is read once, unless its size or time says that it has changed.
fn dirty_files(bench: &Bench) -> Row {
    const FILES: usize = 10;
    let ((bytes, wait), tasks, rounds) =
        bench.pick(((20_000_000, 2_100), 20, 3), ((1_000, 0), 2, 1));
    let printed = size((FILES * bytes) as f64);
    tell(&format!("{tasks} tasks beside {printed} that are not committed, {rounds} rounds"));
    let subject = |bytes: usize| {
        Box::new(move || {
            let world = project(tasks, nothing);
            for file in 0..FILES {
                world.write(&format!("dirty/{file}"), vec![b'x'; bytes]);
            }
            // A file that was changed just now is read each time.
            thread::sleep(Duration::from_millis(wait));
            let args = ["--allow-dirty", "--agent-command", NO_OP];
            processor_time(bench, &world, &args)
        }) as Subject<'_>
    };
    let samples = in_turn(rounds, vec![subject(bytes), subject(0)]);
    let [with_dirt, without] = [&samples[0], &samples[1]].map(|sample| sample.per(tasks));
    let name = format!("processor time of a task beside {printed} of dirty files");
    Row::timed(name, &with_dirt, "beside empty ones", &without).at_most(2.0)
}

/// An agent that prints many short lines, against one that prints as much in long
/// ones.
fn short_lines(bench: &Bench) -> Row {
    let (bytes, rounds) = bench.pick((100_000_000, 3), (1_000_000, 1));
    let printed = size(f64::from(bytes));
    tell(&format!("{printed} in short lines and in long ones, {rounds} rounds"));
    let subject = |length: usize| {
        Box::new(move || {
            let line = "x".repeat(length - 1);
            let agent =
                format!("cat > /dev/null; yes {line} | head -c {bytes}; echo; echo TASK_COMPLETE");
            let world = project(1, nothing);
            timed(|| run(bench, &world, &["--agent-command", &agent]))
        }) as Subject<'_>
    };
    let samples = in_turn(rounds, vec![subject(43), subject(1_000)]);
    let name = format!("a run, {printed} printed in lines of 43 bytes");
    Row::timed(name, &samples[0], "of 1,000 bytes", &samples[1]).at_most(2.0)
}

/// Eight tasks that wait, so that the number of cores does not matter.
fn at_once(bench: &Bench) -> Vec<Row> {
    const TASKS: usize = 8;
    let (wait, rounds) = bench.pick((2.0, 3), (0.1, 1));
    let jobs = bench.pick(vec![1, 2, 4, 8], vec![1, 8]);
    tell(&format!("{TASKS} tasks of {wait} s at once, {rounds} rounds"));
    let agent = format!(
        "id=$(sed -n 's/^- \\[ \\] 1\\.\\([0-9]*\\).*/\\1/p' | head -1); sleep {wait}; \
         echo x > $id.txt; echo TASK_COMPLETE"
    );
    let run = |jobs: usize| {
        let world = project(TASKS, |n| {
            format!(
                "- [ ] 1.{n} [P] Wait\n  - **Files**: {n}.txt\n  - **Verify**: `test -f {n}.txt`\n\n"
            )
        });
        let jobs = jobs.to_string();
        let time = timed(|| run(bench, &world, &["--jobs", &jobs, "--agent-command", &agent]));
        assert_eq!(commits(&world), TASKS + 1, "one commit for each task");
        time
    };
    let subjects = jobs.iter().map(|&jobs| Box::new(move || run(jobs)) as Subject<'_>);
    let samples = in_turn(rounds, subjects.collect());
    let row = |(sample, &jobs): (&Sample, &usize)| {
        let (taken, ideal) = (sample.median(), wait * (TASKS / jobs) as f64);
        let faster = samples[0].median() / taken;
        let row = Row::new(
            format!("{TASKS} tasks of {wait} s, --jobs {jobs}"),
            format!("{}, speed-up {faster:.1}", time(taken)),
            format!("waiting alone: {}, speed-up {jobs}", time(ideal)),
            Ratio::of(taken, ideal),
        );
        match jobs {
            TASKS => row.goal("≤ 3 s".into(), taken <= 3.0),
            _ => row,
        }
    };
    samples.iter().zip(&jobs).map(row).collect()
}

/// A group whose tasks take different times: a place that gets free takes the next task
/// at once. The yardstick is what such a schedule takes without a runner.
fn rolling(bench: &Bench) -> Row {
    const TASKS: usize = 12;
    const JOBS: usize = 4;
    let (unit, rounds) = bench.pick((1.0, 3), (0.05, 1));
    tell(&format!("{TASKS} tasks of 1 to 8 s in one group, {rounds} rounds"));
    let waits = |n: usize| unit * (1 + n * 5 % 8) as f64;
    let agent = format!(
        "id=$(sed -n 's/^- \\[ \\] 1\\.\\([0-9]*\\).*/\\1/p' | head -1); \
         sleep $(awk \"BEGIN {{print {unit} * (1 + $id * 5 % 8)}}\"); \
         echo x > $id.txt; echo TASK_COMPLETE"
    );
    let subject = || {
        let world = project(TASKS, |n| {
            format!(
                "- [ ] 1.{n} [P] Wait\n  - **Files**: {n}.txt\n  - **Verify**: `test -f {n}.txt`\n\n"
            )
        });
        let jobs = JOBS.to_string();
        let time = timed(|| run(bench, &world, &["--jobs", &jobs, "--agent-command", &agent]));
        assert_eq!(commits(&world), TASKS + 1, "one commit for each task");
        time
    };
    let taken = in_turn(rounds, vec![Box::new(subject) as Subject<'_>])[0].median();
    let mut places = [0.0_f64; JOBS];
    for n in 1..=TASKS {
        let free = places.iter_mut().min_by(|a, b| a.total_cmp(b)).expect("there are places");
        *free += waits(n);
    }
    let bound = places.into_iter().fold(0.0, f64::max);
    Row::new(
        format!("{TASKS} tasks of 1 to 8 s in one group, --jobs {JOBS}"),
        time(taken),
        format!("each begun when a place is free: {}", time(bound)),
        Ratio::of(taken, bound),
    )
    .at_most(1.15)
}

/// The runner's memory when an agent prints without end.
fn long_output(bench: &Bench) -> Vec<Row> {
    let bytes = bench.pick(100_000_000, 1_000_000);
    let printed = size(f64::from(bytes));
    let ways = [
        ("in lines", format!("yes 0123456789abcdef | head -c {bytes}")),
        ("in one line", format!("head -c {bytes} /dev/zero | tr '\\0' x")),
    ];
    let row = |(name, flood): (&str, String)| {
        tell(&format!("memory while an agent prints {printed} {name}"));
        let peak = memory(bench, &project(1, nothing), "VmHWM:", &flood)[0];
        Row::new(
            format!("a run's peak of memory, {printed} printed {name}"),
            size(peak),
            format!("what is printed: {printed}"),
            Ratio::of(peak, f64::from(bytes)),
        )
        .goal("< 50 MB".into(), peak < 50e6)
    };
    ways.into_iter().map(row).collect()
}

/// What no runner can do without: some commands, one `git add` and one
/// `git commit`.
pub(super) fn bare_task(world: &World, commands: &[&str]) {
    for line in commands {
        let mut command = world.program("sh");
        command.args(["-c", line]).stdin(Stdio::null()).stdout(Stdio::null());
        assert!(command.status().expect("sh is there").success());
    }
    let file = "specs/demo/tasks.md";
    world.write(file, world.read(file).replacen("[ ]", "[x]", 1));
    world.git(&["add", file]);
    world.git(&["commit", "--quiet", "-m", "a task"]);
}

/// A task without work.
pub(super) fn nothing(n: usize) -> String {
    format!("- [ ] 1.{n} Do nothing\n  - **Verify**: `true`\n\n")
}

pub(super) fn project(tasks: usize, task: impl Fn(usize) -> String) -> World {
    let world = World::empty();
    world.write("specs/demo/tasks.md", (1..=tasks).map(task).collect::<String>());
    world.git_init();
    world.write("specs/.current-spec", "demo\n");
    world
}

fn commits(world: &World) -> usize {
    world.git(&["rev-list", "--count", "HEAD"]).trim().parse().expect("a number")
}

/// Works the plan.
pub(super) fn run(bench: &Bench, world: &World, args: &[&str]) {
    let mut command = world.program(&bench.specum);
    command.args(["run", "--json"]).args(args).stdin(Stdio::null()).stdout(Stdio::null());
    assert!(command.status().expect("specum starts").success(), "{command:?}");
}

/// The processor's time that working the plan takes, up to a cap, with everything
/// it starts.
fn processor_time(bench: &Bench, world: &World, args: &[&str]) -> Duration {
    let mut command = world.program("sh");
    command.args(["-c", "\"$@\" > /dev/null; times", "sh"]).arg(&bench.specum);
    command.args(["run", "--json"]).args(args).stdin(Stdio::null());
    let told = command.output().expect("sh is there").stdout;
    let told = String::from_utf8_lossy(&told).into_owned();
    // The second line is that of the children: `0m1.23s 0m0.45s`.
    let times = told.lines().nth(1).unwrap_or_default().split_whitespace();
    let seconds = times.filter_map(|time| {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m')?;
        Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
    });
    Duration::from_secs_f64(seconds.sum())
}

/// Works the plan with an agent that runs `work`, and gives the runner's memory
/// in bytes at the end of each: the runner is the agent's parent.
fn memory(bench: &Bench, world: &World, field: &str, work: &str) -> Vec<f64> {
    let told = world.home.join("memory");
    let agent = format!(
        "cat > /dev/null; {work}; echo; grep {field} /proc/$PPID/status >> '{}'; echo TASK_COMPLETE",
        told.display()
    );
    run(bench, world, &["--agent-command", &agent]);
    let told = fs::read_to_string(told).expect("Linux tells the memory of a process");
    let kilobytes = told.lines().filter_map(|line| line.split_whitespace().nth(1)?.parse().ok());
    kilobytes.map(|kilobytes: f64| kilobytes * 1024.0).collect()
}
