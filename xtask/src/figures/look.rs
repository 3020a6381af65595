//! What a person looks at behind a long run: the table of tasks, and the story.

use std::process::Stdio;

use super::row::{Row, grouped};
use super::run::{NO_OP, nothing, project, run};
use super::sample::{Sample, Subject, in_turn, timed};
use super::{Bench, tell};
use harness::world::World;

/// Longer than this feels like waiting.
const AT_ONCE: f64 = 0.050;

/// `status` and `log` of a finished plan, each against reading the files it tells of.
pub(super) fn measure(bench: &Bench) -> Vec<Row> {
    let (tasks, rounds) = bench.pick((1_000, 21), (4, 1));
    tell(&format!("status and log of a finished plan of {} tasks", grouped(tasks)));
    let world = project(tasks, nothing);
    run(bench, &world, &["--agent-command", NO_OP]);
    let reads = "exec cat specs/demo/tasks.md specs/demo/.ralph-journal*";
    let row = |verb: &[&str]| {
        let subjects: Vec<Subject<'_>> = vec![
            Box::new(|| {
                looks(&world, &[&[bench.specum.to_str().expect("a plain path")], verb].concat())
            }),
            Box::new(|| looks(&world, &["sh", "-c", reads])),
        ];
        let samples: Vec<Sample> = in_turn(rounds, subjects);
        let name =
            format!("`specum {}`, finished plan of {} tasks", verb.join(" "), grouped(tasks));
        let row = Row::timed(name, &samples[0], "`cat` of plan and journal", &samples[1]);
        row.goal("≤ 50 ms".into(), samples[0].median() <= AT_ONCE)
    };
    vec![row(&["status"]), row(&["log"])]
}

/// How long a command takes to print what it has to say.
fn looks(world: &World, line: &[&str]) -> std::time::Duration {
    let mut command = world.program(line[0]);
    command.args(&line[1..]).stdin(Stdio::null()).stdout(Stdio::null());
    timed(|| assert!(command.status().expect("it starts").success(), "{line:?}"))
}
