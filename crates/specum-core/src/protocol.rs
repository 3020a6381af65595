//! What a coordinator and a worker say to each other about one start of an agent.
//!
//! A [`WorkOrder`] goes to the worker; [`WorkSign`]s come back while it works, two of which
//! ask for a [`Reply`], and one [`WorkResult`] at its end. All of it can be written as JSON, a line each, so that
//! the worker may be a thread, a process at the end of a pipe, or another machine. A
//! worker is given everything in the order and shares no file with the coordinator but
//! the repository it works in. Nobody believes a worker: its result is evidence, and
//! the coordinator's side judges it.

use serde::{Deserialize, Serialize};

use crate::agent::{Call, Report, Signs};
use crate::attempt::AttemptId;
use crate::coordinate::{Launch, Site};
use crate::tasks::{Check, TaskKey};
use crate::verify::{CheckRun, CheckTime};

/// The version of what is said here. A worker of another version is not given orders.
pub const PROTOCOL: u32 = 1;

/// Work for one start of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkOrder {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// The attempt it is for.
    pub attempt: AttemptId,
    /// The start it is for. A result that names another one is not taken.
    pub fence: Launch,
    /// The task.
    pub task: TaskKey,
    /// Where it is worked on.
    pub site: Site,
    /// The commit that the work begins from; `None` without a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The agent's name, by which its output is read.
    pub agent: String,
    /// How the agent is started, with its brief.
    pub call: Call,
    /// What proves the work, if anything does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
    /// How long that may take.
    pub check_time: CheckTime,
    /// What the commit that keeps the work says.
    pub message: String,
}

/// What a worker tells while it works.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "sign", content = "of")]
pub enum WorkSign {
    /// The agent has printed something without a meaning.
    Printed,
    /// The agent has said what it does.
    Said(Signs),
    /// The agent has said its last word; or it has said more.
    Answered(bool),
    /// The agent has ended. The worker waits for a [`Reply`].
    Ended(Report),
    /// This was changed, and its check is next. The worker waits for a [`Reply`].
    Changed(Vec<String>),
}

/// What a worker does next, after a sign that asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// It goes on.
    GoOn,
    /// It leaves the work as it is, and gives its result.
    Leave,
}

/// What a start of an agent came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkResult {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// The attempt it was for.
    pub attempt: AttemptId,
    /// The start it was for.
    pub fence: Launch,
    /// What the agent said and used, and what went wrong with it.
    pub report: Report,
    /// What was checked, if the agent got so far and worked in a worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<CheckedWork>,
}

/// Work that was looked at where it was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckedWork {
    /// What was changed.
    pub changed: Vec<String>,
    /// What became of its check.
    pub check: CheckRun,
    /// The commit that holds it.
    pub commit: String,
}

impl WorkResult {
    /// The result of an order whose work was not checked.
    pub fn unchecked(order: &WorkOrder, report: Report) -> WorkResult {
        let (attempt, fence) = (order.attempt.clone(), order.fence);
        WorkResult { protocol: PROTOCOL, attempt, fence, report, checked: None }
    }

    /// Whether it answers an order.
    pub fn answers(&self, order: &WorkOrder) -> bool {
        self.protocol == PROTOCOL && self.attempt == order.attempt && self.fence == order.fence
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{Reset, Sign, Trouble, Usage};
    use crate::tasks::TaskFile;
    use crate::verify::{CommandRun, ProcessEnd};

    fn order() -> WorkOrder {
        let plan = "- [ ] 1.1 a\n  - **Verify**: `make test`; `wc -l < a` returns 5\n";
        let file = TaskFile::scan(plan.as_bytes());
        let task = &file.tasks[0];
        WorkOrder {
            protocol: PROTOCOL,
            attempt: AttemptId::new(1, 2, 3),
            fence: Launch(4),
            task: task.key(),
            site: Site::Worktree,
            base: Some("abc".into()),
            agent: "command".into(),
            call: Call { program: "sh".into(), stdin: vec![0xff, b'a'], ..Call::default() },
            check: file.fields(task).verify,
            check_time: CheckTime::new(None),
            message: "demo 1.1".into(),
        }
    }

    fn result() -> WorkResult {
        let order = order();
        let commands = order.check.as_ref().unwrap().commands(&|_| crate::tasks::Program::Found);
        let check = CheckRun::of(commands, |command| CommandRun {
            time: order.check_time,
            command,
            ended: ProcessEnd::Code(0),
            output: "5".into(),
            stdout: "5".into(),
            cut: false,
            millis: 0,
        });
        let trouble = Trouble::RateLimited { why: "429".into(), reset: Some(Reset::In(3)) };
        let usage = Some(Usage { tokens: 7, cost: Some(0.5) });
        let report = Report { result: "done".into(), usage, trouble: Some(trouble) };
        let checked = CheckedWork { changed: vec!["a".into()], check, commit: "def".into() };
        WorkResult { checked: Some(checked), ..WorkResult::unchecked(&order, report) }
    }

    #[test]
    fn whatever_is_said_survives_a_pipe() {
        let line = serde_json::to_string(&order()).unwrap();
        assert!(!line.contains('\n'));
        assert_eq!(serde_json::from_str::<WorkOrder>(&line).unwrap(), order());
        let line = serde_json::to_string(&result()).unwrap();
        assert_eq!(serde_json::from_str::<WorkResult>(&line).unwrap(), result());
        let signs = [
            WorkSign::Printed,
            WorkSign::Said(vec![Sign::ToolEnded, Sign::Text { text: "a\nb".into() }].into()),
            WorkSign::Answered(true),
            WorkSign::Ended(result().report),
            WorkSign::Changed(vec!["a b".into()]),
        ];
        for sign in signs {
            let line = serde_json::to_string(&sign).unwrap();
            assert_eq!(serde_json::from_str::<WorkSign>(&line).unwrap(), sign);
        }
    }

    #[test]
    fn a_result_answers_its_own_order_and_no_other() {
        let (order, result) = (order(), result());
        assert!(result.answers(&order));
        assert!(!result.answers(&WorkOrder { fence: Launch(5), ..order.clone() }));
        let other = AttemptId::new(9, 9, 9);
        assert!(!result.answers(&WorkOrder { attempt: other, ..order.clone() }));
        assert!(!WorkResult { protocol: 2, ..result }.answers(&order));
    }
}
