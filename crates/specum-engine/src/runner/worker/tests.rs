//! A worker at the end of a pipe: everything that passes between it and the side that has
//! ordered its work is a line of JSON.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use specum_core::agent::{Call, Order, Sign};
use specum_core::attempt::AttemptId;
use specum_core::coordinate::{Launch, Site};
use specum_core::notice::Message;
use specum_core::owner::{PidSpace, Process};
use specum_core::protocol::{PROTOCOL, Reply};
use specum_core::tasks::{Command, Program, TaskFile};
use specum_core::verify::CheckTime;

use super::*;
use crate::attempt::Workspace;
use crate::files::FileError;
use crate::memory::{MemoryClock, MemoryDisk, MemoryRepositories};
use crate::ports::{Clock, Launcher};
use crate::process::{Run, StreamEnd};
use crate::project::Project;

const PLAN: &str = "- [ ] 1.1 a\n  - **Files**: a\n  - **Verify**: `test -s a`\n";

/// Programs of which only an agent does anything: it writes a file, and says two lines.
struct OneAgent {
    disk: MemoryDisk,
    space: PidSpace,
}

impl Launcher for OneAgent {
    fn find(&self, _: &Path, _: &str) -> Program {
        Program::Found
    }

    fn check(&self, _: &Command, dir: &Path, _: Duration) -> Run {
        let code = i32::from(self.disk.content(&dir.join("a")).is_none());
        let (ended, output) = (ProcessEnd::Code(code), b"checked\n".to_vec());
        Run { ended, stdout: output.clone(), output, cut: false }
    }

    fn syntax(&self, _: &Command) -> Option<String> {
        None
    }

    fn set_up(&self, _: &str, _: &Path, _: &Path) -> Run {
        unreachable!("nothing is to be prepared")
    }

    fn notify(&self, _: &str, _: &Path, _: &Message) -> Run {
        unreachable!("a worker tells no person")
    }

    fn run_agent(
        &self,
        call: &Call,
        root: &Path,
        _: &Path,
        _: &Handle,
        read: &mut dyn FnMut(Chunk<'_>),
    ) -> StreamEnd {
        assert_eq!(call.stdin, b"the brief");
        self.disk.put(&root.join("a"), b"good\n");
        for line in ["I am at it", "TASK_COMPLETE"] {
            let mut lines = WholeLines::default();
            lines.push(line.as_bytes());
            read(Chunk::Lines(&lines));
        }
        StreamEnd { ended: ProcessEnd::Code(0), stderr: Vec::new() }
    }

    fn end_everything(&self) {}
    fn begin_run(&self, _: &Path) {}
    fn end_survivors(&self, _: &Path, _: &dyn Fn(u32)) {}
    fn when_interrupted(&self, _: Box<dyn FnOnce() + Send>) {}

    fn refuse_without_temporaries(&self) -> Result<(), FileError> {
        Ok(())
    }

    fn me(&self) -> Process {
        Process { pid: 1, started: "1".into(), space: None }
    }

    fn host(&self) -> Option<Process> {
        None
    }

    fn space(&self) -> &PidSpace {
        &self.space
    }

    fn is_alive(&self, _: &Process) -> Option<bool> {
        None
    }
}

/// The side that has ordered the work, at the other end of a pipe.
struct Pipe {
    /// The lines that came through it.
    lines: RefCell<Vec<String>>,
    /// What is written back, line by line, from the last to the first.
    replies: RefCell<Vec<&'static str>>,
}

impl Supervisor for Pipe {
    fn tell(&self, sign: WorkSign) {
        self.lines.borrow_mut().push(serde_json::to_string(&sign).unwrap());
    }

    fn ask(&self, sign: WorkSign) -> Result<Reply, RunError> {
        self.tell(sign);
        let reply = self.replies.borrow_mut().pop().expect("it asks twice at most");
        Ok(serde_json::from_str(reply).unwrap())
    }
}

fn machine() -> (World, MemoryDisk) {
    let clock: Arc<dyn Clock> = Arc::new(MemoryClock::at(Timestamp::UNIX_EPOCH));
    let disk = MemoryDisk::new(Arc::clone(&clock));
    disk.put(Path::new("/p/specs/demo/tasks.md"), PLAN.as_bytes());
    disk.put(Path::new("/p/specs/.current-spec"), b"demo\n");
    let repositories = MemoryRepositories::init(&disk, Path::new("/p"));
    let space = PidSpace { host: "h".into(), boot: "b".into(), namespace: "n".into() };
    let world = World {
        disk: Arc::new(disk.clone()),
        launcher: Arc::new(OneAgent { disk: disk.clone(), space }),
        clock,
        repositories: Arc::new(repositories),
        state_home: Some("/home/state/specum".into()),
        ids: Arc::default(),
    };
    (world, disk)
}

/// What a worker in a worktree says to these replies, and the result it gives, all of it
/// as lines.
fn carried_out(replies: &[&'static str]) -> (Vec<WorkSign>, WorkResult, WorkOrder) {
    let (world, _) = machine();
    let project = Project::find(&world, Path::new("/p"), None).unwrap();
    let workspace = Workspace::new(&project, project.spec("demo").unwrap()).unwrap();
    let base = workspace.repository().unwrap().head();
    let worktree = PreparedWorktree::add(&workspace, "w", base.as_deref()).unwrap();
    let file = TaskFile::scan(PLAN.as_bytes());
    let agent = agent::by_name("command", Some("work")).unwrap();
    let order = serde_json::to_string(&WorkOrder {
        protocol: PROTOCOL,
        attempt: AttemptId::new(1, 2, 3),
        fence: Launch(4),
        task: file.tasks[0].key(),
        site: Site::Worktree,
        base,
        agent: agent.name().to_owned(),
        call: agent.call(&Order {
            brief: b"the brief",
            model: None,
            script: None,
            attempt: 1,
            signal: "TASK_COMPLETE",
            max_cost: None,
        }),
        check: file.fields(&file.tasks[0]).verify,
        check_time: CheckTime::new(None),
        message: "demo 1.1".into(),
    });
    let order: WorkOrder = serde_json::from_str(&order.unwrap()).unwrap();
    let log = PathBuf::from("/home/state/log");
    let checkout = Checkout {
        world: &world,
        root: &worktree.root,
        worktree: Some(&worktree),
        log: &log,
        handle: Handle::default(),
    };
    let replies = replies.iter().rev().copied().collect();
    let pipe = Pipe { lines: RefCell::default(), replies: RefCell::new(replies) };
    let result = work(&order, &checkout, &pipe).unwrap();
    let result = serde_json::from_str(&serde_json::to_string(&result).unwrap()).unwrap();
    let lines = pipe.lines.into_inner();
    assert!(lines.iter().all(|line| !line.contains('\n')));
    (lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect(), result, order)
}

#[test]
fn a_worker_is_driven_by_lines_of_json_alone() {
    let (signs, result, order) = carried_out(&["\"go-on\"", "\"go-on\""]);
    let text = |text: &str| WorkSign::Said(vec![Sign::Text { text: text.into() }].into());
    let report = result.report.clone();
    assert_eq!(report.result.trim(), "I am at it\nTASK_COMPLETE");
    let asked = [WorkSign::Ended(report), WorkSign::Changed(vec!["a".into()])];
    let said = [text("I am at it"), WorkSign::Answered(true), text("TASK_COMPLETE")];
    assert_eq!(signs, [&said[..], &asked[..]].concat());
    assert!(result.answers(&order));
    let checked = result.checked.expect("it was checked");
    assert_eq!(checked.changed, ["a"]);
    assert_eq!(specum_core::verify::failed_check(&checked.check), None);
    assert!(!checked.commit.is_empty());
}

#[test]
fn a_worker_that_is_to_leave_its_work_checks_and_commits_nothing() {
    let (signs, result, _) = carried_out(&["\"leave\""]);
    assert!(matches!(signs.last(), Some(WorkSign::Ended(_))), "it does not look at the files");
    assert_eq!(result.checked, None);
    let (signs, result, _) = carried_out(&["\"go-on\"", "\"leave\""]);
    assert!(matches!(signs.last(), Some(WorkSign::Changed(_))));
    assert_eq!(result.checked, None, "nothing is checked");
}
