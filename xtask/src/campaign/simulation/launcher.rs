//! Simulated programs: checks look at the files on the disk, agents wait for the
//! simulation to say what they do.

use std::collections::BTreeSet;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use specum_core::agent::{Call, WholeLines};
use specum_core::brief::BriefMarker;
use specum_core::notice::Message;
use specum_core::owner::{PidSpace, Process};
use specum_core::tasks::{Command, Program};
use specum_core::verify::{ProcessEnd, Role};
use specum_engine::files::FileError;
use specum_engine::memory::{Died, MemoryDisk};
use specum_engine::ports::Launcher;
use specum_engine::process::{Chunk, Handle, Run, StreamEnd};

use super::agents::LastWords;
use super::steering;
use super::threads::{self, Order, Point};

/// What a file holds whose task is done.
pub(crate) const GOOD: &[u8] = b"good\n";

/// An agent that waits for what it is to do.
#[derive(Debug, Clone)]
pub(crate) struct AgentAtWork {
    /// Which attempt it works on.
    pub(crate) marker: BriefMarker,
    /// The file that its task is about.
    pub(crate) file: String,
    /// The word that ends its task.
    pub(crate) word: &'static str,
    /// Where it works.
    pub(crate) root: PathBuf,
    pub(crate) is_claude: bool,
    /// What a person has noted for it, by number.
    pub(crate) notes: Vec<u32>,
    /// Whether somebody has ended it.
    pub(crate) is_doomed: bool,
}

impl AgentAtWork {
    /// An agent that was given a brief.
    pub(crate) fn with_brief(brief: &str, root: &Path) -> AgentAtWork {
        let file = brief.split("**Files**: ").nth(1);
        let file = file.and_then(|rest| rest.split_whitespace().next());
        // The one that it is told last: a failure before may name the other.
        let signals = [Role::Executor, Role::QaEngineer].map(Role::signal);
        let word = signals.into_iter().max_by_key(|word| brief.rfind(word));
        let word = word.unwrap_or_default();
        AgentAtWork {
            marker: BriefMarker::find(brief).expect("a brief has a marker"),
            file: file.expect("a simulated task names its file").to_owned(),
            word,
            root: root.to_owned(),
            is_claude: true,
            notes: steering::notes_in(brief),
            is_doomed: false,
        }
    }
}

/// Programs of the simulated machine.
pub(crate) struct Programs {
    pub(crate) disk: MemoryDisk,
    /// The files that their last check has found good.
    pub(crate) found_good: Mutex<BTreeSet<String>>,
    /// The processes that are alive.
    pub(crate) living: Mutex<BTreeSet<u32>>,
    /// The host of the session that calls hooks.
    pub(crate) host: Mutex<Option<Process>>,
    pub(crate) space: PidSpace,
}

impl Programs {
    pub(crate) fn new(disk: MemoryDisk) -> Programs {
        let name = || "simulated".to_owned();
        let space = PidSpace { host: name(), boot: name(), namespace: name() };
        Programs {
            disk,
            found_good: Mutex::default(),
            living: Mutex::default(),
            host: Mutex::default(),
            space,
        }
    }

    /// A process of this number.
    pub(crate) fn process(&self, pid: u32) -> Process {
        Process { pid, started: pid.to_string(), space: Some(self.space.clone()) }
    }

    fn file(&self, dir: &Path, name: &str) -> Option<Vec<u8>> {
        self.disk.content(&dir.join(name))
    }
}

impl Launcher for Programs {
    fn find(&self, _: &Path, _: &str) -> Program {
        Program::Found
    }

    fn check(&self, command: &Command, dir: &Path, _: Duration) -> Run {
        let text = String::from_utf8_lossy(&command.text).into_owned();
        let words: Vec<&str> = text.split_whitespace().collect();
        let (passes, printed) = match words[..] {
            ["test", "-e", name] => (self.file(dir, name).is_some(), ""),
            ["test", "-s", name] => (self.file(dir, name).as_deref() == Some(GOOD), ""),
            ["grep", "-c", "good", name] => match self.file(dir, name).as_deref() == Some(GOOD) {
                true => (true, "1\n"),
                false => (false, "0\n"),
            },
            ["echo", ..] => (true, "fine\n"),
            _ => (false, "no such program\n"),
        };
        if let Some(name) = words.last().filter(|_| words.len() > 2) {
            let mut found_good = self.found_good.lock().expect("no holder panics");
            match self.file(dir, name).as_deref() == Some(GOOD) {
                true => found_good.insert((*name).to_owned()),
                false => found_good.remove(*name),
            };
        }
        // Whatever happens meanwhile, happens behind it.
        threads::wait_at(Point::Checked);
        let stdout = printed.as_bytes().to_vec();
        let ended = ProcessEnd::Code(i32::from(!passes));
        Run { ended, output: stdout.clone(), stdout, cut: false }
    }

    fn syntax(&self, _: &Command) -> Option<String> {
        None
    }

    fn notify(&self, _: &str, _: &Path, _: &Message) -> Run {
        Run { ended: ProcessEnd::Code(0), output: Vec::new(), stdout: Vec::new(), cut: false }
    }

    fn set_up(&self, _: &str, _: &Path, _: &Path) -> Run {
        Run { ended: ProcessEnd::Code(0), output: Vec::new(), stdout: Vec::new(), cut: false }
    }

    fn run_agent(
        &self,
        call: &Call,
        root: &Path,
        log: &Path,
        handle: &Handle,
        read: &mut dyn FnMut(Chunk<'_>),
    ) -> StreamEnd {
        let brief = String::from_utf8_lossy(&call.stdin).into_owned();
        let mut at_work = AgentAtWork::with_brief(&brief, root);
        at_work.is_claude = call.program == "claude";
        let mut print = |lines: &[String]| {
            let mut text = self.disk.content(log).unwrap_or_default();
            let mut whole = WholeLines::default();
            for line in lines {
                text.extend_from_slice(format!("{line}\n").as_bytes());
                whole.push(line.as_bytes());
            }
            self.disk.put(log, &text);
            read(Chunk::Lines(&whole));
        };
        loop {
            at_work.is_doomed = handle.is_doomed();
            match threads::wait_at(Point::Agent(at_work.clone())) {
                Order::Say(line) => print(&[line]),
                Order::End(LastWords { lines, ended, stderr }) => {
                    print(&lines);
                    return StreamEnd { ended, stderr: stderr.into_bytes() };
                }
                Order::Die => panic::resume_unwind(Box::new(Died)),
                _ => {}
            }
        }
    }

    fn end_everything(&self) {}

    fn begin_run(&self, _: &Path) {}

    fn end_survivors(&self, _: &Path, _: &dyn Fn(u32)) {}

    fn when_interrupted(&self, _: Box<dyn FnOnce() + Send>) {}

    fn refuse_without_temporaries(&self) -> Result<(), FileError> {
        Ok(())
    }

    fn me(&self) -> Process {
        threads::process().unwrap_or_else(|| self.process(1))
    }

    fn host(&self) -> Option<Process> {
        self.host.lock().expect("no holder panics").clone()
    }

    fn space(&self) -> &PidSpace {
        &self.space
    }

    fn is_alive(&self, process: &Process) -> Option<bool> {
        Some(self.living.lock().expect("no holder panics").contains(&process.pid))
    }
}
