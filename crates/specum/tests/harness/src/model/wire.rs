//! An assistant message as bytes: streamed, or whole if the host asks for that.
//!
//! Claude Code streams, and asks for a whole answer after a stream that broke
//! off.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use axum::http::header;
use axum::response::Response;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::{Block, Request};

/// Source of ids that no other reply of the same server has.
#[derive(Default)]
pub(super) struct Numbers(AtomicUsize);

impl Numbers {
    fn next(&self) -> usize {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// A rough count of tokens, so that usage grows with what is said.
pub(super) fn tokens(characters: usize) -> usize {
    characters.div_ceil(4)
}

/// A message on its way out, in two parts so that it can break off between.
pub(super) struct Answer {
    content_type: &'static str,
    /// If streamed, everything up to the first delta.
    beginning: String,
    end: String,
}

impl Answer {
    /// Puts a message of these blocks into the form that `request` asks for.
    pub(super) fn new(request: &Request, numbers: &Numbers, blocks: &[Block]) -> Answer {
        let message = message(request, numbers, blocks);
        if request.body["stream"] == true {
            let mut events = events(&message);
            let end = events.split_off(3).concat();
            let beginning = events.concat();
            return Answer { content_type: "text/event-stream", beginning, end };
        }
        let mut beginning = message.to_string();
        let end = beginning.split_off(beginning.len() - 1);
        Answer { content_type: "application/json", beginning, end }
    }

    pub(super) fn whole(self) -> Response {
        let body = Body::from(self.beginning + &self.end);
        respond(self.content_type, body)
    }

    /// Sends the beginning and drops the connection.
    pub(super) fn cut(self) -> Response {
        // Room for one item only: the beginning has been taken, and so written
        // to the socket, before the error that drops the connection follows.
        let (sender, receiver) = mpsc::channel::<io::Result<String>>(1);
        tokio::spawn(async move {
            // Sending fails only if the client has gone away first.
            if sender.send(Ok(self.beginning)).await.is_ok() {
                let _ = sender.send(Err(io::Error::other("cut"))).await;
            }
        });
        let body = Body::from_stream(ReceiverStream::new(receiver));
        respond(self.content_type, body)
    }
}

fn respond(content_type: &'static str, body: Body) -> Response {
    Response::builder()
        .header(header::CONTENT_TYPE, content_type)
        .header("request-id", "req_mock")
        .body(body)
        .expect("constant headers are valid")
}

/// The message as the API gives it to those who do not stream.
fn message(request: &Request, numbers: &Numbers, blocks: &[Block]) -> Value {
    let mut said = 0;
    let mut stop_reason = "end_turn";
    let mut content = Vec::new();
    for block in blocks {
        content.push(match block {
            Block::Text(text) => {
                said += text.len();
                json!({"type": "text", "text": text})
            }
            Block::Tool { name, input } => {
                said += input.to_string().len();
                stop_reason = "tool_use";
                let id = format!("toolu_mock_{}", numbers.next());
                json!({"type": "tool_use", "id": id, "name": name, "input": input})
            }
        });
    }
    json!({
        "id": format!("msg_mock_{}", numbers.next()),
        "type": "message",
        "role": "assistant",
        "model": request.body["model"],
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": {"input_tokens": tokens(request.length), "output_tokens": tokens(said)},
    })
}

/// The same message as server-sent events.
fn events(message: &Value) -> Vec<String> {
    let mut opening = message.clone();
    opening["content"] = json!([]);
    opening["stop_reason"] = Value::Null;
    let mut events = vec![event("message_start", json!({"message": opening}))];
    for (index, block) in message["content"].as_array().into_iter().flatten().enumerate() {
        // A block starts out empty; its delta brings the rest.
        let mut start = block.clone();
        let delta = if block["type"] == "tool_use" {
            start["input"] = json!({});
            json!({"type": "input_json_delta", "partial_json": block["input"].to_string()})
        } else {
            start["text"] = "".into();
            json!({"type": "text_delta", "text": block["text"]})
        };
        events.extend([
            event("content_block_start", json!({"index": index, "content_block": start})),
            event("content_block_delta", json!({"index": index, "delta": delta})),
            event("content_block_stop", json!({"index": index})),
        ]);
    }
    let last = json!({
        "delta": {"stop_reason": message["stop_reason"], "stop_sequence": null},
        "usage": {"output_tokens": message["usage"]["output_tokens"]},
    });
    events.extend([event("message_delta", last), event("message_stop", json!({}))]);
    events
}

/// One event; its type is repeated inside the data, as the API does.
fn event(name: &str, mut data: Value) -> String {
    data["type"] = name.into();
    format!("event: {name}\ndata: {data}\n\n")
}
