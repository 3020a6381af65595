//! How long a stop decision takes, beside `/bin/true` in the same run.
//!
//! `cargo bench --bench stop`. The binary measured is the one that is
//! released, built here with `cargo dist`; the plain build stands beside it.
//! The calls of all rows are interleaved, so that a busy machine slows all of
//! them alike; figures are medians.

mod released;

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 400;

/// One line of the table.
struct Row {
    name: String,
    program: PathBuf,
    scene: Option<Scene>,
    times: Vec<Duration>,
}

/// A project in which a session stops.
struct Scene {
    root: PathBuf,
    input: String,
}

fn main() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let released = released::binary();
    let plain = PathBuf::from(env!("CARGO_BIN_EXE_specum"));
    let mut rows = vec![Row::new("/bin/true", Path::new("/bin/true"), None)];
    let transcripts = [("1 MB", 1 << 20), ("50 MB", 50 << 20), ("1 GB", 1 << 30)];
    for (name, bytes) in transcripts {
        let scene = Scene::new(place.path(), 60, bytes);
        rows.push(Row::new(&format!("60 tasks, {name} transcript"), &released, Some(scene)));
    }
    let many = Scene::new(place.path(), 10_000, 1 << 20);
    rows.push(Row::new("10,000 tasks, 1 MB transcript", &released, Some(many)));
    let again = Scene::new(place.path(), 60, 50 << 20);
    rows.push(Row::new("60 tasks, 50 MB, dynamically linked", &plain, Some(again)));

    for _ in 0..ROUNDS {
        for row in &mut rows {
            row.measure();
        }
    }
    let yardstick = rows[0].median();
    println!("{:38} {:>9} {:>12}", "stop decision", "ms (p50)", "× /bin/true");
    for row in &mut rows {
        let median = row.median();
        let ratio = median.as_secs_f64() / yardstick.as_secs_f64();
        println!("{:38} {:>9.3} {ratio:>12.2}", row.name, median.as_secs_f64() * 1000.0);
    }
}

impl Row {
    fn new(name: &str, program: &Path, scene: Option<Scene>) -> Row {
        Row { name: name.into(), program: program.into(), scene, times: Vec::new() }
    }

    fn measure(&mut self) {
        let mut command = Command::new(&self.program);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(scene) = &self.scene {
            // Each stop is a first one, which blocks and is written down.
            let _ = fs::remove_file(scene.root.join("specs/demo/.ralph-hook.json"));
            let input = File::open(&scene.input).expect("it was written");
            command.args(["hook", "stop"]).stdin(input).current_dir(&scene.root);
        }
        let started = Instant::now();
        let status = command.spawn().and_then(|mut child| child.wait()).expect("it runs");
        self.times.push(started.elapsed());
        assert!(status.success());
        if let Some(scene) = &self.scene {
            let memory = scene.root.join("specs/demo/.ralph-hook.json");
            assert!(memory.exists(), "{}: the stop was not blocked", self.name);
        }
    }

    fn median(&mut self) -> Duration {
        self.times.sort();
        self.times[self.times.len() / 2]
    }
}

impl Scene {
    fn new(place: &Path, tasks: usize, transcript: u64) -> Scene {
        let root = place.join(format!(
            "{tasks}-{transcript}-{}",
            fs::read_dir(place).map_or(0, Iterator::count)
        ));
        let spec = root.join("specs/demo");
        fs::create_dir_all(&spec).expect("a new directory");
        fs::write(root.join("specs/.current-spec"), "demo\n").expect("a new file");
        let done = tasks / 2;
        let list: String = (1..=tasks)
            .map(|n| {
                let mark = if n <= done { 'x' } else { ' ' };
                format!("- [{mark}] 1.{n} Do the thing number {n}\n  - **Do**: it, with care\n  - **Files**: src/{n}.rs\n  - **Verify**: `cargo test t{n}`\n  - **Commit**: `feat: {n}`\n\n")
            })
            .collect();
        fs::write(spec.join("tasks.md"), list).expect("a new file");
        let state = format!(
            r#"{{"phase":"execution","taskIndex":{done},"totalTasks":{tasks},"globalIteration":7,"maxGlobalIterations":100000}}"#
        );
        fs::write(spec.join(".ralph-state.json"), state).expect("a new file");
        let transcript_path = root.join("transcript.jsonl");
        write_transcript(&transcript_path, transcript);
        let input = root.join("input.json");
        let text = format!(
            r#"{{"session_id":"bench","transcript_path":"{}","cwd":"{}","hook_event_name":"Stop","stop_hook_active":false}}"#,
            transcript_path.display(),
            root.display()
        );
        fs::write(&input, text).expect("a new file");
        Scene { root, input: input.display().to_string() }
    }
}

/// JSON lines up to about this length, with an assistant's message at the end.
fn write_transcript(path: &Path, bytes: u64) {
    let line = format!(
        "{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"{}\"}}}}\n",
        "x".repeat(4000)
    );
    let mut file = File::create(path).expect("a new file");
    for _ in 0..bytes.min(8 << 20) / line.len() as u64 {
        file.write_all(line.as_bytes()).expect("room on the disk");
    }
    // The middle of a long one is a hole: nobody is to read it anyway.
    file.seek(SeekFrom::Start(bytes.saturating_sub(64 << 10))).expect("a file seeks");
    file.write_all(b"\n").expect("room on the disk");
    for _ in 0..8 {
        file.write_all(line.as_bytes()).expect("room on the disk");
    }
    file.write_all(b"{\"type\":\"assistant\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"One more done.\"}]}}\n").expect("room on the disk");
}
