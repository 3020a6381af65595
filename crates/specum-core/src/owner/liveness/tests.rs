use super::*;

/// A world in which everything is known that a test says.
#[derive(Clone)]
struct World {
    here: PidSpace,
    lives: Option<bool>,
    locked: Option<bool>,
    beat: Option<u64>,
    age: Option<u64>,
}

impl Witness for World {
    fn here(&self) -> &PidSpace {
        &self.here
    }
    fn lives(&self, _: &Process) -> Option<bool> {
        self.lives
    }
    fn holds_lock(&self, _: &Process) -> Option<bool> {
        self.locked
    }
    fn beat_age(&self, _: &Process) -> Option<Duration> {
        self.beat.map(Duration::from_secs)
    }
    fn age(&self, at: &str) -> Option<Duration> {
        self.age.filter(|_| at == "then").map(Duration::from_secs)
    }
}

fn space(host: &str, boot: &str, namespace: &str) -> PidSpace {
    PidSpace { host: host.into(), boot: boot.into(), namespace: namespace.into() }
}

/// Nothing is known, and the asker is in the first namespace of `box`.
fn world() -> World {
    World { here: space("box", "b1", "1"), lives: None, locked: None, beat: None, age: None }
}

fn run_in(space: Option<PidSpace>) -> Owner {
    Owner::Runner { process: Process { pid: 7, started: "1".into(), space } }
}

fn session_in(process: Option<Option<PidSpace>>, seen: Option<&str>) -> Owner {
    let process = process.map(|space| Process { pid: 7, started: "1".into(), space });
    Owner::Session { session_id: "s".into(), process, seen: seen.map(str::to_owned) }
}

const FRESH: Option<u64> = Some(BEAT_IS_OLD.as_secs() - 1);
const OLD: Option<u64> = Some(BEAT_IS_OLD.as_secs());

#[test]
fn a_process_that_can_be_seen_decides_alone() {
    for space in [None, Some(space("box", "b1", "1")), Some(space("renamed", "b1", "1"))] {
        for lives in [true, false] {
            // Whatever lock and beat say: another run may hold the lock by now.
            let world = World { lives: Some(lives), locked: Some(!lives), beat: FRESH, ..world() };
            assert_eq!(run_in(space.clone()).is_alive(&world), lives, "{space:?}");
            assert_eq!(session_in(Some(space.clone()), Some("then")).is_alive(&world), lives);
        }
    }
}

#[test]
fn a_run_in_another_namespace_of_the_same_kernel_lives_as_long_as_its_lock() {
    let run = run_in(Some(space("container", "b1", "2")));
    // A process with the same number here proves nothing.
    let world = World { lives: Some(true), ..world() };
    for (locked, beat, alive) in [
        (Some(true), None, true),
        (Some(true), OLD, true),
        (Some(false), FRESH, false),
        (None, FRESH, true),
        (None, OLD, false),
        (None, None, false),
    ] {
        assert_eq!(run.is_alive(&World { locked, beat, ..world.clone() }), alive, "{locked:?}");
    }
}

#[test]
fn a_run_on_another_host_lives_until_its_beat_is_old() {
    // The same name after a reboot may also be another host of that name.
    for space in [space("other", "b2", "1"), space("box", "b0", "1"), space("mac", "", "")] {
        let run = run_in(Some(space));
        let world = World { lives: Some(true), ..world() };
        for (locked, beat, alive) in [
            (Some(true), None, true),
            (Some(false), FRESH, true),
            (Some(false), OLD, false),
            (Some(false), None, false),
            (None, FRESH, true),
            (None, OLD, false),
        ] {
            assert_eq!(run.is_alive(&World { locked, beat, ..world.clone() }), alive);
        }
    }
}

#[test]
fn where_processes_cannot_be_seen_the_lock_of_a_run_decides() {
    let here = space("mac", "", "");
    let run = run_in(Some(here.clone()));
    let world = World { here, ..world() };
    for (locked, beat, alive) in [
        (Some(true), OLD, true),
        (Some(false), FRESH, false),
        (None, FRESH, true),
        (None, OLD, false),
    ] {
        assert_eq!(run.is_alive(&World { locked, beat, ..world.clone() }), alive);
    }
}

#[test]
fn a_run_of_an_older_version_lives_unless_its_process_is_known_to_have_ended() {
    let run = run_in(None);
    let world = World { locked: Some(false), ..world() };
    for (lives, alive) in [(None, true), (Some(true), true), (Some(false), false)] {
        assert_eq!(run.is_alive(&World { lives, ..world.clone() }), alive);
    }
}

#[test]
fn a_session_that_cannot_be_seen_lives_until_it_has_been_silent_for_long() {
    let long = SESSION_IS_SILENT.as_secs();
    let places =
        [None, Some(Some(space("container", "b1", "2"))), Some(Some(space("o", "b2", "1")))];
    for process in places {
        let world = World { lives: Some(false), ..world() };
        for (seen, age, alive) in [
            (Some("then"), Some(long - 1), true),
            (Some("then"), Some(long), false),
            (Some("nonsense"), Some(long), true),
            (None, Some(long), true),
        ] {
            let session = session_in(process.clone(), seen);
            assert_eq!(session.is_alive(&World { age, ..world.clone() }), alive, "{session:?}");
        }
    }
}

#[test]
fn a_session_does_not_outlive_the_reboot_of_its_host() {
    let before = session_in(Some(Some(space("box", "b0", "1"))), Some("then"));
    assert!(!before.is_alive(&World { age: Some(1), ..world() }));
}
