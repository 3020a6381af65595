//! What can be asked for, by which address.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Extension;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use specum_engine::ops::{self, ReportRequest};
use specum_engine::project::Spec;
use specum_engine::report::{Form, render};

use super::acts::{self, Words};
use super::tokens::{Who, random};
use super::watcher::Shown;
use super::{CLIENT_PATIENCE, Serve, aside, guard, shell, stream};

/// The longest body of a request.
const MAX_BODY: usize = 16 * 1024;
/// How long a ticket for a report counts.
const TICKET: Duration = Duration::from_secs(60);
/// So many tickets are out at once.
const TICKETS: usize = 64;

/// Reports that may be fetched once, by an address that nobody can guess.
#[derive(Debug, Default)]
pub(super) struct Tickets(Mutex<HashMap<String, (Spec, Instant)>>);

pub(super) fn routes(serve: Arc<Serve>) -> Router {
    Router::new()
        .route("/", get(shell::page))
        .route("/favicon.ico", get(async || StatusCode::NO_CONTENT))
        .route("/app.css", get(shell::style))
        .route("/app/{name}", get(shell::script))
        .route("/r/{ticket}", get(report))
        .route("/api/specs", get(specs))
        .route("/api/stream", get(stream::stream))
        .route("/api/specs/{key}/tasks/{id}", get(task))
        .route("/api/specs/{key}/report", post(ticket))
        .route("/api/specs/{key}/{verb}", post(say))
        .layer(middleware::from_fn_with_state(Arc::clone(&serve), guard::stand))
        .with_state(serve)
}

async fn specs(
    State(serve): State<Arc<Serve>>,
    Extension(who): Extension<Option<Who>>,
) -> Response {
    let now = serve.watcher.now().await;
    let specs: Vec<Value> = now.specs.iter().map(|shown| shown.short()).collect();
    let steers = who == Some(Who::Steers);
    as_json(&json!({"version": env!("CARGO_PKG_VERSION"), "steers": steers, "specs": specs}))
}

/// A task as the report opens it.
async fn task(
    State(serve): State<Arc<Serve>>,
    Path((key, id)): Path<(String, String)>,
) -> Response {
    let Some(shown) = spec(&serve, &key).await else { return gone() };
    let found = aside(move || {
        let report = ops::report_of(&shown.place.spec, ReportRequest::default());
        report.map(|report| report.task(&id).map(|task| json!(task)))
    });
    match found.await {
        Ok(Ok(Some(task))) => as_json(&task),
        Ok(Ok(None)) => refused(StatusCode::NOT_FOUND, "there is no such task"),
        Ok(Err(error)) => refused(StatusCode::CONFLICT, &error.to_string()),
        Err(_) => refused(StatusCode::INTERNAL_SERVER_ERROR, "the report failed"),
    }
}

async fn ticket(State(serve): State<Arc<Serve>>, Path(key): Path<String>) -> Response {
    let Some(shown) = spec(&serve, &key).await else { return gone() };
    let Ok(ticket) = random() else {
        return refused(StatusCode::INTERNAL_SERVER_ERROR, "no random numbers");
    };
    let mut tickets = serve.tickets.0.lock().unwrap_or_else(PoisonError::into_inner);
    tickets.retain(|_, (_, since)| since.elapsed() < TICKET);
    if tickets.len() >= TICKETS {
        return refused(StatusCode::TOO_MANY_REQUESTS, "too many reports at once");
    }
    tickets.insert(ticket.clone(), (shown.place.spec.clone(), Instant::now()));
    as_json(&json!({"path": format!("/r/{ticket}")}))
}

async fn report(State(serve): State<Arc<Serve>>, Path(ticket): Path<String>) -> Response {
    let found = serve.tickets.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&ticket);
    let Some((spec, _)) = found.filter(|(_, since)| since.elapsed() < TICKET) else {
        let again = "This report was looked at already: go back, and open it again.";
        return (StatusCode::NOT_FOUND, again).into_response();
    };
    let page = aside(move || {
        ops::report_of(&spec, ReportRequest::default())
            .map(|report| render(&report, Form::Html, &TimeZone::system()))
    });
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, guard::REPORT_POLICY),
        (CACHE_CONTROL, "no-store"),
    ];
    match page.await {
        Ok(Ok(page)) => (headers, page).into_response(),
        Ok(Err(error)) => (StatusCode::CONFLICT, error.to_string()).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Something that a person says.
async fn say(
    State(serve): State<Arc<Serve>>,
    Path((key, verb)): Path<(String, String)>,
    request: Request,
) -> Response {
    if !acts::VERBS.contains(&verb.as_str()) {
        return refused(StatusCode::NOT_FOUND, "there is no such action");
    }
    let words = match words(request).await {
        Ok(words) => words,
        Err((status, why)) => return refused(status, &why),
    };
    let Some(shown) = spec(&serve, &key).await else { return gone() };
    let said = aside(move || {
        let spec = &shown.place.spec;
        acts::act(&spec.world, spec, &verb, &words)
    });
    let said = said.await;
    serve.watcher.hurry();
    match said {
        Ok(Ok(())) => StatusCode::NO_CONTENT.into_response(),
        Ok(Err(why)) => refused(StatusCode::CONFLICT, &why),
        Err(_) => refused(StatusCode::INTERNAL_SERVER_ERROR, "it failed; the terminal tells more"),
    }
}

async fn words(request: Request) -> Result<Words, (StatusCode, String)> {
    if !is_json(request.headers()) {
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body has to be JSON".into()));
    }
    let body: Body = request.into_body();
    let read = tokio::time::timeout(CLIENT_PATIENCE, to_bytes(body, MAX_BODY)).await;
    let bytes = match read {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => return Err((StatusCode::PAYLOAD_TOO_LARGE, "that is too long".into())),
        Err(_) => return Err((StatusCode::REQUEST_TIMEOUT, "that took too long".into())),
    };
    if bytes.is_empty() {
        return Ok(Words::default());
    }
    serde_json::from_slice(&bytes).map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

async fn spec(serve: &Serve, key: &str) -> Option<Arc<Shown>> {
    let now = serve.watcher.now().await;
    now.specs.iter().find(|shown| shown.place.key == key).cloned()
}

fn gone() -> Response {
    refused(StatusCode::NOT_FOUND, "there is no such spec any more")
}

fn refused(status: StatusCode, why: &str) -> Response {
    (status, as_json(&json!({"error": why}))).into_response()
}

fn as_json(value: &Value) -> Response {
    ([(CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}
