//! What a page hears while it is open: server-sent events, read with `fetch`, because an
//! `EventSource` cannot send the token.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::Uri;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::Serve;
use super::watcher::{Listener, Now, Shown};
use super::words::Heard;

/// A page that hears nothing for longer knows that we are gone.
const ALIVE: Duration = Duration::from_secs(15);

pub(super) async fn stream(State(serve): State<Arc<Serve>>, uri: Uri) -> Response {
    let (to, from) = mpsc::channel::<Result<Bytes, Infallible>>(1);
    let listener = serve.watcher.listen();
    // A key is plain digits.
    let key = uri.query().and_then(|query| query.strip_prefix("spec=")).map(str::to_owned);
    tokio::spawn(tell(listener, key, to));
    let body = Body::from_stream(ReceiverStream::new(from));
    ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
}

async fn tell(
    mut listener: Listener,
    key: Option<String>,
    to: mpsc::Sender<Result<Bytes, Infallible>>,
) {
    let mut told = Told::default();
    let mut has_to_wait = listener.has_to_wait();
    loop {
        if !has_to_wait {
            let news = told.news(&listener.current(), key.as_deref());
            if !news.is_empty() && to.send(Ok(news.into())).await.is_err() {
                return;
            }
        }
        has_to_wait = false;
        let is_alive = tokio::select! {
            changed = listener.changed() => changed.is_ok(),
            () = tokio::time::sleep(ALIVE) => to.send(Ok(Bytes::from_static(b":\n\n"))).await.is_ok(),
            () = to.closed() => false,
        };
        if !is_alive {
            return;
        }
    }
}

/// What a page has been told already.
#[derive(Default)]
struct Told {
    specs: String,
    picture: String,
    /// By task: which start, and the number behind the last word.
    words: HashMap<String, (String, u64)>,
    used: HashMap<String, Value>,
}

impl Told {
    /// The events that are new.
    fn news(&mut self, now: &Now, key: Option<&str>) -> String {
        let mut news = String::new();
        let specs: Vec<Value> = now.specs.iter().map(|shown| shown.short()).collect();
        let specs = Value::from(specs).to_string();
        if specs != self.specs {
            add(&mut news, "specs", &specs);
            self.specs = specs;
        }
        let Some(key) = key else { return news };
        let Some(shown) = now.specs.iter().find(|shown| shown.place.key == key) else {
            if self.picture != "null" {
                add(&mut news, "picture", "null");
                "null".clone_into(&mut self.picture);
            }
            return news;
        };
        let picture = json!({
            "key": key, "project": shown.place.project, "picture": shown.picture,
        })
        .to_string();
        if picture != self.picture {
            add(&mut news, "picture", &picture);
            self.picture = picture;
        }
        self.words_of(shown, &mut news);
        news
    }

    fn words_of(&mut self, shown: &Shown, news: &mut String) {
        self.words.retain(|task, _| shown.heard.iter().any(|heard| heard.task == *task));
        for heard in &shown.heard {
            let Heard { task, start, words, used } = heard;
            let from = match self.words.get(task) {
                Some((known, from)) if known == start => *from,
                _ => 0,
            };
            let new: Vec<_> = words.iter().filter(|word| word.n >= from).map(|w| &**w).collect();
            let used = json!(used);
            if new.is_empty() && self.used.get(task) == Some(&used) {
                continue;
            }
            let next = words.back().map_or(0, |last| last.n + 1);
            add(
                news,
                "signs",
                &json!({
                    "task": task, "start": start, "used": used, "words": new,
                })
                .to_string(),
            );
            self.words.insert(task.clone(), (start.clone(), next));
            self.used.insert(task.clone(), used);
        }
    }
}

/// JSON has no line ends in it.
fn add(news: &mut String, event: &str, data: &str) {
    for part in ["event: ", event, "\ndata: ", data, "\n\n"] {
        news.push_str(part);
    }
}
