//! Red first: what a check does before the work.
//!
//! A check that passes before anybody has worked proves nothing about the work. It may
//! pass rightly: it keeps something as it is, and says so (`(green before: why)`).

use serde::{Deserialize, Serialize};

use super::links::Links;
use crate::tasks::{Marker, Mode, Task};
use crate::verify::{CheckRun, ProcessEnd, Proof};

/// What is done about checks that pass before the work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RedFirst {
    /// They are not run before the work.
    Off,
    /// The work is done, and its tick says that its check proves nothing.
    #[default]
    Note,
    /// The loop waits for a person.
    Strict,
}

/// What a check did before the work, as a record keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FirstResult {
    /// It failed.
    Red,
    /// It passed.
    Green,
    /// It could not be run: what it runs is perhaps still to be made.
    Broken,
    /// Nothing can be said: it did not end in time, or a newer version wrote this.
    #[serde(other)]
    Unknown,
}

impl FirstResult {
    /// What is kept of a run.
    pub fn of(run: &CheckRun) -> FirstResult {
        match FirstRun::of(run) {
            Some(FirstRun::Red) => FirstResult::Red,
            Some(FirstRun::Green) => FirstResult::Green,
            Some(FirstRun::Broken(_)) => FirstResult::Broken,
            None => FirstResult::Unknown,
        }
    }
}

/// Whether the check of a task may pass before the work: the task says why, looks after
/// something, or tidies up.
pub fn may_be_green(task: &Task, links: &Links) -> bool {
    task.mode() == Mode::Verify
        || task.markers.contains(&Marker::Yellow)
        || links.green_before.is_some()
}

/// What a tick rests on whose task has passed a check of its own. `first` is what the
/// check did before the work; `was_red` says that it was seen to fail when the plan was
/// written.
pub fn proof(first: Option<FirstResult>, is_guard: bool, was_red: bool) -> Proof {
    match first {
        _ if is_guard => Proof::Guard,
        // What could not be run has come to run, and to pass.
        Some(FirstResult::Red | FirstResult::Broken) => Proof::RedGreen,
        _ if was_red => Proof::Earlier,
        Some(FirstResult::Green) => Proof::GreenBefore,
        Some(FirstResult::Unknown) | None => Proof::Check,
    }
}

/// What a check did before the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FirstRun {
    /// It failed, as it should.
    Red,
    /// It passed already.
    Green,
    /// It could not be run, and why.
    Broken(String),
}

impl FirstRun {
    /// What a run of a check says; `None` if it says nothing, because it was ended or
    /// there was nothing to run.
    pub fn of(run: &CheckRun) -> Option<FirstRun> {
        let CheckRun::Ran(runs) = run else { return None };
        let last = runs.last()?;
        let Some(failure) = last.failure() else { return Some(FirstRun::Green) };
        match &last.ended {
            ProcessEnd::Code(126 | 127) => Some(FirstRun::Broken(failure)),
            ProcessEnd::Code(2) if is_usage_error(&last.command.programs()) => {
                Some(FirstRun::Broken(failure))
            }
            ProcessEnd::Code(_) => Some(FirstRun::Red),
            ProcessEnd::NotStarted(_) | ProcessEnd::TimedOut(_) | ProcessEnd::Signal(_) => None,
        }
    }
}

/// Whether the only program says with code 2 that it was called wrongly. Of grep it
/// also means a missing file, which a task may be about to make.
fn is_usage_error(programs: &[String]) -> bool {
    matches!(programs, [only] if matches!(only.as_str(), "test" | "[" | "sh" | "jq"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::Command;
    use crate::verify::{CheckTime, CommandRun};

    fn after(command: &str, ended: ProcessEnd) -> Option<FirstRun> {
        FirstRun::of(&CheckRun::Ran(vec![CommandRun {
            time: CheckTime::new(None),
            command: Command::plain(command),
            ended,
            output: String::new(),
            stdout: String::new(),
            cut: false,
            millis: 0,
        }]))
    }

    #[test]
    fn a_tick_rests_on_what_its_check_did_before_the_work() {
        use FirstResult::{Broken, Green, Red, Unknown};
        for (first, is_guard, was_red, wanted) in [
            (Some(Red), false, false, Proof::RedGreen),
            (Some(Broken), false, false, Proof::RedGreen),
            (Some(Green), false, false, Proof::GreenBefore),
            (Some(Green), false, true, Proof::Earlier),
            (Some(Green), true, false, Proof::Guard),
            (None, true, false, Proof::Guard),
            (Some(Unknown), false, false, Proof::Check),
            (None, false, true, Proof::Earlier),
            (None, false, false, Proof::Check),
        ] {
            assert_eq!(proof(first, is_guard, was_red), wanted, "{first:?} {is_guard} {was_red}");
        }
    }

    #[test]
    fn a_check_is_red_green_broken_or_says_nothing() {
        assert_eq!(after("make", ProcessEnd::Code(0)), Some(FirstRun::Green));
        assert_eq!(after("make", ProcessEnd::Code(1)), Some(FirstRun::Red));
        assert_eq!(after("grep x y", ProcessEnd::Code(2)), Some(FirstRun::Red));
        assert!(matches!(after("jq . x", ProcessEnd::Code(2)), Some(FirstRun::Broken(_))));
        assert!(matches!(after("mkae", ProcessEnd::Code(127)), Some(FirstRun::Broken(_))));
        assert_eq!(after("make", ProcessEnd::Signal(9)), None);
        assert_eq!(FirstRun::of(&CheckRun::Unverified), None);
    }
}
