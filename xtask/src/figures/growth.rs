//! Scan and tick of ever more tasks: what a task costs must not depend on how
//! many there are.

use std::hint::black_box;
use std::process::{Command, Stdio};

use specum_core::tasks::{TaskEdit, TaskFile, TaskKey};

use super::plot::Line;
use super::row::{Row, grouped, time};
use super::run::bare_task;
use super::sample::{Sample, Subject, in_turn, timed};
use super::{Bench, Figures, plan, tell};
use harness::world::{World, call};

pub(super) fn measure(bench: &Bench) -> Figures {
    let sizes = bench.pick([100, 10_000, 100_000], [10, 20, 40]);
    let mut figures = kernel(bench, sizes);
    figures.add(reading(bench, sizes));
    figures.add(finishing(bench, sizes).into());
    figures
}

/// The samples of a few subjects for each size, as lines of the plot.
struct Grown {
    sizes: [usize; 3],
    /// By size, then by subject.
    samples: Vec<Sample>,
    subjects: usize,
}

impl Grown {
    fn of(&self, size: usize, subject: usize) -> &Sample {
        &self.samples[size * self.subjects + subject]
    }

    fn line(&self, name: &str, subject: usize, yardstick: bool) -> Line {
        let point = |(at, &size): (usize, &usize)| (size as f64, self.of(at, subject).median());
        let points = self.sizes.iter().enumerate().map(point).collect();
        Line { name: name.into(), points, yardstick }
    }

    /// One row for each size.
    fn rows(&self, name: &str, subject: usize, known: &str, yardstick: usize) -> Vec<Row> {
        let row = |(at, &size): (usize, &usize)| {
            let name = format!("{name} {} tasks", grouped(size));
            Row::timed(name, self.of(at, subject), known, self.of(at, yardstick))
        };
        self.sizes.iter().enumerate().map(row).collect()
    }

    /// What a task costs among many, against what it costs among few.
    fn growth(&self, name: &str, subject: usize) -> Row {
        let share = |at: usize| self.of(at, subject).per(self.sizes[at]);
        let (few, many) = (share(0), share(2));
        Row::new(
            format!("{name}: a task among {}", grouped(self.sizes[2])),
            time(many.median()),
            format!("among {}: {}", grouped(self.sizes[0]), time(few.median())),
            many.beside(&few),
        )
        .at_most(2.0)
    }
}

/// The kernel's own calls, in memory.
fn kernel(bench: &Bench, sizes: [usize; 3]) -> Figures {
    let rounds = bench.pick(51, 2);
    tell(&format!("scan and tick in memory, {rounds} rounds"));
    let texts = sizes.map(|size| plan(size, size / 2).into_bytes());
    let edits = sizes.map(|size| {
        let (id, title) = (format!("1.{size}"), format!("Do the thing number {size}"));
        TaskEdit::Tick(TaskKey { id, title })
    });
    let mut subjects: Vec<Subject<'_>> = Vec::new();
    for ((text, edit), size) in texts.iter().zip(&edits).zip(sizes) {
        assert_ne!(&edit.apply(text), text, "there is something to tick");
        // Short ones often enough that the clock can tell.
        let times = (10_000 / size).max(1) as u32;
        subjects.extend([
            repeated(times, move || TaskFile::scan(black_box(text))),
            repeated(times, move || edit.apply(black_box(text))),
            repeated(times, move || black_box(text).iter().filter(|&&byte| byte == b'\n').count()),
            repeated(times, move || black_box(text).to_vec()),
        ]);
    }
    let grown = Grown { sizes, samples: in_turn(rounds, subjects), subjects: 4 };
    let mut rows = grown.rows("scan of", 0, "counting its lines", 2);
    rows.push(grown.growth("scan", 0));
    rows.extend(grown.rows("tick in", 1, "copying the text", 3));
    rows.push(grown.growth("tick", 1));
    let growth = vec![
        grown.line("scan", 0, false),
        grown.line("tick", 1, false),
        grown.line("counting lines", 2, true),
    ];
    Figures { rows, growth, ..Figures::default() }
}

/// The time of one call among many.
fn repeated<'a, T>(times: u32, work: impl Fn() -> T + 'a) -> Subject<'a> {
    Box::new(move || timed(|| (0..times).for_each(|_| drop(black_box(work())))) / times)
}

/// A verb that reads a plan, against the program that loops of shell use.
fn reading(bench: &Bench, sizes: [usize; 3]) -> Figures {
    let rounds = bench.pick(31, 2);
    tell(&format!("`specum status`, {rounds} rounds"));
    let worlds = sizes.map(|size| project(size, size / 2));
    let mut subjects: Vec<Subject<'_>> = Vec::new();
    for world in &worlds {
        let mut add = |program: &std::path::Path, args: &'static [&str]| {
            let program = program.to_owned();
            subjects.push(Box::new(move || {
                let mut command = world.program(&program);
                command.args(args);
                timed(|| succeeds(command))
            }));
        };
        add(&bench.specum, &["status"]);
        add("grep".as_ref(), &["-c", "^- \\[ \\]", "specs/demo/tasks.md"]);
    }
    let grown = Grown { sizes, samples: in_turn(rounds, subjects), subjects: 2 };
    let growth = vec![grown.line("specum status", 0, false), grown.line("grep -c", 1, true)];
    let rows = grown.rows("`specum status` of", 0, "`grep -c`", 1);
    Figures { rows, growth, ..Figures::default() }
}

/// The verb that ticks: it runs the check, ticks, notes, commits, and opens the
/// next task.
fn finishing(bench: &Bench, sizes: [usize; 3]) -> Vec<Row> {
    let rounds = bench.pick(7, 2);
    tell(&format!("`specum finish`, {rounds} rounds"));
    let worlds = sizes.map(|size| (project(size, 0), project(size, 0)));
    let mut subjects: Vec<Subject<'_>> = Vec::new();
    for (world, bare) in &worlds {
        for world in [world, bare] {
            world.git_init();
        }
        let mut implement = world.program(&bench.specum);
        implement.arg("implement");
        succeeds(implement);
        let mut task = 0;
        subjects.push(Box::new(move || {
            task += 1;
            let mut command = world.program(&bench.specum);
            command.args(["finish", &format!("1.{task}")]);
            timed(|| call(command, b"TASK_COMPLETE\n").exits(0).code)
        }));
        subjects.push(Box::new(|| timed(|| bare_task(bare, &["true"]))));
    }
    let grown = Grown { sizes, samples: in_turn(rounds, subjects), subjects: 2 };
    grown.rows("`specum finish` of one in", 0, "check, `git add`, `git commit`", 1)
}

fn project(tasks: usize, done: usize) -> World {
    let world = World::empty();
    world.write("specs/.current-spec", "demo\n");
    world.write("specs/demo/tasks.md", plan(tasks, done));
    world
}

fn succeeds(mut command: Command) {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    assert!(command.status().expect("it is installed").success(), "{command:?}");
}
