//! A scripted model for the other hosts: the Responses API of Codex, the API of
//! Gemini CLI and the Chat Completions API of opencode, inside the test.
//!
//! They all come down to the same here: the host says something or gives back what
//! a command printed, and the model says something or runs a command. It serves
//! on a free local port until it is dropped.

mod chat;
mod gemini;
mod responses;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use crate::server::{Arrivals, Server};

/// The API a host speaks.
#[derive(Clone, Copy)]
pub enum Api {
    /// Codex.
    Responses,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    Chat,
}

/// What the host has just told the model.
#[derive(Clone, Debug)]
pub enum Told {
    /// A prompt, or the reason of a hook.
    Text(String),
    /// What a command came to.
    Output(String),
}

/// What the model answers.
pub enum Answer {
    /// Says something, which ends the turn.
    Say(String),
    /// Runs a command.
    Run(String),
    /// Refuses with this status and this body.
    Refuse(u16, Value),
    /// Never answers.
    Hang,
}

/// What a model's turn consists of.
enum Turn {
    Say(String),
    Run(String),
}

/// A running mock; it ends when dropped.
pub struct OtherModel {
    server: Server,
    service: Arc<Service>,
}

type Script = dyn Fn(&Told) -> Answer + Send + Sync;

struct Service {
    api: Api,
    script: Box<Script>,
    told: Arrivals<Told>,
    count: AtomicUsize,
}

impl OtherModel {
    /// Serves `script`, which is called on the server's only thread and must
    /// not block.
    pub fn start(api: Api, script: impl Fn(&Told) -> Answer + Send + Sync + 'static) -> OtherModel {
        let service = Arc::new(Service {
            api,
            script: Box::new(script),
            told: Arrivals::new(),
            count: AtomicUsize::new(0),
        });
        let router = Router::new()
            .fallback(answer)
            .layer(DefaultBodyLimit::disable())
            .with_state(service.clone());
        OtherModel { server: Server::start(router), service }
    }

    /// The base URL to give to a host.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Everything the host has told the model, in order.
    pub fn told(&self) -> Vec<Told> {
        self.service.told.so_far()
    }

    /// Blocks until the host has asked this often.
    pub fn wait_for(&self, requests: usize) {
        self.service.told.wait_until(|told| told.len() >= requests);
    }

    /// Blocks until the host has given back what a command printed.
    pub fn wait_for_output(&self) {
        let is_output = |told: &Told| matches!(told, Told::Output(_));
        self.service.told.wait_until(|told| told.iter().any(is_output));
    }
}

async fn answer(State(service): State<Arc<Service>>, uri: Uri, body: Bytes) -> Response {
    let asks_the_model = match service.api {
        Api::Responses => uri.path().ends_with("/responses"),
        Api::Gemini => uri.path().ends_with(":streamGenerateContent"),
        Api::Chat => uri.path().ends_with("/chat/completions"),
    };
    if !asks_the_model {
        // Gemini CLI asks beside the conversation whether it goes round in circles,
        // and asks for minutes if it gets no answer.
        let is_aside =
            matches!(service.api, Api::Gemini) && uri.path().ends_with(":generateContent");
        let body = if is_aside { gemini::no_loop() } else { "{}".into() };
        return ([(header::CONTENT_TYPE, "application/json")], body).into_response();
    }
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let told = match service.api {
        Api::Responses => responses::told(&body),
        Api::Gemini => gemini::told(&body),
        Api::Chat => chat::told(&body),
    };
    service.told.add(told.clone());
    let Ok(answer) = catch_unwind(AssertUnwindSafe(|| (service.script)(&told))) else {
        return (StatusCode::BAD_REQUEST, "the script panicked").into_response();
    };
    let number = service.count.fetch_add(1, Ordering::Relaxed);
    let turn = match answer {
        Answer::Say(text) => Turn::Say(text),
        Answer::Run(command) => Turn::Run(command),
        Answer::Hang => std::future::pending().await,
        Answer::Refuse(status, body) => {
            let status = StatusCode::from_u16(status).expect("a script gives a valid status");
            return (status, [(header::CONTENT_TYPE, "application/json")], body.to_string())
                .into_response();
        }
    };
    let events = match service.api {
        Api::Responses => responses::events(&turn, number),
        Api::Gemini => gemini::events(&turn),
        Api::Chat => chat::events(&turn, number),
    };
    ([(header::CONTENT_TYPE, "text/event-stream")], events).into_response()
}

/// The strings under a key, anywhere in a list of parts.
fn texts(parts: &Value, key: &str) -> String {
    let parts = parts.as_array().into_iter().flatten();
    parts.filter_map(|part| part[key].as_str()).collect::<Vec<_>>().join("\n")
}
