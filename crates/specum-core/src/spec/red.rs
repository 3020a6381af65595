//! Red first: what a check does before the work.
//!
//! A check that passes before anybody has worked proves nothing about the work. It may
//! pass rightly: it keeps something as it is, and says so (`(green before: why)`).

use crate::verify::{CheckRun, ProcessEnd};

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
