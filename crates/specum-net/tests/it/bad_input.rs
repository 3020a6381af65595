use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use harness::run::{agent, at_work, planned, state_home};
use harness::world::{JOURNAL, STATE, World, call, until};
use serde_json::Value;

use super::{Serving, exists, status};

const PLAN: &str = "- [ ] 1.1 a\n  - **Verify**: `true`\n- [ ] 1.2 b\n";

fn shown(serving: &Serving) -> Value {
    serving.get("/api/specs")["specs"][0].clone()
}

#[test]
fn a_torn_journal_a_corrupt_state_and_a_newer_format_are_said_and_harm_nothing() {
    let world = super::started(PLAN);
    let serving = Serving::start(&world, &["--steer"]);
    let whole = world.read(JOURNAL);
    world.write(JOURNAL, &whole[..whole.len() - 20]);
    assert_eq!(shown(&serving)["total"], 2);
    world.write(JOURNAL, [b"\xff\xfe\0{\"v\":".as_slice(), whole.as_bytes()].concat());
    assert_eq!(shown(&serving)["total"], 2);
    world.write(JOURNAL, "");
    assert_eq!(shown(&serving)["total"], 2);
    world.write(JOURNAL, &whole);
    let state = world.read(STATE);
    world.raw_state("{ torn");
    until("the state is corrupt", || shown(&serving)["kind"] == "broken");
    assert_eq!(shown(&serving)["standing"], "needs-you");
    let answer = serving.post(
        &format!("/api/specs/{}/pause", serving.key()),
        serving.steer.as_ref().unwrap(),
        "{}",
    );
    assert_eq!(status(&answer), 409, "{answer}");
    assert_eq!(world.read(STATE), "{ torn", "it is not overwritten");
    world.raw_state(state.replacen('{', "{\"formatVersion\": 99,", 1));
    let answer = serving.post(
        &format!("/api/specs/{}/pause", serving.key()),
        serving.steer.as_ref().unwrap(),
        "{}",
    );
    assert_eq!(status(&answer), 409, "{answer}");
    assert!(answer.contains("update specum"), "{answer}");
}

#[test]
fn a_journal_of_a_hundred_megabytes_is_shown_and_keeps_no_core_busy() {
    let world = super::started(PLAN);
    let line = format!(
        "{{\"v\":2,\"at\":\"2026-01-01T00:00:00.000Z\",\"event\":\"warning\",\"text\":\"{}\"}}\n",
        "x".repeat(10_000)
    );
    let mut journal = File::options().append(true).open(world.path(JOURNAL)).unwrap();
    let many = line.repeat(100);
    for _ in 0..100 {
        journal.write_all(many.as_bytes()).unwrap();
    }
    assert!(journal.metadata().unwrap().len() > 100_000_000);
    let serving = Serving::start(&world, &[]);
    let mut stream = serving.connect();
    let head = format!(
        "GET /api/stream?spec={} HTTP/1.1\r\n{}\r\nAuthorization: Bearer {}\r\n\r\n",
        serving.key(),
        serving.host(),
        serving.look
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut begin = [0; 4096];
    assert!(stream.read(&mut begin).unwrap() > 0);
    assert_eq!(shown(&serving)["total"], 2);
    // It is not read again as long as nothing changes.
    let (before, began) = (serving.ticks(), Instant::now());
    until("some time passes", || began.elapsed() > Duration::from_secs(3));
    let used = serving.ticks() - before;
    assert!(used < 100, "{used} hundredths of a second in 3 s");
}

#[test]
fn a_spec_that_vanishes_is_gone_and_a_new_one_is_there() {
    let world = super::started(PLAN);
    let serving = Serving::start(&world, &["--steer"]);
    let key = serving.key();
    fs::rename(world.path("specs/test-spec"), world.home().join("away")).unwrap();
    until("it is gone", || serving.get("/api/specs")["specs"].as_array().unwrap().is_empty());
    let answer =
        serving.post(&format!("/api/specs/{key}/pause"), serving.steer.as_ref().unwrap(), "{}");
    assert_eq!(status(&answer), 404, "{answer}");
    assert!(!exists(&world.path("specs/test-spec")), "nothing was made in its place");
    world.write("specs/other/tasks.md", PLAN);
    until("the new one is there", || serving.get("/api/specs")["specs"][0]["spec"] == "other");
}

#[test]
fn a_log_of_a_gigabyte_is_read_from_its_end() {
    super::programs();
    let world = planned(PLAN);
    let waits = agent(
        &world,
        "echo first; echo ready > \"$HOME/ready\"; until test -e \"$HOME/open\"; do sleep 0.02; done\n",
    );
    let mut run = at_work(&world, &waits, &[]);
    until("the agent talks", || world.home().join("ready").exists());
    let logs = state_home(&world).join("logs");
    let folder = fs::read_dir(&logs).unwrap().flatten().next().unwrap().path();
    let log = fs::read_dir(folder)
        .unwrap()
        .flatten()
        .map(|file| file.path())
        .find(|path| path.to_string_lossy().contains("1.1-1"))
        .unwrap();
    let mut file = File::options().append(true).open(&log).unwrap();
    file.set_len(1 << 30).unwrap();
    file.write_all(b"\nthe end of it\n").unwrap();
    let serving = Serving::start(&world, &[]);
    let mut stream = serving.connect();
    let head = format!(
        "GET /api/stream?spec={} HTTP/1.1\r\n{}\r\nAuthorization: Bearer {}\r\n\r\n",
        serving.key(),
        serving.host(),
        serving.look
    );
    let began = Instant::now();
    stream.write_all(head.as_bytes()).unwrap();
    let (mut heard, mut part) = (String::new(), vec![0; 65536]);
    while !heard.contains("the end of it") {
        let count = stream.read(&mut part).unwrap();
        assert!(count > 0, "{heard}");
        heard.push_str(&String::from_utf8_lossy(&part[..count]));
    }
    assert!(began.elapsed() < Duration::from_secs(20));
    fs::write(world.home().join("open"), "").unwrap();
    run.kill().unwrap();
    run.wait().unwrap();
}

#[test]
fn a_project_without_a_repository_a_port_that_is_taken_and_two_at_once() {
    let world = World::with_tasks(PLAN);
    let serving = Serving::start(&world, &[]);
    assert_eq!(shown(&serving)["total"], 2);
    let port = serving.port.to_string();
    let mut second = Serving::start(&world, &["--port", &port]);
    assert_ne!(second.port, serving.port);
    assert!(second.said.contains(&format!("port {port} is taken")), "{}", second.said);
    assert_eq!(shown(&second)["total"], 2);
    assert!(!second.has_ended());
    assert_ne!(second.look, serving.look, "each has links of its own");
    let taken: Vec<TcpListener> = (0..=20)
        .filter_map(|more| TcpListener::bind(("127.0.0.1", serving.port.checked_add(more)?)).ok())
        .collect();
    let none = world.specum(&["serve", "--port", &port]);
    assert!(none.exits(1).stderr.contains("are taken"), "{}", none.stderr);
    drop(taken);
    let nowhere = World::empty();
    fs::remove_dir_all(nowhere.path("specs")).unwrap();
    let none = nowhere.specum(&["serve"]);
    assert!(none.exits(3).stderr.contains("no specs in"), "{}", none.stderr);
}

#[test]
fn without_listeners_nothing_is_looked_at() {
    let world = super::started(PLAN);
    let serving = Serving::start(&world, &[]);
    shown(&serving);
    let (before, began) = (serving.ticks(), Instant::now());
    until("some time passes", || began.elapsed() > Duration::from_secs(2));
    assert_eq!(serving.ticks(), before, "it sleeps");
}

#[test]
fn everywhere_is_where_loops_were_begun() {
    let world = super::started(PLAN);
    let serving = Serving::start(&world, &["--everywhere"]);
    assert_eq!(shown(&serving)["spec"], "test-spec");
    let nobody = World::empty();
    let none = nobody.specum(&["serve", "--everywhere"]);
    assert!(none.exits(3).stderr.contains("no loop was begun"), "{}", none.stderr);
}

#[test]
fn the_sibling_of_another_version_or_none_is_said() {
    super::programs();
    let world = super::started(PLAN);
    let mut other = world.program(harness::built().join("specum-net"));
    other.args(["--of", "0.0.9", "serve"]);
    let refused = call(other, b"");
    assert!(refused.exits(1).stderr.contains("install both of one release"), "{}", refused.stderr);
    // Alone in a folder, specum finds none.
    let alone = world.home().join("alone");
    fs::create_dir_all(&alone).unwrap();
    fs::copy(harness::world::specum(), alone.join("specum")).unwrap();
    let mut command = world.program(alone.join("specum"));
    command.arg("serve").env("PATH", &alone);
    let missing = call(command, b"");
    assert!(missing.exits(3).stderr.contains("a program of its own"), "{}", missing.stderr);
    assert_eq!(missing.stderr.lines().count(), 1, "{}", missing.stderr);
    // On the PATH it is found.
    let elsewhere = world.home().join("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::copy(harness::built().join("specum-net"), elsewhere.join("specum-net")).unwrap();
    let mut command = world.program(alone.join("specum"));
    command.args(["serve", "--help"]).env("PATH", &elsewhere);
    assert!(call(command, b"").exits(0).stdout.contains("--steer"));
}
