//! The stop decision, against the least that a program can do.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use specum_core::digest::Digest;

use super::row::{Row, grouped};
use super::sample::{Subject, in_turn, timed};
use super::{Bench, plan, tell};
use harness::world::{World, specum};

/// What was promised for every session.
const GOAL: f64 = 1.5;

pub(super) fn measure(bench: &Bench) -> Vec<Row> {
    let rounds = bench.pick(400, 2);
    tell(&format!("the stop decision, {rounds} rounds"));
    let (many, records) = bench.pick((10_000, 10_000), (100, 100));
    let scenes = [
        Scene::new(&bench.specum, 60, 1 << 20),
        Scene::new(&bench.specum, 60, 50 << 20),
        Scene::new(&bench.specum, 60, 1 << 30),
        Scene::new(&specum(), 60, 50 << 20),
        Scene::new(&bench.specum, many, 1 << 20),
        Scene::new(&bench.specum, 60, 1 << 20).with_journal(10),
        Scene::new(&bench.specum, 60, 1 << 20).with_journal(records),
    ];
    let known = World::empty();
    let nothing: Subject<'_> = Box::new(|| {
        let mut command = known.program("/bin/true");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        timed(|| assert!(command.status().expect("it is on every Unix").success()))
    });
    let stops = scenes.iter().map(|scene| Box::new(|| scene.stop()) as Subject<'_>);
    let samples = in_turn(rounds, std::iter::once(nothing).chain(stops).collect());
    let row = |name: &str, at: usize| Row::timed(name, &samples[at], "`/bin/true`", &samples[0]);
    vec![
        row("stop decision, 60 tasks, transcript of 1 MB", 1).at_most(GOAL),
        row("stop decision, 60 tasks, transcript of 50 MB", 2).at_most(GOAL).headline(),
        row("stop decision, 60 tasks, transcript of 1 GB", 3).at_most(GOAL),
        row("stop decision, 60 tasks, 50 MB, linked dynamically", 4),
        row(&format!("stop decision, {} tasks, 1 MB", grouped(many)), 5),
        Row::timed(
            format!("stop decision, journal of {} records", grouped(records)),
            &samples[7],
            "of 10",
            &samples[6],
        )
        .at_most(1.1),
    ]
}

/// A project in which a session stops.
struct Scene {
    world: World,
    program: PathBuf,
}

impl Scene {
    fn new(program: &Path, tasks: usize, transcript: u64) -> Scene {
        let world = World::empty();
        let done = tasks / 2;
        world.write("specs/.current-spec", "demo\n");
        world.write("specs/demo/tasks.md", plan(tasks, done));
        let state = json!({
            "phase": "execution",
            "taskIndex": done,
            "totalTasks": tasks,
            "globalIteration": 7,
            "maxGlobalIterations": 100_000,
        });
        world.write("specs/demo/.ralph-state.json", state.to_string());
        write_transcript(&world.path("transcript.jsonl"), transcript);
        let input = json!({
            "session_id": "bench",
            "transcript_path": world.path("transcript.jsonl"),
            "cwd": world.root,
            "hook_event_name": "Stop",
            "stop_hook_active": false,
        });
        world.write("input.json", input.to_string());
        Scene { world, program: program.into() }
    }

    /// The same in a loop of our own, held by the session, with a story behind it.
    fn with_journal(self, records: usize) -> Scene {
        let state = "specs/demo/.ralph-state.json";
        let mut held: Value = serde_json::from_str(&self.world.read(state)).expect("our own");
        let tasks = self.world.read("specs/demo/tasks.md");
        held["plan"] = json!(Digest::of(tasks.as_bytes()).hex());
        held["owner"] = json!({"kind": "session", "sessionId": "bench"});
        self.world.write(state, held.to_string());
        let record = json!({
            "v": 1, "at": "2026-01-01T00:00:00.000Z", "event": "failed", "attempt": 1,
            "task": {"id": "1.1", "title": "Do the thing"}, "class": "check", "changed": [],
            "reasons": ["`make` ended with code 2"], "output": "x".repeat(400),
        });
        let journal = format!("{record}\n").repeat(records);
        self.world.write("specs/demo/.ralph-journal.jsonl", journal);
        self
    }

    /// A first stop, which is blocked and written down.
    fn stop(&self) -> Duration {
        let memory = self.world.path("specs/demo/.ralph-hook.json");
        if memory.exists() {
            fs::remove_file(&memory).expect("our own file");
        }
        let mut command = self.world.program(&self.program);
        let input = File::open(self.world.path("input.json")).expect("it was written");
        command.args(["hook", "stop"]).stdin(input).stdout(Stdio::null()).stderr(Stdio::null());
        let time = timed(|| assert!(command.status().expect("it runs").success()));
        assert!(memory.exists(), "the stop was not blocked");
        time
    }
}

/// JSON lines up to about this length, with an assistant's message at the end.
fn write_transcript(path: &Path, bytes: u64) {
    let line = format!(
        "{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"{}\"}}}}\n",
        "x".repeat(4000)
    );
    let last = r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"One more done."}]}}"#;
    let mut file = File::create(path).expect("a new file");
    let mut write = |text: &str| file.write_all(text.as_bytes()).expect("room on the disk");
    for _ in 0..bytes.min(8 << 20) / line.len() as u64 {
        write(&line);
    }
    // The middle of a long one is a hole: nobody is to read it anyway.
    file.seek(SeekFrom::Start(bytes.saturating_sub(64 << 10))).expect("a file seeks");
    let end = format!("\n{}{last}\n", line.repeat(8));
    file.write_all(end.as_bytes()).expect("room on the disk");
}
