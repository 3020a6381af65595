//! A server on a free local port, inside the test, and what it was asked.

use std::net::SocketAddr;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::PATIENCE;

/// It serves until it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    shutdown: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start(router: Router) -> Server {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free local port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let (shutdown, asked_to_stop) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("model".into())
            .spawn(move || serve(listener, router, asked_to_stop))
            .expect("a thread for the mock model");
        Server { address, shutdown: Some(shutdown), thread: Some(thread) }
    }

    /// The base URL to give to a host.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.shutdown.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the server was printed by its thread; a second panic
            // while a test unwinds would abort the whole test run.
            let _ = thread.join();
        }
    }
}

/// Serves until asked to stop.
fn serve(listener: std::net::TcpListener, router: Router, asked_to_stop: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime for the mock model");
    runtime.block_on(async {
        listener.set_nonblocking(true).expect("a listener that tokio accepts");
        let listener = TcpListener::from_std(listener).expect("a listener that tokio accepts");
        // Not a graceful end: that would wait for replies behind closed gates.
        tokio::select! {
            served = axum::serve(listener, router) => served.expect("serving does not fail"),
            _ = asked_to_stop => {}
        }
    });
}

/// Everything that has arrived, in order, for those who wait for more.
pub(crate) struct Arrivals<T> {
    all: Mutex<Vec<T>>,
    more: Condvar,
}

impl<T: Clone> Arrivals<T> {
    pub(crate) fn new() -> Arrivals<T> {
        Arrivals { all: Mutex::default(), more: Condvar::new() }
    }

    pub(crate) fn add(&self, arrival: T) {
        self.lock().push(arrival);
        self.more.notify_all();
    }

    pub(crate) fn so_far(&self) -> Vec<T> {
        self.lock().clone()
    }

    /// Blocks until what has arrived is enough.
    pub(crate) fn wait_until(&self, enough: impl Fn(&[T]) -> bool) {
        let waiting = self.more.wait_timeout_while(self.lock(), PATIENCE, |all| !enough(all));
        let (all, waited) = waiting.unwrap_or_else(PoisonError::into_inner);
        let count = all.len();
        drop(all);
        assert!(
            !waited.timed_out(),
            "the model waited {PATIENCE:?} in vain; {count} requests came"
        );
    }

    fn lock(&self) -> MutexGuard<'_, Vec<T>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
