//! Programs that run long and talk much.
//!
//! Everything goes to a log; standard output comes back in lines, as many at
//! a time as there are, within bounds however long a line is. The program has ended when its process
//! has: what it left running is ended, and a pipe that is held open is not
//! waited for. Nobody has to read standard error for it to be kept.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex};

use specum_core::agent::{Lines, WholeLines};
use specum_core::verify::ProcessEnd;

use super::log::Log;
use super::{LAST_WORDS, OutputTail, Terminal, WhenInterrupted, tree, why_not_started, workers};
use crate::os;
use crate::ports::{Disk, OpenFile};

/// How much of the standard error is given back: its end.
const KEPT_STDERR: usize = 16 * 1024;
/// How much of a log is read at once.
const AT_ONCE: u64 = 64 * 1024;
/// How many reads wait to be taken before the program is held up.
const WAITING_READS: usize = 4;

/// What a program left behind.
#[derive(Debug)]
pub struct StreamEnd {
    /// How it ended.
    pub ended: ProcessEnd,
    /// The end of its standard error.
    pub stderr: Vec<u8>,
}

/// A hold on a running program from another thread.
#[derive(Debug, Clone, Default)]
pub struct Handle {
    pid: Arc<AtomicU32>,
    doomed: Arc<AtomicBool>,
}

impl Handle {
    /// Keeps the program from running on if it has not started yet; if it has,
    /// [`end_everything`](super::end_everything) ends it with all others.
    pub fn doom(&self) {
        self.doomed.store(true, Ordering::SeqCst);
    }

    /// Whether the program is to end, or not to begin.
    pub fn is_doomed(&self) -> bool {
        self.doomed.load(Ordering::SeqCst)
    }

    /// Ends the program with everything below it; before it has started, keeps
    /// it from running on.
    pub fn end(&self) {
        self.doom();
        match self.pid.load(Ordering::SeqCst) {
            0 => {}
            pid => tree::end(pid),
        }
    }
}

/// Something a program has printed.
#[derive(Debug, Clone, Copy)]
pub enum Chunk<'a> {
    /// Lines of its standard output.
    Lines(&'a WholeLines),
    /// Part of a line, or something on its standard error.
    Noise,
}

enum Part {
    Lines(WholeLines),
    Noise,
    Closed,
    /// To be waited for.
    Ended(Child),
}

/// Runs a program to its end, with `input` on its standard input, what it prints
/// in `log`, and the lines of its standard output given to `read`. Asked
/// to end by its `handle`, it ends at once.
pub fn stream(
    command: Command,
    input: &[u8],
    log: &Arc<Log>,
    handle: &Handle,
    read: &mut dyn FnMut(Chunk<'_>),
) -> StreamEnd {
    let program = command.get_program().to_owned();
    let mut command = tree::apart(command, Terminal::None, WhenInterrupted::End);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let not_run = |error: &io::Error| StreamEnd {
        ended: ProcessEnd::NotStarted(why_not_started(&program, error)),
        stderr: Vec::new(),
    };
    let (child, mark) = match tree::start(&mut command, WhenInterrupted::End) {
        Ok(started) => started,
        Err(error) => return not_run(&error),
    };
    let pid = child.id();
    handle.pid.store(pid, Ordering::SeqCst);
    if handle.doomed.load(Ordering::SeqCst) {
        tree::end(pid);
    }
    let stderr = OutputTail::shared(KEPT_STDERR);
    let incoming = match listen_to(child, input, log, &stderr) {
        Ok(incoming) => incoming,
        // A limit on processes counts threads too.
        Err(error) => {
            handle.pid.store(0, Ordering::SeqCst);
            tree::end(pid);
            tree::give_up(pid);
            return not_run(&error);
        }
    };
    let mut open_pipes = 2;
    let child = loop {
        match incoming.recv().expect("the waiting thread sends before it hangs up") {
            Part::Lines(lines) => read(Chunk::Lines(&lines)),
            Part::Noise => read(Chunk::Noise),
            Part::Closed => open_pipes -= 1,
            Part::Ended(child) => break child,
        }
    };
    handle.pid.store(0, Ordering::SeqCst);
    // Ahead of waiting for it, which sets its number free.
    tree::end(pid);
    let status = tree::wait(child);
    tree::end_left_by(mark.as_ref(), tree::running() == 0);
    while open_pipes > 0 {
        match incoming.recv_timeout(LAST_WORDS) {
            Ok(Part::Lines(lines)) => read(Chunk::Lines(&lines)),
            Ok(Part::Noise) => {}
            Ok(Part::Closed | Part::Ended(_)) => open_pipes -= 1,
            // Somebody who escaped us holds the pipe.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    let stderr = stderr.lock().expect("no reader panics").take();
    let ended = match status {
        Ok(status) => match tree::not_launched(status, &stderr) {
            Some(why) => ProcessEnd::NotStarted(why),
            None => os::how_it_ended(status),
        },
        Err(error) => ProcessEnd::NotStarted(error.to_string()),
    };
    StreamEnd { ended, stderr }
}

/// Gives a program its input, and tells what it prints and when it has ended.
fn listen_to(
    mut child: Child,
    input: &[u8],
    log: &Arc<Log>,
    stderr: &Arc<Mutex<OutputTail>>,
) -> io::Result<Receiver<Part>> {
    let (parts, incoming) = mpsc::sync_channel(WAITING_READS);
    if let Some(pipe) = child.stdout.take() {
        os::grow_pipe(&pipe);
        read_lines(Source { pipe, log: Arc::clone(log) }, parts.clone())?;
    }
    if let Some(pipe) = child.stderr.take() {
        keep_tail(Source { pipe, log: Arc::clone(log) }, Arc::clone(stderr), parts.clone())?;
    }
    if let Some(mut pipe) = child.stdin.take() {
        let input = input.to_vec();
        // A program that does not read its input must not hold us up.
        workers::start(move || drop(pipe.write_all(&input)))?;
    }
    tree::watch(child, move |child| {
        let _ = parts.send(Part::Ended(child));
    })?;
    Ok(incoming)
}

/// One end of a program's output.
struct Source<P> {
    pipe: P,
    log: Arc<Log>,
}

impl<P: Read> Source<P> {
    /// The next bytes, which are in the log by then.
    fn read<'b>(&mut self, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
        let length = self.pipe.read(buffer).ok().filter(|length| *length > 0)?;
        self.log.write(&buffer[..length]);
        Some(&buffer[..length])
    }
}

fn read_lines(
    mut source: Source<impl Read + Send + 'static>,
    parts: SyncSender<Part>,
) -> io::Result<()> {
    let read = move || {
        let mut buffer = vec![0; 64 * 1024];
        let mut lines = Lines::default();
        while let Some(bytes) = source.read(&mut buffer) {
            // All at once: to pass on a short line costs more than to read it.
            let whole = lines.completed(bytes);
            let part = if whole.is_empty() { Part::Noise } else { Part::Lines(whole) };
            if parts.send(part).is_err() {
                break;
            }
        }
        if let Some(line) = lines.end() {
            let mut last = WholeLines::default();
            last.push(&line);
            let _ = parts.send(Part::Lines(last));
        }
        let _ = parts.send(Part::Closed);
    };
    workers::start(read)
}

/// Gives the lines of a log to `read`, within the bounds in which they were
/// read when they were printed.
pub fn replay(disk: &dyn Disk, log: &Path, mut read: impl FnMut(&[u8])) -> io::Result<()> {
    let mut replay = Replay::of(disk.open(log)?);
    replay.read_on(&mut read)?;
    replay.end(read);
    Ok(())
}

/// The same for a log that may still grow.
pub struct Replay {
    file: Box<dyn OpenFile>,
    /// How far it is read.
    length: u64,
    lines: Lines,
}

impl Replay {
    /// Begins at the beginning.
    pub fn of(log: Box<dyn OpenFile>) -> Replay {
        Replay { file: log, length: 0, lines: Lines::default() }
    }

    /// Begins with the last so many bytes, and says how many are left out.
    pub fn of_end(log: Box<dyn OpenFile>, most: u64) -> io::Result<(Replay, u64)> {
        let before = log.info()?.length.saturating_sub(most);
        Ok((Replay { file: log, length: before, lines: Lines::default() }, before))
    }

    /// Gives the lines that were added to `read`.
    pub fn read_on(&mut self, mut read: impl FnMut(&[u8])) -> io::Result<()> {
        // Of a long one the middle is left out, and what follows moves up.
        self.length = self.length.min(self.file.info()?.length);
        loop {
            let bytes = self.file.read(self.length, AT_ONCE)?;
            if bytes.is_empty() {
                return Ok(());
            }
            self.length += bytes.len() as u64;
            self.lines.push(&bytes, &mut read);
        }
    }

    /// Gives the last line to `read`, if it has no end of line.
    pub fn end(&mut self, mut read: impl FnMut(&[u8])) {
        std::mem::take(&mut self.lines).end().inspect(|line| read(line));
    }
}

fn keep_tail(
    mut source: Source<impl Read + Send + 'static>,
    tail: Arc<Mutex<OutputTail>>,
    parts: SyncSender<Part>,
) -> io::Result<()> {
    let read = move || {
        let mut buffer = vec![0; 16 * 1024];
        while let Some(bytes) = source.read(&mut buffer) {
            tail.lock().expect("no reader panics").push(bytes);
            if parts.send(Part::Noise).is_err() {
                break;
            }
        }
        let _ = parts.send(Part::Closed);
    };
    workers::start(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finding_54_short_lines_come_many_at_a_time() {
        let mut command = Command::new("sh");
        command.args(["-c", "seq 100000; printf end"]);
        let log = Arc::new(Log::new(tempfile::tempfile().unwrap()));
        let (mut times, mut lines) = (0, Vec::new());
        let mut read = |printed: Chunk<'_>| {
            times += 1;
            if let Chunk::Lines(more) = printed {
                lines.extend(more.iter().map(<[u8]>::to_vec));
            }
        };
        let streamed = stream(command, b"", &log, &Handle::default(), &mut read);
        assert_eq!(streamed.ended, ProcessEnd::Code(0));
        let numbers = (1..=100_000).map(|n: u32| n.to_string().into_bytes());
        assert!(lines.iter().cloned().eq(numbers.chain([b"end".to_vec()])), "every line, in order");
        // A pipe holds at least a page.
        assert!(times <= 600_000 / 4096 + 10, "{times} times for {} lines", lines.len());
    }
}
