//! What the scripted model answers, and when.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header;
use axum::response::Response;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::Request;
use super::wire::{Answer, Numbers};
use crate::PATIENCE;

/// One answer of the model: a message, an error, or an answer that breaks off.
pub struct Reply {
    kind: Kind,
    gate: Option<Gate>,
}

enum Kind {
    Message(Vec<Block>),
    Cut,
    Error { status: u16, body: Value, headers: Vec<(&'static str, String)> },
}

/// One piece of an assistant message.
pub enum Block {
    Text(String),
    Tool { name: String, input: Value },
}

impl Block {
    pub fn text(text: &str) -> Block {
        Block::Text(text.to_owned())
    }

    pub fn tool(name: &str, input: Value) -> Block {
        Block::Tool { name: name.to_owned(), input }
    }
}

impl Reply {
    /// A message of text alone, which ends the host's turn.
    pub fn text(text: &str) -> Reply {
        Reply::message(vec![Block::text(text)])
    }

    /// A message with a single tool call.
    pub fn tool(name: &str, input: Value) -> Reply {
        Reply::message(vec![Block::tool(name, input)])
    }

    /// One assistant message of these blocks, in this order.
    pub fn message(blocks: Vec<Block>) -> Reply {
        Kind::Message(blocks).into()
    }

    /// An HTTP error in the shape of the API, e.g. 529 `overloaded_error`.
    pub fn error(status: u16, error_type: &str, message: &str) -> Reply {
        let body = json!({
            "type": "error",
            "error": {"type": error_type, "message": message},
            "request_id": "req_mock",
        });
        Kind::Error { status, body, headers: Vec::new() }.into()
    }

    /// An answer that begins well and loses its connection after the first text.
    pub fn cut_after_first_delta() -> Reply {
        Kind::Cut.into()
    }

    /// Adds a header to an error, e.g. `retry-after`.
    pub fn header(mut self, name: &'static str, value: &str) -> Reply {
        match &mut self.kind {
            Kind::Error { headers, .. } => headers.push((name, value.to_owned())),
            Kind::Message(_) | Kind::Cut => panic!("only errors carry headers of their own"),
        }
        self
    }

    /// Holds this reply back until `gate` opens.
    pub fn after(mut self, gate: &Gate) -> Reply {
        self.gate = Some(gate.clone());
        self
    }

    /// Waits for the gate, then answers.
    pub(super) async fn respond(self, request: &Request, numbers: &Numbers) -> Response {
        if let Some(gate) = &self.gate
            && tokio::time::timeout(PATIENCE, gate.opened()).await.is_err()
        {
            let never =
                Reply::error(400, "invalid_request_error", "this reply's gate never opened");
            return never.kind.into_response(request, numbers);
        }
        self.kind.into_response(request, numbers)
    }
}

impl From<Kind> for Reply {
    fn from(kind: Kind) -> Reply {
        Reply { kind, gate: None }
    }
}

impl Kind {
    fn into_response(self, request: &Request, numbers: &Numbers) -> Response {
        let answer = |blocks: &[Block]| Answer::new(request, numbers, blocks);
        match self {
            Kind::Message(blocks) => answer(&blocks).whole(),
            Kind::Cut => answer(&[Block::text("I was about to")]).cut(),
            Kind::Error { status, body, headers } => error_response(status, &body, headers),
        }
    }
}

fn error_response(status: u16, body: &Value, headers: Vec<(&'static str, String)>) -> Response {
    let mut response = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, "application/json")
        .header("request-id", "req_mock");
    for (name, value) in headers {
        response = response.header(name, value);
    }
    let body = Body::from(body.to_string());
    response.body(body).expect("a script gives a valid status and valid headers")
}

/// Opens after a number of arrivals, and stays open.
///
/// Give clones to the script and to the test; whoever sees the event that is
/// waited for calls [`Gate::arrive`].
#[derive(Clone)]
pub struct Gate {
    missing: Arc<watch::Sender<usize>>,
}

impl Gate {
    pub fn new(arrivals: usize) -> Gate {
        Gate { missing: Arc::new(watch::Sender::new(arrivals)) }
    }

    pub fn arrive(&self) {
        self.missing.send_modify(|missing| *missing = missing.saturating_sub(1));
    }

    async fn opened(&self) {
        let mut missing = self.missing.subscribe();
        // The only error is a dropped sender, and we hold one.
        let _ = missing.wait_for(|missing| *missing == 0).await;
    }
}
