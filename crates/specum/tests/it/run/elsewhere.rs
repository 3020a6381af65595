//! Runs whose process cannot be seen: in another process namespace, on another
//! host, or too early in their life to be named in the state.

use std::fs::File;
use std::process::{Child, Command, Stdio};

use jiff::{SignedDuration, Timestamp};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{
    Listener, agent, at_work, command_run, committed, nothing_is_left, planned, run, run_with, send,
};
use crate::world::{JOURNAL, STATE, World, fifo, gate, skipped, until};

const ONE: &str = "- [ ] 1.1 a\n";
const BEAT: &str = "specs/test-spec/.ralph-beat";
const RUN_LOCK: &str = "specs/test-spec/.ralph-run.lock";
const TREE_LOCK: &str = ".git/specum-run.lock";

/// An agent that says its task and works once its gate is opened.
const HELD: &str = "echo $id > $HOME/line; cat $HOME/gate; echo x > $id.txt; echo TASK_COMPLETE\n";

fn ago(seconds: i64) -> String {
    (Timestamp::now() - SignedDuration::from_secs(seconds)).to_string()
}

/// A process on another host. Its number is that of a living process here, which
/// proves nothing.
fn foreign() -> Value {
    let space = json!({"host": "elsewhere", "boot": "b-1", "namespace": "4026531836"});
    json!({"pid": std::process::id(), "started": "1", "space": space})
}

/// A loop whose state names this owner.
fn owned_by(owner: &Value) -> World {
    let world = World::started(ONE);
    world.in_session(&["next"]).exits(0);
    let mut state = world.read_state();
    state["owner"] = owner.clone();
    world.state(&state);
    world
}

fn everybody_is_refused(world: &World, by: &str) {
    let status = world.specum(&["status"]);
    assert!(status.stdout.contains(&format!("held by    {by}")), "{}", status.stdout);
    for verb in [&["next"][..], &["implement"], &["finish", "1.1"], &["fail", "1.1"]] {
        let refused = world.specum_with(verb, b"TASK_COMPLETE");
        assert!(refused.exits(5).stderr.contains(by), "{verb:?}: {}", refused.stderr);
    }
    let second = run(world, &["--take-over"]);
    assert!(second.exits(5).stderr.contains(by), "{}", second.stderr);
    world.stop().silent();
}

/// `specum run` in a process namespace of its own, or `None` if there is none to
/// be had. It ends with the child.
fn in_a_namespace(world: &World, agent: &str) -> Option<Child> {
    let args = ["-rpf", "--mount-proc", "--kill-child"];
    let tried = Command::new("unshare").args(args).arg("true").output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        skipped("unshare does not work here", "SPECUM_NEEDS", "all");
        return None;
    }
    let inside = command_run(world, agent, &[]);
    let mut command = world.program("unshare");
    command.args(args).arg(inside.get_program()).args(inside.get_args());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Some(command.spawn().expect("it has just worked"))
}

#[test]
fn a_run_in_another_process_namespace_is_seen_from_outside() {
    let world = planned(ONE);
    let agent = agent(&world, HELD);
    let mut line = Listener::new(&world, "line");
    fifo(&world.home().join("gate"));
    let Some(mut run) = in_a_namespace(&world, &agent) else { return };
    assert_eq!(line.line(), "1.1");
    everybody_is_refused(&world, "`specum run` (process 1 on ");
    drop(gate(&world.home().join("gate")));
    assert_eq!(run.wait().unwrap().code(), Some(0), "it has not been disturbed");
    assert_eq!(committed(&world), ["1.1"]);
    nothing_is_left(&world);
}

#[test]
fn a_run_that_was_killed_in_another_process_namespace_holds_nobody_back() {
    let world = planned(ONE);
    let waits = agent(&world, "echo $id > $HOME/line; cat $HOME/gate\n");
    let mut line = Listener::new(&world, "line");
    fifo(&world.home().join("gate"));
    let Some(mut run) = in_a_namespace(&world, &waits) else { return };
    assert_eq!(line.line(), "1.1");
    send(&run, Signal::KILL);
    run.wait().unwrap();
    // The kernel ends the rest of the namespace in its own time. The beat is
    // fresh, and still the lock says that nobody is there.
    until("the run has ended", || world.specum(&["status"]).stdout.contains("held by    nobody"));
    let works = agent(&world, "echo x > $id.txt; echo TASK_COMPLETE\n");
    run_with(&world, &works, &[]).exits(0);
    assert_eq!(committed(&world), ["1.1"]);
    nothing_is_left(&world);
}

#[test]
fn a_run_on_another_host_holds_the_spec_until_its_beat_is_old() {
    let world = owned_by(&json!({"kind": "runner", "process": foreign()}));
    let beats = |process: &Value, age: i64| {
        world.write(BEAT, json!({"process": process, "at": ago(age)}).to_string());
    };
    for age in [-30, 0, 30] {
        beats(&foreign(), age);
        let by = format!("`specum run` (process {} on elsewhere)", std::process::id());
        everybody_is_refused(&world, &by);
    }
    let is_free = || {
        let status = world.specum(&["status"]).stdout;
        assert!(status.contains("held by    nobody"), "{status}");
        assert!(world.stop().reason().starts_with("Continue"));
        world.hook("session-end", &json!({"reason": "other"})).silent();
    };
    beats(&foreign(), 90);
    is_free();
    let mut later = foreign();
    later["started"] = json!("2");
    beats(&later, 0);
    is_free();
    for nonsense in ["", "{", "[]", "{\"at\": 3}"] {
        world.write(BEAT, nonsense);
        is_free();
    }
    beats(&foreign(), 90);
    run(&world, &["--agent-command", "cat > /dev/null; echo x > 1; echo TASK_COMPLETE"]).exits(0);
}

#[test]
fn a_lock_that_another_host_holds_is_believed_without_a_beat() {
    let world = owned_by(&json!({"kind": "runner", "process": foreign()}));
    let lock = File::create(world.path(RUN_LOCK)).unwrap();
    lock.lock().unwrap();
    let status = world.specum(&["status"]).stdout;
    assert!(status.contains(" on elsewhere)"), "{status}");
    world.specum(&["implement"]).exits(5);
    drop(lock);
    assert!(world.specum(&["status"]).stdout.contains("held by    nobody"));
    world.specum(&["implement"]).exits(0);
}

#[test]
fn a_session_that_cannot_be_seen_holds_the_spec_until_it_has_been_silent_for_long() {
    for process in [None, Some(foreign())] {
        let owner = |hours: i64| {
            let mut owner =
                json!({"kind": "session", "sessionId": "far", "seen": ago(hours * 3600)});
            if let Some(process) = &process {
                owner["process"] = process.clone();
            }
            owner
        };
        let world = owned_by(&owner(11));
        world.stop().silent();
        assert!(world.specum(&["status"]).stdout.contains("held by    session far"));
        let world = owned_by(&owner(13));
        assert!(world.stop().reason().starts_with("Continue"));
    }
}

#[test]
fn a_run_beats_without_touching_the_state_and_its_end_ends_that() {
    let world = planned(ONE);
    let agent = agent(&world, HELD);
    let mut line = Listener::new(&world, "line");
    fifo(&world.home().join("gate"));
    let mut command = command_run(&world, &agent, &[]);
    command.env("SPECUM_BEAT_MILLIS", "1").stdin(Stdio::null()).stdout(Stdio::null());
    let mut run = command.spawn().unwrap();
    assert_eq!(line.line(), "1.1");
    let written = |path: &str| world.path(path).metadata().unwrap().modified().unwrap();
    let before = [written(STATE), written(JOURNAL)];
    let first: Value = serde_json::from_str(&world.read(BEAT)).unwrap();
    assert_eq!(first["process"]["pid"], run.id());
    assert_eq!(first["process"], world.read_state()["owner"]["process"]);
    until("it beats", || {
        let now: Value = serde_json::from_str(&world.read(BEAT)).unwrap();
        now["at"].as_str() > first["at"].as_str()
    });
    assert_eq!([written(STATE), written(JOURNAL)], before);
    drop(gate(&world.home().join("gate")));
    assert_eq!(run.wait().unwrap().code(), Some(0));
    assert!(!world.path(BEAT).exists());
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

#[test]
fn two_runs_in_one_moment_are_told_what_is_known() {
    // The first has the lock of the tree and has not written the state yet.
    let world = planned(ONE);
    let lock = File::create(world.path(TREE_LOCK)).unwrap();
    lock.lock().unwrap();
    let refused = |note: &str| {
        world.write(TREE_LOCK, note);
        let second = run(&world, &[]);
        second.exits(5).stderr.clone()
    };
    let unknown = "error: another `specum run` works in this tree; wait for its end, or run in a \
                   git worktree of its own\n";
    assert_eq!(refused(""), unknown);
    assert_eq!(refused("nonsense"), unknown);
    let note = |spec: &str, process: &Value| json!({"spec": spec, "process": process}).to_string();
    let pid = std::process::id();
    assert_eq!(
        refused(&note("test-spec", &foreign())),
        format!(
            "error: test-spec is being worked on by `specum run` (process {pid} on elsewhere); stop it \
             there, or with `specum pause test-spec`\n"
        )
    );
    let other = refused(&note("other", &foreign()));
    assert!(
        other.contains(&format!("in this tree, on other (process {pid} on elsewhere);")),
        "{other}"
    );
    assert!(!world.path(JOURNAL).exists(), "nobody has begun");
}

#[test]
fn a_note_that_a_killed_run_has_left_in_the_lock_is_not_repeated() {
    let world = planned(ONE);
    let agent = agent(&world, "echo $id > $HOME/line; sleep 600\n");
    let mut line = Listener::new(&world, "line");
    let mut killed = at_work(&world, &agent, &[]);
    assert_eq!(line.line(), "1.1");
    send(&killed, Signal::KILL);
    killed.wait().unwrap();
    let lock = File::open(world.path(TREE_LOCK)).unwrap();
    lock.lock().unwrap();
    let refused = run(&world, &[]);
    let says = "another `specum run` works in this tree; wait";
    assert!(refused.exits(5).stderr.contains(says), "{}", refused.stderr);
    drop(lock);
    world.specum(&["doctor", "--repair"]).exits(0);
}

#[test]
fn without_a_repository_two_runs_of_a_spec_are_kept_apart_by_its_own_lock() {
    let world = World::with_tasks(ONE);
    let lock = File::create(world.path(RUN_LOCK)).unwrap();
    lock.lock().unwrap();
    let refused = run(&world, &[]);
    let says = "test-spec is being worked on by another `specum run`; stop it there";
    assert!(refused.exits(5).stderr.contains(says), "{}", refused.stderr);
    world.write(BEAT, json!({"process": foreign(), "at": ago(0)}).to_string());
    let refused = run(&world, &[]);
    assert!(
        refused.exits(5).stderr.contains(" on elsewhere); stop it there"),
        "{}",
        refused.stderr
    );
}
