//! A child process that ends within a time limit, and with its test.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How much of the output a failure shows.
const TAIL_LINES: usize = 40;

/// A running child, the leader of its own process group.
///
/// Dropping it without waiting kills the group. Processes that have left the group, such as the
/// commands of Claude Code's Bash tool, are not reached.
pub struct Running {
    child: Child,
    pid: Pid,
    happenings: Receiver<Happening>,
    seen: Finished,
    deadline: Instant,
    limit: Duration,
    /// From then on the pid may belong to a stranger.
    reaped: bool,
}

/// All that a child has left behind.
#[derive(Default)]
pub struct Finished {
    pub stdout: Vec<String>,
    pub stderr: Vec<String>,
    pub status: ExitStatus,
}

enum Happening {
    Stdout(String),
    Stderr(String),
}

impl Running {
    pub fn spawn(command: Command, limit: Duration) -> Running {
        Running::spawn_with(command, Vec::new(), limit)
    }

    /// The same for a child that reads something.
    pub fn spawn_with(mut command: Command, input: Vec<u8>, limit: Duration) -> Running {
        let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.process_group(0).spawn().unwrap_or_else(|error| {
            panic!("cannot start {}: {error}", command.get_program().display())
        });
        if let Some(mut stdin) = child.stdin.take() {
            // Fails if the child ends without having read it all.
            thread::spawn(move || stdin.write_all(&input));
        }
        let pid = Pid::from_child(&child);
        let (sender, happenings) = mpsc::channel();
        #[cfg(target_os = "linux")]
        if let Some(pipe) = &child.stdout {
            // As specum does it: Node.js may exit before a full pipe is read.
            let _ = rustix::pipe::fcntl_setpipe_size(pipe, 1024 * 1024);
        }
        forward(child.stdout.take(), Happening::Stdout, sender.clone());
        forward(child.stderr.take(), Happening::Stderr, sender.clone());
        thread::spawn(move || {
            // Leaves the zombie for `Running` to reap, so that its pid cannot
            // be given to a stranger while we may still want to kill it.
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
            drop(sender);
        });
        let deadline = Instant::now() + limit;
        Running {
            child,
            pid,
            happenings,
            seen: Finished::default(),
            deadline,
            limit,
            reaped: false,
        }
    }

    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Blocks until the child has ended and its output is read to the end.
    ///
    /// Past the time limit, kills the group and panics with the last output.
    pub fn wait(mut self) -> Finished {
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            match self.happenings.recv_timeout(left) {
                Ok(Happening::Stdout(line)) => self.seen.stdout.push(line),
                Ok(Happening::Stderr(line)) => self.seen.stderr.push(line),
                // Everyone who could report has: both pipes and the exit.
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("killed after {:?}, the time limit; {}", self.limit, self.seen.tail())
                }
            }
        }
        self.seen.status = self.child.wait().expect("a child can be waited for");
        self.reaped = true;
        std::mem::take(&mut self.seen)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        // The leader may have ended and left others, who keep its pipes open:
        // the group is killed first, while the leader's pid still stands for it.
        // An error means that nobody is left to kill.
        let _ = kill_process_group(self.pid, Signal::KILL);
        let _ = self.child.wait();
    }
}

impl Finished {
    /// The end of the output, to be put into a failure's message.
    pub fn tail(&self) -> String {
        let last = |lines: &[String]| lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n");
        format!("stdout ended:\n{}\nstderr ended:\n{}", last(&self.stdout), last(&self.stderr))
    }
}

fn forward(
    pipe: Option<impl Read + Send + 'static>,
    wrap: fn(String) -> Happening,
    sender: Sender<Happening>,
) {
    let pipe = BufReader::new(pipe.expect("the pipe was asked for"));
    thread::spawn(move || {
        for line in pipe.split(b'\n').map_while(Result::ok) {
            // Nobody listens once the test has failed; the child may not know.
            let _ = sender.send(wrap(String::from_utf8_lossy(&line).into_owned()));
        }
    });
}
