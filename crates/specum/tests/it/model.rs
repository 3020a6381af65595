//! A language model with a script: the Anthropic Messages API, inside the test.
//!
//! [`Model::start`] serves on a free local port until it is dropped. Every
//! request is recorded and then given to the script, whose [`Reply`] goes back
//! the way the real service would send it. A test can hold a reply back with a
//! [`Gate`] and wait for requests with [`Model::wait_until`], so nothing here
//! needs to sleep.

mod reply;
mod request;
mod wire;

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::post;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

pub(crate) use reply::{Block, Gate, Reply};
pub(crate) use request::Request;
use wire::Numbers;

/// How long anything here waits for an event before it calls the test broken.
/// Generous, because a loaded machine must not fail a test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A running mock of the Messages API; it ends when dropped.
pub(crate) struct Model {
    address: SocketAddr,
    service: Arc<Service>,
    shutdown: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

type Script = dyn Fn(&Request) -> Reply + Send + Sync;

struct Service {
    script: Box<Script>,
    requests: Mutex<Vec<Request>>,
    arrived: Condvar,
    numbers: Numbers,
}

impl Model {
    /// Serves `script`, which is asked once per request, retries included.
    ///
    /// It is called on the server's only thread: it must not block. A panic in
    /// it reaches the client as a 400, which no host retries.
    pub(crate) fn start(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Model {
        let service = Arc::new(Service {
            script: Box::new(script),
            requests: Mutex::default(),
            arrived: Condvar::new(),
            numbers: Numbers::default(),
        });
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free local port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let (shutdown, asked_to_stop) = oneshot::channel();
        let router = router(service.clone());
        let thread = thread::Builder::new()
            .name("model".into())
            .spawn(move || serve(listener, router, asked_to_stop))
            .expect("a thread for the mock model");
        Model { address, service, shutdown: Some(shutdown), thread: Some(thread) }
    }

    /// The base URL to give to a host.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every `POST /v1/messages` so far, in order of arrival.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.service.lock_requests().clone()
    }

    /// Blocks until the requests so far satisfy `enough`.
    pub(crate) fn wait_until(&self, enough: impl Fn(&[Request]) -> bool) {
        let requests = self.service.lock_requests();
        let (requests, waited) = self
            .service
            .arrived
            .wait_timeout_while(requests, PATIENCE, |requests| !enough(requests))
            .unwrap_or_else(PoisonError::into_inner);
        let count = requests.len();
        drop(requests);
        assert!(
            !waited.timed_out(),
            "the model waited {PATIENCE:?} in vain; {count} requests came"
        );
    }
}

impl Drop for Model {
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
pub(crate) fn serve(
    listener: std::net::TcpListener,
    router: Router,
    asked_to_stop: oneshot::Receiver<()>,
) {
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

fn router(service: Arc<Service>) -> Router {
    Router::new()
        .route("/v1/messages", post(messages))
        .route("/v1/messages/count_tokens", post(count_tokens))
        // `HEAD /` and whatever else a host tries on its way: fine.
        .fallback(async || "{}")
        .layer(DefaultBodyLimit::disable())
        .with_state(service)
}

async fn messages(
    State(service): State<Arc<Service>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let request = Request {
        arrived: Instant::now(),
        headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
        length: body.len(),
    };
    service.lock_requests().push(request.clone());
    service.arrived.notify_all();

    let reply = catch_unwind(AssertUnwindSafe(|| (service.script)(&request)))
        .unwrap_or_else(|_| Reply::error(400, "invalid_request_error", "the script panicked"));
    reply.respond(&request, &service.numbers).await
}

async fn count_tokens(body: Bytes) -> String {
    format!(r#"{{"input_tokens":{}}}"#, wire::tokens(body.len()))
}

impl Service {
    fn lock_requests(&self) -> std::sync::MutexGuard<'_, Vec<Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
