//! The report of a long loop: how long it takes to write, and how large it becomes.

use std::fs;

use serde_json::json;

use super::row::{Row, grouped, size};
use super::sample::{Ratio, Subject, in_turn, timed};
use super::{Bench, plan, tell};
use harness::world::{JOURNAL, TASKS, World};

pub(super) fn measure(bench: &Bench) -> Vec<Row> {
    let (tasks, rounds) = bench.pick((1_000, 7), (5, 1));
    tell(&format!("a report of {tasks} tasks, {rounds} rounds"));
    let world = worked(tasks);
    let file = world.path("report.html");
    let report: Subject<'_> = Box::new(|| {
        let mut command = world.program(&bench.specum);
        command.args(["report", "-o"]).arg(&file);
        timed(|| assert!(command.output().expect("it starts").status.success()))
    });
    let git: Subject<'_> =
        Box::new(|| timed(|| drop(world.git(&["log", "-p", "--no-color", &format!("-{tasks}")]))));
    let samples = in_turn(rounds, vec![report, git]);
    let page = fs::metadata(&file).expect("just written").len() as f64;
    let plan = fs::metadata(world.path(TASKS)).expect("it is there").len() as f64;
    let name = format!("report of {} tasks", grouped(tasks));
    let time = Row::timed(&name, &samples[0], "`git log -p` of as many commits", &samples[1]);
    let length = Row::new(
        format!("{name}, its size"),
        size(page),
        format!("their plan: {}", size(plan)),
        Ratio::of(page, plan),
    );
    vec![
        time.goal("≤ 1 s".into(), samples[0].median() <= 1.0),
        length.goal("≤ 8 MB".into(), page <= 8.0 * 1024.0 * 1024.0),
    ]
}

/// A loop over so many tasks, half of which failed once, with a commit for each.
fn worked(tasks: usize) -> World {
    let world = World::planned(plan(tasks, tasks));
    let mut journal = Vec::new();
    let mut import = String::new();
    let mut add = |minute: usize, entry: serde_json::Value| {
        let (hour, day) = (minute / 60, minute / 1_440);
        let at = format!("2026-01-{:02}T{:02}:{:02}:00.000Z", 1 + day, hour % 24, minute % 60);
        let mut line = json!({"v": 2, "at": at});
        let (Some(line), Some(entry)) = (line.as_object_mut(), entry.as_object()) else { return };
        line.extend(entry.clone());
        journal.push(serde_json::Value::Object(line.clone()).to_string());
    };
    add(0, json!({"event": "started", "tasks": tasks, "open": tasks}));
    let head = world.git(&["rev-parse", "HEAD"]);
    let lines: String =
        (0..30).map(|n| format!("def thing_{n}(): return {n} < 40 and \"x\"\n")).collect();
    for n in 1..=tasks {
        let task = json!({"id": format!("1.{n}"), "title": format!("Do the thing number {n}")});
        let last = if n % 2 == 0 { 2 } else { 1 };
        for attempt in 1..=last {
            let minute = n * 8 + attempt * 3;
            add(
                minute,
                json!({"event": "opened", "task": task, "attempt": attempt, "block": "x".repeat(200)}),
            );
            add(
                minute + 1,
                json!({"event": "charged", "task": task, "attempt": attempt, "agent": "claude",
                "tokens": 40_000, "cost": 0.31, "millis": 60_000}),
            );
            let output = "running 3 tests\ntest a ... ok\ntest b ... ok\n".repeat(6);
            let check = json!({"code": i32::from(attempt < last), "millis": 1_200});
            let event = if attempt < last { "failed" } else { "passed" };
            add(
                minute + 2,
                json!({"event": event, "task": task, "attempt": attempt, "output": output,
                "reasons": ["`make` ended with code 1"], "check": check, "proof": "check", "millis": 60_000}),
            );
        }
        import.push_str(&format!(
            "commit refs/heads/main\nmark :{n}\ncommitter Test <test@example.invalid> {} +0000\ndata 8\nfeat: {:>2}\n{}M 100644 inline src/{n}.py\ndata {}\n{lines}\n",
            1_800_000_000 + n,
            n % 100,
            if n == 1 { format!("from {head}") } else { format!("from :{}\n", n - 1) },
            lines.len(),
        ));
        add(n * 8 + 7, json!({"event": "committed", "task": task, "commit": format!("@{n}@")}));
    }
    let marks = world.home().join("marks");
    fs::write(world.home().join("import"), import).expect("a file");
    let imported = std::process::Command::new("sh")
        .args(["-c", "git fast-import --quiet --export-marks=\"$2\" < \"$1\"", "sh"])
        .arg(world.home().join("import"))
        .arg(&marks)
        .current_dir(&world.root)
        .output()
        .expect("git is installed");
    assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
    let mut text = journal.join("\n") + "\n";
    for line in fs::read_to_string(marks).expect("git writes them").lines() {
        if let Some((mark, commit)) = line.trim_start_matches(':').split_once(' ') {
            text = text.replacen(&format!("@{mark}@"), commit, 1);
        }
    }
    world.write(JOURNAL, text);
    world
}
