//! How the check of an attempt ended, as a record keeps it.

use serde::{Deserialize, Serialize};

use super::{CheckRun, ProcessEnd};

/// How the check of an attempt ended. One of the first four is there; none of them if a
/// newer version knows of another end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CheckOutcome {
    /// The exit code of the command that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// It did not end within this many seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<u64>,
    /// Why it could not be started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_started: Option<String>,
    /// How long all commands of the check took together.
    pub millis: u64,
}

impl CheckRun {
    /// How it ended; `None` if nothing was run.
    pub fn outcome(&self) -> Option<CheckOutcome> {
        let CheckRun::Ran(runs) = self else { return None };
        let millis = runs.iter().fold(0_u64, |sum, run| sum.saturating_add(run.millis));
        let outcome = CheckOutcome { millis, ..CheckOutcome::default() };
        Some(match &runs.last()?.ended {
            ProcessEnd::Code(code) => CheckOutcome { code: Some(*code), ..outcome },
            ProcessEnd::Signal(signal) => CheckOutcome { signal: Some(*signal), ..outcome },
            ProcessEnd::TimedOut(seconds) => CheckOutcome { timed_out: Some(*seconds), ..outcome },
            ProcessEnd::NotStarted(why) => {
                CheckOutcome { not_started: Some(why.clone()), ..outcome }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CheckTime, CommandRun};
    use super::*;
    use crate::tasks::Command;

    #[test]
    fn a_record_says_how_the_last_command_ended_and_how_long_all_of_them_took() {
        let run = |ended| CommandRun {
            time: CheckTime::new(None),
            command: Command::plain("make"),
            ended,
            output: String::new(),
            stdout: String::new(),
            cut: false,
            millis: 20,
        };
        let told = |ended| {
            let check = CheckRun::Ran(vec![run(ProcessEnd::Code(0)), run(ended)]);
            let told = serde_json::to_string(&check.outcome()).unwrap();
            let read: Option<CheckOutcome> = serde_json::from_str(&told).unwrap();
            assert_eq!(read, check.outcome());
            told
        };
        assert_eq!(told(ProcessEnd::Code(101)), r#"{"code":101,"millis":40}"#);
        assert_eq!(told(ProcessEnd::Signal(9)), r#"{"signal":9,"millis":40}"#);
        assert_eq!(told(ProcessEnd::TimedOut(9)), r#"{"timedOut":9,"millis":40}"#);
        let none = told(ProcessEnd::NotStarted("no sh".into()));
        assert_eq!(none, r#"{"notStarted":"no sh","millis":40}"#);
        assert_eq!(CheckRun::Unverified.outcome(), None);
    }

    #[test]
    fn an_end_of_which_only_a_newer_version_knows_hides_nothing() {
        let read: CheckOutcome = serde_json::from_str(r#"{"frozen":true,"millis":7}"#).unwrap();
        assert_eq!(read, CheckOutcome { millis: 7, ..CheckOutcome::default() });
    }
}
