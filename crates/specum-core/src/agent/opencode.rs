//! opencode in `run` mode.
//!
//! It has no hook that could keep a session from ending, so none is switched
//! off. A title is given because it would ask a model for one, uncounted.
//!
//! There is no last word: an attempt has gone well when its last step finished
//! with the reason `stop` and no error came after. Use is summed over the
//! steps. A tool is told only when it has ended. Limits and failing servers are
//! waited for without end and without an event, so errors are logged to
//! standard error, where they explain why an attempt had to be ended.

use serde_json::Value;

use super::text::{self, LONGEST_MESSAGE, TextTail};
use super::{
    Agent, Call, Measures, Order, Reader, Report, Reset, Sign, Trouble, Usage, diagnosis, reset,
};
use crate::digest::Digest;
use crate::line;
use crate::verify::ProcessEnd;

pub(super) struct Opencode;

impl Agent for Opencode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn program(&self) -> Option<&'static str> {
        Some("opencode")
    }

    fn measures(&self) -> Measures {
        Measures { tokens: true, cost: true }
    }

    fn call(&self, order: &Order<'_>) -> Call {
        const ARGS: [&str; 8] = [
            "run",
            "--format",
            "json",
            "--auto",
            "--title=specum",
            "--print-logs",
            "--log-level",
            "ERROR",
        ];
        Call::new("opencode", &ARGS, order).model(order).env("OPENCODE_DISABLE_AUTOUPDATE", "1")
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::<OpencodeReader>::default()
    }

    fn sign_in(&self) -> &'static str {
        "run `opencode auth login`"
    }
}

#[derive(Default)]
struct OpencodeReader {
    began: bool,
    message: TextTail,
    /// The message that the text belongs to: it comes in parts.
    message_id: Option<Digest>,
    used: Option<Usage>,
    /// Why the last step finished.
    finished: Option<String>,
    failure: Option<Trouble>,
}

impl Reader for OpencodeReader {
    fn line(&mut self, line: &[u8]) -> Vec<Sign> {
        let Some(event) = text::event(line) else { return Vec::new() };
        self.began = true;
        let part = &event["part"];
        match event["type"].as_str() {
            Some("text") => self.text(part),
            Some("tool_use") => {
                let name = part["tool"].as_str().unwrap_or("a tool");
                let name = text::tool(name, &part["state"]["input"]);
                vec![Sign::Tool { name }, Sign::ToolEnded]
            }
            Some("step_start") => {
                (self.finished, self.failure) = (None, None);
                Vec::new()
            }
            Some("step_finish") => {
                self.finished = part["reason"].as_str().map(text::reason);
                self.count(part)
            }
            Some("error") => {
                self.failure = Some(failed(&event["error"]));
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn has_answered(&self) -> bool {
        self.finished.as_deref() == Some("stop")
    }

    fn end(self: Box<Self>, ended: &ProcessEnd, stderr: &str) -> Report {
        let result = self.message.end(LONGEST_MESSAGE);
        let trouble = match (&self.failure, self.finished.as_deref()) {
            (Some(trouble), _) => Some(explained(trouble.clone(), stderr)),
            // What the model refuses to say is for the judge.
            (None, Some("stop" | "content-filter")) => None,
            (None, Some("length")) => {
                Some(Trouble::ContextOverflow("the answer was cut at its longest".to_owned()))
            }
            (None, _) => Some(self.without_answer(ended, stderr)),
        };
        // A step that was cut off is not counted.
        let counted = self.failure.is_some() || self.finished.is_some();
        Report { result, usage: self.used.filter(|_| counted), trouble }
    }
}

impl OpencodeReader {
    fn text(&mut self, part: &Value) -> Vec<Sign> {
        let said = part["text"].as_str().unwrap_or_default();
        let id = part["messageID"].as_str().map(|id| Digest::of(id.as_bytes()));
        if id.is_some() && id == self.message_id {
            self.message.push("\n", LONGEST_MESSAGE);
            self.message.push(said, LONGEST_MESSAGE);
        } else {
            self.message.replace(said, LONGEST_MESSAGE);
        }
        self.message_id = id;
        vec![Sign::Text { text: text::shown(said).into_owned() }]
    }

    fn count(&mut self, part: &Value) -> Vec<Sign> {
        let tokens = &part["tokens"];
        let count = |value: &Value| value.as_u64().unwrap_or_default();
        let parts = [
            &tokens["input"],
            &tokens["output"],
            &tokens["reasoning"],
            &tokens["cache"]["read"],
            &tokens["cache"]["write"],
        ];
        let sum = parts.into_iter().map(count).fold(0, u64::saturating_add);
        let before = self.used.unwrap_or_default();
        let used = Usage {
            tokens: before.tokens.saturating_add(tokens["total"].as_u64().unwrap_or(sum)),
            cost: match (before.cost, part["cost"].as_f64()) {
                (None, None) => None,
                (before, now) => Some(before.unwrap_or_default() + now.unwrap_or_default()),
            },
        };
        self.used = Some(used);
        vec![Sign::Used(used)]
    }

    fn without_answer(&self, ended: &ProcessEnd, stderr: &str) -> Trouble {
        match ended {
            ProcessEnd::NotStarted(_) => diagnosis::without_answer(ended, stderr, self.began),
            ProcessEnd::Code(0) => Trouble::Crash("it ended in the midst of its work".to_owned()),
            _ => logged(stderr)
                .unwrap_or_else(|| diagnosis::without_answer(ended, stderr, self.began)),
        }
    }
}

/// What an `error` event comes down to.
fn failed(error: &Value) -> Trouble {
    let data = &error["data"];
    let message = line::head(data["message"].as_str().unwrap_or("it does not say why"), 4096);
    let why = text::reason(message);
    match error["name"].as_str() {
        Some("ContextOverflowError" | "MessageOutputLengthError") => Trouble::ContextOverflow(why),
        Some("ProviderAuthError") => Trouble::NotAuthenticated(why),
        _ => {
            let status = data["statusCode"].as_u64();
            let trouble = status
                .and_then(|status| diagnosis::by_status(status, message))
                .or_else(|| diagnosis::by_words(message))
                .unwrap_or(Trouble::Crash(why));
            with_reset(trouble, &data["responseHeaders"]["retry-after"])
        }
    }
}

/// A limit's end as the server's header says it.
fn with_reset(trouble: Trouble, retry_after: &Value) -> Trouble {
    match trouble {
        Trouble::RateLimited { why, reset: None } => {
            let seconds = retry_after.as_str().and_then(reset::seconds);
            Trouble::RateLimited { why, reset: seconds.map(Reset::In) }
        }
        trouble => trouble,
    }
}

/// An error that only points to the log is told as the log tells it.
fn explained(trouble: Trouble, stderr: &str) -> Trouble {
    match trouble {
        Trouble::Crash(why) if why.contains("Check server logs") => {
            logged(stderr).unwrap_or_else(|| {
                let said = diagnosis::last_words(stderr);
                Trouble::Crash(if said.is_empty() { why } else { said })
            })
        }
        trouble => trouble,
    }
}

/// The last error in the log, if it tells the cause. It names no status.
fn logged(stderr: &str) -> Option<Trouble> {
    let line = stderr.lines().rev().find(|line| line.contains("level=ERROR"))?;
    let (_, words) = line.split_once("error.error=\"").or_else(|| line.split_once("error=\""))?;
    diagnosis::by_words(words.split('"').next()?)
}
