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

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::post;

use crate::server::{Arrivals, Server};
pub use reply::{Block, Gate, Reply};
pub use request::Request;
use wire::Numbers;

/// A running mock of the Messages API; it ends when dropped.
pub struct Model {
    server: Server,
    service: Arc<Service>,
}

type Script = dyn Fn(&Request) -> Reply + Send + Sync;

struct Service {
    script: Box<Script>,
    requests: Arrivals<Request>,
    numbers: Numbers,
}

impl Model {
    /// Serves `script`, which is asked once per request, retries included.
    ///
    /// It is called on the server's only thread: it must not block. A panic in
    /// it reaches the client as a 400, which no host retries.
    pub fn start(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Model {
        let service = Arc::new(Service {
            script: Box::new(script),
            requests: Arrivals::new(),
            numbers: Numbers::default(),
        });
        Model { server: Server::start(router(service.clone())), service }
    }

    /// The base URL to give to a host.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Every `POST /v1/messages` so far, in order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.service.requests.so_far()
    }

    /// Blocks until the requests so far satisfy `enough`.
    pub fn wait_until(&self, enough: impl Fn(&[Request]) -> bool) {
        self.service.requests.wait_until(enough);
    }
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
    service.requests.add(request.clone());

    let reply = catch_unwind(AssertUnwindSafe(|| (service.script)(&request)))
        .unwrap_or_else(|_| Reply::error(400, "invalid_request_error", "the script panicked"));
    reply.respond(&request, &service.numbers).await
}

async fn count_tokens(body: Bytes) -> String {
    format!(r#"{{"input_tokens":{}}}"#, wire::tokens(body.len()))
}
