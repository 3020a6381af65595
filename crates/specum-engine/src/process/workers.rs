//! Threads that listen to programs, used again.
//!
//! Each program that is started has two or three threads that listen to it, and a run
//! starts seven programs for a task. A thread that has nothing to listen to any longer
//! waits for the next program: that takes a tenth of what a new thread takes.

use std::io;
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard};
use std::thread;

type Job = Box<dyn FnOnce() + Send>;

/// The threads that wait for a job.
static WAITING: Mutex<Vec<Sender<Job>>> = Mutex::new(Vec::new());

fn waiting() -> MutexGuard<'static, Vec<Sender<Job>>> {
    WAITING.lock().expect("no holder panics")
}

/// Does a job on a thread of its own; the error says that there can be no other
/// thread.
pub(super) fn start(job: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let worker = waiting().pop();
    match worker {
        Some(worker) => {
            let sent = worker.send(Box::new(job));
            sent.map_err(|_| io::Error::other("a thread that waits for work has ended"))
        }
        None => thread::Builder::new().spawn(move || work(Box::new(job))).map(drop),
    }
}

fn work(mut job: Job) {
    let (worker, jobs) = mpsc::channel();
    loop {
        job();
        waiting().push(worker.clone());
        let Ok(next) = jobs.recv() else { return };
        job = next;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::thread::ThreadId;

    use super::*;

    /// Does a job, and tells which thread has.
    fn done_by() -> ThreadId {
        let (tell, told) = mpsc::channel();
        start(move || tell.send(thread::current().id()).unwrap()).unwrap();
        told.recv().unwrap()
    }

    #[test]
    fn a_thread_that_has_nothing_to_do_is_used_again() {
        let threads: HashSet<ThreadId> = (0..1000).map(|_| done_by()).collect();
        // Those of other tests may wait too, and one may not be back yet.
        assert!(threads.len() < 500, "{} threads", threads.len());
    }
}
