//! Agents whose children do not want to be found: however a run ends, none of them
//! outlives it.

use std::fs::{self, File};

use rustix::process::Signal;

use super::{
    Listener, agent, at_work, committed, nothing_is_left, planned, processes, run_with, send,
};
use crate::world::{World, until};

const ONE: &str = "- [ ] 1.1 a\n";
const FOUR: &str = "- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n- [ ] 1.3 [P] c\n- [ ] 1.4 [P] d\n";

/// How many children each agent has.
const KINDS: usize = 9;

/// Says that it is there and stays. It is known by its own path, which survives an
/// empty environment.
const STAY: &str = r#"
echo "$1" > "${0%/*}/line"
test "$1" = stopped && kill -STOP $$
exec tail -f "$0"
"#;

/// Lives on in a new process every few milliseconds, until its file is gone.
const HOP: &str = r#"
test $# = 0 && echo hops > "${0%/*}/line"
sleep 0.01
test -e "$0" && sh "$0" on &
"#;

/// Starts one child of each kind; `$id` works on when `$HOME/finish` is there.
const STARTS_ALL: &str = r#"
s="$HOME/stay.sh"
sh "$s" background &
setsid sh "$s" session &
nohup sh "$s" nohup > /dev/null 2>&1 &
( ( sh "$s" orphan & ) & )
env -i PATH="$PATH" sh "$s" bare &
(env -i PATH="$PATH" setsid sh "$s" daemon < /dev/null > /dev/null 2>&1 &)
sh -c 'trap "" TERM HUP INT QUIT; exec sh "$0" deaf' "$s" &
sh "$s" stopped &
sh "$HOME/hop.sh" &
until test -e "$HOME/finish"; do sleep 0.01; done
echo whole > "$id.txt"; echo TASK_COMPLETE
"#;

/// A plan, and an agent with children of all kinds.
fn with_children(plan: &str) -> (World, String) {
    let world = planned(plan);
    fs::write(world.home().join("stay.sh"), STAY).unwrap();
    fs::write(world.home().join("hop.sh"), HOP).unwrap();
    let agent = agent(&world, STARTS_ALL);
    (world, agent)
}

/// The children that live, by the path in their command lines.
fn children(world: &World) -> Vec<String> {
    let home = world.home().display().to_string();
    let lines = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(&home).then_some(line)
    });
    lines.collect()
}

/// Lets a run with children of all kinds be ended in some way.
fn ended_by(plan: &str, code: i32, end: impl FnOnce(&World, &std::process::Child)) -> World {
    let (world, agent) = with_children(plan);
    let mut line = Listener::new(&world, "line");
    let mut run = at_work(&world, &agent, &[]);
    line.lines(KINDS * plan.lines().count());
    end(&world, &run);
    assert_eq!(run.wait().unwrap().code(), Some(code));
    assert_eq!(children(&world), [""; 0]);
    assert_eq!(processes(&world), [""; 0]);
    world
}

#[test]
fn nine_kinds_of_children_end_with_every_signal_that_ends_a_run() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        for plan in [ONE, FOUR] {
            let world = ended_by(plan, 128 + signal.as_raw(), |_, run| send(run, signal));
            nothing_is_left(&world);
        }
    }
}

#[test]
fn nine_kinds_of_children_end_when_the_loop_is_paused_or_cancelled() {
    let ways: [&[&str]; 3] = [&["pause"], &["cancel"], &["cancel", "--remove"]];
    for way in ways {
        for plan in [ONE, FOUR] {
            ended_by(plan, 6, |world, _| drop(world.specum(way)));
        }
    }
}

#[test]
fn nine_kinds_of_children_end_with_an_agent_that_has_finished() {
    for plan in [ONE, FOUR] {
        let (world, agent) = with_children(plan);
        let mut line = Listener::new(&world, "line");
        let mut run = at_work(&world, &agent, &[]);
        line.lines(KINDS * plan.lines().count());
        File::create(world.home().join("finish")).unwrap();
        assert_eq!(run.wait().unwrap().code(), Some(0));
        assert_eq!(children(&world), [""; 0]);
        assert_eq!(committed(&world).len(), plan.lines().count());
        nothing_is_left(&world);
    }
}

#[test]
fn children_of_a_killed_run_end_with_the_next_one() {
    // Without those that shed their environment: nothing tells whose they are.
    let (world, _) = with_children(ONE);
    let agent = agent(&world, &STARTS_ALL.replace("env -i PATH=\"$PATH\"", ""));
    let mut line = Listener::new(&world, "line");
    let mut run = at_work(&world, &agent, &[]);
    line.lines(KINDS);
    send(&run, Signal::KILL);
    run.wait().unwrap();
    assert!(!children(&world).is_empty(), "they live on");
    File::create(world.home().join("finish")).unwrap();
    // The next agent starts the same children again, who say so, too.
    run_with(&world, &agent, &[]).exits(0);
    until("every child has ended", || children(&world).is_empty());
    nothing_is_left(&world);
}
